/*
 * When what went on: bars on one axis, a row for the model, as many for tools as ran at once, one for hooks. Places are
 * per cent, so that the drawing fits any width and its text keeps its size. What is too thin to be seen apart is one
 * bar.
 */
#include <inttypes.h>
#include <string.h>

#include "report/html.h"
#include "report/story.h"

#define ROW_HEIGHT  20
#define LANES_SHOWN 12
/* The least that a bar takes, in per cent: about a pixel. */
#define THINNEST 0.15

static const struct {
	const char *css, *name;
	int group;
	bool bad;
} looks[LOOK_COUNT] = {
	[LOOK_ANSWER] = { "la", "model", 0, false },
	[LOOK_BROKEN] = { "lb", "failed attempt", 0, true },
	[LOOK_WAIT] = { "lw", "waiting to try again", 0, false },
	[LOOK_COMPACT] = { "lc", "compaction", 0, false },
	[LOOK_TOOL] = { "lt", "tool", 1, false },
	[LOOK_TOOL_BAD] = { "lx", "tool that failed or was denied", 1, true },
	[LOOK_HOOK] = { "lh", "hook", 2, false },
	[LOOK_HOOK_BAD] = { "lo", "hook that objected or broke", 2, true },
};

struct drawing {
	struct buf *out;
	const struct chapter *c;
	int lanes[3]; /* rows of each group */
	double total;
	double drawn[3][LANES_SHOWN]; /* where the last thin bar of the row ends */
	bool drawn_bad[3][LANES_SHOWN];
	size_t count[LOOK_COUNT];
	int64_t took[LOOK_COUNT];
};

static int lane_of(const struct span *s)
{
	/* what the model does is in one row: attempts, waits and answers follow each other */
	return looks[s->look].group == 0 ? 0 : s->lane < LANES_SHOWN ? s->lane : LANES_SHOWN - 1;
}

static double percent(const struct drawing *d, int64_t ms)
{
	return (double)(ms - d->c->t0) * 100.0 / d->total;
}

static int top_of(const struct drawing *d, int group, int lane)
{
	for (int g = 0; g < group; g++)
		lane += d->lanes[g];
	return lane * ROW_HEIGHT;
}

static void label(struct buf *out, const struct span *s)
{
	if (s->label)
		buf_adds(out, s->label);
	else
		buf_adds(out, looks[s->look].name);
}

static void bar(struct drawing *d, const struct span *s)
{
	int group = looks[s->look].group, lane = lane_of(s);
	double x = percent(d, s->from), width = percent(d, s->to) - x;

	if (width < THINNEST) {
		/* what went wrong is never behind what went well */
		bool bad = looks[s->look].bad;
		if (x < d->drawn[group][lane] && (!bad || d->drawn_bad[group][lane]))
			return;
		width = THINNEST;
		d->drawn[group][lane] = x + width;
		d->drawn_bad[group][lane] = bad;
	}
	/* what came behind the last turn stands with it; nobody has to walk over all bars with a keyboard */
	int turn = s->turn < d->c->turns ? s->turn : d->c->turns;
	if (turn)
		buf_addf(d->out, "<a tabindex=\"-1\" href=\"#r%dt%d\">", d->c->number, turn);
	buf_addf(d->out, "<rect class=\"%s\" x=\"%.3f%%\" y=\"%d\" width=\"%.3f%%\" height=\"%d\" rx=\"2\"><title>",
	         looks[s->look].css, x, top_of(d, group, lane) + 3, width, ROW_HEIGHT - 6);
	label(d->out, s);
	buf_adds(d->out, " · ");
	html_duration(d->out, s->to - s->from);
	buf_adds(d->out, " · at ");
	html_duration(d->out, s->from - d->c->t0);
	buf_addf(d->out, "</title></rect>%s\n", turn ? "</a>" : "");
}

/* About six marks at round times. */
static int64_t tick_step(int64_t total)
{
	static const int64_t steps[] = { 1,      2,      5,       10,      20,      50,       100,      200,     500,
		                         1000,   2000,   5000,    10000,   15000,   30000,    60000,    120000,  300000,
		                         600000, 900000, 1800000, 3600000, 7200000, 14400000, 43200000, 86400000 };
	size_t n = sizeof steps / sizeof *steps;

	for (size_t i = 0; i < n; i++)
		if (total / steps[i] <= 6)
			return steps[i];
	return total / 6;
}

static void tick_label(struct buf *out, int64_t ms, int64_t step)
{
	if (ms == 0)
		buf_adds(out, "0");
	else if (step < 1000 && ms < 1000)
		buf_addf(out, "%" PRId64 " ms", ms);
	else if (step < 1000)
		buf_addf(out, "%.*f s", step < 100 ? 2 : 1, (double)ms / 1000);
	else if (ms < 60000)
		buf_addf(out, "%" PRId64 " s", ms / 1000);
	else if (ms < 3600000)
		buf_addf(out, "%" PRId64 ":%02" PRId64 " min", ms / 60000, ms / 1000 % 60);
	else
		buf_addf(out, "%" PRId64 ":%02" PRId64 " h", ms / 3600000, ms / 60000 % 60);
}

