#include "guard/glob.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static bool in_set(const struct glob *g, glob_sym set, glob_sym byte)
{
	return g->sets[set - GLOB_SET].bits[byte / 8] >> (byte % 8) & 1;
}

/* One symbol that is not GLOB_ANY, against a byte. */
static bool fits(const struct glob *g, glob_sym sym, glob_sym byte)
{
	return sym == byte || sym == GLOB_ONE || (sym >= GLOB_SET && in_set(g, sym, byte));
}

/* On a mismatch only the last GLOB_ANY has to take one more: an earlier one could gain nothing by it. */
bool glob_covers(struct glob p, struct glob t)
{
	size_t i = 0, k = 0, star = SIZE_MAX, taken = 0;

	while (k < t.n) {
		if (i < p.n && p.s[i] == GLOB_ANY) {
			star = i++;
			taken = k;
		} else if (i < p.n && t.s[k] < GLOB_ANY && fits(&p, p.s[i], t.s[k])) {
			i++;
			k++;
		} else if (star != SIZE_MAX) {
			i = star + 1;
			k = ++taken;
		} else {
			return false;
		}
	}
	while (i < p.n && p.s[i] == GLOB_ANY)
		i++;
	return i == p.n;
}

static bool alike(const struct glob *a, glob_sym x, const struct glob *b, glob_sym y)
{
	if (y < GLOB_ANY)
		return fits(a, x, y);
	return x >= GLOB_ANY || fits(b, y, x);
}

/* at[k]: a prefix of a and the first k symbols of b have a string in common. Row after row of a. */
int glob_meets(struct glob a, struct glob b)
{
	bool *at = calloc(b.n + 1, sizeof *at);

	if (!at)
		return -1;
	at[0] = true;
	for (size_t k = 0; k < b.n && b.s[k] == GLOB_ANY; k++)
		at[k + 1] = true;
	for (size_t i = 0; i < a.n; i++) {
		bool left_up = at[0]; /* the value before this row, one to the left */
		at[0] = at[0] && a.s[i] == GLOB_ANY;
		for (size_t k = 0; k < b.n; k++) {
			bool up = at[k + 1];
			if (a.s[i] == GLOB_ANY || b.s[k] == GLOB_ANY)
				at[k + 1] = up || at[k];
			else
				at[k + 1] = left_up && alike(&a, a.s[i], &b, b.s[k]);
			left_up = up;
		}
	}
	bool met = at[b.n];
	free(at);
	return met;
}

bool glob_is_open(struct glob g)
{
	for (size_t i = 0; i < g.n; i++)
		if (g.s[i] >= GLOB_ANY)
			return true;
	return false;
}

static bool equal(char a, char b, bool fold)
{
	return a == b || (fold && tolower((unsigned char)a) == tolower((unsigned char)b));
}

bool glob_text(const char *p, const char *t, bool fold)
{
	const char *star = NULL, *taken = NULL;

	while (*t) {
		if (*p == '*') {
			star = p++;
			taken = t;
		} else if (*p && equal(*p, *t, fold)) {
			p++;
			t++;
		} else if (star) {
			p = star + 1;
			t = ++taken;
		} else {
			return false;
		}
	}
	while (*p == '*')
		p++;
	return *p == '\0';
}
