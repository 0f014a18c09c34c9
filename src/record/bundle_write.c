/* Writing a bundle: libarchive makes the tar, whose bytes go, entry by entry, into a frame of zstd each. */
#include "record/bundle.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/io.h"
#include "base/libarchive_api.h"
#include "record/zstd_frames.h"

#define LEVEL       "zstd:compression-level=1" /* three times as fast as the default, a little larger */
#define FRAME_BLOCK 65536
#define READ_BLOCK  ((size_t)256 << 10)
#define TAR_BLOCK   512
#define MODE        0600
#define LOOK_MOST   ((size_t)1 << 20) /* of the first and the last frame, to see what they are */

struct bundle {
	struct libarchive_api la;
	char *path;
	char *beside; /* where the file is until it has its first entry; NULL = it has its name */
	int fd;
	bool regular, broken;
	int err; /* why a write failed */
	struct archive *tar;
	struct archive *frame; /* what the bytes of the tar go into; NULL: they are dropped */
	size_t entries;        /* whole ones, those that were there before included */
	off_t end;             /* behind the last of them */
};

static int failed(struct bundle *b, struct archive *a, struct error *e)
{
	const char *why = b->err ? strerror(b->err) : a ? b->la.error_string(a) : NULL;

	b->broken = true;
	return error_set(e, ERR_SYS, "cannot write the bundle '%s': %s", b->path, why ? why : "no memory");
}

/* ---- one frame ---- */

static ssize_t on_tar(struct archive *a, void *ctx, const void *p, size_t n)
{
	struct bundle *b = ctx;

	(void)a;
	if (!b->frame)
		return (ssize_t)n;
	return b->la.write_data(b->frame, p, n) == (ssize_t)n ? (ssize_t)n : -1;
}

static ssize_t on_frame(struct archive *a, void *ctx, const void *p, size_t n)
{
	struct bundle *b = ctx;

	(void)a;
	if (b->err || io_write_all(b->fd, p, n)) {
		b->err = b->err ? b->err : errno;
		return -1;
	}
	return (ssize_t)n;
}

static int begin_frame(struct bundle *b, struct error *e)
{
	const struct libarchive_api *la = &b->la;
	struct archive_entry *entry = la->entry_new();

	b->frame = la->write_new();
	if (!entry || !b->frame) {
		la->entry_free(entry);
		return failed(b, NULL, e);
	}
	la->entry_set_filetype(entry, S_IFREG);
	int rc = la->write_set_format_raw(b->frame) || la->write_add_filter_zstd(b->frame) ||
	         la->write_set_options(b->frame, LEVEL) || la->write_set_bytes_per_block(b->frame, FRAME_BLOCK) ||
	         la->write_set_bytes_in_last_block(b->frame, 1) || la->write_open(b->frame, b, NULL, on_frame, NULL) ||
	         la->write_header(b->frame, entry);
	la->entry_free(entry);
	return rc ? failed(b, b->frame, e) : 0;
}

/* rc: how what went into it went. What is not whole is taken back, so that others may read what is there. */
static int end_frame(struct bundle *b, int rc, struct error *e)
{
	struct archive *frame = b->frame;

	b->frame = NULL;
	if (frame && rc == 0 && b->la.write_close(frame))
		rc = failed(b, frame, e);
	if (frame)
		b->la.write_free(frame);
	if (!b->regular)
		return rc;
	if (rc == 0)
		b->end = lseek(b->fd, 0, SEEK_CUR);
	else if (ftruncate(b->fd, b->end) == 0)
		lseek(b->fd, b->end, SEEK_SET);
	return rc;
}

/* ---- opening ---- */

static int open_tar(struct bundle *b, struct error *e)
{
	const struct libarchive_api *la = &b->la;

	b->tar = la->write_new();
	if (!b->tar || la->write_set_format_pax_restricted(b->tar) || la->write_set_bytes_per_block(b->tar, 0) ||
	    la->write_open(b->tar, b, NULL, on_tar, NULL))
		return failed(b, b->tar, e);
	return 0;
}

/* A file with a name of its own, which takes the name it is meant for with its first entry: what was there before is
 * lost for something, and whoever reads it is not disturbed. */
static int open_beside(struct bundle *b, struct error *e)
{
	if (asprintf(&b->beside, "%s.XXXXXX", b->path) < 0) {
		b->beside = NULL;
		return error_nomem(e);
	}
	b->fd = mkostemp(b->beside, O_CLOEXEC);
	if (b->fd >= 0)
		return 0;
	free(b->beside);
	b->beside = NULL;
	return error_sys(e, "cannot create the bundle '%s'", b->path);
}

