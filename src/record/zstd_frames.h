/* Inside this room: where the frames of a file compressed by zstd end, found without unpacking them (RFC 8878). */
#ifndef QUERN_RECORD_ZSTD_FRAMES_H
#define QUERN_RECORD_ZSTD_FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/error.h"

bool zstd_is_frame(const char *head, size_t n);
bool zstd_may_be_frame(const char *head, size_t n); /* or the first bytes of one that was cut */

/* The frame that begins at `at`, in a file of `size` bytes. 1: it is whole, *end is behind it. 0: it is cut off, or
 * what stands there is no frame. -1 with *e: the file cannot be read. */
int zstd_frame(int fd, off_t at, off_t size, off_t *end, struct error *e);

struct zstd_frames {
	size_t n;
	off_t first;     /* where the first whole frame ends */
	off_t last, end; /* where the last one begins and ends; all 0 without any */
	off_t size;      /* of the file */
};
/* All whole frames from the beginning. 0, or -1 with *e. */
int zstd_frames(int fd, struct zstd_frames *f, struct error *e);

#endif
