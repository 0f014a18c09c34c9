/* From the text of a schema to nodes: every keyword is one row of a table. */
#include "base/json_schema.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/json_schema_private.h"
#include "base/suggest.h"
#include "base/utf8.h"

#define MAX_NODES  20000
#define PATH_SHOWN 400

static int fail(struct compiler *c, enum error_code code, const char *text)
{
	int n = (int)utf8_floor(buf_str(&c->path), c->path.len, c->path.len < PATH_SHOWN ? c->path.len : PATH_SHOWN);

	if (n == 0)
		return error_set(c->e, code, "at the top: %s", text);
	return error_set(c->e, code, "at %.*s: %s", n, buf_str(&c->path), text);
}

static void *grab(struct compiler *c, size_t n, size_t size)
{
	void *p = arena_alloc(&c->s->arena, n * size + 1);

	if (!p)
		error_nomem(c->e);
	return p;
}

/* Goes down to `name` and returns what path_up needs. */
static size_t path_down(struct compiler *c, const char *name)
{
	size_t was = c->path.len;

	buf_addc(&c->path, '/');
	for (; *name; name++) {
		if (*name == '~' || *name == '/')
			buf_adds(&c->path, *name == '~' ? "~0" : "~1");
		else
			buf_addc(&c->path, (unsigned char)*name < 0x20 ? '?' : *name);
	}
	return was;
}

static size_t path_down_index(struct compiler *c, size_t i)
{
	size_t was = c->path.len;

	buf_addf(&c->path, "/%zu", i);
	return was;
}

static void path_up(struct compiler *c, size_t was)
{
	if (!c->path.failed)
		buf_cut(&c->path, was);
}

/* A name of the schema, in the arena. */
static const char *name_of(struct compiler *c, int tok)
{
	size_t n;
	char *s = json_strdup(c->doc, tok, &n);
	const char *kept = s ? arena_strndup(&c->s->arena, s, n) : NULL;

	if (!s && json_type(c->doc, tok) != JSON_STRING)
		fail(c, ERR_INPUT, "must be a string");
	else if (!kept)
		error_nomem(c->e);
	else if (strlen(s) != n) {
		fail(c, ERR_INPUT, "must not contain a NUL character");
		kept = NULL;
	}
	free(s);
	return kept;
}

static int read_names(struct compiler *c, int tok, struct schema_names *out)
{
	size_t n = (size_t)json_size(c->doc, tok);

	if (json_type(c->doc, tok) != JSON_ARRAY)
		return fail(c, ERR_INPUT, "must be an array of strings");
	out->v = grab(c, n, sizeof *out->v);
	if (!out->v)
		return -1;
	for (int i = json_first(c->doc, tok); i >= 0; i = json_next(c->doc, tok, i)) {
		size_t was = path_down_index(c, out->n);
		out->v[out->n] = name_of(c, i);
		if (!out->v[out->n++])
			return -1;
		path_up(c, was);
	}
	return 0;
}

/* ---- keywords: each takes the node and the keyword's value ---- */

static const char *const type_names[TYPE_COUNT] = {
	"null", "boolean", "integer", "number", "string", "array", "object"
};

void say_types(struct buf *out, unsigned types)
{
	bool first = true;

	for (unsigned i = 0; i < TYPE_COUNT; i++) {
		unsigned rest = types & ~((1U << (i + 1)) - 1);
		if (!(types & 1U << i))
			continue;
		buf_addf(out, "%s%s", first ? "" : rest ? ", " : " or ", type_names[i]);
		first = false;
	}
}

static int add_type(struct compiler *c, struct schema_node *n, int tok)
{
	for (unsigned i = 0; i < TYPE_COUNT; i++)
		if (json_eq(c->doc, tok, type_names[i])) {
			n->types |= 1U << i;
			return 0;
		}
	return fail(c, ERR_INPUT, "not a type: use null, boolean, integer, number, string, array or object");
}

