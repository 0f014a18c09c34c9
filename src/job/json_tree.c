/* JSON with the places of its values: what settings files are written in. */
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "job/settings.h"

struct growing {
	struct arena *arena;
	const struct json *doc;
	const char *at; /* how far line and col have been counted */
	int line, col;
};

static void count_to(struct growing *g, const char *p)
{
	for (; g->at < p; g->at++) {
		if (*g->at == '\n') {
			g->line++;
			g->col = 1;
		} else if (((unsigned char)*g->at & 0xC0) != 0x80) {
			g->col++;
		}
	}
}

static struct yaml_node *node_at(struct growing *g, int tok)
{
	struct yaml_node *v = arena_alloc(g->arena, sizeof *v);
	size_t n = 0;
	const char *raw = json_raw(g->doc, tok, &n);

	if (!v)
		return NULL;
	count_to(g, raw);
	v->line = g->line;
	v->col = g->col;
	v->text = "";
	return v;
}

/* A string is quoted; numbers, true, false and null are plain words. 0, -1 no memory, -2 a NUL in it. */
static int scalar(struct growing *g, int tok, struct yaml_node *v)
{
	size_t n = 0;

	v->plain = json_type(g->doc, tok) != JSON_STRING;
	if (v->plain) {
		const char *raw = json_raw(g->doc, tok, &n);
		v->text = arena_strndup(g->arena, raw, n);
	} else {
		char *text = json_strdup(g->doc, tok, &n);
		bool nul = text && strlen(text) != n;
		v->text = text ? arena_strndup(g->arena, text, n) : NULL;
		free(text);
		if (nul)
			return -2;
	}
	v->len = n;
	return v->text ? 0 : -1;
}

static struct yaml_node *grow(struct growing *g, int tok, int *rc);

static void grow_members(struct growing *g, int tok, struct yaml_node *v, int *rc)
{
	struct yaml_node **tail = &v->first;
	bool map = v->kind == YAML_MAP;

	for (int at = json_first(g->doc, tok); at >= 0 && !*rc; at = json_next(g->doc, tok, at)) {
		struct yaml_node *key = map ? node_at(g, at) : NULL;
		if (map && !key)
			*rc = -1;
		else if (map)
			*rc = scalar(g, at, key);
		if (*rc)
			return;
		*tail = grow(g, map ? json_value_of(g->doc, at) : at, rc);
		if (!*tail)
			return;
		(*tail)->key = key;
		tail = &(*tail)->next;
	}
}

/* Recursion is bounded by the depth that json_parse lets through. */
static struct yaml_node *grow(struct growing *g, int tok, int *rc)
{
	struct yaml_node *v = node_at(g, tok);
	enum json_type type = json_type(g->doc, tok);

	if (!v) {
		*rc = -1;
		return NULL;
	}
	v->kind = type == JSON_OBJECT ? YAML_MAP : type == JSON_ARRAY ? YAML_SEQ : YAML_SCALAR;
	if (v->kind == YAML_SCALAR)
		*rc = scalar(g, tok, v);
	else
		grow_members(g, tok, v, rc);
	return v;
}

struct yaml_node *json_tree(struct arena *a, const char *text, size_t n, int *line, int *col, struct error *e)
{
	struct json doc = JSON_INIT;
	struct growing g = { a, &doc, text, 1, 1 };
	struct yaml_node *root = NULL;
	int rc = 0;

	if (!json_parse(&doc, text, n, JSON_BORROW | JSON_UNIQUE, e)) {
		g.at = doc.text;
		root = grow(&g, json_root(&doc), &rc);
		if (rc == -2)
			error_set(e, ERR_INPUT, "a NUL character is not allowed");
		else if (rc)
			error_nomem(e);
	} else {
		static const char place[] = "offset ";
		char *end = NULL;
		size_t offset = strncmp(e->msg, place, sizeof place - 1) ? 0
		                                                         : strtoul(e->msg + sizeof place - 1, &end, 10);
		count_to(&g, text + (offset < n ? offset : n));
		if (end && *end == ':')
			memmove(e->msg, end + 2, strlen(end + 2) + 1);
	}
	*line = g.line;
	*col = g.col;
	json_release(&doc);
	return rc ? NULL : root;
}
