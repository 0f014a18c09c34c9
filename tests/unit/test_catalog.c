#include "test.h"

#include <string.h>

#include "model/catalog.h"

#define LENGTH(a) (sizeof(a) / sizeof *(a))

static void ids_match_whole_names_only(void **state)
{
	static const struct {
		const char *model, *row;
	} rows[] = {
		{ "claude-opus-5", "claude-opus-5" },
		{ "claude-opus-5-5", "claude-opus-5-5" },
		{ "claude-opus-5-20260601", "claude-opus-5" },
		{ "claude-opus-4-5-20251101", "claude-opus-4-5" },
		{ "claude-opus-4-5@20251101", "claude-opus-4-5" },
		{ "claude-haiku-4-5-20251001:thinking", "claude-haiku-4-5" },
		{ "claude-sonnet-4-6[1m]", "claude-sonnet-4-6" },
		{ "claude-fable-5-2", "claude-fable-5-2" },
		{ "claude-mythos-5", "claude-mythos-5" },
		{ "claude-opus-5-6", NULL },
		{ "claude-opus-5-2026060", NULL },
		{ "claude-opus-5-202606011", NULL },
		{ "claude-opus-5-20260601x", NULL },
		{ "claude-opus-50", NULL },
		{ "claude-opus-5x", NULL },
		{ "claude-sonnet-4", NULL },
		{ "Claude-opus-5", NULL },
		{ "us.anthropic.claude-opus-5", NULL },
		{ "claude-", NULL },
		{ "", NULL },
	};
	(void)state;
	for (size_t i = 0; i < LENGTH(rows); i++) {
		const struct catalog_row *row = catalog_find(rows[i].model);
		if (!rows[i].row) {
			assert_null(row);
			continue;
		}
		assert_non_null(row);
		assert_string_equal(row->id, rows[i].row);
	}
}

static void every_row_is_as_published(void **state)
{
	enum { T = CAT_THINKS_BY_DEFAULT, B = CAT_THINKING_BOUND, D = CAT_DENSE_TOKENS };
	static const struct {
		const char *id;
		int64_t window, max_output, in, w5, w1, rd, out;
		unsigned flags;
	} rows[] = {
		{ "claude-fable-5-2", 1000000, 128000, 8000, 10000, 16000, 200, 40000, T | B | D },
		{ "claude-mythos-5-2", 1000000, 128000, 8000, 10000, 16000, 200, 40000, T | B | D },
		{ "claude-fable-5-1", 1000000, 128000, 10000, 12500, 20000, 250, 50000, T | B | D },
		{ "claude-mythos-5-1", 1000000, 128000, 10000, 12500, 20000, 250, 50000, T | B | D },
		{ "claude-fable-5", 1000000, 128000, 10000, 12500, 20000, 1000, 50000, T | D },
		{ "claude-mythos-5", 1000000, 128000, 10000, 12500, 20000, 1000, 50000, T | D },
		{ "claude-opus-5-5", 1000000, 128000, 4000, 5000, 8000, 200, 20000, T | B | D },
		{ "claude-opus-5", 1000000, 128000, 5000, 6250, 10000, 500, 25000, T | D },
		{ "claude-opus-4-8", 1000000, 128000, 5000, 6250, 10000, 500, 25000, D },
		{ "claude-opus-4-7", 1000000, 128000, 5000, 6250, 10000, 500, 25000, D },
		{ "claude-opus-4-6", 1000000, 128000, 5000, 6250, 10000, 500, 25000, 0 },
		{ "claude-opus-4-5", 200000, 64000, 5000, 6250, 10000, 500, 25000, 0 },
		{ "claude-sonnet-5-5", 1000000, 128000, 2000, 2500, 4000, 100, 10000, T | B | D },
		{ "claude-sonnet-5", 1000000, 128000, 2000, 2500, 4000, 200, 10000, T | D },
		{ "claude-sonnet-4-6", 1000000, 128000, 3000, 3750, 6000, 300, 15000, 0 },
		{ "claude-sonnet-4-5", 200000, 64000, 3000, 3750, 6000, 300, 15000, 0 },
		{ "claude-haiku-5-5", 1000000, 128000, 100, 125, 200, 10, 500, T | B | D },
		{ "claude-haiku-4-5", 200000, 64000, 1000, 1250, 2000, 100, 5000, 0 },
	};
	(void)state;
	for (size_t i = 0; i < LENGTH(rows); i++) {
		const struct catalog_row *row = catalog_find(rows[i].id);
		assert_non_null(row);
		assert_int_equal(row->window, rows[i].window);
		assert_int_equal(row->max_output, rows[i].max_output);
		assert_int_equal(row->price.input, rows[i].in);
		assert_int_equal(row->price.write_5m, rows[i].w5);
		assert_int_equal(row->price.write_1h, rows[i].w1);
		assert_int_equal(row->price.read, rows[i].rd);
		assert_int_equal(row->price.output, rows[i].out);
		assert_int_equal(row->flags, rows[i].flags);
	}
	assert_non_null(catalog_find(catalog_default_model));
}