static int key_type(struct compiler *c, struct schema_node *n, int tok, int arg)
{
	(void)arg;
	if (json_type(c->doc, tok) != JSON_ARRAY)
		return add_type(c, n, tok);
	if (json_size(c->doc, tok) == 0)
		return fail(c, ERR_INPUT, "an empty list of types lets nothing through");
	for (int i = json_first(c->doc, tok); i >= 0; i = json_next(c->doc, tok, i))
		if (add_type(c, n, i) < 0)
			return -1;
	return 0;
}

static int read_members(struct compiler *c, int tok, struct schema_member **out, size_t *n)
{
	if (json_type(c->doc, tok) != JSON_OBJECT)
		return fail(c, ERR_INPUT, "must be an object");
	*out = grab(c, (size_t)json_size(c->doc, tok), sizeof **out);
	if (!*out)
		return -1;
	for (int key = json_first(c->doc, tok); key >= 0; key = json_next(c->doc, tok, key)) {
		struct schema_member *m = &(*out)[(*n)++];
		m->name = name_of(c, key);
		if (!m->name)
			return -1;
		size_t was = path_down(c, m->name);
		m->node = schema_compile_node(c, json_value_of(c->doc, key));
		if (!m->node)
			return -1;
		path_up(c, was);
	}
	return 0;
}

static int key_properties(struct compiler *c, struct schema_node *n, int tok, int arg)
{
	(void)arg;
	return read_members(c, tok, &n->members, &n->nmembers);
}

static int key_dependents(struct compiler *c, struct schema_node *n, int tok, int arg)
{
	(void)arg;
	return read_members(c, tok, &n->dependents, &n->ndependents);
}

/* Definitions are read for their errors; a $ref finds them by their place. */
static int key_definitions(struct compiler *c, struct schema_node *n, int tok, int arg)
{
	struct schema_member *members;
	size_t count = 0;

	(void)n;
	(void)arg;
	return read_members(c, tok, &members, &count);
}

static int key_pattern_properties(struct compiler *c, struct schema_node *n, int tok, int arg)
{
	struct schema_member *members;
	size_t count = 0;

	(void)arg;
	if (read_members(c, tok, &members, &count) < 0)
		return -1;
	n->patterns = grab(c, count, sizeof *n->patterns);
	if (!n->patterns)
		return -1;
	for (; n->npatterns < count; n->npatterns++) {
		struct schema_regex *r = &n->patterns[n->npatterns];
		struct error why = ERROR_INIT;
		r->text = members[n->npatterns].name;
		r->node = members[n->npatterns].node;
		if (schema_regex_compile(c->s, r, &why) < 0)
			return fail(c, why.code, why.msg);
	}
	return 0;
}

static int key_pattern(struct compiler *c, struct schema_node *n, int tok, int arg)
{
	struct error why = ERROR_INIT;

	(void)arg;
	n->pattern = grab(c, 1, sizeof *n->pattern);
	if (!n->pattern || !(n->pattern->text = name_of(c, tok)))
		return -1;
	return schema_regex_compile(c->s, n->pattern, &why) < 0 ? fail(c, why.code, why.msg) : 0;
}

static int key_required(struct compiler *c, struct schema_node *n, int tok, int arg)
{
	(void)arg;
	if (json_type(c->doc, tok) == JSON_BOOL)
		return fail(c, ERR_INPUT, "must be an array of property names, beside \"properties\"");
	return read_names(c, tok, &n->required);
}

static int key_dependent_required(struct compiler *c, struct schema_node *n, int tok, int arg)
{
	(void)arg;
	if (json_type(c->doc, tok) != JSON_OBJECT)
		return fail(c, ERR_INPUT, "must be an object");
	n->dependencies = grab(c, (size_t)json_size(c->doc, tok), sizeof *n->dependencies);
	if (!n->dependencies)
		return -1;
	for (int key = json_first(c->doc, tok); key >= 0; key = json_next(c->doc, tok, key)) {
		struct schema_dependency *d = &n->dependencies[n->ndependencies++];
		d->name = name_of(c, key);
		if (!d->name)
			return -1;
		size_t was = path_down(c, d->name);
		if (read_names(c, json_value_of(c->doc, key), &d->needs) < 0)
			return -1;
		path_up(c, was);
	}
	return 0;
}

