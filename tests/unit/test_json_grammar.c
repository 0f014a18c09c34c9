/* What is JSON and what is not. The rejected documents are those that jsmn, strict or loose, would let pass. */
#include "test.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"

struct document {
	const char *name;
	const char *text;
	size_t len;
};

#define DOC(name, text)                                                                                                \
	{                                                                                                              \
		name, text, sizeof(text) - 1                                                                           \
	}

static const struct document strict_jsmn_accepts[] = {
	DOC("array_1_true_without_comma", "[1 true]"),
	DOC("array_colon_instead_of_comma", "[\"\": 1]"),
	DOC("array_comma_after_close", "[\"\"],"),
	DOC("array_comma_and_number", "[,1]"),
	DOC("array_double_comma", "[1,,2]"),
	DOC("array_double_extra_comma", "[\"x\",,]"),
	DOC("array_extra_comma", "[\"\",]"),
	DOC("array_items_separated_by_semicolon", "[1:2]"),
	DOC("array_just_comma", "[,]"),
	DOC("array_just_minus", "[-]"),
	DOC("array_missing_value", "[   , \"\"]"),
	DOC("array_number_and_comma", "[1,]"),
	DOC("array_number_and_several_commas", "[1,,]"),
	DOC("incomplete_false", "[fals]"),
	DOC("incomplete_null", "[nul]"),
	DOC("incomplete_true", "[tru]"),
	DOC("number_-01", "[-01]"),
	DOC("number_-1.0.", "[-1.0.]"),
	DOC("number_-2.", "[-2.]"),
	DOC("number_-NaN", "[-NaN]"),
	DOC("number_0.1.2", "[0.1.2]"),
	DOC("number_0.3e+", "[0.3e+]"),
	DOC("number_0.3e", "[0.3e]"),
	DOC("number_0.e1", "[0.e1]"),
	DOC("number_0_capital_E+", "[0E+]"),
	DOC("number_0_capital_E", "[0E]"),
	DOC("number_0e+", "[0e+]"),
	DOC("number_0e", "[0e]"),
	DOC("number_1.0e+", "[1.0e+]"),
	DOC("number_1.0e-", "[1.0e-]"),
	DOC("number_1.0e", "[1.0e]"),
	DOC("number_1_000", "[1_000]"),
	DOC("number_1_000 with a space", "[1 000.0]"),
	DOC("number_1eE2", "[1eE2]"),
	DOC("number_2.e+3", "[2.e+3]"),
	DOC("number_2.e-3", "[2.e-3]"),
	DOC("number_2.e3", "[2.e3]"),
	DOC("number_9.e+", "[9.e+]"),
	DOC("number_expression", "[1+2]"),
	DOC("number_hex_1_digit", "[0x1]"),
	DOC("number_hex_2_digits", "[0x42]"),
	DOC("number_invalid+-", "[0e+-1]"),
	DOC("number_invalid-negative-real", "[-123.123foo]"),
	DOC("number_minus_infinity", "[-Infinity]"),
	DOC("number_minus_sign_with_trailing_garbage", "[-foo]"),
	DOC("number_minus_space_1", "[- 1]"),
	DOC("number_neg_int_starting_with_zero", "[-012]"),
	DOC("number_neg_real_without_int_part", "[-.123]"),
	DOC("number_neg_with_garbage_at_end", "[-1x]"),
	DOC("number_real_garbage_after_e", "[1ea]"),
	DOC("number_real_without_fractional_part", "[1.]"),
	DOC("number_with_alpha", "[1.2a-3]"),
	DOC("number_with_alpha_char", "[1.8011670033376514H-308]"),
	DOC("number_with_leading_zero", "[012]"),
	DOC("object_bad_value", "[\"x\", truth]"),
	DOC("object_double_colon", "{\"x\"::\"b\"}"),
	DOC("object_lone_continuation_byte_in_key_and_trailing_comma", "{\"\xB9\":\"0\",}"),
	DOC("object_missing_key", "{:\"b\"}"),
	DOC("object_missing_semicolon", "{\"a\" \"b\"}"),
	DOC("object_several_trailing_commas", "{\"id\":0,,,,,}"),
	DOC("object_trailing_comma", "{\"id\":0,}"),
	DOC("object_two_commas_in_a_row", "{\"a\":\"b\",,\"c\":\"d\"}"),
	DOC("object_with_single_string", "{ \"foo\" : \"bar\", \"a\" }"),
	DOC("string_unescaped_newline", "[\"new\nline\"]"),
	DOC("string_unescaped_tab", "[\"\t\"]"),
	DOC("structure_double_array", "[][]"),
	DOC("structure_object_with_trailing_garbage", "{\"a\": true} \"x\""),
};

