/*
 * Blocks. The serialised form is the truth: every constructor writes or takes JSON first, and the
 * decoded fields are read back from it, so that they cannot say anything else than what is sent.
 */
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/json_out.h"
#include "base/utf8.h"
#include "message/media.h"
#include "message/message.h"

typedef int (*read_fn)(struct block *b, const struct json *doc, struct error *e);

/* A required member: decoded, not empty, and usable as a C string. */
static char *read_name(const struct json *doc, const char *key, struct error *e)
{
	int tok = json_get(doc, json_root(doc), key);

	if (json_type(doc, tok) != JSON_STRING || json_eq(doc, tok, "")) {
		error_set(e, ERR_PROTOCOL, "a content block has no '%s'", key);
		return NULL;
	}
	size_t n;
	char *s = json_strdup(doc, tok, &n);
	if (!s) {
		error_nomem(e);
	} else if (strlen(s) != n) {
		error_set(e, ERR_PROTOCOL, "the '%s' of a content block holds a NUL", key);
		free(s);
		s = NULL;
	}
	return s;
}

/* An optional member of text: "" if it is not there. */
static int read_text(struct block *b, const struct json *doc, const char *key, struct error *e)
{
	struct buf text = BUF_INIT(doc->len);

	json_str(doc, json_get(doc, json_root(doc), key), &text);
	b->text = buf_take(&text, &b->text_len);
	buf_release(&text);
	return b->text ? 0 : error_nomem(e);
}

static int read_text_block(struct block *b, const struct json *doc, struct error *e)
{
	if (json_type(doc, json_get(doc, json_root(doc), "text")) != JSON_STRING)
		return error_set(e, ERR_PROTOCOL, "a text block has no 'text'");
	return read_text(b, doc, "text", e);
}

static int read_thinking(struct block *b, const struct json *doc, struct error *e)
{
	return read_text(b, doc, "signature", e);
}

/* A copy in one line, so that an event, which is a line, can hold the very bytes of the request: in valid JSON a line
 * break stands between tokens only, where a space does as well. */
static char *one_line(const char *raw, size_t n)
{
	char *copy = strndup(raw, n);

	for (char *p = copy; p && (p = strpbrk(p, "\n\r"));)
		*p = ' ';
	return copy;
}

/* What a key that occurs twice means is each reader's guess, and a server may refuse the request that holds it. 1 or 0;
 * -1: no memory. */
static int has_twin_keys(const char *raw, size_t n, struct error *e)
{
	struct error why = ERROR_INIT;

	if (json_validate(raw, n, JSON_UNIQUE, NULL, &why) == 0)
		return 0;
	return why.code == ERR_NOMEM ? error_nomem(e) : 1;
}

/* The request must hold an object as input, so one that is none is replaced; what came is kept beside it. */
static int replace_input(struct block *b, const char *raw, size_t n, struct error *e)
{
	b->bad_input = strndup(raw ? raw : "", n);
	struct block *clean = block_new_tool_use(b->id, b->name, "{}", 2);
	if (!b->bad_input || !clean) {
		block_unref(clean);
		return error_nomem(e);
	}
	free(b->json);
	b->json = clean->json;
	b->json_len = clean->json_len;
	b->weight = clean->weight;
	b->input = clean->input;
	clean->json = clean->input = NULL;
	block_unref(clean);
	return 0;
}

static int read_tool_use(struct block *b, const struct json *doc, struct error *e)
{
	b->id = read_name(doc, "id", e);
	if (!b->id)
		return -1;
	b->name = read_name(doc, "name", e);
	if (!b->name)
		return -1;
	int input = json_get(doc, json_root(doc), "input");
	size_t n;
	const char *raw = json_raw(doc, input, &n);
	int bad = json_type(doc, input) != JSON_OBJECT ? 1 : has_twin_keys(raw, n, e);
	if (bad)
		return bad < 0 ? -1 : replace_input(b, raw, n, e);
	b->input = one_line(raw, n);
	return b->input ? 0 : error_nomem(e);
}

