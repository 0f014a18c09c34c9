/*
 * Results enter history in call order, within the bounds that the window sets. What is too long is cut before it
 * enters, and only then: what stands in history is never made longer or shorter by the others that follow it.
 */
#include "loop/state.h"

#include <stdlib.h>
#include <string.h>

/* No tool gives more, and one that does is cut; it stands for what a call that still runs may bring. */
#define LONGEST_RESULT ((size_t)120000)
#define LEAST_RESULT   ((size_t)500) /* what is there already is not cut to less */

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

static struct block *block_of(const char *id, const struct tool_result *r)
{
	return r->content_json ? block_new_tool_result_json(id, r->content_json, strlen(r->content_json))
	                       : block_new_tool_result(id, r->text ? r->text : "", r->text_len, r->is_error);
}

/* One result becomes a block of the user message and a line. `say`: what its hooks say to the model beside it. */
static void yield_result(struct loop *l, struct executor_call *c, const char *say, struct message *m)
{
	struct tool_result *r = &c->result;
	struct block *b = block_of(c->use->id, r);

	if (!b) {
		l->nomem = true;
		return;
	}
	if (r->denied)
		note_denied(l, c);
	struct event ev = { .kind = EVENT_USER };
	ev.u.user = (struct event_user){ .block = b,
		                         .structured = r->structured,
		                         .state = r->state,
		                         .call = { .say = say, .ends_run = r->ends_run, .unusable = r->invalid },
		                         .acted = c->started && !c->read_only,
		                         .file = r->file };
	loop_emit(l, &ev);
	if (message_add(m, b))
		l->nomem = true;
}

/* In a form that nobody takes for the user's or the tool's word. The text of this one's; NULL = there is none. */
static const char *add_said(struct buf *said, const struct executor_call *c)
{
	size_t from = said->len + (said->len > 0);

	if (!c->result.context)
		return NULL;
	buf_addf(said, "%s<system-reminder>\nHooks of the call %s of %s:\n%s\n</system-reminder>",
	         said->len ? "\n" : "", c->use->id, c->use->name, c->result.context);
	return said->failed ? NULL : buf_str(said) + from;
}

size_t loop_window_part(const struct loop *l, int n)
{
	const struct context_marks *m = context_marks_now(l->context);
	int64_t room = m->usable - (int64_t)l->fixed_bytes / m->bytes_per_token;

	if (!m->window)
		return SIZE_MAX;
	return room > 0 ? (size_t)(room / n * m->bytes_per_token) : 0;
}

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* What a text takes in a request, about: a control byte is written as six. The bounds are held against this, or binary
 * data of a quarter of the window could take more than all of it. Lines, tabs and quotes count as they are: a bound in
 * bytes of text is what the user set. */
static size_t weight_of(const char *text, size_t n)
{
	size_t weight = n;

	for (size_t i = 0; i < n; i++)
		if ((unsigned char)text[i] < 0x20 && (!text[i] || !strchr("\b\f\n\r\t", text[i])))
			weight += 5;
	return weight;
}

/* What a picture takes in a request, by its size. */
static size_t picture_weight(struct loop *l, const struct executor_call *c)
{
	struct block *b = block_of(c->use->id, &c->result);
	size_t weight = b ? b->weight : 0;

	l->nomem |= !b;
	block_unref(b);
	return weight;
}

static size_t weight_of_result(struct loop *l, const struct executor_call *c)
{
	const struct tool_result *res = &c->result;

	if (res->content_json)
		return picture_weight(l, c);
	return res->text ? weight_of(res->text, res->text_len) : 0;
}

/* What each may have; a call that is not done is taken for one that brings as much as it can. */
static void allot(struct results *r)
{
	const struct context_marks *m = context_marks_now(r->l->context);
	const struct executor *x = &r->l->executor;
	size_t each = least(least(m->result_bytes, LONGEST_RESULT), loop_window_part(r->l, 4)), pictures = 0;

	r->half = loop_window_part(r->l, 2);
	for (size_t i = 0; i < x->n; i++) {
		const struct executor_call *c = &x->calls[i];
		struct result_text *v = &r->v[i];
		bool done = c->state == CALL_COMPLETED || c->state == CALL_YIELDED;
		if (!done || !v->known) {
			bool text = !done || (c->result.text && !c->result.content_json);
			*v = (struct result_text){ .text = text ? "" : NULL, .known = done };
			v->len = done ? weight_of_result(r->l, c) : each;
		}
		if (!done || !v->text)
			pictures += least(done ? v->len : SIZE_MAX, r->half / 2 - least(pictures, r->half / 2));
	}
	/* pictures leave the texts half of their share at least, see picture_fits */
	result_budget(r->v, x->n, each, least(m->message_bytes, r->half - pictures));
}

/* A picture cannot be cut. The first one enters, and each other for which there is room in the share of all. */
static bool picture_fits(struct results *r, size_t weight)
{
	if (r->pictures && weight > r->half - least(r->half, r->pictures))
		return false;
	r->pictures += weight;
	return true;
}

/* A note in the picture's place. */
static void drop_picture(struct results *r, struct executor_call *c, size_t weight)
{
	const struct loop_deps *d = r->l->deps;

	if (d->tool_shorten(d->ctx, c->use->id, &c->result, 0)) {
		r->l->nomem = true;
		return;
	}
	r->whole_bytes += weight;
	r->cut_bytes += weight - least(weight, c->result.text_len);
}

