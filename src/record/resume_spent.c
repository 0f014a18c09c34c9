/* What was paid, from the lines alone: a process that was killed has no result that would sum it up. */
#include <stdlib.h>
#include <string.h>

#include "record/resume_private.h"

/* No count of a run is larger; a forged one must not make a sum overflow. */
#define COUNT_MOST ((int64_t)1 << 53)

static int64_t count(const struct json *doc, int obj, const char *key)
{
	int64_t n = json_int_or(doc, json_get(doc, obj, key), 0);

	return n < 0 ? 0 : n < COUNT_MOST ? n : COUNT_MOST;
}

static int pay(struct reader *rd, const char *model, const struct usage *u)
{
	const struct resume_source *src = rd->src;
	int64_t cost = src->cost ? src->cost(src->ctx, model, u) : -1;

	return session_totals_pay(&rd->spent.now, model, u, cost);
}

/* The answer that came in is paid, whatever became of it. */
static int close_answer(struct reader *rd, bool whole)
{
	struct spent *s = &rd->spent;

	if (!s->open)
		return 0;
	s->open = s->sent = false;
	s->now.requests++;
	s->now.cost_lower_bound |= !whole; /* how much more it wrote is not known */
	return pay(rd, s->model ? s->model : "", &s->usage);
}

/* Time goes forward in a process, and begins anew with the next. */
void spent_time(struct reader *rd, int64_t ms)
{
	struct spent *s = &rd->spent;

	ms = ms < COUNT_MOST ? ms : COUNT_MOST;
	if (ms < s->ms) {
		s->now.duration_ms += s->ms - s->counted;
		s->counted = 0;
	}
	s->ms = ms;
}

int spent_assistant(struct reader *rd, const struct json *doc, int message, bool ends)
{
	struct spent *s = &rd->spent;

	if (!rd->nanswer && close_answer(rd, false)) /* another one began */
		return -1;
	char *model = s->asked ? strdup(s->asked) : json_strdup(doc, json_get(doc, message, "model"), NULL);
	if (!model)
		return -1;
	free(s->model);
	s->model = model;
	s->usage = (struct usage){ 0 };
	usage_read(&s->usage, doc, json_get(doc, message, "usage"));
	s->open = true;
	if (!ends)
		return 0;
	usage_add(&s->now.accepted, &s->usage);
	s->now.turns += !s->same_turn;
	return close_answer(rd, true);
}

/* What loop/ tells with its state: how many requests its process has sent, which no line may have told of, and whom the
 * next one is for. */
int spent_history(struct reader *rd, const struct json *doc, int state)
{
	struct spent *s = &rd->spent;
	int model = json_get(doc, state, "model");
	bool sends = false, open = false;

	if (json_bool(doc, json_get(doc, json_root(doc), "sends"), &sends) && sends)
		s->sent = true;
	if (json_type(doc, state) != JSON_OBJECT)
		return 0;
	s->now.requests = s->earlier - s->before.requests + count(doc, state, "requests");
	if (json_bool(doc, json_get(doc, json_root(doc), "open"), &open) && open && s->now.requests) {
		s->now.requests--; /* that of the answer which is coming in */
		s->sent = true;
	}
	if (json_type(doc, model) != JSON_STRING)
		return 0;
	free(s->asked);
	s->asked = json_strdup(doc, model, NULL);
	return s->asked ? 0 : -1;
}

int spent_tombstone(struct reader *rd, const struct json *doc)
{
	struct spent *s = &rd->spent;
	int usage = json_get(doc, json_root(doc), "usage"), model = json_get(doc, json_root(doc), "model");

	/* an answer that broke and was kept has lines: this is about another one */
	if (json_size(doc, json_get(doc, json_root(doc), "uuids")) == 0 && close_answer(rd, false))
		return -1;
	if (!s->open) { /* none of its lines was out */
		s->usage = (struct usage){ 0 };
		s->open = true;
		if (s->asked) {
			free(s->model);
			s->model = strdup(s->asked);
		}
	}
	if (json_type(doc, model) == JSON_STRING) {
		free(s->model);
		s->model = json_strdup(doc, model, NULL);
		if (!s->model)
			return -1;
	}
	usage_read(&s->usage, doc, usage);
	return close_answer(rd, false);
}

int spent_other(struct reader *rd, const struct json *doc, int model, int usage)
{
	struct usage u = { 0 };

	rd->spent.now.requests++;
	rd->spent.sent = false;
	if (json_type(doc, usage) != JSON_OBJECT)
		return 0;
	char *name = json_strdup(doc, model, NULL);
	if (!name)
		return json_type(doc, model) == JSON_STRING ? -1 : 0;
	usage_read(&u, doc, usage);
	int rc = pay(rd, name, &u);
	free(name);
	return rc;
}

