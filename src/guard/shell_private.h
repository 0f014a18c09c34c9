/*
 * What the files of the shell parser share; no other room includes this.
 *
 * The parser reads characters, not tokens: what a character means depends on where it stands. shell_parse.c has the
 * grammar of lists and compound commands, shell_simple.c simple commands, shell_redirect.c redirections and
 * here-documents, shell_word.c words and quotes, shell_expand.c what begins with $ or `, shell_nest.c the texts that
 * commands like eval run. A function that returns false has set the failure (or nomem), and all return at once.
 */
#ifndef QUERN_GUARD_SHELL_PRIVATE_H
#define QUERN_GUARD_SHELL_PRIVATE_H

#include "base/buf.h"
#include "guard/shell.h"

#define SHELL_DEPTH_MAX   200                        /* of lists, commands and expansions in each other */
#define SHELL_VIEWS_MAX   40                         /* of one command: each looks at all of its words */
#define SHELL_PENDING_MAX 16                         /* here-documents announced on one line */
#define SHELL_NESTED_MAX  (8 * SHELL_COMMAND_MAX)    /* bytes of all texts that commands run */
#define SHELL_WORDS_MAX   ((size_t)SHELL_NESTED_MAX) /* bytes of the words under construction */

struct shell_words {
	struct shell_word *v;
	size_t n, cap;
};

/* A here-document whose body begins behind the next newline. */
struct shell_here {
	const char *end;
	bool quoted, tabs;
	const struct shell_redirects *owner; /* whose index-th redirection it is, while that list grows */
	size_t index;
	struct shell_word *body; /* filled when it is read */
};

struct shell_in {
	struct shell_parse *p;
	const char *s; /* the text that is read: the command, or a text inside it */
	size_t n, i;
	size_t cap; /* of p->command */
	int depth;
	size_t budget;   /* bytes that texts inside may still have */
	struct buf text; /* words under construction, the inner ones behind the outer */
	struct shell_here *here[SHELL_PENDING_MAX];
	size_t nhere, here_base; /* those below the base belong to an outer command */
	bool waiting;            /* an outer command's here-document waits for its newline */
	bool nested, piped, after_cd;
	const char *cd; /* as in a command */
	int cases;      /* case commands around the place */
	bool dollar;    /* a quoted $ or ` was seen: a variable may hold a substitution */
};

/* ---- shell.c ---- */

/* Always false. The first failure stays. */
bool shell_fail(struct shell_in *h, const char *why);
bool shell_nomem(struct shell_in *h);
bool shell_enter(struct shell_in *h); /* false: too deep. Each is followed by h->depth-- */
bool shell_failed(const struct shell_in *h);
void *shell_alloc(struct shell_in *h, size_t n);
/* The character at the place, -1 at the end; steps over backslash-newlines first. shell_ahead: the one behind it. */
int shell_cur(struct shell_in *h);
int shell_ahead(struct shell_in *h);
bool shell_is_blank(int c);
bool shell_is_name(int c, bool first);
bool shell_ends_word(int c); /* a metacharacter, or the end */
void shell_blanks(struct shell_in *h);
/* Blanks, newlines and comments, where a newline ends nothing. */
bool shell_newlines(struct shell_in *h);
struct shell_word *shell_words_add(struct shell_in *h, struct shell_words *w);
bool shell_add(struct shell_in *h, const struct shell_command *c);
/* A command that is there for what it hides: "((", "function" NAME. */
bool shell_add_named(struct shell_in *h, const char *name, const char *operand);
/* What sets a variable without being an assignment: listed as one of an unknown value. */
bool shell_add_assign(struct shell_in *h, const char *name, size_t n);
/* Reads the whole of another text with f. */
bool shell_inside(struct shell_in *h, const char *text, size_t n, bool (*f)(struct shell_in *h));

/* ---- shell_parse.c ---- */

bool shell_list(struct shell_in *h);     /* up to what no command begins with */
bool shell_list_all(struct shell_in *h); /* up to the end of the text */
bool shell_command_any(struct shell_in *h);
bool shell_function_body(struct shell_in *h);

/* ---- shell_simple.c ---- */

bool shell_simple(struct shell_in *h);

/* ---- shell_redirect.c ---- */

