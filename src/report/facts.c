/* A run in a few numbers, and how such pairs of a name and a value look. */
#include <inttypes.h>

#include "report/chapter.h"
#include "report/html.h"

void fact_begin(struct buf *out, const char *name)
{
	buf_addf(out, "<div><dt>%s</dt><dd>", name);
}

void fact_end(struct buf *out)
{
	buf_adds(out, "</dd></div>");
}

void fact_value(struct buf *out, const char *name, const struct json *doc, int tok)
{
	if (json_absent(doc, tok))
		return;
	fact_begin(out, name);
	html_value_line(out, doc, tok, SHOW_LINE);
	fact_end(out);
}

/* Of a run that was killed. */
static void cost_so_far(struct buf *out, const struct chapter *c)
{
	const struct turn_row *row = c->rows.v;
	double usd = 0;

	for (size_t i = 0; i < c->rows.n; i++)
		usd += row[i].cost > 0 ? (double)row[i].cost / 1e9 : 0;
	if (usd <= 0)
		return;
	fact_begin(out, "Cost so far");
	buf_adds(out, "≥ ");
	html_usd(out, usd);
	buf_adds(out, "<small>at list prices</small>");
	fact_end(out);
}

static void cost_fact(struct buf *out, const struct chapter *c)
{
	double usd = 0;
	bool least = false;

	if (c->result.ntokens < 1) {
		cost_so_far(out, c);
		return;
	}
	fact_begin(out, "Cost");
	if (json_double(&c->result, chapter_result(c, "total_cost_usd"), &usd)) {
		if (json_bool(&c->result, chapter_result(c, "cost_lower_bound"), &least) && least)
			buf_adds(out, "≥ ");
		html_usd(out, usd);
	} else {
		buf_adds(out, "not known");
	}
	fact_end(out);
}

static void tokens_fact(struct buf *out, const struct chapter *c)
{
	struct usage told = USAGE_UNKNOWN;
	const struct usage *u = c->rows.n ? &c->sum : &told;
	int64_t in;

	/* a result without the run */
	usage_read(&told, &c->result, chapter_result(c, "usage"));
	in = turn_prompt(u);

	fact_begin(out, "Tokens");
	html_short_count(out, in);
	buf_adds(out, " + ");
	html_short_count(out, u->output > 0 ? u->output : 0);
	buf_adds(out, "<small>in + out");
	if (u->cache_read > 0 && in > 0)
		buf_addf(out, ", %.0f%% cached", (double)u->cache_read * 100 / (double)in);
	buf_adds(out, "</small>");
	fact_end(out);
}

/* What there is no need of in a run that goes well. */
static void trouble_facts(struct buf *out, const struct chapter *c)
{
	const struct {
		const char *name;
		int n;
	} counts[] = { { "Retries", c->retries }, { "Summaries", c->compactions }, { "Model switches", c->switches } };

	for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
		if (!counts[i].n)
			continue;
		fact_begin(out, counts[i].name);
		html_count(out, counts[i].n);
		if (i == 0) {
			buf_adds(out, "<small>waited ");
			html_duration(out, c->waited);
			buf_adds(out, "</small>");
		}
		fact_end(out);
	}
}

void show_meta(struct buf *out, const struct chapter *c)
{
	static const char *const keys[] = { "model", "quern_started", "cwd" };
	int n = 0;

	buf_adds(out, "<p class=\"meta\">");
	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
		int tok = chapter_init(c, keys[i]);
		if (json_absent(&c->init, tok))
			continue;
		buf_adds(out, n++ ? " · <span>" : "<span>");
		html_time(out, &c->init, tok);
		buf_adds(out, "</span>");
	}
	buf_adds(out, "</p>");
}

/* "9 failed, 1 denied", of which what there was none of is left out. */
static void trouble(struct buf *out, const struct chapter *c)
{
	if (!c->failed_calls && !c->denials)
		return;
	buf_adds(out, "<small>");
	if (c->failed_calls)
		buf_addf(out, "%d failed", c->failed_calls);
	if (c->denials)
		buf_addf(out, "%s%d denied", c->failed_calls ? ", " : "", c->denials);
	buf_adds(out, "</small>");
}

void show_facts(struct buf *out, const struct chapter *c)
{
	int64_t ms = chapter_result_int(c, "duration_ms"), api = chapter_result_int(c, "duration_api_ms");
	int64_t turns = chapter_result_int(c, "num_turns");

	buf_adds(out, "<dl class=\"facts\">");
	fact_begin(out, "Turns");
	html_count(out, c->rows.n || turns < 0 ? c->turns : turns);
	fact_end(out);
	fact_begin(out, "Tool calls");
	html_count(out, c->calls);
	trouble(out, c);
	fact_end(out);
	if (ms < 0 && c->timed)
		ms = c->t1 - c->t0;
	if (ms >= 0) {
		fact_begin(out, "Duration");
		html_duration(out, ms);
		if (api >= 0) {
			buf_adds(out, "<small>model ");
			html_duration(out, api);
			buf_adds(out, "</small>");
		}
		fact_end(out);
	}
	tokens_fact(out, c);
	cost_fact(out, c);
	trouble_facts(out, c);
	buf_adds(out, "</dl>");
}
