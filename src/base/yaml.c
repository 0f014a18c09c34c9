#include "base/yaml.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

/* An open sequence or map: where its next value goes, and in a map the key that waits for one. */
struct frame {
	struct yaml_node *node;
	struct yaml_node **tail;
	const struct yaml_node *key;
	size_t n;
};

struct builder {
	struct arena *arena;
	yaml_parser_t parser;
	struct yaml_node *root;
	struct frame stack[YAML_MAX_DEPTH];
	int depth;
	int documents;
	int *line, *col;
	struct error *e;
};

static int fail_at(struct builder *b, int line, int col, const char *text)
{
	*b->line = line;
	*b->col = col;
	return error_set(b->e, ERR_INPUT, "%s", text);
}

static int fail_mark(struct builder *b, yaml_mark_t mark, const char *text)
{
	return fail_at(b, (int)mark.line + 1, (int)mark.column + 1, text);
}

/* The position of a byte: libyaml gives no mark for what its reader refuses. */
static void position_of(const char *text, size_t offset, int *line, int *col)
{
	*line = *col = 1;
	for (size_t i = 0; i < offset; i++) {
		if (text[i] == '\n') {
			++*line;
			*col = 1;
		} else if (((unsigned char)text[i] & 0xC0) != 0x80) {
			++*col;
		}
	}
}

static struct yaml_node *new_node(struct builder *b, enum yaml_kind kind, yaml_mark_t mark)
{
	struct yaml_node *n = arena_alloc(b->arena, sizeof *n);

	if (!n) {
		error_nomem(b->e);
		return NULL;
	}
	n->kind = kind;
	n->line = (int)mark.line + 1;
	n->col = (int)mark.column + 1;
	n->text = "";
	return n;
}

/* Puts a finished or just opened node where it belongs: as root, item, key or value. */
static int place(struct builder *b, struct yaml_node *n)
{
	if (!b->depth) {
		b->root = n;
		return 0;
	}
	struct frame *f = &b->stack[b->depth - 1];
	if (f->node->kind == YAML_MAP && !f->key) {
		if (n->kind != YAML_SCALAR)
			return fail_at(b, n->line, n->col, "a key must be a plain word or a string");
		if (n->plain && !strcmp(n->text, "<<"))
			return fail_at(b, n->line, n->col, "merge keys are not allowed");
		f->key = n;
		return 0;
	}
	n->key = f->key;
	f->key = NULL;
	*f->tail = n;
	f->tail = &n->next;
	f->n++;
	return 0;
}

static int open_node(struct builder *b, enum yaml_kind kind, yaml_mark_t mark)
{
	if (b->depth == YAML_MAX_DEPTH)
		return fail_mark(b, mark, "nested deeper than 64 levels");
	struct yaml_node *n = new_node(b, kind, mark);
	if (!n || place(b, n))
		return -1;
	b->stack[b->depth++] = (struct frame){ n, &n->first, NULL, 0 };
	return 0;
}

static int by_key(const void *pa, const void *pb)
{
	const struct yaml_node *a = *(const struct yaml_node *const *)pa;
	const struct yaml_node *b = *(const struct yaml_node *const *)pb;
	int c = strcmp(a->key->text, b->key->text);

	if (c)
		return c;
	if (a->key->line != b->key->line)
		return a->key->line < b->key->line ? -1 : 1;
	return a->key->col < b->key->col ? -1 : 1;
}

/* Sorting keeps this from being quadratic in a file that is one large map. */
static int check_unique(struct builder *b, const struct frame *f)
{
	if (f->n < 2)
		return 0;
	const struct yaml_node **all = malloc(f->n * sizeof(*all));
	if (!all)
		return error_nomem(b->e);
	size_t n = 0;
	for (const struct yaml_node *v = f->node->first; v; v = v->next)
		all[n++] = v;
	qsort(all, n, sizeof(*all), by_key);
	const struct yaml_node *first = NULL;
	for (size_t i = 1; i < n; i++) {
		const struct yaml_node *k = all[i]->key;
		if (!strcmp(all[i - 1]->key->text, k->text) &&
		    (!first || k->line < first->line || (k->line == first->line && k->col < first->col)))
			first = k;
	}
	free(all);
	if (!first)
		return 0;
	*b->line = first->line;
	*b->col = first->col;
	return error_set(b->e, ERR_INPUT, "the key '%.80s' is there twice", first->text);
}

static int close_node(struct builder *b)
{
	const struct frame *f = &b->stack[--b->depth];

	return f->node->kind == YAML_MAP ? check_unique(b, f) : 0;
}

static int add_scalar(struct builder *b, const yaml_event_t *ev)
{
	const char *text = (const char *)ev->data.scalar.value;
	size_t len = ev->data.scalar.length;

	if (memchr(text, '\0', len))
		return fail_mark(b, ev->start_mark, "a NUL character is not allowed");
	struct yaml_node *n = new_node(b, YAML_SCALAR, ev->start_mark);
	if (!n)
		return -1;
	n->text = arena_strndup(b->arena, text, len);
	if (!n->text)
		return error_nomem(b->e);
	n->len = len;
	n->plain = ev->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
	return place(b, n);
}

