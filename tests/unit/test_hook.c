/* Hooks as real scripts under a real supervisor: what they are told, how they end, what that comes to. */
#include "hook_world.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"

/* ---- what they get ---- */

static void input_is_one_object(void **state)
{
	static const struct {
		enum hook_event event;
		const char *members;
	} rows[] = {
		{ HOOK_SESSION_START, "\"source\":\"startup\",\"model\":\"m-1\"}" },
		{ HOOK_USER_PROMPT_SUBMIT, "\"prompt\":\"do it\"}" },
		{ HOOK_PRE_TOOL_USE,
		  "\"tool_name\":\"Bash\",\"tool_input\":{\"command\":\"ls\"},\"tool_use_id\":\"toolu_1\"}" },
		{ HOOK_PERMISSION_REQUEST,
		  "\"tool_name\":\"Bash\",\"tool_input\":{\"command\":\"ls\"},\"permission_suggestions\":[]}" },
		{ HOOK_POST_TOOL_USE,
		  "\"tool_name\":\"Bash\",\"tool_input\":{\"command\":\"ls\"},\"tool_use_id\":\"toolu_1\","
		  "\"tool_response\":{\"stdout\":\"a\"},\"duration_ms\":12}" },
		{ HOOK_POST_TOOL_USE_FAILURE,
		  "\"tool_name\":\"Bash\",\"tool_input\":{\"command\":\"ls\"},\"tool_use_id\":\"toolu_1\","
		  "\"error\":\"Exit code 1\",\"is_interrupt\":false,\"duration_ms\":12}" },
		{ HOOK_POST_TOOL_BATCH, "\"tool_calls\":[{\"tool_name\":\"Bash\"}]}" },
		{ HOOK_PRE_COMPACT, "\"trigger\":\"auto\",\"custom_instructions\":\"\"}" },
		{ HOOK_POST_COMPACT, "\"trigger\":\"auto\",\"compact_summary\":\"all of it\"}" },
		{ HOOK_STOP, "\"stop_hook_active\":false,\"last_assistant_message\":\"Done.\",\"background_tasks\":[],"
		             "\"session_crons\":[]}" },
		{ HOOK_STOP_FAILURE, "\"error\":\"rate_limit\",\"error_details\":\"Exit code 1\","
		                     "\"last_assistant_message\":\"Done.\"}" },
		{ HOOK_SESSION_END, "\"reason\":\"other\"}" },
	};
	struct hook_world *w = *state;
	char want[700];

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		hook_world_one(w, rows[i].event, "cat > in.json");
		char *got = hook_world_get(w, "in.json");
		snprintf(want, sizeof want,
		         "{\"session_id\":\"session-1\",\"transcript_path\":\"/t/t.jsonl\",\"cwd\":\"%s\","
		         "\"permission_mode\":\"dontAsk\",\"hook_event_name\":\"%s\",%s\n",
		         w->work, hook_event_name(rows[i].event), rows[i].members);
		assert_string_equal(got, want);
		free(got);
	}
}

static void environment(void **state)
{
	struct hook_world *w = *state;

	hook_world_one(w, HOOK_STOP,
	               "{ echo \"$CLAUDE_PROJECT_DIR|${CLAUDE_PROJECT_DIR}|$CLAUDECODE|$CLAUDE_CODE_CHILD_SESSION|"
	               "$HOME|${CLAUDE_ENV_FILE-none}\"; pwd; ls /proc/self/fd; "
	               "if (: < /dev/tty) 2> /dev/null; then echo tty; fi; "
	               "set -- $(cut -d' ' -f5,6,8 /proc/$$/stat); echo $(($1 - $$)) $(($2 - $$)) $3; } > out");
	char want[1500], *got = hook_world_get(w, "out");
	snprintf(want, sizeof want, "%s|%s|1|1|/nonexistent|none\n%s\n0\n1\n2\n3\n0 0 -1\n", w->work, w->work, w->work);
	assert_string_equal(got, want);
	free(got);
}

