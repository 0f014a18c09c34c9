#include "job/settings.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/io.h"
#include "base/suggest.h"
#include "guard/rule.h"

#define PATH_TEXT 100

/* All files while they are read, the strongest first. */
struct reading {
	struct setter *s;
	const char *home;
	size_t named;                   /* hooks that were there before the files that nobody named */
	enum { UNSAID, ON, OFF } hooks; /* what the first file that speaks of it says of all hooks */
	bool off_by_name;               /* and that was the file that was named */
};

/* One of them. */
struct file {
	struct reading *r;
	struct origin o;
	const char *dir;   /* where rules of paths that begin with '/' start, NULL = the workspace */
	bool of_workspace; /* it lies where a model may have worked */
};

static bool is_word(const struct yaml_node *v, const char *word)
{
	return v->kind == YAML_SCALAR && !strcmp(v->text, word);
}

/* Settings hold much that is not for us; what looks like a slip is told. */
static void tell_unknown(const struct file *f, const struct yaml_node *key, const char *const *known, const char *path)
{
	struct suggest near;

	suggest_init(&near, key->text, key->len);
	for (; *known; known++)
		suggest_offer(&near, *known);
	if (near.best)
		setter_warn(f->r->s, &f->o, key, path, "is not known and ignored (did you mean %s?)", near.best);
}

/* ---- permissions ---- */

/* A rule of a path that begins with one '/': that is the directory of the file it stands in. NULL: no such rule. */
static const char *anchored(struct file *f, enum rule_effect effect, const char *text)
{
	struct arena arena = ARENA_INIT;
	struct error e = ERROR_INIT;
	struct rule rule;
	char *out = NULL;
	const char *open = strchr(text, '(');

	if (f->dir && open && open[1] == '/' && open[2] != '/' && !rule_parse(&rule, effect, text, &arena, &e) &&
	    rule.kind == RULE_PATH) {
		size_t n = strlen(text) + strlen(f->dir) + 3;
		out = arena_alloc(&f->r->s->job->arena, n);
		if (out)
			snprintf(out, n, "%.*s/%s%s", (int)(open + 1 - text), text, f->dir, open + 1);
	}
	arena_release(&arena);
	return out;
}

/* The rule as the job would write it. False: it is left out, which is told. */
static bool take_rule(struct file *f, const struct job_key *k, enum rule_effect effect, struct yaml_node *v)
{
	struct error e = ERROR_INIT;

	if (v->kind != YAML_SCALAR)
		return true;
	/* What allows nothing is no danger; what forbids nothing is. */
	if (effect == RULE_ALLOW && f->o.found && k->check(NULL, v->text, &e)) {
		setter_warn(f->r->s, &f->o, v, k->path, "%s: ignored", e.msg);
		return false;
	}
	const char *text = anchored(f, effect, v->text);
	if (text) {
		v->text = text;
		v->len = strlen(text);
	}
	return true;
}

static void read_rules(struct file *f, const char *path, enum rule_effect effect, struct yaml_node *v)
{
	const struct job_key *k = schema_by_path(path);
	struct yaml_node **at = &v->first;

	while (v->kind == YAML_SEQ && *at) {
		if (take_rule(f, k, effect, *at))
			at = &(*at)->next;
		else
			*at = (*at)->next;
	}
	setter_add(f->r->s, k, v, &f->o);
}

static void read_allow(struct file *f, struct yaml_node *v)
{
	read_rules(f, "permissions.allow", RULE_ALLOW, v);
}

static void read_ask(struct file *f, struct yaml_node *v)
{
	read_rules(f, "permissions.ask", RULE_ASK, v);
}

static void read_deny(struct file *f, struct yaml_node *v)
{
	read_rules(f, "permissions.deny", RULE_DENY, v);
}

static bool has_choice(const struct job_key *k, const char *text)
{
	for (const char *const *c = k->choices; *c; c++)
		if (!strcmp(*c, text))
			return true;
	return false;
}

static void read_mode(struct file *f, struct yaml_node *v)
{
	const struct job_key *k = schema_by_path("permissions.mode");

	if (f->of_workspace && is_word(v, "bypassPermissions"))
		setter_warn(f->r->s, &f->o, v, "permissions.defaultMode",
		            "bypassPermissions is ignored: a file of the workspace cannot ask for it");
	else if (f->o.found && v->kind == YAML_SCALAR && !has_choice(k, v->text))
		setter_warn(f->r->s, &f->o, v, "permissions.defaultMode", "there is no such mode here: ignored");
	else
		setter_add(f->r->s, k, v, &f->o);
}

