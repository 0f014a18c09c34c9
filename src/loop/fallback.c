/*
 * When the model that is asked is overloaded again and again, the next of the list is asked instead. What the attempt
 * showed is withdrawn before that, and the turn starts again; work that was begun is kept first (attempt.c).
 */
#include "loop/call.h"

#include <stdlib.h>
#include <string.h>

#define MAX_OVERLOADS 3

static const char triggered_text[] = "Model fallback triggered";

/* Would the retries end with this attempt? */
static bool gives_up(const struct loop *l, const struct attempt *at, struct retry_count count)
{
	const struct loop_deps *d = l->deps;
	int64_t remaining = l->cfg->deadline == CLOCK_NEVER ? INT64_MAX : l->cfg->deadline - d->now(d->ctx);

	return retry_decide(&l->cfg->retry, &count, &at->end, at->timeout, 0, remaining).verdict == RETRY_GIVE_UP;
}

void fallback_judge(struct loop *l, const struct call *c, const struct attempt *at, enum call_result r,
                    const struct retry_count *count)
{
	bool failed = r == CALL_FAILED || r == CALL_BROKEN;

	/* another model's state, or that of another service, says nothing of the one that answers */
	if (c->kind == MODEL_COUNT || strcmp(c->model, loop_model(l)) != 0)
		return;
	if (!failed || strcmp(retry_category(&at->end, at->timeout), "overloaded") != 0) {
		l->overloads = 0;
		return;
	}
	l->overloads++;
	if (l->model < l->cfg->nfallbacks)
		l->falls_back = l->overloads >= MAX_OVERLOADS || (r == CALL_FAILED && gives_up(l, at, *count));
}

void loop_owe_fallback(struct loop *l)
{
	l->owes_fallback = l->overloads >= MAX_OVERLOADS && l->model < l->cfg->nfallbacks;
}

void fallback_answer_calls(struct loop *l)
{
	struct reply *a = &l->reply;

	for (size_t i = 0; a->message && i < a->emitted; i++) {
		const struct block *use = a->message->blocks[i];
		if (use->kind != BLOCK_TOOL_USE)
			continue;
		struct block *b = block_new_tool_result(use->id, triggered_text, sizeof triggered_text - 1, true);
		if (!b) {
			l->nomem = true;
			return;
		}
		reply_emit_withdrawn(l, b);
		block_unref(b);
	}
}

static bool in_tool_loop(const struct history *h)
{
	const struct message *last = h->n ? h->v[h->n - 1] : NULL;

	return last && last->n && last->blocks[0]->kind == BLOCK_TOOL_RESULT;
}

/* Only what the one model was refused for may be sent to the next: the server is the same. */
#define OF_THE_SERVER (WITHOUT_CACHE_MARKS | WITHOUT_BETAS)

/* Another model reads no thinking but its own. */
void loop_strip_thinking(struct loop *l)
{
	int stripped = context_strip_thinking(l->state.messages);

	if (stripped < 0)
		l->nomem = true;
	if (stripped > 0 && loop_thinking_budget(l) && in_tool_loop(l->state.messages))
		l->without_once |= WITHOUT_THINKING;
}

void loop_forget_model(struct loop *l)
{
	l->without &= OF_THE_SERVER;
	l->refused[0] = '\0';
	l->cap_clamp = l->cap_room = 0;
	l->estimate.anchor_tokens = -1; /* its tokens are other ones: what the first model's usage told says little */
}

struct verdict loop_fall_back(struct loop *l, const struct verdict *v)
{
	struct event ev = { .kind = EVENT_MODEL_SWITCH };

	ev.u.model_switch.from = loop_model(l);
	l->state.compact.tried = 0; /* what did not fit the one may fit the other, and the other way round */
	l->falls_back = false;
	l->overloads = 0;
	loop_forget_model(l);
	loop_use_model(l, l->model + 1);
	ev.u.model_switch.to = loop_model(l);
	loop_emit(l, &ev);
	loop_strip_thinking(l);
	if (!v->cont)
		loop_say_behind(l, NULL); /* words that waited behind an answer of nothing but thinking */
	return v->cont ? *v : verdict_go(CONT_MODEL_FALLBACK, &l->state);
}