struct shell_redirects {
	struct shell_redirect *v;
	size_t n, cap;
};
/* Reads a redirection if one begins here. *found says whether. */
bool shell_redirect(struct shell_in *h, struct shell_redirects *r, bool *found);
void shell_redirects_done(struct shell_in *h, struct shell_redirects *r); /* the list grows no more */
bool shell_here_bodies(struct shell_in *h);                               /* at the place behind a newline */

/* ---- shell_word.c ---- */

enum shell_word_mode { WORD_PLAIN, WORD_ASSIGN, WORD_CONDITION, WORD_REGEX };
bool shell_word(struct shell_in *h, enum shell_word_mode mode, struct shell_word *out);
/* What is known of the word that is being read. */
struct shell_state {
	bool glob, tilde, expands, splits, quoted;
	bool bracket, listed; /* an open [; a comma or .. inside braces */
	int braces;
	int last; /* the character before, -1 if it was quoted, 0 at the start */
};
bool shell_put(struct shell_in *h, const char *s, size_t n);
/* The source from a place on, as it stands in the word's text: without its backslash-newlines. */
bool shell_put_source(struct shell_in *h, size_t from);
/* Something quoted: nothing in it is special, but a variable that gets it may be evaluated again. */
bool shell_put_quoted(struct shell_in *h, struct shell_state *w, char c);
/* True, and a failure: a newline that is no token, where here-documents wait for the next one that is. */
bool shell_stray_newline(struct shell_in *h, int c);
/* The rest of a double-quoted string, the quote included. */
bool shell_double(struct shell_in *h, struct shell_state *w);
bool shell_single(struct shell_in *h, struct shell_state *w);
/* A ( of a pattern or a regular expression, to its ). */
bool shell_pattern_group(struct shell_in *h, struct shell_state *w);

/* ---- shell_expand.c ----
 * All add to the word what stands for the expansion: its source, or what $'..' means. */

bool shell_dollar(struct shell_in *h, struct shell_state *w, bool in_double);
bool shell_backtick(struct shell_in *h, struct shell_state *w, bool in_double);
bool shell_process(struct shell_in *h, struct shell_state *w); /* <( or >( */
/* An arithmetic expression behind its opening, to `))`. loop: has the semicolons of for. */
bool shell_arithmetic(struct shell_in *h, bool loop);
/* Behind [, to ]. */
bool shell_subscript(struct shell_in *h);
/* The text of an unquoted here-document, read for what it runs. */
bool shell_here_text(struct shell_in *h);

/* ---- shell_ansi.c ---- */

bool shell_ansi(struct shell_in *h, struct shell_state *w); /* behind $' */

/* ---- shell_nest.c ---- */

/* Parses the texts that the commands run (eval, sh -c, ...), as far as they are literal, and theirs. */
bool shell_nested_texts(struct shell_in *h);
/* Fills c->plain. */
bool shell_git_plain(struct shell_in *h, struct shell_command *c);

/* ---- shell_texts.c ---- */

/* The texts that a command hands to programs which run them, one after the other. */
struct shell_texts {
	const char *text; /* NULL: it is not known, or rest says which words are the text */
	size_t rest;      /* the words from here on, or 0 */
	bool opaque;      /* it runs what cannot be told from its words; complete when all texts are found */
	/* the rest is its own business */
	bool found, sets, git, config;
	unsigned running, rest_runs; /* which rows of its tables are of this command */
	size_t at;
	const struct shell_command *command;
	const struct shell_view *view;
};
void shell_texts_init(struct shell_texts *t, const struct shell_command *c, const struct shell_view *v);
/* Does bash evaluate a variable's value again for it, as arithmetic or as a name with a subscript? */
bool shell_evaluates(const struct shell_command *c);
bool shell_texts_next(struct shell_texts *t); /* false: there is no further one */

/* ---- shell_wrap.c ---- */

enum shell_runs { RUNS_NOTHING, RUNS_WORDS, RUNS_INPUT, RUNS_UNKNOWN };
/* Does the command run words as a text (`sh -c TEXT`, eval WORD...: *count words from *first), or its standard input?
 */
enum shell_runs shell_runs(const struct shell_view *v, size_t *first, size_t *count);
/* How many words from the first option on are options, by tables as getopt has them; -1: not understood. */
long shell_skip_options(const struct shell_word *w, size_t n, const char *shorts, const char *longs);

#endif
