/*
 * Phase 2: one model call of any kind, however many attempts it takes. Every attempt passes the gate; requests are
 * repaired or repeated as far as that helps; errors that phase 4 may recover are held back.
 */
#include "loop/call.h"

int64_t loop_output_cap(const struct loop *l)
{
	const struct catalog_row *row = loop_row(l);
	int64_t cap = l->cfg->max_output_tokens;

	if (!cap)
		cap = catalog_default_max_output(row);
	if (l->state.max_output_override)
		cap = l->state.max_output_override;
	if (l->model && row->max_output && row->max_output < cap) /* it was chosen for the first one */
		cap = row->max_output;
	if (l->cap_clamp && l->cap_clamp < cap)
		cap = l->cap_clamp;
	return l->cap_room && l->cap_room < cap ? l->cap_room : cap;
}

/* Backoff. False: the run must end. */
static bool wait_until(struct loop *l, int64_t until)
{
	struct loop_event ev;

	while (l->deps->now(l->deps->ctx) < until)
		if (l->broken || !loop_wait(l, until, &ev))
			return false;
	return true;
}

bool loop_pass_gate(struct loop *l, bool new_turn, bool waiting, enum terminal_reason *stopped)
{
	switch (loop_may_send(l, new_turn, stopped)) {
	case GATE_GO:
		return true;
	case GATE_ABORT:
		*stopped = waiting ? TERM_ABORTED_STREAMING : TERM_ABORTED_TOOLS;
		if (l->broken)
			*stopped = TERM_INTERNAL_ERROR;
		break;
	case GATE_LIMIT:
		break;
	}
	return false;
}

/* Phase 4 may know better than to repeat a request that was refused for this. */
static bool is_for_recovery(enum request_fault fault)
{
	return fault == FAULT_PROMPT_TOO_LONG || fault == FAULT_INPUT_PLUS_MAX || fault == FAULT_IMAGE;
}

/* What follows a failed attempt: true if another one does, after the wait that is due. */
static bool try_again(struct loop *l, struct call *c, const struct attempt *at, struct retry_count *count, int *retries,
                      bool *given_up)
{
	const struct loop_deps *d = l->deps;

	if (c->kind != MODEL_COUNT && loop_repair_request(l, c, &at->end))
		return true;
	struct request_fault_info info = retry_request_fault(&at->end);
	int64_t remaining = l->cfg->deadline == CLOCK_NEVER ? INT64_MAX : l->cfg->deadline - d->now(d->ctx);
	struct retry_decision dec = retry_decide(&l->cfg->retry, count, &at->end, at->timeout, d->random01(d->ctx),
	                                         remaining);
	if (c->kind == MODEL_COUNT || is_for_recovery(info.fault) || dec.verdict == RETRY_GIVE_UP) {
		failure_note(l, c, at, &dec, &info, c->attempt);
		*given_up = true;
		return false;
	}
	*retries += dec.counted;
	failure_tell_retry(l, c, at, &dec, *retries ? *retries : 1);
	return wait_until(l, d->now(d->ctx) + dec.wait_ms);
}

/* What a replay does not hold ends it, also where a failure would do no harm; of the main model's the failure tells. */
static bool is_mismatch(struct loop *l, const struct call *c, enum terminal_reason *stopped)
{
	if (c->kind == MODEL_MAIN || c->failure->failure != MODEL_MISMATCH)
		return false;
	loop_add_error(l, "%s", c->failure->text ? c->failure->text : "the record holds no such request");
	*stopped = TERM_REPLAY_MISMATCH;
	return true;
}

enum call_result loop_call(struct loop *l, struct call *c, enum terminal_reason *stopped)
{
	struct retry_count count = { 0 };
	int retries = 0;

	for (;;) {
		struct attempt at = { 0 };
		bool given_up = false;
		if (!loop_pass_gate(l, c->new_turn, c->attempt > 0, stopped))
			return CALL_STOPPED;
		c->attempt++;
		enum call_result r = attempt_run(l, c, &at, stopped);
		bool again = false;
		fallback_judge(l, c, &at, r, &count);
		if (r == CALL_FAILED) {
			attempt_withdraw(l);
			/* to end its calls took a while */
			again = !l->nomem && !loop_is_aborted(l) && !l->falls_back &&
			        try_again(l, c, &at, &count, &retries, &given_up);
		}
		attempt_release(&at);
		if (given_up && is_mismatch(l, c, stopped))
			return CALL_STOPPED;
		if (r != CALL_FAILED || given_up)
			return r;
		if (!again) {
			*stopped = l->nomem || l->broken ? TERM_INTERNAL_ERROR
			           : loop_is_aborted(l)  ? TERM_ABORTED_STREAMING
			                                 : TERM_NONE;
			return CALL_STOPPED;
		}
	}
}

enum call_result loop_call_model(struct loop *l, enum terminal_reason *stopped)
{
	struct call c = {
		.kind = MODEL_MAIN,
		.model = loop_model(l),
		.row = loop_row(l),
		.messages = l->state.messages,
		.max_tokens = loop_output_cap(l),
		.without = l->without_once,
		.new_turn = !l->state.same_turn,
		.failure = &l->failure,
	};
	enum call_result r = loop_call(l, &c, stopped);

	if (r == CALL_ACCEPTED || r == CALL_BROKEN)
		l->without_once = 0;
	return r;
}
