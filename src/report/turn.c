/* The turn that is going on, and what becomes of it. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "report/html.h"
#include "report/story.h"

struct item *turn_add(struct turn *t, enum item_kind kind)
{
	if (ARRAY_GROW(t->items, t->n, t->cap)) {
		t->lost = true;
		return NULL;
	}
	struct item *it = &t->items[t->n++];
	*it = (struct item){ .kind = kind, .from = -1, .to = -1 };
	buf_init(&it->head, BUF_HUGE);
	buf_init(&it->body, BUF_HUGE);
	buf_init(&it->result, BUF_HUGE);
	return it;
}

struct item *turn_call(struct turn *t, const char *id)
{
	for (size_t i = t->n; i-- > 0;)
		if (t->items[i].kind == ITEM_CALL && t->items[i].id && !strcmp(t->items[i].id, id))
			return &t->items[i];
	return NULL;
}

static void item_release(struct item *it)
{
	free(it->id);
	free(it->name);
	buf_release(&it->head);
	buf_release(&it->body);
	buf_release(&it->result);
}

void turn_release(struct turn *t)
{
	for (size_t i = 0; i < t->n; i++)
		item_release(&t->items[i]);
	free(t->items);
	free(t->message_id);
	free(t->model);
	*t = (struct turn){ .from = -1, .first = -1, .to = -1, .usage = USAGE_UNKNOWN };
}

static void show_call(struct buf *out, const struct item *it)
{
	static const char *const words[] = { "no result", "failed", "denied", "withdrawn" };
	bool bad = it->failed || it->denied || !it->answered;
	const char *word = it->withdrawn  ? words[3]
	                   : it->denied   ? words[2]
	                   : it->failed   ? words[1]
	                   : it->answered ? NULL
	                                  : words[0];

	buf_addf(out, "<details class=\"call%s\"%s><summary>", bad ? " bad" : "", bad && !it->withdrawn ? " open" : "");
	buf_add(out, buf_str(&it->head), it->head.len);
	buf_adds(out, "<span class=\"m\">");
	if (word)
		buf_addf(out, "<mark>%s</mark> ", word);
	if (it->to >= 0 && it->from >= 0)
		html_duration(out, it->to - it->from);
	if (it->answered && it->bytes) {
		buf_adds(out, it->to >= 0 && it->from >= 0 ? " · " : "");
		html_bytes(out, (int64_t)it->bytes);
	}
	buf_adds(out, "</span></summary>");
	buf_add(out, buf_str(&it->body), it->body.len);
	if (it->answered) {
		buf_adds(out, "<div class=\"out\">");
		if (it->result.len)
			buf_add(out, buf_str(&it->result), it->result.len);
		else
			buf_adds(out, "<p class=\"cut\">no output</p>");
		buf_adds(out, "</div>");
	}
	buf_adds(out, "</details>\n");
}

static void show_aside(struct buf *out, const struct item *it)
{
	const char *look = it->failed ? " bad" : it->answered ? " fine" : "";

	buf_addf(out, it->result.len ? "<details class=\"aside%s\"><summary>" : "<p class=\"aside%s\">", look);
	buf_add(out, buf_str(&it->body), it->body.len);
	if (!it->result.len) {
		buf_adds(out, "</p>\n");
		return;
	}
	buf_adds(out, "</summary>");
	buf_add(out, buf_str(&it->result), it->result.len);
	buf_adds(out, "</details>\n");
}

static void show_item(struct buf *out, const struct item *it)
{
	const char *gone = it->withdrawn ? " gone" : "";

	switch (it->kind) {
	case ITEM_CALL:
		show_call(out, it);
		return;
	case ITEM_TEXT:
		buf_addf(out, "<div class=\"say%s\" dir=\"auto\">", gone);
		break;
	case ITEM_USER:
		buf_addf(out, "<div class=\"user\" dir=\"auto\">");
		break;
	case ITEM_ASIDE:
		show_aside(out, it);
		return;
	case ITEM_THINKING:
		buf_addf(out, "<details class=\"think%s\"><summary>Thinking <span class=\"m\">", gone);
		html_bytes(out, (int64_t)it->bytes);
		buf_adds(out, "</span></summary><div class=\"say\" dir=\"auto\">");
		buf_add(out, buf_str(&it->body), it->body.len);
		buf_adds(out, "</div></details>\n");
		return;
	}
	buf_add(out, buf_str(&it->body), it->body.len);
	buf_adds(out, "</div>\n");
}

int64_t turn_prompt(const struct usage *u)
{
	struct usage prompt = *u;

	prompt.output = -1;
	return usage_total(&prompt);
}

static void turn_head(struct report *r, const struct turn *t, const struct turn_row *row)
{
	struct buf *out = &r->out;

	if (row->continued)
		buf_addf(out, "<section class=\"turn\"><h3>Turn %d, continued", row->number);
	else if (row->number)
		buf_addf(out, "<section class=\"turn\" id=\"r%dt%d\"><h3><a href=\"#r%dt%d\">Turn %d</a>", r->c.number,
		         row->number, r->c.number, row->number, row->number);
	else
		buf_adds(out, "<section class=\"turn\"><h3>An answer that was withdrawn");
	buf_adds(out, "<span class=\"m\">");
	if (t->to >= 0 && t->from >= 0) {
		buf_adds(out, "at ");
		html_duration(out, t->from - r->c.t0);
		buf_adds(out, " · model ");
		html_duration(out, t->to - t->from);
		buf_adds(out, " · ");
	}
	html_short_count(out, turn_prompt(&row->usage));
	buf_adds(out, " in · ");
	html_short_count(out, row->usage.output > 0 ? row->usage.output : 0);
	buf_adds(out, " out");
	if (row->cost >= 0) {
		buf_adds(out, " · ");
		html_usd(out, (double)row->cost / 1e9);
	}
	if (*row->stop_reason && strcmp(row->stop_reason, "tool_use") != 0) {
		buf_adds(out, " · ");
		html_str(out, row->stop_reason);
	}
	buf_adds(out, "</span></h3>\n");
}

static void count_call(struct chapter *c, const struct item *it)
{
	struct tool_count *n = story_tool(c, it->name ? it->name : "");
	int64_t ms = it->to >= it->from && it->from >= 0 ? it->to - it->from : 0;

	if (!n)
		return;
	n->calls++;
	n->failed += (it->failed || !it->answered) && !it->denied;
	n->denied += it->denied;
	n->ms += ms;
	n->longest = ms > n->longest ? ms : n->longest;
	n->bytes += (int64_t)it->bytes;
}

/* A row of the table, and the sums. Withdrawn: all blocks are. */
static void count_turn(struct report *r, struct turn_row *row)
{
	struct chapter *c = &r->c;
	struct turn *t = &c->turn;
	bool kept = t->accepted;

	for (size_t i = 0; i < t->n; i++) {
		const struct item *it = &t->items[i];
		kept |= it->kind <= ITEM_CALL && !it->withdrawn;
		if (it->kind != ITEM_CALL)
			continue;
		row->calls++;
		if (it->withdrawn)
			continue;
		count_call(c, it);
		c->calls++;
		row->failed += it->answered && it->failed && !it->denied;
	}
	row->continued = kept && c->paused;
	row->number = !kept ? 0 : c->paused ? c->turns : ++c->turns;
	if (kept)
		c->paused = !strcmp(t->stop_reason, "pause_turn");
	row->from = t->from;
	row->to = t->to;
	row->usage = t->usage;
	row->cost = r->cfg.price && t->model ? r->cfg.price(t->model, &t->usage) : -1;
	memcpy(row->stop_reason, t->stop_reason, sizeof row->stop_reason);
	c->failed_calls += row->failed;
	if (kept)
		usage_add(&c->sum, &t->usage);
	struct turn_row *v = list_add(&c->rows, sizeof *v);
	if (v)
		*v = *row;
	struct buf label = BUF_INIT(128);
	if (kept)
		buf_addf(&label, "Turn %d", row->number);
	else
		buf_adds(&label, "withdrawn answer");
	story_span(c, kept ? LOOK_ANSWER : LOOK_BROKEN, t->from, t->to, &label);
	buf_release(&label);
}

