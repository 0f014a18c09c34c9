/* What the simulator knows of a run by its own eyes: what was sent, told, run and paid. The checks compare it with what
 * the loop does. */
#include "world.h"

#include <stdio.h>
#include <stdlib.h>

static void forget_verdicts(struct witness *w)
{
	for (size_t i = 0; i < LENGTH(w->said); i++)
		w->said[i] = HOOKS_NOT_ASKED;
	w->stop_context = false;
}

void witness_open(struct sim *s)
{
	s->w = calloc(1, sizeof *s->w);
	s->w->anchor = -1;
	s->w->guess = true;
	forget_verdicts(s->w);
	s->digest = 14695981039346656037u;
}

static void forget_all(char **list, size_t *n)
{
	while (*n)
		free(list[--*n]);
}

static void remember(char **list, size_t *n, size_t max, const char *id)
{
	if (*n < max)
		list[(*n)++] = strdup(id);
}

static void sent_clear(struct sent_list *l)
{
	while (l->n)
		block_unref(l->v[--l->n].block);
}

void witness_free(struct sim *s)
{
	struct witness *w = s->w;

	if (!w)
		return;
	forget_all(w->open_calls, &w->nopen);
	forget_all(w->answered, &w->nanswered);
	forget_all(w->forgotten, &w->nforgotten);
	forget_all(w->cut, &w->ncut);
	forget_all(w->coming, &w->ncoming);
	while (w->nran)
		free(w->ran[--w->nran].id);
	sent_clear(&w->last_main);
	free(w->last_main.v);
	talk_release(&w->reader);
	free(w);
	s->w = NULL;
}

const struct catalog_row *witness_row(const struct sim *s, const char *model)
{
	if (!strcmp(model, s->cfg.model))
		return s->cfg.row;
	for (size_t i = 0; i < s->cfg.nfallbacks; i++)
		if (!strcmp(model, s->cfg.fallbacks[i].name))
			return s->cfg.fallbacks[i].row;
	return catalog_or_default(model);
}

/* ---- requests and what they cost ---- */

void witness_sent(struct sim *s, const struct history *h)
{
	struct sent_list *l = &s->w->last_main;
	size_t at = 0;

	for (size_t i = 0; i < h->n; i++) {
		const struct message *m = h->v[i];
		for (size_t k = 0; k < m->n; k++, at++) {
			if (at < l->n && l->v[at].block == m->blocks[k] && l->v[at].role == m->role)
				continue;
			while (l->n > at)
				block_unref(l->v[--l->n].block);
			if (l->n == l->cap) {
				l->cap = l->cap ? 2 * l->cap : 64;
				l->v = realloc(l->v, l->cap * sizeof *l->v);
			}
			l->v[l->n++] = (struct sent){ m->role, block_ref(m->blocks[k]) };
			sim_digest(s, m->blocks[k]->json, m->blocks[k]->json_len);
		}
	}
	while (l->n > at)
		block_unref(l->v[--l->n].block);
}

void witness_request(struct sim *s, const struct model_request *req)
{
	struct witness *w = s->w;
	struct flight *f = &w->flight[req->kind == MODEL_SUMMARY];

	*f = (struct flight){ .usage = USAGE_UNKNOWN,
		              .row = witness_row(s, req->model),
		              .max_tokens = req->max_tokens };
	sim_digest(s, &req->kind, sizeof req->kind);
	sim_digest(s, &req->max_tokens, sizeof req->max_tokens);
	sim_digest(s, &req->without, sizeof req->without);
	if (req->kind != MODEL_SUMMARY)
		w->backs_off = false;
	if (req->kind == MODEL_COMPACT) {
		w->shrinks += req->messages->weight != w->compact_weight;
		w->compact_weight = req->messages->weight;
	}
	if (req->kind != MODEL_MAIN)
		return;
	w->lowered += w->attempts > 0 && req->max_tokens < w->last_cap;
	w->last_cap = req->max_tokens;
	w->attempts++;
	w->unanswered = 0;
	w->declined = false;
	if (!*w->first && req->messages->v[0]->blocks[0]->text)
		snprintf(w->first, sizeof w->first, "%s", req->messages->v[0]->blocks[0]->text);
	witness_sent(s, req->messages);
	w->system = req->system;
	w->tools = req->tools_json;
	w->edited = w->edited_before = w->switched = w->server_dropped = false;
	w->forgotten_before = w->nforgotten;
}

