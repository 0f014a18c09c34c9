#include "run/answers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/json_out.h"
#include "run/cutoff.h"
#include "run/replay.h"

struct line_told {
	char *what, *key, *line;
};

struct answers {
	struct line_told *v;
	size_t n, cap;
	size_t first; /* none before it is left */
};

/* ---- a record ---- */

static void begin(struct json_out *o, struct buf *line, const struct world *w, const char *what, const char *key)
{
	json_out_init(o, line);
	jo_object(o);
	jo_kint(o, "run", world_record_run(w));
	jo_kstr(o, "what", what);
	jo_kstr(o, "key", key);
}

static void end(struct world *w, struct json_out *o, struct buf *line)
{
	jo_end(o);
	buf_addc(line, '\n');
	world_record_answer(w, line);
	buf_release(line);
}

static void add_flag(struct json_out *o, const char *key, bool on)
{
	if (on)
		jo_kbool(o, key, true);
}

static void add_text(struct json_out *o, const char *key, const char *text)
{
	if (text)
		jo_kstr(o, key, text);
}

static void add_moment(struct json_out *o, const struct moment *at)
{
	jo_kint(o, "lines", at->lines);
	if (at->bytes >= 0)
		jo_kint(o, "bytes", at->bytes);
}

void answers_tell_tool(struct world *w, const char *id, const struct tool_result *res, const struct moment *at)
{
	struct buf line = BUF_INIT(BUF_HUGE);
	struct json_out o;

	if (!w->recording)
		return;
	begin(&o, &line, w, "tool", id);
	add_flag(&o, "later", at);
	if (at)
		add_moment(&o, at);
	add_flag(&o, "ran", res->ran);
	add_flag(&o, "invalid", res->invalid);
	add_flag(&o, "cancels", res->cancels_siblings);
	add_text(&o, "ends_run", res->ends_run);
	add_text(&o, "context", res->context);
	end(w, &o, &line);
}

void answers_tell_start(struct world *w, const char *id)
{
	struct moment here = cutoff_here(w, -1);
	struct buf line = BUF_INIT(BUF_HUGE);
	struct json_out o;

	if (!w->recording)
		return;
	begin(&o, &line, w, "start", id);
	add_moment(&o, &here);
	end(w, &o, &line);
}

void answers_tell_hook(struct world *w, enum hook_event kind, const struct hook_answer *a)
{
	struct buf line = BUF_INIT(BUF_HUGE);
	struct json_out o;

	if (!w->recording)
		return;
	begin(&o, &line, w, "hook", hook_event_name(kind));
	add_flag(&o, "nobody", !a);
	if (a) {
		jo_kint(&o, "verdict", a->verdict);
		add_text(&o, "text", a->text);
		add_text(&o, "context", a->context);
		add_text(&o, "first_message", a->first_message);
	}
	end(w, &o, &line);
}

void answers_tell_hook_ended(struct world *w, enum hook_event kind)
{
	struct buf line = BUF_INIT(BUF_HUGE);
	struct json_out o;

	if (!w->recording)
		return;
	begin(&o, &line, w, "hook", hook_event_name(kind));
	add_flag(&o, "ended", true);
	end(w, &o, &line);
}

static void tell_text(struct world *w, const char *what, const char *key, const char *p, size_t n, const char *file)
{
	struct buf line = BUF_INIT(BUF_HUGE);
	struct json_out o;

	if (!w->recording)
		return;
	begin(&o, &line, w, what, key);
	jo_key(&o, "text");
	jo_strn(&o, p, n);
	add_text(&o, "file", file);
	end(w, &o, &line);
}

void answers_tell_text(struct world *w, const char *what, const char *key, const struct buf *text)
{
	tell_text(w, what, key, buf_str(text), text->len, NULL);
}

/* ---- a replay ---- */

void answers_free(struct world *w)
{
	struct answers *a = w->answers;

	for (size_t i = 0; a && i < a->n; i++) {
		free(a->v[i].what);
		free(a->v[i].key);
		free(a->v[i].line);
	}
	if (a)
		free(a->v);
	free(a);
	w->answers = NULL;
}

bool answers_known(const struct world *w)
{
	return w->answers != NULL;
}

