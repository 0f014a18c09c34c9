/*
 * The only seam: how the loop reaches the outside world. Functions start and cancel things and never
 * wait; next_event is the one wait. run/ fills it with the real world, the simulator with a made-up one
 * and a virtual clock.
 */
#ifndef QUERN_LOOP_DEPS_H
#define QUERN_LOOP_DEPS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "hook/hook.h"
#include "model/model.h"
#include "record/event.h"
#include "tool/tool.h"

enum loop_event_kind {
	LOOP_EV_NONE,      /* the deadline given to next_event has come */
	LOOP_EV_MODEL,     /* .model: an event of the running model call */
	LOOP_EV_TOOL,      /* .tool_use_id, .result: a started call is done */
	LOOP_EV_HOOK,      /* .hook: hooks that were asked have answered */
	LOOP_EV_SIGNAL,    /* .signo */
	LOOP_EV_INTERRUPT, /* the user wants this message's work to end, not the process */
	LOOP_EV_OUTPUT,    /* stdout's backlog fell below the high water mark */
	LOOP_EV_BROKEN     /* stdout gone or supervisor lost: .error says which */
};

struct loop_event {
	enum loop_event_kind kind;
	enum model_kind call; /* LOOP_EV_MODEL: of which call: MODEL_SUMMARY is the background's, else the other's */
	struct model_event model;   /* pointers valid until the next call of next_event */
	const char *tool_use_id;    /* likewise */
	struct tool_result *result; /* to be moved out; what is left is released by the next call */
	struct hook_answer hook;    /* its text as the above */
	int signo;
	struct error error;
};

struct loop_deps {
	void *ctx;
	/* At most one call of kind MODEL_SUMMARY, and one of any other kind, run at a time. */
	int (*model_start)(void *ctx, const struct model_request *req, struct error *e);
	void (*model_cancel)(void *ctx, enum model_kind kind); /* that one; no event of it comes any more */
	enum tool_class (*tool_class)(void *ctx, const char *name);
	/* As toolbox_start: 1 started, 0 *now is the result, -1 *e. */
	int (*tool_start)(void *ctx, const struct block *use, struct tool_result *now, struct error *e);
	void (*tool_cancel)(void *ctx, const char *tool_use_id, int64_t grace_ms);
	/* What the calls of the answer that comes in have found will never be shown: it is withdrawn. */
	void (*answer_withdrawn)(void *ctx);
	/* May an old result of this tool be cleared from the conversation? */
	bool (*tool_may_clear)(void *ctx, const char *name);
	/* The call's result is no longer in the conversation: what it showed counts as not seen. */
	void (*tool_forget)(void *ctx, const char *tool_use_id);
	/* The i-th of the files that were read or changed lately (0 = the latest) as it is now, at most max bytes, as
	 * text for the model. 1 = *out is filled, 0 = there is none, -1 *e. */
	int (*recent_file)(void *ctx, size_t i, size_t max, struct buf *out, struct error *e);
	/* The first n of them stand in the conversation now; those that an earlier compaction put there do not any
	 * more. */
	void (*files_attached)(void *ctx, size_t n);
	/* A result that is too long to enter whole: keeps all of it (unless res->file names it already) and cuts the
	 * text to `allowed` bytes: head, tail, how long it was and where it can be read. -1: no memory. */
	int (*tool_shorten)(void *ctx, const char *tool_use_id, struct tool_result *res, size_t allowed);
	/* Is there any hook for events of that kind? What is told them is put together only then. */
	bool (*hook_any)(void *ctx, enum hook_event kind);
	/* Asks all hooks that this is the business of, one asking at a time (those about a call of a tool are the
	 * tool's, see struct tool_result). 1 = one LOOP_EV_HOOK comes, 0 = there is none to ask, -1 *e: the world is
	 * broken. The strings of the call are borrowed until then. */
	int (*hook_start)(void *ctx, const struct hook_call *call, struct error *e);
	/* They are ended, with the usual grace, and not waited for; no answer of theirs comes any more. */
	void (*hook_cancel)(void *ctx, const struct hook_call *call);
	/* What is to be told behind the results of tools: memory files of directories that were touched for the first
	 * time, one text a call. 1 = *out is filled, 0 = there is no more, -1 *e. */
	int (*attachment)(void *ctx, struct buf *out, struct error *e);
	/* A user message that has come meanwhile and wants to be attached to the work that goes on: a message
	 * of role user, a reference for the caller. NULL = none. */
	struct message *(*user_message)(void *ctx);
	/* The one that was given last is not told after all: it is the next again. */
	void (*user_message_back)(void *ctx);
	/* May another user message follow the one that is being worked on? Then this result is not the last line, and
	 * the session does not end with it. */
	bool (*more_to_come)(void *ctx);
	/* Before the result is made: what must be done before it can say that the run has completed, or whatever else.
	 * -1 with *e: that failed, and no run has completed. NULL = there is nothing to do. */
	int (*settle)(void *ctx, bool completed, struct error *e);
	int (*emit)(void *ctx, struct event *ev, struct error *e);
	bool (*output_full)(void *ctx); /* backlog over the high water mark: start no tool */
	double (*random01)(void *ctx);
	int64_t (*now)(void *ctx); /* monotonic ms */
	/* The run takes it that its deadline has come. NULL = nobody wants to know. */
	void (*time_is_up)(void *ctx);
	/* Waits until something happened or the deadline (monotonic ms) has come. 0 with *ev, -1 with *e. */
	int (*next_event)(void *ctx, int64_t deadline, struct loop_event *ev, struct error *e);
};

#endif
