/* Blocks: what is kept, what is decoded, what is refused. */
#include "test.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "message/message.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static struct block *from(const char *json)
{
	struct error e = ERROR_INIT;
	struct block *b = block_from_json(json, strlen(json), &e);

	if (!b)
		fail_msg("%s: %s", json, e.msg);
	return b;
}

static void test_bytes_are_kept(void **state)
{
	static const struct {
		const char *json;
		enum block_kind kind;
	} cases[] = {
		{ "{\"type\":\"text\",\"text\":\"a\\u00e9\\/\",\"citations\":null}", BLOCK_TEXT },
		{ "{ \"text\" : \"x\", \"type\" : \"text\" }", BLOCK_TEXT },
		{ "{\"type\":\"thinking\",\"thinking\":\"\",\"signature\":\"c2ln\"}", BLOCK_THINKING },
		{ "{\"type\":\"redacted_thinking\",\"data\":\"xx\"}", BLOCK_REDACTED_THINKING },
		{ "{\"type\":\"tool_use\",\"id\":\"t1\",\"name\":\"Read\",\"input\":{ \"a\" :1.0 "
		  "},\"caller\":{\"type\":\"direct\"}}",
		  BLOCK_TOOL_USE },
		{ "{\"type\":\"tool_result\",\"tool_use_id\":\"t1\"}", BLOCK_TOOL_RESULT },
		{ "{\"type\":\"image\",\"source\":{}}", BLOCK_IMAGE },
		{ "{\"type\":\"document\",\"source\":{}}", BLOCK_DOCUMENT },
		{ "{\"type\":\"server_tool_use\",\"id\":\"s\",\"name\":\"web_search\",\"input\":{}}", BLOCK_OTHER },
		{ "{\"type\":\"something new\"}", BLOCK_OTHER },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct block *b = from(cases[i].json);
		assert_int_equal(b->kind, cases[i].kind);
		assert_string_equal(b->json, cases[i].json);
		assert_int_equal(b->json_len, strlen(cases[i].json));
		assert_int_equal(b->refs, 1);
		block_unref(b);
	}
}

static void test_fields(void **state)
{
	(void)state;
	struct block *b = from(" {\"type\":\"text\",\"text\":\"a\\u0000\\u00e9\"}\n");
	assert_int_equal(b->text_len, 4);
	assert_memory_equal(b->text, "a\0\xC3\xA9", 5);
	assert_string_equal(
	        b->json,
	        "{\"type\":\"text\",\"text\":\"a\\u0000\\u00e9\"}"); /* white space around it is not part of it */
	assert_null(b->id);
	block_unref(b);

	b = from("{\"type\":\"tool_use\",\"id\":\"t\\u0031\",\"name\":\"Bash\",\"input\":{ \"x\" : 1e0 }}");
	assert_string_equal(b->id, "t1");
	assert_string_equal(b->name, "Bash");
	assert_string_equal(b->input, "{ \"x\" : 1e0 }");
	assert_null(b->bad_input);
	assert_null(b->text);
	block_unref(b);

	b = from("{\"type\":\"thinking\",\"thinking\":\"hm\",\"signature\":\"c2ln\"}");
	assert_string_equal(b->text, "c2ln");
	block_unref(b);
	b = from("{\"type\":\"thinking\",\"thinking\":\"hm\"}");
	assert_string_equal(b->text, "");
	block_unref(b);

	b = from("{\"type\":\"tool_result\",\"tool_use_id\":\"t1\",\"is_error\":true,\"content\":[{\"type\":\"text\","
	         "\"text\":\"a\"},"
	         "{\"type\":\"image\",\"source\":{}},{\"type\":\"text\",\"text\":\"b\"}]}");
	assert_string_equal(b->id, "t1");
	assert_null(b->text);
	assert_int_equal(b->text_len, 2);
	char *text = block_result_text(b);
	assert_string_equal(text, "ab");
	free(text);
	assert_true(b->is_error);
	block_unref(b);
}

