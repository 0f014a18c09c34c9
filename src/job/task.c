/* Where the task's text comes from. */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/reactor.h"
#include "base/utf8.h"
#include "job/job.h"

#define NOTE_AFTER_MS        3000
#define SOCKET_FIRST_BYTE_MS 10000
#define CHUNK                65536

#define USAGE "usage: quern [OPTION]... [JOB.yaml]"

/* One reading of stdin to its end. */
struct intake {
	struct reactor *reactor;
	const int *stop; /* becomes non-zero when a signal ends the run */
	struct buf *into;
	size_t max;
	const char *note; /* said once if the end has not come after a while */
	bool socket;      /* a first byte is due */
	bool ended;
	bool failed;
	struct error *e;
	struct reactor_timer note_timer, first_timer;
};

static void give_up(struct intake *in)
{
	in->failed = true;
}

static void on_stdin(void *ctx, int fd, short revents)
{
	struct intake *in = ctx;
	char chunk[CHUNK];
	ssize_t n = read(fd, chunk, sizeof chunk);

	(void)revents;
	if (n < 0) {
		if (errno == EINTR || errno == EAGAIN)
			return;
		error_sys(in->e, "cannot read stdin");
		give_up(in);
		return;
	}
	reactor_timer_cancel(in->reactor, &in->first_timer);
	if (!n) {
		in->ended = true;
		return;
	}
	if ((size_t)n > in->max - in->into->len) {
		error_set(in->e, ERR_INPUT, "stdin goes on past byte offset %zu: the limit is limits.stdin_bytes",
		          in->max);
		give_up(in);
		return;
	}
	if (buf_add(in->into, chunk, (size_t)n)) {
		buf_check(in->into, "stdin", in->e);
		give_up(in);
	}
}

static void on_note(void *ctx)
{
	struct intake *in = ctx;

	log_warn("%s", in->note);
}

static void on_silent_socket(void *ctx)
{
	struct intake *in = ctx;

	error_set(in->e, ERR_INPUT,
	          "stdin is a socket and nothing came from it for %d s: -n leaves it alone, - waits for it all the "
	          "same",
	          SOCKET_FIRST_BYTE_MS / 1000);
	give_up(in);
}

static int wait_for_end(struct intake *in, int64_t deadline)
{
	int64_t now = clock_mono_ms();

	if (reactor_fd_set(in->reactor, STDIN_FILENO, POLLIN, on_stdin, in))
		return error_nomem(in->e);
	reactor_timer_set(in->reactor, &in->note_timer, now + NOTE_AFTER_MS);
	if (in->socket)
		reactor_timer_set(in->reactor, &in->first_timer, now + SOCKET_FIRST_BYTE_MS);
	while (!in->ended && !in->failed) {
		int n = reactor_wait(in->reactor, deadline, in->e);
		if (n < 0)
			return -1;
		if (*in->stop)
			return error_set(in->e, ERR_GONE, "ended by signal %d while stdin was read", *in->stop);
		if (!n && clock_mono_ms() >= deadline)
			return error_set(in->e, ERR_INPUT, "the wall time ended while stdin was read");
	}
	return in->failed ? -1 : 0;
}

static int read_stdin(const struct task_wait *wait, const struct job *job, const char *note, bool socket,
                      struct buf *into, struct error *e)
{
	struct intake in = { .reactor = wait->reactor,
		             .stop = wait->stop,
		             .into = into,
		             .max = (size_t)job->stdin_bytes,
		             .note = note,
		             .socket = socket,
		             .e = e };

	in.note_timer = (struct reactor_timer){ .fn = on_note, .ctx = &in };
	in.first_timer = (struct reactor_timer){ .fn = on_silent_socket, .ctx = &in };
	int rc = wait_for_end(&in, wait->deadline);
	reactor_timer_cancel(in.reactor, &in.note_timer);
	reactor_timer_cancel(in.reactor, &in.first_timer);
	reactor_fd_remove(in.reactor, STDIN_FILENO);
	return rc;
}

static int check_bytes(const struct buf *b, struct error *e)
{
	size_t bad = 0;
	const char *nul = b->len ? memchr(b->data, '\0', b->len) : NULL;

	if (nul)
		return error_set(e, ERR_INPUT, "stdin: NUL byte at byte offset %zu", (size_t)(nul - b->data));
	if (!utf8_valid(buf_str(b), b->len, &bad))
		return error_set(e, ERR_INPUT, "stdin: invalid UTF-8 at byte offset %zu", bad);
	return 0;
}

