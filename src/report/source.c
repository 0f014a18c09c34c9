/* Where the lines come from: a file or stdin with events, or a bundle. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "record/bundle.h"
#include "report/report.h"
#include "report/spool.h"

#define PIECE       ((size_t)65536)
#define LINE_MOST   ((size_t)64 << 20)
#define BUNDLE_MOST ((int64_t)8 << 30)
#define EXTRA_MOST  ((size_t)8 << 20)

struct source {
	struct report *r;
	struct buf line;  /* that began in the piece before */
	bool skipping;    /* the line is longer than any that a run writes */
	struct buf extra; /* an entry of a bundle that is not events */
};

static int finish_line(struct source *s, const char *p, size_t n, bool whole, struct error *e)
{
	int rc;

	if (s->skipping) {
		/* counted as a line that nobody can read */
		rc = report_line(s->r, "?", 1, true, e);
	} else if (s->line.len) {
		if (buf_add(&s->line, p, n) && s->line.failed == ERR_NOMEM)
			return error_nomem(e);
		rc = report_line(s->r, s->line.failed ? "?" : s->line.data, s->line.failed ? 1 : s->line.len, whole, e);
	} else {
		rc = report_line(s->r, p, n, whole, e);
	}
	s->skipping = false;
	buf_clear(&s->line);
	return rc;
}

/* Cuts a piece into lines; what is left of it waits for the next. */
static int take_piece(struct source *s, const char *p, size_t n, struct error *e)
{
	const char *end;

	while (n && (end = memchr(p, '\n', n)) != NULL) {
		size_t len = (size_t)(end - p);
		if (finish_line(s, p, len, true, e))
			return -1;
		p += len + 1;
		n -= len + 1;
	}
	if (n && !s->skipping && buf_add(&s->line, p, n)) {
		if (s->line.failed == ERR_NOMEM)
			return error_nomem(e);
		s->skipping = true;
		buf_clear(&s->line);
	}
	return 0;
}

static int finish(struct source *s, struct error *e)
{
	return s->line.len || s->skipping ? finish_line(s, "", 0, false, e) : 0;
}

static bool begins(const char *name, const char *with)
{
	return !strncmp(name, with, strlen(with));
}

static int take_entry(void *ctx, const char *name, const char *p, size_t n, bool last, struct error *e)
{
	struct source *s = ctx;
	bool job = !strcmp(name, "job.yaml"), patch = !strcmp(name, "workspace.patch");

	if (begins(name, "events/"))
		return n ? take_piece(s, p, n, e) : 0;
	if (!job && !patch)
		return 0;
	buf_add(&s->extra, p ? p : "", n); /* what is over its maximum is cut */
	if (!last)
		return 0;
	int rc = job ? report_job(s->r, buf_str(&s->extra), s->extra.len, e)
	             : report_patch(s->r, buf_str(&s->extra), s->extra.len, e);
	buf_clear(&s->extra);
	return rc;
}

static int read_bundle(struct source *s, const char *path, struct error *e)
{
	bool cut = false;
	int rc = bundle_read(path, BUNDLE_MOST, take_entry, s, &cut, e);

	if (cut)
		report_cut(s->r);
	return rc;
}

static ssize_t read_some(int fd, char *p, size_t n)
{
	ssize_t got;

	do
		got = read(fd, p, n);
	while (got < 0 && errno == EINTR);
	return got;
}

/* The entries of a bundle are found by seeking: what comes through a pipe, and begins with a piece that was read, waits
 * in a file first. */
static int bundle_on_pipe(struct source *s, const char *first, size_t n, struct error *e)
{
	struct spool kept = SPOOL_INIT;
	struct buf piece = BUF_INIT(PIECE);
	char next[PIECE], path[32];
	int rc = 0;

	for (ssize_t more = 1; rc == 0 && more > 0;) {
		buf_add(&piece, first, n);
		rc = spool_add(&kept, &piece, e);
		if (rc == 0 && kept.size > BUNDLE_MOST)
			rc = error_set(e, ERR_INPUT, "the bundle is too large to be read from a pipe");
		more = rc ? 0 : read_some(STDIN_FILENO, next, sizeof next);
		if (more < 0)
			rc = error_sys(e, "cannot read stdin");
		first = next;
		n = more < 0 ? 0 : (size_t)more;
	}
	snprintf(path, sizeof path, "/dev/fd/%d", kept.fd);
	if (rc == 0)
		rc = read_bundle(s, path, e);
	buf_release(&piece);
	spool_release(&kept);
	return rc;
}

static int bundle_on_stdin(struct source *s, const char *first, size_t n, struct error *e)
{
	return lseek(STDIN_FILENO, 0, SEEK_SET) < 0 ? bundle_on_pipe(s, first, n, e) : read_bundle(s, "/dev/stdin", e);
}

static int read_fd(struct source *s, int fd, const char *path, struct error *e)
{
	char piece[PIECE];
	bool first = true;

	for (;;) {
		ssize_t n = read_some(fd, piece, sizeof piece);
		if (n < 0)
			return error_sys(e, "cannot read '%s'", path);
		if (n == 0)
			return finish(s, e);
		if (first && bundle_is(piece, (size_t)n))
			return fd == STDIN_FILENO ? bundle_on_stdin(s, piece, (size_t)n, e) : read_bundle(s, path, e);
		first = false;
		if (take_piece(s, piece, (size_t)n, e))
			return -1;
	}
}

int report_read(struct report *r, const char *path, struct error *e)
{
	struct source s = { .r = r };
	bool is_stdin = !strcmp(path, "-");
	int fd = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return error_sys(e, "cannot open '%s'", path);
	buf_init(&s.line, LINE_MOST);
	buf_init(&s.extra, EXTRA_MOST);
	int rc = read_fd(&s, fd, is_stdin ? "stdin" : path, e);
	buf_release(&s.line);
	buf_release(&s.extra);
	if (!is_stdin)
		close(fd);
	return rc;
}
