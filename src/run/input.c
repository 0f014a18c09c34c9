#include "run/input.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/utf8.h"
#include "run/input_line.h"

#define CHUNK ((size_t)65536)

struct input {
	struct input_config cfg;
	struct buf text;       /* what was read and is not dealt with: at most a line and a chunk */
	size_t scanned;        /* no line feed in so many first bytes of it */
	bool skipping;         /* the rest of a line that is too long */
	bool ended, last_line; /* end of file; what is left in text is a line as well */
	bool paused, reading, end_told;
	unsigned long line; /* number of the last one */
	struct input_message *first;
	size_t count, bytes; /* of the queue */
	struct error failure;
};

/* More would have to be kept than we want to keep. */
static bool is_full(const struct input *in)
{
	return in->count >= INPUT_QUEUE_MOST || in->bytes >= in->cfg.max_line;
}

static void fail(struct input *in, const struct error *why)
{
	in->failure = *why;
	in->ended = true;
	in->last_line = false;
	buf_release(&in->text);
	in->scanned = 0;
}

static void put_in(struct input *in, struct input_message **at, struct input_message *m)
{
	m->next = *at;
	*at = m;
	in->count++;
	in->bytes += m->bytes;
}

static void enqueue(struct input *in, struct input_message *m)
{
	struct input_message **at = &in->first;

	while (*at && (*at)->priority <= m->priority)
		at = &(*at)->next;
	put_in(in, at, m);
	in->cfg.queued(in->cfg.ctx, m);
}

static void tell(struct input *in, const struct error *why, bool whole)
{
	struct error e = *why;

	error_prefix(&e, "line %lu", in->line);
	in->cfg.problem(in->cfg.ctx, e.msg, in->line, whole);
}

static void tell_too_long(struct input *in)
{
	struct error e = ERROR_INIT;

	error_set(&e, ERR_LIMIT, "it is longer than limits.stdin_bytes allows (%zu bytes)", in->cfg.max_line);
	tell(in, &e, false);
}

/* One line without its line feed. */
static void take_line(struct input *in, const char *p, size_t n)
{
	struct buf line = BUF_INIT(BUF_HUGE);
	struct input_line got = { 0 };
	struct error e = ERROR_INIT;

	in->line++;
	if (n > in->cfg.max_line) {
		tell_too_long(in);
		return;
	}
	if (utf8_is_blank(p, n))
		return;
	buf_add(&line, p, n);
	if (in->cfg.mask && !line.failed)
		in->cfg.mask(in->cfg.ctx, &line);
	int rc = buf_check(&line, "a line of stdin", &e) || input_line_read(&got, &line, &e) ? -1 : 0;
	if (e.code == ERR_NOMEM)
		fail(in, &e);
	else if (rc)
		tell(in, &e, got.kind == INPUT_LINE_NONE);
	else if (got.kind == INPUT_LINE_CONTROL)
		in->cfg.control(in->cfg.ctx, &got.doc);
	else if (got.message)
		enqueue(in, got.message);
	if (!rc && got.kind != INPUT_LINE_IGNORED && in->cfg.taken)
		in->cfg.taken(in->cfg.ctx, &line);
	json_release(&got.doc);
	buf_release(&line);
}

/* The next whole line in text from `at` on: its length, -1 = there is none yet. */
static ptrdiff_t next_line(struct input *in, size_t at)
{
	size_t from = in->scanned > at ? in->scanned : at;
	const char *end = from < in->text.len ? memchr(in->text.data + from, '\n', in->text.len - from) : NULL;

	in->scanned = in->text.len;
	if (!end)
		return -1;
	in->scanned = (size_t)(end - in->text.data) + 1;
	return end - (in->text.data + at);
}

/* What is behind the last line feed will never be a line that we take: it need not be kept. */
static void cut_overlong(struct input *in)
{
	if (!in->skipping && in->text.len > in->cfg.max_line) {
		in->line++;
		in->skipping = true;
		tell_too_long(in);
	}
	if (in->skipping) {
		buf_clear(&in->text);
		in->scanned = 0;
	}
}

static void tell_end(struct input *in)
{
	if (!input_ended(in) || in->end_told)
		return;
	in->end_told = true;
	if (in->cfg.ended)
		in->cfg.ended(in->cfg.ctx);
}

