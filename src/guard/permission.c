/* The order in which rules and modes count, for one call. */
#include "guard/permission.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "guard/permission_private.h"

static const char *const mode_names[] = {
	[MODE_DEFAULT] = "default",  [MODE_ACCEPT_EDITS] = "acceptEdits", [MODE_PLAN] = "plan",
	[MODE_DONT_ASK] = "dontAsk", [MODE_BYPASS] = "bypassPermissions",
};

const char *permission_mode_name(enum permission_mode mode)
{
	return mode_names[mode];
}

bool permission_mode_find(const char *name, enum permission_mode *mode)
{
	if (strcmp(name, "manual") == 0)
		name = "default";
	for (size_t i = 0; i < sizeof mode_names / sizeof *mode_names; i++) {
		if (strcmp(mode_names[i], name) == 0) {
			*mode = (enum permission_mode)i;
			return true;
		}
	}
	return false;
}

enum permission_mode permissions_mode(const struct permissions *p)
{
	return p->mode;
}

void finding_worsen(struct finding *f, enum permit permit, const char *type, const struct rule *rule, const char *fmt,
                    ...)
{
	va_list ap;

	if (permit <= f->permit)
		return;
	f->permit = permit;
	f->type = type;
	f->rule = rule;
	va_start(ap, fmt);
	vsnprintf(f->detail, sizeof f->detail, fmt, ap);
	va_end(ap);
}

const struct rule *tool_rule(const struct permissions *p, enum rule_effect effect, const char *tool)
{
	for (size_t i = 0; i < p->n; i++)
		if (p->rule[i].effect == effect && p->rule[i].kind == RULE_TOOL && rule_names(&p->rule[i], tool))
			return &p->rule[i];
	return NULL;
}

/* ---- rules on the input ---- */

/* A scalar of the input as text. */
static bool scalar(const struct json *doc, const char *key, struct buf *out)
{
	int tok = json_get(doc, json_root(doc), key);
	size_t n;
	const char *raw;

	switch (json_type(doc, tok)) {
	case JSON_STRING:
		return json_str(doc, tok, out) == 0;
	case JSON_NUMBER:
	case JSON_BOOL:
	case JSON_NULL:
		raw = json_raw(doc, tok, &n);
		return buf_add(out, raw, n) == 0;
	default:
		return false;
	}
}

bool rule_fits_input(const struct rule *r, const struct json *doc)
{
	struct buf text = BUF_INIT(BUF_HUGE);
	bool fits = false;

	if (r->kind == RULE_DOMAIN)
		fits = scalar(doc, "url", &text) && rule_covers_url(r, buf_str(&text));
	else if (r->kind == RULE_PARAM)
		fits = scalar(doc, r->param, &text) && glob_text(r->spec, buf_str(&text), false);
	else if (r->kind == RULE_NAME)
		fits = scalar(doc, strcmp(r->tool, "Agent") == 0 ? "subagent_type" : "skill", &text) &&
		       glob_text(r->spec, buf_str(&text), false);
	buf_release(&text);
	return fits;
}

/* The rule of an effect that the call falls under by its tool's name or a member of its input. */
static const struct rule *call_rule(const struct permissions *p, enum rule_effect effect,
                                    const struct permission_call *call, const struct json *doc)
{
	for (size_t i = 0; i < p->n; i++) {
		const struct rule *r = &p->rule[i];
		if (r->effect != effect || !rule_names(r, call->tool))
			continue;
		if (r->kind == RULE_TOOL || rule_fits_input(r, doc))
			return r;
	}
	return NULL;
}

/* ---- judging ---- */

static void forbid(const struct permissions *p, const struct permission_call *call, const struct json *doc,
                   struct finding *f)
{
	const struct rule *r = call_rule(p, RULE_DENY, call, doc);

	if (r)
		finding_worsen(f, PERMIT_DENY, "rule", r, "it falls under the deny rule %.300s", r->text);
	r = call_rule(p, RULE_ASK, call, doc);
	if (r)
		finding_worsen(f, PERMIT_ASK, "rule", r, "it falls under the ask rule %.300s", r->text);
}

