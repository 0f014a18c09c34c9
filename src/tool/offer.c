/* Which tools the model is offered, in what words, and the environment that Bash adds to. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "hook/hook.h"
#include "tool/internal.h"

#define TOOLS_JSON_MAX ((size_t)4 << 20)

bool tool_asked_for(const struct toolbox *t, const struct tool_row *row)
{
	if (row->with)
		return tool_asked_for(t, row->with);
	if (!t->cfg.names || row->external)
		return true;
	for (const char *const *n = t->cfg.names; *n; n++)
		if (strcmp(*n, row->name) == 0)
			return true;
	return false;
}

static const char *env_value(const char *const *env, const char *name)
{
	size_t n = strlen(name);

	for (; env && *env; env++)
		if (strncmp(*env, name, n) == 0 && (*env)[n] == '=')
			return *env + n + 1;
	return NULL;
}

/* Is there an executable of that name in the tools' PATH, or at that path in the workspace? */
static bool program_found(const struct toolbox_config *cfg, const char *program)
{
	const char *path = env_value(cfg->child_env, "PATH");
	char full[4096];
	struct stat st;

	if (strchr(program, '/')) {
		bool absolute = *program == '/';
		snprintf(full, sizeof full, "%s%s%s", absolute ? "" : cfg->workspace, absolute ? "" : "/", program);
		return access(full, X_OK) == 0 && stat(full, &st) == 0 && S_ISREG(st.st_mode);
	}
	if (!path)
		path = "/usr/local/bin:/usr/bin:/bin";
	for (;;) {
		size_t n = strcspn(path, ":");
		snprintf(full, sizeof full, "%.*s/%s", n ? (int)n : 1, n ? path : ".", program);
		if (access(full, X_OK) == 0 && stat(full, &st) == 0 && S_ISREG(st.st_mode))
			return true;
		if (path[n] == '\0')
			return false;
		path += n + 1;
	}
}

