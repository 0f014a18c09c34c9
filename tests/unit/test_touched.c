/* Which directories calls have worked in: told in the order of the calls, whichever was done first. */
#include "test.h"

#include <stdlib.h>
#include <string.h>

#include "tool/internal.h"

static void note(struct toolbox *t, uint64_t number, const char *path, bool is_dir)
{
	static struct call c;

	c.t = t;
	c.number = number;
	touched_note(&c, path, is_dir);
}

static void assert_told(struct toolbox *t, const char *expected)
{
	char told[200] = "";

	for (const char *dir; (dir = toolbox_touched(t));)
		strncat(strncat(told, dir, 60), " ", 2);
	assert_string_equal(told, expected);
}

static struct toolbox *opened(void)
{
	struct toolbox *t = calloc(1, sizeof *t);

	assert_non_null(t);
	t->cfg.tells_touched = true;
	return t;
}

static void the_order_of_the_calls(void **state)
{
	struct toolbox *t = opened();

	(void)state;
	note(t, 3, "/w/c/x", false);
	note(t, 1, "/w/a/x", false);
	note(t, 2, "/w/b", true);
	assert_told(t, "/w/a /w/b /w/c ");
	assert_told(t, "");
	free(t);
}

static void what_was_told_stays(void **state)
{
	struct toolbox *t = opened();

	(void)state;
	note(t, 2, "/w/b", true);
	assert_string_equal(toolbox_touched(t), "/w/b");
	note(t, 3, "/w/c", true);
	note(t, 1, "/w/a", true);
	assert_told(t, "/w/a /w/c ");
	free(t);
}

static void one_that_is_stayed_in_comes_once(void **state)
{
	struct toolbox *t = opened();

	(void)state;
	note(t, 1, "/w/a/x", false);
	note(t, 2, "/w/a/y", false);
	note(t, 3, "/x", false);
	note(t, 3, "relative/x", false);
	assert_told(t, "/w/a / ");
	t->cfg.tells_touched = false;
	note(t, 4, "/w/a", true);
	assert_told(t, "");
	free(t);
}

/* What a result's state told is in another one's, when that result is made anew, and nobody is led there twice. */
static void what_is_told_again_is_there_once(void **state)
{
	struct toolbox *t = opened();

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct buf b = BUF_INIT(1000);
		struct json_out o;
		if (i == 0) {
			note(t, 1, "/w/a", true);
			note(t, 2, "/w/b", true);
		} else {
			assert_int_equal(touched_restore(t, "/w/a", false), 0);
		}
		json_out_init(&o, &b);
		jo_object(&o);
		assert_true(touched_is_new(t));
		touched_tell(t, &o);
		assert_false(touched_is_new(t));
		jo_end(&o);
		assert_string_equal(buf_str(&b), i ? "{\"touched\":[\"/w/a\"]}" : "{\"touched\":[\"/w/a\",\"/w/b\"]}");
		buf_release(&b);
	}
	assert_told(t, "/w/a /w/b ");
	assert_int_equal(touched_restore(t, "/w/c", true), 0); /* of another process */
	assert_false(touched_is_new(t));
	assert_told(t, "/w/c ");
	free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_order_of_the_calls),
		cmocka_unit_test(what_was_told_stays),
		cmocka_unit_test(one_that_is_stayed_in_comes_once),
		cmocka_unit_test(what_is_told_again_is_there_once),
	};

	return cmocka_run_group_tests_name("touched", tests, NULL, NULL);
}
