/* One file or link, made anew. */
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/io.h"
#include "workspace/private.h"

#define PIECE 65536

/* The bytes from..to by hand, where the kernel cannot copy them by itself. */
static int copy_bytes(int in, int out, off_t from, off_t to)
{
	char piece[PIECE];

	if (lseek(out, from, SEEK_SET) < 0)
		return -1;
	while (from < to) {
		size_t want = to - from < PIECE ? (size_t)(to - from) : PIECE;
		ssize_t got = pread(in, piece, want, from);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got < 0 ? -1 : 0;
		if (io_write_all(out, piece, (size_t)got))
			return -1;
		from += got;
	}
	return 0;
}

static int copy_range(int in, int out, off_t from, off_t to)
{
	off_t source = from, target = from;

	while (source < to) {
		ssize_t got = copy_file_range(in, &source, out, &target, (size_t)(to - source), 0);
		if (got < 0 && errno == EINTR)
			continue;
		if (got == 0)
			return 0;
		if (got < 0)
			return errno == ENOSPC || errno == EIO || errno == EDQUOT || errno == EFBIG
			               ? -1
			               : copy_bytes(in, out, source, to);
	}
	return 0;
}

/* Without the holes. */
static int copy_data(int in, int out, off_t size)
{
	struct extent x = { 0 };

	if (ioctl(out, FICLONE, in) == 0)
		return 0;
	if (ftruncate(out, size))
		return -1;
	while (next_data(in, size, &x))
		if (copy_range(in, out, x.from, x.to))
			return -1;
	return 0;
}

/* Owners only where we may: without that the copy is ours, which is no reason not to make it. */
static void set_owner(int fd, const struct stat *st)
{
	struct stat is;

	if (fstat(fd, &is) || (is.st_uid == st->st_uid && is.st_gid == st->st_gid))
		return;
	if (fchown(fd, st->st_uid, st->st_gid))
		(void)!fchown(fd, (uid_t)-1, st->st_gid);
}

static int copy_file(int in, int out, const struct stat *st, const struct like *like)
{
	const struct timespec times[2] = { st->st_atim, st->st_mtim };

	if (copy_data(in, out, st->st_size))
		return -1;
	set_owner(out, like ? &like->st : st);
	if (copy_attributes(like && like->fd >= 0 ? like->fd : in, out) || fchmod(out, st->st_mode & 07777))
		return -1;
	return futimens(out, times);
}

static int copy_link(int from_dir, const char *from_base, int to_dir, const char *to_base, const struct stat *st,
                     const struct stat *owner)
{
	const struct timespec times[2] = { st->st_atim, st->st_mtim };
	char target[LINK_LONGEST];
	size_t n;

	if (walk_read_link(from_dir, from_base, target, &n) || symlinkat(target, to_dir, to_base))
		return -1;
	if (owner->st_uid != geteuid() || owner->st_gid != getegid())
		(void)!fchownat(to_dir, to_base, owner->st_uid, owner->st_gid, AT_SYMLINK_NOFOLLOW);
	(void)utimensat(to_dir, to_base, times, AT_SYMLINK_NOFOLLOW);
	return 0;
}

int copy_entry(int from_dir, const char *from_base, int to_dir, const char *to_base, const struct like *like)
{
	struct stat st;

	if (fstatat(from_dir, from_base, &st, AT_SYMLINK_NOFOLLOW))
		return -1;
	if (S_ISLNK(st.st_mode))
		return copy_link(from_dir, from_base, to_dir, to_base, &st, like ? &like->st : &st);
	int in = walk_open_file(from_dir, from_base, NULL), out = -1, rc = -1;
	if (in >= 0 && fstat(in, &st) == 0)
		out = openat(to_dir, to_base, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (out >= 0)
		rc = copy_file(in, out, &st, like);
	int saved = errno;
	if (in >= 0)
		close(in);
	if (out >= 0 && close(out) && rc == 0) {
		saved = errno;
		rc = -1;
	}
	if (out >= 0 && rc)
		unlinkat(to_dir, to_base, 0);
	errno = saved;
	return rc;
}
