/*
 * A growing byte buffer that cannot be made without its maximum.
 *
 * Life cycle: buf_init -> add... -> buf_release, or buf_take to move the bytes out.
 * Invariants: data[len] is NUL whenever data is not NULL; len <= max.
 * Failure is sticky: after an add that did not fit (or no memory) every later
 * add fails too and `failed` tells why, so that a writer may add freely and
 * look once at the end.
 */
#ifndef QUERN_BASE_BUF_H
#define QUERN_BASE_BUF_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

struct buf {
	char *data; /* NULL until the first byte; owned */
	size_t len;
	size_t cap;
	size_t max;             /* most bytes it may ever hold, the final NUL not counted */
	enum error_code failed; /* ERR_NONE, ERR_LIMIT or ERR_NOMEM */
};

#define BUF_INIT(maximum)                                                                                              \
	{                                                                                                              \
		NULL, 0, 0, (maximum), ERR_NONE                                                                        \
	}

/* A cap for buffers whose content is bounded elsewhere: 1 GiB. */
#define BUF_HUGE ((size_t)1 << 30)

void buf_init(struct buf *b, size_t max);
void buf_release(struct buf *b); /* frees the bytes; b is as after buf_init */
void buf_clear(struct buf *b);   /* len 0, failure forgotten, memory kept */
int buf_add(struct buf *b, const void *p, size_t n);
int buf_adds(struct buf *b, const char *s);
int buf_addc(struct buf *b, char c);
int buf_addf(struct buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
int buf_reserve(struct buf *b, size_t more); /* room for `more` bytes behind len */
void buf_cut(struct buf *b, size_t len);     /* shortens to len */
void buf_drop(struct buf *b, size_t n);      /* removes the first n bytes */

/* The bytes as a malloc'ed NUL-terminated string that the caller owns; b is as
 * after buf_init. Never NULL unless out of memory or failed. *len may be NULL. */
char *buf_take(struct buf *b, size_t *len);

/* The bytes as a C string, "" if there are none. Valid until the next change. */
const char *buf_str(const struct buf *b);

/* 0, or -1 with *e filled if an add failed. `what` names the content. */
int buf_check(const struct buf *b, const char *what, struct error *e);

#endif