static int key_schema(struct compiler *c, struct schema_node *n, int tok, int arg)
{
	struct schema_node **at = (struct schema_node **)(void *)((char *)n + arg);

	*at = schema_compile_node(c, tok);
	return *at ? 0 : -1;
}

static int key_list(struct compiler *c, struct schema_node *n, int tok, int arg)
{
	struct schema_list *list = (struct schema_list *)(void *)((char *)n + arg);

	if (json_type(c->doc, tok) != JSON_ARRAY || json_size(c->doc, tok) == 0)
		return fail(c, ERR_INPUT, "must be an array of schemas, at least one");
	list->v = grab(c, (size_t)json_size(c->doc, tok), sizeof *list->v);
	if (!list->v)
		return -1;
	for (int i = json_first(c->doc, tok); i >= 0; i = json_next(c->doc, tok, i)) {
		size_t was = path_down_index(c, list->n);
		list->v[list->n] = schema_compile_node(c, i);
		if (!list->v[list->n++])
			return -1;
		path_up(c, was);
	}
	return 0;
}

/* One schema for all, or draft 7's list of them. */
static int key_items(struct compiler *c, struct schema_node *n, int tok, int arg)
{
	if (json_type(c->doc, tok) == JSON_ARRAY)
		return json_size(c->doc, tok) == 0 ? 0 : key_list(c, n, tok, offsetof(struct schema_node, prefix));
	return key_schema(c, n, tok, arg);
}

static int key_enum(struct compiler *c, struct schema_node *n, int tok, int arg)
{
	(void)arg;
	if (json_type(c->doc, tok) != JSON_ARRAY || json_size(c->doc, tok) == 0)
		return fail(c, ERR_INPUT, "must be an array of values, at least one");
	n->enum_tok = tok;
	return 0;
}

static int key_const(struct compiler *c, struct schema_node *n, int tok, int arg)
{
	(void)c;
	(void)arg;
	n->const_tok = tok;
	return 0;
}

static int key_unique(struct compiler *c, struct schema_node *n, int tok, int arg)
{
	(void)arg;
	return json_bool(c->doc, tok, &n->unique) ? 0 : fail(c, ERR_INPUT, "must be true or false");
}

static int key_bound(struct compiler *c, struct schema_node *n, int tok, int arg)
{
	double v;

	if (!json_double(c->doc, tok, &v))
		return fail(c, ERR_INPUT, "must be a number");
	if (arg == MULTIPLE_OF && v <= 0)
		return fail(c, ERR_INPUT, "must be a number above 0");
	n->bound[arg] = tok;
	return 0;
}

static int key_count(struct compiler *c, struct schema_node *n, int tok, int arg)
{
	int64_t v;

	if (!json_int(c->doc, tok, &v) || v < 0)
		return fail(c, ERR_INPUT, "must be a whole number, 0 or more");
	n->count[arg] = v;
	return 0;
}

static int key_ref(struct compiler *c, struct schema_node *n, int tok, int arg)
{
	(void)arg;
	if (json_type(c->doc, tok) != JSON_STRING)
		return fail(c, ERR_INPUT, "must be a string");
	if (ARRAY_GROW(c->refs, c->nrefs, c->cap_refs))
		return error_nomem(c->e);
	c->refs[c->nrefs++] = (struct pending){ n, tok };
	return 0;
}

#define NODE(field) (int)offsetof(struct schema_node, field)

