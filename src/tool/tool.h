/*
 * What the model can do. A tool is one row of the table and one file. A call goes
 * prepare (loop process: input checked, permission, plan) -> child of the supervisor -> finish
 * (loop process: the child's output becomes the result). Hooks are asked on the way, and the call
 * is done when the last of them is. Every failure becomes a result with is_error, never an error of
 * the loop.
 */
#ifndef QUERN_TOOL_TOOL_H
#define QUERN_TOOL_TOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "guard/permission.h"
#include "job/job.h"
#include "message/id_set.h"
#include "message/message.h"
#include "record/run_dir.h"
#include "supervisor/supervisor.h"

struct toolbox;
struct hooks;

/* What the pointers name must live as long as the toolbox. */
struct toolbox_config {
	const char *const *names;        /* built-in tools asked for, NULL terminated */
	bool names_explicit;             /* from --tools or tools.builtin: one that cannot be offered is exit 2 */
	const struct job_tool *external; /* the job's own tools, all of them asked for */
	size_t nexternal;
	const char *workspace;       /* absolute, real path */
	const char *const *add_dirs; /* absolute, real paths, NULL terminated */
	const char *const *spelled;  /* absolute names that the user gave them: the workspace's, then each added
	                                directory's; NULL = the same paths */
	const char *const
	        *skip_files; /* absolute paths of our own output files: searches leave them out; NULL terminated */
	struct permissions *permissions; /* never NULL; learns the run directory when something is kept there */
	bool offer_all;                  /* also tools that nothing can allow: the run ends with the first denial */
	const char *no_edits;            /* why tools that edit files are withheld; NULL = they are not */
	const char *const *child_env;    /* the whole environment of tools, "NAME=value", NULL terminated */
	const char *const *named_env;    /* further variables, for external tools whose env names them; NULL = none */
	const char *command_note;        /* said to the model behind what Bash is; NULL = nothing */
	bool tells_touched;              /* toolbox_touched is asked */
	bool none_run;                   /* calls are answered from a record: their programs need not be here */
	size_t max_spill;
	struct run_dir *run_dir; /* for output that is too large; NULL = it is cut and not kept */
	struct hooks *hooks;     /* that are asked about calls; NULL = none */
	/* Masks known secrets in place before text enters history or a spill file. */
	void (*mask)(void *ctx, struct buf *text);
	/* Something that hooks did to a call, for the user; NULL = it is not told. */
	void (*notice)(void *ctx, const char *code, const char *text);
	/* A call that may have an effect outside is about to start its child. -1 with *e: it is not started, and the
	 * run is broken. NULL = nobody wants to know. */
	int (*starts)(void *ctx, const struct block *use, struct error *e);
	void *ctx; /* of all of them */
};

/* Rows that are registered with the supervisor before it is started. */
extern const struct child_call tool_child_calls[];
extern const size_t tool_child_ncalls;

/* The name of the i-th built-in tool, NULL behind the last. */
const char *toolbox_builtin(size_t i);

struct toolbox *toolbox_open(const struct toolbox_config *cfg, struct reactor *r, struct supervisor *s,
                             struct error *e);
void toolbox_free(struct toolbox *t);
/* When the supervisor has stopped and the run ends: notes in the files of background commands that they were ended with
 * it, and adds "bash_1 (make serve), ..." to ids. False if there were none. */
bool toolbox_end_background(struct toolbox *t, struct buf *ids);

/* The request's `tools` array, the same bytes all through the run; NULL if no tool is offered. */
const char *toolbox_json(const struct toolbox *t);
/* Offered names and names withheld (with why), for the init event; NULL terminated arrays owned by the toolbox. */
const char *const *toolbox_offered(const struct toolbox *t);
const char *const *toolbox_withheld(const struct toolbox *t);

/* Keeps text that is too long for the conversation in the run directory, where the model can read it. The path, valid
 * until the run directory is freed, or NULL. */
const char *toolbox_store(struct toolbox *t, const char *name, const char *text, size_t n);

/* Can the model have programs of its choice executed? */
bool toolbox_runs_programs(const struct toolbox *t);

enum tool_class { TOOL_UNKNOWN, TOOL_READ_ONLY, TOOL_UNSAFE };
enum tool_class toolbox_class(const struct toolbox *t, const char *name);

