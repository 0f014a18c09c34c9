#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "base/libarchive_api.h"
#include "workspace/private.h"

#define PIECE       65536
#define DELETED_MAX ((size_t)1 << 30)

struct saving {
	struct libarchive_api la;
	struct archive *a;
	struct archive_entry *entry;
	struct beneath at;
	bool sparse; /* the entry that is written: only this of it is stored */
	struct extents data;
	int out, err; /* err: why a write failed */
};

static int failed(struct saving *s, struct error *e)
{
	const char *why = s->err ? strerror(s->err) : s->la.error_string(s->a);

	return error_set(e, ERR_SYS, "cannot write the archive: %s", why ? why : "no reason is known");
}

static ssize_t on_write(struct archive *a, void *ctx, const void *p, size_t n)
{
	struct saving *s = ctx;

	(void)a;
	if (!io_write_all(s->out, p, n))
		return (ssize_t)n;
	s->err = errno;
	return -1;
}

static void start_entry(struct saving *s, const char *name, mode_t type, const struct stat *st)
{
	s->la.entry_clear(s->entry);
	s->la.entry_set_pathname(s->entry, name);
	s->la.entry_set_filetype(s->entry, type);
	s->la.entry_set_perm(s->entry, st->st_mode & 07777);
	s->la.entry_set_mtime(s->entry, st->st_mtim.tv_sec, st->st_mtim.tv_nsec);
	s->la.entry_set_size(s->entry, type == S_IFREG ? st->st_size : 0);
}

static int write_header(struct saving *s, struct error *e)
{
	return s->la.write_header(s->a, s->entry) < LIBARCHIVE_WARN ? failed(s, e) : 0;
}

static int write_data(struct saving *s, const char *p, size_t n, struct error *e)
{
	while (n) {
		ssize_t put = s->la.write_data(s->a, p, n);
		if (put <= 0)
			return failed(s, e);
		p += put;
		n -= (size_t)put;
	}
	return 0;
}

/* Where the file has data goes into its header, unless that is everywhere. */
static int find_data(struct saving *s, int fd, const struct stat *st, struct error *e)
{
	struct extents *data = &s->data;

	data->n = 0;
	s->sparse = false;
	if (st->st_blocks >= st->st_size / 512)
		return 0;
	if (list_data(fd, st->st_size, data))
		return error_nomem(e);
	if (data->n == 1 && data->v[0].from == 0 && data->v[0].to == st->st_size)
		return 0;
	for (size_t i = 0; i < data->n; i++)
		s->la.entry_sparse_add_entry(s->entry, data->v[i].from, data->v[i].to - data->v[i].from);
	if (!data->n)
		s->la.entry_sparse_add_entry(s->entry, 0, 0);
	s->sparse = true;
	/* one that it has not taken would be a hole in the archive */
	return (size_t)s->la.entry_sparse_count(s->entry) == data->n + !data->n ? 0 : error_nomem(e);
}

/* As many bytes as the header said: what a file lost meanwhile is zeros, what it gained is left out. */
static int save_range(struct saving *s, int fd, int64_t at, int64_t to, struct error *e)
{
	char piece[PIECE];
	bool ended = fd < 0;

	if (ended)
		memset(piece, 0, sizeof piece);
	while (at < to) {
		size_t want = to - at < PIECE ? (size_t)(to - at) : PIECE;
		ssize_t got = ended ? 0 : pread(fd, piece, want, (off_t)at);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return error_sys(e, "cannot read a file that is to be saved");
		if (got == 0 && !ended)
			memset(piece, 0, sizeof piece);
		ended = got == 0;
		if (ended)
			got = (ssize_t)want;
		if (write_data(s, piece, (size_t)got, e))
			return -1;
		at += got;
	}
	return 0;
}

/* The library counts the bytes of holes, too, and leaves them out. */
static int save_content(struct saving *s, int fd, int64_t size, struct error *e)
{
	int64_t at = 0;

	for (size_t i = 0; s->sparse && i < s->data.n; i++) {
		const struct extent *x = &s->data.v[i];
		if (save_range(s, -1, at, x->from, e) || save_range(s, fd, x->from, x->to, e))
			return -1;
		at = x->to;
	}
	return save_range(s, s->sparse ? -1 : fd, at, size, e);
}

