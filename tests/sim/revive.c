/*
 * One process has died, another goes on from the record: what the simulator knows by its own eyes is held against what
 * the record says; then the witness forgets what the dead one knew alone.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/json.h"
#include "crash.h"
#include "record/resume.h"

/* ---- is all of it there? ---- */

static const struct block *find_block(const struct history *h, enum block_kind kind, const char *id)
{
	for (size_t i = 0; i < h->n; i++)
		for (size_t k = 0; k < h->v[i]->n; k++) {
			const struct block *b = h->v[i]->blocks[k];
			if (b->kind == kind && b->id && !strcmp(b->id, id))
				return b;
		}
	return NULL;
}

static const struct resumed_call *interrupted(const struct resumed *r, const char *id)
{
	for (size_t i = 0; r && i < r->ninterrupted; i++)
		if (!strcmp(r->interrupted[i].id, id))
			return &r->interrupted[i];
	return NULL;
}

/* What may have had an effect and was not told of is known to have begun. */
static void check_begun(struct sim *s, const struct resumed *r)
{
	const struct witness *w = s->w;

	for (size_t i = w->accepted_runs; i < w->nran; i++) {
		const struct run_call *c = &w->ran[i];
		const struct resumed_call *left = interrupted(r, c->id);
		bool told = list_has(w->answered, w->nanswered, c->id);
		if (c->withdrawn)
			continue;
		if (!c->safe && !find_block(&s->history, BLOCK_TOOL_USE, c->id))
			sim_problem(s, "'%s' was run, and the record does not know", c->id);
		if (left && told)
			sim_problem(s, "the result of '%s' was told and is not in the record", c->id);
		if (!c->safe && !told && left && !left->started)
			sim_problem(s, "'%s' was run, and the record says that it was not begun", c->id);
	}
	for (size_t i = 0; r && i < r->ninterrupted; i++)
		if (r->interrupted[i].started !=
		    (strstr(find_block(&s->history, BLOCK_TOOL_RESULT, r->interrupted[i].id)->json, "not known") !=
		     NULL))
			sim_problem(s, "the model is not told whether '%s' was begun", r->interrupted[i].id);
}

/* What was sent is there, but for what was edited since, and may be so in the record or not. */
static void check_sent(struct sim *s)
{
	const struct witness *w = s->w;
	size_t at = 0;

	if (w->edited || w->server_dropped)
		return;
	for (size_t i = 0; i < s->history.n; i++)
		for (size_t k = 0; k < s->history.v[i]->n && at < w->last_main.n; k++, at++) {
			const struct sent *was = &w->last_main.v[at];
			const struct block *b = s->history.v[i]->blocks[k];
			if (was->role != s->history.v[i]->role || strcmp(was->block->json, b->json) != 0) {
				sim_problem(s, "block %zu was sent, and is another one in the record", at);
				return;
			}
		}
	if (at < w->last_main.n)
		sim_problem(s, "%zu blocks were sent, the record has %zu", w->last_main.n, at);
}

/* ---- the next process ---- */

/* Has a hook said it beside a result that the record has? */
static bool was_told(const struct witness *w, unsigned mark)
{
	for (size_t i = 0; i < w->nran; i++)
		if (w->ran[i].context == mark && w->ran[i].told && !w->ran[i].withdrawn)
			return true;
	return false;
}

/* A mark that stands in the conversation will be sent, but not told again; one that does not may be, by whoever brings
 * it anew. */
static void settle_marks(struct sim *s)
{
	struct witness *w = s->w;
	char text[32];

	for (unsigned n = 0; n < LENGTH(w->marks); n++) {
		struct mark *m = &w->marks[n];
		const struct block *found = NULL;
		if (!m->due && !m->block && !m->shown && !m->erased)
			continue;
		snprintf(text, sizeof text, "[mark %u]", n);
		for (size_t i = 0; i < s->history.n && !found; i++)
			for (size_t k = 0; k < s->history.v[i]->n && !found; k++) {
				const struct block *b = s->history.v[i]->blocks[k];
				if (b->kind == BLOCK_TEXT && strstr(b->text, text))
					found = b;
			}
		m->due = m->due && !found && was_told(w, n);
		m->block = found;
		if (!found)
			m->shown = m->erased = 0;
	}
}

