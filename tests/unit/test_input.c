/* What stands before a call: the tools offered, the schema, the input check, permission. */
#include "tool_world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "tool/internal.h"

static void the_tools_array(void **state)
{
	static const char *const names[] = { "Read", "Grep", "Glob", "Edit", "Write", "Bash", NULL };
	struct tool_world *w = *state;
	struct json doc = JSON_INIT;
	struct error e = ERROR_INIT;

	w->cfg.names = names;
	tool_world_reopen(w);
	const char *json = toolbox_json(w->toolbox);

	assert_int_equal(json_parse(&doc, json, strlen(json), JSON_UNIQUE, &e), 0);
	assert_int_equal(json_size(&doc, json_root(&doc)), 7); /* TaskStop comes with Bash */
	for (int t = json_first(&doc, json_root(&doc)); t >= 0; t = json_next(&doc, json_root(&doc), t)) {
		int properties = json_path(&doc, t, "input_schema.properties");
		assert_true(json_size(&doc, properties) >= 1);
		assert_true(json_eq(&doc, json_path(&doc, t, "input_schema.type"), "object"));
		int required = json_path(&doc, t, "input_schema.required");
		for (int r = json_first(&doc, required); r >= 0; r = json_next(&doc, required, r)) {
			char *name = json_strdup(&doc, r, NULL);
			assert_true(json_get(&doc, properties, name) >= 0);
			free(name);
		}
	}
	json_release(&doc);
	if (strlen(json) > 4400)
		fail_msg("the tools array is %zu bytes", strlen(json));
}

/* tool, input, what the result says; "" = the input passes the check. */
static const struct {
	const char *tool, *input, *says;
} inputs[] = {
	{ "Read", "{\"file_path\":\"f\"}", "" },
	{ "Read", "{\"file_path\":\"f\",\"offset\":null,\"limit\":\"3\"}", "" },
	{ "Read", "{\"file_path\":\"f\",\"limit\":2.0}", "" },
	{ "Read", "{}", "InputValidationError: Read: parameter 'file_path' is required but missing" },
	{ "Read", "{\"file_path\":7}", "parameter 'file_path' must be a string, not number" },
	{ "Read", "{\"file_path\":null}", "parameter 'file_path' must be a string, not null" },
	{ "Read", "{\"file_path\":\"\"}", "must not be empty" },
	{ "Read", "{\"file_path\":\"o.txt\\u0000.png\"}", "must not contain a NUL" },
	{ "Read", "{\"file_path\":\"f\",\"limit\":\"many\"}", "parameter 'limit' must be an integer" },
	{ "Read", "{\"file_path\":\"f\",\"limit\":1.5}", "parameter 'limit' must be an integer" },
	{ "Read", "{\"file_path\":\"f\",\"limit\":0}", "parameter 'limit' must be at least 1" },
	{ "Read", "{\"file_path\":\"f\",\"pages\":\"1\"}", "parameter 'pages' is unknown" },
	{ "Read", "{\"file_path\":\"f\",\"file_path\":\"g\"}", "InputValidationError: Read: " },
	{ "Read", "[]", "must be an object" },
	{ "Read", "{\"path\":\"f\"}", "parameter 'path' is unknown; parameter 'file_path' is required" },
	{ "Bash", "{\"command\":\"ls\",\"run_in_background\":true}", "" },
	{ "Bash", "{\"command\":\"ls\\u0000rm\"}", "must not contain a NUL" },
	{ "Edit", "{\"file_path\":\"f\",\"old_string\":\"a\",\"new_string\":\"\",\"replace_all\":\"true\"}", "" },
	{ "Edit", "{\"file_path\":\"f\",\"old_string\":\"a\",\"new_string\":\"b\",\"replace_all\":1}",
	  "must be true or false" },
	{ "Grep", "{\"pattern\":\"x\",\"output_mode\":\"lines\"}", "must be one of content|files_with_matches|count" },
	{ "Grep", "{\"pattern\":\"x\",\"-A\":-1}", "parameter '-A' must be at least 0" },
	{ "Write", "{\"file_path\":\"f\",\"content\":\"a\\ud800b\\u0000\"}", "" },
};

