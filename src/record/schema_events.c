/*
 * The JSON Schema of the stream. Each event kind has its members as rows here; names, order and constant parts
 * come from event_rows[], the enumerations from the tables of reason.h.
 */
#include <string.h>

#include "record/line.h"

#define STR        "{\"type\":\"string\"}"
#define STR_NULL   "{\"type\":[\"string\",\"null\"]}"
#define INT        "{\"type\":\"integer\"}"
#define COUNT      "{\"type\":\"integer\",\"minimum\":0}"
#define COUNT_NULL "{\"type\":[\"integer\",\"null\"],\"minimum\":0}"
#define NUM_NULL   "{\"type\":[\"number\",\"null\"],\"minimum\":0}"
#define BOOL       "{\"type\":\"boolean\"}"
#define TRUE_ONLY  "{\"const\":true}"
#define NULL_ONLY  "{\"type\":\"null\"}"
#define OBJECT     "{\"type\":\"object\"}"
#define STRINGS    "{\"type\":\"array\",\"items\":{\"type\":\"string\"}}"
#define NOTHING_IN "{\"type\":\"array\",\"maxItems\":0}"
#define UUIDS      "{\"type\":\"array\",\"items\":{\"$ref\":\"#/$defs/uuid\"}}"
#define RANGE      "{\"type\":\"array\",\"minItems\":2,\"maxItems\":2,\"items\":" COUNT "}" /* [FROM, TO) */
#define REF(name)  "{\"$ref\":\"#/$defs/" name "\"}"

#define END                                                                                                            \
	{                                                                                                              \
		NULL, NULL, false                                                                                      \
	}

const struct schema_field schema_init[] = {
	{ "cwd", STR, false },
	{ "model", STR, false },
	{ "permissionMode", REF("permission_mode"), false },
	{ "apiKeySource", STR, false },
	{ "tools", STRINGS, false },
	{ "tools_withheld", STRINGS, false },
	{ "quern_attached", STRINGS, true },
	{ "mcp_servers", NOTHING_IN, false },
	{ "slash_commands", NOTHING_IN, false },
	{ "skills", NOTHING_IN, false },
	{ "plugins", NOTHING_IN, false },
	{ "output_style", STR, false },
	{ "claude_code_version", "{\"type\":\"string\",\"pattern\":\"^[0-9]+\\\\.[0-9]+\\\\.[0-9]+$\"}", false },
	{ "quern_version", STR, false },
	{ "quern_provider", STR, false },
	{ "quern_started", STR, true },
	{ "quern_sandbox", REF("sandbox"), true },
	{ "quern_audit", REF("init_audit"), true },
	{ "quern_environment", STR, true },
	END,
};

const struct schema_field schema_assistant[] = {
	{ "message", REF("assistant_message"), false },
	{ "parent_tool_use_id", NULL_ONLY, false },
	{ "error", REF("error_category"), true },
	END,
};

const struct schema_field schema_user[] = {
	{ "message", REF("user_message"), false },
	{ "parent_tool_use_id", NULL_ONLY, false },
	{ "tool_use_result", OBJECT, true },
	{ "quern_state", OBJECT, true },
	{ "quern_call", REF("call_rest"), true },
	{ "isSynthetic", TRUE_ONLY, true },
	{ "isReplay", TRUE_ONLY, true },
	{ "quern_output_file", STR, true },
	END,
};

const struct schema_field schema_stream[] = {
	{ "event", "{\"type\":\"object\",\"required\":[\"type\"],\"properties\":{\"type\":{\"type\":\"string\"}}}",
	  false },
	{ "parent_tool_use_id", NULL_ONLY, false },
	END,
};

const struct schema_field schema_api_retry[] = {
	{ "attempt", "{\"type\":\"integer\",\"minimum\":1}", false },
	{ "max_retries", COUNT, false },
	{ "retry_delay_ms", COUNT, false },
	{ "error_status", COUNT_NULL, false },
	{ "error", REF("error_category"), false },
	{ "message", STR, false },
	{ "overloads", COUNT, true },
	{ "model", STR, true },
	{ "usage", REF("usage"), true },
	END,
};

