/*
 * Inside this room: where the run directory lies. The first place that can be used is taken and made; none that
 * tools can write to.
 *
 * Life cycle: run_place_init -> run_place_make -> run_place_release.
 */
#ifndef QUERN_RECORD_RUN_PLACE_H
#define QUERN_RECORD_RUN_PLACE_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/error.h"
#include "record/run_dir.h"

struct run_place {
	char *explicit_dir; /* absolute, or NULL */
	char *session_id;
	char **roots;     /* where tools can write, NULL terminated */
	char *path;       /* NULL until made */
	int fd;           /* of path, -1 until made */
	bool made;        /* we created the directory, so all in it is ours */
	size_t above;     /* length of the part of path that was there before */
	struct buf notes; /* what is to be said of the choice, once it matters: a line each */
};

/* Checks an explicit directory, makes nothing yet. -1 with *e; the place is to be released all the same. */
int run_place_init(struct run_place *p, const struct run_dir_config *cfg, struct error *e);
/* Finds and makes the directory: path, fd and made. */
int run_place_make(struct run_place *p, struct error *e);
/* Says what is to be said of the choice, once. */
void run_place_tell(struct run_place *p);
/* Removes the directories above path that were made for it, as far as they are empty. */
void run_place_remove_above(const struct run_place *p);
void run_place_release(struct run_place *p);

#endif
