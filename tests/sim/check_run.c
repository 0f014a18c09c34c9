/* What must hold of events, calls, waits and the end. */
#include "checks.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- 1 ---- */

void check_results(struct sim *s, const struct step *step)
{
	const struct witness *w = s->w;
	const struct block *b = step->event->kind == EVENT_USER ? step->event->u.user.block : NULL;

	if (!b || b->kind != BLOCK_TOOL_RESULT)
		return;
	if (!list_has(w->open_calls, w->nopen, b->id))
		sim_problem(s, "a result for '%s', which was not called", b->id);
	if (list_has(w->answered, w->nanswered, b->id))
		sim_problem(s, "two results for '%s'", b->id);
	/* a quarter of the window at most, by the estimate's own measure, at four bytes a token; a note of it aside */
	int64_t window = s->cfg.context.window ? s->cfg.context.window : s->cfg.nfallbacks ? 0 : s->cfg.row->window;
	if (window && b->text && (int64_t)b->json_len > window + 500)
		sim_problem(s, "the result of '%s' takes %zu bytes in a window of %lld tokens", b->id, b->json_len,
		            (long long)window);
}

void check_all_answered(struct sim *s, const struct step *step)
{
	const struct witness *w = s->w;

	(void)step;
	for (size_t i = 0; i < w->nopen && !s->starved; i++)
		if (!list_has(w->answered, w->nanswered, w->open_calls[i]))
			sim_problem(s, "call '%s' has no result", w->open_calls[i]);
}

void check_history(struct sim *s, const struct step *step)
{
	struct error e = ERROR_INIT;

	(void)step;
	if (s->history.n && !s->starved && history_check(&s->history, false, &e))
		sim_problem(s, "at the end: %s", e.msg);
}

/* ---- 2 ---- */

void check_last_line(struct sim *s, const struct step *step)
{
	if (s->ended)
		sim_problem(s, "an event after the result");
	if ((step->event->kind == EVENT_INIT) != s->w->begins)
		sim_problem(s, "init is not the first line");
}

void check_one_result(struct sim *s, const struct step *step)
{
	(void)step;
	if (!s->out.broken && s->results != s->w->messages)
		sim_problem(s, "%d results of %d messages", s->results, s->w->messages);
}

/* ---- 3 ---- */

#define MAX_STEPS 200000

void check_steps(struct sim *s, const struct step *step)
{
	(void)step;
	if (s->steps > MAX_STEPS)
		sim_problem(s, "it does not end");
}

/* ---- 4: no recovery twice without progress; the same numbers as in the description, not the program's ---- */

struct guard {
	enum continue_reason to;
	const char *what;
	int used, most;
};

/* With the answer that is accepted now. */
static int unusable_in_a_row(const struct witness *w)
{
	return w->nopen > 0 && w->usable == 0 ? w->unusable + 1 : 0;
}

void check_guards(struct sim *s, const struct step *step)
{
	const struct witness *w = s->w;
	int models = (int)s->cfg.nfallbacks;
	const struct guard guards[] = {
		{ CONT_MAX_OUTPUT_ESCALATE, "raises of the output cap", w->escalations, 1 + models },
		{ CONT_MAX_OUTPUT_RECOVERY, "resumed answers", w->recoveries, 3 },
		{ CONT_COLLAPSE_DRAIN, "drains in a row", w->last == CONT_COLLAPSE_DRAIN, 1 },
		{ CONT_REACTIVE_COMPACT, "reactive compactions of a turn", w->reactives, 1 },
		{ CONT_EMPTY_NUDGE, "nudges", w->nudges, 1 },
		{ CONT_STOP_HOOK_BLOCKING, "objections of stop hooks", w->objections,
		  s->cfg.max_stop_blocks && w->said[HOOK_VERIFY] != (int)HOOK_SAYS_BLOCK ? s->cfg.max_stop_blocks
		                                                                         : INT_MAX },
		{ CONT_PAUSE_TURN, "pauses in a row", w->pauses, 5 },
		{ CONT_SALVAGED_STREAM, "salvaged answers in a row", w->salvages, 2 },
		{ CONT_MODEL_FALLBACK, "switches of the model", w->fallbacks, models },
		{ CONT_NEXT_TURN, "answers in a row with nothing but unusable calls", unusable_in_a_row(w) - 1, 4 },
	};

	if (step->event->kind == EVENT_MODEL_SWITCH && w->switches >= models)
		sim_problem(s, "%d switches of the model", w->switches + 1);
	if (step->event->kind != EVENT_TRANSITION)
		return;
	for (size_t i = 0; i < LENGTH(guards); i++)
		if (!strcmp(step->event->u.transition.reason, continue_row(guards[i].to)->name) &&
		    guards[i].used >= guards[i].most)
			sim_problem(s, "%d %s", guards[i].used + 1, guards[i].what);
}

