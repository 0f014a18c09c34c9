/* A line of JSON as the tree that YAML makes, so that both forms of a tape have one reader. */
#include <string.h>

#include "base/json.h"
#include "model/tape.h"

struct reader {
	struct arena *arena;
	const struct json *doc;
	int line;
	struct error *e;
};

static int column(const struct reader *r, int tok)
{
	size_t n;
	const char *raw = json_raw(r->doc, tok, &n);

	return raw ? (int)(raw - r->doc->text) + 1 : 1;
}

static int read_string(const struct reader *r, int tok, struct yaml_node *n)
{
	struct buf s = BUF_INIT(TAPE_MAX_BYTES);
	int rc = json_str(r->doc, tok, &s);

	n->len = s.len;
	n->text = rc ? NULL : arena_strndup(r->arena, buf_str(&s), s.len);
	buf_release(&s);
	return n->text ? 0 : error_nomem(r->e);
}

static struct yaml_node *new_node(const struct reader *r, int tok)
{
	struct yaml_node *n = arena_alloc(r->arena, sizeof *n);

	if (!n) {
		error_nomem(r->e);
		return NULL;
	}
	n->line = r->line;
	n->col = column(r, tok);
	return n;
}

static struct yaml_node *read_node(const struct reader *r, int tok, int depth);

static int read_members(const struct reader *r, int tok, int depth, struct yaml_node *n)
{
	struct yaml_node **tail = &n->first;

	n->kind = json_type(r->doc, tok) == JSON_OBJECT ? YAML_MAP : YAML_SEQ;
	if (depth == YAML_MAX_DEPTH)
		return tape_fail(r->e, n, "nested deeper than %d levels", YAML_MAX_DEPTH);
	for (int at = json_first(r->doc, tok); at >= 0; at = json_next(r->doc, tok, at)) {
		struct yaml_node *key = NULL;
		int value = at;
		if (n->kind == YAML_MAP) {
			key = new_node(r, at);
			if (!key || read_string(r, at, key))
				return -1;
			value = json_value_of(r->doc, at);
		}
		*tail = read_node(r, value, depth + 1);
		if (!*tail)
			return -1;
		(*tail)->key = key;
		tail = &(*tail)->next;
	}
	return 0;
}

static int read_plain(const struct reader *r, int tok, struct yaml_node *n)
{
	size_t len = 0;
	const char *raw = json_raw(r->doc, tok, &len);

	n->plain = true;
	n->len = len;
	n->text = arena_strndup(r->arena, raw, len);
	return n->text ? 0 : error_nomem(r->e);
}

/* Recursion is bounded by YAML_MAX_DEPTH. */
static struct yaml_node *read_node(const struct reader *r, int tok, int depth)
{
	struct yaml_node *n = new_node(r, tok);
	int rc;

	if (!n)
		return NULL;
	switch (json_type(r->doc, tok)) {
	case JSON_OBJECT:
	case JSON_ARRAY:
		rc = read_members(r, tok, depth, n);
		break;
	case JSON_STRING:
		rc = read_string(r, tok, n);
		break;
	default:
		rc = read_plain(r, tok, n);
	}
	return rc ? NULL : n;
}

struct yaml_node *tape_json_tree(struct arena *a, const char *text, size_t n, int line, struct error *e)
{
	struct json doc = JSON_INIT;
	struct reader r = { a, &doc, line, e };

	if (json_parse(&doc, text, n, JSON_BORROW | JSON_UNIQUE, e)) {
		error_prefix(e, "%d:1", line);
		return NULL;
	}
	struct yaml_node *root = read_node(&r, json_root(&doc), 0);
	json_release(&doc);
	return root;
}
