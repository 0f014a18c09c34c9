/* The names of hook events, as Claude Code spells them. */
#include <string.h>

#include "job/hooks.h"

static const char *const fired[HOOK_EVENTS] = {
	[HOOK_SESSION_START] = "SessionStart",
	[HOOK_USER_PROMPT_SUBMIT] = "UserPromptSubmit",
	[HOOK_PRE_TOOL_USE] = "PreToolUse",
	[HOOK_PERMISSION_REQUEST] = "PermissionRequest",
	[HOOK_POST_TOOL_USE] = "PostToolUse",
	[HOOK_POST_TOOL_USE_FAILURE] = "PostToolUseFailure",
	[HOOK_POST_TOOL_BATCH] = "PostToolBatch",
	[HOOK_PRE_COMPACT] = "PreCompact",
	[HOOK_POST_COMPACT] = "PostCompact",
	[HOOK_STOP] = "Stop",
	[HOOK_STOP_FAILURE] = "StopFailure",
	[HOOK_SESSION_END] = "SessionEnd",
	[HOOK_VERIFY] = "Verify",
};

/* For things that do not happen here: sub-agents, questions to a person, worktrees, skills. */
static const char *const silent[] = {
	"Notification",       "UserPromptExpansion",  "SubagentStart",    "SubagentStop",
	"PreModelSwitch",     "PostModelSwitch",      "PermissionDenied", "Setup",
	"TeammateIdle",       "TaskCreated",          "TaskCompleted",    "Elicitation",
	"ElicitationResult",  "ConfigChange",         "WorktreeCreate",   "WorktreeRemove",
	"InstructionsLoaded", "CwdChanged",           "FileChanged",      "DirectoryAdded",
	"MessageDisplay",     "PreSkillShellCommand",
};

const char *hook_event_name(enum hook_event event)
{
	return fired[event];
}

int hook_event_find(const char *name, enum hook_event *event)
{
	for (int i = 0; i < HOOK_DECLARED; i++) {
		if (strcmp(fired[i], name) == 0) {
			*event = (enum hook_event)i;
			return 1;
		}
	}
	for (size_t i = 0; i < sizeof silent / sizeof *silent; i++)
		if (strcmp(silent[i], name) == 0)
			return 0;
	return -1;
}

const char *hook_event_silent(size_t i)
{
	return i < sizeof silent / sizeof *silent ? silent[i] : NULL;
}

bool hook_is_about_tools(enum hook_event event)
{
	return event >= HOOK_PRE_TOOL_USE && event <= HOOK_POST_TOOL_USE_FAILURE;
}
