/*
 * What transaction.c and kept.c know of what the run does to its workspace as a whole: how it begins and ends, and what
 * a run leaves behind for the one that goes on from its record.
 */
#ifndef QUERN_RUN_CHANGING_H
#define QUERN_RUN_CHANGING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "record/event.h"
#include "workspace/workspace.h"

struct world;

#define CHANGING_SUMS_MAX ((size_t)1 << 30)

struct changing {
	const char *dir;  /* where the model works */
	const char *was;  /* the files as they were before, for a patch or to commit to; NULL */
	const char *ours; /* a directory of ours, with the copy in it if one is needed; NULL = none */
	int lock;         /* on that, as long as we live; -1 = none */
	bool busy;        /* what the run would go on in is another one's, that is alive */
	const char *save, *patch;
	const char *const *skip;  /* our own output files, relative */
	struct buf before, after; /* scans as text */
	struct buf committed;     /* what a run that was killed had begun to commit, as such a scan; empty: nothing */
	bool finished;            /* that is committed now */
	bool done;                /* the result is out: what is in the directory of ours is of no use */
	bool transaction, settled;
	bool alone; /* workspace.save and nothing else: no hashes, and the second scan stays in the keeper's child */
	bool anew;  /* the run goes on from a record, and what was there when the session began is not known */
	struct event_workspace told;
};
struct changing_limits {
	int64_t deadline;
	int signals;
};

/* A string of a call's input, with its NUL; the texts of scans too. */
void changing_add(struct buf *in, const char *s);
int changing_call(struct world *w, const char *name, const char *dir, const struct buf *in,
                  const struct changing_limits *l, struct buf *out, struct error *e);
/* What is in dir as `after` tells, but for what is there as `before` tells, goes into an archive. */
int changing_save(struct world *w, const char *dir, const struct buf *before, const struct buf *after, const char *path,
                  const struct changing_limits *l, struct error *e);

/* ---- ours.c ---- */
/* A directory that only we can enter: beside the workspace, else for temporary files. It is locked from now on. NULL
 * with *e. */
const char *changing_ours(struct world *w, struct error *e);
/* Locks one that was found. False, and c->busy: somebody else has it. */
bool changing_lock(struct changing *c);
void changing_unlock(struct changing *c);
/* Removes what killed runs on this workspace have left there, unless it is of use to somebody. */
void changing_sweep(struct world *w, const struct changing_limits *l);

/* ---- transaction.c ---- */
/* The model works in the copy, or the copy is what the files are compared with. */
void changing_use_copy(struct world *w, const char *copy);

/* ---- kept.c ---- */

#define KEPT_SUMS COPY_SUMS /* in the directory of ours: while it is there, what is beside it is whole */
/* What a commit is made from, and what is kept for one: the files as the original has them. */
const struct buf *changing_base(const struct changing *c);

/* So that a run that goes on from the record of this one finds what is in the directory of ours, if this one is killed.
 * That it cannot is no reason not to begin. */
void kept_mark(const struct world *w);
/* The commit begins: whoever goes on from a run that is killed from now on knows that the original is another one. */
void kept_commits(const struct world *w);
void kept_commits_nothing(const struct world *w); /* it was refused */
/* What a killed run has left: used from now on, with what was there before it. */
bool kept_find(struct world *w);
/* Does the old result tell what became of the changes? */
bool kept_told(const struct world *w);
/* What a run that came to its end without completing has kept. 1: it is there, 0: there is nothing to put back. */
int kept_restore(struct world *w, const struct changing_limits *l, struct error *e);
/* A transaction is not committed: the changes, in the run directory. */
int kept_changes(struct world *w, const struct changing_limits *l, struct error *e);
/* The run has not completed: what whoever goes on from it needs to tell what both have changed. */
int kept_before(struct world *w, const struct changing_limits *l, struct error *e);

#endif
