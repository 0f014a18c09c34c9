/* A conversation and the layers over it, for the unit tests of context/: built call by call, or drawn from a seed. */
#ifndef QUERN_TESTS_UNIT_CONTEXT_WORLD_H
#define QUERN_TESTS_UNIT_CONTEXT_WORLD_H

#include "context/context.h"

struct world {
	struct context *c;
	size_t keep;
	struct history h;
	struct context_model model;
	struct context_report report;
	struct buf forgotten; /* " id id ...", in the order in which forget() was told */
	struct buf flags;     /* one byte a call: 1 = forgotten */
	char *text;           /* what world_text gave last */
	int ids;              /* of calls so far: "c1", "c2", ... */
};

/* A window of `usable` tokens with all layers on, at 4 bytes a token, and results of "Keep" never cleared. */
void world_open(struct world *w, int64_t usable, size_t keep);
void world_release(struct world *w);
/* Another context in the place of the one that there is, from what that writes down and the conversation. */
void world_resume(struct world *w);

/* The pieces of an answer, and of what follows; the last message is begun when the role changes. */
void world_says(struct world *w, const char *text);    /* the user */
void world_answers(struct world *w, const char *text); /* the model */
void world_thinks(struct world *w);
void world_calls(struct world *w, const char *tool, const char *input);
/* The results of all calls of the last answer, `size` bytes each. */
void world_results(struct world *w, size_t size, bool is_error);
/* One answer with a call of the tool, and its result of that size: a round, and told so. */
void world_round(struct world *w, const char *tool, const char *what, size_t size);

int64_t world_tokens(const struct world *w);
/* One letter a block: T text, K thinking, C call, R result, I image; messages separated by spaces. */
const char *world_shape(const struct world *w, struct buf *out);
/* The text of a text block or a result, "" for others; good until the next call. */
const char *world_text(struct world *w, size_t message, size_t block);
/* Fails the test unless the history is in order and its sums are right. */
void world_check(const struct world *w);
bool world_forgot(const struct world *w, int call);

#endif