/* What an attempt is known to have cost, once it has ended in whichever way. */
void witness_flight_ends(struct sim *s, enum model_kind kind)
{
	struct witness *w = s->w;
	struct flight *f = &w->flight[kind == MODEL_SUMMARY];
	int64_t cost;

	if (kind != MODEL_COUNT && (f->usage.input >= 0 || f->usage.output >= 0)) { /* to count costs nothing */
		int64_t tokens = usage_total(&f->usage);
		w->tokens = w->tokens > INT64_MAX - tokens ? INT64_MAX : w->tokens + tokens;
		cost = catalog_cost(f->row, &f->usage);
		if (cost > 0)
			w->cost = w->cost > INT64_MAX - cost ? INT64_MAX : w->cost + cost;
	}
	f->usage = (struct usage)USAGE_UNKNOWN;
}

static bool is_overload(const struct model_end *end)
{
	return end->failure != MODEL_FINE && ((end->error_type && strcasestr(end->error_type, "overloaded")) ||
	                                      (end->message && strcasestr(end->message, "overloaded")));
}

static void see_end(struct sim *s, const struct loop_event *ev)
{
	const struct model_end *end = &ev->model.end;
	struct witness *w = s->w;

	if (ev->call == MODEL_SUMMARY)
		return;
	bool refused = end->http_status == 400 || end->http_status == 413 || end->failure == MODEL_STREAM_ERROR;
	if (ev->call == MODEL_COUNT ? end->complete : refused)
		w->guess = false; /* an error may tell the size too */
	if (ev->call == MODEL_COUNT)
		return;
	if (end->failure != MODEL_FINE)
		w->anchor = -1; /* the server may have told another size */
	if (ev->call == MODEL_COMPACT) {
		w->overloads = 0;
		return;
	}
	if (end->complete && end->usage.input >= 0)
		w->guess = false;
	if (end->complete && end->usage.input >= 0)
		w->anchor = usage_total(&end->usage);
	w->overloads = is_overload(end) ? w->overloads + 1 : 0;
	w->status = end->failure == MODEL_FINE ? 0 : end->http_status;
	w->broke = end->failure != MODEL_FINE || !end->complete;
	w->costly += end->had_content && !end->complete;
}

/* It did not end where it was meant to. */
static bool stops_short(const char *stop_reason)
{
	static const char *const reasons[] = { "max_tokens", "model_context_window_exceeded", "refusal" };

	for (size_t i = 0; i < LENGTH(reasons); i++)
		if (!strcmp(stop_reason, reasons[i]))
			return true;
	return false;
}

static void see_summary(struct witness *w, const struct model_event *ev)
{
	if (ev->kind == MODEL_EV_MESSAGE_START)
		w->bad_summary = false;
	if (ev->kind == MODEL_EV_BLOCK)
		w->bad_summary |= ev->block->kind == BLOCK_TOOL_USE;
	if (ev->kind == MODEL_EV_STOP)
		w->bad_summary |= stops_short(ev->end.stop_reason);
}

void witness_stream_ends(struct witness *w)
{
	if (!w->stopped) /* it broke, and behind what had come to its end */
		w->in_doubt = false;
}

