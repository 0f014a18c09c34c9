/* What the steps of a commit share (private to workspace/). */
#ifndef QUERN_WORKSPACE_COMMIT_H
#define QUERN_WORKSPACE_COMMIT_H

#include <string.h>

#include "workspace/private.h"

struct commit {
	const struct scan *before, *after;
	struct changes c;
	unsigned char *done; /* one each: the original is like that already */
	struct beneath to, from;
	int original;
};

/* Nothing is changed. -1 with *e: the original has changed in the same place, or may not be written. */
int commit_check(struct commit *k, struct error *e);
/* What stands at name now: 1 with *is, 0: nothing, -1 with errno. */
int commit_look(struct commit *k, const char *name, struct scan_entry *is);

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
