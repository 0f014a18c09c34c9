/*
 * A run in one file: tar in the pax format, compressed by zstd, written as the run goes on. Each entry is a zstd frame
 * of its own, so that whatever ends us, all complete entries can be read, also by `tar --zstd -t`. 0600.
 *
 *   quern.json            {"version": 1, "program": "quern X.Y", "session_id", "cwd", "run_dir", "environment",
 *                         "command_note", "input": true if stdin is in input/}
 *   job.yaml              the job as resolved (as --check prints it); secrets are not in it
 *   events/000001.ndjson  the events, a piece for each point at which they are to be safe
 *   exchanges/000001.json       what was asked and how the answer came: see model/exchange.h
 *   exchanges/000001.request    the bytes of the body that were not in the one before, see there
 *   exchanges/000001.response   the bytes of the answer's body, as they came
 *   answers/000001.ndjson   what tools, hooks and files answered: see run/answers.h
 *   interrupts/000001.json  where a signal or the wall time met the run: see run/cutoff.h
 *   input/000001.json       a line of stdin (--input-format stream-json) and where it came: see there
 *   files/NAME            files of the run directory that events name
 *   before.sha256, after.sha256   the workspace's files as `sha256sum -c` reads them
 *   workspace.patch       what changed in it, if the job has workspace.patch
 *
 * The numbers ascend and are not dense. quern.json is the first entry of each run.
 *
 * An entry that comes twice: the events go on, of all else the last one counts. A run that resumes from the bundle that
 * it records to goes on behind its last complete entry.
 *
 * Life cycle: bundle_create -> bundle_add... -> bundle_close. bundle_read by itself.
 */
#ifndef QUERN_RECORD_BUNDLE_H
#define QUERN_RECORD_BUNDLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"

#define BUNDLE_VERSION 1

struct bundle;
/* append: what is there is kept, and gone on with behind the last complete entry; else the file that is there keeps its
 * name until the first entry is written. That nobody else writes to it is the caller's matter. NULL with *e. */
struct bundle *bundle_create(const char *path, bool append, struct error *e);
int bundle_fd(const struct bundle *b); /* the bundle's, to be locked */
/* Whole ones, those that were there before included: no two entries whose names have it are the same. */
size_t bundle_entries(const struct bundle *b);
/* One entry, by a name in ASCII, which is in the file when this returns. -1 with *e; the bundle is usable up to here
 * all the same, and takes no more. */
int bundle_add(struct bundle *b, const char *name, const void *p, size_t n, struct error *e);
/* The same of a file, streamed. */
int bundle_add_file(struct bundle *b, const char *name, int fd, struct error *e);
int bundle_sync(struct bundle *b, struct error *e); /* to the disk */
/* Ends the archive, closes and frees. NULL is fine. */
int bundle_close(struct bundle *b, struct error *e);

/* By its first bytes. */
bool bundle_is(const char *head, size_t n);

/* Called for each entry in order, with pieces of at most 1 MiB: first n = 0 and data NULL (the beginning), then the
 * pieces, `last` with the end. Returns non-zero to stop (bundle_read returns that). */
typedef int (*bundle_piece)(void *ctx, const char *name, const char *p, size_t n, bool last, struct error *e);
/* Reads all complete entries. 0; -1 with *e: it is no bundle. A bundle that is cut off is no error: *cut says so. What
 * is in it is not trusted: names with "..", absolute ones, links and devices are an error that names the entry, and so
 * is more than max_bytes in all. */
int bundle_read(const char *path, int64_t max_bytes, bundle_piece piece, void *ctx, bool *cut, struct error *e);

#endif
