/* Which reason may follow which, and what of that has occurred. */
#ifndef QUERN_TESTS_SIM_PAIRS_H
#define QUERN_TESTS_SIM_PAIRS_H

#include <stdio.h>

#include "sim.h"

/* So many seeds must bring every pair that can occur. */
#define PAIRS_NEED 1000000

void pairs_add(struct sim_cover *sum, const struct sim_cover *more);
/* NULL: `to` may follow `from` (CONT_NONE: the beginning). Else why it cannot. `to` as in struct sim_cover. */
const char *pair_impossible(enum continue_reason from, int to);
const char *pair_name(int to);
/* Figures, and each pair that can occur and did not, or the other way round. Returns how many of both. */
size_t pairs_tell(const struct sim_cover *c, FILE *out);

#endif
