#include "supervisor/frame.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct frame_out {
	struct frame_out *next;
	size_t len, sent; /* of bytes */
	int fds[FRAME_FDS];
	size_t nfds; /* go with the first byte */
	char bytes[];
};

void frame_init(struct frame_conn *c, int fd, size_t max_queued)
{
	*c = (struct frame_conn){ .fd = fd, .max_queued = max_queued };
}

static void close_all(const int *fds, size_t n)
{
	for (size_t i = 0; i < n; i++)
		close(fds[i]);
}

static void free_first(struct frame_conn *c)
{
	struct frame_out *f = c->first;

	c->first = f->next;
	if (!c->first)
		c->last = NULL;
	c->queued -= f->len - f->sent;
	close_all(f->fds, f->nfds);
	free(f);
}

void frame_clear(struct frame *f)
{
	close_all(f->fds, f->nfds);
	free(f->data);
	*f = (struct frame){ .data = NULL };
}

void frame_release(struct frame_conn *c)
{
	while (c->first)
		free_first(c);
	frame_clear(&c->in);
	c->in_got = 0;
}

/* One sendmsg: the bytes taken, 0 when the socket is full, -1 when the peer is gone. */
static ssize_t send_some(int fd, struct frame_out *f)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int) * FRAME_FDS)];
	} control;
	struct iovec iov = { f->bytes + f->sent, f->len - f->sent };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };

	if (f->nfds) {
		memset(&control, 0, sizeof control);
		msg.msg_control = control.bytes;
		msg.msg_controllen = CMSG_SPACE(sizeof(int) * f->nfds);
		struct cmsghdr *cm = CMSG_FIRSTHDR(&msg);
		cm->cmsg_level = SOL_SOCKET;
		cm->cmsg_type = SCM_RIGHTS;
		cm->cmsg_len = CMSG_LEN(sizeof(int) * f->nfds);
		memcpy(CMSG_DATA(cm), f->fds, sizeof(int) * f->nfds);
	}
	for (;;) {
		ssize_t n = sendmsg(fd, &msg, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n >= 0)
			return n;
		if (errno == EINTR)
			continue;
		/* ETOOMANYREFS: too many descriptors are under way; the peer takes them out as it reads. */
		return errno == EAGAIN || errno == ENOBUFS || errno == ETOOMANYREFS ? 0 : -1;
	}
}

int frame_flush(struct frame_conn *c)
{
	while (c->first) {
		struct frame_out *f = c->first;
		ssize_t n = send_some(c->fd, f);
		if (n <= 0)
			return (int)n;
		close_all(f->fds, f->nfds);
		f->nfds = 0;
		f->sent += (size_t)n;
		c->queued -= (size_t)n;
		if (f->sent == f->len)
			free_first(c);
	}
	return 0;
}

bool frame_pending(const struct frame_conn *c)
{
	return c->first != NULL;
}

static int refuse(const int *fds, size_t nfds, int why)
{
	close_all(fds, nfds);
	errno = why;
	return -1;
}

int frame_send(struct frame_conn *c, uint16_t type, int32_t id, const void *data, size_t len, const int *fds,
               size_t nfds)
{
	struct frame_head head = { .len = (uint32_t)len, .type = type, .nfds = (uint16_t)nfds, .id = id };

	if (len > FRAME_MAX || nfds > FRAME_FDS)
		return refuse(fds, nfds, EMSGSIZE);
	if (c->queued + sizeof head + len > c->max_queued)
		return refuse(fds, nfds, ENOBUFS);
	struct frame_out *f = malloc(sizeof *f + sizeof head + len);
	if (!f)
		return refuse(fds, nfds, ENOMEM);
	*f = (struct frame_out){ .len = sizeof head + len, .nfds = nfds };
	memcpy(f->bytes, &head, sizeof head);
	if (len)
		memcpy(f->bytes + sizeof head, data, len);
	if (nfds)
		memcpy(f->fds, fds, nfds * sizeof *fds);
	if (c->last)
		c->last->next = f;
	else
		c->first = f;
	c->last = f;
	c->queued += f->len;
	return frame_flush(c);
}

static void take_fds(struct frame *f, struct msghdr *msg)
{
	for (struct cmsghdr *cm = CMSG_FIRSTHDR(msg); cm; cm = CMSG_NXTHDR(msg, cm)) {
		if (cm->cmsg_level != SOL_SOCKET || cm->cmsg_type != SCM_RIGHTS)
			continue;
		size_t n = (cm->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (size_t i = 0; i < n; i++) {
			int fd;
			memcpy(&fd, CMSG_DATA(cm) + i * sizeof fd, sizeof fd);
			if (f->nfds < FRAME_FDS)
				f->fds[f->nfds++] = fd;
			else
				close(fd);
		}
	}
}

/* The head is read alone, so that the descriptors that come with its bytes can only be this frame's. */
static ssize_t recv_head(struct frame_conn *c)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int) * FRAME_FDS)];
	} control;
	struct iovec iov = { (char *)&c->in.head + c->in_got, sizeof c->in.head - c->in_got };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof control.bytes
	};
	ssize_t n = recvmsg(c->fd, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

	if (n > 0)
		take_fds(&c->in, &msg);
	return n;
}

static ssize_t recv_some(struct frame_conn *c)
{
	const size_t head = sizeof c->in.head;

	if (c->in_got < head)
		return recv_head(c);
	size_t at = c->in_got - head;
	return recv(c->fd, c->in.data + at, c->in.head.len - at, MSG_DONTWAIT);
}

int frame_recv(struct frame_conn *c, struct frame *out)
{
	const size_t head = sizeof c->in.head;

	while (c->in_got < head || c->in_got < head + c->in.head.len) {
		ssize_t n = recv_some(c);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return 0;
		if (n <= 0)
			return -1;
		bool head_done = c->in_got < head && c->in_got + (size_t)n == head;
		c->in_got += (size_t)n;
		if (head_done && c->in.head.len) {
			if (c->in.head.len > FRAME_MAX)
				return -1;
			c->in.data = malloc(c->in.head.len);
			if (!c->in.data)
				return -1;
		}
	}
	*out = c->in;
	c->in = (struct frame){ .data = NULL };
	c->in_got = 0;
	return 1;
}
