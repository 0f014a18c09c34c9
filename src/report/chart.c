/* Tokens and cost of each turn: bars, and the same as a table. Many turns share a bar, which then is their mean. */
#include <inttypes.h>
#include <string.h>

#include "report/html.h"
#include "report/story.h"

#define BARS_MOST ((size_t)160)

enum amount { READ, WRITTEN, INPUT, OUTPUT, COST, AMOUNTS };

static const struct {
	const char *css, *name;
} amounts[AMOUNTS] = {
	[READ] = { "tr", "read from cache" },
	[WRITTEN] = { "tw", "written to cache" },
	[INPUT] = { "ti", "input" },
	[OUTPUT] = { "to", "output" },
	[COST] = { "tc", "cost" },
};

struct bars {
	double v[BARS_MOST][AMOUNTS];
	int first[BARS_MOST], last[BARS_MOST]; /* turns */
	size_t n;
	bool priced;
};

static double told(int64_t n)
{
	/* sums of it still fit whole numbers */
	return n < 0 ? 0 : n > INT64_C(1000000000000000) ? 1e15 : (double)n;
}

static void amounts_of(const struct turn_row *row, double v[AMOUNTS])
{
	v[READ] = told(row->usage.cache_read);
	v[WRITTEN] = told(row->usage.cache_creation);
	v[INPUT] = told(row->usage.input);
	v[OUTPUT] = told(row->usage.output);
	v[COST] = told(row->cost) / 1e9;
}

static void fill(struct bars *b, const struct chapter *c)
{
	const struct turn_row *rows = c->rows.v;
	size_t each = (c->rows.n + BARS_MOST - 1) / BARS_MOST;

	for (size_t i = 0; i < c->rows.n; i += each, b->n++) {
		size_t end = i + each < c->rows.n ? i + each : c->rows.n;
		double sum[AMOUNTS] = { 0 }, v[AMOUNTS];

		for (size_t k = i; k < end; k++) {
			amounts_of(&rows[k], v);
			for (int a = 0; a < AMOUNTS; a++)
				sum[a] += v[a];
			b->priced |= rows[k].cost > 0;
		}
		for (int a = 0; a < AMOUNTS; a++)
			b->v[b->n][a] = sum[a] / (double)(end - i);
		b->first[b->n] = rows[i].number;
		b->last[b->n] = rows[end - 1].number;
	}
}

static double height_of(const struct bars *b, size_t i, enum amount from, enum amount to)
{
	double sum = 0;

	for (int a = (int)from; a <= (int)to; a++)
		sum += b->v[i][a];
	return sum;
}

static void bar_title(struct buf *out, const struct bars *b, size_t i)
{
	if (b->first[i] == b->last[i])
		buf_addf(out, b->first[i] ? "Turn %d" : "withdrawn", b->first[i]);
	else
		buf_addf(out, "Turns %d to %d, the mean", b->first[i], b->last[i]);
	for (int a = 0; a < (b->priced ? AMOUNTS : COST); a++) {
		buf_addf(out, "\n%s: ", amounts[a].name);
		if (a == COST)
			html_usd(out, b->v[i][a]);
		else
			html_count(out, (int64_t)b->v[i][a]);
	}
}

/* Per cent of the width that a bar has. Few are not made broad. */
static double room_of(const struct bars *b)
{
	return 100.0 / (double)(b->n < 8 ? 8 : b->n);
}

/* Stacked bars of the amounts [from, to], with the largest sum as the scale. */
static void panel(struct buf *out, const struct chapter *c, const struct bars *b, enum amount from, enum amount to,
                  const char *name, int height)
{
	double most = 0;

	for (size_t i = 0; i < b->n; i++)
		if (height_of(b, i, from, to) > most)
			most = height_of(b, i, from, to);
	if (most <= 0)
		return;
	buf_addf(out, "<div class=\"panel\"><p>%s<b>", name);
	if (from == COST)
		html_usd(out, most);
	else
		html_short_count(out, (int64_t)most);
	buf_addf(out,
	         "</b></p><svg width=\"100%%\" height=\"%d\" role=\"img\" aria-label=\"%s of each turn; the table "
	         "below says the same\">"
	         "<line x1=\"0\" x2=\"100%%\" y1=\"%d.5\" y2=\"%d.5\"/>",
	         height + 1, name, height, height);
	double room = room_of(b);
	for (size_t i = 0; i < b->n; i++) {
		double y = height;
		if (b->first[i])
			buf_addf(out, "<a tabindex=\"-1\" href=\"#r%dt%d\">", c->number, b->first[i]);
		buf_adds(out, "<g><title>");
		bar_title(out, b, i);
		buf_adds(out, "</title>");
		for (int a = (int)from; a <= (int)to; a++) {
			double h = b->v[i][a] / most * height;
			if (h <= 0)
				continue;
			y -= h;
			buf_addf(out, "<rect class=\"%s\" x=\"%.3f%%\" width=\"%.3f%%\" y=\"%.2f\" height=\"%.2f\"/>",
			         amounts[a].css, (double)i * room + room * 0.1, room * 0.8, y, h);
		}
		buf_addf(out, "</g>%s\n", b->first[i] ? "</a>" : "");
	}
	buf_adds(out, "</svg></div>");
}

