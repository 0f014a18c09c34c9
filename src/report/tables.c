/* What a run was allowed and what it took, a table each. */
#include <stdlib.h>
#include <string.h>

#include "report/chapter.h"
#include "report/html.h"

static void amount(struct buf *out, const struct chapter *c, const char *limit, int tok)
{
	double v = 0;

	json_double(&c->result, tok, &v);
	v = v > 1e15 ? 1e15 : v < -1e15 ? -1e15 : v;
	if (strstr(limit, "usd") || strstr(limit, "cost"))
		html_usd(out, v);
	else if (strstr(limit, "wall") || strstr(limit, "_ms"))
		html_duration(out, (int64_t)v);
	else
		html_count(out, (int64_t)v);
}

void show_limits(struct buf *out, const struct chapter *c)
{
	const struct json *doc = &c->result;
	int list = chapter_result(c, "limits");

	if (json_size(doc, list) < 1)
		return;
	buf_adds(out, "<section><h2>Limits</h2><div class=\"wide\"><table class=\"limits\"><tbody>");
	for (int k = json_first(doc, list); k >= 0; k = json_next(doc, list, k)) {
		int v = json_value_of(doc, k), used = json_get(doc, v, "used"), most = json_get(doc, v, "limit");
		double part = 0, whole = 0;
		char *name = json_strdup(doc, k, NULL);

		json_double(doc, used, &part);
		json_double(doc, most, &whole);
		part = whole > 0 ? part * 100 / whole : 0;
		part = part < 0 ? 0 : part > 100 ? 100 : part;
		buf_adds(out, "<tr><th>");
		html_str(out, name);
		buf_addf(out, "<td class=\"meter\"><i style=\"width:%.1f%%\"%s></i><td class=\"n\">", part,
		         part >= 100 ? " class=\"full\"" : "");
		amount(out, c, name ? name : "", used);
		buf_adds(out, " of ");
		amount(out, c, name ? name : "", most);
		buf_adds(out, "</tr>\n");
		free(name);
	}
	buf_adds(out, "</tbody></table></div></section>\n");
}

void show_models(struct buf *out, const struct chapter *c)
{
	static const char *const keys[] = { "inputTokens", "cacheReadInputTokens", "cacheCreationInputTokens",
		                            "outputTokens" };
	const struct json *doc = &c->result;
	int list = chapter_result(c, "modelUsage");

	if (json_size(doc, list) < 1)
		return;
	buf_adds(out, "<section><h2>Models</h2><div class=\"wide\"><table><thead><tr><th>model<th class=\"n\">input"
	              "<th class=\"n\">cache read<th class=\"n\">cache written<th class=\"n\">output<th "
	              "class=\"n\">cost</tr></thead><tbody>");
	for (int k = json_first(doc, list); k >= 0; k = json_next(doc, list, k)) {
		int v = json_value_of(doc, k);
		double usd = 0;

		buf_adds(out, "<tr><td>");
		html_value_line(out, doc, k, SHOW_LINE);
		for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
			buf_adds(out, "<td class=\"n\">");
			html_count(out, json_int_or(doc, json_get(doc, v, keys[i]), 0));
		}
		buf_adds(out, "<td class=\"n\">");
		if (json_eq(doc, json_get(doc, v, "costBasis"), "unknown"))
			buf_adds(out, "not known");
		else if (json_double(doc, json_get(doc, v, "costUSD"), &usd))
			html_usd(out, usd);
		buf_adds(out, "</tr>\n");
	}
	buf_adds(out, "</tbody></table></div></section>\n");
}

void show_hooks(struct buf *out, const struct chapter *c)
{
	const struct hook_count *h = c->hooks.v;

	if (!c->hooks.n)
		return;
	buf_adds(out, "<section><h2>Hooks</h2><div class=\"wide\"><table><thead><tr><th>hook<th class=\"n\">runs"
	              "<th class=\"n\">objected or broke<th class=\"n\">took</tr></thead><tbody>");
	for (size_t i = 0; i < c->hooks.n && i < SHOWN_MOST; i++) {
		buf_addf(out, "<tr><td>%s<td class=\"n\">%d<td class=\"n\">%d<td class=\"n\">", h[i].name, h[i].runs,
		         h[i].failed);
		html_duration(out, h[i].ms);
		buf_adds(out, "</tr>\n");
	}
	buf_adds(out, "</tbody></table></div></section>\n");
}

void show_denials(struct buf *out, const struct chapter *c)
{
	const struct json *doc = &c->result;
	int list = chapter_result(c, "permission_denials"), n = 0;

	if (json_size(doc, list) < 1)
		return;
	buf_adds(out, "<section><h2>Denied</h2><ul class=\"plain\">");
	for (int x = json_first(doc, list); x >= 0 && n < (int)SHOWN_MOST; x = json_next(doc, list, x), n++) {
		buf_adds(out, "<li><b>");
		html_value_line(out, doc, json_get(doc, x, "tool_name"), SHOW_LINE);
		buf_adds(out, "</b> <code>");
		html_value_line(out, doc, json_get(doc, x, "tool_input"), SHOW_LINE * 2);
		buf_adds(out, "</code></li>");
	}
	buf_adds(out, "</ul></section>\n");
}

static int longer(const void *a, const void *b)
{
	const struct tool_count *x = a, *y = b;

	if (x->ms != y->ms)
		return x->ms < y->ms ? 1 : -1;
	return (x->calls < y->calls) - (x->calls > y->calls);
}

/* The calls of each tool, those that took longest first. */
void show_tools(struct buf *out, struct chapter *c)
{
	struct tool_count *t = c->tools.v;

	if (!c->tools.n)
		return;
	qsort(t, c->tools.n, sizeof *t, longer);
	buf_adds(out, "<section><h2>Tools</h2><div class=\"wide\"><table><thead><tr><th>tool<th class=\"n\">calls<th "
	              "class=\"n\">failed<th class=\"n\">denied<th class=\"n\">took<th class=\"n\">longest"
	              "<th class=\"n\">output</tr></thead><tbody>");
	for (size_t i = 0; i < c->tools.n && i < SHOWN_MOST; i++) {
		const int counts[] = { t[i].calls, t[i].failed, t[i].denied };

		buf_addf(out, "<tr><td>%s", t[i].name);
		for (size_t k = 0; k < sizeof counts / sizeof *counts; k++) {
			buf_addf(out, "<td class=\"n%s\">", k && counts[k] ? " no" : "");
			if (!k || counts[k])
				html_count(out, counts[k]);
		}
		buf_adds(out, "<td class=\"n\">");
		if (c->timed)
			html_duration(out, t[i].ms);
		buf_adds(out, "<td class=\"n\">");
		if (c->timed)
			html_duration(out, t[i].longest);
		buf_adds(out, "<td class=\"n\">");
		html_bytes(out, t[i].bytes);
		buf_adds(out, "</tr>\n");
	}
	buf_adds(out, "</tbody></table></div></section>\n");
}
