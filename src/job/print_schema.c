/* --print-schema job: the table as a JSON Schema, draft 2020-12. */
#include <string.h>

#include "base/json_out.h"
#include "job/job.h"
#include "job/schema.h"
#include "job/value.h"

static void strings(struct json_out *o, const char *const *words)
{
	jo_array(o);
	for (; *words; words++)
		jo_str(o, *words);
	jo_end(o);
}

static void integer_range(struct json_out *o, const struct job_key *k)
{
	jo_kstr(o, "type", "integer");
	jo_kint(o, "minimum", k->min);
	jo_kint(o, "maximum", k->max);
}

/* A bare number or a text with a unit; of durations only 0 is bare. */
static void with_unit(struct json_out *o, const struct job_key *k)
{
	jo_key(o, "anyOf");
	jo_array(o);
	jo_object(o);
	if (k->flags & KF_SECONDS)
		jo_kstr(o, "type", "number");
	else if (k->type == KEY_DURATION)
		jo_kint(o, "const", 0);
	else
		integer_range(o, k);
	jo_end(o);
	jo_object(o);
	jo_kstr(o, "type", "string");
	jo_kstr(o, "pattern", value_pattern(k));
	jo_end(o);
	if (k->flags & KF_AUTO) {
		jo_object(o);
		jo_kstr(o, "const", "auto");
		jo_end(o);
	}
	jo_end(o);
}

static void dollars(struct json_out *o, const struct job_key *k)
{
	jo_kstr(o, "type", "number");
	jo_kint(o, k->min ? "exclusiveMinimum" : "minimum", 0);
	jo_kint(o, "maximum", k->max / 1000000000);
}

static void list(struct json_out *o, const struct job_key *k)
{
	static const char *const either[] = { "array", "string", NULL };

	jo_key(o, "type");
	if (k->flags & KF_WORD)
		strings(o, either);
	else
		jo_str(o, either[0]);
	jo_key(o, "items");
	jo_object(o);
	jo_kstr(o, "type", "string");
	if (k->choices) {
		jo_key(o, "enum");
		strings(o, k->choices);
	}
	jo_end(o);
}

/* Members are strings as written, which a typing reader may take for numbers, booleans or nothing. */
static void map(struct json_out *o)
{
	static const char *const any[] = { "string", "number", "boolean", "null", NULL };

	jo_kstr(o, "type", "object");
	jo_key(o, "additionalProperties");
	jo_object(o);
	jo_key(o, "type");
	strings(o, any);
	jo_end(o);
}

static void property(struct json_out *o, const struct job_key *k);

/* A map with those members and no other. */
static void members(struct json_out *o, const struct job_members *m)
{
	jo_kstr(o, "type", "object");
	jo_kbool(o, "additionalProperties", false);
	jo_key(o, "properties");
	jo_object(o);
	for (const struct job_key *k = m->v; k < m->v + m->n; k++)
		property(o, k);
	jo_end(o);
	jo_key(o, "required");
	jo_array(o);
	for (const struct job_key *k = m->v; k < m->v + m->n; k++)
		if (k->flags & KF_REQUIRED)
			jo_str(o, k->path);
	jo_end(o);
}

static void list_of(struct json_out *o, const struct job_members *m)
{
	jo_kstr(o, "type", "array");
	jo_key(o, "items");
	jo_object(o);
	members(o, m);
	jo_end(o);
}

static void event_names(struct json_out *o)
{
	const char *name;

	jo_key(o, "propertyNames");
	jo_object(o);
	jo_key(o, "enum");
	jo_array(o);
	for (int i = 0; i < HOOK_DECLARED; i++)
		jo_str(o, hook_event_name((enum hook_event)i));
	for (size_t i = 0; (name = hook_event_silent(i)); i++)
		jo_str(o, name);
	jo_end(o);
	jo_end(o);
}