struct tool_result {
	char *text; /* what the model sees (already within limits, valid UTF-8, masked); owned */
	size_t text_len;
	char *content_json; /* instead of text: "[...]" content blocks (an image), or NULL; owned */
	char *structured;   /* tool_use_result of the event, a JSON object, or NULL; owned */
	char *state;        /* what the call changed in our memory, a JSON object for toolbox_restore, or NULL; owned */
	bool is_error;
	bool ran;                  /* a child was started for it */
	bool invalid;              /* unknown tool or unusable input: counts for malformed_tool_use_exhausted */
	bool denied;               /* permission; reason below */
	const char *denied_reason; /* "mode", "rule", "path", "safetyCheck", "command" or "hook"; static */
	bool cancels_siblings;     /* a Bash call that failed after it ran */
	char *file;                /* path in the run directory that the text names (spilled output), or NULL; owned */
	char *context;             /* what hooks say beside it, for the model behind the results; owned, or NULL */
	char *ends_run;            /* a hook said that the run ends with this call, and why; owned, or NULL */
};
void tool_result_release(struct tool_result *r);

/* Called inside reactor_wait; *res may be emptied, is released afterwards. */
typedef void (*tool_done)(void *ctx, const char *tool_use_id, struct tool_result *res);

/* Judges and starts the call, or asks hooks first. Returns 1: done comes later; 0: *now is the result at once
 * (unknown tool, bad input, denied); -1: *e (a failure of ours: out of memory, supervisor lost). */
int toolbox_start(struct toolbox *t, const struct block *use, tool_done done, void *ctx, struct tool_result *now,
                  struct error *e);
/* Ends the call's process group, or the hooks that are asked about it; done still comes (its result says it was
 * interrupted, unless the tool was done). Hooks that are told of its end have the grace. */
void toolbox_cancel(struct toolbox *t, const char *tool_use_id, int64_t grace_ms);

bool toolbox_busy(const struct toolbox *t); /* is a call not done yet, and none that runs in the background? */
/* An answer's calls may come from now on; and: that answer is withdrawn, the model has not seen what they found. */
void toolbox_answer_begins(struct toolbox *t);
void toolbox_answer_withdrawn(struct toolbox *t);
/* The call's result left the conversation (NULL: all of them did): a file of which what is known rests on it counts as
 * not seen, so that it is shown again and is not written over unseen. */
void toolbox_forget(struct toolbox *t, const char *tool_use_id);
/* What an earlier run noted: tool_result.state of each call that stood, in their order, before any call is made here.
 * What cannot be had again (a directory that is gone) is as at the beginning. newest: of a call behind whose results
 * nothing was told yet, so that toolbox_touched has its directories. -1 with *e: it is no such state, or no memory. */
int toolbox_restore(struct toolbox *t, const char *state, bool newest, struct error *e);
/* Behind all of them: the calls whose results stand in the conversation as they came, see toolbox_forget. */
void toolbox_restored(struct toolbox *t, const struct id_set *shown);
/* Does a call with that input fall under one permission rule? See permissions_meets. */
bool toolbox_meets(const struct toolbox *t, const char *rule, const char *name, const char *input);
/* Can an old result of this tool be had again, or has it said what it had to say? */
bool toolbox_may_clear(const struct toolbox *t, const char *name);
/* The i-th of the files that were read or changed, the latest first, as it is now: at most max bytes with its path,
 * lines numbered as Read shows them, cut at a line with a note. Files that are gone, may not be read or hold no text
 * are passed over. i = 0 begins anew, and it counts up from there.
 * 1 = *out is filled, 0 = there is none, -1 with *e. */
int toolbox_recent_file(struct toolbox *t, size_t i, size_t max, struct buf *out, struct error *e);
/* The first n of them stand in the conversation now, and none of those that stood there so before: a file of which all
 * was told counts as seen. */
void toolbox_files_attached(struct toolbox *t, size_t n);
/* The next directory (real path) in which a file was read or written, or that was searched, in the order of the calls,
 * whichever was done first; the same one may come again. NULL = no more up to now; what was returned before lives until
 * then. */
const char *toolbox_touched(struct toolbox *t);
/* Cuts a result's text to `allowed` bytes, or to what must be said of it if that is more: its head, its tail, how long
 * it is, and the file in the run directory that holds all of it. A file that res names already is kept. An image
 * becomes a note. -1: no memory, the result is as it was. */
int toolbox_shorten(struct toolbox *t, const char *tool_use_id, struct tool_result *res, size_t allowed);

#endif
