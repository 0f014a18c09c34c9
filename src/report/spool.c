/* A file in TMPDIR that has no name, so that nothing of it is left behind whatever ends us. */
#include "report/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/io.h"

static int open_nameless(struct error *e)
{
	const char *dir = io_tmpdir();
	char path[4096];
	int fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (fd >= 0)
		return fd;
	/* a file system without O_TMPFILE */
	if (snprintf(path, sizeof path, "%s/quern-report-XXXXXX", dir) >= (int)sizeof path)
		return error_set(e, ERR_INPUT, "TMPDIR: the name is too long");
	fd = mkostemp(path, O_CLOEXEC);
	if (fd < 0)
		return error_sys(e, "cannot make a temporary file in '%s' (TMPDIR)", dir);
	unlink(path);
	return fd;
}

static int add(struct spool *s, const char *p, size_t n, struct error *e)
{
	if (s->fd < 0) {
		s->fd = open_nameless(e);
		if (s->fd < 0)
			return -1;
	}
	if (io_write_all(s->fd, p, n))
		return error_sys(e, "cannot write to a temporary file (TMPDIR)");
	s->size += (int64_t)n;
	return 0;
}

int spool_add(struct spool *s, struct buf *b, struct error *e)
{
	int rc = buf_check(b, "a part of the page", e);

	if (rc == 0 && b->len)
		rc = add(s, b->data, b->len, e);
	buf_clear(b);
	return rc;
}

/* In pieces, each handed to one of the two takers. */
static int pass_on(const struct spool *s, int fd, struct spool *to, struct error *e)
{
	char piece[65536];

	for (int64_t at = 0; at < s->size;) {
		ssize_t n = pread(s->fd, piece, sizeof piece, (off_t)at);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return error_sys(e, "cannot read a temporary file");
		if (to ? add(to, piece, (size_t)n, e) : io_write_all(fd, piece, (size_t)n))
			return to ? -1 : error_sys(e, "cannot write the page");
		at += n;
	}
	return 0;
}

int spool_copy(const struct spool *s, int fd, struct error *e)
{
	return pass_on(s, fd, NULL, e);
}

int spool_append(struct spool *to, const struct spool *from, struct error *e)
{
	return pass_on(from, -1, to, e);
}

int spool_clear(struct spool *s, struct error *e)
{
	if (s->fd >= 0 && s->size && (ftruncate(s->fd, 0) || lseek(s->fd, 0, SEEK_SET)))
		return error_sys(e, "cannot empty a temporary file");
	s->size = 0;
	return 0;
}

void spool_release(struct spool *s)
{
	if (s->fd >= 0)
		close(s->fd);
	s->fd = -1;
	s->size = 0;
}
