/*
 * The run directory (spilled outputs, cut events): --run-dir, else $QUERN_STATE_DIR, else
 * $XDG_STATE_HOME/quern/SESSION, else $HOME/.local/state/quern/SESSION, else $TMPDIR (said once).
 * 0700, made when first asked for, removed at the end unless an event names a file in it. A candidate
 * inside a writable root is passed over; given explicitly it is an error. And the tools' private TMPDIR.
 */
#ifndef QUERN_RECORD_RUN_DIR_H
#define QUERN_RECORD_RUN_DIR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct run_dir_config {
	const char *explicit_dir; /* --run-dir or NULL */
	const char *session_id;
	const char *const *writable_roots; /* absolute real paths, NULL terminated */
	int64_t max_bytes;
	const char *record; /* path of the record that is gone on with, if anything is in it; NULL = none */
	bool resumes; /* the session goes on: its temporary directory that is there was left by a run that was killed */
	bool left_alone; /* and nobody names a file in its run directory, which is then as one that was made now */
};
struct run_dir;
/* Checks an explicit directory; makes nothing yet. */
struct run_dir *run_dir_open(const struct run_dir_config *cfg, struct error *e);
/* Makes it now, without a word: it must be there before the limits of sandbox_confine_self are. What went wrong is told
 * when it is asked for; what is made and not used is removed by free, with the directories that were made above it. */
void run_dir_prepare(struct run_dir *d);
/* Where free, and whoever stores something, must be able to write, and where to remove empty directories. Strings are
 * d's. -1: no memory. */
int run_dir_needs(struct run_dir *d, const char *write[3], const char *parents[3]);
/* The path, made when first asked for; NULL with *e. */
const char *run_dir_path(struct run_dir *d, struct error *e);
const char *run_dir_made(const struct run_dir *d); /* the path if it is there, else NULL */
/* Creates NAME (a plain file name, made unique) inside; returns the fd and the path (valid until free), or -1. */
int run_dir_file(struct run_dir *d, const char *name, const char **path, struct error *e);
/* Bytes that files made by run_dir_file may still take together (INT64_MAX without a limit): the bound for a writer
 * that does not know yet how much will come. */
int64_t run_dir_left(struct run_dir *d);
/* Stores n bytes whole in a new file NAME (made unique); the path is valid until free. NULL with *e: ERR_LIMIT if
 * they would not fit into max_bytes. */
const char *run_dir_store(struct run_dir *d, const char *name, const void *p, size_t n, struct error *e);
/* A private 0700 directory for the tools' TMPDIR, under $TMPDIR or /tmp; NULL with *e. Removed by free. */
const char *run_dir_tmp(struct run_dir *d, struct error *e);
/* What killed runs have left of theirs, where no other will be made. */
void run_dir_remove_tmp(const char *session_id, const char *record);
/* Removes what is to be removed (everything unless keep) and frees. */
void run_dir_free(struct run_dir *d, bool keep);

#endif
