/* What must hold of hooks at the end of a run: when they are asked, and that they are heard. */
#include "checks.h"

#include <stdio.h>

#include "base/utf8.h"

/* An API error was there for them to be told of. */
static bool is_failure(enum terminal_reason r)
{
	return r == TERM_MODEL_ERROR || r == TERM_PROMPT_TOO_LONG || r == TERM_IMAGE_ERROR || r == TERM_MAX_OUTPUT ||
	       r == TERM_REFUSAL;
}

static void check_stop(struct sim *s, const struct hook_call *call)
{
	const struct witness *w = s->w;
	bool wish = w->last == CONT_EMPTY_NUDGE; /* the answer before it is judged when a limit is met */

	if (w->broke && !wish)
		sim_problem(s, "a stop hook is asked behind an API error");
	if (!w->accepted && !wish)
		sim_problem(s, "a stop hook is asked, and no answer was accepted");
	if (w->nopen)
		sim_problem(s, "a stop hook is asked, and '%s' is to be run", w->open_calls[0]);
	if (w->said[HOOK_STOP] != HOOKS_NOT_ASKED)
		sim_problem(s, "a stop hook is asked twice");
	if (call->stop_hook_active != (w->objections > 0))
		sim_problem(s, "stop_hook_active is %d after %d objections", call->stop_hook_active, w->objections);
}

void check_hook(struct sim *s, const struct step *step)
{
	const struct hook_call *call = step->hook;

	if (s->ended)
		sim_problem(s, "a hook is asked behind the result");
	if (s->running_model || s->running_safe || s->running_unsafe || s->running_hook)
		sim_problem(s, "a hook is asked while something runs");
	if (s->w->signalled || sim_signal_due(s) || s->clock >= s->cfg.deadline)
		sim_problem(s, "a hook is asked after a signal or the deadline");
	if (s->w->told_failure)
		sim_problem(s, "a hook is asked when the run has failed and this was told");
	if (call->kind == HOOK_STOP)
		check_stop(s, call);
	else if (call->kind == HOOK_STOP_FAILURE && (!call->category || !call->error))
		sim_problem(s, "hooks are not told what failed");
}

static bool holds(const struct message *m, const char *text)
{
	for (size_t k = 0; k < m->n; k++)
		if (m->blocks[k]->kind == BLOCK_TEXT && !strcmp(m->blocks[k]->text, text))
			return true;
	return false;
}

/* Nothing is begun meanwhile or behind; and an objection reaches the model. */
void check_hook_over(struct sim *s, const struct step *step)
{
	const struct witness *w = s->w;
	const struct model_request *req = step->req;

	if (s->running_hook)
		sim_problem(s, "something begins while a hook is asked");
	if (w->told_failure)
		sim_problem(s, "something begins behind the end by an API error");
	if (step->stage != AT_REQUEST || req->kind != MODEL_MAIN || w->last != CONT_STOP_HOOK_BLOCKING || w->attempts)
		return;
	if (!utf8_is_blank(w->objection, strlen(w->objection)) &&
	    !holds(req->messages->v[req->messages->n - 1], w->objection))
		sim_problem(s, "the objection '%s' is not sent", w->objection);
}

void check_objection(struct sim *s, const struct step *step)
{
	const struct event *ev = step->event;

	if (ev->kind != EVENT_TRANSITION)
		return;
	bool goes_on = !strcmp(ev->u.transition.reason, continue_row(CONT_STOP_HOOK_BLOCKING)->name);
	if (goes_on != (s->w->said[HOOK_STOP] == (int)HOOK_SAYS_BLOCK) || s->w->said[HOOK_STOP] == (int)HOOK_SAYS_END)
		sim_problem(s, "%s, and the hooks have said %d", ev->u.transition.reason, s->w->said[HOOK_STOP]);
}

/* The run ends as they have said. */
void check_heard(struct sim *s, const struct step *step)
{
	enum terminal_reason r = step->event->u.result.reason;
	const struct witness *w = s->w;
	const struct {
		enum terminal_reason reason;
		int said;
	} ends[] = { { TERM_COMPLETED, HOOK_SAYS_PASS },
		     { TERM_STOP_HOOK_PREVENTED, HOOK_SAYS_END },
		     { TERM_STOP_BLOCKS, HOOK_SAYS_BLOCK } };

	for (size_t i = 0; i < LENGTH(ends) && r != TERM_INTERNAL_ERROR; i++)
		if ((r == ends[i].reason) != (w->said[HOOK_STOP] == ends[i].said))
			sim_problem(s, "%s, and the hooks have said %d", terminal_row(r)->name, w->said[HOOK_STOP]);
	if (r == TERM_STOP_BLOCKS && (!s->cfg.max_stop_blocks || w->objections != s->cfg.max_stop_blocks))
		sim_problem(s, "%s after %d objections", terminal_row(r)->name, w->objections);
	if (is_failure(r) && !w->told_failure && !w->signalled && s->clock < s->cfg.deadline)
		sim_problem(s, "%s, and no hook is told", terminal_row(r)->name);
	if (is_failure(r) && w->signalled)
		sim_problem(s, "%s, and a signal came", terminal_row(r)->name);
	if (w->told_failure && !is_failure(r) && r != TERM_INTERNAL_ERROR && (r != TERM_ABORTED_TOOLS || !w->signalled))
		sim_problem(s, "%s, and the hooks were told of an API error", terminal_row(r)->name);
}
