/*
 * What the model is told beside the task and behind its results: what hooks say for it, files of directories that were
 * touched for the first time, what the user has sent meanwhile, and that a budget is nearly spent. While an answer
 * waits for a tool of the server's, nothing but results may follow it: then all of this comes at the next chance.
 */
#include "loop/state.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HOOK_SAYS "<system-reminder>\nThe %s hook says:\n"

void loop_tell_context(struct loop *l, enum hook_event from, const char *text)
{
	struct buf b = BUF_INIT(BUF_HUGE);

	if (!text)
		return;
	buf_addf(&b, HOOK_SAYS "%s\n</system-reminder>", hook_event_name(from), text);
	if (b.failed)
		l->nomem = true;
	else
		loop_say_behind(l, buf_str(&b));
	buf_release(&b);
}

bool loop_is_context(const char *text, enum hook_event from)
{
	char begin[80];
	int n = snprintf(begin, sizeof begin, HOOK_SAYS, hook_event_name(from));

	return !strncmp(text, begin, (size_t)n);
}

/* ---- budgets ---- */

static int64_t used_turns(const struct loop *l)
{
	return l->state.turn_count;
}

static int64_t used_requests(const struct loop *l)
{
	return l->account.requests;
}

static int64_t used_calls(const struct loop *l)
{
	return l->account.tool_calls;
}

static int64_t used_time(const struct loop *l)
{
	return l->deps->now(l->deps->ctx) - l->cfg->started;
}

static const struct {
	int64_t (*used)(const struct loop *l);
	size_t offset;
	bool answers; /* when it is spent the model may still answer */
	bool anew;    /* each message has its own */
	bool session; /* counts on where another process had begun */
} budgets[] = {
	{ account_tokens, offsetof(struct loop_config, token_budget), false, false, true },
	{ account_cost, offsetof(struct loop_config, max_cost_nano_usd), false, false, true },
	{ used_requests, offsetof(struct loop_config, max_requests), false, false, false },
	{ used_calls, offsetof(struct loop_config, max_tool_calls), true, false, false },
	{ used_turns, offsetof(struct loop_config, max_turns), false, true, false },
	{ used_time, offsetof(struct loop_config, wall_time_ms), false, false, false },
};

static bool is_near(const struct loop *l, size_t budget)
{
	int64_t max = *(const int64_t *)((const char *)l->cfg + budgets[budget].offset);

	return max > 0 && budgets[budget].used(l) >= max - max / 10;
}

#define FINISH      "Finish now: do only what is still needed and give your final answer."
#define TURNS_NEAR  "The turns of this task are nearly used up. " FINISH
#define BUDGET_NEAR "The budget of this run is nearly spent. " FINISH

/* At 90 % of a limit the model is told, once, to come to an end; not if nobody is going to read it. What is said of one
 * message's turns must not hurry the next. */
static void warn_of_budget(struct loop *l)
{
	for (size_t i = 0; i < sizeof budgets / sizeof *budgets && !l->warned; i++) {
		int64_t max = *(const int64_t *)((const char *)l->cfg + budgets[i].offset);
		if (!is_near(l, i) || (budgets[i].used(l) >= max && !budgets[i].answers) ||
		    (l->account.warned && !budgets[i].anew))
			continue;
		l->warned = true;
		l->account.warned = l->account.warned || !budgets[i].anew;
		loop_say(l, budgets[i].anew ? TURNS_NEAR : BUDGET_NEAR);
	}
}

#define ANEW                                                                                                           \
	"That the turns or the budget are nearly used up was said in an earlier run and does not hold any more: this " \
	"run has more. Do all that the task needs."

bool loop_is_anew(const char *text)
{
	return strstr(text, ANEW) != NULL; /* what else had waited may stand in front of it */
}

void loop_note_warned(struct loop *l)
{
	const struct history *h = l->state.messages;
	const struct message *last = h->n ? h->v[h->n - 1] : NULL;

	for (size_t i = 0; last && last->role == ROLE_USER && i < last->n; i++) {
		const char *text = last->blocks[i]->kind == BLOCK_TEXT ? last->blocks[i]->text : "";
		bool budget = !strcmp(text, BUDGET_NEAR), anew = loop_is_anew(text);
		l->account.warned = !anew && (l->account.warned || budget);
		l->warned = !anew && (l->warned || budget || !strcmp(text, TURNS_NEAR));
	}
}

void loop_tell_anew(struct loop *l)
{
	bool warned = l->warned || l->account.warned;

	for (size_t i = 0; i < sizeof budgets / sizeof *budgets; i++)
		if (budgets[i].session && is_near(l, i))
			return;
	l->warned = l->account.warned = false;
	if (warned)
		loop_say_behind(l, ANEW);
}

/* ---- files and messages ---- */

static void tell_attachments(struct loop *l)
{
	struct error e = ERROR_INIT;
	int rc = 1;

	while (rc == 1 && !l->nomem && !l->broken) {
		struct buf b = BUF_INIT(BUF_HUGE);
		rc = l->deps->attachment(l->deps->ctx, &b, &e);
		if (rc == 1)
			loop_say(l, buf_str(&b));
		buf_release(&b);
	}
	if (rc < 0)
		loop_break(l, &e);
}

static void add_blocks(struct loop *l, const struct message *m)
{
	for (size_t i = 0; i < m->n; i++) {
		struct event ev = { .kind = EVENT_USER };
		ev.u.user = (struct event_user){ .block = m->blocks[i] };
		loop_emit(l, &ev);
		if (history_add_user_block(l->state.messages, block_ref(m->blocks[i])))
			l->nomem = true;
	}
}

/* What the user has sent meanwhile joins the work that goes on, unless a hook refuses it. What the end of the work
 * keeps the hooks from judging waits for the next. */
static enum terminal_reason take_messages(struct loop *l)
{
	enum terminal_reason stopped = TERM_NONE;
	struct message *m;

	while (!stopped && !l->nomem && (m = l->deps->user_message(l->deps->ctx))) {
		struct loop_event ev;
		bool refused = false;
		stopped = hooks_judge_prompt(l, m, 0, &ev, &refused);
		if (refused)
			loop_notice(l, "prompt_refused",
			            "a message that came meanwhile was refused by a UserPromptSubmit hook: %s",
			            ev.hook.text ? ev.hook.text : "no reason was given");
		else if (!stopped)
			add_blocks(l, m);
		if (!refused && !stopped)
			loop_tell_context(l, HOOK_USER_PROMPT_SUBMIT, ev.hook.context);
		if (stopped && stopped != TERM_HOOK_STOPPED)
			l->deps->user_message_back(l->deps->ctx);
		message_unref(m);
	}
	return stopped;
}

enum terminal_reason loop_tell_rest(struct loop *l)
{
	if (loop_must_wait(l))
		return TERM_NONE;
	loop_say_behind(l, NULL);
	tell_attachments(l);
	/* what was begun before goes first: the messages of this process are behind it */
	enum terminal_reason stopped = l->unfinished ? TERM_NONE : take_messages(l);
	if (!stopped)
		warn_of_budget(l);
	return stopped;
}