static int add(struct answers *a, const struct json *doc, const char *p, size_t n)
{
	struct line_told x = { json_strdup(doc, json_get(doc, json_root(doc), "what"), NULL),
		               json_strdup(doc, json_get(doc, json_root(doc), "key"), NULL), strndup(p, n) };

	if (x.what && x.key && x.line && !ARRAY_GROW(a->v, a->n, a->cap)) {
		a->v[a->n++] = x;
		return 0;
	}
	bool none = !x.what || !x.key;
	free(x.what);
	free(x.key);
	free(x.line);
	return none ? 0 : -1;
}

static int take_line(struct world *w, const char *p, size_t n, struct error *e)
{
	struct json doc = JSON_INIT;
	int rc = 0;

	if (!n || json_parse(&doc, p, n, JSON_BORROW, NULL))
		return 0;
	if (json_int_or(&doc, json_get(&doc, json_root(&doc), "run"), 0) == 1)
		rc = add(w->answers, &doc, p, n);
	json_release(&doc);
	return rc ? error_nomem(e) : 0;
}

int answers_read(struct world *w, const char *text, size_t n, struct error *e)
{
	const char *end = text + n;

	if (!w->answers && !(w->answers = calloc(1, sizeof *w->answers)))
		return error_nomem(e);
	while (text < end) {
		const char *nl = memchr(text, '\n', (size_t)(end - text));
		size_t k = (size_t)((nl ? nl : end) - text);
		if (take_line(w, text, k, e))
			return -1;
		text += k + 1;
	}
	return 0;
}

/* The next of that kind; SIZE_MAX: there is none. */
static size_t find(const struct answers *a, const char *what, const char *key)
{
	for (size_t i = a ? a->first : 0; a && i < a->n; i++)
		if (a->v[i].line && !strcmp(a->v[i].what, what) && !strcmp(a->v[i].key, key))
			return i;
	return SIZE_MAX;
}

/* It is not there any more then: its line, owned by the caller. NULL: there is none. */
static char *take(struct world *w, const char *what, const char *key)
{
	struct answers *a = w->answers;
	size_t i = find(a, what, key);

	if (i == SIZE_MAX)
		return NULL;
	char *line = a->v[i].line;
	a->v[i].line = NULL;
	while (a->first < a->n && !a->v[a->first].line)
		a->first++;
	return line;
}

static bool flag(const struct json *doc, const char *key)
{
	bool on = false;

	return json_bool(doc, json_get(doc, json_root(doc), key), &on) && on;
}

static char *text_of(const struct json *doc, const char *key, size_t *n)
{
	return json_strdup(doc, json_get(doc, json_root(doc), key), n);
}

static void replace(char **at, char *now)
{
	free(*at);
	*at = now;
}

static struct moment moment_of(const struct json *doc)
{
	int root = json_root(doc);
	int64_t lines = json_int_or(doc, json_get(doc, root, "lines"), 0);

	return (struct moment){ lines, json_int_or(doc, json_get(doc, root, "bytes"), lines ? -1 : 0) };
}

bool answers_take_start(struct world *w, const char *id, struct moment *at, size_t *turn)
{
	struct json doc = JSON_INIT;
	char *line;
	bool told = false;

	*turn = find(w->answers, "start", id);
	line = take(w, "start", id);
	if (line && !json_parse(&doc, line, strlen(line), JSON_BORROW, NULL)) {
		*at = moment_of(&doc);
		told = true;
	}
	json_release(&doc);
	free(line);
	return told;
}

bool answers_comes_later(const struct world *w, const char *id, struct moment *at, size_t *turn)
{
	const struct answers *a = w->answers;
	size_t i = find(a, "tool", id);
	struct json doc = JSON_INIT;
	bool later = false;

	if (i < SIZE_MAX && !json_parse(&doc, a->v[i].line, strlen(a->v[i].line), JSON_BORROW, NULL)) {
		later = flag(&doc, "later");
		*at = moment_of(&doc);
		*turn = i;
	}
	json_release(&doc);
	return later;
}