const struct schema_field schema_permission_denied[] = {
	{ "tool_name", STR, false },
	{ "tool_use_id", STR, false },
	{ "decision_reason_type", STR, true },
	{ "message", STR, false },
	END,
};

const struct schema_field schema_transition[] = {
	{ "reason", REF("continue_reason"), false },
	{ "turn", COUNT, false },
	{ "from", "{\"anyOf\":[{\"$ref\":\"#/$defs/continue_reason\"},{\"type\":\"null\"}]}", false },
	{ "tokens", COUNT_NULL, false },
	{ "source", "{\"enum\":[\"hook\",\"verify\"]}", true },
	END,
};

const struct schema_field schema_tombstone[] = {
	{ "uuids", UUIDS, false },
	{ "message_ids", STRINGS, false },
	{ "model", STR, true },
	{ "usage", REF("usage"), false },
	END,
};

const struct schema_field schema_notice[] = {
	{ "code", STR, false },
	{ "text", STR, false },
	END,
};

const struct schema_field schema_context[] = {
	{ "step", STR, false },
	{ "tokens_before", COUNT, false },
	{ "tokens_freed", COUNT, false },
	END,
};

const struct schema_field schema_status[] = {
	{ "status", STR_NULL, false },         { "compact_result", "{\"enum\":[\"success\",\"failed\"]}", true },
	{ "compact_error", STR, true },        { "quern_model", STR, true },
	{ "quern_usage", REF("usage"), true }, END,
};

const struct schema_field schema_compact_boundary[] = {
	{ "compact_metadata", REF("compact_metadata"), false },
	{ "quern_reactive", BOOL, false },
	{ "quern_model", STR, false },
	{ "quern_usage", REF("usage"), false },
	END,
};

const struct schema_field schema_model_switch[] = {
	{ "from", STR, false },
	{ "to", STR, false },
	END,
};

const struct schema_field schema_history[] = {
	{ "messages", "{\"type\":\"array\",\"items\":{\"$ref\":\"#/$defs/history_entry\"}}", true },
	{ "prompt", RANGE, true },
	{ "state", OBJECT, true },
	{ "sends", BOOL, true },
	{ "open", TRUE_ONLY, true },
	{ "answer", REF("history_answer"), true },
	{ "more", BOOL, true },
	END,
};

const struct schema_field schema_summary[] = {
	{ "round", STR, false },
	{ "text", STR_NULL, false },
	{ "model", STR, false },
	{ "usage", REF("usage"), false },
	END,
};

const struct schema_field schema_tool_start[] = {
	{ "tool_use_id", STR, false },
	{ "tool_name", STR, false },
	{ "block", REF("block"), true },
	END,
};

const struct schema_field schema_resume[] = {
	{ "file", STR, false },
	{ "from_reason", "{\"anyOf\":[{\"$ref\":\"#/$defs/terminal_reason\"},{\"type\":\"null\"}]}", false },
	{ "interrupted", STRINGS, false },
	{ "changed", "{\"type\":\"array\",\"items\":{\"enum\":[\"job\",\"system\",\"tools\",\"cwd\"]}}", false },
	{ "lines", COUNT, false },
	{ "torn", BOOL, false },
	{ "session_totals", REF("session_totals"), true },
	{ "prompt", "{\"type\":\"array\",\"items\":{\"$ref\":\"#/$defs/block\"}}", true },
	{ "states", "{\"type\":\"array\",\"items\":{\"$ref\":\"#/$defs/tool_state\"}}", true },
	{ "summaries", STRINGS, true },
	END,
};

#define HOOK_FIELDS                                                                                                    \
	{ "hook_id", STR, false }, { "hook_name", STR, false }, { "hook_event", STR, false },                          \
	{                                                                                                              \
		"quern_source", STR, false                                                                             \
	}

const struct schema_field schema_hook_started[] = {
	HOOK_FIELDS,
	END,
};

const struct schema_field schema_hook_response[] = {
	HOOK_FIELDS,
	{ "stdout", STR, false },
	{ "stderr", STR, false },
	{ "output", STR, false },
	{ "exit_code", COUNT, true },
	{ "outcome", "{\"enum\":[\"success\",\"error\",\"cancelled\"]}", false },
	{ "quern_error", STR, true },
	{ "quern_output_file", STR, true },
	END,
};

