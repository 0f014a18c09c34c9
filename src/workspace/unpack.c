/*
 * An archive becomes a directory. Nothing that it says is believed: names are taken apart by us, each is made by a call
 * that makes something new or fails (so that a name cannot come twice, and nothing is written through a link), in a
 * directory that was reached without following a link.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/io.h"
#include "base/libarchive_read.h"
#include "base/utf8.h"
#include "workspace/workspace.h"

#define PATH_MOST   65536 /* of a name as a whole; the file system limits its parts */
#define STEP_MOST   4000  /* bytes of a path that the kernel takes at once */
#define SHOWN_NAME  200   /* bytes of a name in an error */
#define RATIO_FREE  ((int64_t)64 << 20)
#define RATIO_EVERY ((int64_t)1 << 20) /* bytes between two looks at what was read for them */
#define TAR_MASK    0xff0000
#define TAR         0x30000

struct unpacking {
	const struct libarchive_api *la;
	struct archive *a;
	struct archive_entry *entry;
	int fd;
	int64_t archive_size;
	int64_t file_most; /* bytes that a file may have: what the process is let write */
	const struct unpack_limits *limits;
	int64_t entries, bytes;
	int64_t ratio_at;  /* bytes at which the ratio is looked at next */
	const char *name;  /* of the entry, as the archive has it */
	struct buf path;   /* the same as it is made: no "." and no doubled or last slash */
	struct buf target; /* likewise of a hard link's */
	int root;
	int at;         /* the directory of path; root, or ours */
	struct buf dir; /* its name: what is made one behind the other lies in one directory, mostly */
	bool walk;      /* the kernel does not know openat2, or is not let do it */
	struct error *e;
};

/* ---- saying no ---- */

/* 'NAME': WHAT. The name last in the argument list is looked at first: errno stays. */
static int refuse(struct unpacking *u, const char *what)
{
	struct buf b = BUF_INIT(4096);

	utf8_name(&b, u->name, strlen(u->name), SHOWN_NAME);
	error_set(u->e, ERR_INPUT, "'%s': %s", buf_str(&b), what);
	buf_release(&b);
	return -1;
}

static int refuse_sys(struct unpacking *u)
{
	return refuse(u, strerror(errno));
}

/* What the library has to say. */
static int refuse_archive(struct unpacking *u)
{
	const char *why = u->la->error_string(u->a);
	struct buf b = BUF_INIT(4096);

	if (!u->entries)
		buf_adds(&b, "it cannot be read as tar, zip or 7z: ");
	utf8_name(&b, why ? why : "?", why ? strlen(why) : 1, SHOWN_NAME);
	if (u->name)
		refuse(u, buf_str(&b));
	else
		error_set(u->e, ERR_INPUT, "%s", buf_str(&b));
	buf_release(&b);
	return -1;
}

/* ---- limits ---- */

static int count_entry(struct unpacking *u)
{
	if (++u->entries <= u->limits->entries)
		return 0;
	return error_set(u->e, ERR_LIMIT, "more than %lld entries (limits.archive_entries)",
	                 (long long)u->limits->entries);
}

/* How much of the archive was read for what has come out. A zip may have several entries share what it has. */
static int64_t bytes_in(const struct unpacking *u)
{
	off_t at = lseek(u->fd, 0, SEEK_CUR);

	return at >= 0 && at < u->archive_size ? at : u->archive_size;
}

static int refuse_bytes(struct unpacking *u)
{
	return error_set(u->e, ERR_LIMIT, "its files have more than %lld bytes (limits.archive_bytes)",
	                 (long long)u->limits->bytes);
}

static int refuse_ratio(struct unpacking *u, const char *how, int64_t out, int64_t in)
{
	return error_set(u->e, ERR_LIMIT, "it grows to more than %lld times its size: %lld bytes %s of %lld",
	                 (long long)u->limits->ratio, (long long)out, how, (long long)in);
}

static int refuse_large(struct unpacking *u)
{
	char why[96];

	snprintf(why, sizeof why, "a file may have %lld bytes here (ulimit -f), and it has more",
	         (long long)u->file_most);
	return refuse(u, why);
}

/* Before n more bytes are written. */
static int count_bytes(struct unpacking *u, int64_t n)
{
	if (n > u->limits->bytes - u->bytes)
		return refuse_bytes(u);
	u->bytes += n;
	if (u->bytes < u->ratio_at)
		return 0;
	u->ratio_at = u->bytes + RATIO_EVERY;
	if (u->bytes / u->limits->ratio <= bytes_in(u))
		return 0;
	return refuse_ratio(u, "came out", u->bytes, bytes_in(u));
}

