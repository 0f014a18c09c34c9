/* The words for what does not fit: the path, what is expected, what came. */
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_schema_private.h"
#include "base/suggest.h"
#include "base/utf8.h"

#define SHOWN_KEY     60
#define SHOWN_VALUE   60
#define SHOWN_CHOICES 20
#define SHOWN_NAMES   12

static void add_cut(struct buf *out, const char *p, size_t n, size_t most)
{
	size_t k = utf8_floor(p, n, n < most ? n : most);

	buf_add(out, p, k);
	if (k < n)
		buf_adds(out, "...");
}

/* A key as it stands in the text, without its quotes: escapes keep it one line. */
static const char *raw_key(const struct json *doc, int key, size_t *n)
{
	const char *p = json_raw(doc, key, n);

	if (*n >= 2 && *p == '"') {
		p++;
		*n -= 2;
	}
	return p;
}

static bool is_plain(const char *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!isalnum((unsigned char)p[i]) && !strchr("_-$", p[i]))
			return false;
	return n > 0;
}

static void add_path(struct buf *out, const struct check *c, const struct at *at)
{
	size_t n = 0;

	if (!at->up)
		return;
	add_path(out, c, at->up);
	if (at->key < 0) {
		if (!at->up->up)
			buf_adds(out, c->root);
		buf_addf(out, "[%zu]", at->index);
		return;
	}
	const char *p = raw_key(c->doc, at->key, &n);
	if (is_plain(p, n)) {
		buf_adds(out, at->up->up ? "." : "");
		add_cut(out, p, n, SHOWN_KEY);
	} else {
		if (!at->up->up)
			buf_adds(out, c->root);
		buf_adds(out, "[\"");
		add_cut(out, p, n, SHOWN_KEY);
		buf_adds(out, "\"]");
	}
}

/* Opens the next problem of the collection; false if it is one too many. */
static bool begin(struct check *c, const struct at *at)
{
	struct problems *out = c->out;

	if (!out || !out->text || out->n++ >= out->max)
		return false;
	if (out->text->len > 0)
		buf_adds(out->text, "; ");
	size_t start = out->text->len;
	add_path(out->text, c, at);
	if (out->text->len == start)
		buf_adds(out->text, c->root);
	buf_adds(out->text, ": ");
	return true;
}

bool say(struct check *c, const struct at *at, const char *fmt, ...)
{
	char text[600];
	va_list ap;

	if (!begin(c, at))
		return false;
	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	buf_add(c->out->text, text, utf8_floor(text, strlen(text), sizeof text - 1));
	return false;
}

void say_value(struct buf *out, const struct json *doc, int tok)
{
	size_t n = 0;
	const char *p = json_raw(doc, tok, &n);

	switch (json_type(doc, tok)) {
	case JSON_OBJECT:
		buf_adds(out, json_size(doc, tok) ? "object" : "empty object");
		return;
	case JSON_ARRAY:
		buf_addf(out, json_size(doc, tok) ? "array" : "empty array");
		return;
	case JSON_STRING:
		buf_adds(out, "string \"");
		p = raw_key(doc, tok, &n);
		add_cut(out, p, n, SHOWN_VALUE);
		buf_addc(out, '"');
		return;
	case JSON_NUMBER:
		buf_adds(out, "number ");
		break;
	case JSON_BOOL:
		buf_adds(out, "boolean ");
		break;
	default:
		break;
	}
	add_cut(out, p, n, SHOWN_VALUE);
}

/* A string that spells a value of a type that was wanted: models quote what should stand bare. */
static bool is_quoted(const struct json *doc, int tok, unsigned wanted)
{
	struct json inner = JSON_INIT;
	size_t n = 0;
	char *s = json_strdup(doc, tok, &n);
	bool yes = s && json_parse(&inner, s, n, JSON_BORROW, NULL) == 0 &&
	           (schema_types_of(&inner, json_root(&inner)) & wanted) != 0;

	json_release(&inner);
	free(s);
	return yes;
}