const struct schema_field schema_informational[] = {
	{ "content", STR, false },
	{ "level", "{\"enum\":[\"info\",\"notice\",\"suggestion\",\"warning\"]}", false },
	END,
};

const struct schema_field schema_control_response[] = {
	{ "response", REF("control_answer"), false },
	END,
};

const struct schema_field schema_result[] = {
	{ "subtype", REF("result_subtype"), false },
	{ "is_error", BOOL, false },
	{ "result", STR, true },
	{ "errors", STRINGS, true },
	{ "terminal_reason", REF("terminal_reason"), false },
	{ "exit_code", REF("exit_code"), false },
	{ "transient", BOOL, false },
	{ "stop_reason", STR_NULL, false },
	{ "startup_failure_reason", STR, true },
	{ "api_error_status", INT, true },
	{ "retry_after_ms", COUNT, true },
	{ "duration_ms", COUNT, false },
	{ "duration_api_ms", COUNT, false },
	{ "num_turns", COUNT, false },
	{ "turns", COUNT, false },
	{ "transitions", REF("transitions"), false },
	{ "total_cost_usd", NUM_NULL, false },
	{ "costBasis", REF("cost_basis"), false },
	{ "cost_lower_bound", TRUE_ONLY, true },
	{ "usage", REF("usage"), false },
	{ "modelUsage", "{\"type\":\"object\",\"additionalProperties\":{\"$ref\":\"#/$defs/model_usage\"}}", false },
	{ "limits", "{\"type\":\"object\",\"additionalProperties\":{\"$ref\":\"#/$defs/limit\"}}", false },
	{ "verification", REF("verification"), true },
	{ "permission_denials", "{\"type\":\"array\",\"items\":{\"$ref\":\"#/$defs/denial\"}}", false },
	{ "side_effects", STRINGS, false },
	{ "run_dir", STR, true },
	{ "workspace", REF("workspace"), true },
	{ "audit", REF("audit"), true },
	{ "session_totals", REF("session_totals"), true },
	{ "resumed_result", TRUE_ONLY, true },
	{ "result_file", STR_NULL, true },
	END,
};

/* On every line, but for those that belong to no session. */
static const struct schema_field common[] = {
	{ "quern_ms", COUNT, false }, /* since the run began */
	{ "session_id", REF("uuid"), false },
	{ "uuid", REF("uuid"), false },
	END,
};
static const struct schema_field cut[] = {
	{ "quern_file", STR_NULL, true }, /* the line was cut; whole it is in this file (null: it could not be kept) */
	END,
};

/* Objects that we write as a whole. */
static const struct schema_field cache_creation[] = {
	{ "ephemeral_5m_input_tokens", COUNT, false },
	{ "ephemeral_1h_input_tokens", COUNT, false },
	END,
};
static const struct schema_field server_tool_use[] = {
	{ "web_search_requests", COUNT, false },
	END,
};
static const struct schema_field usage[] = {
	{ "input_tokens", COUNT, false },
	{ "output_tokens", COUNT, false },
	{ "cache_creation_input_tokens", COUNT, false },
	{ "cache_read_input_tokens", COUNT, false },
	{ "cache_creation", REF("cache_creation"), true },
	{ "server_tool_use", REF("server_tool_use"), true },
	{ "speed", "{\"const\":\"fast\"}", true },
	END,
};
static const struct schema_field model_usage[] = {
	{ "inputTokens", COUNT, false },           { "outputTokens", COUNT, false },
	{ "cacheReadInputTokens", COUNT, false },  { "cacheCreationInputTokens", COUNT, false },
	{ "webSearchRequests", COUNT, false },     { "costUSD", "{\"type\":\"number\",\"minimum\":0}", false },
	{ "costBasis", REF("cost_basis"), false }, { "contextWindow", COUNT, false },
	{ "maxOutputTokens", COUNT, false },       END,
};
static const struct schema_field limit[] = {
	{ "limit", "{\"type\":\"number\",\"minimum\":0}", false },
	{ "used", "{\"type\":\"number\",\"minimum\":0}", false },
	{ "left", "{\"type\":\"number\"}", false },
	END,
};
#define AUDIT_FIELDS                                                                                                   \
	{ "job_sha256", REF("sha256"), true }, { "system_sha256", REF("sha256"), true },                               \
	{                                                                                                              \
		"tools_sha256", REF("sha256"), true                                                                    \
	}