static int start_document(struct builder *b, const yaml_event_t *ev)
{
	if (b->documents++)
		return fail_mark(b, ev->start_mark, "a second document is not allowed");
	if (ev->data.document_start.tag_directives.start != ev->data.document_start.tag_directives.end)
		return fail_mark(b, ev->start_mark, "tags are not allowed");
	return 0;
}

/* Tags could name code, anchors could multiply text: neither has a place in these files. */
static int check_properties(struct builder *b, const yaml_event_t *ev, const yaml_char_t *anchor,
                            const yaml_char_t *tag)
{
	if (anchor)
		return fail_mark(b, ev->start_mark, "anchors are not allowed");
	if (tag)
		return fail_mark(b, ev->start_mark, "tags are not allowed");
	return 0;
}

static int take_event(struct builder *b, const yaml_event_t *ev)
{
	switch (ev->type) {
	case YAML_DOCUMENT_START_EVENT:
		return start_document(b, ev);
	case YAML_ALIAS_EVENT:
		return fail_mark(b, ev->start_mark, "aliases are not allowed");
	case YAML_SCALAR_EVENT:
		if (check_properties(b, ev, ev->data.scalar.anchor, ev->data.scalar.tag))
			return -1;
		return add_scalar(b, ev);
	case YAML_SEQUENCE_START_EVENT:
		if (check_properties(b, ev, ev->data.sequence_start.anchor, ev->data.sequence_start.tag))
			return -1;
		return open_node(b, YAML_SEQ, ev->start_mark);
	case YAML_MAPPING_START_EVENT:
		if (check_properties(b, ev, ev->data.mapping_start.anchor, ev->data.mapping_start.tag))
			return -1;
		return open_node(b, YAML_MAP, ev->start_mark);
	case YAML_SEQUENCE_END_EVENT:
	case YAML_MAPPING_END_EVENT:
		return close_node(b);
	default:
		return 0;
	}
}

static int parser_failed(struct builder *b, const char *text, size_t n)
{
	const yaml_parser_t *p = &b->parser;

	if (p->error == YAML_MEMORY_ERROR)
		return error_nomem(b->e);
	if (p->error == YAML_READER_ERROR) {
		position_of(text, p->problem_offset < n ? p->problem_offset : n, b->line, b->col);
		return error_set(b->e, ERR_INPUT, "%s", p->problem ? p->problem : "unreadable text");
	}
	*b->line = (int)p->problem_mark.line + 1;
	*b->col = (int)p->problem_mark.column + 1;
	if (p->context)
		return error_set(b->e, ERR_INPUT, "%s (%s)", p->problem ? p->problem : "not YAML", p->context);
	return error_set(b->e, ERR_INPUT, "%s", p->problem ? p->problem : "not YAML");
}

static int read_events(struct builder *b, const char *text, size_t n)
{
	for (;;) {
		yaml_event_t ev;

		if (!yaml_parser_parse(&b->parser, &ev))
			return parser_failed(b, text, n);
		int rc = take_event(b, &ev);
		bool end = ev.type == YAML_STREAM_END_EVENT;
		yaml_event_delete(&ev);
		if (rc || end)
			return rc;
	}
}

int yaml_parse(struct arena *a, const char *text, size_t n, struct yaml_node **root, int *line, int *col,
               struct error *e)
{
	struct builder b = { .arena = a, .line = line, .col = col, .e = e };

	*root = NULL;
	*line = *col = 1;
	if (n > YAML_MAX_BYTES)
		return error_set(e, ERR_LIMIT, "larger than %zu bytes", (size_t)YAML_MAX_BYTES);
	if (n >= 3 && !memcmp(text, "\xEF\xBB\xBF", 3)) {
		text += 3;
		n -= 3;
	}
	const char *nul = n ? memchr(text, '\0', n) : NULL;
	if (nul) {
		position_of(text, (size_t)(nul - text), line, col);
		return error_set(e, ERR_INPUT, "a NUL byte is not allowed");
	}
	if (!yaml_parser_initialize(&b.parser))
		return error_nomem(e);
	/* Without this a UTF-16 mark would change the meaning of every byte. */
	yaml_parser_set_encoding(&b.parser, YAML_UTF8_ENCODING);
	yaml_parser_set_input_string(&b.parser, (const unsigned char *)(n ? text : ""), n);
	int rc = read_events(&b, text, n);
	yaml_parser_delete(&b.parser);
	if (rc)
		return -1;
	if (b.root && !(b.root->kind == YAML_SCALAR && b.root->plain && !b.root->len))
		*root = b.root;
	return 0;
}

const struct yaml_node *yaml_get(const struct yaml_node *map, const char *key)
{
	if (!map || map->kind != YAML_MAP)
		return NULL;
	for (const struct yaml_node *v = map->first; v; v = v->next)
		if (!strcmp(v->key->text, key))
			return v;
	return NULL;
}
