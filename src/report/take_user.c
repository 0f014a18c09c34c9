/* What the model is told: the user's words and the results of its calls. */
#include <stdlib.h>
#include <string.h>

#include "report/html.h"
#include "report/take.h"

int take_tool_start(struct take *t, struct error *e)
{
	char *id = json_strdup(t->doc, take_member(t, "tool_use_id"), NULL);
	struct item *it = id ? turn_call(&t->c->turn, id) : NULL;
	int block = take_member(t, "block");

	(void)e;
	if (!it && json_type(t->doc, block) == JSON_OBJECT) {
		take_block(t, block);
		it = id ? turn_call(&t->c->turn, id) : NULL;
	}
	if (it && t->c->timed && !it->started) {
		it->from = t->ms;
		it->started = true;
	}
	free(id);
	return 0;
}

static void answer(struct take *t, int block)
{
	char *id = json_strdup(t->doc, json_get(t->doc, block, "tool_use_id"), NULL);
	struct item *it = id ? turn_call(&t->c->turn, id) : NULL;

	if (!it && (it = turn_add(&t->c->turn, ITEM_CALL)) != NULL) {
		buf_adds(&it->head, "<b>result</b> <code>");
		html_line(&it->head, id ? id : "", id ? strlen(id) : 0, SHOW_LINE);
		buf_adds(&it->head, "</code>");
	}
	free(id);
	if (!it || it->answered)
		return;
	call_result(t->r, it, t->doc, block);
	t->c->turn.shown += it->result.len;
	if (!t->c->timed)
		return;
	it->to = t->ms;
	if (it->from >= 0)
		story_span(t->c, it->failed ? LOOK_TOOL_BAD : LOOK_TOOL, it->from, it->to, &it->head);
}

/* The first line of the task, without its marks. */
static void set_title(struct report *r, const char *p, size_t n)
{
	char line[400];
	size_t len = 0;

	while (n && strchr("# \t\r\n", *p) && *p) {
		p++;
		n--;
	}
	for (size_t i = 0; i < n && p[i] != '\n' && len < sizeof line; i++)
		if (p[i] != '`' && p[i] != '*')
			line[len++] = p[i];
	html_line(&r->title, line, len, 110);
}

/* The user's own words: a string or a block. */
static void say(struct take *t, struct item *it, int what)
{
	int text = json_type(t->doc, what) == JSON_STRING ? what : json_get(t->doc, what, "text");
	size_t n = 0;
	char *plain = it ? json_strdup(t->doc, text, &n) : NULL;

	if (plain)
		html_prose(&it->body, plain, n);
	else if (it)
		show_content(&it->body, t->doc, what, SHOW_TEXT, &n);
	if (plain && !t->r->title.len)
		set_title(t->r, plain, n);
	free(plain);
}

int take_user(struct take *t, struct error *e)
{
	int content = json_path(t->doc, t->root, "message.content");
	bool replay = false, ours = false;

	json_bool(t->doc, take_member(t, "isReplay"), &replay);
	json_bool(t->doc, take_member(t, "isSynthetic"), &ours);
	if (!t->c->answering || t->ms > t->c->asked)
		t->c->asked = t->ms;
	if (replay && turn_flush(t->r, e))
		return -1;
	if (json_type(t->doc, content) == JSON_STRING) {
		say(t, turn_add(&t->c->turn, ITEM_USER), content);
		return 0;
	}
	for (int b = json_first(t->doc, content); b >= 0; b = json_next(t->doc, content, b)) {
		if (json_eq(t->doc, json_get(t->doc, b, "type"), "tool_result")) {
			answer(t, b);
			continue;
		}
		if (ours)
			take_value_of(t, take_aside(t, "quern says", false), json_get(t->doc, b, "text"));
		else
			say(t, turn_add(&t->c->turn, ITEM_USER), b);
	}
	return 0;
}

/* The user's words are blocks of the last message that the event tells. */
int take_history(struct take *t, struct error *e)
{
	struct chapter *c = t->c;
	int list = take_member(t, "messages"), prompt = take_member(t, "prompt"), last = -1;

	(void)e;
	if (!c->answering)
		c->asked = t->ms;
	if (json_size(t->doc, prompt) != 2)
		return 0;
	int64_t from = json_int_or(t->doc, json_first(t->doc, prompt), 0), at = 0;
	int64_t to = json_int_or(t->doc, json_next(t->doc, prompt, json_first(t->doc, prompt)), 0);
	for (int m = json_first(t->doc, list); m >= 0; m = json_next(t->doc, list, m))
		last = m;
	int content = json_get(t->doc, last, "content");
	for (int b = json_first(t->doc, content); b >= 0; b = json_next(t->doc, content, b), at++) {
		int text = json_get(t->doc, b, "text");
		size_t n = 0;

		if (at < from || at >= to || c->prompt.len > PART_MOST)
			continue;
		if (text < 0) {
			show_content(&c->prompt, t->doc, b, SHOW_TEXT, &n);
			continue;
		}
		char *plain = json_strdup(t->doc, text, &n);
		if (plain)
			html_prose(&c->prompt, plain, n);
		if (plain && !t->r->title.len)
			set_title(t->r, plain, n);
		free(plain);
	}
	return 0;
}
