/*
 * Reading JSON: strict validation of RFC 8259 first (it also counts the tokens),
 * then jsmn, then accessors. Linear time, depth and token caps, no recursion.
 *
 * Life cycle: JSON_INIT -> json_parse -> accessors -> json_release.
 * Ownership: the document keeps a private copy of the text unless JSON_BORROW is
 * given (then the text must outlive it; a repaired one is copied all the same).
 * Token indices are ints; -1 = not there. Every accessor accepts -1 and a token of
 * another type and then says "not there".
 *
 * Unspecified by the RFC, decided here: one leading BOM is skipped; a NUL byte is
 * an error; duplicate keys follow the flag; lone surrogate escapes and invalid
 * UTF-8 are refused, or repaired first with JSON_REPAIR (one U+FFFD each).
 */
#ifndef QUERN_BASE_JSON_H
#define QUERN_BASE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"

#define JSON_MAX_DEPTH  256
#define JSON_MAX_TOKENS ((size_t)4 << 20)

enum json_type { JSON_NONE, JSON_NULL, JSON_BOOL, JSON_NUMBER, JSON_STRING, JSON_ARRAY, JSON_OBJECT };

enum json_flags {
	JSON_REPAIR = 1, /* in strings, ill-formed UTF-8 and lone surrogate escapes become U+FFFD in the text itself */
	JSON_UNIQUE = 2, /* duplicate keys (compared decoded) are an error; without it the last one wins */
	JSON_BORROW = 4  /* do not copy the text */
};

struct json {
	const char *text; /* what the tokens point into (after BOM and repair) */
	size_t len;
	char *own;    /* private copy, or NULL */
	void *tokens; /* private part: jsmntok_t[ntokens] */
	int ntokens;
};

#define JSON_INIT                                                                                                      \
	{                                                                                                              \
		NULL, 0, NULL, NULL, 0                                                                                 \
	}

/* 0 and a usable *doc, or -1 with *e: ERR_INPUT "offset N: what is wrong" (byte offset
 * in the given text), ERR_LIMIT (depth, tokens), ERR_NOMEM. On failure doc is as JSON_INIT. */
int json_parse(struct json *doc, const char *text, size_t len, unsigned flags, struct error *e);
void json_release(struct json *doc);

/* Validation alone (same rules); *ntokens (may be NULL) is jsmn's token count. */
int json_validate(const char *text, size_t len, unsigned flags, size_t *ntokens, struct error *e);

static inline int json_root(const struct json *doc)
{
	return doc->ntokens > 0 ? 0 : -1;
}

enum json_type json_type(const struct json *doc, int tok);
int json_size(const struct json *doc, int tok);                   /* members or elements, 0 for others */
int json_get(const struct json *doc, int obj, const char *key);   /* value of key (last wins) or -1 */
int json_path(const struct json *doc, int obj, const char *path); /* "a.b.c" of json_get */

/* Iteration: first member key (object) or element (array), then the next sibling; -1 at the end.
 * In an object the iteration yields key tokens; json_value_of gives a key's value. Linear in all. */
int json_first(const struct json *doc, int container);
int json_next(const struct json *doc, int container, int tok);
int json_value_of(const struct json *doc, int key);

/* The raw bytes of a value as they stand in the text (strings with their quotes). NULL if -1. */
const char *json_raw(const struct json *doc, int tok, size_t *len);
/* The same as malloc'ed text the caller owns. NULL if -1, or no memory. */
char *json_rawdup(const struct json *doc, int tok);
/* Appends the decoded string (escapes resolved; U+0000 becomes a NUL byte). -1 if no string. */
int json_str(const struct json *doc, int tok, struct buf *out);
/* Decoded string as malloc'ed text the caller owns, NULL if no string or no memory. *len may be NULL. */
char *json_strdup(const struct json *doc, int tok, size_t *len);
/* True if tok is a string or key that decodes to s. */
bool json_eq(const struct json *doc, int tok, const char *s);
/* True and *out set if tok is an integer literal (also 1.0, 1e3) that fits. */
bool json_int(const struct json *doc, int tok, int64_t *out);
/* True and *out set if tok is a number within the range of a double. */
bool json_double(const struct json *doc, int tok, double *out);
bool json_bool(const struct json *doc, int tok, bool *out);
int64_t json_int_or(const struct json *doc, int tok, int64_t otherwise);
/* True and both set if tok is an array of two numbers, neither below 0: [FROM, TO), or a place in a place. */
bool json_pair(const struct json *doc, int tok, size_t *a, size_t *b);
/* True if tok is absent (-1) or null: the API treats both alike. */
bool json_absent(const struct json *doc, int tok);

#endif
