#include "model/server_json.h"

#include <stdlib.h>
#include <string.h>

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = (char)(c | 0x20);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The value of the escape \uXXXX at p, -1 if there is none. */
static int unicode_escape(const char *p, const char *end)
{
	int v = 0;

	if (end - p < 6 || p[0] != '\\' || p[1] != 'u')
		return -1;
	for (int i = 2; i < 6; i++) {
		int d = hex_digit(p[i]);
		if (d < 0)
			return -1;
		v = v * 16 + d;
	}
	return v;
}

/* Steps over the escape at p, which becomes U+FFFD if it is half a surrogate pair. */
static char *fix_escape(char *p, char *end)
{
	int v = unicode_escape(p, end);

	if (v < 0)
		return end - p < 2 ? end : p + 2;
	if (v >= 0xD800 && v <= 0xDBFF) {
		int low = unicode_escape(p + 6, end);
		if (low >= 0xDC00 && low <= 0xDFFF)
			return p + 12;
	}
	if (v >= 0xD800 && v <= 0xDFFF)
		memcpy(p + 2, "fffd", 4);
	return p + 6;
}

/* Same length before and after. What is no JSON stays no JSON. */
static void fix_text(char *p, size_t n)
{
	char *end = p + n;
	bool in_string = false;

	while (p < end) {
		if (in_string && *p == '\\') {
			p = fix_escape(p, end);
			continue;
		}
		if (*p == '"')
			in_string = !in_string;
		else if (!in_string && (*p == '\n' || *p == '\r'))
			*p = ' ';
		p++;
	}
}

static bool needs_fix(const char *p, size_t n)
{
	return memchr(p, '\n', n) || memchr(p, '\r', n) || memmem(p, n, "\\ud", 3) || memmem(p, n, "\\uD", 3);
}

int server_json_parse(struct json *doc, const char *text, size_t len, struct error *e)
{
	if (!len || !needs_fix(text, len))
		return json_parse(doc, text, len, JSON_REPAIR | JSON_BORROW, e);
	char *copy = malloc(len);
	if (!copy)
		return error_nomem(e);
	memcpy(copy, text, len);
	fix_text(copy, len);
	int r = json_parse(doc, copy, len, JSON_REPAIR, e);
	free(copy);
	return r;
}