static void forget_tried(struct spent *s)
{
	free(s->tried_model);
	s->tried_model = NULL;
}

int spent_compact(struct reader *rd, const struct json *doc, int model, int usage)
{
	forget_tried(&rd->spent); /* they are in it */
	return spent_other(rd, doc, model, usage);
}

int spent_retry(struct reader *rd, const struct json *doc)
{
	int model = json_get(doc, json_root(doc), "model"), usage = json_get(doc, json_root(doc), "usage");
	struct spent *s = &rd->spent;
	struct usage u = { 0 };

	s->now.requests++;
	s->sent = false;
	if (json_type(doc, usage) != JSON_OBJECT || json_type(doc, model) != JSON_STRING)
		return 0;
	if (!s->tried_model) {
		s->tried = (struct usage){ 0 };
		s->tried_model = json_strdup(doc, model, NULL);
	}
	usage_read(&u, doc, usage);
	usage_add(&s->tried, &u);
	return s->tried_model ? 0 : -1;
}

static int64_t nano_usd(const struct json *doc, int tok)
{
	double usd;

	return json_double(doc, tok, &usd) && usd >= 0 && usd < 9e9 ? (int64_t)(usd * 1e9 + 0.5) : -1;
}

static int take_model(struct session_totals *t, const struct json *doc, int key)
{
	int row = json_value_of(doc, key);
	char *name = json_strdup(doc, key, NULL);
	struct usage u = { 0 };

	usage_read(&u, doc, json_get(doc, row, "usage"));
	int rc = name ? session_totals_pay(t, name, &u, nano_usd(doc, json_get(doc, row, "costUSD"))) : -1;
	free(name);
	return rc;
}

/* 1: *s has what the line says of the whole session, 0: it says nothing. */
static int take_totals(struct spent *s, const struct json *doc)
{
	int totals = json_get(doc, json_root(doc), "session_totals");
	struct session_totals t = { .runs = count(doc, totals, "runs"),
		                    .turns = count(doc, totals, "turns"),
		                    .requests = count(doc, totals, "requests"),
		                    .tool_calls = count(doc, totals, "tool_calls"),
		                    .duration_ms = count(doc, totals, "duration_ms") };
	int models = json_get(doc, totals, "models"), rc = 0;

	if (json_type(doc, totals) != JSON_OBJECT)
		return 0;
	usage_read(&t.accepted, doc, json_get(doc, totals, "usage"));
	json_bool(doc, json_get(doc, totals, "cost_lower_bound"), &t.cost_lower_bound);
	for (int key = json_first(doc, models); rc == 0 && key >= 0; key = json_next(doc, models, key))
		rc = take_model(&t, doc, key);
	s->open = s->sent = false;
	forget_tried(s);
	session_totals_release(&s->before);
	session_totals_release(&s->now);
	s->now = t;
	s->counted = s->ms;
	return rc ? -1 : 1;
}

/* The result knows the whole session, better than its lines tell it. */
int spent_result(struct reader *rd, const struct json *doc)
{
	return take_totals(&rd->spent, doc) < 0 ? -1 : 0;
}

static int end_run(struct reader *rd)
{
	struct spent *s = &rd->spent;

	if (s->sent && !s->open) { /* and what it cost is not known */
		s->now.requests++;
		s->now.cost_lower_bound = true;
	}
	s->sent = false;
	if (close_answer(rd, false) || (s->tried_model && pay(rd, s->tried_model, &s->tried)) ||
	    session_totals_add(&s->before, &s->now))
		return -1;
	forget_tried(s);
	session_totals_release(&s->now);
	s->now.runs = 1;
	s->earlier = s->before.requests;
	return 0;
}

/* It tells what the runs before came to if their lines are in another file. */
int spent_new_run(struct reader *rd, const struct json *doc)
{
	int rc = end_run(rd) ? -1 : take_totals(&rd->spent, doc);

	if (rc <= 0)
		return rc;
	rd->spent.counted = 0;
	return end_run(rd);
}

int spent_finish(struct reader *rd)
{
	struct spent *s = &rd->spent;

	spent_time(rd, 0);
	if (end_run(rd))
		return -1;
	rd->r->totals = s->before;
	s->before = (struct session_totals){ 0 };
	return 0;
}

void spent_release(struct spent *s)
{
	session_totals_release(&s->before);
	session_totals_release(&s->now);
	free(s->model);
	free(s->asked);
	free(s->tried_model);
	*s = (struct spent){ 0 };
}
