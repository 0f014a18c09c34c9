/* Request bodies: exact bytes, cache marks, and that a body only grows at its end. */
#include "model/request.h"
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"

#define MARK ",\"cache_control\":{\"type\":\"ephemeral\"}"
#define TOOLS                                                                                                          \
	"[{\"name\":\"a\",\"input_schema\":{\"type\":\"object\"}},{\"name\":\"b\",\"input_schema\":{\"type\":"         \
	"\"object\"}}]"

static char *body_of(const struct model_request *req, size_t step)
{
	struct request_body b;
	struct request_cursor c = { 0, 0 };
	struct error e = ERROR_INIT;
	struct buf out = BUF_INIT(BUF_HUGE);
	char chunk[512];

	assert_int_equal(request_build(&b, req, &e), 0);
	for (size_t n; (n = request_read(&b, &c, chunk, step)) > 0;)
		buf_add(&out, chunk, n);
	assert_int_equal(out.len, b.length);
	request_release(&b);
	char *text = buf_take(&out, NULL);
	assert_int_equal(json_validate(text, strlen(text), JSON_UNIQUE, NULL, &e), 0);
	return text;
}

static void expect(const struct model_request *req, const char *want)
{
	char *whole = body_of(req, 512), *bytes = body_of(req, 1);

	assert_string_equal(whole, want);
	assert_string_equal(bytes, want);
	free(whole);
	free(bytes);
}

static struct message *message(enum role role, const char *const *json)
{
	struct message *m = message_new(role);

	assert_non_null(m);
	for (size_t i = 0; json[i]; i++) {
		struct error e = ERROR_INIT;
		struct block *b = block_from_json(json[i], strlen(json[i]), &e);
		assert_non_null(b);
		assert_int_equal(message_add(m, b), 0);
	}
	return m;
}

#define USER(h, ...) assert_int_equal(history_add(h, message(ROLE_USER, (const char *const[]){ __VA_ARGS__, NULL })), 0)
#define ASSISTANT(h, ...)                                                                                              \
	assert_int_equal(history_add(h, message(ROLE_ASSISTANT, (const char *const[]){ __VA_ARGS__, NULL })), 0)
#define T(s)   "{\"type\":\"text\",\"text\":\"" s "\"}"
#define CALL   "{\"type\":\"tool_use\",\"id\":\"t1\",\"name\":\"a\",\"input\":{ }}"
#define RESULT "{\"type\":\"tool_result\",\"tool_use_id\":\"t1\",\"content\":\"ok\"}"
#define THINK  "{\"type\":\"thinking\",\"thinking\":\"\",\"signature\":\"s\"}"

static struct model_request request(const struct history *h)
{
	struct model_request req = { .model = "m", .max_tokens = 8000, .messages = h, .turn = 1 };

	return req;
}

static void test_minimal(void **state)
{
	struct history h = HISTORY_INIT;
	struct model_request req = request(&h);

	(void)state;
	USER(&h, T("hi"));
	expect(&req,
	       "{\"model\":\"m\",\"max_tokens\":8000,\"stream\":true,\"messages\":[{\"role\":\"user\",\"content\":["
	       "{\"type\":\"text\",\"text\":\"hi\"" MARK "}]}]}");
	/* nothing empty is ever sent */
	req.system = " \n";
	req.tools_json = "[]";
	req.without = WITHOUT_CACHE_MARKS;
	expect(&req,
	       "{\"model\":\"m\",\"max_tokens\":8000,\"stream\":true,\"messages\":[{\"role\":\"user\",\"content\":["
	       "{\"type\":\"text\",\"text\":\"hi\"}]}]}");
	history_release(&h);
}

static void test_system_and_tools(void **state)
{
	struct history h = HISTORY_INIT;
	struct model_request req = request(&h);

	(void)state;
	USER(&h, T("hi"));
	req.system = "be \"good\"\n";
	req.tools_json = TOOLS;
	/* the system's mark covers the tools */
	expect(&req,
	       "{\"model\":\"m\",\"max_tokens\":8000,\"stream\":true,\"system\":[{\"type\":\"text\",\"text\":"
	       "\"be \\\"good\\\"\\n\"" MARK "}],\"tools\":" TOOLS ",\"messages\":[{\"role\":\"user\",\"content\":["
	       "{\"type\":\"text\",\"text\":\"hi\"" MARK "}]}]}");
	req.system = NULL;
	expect(&req,
	       "{\"model\":\"m\",\"max_tokens\":8000,\"stream\":true,\"tools\":"
	       "[{\"name\":\"a\",\"input_schema\":{\"type\":\"object\"}},{\"name\":\"b\",\"input_schema\":{\"type\":"
	       "\"object\"}" MARK "}],\"messages\":[{\"role\":\"user\",\"content\":["
	       "{\"type\":\"text\",\"text\":\"hi\"" MARK "}]}]}");
	/* a summary keeps the tools for the cache, and may not use them */
	req.system = "s";
	req.kind = MODEL_COMPACT;
	req.without = WITHOUT_CACHE_MARKS;
	expect(&req,
	       "{\"model\":\"m\",\"max_tokens\":8000,\"stream\":true,\"system\":[{\"type\":\"text\",\"text\":\"s\"}],"
	       "\"tools\":" TOOLS ",\"tool_choice\":{\"type\":\"none\"},\"messages\":[{\"role\":\"user\",\"content\":["
	       "{\"type\":\"text\",\"text\":\"hi\"}]}]}");
	history_release(&h);
}

