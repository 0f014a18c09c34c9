/* Reading parsed documents. */
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "growth.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static struct json parsed(const char *text, unsigned flags)
{
	struct json doc;
	struct error e = ERROR_INIT;

	if (json_parse(&doc, text, strlen(text), flags, &e))
		fail_msg("%s: %s", text, e.msg);
	return doc;
}

static void test_navigation(void **state)
{
	struct json doc = parsed("{\"a\":{\"b\":[1,{\"x\":[2,3]},\"s\"],\"c\":null},\"z\":true,\"z\":false}", 0);
	bool z = true;

	(void)state;
	assert_int_equal(json_type(&doc, json_root(&doc)), JSON_OBJECT);
	assert_int_equal(json_size(&doc, json_root(&doc)), 3);
	int list = json_path(&doc, json_root(&doc), "a.b");
	assert_int_equal(json_type(&doc, list), JSON_ARRAY);
	assert_int_equal(json_size(&doc, list), 3);

	static const char *const raw[] = { "1", "{\"x\":[2,3]}", "\"s\"" };
	size_t i = 0;
	for (int tok = json_first(&doc, list); tok >= 0; tok = json_next(&doc, list, tok), i++) {
		size_t n;
		const char *p = json_raw(&doc, tok, &n);
		assert_true(i < COUNT(raw));
		assert_int_equal(n, strlen(raw[i]));
		assert_memory_equal(p, raw[i], n);
	}
	assert_int_equal(i, COUNT(raw));

	static const char *const keys[] = { "a", "z", "z" };
	i = 0;
	for (int key = json_first(&doc, 0); key >= 0; key = json_next(&doc, 0, key), i++) {
		assert_true(json_eq(&doc, key, keys[i]));
		assert_true(json_value_of(&doc, key) > key);
	}
	assert_int_equal(i, COUNT(keys));

	assert_true(json_bool(&doc, json_get(&doc, 0, "z"), &z));
	assert_false(z); /* the last one wins */
	assert_true(json_absent(&doc, json_path(&doc, 0, "a.c")));
	assert_true(json_absent(&doc, json_path(&doc, 0, "a.nothing")));
	assert_false(json_absent(&doc, list));
	assert_int_equal(json_path(&doc, 0, "a.b.c"), -1);
	assert_int_equal(json_path(&doc, 0, "nothing.b"), -1);
	json_release(&doc);
	json_release(&doc); /* harmless */
}

/* Each accessor says "not there" for no token, a token out of range, and one of another type. */
static void test_not_there(void **state)
{
	struct json doc = parsed("[\"text\"]", 0);
	struct buf out = BUF_INIT(100);
	const int wrong[] = { -1, 0, 99 };

	(void)state;
	for (size_t i = 0; i < COUNT(wrong); i++) {
		int64_t v = 7;
		double d = 7;
		bool b = true;
		assert_int_equal(json_get(&doc, wrong[i], "a"), -1);
		assert_int_equal(json_value_of(&doc, wrong[i]), -1);
		assert_int_equal(json_str(&doc, wrong[i], &out), -1);
		assert_null(json_strdup(&doc, wrong[i], NULL));
		assert_false(json_eq(&doc, wrong[i], ""));
		assert_false(json_int(&doc, wrong[i], &v));
		assert_false(json_double(&doc, wrong[i], &d));
		assert_false(json_bool(&doc, wrong[i], &b));
		assert_int_equal(json_int_or(&doc, wrong[i], 5), 5);
		assert_int_equal(v, 7);
		assert_int_equal(out.len, 0);
	}
	size_t n = 1;
	assert_null(json_raw(&doc, -1, &n));
	assert_int_equal(n, 0);
	assert_int_equal(json_first(&doc, 1), -1);
	assert_int_equal(json_next(&doc, 0, -1), -1);
	assert_int_equal(json_size(&doc, 1), 0);
	assert_int_equal(json_value_of(&doc, 1), -1); /* an element is no key */
	assert_int_equal(json_type(&doc, 99), JSON_NONE);
	json_release(&doc);
}