static void read_no_bypass(struct file *f, struct yaml_node *v)
{
	const char *mode = f->r->s->job->permission_mode;

	if (is_word(v, "disable") && mode && !strcmp(mode, "bypassPermissions"))
		setter_fail(f->r->s, &f->o, v, "permissions.disableBypassPermissionsMode",
		            "forbids the mode bypassPermissions, which the run asks for");
}

/* From the workspace, or from the home directory, as a name that starts where quern does. NULL: no memory. */
static const char *place_of(struct file *f, const char *dir)
{
	const struct job *job = f->r->s->job;
	const char *base = dir[0] == '/' ? NULL : job->workspace, *rest = dir;

	if (f->r->home && dir[0] == '~' && (dir[1] == '/' || !dir[1])) {
		base = f->r->home;
		rest = dir[1] ? dir + 2 : "";
	}
	if (!base || (!strcmp(base, ".") && rest[0]))
		return dir;
	size_t n = strlen(base) + strlen(rest) + 2;
	char *p = arena_alloc(&f->r->s->job->arena, n);
	if (p)
		snprintf(p, n, "%s%s%s", base, rest[0] ? "/" : "", rest);
	return p;
}

static void read_dirs(struct file *f, struct yaml_node *v)
{
	for (struct yaml_node *i = v->kind == YAML_SEQ ? v->first : NULL; i; i = i->next) {
		const char *p = i->kind == YAML_SCALAR && i->len ? place_of(f, i->text) : NULL;
		if (!p)
			continue; /* the setter says what is wrong with it */
		i->text = p;
		i->len = strlen(p);
	}
	setter_add(f->r->s, schema_by_path("workspace.add_dirs"), v, &f->o);
}

/* ---- the file ---- */

static void read_permissions(struct file *f, struct yaml_node *v);

static void read_hooks(struct file *f, struct yaml_node *v)
{
	setter_add(f->r->s, schema_by_path("hooks"), v, &f->o);
}

static void read_env(struct file *f, struct yaml_node *v)
{
	setter_add(f->r->s, schema_by_path("env"), v, &f->o);
}

static void read_disable(struct file *f, struct yaml_node *v)
{
	struct reading *r = f->r;

	if (v->kind != YAML_SCALAR || !v->plain || (strcmp(v->text, "true") != 0 && strcmp(v->text, "false") != 0)) {
		setter_fail(r->s, &f->o, v, "disableAllHooks", "must be true or false");
		return;
	}
	if (r->hooks != UNSAID)
		return;
	r->hooks = is_word(v, "true") ? OFF : ON;
	r->off_by_name = !f->o.found;
}

struct part {
	const char *name;
	void (*read)(struct file *f, struct yaml_node *v);
};

static const struct part top[] = {
	{ "hooks", read_hooks },
	{ "disableAllHooks", read_disable },
	{ "permissions", read_permissions },
	{ "env", read_env },
	{ NULL, NULL },
};

/* disableBypassPermissionsMode looks at what the others have set: it is read last. */
static const struct part permissions[] = {
	{ "allow", read_allow },
	{ "ask", read_ask },
	{ "deny", read_deny },
	{ "defaultMode", read_mode },
	{ "additionalDirectories", read_dirs },
	{ "disableBypassPermissionsMode", read_no_bypass },
	{ NULL, NULL },
};

/* null is as good as nothing. */
static bool is_null(const struct yaml_node *v)
{
	return v->kind == YAML_SCALAR && v->plain && !strcmp(v->text, "null");
}

static struct yaml_node *member(const struct yaml_node *map, const char *name)
{
	for (struct yaml_node *v = map->first; v; v = v->next)
		if (!strcmp(v->key->text, name))
			return v;
	return NULL;
}

static void read_parts(struct file *f, const struct part *parts, const struct yaml_node *map, const char *prefix)
{
	const char *known[8] = { NULL };
	char path[PATH_TEXT];
	size_t n = 0;

	for (; parts[n].name; n++) {
		struct yaml_node *v = member(map, parts[n].name);
		known[n] = parts[n].name;
		if (v && !is_null(v))
			parts[n].read(f, v);
	}
	for (const struct yaml_node *v = map->first; v; v = v->next) {
		if (strlen(v->key->text) >= sizeof path / 2)
			continue;
		size_t i = 0;
		while (i < n && strcmp(known[i], v->key->text) != 0)
			i++;
		snprintf(path, sizeof path, "%s%.50s", prefix, v->key->text);
		if (i == n)
			tell_unknown(f, v->key, known, path);
	}
}

