/*
 * A call and those who may object. In a run with hooks of calls its way is: PreToolUse hooks, the rules,
 * PermissionRequest hooks if somebody would have to be asked, the tool itself, PostToolUse or PostToolUseFailure hooks.
 * Each step is taken where the answer to the one before it comes in. To whoever started it the call runs until the last
 * of them is done, so that what its hooks do to the files never overlaps the next call.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/utf8.h"
#include "guard/path_names.h"
#include "hook/hook.h"
#include "tool/internal.h"

#define SHOWN_INPUT 2000
#define SAID_MAX    ((size_t)1 << 20)

enum phase {
	BEFORE,   /* PreToolUse hooks are asked, or the call is judged */
	QUESTION, /* PermissionRequest hooks are; out is the denial if they do not lift it */
	RUNNING,  /* the tool is at work */
	AFTER,    /* PostToolUse hooks are asked; out is what the tool gave */
	OVER      /* out is the result */
};

struct steer {
	enum phase phase;
	bool asking;    /* hooks are asked right now */
	bool permitted; /* PreToolUse hooks allow it */
	bool in_doubt;  /* they want somebody to be asked */
	bool confirmed; /* PermissionRequest hooks have said yes */
	bool cancelled;
	int64_t began;   /* monotonic ms: the tool */
	int64_t until;   /* what is still asked behind a cancel must be done by then */
	char *input;     /* what the call runs with, as hooks see it: a JSON object, paths absolute */
	char *told;      /* text that the hooks which are asked borrow */
	char *why;       /* PreToolUse hooks were in doubt */
	struct buf said; /* for the model */
	char *ends_run;
	char *no_reason; /* to stand in ends_run: that the run ends must not be lost for want of memory */
	struct tool_result out;
	struct reactor_timer timer;
};

static const enum hook_event events[] = { HOOK_PRE_TOOL_USE, HOOK_PERMISSION_REQUEST, HOOK_POST_TOOL_USE,
	                                  HOOK_POST_TOOL_USE_FAILURE };

bool steer_needed(const struct toolbox *t)
{
	for (size_t i = 0; i < sizeof events / sizeof *events; i++)
		if (hooks_any(t->cfg.hooks, events[i]))
			return true;
	return false;
}

void steer_release(struct call *c)
{
	struct steer *s = c->steer;

	if (!s)
		return;
	reactor_timer_cancel(c->t->reactor, &s->timer);
	free(s->input);
	free(s->told);
	free(s->why);
	free(s->ends_run);
	free(s->no_reason);
	buf_release(&s->said);
	tool_result_release(&s->out);
	free(s);
	c->steer = NULL;
}

static void tell_user(const struct call *c, const char *code, const char *fmt, ...)
        __attribute__((format(printf, 3, 4)));
static void tell_user(const struct call *c, const char *code, const char *fmt, ...)
{
	struct buf b = BUF_INIT(16 * 1024);
	char *text = NULL;
	va_list ap;

	if (!c->t->cfg.notice)
		return;
	va_start(ap, fmt);
	int n = vasprintf(&text, fmt, ap);
	va_end(ap);
	if (n >= 0)
		utf8_repair(&b, text, (size_t)n);
	if (c->t->cfg.mask && b.len)
		c->t->cfg.mask(c->t->cfg.ctx, &b);
	if (b.len && !b.failed)
		c->t->cfg.notice(c->t->cfg.ctx, code, buf_str(&b));
	free(n >= 0 ? text : NULL);
	buf_release(&b);
}

/* ---- the input ---- */

/* Where the path leads as the tool will take it. `..` behind a link is not what its text says. */
static bool make_absolute(const struct call *c, const char *path, char out[PATH_TEXT_MAX])
{
	const char *base = c->t->cfg.workspace;
	struct path_names names;
	struct buf b = BUF_INIT((size_t)2 * PATH_TEXT_MAX);
	bool ok = false;

	if (!strstr(path, "..")) {
		buf_addf(&b, "%s/%s", *path == '/' ? "" : base, path);
		ok = !b.failed && path_clean(buf_str(&b), out) == 0;
		buf_release(&b);
		return ok;
	}
	path_names_resolve(&names, base, path);
	if (!names.fault && names.n > 0) {
		ok = true;
		memcpy(out, names.name[names.n - 1], strlen(names.name[names.n - 1]) + 1);
	}
	path_names_release(&names);
	return ok;
}

