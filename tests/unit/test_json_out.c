/* Writing JSON. */
#include "test.h"

#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/json_out.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static void test_structure(void **state)
{
	struct buf b = BUF_INIT(1000);
	struct json_out o;

	(void)state;
	json_out_init(&o, &b);
	jo_object(&o);
	jo_kstr(&o, "s", "a\"b");
	jo_kstr(&o, "none", NULL);
	jo_kint(&o, "i", INT64_MIN);
	jo_kbool(&o, "b", true);
	jo_knull(&o, "n");
	jo_key(&o, "list");
	jo_array(&o);
	jo_int(&o, 1);
	jo_object(&o);
	jo_end(&o);
	jo_array(&o);
	jo_end(&o);
	jo_bool(&o, false);
	jo_raw(&o, "{\"x\":1}", 7);
	jo_strn(&o, "cut here", 3);
	jo_end(&o);
	jo_key(&o, "d");
	jo_double(&o, 0.5);
	jo_end(&o);
	assert_string_equal(buf_str(&b),
	                    "{\"s\":\"a\\\"b\",\"none\":null,\"i\":-9223372036854775808,\"b\":true,\"n\":null,"
	                    "\"list\":[1,{},[],false,{\"x\":1},\"cut\"],\"d\":0.5}");
	buf_release(&b);
}

static void test_two_roots_need_no_comma(void **state)
{
	struct buf b = BUF_INIT(100);
	struct json_out o;

	(void)state;
	json_out_init(&o, &b);
	jo_int(&o, 1);
	buf_addc(&b, '\n');
	jo_object(&o);
	jo_end(&o);
	jo_end(&o); /* nothing is open: ignored */
	assert_string_equal(buf_str(&b), "1\n{}");
	buf_release(&b);
}

static void test_quoting(void **state)
{
	static const struct {
		const char *in;
		size_t n;
		const char *out;
	} cases[] = {
		{ "plain", 5, "\"plain\"" },
		{ "", 0, "\"\"" },
		{ "\"\\/", 3, "\"\\\"\\\\/\"" },
		{ "\b\f\n\r\t", 5, "\"\\b\\f\\n\\r\\t\"" },
		{ "\0\x01\x1f\x7f", 4, "\"\\u0000\\u0001\\u001f\x7f\"" },
		{ "\xE2\x80\xA8\xE2\x80\xA9\xE2\x80\xAA", 9, "\"\\u2028\\u2029\xE2\x80\xAA\"" },
		{ "\xC3\xA9\xF0\x9F\x98\x80", 6, "\"\xC3\xA9\xF0\x9F\x98\x80\"" },
		{ "a\xFFz", 3, "\"a\xEF\xBF\xBDz\"" },
		{ "\xED\xA0\x80", 3, "\"\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\"" },
		{ "\xE2\x82", 2, "\"\xEF\xBF\xBD\"" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct buf b = BUF_INIT(100);
		json_quote(&b, cases[i].in, cases[i].n);
		assert_string_equal(buf_str(&b), cases[i].out);
		assert_int_equal(json_validate(b.data, b.len, 0, NULL, NULL), 0);
		buf_release(&b);
	}
}

static void assert_double(double v, const char *want)
{
	struct buf b = BUF_INIT(100);
	struct json_out o;

	json_out_init(&o, &b);
	jo_double(&o, v);
	assert_string_equal(buf_str(&b), want);
	buf_release(&b);
}

static void test_doubles(void **state)
{
	(void)state;
	assert_double(0, "0");
	assert_double(0.1, "0.1");
	assert_double(1.0 / 3, "0.3333333333333333");
	assert_double(0.1 + 0.2, "0.30000000000000004");
	assert_double(1e300, "1e+300");
	assert_double(-2.5e-7, "-2.5e-07");
	assert_double(5e-324, "4.94065645841247e-324");
	assert_double(NAN, "null");
	assert_double(INFINITY, "null");
	assert_double(-INFINITY, "null");
}

/* A locale with a decimal comma must change nothing; "C.UTF-8" at least is always there. */
static void test_locale(void **state)
{
	static const char *const names[] = { "de_DE.UTF-8", "fr_FR.UTF-8", "C.UTF-8" };
	struct json doc;
	double v = 0;

	(void)state;
	for (size_t i = 0; i < COUNT(names); i++) {
		if (!setlocale(LC_ALL, names[i]))
			continue;
		assert_double(1.5, "1.5");
		assert_int_equal(json_parse(&doc, "1.5", 3, 0, NULL), 0);
		assert_true(json_double(&doc, 0, &v));
		assert_true(v == 1.5);
		json_release(&doc);
	}
	setlocale(LC_ALL, "C");
}

static void test_limits_are_sticky(void **state)
{
	struct buf small = BUF_INIT(8);
	struct buf deep = BUF_INIT(1000);
	struct json_out o;
	struct error e = ERROR_INIT;

	(void)state;
	json_out_init(&o, &small);
	jo_str(&o, "far too long");
	jo_int(&o, 1);
	assert_int_equal(buf_check(&small, "the line", &e), -1);
	assert_int_equal(e.code, ERR_LIMIT);

	json_out_init(&o, &deep);
	for (int i = 0; i < JSON_OUT_DEPTH; i++)
		jo_array(&o);
	assert_int_equal(deep.failed, ERR_NONE);
	jo_array(&o);
	assert_int_equal(deep.failed, ERR_LIMIT);
	for (int i = 0; i < 2 * JSON_OUT_DEPTH; i++)
		jo_end(&o);
	buf_release(&small);
	buf_release(&deep);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_structure), cmocka_unit_test(test_two_roots_need_no_comma),
		cmocka_unit_test(test_quoting),   cmocka_unit_test(test_doubles),
		cmocka_unit_test(test_locale),    cmocka_unit_test(test_limits_are_sticky),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