static void cost_adds_up_every_kind_of_token(void **state)
{
	const struct catalog_row *row = catalog_find("claude-opus-5-5");
	struct usage u = USAGE_UNKNOWN;
	(void)state;
	assert_int_equal(catalog_cost(row, &u), 0); /* what is not told counts as nothing */
	u.input = 1000;
	u.output = 100;
	assert_int_equal(catalog_cost(row, &u), 1000 * 4000 + 100 * 20000);
	u.cache_read = 10000;
	u.cache_creation = 500; /* life time not told: the short one */
	assert_int_equal(catalog_cost(row, &u), 4000000 + 2000000 + 10000 * 200 + 500 * 5000);
	u.creation_5m = 200;
	u.creation_1h = 300;
	assert_int_equal(catalog_cost(row, &u), 8000000 + 200 * 5000 + 300 * 8000);
	u.creation_5m = -1; /* the rest is short-lived */
	assert_int_equal(catalog_cost(row, &u), 8000000 + 200 * 5000 + 300 * 8000);
	u.web_searches = 3;
	assert_int_equal(catalog_cost(row, &u), 8000000 + 3400000 + 30000000);
	u.fast = true;
	assert_int_equal(catalog_cost(row, &u), 2 * (8000000 + 3400000) + 30000000);
}

static void the_step_counts_the_whole_prompt_and_prices_all_of_it(void **state)
{
	const struct catalog_row *row = catalog_find("claude-haiku-5-5");
	struct usage u = USAGE_UNKNOWN;
	(void)state;
	u.input = 20000;
	u.cache_read = 70000;
	u.cache_creation = 10000;
	u.output = 1000;
	assert_int_equal(catalog_cost(row, &u), 20000 * 100 + 70000 * 10 + 10000 * 125 + 1000 * 500);
	u.input++;
	assert_int_equal(catalog_cost(row, &u), 20001 * 500 + 70000 * 50 + 10000 * 625 + 1000 * 2500);
}

static void huge_or_negative_counts_neither_overflow_nor_pay_back(void **state)
{
	const struct catalog_row *row = catalog_find("claude-fable-5-2");
	struct usage u = USAGE_UNKNOWN;
	(void)state;
	u.input = 9007199254740993;
	assert_int_equal(catalog_cost(row, &u), INT64_MAX);
	u.output = u.cache_read = u.cache_creation = u.creation_1h = u.creation_5m = u.web_searches = INT64_MAX;
	u.fast = true;
	assert_int_equal(catalog_cost(row, &u), INT64_MAX);
	u = (struct usage){ .input = -5, .output = INT64_MIN, .cache_read = -1, .cache_creation = -7 };
	assert_int_equal(catalog_cost(row, &u), 0);
}

static void unknown_models_have_no_price(void **state)
{
	struct usage u = { .input = 10, .output = 10 };
	(void)state;
	assert_int_equal(catalog_cost(NULL, &u), -1);
	assert_int_equal(catalog_cost(catalog_or_default("claude-opus-9"), &u), -1);
	assert_int_equal(catalog_cost(catalog_or_default("my-local-model"), &u), -1);
	assert_ptr_equal(catalog_or_default("claude-opus-5"), catalog_find("claude-opus-5"));
}

static void an_unknown_claude_is_taken_carefully(void **state)
{
	static const char *const names[] = { "claude-opus-9", "anthropic/Claude-next",
		                             "us.anthropic.claude-opus-5-v1:0" };
	(void)state;
	for (size_t i = 0; i < LENGTH(names); i++) {
		const struct catalog_row *row = catalog_or_default(names[i]);
		assert_int_equal(row->window, 200000);
		assert_true(row->flags & CAT_THINKING_BOUND);
		assert_true(row->flags & CAT_DENSE_TOKENS);
		assert_int_equal(catalog_default_max_output(row), 32000);
	}
	const struct catalog_row *other = catalog_or_default("mock-large");
	assert_int_equal(other->window, 0);
	assert_int_equal(other->max_output, 0);
	assert_int_equal(other->flags, 0);
}

static void default_output_cap_leaves_room_for_thinking(void **state)
{
	struct catalog_row small = { .id = "small", .max_output = 2000 };
	(void)state;
	assert_int_equal(catalog_default_max_output(catalog_find("claude-opus-5-5")), 32000);
	assert_int_equal(catalog_default_max_output(catalog_find("claude-opus-4-8")), 8000);
	assert_int_equal(catalog_default_max_output(catalog_or_default("mock-large")), 8000);
	assert_int_equal(catalog_default_max_output(NULL), 8000);
	assert_int_equal(catalog_default_max_output(&small), 2000);
	small.flags = CAT_THINKS_BY_DEFAULT;
	assert_int_equal(catalog_default_max_output(&small), 2000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ids_match_whole_names_only),
		cmocka_unit_test(every_row_is_as_published),
		cmocka_unit_test(cost_adds_up_every_kind_of_token),
		cmocka_unit_test(the_step_counts_the_whole_prompt_and_prices_all_of_it),
		cmocka_unit_test(huge_or_negative_counts_neither_overflow_nor_pay_back),
		cmocka_unit_test(unknown_models_have_no_price),
		cmocka_unit_test(an_unknown_claude_is_taken_carefully),
		cmocka_unit_test(default_output_cap_leaves_room_for_thinking),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
