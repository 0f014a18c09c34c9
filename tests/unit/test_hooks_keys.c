/* Hooks, the verification and prices as job files declare them. */
#include "job_try.h"

#include <stdint.h>

#define H(members) "hooks: {Stop: [{hooks: [{type: command, command: x, " members "}]}]}"
#define T(members) "hooks: {PreToolUse: [{hooks: [{type: command, command: x, " members "}]}]}"

static const struct {
	const char *yaml, *errors;
} wrongs[] = {
	/* the layout */
	{ "hooks: 7", "job.yaml:1:8: hooks: must be a map of events, as in {Stop: [{hooks: [{type: command, command: "
	              "./check.sh}]}]}\n" },
	{ "hooks: {PreToolUs: []}", "job.yaml:1:9: hooks: PreToolUs: no such event (did you mean PreToolUse?)\n" },
	{ "hooks: {Whatever: []}", "job.yaml:1:9: hooks: Whatever: no such event\n" },
	{ "hooks: {Verify: []}", "job.yaml:1:9: hooks: Verify: no such event\n" },
	{ "hooks: {Stop: {}}", "job.yaml:1:15: hooks.Stop: must be a list, as in [{hooks: [{type: command, command: "
	                       "./check.sh}]}]\n" },
	{ "hooks: {Stop: [x]}", "job.yaml:1:16: hooks.Stop[0]: must be a map, as in {matcher: Bash, hooks: [{type: "
	                        "command, command: ./check.sh}]}\n" },
	{ "hooks: {Stop: [{type: command, command: x}]}",
	  "job.yaml:1:17: hooks.Stop[0]: 'type' is none of matcher and hooks, which holds the handlers\n" },
	{ "hooks: {Stop: [{matcher: a}]}", "job.yaml:1:16: hooks.Stop[0]: hooks, the list of handlers, is missing\n" },
	{ "hooks: {Stop: [{matcher: [a], hooks: []}]}", "job.yaml:1:26: hooks.Stop[0]: matcher must be a string\n" },
	{ "hooks: {Stop: [{hooks: []}, {hooks: {}}]}",
	  "job.yaml:1:37: hooks.Stop[1]: hooks must be a list, as in [{type: command, command: ./check.sh}]\n" },
	{ "hooks: {Stop: [{hooks: [x]}]}",
	  "job.yaml:1:25: hooks.Stop[0].hooks[0]: must be a map, as in {type: command, command: ./check.sh}\n" },

	/* a handler */
	{ "hooks: {Stop: [{hooks: [{typ: command}]}]}",
	  "job.yaml:1:26: hooks.Stop[0].hooks[0].typ: unknown key (did you mean type?)\n"
	  "job.yaml:1:25: hooks.Stop[0].hooks[0]: type is missing\n"
	  "job.yaml:1:25: hooks.Stop[0].hooks[0]: command is missing\n" },
	{ "hooks: {Stop: [{hooks: [{type: http, url: u}]}]}",
	  "job.yaml:1:32: hooks.Stop[0].hooks[0]: only hooks of type command are run, not 'http'\n" },
	{ "hooks: {Stop: [{hooks: [{type: command, command: ' '}]}]}",
	  "job.yaml:1:50: hooks.Stop[0].hooks[0].command: is empty\n" },
	{ H("timeout: 0"),
	  "job.yaml:1:62: hooks.Stop[0].hooks[0].timeout: must be a duration such as 90s, 15m or 2h, from 1ms to 24h, "
	  "or a number of seconds, not '0'\n" },
	{ H("timeout: 10 s"),
	  "job.yaml:1:62: hooks.Stop[0].hooks[0].timeout: must be a duration such as 90s, 15m or 2h, from 1ms to 24h, "
	  "or a number of seconds, not '10 s'\n" },
	{ H("timeout: \"10\""), "job.yaml:1:62: hooks.Stop[0].hooks[0].timeout: a number must not be quoted\n" },
	{ H("args: y"), "job.yaml:1:59: hooks.Stop[0].hooks[0].args: must be a list, as in [a, b]\n" },
	{ H("onFailure: closed"),
	  "job.yaml:1:64: hooks.Stop[0].hooks[0].onFailure: must be open or block, not 'closed'\n" },
	{ H("shell: powershell"),
	  "job.yaml:1:60: hooks.Stop[0].hooks[0]: only sh and bash run commands: this hook does not run\n" },
	{ H("shell: bash, args: [y]"), "job.yaml:1:60: hooks.Stop[0].hooks[0]: no shell reads a command with args\n" },
	{ H("once: true"), "job.yaml:1:59: hooks.Stop[0].hooks[0]: once is not supported: the hook runs each time\n" },
	{ H("asyncRewake: true"), "job.yaml:1:66: hooks.Stop[0].hooks[0]: asyncRewake is not supported: without it the "
	                          "hook is waited for, with "
	                          "async: true it runs beside the work\n" },
	{ H("if: Bash"), "job.yaml:1:57: hooks.Stop[0].hooks[0]: if is about calls of tools: with it a hook of this "
	                 "event never runs\n" },
	{ T("if: 'Bash('"), "job.yaml:1:63: hooks.PreToolUse[0].hooks[0].if: the rule 'Bash(' is malformed: a ')' is "
	                    "missing at the end; write \\( and \\) for single parentheses\n" },
	{ "hook_failure: closed", "job.yaml:1:15: hook_failure: must be open or block, not 'closed'\n" },

	/* the verification */
	{ "verify: {command: make check}", "job.yaml:1:19: verify.command: must be a list, as in [make, check]\n" },
	{ "verify: {command: []}", "job.yaml:1:19: verify.command: must begin with the name of a program\n" },
	{ "verify: {command: ['']}", "job.yaml:1:19: verify.command: must begin with the name of a program\n" },
	{ "verify: {max_repairs: 2}", "verify.command: is missing: without it nothing is verified\n" },
	{ "verify: {comand: [x]}", "job.yaml:1:10: verify.comand: unknown key (did you mean command?)\n" },

	/* prices */
	{ "model: {price: 3}", "job.yaml:1:16: model.price: must be a map, as in {input: 3, output: 15}\n" },
	{ "model: {price: {input: 3, outptu: 15}}",
	  "job.yaml:1:27: model.price.outptu: unknown key (did you mean output?)\n"
	  "job.yaml:1:16: model.price: output is missing\n" },
	{ "model: {price: {input: -3, output: 15}}",
	  "job.yaml:1:24: model.price.input: must be an amount in dollars such as 2.50, from 0.00 to 1000000.00, not "
	  "'-3'\n" },

	/* what is told beside the task, and what comes on stdin */
	{ "memory: [auto, x]", "memory: auto stands alone (./auto is a file of that name)\n" },
	{ "memory: [x, off]", "memory: off stands alone (./off is a file of that name)\n" },
	{ "memory: {a: b}", "job.yaml:1:9: memory: must be a list, as in [a, b]\n" },
	{ "output: {replay_user_messages: true}",
	  "input_format: output.replay_user_messages is about messages of stream-json input\n" },
	{ "{input_format: stream-json, output: {format: text}}",
	  "input_format: stream-json needs the output format stream-json\n" },
};

