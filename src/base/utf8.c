#include "base/utf8.h"

#include <string.h>

static const char REPLACEMENT[] = "\xEF\xBF\xBD"; /* U+FFFD */

/* What may follow a lead byte: how many continuation bytes, and the range of the first of them
 * (this is where overlong forms, surrogates and values above U+10FFFF are ruled out). */
struct lead {
	unsigned char from, to, more, lo, hi;
};

static const struct lead leads[] = {
	{ 0xC2, 0xDF, 1, 0x80, 0xBF }, { 0xE0, 0xE0, 2, 0xA0, 0xBF }, { 0xE1, 0xEC, 2, 0x80, 0xBF },
	{ 0xED, 0xED, 2, 0x80, 0x9F }, { 0xEE, 0xEF, 2, 0x80, 0xBF }, { 0xF0, 0xF0, 3, 0x90, 0xBF },
	{ 0xF1, 0xF3, 3, 0x80, 0xBF }, { 0xF4, 0xF4, 3, 0x80, 0x8F },
};

static const struct lead *lead_of(unsigned char c)
{
	for (size_t i = 0; i < sizeof leads / sizeof leads[0]; i++) {
		if (c >= leads[i].from && c <= leads[i].to)
			return &leads[i];
	}
	return NULL;
}

/* Bytes at p that form a character or the beginning of one; *whole says which. 0 for a byte that begins nothing. */
static size_t prefix_len(const char *p, size_t n, bool *whole)
{
	*whole = false;
	if (!n)
		return 0;
	unsigned char c = (unsigned char)p[0];
	if (c < 0x80) {
		*whole = true;
		return 1;
	}
	const struct lead *l = lead_of(c);
	if (!l)
		return 0;
	size_t k = 1;
	while (k <= l->more && k < n) {
		unsigned char d = (unsigned char)p[k];
		unsigned char lo = k == 1 ? l->lo : 0x80;
		unsigned char hi = k == 1 ? l->hi : 0xBF;
		if (d < lo || d > hi)
			return k;
		k++;
	}
	*whole = k == (size_t)l->more + 1;
	return k;
}

size_t utf8_char_len(const char *p, size_t n)
{
	bool whole;
	size_t k = prefix_len(p, n, &whole);

	return whole ? k : 0;
}

size_t utf8_bad_len(const char *p, size_t n)
{
	bool whole;
	size_t k = prefix_len(p, n, &whole);

	return k ? k : 1;
}

/* Bytes at the front that are ASCII, eight at a time: most of what we read is. */
static size_t ascii_len(const char *p, size_t n)
{
	size_t i = 0;

	for (; i + 8 <= n; i += 8) {
		uint64_t word;
		memcpy(&word, p + i, sizeof word);
		if (word & 0x8080808080808080U)
			break;
	}
	while (i < n && !((unsigned char)p[i] & 0x80))
		i++;
	return i;
}

bool utf8_valid(const char *p, size_t n, size_t *bad)
{
	size_t i = 0;

	while (i < n) {
		i += ascii_len(p + i, n - i);
		if (i == n)
			break;
		size_t k = utf8_char_len(p + i, n - i);
		if (!k) {
			if (bad)
				*bad = i;
			return false;
		}
		i += k;
	}
	return true;
}

int utf8_repair(struct buf *out, const char *p, size_t n)
{
	while (n) {
		size_t good = 0;
		bool clean = utf8_valid(p, n, &good);
		if (clean)
			return buf_add(out, p, n);
		if (buf_add(out, p, good) || buf_add(out, REPLACEMENT, 3))
			return -1;
		good += utf8_bad_len(p + good, n - good);
		p += good;
		n -= good;
	}
	return 0;
}