/* Which call of the answer may have been cut: the last one, until the answer goes on behind it or ends by itself. */
static void see_calls(struct witness *w, const struct model_event *ev)
{
	switch (ev->kind) {
	case MODEL_EV_MESSAGE_START:
		forget_all(w->coming, &w->ncoming);
		w->in_doubt = w->stopped = false;
		break;
	case MODEL_EV_BLOCK_START:
		w->in_doubt = false;
		break;
	case MODEL_EV_BLOCK:
		if (ev->block->kind != BLOCK_TOOL_USE)
			break;
		/* of two with the same id the second one gets another, which is not known here */
		w->in_doubt = w->ncoming < LENGTH(w->coming) && !list_has(w->coming, w->ncoming, ev->block->id);
		remember(w->coming, &w->ncoming, LENGTH(w->coming), ev->block->id);
		break;
	case MODEL_EV_STOP:
		w->stopped = true;
		w->in_doubt &= stops_short(ev->end.stop_reason);
		break;
	case MODEL_EV_END:
		witness_stream_ends(w);
		break;
	default:
		break;
	}
}

void witness_model(struct sim *s, const struct loop_event *ev)
{
	struct flight *f = &s->w->flight[ev->call == MODEL_SUMMARY];

	if (ev->call == MODEL_COMPACT)
		see_summary(s->w, &ev->model);
	if (ev->call == MODEL_MAIN)
		see_calls(s->w, &ev->model);
	switch (ev->model.kind) {
	case MODEL_EV_MESSAGE_START:
		f->usage = ev->model.usage;
		break;
	case MODEL_EV_STOP:
		f->usage = ev->model.end.usage;
		if (ev->call == MODEL_MAIN)
			s->w->declined = !strcmp(ev->model.end.stop_reason, "refusal");
		break;
	case MODEL_EV_END:
		f->usage = ev->model.end.usage;
		witness_flight_ends(s, ev->call);
		see_end(s, ev);
		break;
	default:
		break;
	}
}

/* ---- calls ---- */

void witness_start(struct sim *s, const struct block *use, bool safe)
{
	struct witness *w = s->w;
	size_t n = strlen(s->starts);

	if (w->nran < LENGTH(w->ran))
		w->ran[w->nran++] = (struct run_call){ .id = strdup(use->id), .safe = safe };
	snprintf(s->starts + n, sizeof s->starts - n, "%s%s%s", n ? " " : "", use->id, s->running_model ? "*" : "");
}

static struct run_call *run_named(struct witness *w, const char *id)
{
	for (size_t i = w->nran; i > 0; i--)
		if (!strcmp(w->ran[i - 1].id, id))
			return &w->ran[i - 1];
	return NULL;
}

void witness_tool(struct sim *s, const char *id, const struct tool_result *r)
{
	struct run_call *c = run_named(s->w, id);

	const char *mark = c && r->context ? strstr(r->context, "[mark ") : NULL;

	if (mark)
		c->context = (uint16_t)atoi(mark + 6);
	s->w->hook_ended |= r->ends_run != NULL;
}

/* Nothing ran for it, as it turns out: it may come again, and has no effect. */
void witness_refused(struct sim *s, const char *id)
{
	struct run_call *c = run_named(s->w, id);

	if (c)
		c->safe = true;
}

/* Its result is shown: what hooks said beside it goes with it. */
static void see_told(struct sim *s, const char *id)
{
	struct run_call *c = run_named(s->w, id);

	if (!c || c->told || s->w->pending_lines)
		return;
	char mark[32];

	c->told = true;
	snprintf(mark, sizeof mark, "[mark %u]", c->context);
	if (c->context)
		witness_due(s, mark, MARK_BEHIND);
}

void witness_forget(struct sim *s, const char *id)
{
	struct witness *w = s->w;

	if (list_has(w->forgotten, w->nforgotten, id) && !s->starved)
		sim_problem(s, "the result of '%s' is forgotten twice", id);
	remember(w->forgotten, &w->nforgotten, LENGTH(w->forgotten), id);
}

void witness_cut(struct sim *s, const char *id)
{
	struct witness *w = s->w;

	for (size_t i = 0; i < w->last_main.n; i++) {
		const struct block *b = w->last_main.v[i].block;
		if (b->kind == BLOCK_TOOL_RESULT && !strcmp(b->id, id))
			remember(w->cut, &w->ncut, LENGTH(w->cut), id);
	}
}

