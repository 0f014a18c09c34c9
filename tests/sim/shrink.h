/* A broken run is made small: its draws are left out, cut and made zero as long as the same check fails. */
#ifndef QUERN_TESTS_SIM_SHRINK_H
#define QUERN_TESTS_SIM_SHRINK_H

#include <stdio.h>

#include "sim.h"

#define SEED_TASK "do it [mark 0]" /* see marks.c */

void seed_prepare(struct sim *s, uint64_t seed);
/* *s has been run and is broken. Tells it as it was and as small as it could be made. */
void shrink_and_tell(const struct sim *s, FILE *out);

#endif
