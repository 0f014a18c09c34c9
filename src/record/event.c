/* What each kind of event holds. */
#include "record/line.h"
#include "record/resume.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

static const char *or_empty(const char *s)
{
	return s ? s : "";
}

static void key_strings(struct json_out *o, const char *key, const char *const *list)
{
	jo_key(o, key);
	jo_array(o);
	for (; list && *list; list++)
		jo_str(o, *list);
	jo_end(o);
}

static void key_raw(struct json_out *o, const char *key, const char *json)
{
	jo_key(o, key);
	jo_raw(o, json, strlen(json));
}

static void key_empty_array(struct json_out *o, const char *key)
{
	key_strings(o, key, NULL);
}

void line_usage(struct json_out *o, const struct usage *u)
{
	static const struct usage unknown = USAGE_UNKNOWN;

	if (!u)
		u = &unknown;
	jo_object(o);
	jo_kint(o, "input_tokens", told(u->input));
	jo_kint(o, "output_tokens", told(u->output));
	jo_kint(o, "cache_creation_input_tokens", told(u->cache_creation));
	jo_kint(o, "cache_read_input_tokens", told(u->cache_read));
	if (u->creation_5m >= 0 || u->creation_1h >= 0) {
		jo_key(o, "cache_creation");
		jo_object(o);
		jo_kint(o, "ephemeral_5m_input_tokens", told(u->creation_5m));
		jo_kint(o, "ephemeral_1h_input_tokens", told(u->creation_1h));
		jo_end(o);
	}
	if (u->web_searches >= 0) {
		jo_key(o, "server_tool_use");
		jo_object(o);
		jo_kint(o, "web_search_requests", u->web_searches);
		jo_end(o);
	}
	if (u->fast)
		jo_kstr(o, "speed", "fast");
	jo_end(o);
}

void line_audit(struct json_out *o, const struct event_audit *a)
{
	if (a->job)
		jo_kstr(o, "job_sha256", a->job);
	if (a->system)
		jo_kstr(o, "system_sha256", a->system);
	if (a->tools)
		jo_kstr(o, "tools_sha256", a->tools);
}

static void put_sandbox(struct json_out *o, const struct event_sandbox *s)
{
	if (!s->mode)
		return;
	jo_key(o, "quern_sandbox");
	jo_object(o);
	jo_kstr(o, "mode", s->mode);
	jo_kbool(o, "network", s->network);
	key_strings(o, "enforced", s->enforced);
	key_strings(o, "missing", s->missing);
	jo_kint(o, "landlock_abi", s->landlock_abi);
	jo_kbool(o, "loop_confined", s->loop_confined);
	jo_end(o);
}

/* In UTC, to the millisecond: what quern_ms is added to. */
static void put_started(struct json_out *o, int64_t wall_ms)
{
	time_t seconds = (time_t)(wall_ms / 1000);
	struct tm tm;
	char day[32], text[48];

	if (wall_ms <= 0 || !gmtime_r(&seconds, &tm) || !strftime(day, sizeof day, "%Y-%m-%dT%H:%M:%S", &tm))
		return;
	snprintf(text, sizeof text, "%s.%03dZ", day, (int)(wall_ms % 1000));
	jo_kstr(o, "quern_started", text);
}

static void write_init(struct line *l)
{
	const struct event_init *v = &l->ev->u.init;
	struct json_out *o = &l->out;

	jo_kstr(o, "cwd", or_empty(v->cwd));
	jo_kstr(o, "model", or_empty(v->model));
	jo_kstr(o, "permissionMode", or_empty(v->permission_mode));
	jo_kstr(o, "apiKeySource", v->api_key_source ? v->api_key_source : "none");
	key_strings(o, "tools", v->tools);
	key_strings(o, "tools_withheld", v->tools_withheld);
	if (v->attached)
		key_strings(o, "quern_attached", v->attached);
	key_empty_array(o, "mcp_servers");
	key_empty_array(o, "slash_commands");
	key_empty_array(o, "skills");
	key_empty_array(o, "plugins");
	jo_kstr(o, "output_style", "default");
	jo_kstr(o, "claude_code_version", STREAM_VERSION);
	jo_kstr(o, "quern_version", l->version);
	jo_kstr(o, "quern_provider", or_empty(v->provider));
	put_started(o, v->started_wall_ms);
	put_sandbox(o, &v->sandbox);
	if (v->audit.job || v->audit.system || v->audit.tools) {
		jo_key(o, "quern_audit");
		jo_object(o);
		line_audit(o, &v->audit);
		jo_end(o);
	}
	if (v->environment)
		jo_kstr(o, "quern_environment", v->environment);
}

