/* What the files of this room share: a tool's row, a running call, the read state. Not for other rooms. */
#ifndef QUERN_TOOL_INTERNAL_H
#define QUERN_TOOL_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/digest.h"
#include "base/error.h"
#include "base/json_out.h"
#include "base/json_schema.h"
#include "guard/path.h"
#include "tool/tool.h"

/* ---- parameters: one table checks the input and makes the schema ---- */

enum param_type {
	PARAM_TEXT,   /* any string, also empty, also with NUL */
	PARAM_NAME,   /* a path, pattern or command: not empty, no NUL */
	PARAM_INT,    /* an integer; a string that spells one is taken too */
	PARAM_BOOL,   /* true or false; "true" and "false" are taken too */
	PARAM_CHOICE, /* one of `choices` */
};

struct tool_param {
	const char *key; /* NULL ends the table */
	enum param_type type;
	bool required;
	int64_t min;         /* PARAM_INT */
	const char *choices; /* PARAM_CHOICE: "a|b|c" */
	const char *description;
};

#define INPUT_MAX 16

struct input_value {
	bool set;
	char *s; /* decoded string, owned */
	size_t n;
	int64_t i;
	bool b;
};

struct tool_input {
	struct input_value v[INPUT_MAX]; /* as the rows of the table */
};

/* Checks the JSON text of an input. 0, or -1 with the complaint (for the model, without wrapping) in *why. */
int input_parse(const char *tool, const struct tool_param *params, const char *json, struct tool_input *in,
                struct buf *why);
/* The same by a JSON Schema; *text gets the input, repaired where it is no valid text. */
int input_check(const char *tool, const struct json_schema *schema, const char *json, struct buf *text,
                struct buf *why);
void input_release(struct tool_input *in);
/* Writes the JSON Schema of the table. */
void input_schema(const struct tool_param *params, struct json_out *o);

/* ---- the table ---- */

struct call;

struct tool_row {
	const char *name;
	const char *description;
	const char *program; /* looked up in the tools' PATH; without it the tool is withheld; NULL = none */
	const struct tool_param *params;
	const char *schema;              /* JSON Schema of the input, in place of params; NULL = params */
	const struct json_schema *check; /* what toolbox_open made of schema */
	const struct job_tool *external; /* NULL = built in */
	const char *const *envp;         /* external: its environment; NULL = as Bash */
	bool read_only;                  /* changes nothing outside, so it needs no permission */
	bool serial;                     /* read-only, and still never beside another call */
	const struct tool_row *with;     /* offered when that one is, never named by the user; NULL = on its own */
	enum permission_subject subject; /* what rules are asked about */
	size_t subject_at;               /* the row of params that holds it */
	size_t max_result_chars;         /* 0 = limits itself */
	/* Fills c->spec. 1: start it, 0: *now is the result (also of a tool that needs no child), -1: *e. */
	int (*plan)(struct call *c, struct tool_result *now, struct error *e);
	void (*finish)(struct call *c, struct child_result *res, struct tool_result *out);
};

extern const struct tool_row *const tool_table[]; /* NULL terminated */
extern const struct tool_row tool_read, tool_write, tool_edit, tool_glob, tool_grep, tool_bash, tool_todo,
        tool_task_stop;
const struct tool_row *tool_find(const char *name); /* of the table alone */

/* ---- permission ---- */

/* Judges a call whose input is checked. True: it may go on, c->allowed and c->outside are set; else *now is the denial,
 * and c->may_ask says whether somebody could have lifted it. */
bool call_permitted(struct call *c, const char *input, struct tool_result *now);
/* Opens what was judged, beneath the roots, or outside of them if a rule named it. As path_open; a path that leads
 * elsewhere than when it was judged is PATH_DENIED. */
int call_open(struct call *c, const char *path, int flags, enum path_verdict *why, struct error *e);

/* ---- what was read: a record a file, by its real path ---- */

/* What a Read asks for. Another spelling of the path is another view: the model is not to guess that it is one file. */
struct view {
	const char *path;
	uint64_t first, limit;
	bool limit_given;
};

