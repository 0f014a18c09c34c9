/*
 * Phase 1: before each new request of the main model the conversation is made to fit: the layers of the context room,
 * a compaction at its mark, and the blocking limit behind it. The same request sent once more is left as it is, as is
 * what recovery made for it: the server is the judge of that.
 */
#include "base/json.h"
#include "loop/state.h"

#include <inttypes.h>
#include <string.h>

#define MAX_REFILLS  3
#define LEAST_WINDOW 1000 /* a server that names less does not speak of a window */

int64_t loop_tokens(const struct loop *l)
{
	return estimate_tokens(&l->estimate, l->state.messages, l->fixed_bytes);
}

int64_t loop_thinking_budget(const struct loop *l)
{
	const char *text = l->cfg->thinking_json;
	struct json doc = JSON_INIT;
	int64_t budget = 0;

	if (!text || (l->without & WITHOUT_THINKING) || json_parse(&doc, text, strlen(text), JSON_BORROW, NULL))
		return 0;
	if (json_eq(&doc, json_get(&doc, json_root(&doc), "type"), "enabled"))
		budget = json_int_or(&doc, json_get(&doc, json_root(&doc), "budget_tokens"), 1);
	json_release(&doc);
	return budget;
}

/* Marks that the job set for one window need not ascend in another: then ours hold there, but for what is off. */
static void use_own_marks(struct context_spec *spec)
{
	struct job_mark *const marks[] = { &spec->microcompact, &spec->collapse, &spec->snip, &spec->autocompact,
		                           &spec->blocking };

	for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
		if (marks[i]->kind != MARK_OFF)
			marks[i]->kind = MARK_AUTO;
}

void loop_set_marks(struct loop *l)
{
	const struct catalog_row *row = loop_row(l);
	struct context_spec spec = l->cfg->context;
	struct context_model m = { .thinking_bound = row->flags & CAT_THINKING_BOUND,
		                   .thinking_budgeted = loop_thinking_budget(l) > 0 };
	int64_t cap = l->cfg->max_output_tokens ? l->cfg->max_output_tokens : catalog_default_max_output(row);
	struct error e = ERROR_INIT;

	if (l->window)
		spec.window = l->window;
	if (context_marks(&spec, row->window, cap, l->estimate.bytes_per_token, &m.marks, &e)) {
		if (l->messages) /* else it was told when the window was learned, by the process before */
			loop_notice(l, "context_marks", "%s; the default marks hold for %s", e.msg, loop_model(l));
		use_own_marks(&spec);
		(void)context_marks(&spec, row->window, cap, l->estimate.bytes_per_token, &m.marks, &e);
	}
	context_set_model(l->context, &m);
}

void loop_use_model(struct loop *l, size_t index)
{
	l->model = index;
	l->estimate.bytes_per_token = loop_row(l)->flags & CAT_DENSE_TOKENS ? 3 : 4;
	l->window = 0;
	loop_set_marks(l);
}

void loop_learn_window(struct loop *l, int64_t limit)
{
	int64_t known = context_marks_now(l->context)->window;

	if (limit < LEAST_WINDOW || (known && known <= limit))
		return;
	l->window = limit;
	loop_notice(l, "window_learned", "the server takes %" PRId64 " tokens at most; that is the window from now on",
	            limit);
	loop_set_marks(l);
}

int64_t loop_fitting_tokens(const struct loop *l)
{
	const struct context_marks *m = context_marks_now(l->context);
	int64_t mark = m->blocking ? m->blocking : m->usable;

	return m->window ? mark - mark / 16 : INT64_MAX;
}

void loop_take_report(struct loop *l, const struct context_report *report)
{
	for (size_t i = 0; i < report->n; i++) {
		struct event ev = { .kind = EVENT_CONTEXT };
		ev.u.context = (struct event_context){ .step = report->steps[i].name,
			                               .tokens_before = report->steps[i].before,
			                               .tokens_freed = report->steps[i].freed };
		loop_emit(l, &ev);
	}
	if (report->n)
		l->cap_room = 0;
	if (report->thinking_broken)
		l->without_once |= WITHOUT_THINKING;
}

