/*
 * The events: what a consumer of the stream reads. event.c makes the lines, out.c is the only
 * writer of stdout. One event is one line is one write; the result is last on every way out.
 * Formats: stream-json (every line), json (the result object alone), text (the answer alone).
 *
 * A line that would exceed max_line is made to fit: its longest strings lose their ends. What it was goes whole into
 * the run directory, named by a member beside it: `result_file` (the answer as plain text) if cutting the result text
 * was enough, else `quern_file` (the line as it would have been: a reader takes that in place of the line). null says
 * that it could not be stored. Embedded blocks are otherwise the bytes of the request.
 */
#ifndef QUERN_RECORD_EVENT_H
#define QUERN_RECORD_EVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/random.h"
#include "base/reactor.h"
#include "message/message.h"
#include "record/reason.h"
#include "record/run_dir.h"

enum output_format { OUTPUT_STREAM_JSON, OUTPUT_JSON, OUTPUT_TEXT };

enum event_kind {
	EVENT_INIT,              /* system/init */
	EVENT_ASSISTANT,         /* one completed block (or the synthetic error line) */
	EVENT_USER,              /* one tool_result, or text of the program */
	EVENT_STREAM,            /* stream_event; only with partial */
	EVENT_API_RETRY,         /* system/api_retry */
	EVENT_PERMISSION_DENIED, /* system/permission_denied */
	EVENT_TRANSITION,        /* system/quern_transition */
	EVENT_TOMBSTONE,         /* system/quern_tombstone */
	EVENT_NOTICE,            /* system/quern_notice */
	EVENT_CONTEXT,           /* system/quern_context: a layer made the conversation smaller */
	EVENT_STATUS,            /* system/status: compacting, or null when that is over */
	EVENT_COMPACT_BOUNDARY,  /* system/compact_boundary */
	EVENT_MODEL_SWITCH,      /* system/quern_model_switch */
	EVENT_HOOK_STARTED,      /* system/hook_started */
	EVENT_HOOK_RESPONSE,     /* system/hook_response */
	EVENT_INFORMATIONAL,     /* system/informational: what a hook has to say to the user */
	EVENT_HISTORY,           /* system/quern_history: what the lines do not say of the conversation */
	EVENT_SUMMARY,           /* system/quern_summary: a line about a round, made in the background */
	EVENT_TOOL_START,        /* system/quern_tool_start: what comes now may have an effect outside */
	EVENT_RESUME,            /* system/quern_resume: the run goes on from a record */
	EVENT_CONTROL_RESPONSE,  /* control_response: no part of the conversation, it has no uuid and no session_id */
	EVENT_RESULT             /* result */
};

struct denial {
	const char *tool_name, *tool_use_id, *tool_input; /* raw JSON */
};

struct model_usage {
	const char *model;
	struct usage usage;         /* everything paid, withdrawn attempts included */
	int64_t cost_nano_usd;      /* -1 = price not known */
	int64_t window, max_output; /* 0 = unknown */
	bool own_price;             /* the user's, not the list price */
};

struct limit_line {
	const char *limit;
	int64_t max, used, left;
	bool is_usd; /* then in nano-USD */
};

/* What the job's verification said to a message. */
struct verification {
	bool declared; /* there is one */
	int runs, failures;
	bool passed; /* the last time */
};

/* How tools are confined; without a mode it is not told. */
struct event_sandbox {
	const char *mode;
	bool network;
	const char *const *enforced, *const *missing; /* NULL terminated */
	int landlock_abi;                             /* 0 = none */
	bool loop_confined;                           /* the loop process can neither execute nor write elsewhere */
};
/* SHA-256 of what a run was given, in hex; NULL = not told. */
struct event_audit {
	const char *job, *system, *tools;
};
struct session_totals; /* record/resume.h */
struct resumed_state;