static void expect_middle(struct model_request *req, const char *want)
{
	char *text = body_of(req, 512);
	const char *from = strstr(text, "\"stream\":true") + strlen("\"stream\":true");
	const char *to = strstr(text, ",\"messages\":");

	assert_int_equal(to - from, strlen(want));
	assert_memory_equal(from, want, strlen(want));
	free(text);
}

static void test_options(void **state)
{
	struct history h = HISTORY_INIT;
	struct model_request req = request(&h);
	struct request_body b;
	struct error e = ERROR_INIT;

	(void)state;
	USER(&h, T("hi"));
	req.thinking_json = "{\"type\":\"adaptive\"}";
	req.effort = "low";
	expect_middle(&req, ",\"thinking\":{\"type\":\"adaptive\"},\"output_config\":{\"effort\":\"low\"}");
	req.without = WITHOUT_THINKING;
	expect_middle(&req, ",\"output_config\":{\"effort\":\"low\"}");
	req.without = WITHOUT_EFFORT;
	expect_middle(&req, ",\"thinking\":{\"type\":\"adaptive\"}");
	/* extra members: ours stay ours, output_config is merged, thinking is replaced */
	req.without = 0;
	req.extra_json =
	        "{\"metadata\":{\"user_id\":\"u\"},\"model\":\"x\",\"messages\":[],\"max_tokens\":1,\"stream\":false,"
	        "\"output_config\":{\"format\":1},\"thinking\":{\"type\":\"disabled\"},\"tool_choice\":{\"type\":"
	        "\"auto\"}}";
	expect_middle(&req, ",\"thinking\":{\"type\":\"disabled\"},\"output_config\":{\"effort\":\"low\",\"format\":1},"
	                    "\"metadata\":{\"user_id\":\"u\"},\"tool_choice\":{\"type\":\"auto\"}");
	req.without = WITHOUT_EXTRA | WITHOUT_THINKING | WITHOUT_EFFORT;
	expect_middle(&req, "");
	req.without = WITHOUT_THINKING | WITHOUT_EFFORT;
	expect_middle(&req, ",\"output_config\":{\"format\":1},\"metadata\":{\"user_id\":\"u\"},\"tool_choice\":{"
	                    "\"type\":\"auto\"}");
	/* what the server named is left out alone */
	req.without = 0;
	req.refused = " TOOL_choice, output_config";
	expect_middle(&req, ",\"thinking\":{\"type\":\"disabled\"},\"metadata\":{\"user_id\":\"u\"}");
	req.refused = " tool meta metadata_ data";
	req.without = WITHOUT_CACHE_MARKS;
	req.extra_json = "{\"metadata\":{},\"cache_control\":{\"type\":\"ephemeral\"}}";
	expect_middle(&req,
	              ",\"thinking\":{\"type\":\"adaptive\"},\"output_config\":{\"effort\":\"low\"},\"metadata\":{}");
	req.extra_json = "[1]";
	assert_int_equal(request_build(&b, &req, &e), -1);
	assert_string_equal(e.msg, "model.extra must be an object");
	req.extra_json = "{";
	assert_int_equal(request_build(&b, &req, &e), -1);
	history_release(&h);
}

static void expect_messages(struct model_request *req, const char *want)
{
	char *text = body_of(req, 512);

	assert_string_equal(strstr(text, "\"messages\":") + strlen("\"messages\":"), want);
	free(text);
}

static void test_marks(void **state)
{
	struct history h = HISTORY_INIT;
	struct model_request req = request(&h);

	(void)state;
	USER(&h, T("1"));
	ASSISTANT(&h, THINK, CALL);
	USER(&h, RESULT, T("note"));
	ASSISTANT(&h, T("2"));
	USER(&h, T("3"));
	expect_messages(
	        &req, "[{\"role\":\"user\",\"content\":[" T(
	                      "1") "]},"
	                           "{\"role\":\"assistant\",\"content\":[" THINK "," CALL "]},"
	                           "{\"role\":\"user\",\"content\":[" RESULT
	                           ",{\"type\":\"text\",\"text\":\"note\"" MARK "}]},"
	                           "{\"role\":\"assistant\",\"content\":[" T(
	                                   "2") "]},"
	                                        "{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"3\"" MARK
	                                        "}]}]}");
	history_release(&h);
}

