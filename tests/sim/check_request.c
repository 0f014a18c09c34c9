/* What must hold of every request. */
#include "checks.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- 1: each call is answered once, first in the message that follows ---- */

static size_t uses_of(const struct message *m, const struct block **out, size_t max)
{
	size_t n = 0;

	for (size_t i = 0; i < m->n && n < max; i++)
		if (m->blocks[i]->kind == BLOCK_TOOL_USE)
			out[n++] = m->blocks[i];
	return n;
}

#define MAX_USES 64

static void check_answers(struct sim *s, const struct message *m, const struct message *next)
{
	const struct block *uses[MAX_USES];
	size_t n = uses_of(m, uses, MAX_USES), found = 0;

	for (size_t i = 0; next && i < next->n; i++) {
		const struct block *b = next->blocks[i];
		if (b->kind != BLOCK_TOOL_RESULT)
			continue;
		if (i != found)
			sim_problem(s, "the result of '%s' does not stand first", b->id);
		size_t k = 0;
		while (k < n && (!uses[k] || strcmp(uses[k]->id, b->id) != 0))
			k++;
		if (k == n)
			sim_problem(s, "a result for '%s', which was not called there", b->id);
		else
			uses[k] = NULL;
		found++;
	}
	if (found < n)
		sim_problem(s, "%zu calls, %zu results", n, found);
}

#define ID_SLOTS 4096

static uint64_t hash_id(const char *id)
{
	uint64_t h = 14695981039346656037u;

	while (*id)
		h = (h ^ (unsigned char)*id++) * 1099511628211u;
	return h ? h : 1;
}

static void check_ids(struct sim *s, const struct history *h)
{
	static uint64_t slots[ID_SLOTS];
	size_t used[ID_SLOTS / 2], n = 0;

	for (size_t i = 0; i < h->n; i++)
		for (size_t k = 0; k < h->v[i]->n && n < LENGTH(used); k++) {
			const struct block *b = h->v[i]->blocks[k];
			if (b->kind != BLOCK_TOOL_USE)
				continue;
			uint64_t id = hash_id(b->id);
			size_t at = id % ID_SLOTS;
			while (slots[at] && slots[at] != id)
				at = (at + 1) % ID_SLOTS;
			if (slots[at])
				sim_problem(s, "the id '%s' is used twice", b->id);
			else
				used[n++] = at;
			slots[at] = id;
		}
	while (n)
		slots[used[--n]] = 0;
}

void check_pairing(struct sim *s, const struct step *step)
{
	const struct history *h = step->req->messages;

	for (size_t i = 0; i < h->n; i++) {
		if (h->v[i]->role == ROLE_ASSISTANT)
			check_answers(s, h->v[i], i + 1 < h->n ? h->v[i + 1] : NULL);
		else if (i == 0)
			check_answers(s, &(struct message){ 0 }, h->v[0]);
	}
	check_ids(s, h);
}

/* ---- 11 ---- */

static bool ends_in_cut_thinking(const struct message *m)
{
	const struct block *b = m->blocks[m->n - 1];

	return b->kind == BLOCK_THINKING && strstr(b->json, "\"partial\"");
}

void check_roles(struct sim *s, const struct step *step)
{
	const struct history *h = step->req->messages;
	bool paused = (step->req->kind == MODEL_MAIN || step->req->kind == MODEL_COUNT) && s->w->paused;

	for (size_t i = 0; i < h->n; i++) {
		const struct message *m = h->v[i];
		if ((m->role == ROLE_USER) != (i % 2 == 0))
			sim_problem(s, "message %zu has the wrong role", i);
		if (m->n && ends_in_cut_thinking(m))
			sim_problem(s, "message %zu ends in the thinking of a cut answer", i);
		if (m->n == 0)
			sim_problem(s, "message %zu is empty", i);
		for (size_t k = 0; k < m->n; k++) {
			const struct block *b = m->blocks[k];
			if (block_is_blank(b))
				sim_problem(s, "message %zu holds blank text", i);
			if (b->kind == BLOCK_THINKING && (!b->text || !*b->text) && strstr(b->json, "\"partial\""))
				sim_problem(s, "message %zu holds unsigned thinking of a cut answer", i);
		}
	}
	if (h->n == 0)
		sim_problem(s, "there is no message");
	else if (h->v[h->n - 1]->role != ROLE_USER && !paused)
		sim_problem(s, "the last message is not the user's");
}

/* ---- 3: the bound ---- */

