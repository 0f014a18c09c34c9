/* The command line, the variables, and who wins over whom. */
#include "job_try.h"

static const struct {
	const char *words, *errors;
} wrongs[] = {
	{ "--max-turnz|5", "--max-turnz: unknown option (did you mean --max-turns?)\n" },
	{ "--effort|high", "--effort: unknown option (did you mean --set model.effort=VALUE?)\n" },
	{ "--quux", "--quux: unknown option (--help lists all)\n" },
	{ "-x", "-x: unknown option (--help lists all)\n" },
	{ "-print", "-print: unknown option (did you mean --print?)\n" },
	{ "-model|x", "-model: unknown option (did you mean --model?)\n"
	              "cannot open job file 'x': No such file or directory (did you mean -p?)\n" },
	{ "-t5", "-t5: the value of -t is the next word\n" },
	{ "-p|-x", "-p: the next word begins with '-': write --prompt=TEXT if it is the task\n" },
	{ "--prompt|--check", "--prompt: the next word begins with '-': write --prompt=TEXT if it is the task\n" },
	{ "-p|-", "-p: the next word begins with '-': write --prompt=TEXT if it is the task\n" },
	{ "-p", "-p: needs a text after it (without -p the task is read from stdin)\n" },
	{ "-p|", "-p: is empty\n" },
	{ "-m", "-m: needs NAME after it\n" },
	{ "-m|--check", "-m: needs NAME before --check (or write --model=NAME)\n" },
	{ "--check=yes", "--check: takes no value\n" },
	{ "-t|0", "-t: must be a whole number, from 1 to 1000000, not '0'\n" },
	{ "-b|0", "-b: 0 is not allowed: leave the key out for no limit\n" },
	{ "--wall-time=5", "--wall-time: must be a duration such as 90s, 15m or 2h, from 0 to 8760h, not '5'\n" },
	{ "--tools|Read,raed",
	  "--tools: must be Read, Write, Edit, Glob, Grep, Bash or TodoWrite, not 'raed' (did you mean Read?)\n" },
	{ "--allowedTools|Read Bash(git log *),Bash(x",
	  "--allowedTools: the rule 'Bash(x' is malformed: a ')' is missing at the end; write \\( and \\) for single "
	  "parentheses\n" },
	{ "--print-schema|jobs", "--print-schema: must be job or events, not 'jobs'\n" },
	{ "--set|x", "--set: must be KEY=VALUE, as in limits.max_turns=5\n" },
	{ "--set|limits.max_turn=5", "--set limits.max_turn: unknown key (did you mean max_turns?)\n" },
	{ "--set|max_turns=5", "--set max_turns: unknown key (did you mean limits.max_turns?)\n" },
	{ "--set|limits={max_turns: 5}", "--set limits: a group of keys: set one of them, as in limits.KEY=VALUE\n" },
	{ "--set|limits.max_turns=x", "--set limits.max_turns: must be a whole number, from 1 to 1000000, not 'x'\n" },
	{ "--set|tools.builtin=[Read",
	  "--set tools.builtin: did not find expected ',' or ']' (while parsing a flow sequence)\n" },
	{ "--provider|replay", "model.provider: replay needs a tape: --replay FILE, or replay: in the job\n" },
	{ "--system-prompt|\xff", "--system-prompt: invalid UTF-8 at byte 0\n" },
	{ "fix the bug", "cannot open job file 'fix the bug': No such file or directory (did you mean -p?)\n" },
	{ "/dev/null|b",
	  "b: there is a job file already, /dev/null (did you mean -p?)\n/dev/null: the job file is empty\n" },
	{ "/tmp", "/tmp: a directory, not a job file (did you mean -C?)\n" },
	{ "--|--check", "cannot open job file '--check': No such file or directory (did you mean -p?)\n" },
};

static void test_errors(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof wrongs / sizeof wrongs[0]; i++)
		expect_errors(wrongs[i].words, NULL, wrongs[i].errors);
}

