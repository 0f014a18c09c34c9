/* Rules and directories become struct permissions, with a warning for each rule that does nothing. */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/suggest.h"

#include "guard/permission_private.h"

static int warn(struct permissions *p, const struct rule *r, const char *why, struct error *e)
{
	struct buf b = BUF_INIT(8192);

	buf_addf(&b, "the %s rule %.300s %s", rule_effect_name(r->effect), r->text, why);
	char *text = arena_strdup(&p->arena, buf_str(&b));
	buf_release(&b);
	if (!text)
		return error_nomem(e);
	p->warnings[p->nwarnings++] = text;
	return 0;
}

static bool knows_tool(const struct permissions *p, const struct rule *r)
{
	if (!p->tools || strncmp(r->tool, "mcp__", 5) == 0)
		return true;
	for (const char *const *t = p->tools; *t; t++)
		if (rule_names(r, *t))
			return true;
	return false;
}

static void no_tool(const struct permissions *p, const struct rule *r, struct buf *out)
{
	struct suggest near;

	suggest_init(&near, r->tool, strlen(r->tool));
	for (const char *const *t = p->tools; *t; t++)
		suggest_offer(&near, *t);
	buf_addf(out, "does nothing: there is no tool '%.200s'", r->tool);
	if (near.best)
		buf_addf(out, " (did you mean %.200s?)", near.best);
}

/* Could an allow rule on changing files ever meet one in a working directory? */
static bool reaches_dirs(const struct permissions *p, const struct path_rule *pr)
{
	for (size_t i = 0; p->at.dirs[i]; i++) {
		struct path_hit hit = path_rule_try_text(pr, p->at.dirs[i], true);
		if (hit.covered || hit.below)
			return true;
	}
	return false;
}

static int check_rule(struct permissions *p, size_t i, struct error *e)
{
	const struct rule *r = &p->rule[i];
	struct buf b = BUF_INIT(1024);
	int rc = 0;

	if (r->warning) {
		buf_addf(&b, "%s%s",
		         r->kind == RULE_NOTHING ? "does nothing: " : "may not mean what it seems to: ", r->warning);
		rc = warn(p, r, buf_str(&b), e);
	} else if (!knows_tool(p, r)) {
		no_tool(p, r, &b);
		rc = warn(p, r, buf_str(&b), e);
	} else if (r->effect == RULE_ALLOW && r->kind == RULE_PATH && strcmp(r->tool, "Edit") == 0 &&
	           !reaches_dirs(p, p->path[i])) {
		rc = warn(p, r,
		          "lies outside the workspace and its added directories, where nothing is written "
		          "(see --add-dir)",
		          e);
	}
	buf_release(&b);
	return rc;
}

static int add_rules(struct permissions *p, enum rule_effect effect, const char *const *texts, struct error *e)
{
	for (; texts && *texts; texts++) {
		struct rule *r = &p->rule[p->n];
		if (rule_parse(r, effect, *texts, &p->arena, e) < 0)
			return -1;
		if (r->kind == RULE_PATH) {
			p->path[p->n] = arena_alloc(&p->arena, sizeof **p->path);
			if (!p->path[p->n])
				return error_nomem(e);
			if (path_rule_compile(p->path[p->n], r->spec, effect != RULE_ALLOW, &p->at, &p->arena, e) < 0)
				return -1;
		}
		p->n++;
		if (check_rule(p, p->n - 1, e) < 0)
			return -1;
	}
	return 0;
}

static int take_dirs(struct permissions *p, const struct permission_config *cfg, struct error *e)
{
	size_t n = array_count(cfg->add_dirs);
	const char **dirs = arena_alloc(&p->arena, (n + 2) * sizeof *dirs);

	if (!dirs)
		return error_nomem(e);
	dirs[0] = cfg->workspace;
	for (size_t i = 0; i < n; i++)
		dirs[i + 1] = cfg->add_dirs[i];
	p->at = (struct path_anchor){ dirs, cfg->spelled, cfg->home && cfg->home[0] == '/' ? cfg->home : NULL };
	p->read_dirs = calloc(1, sizeof *p->read_dirs);
	if (!p->read_dirs)
		return error_nomem(e);
	for (const char *const *d = cfg->read_dirs; d && *d; d++)
		if (permissions_add_read_dir(p, *d) < 0)
			return error_nomem(e);
	return 0;
}

struct permissions *permissions_open(const struct permission_config *cfg, struct error *e)
{
	size_t n = array_count(cfg->allow) + array_count(cfg->ask) + array_count(cfg->deny);
	struct permissions *p = calloc(1, sizeof *p);

	if (!p) {
		error_nomem(e);
		return NULL;
	}
	p->mode = cfg->mode;
	p->tools = cfg->tools;
	p->rule = arena_alloc(&p->arena, (n + 1) * sizeof *p->rule);
	p->path = arena_alloc(&p->arena, (n + 1) * sizeof *p->path);
	p->warnings = arena_alloc(&p->arena, (n + 1) * sizeof *p->warnings);
	if (!p->rule || !p->path || !p->warnings)
		error_nomem(e);
	else if (take_dirs(p, cfg, e) == 0 && add_rules(p, RULE_ALLOW, cfg->allow, e) == 0 &&
	         add_rules(p, RULE_ASK, cfg->ask, e) == 0 && add_rules(p, RULE_DENY, cfg->deny, e) == 0)
		return p;
	permissions_free(p);
	return NULL;
}

void permissions_free(struct permissions *p)
{
	if (!p)
		return;
	for (size_t i = 0; p->read_dirs && p->read_dirs[i]; i++)
		free(p->read_dirs[i]);
	free(p->read_dirs);
	arena_release(&p->arena);
	free(p);
}

static int keep_read_dir(struct permissions *p, const char *dir)
{
	size_t n = 0;

	while (p->read_dirs[n])
		n++;
	char **v = realloc(p->read_dirs, (n + 2) * sizeof *v);
	if (!v)
		return -1;
	p->read_dirs = v;
	v[n + 1] = NULL;
	v[n] = strdup(dir);
	return v[n] ? 0 : -1;
}

/* By the name it is given, and by the one without links. */
int permissions_add_read_dir(struct permissions *p, const char *dir)
{
	struct path_names names;
	int rc = keep_read_dir(p, dir);

	path_names_resolve(&names, "/", dir);
	if (rc == 0 && !names.fault && strcmp(names.name[names.n - 1], dir) != 0)
		rc = keep_read_dir(p, names.name[names.n - 1]);
	path_names_release(&names);
	return rc;
}

const char *const *permissions_warnings(const struct permissions *p)
{
	return p->warnings;
}

void permissions_describe(const struct permissions *p, struct buf *out)
{
	for (size_t i = 0; i < p->n; i++) {
		const struct rule *r = &p->rule[i];
		buf_addf(out, "%s %s: ", rule_effect_name(r->effect), r->text);
		if (r->kind != RULE_NOTHING && !knows_tool(p, r))
			no_tool(p, r, out);
		else
			rule_describe(r, p->at.dirs[0], p->at.home, out);
		buf_addc(out, '\n');
	}
}
