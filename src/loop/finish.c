/* How a run ends: words, lines, the result event. */
#include "loop/state.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *vformat(const char *fmt, va_list ap)
{
	va_list again;

	va_copy(again, ap);
	int n = vsnprintf(NULL, 0, fmt, again);
	va_end(again);
	char *s = n < 0 ? NULL : malloc((size_t)n + 1);
	if (s)
		vsnprintf(s, (size_t)n + 1, fmt, ap);
	return s;
}

void loop_add_error(struct loop *l, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	char *line = vformat(fmt, ap);
	va_end(ap);
	char **grown = line ? realloc(l->errors, (l->nerrors + 1) * sizeof *grown) : NULL;
	if (!grown) {
		free(line);
		l->nomem = true;
		return;
	}
	l->errors = grown;
	l->errors[l->nerrors++] = line;
}

void loop_emit(struct loop *l, struct event *ev)
{
	struct error e = ERROR_INIT;

	/* Also when something broke: what is written may yet reach the events file, or a stdout that lives, and calls
	 * are answered there for whoever reads on. */
	if (!l->deps->emit(l->deps->ctx, ev, &e)) {
		journal_note(l, ev);
		return;
	}
	if (l->broken)
		return;
	if (e.code == ERR_NOMEM) {
		l->nomem = true;
		return;
	}
	loop_break(l, &e);
}

void loop_notice(struct loop *l, const char *code, const char *fmt, ...)
{
	struct event ev = { .kind = EVENT_NOTICE };
	va_list ap;

	va_start(ap, fmt);
	char *text = vformat(fmt, ap);
	va_end(ap);
	if (!text) {
		l->nomem = true;
		return;
	}
	ev.u.notice = (struct event_notice){ .code = code, .text = text };
	loop_emit(l, &ev);
	free(text);
}

void loop_drop_server_calls(struct loop *l)
{
	int dropped = history_drop_server_calls(l->state.messages);

	if (dropped < 0)
		l->nomem = true;
	if (dropped <= 0)
		return;
	loop_notice(
	        l, "server_call_dropped",
	        "a tool of the server's own has not answered; its call is taken out, as the turn does not wait for it");
	journal_state(l); /* words that follow would not be understood by who reads the record */
}

static void say(struct loop *l, const char *text)
{
	struct event ev = { .kind = EVENT_USER };
	struct block *b = block_new_text(text, strlen(text));

	if (!b || l->nomem) {
		block_unref(b);
		l->nomem = true;
		return;
	}
	ev.u.user = (struct event_user){ .block = b, .synthetic = true };
	loop_emit(l, &ev);
	if (history_add_user_block(l->state.messages, b))
		l->nomem = true;
}

static void say_what_waited(struct loop *l)
{
	if (l->unsaid.len)
		say(l, buf_str(&l->unsaid));
	buf_clear(&l->unsaid);
}

void loop_say(struct loop *l, const char *text)
{
	loop_drop_server_calls(l);
	say_what_waited(l);
	say(l, text);
}

bool loop_must_wait(const struct loop *l)
{
	const struct history *h = l->state.messages;
	bool answered = h->n && h->v[h->n - 1]->role == ROLE_ASSISTANT;

	if ((answered && l->state.same_turn) || (l->undecided && !reply_is_replied(&l->reply)))
		return true;
	return h->n > 1 && message_awaits_server(h->v[h->n - (answered ? 1 : 2)]);
}

void loop_say_behind(struct loop *l, const char *text)
{
	if (text)
		buf_addf(&l->unsaid, "%s%s", l->unsaid.len ? "\n" : "", text);
	if (l->unsaid.failed)
		l->nomem = true;
	if (!l->nomem && !loop_must_wait(l))
		say_what_waited(l);
}

bool loop_has_said(const struct loop *l, const char *text)
{
	const struct history *h = l->state.messages;
	const struct message *last = h->n ? h->v[h->n - 1] : NULL;

	for (size_t i = 0; last && last->role == ROLE_USER && i < last->n; i++)
		if (last->blocks[i]->kind == BLOCK_TEXT && strstr(last->blocks[i]->text, text))
			return true;
	return false;
}

/* Not an earlier failure, which was recovered from. */
static bool ends_by_failure(enum terminal_reason reason)
{
	return reason == TERM_MODEL_ERROR || reason == TERM_PROMPT_TOO_LONG || reason == TERM_IMAGE_ERROR;
}

/* An API failure that no recovery undid is shown exactly once, here. It never enters history. */
static void show_failure(struct loop *l)
{
	struct event ev = { .kind = EVENT_ASSISTANT };
	struct usage none = { 0 };

	if (!l->failed || !l->nerrors)
		return;
	ev.u.assistant = (struct event_assistant){
		.message_id = "synthetic",
		.model = "<synthetic>",
		.text = l->errors[l->nerrors - 1],
		.usage = &none,
		.error = l->failure.category,
	};
	loop_emit(l, &ev);
}

static void add_deadline(struct loop *l)
{
	long long ms = l->cfg->wall_time_ms;
	bool whole = ms % 1000 == 0;

	loop_add_error(l, "the wall time of %lld %s is over", whole ? ms / 1000 : ms, whole ? "s" : "ms");
}

