/* Finished rounds are folded to a line each, the oldest first. The lines stand in the first message. */
#include <string.h>

#include "base/json_out.h"
#include "context/private.h"

static const char heading[] =
        "[Earlier rounds of this conversation, folded to one line each. What their calls returned is "
        "no longer here: make a call again if you need it.]";

/* Of a line as it stands in the block, with what begins it. */
static size_t line_weight(const struct context *c, const struct history *h, size_t r)
{
	struct buf line = BUF_INIT(BUF_HUGE), quoted = BUF_INIT(BUF_HUGE);

	round_line(c, h, r, &line);
	json_quote(&quoted, buf_str(&line), line.len);
	size_t n = line.failed || quoted.failed ? NO_MEMORY : quoted.len + strlen("\\n- ") - 2;
	buf_release(&line);
	buf_release(&quoted);
	return n;
}

/* Our block, if lines can be added to it: nothing may have come behind it. */
static struct block *open_fold(const struct context *c, const struct history *h)
{
	const struct message *first = h->v[0];

	return first->blocks[first->n - 1] == c->fold ? c->fold : NULL;
}

/* The block with the lines of the oldest rounds. */
static struct block *fold_of(const struct context *c, const struct history *h, size_t rounds)
{
	const struct block *before = open_fold(c, h);
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
	cut->was = open_fold(c, h);
	cut->now = fold_of(c, h, cut->rounds);
	return cut->now ? cut_draft(c, h, cut, draft) : -1;
}

/* Folds the oldest rounds, unless that makes nothing smaller. */
static int fold(struct context *c, struct history *h, size_t rounds, int64_t *tokens, struct context_report *report)
{
	struct cut cut = { .rounds = rounds, .strip = c->model.thinking_bound };
	struct history draft = HISTORY_INIT;

	if (!rounds || rounds == NO_MEMORY)
		return rounds ? -1 : 0;
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
	static const char empty[] = "{\"type\":\"text\",\"text\":\"\"}";
	size_t told = open_fold(c, h) ? 0 : sizeof heading + sizeof empty;

	return fold(c, h, rounds_over(c, h, *tokens, c->model.marks.collapse, told, line_weight), tokens, report);
}

int context_drain(struct context *c, struct history *h, int64_t tokens, struct context_report *report)
{
	*report = (struct context_report){ .n = 0 };
	if (rounds_in(h) < 2)
		return 0;
	return note_task(c, h) ? -1 : fold(c, h, whole_cut(h, rounds_in(h)), &tokens, report);
}
