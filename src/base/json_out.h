/*
 * Writing JSON into a buf. The writer knows where commas go; strings are repaired
 * to valid UTF-8 and escaped (control characters, quote, backslash, U+2028/2029,
 * U+007F stays). Failures are the buf's sticky failure: look once at the end.
 *
 *   struct json_out o;
 *   json_out_init(&o, &buf);
 *   jo_object(&o); jo_key(&o, "n"); jo_int(&o, 3); jo_end(&o);
 */
#ifndef QUERN_BASE_JSON_OUT_H
#define QUERN_BASE_JSON_OUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

#define JSON_OUT_DEPTH 64

struct json_out {
	struct buf *b;
	int depth;
	char close[JSON_OUT_DEPTH]; /* '}' or ']' a level */
	bool more[JSON_OUT_DEPTH];  /* a comma is due before the next item */
	bool after_key;
};

void json_out_init(struct json_out *o, struct buf *b);
void jo_object(struct json_out *o);
void jo_array(struct json_out *o);
void jo_end(struct json_out *o); /* closes the innermost object or array */
void jo_key(struct json_out *o, const char *key);
void jo_str(struct json_out *o, const char *s); /* NULL writes null */
void jo_strn(struct json_out *o, const char *s, size_t n);
void jo_int(struct json_out *o, int64_t v);
void jo_double(struct json_out *o,
               double v); /* shortest that reads back; never nan or inf (null), point whatever the locale */
void jo_bool(struct json_out *o, bool v);
void jo_null(struct json_out *o);
void jo_raw(struct json_out *o, const char *json, size_t n); /* an already serialised value */
/* key and value at once */
void jo_kstr(struct json_out *o, const char *key, const char *s);
void jo_kint(struct json_out *o, const char *key, int64_t v);
void jo_kbool(struct json_out *o, const char *key, bool v);
void jo_knull(struct json_out *o, const char *key);

/* The quoted, escaped form of n bytes alone, appended to b. */
void json_quote(struct buf *b, const char *s, size_t n);

#endif
