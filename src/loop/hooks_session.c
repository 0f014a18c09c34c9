/* Hooks about the conversation as such: its start, each message of the user before a model hears of it, its end. */
#include "loop/state.h"

#include <stdlib.h>
#include <string.h>

#define END_GRACE_MS   1500  /* of SessionEnd hooks when the run is cut short */
#define END_LONGEST_MS 61000 /* and when it is not: they have a minute at most, and are ended by then */

/* ---- the last message: the user's prompt, and what is put beside it ---- */

void loop_note_extent(struct loop *l)
{
	const struct history *h = l->state.messages;

	l->old_messages = h->n;
	l->old_blocks = h->n ? h->v[h->n - 1]->n : 0;
}

/* Where the prompt begins in the last message: it may stand behind results that no model has answered to. */
static size_t prompt_begins(const struct loop *l)
{
	const struct history *h = l->state.messages;

	return h->n == l->old_messages && l->old_blocks < h->v[h->n - 1]->n ? l->old_blocks : 0;
}

static int add_from(struct message *m, const struct message *from, size_t begin, size_t end)
{
	for (size_t i = begin; i < end; i++)
		if (message_add(m, block_ref(from->blocks[i])))
			return -1;
	return 0;
}

/* The last message without what stands behind its first `from` blocks; with `first` it stands there again, behind that
 * block. */
static void change_prompt(struct loop *l, size_t from, struct block *first)
{
	struct history *h = l->state.messages, draft = HISTORY_INIT;
	const struct message *last = h->v[h->n - 1];
	struct message *m = message_new(ROLE_USER);
	bool failed = !m || add_from(m, last, 0, from);

	if (first)
		failed = failed || message_add(m, block_ref(first)) || add_from(m, last, from, last->n);
	failed = failed || history_copy(&draft, h, 0, h->n - 1);
	if (!failed && m->n)
		failed = history_add(&draft, message_ref(m));
	message_unref(m);
	if (failed)
		l->nomem = true;
	else
		history_exchange(h, &draft);
	history_release(&draft);
}

static char *prompt_text(const struct message *m, size_t from)
{
	struct buf b = BUF_INIT(BUF_HUGE);

	for (size_t i = from; i < m->n; i++) {
		if (m->blocks[i]->kind != BLOCK_TEXT)
			continue;
		if (b.len)
			buf_addc(&b, '\n');
		buf_add(&b, m->blocks[i]->text, m->blocks[i]->text_len);
	}
	char *text = buf_take(&b, NULL);
	buf_release(&b);
	return text;
}

enum terminal_reason hooks_judge_prompt(struct loop *l, const struct message *m, size_t from, struct loop_event *ev,
                                        bool *refused)
{
	struct hook_call call = { .kind = HOOK_USER_PROMPT_SUBMIT };

	*ev = (struct loop_event){ .kind = LOOP_EV_NONE };
	if (!l->deps->hook_any(l->deps->ctx, call.kind))
		return TERM_NONE;
	char *text = prompt_text(m, from);
	if (!text) {
		l->nomem = true;
		return TERM_INTERNAL_ERROR;
	}
	call.prompt = text;
	enum asked asked = loop_ask(l, &call, ev);
	free(text);
	if (asked == ASKED_CUT_SHORT)
		return loop_cut_short(l);
	if (asked == ASKED_NOBODY)
		return TERM_NONE;
	*refused = ev->hook.verdict == HOOK_SAYS_BLOCK;
	return ev->hook.verdict == HOOK_SAYS_END ? hooks_ended_by(l, call.kind, ev->hook.text) : TERM_NONE;
}

/* ---- the start ---- */

static char *keep(struct loop *l, const char *text)
{
	char *copy = text ? strdup(text) : NULL;

	if (text && !copy)
		l->nomem = true;
	return copy;
}

static enum terminal_reason ask_start(struct loop *l)
{
	const struct hook_call call = { .kind = HOOK_SESSION_START,
		                        .source = l->cfg->source ? l->cfg->source : "startup",
		                        .model = loop_model(l) };
	struct loop_event ev;

	if (loop_abort_due(l)) /* the next message starts it, if there is one */
		return loop_cut_short(l);
	l->session_started = true;
	switch (loop_ask(l, &call, &ev)) {
	case ASKED_NOBODY:
		return TERM_NONE;
	case ASKED_CUT_SHORT:
		return loop_cut_short(l);
	case ASKED_ANSWERED:
		break;
	}
	l->start = (struct session_start){ keep(l, ev.hook.context), keep(l, ev.hook.first_message) };
	return ev.hook.verdict == HOOK_SAYS_END ? hooks_ended_by(l, call.kind, ev.hook.text) : TERM_NONE;
}

static void put_first(struct loop *l, size_t from, const char *text)
{
	struct event ev = { .kind = EVENT_USER };
	struct block *b = block_new_text(text, strlen(text));

	if (!b || block_is_blank(b)) {
		l->nomem |= !b;
		block_unref(b);
		return;
	}
	ev.u.user = (struct event_user){ .block = b, .synthetic = true };
	loop_emit(l, &ev);
	change_prompt(l, from, b);
	block_unref(b);
}

void session_start_clear(struct session_start *start)
{
	free(start->context);
	free(start->first);
	*start = (struct session_start){ NULL, NULL };
}

static void add_words(struct loop *l, const struct message *from, size_t begin, size_t end)
{
	struct message *m = begin < end ? message_new(ROLE_USER) : NULL;

	if (begin == end)
		return;
	if (!m || add_from(m, from, begin, end)) {
		message_unref(m);
		l->nomem = true;
		return;
	}
	l->nomem |= history_add(l->state.messages, m) != 0;
}

