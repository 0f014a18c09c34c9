/*
 * Myers' O(ND) method in linear space: a box of the two texts is cut at the middle of a shortest path through it, until
 * nothing is left on one side. A cut that costs too much is made where the search has come farthest; when all cuts
 * together have cost too much what is left counts as changed as a whole.
 */
#include "workspace/diff.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define CUT_COST 512                /* steps from both ends until any cut is taken */
#define ALL_COST (int64_t)200000000 /* elementary steps of a pair of texts */
#define BOXES    64                 /* the smaller half is always done first: as many as a size has bits */

int lines_init(struct lines *l, const char *text, size_t n)
{
	const char *end = text + n;
	uint32_t count = 0;

	for (const char *p = text; p < end; count++) {
		const char *nl = memchr(p, '\n', (size_t)(end - p));
		p = nl ? nl + 1 : end;
	}
	*l = (struct lines){ .text = text, .n = count };
	l->at = malloc((count + (size_t)1) * sizeof *l->at);
	l->changed = calloc(count + (size_t)1, 1);
	if (!l->at || !l->changed) {
		lines_release(l);
		return -1;
	}
	count = 0;
	for (const char *p = text; p < end;) {
		const char *nl = memchr(p, '\n', (size_t)(end - p));
		l->at[count++] = (uint32_t)(p - text);
		p = nl ? nl + 1 : end;
	}
	l->at[count] = (uint32_t)n;
	return 0;
}

void lines_release(struct lines *l)
{
	free(l->at);
	free(l->changed);
	*l = (struct lines){ 0 };
}

/* ---- equal lines get the same number ---- */

struct kind { /* of line */
	uint64_t hash;
	const char *text;
	uint32_t len;
	unsigned char sides; /* in which texts: 1, 2 or both */
};
struct side {
	int32_t *v;    /* the numbers of its lines that are in both texts */
	uint32_t *row; /* which lines these are */
	int32_t n;
	uint32_t *all; /* of all its lines */
};

struct diff {
	struct side a, b;
	struct lines *la, *lb;
	struct kind *kinds;
	uint32_t *table; /* number + 1 of a kind; 0 = free */
	size_t mask, nkinds;
	int32_t *forward, *backward; /* by diagonal */
	int64_t cost;
};

static uint64_t hash_of(const char *p, size_t n)
{
	uint64_t h = UINT64_C(14695981039346656037);

	for (size_t i = 0; i < n; i++)
		h = (h ^ (unsigned char)p[i]) * UINT64_C(1099511628211);
	return h ^ h >> 29;
}

static uint32_t number_of(struct diff *d, const char *p, uint32_t n)
{
	uint64_t h = hash_of(p, n);
	size_t at = h & d->mask;

	for (; d->table[at]; at = (at + 1) & d->mask) {
		const struct kind *k = &d->kinds[d->table[at] - 1];
		if (k->hash == h && k->len == n && !memcmp(k->text, p, n))
			return d->table[at] - 1;
	}
	d->kinds[d->nkinds] = (struct kind){ h, p, n, 0 };
	d->table[at] = (uint32_t)++d->nkinds;
	return d->table[at] - 1;
}

static void number_lines(struct diff *d, const struct lines *l, uint32_t *out, unsigned side)
{
	for (uint32_t i = 0; i < l->n; i++) {
		out[i] = number_of(d, l->text + l->at[i], l->at[i + 1] - l->at[i]);
		d->kinds[out[i]].sides |= (unsigned char)side;
	}
}

/* A line that the other text does not have at all is changed, and in nobody's way. */
static void keep_shared(struct diff *d, struct side *s, struct lines *l)
{
	for (uint32_t i = 0; i < l->n; i++) {
		if (d->kinds[s->all[i]].sides != 3) {
			l->changed[i] = 1;
			continue;
		}
		s->v[s->n] = (int32_t)s->all[i];
		s->row[s->n++] = i;
	}
}