/* What stands for a block whose strings could not be cut enough: the parts that pairing and consumers need. */
static void write_bare_block(struct json_out *o, const struct block *b)
{
	jo_object(o);
	switch (b->kind) {
	case BLOCK_TOOL_USE:
		jo_kstr(o, "type", "tool_use");
		jo_kstr(o, "id", or_empty(b->id));
		jo_kstr(o, "name", or_empty(b->name));
		jo_key(o, "input");
		jo_object(o);
		jo_end(o);
		break;
	case BLOCK_TOOL_RESULT:
		jo_kstr(o, "type", "tool_result");
		jo_kstr(o, "tool_use_id", or_empty(b->id));
		jo_kstr(o, "content", "");
		jo_kbool(o, "is_error", b->is_error);
		break;
	default:
		jo_kstr(o, "type", "quern_cut");
	}
	jo_end(o);
}

static void write_block(struct line *l, const struct block *b)
{
	if (l->bare)
		write_bare_block(&l->out, b);
	else
		jo_raw(&l->out, b->json, b->json_len);
}

static void write_assistant(struct line *l)
{
	const struct event_assistant *v = &l->ev->u.assistant;
	struct json_out *o = &l->out;

	jo_key(o, "message");
	jo_object(o);
	jo_kstr(o, "id", or_empty(v->message_id));
	jo_kstr(o, "type", "message");
	jo_kstr(o, "role", "assistant");
	jo_kstr(o, "model", or_empty(v->model));
	jo_key(o, "content");
	jo_array(o);
	if (v->block) {
		write_block(l, v->block);
	} else if (v->text) {
		jo_object(o);
		jo_kstr(o, "type", "text");
		jo_kstr(o, "text", v->text);
		jo_end(o);
	}
	jo_end(o);
	jo_kstr(o, "stop_reason", v->stop_reason);
	jo_kstr(o, "stop_sequence", v->stop_sequence);
	jo_key(o, "usage");
	line_usage(o, v->usage);
	jo_end(o);
	jo_knull(o, "parent_tool_use_id");
	if (v->error)
		jo_kstr(o, "error", v->error);
}

static void put_call(struct json_out *o, const struct event_call *v)
{
	jo_key(o, "quern_call");
	jo_object(o);
	if (v->say)
		jo_kstr(o, "say", v->say);
	if (v->ends_run)
		jo_kstr(o, "ends_run", v->ends_run);
	if (v->unusable)
		jo_kbool(o, "unusable", true);
	jo_end(o);
}

static void write_user(struct line *l)
{
	const struct event_user *v = &l->ev->u.user;
	struct json_out *o = &l->out;

	jo_key(o, "message");
	jo_object(o);
	jo_kstr(o, "role", "user");
	jo_key(o, "content");
	jo_array(o);
	if (v->block)
		write_block(l, v->block);
	for (size_t i = 0; v->message && i < v->message->n; i++)
		write_block(l, v->message->blocks[i]);
	jo_end(o);
	jo_end(o);
	jo_knull(o, "parent_tool_use_id");
	if (v->structured && !l->bare)
		key_raw(o, "tool_use_result", v->structured);
	if (v->state && !l->bare)
		key_raw(o, "quern_state", v->state);
	if (v->call.say || v->call.ends_run || v->call.unusable)
		put_call(o, &v->call);
	if (v->synthetic)
		jo_kbool(o, "isSynthetic", true);
	if (v->replay)
		jo_kbool(o, "isReplay", true);
	if (v->file)
		jo_kstr(o, "quern_output_file", v->file);
}

static void write_stream(struct line *l)
{
	static const char cut[] = "{\"type\":\"quern_cut\"}";
	const struct event *ev = l->ev;

	jo_key(&l->out, "event");
	if (l->bare)
		jo_raw(&l->out, cut, sizeof cut - 1);
	else
		jo_raw(&l->out, ev->stream_json, ev->stream_len);
	jo_knull(&l->out, "parent_tool_use_id");
}

