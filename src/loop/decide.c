/* Phase 5: the model asked for no tool. Is it done? */
#include "loop/state.h"
#include "record/resume.h"

#include <stdlib.h>
#include <string.h>

#define MAX_PAUSES 5

static const char nudge_text[] = "Please continue.";

static struct verdict refuse(struct loop *l)
{
	calls_discard(l); /* those that started before the refusal came: the result names what may have had an effect */
	reply_tombstone(l);     /* a declined answer is not kept, whatever came of it */
	if (loop_hook_ended(l)) /* by one of its calls, before it was declined */
		return verdict_term(TERM_HOOK_STOPPED);
	free(l->stop_reason);
	l->stop_reason = strdup("refusal");
	l->failure.category = "invalid_request";
	if (l->reply.stop_details && strcmp(l->reply.stop_details, "null") != 0)
		loop_add_error(l, "the model declined to answer: %s", l->reply.stop_details);
	else
		loop_add_error(l, "the model declined to answer");
	return verdict_term(TERM_REFUSAL);
}

static struct verdict go_on_paused(struct loop *l)
{
	struct loop_state next = l->state;

	if (l->state.pauses >= MAX_PAUSES) {
		loop_add_error(l, "the API paused the same turn more than %d times", MAX_PAUSES);
		l->failure.category = "server_error";
		return verdict_term(TERM_MODEL_ERROR);
	}
	reply_accept_lines(l);
	reply_store(l);
	next.turn_count += !l->state.same_turn;
	next.same_turn = true;
	next.pauses++;
	return verdict_go(CONT_PAUSE_TURN, &next);
}

static struct verdict nudge(struct loop *l)
{
	struct loop_state next = l->state;

	next.turn_count += !l->state.same_turn;
	next.same_turn = false;
	next.nudged = true;
	next.pauses = 0;
	reply_say(l, nudge_text);
	return verdict_go(CONT_EMPTY_NUDGE, &next);
}

static bool known_stop(const char *reason)
{
	static const char *const known[] = { "end_turn", "tool_use", "stop_sequence", "pause_turn", NULL };

	for (size_t i = 0; known[i]; i++)
		if (!strcmp(known[i], reason))
			return true;
	return false;
}

/* The answer is the result. One without text does not undo one that was agreed to. */
static void take_result(struct loop *l)
{
	size_t len;
	char *text = reply_text(l->reply.message, &len);

	if (l->state.agreed && text && len == 0) {
		free(text);
		return;
	}
	free(l->result);
	l->result = text;
	l->result_len = len;
}

/* Words stand behind the recorded answer: who said them? The transition tells; a run that was killed in front of it had
 * most likely heard whoever it asks first. */
static struct verdict had_replied(struct loop *l)
{
	const struct resumed_answer *a = l->reply.recorded;
	const struct loop_deps *d = l->deps;
	bool hooks = d->hook_any(d->ctx, HOOK_STOP);

	if (a->went_on ? !strcmp(a->went_on, continue_row(CONT_TOKEN_BUDGET)->name)
	               : !hooks && !d->hook_any(d->ctx, HOOK_VERIFY))
		return loop_judge_target(l);
	return hooks_had_objected(l, a->verified || !hooks);
}

struct verdict loop_decide(struct loop *l)
{
	struct reply *a = &l->reply;

	if (reply_is_refusal(a))
		return refuse(l);
	if (reply_is_cut(a))
		return loop_recover_cut(l);
	if (message_has_tool_use(a->message))
		return loop_run_tools(l);
	if (!strcmp(a->stop_reason, "pause_turn"))
		return go_on_paused(l);
	if (!known_stop(a->stop_reason))
		loop_notice(l, "unknown_stop_reason", "stop_reason '%s' is not known; taken as end_turn",
		            a->stop_reason);

	take_result(l);
	reply_accept_lines(l);
	reply_store(l);
	/* with no turn left there is nobody to nudge: it was a wish, not work */
	bool empty = a->message->n == 0;
	if (empty && !l->state.nudged && l->state.turn_count + !l->state.same_turn < l->cfg->max_turns)
		return nudge(l);
	l->state.turn_count += !l->state.same_turn;
	l->state.same_turn = false; /* it is over: words may follow */
	if (reply_is_replied(a))
		return had_replied(l);
	struct verdict v = hooks_judge_stop(l);
	return v.term == TERM_COMPLETED ? loop_judge_target(l) : v;
}