static const struct keyword {
	const char *name;
	int (*read)(struct compiler *, struct schema_node *, int tok, int arg); /* NULL: means nothing */
	int arg;
} keywords[] = {
	{ "type", key_type, 0 },
	{ "properties", key_properties, 0 },
	{ "required", key_required, 0 },
	{ "items", key_items, NODE(items) },
	{ "enum", key_enum, 0 },
	{ "const", key_const, 0 },
	{ "additionalProperties", key_schema, NODE(additional) },
	{ "patternProperties", key_pattern_properties, 0 },
	{ "propertyNames", key_schema, NODE(names) },
	{ "prefixItems", key_list, NODE(prefix) },
	{ "contains", key_schema, NODE(contains) },
	{ "minContains", key_count, MIN_CONTAINS },
	{ "maxContains", key_count, MAX_CONTAINS },
	{ "minItems", key_count, MIN_ITEMS },
	{ "maxItems", key_count, MAX_ITEMS },
	{ "uniqueItems", key_unique, 0 },
	{ "minProperties", key_count, MIN_PROPERTIES },
	{ "maxProperties", key_count, MAX_PROPERTIES },
	{ "minLength", key_count, MIN_LENGTH },
	{ "maxLength", key_count, MAX_LENGTH },
	{ "pattern", key_pattern, 0 },
	{ "minimum", key_bound, MINIMUM },
	{ "maximum", key_bound, MAXIMUM },
	{ "exclusiveMinimum", key_bound, EXCLUSIVE_MINIMUM },
	{ "exclusiveMaximum", key_bound, EXCLUSIVE_MAXIMUM },
	{ "multipleOf", key_bound, MULTIPLE_OF },
	{ "allOf", key_list, NODE(all) },
	{ "anyOf", key_list, NODE(any) },
	{ "oneOf", key_list, NODE(one) },
	{ "not", key_schema, NODE(not_this) },
	{ "if", key_schema, NODE(if_this) },
	{ "then", key_schema, NODE(then_this) },
	{ "else", key_schema, NODE(else_this) },
	{ "dependentRequired", key_dependent_required, 0 },
	{ "dependentSchemas", key_dependents, 0 },
	{ "$ref", key_ref, 0 },
	{ "$defs", key_definitions, 0 },
	{ "definitions", key_definitions, 0 },
	{ "$schema", NULL, 0 },
	{ "$id", NULL, 0 },
	{ "$comment", NULL, 0 },
	{ "$vocabulary", NULL, 0 },
	{ "title", NULL, 0 },
	{ "description", NULL, 0 },
	{ "default", NULL, 0 },
	{ "examples", NULL, 0 },
	{ "example", NULL, 0 },
	{ "format", NULL, 0 },
	{ "deprecated", NULL, 0 },
	{ "readOnly", NULL, 0 },
	{ "writeOnly", NULL, 0 },
	{ "contentEncoding", NULL, 0 },
	{ "contentMediaType", NULL, 0 },
	{ "contentSchema", NULL, 0 },
};

#define NKEYWORDS (sizeof keywords / sizeof keywords[0])

static int fail_keyword(struct compiler *c, const char *name)
{
	struct suggest near;
	char text[200];

	suggest_init(&near, name, strlen(name));
	for (size_t i = 0; i < NKEYWORDS; i++)
		suggest_offer(&near, keywords[i].name);
	snprintf(text, sizeof text, "unknown keyword '%.*s'%s%s%s", (int)utf8_floor(name, strlen(name), 60), name,
	         near.best ? " (did you mean " : "", near.best ? near.best : "", near.best ? "?)" : "");
	return fail(c, ERR_INPUT, text);
}

static int read_keyword(struct compiler *c, struct schema_node *n, int key)
{
	const struct keyword *k = keywords;

	while (k < keywords + NKEYWORDS && !json_eq(c->doc, key, k->name))
		k++;
	if (k < keywords + NKEYWORDS) {
		if (!k->read)
			return 0;
		size_t was = path_down(c, k->name);
		int rc = k->read(c, n, json_value_of(c->doc, key), k->arg);
		path_up(c, was);
		return rc;
	}
	char *name = json_strdup(c->doc, key, NULL);
	if (!name)
		return error_nomem(c->e);
	int rc = strncmp(name, "x-", 2) == 0 ? 0 : fail_keyword(c, name);
	free(name);
	return rc;
}

