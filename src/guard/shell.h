/*
 * What a bash command would run, as far as its text tells: a real parse into simple commands, never a match on the
 * text. Whoever judges a command fails closed: what cannot be parsed, or whose command word is not literal, is not
 * allowed. Pure: no file is read, nothing is expanded.
 */
#ifndef QUERN_GUARD_SHELL_H
#define QUERN_GUARD_SHELL_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"

#define SHELL_COMMAND_MAX 10000 /* characters; a longer one is not parsed */

struct shell_word {
	const char *text; /* after quote removal; where it is not literal, the source text of what is expanded stays in
	                     it */
	bool literal;     /* no expansion of any kind: the shell passes exactly text */
	bool glob;        /* holds an unquoted * ? [ or a brace expansion */
	bool tilde;       /* begins with an unquoted ~ */
	bool expands;     /* holds $x, ${x}, $( ), ` `, $(( )), <( ): its value is not known */
	bool pipe;        /* one <( ) and nothing else: what it names is no file of anybody's */
	bool splits;      /* an expansion stands outside quotes: it may become several words, or none */
};

enum shell_redirect_kind {
	REDIRECT_READ,  /* < */
	REDIRECT_WRITE, /* >, >|, >>, &>, &>>, <> */
	REDIRECT_DUP,   /* >&2, <&-, 2>&1: no file */
	REDIRECT_TEXT   /* here-document, here-string: no file */
};

struct shell_redirect {
	enum shell_redirect_kind kind;
	int fd; /* -1 = both streams */
	struct shell_word target;
};

/* What has no name of its own but may run hidden commands or change what names mean is listed under one: "((" an
 * arithmetic over variables (their values are evaluated again), an indirect expansion; "[[" a condition with its words;
 * "function" NAME. A loop's variable is an assignment ("x="). A redirection of a compound command is a
 * command without words.
 *
 * One simple command: wherever it stands, in a list, a pipe, a loop body, a function, a substitution, a subshell, and
 * also the text given to `sh -c`, `eval` and the like where that is literal. */
struct shell_command {
	struct shell_word *assign; /* NAME=value in front, whole words */
	size_t nassign;
	struct shell_word *word; /* word[0] is the command; none: assignments or redirections alone */
	size_t nwords;
	struct shell_word *plain; /* shell_view_next's: `git -C path log` as `git log`; else none */
	size_t nplain;
	bool plain_safe; /* only options that change nothing were left out (for allow) */
	struct shell_redirect *redirect;
	size_t nredirects;
	bool nested;    /* stands inside a substitution or in a text that another command runs */
	bool piped;     /* takes its input from a pipe */
	bool after_cd;  /* a cd, pushd or popd may have run before it: relative paths are not known from the start
	                   directory */
	const char *cd; /* where that cd led, if it was one and its text is known ("~" is the home directory); else
	                   NULL. It may have failed. */
};

struct shell_parse {
	struct arena arena; /* holds everything */
	struct shell_command *command;
	size_t n;
	const char
	        *failure; /* NULL, or why it could not be parsed ("unterminated quote"); then no command is trusted */
	bool nomem;
};

/* Parses a command of n bytes. Never fails otherwise than by p->failure or p->nomem. */
void shell_parse(struct shell_parse *p, const char *text, size_t n);
void shell_parse_release(struct shell_parse *p);

/* ---- shell_wrap.c: what stands in front of the command that counts ---- */

enum shell_for { SHELL_FOR_ALLOW, SHELL_FOR_DENY };

struct shell_view {
	const struct shell_word *word; /* the command that counts, from its name on */
	size_t nwords;                 /* 0: assignments or redirections alone */
	bool exact_only; /* stands behind watch, setsid, find -exec and the like: only an exact rule may allow it */
	bool opaque;     /* no judgement is possible: the command word is not literal, a wrapper's options are not
	                    understood, an assignment is not known to be safe (for allow) */
	bool more;       /* behind xargs: arguments follow that the text does not show */
	bool shortened;  /* options were left out: for rules alone, never read-only and never an edit */
};

/* The next view of a command, at least one: the command as written, then what is left after each wrapper (timeout,
 * nice, nohup, env, sudo, ...: for deny more are looked through than for allow). *at starts at 0. False: there is no
 * further one. */
bool shell_view_next(const struct shell_command *c, enum shell_for purpose, size_t *at, struct shell_view *view);
/* "rm" of "/bin/rm": deny looks at both. */
const char *shell_base_name(const char *command);

/* ---- shell_facts.c: what is known about commands ---- */

/* Does the command only read, by the built-in table of commands and their options? Redirections, assignments and path
 * arguments are the caller's to judge. */
bool shell_reads_only(const struct shell_view *v);
/* May acceptEdits run it on paths in scope (mkdir, touch, rm, rmdir, mv, cp, sed)? */
bool shell_edits_files(const struct shell_view *v);

/* What a word is for a command: shell_args.h. */
enum shell_arg {
	ARG_END,
	ARG_OPTION,
	ARG_VALUE, /* an option's value in a word of its own, no file */
	ARG_FILE,  /* likewise, a file to read */
	ARG_OPERAND,
	ARG_UNKNOWN, /* an option that is not in the table, or a word that may be one */
	ARG_HIDDEN   /* a harmless option with a file's name attached */
};

struct shell_args {
	const struct shell_view *v;
	const struct shell_fact *fact;
	size_t i; /* the word that comes next */
	enum shell_arg due;
	bool ended; /* by -- */
};

/* ---- shell_paths.c ---- */

enum shell_path_use { PATH_USE_READ, PATH_USE_WRITE };

/* The words that name files for the commands whose arguments are known (cat, head, sed, cp, rm, ...), one after the
 * other. The view must live as long. */
struct shell_paths {
	bool known; /* else the command is not in the table, or its options are not understood: any word may be a path
	             */
	/* the rest is its own business */
	const struct shell_view *view;
	const struct shell_fact *fact;
	struct shell_args args;
	size_t first, last; /* the words behind the first and the last operand */
	bool plain, given, writes;
};
void shell_paths_init(struct shell_paths *p, const struct shell_view *v);
/* False: there is no further one. */
bool shell_paths_next(struct shell_paths *p, const struct shell_word **word, enum shell_path_use *use);

/* Does it remove what no rule may let go: rm or rmdir aimed at /, a child of /, the home directory, cwd, one of dirs,
 * or a parent of those, a glob right under one, or "$VAR"/... ? Also where the target is not known. dirs: absolute,
 * NULL terminated; home may be NULL. */
bool shell_is_critical(const struct shell_command *c, const char *cwd, const char *const *dirs, const char *home);

#endif
