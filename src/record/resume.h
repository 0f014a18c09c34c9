/*
 * A run that goes on: what its events (an NDJSON file, stdout or --events, or a bundle) say of it. Several runs may
 * stand in one file, one behind the other: the last session in it counts.
 *
 * A torn last line is passed over. Lines that are cut are taken whole from the file they name, if it is there. The
 * conversation that comes out is one that a request may hold: an answer whose end was not seen is kept if a call of it
 * may have had an effect (so far as its blocks are whole), else it is left out; each call without a result has one that
 * says so. Memory is that of the conversation and a line; the file is read once, line by line.
 *
 * Life cycle: resume_read -> (the history moved to where the run has it) -> resumed_release.
 */
#ifndef QUERN_RECORD_RESUME_H
#define QUERN_RECORD_RESUME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/digest.h"
#include "base/error.h"
#include "base/random.h"
#include "message/message.h"
#include "record/reason.h"

/* What was asked of a model, and paid, in all runs of the session so far. */
struct session_model {
	char *model;
	struct usage usage;
	int64_t cost_nano_usd; /* -1 = not known */
};

struct session_totals {
	int64_t runs, turns, requests, tool_calls, duration_ms;
	struct usage accepted;
	struct session_model *models; /* owned */
	size_t nmodels;
	bool cost_lower_bound;
};

/* What of a run does not depend on when and where it was made; empty strings: not told. */
struct run_digests {
	char job[DIGEST_HEX + 1], system[DIGEST_HEX + 1], tools[DIGEST_HEX + 1];
};

struct resumed_call {
	char *id, *name;
	bool started; /* an unsafe one had begun: whether it had an effect is not known */
};

/* What a call changed in tool/'s own memory, a JSON object. */
struct resumed_state {
	char *id; /* of the call, whose result may have left the conversation since */
	char *json;
};

/*
 * The newest answer, if it was accepted and no line tells that all that follows from it was done: no result, no request
 * of the next turn. The run that is gone on with stands behind it, in the phase that decides: it decides again, on the
 * answer as its last line tells it, with the state that was told last. What had been said behind the answer meanwhile
 * is what was decided then: it stands, and is not said again; only what it means for the state is made up for.
 * So an answer is the result, is nudged, or resumed just as if nothing had happened; and one that was declined or
 * escalated, whose lines are withdrawn, is none: it is asked for again. An answer with calls is none either: they have
 * results, or get ones that say that they were interrupted. What is not a line may be done again: hooks that had not
 * objected in words are asked once more, and so is the verification; where an answer had filled the window and nothing
 * behind it is there, so is the summary.
 * It counts, as a turn and with its tokens, for the process that it had come to.
 */
struct resumed_answer {
	char *stop_reason; /* NULL: there is no such answer */
	char *stop_sequence, *model, *message_id;
	struct usage usage;
	size_t nblocks; /* it is so many blocks, the last ones of the history's last message of the model */
	bool told;      /* the state that was told last knows of it */
	bool replied;   /* words of ours stand behind it */
	char *went_on;  /* the Continue that was told, NULL = none */
	bool verified;  /* the verification was asked, and did so last */
};

/*
 * The newest answer had calls, and no line tells of a request with their results: what follows from these is still to
 * be done, and said, so far as it is not in the conversation.
 */
struct resumed_batch {
	bool open;              /* there is such an answer */
	bool told;              /* the state that was told last knows of it */
	bool broke;             /* it had no end */
	bool went_on;           /* the Continue was told: only what it means for the state is left */
	bool ended;             /* the run came to its end behind it: it is not ended for the same reason once more */
	struct usage usage;     /* of the answer */
	size_t calls, unusable; /* that have results; of them, that could not be understood */
	size_t first_state;     /* the states of tool/ from there on are of its calls */
	char *said;             /* by hooks of the calls, beside the results */
	char *ends_run;         /* one of them said so, and why */
	char *denied;           /* the tool of the first call that was denied */
};

struct resumed {
	struct history
	        history; /* valid for a request if it ends with a message of the user's; may end with an answer */
	char session_id[UUID_LEN + 1];
	char *run_dir;     /* that events name; NULL = none */
	char *environment; /* the block of the system prompt that told of date and machine; NULL = not told */
	char *cwd;
	struct run_digests digests;
	struct message *prompt;      /* the user's words of the newest message, without what we put beside them */
	bool ended;                  /* by a result that is behind all that belongs to the prompt */
	enum terminal_reason reason; /* then */
	char *result_line;           /* then: that line, whole */
	char *loop_state;            /* the newest, a JSON object that loop/ wrote (deps.emit of EVENT_HISTORY); NULL */
	struct resumed_answer answer;
	struct resumed_batch batch;
	bool overloads_told; /* since then: the model that is asked was overloaded so often in a row */
	int overloads;
	char **summaries; /* lines about rounds: the name of one, its line, ...; NULL terminated, may be NULL */
	struct resumed_state *tool_states; /* in order; tool/ wrote them */
	size_t ntool_states;
	struct resumed_call *interrupted; /* the calls that got a result of ours */
	size_t ninterrupted;
	struct session_totals totals;
	size_t lines, unreadable; /* in all; that were no events (the torn last one is not counted) */
	bool torn;
};

struct resume_source {
	const char *path;
	/* What an attempt cost, nano-USD, -1 = not known; asked for what no result has summed up. NULL: not known. */
	int64_t (*cost)(void *ctx, const char *model, const struct usage *u);
	void *ctx;
};

/* 1: *r is filled. 0: there is no such file, or no conversation has begun in it: a fresh run. -1 with *e: what is there
 * is no record of a run ("FILE:LINE: what"), or cannot be read. Of a file that grows meanwhile only what is there now
 * is read. */
int resume_read(const struct resume_source *src, struct resumed *r, struct error *e);
void resumed_release(struct resumed *r);

/* Adds an attempt; a cost that is not known stays so. -1: no memory. */
int session_totals_pay(struct session_totals *t, const char *model, const struct usage *u, int64_t cost);
int session_totals_add(struct session_totals *t, const struct session_totals *more);
void session_totals_release(struct session_totals *t);

#endif
