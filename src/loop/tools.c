/* Phase 3: the calls of an accepted answer are run, in batches, and their results enter history in call order. */
#include "base/json_out.h"
#include "base/utf8.h"
#include "loop/state.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CANCEL_GRACE_MS 2000
#define MAX_MALFORMED   5
#define SHOWN_BAD_INPUT 2000

static const char interrupted_text[] = "[Request interrupted by user for tool use]";

static bool set_error_text(struct loop *l, struct tool_result *r, const char *text)
{
	*r = (struct tool_result){ .is_error = true };
	r->text = strdup(text);
	if (!r->text) {
		l->nomem = true;
		return false;
	}
	r->text_len = strlen(r->text);
	return true;
}

/* Input that is no JSON object: shown back to the model in the form that its vendor documents. */
static void refuse_bad_input(struct loop *l, const struct block *use, struct tool_result *r)
{
	struct buf b = BUF_INIT(SHOWN_BAD_INPUT * 8);
	size_t n = strlen(use->bad_input);

	buf_adds(&b, "InputValidationError: the tool input is not a JSON object: {\"INVALID_JSON\":");
	json_quote(&b, use->bad_input, utf8_floor(use->bad_input, n, SHOWN_BAD_INPUT));
	buf_adds(&b, "}");
	set_error_text(l, r, buf_str(&b));
	r->invalid = true;
	buf_release(&b);
}

static void start_call(struct loop *l, struct executor_call *c)
{
	const struct loop_config *cfg = l->cfg;
	struct tool_result now = { 0 };
	struct error e = ERROR_INIT;

	executor_started(&l->executor, c);
	if (cfg->max_tool_calls && l->account.tool_calls >= cfg->max_tool_calls) {
		set_error_text(l, &now, "Error: the tool call limit of this run is reached, the call was not run.");
		executor_done(&l->executor, c, &now);
		return;
	}
	if (c->use->bad_input) {
		refuse_bad_input(l, c->use, &now);
		executor_done(&l->executor, c, &now);
		return;
	}
	switch (l->deps->tool_start(l->deps->ctx, c->use, &now, &e)) {
	case 1:
		l->account.tool_calls++;
		break;
	case 0:
		executor_done(&l->executor, c, &now);
		break;
	default:
		l->broken = true;
		l->broken_error = e;
	}
}

static void note_denied(struct loop *l, const struct executor_call *c)
{
	struct event ev = { .kind = EVENT_PERMISSION_DENIED };

	ev.u.denied = (struct event_denied){ .tool_name = c->use->name,
		                             .tool_use_id = c->use->id,
		                             .reason_type = c->result.denied_reason,
		                             .message = c->result.text ? c->result.text : "" };
	loop_emit(l, &ev);
	struct block **grown = realloc(l->denied, (l->ndenied + 1) * sizeof *grown);
	if (!grown) {
		l->nomem = true;
		return;
	}
	l->denied = grown;
	l->denied[l->ndenied++] = block_ref(c->use);
}

/* One result becomes a block of the user message and a line. */
static void yield_result(struct loop *l, struct executor_call *c, struct message *m)
{
	struct tool_result *r = &c->result;
	struct block *b = r->content_json
	                          ? block_new_tool_result_json(c->use->id, r->content_json, strlen(r->content_json))
	                          : block_new_tool_result(c->use->id, r->text ? r->text : "", r->text_len, r->is_error);
	if (!b) {
		l->nomem = true;
		return;
	}
	if (r->denied)
		note_denied(l, c);
	struct event ev = { .kind = EVENT_USER };
	ev.u.user = (struct event_user){ .block = b, .structured = r->structured, .file = r->file };
	loop_emit(l, &ev);
	if (message_add(m, b))
		l->nomem = true;
}

static void yield_ready(struct loop *l, struct message *m, size_t *unusable)
{
	struct executor_call *c;

	while ((c = executor_yield(&l->executor))) {
		*unusable += c->result.invalid;
		yield_result(l, c, m);
	}
}

static void note_side_effect(struct loop *l, const struct executor_call *c)
{
	char **grown = realloc(l->side_effects, (l->nside_effects + 1) * sizeof *grown);
	struct buf b = BUF_INIT(4096);

	if (!grown) {
		l->nomem = true;
		return;
	}
	l->side_effects = grown;
	buf_addf(&b, "%s %s", c->use->name, c->use->id);
	char *line = buf_take(&b, NULL);
	if (line)
		l->side_effects[l->nside_effects++] = line;
	buf_release(&b);
}

/* Ends what runs and answers what never ran, so that every call in history has its result. */
static void abort_calls(struct loop *l)
{
	const struct loop_deps *d = l->deps;
	struct executor *x = &l->executor;
	int64_t grace = l->signals > 1 ? 0 : CANCEL_GRACE_MS;
	int64_t until = d->now(d->ctx) + grace + 1000;

	for (size_t i = 0; i < x->n; i++) {
		if (x->calls[i].state != CALL_EXECUTING)
			continue;
		if (!x->calls[i].read_only)
			note_side_effect(l, &x->calls[i]);
		d->tool_cancel(d->ctx, x->calls[i].use->id, grace);
	}
	while (x->executing && !l->broken && d->now(d->ctx) < until) {
		struct loop_event ev;
		struct error e = ERROR_INIT;
		if (d->next_event(d->ctx, until, &ev, &e))
			break;
		if (ev.kind == LOOP_EV_TOOL) {
			struct executor_call *c = executor_find(x, ev.tool_use_id);
			struct tool_result stopped;
			if (c && set_error_text(l, &stopped, interrupted_text))
				executor_done(x, c, &stopped);
		} else if (ev.kind == LOOP_EV_SIGNAL && l->signals++ < 2) {
			for (size_t i = 0; i < x->n; i++) /* a second signal: no more grace */
				if (x->calls[i].state == CALL_EXECUTING)
					d->tool_cancel(d->ctx, x->calls[i].use->id, 0);
		} else if (ev.kind == LOOP_EV_BROKEN) {
			l->broken = true;
		}
	}
	executor_abort(x, interrupted_text);
}

