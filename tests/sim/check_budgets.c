/* What must hold of limits: that they are told as they are, that the model is told once when one is nearly spent, and
 * that it is asked to go on towards the token target as long as that is of use. */
#include "checks.h"

#include <stdio.h>

/* ---- limits ---- */

struct budget {
	const char *name;
	int64_t max, used;
	bool answers; /* when it is spent the model may still answer */
};

#define BUDGETS 6

static void fill(const struct sim *s, struct budget v[BUDGETS])
{
	const struct loop_config *c = &s->cfg;
	const struct witness *w = s->w;
	const struct budget all[BUDGETS] = {
		{ "max_turns", c->max_turns, w->turns, false },
		{ "token_budget", c->token_budget, w->tokens, false },
		{ "max_cost_usd", c->max_cost_nano_usd, w->cost, false },
		{ "max_requests", c->max_requests, sim_requests(s), false },
		{ "max_tool_calls", c->max_tool_calls, s->tool_runs, true },
		{ "wall_time_ms", c->wall_time_ms, s->clock - c->started, false },
	};

	memcpy(v, all, sizeof all);
}

static bool is_near(const struct budget *b)
{
	return b->max > 0 && b->used >= b->max - b->max / 10 && (b->used < b->max || b->answers);
}

static void check_lines(struct sim *s, const struct event_result *r)
{
	struct budget v[BUDGETS];
	size_t told = 0;

	fill(s, v);
	for (size_t k = 0; k < BUDGETS; k++)
		for (size_t i = 0; i < r->nlimits; i++) {
			const struct limit_line *l = &r->limits[i];
			if (strcmp(l->limit, v[k].name) != 0)
				continue;
			told++;
			if (l->max != v[k].max || l->used + l->left != l->max)
				sim_problem(s, "%s: %lld used, %lld left of %lld", l->limit, (long long)l->used,
				            (long long)l->left, (long long)l->max);
		}
	for (size_t k = 0; k < BUDGETS; k++)
		told -= v[k].max > 0;
	if (told)
		sim_problem(s, "not every limit is told once");
}

void check_limits(struct sim *s, const struct step *step)
{
	const struct event_result *r = &step->event->u.result;
	struct budget v[BUDGETS];
	bool spent = false;

	if (s->starved)
		return;
	check_lines(s, r);
	fill(s, v);
	for (size_t i = 1; i + 1 < BUDGETS; i++)
		spent |= v[i].max > 0 && v[i].used >= v[i].max;
	if (r->reason == TERM_BUDGET_EXHAUSTED && !spent)
		sim_problem(s, "no budget is spent");
	if (r->reason == TERM_MAX_TURNS && r->num_turns != s->cfg.max_turns)
		sim_problem(s, "the turns are over after %d of %lld", r->num_turns, (long long)s->cfg.max_turns);
	if (s->cfg.max_tool_calls && s->tool_runs > s->cfg.max_tool_calls)
		sim_problem(s, "%d calls of %lld", s->tool_runs, (long long)s->cfg.max_tool_calls);
}

/* ---- the note to come to an end ---- */

static bool awaits_server(const struct sim *s)
{
	const struct history *h = &s->history;
	char ids[1][64];

	return h->n > 1 && sim_open_server_calls(h, h->n - 1 - h->n % 2, ids, 1) > 0;
}

/* The model goes on behind results or an objection: is it to be told then? */
void witness_near(struct sim *s, enum continue_reason to)
{
	struct budget v[BUDGETS];
	bool near = false;

	if (to != CONT_NEXT_TURN && to != CONT_STOP_HOOK_BLOCKING && to != CONT_SALVAGED_STREAM)
		return;
	fill(s, v);
	v[3].used -= s->running_background; /* it was begun behind the note's place */
	for (size_t i = 1; i < BUDGETS; i++)
		near |= is_near(&v[i]);
	near = (near && !s->w->notes) || is_near(&v[0]);
	s->w->wants_note = near && !awaits_server(s) && !s->w->went_on;
}

void check_note(struct sim *s, const struct step *step)
{
	const struct event *ev = step->event;
	struct budget v[BUDGETS];
	bool near = false;

	if (ev->kind != EVENT_USER || ev->u.user.block->kind != BLOCK_TEXT)
		return;
	if (strstr(ev->u.user.block->text, NOTE_REVOKED)) {
		if (!s->w->noted && !s->w->notes)
			sim_problem(s, "a note is revoked that was not given");
		s->w->noted = false;
		s->w->notes = 0;
	}
	bool turns = sim_begins(ev->u.user.block->text, "The turns of this task are nearly");
	if (!turns && !sim_begins(ev->u.user.block->text, "The budget of this run"))
		return;
	if (s->w->noted || (!turns && s->w->notes++))
		sim_problem(s, "the model is told twice that a budget is nearly spent");
	s->w->noted = true;
	fill(s, v);
	/* the answer that was accepted last, but if it is judged again as a limit was met behind a nudge */
	bool again = !s->w->accepted && (s->w->said[HOOK_STOP] == (int)HOOK_SAYS_BLOCK || s->w->stop_context ||
	                                 s->w->said[HOOK_VERIFY] == (int)HOOK_SAYS_BLOCK);
	v[0].used += !s->w->in_turn && !again;
	for (size_t i = turns ? 0 : 1; i < (turns ? 1 : BUDGETS); i++)
		near |= is_near(&v[i]);
	if (!near)
		sim_problem(s, "no budget is nearly spent");
}

void check_noted(struct sim *s, const struct step *step)
{
	if (step->req->kind == MODEL_MAIN && s->w->wants_note && !s->w->noted)
		sim_problem(s, "the model is not told that a budget is nearly spent");
}

/* ---- the token target ---- */

static bool is_enough(const struct sim *s)
{
	return s->w->output >= s->cfg.token_target - s->cfg.token_target / 10;
}

/* What the nudges before this moment brought is of no use any more. */
static bool is_useless(const struct witness *w)
{
	return w->target_nudges >= 3 && w->output - w->output_then < 500 && w->last_gain < 500;
}

void check_target(struct sim *s, const struct step *step)
{
	const struct event *ev = step->event;
	struct witness *w = s->w;

	if (ev->kind != EVENT_TRANSITION || strcmp(ev->u.transition.reason, continue_row(CONT_TOKEN_BUDGET)->name) != 0)
		return;
	if (!s->cfg.token_target || (!w->output_unsure && (is_enough(s) || is_useless(w))))
		sim_problem(s, "nudge %d behind %lld of %lld tokens, the last gains are %lld and %lld",
		            w->target_nudges + 1, (long long)w->output, (long long)s->cfg.token_target,
		            (long long)w->last_gain, (long long)(w->output - w->output_then));
	w->last_gain = w->output - w->output_then;
	w->output_then = w->output;
	w->target_nudges++;
}

void check_target_met(struct sim *s, const struct step *step)
{
	const struct event_result *r = &step->event->u.result;
	const struct witness *w = s->w;
	struct budget v[BUDGETS];
	bool spent = false;

	fill(s, v);
	for (size_t i = 1; i < BUDGETS; i++)
		spent |= v[i].max > 0 && v[i].used >= v[i].max;
	if (r->reason == TERM_COMPLETED && s->cfg.token_target && !is_enough(s) && !is_useless(w) && !spent &&
	    r->num_turns < s->cfg.max_turns && !w->output_unsure)
		sim_problem(s, "completed with %lld of %lld tokens after %d nudges", (long long)w->output,
		            (long long)s->cfg.token_target, w->target_nudges);
}
