/* What is to be known of a run at a glance, and what a closer look wants. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report/chapter.h"
#include "report/html.h"

/* Of the list of runs in the page's head. */
#define NAV_MOST ((size_t)256 << 10)

int chapter_init(const struct chapter *c, const char *path)
{
	return json_path(&c->init, json_root(&c->init), path);
}

int chapter_result(const struct chapter *c, const char *path)
{
	return json_path(&c->result, json_root(&c->result), path);
}

int64_t chapter_result_int(const struct chapter *c, const char *path)
{
	return json_int_or(&c->result, chapter_result(c, path), -1);
}

/* What is behind the workspace's own path, if it lies in it. */
static const char *in_workspace(const char *path, const char *cwd)
{
	size_t n = cwd ? strlen(cwd) : 0;

	return n > 1 && !strncmp(path, cwd, n) && path[n] == '/' && path[n + 1] ? path + n + 1 : path;
}

static void changes(struct buf *out, const struct chapter *c)
{
	const struct changed_file *f = c->changes.v;
	char *cwd;

	if (!c->changes.n)
		return;
	cwd = json_strdup(&c->init, chapter_init(c, "cwd"), NULL);
	buf_addf(out, "<section id=\"r%ddiff\"><h2>Files changed by Edit and Write</h2>", c->number);
	for (size_t i = 0; i < c->changes.n && i < SHOWN_MOST; i++) {
		buf_adds(out, "<details class=\"call\"><summary><code>");
		html_str(out, in_workspace(f[i].path, cwd));
		buf_addf(out,
		         "</code> <span class=\"pm\"><ins>+%d</ins> <del>−%d</del></span><span class=\"m\">%d "
		         "call%s</span></summary>",
		         f[i].added, f[i].removed, f[i].calls, f[i].calls == 1 ? "" : "s");
		buf_adds(out, "<pre class=\"diff\">");
		buf_add(out, buf_str(&f[i].diff), f[i].diff.len);
		buf_adds(out, "</pre>");
		if (f[i].cut)
			buf_adds(out, "<p class=\"cut\">the rest is with the calls</p>");
		buf_adds(out, "</details>\n");
	}
	if (c->changes.over)
		buf_addf(out, "<p class=\"cut\">%zu more calls changed other files</p>", c->changes.over);
	buf_adds(out, "</section>\n");
	free(cwd);
}

static void words(struct buf *out, const struct chapter *c)
{
	size_t n = 0;
	bool old = false;
	char *answer = json_strdup(&c->result, chapter_result(c, "result"), &n);

	if (json_bool(&c->result, chapter_result(c, "resumed_result"), &old) && old)
		buf_adds(out, "<p class=\"aside\"><b>old result</b> given again: the run had been completed "
		              "before</p>");
	if (c->resumed.len)
		buf_addf(out, "<p class=\"aside\"><b>resumed</b> %s</p>", buf_str(&c->resumed));
	if (c->prompt.len)
		buf_addf(out, "<section><h2>Task</h2><div class=\"user task\" dir=\"auto\">%s</div></section>\n",
		         buf_str(&c->prompt));
	if (answer && n) {
		buf_adds(out, "<section><h2>Answer</h2><div class=\"say answer\" dir=\"auto\">");
		html_prose(out, answer, n);
		buf_adds(out, "</div></section>\n");
	}
	free(answer);
	if (json_type(&c->result, chapter_result(c, "result_file")) == JSON_STRING) {
		buf_adds(out, "<p class=\"cut\">all of it is in <code>");
		html_value_line(out, &c->result, chapter_result(c, "result_file"), SHOW_TEXT);
		buf_adds(out, "</code></p>");
	}
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

	if (out->len > NAV_MOST) {
		r->nav_over++;
		return;
	}
	buf_addf(out, "<li><a href=\"#r%d\">Run %d</a> <b class=\"%s\">", c->number, c->number,
	         chapter_is_good(c) ? "ok" : "no");
	show_reason(out, c);
	buf_adds(out, "</b> <span class=\"m\">");
	html_count(out, c->turns);
	buf_adds(out, c->turns == 1 ? " turn" : " turns");
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
	char *cwd = json_strdup(&r->c.init, chapter_init(&r->c, "cwd"), &n);
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
	buf_addf(out, "<article id=\"r%d\"><h2 class=\"run\">Run %d</h2>", c->number, c->number);
	show_meta(out, c);
	show_verdict(out, c);
	show_facts(out, c);
	jumps(out, c);
	words(out, c);
	if (c->timed)
		show_timeline(out, c);
	else
		buf_adds(out, "<section><h2>Timeline</h2><p class=\"cut\">the lines of this record tell no "
		              "times</p></section>");
	show_chart(out, c);
	show_tools(out, c);
	show_path(out, c);
	changes(out, c);
	show_denials(out, c);
	buf_addf(out, "<section class=\"talk\" id=\"r%dtalk\"><h2>Conversation</h2>\n", c->number);
	show_contents(out, c);
}

void show_rest(struct buf *out, const struct chapter *c)
{
	buf_addf(out, "<div class=\"rest\" id=\"r%drest\">", c->number);
	show_limits(out, c);
	show_models(out, c);
	show_hooks(out, c);
	show_details(out, c);
	buf_adds(out, "</div>\n");
}
