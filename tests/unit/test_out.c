/* Writing to files, pipes, sockets and terminals: all arrives, nothing waits, failures end it. */
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include <poll.h>

#include "base/clock.h"
#include "base/io.h"
#include "growth.h"
#include "record/event.h"
#include "record/out.h"

struct pipework {
	struct reactor *reactor;
	int to, from; /* what is written to, what the reader has */
	size_t bite;  /* bytes the reader takes at a time */
	struct buf got;
};

static int setup(void **state)
{
	struct pipework *p = calloc(1, sizeof *p);
	struct error e;

	if (!p)
		return -1;
	p->reactor = reactor_open(&e);
	p->to = p->from = -1;
	p->bite = 4096;
	buf_init(&p->got, BUF_HUGE);
	*state = p;
	return p->reactor ? 0 : -1;
}

static int teardown(void **state)
{
	struct pipework *p = *state;

	reactor_free(p->reactor);
	if (p->to >= 0)
		close(p->to);
	if (p->from >= 0)
		close(p->from);
	buf_release(&p->got);
	free(p);
	return 0;
}

static void use_pipe(struct pipework *p)
{
	int fd[2];

	assert_int_equal(pipe2(fd, O_CLOEXEC), 0);
	p->from = fd[0];
	p->to = fd[1];
}

static void use_socket(struct pipework *p)
{
	int fd[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd), 0);
	p->from = fd[0];
	p->to = fd[1];
}

static void use_terminal(struct pipework *p)
{
	struct termios t;

	p->from = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	assert_true(p->from >= 0);
	assert_int_equal(grantpt(p->from), 0);
	assert_int_equal(unlockpt(p->from), 0);
	p->to = open(ptsname(p->from), O_RDWR | O_NOCTTY | O_CLOEXEC);
	assert_true(p->to >= 0);
	assert_int_equal(tcgetattr(p->to, &t), 0);
	cfmakeraw(&t);
	assert_int_equal(tcsetattr(p->to, TCSANOW, &t), 0);
}

static void on_readable(void *ctx, int fd, short revents)
{
	struct pipework *p = ctx;
	char bytes[65536];

	(void)revents;
	ssize_t n = read(fd, bytes, p->bite);
	assert_true(n > 0);
	buf_add(&p->got, bytes, (size_t)n);
}

static void start_reading(struct pipework *p)
{
	assert_int_equal(reactor_fd_set(p->reactor, p->from, POLLIN, on_readable, p), 0);
}

static void read_rest(struct pipework *p, size_t total)
{
	struct error e;
	int64_t deadline = clock_mono_ms() + 20000;

	while (p->got.len < total && clock_mono_ms() < deadline)
		assert_true(reactor_wait(p->reactor, deadline, &e) >= 0);
	assert_int_equal(p->got.len, total);
}

/* Line i of a stream: its number and filling, so that lost, torn or swapped lines show. */
static size_t make_line(char *line, size_t size, unsigned i)
{
	int n = snprintf(line, size, "%08u ", i);
	size_t len = (size_t)n + i % 700;

	memset(line + n, 'a' + (int)(i % 26), len - (size_t)n);
	line[len] = '\n';
	return len + 1;
}

static void assert_lines(const struct buf *got, unsigned count)
{
	char line[1024];
	size_t at = 0;

	for (unsigned i = 0; i < count; i++) {
		size_t n = make_line(line, sizeof line, i);
		assert_true(at + n <= got->len);
		assert_memory_equal(got->data + at, line, n);
		at += n;
	}
	assert_int_equal(at, got->len);
}

/* 2 MB of lines through a reader that starts late and takes little at a time. */
static void push_2mb(struct pipework *p)
{
	struct error e = ERROR_INIT;
	struct out *o = out_open(p->to, "stdout", p->reactor, &e);
	int flags = fcntl(p->to, F_GETFL);
	unsigned count = 6000;
	size_t total = 0;
	char line[1024];

	assert_non_null(o);
	assert_int_equal(fcntl(p->to, F_GETFL), flags); /* the shared description is as it was */
	int64_t begin = clock_mono_ms();
	for (unsigned i = 0; i < count; i++) {
		size_t n = make_line(line, sizeof line, i);
		assert_int_equal(out_write(o, line, n, &e), 0);
		total += n;
	}
	assert_true(total > 2000000);
	assert_true(clock_mono_ms() - begin < 5000); /* nobody has read yet, and it did not wait */
	assert_true(out_backlog(o) > 0);
	start_reading(p);
	assert_int_equal(out_drain(o, &(int64_t){ clock_mono_ms() + 20000 }, &e), 0);
	assert_int_equal(out_backlog(o), 0);
	read_rest(p, total);
	assert_lines(&p->got, count);
	assert_int_equal(fcntl(p->to, F_GETFL), flags);
	reactor_fd_remove(p->reactor, p->from);
	out_free(o);
}

