/*
 * What the rooms of the loop share (private to loop/): the state that changes between iterations,
 * the accounts, the answer being received, and the verdict that ends an iteration.
 */
#ifndef QUERN_LOOP_STATE_H
#define QUERN_LOOP_STATE_H

#include "loop/loop.h"
#include "record/talk.h"
#include "tool/executor.h"

/* What compactions came to. A turn is named by its number, the first is 1. */
struct compact_tracking {
	int failures;  /* in a row; so many that it is off for the run, see compact.c */
	int last_turn; /* before which one was made, 0 = none yet */
	int in_a_row;  /* turns up to last_turn, one after the other, that each had one before it */
	int tried;     /* before this turn the mark was met already: not again until it is over */
};

/* Replaced whole at the end of an iteration, at one place (loop.c, advance). */
struct loop_state {
	struct history *messages;      /* append-only; shared by old and new state */
	int max_output_recovery_count; /* 0..3; next_turn and stop_hook_blocking reset it */
	int64_t max_output_override;   /* set by escalation, stays for the run; 0 = none */
	int pauses;                    /* pause_turn in a row */
	int salvages;                  /* broken answers kept in a row */
	int malformed;                 /* answers in a row with nothing but unusable calls */
	bool nudged;                   /* the empty answer's nudge is given; next_turn resets it */
	bool same_turn;                /* the next request belongs to the turn that it continues */
	bool new_window;               /* room was made for the partial answer that enters now */
	struct compact_tracking compact;
	bool attempted_reactive_compact; /* next_turn alone resets it */
	int nudges;                      /* of the token target */
	int little;                      /* of them in a row that brought little */
	int64_t nudged_at;               /* output tokens at the last one */
	int stop_blocks;                 /* objections of stop hooks; that there were some is their stop_hook_active */
	bool agreed;                     /* nobody objected to loop.result, and nobody has since; only a wish is open */
	int turn_count;                  /* accepted answers */
	enum continue_reason transition; /* the Continue that led here, CONT_NONE at first */
	enum continue_reason asked_for;  /* the one that the next answer is for: not a repetition of the request */
};

/* What was used and paid, over all requests of the process. Only grows. */
struct account {
	struct usage accepted; /* answers in history */
	struct usage paid;     /* every attempt with known usage */
	int64_t cost_nano_usd;
	bool cost_unknown, cost_lower_bound;
	struct model_usage *models; /* a row for each model that was asked; names are borrowed for the run */
	size_t nmodels;
	int64_t requests, tool_calls;
	int64_t api_ms;
	bool told_missing; /* the user was told that a server tells no usage */
	bool warned;       /* the model was told that a budget of the run is nearly spent */
};

/* One attempt's answer as it comes in. */
struct reply {
	bool silent;                 /* not the main model's: it has no lines, and no call in it is run */
	char *message_id, *model;    /* owned; "" until message_start */
	struct message *message;     /* accepted blocks in order, blank text left out */
	size_t emitted;              /* blocks whose line is out; all but the last, until acceptance */
	size_t whole;                /* blocks that are known not to be cut, whatever comes */
	size_t queued;               /* blocks whose calls are in the executor; never more than whole */
	int open;                    /* blocks that have begun and not ended */
	char (*uuids)[UUID_LEN + 1]; /* of the lines that are out */
	size_t nuuids;
	struct usage usage;
	char *stop_reason, *stop_sequence, *stop_details; /* owned or NULL */
	const struct resumed_answer *recorded;            /* an earlier process had accepted it; NULL = none had */
};

/* That many attempts with content are paid for in a row, whether they are repeated or salvaged. */
#define MAX_SALVAGES 3

/* How a model call ended for the loop. CALL_BROKEN: its stream broke, and what it has begun cannot be begun again. */
enum call_result { CALL_ACCEPTED, CALL_BROKEN, CALL_FAILED, CALL_STOPPED };

/* Why a call failed for good; texts are owned. */
struct call_failure {
	enum model_failure failure;
	enum request_fault fault;
	char *text;           /* one line */
	const char *category; /* static */
	int http_status;
	bool transient;
	int64_t retry_after_ms; /* -1 = none */
	int64_t tokens, limit;  /* that the server named when the prompt was too long, -1 = none */
};