struct read_record {
	char *key;
	unsigned char sha[DIGEST_BYTES]; /* of the content at the last Read, Write or Edit */
	uint64_t size;
	int64_t mtime_ns;
	uint64_t seen_to; /* lines from the first on that were shown */
	uint64_t lines;   /* lines it has */
	bool whole;       /* all of it was shown, or the model wrote it */
	unsigned answer;  /* whose call noted it last */
	struct view view; /* what the last Read showed, of this very content; the path is owned */
	char *shown_by;   /* id of that Read, whose result stands in the conversation; NULL = none */
	char **basis;     /* ids of the calls that what is known rests on; owned */
	size_t nbasis;
	uint64_t touched; /* the number of the last call that read or changed it */
	uint64_t noted;   /* counts up with each change of a record */
	bool changed;     /* since it was told by a result */
};

#define RECENT_MAX 8

struct read_state {
	struct read_record *v;
	size_t n, cap;
	bool changed;     /* one of them is */
	unsigned answer;  /* a number for the answer whose calls run now */
	uint64_t touches; /* calls so far: `touched` of a record is the number of one */
	uint64_t notes;   /* `noted` of the record that was changed last */
	uint64_t recent;  /* of the file that toolbox_recent_file showed last */
	struct read_record
	        told[RECENT_MAX]; /* what that showed of each since i = 0; key NULL, touched names the record */
	size_t ntold;
};

const struct read_record *read_state_find(const struct read_state *s, const char *key);
/* Takes over what the call `id` reported (read.c, write.c, edit.c by file.h); id NULL: it showed nothing new.
 * first_line 0: it changed the file. -1: no memory, and the file counts as not seen. */
int read_state_note(struct read_state *s, const struct read_record *now, uint64_t first_line, const char *id);
/* What this answer's calls noted was never shown: those files count as not read. */
void read_state_withdraw(struct read_state *s);
/* A result with that view of the noted file is about to enter the conversation; id NULL: the file changed, none is. */
void read_state_show(struct read_state *s, const char *key, struct view v, const char *id);
/* Would a Read of that view show again, if the content is the same, what stands in the conversation? */
bool read_state_shown(const struct read_record *r, struct view v);
/* That result is no longer in the conversation: a file of which what is known rests on it was never seen. NULL: none
 * is. */
void read_state_forget(struct read_state *s, const char *id);
/* The same for all that rests on others than these, or on what was told otherwise than by a call. */
void read_state_forget_unshown(struct read_state *s, const struct id_set *shown);
void read_state_tell_again(struct read_state *s, const char *key); /* in the next state, though it has not changed */
/* All of the file was told again, as it is now, otherwise than by a call; `id` is forgotten as a call's is. What a Read
 * showed before does not stand in the conversation any more. */
void read_state_retold(struct read_state *s, struct read_record *r, const struct read_record *now, const char *id);
/* A record made elsewhere takes the place of what is known of that file; its strings are taken over. -1: no memory. */
int read_state_restore(struct read_state *s, struct read_record *r);
int read_record_rests(struct read_record *r, const char *id); /* one more of its basis; -1: no memory */
void read_record_release(struct read_record *r);
void read_state_release(struct read_state *s);

/* ---- state.c ---- */
/* What has changed since the last result goes with this one. */
void state_tell(struct toolbox *t, struct tool_result *out);
void state_retell(struct toolbox *t, struct tool_result *res); /* the same of all that it tells, as it is now */

/* ---- toolbox and call ---- */

/* A row that this run needed work for: a schema to compile, an environment to choose. */
struct made_row {
	struct tool_row row;
	struct json_schema *schema;
	const char **envp; /* strings not owned */
	struct made_row *next;
};

struct touched_dir {
	char *path;      /* real; owned */
	uint64_t number; /* of the call */
	bool told;       /* by a result's state */
};

struct touched {
	struct touched_dir *v; /* in the order of calls, whichever is done first */
	size_t n, cap;
	size_t next; /* that is told next */
};

struct toolbox {
	struct toolbox_config cfg;
	struct reactor *reactor;
	struct supervisor *supervisor;
	struct roots *roots;
	const char *run_dir;             /* once something was spilled; a read-only root from then on */
	const struct tool_row **rows;    /* what there is in this run: the table's and the job's own; NULL terminated */
	struct made_row *made;           /* those of them that are not the table's as they stand */
	char *todos;                     /* the list as the model wrote it last, a JSON array; NULL = none yet */
	bool todos_changed, cwd_changed; /* since a result told them */
	struct read_state state;
	struct touched touched;
	char *json;
	char **offered, **withheld;
	const char **bash_env; /* child_env and the defaults for programs that would ask; strings not owned */
	struct call *calls;
	bool steers;                   /* hooks are asked about calls */
	char bash_cwd[4096];           /* real path of where the next Bash call begins; never empty */
	int bash_cwd_fd;               /* the same, -1 = the workspace */
	struct background *background; /* newest first, also those that have ended */
	int background_last;           /* number of the newest */
};

