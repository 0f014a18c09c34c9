#include "test.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/reactor.h"

struct trace {
	struct reactor *r;
	int fired[8];
	int n;
	int reads;
	int other_fd;
};

struct named_timer {
	struct reactor_timer t;
	struct trace *trace;
	int name;
	struct reactor_timer *cancels;
	bool again;
};

static void on_timer(void *ctx)
{
	struct named_timer *t = ctx;

	if (t->trace->n < 8)
		t->trace->fired[t->trace->n++] = t->name;
	if (t->cancels)
		reactor_timer_cancel(t->trace->r, t->cancels);
	if (t->again)
		reactor_timer_set(t->trace->r, &t->t, clock_mono_ms());
}

static void init_timer(struct named_timer *t, struct trace *trace, int name)
{
	*t = (struct named_timer){ .trace = trace, .name = name };
	t->t.fn = on_timer;
	t->t.ctx = t;
}

static void open_pipe(int p[2])
{
	assert_int_equal(pipe2(p, O_CLOEXEC | O_NONBLOCK), 0);
}

static void on_read(void *ctx, int fd, short revents)
{
	struct trace *t = ctx;
	char c;

	(void)revents;
	t->reads++;
	if (read(fd, &c, 1) == 0)
		reactor_fd_remove(t->r, fd);
}

static void on_flood(void *ctx, int fd, short revents)
{
	struct trace *t = ctx;

	(void)fd;
	(void)revents;
	t->reads++; /* leaves the byte where it is: always readable */
}

static void on_read_remove_other(void *ctx, int fd, short revents)
{
	struct trace *t = ctx;

	(void)revents;
	t->reads++;
	reactor_fd_remove(t->r, fd);
	reactor_fd_remove(t->r, t->other_fd);
}

static void setup_trace(struct trace *t)
{
	struct error e = ERROR_INIT;

	memset(t, 0, sizeof *t);
	t->r = reactor_open(&e);
	assert_non_null(t->r);
}

/* Until so many have fired and been read, at most some seconds. */
static void wait_fired(struct trace *t, int n, int reads)
{
	int64_t patience = clock_mono_ms() + 20000;
	struct error e = ERROR_INIT;

	while ((t->n < n || t->reads < reads) && clock_mono_ms() < patience)
		assert_true(reactor_wait(t->r, patience, &e) >= 0);
	assert_int_equal(t->n, n);
	assert_true(t->reads >= reads);
}

static void past_deadline_does_not_wait(void **state)
{
	struct trace t;
	struct error e = ERROR_INIT;

	(void)state;
	setup_trace(&t);
	assert_int_equal(reactor_wait(t.r, 0, &e), 0);
	reactor_free(t.r);
}

static void deadline_is_kept(void **state)
{
	struct trace t;
	struct error e = ERROR_INIT;

	(void)state;
	setup_trace(&t);
	int64_t start = clock_mono_ms();
	assert_int_equal(reactor_wait(t.r, start + 30, &e), 0);
	assert_true(clock_mono_ms() - start >= 30);
	reactor_free(t.r);
}

static void readable_fd_is_reported(void **state)
{
	struct trace t;
	struct error e = ERROR_INIT;
	int p[2];

	(void)state;
	setup_trace(&t);
	open_pipe(p);
	assert_int_equal(reactor_fd_set(t.r, p[0], POLLIN, on_read, &t), 0);
	assert_int_equal(reactor_wait(t.r, 0, &e), 0);
	assert_int_equal(write(p[1], "x", 1), 1);
	assert_int_equal(reactor_wait(t.r, CLOCK_NEVER, &e), 1);
	assert_int_equal(t.reads, 1);
	close(p[1]);
	assert_int_equal(reactor_wait(t.r, CLOCK_NEVER, &e), 1); /* hang-up; the callback removes it */
	assert_int_equal(reactor_wait(t.r, 0, &e), 0);
	close(p[0]);
	reactor_free(t.r);
}

static void events_zero_is_silent(void **state)
{
	struct trace t;
	struct error e = ERROR_INIT;
	int p[2];

	(void)state;
	setup_trace(&t);
	open_pipe(p);
	assert_int_equal(write(p[1], "x", 1), 1);
	close(p[1]); /* readable and hung up */
	assert_int_equal(reactor_fd_set(t.r, p[0], 0, on_read, &t), 0);
	assert_int_equal(reactor_wait(t.r, 0, &e), 0);
	assert_int_equal(reactor_fd_set(t.r, p[0], POLLIN, on_read, &t), 0);
	assert_int_equal(reactor_wait(t.r, 0, &e), 1);
	reactor_fd_remove(t.r, p[0]);
	close(p[0]);
	reactor_free(t.r);
}

