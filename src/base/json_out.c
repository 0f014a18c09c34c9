#include "base/json_out.h"

#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

void json_out_init(struct json_out *o, struct buf *b)
{
	*o = (struct json_out){ .b = b };
}

/* The comma that is due before an item, unless the item is the value of a key. */
static void separate(struct json_out *o)
{
	if (o->after_key) {
		o->after_key = false;
		return;
	}
	if (!o->depth)
		return;
	if (o->more[o->depth - 1])
		buf_addc(o->b, ',');
	o->more[o->depth - 1] = true;
}

static void open_level(struct json_out *o, char opening, char closing)
{
	separate(o);
	if (o->depth == JSON_OUT_DEPTH) {
		if (!o->b->failed)
			o->b->failed = ERR_LIMIT;
		return;
	}
	o->close[o->depth] = closing;
	o->more[o->depth] = false;
	o->depth++;
	buf_addc(o->b, opening);
}

void jo_object(struct json_out *o)
{
	open_level(o, '{', '}');
}

void jo_array(struct json_out *o)
{
	open_level(o, '[', ']');
}

void jo_end(struct json_out *o)
{
	if (!o->depth)
		return;
	o->depth--;
	buf_addc(o->b, o->close[o->depth]);
}

void jo_key(struct json_out *o, const char *key)
{
	separate(o);
	json_quote(o->b, key, strlen(key));
	buf_addc(o->b, ':');
	o->after_key = true;
}

void jo_strn(struct json_out *o, const char *s, size_t n)
{
	separate(o);
	json_quote(o->b, s, n);
}

void jo_str(struct json_out *o, const char *s)
{
	if (s)
		jo_strn(o, s, strlen(s));
	else
		jo_null(o);
}

void jo_int(struct json_out *o, int64_t v)
{
	separate(o);
	buf_addf(o->b, "%lld", (long long)v);
}

/* Fewest of 15, 16, 17 digits that read back as v: 17 always do. */
static void format_double(char *out, size_t size, double v)
{
	for (int digits = 15; digits <= 17; digits++) {
		snprintf(out, size, "%.*g", digits, v);
		if (strtod(out, NULL) == v)
			return;
	}
}

void jo_double(struct json_out *o, double v)
{
	char text[40];

	if (!isfinite(v)) {
		jo_null(o);
		return;
	}
	/* glibc hands out its one static C locale here: no allocation, nothing to free */
	locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
	locale_t old = c ? uselocale(c) : (locale_t)0;
	format_double(text, sizeof text, v);
	if (c) {
		uselocale(old);
		freelocale(c);
	}
	separate(o);
	buf_adds(o->b, text);
}

void jo_bool(struct json_out *o, bool v)
{
	separate(o);
	buf_adds(o->b, v ? "true" : "false");
}

void jo_null(struct json_out *o)
{
	separate(o);
	buf_adds(o->b, "null");
}

void jo_raw(struct json_out *o, const char *json, size_t n)
{
	separate(o);
	buf_add(o->b, json, n);
}

void jo_kstr(struct json_out *o, const char *key, const char *s)
{
	jo_key(o, key);
	jo_str(o, s);
}

void jo_kint(struct json_out *o, const char *key, int64_t v)
{
	jo_key(o, key);
	jo_int(o, v);
}

void jo_kbool(struct json_out *o, const char *key, bool v)
{
	jo_key(o, key);
	jo_bool(o, v);
}

void jo_knull(struct json_out *o, const char *key)
{
	jo_key(o, key);
	jo_null(o);
}

static void add_escape(struct buf *b, unsigned char c)
{
	static const char bytes[] = "\"\\\b\f\n\r\t";
	static const char letters[] = "\"\\bfnrt";
	const char *at = c ? strchr(bytes, c) : NULL;

	if (at)
		buf_add(b, (char[]){ '\\', letters[at - bytes] }, 2);
	else
		buf_addf(b, "\\u%04x", c);
}

static bool is_plain(unsigned char c)
{
	return c >= 0x20 && c < 0x80 && c != '"' && c != '\\';
}

/* Writes the one character at p that is not plain ASCII; returns its length. */
static size_t add_special(struct buf *b, const char *p, size_t n)
{
	unsigned char c = (unsigned char)p[0];

	if (c < 0x80) {
		add_escape(b, c);
		return 1;
	}
	size_t k = utf8_char_len(p, n);
	if (!k) {
		utf8_put(b, 0xFFFD);
		return utf8_bad_len(p, n);
	}
	/* U+2028 and U+2029 end a line for some readers of line-based output */
	if (k == 3 && memcmp(p, "\xE2\x80", 2) == 0 && ((unsigned char)p[2] == 0xA8 || (unsigned char)p[2] == 0xA9))
		buf_adds(b, (unsigned char)p[2] == 0xA8 ? "\\u2028" : "\\u2029");
	else
		buf_add(b, p, k);
	return k;
}

void json_quote(struct buf *b, const char *s, size_t n)
{
	buf_addc(b, '"');
	while (n && !b->failed) {
		size_t plain = 0;
		while (plain < n && is_plain((unsigned char)s[plain]))
			plain++;
		buf_add(b, s, plain);
		s += plain;
		n -= plain;
		if (n) {
			size_t k = add_special(b, s, n);
			s += k;
			n -= k;
		}
	}
	buf_addc(b, '"');
}
