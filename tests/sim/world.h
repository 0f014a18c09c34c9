/* What the simulator's files share: the queue of what will happen, the draws, the lines, the ledger and the checks. */
#ifndef QUERN_TESTS_SIM_WORLD_H
#define QUERN_TESTS_SIM_WORLD_H

#include <string.h>

#include "record/talk.h"
#include "sim.h"

#define LENGTH(a) (sizeof(a) / sizeof *(a))

/* Something that will happen at a moment of the virtual clock. */
struct sim_event {
	struct sim_event *next;
	int64_t at;
	struct loop_event ev;
	char *texts[4];
	size_t ntexts;
	struct tool_result result;
	char *call;        /* tool events: the id */
	bool refused;      /* nothing ran, and nothing will */
	bool safe, undead; /* it does not end by being cancelled */
	bool gone;         /* cancelled in vain: it counts no more */
};

/* ---- clock.c ---- */
struct sim_event *sim_at(struct sim *s, int64_t when, enum loop_event_kind kind);
/* An event of the model call of that kind. */
struct sim_event *sim_model_event(struct sim *s, enum model_kind call, int64_t when, enum model_event_kind kind);
const char *sim_text(struct sim_event *q, const char *t); /* owned by the event */
void sim_drop_model_events(struct sim *s, enum model_kind call);
bool sim_signal_due(const struct sim *s); /* it has come, and nobody has looked */
void sim_release_queue(struct sim *s);
int sim_next_event(void *ctx, int64_t deadline, struct loop_event *ev, struct error *e);
/* The two calls that may run at a time. */
static inline bool *sim_running(struct sim *s, enum model_kind kind)
{
	return kind == MODEL_SUMMARY ? &s->running_background : &s->running_model;
}

/* ---- draw.c: each draw is noted, so that a run can be played again with other ones; zero is the tamest ---- */
uint64_t sim_draw(struct sim *s, uint64_t below);
bool sim_one_in(struct sim *s, unsigned n); /* never with zeros */
size_t sim_pick(struct sim *s, const unsigned *weights, size_t n);

/* ---- random.c, answers.c ---- */
void sim_draw_world(struct sim *s);
void sim_random_answer(struct sim *s, const struct model_request *req, char *line, size_t max);

/* ---- window.c ---- */
int64_t sim_count_tokens(const struct sim *s, const struct model_request *req);
/* What a server says to a request that does not fit its window. False: it fits. */
bool sim_too_long(struct sim *s, const struct model_request *req, char *line, size_t max);

/* ---- server_calls.c: tools that run at the server ---- */
/* The ids of its calls in the message `at` that have no result there, at most max. */
size_t sim_open_server_calls(const struct history *h, size_t at, char (*ids)[64], size_t max);

/* ---- player.c ---- */
void sim_play(struct sim *s, const struct model_request *req, const char *line);

/* ---- tools.c ---- */
void sim_tool_deps(struct loop_deps *deps);

/* ---- hooks.c ---- */
void sim_draw_hooks(struct sim *s);
void sim_hook_deps(struct loop_deps *deps);
bool sim_has_hook(struct sim *s, enum hook_event kind); /* somebody to ask, as far as the loop can know */

/* ---- user.c ---- */
void sim_draw_user(struct sim *s);
void sim_user_deps(struct loop_deps *deps);
/* The message that is to be worked on next: one that has come and was not taken, one that follows, one that is waited
 * for; NULL = there is none. */
const char *sim_next_message(struct sim *s);
bool sim_more_to_come(const struct sim *s);

/* ---- sim.c ---- */
/* One message after the other, as a program does that reads them, until the process has to end. `text` is the first;
 * NULL: what the history holds is gone on with. */
void sim_run_messages(struct sim *s, const struct loop_deps *deps, const char *text);
bool sim_is_single(const struct sim *s);                        /* one message is all that is to be done */
struct block *sim_words(const struct sim *s, const char *text); /* the message's: the task may be a long one */
void sim_plan_outside(struct sim *s);                           /* signals and the like are put on the clock */

