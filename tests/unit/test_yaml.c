/* The YAML subset: what is refused and where, what is kept, and how it becomes JSON. */

#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/yaml.h"

#define TEXT(s) (s), sizeof(s) - 1

static const struct {
	const char *text;
	size_t n;
	int line, col;
	const char *error;
} refused[] = {
	{ TEXT("a: !!str b"), 1, 4, "tags are not allowed" },
	{ TEXT("a: ! b"), 1, 4, "tags are not allowed" },
	{ TEXT("%TAG ! tag:x,2000:\n---\na: b"), 1, 1, "tags are not allowed" },
	{ TEXT("a: &x b"), 1, 4, "anchors are not allowed" },
	{ TEXT("a: *x"), 1, 4, "aliases are not allowed" },
	{ TEXT("a:\n  <<: {b: c}"), 2, 3, "merge keys are not allowed" },
	{ TEXT("[a]: b"), 1, 1, "a key must be a plain word or a string" },
	{ TEXT("? {a: b}\n: c"), 1, 3, "a key must be a plain word or a string" },
	{ TEXT("a: 1\nb: 2\n\"a\": 3\nb: 4"), 3, 1, "the key 'a' is there twice" },
	{ TEXT("a: 1\n---\nb: 2"), 2, 1, "a second document is not allowed" },
	{ TEXT("a: \"x\\0y\""), 1, 4, "a NUL character is not allowed" },
	{ TEXT("a: b\nc: \0"), 2, 4, "a NUL byte is not allowed" },
	{ TEXT("a: b\nc: \xff"), 2, 4, "invalid leading UTF-8 octet" },
	{ TEXT("a: b\nc: \x01"), 2, 4, "control characters are not allowed" },
	{ TEXT("\xff\xfe"
	       "a"),
	  1, 1, "invalid leading UTF-8 octet" },
	{ TEXT("a: [b"), 2, 1, "did not find expected ',' or ']' (while parsing a flow sequence)" },
};

static void test_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
		struct arena a = ARENA_INIT;
		struct yaml_node *root;
		struct error e = ERROR_INIT;
		int line, col;

		int rc = yaml_parse(&a, refused[i].text, refused[i].n, &root, &line, &col, &e);
		if (rc != -1 || strcmp(e.msg, refused[i].error) || line != refused[i].line || col != refused[i].col)
			fail_msg("%s: %d at %d:%d: %s", refused[i].text, rc, line, col, e.msg);
		arena_release(&a);
	}
}

static int parse_repeated(const char *unit, size_t times, struct error *e)
{
	size_t n = strlen(unit);
	char *text = malloc(n * times + 1);
	struct arena a = ARENA_INIT;
	struct yaml_node *root;
	int line, col;

	assert_non_null(text);
	for (size_t i = 0; i < times; i++)
		memcpy(text + i * n, unit, n);
	int rc = yaml_parse(&a, text, n * times, &root, &line, &col, e);
	arena_release(&a);
	free(text);
	return rc;
}

static void test_limits(void **state)
{
	struct error e = ERROR_INIT;

	(void)state;
	assert_int_equal(parse_repeated("[", 100000, &e), -1);
	assert_string_equal(e.msg, "nested deeper than 64 levels");
	assert_int_equal(parse_repeated("#\n", YAML_MAX_BYTES / 2, &e), 0);
	assert_int_equal(parse_repeated("#\n", YAML_MAX_BYTES / 2 + 1, &e), -1);
	assert_int_equal(e.code, ERR_LIMIT);
}

/* One large map: the search for duplicates must not be quadratic (this took minutes when it was). */
static void test_many_keys(void **state)
{
	size_t n = 0, cap = YAML_MAX_BYTES;
	char *text = malloc(cap + 1);
	struct arena a = ARENA_INIT;
	struct yaml_node *root;
	struct error e = ERROR_INIT;
	int line, col;

	(void)state;
	assert_non_null(text);
	for (int i = 0; n + 16 < cap; i++)
		n += (size_t)snprintf(text + n, 16, "%x: 1\n", i);
	assert_int_equal(yaml_parse(&a, text, n, &root, &line, &col, &e), 0);
	assert_string_equal(yaml_get(root, "ff")->text, "1");
	arena_release(&a);
	free(text);
}