int answers_take_tool(struct world *w, const char *id, struct tool_result *res, struct error *e)
{
	char *line = take(w, "tool", id), *whole = take(w, "whole", id), *text = NULL;
	struct json doc = JSON_INIT;
	size_t n = 0;

	if (line && !json_parse(&doc, line, strlen(line), JSON_BORROW, NULL)) {
		res->ran = flag(&doc, "ran");
		res->invalid = flag(&doc, "invalid");
		res->cancels_siblings = flag(&doc, "cancels");
		replace(&res->ends_run, text_of(&doc, "ends_run", NULL));
		replace(&res->context, text_of(&doc, "context", NULL));
		json_release(&doc);
	}
	if (whole && !json_parse(&doc, whole, strlen(whole), JSON_BORROW, e)) {
		text = text_of(&doc, "text", &n);
		json_release(&doc);
	}
	if (text) {
		replace(&res->text, text);
		res->text_len = n;
	}
	free(line);
	free(whole);
	return 0;
}

int answers_take_hook(struct world *w, enum hook_event kind, struct error *e)
{
	static const enum hook_verdict verdicts[] = { HOOK_SAYS_PASS, HOOK_SAYS_BLOCK, HOOK_SAYS_END };
	char *line = take(w, "hook", hook_event_name(kind));
	struct json doc = JSON_INIT;

	if (!line) { /* none came before the run was ended */
		if (cutoff_awaits_hook(w))
			cutoff_hooks_asked(w);
		return cutoff_awaits_hook(w);
	}
	int rc = json_parse(&doc, line, strlen(line), JSON_BORROW, e);
	if (!rc && flag(&doc, "ended")) {
		cutoff_hooks_asked(w);
		rc = 1;
	} else if (!rc && !flag(&doc, "nobody")) {
		int64_t verdict = json_int_or(&doc, json_get(&doc, json_root(&doc), "verdict"), 0);
		char *texts[] = { text_of(&doc, "text", NULL), text_of(&doc, "context", NULL),
			          text_of(&doc, "first_message", NULL) };
		const struct hook_answer a = { .kind = kind,
			                       .verdict = verdicts[verdict > 0 && verdict < 3 ? verdict : 0],
			                       .text = texts[0],
			                       .context = texts[1],
			                       .first_message = texts[2] };
		cutoff_hooks_asked(w);
		world_on_hook(w, &a);
		for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
			free(texts[i]);
		rc = 1;
	}
	json_release(&doc);
	free(line);
	return rc;
}

int answers_take_text(struct world *w, const char *what, const char *key, struct buf *out, struct error *e)
{
	char *line = take(w, what, key);
	struct json doc = JSON_INIT;
	int rc = line ? json_parse(&doc, line, strlen(line), JSON_BORROW, e) : 0;

	if (line && !rc)
		rc = json_str(&doc, json_get(&doc, json_root(&doc), "text"), out) ? error_nomem(e) : 1;
	json_release(&doc);
	free(line);
	return rc;
}

/* ---- results that are too long ---- */

/* 1: the record has told it. */
static int take_cut(struct world *w, const char *id, struct tool_result *res)
{
	char *line = take(w, "cut", id);
	struct json doc = JSON_INIT;
	int rc = 0;

	if (line && !json_parse(&doc, line, strlen(line), JSON_BORROW, NULL)) {
		size_t n = 0;
		char *text = text_of(&doc, "text", &n), *file = text_of(&doc, "file", NULL);
		if (text) {
			replace(&res->text, text);
			replace(&res->content_json, NULL);
			replace(&res->file, file);
			res->text_len = n;
			rc = 1;
		} else {
			free(file);
		}
		json_release(&doc);
	}
	free(line);
	return rc;
}

int answers_shorten(struct world *w, const char *id, struct tool_result *res, size_t allowed)
{
	struct buf whole = BUF_INIT(BUF_HUGE);
	bool picture = res->content_json != NULL; /* the line of the result tells what it was, or the note alone */

	if (world_replay_tools(w) && take_cut(w, id, res))
		return 0;
	if (w->recording && !picture && res->text)
		buf_add(&whole, res->text, res->text_len);
	int rc = toolbox_shorten(w->toolbox, id, res, allowed);
	if (!rc && w->recording && !whole.failed) {
		if (!picture)
			tell_text(w, "whole", id, buf_str(&whole), whole.len, NULL);
		tell_text(w, "cut", id, res->text ? res->text : "", res->text_len, res->file);
	}
	buf_release(&whole);
	return rc;
}
