#include "pairs.h"

#include <stdlib.h>

#define TO_COUNT    ((int)CONT_COUNT + (int)TERM_COUNT)
#define TERMINAL(t) ((int)CONT_COUNT + (int)(t))
#define LENGTH(a)   (sizeof(a) / sizeof *(a))

/* Rules, each for many pairs. -1 stands for any. */
static const struct rule {
	int from, to;
	const char *why;
} rules[] = {
	{ -1, CONT_NONE, "no reason" },
	{ -1, TERMINAL(TERM_NONE), "no reason" },
	/* of parts that come later */
	{ -1, CONT_STRUCTURED_RETRY, "there is no schema for answers yet" },
	{ CONT_STRUCTURED_RETRY, -1, "there is no schema for answers yet" },
	{ -1, TERMINAL(TERM_STRUCTURED_EXHAUSTED), "there is no schema for answers yet" },
	/* not of the loop */
	{ -1, TERMINAL(TERM_SETUP_FAILED), "the loop was not begun" },
	/* guards */
	{ CONT_COLLAPSE_DRAIN, CONT_COLLAPSE_DRAIN, "what was folded is folded" },
	{ CONT_REACTIVE_COMPACT, CONT_REACTIVE_COMPACT, "once until the next turn" },
	{ CONT_EMPTY_NUDGE, CONT_EMPTY_NUDGE, "once until the next turn" },
	{ CONT_MAX_OUTPUT_ESCALATE, CONT_MAX_OUTPUT_ESCALATE, "it was raised as far as it goes" },
	{ CONT_EMPTY_NUDGE, TERMINAL(TERM_MAX_TURNS), "a nudge is a wish: the run is completed" },
	{ CONT_TOKEN_BUDGET, TERMINAL(TERM_MAX_TURNS), "a nudge is a wish: the run is completed" },
	{ CONT_TOKEN_BUDGET, TERMINAL(TERM_MALFORMED_TOOL_USE), "the answer before held no call" },
	{ CONT_STOP_HOOK_BLOCKING, TERMINAL(TERM_MALFORMED_TOOL_USE), "the answer before held no call" },
	{ CONT_SALVAGED_STREAM, TERMINAL(TERM_MALFORMED_TOOL_USE), "a call of the answer before was usable" },
	/* the beginning: one message, nothing to drop, no answer */
	{ CONT_NONE, TERMINAL(TERM_MAX_TURNS), "at least one turn is allowed" },
	{ CONT_NONE, TERMINAL(TERM_STOP_BLOCKS), "there was no objection yet" },
	{ CONT_NONE, TERMINAL(TERM_RAPID_REFILL), "there was no compaction yet" },
	{ CONT_NONE, TERMINAL(TERM_MALFORMED_TOOL_USE), "there was no answer yet" },
};

void pairs_add(struct sim_cover *sum, const struct sim_cover *more)
{
	for (int from = 0; from < (int)CONT_COUNT; from++)
		for (int to = 0; to < TO_COUNT; to++)
			sum->pairs[from][to] += more->pairs[from][to];
	sum->runs += more->runs;
	sum->steps += more->steps;
	sum->requests += more->requests;
}

const char *pair_impossible(enum continue_reason from, int to)
{
	for (size_t i = 0; i < LENGTH(rules); i++)
		if ((rules[i].from < 0 || rules[i].from == (int)from) && (rules[i].to < 0 || rules[i].to == to))
			return rules[i].why;
	/* A turn that begins again was let through by the gate, and phase 1 is behind it. */
	const struct continue_row *row = continue_row(from);
	if (row && !row->new_turn && to == TERMINAL(TERM_MAX_TURNS))
		return "it is the same turn";
	if (row && !row->new_turn && from != CONT_MODEL_FALLBACK &&
	    (to == TERMINAL(TERM_BLOCKING_LIMIT) || to == TERMINAL(TERM_RAPID_REFILL)))
		return "it is the same request again";
	return NULL;
}

const char *pair_name(int to)
{
	if (to == CONT_NONE || to == TERMINAL(TERM_NONE))
		return "(begin)";
	return to < (int)CONT_COUNT ? continue_row((enum continue_reason)to)->name
	                            : terminal_row((enum terminal_reason)(to - (int)CONT_COUNT))->name;
}

size_t pairs_tell(const struct sim_cover *c, FILE *out)
{
	size_t seen = 0, possible = 0, wrong = 0;

	for (int from = 0; from < (int)CONT_COUNT; from++)
		for (int to = 0; to < TO_COUNT; to++) {
			const char *why = pair_impossible((enum continue_reason)from, to);
			if (getenv("SIM_PAIRS") && c->pairs[from][to])
				fprintf(out, "%8u %s -> %s\n", c->pairs[from][to], pair_name(from), pair_name(to));
			possible += !why;
			seen += c->pairs[from][to] > 0;
			if (!why == (c->pairs[from][to] > 0))
				continue;
			wrong++;
			fprintf(out, "%s -> %s: %s%s\n", pair_name(from), pair_name(to),
			        why ? "occurred, but " : "did not occur", why ? why : "");
		}
	fprintf(out, "%zu pairs occurred, %zu can\n", seen, possible);
	return wrong;
}
