#include "base/suggest.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#define WORD_MAX 48

void suggest_init(struct suggest *s, const char *word, size_t n)
{
	*s = (struct suggest){ .word = word, .n = n };
}

static bool same(char a, char b)
{
	if (a == '-')
		a = '_';
	if (b == '-')
		b = '_';
	return tolower((unsigned char)a) == tolower((unsigned char)b);
}

static size_t min3(size_t a, size_t b, size_t c)
{
	size_t m = a < b ? a : b;

	return m < c ? m : c;
}

/* Insertions, deletions, replacements and swaps of neighbours, each 1. Three rows are enough. */
static size_t distance(const char *a, size_t na, const char *b, size_t nb)
{
	size_t rows[3][WORD_MAX + 1];

	for (size_t j = 0; j <= nb; j++)
		rows[0][j] = j;
	for (size_t i = 1; i <= na; i++) {
		size_t *cur = rows[i % 3], *up = rows[(i + 2) % 3], *up2 = rows[(i + 1) % 3];
		cur[0] = i;
		for (size_t j = 1; j <= nb; j++) {
			size_t change = up[j - 1] + (same(a[i - 1], b[j - 1]) ? 0 : 1);
			cur[j] = min3(up[j] + 1, cur[j - 1] + 1, change);
			if (i > 1 && j > 1 && same(a[i - 1], b[j - 2]) && same(a[i - 2], b[j - 1]) &&
			    up2[j - 2] + 1 < cur[j])
				cur[j] = up2[j - 2] + 1;
		}
	}
	return rows[na % 3][nb];
}

void suggest_offer(struct suggest *s, const char *candidate)
{
	size_t n = strlen(candidate);

	if (!s->n || !n || s->n > WORD_MAX || n > WORD_MAX)
		return;
	size_t longer = s->n > n ? s->n : n;
	size_t allowed = longer < 3 ? 0 : (longer + 2) / 4 > 3 ? 3 : (longer + 2) / 4;
	size_t d = distance(s->word, s->n, candidate, n);
	if (d > allowed || (s->best && d >= s->distance))
		return;
	s->best = candidate;
	s->distance = d;
}