/* A result that is in the conversation again is not forgotten. */
static void settle_forgotten(struct sim *s)
{
	struct witness *w = s->w;
	size_t kept = 0;

	for (size_t i = 0; i < w->nforgotten; i++) {
		const struct block *b = find_block(&s->history, BLOCK_TOOL_RESULT, w->forgotten[i]);
		if (b && !b->cleared)
			free(w->forgotten[i]);
		else
			w->forgotten[kept++] = w->forgotten[i];
	}
	w->nforgotten = w->forgotten_before = kept;
}

/* An answer that is left out may come again, with the calls that only looked at something. */
static void settle_runs(struct sim *s)
{
	struct witness *w = s->w;

	for (size_t i = w->accepted_runs; i < w->nran; i++)
		w->ran[i].withdrawn |= !find_block(&s->history, BLOCK_TOOL_USE, w->ran[i].id);
	for (size_t i = 0; i < w->nran; i++)
		w->ran[i].told = true; /* or never */
	w->withdrawn_runs = w->nran;
	w->first_run = (int)w->nran;
}

static int number(const struct json *doc, const char *key)
{
	return (int)json_int_or(doc, json_get(doc, json_root(doc), key), 0);
}

/* So often another model was asked; -1: one that is not known any more. */
static int model_index(const struct sim *s, const struct json *doc)
{
	int name = json_get(doc, json_root(doc), "model");

	for (size_t i = 0; i < s->cfg.nfallbacks && !json_eq(doc, name, s->cfg.model); i++)
		if (json_eq(doc, name, s->cfg.fallbacks[i].name))
			return (int)i + 1;
	return json_eq(doc, name, s->cfg.model) ? 0 : -1;
}

/* The guards of the message that is gone on with: as far as the record has come. */
/* True: another model was asked then. */
static bool take_guards(struct sim *s, const char *state)
{
	struct witness *w = s->w;
	struct json doc = JSON_INIT;
	struct error e = ERROR_INIT;

	if (!state || json_parse(&doc, state, strlen(state), JSON_BORROW, &e))
		return false;
	w->recoveries = number(&doc, "recoveries");
	w->pauses = number(&doc, "pauses");
	w->salvages = number(&doc, "salvages");
	w->unusable = number(&doc, "malformed");
	w->nudges = number(&doc, "nudged");
	w->reactives = number(&doc, "compact_reactive");
	w->failures_in_a_row = number(&doc, "compact_failures");
	w->objections = number(&doc, "stop_blocks");
	w->target_nudges = number(&doc, "nudges");
	w->in_turn = number(&doc, "same_turn") != 0;
	for (int i = CONT_NONE + 1; i < CONT_COUNT; i++)
		if (json_eq(&doc, json_get(&doc, json_root(&doc), "retries"),
		            continue_row((enum continue_reason)i)->name))
			w->last = (enum continue_reason)i;
	w->noted = number(&doc, "turns_warned") != 0;
	w->notes = number(&doc, "budget_warned");
	w->guess = json_int_or(&doc, json_get(&doc, json_root(&doc), "anchor_tokens"), -1) < 0;
	int index = model_index(s, &doc);
	w->switches = w->fallbacks = index > 0 ? index : 0;
	if (!number(&doc, "max_output"))
		w->escalations = 0;
	json_release(&doc);
	return index < 0;
}

/* A budget was told to be near, or not to be any more, behind the state that was told last. */
static void take_notes(struct sim *s)
{
	const struct message *last = s->history.n ? s->history.v[s->history.n - 1] : NULL;
	struct witness *w = s->w;

	for (size_t i = 0; last && last->role == ROLE_USER && i < last->n; i++) {
		const char *text = last->blocks[i]->kind == BLOCK_TEXT ? last->blocks[i]->text : "";
		bool budget = sim_begins(text, "The budget of this run is nearly spent");
		w->notes += budget && !w->notes;
		w->noted |= budget || sim_begins(text, "The turns of this task are nearly");
		if (!strstr(text, NOTE_REVOKED))
			continue;
		w->noted = false;
		w->notes = 0;
	}
}

