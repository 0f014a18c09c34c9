/* Paths: which rules they fall under, and where they lie. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "guard/permission_private.h"
#include "guard/protected.h"

/* ---- targets ---- */

/* The user may know a working directory by the name of a link; rules and directories are compared by the real one. */
static char *map_spelled(const struct permissions *p, const char *path)
{
	char clean[PATH_TEXT_MAX];

	for (size_t i = 0; p->at.spelled && p->at.spelled[i] && p->at.dirs[i]; i++) {
		if (path_is_in(path, p->at.dirs[i]) || path_clean(p->at.spelled[i], clean) < 0 ||
		    !path_is_in(path, clean))
			continue;
		struct buf b = BUF_INIT(2 * PATH_TEXT_MAX);
		buf_addf(&b, "%s%s", strcmp(p->at.dirs[i], "/") ? p->at.dirs[i] : "",
		         path + (strcmp(clean, "/") ? strlen(clean) : 0));
		char *mapped = buf_take(&b, NULL);
		buf_release(&b);
		return mapped;
	}
	return strdup(path);
}

int target_resolve(struct target *t, const struct permissions *p, const char *base, const char *path, bool tilde)
{
	struct buf b = BUF_INIT(2 * PATH_TEXT_MAX);
	bool has_tilde = path[0] == '~' && (path[1] == '/' || path[1] == '\0') && p->at.home;
	int rc = 0;

	memset(t, 0, sizeof *t);
	if (has_tilde) {
		buf_addf(&b, "%s%s", p->at.home, path + 1);
		rc = b.failed ? -1 : 0;
	}
	path_names_resolve(&t->names, base, tilde && has_tilde ? buf_str(&b) : path);
	if (!t->names.fault) {
		t->mapped = map_spelled(p, t->names.name[0]);
		rc = t->mapped ? rc : -1;
	}
	if (has_tilde && !tilde) {
		t->home = buf_take(&b, NULL);
		rc = t->home ? rc : -1;
	}
	buf_release(&b);
	return rc;
}

void target_release(struct target *t)
{
	path_names_release(&t->names);
	free(t->mapped);
	free(t->home);
	memset(t, 0, sizeof *t);
}

const char *target_real(const struct target *t)
{
	return t->names.name[t->names.n - 1];
}

/* ---- rules ---- */

/* Does a path rule speak of this use? A rule against reading forbids changing too. */
static bool speaks_of(const struct rule *r, enum path_use use)
{
	bool reads = strcmp(r->tool, "Read") == 0;

	return r->kind == RULE_PATH && (use == USE_READ ? reads : !reads || r->effect != RULE_ALLOW);
}

const struct rule *path_rule_any(const struct permissions *p, enum path_use use)
{
	for (size_t i = 0; i < p->n; i++)
		if (p->rule[i].effect != RULE_ALLOW && speaks_of(&p->rule[i], use))
			return &p->rule[i];
	return NULL;
}

static enum permit permit_of(const struct rule *r)
{
	return r->effect == RULE_DENY ? PERMIT_DENY : PERMIT_ASK;
}

/* Link, target and every name between. */
static struct path_hit try_names(const struct path_rule *pr, const struct target *t)
{
	struct path_hit all = { false, false };
	const char *more[] = { t->mapped, t->home };

	for (size_t i = 0; i < t->names.n + 2; i++) {
		const char *name = i < t->names.n ? t->names.name[i] : more[i - t->names.n];
		if (!name)
			continue;
		struct path_hit hit = path_rule_try_text(pr, name, true);
		all.covered = all.covered || hit.covered;
		all.below = all.below || hit.below;
	}
	return all;
}

void path_forbidden(const struct permissions *p, enum path_use use, const struct target *t, bool below,
                    struct finding *f)
{
	for (size_t i = 0; i < p->n; i++) {
		const struct rule *r = &p->rule[i];
		if (r->effect == RULE_ALLOW || !speaks_of(r, use))
			continue;
		struct path_hit hit = try_names(p->path[i], t);
		if (hit.covered)
			finding_worsen(f, permit_of(r), "rule", r, "%.200s falls under the %s rule %.200s",
			               t->names.n ? t->names.name[0] : "the path", rule_effect_name(r->effect),
			               r->text);
		else if (below && t->names.is_dir && hit.below)
			finding_worsen(f, PERMIT_ASK, "rule", r,
			               "in %.200s there may be files that the %s rule %.200s keeps from being %s",
			               t->names.name[0], rule_effect_name(r->effect), r->text,
			               use == USE_READ ? "read; use Grep, which leaves them out"
			                               : "changed; name the files");
	}
}

