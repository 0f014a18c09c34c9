/* hooks: as settings.json lays them out: an event, its groups (a matcher each), their handlers. */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/suggest.h"
#include "base/utf8.h"
#include "job/check.h"
#include "job/set.h"

#define DAY_MS    INT64_C(86400000)
#define HOOKS_MAX 200
#define PATH_TEXT 120

/* A handler as it is written. */
struct job_handler {
	struct job_hook hook; /* what is kept of it */
	const char *type, *shell, *on_failure;
	bool wakes, once;
};

#define AT(field) offsetof(struct job_handler, field)

static const char *const failures[] = { "open", "block", NULL };

/* clang-format off: as the other table */
static const struct job_key members[] = {
	{ .path = "type",
	  .type = KEY_STRING,
	  .at = AT(type),
	  .flags = KF_REQUIRED,
	  .help = "command, which is the only kind" },
	{ .path = "command",
	  .type = KEY_STRING,
	  .at = AT(hook.command),
	  .flags = KF_REQUIRED,
	  .check = check_prompt,
	  .help = "what sh runs; beside args the program alone, which no shell reads" },
	{ .path = "args",
	  .type = KEY_LIST,
	  .at = AT(hook.args),
	  .flags = KF_REPEATS,
	  .fallback_text = "a shell reads the command",
	  .help = "the program's arguments" },
	{ .path = "timeout",
	  .type = KEY_DURATION,
	  .at = AT(hook.timeout_ms),
	  .flags = KF_SECONDS,
	  .min = 1,
	  .max = DAY_MS,
	  .fallback_text = "by the event",
	  .help = "longest time it may take" },
	{ .path = "if",
	  .type = KEY_STRING,
	  .at = AT(hook.if_rule),
	  .check = check_deny_rule,
	  .help = "a permission rule that the call must meet besides, as in Bash(git *)" },
	{ .path = "async",
	  .type = KEY_BOOL,
	  .at = AT(hook.async),
	  .fallback = "false",
	  .help = "nobody waits for it, and what it says has no effect; at most 32 of them run at once" },
	{ .path = "network",
	  .type = KEY_BOOL,
	  .at = AT(hook.network),
	  .fallback = "false",
	  .help = "it may use the network though tools may not" },
	{ .path = "onFailure",
	  .type = KEY_ENUM,
	  .at = AT(on_failure),
	  .choices = failures,
	  .fallback_text = "hook_failure",
	  .help = "what it means if it breaks or takes too long" },
	{ .path = "shell",
	  .type = KEY_STRING,
	  .at = AT(shell),
	  .fallback_text = "sh",
	  .help = "the shell that runs the command, sh or bash" },
	{ .path = "statusMessage", .type = KEY_STRING, .flags = KF_NOT_KEPT, .help = "nobody sees it" },
	{ .path = "asyncRewake",
	  .type = KEY_BOOL,
	  .at = AT(wakes),
	  .fallback = "false",
	  .help = "not supported, false alone is accepted" },
	{ .path = "once",
	  .type = KEY_BOOL,
	  .at = AT(once),
	  .fallback = "false",
	  .help = "not supported, false alone is accepted" },
};
/* clang-format on */

const struct job_members job_hook_members = { members, sizeof members / sizeof *members };

/* The value of hooks while it is read. */
struct reading {
	struct setter *s;
	const struct origin *o;
	struct job *into;
	enum hook_event event;
	const char *matcher;
};

/* What Claude Code would take and we cannot do: an error where the file was named, else it is told. 0 = told. */
static int cannot(const struct reading *r, const struct yaml_node *at, const char *path, const char *text)
{
	if (r->o->found)
		return setter_warn(r->s, r->o, at, path, "%s", text);
	return setter_fail_in(r->s, r->o, at, path, "%s", text);
}

/* At most 40 bytes of a text for an error, never half a character. */
static int shown(const char *text)
{
	return (int)utf8_floor(text, strlen(text), 40);
}

static const char *text_of(const struct yaml_node *map, const char *name)
{
	const struct yaml_node *v = yaml_get(map, name);

	return v && v->kind == YAML_SCALAR ? v->text : NULL;
}

/* 1: it can be run. 0: it cannot, which is told. -1: an error. */
static int can_run(const struct reading *r, const struct yaml_node *map, const char *path)
{
	const char *type = text_of(map, "type"), *shell = text_of(map, "shell");
	char text[200];

	if (type && strcmp(type, "command") != 0) {
		snprintf(text, sizeof text, "only hooks of type command are run, not '%.*s'", shown(type), type);
		return cannot(r, yaml_get(map, "type"), path, text);
	}
	if (shell && strcmp(shell, "sh") != 0 && strcmp(shell, "bash") != 0)
		return cannot(r, yaml_get(map, "shell"), path, "only sh and bash run commands: this hook does not run");
	return 1;
}

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

