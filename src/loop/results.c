/*
 * Results enter history in call order, within the bounds that the window sets. What is too long is cut before it
 * enters, and only then: what stands in history is never made longer or shorter by the others that follow it.
 */
#include "loop/state.h"

#include <stdlib.h>
#include <string.h>

/* No tool gives more, and one that does is cut; it stands for what a call that still runs may bring. */
#define LONGEST_RESULT ((size_t)120000)

static void note_denied(struct loop *l, const struct executor_call *c)
{
	struct event ev = { .kind = EVENT_PERMISSION_DENIED };

	ev.u.denied = (struct event_denied){ .tool_name = c->use->name,
		                             .tool_use_id = c->use->id,
		                             .reason_type = c->result.denied_reason,
		                             .message = c->result.text ? c->result.text : "" };
	loop_emit(l, &ev);
	struct block **grown = realloc(l->denied, (l->ndenied + 1) * sizeof *grown);
	if (!grown) {
		l->nomem = true;
		return;
	}
	l->denied = grown;
	l->denied[l->ndenied++] = block_ref(c->use);
}

/* One result becomes a block of the user message and a line. */
static void yield_result(struct loop *l, struct executor_call *c, struct message *m)
{
	struct tool_result *r = &c->result;
	struct block *b = r->content_json
	                          ? block_new_tool_result_json(c->use->id, r->content_json, strlen(r->content_json))
	                          : block_new_tool_result(c->use->id, r->text ? r->text : "", r->text_len, r->is_error);
	if (!b) {
		l->nomem = true;
		return;
	}
	if (r->denied)
		note_denied(l, c);
	struct event ev = { .kind = EVENT_USER };
	ev.u.user = (struct event_user){ .block = b, .structured = r->structured, .file = r->file };
	loop_emit(l, &ev);
	if (message_add(m, b))
		l->nomem = true;
}

/* The n-th part of what the window has beside system prompt and tools, which take much of a small one. */
static size_t part(const struct loop *l, const struct context_marks *m, int n)
{
	int64_t room = m->usable - (int64_t)l->fixed_bytes / m->bytes_per_token;

	return room > 0 ? (size_t)(room / n * m->bytes_per_token) : 0;
}

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* What each may have; a call that is not done is taken for one that brings as much as it can. */
static void allot(struct results *r)
{
	const struct context_marks *m = context_marks_now(r->l->context);
	const struct executor *x = &r->l->executor;
	size_t each = least(m->result_bytes, LONGEST_RESULT), all = m->message_bytes;

	if (m->window) {
		each = least(each, part(r->l, m, 4));
		all = least(all, part(r->l, m, 2));
	}
	for (size_t i = 0; i < x->n; i++) {
		const struct executor_call *c = &x->calls[i];
		const struct tool_result *res = &c->result;
		bool done = c->state == CALL_COMPLETED || c->state == CALL_YIELDED;
		r->v[i] = (struct result_text){ .text = "", .len = done ? res->text_len : each };
		if (done && (res->content_json || !res->text))
			r->v[i].text = NULL;
	}
	result_budget(r->v, x->n, each, all);
}

static void shorten(struct results *r, struct executor_call *c, size_t allowed)
{
	const struct loop_deps *d = r->l->deps;
	size_t before = c->result.text_len;

	if (d->tool_shorten(d->ctx, c->use->id, &c->result, allowed)) {
		r->l->nomem = true;
		return;
	}
	if (c->result.text_len < before)
		r->cut_bytes += before - c->result.text_len;
}

void results_yield(struct results *r)
{
	struct executor *x = &r->l->executor;
	bool all_done = executor_idle(x);
	struct executor_call *c;

	if (!executor_ready(x))
		return;
	if (!r->v && !(r->v = calloc(x->n, sizeof *r->v))) {
		r->l->nomem = true;
		return;
	}
	allot(r);
	while ((c = executor_ready(x))) {
		const struct result_text *v = &r->v[c - x->calls];
		if (!all_done && v->allowed < v->len)
			return;
		executor_yield(x);
		r->unusable += c->result.invalid;
		r->whole_bytes += v->text ? v->len : 0;
		if (v->allowed < v->len)
			shorten(r, c, v->allowed);
		yield_result(r->l, c, r->message);
	}
}

void results_end(struct results *r)
{
	struct event ev = { .kind = EVENT_CONTEXT };
	struct loop *l = r->l;

	free(r->v);
	r->v = NULL;
	if (!r->cut_bytes)
		return;
	int64_t per = context_marks_now(l->context)->bytes_per_token;
	ev.u.context = (struct event_context){ .step = "result_budget",
		                               .tokens_before = loop_tokens(l) + (int64_t)r->whole_bytes / per,
		                               .tokens_freed = (int64_t)r->cut_bytes / per };
	loop_emit(l, &ev);
}