static void test_tree(void **state)
{
	static const char text[] = "\xEF\xBB\xBF"
	                           "a: {b: 'x', c: [1, 2]}\nd: |\n  two\n  lines\ne:\n";
	struct arena a = ARENA_INIT;
	struct yaml_node *root;
	struct error e = ERROR_INIT;
	int line, col;

	(void)state;
	assert_int_equal(yaml_parse(&a, TEXT(text), &root, &line, &col, &e), 0);
	const struct yaml_node *m = yaml_get(root, "a");
	assert_int_equal(m->kind, YAML_MAP);
	assert_int_equal(m->line, 1);
	assert_int_equal(m->col, 4);
	assert_false(yaml_get(m, "b")->plain);
	assert_string_equal(yaml_get(m, "c")->first->next->text, "2");
	assert_true(yaml_get(m, "c")->first->plain);
	assert_string_equal(yaml_get(root, "d")->text, "two\nlines\n");
	assert_int_equal(yaml_get(root, "d")->line, 2);
	assert_int_equal(yaml_get(root, "e")->len, 0);
	assert_null(yaml_get(root, "f"));
	assert_null(yaml_get(yaml_get(root, "d"), "f"));
	assert_int_equal(yaml_parse(&a, TEXT(""), &root, &line, &col, &e), 0);
	assert_null(root);
	assert_int_equal(yaml_parse(&a, TEXT("# only\n---\n"), &root, &line, &col, &e), 0);
	assert_null(root);
	arena_release(&a);
}

static const struct {
	const char *yaml, *json; /* json NULL: an error */
} typed[] = {
	{ "yes", "\"yes\"" },
	{ "true", "true" },
	{ "False", "false" },
	{ "~", "null" },
	{ "{a: }", "{\"a\":null}" },
	{ "12", "12" },
	{ "+12", "12" },
	{ "-012", "-12" },
	{ "00", "0" },
	{ "0x1F", "31" },
	{ "0o17", "15" },
	{ "017", "17" },
	{ "1.50", "1.50" },
	{ "1.", "1.0" },
	{ ".5", "0.5" },
	{ "-.5e+3", "-0.5e3" },
	{ "1e-3", "1e-3" },
	{ "12345678901234567890", "12345678901234567890" },
	{ "1_000", "\"1_000\"" },
	{ "'12'", "\"12\"" },
	{ "12:30", "\"12:30\"" },
	{ ".", "\".\"" },
	{ "e5", "\"e5\"" },
	{ ".inf", NULL },
	{ "-.INF", NULL },
	{ ".nan", NULL },
	{ "0xFFFFFFFFFFFFFFFFF", NULL },
	{ "[a, {b: [1]}]", "[\"a\",{\"b\":[1]}]" },
};

static void test_json(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof typed / sizeof typed[0]; i++) {
		struct arena a = ARENA_INIT;
		struct yaml_node *root = NULL;
		struct error e = ERROR_INIT;
		struct buf b = BUF_INIT(4096);
		struct json_out o;
		int line, col, rc;

		json_out_init(&o, &b);
		rc = yaml_parse(&a, typed[i].yaml, strlen(typed[i].yaml), &root, &line, &col, &e);
		if (!rc)
			rc = yaml_to_json(root, &o, &e);
		if (rc != (typed[i].json ? 0 : -1) || (typed[i].json && strcmp(buf_str(&b), typed[i].json)))
			fail_msg("%s: %d %s %s", typed[i].yaml, rc, buf_str(&b), e.msg);
		buf_release(&b);
		arena_release(&a);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_refused), cmocka_unit_test(test_limits), cmocka_unit_test(test_many_keys),
		cmocka_unit_test(test_tree),    cmocka_unit_test(test_json),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