static size_t count(const char *text, const char *word)
{
	size_t n = 0;

	for (; (text = strstr(text, word)); text += strlen(word))
		n++;
	return n;
}

static void test_long_turn_keeps_an_older_mark(void **state)
{
	(void)state;
	for (int extra = 17; extra <= 18; extra++) {
		struct history h = HISTORY_INIT;
		struct model_request req = request(&h);
		req.system = "s";
		USER(&h, T("1"));
		ASSISTANT(&h, T("2"));
		USER(&h, T("3"));
		struct message *m = message_new(ROLE_ASSISTANT);
		for (int i = 0; i < extra; i++)
			assert_int_equal(message_add(m, block_new_text("x", 1)), 0);
		assert_int_equal(history_add(&h, m), 0);
		USER(&h, T("4"), T("5"));
		char *text = body_of(&req, 512);
		/* 19 blocks since the second mark, and 20 */
		assert_int_equal(count(text, "cache_control"), extra == 17 ? 3 : 4);
		free(text);
		history_release(&h);
	}
}

static void test_what_is_left_out(void **state)
{
	struct history h = HISTORY_INIT;
	struct model_request req = request(&h);

	(void)state;
	req.without = WITHOUT_CACHE_MARKS;
	USER(&h, T("1"));
	ASSISTANT(&h, THINK, "{\"type\":\"redacted_thinking\",\"data\":\"d\"}");
	USER(&h, T("2"), T(" \\n"));
	ASSISTANT(&h, T(""), THINK, T("3"));
	USER(&h, T("4"));
	expect_messages(&req, "[{\"role\":\"user\",\"content\":[" T(
	                              "1") "]},"
	                                   "{\"role\":\"assistant\",\"content\":[" THINK
	                                   ",{\"type\":\"redacted_thinking\",\"data\":\"d\"}]},"
	                                   "{\"role\":\"user\",\"content\":[" T(
	                                           "2") "]},"
	                                                "{\"role\":\"assistant\",\"content\":[" THINK
	                                                "," T("3") "]},"
	                                                           "{\"role\":\"user\",\"content\":[" T("4") "]}]}");
	/* roles still alternate, no message is empty */
	req.without |= WITHOUT_THINKING_BLOCKS;
	expect_messages(&req, "[{\"role\":\"user\",\"content\":[" T("1") "," T(
	                              "2") "]},"
	                                   "{\"role\":\"assistant\",\"content\":[" T(
	                                           "3") "]},"
	                                                "{\"role\":\"user\",\"content\":[" T("4") "]}]}");
	history_release(&h);
}

/* The text without its cache marks. */
static char *unmarked(char *text)
{
	for (char *p; (p = strstr(text, MARK));)
		memmove(p, p + strlen(MARK), strlen(p + strlen(MARK)) + 1);
	return text;
}

static void test_a_body_only_grows(void **state)
{
	struct history h = HISTORY_INIT;
	struct model_request req = request(&h);
	char *before = NULL;

	(void)state;
	req.system = "s";
	req.tools_json = TOOLS;
	for (int turn = 0; turn < 30; turn++) {
		USER(&h, turn ? RESULT : T("task"));
		char *now = unmarked(body_of(&req, 512));
		assert_null(strstr(now, "cache_control"));
		if (before) {
			size_t n = strlen(before) - strlen("]}");
			assert_memory_equal(now, before, n);
			free(before);
		}
		before = now;
		ASSISTANT(&h, THINK, T("x"), CALL);
	}
	free(before);
	history_release(&h);
}

/* A count asks for the prompt of a main request, and the server takes no key that is of no use for that. */
static void test_count(void **state)
{
	struct history h = HISTORY_INIT;
	struct model_request req = request(&h);

	(void)state;
	USER(&h, T("hi"));
	req.kind = MODEL_COUNT;
	req.system = "s";
	req.tools_json = TOOLS;
	req.thinking_json = "{\"type\":\"adaptive\"}";
	req.effort = "low";
	req.extra_json = "{\"tool_choice\":{\"type\":\"auto\"},\"temperature\":1,\"output_config\":{\"format\":1}}";
	expect(&req,
	       "{\"model\":\"m\",\"system\":[{\"type\":\"text\",\"text\":\"s\"}],\"tools\":" TOOLS
	       ",\"thinking\":{\"type\":\"adaptive\"},\"tool_choice\":{\"type\":\"auto\"},\"messages\":[{\"role\":"
	       "\"user\",\"content\":[" T("hi") "]}]}");
	req.without = WITHOUT_THINKING | WITHOUT_EXTRA;
	req.system = req.tools_json = NULL;
	expect(&req, "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":[" T("hi") "]}]}");
	history_release(&h);
}

