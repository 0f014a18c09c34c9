/* $ref: pointers into the schema, and the circles that they must not make. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_schema_private.h"

#define MAX_CHAIN 500 /* schemas that apply to the same value one through the other */

static int hex(char ch)
{
	const char *digits = "0123456789abcdef", *at = ch ? strchr(digits, ch | 0x20) : NULL;

	return at ? (int)(at - digits) : -1;
}

/* One step of a pointer, decoded in place: %XX of the URI, then ~1 and ~0. */
static void decode_step(char *s)
{
	char *out = s;

	for (const char *p = s; *p; p++) {
		if (*p == '%' && hex(p[1]) >= 0 && hex(p[2]) >= 0) {
			*out++ = (char)(hex(p[1]) * 16 + hex(p[2]));
			p += 2;
		} else {
			*out++ = *p;
		}
	}
	*out = '\0';
	out = s;
	for (const char *p = s; *p; p++) {
		if (*p == '~' && (p[1] == '0' || p[1] == '1'))
			*out++ = *++p == '0' ? '~' : '/';
		else
			*out++ = *p;
	}
	*out = '\0';
}

static int step_to(const struct json *doc, int tok, const char *name)
{
	if (json_type(doc, tok) == JSON_OBJECT)
		return json_get(doc, tok, name);
	if (json_type(doc, tok) != JSON_ARRAY || !*name || strspn(name, "0123456789") != strlen(name))
		return -1;
	long long i = strtoll(name, NULL, 10);
	int at = json_first(doc, tok);
	while (at >= 0 && i-- > 0)
		at = json_next(doc, tok, at);
	return at;
}

/* The token that "#/a/b" names, -1 if there is none. Cuts the text to pieces. */
static int find_target(const struct json *doc, char *ref)
{
	int tok = json_root(doc);
	char *step = ref + 1;

	while (tok >= 0 && *step == '/') {
		char *end = step + 1 + strcspn(step + 1, "/");
		char kept = *end;
		*end = '\0';
		decode_step(step + 1);
		tok = step_to(doc, tok, step + 1);
		*end = kept;
		step = end;
	}
	return tok;
}

static int resolve(struct compiler *c, struct pending p)
{
	char *ref = json_strdup(c->doc, p.tok, NULL);
	char text[300];

	if (!ref)
		return error_nomem(c->e);
	if (buf_check(&c->path, "the schema", c->e) < 0) { /* clearing it would forget that */
		free(ref);
		return -1;
	}
	snprintf(text, sizeof text, "%.200s", ref);
	buf_clear(&c->path);
	int tok = -1;
	if (strcmp(ref, "#") != 0 && strncmp(ref, "#/", 2) != 0) {
		error_set(c->e, ERR_INPUT,
		          "$ref '%s': only references inside the schema are followed, as in #/$defs/name", text);
	} else {
		tok = find_target(c->doc, ref);
		if (tok < 0)
			error_set(c->e, ERR_INPUT, "$ref '%s' names nothing in the schema", text);
	}
	free(ref);
	if (tok < 0)
		return -1;
	buf_adds(&c->path, text + 1);
	p.node->ref = schema_compile_node(c, tok);
	return p.node->ref ? 0 : -1;
}

/* ---- circles: a schema must not apply to a value by way of itself ---- */

static int walk(struct compiler *c, struct schema_node *n, int depth);

static int walk_list(struct compiler *c, const struct schema_list *list, int depth)
{
	for (size_t i = 0; i < list->n; i++)
		if (walk(c, list->v[i], depth) < 0)
			return -1;
	return 0;
}

static int walk(struct compiler *c, struct schema_node *n, int depth)
{
	enum { NEW, OPEN, DONE };

	if (!n || n->walked == DONE)
		return 0;
	if (n->walked == OPEN)
		return error_set(c->e, ERR_INPUT,
		                 "a schema refers to itself without going into the value ($ref, "
		                 "allOf, anyOf, oneOf, not, if)");
	if (depth > MAX_CHAIN)
		return error_set(c->e, ERR_LIMIT, "more than %d references in a row", MAX_CHAIN);
	n->walked = OPEN;
	if (walk(c, n->ref, depth + 1) < 0 || walk(c, n->not_this, depth + 1) < 0 ||
	    walk(c, n->if_this, depth + 1) < 0 || walk(c, n->then_this, depth + 1) < 0 ||
	    walk(c, n->else_this, depth + 1) < 0 || walk_list(c, &n->all, depth + 1) < 0 ||
	    walk_list(c, &n->any, depth + 1) < 0 || walk_list(c, &n->one, depth + 1) < 0)
		return -1;
	for (size_t i = 0; i < n->ndependents; i++)
		if (walk(c, n->dependents[i].node, depth + 1) < 0)
			return -1;
	n->walked = DONE;
	return 0;
}

int schema_resolve_refs(struct compiler *c)
{
	for (size_t i = 0; i < c->nrefs; i++) /* what a reference leads to may hold more of them */
		if (resolve(c, c->refs[i]) < 0)
			return -1;
	for (int tok = 0; tok < c->doc->ntokens; tok++)
		if (walk(c, c->by_token[tok], 0) < 0)
			return -1;
	return 0;
}
