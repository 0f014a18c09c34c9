/* The history as rounds, and the edit that takes the oldest of them. */
#include <string.h>

#include "context/private.h"

bool is_own_file(const struct context *c, const struct block *b)
{
	for (size_t i = 0; c && c->files && i < c->files->n; i++) {
		if (c->files->blocks[i] == b)
			return true;
	}
	return false;
}

/* Does the answer behind the first `rounds` begin with what the one before it waited for? */
static bool parts_server_call(const struct history *h, size_t rounds)
{
	return rounds > 0 && message_awaits_server(h->v[round_begin(rounds - 1)]);
}

size_t whole_cut(const struct history *h, size_t rounds)
{
	size_t most = rounds_in(h) ? rounds_in(h) - 1 : 0, r = rounds < most ? rounds : most;

	while (r < most && parts_server_call(h, r))
		r++;
	while (parts_server_call(h, r))
		r--;
	return r;
}

/* What the user, or whoever spoke for him, said stays when its round goes. */
static bool stays(const struct context *c, const struct block *b)
{
	return b->kind != BLOCK_TOOL_RESULT && !is_own_file(c, b);
}

size_t round_weight(const struct context *c, const struct history *h, size_t r)
{
	size_t weight = 0;

	for (size_t i = round_begin(r); i < h->n && i <= round_begin(r) + 1; i++) {
		const struct message *m = h->v[i];
		for (size_t k = 0; k < m->n; k++) {
			if (m->role == ROLE_ASSISTANT || !stays(c, m->blocks[k]))
				weight += m->blocks[k]->weight;
		}
	}
	return weight;
}

const struct block *first_call(const struct message *m)
{
	for (size_t i = 0; i < m->n; i++) {
		if (m->blocks[i]->kind == BLOCK_TOOL_USE)
			return m->blocks[i];
	}
	return NULL;
}

const struct block *result_of(const struct message *user, const char *id, size_t *from)
{
	for (size_t i = 0; i < user->n; i++) {
		size_t k = (*from + i) % user->n;
		const struct block *b = user->blocks[k];
		if (b->kind == BLOCK_TOOL_RESULT && strcmp(b->id, id) == 0) {
			*from = k + 1;
			return b;
		}
	}
	return NULL;
}

int note_task(struct context *c, const struct history *h)
{
	if (!c->task && h->n)
		c->task = message_copy(h->v[0]);
	return c->task || !h->n ? 0 : -1;
}

static void forget_results(const struct context *c, const struct message *m)
{
	for (size_t i = 0; i < m->n; i++) {
		const struct block *b = m->blocks[i];
		if (b->kind == BLOCK_TOOL_RESULT && !b->cleared)
			c->cfg.forget(c->cfg.ctx, b->id);
	}
}

static int add_block(struct message *m, struct block *b)
{
	return b ? message_add(m, block_ref(b)) : 0;
}

/* The first message with our block in it. */
static int add_first(struct message *to, const struct message *first, const struct cut *cut)
{
	bool placed = false;

	for (size_t i = 0; i < first->n; i++) {
		bool here = first->blocks[i] == cut->was;
		if (add_block(to, here ? cut->now : first->blocks[i]))
			return -1;
		placed |= here;
	}
	return placed ? 0 : add_block(to, cut->now);
}

static int add_words(const struct context *c, struct message *to, const struct message *m)
{
	for (size_t i = 0; i < m->n; i++) {
		if (stays(c, m->blocks[i]) && add_block(to, m->blocks[i]))
			return -1;
	}
	return 0;
}

int cut_draft(const struct context *c, const struct history *h, const struct cut *cut, struct history *draft)
{
	size_t rest = round_begin(cut->rounds);
	struct message *first = message_new(ROLE_USER);

	if (!first)
		return -1;
	int rc = add_first(first, h->v[0], cut);
	for (size_t i = 2; i < rest && i < h->n && !rc; i += 2)
		rc = add_words(c, first, h->v[i]);
	if (rc) {
		message_unref(first);
		return -1;
	}
	rc = history_add(draft, first);
	for (size_t i = rest; i < h->n && !rc; i++)
		rc = draft_add(draft, h->v[i], cut->strip);
	return rc;
}

size_t cut_commit(struct context *c, struct history *h, struct history *draft, size_t rounds)
{
	unstage(c, h, rounds);
	history_exchange(h, draft);
	for (size_t i = 2; i < round_begin(rounds) && i < draft->n; i += 2)
		forget_results(c, draft->v[i]);
	return draft->weight > h->weight ? draft->weight - h->weight : 0;
}

int64_t weight_tokens(const struct context *c, size_t weight)
{
	return (int64_t)(weight / (size_t)c->model.marks.bytes_per_token);
}

size_t rounds_over(const struct context *c, const struct history *h, int64_t tokens, int64_t mark, size_t told,
                   size_t (*costs)(const struct context *c, const struct history *h, size_t r))
{
	int64_t goal = mark - c->model.marks.slack;
	size_t freed = 0, r = 0;

	while (r + ROUNDS_KEPT < rounds_in(h) &&
	       (parts_server_call(h, r) || tokens - weight_tokens(c, freed > told ? freed - told : 0) > goal)) {
		size_t cost = costs(c, h, r);
		if (cost == NO_MEMORY)
			return NO_MEMORY;
		freed += round_weight(c, h, r);
		told += cost;
		r++;
	}
	if (freed <= told || tokens - weight_tokens(c, freed - told) >= mark)
		return 0;
	while (parts_server_call(h, r)) /* those that are left alone begin with it */
		r--;
	return r;
}