static int take_name(struct bundle *b, struct error *e)
{
	if (!b->beside)
		return 0;
	if (rename(b->beside, b->path)) {
		b->broken = true;
		return error_sys(e, "cannot create the bundle '%s'", b->path);
	}
	free(b->beside);
	b->beside = NULL;
	return 0;
}

/* What is in a frame. */
struct content {
	size_t n;
	char head[TAR_BLOCK];
	bool zeros; /* and nothing else */
};

static void take_content(struct content *c, const char *p, size_t n)
{
	if (c->n < sizeof c->head)
		memcpy(c->head + c->n, p, n < sizeof c->head - c->n ? n : sizeof c->head - c->n);
	for (size_t i = 0; c->zeros && i < n; i++)
		c->zeros = !p[i];
	c->n += n;
}

/* Of the frame [from, to), unless it is too large to be looked at or damaged: then it has nothing. -1 with *e. */
static int look_into(const struct bundle *b, off_t from, off_t to, struct content *c, struct error *e)
{
	const struct libarchive_api *la = &b->la;
	size_t n = (size_t)(to - from);
	struct archive_entry *entry;
	char block[4096];
	ssize_t k;

	*c = (struct content){ .zeros = true };
	if (n > LOOK_MOST)
		return 0;
	char *packed = malloc(n);
	struct archive *a = la->read_new();
	int rc = packed && a ? 0 : error_nomem(e);
	if (rc == 0 && pread(b->fd, packed, n, from) != (ssize_t)n)
		rc = error_sys(e, "cannot read the bundle '%s'", b->path);
	if (rc == 0 && !la->read_support_filter_zstd(a) && !la->read_support_format_raw(a) &&
	    !la->read_open_memory(a, packed, n) && !la->read_next_header(a, &entry))
		while (c->n <= LOOK_MOST && (k = la->read_data(a, block, sizeof block)) > 0)
			take_content(c, block, (size_t)k);
	if (a)
		la->read_free(a);
	free(packed);
	return rc;
}

/* Is it the end of an archive, two empty blocks? */
static bool is_trailer(const struct content *c)
{
	return c->n == (size_t)2 * TAR_BLOCK && c->zeros;
}

/* Is it one entry, and not a whole archive in one frame? */
static bool is_entry(const struct content *c)
{
	char digits[13] = "";

	if (c->n < TAR_BLOCK || memcmp(c->head + 257, "ustar", 5) != 0)
		return false;
	memcpy(digits, c->head + 124, sizeof digits - 1); /* the size in a tar's header */
	unsigned long long size = strtoull(digits, NULL, 8);
	return size <= LOOK_MOST && c->n == TAR_BLOCK + (size + TAR_BLOCK - 1) / TAR_BLOCK * TAR_BLOCK;
}

/* To the end of the last entry in a bundle that is there. */
static int go_on(struct bundle *b, struct error *e)
{
	struct zstd_frames f;
	struct content first = { 0 }, last = { 0 };
	char head[4];

	if (zstd_frames(b->fd, &f, e) || (f.n && look_into(b, 0, f.first, &first, e)) ||
	    (f.n && look_into(b, f.last, f.end, &last, e)))
		return -1;
	ssize_t n = pread(b->fd, head, sizeof head, 0);
	if (n < 0)
		return error_sys(e, "cannot read the bundle '%s'", b->path);
	if ((n > 0 && !zstd_may_be_frame(head, (size_t)n)) || (f.n && !is_entry(&first)))
		return error_set(e, ERR_INPUT, "cannot go on with '%s': it was not written as a bundle", b->path);
	if (is_trailer(&last)) {
		f.n--;
		f.end = f.last;
	}
	if (ftruncate(b->fd, f.end) || lseek(b->fd, f.end, SEEK_SET) < 0)
		return error_sys(e, "cannot go on with the bundle '%s'", b->path);
	b->entries = f.n;
	b->end = f.end;
	return 0;
}

static int open_file(struct bundle *b, bool append, struct error *e)
{
	struct stat st;
	bool there = stat(b->path, &st) == 0;

	b->regular = !there || S_ISREG(st.st_mode);
	if (b->regular && !(there && append)) {
		if (open_beside(b, e))
			return -1;
	} else {
		b->fd = open(b->path, (b->regular ? O_RDWR : O_WRONLY) | O_CLOEXEC | O_NOCTTY);
		if (b->fd < 0)
			return error_sys(e, "cannot open the bundle '%s'", b->path);
	}
	return there && append && b->regular ? go_on(b, e) : 0;
}

