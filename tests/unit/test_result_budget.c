/* What each of the results of one message may have. */
#include "test.h"

#include <stdio.h>
#include <string.h>

#include "context/context.h"

/* Lengths, "i" for an image, then bounds; what they may have. */
static void test_table(void **state)
{
	static const struct {
		size_t each, all;
		size_t len[6], allowed[6]; /* until 0 */
	} cases[] = {
		{ 100, 1000, { 10, 100 }, { 10, 100 } },
		{ 100, 1000, { 10, 101, 5000 }, { 10, 100, 100 } },
		{ SIZE_MAX, SIZE_MAX, { 10, 5000 }, { 10, 5000 } },
		/* the largest first */
		{ 1000, 300, { 250, 50 }, { 250, 50 } },
		{ 1000, 300, { 900, 50 }, { 250, 50 } },
		/* and evenly */
		{ 1000, 300, { 900, 20, 800 }, { 140, 20, 140 } },
		{ 1000, 300, { 900, 130, 800 }, { 100, 100, 100 } },
		/* each bound alone could be enough */
		{ 100, 300, { 900, 900, 40 }, { 100, 100, 40 } },
		{ 100, 4, { 1, 1, 1, 1 }, { 1, 1, 1, 1 } },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct result_text v[6] = { { .text = NULL } };
		size_t n = 0;
		for (; n < 6 && cases[i].len[n]; n++)
			v[n] = (struct result_text){ .text = "", .len = cases[i].len[n] };
		result_budget(v, n, cases[i].each, cases[i].all);
		for (size_t k = 0; k < n; k++)
			assert_int_equal(v[k].allowed, cases[i].allowed[k]);
	}
}

static void test_pictures_are_left(void **state)
{
	struct result_text v[] = { { .text = NULL, .len = 5000 }, { .text = "", .len = 500 } };

	(void)state;
	result_budget(v, 2, 1000, 100);
	assert_int_equal(v[0].allowed, 5000);
	assert_int_equal(v[1].allowed, 100);
	result_budget(NULL, 0, 1000, 100);
}

/* The sum is within the bound, no more than one byte for each is given away, and all that are cut have the same. */
static void test_random(void **state)
{
	uint64_t seed = 7;

	(void)state;
	for (int i = 0; i < 20000; i++) {
		struct result_text v[20];
		size_t n, sum = 0, whole = 0, level = SIZE_MAX, each, all;
		seed = seed * 6364136223846793005U + 1442695040888963407U;
		n = (size_t)(seed >> 60) + 1;
		each = (size_t)(seed >> 40) % 5000;
		all = (size_t)(seed >> 30) % 20000;
		for (size_t k = 0; k < n; k++) {
			seed = seed * 6364136223846793005U + 1442695040888963407U;
			v[k] = (struct result_text){ .text = "", .len = (size_t)(seed >> 33) % 8000 };
		}
		result_budget(v, n, each, all);
		for (size_t k = 0; k < n; k++) {
			sum += v[k].allowed;
			whole += v[k].len < each ? v[k].len : each;
			if (v[k].allowed < v[k].len)
				level = v[k].allowed;
		}
		for (size_t k = 0; k < n; k++)
			assert_int_equal(v[k].allowed, v[k].len < level ? v[k].len : level);
		assert_true(sum <= all && (level == SIZE_MAX || level <= each));
		assert_true(whole <= all ? sum == whole : sum + n > all);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_pictures_are_left),
		cmocka_unit_test(test_random),
	};
	return cmocka_run_group_tests_name("result_budget", tests, NULL, NULL);
}
