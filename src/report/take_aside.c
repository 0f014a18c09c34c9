/* What the program tells between the turns. */
#include <stdlib.h>

#include "report/html.h"
#include "report/take.h"

int take_transition(struct take *t, struct error *e)
{
	struct step *s = list_add(&t->c->steps, sizeof *s);

	if (s) {
		take_short(s->reason, sizeof s->reason, t->doc, take_member(t, "reason"));
		take_short(s->source, sizeof s->source, t->doc, take_member(t, "source"));
		s->turn = (int)json_int_or(t->doc, take_member(t, "turn"), 0);
		s->at = t->ms;
	}
	if (t->c->turn.message_id && turn_flush(t->r, e))
		return -1;
	t->c->asked = t->ms;
	t->c->answering = false;
	if (take_is(t, "reason", "next_turn"))
		return 0;
	struct item *it = take_aside(t, "goes on", false);
	take_value(t, it, "reason");
	return 0;
}

int take_denied(struct take *t, struct error *e)
{
	char *id = json_strdup(t->doc, take_member(t, "tool_use_id"), NULL);
	struct item *call = id ? turn_call(&t->c->turn, id) : NULL;

	(void)e;
	t->c->denials++;
	free(id);
	if (call) { /* which has a mark, and a result that says why */
		call->denied = true;
		return 0;
	}
	struct item *it = take_aside(t, "denied", true);
	take_value(t, it, "tool_name");
	if (it)
		buf_adds(&it->body, ": ");
	take_value(t, it, "message");
	return 0;
}

int take_notice(struct take *t, struct error *e)
{
	struct item *it = take_aside(t, "notice", false);

	(void)e;
	take_value(t, it, "text");
	if (it && t->c->notes.len < t->c->notes.max / 2) {
		buf_adds(&t->c->notes, "<li>");
		html_value_line(&t->c->notes, t->doc, take_member(t, "text"), SHOW_TEXT / 16);
		buf_adds(&t->c->notes, "</li>");
	}
	return 0;
}

int take_informational(struct take *t, struct error *e)
{
	(void)e;
	take_value(t, take_aside(t, "hook says", take_is(t, "level", "warning")), "content");
	return 0;
}

int take_context(struct take *t, struct error *e)
{
	struct item *it = take_aside(t, "context", false);

	(void)e;
	take_value(t, it, "step");
	if (!it)
		return 0;
	buf_adds(&it->body, " freed ");
	html_count(&it->body, json_int_or(t->doc, take_member(t, "tokens_freed"), 0));
	buf_adds(&it->body, " of ");
	html_count(&it->body, json_int_or(t->doc, take_member(t, "tokens_before"), 0));
	buf_adds(&it->body, " tokens");
	return 0;
}

int take_status(struct take *t, struct error *e)
{
	(void)e;
	if (take_is(t, "status", "compacting")) {
		t->c->compacting = t->ms;
		return 0;
	}
	if (t->c->compacting >= 0)
		story_span(t->c, LOOK_COMPACT, t->c->compacting, t->ms, NULL);
	t->c->compacting = -1;
	t->c->asked = t->ms;
	if (!json_absent(t->doc, take_member(t, "compact_error")))
		take_value(t, take_aside(t, "no summary", true), "compact_error");
	return 0;
}

int take_boundary(struct take *t, struct error *e)
{
	struct item *it = take_aside(t, "summary", false);

	(void)e;
	t->c->compactions++;
	if (!it)
		return 0;
	buf_adds(&it->body, "the conversation so far was made smaller: ");
	html_count(&it->body, json_int_or(t->doc, json_path(t->doc, t->root, "compact_metadata.pre_tokens"), 0));
	buf_adds(&it->body, " → ");
	html_count(&it->body, json_int_or(t->doc, json_path(t->doc, t->root, "compact_metadata.post_tokens"), 0));
	buf_adds(&it->body, " tokens");
	return 0;
}

int take_switch(struct take *t, struct error *e)
{
	struct item *it = take_aside(t, "other model", true);

	(void)e;
	t->c->switches++;
	take_value(t, it, "from");
	if (it)
		buf_adds(&it->body, " → ");
	take_value(t, it, "to");
	return 0;
}

int take_summary(struct take *t, struct error *e)
{
	(void)e;
	take_value(t, take_aside(t, "summary of a round", false), "text");
	return 0;
}

int take_resume(struct take *t, struct error *e)
{
	struct buf *out = &t->c->resumed;
	int list;

	(void)e;
	buf_adds(out, "Goes on from <code>");
	html_value_line(out, t->doc, take_member(t, "file"), SHOW_LINE);
	buf_adds(out, "</code>");
	if (!json_absent(t->doc, take_member(t, "from_reason"))) {
		buf_adds(out, ", which had ended with <b>");
		html_value_line(out, t->doc, take_member(t, "from_reason"), SHOW_LINE);
		buf_adds(out, "</b>");
	}
	list = take_member(t, "interrupted");
	if (json_size(t->doc, list) > 0)
		buf_addf(out, "; %d interrupted call%s", json_size(t->doc, list),
		         json_size(t->doc, list) == 1 ? "" : "s");
	list = take_member(t, "changed");
	for (int x = json_first(t->doc, list), n = 0; x >= 0; x = json_next(t->doc, list, x), n++) {
		buf_adds(out, n ? ", " : "; changed since: ");
		html_value_line(out, t->doc, x, SHOW_LINE);
	}
	buf_adds(out, ".");
	return 0;
}
