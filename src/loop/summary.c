/*
 * Tool-use summaries: what a round of calls did, in a line of a small model's. They are asked for in the background,
 * never waited for and never the run's trouble: one that does not come, or comes to nothing, is not missed, since the
 * round has a line of ours anyway.
 */
#include "base/utf8.h"
#include "loop/state.h"

#include <stdlib.h>
#include <string.h>

#define SUMMARY_TOKENS 200
#define THINKER_TOKENS 2000   /* of a model that thinks before it says a line */
#define PATIENCE_MS    120000 /* a call that says nothing is not kept for ever */
#define MAX_BYTES      ((size_t)64 << 10)
#define MAX_FAILURES   3 /* in a row, and no more are asked for */

static void background_clear(struct background *b)
{
	history_release(&b->request);
	buf_release(&b->text);
	free(b->round);
	*b = (struct background){ .failures = b->failures };
}

static void pay(struct loop *l, bool whole)
{
	struct background *b = &l->background;

	account_attempt(l, l->cfg->summary_model, b->row, &b->usage, b->began, whole);
}

/* For whoever goes on from the events: what was paid, and the line. */
static void tell(struct loop *l, const char *line)
{
	struct background *b = &l->background;
	struct event ev = { .kind = EVENT_SUMMARY };

	if (!line && b->usage.input < 0 && b->usage.output < 0)
		return;
	ev.u.summary = (struct event_summary){
		.round = b->round, .text = line, .model = l->cfg->summary_model, .usage = &b->usage
	};
	loop_emit(l, &ev);
}

void summary_cancel(struct loop *l)
{
	struct background *b = &l->background;

	if (b->running) {
		l->deps->model_cancel(l->deps->ctx, MODEL_SUMMARY);
		pay(l, false);
		tell(l, NULL);
	}
	background_clear(b);
}

static void failed(struct loop *l, const char *why)
{
	if (++l->background.failures == MAX_FAILURES)
		loop_notice(l, "summaries_off",
		            "%d summaries of calls in a row came to nothing (%s); no more are asked for in this run",
		            MAX_FAILURES, why);
}

/* The newest round's first call. */
static const char *newest_call(const struct history *h)
{
	const struct message *m = h->n > 1 ? h->v[h->n - 2] : NULL;

	for (size_t i = 0; m && i < m->n; i++)
		if (m->blocks[i]->kind == BLOCK_TOOL_USE)
			return m->blocks[i]->id;
	return NULL;
}

/* What it may take at most is kept free for it in the budgets. False: there is not so much room. */
static bool reserve(struct loop *l, int64_t max_tokens)
{
	struct background *b = &l->background;
	struct usage most = USAGE_UNKNOWN;
	int per_token = b->row->flags & CAT_DENSE_TOKENS ? 3 : 4;

	most.input = (int64_t)b->request.weight / per_token + 1;
	most.output = max_tokens;
	b->tokens = most.input + most.output;
	b->nano_usd = catalog_cost(b->row, &most);
	if (b->nano_usd < 0)
		b->nano_usd = 0;
	return loop_has_room(l, b->tokens, b->nano_usd);
}

static void send_request(struct loop *l, int64_t max_tokens)
{
	const struct loop_config *cfg = l->cfg;
	const struct loop_deps *d = l->deps;
	struct background *b = &l->background;
	struct model_request req = {
		.kind = MODEL_SUMMARY,
		.model = cfg->summary_model,
		.max_tokens = max_tokens,
		.messages = &b->request,
		.without = l->without & WITHOUT_BETAS,
		.refused = l->refused,
		.turn = l->state.turn_count,
		.attempt = 1,
	};
	struct error e = ERROR_INIT;

	if (d->model_start(d->ctx, &req, &e)) {
		background_clear(b);
		failed(l, e.msg);
		return;
	}
	b->running = true;
	b->since = d->now(d->ctx);
	account_request(l, cfg->summary_model, b->row);
}

void summary_start(struct loop *l)
{
	struct background *b = &l->background;
	const char *call = newest_call(l->state.messages);
	int64_t now = l->deps->now(l->deps->ctx);

	if (!l->cfg->summary_model || !call || b->failures >= MAX_FAILURES || l->state.turn_count >= l->cfg->max_turns)
		return;
	if (loop_is_aborted(l) || now >= l->cfg->deadline || (b->running && now - b->since < PATIENCE_MS))
		return;
	if (b->running) {
		summary_cancel(l);
		failed(l, "there was no answer in time");
	}
	b->row = l->cfg->summary_row ? l->cfg->summary_row : catalog_or_default(l->cfg->summary_model);
	b->usage = (struct usage)USAGE_UNKNOWN;
	buf_init(&b->text, MAX_BYTES);
	b->round = strdup(call);
	int64_t most = b->row->flags & CAT_THINKS_BY_DEFAULT ? THINKER_TOKENS : SUMMARY_TOKENS;
	if (b->round && !context_summary_request(l->state.messages, &b->request) && reserve(l, most))
		send_request(l, most);
	else
		background_clear(b);
}

/* Why the answer is none that could be used, NULL if it can. */
static const char *unusable(const struct background *b, const struct model_end *end)
{
	if (!end->complete)
		return end->message ? end->message : "the answer was cut off";
	if (end->stop_reason && !strcmp(end->stop_reason, "refusal"))
		return "the model declined";
	if (b->called)
		return "the model called a tool";
	if (b->text.failed)
		return "the answer was too long";
	if (!b->text.len || utf8_is_blank(b->text.data, b->text.len))
		return "the answer was empty";
	return NULL;
}

static void take_end(struct loop *l, const struct model_end *end)
{
	struct background *b = &l->background;
	const char *why = unusable(b, end);

	b->usage = end->usage;
	pay(l, end->failure == MODEL_FINE && end->complete);
	tell(l, why ? NULL : buf_str(&b->text));
	if (why)
		failed(l, why);
	else
		b->failures = 0;
	if (!why) /* without memory for it our own line stays */
		(void)context_round_summary(l->context, b->round, b->text.data, b->text.len);
	background_clear(b);
}

void summary_take(struct loop *l, const struct model_event *ev)
{
	struct background *b = &l->background;

	if (!b->running)
		return;
	switch (ev->kind) {
	case MODEL_EV_MESSAGE_START:
		b->usage = ev->usage;
		b->began = true;
		break;
	case MODEL_EV_BLOCK:
		b->called |= ev->block->kind == BLOCK_TOOL_USE;
		if (ev->block->kind == BLOCK_TEXT)
			buf_add(&b->text, ev->block->text, ev->block->text_len);
		break;
	case MODEL_EV_STOP:
		b->usage = ev->end.usage;
		break;
	case MODEL_EV_END:
		take_end(l, &ev->end);
		break;
	default:
		break;
	}
}
