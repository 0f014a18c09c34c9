/* What the judges of bash commands share: permit_command.c and permit_words.c. */
#ifndef QUERN_GUARD_PERMIT_SHELL_H
#define QUERN_GUARD_PERMIT_SHELL_H

#include "guard/permission_private.h"
#include "guard/shell.h"

/* Where the commands of one call may stand. */
struct places {
	const char *start;
	char *after;   /* of the one cd in front whose target is known; owned, or NULL */
	bool lost;     /* behind a cd nobody can say where relative paths start */
	bool dotted;   /* shopt may have let wildcards fit leading dots */
	bool homeless; /* HOME may have been set: ~ is not known */
	bool set_pwd;  /* PWD may have been */
};

struct judging {
	const struct permissions *p;
	struct finding *f;
	struct places at;
	const struct shell_parse *parse;
	bool in_git;    /* wildcards are of what a repository holds, not of what is there */
	size_t looked;  /* how many paths were looked up in the file system */
	size_t entries; /* how many entries of directories were */
};

/* The words of a command as symbols with a NUL between each two; what is not known as GLOB_ANY if open. */
struct line {
	glob_sym *s;
	size_t n, cap;
	bool failed;
};
void line_add(struct line *l, glob_sym c);
void line_release(struct line *l);

/* ---- permit_words.c ---- */

/* Counts one look at the file system. False: there were too many, and *f says so. */
bool paths_look(struct judging *j, struct finding *f);
/* Its value is exactly its text, but for the home directory. */
bool word_is_known(const struct judging *j, const struct shell_word *w);
bool word_is_relative(const char *text);
/* Nothing but a name for what a process should see: no file. */
bool word_is_free_target(const char *text);
/* May what is behind a name change from process to process (/proc/self/cwd)? */
bool target_is_own(const struct target *t);
void words_forbid(struct judging *j, const struct shell_command *c, const struct shell_view *v);
void redirects_forbid(struct judging *j, const struct shell_command *c);

#endif
