#include "base/log.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/utf8.h"

/* A pipe that polls writable takes this many bytes without blocking: PIPE_BUF on Linux. */
#define LINE_MAX_BYTES     4096
#define PROGRESS_MAX_BYTES 79 /* what fits one line of any terminal */
#define TEXT_MAX_BYTES     ((size_t)1 << 20)

/* The one piece of global state in the program: what stderr is allowed to show. */
static enum log_level current = LOG_NORMAL;
static const char *program = "quern";
static void (*mask_fn)(void *ctx, struct buf *line);
static void *mask_ctx;
static bool progress_shown; /* the terminal's last line is not ended: the next message starts over it */

void log_set_program(const char *name)
{
	program = name;
}

void log_set_level(enum log_level level)
{
	current = level;
}

enum log_level log_level(void)
{
	return current;
}

void log_set_mask(void (*mask)(void *ctx, struct buf *line), void *ctx)
{
	mask_fn = mask;
	mask_ctx = ctx;
}

/* Stderr is shown by terminals, so bytes that would steer one are spelled out (C1 controls too). */
static void add_visible(struct buf *line, const char *p, size_t n)
{
	unsigned char c = (unsigned char)p[0];

	if (c == '\n')
		buf_adds(line, "\\n");
	else if (c == '\t')
		buf_adds(line, "\\t");
	else if (c < 0x20 || c == 0x7F)
		buf_addf(line, "\\x%02x", c);
	else if (c == 0xC2 && n == 2 && (unsigned char)p[1] < 0xA0)
		buf_addf(line, "\\x%02x", (unsigned char)p[1]);
	else
		buf_add(line, p, n);
}

static void escape(struct buf *line, const struct buf *text, size_t max)
{
	const char *p = buf_str(text);
	size_t n = text->len;

	while (n && line->len < max) {
		size_t k = utf8_char_len(p, n);
		if (k) {
			add_visible(line, p, k);
		} else {
			k = utf8_bad_len(p, n);
			utf8_put(line, 0xFFFD);
		}
		p += k;
		n -= k;
	}
	if (line->len >= max) {
		buf_cut(line, utf8_floor(line->data, line->len, max - 4));
		buf_adds(line, "...");
	}
}

/* One write, never a wait: a pipe that is full loses the line rather than stop the run. */
static void put(const char *p, size_t n)
{
	struct pollfd fd = { .fd = STDERR_FILENO, .events = POLLOUT };

	/* style: allow wait - a timeout of 0 looks and does not wait */
	if (poll(&fd, 1, 0) != 1 || !(fd.revents & POLLOUT))
		return;
	ssize_t k;
	do {
		k = write(STDERR_FILENO, p, n);
	} while (k < 0 && errno == EINTR);
}

/* A message is a line of its own; progress is a short one that the next one takes the place of. */
__attribute__((format(printf, 2, 0))) static void emit(bool progress, const char *fmt, va_list ap)
{
	static const char lost[] = "quern: out of memory (a message was lost)\n";
	struct buf text = BUF_INIT(TEXT_MAX_BYTES);
	struct buf line = BUF_INIT(LINE_MAX_BYTES + 64);
	int saved = errno;
	va_list again;

	va_copy(again, ap);
	int n = vsnprintf(NULL, 0, fmt, ap);
	size_t prefix = strlen(program) + 2;
	if (n >= 0 && !buf_addf(&text, "%s: ", program) && !buf_reserve(&text, (size_t)n)) {
		vsnprintf(text.data + prefix, (size_t)n + 1, fmt, again);
		text.len = prefix + (size_t)n;
	}
	va_end(again);
	/* masked before it is escaped and cut, so that a secret is always seen whole */
	if (mask_fn && !text.failed)
		mask_fn(mask_ctx, &text);
	if (progress_shown)
		buf_adds(&line, "\r\033[K");
	if (!text.failed)
		escape(&line, &text, progress ? PROGRESS_MAX_BYTES : LINE_MAX_BYTES);
	if (!progress)
		buf_addc(&line, '\n');
	progress_shown = progress;
	if (text.failed || line.failed)
		put(lost, sizeof lost - 1);
	else
		put(line.data, line.len);
	buf_release(&text);
	buf_release(&line);
	errno = saved;
}

void log_error(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	emit(false, fmt, ap);
	va_end(ap);
}

void log_warn(const char *fmt, ...)
{
	va_list ap;

	if (current == LOG_QUIET)
		return;
	va_start(ap, fmt);
	emit(false, fmt, ap);
	va_end(ap);
}

void log_verbose(const char *fmt, ...)
{
	va_list ap;

	if (current != LOG_VERBOSE)
		return;
	va_start(ap, fmt);
	emit(false, fmt, ap);
	va_end(ap);
}

void log_progress(const char *fmt, ...)
{
	va_list ap;

	if (current == LOG_QUIET)
		return;
	va_start(ap, fmt);
	emit(true, fmt, ap);
	va_end(ap);
}

void log_progress_end(void)
{
	static const char erase[] = "\r\033[K";

	if (progress_shown)
		put(erase, sizeof erase - 1);
	progress_shown = false;
}