/* What makes the task the same by whichever way it came: no mark in front, no line feeds behind. */
static const char *trim(const char *text, size_t *n)
{
	if (*n >= 3 && !memcmp(text, "\xEF\xBB\xBF", 3)) {
		text += 3;
		*n -= 3;
	}
	while (*n && text[*n - 1] == '\n')
		--*n;
	return text;
}

static int task_from_stdin(const struct job *job, const struct task_wait *wait, struct buf *task, struct error *e)
{
	struct buf all;
	int rc = -1;

	if (job->stdin_mode == STDIN_NONE)
		return error_set(e, ERR_INPUT,
		                 "no task: stdin is to be left alone and there is neither -p TEXT nor prompt:");
	if (job->stdin_mode == STDIN_AUTO && isatty(STDIN_FILENO))
		return error_set(e, ERR_INPUT,
		                 USAGE " (no task: give it by -p TEXT, on stdin, or as prompt: in the job)");
	buf_init(&all, (size_t)job->stdin_bytes);
	if (!read_stdin(wait, job, "waiting for the task on stdin (-p TEXT gives it on the command line)", false, &all,
	                e) &&
	    !check_bytes(&all, e)) {
		size_t n = all.len;
		const char *text = trim(buf_str(&all), &n);
		if (utf8_is_blank(text, n)) {
			error_set(e, ERR_INPUT, "the task on stdin is empty");
		} else {
			buf_add(task, text, n);
			rc = buf_check(task, "the task", e);
		}
	}
	buf_release(&all);
	return rc;
}

enum stdin_use { USE_NOT, USE_FILE, USE_PIPE, USE_SOCKET, USE_FAILED };

/* Whether stdin is context beside a prompt. Never a silent hang, never data that is dropped without a word. */
static enum stdin_use stdin_use(const struct job *job, bool leave, struct error *e)
{
	struct stat st;

	if (job->stdin_mode == STDIN_NONE || (job->stdin_mode == STDIN_AUTO && (leave || !job->prompt_from_option)))
		return USE_NOT;
	if (job->stdin_mode == STDIN_CONTEXT)
		return USE_FILE;
	if (fstat(STDIN_FILENO, &st) || S_ISCHR(st.st_mode))
		return USE_NOT;
	if (S_ISSOCK(st.st_mode))
		return USE_SOCKET;
	if (S_ISREG(st.st_mode) && lseek(STDIN_FILENO, 0, SEEK_CUR) > 0) {
		error_set(e, ERR_INPUT,
		          "stdin is a file that something else has begun to read: -n leaves it alone, - reads the "
		          "rest");
		return USE_FAILED;
	}
	return S_ISREG(st.st_mode) ? USE_FILE : USE_PIPE;
}

static int add_context(const struct job *job, bool socket, const struct task_wait *wait, struct buf *task,
                       struct error *e)
{
	struct buf all;
	int rc = -1;

	buf_init(&all, (size_t)job->stdin_bytes);
	if (!read_stdin(wait, job, "waiting for stdin to end (-n leaves it alone)", socket, &all, e) &&
	    !check_bytes(&all, e)) {
		size_t n = all.len;
		const char *text = trim(buf_str(&all), &n);
		if (n) {
			buf_adds(task, "\n\n<stdin>\n");
			buf_add(task, text, n);
			buf_adds(task, "\n</stdin>");
		}
		rc = buf_check(task, "the task", e);
	}
	buf_release(&all);
	return rc;
}

int job_read_task(const struct job *job, const struct task_wait *wait, struct buf *task, struct error *e)
{
	if (!job->prompt)
		return task_from_stdin(job, wait, task, e);
	size_t n = strlen(job->prompt);
	const char *text = trim(job->prompt, &n);
	if (utf8_is_blank(text, n))
		return error_set(e, ERR_INPUT, "the task is empty");
	buf_add(task, text, n);
	if (job->stream_input)
		return buf_check(task, "the task", e); /* stdin has messages for later */
	enum stdin_use use = stdin_use(job, wait->leave, e);
	if (use == USE_FAILED)
		return -1;
	if (use == USE_NOT)
		return buf_check(task, "the task", e);
	return add_context(job, use == USE_SOCKET, wait, task, e);
}
