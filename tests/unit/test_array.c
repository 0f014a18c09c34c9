#include "test.h"

#include <stdint.h>
#include <stdlib.h>

#include "base/array.h"

static void test_grows_and_keeps_what_is_there(void **state)
{
	int *v = NULL, *was = NULL;
	size_t cap = 0, moved = 0;

	(void)state;
	for (size_t n = 0; n < 1000; n++) {
		size_t before = cap;
		assert_int_equal(ARRAY_GROW(v, n, cap), 0);
		assert_true(cap > n);
		if (cap != before) {
			assert_true(cap >= 2 * before);
			moved++;
		} else {
			assert_ptr_equal(v, was);
		}
		v[n] = (int)n;
		was = v;
	}
	for (int i = 0; i < 1000; i++)
		assert_int_equal(v[i], i);
	assert_in_range(moved, 1, 12);
	free(v);
}

static void test_without_memory_all_is_as_it_was(void **state)
{
	char *v = malloc(3), *was = v;
	size_t cap = 3;

	(void)state;
	assert_int_equal(array_grow(&v, 3, &cap, SIZE_MAX / 2), -1); /* the product would wrap around */
	assert_ptr_equal(v, was);
	assert_int_equal(cap, 3);
	free(v);
}

static void test_counts_a_list(void **state)
{
	static const char *const none[] = { NULL }, *const two[] = { "a", "", NULL };

	(void)state;
	assert_int_equal(array_count(NULL), 0);
	assert_int_equal(array_count(none), 0);
	assert_int_equal(array_count(two), 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_grows_and_keeps_what_is_there),
		cmocka_unit_test(test_without_memory_all_is_as_it_was),
		cmocka_unit_test(test_counts_a_list),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
