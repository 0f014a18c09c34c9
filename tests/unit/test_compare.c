/* A request against the recorded one: what must be the same, what is told, and how the first difference is named. */
#include "model/compare.h"
#include "test.h"

#include <stdio.h>
#include <string.h>

struct told {
	int n;
	char id[64], text[512];
};

static void on_result(void *ctx, const char *id, const char *text)
{
	struct told *t = ctx;

	t->n++;
	snprintf(t->id, sizeof t->id, "%s", id);
	snprintf(t->text, sizeof t->text, "%s", text);
}

static void set(struct buf *b, const char *s)
{
	buf_clear(b);
	buf_adds(b, s);
}

static int compare(struct compare *c, const char *recorded, const char *asked, bool strict, struct told *told,
                   struct buf *why)
{
	struct buf a = BUF_INIT(BUF_HUGE), r = BUF_INIT(BUF_HUGE);
	struct error e = ERROR_INIT;

	set(&a, asked);
	set(&r, recorded);
	buf_clear(why);
	*told = (struct told){ 0 };
	int rc = compare_request(c, &a, &r, strict, on_result, told, why, &e);
	if (rc < 0)
		buf_adds(why, e.msg);
	buf_release(&a);
	buf_release(&r);
	return rc;
}

#define HEAD "{\"model\":\"m\",\"max_tokens\":100,\"stream\":true,\"tools\":[{\"name\":\"Bash\"}]"
#define USER "{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"go\"}]}"
#define CALL                                                                                                           \
	"{\"role\":\"assistant\",\"content\":[{\"type\":\"tool_use\",\"id\":\"t1\",\"name\":\"Bash\",\"input\":{"      \
	"\"command\":\"make -s\",\"n\":1}}]}"
#define GIVES "{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"t1\",\"content\":\"ok\"}]}"
#define BODY  HEAD ",\"messages\":[" USER "," CALL "," GIVES "]}"

static const struct {
	const char *from, *to; /* in BODY */
	int rc;
	const char *why; /* of a mismatch, or of a result that was told */
} rows[] = {
	{ "go", "go", 0, NULL },
	{ "\"text\":\"go\"", "\"text\":\"\\u0067o\"", 0, NULL },
	{ "\"text\":\"go\"", "\"text\":\"go\",\"cache_control\":{\"type\":\"ephemeral\"}", 0, NULL },
	{ "{\"name\":\"Bash\"}", "{\"name\":\"Bash\",\"cache_control\":{}}", 0, NULL },
	{ "\"command\":\"make -s\",\"n\":1", "\"n\":1.0,\"command\":\"make -s\"", 0, NULL },
	{ "make -s", "make", 1, "messages[1].content[0].input.command: 'make -s' was recorded, 'make' is asked" },
	{ "\"n\":1", "\"n\":2", 1, "messages[1].content[0].input.n: 1 was recorded, 2 is asked" },
	{ ",\"n\":1", "", 1, "messages[1].content[0].input.n: 1 was recorded, nothing is asked" },
	{ "\"n\":1", "\"n\":1,\"k\":null", 1, "messages[1].content[0].input.k: nothing was recorded, null is asked" },
	{ "\"text\":\"go\"", "\"text\":\"stop\"", 1,
	  "messages[0].content[0].text: 'go' was recorded, 'stop' is asked" },
	{ "\"m\"", "\"x\"", 1, "model: 'm' was recorded, 'x' is asked" },
	{ ":100", ":200", 1, "max_tokens: 100 was recorded, 200 is asked" },
	{ "\"Bash\"}]", "\"Read\"}]", 1, "tools[0].name: 'Bash' was recorded, 'Read' is asked" },
	{ ",\"stream\":true", "", 1, "stream: true was recorded, nothing is asked" },
	{ ",\"tools\"", ",\"top_k\":4,\"tools\"", 1, "top_k: nothing was recorded, 4 is asked" },
	{ "\"id\":\"t1\"", "\"id\":\"t2\"", 1, "messages[1].content[0].id: 't1' was recorded, 't2' is asked" },
	{ "\"assistant\"", "\"user\"", 1, "messages[1].role: 'assistant' was recorded, 'user' is asked" },
	{ "\"tool_use_id\":\"t1\"", "\"tool_use_id\":\"t2\"", 1,
	  "messages[2].content[0].tool_use_id: 't1' was recorded, 't2' is asked" },
	{ "," CALL "," GIVES, "", 1, "messages[1]: {\"role\":\"assistant\"" },
	{ GIVES, GIVES "," CALL, 1, "messages[3]: nothing was recorded, {\"role\"" },
	{ "\"ok\"", "\"bad\"", 0, "messages[2].content[0].content: 'ok' was recorded, 'bad' is asked" },
	{ "\"content\":\"ok\"", "\"content\":\"ok\",\"is_error\":true", 0,
	  "messages[2].content[0].is_error: nothing was recorded, true is asked" },
};

/* BODY with the first `from` replaced. */
static void change(struct buf *out, const char *body, const char *from, const char *to)
{
	const char *at = strstr(body, from);

	assert_non_null(at);
	buf_clear(out);
	buf_add(out, body, (size_t)(at - body));
	buf_adds(out, to);
	buf_adds(out, at + strlen(from));
}