static void with_path(const struct json *doc, const char *key, const char *path, struct buf *out)
{
	struct json_out o;

	json_out_init(&o, out);
	jo_object(&o);
	for (int k = json_first(doc, json_root(doc)); k >= 0; k = json_next(doc, json_root(doc), k)) {
		size_t n;
		char *name = json_strdup(doc, k, NULL);
		jo_key(&o, name ? name : "");
		if (name && strcmp(name, key) == 0) {
			jo_str(&o, path);
		} else {
			const char *raw = json_raw(doc, json_value_of(doc, k), &n);
			jo_raw(&o, raw, n);
		}
		out->failed |= !name;
		free(name);
	}
	jo_end(&o);
}

/* The input as hooks see it. -1: no memory. */
static int set_input(struct call *c, const char *json)
{
	bool has_path = c->row->subject == SUBJECT_READ || c->row->subject == SUBJECT_EDIT;
	const char *key = has_path ? c->row->params[c->row->subject_at].key : NULL;
	struct buf b = BUF_INIT(BUF_HUGE);
	struct json doc = JSON_INIT;
	struct error e = ERROR_INIT;
	char path[PATH_TEXT_MAX];

	if (json_parse(&doc, json, strlen(json), JSON_REPAIR | JSON_BORROW, &e) < 0)
		return -1;
	char *given = key ? json_strdup(&doc, json_get(&doc, json_root(&doc), key), NULL) : NULL;
	if (given && make_absolute(c, given, path) && strcmp(given, path) != 0)
		with_path(&doc, key, path, &b);
	else
		buf_add(&b, doc.text, doc.len);
	free(given);
	json_release(&doc);
	free(c->steer->input);
	c->steer->input = b.failed ? NULL : buf_take(&b, NULL);
	buf_release(&b);
	return c->steer->input ? 0 : -1;
}

/* What hooks put in the place of the input is input as any other: it is checked, and judged. */
static bool take_input(struct call *c, const struct hook_answer *a, struct tool_result *now)
{
	struct buf why = BUF_INIT(64 * 1024);
	const char *in = a->new_input, *event = hook_event_name(a->kind);
	bool ok = true;

	if (!in)
		return true;
	if (!call_take_input(c, in, &why)) {
		ok = false;
		result_use_error(c->t, now,
		                 "Not run: a %s hook replaced the input of %s by one that cannot be used: %s", event,
		                 c->row->name, buf_str(&why));
	} else if (set_input(c, in) < 0) {
		ok = false;
		result_use_error(c->t, now, "out of memory");
	} else {
		size_t n = strlen(in), shown = n > SHOWN_INPUT ? utf8_floor(in, n, SHOWN_INPUT) : n;
		tell_user(c, "hook_input", "a %s hook replaced the input of %s (%s): %.*s%s", event, c->row->name,
		          c->id, (int)shown, in, shown < n ? "..." : "");
	}
	buf_release(&why);
	return ok;
}

/* ---- asking ---- */

static int ask(struct call *c, struct hook_call *about, hooks_done done, struct error *e)
{
	about->tool_name = c->row->name;
	about->tool_use_id = c->id;
	about->tool_input = c->steer->input;
	int rc = hooks_ask(c->t->cfg.hooks, about, done, c, e);
	c->steer->asking = rc == 1;
	return rc;
}

static void say(struct steer *s, enum hook_event kind, const char *text)
{
	if (text && *text)
		buf_addf(&s->said, "%s%s: %s", s->said.len ? "\n" : "", hook_event_name(kind), text);
}

static void end_run(struct steer *s, const char *why)
{
	if (s->ends_run)
		return;
	s->ends_run = why && *why ? strdup(why) : NULL;
	if (!s->ends_run) {
		s->ends_run = s->no_reason;
		s->no_reason = NULL;
	}
}

/* What hooks of every kind may say. */
static void hear(struct call *c, const struct hook_answer *a)
{
	struct steer *s = c->steer;

	s->asking = false;
	free(s->told);
	s->told = NULL;
	say(s, a->kind, a->context);
	if (a->verdict == HOOK_SAYS_END)
		end_run(s, a->text);
}