/* A file is opened, a link read. -1 with errno. */
static int look_at(struct saving *s, const struct scan_entry *f, struct stat *st, int *fd, char target[LINK_LONGEST])
{
	const char *base;
	size_t n;
	int dir = beneath_parent(&s->at, f->name, &base);

	if (dir < 0)
		return -1;
	if (f->kind == FILE_REGULAR)
		return (*fd = walk_open_file(dir, base, st)) < 0 ? -1 : 0;
	if (fstatat(dir, base, st, AT_SYMLINK_NOFOLLOW))
		return -1;
	return f->kind == FILE_LINK && walk_read_link(dir, base, target, &n) ? -1 : 0;
}

static int save_one(struct saving *s, const struct scan_entry *f, struct error *e)
{
	static const mode_t types[] = { [FILE_REGULAR] = S_IFREG, [FILE_LINK] = S_IFLNK, [FILE_DIRECTORY] = S_IFDIR };
	char target[LINK_LONGEST], shown[SHOWN_NAME];
	struct stat st;
	int fd = -1;

	if (look_at(s, f, &st, &fd, target))
		return error_sys(e, "'%s'", walk_show(f->name, shown));
	start_entry(s, f->name, types[f->kind], &st);
	if (f->kind == FILE_LINK)
		s->la.entry_set_symlink(s->entry, target);
	int rc = fd >= 0 ? find_data(s, fd, &st, e) : 0;
	if (!rc)
		rc = write_header(s, e);
	if (!rc && fd >= 0)
		rc = save_content(s, fd, st.st_size, e);
	if (fd >= 0)
		close(fd);
	return rc;
}

/* What must go before the rest can be put in place. */
static bool goes(const struct change *c)
{
	return c->before && (!c->after || c->after->kind != c->before->kind);
}

static int save_deleted(struct saving *s, const struct changes *c, struct error *e)
{
	struct buf names = BUF_INIT(DELETED_MAX);
	struct stat st = { .st_mode = 0644 };
	int rc = 0;

	for (size_t i = c->n; i-- > 0;) /* what is in a directory comes before it */
		if (goes(&c->v[i]))
			buf_add(&names, c->v[i].before->name, strlen(c->v[i].before->name) + 1);
	if (names.len) {
		st.st_size = (off_t)names.len;
		start_entry(s, DELETED_NAME, S_IFREG, &st);
		rc = names.failed ? buf_check(&names, "the list of what is gone", e) : write_header(s, e);
		if (!rc)
			rc = write_data(s, buf_str(&names), names.len, e);
	}
	buf_release(&names);
	return rc;
}

static int open_archive(struct saving *s, struct error *e)
{
	s->a = s->la.write_new();
	s->entry = s->la.entry_new();
	if (!s->a || !s->entry)
		return error_nomem(e);
	if (s->la.write_set_format_pax_restricted(s->a) < LIBARCHIVE_WARN ||
	    s->la.write_set_options(s->a, "hdrcharset=BINARY") < LIBARCHIVE_WARN ||
	    s->la.write_add_filter_zstd(s->a) < LIBARCHIVE_WARN ||
	    s->la.write_set_options(s->a, "zstd:compression-level=1") < LIBARCHIVE_WARN ||
	    s->la.write_set_bytes_in_last_block(s->a, 1) < LIBARCHIVE_WARN ||
	    s->la.write_open(s->a, s, NULL, on_write, NULL) < LIBARCHIVE_WARN)
		return failed(s, e);
	return 0;
}

static int save_all(struct saving *s, const struct changes *c, struct error *e)
{
	if (save_deleted(s, c, e))
		return -1;
	for (size_t i = 0; i < c->n; i++)
		if (c->v[i].after && strcmp(c->v[i].after->name, DELETED_NAME) != 0 && save_one(s, c->v[i].after, e))
			return -1;
	return s->la.write_close(s->a) < LIBARCHIVE_WARN ? failed(s, e) : 0;
}

int workspace_save(int dir_fd, const struct scan *before, const struct scan *after, int out_fd, struct error *e)
{
	struct saving s = { .out = out_fd };
	struct changes c;

	if (libarchive_api_load(&s.la, e) || scan_compare(before, after, &c, e))
		return -1;
	beneath_init(&s.at, dir_fd);
	int rc = open_archive(&s, e);
	if (!rc)
		rc = save_all(&s, &c, e);
	if (s.entry)
		s.la.entry_free(s.entry);
	if (s.a)
		s.la.write_free(s.a);
	free(s.data.v);
	beneath_release(&s.at);
	changes_release(&c);
	return rc;
}