static void write_api_retry(struct line *l)
{
	const struct event_retry *v = &l->ev->u.retry;
	struct json_out *o = &l->out;

	jo_kint(o, "attempt", v->attempt);
	jo_kint(o, "max_retries", v->max_retries);
	jo_kint(o, "retry_delay_ms", v->delay_ms);
	if (v->error_status)
		jo_kint(o, "error_status", v->error_status);
	else
		jo_knull(o, "error_status");
	jo_kstr(o, "error", v->category ? v->category : "unknown");
	jo_kstr(o, "message", or_empty(v->text));
	if (v->overloads)
		jo_kint(o, "overloads", v->overloads);
	if (!v->model)
		return;
	jo_kstr(o, "model", v->model);
	jo_key(o, "usage");
	line_usage(o, v->usage);
}

static void write_permission_denied(struct line *l)
{
	const struct event_denied *v = &l->ev->u.denied;
	struct json_out *o = &l->out;

	jo_kstr(o, "tool_name", or_empty(v->tool_name));
	jo_kstr(o, "tool_use_id", or_empty(v->tool_use_id));
	if (v->reason_type)
		jo_kstr(o, "decision_reason_type", v->reason_type);
	jo_kstr(o, "message", or_empty(v->message));
}

static void write_transition(struct line *l)
{
	const struct event_transition *v = &l->ev->u.transition;
	struct json_out *o = &l->out;

	jo_kstr(o, "reason", or_empty(v->reason));
	jo_kint(o, "turn", v->turn);
	jo_kstr(o, "from", v->from);
	if (v->tokens >= 0)
		jo_kint(o, "tokens", v->tokens);
	else
		jo_knull(o, "tokens");
	if (v->source)
		jo_kstr(o, "source", v->source);
}

static void write_tombstone(struct line *l)
{
	const struct event_tombstone *v = &l->ev->u.tombstone;
	struct json_out *o = &l->out;

	jo_key(o, "uuids");
	jo_array(o);
	for (size_t i = 0; i < v->n && !(l->bare && i >= BARE_LIST_MAX); i++)
		jo_str(o, v->uuids[i]);
	jo_end(o);
	jo_key(o, "message_ids");
	jo_array(o);
	if (v->message_id)
		jo_str(o, v->message_id);
	jo_end(o);
	if (v->model)
		jo_kstr(o, "model", v->model);
	jo_key(o, "usage");
	line_usage(o, v->usage);
}

static void write_notice(struct line *l)
{
	const struct event_notice *v = &l->ev->u.notice;

	jo_kstr(&l->out, "code", or_empty(v->code));
	jo_kstr(&l->out, "text", or_empty(v->text));
}

static void write_context(struct line *l)
{
	const struct event_context *v = &l->ev->u.context;

	jo_kstr(&l->out, "step", or_empty(v->step));
	jo_kint(&l->out, "tokens_before", told(v->tokens_before));
	jo_kint(&l->out, "tokens_freed", told(v->tokens_freed));
}

static void write_status(struct line *l)
{
	const struct event_status *v = &l->ev->u.status;

	jo_kstr(&l->out, "status", v->status);
	if (v->compact_result)
		jo_kstr(&l->out, "compact_result", v->compact_result);
	if (v->compact_error)
		jo_kstr(&l->out, "compact_error", v->compact_error);
	if (!v->model)
		return;
	jo_kstr(&l->out, "quern_model", v->model);
	jo_key(&l->out, "quern_usage");
	line_usage(&l->out, v->usage);
}

static void write_compact_boundary(struct line *l)
{
	const struct event_compact *v = &l->ev->u.compact;
	struct json_out *o = &l->out;

	jo_key(o, "compact_metadata");
	jo_object(o);
	jo_kstr(o, "trigger", "auto");
	jo_kint(o, "pre_tokens", told(v->pre_tokens));
	jo_kint(o, "post_tokens", told(v->post_tokens));
	jo_kint(o, "duration_ms", told(v->duration_ms));
	jo_end(o);
	jo_kbool(o, "quern_reactive", v->reactive);
	jo_kstr(o, "quern_model", or_empty(v->model));
	jo_key(o, "quern_usage");
	line_usage(o, v->usage);
}

static void write_model_switch(struct line *l)
{
	const struct event_switch *v = &l->ev->u.model_switch;

	jo_kstr(&l->out, "from", or_empty(v->from));
	jo_kstr(&l->out, "to", or_empty(v->to));
}

