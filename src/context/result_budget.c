/* All results of one user message share a bound: the largest give way first, and evenly. */
#include "context/context.h"

static size_t capped(const struct result_text *r, size_t level)
{
	return r->len < level ? r->len : level;
}

static bool fits(const struct result_text *v, size_t n, size_t level, size_t all_max)
{
	size_t sum = 0;

	for (size_t i = 0; i < n; i++) {
		size_t len = v[i].text ? capped(&v[i], level) : 0;
		if (len > all_max - sum)
			return false;
		sum += len;
	}
	return true;
}

void result_budget(struct result_text *v, size_t n, size_t each_max, size_t all_max)
{
	size_t longest = 0;

	for (size_t i = 0; i < n; i++) {
		if (v[i].text && v[i].len > longest)
			longest = v[i].len;
	}
	/* the highest level that fits when what is above it is cut off */
	size_t low = 0, high = longest < each_max ? longest : each_max;
	while (low < high) {
		size_t middle = high - (high - low) / 2;
		if (fits(v, n, middle, all_max))
			low = middle;
		else
			high = middle - 1;
	}
	for (size_t i = 0; i < n; i++)
		v[i].allowed = v[i].text ? capped(&v[i], low) : v[i].len;
}
