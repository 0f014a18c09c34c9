/* Hooks: when they ran, and what they said. */
#include <stdlib.h>
#include <string.h>

#include "report/html.h"
#include "report/take.h"

int take_hook_started(struct take *t, struct error *e)
{
	struct chapter *c = t->c;

	(void)e;
	if (c->nrunning == sizeof c->running / sizeof *c->running)
		return 0;
	take_short(c->running[c->nrunning].id, sizeof c->running->id, t->doc, take_member(t, "hook_id"));
	c->running[c->nrunning++].from = t->ms;
	return 0;
}

static struct hook_count *hook_of(struct chapter *c, const char *name)
{
	struct hook_count *h = c->hooks.v;

	for (size_t i = 0; i < c->hooks.n && i < SHOWN_MOST; i++)
		if (!strcmp(h[i].name, name))
			return &h[i];
	char *copy = strdup(name);
	h = copy ? list_add(&c->hooks, sizeof *h) : NULL;
	if (h)
		h->name = copy;
	else
		free(copy);
	return h;
}

int take_hook_response(struct take *t, struct error *e)
{
	struct chapter *c = t->c;
	struct buf label = BUF_INIT(4096);
	bool bad = !take_is(t, "outcome", "success");
	int64_t from = t->ms;

	(void)e;
	for (size_t i = 0; i < c->nrunning; i++) {
		if (!json_eq(t->doc, take_member(t, "hook_id"), c->running[i].id))
			continue;
		from = c->running[i].from;
		c->running[i] = c->running[--c->nrunning];
		break;
	}
	html_value_line(&label, t->doc, take_member(t, "hook_name"), SHOW_LINE);
	story_span(c, bad ? LOOK_HOOK_BAD : LOOK_HOOK, from, t->ms, &label);
	struct hook_count *h = hook_of(c, buf_str(&label));
	if (h) {
		h->runs++;
		h->failed += bad;
		h->ms += t->ms - from;
	}
	c->asked = c->answering ? c->asked : t->ms;
	struct item *it = take_aside(t, "hook", bad);
	if (it) {
		it->answered = true; /* nothing to worry about, if it did not fail */
		buf_add(&it->body, buf_str(&label), label.len);
		buf_adds(&it->body, ": ");
		take_value(t, it, "outcome");
		if (take_member(t, "quern_error") >= 0) {
			buf_adds(&it->body, ", ");
			take_value(t, it, "quern_error");
		}
		show_content(&it->result, t->doc, take_member(t, "stdout"), SHOW_OUTPUT / 4, &it->bytes);
		show_content(&it->result, t->doc, take_member(t, "stderr"), SHOW_OUTPUT / 4, &it->bytes);
	}
	buf_release(&label);
	return 0;
}
