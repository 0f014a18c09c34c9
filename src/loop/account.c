#include "loop/state.h"

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

	if (!l->reply.message)
		return; /* an error before the stream costs nothing */
	a->cost_lower_bound = true;
	if (a->told_missing || (!l->cfg->token_budget && !l->cfg->max_cost_nano_usd))
		return;
	a->told_missing = true;
	loop_notice(
	        l, "usage_missing",
	        "the server does not tell how many tokens it used: budgets of tokens and cost count only what is told");
}

void account_attempt(struct loop *l, const struct usage *u, bool output_known)
{
	struct account *a = &l->account;

	if (u->input < 0 && u->output < 0) {
		missing_usage(l);
		return;
	}
	usage_add(&a->paid, u);
	int64_t cost = catalog_cost(l->cfg->row, u);
	if (cost < 0)
		a->cost_unknown = true;
	else
		a->cost_nano_usd = saturating(a->cost_nano_usd, cost);
	if (!output_known || u->input < 0 || u->output < 0)
		a->cost_lower_bound = true;
}

int64_t account_tokens(const struct loop *l)
{
	return usage_total(&l->account.paid);
}
