/*
 * A request of a replay against the one that was recorded. They agree if the same bytes are asked; else both are taken
 * apart: everything must be the same but for cache marks, how the JSON is spelled, and what tools returned. With
 * `strict` the bytes must be the same, and the parts say only where they are not.
 *
 * Of a conversation that goes on with results of its own, only what is new since the last request is taken apart.
 * Life cycle: COMPARE_INIT, one for each kind of request -> compare_request... -> compare_release.
 */
#ifndef QUERN_MODEL_COMPARE_H
#define QUERN_MODEL_COMPARE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/error.h"

struct compare_seam;

struct compare {
	struct buf asked, recorded; /* the last pair, unless they were the same bytes */
	struct compare_seam *seams; /* where its messages end */
	size_t nseams, cap;
};

#define COMPARE_INIT                                                                                                   \
	{                                                                                                              \
		BUF_INIT(BUF_HUGE), BUF_INIT(BUF_HUGE), NULL, 0, 0                                                     \
	}

/* A result of a tool is another one than was recorded; `text` names it and says how. For the same call it is told in
 * each request that holds it and is taken apart. */
typedef void (*compare_result_fn)(void *ctx, const char *tool_use_id, const char *text);

/* 0: they agree. 1: they do not, `why` is one line: "messages[4].content[0].input.command: 'make -s' was recorded,
 * 'make' is asked". -1 with *e: no memory, or one of them is no JSON. */
int compare_request(struct compare *c, const struct buf *asked, const struct buf *recorded, bool strict,
                    compare_result_fn differs, void *ctx, struct buf *why, struct error *e);
void compare_release(struct compare *c);

#endif
