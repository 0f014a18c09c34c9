/* JSON Schema: what fits, the words for what does not, and schemas that are none. */
#include "test.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/io.h"
#include "base/json_schema.h"

static void check_row(const char *schema, const char *value, const char *says)
{
	struct error e = ERROR_INIT;
	struct json doc = JSON_INIT;
	struct buf why = BUF_INIT(65536);
	struct json_schema *s = json_schema_compile(schema, strlen(schema), &e);

	if (!s)
		fail_msg("%s: %s", schema, e.msg);
	if (json_parse(&doc, value, strlen(value), 0, &e) < 0)
		fail_msg("%s: %s", value, e.msg);
	bool ok = json_schema_check(s, &doc, json_root(&doc), "input", &why);
	if (ok != (says[0] == '\0') || !strstr(buf_str(&why), says))
		fail_msg("%s with %s: %d '%s', wanted '%s'", schema, value, ok, buf_str(&why), says);
	assert_int_equal(json_schema_check(s, &doc, json_root(&doc), "input", NULL), ok);
	buf_release(&why);
	json_release(&doc);
	json_schema_free(s);
}

/* The rows of json_schema.json: [schema, value, part of the complaint], "" for a value that fits. A fourth element says
 * that another checker may see it differently (tests/lib/schema_rows.py). */
static void values(void **state)
{
	struct buf text = BUF_INIT(1 << 20), path = BUF_INIT(4096);
	struct json doc = JSON_INIT;
	struct error e = ERROR_INIT;
	const char *src = getenv("srcdir");
	int n = 0;

	(void)state;
	buf_addf(&path, "%s/tests/unit/json_schema.json", src ? src : "..");
	if (io_read_file(AT_FDCWD, buf_str(&path), &text, &e) < 0 || json_parse(&doc, text.data, text.len, 0, &e) < 0)
		fail_msg("%s", e.msg);
	for (int row = json_first(&doc, 0); row >= 0; row = json_next(&doc, 0, row)) {
		int schema = json_first(&doc, row), value = json_next(&doc, row, schema);
		size_t ns, nv;
		if (json_size(&doc, row) == 1)
			continue; /* a heading */
		const char *ps = json_raw(&doc, schema, &ns), *pv = json_raw(&doc, value, &nv);
		char *s = strndup(ps, ns), *v = strndup(pv, nv);
		char *says = json_strdup(&doc, json_next(&doc, row, value), NULL);
		assert_true(s && v && says);
		check_row(s, v, says);
		free(s);
		free(v);
		free(says);
		n++;
	}
	assert_true(n > 150);
	json_release(&doc);
	buf_release(&text);
	buf_release(&path);
}

static const struct {
	const char *schema, *says;
} broken[] = {
	{ "{", "offset 1: " },
	{ "7", "at the top: a schema is an object, true or false" },
	{ "{\"type\":\"int\"}", "at /type: not a type" },
	{ "{\"type\":[]}", "at /type: an empty list" },
	{ "{\"type\":[\"string\",1]}", "at /type: not a type" },
	{ "{\"requierd\":[\"a\"]}", "at the top: unknown keyword 'requierd' (did you mean required?)" },
	{ "{\"properties\":{\"a\":{\"nullable\":true}}}", "at /properties/a: unknown keyword 'nullable'" },
	{ "{\"unevaluatedProperties\":false}", "unknown keyword 'unevaluatedProperties'" },
	{ "{\"properties\":[]}", "at /properties: must be an object" },
	{ "{\"properties\":{\"a/b\":{\"minimum\":\"1\"}}}", "at /properties/a~1b/minimum: must be a number" },
	{ "{\"required\":true}", "at /required: must be an array of property names" },
	{ "{\"required\":[1]}", "at /required/0: must be a string" },
	{ "{\"required\":[\"a\\u0000b\"]}", "at /required/0: must not contain a NUL" },
	{ "{\"enum\":[]}", "at /enum: must be an array of values" },
	{ "{\"enum\":\"a\"}", "at /enum: must be an array of values" },
	{ "{\"anyOf\":[]}", "at /anyOf: must be an array of schemas" },
	{ "{\"anyOf\":[{},{\"type\":\"x\"}]}", "at /anyOf/1/type: not a type" },
	{ "{\"minLength\":-1}", "at /minLength: must be a whole number" },
	{ "{\"maxItems\":1.5}", "at /maxItems: must be a whole number" },
	{ "{\"exclusiveMinimum\":true}", "at /exclusiveMinimum: must be a number" },
	{ "{\"multipleOf\":0}", "at /multipleOf: must be a number above 0" },
	{ "{\"uniqueItems\":1}", "at /uniqueItems: must be true or false" },
	{ "{\"pattern\":\"(\"}", "at /pattern: not a regular expression" },
	{ "{\"patternProperties\":{\"[\":{}}}", "at /patternProperties: not a regular expression" },
	{ "{\"$ref\":\"#/$defs/a\"}", "$ref '#/$defs/a' names nothing" },
	{ "{\"$ref\":\"other.json\"}", "only references inside the schema" },
	{ "{\"$ref\":\"#anchor\"}", "only references inside the schema" },
	{ "{\"$ref\":\"#\"}", "refers to itself" },
	{ "{\"$defs\":{\"a\":{\"$ref\":\"#/$defs/b\"},\"b\":{\"allOf\":[{\"$ref\":\"#/$defs/a\"}]}}}",
	  "refers to itself" },
	{ "{\"$defs\":{\"a\":{\"type\":\"x\"}}}", "at /$defs/a/type: not a type" },
	{ "{\"properties\":{\"d\":{\"default\":{\"type\":\"x\"}},\"e\":{\"$ref\":\"#/properties/d/default\"}}}",
	  "at /properties/d/default/type: not a type" },
	{ "{\"$ref\":7}", "at /$ref: must be a string" },
	{ "{\"items\":7}", "at /items: a schema is an object" },
	{ "{\"additionalProperties\":\"no\"}", "at /additionalProperties: a schema is an object" },
	{ "{\"dependentRequired\":{\"a\":\"b\"}}", "at /dependentRequired/a: must be an array of strings" },
	{ "{\"type\":\"object\",\"type\":\"array\"}", "offset " },
};

