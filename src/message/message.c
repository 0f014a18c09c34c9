#include "message/message.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/json.h"

struct message *message_new(enum role role)
{
	struct message *m = calloc(1, sizeof *m);

	if (!m)
		return NULL;
	m->refs = 1;
	m->role = role;
	return m;
}

int message_add(struct message *m, struct block *b)
{
	if (!b)
		return -1;
	if (ARRAY_GROW(m->blocks, m->n, m->cap)) {
		block_unref(b);
		return -1;
	}
	m->blocks[m->n++] = b;
	return 0;
}

struct message *message_copy(const struct message *m)
{
	struct message *copy = message_new(m->role);

	for (size_t i = 0; copy && i < m->n; i++) {
		if (message_add(copy, block_ref(m->blocks[i]))) {
			message_unref(copy);
			copy = NULL;
		}
	}
	return copy;
}

int message_replace(struct message **m, size_t k, struct block *now)
{
	if ((*m)->refs > 1) {
		struct message *copy = message_copy(*m);
		if (!copy)
			return -1;
		message_unref(*m);
		*m = copy;
	}
	block_ref(now);
	struct block **at = &(*m)->blocks[k];
	block_unref(*at); /* NOLINT(clang-analyzer-core.NullDereference): k is one of them, so there are some */
	*at = now;
	return 0;
}

struct message *message_ref(struct message *m)
{
	if (m)
		m->refs++;
	return m;
}

void message_unref(struct message *m)
{
	if (!m || --m->refs > 0)
		return;
	for (size_t i = 0; i < m->n; i++)
		block_unref(m->blocks[i]);
	free(m->blocks);
	free(m);
}

bool message_has_tool_use(const struct message *m)
{
	for (size_t i = 0; i < m->n; i++) {
		if (m->blocks[i]->kind == BLOCK_TOOL_USE)
			return true;
	}
	return false;
}

bool block_is_server_call(const struct block *b)
{
	return b->kind == BLOCK_OTHER && strstr(b->json, "\"server_tool_use\"") != NULL;
}

/* Block i is a call of the server's: does a block behind it name its id? */
static bool is_answered(const struct message *m, size_t i)
{
	const struct block *call = m->blocks[i];
	struct json doc = JSON_INIT;
	char *id = NULL;
	bool found = false;

	if (!json_parse(&doc, call->json, call->json_len, JSON_BORROW, NULL))
		id = json_strdup(&doc, json_get(&doc, json_root(&doc), "id"), NULL);
	for (size_t k = i + 1; id && k < m->n && !found; k++)
		found = m->blocks[k]->kind == BLOCK_OTHER && strstr(m->blocks[k]->json, id);
	free(id);
	json_release(&doc);
	return found;
}

static bool awaits_server(const struct message *m, size_t i)
{
	return block_is_server_call(m->blocks[i]) && !is_answered(m, i);
}

bool message_awaits_server(const struct message *m)
{
	size_t i = 0;

	while (i < m->n && !awaits_server(m, i))
		i++;
	return i < m->n;
}

int history_drop_server_calls(struct history *h)
{
	size_t at = h->n - 1 - (h->n % 2); /* the last answer */

	if (h->n < 2 || !message_awaits_server(h->v[at]))
		return 0;
	struct message *was = h->v[at], *m = message_new(was->role);
	for (size_t i = 0; m && i < was->n; i++) {
		if (!awaits_server(was, i) && message_add(m, block_ref(was->blocks[i]))) {
			message_unref(m);
			m = NULL;
		}
	}
	if (!m)
		return -1;
	if (!m->n && at + 1 < h->n) { /* words follow it already: nothing would stand between them and those before */
		message_unref(m);
		return 0;
	}
	for (size_t i = 0; i < was->n; i++) {
		bool goes = awaits_server(was, i);
		h->bytes -= goes ? was->blocks[i]->json_len : 0;
		h->weight -= goes ? was->blocks[i]->weight : 0;
	}
	h->v[at] = m;
	h->edits++;
	message_unref(was);
	if (m->n)
		return 1;
	/* only the last one can be empty: behind others stand the results of its calls */
	h->n = at;
	message_unref(m);
	return history_drop_server_calls(h) < 0 ? -1 : 1;
}
