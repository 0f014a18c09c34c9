/* Whole rounds cut from the front; a marker says how many. */
#include <stdio.h>

#include "context/private.h"

#define MARKER_WEIGHT 120 /* about */

static struct block *marker_of(size_t n)
{
	char text[128];

	int len = snprintf(text, sizeof text, "[%zu earlier round%s of this conversation %s cut here to make room.]", n,
	                   n == 1 ? "" : "s", n == 1 ? "was" : "were");
	return block_new_text(text, (size_t)len);
}

static size_t nothing(const struct context *c, const struct history *h, size_t r)
{
	(void)c;
	(void)h;
	(void)r;
	return 0;
}

int snip(struct context *c, struct history *h, int64_t *tokens, struct context_report *report)
{
	struct cut cut = { .rounds = rounds_over(c, h, *tokens, c->model.marks.snip, c->marker ? 0 : MARKER_WEIGHT,
		                                 nothing),
		           .was = c->marker,
		           .strip = c->model.thinking_bound };
	struct history draft = HISTORY_INIT;

	if (!cut.rounds)
		return 0;
	cut.now = marker_of(c->snipped + cut.rounds);
	bool broken = breaks_thinking(c, h, cut.rounds, cut.strip);
	int rc = cut.now ? cut_draft(c, h, &cut, &draft) : -1;
	if (!rc && draft.weight < h->weight) {
		report_step(c, report, "snip", tokens, cut_commit(c, h, &draft, cut.rounds));
		report->thinking_broken |= broken;
		block_unref(c->marker);
		c->marker = block_ref(cut.now);
		c->snipped += cut.rounds;
	}
	block_unref(cut.now);
	history_release(&draft);
	return rc;
}
