/*
 * All names by which a path leads to its file: as spelled, after each symbolic link, and the last without any. Only for
 * judging; what is opened afterwards is opened beneath the roots and compared (guard/path.h).
 */
#ifndef QUERN_GUARD_PATH_NAMES_H
#define QUERN_GUARD_PATH_NAMES_H

#include <stdbool.h>
#include <stddef.h>

#define PATH_NAMES_MAX 42
#define PATH_TEXT_MAX  4096

struct path_names {
	char *name[PATH_NAMES_MAX]; /* owned; absolute, without ".", ".." and double slashes; "/" is the root */
	size_t n;
	bool is_dir;       /* the last one is a directory that is there */
	const char *fault; /* "too many symbolic links", "too long", "no memory"; then n says nothing */
};

/* Of a path that starts at base (absolute) if it is relative. What does not exist is taken as written. */
void path_names_resolve(struct path_names *names, const char *base, const char *path);
void path_names_release(struct path_names *names);

#define PATH_ENTRIES_MAX 20000
/* The names that a shell's wildcards (* ? [) fit now, of those that are links or lie behind one. base: absolute, where
 * a relative pattern starts. dotted: wildcards fit a leading dot too. *entries counts the entries of directories that
 * were read. -1: more than PATH_ENTRIES_MAX, not all were read. */
int path_links(const char *base, const char *pattern, bool dotted, size_t *entries,
               void (*each)(void *arg, const char *path), void *arg);

/* Is path the directory or beneath it? "/" holds all. */
bool path_is_in(const char *path, const char *dir);
/* path without ".", ".." and double slashes, by its text alone. path is absolute; -1: too long. */
int path_clean(const char *path, char out[PATH_TEXT_MAX]);

#endif