/* One wait; a call that is done is noted. False: nothing (more) came until then, or the run must end. */
static bool take_event(struct loop *l, int64_t until)
{
	struct loop_event ev;

	if (!loop_wait(l, until, &ev))
		return false;
	if (ev.kind == LOOP_EV_TOOL) {
		struct executor_call *c = executor_find(&l->executor, ev.tool_use_id);
		if (c)
			executor_done(&l->executor, c, ev.result);
	}
	return ev.kind != LOOP_EV_NONE;
}

static void start_ready(struct loop *l)
{
	struct executor_call *c;

	while (!l->broken && !l->deps->output_full(l->deps->ctx) && (c = executor_next(&l->executor)))
		start_call(l, c);
}

/* Runs all queued calls. The results are in m, in call order, whatever happened. */
static void run_calls(struct loop *l, struct message *m, size_t *unusable)
{
	for (;;) {
		while (take_event(l, 0)) /* a signal that is there already must be seen before the next call starts */
			;
		if (loop_is_aborted(l) || l->nomem)
			break;
		start_ready(l);
		yield_ready(l, m, unusable);
		if (executor_idle(&l->executor))
			return;
		take_event(l, CLOCK_NEVER);
	}
	abort_calls(l);
	yield_ready(l, m, unusable);
}

static bool queue_calls(struct loop *l, size_t *ncalls)
{
	const struct message *m = l->reply.message;

	executor_clear(&l->executor);
	for (size_t i = 0; i < m->n; i++) {
		struct block *b = m->blocks[i];
		if (b->kind != BLOCK_TOOL_USE)
			continue;
		bool safe = l->deps->tool_class(l->deps->ctx, b->name) != TOOL_UNSAFE;
		if (executor_add(&l->executor, b, safe))
			return false;
		++*ncalls;
	}
	return true;
}

static int64_t used_cost(const struct loop *l)
{
	return l->account.cost_nano_usd;
}

static int64_t used_requests(const struct loop *l)
{
	return l->account.requests;
}

static int64_t used_calls(const struct loop *l)
{
	return l->account.tool_calls;
}

static const struct {
	int64_t (*used)(const struct loop *l);
	size_t offset;
} budgets[] = {
	{ account_tokens, offsetof(struct loop_config, token_budget) },
	{ used_cost, offsetof(struct loop_config, max_cost_nano_usd) },
	{ used_requests, offsetof(struct loop_config, max_requests) },
	{ used_calls, offsetof(struct loop_config, max_tool_calls) },
};

/* At 90 % of a hard budget the model is told, once, to come to an end. */
static void warn_of_budget(struct loop *l)
{
	for (size_t i = 0; i < sizeof budgets / sizeof *budgets && !l->account.warned; i++) {
		int64_t max = *(const int64_t *)((const char *)l->cfg + budgets[i].offset);
		int64_t used = budgets[i].used(l);
		if (max <= 0 || used < max - max / 10)
			continue;
		l->account.warned = true;
		loop_say(l, "The budget of this run is nearly spent. Finish now: do only what is still needed and give "
		            "your final answer.");
	}
}

struct verdict loop_run_tools(struct loop *l)
{
	struct loop_state next = l->state;
	struct message *results = message_new(ROLE_USER);
	size_t ncalls = 0, unusable = 0;

	reply_accept_lines(l);
	reply_store(l);
	next.turn_count += !l->state.same_turn;
	if (!results || !queue_calls(l, &ncalls)) {
		message_unref(results);
		l->nomem = true;
		return verdict_term(TERM_INTERNAL_ERROR);
	}
	int64_t before = l->account.tool_calls;
	run_calls(l, results, &unusable);
	l->state.turn_count = next.turn_count; /* the answer is accepted, however this ends */
	if (history_add(l->state.messages, results))
		l->nomem = true;
	if (l->nomem || l->broken)
		return verdict_term(TERM_INTERNAL_ERROR);
	if (loop_is_aborted(l))
		return verdict_term(TERM_ABORTED_TOOLS);
	if (l->cfg->max_tool_calls && l->account.tool_calls >= l->cfg->max_tool_calls &&
	    before + (int64_t)ncalls > l->cfg->max_tool_calls) {
		loop_add_error(l, "the tool call limit of %" PRId64 " is spent", l->cfg->max_tool_calls);
		return verdict_term(TERM_BUDGET_EXHAUSTED);
	}
	next.malformed = unusable == ncalls ? next.malformed + 1 : 0;
	if (next.malformed >= MAX_MALFORMED) {
		loop_add_error(l, "%d answers in a row held nothing but unusable tool calls", MAX_MALFORMED);
		return verdict_term(TERM_MALFORMED_TOOL_USE);
	}
	warn_of_budget(l);
	next.max_output_override = l->state.max_output_override;
	next.max_output_recovery_count = 0;
	next.pauses = 0;
	next.nudged = false;
	next.same_turn = false;
	return verdict_go(CONT_NEXT_TURN, &next);
}
