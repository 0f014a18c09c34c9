/*
 * What is asked: options, QUERN_* variables, the job file and the defaults become one struct job.
 * One schema table (job/schema.c) holds each key once: path, type, range, default, help, its option
 * and its variable; parsing, "did you mean", --help, --print-schema job, the man page and the
 * completions read it. Everything in a struct job lives in its arena.
 */
#ifndef QUERN_JOB_JOB_H
#define QUERN_JOB_JOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/error.h"
#include "job/hooks.h"

enum job_action { ACTION_RUN, ACTION_CHECK, ACTION_HELP, ACTION_VERSION, ACTION_SCHEMA_JOB, ACTION_SCHEMA_EVENTS };
enum stdin_mode {
	STDIN_AUTO,
	STDIN_NONE,
	STDIN_CONTEXT
}; /* auto: the rules of the man page; none: -n; context: `-` or stdin: context */

struct reactor;

struct job_pair {
	const char *name, *value;
};

/* A tool that the job brings along: a command that gets the call's input on stdin. */
struct job_tool {
	const char *name, *description;
	const char *const *command; /* at least one word, NULL terminated */
	const char *input_schema;   /* a JSON Schema as JSON text, NULL = takes no parameters */
	bool read_only, network;
	int64_t timeout_ms;     /* 0 = none */
	const char *const *env; /* names of the variables it gets beside the ones every program needs; NULL = all */
};

/* A mark in the context window: where a layer begins its work. */
enum mark_kind { MARK_AUTO, MARK_OFF, MARK_PERCENT /* of usable */, MARK_TOKENS };
struct job_mark {
	enum mark_kind kind;
	int64_t value; /* percent or tokens */
};

struct job {
	struct arena arena;
	enum job_action action;
	const char *job_file; /* as given, or NULL */
	const char *name;

	/* model */
	const char *provider, *model, *base_url;
	bool base_url_given;
	int64_t max_output_tokens;                       /* 0 = not set by the user */
	const char *thinking_json, *effort, *extra_json; /* NULL = not set */
	const char *const *betas;                        /* NULL terminated, never NULL */
	const char *api_key_env;                         /* variable's name, default by provider */
	const char *api_key_file;                        /* resolved path or NULL */
	struct job_pair *headers;
	size_t nheaders;
	int64_t max_retries, max_retry_wait_ms;
	int64_t connect_ms, first_byte_ms, idle_ms, progress_ms; /* watchdogs, 0 = off */

	const char *const *fallback; /* models to go on with, NULL terminated, never NULL */

	/* context */
	int64_t context_window; /* tokens, 0 = the model's */
	struct job_mark microcompact_at, collapse_at, snip_at, autocompact_at, blocking_at;
	bool autocompact; /* false: off, whatever autocompact_at says */
	int64_t microcompact_keep;
	const char *compact_model, *summary_model; /* NULL = the model; NULL = no summaries */

	/* what a token costs in nano-USD, by the user; all -1 = by the catalog */
	struct job_price {
		int64_t input, output, cache_read, cache_write;
	} price;

	/* who may object */
	struct job_hook *hooks;
	size_t nhooks;
	const char *hook_failure; /* "open", "block": of hooks that do not say so themselves */
	bool sandbox_hooks;       /* hooks and the verification run in the tools' sandbox */
	struct job_verify verify;

	const char *settings;               /* --settings as given, NULL = none; what it says is in the fields */
	const char *const *setting_sources; /* "user", "project", "local"; NULL terminated, never NULL */

	/* what is told beside the task */
	const char *const *memory;       /* as given: what the next two are made of */
	bool memory_auto;                /* AGENTS.md, else CLAUDE.md, of the directories from the workspace down */
	const char *const *memory_files; /* or these; resolved, NULL terminated, never NULL */
	const char *const *attach;       /* files and patterns, as given, NULL terminated, never NULL */
	bool mentions;                   /* @path in the prompt attaches that file */
	bool environment;                /* date, platform, directories are told */

	/* texts */
	const char *system;        /* NULL = built in, "" = none */
	const char *system_append; /* NULL or text */
	const char *prompt;        /* NULL = from stdin */
	bool prompt_from_option;   /* -p: stdin may add context */
	enum stdin_mode stdin_mode;
	const char *input_format; /* "text", "stream-json" */

