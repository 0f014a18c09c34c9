/* A value against the nodes of a schema. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_schema_private.h"

#define MAX_PROBLEMS   10
#define MAX_DEPTH      1200
#define BASE_STEPS     INT64_C(1000000)
#define TOKEN_STEPS    64 /* more a token of the value */
#define SHOWN_WAYS     4  /* alternatives whose problems are told */
#define WAY_TEXT       400
#define DIVISION_ERROR 1e-9

static bool eval(struct check *c, const struct schema_node *n, int tok, const struct at *at);

bool check_steps(struct check *c, int64_t n)
{
	c->steps -= n;
	if (c->steps < 0)
		c->gave_up = true;
	return !c->gave_up;
}

/* ---- type, enum, const ---- */

static bool is_whole(const struct json *doc, int tok)
{
	int64_t i;
	double d;
	size_t n;

	if (json_int(doc, tok, &i))
		return true;
	if (json_double(doc, tok, &d))
		return d >= 0x1p53 || d <= -0x1p53 || d == (double)(int64_t)d;
	const char *p = json_raw(doc, tok, &n);
	return !memchr(p, '.', n) && !memchr(p, '-', n); /* beyond a double, no point, no negative exponent */
}

unsigned schema_types_of(const struct json *doc, int tok)
{
	static const unsigned bits[] = {
		[JSON_NONE] = 0,
		[JSON_NULL] = TYPE_NULL,
		[JSON_BOOL] = TYPE_BOOLEAN,
		[JSON_NUMBER] = TYPE_NUMBER,
		[JSON_STRING] = TYPE_STRING,
		[JSON_ARRAY] = TYPE_ARRAY,
		[JSON_OBJECT] = TYPE_OBJECT,
	};
	unsigned t = bits[json_type(doc, tok)];

	return t == TYPE_NUMBER && is_whole(doc, tok) ? TYPE_NUMBER | TYPE_INTEGER : t;
}

static bool check_enum(struct check *c, const struct schema_node *n, int tok, const struct at *at)
{
	const struct json *sd = &c->s->doc;

	if (n->const_tok >= 0 && !schema_equal(c, sd, n->const_tok, c->doc, tok))
		return say_const(c, at, n->const_tok, tok);
	if (n->enum_tok < 0)
		return true;
	for (int i = json_first(sd, n->enum_tok); i >= 0; i = json_next(sd, n->enum_tok, i))
		if (schema_equal(c, sd, i, c->doc, tok))
			return true;
	return say_enum(c, at, n->enum_tok, tok);
}

/* ---- numbers ---- */

static bool is_multiple(const struct json *a, int tok, const struct json *b, int of)
{
	int64_t v, m;

	if (json_int(a, tok, &v) && json_int(b, of, &m))
		return v % m == 0;
	/* 19.99 is no multiple of 0.01 in binary: what is one to nine digits is one. */
	double d = 0, step = 1;
	json_double(a, tok, &d);
	json_double(b, of, &step);
	double q = (d < 0 ? -d : d) / step;
	if (!(q < 0x1p52))
		return true; /* the digits that would tell are not there */
	double off = q - (double)(int64_t)(q + 0.5);
	return (off < 0 ? -off : off) <= DIVISION_ERROR * (q > 1 ? q : 1);
}

static bool check_number(struct check *c, const struct schema_node *n, int tok, const struct at *at)
{
	static const struct {
		enum bound bound;
		int wrong[2]; /* signs of value - bound that do not fit */
		const char *what;
	} rows[] = {
		{ MINIMUM, { -1, -1 }, "at least" },
		{ MAXIMUM, { 1, 1 }, "at most" },
		{ EXCLUSIVE_MINIMUM, { -1, 0 }, "more than" },
		{ EXCLUSIVE_MAXIMUM, { 1, 0 }, "less than" },
	};
	const struct json *sd = &c->s->doc;
	bool ok = true;
	double far;

	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		int b = n->bound[rows[i].bound];
		if (b < 0)
			continue;
		if (!json_double(c->doc, tok, &far)) {
			ok = say(c, at, "the number is beyond what can be compared");
			continue;
		}
		int sign = schema_compare(c->doc, tok, sd, b);
		if (sign == rows[i].wrong[0] || sign == rows[i].wrong[1])
			ok = say_bound(c, at, rows[i].what, b, tok);
	}
	if (n->bound[MULTIPLE_OF] >= 0 && !is_multiple(c->doc, tok, sd, n->bound[MULTIPLE_OF]))
		ok = say_bound(c, at, "a multiple of", n->bound[MULTIPLE_OF], tok);
	return ok;
}

/* ---- strings ---- */