static void test_rows(void **state)
{
	struct buf body = BUF_INIT(BUF_HUGE), why = BUF_INIT(BUF_HUGE);

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct compare c = COMPARE_INIT;
		struct told told;
		change(&body, BODY, rows[i].from, rows[i].to);
		int rc = compare(&c, BODY, buf_str(&body), false, &told, &why);
		const char *said = rc ? buf_str(&why) : told.text;
		if (rc != rows[i].rc || (rows[i].why && strncmp(said, rows[i].why, strlen(rows[i].why)) != 0))
			fail_msg("row %zu: %d: %s", i, rc, said);
		if (!rc) {
			assert_int_equal(told.n, rows[i].why != NULL);
			assert_string_equal(told.id, rows[i].why ? "t1" : "");
		}
		/* strictly it is the bytes that count */
		rc = compare(&c, BODY, buf_str(&body), true, &told, &why);
		assert_int_equal(rc, strcmp(BODY, buf_str(&body)) != 0);
		assert_int_equal(told.n, 0);
		compare_release(&c);
	}
	buf_release(&body);
	buf_release(&why);
}

static void test_strict_names_the_byte(void **state)
{
	struct compare c = COMPARE_INIT;
	struct told told;
	struct buf why = BUF_INIT(BUF_HUGE);

	(void)state;
	assert_int_equal(compare(&c, "{\"a\":1,\"messages\":[]}", "{\"a\": 1,\"messages\":[]}", true, &told, &why), 1);
	assert_string_equal(buf_str(&why),
	                    "byte 5: '{\"a\":1,\"messages\":[]}' was recorded, '{\"a\": 1,\"messages\":[]}' is asked");
	compare_release(&c);
	buf_release(&why);
}

static void test_long_texts_are_shown_where_they_differ(void **state)
{
	struct compare c = COMPARE_INIT;
	struct told told;
	struct buf why = BUF_INIT(BUF_HUGE), one = BUF_INIT(BUF_HUGE), two = BUF_INIT(BUF_HUGE);

	(void)state;
	buf_adds(&one, "{\"system\":\"");
	for (int i = 0; i < 1000; i++)
		buf_adds(&one, "0123456789");
	buf_add(&two, one.data, one.len);
	buf_adds(&one, " one end\",\"messages\":[]}");
	buf_adds(&two, " two ends\",\"messages\":[]}");
	assert_int_equal(compare(&c, buf_str(&one), buf_str(&two), false, &told, &why), 1);
	assert_string_equal(
	        buf_str(&why),
	        "system: '...1234567890123456789 one end' was recorded, '...1234567890123456789 two ends' is "
	        "asked");
	buf_release(&one);
	buf_release(&two);
	buf_release(&why);
	compare_release(&c);
}

#define TURNS 60

/* The request of a turn: the marks move with the last two user messages; results are `result` + number. */
static void make_turn(struct buf *out, int turn, const char *result, int wrong)
{
	buf_clear(out);
	buf_adds(out, HEAD ",\"messages\":[" USER);
	for (int i = 1; i <= turn; i++) {
		buf_addf(
		        out,
		        ",{\"role\":\"assistant\",\"content\":[{\"type\":\"tool_use\",\"id\":\"t%d\",\"name\":\"Bash\","
		        "\"input\":{\"command\":\"%s %d\"}}]}",
		        i, i == wrong ? "make" : "echo", i);
		buf_addf(out,
		         ",{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"t%d\","
		         "\"content\":\"%s "
		         "%d\"%s}]}",
		         i, result, i, i + 1 < turn ? "" : ",\"cache_control\":{\"type\":\"ephemeral\"}");
	}
	buf_adds(out, "]}");
}

static void test_a_conversation_that_goes_on(void **state)
{
	struct buf asked = BUF_INIT(BUF_HUGE), recorded = BUF_INIT(BUF_HUGE), why = BUF_INIT(BUF_HUGE);
	struct compare c = COMPARE_INIT;
	struct error e = ERROR_INIT;
	int told_in_all = 0;

	(void)state;
	for (int turn = 0; turn < TURNS; turn++) {
		struct told told = { 0 };
		make_turn(&asked, turn, "a longer result", 0);
		make_turn(&recorded, turn, "result", 0);
		if (compare_request(&c, &asked, &recorded, false, on_result, &told, &why, &e))
			fail_msg("turn %d: %s%s", turn, buf_str(&why), e.msg);
		told_in_all += told.n;
		if (turn > 3)
			assert_true(told.n >= 1 && told.n <= 3); /* not the whole conversation each time */
	}
	assert_true(told_in_all >= TURNS - 1);
	/* an old message that is another one now is seen all the same, and named by its place */
	struct told told = { 0 };
	make_turn(&asked, TURNS, "a longer result", 7);
	make_turn(&recorded, TURNS, "result", 0);
	assert_int_equal(compare_request(&c, &asked, &recorded, false, on_result, &told, &why, &e), 1);
	assert_string_equal(buf_str(&why),
	                    "messages[13].content[0].input.command: 'echo 7' was recorded, 'make 7' is asked");
	buf_release(&asked);
	buf_release(&recorded);
	buf_release(&why);
	compare_release(&c);
}

static void test_no_json(void **state)
{
	struct compare c = COMPARE_INIT;
	struct told told;
	struct buf why = BUF_INIT(BUF_HUGE);

	(void)state;
	assert_int_equal(compare(&c, "{\"messages\":[", "{\"messages\":[]}", false, &told, &why), -1);
	assert_non_null(strstr(buf_str(&why), "offset"));
	buf_release(&why);
	compare_release(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_strict_names_the_byte),
		cmocka_unit_test(test_long_texts_are_shown_where_they_differ),
		cmocka_unit_test(test_a_conversation_that_goes_on),
		cmocka_unit_test(test_no_json),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
