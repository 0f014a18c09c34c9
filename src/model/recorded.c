#include "model/recorded.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DIRECTORY "exchanges/"
#define MOST      1000000 /* exchanges */

struct recorded {
	struct recorded_exchange **v; /* v[i] is number i + 1; NULL where there is none */
	size_t n, cap;
	size_t at[EXCHANGE_KINDS]; /* of those before, the bodies were put together */
	struct buf bodies[EXCHANGE_KINDS];
};

struct recorded *recorded_new(void)
{
	struct recorded *r = calloc(1, sizeof *r);

	for (size_t i = 0; r && i < EXCHANGE_KINDS; i++)
		buf_init(&r->bodies[i], BUF_HUGE);
	return r;
}

static void exchange_free(struct recorded_exchange *x)
{
	if (!x)
		return;
	exchange_release(&x->x);
	free(x->request);
	free(x->answer);
	free(x);
}

void recorded_free(struct recorded *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->n; i++)
		exchange_free(r->v[i]);
	for (size_t i = 0; i < EXCHANGE_KINDS; i++)
		buf_release(&r->bodies[i]);
	free(r->v);
	free(r);
}

/* ---- from the entries ---- */

static int grow(struct recorded *r, size_t n)
{
	if (n > r->cap) {
		size_t cap = n < 32 ? 64 : 2 * n;
		struct recorded_exchange **v = reallocarray(r->v, cap, sizeof *v);
		if (!v)
			return -1;
		r->v = v;
		r->cap = cap;
	}
	while (r->n < n)
		r->v[r->n++] = NULL;
	return 0;
}

static struct recorded_exchange *number(struct recorded *r, size_t i)
{
	if (grow(r, i))
		return NULL;
	if (!r->v[i - 1])
		r->v[i - 1] = calloc(1, sizeof **r->v);
	return r->v[i - 1];
}

static int keep(char **to, size_t *len, const char *p, size_t n, struct error *e)
{
	free(*to);
	*to = malloc(n + 1);
	if (!*to)
		return error_nomem(e);
	if (n)
		memcpy(*to, p, n);
	(*to)[n] = '\0';
	*len = n;
	return 0;
}

static int add_part(struct recorded_exchange *x, const char *part, const char *p, size_t n, struct error *e)
{
	if (!strcmp(part, "request"))
		return keep(&x->request, &x->request_len, p, n, e);
	if (!strcmp(part, "response"))
		return keep(&x->answer, &x->answer_len, p, n, e);
	if (strcmp(part, "json") != 0)
		return 0;
	exchange_release(&x->x);
	x->told = !exchange_read(&x->x, p, n, e);
	return x->told ? 0 : -1;
}

int recorded_add(struct recorded *r, const char *name, const char *p, size_t n, struct error *e)
{
	char *end = NULL;

	if (strncmp(name, DIRECTORY, strlen(DIRECTORY)) != 0)
		return 0;
	unsigned long i = strtoul(name + strlen(DIRECTORY), &end, 10);
	if (!i || i > MOST || *end != '.')
		return 0;
	struct recorded_exchange *x = number(r, i);
	if (!x)
		return error_nomem(e);
	return add_part(x, end + 1, p, n, e) ? error_prefix(e, "%s", name) : 0;
}

/* ---- what was asked ---- */

/* A bundle that was cut off may lack parts of its last. */
static bool is_whole(const struct recorded_exchange *x)
{
	return x && x->told && x->request && (x->answer || !x->x.answer_bytes) && x->answer_len >= x->x.answer_bytes;
}

static bool plays(const struct recorded_exchange *x)
{
	return is_whole(x) && x->x.run == 1;
}

static int put_together(struct recorded *r, const struct recorded_exchange *x, struct error *e)
{
	struct buf *body = &r->bodies[x->x.kind];

	if (x->x.prefix > body->len)
		return error_set(e, ERR_INPUT, "the record is not whole: a request before is missing");
	buf_cut(body, x->x.prefix);
	if (buf_add(body, x->request, x->request_len))
		return error_nomem(e);
	if (body->len != x->x.bytes)
		return error_set(e, ERR_INPUT, "the record is not whole: a request has %zu bytes, not %zu", body->len,
		                 x->x.bytes);
	return 0;
}

static bool is_like(const struct recorded_exchange *x, const struct exchange *like)
{
	return plays(x) && !x->taken && x->x.kind == like->kind && x->x.ordinal == like->ordinal &&
	       x->x.attempt == like->attempt;
}

int recorded_take(struct recorded *r, const struct exchange *like, const struct recorded_exchange **out,
                  const struct buf **body, struct error *e)
{
	size_t *at = &r->at[like->kind], found = *at;

	*out = NULL;
	*body = NULL;
	while (found < r->n && !is_like(r->v[found], like))
		found++;
	if (found == r->n)
		return 0;
	for (; *at <= found; ++*at)
		if (plays(r->v[*at]) && r->v[*at]->x.kind == like->kind && put_together(r, r->v[*at], e))
			return -1;
	r->v[found]->taken = true;
	*out = r->v[found];
	*body = &r->bodies[like->kind];
	return 0;
}

void recorded_cut(struct recorded *r, const struct exchange *like, size_t bytes)
{
	for (size_t i = 0; i < r->n; i++) {
		struct recorded_exchange *x = r->v[i];
		if (x && x->told && x->x.run == like->run && x->x.kind == like->kind && x->x.ordinal == like->ordinal &&
		    x->x.attempt == like->attempt)
			exchange_cut(&x->x, bytes);
	}
}

const char *recorded_first(const struct recorded *r, enum model_kind kind, size_t *len)
{
	size_t i = 0;

	while (i < r->n && !(plays(r->v[i]) && r->v[i]->x.kind == kind))
		i++;
	if (i == r->n || r->v[i]->x.prefix)
		return NULL;
	*len = r->v[i]->request_len;
	return r->v[i]->request;
}

int recorded_ordinals(const struct recorded *r, enum model_kind kind)
{
	int most = 0;

	for (size_t i = 0; i < r->n; i++)
		if (plays(r->v[i]) && r->v[i]->x.kind == kind && r->v[i]->x.ordinal > most)
			most = r->v[i]->x.ordinal;
	return most;
}

size_t recorded_unused(const struct recorded *r)
{
	size_t n = 0;

	for (size_t i = 0; i < r->n; i++)
		n += plays(r->v[i]) && !r->v[i]->taken;
	return n;
}