static void test_errors(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof wrongs / sizeof *wrongs; i++)
		expect_errors("@", wrongs[i].yaml, wrongs[i].errors);
}

static const char *const none[] = { NULL };

static void begin(struct trial *t, const char *words, const char *yaml)
{
	try_begin(t, words, yaml, none);
	if (t->rc)
		fail_msg("%s", buf_str(&t->errs.text));
}

static void test_a_handler_with_everything(void **state)
{
	struct trial t;

	(void)state;
	begin(&t, "@",
	      "hook_failure: block\n"
	      "hooks:\n"
	      "  PreToolUse:\n"
	      "    - matcher: Bash|Edit\n"
	      "      hooks:\n"
	      "        - {type: command, command: ./a, args: [x, x], timeout: 1.5, if: Bash(git *), network: true,\n"
	      "           statusMessage: s, onFailure: open}\n"
	      "        - {type: command, command: 'b | c', timeout: 2m, async: true, shell: sh}\n"
	      "    - matcher: null\n"
	      "      hooks:\n"
	      "        - {type: command, command: d, shell: bash, timeout: 90, onFailure: block}\n"
	      "  SessionEnd: [{matcher: '*', hooks: [{type: command, command: e, args: []}]}]\n"
	      "  Stop:\n");
	const struct job_hook *h = t.job.hooks;
	assert_int_equal(t.job.nhooks, 4);
	assert_int_equal(h[0].event, HOOK_PRE_TOOL_USE);
	assert_string_equal(h[0].matcher, "Bash|Edit");
	assert_string_equal(h[0].command, "./a");
	assert_string_equal(h[0].args[0], "x");
	assert_string_equal(h[0].args[1], "x");
	assert_null(h[0].args[2]);
	assert_int_equal(h[0].timeout_ms, 1500);
	assert_string_equal(h[0].if_rule, "Bash(git *)");
	assert_true(h[0].network && !h[0].async && !h[0].blocks);
	assert_non_null(strstr(h[0].source, ":6:11"));
	assert_string_equal(h[1].command, "b | c");
	assert_null(h[1].args);
	assert_int_equal(h[1].timeout_ms, 120000);
	assert_true(h[1].async && h[1].blocks); /* by hook_failure */
	assert_null(h[2].matcher);
	assert_string_equal(h[2].command, "bash");
	assert_string_equal(h[2].args[0], "-c");
	assert_string_equal(h[2].args[1], "d");
	assert_int_equal(h[2].timeout_ms, 90000);
	assert_true(h[2].blocks);
	assert_int_equal(h[3].event, HOOK_SESSION_END);
	assert_null(h[3].matcher); /* "*" is all */
	assert_non_null(h[3].args);
	assert_int_equal(h[3].timeout_ms, 0);
	try_end(&t);
}

