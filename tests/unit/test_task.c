/* Where the task comes from: descriptor 0 is a pipe, a file, a socket or /dev/null here. */
#include "job_try.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/reactor.h"

enum feed { FEED_PIPE, FEED_FILE, FEED_FILE_MIDDLE, FEED_SOCKET, FEED_NULL, FEED_CLOSED };

static int read_task(const struct job *job, int64_t deadline, struct buf *task, struct error *e)
{
	int stop = 0;
	struct task_wait wait = { reactor_open(e), &stop, deadline, false };

	assert_non_null(wait.reactor);
	int rc = job_read_task(job, &wait, task, e);
	reactor_free(wait.reactor);
	return rc;
}

static int file_with(const char *text, size_t n)
{
	char name[] = "/tmp/quern-test-task-XXXXXX";
	int fd = mkstemp(name);

	assert_true(fd >= 0);
	unlink(name);
	assert_int_equal(write(fd, text, n), (ssize_t)n);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	return fd;
}

/* Makes descriptor 0 the thing to read from. The text must fit into a pipe. */
static void feed(enum feed how, const char *text, size_t n)
{
	int fds[2] = { -1, -1 };

	if (fcntl(0, F_GETFD) < 0) /* nothing below may come to lie on 0 */
		assert_int_equal(open("/dev/null", O_RDONLY), 0);
	switch (how) {
	case FEED_PIPE:
		assert_int_equal(pipe(fds), 0);
		assert_int_equal(write(fds[1], text, n), (ssize_t)n);
		break;
	case FEED_SOCKET:
		assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
		assert_int_equal(write(fds[1], text, n), (ssize_t)n);
		break;
	case FEED_FILE:
	case FEED_FILE_MIDDLE:
		fds[0] = file_with(text, n);
		if (how == FEED_FILE_MIDDLE)
			assert_int_equal(lseek(fds[0], 2, SEEK_SET), 2);
		break;
	case FEED_NULL:
		fds[0] = open("/dev/null", O_RDONLY);
		break;
	case FEED_CLOSED:
		close(0);
		return;
	}
	assert_true(fds[0] >= 0);
	assert_int_equal(dup2(fds[0], 0), 0);
	close(fds[0]);
	if (fds[1] >= 0)
		close(fds[1]);
}

#define DO_IT        "do it"
#define WITH_CONTEXT "do it\n\n<stdin>\nab\ncd\n</stdin>"

static const struct {
	const char *words, *yaml;
	enum feed how;
	const char *in;
	const char *task, *error; /* one of them */
} rows[] = {
	/* the same bytes by whichever way */
	{ "-p|do it|-n", NULL, FEED_NULL, "", DO_IT, NULL },
	{ "--prompt=do it\n\n", NULL, FEED_NULL, "", DO_IT, NULL },
	{ "-q", NULL, FEED_PIPE, "do it\n", DO_IT, NULL },
	{ "-q", NULL, FEED_FILE,
	  "\xEF\xBB\xBF"
	  "do it\n\n",
	  DO_IT, NULL },
	{ "-q", NULL, FEED_FILE_MIDDLE, "x\ndo it\n", DO_IT, NULL },
	{ "-q", NULL, FEED_SOCKET, "do it", DO_IT, NULL },
	{ "-", NULL, FEED_PIPE, "do it", DO_IT, NULL },
	{ "@", "name: a", FEED_PIPE, "do it", DO_IT, NULL },
	{ "@", "prompt: |\n  do it\n", FEED_PIPE, "not touched", DO_IT, NULL },
	{ "-q", NULL, FEED_PIPE, "  do it \n", "  do it ", NULL },

	/* context beside a prompt */
	{ "-p|do it", NULL, FEED_PIPE, "ab\ncd\n", WITH_CONTEXT, NULL },
	{ "-p|do it", NULL, FEED_FILE, "ab\ncd", WITH_CONTEXT, NULL },
	{ "-p|do it", NULL, FEED_SOCKET, "ab\ncd", WITH_CONTEXT, NULL },
	{ "-p|do it|-n", NULL, FEED_PIPE, "ab", DO_IT, NULL },
	{ "-p|do it", NULL, FEED_PIPE, "", DO_IT, NULL },
	{ "-p|do it", NULL, FEED_NULL, "", DO_IT, NULL },
	{ "-p|do it", NULL, FEED_CLOSED, "", DO_IT, NULL },
	{ "-p|do it|-", NULL, FEED_FILE_MIDDLE, "x\nab\ncd\n", WITH_CONTEXT, NULL },
	{ "-|@", "prompt: do it", FEED_PIPE, "ab\ncd", WITH_CONTEXT, NULL },
	{ "@", "prompt: do it\nstdin: context", FEED_PIPE, "ab\ncd", WITH_CONTEXT, NULL },
	{ "-n|@", "prompt: do it\nstdin: context", FEED_PIPE, "ab", DO_IT, NULL },
	{ "-p|do it|@", "stdin: none", FEED_PIPE, "ab", DO_IT, NULL },
	{ "-p|do it|--set|limits.stdin_bytes=5", NULL, FEED_PIPE, "ab\ncd", WITH_CONTEXT, NULL },

	/* refusals */
	{ "-p|do it|--set|limits.stdin_bytes=4", NULL, FEED_PIPE, "ab\ncd", NULL,
	  "stdin goes on past byte offset 4: the limit is limits.stdin_bytes" },
	{ "-p|do it", NULL, FEED_FILE_MIDDLE, "ab\ncd", NULL,
	  "stdin is a file that something else has begun to read: -n leaves it alone, - reads the rest" },
	{ "-q", NULL, FEED_PIPE, " \n\t\n", NULL, "the task on stdin is empty" },
	{ "-q", NULL, FEED_NULL, "", NULL, "the task on stdin is empty" },
	{ "-q", NULL, FEED_PIPE, "\xC2\xA0\xE3\x80\x80\n", NULL, "the task on stdin is empty" }, /* NBSP and the like */
	{ "-q", NULL, FEED_FILE, "ab\xC3", NULL, "stdin: invalid UTF-8 at byte offset 2" },
	{ "-n", NULL, FEED_PIPE, "do it", NULL,
	  "no task: stdin is to be left alone and there is neither -p TEXT nor prompt:" },
};

