/* Bash: exit status, output limits, time, and that nothing waits for a person. */
#include "tool_world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/utf8.h"
#include "tool/shell_status.h"

static const char *bash(struct tool_world *w, const char *command)
{
	return tool_world_call(w, "Bash", "{\"command\":\"%s\"}", command);
}

static void plain_results(void **state)
{
	struct tool_world *w = *state;

	assert_string_equal(bash(w, "echo out; echo err >&2; echo out2"), "out\nerr\nout2\n");
	assert_false(w->result.is_error || w->result.cancels_siblings);
	assert_contains(w->result.structured,
	                "\"stdout\":\"out\\nerr\\nout2\\n\",\"stderr\":\"\",\"interrupted\":false");
	assert_string_equal(bash(w, "true"), "(Bash completed with no output)");
	assert_string_equal(bash(w, "echo no; exit 3"), "Exit code 3\nno\n");
	assert_true(w->result.is_error && w->result.cancels_siblings && w->result.ran);
	assert_contains(bash(w, "nosuchcommand"), "Exit code 127\n");
	assert_contains(bash(w, "kill -9 $$"), "Exit code 137\n");
	char want[400];
	snprintf(want, sizeof want, "%s\n", w->work);
	assert_string_equal(bash(w, "pwd"), want);
	assert_string_equal(bash(w, "printf 'a\\\\0b\\\\377c'"), "a\xEF\xBF\xBD"
	                                                         "b\xEF\xBF\xBD"
	                                                         "c");
	assert_string_equal(bash(w, "echo canary-key"), "[secret]..\n");
}

static void status_one_that_is_an_answer(void **state)
{
	static const struct {
		const char *command;
		bool fine;
	} rows[] = {
		{ "grep x f", true },
		{ "cat f | grep x", true },
		{ "git diff --exit-code", true },
		{ "git grep x", true },
		{ "git status", false },
		{ "grepx y", false },
		{ "cd src && grep x f", true },
		{ "make && grep x f", false },
		{ "make; grep x f", true },
		{ "grep x f && make", false },
		{ "cd x && false | grep y", true },
		{ "make && cat f | grep y", false },
		{ "grep a f || diff a b", true },
		{ "grep 'a; make' f", true },
		{ "echo \"grep x\" | sh", false },
		{ "[ -f x ]", true },
		{ "test -f x\n", true },
		{ "find . -name x;", true },
		{ "\n  rg x", true },
		{ "", false },
		{ "'", false },
	};
	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		if ((shell_status_meaning(rows[i].command, 1) != NULL) != rows[i].fine)
			fail_msg("%s", rows[i].command);
		assert_null(shell_status_meaning(rows[i].command, 2));
		assert_null(shell_status_meaning(rows[i].command, 0));
	}
}

static void no_match_is_no_failure(void **state)
{
	struct tool_world *w = *state;

	assert_string_equal(bash(w, "echo x | grep y"), "(Bash completed with no output)");
	assert_false(w->result.is_error || w->result.cancels_siblings);
	assert_contains(w->result.structured, "\"returnCodeInterpretation\":\"No matches found\"");
	bash(w, "grep -E '(' f");
	assert_true(w->result.is_error);
}

static void time_is_up(void **state)
{
	struct tool_world *w = *state;

	assert_string_equal(tool_world_call(w, "Bash", "{\"command\":\"echo begun; sleep 60\",\"timeout\":900}"),
	                    "Command timed out after 900ms\nbegun\n");
	assert_true(w->result.is_error && w->result.cancels_siblings);
	assert_contains(w->result.structured, "\"interrupted\":true,\"isImage\":false,\"timedOutAfterMs\":900");
	assert_contains(tool_world_call(w, "Bash", "{\"command\":\"sleep 30\",\"timeout\":1500}"),
	                "timed out after 1s");
}

static void cancelled(void **state)
{
	struct tool_world *w = *state;

	assert_true(tool_world_start(w, "Bash", "{\"command\":\"sleep 60\"}"));
	char id[32];
	snprintf(id, sizeof id, "toolu_%d", w->calls);
	toolbox_cancel(w->toolbox, id, 500);
	assert_contains(tool_world_wait(w), "[Request interrupted by user for tool use]");
	assert_true(w->result.is_error);
}

static void large_output_is_stored(void **state)
{
	struct tool_world *w = *state;

	/* Under the limit: as it is. */
	assert_int_equal(strlen(bash(w, "head -c 30000 /dev/zero | tr '\\\\0' x")), 30000);
	assert_null(w->result.file);
	/* Over it, in memory; and far over it, by way of the supervisor. */
	static const char *const commands[] = { "seq 1 8000; echo end", "seq 1 200000; echo end" };
	for (int i = 0; i < 2; i++) {
		const char *text = bash(w, commands[i]);
		assert_false(w->result.is_error);
		assert_true(w->result.text_len < 12000);
		assert_contains(text, "<persisted-output>\nOutput is too large (");
		assert_contains(text, "\n1\n2\n3\n");
		assert_contains(text, "characters truncated] ...\n");
		assert_contains(text, "\nend\n");
		assert_non_null(w->result.file);
		assert_contains(text, w->result.file);
		assert_contains(w->result.structured, "\"persistedOutputPath\":\"");
		char *file = strdup(w->result.file);
		tool_world_sh(w, "%s | cmp - '%s'", i ? "{ seq 1 200000; echo end; }" : "{ seq 1 8000; echo end; }",
		              file);
		assert_contains(tool_world_call(w, "Read", "{\"file_path\":\"%s\",\"offset\":3,\"limit\":1}", file),
		                "     3\t3\n");
		assert_contains(tool_world_call(w, "Grep",
		                                "{\"pattern\":\"^end\",\"path\":\"%s\",\"output_mode\":\"content\"}",
		                                file),
		                "end");
		assert_contains(tool_world_call(w, "Write", "{\"file_path\":\"%s\",\"content\":\"x\"}", file),
		                "denied");
		free(file);
	}
}