static void a_pipe(void **state)
{
	use_pipe(*state);
	push_2mb(*state);
}

static void a_pipe_that_is_nonblocking_already(void **state)
{
	struct pipework *p = *state;

	use_pipe(p);
	assert_int_equal(io_nonblock(p->to), 0);
	push_2mb(p);
}

/* No descriptor is left to open the pipe anew: PIPE_BUF at a time must do. */
static void a_pipe_that_cannot_be_reopened(void **state)
{
	struct pipework *p = *state;
	struct rlimit old, low;

	use_pipe(p);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
	low = old;
	low.rlim_cur = 3; /* all that are open stay open */
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
	assert_true(dup(p->to) < 0);
	push_2mb(p);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
}

static void a_socket(void **state)
{
	use_socket(*state);
	push_2mb(*state);
}

static void a_terminal(void **state)
{
	use_terminal(*state);
	push_2mb(*state);
}

/* The same without a reactor of the caller's: out_print and start-up failures. */
static void an_output_waits_by_itself_if_it_must(void **state)
{
	struct pipework *p = *state;
	struct error e = ERROR_INIT;
	char bytes[65536];

	use_pipe(p);
	memset(bytes, 'x', sizeof bytes);
	struct out *o = out_open(p->to, "stdout", NULL, &e);
	assert_int_equal(out_write(o, bytes, sizeof bytes, &e), 0);
	assert_int_equal(out_write(o, bytes, 1000, &e), 0);
	assert_int_equal(out_drain(o, &(int64_t){ clock_mono_ms() + 20 }, &e), -1);
	assert_int_equal(e.code, ERR_GONE);
	assert_false(out_gone(o)); /* only slow */
	assert_int_equal(read(p->from, bytes, sizeof bytes), sizeof bytes);
	assert_int_equal(out_drain(o, &(int64_t){ clock_mono_ms() + 20000 }, &e), 0);
	assert_int_equal(read(p->from, bytes, sizeof bytes), 1000);
	out_free(o);
}

static void assert_gone(struct out *o, int err)
{
	struct error e = ERROR_INIT;
	char expected[128];

	snprintf(expected, sizeof expected, "cannot write to stdout: %s", strerror(err));
	for (int i = 0; i < 2; i++) { /* and stays so */
		assert_int_equal(out_write(o, "x\n", 2, &e), -1);
		assert_int_equal(e.code, ERR_GONE);
		assert_string_equal(e.msg, expected);
	}
	assert_true(out_gone(o));
	assert_int_equal(out_backlog(o), 0);
	assert_int_equal(out_drain(o, &(int64_t){ CLOCK_NEVER }, &e), -1);
	assert_int_equal(e.code, ERR_GONE);
}

static void a_reader_that_went_away(void **state)
{
	struct pipework *p = *state;
	struct error e = ERROR_INIT;

	use_pipe(p);
	struct out *o = out_open(p->to, "stdout", p->reactor, &e);
	close(p->from);
	assert_gone(o, EPIPE);
	out_free(o);

	o = out_open(p->to, "stdout", p->reactor, &e); /* gone before we looked */
	assert_gone(o, EPIPE);
	out_free(o);
	close(p->to);

	use_socket(p);
	o = out_open(p->to, "stdout", p->reactor, &e);
	close(p->from);
	assert_gone(o, EPIPE);
	out_free(o);
	p->from = -1;
}

static void a_reader_that_goes_away_with_lines_waiting(void **state)
{
	struct pipework *p = *state;
	struct error e = ERROR_INIT;
	char bytes[65536];

	memset(bytes, 'x', sizeof bytes);
	use_pipe(p);
	struct out *o = out_open(p->to, "stdout", p->reactor, &e);
	for (int i = 0; i < 4; i++)
		assert_int_equal(out_write(o, bytes, sizeof bytes, &e), 0);
	close(p->from);
	p->from = -1;
	assert_int_equal(out_drain(o, &(int64_t){ clock_mono_ms() + 20000 }, &e), -1);
	assert_string_equal(e.msg, "cannot write to stdout: Broken pipe");
	assert_gone(o, EPIPE);
	out_free(o);
}

