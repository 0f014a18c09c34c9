/* Refusing repeated keys: by pairs in small objects, by sorting in large ones, so never quadratic. */
#include "base/json_private.h"

#include <stdlib.h>
#include <string.h>

#define SMALL_OBJECT 8

struct key {
	const char *p; /* raw content */
	size_t n;
	int tok;
	bool escaped;
};

static int compare(const struct key *a, const struct key *b)
{
	if (a->escaped || b->escaped)
		return json_compare(a->p, a->n, b->p, b->n);
	size_t n = a->n < b->n ? a->n : b->n;
	int order = memcmp(a->p, b->p, n);
	return order ? order : (a->n > b->n) - (a->n < b->n);
}

/* Equal keys come in the order of the text, so that the later one is named. */
static int compare_for_sort(const void *a, const void *b)
{
	const struct key *x = a;
	const struct key *y = b;
	int order = compare(x, y);

	return order ? order : (x->tok > y->tok) - (x->tok < y->tok);
}

static struct key key_at(const struct json *doc, int tok)
{
	struct key k = { .tok = tok };

	k.p = json_inner(doc, json_tok(doc, tok), &k.n);
	k.escaped = memchr(k.p, '\\', k.n) != NULL;
	return k;
}

static size_t collect(const struct json *doc, int obj, struct key *keys)
{
	size_t n = 0;

	for (int tok = json_first(doc, obj); tok >= 0; tok = json_next(doc, obj, tok))
		keys[n++] = key_at(doc, tok);
	return n;
}

/* The first key of the text that repeats an earlier one, -1 if there is none. */
static int first_repeat(struct key *keys, size_t n)
{
	int found = -1;

	if (n <= SMALL_OBJECT) {
		for (size_t i = 1; i < n; i++) {
			for (size_t j = 0; j < i; j++) {
				if (compare(&keys[i], &keys[j]) == 0)
					return keys[i].tok;
			}
		}
		return -1;
	}
	qsort(keys, n, sizeof *keys, compare_for_sort);
	for (size_t i = 1; i < n; i++) {
		if (compare(&keys[i - 1], &keys[i]) == 0 && (found < 0 || keys[i].tok < found))
			found = keys[i].tok;
	}
	return found;
}

static size_t largest_object(const struct json *doc)
{
	size_t most = 0;

	for (int i = 0; i < doc->ntokens; i++) {
		size_t n = json_type(doc, i) == JSON_OBJECT ? (size_t)json_size(doc, i) : 0;
		if (n > most)
			most = n;
	}
	return most;
}

int json_refuse_duplicates(const struct json *doc, size_t shift, struct error *e)
{
	size_t most = largest_object(doc);

	if (most < 2)
		return 0;
	struct key *keys = malloc(most * sizeof *keys);
	if (!keys)
		return error_nomem(e);
	int repeat = -1;
	for (int i = 0; i < doc->ntokens && repeat < 0; i++) {
		if (json_type(doc, i) == JSON_OBJECT)
			repeat = first_repeat(keys, collect(doc, i, keys));
	}
	free(keys);
	if (repeat < 0)
		return 0;
	size_t n;
	const char *name = json_raw(doc, repeat, &n);
	size_t offset = (size_t)json_tok(doc, repeat)->start - 1 + shift;
	return error_set(e, ERR_INPUT, "offset %zu: the key %.*s occurs twice", offset, (int)(n < 80 ? n : 80), name);
}