/* Mode plan lets nobody say yes to what changes something. */
static enum permission_lift lift_of(const struct permissions *p, const struct permission_call *call)
{
	return p->mode == MODE_PLAN && !call->read_only ? LIFT_NOTHING : call->lift;
}

static void lift_all(const struct permissions *p, const struct permission_call *call, struct finding *f)
{
	if (f->permit == PERMIT_ASK && lift_of(p, call) == LIFT_ALL)
		*f = (struct finding){ .permit = PERMIT_ALLOW };
}

static bool has_path_rules(const struct permissions *p)
{
	for (size_t i = 0; i < p->n; i++)
		if (p->rule[i].kind == RULE_PATH)
			return true;
	return false;
}

static void judge_path(const struct permissions *p, const struct permission_call *call, struct permission_verdict *v,
                       struct finding *f)
{
	enum path_use use = call->subject == SUBJECT_READ ? USE_READ : USE_EDIT;
	struct target t;

	if (target_resolve(&t, p, p->at.dirs[0], call->text ? call->text : ".", false) < 0)
		finding_worsen(f, PERMIT_DENY, "path", NULL, "out of memory");
	else if (t.names.fault)
		finding_worsen(f, PERMIT_DENY, "path", NULL, "'%.200s': %s", call->text, t.names.fault);
	if (f->permit == PERMIT_DENY) {
		target_release(&t);
		return;
	}
	path_forbidden(p, use, &t, false, f);
	if (lift_of(p, call) == LIFT_QUESTION)
		path_lifted(p, use, &t, f);
	else
		path_permitted(p, use, call->tool, &t, &v->explicit_allow, f);
	lift_all(p, call, f);
	v->explicit_allow = v->explicit_allow || lift_of(p, call) != LIFT_NOTHING;
	if (f->permit == PERMIT_ALLOW && (has_path_rules(p) || lift_of(p, call) != LIFT_NOTHING)) {
		v->path = strdup(target_real(&t));
		if (!v->path)
			finding_worsen(f, PERMIT_DENY, "path", NULL, "out of memory");
	}
	target_release(&t);
}

static void judge_tool(const struct permissions *p, const struct permission_call *call, const struct json *doc,
                       struct finding *f)
{
	if (call->read_only || p->mode == MODE_BYPASS || lift_of(p, call) == LIFT_QUESTION)
		return;
	if (p->mode == MODE_PLAN)
		finding_worsen(f, PERMIT_ASK, "mode", NULL, "mode plan changes nothing");
	else if (!call_rule(p, RULE_ALLOW, call, doc))
		finding_worsen(f, PERMIT_ASK, "mode", NULL, "no allow rule names it, and mode %s does not run it",
		               permission_mode_name(p->mode));
}

/* What people and the model read: what was refused, and why. */
static char *explain(const struct permission_call *call, const struct finding *f)
{
	struct buf b = BUF_INIT(8192);

	if (f->type && strcmp(f->type, "path") == 0 && call->subject != SUBJECT_COMMAND)
		buf_addf(&b, "File is in a directory that is denied by your permission settings: %s", f->detail);
	else if (call->subject == SUBJECT_COMMAND)
		buf_addf(&b, "Permission to use %s with command %.500s has been denied: %s", call->tool,
		         call->text ? call->text : "", f->detail);
	else
		buf_addf(&b, "Permission to use %s has been denied: %s", call->tool, f->detail);
	for (size_t i = 0; i < b.len; i++)
		if ((unsigned char)b.data[i] < ' ')
			b.data[i] = ' ';
	char *text = buf_take(&b, NULL);
	buf_release(&b);
	return text;
}

