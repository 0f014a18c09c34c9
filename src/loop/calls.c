/*
 * The calls of one answer as they run: queued as soon as it is known that the answer was not cut in them, started one
 * after the other, and ended with the answer if it does not stand. What becomes of their results is for phase 3.
 */
#include "base/json.h"
#include "base/json_out.h"
#include "base/utf8.h"
#include "loop/state.h"

#include <stdlib.h>
#include <string.h>

#define CANCEL_GRACE_MS 2000
#define CANCEL_SLACK_MS 1000 /* a killed child's end is waited for that long */
#define SHOWN_BAD_INPUT 2000

static const char interrupted_text[] = "[Request interrupted by user for tool use]";

static void set_error_text(struct loop *l, struct tool_result *r, const char *text)
{
	*r = (struct tool_result){ .is_error = true, .text = strdup(text) };
	if (r->text)
		r->text_len = strlen(r->text);
	else
		l->nomem = true;
}

/* Input that is no JSON object: shown back to the model in the form that its vendor documents. */
static void refuse_bad_input(struct loop *l, const struct block *use, struct tool_result *r)
{
	struct buf b = BUF_INIT(SHOWN_BAD_INPUT * 8);
	size_t n = strlen(use->bad_input);
	struct error why = ERROR_INIT;

	buf_adds(&b, "InputValidationError: the tool input is not a JSON object");
	if (n > 0 && json_validate(use->bad_input, n, JSON_REPAIR | JSON_UNIQUE, NULL, &why))
		buf_addf(&b, " (%s)", why.msg);
	buf_adds(&b, ": {\"INVALID_JSON\":");
	json_quote(&b, use->bad_input, utf8_floor(use->bad_input, n, SHOWN_BAD_INPUT));
	buf_adds(&b, "}");
	set_error_text(l, r, buf_str(&b));
	r->invalid = true;
	buf_release(&b);
}

void calls_queue(struct loop *l, size_t nblocks)
{
	struct reply *a = &l->reply;

	for (; a->queued < nblocks && !l->nomem; a->queued++) {
		struct block *b = a->message->blocks[a->queued];
		if (b->kind != BLOCK_TOOL_USE)
			continue;
		bool safe = l->deps->tool_class(l->deps->ctx, b->name) != TOOL_UNSAFE;
		if (executor_add(&l->executor, b, safe))
			l->nomem = true;
	}
}

bool calls_may_start(struct loop *l)
{
	return !l->broken && executor_next(&l->executor) && !l->deps->output_full(l->deps->ctx);
}

/* A call is done. What its hooks said to the run holds whatever becomes of the answer. */
static void take_result(struct loop *l, struct executor_call *c, struct tool_result *res)
{
	if (c->state == CALL_EXECUTING && !res->ran)
		l->account.tool_calls--; /* it was denied before anything ran: somebody had to be asked first */
	if (res->ends_run && !l->hook_end) {
		l->hook_end = strdup(res->ends_run);
		l->nomem |= !l->hook_end;
	}
	executor_done(&l->executor, c, res);
}

static void start_call(struct loop *l, struct executor_call *c)
{
	const struct loop_config *cfg = l->cfg;
	struct tool_result now = { 0 };
	struct error e = ERROR_INIT;

	if (cfg->max_tool_calls && l->account.tool_calls >= cfg->max_tool_calls) {
		set_error_text(l, &now, "Error: the tool call limit of this run is reached, the call was not run.");
		l->over_call_limit = true;
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
		executor_started(&l->executor, c);
		break;
	case 0:
		if (now.ran)
			executor_started(&l->executor, c);
		take_result(l, c, &now);
		break;
	default:
		loop_break(l, &e);
	}
}

void calls_start(struct loop *l)
{
	while (calls_may_start(l))
		start_call(l, executor_next(&l->executor));
}

void calls_take(struct loop *l, struct loop_event *ev)
{
	struct executor_call *c = executor_find(&l->executor, ev->tool_use_id);

	if (c)
		take_result(l, c, ev->result);
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

static void cancel_executing(struct loop *l, int64_t grace)
{
	for (size_t i = 0; i < l->executor.n; i++)
		if (l->executor.calls[i].state == CALL_EXECUTING)
			l->deps->tool_cancel(l->deps->ctx, l->executor.calls[i].use->id, grace);
}

/* A second signal: no more grace. */
static void take_signal(struct loop *l, int signo)
{
	if (!loop_is_aborted(l))
		l->signo = signo;
	if (++l->signals == 2)
		cancel_executing(l, 0);
}

static void take_interrupted(struct loop *l, const struct loop_event *ev)
{
	struct executor_call *c = executor_find(&l->executor, ev->tool_use_id);
	struct tool_result stopped;

	if (!c)
		return;
	set_error_text(l, &stopped, interrupted_text);
	stopped.ran = ev->result->ran;
	take_result(l, c, &stopped);
}

/* Ends what runs and waits for it, but not for ever: a call that hangs in the kernel cannot be ended. */
static void end_executing(struct loop *l)
{
	const struct loop_deps *d = l->deps;
	int64_t grace = l->signals > 1 ? 0 : CANCEL_GRACE_MS;
	int64_t until = d->now(d->ctx) + grace + CANCEL_SLACK_MS;

	cancel_executing(l, grace);
	while (l->executor.executing && !l->broken && d->now(d->ctx) < until) {
		struct loop_event ev;
		if (!loop_next_event(l, until, &ev))
			break;
		if (ev.kind == LOOP_EV_TOOL) {
			take_interrupted(l, &ev);
		} else if (ev.kind == LOOP_EV_SIGNAL) {
			take_signal(l, ev.signo);
		} else if (ev.kind == LOOP_EV_INTERRUPT) {
			l->interrupted = true;
		} else if (ev.kind == LOOP_EV_BROKEN) {
			loop_break(l, &ev.error);
		}
	}
}

void calls_abort(struct loop *l)
{
	struct executor *x = &l->executor;
	size_t at = 0; /* what may have an effect runs alone: it is the only one that runs, or none is */

	while (at < x->n && x->calls[at].state != CALL_EXECUTING)
		at++;
	end_executing(l);
	executor_abort(x, interrupted_text);
	if (at < x->n && x->calls[at].started && !x->calls[at].read_only)
		note_side_effect(l, &x->calls[at]);
}

/* A call that could not be ended in time: its id must not be taken for another one's when its end comes after all. */
static void keep_stray(struct loop *l, struct block *use)
{
	struct block **grown = realloc(l->strays, (l->nstrays + 1) * sizeof *grown);

	if (!grown) {
		l->nomem = true;
		return;
	}
	l->strays = grown;
	l->strays[l->nstrays++] = block_ref(use);
}

bool calls_is_stray(const struct loop *l, const char *id)
{
	for (size_t i = 0; i < l->nstrays; i++)
		if (!strcmp(l->strays[i]->id, id))
			return true;
	return false;
}

void calls_discard(struct loop *l)
{
	struct executor *x = &l->executor;

	end_executing(l);
	for (size_t i = 0; i < x->n; i++)
		if (x->calls[i].started && !x->calls[i].read_only)
			note_side_effect(l, &x->calls[i]);
	for (size_t i = 0; i < x->n; i++)
		if (x->calls[i].state == CALL_EXECUTING)
			keep_stray(l, x->calls[i].use);
	if (x->n)
		l->deps->answer_withdrawn(l->deps->ctx);
	calls_forget(l);
}

void calls_forget(struct loop *l)
{
	executor_clear(&l->executor);
	l->over_call_limit = false;
}
