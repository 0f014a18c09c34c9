/*
 * Length-prefixed frames with descriptors over a non-blocking stream socket.
 *
 * Life cycle: frame_init -> frame_send / frame_flush / frame_recv -> frame_release (which does not close
 * the socket). What the socket does not take at once is queued up to max_queued bytes; the owner calls
 * frame_flush when the socket is writable and frame_pending says so.
 */
#ifndef QUERN_SUPERVISOR_FRAME_H
#define QUERN_SUPERVISOR_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FRAME_MAX ((size_t)8 << 20) /* payload; the kernel's own limit for arguments is 6 MiB */
#define FRAME_FDS 6

struct frame_head {
	uint32_t len;
	uint16_t type;
	uint16_t nfds;
	int32_t id;
};

struct frame {
	struct frame_head head;
	char *data; /* head.len bytes; owned */
	int fds[FRAME_FDS];
	size_t nfds; /* fewer than head.nfds if this process had no room for them */
};

struct frame_out;
struct frame_conn {
	int fd;
	size_t max_queued;
	size_t queued;           /* bytes not yet taken by the socket */
	struct frame_out *first; /* queue, oldest first */
	struct frame_out *last;
	struct frame in; /* being received */
	size_t in_got;   /* bytes of head and payload that came */
};

void frame_init(struct frame_conn *c, int fd, size_t max_queued);
void frame_release(struct frame_conn *c);

/* Sends or queues. The descriptors are the frame's from now on, also on failure: they are closed when sent.
 * 0, or -1 with errno: ENOBUFS (queue full), EMSGSIZE, ENOMEM (the connection goes on), else the peer is gone. */
int frame_send(struct frame_conn *c, uint16_t type, int32_t id, const void *data, size_t len, const int *fds,
               size_t nfds);
int frame_flush(struct frame_conn *c); /* 0, or -1: the peer is gone */
bool frame_pending(const struct frame_conn *c);

/* 1: *out is a whole frame, the caller's to release; 0: nothing more now; -1: end of file, or a broken peer. */
int frame_recv(struct frame_conn *c, struct frame *out);
void frame_clear(struct frame *f); /* closes the descriptors that are left and frees the payload */

#endif
