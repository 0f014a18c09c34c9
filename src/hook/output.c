/*
 * A hook's JSON. It is one object or it is refused whole, so that no reader of half of it, or of the second of two,
 * turns an objection into a permission: keys that occur twice, a NUL and what follows the object are errors.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/utf8.h"
#include "hook/internal.h"

static const char blanks[] = " \t\r\n";

struct reader {
	struct run *run;
	struct json doc;
	int top, spec;
	char *why;
	size_t why_size;
	bool bad;
};

static void complain(struct reader *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void complain(struct reader *r, const char *fmt, ...)
{
	va_list ap;

	if (r->bad)
		return;
	r->bad = true;
	va_start(ap, fmt);
	vsnprintf(r->why, r->why_size, fmt, ap);
	va_end(ap);
}

/* The member's token if it is there, not null and of that type. */
static int member(struct reader *r, int object, const char *key, enum json_type type)
{
	static const char *const names[] = { [JSON_BOOL] = "true or false",
		                             [JSON_NUMBER] = "a number",
		                             [JSON_STRING] = "a string",
		                             [JSON_ARRAY] = "an array",
		                             [JSON_OBJECT] = "an object" };
	int tok = json_get(&r->doc, object, key);

	if (json_absent(&r->doc, tok))
		return -1;
	if (json_type(&r->doc, tok) == type)
		return tok;
	complain(r, "%s must be %s", key, names[type]);
	return -1;
}

static bool flag(struct reader *r, int object, const char *key, bool otherwise)
{
	bool value = otherwise;

	json_bool(&r->doc, member(r, object, key, JSON_BOOL), &value);
	return value;
}

/* A text for the conversation or for people; NULL if it is missing or blank. */
static char *text(struct reader *r, int object, const char *key)
{
	int tok = member(r, object, key, JSON_STRING);
	struct buf b = BUF_INIT(BUF_HUGE);
	char *out = NULL;

	if (tok < 0)
		return NULL;
	json_str(&r->doc, tok, &b);
	if (b.failed)
		hooks_nomem(r->run->h);
	else if (!utf8_is_blank(buf_str(&b), b.len))
		out = text_for_model(r->run, b.data, b.len, 0);
	buf_release(&b);
	return out;
}

static char *raw(struct reader *r, int tok)
{
	size_t n = 0;
	const char *p = json_raw(&r->doc, tok, &n);

	return p ? text_clean(r->run->h, p, n) : NULL;
}

/* The place of the member's string in the list; -1 if it is missing, or none of them, which is an error. */
static int choice(struct reader *r, int object, const char *key, const char *const *list)
{
	int tok = member(r, object, key, JSON_STRING);

	for (int i = 0; tok >= 0 && list[i]; i++)
		if (json_eq(&r->doc, tok, list[i]))
			return i;
	if (tok >= 0)
		complain(r, "%s has a value that is not known", key);
	return -1;
}

static void take_permit(struct reader *r, struct said *s, enum permit_rank rank, char *reason)
{
	if ((int)rank < s->rank || (s->permit_text && !reason)) {
		free(reason);
	} else {
		free(s->permit_text);
		s->permit_text = reason;
	}
	if ((int)rank > s->rank)
		s->rank = (int)rank;
	if (rank == RANK_DEFER && s->rank == RANK_DEFER) {
		static const char note[] = "a hook deferred this call, and nobody is there who could decide it later";
		char *noted = NULL;
		if (text_join(&noted, note, "") || text_join(&noted, s->permit_text, ": ") ||
		    text_join(&s->message, note, "\n"))
			hooks_nomem(r->run->h);
		free(s->permit_text);
		s->permit_text = noted;
	}
}

/* The oldest form: decision and reason beside each other. */
static void read_decision(struct reader *r, struct said *s)
{
	static const char *const decisions[] = { "block", "approve", NULL };
	int decision = choice(r, r->top, "decision", decisions);

	if (r->run->kind == HOOK_PRE_TOOL_USE && decision >= 0) {
		take_permit(r, s, decision == 0 ? RANK_DENY : RANK_ALLOW, text(r, r->top, "reason"));
	} else if (decision == 0 && event_rule(r->run->kind)->takes & TAKES_BLOCK) {
		s->verdict = HOOK_SAYS_BLOCK;
		s->text = text(r, r->top, "reason");
	} else {
		member(r, r->top, "reason", JSON_STRING);
	}
}

static void read_pre_tool(struct reader *r, struct said *s)
{
	static const char *const decisions[] = { "allow", "ask", "defer", "deny", NULL };
	int decision = choice(r, r->spec, "permissionDecision", decisions);

	if (decision >= 0)
		take_permit(r, s, (enum permit_rank)(RANK_ALLOW + decision),
		            text(r, r->spec, "permissionDecisionReason"));
	s->new_input = raw(r, member(r, r->spec, "updatedInput", JSON_OBJECT));
}

