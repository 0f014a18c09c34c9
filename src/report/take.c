/* Each kind of line, and what it adds to the story. What is missing in it is left out; what is not known is passed
 * over. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report/html.h"
#include "report/story.h"

/* Times that are later than that are nonsense: 30,000 years. */
#define TIME_MOST (INT64_C(1) << 50)
/* A turn of so many blocks is shown in pieces. */
#define TURN_MOST ((size_t)1000)

struct take {
	struct report *r;
	struct chapter *c;
	const struct json *doc;
	int root;
	int64_t ms; /* of this line; that of the line before if it does not tell */
};

static int member(const struct take *t, const char *key)
{
	return json_get(t->doc, t->root, key);
}

static bool is(const struct take *t, const char *key, const char *value)
{
	return json_eq(t->doc, member(t, key), value);
}

static void copy_short(char *to, size_t room, const struct json *doc, int tok)
{
	size_t n = 0;
	char *text = json_strdup(doc, tok, &n);

	to[0] = '\0';
	if (text && n < room)
		memcpy(to, text, n + 1);
	free(text);
}

/* A remark between blocks: what it is, and the text of a member. */
static struct item *aside(struct take *t, const char *word, bool bad)
{
	struct item *it = turn_add(&t->c->turn, ITEM_ASIDE);

	if (!it)
		return NULL;
	it->failed = bad;
	buf_addf(&it->body, "<b>%s</b> ", word);
	return it;
}

static void value_of(struct take *t, struct item *it, int tok)
{
	if (it && tok >= 0)
		html_value_line(&it->body, t->doc, tok, SHOW_TEXT / 16);
}

static void value(struct take *t, struct item *it, const char *key)
{
	value_of(t, it, member(t, key));
}

static int take_init(struct take *t, struct error *e)
{
	return json_parse(&t->c->init, t->doc->text, t->doc->len, 0, e);
}

/* ---- the model ---- */

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

static void add_block(struct take *t, int block)
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
	copy_short(it->uuid, sizeof it->uuid, doc, member(t, "uuid"));
	it->from = t->c->timed ? t->ms : -1;
	if (kind == ITEM_CALL) {
		it->id = json_strdup(doc, json_get(doc, block, "id"), NULL);
		it->name = json_strdup(doc, json_get(doc, block, "name"), NULL);
		call_input(it, doc, block);
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
	free(plain);
}

static int take_assistant(struct take *t, struct error *e)
{
	struct turn *turn = &t->c->turn;
	int message = member(t, "message"), content = json_get(t->doc, message, "content");

	if (!json_absent(t->doc, member(t, "error"))) {
		struct item *it = aside(t, "error", true);
		value(t, it, "error");
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
		copy_short(turn->stop_reason, sizeof turn->stop_reason, t->doc,
		           json_get(t->doc, message, "stop_reason"));
		turn->accepted = true;
	}
	for (int b = json_first(t->doc, content); b >= 0; b = json_next(t->doc, content, b))
		add_block(t, b);
	return 0;
}

static int take_tombstone(struct take *t, struct error *e)
{
	int uuids = member(t, "uuids");
	char uuid[UUID_LEN + 1];

	(void)e;
	t->c->answering = false;
	t->c->asked = t->ms;
	usage_read(&t->c->turn.usage, t->doc, member(t, "usage"));
	for (int u = json_first(t->doc, uuids); u >= 0; u = json_next(t->doc, uuids, u)) {
		copy_short(uuid, sizeof uuid, t->doc, u);
		for (size_t i = 0; i < t->c->turn.n; i++)
			if (*uuid && !strcmp(t->c->turn.items[i].uuid, uuid))
				t->c->turn.items[i].withdrawn = true;
	}
	struct item *it = aside(t, "withdrawn", true);
	if (it)
		buf_adds(&it->body, "the answer above broke off or was refused and is not part of the conversation");
	return 0;
}

static int take_retry(struct take *t, struct error *e)
{
	struct buf label = BUF_INIT(4096);
	int64_t delay = json_int_or(t->doc, member(t, "retry_delay_ms"), 0);

	(void)e;
	if (delay < 0 || delay > INT64_C(604800000))
		delay = 0;
	buf_adds(&label, "failed attempt: ");
	html_value_line(&label, t->doc, member(t, "message"), SHOW_LINE);
	if (t->c->asked >= 0 && !t->c->answering)
		story_span(t->c, LOOK_BROKEN, t->c->asked, t->ms, &label);
	story_span(t->c, LOOK_WAIT, t->ms, t->ms + delay, NULL);
	t->c->asked = t->ms + delay;
	t->c->answering = false;
	buf_release(&label);
	struct item *it = aside(t, "retry", true);
	if (!it)
		return 0;
	value(t, it, "error");
	buf_adds(&it->body, ": ");
	value(t, it, "message");
	buf_adds(&it->body, "; attempt ");
	value(t, it, "attempt");
	buf_adds(&it->body, " of ");
	value(t, it, "max_retries");
	buf_adds(&it->body, " after ");
	html_duration(&it->body, delay);
	if (member(t, "usage") >= 0) {
		struct usage paid = USAGE_UNKNOWN;

		usage_read(&paid, t->doc, member(t, "usage"));
		buf_adds(&it->body, "; paid all the same: ");
		html_count(&it->body, usage_total(&paid));
		buf_adds(&it->body, " tokens");
	}
	return 0;
}

