/* Does a call fall under one rule? A filter: what cannot be told counts as yes. */
#include <stdio.h>
#include <string.h>

#include "guard/permission_private.h"

/* The rule as its tool would have it. Permissions know one rule for all that reads and one for all that writes; what a
 * user wrote of another tool's path ("Write(*.c)") means that tool's calls alone. -1: malformed, no memory. */
static int understand(struct rule *r, const char *text, const struct permission_call *call, struct arena *arena)
{
	char other[4200];
	struct error e;
	const char *spec = strchr(text, '(');

	/* deny: names with wildcards and parameters are rules there */
	if (rule_parse(r, RULE_DENY, text, arena, &e) < 0)
		return -1;
	if (r->kind != RULE_NOTHING || !spec || call->subject == SUBJECT_NONE || call->subject == SUBJECT_COMMAND ||
	    !rule_names(r, call->tool))
		return 0;
	snprintf(other, sizeof other, "%s%s", call->subject == SUBJECT_READ ? "Read" : "Edit", spec);
	return rule_parse(r, RULE_DENY, other, arena, &e);
}

static bool meets_path(const struct permissions *p, const struct rule *r, const struct permission_call *call,
                       struct arena *arena)
{
	const char *path = call->text && *call->text ? call->text : ".";
	struct path_rule pr;
	struct target t;
	struct error e;

	if (strcmp(r->tool, call->subject == SUBJECT_READ ? "Read" : "Edit") != 0)
		return false;
	if (path_rule_compile(&pr, r->spec, false, &p->at, arena, &e) < 0)
		return true;
	bool met = target_resolve(&t, p, p->at.dirs[0], path, false) < 0 || (!t.names.fault && path_meets(&pr, &t));
	target_release(&t);
	return met;
}

static bool meets_input(const struct rule *r, const struct permission_call *call)
{
	struct json doc = JSON_INIT;
	struct error e;

	if (!call->input || json_parse(&doc, call->input, strlen(call->input), JSON_BORROW, &e) < 0)
		return true;
	bool met = rule_fits_input(r, &doc);
	json_release(&doc);
	return met;
}

static bool meets_command(const struct permissions *p, struct rule *r, const struct permission_call *call)
{
	struct permissions only = { .mode = MODE_BYPASS, .rule = r, .n = 1, .at = p->at };

	return !call->text || command_meets(&only, call->text);
}

bool permissions_meets(const struct permissions *p, const char *rule, const struct permission_call *call)
{
	struct arena arena = ARENA_INIT;
	struct rule r;
	bool met = true;

	if (understand(&r, rule, call, &arena) == 0) {
		bool files = call->subject == SUBJECT_READ || call->subject == SUBJECT_EDIT;
		if (r.kind == RULE_PATH)
			met = files && meets_path(p, &r, call, &arena);
		else if (r.kind == RULE_NOTHING || !rule_names(&r, call->tool))
			met = false;
		else if (r.kind == RULE_COMMAND)
			met = call->subject == SUBJECT_COMMAND && meets_command(p, &r, call);
		else if (r.kind != RULE_TOOL)
			met = meets_input(&r, call);
	}
	arena_release(&arena);
	return met;
}