static void read_permission(struct reader *r, struct said *s)
{
	static const char *const behaviors[] = { "allow", "deny", NULL };
	int decision = member(r, r->spec, "decision", JSON_OBJECT);

	if (decision < 0)
		return;
	switch (choice(r, decision, "behavior", behaviors)) {
	case 0:
		s->rank = RANK_ALLOW;
		s->new_input = raw(r, member(r, decision, "updatedInput", JSON_OBJECT));
		break;
	case 1:
		s->rank = RANK_DENY;
		s->permit_text = text(r, decision, "message");
		s->interrupts = flag(r, decision, "interrupt", false);
		break;
	default:
		complain(r, "decision.behavior is missing");
	}
}

static void read_post_tool(struct reader *r, struct said *s)
{
	int tok = json_get(&r->doc, r->spec, "updatedToolOutput");

	if (json_absent(&r->doc, tok) && !strncmp(hook_value(&r->run->asking->call), "mcp__", 5))
		tok = json_get(&r->doc, r->spec, "updatedMCPToolOutput");
	if (!json_absent(&r->doc, tok))
		s->new_output = raw(r, tok);
}

static void read_specific(struct reader *r, struct said *s)
{
	const char *event = hook_event_name(r->run->kind);
	int name = member(r, r->spec, "hookEventName", JSON_STRING);

	if (name < 0 || !json_eq(&r->doc, name, event)) {
		complain(r, "hookSpecificOutput.hookEventName is not \"%s\"", event);
		return;
	}
	if (event_rule(r->run->kind)->takes & TAKES_CONTEXT)
		s->context = text(r, r->spec, "additionalContext");
	switch (r->run->kind) {
	case HOOK_PRE_TOOL_USE:
		read_pre_tool(r, s);
		break;
	case HOOK_PERMISSION_REQUEST:
		read_permission(r, s);
		break;
	case HOOK_POST_TOOL_USE:
		read_post_tool(r, s);
		break;
	case HOOK_SESSION_START:
		s->first_message = text(r, r->spec, "initialUserMessage");
		break;
	default:
		break;
	}
}

/* Behind what there is to say to the user anyway. */
static void take_message(struct reader *r, struct said *s)
{
	char *message = text(r, r->top, "systemMessage");

	if (text_join(&s->message, message, "\n"))
		hooks_nomem(r->run->h);
	free(message);
}

static void read_all(struct reader *r, struct said *s)
{
	unsigned takes = event_rule(r->run->kind)->takes;

	if (flag(r, r->top, "async", false))
		return; /* it ended after all; what it did in between was its own business */
	read_decision(r, s);
	if (r->spec >= 0)
		read_specific(r, s);
	if (takes & TAKES_MESSAGE)
		take_message(r, s);
	if (!flag(r, r->top, "continue", true) && takes & TAKES_END) {
		free(s->text);
		s->verdict = HOOK_SAYS_END;
		s->text = text(r, r->top, "stopReason");
	}
}

static const char *after_blanks(const char *p, size_t *n)
{
	size_t skip = *n >= 3 && !memcmp(p, "\xEF\xBB\xBF", 3) ? 3 : 0;

	while (skip < *n && memchr(blanks, p[skip], sizeof blanks - 1))
		skip++;
	*n -= skip;
	return p + skip;
}

bool output_is_json(const struct output *out)
{
	size_t n = out->head.len;
	const char *p = after_blanks(buf_str(&out->head), &n);

	return n > 0 && *p == '{';
}

bool output_read(struct run *run, const struct output *out, struct said *said, char *why, size_t why_size)
{
	struct reader r = { .run = run, .doc = JSON_INIT, .why = why, .why_size = why_size };
	struct error e = ERROR_INIT;

	if (out->total > out->head.len) {
		complain(&r, "it is longer than %zu bytes", HOOK_OUTPUT_MAX);
	} else if (json_parse(&r.doc, out->head.data, out->head.len, JSON_REPAIR | JSON_UNIQUE | JSON_BORROW, &e)) {
		complain(&r, "%s", e.msg);
	} else {
		r.spec = member(&r, r.top, "hookSpecificOutput", JSON_OBJECT);
		read_all(&r, said);
	}
	json_release(&r.doc);
	if (r.bad)
		said_release(said);
	return !r.bad;
}

bool output_is_async(const char *p, size_t n)
{
	struct json doc = JSON_INIT;
	bool async = false;

	p = after_blanks(p, &n);
	const char *line = memchr(p, '\n', n);
	if (!n || *p != '{' || json_parse(&doc, p, line ? (size_t)(line - p) : n, JSON_UNIQUE | JSON_BORROW, NULL))
		return false;
	json_bool(&doc, json_get(&doc, json_root(&doc), "async"), &async);
	json_release(&doc);
	return async;
}
