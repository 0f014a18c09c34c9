/* What is to be known of a run at a glance, and what a closer look wants. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "record/reason.h"
#include "report/chapter.h"
#include "report/html.h"

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
	buf_addf(out, "<li class=\"%s\"><b>", chapter_result_int(c, "exit_code") == 0 ? "good" : "bad");
	if (c->result.ntokens < 1)
		buf_adds(out, "no result");
	else
		html_value_line(out, &c->result, chapter_result(c, "terminal_reason"), SHOW_LINE);
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

static void words(struct buf *out, const struct chapter *c)
{
	size_t n = 0;
	char *answer = json_strdup(&c->result, chapter_result(c, "result"), &n);

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
	         chapter_result_int(c, "exit_code") == 0 ? "ok" : "no");
	if (c->result.ntokens > 0)
		html_value_line(out, &c->result, chapter_result(c, "terminal_reason"), SHOW_LINE);
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
	buf_addf(out, "<article id=\"r%d\"><p class=\"run\">Run %d</p>", c->number, c->number);
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
	path(out, c);
	changes(out, c);
	show_denials(out, c);
	buf_addf(out, "<section class=\"talk\" id=\"r%dtalk\"><h2>Conversation</h2>\n", c->number);
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