static const struct document loose_jsmn_accepts[] = {
	DOC("array_spaces_vertical_tab_formfeed", "[\"\x0B"
	                                          "a\"\\f]"),
	DOC("array_star_inside", "[*]"),
	DOC("multidigit_number_then_00", "123\0"),
	DOC("number_++", "[++1234]"),
	DOC("number_+1", "[+1]"),
	DOC("number_+Inf", "[+Inf]"),
	DOC("number_.-1", "[.-1]"),
	DOC("number_.2e-3", "[.2e-3]"),
	DOC("number_Inf", "[Inf]"),
	DOC("number_NaN", "[NaN]"),
	DOC("number_infinity", "[Infinity]"),
	DOC("number_starting_with_dot", "[.123]"),
	DOC("object_comma_instead_of_colon", "{\"x\", null}"),
	DOC("object_garbage_at_end", "{\"a\":\"a\" 123}"),
	DOC("object_key_with_single_quotes", "{key: 'value'}"),
	DOC("object_missing_colon", "{\"a\" b}"),
	DOC("object_non_string_key", "{1:1}"),
	DOC("object_non_string_key_but_huge_number_instead", "{9999E9999:1}"),
	DOC("object_repeated_null_null", "{null:null,null:null}"),
	DOC("object_single_quote", "{'a':0}"),
	DOC("object_trailing_comment", "{\"a\":\"b\"}/**/"),
	DOC("object_trailing_comment_open", "{\"a\":\"b\"}/**//"),
	DOC("object_trailing_comment_slash_open", "{\"a\":\"b\"}//"),
	DOC("object_trailing_comment_slash_open_incomplete", "{\"a\":\"b\"}/"),
	DOC("object_unquoted_key", "{a: \"b\"}"),
	DOC("object_with_trailing_garbage", "{\"a\":\"b\"}#"),
	DOC("string_leading_uescaped_thinspace", "[\\u0020\"asd\"]"),
	DOC("string_no_quotes_with_bad_escape", "[\\n]"),
	DOC("string_single_quote", "['single quote']"),
	DOC("string_single_string_no_double_quotes", "abc"),
	DOC("string_with_trailing_garbage", "\"\"x"),
	DOC("structure_angle_bracket_.", "<.>"),
	DOC("structure_angle_bracket_null", "[<null>]"),
	DOC("structure_array_trailing_garbage", "[1]x"),
	DOC("structure_capitalized_True", "[True]"),
	DOC("structure_number_with_trailing_garbage", "2@"),
	DOC("structure_object_with_comment", "{\"a\":/*comment*/\"b\"}"),
	DOC("structure_single_star", "*"),
	DOC("structure_uescaped_LF_before_string", "[\\u000A\"\"]"),
};

static const struct document others[] = {
	DOC("empty", ""),
	DOC("blank", " \r\n\t"),
	DOC("a BOM alone", "\xEF\xBB\xBF"),
	DOC("two BOMs", "\xEF\xBB\xBF\xEF\xBB\xBF{}"),
	DOC("half a BOM", "\xEF\xBB{}"),
	DOC("a BOM inside", "[\xEF\xBB\xBF]"),
	DOC("UTF-16", "\xFF\xFE[\0]\0"),
	DOC("NUL behind the root", "[1]\0"),
	DOC("NUL and junk behind the root", "[1]\0junk"),
	DOC("NUL between values", "[1,\0 2]"),
	DOC("NUL in a string", "[\"a\0b\"]"),
	DOC("NUL alone", "\0"),
	DOC("no-break space", "[\xC2\xA0]"),
	DOC("form feed between values", "[\f]"),
	DOC("two roots", "{}{}"),
	DOC("two scalars", "1 2"),
	DOC("root closed twice", "[1]]"),
	DOC("only a closing bracket", "]"),
	DOC("brackets crossed", "[{]}"),
	DOC("array closed as object", "[1}"),
	DOC("object closed as array", "{\"a\":1]"),
	DOC("array not closed", "[1"),
	DOC("array not closed behind comma", "[1,"),
	DOC("object not closed", "{\"a\":1"),
	DOC("object not closed behind key", "{\"a\""),
	DOC("object not closed behind colon", "{\"a\":"),
	DOC("object not closed behind comma", "{\"a\":1,"),
	DOC("string not closed", "\"a"),
	DOC("string ends in a backslash", "\"a\\"),
	DOC("string ends in an escaped quote", "\"a\\\""),
	DOC("\\x escape", "[\"\\x00\"]"),
	DOC("\\a escape", "[\"\\a\"]"),
	DOC("\\0 escape", "[\"\\012\"]"),
	DOC("escaped NUL byte", "[\"\\\0\"]"),
	DOC("escaped capital U", "[\"\\U0041\"]"),
	DOC("\\u with three digits", "[\"\\u004\"]"),
	DOC("\\u with a bad digit", "[\"\\u00g1\"]"),
	DOC("\\u cut by the end", "\"\\u00"),
	DOC("escaped emoji", "[\"\\\xF0\x9F\x8C\x80\"]"),
	DOC("lone high surrogate", "[\"\\ud800\"]"),
	DOC("lone low surrogate", "[\"\\udc00\"]"),
	DOC("high and high surrogate", "[\"\\ud800\\ud800\"]"),
	DOC("swapped pair", "[\"\\ude00\\ud83d\"]"),
	DOC("high surrogate and a letter", "[\"\\ud83dx\"]"),
	DOC("high surrogate and a cut escape", "[\"\\ud83d\\ude0\"]"),
	DOC("overlong slash", "[\"\xC0\xAF\"]"),
	DOC("surrogate in UTF-8", "[\"\xED\xA0\x80\"]"),
	DOC("above U+10FFFF", "[\"\xF4\x90\x80\x80\"]"),
	DOC("lone continuation byte", "[\"\x80\"]"),
	DOC("character cut by the quote", "[\"\xE2\x82\"]"),
	DOC("character cut by the end", "\"\xE2\x82"),
	DOC("byte FF outside a string", "[\xFF]"),
	DOC("escape character in a string", "[\"\x1B\"]"),
	DOC("minus alone", "-"),
	DOC("true and more", "[truee]"),
	DOC("true cut", "tru"),
};