static void input_rows(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof inputs / sizeof inputs[0]; i++) {
		struct buf why = BUF_INIT(65536);
		struct tool_input in;
		const struct tool_row *row = tool_find(inputs[i].tool);
		int rc = input_parse(row->name, row->params, inputs[i].input, &in, &why);
		if ((rc == 0) != (inputs[i].says[0] == '\0') || !strstr(buf_str(&why), inputs[i].says))
			fail_msg("%s %s: %d '%s'", inputs[i].tool, inputs[i].input, rc, buf_str(&why));
		if (rc == 0)
			input_release(&in);
		buf_release(&why);
	}
}

static void values_are_decoded(void **state)
{
	struct buf why = BUF_INIT(65536);
	struct tool_input in;

	(void)state;
	assert_int_equal(input_parse("Write", tool_write.params,
	                             "{\"content\":\"a\\u0000\\ud83d\\ude00\",\"file_path\":\"f\"}", &in, &why),
	                 0);
	assert_int_equal(in.v[1].n, 6);
	assert_memory_equal(in.v[1].s, "a\0\xF0\x9F\x98\x80", 6);
	input_release(&in);
	assert_int_equal(input_parse("Read", tool_read.params, "{\"file_path\":\"f\",\"limit\":\"12\"}", &in, &why), 0);
	assert_int_equal(in.v[2].i, 12);
	assert_false(in.v[1].set);
	input_release(&in);
}

static void bad_calls_are_results(void **state)
{
	struct tool_world *w = *state;

	assert_string_equal(tool_world_call(w, "Teleport", "{}"),
	                    "<tool_use_error>Error: No such tool available: Teleport</tool_use_error>");
	assert_true(w->result.is_error && w->result.invalid && !w->result.ran && !w->result.denied);
	assert_string_equal(
	        tool_world_call(w, "Read", "{\"file\":1}"),
	        "<tool_use_error>InputValidationError: Read: parameter 'file' is unknown; parameter 'file_path' is "
	        "required but missing</tool_use_error>");
	assert_true(w->result.is_error && w->result.invalid && !w->result.ran);
}

static bool listed(const char *const *list, const char *text)
{
	for (; *list; list++)
		if (strcmp(*list, text) == 0)
			return true;
	return false;
}

static void modes_and_rules(void **state)
{
	static const char *bash_allowed[] = { "Bash", NULL }, *read_denied[] = { "Read", "Bash(*)", NULL };
	struct tool_world *w = *state;

	w->rules.mode = MODE_DEFAULT;
	tool_world_reopen(w);
	assert_true(listed(toolbox_offered(w->toolbox), "Read") && !listed(toolbox_offered(w->toolbox), "Edit"));
	assert_true(listed(toolbox_withheld(w->toolbox), "Edit: not allowed in mode default (see --allowedTools)"));
	assert_int_equal(toolbox_class(w->toolbox, "Read"), TOOL_READ_ONLY);
	assert_int_equal(toolbox_class(w->toolbox, "Bash"), TOOL_UNSAFE); /* what only reads may run */
	assert_string_equal(tool_world_call(w, "Bash", "{\"command\":\"rm x\"}"),
	                    "Permission to use Bash with command rm x has been denied: no rule allows `rm x`");
	assert_true(w->result.is_error && w->result.denied && !w->result.ran);
	assert_string_equal(w->result.denied_reason, "command");
	assert_contains(tool_world_call(w, "Write", "{\"file_path\":\"f\",\"content\":\"x\"}"),
	                "Permission to use Write has been denied: no allow rule covers '");
	assert_string_equal(w->result.denied_reason, "mode");
	w->cfg.offer_all = true;
	tool_world_reopen(w);
	assert_true(listed(toolbox_offered(w->toolbox), "Write"));
	w->cfg.offer_all = false;

	w->rules.allow = bash_allowed;
	tool_world_reopen(w);
	assert_int_equal(toolbox_class(w->toolbox, "Bash"), TOOL_UNSAFE);
	assert_false(listed(toolbox_offered(w->toolbox), "Write"));

	w->rules.mode = MODE_ACCEPT_EDITS;
	w->rules.allow = NULL;
	tool_world_reopen(w);
	assert_true(listed(toolbox_offered(w->toolbox), "Write"));

	w->rules.mode = MODE_BYPASS;
	w->rules.allow = bash_allowed;
	w->rules.deny = read_denied;
	tool_world_reopen(w);
	assert_false(listed(toolbox_offered(w->toolbox), "Read") || listed(toolbox_offered(w->toolbox), "Bash"));
	assert_true(listed(toolbox_withheld(w->toolbox), "Read: denied by a rule"));
	assert_null(strstr(toolbox_json(w->toolbox), "\"Read\""));
	assert_string_equal(tool_world_call(w, "Read", "{\"file_path\":\"f\"}"),
	                    "Permission to use Read has been denied: it falls under the deny rule Read");
	assert_string_equal(w->result.denied_reason, "rule");
}