static void read_permissions(struct file *f, struct yaml_node *v)
{
	if (v->kind == YAML_MAP)
		read_parts(f, permissions, v, "permissions.");
	else
		setter_fail(f->r->s, &f->o, v, "permissions", "must be an object");
}

static void read_text(struct file *f, const char *text, size_t n)
{
	struct setter *s = f->r->s;
	struct yaml_node at = { 0 };
	struct error e = ERROR_INIT;
	struct yaml_node *root = json_tree(&s->job->arena, text, n, &at.line, &at.col, &e);

	if (!root)
		setter_fail(s, &f->o, &at, NULL, "%s", e.msg);
	else if (root->kind != YAML_MAP)
		setter_fail(s, &f->o, root, NULL, "settings are an object, as in {\"hooks\": {}}");
	else
		read_parts(f, top, root, "");
}

static void read_path(struct file *f, const char *path)
{
	struct buf text = BUF_INIT(YAML_MAX_BYTES);
	struct origin o = { SOURCE_SETTINGS, NULL, false };
	struct error e = ERROR_INIT;

	if (io_read_file(AT_FDCWD, path, &text, &e))
		setter_fail(f->r->s, &o, NULL, NULL, "settings: %s", e.msg);
	else
		read_text(f, buf_str(&text), text.len);
	buf_release(&text);
}

/* The directory of a file, without links; NULL if it cannot be told, or not in a rule. */
static const char *dir_of(struct setter *s, const char *path)
{
	char *real = realpath(path, NULL);
	const char *dir = NULL;

	if (real && !strpbrk(real, "*?[]\\()!#")) {
		*strrchr(real, '/') = '\0';
		dir = arena_strdup(&s->job->arena, real);
	}
	free(real);
	return dir;
}

/* --settings: a file, or an object's text. */
static void read_named(struct reading *r)
{
	const char *text = r->s->job->settings;
	struct file f = { .r = r, .o = { SOURCE_SETTINGS, text, false } };

	if (!text)
		return;
	if (text[strspn(text, " \t\r\n")] == '{') {
		f.o.label = "--settings";
		read_text(&f, text, strlen(text));
	} else {
		f.dir = dir_of(r->s, text);
		read_path(&f, text);
	}
}

/* One that lies where Claude Code looks for it; most often there is none. */
static void read_found(struct reading *r, const char *dir, const char *name, bool of_workspace)
{
	struct setter *s = r->s;
	size_t n = strlen(dir) + strlen(name) + 2;
	char *path = arena_alloc(&s->job->arena, n);
	struct stat st;
	struct file f = { .r = r, .o = { SOURCE_SETTINGS, path, true }, .of_workspace = of_workspace };

	if (!path) {
		setter_fail(s, &f.o, NULL, NULL, "out of memory");
		return;
	}
	snprintf(path, n, "%s/%s", dir, name);
	if (stat(path, &st)) {
		if (errno != ENOENT && errno != ENOTDIR)
			setter_fail(s, &f.o, NULL, NULL, "cannot be read: %s", strerror(errno));
		return;
	}
	if (!S_ISREG(st.st_mode)) {
		setter_fail(s, &f.o, NULL, NULL, "not a regular file");
		return;
	}
	f.dir = of_workspace ? NULL : dir_of(s, path);
	read_path(&f, path);
}

static bool lets_in(const struct job *job, const char *source)
{
	for (const char *const *v = job->setting_sources; *v; v++)
		if (!strcmp(*v, source))
			return true;
	return false;
}

void settings_read(struct setter *s, const char *home)
{
	struct job *job = s->job;
	const char *workspace = job->workspace ? job->workspace : ".";
	struct reading r = { .s = s, .home = home };
	int errors = s->errs->n;

	read_named(&r);
	r.named = job->nhooks;
	if (lets_in(job, "local"))
		read_found(&r, workspace, ".claude/settings.local.json", true);
	if (lets_in(job, "project"))
		read_found(&r, workspace, ".claude/settings.json", true);
	if (lets_in(job, "user") && !home)
		setter_fail(s, &(struct origin){ SOURCE_DEFAULT, "setting_sources", false }, NULL, NULL,
		            "HOME is not set: there are no settings of the user");
	else if (lets_in(job, "user"))
		read_found(&r, home, ".claude/settings.json", false);
	if (r.hooks == OFF)
		job->nhooks = r.off_by_name ? 0 : r.named;
	s->plain += s->errs->n - errors;
}
