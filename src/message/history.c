#include <stdlib.h>

#include "base/array.h"
#include "message/id_set.h"
#include "message/message.h"

static int reserve(struct history *h)
{
	return ARRAY_GROW(h->v, h->n, h->cap);
}

static int count_block(struct history *h, const struct block *b)
{
	if (b->kind == BLOCK_TOOL_USE && id_set_add_copy(&h->ids, b->id) < 0)
		return -1;
	h->bytes += b->json_len;
	h->weight += b->weight;
	return 0;
}

static int count_blocks(struct history *h, const struct message *m)
{
	for (size_t i = 0; i < m->n; i++) {
		if (count_block(h, m->blocks[i]))
			return -1;
	}
	return 0;
}

/* The last message if it is of that role, NULL if not. One that another history or the caller holds as
 * well is replaced by a copy first, because it is about to change. *failed: out of memory. */
static struct message *open_last(struct history *h, enum role role, bool *failed)
{
	*failed = false;
	if (!h->n || h->v[h->n - 1]->role != role)
		return NULL;
	struct message *last = h->v[h->n - 1];
	if (last->refs == 1)
		return last;
	struct message *copy = message_copy(last);
	if (!copy) {
		*failed = true;
		return NULL;
	}
	message_unref(last);
	h->v[h->n - 1] = copy;
	return copy;
}

static int merge(struct history *h, struct message *into, const struct message *m)
{
	for (size_t i = 0; i < m->n; i++) {
		struct block *b = block_ref(m->blocks[i]);
		if (message_add(into, b) || count_block(h, b))
			return -1;
	}
	return 0;
}

static int append(struct history *h, struct message *m)
{
	if (reserve(h) || count_blocks(h, m))
		return -1;
	h->v[h->n++] = message_ref(m);
	return 0;
}

int history_add(struct history *h, struct message *m)
{
	int rc = -1;

	if (!m)
		return -1;
	if (m->n) {
		bool failed = false;
		struct message *last = open_last(h, m->role, &failed);
		if (!failed)
			rc = last ? merge(h, last, m) : append(h, m);
	}
	message_unref(m);
	return rc;
}

int history_add_user_block(struct history *h, struct block *b)
{
	struct message *m = message_new(ROLE_USER);

	if (!m) {
		block_unref(b);
		return -1;
	}
	if (message_add(m, b)) {
		message_unref(m);
		return -1;
	}
	return history_add(h, m);
}

bool history_has_tool_use(const struct history *h, const char *id)
{
	return id_set_has(h->ids, id);
}

int history_copy(struct history *out, const struct history *h, size_t from, size_t to)
{
	for (size_t i = from; i < to; i++) {
		if (history_add(out, message_ref(h->v[i])))
			return -1;
	}
	return 0;
}

void history_exchange(struct history *h, struct history *draft)
{
	struct history was = *h;
	struct id_set *of_draft = draft->ids;

	*h = *draft;
	h->ids = was.ids;
	h->edits = was.edits + 1;
	*draft = was;
	draft->ids = of_draft;
}

int history_replace(struct history *h, size_t i, size_t k, struct block *now)
{
	const struct block *was = h->v[i]->blocks[k];
	size_t bytes = h->bytes - was->json_len + now->json_len, weight = h->weight - was->weight + now->weight;
	int rc = message_replace(&h->v[i], k, now);

	block_unref(now);
	if (rc)
		return -1;
	h->bytes = bytes;
	h->weight = weight;
	h->edits++;
	return 0;
}

void history_release(struct history *h)
{
	for (size_t i = 0; i < h->n; i++)
		message_unref(h->v[i]);
	free(h->v);
	id_set_free(h->ids);
	*h = (struct history)HISTORY_INIT;
}
