/* What the files of workspace/ share (private to it). */
#ifndef QUERN_WORKSPACE_PRIVATE_H
#define QUERN_WORKSPACE_PRIVATE_H

#include <sys/stat.h>

#include "workspace/beneath.h"
#include "workspace/walk.h"
#include "workspace/workspace.h"

/* ---- scan.c ---- */
struct scan_entry *scan_add(struct scan *s, const char *name, size_t n);           /* NULL: no memory */
int scan_hash_file(int dir_fd, const char *base, unsigned char sha[DIGEST_BYTES]); /* -1 with errno */
bool scan_has_sum(const struct scan_entry *f);                                     /* not in a list, mostly */
/* What st says of base, and its hash. -1 with errno. */
int scan_look(int dir_fd, const char *base, const struct stat *st, struct scan_entry *entry);

/* ---- save.c, restore.c ---- */
#define DELETED_NAME ".quern-deleted"

/* ---- copy_file.c ---- */
/* Makes base in to_dir, which must not be there, as it is in from_dir: a file or a link with owner, mode and times. A
 * file whose owner is to be another one has that in `owner`, NULL = the same. -1 with errno, and nothing is left. */
int copy_entry(int from_dir, const char *from_base, int to_dir, const char *to_base, const struct stat *owner);

#endif
