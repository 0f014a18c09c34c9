/*
 * The real world behind the loop's deps (private to run/): what a run is made of, in the order in which it is
 * made, and the queue that turns callbacks into events.
 */
#ifndef QUERN_RUN_WORLD_H
#define QUERN_RUN_WORLD_H

#include <stdbool.h>

#include "base/json.h"
#include "base/reactor.h"
#include "guard/sandbox.h"
#include "guard/secret.h"
#include "job/job.h"
#include "loop/deps.h"
#include "loop/loop.h"
#include "message/id_set.h"
#include "model/model.h"
#include "prompt/attach.h"
#include "prompt/memory.h"
#include "record/event.h"
#include "record/resume.h"
#include "record/run_dir.h"
#include "record/talk.h"
#include "supervisor/supervisor.h"
#include "tool/tool.h"

#define STOP_GRACE_MS 2000 /* between TERM and KILL of what still runs at the end; none after a second signal */

struct queued;   /* one event that waits for next_event */
struct answers;  /* of a record, to be given again */
struct changing; /* what the run does to the workspace as a whole */
struct cutoff;   /* where it is, and where something came from outside */
struct moment;   /* see run/cutoff.h */
struct record;   /* of --record */
struct replay;   /* a bundle that is played again */
struct session;  /* user messages on stdin, one after the other */

struct world {
	const struct job *job;
	char **envp;
	int64_t started; /* monotonic ms */
	int64_t started_wall;
	int64_t deadline;
	char session_id[UUID_LEN + 1];
	struct arena arena; /* strings that live as long as the run */

	struct loop_model *models; /* in the arena: the job's model, then its fallbacks */
	size_t nmodels;
	/* of the models that have work of their own; NULL = none */
	const struct catalog_row *compact_row, *summary_row;

	/* in the order of making; freed in the opposite order */
	struct reactor *reactor;
	struct secrets *secrets;
	struct buf key;         /* overwritten as soon as the wire has it */
	const char *key_source; /* for the init event */
	bool key_bearer;
	const char *kept_keys[5];    /* "NAME=value" of wiped variables that tools.env_keep names; NULL terminated */
	const char *unpacked;        /* where the job's archive was unpacked; NULL = nowhere */
	bool unpacked_ours;          /* we made that directory */
	bool unpacked_now;           /* and not the run that is gone on with */
	const char *workspace;       /* absolute, real */
	const char *const *add_dirs; /* likewise */
	struct permissions *permissions;
	const char **spelled; /* the absolute names that the user gave the workspace and each of add_dirs */
	struct sandbox *sandbox;
	const char *enforced[SANDBOX_WORDS], *missing[SANDBOX_WORDS]; /* of the sandbox */
	bool confined;                                                /* so are we */
	struct run_dir *run_dir;
	const char *const *child_env;
	struct changing *changing; /* NULL: nobody asks what the run changes */
	struct supervisor *keeper; /* NULL: the job asks for nothing that needs it */
	struct supervisor *supervisor;
	struct hooks *hooks;    /* NULL: there are none */
	const char *transcript; /* the events, for hooks, where nobody else wants them in a file; NULL = no */
	struct toolbox *toolbox;
	struct recorder *recorder;
	bool keeps_events;    /* somebody gets them all */
	struct id_set *shown; /* ids of the calls whose lines are out, of this answer */
	bool answered;        /* the answer that shown belongs to has come to its end */
	struct model_config model_config;
	struct model *model;
	struct model *background;       /* asked while the other works; NULL without context.summary_model */
	enum model_kind asked;          /* what model was asked last */
	struct place place;             /* where what is told beside the task may lie */
	struct attachments attachments; /* what the job and its prompt name */
	struct memory *memory;          /* NULL: none is asked for */
	size_t memory_edits;            /* of the history when it was last held against the conversation */
	struct told told;               /* what stands in front of the task */
	bool told_first;                /* it does */
	struct message *task;           /* until it stands in the history */
	struct history history;
	struct session *session; /* NULL: there is one task, and nothing is read while it is worked on */
	bool result_is_last;     /* it is out: no event may stand behind it */

	const char *environment;    /* the block of the system prompt; NULL: none */
	struct run_digests digests; /* of what the run was given */
	struct event_audit audit;   /* that, as events tell it */
	struct record *recording;   /* the bundle of this run; NULL: none was asked for */

