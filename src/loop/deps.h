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
#include "model/model.h"
#include "record/event.h"
#include "tool/tool.h"

enum loop_event_kind {
	LOOP_EV_NONE,   /* the deadline given to next_event has come */
	LOOP_EV_MODEL,  /* .model: an event of the running model call */
	LOOP_EV_TOOL,   /* .tool_use_id, .result: a started call is done */
	LOOP_EV_HOOK,   /* .hook: hooks that were asked have answered */
	LOOP_EV_SIGNAL, /* .signo */
	LOOP_EV_OUTPUT, /* stdout's backlog fell below the high water mark */
	LOOP_EV_BROKEN  /* stdout gone or supervisor lost: .error says which */
};

/*
 * What hooks are asked about. What one kind tells and another does not is NULL or 0 there; answers likewise. A kind
 * that may be asked several times at once brings a member that tells its askings apart, in the call and in the answer.
 */
enum hook_kind {
	HOOK_STOP,        /* the model is done: may the run end? .answer, .stop_hook_active */
	HOOK_STOP_FAILURE /* it ends by an API error: nobody can object. .answer, .category, .error */
};

struct hook_call {
	enum hook_kind kind;
	const char *answer; /* the model's last final answer, NULL = there was none */
	size_t answer_len;
	bool stop_hook_active; /* the run goes on since a stop hook objected, some time before */
	const char *category, *error;
};

/* In the order of their weight: of several hooks the weightiest word holds. */
enum hook_verdict {
	HOOK_SAYS_PASS,
	HOOK_SAYS_BLOCK, /* not like this: the text goes to the model */
	HOOK_SAYS_END    /* the run ends here (continue:false): the text is for the user */
};

/* What all hooks that were asked came to. A broken one or one that took too long has a verdict as well. */
struct hook_answer {
	enum hook_kind kind;
	enum hook_verdict verdict;
	const char *text; /* why, valid UTF-8, of a length that can enter the conversation; NULL = nothing was said */
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
	/* Asks all hooks that this is the business of. 1 = one LOOP_EV_HOOK comes, 0 = there is none to ask, -1 *e: the
	 * world is broken. The strings of the call are borrowed until then. */
	int (*hook_start)(void *ctx, const struct hook_call *call, struct error *e);
	/* They are ended, with the usual grace, and not waited for; no answer of theirs comes any more. */
	void (*hook_cancel)(void *ctx, const struct hook_call *call);
	int (*emit)(void *ctx, struct event *ev, struct error *e);
	bool (*output_full)(void *ctx); /* backlog over the high water mark: start no tool */
	void (*new_id)(void *ctx, char out[UUID_LEN + 1]);
	double (*random01)(void *ctx);
	int64_t (*now)(void *ctx); /* monotonic ms */
	/* Waits until something happened or the deadline (monotonic ms) has come. 0 with *ev, -1 with *e. */
	int (*next_event)(void *ctx, int64_t deadline, struct loop_event *ev, struct error *e);
};

#endif