/* ---- trace.c: what the loop emits, as short lines ---- */
int sim_emit(void *ctx, struct event *ev, struct error *e);
void sim_add(struct sim *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void sim_digest(struct sim *s, const void *p, size_t n);

/* ---- checks.c: the invariants, a table ---- */
enum stage { AT_REQUEST, AT_EVENT, AT_START, AT_HOOK, AT_WAIT, AT_RESULT, AT_END };
struct step {
	enum stage stage;
	const struct model_request *req; /* AT_REQUEST */
	const struct event *event;       /* AT_EVENT, AT_RESULT */
	const struct block *use;         /* AT_START */
	bool safe;                       /* AT_START */
	const struct hook_call *hook;    /* AT_HOOK */
	int64_t until;                   /* AT_WAIT */
};
void sim_check(struct sim *s, const struct step *step);
void sim_problem(struct sim *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* ---- witness.c: what the simulator knows of a run by its own eyes ---- */

/* A block of a request that was sent; a reference. */
struct sent {
	enum role role;
	struct block *block;
};

struct sent_list {
	struct sent *v;
	size_t n, cap;
};

/* A model call in flight. */
struct flight {
	struct usage usage; /* told so far */
	const struct catalog_row *row;
	int64_t max_tokens;
};

struct run_call { /* a call that was started */
	char *id;
	bool safe, withdrawn, told;
	uint16_t context; /* the mark of what hooks say beside the result, 0 = none */
};

#define HOOKS_NOT_ASKED    (-1)
#define HOOKS_NOT_ANSWERED (-2)

enum mark_place {
	MARK_BEHIND,   /* in the newest message, behind all results */
	MARK_IN_FRONT, /* right before the prompt */
	MARK_ANYWHERE,
	MARK_PROMPT /* as the first, and nobody has to show it */
};

/* A text that must reach the model once, see marks.c. */
struct mark {
	enum mark_place place;
	bool due, erased;
	int shown;
	const struct block *block; /* that it was sent in; only compared */
};

struct witness {
	/* the message that is worked on */
	const char *prompt, *arrival; /* NULL: none that is to be judged */
	int messages;
	int requests_before, first_run; /* what there was when it began */
	bool interrupted;
	bool begins;  /* no line was shown yet */
	bool goes_on; /* another process had begun with it */
	bool hook_ended;
	char first[32]; /* what the conversation begins with */
	/* money and limits */
	int64_t output, output_then,
	        last_gain;  /* tokens of accepted answers; at the last nudge; what that one's brought */
	bool output_unsure; /* a broken answer was kept */
	int target_nudges, notes;
	bool wants_note, noted;  /* of this message */
	bool went_on;            /* another process had told the Continue: nothing is said in front of it any more */
	struct flight flight[2]; /* foreground, background */
	int64_t tokens, cost;
	int turns, bounded_requests, repairs, clamps, attempts;
	int costly, lowered; /* of the attempts of a call */
	int64_t last_cap;
	int overloads;  /* in a row */
	int switches;   /* of the model */
	int64_t anchor; /* tokens that the model counted, prompt and answer; -1 = not known any more */
	int shrinks;    /* requests for a summary of different size in a compaction */
	size_t compact_weight, weight_before;
	bool compacting;
	bool bad_summary;       /* cut, declined, or with a call in it */
	bool folded, summed_up; /* since the last transition */
	bool guess;             /* nobody has counted the conversation as it is */
	int refilled, refills;  /* the turn of the last compaction; turns in a row with one */
	char newest[128];       /* id of the last result that was shown */
	bool unseen;            /* no model has had it yet */
	bool in_turn;           /* the turn that was counted goes on */
	bool paused;            /* and its last answer was paused */
	bool accepted;          /* an answer, since the last transition */
	int images;             /* replaced by notes */
	bool backs_off;         /* between a failed attempt and the next */
	/* guards */
	enum continue_reason last, asked; /* the latter: not one that only repeats the request */
	int escalations, recoveries, reactives, nudges, pauses, salvages, fallbacks, drains;
	int failures_in_a_row; /* of compactions */
	/* hooks */
	int objections;                             /* of stop hooks */
	int repairs_asked;                          /* by the verification */
	int verified, verify_runs, verify_failures; /* begun; with an answer */
	bool verify_passed;
	int starts, ends;                             /* of the session */
	int boundaries, compact_starts, compact_ends; /* of compactions: told to hooks */
	int precompacts;                              /* since the last transition */
	bool stop_context;                            /* a stop hook brought a text, which is an objection too */
	struct mark marks[256];
	bool any_marks;
	int said[HOOK_EVENTS];           /* enum hook_verdict since the last transition; nobody to ask is a pass */
	char objection[256], beside[64]; /* what they said, and its context */
	bool told_failure;               /* hooks were asked about an API error */
	bool broke;                      /* the main model's last attempt */
	/* lines */
	unsigned events;
	int pending_lines; /* shown, and neither accepted nor withdrawn */
	int status;        /* of the main model's last failure, 0 if it answered */
	int synthetics;
	char synthetic[256];
	/* the conversation as it was sent last */
	struct sent_list last_main;
	const char *system, *tools;
	bool edited, switched, server_dropped;
	bool edited_before; /* not in the newest message alone, behind which there is no thinking */

	/* calls */
	char *open_calls[256], *answered[256];
	size_t nopen, nanswered;
	int usable, unusable; /* calls of the answer; answers in a row without one */
	int unanswered;       /* calls that were withdrawn without a result */
	struct run_call ran[1024];
	size_t nran, accepted_runs; /* before the latter all belong to answers that stand or were withdrawn */
	size_t withdrawn_runs;      /* how many there were when the tools were told last */
	char *cut[64];              /* results that were cut after they had been sent */
	size_t ncut;
	char *forgotten[1024];
	size_t nforgotten, forgotten_before; /* before the last main request was sent */
	bool signalled;
	int undying;      /* calls that were cancelled in vain and are not at their end */
	bool declined;    /* a refusal was seen in the answer that came last */
	char *coming[64]; /* ids of the calls of the answer, as the server gives them */
	size_t ncoming;
	bool in_doubt; /* nothing that was seen tells that the last one was not cut */
	bool stopped;  /* it was told why the answer ends */
	bool unread;   /* a line could not be written */
	/* the record */
	struct talk reader;
	int prompts;
	bool resumed;                   /* from a record */
	int requests_gone, counts_gone; /* of processes that died */
};

void witness_open(struct sim *s);
/* The work on that message of the user begins; and: this one joins it. */
void witness_message(struct sim *s, const char *text);
void witness_arrival(struct sim *s, const char *text);
void witness_free(struct sim *s);
void witness_request(struct sim *s, const struct model_request *req); /* after the checks */
void witness_start(struct sim *s, const struct block *use, bool safe);
void witness_refused(struct sim *s, const char *id);
void witness_hook(struct sim *s, const struct hook_call *call);
void witness_hook_answer(struct sim *s, const struct hook_answer *a);
void witness_event(struct sim *s, const struct event *ev); /* after the checks */
void witness_model(struct sim *s, const struct loop_event *ev);
void witness_stream_ends(struct witness *w);                                   /* the main model's, in whichever way */
void witness_tool(struct sim *s, const char *id, const struct tool_result *r); /* its result is handed out */
void witness_flight_ends(struct sim *s, enum model_kind kind);
void witness_forget(struct sim *s, const char *id);
void witness_settled(struct witness *w);                   /* all calls that were shown have their results */
void witness_call(struct witness *w, const char *id);      /* this one is waiting for its */
void witness_answered(struct witness *w, const char *id);  /* and has it */
void witness_sent(struct sim *s, const struct history *h); /* what follows goes on from that */
void witness_cut(struct sim *s, const char *id);           /* its result is shortened, and the tools know of that */
const struct catalog_row *witness_row(const struct sim *s, const char *model);

/* ---- check_budgets.c ---- */
#define NOTE_REVOKED "That the turns or the budget" /* stands in what says that a note of an earlier process is over   \
	                                             */
void witness_near(struct sim *s, enum continue_reason to);

/* ---- marks.c ---- */
const char *sim_mark(struct sim *s, char *out, size_t max);               /* a new one */
void witness_due(struct sim *s, const char *text, enum mark_place place); /* the next request must hold its marks */
void witness_erased(struct sim *s, const char *text);                     /* and none any of these */
void witness_shown(struct sim *s, const char *text);

/* Of this process. */
static inline int sim_requests(const struct sim *s)
{
	return s->requests - s->w->requests_gone;
}

static inline bool sim_begins(const char *s, const char *prefix)
{
	return !strncmp(s, prefix, strlen(prefix));
}

static inline bool list_has(char *const *list, size_t n, const char *id)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(list[i], id))
			return true;
	return false;
}

#endif
