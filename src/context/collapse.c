/* Finished rounds are folded to a line each, the oldest first. The lines stand in the first message. */
#include "context/private.h"

static const char heading[] =
        "[Earlier rounds of this conversation, folded to one line each. What their calls returned is "
        "no longer here: make a call again if you need it.]";

static size_t line_weight(const struct context *c, const struct history *h, size_t r)
{
	struct buf line = BUF_INIT(BUF_HUGE);

	round_line(c, h, r, &line);
	size_t n = line.len + 4; /* and "\n- ", serialised */
	buf_release(&line);
	return n;
}

/* The block with the lines of the oldest rounds; behind those that are there if it is the first message's last. */
static struct block *fold_of(const struct context *c, const struct history *h, size_t rounds,
                             const struct block *before)
{
	struct buf text = BUF_INIT(BUF_HUGE);

	if (before)
		buf_add(&text, before->text, before->text_len);
	else
		buf_adds(&text, heading);
	for (size_t r = 0; r < rounds; r++) {
		buf_adds(&text, "\n- ");
		round_line(c, h, r, &text);
	}
	struct block *b = text.failed ? NULL : block_new_text(buf_str(&text), text.len);
	buf_release(&text);
	return b;
}

int fold_draft(const struct context *c, const struct history *h, struct cut *cut, struct history *draft)
{
	const struct message *first = h->v[0];
	bool last = c->fold && first->blocks[first->n - 1] == c->fold;

	cut->was = last ? c->fold : NULL;
	cut->now = fold_of(c, h, cut->rounds, cut->was);
	return cut->now ? cut_draft(c, h, cut, draft) : -1;
}

/* Folds the oldest rounds, unless that makes nothing smaller. */
static int fold(struct context *c, struct history *h, size_t rounds, int64_t *tokens, struct context_report *report)
{
	struct cut cut = { .rounds = rounds, .strip = c->model.thinking_bound };
	struct history draft = HISTORY_INIT;

	if (!rounds)
		return 0;
	bool broken = breaks_thinking(c, h, rounds, cut.strip);
	int rc = fold_draft(c, h, &cut, &draft);
	if (!rc && draft.weight < h->weight) {
		report_step(c, report, "collapse", tokens, cut_commit(c, h, &draft, rounds));
		report->thinking_broken |= broken;
		block_unref(c->fold);
		c->fold = block_ref(cut.now);
	}
	block_unref(cut.now);
	history_release(&draft);
	return rc;
}

int collapse(struct context *c, struct history *h, int64_t *tokens, struct context_report *report)
{
	return fold(c, h, rounds_over(c, h, *tokens, c->model.marks.collapse, line_weight), tokens, report);
}

int context_drain(struct context *c, struct history *h, int64_t tokens, struct context_report *report)
{
	*report = (struct context_report){ .n = 0 };
	if (rounds_in(h) < 2)
		return 0;
	return note_task(c, h) ? -1 : fold(c, h, rounds_in(h) - 1, &tokens, report);
}
