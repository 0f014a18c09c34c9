#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define READ_CHUNK ((size_t)64 << 10)

int io_write_all(int fd, const void *p, size_t n)
{
	const char *s = p;

	while (n) {
		ssize_t k = write(fd, s, n);
		if (k < 0) {
			if (errno == EINTR)
				continue;
			return -1;
		}
		s += k;
		n -= (size_t)k;
	}
	return 0;
}

static ssize_t read_some(int fd, void *p, size_t n)
{
	ssize_t k;

	do {
		k = read(fd, p, n);
	} while (k < 0 && errno == EINTR);
	return k;
}

/* True if the source has a byte more than the buffer may hold. Reads it: the caller fails then anyway. */
static ssize_t probe(int fd)
{
	char c;

	return read_some(fd, &c, 1);
}

static int read_to_end(int fd, const char *what, struct buf *out, struct error *e)
{
	for (;;) {
		size_t room = out->max - out->len;
		if (!room) {
			ssize_t k = probe(fd);
			if (k < 0)
				return error_sys(e, "cannot read %s", what);
			if (k > 0)
				return error_set(e, ERR_LIMIT, "%s is larger than %zu bytes", what, out->max);
			return 0;
		}
		size_t want = room < READ_CHUNK ? room : READ_CHUNK;
		if (buf_reserve(out, want))
			return buf_check(out, what, e);
		ssize_t k = read_some(fd, out->data + out->len, want);
		if (k < 0)
			return error_sys(e, "cannot read %s", what);
		if (k == 0) {
			out->data[out->len] = '\0';
			return 0;
		}
		out->len += (size_t)k;
		out->data[out->len] = '\0';
	}
}

int io_read_fd(int fd, struct buf *out, struct error *e)
{
	return read_to_end(fd, "the input", out, e);
}

#define WRITER_MS 3000

/* A pipe by name whose writer never comes would be waited for without an end, by open itself if it could. Returns 0 if
 * the file may be read, which may block from now on. */
static int expect_writer(int fd, const char *path, struct buf *out, struct error *e)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	struct stat st;

	if (fstat(fd, &st) == 0 && S_ISFIFO(st.st_mode)) {
		char c;
		/* comes back as soon as something was written */
		(void)poll(&p, 1, WRITER_MS); /* style: allow wait - for a short time, and there is no run yet */
		ssize_t k = out->max > out->len ? read_some(fd, &c, 1) : -1;
		if (k == 0 && !(p.revents & POLLHUP))
			return error_set(e, ERR_INPUT, "nobody writes to the pipe '%s'", path);
		if (k == 1)
			buf_addc(out, c);
	}
	int flags = fcntl(fd, F_GETFL);
	if (flags < 0 || fcntl(fd, F_SETFL, flags & ~O_NONBLOCK) < 0)
		return error_sys(e, "cannot read '%s'", path);
	return 0;
}

int io_read_file(int dirfd, const char *path, struct buf *out, struct error *e)
{
	struct buf what = BUF_INIT(4200);
	int fd;

	do {
		fd = openat(dirfd, path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	} while (fd < 0 && errno == EINTR);
	if (fd < 0)
		return error_sys(e, "cannot open '%s'", path);
	buf_addf(&what, "'%s'", path);
	int rc = expect_writer(fd, path, out, e);
	if (rc == 0)
		rc = read_to_end(fd, what.failed ? "the file" : buf_str(&what), out, e);
	buf_release(&what);
	close(fd);
	return rc;
}

const char *io_tmpdir(void)
{
	const char *given = getenv("TMPDIR");

	return given && given[0] == '/' ? given : "/tmp";
}

bool io_same_path(const char *a, const char *b)
{
	struct stat x, y;

	return !stat(a, &x) && !stat(b, &y) && io_same_file(&x, &y);
}

int io_cloexec(int fd)
{
	int flags = fcntl(fd, F_GETFD);

	return flags < 0 ? -1 : fcntl(fd, F_SETFD, flags | FD_CLOEXEC);
}

int io_nonblock(int fd)
{
	int flags = fcntl(fd, F_GETFL);

	return flags < 0 ? -1 : fcntl(fd, F_SETFL, flags | O_NONBLOCK);
}

int io_ensure_std_fds(void)
{
	for (int fd = 0; fd <= 2; fd++) {
		if (fcntl(fd, F_GETFD) >= 0)
			continue;
		/* open takes the lowest free number, and all below fd are in use */
		if (open("/dev/null", fd == STDOUT_FILENO ? O_RDONLY : O_RDWR) != fd)
			return -1;
	}
	return 0;
}