static bool layers(struct loop *l)
{
	struct context_report report = { 0 };

	if (context_prepare(l->context, l->state.messages, loop_tokens(l), &report))
		l->nomem = true;
	loop_take_report(l, &report);
	return !l->nomem;
}

/* At its mark, once a turn. Turns that fill the window up again and again are not worth their compactions. */
static bool autocompact(struct loop *l, enum terminal_reason *stopped)
{
	const struct context_marks *m = context_marks_now(l->context);
	const struct compact_tracking *t = &l->state.compact;
	int turn = loop_turn(l);

	if (!m->autocompact || loop_tokens(l) < m->autocompact || t->tried == turn || loop_compact_is_off(l) ||
	    !loop_can_compact(l))
		return true;
	if (t->in_a_row >= MAX_REFILLS && t->last_turn + 1 == turn) {
		loop_add_error(l,
		               "the conversation was made shorter before each of the last %d turns, and filled the "
		               "context window again in each",
		               t->in_a_row);
		*stopped = TERM_RAPID_REFILL;
		return false;
	}
	enum compact_outcome outcome = loop_compact(l, false, stopped);
	if (!l->falls_back)
		l->state.compact.tried = turn;
	return outcome != COMPACT_STOPPED;
}

/* Asks the server how many tokens the next request has. False: the run ends. Else the estimate is anchored if it knew.
 */
static bool count_tokens(struct loop *l, enum terminal_reason *stopped)
{
	struct call_failure failure = { .retry_after_ms = -1 };
	struct call c = {
		.kind = MODEL_COUNT,
		.model = loop_model(l),
		.row = loop_row(l),
		.messages = l->state.messages,
		.without = l->without_once,
		.new_turn = !l->state.same_turn,
		.failure = &failure,
	};
	enum call_result r = loop_call(l, &c, stopped);

	if (r == CALL_ACCEPTED)
		estimate_anchor(&l->estimate, &l->reply.usage, l->state.messages);
	l->cannot_count = l->estimate.anchor_tokens < 0;
	call_failure_release(&failure);
	reply_release(&l->reply);
	return r != CALL_STOPPED;
}

/* The blocking limit. A guess does not stop a run: only a count does, the server's or one that follows from it. */
static bool fits(struct loop *l, enum terminal_reason *stopped)
{
	const struct context_marks *m = context_marks_now(l->context);

	if (!m->blocking || loop_tokens(l) < m->blocking)
		return true;
	if (l->estimate.anchor_tokens < 0 && !l->cannot_count && !count_tokens(l, stopped))
		return false;
	if (l->estimate.anchor_tokens < 0 || loop_tokens(l) < m->blocking)
		return true;
	if (results_refit(l, loop_fitting_tokens(l)) && loop_tokens(l) < m->blocking)
		return true;
	if (l->nomem)
		return false;
	if (l->compact_error)
		loop_add_error(l, "making the conversation shorter failed: %s", l->compact_error);
	loop_add_error(l,
	               "the conversation takes %" PRId64 " tokens, and may take %" PRId64 " of the window of %" PRId64
	               "; nothing was sent",
	               loop_tokens(l), m->blocking - 1, m->window);
	*stopped = TERM_BLOCKING_LIMIT;
	return false;
}

bool loop_is_new_request(enum continue_reason from)
{
	return from == CONT_NONE || from == CONT_MODEL_FALLBACK || continue_row(from)->new_turn;
}

bool loop_prepare(struct loop *l, enum terminal_reason *stopped)
{
	if (!loop_is_new_request(l->state.transition))
		return true;
	if (!loop_pass_gate(l, !l->state.same_turn, false, stopped))
		return false;
	if (l->state.transition == CONT_NONE && context_note_task(l->context, l->state.messages))
		l->nomem = true;
	*stopped = TERM_INTERNAL_ERROR; /* out of memory */
	return layers(l) && autocompact(l, stopped) && fits(l, stopped) && !l->nomem;
}