static void test_events_that_never_fire_are_told(void **state)
{
	struct trial t;

	(void)state;
	begin(&t, "@", "hooks: {Notification: [{hooks: [{type: command, command: x}]}], Stop: []}");
	assert_int_equal(t.job.nhooks, 0);
	assert_non_null(
	        strstr(t.job.warnings[0], ":1:9: hooks: Notification never happens here: its hooks do not run"));
	assert_null(t.job.warnings[1]);
	try_end(&t);
}

static void test_the_same_handler_runs_once(void **state)
{
	struct trial t;

	(void)state;
	begin(&t, "@",
	      "hooks:\n"
	      "  Stop: [{hooks: [{type: command, command: x, timeout: 1}]}, {matcher: '', hooks: [{type: command, "
	      "command: x}]}]\n"
	      "  PreToolUse: [{matcher: A, hooks: [{type: command, command: x}]}, {hooks: [{type: command, command: "
	      "x},\n"
	      "               {type: command, command: x, args: [a]}, {type: command, command: x, args: [a, b]},\n"
	      "               {type: command, command: x, if: Bash}]}]\n");
	assert_int_equal(t.job.nhooks, 6);
	assert_int_equal(t.job.hooks[0].timeout_ms, 1000);
	try_end(&t);
}

static void test_an_option_replaces_the_files_hooks(void **state)
{
	static const char file[] = "hooks: {Stop: [{hooks: [{type: command, command: x}]}]}";
	struct trial t;

	(void)state;
	begin(&t, "@|--set|hooks={}", file);
	assert_int_equal(t.job.nhooks, 0);
	try_end(&t);
	begin(&t, "--set|hooks={Stop: [{hooks: [{type: command, command: y}]}]}|@", file);
	assert_int_equal(t.job.nhooks, 1);
	assert_string_equal(t.job.hooks[0].command, "y");
	assert_string_equal(t.job.hooks[0].source, "--set hooks");
	try_end(&t);
	expect_errors("--set|hooks={Stopp: []}", NULL,
	              "--set hooks: hooks: Stopp: no such event (did you mean Stop?)\n");
}

static void test_verification(void **state)
{
	struct trial t;

	(void)state;
	begin(&t, "@", "prompt: x");
	assert_null(t.job.verify.command);
	assert_true(t.job.sandbox_hooks);
	assert_int_equal(t.job.max_stop_blocks, 10);
	assert_int_equal(t.job.token_target, 0);
	try_end(&t);
	begin(&t, "@|--token-target|2M",
	      "verify: {command: [make, make], max_repairs: 0, timeout: 0, network: true}\n"
	      "limits: {max_stop_blocks: 0}\n"
	      "sandbox: {hooks: false}\n");
	assert_string_equal(t.job.verify.command[0], "make");
	assert_string_equal(t.job.verify.command[1], "make");
	assert_null(t.job.verify.command[2]);
	assert_int_equal(t.job.verify.max_repairs, 0);
	assert_int_equal(t.job.verify.timeout_ms, 0);
	assert_true(t.job.verify.network && !t.job.sandbox_hooks);
	assert_int_equal(t.job.max_stop_blocks, 0);
	assert_int_equal(t.job.token_target, 2000000);
	try_end(&t);
}

static void test_prices(void **state)
{
	struct trial t;

	(void)state;
	begin(&t, "@", "model: {name: a}");
	assert_int_equal(t.job.price.input, -1);
	try_end(&t);
	begin(&t, "@", "model: {price: {input: 3, output: 0}}");
	assert_int_equal(t.job.price.input, 3000);
	assert_int_equal(t.job.price.output, 0);
	assert_int_equal(t.job.price.cache_read, 3000);
	assert_int_equal(t.job.price.cache_write, 3000);
	try_end(&t);
	/* what is finer than can be counted is not lost */
	begin(&t, "@", "model: {price: {input: 0.0001, output: 15.001, cache_read: 0, cache_write: 3.75}}");
	assert_int_equal(t.job.price.input, 1);
	assert_int_equal(t.job.price.output, 15001);
	assert_int_equal(t.job.price.cache_read, 0);
	assert_int_equal(t.job.price.cache_write, 3750);
	try_end(&t);
}