/* What the header says is believed in one thing: that it will be too much. Nothing is written then. */
static int check_size(struct unpacking *u)
{
	const int64_t size = u->la->entry_size_is_set(u->entry) ? u->la->entry_size(u->entry) : 0;

	if (size > u->limits->bytes - u->bytes)
		return refuse_bytes(u);
	if (u->bytes + size >= RATIO_FREE && (u->bytes + size) / u->limits->ratio > u->archive_size)
		return refuse_ratio(u, "are to come out", u->bytes + size, u->archive_size);
	return size > u->file_most ? refuse_large(u) : 0;
}

/* ---- names ---- */

/* The name without what means nothing. -1: one that is refused, or no memory. */
static int clean(struct unpacking *u, const char *name, struct buf *out)
{
	buf_clear(out);
	if (*name == '/')
		return refuse(u, "an absolute name");
	for (size_t n; *name; name += n + (name[n] == '/')) {
		n = strcspn(name, "/");
		if (n == 2 && memcmp(name, "..", 2) == 0)
			return refuse(u, "a name with \"..\"");
		if (n == 0 || (n == 1 && *name == '.'))
			continue;
		if (out->len)
			buf_addc(out, '/');
		buf_add(out, name, n);
	}
	if (out->failed == ERR_LIMIT)
		return refuse(u, "the name is too long");
	return out->failed ? error_nomem(u->e) : 0;
}

/* Where the last part begins. */
static size_t base_of(const struct buf *path)
{
	const char *slash = path->len ? memrchr(path->data, '/', path->len) : NULL;

	return slash ? (size_t)(slash - path->data) + 1 : 0;
}

/* ---- directories ---- */

static int refuse_way(struct unpacking *u)
{
	return errno == ELOOP || errno == ENOTDIR ? refuse(u, "its directory is a link or a file") : refuse_sys(u);
}

/* The directory `path` of `at`; never through a link. -1 with errno. */
static int open_step(struct unpacking *u, int at, const char *path)
{
	const struct open_how how = { .flags = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC,
		                      .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS };

	if (!u->walk) {
		int fd = (int)syscall(SYS_openat2, at, path, &how, sizeof how);
		if (fd >= 0 || (errno != ENOSYS && errno != EPERM))
			return fd;
		u->walk = true;
		if (strchr(path, '/'))
			return -1; /* the caller's steps become smaller */
	}
	return openat(at, path, (int)how.flags);
}

/* How much of the path, from `begin` on, is opened at once. */
static size_t step_len(const struct unpacking *u, const char *path, size_t begin, size_t len)
{
	size_t end = begin + STEP_MOST;

	if (!u->walk && end >= len)
		return len - begin;
	while (!u->walk && end > begin && path[end] != '/') /* as many parts as fit */
		end--;
	if (u->walk || end == begin) /* or one */
		end = begin + strcspn(path + begin, "/");
	return end - begin;
}

/* The directory of the first len bytes of a clean path, from the root. The caller's to close unless it is the root. -1
 * with errno. */
static int open_dir(struct unpacking *u, struct buf *path, size_t len)
{
	int at = u->root;

	for (size_t begin = 0; begin < len;) {
		size_t n = step_len(u, path->data, begin, len);
		char saved = path->data[begin + n];
		bool walked = u->walk;
		path->data[begin + n] = '\0';
		int next = open_step(u, at, path->data + begin);
		int error = errno;
		path->data[begin + n] = saved;
		if (next < 0 && u->walk != walked)
			continue;
		if (at != u->root)
			close(at);
		errno = error;
		if (next < 0)
			return -1;
		at = next;
		begin += n + 1;
	}
	return at;
}

static void leave_dir(struct unpacking *u)
{
	if (u->at != u->root)
		close(u->at);
	u->at = u->root;
	buf_clear(&u->dir);
}

