/* What becomes of thinking when the conversation is edited. */
#include "context/private.h"

bool has_thinking(const struct message *m)
{
	for (size_t i = 0; i < m->n; i++) {
		if (block_is_thinking(m->blocks[i]))
			return true;
	}
	return false;
}

/* May be empty. */
static struct message *without_thinking(const struct message *m)
{
	struct message *copy = message_new(m->role);

	for (size_t i = 0; copy && i < m->n; i++) {
		if (!block_is_thinking(m->blocks[i]) && message_add(copy, block_ref(m->blocks[i]))) {
			message_unref(copy);
			copy = NULL;
		}
	}
	return copy;
}

/* An answer that was nothing but thinking vanishes: it called nothing, so that what follows it has no results and may
 * be joined to what stands before; but not to the results behind an answer that waits for its server, so that it is
 * not waited for any more. */
int draft_add(struct history *draft, struct message *m, bool strip)
{
	if (!strip || !has_thinking(m))
		return history_add(draft, message_ref(m));
	struct message *rest = without_thinking(m);
	if (!rest)
		return -1;
	if (rest->n)
		return history_add(draft, rest);
	message_unref(rest);
	return history_drop_server_calls(draft) < 0 ? -1 : 0;
}

static bool has_results(const struct message *m)
{
	return m->n && m->blocks[0]->kind == BLOCK_TOOL_RESULT;
}

bool breaks_thinking(const struct context *c, const struct history *h, size_t rounds, bool strip)
{
	if (!c->model.thinking_budgeted)
		return false;
	size_t end = strip ? h->n : round_begin(rounds);
	/* from the newest answer back to the user's last words */
	for (size_t i = h->n; i-- > 0;) {
		if (h->v[i]->role == ROLE_USER && !has_results(h->v[i]))
			return false;
		if (i < end && has_thinking(h->v[i]))
			return true;
	}
	return false;
}

int context_strip_thinking(struct history *h)
{
	struct history draft = HISTORY_INIT;
	bool some = false;
	int rc = 0;

	for (size_t i = 0; i < h->n && !some; i++)
		some = has_thinking(h->v[i]);
	if (!some)
		return 0;
	for (size_t i = 0; i < h->n && !rc; i++)
		rc = draft_add(&draft, h->v[i], true);
	if (!rc)
		history_exchange(h, &draft);
	history_release(&draft);
	return rc ? -1 : 1;
}