static void names_asked_for(void **state)
{
	static const char *two[] = { "Read", "Edit", NULL }, *wrong[] = { "Raed", NULL }, *none[] = { NULL };
	struct tool_world *w = *state;
	struct error e = ERROR_INIT;

	w->cfg.names = two;
	tool_world_reopen(w);
	assert_int_equal(toolbox_class(w->toolbox, "Edit"), TOOL_UNSAFE);
	assert_int_equal(toolbox_class(w->toolbox, "Bash"), TOOL_UNKNOWN);
	assert_contains(tool_world_call(w, "Bash", "{\"command\":\"ls\"}"), "No such tool available: Bash");

	w->rules.mode = MODE_DEFAULT;
	w->cfg.names_explicit = true;
	tool_world_take_rules(w);
	assert_null(toolbox_open(&w->cfg, w->reactor, w->supervisor, &e));
	assert_contains(e.msg, "tool Edit was asked for but cannot be offered: not allowed in mode default");
	w->cfg.names = wrong;
	assert_null(toolbox_open(&w->cfg, w->reactor, w->supervisor, &e));
	assert_contains(e.msg, "unknown tool 'Raed'");
	w->cfg.names = none;
	tool_world_reopen(w);
	assert_null(toolbox_json(w->toolbox));
	assert_null(toolbox_offered(w->toolbox)[0]);
}

static void a_missing_program_withholds(void **state)
{
	static const char *env[] = { "PATH=/nonexistent::/", NULL };
	struct tool_world *w = *state;

	w->cfg.child_env = env;
	tool_world_reopen(w);
	assert_true(listed(toolbox_withheld(w->toolbox), "Grep: 'rg' is not in the tools' PATH"));
	assert_true(listed(toolbox_withheld(w->toolbox), "Bash: 'bash' is not in the tools' PATH"));
	assert_true(listed(toolbox_offered(w->toolbox), "Read"));
	assert_contains(tool_world_call(w, "Grep", "{\"pattern\":\"x\"}"), "rg is not installed");
	assert_true(w->result.is_error && !w->result.denied);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(the_tools_array, tool_world_setup, tool_world_teardown),
		cmocka_unit_test(input_rows),
		cmocka_unit_test(values_are_decoded),
		cmocka_unit_test_setup_teardown(bad_calls_are_results, tool_world_setup, tool_world_teardown),
		cmocka_unit_test_setup_teardown(modes_and_rules, tool_world_setup, tool_world_teardown),
		cmocka_unit_test_setup_teardown(names_asked_for, tool_world_setup, tool_world_teardown),
		cmocka_unit_test_setup_teardown(a_missing_program_withholds, tool_world_setup, tool_world_teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
