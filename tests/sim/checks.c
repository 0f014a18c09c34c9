/* The invariants of the loop, looked at after every step. */
#include "world.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void sim_problem(struct sim *s, const char *fmt, ...)
{
	va_list ap;

	if (*s->problem)
		return;
	va_start(ap, fmt);
	vsnprintf(s->problem, sizeof s->problem, fmt, ap);
	va_end(ap);
}

void check_request(struct sim *s, const struct model_request *req)
{
	struct error e = ERROR_INIT;
	struct buf b = BUF_INIT(BUF_HUGE);
	const struct history *h = req->messages;

	if (s->ended)
		sim_problem(s, "a request after the result");
	if (s->running_safe || s->running_unsafe)
		sim_problem(s, "a request while tools run");
	if (history_check(h, false, &e))
		sim_problem(s, "request %d: %s", s->requests, e.msg);
	if (!h->n || (h->v[h->n - 1]->role != ROLE_USER && !strstr(s->trace, "pause_turn")))
		sim_problem(s, "request %d: the last message is not the user's", s->requests);
	if (s->cfg.max_requests && s->requests > s->cfg.max_requests)
		sim_problem(s, "request %d over the limit", s->requests);
	if (s->cfg.token_budget && s->paid >= s->cfg.token_budget)
		sim_problem(s, "request %d after the token budget was spent", s->requests);
	for (size_t i = 0; i < h->n; i++)
		for (size_t k = 0; k < h->v[i]->n; k++) {
			buf_addf(&b, "%d", h->v[i]->role);
			buf_add(&b, h->v[i]->blocks[k]->json, h->v[i]->blocks[k]->json_len);
		}
	if (!s->history_edited && s->last_request &&
	    (b.len < s->last_request_len || memcmp(b.data, s->last_request, s->last_request_len) != 0))
		sim_problem(s, "request %d does not begin with the one before", s->requests);
	free(s->last_request);
	s->last_request_len = b.len;
	s->last_request = buf_take(&b, NULL);
	s->history_edited = false;
}

static void remember(char **list, size_t *n, size_t max, const char *id)
{
	if (*n < max)
		list[(*n)++] = strdup(id);
}

static bool has(char *const *list, size_t n, const char *id)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(list[i], id))
			return true;
	return false;
}

static void forget_all(char **list, size_t *n)
{
	while (*n)
		free(list[--*n]);
}

/* The line of a call is out. */
void check_assistant(struct sim *s, const struct event_assistant *a)
{
	if (!a->error && a->block && a->block->kind == BLOCK_TOOL_USE)
		remember(s->open_calls, &s->nopen, 256, a->block->id);
}

void check_user(struct sim *s, const struct event_user *u)
{
	const struct block *b = u->block;

	if (b->kind != BLOCK_TOOL_RESULT)
		return;
	if (!has(s->open_calls, s->nopen, b->id))
		sim_problem(s, "a result for '%s', which was not called", b->id);
	if (has(s->answered, s->nanswered, b->id))
		sim_problem(s, "two results for '%s'", b->id);
	remember(s->answered, &s->nanswered, 256, b->id);
}

void check_transition(struct sim *s)
{
	s->accepted_runs = s->nran;
	forget_all(s->open_calls, &s->nopen);
	forget_all(s->answered, &s->nanswered);
}

/* What was withdrawn may be asked for again, but not if it has done something: then only the result may tell of it. */
void check_tombstone(struct sim *s)
{
	if (s->accepted_runs < s->nran && s->withdrawn_runs < s->nran)
		sim_problem(s, "the tools are not told that an answer is withdrawn");
	for (size_t i = s->accepted_runs; i < s->nran; i++)
		s->ran[i].withdrawn = true;
	check_transition(s);
}

static void check_side_effects(struct sim *s, const struct event_result *r)
{
	for (size_t i = 0; i < s->nran; i++) {
		bool named = false;
		for (size_t k = 0; k < r->nside_effects; k++)
			named |= strstr(r->side_effects[k], s->ran[i].id) != NULL;
		if (s->ran[i].withdrawn && !s->ran[i].safe && !named)
			sim_problem(s, "'%s' was run and withdrawn, and nobody is told", s->ran[i].id);
		if (s->ran[i].withdrawn && !s->ran[i].safe && r->reason != TERM_REFUSAL)
			sim_problem(s, "'%s' was run and withdrawn, and the run ends %s", s->ran[i].id,
			            terminal_row(r->reason)->name);
	}
}

void check_result(struct sim *s, const struct event_result *r)
{
	struct error e = ERROR_INIT;
	const struct terminal_row *row = terminal_row(r->reason);

	s->results++;
	s->ended = true;
	if (!s->starved)
		check_side_effects(s, r);
	for (size_t i = 0; i < s->nopen && !s->starved; i++)
		if (!has(s->answered, s->nanswered, s->open_calls[i]))
			sim_problem(s, "call '%s' has no result", s->open_calls[i]);
	if (s->running_safe || s->running_unsafe)
		sim_problem(s, "the result is written while tools run");
	if (r->num_turns > s->cfg.max_turns)
		sim_problem(s, "%d turns, %lld allowed", r->num_turns, (long long)s->cfg.max_turns);
	if ((r->exit_code == 0) != (r->reason == TERM_COMPLETED))
		sim_problem(s, "exit code %d for %s", r->exit_code, row->name);
	if ((r->reason == TERM_COMPLETED) == (r->nerrors > 0) && !s->starved)
		sim_problem(s, "%zu errors for %s", r->nerrors, row->name);
	if (s->history.n && !s->starved && history_check(&s->history, false, &e))
		sim_problem(s, "at the end: %s", e.msg);
}

void check_start(struct sim *s, const char *id, bool safe)
{
	for (size_t i = 0; i < s->nran; i++)
		if (!strcmp(s->ran[i].id, id) && !(s->ran[i].withdrawn && s->ran[i].safe))
			sim_problem(s, "call '%s' was run twice", id);
	if (s->nran < sizeof s->ran / sizeof *s->ran)
		s->ran[s->nran++] = (struct sim_run){ .id = strdup(id), .safe = safe };
	if (s->running_model && s->cfg.calls_wait)
		sim_problem(s, "'%s' starts before its answer is accepted", id);
	size_t n = strlen(s->starts);
	snprintf(s->starts + n, sizeof s->starts - n, "%s%s%s", n ? " " : "", id, s->running_model ? "*" : "");
	if (s->signalled)
		sim_problem(s, "'%s' starts after a signal", id);
	if (s->clock >= s->cfg.deadline)
		sim_problem(s, "'%s' starts after the deadline", id);
	if (s->clock >= s->full_from && s->clock < s->full_until)
		sim_problem(s, "'%s' starts while the output is full", id);
	if (s->cfg.max_tool_calls && s->tool_runs >= s->cfg.max_tool_calls)
		sim_problem(s, "'%s' is one call too many", id);
}

void check_release(struct sim *s)
{
	forget_all(s->open_calls, &s->nopen);
	forget_all(s->answered, &s->nanswered);
	while (s->nran)
		free(s->ran[--s->nran].id);
	free(s->last_request);
}
