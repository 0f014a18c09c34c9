/*
 * What a hook is made of, private to this room.
 *
 * Life of an asking: hooks_ask makes it with one said a handler and starts a run each -> each run's end fills its said
 * (judge.c) and tells it -> the last one merges them (merge.c), calls done and frees it. A run that nobody waits for
 * has no asking; it is listed until its child ends, or the hooks are freed.
 */
#ifndef QUERN_HOOK_INTERNAL_H
#define QUERN_HOOK_INTERNAL_H

#include "base/pcre2_api.h"
#include "hook/hook.h"

#define HOOK_OUTPUT_MAX ((size_t)4 << 20) /* of each stream kept: an updatedInput may hold a file */
#define VERIFY_HEAD     ((size_t)4000)    /* shown of what a verification printed */
#define VERIFY_TAIL     ((size_t)12000)
#define CUT_SECRET      ((size_t)16 << 10) /* no secret is longer: beside a cut that much may be a part of one */
#define ENV_FILE        "CLAUDE_ENV_FILE="
#define ENV_TEXT_MAX    ((size_t)64 << 10)

/* ---- match.c ---- */

struct matcher {
	enum { MATCH_ALL, MATCH_LIST, MATCH_REGEX, MATCH_NOTHING } kind;
	const char *text; /* as written; borrowed */
	pcre2_code *code;
};

/* The library is loaded when the first matcher needs it. */
struct regex {
	bool loaded;
	struct pcre2_api api;
	pcre2_match_context *limits;
	pcre2_match_data *data;
};

/* An expression that cannot be understood is told, and matches nothing. -1: no memory. */
int matcher_init(struct matcher *m, const struct job_hook *hook, struct regex *regex, struct error *e);
void matcher_release(struct matcher *m, struct regex *regex);
/* Does it meet the value? An event without one is nothing that a matcher could look at: everything meets it. */
bool matcher_meets(const struct matcher *m, const struct regex *regex, const char *value);
void regex_release(struct regex *regex);
/* What matchers of that event are tested against; NULL = nothing. */
const char *hook_value(const struct hook_call *call);

/* ---- what is known of an event ---- */

enum {
	TAKES_PLAIN = 1,    /* text on stdout that is no JSON is context */
	TAKES_CONTEXT = 2,  /* additionalContext */
	TAKES_BLOCK = 4,    /* the decision "block" objects */
	TAKES_END = 8,      /* continue:false */
	TAKES_MESSAGE = 16, /* systemMessage */
	TWO_BLOCKS = 32,    /* exit status 2 objects */
	TWO_DENIES = 64     /* exit status 2 denies the call */
};

/* What a handler that broke comes to where it was declared to block. */
enum breaks { BREAK_TOLD, BREAK_BLOCKS, BREAK_ENDS, BREAK_DENIES };

struct event_rule {
	unsigned takes;
	enum breaks breaks;
	int64_t timeout_ms;
};
const struct event_rule *event_rule(enum hook_event kind);

/* ---- handlers ---- */

struct handler {
	const struct job_hook *decl;
	struct matcher matcher;
	char **argv; /* owned, and so are its strings; NULL terminated */
	size_t nwords;
	int64_t timeout_ms;
	enum confinement confine;
};

/* argv of a handler: sh -c COMMAND, or the program and its arguments. -1: no memory. */
int handler_words(struct handler *a, const char *project_dir);
void handler_release(struct handler *a, struct regex *regex);
/* Is it the same program, called in the same way? */
bool handler_same(const struct handler *a, const struct handler *b);
/* trust.c. Outside the sandbox: is what it calls a file that tools can write? -1 with *e, which names it; or no memory.
 */
int handler_check_file(const struct handler *a, const struct hooks_config *cfg, struct error *e);

/* ---- one handler's word ---- */

struct said {
	enum hook_verdict verdict;
	char *text;
	int rank; /* of the permit: as enum permit_rank */
	char *permit_text;
	bool interrupts;
	char *context, *new_input, *new_output, *first_message, *message;
};
/* In the order of their weight. */
enum permit_rank { RANK_NONE, RANK_ALLOW, RANK_ASK, RANK_DEFER, RANK_DENY };
void said_release(struct said *s);

struct asking {
	struct asking *next;
	struct hooks *h;
	struct hook_call call; /* its strings are the caller's */
	hooks_done done;
	void *ctx;
	size_t n, left; /* handlers that are waited for, and how many of them have not ended */
	struct said *said;
};