static int make_side(struct side *s, const struct lines *l)
{
	size_t n = l->n + (size_t)1;

	s->v = malloc(n * sizeof *s->v);
	s->row = malloc(n * sizeof *s->row);
	s->all = malloc(n * sizeof *s->all);
	return s->v && s->row && s->all ? 0 : -1;
}

static int number_all(struct diff *d)
{
	size_t n = (size_t)d->la->n + d->lb->n, slots = 16;

	while (slots < 2 * n)
		slots *= 2;
	d->mask = slots - 1;
	d->table = calloc(slots, sizeof *d->table);
	d->kinds = malloc((n + 1) * sizeof *d->kinds);
	if (!d->table || !d->kinds || make_side(&d->a, d->la) || make_side(&d->b, d->lb))
		return -1;
	number_lines(d, d->la, d->a.all, 1);
	number_lines(d, d->lb, d->b.all, 2);
	keep_shared(d, &d->a, d->la);
	keep_shared(d, &d->b, d->lb);
	return 0;
}

/* ---- the search ---- */

struct box {
	int32_t x0, x1, y0, y1;
};
struct span { /* of diagonals x - y that one of the searches has come to */
	int32_t min, max;
};

#define NEVER INT32_MAX

/* One step of the search from the start of the box. True: it has met the other one, at *x. */
static bool step_forward(struct diff *d, const struct box *b, struct span *f, const struct span *back, bool odd,
                         int32_t *at, int32_t *diagonal)
{
	int32_t *v = d->forward;

	if (f->min > b->x0 - b->y1)
		v[--f->min - 1] = -1;
	else
		f->min++;
	if (f->max < b->x1 - b->y0)
		v[++f->max + 1] = -1;
	else
		f->max--;
	for (int32_t k = f->max; k >= f->min; k -= 2) {
		int32_t x = v[k - 1] < v[k + 1] ? v[k + 1] : v[k - 1] + 1, from = x;
		while (x < b->x1 && x - k < b->y1 && d->a.v[x] == d->b.v[x - k])
			x++;
		d->cost += x - from + 1;
		v[k] = x;
		if (odd && back->min <= k && k <= back->max && d->backward[k] <= x) {
			*at = x;
			*diagonal = k;
			return true;
		}
	}
	return false;
}

static bool step_backward(struct diff *d, const struct box *b, struct span *back, const struct span *f, bool odd,
                          int32_t *at, int32_t *diagonal)
{
	int32_t *v = d->backward;

	if (back->min > b->x0 - b->y1)
		v[--back->min - 1] = NEVER;
	else
		back->min++;
	if (back->max < b->x1 - b->y0)
		v[++back->max + 1] = NEVER;
	else
		back->max--;
	for (int32_t k = back->max; k >= back->min; k -= 2) {
		int32_t x = v[k - 1] < v[k + 1] ? v[k - 1] : v[k + 1] - 1, from = x;
		while (x > b->x0 && x - k > b->y0 && d->a.v[x - 1] == d->b.v[x - k - 1])
			x--;
		d->cost += from - x + 1;
		v[k] = x;
		if (!odd && f->min <= k && k <= f->max && x <= d->forward[k]) {
			*at = x;
			*diagonal = k;
			return true;
		}
	}
	return false;
}

/* Where one of the searches has come farthest. */
static void cut_anywhere(const struct diff *d, const struct box *b, const struct span *f, const struct span *back,
                         int32_t *at, int32_t *diagonal)
{
	int64_t best = -1;

	for (int32_t k = f->max; k >= f->min; k -= 2) {
		int32_t x = d->forward[k] < b->x1 ? d->forward[k] : b->x1;
		if (x - k > b->y1)
			x = b->y1 + k;
		int64_t come = (int64_t)x + (x - k) - b->x0 - b->y0;
		if (come > best) {
			best = come;
			*at = x;
			*diagonal = k;
		}
	}
	for (int32_t k = back->max; k >= back->min; k -= 2) {
		int32_t x = d->backward[k] > b->x0 ? d->backward[k] : b->x0;
		if (x - k < b->y0)
			x = b->y0 + k;
		int64_t come = (int64_t)b->x1 + b->y1 - x - (x - k);
		if (come > best) {
			best = come;
			*at = x;
			*diagonal = k;
		}
	}
}

