#include "loop/state.h"

#include <stdlib.h>
#include <string.h>

/* The one place where state changes hands: what the trace says is what the machine did. */
static void advance(struct loop *l, const struct verdict *v)
{
	struct event ev = { .kind = EVENT_TRANSITION };
	const struct continue_row *from = continue_row(l->state.transition);

	ev.u.transition = (struct event_transition){
		.reason = continue_row(v->cont)->name,
		.turn = v->next.turn_count,
		.from = from ? from->name : NULL,
		.tokens = loop_tokens(l),
	};
	l->state = v->next;
	l->state.transition = v->cont;
	l->transitions[v->cont]++;
	loop_emit(l, &ev);
}

/* A server that breaks every answer would be asked, and its calls run, until the last turn is spent. */
static struct verdict salvage(struct loop *l)
{
	struct verdict v = loop_salvage(l);

	if (v.cont && l->falls_back)
		v.next.salvages = 0; /* another server may do better */
	else if (v.cont && ++v.next.salvages >= MAX_SALVAGES)
		return loop_recover_error(l);
	return v;
}

/* Why the run stops instead of sending a request. A nudge is a wish: a limit met on its way does not undo the answer
 * that was given, but for what hooks say to it. */
static struct verdict stop(struct loop *l, enum terminal_reason why)
{
	if (l->state.transition != CONT_EMPTY_NUDGE || (why != TERM_MAX_TURNS && why != TERM_BUDGET_EXHAUSTED))
		return verdict_term(why);
	while (l->nerrors)
		free(l->errors[--l->nerrors]);
	return hooks_judge_stop(l);
}

/* One iteration: prepare the context, call the model, then run tools, recover or decide. */
static struct verdict step(struct loop *l)
{
	enum terminal_reason stopped = TERM_NONE;

	if (!loop_prepare(l, &stopped)) /* phase 1 */
		return stop(l, stopped);
	switch (loop_call_model(l, &stopped)) { /* phase 2 */
	case CALL_ACCEPTED:
		call_failure_release(&l->failure); /* what was recovered is not to be shown */
		l->state.salvages = 0;
		return loop_decide(l); /* phase 5; 3 if tools are wanted, 4 if the answer was cut */
	case CALL_BROKEN:
		return salvage(l); /* phase 3 */
	case CALL_FAILED:
		return loop_recover_error(l); /* phase 4 */
	case CALL_STOPPED:
		break;
	}
	return stop(l, stopped);
}

static void release(struct loop *l)
{
	reply_release(&l->reply);
	executor_release(&l->executor);
	for (size_t i = 0; i < l->nstrays; i++)
		block_unref(l->strays[i]);
	free(l->strays);
	for (size_t i = 0; i < l->ndenied; i++)
		block_unref(l->denied[i]);
	free(l->denied);
	for (size_t i = 0; i < l->nside_effects; i++)
		free(l->side_effects[i]);
	free(l->side_effects);
	for (size_t i = 0; i < l->nerrors; i++)
		free(l->errors[i]);
	free(l->errors);
	call_failure_release(&l->failure);
	free(l->account.models);
	free(l->compact_error);
	context_free(l->context);
	free(l->result);
	free(l->stop_reason);
}

void loop_run(const struct loop_config *cfg, const struct loop_deps *deps, struct history *history,
              struct loop_outcome *out)
{
	struct loop l = {
		.cfg = cfg,
		.deps = deps,
		.state = { .messages = history },
		.estimate = { .anchor_tokens = -1 },
		.fixed_bytes = (cfg->system ? strlen(cfg->system) : 0) +
		               (cfg->tools_json ? strlen(cfg->tools_json) : 0),
		.failure = { .retry_after_ms = -1 },
	};
	const struct context_config context = { .microcompact_keep = cfg->context.microcompact_keep,
		                                .may_clear = deps->tool_may_clear,
		                                .forget = deps->tool_forget,
		                                .ctx = deps->ctx };
	struct error e = ERROR_INIT;
	struct event init = { .kind = EVENT_INIT };

	executor_init(&l.executor, cfg->tool_concurrency);
	init.u.init = cfg->init;
	loop_emit(&l, &init);
	l.context = context_open(&context, &e);
	if (l.context)
		loop_use_model(&l, 0);
	else
		l.nomem = true;
	for (;;) {
		struct verdict v = l.nomem ? verdict_term(TERM_INTERNAL_ERROR) : step(&l);
		if (l.falls_back && !v.term)
			v = loop_fall_back(&l, &v);
		if (v.term && !l.nomem && !l.broken)
			v.term = hooks_tell_failure(&l, v.term);
		if (l.nomem || l.broken)
			v = verdict_term(TERM_INTERNAL_ERROR);
		if (v.term) {
			loop_finish(&l, v.term, out);
			break;
		}
		if (v.cont)
			advance(&l, &v);
		reply_release(&l.reply);
	}
	release(&l);
}