static void test_refused(void **state)
{
	static const char *const cases[] = {
		"",
		"[]",
		"\"text\"",
		"{}",
		"{\"type\":1}",
		"{\"type\":\"text\"}",
		"{\"type\":\"text\",\"text\":null}",
		"{\"type\":\"text\",\"text\":\"a\"",
		"{\"type\":\"tool_use\",\"name\":\"x\",\"input\":{}}",
		"{\"type\":\"tool_use\",\"id\":\"\",\"name\":\"x\",\"input\":{}}",
		"{\"type\":\"tool_use\",\"id\":\"a\\u0000b\",\"name\":\"x\",\"input\":{}}",
		"{\"type\":\"tool_use\",\"id\":\"a\",\"input\":{}}",
		"{\"type\":\"tool_result\",\"content\":\"x\"}",
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct error e = ERROR_INIT;
		if (block_from_json(cases[i], strlen(cases[i]), &e))
			fail_msg("%s was accepted", cases[i]);
		assert_true(e.code == ERR_INPUT || e.code == ERR_PROTOCOL);
		assert_true(strlen(e.msg) > 0);
	}
}

/* A block that could not be sent back is made sendable on its way in. */
static void test_repair(void **state)
{
	(void)state;
	struct block *b = from("{\"type\":\"text\",\"text\":\"\\ud83d \xFF\"}");
	assert_string_equal(b->json, "{\"type\":\"text\",\"text\":\"\\ufffd \xEF\xBF\xBD\"}");
	assert_string_equal(b->text, "\xEF\xBF\xBD \xEF\xBF\xBD");
	block_unref(b);

	static const struct {
		const char *json, *bad;
	} cases[] = {
		{ "{\"type\":\"tool_use\",\"id\":\"t\",\"name\":\"n\",\"input\":\"{}\"}", "\"{}\"" },
		{ "{\"type\":\"tool_use\",\"id\":\"t\",\"name\":\"n\",\"input\":[1]}", "[1]" },
		{ "{\"type\":\"tool_use\",\"id\":\"t\",\"name\":\"n\"}", "" },
		{ "{\"type\":\"tool_use\",\"id\":\"t\",\"name\":\"n\",\"input\":{\"a\":[{\"b\":1,\"\\u0062\":2}]}}",
		  "{\"a\":[{\"b\":1,\"\\u0062\":2}]}" },
	};
	for (size_t i = 0; i < COUNT(cases); i++) {
		b = from(cases[i].json);
		assert_string_equal(b->json, "{\"type\":\"tool_use\",\"id\":\"t\",\"name\":\"n\",\"input\":{}}");
		assert_int_equal(b->json_len, strlen(b->json));
		assert_string_equal(b->input, "{}");
		assert_string_equal(b->bad_input, cases[i].bad);
		block_unref(b);
	}
}

static void assert_json(struct block *b, const char *json)
{
	assert_non_null(b);
	assert_string_equal(b->json, json);
	assert_int_equal(b->json_len, strlen(json));
	block_unref(b);
}

static void test_constructors(void **state)
{
	(void)state;
	assert_json(block_new_text("a\"\n\xFF", 4), "{\"type\":\"text\",\"text\":\"a\\\"\\n\xEF\xBF\xBD\"}");
	assert_json(block_new_tool_result("t1", "out", 3, false),
	            "{\"type\":\"tool_result\",\"tool_use_id\":\"t1\",\"content\":\"out\"}");
	assert_json(block_new_tool_result("t1", "bad", 3, true),
	            "{\"type\":\"tool_result\",\"tool_use_id\":\"t1\",\"content\":\"bad\",\"is_error\":true}");
	assert_json(block_new_tool_result("t1", "", 0, true),
	            "{\"type\":\"tool_result\",\"tool_use_id\":\"t1\",\"content\":\"Error\",\"is_error\":true}");
	assert_json(block_new_tool_result("t1", "", 0, false),
	            "{\"type\":\"tool_result\",\"tool_use_id\":\"t1\",\"content\":\"\"}");
	assert_json(block_new_tool_result_json("t1", "[{\"type\":\"image\"}]", 18),
	            "{\"type\":\"tool_result\",\"tool_use_id\":\"t1\",\"content\":[{\"type\":\"image\"}]}");
	assert_json(block_new_tool_use("t1", "Read", "{ \"a\":1.0}", 10),
	            "{\"type\":\"tool_use\",\"id\":\"t1\",\"name\":\"Read\",\"input\":{ \"a\":1.0}}");

	struct block *b = block_new_tool_result("t1", "a\0b", 3, true);
	assert_int_equal(b->text_len, 3);
	char *text = block_result_text(b);
	assert_memory_equal(text, "a\0b", 4);
	free(text);
	assert_string_equal(b->id, "t1");
	assert_true(b->is_error);
	block_unref(b);
}

