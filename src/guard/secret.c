#include "guard/secret.h"

#include <ctype.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/array.h"

#define MIN_SECRET 8
#define MAX_KEY    ((size_t)64 << 10)

/* Never longer than the shortest secret, so that masking shortens in place. */
static const char mask[] = "[secret]";
_Static_assert(sizeof mask - 1 <= MIN_SECRET, "the mask must fit in place of every secret");

struct secret {
	char *value;
	size_t n;
};

struct secrets {
	struct secret *v; /* longest first: of two that start alike the whole one is masked */
	size_t n, cap;
};

struct secrets *secrets_new(void)
{
	return calloc(1, sizeof(struct secrets));
}

void secrets_free(struct secrets *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->n; i++) {
		explicit_bzero(s->v[i].value, s->v[i].n);
		free(s->v[i].value);
	}
	free(s->v);
	free(s);
}

static bool known(const struct secrets *s, const char *value, size_t n)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->v[i].n == n && !memcmp(s->v[i].value, value, n))
			return true;
	return false;
}

static int grow(struct secrets *s)
{
	return ARRAY_GROW(s->v, s->n, s->cap);
}

int secrets_add(struct secrets *s, const char *value, size_t n)
{
	if (n < MIN_SECRET || known(s, value, n))
		return 0;
	if (grow(s))
		return -1;
	char *copy = malloc(n);
	if (!copy)
		return -1;
	memcpy(copy, value, n);
	size_t at = s->n++;
	for (; at > 0 && s->v[at - 1].n < n; at--)
		s->v[at] = s->v[at - 1];
	s->v[at] = (struct secret){ copy, n };
	return 0;
}

static bool read_hex4(const char *p, size_t n, uint32_t *out)
{
	uint32_t v = 0;

	if (n < 4)
		return false;
	for (int i = 0; i < 4; i++) {
		unsigned char c = (unsigned char)p[i];
		if (!isxdigit(c))
			return false;
		v = v * 16 + (uint32_t)(isdigit(c) ? c - '0' : tolower(c) - 'a' + 10);
	}
	*out = v;
	return true;
}

static size_t put_utf8(uint32_t cp, char out[4])
{
	if (cp < 0x80) {
		out[0] = (char)cp;
		return 1;
	}
	if (cp < 0x800) {
		out[0] = (char)(0xc0 | cp >> 6);
		out[1] = (char)(0x80 | (cp & 0x3f));
		return 2;
	}
	if (cp < 0x10000) {
		out[0] = (char)(0xe0 | cp >> 12);
		out[1] = (char)(0x80 | (cp >> 6 & 0x3f));
		out[2] = (char)(0x80 | (cp & 0x3f));
		return 3;
	}
	out[0] = (char)(0xf0 | cp >> 18);
	out[1] = (char)(0x80 | (cp >> 12 & 0x3f));
	out[2] = (char)(0x80 | (cp >> 6 & 0x3f));
	out[3] = (char)(0x80 | (cp & 0x3f));
	return 4;
}

/* Decodes the JSON escape at p (a backslash): bytes taken, 0 if it is none; the decoded bytes in out. */
static size_t unescape(const char *p, size_t n, char out[4], size_t *out_len)
{
	static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
	uint32_t cp, low;

	if (n < 2)
		return 0;
	const char *simple = p[1] ? strchr(from, p[1]) : NULL;
	if (simple) {
		out[0] = to[simple - from];
		*out_len = 1;
		return 2;
	}
	if (p[1] != 'u' || !read_hex4(p + 2, n - 2, &cp))
		return 0;
	size_t taken = 6;
	if (cp >= 0xd800 && cp < 0xdc00 && n >= 12 && p[6] == '\\' && p[7] == 'u' && read_hex4(p + 8, 4, &low) &&
	    low >= 0xdc00 && low < 0xe000) {
		cp = 0x10000 + ((cp - 0xd800) << 10) + (low - 0xdc00);
		taken = 12;
	}
	*out_len = put_utf8(cp, out);
	return taken;
}

/* Length of the text at p that says the secret as the inside of a JSON string, whichever escapes its writer chose; 0
 * if it does not. */
static size_t match_escaped(const struct secret *s, const char *p, size_t n)
{
	size_t at = 0, have = 0;

	while (have < s->n) {
		char out[4];
		size_t out_len = 1, taken = 1;
		if (at == n)
			return 0;
		if (p[at] == '\\') {
			taken = unescape(p + at, n - at, out, &out_len);
			if (!taken)
				return 0;
		} else {
			out[0] = p[at];
		}
		if (out_len > s->n - have || memcmp(s->value + have, out, out_len) != 0)
			return 0;
		have += out_len;
		at += taken;
	}
	return at;
}

static size_t match(const struct secrets *s, const char *p, size_t n)
{
	for (size_t i = 0; i < s->n; i++) {
		const struct secret *one = &s->v[i];
		if (*p != *one->value && *p != '\\')
			continue;
		if (one->n <= n && !memcmp(p, one->value, one->n))
			return one->n;
		size_t len = match_escaped(one, p, n);
		if (len)
			return len;
	}
	return 0;
}

/* Which bytes may begin an occurrence; all others are skipped without a look at the list. */
static void first_bytes(const struct secrets *s, bool may[256])
{
	memset(may, 0, 256 * sizeof *may);
	may[(unsigned char)'\\'] = true;
	for (size_t i = 0; i < s->n; i++)
		may[(unsigned char)*s->v[i].value] = true;
}

void secrets_mask(const struct secrets *s, struct buf *text)
{
	bool may[256];
	size_t to = 0;

	if (!s || !s->n || !text->len)
		return;
	first_bytes(s, may);
	for (size_t at = 0; at < text->len;) {
		size_t len = may[(unsigned char)text->data[at]] ? match(s, text->data + at, text->len - at) : 0;
		if (len) {
			memcpy(text->data + to, mask, sizeof mask - 1);
			to += sizeof mask - 1;
			at += len;
		} else {
			text->data[to++] = text->data[at++];
		}
	}
	size_t old = text->len;
	buf_cut(text, to);
	/* What was moved up still stands behind the new end. */
	explicit_bzero(text->data + to, old - to);
}

static bool blank(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

int secret_clean_key(struct buf *key, const char *source, struct error *e)
{
	size_t from = 0, to = key->len;

	while (to > 0 && blank(key->data[to - 1]))
		to--;
	while (from < to && blank(key->data[from]))
		from++;
	if (from == to)
		return error_set(e, ERR_INPUT, "the API key in %s is empty", source);
	if (to - from > MAX_KEY)
		return error_set(e, ERR_INPUT, "the API key in %s is longer than %zu bytes: is it the right one?",
		                 source, MAX_KEY);
	for (size_t i = from; i < to; i++) {
		unsigned char c = (unsigned char)key->data[i];
		if (c < 0x20 || c == 0x7f)
			return error_set(e, ERR_INPUT, "the API key in %s has a control character (0x%02x) at byte %zu",
			                 source, c, i + 1);
	}
	if (to - from == key->len)
		return 0;
	size_t old = key->len;
	buf_cut(key, to);
	buf_drop(key, from);
	explicit_bzero(key->data + key->len, old - key->len);
	return 1;
}

bool secret_env_name(const char *name, size_t n)
{
	static const char *const parts[] = { "KEY", "TOKEN", "SECRET", "PASSW", "CREDENTIAL" };

	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
		size_t len = strlen(parts[i]);
		for (size_t at = 0; at + len <= n; at++)
			if (!strncasecmp(name + at, parts[i], len))
				return true;
	}
	return false;
}
