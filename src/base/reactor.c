#include "base/reactor.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/array.h"

struct watch {
	int fd;
	short events;
	uint64_t serial; /* tells a watch from a later one of the same number */
	reactor_fd_fn fn;
	void *ctx;
};

struct reactor {
	struct watch *watches;
	size_t n, cap;
	struct pollfd *polls; /* the round's copy of watches, so that callbacks may change those */
	uint64_t *serials;    /* polls[i] was made from the watch with this serial */
	size_t poll_cap;
	uint64_t next_serial;
	struct reactor_timer *timers; /* armed, soonest first */
	struct reactor_timer *due;    /* taken out of timers by this round, not fired yet */
	int signal_fd;
	reactor_signal_fn signal_fn;
	void *signal_ctx;
	bool inside; /* a round is running */
};

struct reactor *reactor_open(struct error *e)
{
	struct reactor *r = calloc(1, sizeof *r);

	if (!r) {
		error_nomem(e);
		return NULL;
	}
	r->signal_fd = -1;
	return r;
}

void reactor_free(struct reactor *r)
{
	if (!r)
		return;
	if (r->signal_fd >= 0)
		close(r->signal_fd);
	free(r->watches);
	free(r->polls);
	free(r->serials);
	free(r);
}

static struct watch *find_watch(struct reactor *r, int fd)
{
	for (size_t i = 0; i < r->n; i++)
		if (r->watches[i].fd == fd)
			return &r->watches[i];
	return NULL;
}

int reactor_fd_set(struct reactor *r, int fd, short events, reactor_fd_fn fn, void *ctx)
{
	struct watch *w = find_watch(r, fd);

	if (!w) {
		if (ARRAY_GROW(r->watches, r->n, r->cap))
			return -1;
		w = &r->watches[r->n++];
		w->fd = fd;
		w->serial = ++r->next_serial;
	}
	w->events = events;
	w->fn = fn;
	w->ctx = ctx;
	return 0;
}

void reactor_fd_remove(struct reactor *r, int fd)
{
	struct watch *w = find_watch(r, fd);

	if (w)
		*w = r->watches[--r->n];
}

static void unlink_timer(struct reactor_timer **at, struct reactor_timer *t)
{
	while (*at && *at != t)
		at = &(*at)->next;
	if (*at)
		*at = t->next;
}

void reactor_timer_cancel(struct reactor *r, struct reactor_timer *t)
{
	if (!t->armed)
		return;
	unlink_timer(&r->timers, t);
	unlink_timer(&r->due, t);
	t->armed = false;
	t->next = NULL;
}

void reactor_timer_set(struct reactor *r, struct reactor_timer *t, int64_t at)
{
	struct reactor_timer **p = &r->timers;

	reactor_timer_cancel(r, t);
	while (*p && (*p)->at <= at)
		p = &(*p)->next;
	t->at = at;
	t->next = *p;
	t->armed = true;
	*p = t;
}

static void on_signal_fd(void *ctx, int fd, short revents)
{
	struct reactor *r = ctx;
	struct signalfd_siginfo si;

	(void)revents;
	while (read(fd, &si, sizeof si) == (ssize_t)sizeof si)
		r->signal_fn(r->signal_ctx, (int)si.ssi_signo, (int)si.ssi_pid);
}

int reactor_signals(struct reactor *r, const int *signals, int n, reactor_signal_fn fn, void *ctx, struct error *e)
{
	sigset_t set;

	if (r->signal_fd >= 0)
		return error_set(e, ERR_BUG, "the reactor watches signals already");
	sigemptyset(&set);
	for (int i = 0; i < n; i++)
		sigaddset(&set, signals[i]);
	if (sigprocmask(SIG_BLOCK, &set, NULL))
		return error_sys(e, "cannot block signals");
	int fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (fd < 0)
		return error_sys(e, "cannot make a signal descriptor");
	if (reactor_fd_set(r, fd, POLLIN, on_signal_fd, r)) {
		close(fd);
		return error_nomem(e);
	}
	r->signal_fd = fd;
	r->signal_fn = fn;
	r->signal_ctx = ctx;
	return 0;
}