	/* workspace and tools */
	const char *workspace; /* as given; resolved by run/ */
	bool workspace_given;
	const char *archive; /* what it is unpacked from; NULL = it is there */
	const char *const *add_dirs;
	const char *workspace_save, *workspace_patch; /* output files, resolved from the start directory; NULL = none */
	bool workspace_transaction;
	struct job_pair *env;
	size_t nenv;
	const char *const *tools;
	bool tools_explicit;
	const char *tool_executor; /* "streaming", "batch" */
	int64_t tool_concurrency, tool_max_spill;
	int64_t max_processes;
	struct job_tool *external;
	size_t nexternal;
	const char *const *env_keep;
	const char *permission_mode;                         /* a name that permission_mode_find knows */
	const char *on_denied;                               /* "continue" or "fail" */
	const char *const *allow, *const *ask, *const *deny; /* rules as written, well formed */
	const char *sandbox_mode;                            /* "workspace-write", "read-only", "off" */
	bool sandbox_network, sandbox_best_effort;
	const char *const *sandbox_write, *const *sandbox_read_deny;

	/* limits; 0 = none unless said otherwise */
	int64_t max_turns; /* always >= 1 */
	int64_t token_budget, max_requests, max_tool_calls, wall_time_ms;
	int64_t max_cost_nano_usd;
	int64_t token_target, max_stop_blocks;
	int64_t stdin_bytes, run_dir_bytes, archive_bytes, archive_entries;

	/* output */
	const char *output_format; /* "stream-json", "json", "text" */
	bool output_format_known;  /* an error after this point can write a result in that format */
	bool partial;
	bool hook_events;     /* an event for each start and end of a hook */
	bool stream_input;    /* --input-format stream-json: user messages come on stdin, one a line */
	bool replay_messages; /* each of them that is taken is shown again */
	const char *events_path, *replay_path, *run_dir; /* resolved from the start directory; NULL = none */
	const char *record_path, *resume_path;           /* likewise */
	bool replay_bundle;                              /* that is a bundle: only where job_parse_replay was asked */
	bool replay_tools, replay_strict;
	bool quiet, verbose;

	const char *const *warnings; /* what a run should say before it starts, NULL terminated, never NULL */
};

/* All errors of one parse, in order, each one line "job.yaml:12:5: limits.max_turn: unknown key (did you mean
 * max_turns?)". */
struct job_errors {
	struct buf text;
	int n;
};

/* Reads argv and, if named, the job file, in the precedence option > QUERN_* > job file > vendor variables > default.
 * environ-like `envp` is only read. 0, or -1 with at least one line in *errs; *job is usable by job_release in both
 * cases, and job->output_format is set as well as it could be told. Never touches stdin, never writes. errs is
 * initialised here; the caller releases errs->text. --help, --version and --print-schema win over errors and read no
 * job file. A list option replaces the job's list; env and headers are merged name by name. */
int job_parse(struct job *job, int argc, char *const argv[], const char *const *envp, struct job_errors *errs);
/* The same for whoever can read bundles: of one that is to be replayed the job is taken in place of a job file, unless
 * that is named. 1: path is a bundle, *text is its job; 0: it is none, or nothing that can be told; -1 with *e. */
typedef int (*job_recorded)(const char *path, struct buf *text, struct error *e);
int job_parse_replay(struct job *job, int argc, char *const argv[], const char *const *envp, job_recorded recorded,
                     struct job_errors *errs);
void job_release(struct job *job);

/* How long to wait for stdin: through the run's reactor, until the deadline (monotonic ms) or until *stop, which a
 * signal's callback sets, is no longer zero. */
struct task_wait {
	struct reactor *reactor;
	const int *stop;
	int64_t deadline;
	bool leave; /* nothing on stdin is wanted, but what the job itself asks for */
};

/* Finds the task text by the rules of the man page (fd 0), the same bytes by whichever way it came: one leading BOM and
 * all trailing line feeds are cut, nothing else. stdin beside a prompt follows it as "\n\n<stdin>\n" TEXT "\n</stdin>"
 * and adds nothing if it is empty. `task` gets the text of the first user message. Waits for a pipe with one line on
 * stderr after 3 s. -1 with *e (exit 2; ERR_GONE: a signal came). */
int job_read_task(const struct job *job, const struct task_wait *wait, struct buf *task, struct error *e);

/* --help without the exit-code table; --print-schema job; what --check prints: the job as understood, in full and as
 * YAML that can be run again (values that may be secret are left out; lines that a caller adds should begin with '#').
 */
void job_print_help(struct buf *out);
void job_print_schema(struct buf *out);
void job_print_check(const struct job *job, struct buf *out);

#endif