/* Text and the number of tokens. */
static const struct {
	struct document doc;
	size_t tokens;
} accepted[] = {
	{ DOC("number", "42"), 1 },
	{ DOC("negative real", "-0.1"), 1 },
	{ DOC("true", "true"), 1 },
	{ DOC("false", "false"), 1 },
	{ DOC("null", "null"), 1 },
	{ DOC("string", "\"asd\""), 1 },
	{ DOC("empty string", "\"\""), 1 },
	{ DOC("number in space", " \n42\t\r "), 1 },
	{ DOC("true in space", " true "), 1 },
	{ DOC("BOM and number", "\xEF\xBB\xBF"
	                        "7"),
	  1 },
	{ DOC("BOM and object", "\xEF\xBB\xBF{}"), 1 },
	{ DOC("empty array", "[]"), 1 },
	{ DOC("empty array with space", "[ \n]"), 1 },
	{ DOC("empty object", "{}"), 1 },
	{ DOC("empty key", "{\"\":0}"), 3 },
	{ DOC("duplicated key", "{\"a\":1,\"a\":2}"), 5 },
	{ DOC("nested", "[[],{},[{\"a\":[1,\"b\",null]}]]"), 10 },
	{ DOC("string then number", "[\"a\",1,{\"b\":\"c\"},2]"), 7 },
	{ DOC("numbers", "[0,-0,0e1,0e+1,1E22,1E-2,1e5,123.456e78,-1,20e1,0.5]"), 12 },
	{ DOC("escapes", "[\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u0041\\u0000\"]"), 2 },
	{ DOC("surrogate pair", "[\"\\ud83d\\ude00\\uD834\\uDD1E\"]"), 2 },
	{ DOC("noncharacters", "[\"\xF4\x8F\xBF\xBF\xEF\xBF\xBF\\uFFFE\"]"), 2 },
	{ DOC("DEL and line separators", "[\"\x7F\xE2\x80\xA8\xE2\x80\xA9\"]"), 2 },
	{ DOC("brackets in strings", "[\"[{\",\"}]\",\"//\",\"/*\"]"), 5 },
	{ DOC("space everywhere", " { \"a\" : [ 1 , 2 ] , \"b\" : { } } "), 7 },
};

/* The text in memory of exactly its size, so that a sanitizer sees a read past its end. */
static char *exact(const char *text, size_t len)
{
	char *p = malloc(len ? len : 1);

	assert_non_null(p);
	memcpy(p, text, len);
	return p;
}

static void refuse(const struct document *d)
{
	struct json doc;
	struct error e = ERROR_INIT;
	char *text = exact(d->text, d->len);

	if (json_parse(&doc, text, d->len, JSON_BORROW, &e) == 0)
		fail_msg("%s was accepted", d->name);
	assert_int_equal(e.code, ERR_INPUT);
	assert_memory_equal(e.msg, "offset ", 7);
	assert_null(doc.text);
	assert_int_equal(json_root(&doc), -1);
	assert_int_equal(json_validate(text, d->len, 0, NULL, NULL), -1);
	free(text);
}

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static void test_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(strict_jsmn_accepts); i++)
		refuse(&strict_jsmn_accepts[i]);
	for (size_t i = 0; i < COUNT(loose_jsmn_accepts); i++)
		refuse(&loose_jsmn_accepts[i]);
	for (size_t i = 0; i < COUNT(others); i++)
		refuse(&others[i]);
}

