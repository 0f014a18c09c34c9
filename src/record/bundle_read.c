/* Reading a bundle, which anybody may have made. */
#include "record/bundle.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/libarchive_api.h"
#include "record/zstd_frames.h"

#define PIECE       ((size_t)256 << 10)
#define READ_BLOCK  ((size_t)64 << 10)
#define HEAD_BYTES  512 /* that an entry counts for beside its content, so that empty ones come to an end, too */
#define NAME_SHOWN  200
#define NAME_LENGTH 4096

struct reading {
	struct libarchive_api la;
	const char *path;
	int fd;
	off_t at, end; /* of what is read: nothing behind the last whole frame is */
	int64_t left;
	char *block, *piece;
};

bool bundle_is(const char *head, size_t n)
{
	return zstd_is_frame(head, n);
}

static ssize_t on_read(struct archive *a, void *ctx, const void **p)
{
	struct reading *r = ctx;
	size_t want = r->end - r->at < (off_t)READ_BLOCK ? (size_t)(r->end - r->at) : READ_BLOCK;
	ssize_t k;

	(void)a;
	do
		k = pread(r->fd, r->block, want, r->at);
	while (k < 0 && errno == EINTR);
	if (k > 0)
		r->at += k;
	*p = r->block;
	return k;
}

/* The name as it may be shown. */
static const char *shown(const char *name, char out[NAME_SHOWN])
{
	size_t n = 0;

	for (; *name && n < NAME_SHOWN - 5; name++) {
		unsigned char c = (unsigned char)*name;
		if (c < ' ' || c >= 127 || c == '\\')
			n += (size_t)snprintf(out + n, 5, "\\x%02x", c);
		else
			out[n++] = (char)c;
	}
	out[n] = '\0';
	return out;
}

/* What is wrong with it, or NULL. */
static const char *bad_name(const char *name)
{
	if (!*name || strlen(name) > NAME_LENGTH)
		return "a name that no bundle has";
	if (*name == '/')
		return "an absolute name";
	for (const char *p = name; *p; p += strcspn(p, "/"), p += *p == '/')
		if (!strncmp(p, "..", 2) && (p[2] == '/' || !p[2]))
			return "a name with '..'";
	return NULL;
}

static int refuse(const struct reading *r, const char *name, const char *why, struct error *e)
{
	char text[NAME_SHOWN];

	return error_set(e, ERR_INPUT, "the bundle '%s' is refused: its entry '%s' %s", r->path, shown(name, text),
	                 why);
}

static int take(struct reading *r, const char *name, int64_t n, struct error *e)
{
	r->left -= n;
	return r->left < 0 ? refuse(r, name, "makes it larger than what is taken", e) : 0;
}

static int unreadable(const struct reading *r, struct archive *a, struct error *e)
{
	const char *why = r->la.error_string(a);

	return error_set(e, ERR_INPUT, "'%s' is no bundle that can be read: %s", r->path, why ? why : "no memory");
}

static int pass_content(struct reading *r, struct archive *a, const char *name, bundle_piece piece, void *ctx,
                        struct error *e)
{
	ssize_t n;
	int rc = piece(ctx, name, NULL, 0, false, e);

	while (rc == 0 && (n = r->la.read_data(a, r->piece, PIECE)) != 0) {
		if (n < 0)
			return unreadable(r, a, e);
		rc = take(r, name, n, e);
		if (rc == 0)
			rc = piece(ctx, name, r->piece, (size_t)n, false, e);
	}
	return rc ? rc : piece(ctx, name, NULL, 0, true, e);
}

static int pass_entry(struct reading *r, struct archive *a, struct archive_entry *entry, bundle_piece piece, void *ctx,
                      struct error *e)
{
	const struct libarchive_api *la = &r->la;
	const char *name = la->entry_pathname(entry);
	mode_t type = la->entry_filetype(entry);

	if (!name)
		name = la->entry_pathname_utf8(entry);
	if (!name)
		name = "";
	const char *why = bad_name(name);
	if (why) {
		char text[60];
		snprintf(text, sizeof text, "has %s", why);
		return refuse(r, name, text, e);
	}
	if (la->entry_hardlink(entry) || (type != S_IFREG && type != S_IFDIR))
		return refuse(r, name, "is no regular file", e);
	if (take(r, name, HEAD_BYTES, e))
		return -1;
	if (type == S_IFDIR) /* of an archive that was packed anew */
		return 0;
	if (la->entry_size_is_set(entry) && la->entry_size(entry) > r->left)
		return take(r, name, la->entry_size(entry), e);
	return pass_content(r, a, name, piece, ctx, e);
}

static int pass_all(struct reading *r, struct archive *a, bundle_piece piece, void *ctx, struct error *e)
{
	const struct libarchive_api *la = &r->la;
	struct archive_entry *entry;
	int rc;

	if (la->read_support_filter_zstd(a) || la->read_support_format_tar(a) ||
	    la->read_open(a, r, NULL, on_read, NULL))
		return unreadable(r, a, e);
	while ((rc = la->read_next_header(a, &entry)) != LIBARCHIVE_EOF) {
		if (rc < LIBARCHIVE_WARN)
			return unreadable(r, a, e);
		rc = pass_entry(r, a, entry, piece, ctx, e);
		if (rc)
			return rc;
	}
	return 0;
}

/* Where the last whole frame ends. A file in which not one is whole has not begun. */
static int find_end(struct reading *r, bool *cut, struct error *e)
{
	struct zstd_frames f;
	char head[4];
	ssize_t n = pread(r->fd, head, sizeof head, 0);

	if (n < 0)
		return error_sys(e, "cannot read '%s'", r->path);
	if (!zstd_may_be_frame(head, (size_t)n))
		return error_set(e, ERR_INPUT, "'%s' is no bundle", r->path);
	if (zstd_frames(r->fd, &f, e))
		return -1;
	r->end = f.end;
	*cut = f.end < f.size;
	return 0;
}

int bundle_read(const char *path, int64_t max_bytes, bundle_piece piece, void *ctx, bool *cut, struct error *e)
{
	struct reading r = { .path = path, .left = max_bytes };
	struct archive *a = NULL;
	int rc = -1;

	*cut = false;
	r.fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (r.fd < 0)
		return error_sys(e, "cannot open the bundle '%s'", path);
	rc = find_end(&r, cut, e);
	if (rc == 0 && r.end)
		rc = libarchive_api_load(&r.la, e);
	if (rc == 0 && r.end) {
		r.block = malloc(READ_BLOCK);
		r.piece = malloc(PIECE);
		a = r.la.read_new();
		rc = r.block && r.piece && a ? pass_all(&r, a, piece, ctx, e) : error_nomem(e);
	}
	if (a)
		r.la.read_free(a);
	free(r.block);
	free(r.piece);
	close(r.fd);
	return rc;
}
