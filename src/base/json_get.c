/* Reading a parsed document: navigation and strings. Numbers are in json_number.c. */
#include "base/json_private.h"

#include <stdlib.h>
#include <string.h>

enum json_type json_type(const struct json *doc, int tok)
{
	const jsmntok_t *t = json_tok(doc, tok);

	if (!t)
		return JSON_NONE;
	switch (t->type) {
	case JSMN_OBJECT:
		return JSON_OBJECT;
	case JSMN_ARRAY:
		return JSON_ARRAY;
	case JSMN_STRING:
		return JSON_STRING;
	default:
		break;
	}
	char c = doc->text[t->start];
	return c == 'n' ? JSON_NULL : c == 't' || c == 'f' ? JSON_BOOL : JSON_NUMBER;
}

static bool is_container(const jsmntok_t *t)
{
	return t && (t->type == JSMN_OBJECT || t->type == JSMN_ARRAY);
}

int json_size(const struct json *doc, int tok)
{
	const jsmntok_t *t = json_tok(doc, tok);

	return is_container(t) ? t->size : 0;
}

int json_first(const struct json *doc, int container)
{
	const jsmntok_t *t = json_tok(doc, container);

	return is_container(t) && t->size > 0 ? container + 1 : -1;
}

int json_next(const struct json *doc, int container, int tok)
{
	const jsmntok_t *t = json_tok(doc, tok);

	(void)container;
	return t ? t->parent : -1; /* the next sibling: see link_siblings */
}

int json_value_of(const struct json *doc, int key)
{
	const jsmntok_t *t = json_tok(doc, key);

	return t && t->type == JSMN_STRING && t->size == 1 ? key + 1 : -1;
}

/* True if the raw content decodes to the n bytes at s. Decoding never makes a string longer. */
static bool content_is(const char *raw, size_t len, const char *s, size_t n)
{
	if (len < n)
		return false;
	if (!memchr(raw, '\\', len))
		return len == n && memcmp(raw, s, n) == 0;
	const char *end = raw + len;
	while (raw < end) {
		char tmp[4];
		size_t k;
		const char *piece = json_piece(&raw, end, tmp, &k);
		if (k > n || memcmp(piece, s, k) != 0)
			return false;
		s += k;
		n -= k;
	}
	return n == 0;
}

static int get_n(const struct json *doc, int obj, const char *key, size_t n)
{
	int found = -1;

	if (json_type(doc, obj) != JSON_OBJECT)
		return -1;
	for (int tok = json_first(doc, obj); tok >= 0; tok = json_next(doc, obj, tok)) {
		size_t len;
		const char *raw = json_inner(doc, json_tok(doc, tok), &len);
		if (content_is(raw, len, key, n))
			found = json_value_of(doc, tok);
	}
	return found;
}

int json_get(const struct json *doc, int obj, const char *key)
{
	return get_n(doc, obj, key, strlen(key));
}

int json_path(const struct json *doc, int obj, const char *path)
{
	while (obj >= 0) {
		size_t n = strcspn(path, ".");
		obj = get_n(doc, obj, path, n);
		if (!path[n])
			break;
		path += n + 1;
	}
	return obj;
}

const char *json_raw(const struct json *doc, int tok, size_t *len)
{
	const jsmntok_t *t = json_tok(doc, tok);

	if (!t) {
		*len = 0;
		return NULL;
	}
	size_t quotes = t->type == JSMN_STRING ? 1 : 0;
	*len = (size_t)(t->end - t->start) + 2 * quotes;
	return doc->text + t->start - quotes;
}

char *json_rawdup(const struct json *doc, int tok)
{
	size_t n;
	const char *raw = json_raw(doc, tok, &n);

	return raw ? strndup(raw, n) : NULL;
}

int json_str(const struct json *doc, int tok, struct buf *out)
{
	const jsmntok_t *t = json_tok(doc, tok);

	if (!t || t->type != JSMN_STRING)
		return -1;
	size_t len;
	const char *p = json_inner(doc, t, &len);
	const char *end = p + len;
	while (p < end) {
		char tmp[4];
		size_t k;
		const char *piece = json_piece(&p, end, tmp, &k);
		if (buf_add(out, piece, k))
			return -1;
	}
	return 0;
}

char *json_strdup(const struct json *doc, int tok, size_t *len)
{
	struct buf b = BUF_INIT(doc->len);
	char *s = NULL;

	if (len)
		*len = 0;
	if (json_str(doc, tok, &b) == 0)
		s = buf_take(&b, len);
	buf_release(&b);
	return s;
}

bool json_eq(const struct json *doc, int tok, const char *s)
{
	const jsmntok_t *t = json_tok(doc, tok);

	if (!t || t->type != JSMN_STRING)
		return false;
	size_t len;
	const char *raw = json_inner(doc, t, &len);
	return content_is(raw, len, s, strlen(s));
}

bool json_bool(const struct json *doc, int tok, bool *out)
{
	if (json_type(doc, tok) != JSON_BOOL)
		return false;
	*out = doc->text[json_tok(doc, tok)->start] == 't';
	return true;
}

bool json_absent(const struct json *doc, int tok)
{
	enum json_type type = json_type(doc, tok);

	return type == JSON_NONE || type == JSON_NULL;
}
