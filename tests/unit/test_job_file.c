/* Job files: what is understood, and every error with its place. */
#include "job_try.h"

struct wrong {
	const char *yaml, *errors;
};

static const struct wrong wrongs[] = {
	/* numbers: the whole of the text or an error, never a prefix, never "no limit" */
	{ "limits: {max_turns: 0}",
	  "job.yaml:1:21: limits.max_turns: must be a whole number, from 1 to 1000000, not '0'\n" },
	{ "limits: {max_turns: -1}",
	  "job.yaml:1:21: limits.max_turns: must be a whole number, from 1 to 1000000, not '-1'\n" },
	{ "limits: {max_turns: 1.5}",
	  "job.yaml:1:21: limits.max_turns: must be a whole number, from 1 to 1000000, not '1.5'\n" },
	{ "limits: {max_turns: 010}",
	  "job.yaml:1:21: limits.max_turns: must be a whole number, from 1 to 1000000, not '010'\n" },
	{ "limits: {max_turns: 1_000}",
	  "job.yaml:1:21: limits.max_turns: must be a whole number, from 1 to 1000000, not '1_000'\n" },
	{ "limits: {max_turns: 99999999999999999999}",
	  "job.yaml:1:21: limits.max_turns: must be a whole number, from 1 to 1000000, not '99999999999999999999'\n" },
	{ "limits: {max_turns: \"7\"}", "job.yaml:1:21: limits.max_turns: a number must not be quoted\n" },
	{ "limits: {max_turns: seven}",
	  "job.yaml:1:21: limits.max_turns: must be a whole number, from 1 to 1000000, not 'seven'\n" },
	{ "limits: {max_turns: }",
	  "job.yaml:1:21: limits.max_turns: must be a whole number, from 1 to 1000000, not ''\n" },
	{ "limits: {max_turns: [1]}", "job.yaml:1:21: limits.max_turns: must be a whole number, from 1 to 1000000\n" },
	{ "limits:\n  max_cost_usd: 5,00", "job.yaml:2:17: limits.max_cost_usd: must be an amount in dollars such as "
	                                   "2.50, from 0.000000001 to 1000000.00, "
	                                   "not '5,00'\n" },
	{ "limits:\n  max_cost_usd: $5", "job.yaml:2:17: limits.max_cost_usd: must be an amount in dollars such as "
	                                 "2.50, from 0.000000001 to 1000000.00, "
	                                 "not '$5'\n" },
	{ "limits:\n  max_cost_usd: .nan", "job.yaml:2:17: limits.max_cost_usd: must be an amount in dollars such as "
	                                   "2.50, from 0.000000001 to 1000000.00, "
	                                   "not '.nan'\n" },
	{ "limits:\n  max_cost_usd: .inf", "job.yaml:2:17: limits.max_cost_usd: must be an amount in dollars such as "
	                                   "2.50, from 0.000000001 to 1000000.00, "
	                                   "not '.inf'\n" },
	{ "limits:\n  max_cost_usd: 1e309", "job.yaml:2:17: limits.max_cost_usd: must be an amount in dollars such as "
	                                    "2.50, from 0.000000001 to 1000000.00, "
	                                    "not '1e309'\n" },
	{ "limits:\n  max_cost_usd: -1", "job.yaml:2:17: limits.max_cost_usd: must be an amount in dollars such as "
	                                 "2.50, from 0.000000001 to 1000000.00, "
	                                 "not '-1'\n" },
	{ "limits:\n  max_cost_usd: 0",
	  "job.yaml:2:17: limits.max_cost_usd: 0 is not allowed: leave the key out for no limit\n" },
	{ "limits: {wall_time: 10}",
	  "job.yaml:1:21: limits.wall_time: must be a duration such as 90s, 15m or 2h, from 0 to 8760h, not '10'\n" },
	{ "limits: {wall_time: 1e3}",
	  "job.yaml:1:21: limits.wall_time: must be a duration such as 90s, 15m or 2h, from 0 to 8760h, not '1e3'\n" },
	{ "output: {partial: yes}", "job.yaml:1:19: output.partial: must be true or false, without quotes\n" },
	{ "output: {partial: \"false\"}", "job.yaml:1:19: output.partial: must be true or false, without quotes\n" },
	{ "model: []", "job.yaml:1:8: model: must be a map of keys, as in {name: ...}\n" },
	{ "model: {name: {}}", "job.yaml:1:15: model.name: must be a string\n" },
	{ "tools: Read", "job.yaml:1:8: tools: must be a map of keys, as in {builtin: ...}\n" },
	{ "tools: {builtin: Read}", "job.yaml:1:18: tools.builtin: must be a list, as in [Read]\n" },
	{ "tools:\n  external:\n    - nam: x\n      command: []\n      timeout: 25h",
	  "job.yaml:3:7: tools.external[0].nam: unknown key (did you mean name?)\n"
	  "job.yaml:4:16: tools.external[0].command: must begin with the name of a program\n"
	  "job.yaml:5:16: tools.external[0].timeout: must be a duration such as 90s, 15m or 2h, from 0 to 24h, not "
	  "'25h'\n"
	  "job.yaml:3:7: tools.external[0]: name is missing\n"
	  "job.yaml:3:7: tools.external[0]: description is missing\n" },
	{ "tools: {external: [{name: Read, description: d, command: [x]}, 7]}",
	  "job.yaml:1:27: tools.external[0].name: 'Read' is the name of a built-in tool\n"
	  "job.yaml:1:64: tools.external[1]: must be a map, as in {name: run_tests, description: ..., command: [make, "
	  "check]}\n" },
	{ "tools: {external: [{name: a b, description: '', command: x, read_only: 1}]}",
	  "job.yaml:1:27: tools.external[0].name: must be 1 to 64 letters, digits, _ or -\n"
	  "job.yaml:1:45: tools.external[0].description: is empty\n"
	  "job.yaml:1:58: tools.external[0].command: must be a list, as in [make, check]\n"
	  "job.yaml:1:72: tools.external[0].read_only: must be true or false, without quotes\n" },
	{ "tools:\n  external:\n"
	  "  - {name: a, description: d, command: [x], input_schema: {type: object, properties: {b: {typ: string}}}}\n"
	  "  - {name: a, description: d, command: [x, x], input_schema: {type: array}, env: [A=B]}\n",
	  "job.yaml:3:90: tools.external[0].input_schema: at /properties/b: unknown keyword 'typ' (did you mean "
	  "type?)\n"
	  "job.yaml:4:83: tools.external[1].env: a variable's name must not hold '=' or control characters\n"
	  "job.yaml:4:12: tools.external[1].name: another tool has this name already\n"
	  "job.yaml:4:69: tools.external[1].input_schema: needs type: object\n" },
	{ "tools:\n  external:\n"
	  "  - name: a\n    description: d\n    command: [x]\n    input_schema:\n      type: object\n      "
	  "properties:\n"
	  "        a/b:\n          anyOf:\n            - type: string\n            - type: strin\n",
	  "job.yaml:12:21: tools.external[0].input_schema: at /properties/a~1b/anyOf/1/type: not a type: use null, "
	  "boolean, integer, number, string, array or object\n" },
	{ "tools: {external: x}", "job.yaml:1:19: tools.external: must be a list of tools, as in [{name: run_tests, "
	                          "description: ..., command: [make, check]}]\n" },
	{ "tools: {builtin: [Read, 1, null]}",
	  "job.yaml:1:25: tools.builtin: must be Read, Write, Edit, Glob, Grep, Bash or TodoWrite, not '1'\n"
	  "job.yaml:1:28: tools.builtin: must be Read, Write, Edit, Glob, Grep, Bash or TodoWrite, not 'null'\n" },

	/* names */
	{ "limits:\n  max_turn: 5", "job.yaml:2:3: limits.max_turn: unknown key (did you mean max_turns?)\n" },
	{ "max_turns: 5", "job.yaml:1:1: max_turns: unknown key (did you mean limits.max_turns?)\n" },
	{ "limit: {max_turns: 5}", "job.yaml:1:1: limit: unknown key (did you mean limits?)\n" },
	{ "limits.max_turns: 5", "job.yaml:1:1: limits.max_turns: unknown key\n" },
	{ "archive: off", "job.yaml:1:1: archive: unknown key (did you mean workspace.archive?)\n" },
	{ "\"a\\nb\": 1", "job.yaml:1:1: a?b: unknown key\n" },
	{ "version: 2", "job.yaml:1:10: version: must be 1, not '2'\n" },

	/* the model */
	{ "model: {effort: hihg}",
	  "job.yaml:1:17: model.effort: must be low, medium, high, xhigh or max, not 'hihg' (did you mean high?)\n" },
	{ "model: {provider: replay}", "model.provider: replay needs a tape: --replay FILE, or replay: in the job\n" },
	{ "model: {base_url: ftp://x}", "job.yaml:1:19: model.base_url: must begin with https:// or http://\n" },
	{ "model: {base_url: 'https://u:hunter2@x'}",
	  "job.yaml:1:19: model.base_url: must not hold a user or password: give the key by model.api_key_env or "
	  "model.api_key_file\n" },
	{ "model: {headers: {Authorization: Bearer hunter2}}",
	  "job.yaml:1:19: model.headers.Authorization: auth headers are not set here: use model.api_key_env or "
	  "model.api_key_file\n" },
	{ "model: {headers: {'X-A': \"a\\r\\nX-Injected: 1\"}}",
	  "job.yaml:1:19: model.headers.X-A: a header's value must not hold line breaks or control characters\n" },
	{ "model: {headers: {'X A': b}}",
	  "job.yaml:1:19: model.headers.X A: a header's name takes letters, digits and !#$%&'*+-.^_`|~\n" },
	{ "model: {headers: {X-A: [b]}}", "job.yaml:1:24: model.headers.X-A: must be a string\n" },
	{ "model: {extra: {messages: []}}",
	  "job.yaml:1:17: model.extra.messages: quern sets this field of the request itself\n" },
	{ "model: {extra: [1]}", "job.yaml:1:16: model.extra: must be an object\n" },
	{ "model: {thinking: {a: .inf}}", "job.yaml:1:19: model.thinking: line 1, column 23: JSON has no .inf\n" },
	{ "version: 1\nresume: \"-\"\n",
	  "job.yaml:2:9: resume: is not read from stdin: name the file (./- is a file of that name)\n" },
	{ "model: {api_key_file: ~/key}",
	  "job.yaml:1:23: model.api_key_file: '~' is not expanded here: write the directory out (./~ is a file of that "
	  "name)\n" },

	{ "model: {name: a, fallback: [b, a, b]}",
	  "model.fallback: 'a' is in the row of models already: none is tried twice\n"
	  "model.fallback: 'b' is in the row of models already: none is tried twice\n" },
	{ "model: {fallback: [a b]}", "job.yaml:1:20: model.fallback: must not hold spaces\n" },

	/* the context window */
	{ "context: {window: 0}",
	  "job.yaml:1:19: context.window: must be a number of tokens such as 8000, 500k or 5M, from 1k to 1000M, or "
	  "auto, "
	  "not '0'\n" },
	{ "context: {collapse_at: 0%}",
	  "job.yaml:1:24: context.collapse_at: must be a mark such as 60%, 150k or off, not '0%'\n" },
	{ "context: {collapse_at: auto}",
	  "job.yaml:1:24: context.collapse_at: must be a mark such as 60%, 150k or off, not 'auto'\n" },
	{ "context: {blocking_at: often}",
	  "job.yaml:1:24: context.blocking_at: must be a mark such as 60%, 150k or off, or auto, not 'often'\n" },
	{ "context: {snip_at: [60%]}", "job.yaml:1:20: context.snip_at: must be a mark such as 60%, 150k or off\n" },
	{ "context: {collapse: 5}", "job.yaml:1:11: context.collapse: unknown key (did you mean collapse_at?)\n" },

	/* texts, rules, variables */
	{ "prompt: ''", "job.yaml:1:9: prompt: is empty\n" },
	{ "prompt: \" \\n\"", "job.yaml:1:9: prompt: is empty\n" },
	{ "permissions: {allow: ['Bash(make *)', 'Bash(make']}",
	  "job.yaml:1:39: permissions.allow: the rule 'Bash(make' is malformed: a ')' is missing at the end; write \\( "
	  "and "
	  "\\) for single parentheses\n" },
	{ "permissions: {deny: [Read(!x)]}",
	  "job.yaml:1:22: permissions.deny: the rule 'Read(!x)' is malformed: a path rule cannot be turned round with "
	  "'!'; write the opposite rule (\\! is the character)\n" },
	{ "env: {'A=B': c}", "job.yaml:1:7: env.A=B: a variable's name must not hold '=' or control characters\n" },
	{ "env: [A]", "job.yaml:1:6: env: must be a map of names to strings\n" },
	{ "stdin: all", "job.yaml:1:8: stdin: must be none or context, not 'all'\n" },
	{ "events: a\nreplay: a", "events: must not be what is replayed\n" },
	{ "events: a\nrecord: a", "record: must not be the file of the events\n" },
	{ "record: a\nreplay: a", "record: must not be what is replayed\n" },
	{ "record: a\nworkspace: {save: a}", "workspace.save: must not be the record\n" },
	{ "workspace: {save: a, patch: a}", "workspace.patch: must not be what workspace.save names\n" },
	{ "resume: a\nworkspace: {patch: a}", "workspace.patch: must not be what is resumed\n" },
	{ "workspace: {archive: a, save: a}", "workspace.save: must not be the archive of the workspace\n" },

	/* YAML itself */
	{ "", "job.yaml: the job file is empty\n" },
	{ "# nothing\n", "job.yaml: the job file is empty\n" },
	{ "just words", "job.yaml:1:1: a job file is a map of keys, as in prompt: TEXT\n" },
	{ "name: a\nname: b", "job.yaml:2:1: the key 'name' is there twice\n" },
	{ "name: !!python/object x", "job.yaml:1:7: tags are not allowed\n" },
	{ "name: &a x", "job.yaml:1:7: anchors are not allowed\n" },
	{ "env: {<<: {A: b}}", "job.yaml:1:7: merge keys are not allowed\n" },
};

