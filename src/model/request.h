/*
 * The body of a Messages API request as a list of slices: blocks are pointed to, never copied, so that a long
 * conversation costs a few words a block and not its bytes.
 *
 * Life cycle: request_build -> request_read until 0, with as many cursors as wanted -> request_release.
 * The request and its history must stay unchanged and alive in between.
 *
 * With the cache marks taken out, the bytes of `system`, of `tools` and of the messages only ever grow at the end
 * from one request of a run to the next; `messages` is the last key. Marks stand on the system text (or, without one,
 * on the last tool) and on the last block of the newest two user messages.
 */
#ifndef QUERN_MODEL_REQUEST_H
#define QUERN_MODEL_REQUEST_H

#include "model/model.h"

struct request_slice {
	const char *p;
	size_t n;
};

struct request_body {
	size_t length; /* of the whole body */
	/* private from here */
	struct buf head, middle; /* what stands before the tools, and between them and the messages */
	struct request_slice *v;
	size_t n, cap;
};

struct request_cursor {
	size_t slice, offset;
};

/* 0, or -1 with *e: extra_json is no object, or no memory. */
int request_build(struct request_body *b, const struct model_request *req, struct error *e);
/* Copies the next bytes, at most max; 0 at the end. */
size_t request_read(const struct request_body *b, struct request_cursor *c, char *out, size_t max);
void request_release(struct request_body *b);
/* Does req->refused name it? */
bool request_is_refused(const struct model_request *req, const char *name, size_t n);

#endif
