/* --replay-tools: what calls returned comes from the events of the record; what these do not tell, see run/answers.h.
 * Records of before tell what hooks of calls said by the conversation alone. */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "run/replay.h"

#define HOOKS_SAY                                                                                                      \
	"<system-reminder>\nHooks of the call " /* as loop/ puts it: ID of NAME:\nTEXT\n</system-reminder>             \
	                                         */
#define SAID_END "\n</system-reminder>"

struct known {
	char *id, *text, *content_json, *structured, *state, *file, *context;
	size_t text_len;
	const char *denied; /* static */
	bool is_error, returned;
	bool started; /* it was one that may change something, and that was told */
};

struct replay_tools {
	struct known *v;
	size_t n, cap;
	bool told_hooks;
};

struct replay_tools *replay_tools_new(void)
{
	return calloc(1, sizeof(struct replay_tools));
}

void replay_tools_free(struct replay_tools *t)
{
	if (!t)
		return;
	for (struct known *k = t->v; k < t->v + t->n; k++) {
		char *texts[] = { k->id, k->text, k->content_json, k->structured, k->state, k->file, k->context };
		for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
			free(texts[i]);
	}
	free(t->v);
	free(t);
}

static struct known *find(const struct replay_tools *t, const char *id)
{
	for (size_t i = t->n; i-- > 0;)
		if (!strcmp(t->v[i].id, id))
			return &t->v[i];
	return NULL;
}

/* The call with that id, which is there then. 1: *k is it, 0: it is no id, -1: no memory. */
static int find_or_add(struct replay_tools *t, const struct json *doc, int tok, struct known **k, struct error *e)
{
	char *id = json_strdup(doc, tok, NULL);

	if (json_type(doc, tok) != JSON_STRING)
		return 0;
	*k = id ? find(t, id) : NULL;
	if (id && !*k && !ARRAY_GROW(t->v, t->n, t->cap)) {
		*k = &t->v[t->n++];
		**k = (struct known){ .id = id };
		return 1;
	}
	free(id);
	return *k ? 1 : error_nomem(e);
}

/* ---- from the events ---- */

static int take_result(struct replay_tools *t, const struct json *doc, int block, struct error *e)
{
	int root = json_root(doc), content = json_get(doc, block, "content");
	struct known *k;
	int rc = find_or_add(t, doc, json_get(doc, block, "tool_use_id"), &k, e);

	if (rc <= 0)
		return rc;
	if (k->returned) /* it is shown again */
		return 0;
	k->returned = true;
	(void)json_bool(doc, json_get(doc, block, "is_error"), &k->is_error);
	k->structured = json_rawdup(doc, json_get(doc, root, "tool_use_result"));
	k->state = json_rawdup(doc, json_get(doc, root, "quern_state"));
	k->file = json_strdup(doc, json_get(doc, root, "quern_output_file"), NULL);
	if (json_type(doc, content) == JSON_ARRAY)
		k->content_json = json_rawdup(doc, content);
	else
		k->text = json_strdup(doc, content, &k->text_len);
	return 0;
}

static int take_denial(struct replay_tools *t, const struct json *doc, struct error *e)
{
	static const char *const reasons[] = { "mode", "rule", "path", "safetyCheck", "command", "hook" };
	int reason = json_get(doc, json_root(doc), "decision_reason_type");
	struct known *k;
	int rc = find_or_add(t, doc, json_get(doc, json_root(doc), "tool_use_id"), &k, e);

	if (rc <= 0)
		return rc;
	k->denied = "mode";
	for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
		if (json_eq(doc, reason, reasons[i]))
			k->denied = reasons[i];
	return 0;
}

static int take_start(struct replay_tools *t, const struct json *doc, struct error *e)
{
	struct known *k;
	int rc = find_or_add(t, doc, json_get(doc, json_root(doc), "tool_use_id"), &k, e);

	if (rc <= 0)
		return rc;
	k->started = true;
	return 0;
}

/* What hooks of calls said, one behind the other. */
static int take_said(struct replay_tools *t, const char *text, struct error *e)
{
	while ((text = strstr(text, HOOKS_SAY)) != NULL) {
		text += strlen(HOOKS_SAY);
		const char *of = strstr(text, " of "), *begin = of ? strstr(of, ":\n") : NULL;
		const char *end = begin ? strstr(begin, SAID_END) : NULL;
		if (!end)
			return 0;
		char *id = strndup(text, (size_t)(of - text));
		struct known *k = id ? find(t, id) : NULL;
		free(id);
		if (k && !k->context && !(k->context = strndup(begin + 2, (size_t)(end - begin - 2))))
			return error_nomem(e);
		text = end;
	}
	return 0;
}

static int take_text(struct replay_tools *t, const struct json *doc, int block, struct error *e)
{
	char *text = json_strdup(doc, json_get(doc, block, "text"), NULL);
	int rc = text ? take_said(t, text, e) : 0;

	free(text);
	return rc;
}

int replay_tools_line(struct replay_tools *t, const struct json *doc, struct error *e)
{
	int root = json_root(doc), subtype = json_get(doc, root, "subtype");

	if (json_eq(doc, subtype, "permission_denied"))
		return take_denial(t, doc, e);
	if (json_eq(doc, subtype, "quern_tool_start"))
		return take_start(t, doc, e);
	if (!json_eq(doc, json_get(doc, root, "type"), "user"))
		return 0;
	int list = json_path(doc, root, "message.content");
	for (int b = json_first(doc, list); b >= 0; b = json_next(doc, list, b)) {
		bool result = json_eq(doc, json_get(doc, b, "type"), "tool_result");
		if (result ? take_result(t, doc, b, e) : take_text(t, doc, b, e))
			return -1;
	}
	return 0;
}

/* ---- for the loop ---- */

static char *copy(const char *s, bool *ok)
{
	char *c = s ? strdup(s) : NULL;

	*ok = *ok && (c || !s);
	return c;
}

int replay_tools_start(struct replay_tools *t, const struct block *use, struct tool_result *now, struct error *e)
{
	static const char none[] = "The record of this run holds no result of this call.";
	const struct known *k = find(t, use->id);
	bool ok = true;

	*now = (struct tool_result){ 0 };
	if (!k || !k->returned) {
		now->text = strdup(none);
		now->text_len = strlen(none);
		now->is_error = true;
		return now->text ? 0 : error_nomem(e);
	}
	now->content_json = copy(k->content_json, &ok);
	now->structured = copy(k->structured, &ok);
	now->state = copy(k->state, &ok);
	now->file = copy(k->file, &ok);
	now->context = copy(k->context, &ok);
	if (!k->content_json && (now->text = malloc(k->text_len + 1)) != NULL) {
		memcpy(now->text, k->text ? k->text : "", k->text ? k->text_len + 1 : 1);
		now->text_len = k->text_len;
	}
	now->ran = k->started;
	now->is_error = k->is_error;
	now->denied = k->denied != NULL;
	now->denied_reason = k->denied;
	if (ok && (now->text || now->content_json))
		return 0;
	tool_result_release(now);
	return error_nomem(e);
}

bool replay_tools_started(const struct replay_tools *t, const char *id)
{
	const struct known *k = find(t, id);

	return k && k->started;
}

bool replay_tools_first_hook(struct replay_tools *t)
{
	bool first = !t->told_hooks;

	t->told_hooks = true;
	return first;
}