struct call {
	struct toolbox *t;
	const struct tool_row *row;
	struct block *use; /* a reference */
	char *id;
	uint64_t number; /* in the order in which calls start, whichever is done first */
	struct tool_input in;
	struct buf input; /* of a tool with a schema of its own: the input's text */
	struct spawn spec;
	struct buf frame; /* input of a child call */
	char **argv;      /* owned strings, NULL terminated */
	size_t argc;
	char *allowed; /* the real path that was judged, owned; NULL: any beneath the roots */
	enum permission_lift lift;
	bool may_ask;      /* it was not allowed, and lift could be such that it is */
	bool outside;      /* it lies outside the roots, and a rule named it for reading */
	int cwd_fd;        /* owned, -1 = none */
	char base[4096];   /* the real path of cwd_fd */
	char *only_name;   /* Grep of a single file: its name in base */
	struct view view;  /* Read */
	char *spill_path;  /* where the output goes when it is large */
	size_t spill_room; /* bytes that the file may hold */
	int child;
	struct steer *steer;           /* NULL: no hook is asked about it */
	struct background *background; /* NULL = its child is waited for */
	struct reactor_timer timer;    /* answers a call whose child is not */
	tool_done done;
	void *ctx;
	struct call *next;
};

/* rows.c: the rows of this run, and lists of names with room for each of them. -1 with *e: exit 2. */
int rows_make(struct toolbox *t, struct error *e);
void rows_release(struct toolbox *t);
/* The row of one of the job's own tools. */
struct tool_row external_row(const struct job_tool *tool);
/* The environment of one that names its variables; strings are those of the configuration. NULL: no memory. */
const char **external_env(const struct toolbox_config *cfg, const struct job_tool *tool);
/* The tools of this run by name, NULL if there is none. */
const struct tool_row *toolbox_row(const struct toolbox *t, const char *name);
/* Fills offered, withheld, json and bash_env from the configuration. -1 with *e: exit 2. */
int offer_tools(struct toolbox *t, struct error *e);
bool tool_asked_for(const struct toolbox *t, const struct tool_row *row);

/* ---- the shell's directory ---- */

void shell_cwd_init(struct toolbox *t);
void shell_cwd_restore(struct toolbox *t, const char *path); /* a directory that is gone is not gone to */
void shell_cwd_release(struct toolbox *t);
/* The directory to start a shell in, the toolbox's descriptor. -1: it is not where it was, *now says so. */
int shell_cwd_open(struct toolbox *t, struct tool_result *now);
/* Takes over where a shell ended (*fd is -1 then if it was kept; -1 before = not known, nothing changes).
 * False: that is outside the working dirs or gone, the next shell begins in the workspace. */
bool shell_cwd_take(struct toolbox *t, int *fd);

/* ---- where calls have worked ---- */

/* A call has found something at the real path. Without memory it is forgotten: nothing depends on it. */
void touched_note(const struct call *c, const char *path, bool is_dir);
void touched_release(struct toolbox *t);
bool touched_is_new(const struct toolbox *t);
void touched_tell(struct toolbox *t, struct json_out *o); /* as a member, what is new */
/* Is there, once, and told or not. -1: no memory. */
int touched_restore(struct toolbox *t, const char *path, bool told);

/* ---- background commands ---- */

/* Changes the spec of a Bash call that is to run in the background. 1, 0 with *now, or -1, as plan does. */
int background_plan(struct call *c, const char *command, int64_t timeout_ms, struct tool_result *now, struct error *e);
/* Instead of supervisor_spawn: the child's id, and the call is answered a moment later. -1 with *e. */
int background_start(struct call *c, struct error *e);
/* Adds a line for each that has ended since the model heard of it last. */
void background_tell(struct toolbox *t, struct tool_result *out);
void background_release(struct toolbox *t);

/* ---- a call's steps ---- */

/* Takes an input in place of what the call had. False: it cannot be used, *why is the complaint. */
bool call_take_input(struct call *c, const char *json, struct buf *why);
/* Can the tool be used here? Else *now says why not. */
bool call_is_there(struct call *c, struct tool_result *now);
/* Plans what may run, and starts its child. As toolbox_start. */
int call_launch(struct call *c, struct tool_result *now, struct error *e);
/* Gives the result to who waits for it; the call is gone then, unless hooks have a word first. */
void call_answer(struct call *c, struct tool_result *out);

