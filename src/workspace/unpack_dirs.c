/* The directories that an archive has its entries in, told of or not. */
#include "workspace/unpack.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define STEP_MOST 4000 /* bytes of a path that the kernel takes at once */

int unpack_clean(struct unpacking *u, const char *name, struct buf *out)
{
	buf_clear(out);
	if (*name == '/')
		return unpack_refuse(u, "an absolute name");
	for (size_t n; *name; name += n + (name[n] == '/')) {
		n = strcspn(name, "/");
		if (n == 2 && memcmp(name, "..", 2) == 0)
			return unpack_refuse(u, "a name with \"..\"");
		if (n == 0 || (n == 1 && *name == '.'))
			continue;
		if (out->len)
			buf_addc(out, '/');
		buf_add(out, name, n);
	}
	if (out->failed == ERR_LIMIT)
		return unpack_refuse(u, "the name is too long");
	return out->failed ? error_nomem(u->e) : 0;
}

size_t unpack_base(const struct buf *path)
{
	const char *slash = path->len ? memrchr(path->data, '/', path->len) : NULL;

	return slash ? (size_t)(slash - path->data) + 1 : 0;
}

/* ---- directories ---- */

static int refuse_way(struct unpacking *u)
{
	return errno == ELOOP || errno == ENOTDIR ? unpack_refuse(u, "its directory is a link or a file")
	                                          : unpack_refuse_sys(u);
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

int unpack_open_dir(struct unpacking *u, struct buf *path, size_t len)
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

void unpack_leave_dir(struct unpacking *u)
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
	if (unpack_count_entry(u) == 0) {
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
		at = unpack_open_dir(u, &u->path, have);
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

int unpack_enter_dir(struct unpacking *u)
{
	size_t base = unpack_base(&u->path), len = base ? base - 1 : 0;

	if (len == u->dir.len && (!len || !memcmp(u->dir.data, u->path.data, len)))
		return 0;
	unpack_leave_dir(u);
	int at = unpack_open_dir(u, &u->path, len);
	if (at < 0)
		at = errno == ENOENT ? make_dirs(u, len) : refuse_way(u);
	if (at < 0)
		return -1;
	u->at = at;
	return buf_add(&u->dir, u->path.data, len) ? error_nomem(u->e) : 0;
}