static void bundle_free(struct bundle *b)
{
	if (b->tar)
		b->la.write_free(b->tar);
	if (b->beside)
		unlink(b->beside);
	if (b->fd >= 0)
		close(b->fd);
	free(b->beside);
	free(b->path);
	free(b);
}

struct bundle *bundle_create(const char *path, bool append, struct error *e)
{
	struct bundle *b = calloc(1, sizeof *b);

	if (b)
		b->path = strdup(path);
	if (!b || !b->path) {
		free(b);
		error_nomem(e);
		return NULL;
	}
	b->fd = -1;
	if (libarchive_api_load(&b->la, e) || open_file(b, append, e) || open_tar(b, e)) {
		bundle_free(b);
		return NULL;
	}
	return b;
}

int bundle_fd(const struct bundle *b)
{
	return b->fd;
}

size_t bundle_entries(const struct bundle *b)
{
	return b->entries;
}

/* ---- entries ---- */

static int write_header(struct bundle *b, const char *name, int64_t size, struct error *e)
{
	const struct libarchive_api *la = &b->la;
	struct archive_entry *entry = la->entry_new();

	if (!entry)
		return failed(b, NULL, e);
	la->entry_set_pathname(entry, name);
	la->entry_set_filetype(entry, S_IFREG);
	la->entry_set_perm(entry, MODE);
	la->entry_set_size(entry, size);
	la->entry_set_mtime(entry, time(NULL), 0);
	int rc = la->write_header(b->tar, entry);
	la->entry_free(entry);
	return rc ? failed(b, b->tar, e) : 0;
}

static int write_data(struct bundle *b, const void *p, size_t n, struct error *e)
{
	if (n && b->la.write_data(b->tar, p, n) != (ssize_t)n)
		return failed(b, b->frame, e);
	return 0;
}

static int begin(struct bundle *b, const char *name, int64_t size, struct error *e)
{
	if (b->broken)
		return error_set(e, ERR_SYS, "cannot write the bundle '%s': an earlier write failed", b->path);
	if (begin_frame(b, e))
		return -1;
	return write_header(b, name, size, e);
}

static int end(struct bundle *b, int rc, struct error *e)
{
	if (rc == 0 && b->la.write_finish_entry(b->tar))
		rc = failed(b, b->frame, e);
	rc = end_frame(b, rc, e);
	if (rc == 0)
		b->entries++;
	return rc ? rc : take_name(b, e);
}

int bundle_add(struct bundle *b, const char *name, const void *p, size_t n, struct error *e)
{
	int rc = begin(b, name, (int64_t)n, e);

	if (rc == 0)
		rc = write_data(b, p, n, e);
	return end(b, rc, e);
}

/* Its first `size` bytes; libarchive fills up with zeros if the file has become shorter. */
static int copy_file(struct bundle *b, int fd, int64_t size, struct error *e)
{
	char *block = malloc(READ_BLOCK);
	int rc = block ? 0 : error_nomem(e);

	for (int64_t at = 0; rc == 0 && at < size;) {
		size_t want = size - at < (int64_t)READ_BLOCK ? (size_t)(size - at) : READ_BLOCK;
		ssize_t k = pread(fd, block, want, at);
		if (k < 0 && errno == EINTR)
			continue;
		if (k < 0)
			rc = error_sys(e, "cannot read a file for the bundle '%s'", b->path);
		if (k <= 0)
			break;
		rc = write_data(b, block, (size_t)k, e);
		at += k;
	}
	free(block);
	return rc;
}

int bundle_add_file(struct bundle *b, const char *name, int fd, struct error *e)
{
	struct stat st;

	if (fstat(fd, &st) || !S_ISREG(st.st_mode))
		return error_set(e, ERR_INPUT, "what should go into the bundle as '%s' is no regular file", name);
	int rc = begin(b, name, st.st_size, e);
	if (rc == 0)
		rc = copy_file(b, fd, st.st_size, e);
	return end(b, rc, e);
}

int bundle_sync(struct bundle *b, struct error *e)
{
	/* EINVAL: what cannot be synced is no file */
	if (b->broken || fdatasync(b->fd) == 0 || errno == EINVAL || errno == EROFS)
		return 0;
	b->broken = true;
	return error_sys(e, "cannot write the bundle '%s'", b->path);
}

int bundle_close(struct bundle *b, struct error *e)
{
	int rc = 0;

	if (!b)
		return 0;
	if (!b->broken && !b->beside) {
		rc = begin_frame(b, e);
		if (rc == 0 && b->la.write_close(b->tar))
			rc = failed(b, b->frame, e);
		rc = end_frame(b, rc, e);
		if (rc == 0)
			rc = bundle_sync(b, e);
	}
	bundle_free(b);
	return rc;
}
