/* Old content or new content, never a part: the one way a file tool changes a file. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/io.h"
#include "base/random.h"
#include "tool/file.h"

#define WRITE_CHUNK ((size_t)1 << 20)

int file_slurp(int dir, const char *name, struct buf *out, struct stat *st, struct error *e)
{
	if (fstatat(dir, name, st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 1 : error_sys(e, "cannot read '%s'", name);
	if (!S_ISREG(st->st_mode))
		return error_set(e, ERR_INPUT, "'%s' is not a regular file", name);
	if ((uint64_t)st->st_size > FILE_MAX_BYTES)
		return error_set(e, ERR_LIMIT, "'%s' is larger than %zu MiB: change it with Bash", name,
		                 FILE_MAX_BYTES >> 20);
	int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return error_sys(e, "cannot read '%s'", name);
	int rc = fstat(fd, st) < 0 || !S_ISREG(st->st_mode)
	                 ? error_set(e, ERR_INPUT, "'%s' is not a regular file", name)
	                 : io_read_fd(fd, out, e);
	close(fd);
	return rc;
}

/* A cancelled call stops between chunks, so that its temporary file does not stay. */
static int write_chunks(int fd, const char *p, size_t n)
{
	sigset_t pending;

	while (n > 0) {
		size_t part = n < WRITE_CHUNK ? n : WRITE_CHUNK;
		if (io_write_all(fd, p, part) < 0)
			return -1;
		p += part;
		n -= part;
		if (sigpending(&pending) == 0 && sigismember(&pending, SIGTERM) == 1) {
			errno = EINTR;
			return -1;
		}
	}
	return 0;
}

/* Extended attributes go along as far as they can be set; access lists are among them. */
static void copy_xattrs(int from, int to)
{
	char names[4096], value[4096];
	ssize_t n = flistxattr(from, names, sizeof names);

	for (ssize_t i = 0; i < n; i += (ssize_t)strlen(names + i) + 1) {
		ssize_t len = fgetxattr(from, names + i, value, sizeof value);
		if (len >= 0 && fsetxattr(to, names + i, value, (size_t)len, 0) < 0)
			continue;
	}
}

/* Gives the new file what the old one had. Owner first: a change of owner takes set-id bits away. */
static int copy_metadata(int dir, const char *name, const struct stat *old, int fd, struct error *e)
{
	struct stat now;
	mode_t mode = old->st_mode & 07777;

	if (fstat(fd, &now) < 0)
		return error_sys(e, "cannot look at the new file");
	if ((now.st_uid != old->st_uid || now.st_gid != old->st_gid) && fchown(fd, old->st_uid, old->st_gid) < 0) {
		if (fchown(fd, (uid_t)-1, old->st_gid) < 0)
			mode &= (mode_t)~S_ISGID;
		mode &= (mode_t)~S_ISUID;
	}
	int from = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	if (from >= 0) {
		copy_xattrs(from, fd);
		close(from);
	}
	return fchmod(fd, mode) < 0 ? error_sys(e, "cannot set the mode of the new file") : 0;
}

/* A name that nobody has thought of before. */
static void make_name(char tmp[40])
{
	unsigned long long id;

	random_bytes(&id, sizeof id);
	snprintf(tmp, 40, ".quern-%016llx", id);
}

static int open_temporary(int dir, bool fresh, char tmp[40], struct error *e)
{
	for (int i = 0; i < 100; i++) {
		make_name(tmp);
		int fd = openat(dir, tmp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, fresh ? 0666 : 0600);
		if (fd >= 0)
			return fd;
		if (errno != EEXIST)
			return error_sys(e, "cannot create a file in the directory (the file is unchanged)");
	}
	return error_set(e, ERR_LIMIT, "cannot find a free temporary name");
}

static int fill(int dir, const char *name, int fd, const struct stat *old, const char *p, size_t n, struct stat *now,
                struct error *e)
{
	if (write_chunks(fd, p, n) < 0)
		return error_sys(e, "cannot write (the file is unchanged)");
	if (old && copy_metadata(dir, name, old, fd, e) < 0)
		return -1;
	if (fsync(fd) < 0 && errno != EINVAL)
		return error_sys(e, "cannot write (the file is unchanged)");
	return fstat(fd, now) < 0 ? error_sys(e, "cannot look at the new file") : 0;
}

/* A file without a name: what is killed while it writes leaves nothing. -1 where the file system has no such files. */
static int open_nameless(int dir, bool fresh)
{
	return openat(dir, ".", O_WRONLY | O_TMPFILE | O_CLOEXEC, fresh ? 0666 : 0600);
}

/* Gives it a temporary name; from here to the rename are two system calls. */
static int give_name(int dir, int fd, char tmp[40])
{
	char self[40];

	snprintf(self, sizeof self, "/proc/self/fd/%d", fd);
	make_name(tmp);
	return linkat(AT_FDCWD, self, dir, tmp, AT_SYMLINK_FOLLOW);
}

/* 0, -1, or 1: the nameless file could not be named here, try with a named one. */
static int replace_once(int dir, const char *name, bool nameless, const struct stat *old, const char *p, size_t n,
                        struct stat *now, struct error *e)
{
	char tmp[40] = "";
	int fd = nameless ? open_nameless(dir, !old) : open_temporary(dir, !old, tmp, e);

	if (fd < 0)
		return nameless ? 1 : -1;
	int rc = fill(dir, name, fd, old, p, n, now, e);
	if (rc == 0 && nameless && give_name(dir, fd, tmp) < 0) {
		tmp[0] = '\0';
		rc = 1;
	}
	if (close(fd) < 0 && rc == 0)
		rc = error_sys(e, "cannot write (the file is unchanged)");
	if (rc == 0 && renameat(dir, tmp, dir, name) < 0)
		rc = error_sys(e, "cannot replace '%s' (the file is unchanged)", name);
	if (rc != 0 && tmp[0])
		unlinkat(dir, tmp, 0);
	return rc;
}

int file_replace(int dir, const char *name, const struct stat *old, const char *p, size_t n, struct stat *now,
                 struct error *e)
{
	sigset_t term, before;

	if (old && faccessat(dir, name, W_OK, AT_EACCESS) < 0)
		return error_sys(e, "'%s' may not be written (the file is unchanged)", name);
	sigemptyset(&term);
	sigaddset(&term, SIGTERM);
	sigprocmask(SIG_BLOCK, &term, &before);
	int rc = replace_once(dir, name, true, old, p, n, now, e);
	if (rc > 0)
		rc = replace_once(dir, name, false, old, p, n, now, e);
	if (rc == 0)
		(void)fsync(dir); /* a file system that cannot do it has still the new name */
	sigprocmask(SIG_SETMASK, &before, NULL);
	return rc;
}