/* Its texts, one behind the other; NULL: no memory. */
static char *result_text(const struct json *doc, size_t *n)
{
	int content = json_get(doc, json_root(doc), "content");
	struct buf text = BUF_INIT(doc->len);

	json_str(doc, content, &text);
	if (json_type(doc, content) == JSON_ARRAY) {
		for (int tok = json_first(doc, content); tok >= 0; tok = json_next(doc, content, tok)) {
			if (json_eq(doc, json_get(doc, tok, "type"), "text"))
				json_str(doc, json_get(doc, tok, "text"), &text);
		}
	}
	char *taken = buf_take(&text, n);
	buf_release(&text);
	return taken;
}

static int read_tool_result(struct block *b, const struct json *doc, struct error *e)
{
	b->id = read_name(doc, "tool_use_id", e);
	if (!b->id)
		return -1;
	json_bool(doc, json_get(doc, json_root(doc), "is_error"), &b->is_error);
	char *text = result_text(doc, &b->text_len);
	free(text);
	return text ? 0 : error_nomem(e);
}

/* The types whose fields we use; any other is kept and echoed. */
static const struct {
	const char *type;
	enum block_kind kind;
	read_fn read;
} kinds[] = {
	{ "text", BLOCK_TEXT, read_text_block },
	{ "thinking", BLOCK_THINKING, read_thinking },
	{ "redacted_thinking", BLOCK_REDACTED_THINKING, NULL },
	{ "tool_use", BLOCK_TOOL_USE, read_tool_use },
	{ "tool_result", BLOCK_TOOL_RESULT, read_tool_result },
	{ "image", BLOCK_IMAGE, NULL },
	{ "document", BLOCK_DOCUMENT, NULL },
};

static int read_block(struct block *b, const struct json *doc, struct error *e)
{
	int type = json_get(doc, json_root(doc), "type");
	size_t n;
	const char *raw = json_raw(doc, json_root(doc), &n);

	if (json_type(doc, json_root(doc)) != JSON_OBJECT)
		return error_set(e, ERR_PROTOCOL, "a content block is no object");
	if (json_type(doc, type) != JSON_STRING)
		return error_set(e, ERR_PROTOCOL, "a content block has no 'type'");
	b->json = one_line(raw, n);
	if (!b->json)
		return error_nomem(e);
	b->json_len = n;
	b->weight = media_weight(doc, json_root(doc), n);
	b->kind = BLOCK_OTHER;
	for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
		if (!json_eq(doc, type, kinds[i].type))
			continue;
		b->kind = kinds[i].kind;
		return kinds[i].read ? kinds[i].read(b, doc, e) : 0;
	}
	return 0;
}

struct block *block_from_json(const char *json, size_t n, struct error *e)
{
	struct json doc;

	if (json_parse(&doc, json, n, JSON_REPAIR | JSON_BORROW, e))
		return NULL;
	struct block *b = calloc(1, sizeof *b);
	if (!b)
		error_nomem(e);
	else
		b->refs = 1;
	if (b && read_block(b, &doc, e)) {
		block_unref(b);
		b = NULL;
	}
	json_release(&doc);
	return b;
}

struct block *block_from_token(const struct json *doc, int tok, struct error *e)
{
	size_t n;
	const char *raw = json_raw(doc, tok, &n);

	return block_from_json(raw ? raw : "", n, e);
}

/* The block of what was written; releases the buffer. */
static struct block *written(struct buf *out)
{
	struct block *b = NULL;

	if (!out->failed)
		b = block_from_json(buf_str(out), out->len, NULL);
	buf_release(out);
	return b;
}

struct block *block_new_text(const char *text, size_t n)
{
	struct buf out = BUF_INIT(BUF_HUGE);
	struct json_out o;

	json_out_init(&o, &out);
	jo_object(&o);
	jo_kstr(&o, "type", "text");
	jo_key(&o, "text");
	jo_strn(&o, text, n);
	jo_end(&o);
	return written(&out);
}

static void begin_tool_result(struct json_out *o, struct buf *out, const char *tool_use_id)
{
	json_out_init(o, out);
	jo_object(o);
	jo_kstr(o, "type", "tool_result");
	jo_kstr(o, "tool_use_id", tool_use_id);
	jo_key(o, "content");
}

