#include "record/out.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/io.h"
#include "record/event.h"

/* How a descriptor is written to. */
enum way {
	WAY_DIRECT,   /* never blocks for a reader: regular files, /dev/null, disks */
	WAY_NONBLOCK, /* O_NONBLOCK is set: by whoever opened it, or on a description of our own */
	WAY_SOCKET,   /* non-blocking call by call */
	WAY_POLLED    /* blocking: PIPE_BUF bytes at a time, each after poll said that there is room */
};

struct out {
	const char *name;
	char *own_name; /* owned, behind name for files by path */
	int fd;
	bool own_fd;
	enum way way;
	bool peer; /* a pipe or socket: somebody reads, and may stop */
	bool regular;
	struct buf queue; /* bytes [head, len) are not written yet */
	size_t head;
	bool watching;
	struct reactor *reactor;
	bool own_reactor;
	bool gone;
	struct error why;
};

static const char events_name[] = "events file";

/*
 * Another open file description for the same pipe or terminal, so that O_NONBLOCK is ours alone. -1 where that
 * is not possible (no /proc, another user's pipe, reader already gone).
 */
static int reopen_nonblock(int fd)
{
	char path[40];

	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	return open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

static void choose_way(struct out *o)
{
	struct stat st;
	int flags = fcntl(o->fd, F_GETFL);

	o->way = WAY_DIRECT;
	if (flags < 0 || fstat(o->fd, &st)) /* the first write will say what is wrong */
		return;
	o->regular = S_ISREG(st.st_mode);
	if (o->regular || S_ISBLK(st.st_mode) || (S_ISCHR(st.st_mode) && !isatty(o->fd)))
		return;
	o->peer = S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode);
	if (S_ISSOCK(st.st_mode)) {
		o->way = WAY_SOCKET;
		return;
	}
	if (flags & O_NONBLOCK) {
		o->way = WAY_NONBLOCK;
		return;
	}
	int fd = reopen_nonblock(o->fd);
	if (fd < 0) {
		o->way = WAY_POLLED;
		return;
	}
	o->way = WAY_NONBLOCK;
	o->fd = fd;
	o->own_fd = true;
}

static void on_trouble(void *ctx, int fd, short revents);

/* Between writes a pipe or socket is looked at for nothing but the end of its reader. */
static int guard(struct out *o)
{
	if (!o->peer || !o->reactor || o->gone)
		return 0;
	return reactor_fd_set(o->reactor, o->fd, POLLERR, on_trouble, o);
}

static struct out *new_out(int fd, const char *name, struct reactor *reactor)
{
	struct out *o = calloc(1, sizeof *o);

	if (!o)
		return NULL;
	o->fd = fd;
	o->name = name;
	o->reactor = reactor;
	buf_init(&o->queue, BUF_HUGE);
	return o;
}

struct out *out_open(int fd, const char *name, struct reactor *reactor, struct error *e)
{
	struct out *o = new_out(fd, name, reactor);

	if (!o) {
		error_nomem(e);
		return NULL;
	}
	choose_way(o);
	guard(o);
	return o;
}

struct out *out_append(const char *path, struct reactor *reactor, struct error *e)
{
	/* Readable too, to see whether the last line is whole; O_NONBLOCK so that a FIFO nobody reads is an error
	 * and not a hang. */
	int flags = O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
	int fd = -1;
	struct stat st;

	if (stat(path, &st) || S_ISREG(st.st_mode))
		fd = open(path, flags | O_RDWR, 0600);
	if (fd < 0)
		fd = open(path, flags | O_WRONLY, 0600);
	if (fd < 0) {
		error_set(e, ERR_INPUT, "cannot open events file '%s': %s", path, strerror(errno));
		return NULL;
	}
	struct out *o = new_out(fd, events_name, reactor);
	size_t size = sizeof events_name + strlen(path) + 3;
	if (o)
		o->own_name = malloc(size);
	if (!o || !o->own_name) {
		free(o);
		close(fd);
		error_nomem(e);
		return NULL;
	}
	snprintf(o->own_name, size, "%s '%s'", events_name, path);
	o->name = o->own_name;
	o->own_fd = true;
	choose_way(o);
	guard(o);
	return o;
}

