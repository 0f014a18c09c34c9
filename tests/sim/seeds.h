/* Seeds: one seed is one run of a random world, or a few runs that must be the same. */
#ifndef QUERN_TESTS_SIM_SEEDS_H
#define QUERN_TESTS_SIM_SEEDS_H

#include <stdio.h>

#include "sim.h"

/* Runs one seed. False: an invariant is broken; the run and what is left of it when it is shrunk are on `out`. */
bool seed_holds(uint64_t seed, struct sim_cover *cover, FILE *out);
/* The same of one that is killed, in whatever it does, and gone on with. */
bool seed_holds_killed(uint64_t seed, bool anywhere, FILE *out);

#endif