/* A request to a model in the foreground, however many attempts it takes. */
struct call {
	enum model_kind kind; /* MAIN, COMPACT or COUNT */
	const char *model;
	const struct catalog_row *row;
	const struct history *messages;
	int64_t max_tokens;
	unsigned without;             /* enum model_without for this call alone, beside the loop's */
	bool new_turn;                /* an answer of the main model follows that counts as a turn: for the gate */
	unsigned clamped;             /* 1 << fault: max_tokens was lowered for it */
	int attempt;                  /* that is made, 1-based */
	struct call_failure *failure; /* filled when it fails for good */
	struct usage paid;            /* by all its attempts */
};

/* The call that runs in the background, if one does: a line about a round. */
struct background {
	bool running, began; /* began: its answer */
	bool called;         /* it holds a call, which is nothing to run */
	int failures;        /* in a row */
	char *round;         /* its name: the id of its first call */
	const struct catalog_row *row;
	struct history request;
	struct buf text;
	struct usage usage;
	int64_t since;            /* monotonic ms */
	int64_t tokens, nano_usd; /* at most, kept free for it in the budgets */
};

/* The end of an iteration: a Continue with the next state, or a Terminal. */
struct verdict {
	enum continue_reason cont; /* CONT_NONE: term holds */
	enum terminal_reason term;
	const char *source; /* of an objection: "hook", "verify"; else NULL */
	struct loop_state next;
};

/* What SessionStart hooks bring: it is told beside the first prompt that nobody refuses. Owned, or NULL. */
struct session_start {
	char *context, *first;
};

struct loop {
	const struct loop_config *cfg;
	const struct loop_deps *deps;
	struct loop_state state;
	struct account account;
	struct reply reply;
	struct executor executor; /* the calls of reply */
	bool over_call_limit;     /* one of them was refused for limits.max_tool_calls */
	struct block **strays;    /* cancelled calls of withdrawn answers that did not end in time; references */
	size_t nstrays;
	struct call_failure failure; /* of the main model's call */
	size_t model;                /* that is asked: 0 = cfg->model, n = cfg->fallbacks[n - 1] */
	int overloads;               /* of it, in a row */
	bool falls_back;             /* the next model of the list is to be asked instead */
	unsigned without;            /* enum model_without: repairs that were made */
	unsigned without_once;       /* the same, until the main model's next answer */
	char refused[256];           /* extra members and beta values by name: likewise, see struct model_request */
	int64_t cap_clamp;           /* largest max_tokens the server takes; 0 = not told */
	int64_t cap_room; /* what the prompt leaves of the window, until that is made shorter; 0 = not told */
	struct context *context;
	struct estimate estimate;
	size_t fixed_bytes;    /* of system and tools */
	int64_t window;        /* of this model, as an error named it; 0 = none did */
	bool cannot_count;     /* the server has no count_tokens */
	bool no_compact_model; /* the one for summaries failed for good */
	char *compact_error;   /* why the last compaction failed, NULL = it did not */
	struct background background;
	int messages; /* of the user that were, or are, worked on */
	struct session_start start;
	bool session_started, session_ended; /* its hooks were asked, and have been told */
	size_t old_messages, old_blocks;     /* in history, and in its last message, before the user's message came */
	int64_t output_before;               /* tokens of accepted answers to the messages before */
	struct verification verification;
	int64_t began; /* monotonic ms: the message's durations count from here */
	/* how it ends */
	int signo;
	int signals;        /* how many came: the second skips the grace periods */
	bool timed_out;     /* the deadline has come */
	bool undecided;     /* the reply is one that an earlier process had accepted, and decide comes next */
	bool owes_fallback; /* an earlier process was to ask the next model */
	bool unfinished;    /* what follows from the newest results, of calls of such a one, is to come */
	bool judged;        /* hooks have said what they had to all of these calls */
	bool interrupted;   /* the user wants no more of this message */
	bool warned;        /* the model was told, for this message, to come to an end */
	char *hook_end;     /* a hook of a call said that the run ends, and why; owned, NULL = none did */
	bool failed;        /* by an API error that no recovery undid: it is shown, whatever comes behind it */
	bool broken;
	struct error broken_error;
	struct block **denied; /* tool_use blocks, references */
	size_t ndenied;
	char **side_effects;
	size_t nside_effects;
	char **errors; /* lines of result.errors */
	size_t nerrors;
	char *result; /* answer text for the result event, or NULL */
	size_t result_len;
	char *stop_reason; /* of the last answer */
	int transitions[CONT_COUNT];
	/* the record, see journal.c */
	struct talk talk;
	struct message *prompt; /* the user's words that no request has held yet; NULL = none */
	bool answered; /* an answer is in it, and no request behind that: the next one is told whatever else there is to
	                  tell */
	struct buf state_told, context_told;
	size_t context_edits; /* of the history when context_told was made */
	struct buf unsaid;    /* texts for the model that came where nothing but results may stand */
	bool nomem;
};

