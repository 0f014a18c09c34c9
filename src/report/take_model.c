/* What the model says, and what became of an attempt. */
#include <stdlib.h>
#include <string.h>

#include "report/html.h"
#include "report/take.h"

static void begin_message(struct take *t, int message)
{
	struct turn *turn = &t->c->turn;

	turn->message_id = json_strdup(t->doc, json_get(t->doc, message, "id"), NULL);
	if (!turn->message_id)
		turn->message_id = strdup("");
	turn->model = json_strdup(t->doc, json_get(t->doc, message, "model"), NULL);
	turn->from = t->c->timed ? t->c->asked : -1;
	turn->first = t->ms;
	turn->to = t->ms;
	t->c->answering = true;
}

void take_block(struct take *t, int block)
{
	const struct json *doc = t->doc;
	int type = json_get(doc, block, "type"), text = json_get(doc, block, "text");
	enum item_kind kind = ITEM_TEXT;
	size_t n = 0;

	if (json_eq(doc, type, "tool_use") || json_eq(doc, type, "server_tool_use"))
		kind = ITEM_CALL;
	else if (json_eq(doc, type, "thinking") || json_eq(doc, type, "redacted_thinking"))
		kind = ITEM_THINKING;
	struct item *it = turn_add(&t->c->turn, kind);
	if (!it)
		return;
	take_short(it->uuid, sizeof it->uuid, doc, take_member(t, "uuid"));
	it->from = t->c->timed ? t->ms : -1;
	if (kind == ITEM_CALL) {
		it->id = json_strdup(doc, json_get(doc, block, "id"), NULL);
		it->name = json_strdup(doc, json_get(doc, block, "name"), NULL);
		call_input(it, doc, block);
		t->c->turn.shown += it->body.len;
		return;
	}
	if (kind == ITEM_THINKING)
		text = json_get(doc, block, "thinking");
	char *plain = json_strdup(doc, text, &n);
	it->bytes = n;
	if (plain)
		html_prose(&it->body, plain, n);
	else if (kind == ITEM_THINKING)
		buf_adds(&it->body, "<p class=\"cut\">encrypted: only the model can read it</p>");
	else
		show_content(&it->body, doc, block, SHOW_OUTPUT, &it->bytes);
	t->c->turn.shown += it->body.len;
	free(plain);
}

int take_assistant(struct take *t, struct error *e)
{
	struct turn *turn = &t->c->turn;
	int message = take_member(t, "message"), content = json_get(t->doc, message, "content");

	if (!json_absent(t->doc, take_member(t, "error"))) {
		struct item *it = take_aside(t, "error", true);
		take_value(t, it, "error");
		for (int b = json_first(t->doc, content); it && b >= 0; b = json_next(t->doc, content, b)) {
			buf_adds(&it->body, ": ");
			html_value_line(&it->body, t->doc, json_get(t->doc, b, "text"), SHOW_TEXT);
		}
		return 0;
	}
	if (turn->message_id && !json_eq(t->doc, json_get(t->doc, message, "id"), turn->message_id))
		if (turn_flush(t->r, e))
			return -1;
	if (!turn->message_id)
		begin_message(t, message);
	turn->to = t->ms;
	if (!t->c->timed)
		turn->from = turn->first = turn->to = -1;
	usage_read(&turn->usage, t->doc, json_get(t->doc, message, "usage"));
	if (!json_absent(t->doc, json_get(t->doc, message, "stop_reason"))) {
		take_short(turn->stop_reason, sizeof turn->stop_reason, t->doc,
		           json_get(t->doc, message, "stop_reason"));
		turn->accepted = true;
	}
	for (int b = json_first(t->doc, content); b >= 0; b = json_next(t->doc, content, b))
		take_block(t, b);
	return 0;
}

int take_tombstone(struct take *t, struct error *e)
{
	int uuids = take_member(t, "uuids");
	char uuid[UUID_LEN + 1];

	(void)e;
	t->c->answering = false;
	t->c->asked = t->ms;
	usage_read(&t->c->turn.usage, t->doc, take_member(t, "usage"));
	for (int u = json_first(t->doc, uuids); u >= 0; u = json_next(t->doc, uuids, u)) {
		take_short(uuid, sizeof uuid, t->doc, u);
		for (size_t i = 0; i < t->c->turn.n; i++)
			if (*uuid && !strcmp(t->c->turn.items[i].uuid, uuid))
				t->c->turn.items[i].withdrawn = true;
	}
	struct item *it = take_aside(t, "withdrawn", true);
	if (it)
		buf_adds(&it->body, "the answer above broke off or was refused and is not part of the conversation");
	return 0;
}

int take_retry(struct take *t, struct error *e)
{
	struct buf label = BUF_INIT(4096);
	int64_t delay = json_int_or(t->doc, take_member(t, "retry_delay_ms"), 0);

	(void)e;
	if (delay < 0 || delay > INT64_C(604800000))
		delay = 0;
	t->c->retries++;
	t->c->waited += delay;
	buf_adds(&label, "failed attempt: ");
	html_value_line(&label, t->doc, take_member(t, "message"), SHOW_LINE);
	if (t->c->asked >= 0 && !t->c->answering)
		story_span(t->c, LOOK_BROKEN, t->c->asked, t->ms, &label);
	story_span(t->c, LOOK_WAIT, t->ms, t->ms + delay, NULL);
	t->c->asked = t->ms + delay;
	t->c->answering = false;
	buf_release(&label);
	struct item *it = take_aside(t, "retry", false);
	if (!it)
		return 0;
	take_value(t, it, "error");
	buf_adds(&it->body, ": ");
	take_value(t, it, "message");
	buf_adds(&it->body, "; attempt ");
	take_value(t, it, "attempt");
	buf_adds(&it->body, " of ");
	take_value(t, it, "max_retries");
	buf_adds(&it->body, " after ");
	html_duration(&it->body, delay);
	if (take_member(t, "usage") >= 0) {
		struct usage paid = USAGE_UNKNOWN;

		usage_read(&paid, t->doc, take_member(t, "usage"));
		buf_adds(&it->body, "; paid all the same: ");
		html_count(&it->body, usage_total(&paid));
		buf_adds(&it->body, " tokens");
	}
	return 0;
}
