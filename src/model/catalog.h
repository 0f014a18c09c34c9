/* What is known of models: windows, output limits, prices, flags. A run must work with a model that is not in it. */
#ifndef QUERN_MODEL_CATALOG_H
#define QUERN_MODEL_CATALOG_H

#include <stdbool.h>
#include <stdint.h>

#include "message/message.h"

enum catalog_flags {
	CAT_THINKS_BY_DEFAULT = 1, /* default output cap min(32,000, max) instead of 8,000 */
	CAT_THINKING_BOUND = 2,    /* thinking is valid for an unchanged prefix only */
	CAT_DENSE_TOKENS = 4,      /* bytes/3 instead of bytes/4 */
	CAT_OWN_PRICE = 8          /* the price is the user's, not the vendor's list price */
};

/* Prices in nano-USD a token (= milli-USD a million tokens). */
struct catalog_price {
	int64_t input, write_5m, write_1h, read, output;
};

struct catalog_row {
	const char *id; /* prefix that must stop at the end, '-' + 8 digits, '@', ':' or '[' */
	int64_t window, max_output;
	struct catalog_price price;
	int64_t step_above; /* prompt tokens above which `above` holds for the whole request; 0 = none */
	struct catalog_price above;
	unsigned flags;
};

/* The row of a model id, NULL if unknown. */
const struct catalog_row *catalog_find(const char *model);
/* A model of unknown name that looks like Claude gets careful defaults. */
const struct catalog_row *catalog_or_default(const char *model);
/* Cost in nano-USD of one request; -1 if the row has no price. Saturates, never negative otherwise. */
int64_t catalog_cost(const struct catalog_row *row, const struct usage *u);
int64_t catalog_default_max_output(const struct catalog_row *row);
extern const char catalog_default_model[];

#endif
