/* What is to be known of a run at a glance, and what a closer look wants. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "record/reason.h"
#include "report/html.h"
#include "report/story.h"

static int init_of(const struct chapter *c, const char *path)
{
	return json_path(&c->init, json_root(&c->init), path);
}

static int result_of(const struct chapter *c, const char *path)
{
	return json_path(&c->result, json_root(&c->result), path);
}

static int64_t result_int(const struct chapter *c, const char *path)
{
	return json_int_or(&c->result, result_of(c, path), -1);
}

/* ---- how it ended ---- */

static const struct terminal_row *reason_row(const struct chapter *c)
{
	for (int r = TERM_NONE + 1; r < TERM_COUNT; r++)
		if (json_eq(&c->result, result_of(c, "terminal_reason"), terminal_row((enum terminal_reason)r)->name))
			return terminal_row((enum terminal_reason)r);
	return NULL;
}

static void verdict(struct buf *out, const struct chapter *c)
{
	const struct terminal_row *row = reason_row(c);
	int64_t code = result_int(c, "exit_code");
	bool good = code == 0;

	if (c->result.ntokens < 1) {
		buf_adds(out, "<p class=\"verdict bad\"><b>no result</b> The record ends before the run did.</p>");
		return;
	}
	buf_addf(out, "<p class=\"verdict %s\"><b>", good ? "good" : "bad");
	html_value_line(out, &c->result, result_of(c, "terminal_reason"), SHOW_LINE);
	buf_adds(out, "</b> ");
	if (row)
		html_str(out, row->text);
	buf_addf(out, "<span class=\"m\">exit code %" PRId64 "</span></p>", code);
	int list = result_of(c, "errors");
	for (int x = json_first(&c->result, list); x >= 0; x = json_next(&c->result, list, x)) {
		buf_adds(out, "<p class=\"err\">");
		html_value_line(out, &c->result, x, SHOW_TEXT / 16);
		buf_adds(out, "</p>");
	}
}

/* ---- facts ---- */

static void fact_begin(struct buf *out, const char *name)
{
	buf_addf(out, "<div><dt>%s</dt><dd>", name);
}

static void fact_end(struct buf *out)
{
	buf_adds(out, "</dd></div>");
}

static void fact_value(struct buf *out, const char *name, const struct json *doc, int tok)
{
	if (json_absent(doc, tok))
		return;
	fact_begin(out, name);
	html_value_line(out, doc, tok, SHOW_LINE);
	fact_end(out);
}

static void cost_fact(struct buf *out, const struct chapter *c)
{
	double usd = 0;
	bool least = false;

	if (c->result.ntokens < 1)
		return;
	fact_begin(out, "Cost");
	if (json_double(&c->result, result_of(c, "total_cost_usd"), &usd)) {
		if (json_bool(&c->result, result_of(c, "cost_lower_bound"), &least) && least)
			buf_adds(out, "≥ ");
		html_usd(out, usd);
	} else {
		buf_adds(out, "not known");
	}
	fact_end(out);
}

