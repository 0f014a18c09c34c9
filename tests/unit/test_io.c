/* Descriptors, clocks and the lines on stderr. */
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/io.h"
#include "base/log.h"
#include "base/utf8.h"

static int file_with(const char *text, size_t n)
{
	int fd = memfd_create("test", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(io_write_all(fd, text, n), 0);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	return fd;
}

static void test_reading(void **state)
{
	struct buf exact = BUF_INIT(5);
	struct buf small = BUF_INIT(4);
	struct error e = ERROR_INIT;
	int fd = file_with("ab\0cd", 5);

	(void)state;
	assert_int_equal(io_read_fd(fd, &exact, &e), 0);
	assert_int_equal(exact.len, 5);
	assert_memory_equal(exact.data, "ab\0cd", 6);
	lseek(fd, 0, SEEK_SET);
	assert_int_equal(io_read_fd(fd, &small, &e), -1);
	assert_int_equal(e.code, ERR_LIMIT);
	assert_string_equal(e.msg, "the input is larger than 4 bytes");
	close(fd);
	buf_release(&exact);
	buf_release(&small);
}

static void test_reading_files(void **state)
{
	struct buf out = BUF_INIT((size_t)1 << 20);
	struct error e = ERROR_INIT;

	(void)state;
	assert_int_equal(io_read_file(AT_FDCWD, "/proc/self/stat", &out, &e), 0); /* a file that says its size is 0 */
	assert_true(out.len > 10);
	assert_int_equal(io_read_file(AT_FDCWD, "/nowhere/at all", &out, &e), -1);
	assert_string_equal(e.msg, "cannot open '/nowhere/at all': No such file or directory");
	assert_int_equal(io_read_file(AT_FDCWD, "/", &out, &e), -1);
	assert_string_equal(e.msg, "cannot read '/': Is a directory");
	buf_release(&out);
	buf_init(&out, 10);
	assert_int_equal(io_read_file(AT_FDCWD, "/dev/zero", &out, &e), -1);
	assert_string_equal(e.msg, "'/dev/zero' is larger than 10 bytes");
	buf_release(&out);
}

static void test_writing_through_a_small_pipe(void **state)
{
	size_t n = 1 << 20;
	char *text = malloc(n);
	int p[2];

	(void)state;
	assert_non_null(text);
	memset(text, 'x', n);
	assert_int_equal(pipe(p), 0);
	pid_t child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		struct buf got = BUF_INIT((size_t)2 << 20);
		close(p[1]);
		_exit(io_read_fd(p[0], &got, NULL) == 0 && got.len == n ? 0 : 1);
	}
	close(p[0]);
	assert_int_equal(io_write_all(p[1], text, n), 0);
	close(p[1]);
	int status = -1;
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	free(text);
}

static void test_flags(void **state)
{
	int p[2];

	(void)state;
	assert_int_equal(pipe(p), 0);
	assert_int_equal(io_cloexec(p[0]), 0);
	assert_int_equal(io_nonblock(p[0]), 0);
	assert_int_equal(fcntl(p[0], F_GETFD), FD_CLOEXEC);
	assert_true(fcntl(p[0], F_GETFL) & O_NONBLOCK);
	close(p[0]);
	close(p[1]);
	assert_int_equal(io_cloexec(p[0]), -1);
	assert_int_equal(io_nonblock(p[0]), -1);
	assert_int_equal(io_write_all(p[1], "x", 1), -1);
	assert_int_equal(errno, EBADF);
}

static void test_standard_descriptors(void **state)
{
	(void)state;
	pid_t child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		for (int fd = 0; fd <= 2; fd++)
			close(fd);
		int rc = io_ensure_std_fds();
		bool open = fcntl(0, F_GETFD) == 0 && fcntl(1, F_GETFD) == 0 && write(2, "x", 1) == 1;
		_exit(rc == 0 && open && write(1, "x", 1) < 0 && errno == EBADF ? 0 : 1);
	}
	int status = -1;
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

static void test_clocks(void **state)
{
	int64_t ms = clock_mono_ms();
	int64_t us = clock_mono_us();
	int64_t later = clock_mono_ms();

	(void)state;
	assert_true(ms <= us / 1000 && us / 1000 <= later);
	assert_true(llabs(clock_wall_ms() / 1000 - (int64_t)time(NULL)) <= 10);
}

/* Stderr as a pipe that the test reads. */
struct capture {
	int saved, in;
};

static struct capture capture_stderr(void)
{
	struct capture c;
	int p[2];