struct event_init {
	const char *cwd, *model, *permission_mode, *api_key_source, *provider;
	const char *const *tools;          /* NULL terminated */
	const char *const *tools_withheld; /* "Name: why", NULL terminated, may be NULL */
	const char *const *attached;       /* "path: what", what stands in front of the task; NULL = nothing */
	struct event_sandbox sandbox;
	struct event_audit audit;
	const char *environment; /* the block of the system prompt that tells of date and machine; NULL = none */
	int64_t started_wall_ms; /* since 1970: when the run began; 0 = not told */
};
struct event_assistant {
	const char *message_id, *model;
	const struct block *block;               /* NULL: an answer without any content */
	const char *text;                        /* instead of block: synthetic text */
	const char *stop_reason, *stop_sequence; /* set on the last line of an accepted answer only */
	const struct usage *usage;               /* so far; final on the last line */
	const char *error;                       /* error category, synthetic line only */
};
/* What a result leaves to be done when all calls of its answer have one. */
struct event_call {
	const char *say;      /* to the model, behind the results; NULL = nothing */
	const char *ends_run; /* a hook said so, and why; NULL = none did */
	bool unusable;        /* the call could not be understood */
};
struct event_user {
	const struct block *block;
	const struct message *message; /* in place of block: all of it */
	const char *structured;        /* tool_use_result, raw JSON object or NULL */
	const char *state;             /* what the call changed in tool/'s memory, raw JSON object or NULL */
	struct event_call call;        /* of a result */
	bool synthetic;                /* text of the program */
	bool acted;                    /* the result of a call that may have had an effect */
	bool replay;                   /* it came on stdin and is shown again */
	const char *file; /* path in the run directory that the result names, or NULL: `quern_output_file` */
};
struct event_retry {
	int attempt, max_retries;
	int64_t delay_ms;
	int error_status; /* 0 = null */
	const char *category;
	const char *text;
	int overloads; /* of the model that the run asks, in a row, this one included */
	/* Of an attempt for a summary of the conversation that was paid; NULL = it was not. The status or
	 * compact_boundary that follows counts it too: this is for a record that ends before. */
	const char *model;
	const struct usage *usage;
};
struct event_denied {
	const char *tool_name, *tool_use_id, *reason_type, *message;
};
struct event_transition {
	const char *reason;
	int turn;
	const char *from;
	int64_t tokens;     /* estimate, -1 = null */
	const char *source; /* of an objection: "hook" or "verify"; else NULL */
};
struct event_tombstone {
	const char (*uuids)[UUID_LEN + 1];
	size_t n;
	const char *message_id;
	const char *model; /* that was paid; NULL = not known */
	const struct usage *usage;
};
struct event_notice {
	const char *code, *text;
};
struct event_context {
	const char *step;
	int64_t tokens_before, tokens_freed;
};
struct event_status {
	const char *status;                         /* "compacting" or NULL */
	const char *compact_result, *compact_error; /* with status NULL: "success" or "failed" and why; or NULL */
	const char *model;                          /* that was asked for a summary in vain, but paid; NULL = none */
	const struct usage *usage;                  /* of all its requests */
};
struct event_compact {
	bool reactive; /* the API refused the prompt; else the mark was met. The official trigger is "auto" for both */
	int64_t pre_tokens, post_tokens, duration_ms;
	const char *model;         /* that wrote the summary */
	const struct usage *usage; /* of all requests that it took */
};
struct event_switch {
	const char *from, *to;
};
/* An answer that was accepted, and the conversation ends with it, in a record that has no line of it. */
struct event_answer {
	const char *message_id, *model, *stop_reason, *stop_sequence;
	const struct usage *usage;
	size_t blocks;       /* so many, the last ones of its message */
	bool replied;        /* words of ours stand behind it */
	const char *went_on; /* the Continue that was told, NULL = none */
	bool verified;       /* the verification was asked, and did so last */
};
/* See record/talk.h. */
struct event_history {
	const char *messages; /* what the conversation is now, raw JSON array; NULL: what the lines made of it */
	size_t messages_len;
	bool has_prompt; /* a new message of the user's: these blocks of the last message are the user's words */
	size_t prompt_from, prompt_to;
	const char *state; /* of loop/, raw JSON object that takes the place of the one before; NULL: as it was */
	bool sends;        /* a request follows at once */
	bool open;         /* an answer is coming in: its lines, which are behind all of this, stand as they are */
	const struct event_answer *answer; /* how the answer ended that stands last; NULL: its lines tell */
	bool more; /* the conversation is longer: its next messages come in the next event of this kind */
};
struct event_summary {
	const char *round;         /* its name: the id of its first call */
	const char *text;          /* NULL: none came of it, but it was paid */
	const char *model;         /* that was asked */
	const struct usage *usage; /* of the request; NULL = not told */
};
struct event_tool_start {
	const char *tool_use_id, *tool_name;
	const struct block *block; /* the call, if its assistant line is not out yet; else NULL */
};
struct event_resume {
	const char *file;
	const char *from_reason;        /* what the run had ended with; NULL = it did not come to an end */
	const char *const *interrupted; /* ids of calls whose result is not known; NULL terminated, may be NULL */
	const char *const *changed;     /* "job", "system", "tools", "cwd"; likewise */
	size_t lines;                   /* that were read */
	bool torn;                      /* the last one was not whole */
	/* What a reader of this run's lines alone cannot know of the runs before; NULL = they stand in front of it. */
	const struct session_totals *totals;
	const struct message *prompt;       /* the user's newest words */
	const struct resumed_state *states; /* of tool/ */
	size_t nstates;
	const char *const *summaries; /* lines about rounds: the name of one, its line, ...; NULL terminated */
};
/* A hook, or the verification: that it starts; that it has ended, with what it wrote. */
struct event_hook {
	const char *id, *name, *event; /* "hook_1", "PreToolUse:Bash", "PreToolUse" */
	const char *source;            /* where it was declared */
	const char *outcome;           /* the rest is of its end: "success", "error" or "cancelled" */
	const char *out, *err;         /* what it wrote, or the first part of that */
	size_t out_len, err_len;
	int exit_code;    /* -1 = none */
	const char *why;  /* how it broke, NULL = it did not */
	const char *file; /* path in the run directory of a text of its that was too long, or NULL */
};
struct event_informational {
	const char *content, *level; /* "info", "notice", "suggestion", "warning" */
};
struct event_control {
	const char *request_id;
	const char *error;    /* NULL: it succeeded */
	const char *response; /* then: a JSON object, NULL = none */
};
/* What the run did to its workspace. */
struct event_workspace {
	bool told;                      /* it is known: else the counts are not written */
	size_t changed, added, deleted; /* files and links */
	const char *saved, *patch;      /* the files that were written; NULL = none */
	size_t left_out;                /* of the patch, for their size */
	bool transaction, committed;
	const char *changes; /* the archive in the run directory of what was not committed; NULL = none */
	const char *copy;    /* where it still lies, as it could neither be committed nor be saved; NULL */
	const char *before;  /* file of the run directory: what was there before, for a run that goes on; NULL = none */
};
struct event_result {
	enum terminal_reason reason;
	bool transient;
	int exit_code;      /* of the process; 128+n after a signal */
	const char *result; /* answer text or NULL */
	size_t result_len;
	const char *const *errors;
	size_t nerrors;
	int64_t duration_ms, duration_api_ms;
	int num_turns;
	const char *stop_reason;
	int64_t cost_nano_usd; /* -1 = unknown: total_cost_usd null */
	bool cost_lower_bound; /* a cut attempt whose output count is not known */
	struct usage usage;    /* accepted answers */
	const struct model_usage *models;
	size_t nmodels;
	const struct denial *denials;
	size_t ndenials;
	const int *transitions; /* counts by enum continue_reason, [CONT_COUNT] */
	const struct limit_line *limits;
	size_t nlimits;
	const char *const *side_effects;
	size_t nside_effects; /* "Bash toolu_1", ... */
	struct verification verification;
	const char *run_dir;                     /* NULL if none was kept */
	int64_t retry_after_ms;                  /* -1 = none */
	int api_error_status;                    /* 0 = null */
	const char *startup_failure_reason;      /* NULL unless start-up failed */
	const struct event_workspace *workspace; /* NULL = not told */
	struct event_audit audit;
	const char *events_sha256;           /* of all lines before this one; NULL = not told */
	int64_t events_bytes;                /* then: their length */
	const struct session_totals *totals; /* of all runs of the session, this one included; NULL = not told */
};