/*
 * A model call takes at most 1 + max_retries attempts, one more for a dead connection, and one for each repair; repairs
 * come once a kind in a run, or once an image, but the output cap may be lowered in each call, once for each of two
 * reasons: what the window leaves for the answer is told anew when the conversation was made shorter.
 *
 * Of main calls there is one for each turn, and one more for each Continue that begins no turn: in each turn at most 5
 * pauses, and as many behind a part that is kept when the window is full; each of them, like the turn itself, may meet
 * one drain before and one behind one reactive compaction; in all one raise and one switch for each further model, and
 * again one raise behind a switch.
 *
 * Before each main call at most one compaction of eight requests (of two models; three times it may be too long
 * itself), one more for a reactive one, and one count; behind each turn at most one summary.
 */
static int64_t requests_bound(const struct sim *s)
{
	const struct loop_config *c = &s->cfg;
	int64_t attempts = c->retry.max_retries + 2;
	int64_t switches = (int64_t)c->nfallbacks;
	int64_t main_calls = c->max_turns * (1 + 2 * 5) * (1 + 3) + 2 * switches + 1;
	int64_t compactions = 2 * main_calls * 8;

	return (main_calls + compactions + switches) * (attempts + 2) + s->w->repairs + s->w->images + main_calls +
	       c->max_turns;
}

/* Kinds of repairs that are made once each, see loop/repair.c. */
#define MAX_REPAIRS 8

void check_bound(struct sim *s, const struct step *step)
{
	int64_t per_call = s->cfg.retry.max_retries + 2 + s->w->repairs + s->w->clamps + s->w->images;

	if (s->requests - s->w->requests_before > requests_bound(s))
		sim_problem(s, "request %d, at most %lld follow from the limits", s->requests - s->w->requests_before,
		            (long long)requests_bound(s));
	if (step->req->kind == MODEL_MAIN && s->w->costly >= 3)
		sim_problem(s, "%d attempts of a call had content", s->w->costly);
	if (step->req->kind == MODEL_MAIN && s->w->lowered > 2) /* once for each of two reasons */
		sim_problem(s, "the cap was lowered %d times in a call", s->w->lowered);
	if (step->req->kind == MODEL_MAIN && s->w->attempts >= per_call)
		sim_problem(s, "attempt %d of a call that may take %lld", s->w->attempts + 1, (long long)per_call);
	if (s->w->repairs > MAX_REPAIRS * (1 + (int)s->cfg.nfallbacks))
		sim_problem(s, "%d repairs of requests", s->w->repairs);
}

/* ---- 9: what was sent stays as it was ---- */

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

static bool same_block(const struct block *a, const struct block *b)
{
	return a == b || (a->json_len == b->json_len && !memcmp(a->json, b->json, a->json_len));
}

void check_prefix(struct sim *s, const struct step *step)
{
	const struct witness *w = s->w;
	const struct history *h = step->req->messages;
	size_t at = 0;

	if (step->req->kind != MODEL_MAIN || w->edited || w->server_dropped || !w->last_main.n)
		return;
	if (!same_text(step->req->system, w->system) || !same_text(step->req->tools_json, w->tools))
		sim_problem(s, "the system text or the tools are not what they were");
	for (size_t i = 0; i < h->n && at < w->last_main.n; i++)
		for (size_t k = 0; k < h->v[i]->n && at < w->last_main.n; k++, at++) {
			const struct sent *was = &w->last_main.v[at];
			if (was->role != h->v[i]->role || !same_block(was->block, h->v[i]->blocks[k])) {
				sim_problem(s, "block %zu is not what it was, and no event says so", at);
				return;
			}
		}
	if (at < w->last_main.n)
		sim_problem(s, "%zu blocks were sent, %zu are left, and no event says so", w->last_main.n, at);
}

/* ---- 10: the gate ---- */

/* To count costs nothing. */
static int paid_requests(const struct sim *s)
{
	return sim_requests(s) - (s->counts - s->w->counts_gone);
}

static bool spent(const struct sim *s, int percent)
{
	const struct loop_config *c = &s->cfg;

	return (c->token_budget && s->w->tokens >= c->token_budget / 100 * percent + c->token_budget % 100) ||
	       (c->max_cost_nano_usd &&
	        s->w->cost >= c->max_cost_nano_usd / 100 * percent + c->max_cost_nano_usd % 100) ||
	       (c->max_requests && paid_requests(s) > c->max_requests);
}

