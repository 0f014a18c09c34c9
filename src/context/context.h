/*
 * What the model still sees of a conversation that grows. Layers stand in front of each request: snip (off unless asked
 * for), microcompact, collapse, then autocompact and the blocking limit; the result budget stands where a result
 * enters. One file a layer; pipeline.c has the order.
 *
 * Nothing here calls a model or does I/O: a compaction's request is made here, sent by the loop, and its answer
 * brought back. What a request costs when nothing is over a mark does not depend on how long the conversation is.
 *
 * A *round* is an answer of the model and the user message that follows it. Steps take whole rounds or leave their
 * pairs of call and result as they are, so that the history stays valid (history_check) after each of them.
 */
#ifndef QUERN_CONTEXT_CONTEXT_H
#define QUERN_CONTEXT_CONTEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/json.h"
#include "job/job.h"
#include "message/message.h"

/* ---- marks.c: the thresholds of a model's window ---- */

/* As asked for, see the job keys context.*. */
struct context_spec {
	int64_t window; /* tokens; 0 = the model's */
	struct job_mark microcompact, collapse, snip, autocompact, blocking;
	size_t microcompact_keep; /* newest results that stay as they are */
};

/* Resolved, in tokens. 0 = off; all are off in a window that is not known. */
struct context_marks {
	int64_t window; /* 0 = not known */
	int64_t usable; /* window - min(max_output, 20,000, window/4) */
	int64_t microcompact, collapse, snip, autocompact, blocking;
	int64_t slack;                /* 20 % of usable: collapse and snip go on to their mark minus this */
	int64_t keep_recent;          /* newest rounds that a compaction keeps word for word: min(20,000, usable/4) */
	int64_t summary;              /* the longest summary: min(20,000, usable/4), at least 500 */
	int64_t file_each, files_all; /* re-attached files: 5,000 each, min(50,000, usable/8) together */
	int64_t bytes_per_token;
	size_t result_bytes, message_bytes; /* bounds of one result and of all in one message; SIZE_MAX = none */
};

/* max_output: the usual cap of an answer, before any escalation. -1 with *e (a key's name and what to do) if marks that
 * are on do not ascend: microcompact < collapse < snip < autocompact < blocking <= usable. */
int context_marks(const struct context_spec *spec, int64_t window, int64_t max_output, int bytes_per_token,
                  struct context_marks *out, struct error *e);

/* ---- the state of the layers over a run ---- */

struct context_config {
	size_t microcompact_keep;
	/* May old results of this tool be cleared? (They can be had again, or said what they had to say.) */
	bool (*may_clear)(void *ctx, const char *tool);
	/* The result of this call is no longer seen by the model. */
	void (*forget)(void *ctx, const char *tool_use_id);
	void *ctx;
};

struct context; /* opaque: staged folds, what was cleared, the user's task */
struct context *context_open(const struct context_config *cfg, struct error *e);
void context_free(struct context *c);

/* What holds for the model that is asked next; a model switch brings others. */
struct context_model {
	struct context_marks marks;
	bool thinking_bound;    /* thinking is valid for an unchanged prefix only: an edit strips it all */
	bool thinking_budgeted; /* thinking: enabled is asked for: the answers since the last user text need theirs */
};
void context_set_model(struct context *c, const struct context_model *m);
const struct context_marks *context_marks_now(const struct context *c);

/* ---- pipeline.c ---- */

struct context_step {
	const char *name;      /* "microcompact", "collapse", "snip", "result_budget" */
	int64_t before, freed; /* tokens */
};
#define CONTEXT_STEPS 4
struct context_report {
	struct context_step steps[CONTEXT_STEPS];
	size_t n;
	bool thinking_broken; /* budgeted thinking had to go: the next request is to be sent without the thinking key */
	size_t files;         /* of a compaction: so many of the first stand behind the summary */
};

