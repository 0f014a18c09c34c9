/* The order of calls, case by case; test_executor_random.c has the sequences that nobody thought of. */

#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tool/executor.h"

static void add(struct executor *x, int i, bool read_only)
{
	char id[16];

	snprintf(id, sizeof id, "t%d", i);
	struct block *b = block_new_tool_use(id, read_only ? "Read" : "Bash", "{}", 2);
	assert_non_null(b);
	assert_int_equal(executor_add(x, b, read_only), 0);
	block_unref(b);
}

static struct tool_result result_of(int i)
{
	char text[16];

	snprintf(text, sizeof text, "r%d", i);
	return (struct tool_result){ .text = strdup(text), .text_len = strlen(text), .ran = true };
}

static void start(struct executor *x, const char *id)
{
	struct executor_call *c = executor_next(x);

	assert_non_null(c);
	assert_string_equal(c->use->id, id);
	executor_started(x, c);
}

static void finish(struct executor *x, const char *id, bool cancels)
{
	struct tool_result r = result_of(atoi(id + 1));

	r.is_error = r.cancels_siblings = cancels;
	executor_done(x, executor_find(x, id), &r);
	assert_null(r.text);
}

static void reads_together_others_alone(void **state)
{
	struct executor x;

	(void)state;
	executor_init(&x, 2);
	assert_true(executor_idle(&x));
	add(&x, 0, true);
	add(&x, 1, true);
	add(&x, 2, true);
	add(&x, 3, false);
	add(&x, 4, true);
	start(&x, "t0");
	start(&x, "t1");
	assert_null(executor_next(&x)); /* at most two */
	finish(&x, "t1", false);
	start(&x, "t2");
	assert_null(executor_yield(&x)); /* t0 is not done */
	finish(&x, "t2", false);
	assert_null(executor_next(&x)); /* t3 waits for t0 and t4 does not overtake it */
	finish(&x, "t0", false);
	start(&x, "t3");
	assert_null(executor_next(&x));
	for (int i = 0; i < 3; i++) {
		char want[16];
		snprintf(want, sizeof want, "r%d", i);
		assert_string_equal(executor_yield(&x)->result.text, want);
	}
	assert_null(executor_yield(&x));
	assert_false(executor_idle(&x));
	finish(&x, "t3", false);
	start(&x, "t4");
	finish(&x, "t4", false);
	assert_true(executor_idle(&x));
	executor_clear(&x);
	assert_null(executor_next(&x));
	executor_release(&x);
}

static void a_failed_command_cancels_what_is_behind(void **state)
{
	struct executor x;

	(void)state;
	executor_init(&x, 10);
	for (int i = 0; i < 4; i++)
		add(&x, i, i == 0);
	start(&x, "t0");
	finish(&x, "t0", false);
	start(&x, "t1");
	finish(&x, "t1", true);
	assert_true(executor_idle(&x));
	assert_string_equal(executor_yield(&x)->result.text, "r0");
	assert_string_equal(executor_yield(&x)->result.text, "r1");
	for (int i = 2; i < 4; i++) {
		struct executor_call *c = executor_yield(&x);
		assert_true(c->result.is_error && !c->result.ran);
		assert_non_null(strstr(c->result.text, "was not run"));
	}
	assert_null(executor_yield(&x));
	executor_release(&x);
}

static void a_hook_ends_what_has_not_begun(void **state)
{
	struct executor x;
	struct tool_result r = result_of(0);

	(void)state;
	executor_init(&x, 10);
	for (int i = 0; i < 3; i++)
		add(&x, i, i < 2);
	start(&x, "t0");
	start(&x, "t1");
	r.ends_run = strdup("enough");
	executor_done(&x, executor_find(&x, "t0"), &r);
	assert_null(executor_next(&x));
	assert_false(executor_idle(&x)); /* what runs comes to its end */
	finish(&x, "t1", false);
	add(&x, 3, true);
	assert_true(executor_idle(&x));
	assert_string_equal(executor_yield(&x)->result.text, "r0");
	assert_string_equal(executor_yield(&x)->result.text, "r1");
	for (int i = 2; i < 4; i++)
		assert_non_null(strstr(executor_yield(&x)->result.text, "a hook ended the run"));
	executor_clear(&x);
	add(&x, 0, true);
	assert_non_null(executor_next(&x));
	executor_release(&x);
}

