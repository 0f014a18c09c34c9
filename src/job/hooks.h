/*
 * Hooks as they are declared: in the job file (`hooks:`), in a settings file named by --settings, or in the settings
 * files that --setting-sources lets in. The layout is that of Claude Code's settings.json: event, matcher groups,
 * handlers. hook/ runs them.
 */
#ifndef QUERN_JOB_HOOKS_H
#define QUERN_JOB_HOOKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The events that fire, in the order of a run; then what is asked like a hook and declared elsewhere. */
enum hook_event {
	HOOK_SESSION_START,
	HOOK_USER_PROMPT_SUBMIT,
	HOOK_PRE_TOOL_USE,
	HOOK_PERMISSION_REQUEST,
	HOOK_POST_TOOL_USE,
	HOOK_POST_TOOL_USE_FAILURE,
	HOOK_POST_TOOL_BATCH,
	HOOK_PRE_COMPACT,
	HOOK_POST_COMPACT,
	HOOK_STOP,
	HOOK_STOP_FAILURE,
	HOOK_SESSION_END,
	HOOK_DECLARED,
	HOOK_VERIFY = HOOK_DECLARED, /* the job's verify.command */
	HOOK_EVENTS
};

/* The official name, "Verify" for HOOK_VERIFY. */
const char *hook_event_name(enum hook_event event);
/* 1: *event. 0: an event that Claude Code has and that never fires here. -1: no such event is known. */
int hook_event_find(const char *name, enum hook_event *event);
/* Are its matchers about names of tools? */
bool hook_is_about_tools(enum hook_event event);
/* The i-th of the events that never fire, NULL behind the last. */
const char *hook_event_silent(size_t i);

/* One command handler. Strings live in the job's arena. */
struct job_hook {
	enum hook_event event;
	const char *matcher;     /* as written; NULL = all */
	const char *command;     /* for sh -c; with args: the program itself, no shell */
	const char *const *args; /* NULL terminated, or NULL */
	const char *if_rule;     /* one permission rule that the call must meet besides, NULL = none */
	int64_t timeout_ms;      /* 0 = the event's default */
	bool async;              /* nobody waits for it; what it says has no effect */
	bool network;            /* it may use the network though tools may not */
	bool blocks;             /* if it breaks or takes too long, that is an objection; else the run goes on */
	bool blocks_said;        /* its own declaration said so, not the job's hook_failure */
	const char *source;      /* where it was declared, for people: "job.yaml:12:5", "settings.json" */
};

/* verify: what must succeed before the run counts as completed. */
struct job_verify {
	const char *const *command;      /* NULL = nothing; else at least one word, NULL terminated */
	int64_t max_repairs, timeout_ms; /* 0 = none */
	bool network;
};

#endif