static void exec_form(void **state)
{
	static const char *const args[] = {
		"${CLAUDE_PROJECT_DIR}", "a b", "", "$HOME", "x${CLAUDE_PROJECT_DIR}y", NULL
	};
	struct hook_world *w = *state;
	const struct hook_call call = hook_world_call(HOOK_STOP);
	char want[1000];

	hook_world_put(w, "show", "#!/bin/sh\nfor a; do echo \"<$a>\"; done > out\n", 0755);
	hook_world_add(w, HOOK_STOP, "${CLAUDE_PROJECT_DIR}/show")->args = args;
	assert_int_equal(hook_world_ask(w, &call), 1);
	char *got = hook_world_get(w, "out");
	snprintf(want, sizeof want, "<%s>\n<a b>\n<>\n<$HOME>\n<x%sy>\n", w->work, w->work);
	assert_string_equal(got, want);
	free(got);
}

static void env_file_collects(void **state)
{
	struct hook_world *w = *state;
	const struct hook_call call = hook_world_call(HOOK_SESSION_START);

	hook_world_add(w, HOOK_SESSION_START, ":");
	assert_int_equal(hook_world_ask(w, &call), 1);
	assert_null(hooks_env_file(w->hooks));
	hook_world_add(w, HOOK_SESSION_START, "echo 'export A=1' >> \"$CLAUDE_ENV_FILE\"");
	hook_world_add(w, HOOK_SESSION_START, "echo 'export B=2' >> \"$CLAUDE_ENV_FILE\"");
	hook_world_add(w, HOOK_STOP, "cat");
	assert_int_equal(hook_world_ask(w, &call), 1);
	const char *path = hooks_env_file(w->hooks);
	assert_non_null(path);
	char cmd[500];
	snprintf(cmd, sizeof cmd, "[ \"$(sort '%s' | tr '\\n' ' ')\" = 'export A=1 export B=2 ' ]", path);
	assert_int_equal(system(cmd), 0);
}

/* The text of what commands source; "" if there is none. */
static const char *left_text(struct hook_world *w, char *out, size_t size)
{
	const char *path = hooks_env_file(w->hooks);
	FILE *f = path ? fopen(path, "r") : NULL;
	size_t n = f ? fread(out, 1, size - 1, f) : 0;

	if (f)
		fclose(f);
	out[n] = '\0';
	return out;
}

/* What hooks have left lies where tools cannot write; what comes behind their answer changes nothing. */
static void env_file_is_taken(void **state)
{
	static const char *const bad[] = {
		"ln -sf \"$PWD/other\" \"$CLAUDE_ENV_FILE\"", /* as are the others: in the place of the file */
		"rm \"$CLAUDE_ENV_FILE\"; ln other \"$CLAUDE_ENV_FILE\"",
		"rm \"$CLAUDE_ENV_FILE\"; mkfifo \"$CLAUDE_ENV_FILE\"",
		"rm \"$CLAUDE_ENV_FILE\"; mkdir \"$CLAUDE_ENV_FILE\"",
		"rm \"$CLAUDE_ENV_FILE\"",
		"head -c 65537 /dev/zero | tr '\\0' '#' >\"$CLAUDE_ENV_FILE\"",
	};
	struct hook_world *w = *state;
	const struct hook_call call = hook_world_call(HOOK_SESSION_START);
	char text[200];

	hook_world_put(w, "other", "echo other\n", 0600);
	for (int unconfined = 0; unconfined < 2; unconfined++) {
		hook_world_clear(w);
		w->cfg.unconfined = unconfined;
		hook_world_add(w, HOOK_SESSION_START,
		               "echo A >>\"$CLAUDE_ENV_FILE\"; echo \"$CLAUDE_ENV_FILE\" >>paths; sh ./then");
		hook_world_put(w, "then", "", 0600);
		assert_int_equal(hook_world_ask(w, &call), 1);
		assert_string_equal(left_text(w, text, sizeof text), "A\n");
		assert_memory_equal(hooks_env_file(w->hooks), w->run, strlen(w->run));
		char cmd[500];
		snprintf(cmd, sizeof cmd, "cd '%s' && echo B >>\"$(tail -n 1 paths)\"", w->work);
		assert_int_equal(system(cmd), 0);
		assert_string_equal(left_text(w, text, sizeof text), "A\n");
		/* those of the next start have a new file and add to what was there */
		assert_int_equal(hook_world_ask(w, &call), 1);
		assert_string_equal(left_text(w, text, sizeof text), "A\nA\n");
		for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
			hook_world_put(w, "then", bad[i], 0600);
			assert_int_equal(hook_world_ask(w, &call), 1);
			assert_string_equal(left_text(w, text, sizeof text), "A\nA\n");
		}
		hook_world_put(w, "then", "head -c 65536 /dev/zero | tr '\\0' '#' >\"$CLAUDE_ENV_FILE\"", 0600);
		assert_int_equal(hook_world_ask(w, &call), 1);
		assert_int_equal(strspn(left_text(w, text, sizeof text), "#"), sizeof text - 1);
		hook_world_put(w, "then", ": >\"$CLAUDE_ENV_FILE\"", 0600);
		assert_int_equal(hook_world_ask(w, &call), 1);
		assert_null(hooks_env_file(w->hooks));
		snprintf(cmd, sizeof cmd,
		         "cd '%s' && [ -z \"$(sort paths | uniq -d)\" ] && [ ! -e ../run/hook-env.sh ]", w->work);
		assert_int_equal(system(cmd), 0);
	}
}

