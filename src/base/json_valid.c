/*
 * The grammar of RFC 8259 as one loop over one state and a stack of open brackets. jsmn accepts
 * many documents that are not JSON and slows down on deep nesting, so it only ever sees texts
 * that passed here; the token count replaces jsmn's own counting pass.
 */
#include "base/json_private.h"

#include <string.h>

#include "base/utf8.h"

/* What may come next. */
enum state {
	WANT_VALUE,          /* a value */
	WANT_VALUE_OR_CLOSE, /* behind '[' */
	WANT_KEY,            /* behind ',' in an object */
	WANT_KEY_OR_CLOSE,   /* behind '{' */
	WANT_COLON,          /* behind a key */
	WANT_COMMA_OR_CLOSE, /* behind a value inside a container */
	WANT_END             /* behind the root */
};

static const char *const wanted[] = {
	"a value",
	"a value or ']'",
	"a quoted key",
	"a quoted key or '}'",
	"':'",
	"',' or a closing bracket",
	"the end of the document",
};

struct scanner {
	const char *text;
	size_t len, at;
	unsigned flags;
	enum state state;
	int depth;
	char open[JSON_MAX_DEPTH]; /* '{' or '[' */
	struct json_scan *out;
	struct error *e;
};

static int bad(const struct scanner *s, size_t at, const char *what)
{
	return error_set(s->e, ERR_INPUT, "offset %zu: %s", at, what);
}

static int unexpected(const struct scanner *s)
{
	const char *want = wanted[s->state];

	if (s->at == s->len)
		return error_set(s->e, ERR_INPUT, "offset %zu: the text ends where %s was expected", s->at, want);
	unsigned char c = (unsigned char)s->text[s->at];
	if (c == 0)
		return bad(s, s->at, "a NUL byte");
	if (c > 0x20 && c < 0x7F)
		return error_set(s->e, ERR_INPUT, "offset %zu: expected %s, found '%c'", s->at, want, c);
	return error_set(s->e, ERR_INPUT, "offset %zu: expected %s, found byte 0x%02x", s->at, want, c);
}

static int count_token(struct scanner *s)
{
	if (s->out->ntokens == JSON_MAX_TOKENS)
		return error_set(s->e, ERR_LIMIT, "offset %zu: more than %zu values", s->at, JSON_MAX_TOKENS);
	s->out->ntokens++;
	return 0;
}

static void value_ended(struct scanner *s)
{
	s->state = s->depth ? WANT_COMMA_OR_CLOSE : WANT_END;
}

static bool is_digit(const struct scanner *s, size_t at)
{
	return at < s->len && s->text[at] >= '0' && s->text[at] <= '9';
}

static size_t skip_digits(const struct scanner *s, size_t at)
{
	while (is_digit(s, at))
		at++;
	return at;
}

static int scan_number(struct scanner *s)
{
	size_t at = s->at;

	if (s->text[at] == '-')
		at++;
	if (!is_digit(s, at))
		return bad(s, at, "a number needs a digit here");
	if (s->text[at] == '0' && is_digit(s, at + 1))
		return bad(s, at, "a number must not start with 0");
	at = skip_digits(s, at);
	if (at < s->len && s->text[at] == '.') {
		if (!is_digit(s, ++at))
			return bad(s, at, "a number needs a digit behind its point");
		at = skip_digits(s, at);
	}
	if (at < s->len && (s->text[at] == 'e' || s->text[at] == 'E')) {
		at++;
		if (at < s->len && (s->text[at] == '+' || s->text[at] == '-'))
			at++;
		if (!is_digit(s, at))
			return bad(s, at, "a number needs a digit in its exponent");
		at = skip_digits(s, at);
	}
	s->at = at;
	value_ended(s);
	return 0;
}

static int scan_literal(struct scanner *s)
{
	static const char *const words[] = { "true", "false", "null" };

	for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
		size_t n = strlen(words[i]);
		if (s->len - s->at >= n && memcmp(s->text + s->at, words[i], n) == 0) {
			s->at += n;
			value_ended(s);
			return 0;
		}
	}
	return bad(s, s->at, "an unknown word (true, false, null are the only ones)");
}

static bool is_hex4(const struct scanner *s, size_t at)
{
	if (s->len - at < 4)
		return false;
	for (size_t i = at; i < at + 4; i++) {
		char c = s->text[i];
		if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F')))
			return false;
	}
	return true;
}

/* At the 'u' of an escape. A pair of surrogates is taken as one. */
static int scan_unicode_escape(struct scanner *s)
{
	size_t at = s->at + 1;

	if (!is_hex4(s, at))
		return bad(s, s->at, "\\u needs four hexadecimal digits");
	unsigned u = json_hex4(s->text + at);
	s->at = at + 4;
	if (u < 0xD800 || u > 0xDFFF)
		return 0;
	at = s->at;
	if (u < 0xDC00 && s->len - at >= 6 && s->text[at] == '\\' && s->text[at + 1] == 'u' && is_hex4(s, at + 2)) {
		unsigned low = json_hex4(s->text + at + 2);
		if (low >= 0xDC00 && low <= 0xDFFF) {
			s->at = at + 6;
			return 0;
		}
	}
	if (!(s->flags & JSON_REPAIR))
		return bad(s, s->at - 6, "half a surrogate pair");
	s->out->needs_repair = true;
	return 0;
}

