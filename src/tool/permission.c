/* Which tools a mode and the lists of bare names allow. Deny stands above allow, in every mode. */
#include <string.h>

#include "tool/internal.h"

/* "Bash" and "Bash(*)" both name the whole tool. */
static bool names_tool(const char *rule, const char *name)
{
	size_t n = strlen(name);

	return strncmp(rule, name, n) == 0 && (rule[n] == '\0' || strcmp(rule + n, "(*)") == 0);
}

static bool listed(const char *const *rules, const char *name)
{
	for (; rules && *rules; rules++)
		if (names_tool(*rules, name))
			return true;
	return false;
}

enum tool_permit permission_judge(const struct toolbox_config *cfg, const struct tool_row *row)
{
	if (listed(cfg->deny, row->name))
		return TOOL_NOT_BY_RULE;
	if (cfg->mode == MODE_BYPASS || row->read_only || (row->edits && cfg->mode == MODE_ACCEPT_EDITS) ||
	    listed(cfg->allow, row->name))
		return TOOL_PERMITTED;
	return TOOL_NOT_BY_MODE;
}

const char *permission_mode_name(enum permission_mode mode)
{
	static const char *const names[] = {
		[MODE_DEFAULT] = "default",  [MODE_ACCEPT_EDITS] = "acceptEdits", [MODE_PLAN] = "plan",
		[MODE_DONT_ASK] = "dontAsk", [MODE_BYPASS] = "bypassPermissions",
	};

	return names[mode];
}