void witness_settled(struct witness *w)
{
	w->accepted_runs = w->nran;
	forget_all(w->open_calls, &w->nopen);
	forget_all(w->answered, &w->nanswered);
}

void witness_answered(struct witness *w, const char *id)
{
	remember(w->answered, &w->nanswered, LENGTH(w->answered), id);
}

void witness_call(struct witness *w, const char *id)
{
	remember(w->open_calls, &w->nopen, LENGTH(w->open_calls), id);
}

void witness_message(struct sim *s, const char *text)
{
	struct witness *w = s->w;

	w->compact_ends = w->compact_starts = w->boundaries; /* what was cut short is over */
	w->prompt = text;
	w->output = w->output_then = w->last_gain = w->target_nudges = 0;
	w->output_unsure = w->wants_note = w->noted = false;
	if (s->arrived)
		sim_problem(s, "a message is worked on, and '%s' was not told", s->arrived);
	w->arrival = NULL;
	w->messages++;
	w->requests_before = s->requests;
	w->first_run = (int)w->nran;
	w->interrupted = w->hook_ended = w->goes_on = false;
	w->turns = w->objections = w->repairs_asked = w->verified = w->synthetics = 0;
	w->verify_runs = w->verify_failures = 0;
	w->verify_passed = false;
	w->recoveries = w->reactives = w->nudges = w->pauses = w->salvages = w->unusable = 0;
	w->attempts = w->costly = w->lowered = w->precompacts = 0;
	w->refills = w->refilled = 0;
	w->in_turn = w->paused = w->accepted = w->told_failure = w->backs_off = w->unseen = false;
	w->last = w->asked = CONT_NONE;
	w->overloads = 0;
	w->pending_lines = w->usable = 0; /* of an answer that was kept as far as it came */
	witness_settled(w);
	w->begins = true;
	s->ended = false;
	forget_verdicts(w);
	witness_due(s, text, MARK_PROMPT);
}

void witness_arrival(struct sim *s, const char *text)
{
	if (!sim_has_hook(s, HOOK_USER_PROMPT_SUBMIT)) {
		witness_due(s, text, MARK_PROMPT);
		return;
	}
	s->w->arrival = text;
	s->w->said[HOOK_USER_PROMPT_SUBMIT] = HOOKS_NOT_ASKED;
}

/* ---- hooks ---- */

/* What they say to a message of the user. */
static void see_prompt_judged(struct sim *s, const struct hook_answer *a)
{
	struct witness *w = s->w;
	const char *text = w->arrival ? w->arrival : w->prompt;

	w->hook_ended |= a->verdict == HOOK_SAYS_END || (a->verdict == HOOK_SAYS_BLOCK && !w->arrival);
	if (a->verdict != HOOK_SAYS_PASS) {
		witness_erased(s, text);
		s->arrived = NULL;
	} else {
		witness_due(s, text, MARK_PROMPT);
	}
	w->arrival = NULL;
}

void witness_hook(struct sim *s, const struct hook_call *call)
{
	struct witness *w = s->w;

	w->told_failure |= call->kind == HOOK_STOP_FAILURE;
	w->verified += call->kind == HOOK_VERIFY;
	w->ends += call->kind == HOOK_SESSION_END;
	w->precompacts += call->kind == HOOK_PRE_COMPACT;
	w->compact_ends += call->kind == HOOK_POST_COMPACT;
	if (call->kind == HOOK_SESSION_START)
		*(strcmp(call->source, "compact") ? &w->starts : &w->compact_starts) += 1;
	s->w->said[call->kind] = HOOKS_NOT_ANSWERED;
}

static void see_verified(struct witness *w, bool passed)
{
	w->verify_runs++;
	w->verify_failures += !passed;
	w->verify_passed = passed;
}