static void test_accepted(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(accepted); i++) {
		struct json doc;
		struct error e = ERROR_INIT;
		size_t counted = 0;
		size_t len = accepted[i].doc.len;
		char *text = exact(accepted[i].doc.text, len);
		if (json_parse(&doc, text, len, JSON_BORROW, &e))
			fail_msg("%s: %s", accepted[i].doc.name, e.msg);
		assert_int_equal(json_validate(text, len, 0, &counted, &e), 0);
		assert_int_equal(counted, accepted[i].tokens);
		assert_int_equal(doc.ntokens, accepted[i].tokens);
		json_release(&doc);
		free(text);
	}
}

static void test_offsets(void **state)
{
	static const struct {
		const char *text;
		const char *msg;
	} cases[] = {
		{ "[1,,2]", "offset 3: expected a value, found ','" },
		{ "{\"a\" 1}", "offset 5: expected ':', found '1'" },
		{ "{\"a\":1,}", "offset 7: expected a quoted key, found '}'" },
		{ "[1", "offset 2: the text ends where ',' or a closing bracket was expected" },
		{ "", "offset 0: the text ends where a value was expected" },
		{ "\xEF\xBB\xBF[x]", "offset 4: expected a value or ']', found 'x'" },
		{ "[1]\x01", "offset 3: expected the end of the document, found byte 0x01" },
		{ "[\"ab\\ud800\"]", "offset 4: half a surrogate pair" },
		{ "  \"ab", "offset 2: a string without its closing quote" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct error e = ERROR_INIT;
		assert_int_equal(json_validate(cases[i].text, strlen(cases[i].text), 0, NULL, &e), -1);
		assert_string_equal(e.msg, cases[i].msg);
	}
}

/* n openings (of kind), a number, n closings. */
static char *nested(size_t n, bool objects, size_t *len)
{
	const char *open = objects ? "{\"a\":" : "[";
	size_t per = strlen(open);
	char *p = malloc(n * (per + 1) + 1);

	assert_non_null(p);
	for (size_t i = 0; i < n; i++)
		memcpy(p + i * per, open, per);
	p[n * per] = '1';
	memset(p + n * per + 1, objects ? '}' : ']', n);
	*len = n * (per + 1) + 1;
	return p;
}

static void test_depth(void **state)
{
	(void)state;
	for (int objects = 0; objects < 2; objects++) {
		struct json doc;
		struct error e = ERROR_INIT;
		size_t len;
		char *text = nested(JSON_MAX_DEPTH, objects, &len);
		assert_int_equal(json_parse(&doc, text, len, JSON_UNIQUE, &e), 0);
		int tok = json_root(&doc);
		for (int i = 0; i < JSON_MAX_DEPTH; i++)
			tok = objects ? json_get(&doc, tok, "a") : json_first(&doc, tok);
		assert_int_equal(json_int_or(&doc, tok, 0), 1);
		json_release(&doc);
		free(text);

		text = nested(JSON_MAX_DEPTH + 1, objects, &len);
		assert_int_equal(json_parse(&doc, text, len, 0, &e), -1);
		assert_int_equal(e.code, ERR_LIMIT);
		free(text);
	}
}

static void test_a_megabyte_of_brackets_is_refused(void **state)
{
	struct json doc;
	struct error e = ERROR_INIT;
	size_t len;
	char *text = nested(500000, false, &len);

	(void)state;
	assert_int_equal(json_parse(&doc, text, len, JSON_BORROW, &e), -1);
	assert_int_equal(e.code, ERR_LIMIT);
	free(text);
}

static void test_more_tokens_than_the_cap(void **state)
{
	struct json doc;
	struct error e = ERROR_INIT;
	size_t n = JSON_MAX_TOKENS; /* as elements: one too many with the array itself */
	char *text = malloc(2 * n + 1);

	(void)state;
	assert_non_null(text);
	for (size_t i = 0; i < n; i++) {
		text[2 * i] = i ? ',' : '[';
		text[2 * i + 1] = '1';
	}
	text[2 * n] = ']';
	assert_int_equal(json_parse(&doc, text, 2 * n + 1, JSON_BORROW, &e), -1);
	assert_int_equal(e.code, ERR_LIMIT);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_accepted),
		cmocka_unit_test(test_offsets),
		cmocka_unit_test(test_depth),
		cmocka_unit_test(test_a_megabyte_of_brackets_is_refused),
		cmocka_unit_test(test_more_tokens_than_the_cap),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
