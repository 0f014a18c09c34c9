/* What must hold of hooks: when they are asked, and that they are heard. */
#include "checks.h"

#include <stdio.h>

#include "base/utf8.h"

#define PASS  ((int)HOOK_SAYS_PASS)
#define BLOCK ((int)HOOK_SAYS_BLOCK)
#define END   ((int)HOOK_SAYS_END)

/* An API error was there for them to be told of. */
static bool is_failure(enum terminal_reason r)
{
	return r == TERM_MODEL_ERROR || r == TERM_PROMPT_TOO_LONG || r == TERM_IMAGE_ERROR || r == TERM_MAX_OUTPUT ||
	       r == TERM_REFUSAL;
}

/* ---- when each is asked ---- */

static void check_session_start(struct sim *s, const struct hook_call *call)
{
	const struct witness *w = s->w;

	if (!strcmp(call->source, "compact")) {
		if (w->compact_starts >= w->boundaries || w->compacting)
			sim_problem(s, "a session starts from a compaction that did not end");
		return;
	}
	if (!s->cfg.source || strcmp(call->source, s->cfg.source) != 0)
		sim_problem(s, "the session's source is '%s'", call->source);
	if (w->starts || !w->begins || s->requests != w->requests_before)
		sim_problem(s, "a session starts that has started");
}

static void check_prompt_submit(struct sim *s, const struct hook_call *call)
{
	const struct witness *w = s->w;

	const char *prompt = w->arrival ? w->arrival : w->prompt;

	if (!call->prompt || !sim_begins(call->prompt, prompt))
		sim_problem(s, "the prompt is told as '%.60s'", call->prompt ? call->prompt : "");
	if ((!w->arrival && s->requests != w->requests_before) || w->said[HOOK_USER_PROMPT_SUBMIT] != HOOKS_NOT_ASKED)
		sim_problem(s, "hooks are asked about a prompt that is worked on");
}

static void check_batch(struct sim *s, const struct hook_call *call)
{
	const struct witness *w = s->w;

	if (!w->nopen || w->nanswered < w->nopen)
		sim_problem(s, "a batch of %zu calls is judged, %zu are at their end", w->nopen, w->nanswered);
	if (w->said[HOOK_POST_TOOL_BATCH] != HOOKS_NOT_ASKED)
		sim_problem(s, "a batch is judged twice");
	for (size_t i = 0; i < w->nopen; i++)
		if (!call->tool_calls || !strstr(call->tool_calls, w->open_calls[i]))
			sim_problem(s, "'%s' is not among the calls that hooks are told of", w->open_calls[i]);
}

static void check_pre_compact(struct sim *s, const struct hook_call *call)
{
	if (!call->trigger || strcmp(call->trigger, "auto") != 0)
		sim_problem(s, "no trigger of a compaction is told");
	if (s->w->precompacts >= 2) /* at the mark, and when the server refused the prompt */
		sim_problem(s, "hooks are asked a third time whether the conversation may be made shorter");
}

static void check_post_compact(struct sim *s, const struct hook_call *call)
{
	const struct witness *w = s->w;

	if (w->compact_ends >= w->boundaries)
		sim_problem(s, "a compaction is told that did not take place");
	if (!call->summary || !*call->summary)
		sim_problem(s, "no summary is told");
}

/* The wish behind a nudge; the answer before it is judged when a limit is met on its way. */
static bool is_wish(const struct witness *w)
{
	return w->asked == CONT_EMPTY_NUDGE || w->asked == CONT_TOKEN_BUDGET;
}

