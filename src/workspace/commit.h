/* What the steps of a commit share (private to workspace/). */
#ifndef QUERN_WORKSPACE_COMMIT_H
#define QUERN_WORKSPACE_COMMIT_H

#include <string.h>

#include "workspace/private.h"

/* A directory that is ours and that its mode keeps us from writing: it is given the right for the moment. */
struct lent {
	char *name; /* "" = the original itself */
	unsigned mode;
};
/* What stood in the place of a change when that was looked at; zero: nothing. */
struct seen {
	uint64_t inode;
	int64_t ctime_ns;
};
struct commit {
	const struct scan *before, *after;
	struct changes c;
	unsigned char *done; /* one each: the original is like that already */
	struct seen *seen;   /* likewise */
	struct beneath to, from;
	int original, copy;
	struct lent *lent;
	size_t nlent, lent_cap;
	struct links links; /* of files that are staged, by their names there */
};

/* Nothing is changed. -1 with *e: the original has changed in the same place, or may not be written. */
int commit_check(struct commit *k, struct error *e);
/* The same when all is staged, which may have taken long: is still there what was there? Directories may have been lent
 * since, and are not looked at. */
int commit_check_again(struct commit *k, struct error *e);
/* What stands at name now: 1 with *is, 0: nothing, -1 with errno. */
int commit_look(struct commit *k, const char *name, struct scan_entry *is);

/*
 * ---- stage.c: all new content, in a directory of its own in the original, before anything is changed ----
 *
 * It is the journal too. Symbolic links in it say what is to be put back if we are killed: `mode-N`, a mode and the
 * name of a directory that was lent; `across`, the name of a file that is made behind a mount point.
 */
struct stage {
	int fd;
	char name[80];
	size_t nlent; /* so many of the commit's are lent by now */
};
/* -1 with *e: nothing was changed, and nothing is left. */
int stage_open(struct stage *s, struct commit *k, struct error *e);
/* Puts the staged content of the i-th change in place. -1 with errno. */
int stage_put(struct stage *s, size_t i, int dir, const char *base, const char *name);
/* Puts the modes back, before others are set. */
void stage_return(struct stage *s, struct commit *k);
void stage_close(struct stage *s, struct commit *k);

static inline bool is_directory(const struct scan_entry *f)
{
	return f && f->kind == FILE_DIRECTORY;
}

/* The content is there already: the mode alone is another one. */
static inline bool is_mode_alone(const struct change *c)
{
	return c->before && c->after && c->before->kind == FILE_REGULAR && c->after->kind == FILE_REGULAR &&
	       !memcmp(c->before->sha, c->after->sha, DIGEST_BYTES);
}

#endif
