/* Tools that the job brings along: input, output, failure, environment, and what is refused at the start. */
#include "tool_world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"

static const char *const cat_words[] = { "cat", NULL };
static const char schema[] = "{\"type\":\"object\",\"properties\":{\"limit\":{\"type\":\"integer\",\"minimum\":1},"
                             "\"name\":{\"type\":\"string\"}},\"required\":[\"limit\"],\"additionalProperties\":false}";

/* A world whose only tool of its own runs the words. */
static struct job_tool *bring(struct tool_world *w, struct job_tool *tool, const char *const *command)
{
	*tool = (struct job_tool){ .name = "mine",
		                   .description = "A tool.",
		                   .command = command,
		                   .input_schema = schema,
		                   .timeout_ms = 20000 };
	w->cfg.external = tool;
	w->cfg.nexternal = 1;
	tool_world_reopen(w);
	return tool;
}

static void script(struct tool_world *w, const char *text)
{
	tool_world_put(w, "tool.sh", text, strlen(text));
	tool_world_sh(w, "chmod +x tool.sh");
}

static const char *const script_words[] = { "./tool.sh", "a b", "", "$HOME", NULL };

static void input_comes_on_stdin(void **state)
{
	struct tool_world *w = *state;
	struct job_tool tool;

	bring(w, &tool, cat_words);
	assert_string_equal(tool_world_call(w, "mine", "{\"limit\": 3,  \"name\":\"\\ud800x\"}"),
	                    "{\"limit\": 3,  \"name\":\"\\ufffdx\"}\n");
	assert_false(w->result.is_error);
	assert_true(w->result.ran);
	assert_contains(w->result.structured, "\"exitCode\":0");
	assert_string_equal(tool_world_call(w, "mine", "{}"),
	                    "<tool_use_error>InputValidationError: mine: input: property \"limit\" is required but "
	                    "missing</tool_use_error>");
	assert_true(w->result.invalid && w->result.is_error && !w->result.ran);
	assert_contains(tool_world_call(w, "mine", "{\"limit\":\"3\"}"),
	                "limit: expected integer, got string \"3\" (write it without the quotes)");
	assert_contains(tool_world_call(w, "mine", "{\"limit\":1,\"nam\":\"x\"}"),
	                "unknown property \"nam\" (did you mean \"name\"?)");
	assert_contains(tool_world_call(w, "mine", "{\"limit\":1,\"limit\":2}"), "InputValidationError: mine: ");
}

/* More than a pipe holds; and a program that never looks at it. */
static void large_input(void **state)
{
	struct tool_world *w = *state;
	static const char *const count[] = { "wc", "-c", NULL };
	static const char *const deaf[] = { "true", NULL };
	struct job_tool tool;
	struct buf big = BUF_INIT(BUF_HUGE);

	buf_adds(&big, "{\"limit\":1,\"name\":\"");
	for (int i = 0; i < 300000; i++)
		buf_addc(&big, 'x');
	buf_adds(&big, "\"}");
	bring(w, &tool, count);
	tool_world_start(w, "mine", buf_str(&big));
	assert_int_equal(atol(tool_world_wait(w)), (long)big.len + 1);
	bring(w, &tool, deaf);
	tool_world_start(w, "mine", buf_str(&big));
	assert_string_equal(tool_world_wait(w), "(mine completed with no output)");
	assert_false(w->result.is_error);
	buf_release(&big);
}

static void words_are_not_read_by_a_shell(void **state)
{
	struct tool_world *w = *state;
	struct job_tool tool;

	script(w, "#!/bin/sh\nprintf '[%s]' \"$@\"; pwd >&2; echo; pwd\n");
	bring(w, &tool, script_words);
	const char *text = tool_world_call(w, "mine", "{\"limit\":1}");
	assert_memory_equal(text, "[a b][][$HOME]\n", 15);
	assert_contains(text, w->work);
	assert_contains(w->result.structured, "\"stderr\":\"");
}

static void failure_shows_stderr_first(void **state)
{
	struct tool_world *w = *state;
	struct job_tool tool;

	script(w, "#!/bin/sh\necho result; echo canary-key is wrong >&2; exit 3\n");
	bring(w, &tool, script_words);
	assert_string_equal(tool_world_call(w, "mine", "{\"limit\":1}"),
	                    "Exit code 3\nstderr:\n[secret].. is wrong\nstdout:\nresult\n");
	assert_true(w->result.is_error && w->result.ran && !w->result.cancels_siblings);
	assert_contains(w->result.structured, "\"exitCode\":3");
	script(w, "#!/bin/sh\nkill -SEGV $$\n");
	assert_contains(tool_world_call(w, "mine", "{\"limit\":1}"),
	                "Exit code 139\nThe program was ended by signal 11");
	script(w, "#!/bin/sh\nseq 100000 >&2; exit 1\n");
	const char *text = tool_world_call(w, "mine", "{\"limit\":1}");
	assert_contains(text, "Exit code 1\nstderr:\n1\n2\n");
	assert_contains(text, "characters truncated");
	assert_contains(text, "\n100000\n");
	assert_true(strlen(text) < 8000);
}

static void large_output_is_kept_in_a_file(void **state)
{
	struct tool_world *w = *state;
	static const char *const many[] = { "seq", "100000", NULL };
	struct job_tool tool;

	bring(w, &tool, many);
	const char *text = tool_world_call(w, "mine", "{\"limit\":1}");
	assert_contains(text, "<persisted-output>");
	assert_contains(text, w->result.file);
	assert_contains(w->result.structured, "\"persistedOutputSize\":588895");
	char path[600];
	snprintf(path, sizeof path, "%s", w->result.file);
	assert_contains(tool_world_call(w, "Read", "{\"file_path\":\"%s\",\"offset\":99999}", path), "99999\t99999");
}