static bool same_list(const char *const *a, const char *const *b)
{
	if (!a || !b)
		return a == b;
	while (*a && *b && !strcmp(*a, *b))
		a++, b++;
	return !*a && !*b;
}

/* A handler that several files declare runs once. */
static bool is_there(const struct job *job, const struct job_hook *h)
{
	for (const struct job_hook *i = job->hooks; i < job->hooks + job->nhooks; i++)
		if (i->event == h->event && same_text(i->matcher, h->matcher) && same_text(i->command, h->command) &&
		    same_list(i->args, h->args) && same_text(i->if_rule, h->if_rule))
			return true;
	return false;
}

static const char *place(const struct reading *r, const struct yaml_node *at)
{
	const char *label = r->o->label ? r->o->label : "";
	size_t n = strlen(label) + 40;
	char *p = arena_alloc(&r->s->job->arena, n);

	if (p && origin_is_file(r->o) && at->line)
		snprintf(p, n, "%s:%d:%d", label, at->line, at->col);
	else if (p)
		snprintf(p, n, "%s", label);
	return p;
}

/* shell: bash is the program bash and its arguments. */
static int use_bash(const struct reading *r, struct job_hook *h)
{
	const char **v = arena_alloc(&r->s->job->arena, 3 * sizeof(*v));

	if (!v)
		return -1;
	v[0] = "-c";
	v[1] = h->command;
	h->args = v;
	h->command = "bash";
	return 0;
}

/* What the members say together. 1: it runs. 0: it does not, which is told. -1: an error. */
static int judge(const struct reading *r, struct job_handler *h, const struct yaml_node *map, const char *path)
{
	if (h->wakes && cannot(r, yaml_get(map, "asyncRewake"), path,
	                       "asyncRewake is not supported: without it the hook is waited for, with async: true it "
	                       "runs beside the work"))
		return -1;
	if (h->once && cannot(r, yaml_get(map, "once"), path, "once is not supported: the hook runs each time"))
		return -1;
	if (h->hook.if_rule && !hook_is_about_tools(r->event))
		return cannot(r, yaml_get(map, "if"), path,
		              "if is about calls of tools: with it a hook of this event never runs");
	if (h->shell && h->hook.args)
		return setter_fail_in(r->s, r->o, yaml_get(map, "shell"), path, "no shell reads a command with args");
	if (h->shell && !strcmp(h->shell, "bash") && use_bash(r, &h->hook))
		return setter_fail_in(r->s, r->o, map, path, "out of memory");
	h->hook.async |= h->wakes;
	return 1;
}

static int read_handler(struct reading *r, const struct yaml_node *map, const char *path)
{
	struct job_handler h = { .hook = { .event = r->event, .matcher = r->matcher } };

	if (map->kind != YAML_MAP)
		return setter_fail_in(r->s, r->o, map, path,
		                      "must be a map, as in {type: command, command: ./check.sh}");
	int runs = can_run(r, map, path);
	if (runs <= 0)
		return runs;
	if (setter_members(r->s, &job_hook_members, path, &h, map, r->o))
		return -1;
	runs = judge(r, &h, map, path);
	if (runs <= 0)
		return runs;
	h.hook.blocks_said = h.on_failure != NULL;
	h.hook.blocks = h.on_failure && !strcmp(h.on_failure, "block");
	h.hook.source = place(r, map);
	if (!h.hook.source)
		return setter_fail_in(r->s, r->o, map, path, "out of memory");
	if (is_there(r->into, &h.hook))
		return 0;
	if (r->into->nhooks == HOOKS_MAX)
		return setter_fail_in(r->s, r->o, map, path, "more than %d hooks", HOOKS_MAX);
	r->into->hooks[r->into->nhooks++] = h.hook;
	return 0;
}

/* All of it may be commented out. */
static bool is_nothing(const struct yaml_node *v)
{
	return v->kind == YAML_SCALAR && v->plain && (!v->len || !strcmp(v->text, "null"));
}

static int read_matcher(struct reading *r, const struct yaml_node *v, const char *path)
{
	struct error e = ERROR_INIT;

	if (is_nothing(v))
		return 0;
	/* JSON's 5 or true is a slip; as a name it would meet nothing, and the guard never be asked */
	if (v->kind != YAML_SCALAR || (v->plain && r->o->source == SOURCE_SETTINGS))
		return setter_fail_in(r->s, r->o, v, path, "matcher must be a string");
	if (check_text(NULL, v->text, &e))
		return setter_fail_in(r->s, r->o, v, path, "matcher: %s", e.msg);
	bool all = !v->len || !strcmp(v->text, "*");
	r->matcher = all ? NULL : arena_strndup(&r->s->job->arena, v->text, v->len);
	return all || r->matcher ? 0 : setter_fail_in(r->s, r->o, v, path, "out of memory");
}

