/*
 * The only place that blocks: poll(2) over descriptors, the signal descriptor and
 * the nearest timer. Callbacks run inside reactor_wait; they may add and remove
 * descriptors and timers, their own included, but not wait. One thread, one reactor a process.
 */
#ifndef QUERN_BASE_REACTOR_H
#define QUERN_BASE_REACTOR_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/error.h"

struct reactor;

typedef void (*reactor_fd_fn)(void *ctx, int fd, short revents);
typedef void (*reactor_timer_fn)(void *ctx);
typedef void (*reactor_signal_fn)(void *ctx, int signo, int sender_pid);

/* A timer is storage of its owner; fn and ctx are set once. Private: at, next, armed. */
struct reactor_timer {
	reactor_timer_fn fn;
	void *ctx;
	int64_t at;
	struct reactor_timer *next;
	bool armed;
};

struct reactor *reactor_open(struct error *e); /* NULL on failure */
void reactor_free(struct reactor *r);

/* Watches fd for poll events (POLLIN, POLLOUT; 0 = registered but not polled); adding it again changes it.
 * 0, or -1 out of memory. */
int reactor_fd_set(struct reactor *r, int fd, short events, reactor_fd_fn fn, void *ctx);
void reactor_fd_remove(struct reactor *r, int fd); /* before the owner closes fd; unknown fds are ignored */

/* Arms (or moves) the timer to fire once at monotonic ms `at`. A timer is fired only after a poll that
 * began when it was due, and after the callbacks of what that poll found ready: so a stopped and continued
 * process does not misfire, and a descriptor that is always ready does not starve it. */
void reactor_timer_set(struct reactor *r, struct reactor_timer *t, int64_t at);
void reactor_timer_cancel(struct reactor *r, struct reactor_timer *t);

/* Blocks the signals and delivers them by signalfd to fn. Call once. They stay blocked after reactor_free. */
int reactor_signals(struct reactor *r, const int *signals, int n, reactor_signal_fn fn, void *ctx, struct error *e);

/* One poll round: waits until something is ready, a timer is due or the deadline (monotonic ms;
 * CLOCK_NEVER = none; a past one = do not wait) has come, and runs the callbacks.
 * Returns the number of callbacks run (0 = deadline), -1 with *e if poll itself failed. */
int reactor_wait(struct reactor *r, int64_t deadline, struct error *e);

#endif