	/* a run that goes on */
	struct resumed record;
	bool resumes;                   /* there is a record, and *record is filled */
	bool lacks_key;                 /* nothing can be sent: it may be that nothing is to be */
	bool goes_on;                   /* no message is new: what was begun is gone on with */
	bool repeats;                   /* there is nothing left to do: the old result is the result */
	bool resume_told;               /* the events say so */
	int locks[SUPERVISOR_HELD_MAX]; /* on what is read and written */
	size_t nlocks;
	bool locked_out;  /* another run has the file of the events: nothing may be written there */
	bool appends;     /* the events stand behind those of the record */
	struct talk talk; /* what whoever reads the record knows, until the loop has it */
	int64_t turns, requests, tool_calls, duration_ms; /* of this process so far */
	struct session_totals totals;                     /* of all */
	struct replay *replay;                            /* NULL: no bundle is replayed */
	uint64_t draws;                                   /* of random01 so far */
	int64_t skew;                                     /* so much its clock is ahead of ours */
	struct answers *answers;                          /* NULL: the record has none */
	struct cutoff *cutoff;                            /* where it is; NULL: neither recorded nor replayed */

	/* the queue */
	struct queued *first, *last, *current;
	/* how often the loop asked for what is there, and nothing was: see struct exchange_chunk */
	unsigned long looks;
	int signo;   /* the first signal that came */
	int signals; /* how many came: the second skips the grace periods */
	bool paused; /* transfers are held because stdout is full */
	bool told_broken;
	bool began;          /* the init line is out, which says where the run works */
	bool result_out;     /* and so is the last result, all of it */
	bool progress;       /* stderr is a terminal and stdout is not */
	int64_t drain_until; /* how long stdout's reader is waited for at the end; a signal brings it nearer */
	bool lost;           /* an event could not be queued for want of memory */
};

/* ---- setup.c ---- */
/* How far start-up came: names the reason in the result when it fails. */
enum setup_step {
	SETUP_SIGNALS,
	SETUP_OPTIONS,
	SETUP_RESUME,
	SETUP_REPLAY,
	SETUP_KEEPER,
	SETUP_WORKSPACE,
	SETUP_SANDBOX,
	SETUP_BYPASS,
	SETUP_KEY,
	SETUP_ATTACH,
	SETUP_TASK,
	SETUP_RUN_DIR,
	SETUP_TOOLS,
	SETUP_MODEL,
	SETUP_OUTPUT
};
int world_set_up(struct world *w, enum setup_step *step, struct error *e);
int world_check_bypass(struct world *w, struct error *e); /* needs the sandbox */
int world_tell_no_key(struct error *e);
int world_permissions(struct world *w, struct error *e); /* needs the workspace */
void world_fill_recorder(struct world *w, struct recorder_config *cfg);

void world_forget_secrets(void *ctx); /* in a supervisor: neither the key nor what is masked is its business */

/* ---- keeper.c: the second supervisor, for the workspace as a whole ---- */
/* One of workspace_child_calls. */
struct keep {
	const char *call;
	int cwd_fd; /* the directory that it works in, stays the caller's; -1 = where quern was started */
	const char *input;
	size_t input_len;
	size_t max_out;   /* bytes of output at most; more is an error */
	int64_t deadline; /* monotonic ms: then it is killed */
	int signals;      /* that many in all, and it is killed: 1 = the first ends it */
};
bool world_keeps(const struct world *w); /* does the job ask for it? */
/* Before anything is read from the workspace, without the key in the environment. */
int world_start_keeper(struct world *w, struct error *e);
/* Runs a call and waits for its end, in the reactor. `out` (NULL: not wanted) gets its output. -1 with *e: of the call,
 * or ERR_GONE: it was killed, and may have done a part. */
int world_keep(struct world *w, const struct keep *call, struct buf *out, struct error *e);
/* Before the result is written. Not from inside a callback of the reactor. Does nothing when there is none. */
void world_stop_keeper(struct world *w);