static void forget_process(struct witness *w)
{
	w->begins = true;
	w->arrival = NULL;
	w->accepted = w->compacting = w->bad_summary = w->folded = w->summed_up = w->unseen = w->backs_off = false;
	w->signalled = w->interrupted = w->hook_ended = w->told_failure = w->broke = w->declined = false;
	w->unread = w->in_doubt = w->stopped = w->paused = w->in_turn = w->wants_note = w->verify_passed = false;
	w->pending_lines = w->usable = w->unanswered = w->synthetics = w->undying = 0;
	w->turns = w->verified = w->verify_runs = w->verify_failures = w->repairs_asked = 0;
	w->attempts = w->costly = w->lowered = w->overloads = w->shrinks = w->precompacts = 0;
	w->starts = w->ends = w->status = 0;
	w->compact_ends = w->compact_starts = w->boundaries;
	w->last = w->asked = CONT_NONE;
	w->anchor = -1;
	w->guess = true;
	w->output_unsure = true; /* what an answer brought that no state tells of is not known */
	w->flight[0].usage = w->flight[1].usage = (struct usage)USAGE_UNKNOWN;
	for (size_t i = 0; i < HOOK_EVENTS; i++)
		w->said[i] = HOOKS_NOT_ASKED;
	w->stop_context = w->went_on = false;
	*w->objection = *w->beside = '\0';
}

/* What was paid can be summed up from the lines alone, but for what was in flight, or was not told yet. */
static void take_account(struct sim *s, const struct resumed *r, bool quiet)
{
	struct witness *w = s->w;
	int64_t tokens = 0, cost = 0;

	for (size_t i = 0; r && i < r->totals.nmodels; i++) {
		tokens += usage_total(&r->totals.models[i].usage);
		cost += r->totals.models[i].cost_nano_usd > 0 ? r->totals.models[i].cost_nano_usd : 0;
	}
	if ((tokens > w->tokens && !w->pending_lines && w->flight[0].usage.input < 0) || (quiet && tokens != w->tokens))
		sim_problem(s, "the record tells of %lld tokens, %lld were used", (long long)tokens,
		            (long long)w->tokens);
	w->tokens = tokens;
	w->cost = cost;
}

static bool goes_on_by_itself(const struct witness *w, const struct resumed_answer *a)
{
	static const char *const reasons[] = { "max_tokens", "model_context_window_exceeded", "pause_turn" };

	for (size_t i = 0; i < LENGTH(reasons); i++)
		if (!strcmp(a->stop_reason, reasons[i]))
			return true;
	return a->nblocks == 0 && !w->nudges;
}

/* The answer stands, and what follows from it is to come; or words are there already, and it is known who said them. */
static void take_answer(struct sim *s, const struct resumed_answer *a)
{
	struct witness *w = s->w;
	bool hooks = sim_has_hook(s, HOOK_STOP);

	w->accepted = w->in_turn = true; /* the turn was counted by whom it came to */
	w->paused = false;
	w->guess &= usage_total(&a->usage) <= 0; /* it says how much the conversation takes */
	if (!strcmp(a->stop_reason, "model_context_window_exceeded")) {
		w->summed_up = true; /* room was made, the Continue that counts it is to come, maybe once more */
		w->reactives = 0;
	}
	if (!a->replied || goes_on_by_itself(w, a))
		return;
	if (a->went_on && !strcmp(a->went_on, continue_row(CONT_TOKEN_BUDGET)->name))
		w->said[HOOK_STOP] = w->said[HOOK_VERIFY] = (int)HOOK_SAYS_PASS;
	if (w->said[HOOK_STOP] == (int)HOOK_SAYS_PASS || (!a->went_on && !hooks && !sim_has_hook(s, HOOK_VERIFY)))
		return;
	w->said[HOOK_STOP] = (int)(a->verified || !hooks ? HOOK_SAYS_PASS : HOOK_SAYS_BLOCK);
	if (w->said[HOOK_STOP] == (int)HOOK_SAYS_BLOCK)
		return;
	w->said[HOOK_VERIFY] = (int)HOOK_SAYS_BLOCK;
	w->repairs_asked--; /* the other process's */
}

