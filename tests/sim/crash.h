/* Runs that are cut off and gone on with from their record (see crash.c). */
#ifndef QUERN_TESTS_SIM_CRASH_H
#define QUERN_TESTS_SIM_CRASH_H

#include "world.h"

struct resumed;

void sim_draw_crashes(struct sim *s);
/* In the place of a run of one message. */
void sim_run_crashing(struct sim *s, struct loop_deps *deps);

/* ---- revive.c ---- */
/* Another process goes on, with what the record says (NULL: nothing): is it all that is needed? What the process before
 * knew alone is forgotten. `quiet`: it was about to ask the main model. */
void witness_revive(struct sim *s, const struct resumed *r, bool quiet);
void witness_batch(struct sim *s, const struct resumed_batch *b); /* what is to be done behind the newest results */
/* A run without others before it goes on with what cfg says, and with the history as it is: its message is the text. */
void witness_take_up(struct sim *s, const char *text);

#endif