void out_free(struct out *o)
{
	if (!o)
		return;
	if (o->reactor && (o->watching || o->peer))
		reactor_fd_remove(o->reactor, o->fd);
	if (o->own_reactor)
		reactor_free(o->reactor);
	if (o->own_fd)
		close(o->fd);
	buf_release(&o->queue);
	free(o->own_name);
	free(o);
}

static void unwatch(struct out *o)
{
	if (o->reactor && (o->watching || o->peer))
		reactor_fd_remove(o->reactor, o->fd);
	o->watching = false;
	guard(o); /* without memory for it the end shows at the next write */
}

static int lose(struct out *o, int err)
{
	if (!o->gone) {
		o->gone = true;
		error_set(&o->why, ERR_GONE, "cannot write to %s: %s", o->name, strerror(err));
	}
	unwatch(o);
	buf_release(&o->queue);
	o->head = 0;
	return -1;
}

/* More than any pipe or socket takes at once, little enough for tools that look at each byte of a system call. */
#define CHUNK ((size_t)256 << 10)

/* One attempt: the bytes taken, or -1 with errno (EAGAIN: no room now). */
static ssize_t put_some(struct out *o, const char *p, size_t n)
{
	if (o->way != WAY_DIRECT && n > CHUNK)
		n = CHUNK;
	if (o->way == WAY_SOCKET)
		return send(o->fd, p, n, MSG_DONTWAIT | MSG_NOSIGNAL);
	if (o->way == WAY_POLLED) {
		struct pollfd pfd = { .fd = o->fd, .events = POLLOUT };
		int ready = poll(&pfd, 1, 0); /* style: allow wait - a timeout of 0 never waits */
		if (ready == 0)
			errno = EAGAIN;
		if (ready <= 0)
			return -1;
		if (n > PIPE_BUF)
			n = PIPE_BUF;
	}
	return write(o->fd, p, n);
}

/* Writes until all is taken or there is no room. The bytes taken; *err is 0, EAGAIN or what went wrong. */
static size_t put(struct out *o, const char *p, size_t n, int *err)
{
	size_t done = 0;

	*err = 0;
	while (done < n) {
		ssize_t k = put_some(o, p + done, n - done);
		if (k > 0) {
			done += (size_t)k;
		} else if (k == 0) {
			*err = EIO;
			break;
		} else if (errno != EINTR) {
			*err = errno == EWOULDBLOCK ? EAGAIN : errno;
			break;
		}
	}
	return done;
}

/* A full disk took the front of a line: take it back, if nobody wrote behind it, so that no half line stays. */
static void take_back(struct out *o, size_t n)
{
	struct stat st;
	off_t pos = lseek(o->fd, 0, SEEK_CUR);

	if (!o->regular || n == 0 || pos < (off_t)n || fstat(o->fd, &st) || st.st_size != pos)
		return;
	if (ftruncate(o->fd, pos - (off_t)n) == 0)
		lseek(o->fd, pos - (off_t)n, SEEK_SET);
}

static void flush_queue(struct out *o)
{
	int err;

	o->head += put(o, o->queue.data + o->head, o->queue.len - o->head, &err);
	if (err && err != EAGAIN) {
		lose(o, err);
	} else if (o->head == o->queue.len) {
		unwatch(o);
		buf_release(&o->queue);
		o->head = 0;
	} else if (o->head > o->queue.len / 2) { /* at most one byte moved for each byte written: linear */
		buf_drop(&o->queue, o->head);
		o->head = 0;
	}
}

/* The reader is gone: said now and not at the next line, which may be minutes of a paid answer away. */
static void on_trouble(void *ctx, int fd, short revents)
{
	(void)fd;
	(void)revents;
	lose(ctx, EPIPE);
}

static void on_writable(void *ctx, int fd, short revents)
{
	(void)fd;
	(void)revents; /* an error shows as what write says */
	flush_queue(ctx);
}