static void see_hook_texts(struct sim *s, const struct hook_answer *a)
{
	bool compacted = a->kind == HOOK_SESSION_START && s->w->boundaries > 0;

	if (a->kind == HOOK_STOP || a->kind == HOOK_VERIFY) { /* heard if the run goes on from it */
		snprintf(s->w->objection, sizeof s->w->objection, "%s",
		         a->verdict == HOOK_SAYS_BLOCK && a->text ? a->text : "");
		snprintf(s->w->beside, sizeof s->w->beside, "%s", a->context ? a->context : "");
		return;
	}
	witness_due(s, a->context, compacted ? MARK_ANYWHERE : MARK_BEHIND);
	if (!s->w->goes_on) /* there is nothing to stand in front of */
		witness_due(s, a->first_message, MARK_IN_FRONT);
}

void witness_hook_answer(struct sim *s, const struct hook_answer *a)
{
	struct witness *w = s->w;
	bool ends = a->verdict == HOOK_SAYS_END, says_no = a->verdict != HOOK_SAYS_PASS;

	w->said[a->kind] = (int)a->verdict;
	w->stop_context |= a->kind == HOOK_STOP && a->context && a->verdict != HOOK_SAYS_END;
	w->hook_ended |= (a->kind == HOOK_SESSION_START && ends) || (a->kind == HOOK_POST_TOOL_BATCH && says_no);
	if (a->kind == HOOK_VERIFY)
		see_verified(w, !says_no);
	if (a->kind == HOOK_USER_PROMPT_SUBMIT)
		see_prompt_judged(s, a);
	if (!w->hook_ended && !(a->kind == HOOK_USER_PROMPT_SUBMIT && says_no))
		see_hook_texts(s, a);
}

/* ---- events ---- */

/* Which of the counters that bound recoveries begin again. */
static void count_transition(struct witness *w, enum continue_reason to)
{
	bool new_turn = continue_row(to)->new_turn, by_verify;

	if (new_turn || to == CONT_PAUSE_TURN)
		w->unusable = w->nopen > 0 && w->usable == 0 ? w->unusable + 1 : 0;
	w->usable = 0;
	if (to == CONT_NEXT_TURN)
		w->recoveries = w->reactives = w->nudges = 0;
	if (to == CONT_STOP_HOOK_BLOCKING)
		w->recoveries = 0;
	if (new_turn || (to == CONT_REACTIVE_COMPACT && w->accepted)) /* a part that was kept lies between */
		w->pauses = 0;
	if (to != CONT_SALVAGED_STREAM && to != CONT_MODEL_FALLBACK && to != CONT_COLLAPSE_DRAIN &&
	    (to != CONT_REACTIVE_COMPACT || w->accepted))
		w->salvages = 0;
	w->escalations += to == CONT_MAX_OUTPUT_ESCALATE;
	w->recoveries += to == CONT_MAX_OUTPUT_RECOVERY;
	w->reactives += to == CONT_REACTIVE_COMPACT;
	by_verify = w->said[HOOK_VERIFY] == (int)HOOK_SAYS_BLOCK;
	w->objections += to == CONT_STOP_HOOK_BLOCKING && !by_verify;
	w->repairs_asked += to == CONT_STOP_HOOK_BLOCKING && by_verify;
	w->precompacts = 0;
	w->nudges += to == CONT_EMPTY_NUDGE;
	w->pauses += to == CONT_PAUSE_TURN;
	w->salvages += to == CONT_SALVAGED_STREAM && !w->switched; /* else it was the other model's */
	w->fallbacks += to == CONT_MODEL_FALLBACK;
	bool kept = to == CONT_PAUSE_TURN || (to == CONT_REACTIVE_COMPACT && w->accepted);
	bool judged_again = to == CONT_STOP_HOOK_BLOCKING && !w->accepted; /* a limit was met behind a nudge */
	bool wishes = to == CONT_TOKEN_BUDGET || (!new_turn && !kept && w->asked == CONT_TOKEN_BUDGET);
	if (!wishes) /* behind which a limit may be met: then they hold */
		forget_verdicts(w);
	if ((new_turn || kept) && !w->in_turn && !judged_again)
		w->turns++;
	if (new_turn || kept) {
		w->in_turn = kept;
		w->asked = to;
		w->paused = to == CONT_PAUSE_TURN;
	}
	w->accepted = false;
	w->folded = w->summed_up = false;
	w->attempts = w->costly = w->lowered = 0;
	w->unseen = to == CONT_NEXT_TURN || (w->unseen && (to == CONT_COLLAPSE_DRAIN || to == CONT_MODEL_FALLBACK));
	w->last = to;
}