	assert_int_equal(pipe(p), 0);
	c.saved = dup(STDERR_FILENO);
	dup2(p[1], STDERR_FILENO);
	close(p[1]);
	c.in = p[0];
	return c;
}

static void captured(struct capture *c, struct buf *out)
{
	dup2(c->saved, STDERR_FILENO);
	close(c->saved);
	assert_int_equal(io_read_fd(c->in, out, NULL), 0);
	close(c->in);
}

static void test_log_escapes(void **state)
{
	struct buf out = BUF_INIT(10000);
	struct capture c = capture_stderr();

	(void)state;
	log_error("a\x1b[31m%s", "\n\t\r\x7f \xC2\x9B \xC3\xA9 \xFF");
	captured(&c, &out);
	assert_string_equal(buf_str(&out), "quern: a\\x1b[31m\\n\\t\\x0d\\x7f \\x9b \xC3\xA9 \xEF\xBF\xBD\n");
	buf_release(&out);
}

static void test_log_levels(void **state)
{
	struct buf out = BUF_INIT(10000);
	struct capture c = capture_stderr();
	static const enum log_level levels[] = { LOG_QUIET, LOG_NORMAL, LOG_VERBOSE };

	(void)state;
	for (int i = 0; i < 3; i++) {
		log_set_level(levels[i]);
		assert_int_equal(log_level(), levels[i]);
		log_error("e%d", i);
		log_warn("w%d", i);
		log_verbose("v%d", i);
	}
	log_set_level(LOG_NORMAL);
	captured(&c, &out);
	assert_string_equal(buf_str(&out), "quern: e0\nquern: e1\nquern: w1\nquern: e2\nquern: w2\nquern: v2\n");
	buf_release(&out);
}

static void hide_secret(void *ctx, struct buf *line)
{
	char *at = strstr(line->data, ctx);

	if (at)
		memset(at, '*', strlen(ctx));
}

/* The mask sees the text before it is escaped or cut: a secret with a newline in it, or across the cut, is hidden. */
static void test_log_masks_first(void **state)
{
	char secret[] = "se\ncret";
	char text[5000];
	struct buf out = BUF_INIT(20000);
	struct capture c = capture_stderr();

	(void)state;
	log_set_mask(hide_secret, secret);
	log_error("key se\ncret!");
	memset(text, 'x', sizeof text);
	text[sizeof text - 1] = '\0';
	memcpy(text + 4096 - 12, secret, sizeof secret - 1);
	log_error("%s", text);
	log_set_mask(NULL, NULL);
	captured(&c, &out);
	assert_memory_equal(buf_str(&out), "quern: key *******!\nquern: xxx", 30);
	assert_null(strstr(buf_str(&out), "se"));
	assert_true(out.len < 4200);
	assert_memory_equal(out.data + out.len - 4, "...\n", 4);
	buf_release(&out);
}

/* A full pipe, a closed one and none at all neither stop nor kill us. */
static void test_log_never_waits(void **state)
{
	char junk[4096] = { 0 };
	struct capture c = capture_stderr();

	(void)state;
	io_nonblock(STDERR_FILENO);
	while (write(STDERR_FILENO, junk, sizeof junk) > 0)
		;
	fcntl(STDERR_FILENO, F_SETFL, 0); /* blocking again: a plain write would hang here */
	errno = 123;
	log_error("lost");
	assert_int_equal(errno, 123);
	close(c.in);
	void (*old)(int) = signal(SIGPIPE, SIG_IGN);
	log_error("lost");
	signal(SIGPIPE, old);
	close(STDERR_FILENO);
	log_error("lost");
	dup2(c.saved, STDERR_FILENO);
	close(c.saved);
}

static void test_tmpdir(void **state)
{
	static const struct {
		const char *given, *is;
	} rows[] = { { NULL, "/tmp" }, { "", "/tmp" }, { "relative", "/tmp" }, { "/var/tmp", "/var/tmp" } };

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		if (rows[i].given)
			setenv("TMPDIR", rows[i].given, 1);
		else
			unsetenv("TMPDIR");
		assert_string_equal(io_tmpdir(), rows[i].is);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reading),
		cmocka_unit_test(test_reading_files),
		cmocka_unit_test(test_writing_through_a_small_pipe),
		cmocka_unit_test(test_flags),
		cmocka_unit_test(test_standard_descriptors),
		cmocka_unit_test(test_clocks),
		cmocka_unit_test(test_tmpdir),
		cmocka_unit_test(test_log_escapes),
		cmocka_unit_test(test_log_levels),
		cmocka_unit_test(test_log_masks_first),
		cmocka_unit_test(test_log_never_waits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
