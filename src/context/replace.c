/* A block that the server does not take is replaced wherever it is remembered. */
#include "context/private.h"

static int replace_in(struct message **m, const struct block *was, struct block *now)
{
	for (size_t i = 0; *m && i < (*m)->n; i++)
		if ((*m)->blocks[i] == was && message_replace(m, i, now))
			return -1;
	return 0;
}

static bool thinks_behind(const struct history *h, size_t message)
{
	for (size_t i = message + 1; i < h->n; i++) {
		if (has_thinking(h->v[i]))
			return true;
	}
	return false;
}

int context_replace(struct context *c, struct history *h, size_t message, size_t block, struct block *now)
{
	struct block *was = block_ref(h->v[message]->blocks[block]);
	int rc = 0;

	if (replace_in(&c->task, was, now) || replace_in(&c->base, was, now) ||
	    history_replace(h, message, block, block_ref(now))) {
		block_unref(was);
		block_unref(now);
		return -1;
	}
	if (was->kind == BLOCK_TOOL_RESULT && !was->cleared) {
		c->cfg.forget(c->cfg.ctx, was->id);
		now->cleared = true;
	}
	if (c->model.thinking_bound && thinks_behind(h, message))
		rc = context_strip_thinking(h) < 0 ? -1 : 0;
	block_unref(was);
	block_unref(now);
	return rc;
}
