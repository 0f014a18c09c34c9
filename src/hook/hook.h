/*
 * Who may object: the run's hooks, compatible with those of Claude Code, and its verification. An asking starts all
 * handlers that match, in parallel, as children of the supervisor, gives each the same JSON object on stdin, waits for
 * all and merges what they say into one answer. A handler that breaks or takes too long never ends in silence: it is
 * told by an event, and objects where its declaration says so.
 */
#ifndef QUERN_HOOK_HOOK_H
#define QUERN_HOOK_HOOK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/reactor.h"
#include "job/hooks.h"
#include "record/event.h"
#include "record/run_dir.h"
#include "supervisor/supervisor.h"

/* What is told. What one event tells and another does not is NULL, 0 or false there. Strings are borrowed until the
 * answer comes. */
struct hook_call {
	enum hook_event kind;
	/* PreToolUse, PermissionRequest, PostToolUse, PostToolUseFailure */
	const char *tool_name, *tool_use_id;
	const char *tool_input;    /* a JSON object, paths absolute */
	const char *tool_response; /* a JSON value. PostToolUse */
	int64_t duration_ms;
	bool is_interrupt;
	const char *tool_calls; /* a JSON array. PostToolBatch */
	const char *prompt;     /* UserPromptSubmit */
	const char *source;     /* "startup", "resume", "compact": SessionStart, where matchers are tested against it */
	const char *reason;     /* "other": SessionEnd, likewise */
	const char *trigger;    /* "auto": PreCompact, PostCompact, likewise */
	const char *summary;    /* PostCompact */
	const char *model;      /* SessionStart */
	const char *answer;     /* the model's last final answer, NULL = there was none. Stop, StopFailure */
	size_t answer_len;
	bool stop_hook_active; /* the run goes on since a stop hook objected, some time before */
	const char *category;  /* StopFailure, where matchers are tested against it */
	const char *error;     /* StopFailure: its text. PostToolUseFailure: what the model is told */
	int attempt;           /* Verify: how often it was asked before */
};

/* In the order of their weight: of several hooks the weightiest word holds. */
enum hook_verdict {
	HOOK_SAYS_PASS,
	HOOK_SAYS_BLOCK, /* not like this: the text goes to the model (UserPromptSubmit: to the user) */
	HOOK_SAYS_END    /* the run ends here (continue:false): the text is for the user */
};

/* What PreToolUse and PermissionRequest hooks decide, in the order of their weight. A "defer" is told and denies. */
enum hook_permit { HOOK_NO_OPINION, HOOK_ALLOWS, HOOK_ASKS, HOOK_DENIES };

/* What all hooks that were asked came to. Where a call of a tool is judged, a block is a denial: the verdict is then
 * HOOK_SAYS_PASS or HOOK_SAYS_END. Context of Stop hooks wants the run to go on, as a block does.
 * If an answer is lost for want of memory the verdict is HOOK_SAYS_END, and the next asking fails.
 * Valid during the callback; texts are valid UTF-8, masked, and of a length that can enter the conversation. */
struct hook_answer {
	enum hook_event kind;
	enum hook_verdict verdict;
	const char *text;    /* why; NULL = nothing was said */
	const char *context; /* for the model, of all hooks together; NULL = none */
	enum hook_permit permit;
	const char *permit_text;   /* the reason that goes with it, NULL = none */
	bool interrupts;           /* PermissionRequest: a denial that also ends the run */
	const char *new_input;     /* a JSON object in place of tool_input, NULL = none */
	const char *new_output;    /* PostToolUse: a JSON value in place of what the model sees, NULL = none */
	const char *first_message; /* SessionStart: initialUserMessage */
};

/* What the pointers name must live as long as the hooks. */
struct hooks_config {
	const struct job_hook *v;
	size_t n;
	const struct job_verify *verify; /* NULL, or without a command: none */
	struct supervisor *supervisor;
	struct reactor *reactor;
	struct run_dir *run_dir; /* holds hooks_env_file; NULL = there is none */
	const char *project_dir; /* absolute: CLAUDE_PROJECT_DIR and where they start */
	const char *const *env;  /* the tools' environment, to which theirs is added */
	const char *session_id, *permission_mode;
	const char *transcript_path; /* "" = there is none */
	bool unconfined;             /* sandbox.hooks: false */
	const char *const
	        *writable; /* absolute real paths beneath which tools can write, NULL terminated; NULL = none */
	bool tell_all;     /* an event for each start and each end; else of what objects, fails or talks idly */
	/* Does the call meet the handler's `if` rule? NULL = there are no such rules. */
	bool (*meets)(void *ctx, const char *rule, const struct hook_call *call);
	int (*emit)(void *ctx, struct event *ev, struct error *e);
	void (*mask)(void *ctx, struct buf *text);
	/* Keeps text that is too long for the conversation where the model can read it: the path, which lives as long
	 * as the hooks, or NULL. Without it such a text is cut. */
	const char *(*store)(void *ctx, const char *name, const char *text, size_t n);
	void *ctx; /* of the four */
};

struct hooks;
/* Understands all matchers; one that is no regular expression is told (log_warn) and matches nothing. NULL with *e: no
 * memory, or a command that is refused (unconfined, and its file lies where tools can write). */
struct hooks *hooks_open(const struct hooks_config *cfg, struct error *e);
/* Once the supervisor has stopped: until then its children call back. */
void hooks_free(struct hooks *h);

/* Is there anybody to ask about events of that kind, whatever the matcher? NULL hooks: no. */
bool hooks_any(const struct hooks *h, enum hook_event kind);
/* Is there somebody who is waited for before a call of that tool (PreToolUse, PermissionRequest), and so could allow
 * it? */
bool hooks_may_allow(const struct hooks *h, enum hook_event kind, const char *tool);

/* For --check: a line that begins with '#' for each matcher of names of tools, with those of `tools` that it meets. */
void hooks_describe(const struct hooks *h, const char *const *tools, struct buf *out);

/* Called inside reactor_wait, once. */
typedef void (*hooks_done)(void *ctx, const struct hook_answer *answer);
/* Asks all that this is the business of. 1 = done comes, 0 = nobody (NULL hooks too), -1 *e: out of memory, supervisor
 * lost. Any number of askings may run at once; ctx tells them apart. */
int hooks_ask(struct hooks *h, const struct hook_call *call, hooks_done done, void *ctx, struct error *e);
bool hooks_busy(const struct hooks *h); /* has an asking not been answered? NULL hooks: no */
/* Ends the children of the asking with that ctx (TERM, grace, KILL); done is not called any more. */
void hooks_cancel(struct hooks *h, const void *ctx, int64_t grace_ms);

/* The file to be sourced before each Bash call: the `export K=V` lines that SessionStart hooks had written when they
 * answered. Tools cannot write to it. Valid until the next of them answer; NULL = none. */
const char *hooks_env_file(const struct hooks *h);

#endif