static void test_errors(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof wrongs / sizeof wrongs[0]; i++)
		expect_errors("@", wrongs[i].yaml, wrongs[i].errors);
}

static void test_all_errors_at_once(void **state)
{
	(void)state;
	expect_errors("--max-turns|x|@", "nam: a\nlimits:\n  max_turns: 0\n",
	              "--max-turns: must be a whole number, from 1 to 1000000, not 'x'\n"
	              "job.yaml:1:1: nam: unknown key (did you mean name?)\n"
	              "job.yaml:3:14: limits.max_turns: must be a whole number, from 1 to 1000000, not '0'\n");
}

static const char *env_of(const struct job *job, const char *name)
{
	for (size_t i = 0; i < job->nenv; i++)
		if (!strcmp(job->env[i].name, name))
			return job->env[i].value;
	return NULL;
}

/* What YAML 1.1 readers turn into booleans, octal, dates and times stays the text it is. */
static void test_strings_as_written(void **state)
{
	static const char *const pairs[][2] = {
		{ "COUNTRY", "no" },      { "SWITCH", "on" }, { "YES", "yes" },   { "VERSION", "1.10" },
		{ "ZIP", "01234" },       { "HEX", "0x1F" },  { "EXP", "1e3" },   { "TIME", "12:30:45" },
		{ "DATE", "2026-01-02" }, { "TILDE", "~" },   { "TRUE", "true" }, { "y", "n" },
	};
	struct trial t;
	char yaml[1024] = "env:\n";

	(void)state;
	for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++)
		snprintf(yaml + strlen(yaml), sizeof yaml - strlen(yaml), "  %s: %s\n", pairs[i][0], pairs[i][1]);
	snprintf(yaml + strlen(yaml), sizeof yaml - strlen(yaml), "%s", "  NOTHING:\n  QUOTED: \"no\"\nname: yes\n");
	try_begin(&t, "@", yaml, NULL);
	assert_string_equal(buf_str(&t.errs.text), "");
	for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++)
		assert_string_equal(env_of(&t.job, pairs[i][0]), pairs[i][1]);
	assert_string_equal(env_of(&t.job, "NOTHING"), "");
	assert_string_equal(env_of(&t.job, "QUOTED"), "no");
	assert_string_equal(t.job.name, "yes");
	try_end(&t);
}

