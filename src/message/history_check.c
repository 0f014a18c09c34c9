/* The invariants of a history, checked from scratch: nothing here trusts what history_add has done. */
#include "message/id_set.h"
#include "message/message.h"

/* What is known while going from message to message. */
struct check {
	const struct history *h;
	struct id_set *all;  /* every call so far */
	struct id_set *open; /* the calls of the message before, which this one must answer */
	struct id_set *answered;
	struct error *e;
};

static int broken(const struct check *c, size_t i, size_t block, const char *what, const char *id)
{
	return error_set(c->e, ERR_BUG, "message %zu, block %zu: %s%s%s", i, block, what, id ? " " : "", id ? id : "");
}

static int check_call(struct check *c, size_t i, size_t k, const struct block *b, struct id_set **calls)
{
	if (c->h->v[i]->role != ROLE_ASSISTANT)
		return broken(c, i, k, "a tool_use in a user message:", b->id);
	int fresh = id_set_add(&c->all, b->id);
	if (fresh < 0 || id_set_add(calls, b->id) < 0)
		return error_nomem(c->e);
	return fresh ? 0 : broken(c, i, k, "a tool_use id that was used before:", b->id);
}

static int check_result(struct check *c, size_t i, size_t k, const struct block *b, bool results_done)
{
	if (c->h->v[i]->role != ROLE_USER)
		return broken(c, i, k, "a tool_result in an assistant message:", b->id);
	if (results_done)
		return broken(c, i, k, "a tool_result behind other content:", b->id);
	if (!id_set_has(c->open, b->id))
		return broken(c, i, k, "a tool_result without its tool_use in the message before:", b->id);
	int fresh = id_set_add(&c->answered, b->id);
	if (fresh < 0)
		return error_nomem(c->e);
	return fresh ? 0 : broken(c, i, k, "a second tool_result for", b->id);
}

static int check_blocks(struct check *c, size_t i, struct id_set **calls)
{
	const struct message *m = c->h->v[i];
	bool results_done = false;

	for (size_t k = 0; k < m->n; k++) {
		const struct block *b = m->blocks[k];
		int rc = 0;
		if (b->kind == BLOCK_TOOL_RESULT)
			rc = check_result(c, i, k, b, results_done);
		else
			results_done = true;
		if (b->kind == BLOCK_TOOL_USE)
			rc = check_call(c, i, k, b, calls);
		if (rc)
			return rc;
	}
	return 0;
}

/* Names a call of the message before i that message i (if there is one) does not answer. */
static int check_answered(struct check *c, size_t i)
{
	if (id_set_count(c->open) == id_set_count(c->answered))
		return 0;
	const struct message *m = c->h->v[i - 1];
	for (size_t k = 0; k < m->n; k++) {
		if (m->blocks[k]->kind == BLOCK_TOOL_USE && !id_set_has(c->answered, m->blocks[k]->id))
			return broken(c, i - 1, k, "a tool_use without its tool_result:", m->blocks[k]->id);
	}
	return 0;
}

static int check_shape(struct check *c, size_t i)
{
	const struct message *m = c->h->v[i];

	if (m->role != (i % 2 ? ROLE_ASSISTANT : ROLE_USER))
		return error_set(c->e, ERR_BUG, "message %zu: %s", i,
		                 i ? "two messages of one role in a row" : "the first message is not the user's");
	if (!m->n)
		return error_set(c->e, ERR_BUG, "message %zu: it is empty", i);
	return 0;
}

static int check_message(struct check *c, size_t i)
{
	struct id_set *calls = NULL;

	if (check_shape(c, i))
		return -1;
	int rc = check_blocks(c, i, &calls);
	if (rc == 0)
		rc = check_answered(c, i);
	id_set_free(c->open);
	id_set_free(c->answered);
	c->open = calls;
	c->answered = NULL;
	return rc;
}

int history_check(const struct history *h, bool open_end, struct error *e)
{
	struct check c = { .h = h, .e = e };
	int rc = 0;

	for (size_t i = 0; i < h->n && rc == 0; i++)
		rc = check_message(&c, i);
	if (rc == 0 && h->n && !open_end)
		rc = check_answered(&c, h->n);
	id_set_free(c.all);
	id_set_free(c.open);
	id_set_free(c.answered);
	return rc;
}