static const struct schema_field init_audit[] = {
	AUDIT_FIELDS,
	END,
};
static const struct schema_field audit[] = {
	AUDIT_FIELDS,
	{ "events_sha256", REF("sha256"), true },
	{ "events_bytes", COUNT, true },
	END,
};
static const struct schema_field session_model[] = {
	{ "usage", REF("usage"), false },
	{ "costUSD", NUM_NULL, false },
	END,
};
static const struct schema_field session_totals[] = {
	{ "runs", COUNT, false },
	{ "turns", COUNT, false },
	{ "requests", COUNT, false },
	{ "tool_calls", COUNT, false },
	{ "duration_ms", COUNT, false },
	{ "total_cost_usd", NUM_NULL, false },
	{ "cost_lower_bound", TRUE_ONLY, true },
	{ "usage", REF("usage"), false },
	{ "models", "{\"type\":\"object\",\"additionalProperties\":{\"$ref\":\"#/$defs/session_model\"}}", false },
	END,
};
static const struct schema_field call_rest[] = {
	{ "say", STR, true },
	{ "ends_run", STR, true },
	{ "unusable", TRUE_ONLY, true },
	END,
};
static const struct schema_field history_answer[] = {
	{ "id", STR, false },
	{ "model", STR, false },
	{ "stop_reason", STR, false },
	{ "stop_sequence", STR_NULL, false },
	{ "blocks", COUNT, false },
	{ "replied", TRUE_ONLY, true },
	{ "went_on", STR, true },
	{ "verified", TRUE_ONLY, true },
	{ "usage", REF("usage"), false },
	END,
};
static const struct schema_field tool_state[] = {
	{ "tool_use_id", STR, false },
	{ "state", OBJECT, false },
	END,
};
static const struct schema_field workspace[] = {
	{ "changed", COUNT, true },
	{ "added", COUNT, true },
	{ "deleted", COUNT, true },
	{ "saved", STR, true },
	{ "patch", STR, true },
	{ "patch_left_out", COUNT, true },
	{ "committed", BOOL, true },
	{ "changes", STR, true },
	{ "copy", STR, true },
	{ "before", STR, true },
	END,
};
static const struct schema_field verification[] = {
	{ "runs", COUNT, false },
	{ "failures", COUNT, false },
	{ "passed", BOOL, false },
	END,
};
static const struct schema_field sandbox[] = {
	{ "mode", "{\"enum\":[\"workspace-write\",\"read-only\",\"off\"]}", false },
	{ "network", BOOL, false },
	{ "enforced", STRINGS, false },
	{ "missing", STRINGS, false },
	{ "landlock_abi", COUNT, false },
	{ "loop_confined", BOOL, false },
	END,
};
static const struct schema_field denial[] = {
	{ "tool_name", STR, false },
	{ "tool_use_id", STR, false },
	{ "tool_input", OBJECT, false },
	END,
};
static const struct schema_field compact_metadata[] = {
	{ "trigger", "{\"enum\":[\"manual\",\"auto\"]}", false },
	{ "pre_tokens", COUNT, false },
	{ "post_tokens", COUNT, false },
	{ "duration_ms", COUNT, false },
	END,
};
static const struct schema_field assistant_message[] = {
	{ "id", STR, false },
	{ "type", "{\"const\":\"message\"}", false },
	{ "role", "{\"const\":\"assistant\"}", false },
	{ "model", STR, false },
	{ "content", "{\"type\":\"array\",\"maxItems\":1,\"items\":{\"$ref\":\"#/$defs/block\"}}", false },
	{ "stop_reason", STR_NULL, false },
	{ "stop_sequence", STR_NULL, false },
	{ "usage", REF("usage"), false },
	END,
};
static const struct schema_field user_message[] = {
	{ "role", "{\"const\":\"user\"}", false },
	{ "content", "{\"type\":\"array\",\"items\":{\"$ref\":\"#/$defs/block\"}}", false },
	END,
};
static const struct schema_field control_answer[] = {
	{ "subtype", "{\"enum\":[\"success\",\"error\"]}", false },
	{ "request_id", STR, false },
	{ "error", STR, true },
	{ "response", OBJECT, true },
	END,
};