/* A round came to its end (its results are in the history, the last message): stages it for folding. O(the round). */
int context_round_ended(struct context *c, const struct history *h);
/* Steps 1 to 3 on *h, whose size is est's business (an edit makes the history lighter and estimate_tokens follows).
 * `tokens` is what the next request is held to take. 0, or -1: out of memory (the history is valid all the same). */
int context_prepare(struct context *c, struct history *h, int64_t tokens, struct context_report *report);
/* Folds all rounds but the last, whatever the marks say. No step in the report: nothing would have got smaller. */
int context_drain(struct context *c, struct history *h, int64_t tokens, struct context_report *report);
/* Takes all thinking out of the history (another model cannot read it). 1 = there was some, 0, -1 no memory. */
int context_strip_thinking(struct history *h);
/* Puts `now`, whose reference is taken, in the place of block `block` of message `message`: for good, so that no
 * compaction brings the old one back. -1: no memory. */
int context_replace(struct context *c, struct history *h, size_t message, size_t block, struct block *now);
/* The same of round r, of a conversation that is taken over from a record: called for all of them, in their order. */
int context_round_restored(struct context *c, const struct history *h, size_t r);
/* ---- state.c: what a record of the conversation has to say beside the conversation ---- */
/* Appends it as a JSON object. It is another one only after an edit of h, or while h is a single message or two. The
 * staged lines are not in it: a record has each that is not ours, see context_round_summary. -1: no memory. */
int context_state_write(const struct context *c, const struct history *h, struct buf *out);
/* Takes over what was written beside an equal history: each later edit is the same then. tok -1: nothing was. */
int context_state_read(struct context *c, const struct history *h, const struct json *doc, int tok, struct error *e);
/* A background call's words about a round, named by its first tool_use: they stand in its fold instead of ours. Kept by
 * copy; a round that is folded or gone already is fine. */
int context_round_summary(struct context *c, const char *first_tool_use_id, const char *text, size_t n);
/* The request of such a call: a short history of one user message that shows the newest round, clipped. 1: that round
 * has no call, there is nothing to ask; -1: no memory. */
int context_summary_request(const struct history *h, struct history *out);

/* ---- result_budget.c: all results of one user message, before they enter ---- */

struct result_text {
	const char *text; /* NULL: no text (an image); it is left as it is */
	size_t len;
	size_t allowed; /* set by result_budget: len, or less if it is to be cut to that */
	bool known;     /* the caller's: len will be no other */
};
/* Decides what each may have: none over each_max, together at most all_max, the largest are cut first and evenly. */
void result_budget(struct result_text *v, size_t n, size_t each_max, size_t all_max);

/* ---- autocompact.c: the summary's request and what becomes of its answer ---- */

/* The user has said something and nothing was answered yet: all that is there is the task. -1: no memory. */
int context_note_task(struct context *c, const struct history *h);
/* Is there something that a compaction could drop? One user message alone is not. */
bool context_can_compact(const struct context *c, const struct history *h);
struct compact_request {
	size_t leave_out; /* that many of the oldest rounds stay out: an earlier request was itself too long */
	bool strip;       /* another model is asked: without thinking */
};
/* The same messages with the instruction as the last block; rounds that are left out are folded. `out` is the caller's,
 * empty before. -1: no memory. */
int context_compact_request(const struct context *c, const struct history *h, const struct compact_request *how,
                            struct history *out);
/* How many of the oldest rounds have to stay out so that about `tokens` are saved of `total`. At least one more than
 * `already`; 0 = no round is left to leave out. */
size_t context_rounds_worth(const struct history *h, size_t already, int64_t tokens, int64_t total);
/* What is told instead of the rounds: *h becomes boundary + summary + the newest rounds word for word + files
 * (`files` may be NULL: text blocks' content, the most important first; those that would make the history heavier than
 * `room` bytes stay out). forget() is called for each result that goes. 0; 1: the history would not get smaller; -1: no
 * memory. In both *h is as it was. */
int context_compact_apply(struct context *c, struct history *h, const char *summary, size_t n, const struct buf *files,
                          size_t nfiles, size_t room, struct context_report *report);

#endif