/* Makes the part [begin, end) of the path in `at`, which is closed, and opens it. -1 with *u->e. */
static int make_step(struct unpacking *u, int at, size_t begin, size_t end)
{
	char saved = u->path.data[end];
	int next = -1;

	u->path.data[end] = '\0';
	if (count_entry(u) == 0) {
		if (mkdirat(at, u->path.data + begin, 0777) == 0)
			next = openat(at, u->path.data + begin, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (next < 0)
			refuse_way(u);
	}
	u->path.data[end] = saved;
	if (at != u->root)
		close(at);
	return next;
}

/* The directories that no entry told of: those above the first one that is there are there too. */
static int make_dirs(struct unpacking *u, size_t len)
{
	size_t have = len;
	int at = -1;

	while (at < 0 && have) {
		const char *slash = memrchr(u->path.data, '/', have);
		have = slash ? (size_t)(slash - u->path.data) : 0;
		at = open_dir(u, &u->path, have);
		if (at < 0 && errno != ENOENT)
			return refuse_way(u);
	}
	while (at >= 0 && have < len) {
		size_t begin = have ? have + 1 : 0;
		have = begin + strcspn(u->path.data + begin, "/");
		at = make_step(u, at, begin, have);
	}
	return at;
}

/* Makes u->at the directory that holds the entry. */
static int enter_dir(struct unpacking *u)
{
	size_t base = base_of(&u->path), len = base ? base - 1 : 0;

	if (len == u->dir.len && (!len || !memcmp(u->dir.data, u->path.data, len)))
		return 0;
	leave_dir(u);
	int at = open_dir(u, &u->path, len);
	if (at < 0)
		at = errno == ENOENT ? make_dirs(u, len) : refuse_way(u);
	if (at < 0)
		return -1;
	u->at = at;
	return buf_add(&u->dir, u->path.data, len) ? error_nomem(u->e) : 0;
}

/* ---- entries ---- */

static int refuse_made(struct unpacking *u)
{
	return errno == EEXIST ? refuse(u, "the name comes twice") : refuse_sys(u);
}

/* The content, as it comes; holes stay holes. */
static int write_data(struct unpacking *u, int out)
{
	const bool known = u->la->entry_size_is_set(u->entry);
	const int64_t size = known ? u->la->entry_size(u->entry) : INT64_MAX;
	const void *p;
	size_t n;
	int64_t at, end = 0;
	int rc;

	while ((rc = u->la->read_data_block(u->a, &p, &n, &at)) == 0) {
		if (at < end || at > size || (int64_t)n > size - at)
			return refuse(u, "its content is not what its header says");
		if (count_bytes(u, at + (int64_t)n - end))
			return -1;
		for (size_t done = 0; done < n;) {
			ssize_t k = pwrite(out, (const char *)p + done, n - done, at + (off_t)done);
			if (k < 0 && errno != EINTR)
				return errno == EFBIG ? refuse_large(u) : refuse_sys(u);
			done += k > 0 ? (size_t)k : 0;
		}
		end = at + (int64_t)n;
	}
	if (rc != LIBARCHIVE_EOF) /* also what is a warning to the library, as a checksum that does not fit */
		return refuse_archive(u);
	if (!known || end == size)
		return 0;
	if (count_bytes(u, size - end)) /* a hole at the end */
		return -1;
	return ftruncate(out, size) ? refuse_sys(u) : 0; /* not too large: it was known */
}

static int make_file(struct unpacking *u, const char *name)
{
	const mode_t mode = (u->la->entry_perm(u->entry) & 0777) | S_IRUSR;

	if (check_size(u))
		return -1;
	int fd = openat(u->at, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
	if (fd < 0)
		return refuse_made(u);
	int rc = write_data(u, fd);
	if (rc == 0 && u->la->entry_mtime_is_set(u->entry)) {
		const struct timespec times[2] = {
			{ .tv_nsec = UTIME_OMIT }, { u->la->entry_mtime(u->entry), u->la->entry_mtime_nsec(u->entry) }
		};
		(void)futimens(fd, times); /* one that the file system does not take is no loss */
	}
	if (close(fd) && rc == 0)
		rc = refuse_sys(u);
	return rc;
}

static int make_directory(struct unpacking *u, const char *name)
{
	struct stat st;

	if (mkdirat(u->at, name, (u->la->entry_perm(u->entry) & 0777) | S_IRWXU) == 0)
		return 0;
	if (errno == EEXIST && fstatat(u->at, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode))
		return 0;
	errno = EEXIST;
	return refuse_made(u);
}

/* Does it lead to a place beneath the root, whatever else is made there? It does if ".." comes in front alone: what is
 * there is above the link for sure, while behind the name of a link it is above where that leads. */
static bool leads_inside(const char *target, size_t depth)
{
	bool down = false;

	if (!*target || *target == '/')
		return false;
	for (size_t n; *target; target += n + (target[n] == '/')) {
		n = strcspn(target, "/");
		bool up = n == 2 && memcmp(target, "..", 2) == 0;
		if (up && (down || depth-- == 0))
			return false;
		down = down || !(up || n == 0 || (n == 1 && *target == '.'));
	}
	return true;
}

static int make_symlink(struct unpacking *u, const char *name)
{
	const char *target = u->la->entry_symlink(u->entry);
	size_t depth = 0;

	if (!target)
		target = u->la->entry_symlink_utf8(u->entry);
	for (const char *p = u->path.data; (p = strchr(p, '/')); p++)
		depth++;
	if (!target || !leads_inside(target, depth))
		return refuse(u, "a link that may lead out of the directory");
	return symlinkat(target, u->at, name) ? refuse_made(u) : 0;
}

/* Another name of a file that was unpacked before. */
static int make_link(struct unpacking *u, const char *target, const char *name)
{
	struct stat st;
	bool found = clean(u, target, &u->target) == 0 && u->target.len;
	size_t base = base_of(&u->target);
	int dir = found ? open_dir(u, &u->target, base ? base - 1 : 0) : -1;
	int rc;

	if (dir >= 0 && !fstatat(dir, u->target.data + base, &st, AT_SYMLINK_NOFOLLOW) && S_ISREG(st.st_mode))
		rc = linkat(dir, u->target.data + base, u->at, name, 0) ? refuse_made(u) : 0;
	else
		rc = refuse(u, "a hard link to something that is no file of the archive's before it");
	if (dir >= 0 && dir != u->root)
		close(dir);
	return rc;
}

static int make_entry(struct unpacking *u)
{
	const char *link = u->la->entry_hardlink(u->entry);
	const mode_t type = u->la->entry_filetype(u->entry);

	u->name = u->la->entry_pathname(u->entry);
	if (!u->name)
		u->name = u->la->entry_pathname_utf8(u->entry);
	if (!u->name)
		return error_set(u->e, ERR_INPUT, "entry %lld has no name that can be read", (long long)u->entries);
	if (clean(u, u->name, &u->path))
		return -1;
	if (!u->path.len) /* the directory itself */
		return type == S_IFDIR && !link ? 0 : refuse(u, "it has no name");
	if (enter_dir(u))
		return -1;
	const char *base = u->path.data + base_of(&u->path);
	if (link)
		return make_link(u, link, base);
	switch (type) {
	case S_IFREG:
		return make_file(u, base);
	case S_IFDIR:
		return make_directory(u, base);
	case S_IFLNK:
		return make_symlink(u, base);
	default:
		return refuse(u, "neither a file nor a directory nor a link");
	}
}

/* Without its end mark a tar was cut off, between two entries by chance. `before`: how much of it was read by then. */
static int check_end(struct unpacking *u, int64_t before)
{
	u->name = NULL;
	if (u->entries == 0)
		return error_set(u->e, ERR_INPUT, "nothing is in it");
	if ((u->la->format(u->a) & TAR_MASK) == TAR && u->la->filter_bytes(u->a, 0) == before)
		return error_set(u->e, ERR_INPUT, "it is cut off: its end mark is missing");
	return 0;
}

static int unpack_entries(struct unpacking *u)
{
	int rc = libarchive_read_fd(u->la, u->a, u->fd);

	while (rc >= LIBARCHIVE_WARN) {
		int64_t before = u->la->filter_bytes(u->a, 0);
		u->name = NULL; /* it is the entry's */
		rc = u->la->read_next_header(u->a, &u->entry);
		if (rc == LIBARCHIVE_EOF)
			return check_end(u, before);
		if (rc >= LIBARCHIVE_WARN && (count_entry(u) || make_entry(u)))
			return -1;
	}
	return refuse_archive(u);
}

/* The largest file that this process may write. */
static int64_t file_most(void)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_FSIZE, &limit) || limit.rlim_cur > INT64_MAX ? INT64_MAX : (int64_t)limit.rlim_cur;
}

int workspace_unpack(int fd, int dir_fd, const struct unpack_limits *limits, struct error *e)
{
	struct libarchive_api la;
	struct stat st;
	struct unpacking u = { .la = &la,
		               .fd = fd,
		               .file_most = file_most(),
		               .limits = limits,
		               .ratio_at = RATIO_FREE,
		               .path = BUF_INIT(PATH_MOST),
		               .target = BUF_INIT(PATH_MOST),
		               .dir = BUF_INIT(PATH_MOST),
		               .root = dir_fd,
		               .at = dir_fd,
		               .e = e };

	if (fstat(fd, &st))
		return error_sys(e, "cannot look at the archive");
	if (!S_ISREG(st.st_mode))
		return error_set(e, ERR_INPUT, "it is no regular file");
	if (st.st_size == 0)
		return error_set(e, ERR_INPUT, "it is empty");
	u.archive_size = st.st_size;
	if (libarchive_api_load(&la, e))
		return -1;
	u.a = la.read_new();
	if (!u.a)
		return error_nomem(e);
	int rc = unpack_entries(&u);
	la.read_free(u.a);
	leave_dir(&u);
	buf_release(&u.path);
	buf_release(&u.target);
	buf_release(&u.dir);
	return rc;
}
