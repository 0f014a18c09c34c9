/*
 * Memory files: what a project wants to be known by whoever works on it. Of each directory AGENTS.md, else CLAUDE.md:
 * the workspace's own at the start, that of a directory below it once something there is touched. Or the files that the
 * job names. Each is told once, all of them together within MEMORY_BYTES; files that they import are not followed.
 */
#ifndef QUERN_PROMPT_MEMORY_H
#define QUERN_PROMPT_MEMORY_H

#include <stdbool.h>

#include "prompt/place.h"

#define MEMORY_BYTES ((size_t)32 << 10)

struct memory;
/* files: absolute paths, NULL terminated; an empty list (or NULL) means the directories' own. place is copied. NULL:
 * out of memory. */
struct memory *memory_open(const struct place *place, const char *const *files);
void memory_free(struct memory *m);
/* Are the files that a job names there? -1 with *e. */
int memory_check(const char *const *files, struct error *e);
/* Something in that directory (absolute, real path) was read, written or searched. -1: no memory. */
int memory_touch(struct memory *m, const char *dir);
/* The next file that is to be told, as text for the model. 1 = *out is filled and name gets its path, 0 = there is no
 * more, -1 with *e (before the first was told: a file that the job names cannot be read). What was cut or left out is
 * added to notes. NULL m: 0. */
int memory_next(struct memory *m, struct buf *out, struct buf *name, struct buf *notes, struct error *e);
/* A text that was told, of a conversation that is gone on with: its file is not told again. -1: no memory. */
int memory_told(struct memory *m, const char *text, size_t n);
/* What was told does not stand in the conversation any more: the first files are to be told again, and the others when
 * they are touched again. */
void memory_forgotten(struct memory *m);

#endif