static void a_full_disk(void **state)
{
	struct error e = ERROR_INIT;
	int fd = open("/dev/full", O_WRONLY | O_CLOEXEC);

	(void)state;
	struct out *o = out_open(fd, "stdout", NULL, &e);
	assert_gone(o, ENOSPC);
	out_free(o);
	close(fd);
}

/* The disk takes the front of a line only: no half line stays behind. */
static void a_disk_that_fills_up_within_a_line(void **state)
{
	char path[] = "/tmp/quern-test-out-XXXXXX";
	struct error e = ERROR_INIT;
	struct rlimit old, low;
	int fd = mkstemp(path);
	char line[600];
	struct stat st;

	(void)state;
	memset(line, 'x', sizeof line);
	struct out *o = out_open(fd, "stdout", NULL, &e);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
	low = old;
	low.rlim_cur = 1000;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &low), 0);
	assert_int_equal(out_write(o, line, sizeof line, &e), 0);
	assert_int_equal(out_write(o, line, sizeof line, &e), -1);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
	assert_int_equal(e.code, ERR_GONE);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_size, sizeof line);
	out_free(o);
	close(fd);
	unlink(path);
}

/* Two outputs that append to one file do not write into each other's lines. */
static void appending_is_one_write_a_line(void **state)
{
	char path[] = "/tmp/quern-test-out-XXXXXX";
	struct error e = ERROR_INIT;
	int fd = mkstemp(path);
	struct buf got = BUF_INIT(BUF_HUGE);

	(void)state;
	close(fd);
	struct out *a = out_append(path, NULL, &e), *b = out_append(path, NULL, &e);
	assert_true(out_same_file(a, b));
	for (int i = 0; i < 100; i++) {
		assert_int_equal(out_write(a, "aaa\n", 4, &e), 0);
		assert_int_equal(out_write(b, "bbb\n", 4, &e), 0);
	}
	assert_int_equal(io_read_file(AT_FDCWD, path, &got, &e), 0);
	assert_int_equal(got.len, 800);
	for (size_t i = 0; i < got.len; i += 8)
		assert_memory_equal(got.data + i, "aaa\nbbb\n", 8);
	buf_release(&got);
	out_free(a);
	out_free(b);
	unlink(path);
}

/* Queues n lines of 1 KiB and then passes them on to a reader that starts at the end. */
static void queue_lines(void *ctx, size_t n)
{
	struct pipework *p = ctx;
	struct error e = ERROR_INIT;
	struct out *o = out_open(p->to, "stdout", p->reactor, &e);
	char line[1024];

	p->bite = 65536;
	p->got.len = 0;
	memset(line, 'x', sizeof line);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(out_write(o, line, sizeof line, &e), 0);
	start_reading(p);
	assert_int_equal(out_drain(o, &(int64_t){ clock_mono_ms() + 60000 }, &e), 0);
	read_rest(p, n * sizeof line);
	reactor_fd_remove(p->reactor, p->from);
	out_free(o);
}

static void a_long_queue_costs_in_proportion(void **state)
{
	struct pipework *p = *state;

	use_pipe(p);
	queue_lines(p, 2000);
	assert_true(growth_is_linear(queue_lines, p, 4000));
}

/* The whole way: a result of 2 MB in each format arrives whole through a slow pipe. */
static void a_2mb_result_arrives_whole(void **state)
{
	struct pipework *p = *state;
	size_t n = (size_t)2 << 20;
	char *text = malloc(n);
	static const enum output_format formats[] = { OUTPUT_TEXT, OUTPUT_JSON };

	assert_non_null(text);
	memset(text, 'x', n);
	use_pipe(p);
	for (size_t i = 0; i < 2; i++) {
		struct error e = ERROR_INIT;
		struct recorder_config cfg = { .format = formats[i], .reactor = p->reactor, .fd = p->to };
		struct recorder *r = recorder_open(&cfg, &e);
		struct event ev = { .kind = EVENT_RESULT };

		ev.u.result = (struct event_result){ .reason = TERM_COMPLETED, .result = text, .result_len = n };
		p->got.len = 0;
		assert_int_equal(recorder_emit(r, &ev, &e), 0);
		assert_true(recorder_backlog(r) > n / 2);
		start_reading(p);
		assert_int_equal(recorder_drain(r, &(int64_t){ clock_mono_ms() + 20000 }, &e), 0);
		p->bite = 65536;
		while (p->got.len == 0 || p->got.data[p->got.len - 1] != '\n')
			assert_true(reactor_wait(p->reactor, clock_mono_ms() + 20000, &e) > 0);
		reactor_fd_remove(p->reactor, p->from);
		assert_true(p->got.len > n);
		const char *at = memmem(p->got.data, p->got.len, text, n);
		assert_non_null(at);
		if (formats[i] == OUTPUT_TEXT)
			assert_int_equal(p->got.len, n + 1);
		recorder_free(r);
	}
	free(text);
}