static void add_default_error(struct loop *l, enum terminal_reason reason)
{
	bool cut_short = reason == TERM_INTERNAL_ERROR || reason == TERM_ABORTED_TOOLS; /* behind another end */

	if (l->nerrors && !cut_short)
		return;
	if (l->broken)
		loop_add_error(l, "%s", l->broken_error.msg);
	else if (l->nomem)
		loop_add_error(l, "out of memory");
	else if (l->signo)
		loop_add_error(l, "ended by signal %d (%s)", l->signo, strsignal(l->signo));
	else if (l->interrupted)
		loop_add_error(l, "interrupted by the user");
	else if (l->timed_out)
		add_deadline(l);
	else
		loop_add_error(l, "%s", terminal_row(reason)->text);
}

static size_t fill_limits(const struct loop *l, struct limit_line *v)
{
	const struct loop_config *c = l->cfg;
	const struct limit_line all[] = {
		{ "max_turns", c->max_turns, l->state.turn_count, 0, false },
		{ "token_budget", c->token_budget, account_tokens(l), 0, false },
		{ "max_cost_usd", c->max_cost_nano_usd, account_cost(l), 0, true },
		{ "max_requests", c->max_requests, l->account.requests, 0, false },
		{ "max_tool_calls", c->max_tool_calls, l->account.tool_calls, 0, false },
		{ "wall_time_ms", c->wall_time_ms, l->deps->now(l->deps->ctx) - c->started, 0, false },
	};
	size_t n = 0;

	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		if (all[i].max <= 0)
			continue;
		v[n] = all[i];
		v[n].left = v[n].max - v[n].used;
		n++;
	}
	return n;
}

#define MAX_LIMITS 8

static void emit_result(struct loop *l, struct loop_outcome *out)
{
	const struct account *a = &l->account;
	struct limit_line limits[MAX_LIMITS];
	struct denial *denials = calloc(l->ndenied + 1, sizeof *denials);
	size_t ndenials = denials ? l->ndenied : 0;
	struct event ev = { .kind = EVENT_RESULT };
	bool answered = out->reason == TERM_COMPLETED || out->reason == TERM_MAX_OUTPUT;

	for (size_t i = 0; i < ndenials; i++)
		denials[i] = (struct denial){ l->denied[i]->name, l->denied[i]->id, l->denied[i]->input };
	ev.u.result = (struct event_result){
		.reason = out->reason,
		.transient = out->transient,
		.exit_code = out->exit_code,
		.result = answered ? (l->result ? l->result : "") : NULL,
		.result_len = answered && l->result ? l->result_len : 0,
		.errors = (const char *const *)l->errors,
		.nerrors = l->nerrors,
		.duration_ms = l->deps->now(l->deps->ctx) - l->began,
		.duration_api_ms = a->api_ms,
		.num_turns = l->state.turn_count,
		.stop_reason = l->stop_reason,
		.cost_nano_usd = a->cost_unknown ? -1 : a->cost_nano_usd,
		.cost_lower_bound = a->cost_lower_bound,
		.usage = a->accepted,
		.models = a->models,
		.nmodels = a->nmodels,
		.denials = denials,
		.ndenials = ndenials,
		.transitions = l->transitions,
		.limits = limits,
		.nlimits = fill_limits(l, limits),
		.side_effects = (const char *const *)l->side_effects,
		.nside_effects = l->nside_effects,
		.retry_after_ms = out->reason == TERM_MODEL_ERROR ? l->failure.retry_after_ms : -1,
		.verification = l->verification,
		.api_error_status = ends_by_failure(out->reason) ? l->failure.http_status : 0,
	};
	loop_emit(l, &ev);
	free(denials);
}

void loop_finish(struct loop *l, enum terminal_reason reason, struct loop_outcome *out)
{
	/* memory that ran out once may be there again now: the result must still be written if it can */
	l->nomem = l->nomem && reason == TERM_INTERNAL_ERROR;
	summary_cancel(l);
	struct error unsettled = ERROR_INIT;
	const bool completed = reason == TERM_COMPLETED;
	if (l->deps->settle && l->deps->settle(l->deps->ctx, completed, &unsettled) && completed)
		reason = TERM_INTERNAL_ERROR;
	*out = (struct loop_outcome){ .reason = reason };
	out->transient = reason == TERM_MODEL_ERROR && l->failure.transient;
	if (reason == TERM_ABORTED_STREAMING || reason == TERM_ABORTED_TOOLS)
		out->signo = l->signo;
	out->exit_code = out->signo ? 128 + out->signo : terminal_exit_code(reason, out->transient);
	if (!completed) {
		show_failure(l);
		add_default_error(l, reason);
	}
	if (unsettled.code)
		loop_add_error(l, "%s", unsettled.msg);
	emit_result(l, out);
	if (l->broken && reason != TERM_INTERNAL_ERROR) {
		/* the answer is there but nobody could be told: that is no success */
		reason = out->reason = TERM_INTERNAL_ERROR;
		out->transient = false;
		out->signo = 0;
		out->exit_code = terminal_exit_code(reason, false);
		loop_add_error(l, "%s", l->broken_error.msg);
	}
	out->broken = l->broken;
	if (reason == TERM_COMPLETED)
		return;
	const char *text = l->nerrors ? l->errors[l->nerrors - 1] : terminal_row(reason)->text;
	if (l->nerrors > 1) /* what was tried against it */
		error_set(&out->error, ERR_SYS, "%s: %s (%.*s)", terminal_row(reason)->name, text,
		          (int)strcspn(l->errors[0], "\n"), l->errors[0]);
	else
		error_set(&out->error, ERR_SYS, "%s: %s", terminal_row(reason)->name, text);
}