static void test_integers(void **state)
{
	static const struct {
		const char *text;
		bool ok;
		int64_t v;
	} cases[] = {
		{ "0", true, 0 },
		{ "-0", true, 0 },
		{ "-0.0e5", true, 0 },
		{ "0e999999999999999999999", true, 0 },
		{ "1.0", true, 1 },
		{ "1e3", true, 1000 },
		{ "1.50e2", true, 150 },
		{ "1500e-2", true, 15 },
		{ "-12.000", true, -12 },
		{ "0.00001e5", true, 1 },
		{ "9223372036854775807", true, INT64_MAX },
		{ "-9223372036854775808", true, INT64_MIN },
		{ "9007199254740993", true, 9007199254740993 }, /* no double holds this one */
		{ "9.223372036854775807e18", true, INT64_MAX },
		{ "9223372036854775807000e-3", true, INT64_MAX },
		{ "9223372036854775808", false, 0 },
		{ "-9223372036854775809", false, 0 },
		{ "18446744073709551617", false, 0 },
		{ "1e19", false, 0 },
		{ "1e99999999999999999999", false, 0 },
		{ "1e-99999999999999999999", false, 0 },
		{ "1.5", false, 0 },
		{ "15e-1", false, 0 },
		{ "0.1", false, 0 },
		{ "true", false, 0 },
		{ "\"1\"", false, 0 },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct json doc = parsed(cases[i].text, 0);
		int64_t v = 0;
		if (json_int(&doc, 0, &v) != cases[i].ok)
			fail_msg("json_int of %s", cases[i].text);
		assert_true(v == cases[i].v);
		json_release(&doc);
	}
}

static void test_doubles(void **state)
{
	static const struct {
		const char *text;
		bool ok;
		double v;
	} cases[] = {
		{ "0.1", true, 0.1 },
		{ "-1.5e-3", true, -0.0015 },
		{ "1e308", true, 1e308 },
		{ "1e-999", true, 0 },
		{ "1e999", false, 0 },
		{ "0.1000000000000000000000000000000000000000000000000000000000000000000000000000000001", true, 0.1 },
		{ "null", false, 0 },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct json doc = parsed(cases[i].text, 0);
		double v = 0;
		if (json_double(&doc, 0, &v) != cases[i].ok)
			fail_msg("json_double of %s", cases[i].text);
		assert_true(v == cases[i].v);
		json_release(&doc);
	}
}

static void test_strings(void **state)
{
	struct json doc = parsed(
	        "[\"\\\"\\\\\\/\\b\\f\\n\\r\\t\",\"a\\u0000b\",\"\\u00e9\\u20ac\\ud83d\\ude00\xC3\xA9\",\"\"]", 0);
	static const struct {
		const char *s;
		size_t n;
	} want[] = {
		{ "\"\\/\b\f\n\r\t", 8 },
		{ "a\0b", 3 },
		{ "\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80\xC3\xA9", 11 },
		{ "", 0 },
	};
	size_t i = 0;

	(void)state;
	for (int tok = json_first(&doc, 0); tok >= 0; tok = json_next(&doc, 0, tok), i++) {
		size_t n;
		char *s = json_strdup(&doc, tok, &n);
		assert_non_null(s);
		assert_int_equal(n, want[i].n);
		assert_memory_equal(s, want[i].s, n + 1);
		free(s);
	}
	assert_int_equal(i, COUNT(want));
	assert_true(json_eq(&doc, 3, "\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80\xC3\xA9"));
	assert_false(json_eq(&doc, 2, "a")); /* the NUL is not an end */
	json_release(&doc);
}

