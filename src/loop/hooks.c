/*
 * What hooks say to the end of a run. Behind an API error nobody is asked whether the run may end: the model produced
 * nothing that could be judged, and an objection would begin error, hook, request and error anew for ever.
 */
#include "base/utf8.h"
#include "loop/state.h"

#include <string.h>

enum asked { NOBODY, ANSWERED, CUT_SHORT };

/* CUT_SHORT: by a signal, the deadline, or the end of the world. */
static enum asked ask(struct loop *l, const struct hook_call *call, struct loop_event *ev)
{
	const struct loop_deps *d = l->deps;
	struct error e = ERROR_INIT;

	if (loop_abort_due(l) || l->nomem)
		return CUT_SHORT;
	switch (d->hook_start(d->ctx, call, &e)) {
	case 0:
		return NOBODY;
	case 1:
		break;
	default:
		l->broken = true;
		l->broken_error = e;
		return CUT_SHORT;
	}
	while (!l->nomem && loop_wait(l, CLOCK_NEVER, ev))
		if (ev->kind == LOOP_EV_HOOK && ev->hook.kind == call->kind)
			return ANSWERED;
	d->hook_cancel(d->ctx, call);
	return CUT_SHORT;
}

static struct hook_call about(const struct loop *l, enum hook_event kind)
{
	return (struct hook_call){ .kind = kind,
		                   .answer = l->result,
		                   .answer_len = l->result_len,
		                   .stop_hook_active = l->state.stop_blocks > 0 };
}

static struct verdict object(struct loop *l, const char *why)
{
	struct loop_state next = l->state;

	if (l->cfg->max_stop_blocks && l->state.stop_blocks >= l->cfg->max_stop_blocks) {
		loop_add_error(l, "stop hooks objected %d times, and object again: %s", l->state.stop_blocks, why);
		return verdict_term(TERM_STOP_BLOCKS);
	}
	next.stop_blocks++;
	next.max_output_recovery_count = 0;
	next.malformed = 0;
	next.pauses = 0;
	next.same_turn = false;
	loop_say(l, why);
	return verdict_go(CONT_STOP_HOOK_BLOCKING, &next);
}

struct verdict hooks_judge_stop(struct loop *l)
{
	const struct hook_call call = about(l, HOOK_STOP);
	struct loop_event ev;

	switch (ask(l, &call, &ev)) {
	case NOBODY:
		return verdict_term(TERM_COMPLETED);
	case CUT_SHORT:
		return verdict_term(TERM_ABORTED_TOOLS);
	case ANSWERED:
		break;
	}
	const char *why = ev.hook.text;
	if (!why || utf8_is_blank(why, strlen(why)))
		why = "A stop hook objected, and gave no reason.";
	if (ev.hook.verdict == HOOK_SAYS_BLOCK)
		return object(l, why);
	if (ev.hook.verdict == HOOK_SAYS_PASS)
		return verdict_term(TERM_COMPLETED);
	loop_add_error(l, "a stop hook ended the run: %s", why);
	return verdict_term(TERM_STOP_HOOK_PREVENTED);
}

enum terminal_reason hooks_tell_failure(struct loop *l, enum terminal_reason why)
{
	static const enum terminal_reason failures[] = { TERM_MODEL_ERROR, TERM_PROMPT_TOO_LONG, TERM_IMAGE_ERROR,
		                                         TERM_MAX_OUTPUT, TERM_REFUSAL };
	struct hook_call call = about(l, HOOK_STOP_FAILURE);
	struct loop_event ev;

	for (size_t i = 0; i < sizeof failures / sizeof *failures; i++)
		l->failed |= failures[i] == why && l->failure.category;
	if (!l->failed)
		return why;
	call.category = l->failure.category;
	call.error = l->errors[l->nerrors - 1];
	/* what they say is heard and changes nothing; the deadline ends them, and not a run that is at its end */
	ask(l, &call, &ev);
	return l->signals ? TERM_ABORTED_TOOLS : why;
}