static void time_is_up(void **state)
{
	struct tool_world *w = *state;
	static const char *const forever[] = { "sh", "-c", "echo begun; exec sleep 100", NULL };
	struct job_tool tool;

	bring(w, &tool, forever);
	tool.timeout_ms = 900;
	assert_string_equal(tool_world_call(w, "mine", "{\"limit\":1}"), "mine timed out after 900ms\nbegun\n");
	assert_true(w->result.is_error);
	assert_contains(w->result.structured, "\"timedOutAfterMs\":900");
	tool.timeout_ms = 60000;
	assert_true(tool_world_start(w, "mine", "{\"limit\":1}"));
	char id[32];
	snprintf(id, sizeof id, "toolu_%d", w->calls);
	toolbox_cancel(w->toolbox, id, 0);
	assert_contains(tool_world_wait(w), "[Request interrupted by user for tool use]");
}

static void environment(void **state)
{
	static const char *child[] = {
		"PATH=/usr/bin:/bin", "HOME=/h", "LC_ALL=C", "FOO=1", "BAR=2", "TMPDIR=/t", NULL
	};
	static const char *named[] = { "DEPLOY_TOKEN=3", "OTHER=4", NULL };
	static const char *const names[] = { "BAR", "DEPLOY_TOKEN", "MISSING", NULL };
	static const char *const show[] = { "env", NULL };
	struct tool_world *w = *state;
	struct job_tool tool;

	w->cfg.child_env = child;
	w->cfg.named_env = named;
	bring(w, &tool, show);
	const char *text = tool_world_call(w, "mine", "{\"limit\":1}");
	assert_contains(text, "FOO=1\n");
	assert_contains(text, "GIT_TERMINAL_PROMPT=0\n");
	assert_null(strstr(text, "DEPLOY_TOKEN"));
	tool.env = names;
	tool_world_reopen(w);
	assert_string_equal(tool_world_call(w, "mine", "{\"limit\":1}"),
	                    "PATH=/usr/bin:/bin\nHOME=/h\nLC_ALL=C\nBAR=2\nTMPDIR=/t\nDEPLOY_TOKEN=3\n");
}

static void refuse(struct tool_world *w, const char *says)
{
	struct error e = ERROR_INIT;
	tool_world_take_rules(w);
	struct toolbox *t = toolbox_open(&w->cfg, w->reactor, w->supervisor, &e);

	if (t || !strstr(e.msg, says))
		fail_msg("'%s', wanted '%s'", e.msg, says);
}

static void what_cannot_be_offered(void **state)
{
	static const char *const missing[] = { "no-such-program", NULL };
	static const char *const away[] = { "./away", NULL };
	static const char *const mine[] = { "mine", NULL };
	struct tool_world *w = *state;
	struct job_tool tool;

	bring(w, &tool, cat_words);
	tool.command = missing;
	refuse(w, "mine cannot be offered: 'no-such-program' is not in the tools' PATH");
	tool.command = away;
	refuse(w, "mine cannot be offered: './away' is no executable file in the workspace");
	tool.command = cat_words;
	w->rules.mode = MODE_DEFAULT;
	refuse(w, "no rule allows mine; add it to permissions.allow");
	w->rules.allow = mine;
	tool_world_reopen(w);
	assert_int_equal(toolbox_class(w->toolbox, "mine"), TOOL_UNSAFE);
	w->rules.allow = NULL;
	tool.read_only = true;
	tool_world_reopen(w);
	assert_int_equal(toolbox_class(w->toolbox, "mine"), TOOL_READ_ONLY);
	assert_contains(tool_world_call(w, "mine", "{\"limit\":1}"), "{\"limit\":1}");
	w->rules.deny = mine;
	refuse(w, "mine cannot be offered: denied by a rule");
	w->rules.deny = NULL;
	tool.name = "TaskStop";
	refuse(w, "'TaskStop' is the name of a built-in tool");
	tool.name = "mine";
	tool.input_schema = "{\"type\":\"x\"}";
	refuse(w, "input schema of tool mine: at /type: not a type");
}

/* The model sees name, description and the schema as it was written; without one there are no parameters. */
static void what_the_model_sees(void **state)
{
	struct tool_world *w = *state;
	struct json doc = JSON_INIT;
	struct error e = ERROR_INIT;
	struct job_tool tool;

	bring(w, &tool, cat_words);
	assert_contains(toolbox_json(w->toolbox), schema);
	tool.input_schema = NULL;
	tool_world_reopen(w);
	const char *text = toolbox_json(w->toolbox);
	assert_int_equal(json_parse(&doc, text, strlen(text), JSON_UNIQUE, &e), 0);
	assert_contains(text, "{\"name\":\"mine\",\"description\":\"A tool.\",\"input_schema\":{\"type\":\"object\"");
	json_release(&doc);
	assert_contains(tool_world_call(w, "mine", "{\"limit\":1}"), "unknown property \"limit\"");
	assert_string_equal(tool_world_call(w, "mine", "{}"), "{}\n");
}

#define IN_WORLD(test) cmocka_unit_test_setup_teardown(test, tool_world_setup, tool_world_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_WORLD(input_comes_on_stdin),
		IN_WORLD(large_input),
		IN_WORLD(words_are_not_read_by_a_shell),
		IN_WORLD(failure_shows_stderr_first),
		IN_WORLD(large_output_is_kept_in_a_file),
		IN_WORLD(time_is_up),
		IN_WORLD(environment),
		IN_WORLD(what_cannot_be_offered),
		IN_WORLD(what_the_model_sees),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