/* ---- loop.c ---- */
/* The iterations for one user message: what they end with. */
enum terminal_reason loop_work(struct loop *l);

/* ---- gate.c ---- */
enum gate { GATE_GO, GATE_ABORT, GATE_LIMIT };
/* Stands before every request. GATE_LIMIT fills *why (the limit's Terminal, or hook_stopped) and adds the words to
 * errors. */
enum gate loop_may_send(struct loop *l, bool new_turn, enum terminal_reason *why);
/* Has a hook of a call ended the run? Then the errors say so. */
bool loop_hook_ended(struct loop *l);
bool loop_is_aborted(const struct loop *l);
/* The same, of a signal or a deadline that has come and was not looked at yet. */
bool loop_abort_due(struct loop *l);
/* Would a request that takes so much leave each hard budget below 90 %? */
bool loop_has_room(const struct loop *l, int64_t tokens, int64_t nano_usd);
/* The next event but for those of the background, which are taken. False: the world is broken, l says how. */
bool loop_next_event(struct loop *l, int64_t until, struct loop_event *ev);
/* One wait; notes signals, the deadline and broken ends in l. False if the run must end. */
bool loop_wait(struct loop *l, int64_t until, struct loop_event *ev);

/* ---- prepare.c: phase 1 ---- */
/* Makes the conversation fit before a new request of the main model. False: the run ends, *stopped says why. */
bool loop_prepare(struct loop *l, enum terminal_reason *stopped);
/* Does a new request stand before us, or the last one once more? */
bool loop_is_new_request(enum continue_reason from);
/* The model with that index is asked from now on: its window, its tokens. */
void loop_use_model(struct loop *l, size_t index);
/* Marks for the model that is asked, anew: something that they follow from has changed. */
void loop_set_marks(struct loop *l);
/* The tokens that thinking may take; 0 = none, or as many as the model likes. */
int64_t loop_thinking_budget(const struct loop *l);
/* What the next request of the main model is held to take. */
int64_t loop_tokens(const struct loop *l);
/* What a request may take that has to be made shorter than it is: below the blocking limit, with a margin; as much as
 * it likes while the window is not known. */
int64_t loop_fitting_tokens(const struct loop *l);
/* Shows what the layers did. */
void loop_take_report(struct loop *l, const struct context_report *report);
/* The server refused a prompt and named its limit: believed if it is less than what was known. */
void loop_learn_window(struct loop *l, int64_t limit);
static inline int loop_turn(const struct loop *l) /* that the next request is for */
{
	return l->state.turn_count + (l->state.same_turn ? 0 : 1);
}

/* ---- journal.c ---- */
/* In loop_emit alone: a line is out. */
void journal_note(struct loop *l, const struct event *ev);
/* A new message of the user's: its words are the last message's blocks from there on. */
void journal_prompt(struct loop *l, size_t from);
/* In front of a request of the main model: tells what the lines do not say of the conversation. */
void journal_tell(struct loop *l);
/* In the middle of an answer, whose lines stand: tells what is in front of it. */
void journal_tell_open(struct loop *l);
/* The state alone, if it is another one: an answer has entered the conversation. */
void journal_state(struct loop *l);
/* What the record says is taken over; called once, by loop_open. -1 with *e. */
int journal_resume(struct loop *l, struct error *e);
void journal_release(struct loop *l);

/* ---- compact.c ---- */
enum compact_outcome { COMPACT_DONE, COMPACT_FAILED, COMPACT_BLOCKED, COMPACT_STOPPED };
/* Has a summary put in the place of the older rounds. FAILED: l->compact_error says why, the conversation is as it was.
 * BLOCKED: likewise, a hook forbade it and it was not tried.
 * STOPPED: the run ends, *stopped says why, or another model is asked (TERM_NONE). The answer in l->reply is kept. */
