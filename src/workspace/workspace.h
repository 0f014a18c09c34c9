/*
 * The directory that a run works in, as a whole: unpacked from an archive, looked at before and after, what changed in
 * it saved as an archive or a patch, and worked on as a copy whose changes reach the original all at the end or not at
 * all. All of it runs in children of the keeper, a second supervisor that a run has when it needs one of these: the
 * loop process never reads an untrusted archive and is not held up by a large tree.
 *
 * Names are relative to the directory, with '/', and are never followed through a link. Only regular files, directories
 * and symbolic links are looked at and kept; others are named in a note.
 */
#ifndef QUERN_WORKSPACE_WORKSPACE_H
#define QUERN_WORKSPACE_WORKSPACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/digest.h"
#include "base/error.h"
#include "supervisor/supervisor.h"

/* Rows that are registered with the keeper before it is started. */
extern const struct child_call workspace_child_calls[];
extern const size_t workspace_child_ncalls;

/* ---- unpack.c: an archive becomes a directory (runs in a child) ---- */

struct unpack_limits {
	int64_t entries; /* default 1,000,000 */
	int64_t bytes;   /* of all files together; default 16 GiB */
	int64_t ratio;   /* bytes out of each byte in, beyond the first 64 MiB; default 1000 */
};
/* Unpacks the archive at fd into the empty directory dir_fd. Any format and compression that libarchive has within
 * itself. Refused, with the entry's name escaped: absolute names, "..", links whose target leads out, whatever would
 * be written through a link, devices and fifos, a name that comes twice (unless both are directories), names with a
 * NUL or longer than the file system takes. Setuid, setgid and sticky bits, owners and times other than mtime are not
 * taken over. -1 with *e: what was unpacked before stays, for the caller to remove. */
int workspace_unpack(int fd, int dir_fd, const struct unpack_limits *limits, struct error *e);

/* ---- scan.c: what is there ---- */

enum file_kind { FILE_REGULAR, FILE_LINK, FILE_DIRECTORY };
struct scan_entry {
	char *name;
	enum file_kind kind;
	bool executable;
	int64_t size, mtime_ns;
	uint64_t inode;
	unsigned char sha[DIGEST_BYTES]; /* of the content, of a link's target */
};
struct scan { /* sorted by name, bytewise */
	struct scan_entry *v;
	size_t n, cap;
	size_t skipped; /* others than files, directories and links */
};
/* `known`, NULL or an earlier scan: a file whose size, mtime and inode are as there is not read again (racily new ones
 * are). skip: names relative to the directory that are left out, NULL terminated. */
int workspace_scan(int dir_fd, const struct scan *known, const char *const *skip, struct scan *out, struct error *e);
void scan_release(struct scan *s);
/* As `sha256sum` writes it, and so that scan_parse reads it back whole. */
void scan_print_sums(const struct scan *s, struct buf *out);

/* ---- save.c, patch.c: what changed between two scans ---- */

/* Changed and new files as they are now, in a tar compressed by zstd, with a list of what is gone in `.quern-deleted`
 * if anything is. */
int workspace_save(int dir_fd, const struct scan *before, const struct scan *after, int out_fd, struct error *e);
/* A unified diff as git writes it (new, deleted, mode, binary as literal), which `git apply` takes in the directory as
 * it was. `before_fd` has the files as they were. */
int workspace_patch(int before_fd, int after_fd, const struct scan *before, const struct scan *after, int out_fd,
                    struct error *e);

/* ---- copy.c, commit.c: the transaction ---- */

/* Copies the tree, by reflink where the file system can. Hard links become files of their own. */
int workspace_copy(int from_fd, int to_fd, struct error *e);
/* Makes the original what the copy is, file by file, each by a rename beside it; first all that is new or changed, then
 * what is gone. Refused before anything is changed if the original is no longer what `before` says, in a file that the
 * copy changed: *e names it. */
int workspace_commit(int original_fd, int copy_fd, const struct scan *before, const struct scan *after,
                     struct error *e);

#endif
