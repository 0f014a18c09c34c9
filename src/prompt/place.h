/* Where files that the model is told of may lie, and what forbids to read them. */
#ifndef QUERN_PROMPT_PLACE_H
#define QUERN_PROMPT_PLACE_H

#include <stddef.h>

#include "base/buf.h"
#include "base/error.h"
#include "guard/path.h"
#include "guard/permission.h"

/* What the pointers name must live as long as what is given it. */
struct place {
	const char *workspace;       /* absolute, real path; relative paths start there */
	const char *const *add_dirs; /* absolute, real paths, NULL terminated, or NULL */
	const char *const *spelled;  /* the user's names of the workspace and of each of add_dirs; NULL = the same */
	const struct permissions *permissions;
	void (*mask)(void *ctx, struct buf *text); /* known secrets, before text is told; NULL = there are none */
	void *ctx;                                 /* of mask */
	const char *environment;                   /* what is told of it and the machine; NULL = what is seen now */
};

#define PLACE_PATH 4096

/* Opens a regular file or a directory beneath the place's directories for reading: never by a link that leads out of
 * them, never what a rule forbids to read (PATH_DENIED). real gets where it lies. The descriptor, or -1 with *why and
 * *e. */
int place_open(const struct place *p, const char *path, char real[PLACE_PATH], enum path_verdict *why, struct error *e);
/* The same of a path that the user chose to name, wherever it leads; rules do not count. */
int place_open_named(const char *path, char real[PLACE_PATH], struct error *e);
/* Does the path, as it is written, name something beneath them? */
bool place_names_beneath(const struct place *p, const char *path);

/* The first `max` bytes of an open file; *size gets how many it has (what is no file of a known size: what came). 0, or
 * -1 with *e. */
int place_read(int fd, size_t max, struct buf *out, size_t *size, struct error *e);
/* So much more than what is told of a text is read: a secret across the cut is known only as a whole. */
#define PLACE_BEYOND ((size_t)64 << 10)
/* What was read of a file of `size` bytes as the model is to see it: without a byte order mark, valid UTF-8 without
 * NUL, masked (raw is, too), at most `most` bytes, cut at a line or at least at a character. Adds a line feed if there
 * is none at the end. -1: no memory. */
int place_text(const struct place *p, struct buf *raw, size_t size, size_t most, struct buf *out);

#endif
