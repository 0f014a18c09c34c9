/*
 * One attempt at a request, as a bundle holds it: what was asked, and how the answer came. The bytes of both stand
 * beside it. Written by who listens to a wire (model/tap.h), read by the wire that plays it again.
 *
 *   {"run": 1, "kind": "main", "ordinal": 7, "attempt": 1, "model": M, "wall_ms": T,
 *    "request": {"bytes": N, "prefix": P, "prefix_sha256": H},
 *    "connected_ms": 3, "sent_ms": 3, "head_ms": 200, "status": 200, "headers": {"content-type": ...},
 *    "chunks": [[210, 431], [250, 97, true]], "bytes": 528,
 *    "end": "done" or "cancelled", "end_ms": 260, "failure": "network", "net": "refused", "message": "..."}
 *
 * Times count in ms from when it was asked. `prefix`: so many bytes of the body are those of the body that was sent for
 * the last exchange of the same kind in the same run; the rest is in the entry beside. A chunk is what came at once;
 * the third element is there if the loop had asked in between and found that nothing was there.
 *
 * Life cycle: exchange_init -> exchange_asked -> exchange_phase, exchange_head, exchange_chunk...,
 * exchange_done or exchange_cancelled -> exchange_write -> exchange_release; or exchange_read -> exchange_release.
 */
#ifndef QUERN_MODEL_EXCHANGE_H
#define QUERN_MODEL_EXCHANGE_H

#include "base/buf.h"
#include "base/digest.h"
#include "model/answer.h"
#include "model/http.h"
#include "model/model.h"

#define EXCHANGE_KINDS   4 /* of enum model_kind */
#define EXCHANGE_HEADERS 6 /* of struct answer_headers */

struct exchange_chunk {
	int64_t ms;
	size_t n;
	bool apart; /* it was not there yet when the loop asked for the last time before it */
};

enum exchange_end { EXCHANGE_OPEN, EXCHANGE_DONE, EXCHANGE_CANCELLED };

struct exchange {
	enum model_kind kind;
	int run;              /* 1-based, of those in the bundle */
	int ordinal, attempt; /* 1-based: which request of its kind in the run, and which attempt at it */
	char *model;
	int64_t wall_ms;                          /* when it was asked, ms since 1970 */
	size_t bytes;                             /* of the whole request body */
	size_t prefix;                            /* see above */
	char prefix_sha[DIGEST_HEX + 1];          /* of them; "" with none */
	int64_t connected_ms, sent_ms;            /* -1 = not seen */
	int64_t head_ms;                          /* -1 = no head came */
	int status;                               /* of the head */
	char *headers[EXCHANGE_HEADERS];          /* in the order of struct answer_headers; NULL = not there */
	struct exchange_chunk *chunks;            /* owned */
	size_t nchunks, chunks_cap, answer_bytes; /* in all chunks */
	enum exchange_end end;
	bool end_apart; /* as of a chunk */
	int64_t end_ms;
	enum model_failure failure;
	enum model_net net;
	char *message; /* with a failure */
	bool nomem;    /* something of it was lost */
};

/* Counts the requests of each kind in a run. */
struct exchange_count {
	int ordinals[EXCHANGE_KINDS];
};

void exchange_init(struct exchange *x);
/* Kind, model and its place among the others of the run. The rest of the request is the caller's to fill in. */
void exchange_asked(struct exchange *x, const struct model_request *req, struct exchange_count *count);
/* These keep copies; what does not fit in memory is told by exchange_write. */
void exchange_phase(struct exchange *x, int64_t ms, enum model_phase phase);
void exchange_head(struct exchange *x, int64_t ms, int status, const struct answer_headers *headers);
void exchange_chunk(struct exchange *x, int64_t ms, size_t n, bool apart);
void exchange_done(struct exchange *x, int64_t ms, bool apart, const struct http_done *done);
void exchange_cancelled(struct exchange *x, int64_t ms);
/* Only the first bytes of its answer came, and then it was cancelled. */
void exchange_cut(struct exchange *x, size_t bytes);
/* One line of JSON, without its end. -1: no memory. */
int exchange_write(const struct exchange *x, struct buf *out);
/* -1 with *e, and nothing to release: it is none, or says what cannot be. */
int exchange_read(struct exchange *x, const char *text, size_t n, struct error *e);
void exchange_headers(const struct exchange *x, struct answer_headers *out); /* borrowed */
void exchange_release(struct exchange *x);

/* "main", "compact", "summary", "count" */
const char *exchange_kind_name(enum model_kind kind);

#endif
