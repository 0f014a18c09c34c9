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
	int64_t entries; /* with the directories that no entry told of */
	int64_t bytes;   /* of all files together */
	int64_t ratio;   /* bytes out of each byte in, once 64 MiB are out */
};
/* Unpacks the archive at fd, a regular file, into the empty directory dir_fd: tar, zip or 7z, in any compression that
 * libarchive has within itself. Refused, with the entry's name escaped: absolute names, "..", links whose target may
 * lead out, whatever would be written through a link, hard links to anything but files of the archive's before them,
 * devices and fifos, a name that comes twice (unless both are directories), names longer than the file system takes; a
 * tar without its end mark, and an archive without an entry. Setuid, setgid and sticky bits, owners, and times but the
 * mtime of files are not taken over; the umask counts. -1 with *e: what was unpacked before stays, for the caller to
 * remove. */
int workspace_unpack(int fd, int dir_fd, const struct unpack_limits *limits, struct error *e);
/* The input of the call "unpack", which fills its directory: this, and the archive's path behind it. */
struct unpack_call {
	struct unpack_limits limits;
};

/* ---- scan.c, sums.c: what is there ---- */

enum file_kind { FILE_REGULAR, FILE_LINK, FILE_DIRECTORY };
struct scan_entry {
	char *name;
	enum file_kind kind;
	unsigned mode; /* permission bits; 0777 of a link */
	int64_t size, mtime_ns, ctime_ns;
	uint64_t inode;
	/* Of the content, or a link's target; zero of a directory. Of a file of more than 1 GiB it is a hash of our
	 * own, for which its holes are not read. */
	unsigned char sha[DIGEST_BYTES];
};
struct scan { /* sorted by name, bytewise */
	struct scan_entry *v;
	size_t n, cap;
	size_t skipped;   /* others than files, directories and links, and what cannot be read or has too long a name */
	int64_t taken_ns; /* when it began, wall clock */
	bool whole;       /* set by who knows: all of it could be read, and nothing may be left out of a later one */
	bool listed;      /* files are told by mode, size, times and inode: see workspace_list */
};
#define SCAN_INIT                                                                                                      \
	{                                                                                                              \
		NULL, 0, 0, 0, 0, false, false                                                                         \
	}
/* `known`, NULL or an earlier scan: a file whose size, times and inode are as there is not read again (those that were
 * changed just before that scan are), and what could be read then and cannot now is an error; if it was whole, so is
 * all that cannot be read or has too long a name. skip: names relative to the directory that are left out with what is
 * in them, NULL terminated; NULL = none. */
int workspace_scan(int dir_fd, const struct scan *known, const char *const *skip, struct scan *out, struct error *e);
/* A scan that reads no file but those changed just before it, whose hashes it needs; the others' are zero. A later scan
 * that knows this one is like that too: a file whose size, times or inode are others counts as changed, be its content
 * the same. For workspace_save alone. */
int workspace_list(int dir_fd, const char *const *skip, struct scan *out, struct error *e);
void scan_release(struct scan *s);
const struct scan_entry *scan_find(const struct scan *s, const char *name);
/* Lines that `sha256sum -c` takes, one a file, each behind a comment with all else that is known of it; links and
 * directories are comments alone, and so are the files of a list and those of more than 1 GiB. scan_parse reads it back
 * whole; -1: that is no such text. */
void scan_print_sums(const struct scan *s, struct buf *out);
int scan_parse(const char *text, size_t n, struct scan *out, struct error *e);

/* What differs between two scans, sorted by name. Entries point into them. */
struct change {
	const struct scan_entry *before, *after; /* NULL: it was not there, it is gone */
};
struct changes {
	struct change *v;
	size_t n;
	size_t added, changed, deleted; /* of files and links */
};
int scan_compare(const struct scan *before, const struct scan *after, struct changes *out, struct error *e);
void changes_release(struct changes *c);
bool scan_entry_same(const struct scan_entry *a, const struct scan_entry *b); /* kind, content and mode */

/* ---- save.c, patch.c: what changed between two scans ---- */

/* Changed and new files as they are now, in a tar compressed by zstd. In front of them, if anything is gone or became
 * something else, a file `.quern-deleted` with the names of that, each with a NUL behind it, what is in a directory
 * before that directory: remove these (`xargs -0 rm -df`), then unpack the rest. */
int workspace_save(int dir_fd, const struct scan *before, const struct scan *after, int out_fd, struct error *e);
/* Puts what workspace_save kept back over the files as they were. -1: a part of it may be there. */
int workspace_restore(int dir_fd, int in_fd, struct error *e);
/* A unified diff as git writes it (new, deleted, mode, binary as literal), which `git apply` takes in the directory as
 * it was. before_fd has the files as they were. Left out: directories without files, what lies in a `.git`, and files
 * of more than 256 MiB; the number of these files is added to *left_out. */
int workspace_patch(int before_fd, int after_fd, const struct scan *before, const struct scan *after, int out_fd,
                    size_t *left_out, struct error *e);

/* ---- copy.c, commit.c: the transaction ---- */

/* Copies the tree, by reflink where the file system can, into a directory that is empty. Hard links within it stay, and
 * holes stay holes; owners are kept where we may, access control lists and user attributes where the file system has
 * them, modes and times always; sockets, fifos, devices, and what a commit was cut short of, are left out. */
int workspace_copy(int from_fd, int to_fd, struct error *e);
/* In the directory that a run makes beside the workspace, and has locked (flock) while it lives: a link to the
 * original; one to the name of the copy, if that is worked in; and the scan of the files as they were, from when on
 * there may be work in the copy. Without these sums there is none, and whoever finds it may take it away (sweep.c).
 * Before a commit begins, the scan of the copy stands beside them: from then on the original is not what it was. */
#define COPY_ORIGINAL  "original"
#define COPY_WORKED_IN "copy"
#define COPY_SUMS      "before.sums"
#define COPY_COMMITTED "committed.sums"
/* Removes such a directory (an absolute path) with all that is in it, in an order in which what is left of it can be
 * taken away by whoever finds it. Does not start a process. -1 with errno: a part of it is still there. */
int workspace_drop_copy(const char *path);
/* Makes the original what the copy is. Refused before anything is changed if the original is no longer what `before`
 * says in a place that the copy changed, or if there is no room: all new content is written into a directory of its own
 * in the original first. Then each file is put in place by a rename, and last of all what is gone is removed. If that
 * breaks in the middle *e says how far it came. What the original is already is left alone, so that a commit that was
 * cut short can be made again. A directory of ours that may not be written may be for that moment. Changed files keep
 * owner and attributes of those they take the place of; several names of one are that again. */
int workspace_commit(int original_fd, int copy_fd, const struct scan *before, const struct scan *after,
                     struct error *e);
/* Is the original what the copy is, wherever that was changed? 1 or 0; -1 with *e: that cannot be said. */
int workspace_committed(int original_fd, const struct scan *before, const struct scan *after, struct error *e);

#endif
