/*
 * The simulator: the loop's outside world made up, with a virtual clock. Answers come from a script (one line
 * each) or from a random source; after every step the invariants of the loop are checked.
 *
 * An answer is a line of parts separated by " | ":
 *   text WORDS            thinking WORDS (signed)      unsigned WORDS (thinking without a signature)
 *   server ID (a call of the server's own)                 served (the results of all that have none yet)
 *   use NAME ID [INPUT]   bad NAME ID RAW (input that is no JSON)
 *   stop REASON           usage IN OUT                 after MS (of silence, wherever it stands)
 *   cut (the stream breaks)                            hang (nothing more comes)
 *   ping (a sign of life)                              open (a block that begins and never ends)
 *   http STATUS TYPE MESSAGE                           stream TYPE MESSAGE (error event after what stands before)
 *   refused (connection)  net unknown|dead|tls|other   html (a 200 that is no stream)   retry-after MS
 *   big N (a text of N bytes)   redacted (thinking)   count N (the answer to a count)   mismatch (of a tape)
 * Without `stop` the reason is tool_use if a call stands in it, else end_turn; before a cut or a hang none is seen
 * unless it is written. Each block takes 10 ms to come; what stands behind "burst" comes at once.
 *
 * Tools: Safe* are read-only, Unsafe* are not, Unknown* do not exist, Deny* are denied, Fail* is an unsafe call
 * that fails after it ran (as Bash does), Slow* takes 100 s, others 10 ms (or what "ms" in the input says). Refuse* is
 * an unsafe call that is denied only when its hooks have answered. "size" in the input is the result's length in bytes,
 * "image" makes it a picture, "undead" a call that does not end when it is cancelled; "context" is a text beside the
 * result, "ends" says why the run ends with this call; with "binary" the size is of bytes that are written as six.
 *
 * With a window the model counts what it is sent, and answers as servers do what does not fit; such a request uses up
 * no line of a script.
 */
#ifndef QUERN_TESTS_SIM_H
#define QUERN_TESTS_SIM_H

#include "loop/loop.h"

#define SIM_MAX_LINES  512
#define SIM_MOODS      32
#define SIM_HOOK_SORTS 9

struct crash;
struct sim_event;
struct witness;

/* How often one reason followed another, over many runs: [from][to], terminals behind the continues. */
struct sim_cover {
	uint32_t pairs[CONT_COUNT][(int)CONT_COUNT + (int)TERM_COUNT];
	uint64_t runs, steps, requests;
};

struct sim {
	/* given */
	const char *const *script;      /* NULL terminated; after the last line the model answers "text done" */
	uint64_t seed;                  /* with script NULL: answers are drawn at random */
	const char *const *hooks;       /* what hooks say, see hooks.c. NULL: none, or drawn */
	const char *const *messages;    /* further user messages, one after the other; NULL = none */
	const char *const *arrivals;    /* "MS TEXT": messages that come meanwhile, at that virtual time; NULL = none */
	const char *const *attachments; /* told behind results; "-" ends what is told at a time. NULL = none */
	bool stays_open;                /* the last message is not known to be the last */
	bool any_world;                 /* the configuration is drawn as well */
	int crashes;                    /* the run is cut off so often, at most, and gone on with, see crash.c */
	bool cuts_talk;                 /* then: also one of several messages, and behind ends of its own */
	bool replay;                    /* the draws are those in choices, then zeros */
	int64_t window;                 /* of the made-up model, in tokens; 0 = it takes anything */
	int bytes_per_token;            /* as it counts */
	int64_t fixed_tokens;           /* what system and tools take */
	int64_t supervisor_lost_at;     /* virtual ms, 0 = never */
	struct sim_cover *cover;        /* or NULL */
	struct loop_config cfg;         /* filled by sim_init, may be changed before sim_run */
	int64_t signal_at;              /* virtual ms, 0 = never */
	int64_t second_signal_at;
	int64_t interrupt_at; /* by the user: that message's work ends */
	int64_t stdout_gone_at;
	int64_t full_from, full_until;                /* stdout's reader is slow meanwhile: no call may start */
	void (*stand_before)(struct loop_deps *deps); /* puts functions of its own before the simulator's; or NULL */
	size_t task_size;                             /* bytes that are added to the task */
	bool calm;                                    /* of random answers: no stream breaks, nothing is declined */
	bool starved; /* the loop got no memory: what it could not tell is not held against it */
	/* seen */
	struct loop_outcome out;
	char trace[8192];           /* names of the transitions, blank separated, and the terminal last */
	char *lines[SIM_MAX_LINES]; /* one short line an event, for assertions */
	size_t nlines;
	int requests, results, tool_runs, hook_runs;
	int counts;        /* of the requests: those that only count */
	char starts[1024]; /* ids of calls in the order of their starts; * = while an answer streams */
	int64_t max_tokens_sent[SIM_MAX_LINES];
	struct history history;
	char problem[512]; /* the first broken invariant, "" if none */
	int broken;        /* which one, 0 = none */
	uint32_t *choices; /* what was drawn, in order */
	size_t nchoices;
	bool keep_answers; /* given: what the model was made to say is kept in */
	char *answers[SIM_MAX_LINES];
	size_t nanswers;
	uint64_t digest; /* of all lines and requests */
	uint64_t steps;
	/* private */
	struct witness *w;
	struct crash *crash;
	const char *task;
	const char *text;    /* of the message that is worked on */
	const char *arrived; /* one that was handed out, and neither shown nor refused; NULL = none */
	bool dead;           /* the process was killed */
	int checking;        /* row of the table of checks, -1 = none */
	int64_t clock;
	struct sim_event *queue;
	size_t next_line;
	size_t next_hook[HOOK_EVENTS], next_message, next_arrival, next_attachment;
	bool ended, closing, running_model, running_background, running_hook;
	int running_safe, running_unsafe;
	uint64_t rng;
	size_t next_choice, choices_cap;
	unsigned server_ids, nmarks;
	struct { /* how often each sort of answer comes, see answers.c */
		unsigned main[SIM_MOODS], compact[SIM_MOODS], summary[SIM_MOODS], count[SIM_MOODS], sizes;
		bool large;                         /* results are */
		const unsigned *hooks[HOOK_EVENTS]; /* see hooks.c; NULL = there are none */
		unsigned context, ends;             /* of calls: one in so many has one, 0 = none */
		unsigned attachments;               /* one in so many times there is one to be told; 0 = never */
		int verify_fails;                   /* so often the verification fails */
		int absurd_from; /* from this request on the usage that it tells is; 0 = it is drawn */
		bool fills;      /* results are so large that the window fills up in a turn or two */
	} moods;
	char drawn_arrivals[4][64];
	const char *arrival_list[5];
	char *current[4]; /* texts of the event handed out last */
	struct tool_result current_result;
	struct block *current_block;
};

void sim_init(struct sim *s, const char *const *script);
void sim_run(struct sim *s, const char *task);
void sim_release(struct sim *s);
/* The first event line that begins with prefix, or NULL. */
const char *sim_line(const struct sim *s, const char *prefix);
int sim_count(const struct sim *s, const char *prefix);

#endif
