/* What a toolbox tells with its results, and what another one that takes it over knows; and who is told before a call
 * that may have an effect starts. */
#include "tool_world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The call, and what its result tells; the caller frees it. */
#define STATE_OF(w, ...) (tool_world_call(w, __VA_ARGS__), take_state(w))

static char *take_state(struct tool_world *w)
{
	char *state = w->result.state;

	assert_false(w->result.is_error);
	w->result.state = NULL;
	return state;
}

/* Another process: a toolbox that knows what these told, NULL terminated. */
static void go_on(struct tool_world *w, char *const *states)
{
	struct error e = ERROR_INIT;

	tool_world_reopen(w);
	for (; *states; states++)
		if (toolbox_restore(w->toolbox, *states, false, &e))
			fail_msg("%s: %s", e.msg, *states);
	toolbox_answer_begins(w->toolbox);
}

static void a_file_that_was_read_is_known(void **state)
{
	struct tool_world *w = *state;
	static const char edit[] = "{\"file_path\":\"f\",\"old_string\":\"one\",\"new_string\":\"1\"}";
	char *none[] = { NULL };

	tool_world_put(w, "f", "one\ntwo\n", 8);
	char *states[] = { STATE_OF(w, "Read", "{\"file_path\":\"f\"}"), NULL };
	assert_non_null(states[0]);
	go_on(w, none);
	tool_world_call(w, "Write", "{\"file_path\":\"f\",\"content\":\"new\"}");
	assert_true(w->result.is_error); /* it was never seen */
	/* what was shown is not shown again, and no other spelling is taken for it */
	go_on(w, states);
	assert_contains(tool_world_call(w, "Read", "{\"file_path\":\"f\"}"), "has not changed since it was read");
	assert_contains(tool_world_call(w, "Read", "{\"file_path\":\"./f\"}"), "two");
	go_on(w, states);
	char *more[] = { states[0], STATE_OF(w, "Edit", "%s", edit), NULL };
	tool_world_expect(w, "f", "1\ntwo\n", 6);
	/* and again, behind the edit */
	go_on(w, more);
	tool_world_call(w, "Edit", "{\"file_path\":\"f\",\"old_string\":\"two\",\"new_string\":\"2\"}");
	assert_false(w->result.is_error);
	/* a result that has left the conversation */
	go_on(w, states);
	toolbox_forget(w->toolbox, "toolu_1");
	assert_contains(tool_world_call(w, "Read", "{\"file_path\":\"f\"}"), "     1");
	/* one that others have changed */
	tool_world_put(w, "f", "one but longer\n", 15);
	go_on(w, states);
	tool_world_call(w, "Write", "{\"file_path\":\"f\",\"content\":\"new\"}");
	assert_true(w->result.is_error);
	tool_world_expect(w, "f", "one but longer\n", 15);
	free(more[0]);
	free(more[1]);
}

/* Calls of one answer end in any order, and are told in theirs. */
static void what_came_last_counts(void **state)
{
	struct tool_world *w = *state;

	tool_world_put(w, "f", "one\ntwo\n", 8);
	char *states[] = { STATE_OF(w, "Read", "{\"file_path\":\"f\",\"limit\":1}"), NULL, NULL };
	char *newer = STATE_OF(w, "Read", "{\"file_path\":\"f\"}");
	states[1] = states[0];
	states[0] = newer;
	go_on(w, states);
	assert_contains(tool_world_call(w, "Read", "{\"file_path\":\"f\"}"), "has not changed since it was read");
	free(states[0]);
	free(states[1]);
}

/* The state of one call may be told with the result of another, which stands yet. */
static void what_rests_on_a_result_that_is_gone_is_forgotten(void **state)
{
	struct tool_world *w = *state;
	struct id_set *shown = NULL;

	tool_world_put(w, "f", "one\ntwo\n", 8);
	char *states[] = { STATE_OF(w, "Read", "{\"file_path\":\"f\"}"), NULL };
	assert_int_equal(id_set_add(&shown, "toolu_1"), 1);
	go_on(w, states);
	toolbox_restored(w->toolbox, shown);
	assert_contains(tool_world_call(w, "Read", "{\"file_path\":\"f\"}"), "has not changed");
	id_set_free(shown);
	shown = NULL;
	assert_int_equal(id_set_add(&shown, "toolu_2"), 1);
	go_on(w, states);
	toolbox_restored(w->toolbox, shown);
	tool_world_call(w, "Write", "{\"file_path\":\"f\",\"content\":\"new\"}");
	assert_true(w->result.is_error);
	id_set_free(shown);
	free(states[0]);
}