/* A key is compared decoded, and the raw bytes of an escape are no match for the same bytes as text. */
static void test_escaped_keys(void **state)
{
	struct json doc = parsed("{\"\\u0061b\":1,\"x\\ny\":2,\"q\":3}", 0);

	(void)state;
	assert_int_equal(json_int_or(&doc, json_get(&doc, 0, "ab"), 0), 1);
	assert_int_equal(json_int_or(&doc, json_get(&doc, 0, "x\ny"), 0), 2);
	assert_int_equal(json_get(&doc, 0, "x\\ny"), -1);
	assert_int_equal(json_get(&doc, 0, "abc"), -1);
	assert_int_equal(json_get(&doc, 0, ""), -1);
	json_release(&doc);
}

static void test_buffer_limit(void **state)
{
	struct json doc = parsed("\"hello\"", 0);
	struct buf small = BUF_INIT(3);

	(void)state;
	assert_int_equal(json_str(&doc, 0, &small), -1);
	assert_int_equal(small.failed, ERR_LIMIT);
	buf_release(&small);
	json_release(&doc);
}

static void test_repair(void **state)
{
	static const struct {
		const char *in, *text; /* the repaired text */
	} cases[] = {
		{ "[\"\\ud800\"]", "[\"\\ufffd\"]" },
		{ "[\"\\udc00x\"]", "[\"\\ufffdx\"]" },
		{ "[\"\\ude00\\ud83d\"]", "[\"\\ufffd\\ufffd\"]" },
		{ "[\"\\ud83d\\ud83d\\ude00\"]", "[\"\\ufffd\\ud83d\\ude00\"]" },
		{ "[\"\\ud83d\\n\"]", "[\"\\ufffd\\n\"]" },
		{ "[\"\\\\ud800\\ud800\"]", "[\"\\\\ud800\\ufffd\"]" }, /* an escaped backslash is no escape */
		{ "[\"\xFF\xE2\x82\"]", "[\"\xEF\xBF\xBD\xEF\xBF\xBD\"]" },
		{ "\xEF\xBB\xBF{\"\xC0\xAF\":1}", "{\"\xEF\xBF\xBD\xEF\xBF\xBD\":1}" },
		{ "[\"\\ud83d\\ude00\"]", "[\"\\ud83d\\ude00\"]" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct json doc = parsed(cases[i].in, JSON_REPAIR | JSON_BORROW);
		assert_int_equal(doc.len, strlen(cases[i].text));
		assert_memory_equal(doc.text, cases[i].text, doc.len);
		/* what was repaired needs no repair */
		assert_int_equal(json_validate(doc.text, doc.len, 0, NULL, NULL), 0);
		json_release(&doc);
	}
	struct json doc;
	assert_int_equal(json_parse(&doc, "[\xFF]", 3, JSON_REPAIR, NULL), -1); /* no repair outside of strings */
}

static void test_borrow_and_copy(void **state)
{
	char text[] = " [1] ";
	struct json borrowed;
	struct json copied;

	(void)state;
	assert_int_equal(json_parse(&borrowed, text, 5, JSON_BORROW, NULL), 0);
	assert_int_equal(json_parse(&copied, text, 5, 0, NULL), 0);
	assert_ptr_equal(borrowed.text, text);
	memset(text, 'x', 5);
	size_t n;
	assert_memory_equal(json_raw(&copied, 0, &n), "[1]", 3);
	assert_int_equal(n, 3);
	json_release(&borrowed);
	json_release(&copied);
}

static void test_duplicate_keys(void **state)
{
	static const struct {
		const char *text, *msg; /* NULL: no duplicate */
	} cases[] = {
		{ "{\"a\":1,\"b\":{\"a\":2},\"c\":[{\"a\":1},{\"a\":1}]}", NULL },
		{ "{\"a\":1,\"a\":1}", "offset 7: the key \"a\" occurs twice" },
		{ "{\"a\":1,\"\\u0061\":1}", "offset 7: the key \"\\u0061\" occurs twice" },
		{ "{\"\":1,\"\":1}", "offset 6: the key \"\" occurs twice" },
		{ "\xEF\xBB\xBF{\"a\":1,\"a\":1}", "offset 10: the key \"a\" occurs twice" },
		{ "[{\"x\":{\"k\":0,\"kk\":0,\"k\":0}}]", "offset 20: the key \"k\" occurs twice" },
		{ "{\"1\":0,\"2\":0,\"3\":0,\"4\":0,\"5\":0,\"6\":0,\"7\":0,\"8\":0,\"9\":0,\"\\u0035\":0,\"1\":0}",
		  "offset 55: the key \"\\u0035\" occurs twice" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct json doc;
		struct error e = ERROR_INIT;
		int rc = json_parse(&doc, cases[i].text, strlen(cases[i].text), JSON_UNIQUE, &e);
		assert_int_equal(rc, cases[i].msg ? -1 : 0);
		assert_string_equal(e.msg, cases[i].msg ? cases[i].msg : "");
		assert_int_equal(json_validate(cases[i].text, strlen(cases[i].text), JSON_UNIQUE, NULL, NULL), rc);
		json_release(&doc);
	}
}

/* {"k0":0,"k1":1,...} with n members; the last key is k0 again if asked. */
static char *many_keys(size_t n, bool repeat, size_t *len)
{
	struct buf b = BUF_INIT(BUF_HUGE);

	for (size_t i = 0; i < n; i++)
		buf_addf(&b, "%c\"k%zu\":%zu", i ? ',' : '{', repeat && i == n - 1 ? 0 : i, i);
	buf_addc(&b, '}');
	char *p = buf_take(&b, len);
	assert_non_null(p);
	return p;
}

static void parse_unique(void *ctx, size_t n)
{
	struct json doc;
	size_t len;

	(void)ctx;
	for (int repeat = 0; repeat < 2; repeat++) {
		char *text = many_keys(n, repeat, &len);
		assert_int_equal(json_parse(&doc, text, len, JSON_UNIQUE, NULL), repeat ? -1 : 0);
		json_release(&doc);
		free(text);
	}
}

/* Eight times as many keys take about eight times as long, not sixty-four. */
static void test_duplicates_in_a_huge_object(void **state)
{
	(void)state;
	assert_true(growth_is_linear(parse_unique, NULL, 10000));
}

static void parse_dense(void *ctx, size_t objects)
{
	struct buf b = BUF_INIT(BUF_HUGE);
	struct json doc;
	struct error e = ERROR_INIT;
	size_t seen = 0;

	(void)ctx;
	for (size_t i = 0; i < objects; i++)
		buf_addf(&b, "%c{\"a\":%zu,\"b\":[1,2],\"c\":{\"d\":\"e\"}}", i ? ',' : '[', i % 1000);
	buf_addc(&b, ']');
	assert_int_equal(b.failed, ERR_NONE);
	assert_int_equal(json_parse(&doc, b.data, b.len, JSON_BORROW | JSON_UNIQUE, &e), 0);
	for (int tok = json_first(&doc, 0); tok >= 0; tok = json_next(&doc, 0, tok))
		seen += json_get(&doc, tok, "c") > 0;
	assert_int_equal(seen, objects);
	json_release(&doc);
	buf_release(&b);
}

/* 5 MB of small objects takes about eight times as long as an eighth of it, not sixty-four. */
static void test_dense_objects_are_linear(void **state)
{
	(void)state;
	assert_true(growth_is_linear(parse_dense, NULL, 15000));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_navigation),
		cmocka_unit_test(test_not_there),
		cmocka_unit_test(test_integers),
		cmocka_unit_test(test_doubles),
		cmocka_unit_test(test_strings),
		cmocka_unit_test(test_escaped_keys),
		cmocka_unit_test(test_buffer_limit),
		cmocka_unit_test(test_repair),
		cmocka_unit_test(test_borrow_and_copy),
		cmocka_unit_test(test_duplicate_keys),
		cmocka_unit_test(test_duplicates_in_a_huge_object),
		cmocka_unit_test(test_dense_objects_are_linear),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
