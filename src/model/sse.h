/* Server-sent events as WHATWG HTML has them, byte by byte: a chunk may end anywhere. Knows no API. */
#ifndef QUERN_MODEL_SSE_H
#define QUERN_MODEL_SSE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/error.h"

/* One dispatched event: name ("" if none was given) and data, both NUL terminated. Return non-zero to stop the feed. */
typedef int (*sse_event_fn)(void *ctx, const char *name, const char *data, size_t data_len);

struct sse {
	sse_event_fn fn;
	void *ctx;
	struct buf line; /* the line so far */
	struct buf name;
	struct buf data;
	bool after_cr;    /* swallow a LF at the start of the next chunk */
	bool seen_data;   /* at least one data line since the last dispatch */
	unsigned bom;     /* bytes of a leading BOM matched so far; 4 = past it */
	struct buf stray; /* lines that are no field, comment or blank: see sse_stray */
};

#define SSE_MAX_EVENT ((size_t)64 << 20)
#define SSE_MAX_STRAY ((size_t)64 << 10)

void sse_init(struct sse *s, sse_event_fn fn, void *ctx);
/* Linear in n whatever the split. 0; 1 if fn stopped it; -1 with *e (event larger than SSE_MAX_EVENT, no memory). */
int sse_feed(struct sse *s, const char *p, size_t n, struct error *e);
/* For an error message at the end of a stream: the text since the last event that was no event, its unfinished last
 * line included (servers write bare JSON errors there). The first SSE_MAX_STRAY bytes; "" if none. */
const char *sse_stray(struct sse *s, size_t *len);
void sse_release(struct sse *s); /* an event without its blank line is dropped */

#endif
