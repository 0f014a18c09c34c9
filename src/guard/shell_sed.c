/* Scripts of sed that neither run nor write nor read anything but their input. */
#include <string.h>

#include "guard/shell_args.h"

/* Behind one delimiter, to behind the next. NULL: there is none. */
static const char *to_delimiter(const char *p, char delimiter)
{
	for (; *p && *p != delimiter; p++)
		if (*p == '\\' && *++p == '\0')
			return NULL;
	return *p ? p + 1 : NULL;
}

static const char *digits(const char *p)
{
	return p + strspn(p, "0123456789");
}

/* An address, if one begins here. NULL: not understood. */
static const char *address(const char *p)
{
	if (*p == '$')
		return p + 1;
	if (*p >= '0' && *p <= '9') {
		p = digits(p);
		return *p == '~' ? digits(p + 1) : p;
	}
	if (*p == '\\' && p[1] && p[1] != '\n' && p[1] != '\\')
		p = to_delimiter(p + 2, p[1]);
	else if (*p == '/')
		p = to_delimiter(p + 1, '/');
	else
		return p;
	return p ? p + strspn(p, "IM") : NULL;
}

static const char *addresses(const char *p)
{
	p = address(p);
	if (!p)
		return NULL;
	p += strspn(p, " \t");
	if (*p == ',') {
		p += 1 + strspn(p + 1, " \t");
		p = *p == '+' || *p == '~' ? digits(p + 1) : address(p);
		if (!p)
			return NULL;
	}
	return p + strspn(p, " \t!");
}

static const char *substitution(const char *p, bool translate)
{
	char delimiter = *p;

	if (!delimiter || delimiter == '\n' || delimiter == '\\')
		return NULL;
	p = to_delimiter(p + 1, delimiter);
	p = p ? to_delimiter(p, delimiter) : NULL;
	return p && !translate ? p + strspn(p, "gpiIM0123456789") : p;
}

/* One command. NULL: not one of the harmless. */
static const char *command(const char *p)
{
	char c = *p++;

	if (c == 's' || c == 'y')
		return substitution(p, c == 'y');
	if (c && strchr("qQl", c))
		return digits(p + strspn(p, " \t"));
	return c && strchr("=dDgGhHnNpPxz", c) ? p : NULL;
}

static bool harmless(const char *p)
{
	int open = 0;

	for (;;) {
		p += strspn(p, " \t\n;");
		if (*p == '}' && open-- > 0) {
			p++;
			continue;
		}
		if (!*p)
			return open == 0;
		p = addresses(p);
		if (!p)
			return false;
		if (*p == '{') {
			open++;
			p++;
			continue;
		}
		p = command(p);
		if (!p)
			return false;
		p += strspn(p, " \t");
		if (*p && !strchr(";\n}", *p))
			return false;
	}
}

/* The suffix of -i names the copy that is kept: in the same directory, nothing else. */
static bool in_place_option(const char *text)
{
	const char *i = text[1] == '-' ? strchr(text, '=') : strchr(text, 'i');

	return !i || !strpbrk(i, "/*");
}

bool shell_sed_harmless(const struct shell_view *v, bool *in_place)
{
	struct shell_args a = { .v = v, .fact = shell_fact("sed") };
	const struct shell_word *w, *first = NULL;
	bool given = false, expect = false;

	*in_place = false;
	for (enum shell_arg kind; (kind = shell_args_next(&a, &w)) != ARG_END;) {
		if (kind == ARG_UNKNOWN || kind == ARG_HIDDEN)
			return false;
		if (kind == ARG_OPERAND && !first)
			first = w;
		if (kind == ARG_VALUE && expect) {
			given = true;
			if (!w->literal || !harmless(w->text))
				return false;
		}
		expect = false;
		if (kind != ARG_OPTION || !strcmp(w->text, "--"))
			continue;
		bool is_long = w->text[1] == '-';
		size_t flags = is_long ? 0 : strcspn(w->text + 1, "iel");
		const char *tail = is_long ? "" : w->text + 1 + flags;
		*in_place |= is_long ? !strncmp(w->text, "--in-place", 10) : *tail == 'i';
		if (*in_place && !in_place_option(w->text))
			return false;
		if (*tail == 'e' && tail[1]) { /* -eSCRIPT */
			given = true;
			if (!harmless(tail + 1))
				return false;
		}
		if (is_long && !strncmp(w->text, "--expression=", 13)) {
			given = true;
			if (!harmless(w->text + 13))
				return false;
		}
		expect = (*tail == 'e' && !tail[1]) || !strcmp(w->text, "--expression");
	}
	return given || (first && first->literal && harmless(first->text));
}
