/* $'..': the escapes of C. What depends on the locale, or is rare, is refused or taken as not known. */
#include <string.h>

#include "base/utf8.h"
#include "guard/shell_private.h"

static int digit(int c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : 99;
}

/* Up to `most` digits of the base at the place. *n: how many there were. */
static uint32_t number(struct shell_in *h, int base, int most, int *n)
{
	uint32_t v = 0;

	for (*n = 0; *n < most && h->i < h->n && digit(h->s[h->i]) < base; (*n)++)
		v = v * (uint32_t)base + (uint32_t)digit(h->s[h->i++]);
	return v;
}

static bool put_byte(struct shell_in *h, struct shell_state *w, uint32_t v)
{
	if (!(v & 0xFF))
		return shell_fail(h, "a NUL byte in $'..'");
	if (v & 0x80)
		w->expands = true; /* half a character, perhaps: its meaning is the locale's */
	return shell_put_quoted(h, w, (char)(v & 0xFF));
}

static bool put_char(struct shell_in *h, struct shell_state *w, uint32_t cp)
{
	char c[4];
	size_t n = utf8_encode(c, cp);

	if (!cp)
		return shell_fail(h, "a NUL byte in $'..'");
	w->expands |= cp >= 0x80;
	for (size_t i = 0; i < n; i++)
		if (!shell_put_quoted(h, w, c[i]))
			return false;
	return true;
}

static bool numeric(struct shell_in *h, struct shell_state *w, char c)
{
	int n;
	uint32_t v = number(h, 16, c == 'x' ? 2 : c == 'u' ? 4 : 8, &n);

	if (!n)
		return shell_fail(h, "an escape in $'..' that is not understood");
	return c == 'x' ? put_byte(h, w, v) : put_char(h, w, v);
}

static bool escape(struct shell_in *h, struct shell_state *w)
{
	static const char names[] = "abeEfnrtv\\'\"?";
	static const char values[] = "\a\b\033\033\f\n\r\t\v\\'\"?";
	int n;

	if (h->i >= h->n)
		return shell_fail(h, "unterminated quote");
	char c = h->s[h->i];
	if (c >= '0' && c <= '7')
		return put_byte(h, w, number(h, 8, 3, &n));
	h->i++;
	const char *at = strchr(names, c);
	if (at)
		return shell_put_quoted(h, w, values[at - names]);
	if (c == 'x' || c == 'u' || c == 'U')
		return numeric(h, w, c);
	if (c == 'c')
		return shell_fail(h, "an escape in $'..' that is not understood");
	return shell_put_quoted(h, w, '\\') && shell_put_quoted(h, w, c);
}

bool shell_ansi(struct shell_in *h, struct shell_state *w)
{
	w->quoted = true;
	w->last = -1;
	for (h->i++; h->i < h->n;) {
		char c = h->s[h->i++];
		if (c == '\'')
			return true;
		if (shell_stray_newline(h, c))
			return false;
		if (!(c == '\\' ? escape(h, w) : shell_put_quoted(h, w, c)))
			return false;
	}
	return shell_fail(h, "unterminated quote");
}
