/* What a hook reads on stdin: one JSON object. */
#include <string.h>

#include "base/json_out.h"
#include "hook/internal.h"

static void key_raw(struct json_out *o, const char *key, const char *json, const char *otherwise)
{
	const char *value = json ? json : otherwise;

	jo_key(o, key);
	jo_raw(o, value, strlen(value));
}

static const char *or_empty(const char *s)
{
	return s ? s : "";
}

static void put_tool(struct json_out *o, const struct hook_call *c)
{
	jo_kstr(o, "tool_name", or_empty(c->tool_name));
	key_raw(o, "tool_input", c->tool_input, "{}");
	if (c->kind == HOOK_PERMISSION_REQUEST)
		key_raw(o, "permission_suggestions", NULL, "[]");
	else
		jo_kstr(o, "tool_use_id", or_empty(c->tool_use_id));
	if (c->kind == HOOK_POST_TOOL_USE)
		key_raw(o, "tool_response", c->tool_response, "null");
	if (c->kind == HOOK_POST_TOOL_USE_FAILURE) {
		jo_kstr(o, "error", or_empty(c->error));
		jo_kbool(o, "is_interrupt", c->is_interrupt);
	}
	if (c->kind == HOOK_POST_TOOL_USE || c->kind == HOOK_POST_TOOL_USE_FAILURE)
		jo_kint(o, "duration_ms", c->duration_ms);
}

static void put_answer(struct json_out *o, const struct hook_call *c)
{
	jo_key(o, "last_assistant_message");
	if (c->answer)
		jo_strn(o, c->answer, c->answer_len);
	else
		jo_str(o, "");
}

static void put_stop(struct json_out *o, const struct hook_call *c)
{
	jo_kbool(o, "stop_hook_active", c->stop_hook_active);
	put_answer(o, c);
	key_raw(o, "background_tasks", NULL, "[]");
	key_raw(o, "session_crons", NULL, "[]");
}

static void put_failure(struct json_out *o, const struct hook_call *c)
{
	jo_kstr(o, "error", c->category ? c->category : "unknown");
	jo_kstr(o, "error_details", or_empty(c->error));
	put_answer(o, c);
}

static void put_start(struct json_out *o, const struct hook_call *c)
{
	jo_kstr(o, "source", or_empty(c->source));
	if (c->model)
		jo_kstr(o, "model", c->model);
}

static void put_compact(struct json_out *o, const struct hook_call *c)
{
	jo_kstr(o, "trigger", or_empty(c->trigger));
	if (c->kind == HOOK_PRE_COMPACT)
		jo_kstr(o, "custom_instructions", "");
	else
		jo_kstr(o, "compact_summary", or_empty(c->summary));
}

static void put_event(struct json_out *o, const struct hook_call *c)
{
	switch (c->kind) {
	case HOOK_SESSION_START:
		put_start(o, c);
		break;
	case HOOK_SESSION_END:
		jo_kstr(o, "reason", or_empty(c->reason));
		break;
	case HOOK_USER_PROMPT_SUBMIT:
		jo_kstr(o, "prompt", or_empty(c->prompt));
		break;
	case HOOK_POST_TOOL_BATCH:
		key_raw(o, "tool_calls", c->tool_calls, "[]");
		break;
	case HOOK_PRE_COMPACT:
	case HOOK_POST_COMPACT:
		put_compact(o, c);
		break;
	case HOOK_STOP:
		put_stop(o, c);
		break;
	case HOOK_STOP_FAILURE:
		put_failure(o, c);
		break;
	case HOOK_VERIFY:
	case HOOK_EVENTS:
		break;
	default:
		put_tool(o, c);
		break;
	}
}

int hook_input(const struct hooks *h, const struct hook_call *call, struct buf *out, struct error *e)
{
	struct json_out o;

	json_out_init(&o, out);
	jo_object(&o);
	jo_kstr(&o, "session_id", or_empty(h->cfg.session_id));
	jo_kstr(&o, "transcript_path", or_empty(h->cfg.transcript_path));
	jo_kstr(&o, "cwd", h->cfg.project_dir);
	if (h->cfg.permission_mode)
		jo_kstr(&o, "permission_mode", h->cfg.permission_mode);
	jo_kstr(&o, "hook_event_name", hook_event_name(call->kind));
	put_event(&o, call);
	jo_end(&o);
	buf_addc(out, '\n'); /* a script that reads a line gets one */
	return buf_check(out, "the input of hooks", e);
}
