#include "record/reason.h"

#include <stdio.h>
#include <string.h>

static const struct continue_row continues[CONT_COUNT] = {
#define X(sym, name, turn, text) [sym] = { name, turn, text },
	CONTINUE_LIST(X)
#undef X
};

static const struct terminal_row terminals[TERM_COUNT] = {
#define X(sym, name, code, subtype, text) [sym] = { name, code, subtype, text },
	TERMINAL_LIST(X)
#undef X
};

const struct continue_row *continue_row(enum continue_reason r)
{
	return r > CONT_NONE && r < CONT_COUNT ? &continues[r] : NULL;
}

const struct terminal_row *terminal_row(enum terminal_reason r)
{
	return r > TERM_NONE && r < TERM_COUNT ? &terminals[r] : NULL;
}

enum terminal_reason terminal_find(const char *name)
{
	for (int r = TERM_NONE + 1; r < TERM_COUNT; r++)
		if (!strcmp(terminals[r].name, name))
			return (enum terminal_reason)r;
	return TERM_NONE;
}

int terminal_exit_code(enum terminal_reason r, bool transient)
{
	if (r == TERM_MODEL_ERROR && transient)
		return EXIT_TRANSIENT;
	const struct terminal_row *row = terminal_row(r);
	/* A run that ends without a reason is a bug of ours; it must never look like success. */
	return row ? row->exit_code : terminals[TERM_INTERNAL_ERROR].exit_code;
}

/* Calls print for each row of the exit-code table. The list is written in ascending order of the codes; the tests hold
 * it to that. */
static void each_row(void (*print)(struct buf *out, const char *code, const char *name, const char *text),
                     struct buf *out)
{
	char code[16];

	for (int r = TERM_NONE + 1; r < TERM_COUNT; r++) {
		snprintf(code, sizeof code, "%d", terminals[r].exit_code);
		print(out, code, terminals[r].name, terminals[r].text);
	}
	snprintf(code, sizeof code, "%d", EXIT_TRANSIENT);
	print(out, code, terminals[TERM_MODEL_ERROR].name, "the model call failed, but a later run may succeed");
	print(out, "128+N", "aborted_streaming, aborted_tools", "ended by signal N");
}

static void text_row(struct buf *out, const char *code, const char *name, const char *text)
{
	buf_addf(out, "  %5s  %-33s  %s\n", code, name, text);
}

void reason_print_exit_codes(struct buf *out)
{
	each_row(text_row, out);
}

static void man_row(struct buf *out, const char *code, const char *name, const char *text)
{
	buf_addf(out, ".It %s\n.Cm %s :\n%s.\n", code, name, text);
}

void reason_print_man(struct buf *out)
{
	buf_adds(out, ".Bl -tag -width 128+N -compact\n");
	each_row(man_row, out);
	buf_adds(out, ".El\n");
}
