#include "loop/state.h"

#include <stdlib.h>
#include <string.h>

/* The one place where state changes hands: what the trace says is what the machine did. */
static void advance(struct loop *l, const struct verdict *v)
{
	struct event ev = { .kind = EVENT_TRANSITION };
	const struct continue_row *from = continue_row(l->state.transition), *row = continue_row(v->cont);

	ev.u.transition = (struct event_transition){
		.reason = row->name,
		.turn = v->next.turn_count,
		.from = from ? from->name : NULL,
		.tokens = loop_tokens(l),
		.source = v->source,
	};
	l->state = v->next;
	l->state.transition = v->cont;
	if (row->new_turn || v->next.same_turn) /* else the same request again, for the reason it had */
		l->state.asked_for = v->cont;
	l->transitions[v->cont]++;
	loop_emit(l, &ev);
}

/* A server that breaks every answer would be asked, and its calls run, until the last turn is spent. */
static struct verdict count_salvage(struct loop *l, struct verdict v)
{
	if (v.cont && l->falls_back) {
		v.next.salvages = 0; /* another server may do better */
	} else if (v.cont && ++v.next.salvages >= MAX_SALVAGES) {
		if (!l->failure.category)
			failure_of_record(l);
		return loop_recover_error(l);
	}
	return v;
}

/* Why the run stops instead of sending a request. A nudge is a wish: a limit met on its way does not undo the answer
 * that was given, but for what hooks say to it. The token target's comes when they have agreed. */
static struct verdict stop(struct loop *l, enum terminal_reason why)
{
	enum continue_reason from = l->state.asked_for;

	if ((from != CONT_EMPTY_NUDGE && from != CONT_TOKEN_BUDGET) ||
	    (why != TERM_MAX_TURNS && why != TERM_BUDGET_EXHAUSTED))
		return verdict_term(why);
	while (l->nerrors)
		free(l->errors[--l->nerrors]);
	if (from == CONT_TOKEN_BUDGET)
		return verdict_term(TERM_COMPLETED);
	return hooks_judge_stop(l);
}

/* An earlier process had the answer, and came no further: what it decided, or would have, is decided here. */
static struct verdict decide_again(struct loop *l)
{
	l->undecided = false;
	l->without_once = 0;
	l->state.salvages = 0;
	if (context_note_task(l->context, l->state.messages))
		l->nomem = true;
	struct verdict v = loop_decide(l);
	if (v.cont) /* words that had to wait for it, and still may not have been said */
		loop_say_behind(l, NULL);
	return v;
}

/* One iteration: prepare the context, call the model, then run tools, recover or decide. */
static struct verdict step(struct loop *l)
{
	enum terminal_reason stopped = TERM_NONE;

	if (l->undecided)
		return decide_again(l);
	if (l->unfinished) {
		struct verdict v = loop_finish_round(l);
		return v.cont == CONT_SALVAGED_STREAM ? count_salvage(l, v) : v;
	}
	if (!loop_prepare(l, &stopped)) /* phase 1 */
		return stop(l, stopped);
	switch (loop_call_model(l, &stopped)) { /* phase 2 */
	case CALL_ACCEPTED:
		call_failure_release(&l->failure); /* what was recovered is not to be shown */
		l->state.salvages = 0;
		return loop_decide(l); /* phase 5; 3 if tools are wanted, 4 if the answer was cut */
	case CALL_BROKEN:
		return count_salvage(l, loop_salvage(l)); /* phase 3 */
	case CALL_FAILED:
		if (loop_hook_ended(l)) /* by a call of the answer that broke: there is nothing to recover */
			return verdict_term(TERM_HOOK_STOPPED);
		return loop_recover_error(l); /* phase 4 */
	case CALL_STOPPED:
		break;
	}
	return stop(l, stopped);
}

enum terminal_reason loop_work(struct loop *l)
{
	for (;;) {
		struct verdict v = verdict_term(l->nomem ? TERM_INTERNAL_ERROR : TERM_NONE);
		l->falls_back = l->owes_fallback && !l->unfinished && !l->undecided;
		if (l->falls_back)
			l->owes_fallback = false;
		else if (!l->nomem)
			v = step(l);
		if (l->falls_back && !v.term)
			v = loop_fall_back(l, &v);
		if (v.term && !l->nomem && !l->broken)
			v.term = hooks_tell_failure(l, v.term);
		if (l->nomem || l->broken)
			v = verdict_term(TERM_INTERNAL_ERROR);
		if (!v.term && v.cont)
			advance(l, &v);
		reply_release(&l->reply);
		if (v.term)
			return v.term;
	}
}