struct run {
	struct run *next;
	struct hooks *h;
	const struct handler *handler;
	struct asking *asking; /* NULL: nobody waits for it */
	struct said *said;     /* in the asking */
	enum hook_event kind;
	int child;
	bool deaf;      /* its output is not looked at while it runs */
	bool told;      /* its start was */
	bool idle_text; /* it agreed in words that its event has no use for */
	char id[24];
	char *name;       /* "PreToolUse:Bash" */
	char why[400];    /* "" or how it broke */
	bool cancelled;   /* it took too long */
	const char *file; /* the last of its texts that was too long went there; NULL = none */
};

struct hooks {
	struct hooks_config cfg;
	struct handler *v; /* the declared ones, then the verification if there is one */
	size_t n;
	struct job_hook verify; /* its declaration */
	struct regex regex;
	const char **env;    /* the tools', then ours; a place for that of SessionStart hooks is behind them */
	size_t nenv;         /* without that */
	char *project_env;   /* "CLAUDE_PROJECT_DIR=..." */
	char *file_env;      /* "CLAUDE_ENV_FILE=..." of the last asking; NULL: there is none */
	struct buf env_text; /* what was taken from it */
	char *env_kept;      /* the file that holds that, owned; NULL: there is nothing */
	int cwd_fd;
	struct asking *askings;
	struct run *runs;
	unsigned started; /* handlers so far: their ids */
	bool lost;        /* for want of memory, or an event that could not be written: `why` */
	struct error why;
};

/* ---- run.c ---- */

/* The run is over: its place in the list and its memory. */
void run_free(struct run *run);
void asking_free(struct asking *a);

/* ---- input.c ---- */

/* The JSON object for stdin, a line feed behind it. */
int hook_input(const struct hooks *h, const struct hook_call *call, struct buf *out, struct error *e);

/* ---- judge.c: how it ended, exit codes; output.c: JSON ---- */

void judge(struct run *run, const struct child_result *res, struct said *said);
/* Does stdout claim to be JSON? */
bool output_is_json(const struct output *out);
/* Fills *said from the JSON on stdout. False: it cannot be used, why says what is wrong, *said is as it was. */
bool output_read(struct run *run, const struct output *out, struct said *said, char *why, size_t why_size);
/* {"async":true} as the first output: it goes on in the background. */
bool output_is_async(const char *p, size_t n);
/* verify.c: the same for the verification. */
void judge_verify(struct run *run, const struct child_result *res, struct said *said);
/* How a child that did not end with an exit status ended: "was killed by signal 9 (Killed)". NULL: it did. */
const char *hook_end(const struct run *run, const struct child_result *res, char *out, size_t n);
/* The hook broke: what that comes to, by its declaration. run->why is the reason. */
void judge_broken(struct run *run, struct said *said);

/* ---- env_file.c ---- */

/* A fresh file for those that are asked now, with what was taken before; without it (no place) they do without. */
void env_file_offer(struct hooks *h);
/* They have answered: what is in the file is for commands from now on, and stays what it is. What cannot be used is
 * told, and what was taken before holds. */
void env_file_take(struct hooks *h);
void env_file_release(struct hooks *h);

/* ---- text.c ---- */

/* n bytes as text: valid UTF-8, no NUL, masked. malloc'ed; NULL: no memory, h->lost is set. */
char *text_clean(struct hooks *h, const char *p, size_t n);
/* Behind what is in out. -1: no memory, h->lost is set, out is empty. */
int text_clean_into(struct hooks *h, struct buf *out, const char *p, size_t n);
/* What was kept of a stream, the same way. Where its end was not kept, neither is what may be the begin of a secret.
 * -1: no memory, h->lost is set. */
int text_stream(struct hooks *h, struct buf *out, const struct output *o);
/* The same in a place of that size: whoever cuts a text cuts it behind the mask, or shows half of a secret. */
void text_short(struct hooks *h, const char *p, size_t n, char *out, size_t size);
/* The same, for the conversation: over its length it goes whole to a file, and what is left names it. Of the `total`
 * bytes that there were the end was not kept; 0 = it was. */
char *text_for_model(struct run *run, const char *p, size_t n, uint64_t total);
/* Adds more to *text as a paragraph of its own, or makes it the text. more may be NULL. -1: no memory. */
int text_join(char **text, const char *more, const char *between);
void hooks_nomem(struct hooks *h);

/* ---- merge.c ---- */

/* Calls done with what all have said; the asking is released. */
void merge_and_answer(struct asking *a);

/* ---- tell.c ---- */

void tell_start(struct run *run);
/* res NULL: it was ended by us. said NULL: nobody waited for it. */
void tell_end(struct run *run, const struct child_result *res, const struct said *said);
void tell_message(struct run *run, const char *message);

#endif
