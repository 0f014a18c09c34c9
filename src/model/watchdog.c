#include "model/watchdog.h"

#include "base/clock.h"

void watchdog_start(struct watchdog *w, const struct watchdog_limits *l, int64_t now)
{
	*w = (struct watchdog){ .limits = *l, .started = now, .last_byte = now, .last_content = now };
}

void watchdog_saw(struct watchdog *w, enum model_phase phase, int64_t now)
{
	w->connected = true;
	w->last_byte = now;
	/* Content is missed from the first byte on, so that a slow first byte is judged by its own timer alone. */
	if (phase == PHASE_CONTENT || (phase == PHASE_BYTES && !w->answered))
		w->last_content = now;
	if (phase == PHASE_BYTES || phase == PHASE_CONTENT)
		w->answered = true;
}

static int64_t plus(int64_t at, int64_t ms)
{
	return at > CLOCK_NEVER - ms ? CLOCK_NEVER : at + ms;
}

/* The timers that are on in the present phase, each with its moment. */
struct timer {
	enum model_timeout which;
	int64_t at;
};

static int timers_on(const struct watchdog *w, struct timer out[2])
{
	const struct timer all[] = {
		{ TIMEOUT_CONNECT,
		  w->connected || !w->limits.connect_ms ? -1 : plus(w->started, w->limits.connect_ms) },
		{ TIMEOUT_FIRST_BYTE,
		  w->answered || !w->limits.first_byte_ms ? -1 : plus(w->last_byte, w->limits.first_byte_ms) },
		{ TIMEOUT_IDLE, !w->answered || !w->limits.idle_ms ? -1 : plus(w->last_byte, w->limits.idle_ms) },
		{ TIMEOUT_PROGRESS,
		  !w->answered || !w->limits.progress_ms ? -1 : plus(w->last_content, w->limits.progress_ms) },
	};
	int n = 0;

	for (int i = 0; i < 4; i++)
		if (all[i].at >= 0)
			out[n++] = all[i];
	return n;
}

int64_t watchdog_deadline(const struct watchdog *w)
{
	struct timer on[2];
	int64_t at = CLOCK_NEVER;

	for (int i = 0, n = timers_on(w, on); i < n; i++)
		if (on[i].at < at)
			at = on[i].at;
	return at;
}

enum model_timeout watchdog_due(const struct watchdog *w, int64_t now)
{
	struct timer on[2];
	const struct timer *first = NULL;

	for (int i = 0, n = timers_on(w, on); i < n; i++)
		if (on[i].at <= now && (!first || on[i].at < first->at))
			first = &on[i];
	return first ? first->which : TIMEOUT_NONE;
}

void watchdog_shift(struct watchdog *w, int64_t ms)
{
	w->started = plus(w->started, ms);
	w->last_byte = plus(w->last_byte, ms);
	w->last_content = plus(w->last_content, ms);
}
