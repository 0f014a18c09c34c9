/* Inside this room: finished parts of the page, in a temporary file without a name. */
#ifndef QUERN_REPORT_SPOOL_H
#define QUERN_REPORT_SPOOL_H

#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"

struct spool {
	int fd; /* -1: nothing is in it yet */
	int64_t size;
};

#define SPOOL_INIT                                                                                                     \
	{                                                                                                              \
		-1, 0                                                                                                  \
	}

/* Moves all of b to the end of the file; b is empty then. A b that has failed is an error. */
int spool_add(struct spool *s, struct buf *b, struct error *e);
/* Copies all of it to the end of a file. */
int spool_copy(const struct spool *s, int fd, struct error *e);
int spool_append(struct spool *to, const struct spool *from, struct error *e);
int spool_clear(struct spool *s, struct error *e); /* the file stays */
void spool_release(struct spool *s);

#endif
