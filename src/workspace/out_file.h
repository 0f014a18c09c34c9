/*
 * A file that is written beside and renamed over, or a fifo that is written itself (private to workspace/): nothing is
 * seen of it before it is whole.
 */
#ifndef QUERN_WORKSPACE_OUT_FILE_H
#define QUERN_WORKSPACE_OUT_FILE_H

#include <limits.h>
#include <stdbool.h>

#include "base/error.h"

struct out_file {
	const char *path, *base;   /* borrowed */
	char beside[NAME_MAX + 1]; /* "": it is no regular file, and written itself */
	bool unnamed;              /* so that nothing stays of it if we are killed */
	int dir, fd;               /* -1 = not open */
};
#define OUT_FILE_INIT                                                                                                  \
	{                                                                                                              \
		.dir = -1, .fd = -1                                                                                    \
	}

/* The path is absolute. Its directory is that which it was when the run began, when links in the path were resolved:
 * what has become one since may be the model's work. -1 with *e, and o is as OUT_FILE_INIT. */
int out_file_find(struct out_file *o, const char *path, struct error *e);
/* Then it is written to o->fd. -1 with *e: out_file_close is called even so. */
int out_file_open(struct out_file *o, struct error *e);
/* rc: 0 = it was written whole. Returns that, or -1 with *e; does nothing where nothing was found. */
int out_file_close(struct out_file *o, int rc, struct error *e);

#endif