static const struct {
	const char *name;
	const struct schema_field *fields;
} objects[] = {
	{ "cache_creation", cache_creation },
	{ "server_tool_use", server_tool_use },
	{ "usage", usage },
	{ "model_usage", model_usage },
	{ "limit", limit },
	{ "verification", verification },
	{ "denial", denial },
	{ "compact_metadata", compact_metadata },
	{ "sandbox", sandbox },
	{ "assistant_message", assistant_message },
	{ "user_message", user_message },
	{ "control_answer", control_answer },
	{ "init_audit", init_audit },
	{ "audit", audit },
	{ "workspace", workspace },
	{ "session_model", session_model },
	{ "session_totals", session_totals },
	{ "tool_state", tool_state },
	{ "call_rest", call_rest },
	{ "history_answer", history_answer },
};

/* The content blocks that are known. The API owns their shape and may add members, but tool_result is ours. */
static const struct {
	const char *type;
	const char *schema; /* members beyond "type" */
} blocks[] = {
	{ "text", "{\"required\":[\"text\"],\"properties\":{\"text\":" STR "}}" },
	{ "thinking",
	  "{\"required\":[\"thinking\",\"signature\"],\"properties\":{\"thinking\":" STR ",\"signature\":" STR "}}" },
	{ "redacted_thinking", "{\"required\":[\"data\"],\"properties\":{\"data\":" STR "}}" },
	{ "tool_use", "{\"required\":[\"id\",\"name\",\"input\"],\"properties\":{\"id\":" STR ",\"name\":" STR
	              ",\"input\":" OBJECT "}}" },
	{ "tool_result", "{\"required\":[\"tool_use_id\",\"content\"],\"additionalProperties\":false,\"properties\":{"
	                 "\"type\":" STR ",\"tool_use_id\":" STR ",\"is_error\":" BOOL ",\"content\":{\"anyOf\":[" STR
	                 ",{\"type\":\"array\",\"items\":{\"$ref\":\"#/$defs/block\"}}]}}}" },
	{ "image", "{\"required\":[\"source\"],\"properties\":{\"source\":" OBJECT "}}" },
	{ "document", "{\"required\":[\"source\"],\"properties\":{\"source\":" OBJECT "}}" },
};

static const char *const error_categories[] = {
	"authentication_failed",
	"oauth_org_not_allowed",
	"account_on_hold",
	"verification_required",
	"billing_error",
	"rate_limit",
	"overloaded",
	"invalid_request",
	"model_not_found",
	"server_error",
	"max_output_tokens",
	"cloud_credential_error",
	"unknown",
	NULL,
};
static const char *const permission_modes[] = {
	"default", "acceptEdits", "plan", "dontAsk", "bypassPermissions", NULL
};
static const char *const cost_bases[] = { "list", "managed", "unknown", NULL };

static void fields(struct json_out *o, const struct schema_field *f)
{
	for (; f->name; f++) {
		jo_key(o, f->name);
		jo_raw(o, f->schema, strlen(f->schema));
	}
}

static void required(struct json_out *o, const struct schema_field *f)
{
	for (; f->name; f++) {
		if (!f->optional)
			jo_str(o, f->name);
	}
}

static void key_const(struct json_out *o, const char *key, const char *value)
{
	jo_key(o, key);
	jo_object(o);
	jo_kstr(o, "const", value);
	jo_end(o);
}

/* A line a definition, so that a change of the committed schema can be read. */
static void break_line(struct json_out *o)
{
	buf_addc(o->b, '\n');
}

