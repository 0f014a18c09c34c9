/* When two JSON values are the same: numbers by what they are worth, objects without order. */
#include <stdlib.h>
#include <string.h>

#include "base/json_schema_private.h"

int schema_compare(const struct json *a, int x, const struct json *b, int y)
{
	int64_t i, k;
	double d = 0, f = 0;

	if (json_int(a, x, &i) && json_int(b, y, &k))
		return i < k ? -1 : i > k;
	json_double(a, x, &d);
	json_double(b, y, &f);
	return d < f ? -1 : d > f;
}

static bool same_bytes(const struct json *a, int x, const struct json *b, int y)
{
	size_t n, m;
	const char *p = json_raw(a, x, &n), *q = json_raw(b, y, &m);

	return n == m && memcmp(p, q, n) == 0;
}

static bool same_string(struct check *c, const struct json *a, int x, const struct json *b, int y)
{
	size_t n = 0, m = 0;
	char *p, *q;

	if (same_bytes(a, x, b, y))
		return true;
	p = json_strdup(a, x, &n);
	q = json_strdup(b, y, &m);
	bool same = p && q && n == m && memcmp(p, q, n) == 0;
	if (!p || !q)
		c->gave_up = true;
	free(p);
	free(q);
	return same;
}

static bool same_number(const struct json *a, int x, const struct json *b, int y)
{
	double p, q;

	if (same_bytes(a, x, b, y))
		return true;
	if (!json_double(a, x, &p) || !json_double(b, y, &q))
		return false; /* beyond what a double holds: the same only if written alike */
	return schema_compare(a, x, b, y) == 0;
}

static int find_key(struct check *c, const struct json *a, int key, const struct json *b, int obj)
{
	for (int k = json_first(b, obj); k >= 0 && check_steps(c, 1); k = json_next(b, obj, k))
		if (same_string(c, a, key, b, k))
			return json_value_of(b, k);
	return -1;
}

static bool same_members(struct check *c, const struct json *a, int x, const struct json *b, int y)
{
	for (int key = json_first(a, x); key >= 0; key = json_next(a, x, key)) {
		int other = find_key(c, a, key, b, y);
		if (other < 0 || !schema_equal(c, a, json_value_of(a, key), b, other))
			return false;
	}
	return true;
}

bool schema_equal(struct check *c, const struct json *a, int x, const struct json *b, int y)
{
	enum json_type t = json_type(a, x);

	if (!check_steps(c, 1) || t != json_type(b, y) || json_size(a, x) != json_size(b, y))
		return false;
	switch (t) {
	case JSON_STRING:
		return same_string(c, a, x, b, y);
	case JSON_NUMBER:
		return same_number(a, x, b, y);
	case JSON_OBJECT:
		return same_members(c, a, x, b, y);
	case JSON_ARRAY:
		for (int i = json_first(a, x), k = json_first(b, y); i >= 0;
		     i = json_next(a, x, i), k = json_next(b, y, k))
			if (!schema_equal(c, a, i, b, k))
				return false;
		return true;
	default:
		return same_bytes(a, x, b, y);
	}
}

/* ---- twins: elements are sorted by a hash, so that only those with the same one are compared ---- */

static uint64_t mix(uint64_t h, uint64_t v)
{
	h = (h ^ v) * UINT64_C(0x9E3779B97F4A7C15);
	return h ^ h >> 32;
}

static uint64_t hash_string(struct check *c, const struct json *doc, int tok)
{
	size_t n = 0;
	char *s = json_strdup(doc, tok, &n);
	uint64_t h = n;

	for (size_t i = 0; s && i < n; i++)
		h = mix(h, (unsigned char)s[i]);
	if (!s)
		c->gave_up = true;
	free(s);
	return h;
}

static uint64_t hash_number(const struct json *doc, int tok)
{
	double d = 0;
	uint64_t bits;

	json_double(doc, tok, &d);
	d += 0.0; /* -0 is 0 */
	memcpy(&bits, &d, sizeof bits);
	return mix(1, bits);
}

static uint64_t hash_value(struct check *c, int tok)
{
	const struct json *doc = c->doc;
	enum json_type t = json_type(doc, tok);
	uint64_t h = (uint64_t)t;
	bool yes = false;

	if (!check_steps(c, 1))
		return 0;
	switch (t) {
	case JSON_STRING:
		return hash_string(c, doc, tok);
	case JSON_NUMBER:
		return hash_number(doc, tok);
	case JSON_ARRAY:
		for (int i = json_first(doc, tok); i >= 0; i = json_next(doc, tok, i))
			h = mix(h, hash_value(c, i));
		return h;
	case JSON_OBJECT: /* a sum, for the order of members counts for nothing */
		for (int key = json_first(doc, tok); key >= 0; key = json_next(doc, tok, key))
			h += mix(hash_string(c, doc, key), hash_value(c, json_value_of(doc, key)));
		return h;
	default:
		json_bool(doc, tok, &yes);
		return mix(h, yes);
	}
}

struct element {
	uint64_t hash;
	int tok;
	size_t index;
};

static int by_hash(const void *a, const void *b)
{
	const struct element *x = a, *y = b;

	if (x->hash != y->hash)
		return x->hash < y->hash ? -1 : 1;
	return x->index < y->index ? -1 : 1;
}

bool schema_find_twins(struct check *c, int array, size_t *first, size_t *second)
{
	size_t n = 0;
	bool found = false;
	struct element *v = calloc((size_t)json_size(c->doc, array) + 1, sizeof *v);

	if (!v) {
		c->gave_up = true;
		return false;
	}
	for (int i = json_first(c->doc, array); i >= 0; i = json_next(c->doc, array, i), n++)
		v[n] = (struct element){ hash_value(c, i), i, n };
	qsort(v, n, sizeof *v, by_hash);
	for (size_t i = 0; i + 1 < n && !found; i++)
		for (size_t k = i + 1; k < n && v[k].hash == v[i].hash && !found && !c->gave_up; k++)
			if (schema_equal(c, c->doc, v[i].tok, c->doc, v[k].tok)) {
				*first = v[i].index;
				*second = v[k].index;
				found = true;
			}
	free(v);
	return found;
}