/* ---- tools ---- */

static int take_tool_start(struct take *t, struct error *e)
{
	char *id = json_strdup(t->doc, member(t, "tool_use_id"), NULL);
	struct item *it = id ? turn_call(&t->c->turn, id) : NULL;
	int block = member(t, "block");

	(void)e;
	if (!it && json_type(t->doc, block) == JSON_OBJECT) {
		add_block(t, block);
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
		html_str(&it->head, id);
		buf_adds(&it->head, "</code>");
	}
	free(id);
	if (!it || it->answered)
		return;
	call_result(t->r, it, t->doc, block);
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

static int take_user(struct take *t, struct error *e)
{
	int content = json_path(t->doc, t->root, "message.content");
	bool replay = false, ours = false;

	json_bool(t->doc, member(t, "isReplay"), &replay);
	json_bool(t->doc, member(t, "isSynthetic"), &ours);
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
			value_of(t, aside(t, "quern says", false), json_get(t->doc, b, "text"));
		else
			say(t, turn_add(&t->c->turn, ITEM_USER), b);
	}
	return 0;
}

/* ---- the program ---- */

static int take_transition(struct take *t, struct error *e)
{
	struct step *s = list_add(&t->c->steps, sizeof *s);

	if (s) {
		copy_short(s->reason, sizeof s->reason, t->doc, member(t, "reason"));
		copy_short(s->source, sizeof s->source, t->doc, member(t, "source"));
		s->turn = (int)json_int_or(t->doc, member(t, "turn"), 0);
		s->at = t->ms;
	}
	if (t->c->turn.message_id && turn_flush(t->r, e))
		return -1;
	t->c->asked = t->ms;
	t->c->answering = false;
	if (is(t, "reason", "next_turn"))
		return 0;
	struct item *it = aside(t, "goes on", false);
	value(t, it, "reason");
	return 0;
}

static int take_denied(struct take *t, struct error *e)
{
	char *id = json_strdup(t->doc, member(t, "tool_use_id"), NULL);
	struct item *call = id ? turn_call(&t->c->turn, id) : NULL;

	(void)e;
	t->c->denials++;
	if (call)
		call->denied = true;
	free(id);
	struct item *it = aside(t, "denied", true);
	value(t, it, "tool_name");
	if (it)
		buf_adds(&it->body, ": ");
	value(t, it, "message");
	return 0;
}

static int take_notice(struct take *t, struct error *e)
{
	struct item *it = aside(t, "notice", false);

	(void)e;
	value(t, it, "text");
	if (it && t->c->notes.len < t->c->notes.max / 2) {
		buf_adds(&t->c->notes, "<li>");
		html_value_line(&t->c->notes, t->doc, member(t, "text"), SHOW_TEXT / 16);
		buf_adds(&t->c->notes, "</li>");
	}
	return 0;
}

static int take_informational(struct take *t, struct error *e)
{
	(void)e;
	value(t, aside(t, "hook says", is(t, "level", "warning")), "content");
	return 0;
}

static int take_context(struct take *t, struct error *e)
{
	struct item *it = aside(t, "context", false);

	(void)e;
	value(t, it, "step");
	if (!it)
		return 0;
	buf_adds(&it->body, " freed ");
	html_count(&it->body, json_int_or(t->doc, member(t, "tokens_freed"), 0));
	buf_adds(&it->body, " of ");
	html_count(&it->body, json_int_or(t->doc, member(t, "tokens_before"), 0));
	buf_adds(&it->body, " tokens");
	return 0;
}

static int take_status(struct take *t, struct error *e)
{
	(void)e;
	if (is(t, "status", "compacting")) {
		t->c->compacting = t->ms;
		return 0;
	}
	if (t->c->compacting >= 0)
		story_span(t->c, LOOK_COMPACT, t->c->compacting, t->ms, NULL);
	t->c->compacting = -1;
	t->c->asked = t->ms;
	if (!json_absent(t->doc, member(t, "compact_error")))
		value(t, aside(t, "no summary", true), "compact_error");
	return 0;
}

