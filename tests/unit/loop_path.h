/* What tests of the loop say of a run in the simulator. One that is not so is shown, line by line. */
#ifndef QUERN_TESTS_UNIT_LOOP_PATH_H
#define QUERN_TESTS_UNIT_LOOP_PATH_H

#include "sim.h"

void assert_trace(const struct sim *s, const char *trace); /* the Continues and the Terminal */
void assert_turns(const struct sim *s, long turns);        /* as the result tells them */
/* Is there a line that begins so? NULL: it does not matter. */
void assert_shows(const struct sim *s, const char *line);
void assert_hides(const struct sim *s, const char *line);

#endif