static enum continue_reason continue_named(const char *name)
{
	for (int r = CONT_NONE + 1; r < CONT_COUNT; r++)
		if (!strcmp(continue_row((enum continue_reason)r)->name, name))
			return (enum continue_reason)r;
	return CONT_NONE;
}

static void see_transition(struct sim *s, const struct event_transition *t)
{
	enum continue_reason to = continue_named(t->reason);

	if (s->cover)
		s->cover->pairs[s->w->last][to]++;
	if (to == CONT_STOP_HOOK_BLOCKING) {
		witness_due(s, s->w->objection, MARK_BEHIND);
		witness_due(s, s->w->beside, MARK_BEHIND);
	}
	count_transition(s->w, to);
	s->w->output_unsure |= to == CONT_SALVAGED_STREAM;
	witness_near(s, to);
	s->w->went_on = false;
	witness_settled(s->w);
	s->w->pending_lines = 0;
}

static void see_tombstone(struct witness *w)
{
	w->anchor = -1; /* what it counted is not in the conversation */
	w->unanswered = 0;
	for (size_t i = 0; i < w->nopen; i++)
		w->unanswered += !list_has(w->answered, w->nanswered, w->open_calls[i]);
	for (size_t i = w->accepted_runs; i < w->nran; i++)
		w->ran[i].withdrawn = true;
	w->usable = 0;
	witness_settled(w);
	w->pending_lines = 0;
}

static void see_notice(struct witness *w, const struct event_notice *n)
{
	if (!strcmp(n->code, "image_removed")) {
		w->images++;
		w->edited = true;
	}
	if (!strcmp(n->code, "server_call_dropped")) {
		w->server_dropped = true;
		w->anchor = -1;
	}
	if (!strcmp(n->code, "request_repaired"))
		*(strstr(n->text, "output tokens") ? &w->clamps : &w->repairs) += 1;
	if (!strcmp(n->code, "compact_model")) /* another one is asked */
		w->shrinks = 0;
}

static void see_status(struct witness *w, const struct event_status *st, size_t weight)
{
	w->compacting = st->status != NULL;
	if (w->compacting) {
		w->shrinks = 0;
		w->compact_weight = 0;
		w->weight_before = weight;
	}
	/* one that another model takes over, or that is cut short, has not failed */
	if (!st->compact_result || (st->compact_error && (!strcmp(st->compact_error, "another model goes on") ||
	                                                  !strcmp(st->compact_error, "the run ends"))))
		return;
	w->failures_in_a_row = strcmp(st->compact_result, "success") ? w->failures_in_a_row + 1 : 0;
}

static void see_boundary(struct witness *w)
{
	int turn = w->turns + !w->in_turn;

	w->edited = w->edited_before = w->summed_up = w->guess = true;
	w->boundaries++;
	if (w->refilled != turn)
		w->refills = w->refilled + 1 == turn ? w->refills + 1 : 1;
	w->refilled = turn;
}