static void memory_is(const char *words, const char *yaml, bool automatic, const char *files)
{
	struct trial t;
	char got[400] = "", cwd[200];

	assert_non_null(getcwd(cwd, sizeof cwd));
	begin(&t, words, yaml);
	assert_int_equal(t.job.memory_auto, automatic);
	for (const char *const *f = t.job.memory_files; *f; f++) {
		size_t n = strlen(cwd);
		bool here = !strncmp(*f, cwd, n) && (*f)[n] == '/';
		snprintf(got + strlen(got), sizeof got - strlen(got), "%s ", here ? *f + n + 1 : *f);
	}
	assert_string_equal(got, files);
	try_end(&t);
}

static void test_memory(void **state)
{
	(void)state;
	memory_is("@", "prompt: x", false, "");
	memory_is("@", "memory: off", false, "");
	memory_is("@", "memory:", false, "");
	memory_is("@", "memory: auto", true, "");
	memory_is("@", "memory: NOTES.md", false, "NOTES.md ");
	memory_is("@", "memory: [b c, /a, ./auto]", false, "b c /a ./auto ");
	memory_is("@|--memory|off", "memory: auto", false, "");
	memory_is("@|--memory|a|--memory|b, c", "memory: auto", false, "a b, c ");
}

static void test_what_is_told(void **state)
{
	struct trial t;

	(void)state;
	begin(&t, "@|--attach|a b|--attach=*.md|--mentions", "prompt: x");
	assert_string_equal(t.job.attach[0], "a b");
	assert_string_equal(t.job.attach[1], "*.md");
	assert_true(t.job.mentions && t.job.environment && !t.job.stream_input && !t.job.hook_events);
	try_end(&t);
	begin(&t, "@|--bare|--include-hook-events", "system: mine");
	assert_true(!t.job.environment && !t.job.mentions && t.job.hook_events);
	try_end(&t);
	begin(&t, "@", "system: mine\nenvironment: true");
	assert_true(t.job.environment);
	try_end(&t);
	begin(&t, "@", "environment: false");
	assert_false(t.job.environment);
	try_end(&t);
	begin(&t, "--input-format|stream-json|--replay-user-messages", NULL);
	assert_true(t.job.stream_input && t.job.replay_messages);
	try_end(&t);
}

/* What --check prints means the same when it is read again. */
static void test_check_prints_them_back(void **state)
{
	static const char yaml[] =
	        "hook_failure: block\n"
	        "memory: auto\n"
	        "model: {price: {input: 3, output: 0.015}}\n"
	        "verify: {command: [make, check], network: true}\n"
	        "hooks:\n"
	        "  PreToolUse: [{matcher: \"B\\\"a\", hooks: [{type: command, command: \"a\\nb\", timeout: 0.5, if: "
	        "Bash},\n"
	        "    {type: command, command: p, args: ['', '- #'], onFailure: open, async: true, network: true}]}]\n"
	        "  Stop: [{hooks: [{type: command, command: c, shell: bash}]}]\n";
	struct trial one, two;
	struct buf a = BUF_INIT(1 << 20), b = BUF_INIT(1 << 20);

	(void)state;
	begin(&one, "@", yaml);
	job_print_check(&one.job, &a);
	begin(&two, "@", buf_str(&a));
	assert_int_equal(two.job.nhooks, 3);
	for (size_t i = 0; i < one.job.nhooks; i++) /* they stand at other places now */
		two.job.hooks[i].source = one.job.hooks[i].source;
	job_print_check(&two.job, &b);
	assert_string_equal(buf_str(&a), buf_str(&b));
	assert_non_null(strstr(buf_str(&a), "\n  price: {\"input\":3.00,\"output\":0.015,\"cache_read\":3.00,"
	                                    "\"cache_write\":3.00}\n"));
	assert_non_null(strstr(buf_str(&a),
	                       "\n  PreToolUse:\n    - {\"matcher\":\"B\\\"a\",\"hooks\":[{\"type\":"
	                       "\"command\",\"command\":\"a\\nb\",\"timeout\":\"500ms\",\"if\":\"Bash\","));
	try_end(&one);
	try_end(&two);
	buf_release(&a);
	buf_release(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_errors),
		cmocka_unit_test(test_a_handler_with_everything),
		cmocka_unit_test(test_events_that_never_fire_are_told),
		cmocka_unit_test(test_the_same_handler_runs_once),
		cmocka_unit_test(test_an_option_replaces_the_files_hooks),
		cmocka_unit_test(test_verification),
		cmocka_unit_test(test_prices),
		cmocka_unit_test(test_memory),
		cmocka_unit_test(test_what_is_told),
		cmocka_unit_test(test_check_prints_them_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
