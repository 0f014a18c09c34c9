/* Bash in the background: answered at once, its output in a file as it comes, and nobody's child for longer than asked.
 */
#include "tool_world.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "tool/internal.h"

static const char *background(struct tool_world *w, const char *command)
{
	return tool_world_call(w, "Bash", "{\"command\":\"%s\",\"run_in_background\":true}", command);
}

static void turn(struct tool_world *w)
{
	assert_true(reactor_wait(w->reactor, clock_mono_ms() + 20, NULL) >= 0);
}

/* The output file of the n-th command as it is now. */
static const char *output_of(const struct tool_world *w, int n)
{
	static char text[100000];
	struct buf b = BUF_INIT(sizeof text);
	struct error e = ERROR_INIT;
	char path[400];

	snprintf(path, sizeof path, "%s/bash_%d.txt", w->run_dir, n);
	if (io_read_file(AT_FDCWD, path, &b, &e) < 0)
		fail_msg("%s", e.msg);
	snprintf(text, sizeof text, "%s", buf_str(&b));
	buf_release(&b);
	return text;
}

static const char *wait_output(struct tool_world *w, int n, const char *part)
{
	int64_t until = clock_mono_ms() + 20000;

	while (!strstr(output_of(w, n), part)) {
		if (clock_mono_ms() > until)
			fail_msg("'%s' does not come, there is: %s", part, output_of(w, n));
		turn(w);
	}
	return output_of(w, n);
}

static void answered_at_once(void **state)
{
	struct tool_world *w = *state;
	char path[400];

	background(w, "echo begun; sleep 304; echo never");
	snprintf(path, sizeof path, "%s/bash_1.txt", w->run_dir);
	assert_contains(w->result.text, "as bash_1");
	assert_contains(w->result.text, path);
	assert_string_equal(w->result.file, path);
	assert_contains(w->result.structured, "\"backgroundTaskId\":\"bash_1\"");
	assert_true(w->result.ran && !w->result.is_error && !w->result.cancels_siblings);
	assert_string_equal(wait_output(w, 1, "begun\n"), "begun\n");
	assert_contains(tool_world_call(w, "Read", "{\"file_path\":\"%s\"}", path), "begun");
	assert_contains(tool_world_call(w, "Grep", "{\"pattern\":\"begun\",\"path\":\"%s\"}", path), "bash_1.txt");
	assert_string_equal(tool_world_call(w, "Bash", "{\"command\":\"echo front\"}"), "front\n");
}

static void the_end_is_told(void **state)
{
	struct tool_world *w = *state;

	background(w, "echo out; echo err >&2; exit 3");
	assert_string_equal(wait_output(w, 1, "[bash_1"), "out\nerr\n[bash_1: exit status 3]\n");
	background(w, "printf canary-key; kill -9 $$");
	assert_string_equal(wait_output(w, 2, "[bash_2"), "[secret]..\n[bash_2: ended by signal 9 (Killed)]\n");
	const char *text = tool_world_call(w, "Bash", "{\"command\":\"echo front\"}");
	assert_contains(text, "front\n");
	assert_contains(text, "[bash_1 in the background: exit status 3; its output is in ");
	assert_contains(text, "[bash_2 in the background: ended by signal 9 (Killed); its output is in ");
	assert_string_equal(tool_world_call(w, "Bash", "{\"command\":\"echo front\"}"), "front\n");
	background(w, ":");
	assert_string_equal(wait_output(w, 3, "[bash_3"), "[bash_3: exit status 0]\n");
}

static void time_of_its_own(void **state)
{
	struct tool_world *w = *state;

	tool_world_call(w, "Bash", "{\"command\":\"sleep 305\",\"run_in_background\":true,\"timeout\":200}");
	assert_false(w->result.is_error);
	wait_output(w, 1, "[bash_1: timed out after 200 ms]");
}

static void output_is_bounded(void **state)
{
	struct tool_world *w = *state;

	w->cfg.max_spill = 1000;
	tool_world_reopen(w);
	background(w, "head -c 5000 /dev/zero | tr '\\\\0' x; sleep 0.1; head -c 5000 /dev/zero");
	const char *text = wait_output(w, 1, "[bash_1");
	assert_contains(text,
	                "x\n[the output was 10000 bytes, only the first 1000 were kept]\n[bash_1: exit status 0]\n");
	assert_int_equal(strspn(text, "x"), 1000);
	w->cfg.max_spill = (size_t)64 << 20;
}

static void stopped(void **state)
{
	struct tool_world *w = *state;

	background(w, "trap 'echo asked; exit 0' TERM; echo ready; while :; do sleep 0.05; done");
	wait_output(w, 1, "ready");
	assert_contains(tool_world_call(w, "TaskStop", "{\"task_id\":\"bash_1\"}"), "bash_1 is being ended: trap");
	assert_false(w->result.is_error);
	assert_contains(wait_output(w, 1, "[bash_1: stopped by TaskStop]"), "asked");
	assert_contains(tool_world_call(w, "TaskStop", "{\"task_id\":\"bash_1\"}"), "had ended already: stopped");
	assert_contains(tool_world_call(w, "TaskStop", "{\"task_id\":\"bash_7\"}"),
	                "There is no background command bash_7 (none");
	assert_true(w->result.is_error);
	background(w, "sleep 306");
	assert_contains(tool_world_call(w, "TaskStop", "{\"task_id\":\"x\"}"), "(running: bash_2)");
	assert_contains(tool_world_call(w, "TaskStop", "{}"), "task_id");
	assert_true(w->result.invalid);
	assert_contains(tool_world_call(w, "KillShell", "{\"shell_id\":\"bash_2\"}"),
	                "No such tool available: KillShell");
}