static int take_boundary(struct take *t, struct error *e)
{
	struct item *it = aside(t, "summary", false);

	(void)e;
	if (!it)
		return 0;
	buf_adds(&it->body, "the conversation so far was made smaller: ");
	html_count(&it->body, json_int_or(t->doc, json_path(t->doc, t->root, "compact_metadata.pre_tokens"), 0));
	buf_adds(&it->body, " → ");
	html_count(&it->body, json_int_or(t->doc, json_path(t->doc, t->root, "compact_metadata.post_tokens"), 0));
	buf_adds(&it->body, " tokens");
	return 0;
}

static int take_switch(struct take *t, struct error *e)
{
	struct item *it = aside(t, "other model", true);

	(void)e;
	value(t, it, "from");
	if (it)
		buf_adds(&it->body, " → ");
	value(t, it, "to");
	return 0;
}

static int take_summary(struct take *t, struct error *e)
{
	(void)e;
	value(t, aside(t, "summary of a round", false), "text");
	return 0;
}

/* ---- hooks ---- */

static int take_hook_started(struct take *t, struct error *e)
{
	struct chapter *c = t->c;

	(void)e;
	if (c->nrunning == sizeof c->running / sizeof *c->running)
		return 0;
	copy_short(c->running[c->nrunning].id, sizeof c->running->id, t->doc, member(t, "hook_id"));
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

static int take_hook_response(struct take *t, struct error *e)
{
	struct chapter *c = t->c;
	struct buf label = BUF_INIT(4096);
	bool bad = !is(t, "outcome", "success");
	int64_t from = t->ms;

	(void)e;
	for (size_t i = 0; i < c->nrunning; i++) {
		if (!json_eq(t->doc, member(t, "hook_id"), c->running[i].id))
			continue;
		from = c->running[i].from;
		c->running[i] = c->running[--c->nrunning];
		break;
	}
	html_value_line(&label, t->doc, member(t, "hook_name"), SHOW_LINE);
	story_span(c, bad ? LOOK_HOOK_BAD : LOOK_HOOK, from, t->ms, &label);
	struct hook_count *h = hook_of(c, buf_str(&label));
	if (h) {
		h->runs++;
		h->failed += bad;
		h->ms += t->ms - from;
	}
	c->asked = c->answering ? c->asked : t->ms;
	struct item *it = aside(t, "hook", bad);
	if (it) {
		it->answered = true; /* nothing to worry about, if it did not fail */
		buf_add(&it->body, buf_str(&label), label.len);
		buf_adds(&it->body, ": ");
		value(t, it, "outcome");
		if (member(t, "quern_error") >= 0) {
			buf_adds(&it->body, ", ");
			value(t, it, "quern_error");
		}
		show_content(&it->result, t->doc, member(t, "stdout"), SHOW_OUTPUT / 4, &it->bytes);
		show_content(&it->result, t->doc, member(t, "stderr"), SHOW_OUTPUT / 4, &it->bytes);
	}
	buf_release(&label);
	return 0;
}

/* ---- the record ---- */

/* The user's words are blocks of the last message that the event tells. */
static int take_history(struct take *t, struct error *e)
{
	struct chapter *c = t->c;
	int list = member(t, "messages"), prompt = member(t, "prompt"), last = -1;

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

static int take_resume(struct take *t, struct error *e)
{
	struct buf *out = &t->c->resumed;
	int list;

	(void)e;
	buf_adds(out, "Goes on from <code>");
	html_value_line(out, t->doc, member(t, "file"), SHOW_LINE);
	buf_adds(out, "</code>");
	if (!json_absent(t->doc, member(t, "from_reason"))) {
		buf_adds(out, ", which had ended with <b>");
		html_value_line(out, t->doc, member(t, "from_reason"), SHOW_LINE);
		buf_adds(out, "</b>");
	}
	list = member(t, "interrupted");
	if (json_size(t->doc, list) > 0)
		buf_addf(out, "; %d interrupted calls", json_size(t->doc, list));
	list = member(t, "changed");
	for (int x = json_first(t->doc, list), n = 0; x >= 0; x = json_next(t->doc, list, x), n++) {
		buf_adds(out, n ? ", " : "; changed since: ");
		html_value_line(out, t->doc, x, SHOW_LINE);
	}
	buf_adds(out, ".");
	return 0;
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
	int (*take)(struct take *t, struct error *e);
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
	int64_t ms = json_int_or(t->doc, member(t, "quern_ms"), -1);

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
		if (r->c.turn.n >= TURN_MOST && turn_flush(r, e))
			return -1;
		return kinds[i].take == take_init ? 0 : kinds[i].take(&t, e);
	}
	return 0;
}
