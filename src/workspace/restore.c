/* What workspace_save kept, put back over the files as they were. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "base/libarchive_api.h"
#include "workspace/private.h"

#define PIECE 65536

struct restoring {
	struct libarchive_api la;
	struct archive *a;
	struct beneath at;
	struct scan dirs; /* with the modes that they get when all is in them */
};

static int failed(struct restoring *r, struct error *e)
{
	const char *why = r->la.error_string(r->a);

	return error_set(e, ERR_SYS, "cannot read the archive of what changed: %s", why ? why : "no reason is known");
}

static int no_entry(const char *name, struct error *e)
{
	char shown[SHOWN_NAME];

	return error_sys(e, "cannot put '%s' back", walk_show(name, shown));
}

static bool is_relative(const char *name)
{
	if (!*name)
		return false;
	for (const char *p = name;; p++) {
		size_t n = strcspn(p, "/");
		if (n == 0 || (n == 1 && p[0] == '.') || (n == 2 && p[0] == '.' && p[1] == '.'))
			return false;
		p += n;
		if (!*p)
			return true;
	}
}

/* Of the archive's file of names: each goes, unless it has gone already. */
static int remove_names(struct restoring *r, const struct buf *names, struct error *e)
{
	const char *base;
	struct stat st;

	for (size_t at = 0; at < names->len; at += strlen(names->data + at) + 1) {
		const char *name = names->data + at;
		int dir = is_relative(name) ? beneath_parent(&r->at, name, &base) : -1;
		if (dir < 0 || fstatat(dir, base, &st, AT_SYMLINK_NOFOLLOW))
			continue;
		if (unlinkat(dir, base, S_ISDIR(st.st_mode) ? AT_REMOVEDIR : 0))
			return no_entry(name, e);
		if (S_ISDIR(st.st_mode))
			beneath_clear(&r->at);
	}
	return 0;
}

static int deleted_names(struct restoring *r, struct buf *out, struct error *e)
{
	char piece[PIECE];
	ssize_t got;

	while ((got = r->la.read_data(r->a, piece, sizeof piece)) > 0)
		if (buf_add(out, piece, (size_t)got))
			return buf_check(out, "the list of what is gone", e);
	return got < 0 ? failed(r, e) : 0;
}

/* The entry's content: its holes stay that. */
static int content(struct restoring *r, int fd, int64_t size, struct error *e)
{
	const void *p;
	int64_t at;
	size_t n;
	int rc;

	while ((rc = r->la.read_data_block(r->a, &p, &n, &at)) == 0)
		if (n && (lseek(fd, (off_t)at, SEEK_SET) < 0 || io_write_all(fd, p, n)))
			return error_sys(e, "cannot write a file of what changed");
	if (rc != LIBARCHIVE_EOF)
		return failed(r, e);
	return ftruncate(fd, (off_t)size) ? error_sys(e, "cannot write a file of what changed") : 0;
}

static int put_deleted(struct restoring *r, struct error *e)
{
	struct buf names = BUF_INIT((size_t)1 << 30);
	int rc = deleted_names(r, &names, e);

	if (!rc)
		rc = remove_names(r, &names, e);
	buf_release(&names);
	return rc;
}

static int put_directory(struct restoring *r, int dir, const char *base, const char *name, mode_t mode, struct error *e)
{
	struct stat st;

	if (mkdirat(dir, base, 0700) && (errno != EEXIST || fstatat(dir, base, &st, AT_SYMLINK_NOFOLLOW) ||
	                                 !S_ISDIR(st.st_mode) || fchmodat(dir, base, (st.st_mode & 07777) | 0700, 0)))
		return no_entry(name, e);
	struct scan_entry *made = scan_add(&r->dirs, name, strlen(name));
	if (!made)
		return error_nomem(e);
	made->mode = mode;
	return 0;
}

static int put_file(struct restoring *r, int dir, const char *base, const char *name, struct archive_entry *entry,
                    struct error *e)
{
	const struct timespec times[2] = { { .tv_nsec = UTIME_OMIT },
		                           { r->la.entry_mtime(entry), r->la.entry_mtime_nsec(entry) } };
	int fd = openat(dir, base, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	int rc = fd < 0 ? no_entry(name, e) : content(r, fd, r->la.entry_size(entry), e);

	if (!rc && (fchmod(fd, r->la.entry_perm(entry) & 07777) || futimens(fd, times)))
		rc = no_entry(name, e);
	if (fd >= 0 && close(fd) && !rc)
		rc = no_entry(name, e);
	return rc;
}

static int put_entry(struct restoring *r, struct archive_entry *entry, struct error *e)
{
	const char *name = r->la.entry_pathname(entry), *target = r->la.entry_symlink(entry), *base;
	mode_t type = r->la.entry_filetype(entry);
	char clean[NAME_LONGEST + 1];
	size_t n = name ? strlen(name) : 0;

	if (!n || n > NAME_LONGEST)
		return error_set(e, ERR_INPUT, "the archive of what changed has a bad name in it");
	memcpy(clean, name, n + 1);
	while (n > 1 && clean[n - 1] == '/')
		clean[--n] = '\0';
	if (!is_relative(clean))
		return error_set(e, ERR_INPUT, "the archive of what changed has a bad name in it");
	if (!strcmp(clean, DELETED_NAME))
		return put_deleted(r, e);
	int dir = beneath_parent(&r->at, clean, &base);
	if (dir < 0)
		return no_entry(clean, e);
	if (type == S_IFDIR)
		return put_directory(r, dir, base, clean, r->la.entry_perm(entry) & 07777, e);
	if (unlinkat(dir, base, 0) && errno != ENOENT)
		return no_entry(clean, e);
	if (type == S_IFREG)
		return put_file(r, dir, base, clean, entry, e);
	return type == S_IFLNK && target && symlinkat(target, dir, base) == 0 ? 0 : no_entry(clean, e);
}

static int put_all(struct restoring *r, int in_fd, struct error *e)
{
	struct archive_entry *entry;
	const char *base;
	int rc;

	r->la.read_support_filter_zstd(r->a);
	r->la.read_support_format_tar(r->a);
	r->la.read_support_format_empty(r->a);
	r->la.read_set_options(r->a, "hdrcharset=BINARY");
	if (r->la.read_open_fd(r->a, in_fd, PIECE) < LIBARCHIVE_WARN)
		return failed(r, e);
	while ((rc = r->la.read_next_header(r->a, &entry)) != LIBARCHIVE_EOF) {
		if (rc < LIBARCHIVE_WARN)
			return failed(r, e);
		if (put_entry(r, entry, e))
			return -1;
	}
	for (size_t i = r->dirs.n; i-- > 0;) {
		int dir = beneath_parent(&r->at, r->dirs.v[i].name, &base);
		if (dir < 0 || fchmodat(dir, base, r->dirs.v[i].mode, 0))
			return no_entry(r->dirs.v[i].name, e);
	}
	return 0;
}

int workspace_restore(int dir_fd, int in_fd, struct error *e)
{
	struct restoring r = { .dirs = SCAN_INIT };

	if (libarchive_api_load(&r.la, e))
		return -1;
	r.a = r.la.read_new();
	beneath_init(&r.at, dir_fd);
	int rc = r.a ? put_all(&r, in_fd, e) : error_nomem(e);
	if (r.a)
		r.la.read_free(r.a);
	beneath_release(&r.at);
	scan_release(&r.dirs);
	return rc;
}