static void refuse(struct call *c, const char *how, const char *why, struct tool_result *now)
{
	result_textf(c->t, now, true, "Permission to use %s has been denied%s%s%s", c->row->name, how, why ? ": " : "",
	             why ? why : "");
	now->denied = true;
	now->denied_reason = "hook";
}

/* ---- the way, backwards: each step knows the next ---- */

static void on_timer(void *ctx)
{
	struct call *c = ctx;
	struct steer *s = c->steer;
	struct tool_result out = s->out;

	if (s->asking)
		hooks_cancel(c->t->cfg.hooks, c, 0);
	s->asking = false;
	s->phase = OVER;
	s->out = (struct tool_result){ 0 };
	call_answer(c, &out);
}

static void replace_output(struct call *c, const char *json)
{
	if (!steer_new_output(c, &c->steer->out, json))
		tell_user(c, "hook_output",
		          "a PostToolUse hook's updatedToolOutput for %s (%s) is ignored: it must be a string, or the "
		          "tool's own object with a text in it",
		          c->row->name, c->id);
}

static void on_after(void *ctx, const struct hook_answer *a)
{
	struct call *c = ctx;

	hear(c, a);
	if (a->verdict == HOOK_SAYS_BLOCK)
		say(c->steer, a->kind, a->text ? a->text : "a hook objects, and gave no reason");
	if (a->new_output && a->kind == HOOK_POST_TOOL_USE)
		replace_output(c, a->new_output);
	reactor_timer_cancel(c->t->reactor, &c->steer->timer);
	on_timer(c);
}

/* The structured output, else the text. */
static char *response_of(const struct tool_result *out)
{
	struct buf b = BUF_INIT(BUF_HUGE);

	if (out->structured)
		return strdup(out->structured);
	json_quote(&b, out->text ? out->text : "", out->text_len);
	char *s = b.failed ? NULL : buf_take(&b, NULL);
	buf_release(&b);
	return s;
}

/* What the model is told, without the mark of an error that it made itself. */
static char *error_of(const struct tool_result *out)
{
	static const char begin[] = "<tool_use_error>", end[] = "</tool_use_error>";
	const char *text = out->text ? out->text : "";
	size_t n = strlen(text), a = sizeof begin - 1, z = sizeof end - 1;

	if (n < a + z || memcmp(text, begin, a) != 0 || strcmp(text + n - z, end) != 0)
		return strdup(text);
	return strndup(text + a, n - a - z);
}

/* As hooks_ask. */
static int ask_after(struct call *c, const struct tool_result *out, struct error *e)
{
	struct steer *s = c->steer;
	struct hook_call about = { .kind = out->is_error ? HOOK_POST_TOOL_USE_FAILURE : HOOK_POST_TOOL_USE,
		                   .duration_ms = clock_mono_ms() - s->began,
		                   .is_interrupt = s->cancelled };

	if (!hooks_any(c->t->cfg.hooks, about.kind))
		return 0;
	s->told = out->is_error ? error_of(out) : response_of(out);
	if (!s->told)
		return error_nomem(e);
	*(out->is_error ? &about.error : &about.tool_response) = s->told;
	return ask(c, &about, on_after, e);
}

bool steer_holds(struct call *c, struct tool_result *out)
{
	struct steer *s = c->steer;
	struct error e = ERROR_INIT;
	int rc = s->phase == RUNNING && !out->denied ? ask_after(c, out, &e) : 0;

	s->phase = OVER;
	if (rc == 1) {
		s->phase = AFTER;
		s->out = *out;
		memset(out, 0, sizeof *out);
		if (s->cancelled)
			reactor_timer_set(c->t->reactor, &s->timer, s->until);
		return true;
	}
	/* the run does not go on without having heard them */
	if (rc < 0)
		end_run(s, e.msg);
	else if (s->said.failed)
		end_run(s, "out of memory");
	out->context = s->said.len && !s->said.failed ? buf_take(&s->said, NULL) : NULL;
	out->ends_run = s->ends_run;
	s->ends_run = NULL;
	return false;
}

/* As toolbox_start. */
static int launch(struct call *c, struct tool_result *now, struct error *e)
{
	if (!call_is_there(c, now))
		return 0;
	c->steer->phase = RUNNING;
	c->steer->began = clock_mono_ms();
	return call_launch(c, now, e);
}

static int judge(struct call *c, struct tool_result *now, struct error *e);