/* ---- who is asked ---- */

static void matchers(void **state)
{
	static const struct {
		const char *matcher, *tool;
		bool meets;
	} rows[] = {
		{ NULL, "Bash", true },
		{ "", "Bash", true },
		{ "*", "Bash", true },
		{ "Bash", "Bash", true },
		{ "bash", "Bash", false },
		{ "Bas", "Bash", false },
		{ "Edit|Write", "Write", true },
		{ " Edit , Write ", "Edit", true },
		{ "Edit|Write", "Edi", false },
		{ "Edit||Write", "", true },
		{ "mcp__memory", "mcp__memory__get", false },
		{ "mcp__memory__.*", "mcp__memory__get", true },
		{ "mcp__a-b__get", "mcp__a-b__get", true },
		{ "Edit.*", "NotebookEdit", true },
		{ "^Edit.*", "NotebookEdit", false },
		{ "^(Bash|Read)$", "Read", true },
		{ "^(?!Bash)", "Bash", false },
		{ "\\bBash\\b", "Bash", true },
		{ "([", "Bash", false },
		{ "Bash(", "Bash(", false },
		{ "^(a+)+$", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab", true }, /* over its limit: asked */
	};
	struct hook_world *w = *state;

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct hook_call call = hook_world_call(HOOK_PRE_TOOL_USE);
		call.tool_name = rows[i].tool;
		hook_world_clear(w);
		hook_world_add(w, HOOK_PRE_TOOL_USE, "exit 0")->matcher = rows[i].matcher;
		if (hook_world_ask(w, &call) != rows[i].meets)
			fail_msg("'%s' and '%s'", rows[i].matcher, rows[i].tool);
	}
}

static void matchers_of_other_events(void **state)
{
	static const struct {
		enum hook_event event;
		const char *value;
	} rows[] = {
		{ HOOK_SESSION_START, "startup" }, { HOOK_SESSION_END, "other" },       { HOOK_PRE_COMPACT, "auto" },
		{ HOOK_POST_COMPACT, "auto" },     { HOOK_STOP_FAILURE, "rate_limit" }, { HOOK_STOP, NULL },
		{ HOOK_USER_PROMPT_SUBMIT, NULL }, { HOOK_POST_TOOL_BATCH, NULL },
	};
	struct hook_world *w = *state;

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		const struct hook_call call = hook_world_call(rows[i].event);
		hook_world_clear(w);
		hook_world_add(w, rows[i].event, "exit 0")->matcher = "nothing|like|this";
		assert_int_equal(hook_world_ask(w, &call), rows[i].value == NULL);
		hook_world_clear(w);
		hook_world_add(w, rows[i].event, "exit 0")->matcher = rows[i].value;
		assert_int_equal(hook_world_ask(w, &call), 1);
	}
}