static void axis(struct drawing *d, int height)
{
	int64_t total = d->c->t1 - d->c->t0, step = tick_step(total);

	for (int64_t ms = 0; ms <= total && step > 0; ms += step) {
		double x = percent(d, d->c->t0 + ms);
		buf_addf(d->out, "<line x1=\"%.3f%%\" x2=\"%.3f%%\" y1=\"0\" y2=\"%d\"/>", x, x, height);
		/* there is no room for words behind the last one, where the page is narrow */
		if (x > 88)
			continue;
		buf_addf(d->out, "<text x=\"%.3f%%\" y=\"%d\" dx=\"3\">", x, height + 12);
		tick_label(d->out, ms, step);
		buf_adds(d->out, "</text>\n");
	}
}

static void names(struct drawing *d)
{
	static const char *const groups[] = { "Model", "Tools", "Hooks" };

	buf_adds(d->out, "<div class=\"rows\" aria-hidden=\"true\">");
	for (int g = 0; g < 3; g++)
		if (d->lanes[g])
			buf_addf(d->out, "<div style=\"height:%dpx\">%s</div>", d->lanes[g] * ROW_HEIGHT, groups[g]);
	buf_adds(d->out, "</div>");
}

/* What the colours are, how often there was such a thing, and how long all of them took. */
static void legend(struct drawing *d)
{
	buf_adds(d->out, "<figcaption>");
	for (int i = 0; i < LOOK_COUNT; i++) {
		if (!d->count[i])
			continue;
		buf_addf(d->out, "<span><i class=\"k %s\"></i>%s <span class=\"m\">", looks[i].css, looks[i].name);
		html_count(d->out, (int64_t)d->count[i]);
		buf_adds(d->out, " × · ");
		html_duration(d->out, d->took[i]);
		buf_adds(d->out, "</span></span>");
	}
	buf_adds(d->out, "<span>times since the run began</span></figcaption>");
}

static void table(struct drawing *d)
{
	const struct span *s = d->c->spans.v;
	size_t n = d->c->spans.n, shown = n > SHOWN_MOST ? SHOWN_MOST : n;

	buf_adds(d->out, "<details class=\"more\"><summary>The timeline as a table</summary><div class=\"wide\"><table>"
	                 "<thead><tr><th class=\"n\">ended at<th class=\"n\">took<th>what</tr></thead><tbody>");
	for (size_t i = 0; i < shown; i++) {
		buf_adds(d->out, "<tr><td class=\"n\">");
		html_duration(d->out, s[i].to - d->c->t0);
		buf_adds(d->out, "<td class=\"n\">");
		html_duration(d->out, s[i].to - s[i].from);
		buf_addf(d->out, "<td><i class=\"k %s\"></i>", looks[s[i].look].css);
		label(d->out, &s[i]);
		buf_adds(d->out, "</tr>\n");
	}
	buf_adds(d->out, "</tbody></table></div>");
	if (shown < n + d->c->spans.over)
		buf_addf(d->out, "<p class=\"cut\">%zu more</p>", n - shown + d->c->spans.over);
	buf_adds(d->out, "</details>");
}

void show_timeline(struct buf *out, struct chapter *c)
{
	const struct span *s = c->spans.v;
	struct drawing d = { .out = out, .c = c, .total = (double)(c->t1 - c->t0) };

	if (!c->spans.n)
		return;
	if (d.total < 1)
		d.total = 1;
	for (size_t i = 0; i < c->spans.n; i++) {
		int group = looks[s[i].look].group, rows = lane_of(&s[i]) + 1;
		d.count[s[i].look]++;
		d.took[s[i].look] += s[i].to - s[i].from;
		if (d.lanes[group] < rows)
			d.lanes[group] = rows;
	}
	int height = (d.lanes[0] + d.lanes[1] + d.lanes[2]) * ROW_HEIGHT;
	buf_addf(out, "<section id=\"r%dtime\"><h2>Timeline</h2><figure class=\"tl\"><div class=\"grid\">", c->number);
	names(&d);
	buf_addf(out,
	         "<svg width=\"100%%\" height=\"%d\" role=\"img\" aria-label=\"What went on when; the table below says "
	         "the same\">",
	         height + 16);
	axis(&d, height);
	for (size_t i = 0; i < c->spans.n; i++)
		bar(&d, &s[i]);
	buf_adds(out, "</svg></div>");
	legend(&d);
	buf_adds(out, "</figure>");
	table(&d);
	buf_adds(out, "</section>\n");
}