static int64_t count_characters(const char *p, size_t n)
{
	int64_t count = 0;

	for (size_t i = 0; i < n; i++)
		count += ((unsigned char)p[i] & 0xC0) != 0x80;
	return count;
}

/* Does the text match? Out of bounds counts as no, and says so. */
static bool matches(struct check *c, const struct schema_regex *r, const char *p, size_t n)
{
	int m = check_steps(c, 1 + (int64_t)n) ? schema_regex_match(c->s, r, p, n) : 0;

	if (m < 0)
		c->gave_up = true;
	return m > 0;
}

static bool in_range(struct check *c, const struct at *at, const struct schema_node *n, enum count min, int64_t have,
                     const char *what)
{
	int64_t lo = n->count[min], hi = n->count[min + 1];

	if (have < lo)
		return say(c, at, "must have at least %" PRId64 " %s%s, has %" PRId64, lo, what, lo == 1 ? "" : "s",
		           have);
	if (hi >= 0 && have > hi)
		return say(c, at, "must have at most %" PRId64 " %s%s, has %" PRId64, hi, what, hi == 1 ? "" : "s",
		           have);
	return true;
}

static bool check_string(struct check *c, const struct schema_node *n, int tok, const struct at *at)
{
	bool ok = true;
	size_t len = 0;

	if (n->count[MIN_LENGTH] < 0 && n->count[MAX_LENGTH] < 0 && !n->pattern)
		return true;
	char *s = json_strdup(c->doc, tok, &len);
	if (!s) {
		c->gave_up = true;
		return false;
	}
	if (n->count[MIN_LENGTH] == 1 && len == 0)
		ok = say(c, at, "must not be empty");
	else
		ok = in_range(c, at, n, MIN_LENGTH, count_characters(s, len), "character");
	if (n->pattern && !matches(c, n->pattern, s, len) && !c->gave_up) {
		struct buf got = BUF_INIT(1024);
		say_value(&got, c->doc, tok);
		ok = say(c, at, "must match the pattern %.200s, got %s", n->pattern->text, buf_str(&got));
		buf_release(&got);
	}
	free(s);
	return ok;
}

/* ---- arrays ---- */

/* How many elements fit `contains`. */
static int64_t count_contained(struct check *c, const struct schema_node *n, int tok, const struct at *at)
{
	struct problems *out = c->out;
	struct at here = { at, -1, 0, at->level + 1 };
	int64_t found = 0;

	c->out = NULL;
	for (int i = json_first(c->doc, tok); i >= 0; i = json_next(c->doc, tok, i), here.index++)
		found += eval(c, n->contains, i, &here);
	c->out = out;
	return found;
}

static bool check_contains(struct check *c, const struct schema_node *n, int tok, const struct at *at)
{
	int64_t min = n->count[MIN_CONTAINS] < 0 ? 1 : n->count[MIN_CONTAINS], max = n->count[MAX_CONTAINS];

	if (!n->contains)
		return true;
	int64_t found = count_contained(c, n, tok, at);
	if (found < min)
		return say(c, at, "must hold at least %" PRId64 " of the elements asked for, holds %" PRId64, min,
		           found);
	if (max >= 0 && found > max)
		return say(c, at, "must hold at most %" PRId64 " of the elements asked for, holds %" PRId64, max,
		           found);
	return true;
}

static bool check_elements(struct check *c, const struct schema_node *n, int tok, const struct at *at)
{
	struct at here = { at, -1, 0, at->level + 1 };
	bool ok = true;

	if (n->prefix.n == 0 && !n->items)
		return true;
	for (int i = json_first(c->doc, tok); i >= 0 && check_steps(c, 1);
	     i = json_next(c->doc, tok, i), here.index++) {
		const struct schema_node *each = here.index < n->prefix.n ? n->prefix.v[here.index] : n->items;
		if (!each)
			break;
		if (each->never && here.index >= n->prefix.n)
			return say(c, at, "must have at most %zu elements, has %d", n->prefix.n,
			           json_size(c->doc, tok));
		if (!eval(c, each, i, &here))
			ok = false;
	}
	return ok;
}

static bool check_array(struct check *c, const struct schema_node *n, int tok, const struct at *at)
{
	size_t first, second;
	bool ok = in_range(c, at, n, MIN_ITEMS, json_size(c->doc, tok), "element");

	if (!check_elements(c, n, tok, at) || !check_contains(c, n, tok, at))
		ok = false;
	if (n->unique && schema_find_twins(c, tok, &first, &second))
		ok = say(c, at, "elements must differ, [%zu] and [%zu] are the same", first, second);
	return ok;
}

/* ---- objects ---- */

static const struct schema_node *member_node(struct check *c, const struct schema_node *n, int key)
{
	for (size_t i = 0; i < n->nmembers && check_steps(c, 1); i++)
		if (json_eq(c->doc, key, n->members[i].name))
			return n->members[i].node;
	return NULL;
}