struct block *block_new_tool_result(const char *tool_use_id, const char *text, size_t n, bool is_error)
{
	struct buf out = BUF_INIT(BUF_HUGE);
	struct json_out o;

	begin_tool_result(&o, &out, tool_use_id);
	if (is_error && !n)
		jo_str(&o, "Error"); /* the API refuses an error without a text */
	else
		jo_strn(&o, text, n);
	if (is_error)
		jo_kbool(&o, "is_error", true);
	jo_end(&o);
	return written(&out);
}

/* Writes the text of one value of the given type and nothing else; -1 if it is not that. */
static int put_value(struct json_out *o, const char *json, size_t n, enum json_type type)
{
	struct json doc;
	int rc = -1;

	if (json_parse(&doc, json, n, JSON_REPAIR | JSON_BORROW, NULL))
		return -1;
	if (json_type(&doc, json_root(&doc)) == type) {
		size_t len;
		const char *raw = json_raw(&doc, json_root(&doc), &len);
		jo_raw(o, raw, len);
		rc = 0;
	}
	json_release(&doc);
	return rc;
}

struct block *block_new_tool_result_json(const char *tool_use_id, const char *content_json, size_t n)
{
	struct buf out = BUF_INIT(BUF_HUGE);
	struct json_out o;

	begin_tool_result(&o, &out, tool_use_id);
	if (put_value(&o, content_json, n, JSON_ARRAY)) {
		buf_release(&out);
		return NULL;
	}
	jo_end(&o);
	return written(&out);
}

struct block *block_new_tool_use(const char *id, const char *name, const char *input_json, size_t n)
{
	struct buf out = BUF_INIT(BUF_HUGE);
	struct json_out o;

	json_out_init(&o, &out);
	jo_object(&o);
	jo_kstr(&o, "type", "tool_use");
	jo_kstr(&o, "id", id);
	jo_kstr(&o, "name", name);
	jo_key(&o, "input");
	if (put_value(&o, input_json, n, JSON_OBJECT)) {
		buf_release(&out);
		return NULL;
	}
	jo_end(&o);
	return written(&out);
}

struct block *block_with_id(const struct block *b, const char *id)
{
	struct buf out = BUF_INIT(BUF_HUGE);
	struct json doc;

	if (!b->id || json_parse(&doc, b->json, b->json_len, JSON_BORROW, NULL))
		return NULL;
	size_t n;
	const char *old = json_raw(&doc, json_get(&doc, 0, b->kind == BLOCK_TOOL_USE ? "id" : "tool_use_id"), &n);
	size_t before = (size_t)(old - b->json);
	buf_add(&out, b->json, before);
	json_quote(&out, id, strlen(id));
	buf_add(&out, old + n, b->json_len - before - n);
	json_release(&doc);
	struct block *copy = written(&out);
	if (copy && b->bad_input) {
		free(copy->bad_input);
		copy->bad_input = strdup(b->bad_input);
		if (!copy->bad_input) {
			block_unref(copy);
			return NULL;
		}
	}
	return copy;
}

char *block_result_text(const struct block *b)
{
	struct json doc;
	size_t n;

	if (json_parse(&doc, b->json, b->json_len, JSON_BORROW, NULL))
		return NULL;
	char *text = result_text(&doc, &n);
	json_release(&doc);
	return text;
}

struct block *block_ref(struct block *b)
{
	if (b)
		b->refs++;
	return b;
}

void block_unref(struct block *b)
{
	if (!b || --b->refs > 0)
		return;
	free(b->json);
	free(b->id);
	free(b->name);
	free(b->input);
	free(b->bad_input);
	free(b->text);
	free(b);
}

bool block_is_thinking(const struct block *b)
{
	return b->kind == BLOCK_THINKING || b->kind == BLOCK_REDACTED_THINKING;
}

bool block_is_blank(const struct block *b)
{
	return b->kind == BLOCK_TEXT && utf8_is_blank(b->text, b->text_len);
}