/* Fills polls from watches; a watch without events keeps its place with fd -1, which poll skips. */
static int prepare(struct reactor *r, struct error *e)
{
	if (r->poll_cap < r->n) {
		struct pollfd *p = reallocarray(r->polls, r->cap, sizeof *p);
		if (!p)
			return error_nomem(e);
		r->polls = p;
		uint64_t *s = reallocarray(r->serials, r->cap, sizeof *s);
		if (!s)
			return error_nomem(e);
		r->serials = s;
		r->poll_cap = r->cap;
	}
	for (size_t i = 0; i < r->n; i++) {
		const struct watch *w = &r->watches[i];
		r->polls[i] = (struct pollfd){ .fd = w->events ? w->fd : -1, .events = w->events };
		r->serials[i] = w->serial;
	}
	return 0;
}

static int dispatch(struct reactor *r, size_t npolled)
{
	int ran = 0;

	for (size_t i = 0; i < npolled; i++) {
		struct pollfd p = r->polls[i];
		if (p.fd < 0 || !p.revents)
			continue;
		/* A callback before this one may have removed the watch, or put another on the same number. */
		const struct watch *w = find_watch(r, p.fd);
		if (!w || w->serial != r->serials[i])
			continue;
		short wanted = (short)(p.revents & (w->events | POLLERR | POLLHUP | POLLNVAL));
		if (!w->events || !wanted)
			continue;
		w->fn(w->ctx, p.fd, wanted);
		ran++;
	}
	return ran;
}

/* Fires what is due at `now`. What the callbacks arm waits for the next round, even if due at once. */
static int fire_timers(struct reactor *r, int64_t now)
{
	struct reactor_timer **end = &r->timers;
	int ran = 0;

	while (*end && (*end)->at <= now)
		end = &(*end)->next;
	if (end == &r->timers)
		return 0;
	r->due = r->timers;
	r->timers = *end;
	*end = NULL;
	while (r->due) {
		struct reactor_timer *t = r->due;
		r->due = t->next;
		t->next = NULL;
		t->armed = false;
		t->fn(t->ctx);
		ran++;
	}
	return ran;
}

static int poll_timeout(const struct reactor *r, int64_t now, int64_t deadline)
{
	int64_t until = deadline;

	if (r->timers && r->timers->at < until)
		until = r->timers->at;
	if (until == CLOCK_NEVER)
		return -1;
	if (until <= now)
		return 0;
	return until - now > INT_MAX ? INT_MAX : (int)(until - now);
}

/* One poll: the number of callbacks run, -1 on failure. */
static int poll_once(struct reactor *r, int64_t deadline, struct error *e)
{
	if (prepare(r, e))
		return -1;
	size_t n = r->n;
	int64_t before = clock_mono_ms();
	int timeout = poll_timeout(r, before, deadline);
	int ready = poll(r->polls, (nfds_t)n, timeout);
	if (ready < 0) {
		if (errno == EINTR)
			return 0;
		return error_sys(e, "cannot wait for events");
	}
	/* poll looks once more when its time is over, so nothing was ready at that moment either. */
	if (ready == 0)
		return fire_timers(r, before + timeout);
	/* A timer that was due before this poll began has had its chance: whatever could move it was readable
	 * then, and has been read now. One that became due meanwhile is judged by the next round. So neither a
	 * pause of the process makes a timer misfire, nor does a flood on one descriptor starve it. */
	int ran = dispatch(r, n);
	return ran + fire_timers(r, before);
}

int reactor_wait(struct reactor *r, int64_t deadline, struct error *e)
{
	int ran;

	if (r->inside)
		return error_set(e, ERR_BUG, "a callback of the reactor waits for events itself");
	r->inside = true;
	do {
		ran = poll_once(r, deadline, e);
	} while (ran == 0 && clock_mono_ms() < deadline);
	r->inside = false;
	return ran;
}