static void removed_in_the_same_round_is_not_called(void **state)
{
	struct trace t;
	struct error e = ERROR_INIT;
	int a[2], b[2];

	(void)state;
	setup_trace(&t);
	open_pipe(a);
	open_pipe(b);
	t.other_fd = b[0];
	assert_int_equal(reactor_fd_set(t.r, a[0], POLLIN, on_read_remove_other, &t), 0);
	assert_int_equal(reactor_fd_set(t.r, b[0], POLLIN, on_read, &t), 0);
	assert_int_equal(write(a[1], "x", 1), 1);
	assert_int_equal(write(b[1], "x", 1), 1);
	assert_int_equal(reactor_wait(t.r, 0, &e), 1);
	assert_int_equal(t.reads, 1);
	assert_int_equal(reactor_wait(t.r, 0, &e), 0);
	close(a[0]);
	close(a[1]);
	close(b[0]);
	close(b[1]);
	reactor_free(t.r);
}

static void many_fds(void **state)
{
	enum { N = 100 };
	struct trace t;
	struct error e = ERROR_INIT;
	int p[N][2];

	(void)state;
	setup_trace(&t);
	for (int i = 0; i < N; i++) {
		open_pipe(p[i]);
		assert_int_equal(reactor_fd_set(t.r, p[i][0], POLLIN, on_read, &t), 0);
		assert_int_equal(write(p[i][1], "x", 1), 1);
	}
	assert_int_equal(reactor_wait(t.r, 0, &e), N);
	assert_int_equal(t.reads, N);
	for (int i = 0; i < N; i++) {
		reactor_fd_remove(t.r, p[i][0]);
		close(p[i][0]);
		close(p[i][1]);
	}
	assert_int_equal(reactor_wait(t.r, 0, &e), 0);
	reactor_free(t.r);
}

static void timers_fire_in_order_of_time(void **state)
{
	struct trace t;
	struct named_timer a, b, c;

	(void)state;
	setup_trace(&t);
	init_timer(&a, &t, 1);
	init_timer(&b, &t, 2);
	init_timer(&c, &t, 3);
	int64_t now = clock_mono_ms();
	reactor_timer_set(t.r, &b.t, now + 20);
	reactor_timer_set(t.r, &a.t, now + 10);
	reactor_timer_set(t.r, &c.t, now + 5);
	reactor_timer_set(t.r, &c.t, now + 30); /* moved */
	wait_fired(&t, 3, 0);
	assert_int_equal(t.fired[0], 1);
	assert_int_equal(t.fired[1], 2);
	assert_int_equal(t.fired[2], 3);
	assert_false(a.t.armed);
	reactor_free(t.r);
}

static void timer_cancelled_by_an_earlier_one(void **state)
{
	struct trace t;
	struct named_timer a, b;
	struct error e = ERROR_INIT;

	(void)state;
	setup_trace(&t);
	init_timer(&a, &t, 1);
	init_timer(&b, &t, 2);
	a.cancels = &b.t;
	int64_t now = clock_mono_ms();
	reactor_timer_set(t.r, &a.t, now - 2);
	reactor_timer_set(t.r, &b.t, now - 1);
	assert_int_equal(reactor_wait(t.r, 0, &e), 1);
	assert_int_equal(reactor_wait(t.r, 0, &e), 0);
	assert_int_equal(t.n, 1);
	reactor_free(t.r);
}

static void timer_armed_again_waits_for_the_next_round(void **state)
{
	struct trace t;
	struct named_timer a;
	struct error e = ERROR_INIT;

	(void)state;
	setup_trace(&t);
	init_timer(&a, &t, 1);
	a.again = true;
	reactor_timer_set(t.r, &a.t, 0);
	assert_int_equal(reactor_wait(t.r, 0, &e), 1);
	assert_int_equal(reactor_wait(t.r, CLOCK_NEVER, &e), 1);
	reactor_timer_cancel(t.r, &a.t);
	assert_int_equal(reactor_wait(t.r, 0, &e), 0);
	reactor_free(t.r);
}

struct watchdog {
	struct trace *trace;
	struct named_timer timer;
};