static bool meets(void *ctx, const char *rule, const struct hook_call *call)
{
	(void)ctx;
	return strcmp(rule, call->tool_name) == 0;
}

static void rules_and_copies(void **state)
{
	struct hook_world *w = *state;
	const struct hook_call call = hook_world_call(HOOK_PRE_TOOL_USE);

	w->cfg.meets = meets;
	hook_world_add(w, HOOK_PRE_TOOL_USE, "echo a >> ran")->if_rule = "Read";
	assert_int_equal(hook_world_ask(w, &call), 0);
	hook_world_add(w, HOOK_PRE_TOOL_USE, "echo b >> ran")->if_rule = "Bash";
	hook_world_add(w, HOOK_PRE_TOOL_USE, "echo b >> ran")->matcher = "Bash";
	hook_world_add(w, HOOK_POST_TOOL_USE, "echo c >> ran");
	assert_int_equal(hook_world_ask(w, &call), 1);
	char *ran = hook_world_get(w, "ran");
	assert_string_equal(ran, "b\n");
	free(ran);
	assert_true(hooks_any(w->hooks, HOOK_POST_TOOL_USE));
	assert_false(hooks_any(w->hooks, HOOK_STOP));
	assert_false(hooks_any(w->hooks, HOOK_VERIFY));
	assert_false(hooks_any(NULL, HOOK_STOP));
	assert_int_equal(hooks_ask(NULL, &call, hook_done_in, w, NULL), 0);
}

/* ---- how they end ---- */

/* "P" passes, "B" blocks, "E" ends, "d" denies, with the text; context behind |. */
static void expect(struct hook_world *w, enum hook_event event, const char *command, const char *want)
{
	static const char verdicts[] = "PBE", permits[] = " a?d";
	const struct hook_answer *a = hook_world_one(w, event, command);
	char got[800];

	snprintf(got, sizeof got, "%c%c%s%s%s%s%s%s", verdicts[a->verdict], permits[a->permit], a->text ? ":" : "",
	         a->text ? a->text : "", a->permit_text ? ";" : "", a->permit_text ? a->permit_text : "",
	         a->context ? "|" : "", a->context ? a->context : "");
	if (strcmp(got, want) != 0)
		fail_msg("%s hook '%s': '%s', not '%s'", hook_event_name(event), command, got, want);
}

static void exit_two(void **state)
{
	static const struct {
		enum hook_event event;
		const char *want;
	} rows[] = {
		{ HOOK_PRE_TOOL_USE, "Pd;no" },
		{ HOOK_POST_TOOL_USE, "B :no" },
		{ HOOK_POST_TOOL_USE_FAILURE, "B :no" },
		{ HOOK_POST_TOOL_BATCH, "B :no" },
		{ HOOK_USER_PROMPT_SUBMIT, "B :no" },
		{ HOOK_STOP, "B :no" },
		{ HOOK_PRE_COMPACT, "B :no" },
		{ HOOK_PERMISSION_REQUEST, "P " },
		{ HOOK_SESSION_START, "P " },
		{ HOOK_SESSION_END, "P " },
		{ HOOK_POST_COMPACT, "P " },
		{ HOOK_STOP_FAILURE, "P " },
	};
	struct hook_world *w = *state;

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		expect(w, rows[i].event, "echo no >&2; exit 2", rows[i].want);
		assert_contains(buf_str(&w->events), " error 2 ");
		assert_contains(buf_str(&w->events), "no\n|\n");
	}
	/* no JSON takes it back, and its reason is the better one */
	expect(w, HOOK_PRE_TOOL_USE, "echo '{\"decision\":\"approve\"}'; echo no >&2; exit 2", "Pd;no");
	expect(w, HOOK_PRE_TOOL_USE,
	       "echo '{\"hookSpecificOutput\":{\"hookEventName\":\"PreToolUse\",\"permissionDecision\":\"deny\","
	       "\"permissionDecisionReason\":\"json\"}}'; echo no >&2; exit 2",
	       "Pd;json");
	expect(w, HOOK_STOP, "echo '{\"decision\":\"block\",\"reason\":\"json\"}'; echo no >&2; exit 2", "B :json");
	expect(w, HOOK_STOP, "echo '{\"decision\":\"bl'; echo no >&2; exit 2", "B :no");
	expect(w, HOOK_STOP, "echo '{\"continue\":false,\"stopReason\":\"over\"}'; echo no >&2; exit 2", "E :over");
	expect(w, HOOK_STOP, "exit 2", "B ");
	/* nor does one that ends so allow anything where it cannot deny */
	expect(w, HOOK_PERMISSION_REQUEST,
	       "echo '{\"hookSpecificOutput\":{\"hookEventName\":\"PermissionRequest\",\"decision\":{\"behavior\":"
	       "\"allow\",\"updatedInput\":{}}}}'; exit 2",
	       "P ");
	assert_null(w->answer.new_input);
}

