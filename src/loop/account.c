#include "loop/state.h"

/* Adds without overflow; a sum that does not fit stays at the top. */
static int64_t saturating(int64_t a, int64_t b)
{
	int64_t sum;

	return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

void account_attempt(struct loop *l, const struct usage *u, bool output_known)
{
	struct account *a = &l->account;

	if (u->input < 0 && u->output < 0)
		return; /* nothing was told: an error before the stream costs nothing */
	usage_add(&a->paid, u);
	int64_t cost = catalog_cost(l->cfg->row, u);
	if (cost < 0)
		a->cost_unknown = true;
	else
		a->cost_nano_usd = saturating(a->cost_nano_usd, cost);
	if (!output_known)
		a->cost_lower_bound = true;
}

int64_t account_tokens(const struct loop *l)
{
	return usage_total(&l->account.paid);
}