/* Ready-made JSON must be one value: it cannot break out of its place. */
static void test_constructors_refuse(void **state)
{
	static const char *const inputs[] = { "", "[]", "null", "{", "{}}", "{},\"id\":\"x\"", "{}{}" };
	static const char *const contents[] = { "", "{}", "\"x\"", "[]]", "[],\"is_error\":true" };

	(void)state;
	for (size_t i = 0; i < COUNT(inputs); i++)
		assert_null(block_new_tool_use("t", "n", inputs[i], strlen(inputs[i])));
	for (size_t i = 0; i < COUNT(contents); i++)
		assert_null(block_new_tool_result_json("t", contents[i], strlen(contents[i])));
}

static void test_with_id(void **state)
{
	(void)state;
	struct block *b = from(
	        "{\"type\":\"tool_use\", \"id\" : \"old\",\"name\":\"old\",\"input\":{\"id\":\"old\"},\"x\":\"old\"}");
	struct block *copy = block_with_id(b, "new\"1");
	assert_non_null(copy);
	assert_string_equal(copy->json, "{\"type\":\"tool_use\", \"id\" : "
	                                "\"new\\\"1\",\"name\":\"old\",\"input\":{\"id\":\"old\"},\"x\":\"old\"}");
	assert_string_equal(copy->id, "new\"1");
	assert_string_equal(copy->input, "{\"id\":\"old\"}");
	assert_string_equal(b->id, "old");
	block_unref(copy);
	block_unref(b);

	b = from("{\"type\":\"tool_use\",\"id\":\"old\",\"name\":\"n\",\"input\":7}");
	copy = block_with_id(b, "new");
	assert_string_equal(copy->bad_input, "7");
	block_unref(copy);
	block_unref(b);

	b = block_new_tool_result("old", "old", 3, false);
	copy = block_with_id(b, "new");
	assert_string_equal(copy->json, "{\"type\":\"tool_result\",\"tool_use_id\":\"new\",\"content\":\"old\"}");
	block_unref(copy);
	block_unref(b);

	b = block_new_text("old", 3);
	assert_null(block_with_id(b, "new"));
	block_unref(b);
}

static void test_blank(void **state)
{
	static const struct {
		const char *text;
		bool blank;
	} cases[] = {
		{ "", true },
		{ " \t\r\n\v\f", true },
		{ "\xC2\xA0\xE3\x80\x80\xE2\x80\xA8\xE2\x80\x83", true },
		{ "x", false },
		{ " x ", false },
		{ "\xE2\x80\x8B", false }, /* zero width space is no white space */
		{ "\xF0\x9F\x98\x80", false },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct block *b = block_new_text(cases[i].text, strlen(cases[i].text));
		assert_int_equal(block_is_blank(b), cases[i].blank);
		block_unref(b);
	}
	struct block *nul = block_new_text(" \0", 2);
	assert_false(block_is_blank(nul));
	block_unref(nul);
	struct block *result = block_new_tool_result("t", "", 0, false);
	assert_false(block_is_blank(result));
	block_unref(result);
}

static void test_references(void **state)
{
	(void)state;
	struct block *b = block_new_text("x", 1);
	assert_ptr_equal(block_ref(b), b);
	assert_int_equal(b->refs, 2);
	block_unref(b);
	assert_string_equal(b->text, "x");
	block_unref(b);
	block_unref(NULL);
	assert_null(block_ref(NULL));
}