void check_gate(struct sim *s, const struct step *step)
{
	const struct loop_config *c = &s->cfg;
	const struct witness *w = s->w;

	if (w->signalled || w->interrupted || sim_signal_due(s))
		sim_problem(s, "a request after a signal");
	if (s->clock >= c->deadline)
		sim_problem(s, "a request after the deadline");
	if (c->token_budget && w->tokens >= c->token_budget)
		sim_problem(s, "a request after %lld tokens of %lld", (long long)w->tokens, (long long)c->token_budget);
	if (c->max_cost_nano_usd && w->cost >= c->max_cost_nano_usd)
		sim_problem(s, "a request after %lld nano-USD of %lld", (long long)w->cost,
		            (long long)c->max_cost_nano_usd);
	if (c->max_requests && paid_requests(s) > c->max_requests)
		sim_problem(s, "request %d of %lld", paid_requests(s), (long long)c->max_requests);
	if (step->req->kind == MODEL_MAIN && !w->in_turn && w->turns >= c->max_turns)
		sim_problem(s, "a request after %d turns of %lld", w->turns, (long long)c->max_turns);
	if (step->req->kind == MODEL_SUMMARY && spent(s, 90))
		sim_problem(s, "a background call when a budget is nearly spent");
}

/* ---- further promises ---- */

/* What an attempt showed is withdrawn before the next one. */
void check_withdrawn_lines(struct sim *s, const struct step *step)
{
	if (step->req->kind == MODEL_MAIN && s->w->pending_lines)
		sim_problem(s, "%d lines of an attempt that failed are neither accepted nor withdrawn",
		            s->w->pending_lines);
}

/* The estimate rests on the history's own sums. */
void check_sums(struct sim *s, const struct step *step)
{
	const struct history *h = step->req->messages;
	size_t bytes = 0, weight = 0;

	for (size_t i = 0; i < h->n; i++)
		for (size_t k = 0; k < h->v[i]->n; k++) {
			bytes += h->v[i]->blocks[k]->json_len;
			weight += h->v[i]->blocks[k]->weight;
		}
	if (bytes != h->bytes || weight != h->weight)
		sim_problem(s, "the history weighs %zu and says %zu", weight, h->weight);
}

void check_alone(struct sim *s, const struct step *step)
{
	if (*sim_running(s, step->req->kind))
		sim_problem(s, "two model calls at once");
	if (s->ended)
		sim_problem(s, "a request after the result");
	if (s->running_safe || s->running_unsafe)
		sim_problem(s, "a request while tools run");
}

/* The task stays first, and what the model has not seen yet stays as it is. */
void check_kept(struct sim *s, const struct step *step)
{
	const struct history *h = step->req->messages;
	const struct message *last = h->n ? h->v[h->n - 1] : NULL;
	bool found = !*s->w->newest || !s->w->unseen;

	if (step->req->kind != MODEL_MAIN || !last)
		return;
	if (h->v[0]->blocks[0]->kind != BLOCK_TEXT ||
	    (*s->w->first && !sim_begins(h->v[0]->blocks[0]->text, s->w->first)))
		sim_problem(s, "the task does not stand first");
	for (size_t k = 0; k < last->n && !found; k++) {
		const struct block *b = last->blocks[k];
		found = b->kind == BLOCK_TOOL_RESULT && !strcmp(b->id, s->w->newest) &&
		        !(b->text && sim_begins(b->text, "[Old result"));
	}
	if (!found)
		sim_problem(s, "the result of '%s' was not shown", s->w->newest);
}

/* A request for a summary that was too long is made shorter three times. */
void check_shrinks(struct sim *s, const struct step *step)
{
	if (step->req->kind == MODEL_COMPACT && s->w->shrinks >= 4 &&
	    step->req->messages->weight != s->w->compact_weight)
		sim_problem(s, "a request for a summary was made shorter %d times", s->w->shrinks);
}

/* The marks of the model that is asked, by the catalog's window: one that was learned is smaller. */
static bool marks_of(const struct sim *s, const char *model, struct context_marks *marks)
{
	const struct loop_config *c = &s->cfg;
	const struct catalog_row *row = witness_row(s, model);
	struct error e = ERROR_INIT;
	int64_t cap = c->max_output_tokens ? c->max_output_tokens : catalog_default_max_output(row);

	return !context_marks(&c->context, row->window, cap, row->flags & CAT_DENSE_TOKENS ? 3 : 4, marks, &e);
}