/* Calls whose result never came: the process ended. */
static void end_open_calls(struct chapter *c)
{
	for (size_t i = 0; i < c->turn.n; i++) {
		struct item *it = &c->turn.items[i];
		if (it->kind == ITEM_CALL && !it->answered && !it->withdrawn && it->from >= 0) {
			it->to = c->t1;
			story_span(c, LOOK_TOOL_BAD, it->from, it->to, &it->head);
		}
	}
}

/* Memory was short for some of it. */
static bool is_lost(const struct turn *t)
{
	bool lost = t->lost;

	for (size_t i = 0; i < t->n; i++)
		lost |= t->items[i].head.failed || t->items[i].body.failed || t->items[i].result.failed;
	return lost;
}

int turn_flush(struct report *r, struct error *e)
{
	struct turn *t = &r->c.turn;
	struct turn_row row = { 0 };

	if (is_lost(t))
		return error_nomem(e);

	if (t->message_id) {
		end_open_calls(&r->c);
		count_turn(r, &row);
		turn_head(r, t, &row);
	}
	for (size_t i = 0; i < t->n; i++)
		show_item(&r->out, &t->items[i]);
	if (t->message_id)
		buf_adds(&r->out, "</section>\n");
	turn_release(t);
	return spool_add(&r->talk, &r->out, e);
}
