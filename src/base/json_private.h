/* What the files of the JSON reader share; no other room includes this. */
#ifndef QUERN_BASE_JSON_PRIVATE_H
#define QUERN_BASE_JSON_PRIVATE_H

#include "base/jsmn_wrap.h"
#include "base/json.h"

/* What validation learns about a text. */
struct json_scan {
	size_t start;      /* behind the BOM, if there is one */
	size_t ntokens;    /* as jsmn counts: containers, strings, keys, primitives */
	bool needs_repair; /* JSON_REPAIR only: invalid UTF-8 or lone surrogate escapes were seen */
};

int json_scan(const char *text, size_t len, unsigned flags, struct json_scan *out, struct error *e);

/* After parsing, the parent link of a token holds its next sibling (-1 = none): see link_siblings. */
static inline const jsmntok_t *json_tok(const struct json *doc, int tok)
{
	return tok >= 0 && tok < doc->ntokens ? (const jsmntok_t *)doc->tokens + tok : NULL;
}

/* The bytes between the quotes of a string token, or of any other token. */
static inline const char *json_inner(const struct json *doc, const jsmntok_t *t, size_t *n)
{
	*n = (size_t)(t->end - t->start);
	return doc->text + t->start;
}

/* Decodes the piece at *p of a validated string (an escape, or a run without one) and moves *p behind
 * it. The piece is at the returned pointer, *n bytes; an escape's bytes are written to tmp. */
const char *json_piece(const char **p, const char *end, char tmp[4], size_t *n);

/* The next escape of four hex digits at p (which are there). */
unsigned json_hex4(const char *p);

/* Order of two string contents, compared decoded. */
int json_compare(const char *a, size_t na, const char *b, size_t nb);

/* ERR_INPUT with the offset of the key that repeats an earlier one of its object. `shift` = bytes of the BOM. */
int json_refuse_duplicates(const struct json *doc, size_t shift, struct error *e);

#endif