/* stdout gone: each event says so. The events file goes on, and the other way round. */
static void one_output_gone_leaves_the_other(void **state)
{
	struct pipework *p = *state;
	char path[] = "/tmp/quern-test-out-XXXXXX";
	struct error e = ERROR_INIT;
	int file = mkstemp(path);
	struct stat st;

	use_pipe(p);
	close(p->from);
	p->from = -1;
	struct recorder_config cfg = { .reactor = p->reactor, .fd = p->to, .events_path = path };
	struct recorder *r = recorder_open(&cfg, &e);
	struct event ev = { .kind = EVENT_NOTICE, .u.notice = { "x", "y" } };
	assert_int_equal(recorder_emit(r, &ev, &e), -1);
	assert_int_equal(e.code, ERR_GONE);
	assert_true(recorder_gone(r));
	assert_string_equal(recorder_what_is_gone(r), "stdout");
	assert_int_equal(recorder_emit(r, &ev, &e), -1);
	recorder_free(r);
	assert_int_equal(fstat(file, &st), 0);
	off_t two_lines = st.st_size;
	assert_true(two_lines > 0);

	cfg.fd = file;
	cfg.events_path = "/dev/full";
	r = recorder_open(&cfg, &e);
	assert_non_null(r);
	assert_int_equal(recorder_emit(r, &ev, &e), -1); /* said once, so that the result can follow */
	assert_string_equal(e.msg, "cannot write to events file '/dev/full': No space left on device");
	assert_true(recorder_gone(r));
	assert_string_equal(recorder_what_is_gone(r), "the events file");
	assert_int_equal(recorder_emit(r, &ev, &e), 0);
	recorder_free(r);
	assert_int_equal(fstat(file, &st), 0);
	assert_int_equal(st.st_size, two_lines);
	close(file);
	unlink(path);
}

static void what_cannot_be_made_safe_is_gone(void **state)
{
	struct pipework *p = *state;
	struct error e = ERROR_INIT;
	FILE *f = tmpfile();

	assert_non_null(f);
	struct out *o = out_open(fileno(f), "the file", NULL, &e);
	assert_int_equal(out_write(o, "x\n", 2, &e), 0);
	assert_int_equal(out_sync(o, &e), 0);
	int fd = dup(fileno(f)), number = fileno(f);
	close(number); /* as a disk that fails: what was written is in doubt */
	assert_int_equal(out_sync(o, &e), -1);
	assert_int_equal(e.code, ERR_GONE);
	assert_non_null(strstr(e.msg, "cannot write to the file"));
	assert_true(out_gone(o));
	assert_int_equal(out_sync(o, &e), -1);
	assert_int_equal(out_write(o, "y\n", 2, &e), -1);
	out_free(o);
	assert_int_equal(dup2(fd, number), number);
	close(fd);
	fclose(f);
	/* there is no disk behind a pipe */
	use_pipe(p);
	o = out_open(p->to, "pipe", p->reactor, &e);
	assert_int_equal(out_sync(o, &e), 0);
	out_free(o);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
		T(a_pipe),
		T(a_pipe_that_is_nonblocking_already),
		T(a_pipe_that_cannot_be_reopened),
		T(a_socket),
		T(a_terminal),
		T(an_output_waits_by_itself_if_it_must),
		T(a_reader_that_went_away),
		T(a_reader_that_goes_away_with_lines_waiting),
		T(a_full_disk),
		T(a_disk_that_fills_up_within_a_line),
		T(appending_is_one_write_a_line),
		T(a_long_queue_costs_in_proportion),
		T(a_2mb_result_arrives_whole),
		T(one_output_gone_leaves_the_other),
		T(what_cannot_be_made_safe_is_gone),
#undef T
	};

	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
