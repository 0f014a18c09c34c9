/* Time. Deadlines and durations are monotonic milliseconds; wall time is for display and dates only. */
#ifndef QUERN_BASE_CLOCK_H
#define QUERN_BASE_CLOCK_H

#include <stdint.h>

#define CLOCK_NEVER INT64_MAX

int64_t clock_mono_ms(void); /* CLOCK_MONOTONIC */
int64_t clock_mono_us(void);
int64_t clock_wall_ms(void); /* since 1970, UTC */

#endif