static void test_a_whole_job(void **state)
{
	static const char yaml[] =
	        "version: 1\nname: fix\n"
	        "model: {name: m, max_output_tokens: 8k, thinking: {type: adaptive, n: 1e3}, effort: high, betas: "
	        "[b-1],\n"
	        "  max_retries: 0, max_retry_wait: 0, idle_timeout: \"90s\", headers: {X-A: on}, extra: {top_k: "
	        "0x10}}\n"
	        "context: {window: 12k, microcompact_at: off, collapse_at: '75%', snip_at: 90%, autocompact: false,\n"
	        "  autocompact_at: auto, blocking_at: 11900, microcompact_keep: 2, summary_model: s}\n"
	        "prompt: |\n  Make it pass.\nstdin: context\nenv: {MAKEFLAGS: -j2}\n"
	        "workspace: {dir: w, add_dirs: [a b, c]}\n"
	        "limits: {max_turns: 20, token_budget: 5M, max_cost_usd: 2.5, wall_time: 15m, stdin_bytes: 1KiB}\n"
	        "tools: {builtin: [Read, Bash, Read], env_keep: [GH_TOKEN]}\n"
	        "permissions: {mode: acceptEdits, allow: [Bash], deny: [Write]}\n"
	        "output: {format: json, partial: true}\nrun_dir: /x\n";
	struct trial t;

	(void)state;
	try_begin(&t, "@", yaml, NULL);
	const struct job *j = &t.job;
	assert_string_equal(buf_str(&t.errs.text), "");
	assert_string_equal(j->model, "m");
	assert_int_equal(j->max_output_tokens, 8000);
	assert_string_equal(j->thinking_json, "{\"type\":\"adaptive\",\"n\":1e3}");
	assert_string_equal(j->extra_json, "{\"top_k\":16}");
	assert_string_equal(j->betas[0], "b-1");
	assert_null(j->betas[1]);
	assert_int_equal(j->max_retries, 0);
	assert_int_equal(j->max_retry_wait_ms, 0);
	assert_int_equal(j->idle_ms, 90000);
	assert_int_equal(j->connect_ms, 30000);
	assert_string_equal(j->headers[0].value, "on");
	assert_int_equal(j->context_window, 12000);
	assert_int_equal(j->microcompact_at.kind, MARK_OFF);
	assert_int_equal(j->collapse_at.kind, MARK_PERCENT);
	assert_int_equal(j->collapse_at.value, 75);
	assert_int_equal(j->snip_at.value, 90);
	assert_false(j->autocompact);
	assert_int_equal(j->autocompact_at.kind, MARK_AUTO);
	assert_int_equal(j->blocking_at.kind, MARK_TOKENS);
	assert_int_equal(j->blocking_at.value, 11900);
	assert_int_equal(j->microcompact_keep, 2);
	assert_null(j->compact_model);
	assert_string_equal(j->summary_model, "s");
	assert_string_equal(j->prompt, "Make it pass.\n");
	assert_false(j->prompt_from_option);
	assert_int_equal(j->stdin_mode, STDIN_CONTEXT);
	assert_string_equal(j->workspace, "w");
	assert_string_equal(j->add_dirs[0], "a b");
	assert_int_equal(j->max_turns, 20);
	assert_int_equal(j->token_budget, 5000000);
	assert_true(j->max_cost_nano_usd == INT64_C(2500000000));
	assert_int_equal(j->wall_time_ms, 900000);
	assert_int_equal(j->stdin_bytes, 1024);
	assert_int_equal(j->run_dir_bytes, 256 << 20);
	assert_string_equal(j->tools[1], "Bash");
	assert_null(j->tools[2]); /* named twice is once */
	assert_true(j->tools_explicit);
	assert_string_equal(j->env_keep[0], "GH_TOKEN");
	assert_string_equal(j->permission_mode, "acceptEdits");
	assert_string_equal(j->deny[0], "Write");
	assert_string_equal(j->output_format, "json");
	assert_true(j->output_format_known);
	assert_true(j->partial);
	assert_string_equal(j->run_dir, "/x");
	try_end(&t);
}