/* ---- steer.c: a call in a run with hooks ---- */

bool steer_needed(const struct toolbox *t); /* is there a hook that calls are the business of? */
/* A call whose input is checked, from there on. As toolbox_start. */
int steer_start(struct call *c, const char *input, struct tool_result *now, struct error *e);
/* The call has its result. True: hooks are asked about it first, *out is taken and call_answer comes again. False:
 * nobody is; what hooks said before stands in *out. */
bool steer_holds(struct call *c, struct tool_result *out);
void steer_cancel(struct call *c, int64_t grace_ms);
void steer_release(struct call *c);
/* ---- steer_output.c ---- */
/* Puts the JSON value of a hook in the place of what the tool gave. False: it does not fit, *out is as it was. */
bool steer_new_output(struct call *c, struct tool_result *out, const char *json);

/* printf into the argument vector. -1: no memory. */
int call_arg(struct call *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Opens the directory `path` (NULL = workspace) as the call's cwd. 0; -1 with *now filled. A regular file is taken too
 * if file_too: then cwd is its directory and only_name its name. */
int call_chdir(struct call *c, const char *path, bool file_too, struct tool_result *now);

/* ---- results ---- */

/* The one way text becomes a result: valid UTF-8, no NUL, masked. Takes any bytes. */
void result_text(struct toolbox *t, struct tool_result *out, const char *text, size_t n, bool is_error);
void result_textf(struct toolbox *t, struct tool_result *out, bool is_error, const char *fmt, ...)
        __attribute__((format(printf, 4, 5)));
/* An error the model made: wrapped in <tool_use_error>. */
void result_use_error(struct toolbox *t, struct tool_result *out, const char *fmt, ...)
        __attribute__((format(printf, 3, 4)));
/* The words for a path that cannot be used; true if that is a denial. */
bool path_complaint(struct buf *out, enum path_verdict why, const char *path, const char *workspace,
                    const struct error *e);
/* A path that could not be used: missing, outside, protected, or another reason (in *e). */
void result_path(struct toolbox *t, struct tool_result *out, enum path_verdict why, const char *path,
                 const struct error *e);
/* prefix + the child's output, at most `limit` bytes; more is stored whole in the run directory and shown as
 * head and tail with the full size and the path. */
void result_output(struct call *c, struct tool_result *out, const char *prefix, const struct output *o, size_t limit,
                   bool is_error);
/* What fits into `limit` bytes of the output, head and tail, cleaned and masked; nothing is stored. */
void result_excerpt(struct toolbox *t, struct buf *out, const struct output *o, size_t limit);
/* As result_output for text that is all there. */
void result_within(struct call *c, struct tool_result *out, const char *text, size_t n, size_t limit, bool is_error);
/* A last line of the program's own behind what the result has. */
void result_append_line(struct toolbox *t, struct tool_result *out, const char *fmt, ...)
        __attribute__((format(printf, 3, 4)));
/* What fits into `shown` bytes of the text, head and tail, and a line between them that says how much is left out. */
void result_cut(struct buf *out, const char *text, size_t n, size_t shown);
/* What a result that is stored whole says before its first and last part. */
void result_persisted(struct buf *b, const char *path, bool whole, uint64_t total);
/* The path, of *n bytes, that such a text names; NULL: it is none, or names none. */
const char *result_persisted_path(const char *text, size_t *n);
extern const char result_persisted_parts[], result_persisted_end[];
/* Takes a JSON object (masked) as the structured result. */
void result_structured(struct toolbox *t, struct tool_result *out, struct buf *json);
/* Creates a file in the run directory; its descriptor, and the path (the caller's to free). -1 with *e. */
int result_open_file(struct toolbox *t, const char *name, char **path, struct error *e);
/* Masks known secrets in a file of the run directory. */
void result_mask_file(struct toolbox *t, const char *path);
/* spawn.spill_open of a call. */
int result_spill_open(void *call);
size_t result_spill_room(struct toolbox *t);
/* Start failure, timeout without output, signal: fills *out and returns true if the child gave no usable answer. */
bool result_child_failed(struct call *c, const struct child_result *res, struct tool_result *out);

#endif
