/* The thresholds of a window. */
#include "test.h"

#include <string.h>

#include "context/context.h"

static void test_defaults(void **state)
{
	struct context_spec spec = { 0 };
	struct context_marks m;

	(void)state;
	assert_int_equal(context_marks(&spec, 200000, 32000, 4, &m, NULL), 0);
	assert_int_equal(m.window, 200000);
	assert_int_equal(m.usable, 180000);
	assert_int_equal(m.microcompact, 108000);
	assert_int_equal(m.collapse, 135000);
	assert_int_equal(m.snip, 0);
	assert_int_equal(m.autocompact, 167000);
	assert_int_equal(m.blocking, 177000);
	assert_int_equal(m.slack, 36000);
	assert_int_equal(m.keep_recent, 20000);
	assert_int_equal(m.summary, 20000);
	assert_int_equal(m.file_each, 5000);
	assert_int_equal(m.files_all, 22500);
	assert_int_equal(m.result_bytes, 180000);
	assert_int_equal(m.message_bytes, 200000);
}

static void test_small_window(void **state)
{
	struct context_spec spec = { .window = 12000 };
	struct context_marks m;

	(void)state;
	/* the job's window wins over the model's; an answer takes at most a quarter of it */
	assert_int_equal(context_marks(&spec, 200000, 32000, 3, &m, NULL), 0);
	assert_int_equal(m.usable, 9000);
	assert_int_equal(m.autocompact, 9000 - 1125);
	assert_int_equal(m.blocking, 9000 - 281);
	assert_int_equal(m.keep_recent, 2250);
	assert_int_equal(m.files_all, 1125);
	assert_int_equal(m.file_each, 1125);
	assert_int_equal(m.result_bytes, 2250 * 3);
	assert_int_equal(m.message_bytes, 4500 * 3);
}

static void test_unknown_window(void **state)
{
	struct context_spec spec = { .microcompact = { MARK_TOKENS, 5000 }, .snip = { MARK_PERCENT, 50 } };
	struct context_marks m;

	(void)state;
	assert_int_equal(context_marks(&spec, 0, 8000, 4, &m, NULL), 0);
	assert_int_equal(m.window, 0);
	assert_int_equal(m.usable, 0);
	assert_int_equal(m.microcompact, 0);
	assert_int_equal(m.collapse, 0);
	assert_int_equal(m.snip, 0);
	assert_int_equal(m.autocompact, 0);
	assert_int_equal(m.blocking, 0);
	assert_int_equal(m.result_bytes, SIZE_MAX);
	/* a compaction after a refusal must still know what to keep */
	assert_true(m.keep_recent > 0 && m.summary > 0 && m.files_all > 0);
}

static void test_asked_for(void **state)
{
	struct context_spec spec = { .microcompact = { MARK_OFF, 0 },
		                     .collapse = { MARK_PERCENT, 50 },
		                     .snip = { MARK_TOKENS, 600 },
		                     .autocompact = { MARK_OFF, 0 },
		                     .blocking = { MARK_PERCENT, 100 } };
	struct context_marks m;

	(void)state;
	assert_int_equal(context_marks(&spec, 1000, 0, 4, &m, NULL), 0);
	assert_int_equal(m.microcompact, 0);
	assert_int_equal(m.collapse, 500);
	assert_int_equal(m.snip, 600);
	assert_int_equal(m.autocompact, 0);
	assert_int_equal(m.blocking, 1000);
}

static void test_order(void **state)
{
	static const struct {
		struct context_spec spec;
		const char *msg;
	} cases[] = {
		{ { .collapse = { MARK_PERCENT, 60 } },
		  "context.collapse_at: 600 tokens are not above context.microcompact_at, 600 tokens; raise it or "
		  "lower the "
		  "other, or switch one off" },
		{ { .snip = { MARK_PERCENT, 70 } },
		  "context.snip_at: 700 tokens are not above context.collapse_at, 750 tokens; raise it or lower the "
		  "other, or "
		  "switch one off" },
		{ { .collapse = { MARK_OFF, 0 }, .autocompact = { MARK_TOKENS, 100 } },
		  "context.autocompact_at: 100 tokens are not above context.microcompact_at, 600 tokens; raise it or "
		  "lower the "
		  "other, or switch one off" },
		{ { .blocking = { MARK_TOKENS, 1001 } },
		  "context.blocking_at: 1001 tokens are more than the 1000 that can be used of the window" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct context_marks m;
		struct error e = ERROR_INIT;
		assert_int_equal(context_marks(&cases[i].spec, 1000, 0, 4, &m, &e), -1);
		assert_int_equal(e.code, ERR_INPUT);
		assert_string_equal(e.msg, cases[i].msg);
	}
}

static uint64_t drawn(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005U + 1442695040888963407U;
	return *seed >> 33;
}

/* Whatever is asked for: refused, or in order. What nobody asked for is never refused. */
static void test_random(void **state)
{
	uint64_t seed = 1;

	(void)state;
	for (int i = 0; i < 200000; i++) {
		struct job_mark asked[5] = { { MARK_AUTO, 0 } };
		bool automatic = drawn(&seed) % 4 == 0;
		for (int k = 0; k < 5 && !automatic; k++) {
			asked[k].kind = (enum mark_kind)(drawn(&seed) % 4);
			asked[k].value = asked[k].kind == MARK_PERCENT ? (int64_t)(drawn(&seed) % 100) + 1
			                                               : (int64_t)(drawn(&seed) >> drawn(&seed) % 31);
		}
		struct context_spec spec = { 0, asked[0], asked[1], asked[2], asked[3], asked[4], 5 };
		int64_t window = i < 3000 ? i + 1 : (int64_t)(drawn(&seed) % 10000000) + 1;
		int64_t output = (int64_t)(drawn(&seed) % 200000) - 1;
		struct context_marks m;
		struct error e = ERROR_INIT;
		if (context_marks(&spec, window, output, (int)(drawn(&seed) % 6), &m, &e)) {
			assert_false(automatic);
			continue;
		}
		const int64_t marks[] = { m.microcompact, m.collapse, m.snip, m.autocompact, m.blocking };
		int64_t below = 0;
		for (size_t k = 0; k < 5; k++) {
			assert_true((marks[k] == 0) ==
			            (asked[k].kind == MARK_OFF || (k == 2 && asked[k].kind == MARK_AUTO)));
			assert_true(!marks[k] || marks[k] >= below);
			below = marks[k] ? marks[k] : below;
		}
		assert_true(m.usable >= 1 && m.usable <= window && below <= m.usable);
		assert_true(m.slack >= 0 && m.keep_recent >= 0 && m.summary >= 500 && m.file_each <= m.files_all);
		assert_true(m.file_each >= 0 && m.bytes_per_token >= 1);
	}
}

static void test_huge(void **state)
{
	struct context_spec spec = { .window = INT64_MAX };
	struct context_marks m;

	(void)state;
	assert_int_equal(context_marks(&spec, 0, 32000, 4, &m, NULL), 0);
	assert_true(m.microcompact > 0 && m.microcompact < m.collapse && m.collapse < m.autocompact);
	assert_true(m.result_bytes > 200000);
	assert_int_equal(m.message_bytes, 200000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_defaults),       cmocka_unit_test(test_small_window),
		cmocka_unit_test(test_unknown_window), cmocka_unit_test(test_asked_for),
		cmocka_unit_test(test_order),          cmocka_unit_test(test_random),
		cmocka_unit_test(test_huge),
	};
	return cmocka_run_group_tests_name("marks", tests, NULL, NULL);
}