static void exit_zero(void **state)
{
	struct hook_world *w = *state;

	expect(w, HOOK_SESSION_START, "echo; echo 'some context'", "P |\nsome context");
	expect(w, HOOK_USER_PROMPT_SUBMIT, "echo 'hello {not json'", "P |hello {not json");
	expect(w, HOOK_STOP, "echo; echo more >&2", "P ");
	expect(w, HOOK_STOP, "echo '{\"reason\":\"all is well\"}'", "P ");
	expect(w, HOOK_STOP, ":", "P ");
	assert_int_equal(w->events.len, 0);
	/* words that reach nobody are told */
	expect(w, HOOK_STOP, "echo text", "P ");
	assert_string_equal(buf_str(&w->events), "response Stop success 0 |text\n||\n");
	expect(w, HOOK_PRE_TOOL_USE, "echo text; echo more >&2", "P ");
	assert_contains(buf_str(&w->events), "response PreToolUse:Bash success 0 |text\n|more\n|\n");
	expect(w, HOOK_SESSION_START, ":", "P ");
	assert_contains(buf_str(&w->events), "started SessionStart:startup job.yaml:1:1\n");
	assert_contains(buf_str(&w->events), "response SessionStart:startup success 0 |||\n");
}

static void tell_everything(void **state)
{
	struct hook_world *w = *state;

	w->cfg.tell_all = true;
	expect(w, HOOK_PRE_TOOL_USE, "echo out; echo err >&2", "P ");
	assert_string_equal(buf_str(&w->events), "started PreToolUse:Bash job.yaml:1:1\n"
	                                         "response PreToolUse:Bash success 0 |out\n|err\n|\n");
}

#define PRE(members) "{\"hookSpecificOutput\":{\"hookEventName\":\"PreToolUse\"," members "}}"

/* Printed as it is, by printf, so that a backslash may stand in it. */
static void expect_json(struct hook_world *w, enum hook_event event, const char *json, const char *want)
{
	hook_world_put(w, "json", json, 0644);
	expect(w, event, "cat json", want);
}

