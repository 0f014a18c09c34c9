/*
 * A collector of a child's output: the first keep_head and the last keep_tail bytes stay in memory, and
 * once more has come than those hold, everything from byte 0 on goes to a spill file up to max_spill.
 *
 * Life cycle: collector_init -> collector_add... -> collector_take (moves what was kept into an output)
 * or nothing -> collector_release.
 */
#ifndef QUERN_SUPERVISOR_OUTPUT_H
#define QUERN_SUPERVISOR_OUTPUT_H

#include "supervisor/supervisor.h"

struct collector {
	struct buf head;
	size_t keep_head, keep_tail;
	char *ring; /* keep_tail bytes, made with the first byte behind the head */
	size_t ring_at, ring_len;
	uint64_t total;
	int (*spill_open)(void *ctx); /* NULL = never spill */
	void *spill_ctx;
	int spill_fd; /* -1 = not open */
	uint64_t spill_left;
	bool spilled; /* everything that came (up to max_spill) is in the file */
};

void collector_init(struct collector *c, size_t keep_head, size_t keep_tail);
void collector_spill_to(struct collector *c, int (*spill_open)(void *ctx), void *ctx, size_t max_spill);
void collector_release(struct collector *c);
/* Never fails the caller: memory that is not there shows as head.failed, a file that takes no more as !spilled. */
void collector_add(struct collector *c, const char *p, size_t n);
/* Ends the spill file and moves all that was kept to *out. */
void collector_take(struct collector *c, struct output *out);

#endif