static void large_failures_and_secrets(void **state)
{
	struct tool_world *w = *state;

	const char *text = bash(w, "seq 1 4000; exit 2");
	assert_int_equal(strncmp(text, "Exit code 2\n", 12), 0);
	assert_contains(text, "characters truncated] ...\n");
	assert_contains(text, "\n4000\n");
	assert_true(w->result.text_len < 12000);
	text = bash(w, "seq 1 60000; echo canary-key; seq 1 60000");
	tool_world_sh(w, "grep -q secret '%s' && ! grep -q canary '%s'", w->result.file, w->result.file);
}

/* Cuts on a wall of four-byte characters, at every offset. */
static void cuts_are_between_characters(void **state)
{
	struct tool_world *w = *state;

	tool_world_sh(w, "python3 -c \"print('\\U0001F600'*100000)\" >wall");
	for (int i = 0; i < 4; i++) {
		const char *text = tool_world_call(w, "Bash",
		                                   "{\"command\":\"printf '%.*s'; cat wall; printf '%.*s'; exit %d\"}",
		                                   i, "aaaa", 3 - i, "bbbb", i & 1);
		assert_true(utf8_valid(text, w->result.text_len, NULL));
		assert_null(strstr(text, "\xEF\xBF\xBD"));
	}
}

static void nobody_is_asked(void **state)
{
	static const struct {
		const char *command, *says;
	} rows[] = {
		{ "cat /dev/stdin; cat /proc/self/fd/0; echo end", "end\n" },
		{ "sh -c 'read x < /dev/tty; echo got $x'", "No such device" },
		{ "read a; echo a=$a", "a=\n" },
		{ "python3 -c 'input()'", "EOFError" },
		{ "seq 3 | $PAGER", "1\n2\n3\n" },
		{ "env | grep -E "
		  "'^(GIT_EDITOR|GIT_SEQUENCE_EDITOR|GIT_TERMINAL_PROMPT|PAGER|GIT_PAGER|DEBIAN_FRONTEND)=' | sort",
		  "DEBIAN_FRONTEND=noninteractive\nGIT_EDITOR=false\nGIT_PAGER=cat\nGIT_SEQUENCE_EDITOR=false\n"
		  "GIT_TERMINAL_PROMPT=0\nPAGER=cat\n" },
	};
	struct tool_world *w = *state;

	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
		assert_contains(bash(w, rows[i].command), rows[i].says);
}

static void the_job_environment_wins(void **state)
{
	static const char *env[] = { "PATH=/usr/bin:/bin", "GIT_EDITOR=ed", "PAGER=", NULL };
	struct tool_world *w = *state;

	w->cfg.child_env = env;
	tool_world_reopen(w);
	assert_string_equal(bash(w, "echo $GIT_EDITOR:$PAGER:$GIT_PAGER"), "ed::cat\n");
}

static void git_editors_fail(void **state)
{
	struct tool_world *w = *state;

	bash(w, "(git init -q r && cd r && git config user.email a@example.invalid && git config user.name a && for i "
	        "in 1 2 3; do "
	        "echo $i >f; git add f; git commit -qm $i; done)");
	assert_false(w->result.is_error);
	bash(w, "(cd r && echo x >>f && git add f && git commit)");
	assert_true(w->result.is_error);
	bash(w, "(cd r && git reset -q --hard && git rebase -i HEAD~2)");
	assert_true(w->result.is_error);
	assert_string_equal(bash(w, "(cd r && git log --format=%s)"), "3\n2\n1\n");
}

static void a_long_command_is_refused(void **state)
{
	struct tool_world *w = *state;
	char *command = malloc(140001);

	assert_non_null(command);
	memset(command, 'a', 140000);
	command[140000] = '\0';
	assert_contains(bash(w, command), "longer than 10,000 characters");
	free(command);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(plain_results, tool_world_setup, tool_world_teardown),
		cmocka_unit_test(status_one_that_is_an_answer),
		cmocka_unit_test_setup_teardown(no_match_is_no_failure, tool_world_setup, tool_world_teardown),
		cmocka_unit_test_setup_teardown(time_is_up, tool_world_setup, tool_world_teardown),
		cmocka_unit_test_setup_teardown(cancelled, tool_world_setup, tool_world_teardown),
		cmocka_unit_test_setup_teardown(large_output_is_stored, tool_world_setup, tool_world_teardown),
		cmocka_unit_test_setup_teardown(large_failures_and_secrets, tool_world_setup, tool_world_teardown),
		cmocka_unit_test_setup_teardown(cuts_are_between_characters, tool_world_setup, tool_world_teardown),
		cmocka_unit_test_setup_teardown(nobody_is_asked, tool_world_setup, tool_world_teardown),
		cmocka_unit_test_setup_teardown(the_job_environment_wins, tool_world_setup, tool_world_teardown),
		cmocka_unit_test_setup_teardown(a_long_command_is_refused, tool_world_setup, tool_world_teardown),
		cmocka_unit_test_setup_teardown(git_editors_fail, tool_world_setup, tool_world_teardown),
	};
	size_t n = sizeof tests / sizeof tests[0];

	/* The last one needs git; without it, it is not part of the plan. */
	if (system("git --version >/dev/null 2>&1") != 0)
		n--;
	return _cmocka_run_group_tests("bash", tests, n, NULL, NULL);
}
