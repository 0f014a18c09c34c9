/* The timers of one attempt, judged on a clock that the caller gives: pure. 0 = that timer is off. */
#ifndef QUERN_MODEL_WATCHDOG_H
#define QUERN_MODEL_WATCHDOG_H

#include "model/model.h"
#include "model/retry.h"

struct watchdog_limits {
	int64_t connect_ms, first_byte_ms, idle_ms, progress_ms;
};
struct watchdog {
	struct watchdog_limits limits;
	int64_t started, last_byte, last_content;
	bool connected, answered;
};
void watchdog_start(struct watchdog *w, const struct watchdog_limits *l, int64_t now);
void watchdog_saw(struct watchdog *w, enum model_phase phase, int64_t now);
/* The next moment at which a timer may be due; CLOCK_NEVER if none is on. */
int64_t watchdog_deadline(const struct watchdog *w);
enum model_timeout watchdog_due(const struct watchdog *w, int64_t now);
/* Time during which we were not reading (our own back-pressure) does not count: shifts all timers. */
void watchdog_shift(struct watchdog *w, int64_t ms);

#endif