/* Draft 7 says additionalItems for what is behind a list of items; without one it means nothing. */
static int read_additional_items(struct compiler *c, struct schema_node *n, int key)
{
	if (json_type(c->doc, json_get(c->doc, n->tok, "items")) != JSON_ARRAY)
		return 0;
	size_t was = path_down(c, "additionalItems");
	int rc = key_schema(c, n, json_value_of(c->doc, key), NODE(items));
	path_up(c, was);
	return rc;
}

static struct schema_node *new_node(struct compiler *c, int tok)
{
	struct schema_node *n = c->nnodes < MAX_NODES ? grab(c, 1, sizeof *n) : NULL;

	if (c->nnodes >= MAX_NODES)
		fail(c, ERR_LIMIT, "the schema has too many parts");
	if (!n)
		return NULL;
	c->nnodes++;
	n->tok = tok;
	n->enum_tok = n->const_tok = -1;
	for (size_t i = 0; i < BOUNDS; i++)
		n->bound[i] = -1;
	for (size_t i = 0; i < COUNTS; i++)
		n->count[i] = -1;
	c->by_token[tok] = n;
	return n;
}

/* Recursion is as deep as the text is nested. */
struct schema_node *schema_compile_node(struct compiler *c, int tok)
{
	bool yes = false;

	if (c->by_token[tok])
		return c->by_token[tok];
	if (!json_bool(c->doc, tok, &yes) && json_type(c->doc, tok) != JSON_OBJECT) {
		fail(c, ERR_INPUT, "a schema is an object, true or false");
		return NULL;
	}
	struct schema_node *n = new_node(c, tok);
	if (!n)
		return NULL;
	n->never = json_type(c->doc, tok) == JSON_BOOL && !yes;
	for (int key = json_first(c->doc, tok); key >= 0; key = json_next(c->doc, tok, key)) {
		bool more = json_eq(c->doc, key, "additionalItems");
		if ((more ? read_additional_items(c, n, key) : read_keyword(c, n, key)) < 0)
			return NULL;
	}
	return n;
}

/* ---- the whole ---- */

static int compile_all(struct compiler *c)
{
	c->s->root = schema_compile_node(c, json_root(c->doc));
	if (!c->s->root)
		return -1;
	return schema_resolve_refs(c);
}

struct json_schema *json_schema_compile(const char *text, size_t len, struct error *e)
{
	struct json_schema *s = calloc(1, sizeof *s);
	struct compiler c = { .s = s, .e = e };
	int rc = -1;

	buf_init(&c.path, (size_t)4 << 20);
	if (!s)
		error_nomem(e);
	else if (len > JSON_SCHEMA_MAX_BYTES)
		error_set(e, ERR_LIMIT, "the schema has %zu bytes, at most %zu are read", len, JSON_SCHEMA_MAX_BYTES);
	else if (json_parse(&s->doc, text, len, JSON_UNIQUE, e) == 0) {
		c.doc = &s->doc;
		c.by_token = calloc((size_t)s->doc.ntokens + 1, sizeof(*c.by_token));
		rc = c.by_token ? compile_all(&c) : error_nomem(e);
		rc = rc == 0 ? buf_check(&c.path, "the schema", e) : rc;
	}
	free(c.by_token);
	free(c.refs);
	buf_release(&c.path);
	if (rc == 0)
		return s;
	json_schema_free(s);
	return NULL;
}

void json_schema_free(struct json_schema *s)
{
	if (!s)
		return;
	schema_regex_release(s);
	json_release(&s->doc);
	arena_release(&s->arena);
	free(s);
}