static void json_fields(void **state)
{
	struct hook_world *w = *state;

	expect_json(w, HOOK_STOP, "{\"decision\":\"block\",\"reason\":\"tests fail\"}", "B :tests fail");
	expect_json(w, HOOK_STOP, "\xEF\xBB\xBF \n{\"decision\":\"block\"}", "B ");
	expect_json(w, HOOK_STOP, "{\"decision\":\"approve\",\"reason\":\"fine\"}", "P ");
	expect_json(w, HOOK_STOP, "{\"decision\":null,\"reason\":null,\"other\":1}", "P ");
	expect_json(w, HOOK_STOP,
	            "{\"continue\":false,\"stopReason\":\"over\",\"decision\":\"block\",\"reason\":\"r\"}", "E :over");
	expect_json(w, HOOK_STOP, "{\"continue\":true,\"suppressOutput\":true}", "P ");
	expect_json(w, HOOK_STOP,
	            "{\"hookSpecificOutput\":{\"hookEventName\":\"Stop\",\"additionalContext\":\"go on\"}}",
	            "P |go on");
	expect_json(w, HOOK_STOP,
	            "{\"decision\":\"block\",\"reason\":\"r\",\"hookSpecificOutput\":{\"hookEventName\":\"Stop\","
	            "\"additionalContext\":\"go on\"}}",
	            "B :r|go on");
	expect_json(w, HOOK_PRE_TOOL_USE, "{\"decision\":\"block\",\"reason\":\"old\"}", "Pd;old");
	expect_json(w, HOOK_PRE_TOOL_USE, "{\"decision\":\"approve\"}", "Pa");
	expect_json(w, HOOK_PRE_TOOL_USE,
	            PRE("\"permissionDecision\":\"allow\",\"permissionDecisionReason\":\"ok\","
	                "\"updatedInput\":{ \"command\" : \"ls -l\"},\"additionalContext\":\"c\""),
	            "Pa;ok|c");
	assert_string_equal(w->answer.new_input, "{ \"command\" : \"ls -l\"}");
	expect_json(w, HOOK_PRE_TOOL_USE, PRE("\"permissionDecision\":\"ask\",\"permissionDecisionReason\":\"hm\""),
	            "P?;hm");
	expect_json(w, HOOK_PRE_TOOL_USE, PRE("\"permissionDecision\":\"deny\",\"updatedInput\":{}"), "Pd");
	assert_null(w->answer.new_input);
	expect_json(w, HOOK_PRE_TOOL_USE,
	            PRE("\"permissionDecision\":\"defer\",\"permissionDecisionReason\":\"later\""),
	            "Pd;a hook deferred this call, and nobody is there who could decide it later: later");
	expect_json(w, HOOK_PRE_TOOL_USE, "{\"continue\":false,\"stopReason\":\"over\"}", "E :over");
	expect_json(w, HOOK_PERMISSION_REQUEST,
	            "{\"hookSpecificOutput\":{\"hookEventName\":\"PermissionRequest\",\"decision\":{\"behavior\":"
	            "\"allow\",\"updatedInput\":{\"a\":1},\"updatedPermissions\":[]}}}",
	            "Pa");
	assert_string_equal(w->answer.new_input, "{\"a\":1}");
	expect_json(w, HOOK_PERMISSION_REQUEST,
	            "{\"hookSpecificOutput\":{\"hookEventName\":\"PermissionRequest\",\"decision\":{\"behavior\":"
	            "\"deny\",\"message\":\"never\",\"interrupt\":true}}}",
	            "Pd;never");
	assert_true(w->answer.interrupts);
	expect_json(
	        w, HOOK_POST_TOOL_USE,
	        "{\"decision\":\"block\",\"reason\":\"r\",\"hookSpecificOutput\":{\"hookEventName\":\"PostToolUse\","
	        "\"additionalContext\":\"c\",\"updatedToolOutput\":{\"stdout\":[1]},"
	        "\"updatedMCPToolOutput\":\"not this\"}}",
	        "B :r|c");
	assert_string_equal(w->answer.new_output, "{\"stdout\":[1]}");
	expect_json(w, HOOK_POST_TOOL_USE,
	            "{\"hookSpecificOutput\":{\"hookEventName\":\"PostToolUse\",\"updatedMCPToolOutput\":1}}", "P ");
	assert_null(w->answer.new_output);
	expect_json(w, HOOK_POST_TOOL_USE_FAILURE,
	            "{\"hookSpecificOutput\":{\"hookEventName\":\"PostToolUseFailure\",\"additionalContext\":\"c\"}}",
	            "P |c");
	expect_json(w, HOOK_POST_TOOL_BATCH, "{\"decision\":\"block\",\"reason\":\"r\"}", "B :r");
	expect_json(w, HOOK_USER_PROMPT_SUBMIT,
	            "{\"decision\":\"block\",\"reason\":\"r\",\"hookSpecificOutput\":{\"hookEventName\":"
	            "\"UserPromptSubmit\",\"suppressOriginalPrompt\":true,\"sessionTitle\":\"t\"}}",
	            "B :r");
	expect_json(w, HOOK_SESSION_START,
	            "{\"hookSpecificOutput\":{\"hookEventName\":\"SessionStart\",\"additionalContext\":\"c\","
	            "\"initialUserMessage\":\"first\",\"watchPaths\":[]}}",
	            "P |c");
	assert_string_equal(w->answer.first_message, "first");
	expect_json(w, HOOK_SESSION_START, "{\"continue\":false}", "E ");
	expect_json(w, HOOK_PRE_COMPACT, "{\"decision\":\"block\",\"reason\":\"r\"}", "B :r");
	expect_json(w, HOOK_PRE_COMPACT, "{\"continue\":false,\"systemMessage\":\"unheard\"}", "P ");
	assert_int_equal(w->events.len, 0);
	expect_json(w, HOOK_POST_COMPACT, "{\"continue\":false,\"decision\":\"block\"}", "P ");
	expect_json(w, HOOK_SESSION_END, "{\"continue\":false,\"decision\":\"block\"}", "P ");
	expect_json(w, HOOK_STOP_FAILURE, "{\"continue\":false,\"decision\":\"block\"}", "P ");
	expect_json(w, HOOK_STOP, "{\"systemMessage\":\"look here canary-key\"}", "P ");
	assert_string_equal(buf_str(&w->events), "message look here [secret]..\n");
}