/* About eight numbers of turns, each below its bar. */
static void axis(struct buf *out, const struct bars *b)
{
	size_t step = (b->n + 7) / 8;

	buf_adds(out, "<svg width=\"100%\" height=\"14\" aria-hidden=\"true\">");
	for (size_t i = 0; i < b->n; i += step)
		if (b->first[i])
			buf_addf(out, "<text x=\"%.3f%%\" y=\"11\">%s%d</text>",
			         (double)i * room_of(b) + room_of(b) * 0.1, i ? "" : "turn ", b->first[i]);
	buf_adds(out, "</svg>");
}

static void cell_count(struct buf *out, int64_t n)
{
	buf_adds(out, "<td class=\"n\">");
	html_count(out, n > 0 ? n : 0);
}

static void table(struct buf *out, const struct chapter *c, bool priced)
{
	const struct turn_row *row = c->rows.v;
	size_t n = c->rows.n, shown = n > SHOWN_MOST ? SHOWN_MOST : n;

	buf_addf(out,
	         "<details class=\"more\"><summary>The turns as a table</summary><div class=\"wide\"><table><thead><tr>"
	         "<th class=\"n\">turn<th class=\"n\">model took<th class=\"n\">input<th class=\"n\">cache read"
	         "<th class=\"n\">cache written<th class=\"n\">output%s<th class=\"n\">calls<th>ended "
	         "by</tr></thead><tbody>",
	         priced ? "<th class=\"n\">cost" : "");
	for (size_t i = 0; i < shown; i++, row++) {
		if (row->number)
			buf_addf(out, "<tr><td class=\"n\"><a href=\"#r%dt%d\">%d</a><td class=\"n\">", c->number,
			         row->number, row->number);
		else
			buf_adds(out, "<tr><td class=\"n\">withdrawn<td class=\"n\">");
		if (row->from >= 0 && row->to >= row->from)
			html_duration(out, row->to - row->from);
		cell_count(out, row->usage.input);
		cell_count(out, row->usage.cache_read);
		cell_count(out, row->usage.cache_creation);
		cell_count(out, row->usage.output);
		if (priced) {
			buf_adds(out, "<td class=\"n\">");
			if (row->cost >= 0)
				html_usd(out, (double)row->cost / 1e9);
		}
		buf_addf(out, "<td class=\"n\">%d<td>", row->calls);
		html_str(out, row->stop_reason);
		buf_adds(out, "</tr>\n");
	}
	buf_adds(out, "</tbody></table></div>");
	if (shown < n + c->rows.over)
		buf_addf(out, "<p class=\"cut\">%zu more</p>", n - shown + c->rows.over);
	buf_adds(out, "</details>");
}

static bool is_there(const struct bars *b, int amount)
{
	for (size_t i = 0; i < b->n; i++)
		if (b->v[i][amount] > 0)
			return true;
	return false;
}

void show_chart(struct buf *out, const struct chapter *c)
{
	struct bars b = { .n = 0 };

	if (!c->rows.n)
		return;
	fill(&b, c);
	buf_addf(out, "<section id=\"r%dcost\"><h2>Tokens and cost</h2><figure class=\"ch\">", c->number);
	panel(out, c, &b, READ, INPUT, "Prompt tokens", 96);
	panel(out, c, &b, OUTPUT, OUTPUT, "Output tokens", 44);
	if (b.priced)
		panel(out, c, &b, COST, COST, "Cost", 44);
	axis(out, &b);
	buf_adds(out, "<figcaption>");
	for (int a = 0; a < OUTPUT; a++)
		if (is_there(&b, a))
			buf_addf(out, "<span><i class=\"k %s\"></i>%s</span>", amounts[a].css, amounts[a].name);
	if (b.priced)
		buf_adds(out, "<span>costs at list prices</span>");
	buf_adds(out, "</figcaption></figure>");
	table(out, c, b.priced);
	buf_adds(out, "</section>\n");
}
