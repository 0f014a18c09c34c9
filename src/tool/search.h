/* What Glob and Grep share: ripgrep's arguments and how its paths are shown. */
#ifndef QUERN_TOOL_SEARCH_H
#define QUERN_TOOL_SEARCH_H

#include "tool/internal.h"

#define SEARCH_TIMEOUT_MS 20000

/* Starts the argument vector: rg without any configuration file, quiet about unreadable files, in c->base. */
int search_begin(struct call *c);
/* Appends what keeps version control data and our own output files out, the directory, and nothing after it. */
int search_end(struct call *c);
/* Appends a path below c->base as the model sees it: absolute, or relative to the workspace if it lies there. */
void search_path(const struct call *c, struct buf *out, const char *rel, size_t n, bool relative);
/* --glob=PREFIX/NAME with glob characters of name taken literally. prefix: "" or "!". */
int search_literal_glob(struct call *c, const char *prefix, const char *name);
/* Is it a file that a rule forbids to read? Its name and what is in it are left out. */
bool search_hides(const struct call *c, const char *rel, size_t n);
/* A path that rg printed, and when its file changed. */
struct found {
	const char *rel; /* not NUL terminated */
	size_t n;
	int64_t mtime_ns;
};
/* The NUL-terminated paths of rg's output, newest first (rg's own sorting by time orders directories, not files).
 * *v is the caller's to free. -1: no memory. */
int search_newest_first(const struct call *c, const struct output *o, struct found **v, size_t *n);
/* True, with *out filled, if rg gave an error and no output at all (a bad pattern). */
bool search_failed(struct call *c, const struct child_result *res, struct tool_result *out);

#endif
