#include "test.h"

#include <string.h>

#include "base/utf8.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define R        "\xEF\xBF\xBD"

static void test_every_code_point(void **state)
{
	(void)state;
	for (uint32_t cp = 0; cp <= 0x110000; cp++) {
		char c[4];
		size_t n = utf8_encode(c, cp);
		assert_int_equal(utf8_char_len(c, n), n);
		assert_int_equal(utf8_char_len(c, n - 1), 0);
		bool replaced = n == 3 && memcmp(c, R, 3) == 0;
		bool bad = cp > 0x10FFFF || (cp >= 0xD800 && cp <= 0xDFFF);
		if (replaced != (bad || cp == 0xFFFD))
			fail_msg("U+%04X", cp);
	}
}

/* One replacement for each maximal part that could have begun a character. */
static void test_repair(void **state)
{
	static const struct {
		const char *in;
		size_t n;
		const char *out;
	} cases[] = {
		{ "", 0, "" },
		{ "plain", 5, "plain" },
		{ "\x80", 1, R }, /* lone continuation */
		{ "\x80\xBF", 2, R R },
		{ "\xC0\x80", 2, R R }, /* overlong NUL */
		{ "\xC1\xBF", 2, R R },
		{ "\xE0\x80\x80", 3, R R R }, /* overlong, three bytes */
		{ "\xE0\x9F\xBF", 3, R R R },
		{ "\xF0\x80\x80\x80", 4, R R R R }, /* overlong, four bytes */
		{ "\xF0\x8F\xBF\xBF", 4, R R R R },
		{ "\xED\xA0\x80", 3, R R R },                   /* a surrogate */
		{ "\xED\xA0\xBD\xED\xB8\x80", 6, R R R R R R }, /* a pair of them */
		{ "\xF4\x90\x80\x80", 4, R R R R },             /* above U+10FFFF */
		{ "\xF5\x80\x80\x80", 4, R R R R },
		{ "\xFE\xFF", 2, R R },
		{ "\xE2\x82", 2, R }, /* cut by the end */
		{ "\xF0\x9F\x98", 3, R },
		{ "\xC3", 1, R },
		{ "\xE2\x82z", 3, R "z" }, /* cut by something else */
		{ "\xF0\x9F\xE2\x82\xAC", 5, R "\xE2\x82\xAC" },
		{ "\xC3(", 2, R "(" },
		{ "a\xF1\x80\x80\xE1\x80\xC2z\x80y\x80\xBFx", 13,
		  "a" R R R "z" R "y" R R "x" }, /* the standard's own example */
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct buf out = BUF_INIT(100);
		assert_int_equal(utf8_repair(&out, cases[i].in, cases[i].n), 0);
		assert_string_equal(buf_str(&out), cases[i].out);
		assert_true(utf8_valid(buf_str(&out), out.len, NULL));
		assert_int_equal(utf8_valid(cases[i].in, cases[i].n, NULL), !strstr(cases[i].out, R));
		buf_release(&out);
	}
}

static void test_repair_keeps_nul_and_obeys_the_limit(void **state)
{
	struct buf out = BUF_INIT(3);

	(void)state;
	assert_int_equal(utf8_repair(&out, "a\0b", 3), 0);
	assert_memory_equal(out.data, "a\0b", 3);
	assert_int_equal(utf8_repair(&out, "c", 1), -1);
	assert_int_equal(out.failed, ERR_LIMIT);
	buf_release(&out);
}

static void test_first_bad_offset(void **state)
{
	size_t bad = 0;

	(void)state;
	assert_false(utf8_valid("0123456789abcdef\xE2\x82\xACx\xFFy", 22, &bad));
	assert_int_equal(bad, 20);
	assert_true(utf8_valid("0123456789abcdef\xE2\x82\xACx", 20, &bad));
}

static void test_borders(void **state)
{
	static const char s[] = "a\xF0\x9F\x98\x80z"; /* borders at 0 1 5 6 */
	static const size_t down[] = { 0, 1, 1, 1, 1, 5, 6, 6 };
	static const size_t up[] = { 0, 1, 5, 5, 5, 5, 6, 6 };

	(void)state;
	for (size_t i = 0; i < COUNT(down); i++) {
		assert_int_equal(utf8_floor(s, 6, i), down[i]);
		assert_int_equal(utf8_ceil(s, 6, i), up[i]);
	}
	/* bytes that form no character are their own borders */
	static const char junk[] = "\x80\x80\x80\x80\x80\xE2\x82";
	for (size_t i = 0; i <= 7; i++) {
		assert_int_equal(utf8_floor(junk, 7, i), i);
		assert_int_equal(utf8_ceil(junk, 7, i), i);
	}
	/* a continuation byte behind a whole character belongs to nothing */
	assert_int_equal(utf8_floor("\xC3\xA9\xA9", 3, 2), 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_code_point),
		cmocka_unit_test(test_repair),
		cmocka_unit_test(test_repair_keeps_nul_and_obeys_the_limit),
		cmocka_unit_test(test_first_bad_offset),
		cmocka_unit_test(test_borders),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