static void go_on(struct call *c)
{
	struct tool_result now = { 0 };
	struct error e = ERROR_INIT;
	int rc = judge(c, &now, &e);

	if (rc < 0)
		result_use_error(c->t, &now, "%s could not be run: %s", c->row->name, e.msg);
	if (rc != 1)
		call_answer(c, &now);
}

static void on_question(void *ctx, const struct hook_answer *a)
{
	struct call *c = ctx;
	struct steer *s = c->steer;
	struct tool_result now = s->out;

	s->out = (struct tool_result){ 0 };
	hear(c, a);
	if (a->permit == HOOK_ALLOWS && a->verdict != HOOK_SAYS_END) {
		tool_result_release(&now);
		s->phase = BEFORE;
		s->confirmed = true;
		if (take_input(c, a, &now)) {
			go_on(c);
			return;
		}
	} else if (a->permit == HOOK_DENIES) {
		tool_result_release(&now);
		refuse(c, " by a hook", a->permit_text, &now);
		if (a->interrupts)
			end_run(s, a->permit_text);
	}
	call_answer(c, &now);
}

/* May it run as the rules have it, and as hooks that were asked before it? Then it does. As toolbox_start. */
static int judge(struct call *c, struct tool_result *now, struct error *e)
{
	struct hook_call about = { .kind = HOOK_PERMISSION_REQUEST };
	struct steer *s = c->steer;

	c->lift = s->confirmed ? LIFT_ALL : s->permitted ? LIFT_QUESTION : LIFT_NOTHING;
	if (call_permitted(c, s->input, now)) {
		if (!s->in_doubt || s->confirmed)
			return launch(c, now, e);
		refuse(c, ": a hook wants somebody to be asked, and nobody is there", s->why, now);
		c->may_ask = permissions_mode(c->t->cfg.permissions) != MODE_DONT_ASK;
	}
	if (!c->may_ask || s->confirmed)
		return 0;
	int rc = ask(c, &about, on_question, e);
	if (rc == 1) {
		s->phase = QUESTION;
		s->out = *now;
		*now = (struct tool_result){ 0 };
	} else if (rc < 0) {
		tool_result_release(now);
	}
	return rc;
}

static void on_before(void *ctx, const struct hook_answer *a)
{
	struct call *c = ctx;
	struct steer *s = c->steer;
	struct tool_result now = { 0 };

	hear(c, a);
	s->permitted = a->permit == HOOK_ALLOWS;
	s->in_doubt = a->permit == HOOK_ASKS;
	s->why = s->in_doubt && a->permit_text ? strdup(a->permit_text) : NULL;
	if (a->permit == HOOK_DENIES) {
		refuse(c, " by a hook", a->permit_text, &now);
	} else if (a->verdict == HOOK_SAYS_END) {
		result_use_error(c->t, &now, "Not run: a hook ended the run");
	} else if (take_input(c, a, &now)) {
		go_on(c);
		return;
	}
	call_answer(c, &now);
}

int steer_start(struct call *c, const char *input, struct tool_result *now, struct error *e)
{
	struct hook_call about = { .kind = HOOK_PRE_TOOL_USE };
	struct steer *s = calloc(1, sizeof *s);

	if (!s)
		return error_nomem(e);
	c->steer = s;
	buf_init(&s->said, SAID_MAX);
	s->timer.fn = on_timer;
	s->timer.ctx = c;
	s->no_reason = strdup("no reason was given");
	if (!s->no_reason || set_input(c, input) < 0)
		return error_nomem(e);
	int rc = ask(c, &about, on_before, e);
	return rc ? rc : judge(c, now, e);
}

void steer_cancel(struct call *c, int64_t grace_ms)
{
	struct steer *s = c->steer;

	s->cancelled = true;
	s->until = clock_mono_ms() + grace_ms;
	if (s->phase == RUNNING)
		supervisor_kill(c->t->supervisor, c->child, grace_ms);
	if (!s->asking)
		return; /* it is over already, or the tool's end is waited for */
	hooks_cancel(c->t->cfg.hooks, c, grace_ms);
	s->asking = false;
	if (s->phase != AFTER) {
		tool_result_release(&s->out);
		result_textf(c->t, &s->out, true, "[Request interrupted by user for tool use]");
	}
	reactor_timer_set(c->t->reactor, &s->timer, clock_mono_ms()); /* not from here: the caller may be in a loop */
}