static void test_actions(void **state)
{
	static const struct {
		const char *words;
		enum job_action action;
		bool verbose, quiet;
	} rows[] = {
		{ "-v", ACTION_VERSION, false, false },
		{ "-v|-n", ACTION_RUN, true, false },
		{ "-nv", ACTION_RUN, true, false },
		{ "-v|-q", ACTION_RUN, false, true },
		{ "-V", ACTION_VERSION, false, false },
		{ "--nonsense|-h", ACTION_HELP, false, false },
		{ "--check|--help", ACTION_HELP, false, false },
		{ "--check", ACTION_CHECK, false, false },
		{ "--print-schema=events", ACTION_SCHEMA_EVENTS, false, false },
		{ "--print-schema|job", ACTION_SCHEMA_JOB, false, false },
		{ "--print", ACTION_RUN, false, false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct trial t;
		try_begin(&t, rows[i].words, NULL, NULL);
		assert_int_equal(t.rc, 0);
		assert_int_equal(t.job.action, rows[i].action);
		assert_int_equal(t.job.verbose, rows[i].verbose);
		assert_int_equal(t.job.quiet, rows[i].quiet);
		try_end(&t);
	}
}

static void test_values(void **state)
{
	struct trial t;
	const struct job *j = &t.job;

	(void)state;
	try_begin(&t, "-p|do it|-m=x|-t|5", NULL, NULL);
	char *errors = try_errors(&t);
	assert_string_equal(errors, "-m=x: the value of -m is the next word\n");
	free(errors);
	try_end(&t);

	try_begin(&t,
	          "-p|do it|-n|-m|m1|-t|5|--max-turns=6|-b|500k|--add-dir|a, b|--add-dir=c|--tools=Read Grep,Bash|"
	          "--allowed-tools|Read|--allowedTools|Bash|--max-budget-usd|0.10|--wall-time|90s|--replay|tape|"
	          "--dangerously-skip-permissions|--include-partial-messages|--fallback-model|b,c",
	          NULL, NULL);
	assert_string_equal(buf_str(&t.errs.text), "");
	assert_string_equal(j->prompt, "do it");
	assert_true(j->prompt_from_option);
	assert_int_equal(j->stdin_mode, STDIN_NONE);
	assert_string_equal(j->model, "m1");
	assert_int_equal(j->max_turns, 6);
	assert_int_equal(j->token_budget, 500000);
	assert_string_equal(j->add_dirs[0], "a, b");
	assert_string_equal(j->add_dirs[1], "c");
	assert_null(j->add_dirs[2]);
	assert_string_equal(j->tools[0], "Read");
	assert_string_equal(j->tools[2], "Bash");
	assert_null(j->tools[3]);
	assert_string_equal(j->allow[1], "Bash");
	assert_int_equal(j->max_cost_nano_usd, 100000000);
	assert_int_equal(j->wall_time_ms, 90000);
	assert_string_equal(j->provider, "replay");
	assert_int_equal(j->replay_path[0], '/');
	assert_string_equal(strrchr(j->replay_path, '/'), "/tape");
	assert_string_equal(j->permission_mode, "bypassPermissions");
	assert_true(j->partial);
	assert_string_equal(j->fallback[0], "b");
	assert_string_equal(j->fallback[1], "c");
	assert_null(j->fallback[2]);
	assert_int_equal(j->context_window, 0);
	assert_int_equal(j->microcompact_at.value, 60);
	assert_int_equal(j->snip_at.kind, MARK_OFF);
	assert_true(j->autocompact);
	try_end(&t);
}

static void test_set(void **state)
{
	struct trial t;
	const struct job *j = &t.job;

	(void)state;
	try_begin(&t,
	          "--set|limits.max_requests=7|--set|prompt=what: is # this|--set|env.A=1: 2|--set|env={A: z, B: no}|"
	          "--set|model.headers.X-A=b|--set|model.thinking={type: "
	          "disabled}|--set|tools.builtin=[Read]|--set|name=",
	          NULL, NULL);
	char *errors = try_errors(&t);
	assert_string_equal(errors, "--set name: is empty\n");
	free(errors);
	assert_int_equal(j->max_requests, 7);
	assert_string_equal(j->prompt, "what: is # this");
	assert_true(j->prompt_from_option);
	assert_int_equal(j->nenv, 2);
	assert_string_equal(j->env[0].value, "z");
	assert_string_equal(j->env[1].value, "no");
	assert_string_equal(j->headers[0].name, "X-A");
	assert_string_equal(j->thinking_json, "{\"type\":\"disabled\"}");
	assert_string_equal(j->tools[0], "Read");
	assert_null(j->tools[1]);
	try_end(&t);
}

static void test_precedence(void **state)
{
	static const char *const both[] = { "QUERN_MODEL=q", "ANTHROPIC_MODEL=a", "ANTHROPIC_BASE_URL=https://a",
		                            NULL };
	static const char *const vendor[] = { "QUERN_MODEL=", "ANTHROPIC_MODEL=a", "ANTHROPIC_BASE_URL=https://a",
		                              NULL };
	static const char *const none[] = { NULL };
	static const char file[] =
	        "model: {name: f, base_url: 'https://f'}\nenv: {A: f, B: f}\npermissions: {deny: [Bash]}";
	static const struct {
		const char *words, *yaml;
		const char *const *env;
		const char *model, *url;
		bool url_given;
	} rows[] = {
		{ "-m|o|@", file, both, "o", "https://f", true },
		{ "@", file, both, "q", "https://f", true },
		{ "@", file, vendor, "f", "https://f", true },
		{ "-n", NULL, both, "q", "https://a", true },
		{ "-n", NULL, vendor, "a", "https://a", true },
		{ "-n", NULL, none, "claude-sonnet-5-5", "https://api.anthropic.com", false },
		{ "--replay|x", NULL, vendor, "claude-sonnet-5-5", "https://api.anthropic.com", false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct trial t;
		try_begin(&t, rows[i].words, rows[i].yaml, rows[i].env);
		assert_int_equal(t.rc, 0);
		assert_string_equal(t.job.model, rows[i].model);
		assert_string_equal(t.job.base_url, rows[i].url);
		assert_int_equal(t.job.base_url_given, rows[i].url_given);
		try_end(&t);
	}
	struct trial t;
	try_begin(&t, "--set|env.A=o|--disallowed-tools|Write|@", file, none);
	assert_int_equal(t.rc, 0);
	assert_int_equal(t.job.nenv, 2);
	assert_string_equal(t.job.env[0].value, "o"); /* maps are merged by name */
	assert_string_equal(t.job.env[1].value, "f");
	assert_string_equal(t.job.deny[0], "Write"); /* lists are replaced */
	assert_null(t.job.deny[1]);
	try_end(&t);
}

/* A stale variable must not spoil a run that overrides it; a bad one that counts is an error with its name. */
static void test_bad_variable(void **state)
{
	static const char *const env[] = { "ANTHROPIC_BASE_URL=nonsense", NULL };
	struct trial t;

	(void)state;
	try_begin(&t, "--base-url|http://127.0.0.1:1", NULL, env);
	assert_int_equal(t.rc, 0);
	try_end(&t);
	try_begin(&t, "-n", NULL, env);
	assert_int_equal(t.rc, -1);
	assert_string_equal(buf_str(&t.errs.text), "ANTHROPIC_BASE_URL: must begin with https:// or http://\n");
	try_end(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_errors), cmocka_unit_test(test_actions),    cmocka_unit_test(test_values),
		cmocka_unit_test(test_set),    cmocka_unit_test(test_precedence), cmocka_unit_test(test_bad_variable),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