static void put_answer(struct json_out *o, const struct event_answer *v)
{
	jo_key(o, "answer");
	jo_object(o);
	jo_kstr(o, "id", or_empty(v->message_id));
	jo_kstr(o, "model", or_empty(v->model));
	jo_kstr(o, "stop_reason", or_empty(v->stop_reason));
	jo_kstr(o, "stop_sequence", v->stop_sequence);
	jo_kint(o, "blocks", (int64_t)v->blocks);
	if (v->replied)
		jo_kbool(o, "replied", true);
	if (v->went_on)
		jo_kstr(o, "went_on", v->went_on);
	if (v->verified)
		jo_kbool(o, "verified", true);
	jo_key(o, "usage");
	line_usage(o, v->usage);
	jo_end(o);
}

static void write_history(struct line *l)
{
	const struct event_history *v = &l->ev->u.history;
	struct json_out *o = &l->out;

	if (v->messages && !l->bare) {
		jo_key(o, "messages");
		jo_raw(o, v->messages, v->messages_len);
	}
	if (v->has_prompt) {
		jo_key(o, "prompt");
		jo_array(o);
		jo_int(o, (int64_t)v->prompt_from);
		jo_int(o, (int64_t)v->prompt_to);
		jo_end(o);
	}
	if (v->state && !l->bare)
		key_raw(o, "state", v->state);
	if (v->sends)
		jo_kbool(o, "sends", true);
	if (v->open)
		jo_kbool(o, "open", true);
	if (v->answer)
		put_answer(o, v->answer);
	if (v->more)
		jo_kbool(o, "more", true);
}

static void write_summary(struct line *l)
{
	const struct event_summary *v = &l->ev->u.summary;

	jo_kstr(&l->out, "round", or_empty(v->round));
	jo_kstr(&l->out, "text", v->text);
	jo_kstr(&l->out, "model", or_empty(v->model));
	jo_key(&l->out, "usage");
	line_usage(&l->out, v->usage);
}

static void write_tool_start(struct line *l)
{
	const struct event_tool_start *v = &l->ev->u.tool_start;

	jo_kstr(&l->out, "tool_use_id", or_empty(v->tool_use_id));
	jo_kstr(&l->out, "tool_name", or_empty(v->tool_name));
	if (!v->block)
		return;
	jo_key(&l->out, "block");
	write_block(l, v->block);
}

static void write_states(struct json_out *o, const struct resumed_state *v, size_t n)
{
	jo_key(o, "states");
	jo_array(o);
	for (size_t i = 0; i < n; i++) {
		jo_object(o);
		jo_kstr(o, "tool_use_id", v[i].id);
		jo_key(o, "state");
		jo_raw(o, v[i].json, strlen(v[i].json));
		jo_end(o);
	}
	jo_end(o);
}

static void write_resume(struct line *l)
{
	const struct event_resume *v = &l->ev->u.resume;
	struct json_out *o = &l->out;

	jo_kstr(o, "file", or_empty(v->file));
	jo_kstr(o, "from_reason", v->from_reason);
	key_strings(o, "interrupted", v->interrupted);
	key_strings(o, "changed", v->changed);
	jo_kint(o, "lines", (int64_t)v->lines);
	jo_kbool(o, "torn", v->torn);
	line_totals(o, v->totals);
	if (v->prompt) {
		jo_key(o, "prompt");
		jo_array(o);
		for (size_t i = 0; i < v->prompt->n; i++)
			write_block(l, v->prompt->blocks[i]);
		jo_end(o);
	}
	if (v->nstates)
		write_states(o, v->states, v->nstates);
	if (v->summaries)
		key_strings(o, "summaries", v->summaries);
}

static void put_hook(struct json_out *o, const struct event_hook *v)
{
	jo_kstr(o, "hook_id", or_empty(v->id));
	jo_kstr(o, "hook_name", or_empty(v->name));
	jo_kstr(o, "hook_event", or_empty(v->event));
	jo_kstr(o, "quern_source", or_empty(v->source));
}

static void write_hook_started(struct line *l)
{
	put_hook(&l->out, &l->ev->u.hook);
}

static void put_stream(struct json_out *o, const char *key, const char *p, size_t n)
{
	jo_key(o, key);
	jo_strn(o, or_empty(p), n);
}

static void write_hook_response(struct line *l)
{
	const struct event_hook *v = &l->ev->u.hook;
	struct json_out *o = &l->out;

	put_hook(o, v);
	put_stream(o, "stdout", v->out, v->out_len);
	put_stream(o, "stderr", v->err, v->err_len);
	put_stream(o, "output", v->out, v->out_len);
	if (v->exit_code >= 0)
		jo_kint(o, "exit_code", v->exit_code);
	jo_kstr(o, "outcome", or_empty(v->outcome));
	if (v->why)
		jo_kstr(o, "quern_error", v->why);
	if (v->file)
		jo_kstr(o, "quern_output_file", v->file);
}

