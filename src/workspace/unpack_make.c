/* The entries themselves: each is made anew, or is refused. */
#include "workspace/unpack.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int refuse_made(struct unpacking *u)
{
	return errno == EEXIST ? unpack_refuse(u, "the name comes twice") : unpack_refuse_sys(u);
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
			return unpack_refuse(u, "its content is not what its header says");
		if (unpack_count_bytes(u, at + (int64_t)n - end))
			return -1;
		for (size_t done = 0; done < n;) {
			ssize_t k = pwrite(out, (const char *)p + done, n - done, at + (off_t)done);
			if (k < 0 && errno != EINTR)
				return errno == EFBIG ? unpack_refuse_large(u) : unpack_refuse_sys(u);
			done += k > 0 ? (size_t)k : 0;
		}
		end = at + (int64_t)n;
	}
	if (rc != LIBARCHIVE_EOF) /* also what is a warning to the library, as a checksum that does not fit */
		return unpack_refuse_archive(u);
	if (!known || end == size)
		return 0;
	if (unpack_count_bytes(u, size - end)) /* a hole at the end */
		return -1;
	return ftruncate(out, size) ? unpack_refuse_sys(u) : 0; /* not too large: it was known */
}

int unpack_file(struct unpacking *u, const char *name)
{
	const mode_t mode = (u->la->entry_perm(u->entry) & 0777) | S_IRUSR;

	if (unpack_check_size(u))
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
		rc = unpack_refuse_sys(u);
	return rc;
}

int unpack_directory(struct unpacking *u, const char *name)
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

int unpack_symlink(struct unpacking *u, const char *name)
{
	const char *target = u->la->entry_symlink(u->entry);
	size_t depth = 0;

	if (!target)
		target = u->la->entry_symlink_utf8(u->entry);
	for (const char *p = u->path.data; (p = strchr(p, '/')); p++)
		depth++;
	if (!target || !leads_inside(target, depth))
		return unpack_refuse(u, "a link that may lead out of the directory");
	return symlinkat(target, u->at, name) ? refuse_made(u) : 0;
}

int unpack_link(struct unpacking *u, const char *target, const char *name)
{
	struct stat st;
	bool found = unpack_clean(u, target, &u->target) == 0 && u->target.len;
	size_t base = unpack_base(&u->target);
	int dir = found ? unpack_open_dir(u, &u->target, base ? base - 1 : 0) : -1;
	int rc;

	if (dir >= 0 && !fstatat(dir, u->target.data + base, &st, AT_SYMLINK_NOFOLLOW) && S_ISREG(st.st_mode))
		rc = linkat(dir, u->target.data + base, u->at, name, 0) ? refuse_made(u) : 0;
	else
		rc = unpack_refuse(u, "a hard link to something that is no file of the archive's before it");
	if (dir >= 0 && dir != u->root)
		close(dir);
	return rc;
}
