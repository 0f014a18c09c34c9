/*
 * One streamed Messages API answer, put together from its events by block index, and told to a sink.
 * Used by every wire that speaks these events: the Anthropic wire and the replay wire.
 *
 * Life cycle: assembly_init -> assembly_event... -> assembly_end (emits MODEL_EV_END once) -> assembly_release.
 */
#ifndef QUERN_MODEL_ASSEMBLY_H
#define QUERN_MODEL_ASSEMBLY_H

#include "model/model.h"

/* More than any answer is long: blocks, and bytes of the events that made them. */
#define ASSEMBLY_MAX_BLOCKS 4096
#define ASSEMBLY_MAX_BYTES  ((size_t)256 << 20)

struct assembly_block;
struct assembly {
	model_sink sink;
	void *ctx;
	bool partial;
	bool progress; /* set by each event that carries content; its owner clears it */
	/* private from here */
	struct assembly_block *blocks;
	size_t n, cap;
	size_t bytes; /* of all events that made blocks */
	size_t open;  /* blocks started and not stopped */
	bool started, stopped, ended, failed;
	struct model_end end;
	char *message_id, *model, *stop_reason, *stop_sequence, *stop_details;
	char *error_type, *error_code, *message, *request_id;
};

void assembly_init(struct assembly *a, bool partial, model_sink sink, void *ctx);
/* One SSE event (name may be ""). Unknown events are ignored, unknown blocks kept, unknown deltas ignored. Returns 0 to
 * go on, 1 when the stream is over for us (error event, protocol error, message_stop); the end is told by assembly_end
 * only. */
int assembly_event(struct assembly *a, const char *name, const char *data, size_t len);
/* A whole non-streamed answer ("type":"message") instead of events. 0, or -1 if it is none. */
int assembly_message(struct assembly *a, const char *json, size_t len);
/* The transport is over. `transport` tells how (failure MODEL_FINE = cleanly); what the stream itself said wins over
 * it: complete if a stop_reason and all block ends were seen; an error event makes MODEL_STREAM_ERROR; no stop_reason
 * makes MODEL_STREAM_CUT (MODEL_NETWORK before any event if the transport failed). Emits MODEL_EV_END. In a
 * MODEL_STREAM_ERROR http_status is the status that goes with the error's type or code (529 for overloaded_error), 0 if
 * there is none: the 200 of the stream says nothing. */
void assembly_end(struct assembly *a, const struct model_end *transport);
/* Takes text that stood in the stream in place of an event as the stream's error, if it is an error object. */
bool assembly_stray_error(struct assembly *a, const char *text, size_t len);
/* Reads {"type":"error","error":{...}} and its variants (no outer type, other servers' shapes, plain text, HTML) into
 * an end's error_type, error_code, message, request_id (and http_status, if it is 0 and the body tells); the strings
 * live in *a. */
void assembly_read_error(struct assembly *a, const char *body, size_t len, struct model_end *end);
void assembly_release(struct assembly *a);

#endif