/* Pictures and documents weigh what they cost, not what their base64 takes. */
static void test_weight(void **state)
{
	/* the first 24 bytes of PNG files of 280 x 56 and 100000 x 100000 */
	static const char small[] = "iVBORw0KGgoAAAANSUhEUgAAARgAAAA4";
	static const char huge[] = "iVBORw0KGgoAAAANSUhEUgABhqAAAYag";
	struct buf json = BUF_INIT(BUF_HUGE);

	(void)state;
	struct block *b = block_new_text("hello", 5);
	assert_int_equal(b->weight, b->json_len);
	block_unref(b);

	buf_addf(&json,
	         "{\"type\":\"image\",\"source\":{\"type\":\"base64\",\"media_type\":\"image/"
	         "png\",\"data\":\"%s%0100000d\"}}",
	         small, 0);
	b = from(buf_str(&json));
	assert_int_equal(b->weight, 10 * 2 * 4); /* tiles of 28 x 28, 4 bytes a token */
	assert_true(b->json_len > 100000);
	block_unref(b);

	buf_clear(&json);
	buf_addf(&json, "{\"type\":\"image\",\"source\":{\"type\":\"base64\",\"data\":\"%sAA==\"}}", huge);
	b = from(buf_str(&json));
	assert_int_equal(b->weight, 4784 * 4);
	block_unref(b);

	b = from("{\"type\":\"image\",\"source\":{\"type\":\"url\",\"url\":\"https://example.org/x.png\"}}");
	assert_int_equal(b->weight, 1600 * 4);
	block_unref(b);

	buf_clear(&json);
	buf_addf(&json, "{\"type\":\"document\",\"source\":{\"type\":\"base64\",\"data\":\"%0140000d\"}}", 0);
	b = from(buf_str(&json));
	assert_int_equal(b->weight, 3 * 2000 * 4);
	block_unref(b);

	b = from("{\"type\":\"document\",\"source\":{\"type\":\"text\",\"data\":\"hello\"}}");
	assert_int_equal(b->weight, b->json_len);
	block_unref(b);

	buf_clear(&json);
	buf_addf(&json,
	         "[{\"type\":\"text\",\"text\":\"hi\"},{\"type\":\"image\",\"source\":{\"data\":\"%s%0100000d\"}}]",
	         small, 0);
	b = block_new_tool_result_json("t", json.data, json.len);
	assert_non_null(b);
	assert_true(b->weight > 80 && b->weight < 300);
	block_unref(b);
	buf_release(&json);
}

static void a_block_is_one_line(void **state)
{
	static const char pretty[] = "{\r\n  \"type\": \"tool_use\",\n\"id\":\"c1\",\"name\":\"Bash\",\n"
	                             "\"input\":{\n\"command\": \"a\\nb\"\r}\n}";
	static const char flat[] = "{    \"type\": \"tool_use\", \"id\":\"c1\",\"name\":\"Bash\", "
	                           "\"input\":{ \"command\": \"a\\nb\" } }";
	struct error e = ERROR_INIT;
	struct block *b = block_from_json(pretty, sizeof pretty - 1, &e);

	(void)state;
	assert_non_null(b);
	assert_string_equal(b->json, flat);
	assert_int_equal(b->json_len, sizeof flat - 1);
	assert_string_equal(b->input, "{ \"command\": \"a\\nb\" }");
	block_unref(b);
	b = block_new_tool_result_json("c1", "[\n{\"type\":\"text\",\"text\":\"x\"}\n]", 30);
	assert_non_null(b);
	assert_null(strpbrk(b->json, "\r\n"));
	block_unref(b);
	b = block_new_tool_use("c1", "Bash", "{\n}", 3);
	assert_non_null(b);
	assert_string_equal(b->input, "{ }");
	block_unref(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bytes_are_kept), cmocka_unit_test(test_fields),
		cmocka_unit_test(test_refused),        cmocka_unit_test(test_repair),
		cmocka_unit_test(test_constructors),   cmocka_unit_test(test_constructors_refuse),
		cmocka_unit_test(test_with_id),        cmocka_unit_test(test_blank),
		cmocka_unit_test(test_references),     cmocka_unit_test(test_weight),
		cmocka_unit_test(a_block_is_one_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
