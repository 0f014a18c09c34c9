/*
 * The token target: a task that may well take many tokens is not done with the first answer that calls itself final.
 * The model is asked to go on until it has written about as much, or has little more to write.
 */
#include "loop/state.h"

#include <inttypes.h>
#include <stdio.h>

#define LITTLE     500 /* output tokens: a nudge that brought less was of little use */
#define MAX_LITTLE 2   /* such nudges in a row, and the model is done */
#define MIN_NUDGES 3   /* but it is asked that often first */

static struct verdict nudge(struct loop *l, int64_t output)
{
	struct loop_state next = l->state;
	int64_t target = l->cfg->token_target;
	char text[400];

	next.nudges++;
	next.nudged_at = output;
	next.malformed = 0;
	next.pauses = 0;
	next.same_turn = false;
	next.agreed = true;
	snprintf(text, sizeof text,
	         "This task was given about %" PRId64 " tokens of output, and %" PRId64
	         " are used. Do not sum up: go on with what is open, check what was done, and make it better. If "
	         "really nothing is left, say so in one line.",
	         target, output);
	reply_say(l, text);
	return verdict_go(CONT_TOKEN_BUDGET, &next);
}

struct verdict loop_judge_target(struct loop *l)
{
	int64_t target = l->cfg->token_target, output = l->account.accepted.output - l->output_before;

	if (!target || output >= target - target / 10)
		return verdict_term(TERM_COMPLETED);
	if (l->state.nudges)
		l->state.little = output - l->state.nudged_at < LITTLE ? l->state.little + 1 : 0;
	if (l->state.nudges >= MIN_NUDGES && l->state.little >= MAX_LITTLE)
		return verdict_term(TERM_COMPLETED);
	if (l->state.turn_count >= l->cfg->max_turns)
		return verdict_term(TERM_COMPLETED); /* it was a wish, not work */
	return nudge(l, output);
}