static int scan_escape(struct scanner *s)
{
	s->at++;
	if (s->at == s->len)
		return bad(s, s->at, "the text ends inside a string");
	char c = s->text[s->at];
	if (c == 'u')
		return scan_unicode_escape(s);
	if (c == '\0' || !strchr("\"\\/bfnrt", c))
		return bad(s, s->at, "an unknown escape in a string");
	s->at++;
	return 0;
}

static int scan_beyond_ascii(struct scanner *s)
{
	const char *p = s->text + s->at;
	size_t left = s->len - s->at;
	size_t k = utf8_char_len(p, left);

	if (!k) {
		if (!(s->flags & JSON_REPAIR))
			return bad(s, s->at, "a string is not valid UTF-8");
		s->out->needs_repair = true;
		k = utf8_bad_len(p, left);
	}
	s->at += k;
	return 0;
}

/* Most bytes of a document are these, so this loop decides how fast the validator is. */
static size_t skip_plain(const char *text, size_t at, size_t len)
{
	while (at < len) {
		unsigned char c = (unsigned char)text[at];
		if (c < 0x20 || c >= 0x80 || c == '"' || c == '\\')
			break;
		at++;
	}
	return at;
}

/* At the opening quote; leaves `at` behind the closing one. */
static int scan_string(struct scanner *s)
{
	size_t start = s->at++;

	for (;;) {
		s->at = skip_plain(s->text, s->at, s->len);
		if (s->at == s->len)
			return bad(s, start, "a string without its closing quote");
		unsigned char c = (unsigned char)s->text[s->at];
		if (c == '"') {
			s->at++;
			return 0;
		}
		if (c < 0x20)
			return bad(s, s->at, c ? "a control character in a string" : "a NUL byte");
		if (c == '\\' ? scan_escape(s) : scan_beyond_ascii(s))
			return -1;
	}
}

static int scan_key(struct scanner *s)
{
	if (s->text[s->at] != '"')
		return unexpected(s);
	if (count_token(s) || scan_string(s))
		return -1;
	s->state = WANT_COLON;
	return 0;
}

static int scan_open(struct scanner *s, char c)
{
	if (s->depth == JSON_MAX_DEPTH)
		return error_set(s->e, ERR_LIMIT, "offset %zu: nested more than %d deep", s->at, JSON_MAX_DEPTH);
	s->open[s->depth++] = c;
	s->at++;
	s->state = c == '{' ? WANT_KEY_OR_CLOSE : WANT_VALUE_OR_CLOSE;
	return 0;
}

static int scan_close(struct scanner *s)
{
	s->depth--;
	s->at++;
	value_ended(s);
	return 0;
}

static int scan_value(struct scanner *s)
{
	char c = s->text[s->at];
	bool number = c == '-' || is_digit(s, s->at);

	if (!number && (c == '\0' || !strchr("{[\"tfn", c)))
		return unexpected(s);
	if (count_token(s))
		return -1;
	if (number)
		return scan_number(s);
	if (c == '{' || c == '[')
		return scan_open(s, c);
	if (c != '"')
		return scan_literal(s);
	if (scan_string(s))
		return -1;
	value_ended(s);
	return 0;
}

static int scan_comma_or_close(struct scanner *s)
{
	char c = s->text[s->at];
	bool object = s->open[s->depth - 1] == '{';

	if (c == (object ? '}' : ']'))
		return scan_close(s);
	if (c != ',')
		return unexpected(s);
	s->at++;
	s->state = object ? WANT_KEY : WANT_VALUE;
	return 0;
}

static int step(struct scanner *s)
{
	char c = s->text[s->at];

	switch (s->state) {
	case WANT_VALUE_OR_CLOSE:
		return c == ']' ? scan_close(s) : scan_value(s);
	case WANT_VALUE:
		return scan_value(s);
	case WANT_KEY_OR_CLOSE:
		return c == '}' ? scan_close(s) : scan_key(s);
	case WANT_KEY:
		return scan_key(s);
	case WANT_COLON:
		if (c != ':')
			return unexpected(s);
		s->at++;
		s->state = WANT_VALUE;
		return 0;
	case WANT_COMMA_OR_CLOSE:
		return scan_comma_or_close(s);
	case WANT_END:
		break;
	}
	return unexpected(s);
}

static bool is_space(char c)
{
	return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

int json_scan(const char *text, size_t len, unsigned flags, struct json_scan *out, struct error *e)
{
	struct scanner s = { .text = text, .len = len, .flags = flags, .state = WANT_VALUE, .out = out, .e = e };

	*out = (struct json_scan){ 0 };
	if (len > INT32_MAX)
		return error_set(e, ERR_LIMIT, "the text is larger than %d bytes", INT32_MAX);
	if (len >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0)
		s.at = out->start = 3;
	for (;;) {
		while (s.at < len && is_space(text[s.at]))
			s.at++;
		if (s.at == len)
			break;
		if (step(&s))
			return -1;
	}
	return s.state == WANT_END ? 0 : unexpected(&s);
}