/* A compaction that is not the answer to a refusal: no request of this turn was made yet. */
void check_breaker(struct sim *s, const struct step *step)
{
	if (step->event->kind == EVENT_STATUS && step->event->u.status.status && s->w->failures_in_a_row >= 3 &&
	    s->w->attempts == 0)
		sim_problem(s, "a compaction after %d failures in a row", s->w->failures_in_a_row);
}

/* A summary is a whole answer in words, and takes the place of something. The window is not filled up again and again.
 */
void check_summary(struct sim *s, const struct step *step)
{
	const struct event *ev = step->event;
	const struct witness *w = s->w;

	if (ev->kind == EVENT_COMPACT_BOUNDARY && w->bad_summary)
		sim_problem(s, "what is no summary was taken for one");
	if (ev->kind == EVENT_STATUS && ev->u.status.status && w->attempts == 0 && w->refills >= 3 &&
	    w->refilled + 1 == w->turns + !w->in_turn)
		sim_problem(s, "a compaction after %d in as many turns", w->refills);
}

/* A recovery has done what it is called for. */
void check_progress(struct sim *s, const struct step *step)
{
	const struct event *ev = step->event;

	if (ev->kind != EVENT_TRANSITION)
		return;
	if (!strcmp(ev->u.transition.reason, continue_row(CONT_COLLAPSE_DRAIN)->name) && !s->w->folded)
		sim_problem(s, "a drain that freed nothing");
	if (!strcmp(ev->u.transition.reason, continue_row(CONT_REACTIVE_COMPACT)->name) && !s->w->summed_up)
		sim_problem(s, "neither a compaction nor a cut took place");
}

/* A layer that says that it did something has freed something; a request for a summary is repeated three times at
 * most; and one compaction a turn, unless the server refused the prompt. */
void check_layers(struct sim *s, const struct step *step)
{
	const struct event *ev = step->event;

	if (ev->kind == EVENT_CONTEXT && ev->u.context.tokens_freed < 0)
		sim_problem(s, "%s made the conversation longer", ev->u.context.step);
	if (ev->kind == EVENT_STATUS && ev->u.status.status && s->w->compacting)
		sim_problem(s, "a compaction in a compaction");
	if (ev->kind == EVENT_STATUS && !ev->u.status.status && !s->w->compacting)
		sim_problem(s, "the end of a compaction that did not begin");
	if (ev->kind == EVENT_RESULT && s->w->compacting && !s->starved)
		sim_problem(s, "the result in a compaction");
	if (ev->kind == EVENT_COMPACT_BOUNDARY && s->history.weight >= s->w->weight_before)
		sim_problem(s, "a compaction made %zu of %zu", s->history.weight, s->w->weight_before);
}

/* ---- 5 ---- */

void check_shown_once(struct sim *s, const struct step *step)
{
	if (s->w->synthetics && step->event->kind != EVENT_RESULT)
		sim_problem(s, "an event between the error's line and the result");
}

void check_withheld(struct sim *s, const struct step *step)
{
	const struct event_result *r = &step->event->u.result;
	static const enum terminal_reason shown[] = { TERM_MODEL_ERROR, TERM_PROMPT_TOO_LONG, TERM_IMAGE_ERROR,
		                                      TERM_MAX_OUTPUT, TERM_REFUSAL };
	bool must = s->w->told_failure, told = false;

	/* a signal that was there before hooks could be told */
	must |= r->reason == TERM_ABORTED_TOOLS && (s->w->signalled || s->w->interrupted) && s->w->synthetics == 1;
	/* and what broke, or came, when the end was told */
	must |= s->w->ends && s->w->synthetics == 1 &&
	        (r->reason == TERM_INTERNAL_ERROR || r->reason == TERM_ABORTED_TOOLS);
	for (size_t i = 0; i < LENGTH(shown); i++)
		must |= r->reason == shown[i];
	if (s->starved)
		return;
	if (s->w->synthetics != must)
		sim_problem(s, "%d lines of an error for %s", s->w->synthetics, terminal_row(r->reason)->name);
	for (size_t i = 0; i < r->nerrors && must; i++)
		told |= !strncmp(r->errors[i], s->w->synthetic, sizeof s->w->synthetic - 1);
	if (must && !told)
		sim_problem(s, "the error's line is not among the errors");
}

