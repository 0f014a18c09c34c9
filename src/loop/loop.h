/*
 * The agent loop: one task is driven to exactly one Terminal. An explicit state machine; every
 * iteration ends in a named Continue or a named Terminal, both visible as events.
 *
 * Nothing here is global: the loop can run inside itself. The outside world is reached through
 * struct loop_deps alone (loop/deps.h).
 */
#ifndef QUERN_LOOP_LOOP_H
#define QUERN_LOOP_LOOP_H

#include <stdbool.h>
#include <stdint.h>

#include "context/context.h"
#include "loop/deps.h"
#include "message/message.h"
#include "model/catalog.h"
#include "model/retry.h"
#include "model/watchdog.h"
#include "record/event.h"

struct resumed_answer; /* record/resume.h */
struct resumed_batch;  /* likewise */
struct session_totals; /* likewise */
struct talk;           /* record/talk.h */

/* A model of the run: the first is asked until it is overloaded too often, then the next. */
struct loop_model {
	const char *name;
	const struct catalog_row *row; /* never NULL: catalog_or_default */
};

/* Captured once at the start, never changed. Strings are borrowed for the run. 0 = no limit, but for max_turns. */
struct loop_config {
	struct event_init init;
	const char *model;
	const struct catalog_row *row;      /* never NULL: catalog_or_default */
	const struct loop_model *fallbacks; /* further models, each is gone on with at most once */
	size_t nfallbacks;
	struct context_spec context;
	const char *compact_model, *summary_model;           /* NULL = the model that answers; NULL = no summaries */
	const struct catalog_row *compact_row, *summary_row; /* of these two; NULL = as the catalog says */
	const char *system;                                  /* NULL = none */
	const char *tools_json;                              /* NULL = none */
	const char *thinking_json, *effort, *extra_json;
	int64_t max_output_tokens; /* the user's; 0 = ours to choose and to raise */
	int64_t max_turns, token_budget, max_cost_nano_usd, max_requests, max_tool_calls;
	int64_t started;      /* monotonic ms: durations and the wall time count from here */
	int64_t deadline;     /* monotonic ms, CLOCK_NEVER = none */
	int64_t wall_time_ms; /* 0 = none; for the result's limits */
	struct retry_policy retry;
	struct watchdog_limits watchdog;
	size_t tool_concurrency;
	int max_stop_blocks;  /* objections of stop hooks that the run goes on from, in all */
	int max_repairs;      /* objections of the verification that the run goes on from, in all */
	int64_t token_target; /* output tokens of main answers that the task may well take; 0 = none */
	const char *source;   /* of SessionStart: "startup", "resume" */
	bool goes_on;         /* the first message is none: what stands in the history is gone on with */
	size_t told_first;    /* loop_run: that many blocks in front of the task are not the user's words */
	bool denied_ends;     /* permissions.on_denied: fail */
	bool calls_wait;      /* batch executor: no call starts before its answer is accepted */
	bool journal;         /* the events are kept: they tell all that is needed to go on from them */
	/* A session that goes on, as its record tells of it (record/resume.h); the history that loop_open gets is the
	 * old conversation. All NULL: a new one. */
	const char *resume_state;                   /* the newest state, a JSON object */
	const struct resumed_answer *resume_answer; /* what follows from it is still to be done; only if it goes_on */
	bool resume_ended; /* it had come to an end; else the requests are those that it would have sent */
	const struct resumed_batch *resume_batch; /* what follows from its calls' results is still to be done */
	const int *resume_overloads;              /* of the model that was asked, in a row; NULL = as the state says */
	const char *const *resume_summaries; /* lines about rounds: the name of one, its line, ...; NULL terminated */
	struct talk *resume_talk;            /* what whoever reads these events knows already, because they go on behind
	                                        those of the record; its content is taken over. NULL = nothing */
	bool resume_moved; /* system text or tools are not what they were: thinking may be bound to them */
	const struct session_totals *resume_paid; /* by earlier runs: budgets of tokens and cost count it */
};

struct loop_outcome {
	enum terminal_reason reason;
	bool transient;
	int signo;          /* the signal that ended it, 0 if none */
	int exit_code;      /* what the result event said */
	bool broken;        /* stdout or the supervisor is gone: the result could not be written */
	struct error error; /* one line for stderr when the reason is not completed */
};

/* The loop of one conversation: budgets, counts and what is known of its context last over all its user messages.
 * *history grows and stays the caller's; it is opened before the first message is in it. NULL with *e: no memory. */
struct loop;
struct loop *loop_open(const struct loop_config *cfg, const struct loop_deps *deps, struct history *history,
                       struct error *e);
/* Works on the user message that *history ends with (what was added since loop_open, or since the last message came to
 * its end) until there is one result. All events from init to the result are emitted; with the first message the
 * session starts, with the last (deps.more_to_come) it ends. Turns, guards, errors and what was denied are counted for
 * each message anew, as are durations; tokens, cost, requests, calls of tools and the wall time in all. */
void loop_message(struct loop *l, struct loop_outcome *out);
void loop_close(struct loop *l);

/* The three of them, for a single message; the result is told even if there is no memory. */
void loop_run(const struct loop_config *cfg, const struct loop_deps *deps, struct history *history,
              struct loop_outcome *out);

#endif
