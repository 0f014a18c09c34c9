/*
 * Why a run goes round again (Continue) and why it stops (Terminal): the one table.
 * Exit codes, result subtypes, --help, the man page and the event schema all read it.
 * Codes never change meaning.
 */
#ifndef QUERN_RECORD_REASON_H
#define QUERN_RECORD_REASON_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

/* X(symbol, name, turn: does a new turn follow?, description) */
#define CONTINUE_LIST(X)                                                                                               \
	X(CONT_NEXT_TURN, "next_turn", true, "tools ran; the model must see their results")                            \
	X(CONT_MAX_OUTPUT_ESCALATE, "max_output_tokens_escalate", false,                                               \
	  "the answer was cut; same request again with a raised output cap")                                           \
	X(CONT_MAX_OUTPUT_RECOVERY, "max_output_tokens_recovery", true,                                                \
	  "cut again; the partial answer is kept and the model resumes")                                               \
	X(CONT_COLLAPSE_DRAIN, "collapse_drain_retry", false, "prompt too long; staged folds committed")               \
	X(CONT_REACTIVE_COMPACT, "reactive_compact_retry", false, "prompt too long; emergency summary made")           \
	X(CONT_MODEL_FALLBACK, "model_fallback", false, "model overloaded; on with the next of the list")              \
	X(CONT_SALVAGED_STREAM, "salvaged_stream", true,                                                               \
	  "the stream broke after an unsafe tool had started; complete blocks are the answer")                         \
	X(CONT_STOP_HOOK_BLOCKING, "stop_hook_blocking", true, "a stop hook or the verification objected")             \
	X(CONT_TOKEN_BUDGET, "token_budget_continuation", true, "the token target is not used up")                     \
	X(CONT_PAUSE_TURN, "pause_turn", false, "the API paused a long turn; continued as is")                         \
	X(CONT_EMPTY_NUDGE, "empty_answer_nudge", true, "end_turn without content; one nudge")                         \
	X(CONT_STRUCTURED_RETRY, "structured_output_retry", true, "the final answer does not fit the schema")

enum continue_reason {
	CONT_NONE = 0,
#define X(sym, name, turn, text) sym,
	CONTINUE_LIST(X)
#undef X
	        CONT_COUNT
};

#define SUB_TURNS  "error_max_turns"
#define SUB_BUDGET "error_max_budget_usd"
#define SUB_SCHEMA "error_max_structured_output_retries"
#define SUB_ERROR  "error_during_execution"

/* X(symbol, name, exit code, subtype, description) */
#define TERMINAL_LIST(X)                                                                                               \
	X(TERM_COMPLETED, "completed", 0, "success", "the model is done and nothing objected")                         \
	X(TERM_INTERNAL_ERROR, "internal_error", 1, SUB_ERROR, "a bug, out of memory, stdout gone, supervisor lost")   \
	X(TERM_SETUP_FAILED, "turn_setup_failed", 2, SUB_ERROR,                                                        \
	  "bad options or job, no key, no workspace: nothing was sent")                                                \
	X(TERM_MAX_TURNS, "max_turns", 10, SUB_TURNS, "the turn limit is reached and the model wants more")            \
	X(TERM_PROMPT_TOO_LONG, "prompt_too_long", 11, SUB_ERROR, "the API refused the prompt for its length")         \
	X(TERM_BLOCKING_LIMIT, "blocking_limit", 12, SUB_ERROR,                                                        \
	  "the prompt cannot fit and compaction is off or failed")                                                     \
	X(TERM_BUDGET_EXHAUSTED, "budget_exhausted", 13, SUB_BUDGET,                                                   \
	  "a budget (tokens, cost, requests, tool calls) is spent")                                                    \
	X(TERM_MAX_OUTPUT, "max_output_tokens", 14, SUB_ERROR, "the answer was cut and the recoveries are used up")    \
	X(TERM_RAPID_REFILL, "rapid_refill_breaker", 15, SUB_ERROR,                                                    \
	  "the window filled up right after compaction, three times")                                                  \
	X(TERM_STRUCTURED_EXHAUSTED, "structured_output_retry_exhausted", 16, SUB_SCHEMA,                              \
	  "no answer that fits the schema")                                                                            \
	X(TERM_MALFORMED_TOOL_USE, "malformed_tool_use_exhausted", 17, SUB_ERROR,                                      \
	  "5 answers in a row with nothing but unusable tool calls")                                                   \
	X(TERM_MODEL_ERROR, "model_error", 20, SUB_ERROR, "the model call failed for good")                            \
	X(TERM_IMAGE_ERROR, "image_error", 21, SUB_ERROR, "an image is too large, unreadable or refused")              \
	X(TERM_REFUSAL, "refusal", 22, SUB_ERROR, "the model declined")                                                \
	X(TERM_HOOK_STOPPED, "hook_stopped", 30, SUB_ERROR, "a hook stopped the run")                                  \
	X(TERM_STOP_HOOK_PREVENTED, "stop_hook_prevented", 31, SUB_ERROR, "a stop hook said continue:false")           \
	X(TERM_PERMISSION_DENIED, "permission_denied", 32, SUB_ERROR,                                                  \
	  "a call was denied and the job says to fail then")                                                           \
	X(TERM_VERIFY_FAILED, "verify_failed", 33, SUB_ERROR, "the verification still fails after its repair rounds")  \
	X(TERM_STOP_BLOCKS, "stop_blocks_exhausted", 34, SUB_ERROR, "stop hooks objected too often")                   \
	X(TERM_ABORTED_STREAMING, "aborted_streaming", 40, SUB_ERROR,                                                  \
	  "wall time or signal while waiting for the model")                                                           \
	X(TERM_ABORTED_TOOLS, "aborted_tools", 41, SUB_ERROR, "wall time or signal at any other moment")               \
	X(TERM_REPLAY_MISMATCH, "replay_mismatch", 50, SUB_ERROR,                                                      \
	  "a replayed run asked for what the record does not hold")

enum terminal_reason {
	TERM_NONE = 0,
#define X(sym, name, code, subtype, text) sym,
	TERMINAL_LIST(X)
#undef X
	        TERM_COUNT
};

#define EXIT_TRANSIENT 75 /* EX_TEMPFAIL: model_error that a later retry may not meet */

struct continue_row {
	const char *name;
	bool new_turn;
	const char *text;
};
struct terminal_row {
	const char *name;
	int exit_code;
	const char *subtype;
	const char *text;
};

const struct continue_row *continue_row(enum continue_reason r); /* NULL for CONT_NONE */
const struct terminal_row *terminal_row(enum terminal_reason r); /* NULL for TERM_NONE */
/* TERM_NONE: there is no such name. */
enum terminal_reason terminal_find(const char *name);
/* The exit code; transient counts for TERM_MODEL_ERROR alone. */
int terminal_exit_code(enum terminal_reason r, bool transient);
/* The exit-code table as text, one row a line, ascending, as --help shows it. */
void reason_print_exit_codes(struct buf *out);
/* The same table as an mdoc list, for the man page. */
void reason_print_man(struct buf *out);

#endif
