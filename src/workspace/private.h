/* What the files of workspace/ share (private to it). */
#ifndef QUERN_WORKSPACE_PRIVATE_H
#define QUERN_WORKSPACE_PRIVATE_H

#include <sys/stat.h>

#include "workspace/beneath.h"
#include "workspace/walk.h"
#include "workspace/workspace.h"

/* ---- scan.c ---- */
#define PLAIN_SUM_MOST ((int64_t)1 << 30) /* bytes of a file whose hash is what everybody makes of its content */
struct scan_entry *scan_add(struct scan *s, const char *name, size_t n);           /* NULL: no memory */
int scan_hash_file(int dir_fd, const char *base, unsigned char sha[DIGEST_BYTES]); /* -1 with errno */
bool scan_has_sum(const struct scan_entry *f);                                     /* not in a list, mostly */
/* What st says of base, and its hash. -1 with errno. */
int scan_look(int dir_fd, const char *base, const struct stat *st, struct scan_entry *entry);

/* ---- holes.c ---- */
struct extent {
	int64_t from, to;
};
struct extents {
	struct extent *v;
	size_t n, cap;
};
/* The next bytes of the file from x->to on, and before size, that are in no hole. False: there are none. */
bool next_data(int fd, int64_t size, struct extent *x);
/* All of them, as far as it is worth it: small holes, and those behind very many others, count as data. out->v is the
 * caller's to free. -1: no memory. */
int list_data(int fd, int64_t size, struct extents *out);

/* ---- save.c, restore.c ---- */
#define DELETED_NAME ".quern-deleted"

/* ---- copy_file.c ---- */
struct like {
	struct stat st; /* whose owner it gets */
	int fd;         /* whose attributes; -1 = those that it has itself */
};
/* Makes base in to_dir, which must not be there, as it is in from_dir: a file or a link with owner, attributes, mode
 * and times; owner and attributes may be those of another one (NULL: the same). -1 with errno, and nothing is left. */
int copy_entry(int from_dir, const char *from_base, int to_dir, const char *to_base, const struct like *like);
/* Access control lists and what users set: those of `to` become those of `from`. What its file system does not know is
 * left out. Before its mode is set. -1 with errno. */
int copy_attributes(int from, int to);

/* ---- links.c: which files are the same one ---- */
struct links {
	struct link_seen *v; /* a table by device and inode */
	size_t n, cap;
};
/* The name of the file that was seen first with this inode; "": it is seen now, as `name`. NULL: no memory. */
const char *links_see(struct links *l, const struct stat *st, const char *name);
void links_release(struct links *l);

/* ---- sweep.c ---- */
#define SWEEP_MOST 32 /* copies at a time */
struct swept {
	int parent, fd; /* locked */
	char *name;     /* in the parent */
};
struct sweep {
	struct swept v[SWEEP_MOST];
	size_t n;
};
/* Adds those of the workspace that lie in dir, of nobody who is alive. */
void sweep_find(struct sweep *s, const char *workspace, const char *dir, const char *prefix);
/* Removes what may go of them, and ends what commits have left in the original; `told` gets a line about each. skip: as
 * in workspace_scan. */
void sweep_do(struct sweep *s, int original, const char *const *skip, struct buf *told);
void sweep_release(struct sweep *s);

/* ---- stage.c ---- */
#define STAGE_NAME ".quern-commit-" /* how the name of a stage begins, in the original */
/* Ends what commits that were cut short have left in the directory, which is locked: modes go back, files that were
 * half made and stages go. How many there were; what cannot be removed is not told. copy: where nothing can be locked,
 * what the commit of that copy left alone; else -1. */
size_t stage_recover(int original, int copy);

#endif