/* ---- archive.c: workspace.archive ---- */
/* Unpacks it, by the keeper. If that fails, nothing is left of it. */
int world_unpack(struct world *w, struct error *e);
void world_drop_unpacked(struct world *w); /* removes what was unpacked; by the keeper too */
void world_end_unpacked(struct world *w);  /* the run has completed and its changes are saved */
/* For --check: looks at the head of the archive; an empty directory, the caller's to remove, stands for the other. */
int world_check_archive(struct world *w, struct error *e);

/* ---- transaction.c: workspace.save, workspace.patch, workspace.transaction, and the sums of a bundle ---- */
bool world_changes_wanted(const struct job *job);
/* With the workspace and the keeper there: looks at all files, and makes a copy if that is needed. In a transaction
 * w->workspace is the copy from now on. */
int world_begin_changes(struct world *w, struct error *e);
/* Into the bundle, when that has begun: the sums of all files. */
int world_record_files(struct world *w, struct error *e);
/* When no process of the run is left that writes: saves what is to be saved, and commits if the run has completed. -1
 * with *e: something of that failed, the rest may have been done. Does nothing when called again. */
int world_end_changes(struct world *w, bool completed, struct error *e);
/* For the result; NULL = not asked for, or not known yet. */
const struct event_workspace *world_changes(const struct world *w);
/* The old result is out again: what the run that was killed behind it has left goes when this one ends. */
void world_drop_changes(struct world *w);
/* For world_confine: adds the directory of ours, which is removed behind the result, when no child may be alive. -1: no
 * memory. */
int world_changes_need(struct world *w, const char *write[4], const char *parents[4]);
void world_release_changes(struct world *w); /* behind the result: a copy that nobody will use goes */

/* ---- config.c: from the job to what the rooms take ---- */
enum permission_mode world_permission_mode(const struct job *job);
/* What an attempt costs, nano-USD; -1 = not known. */
int64_t world_cost(const struct world *w, const char *model, const struct usage *u);
/* What is known of the job's models, and what can be refused without reading anything. */
int world_models(struct world *w, struct error *e);
/* The marks in that model's window. -1 with *e: they do not ascend. */
int world_marks(const struct world *w, const struct loop_model *model, struct context_marks *out, struct error *e);
/* What a toolbox takes from the job and its workspace alone; the rest is zero. */
void world_fill_toolbox(const struct world *w, struct toolbox_config *cfg);
void world_fill_loop(struct world *w, struct loop_config *cfg);

/* ---- audit.c ---- */
/* The sums of the job, the system prompt and the tools, which stay in w->digests. A job for which there is no memory is
 * not told. */
struct event_audit world_audit(struct world *w, const char *system, const char *tools_json);

/* ---- record.c: --record ---- */
int world_record_open(struct world *w, struct error *e); /* before the models, which it listens to */
/* What the run is: the first entries, which give the file its name. */
int world_record_begin(struct world *w, struct error *e);
bool world_records(const struct world *w);
const struct model_tap *world_record_tap(const struct world *w); /* NULL: nothing is recorded */
/* Of the recorder's; ctx is the world. */
int world_record_line(void *ctx, const char *line, size_t n, struct error *e);
void world_record_file(void *ctx, const char *path);
/* Behind an event: if it is one that must not be forgotten, all up to it is safe now. */
int world_record_point(struct world *w, const struct event *ev, struct error *e);
/* One named by `form` and a number. */
void world_record_numbered(struct world *w, const char *form, const struct buf *content);
void world_record_answer(struct world *w, struct buf *line); /* masks it; see run/answers.h */
int world_record_run(const struct world *w);                 /* 1-based, of those in the bundle */
/* An entry of its own; does nothing if nothing is recorded. */
int world_record_add(struct world *w, const char *name, const struct buf *content, struct error *e);
int world_record_end(struct world *w, struct error *e); /* when the models are gone */

/* ---- queue.c ---- */
void world_on_model(void *ctx, const struct model_event *ev);
void world_on_background(void *ctx, const struct model_event *ev); /* the same of the other model */
void world_on_tool(void *ctx, const char *tool_use_id, struct tool_result *res);
/* Of a replay: it comes at its place in the record, those with a lower turn first. */
void world_hold_tool(struct world *w, const char *tool_use_id, struct tool_result *res, const struct moment *at,
                     size_t turn);