/* What the model itself has counted is not sent when it is over the blocking mark and nothing was done about it. */
void check_fits(struct sim *s, const struct step *step)
{
	const struct witness *w = s->w;
	struct context_marks marks;
	bool phase_1 = w->last == CONT_NONE || continue_row(w->last)->new_turn;

	if (step->req->kind != MODEL_MAIN || !phase_1 || w->anchor < 0 || w->edited || w->attempts > 0)
		return;
	if (marks_of(s, step->req->model, &marks) && marks.blocking && w->anchor >= marks.blocking)
		sim_problem(s, "%lld tokens are known to be sent, the limit is %lld", (long long)w->anchor,
		            (long long)marks.blocking);
}

/* No result, and no message of them, is longer than its part of the window. */
void check_results_fit(struct sim *s, const struct step *step)
{
	const struct history *h = step->req->messages;
	struct context_marks marks;
	size_t all = 0;

	if (step->req->kind != MODEL_MAIN || s->w->attempts > 0 || s->w->last != CONT_NEXT_TURN || h->n < 2 ||
	    !marks_of(s, step->req->model, &marks))
		return;
	for (size_t k = 0; k < h->v[h->n - 1]->n; k++) {
		const struct block *b = h->v[h->n - 1]->blocks[k];
		if (b->kind != BLOCK_TOOL_RESULT)
			continue;
		if (strstr(b->json, "The call was interrupted: ")) /* a line in the place of one that never came */
			continue;
		all += b->text_len;
		if (b->text_len > marks.result_bytes)
			sim_problem(s, "the result of '%s' has %zu bytes of %zu", b->id, b->text_len,
			            marks.result_bytes);
	}
	if (all > marks.message_bytes)
		sim_problem(s, "results of %zu bytes together, %zu are allowed", all, marks.message_bytes);
}

/* Three overloads in a row, and there is another model: it is asked. */
void check_overloads(struct sim *s, const struct step *step)
{
	const struct witness *w = s->w;

	if (step->req->kind == MODEL_MAIN && w->overloads >= 3 && w->switches < (int)s->cfg.nfallbacks && !w->switched)
		sim_problem(s, "%d overloads in a row, and the same model is asked", w->overloads);
}

/* Thinking of one model is nothing to another one; bound thinking does not outlive an edit of what stands before it. */
void check_thinking(struct sim *s, const struct step *step)
{
	const struct history *h = step->req->messages;
	bool bound = witness_row(s, step->req->model)->flags & CAT_THINKING_BOUND;

	if (step->req->kind != MODEL_MAIN || !(s->w->switched || (bound && s->w->edited_before && !s->w->images)))
		return;
	for (size_t i = 0; i < h->n; i++)
		for (size_t k = 0; k < h->v[i]->n; k++)
			if (block_is_thinking(h->v[i]->blocks[k])) {
				sim_problem(s, "thinking is kept %s",
				            s->w->switched ? "for another model" : "behind an edit");
				return;
			}
}

static bool still_sent(const struct history *h, const struct block *b)
{
	for (size_t i = 0; i < h->n; i++)
		for (size_t k = 0; k < h->v[i]->n; k++)
			if (h->v[i]->blocks[k] == b)
				return true;
	return false;
}

/* A result that is not sent any more is told to the tools, and none that is. */
void check_forgotten(struct sim *s, const struct step *step)
{
	const struct witness *w = s->w;

	if (step->req->kind != MODEL_MAIN || (!w->edited && w->nforgotten == w->forgotten_before) || w->images)
		return;
	for (size_t i = 0; i < w->last_main.n; i++) {
		const struct block *b = w->last_main.v[i].block;
		if (b->kind != BLOCK_TOOL_RESULT)
			continue;
		bool ever = list_has(w->forgotten, w->nforgotten, b->id);
		bool told = ever && !list_has(w->forgotten, w->forgotten_before, b->id);
		bool sent = still_sent(step->req->messages, b) || list_has(w->cut, w->ncut, b->id);
		if (told && still_sent(step->req->messages, b))
			sim_problem(s, "the result of '%s' is forgotten and sent", b->id);
		if (!ever && !sent)
			sim_problem(s, "the result of '%s' is gone and the tools are not told", b->id);
	}
}

void check_tools_sent(struct sim *s, const struct step *step)
{
	if (step->req->kind != MODEL_COMPACT)
		return;
	if (!same_text(step->req->tools_json, s->cfg.tools_json) || !same_text(step->req->system, s->cfg.system))
		sim_problem(s, "a compaction with another system text or other tools");
}
