#include "message/message.h"

#include <stdlib.h>

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
	if (m->n == m->cap) {
		size_t cap = m->cap ? m->cap * 2 : 4;
		struct block **v = realloc(m->blocks, cap * sizeof(struct block *));
		if (!v) {
			block_unref(b);
			return -1;
		}
		m->blocks = v;
		m->cap = cap;
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