/* The prompt stands behind an answer of another process that waited for its server: that waits no more. */
static void end_waiting(struct loop *l)
{
	const struct history *h = l->state.messages;
	size_t from = prompt_begins(l);

	if (h->n < 2 || !message_awaits_server(h->v[h->n - 2]))
		return;
	struct message *words = message_ref(h->v[h->n - 1]);
	size_t first = words->blocks[0]->kind == BLOCK_TOOL_RESULT ? from : 0;
	change_prompt(l, first, NULL);
	loop_drop_server_calls(l);
	add_words(l, words, first, from);
	loop_note_extent(l);
	add_words(l, words, from, words->n);
	message_unref(words);
}

static enum terminal_reason ask_prompt(struct loop *l)
{
	const struct history *h = l->state.messages;
	end_waiting(l);
	size_t from = prompt_begins(l);
	bool refused = false;
	struct loop_event ev;

	journal_prompt(l, from);
	enum terminal_reason stopped = hooks_judge_prompt(l, h->v[h->n - 1], from, &ev, &refused);

	if (refused) {
		loop_add_error(l, "a UserPromptSubmit hook refused the prompt: %s",
		               ev.hook.text ? ev.hook.text : "no reason was given");
		stopped = TERM_HOOK_STOPPED;
	}
	if (stopped == TERM_HOOK_STOPPED)
		change_prompt(l, from, NULL);
	else if (!stopped && l->start.first)
		put_first(l, from, l->start.first);
	if (!stopped) {
		loop_tell_context(l, HOOK_SESSION_START, l->start.context);
		session_start_clear(&l->start);
		loop_say_behind(l, NULL);
		loop_tell_context(l, HOOK_USER_PROMPT_SUBMIT, ev.hook.context);
	}
	return stopped;
}

#define GO_ON "The run was interrupted here and goes on now. Go on with the task from where it stands."

/* There are no new words to judge; an answer at the end of the history needs some to be answered, if all that followed
 * from it is done. */
static enum terminal_reason go_on(struct loop *l)
{
	const struct history *h = l->state.messages;

	loop_owe_fallback(l);
	if (!l->cfg->resume_answer) /* room was made for an answer that did not come to its end */
		l->state.new_window = false;
	if (l->cfg->resume_answer)
		reply_restore(l);
	else if (l->cfg->resume_batch)
		tools_restore(l);
	else if (h->n && h->v[h->n - 1]->role == ROLE_ASSISTANT && !(l->state.pauses && l->state.same_turn))
		loop_say(l, GO_ON);
	loop_say_behind(l, NULL);
	loop_tell_context(l, HOOK_SESSION_START, l->start.context);
	session_start_clear(&l->start);
	return TERM_NONE;
}

enum terminal_reason hooks_open_message(struct loop *l)
{
	struct event init = { .kind = EVENT_INIT };
	enum terminal_reason stopped = TERM_NONE;

	if (!l->session_started && !l->nomem)
		stopped = ask_start(l);
	init.u.init = l->cfg->init;
	loop_emit(l, &init);
	if (!stopped && !l->nomem)
		stopped = l->cfg->goes_on && l->messages == 1 ? go_on(l) : ask_prompt(l);
	if (!stopped && l->messages == 1 && l->cfg->resume_state && l->cfg->resume_ended && !l->nomem)
		loop_tell_anew(l);
	return l->nomem || l->broken ? TERM_INTERNAL_ERROR : stopped;
}

/* ---- the end ---- */

/* Signals that come here are noted; a second one ends the wait, as does what breaks. True: they have answered. */
static bool wait_for_end(struct loop *l)
{
	const struct loop_deps *d = l->deps;
	bool aborted = l->signals || l->timed_out || l->broken;
	int64_t now = d->now(d->ctx), until = now + (aborted ? END_GRACE_MS : END_LONGEST_MS);
	struct loop_event ev;

	if (!aborted && l->cfg->deadline < until - END_GRACE_MS)
		until = (l->cfg->deadline > now ? l->cfg->deadline : now) + END_GRACE_MS;
	while (l->signals < 2 && d->now(d->ctx) < until && loop_next_event(l, until, &ev)) {
		if (ev.kind == LOOP_EV_HOOK && ev.hook.kind == HOOK_SESSION_END)
			return true;
		if (ev.kind == LOOP_EV_BROKEN)
			return loop_break(l, &ev.error), false;
		if (ev.kind != LOOP_EV_SIGNAL)
			continue;
		if (!l->signals++)
			l->signo = ev.signo;
		if (until > d->now(d->ctx) + END_GRACE_MS)
			until = d->now(d->ctx) + END_GRACE_MS;
	}
	return false;
}

enum terminal_reason hooks_end_session(struct loop *l, enum terminal_reason why)
{
	const struct hook_call call = { .kind = HOOK_SESSION_END, .reason = "other" };
	const struct loop_deps *d = l->deps;
	struct error e = ERROR_INIT;
	int before = l->signals;

	if (l->session_ended || !d->hook_any(d->ctx, call.kind))
		return why;
	l->session_ended = true;
	summary_cancel(l);
	int asked = d->hook_start(d->ctx, &call, &e);
	if (asked < 0)
		loop_break(l, &e);
	if (asked == 1 && !wait_for_end(l))
		d->hook_cancel(d->ctx, &call);
	if (l->nomem || l->broken)
		return TERM_INTERNAL_ERROR;
	return l->signals > before && !before ? TERM_ABORTED_TOOLS : why;
}
