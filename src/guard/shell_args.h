/*
 * The built-in table of commands: their options, and which of their words name files. Shared by the files that judge
 * by it; no other room includes this.
 */
#ifndef QUERN_GUARD_SHELL_ARGS_H
#define QUERN_GUARD_SHELL_ARGS_H

#include <stdbool.h>
#include <stdint.h>

#include "guard/shell.h"

enum shell_operands {
	OPERANDS_OTHER,   /* no files (a word that is a pattern still shows names) */
	OPERANDS_READ,    /* all are read */
	OPERANDS_PATTERN, /* the first is a pattern or script, if no option gives one; the others are read */
	OPERANDS_WRITE,   /* all are written, or removed */
	OPERANDS_COPY     /* the last is written */
};

struct shell_fact {
	const char *name;
	bool edits; /* writes files and nothing else; else it only reads */
	enum shell_operands operands : 8;
	bool strict; /* it has options that write, or run something: every word must be known not to be one */
	int8_t most; /* operands; 0: any number */
	/* The options that are harmless: as getopt has them, with @ in place of : where the value is a file to read,
	 * and ? where a value may be attached. NULL: it has only harmless ones, and none names a file. */
	const char *shorts;
	const char *longs; /* likewise, each with = @ or nothing, and a space behind */
};

const struct shell_fact *shell_fact(const char *name);

enum shell_arg shell_args_next(struct shell_args *a, const struct shell_word **word);

/* ---- shell_git.c, shell_find.c, shell_test.c, shell_sed.c: commands whose words have a grammar ---- */

bool shell_git_reads(const struct shell_view *v);
bool shell_find_reads(const struct shell_view *v);
size_t shell_find_start(const struct shell_view *v, size_t *n); /* the first of n words that say where it begins */
bool shell_test_harmless(const struct shell_view *v);           /* test, [ and [[ */
bool shell_sed_harmless(const struct shell_view *v, bool *in_place);

#endif