/* Patterns that match the key have their say; *seen tells whether any did. */
static bool check_patterns(struct check *c, const struct schema_node *n, int key, const struct at *here, bool *seen)
{
	size_t len = 0;
	bool ok = true;
	char *name = n->npatterns ? json_strdup(c->doc, key, &len) : NULL;

	if (n->npatterns && !name)
		c->gave_up = true;
	for (size_t i = 0; name && i < n->npatterns; i++) {
		if (!matches(c, &n->patterns[i], name, len))
			continue;
		*seen = true;
		if (!eval(c, n->patterns[i].node, json_value_of(c->doc, key), here))
			ok = false;
	}
	free(name);
	return ok;
}

static bool check_member(struct check *c, const struct schema_node *n, int key, const struct at *at)
{
	struct at here = { at, key, 0, at->level + 1 };
	const struct schema_node *known = member_node(c, n, key);
	bool seen = known != NULL;
	bool ok = !known || eval(c, known, json_value_of(c->doc, key), &here);

	if (!check_patterns(c, n, key, &here, &seen))
		ok = false;
	if (n->names && !eval(c, n->names, key, &here))
		ok = false;
	if (seen || !n->additional)
		return ok;
	if (n->additional->never)
		return say_unknown(c, at, n, key);
	return eval(c, n->additional, json_value_of(c->doc, key), &here) && ok;
}

static bool has_member(struct check *c, int obj, const char *name)
{
	check_steps(c, json_size(c->doc, obj));
	return json_get(c->doc, obj, name) >= 0;
}

static bool check_names(struct check *c, const struct schema_names *names, int tok, const struct at *at,
                        const char *because)
{
	bool ok = true;

	for (size_t i = 0; i < names->n && !c->gave_up; i++) {
		if (has_member(c, tok, names->v[i]))
			continue;
		if (because)
			ok = say(c, at, "property \"%.100s\" is required beside \"%.100s\" but missing", names->v[i],
			         because);
		else
			ok = say(c, at, "property \"%.100s\" is required but missing", names->v[i]);
	}
	return ok;
}

static bool check_object(struct check *c, const struct schema_node *n, int tok, const struct at *at)
{
	bool ok = in_range(c, at, n, MIN_PROPERTIES, json_size(c->doc, tok), "member");

	if (n->nmembers || n->npatterns || n->additional || n->names)
		for (int key = json_first(c->doc, tok); key >= 0 && !c->gave_up; key = json_next(c->doc, tok, key))
			if (!check_member(c, n, key, at))
				ok = false;
	if (!check_names(c, &n->required, tok, at, NULL))
		ok = false;
	for (size_t i = 0; i < n->ndependencies; i++)
		if (has_member(c, tok, n->dependencies[i].name) &&
		    !check_names(c, &n->dependencies[i].needs, tok, at, n->dependencies[i].name))
			ok = false;
	for (size_t i = 0; i < n->ndependents; i++)
		if (has_member(c, tok, n->dependents[i].name) && !eval(c, n->dependents[i].node, tok, at))
			ok = false;
	return ok;
}

/* ---- several schemas for one value ---- */

static bool silently(struct check *c, const struct schema_node *n, int tok, const struct at *at)
{
	struct problems *out = c->out;

	c->out = NULL;
	bool ok = eval(c, n, tok, at);
	c->out = out;
	return ok;
}

/* How far a value is from an alternative: of another type, another kind of object by its tag, or only wrong in parts.
 */
enum way { WAY_OTHER_TYPE, WAY_OTHER_TAG, WAY_CLOSE };

static enum way try_way(struct check *c, const struct schema_node *n, int tok, const struct at *at, struct buf *text,
                        unsigned *wanted)
{
	struct problems *out = c->out, mine = { .text = text, .max = 1, .level = at->level };

	c->out = &mine;
	eval(c, n, tok, at);
	c->out = out;
	*wanted |= mine.wanted;
	return mine.wanted ? WAY_OTHER_TYPE : mine.tag_failed ? WAY_OTHER_TAG : WAY_CLOSE;
}