/* Likewise: the line that tells of a call's start. */
void world_hold_start(struct world *w, const struct block *use, const struct moment *at, size_t turn);
bool world_let_tool_come(struct world *w, const char *tool_use_id); /* now; false: it is not held */
bool world_force_held(struct world *w); /* nothing else can come: the next of them does. False: there is none */
void world_on_hook(void *ctx, const struct hook_answer *answer);
void world_drop_hook_events(struct world *w); /* of an asking that was cancelled */
void world_on_signal(void *ctx, int signo, int sender_pid);
/* The user wants the work on this message to end, before anything else that waits is looked at. */
void world_interrupt(struct world *w);
void world_drop_interrupts(struct world *w); /* they were meant for the message before */
/* From now on the reader of stdout has as long as a patient one needs, or less if the user wants us gone. */
const int64_t *world_drain_deadline(struct world *w);
void world_queue_release(struct world *w);
void world_drop_model_events(struct world *w, bool background); /* of an attempt of that model that was cancelled */
int world_next_event(void *ctx, int64_t deadline, struct loop_event *ev, struct error *e);

/* ---- hooks.c ---- */
bool world_has_hooks(const struct world *w); /* or a verification */
int world_open_hooks(struct world *w, struct error *e);
/* Where the events go for hooks to read, unless they go to a file anyway. Without a run directory nowhere. */
void world_make_transcript(struct world *w);
/* The loop's deps; ctx is the world. */
bool world_hook_any(void *ctx, enum hook_event kind);
int world_hook_start(void *ctx, const struct hook_call *call, struct error *e);
void world_hook_cancel(void *ctx, const struct hook_call *call);

/* ---- deps.c ---- */
void world_notice(void *ctx, const char *code, const char *text);
int world_emit(void *ctx, struct event *ev, struct error *e);
/* As deps.settle: where no message follows, all children are ended and what they did to the workspace is seen to. */
int world_settle(void *ctx, bool completed, struct error *e);
/* toolbox_config.starts */
int world_tool_starts(void *ctx, const struct block *use, struct error *e);
void world_deps(struct world *w, struct loop_deps *deps);
void world_new_id(void *ctx, char out[UUID_LEN + 1]);
int64_t world_now(void *ctx); /* monotonic ms */
void world_mask(void *ctx, struct buf *text);

/* ---- key.c: take the key out of the environment or its file ---- */
int world_take_key(struct world *w, struct error *e);
void world_wipe_key(struct world *w);

/* ---- environment.c: what tools inherit ---- */
int world_child_env(struct world *w, const char *tmpdir, struct error *e);
/* What child_env does not have and an external tool names, all the same not the keys. In the arena; NULL: no memory. */
const char *const *world_named_env(struct world *w);
bool world_env_kept(const struct job *job, const char *name, size_t n);             /* does tools.env_keep name it? */
const char *world_assignment(struct world *w, const char *name, const char *value); /* in the arena; NULL: no memory */

/* ---- workspace.c ---- */
int world_workspace(struct world *w, struct error *e);
const char *const *world_writable_roots(struct world *w);
const char *const *world_own_files(struct world *w);
const char *world_absolute(struct world *w,
                           const char *path); /* of a file that may not exist yet; NULL: its directory does not */

/* ---- sandbox.c ---- */
int world_open_sandbox(struct world *w, struct error *e);  /* needs the workspace */
const char *world_command_note(struct world *w);           /* for the model; in the arena, NULL: no memory */
int world_confine(struct world *w, struct error *e);       /* this process: after this, nothing else can be set up */
int world_judge_sandbox(struct world *w, struct error *e); /* is it enough for the tools on offer? */

/* ---- lock.c ---- */
/* What the run writes for itself, and shared what it goes on from, before that is read: -1 with *e if another run, or
 * what a killed one has left, still has it after some seconds. */
int world_lock_record(struct world *w, struct error *e);
int world_locks_most(const struct world *w); /* how many descriptors that may take */
void world_unlock_record(struct world *w);

/* ---- resume.c: a run that goes on from a record ---- */
/* Reads it, if the job names one that is there; needs the models. From here on the session is its. */
int world_read_record(struct world *w, struct error *e);
/* What is to be done, now that the task is known, if the job has one: it goes on, or it repeats. The recorded task is
 * not added again. */
