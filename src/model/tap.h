/*
 * What goes over a wire, for whoever writes it down: exactly what the reader of answers (model/answer.h) is given, so
 * that the same calls made again give the same events. An attempt: sent -> phase... -> (head -> bytes...)? -> done, or
 * cancelled at any point behind sent. A callback must not call back into the model.
 */
#ifndef QUERN_MODEL_TAP_H
#define QUERN_MODEL_TAP_H

#include <stddef.h>

#include "model/answer.h"
#include "model/http.h"
#include "model/model.h"
#include "model/request.h"

struct model_tap {
	void *ctx;
	/* The whole body, to be read with request_read. */
	void (*sent)(void *ctx, const struct model_request *req, const struct request_body *body);
	void (*phase)(void *ctx, enum model_kind kind, enum model_phase phase); /* CONNECTED and SENT only */
	void (*head)(void *ctx, enum model_kind kind, int status, const struct answer_headers *headers);
	void (*bytes)(void *ctx, enum model_kind kind, const char *p, size_t n);
	void (*done)(void *ctx, enum model_kind kind, const struct http_done *done);
	void (*cancelled)(void *ctx, enum model_kind kind);
};

/* For a wire that makes no body of its own. -1 with *e. tap may be NULL. */
int tap_sent(const struct model_tap *tap, const struct model_request *req, struct error *e);

#endif