/* None of them is an approval, nor anything else; all are told. */
static void json_that_is_refused(void **state)
{
	static const char *const rows[] = {
		"{\"decision\":\"bl",
		"{\"decision\":\"approve\"}\n{\"decision\":\"block\"}\n",
		"{\"decision\":\"block\",\"decision\":\"approve\"}",
		"{\"decision\":\"approve\",\"d\\u0065cision\":\"block\"}",
		"{\"decision\":\"approve\"} trailing",
		"{\"decision\":\"allow\"}",
		"{\"decision\":true}",
		"{\"decision\":\"approve\",\"reason\":1}",
		"{\"decision\":\"approve\",\"continue\":\"false\"}",
		"{\"decision\":\"approve\",\"systemMessage\":{}}",
		"{\"decision\":\"approve\",\"hookSpecificOutput\":[]}",
		"{\"decision\":\"approve\",\"hookSpecificOutput\":{}}",
		"{\"decision\":\"approve\",\"hookSpecificOutput\":{\"hookEventName\":\"PostToolUse\"}}",
		PRE("\"permissionDecision\":\"yes\""),
		PRE("\"permissionDecision\":\"allow\",\"updatedInput\":\"x\""),
		PRE("\"permissionDecision\":\"allow\",\"permissionDecisionReason\":[]"),
		PRE("\"permissionDecision\":\"allow\",\"additionalContext\":5"),
	};
	struct hook_world *w = *state;

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		expect_json(w, HOOK_PRE_TOOL_USE, rows[i], "P ");
		assert_null(w->answer.new_input);
		assert_contains(buf_str(&w->events), " error 0 gave JSON that cannot be used: ");
	}
	expect(w, HOOK_PRE_TOOL_USE, "printf '{\"decision\":\"approve\"}\\0{\"decision\":\"block\"}'", "P ");
	assert_contains(buf_str(&w->events), "gave JSON that cannot be used: ");
	/* ill-formed text is repaired, not refused: it cannot change what is meant */
	expect(w, HOOK_STOP, "printf '{\"decision\":\"block\",\"reason\":\"a\\377\\\\ud800\\\\u0000b\"}'",
	       "B :a\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"
	       "b");
	expect_json(w, HOOK_PERMISSION_REQUEST,
	            "{\"hookSpecificOutput\":{\"hookEventName\":\"PermissionRequest\",\"decision\":{}}}", "P ");
	assert_contains(buf_str(&w->events), "decision.behavior is missing");
}