static void define_object(struct json_out *o, const char *name, const struct schema_field *f)
{
	break_line(o);
	jo_key(o, name);
	jo_object(o);
	jo_kstr(o, "type", "object");
	jo_kbool(o, "additionalProperties", false);
	jo_key(o, "required");
	jo_array(o);
	required(o, f);
	jo_end(o);
	jo_key(o, "properties");
	jo_object(o);
	fields(o, f);
	jo_end(o);
	jo_end(o);
}

static void define_raw(struct json_out *o, const char *name, const char *schema)
{
	jo_key(o, name);
	jo_raw(o, schema, strlen(schema));
}

static void enum_open(struct json_out *o, const char *name)
{
	break_line(o);
	jo_key(o, name);
	jo_object(o);
	jo_key(o, "enum");
	jo_array(o);
}

static void enum_close(struct json_out *o)
{
	jo_end(o);
	jo_end(o);
}

static void define_enum(struct json_out *o, const char *name, const char *const *values)
{
	enum_open(o, name);
	for (; *values; values++)
		jo_str(o, *values);
	enum_close(o);
}

static void define_continues(struct json_out *o)
{
	enum_open(o, "continue_reason");
	for (int r = CONT_NONE + 1; r < CONT_COUNT; r++)
		jo_str(o, continue_row((enum continue_reason)r)->name);
	enum_close(o);
	break_line(o);
	jo_key(o, "transitions");
	jo_object(o);
	jo_kstr(o, "type", "object");
	jo_kbool(o, "additionalProperties", false);
	jo_key(o, "properties");
	jo_object(o);
	for (int r = CONT_NONE + 1; r < CONT_COUNT; r++)
		define_raw(o, continue_row((enum continue_reason)r)->name, "{\"type\":\"integer\",\"minimum\":1}");
	jo_end(o);
	jo_end(o);
}

static void define_terminals(struct json_out *o)
{
	static const char *const subtypes[] = { "success", SUB_TURNS, SUB_BUDGET, SUB_SCHEMA, SUB_ERROR, NULL };
	static const char signalled[] = "{\"type\":\"integer\",\"minimum\":129,\"maximum\":192}";

	enum_open(o, "terminal_reason");
	for (int r = TERM_NONE + 1; r < TERM_COUNT; r++)
		jo_str(o, terminal_row((enum terminal_reason)r)->name);
	enum_close(o);
	define_enum(o, "result_subtype", subtypes);
	/* The codes of the reasons, EX_TEMPFAIL, and 128+n for a signal. */
	break_line(o);
	jo_key(o, "exit_code");
	jo_object(o);
	jo_key(o, "anyOf");
	jo_array(o);
	jo_object(o);
	jo_key(o, "enum");
	jo_array(o);
	for (int r = TERM_NONE + 1; r < TERM_COUNT; r++)
		jo_int(o, terminal_row((enum terminal_reason)r)->exit_code);
	jo_int(o, EXIT_TRANSIENT);
	enum_close(o);
	jo_raw(o, signalled, sizeof signalled - 1);
	jo_end(o);
	jo_end(o);
}

/* {"if":{"properties":{KEY:{"const":VALUE}}},"then": - the caller writes what follows and ends the object. */
static void if_const(struct json_out *o, const char *key, const char *value)
{
	jo_object(o);
	jo_key(o, "if");
	jo_object(o);
	jo_key(o, "properties");
	jo_object(o);
	key_const(o, key, value);
	jo_end(o);
	jo_end(o);
	jo_key(o, "then");
}

static void define_block(struct json_out *o)
{
	break_line(o);
	jo_key(o, "block");
	jo_object(o);
	jo_kstr(o, "type", "object");
	jo_key(o, "required");
	jo_array(o);
	jo_str(o, "type");
	jo_end(o);
	jo_key(o, "properties");
	jo_object(o);
	define_raw(o, "type", STR);
	jo_end(o);
	jo_key(o, "allOf");
	jo_array(o);
	for (size_t i = 0; i < sizeof blocks / sizeof blocks[0]; i++) {
		if_const(o, "type", blocks[i].type);
		jo_raw(o, blocks[i].schema, strlen(blocks[i].schema));
		jo_end(o);
	}
	jo_end(o);
	jo_end(o);
}