void pattern_forbidden(const struct permissions *p, enum path_use use, struct glob path, bool dotted, bool below,
                       const char *shown, struct finding *f)
{
	for (size_t i = 0; i < p->n; i++) {
		const struct rule *r = &p->rule[i];
		if (r->effect == RULE_ALLOW || !speaks_of(r, use))
			continue;
		struct path_hit hit = path_rule_try(p->path[i], path, true, dotted);
		if (hit.covered || (below && hit.below && glob_is_open(path)))
			finding_worsen(f, PERMIT_ASK, "rule", r,
			               "%.200s may name what falls under the %s rule %.200s; write the paths out",
			               shown, rule_effect_name(r->effect), r->text);
	}
}

/* An allow rule must cover the link and its target. */
static const struct rule *allowing(const struct permissions *p, enum path_use use, const struct target *t)
{
	for (size_t i = 0; i < p->n; i++) {
		const struct rule *r = &p->rule[i];
		bool self = use == USE_READ && t->names.is_dir;
		if (r->effect == RULE_ALLOW && speaks_of(r, use) && !t->home &&
		    path_rule_try_text(p->path[i], t->mapped, self).covered &&
		    path_rule_try_text(p->path[i], target_real(t), self).covered)
			return r;
	}
	return NULL;
}

/* ---- directories ---- */

bool path_in_dirs(const struct permissions *p, const char *path, bool reading)
{
	for (size_t i = 0; p->at.dirs[i]; i++)
		if (path_is_in(path, p->at.dirs[i]))
			return true;
	for (size_t i = 0; reading && p->read_dirs[i]; i++)
		if (path_is_in(path, p->read_dirs[i]))
			return true;
	return false;
}

/* The part of a path below the working directory that holds it; the whole of it if none does. */
static const char *below_dirs(const struct permissions *p, const char *path)
{
	size_t best = 0;

	for (size_t i = 0; p->at.dirs[i]; i++) {
		size_t n = strlen(p->at.dirs[i]);
		if (path_is_in(path, p->at.dirs[i]) && n > best)
			best = n;
	}
	path += best;
	return path + strspn(path, "/");
}

bool target_is_protected(const struct permissions *p, const struct target *t)
{
	for (size_t i = 0; i < t->names.n; i++)
		if (path_is_protected(below_dirs(p, t->names.name[i])))
			return true;
	return t->mapped && path_is_protected(below_dirs(p, t->mapped));
}

static void outside(const struct target *t, struct finding *f)
{
	finding_worsen(f, PERMIT_ASK, "path", NULL, "'%.300s' is outside the workspace and its added directories",
	               t->names.name[0]);
}

/* Files are written by two tools; a redirection may do what either may. */
static bool tool_allowed(const struct permissions *p, const char *tool)
{
	if (tool)
		return tool_rule(p, RULE_ALLOW, tool) != NULL;
	return tool_rule(p, RULE_ALLOW, "Edit") || tool_rule(p, RULE_ALLOW, "Write");
}

static void protected_place(const struct target *t, struct finding *f)
{
	finding_worsen(f, PERMIT_ASK, "safetyCheck", NULL, "'%.300s' is a protected place", t->names.name[0]);
}

void path_lifted(const struct permissions *p, enum path_use use, const struct target *t, struct finding *f)
{
	if (use == USE_EDIT && p->mode != MODE_BYPASS && target_is_protected(p, t))
		protected_place(t, f);
}

bool path_meets(const struct path_rule *pr, const struct target *t)
{
	return try_names(pr, t).covered;
}

void path_permitted(const struct permissions *p, enum path_use use, const char *tool, const struct target *t,
                    bool *named, struct finding *f)
{
	const struct rule *r = allowing(p, use, t);
	bool inside = path_in_dirs(p, t->mapped, use == USE_READ) && path_in_dirs(p, target_real(t), use == USE_READ);

	*named = r != NULL;
	if (p->mode == MODE_BYPASS)
		return;
	if (use == USE_READ) {
		if (!inside && !r)
			outside(t, f);
		return;
	}
	if (target_is_protected(p, t)) {
		protected_place(t, f);
	} else if (p->mode == MODE_PLAN) {
		finding_worsen(f, PERMIT_ASK, "mode", NULL, "mode plan changes nothing");
	} else if (!inside && !r) {
		outside(t, f);
	} else if (!r && p->mode != MODE_ACCEPT_EDITS && !tool_allowed(p, tool)) {
		finding_worsen(f, PERMIT_ASK, "mode", NULL, "no allow rule covers '%.200s', and mode %s does not edit",
		               t->names.name[0], permission_mode_name(p->mode));
	}
}
