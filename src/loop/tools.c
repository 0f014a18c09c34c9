/*
 * Phase 3: the calls of an accepted answer are run to their end, those that have not started while it streamed
 * included, and their results enter history in call order.
 */
#include "loop/state.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_MALFORMED 5

/* One wait; a call that is done is noted. False: nothing (more) came until then, or the run must end. */
static bool take_event(struct loop *l, int64_t until)
{
	struct loop_event ev;

	if (!loop_wait(l, until, &ev))
		return false;
	if (ev.kind == LOOP_EV_TOOL)
		calls_take(l, &ev);
	return ev.kind != LOOP_EV_NONE;
}

/* Runs all queued calls; some may run or be done already. The results are in m, in call order, whatever happened. */
static void run_calls(struct loop *l, struct message *m, struct buf *said, size_t *unusable)
{
	struct results r = { .l = l, .message = m, .said = BUF_INIT(BUF_HUGE) };

	for (;;) {
		while (take_event(l, 0)) /* a signal that is there already must be seen before the next call starts */
			;
		if (loop_is_aborted(l) || l->nomem)
			break;
		calls_start(l);
		results_yield(&r);
		if (l->broken)
			break; /* a call could not be started: nothing would end the wait for it; or nobody reads */
		if (executor_idle(&l->executor))
			break;
		take_event(l, CLOCK_NEVER);
	}
	if (!executor_idle(&l->executor))
		calls_abort(l);
	results_yield(&r);
	results_end(&r);
	*unusable = r.unusable;
	*said = r.said;
}

/* The answer enters history, its calls run to their end, and their results follow it. */
static struct verdict take_answer(struct loop *l, enum continue_reason how)
{
	struct loop_state next = l->state;
	struct message *results = message_new(ROLE_USER);
	struct buf said = BUF_INIT(0);
	size_t unusable = 0, denied = l->ndenied;

	reply_accept_lines(l);
	reply_store(l);
	next.turn_count += !l->state.same_turn;
	l->state.turn_count = next.turn_count; /* the answer is accepted, however this ends */
	calls_queue(l, l->reply.message->n);
	size_t ncalls = l->executor.n;
	if (!results) {
		calls_discard(l);
		l->nomem = true;
		return verdict_term(TERM_INTERNAL_ERROR);
	}
	run_calls(l, results, &said, &unusable);
	bool over_limit = l->over_call_limit;
	calls_forget(l);
	if (history_add(l->state.messages, results) || context_round_ended(l->context, l->state.messages))
		l->nomem = true;
	l->nomem |= said.failed;
	loop_say_behind(l, said.len ? buf_str(&said) : NULL);
	buf_release(&said);
	if (l->nomem || l->broken)
		return verdict_term(TERM_INTERNAL_ERROR);
	if (loop_is_aborted(l))
		return verdict_term(TERM_ABORTED_TOOLS);
	if (loop_hook_ended(l))
		return verdict_term(TERM_HOOK_STOPPED);
	enum terminal_reason stopped = hooks_judge_batch(l);
	if (stopped)
		return verdict_term(stopped);
	if (l->cfg->denied_ends && l->ndenied > denied) {
		loop_add_error(l, "a call of %s was denied, and permissions.on_denied is fail",
		               l->denied[denied]->name);
		return verdict_term(TERM_PERMISSION_DENIED);
	}
	if (over_limit) {
		loop_add_error(l, "the tool call limit of %" PRId64 " is spent", l->cfg->max_tool_calls);
		return verdict_term(TERM_BUDGET_EXHAUSTED);
	}
	next.malformed = unusable == ncalls ? next.malformed + 1 : 0;
	if (next.malformed >= MAX_MALFORMED) {
		loop_add_error(l, "%d answers in a row held nothing but unusable tool calls", MAX_MALFORMED);
		return verdict_term(TERM_MALFORMED_TOOL_USE);
	}
	if ((stopped = loop_tell_rest(l)))
		return verdict_term(stopped);
	if (how == CONT_NEXT_TURN) {
		next.max_output_recovery_count = 0;
		next.nudged = false;
		next.attempted_reactive_compact = false;
	}
	next.pauses = 0;
	next.same_turn = false;
	summary_start(l);
	return verdict_go(how, &next);
}

struct verdict loop_run_tools(struct loop *l)
{
	return take_answer(l, CONT_NEXT_TURN);
}

struct verdict loop_salvage(struct loop *l)
{
	reply_keep_broken(l);
	return take_answer(l, CONT_SALVAGED_STREAM);
}
