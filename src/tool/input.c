/* Inputs of calls: one table of parameters is both the check and the schema that the model is shown. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "tool/internal.h"

static const char *type_name(enum param_type t)
{
	static const char *const names[] = {
		[PARAM_TEXT] = "string",  [PARAM_NAME] = "string",   [PARAM_INT] = "integer",
		[PARAM_BOOL] = "boolean", [PARAM_CHOICE] = "string",
	};

	return names[t];
}

static const char *json_type_name(enum json_type t)
{
	static const char *const names[] = {
		[JSON_NONE] = "nothing",  [JSON_NULL] = "null",   [JSON_BOOL] = "boolean",  [JSON_NUMBER] = "number",
		[JSON_STRING] = "string", [JSON_ARRAY] = "array", [JSON_OBJECT] = "object",
	};

	return names[t];
}

static void complain(struct buf *why, const char *key, const char *text)
{
	buf_addf(why, "%sparameter '%s' %s", why->len ? "; " : "", key, text);
}

static bool in_choices(const char *choices, const char *s)
{
	size_t n = strlen(s);

	while (*choices) {
		size_t len = strcspn(choices, "|");
		if (len == n && memcmp(choices, s, n) == 0)
			return true;
		choices += len + (choices[len] == '|');
	}
	return false;
}

static bool int_from_text(const char *s, int64_t *out)
{
	char *end;

	errno = 0;
	*out = strtoll(s, &end, 10);
	return *s != '\0' && *end == '\0' && errno == 0;
}

static void take_string(const struct json *doc, int tok, const struct tool_param *p, struct input_value *v,
                        struct buf *why)
{
	if (json_type(doc, tok) != JSON_STRING) {
		complain(why, p->key, "must be a string, not ");
		buf_adds(why, json_type_name(json_type(doc, tok)));
		return;
	}
	v->s = json_strdup(doc, tok, &v->n);
	if (!v->s) {
		complain(why, p->key, "could not be kept: out of memory");
		return;
	}
	v->set = true;
	if (p->type == PARAM_TEXT)
		return;
	if (v->n == 0)
		complain(why, p->key, "must not be empty");
	else if (strlen(v->s) != v->n)
		complain(why, p->key, "must not contain a NUL character");
	else if (p->type == PARAM_CHOICE && !in_choices(p->choices, v->s)) {
		complain(why, p->key, "must be one of ");
		buf_adds(why, p->choices);
	}
}

static void take_int(const struct json *doc, int tok, const struct tool_param *p, struct input_value *v,
                     struct buf *why)
{
	char *s = json_type(doc, tok) == JSON_STRING ? json_strdup(doc, tok, NULL) : NULL;

	v->set = s ? int_from_text(s, &v->i) : json_int(doc, tok, &v->i);
	free(s);
	if (!v->set) {
		complain(why, p->key, "must be an integer");
	} else if (v->i < p->min) {
		complain(why, p->key, "must be at least ");
		buf_addf(why, "%" PRId64, p->min);
	}
}

static void take_bool(const struct json *doc, int tok, const struct tool_param *p, struct input_value *v,
                      struct buf *why)
{
	v->set = json_bool(doc, tok, &v->b);
	if (!v->set && (json_eq(doc, tok, "true") || json_eq(doc, tok, "false"))) {
		v->b = json_eq(doc, tok, "true");
		v->set = true;
	}
	if (!v->set)
		complain(why, p->key, "must be true or false");
}

static void take_value(const struct json *doc, int tok, const struct tool_param *p, struct input_value *v,
                       struct buf *why)
{
	if (!p->required && json_type(doc, tok) == JSON_NULL)
		return; /* models write null for "not given" */
	if (p->type == PARAM_INT)
		take_int(doc, tok, p, v, why);
	else if (p->type == PARAM_BOOL)
		take_bool(doc, tok, p, v, why);
	else
		take_string(doc, tok, p, v, why);
}

