#include "supervisor/kid.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define READ_CHUNK ((size_t)64 << 10)
#define READ_ROUND                                                                                                     \
	((size_t)256 << 10) /* at most, a pipe and a round of the reactor: a flood leaves time for others              \
	                     */

struct kid *kid_open(struct reactor *r, int id, const struct spawn *spec, child_done on_done, void *ctx)
{
	struct kid *k = calloc(1, sizeof *k);

	if (!k)
		return NULL;
	k->r = r;
	k->cwd_fd = -1;
	k->id = id;
	k->on_done = on_done;
	k->heard = spec->heard;
	k->ctx = ctx;
	k->name = strdup(spec->call ? spec->call : spec->argv[0]);
	for (int i = 0; i < KID_CHANNELS; i++)
		k->channels[i] = (struct channel){ .kid = k, .fd = -1 };
	collector_init(&k->out, spec->keep_head, spec->keep_tail);
	collector_spill_to(&k->out, spec->spill_open, ctx, spec->max_spill);
	collector_init(&k->err, spec->keep_head, spec->keep_tail);
	buf_init(&k->result, spec->max_result);
	if (!k->name) {
		kid_free(k);
		return NULL;
	}
	return k;
}

static void close_channel(struct channel *ch)
{
	if (ch->fd < 0)
		return;
	reactor_fd_remove(ch->kid->r, ch->fd);
	close(ch->fd);
	ch->fd = -1;
}

void kid_free(struct kid *k)
{
	for (int i = 0; i < KID_CHANNELS; i++)
		close_channel(&k->channels[i]);
	if (k->cwd_fd >= 0)
		close(k->cwd_fd);
	collector_release(&k->out);
	collector_release(&k->err);
	buf_release(&k->result);
	free(k->name);
	free(k);
}

static void take_bytes(const struct channel *ch, const char *p, size_t n)
{
	struct kid *k = ch->kid;

	if (k->discard)
		return;
	if (ch == &k->channels[KID_RESULT]) {
		size_t room = k->result.max - k->result.len;
		buf_add(&k->result, p, n < room ? n : room);
	} else {
		collector_add(ch == &k->channels[KID_ERR] ? &k->err : &k->out, p, n);
	}
}

/* Reads up to max bytes, as far as they are there; closes at the end of the file. */
static void read_channel(struct channel *ch, size_t max)
{
	char chunk[READ_CHUNK];

	while (max) {
		ssize_t n = read(ch->fd, chunk, max < sizeof chunk ? max : sizeof chunk);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return;
		if (n <= 0) {
			close_channel(ch);
			return;
		}
		take_bytes(ch, chunk, (size_t)n);
		max -= (size_t)n;
	}
}

static void on_readable(void *ctx, int fd, short revents)
{
	struct channel *ch = ctx;
	struct kid *k = ch->kid;

	(void)fd;
	(void)revents;
	read_channel(ch, READ_ROUND);
	if (k->heard && !k->discard && ch == &k->channels[KID_OUT] && k->out.total == k->out.head.len && k->out.total)
		k->heard(k->ctx, k->out.head.data, k->out.head.len);
}

static bool wanted(const struct spawn *spec, enum kid_channel which)
{
	switch (which) {
	case KID_ERR:
		return spec->separate_stderr;
	case KID_RESULT:
		return spec->max_result > 0;
	default:
		return true;
	}
}

/* The child's end stays blocking: programs do not expect anything else. */
static int make_pipe(struct channel *ch, bool paused, int *write_end)
{
	int p[2];

	if (pipe2(p, O_CLOEXEC))
		return -1;
	ch->fd = p[0];
	*write_end = p[1];
	if (fcntl(p[0], F_SETFL, O_NONBLOCK))
		return -1;
	if (reactor_fd_set(ch->kid->r, ch->fd, paused ? 0 : POLLIN, on_readable, ch)) {
		errno = ENOMEM;
		return -1;
	}
	return 0;
}

int kid_make_pipes(struct kid *k, const struct spawn *spec, bool paused, int ends[KID_CHANNELS])
{
	for (int i = 0; i < KID_CHANNELS; i++)
		ends[i] = -1;
	for (int i = 0; i < KID_CHANNELS; i++) {
		if (!wanted(spec, (enum kid_channel)i) || make_pipe(&k->channels[i], paused, &ends[i]) == 0)
			continue;
		int saved = errno;
		for (int j = 0; j < KID_CHANNELS; j++)
			if (ends[j] >= 0)
				close(ends[j]);
		errno = saved;
		return -1;
	}
	return 0;
}

