/*
 * Directories beneath a directory, each component opened by itself and never through a link (private to workspace/).
 * Those on the way to the last one stay open, so that a walk opens each directory about once.
 */
#ifndef QUERN_WORKSPACE_BENEATH_H
#define QUERN_WORKSPACE_BENEATH_H

#include <stddef.h>

#include "base/buf.h"

#define BENEATH_KEPT 24   /* levels whose descriptors are kept */
#define NAME_LONGEST 4095 /* of a name relative to the directory: what the kernel takes, and git */

struct beneath {
	int root;              /* borrowed */
	struct buf path;       /* of the directory that is open, relative; "" = the root */
	size_t depth;          /* components in path */
	int fds[BENEATH_KEPT]; /* of the first levels of path */
	int deep;              /* of the last one, where depth > BENEATH_KEPT; else -1 */
};

void beneath_init(struct beneath *b, int root_fd);
/* The directory that holds `name`; *base is its last component. The descriptor is good until the next call and stays
 * b's. -1 with errno. */
int beneath_parent(struct beneath *b, const char *name, const char **base);
/* The directory `name` itself ("" = the root), likewise. */
int beneath_dir(struct beneath *b, const char *name, size_t n);
/* Closes what is open: a directory on the way may be another one from now on. */
void beneath_clear(struct beneath *b);
void beneath_release(struct beneath *b);

#endif