enum compact_outcome loop_compact(struct loop *l, bool reactive, enum terminal_reason *stopped);
/* Is there something to drop, and did the user not forbid it? */
bool loop_can_compact(const struct loop *l);
bool loop_compact_is_off(const struct loop *l); /* forbidden, or it failed too often */

/* ---- call.c: phase 2 ---- */
/* Asks the main model for the next answer. CALL_STOPPED: *stopped says why the run ends. */
enum call_result loop_call_model(struct loop *l, enum terminal_reason *stopped);
/* The same for a call of any kind; its answer stands in l->reply. A COUNT is one attempt, whatever comes of it.
 * CALL_STOPPED with *stopped TERM_NONE: the run goes on with another model, see loop_fall_back. */
enum call_result loop_call(struct loop *l, struct call *c, enum terminal_reason *stopped);
/* The gate as a phase meets it: false with *stopped, aborted_streaming if the run was `waiting` for a model. */
bool loop_pass_gate(struct loop *l, bool new_turn, bool waiting, enum terminal_reason *stopped);
int64_t loop_output_cap(const struct loop *l);
void call_failure_release(struct call_failure *f);

/* ---- reply.c ---- */
void reply_release(struct reply *a);
void reply_take_start(struct loop *l, const struct model_event *ev);
void reply_take_block_start(struct loop *l);
void reply_take_block(struct loop *l, struct block *b);
void reply_take_stop(struct loop *l, const struct model_end *end); /* a stop_reason was seen */
void reply_take_end(struct loop *l, const struct model_end *end);
/* The answer that the record ends with is the reply again; l->undecided then. */
void reply_restore(struct loop *l);
/* Are words of ours behind the answer already? Then it was decided on, and only the state does not know. */
bool reply_is_replied(const struct reply *a);
/* Says what follows from the answer, unless that was said. */
void reply_say(struct loop *l, const char *text);
/* Emits what is held back with the final stop_reason and usage: the mark of acceptance. */
void reply_accept_lines(struct loop *l);
/* Shows a result that goes with the lines that are out when they are withdrawn. */
void reply_emit_withdrawn(struct loop *l, const struct block *result);
/* Withdraws the lines that are out and tells the attempt's usage. */
void reply_tombstone(struct loop *l);
/* Leaves out what a cut answer must not keep: the last block if it is a call, thinking that is unsigned or last. */
void reply_drop_incomplete(struct loop *l);
/* The same for an answer whose stream broke: every block that came to its end is kept. */
void reply_keep_broken(struct loop *l);
/* Moves the answer into history; nothing is stored if no block is left. */
void reply_store(struct loop *l);
/* An answer of an earlier process, whose turn and tokens count there. told: the state knows of its tokens. */
void reply_leave_behind(struct loop *l, const struct usage *u, bool told);
bool reply_is_cut(const struct reply *a);
bool reply_is_refusal(const struct reply *a);
bool reply_is_complete(const struct reply *a); /* a stop_reason and every block's end were seen */
/* The text behind the last block that is no text: the final answer. Owned by the caller. */
char *reply_text(const struct message *m, size_t *len);

/* ---- calls.c: the calls of the answer that comes in ---- */
/* Queues the calls among the answer's first nblocks blocks that are not queued yet. */
void calls_queue(struct loop *l, size_t nblocks);
bool calls_may_start(struct loop *l); /* is there a call that calls_start would start? */
void calls_start(struct loop *l);
void calls_take(struct loop *l, struct loop_event *ev); /* LOOP_EV_TOOL: a call is done */
/* Ends what runs and answers what has no result, so that every call in history gets one. */
void calls_abort(struct loop *l);
/* The answer is withdrawn: ends what runs, names what may have had an effect, and drops all results, late ones too. */
void calls_discard(struct loop *l);
void calls_forget(struct loop *l);                         /* all have their results in history */
bool calls_is_stray(const struct loop *l, const char *id); /* a withdrawn answer's call that may still run */

/* ---- results.c: from the calls' results to the message that holds them ---- */
/* Bytes: the n-th part of what the window has beside system prompt and tools, which take much of a small one. SIZE_MAX:
 * it is not known. */