void kid_pause(struct kid *k, bool on)
{
	for (int i = 0; i < KID_CHANNELS; i++)
		if (k->channels[i].fd >= 0) /* known to the reactor: this needs no memory */
			reactor_fd_set(k->r, k->channels[i].fd, on ? 0 : POLLIN, on_readable, &k->channels[i]);
}

void kid_drain(struct kid *k)
{
	for (int i = 0; i < KID_CHANNELS; i++) {
		int there = 0;
		/* What the process wrote is in the pipe by now; what a background process adds meanwhile is not
		 * looked at, or a flood would never end. */
		if (k->channels[i].fd >= 0 && ioctl(k->channels[i].fd, FIONREAD, &there) == 0 && there > 0)
			read_channel(&k->channels[i], (size_t)there);
		close_channel(&k->channels[i]);
	}
}

void kid_fail(struct kid *k, enum error_code code, const char *fmt, ...)
{
	va_list ap;

	k->failed = true;
	k->failure.code = code;
	va_start(ap, fmt);
	vsnprintf(k->failure.msg, sizeof k->failure.msg, fmt, ap);
	va_end(ap);
}

/* ORDER enum child_step: what each stands for, with the name of the program. */
static const char *const step_texts[] = {
	[CHILD_STARTED] = NULL,
	[CHILD_RECEIVE] = "cannot hand '%.200s' over to the supervisor",
	[CHILD_MEMORY] = "cannot start '%.200s'",
	[CHILD_FORK] = "cannot start a process for '%.200s'",
	[CHILD_SESSION] = "cannot make a session for '%.200s'",
	[CHILD_DIRECTORY] = "cannot enter the directory to run '%.200s' in",
	[CHILD_FDS] = "cannot set up the descriptors of '%.200s'",
	[CHILD_LIMITS] = "cannot set the limits of '%.200s'",
	[CHILD_PRIVILEGES] = "cannot drop the privileges of '%.200s'",
	[CHILD_SANDBOX] = "cannot put '%.200s' into the sandbox",
	[CHILD_INPUT] = "cannot read the input of '%.200s'",
	[CHILD_EXEC] = "cannot execute '%.200s'",
	[CHILD_INTERPRETER] = "cannot execute '%.200s': its interpreter is missing",
};

static void fail_start(struct kid *k, const struct child_failure *f)
{
	char what[300];
	size_t step = (size_t)f->step;
	/* The name must be the only %: the table's texts have one each. */
	const char *text = step < sizeof step_texts / sizeof *step_texts ? step_texts[step] : step_texts[CHILD_RECEIVE];

	snprintf(what, sizeof what, text, k->name);
	if (step == CHILD_EXEC && f->error == E2BIG)
		kid_fail(k, ERR_INPUT,
		         "%s: its arguments and environment are too large, pass the data in a file or on stdin", what);
	else if (step == CHILD_SANDBOX && f->error == E2BIG)
		kid_fail(k, ERR_INPUT,
		         "%s: too many files lie beside one that is to be hidden (see sandbox.read_deny), each must be "
		         "allowed by itself",
		         what);
	else
		kid_fail(k, ERR_SYS, "%s: %s", what, strerror(f->error));
}

static void set_end(struct child_result *res, const struct wire_done *done)
{
	res->timed_out = done->timed_out;
	res->killed = done->killed;
	res->duration_ms = done->duration_ms;
	res->exited = WIFEXITED(done->status);
	if (res->exited)
		res->status = WEXITSTATUS(done->status);
	else if (WIFSIGNALED(done->status))
		res->signal = WTERMSIG(done->status);
}

void kid_finish(struct kid *k, const struct wire_done *done)
{
	struct child_result res = { .too_many = k->too_many, .cwd_fd = k->cwd_fd };

	if (done && done->failure.step != CHILD_STARTED)
		fail_start(k, &done->failure);
	if (k->failed)
		res.error = k->failure.msg;
	else if (done)
		set_end(&res, done);
	collector_take(&k->out, &res.out);
	collector_take(&k->err, &res.err);
	res.result = k->result;
	buf_init(&k->result, k->result.max);
	k->on_done(k->ctx, k->id, &res);
	k->cwd_fd = res.cwd_fd;
	buf_release(&res.out.head);
	buf_release(&res.out.tail);
	buf_release(&res.err.head);
	buf_release(&res.err.tail);
	buf_release(&res.result);
}
