/* tools.external: what one tool has, read with the setters of job keys, so that every error has its place. */
#include <ctype.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_schema.h"
#include "job/check.h"
#include "job/set.h"

#define AT(field)    offsetof(struct job_tool, field)
#define DAY_MS       INT64_C(86400000)
#define TIMEOUT_MS   120000
#define TOOLS_MAX    100
#define PATH_TEXT    200
#define NAME_MAX_LEN 64

static int check_name(const char *name, const char *text, struct error *e)
{
	const struct job_key *builtin = schema_by_path("tools.builtin");
	size_t n = strlen(text);

	(void)name;
	for (const char *p = text; *p; p++)
		if (!isalnum((unsigned char)*p) && *p != '_' && *p != '-')
			n = 0;
	if (n == 0 || n > NAME_MAX_LEN)
		return error_set(e, ERR_INPUT, "must be 1 to %d letters, digits, _ or -", NAME_MAX_LEN);
	for (const char *const *c = builtin->choices; *c; c++)
		if (!strcmp(*c, text))
			return error_set(e, ERR_INPUT, "'%s' is the name of a built-in tool", text);
	return 0;
}

/* clang-format off: as the other table */
static const struct job_key members[] = {
	{ .path = "name",
	  .type = KEY_STRING,
	  .at = AT(name),
	  .flags = KF_REQUIRED,
	  .check = check_name,
	  .help = "its name for the model and in rules" },
	{ .path = "description",
	  .type = KEY_STRING,
	  .at = AT(description),
	  .flags = KF_REQUIRED,
	  .check = check_prompt,
	  .help = "what it does and when to use it, for the model" },
	{ .path = "command",
	  .type = KEY_LIST,
	  .at = AT(command),
	  .flags = KF_REQUIRED | KF_REPEATS | KF_COMMAND,
	  .help = "the program and its arguments" },
	{ .path = "input_schema",
	  .type = KEY_JSON,
	  .at = AT(input_schema),
	  .fallback_text = "no parameters",
	  .help = "JSON Schema of its input" },
	{ .path = "read_only",
	  .type = KEY_BOOL,
	  .at = AT(read_only),
	  .fallback = "false",
	  .help = "it changes nothing: runs without a rule, and beside other such calls" },
	{ .path = "timeout",
	  .type = KEY_DURATION,
	  .at = AT(timeout_ms),
	  .min = 0,
	  .max = DAY_MS,
	  .fallback = "2m",
	  .help = "longest time one call may take; 0 = off" },
	{ .path = "env",
	  .type = KEY_LIST,
	  .at = AT(env),
	  .check = check_env_name,
	  .fallback_text = "all that tools get",
	  .help = "the variables it gets, beside PATH, HOME, LANG, LC_* and TMPDIR" },
	{ .path = "network",
	  .type = KEY_BOOL,
	  .at = AT(network),
	  .fallback = "false",
	  .help = "it may use the network though other tools may not" },
};
/* clang-format on */

const struct job_members job_tool_members = { members, sizeof members / sizeof *members };

/* One tool of the list while it is read. */
struct reading {
	struct setter *s;
	const struct origin *o;
	size_t index;
	struct job_tool *tool;
};

static int fail(const struct reading *r, const struct yaml_node *at, const char *member, const char *text)
{
	char path[PATH_TEXT];

	snprintf(path, sizeof path, "tools.external[%zu]%s%.80s", r->index, member ? "." : "", member ? member : "");
	return setter_fail_in(r->s, r->o, at, path, "%s", text);
}

static const struct yaml_node *child_named(const struct yaml_node *v, const char *name)
{
	if (v->kind != YAML_SEQ)
		return v->kind == YAML_MAP ? yaml_get(v, name) : NULL;
	long long i = strtoll(name, NULL, 10);
	for (v = v->first; v && i > 0; i--)
		v = v->next;
	return v;
}

/* The node that "at /properties/a: ..." speaks of, or the last on the way to it that is there. */
static const struct yaml_node *place_of(const struct yaml_node *v, const char *msg)
{
	const char *p = strncmp(msg, "at /", 4) ? "" : msg + 3;

	while (v && *p == '/') {
		char name[PATH_TEXT];
		size_t n = 0;
		for (p++; *p && *p != '/' && strncmp(p, ": ", 2) != 0 && n + 1 < sizeof name; p++) {
			bool escaped = *p == '~' && (p[1] == '0' || p[1] == '1');
			p += escaped;
			name[n++] = (char)(!escaped ? *p : *p == '0' ? '~' : '/');
		}
		name[n] = '\0';
		const struct yaml_node *next = child_named(v, name);
		if (!next)
			break;
		v = next;
	}
	return v;
}

/* The API takes objects alone as input, and asks for the word. */
static int check_schema(const struct reading *r, const struct yaml_node *v)
{
	struct error e = ERROR_INIT;
	const struct yaml_node *type = yaml_get(v, "type");
	struct json_schema *schema = json_schema_compile(r->tool->input_schema, strlen(r->tool->input_schema), &e);

	if (!schema)
		return fail(r, place_of(v, e.msg), "input_schema", e.msg);
	json_schema_free(schema);
	if (!type || type->kind != YAML_SCALAR || strcmp(type->text, "object") != 0)
		return fail(r, type ? type : v, "input_schema", "needs type: object");
	return 0;
}

static int check_unique(const struct reading *r, const struct job_tool *all, const struct yaml_node *v)
{
	for (size_t i = 0; i < r->index; i++)
		if (all[i].name && !strcmp(all[i].name, r->tool->name))
			return fail(r, v, "name", "another tool has this name already");
	return 0;
}

static int read_tool(struct reading *r, const struct job_tool *all, const struct yaml_node *map)
{
	int rc;

	if (map->kind != YAML_MAP)
		return fail(r, map, NULL,
		            "must be a map, as in {name: run_tests, description: ..., command: [make, check]}");
	char path[PATH_TEXT];
	snprintf(path, sizeof path, "tools.external[%zu]", r->index);
	r->tool->timeout_ms = TIMEOUT_MS;
	rc = setter_members(r->s, &job_tool_members, path, r->tool, map, r->o);
	if (r->tool->name)
		rc |= check_unique(r, all, yaml_get(map, "name"));
	if (r->tool->input_schema)
		rc |= check_schema(r, yaml_get(map, "input_schema"));
	return rc;
}

int setter_tools(struct setter *s, struct job *into, const struct yaml_node *v, const struct origin *o)
{
	const char *path = "tools.external";
	size_t n = 0;
	int rc = 0;

	if (v->kind == YAML_SCALAR && v->plain && !v->len)
		return 0;
	if (v->kind != YAML_SEQ)
		return setter_fail(s, o, v, path,
		                   "must be a list of tools, as in [{name: run_tests, description: ..., "
		                   "command: [make, check]}]");
	for (const struct yaml_node *i = v->first; i; i = i->next)
		n++;
	if (n > TOOLS_MAX)
		return setter_fail(s, o, v, path, "more than %d tools", TOOLS_MAX);
	struct job_tool *all = arena_alloc(&s->job->arena, n * sizeof *all + 1);
	if (!all)
		return setter_fail(s, o, v, path, "out of memory");
	struct reading r = { s, o, 0, all };
	for (const struct yaml_node *i = v->first; i; i = i->next, r.index++, r.tool++)
		rc |= read_tool(&r, all, i);
	into->external = all;
	into->nexternal = n;
	return rc;
}
