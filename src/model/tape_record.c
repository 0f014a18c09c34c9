/*
 * The events of a run as a tape: the answers that its history kept, in order. What was withdrawn (a tombstone names
 * it) and what the program said itself are left out, so that the replayed run asks only for what the first one kept.
 */
#include <string.h>

#include "base/json.h"
#include "base/json_out.h"
#include "model/tape.h"

struct recording {
	struct tape *tape;
	const char *open; /* id of the message whose lines are being read */
	struct error *e;
};

static const char *text_of(const struct yaml_node *map, const char *key)
{
	const struct yaml_node *v = map && map->kind == YAML_MAP ? yaml_get(map, key) : NULL;

	return v && v->kind == YAML_SCALAR && !v->plain ? v->text : NULL;
}

static bool says(const struct yaml_node *map, const char *key, const char *value)
{
	const char *text = text_of(map, key);

	return text && !strcmp(text, value);
}

/* A session that its program opens begins with answers to control requests: no event, but of a run all the same. */
bool tape_is_record(const char *line, size_t n)
{
	struct json doc = JSON_INIT;

	if (!n || line[0] != '{' || json_parse(&doc, line, n, JSON_BORROW, NULL))
		return false;
	int root = json_root(&doc);
	bool is = json_get(&doc, root, "type") >= 0 && json_get(&doc, root, "tape") < 0 &&
	          (json_get(&doc, root, "session_id") >= 0 || json_get(&doc, root, "response") >= 0);
	json_release(&doc);
	return is;
}

static int to_json(const struct recording *r, const struct yaml_node *v, struct tape_block *b)
{
	struct buf text = BUF_INIT(TAPE_MAX_BYTES);
	struct json_out o;

	json_out_init(&o, &text);
	int rc = yaml_to_json(v, &o, r->e);
	if (rc)
		tape_fail(r->e, v, "this block cannot be written again: it is nested too deeply");
	else
		rc = buf_check(&text, "a block of the record", r->e);
	if (!rc) {
		b->json = arena_strndup(&r->tape->arena, buf_str(&text), text.len);
		b->json_len = text.len;
		rc = b->json ? 0 : error_nomem(r->e);
	}
	buf_release(&text);
	return rc;
}

static int read_text_block(const struct yaml_node *v, const char *key, enum tape_block_kind kind, struct tape_block *b)
{
	const struct yaml_node *text = yaml_get(v, key);

	b->kind = kind;
	b->text = text->text;
	b->text_len = text->len;
	b->signature = text_of(v, "signature");
	return 0;
}

static int read_block(const struct recording *r, const struct yaml_node *v, struct tape_block *b)
{
	if (says(v, "type", "text") && text_of(v, "text"))
		return read_text_block(v, "text", TAPE_TEXT, b);
	if (says(v, "type", "thinking") && text_of(v, "thinking"))
		return read_text_block(v, "thinking", TAPE_THINKING, b);
	b->kind = TAPE_RAW;
	if (says(v, "type", "tool_use") && text_of(v, "id") && text_of(v, "name") && yaml_get(v, "input")) {
		b->kind = TAPE_TOOL_USE;
		b->id = text_of(v, "id");
		b->name = text_of(v, "name");
		v = yaml_get(v, "input");
	}
	return to_json(r, v, b);
}

/* Room for one more block. The arena has no realloc: what is outgrown stays until the tape goes. */
static struct tape_block *new_block(const struct recording *r, struct tape_answer *ans)
{
	if (!(ans->nblocks & (ans->nblocks - 1)) && (ans->nblocks != 1)) {
		size_t cap = ans->nblocks ? 2 * ans->nblocks : 2;
		struct tape_block *p = arena_alloc(&r->tape->arena, cap * sizeof *p);
		if (!p) {
			error_nomem(r->e);
			return NULL;
		}
		if (ans->nblocks)
			memcpy(p, ans->blocks, ans->nblocks * sizeof *p);
		ans->blocks = p;
	}
	return &ans->blocks[ans->nblocks++];
}

/* The lines of one answer follow each other and share the message's id. */
static struct tape_answer *answer_of(struct recording *r, const struct yaml_node *line, const struct yaml_node *message)
{
	const char *id = text_of(message, "id");

	if (!r->open || !id || strcmp(r->open, id) != 0) {
		tape_init_answer(&r->tape->answers[r->tape->n++], line->line, TAPE_CONTENT);
		r->open = id;
	}
	return &r->tape->answers[r->tape->n - 1];
}

static int read_assistant(struct recording *r, const struct yaml_node *line)
{
	const struct yaml_node *message = yaml_get(line, "message");
	const struct yaml_node *content = message && message->kind == YAML_MAP ? yaml_get(message, "content") : NULL;

	if (!content || content->kind != YAML_SEQ)
		return tape_fail(r->e, line, "an assistant event without content: is this the record of a run?");
	if (says(message, "model", "<synthetic>"))
		return 0;
	if (yaml_get(line, "quern_file"))
		return tape_fail(r->e, line, "this event was cut when it was recorded: the answer cannot be replayed");
	struct tape_answer *ans = answer_of(r, line, message);
	for (const struct yaml_node *v = content->first; v; v = v->next) {
		struct tape_block *b = new_block(r, ans);
		if (!b || read_block(r, v, b))
			return -1;
	}
	const struct yaml_node *usage = yaml_get(message, "usage");
	ans->id = text_of(message, "id");
	ans->model = text_of(message, "model");
	ans->stop_reason = text_of(message, "stop_reason");
	ans->usage = usage && usage->kind == YAML_MAP ? usage : NULL;
	return 0;
}

static void withdraw(struct recording *r, const char *id)
{
	struct tape *t = r->tape;

	for (size_t i = t->n; i > 0; i--) {
		if (!t->answers[i - 1].id || strcmp(t->answers[i - 1].id, id) != 0)
			continue;
		memmove(&t->answers[i - 1], &t->answers[i], (t->n - i) * sizeof *t->answers);
		t->n--;
		r->open = NULL;
		return;
	}
}

static int read_event(struct recording *r, const struct yaml_node *line)
{
	if (line->kind != YAML_MAP)
		return tape_fail(r->e, line, "an event must be an object");
	if (says(line, "type", "assistant"))
		return read_assistant(r, line);
	const struct yaml_node *ids = says(line, "subtype", "quern_tombstone") ? yaml_get(line, "message_ids") : NULL;
	for (const struct yaml_node *v = ids && ids->kind == YAML_SEQ ? ids->first : NULL; v; v = v->next)
		if (v->kind == YAML_SCALAR)
			withdraw(r, v->text);
	return 0;
}

int tape_read_record(struct tape *t, const char *text, size_t n, struct error *e)
{
	const char *at = text, *end = text + n;
	struct tape_line l = { NULL, 0, 0 };
	struct recording r = { t, NULL, e };

	while (tape_next_line(&at, end, &l)) {
		if (!l.n)
			continue;
		/* A run that was killed leaves a torn last line: what stands before it is whole. */
		if (at == end && end[-1] != '\n' && json_validate(l.p, l.n, 0, NULL, NULL))
			break;
		const struct yaml_node *line = tape_json_tree(&t->arena, l.p, l.n, l.no, e);
		if (!line || read_event(&r, line))
			return -1;
	}
	return 0;
}