/* What is asked in the background about a round is a small question of its own. */
static void test_summary(void **state)
{
	struct history h = HISTORY_INIT;
	struct model_request req = request(&h);

	(void)state;
	USER(&h, T("hi"));
	req.kind = MODEL_SUMMARY;
	req.max_tokens = 200;
	req.system = "s";
	req.tools_json = TOOLS;
	req.thinking_json = "{\"type\":\"adaptive\"}";
	req.effort = "low";
	req.extra_json = "{\"tool_choice\":{\"type\":\"auto\"},\"temperature\":1,\"output_config\":{\"format\":1}}";
	expect(&req, "{\"model\":\"m\",\"max_tokens\":200,\"stream\":true,\"system\":[{\"type\":\"text\",\"text\":"
	             "\"s\"}],\"messages\":[{\"role\":\"user\",\"content\":[" T("hi") "]}]}");
	history_release(&h);
}

/* A compaction shares the main request's prefix, and with it the cache: only the choice of tools differs. */
static void test_compact(void **state)
{
	struct history h = HISTORY_INIT;
	struct model_request req = request(&h);

	(void)state;
	USER(&h, T("hi"));
	req.system = "s";
	req.tools_json = TOOLS;
	req.thinking_json = "{\"type\":\"adaptive\"}";
	req.effort = "low";
	req.extra_json = "{\"tool_choice\":{\"type\":\"auto\"}}";
	char *want = body_of(&req, 512);
	req.kind = MODEL_COMPACT;
	char *got = body_of(&req, 512);
	const char *choice = strstr(got, "\"tool_choice\":{\"type\":\"none\"}");
	assert_non_null(choice);
	assert_null(strstr(choice + 2, "tool_choice"));
	assert_memory_equal(got, want, (size_t)(choice - got));
	assert_string_equal(strstr(got, "\"messages\":"), strstr(want, "\"messages\":"));
	free(want);
	free(got);
	req.tools_json = NULL; /* without tools there is nothing to choose */
	got = body_of(&req, 512);
	assert_null(strstr(got, "tool_choice"));
	free(got);
	history_release(&h);
}

static bool asks_for_thinking(const struct model_request *req)
{
	char *body = body_of(req, 512);
	bool asks = strstr(body, "\"budget_tokens\"") != NULL;

	free(body);
	return asks;
}

/* With a budget the API wants the thinking that led to the calls whose results it gets; where that is gone, the request
 * does without the setting, until the user speaks again. */
static void test_budgeted_thinking(void **state)
{
	struct history h = HISTORY_INIT, bare = HISTORY_INIT;
	struct model_request req = request(&h);

	(void)state;
	req.thinking_json = "{\"type\":\"enabled\",\"budget_tokens\":2000}";
	USER(&h, T("hi"));
	assert_true(asks_for_thinking(&req));
	ASSISTANT(&h, THINK, CALL);
	USER(&h, RESULT, T("and"));
	assert_true(asks_for_thinking(&req));
	req.without = WITHOUT_THINKING_BLOCKS;
	assert_false(asks_for_thinking(&req));
	req.without = 0;
	req.kind = MODEL_COMPACT; /* the cap of a summary may be smaller than the budget */
	req.max_tokens = 2001;
	assert_true(asks_for_thinking(&req));
	req.max_tokens = 2000;
	assert_false(asks_for_thinking(&req));

	req = request(&bare);
	req.thinking_json = "{\"type\":\"enabled\",\"budget_tokens\":2000}";
	USER(&bare, T("hi"));
	ASSISTANT(&bare, T("so"), CALL);
	USER(&bare, RESULT);
	assert_false(asks_for_thinking(&req));
	req.extra_json = "{\"thinking\":{\"type\":\"adaptive\",\"budget_tokens\":1}}"; /* any other type is the model's
	                                                                                  business */
	assert_true(asks_for_thinking(&req));
	req.extra_json = NULL;
	ASSISTANT(&bare, T("done"));
	USER(&bare, T("more"));
	assert_true(asks_for_thinking(&req));
	history_release(&h);
	history_release(&bare);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_minimal),
		cmocka_unit_test(test_system_and_tools),
		cmocka_unit_test(test_options),
		cmocka_unit_test(test_marks),
		cmocka_unit_test(test_long_turn_keeps_an_older_mark),
		cmocka_unit_test(test_what_is_left_out),
		cmocka_unit_test(test_a_body_only_grows),
		cmocka_unit_test(test_count),
		cmocka_unit_test(test_summary),
		cmocka_unit_test(test_compact),
		cmocka_unit_test(test_budgeted_thinking),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
