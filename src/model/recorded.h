/*
 * The exchanges of a bundle (model/exchange.h), ready to be played again: in memory, as their bytes are. Of several
 * runs in it the first one's are played.
 *
 * Life cycle: recorded_new -> recorded_add... -> recorded_find, recorded_body... -> recorded_free.
 */
#ifndef QUERN_MODEL_RECORDED_H
#define QUERN_MODEL_RECORDED_H

#include "model/exchange.h"

struct recorded_exchange {
	struct exchange x;
	char *request; /* the bytes of its body that were new; owned */
	char *answer;  /* owned; x.answer_bytes */
	size_t request_len, answer_len;
	bool told; /* x is there */
	bool taken;
};

struct recorded;
struct recorded *recorded_new(void); /* NULL: no memory */
/* An entry of the bundle, whole; of those with other names nothing is kept. The name that comes twice counts as it came
 * last. -1 with *e: no memory, or it says what cannot be. */
int recorded_add(struct recorded *r, const char *name, const char *p, size_t n, struct error *e);
/* The next that was asked for the same: kind, ordinal and attempt. NULL: there is none. It is taken then, and *body is
 * what was asked, valid until the next call. -1 with *e: the bundle is not whole. */
int recorded_take(struct recorded *r, const struct exchange *like, const struct recorded_exchange **out,
                  const struct buf **body, struct error *e);
/* The loop saw no more of that exchange than `bytes` of its answer: the rest does not come, nor its end. `like` names
 * its run, kind, ordinal and attempt. */
void recorded_cut(struct recorded *r, const struct exchange *like, size_t bytes);
/* The body of the first request of that kind, valid until recorded_free; NULL: there is none. */
const char *recorded_first(const struct recorded *r, enum model_kind kind, size_t *len);
int recorded_ordinals(const struct recorded *r, enum model_kind kind); /* how many requests of the kind there are */
size_t recorded_unused(const struct recorded *r);
void recorded_free(struct recorded *r);

#endif
