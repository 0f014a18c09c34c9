/* String contents: resolving escapes and comparing without making a copy. */
#include "base/json_private.h"

#include <string.h>

#include "base/utf8.h"

static unsigned hex_digit(char c)
{
	if (c <= '9')
		return (unsigned)(c - '0');
	return (unsigned)((c | 0x20) - 'a' + 10);
}

unsigned json_hex4(const char *p)
{
	return hex_digit(p[0]) << 12 | hex_digit(p[1]) << 8 | hex_digit(p[2]) << 4 | hex_digit(p[3]);
}

/* At the digits of \uXXXX; takes the second half of a pair along. */
static uint32_t code_point(const char **p, const char *end)
{
	uint32_t u = json_hex4(*p);

	*p += 4;
	if (u >= 0xD800 && u <= 0xDBFF && end - *p >= 6 && (*p)[0] == '\\' && (*p)[1] == 'u') {
		uint32_t low = json_hex4(*p + 2);
		if (low >= 0xDC00 && low <= 0xDFFF) {
			*p += 6;
			return 0x10000 + ((u - 0xD800) << 10) + (low - 0xDC00);
		}
	}
	return u;
}

const char *json_piece(const char **p, const char *end, char tmp[4], size_t *n)
{
	static const char letters[] = "b\bf\fn\nr\rt\t"; /* pairs: letter, byte */
	const char *start = *p;

	if (*start != '\\') {
		const char *stop = memchr(start, '\\', (size_t)(end - start));
		*p = stop ? stop : end;
		*n = (size_t)(*p - start);
		return start;
	}
	char c = start[1];
	*p = start + 2;
	if (c == 'u') {
		*n = utf8_encode(tmp, code_point(p, end));
		return tmp;
	}
	tmp[0] = c; /* quote, backslash and slash stand for themselves */
	for (size_t i = 0; i + 1 < sizeof letters; i += 2) {
		if (letters[i] == c)
			tmp[0] = letters[i + 1];
	}
	*n = 1;
	return tmp;
}

/* A string content read piece by piece. */
struct cursor {
	const char *p, *end; /* what is not decoded yet */
	const char *piece;   /* what is decoded and not used yet */
	size_t n;
	char tmp[4];
};

static bool refill(struct cursor *c)
{
	if (!c->n && c->p < c->end)
		c->piece = json_piece(&c->p, c->end, c->tmp, &c->n);
	return c->n > 0;
}

int json_compare(const char *a, size_t na, const char *b, size_t nb)
{
	struct cursor x = { .p = a, .end = a + na };
	struct cursor y = { .p = b, .end = b + nb };

	for (;;) {
		bool more_x = refill(&x);
		bool more_y = refill(&y);
		if (!more_x || !more_y)
			return (int)more_x - (int)more_y;
		size_t n = x.n < y.n ? x.n : y.n;
		int order = memcmp(x.piece, y.piece, n);
		if (order)
			return order;
		x.piece += n;
		x.n -= n;
		y.piece += n;
		y.n -= n;
	}
}
