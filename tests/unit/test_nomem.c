/*
 * Out of memory at every single place: each scenario runs again and again, with the first, second, third ...
 * allocation failing, until it succeeds. Every failure must be reported, and (sanitizer, valgrind) leak nothing.
 */
#include "test.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/json.h"
#include "base/json_out.h"
#include "base/json_schema.h"
#include "message/message.h"
#include "nomem.h"

/* Runs the scenario until it succeeds; it must need at least `least` allocations, or nothing was tested. */
static void torture(int (*scenario)(struct error *e), long least)
{
	for (long n = 0; n < 10000; n++) {
		struct error e = ERROR_INIT;
		nomem.left = n;
		int rc = scenario(&e);
		bool failed = nomem.left < 0;
		nomem.left = -1;
		if (rc == 0) {
			assert_false(failed); /* success in spite of a failure is a failure that nobody saw */
			assert_true(n >= least);
			return;
		}
		assert_true(failed);
		assert_int_equal(e.code, ERR_NOMEM);
	}
	fail_msg("it never succeeded");
}

static int parse(struct error *e)
{
	static const char text[] = "\xEF\xBB\xBF{\"a\":[1,2,\"\\ud800\xFF\"],\"b\":{\"c\":1,\"d\":2}}";
	struct json doc;

	if (json_parse(&doc, text, sizeof text - 1, JSON_REPAIR | JSON_UNIQUE, e))
		return -1;
	char *s = json_strdup(&doc, 5, NULL);
	int rc = s ? 0 : error_nomem(e);
	free(s);
	json_release(&doc);
	return rc;
}

static int write_json(struct error *e)
{
	struct buf b = BUF_INIT(BUF_HUGE);
	struct json_out o;

	json_out_init(&o, &b);
	jo_array(&o);
	for (int i = 0; i < 1000; i++)
		jo_str(&o, "x\n");
	jo_end(&o);
	int rc = buf_check(&b, "it", e);
	buf_release(&b);
	return rc;
}

/* A value that fits, by way of most keywords. Without memory it does not fit. */
static int check_schema(struct error *e)
{
	static const char schema[] =
	        "{\"type\":\"object\",\"properties\":{\"a\":{\"enum\":[\"x\\u0041\",\"y\"]},\"b\":{\"items\":{\"$ref\":"
	        "\"#/$defs/n\"},\"uniqueItems\":true},\"c\":{\"minLength\":1},\"d\":{\"anyOf\":[{\"const\":7},{\"not\":"
	        "{}},{\"oneOf\":[{\"type\":\"null\"}]}]}},\"required\":[\"a\"],\"$defs\":{\"n\":{\"type\":[\"integer\","
	        "\"string\"]}},\"dependentRequired\":{\"a\":[\"b\"]}}";
	static const char value[] = "{\"a\":\"xA\",\"b\":[1,\"1\",2,\"2\"],\"c\":\"\\u00e9\",\"d\":null}";
	struct json_schema *s = json_schema_compile(schema, sizeof schema - 1, e);
	struct json doc = JSON_INIT;
	struct buf why = BUF_INIT(65536);
	int rc = s ? json_parse(&doc, value, sizeof value - 1, 0, e) : -1;

	if (rc == 0 && !json_schema_check(s, &doc, json_root(&doc), "input", &why))
		rc = error_nomem(e);
	buf_release(&why);
	json_release(&doc);
	json_schema_free(s);
	return rc;
}

static int fill_arena(struct error *e)
{
	struct arena a = ARENA_INIT;
	int rc = 0;

	for (int i = 0; i < 100 && rc == 0; i++)
		rc = arena_alloc(&a, 5000) ? 0 : error_nomem(e);
	arena_release(&a);
	return rc;
}

static int read_blocks(struct error *e)
{
	static const char *const blocks[] = {
		"{\"type\":\"text\",\"text\":\"x\"}",
		"{\"type\":\"thinking\",\"thinking\":\"x\",\"signature\":\"y\"}",
		"{\"type\":\"tool_use\",\"id\":\"t\",\"name\":\"n\",\"input\":{}}",
		"{\"type\":\"tool_use\",\"id\":\"t\",\"name\":\"n\",\"input\":7}",
		"{\"type\":\"tool_result\",\"tool_use_id\":\"t\",\"content\":[{\"type\":\"text\",\"text\":\"x\"}]}",
		"{\"type\":\"new\"}",
	};

	for (size_t i = 0; i < sizeof blocks / sizeof blocks[0]; i++) {
		struct block *b = block_from_json(blocks[i], strlen(blocks[i]), e);
		if (!b)
			return -1;
		struct block *copy = b->id ? block_with_id(b, "other") : block_ref(b);
		block_unref(b);
		if (!copy)
			return error_nomem(e);
		block_unref(copy);
	}
	return 0;
}

static int add_round(struct history *h, int i)
{
	char id[2] = { (char)('a' + i), '\0' };
	struct message *m = message_new(ROLE_ASSISTANT);

	if (!m)
		return -1;
	if (message_add(m, block_new_tool_use(id, "Read", "{}", 2))) {
		message_unref(m);
		return -1;
	}
	if (history_add(h, m))
		return -1;
	return history_add_user_block(h, block_new_tool_result(id, "x", 1, false));
}

static int converse(struct error *e)
{
	struct history h = HISTORY_INIT;
	struct message *shared = NULL;
	int rc = history_add_user_block(&h, block_new_text("task", 4));

	for (int i = 0; i < 20 && rc == 0; i++)
		rc = add_round(&h, i);
	if (rc == 0) {
		shared = message_ref(h.v[h.n - 1]); /* so that the next block makes a copy */
		rc = history_add_user_block(&h, block_new_text("more", 4));
	}
	if (rc)
		error_nomem(e);
	else
		rc = history_check(&h, false, e);
	message_unref(shared);
	history_release(&h);
	return rc;
}

static void test_parse(void **state)
{
	(void)state;
	torture(parse, 4);
}

static void test_write(void **state)
{
	(void)state;
	torture(write_json, 5);
}

static void test_arena(void **state)
{
	(void)state;
	torture(fill_arena, 5);
}

static void test_schema(void **state)
{
	(void)state;
	torture(check_schema, 20);
}

static void test_blocks(void **state)
{
	(void)state;
	torture(read_blocks, 40);
}

static void test_history(void **state)
{
	(void)state;
	torture(converse, 200);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parse),  cmocka_unit_test(test_write),  cmocka_unit_test(test_arena),
		cmocka_unit_test(test_schema), cmocka_unit_test(test_blocks), cmocka_unit_test(test_history),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