static void take_members(const struct json *doc, const struct tool_param *params, struct tool_input *in,
                         struct buf *why)
{
	int root = json_root(doc);

	for (int key = json_first(doc, root); key >= 0; key = json_next(doc, root, key)) {
		size_t i = 0;
		while (params[i].key && !json_eq(doc, key, params[i].key))
			i++;
		if (params[i].key) {
			take_value(doc, json_value_of(doc, key), &params[i], &in->v[i], why);
			continue;
		}
		char *name = json_strdup(doc, key, NULL);
		complain(why, name ? name : "?", "is unknown");
		free(name);
	}
	for (size_t i = 0; params[i].key; i++)
		if (params[i].required && json_get(doc, root, params[i].key) < 0)
			complain(why, params[i].key, "is required but missing");
}

int input_parse(const char *tool, const struct tool_param *params, const char *json, struct tool_input *in,
                struct buf *why)
{
	struct json doc = JSON_INIT;
	struct error e = ERROR_INIT;
	struct buf text = BUF_INIT(64 * 1024);

	memset(in, 0, sizeof *in);
	if (json_parse(&doc, json, strlen(json), JSON_UNIQUE | JSON_REPAIR | JSON_BORROW, &e) < 0)
		buf_adds(&text, e.msg);
	else if (json_type(&doc, json_root(&doc)) != JSON_OBJECT)
		buf_adds(&text, "the input must be an object");
	else
		take_members(&doc, params, in, &text);
	json_release(&doc);
	bool bad = text.len > 0 || text.failed;
	if (bad)
		buf_addf(why, "InputValidationError: %s: %s", tool, buf_str(&text));
	buf_release(&text);
	if (!bad)
		return 0;
	input_release(in);
	return -1;
}

int input_check(const char *tool, const struct json_schema *schema, const char *json, struct buf *text, struct buf *why)
{
	struct json doc = JSON_INIT;
	struct error e = ERROR_INIT;
	struct buf problems = BUF_INIT(64 * 1024);
	bool ok = false;

	if (json_parse(&doc, json, strlen(json), JSON_UNIQUE | JSON_REPAIR | JSON_BORROW, &e) < 0)
		buf_adds(&problems, e.msg);
	else if (json_schema_check(schema, &doc, json_root(&doc), "input", &problems))
		ok = buf_add(text, doc.text, doc.len) == 0;
	if (!ok)
		buf_addf(why, "InputValidationError: %s: %s", tool,
		         problems.len ? buf_str(&problems) : "out of memory");
	json_release(&doc);
	buf_release(&problems);
	return ok ? 0 : -1;
}

void input_release(struct tool_input *in)
{
	for (size_t i = 0; i < INPUT_MAX; i++)
		free(in->v[i].s);
	memset(in, 0, sizeof *in);
}

static void schema_choices(const char *choices, struct json_out *o)
{
	jo_key(o, "enum");
	jo_array(o);
	while (*choices) {
		size_t len = strcspn(choices, "|");
		jo_strn(o, choices, len);
		choices += len + (choices[len] == '|');
	}
	jo_end(o);
}

void input_schema(const struct tool_param *params, struct json_out *o)
{
	jo_object(o);
	jo_kstr(o, "type", "object");
	jo_key(o, "properties");
	jo_object(o);
	for (const struct tool_param *p = params; p->key; p++) {
		jo_key(o, p->key);
		jo_object(o);
		jo_kstr(o, "type", type_name(p->type));
		if (p->description)
			jo_kstr(o, "description", p->description);
		if (p->choices)
			schema_choices(p->choices, o);
		jo_end(o);
	}
	jo_end(o);
	jo_key(o, "required");
	jo_array(o);
	for (const struct tool_param *p = params; p->key; p++)
		if (p->required)
			jo_str(o, p->key);
	jo_end(o);
	jo_kbool(o, "additionalProperties", false);
	jo_end(o);
}