/* Deals with the lines that are there, as far as the queue has room. */
static void take_whole_lines(struct input *in)
{
	size_t at = 0;
	ptrdiff_t n;

	while (!is_full(in) && (n = next_line(in, at)) >= 0) {
		size_t start = at;
		at += (size_t)n + 1;
		if (in->skipping)
			in->skipping = false;
		else
			take_line(in, in->text.data + start, (size_t)n);
		if (in->failure.code)
			return;
	}
	buf_drop(&in->text, at);
	in->scanned = in->scanned > at ? in->scanned - at : 0;
	if (is_full(in))
		return;
	cut_overlong(in);
	if (in->last_line) {
		in->last_line = false;
		if (in->text.len)
			take_line(in, in->text.data, in->text.len);
		buf_release(&in->text);
	}
}

static void take_lines(struct input *in)
{
	take_whole_lines(in);
	tell_end(in);
}

static void on_readable(void *ctx, int fd, short revents);

/* Reads if there is room, leaves stdin alone if not. */
static void watch(struct input *in)
{
	bool read_on = in->cfg.fd >= 0 && !in->ended && !in->paused && !is_full(in);
	struct error e = ERROR_INIT;

	if (read_on == in->reading)
		return;
	in->reading = read_on;
	if (!read_on) {
		reactor_fd_remove(in->cfg.reactor, in->cfg.fd);
	} else if (reactor_fd_set(in->cfg.reactor, in->cfg.fd, POLLIN, on_readable, in)) {
		in->reading = false;
		error_nomem(&e);
		fail(in, &e);
	}
}

static void on_readable(void *ctx, int fd, short revents)
{
	struct input *in = ctx;
	struct error e = ERROR_INIT;

	(void)revents;
	if (buf_reserve(&in->text, CHUNK)) {
		error_nomem(&e);
		fail(in, &e);
	} else {
		ssize_t n = read(fd, in->text.data + in->text.len, CHUNK);
		if (n > 0) {
			in->text.len += (size_t)n;
			in->text.data[in->text.len] = '\0';
		} else if (n == 0) {
			in->ended = true;
			in->last_line = !in->skipping;
		} else if (errno != EINTR && errno != EAGAIN) {
			error_sys(&e, "cannot read stdin");
			fail(in, &e);
		}
		take_lines(in);
	}
	watch(in);
}

struct input *input_open(const struct input_config *cfg, struct error *e)
{
	struct input *in = calloc(1, sizeof *in);

	if (!in) {
		error_nomem(e);
		return NULL;
	}
	in->cfg = *cfg;
	buf_init(&in->text, cfg->max_line + 2 * CHUNK);
	watch(in);
	if (in->failure.code) {
		*e = in->failure;
		input_free(in);
		return NULL;
	}
	return in;
}

void input_free(struct input *in)
{
	if (!in)
		return;
	if (in->reading)
		reactor_fd_remove(in->cfg.reactor, in->cfg.fd);
	input_drop_waiting(in);
	buf_release(&in->text);
	free(in);
}

void input_line(struct input *in, const char *p, size_t n)
{
	take_line(in, p, n);
}

void input_end(struct input *in)
{
	in->ended = true;
	tell_end(in);
}

/* Takes *at out of the queue and goes on reading where that had to wait for it. */
static struct input_message *take(struct input *in, struct input_message **at)
{
	struct input_message *m = *at;

	if (!m)
		return NULL;
	*at = m->next;
	m->next = NULL;
	in->count--;
	in->bytes -= m->bytes;
	if (in->text.len || in->last_line)
		take_lines(in);
	watch(in);
	return m;
}

struct input_message *input_take(struct input *in)
{
	return take(in, &in->first);
}

struct input_message *input_take_attached(struct input *in)
{
	return in->first && in->first->priority == INPUT_NEXT ? take(in, &in->first) : NULL;
}

void input_put_back(struct input *in, struct input_message *m)
{
	struct input_message **at = &in->first;

	while (*at && (*at)->priority < m->priority)
		at = &(*at)->next;
	put_in(in, at, m);
	watch(in);
}

void input_message_free(struct input_message *m)
{
	if (!m)
		return;
	message_unref(m->message);
	free(m);
}

const struct input_message *input_waiting(const struct input *in)
{
	return in->first;
}

void input_drop_waiting(struct input *in)
{
	while (in->first) {
		struct input_message *m = in->first;
		in->first = m->next;
		in->count--;
		in->bytes -= m->bytes;
		input_message_free(m);
	}
}

bool input_ended(const struct input *in)
{
	return in->ended && !in->last_line && !in->text.len;
}

bool input_failed(const struct input *in, struct error *e)
{
	if (!in->failure.code)
		return false;
	if (e)
		*e = in->failure;
	return true;
}

void input_pause(struct input *in, bool pause)
{
	in->paused = pause;
	watch(in);
}