/* Start of the well-formed character that `at` lies inside of, or `at` itself if there is none. */
static size_t start_of(const char *p, size_t n, size_t at, size_t *len)
{
	*len = 0;
	for (size_t back = 1; back <= 3 && back <= at; back++) {
		unsigned char c = (unsigned char)p[at - back];
		if ((c & 0xC0) == 0x80)
			continue;
		size_t k = utf8_char_len(p + at - back, n - (at - back));
		if (k <= back)
			break;
		*len = k;
		return at - back;
	}
	return at;
}

size_t utf8_floor(const char *p, size_t n, size_t limit)
{
	size_t len;

	return limit >= n ? n : start_of(p, n, limit, &len);
}

size_t utf8_ceil(const char *p, size_t n, size_t from)
{
	if (from >= n)
		return n;
	size_t len;
	size_t start = start_of(p, n, from, &len);
	return start + len > from ? start + len : from;
}

size_t utf8_encode(char out[4], uint32_t cp)
{
	if (cp > 0x10FFFF || (cp >= 0xD800 && cp <= 0xDFFF))
		cp = 0xFFFD;
	if (cp < 0x80) {
		out[0] = (char)cp;
		return 1;
	}
	size_t n = cp < 0x800 ? 2 : cp < 0x10000 ? 3 : 4;
	for (size_t i = n - 1; i > 0; i--, cp >>= 6)
		out[i] = (char)(0x80 | (cp & 0x3F));
	/* as many leading ones as there are bytes */
	out[0] = (char)((0xF00 >> n & 0xFF) | cp);
	return n;
}

int utf8_put(struct buf *out, uint32_t cp)
{
	char c[4];

	return buf_add(out, c, utf8_encode(c, cp));
}

static uint32_t decode(const char *p, size_t n)
{
	uint32_t cp = n == 1 ? (unsigned char)p[0] : (unsigned char)p[0] & (0xFFU >> (n + 1));

	for (size_t i = 1; i < n; i++)
		cp = cp << 6 | ((unsigned char)p[i] & 0x3FU);
	return cp;
}

static bool is_white(uint32_t cp)
{
	return (cp >= 0x09 && cp <= 0x0D) || (cp >= 0x1C && cp <= 0x20) || cp == 0x85 || cp == 0xA0 || cp == 0x1680 ||
	       (cp >= 0x2000 && cp <= 0x200A) || cp == 0x2028 || cp == 0x2029 || cp == 0x202F || cp == 0x205F ||
	       cp == 0x3000;
}

bool utf8_is_blank(const char *p, size_t n)
{
	for (size_t i = 0; i < n;) {
		size_t k = utf8_char_len(p + i, n - i);
		if (!k || !is_white(decode(p + i, k)))
			return false;
		i += k;
	}
	return true;
}

/* Beyond ASCII's: C1, what ends a line (U+2028, 9) and what turns the order of what is seen. */
static bool is_hidden_control(const char *p, size_t len)
{
	const unsigned char *c = (const unsigned char *)p;

	if (len == 2)
		return c[0] == 0xC2 && c[1] < 0xA0;
	if (len != 3 || c[0] != 0xE2)
		return false;
	return (c[1] == 0x80 && (c[2] == 0x8E || c[2] == 0x8F || (c[2] >= 0xA8 && c[2] <= 0xAE))) ||
	       (c[1] == 0x81 && c[2] >= 0xA6 && c[2] <= 0xA9);
}

void utf8_name(struct buf *out, const char *path, size_t n, size_t most)
{
	size_t begin = out->len;

	while (n > 0) {
		size_t len = utf8_char_len(path, n);
		unsigned char c = (unsigned char)*path;
		bool control = len == 0 || c < 0x20 || c == 0x7F || c == '"' || is_hidden_control(path, len);
		if (out->len - begin > most) {
			buf_adds(out, "...");
			return;
		}
		len = len ? len : 1;
		for (size_t i = 0; control && i < len; i++)
			buf_addf(out, "\\x%02x", (unsigned)(unsigned char)path[i]);
		if (!control)
			buf_add(out, path, len);
		path += len;
		n -= len;
	}
}
