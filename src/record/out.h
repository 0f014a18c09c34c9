/*
 * Writing whole lines to one descriptor without ever waiting for its reader.
 *
 * A regular file gets one write a line. A pipe, socket or terminal takes what it has room for; the rest waits
 * in memory and goes out from inside reactor_wait. O_NONBLOCK is never set on a descriptor that was given to
 * us: its file description may be shared with the shell and with the other programs of a pipeline.
 *
 * A reader that goes away is noticed while nothing is written, too, from inside reactor_wait.
 *
 * Life cycle: out_open or out_append -> out_write... -> out_drain -> out_free. After the first failed write
 * the output is gone: what was queued is dropped, every later write fails with the same ERR_GONE.
 */
#ifndef QUERN_RECORD_OUT_H
#define QUERN_RECORD_OUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/reactor.h"

struct out;

/* An output on fd, which stays the caller's. `name` is for messages ("stdout") and must outlive it. With reactor
 * NULL the output makes one of its own when it first has to wait. NULL with *e. */
struct out *out_open(int fd, const char *name, struct reactor *reactor, struct error *e);
/* An output that appends to the file at path, made 0600 if missing. ERR_INPUT if it cannot be opened. */
struct out *out_append(const char *path, struct reactor *reactor, struct error *e);
void out_free(struct out *o);

/* Writes or queues n bytes. -1: ERR_GONE (also: what was queued before could not be written) or ERR_NOMEM. */
int out_write(struct out *o, const void *p, size_t n, struct error *e);
/* If the file is appended to and ends in the middle of a line (a run that was killed), ends that line. */
int out_mend(struct out *o, struct error *e);
/* What was written to a regular file is on its disk. -1 with ERR_GONE: it could not be, and the output is gone. */
int out_sync(struct out *o, struct error *e);
size_t out_backlog(const struct out *o);
bool out_gone(const struct out *o);
/* Waits until everything is written, at most until the monotonic deadline, which a callback of the reactor may move.
 * -1 with *e (ERR_GONE): it was not. */
int out_drain(struct out *o, const int64_t *deadline, struct error *e);
/* True if both write to the same regular file. */
bool out_same_file(const struct out *a, const struct out *b);

#endif