static void not_too_many(void **state)
{
	struct tool_world *w = *state;

	for (int i = 0; i < 16; i++) {
		background(w, "sleep 307");
		assert_false(w->result.is_error);
	}
	assert_contains(background(w, "sleep 308"), "16 commands run in the background already");
	assert_true(w->result.is_error);
	assert_false(w->result.ran);
	tool_world_call(w, "TaskStop", "{\"task_id\":\"bash_4\"}");
	wait_output(w, 4, "stopped");
	assert_contains(background(w, "sleep 308"), "bash_17");
}

static void begins_where_the_shell_is_and_moves_nothing(void **state)
{
	struct tool_world *w = *state;

	if (getenv("QUERN_VALGRIND"))
		skip(); /* see supervisor/follow.c */
	tool_world_call(w, "Bash", "{\"command\":\"mkdir -p a/b; cd a\"}");
	background(w, "pwd; cd b; echo moved; sleep 0.2; pwd");
	wait_output(w, 1, "moved");
	assert_contains(tool_world_call(w, "Bash", "{\"command\":\"basename $PWD; cd b\"}"), "a\n");
	wait_output(w, 1, "/a/b\n[bash_1");
	assert_contains(output_of(w, 1), "/a\nmoved");
	assert_contains(tool_world_call(w, "Bash", "{\"command\":\"basename $PWD\"}"), "b\n");
}

static void cannot_be_started(void **state)
{
	struct tool_world *w = *state;
	static const char *env[] = { "PATH=/nonexistent", NULL };
	const char *const *was = w->cfg.child_env;

	/* bash was there when the run began */
	for (size_t i = 0; w->toolbox->bash_env[i]; i++)
		if (strncmp(w->toolbox->bash_env[i], "PATH=", 5) == 0)
			w->toolbox->bash_env[i] = env[0];
	background(w, "true");
	/* it is mostly known in time for the answer, and told by the file in any case */
	if (w->result.is_error)
		assert_contains(w->result.text, "Bash could not be run: cannot execute 'bash'");
	assert_true(w->result.ran == !w->result.is_error);
	wait_output(w, 1, "[bash_1: could not be run: cannot execute 'bash'");
	w->cfg.child_env = was;
}

static void the_run_ends(void **state)
{
	struct tool_world *w = *state;
	struct error e = ERROR_INIT;
	struct buf ids = BUF_INIT(1000);

	background(w, "true");
	wait_output(w, 1, "status 0");
	background(w, "echo one; trap '' TERM; sleep 309");
	background(w, "(setsid sleep 310 & echo $! >pid); echo two; sleep 311");
	wait_output(w, 2, "one");
	wait_output(w, 3, "two");
	assert_int_equal(supervisor_stop(w->supervisor, 100), 0);
	assert_true(toolbox_end_background(w->toolbox, &ids));
	assert_non_null(strstr(buf_str(&ids), "bash_3 ((setsid sleep 310"));
	assert_null(strstr(buf_str(&ids), "bash_1"));
	buf_release(&ids);
	assert_string_equal(output_of(w, 2), "one\n[bash_2: ended with the run]\n");
	assert_string_equal(output_of(w, 1), "[bash_1: exit status 0]\n");
	tool_world_sh(w, "test -s pid && ! kill -0 $(cat pid) 2>/dev/null");
	assert_false(toolbox_end_background(w->toolbox, &ids));
	struct supervisor_config sc = { .calls = tool_child_calls, .ncalls = tool_child_ncalls };
	w->supervisor = supervisor_start(&sc, w->reactor, &e);
	assert_non_null(w->supervisor);
}

static void comes_and_goes_with_bash(void **state)
{
	struct tool_world *w = *state;
	const char *const only_read[] = { "Read", NULL }, *const only_bash[] = { "Bash", NULL };
	const char *const named[] = { "TaskStop", NULL };
	struct error e = ERROR_INIT;

	w->cfg.names = only_read;
	tool_world_reopen(w);
	assert_null(strstr(toolbox_json(w->toolbox), "TaskStop"));
	w->cfg.names = only_bash;
	tool_world_reopen(w);
	assert_non_null(strstr(toolbox_json(w->toolbox), "TaskStop"));
	w->cfg.names = named;
	assert_null(toolbox_open(&w->cfg, w->reactor, w->supervisor, &e));
	w->cfg.names = NULL;
}

#define world_test(f) cmocka_unit_test_setup_teardown(f, tool_world_setup, tool_world_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		world_test(answered_at_once),
		world_test(the_end_is_told),
		world_test(time_of_its_own),
		world_test(output_is_bounded),
		world_test(stopped),
		world_test(not_too_many),
		world_test(cannot_be_started),
		world_test(the_run_ends),
		world_test(begins_where_the_shell_is_and_moves_nothing),
		world_test(comes_and_goes_with_bash),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