static void test_format_is_known_when_it_can_be(void **state)
{
	static const struct {
		const char *words, *yaml, *format;
		bool known;
	} rows[] = {
		{ "-p|x", NULL, "stream-json", true },
		{ "-p|x|-o|json|--nonsense", NULL, "json", true },
		{ "-p|x|--nonsense", NULL, "stream-json", false },
		{ "-o|xml", NULL, "stream-json", false },
		{ "@", "output: {format: text}\nname: [", "stream-json", false },
		{ "@", "output: {format: text}\nnam: a", "text", true },
		{ "@|-o|json", "name: [", "json", true },
		{ "-p|x|--max-turns|0", NULL, "stream-json", true },
		{ "-p|x|--tools|Red,Wite", NULL, "stream-json", true },
		{ "-p|x|--max-turns|0|--nonsense", NULL, "stream-json", false },
		{ "@", "limits: {max_turns: 0}", "stream-json", true },
		{ "@", "limits: {max_turn: 1}", "stream-json", false },
		{ "@", "output: json", "stream-json", false },
		{ "@", "output: {format: xml}", "stream-json", false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct trial t;
		try_begin(&t, rows[i].words, rows[i].yaml, NULL);
		assert_string_equal(t.job.output_format, rows[i].format);
		assert_int_equal(t.job.output_format_known, rows[i].known);
		try_end(&t);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_errors),
		cmocka_unit_test(test_all_errors_at_once),
		cmocka_unit_test(test_strings_as_written),
		cmocka_unit_test(test_a_whole_job),
		cmocka_unit_test(test_format_is_known_when_it_can_be),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