static void write_informational(struct line *l)
{
	const struct event_informational *v = &l->ev->u.informational;

	jo_kstr(&l->out, "content", or_empty(v->content));
	jo_kstr(&l->out, "level", or_empty(v->level));
}

static void write_control_response(struct line *l)
{
	const struct event_control *v = &l->ev->u.control;
	struct json_out *o = &l->out;

	jo_key(o, "response");
	jo_object(o);
	jo_kstr(o, "subtype", v->error ? "error" : "success");
	jo_kstr(o, "request_id", or_empty(v->request_id));
	if (v->error) {
		jo_kstr(o, "error", v->error);
	} else if (v->response) {
		key_raw(o, "response", v->response);
	}
	jo_end(o);
}

const struct event_row event_rows[EVENT_RESULT + 1] = {
	[EVENT_INIT] = { "system", "init", write_init, schema_init },
	[EVENT_ASSISTANT] = { "assistant", NULL, write_assistant, schema_assistant },
	[EVENT_USER] = { "user", NULL, write_user, schema_user },
	[EVENT_STREAM] = { "stream_event", NULL, write_stream, schema_stream },
	[EVENT_API_RETRY] = { "system", "api_retry", write_api_retry, schema_api_retry },
	[EVENT_PERMISSION_DENIED] = { "system", "permission_denied", write_permission_denied,
	                              schema_permission_denied },
	[EVENT_TRANSITION] = { "system", "quern_transition", write_transition, schema_transition },
	[EVENT_TOMBSTONE] = { "system", "quern_tombstone", write_tombstone, schema_tombstone },
	[EVENT_NOTICE] = { "system", "quern_notice", write_notice, schema_notice },
	[EVENT_CONTEXT] = { "system", "quern_context", write_context, schema_context },
	[EVENT_STATUS] = { "system", "status", write_status, schema_status },
	[EVENT_COMPACT_BOUNDARY] = { "system", "compact_boundary", write_compact_boundary, schema_compact_boundary },
	[EVENT_MODEL_SWITCH] = { "system", "quern_model_switch", write_model_switch, schema_model_switch },
	[EVENT_HISTORY] = { "system", "quern_history", write_history, schema_history },
	[EVENT_SUMMARY] = { "system", "quern_summary", write_summary, schema_summary },
	[EVENT_TOOL_START] = { "system", "quern_tool_start", write_tool_start, schema_tool_start },
	[EVENT_RESUME] = { "system", "quern_resume", write_resume, schema_resume },
	[EVENT_HOOK_STARTED] = { "system", "hook_started", write_hook_started, schema_hook_started },
	[EVENT_HOOK_RESPONSE] = { "system", "hook_response", write_hook_response, schema_hook_response },
	[EVENT_INFORMATIONAL] = { "system", "informational", write_informational, schema_informational },
	[EVENT_CONTROL_RESPONSE] = { "control_response", NULL, write_control_response, schema_control_response },
	[EVENT_RESULT] = { "result", NULL, line_write_result, schema_result },
};

/* Embedded JSON that is no block may be pretty-printed: in valid JSON a line break stands between tokens only. */
static void flatten(char *p, size_t n)
{
	static const char breaks[] = { '\n', '\r' };

	for (size_t i = 0; i < sizeof breaks; i++) {
		char *end = p + n;
		for (char *at = p; (at = memchr(at, breaks[i], (size_t)(end - at))) != NULL;)
			*at = ' ';
	}
}

void line_write(struct buf *b, const struct event *ev, const char *session_id, const char *version, bool bare)
{
	const struct event_row *row = &event_rows[ev->kind];
	struct line l = { .ev = ev, .session_id = session_id, .version = version, .bare = bare };
	size_t start = b->len;

	json_out_init(&l.out, b);
	jo_object(&l.out);
	jo_kstr(&l.out, "type", row->type);
	if (row->subtype)
		jo_kstr(&l.out, "subtype", row->subtype);
	row->write(&l);
	if (!event_is_outside(ev->kind)) {
		jo_kint(&l.out, "quern_ms", ev->ms);
		jo_kstr(&l.out, "session_id", session_id);
		jo_kstr(&l.out, "uuid", ev->uuid);
	}
	jo_end(&l.out);
	if (!b->failed)
		flatten(b->data + start, b->len - start);
}
