/* Old results that can be had again become one line each. */
#include <stdio.h>
#include <string.h>

#include "context/private.h"

static int line_of(char *text, size_t size, const char *tool, const struct block *b)
{
	if (!b->text_len)
		return snprintf(text, size, "[Old result of %.64s cleared; run the call again if it is needed]", tool);
	return snprintf(text, size, "[Old result of %.64s cleared: %zu bytes; run the call again if it is needed]",
	                tool, b->text_len);
}

/* What the block of that line weighs, but for what has to be escaped in its id. */
static size_t line_weight(const char *tool, const struct block *b)
{
	char text[256];

	return strlen("{\"type\":\"tool_result\",\"tool_use_id\":\"\",\"content\":\"\"}") +
	       (b->is_error ? strlen(",\"is_error\":true") : 0) + strlen(b->id) +
	       (size_t)line_of(text, sizeof text, tool, b);
}

static const char *tool_of(const struct message *answer, const char *id, size_t *from)
{
	for (size_t i = 0; i < answer->n; i++) {
		size_t k = (*from + i) % answer->n;
		const struct block *b = answer->blocks[k];
		if (b->kind == BLOCK_TOOL_USE && strcmp(b->id, id) == 0) {
			*from = k + 1;
			return b->name;
		}
	}
	return NULL;
}

/* Goes over the results that may be cleared, in the order of the conversation, the last message's left out: the model
 * has not seen them yet. */
struct walk {
	const struct context *c;
	const struct history *h;
	size_t message, block, call;
	const char *tool;
};

static const struct block *next_clearable(struct walk *w)
{
	for (; w->message + 1 < w->h->n; w->message += 2, w->block = w->call = 0) {
		const struct message *m = w->h->v[w->message];
		while (w->block < m->n && m->blocks[w->block]->kind == BLOCK_TOOL_RESULT) {
			const struct block *b = m->blocks[w->block++];
			w->tool = tool_of(w->h->v[w->message - 1], b->id, &w->call);
			if (w->tool && w->c->cfg.may_clear(w->c->cfg.ctx, w->tool))
				return b;
		}
	}
	return NULL;
}

static bool is_worth_it(const struct block *b, const char *tool)
{
	return !b->cleared && b->weight > line_weight(tool, b);
}

static size_t clearable_in(const struct context *c, const struct message *answer, const struct message *results)
{
	size_t n = 0, call = 0;

	for (size_t i = 0; i < results->n && results->blocks[i]->kind == BLOCK_TOOL_RESULT; i++) {
		const char *tool = tool_of(answer, results->blocks[i]->id, &call);
		n += tool && c->cfg.may_clear(c->cfg.ctx, tool);
	}
	return n;
}

/* How many of the results that next_clearable finds are old, and what clearing them would free. */
static size_t count_old(const struct context *c, const struct history *h, size_t *freed)
{
	size_t n = 0, keep = c->cfg.microcompact_keep;
	struct walk w = { .c = c, .h = h, .message = 2 };

	while (next_clearable(&w))
		n++;
	if (h->n % 2 && h->n > 2) { /* the newest ones of all may be in the last message */
		size_t last = clearable_in(c, h->v[h->n - 2], h->v[h->n - 1]);
		keep -= last < keep ? last : keep;
	}
	n -= keep < n ? keep : n;
	*freed = 0;
	w = (struct walk){ .c = c, .h = h, .message = 2 };
	for (size_t i = 0; i < n; i++) {
		const struct block *b = next_clearable(&w);
		if (is_worth_it(b, w.tool))
			*freed += b->weight - line_weight(w.tool, b);
	}
	return n;
}

static struct block *cleared(const struct block *b, const char *tool)
{
	char text[256];
	int len = line_of(text, sizeof text, tool, b);
	struct block *line = block_new_tool_result(b->id, text, (size_t)len, b->is_error);

	if (line)
		line->cleared = true;
	return line;
}

/* The user message i of h with its old results cleared, as long as *left counts some. */
static struct message *cleared_message(struct walk *w, size_t i, size_t *left)
{
	const struct message *m = w->h->v[i];
	struct message *copy = message_new(m->role);

	w->message = i;
	w->block = w->call = 0;
	for (size_t k = 0; copy && k < m->n; k++) {
		struct block *b = m->blocks[k];
		const char *tool = b->kind == BLOCK_TOOL_RESULT ? tool_of(w->h->v[i - 1], b->id, &w->call) : NULL;
		bool old = tool && *left && w->c->cfg.may_clear(w->c->cfg.ctx, tool);
		*left -= old;
		b = old && is_worth_it(b, tool) ? cleared(b, tool) : block_ref(b);
		if (message_add(copy, b)) {
			message_unref(copy);
			copy = NULL;
		}
	}
	return copy;
}

static int clear_draft(const struct context *c, const struct history *h, size_t old, struct history *draft)
{
	struct walk w = { .c = c, .h = h };

	for (size_t i = 0; i < h->n; i++) {
		if (i == 0 || i % 2 || !old) {
			if (draft_add(draft, h->v[i], c->model.thinking_bound))
				return -1;
			continue;
		}
		struct message *m = cleared_message(&w, i, &old);
		if (!m || history_add(draft, m))
			return -1;
	}
	return 0;
}

/* The first `old` results that may be cleared are: those that were worth it are no longer seen. */
static void forget_old(const struct context *c, const struct history *h, size_t old)
{
	struct walk w = { .c = c, .h = h, .message = 2 };

	for (size_t i = 0; i < old; i++) {
		const struct block *b = next_clearable(&w);
		if (is_worth_it(b, w.tool))
			c->cfg.forget(c->cfg.ctx, b->id);
	}
}

int microcompact(struct context *c, struct history *h, int64_t *tokens, struct context_report *report)
{
	struct history draft = HISTORY_INIT;
	size_t freed;
	size_t old = count_old(c, h, &freed);

	if (!freed || weight_tokens(c, freed) < c->model.marks.usable / 20)
		return 0;
	bool broken = breaks_thinking(c, h, 0, c->model.thinking_bound);
	int rc = clear_draft(c, h, old, &draft);
	if (!rc) {
		history_exchange(h, &draft);
		forget_old(c, &draft, old);
		report_step(c, report, "microcompact", tokens, draft.weight - h->weight);
		report->thinking_broken |= broken;
	}
	history_release(&draft);
	return rc;
}
