/* The way from turn to turn: why it went on each time, and where each turn is on the page. */
#include <inttypes.h>
#include <string.h>

#include "record/reason.h"
#include "report/chapter.h"
#include "report/html.h"

/* Runs of fewer turns are seen as they are. */
#define CONTENTS_LEAST ((size_t)8)
#define CONTENTS_MOST  ((size_t)400)

static const struct continue_row *row_of(const char *reason)
{
	for (int r = CONT_NONE + 1; r < CONT_COUNT; r++)
		if (!strcmp(continue_row((enum continue_reason)r)->name, reason))
			return continue_row((enum continue_reason)r);
	return NULL;
}

static void show_step(struct buf *out, const struct step *s, size_t times)
{
	buf_adds(out, "<li><code>");
	html_str(out, s->reason);
	buf_adds(out, "</code>");
	if (*s->source) {
		buf_adds(out, " by ");
		html_str(out, s->source);
	}
	if (times > 1) {
		buf_adds(out, " <b>×");
		html_count(out, (int64_t)times);
		buf_adds(out, "</b>");
	}
	buf_adds(out, "</li>");
}

/* What the reasons mean, each once; that tools ran is no news. */
static void meanings(struct buf *out, const struct step *s, size_t n)
{
	uint32_t told = 1U << CONT_NEXT_TURN;
	_Static_assert(CONT_COUNT < 32, "a bit for each reason");

	for (size_t i = 0; i < n; i++) {
		for (int r = CONT_NONE + 1; r < CONT_COUNT; r++) {
			const struct continue_row *row = continue_row((enum continue_reason)r);
			if (told & 1U << r || row_of(s[i].reason) != row)
				continue;
			told |= 1U << r;
			buf_addf(out, "<p class=\"why\"><code>%s</code> %s</p>", row->name, row->text);
		}
	}
}

void show_path(struct buf *out, const struct chapter *c)
{
	const struct step *s = c->steps.v;
	size_t shown = 0;

	buf_adds(out, "<section><h2>Path</h2><ol class=\"path\"><li>start</li>");
	for (size_t i = 0, times; i < c->steps.n && shown < SHOWN_MOST; i += times, shown++) {
		for (times = 1; i + times < c->steps.n && !strcmp(s[i].reason, s[i + times].reason); times++)
			continue;
		show_step(out, &s[i], times);
	}
	if (shown == SHOWN_MOST)
		buf_adds(out, "<li>…</li>");
	buf_addf(out, "<li class=\"%s\"><b>", chapter_is_good(c) ? "good" : "bad");
	show_reason(out, c);
	buf_adds(out, "</b></li></ol>");
	meanings(out, s, c->steps.n);
	buf_adds(out, "</section>\n");
}

void show_contents(struct buf *out, const struct chapter *c)
{
	const struct turn_row *row = c->rows.v;
	size_t n = c->rows.n, each = (n + CONTENTS_MOST - 1) / CONTENTS_MOST;

	if (n < CONTENTS_LEAST)
		return;
	buf_adds(out, "<nav class=\"turns\" aria-label=\"Turns\">");
	for (size_t i = 0; i < n; i += each) {
		/* of those that share a place the first that has a number */
		size_t k = i, bad = 0;
		for (size_t m = i; m < n && m < i + each; m++)
			bad += (size_t)row[m].failed;
		while (k + 1 < n && k + 1 < i + each && !row[k].number)
			k++;
		if (!row[k].number || row[k].continued)
			continue;
		buf_addf(out, "<a href=\"#r%dt%d\"", c->number, row[k].number);
		if (bad)
			buf_addf(out, " class=\"no\" title=\"%zu failed call%s\"", bad, bad == 1 ? "" : "s");
		buf_addf(out, ">%d</a>", row[k].number);
	}
	buf_adds(out, "</nav>\n");
}