/* Where a box with lines on both sides is cut. */
static void cut(struct diff *d, const struct box *b, int32_t *x, int32_t *y)
{
	struct span f = { b->x0 - b->y0, b->x0 - b->y0 }, back = { b->x1 - b->y1, b->x1 - b->y1 };
	bool odd = (f.min - back.min) % 2 != 0;
	int32_t diagonal = 0;

	d->forward[f.min] = b->x0;
	d->backward[back.min] = b->x1;
	for (int steps = 1;; steps++) {
		if (step_forward(d, b, &f, &back, odd, x, &diagonal) ||
		    step_backward(d, b, &back, &f, odd, x, &diagonal))
			break;
		if (steps >= CUT_COST) {
			cut_anywhere(d, b, &f, &back, x, &diagonal);
			break;
		}
	}
	*y = *x - diagonal;
}

static void mark(struct diff *d, const struct box *b)
{
	for (int32_t x = b->x0; x < b->x1; x++)
		d->la->changed[d->a.row[x]] = 1;
	for (int32_t y = b->y0; y < b->y1; y++)
		d->lb->changed[d->b.row[y]] = 1;
}

static void trim(const struct diff *d, struct box *b)
{
	while (b->x0 < b->x1 && b->y0 < b->y1 && d->a.v[b->x0] == d->b.v[b->y0]) {
		b->x0++;
		b->y0++;
	}
	while (b->x0 < b->x1 && b->y0 < b->y1 && d->a.v[b->x1 - 1] == d->b.v[b->y1 - 1]) {
		b->x1--;
		b->y1--;
	}
}

static int64_t size_of(const struct box *b)
{
	return (int64_t)b->x1 - b->x0 + b->y1 - b->y0;
}

static void search(struct diff *d)
{
	struct box todo[BOXES] = { { 0, d->a.n, 0, d->b.n } };
	size_t n = 1;

	while (n) {
		struct box b = todo[--n];
		int32_t x = 0, y = 0;
		trim(d, &b);
		if (b.x0 == b.x1 || b.y0 == b.y1 || d->cost > ALL_COST || n + 2 > BOXES) {
			mark(d, &b);
			continue;
		}
		cut(d, &b, &x, &y);
		struct box low = { b.x0, x, b.y0, y }, high = { x, b.x1, y, b.y1 };
		bool low_first = size_of(&low) < size_of(&high);
		bool inside = x >= b.x0 && x <= b.x1 && y >= b.y0 && y <= b.y1;
		if (!inside || !size_of(&low) || !size_of(&high)) { /* no cut: it would go on for ever */
			mark(d, &b);
			continue;
		}
		todo[n++] = low_first ? high : low;
		todo[n++] = low_first ? low : high;
	}
}

int diff_lines(struct lines *a, struct lines *b)
{
	struct diff d = { .la = a, .lb = b };
	int rc = number_all(&d);
	size_t diagonals = rc ? 0 : (size_t)d.a.n + (size_t)d.b.n + 3;
	int32_t *forward = rc ? NULL : malloc(diagonals * sizeof *forward);
	int32_t *backward = rc ? NULL : malloc(diagonals * sizeof *backward);

	if (forward && backward) {
		d.forward = forward + d.b.n + 1;
		d.backward = backward + d.b.n + 1;
		search(&d);
	} else {
		rc = -1;
	}
	free(forward);
	free(backward);
	free(d.kinds);
	free(d.table);
	free(d.a.v);
	free(d.a.row);
	free(d.a.all);
	free(d.b.v);
	free(d.b.row);
	free(d.b.all);
	return rc;
}
