#include "loop/state.h"
#include "record/resume.h"

#include <stdlib.h>
#include <string.h>

/* Adds without overflow; a sum that does not fit stays at the top. */
static int64_t saturating(int64_t a, int64_t b)
{
	int64_t sum;

	return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

/* An answer that says nothing of its tokens is not free: a budget that cannot be kept is told, once. */
static void missing_usage(struct loop *l)
{
	struct account *a = &l->account;

	a->cost_lower_bound = true;
	if (a->told_missing || (!l->cfg->token_budget && !l->cfg->max_cost_nano_usd))
		return;
	a->told_missing = true;
	loop_notice(
	        l, "usage_missing",
	        "the server does not tell how many tokens it used: budgets of tokens and cost count only what is told");
}

static struct model_usage *row_of(struct account *a, const char *model)
{
	for (size_t i = 0; i < a->nmodels; i++)
		if (!strcmp(a->models[i].model, model))
			return &a->models[i];
	return NULL;
}

void account_request(struct loop *l, const char *model, const struct catalog_row *row)
{
	struct account *a = &l->account;

	a->requests++;
	if (row_of(a, model))
		return;
	struct model_usage *grown = realloc(a->models, (a->nmodels + 1) * sizeof *grown);
	if (!grown) {
		l->nomem = true;
		return;
	}
	a->models = grown;
	a->models[a->nmodels++] = (struct model_usage){ .model = model,
		                                        .window = row->window,
		                                        .max_output = row->max_output,
		                                        .own_price = row->flags & CAT_OWN_PRICE };
}

void account_attempt(struct loop *l, const char *model, const struct catalog_row *row, const struct usage *u,
                     bool began, bool output_known)
{
	struct account *a = &l->account;
	struct model_usage *m = row_of(a, model);

	if (u->input < 0 && u->output < 0) {
		if (began) /* an error before the stream costs nothing */
			missing_usage(l);
		return;
	}
	usage_add(&a->paid, u);
	int64_t cost = catalog_cost(row, u);
	if (cost < 0)
		a->cost_unknown = true;
	else
		a->cost_nano_usd = saturating(a->cost_nano_usd, cost);
	if (!output_known || u->input < 0 || u->output < 0)
		a->cost_lower_bound = true;
	if (!m)
		return;
	usage_add(&m->usage, u);
	m->cost_nano_usd = cost < 0 || m->cost_nano_usd < 0 ? -1 : saturating(m->cost_nano_usd, cost);
}

int64_t account_tokens(const struct loop *l)
{
	const struct session_totals *before = l->cfg->resume_paid;
	int64_t sum = usage_total(&l->account.paid);

	for (size_t i = 0; before && i < before->nmodels; i++)
		sum = saturating(sum, usage_total(&before->models[i].usage));
	return sum;
}

int64_t account_cost(const struct loop *l)
{
	const struct session_totals *before = l->cfg->resume_paid;
	int64_t sum = l->account.cost_nano_usd;

	for (size_t i = 0; before && i < before->nmodels; i++)
		if (before->models[i].cost_nano_usd > 0)
			sum = saturating(sum, before->models[i].cost_nano_usd);
	return sum;
}