bool say_type(struct check *c, const struct at *at, unsigned wanted, int tok)
{
	if (!c->out)
		return false;
	if (at->level == c->out->level)
		c->out->wanted |= wanted;
	if (!begin(c, at))
		return false;
	buf_adds(c->out->text, "expected ");
	say_types(c->out->text, wanted);
	buf_adds(c->out->text, ", got ");
	say_value(c->out->text, c->doc, tok);
	if (json_type(c->doc, tok) == JSON_STRING && is_quoted(c->doc, tok, wanted))
		buf_adds(c->out->text, " (write it without the quotes)");
	return false;
}

/* The choice that a string was meant to be. */
static void add_near(struct check *c, int enum_tok, int tok)
{
	const struct json *sd = &c->s->doc;
	struct suggest near;
	char *got = json_strdup(c->doc, tok, NULL), *best = NULL;

	if (!got)
		return;
	suggest_init(&near, got, strlen(got));
	for (int i = json_first(sd, enum_tok); i >= 0; i = json_next(sd, enum_tok, i)) {
		char *choice = json_strdup(sd, i, NULL);
		const char *before = near.best;
		if (choice)
			suggest_offer(&near, choice);
		if (near.best != before) {
			free(best);
			best = choice;
		} else {
			free(choice);
		}
	}
	if (best)
		buf_addf(c->out->text, " (did you mean \"%s\"?)", best);
	free(best);
	free(got);
}

static void add_choice(struct buf *out, const struct json *doc, int tok)
{
	size_t n = 0;
	const char *p = json_raw(doc, tok, &n);

	add_cut(out, p, n, SHOWN_VALUE);
}

static void note_tag(struct check *c, const struct at *at)
{
	if (c->out && at->level == c->out->level + 1 && at->key >= 0)
		c->out->tag_failed = true;
}

bool say_enum(struct check *c, const struct at *at, int enum_tok, int tok)
{
	const struct json *sd = &c->s->doc;
	int shown = 0;

	note_tag(c, at);
	if (!begin(c, at))
		return false;
	struct buf *out = c->out->text;
	buf_adds(out, json_size(sd, enum_tok) > 1 ? "expected one of " : "expected ");
	for (int i = json_first(sd, enum_tok); i >= 0; i = json_next(sd, enum_tok, i)) {
		if (shown++ == SHOWN_CHOICES) {
			buf_adds(out, ", ...");
			break;
		}
		buf_adds(out, shown > 1 ? ", " : "");
		add_choice(out, sd, i);
	}
	buf_adds(out, ", got ");
	say_value(out, c->doc, tok);
	if (json_type(c->doc, tok) == JSON_STRING)
		add_near(c, enum_tok, tok);
	return false;
}

bool say_const(struct check *c, const struct at *at, int const_tok, int tok)
{
	note_tag(c, at);
	if (!begin(c, at))
		return false;
	buf_adds(c->out->text, "expected ");
	add_choice(c->out->text, &c->s->doc, const_tok);
	buf_adds(c->out->text, ", got ");
	say_value(c->out->text, c->doc, tok);
	return false;
}

bool say_bound(struct check *c, const struct at *at, const char *what, int bound_tok, int tok)
{
	if (!begin(c, at))
		return false;
	buf_addf(c->out->text, "must be %s ", what);
	add_choice(c->out->text, &c->s->doc, bound_tok);
	buf_adds(c->out->text, ", got ");
	add_choice(c->out->text, c->doc, tok);
	return false;
}

bool say_unknown(struct check *c, const struct at *at, const struct schema_node *n, int key)
{
	struct suggest near;
	size_t len = 0;
	const char *p = raw_key(c->doc, key, &len);

	if (!begin(c, at))
		return false;
	struct buf *out = c->out->text;
	buf_adds(out, "unknown property \"");
	add_cut(out, p, len, SHOWN_KEY);
	buf_addc(out, '"');
	suggest_init(&near, p, len);
	for (size_t i = 0; i < n->nmembers; i++)
		suggest_offer(&near, n->members[i].name);
	if (near.best) {
		buf_addf(out, " (did you mean \"%s\"?)", near.best);
		return false;
	}
	buf_adds(out, n->nmembers ? " (known: " : "");
	for (size_t i = 0; i < n->nmembers && i <= SHOWN_NAMES; i++)
		buf_addf(out, "%s%s", i ? ", " : "", i < SHOWN_NAMES ? n->members[i].name : "...");
	buf_adds(out, n->nmembers ? ")" : "");
	return false;
}
