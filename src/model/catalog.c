#include "model/catalog.h"

#include <string.h>
#include <strings.h>

const char catalog_default_model[] = "claude-sonnet-5-5";

#define K ((int64_t)1000)
#define M ((int64_t)1000000)

#define NO_PRICE                                                                                                       \
	{                                                                                                              \
		-1, -1, -1, -1, -1                                                                                     \
	}
#define NO_STEP 0, NO_PRICE
/* Flags of a generation: those before Opus 4.7, those from it on, those that think unasked, those that bind it. */
#define OLD    0
#define DENSE  CAT_DENSE_TOKENS
#define THINKS (CAT_DENSE_TOKENS | CAT_THINKS_BY_DEFAULT)
#define BOUND  (THINKS | CAT_THINKING_BOUND)

/* Public list prices of the vendor's own API, standard tier, in nano-USD a token. A user's price wins over them. */
static const struct catalog_row rows[] = {
	/* id, window, max output, { input, write 5m, write 1h, read, output } */
	{ "claude-fable-5-2", 1 * M, 128 * K, { 8000, 10000, 16000, 200, 40000 }, NO_STEP, BOUND },
	{ "claude-mythos-5-2", 1 * M, 128 * K, { 8000, 10000, 16000, 200, 40000 }, NO_STEP, BOUND },
	{ "claude-fable-5-1", 1 * M, 128 * K, { 10000, 12500, 20000, 250, 50000 }, NO_STEP, BOUND },
	{ "claude-mythos-5-1", 1 * M, 128 * K, { 10000, 12500, 20000, 250, 50000 }, NO_STEP, BOUND },
	{ "claude-fable-5", 1 * M, 128 * K, { 10000, 12500, 20000, 1000, 50000 }, NO_STEP, THINKS },
	{ "claude-mythos-5", 1 * M, 128 * K, { 10000, 12500, 20000, 1000, 50000 }, NO_STEP, THINKS },
	{ "claude-opus-5-5", 1 * M, 128 * K, { 4000, 5000, 8000, 200, 20000 }, NO_STEP, BOUND },
	{ "claude-opus-5", 1 * M, 128 * K, { 5000, 6250, 10000, 500, 25000 }, NO_STEP, THINKS },
	{ "claude-opus-4-8", 1 * M, 128 * K, { 5000, 6250, 10000, 500, 25000 }, NO_STEP, DENSE },
	{ "claude-opus-4-7", 1 * M, 128 * K, { 5000, 6250, 10000, 500, 25000 }, NO_STEP, DENSE },
	{ "claude-opus-4-6", 1 * M, 128 * K, { 5000, 6250, 10000, 500, 25000 }, NO_STEP, OLD },
	{ "claude-opus-4-5", 200 * K, 64 * K, { 5000, 6250, 10000, 500, 25000 }, NO_STEP, OLD },
	{ "claude-sonnet-5-5", 1 * M, 128 * K, { 2000, 2500, 4000, 100, 10000 }, NO_STEP, BOUND },
	{ "claude-sonnet-5", 1 * M, 128 * K, { 2000, 2500, 4000, 200, 10000 }, NO_STEP, THINKS },
	{ "claude-sonnet-4-6", 1 * M, 128 * K, { 3000, 3750, 6000, 300, 15000 }, NO_STEP, OLD },
	{ "claude-sonnet-4-5", 200 * K, 64 * K, { 3000, 3750, 6000, 300, 15000 }, NO_STEP, OLD },
	/* The one price in two steps: a prompt above the step pays the higher one for all its tokens. */
	{ "claude-haiku-5-5",
	  1 * M,
	  128 * K,
	  { 100, 125, 200, 10, 500 },
	  100 * K,
	  { 500, 625, 1000, 50, 2500 },
	  BOUND },
	{ "claude-haiku-4-5", 200 * K, 64 * K, { 1000, 1250, 2000, 100, 5000 }, NO_STEP, OLD },
};

/*
 * A Claude that we do not know is taken for a new one, and carefully: the smallest window of those that are served,
 * text counted dense, thinking bound. Its price is not known.
 */
static const struct catalog_row unknown_claude = { "claude", 200 * K, 64 * K, NO_PRICE, NO_STEP, BOUND };
/* Of any other model nothing is known; 0 = unknown, and no limit is derived from it. */
static const struct catalog_row unknown_model = { "", 0, 0, NO_PRICE, NO_STEP, 0 };

#define FALLBACK_MAX_OUTPUT 8000
#define THINKING_MAX_OUTPUT 32000
#define SEARCH_NANO_USD     10000000 /* 10 USD a thousand */

/* What may stand behind an id: nothing, a date, a platform's version or a variant. More digits are another model. */
static bool ends_id(const char *rest)
{
	if (*rest == '-') {
		if (strspn(rest + 1, "0123456789") != 8)
			return false;
		rest += 9;
	}
	return *rest == '\0' || *rest == '@' || *rest == ':' || *rest == '[';
}

const struct catalog_row *catalog_find(const char *model)
{
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		size_t n = strlen(rows[i].id);
		if (!strncmp(model, rows[i].id, n) && ends_id(model + n))
			return &rows[i];
	}
	return NULL;
}

const struct catalog_row *catalog_or_default(const char *model)
{
	const struct catalog_row *row = catalog_find(model);

	if (row)
		return row;
	return strcasestr(model, "claude") ? &unknown_claude : &unknown_model;
}

static int64_t plus(int64_t a, int64_t b)
{
	return a > INT64_MAX - b ? INT64_MAX : a + b;
}

static int64_t times(int64_t n, int64_t price)
{
	if (n <= 0 || price <= 0)
		return 0;
	return n > INT64_MAX / price ? INT64_MAX : n * price;
}

static int64_t told(int64_t n)
{
	return n > 0 ? n : 0;
}

/* Cache writes by their life time; what is not told apart is priced as the short one. */
static int64_t write_cost(const struct catalog_price *p, const struct usage *u)
{
	int64_t apart = plus(told(u->creation_5m), told(u->creation_1h));
	int64_t rest = told(u->cache_creation) > apart ? told(u->cache_creation) - apart : 0;
	int64_t cost = times(plus(told(u->creation_5m), rest), p->write_5m);

	return plus(cost, times(u->creation_1h, p->write_1h));
}

int64_t catalog_cost(const struct catalog_row *row, const struct usage *u)
{
	if (!row || row->price.input < 0)
		return -1;
	int64_t prompt = plus(told(u->input), plus(told(u->cache_creation), told(u->cache_read)));
	const struct catalog_price *p = row->step_above && prompt > row->step_above ? &row->above : &row->price;
	int64_t cost = times(u->input, p->input);

	cost = plus(cost, write_cost(p, u));
	cost = plus(cost, times(u->cache_read, p->read));
	cost = plus(cost, times(u->output, p->output));
	if (u->fast)
		cost = plus(cost, cost);
	return plus(cost, times(u->web_searches, SEARCH_NANO_USD));
}

int64_t catalog_default_max_output(const struct catalog_row *row)
{
	int64_t cap = row && (row->flags & CAT_THINKS_BY_DEFAULT) ? THINKING_MAX_OUTPUT : FALLBACK_MAX_OUTPUT;

	return row && row->max_output && row->max_output < cap ? row->max_output : cap;
}
