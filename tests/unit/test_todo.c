/* TodoWrite: the list is replaced as a whole, without a child and without permission. */
#include "tool_world.h"

#include <string.h>

static void the_list_is_replaced(void **state)
{
	struct tool_world *w = *state;

	assert_string_equal(tool_world_call(w, "TodoWrite",
	                                    "{\"todos\":[{\"content\":\"a\",\"status\":\"completed\"},\n{\"status\":"
	                                    "\"in_progress\",\"content\":\"b\\n\",\"activeForm\":\"doing b\"}]}"),
	                    "The todo list has 2 items: 1 completed, 1 in progress, 0 pending.");
	assert_false(w->result.is_error || w->result.ran);
	assert_string_equal(
	        w->result.structured,
	        "{\"oldTodos\":[],\"newTodos\":[{\"content\":\"a\",\"status\":\"completed\"},{\"content\":\"b\\n\","
	        "\"status\":\"in_progress\",\"activeForm\":\"doing b\"}]}");
	tool_world_call(w, "TodoWrite", "{\"todos\":[{\"content\":\"c\",\"status\":\"pending\"}]}");
	assert_contains(w->result.structured, "{\"oldTodos\":[{\"content\":\"a\"");
	assert_contains(w->result.structured, "\"newTodos\":[{\"content\":\"c\",\"status\":\"pending\"}]}");
	tool_world_call(w, "TodoWrite", "{\"todos\":[]}");
	assert_contains(w->result.text, "has 0 items");
	assert_contains(w->result.structured, "\"newTodos\":[]}");
}

static void a_wrong_list_changes_nothing(void **state)
{
	struct tool_world *w = *state;

	tool_world_call(w, "TodoWrite", "{\"todos\":[{\"content\":\"a\",\"status\":\"pending\"}]}");
	assert_contains(
	        tool_world_call(w, "TodoWrite", "{\"todos\":[{\"content\":\"b\",\"status\":\"done\"}]}"),
	        "todos[0].status: expected one of \"pending\", \"in_progress\", \"completed\", got string \"done\"");
	assert_true(w->result.is_error && w->result.invalid);
	assert_contains(tool_world_call(w, "TodoWrite", "{\"todos\":\"[]\"}"),
	                "todos: expected array, got string \"[]\" (write it without the quotes)");
	tool_world_call(w, "TodoWrite", "{\"todos\":[]}");
	assert_contains(w->result.structured, "\"oldTodos\":[{\"content\":\"a\",\"status\":\"pending\"}]");
}

static void standing(void **state)
{
	struct tool_world *w = *state;

	w->rules.mode = MODE_DEFAULT;
	tool_world_reopen(w);
	assert_int_equal(toolbox_class(w->toolbox, "TodoWrite"), TOOL_UNSAFE); /* alone and in order */
	tool_world_call(w, "TodoWrite", "{\"todos\":[]}");
	assert_false(w->result.denied || w->result.is_error);
}

#define IN_WORLD(test) cmocka_unit_test_setup_teardown(test, tool_world_setup, tool_world_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_WORLD(the_list_is_replaced),
		IN_WORLD(a_wrong_list_changes_nothing),
		IN_WORLD(standing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
