/* Token sums and the estimate. */
#include "test.h"

#include <string.h>

#include "message/message.h"

static void test_adding(void **state)
{
	struct usage sum = USAGE_UNKNOWN;
	struct usage first = { .input = 100,
		               .output = 42,
		               .cache_creation = 3,
		               .cache_read = 7,
		               .creation_5m = -1,
		               .creation_1h = -1,
		               .web_searches = -1 };
	struct usage second = { .input = 25,
		                .output = 5,
		                .cache_creation = -1,
		                .cache_read = -1,
		                .creation_5m = -1,
		                .creation_1h = 2,
		                .web_searches = 1,
		                .fast = true };

	(void)state;
	assert_int_equal(usage_total(&sum), 0);
	usage_add(&sum, &first);
	assert_int_equal(usage_total(&sum), 152);
	assert_false(sum.fast);
	usage_add(&sum, &second);
	assert_int_equal(sum.input, 125);
	assert_int_equal(sum.output, 47);
	assert_int_equal(sum.cache_creation, 3);
	assert_int_equal(sum.cache_read, 7);
	assert_int_equal(sum.creation_5m, -1); /* nobody told: still unknown */
	assert_int_equal(sum.creation_1h, 2);
	assert_int_equal(sum.web_searches, 1);
	assert_true(sum.fast);
}

static void test_saturation(void **state)
{
	struct usage huge = { INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX, false };
	struct usage negative = { INT64_MIN, -5, -1, -1, -1, -1, -1, false };
	struct usage sum = { .input = 1 };

	(void)state;
	assert_true(usage_total(&huge) == INT64_MAX);
	usage_add(&sum, &huge);
	usage_add(&sum, &huge);
	assert_true(sum.input == INT64_MAX && sum.web_searches == INT64_MAX);
	usage_add(&sum, &negative); /* a negative count takes nothing away */
	assert_true(sum.input == INT64_MAX && sum.output == INT64_MAX);
	assert_int_equal(usage_total(&negative), 0);
}

static void test_estimate(void **state)
{
	struct estimate est = { -1, 0, 4 };
	struct history h = HISTORY_INIT;
	struct usage told = { .input = 1000, .output = 50, .cache_creation = -1, .cache_read = 200 };
	struct usage output_alone = { .input = -1, .output = 9 };
	struct usage zeros = { 0 };

	(void)state;
	assert_int_equal(history_add_user_block(&h, block_new_text("0123456789", 10)), 0);
	size_t bytes = h.weight;
	assert_int_equal(estimate_tokens(&est, &h, 401), (bytes + 3) / 4 + 101);
	est.bytes_per_token = 3;
	assert_int_equal(estimate_tokens(&est, &h, 0), (bytes + 2) / 3);

	estimate_anchor(&est, &output_alone, &h);
	estimate_anchor(&est, &zeros, &h);
	assert_int_equal(est.anchor_tokens, -1);
	estimate_anchor(&est, &told, &h);
	assert_int_equal(estimate_tokens(&est, &h, 99999), 1250); /* the anchor holds the fixed part */
	assert_int_equal(history_add_user_block(&h, block_new_text("0123456789", 10)), 0);
	assert_int_equal(estimate_tokens(&est, &h, 0), 1250 + (int64_t)(bytes + 2) / 3);
	estimate_anchor(&est, &output_alone, &h);
	assert_int_equal(est.anchor_tokens, 1250);

	est.anchor_bytes = h.weight + 30; /* something was taken away since */
	assert_int_equal(estimate_tokens(&est, &h, 0), 1240);
	est.anchor_bytes = h.weight + 30000;
	assert_int_equal(estimate_tokens(&est, &h, 0), 0);
	est.anchor_tokens = INT64_MAX;
	est.anchor_bytes = 0;
	assert_true(estimate_tokens(&est, &h, 0) == TOKENS_MOST);
	history_release(&h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_adding),
		cmocka_unit_test(test_saturation),
		cmocka_unit_test(test_estimate),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
