#include "model/assembly_block.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_out.h"
#include "base/log.h"
#include "model/server_json.h"
#include "model/sse.h"

#define BIT(kind) (1U << (kind))

static const struct {
	const char *type;
	enum block_kind kind;
} kinds[] = {
	{ "text", BLOCK_TEXT },
	{ "thinking", BLOCK_THINKING },
	{ "redacted_thinking", BLOCK_REDACTED_THINKING },
	{ "tool_use", BLOCK_TOOL_USE },
};

static enum block_kind kind_of(const struct json *doc, int type)
{
	for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
		if (json_eq(doc, type, kinds[i].type))
			return kinds[i].kind;
	return BLOCK_OTHER;
}

static void add_raw(struct buf *b, const struct json *doc, int tok)
{
	size_t n = 0;
	const char *p = json_raw(doc, tok, &n);

	if (p)
		buf_add(b, p, n);
}

static void add_citation(struct assembly_block *b, const struct json *doc, int tok)
{
	if (json_absent(doc, tok))
		return;
	if (b->citations.len)
		buf_addc(&b->citations, ',');
	add_raw(&b->citations, doc, tok);
}

/* What a start event brings already counts as the first delta: some servers put everything there. */
static void take_start_values(struct assembly_block *b, const struct json *doc, int tok)
{
	if (b->kind == BLOCK_TEXT) {
		json_str(doc, json_get(doc, tok, "text"), &b->text);
		int list = json_get(doc, tok, "citations");
		if (json_type(doc, list) == JSON_ARRAY)
			for (int c = json_first(doc, list); c >= 0; c = json_next(doc, list, c))
				add_citation(b, doc, c);
	} else if (b->kind == BLOCK_THINKING) {
		json_str(doc, json_get(doc, tok, "thinking"), &b->text);
		json_str(doc, json_get(doc, tok, "signature"), &b->signature);
	}
}

static int check(struct assembly_block *b, struct error *e)
{
	if (buf_check(&b->text, "a content block", e) || buf_check(&b->signature, "a signature", e) ||
	    buf_check(&b->citations, "a list of citations", e) || buf_check(&b->members, "a content block", e))
		return -1;
	return 0;
}

int assembly_block_start(struct assembly_block *b, int index, const struct json *doc, int tok, struct error *e)
{
	size_t n = 0;

	memset(b, 0, sizeof *b);
	b->index = index;
	buf_init(&b->text, SSE_MAX_EVENT);
	buf_init(&b->signature, SSE_MAX_EVENT);
	buf_init(&b->citations, SSE_MAX_EVENT);
	buf_init(&b->members, SSE_MAX_EVENT);
	if (json_type(doc, tok) != JSON_OBJECT)
		return error_set(e, ERR_PROTOCOL, "content block %d starts without its object", index);
	const char *p = json_raw(doc, tok, &n);
	b->start = malloc(n + 1);
	if (!b->start)
		return error_nomem(e);
	memcpy(b->start, p, n);
	b->start[n] = '\0';
	b->start_len = n;
	b->kind = kind_of(doc, json_get(doc, tok, "type"));
	take_start_values(b, doc, tok);
	if (check(b, e)) {
		assembly_block_release(b);
		return -1;
	}
	return 0;
}

static void append_text(struct assembly_block *b, const struct json *doc, int delta, const char *field)
{
	json_str(doc, json_get(doc, delta, field), &b->text);
}

/* The signature comes whole: a second one replaces the first. */
static void set_signature(struct assembly_block *b, const struct json *doc, int delta, const char *field)
{
	int tok = json_get(doc, delta, field);

	if (json_type(doc, tok) != JSON_STRING)
		return;
	buf_clear(&b->signature);
	json_str(doc, tok, &b->signature);
}

static void push_citation(struct assembly_block *b, const struct json *doc, int delta, const char *field)
{
	add_citation(b, doc, json_get(doc, delta, field));
}

/* The members of a block of another kind that deltas may set. */
enum { KEY_CONTENT, KEY_ENCRYPTED_CONTENT, KEY_SIGNATURE, KEY_INPUT, N_KEYS };
static const char *const member_keys[N_KEYS] = { "content", "encrypted_content", "signature", "input" };

/* Opens a member; false if it is there already. */
static bool begin_member(struct assembly_block *b, int key)
{
	if (b->set & BIT(key))
		return false;
	b->set |= BIT(key);
	buf_addf(&b->members, ",\"%s\":", member_keys[key]);
	return true;
}

