/* What the runs of a session came to. */
#include <stdlib.h>
#include <string.h>

#include "record/resume.h"

static int64_t plus(int64_t a, int64_t b)
{
	int64_t sum;

	return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

static struct session_model *row_of(struct session_totals *t, const char *model)
{
	for (size_t i = 0; i < t->nmodels; i++)
		if (!strcmp(t->models[i].model, model))
			return &t->models[i];
	struct session_model *grown = realloc(t->models, (t->nmodels + 1) * sizeof *grown);
	if (!grown)
		return NULL;
	t->models = grown;
	char *name = strdup(model);
	if (!name)
		return NULL;
	grown[t->nmodels] = (struct session_model){ .model = name };
	return &grown[t->nmodels++];
}

int session_totals_pay(struct session_totals *t, const char *model, const struct usage *u, int64_t cost)
{
	struct session_model *m = row_of(t, model);

	if (!m)
		return -1;
	usage_add(&m->usage, u);
	m->cost_nano_usd = cost < 0 || m->cost_nano_usd < 0 ? -1 : plus(m->cost_nano_usd, cost);
	return 0;
}

int session_totals_add(struct session_totals *t, const struct session_totals *more)
{
	t->runs = plus(t->runs, more->runs);
	t->turns = plus(t->turns, more->turns);
	t->requests = plus(t->requests, more->requests);
	t->tool_calls = plus(t->tool_calls, more->tool_calls);
	t->duration_ms = plus(t->duration_ms, more->duration_ms);
	t->cost_lower_bound |= more->cost_lower_bound;
	usage_add(&t->accepted, &more->accepted);
	for (size_t i = 0; i < more->nmodels; i++) {
		const struct session_model *m = &more->models[i];
		if (session_totals_pay(t, m->model, &m->usage, m->cost_nano_usd))
			return -1;
	}
	return 0;
}

void session_totals_release(struct session_totals *t)
{
	for (size_t i = 0; i < t->nmodels; i++)
		free(t->models[i].model);
	free(t->models);
	*t = (struct session_totals){ 0 };
}
