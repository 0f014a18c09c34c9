#include "run/input_line.h"

#include <stdlib.h>
#include <string.h>

#include "message/user_json.h"

/* Lower case, as events have it. False: it is no UUID, and a line that showed it would break its schema. */
static bool read_uuid(const struct json *doc, int tok, char out[UUID_LEN + 1])
{
	static const char form[] = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
	size_t n = 0;
	const char *raw = json_raw(doc, tok, &n);

	if (json_type(doc, tok) != JSON_STRING || n != UUID_LEN + 2)
		return false;
	for (size_t i = 0; i < UUID_LEN; i++) {
		char c = raw[i + 1];
		if (c >= 'A' && c <= 'F')
			c = (char)(c - 'A' + 'a');
		if (form[i] == '-' ? c != '-' : !c || !strchr("0123456789abcdef", c))
			return false;
		out[i] = c;
	}
	out[UUID_LEN] = '\0';
	return true;
}

static int read_priority(const struct json *doc, int tok, enum input_priority *out, struct error *e)
{
	static const char *const names[] = { [INPUT_NOW] = "now", [INPUT_NEXT] = "next", [INPUT_LATER] = "later" };

	*out = INPUT_NEXT;
	if (json_absent(doc, tok))
		return 0;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		if (json_eq(doc, tok, names[i])) {
			*out = (enum input_priority)i;
			return 0;
		}
	}
	return error_set(e, ERR_INPUT, "priority: must be now, next or later");
}

static int fill_message(struct input_message *m, const struct json *doc, struct error *e)
{
	int root = json_root(doc), message = json_get(doc, root, "message"), role = json_get(doc, message, "role");
	int query = json_get(doc, root, "shouldQuery");
	bool asks = true;

	if (json_type(doc, message) != JSON_OBJECT)
		return error_set(e, ERR_INPUT, "message: must be an object");
	if (!json_absent(doc, role) && !json_eq(doc, role, "user"))
		return error_set(e, ERR_INPUT, "message.role: must be user");
	if (!json_absent(doc, query) && !json_bool(doc, query, &asks))
		return error_set(e, ERR_INPUT, "shouldQuery: must be true or false");
	if (read_priority(doc, json_get(doc, root, "priority"), &m->priority, e))
		return -1;
	if (!read_uuid(doc, json_get(doc, root, "uuid"), m->uuid))
		m->uuid[0] = '\0';
	m->silent = !asks;
	if (m->silent && m->priority == INPUT_NOW)
		m->priority = INPUT_NEXT; /* what asks for nothing interrupts nothing */
	m->message = user_json_read(doc, json_get(doc, message, "content"), e);
	return m->message ? 0 : -1;
}

static int read_user(struct input_line *out, size_t bytes, struct error *e)
{
	struct input_message *m = calloc(1, sizeof *m);

	out->kind = INPUT_LINE_USER;
	if (!m)
		return error_nomem(e);
	m->bytes = bytes;
	if (fill_message(m, &out->doc, e)) {
		input_message_free(m);
		return -1;
	}
	if (!m->message || !m->message->n) {
		input_message_free(m);
		return error_set(e, ERR_INPUT, "the message is blank, nothing is asked for it");
	}
	out->message = m;
	return 0;
}

static int read_control(struct input_line *out, size_t bytes, struct error *e)
{
	int root = json_root(&out->doc);

	(void)bytes;
	out->kind = INPUT_LINE_CONTROL;
	if (json_type(&out->doc, json_get(&out->doc, root, "request_id")) != JSON_STRING)
		return error_set(e, ERR_INPUT, "request_id: must be a string");
	if (json_type(&out->doc, json_path(&out->doc, root, "request.subtype")) != JSON_STRING)
		return error_set(e, ERR_INPUT, "request.subtype: must be a string");
	return 0;
}

static int ignore(struct input_line *out, size_t bytes, struct error *e)
{
	(void)bytes, (void)e;
	out->kind = INPUT_LINE_IGNORED;
	return 0;
}

static const struct {
	const char *type;
	int (*read)(struct input_line *out, size_t bytes, struct error *e);
} types[] = {
	{ "user", read_user },          { "control_request", read_control },
	{ "control_response", ignore }, { "control_cancel_request", ignore },
	{ "keep_alive", ignore },
};

int input_line_read(struct input_line *out, const struct buf *line, struct error *e)
{
	int type;

	*out = (struct input_line){ .kind = INPUT_LINE_NONE, .doc = JSON_INIT };
	if (json_parse(&out->doc, buf_str(line), line->len, JSON_BORROW, e))
		return error_prefix(e, "it is no JSON");
	if (json_type(&out->doc, json_root(&out->doc)) != JSON_OBJECT)
		return error_set(e, ERR_INPUT, "it is no JSON object");
	out->kind = INPUT_LINE_IGNORED;
	type = json_get(&out->doc, json_root(&out->doc), "type");
	for (size_t i = 0; i < sizeof types / sizeof *types; i++)
		if (json_eq(&out->doc, type, types[i].type))
			return types[i].read(out, line->len, e);
	if (json_type(&out->doc, type) != JSON_STRING)
		return error_set(e, ERR_INPUT, "type: must be a string");
	size_t n;
	const char *raw = json_raw(&out->doc, type, &n);
	return error_set(e, ERR_INPUT, "type: %.*s is none that is taken here (user, control_request)",
	                 (int)(n < 60 ? n : 60), raw);
}