static bool is_set(const struct assembly_block *b, const struct json *doc, int key)
{
	for (int i = 0; i < N_KEYS; i++)
		if (b->set & BIT(i) && json_eq(doc, key, member_keys[i]))
			return true;
	return false;
}

static void set_compaction(struct assembly_block *b, const struct json *doc, int delta, const char *field)
{
	(void)field;
	for (int i = KEY_CONTENT; i <= KEY_ENCRYPTED_CONTENT; i++) {
		int tok = json_get(doc, delta, member_keys[i]);
		if (tok >= 0 && begin_member(b, i))
			add_raw(&b->members, doc, tok);
	}
}

static const struct delta_row {
	const char *type, *field;
	unsigned kinds;
	void (*apply)(struct assembly_block *b, const struct json *doc, int delta, const char *field);
} delta_rows[] = {
	{ "text_delta", "text", BIT(BLOCK_TEXT), append_text },
	{ "input_json_delta", "partial_json", BIT(BLOCK_TOOL_USE) | BIT(BLOCK_OTHER), append_text },
	{ "thinking_delta", "thinking", BIT(BLOCK_THINKING), append_text },
	{ "signature_delta", "signature", BIT(BLOCK_THINKING) | BIT(BLOCK_OTHER), set_signature },
	{ "citations_delta", "citation", BIT(BLOCK_TEXT), push_citation },
	{ "compaction_delta", NULL, BIT(BLOCK_OTHER), set_compaction },
};

int assembly_block_delta(struct assembly_block *b, const struct json *doc, int delta, struct error *e)
{
	int type = json_get(doc, delta, "type");

	for (size_t i = 0; i < sizeof delta_rows / sizeof delta_rows[0]; i++) {
		const struct delta_row *row = &delta_rows[i];
		if (!json_eq(doc, type, row->type))
			continue;
		if (!(row->kinds & BIT(b->kind)))
			break;
		row->apply(b, doc, delta, row->field);
		return check(b, e);
	}
	log_verbose("content block %d: a delta that does not fit it is ignored", b->index);
	return 0;
}

static struct block *from_json(struct buf *json, struct error *e)
{
	struct block *made = NULL;

	if (!buf_check(json, "a content block", e))
		made = block_from_json(json->data, json->len, e);
	buf_release(json);
	return made;
}

static struct block *finish_text(struct assembly_block *b, struct error *e)
{
	struct buf json = BUF_INIT(BUF_HUGE);
	struct json_out o;

	if (!b->citations.len) {
		struct block *made = block_new_text(buf_str(&b->text), b->text.len);
		if (!made)
			error_nomem(e);
		return made;
	}
	json_out_init(&o, &json);
	jo_object(&o);
	jo_kstr(&o, "type", "text");
	jo_key(&o, "text");
	jo_strn(&o, buf_str(&b->text), b->text.len);
	jo_key(&o, "citations");
	jo_array(&o);
	jo_raw(&o, b->citations.data, b->citations.len);
	jo_end(&o);
	jo_end(&o);
	return from_json(&json, e);
}

static struct block *finish_thinking(struct assembly_block *b, struct error *e)
{
	struct buf json = BUF_INIT(BUF_HUGE);
	struct json_out o;

	json_out_init(&o, &json);
	jo_object(&o);
	jo_kstr(&o, "type", "thinking");
	jo_key(&o, "thinking");
	jo_strn(&o, buf_str(&b->text), b->text.len);
	jo_key(&o, "signature");
	jo_strn(&o, buf_str(&b->signature), b->signature.len);
	jo_end(&o);
	return from_json(&json, e);
}

/* True if nothing but white space was streamed. */
static bool is_blank(const struct buf *b)
{
	return strspn(buf_str(b), " \t\r\n") == b->len;
}

/* The start event's input is a placeholder, unless the server put the whole input there (as an object, or as the text
 * of one): then that is what was streamed. */
static void input_from_start(struct assembly_block *b, const struct json *start)
{
	int input = json_get(start, json_root(start), "input");

	buf_clear(&b->text);
	if (json_type(start, input) == JSON_STRING)
		json_str(start, input, &b->text);
	else if (json_type(start, input) == JSON_OBJECT)
		add_raw(&b->text, start, input);
	if (is_blank(&b->text)) {
		buf_clear(&b->text);
		buf_adds(&b->text, "{}");
	}
}

