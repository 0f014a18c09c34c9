/*
 * What the parts of unpacking share (private to workspace/): nothing that an archive says is believed. Its names are
 * taken apart by us, each is made by a call that makes something new or fails (so that a name cannot come twice, and
 * nothing is written through a link), in a directory that was reached without following a link.
 *
 * Functions that return an int: 0, or -1 with *u->e, unless they say otherwise.
 */
#ifndef QUERN_WORKSPACE_UNPACK_H
#define QUERN_WORKSPACE_UNPACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/libarchive_read.h"
#include "workspace/workspace.h"

#define RATIO_FREE ((int64_t)64 << 20) /* bytes that may come out of however few */

struct unpacking {
	const struct libarchive_api *la;
	struct archive *a;
	struct archive_entry *entry;
	int fd;
	int64_t archive_size;
	int64_t file_most; /* bytes that a file may have: what the process is let write */
	const struct unpack_limits *limits;
	int64_t entries, bytes;
	int64_t ratio_at;  /* bytes at which the ratio is looked at next */
	const char *name;  /* of the entry, as the archive has it */
	struct buf path;   /* the same as it is made: no "." and no doubled or last slash */
	struct buf target; /* likewise of a hard link's */
	int root;
	int at;         /* the directory of path; root, or ours */
	struct buf dir; /* its name: what is made one behind the other lies in one directory, mostly */
	bool walk;      /* the kernel does not know openat2, or is not let do it */
	struct error *e;
};

/* ---- unpack_limits.c: saying no, and when ---- */

/* 'NAME': WHAT. The name is that of the entry; -1. */
int unpack_refuse(struct unpacking *u, const char *what);
int unpack_refuse_sys(struct unpacking *u);     /* what errno says */
int unpack_refuse_archive(struct unpacking *u); /* what the library has to say */
int unpack_refuse_large(struct unpacking *u);
int unpack_count_entry(struct unpacking *u);
int unpack_count_bytes(struct unpacking *u, int64_t n); /* before n more are written */
/* What the header says is believed in one thing: that it will be too much. Nothing is written then. */
int unpack_check_size(struct unpacking *u);

/* ---- unpack_dirs.c: names, and the directories on their way ---- */

/* The name without what means nothing, in out. */
int unpack_clean(struct unpacking *u, const char *name, struct buf *out);
size_t unpack_base(const struct buf *path); /* where the last part begins */
/* The directory of the first len bytes of a clean path, from the root. The caller's to close unless it is the root. -1
 * with errno. */
int unpack_open_dir(struct unpacking *u, struct buf *path, size_t len);
/* Makes u->at the directory that holds the entry. */
int unpack_enter_dir(struct unpacking *u);
void unpack_leave_dir(struct unpacking *u);

/* ---- unpack_make.c: what is made in u->at ---- */

int unpack_file(struct unpacking *u, const char *name);
int unpack_directory(struct unpacking *u, const char *name);
int unpack_symlink(struct unpacking *u, const char *name);
/* Another name of a file that was unpacked before. */
int unpack_link(struct unpacking *u, const char *target, const char *name);

#endif
