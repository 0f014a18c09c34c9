/* Hooks about what the loop does on its way: compactions, and the calls of an answer when all are done. */
#include "base/json_out.h"
#include "loop/state.h"

#include <stdlib.h>
#include <string.h>

/* ---- compactions ---- */

enum compact_outcome hooks_before_compaction(struct loop *l, char **why, enum terminal_reason *stopped)
{
	const struct hook_call call = { .kind = HOOK_PRE_COMPACT, .trigger = "auto" };
	struct loop_event ev;

	switch (loop_ask(l, &call, &ev)) {
	case ASKED_NOBODY:
		return COMPACT_DONE;
	case ASKED_CUT_SHORT:
		*stopped = loop_cut_short(l);
		return COMPACT_STOPPED;
	case ASKED_ANSWERED:
		break;
	}
	if (ev.hook.verdict != HOOK_SAYS_BLOCK)
		return COMPACT_DONE; /* nor can it end the run */
	*why = strdup(ev.hook.text ? ev.hook.text : "a PreCompact hook objected");
	l->nomem |= !*why;
	return COMPACT_BLOCKED;
}

bool hooks_after_compaction(struct loop *l, const char *summary, enum terminal_reason *stopped)
{
	const struct hook_call over = { .kind = HOOK_POST_COMPACT, .trigger = "auto", .summary = summary };
	const struct hook_call start = { .kind = HOOK_SESSION_START, .source = "compact", .model = loop_model(l) };
	struct loop_event ev;

	enum asked asked = loop_ask(l, &over, &ev); /* it has nothing to say */
	if (asked != ASKED_CUT_SHORT)
		asked = loop_ask(l, &start, &ev);
	if (asked == ASKED_CUT_SHORT) {
		*stopped = loop_cut_short(l);
		return false;
	}
	if (asked == ASKED_NOBODY)
		return true;
	if (ev.hook.verdict == HOOK_SAYS_END) {
		*stopped = hooks_ended_by(l, start.kind, ev.hook.text);
		return false;
	}
	loop_tell_context(l, start.kind, ev.hook.context);
	return true;
}

/* ---- a batch of calls ---- */

static const struct block *use_of(const struct message *calls, const char *id)
{
	for (size_t k = 0; k < calls->n; k++)
		if (calls->blocks[k]->kind == BLOCK_TOOL_USE && !strcmp(calls->blocks[k]->id, id))
			return calls->blocks[k];
	return NULL;
}

/* -1: no memory. */
static int put_response(struct json_out *o, const struct block *use, const struct block *res)
{
	char *text = block_result_text(res);

	if (!text)
		return -1;
	jo_object(o);
	jo_kstr(o, "tool_name", use->name);
	jo_key(o, "tool_input");
	jo_raw(o, use->input, strlen(use->input));
	jo_kstr(o, "tool_use_id", use->id);
	jo_key(o, "tool_response");
	jo_strn(o, text, res->text_len);
	jo_end(o);
	free(text);
	return 0;
}

/* The calls of the newest answer with their results, as a list; NULL: no memory. */
static char *batch(const struct loop *l)
{
	const struct history *h = l->state.messages;
	const struct message *calls = h->v[h->n - 2], *results = h->v[h->n - 1];
	struct buf b = BUF_INIT(BUF_HUGE);
	struct json_out o;
	int rc = 0;

	json_out_init(&o, &b);
	jo_array(&o);
	for (size_t i = 0; rc == 0 && i < results->n && results->blocks[i]->kind == BLOCK_TOOL_RESULT; i++) {
		const struct block *use = use_of(calls, results->blocks[i]->id);
		rc = use ? put_response(&o, use, results->blocks[i]) : 0;
	}
	jo_end(&o);
	char *text = rc ? NULL : buf_take(&b, NULL);
	buf_release(&b);
	return text;
}

enum terminal_reason hooks_judge_batch(struct loop *l)
{
	struct hook_call call = { .kind = HOOK_POST_TOOL_BATCH };
	struct loop_event ev;

	if (!l->deps->hook_any(l->deps->ctx, call.kind))
		return TERM_NONE;
	char *calls = batch(l);
	if (!calls) {
		l->nomem = true;
		return TERM_INTERNAL_ERROR;
	}
	call.tool_calls = calls;
	enum asked asked = loop_ask(l, &call, &ev);
	free(calls);
	if (asked == ASKED_CUT_SHORT)
		return loop_cut_short(l);
	if (asked == ASKED_NOBODY)
		return TERM_NONE;
	if (ev.hook.verdict != HOOK_SAYS_PASS)
		return hooks_ended_by(l, call.kind, ev.hook.text);
	loop_tell_context(l, call.kind, ev.hook.context);
	return TERM_NONE;
}