static int watch(struct out *o, struct error *e)
{
	if (o->watching)
		return 0;
	if (!o->reactor) {
		o->reactor = reactor_open(e);
		if (!o->reactor)
			return -1;
		o->own_reactor = true;
	}
	if (reactor_fd_set(o->reactor, o->fd, POLLOUT, on_writable, o))
		return error_nomem(e);
	o->watching = true;
	return 0;
}

static int enqueue(struct out *o, const char *p, size_t n, struct error *e)
{
	if (buf_add(&o->queue, p, n)) {
		int limit = o->queue.failed == ERR_LIMIT;
		o->queue.failed = ERR_NONE; /* what is queued stays whole: nothing of this line was added */
		if (!limit)
			return error_nomem(e);
		lose(o, EFBIG);
		*e = o->why;
		return -1;
	}
	return watch(o, e);
}

int out_write(struct out *o, const void *p, size_t n, struct error *e)
{
	int err = 0;
	size_t done = 0;
	struct error own = ERROR_INIT;

	if (!e)
		e = &own;
	if (!o->gone && out_backlog(o) == 0)
		done = put(o, p, n, &err);
	if (err && err != EAGAIN) {
		take_back(o, done);
		lose(o, err);
	}
	if (o->gone) {
		*e = o->why;
		return -1;
	}
	if (done == n)
		return 0;
	if (enqueue(o, (const char *)p + done, n - done, e) == 0)
		return 0;
	if (done > 0) /* the reader has half a line and the rest is lost: nothing may follow it */
		lose(o, ENOMEM);
	return -1;
}

/* The last byte of the file behind fd, or -1 if it has none or cannot be read. */
static int last_byte(int fd)
{
	char path[40];
	struct stat st;
	unsigned char c;
	int flags = fcntl(fd, F_GETFL);

	if (flags < 0 || !(flags & O_APPEND) || fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_size == 0)
		return -1;
	if (pread(fd, &c, 1, st.st_size - 1) == 1)
		return c;
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd); /* the shell's >> is write only */
	int again = open(path, O_RDONLY | O_CLOEXEC);
	if (again < 0)
		return -1;
	ssize_t k = pread(again, &c, 1, st.st_size - 1);
	close(again);
	return k == 1 ? c : -1;
}

int out_mend(struct out *o, struct error *e)
{
	int c = last_byte(o->fd);

	return c < 0 || c == '\n' ? 0 : out_write(o, "\n", 1, e);
}

int out_sync(struct out *o, struct error *e)
{
	if (!o->gone && o->regular && fsync(o->fd))
		lose(o, errno);
	if (o->gone && e)
		*e = o->why;
	return o->gone ? -1 : 0;
}

size_t out_backlog(const struct out *o)
{
	return o->queue.len - o->head;
}

bool out_gone(const struct out *o)
{
	return o->gone;
}

int out_drain(struct out *o, const int64_t *deadline, struct error *e)
{
	while (!o->gone && out_backlog(o) > 0) {
		if (clock_mono_ms() >= *deadline) {
			/* One last look: time may have passed while others ran. */
			flush_queue(o);
			if (o->gone || out_backlog(o) == 0)
				break;
			return error_set(e, ERR_GONE, "%s: its reader did not take the last %zu bytes in time", o->name,
			                 out_backlog(o));
		}
		if (reactor_wait(o->reactor, *deadline, e) < 0)
			return -1;
	}
	if (o->gone && e)
		*e = o->why;
	return o->gone ? -1 : 0;
}

bool out_same_file(const struct out *a, const struct out *b)
{
	struct stat sa, sb;

	return a->regular && b->regular && fstat(a->fd, &sa) == 0 && fstat(b->fd, &sb) == 0 && io_same_file(&sa, &sb);
}

int out_print(const char *text, size_t n, struct error *e)
{
	const int64_t never = CLOCK_NEVER; /* a pager may take its time */
	struct out *o = out_open(STDOUT_FILENO, "stdout", NULL, e);

	if (!o)
		return -1;
	int rc = out_write(o, text, n, e);
	if (rc == 0)
		rc = out_drain(o, &never, e);
	out_free(o);
	return rc;
}