static int read_handlers(struct reading *r, const struct yaml_node *list, const char *group)
{
	char path[PATH_TEXT + 20];
	size_t i = 0;
	int rc = 0;

	if (list->kind != YAML_SEQ)
		return setter_fail_in(r->s, r->o, list, group,
		                      "hooks must be a list, as in [{type: command, command: ./check.sh}]");
	for (const struct yaml_node *v = list->first; v; v = v->next, i++) {
		snprintf(path, sizeof path, "%s.hooks[%zu]", group, i);
		rc |= read_handler(r, v, path);
	}
	return rc;
}

static int read_group(struct reading *r, const struct yaml_node *map, const char *path)
{
	const struct yaml_node *matcher = yaml_get(map, "matcher"), *list = yaml_get(map, "hooks");
	int rc = 0;

	r->matcher = NULL;
	if (map->kind != YAML_MAP)
		return setter_fail_in(r->s, r->o, map, path,
		                      "must be a map, as in {matcher: Bash, hooks: [{type: command, command: "
		                      "./check.sh}]}");
	for (const struct yaml_node *v = map->first; v; v = v->next) {
		if (v == matcher || v == list)
			continue;
		if (r->o->source == SOURCE_SETTINGS)
			setter_warn(r->s, r->o, v->key, path, "'%.*s' is not known and ignored", shown(v->key->text),
			            v->key->text);
		else if (list || !rc)
			rc = setter_fail_in(r->s, r->o, v->key, path, "'%.*s' is none of matcher and hooks%s",
			                    shown(v->key->text), v->key->text,
			                    list ? "" : ", which holds the handlers");
	}
	if (!list)
		return rc ? rc : setter_fail_in(r->s, r->o, map, path, "hooks, the list of handlers, is missing");
	if (matcher && read_matcher(r, matcher, path))
		return -1;
	return rc | read_handlers(r, list, path);
}

/* 1: it fires. 0: it does not, which is told. -1: an error. */
static int find_event(struct reading *r, const struct yaml_node *key)
{
	struct suggest near;
	int known = hook_event_find(key->text, &r->event);

	if (known > 0)
		return 1;
	if (known == 0)
		return setter_warn(r->s, r->o, key, "hooks", "%s never happens here: its hooks do not run", key->text);
	suggest_init(&near, key->text, key->len);
	for (int i = 0; i < HOOK_DECLARED; i++)
		suggest_offer(&near, hook_event_name((enum hook_event)i));
	const char *a = near.best ? " (did you mean " : "", *b = near.best ? near.best : "", *c = near.best ? "?)" : "";
	if (r->o->source == SOURCE_SETTINGS)
		return setter_warn(r->s, r->o, key, "hooks", "%.*s: no such event, its hooks do not run%s%s%s",
		                   shown(key->text), key->text, a, b, c);
	return setter_fail_in(r->s, r->o, key, "hooks", "%.*s: no such event%s%s%s", shown(key->text), key->text, a, b,
	                      c);
}

static int read_event(struct reading *r, const struct yaml_node *groups)
{
	char path[PATH_TEXT];
	size_t i = 0;
	int fires = find_event(r, groups->key), rc = 0;

	if (fires <= 0 || is_nothing(groups))
		return fires < 0 ? -1 : 0;
	if (groups->kind != YAML_SEQ) {
		snprintf(path, sizeof path, "hooks.%s", groups->key->text);
		return setter_fail_in(r->s, r->o, groups, path,
		                      "must be a list, as in [{hooks: [{type: command, command: ./check.sh}]}]");
	}
	for (const struct yaml_node *v = groups->first; v; v = v->next, i++) {
		snprintf(path, sizeof path, "hooks.%s[%zu]", groups->key->text, i);
		rc |= read_group(r, v, path);
	}
	return rc;
}

int setter_hooks(struct setter *s, struct job *into, const struct yaml_node *v, const struct origin *o)
{
	struct reading r = { .s = s, .o = o, .into = into };
	int rc = 0;

	if (is_nothing(v))
		return 0;
	if (v->kind != YAML_MAP)
		return setter_fail(s, o, v, "hooks",
		                   "must be a map of events, as in {Stop: [{hooks: [{type: command, command: "
		                   "./check.sh}]}]}");
	if (!v->first)
		return 0;
	if (!into->hooks)
		into->hooks = arena_alloc(&s->job->arena, HOOKS_MAX * sizeof *into->hooks);
	if (!into->hooks)
		return setter_fail_in(s, o, v, "hooks", "out of memory");
	for (const struct yaml_node *i = v->first; i; i = i->next)
		rc |= read_event(&r, i);
	return rc;
}
