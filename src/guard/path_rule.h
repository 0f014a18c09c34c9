/*
 * Path patterns as in gitignore: `*`, `?` and `[..]` stay inside one segment, `**` goes across, a pattern that fits a
 * directory fits all beneath it. `//x` starts at the file system's root, `~/x` at the home directory, the others at the
 * workspace; a bare name fits at any depth under it.
 */
#ifndef QUERN_GUARD_PATH_RULE_H
#define QUERN_GUARD_PATH_RULE_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/error.h"
#include "guard/glob.h"

/* Working directories: real paths, NULL terminated, the workspace first; spelled: the user's names of the same ones, in
 * the same order, or NULL. home NULL: not known. */
struct path_anchor {
	const char *const *dirs;
	const char *const *spelled;
	const char *home;
};

struct path_segment {
	struct glob glob;
	bool deep; /* "**": any number of segments */
};

struct path_pattern {
	struct path_segment *v; /* from the file system's root on */
	size_t n;
};

struct path_rule {
	struct path_pattern way[2]; /* as written, and with links outside of the working directories resolved */
	size_t nways;
	bool inside; /* ends in "/" or "/" and "**": what it fits must lie beneath, or be the directory itself */
};

/* NULL, or what is wrong with a pattern whatever it is anchored at. */
const char *path_rule_fault(const char *pattern);

/* wide: for deny and ask, where `dir` followed by a slash and `**` is meant at any depth. Looks at the file system for
 * links in the part outside of the working directories. Everything lives in the arena. */
int path_rule_compile(struct path_rule *r, const char *pattern, bool wide, const struct path_anchor *at,
                      struct arena *arena, struct error *e);

struct path_hit {
	bool covered; /* the path fits, or may fit where parts of it are not known */
	bool below;   /* something beneath it may fit */
};
/* path: absolute, as symbols; wildcards in it stay inside a segment, a segment of two GLOB_ANY is any number of them.
 * self: the directory itself counts for a pattern that means what lies in it. dotted: wildcards of the path fit a
 * leading dot too. */
struct path_hit path_rule_try(const struct path_rule *r, struct glob path, bool self, bool dotted);
/* The same for a path that is known. */
struct path_hit path_rule_try_text(const struct path_rule *r, const char *path, bool self);

/* The pattern as a glob of ripgrep, from the workspace on; or, for one that fits at any depth, from any directory in it
 * on (*anywhere). False: it has no such form. Beneath what it fits all is left out too. */
bool path_rule_glob(const char *pattern, bool wide, struct buf *out, bool *anywhere);

void path_rule_describe(const char *pattern, bool wide, const char *workspace, const char *home, struct buf *out);

#endif
