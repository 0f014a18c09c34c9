/* "did you mean": the nearest of the words offered, if one is near enough to be a slip of the fingers. */
#ifndef QUERN_BASE_SUGGEST_H
#define QUERN_BASE_SUGGEST_H

#include <stddef.h>

struct suggest {
	const char *word; /* what was typed */
	size_t n;
	const char *best; /* NULL = nothing is near */
	size_t distance;
};

void suggest_init(struct suggest *s, const char *word, size_t n);
/* Offers a candidate; ties keep the first. '-' and '_' and letter case count for nothing. */
void suggest_offer(struct suggest *s, const char *candidate);

#endif