/* No alternative fits: tells what the likeliest one lacks, or what each does. */
static bool say_ways(struct check *c, const struct schema_list *list, int tok, const struct at *at)
{
	struct buf all = BUF_INIT(SHOWN_WAYS * (WAY_TEXT + 40));
	enum way best = WAY_OTHER_TYPE;
	const struct schema_node *near = NULL;
	unsigned wanted = 0;
	size_t shown = 0, at_best = 0;

	for (size_t i = 0; i < list->n && !c->gave_up; i++) {
		struct buf text = BUF_INIT(2048);
		enum way way = try_way(c, list->v[i], tok, at, &text, &wanted);
		if (way > best || i == 0) {
			best = way;
			at_best = 0;
			shown = 0;
			buf_clear(&all);
		}
		if (way == best) {
			at_best++;
			near = list->v[i];
			if (shown++ < SHOWN_WAYS)
				buf_addf(&all, "%s(%zu) %.*s", shown > 1 ? "; " : "", i + 1, WAY_TEXT, buf_str(&text));
		}
		buf_release(&text);
	}
	if (best == WAY_OTHER_TYPE)
		say_type(c, at, wanted, tok);
	else if (at_best == 1)
		eval(c, near, tok, at);
	else
		say(c, at, "fits none of the %zu forms it may have: %.500s%s", list->n, buf_str(&all),
		    shown > SHOWN_WAYS ? "; ..." : "");
	buf_release(&all);
	return false;
}

static bool check_any(struct check *c, const struct schema_node *n, int tok, const struct at *at)
{
	for (size_t i = 0; i < n->any.n; i++)
		if (silently(c, n->any.v[i], tok, at))
			return true;
	return c->out && !c->gave_up ? say_ways(c, &n->any, tok, at) : false;
}

static bool check_one(struct check *c, const struct schema_node *n, int tok, const struct at *at)
{
	size_t first = 0;

	for (size_t i = 0; i < n->one.n; i++) {
		if (!silently(c, n->one.v[i], tok, at))
			continue;
		if (first)
			return say(c, at, "must fit exactly one of the %zu forms it may have, fits (%zu) and (%zu)",
			           n->one.n, first, i + 1);
		first = i + 1;
	}
	if (first)
		return true;
	return c->out && !c->gave_up ? say_ways(c, &n->one, tok, at) : false;
}

static bool check_combined(struct check *c, const struct schema_node *n, int tok, const struct at *at)
{
	bool ok = !n->ref || eval(c, n->ref, tok, at);

	for (size_t i = 0; i < n->all.n; i++)
		if (!eval(c, n->all.v[i], tok, at))
			ok = false;
	if (n->any.n && !check_any(c, n, tok, at))
		ok = false;
	if (n->one.n && !check_one(c, n, tok, at))
		ok = false;
	if (n->not_this && silently(c, n->not_this, tok, at))
		ok = say(c, at, "has a form that is not allowed here (\"not\")");
	if (n->if_this) {
		const struct schema_node *then = silently(c, n->if_this, tok, at) ? n->then_this : n->else_this;
		if (then && !eval(c, then, tok, at))
			ok = false;
	}
	return ok;
}

static bool eval_node(struct check *c, const struct schema_node *n, int tok, const struct at *at)
{
	unsigned have = schema_types_of(c->doc, tok);

	if (n->never)
		return say(c, at, "is not allowed here");
	if (n->types && !(n->types & have))
		return say_type(c, at, n->types, tok); /* what else is wrong follows from that */
	bool ok = check_enum(c, n, tok, at);
	if (have & TYPE_NUMBER)
		ok = check_number(c, n, tok, at) && ok;
	else if (have & TYPE_STRING)
		ok = check_string(c, n, tok, at) && ok;
	else if (have & TYPE_ARRAY)
		ok = check_array(c, n, tok, at) && ok;
	else if (have & TYPE_OBJECT)
		ok = check_object(c, n, tok, at) && ok;
	return check_combined(c, n, tok, at) && ok;
}

static bool eval(struct check *c, const struct schema_node *n, int tok, const struct at *at)
{
	if (c->depth >= MAX_DEPTH)
		c->gave_up = true;
	if (!check_steps(c, 1))
		return false;
	c->depth++;
	bool ok = eval_node(c, n, tok, at);
	c->depth--;
	return ok && !c->gave_up;
}

bool json_schema_check(const struct json_schema *s, const struct json *doc, int tok, const char *root, struct buf *why)
{
	struct buf text = BUF_INIT(64 * 1024);
	struct problems out = { .text = &text, .max = MAX_PROBLEMS };
	struct check c = { .s = s,
		           .doc = doc,
		           .root = root,
		           .out = why ? &out : NULL,
		           .steps = BASE_STEPS + TOKEN_STEPS * (int64_t)doc->ntokens };
	struct at top = { .up = NULL, .key = -1 };
	bool ok = eval(&c, s->root, tok, &top);

	if (!ok && why) {
		if (out.n > out.max)
			buf_addf(&text, "; and %d more", out.n - out.max);
		if (c.gave_up)
			buf_addf(&text, "%s%s: too deep or too costly to check against the schema",
			         text.len ? "; " : "", root);
		buf_add(why, buf_str(&text), text.len);
	}
	buf_release(&text);
	return ok;
}