/* Events, in each a list of groups, in each a matcher and a list of handlers. */
static void hooks(struct json_out *o)
{
	jo_kstr(o, "type", "object");
	event_names(o);
	jo_key(o, "additionalProperties");
	jo_object(o);
	jo_kstr(o, "type", "array");
	jo_key(o, "items");
	jo_object(o);
	jo_kstr(o, "type", "object");
	jo_kbool(o, "additionalProperties", false);
	jo_key(o, "required");
	jo_array(o);
	jo_str(o, "hooks");
	jo_end(o);
	jo_key(o, "properties");
	jo_object(o);
	jo_key(o, "matcher");
	jo_object(o);
	jo_kstr(o, "type", "string");
	jo_end(o);
	jo_key(o, "hooks");
	jo_object(o);
	list_of(o, &job_hook_members);
	jo_end(o);
	jo_end(o);
	jo_end(o);
	jo_end(o);
}

static void type_of(struct json_out *o, const struct job_key *k)
{
	switch (k->type) {
	case KEY_INT:
		integer_range(o, k);
		break;
	case KEY_TOKENS:
	case KEY_BYTES:
	case KEY_DURATION:
	case KEY_MARK:
		with_unit(o, k);
		break;
	case KEY_USD:
		dollars(o, k);
		break;
	case KEY_BOOL:
		jo_kstr(o, "type", "boolean");
		break;
	case KEY_ENUM:
		jo_key(o, "enum");
		strings(o, k->choices);
		break;
	case KEY_LIST:
		list(o, k);
		break;
	case KEY_MAP:
		map(o);
		break;
	case KEY_JSON:
		jo_kstr(o, "type", "object");
		break;
	case KEY_TOOLS:
		list_of(o, &job_tool_members);
		break;
	case KEY_HOOKS:
		hooks(o);
		break;
	case KEY_PRICE:
		members(o, &job_price_members);
		break;
	default:
		jo_kstr(o, "type", "string");
		break;
	}
}

static void default_list(struct json_out *o, const char *text)
{
	jo_array(o);
	while (*text) {
		size_t n = strcspn(text, ",");
		jo_strn(o, text, n);
		text += n + (text[n] == ',');
	}
	jo_end(o);
}

static void default_of(struct json_out *o, const struct job_key *k)
{
	if (!k->fallback)
		return;
	jo_key(o, "default");
	if (k->type == KEY_INT || k->type == KEY_BOOL)
		jo_raw(o, k->fallback, strlen(k->fallback));
	else if (k->type == KEY_LIST)
		default_list(o, k->fallback);
	else
		jo_str(o, k->fallback);
}

static void property(struct json_out *o, const struct job_key *k)
{
	jo_key(o, schema_leaf(k->path));
	jo_object(o);
	jo_kstr(o, "description", k->help);
	type_of(o, k);
	default_of(o, k);
	jo_end(o);
}

static void properties(struct json_out *o, const char *section)
{
	for (const struct job_key *k = job_keys; k < job_keys + job_key_count; k++)
		if (schema_in_section(k, section))
			property(o, k);
}

void job_print_schema(struct buf *out)
{
	struct json_out o;

	json_out_init(&o, out);
	jo_object(&o);
	jo_kstr(&o, "$schema", "https://json-schema.org/draft/2020-12/schema");
	jo_kstr(&o, "title", "quern job");
	jo_kstr(&o, "description", "What one run of quern is asked to do.");
	jo_kstr(&o, "type", "object");
	jo_kbool(&o, "additionalProperties", false);
	jo_key(&o, "properties");
	jo_object(&o);
	properties(&o, NULL);
	for (const struct job_section *s = job_sections; s->name; s++) {
		jo_key(&o, s->name);
		jo_object(&o);
		jo_kstr(&o, "description", s->help);
		jo_kstr(&o, "type", "object");
		jo_kbool(&o, "additionalProperties", false);
		jo_key(&o, "properties");
		jo_object(&o);
		properties(&o, s->name);
		jo_end(&o);
		jo_end(&o);
	}
	jo_end(&o);
	jo_end(&o);
	buf_addc(out, '\n');
}
