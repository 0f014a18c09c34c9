/*
 * Phase 3: the calls of an accepted answer are run to their end, those that have not started while it streamed
 * included, and their results enter history in call order.
 */
#include "loop/state.h"
#include "record/resume.h"

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
		/* what is there already is seen before the next call starts; behind a signal nothing is taken */
		while (!loop_is_aborted(l) && take_event(l, 0))
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

/* What the results leave to be judged. */
struct round {
	size_t calls, unusable;
	const char *denied; /* the first call that was: its tool's name */
	bool over_limit;
	bool judged;  /* hooks about all of them need not be asked, */
	bool went_on; /* and all that is told behind them is told */
};

/* All calls have their results in history, and what their hooks say is said: what follows from that. */
static struct verdict end_round(struct loop *l, struct loop_state next, enum continue_reason how, const struct round *r)
{
	enum terminal_reason stopped = TERM_NONE;

	if (l->nomem || l->broken)
		return verdict_term(TERM_INTERNAL_ERROR);
	if (loop_is_aborted(l))
		return verdict_term(TERM_ABORTED_TOOLS);
	if (loop_hook_ended(l))
		return verdict_term(TERM_HOOK_STOPPED);
	if (!r->judged && (stopped = hooks_judge_batch(l)))
		return verdict_term(stopped);
	if (l->cfg->denied_ends && r->denied) {
		loop_add_error(l, "a call of %s was denied, and permissions.on_denied is fail", r->denied);
		return verdict_term(TERM_PERMISSION_DENIED);
	}
	if (r->over_limit) {
		loop_add_error(l, "the tool call limit of %" PRId64 " is spent", l->cfg->max_tool_calls);
		return verdict_term(TERM_BUDGET_EXHAUSTED);
	}
	next.malformed = r->unusable == r->calls ? next.malformed + 1 : 0;
	if (next.malformed >= MAX_MALFORMED) {
		loop_add_error(l, "%d answers in a row held nothing but unusable tool calls", MAX_MALFORMED);
		return verdict_term(TERM_MALFORMED_TOOL_USE);
	}
	if (!r->went_on && (stopped = loop_tell_rest(l)))
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

/* The answer enters history, its calls run to their end, and their results follow it. */
static struct verdict take_answer(struct loop *l, enum continue_reason how)
{
	struct loop_state next = l->state;
	struct message *results = message_new(ROLE_USER);
	struct buf said = BUF_INIT(0);
	size_t denied = l->ndenied;
	struct round r = { 0 };

	reply_accept_lines(l);
	reply_store(l);
	next.turn_count += !l->state.same_turn;
	l->state.turn_count = next.turn_count; /* the answer is accepted, however this ends */
	calls_queue(l, l->reply.message->n);
	r.calls = l->executor.n;
	if (!results) {
		calls_discard(l);
		l->nomem = true;
		return verdict_term(TERM_INTERNAL_ERROR);
	}
	run_calls(l, results, &said, &r.unusable);
	r.over_limit = l->over_call_limit;
	calls_forget(l);
	if (history_add(l->state.messages, results) || context_round_ended(l->context, l->state.messages))
		l->nomem = true;
	l->nomem |= said.failed;
	loop_say_behind(l, said.len ? buf_str(&said) : NULL);
	buf_release(&said);
	if (l->ndenied > denied)
		r.denied = l->denied[denied]->name;
	return end_round(l, next, how, &r);
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

/* ---- calls of an earlier process ---- */

void tools_restore(struct loop *l)
{
	const struct resumed_batch *b = l->cfg->resume_batch;

	reply_leave_behind(l, &b->usage, b->told);
	if (b->ends_run) {
		l->hook_end = strdup(b->ends_run);
		l->nomem |= !l->hook_end;
	}
	l->unfinished = true;
}

/* Said by hooks of the calls, by what had waited, or by a process that went on from here: it stands in front of what
 * hooks about all of them say. */
static bool stands_before(const struct loop *l, const char *text, const char *said)
{
	return (said && strstr(text, said)) || (l->unsaid.len && strstr(text, buf_str(&l->unsaid))) ||
	       loop_is_context(text, HOOK_SESSION_START) || loop_is_anew(text);
}

bool tools_were_judged(struct loop *l)
{
	const struct resumed_batch *b = l->cfg->resume_batch;
	const struct history *h = l->state.messages;
	const struct message *last = h->n ? h->v[h->n - 1] : NULL;

	if (b->went_on || b->ended)
		return true;
	for (size_t i = 0; last && i < last->n; i++)
		if (last->blocks[i]->kind == BLOCK_TEXT && !stands_before(l, last->blocks[i]->text, b->said))
			return true;
	return false;
}

struct verdict loop_finish_round(struct loop *l)
{
	const struct resumed_batch *b = l->cfg->resume_batch;
	const struct round r = { .calls = b->calls,
		                 .unusable = b->unusable,
		                 .denied = b->denied,
		                 .judged = l->judged,
		                 .went_on = b->went_on };

	if (context_note_task(l->context, l->state.messages))
		l->nomem = true;
	struct verdict v = end_round(l, l->state, b->broke ? CONT_SALVAGED_STREAM : CONT_NEXT_TURN, &r);
	l->unfinished = false;
	return v;
}
