/*
 * Paths beneath the workspace and its added directories. All opening goes through openat2 with
 * RESOLVE_BENEATH from a root's descriptor (absolute links that point inside a root are followed by
 * resolving them against the roots; never a check on one path and a use of another). Where the kernel lacks
 * openat2 a component-wise O_NOFOLLOW walk does the same.
 */
#ifndef QUERN_GUARD_PATH_H
#define QUERN_GUARD_PATH_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

struct roots;
/* Opens the directories (absolute or relative to the cwd); the first is where relative paths start. */
struct roots *roots_open(const char *const *dirs, struct error *e);
/* Adds a read-only root later (the run directory). */
int roots_add(struct roots *r, const char *dir, bool writable, struct error *e);
/* The absolute name by which the user knows the root-th directory, if that is not dir: paths spelled through it lie in
 * that root. Its text alone counts: a link that is turned elsewhere later leads nowhere new. */
int roots_spell(struct roots *r, size_t root, const char *name, struct error *e);
/* The first root's descriptor (it may be O_PATH); stays the roots'. */
int roots_first(const struct roots *r);
void roots_free(struct roots *r);
/* From now on nothing is opened for writing whose path names a protected place (.git, .envrc and the like:
 * files that other programs execute or obey); such a path is PATH_DENIED. */
void roots_protect(struct roots *r);
/* For tests and old kernels: never use openat2. */
void roots_force_walk(struct roots *r);

enum path_verdict {
	PATH_OK,
	PATH_MISSING,
	PATH_OUTSIDE,
	PATH_LOOP,
	PATH_DENIED,
	PATH_BAD /* NUL, empty, too long */,
	PATH_ERROR
};

/* Opens path (absolute or relative to the first root) with open(2) flags and mode. Returns the fd, or -1 with
 * *why and *e. Never follows anything out of the roots; never opens what is not a regular file or directory
 * (unless O_PATH), and never blocks on a FIFO or device. */
int path_open(struct roots *r, const char *path, int flags, unsigned mode, enum path_verdict *why, struct error *e);
/* Opens the directory that holds (or will hold) path for writing: *name is the final component, links at the final
 * component already followed (so that a link stays a link and its target is written). make_dirs creates missing ones.
 */
int path_open_parent(struct roots *r, const char *path, bool make_dirs, char name[256], enum path_verdict *why,
                     struct error *e);

/* The absolute path of an open descriptor by /proc/self/fd; -1 if it has none (or /proc is not there). */
int path_of_fd(int fd, char out[4096]);

#endif