struct event {
	enum event_kind kind;
	char uuid[UUID_LEN + 1]; /* filled by recorder_emit, unless */
	bool has_uuid;           /* it is given */
	int64_t ms;              /* since the run began; filled by recorder_emit */
	const char *stream_json;
	size_t stream_len; /* EVENT_STREAM: the raw event */
	union {
		struct event_init init;
		struct event_assistant assistant;
		struct event_user user;
		struct event_retry retry;
		struct event_denied denied;
		struct event_transition transition;
		struct event_tombstone tombstone;
		struct event_notice notice;
		struct event_context context;
		struct event_status status;
		struct event_compact compact;
		struct event_switch model_switch;
		struct event_history history;
		struct event_summary summary;
		struct event_tool_start tool_start;
		struct event_resume resume;
		struct event_hook hook;
		struct event_informational informational;
		struct event_control control;
		struct event_result result;
	} u;
};

struct recorder_config {
	enum output_format format;
	bool partial;
	const char *session_id; /* UUID */
	const char *version;
	const char *events_path;                   /* every line is appended here too; NULL = no */
	size_t max_line;                           /* 0 = 1 MiB; what is cut goes whole to the run directory */
	struct run_dir *run_dir;                   /* NULL: lines are cut without a file */
	void (*mask)(void *ctx, struct buf *line); /* NULL = no secrets are known */
	void (*new_uuid)(void *ctx, char out[UUID_LEN + 1]); /* NULL = random ones */
	int64_t (*now)(void *ctx);                           /* monotonic ms, NULL = the real clock */
	int64_t started; /* of that clock: lines tell the time since then; 0 = recorder_open */
	/* Who else keeps the lines, each as it stands on stdout, with its end. -1 with *e. NULL = nobody. */
	int (*tap)(void *ctx, const char *line, size_t n, struct error *e);
	void (*named)(void *ctx, const char *path); /* a line to come names that file of the run directory; or NULL */
	void *ctx;
	struct reactor *reactor; /* for a stdout that is a pipe or socket */
	int fd;                  /* 1 */
};

