/* A line into the story: which kind it is, and when it was. */
#include <stdlib.h>
#include <string.h>

#include "report/html.h"
#include "report/take.h"

/* Times that are later than that are nonsense, 30 years; sums of so many of them still fit. */
#define TIME_MOST (INT64_C(1) << 40)
/* A turn of so many blocks is shown in pieces, */
#define TURN_MOST ((size_t)1000)
/* and one that has so many bytes of HTML. */
#define TURN_LARGE ((size_t)16 << 20)

int take_member(const struct take *t, const char *key)
{
	return json_get(t->doc, t->root, key);
}

bool take_is(const struct take *t, const char *key, const char *value)
{
	return json_eq(t->doc, take_member(t, key), value);
}

void take_short(char *to, size_t room, const struct json *doc, int tok)
{
	size_t n = 0;
	char *text = json_strdup(doc, tok, &n);

	to[0] = '\0';
	if (text && n < room)
		memcpy(to, text, n + 1);
	free(text);
}

struct item *take_aside(struct take *t, const char *word, bool bad)
{
	struct item *it = turn_add(&t->c->turn, ITEM_ASIDE);

	if (!it)
		return NULL;
	it->failed = bad;
	buf_addf(&it->body, "<b>%s</b> ", word);
	return it;
}

void take_value_of(struct take *t, struct item *it, int tok)
{
	if (it && tok >= 0)
		html_value_line(&it->body, t->doc, tok, SHOW_TEXT / 16);
}

void take_value(struct take *t, struct item *it, const char *key)
{
	take_value_of(t, it, take_member(t, key));
}

static int take_init(struct take *t, struct error *e)
{
	return json_parse(&t->c->init, t->doc->text, t->doc->len, 0, e);
}

static int take_result(struct take *t, struct error *e)
{
	return json_parse(&t->c->result, t->doc->text, t->doc->len, 0, e);
}

static int take_stream(struct take *t, struct error *e)
{
	(void)t;
	(void)e;
	return 0;
}

static const struct {
	const char *type, *subtype;
	take_line *take;
} kinds[] = {
	{ "assistant", NULL, take_assistant },
	{ "user", NULL, take_user },
	{ "stream_event", NULL, take_stream },
	{ "result", NULL, take_result },
	{ "system", "init", take_init },
	{ "system", "quern_history", take_history },
	{ "system", "quern_tool_start", take_tool_start },
	{ "system", "quern_transition", take_transition },
	{ "system", "api_retry", take_retry },
	{ "system", "quern_tombstone", take_tombstone },
	{ "system", "permission_denied", take_denied },
	{ "system", "quern_notice", take_notice },
	{ "system", "quern_context", take_context },
	{ "system", "status", take_status },
	{ "system", "compact_boundary", take_boundary },
	{ "system", "quern_model_switch", take_switch },
	{ "system", "hook_started", take_hook_started },
	{ "system", "hook_response", take_hook_response },
	{ "system", "informational", take_informational },
	{ "system", "quern_resume", take_resume },
	{ "system", "quern_summary", take_summary },
};

static void note_time(struct take *t)
{
	struct chapter *c = t->c;
	int64_t ms = json_int_or(t->doc, take_member(t, "quern_ms"), -1);

	if (ms >= 0 && ms < TIME_MOST) {
		if (!c->timed)
			c->t0 = c->asked = ms;
		c->timed = true;
		if (ms > c->t1)
			c->t1 = ms;
	}
	t->ms = c->t1 < 0 ? 0 : c->t1;
}

/* A run begins with its init line, which may come behind what its first hooks did. */
static int turn_page(struct report *r, bool init, struct error *e)
{
	struct chapter *c = &r->c;

	if (c->begun && (c->result.ntokens > 0 || (init && c->init.ntokens > 0)) && chapter_end(r, e))
		return -1;
	if (!c->begun)
		chapter_begin(r);
	return 0;
}

/* A line is cut where it would be too long for one; the path is told, nothing that a record names is opened. */
static void tell_shortened(struct take *t)
{
	if (json_type(t->doc, take_member(t, "quern_file")) == JSON_STRING)
		take_value(t, take_aside(t, "shortened, all of it is in", false), "quern_file");
}

int story_event(struct report *r, const struct json *doc, struct error *e)
{
	struct take t = { .r = r, .c = &r->c, .doc = doc, .root = json_root(doc) };
	int type = json_get(doc, t.root, "type"), subtype = json_get(doc, t.root, "subtype");

	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		if (!json_eq(doc, type, kinds[i].type) ||
		    (kinds[i].subtype && !json_eq(doc, subtype, kinds[i].subtype)))
			continue;
		if (turn_page(r, kinds[i].take == take_init, e))
			return -1;
		r->events++;
		r->c.lines++;
		if (kinds[i].take == take_init && kinds[i].take(&t, e))
			return -1;
		note_time(&t);
		if ((r->c.turn.n >= TURN_MOST || r->c.turn.shown >= TURN_LARGE) && turn_flush(r, e))
			return -1;
		if (kinds[i].take != take_init && kinds[i].take(&t, e))
			return -1;
		if (kinds[i].take == take_assistant || kinds[i].take == take_user)
			tell_shortened(&t);
		return 0;
	}
	return 0;
}
