/*
 * What a call may do: rules of allow, ask and deny, and the mode. Deny stands above ask above allow, in every mode;
 * order and specificity do not matter. With nobody to ask, "ask" is the caller's to refuse.
 */
#ifndef QUERN_GUARD_PERMISSION_H
#define QUERN_GUARD_PERMISSION_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/error.h"

enum permission_mode { MODE_DEFAULT, MODE_ACCEPT_EDITS, MODE_PLAN, MODE_DONT_ASK, MODE_BYPASS };

/* The strings must live as long as the permissions. Lists are NULL terminated, or NULL. */
struct permission_config {
	enum permission_mode mode;
	const char *const *allow, *const *ask, *const *deny; /* rules as written */
	const char *workspace;        /* real path: first working directory, anchor of relative patterns */
	const char *const *add_dirs;  /* further working directories, real paths */
	const char *const *spelled;   /* the user's names of the workspace and each added directory; NULL = the same */
	const char *const *read_dirs; /* readable without asking, nothing more (the run directory) */
	const char *home;             /* "~"; NULL: not known */
	const char *const *tools;     /* names of all tools there are: another name in a rule is warned of */
};

struct permissions;
/* Understands every rule. -1/NULL with *e names the first rule that is malformed, and how it should read. */
struct permissions *permissions_open(const struct permission_config *cfg, struct error *e);
void permissions_free(struct permissions *p);
/* Rules that do nothing, or not what they seem to: one line each, NULL terminated, owned by p. */
const char *const *permissions_warnings(const struct permissions *p);
/* One line a rule, how it was understood ("deny Bash(rm *): the command rm with any arguments, ..."). */
void permissions_describe(const struct permissions *p, struct buf *out);
int permissions_add_read_dir(struct permissions *p, const char *dir); /* made later; a copy is kept; -1: no memory */

enum permission_subject {
	SUBJECT_NONE,   /* the tool as a whole */
	SUBJECT_READ,   /* text is a path that is read, or a directory that is searched */
	SUBJECT_EDIT,   /* text is a path that is written */
	SUBJECT_COMMAND /* text is a bash command */
};

/* Somebody who may has said yes to the call in place of the person who would be asked. Nothing lifts what is denied,
 * nor mode plan for what changes something. */
enum permission_lift {
	LIFT_NOTHING,
	LIFT_QUESTION, /* before anybody asked: want of a rule, and where the path lies. Ask rules, protected places and
	                  commands that cannot be judged are still to be asked about */
	LIFT_ALL       /* in answer to the question that PERMIT_ASK is */
};

struct permission_call {
	const char *tool;
	bool read_only; /* the tool changes nothing */
	enum permission_subject subject;
	const char *text;  /* NULL: a search of the workspace as a whole */
	const char *cwd;   /* where a command starts; relative paths are resolved from the workspace, or from here for a
	                      command. NULL = workspace */
	const char *input; /* the call's JSON object, for rules on parameters */
	enum permission_lift lift;
};

enum permit { PERMIT_ALLOW, PERMIT_ASK, PERMIT_DENY };

struct permission_verdict {
	enum permit permit;
	const char *reason_type; /* static: "rule", "mode", "path", "safetyCheck", "command" */
	bool explicit_allow;     /* an allow rule named it, or it was lifted: a path outside the working directories may
	                            be read */
	bool may_ask;            /* not allowed, and LIFT_ALL would change that */
	char *path; /* of an allowed path, if there are rules on paths or it was lifted: what it led to when it was
	               judged, without links. What is opened must be that. Owned, or NULL */
	char *why;  /* one line for people and the model; owned, may be NULL without memory */
};
void permission_verdict_release(struct permission_verdict *v);

/* Judges one call. Fails closed: without memory the verdict is PERMIT_DENY. */
void permissions_judge(const struct permissions *p, const struct permission_call *call, struct permission_verdict *v);

/* Must a search leave the file out, because a rule forbids to read it, or asks first? path: absolute, without links. */
bool permissions_hide(const struct permissions *p, const char *path);
/* The i-th rule for which that may be true, as a glob of ripgrep for a search from dir on; "" if it has no such form:
 * the globs save a search from finding what is left out afterwards. False: there are no more rules. */
bool permissions_hide_glob(const struct permissions *p, size_t i, const char *dir, struct buf *out);
/* Is there any rule for which permissions_hide may be true? */
bool permissions_hide_any(const struct permissions *p);

/* Before any call, for the list of tools that the model is shown. */
enum permission_standing {
	STANDING_POSSIBLE, /* some call could be allowed */
	STANDING_NEVER,    /* neither mode nor rule could allow one */
	STANDING_REMOVED   /* a deny rule names the whole tool */
};
enum permission_standing permissions_standing(const struct permissions *p, const char *tool, bool read_only,
                                              enum permission_subject subject);

/* Of a tool that stands at NEVER: could a call of it be allowed if somebody lifted it? */
bool permissions_may_lift(const struct permissions *p, const char *tool, bool read_only, enum permission_lift lift);

/* Does the call fall under the rule? A filter that decides who is told of the call: the rule reads as one of allow, but
 * one of several commands is enough, and a command that cannot be judged falls under every rule on commands, as
 * everything does under one that is malformed. call->text: "" or NULL = the workspace. */
bool permissions_meets(const struct permissions *p, const char *rule, const struct permission_call *call);

enum permission_mode permissions_mode(const struct permissions *p);
const char *permission_mode_name(enum permission_mode mode);
/* "manual" is another name of "default". False: there is no such mode. */
bool permission_mode_find(const char *name, enum permission_mode *mode);

#endif