/* ---- 6, 7 ---- */

void check_exclusive(struct sim *s, const struct step *step)
{
	if (s->running_unsafe || (!step->safe && s->running_safe))
		sim_problem(s, "'%s' overlaps another call", step->use->id);
	if ((size_t)s->running_safe >= s->cfg.tool_concurrency)
		sim_problem(s, "more than %zu calls at once", s->cfg.tool_concurrency);
	if (s->running_model && s->cfg.calls_wait)
		sim_problem(s, "'%s' starts before its answer is accepted", step->use->id);
}

/* A call that may have been cut is not what the model meant, however whole it looks. */
void check_whole(struct sim *s, const struct step *step)
{
	const struct witness *w = s->w;

	if (w->in_doubt && !strcmp(w->coming[w->ncoming - 1], step->use->id))
		sim_problem(s, "'%s' starts, and may have been cut", step->use->id);
}

/* A call of a withdrawn answer may come again if it only looked at something. */
void check_once(struct sim *s, const struct step *step)
{
	const struct witness *w = s->w;

	for (size_t i = 0; i < w->nran; i++)
		if (!strcmp(w->ran[i].id, step->use->id) &&
		    !(w->ran[i].withdrawn && (w->ran[i].safe || i < (size_t)w->first_run)))
			sim_problem(s, "call '%s' was run twice", step->use->id);
}

/* What was withdrawn may be asked for again, but not if it has done something: then only the result may tell of it. */
void check_told(struct sim *s, const struct step *step)
{
	const struct witness *w = s->w;

	if (step->event->kind == EVENT_TOMBSTONE && w->accepted_runs < w->nran && w->withdrawn_runs < w->nran)
		sim_problem(s, "the tools are not told that an answer is withdrawn");
}

void check_side_effects(struct sim *s, const struct step *step)
{
	const struct event_result *r = &step->event->u.result;
	const struct witness *w = s->w;

	for (size_t i = (size_t)w->first_run; i < w->nran && !s->starved; i++) {
		bool named = false;
		if (!w->ran[i].withdrawn || w->ran[i].safe)
			continue;
		for (size_t k = 0; k < r->nside_effects; k++)
			named |= strstr(r->side_effects[k], w->ran[i].id) != NULL;
		if (!named)
			sim_problem(s, "'%s' was run and withdrawn, and nobody is told", w->ran[i].id);
		if (!w->declined)
			sim_problem(s, "'%s' was run and withdrawn, and the run ends %s", w->ran[i].id,
			            terminal_row(r->reason)->name);
	}
}

/* ---- 8 ---- */

void check_no_life(struct sim *s, const struct step *step)
{
	if ((step->stage == AT_END && s->out.broken) || (s->supervisor_lost_at && s->clock >= s->supervisor_lost_at))
		return; /* nobody could be waited for: they are ended with the process, or were with the supervisor */
	if (s->running_safe || s->running_unsafe)
		sim_problem(s, "tools run at the end");
	if (s->running_model)
		sim_problem(s, "a model call runs at the end");
	if (s->running_hook)
		sim_problem(s, "a hook runs at the end");
	if (s->running_background)
		sim_problem(s, "a background call runs at the end");
}

/* ---- 10: the gate of calls ---- */

void check_start_gate(struct sim *s, const struct step *step)
{
	const char *id = step->use->id;

	if (s->ended)
		sim_problem(s, "'%s' starts after the result", id);
	if (s->w->signalled || s->w->interrupted || sim_signal_due(s))
		sim_problem(s, "'%s' starts after a signal", id);
	if (s->clock >= s->cfg.deadline)
		sim_problem(s, "'%s' starts after the deadline", id);
	if (s->clock >= s->full_from && s->clock < s->full_until)
		sim_problem(s, "'%s' starts while the output is full", id);
	if (s->cfg.max_tool_calls && s->tool_runs >= s->cfg.max_tool_calls)
		sim_problem(s, "'%s' is one call too many", id);
}

