/* Rules in words, for --check. */
#include <string.h>

#include "guard/path_rule.h"
#include "guard/rule.h"

static void add_command(const struct rule *r, struct buf *out)
{
	struct glob g = r->command;
	bool open = false;

	if (r->tail)
		g.n -= 2;
	buf_addf(out, "the command `");
	for (size_t i = 0; i < g.n; i++) {
		open = open || g.s[i] >= GLOB_ANY;
		if (g.s[i] == GLOB_ANY)
			buf_adds(out, "...");
		else
			buf_addc(out, g.s[i] ? (char)g.s[i] : ' ');
	}
	buf_adds(out, r->tail ? "` with any arguments or none" : open ? "`, ... being anything" : "` and nothing else");
	if (r->effect == RULE_ALLOW)
		buf_adds(out, "; every command of a line must be allowed");
	else
		buf_adds(out, "; wherever in a line it stands");
}

void rule_describe(const struct rule *r, const char *where, const char *home, struct buf *out)
{
	switch (r->kind) {
	case RULE_TOOL:
		if (strchr(r->tool, '*'))
			buf_addf(out, "every tool whose name is like %s", r->tool);
		else
			buf_addf(out, "every use of %s", r->tool);
		if (r->effect == RULE_DENY)
			buf_adds(out, "; it is not offered to the model");
		break;
	case RULE_COMMAND:
		add_command(r, out);
		break;
	case RULE_PATH:
		buf_adds(out, strcmp(r->tool, "Read") == 0 ? "reading and searching " : "changing ");
		path_rule_describe(r->spec, r->effect != RULE_ALLOW, where, home, out);
		if (r->effect != RULE_ALLOW && strcmp(r->tool, "Read") == 0)
			buf_adds(out, "; changing it too");
		break;
	case RULE_DOMAIN:
		if (strcmp(r->spec, "*") == 0)
			buf_adds(out, "every host");
		else if (strncmp(r->spec, "*.", 2) == 0)
			buf_addf(out, "the subdomains of %s, not itself", r->spec + 2);
		else
			buf_addf(out, "the host %s", r->spec);
		break;
	case RULE_NAME:
		buf_addf(out, "%s of the name %s", r->tool, r->spec);
		break;
	case RULE_PARAM:
		buf_addf(out, "%s when its %s is %s", r->tool, r->param, r->spec);
		break;
	case RULE_NOTHING:
		buf_addf(out, "does nothing: %s", r->warning ? r->warning : "");
		return;
	}
	if (r->warning)
		buf_addf(out, " (%s)", r->warning);
}