static void bash_stands_where_it_stood(void **state)
{
	struct tool_world *w = *state;
	char *states[] = { NULL, NULL };

	states[0] = STATE_OF(w, "Bash", "{\"command\":\"mkdir -p d/e; true\"}"); /* nothing has changed */
	if (states[0])
		fail_msg("%s", states[0]);
	states[0] = STATE_OF(w, "Bash", "{\"command\":\"cd d/e\"}");
	assert_non_null(states[0]);
	go_on(w, states);
	assert_contains(tool_world_call(w, "Bash", "{\"command\":\"pwd\"}"), "/work/d/e");
	assert_null(w->result.state);
	tool_world_sh(w, "rmdir d/e");
	go_on(w, states);
	assert_null(strstr(tool_world_call(w, "Bash", "{\"command\":\"pwd\"}"), "/d"));
	assert_false(w->result.is_error);
	free(states[0]);
	/* a directory outside is not entered, whatever the record says */
	states[0] = (char[]){ "{\"cwd\":\"/usr\"}" };
	go_on(w, states);
	assert_contains(tool_world_call(w, "Bash", "{\"command\":\"pwd\"}"), "/work");
}

static void the_todo_list_is_there(void **state)
{
	static const char *const names[] = { "TodoWrite", NULL };
	struct tool_world *w = *state;

	w->cfg.names = names;
	tool_world_reopen(w);
	char *states[] = { STATE_OF(w, "TodoWrite", "{\"todos\":[{\"content\":\"a\",\"status\":\"pending\"}]}"), NULL };
	assert_string_equal(states[0], "{\"todos\":[{\"content\":\"a\",\"status\":\"pending\"}]}");
	go_on(w, states);
	tool_world_call(w, "TodoWrite", "{\"todos\":[]}");
	assert_contains(w->result.structured, "\"oldTodos\":[{\"content\":\"a\"");
	free(states[0]);
}

static void what_is_no_state_is_refused(void **state)
{
	static const char *const wrong[] = {
		"{",
		"{\"files\":[{}]}",
		"{\"files\":[7]}",
		"{\"files\":[{\"key\":\"/f\",\"sha256\":\"00\"}]}",
		"{\"files\":[{\"key\":\"/f\",\"shown_by\":\"x\",\"sha256\":"
		"\"0000000000000000000000000000000000000000000000000000000000000000\"}]}",
	};
	struct tool_world *w = *state;

	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		struct error e = ERROR_INIT;
		assert_int_equal(toolbox_restore(w->toolbox, wrong[i], false, &e), -1);
		assert_int_equal(e.code, ERR_INPUT);
	}
}

/* ---- before a call starts ---- */

static char started[200];
static bool refuse;

static int note_start(void *ctx, const struct block *use, struct error *e)
{
	size_t n = strlen(started);

	(void)ctx;
	if (refuse)
		return error_set(e, ERR_GONE, "nobody writes that down");
	snprintf(started + n, sizeof started - n, "%s %s; ", use->name, use->id);
	return 0;
}

static void unexpected(void *ctx, const char *id, struct tool_result *res)
{
	(void)ctx;
	(void)res;
	fail_msg("%s was done", id);
}

static void what_has_effects_is_told_first(void **state)
{
	struct tool_world *w = *state;
	struct tool_result now;
	struct error e = ERROR_INIT;

	started[0] = '\0';
	refuse = false;
	w->cfg.starts = note_start;
	tool_world_reopen(w);
	tool_world_call(w, "Write", "{\"file_path\":\"f\",\"content\":\"x\"}");
	tool_world_call(w, "Read", "{\"file_path\":\"f\"}");
	tool_world_call(w, "Grep", "{\"pattern\":\"x\"}");
	tool_world_call(w, "Bash", "{\"command\":\"true\"}");
	tool_world_call(w, "Bash", "{\"command\":\"true\",\"run_in_background\":true}");
	assert_string_equal(started, "Write toolu_1; Bash toolu_4; Bash toolu_5; ");
	refuse = true;
	struct block *use = block_new_tool_use("toolu_9", "Bash", "{\"command\":\"touch never\"}", 25);
	assert_int_equal(toolbox_start(w->toolbox, use, unexpected, w, &now, &e), -1);
	assert_string_equal(e.msg, "nobody writes that down");
	block_unref(use);
	tool_world_call(w, "Grep", "{\"pattern\":\"x\"}"); /* goes on, and takes a while */
	tool_world_sh(w, "[ ! -e never ]");
}

#define IN_WORLD(test) cmocka_unit_test_setup_teardown(test, tool_world_setup, tool_world_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_WORLD(what_rests_on_a_result_that_is_gone_is_forgotten),
		IN_WORLD(what_came_last_counts),
		IN_WORLD(a_file_that_was_read_is_known),
		IN_WORLD(bash_stands_where_it_stood),
		IN_WORLD(the_todo_list_is_there),
		IN_WORLD(what_is_no_state_is_refused),
		IN_WORLD(what_has_effects_is_told_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