size_t loop_window_part(const struct loop *l, int n);
struct results {
	struct loop *l;
	struct message *message; /* takes the results, in call order */
	struct result_text *v;   /* of each call, what it may have */
	struct buf said;         /* by hooks beside the results, in call order */
	size_t unusable;         /* results of calls that could not be understood */
	size_t whole_bytes, cut_bytes;
	size_t half;     /* of what the window has: what all of them may take */
	size_t pictures; /* what those that entered take of it */
};
/* Takes and shows every result that is there and whose length is certain: until all calls are done a long one waits,
 * since the others of the message may leave it less room. */
void results_yield(struct results *r);
/* All are taken: tells what was cut. */
void results_end(struct results *r);
/* The last resort of a request that is too long: cuts the results of the newest message, to which no answer was given
 * yet, and puts notes in the place of pictures, so that it takes `most` tokens. Tokens freed, which may be too few; 0 =
 * nothing could be cut. */
int64_t results_refit(struct loop *l, int64_t most);

/* ---- tools.c: phase 3 ---- */
struct verdict loop_run_tools(struct loop *l);
/* What an earlier process had still to do when all calls of an answer had their results: l->unfinished then, and */
void tools_restore(struct loop *l);
/* Hooks about all of these calls were asked, as the conversation tells that the record holds: l->judged, before
 * anything is said in this process. */
bool tools_were_judged(struct loop *l);
struct verdict loop_finish_round(struct loop *l);
/* The same for an answer whose stream broke after a call with effects had started: its complete blocks are the answer.
 */
struct verdict loop_salvage(struct loop *l);

/* ---- fallback.c ---- */
/* l->falls_back, and the verdict v is no Terminal: goes on with the next model. A Continue stands (what was begun is
 * kept), without one the turn starts again. */
struct verdict loop_fall_back(struct loop *l, const struct verdict *v);
/* The record says that the model was overloaded so often that another one was to be asked: l->owes_fallback then. */
void loop_owe_fallback(struct loop *l);
/* Another model is asked: what was learned of the one before. */
void loop_forget_model(struct loop *l);
/* And the thinking of that one, or of what stood behind something else. */
void loop_strip_thinking(struct loop *l);

/* ---- summary.c: lines about rounds, made in the background ---- */
/* A round has come to its end: asks for one, if nothing speaks against it. */
void summary_start(struct loop *l);
void summary_take(struct loop *l, const struct model_event *ev);
void summary_cancel(struct loop *l); /* what it has cost so far is counted */

/* ---- failure.c ---- */
/* The answer that broke had come to an earlier process: what the server said is not known any more. */
void failure_of_record(struct loop *l);

/* ---- recover.c: phase 4 ---- */
struct verdict loop_recover_error(struct loop *l);
struct verdict loop_recover_cut(struct loop *l);

/* ---- repair.c ---- */
/* One-time repair of a refused request. True: send it again. */
bool loop_repair_request(struct loop *l, struct call *c, const struct model_end *end);
bool loop_holds_image(const struct block *b);

/* ---- decide.c: phase 5 ---- */
struct verdict loop_decide(struct loop *l);

/* ---- target.c ---- */
/* Everybody agreed to the end: is so little written that the model should go on? */
struct verdict loop_judge_target(struct loop *l);

/* ---- tell.c: what is told beside the task ---- */
/* What hooks of that event say to the model, as loop_say_behind says it; NULL = nothing. */
void loop_tell_context(struct loop *l, enum hook_event from, const char *text);
bool loop_is_context(const char *text, enum hook_event from); /* is it such a text? */
/* Behind results or an objection, the model's next turn before us: what waits, attachments, what the user has sent
 * meanwhile, and that a budget is nearly spent. Not TERM_NONE: the run ends. */
enum terminal_reason loop_tell_rest(struct loop *l);
/* In a session that goes on: what an earlier process said of limits that are counted anew, or are higher now, is
 * revoked. */
void loop_tell_anew(struct loop *l);
bool loop_is_anew(const char *text); /* that is what says so */
/* And what it had said behind the newest results, of which no state tells. */
void loop_note_warned(struct loop *l);

/* ---- hooks.c ---- */
/* CUT_SHORT: by a signal, the user, the deadline, or the end of the world. ANSWERED: *ev holds what they say, until the
 * next wait. */
enum asked { ASKED_NOBODY, ASKED_ANSWERED, ASKED_CUT_SHORT };
enum asked loop_ask(struct loop *l, const struct hook_call *call, struct loop_event *ev);
enum terminal_reason loop_cut_short(const struct loop *l); /* why, then */
/* One said that the run ends: notes why. Returns TERM_HOOK_STOPPED. */
enum terminal_reason hooks_ended_by(struct loop *l, enum hook_event who, const char *why);
/* The model is done, its answer stands in history and is counted: has a stop hook or the verification anything against
 * the end? */
