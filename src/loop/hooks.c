/*
 * What hooks say to the end of a run. Behind an API error nobody is asked whether the run may end: the model produced
 * nothing that could be judged, and an objection would begin error, hook, request and error anew for ever.
 */
#include "base/utf8.h"
#include "loop/state.h"

#include <string.h>

enum asked loop_ask(struct loop *l, const struct hook_call *call, struct loop_event *ev)
{
	const struct loop_deps *d = l->deps;
	struct error e = ERROR_INIT;

	if (loop_abort_due(l) || l->nomem)
		return ASKED_CUT_SHORT;
	if (!d->hook_any(d->ctx, call->kind))
		return ASKED_NOBODY;
	switch (d->hook_start(d->ctx, call, &e)) {
	case 0:
		return ASKED_NOBODY;
	case 1:
		break;
	default:
		loop_break(l, &e);
		return ASKED_CUT_SHORT;
	}
	while (!l->nomem && loop_wait(l, CLOCK_NEVER, ev))
		if (ev->kind == LOOP_EV_HOOK && ev->hook.kind == call->kind)
			return ASKED_ANSWERED;
	d->hook_cancel(d->ctx, call);
	return ASKED_CUT_SHORT;
}

enum terminal_reason loop_cut_short(const struct loop *l)
{
	return l->nomem || l->broken ? TERM_INTERNAL_ERROR : TERM_ABORTED_TOOLS;
}

enum terminal_reason hooks_ended_by(struct loop *l, enum hook_event who, const char *why)
{
	loop_add_error(l, "a %s hook ended the run: %s", hook_event_name(who), why ? why : "no reason was given");
	return TERM_HOOK_STOPPED;
}

static struct hook_call about(const struct loop *l, enum hook_event kind)
{
	return (struct hook_call){ .kind = kind,
		                   .answer = l->result,
		                   .answer_len = l->result_len,
		                   .stop_hook_active = l->state.stop_blocks > 0 };
}

/* The model is to go on: what it is told stands in the conversation already. */
static struct verdict go_on(struct loop *l, struct loop_state next, const char *source)
{
	next.max_output_recovery_count = 0;
	next.malformed = 0;
	next.pauses = 0;
	next.same_turn = false;
	next.agreed = false;
	enum terminal_reason stopped = loop_tell_rest(l);
	struct verdict v = stopped ? verdict_term(stopped) : verdict_go(CONT_STOP_HOOK_BLOCKING, &next);
	v.source = source;
	return v;
}

#define LEAST_WORDS ((size_t)500)

/* In a small window they must leave room for the work on them: head and tail then, and no more than a quarter. */
static void say_objection(struct loop *l, const char *why)
{
	size_t n = strlen(why), most = loop_window_part(l, 4);
	struct buf b = BUF_INIT(BUF_HUGE);

	if (n <= most || n <= LEAST_WORDS) {
		loop_say(l, why);
		return;
	}
	size_t half = (most > LEAST_WORDS ? most : LEAST_WORDS) / 2, head = utf8_floor(why, n, half);
	size_t tail = utf8_ceil(why, n, n - half);
	buf_addf(&b, "%.*s\n[... %zu bytes left out ...]\n%s", (int)head, why, tail - head, why + tail);
	if (b.failed)
		l->nomem = true;
	else
		loop_say(l, buf_str(&b));
	buf_release(&b);
}

/* Words and context alike: an objection is shown as such, and context is told. */
static struct verdict object(struct loop *l, const char *why, const char *context)
{
	struct loop_state next = l->state;

	if (l->cfg->max_stop_blocks && l->state.stop_blocks >= l->cfg->max_stop_blocks) {
		loop_add_error(l, "stop hooks objected %d times, and object again: %s", l->state.stop_blocks,
		               why ? why : context);
		return verdict_term(TERM_STOP_BLOCKS);
	}
	next.stop_blocks++;
	loop_drop_server_calls(l); /* no call of the server's is waited for: context alone is said at once, too */
	if (why)
		say_objection(l, why);
	loop_tell_context(l, HOOK_STOP, context);
	return go_on(l, next, "hook");
}

struct verdict hooks_had_objected(struct loop *l, bool verified)
{
	struct loop_state next = l->state;

	next.stop_blocks += !verified;
	return go_on(l, next, verified ? "verify" : "hook");
}

/* ---- verification ---- */

#define SHOWN_OUTPUT 4000 /* bytes of a failed verification's output in the result */

static struct verdict give_up(struct loop *l, const char *output)
{
	int failures = l->verification.failures;

	loop_add_error(l, "%.*s", (int)utf8_floor(output, strlen(output), SHOWN_OUTPUT), output);
	loop_add_error(l, "the verification failed %d time%s, and no repair is left", failures,
	               failures == 1 ? "" : "s");
	return verdict_term(TERM_VERIFY_FAILED);
}

/* It has the last word: nothing is completed that does not pass. */
static struct verdict verify(struct loop *l)
{
	struct verification *v = &l->verification;
	const struct hook_call call = { .kind = HOOK_VERIFY, .attempt = v->runs };
	struct loop_event ev;

	switch (loop_ask(l, &call, &ev)) {
	case ASKED_NOBODY:
		return verdict_term(TERM_COMPLETED);
	case ASKED_CUT_SHORT:
		return verdict_term(TERM_ABORTED_TOOLS);
	case ASKED_ANSWERED:
		break;
	}
	v->runs++;
	v->passed = ev.hook.verdict == HOOK_SAYS_PASS;
	if (v->passed)
		return verdict_term(TERM_COMPLETED);
	v->failures++;
	const char *output = ev.hook.text;
	if (!output || utf8_is_blank(output, strlen(output)))
		output = "The verification failed, and said nothing.";
	if (v->failures > l->cfg->max_repairs)
		return give_up(l, output);
	say_objection(l, output);
	return go_on(l, l->state, "verify");
}

struct verdict hooks_judge_stop(struct loop *l)
{
	const struct hook_call call = about(l, HOOK_STOP);
	struct loop_event ev;

	switch (loop_ask(l, &call, &ev)) {
	case ASKED_NOBODY:
		return verify(l);
	case ASKED_CUT_SHORT:
		return verdict_term(TERM_ABORTED_TOOLS);
	case ASKED_ANSWERED:
		break;
	}
	if (ev.hook.verdict == HOOK_SAYS_PASS)
		return ev.hook.context ? object(l, NULL, ev.hook.context) : verify(l);
	const char *why = ev.hook.text;
	if (!why || utf8_is_blank(why, strlen(why)))
		why = "A stop hook objected, and gave no reason.";
	if (ev.hook.verdict == HOOK_SAYS_BLOCK)
		return object(l, why, ev.hook.context);
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
	loop_ask(l, &call, &ev);
	return l->signals ? TERM_ABORTED_TOOLS : why;
}