static void run_row(size_t i)
{
	struct trial t;
	struct buf task = BUF_INIT(1 << 20);
	struct error e = ERROR_INIT;

	feed(rows[i].how, rows[i].in, strlen(rows[i].in));
	try_begin(&t, rows[i].words, rows[i].yaml, NULL);
	if (t.rc)
		fail_msg("row %zu: %s", i, buf_str(&t.errs.text));
	int rc = read_task(&t.job, clock_mono_ms() + 5000, &task, &e);
	if (rc != (rows[i].task ? 0 : -1))
		fail_msg("row %zu: %d %s", i, rc, e.msg);
	if (rows[i].task)
		assert_string_equal(buf_str(&task), rows[i].task);
	else
		assert_string_equal(e.msg, rows[i].error);
	buf_release(&task);
	try_end(&t);
}

static void test_rows(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
		run_row(i);
}

static void test_nul_has_its_offset(void **state)
{
	struct trial t;
	struct buf task = BUF_INIT(1 << 20);
	struct error e = ERROR_INIT;

	(void)state;
	feed(FEED_PIPE, "do\0it", 5);
	try_begin(&t, "-q", NULL, NULL);
	assert_int_equal(read_task(&t.job, CLOCK_NEVER, &task, &e), -1);
	assert_string_equal(e.msg, "stdin: NUL byte at byte offset 2");
	buf_release(&task);
	try_end(&t);
}

/* A pipe that nobody closes ends with the wall time, not never. */
static void test_deadline(void **state)
{
	struct trial t;
	struct buf task = BUF_INIT(1 << 20);
	struct error e = ERROR_INIT;
	int fds[2];

	(void)state;
	feed(FEED_NULL, "", 0);
	assert_int_equal(pipe(fds), 0);
	assert_int_equal(dup2(fds[0], 0), 0);
	try_begin(&t, "-p|x", NULL, NULL);
	int64_t begin = clock_mono_ms();
	assert_int_equal(read_task(&t.job, begin + 50, &task, &e), -1);
	assert_string_equal(e.msg, "the wall time ended while stdin was read");
	assert_true(clock_mono_ms() - begin >= 50);
	close(fds[0]);
	close(fds[1]);
	buf_release(&task);
	try_end(&t);
}

struct late {
	int fd;
	unsigned ms;
};

static void *write_late(void *arg)
{
	const struct late *l = arg;

	usleep(l->ms * 1000);
	ssize_t n = write(l->fd, "late", 4);
	close(l->fd);
	return n == 4 ? arg : NULL;
}

/* Runs one reading of which the writer comes late, with stderr caught. */
static int read_late(bool socket, unsigned ms, struct buf *task, struct buf *said, struct error *e)
{
	struct trial t;
	int fds[2], err, old = dup(2);
	char text[4096];
	pthread_t thread;

	feed(FEED_NULL, "", 0);
	err = file_with("", 0);
	assert_int_equal(socket ? socketpair(AF_UNIX, SOCK_STREAM, 0, fds) : pipe(fds), 0);
	assert_int_equal(dup2(fds[0], 0), 0);
	close(fds[0]);
	struct late l = { fds[1], ms };
	assert_int_equal(pthread_create(&thread, NULL, write_late, &l), 0);
	dup2(err, 2);
	log_set_level(LOG_NORMAL);
	try_begin(&t, "-p|x", NULL, NULL);
	int rc = read_task(&t.job, CLOCK_NEVER, task, e);
	dup2(old, 2);
	close(old);
	pthread_join(thread, NULL);
	ssize_t n = pread(err, text, sizeof text, 0);
	assert_true(n >= 0);
	buf_add(said, text, (size_t)n);
	close(err);
	try_end(&t);
	return rc;
}

static void test_slow_pipe_is_waited_for(void **state)
{
	struct buf task = BUF_INIT(1 << 20), said = BUF_INIT(8192);
	struct error e = ERROR_INIT;

	(void)state;
	assert_int_equal(read_late(false, 3300, &task, &said, &e), 0);
	assert_string_equal(buf_str(&task), "x\n\n<stdin>\nlate\n</stdin>");
	assert_string_equal(buf_str(&said), "quern: waiting for stdin to end (-n leaves it alone)\n");
	buf_release(&task);
	buf_release(&said);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_nul_has_its_offset),
		cmocka_unit_test(test_deadline),
		cmocka_unit_test(test_slow_pipe_is_waited_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