void permissions_judge(const struct permissions *p, const struct permission_call *call, struct permission_verdict *v)
{
	struct finding f = { .permit = PERMIT_ALLOW };
	struct json doc = JSON_INIT;
	struct error e;

	memset(v, 0, sizeof *v);
	if (call->input && json_parse(&doc, call->input, strlen(call->input), JSON_BORROW, &e) < 0)
		finding_worsen(&f, PERMIT_DENY, "rule", NULL, "the input cannot be read");
	forbid(p, call, &doc, &f);
	if (f.permit != PERMIT_DENY) {
		if (call->subject == SUBJECT_COMMAND && call->text)
			command_judge(p, call, lift_of(p, call) == LIFT_QUESTION, &f);
		else if (call->subject == SUBJECT_READ || call->subject == SUBJECT_EDIT)
			judge_path(p, call, v, &f);
		else
			judge_tool(p, call, &doc, &f);
	}
	json_release(&doc);
	lift_all(p, call, &f);
	v->permit = f.permit == PERMIT_ASK && p->mode == MODE_DONT_ASK ? PERMIT_DENY : f.permit;
	v->may_ask = v->permit == PERMIT_ASK && (p->mode != MODE_PLAN || call->read_only);
	v->reason_type = f.type ? f.type : "mode";
	if (v->permit != PERMIT_ALLOW)
		v->why = explain(call, &f);
}

void permission_verdict_release(struct permission_verdict *v)
{
	free(v->why);
	free(v->path);
	memset(v, 0, sizeof *v);
}

/* ---- searches ---- */

bool permissions_hide_any(const struct permissions *p)
{
	return path_rule_any(p, USE_READ) != NULL;
}

bool permissions_hide(const struct permissions *p, const char *path)
{
	for (size_t i = 0; i < p->n; i++) {
		const struct rule *r = &p->rule[i];
		if (r->effect != RULE_ALLOW && r->kind == RULE_PATH && strcmp(r->tool, "Read") == 0 &&
		    path_rule_try_text(p->path[i], path, true).covered)
			return true;
	}
	return false;
}

bool permissions_hide_glob(const struct permissions *p, size_t i, const char *dir, struct buf *out)
{
	bool anywhere = false;

	buf_clear(out);
	if (i >= p->n)
		return false;
	const struct rule *r = &p->rule[i];
	bool hides = r->effect != RULE_ALLOW && r->kind == RULE_PATH && strcmp(r->tool, "Read") == 0;
	if (!hides || !path_is_in(dir, p->at.dirs[0]) || !path_rule_glob(r->spec, true, out, &anywhere) ||
	    (!anywhere && strcmp(dir, p->at.dirs[0]) != 0))
		buf_clear(out);
	return true;
}

/* ---- what is offered ---- */

/* Is there an allow rule that some use of the tool could fall under? */
static bool could_allow(const struct permissions *p, const char *tool, enum permission_subject subject)
{
	for (size_t i = 0; i < p->n; i++) {
		const struct rule *r = &p->rule[i];
		if (r->effect != RULE_ALLOW || r->kind == RULE_NOTHING)
			continue;
		if (rule_names(r, tool) ||
		    (r->kind == RULE_PATH && subject == SUBJECT_EDIT && strcmp(r->tool, "Edit") == 0))
			return true;
	}
	return false;
}

enum permission_standing permissions_standing(const struct permissions *p, const char *tool, bool read_only,
                                              enum permission_subject subject)
{
	if (tool_rule(p, RULE_DENY, tool))
		return STANDING_REMOVED;
	if (tool_rule(p, RULE_ASK, tool))
		return STANDING_NEVER;
	if (p->mode == MODE_BYPASS || read_only || subject == SUBJECT_COMMAND)
		return STANDING_POSSIBLE;
	if (p->mode == MODE_PLAN)
		return STANDING_NEVER;
	if (p->mode == MODE_ACCEPT_EDITS && subject == SUBJECT_EDIT)
		return STANDING_POSSIBLE;
	return could_allow(p, tool, subject) ? STANDING_POSSIBLE : STANDING_NEVER;
}

bool permissions_may_lift(const struct permissions *p, const char *tool, bool read_only, enum permission_lift lift)
{
	if (tool_rule(p, RULE_DENY, tool) || (p->mode == MODE_PLAN && !read_only))
		return false;
	return lift == LIFT_QUESTION ? !tool_rule(p, RULE_ASK, tool) : p->mode != MODE_DONT_ASK;
}