/* The lists have room for every tool. */
static int list_add(char **list, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static int list_add(char **list, const char *fmt, ...)
{
	va_list ap;
	size_t n = 0;

	while (list[n])
		n++;
	va_start(ap, fmt);
	int rc = vasprintf(&list[n], fmt, ap);
	va_end(ap);
	if (rc < 0)
		list[n] = NULL;
	return rc < 0 ? -1 : 0;
}

static bool is_in(char *const *list, const char *name)
{
	while (*list && strcmp(*list, name) != 0)
		list++;
	return *list != NULL;
}

/* Could hooks allow a call that neither rules nor the mode allow? */
static bool hooks_could_allow(const struct toolbox *t, const struct tool_row *row)
{
	static const struct {
		enum hook_event event;
		enum permission_lift lift;
	} ways[] = { { HOOK_PRE_TOOL_USE, LIFT_QUESTION }, { HOOK_PERMISSION_REQUEST, LIFT_ALL } };

	for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
		if (hooks_may_allow(t->cfg.hooks, ways[i].event, row->name) &&
		    permissions_may_lift(t->cfg.permissions, row->name, row->read_only, ways[i].lift))
			return true;
	return false;
}

/* Offers the tool or says why not. */
static int place_tool(struct toolbox *t, const struct tool_row *row, struct error *e)
{
	char why[256] = "";
	const struct permissions *p = t->cfg.permissions;
	enum permission_standing standing = permissions_standing(p, row->name, row->read_only, row->subject);

	if (standing == STANDING_NEVER && hooks_could_allow(t, row))
		standing = STANDING_POSSIBLE;
	if (row->with && !is_in(t->offered, row->with->name))
		return 0;
	if (standing == STANDING_REMOVED)
		snprintf(why, sizeof why, "denied by a rule");
	else if (standing == STANDING_NEVER && !t->cfg.offer_all)
		snprintf(why, sizeof why, "not allowed in mode %s%s", permission_mode_name(permissions_mode(p)),
		         permissions_mode(p) == MODE_PLAN ? "" : " (see --allowedTools)");
	else if (row->subject == SUBJECT_EDIT && t->cfg.no_edits)
		snprintf(why, sizeof why, "%s", t->cfg.no_edits);
	else if (row->program && !t->cfg.none_run && !program_found(&t->cfg, row->program))
		snprintf(why, sizeof why,
		         strchr(row->program, '/') ? "'%.200s' is no executable file in the workspace"
		                                   : "'%.200s' is not in the tools' PATH",
		         row->program);
	if (why[0] == '\0')
		return list_add(t->offered, "%s", row->name) < 0 ? error_nomem(e) : 0;
	if (row->external && standing == STANDING_NEVER)
		return error_set(
		        e, ERR_INPUT,
		        "tools.external: no rule allows %s; add it to permissions.allow (or say read_only: true "
		        "if it changes nothing)",
		        row->name);
	if (row->external)
		return error_set(e, ERR_INPUT, "tools.external: %s cannot be offered: %s", row->name, why);
	if (t->cfg.names_explicit && !row->with)
		return error_set(e, ERR_INPUT, "tool %s was asked for but cannot be offered: %s", row->name, why);
	return list_add(t->withheld, "%s: %s", row->name, why) < 0 ? error_nomem(e) : 0;
}

static int place_tools(struct toolbox *t, struct error *e)
{
	for (const char *const *n = t->cfg.names; n && *n; n++)
		if (!tool_find(*n) || tool_find(*n)->with)
			return error_set(e, ERR_INPUT,
			                 "unknown tool '%s' (known: Read, Grep, Glob, Edit, Write, Bash, TodoWrite)",
			                 *n);
	for (const struct tool_row *const *row = t->rows; *row; row++)
		if (tool_asked_for(t, *row) && place_tool(t, *row, e) < 0)
			return -1;
	return 0;
}

/* What holds for commands in this run stands with the tool: a job may bring a system prompt of its own. */
static void describe(const struct toolbox *t, const struct tool_row *row, struct buf *scratch, struct json_out *o)
{
	buf_clear(scratch);
	buf_adds(scratch, row->description);
	if (row == &tool_bash && t->cfg.command_note && *t->cfg.command_note)
		buf_addf(scratch, " %s", t->cfg.command_note);
	jo_kstr(o, "description", buf_str(scratch));
}

static int make_json(struct toolbox *t, struct error *e)
{
	struct buf b = BUF_INIT(TOOLS_JSON_MAX), scratch = BUF_INIT(TOOLS_JSON_MAX);
	struct json_out o;

	if (!t->offered[0])
		return 0;
	json_out_init(&o, &b);
	jo_array(&o);
	for (size_t i = 0; t->offered[i]; i++) {
		const struct tool_row *row = toolbox_row(t, t->offered[i]);
		jo_object(&o);
		jo_kstr(&o, "name", row->name);
		describe(t, row, &scratch, &o);
		jo_key(&o, "input_schema");
		if (row->schema)
			jo_raw(&o, row->schema, strlen(row->schema));
		else
			input_schema(row->params, &o);
		jo_end(&o);
	}
	jo_end(&o);
	int rc = buf_check(&scratch, "the tools", e) || buf_check(&b, "the tools", e) ? -1 : 0;
	t->json = rc == 0 ? buf_take(&b, NULL) : NULL;
	buf_release(&b);
	buf_release(&scratch);
	return t->json ? 0 : rc < 0 ? rc : error_nomem(e);
}

/* Programs that would ask at a terminal get an answer that fails instead: an editor that does nothing would let
 * `git rebase -i` rewrite history unseen. What the tools' environment sets itself is left alone. */
static int make_bash_env(struct toolbox *t, struct error *e)
{
	static const char *const defaults[] = {
		"EDITOR=false", "GIT_EDITOR=false", "GIT_SEQUENCE_EDITOR=false",      "GIT_TERMINAL_PROMPT=0",
		"PAGER=cat",    "GIT_PAGER=cat",    "DEBIAN_FRONTEND=noninteractive",
	};
	size_t ndefaults = sizeof defaults / sizeof defaults[0], n = array_count(t->cfg.child_env), k = 0;

	t->bash_env = calloc(n + ndefaults + 1, sizeof *t->bash_env);
	if (!t->bash_env)
		return error_nomem(e);
	for (; k < n; k++)
		t->bash_env[k] = t->cfg.child_env[k];
	for (size_t i = 0; i < ndefaults; i++) {
		char name[40];
		snprintf(name, sizeof name, "%.*s", (int)strcspn(defaults[i], "="), defaults[i]);
		if (!env_value(t->cfg.child_env, name))
			t->bash_env[k++] = defaults[i];
	}
	return 0;
}

int offer_tools(struct toolbox *t, struct error *e)
{
	return place_tools(t, e) < 0 || make_json(t, e) < 0 || make_bash_env(t, e) < 0 ? -1 : 0;
}