static void a_late_denial_has_done_nothing(void **state)
{
	struct executor x;
	struct tool_result r = result_of(0);

	(void)state;
	executor_init(&x, 10);
	add(&x, 0, false);
	start(&x, "t0");
	assert_true(executor_has_acted(&x)); /* who knows */
	r.ran = false;
	executor_done(&x, executor_find(&x, "t0"), &r);
	assert_false(executor_has_acted(&x));
	executor_release(&x);
}

static void an_abort_answers_everything_once(void **state)
{
	struct executor x;

	(void)state;
	executor_init(&x, 10);
	for (int i = 0; i < 4; i++)
		add(&x, i, i < 2);
	start(&x, "t0");
	start(&x, "t1");
	finish(&x, "t0", false);
	executor_abort(&x, "interrupted");
	assert_true(executor_idle(&x));
	finish(&x, "t1", false); /* comes late: the first result stands */
	assert_string_equal(executor_yield(&x)->result.text, "r0");
	for (int i = 1; i < 4; i++)
		assert_string_equal(executor_yield(&x)->result.text, "interrupted");
	assert_null(executor_yield(&x));
	executor_release(&x);
}

static void calls_come_while_others_run(void **state)
{
	struct executor x;

	(void)state;
	executor_init(&x, 10);
	add(&x, 0, true);
	start(&x, "t0");
	assert_false(executor_has_acted(&x));
	add(&x, 1, false);
	assert_null(executor_next(&x));
	add(&x, 2, true);
	assert_null(executor_next(&x)); /* it came last, and overtakes nobody */
	finish(&x, "t0", false);
	assert_false(executor_has_acted(&x)); /* t1 waits, that is nothing done yet */
	start(&x, "t1");
	assert_true(executor_has_acted(&x));
	add(&x, 3, false);
	finish(&x, "t1", false);
	assert_true(executor_has_acted(&x)); /* done or not */
	start(&x, "t2");
	executor_clear(&x);
	assert_false(executor_has_acted(&x));
	assert_int_equal(x.executing, 0);
	executor_release(&x);
}

static void a_failed_command_cancels_what_comes_later(void **state)
{
	struct executor x;

	(void)state;
	executor_init(&x, 10);
	add(&x, 0, false);
	start(&x, "t0");
	finish(&x, "t0", true);
	add(&x, 1, true);
	assert_null(executor_next(&x));
	assert_true(executor_idle(&x));
	assert_string_equal(executor_yield(&x)->result.text, "r0");
	assert_non_null(strstr(executor_yield(&x)->result.text, "was not run"));
	executor_clear(&x); /* the next answer's calls have nothing to do with it */
	add(&x, 2, true);
	start(&x, "t2");
	executor_release(&x);
}

static void a_denied_call_has_not_acted(void **state)
{
	struct executor x;
	struct tool_result r = result_of(0);

	(void)state;
	executor_init(&x, 10);
	add(&x, 0, false);
	executor_done(&x, executor_next(&x), &r);
	assert_false(executor_has_acted(&x));
	executor_release(&x);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_together_others_alone),
		cmocka_unit_test(a_failed_command_cancels_what_is_behind),
		cmocka_unit_test(a_hook_ends_what_has_not_begun),
		cmocka_unit_test(a_late_denial_has_done_nothing),
		cmocka_unit_test(an_abort_answers_everything_once),
		cmocka_unit_test(calls_come_while_others_run),
		cmocka_unit_test(a_failed_command_cancels_what_comes_later),
		cmocka_unit_test(a_denied_call_has_not_acted),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