static void check_stop(struct sim *s, const struct hook_call *call)
{
	const struct witness *w = s->w;
	bool wish = is_wish(w);

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

static void check_verify(struct sim *s, const struct hook_call *call)
{
	const struct witness *w = s->w;

	if (w->said[HOOK_STOP] != PASS && sim_has_hook(s, HOOK_STOP))
		sim_problem(s, "the verification runs, and stop hooks have said %d", w->said[HOOK_STOP]);
	if (w->nopen || (!w->accepted && !is_wish(w)))
		sim_problem(s, "the verification runs, and the model is not done");
	if (w->said[HOOK_VERIFY] != HOOKS_NOT_ASKED)
		sim_problem(s, "the verification runs twice");
	if (call->attempt != w->verified)
		sim_problem(s, "attempt %d of the verification, %d were before", call->attempt, w->verified);
}

static void check_failure(struct sim *s, const struct hook_call *call)
{
	if (!call->category || !call->error)
		sim_problem(s, "hooks are not told what failed");
	if (s->w->told_failure)
		sim_problem(s, "a failure is told twice");
}

static void check_session_end(struct sim *s, const struct hook_call *call)
{
	if (s->w->ends)
		sim_problem(s, "the session ends twice");
	if (!call->reason || strcmp(call->reason, "other") != 0)
		sim_problem(s, "no reason of the session's end is told");
}

static void (*const of_kind[HOOK_EVENTS])(struct sim *s, const struct hook_call *call) = {
	[HOOK_SESSION_START] = check_session_start,
	[HOOK_USER_PROMPT_SUBMIT] = check_prompt_submit,
	[HOOK_POST_TOOL_BATCH] = check_batch,
	[HOOK_PRE_COMPACT] = check_pre_compact,
	[HOOK_POST_COMPACT] = check_post_compact,
	[HOOK_STOP] = check_stop,
	[HOOK_VERIFY] = check_verify,
	[HOOK_STOP_FAILURE] = check_failure,
	[HOOK_SESSION_END] = check_session_end,
};

void check_hook(struct sim *s, const struct step *step)
{
	const struct hook_call *call = step->hook;
	const struct witness *w = s->w;
	bool end = call->kind == HOOK_SESSION_END;
	bool lost = w->unread || (s->supervisor_lost_at && s->clock >= s->supervisor_lost_at);

	if (s->ended && !(end && s->closing))
		sim_problem(s, "a hook is asked behind the result");
	if ((s->running_model || s->running_safe || s->running_unsafe || s->running_hook) && !(end && lost))
		sim_problem(s, "a hook is asked while something runs");
	if (!end && (w->signalled || w->interrupted || sim_signal_due(s) || s->clock >= s->cfg.deadline))
		sim_problem(s, "a hook is asked after a signal or the deadline");
	if (!end && (w->told_failure || w->hook_ended || w->ends))
		sim_problem(s, "%s is asked when the run is at its end", hook_event_name(call->kind));
	if (of_kind[call->kind])
		of_kind[call->kind](s, call);
	else
		sim_problem(s, "%s is not the loop's business", hook_event_name(call->kind));
}

/* ---- what may follow ---- */

static bool holds(const struct message *m, const char *text)
{
	for (size_t k = 0; k < m->n; k++)
		if (m->blocks[k]->kind == BLOCK_TEXT && strstr(m->blocks[k]->text, text))
			return true;
	return false;
}

/* Who has a word in it was asked before. */
void check_asked(struct sim *s, const struct step *step)
{
	const struct witness *w = s->w;

	if (s->requests == w->requests_before + 1 && !w->goes_on && sim_has_hook(s, HOOK_USER_PROMPT_SUBMIT) &&
	    w->said[HOOK_USER_PROMPT_SUBMIT] != PASS)
		sim_problem(s, "a prompt is sent, and hooks have said %d", w->said[HOOK_USER_PROMPT_SUBMIT]);
	if (step->req->kind != MODEL_MAIN)
		return;
	if (sim_has_hook(s, HOOK_POST_COMPACT) && w->compact_ends != w->boundaries)
		sim_problem(s, "%d compactions were told of %d", w->compact_ends, w->boundaries);
	if (sim_has_hook(s, HOOK_SESSION_START) && (w->compact_starts != w->boundaries || w->starts != 1))
		sim_problem(s, "%d starts behind a compaction were told of %d, and %d others", w->compact_starts,
		            w->boundaries, w->starts);
}

/* Nothing is begun meanwhile or behind; and an objection reaches the model. */
void check_hook_over(struct sim *s, const struct step *step)
{
	const struct witness *w = s->w;
	const struct model_request *req = step->req;

	if (s->running_hook)
		sim_problem(s, "something begins while a hook is asked");
	if (w->told_failure || w->ends)
		sim_problem(s, "something begins when the end was told");
	if (w->hook_ended)
		sim_problem(s, "something begins when a hook has ended the run");
	if (step->stage != AT_REQUEST)
		return;
	if (req->kind == MODEL_COMPACT && sim_has_hook(s, HOOK_PRE_COMPACT) &&
	    (w->said[HOOK_PRE_COMPACT] == BLOCK || w->said[HOOK_PRE_COMPACT] < 0))
		sim_problem(s, "a summary is asked for, and hooks have said %d", w->said[HOOK_PRE_COMPACT]);
	if (req->kind != MODEL_MAIN || w->last != CONT_STOP_HOOK_BLOCKING || w->attempts)
		return;
	if (!utf8_is_blank(w->objection, strlen(w->objection)) &&
	    !holds(req->messages->v[req->messages->n - 1], w->objection))
		sim_problem(s, "the objection '%s' is not sent", w->objection);
}

void check_objection(struct sim *s, const struct step *step)
{
	const struct event *ev = step->event;
	const struct witness *w = s->w;

	if (ev->kind != EVENT_TRANSITION)
		return;
	bool goes_on = !strcmp(ev->u.transition.reason, continue_row(CONT_STOP_HOOK_BLOCKING)->name);
	bool by_stop = w->said[HOOK_STOP] == BLOCK || w->stop_context, by_verify = w->said[HOOK_VERIFY] == BLOCK;
	if (goes_on != (by_stop || by_verify) || w->said[HOOK_STOP] == END || w->hook_ended)
		sim_problem(s, "%s, and the hooks have said %d and %d", ev->u.transition.reason, w->said[HOOK_STOP],
		            w->said[HOOK_VERIFY]);
	bool tools = !strcmp(ev->u.transition.reason, continue_row(CONT_NEXT_TURN)->name) ||
	             !strcmp(ev->u.transition.reason, continue_row(CONT_SALVAGED_STREAM)->name);
	if (tools && w->nopen && sim_has_hook(s, HOOK_POST_TOOL_BATCH) && w->said[HOOK_POST_TOOL_BATCH] != PASS)
		sim_problem(s, "a batch of calls is sent, and hooks have said %d", w->said[HOOK_POST_TOOL_BATCH]);
	if (goes_on && by_verify && w->repairs_asked >= s->cfg.max_repairs)
		sim_problem(s, "repair %d of %d", w->repairs_asked + 1, s->cfg.max_repairs);
}

/* ---- the run ends as they have said ---- */

/* A hook that has the run end is heard, unless there is something else that ends it. */
static void check_hook_ended(struct sim *s, const struct event_result *r)
{
	const struct witness *w = s->w;
	bool aborted = r->reason == TERM_ABORTED_TOOLS || r->reason == TERM_ABORTED_STREAMING;
	bool stopped = w->signalled || w->interrupted || s->clock >= s->cfg.deadline;
	bool beside = (r->reason == TERM_PERMISSION_DENIED && s->cfg.denied_ends) || r->reason == TERM_REFUSAL ||
	              (r->reason == TERM_BUDGET_EXHAUSTED && s->cfg.max_tool_calls) || (aborted && stopped);

	if (r->reason == TERM_HOOK_STOPPED ? !w->hook_ended : w->hook_ended && !beside)
		sim_problem(s, "%s, and %s hook has ended the run", terminal_row(r->reason)->name,
		            w->hook_ended ? "a" : "no");
}

static void check_session_over(struct sim *s)
{
	const struct witness *w = s->w;
	bool last = !sim_more_to_come(s) || w->signalled;

	if (sim_has_hook(s, HOOK_SESSION_END) && (last ? w->ends != 1 : w->ends && s->clock < s->cfg.deadline))
		sim_problem(s, "the session has ended %d times, and this is %s end", w->ends, last ? "its" : "not its");
	if (!w->starts && sim_has_hook(s, HOOK_SESSION_START) && !w->signalled && !w->interrupted &&
	    s->clock < s->cfg.deadline)
		sim_problem(s, "no hook is told that the session starts");
}

/* At every way out, and once. */
void check_closed(struct sim *s, const struct step *step)
{
	(void)step;
	if (sim_has_hook(s, HOOK_SESSION_END) && s->w->ends != 1 && !s->starved && !s->dead && s->w->messages)
		sim_problem(s, "hooks were told %d times that the session ends", s->w->ends);
}

static void check_verified(struct sim *s, const struct event_result *res)
{
	const struct verification *v = &res->verification;
	enum terminal_reason r = res->reason;
	const struct witness *w = s->w;

	if (v->runs != w->verify_runs || v->failures != w->verify_failures ||
	    v->passed != (w->verify_runs > 0 && w->verify_passed))
		sim_problem(s, "%d runs of the verification are told, %d failed, and %d of %d did", v->runs,
		            v->failures, w->verify_failures, w->verify_runs);

	if (r == TERM_VERIFY_FAILED && (w->said[HOOK_VERIFY] != BLOCK || w->repairs_asked != s->cfg.max_repairs))
		sim_problem(s, "it said %d, and %d of %d repairs were tried", w->said[HOOK_VERIFY], w->repairs_asked,
		            s->cfg.max_repairs);
	if (r == TERM_COMPLETED && sim_has_hook(s, HOOK_VERIFY) && w->said[HOOK_VERIFY] != PASS)
		sim_problem(s, "completed, and the verification has said %d", w->said[HOOK_VERIFY]);
}

void check_heard(struct sim *s, const struct step *step)
{
	enum terminal_reason r = step->event->u.result.reason;
	const struct witness *w = s->w;
	const struct {
		enum terminal_reason reason;
		int said;
	} ends[] = { { TERM_STOP_HOOK_PREVENTED, END }, { TERM_STOP_BLOCKS, BLOCK } };

	if (r == TERM_INTERNAL_ERROR)
		return;
	bool aborted = r == TERM_ABORTED_TOOLS || r == TERM_ABORTED_STREAMING;
	if (aborted && !w->signalled && !w->interrupted && s->clock < s->cfg.deadline)
		sim_problem(s, "nothing has cut this message short");
	if (w->signalled && !aborted && r != TERM_INTERNAL_ERROR)
		sim_problem(s, "%s, and a signal came", terminal_row(r)->name);
	check_hook_ended(s, &step->event->u.result);
	check_session_over(s);
	check_verified(s, &step->event->u.result);
	if (r == TERM_COMPLETED && sim_has_hook(s, HOOK_STOP) && w->said[HOOK_STOP] != PASS)
		sim_problem(s, "completed, and the hooks have said %d", w->said[HOOK_STOP]);
	for (size_t i = 0; i < LENGTH(ends); i++)
		if (r == ends[i].reason && w->said[HOOK_STOP] != ends[i].said && !w->stop_context)
			sim_problem(s, "%s, and the hooks have said %d", terminal_row(r)->name, w->said[HOOK_STOP]);
	if (w->said[HOOK_STOP] == END && r != TERM_STOP_HOOK_PREVENTED && !(aborted && w->signalled))
		sim_problem(s, "%s, and a stop hook has ended the run", terminal_row(r)->name);
	if (r == TERM_STOP_BLOCKS && (!s->cfg.max_stop_blocks || w->objections != s->cfg.max_stop_blocks))
		sim_problem(s, "%s after %d objections", terminal_row(r)->name, w->objections);
	bool stopped = w->signalled || w->interrupted;
	if (is_failure(r) && !w->told_failure && !stopped && s->clock < s->cfg.deadline &&
	    sim_has_hook(s, HOOK_STOP_FAILURE))
		sim_problem(s, "%s, and no hook is told", terminal_row(r)->name);
	if (w->told_failure && !is_failure(r) && (r != TERM_ABORTED_TOOLS || !w->signalled))
		sim_problem(s, "%s, and the hooks were told of an API error", terminal_row(r)->name);
}