/* ---- further promises ---- */

/* A tombstone names all that was shown. */
void check_tombstone(struct sim *s, const struct step *step)
{
	if (step->event->kind == EVENT_TOMBSTONE && !s->starved &&
	    (int)step->event->u.tombstone.n != s->w->pending_lines)
		sim_problem(s, "%d lines were shown, %zu are withdrawn", s->w->pending_lines,
		            step->event->u.tombstone.n);
}

/* What does not stand is withdrawn before the turn begins again. */
void check_same_turn(struct sim *s, const struct step *step)
{
	static const enum continue_reason withdrawn[] = { CONT_MAX_OUTPUT_ESCALATE, CONT_MODEL_FALLBACK,
		                                          CONT_COLLAPSE_DRAIN, CONT_REACTIVE_COMPACT };

	for (size_t i = 0; step->event->kind == EVENT_TRANSITION && i < LENGTH(withdrawn); i++)
		if (!strcmp(step->event->u.transition.reason, continue_row(withdrawn[i])->name) && s->w->pending_lines)
			sim_problem(s, "%d lines are left behind", s->w->pending_lines);
	if (step->event->kind == EVENT_MODEL_SWITCH && s->w->unanswered)
		sim_problem(s, "%d calls have no result, and another model is asked", s->w->unanswered);
}

/* What the result says was used is what was. */
void check_account(struct sim *s, const struct step *step)
{
	const struct event_result *r = &step->event->u.result;
	const struct {
		const char *limit;
		int64_t used;
	} seen[] = {
		{ "token_budget", s->w->tokens },
		{ "max_cost_usd", s->w->cost },
		{ "max_requests", sim_requests(s) },
		{ "max_tool_calls", s->tool_runs },
	};

	for (size_t i = 0; i < r->nlimits && !s->starved; i++)
		for (size_t k = 0; k < LENGTH(seen); k++)
			if (!strcmp(r->limits[i].limit, seen[k].limit) && r->limits[i].used != seen[k].used)
				sim_problem(s, "%s: %lld are told, %lld were used", seen[k].limit,
				            (long long)r->limits[i].used, (long long)seen[k].used);
	if (r->api_error_status && r->api_error_status != s->w->status && !s->starved)
		sim_problem(s, "status %d is told, the last one was %d", r->api_error_status, s->w->status);
	if (r->reason == TERM_BLOCKING_LIMIT && s->w->guess)
		sim_problem(s, "a guess of the size ends the run");
	if (r->num_turns < s->w->turns || r->num_turns > s->w->turns + 1)
		sim_problem(s, "%d turns are told, %d were seen", r->num_turns, s->w->turns);
}

void check_end(struct sim *s, const struct step *step)
{
	const struct event_result *r = &step->event->u.result;
	const struct terminal_row *row = terminal_row(r->reason);

	if (r->num_turns > s->cfg.max_turns)
		sim_problem(s, "%d turns, %lld allowed", r->num_turns, (long long)s->cfg.max_turns);
	if ((r->exit_code == 0) != (r->reason == TERM_COMPLETED))
		sim_problem(s, "exit code %d for %s", r->exit_code, row->name);
	if ((r->reason == TERM_COMPLETED) == (r->nerrors > 0) && !s->starved)
		sim_problem(s, "%zu errors for %s", r->nerrors, row->name);
}

/* The loop waits without an end of its own, and there is nothing of its own to come. */
void check_background(struct sim *s, const struct step *step)
{
	bool full = s->clock >= s->full_from && s->clock < s->full_until;

	if (s->running_background && !s->running_model && !s->running_safe && !s->running_unsafe && !s->running_hook &&
	    !full && !s->w->undying && !s->w->backs_off && step->until >= s->cfg.deadline && step->until > s->clock)
		sim_problem(s, "it waits for the background call");
}

/* When nobody reads the run ends at once, but for the hooks that are told of its end. */
void check_unread(struct sim *s, const struct step *step)
{
	if (s->w->unread && step->until > s->clock + (s->running_hook && s->w->ends ? 1500 : 0))
		sim_problem(s, "it waits, and stdout is gone");
}
