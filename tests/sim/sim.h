/*
 * The simulator: the loop's outside world made up, with a virtual clock. Answers come from a script (one line
 * each) or from a random source; after every step the invariants of the loop are checked.
 *
 * An answer is a line of parts separated by " | ":
 *   text WORDS            thinking WORDS (signed)      unsigned WORDS (thinking without a signature)
 *   server ID (a call of the server's own)
 *   use NAME ID [INPUT]   bad NAME ID RAW (input that is no JSON)
 *   stop REASON           usage IN OUT                 after MS (of silence, wherever it stands)
 *   cut (the stream breaks)                            hang (nothing more comes)
 *   ping (a sign of life)                              open (a block that begins and never ends)
 *   http STATUS TYPE MESSAGE                           stream TYPE MESSAGE (error event after what stands before)
 *   refused (connection)  html (a 200 that is no stream)   retry-after MS
 * Without `stop` the reason is tool_use if a call stands in it, else end_turn; before a cut or a hang none is seen
 * unless it is written. Each block takes 10 ms to come; what stands behind "burst" comes at once.
 *
 * Tools: Safe* are read-only, Unsafe* are not, Unknown* do not exist, Deny* are denied, Fail* is an unsafe call
 * that fails after it ran (as Bash does), Slow* takes 100 s, others 10 ms (or what "ms" in the input says).
 */
#ifndef QUERN_TESTS_SIM_H
#define QUERN_TESTS_SIM_H

#include "loop/loop.h"

#define SIM_MAX_LINES 512

struct sim_event;

struct sim {
	/* given */
	const char *const *script;       /* NULL terminated; after the last line the model answers "text done" */
	uint64_t seed;                   /* with script NULL: answers are drawn at random */
	struct loop_config cfg;          /* filled by sim_init, may be changed before sim_run */
	int64_t signal_at;               /* virtual ms, 0 = never */
	int64_t second_signal_at;
	int64_t stdout_gone_at;
	int64_t full_from, full_until;   /* stdout's reader is slow meanwhile: no call may start */
	void (*stand_before)(struct loop_deps *deps); /* puts functions of its own before the simulator's; or NULL */
	bool calm;                       /* of random answers: no stream breaks, nothing is declined */
	bool starved;                    /* the loop got no memory: what it could not tell is not held against it */
	/* seen */
	struct loop_outcome out;
	char trace[8192];                /* names of the transitions, blank separated, and the terminal last */
	char *lines[SIM_MAX_LINES];      /* one short line an event, for assertions */
	size_t nlines;
	int requests, results, tool_runs;
	char starts[1024];               /* ids of calls in the order of their starts; * = while an answer streams */
	int64_t max_tokens_sent[SIM_MAX_LINES];
	struct history history;
	char problem[512];               /* the first broken invariant, "" if none */
	/* private */
	int64_t clock;
	struct sim_event *queue;
	size_t next_line;
	bool ended, running_model, running_background;
	int running_safe, running_unsafe;
	uint64_t rng;
	unsigned ids;
	char *last_request;              /* serialised blocks of the previous request, for the prefix check */
	size_t last_request_len;
	bool history_edited;             /* a repair or an image note was told: the prefix may change once */
	char *current[4];                /* texts of the event handed out last */
	struct tool_result current_result;
	struct block *current_block;
	char *open_calls[256], *answered[256];
	size_t nopen, nanswered;
	struct sim_run {                 /* a call that was started */
		char *id;
		bool safe, withdrawn;
	} ran[1024];
	size_t withdrawn_runs;           /* how many there were when the tools were told last */
	size_t nran, accepted_runs;      /* before the latter all belong to answers that stand or were withdrawn */
	bool signalled;
	int64_t paid;
};

void sim_init(struct sim *s, const char *const *script);
void sim_run(struct sim *s, const char *task);
void sim_release(struct sim *s);
/* The first event line that begins with prefix, or NULL. */
const char *sim_line(const struct sim *s, const char *prefix);
int sim_count(const struct sim *s, const char *prefix);

#endif