struct recorder;
struct recorder *recorder_open(const struct recorder_config *cfg, struct error *e);
void recorder_free(struct recorder *r);
/* Makes and queues (or writes) the line. -1 with ERR_GONE when stdout is gone or full, ERR_NOMEM. */
int recorder_emit(struct recorder *r, struct event *ev, struct error *e);
/* Bytes not yet taken by the reader; over RECORDER_HIGH_WATER the caller pauses transfers and starts no tool. */
size_t recorder_backlog(const struct recorder *r);
#define RECORDER_HIGH_WATER ((size_t)4 << 20)
/* What was emitted is on the disk that holds the events file, if there is one. -1 with ERR_GONE: it could not be, and
 * the file is gone. */
int recorder_sync(struct recorder *r, struct error *e);
/* Waits until everything is written, at most until the monotonic deadline, which a callback of the reactor may move.
 * -1: it was not, or stdout is gone. */
int recorder_drain(struct recorder *r, const int64_t *deadline, struct error *e);
bool recorder_gone(const struct recorder *r);
const char *recorder_what_is_gone(const struct recorder *r); /* its name for people; NULL: nothing */
bool recorder_named_file(const struct recorder *r);          /* an event named a file in the run directory: keep it */

/* The JSON Schema that every stdout line obeys (--print-schema events). */
void event_print_schema(struct buf *out);
/* Plain text on stdout for --help, --version, --print-schema. 0 or -1 with *e. */
int out_print(const char *text, size_t n, struct error *e);
/* A result that an earlier run wrote, given again: the line as it stands there and `resumed_result` beside it, or in
 * the format text the answer alone. Complete and written. */
int recorder_repeat(const struct recorder_config *cfg, const char *line, const char *answer, size_t n,
                    const int64_t *deadline, struct error *e);
/* A zeroed result outside any run, in the given format: complete and written. `reason` is mostly TERM_SETUP_FAILED
 * (then `startup` names the reason, else it is NULL), or an abort while start-up waited for stdin; exit_code is the
 * process's; the deadline is recorder_drain's. */
int recorder_startup_failure(const struct recorder_config *cfg, enum terminal_reason reason, int exit_code,
                             const char *startup, const char *const *errors, size_t n, const int64_t *deadline);

#endif
