/*
 * HTTP requests over libcurl's multi interface, driven by the reactor: one connection pool for a whole run, one
 * current request at a time.
 *
 * Life cycle: http_open -> { http_start -> handler calls -> handler->done | http_cancel }* -> http_free.
 *
 * - A request body is read once and never rewound, so that libcurl cannot silently repeat a paid request on a fresh
 *   connection: a reused connection that turns out to be dead ends as NET_DEAD_REUSED.
 * - Redirects are not followed, compression is not asked for, and no key or proxy password gets into a message.
 * - Handler functions may call http_cancel and http_start; they are called from inside reactor_wait only.
 */
#ifndef QUERN_MODEL_HTTP_H
#define QUERN_MODEL_HTTP_H

#include "base/reactor.h"
#include "model/model.h"

/* Most bytes of header lines that an answer may have. */
#define HTTP_MAX_HEAD ((size_t)256 << 10)

struct http;

struct http_request {
	const char *url;
	const char *const
	        *headers; /* "Name: value", NULL terminated; copied, and overwritten when the request is over */
	size_t body_length;
};

/* How a request ended. failure: MODEL_FINE (whatever the status), MODEL_NETWORK, MODEL_NOT_STREAM (no HTTP),
 * MODEL_REFUSED_REQUEST. */
struct http_done {
	enum model_failure failure;
	enum model_net net;
	const char *message; /* one line, set with a failure */
};

struct http_handler {
	/* The next bytes of the request body, 0 at its end. */
	size_t (*read)(void *ctx, char *out, size_t max);
	/* Signs of life; PHASE_BYTES at most once a read from the network. */
	void (*phase)(void *ctx, enum model_phase phase);
	/* The answer's head is complete; status is 0 if the server spoke no HTTP. Once, before body and done. */
	void (*head)(void *ctx, struct http *h, int status);
	/* Bytes of the answer. Non-zero: enough, done comes next and the rest is not looked at. */
	int (*body)(void *ctx, const char *p, size_t n);
	/* Once, unless cancelled. */
	void (*done)(void *ctx, const struct http_done *done);
	/* The request is no longer in use: ctx may go. Once for every started request, cancelled or not. */
	void (*free)(void *ctx);
};

/* Loads libcurl. NULL with *e. connect_timeout_ms: 0 = off. */
struct http *http_open(struct reactor *r, int64_t connect_timeout_ms, struct error *e);
/* Ends the request that is still current as if it were cancelled. -1 with *e: nothing was started, ctx stays the
 * caller's. */
int http_start(struct http *h, const struct http_request *req, const struct http_handler *handler, void *ctx,
               struct error *e);
/* A header of the answer (the first of that name), NULL if there is none; for use in `head`, valid until it returns. */
const char *http_header(struct http *h, const char *name);
void http_cancel(struct http *h);
/* Own back-pressure: while on, nothing is read. */
void http_pause(struct http *h, bool on);
void http_free(struct http *h);

#endif