void world_judge_record(struct world *w);
/* The record ends with an answer that has only to be agreed to: it may be that nothing is sent. */
bool world_may_be_done(const struct world *w);
bool world_appends_to_stdout(const struct world *w);   /* which is the record that is gone on with */
const char *world_recorded_dir(const struct world *w); /* its run directory, NULL = none that could be used */
bool world_is_recorded_file(const struct world *w, const char *path); /* in there, or where the job says that it is */
/* The conversation, what tools and memory knew of it; needs the tools. */
int world_take_record(struct world *w, struct error *e);
/* Is what stands in front of the conversation another system text, or are there other tools, than the record tells? */
bool world_record_moved(const struct world *w, const struct event_audit *is);
/* Behind the first init event. */
int world_tell_resumed(struct world *w, const struct event_init *init, struct error *e);
/* Fills in what all runs came to. -1: no memory. */
int world_sum_up(struct world *w, struct event_result *res);
int world_repeat_result(struct world *w, struct error *e);
int world_check_record(struct world *w, struct buf *notes, struct error *e);

/* ---- prompt.c: what the model is told beside the task ---- */
/* Where and when the run works; a session that goes on tells what it was told at first. NULL: the job tells none. */
const char *world_environment(struct world *w);
/* The system prompt; NULL = none. */
const char *world_system_prompt(struct world *w);
/* Finds the job's memory files and attachments; needs the permissions. */
int world_find_attachments(struct world *w, struct error *e);
/* In front of the first message: reads the memory files and what is attached, also what the message mentions, into
 * the history. Needs the supervisor, and may wait for a child. Does nothing when it is called again. */
int world_tell_first(struct world *w, const struct message *first, struct error *e);
/* Opens the memory that the job asks for, before anything is told. */
int world_open_memory(struct world *w, struct error *e);
/* What stands in the conversation counts as told, and nothing else. -1: no memory. */
int world_recall_memory(struct world *w);
/* What was told, a line each, for the init event; NULL = nothing. In the arena. */
const char *const *world_told(struct world *w);
/* Behind the init event: what was cut or left out of it. */
int world_tell_notes(struct world *w, struct error *e);
/* As deps.attachment: a memory file of a directory that tools have touched. */
int world_attachment(void *ctx, struct buf *out, struct error *e);

/* ---- session.c: --input-format stream-json ---- */
/* Works on user messages until there are no more. *code: of the process, *died_by: the signal that ended it or 0.
 * -1 with *e: no message was worked on, and there is no result. */
int world_converse(struct world *w, int *code, int *died_by, struct error *e);
/* Of the loop's deps. What the second says of a message it says until that has its result. */
struct message *world_user_message(void *ctx);
void world_user_message_back(void *ctx);
bool world_more_to_come(void *ctx);
/* Between two messages: what comes late of the one before is not to stand behind its result. */
bool world_session_rests(const struct world *w);
/* In front of each event, and behind it. */
void world_session_emits(struct world *w, struct event *ev);
void world_session_emitted(struct world *w, const struct event *ev);
/* What was on stdin, of a replay; without a session none of it does anything. */
void world_session_line(struct world *w, const char *line, size_t n);
void world_session_problem(struct world *w, const char *text, bool whole);
void world_session_input_ends(struct world *w);
/* The user wants the work on this message to end. */
void world_session_interrupt(struct world *w);
/* A slow reader of stdout: no more questions are taken from the writer of stdin. */
void world_session_pause(struct world *w, bool pause);

/* ---- control.c ---- */
void world_answer_control(struct world *w, const struct json *doc);

/* ---- run.c, check.c ---- */
int run_agent(struct job *job, char **envp);
/* Everything that can be told without stdin, a key or a request. -1: the job would not run, *e says why. Notes are
 * lines that begin with '#'; there are none if -1 has another cause than a kernel that cannot enforce the sandbox. */
int run_check(struct job *job, struct buf *notes, struct error *e);

/* ---- signals.c ---- */
bool world_catches(int64_t signo); /* is it one that ends a run in order? */
int world_catch_signals(struct world *w, struct error *e);
/* Ends the process by the signal that ended the run; returns only if the signal does not kill (PID 1). */
void world_die_by(int signo);

#endif