void witness_revive(struct sim *s, const struct resumed *r, bool quiet)
{
	struct witness *w = s->w;
	bool over = s->ended, unknown = false;
	int turns = w->turns;

	s->checking = -1;
	check_begun(s, r);
	check_sent(s);
	take_account(s, r, quiet);
	settle_marks(s);
	settle_forgotten(s);
	settle_runs(s);
	witness_settled(w);
	forget_process(w);
	w->switches = w->fallbacks = 0;
	w->refilled -= quiet ? turns : 1000; /* a compaction that the record does not know is made again */
	if (r)
		unknown = take_guards(s, r->loop_state);
	take_notes(s);
	w->paused = w->in_turn && s->history.n && s->history.v[s->history.n - 1]->role == ROLE_ASSISTANT;
	if (s->cfg.resume_answer)
		take_answer(s, s->cfg.resume_answer);
	else if (s->cfg.goes_on && s->cfg.resume_batch)
		w->accepted = w->in_turn = true; /* the same of one with calls */
	s->ended = false;
	w->goes_on = s->cfg.goes_on;
	if (s->cfg.goes_on && over)
		w->messages++; /* it gets another result */
	if (!s->cfg.goes_on && !over)
		w->messages--; /* it is begun anew */
	w->system = s->cfg.system;
	w->tools = s->cfg.tools_json;
	w->requests_before = w->requests_gone = s->requests;
	w->counts_gone = s->counts;
	w->edited = w->edited_before = w->switched = w->server_dropped = false;
	if (r) { /* thinking is of a model, and may be of what stood in front */
		w->switched = unknown;
		w->edited = w->edited_before = w->switched || s->cfg.resume_moved;
	}
	witness_sent(s, &s->history);
	talk_release(&w->reader);
	history_copy(&w->reader.history, &s->history, 0, s->history.n);
	w->resumed = r != NULL;
}

/* Words of hooks that waited. */
static bool had_waited(const struct sim *s, const char *text)
{
	const char *state = s->cfg.resume_state;
	struct json doc = JSON_INIT;
	struct error e = ERROR_INIT;

	if (!state || json_parse(&doc, state, strlen(state), JSON_BORROW, &e))
		return false;
	char *unsaid = json_strdup(&doc, json_get(&doc, json_root(&doc), "unsaid"), NULL);
	bool is = unsaid && *unsaid && strstr(text, unsaid);
	free(unsaid);
	json_release(&doc);
	return is;
}

/* The calls of the answer that the record ends with are at their end; hooks about all of them may have been asked. */
void witness_batch(struct sim *s, const struct resumed_batch *b)
{
	struct witness *w = s->w;
	const struct message *last = s->history.n ? s->history.v[s->history.n - 1] : NULL;

	w->hook_ended |= b->ends_run != NULL;
	w->went_on = b->went_on;
	w->usable = (int)(b->calls - b->unusable);
	for (size_t i = 0; last && i < last->n; i++) {
		const struct block *r = last->blocks[i];
		if (r->kind == BLOCK_TOOL_RESULT) {
			witness_call(w, r->id);
			witness_answered(w, r->id);
		}
		if (r->kind == BLOCK_TEXT && !(b->said && strstr(r->text, b->said)) &&
		    !strstr(r->text, "The SessionStart ") && !strstr(r->text, NOTE_REVOKED) && !had_waited(s, r->text))
			w->said[HOOK_POST_TOOL_BATCH] = (int)HOOK_SAYS_PASS;
	}
	if (b->went_on || b->ended)
		w->said[HOOK_POST_TOOL_BATCH] = (int)HOOK_SAYS_PASS;
}

void witness_take_up(struct sim *s, const char *text)
{
	const struct session_totals *paid = s->cfg.resume_paid;
	struct witness *w = s->w;

	s->text = text;
	witness_message(s, text);
	take_guards(s, s->cfg.resume_state);
	w->goes_on = w->resumed = w->accepted = w->in_turn = true;
	w->prompts = 1;
	for (size_t i = 0; paid && i < paid->nmodels; i++)
		w->tokens += usage_total(&paid->models[i].usage);
	if (s->cfg.resume_batch)
		witness_batch(s, s->cfg.resume_batch);
	take_notes(s);
}
