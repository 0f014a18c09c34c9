/* Which lines of two texts differ (private to workspace/). */
#ifndef QUERN_WORKSPACE_DIFF_H
#define QUERN_WORKSPACE_DIFF_H

#include <stddef.h>
#include <stdint.h>

#define DIFF_TEXT_MOST ((size_t)16 << 20) /* of one side */

struct lines {
	const char *text; /* borrowed */
	uint32_t n;
	uint32_t *at;           /* where each begins, and where the last ends: n + 1; its newline belongs to it */
	unsigned char *changed; /* n: it is not in the other text */
};

/* Cuts a text of at most DIFF_TEXT_MOST bytes into lines. -1: no memory. */
int lines_init(struct lines *l, const char *text, size_t n);
void lines_release(struct lines *l);
/* Marks what is changed: few lines for what Myers' method finds in a bounded time, more beyond that. What is not marked
 * is the same in both, in the same order. -1: no memory. */
int diff_lines(struct lines *a, struct lines *b);

#endif
