/* What an archive holds, by its headers alone: nothing is unpacked. A confined child of the supervisor reads it. */
#ifndef QUERN_PROMPT_ARCHIVE_H
#define QUERN_PROMPT_ARCHIVE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/reactor.h"
#include "supervisor/supervisor.h"

/* Registered with the supervisor before it is started. */
extern const struct child_call archive_child_call;

/* Does a file that begins so look like an archive, or like something compressed that may be one? 512 bytes tell. */
bool archive_is(const char *head, size_t n);

/* How long it may take: until the deadline (monotonic ms), or until *stop is no longer zero. */
struct archive_wait {
	struct reactor *reactor;
	struct supervisor *supervisor;
	const int *stop;
	int64_t deadline;
};

/* A line an entry (size, escaped name, what a link leads to), bounded; then how many there are, or why the list ends.
 * 0, or -1 with *e: the run ends, or the supervisor is lost. What is wrong with the file is told in its place. */
int archive_list(const struct archive_wait *wait, const char *path, struct buf *out, struct error *e);

#endif