static void define_all(struct json_out *o)
{
	/* Messages that are there already, or one with new blocks and such as are there. */
	static const char history_entry[] =
	        "{\"type\":\"object\",\"additionalProperties\":false,\"properties\":{\"old\":" RANGE
	        ",\"role\":{\"enum\":[\"user\",\"assistant\"]},\"content\":{\"type\":\"array\",\"items\":{\"anyOf\":["
	        "{\"$ref\":\"#/$defs/"
	        "block\"},{\"type\":\"object\",\"additionalProperties\":false,\"required\":[\"cleared\"],"
	        "\"properties\":{\"cleared\":{\"$ref\":\"#/$defs/block\"}}},{\"type\":\"object\","
	        "\"additionalProperties\":false,\"required\":[\"old\"],\"properties\":{\"old\":" RANGE "}}]}}},"
	        "\"oneOf\":[{\"required\":[\"old\"]},{\"required\":[\"role\",\"content\"]}]}";

	jo_key(o, "$defs");
	jo_object(o);
	define_raw(o, "uuid",
	           "{\"type\":\"string\",\"pattern\":"
	           "\"^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$\"}");
	define_raw(o, "sha256", "{\"type\":\"string\",\"pattern\":\"^[0-9a-f]{64}$\"}");
	define_raw(o, "history_entry", history_entry);
	define_enum(o, "error_category", error_categories);
	define_enum(o, "permission_mode", permission_modes);
	define_enum(o, "cost_basis", cost_bases);
	define_continues(o);
	define_terminals(o);
	define_block(o);
	for (size_t i = 0; i < sizeof objects / sizeof objects[0]; i++)
		define_object(o, objects[i].name, objects[i].fields);
	jo_end(o);
}

/* What holds between a result's members: exit code 0, success, no errors and is_error false go together. */
static void result_rules(struct json_out *o)
{
	static const char completed[] = "{\"if\":{\"properties\":{\"terminal_reason\":{\"const\":\"completed\"}}},"
	                                "\"then\":{\"properties\":{\"subtype\":{\"const\":\"success\"},"
	                                "\"is_error\":{\"const\":false},\"exit_code\":{\"const\":0},"
	                                "\"errors\":false}},"
	                                "\"else\":{\"required\":[\"errors\"],\"properties\":{"
	                                "\"subtype\":{\"not\":{\"const\":\"success\"}},"
	                                "\"is_error\":{\"const\":true},\"exit_code\":{\"not\":{\"const\":0}}}}}";

	jo_key(o, "allOf");
	jo_array(o);
	jo_raw(o, completed, sizeof completed - 1);
	jo_end(o);
}

static void event_schema(struct json_out *o, enum event_kind kind)
{
	const struct event_row *row = &event_rows[kind];
	bool outside = event_is_outside(kind);

	break_line(o);
	jo_object(o);
	jo_kstr(o, "title", row->subtype ? row->subtype : row->type);
	jo_kstr(o, "type", "object");
	jo_kbool(o, "additionalProperties", false);
	jo_key(o, "required");
	jo_array(o);
	jo_str(o, "type");
	if (row->subtype)
		jo_str(o, "subtype");
	required(o, row->schema);
	if (!outside)
		required(o, common);
	jo_end(o);
	jo_key(o, "properties");
	jo_object(o);
	key_const(o, "type", row->type);
	if (row->subtype)
		key_const(o, "subtype", row->subtype);
	fields(o, row->schema);
	if (!outside)
		fields(o, common);
	fields(o, cut);
	jo_end(o);
	if (kind == EVENT_RESULT)
		result_rules(o);
	jo_end(o);
}

void event_print_schema(struct buf *out)
{
	struct json_out o;

	json_out_init(&o, out);
	jo_object(&o);
	jo_kstr(&o, "$schema", "https://json-schema.org/draft/2020-12/schema");
	jo_kstr(&o, "title", "quern events: one JSON object a line");
	jo_key(&o, "oneOf");
	jo_array(&o);
	for (int kind = 0; kind <= EVENT_RESULT; kind++)
		event_schema(&o, (enum event_kind)kind);
	jo_end(&o);
	define_all(&o);
	jo_end(&o);
	buf_addc(out, '\n');
}