static void tokens_fact(struct buf *out, const struct chapter *c)
{
	const struct usage *u = &c->sum;
	int64_t in = turn_prompt(u);

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

static void facts(struct buf *out, const struct chapter *c)
{
	int64_t ms = result_int(c, "duration_ms"), api = result_int(c, "duration_api_ms");

	buf_adds(out, "<dl class=\"facts\">");
	fact_begin(out, "Turns");
	buf_addf(out, "%d", c->turns);
	fact_end(out);
	fact_begin(out, "Tool calls");
	buf_addf(out, "%d", c->calls);
	if (c->failed_calls || c->denials)
		buf_addf(out, "<small>%d failed, %d denied</small>", c->failed_calls, c->denials);
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
	fact_value(out, "Model", &c->init, init_of(c, "model"));
	buf_adds(out, "</dl>");
}

/* ---- the way ---- */

static void step_text(struct buf *out, const struct step *s, size_t times)
{
	const char *why = "";

	for (int r = CONT_NONE + 1; r < CONT_COUNT; r++)
		if (!strcmp(continue_row((enum continue_reason)r)->name, s->reason))
			why = continue_row((enum continue_reason)r)->text;
	buf_addf(out, "<li title=\"%s\"><code>", why);
	html_str(out, s->reason);
	buf_adds(out, "</code>");
	if (*s->source) {
		buf_adds(out, " by ");
		html_str(out, s->source);
	}
	if (times > 1)
		buf_addf(out, " <b>×%zu</b>", times);
	buf_adds(out, "</li>");
}

static void path(struct buf *out, const struct chapter *c)
{
	const struct step *s = c->steps.v;
	size_t shown = 0;

	buf_adds(out, "<section><h2>Path</h2><ol class=\"path\"><li>start</li>");
	for (size_t i = 0, times; i < c->steps.n && shown < SHOWN_MOST; i += times, shown++) {
		for (times = 1; i + times < c->steps.n && !strcmp(s[i].reason, s[i + times].reason); times++)
			continue;
		step_text(out, &s[i], times);
	}
	if (shown == SHOWN_MOST)
		buf_adds(out, "<li>…</li>");
	buf_addf(out, "<li class=\"%s\"><b>", result_int(c, "exit_code") == 0 ? "good" : "bad");
	if (c->result.ntokens < 1)
		buf_adds(out, "no result");
	else
		html_value_line(out, &c->result, result_of(c, "terminal_reason"), SHOW_LINE);
	buf_adds(out, "</b></li></ol></section>\n");
}

static void changes(struct buf *out, const struct chapter *c)
{
	const struct changed_file *f = c->changes.v;

	if (!c->changes.n)
		return;
	buf_addf(out, "<section id=\"r%ddiff\"><h2>Files changed by Edit and Write</h2>", c->number);
	for (size_t i = 0; i < c->changes.n && i < SHOWN_MOST; i++) {
		buf_adds(out, "<details class=\"call\"><summary><code>");
		html_str(out, f[i].path);
		buf_addf(out,
		         "</code> <span class=\"pm\"><ins>+%d</ins> <del>−%d</del></span><span class=\"m\">%d "
		         "call%s</span></summary>",
		         f[i].added, f[i].removed, f[i].calls, f[i].calls == 1 ? "" : "s");
		buf_adds(out, "<pre class=\"diff\">");
		buf_add(out, buf_str(&f[i].diff), f[i].diff.len);
		buf_adds(out, "</pre>");
		if (f[i].diff.failed)
			buf_adds(out, "<p class=\"cut\">the rest is with the calls</p>");
		buf_adds(out, "</details>\n");
	}
	buf_adds(out, "</section>\n");
}

/* ---- what it was allowed, what it took ---- */

static void amount(struct buf *out, const struct chapter *c, const char *limit, int tok)
{
	double v = 0;

	json_double(&c->result, tok, &v);
	if (strstr(limit, "usd") || strstr(limit, "cost"))
		html_usd(out, v);
	else if (strstr(limit, "wall") || strstr(limit, "_ms"))
		html_duration(out, (int64_t)(v > 1e15 ? 1e15 : v));
	else
		html_count(out, (int64_t)(v > 1e15 ? 1e15 : v));
}

static void limits(struct buf *out, const struct chapter *c)
{
	const struct json *doc = &c->result;
	int list = result_of(c, "limits");

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

static void models(struct buf *out, const struct chapter *c)
{
	static const char *const keys[] = { "inputTokens", "cacheReadInputTokens", "cacheCreationInputTokens",
		                            "outputTokens" };
	const struct json *doc = &c->result;
	int list = result_of(c, "modelUsage");

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

static void hooks(struct buf *out, const struct chapter *c)
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

static void denials(struct buf *out, const struct chapter *c)
{
	const struct json *doc = &c->result;
	int list = result_of(c, "permission_denials"), n = 0;

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

static void strings(struct buf *out, const char *title, const struct json *doc, int list)
{
	int n = 0;

	if (json_size(doc, list) < 1)
		return;
	buf_addf(out, "<div><dt>%s</dt><dd>", title);
	for (int x = json_first(doc, list); x >= 0 && n < (int)SHOWN_MOST; x = json_next(doc, list, x)) {
		buf_adds(out, n++ ? ", " : "");
		html_value_line(out, doc, x, SHOW_LINE);
	}
	buf_adds(out, "</dd></div>");
}

static void audit(struct buf *out, const struct chapter *c)
{
	static const char *const names[] = { "job", "system", "tools" };
	const struct json *doc = &c->result;
	int told = result_of(c, "audit.events_sha256");

	for (size_t i = 0; i < 3; i++) {
		struct buf key = BUF_INIT(64), title = BUF_INIT(64);
		buf_addf(&key, "audit.%s_sha256", names[i]);
		buf_addf(&title, "SHA-256 of the %s", i == 1 ? "system prompt" : names[i]);
		fact_value(out, buf_str(&title), doc, result_of(c, buf_str(&key)));
		buf_release(&key);
		buf_release(&title);
	}
	if (json_absent(doc, told))
		return;
	fact_begin(out, "SHA-256 of the events");
	html_value_line(out, doc, told, SHOW_LINE);
	buf_adds(out, json_eq(doc, told, c->events_sha) ? " <b class=\"ok\">✓ that of this record</b>"
	                                                : " <b class=\"no\">not that of this record</b>");
	fact_end(out);
}

/* The plain members of an object, as "name value, name value". */
static void object_fact(struct buf *out, const char *name, const struct json *doc, int object)
{
	double usd = 0;
	int n = 0;

	if (json_size(doc, object) < 1 || json_type(doc, object) != JSON_OBJECT)
		return;
	fact_begin(out, name);
	for (int k = json_first(doc, object); k >= 0; k = json_next(doc, object, k)) {
		int v = json_value_of(doc, k);
		enum json_type type = json_type(doc, v);
		if (type == JSON_OBJECT || type == JSON_ARRAY || type == JSON_NULL)
			continue;
		buf_adds(out, n++ ? ", " : "");
		html_value_line(out, doc, k, SHOW_LINE);
		buf_adds(out, " <b>");
		if (json_eq(doc, k, "total_cost_usd") && json_double(doc, v, &usd))
			html_usd(out, usd);
		else if (json_eq(doc, k, "duration_ms"))
			html_duration(out, json_int_or(doc, v, 0));
		else if (type == JSON_NUMBER)
			html_count(out, json_int_or(doc, v, 0));
		else
			html_value_line(out, doc, v, SHOW_LINE);
		buf_adds(out, "</b>");
	}
	fact_end(out);
}

static void details(struct buf *out, const struct chapter *c)
{
	static const struct {
		const char *name, *key;
	} rows[] = { { "Workspace", "cwd" },
		     { "Session", "session_id" },
		     { "Began", "quern_started" },
		     { "Permission mode", "permissionMode" },
		     { "Sandbox", "quern_sandbox.mode" },
		     { "Provider", "quern_provider" },
		     { "Version", "quern_version" } };

	buf_adds(out, "<section><h2>Details</h2><dl class=\"rows2\">");
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		fact_value(out, rows[i].name, &c->init, init_of(c, rows[i].key));
	strings(out, "Tools", &c->init, init_of(c, "tools"));
	strings(out, "Withheld", &c->init, init_of(c, "tools_withheld"));
	strings(out, "In front of the task", &c->init, init_of(c, "quern_attached"));
	strings(out, "Effects not known", &c->result, result_of(c, "side_effects"));
	fact_value(out, "Run directory", &c->result, result_of(c, "run_dir"));
	object_fact(out, "Verification", &c->result, result_of(c, "verification"));
	object_fact(out, "Files of the workspace", &c->result, result_of(c, "workspace"));
	object_fact(out, "The whole session", &c->result, result_of(c, "session_totals"));
	audit(out, c);
	buf_adds(out, "</dl>");
	if (!json_absent(&c->init, init_of(c, "quern_environment"))) {
		buf_adds(
		        out,
		        "<details class=\"more\"><summary>What the model was told of its environment</summary><pre>\n");
		html_value(out, &c->init, init_of(c, "quern_environment"), SHOW_OUTPUT);
		buf_adds(out, "</pre></details>");
	}
	buf_adds(out, "</section>\n");
}

static void words(struct buf *out, const struct chapter *c)
{
	size_t n = 0;
	char *answer = json_strdup(&c->result, result_of(c, "result"), &n);

	if (c->resumed.len)
		buf_addf(out, "<p class=\"aside\"><b>resumed</b> %s</p>", buf_str(&c->resumed));
	if (c->prompt.len)
		buf_addf(out, "<section><h2>Task</h2><div class=\"user\" dir=\"auto\">%s</div></section>\n",
		         buf_str(&c->prompt));
	if (answer && n) {
		buf_adds(out, "<section><h2>Answer</h2><div class=\"say answer\" dir=\"auto\">");
		html_prose(out, answer, n);
		buf_adds(out, "</div></section>\n");
	}
	free(answer);
	if (c->notes.len)
		buf_addf(out, "<section><h2>Notices</h2><ul class=\"plain\">%s</ul></section>\n", buf_str(&c->notes));
}

static void jumps(struct buf *out, const struct chapter *c)
{
	static const struct {
		const char *id, *name;
	} places[] = { { "time", "Timeline" },
		       { "cost", "Tokens" },
		       { "diff", "Changes" },
		       { "talk", "Conversation" },
		       { "rest", "Details" } };

	const bool there[] = { c->spans.n > 0, c->rows.n > 0, c->changes.n > 0, true, true };

	buf_adds(out, "<nav>");
	for (size_t i = 0; i < sizeof places / sizeof *places; i++)
		if (there[i])
			buf_addf(out, "<a href=\"#r%d%s\">%s</a>", c->number, places[i].id, places[i].name);
	buf_adds(out, "</nav>");
}

/* What the list of runs in the page's head says of this one. */
static void nav_entry(struct report *r)
{
	const struct chapter *c = &r->c;
	struct buf *out = &r->nav;

	if (out->len > out->max / 2)
		return;
	buf_addf(out, "<li><a href=\"#r%d\">Run %d</a> <b class=\"%s\">", c->number, c->number,
	         result_int(c, "exit_code") == 0 ? "ok" : "no");
	if (c->result.ntokens > 0)
		html_value_line(out, &c->result, result_of(c, "terminal_reason"), SHOW_LINE);
	else
		buf_adds(out, "no result");
	buf_addf(out, "</b> <span class=\"m\">%d turn%s", c->turns, c->turns == 1 ? "" : "s");
	if (c->timed) {
		buf_adds(out, " · ");
		html_duration(out, c->t1 - c->t0);
	}
	buf_adds(out, "</span></li>");
}

/* For a record that does not tell the task. */
static void title_of_place(struct report *r)
{
	size_t n = 0;
	char *cwd = json_strdup(&r->c.init, init_of(&r->c, "cwd"), &n);
	char *slash = cwd ? strrchr(cwd, '/') : NULL;

	if (slash && slash[1]) {
		buf_adds(&r->title, "A run in ");
		html_line(&r->title, slash + 1, n - (size_t)(slash + 1 - cwd), 90);
	}
	free(cwd);
}

void show_chapter(struct buf *out, struct report *r)
{
	struct chapter *c = &r->c;

	nav_entry(r);
	if (!r->title.len)
		title_of_place(r);
	buf_addf(out, "<article id=\"r%d\"><p class=\"run\">Run %d</p>", c->number, c->number);
	verdict(out, c);
	facts(out, c);
	jumps(out, c);
	words(out, c);
	if (c->timed)
		show_timeline(out, c);
	else
		buf_adds(out, "<section><h2>Timeline</h2><p class=\"cut\">the lines of this record tell no "
		              "times</p></section>");
	show_chart(out, c);
	path(out, c);
	changes(out, c);
	denials(out, c);
	buf_addf(out, "<section class=\"talk\" id=\"r%dtalk\"><h2>Conversation</h2>\n", c->number);
}

void show_rest(struct buf *out, const struct chapter *c)
{
	buf_addf(out, "<div class=\"rest\" id=\"r%drest\">", c->number);
	limits(out, c);
	models(out, c);
	hooks(out, c);
	details(out, c);
	buf_adds(out, "</div>\n");
}