static void schemas_that_are_none(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof broken / sizeof broken[0]; i++) {
		struct error e = ERROR_INIT;
		struct json_schema *s = json_schema_compile(broken[i].schema, strlen(broken[i].schema), &e);
		if (s || !strstr(e.msg, broken[i].says))
			fail_msg("%s: '%s', wanted '%s'", broken[i].schema, e.msg, broken[i].says);
	}
}

/* Wrong, and the reason holds `says`. */
static void refuse(const char *schema, const char *value, const char *says)
{
	check_row(schema, value, says);
}

static void problems_are_counted(void **state)
{
	struct buf v = BUF_INIT(65536);

	(void)state;
	buf_adds(&v, "[");
	for (int i = 0; i < 25; i++)
		buf_addf(&v, "%s\"x\"", i ? "," : "");
	buf_adds(&v, "]");
	refuse("{\"items\":{\"type\":\"integer\"}}", buf_str(&v),
	       "input[9]: expected integer, got string \"x\"; and 15 more");
	buf_release(&v);
}

static void long_values_are_cut_at_characters(void **state)
{
	struct buf v = BUF_INIT(65536);

	(void)state;
	buf_adds(&v, "\"x");
	for (int i = 0; i < 100; i++)
		buf_adds(&v, "\xC3\xA9");
	buf_adds(&v, "\"");
	refuse("{\"type\":\"integer\"}", buf_str(&v), "\xC3\xA9...\"");
	buf_release(&v);
}

static void repeat(struct buf *b, const char *s, int n)
{
	while (n-- > 0)
		buf_adds(b, s);
}

/* A pattern that backtracks for ever, alternatives that double at each level, elements that must all differ: each ends.
 */
static void costly_values_are_refused(void **state)
{
	struct buf v = BUF_INIT(BUF_HUGE);

	(void)state;
	buf_adds(&v, "\"");
	repeat(&v, "a", 5000);
	buf_adds(&v, "!\"");
	refuse("{\"pattern\":\"^(a+)+$\"}", buf_str(&v), "too deep or too costly");
	buf_clear(&v);
	repeat(&v, "[", 200);
	repeat(&v, "]", 200);
	refuse("{\"$defs\":{\"a\":{\"anyOf\":[{\"items\":{\"$ref\":\"#/$defs/"
	       "a\"},\"minItems\":1},{\"items\":{\"$ref\":\"#/"
	       "$defs/a\"},\"minItems\":1}]}},\"$ref\":\"#/$defs/a\"}",
	       buf_str(&v), "too deep or too costly");
	buf_clear(&v);
	buf_adds(&v, "[0");
	for (int i = 1; i < 20000; i++)
		buf_addf(&v, ",%d", i);
	buf_adds(&v, "]");
	check_row("{\"uniqueItems\":true}", buf_str(&v), "");
	v.data[v.len - 1] = ',';
	buf_adds(&v, "7]");
	refuse("{\"uniqueItems\":true}", buf_str(&v), "elements must differ, [7] and [20000] are the same");
	buf_release(&v);
}

static void large_schemas(void **state)
{
	struct buf b = BUF_INIT(BUF_HUGE);
	struct error e = ERROR_INIT;

	(void)state;
	buf_adds(&b, "{\"prefixItems\":[{}");
	repeat(&b, ",{}", 30000);
	buf_adds(&b, "]}");
	assert_null(json_schema_compile(buf_str(&b), b.len, &e));
	assert_non_null(strstr(e.msg, "too many parts"));
	buf_clear(&b);
	buf_adds(&b, "{\"$defs\":{\"a0\":{}");
	for (int i = 1; i < 2000; i++)
		buf_addf(&b, ",\"a%d\":{\"$ref\":\"#/$defs/a%d\"}", i, i - 1);
	buf_adds(&b, "},\"$ref\":\"#/$defs/a1999\"}");
	assert_null(json_schema_compile(buf_str(&b), b.len, &e));
	assert_non_null(strstr(e.msg, "references in a row"));
	buf_clear(&b);
	repeat(&b, " ", (int)JSON_SCHEMA_MAX_BYTES);
	buf_adds(&b, "{}");
	assert_null(json_schema_compile(buf_str(&b), b.len, &e));
	assert_int_equal(e.code, ERR_LIMIT);
	buf_release(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values),
		cmocka_unit_test(schemas_that_are_none),
		cmocka_unit_test(problems_are_counted),
		cmocka_unit_test(long_values_are_cut_at_characters),
		cmocka_unit_test(costly_values_are_refused),
		cmocka_unit_test(large_schemas),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