static void on_read_move_timer(void *ctx, int fd, short revents)
{
	struct watchdog *w = ctx;
	char c;

	(void)revents;
	assert_int_equal(read(fd, &c, 1), 1);
	reactor_timer_set(w->trace->r, &w->timer.t, clock_mono_ms() + 10000);
}

/* A process that slept past its watchdog finds data first: the watchdog must be moved, not fire. */
static void data_is_seen_before_a_late_timer(void **state)
{
	struct trace t;
	struct watchdog w = { .trace = &t };
	struct error e = ERROR_INIT;
	int p[2];

	(void)state;
	setup_trace(&t);
	init_timer(&w.timer, &t, 1);
	open_pipe(p);
	assert_int_equal(reactor_fd_set(t.r, p[0], POLLIN, on_read_move_timer, &w), 0);
	reactor_timer_set(t.r, &w.timer.t, clock_mono_ms() - 1000);
	assert_int_equal(write(p[1], "x", 1), 1);
	assert_int_equal(reactor_wait(t.r, 0, &e), 1);
	assert_int_equal(reactor_wait(t.r, 0, &e), 0);
	assert_int_equal(t.n, 0);
	close(p[0]);
	close(p[1]);
	reactor_free(t.r);
}

static void flood_does_not_starve_timers(void **state)
{
	struct trace t;
	struct named_timer a;
	int p[2];

	(void)state;
	setup_trace(&t);
	init_timer(&a, &t, 1);
	open_pipe(p);
	assert_int_equal(write(p[1], "x", 1), 1);
	assert_int_equal(reactor_fd_set(t.r, p[0], POLLIN, on_flood, &t), 0);
	reactor_timer_set(t.r, &a.t, clock_mono_ms() + 5);
	wait_fired(&t, 1, 2);
	close(p[0]);
	close(p[1]);
	reactor_free(t.r);
}

static void on_signal(void *ctx, int signo, int sender_pid)
{
	struct trace *t = ctx;

	t->fired[t->n++] = signo;
	assert_int_equal(sender_pid, getpid());
}

static void signals_arrive_as_events(void **state)
{
	struct trace t;
	struct error e = ERROR_INIT;
	const int signals[] = { SIGUSR1, SIGTERM };

	(void)state;
	setup_trace(&t);
	assert_int_equal(reactor_signals(t.r, signals, 2, on_signal, &t, &e), 0);
	assert_int_equal(reactor_signals(t.r, signals, 2, on_signal, &t, &e), -1);
	assert_int_equal(e.code, ERR_BUG);
	assert_int_equal(kill(getpid(), SIGTERM), 0);
	assert_int_equal(reactor_wait(t.r, CLOCK_NEVER, &e), 1);
	assert_int_equal(t.n, 1);
	assert_int_equal(t.fired[0], SIGTERM);
	reactor_free(t.r);
}

static void on_timer_wait(void *ctx)
{
	struct trace *t = ctx;
	struct error e = ERROR_INIT;

	assert_int_equal(reactor_wait(t->r, 0, &e), -1);
	assert_int_equal(e.code, ERR_BUG);
	t->n++;
}

static void waiting_inside_a_callback_is_refused(void **state)
{
	struct trace t;
	struct error e = ERROR_INIT;

	(void)state;
	setup_trace(&t);
	struct reactor_timer timer = { .fn = on_timer_wait, .ctx = &t };
	reactor_timer_set(t.r, &timer, 0);
	assert_int_equal(reactor_wait(t.r, 0, &e), 1);
	assert_int_equal(t.n, 1);
	reactor_free(t.r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(past_deadline_does_not_wait),
		cmocka_unit_test(deadline_is_kept),
		cmocka_unit_test(readable_fd_is_reported),
		cmocka_unit_test(events_zero_is_silent),
		cmocka_unit_test(removed_in_the_same_round_is_not_called),
		cmocka_unit_test(many_fds),
		cmocka_unit_test(timers_fire_in_order_of_time),
		cmocka_unit_test(timer_cancelled_by_an_earlier_one),
		cmocka_unit_test(timer_armed_again_waits_for_the_next_round),
		cmocka_unit_test(data_is_seen_before_a_late_timer),
		cmocka_unit_test(flood_does_not_starve_timers),
		cmocka_unit_test(signals_arrive_as_events),
		cmocka_unit_test(waiting_inside_a_callback_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
