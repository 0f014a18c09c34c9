/*
 * What an HTTP answer means: an event stream, a whole message, a count of tokens, an error body, or something that is
 * no answer of a model server at all. Knows no transport, so that it can be tested with bytes.
 *
 * Life cycle: answer_init -> answer_head -> answer_body... -> answer_end (emits MODEL_EV_END once) -> answer_release.
 * Without an answer answer_end may come at once.
 */
#ifndef QUERN_MODEL_ANSWER_H
#define QUERN_MODEL_ANSWER_H

#include "model/assembly.h"
#include "model/http.h"
#include "model/sse.h"

/* Most bytes of an error body that are kept, and of a whole message instead of a stream. */
#define ANSWER_MAX_ERROR   ((size_t)64 << 10)
#define ANSWER_MAX_MESSAGE ((size_t)64 << 20)

enum answer_kind { ANSWER_NONE, ANSWER_STREAM, ANSWER_JSON, ANSWER_COUNT, ANSWER_ERROR, ANSWER_OTHER };

/* The headers that matter; NULL where there is none. Read by answer_head only. */
struct answer_headers {
	const char *content_type, *content_encoding;
	const char *retry_after, *retry_after_ms, *should_retry;
	const char *request_id;
};

struct answer {
	struct assembly assembly;
	/* to be set behind answer_init, if at all: */
	bool count;                  /* {"input_tokens": N} is expected, and told as the end's usage */
	const struct model_tap *tap; /* that is told of head, bytes and end in front of the sink (model/tap.h) */
	enum model_kind kind_asked;  /* for it */
	/* private from here */
	struct sse sse;
	enum answer_kind kind;
	struct model_end end; /* the transport's part */
	struct buf body;      /* of an answer that is no stream; of a stream the beginning, for a message */
	char *content_type, *request_id, *message;
	bool compressed, events;
};

void answer_init(struct answer *a, bool partial, model_sink sink, void *ctx);
/* status 0: the server spoke no HTTP. */
void answer_head(struct answer *a, int status, const struct answer_headers *headers);
/* Returns non-zero when no more bytes are of use. */
int answer_body(struct answer *a, const char *p, size_t n);
void answer_end(struct answer *a, const struct http_done *done);
void answer_release(struct answer *a);

#endif