struct verdict hooks_judge_stop(struct loop *l);
/* They had objected, says the record. */
struct verdict hooks_had_objected(struct loop *l, bool verified);
/* The run ends with `why`. If that is an API error its hooks are told. Returns what the run ends with then. */
enum terminal_reason hooks_tell_failure(struct loop *l, enum terminal_reason why);

/* ---- hooks_session.c ---- */
/* With the first message the session starts; init is told; the prompt is judged, and what hooks bring is put beside it.
 * Not TERM_NONE: the run ends before it has begun. */
enum terminal_reason hooks_open_message(struct loop *l);
/* The blocks of m from there on are the user's words. TERM_NONE: they may be sent, unless they are *refused; *ev holds
 * the answer, or is empty if there was nobody to ask. */
enum terminal_reason hooks_judge_prompt(struct loop *l, const struct message *m, size_t from, struct loop_event *ev,
                                        bool *refused);
/* No message follows: the hooks are told, once. Returns what the run ends with then. */
enum terminal_reason hooks_end_session(struct loop *l, enum terminal_reason why);
void session_start_clear(struct session_start *start);
void loop_note_extent(struct loop *l); /* what is in history now is older than the next message */

/* ---- hooks_work.c ---- */
/* DONE: it may begin. BLOCKED: *why is the caller's. STOPPED: *stopped says why the run ends. */
enum compact_outcome hooks_before_compaction(struct loop *l, char **why, enum terminal_reason *stopped);
/* False: the run ends, *stopped says why. */
bool hooks_after_compaction(struct loop *l, const char *summary, enum terminal_reason *stopped);
/* All calls of an answer have their results in history. Not TERM_NONE: the run ends. */
enum terminal_reason hooks_judge_batch(struct loop *l);

/* ---- account.c ---- */
/* A request goes out to the model: counted, and its row is there. */
void account_request(struct loop *l, const char *model, const struct catalog_row *row);
/* What it cost. `began`: an answer had begun; output_known: u tells the whole of it. */
void account_attempt(struct loop *l, const char *model, const struct catalog_row *row, const struct usage *u,
                     bool began, bool output_known);
/* What budgets count: over all runs of a session. */
int64_t account_tokens(const struct loop *l);
int64_t account_cost(const struct loop *l);

/* ---- finish.c ---- */
void loop_finish(struct loop *l, enum terminal_reason reason, struct loop_outcome *out);
void loop_add_error(struct loop *l, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Emits; a failure marks the loop broken. */
void loop_emit(struct loop *l, struct event *ev);
void loop_notice(struct loop *l, const char *code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* What a tool of the server's own has not answered is taken out: words may not follow it. */
void loop_drop_server_calls(struct loop *l);
/* Appends a text of the program to the conversation and shows it as a synthetic user line. */
void loop_say(struct loop *l, const char *text);
/* Nothing but results may follow an answer that waits for a tool of the server's own, and nothing at all one that was
 * paused. */
bool loop_must_wait(const struct loop *l);
/* The same behind the newest results, or kept until it may be said. NULL: what was kept alone. */
void loop_say_behind(struct loop *l, const char *text);
/* Does it stand in the last message already? */
bool loop_has_said(const struct loop *l, const char *text);

/* The world is broken; what broke first is told. */
static inline void loop_break(struct loop *l, const struct error *e)
{
	if (!l->broken)
		l->broken_error = *e;
	l->broken = true;
}

/* The model that is asked now. */
static inline const char *loop_model(const struct loop *l)
{
	return l->model ? l->cfg->fallbacks[l->model - 1].name : l->cfg->model;
}

static inline const struct catalog_row *loop_row(const struct loop *l)
{
	return l->model ? l->cfg->fallbacks[l->model - 1].row : l->cfg->row;
}

static inline struct verdict verdict_term(enum terminal_reason r)
{
	struct verdict v = { CONT_NONE, r, NULL, { 0 } };
	return v;
}

static inline struct verdict verdict_go(enum continue_reason r, const struct loop_state *next)
{
	struct verdict v = { r, TERM_NONE, NULL, *next };
	return v;
}

#endif