void witness_event(struct sim *s, const struct event *ev)
{
	struct witness *w = s->w;
	const struct block *b = ev->kind == EVENT_ASSISTANT ? ev->u.assistant.block
	                        : ev->kind == EVENT_USER    ? ev->u.user.block
	                                                    : NULL;

	w->events++;
	w->begins = false;
	w->backs_off |= ev->kind == EVENT_API_RETRY;
	if (ev->kind == EVENT_ASSISTANT && ev->u.assistant.stop_reason) {
		w->accepted = true;
		w->output += ev->u.assistant.usage->output > 0 ? ev->u.assistant.usage->output : 0;
		forget_verdicts(w); /* they were about another answer */
	}
	if (ev->kind == EVENT_ASSISTANT && !ev->u.assistant.error)
		w->pending_lines = ev->u.assistant.stop_reason ? 0 : w->pending_lines + 1;
	if (ev->kind == EVENT_USER && w->pending_lines) /* of a call that is withdrawn with its line */
		w->pending_lines++;
	if (ev->kind == EVENT_ASSISTANT && ev->u.assistant.error) {
		w->synthetics++;
		snprintf(w->synthetic, sizeof w->synthetic, "%s", ev->u.assistant.text);
	}
	if (ev->kind == EVENT_ASSISTANT && ev->u.assistant.stop_reason &&
	    !strcmp(ev->u.assistant.stop_reason, "model_context_window_exceeded"))
		w->salvages = 0; /* it came to its end, although the turn goes on */
	if (b && b->kind == BLOCK_TOOL_USE)
		w->usable += !b->bad_input && !sim_begins(b->name, "Unknown");
	if (b && b->kind == BLOCK_TOOL_USE)
		remember(w->open_calls, &w->nopen, LENGTH(w->open_calls), b->id);
	if (b && b->kind == BLOCK_TOOL_RESULT)
		remember(w->answered, &w->nanswered, LENGTH(w->answered), b->id);
	if (b && b->kind == BLOCK_TOOL_RESULT)
		see_told(s, b->id);
	if (b && b->kind == BLOCK_TEXT && ev->kind == EVENT_USER) {
		witness_shown(s, b->text);
		if (s->arrived && !strcmp(b->text, s->arrived))
			s->arrived = NULL;
	}
	if (ev->kind == EVENT_TRANSITION)
		see_transition(s, &ev->u.transition);
	if (ev->kind == EVENT_TOMBSTONE)
		see_tombstone(w);
	if (ev->kind == EVENT_NOTICE)
		see_notice(w, &ev->u.notice);
	if (ev->kind == EVENT_STATUS)
		see_status(w, &ev->u.status, s->history.weight);
	if (ev->kind == EVENT_CONTEXT && strcmp(ev->u.context.step, "result_budget") != 0) {
		w->edited = true;
		w->edited_before |= strcmp(ev->u.context.step, "result_cut") != 0;
	}
	if (ev->kind == EVENT_CONTEXT)
		w->folded |= ev->u.context.tokens_freed > 0 && !strcmp(ev->u.context.step, "collapse");
	if (ev->kind == EVENT_CONTEXT) /* the other emergency measure */
		w->summed_up |= ev->u.context.tokens_freed > 0 && !strcmp(ev->u.context.step, "result_cut");
	if (ev->kind == EVENT_COMPACT_BOUNDARY)
		see_boundary(w);
	if (b && b->kind == BLOCK_TOOL_RESULT && !w->pending_lines)
		snprintf(w->newest, sizeof w->newest, "%s", b->id);
	if (w->edited)
		w->anchor = -1;
	if (ev->kind == EVENT_MODEL_SWITCH) {
		w->edited = w->switched = true;
		w->overloads = 0;
		w->switches++;
		w->salvages = 0; /* of another model */
	}
	if (ev->kind == EVENT_RESULT && ev->u.result.reason == TERM_MODEL_ERROR)
		w->anchor = -1; /* a turn that was paused once too often is not in the conversation */
	if (ev->kind == EVENT_RESULT) {
		w->unanswered = 0; /* calls of an answer that was withdrawn at last */
		s->results++;
		s->ended = true;
		if (s->cover)
			s->cover->pairs[w->last][CONT_COUNT + (int)ev->u.result.reason]++;
	}
}