/* A tool_use whose input is no JSON object: history needs an object, and whoever answers the call needs the raw text.
 */
static struct block *bad_tool_use(const char *id, const char *name, struct buf *raw)
{
	struct block *made = block_new_tool_use(id, name, "{}", 2);

	if (!made)
		return NULL;
	made->bad_input = buf_take(raw, NULL);
	if (!made->bad_input) {
		block_unref(made);
		return NULL;
	}
	return made;
}

static struct block *tool_use_with(struct assembly_block *b, const char *id, const char *name)
{
	struct json input = JSON_INIT;
	struct block *made;
	size_t n = 0;

	if (server_json_parse(&input, buf_str(&b->text), b->text.len, NULL) ||
	    json_type(&input, json_root(&input)) != JSON_OBJECT) {
		json_release(&input);
		return bad_tool_use(id, name, &b->text);
	}
	const char *p = json_raw(&input, json_root(&input), &n);
	made = block_new_tool_use(id, name, p, n);
	json_release(&input);
	return made;
}

static struct block *finish_tool_use(struct assembly_block *b, struct error *e)
{
	struct json start = JSON_INIT;
	struct block *made = NULL;
	char made_up[32];

	if (server_json_parse(&start, b->start, b->start_len, e))
		return NULL;
	if (is_blank(&b->text))
		input_from_start(b, &start);
	/* The history must pair calls and results, so a call without an id gets one, and without a name a name. */
	char *id = json_strdup(&start, json_get(&start, json_root(&start), "id"), NULL);
	char *name = json_strdup(&start, json_get(&start, json_root(&start), "name"), NULL);
	snprintf(made_up, sizeof made_up, "toolu_%d", b->index);
	if (!b->text.failed)
		made = tool_use_with(b, id && *id ? id : made_up, name && *name ? name : "unknown");
	if (!made)
		error_nomem(e);
	free(id);
	free(name);
	json_release(&start);
	return made;
}

static void collect_members(struct assembly_block *b)
{
	struct json input = JSON_INIT;

	if (b->signature.len && begin_member(b, KEY_SIGNATURE))
		json_quote(&b->members, b->signature.data, b->signature.len);
	if (is_blank(&b->text) || !begin_member(b, KEY_INPUT))
		return;
	/* The server runs these itself and knows what it meant; we only must send back an object. */
	if (!server_json_parse(&input, b->text.data, b->text.len, NULL) &&
	    json_type(&input, json_root(&input)) == JSON_OBJECT)
		add_raw(&b->members, &input, json_root(&input));
	else
		buf_adds(&b->members, "{}");
	json_release(&input);
}

/* Any other kind is kept as it came; what deltas set replaces the start's value. */
static struct block *finish_other(struct assembly_block *b, struct error *e)
{
	struct json start = JSON_INIT;
	struct buf json = BUF_INIT(BUF_HUGE);

	collect_members(b);
	if (!b->members.len)
		return block_from_json(b->start, b->start_len, e);
	if (check(b, e) || server_json_parse(&start, b->start, b->start_len, e))
		return NULL;
	int root = json_root(&start);
	for (int key = json_first(&start, root); key >= 0; key = json_next(&start, root, key)) {
		if (is_set(b, &start, key))
			continue;
		buf_addc(&json, json.len ? ',' : '{');
		add_raw(&json, &start, key);
		buf_addc(&json, ':');
		add_raw(&json, &start, json_value_of(&start, key));
	}
	if (!json.len)
		buf_adds(&json, "{\"type\":\"unknown\"");
	buf_add(&json, b->members.data, b->members.len);
	buf_addc(&json, '}');
	json_release(&start);
	return from_json(&json, e);
}

struct block *assembly_block_finish(struct assembly_block *b, struct error *e)
{
	struct block *made;

	switch (b->kind) {
	case BLOCK_TEXT:
		made = finish_text(b, e);
		break;
	case BLOCK_THINKING:
		made = finish_thinking(b, e);
		break;
	case BLOCK_TOOL_USE:
		made = finish_tool_use(b, e);
		break;
	default:
		made = finish_other(b, e);
		break;
	}
	assembly_block_release(b);
	return made;
}

void assembly_block_release(struct assembly_block *b)
{
	free(b->start);
	b->start = NULL;
	b->start_len = 0;
	buf_release(&b->text);
	buf_release(&b->signature);
	buf_release(&b->citations);
	buf_release(&b->members);
}