/* Head and tail may weigh more than the whole of which they are: then once more, and once again. */
static void shorten(struct results *r, struct executor_call *c, size_t allowed)
{
	const struct loop_deps *d = r->l->deps;
	struct tool_result *res = &c->result;
	size_t before = weight_of(res->text, res->text_len), weight = before;

	for (int tries = 3; tries && weight > allowed; tries--) {
		size_t bytes = (size_t)((double)res->text_len * (double)allowed / (double)weight);
		if (d->tool_shorten(d->ctx, c->use->id, res, bytes)) {
			r->l->nomem = true;
			return;
		}
		weight = weight_of(res->text, res->text_len);
	}
	if (weight < before)
		r->cut_bytes += before - weight;
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
		if (c->result.content_json && !picture_fits(r, v->len))
			drop_picture(r, c, v->len);
		else if (v->allowed < v->len)
			shorten(r, c, v->allowed);
		yield_result(r->l, c, add_said(&r->said, c), r->message);
	}
}

static void tell_cut(struct loop *l, const char *step, int64_t before, int64_t freed)
{
	struct event ev = { .kind = EVENT_CONTEXT };

	ev.u.context = (struct event_context){ .step = step, .tokens_before = before, .tokens_freed = freed };
	loop_emit(l, &ev);
}

void results_end(struct results *r)
{
	struct loop *l = r->l;

	free(r->v);
	r->v = NULL;
	if (!r->cut_bytes)
		return;
	int64_t per = context_marks_now(l->context)->bytes_per_token;
	tell_cut(l, "result_budget", loop_tokens(l) + (int64_t)r->whole_bytes / per, (int64_t)r->cut_bytes / per);
}

/* ---- results that are there already, and that no request with an answer has held yet ---- */

/* What stands in the block's place with its text cut; NULL: that would be no shorter, or there is no memory. */
static struct block *cut_block(struct loop *l, const struct block *b, size_t allowed)
{
	const struct loop_deps *d = l->deps;
	struct tool_result res = { .text = block_result_text(b), .text_len = b->text_len };
	struct block *now = NULL;

	if (!res.text || d->tool_shorten(d->ctx, b->id, &res, allowed))
		l->nomem = true;
	else if (res.text_len < b->text_len)
		l->nomem |= !(now = block_new_tool_result(b->id, res.text, res.text_len, b->is_error));
	tool_result_release(&res);
	return now;
}

/* What is still too much when the texts are cut are pictures: the last ones go, while there are too many. */
static void drop_pictures(struct loop *l, int64_t most)
{
	const struct loop_deps *d = l->deps;
	struct history *h = l->state.messages;
	struct message *m = h->v[h->n - 1];

	for (size_t i = m->n; i-- > 0 && loop_tokens(l) > most && !l->nomem; m = h->v[h->n - 1]) {
		const struct block *was = m->blocks[i];
		struct tool_result res = { 0 };
		struct block *now = NULL;
		if (was->kind != BLOCK_TOOL_RESULT || !loop_holds_image(was))
			continue;
		if ((res.content_json = strdup("[]")) && !d->tool_shorten(d->ctx, was->id, &res, 0))
			now = block_of(was->id, &res);
		tool_result_release(&res);
		l->nomem |= !now || history_replace(h, h->n - 1, i, now) != 0;
	}
}

static void cut_to(struct history *h, struct loop *l, const struct result_text *v)
{
	for (size_t i = 0; i < h->v[h->n - 1]->n; i++) {
		struct block *was = h->v[h->n - 1]->blocks[i], *now;
		size_t allowed = v[i].allowed > LEAST_RESULT ? v[i].allowed : LEAST_RESULT;
		if (allowed >= v[i].len || !(now = cut_block(l, was, allowed)))
			continue;
		l->nomem |= history_replace(h, h->n - 1, i, now) != 0;
	}
}

int64_t results_refit(struct loop *l, int64_t most)
{
	struct history *h = l->state.messages;
	struct message *m = h->n > 1 ? h->v[h->n - 1] : NULL;
	int64_t before = loop_tokens(l);
	size_t text = 0, weight = 0, over = (size_t)(before - most);

	if (!m || m->role != ROLE_USER || before <= most)
		return 0;
	struct result_text *v = calloc(m->n, sizeof *v);
	if (!v) {
		l->nomem = true;
		return 0;
	}
	for (size_t i = 0; i < m->n; i++) {
		const struct block *b = m->blocks[i];
		if (b->kind != BLOCK_TOOL_RESULT || b->text_len <= LEAST_RESULT)
			continue;
		v[i] = (struct result_text){ .text = b->json, .len = b->text_len };
		text += b->text_len;
		weight += b->weight;
	}
	/* a byte of text may weigh more than one, and a server may count more bytes to a token than we do */
	double per = (double)(h->weight + l->fixed_bytes) / (double)before;
	if (per < l->estimate.bytes_per_token)
		per = l->estimate.bytes_per_token;
	double share = weight ? (double)over * per / (double)weight : 1;
	result_budget(v, m->n, SIZE_MAX, share < 1 ? (size_t)((double)text * (1 - share)) : 0);
	size_t whole = h->weight;
	cut_to(h, l, v);
	free(v);
	drop_pictures(l, most);
	int64_t freed = before - loop_tokens(l);
	if (h->weight < whole && freed < 1)
		freed = 1; /* so much was said to be sent that less is as much as can be counted */
	if (freed > 0)
		tell_cut(l, "result_cut", before, freed);
	return freed;
}