static void other_statuses(void **state)
{
	struct hook_world *w = *state;

	expect(w, HOOK_STOP, "echo '{\"decision\":\"block\",\"reason\":\"r\"}'; exit 7", "B :r");
	assert_contains(buf_str(&w->events), " error 7 |");
	expect(w, HOOK_PRE_TOOL_USE, "echo '{\"decision\":\"approve\"}'; exit 1", "Pa");
	assert_contains(buf_str(&w->events), " error 1 |");
	expect(w, HOOK_STOP, "echo text; echo; printf '\\n first\\nsecond\\n' >&2; exit 7", "P ");
	assert_contains(buf_str(&w->events), " error 7 ended with exit status 7: first|text\n");
	expect(w, HOOK_SESSION_START, "echo text; exit 1", "P ");
	expect(w, HOOK_PRE_TOOL_USE, "./missing.sh", "P ");
	assert_contains(buf_str(&w->events), " error 127 ended with exit status 127: ");
	expect(w, HOOK_PRE_TOOL_USE, "kill -9 $$", "P ");
	assert_contains(buf_str(&w->events), " error -1 was ended by signal 9 (Killed)||");
}

/* ---- declared to block ---- */

static void failure_policy(void **state)
{
	static const struct {
		enum hook_event event;
		const char *want;
	} rows[] = {
		{ HOOK_PRE_TOOL_USE, "Pd;" },
		{ HOOK_PERMISSION_REQUEST, "Pd;" },
		{ HOOK_USER_PROMPT_SUBMIT, "E :" },
		{ HOOK_POST_TOOL_BATCH, "E :" },
		{ HOOK_STOP, "E :" },
		{ HOOK_PRE_COMPACT, "B :" },
		{ HOOK_POST_TOOL_USE, "B :" },
		{ HOOK_POST_TOOL_USE_FAILURE, "B :" },
		{ HOOK_SESSION_START, "P " },
		{ HOOK_SESSION_END, "P " },
		{ HOOK_POST_COMPACT, "P " },
		{ HOOK_STOP_FAILURE, "P " },
	};
	static const struct {
		const char *command, *why;
	} breaks[] = {
		{ "exit 7", "the hook 'exit 7' broke: ended with exit status 7" },
		{ "echo '{'", "the hook 'echo '{'' broke: gave JSON that cannot be used: " },
		{ "kill -9 $$", "the hook 'kill -9 $$' broke: was ended by signal 9 (Killed)" },
	};
	struct hook_world *w = *state;

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		for (size_t j = 0; j < sizeof breaks / sizeof *breaks; j++) {
			const struct hook_call call = hook_world_call(rows[i].event);
			hook_world_clear(w);
			hook_world_add(w, rows[i].event, breaks[j].command)->blocks = true;
			assert_int_equal(hook_world_ask(w, &call), 1);
			assert_int_equal("PBE"[w->answer.verdict], rows[i].want[0]);
			assert_int_equal(w->answer.permit, rows[i].want[1] == 'd' ? HOOK_DENIES : HOOK_NO_OPINION);
			if (rows[i].want[2])
				assert_contains(rows[i].want[2] == ';' ? w->answer.permit_text : w->answer.text,
				                breaks[j].why);
			assert_contains(buf_str(&w->events), " error ");
		}
	}
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, hook_world_setup, hook_world_teardown)
	const struct CMUnitTest tests[] = {
		TEST(input_is_one_object),
		TEST(environment),
		TEST(exec_form),
		TEST(env_file_collects),
		TEST(env_file_is_taken),
		TEST(matchers),
		TEST(matchers_of_other_events),
		TEST(rules_and_copies),
		TEST(exit_two),
		TEST(exit_zero),
		TEST(tell_everything),
		TEST(json_fields),
		TEST(json_that_is_refused),
		TEST(other_statuses),
		TEST(failure_policy),
	};

	return cmocka_run_group_tests_name("hook", tests, NULL, NULL);
}
