#include "test.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/io.h"
#include "model/tape.h"

#define LENGTH(a) (sizeof(a) / sizeof *(a))

static void load(struct tape *t, const char *text)
{
	struct error e = ERROR_INIT;

	if (tape_parse(t, "t.yaml", text, strlen(text), &e))
		fail_msg("%s", e.msg);
}

static void every_key_of_an_answer_is_read(void **state)
{
	struct tape t;
	(void)state;
	load(&t, "tape: 1\n"
	         "name: all of it\n"
	         "answers:\n"
	         "  - expect: {turn: 2, model: m, last: hi, results: [a, b], result_contains: [x], is_error: [true],\n"
	         "             tools: [Read], system_contains: sys, messages: 3}\n"
	         "    content:\n"
	         "      - {thinking: hmm, signature: sig}\n"
	         "      - {text: yes}\n"
	         "      - {tool_use: {name: Bash, input: {command: 'true', timeout: 5}}}\n"
	         "      - {tool_use: {name: Read, id: mine}}\n"
	         "      - raw: {type: odd, n: 1}\n"
	         "    stop_reason: pause_turn\n"
	         "    usage: {input_tokens: 5}\n"
	         "    id: msg_x\n"
	         "    model: other\n"
	         "    delay: 250ms\n"
	         "    gap: 2s\n"
	         "    cut_after: 3\n"
	         "    stall_after: 0\n"
	         "    error_after: {events: 4, type: overloaded_error, message: busy}\n"
	         "    chunk: 7\n"
	         "    repeat: 3\n"
	         "  - status: 429\n"
	         "    error: {type: rate_limit_error, message: slow, code: c}\n"
	         "    headers: {Retry-After: 2}\n"
	         "  - network: refused\n"
	         "  - sse: |\n"
	         "      data: {}\n"
	         "  - text: ''\n");
	assert_string_equal(t.name, "all of it");
	assert_int_equal(t.n, 5);
	assert_int_equal(tape_plays(&t), 7);
	const struct tape_answer *a = &t.answers[0];
	assert_int_equal(a->line, 4);
	assert_int_equal(a->kind, TAPE_CONTENT);
	assert_int_equal(a->expect.turn, 2);
	assert_int_equal(a->expect.messages, 3);
	assert_string_equal(a->expect.model, "m");
	assert_string_equal(a->expect.last, "hi");
	assert_string_equal(a->expect.system_contains, "sys");
	assert_int_equal(a->expect.results.n, 2);
	assert_string_equal(a->expect.results.v[1], "b");
	assert_true(a->expect.result_contains.given && !a->expect.result_contains.single);
	assert_string_equal(a->expect.is_error.v[0], "true");
	assert_string_equal(a->expect.tools.v[0], "Read");
	assert_int_equal(a->nblocks, 5);
	assert_int_equal(a->unnamed, 1);
	assert_string_equal(a->blocks[0].signature, "sig");
	assert_string_equal(a->blocks[2].json, "{\"command\":\"true\",\"timeout\":5}");
	assert_string_equal(a->blocks[3].json, "{}");
	assert_string_equal(a->blocks[3].id, "mine");
	assert_string_equal(a->blocks[4].json, "{\"type\":\"odd\",\"n\":1}");
	assert_string_equal(a->stop_reason, "pause_turn");
	assert_string_equal(a->id, "msg_x");
	assert_string_equal(a->model, "other");
	assert_int_equal(a->delay_ms, 250);
	assert_int_equal(a->gap_ms, 2000);
	assert_int_equal(a->cut_after, 3);
	assert_int_equal(a->stall_after, 0);
	assert_int_equal(a->fail_after, 4);
	assert_string_equal(a->fail_type, "overloaded_error");
	assert_int_equal(a->chunk, 7);
	assert_int_equal(a->repeat, 3);
	a = &t.answers[1];
	assert_int_equal(a->kind, TAPE_STATUS);
	assert_int_equal(a->status, 429);
	assert_string_equal(a->error_code, "c");
	assert_string_equal(a->headers[0].name, "Retry-After");
	assert_string_equal(a->headers[0].value, "2");
	assert_int_equal(t.answers[2].kind, TAPE_NETWORK);
	assert_int_equal(t.answers[2].net, NET_CONNECT_REFUSED);
	assert_int_equal(t.answers[3].kind, TAPE_SSE);
	assert_string_equal(t.answers[3].body, "data: {}\n");
	a = &t.answers[4];
	assert_int_equal(a->nblocks, 1);
	assert_int_equal(a->repeat, 1);
	assert_int_equal(a->cut_after, -1);
	assert_int_equal(a->expect.turn, -1);
	tape_release(&t);
}

static void json_lines_are_the_same_tape(void **state)
{
	struct tape t;
	(void)state;
	load(&t,
	     "{\"tape\": 1, \"name\": \"n\"}\n"
	     "{\"text\": \"smile \\ud83d\\ude00 \\/\", \"expect\": {\"turn\": 1, \"is_error\": [true, false]}}\r\n"
	     "\n"
	     "{\"content\": [{\"tool_use\": {\"name\": \"Bash\", \"input\": {\"s\": \"5\", \"n\": 5, \"z\": null}}}]}");
	assert_string_equal(t.name, "n");
	assert_int_equal(t.n, 2);
	assert_int_equal(t.answers[0].line, 2);
	assert_string_equal(t.answers[0].blocks[0].text, "smile \xf0\x9f\x98\x80 /");
	assert_int_equal(t.answers[0].expect.is_error.n, 2);
	assert_int_equal(t.answers[1].line, 4);
	assert_string_equal(t.answers[1].blocks[0].json, "{\"s\":\"5\",\"n\":5,\"z\":null}");
	tape_release(&t);
}

static void other_ways_to_write_a_tape(void **state)
{
	static const struct {
		const char *text;
		size_t answers;
	} rows[] = {
		{ "tape: 1\nanswers: []\n", 0 },
		{ "\xef\xbb\xbftape: 1\nanswers:\n- text: a\n", 1 },
		{ "\xef\xbb\xbf{\"tape\":1}\n{\"text\":\"a\"}", 1 },
		{ "{\"tape\":1}", 0 },
		{ "{\"tape\":1}\n", 0 },
		{ "{\"tape\":1,\"answers\":[{\"text\":\"a\"},{\"text\":\"b\"}]}", 2 },
		{ "{\"tape\":1,\n\"answers\":[{\"text\":\"a\"}]}\n", 1 },
		{ "{tape: 1, answers: [{text: a}]}", 1 },
	};
	(void)state;
	for (size_t i = 0; i < LENGTH(rows); i++) {
		struct tape t;
		load(&t, rows[i].text);
		assert_int_equal(t.n, rows[i].answers);
		tape_release(&t);
	}
}

static void errors_say_where_and_what(void **state)
{
#define T "tape: 1\nanswers:\n"
#define J "{\"tape\":1}\n"
	static const struct {
		const char *text, *want;
	} rows[] = {
		{ "", "t.yaml:1:1: the tape is empty" },
		{ "hello", "t.yaml:1:1: this is no tape" },
		{ "answers: []", "t.yaml:1:1: this is no tape" },
		{ "[1]", "t.yaml:1:1: this is no tape" },
		{ "tape: 2\nanswers: []", "t.yaml:1:7: tape must be 1" },
		{ "tape: [1]", "t.yaml:1:7: tape must be 1" },
		{ "tape: 1", "answers must be a list" },
		{ "tape: 1\nanswers: x", "t.yaml:2:10: answers must be a list" },
		{ "tape: 1\nanswer: []", "t.yaml:2:1: unknown key 'answer'" },
		{ "tape: 1\nname: []\nanswers: []", "t.yaml:2:7: name must be a text" },
		{ "tape: 1\nanswers: [", "t.yaml:" },
		{ T "- hello", "t.yaml:3:3: an answer must be a map" },
		{ T "- {}", "t.yaml:3:3: an answer has exactly one of text, content, status, sse and network; this one "
		            "has none" },
		{ T "- text: a\n  status: 500",
		  "t.yaml:4:3: an answer has exactly one of text, content, status, sse and "
		  "network; this one has text and status" },
		{ T "- txt: a", "t.yaml:3:3: unknown key 'txt' in an answer (did you mean text?)" },
		{ T "- zzzzzz: a", "unknown key 'zzzzzz' in an answer (known: expect, text," },
		{ T "- text: [a]", "t.yaml:3:9: text must be a text" },
		{ T "- text: a\n  body: b", "t.yaml:4:3: body means nothing in an answer by text" },
		{ T "- status: 500\n  stop_reason: x", "stop_reason means nothing in an answer by status" },
		{ T "- network: refused\n  gap: 1s", "gap means nothing in an answer by network" },
		{ T "- sse: x\n  usage: {}", "usage means nothing in an answer by sse" },
		{ T "- status: 99", "status must be a number from 200 to 599" },
		{ T "- status: 600", "status must be a number from 200 to 599" },
		{ T "- status: 5x", "status must be a number" },
		{ T "- status: -1", "status must be a number" },
		{ T "- status: 99999999999999999999999", "status must be a number" },
		{ T "- status: 500\n  error: {type: a}\n  body: b", "an answer has an error or a body, not both" },
		{ T "- status: 500\n  error: {typ: a}", "unknown key 'typ' in error (did you mean type?)" },
		{ T "- status: 500\n  headers: [a]", "headers must be a map" },
		{ T "- status: 500\n  headers: {a: [b]}", "a must be a text" },
		{ T "- network: down", "t.yaml:3:12: network must be refused, unknown_host" },
		{ T "- text: a\n  delay: 5", "delay must be a duration" },
		{ T "- text: a\n  delay: s", "delay must be a duration" },
		{ T "- text: a\n  delay: 5 s", "delay must be a duration" },
		{ T "- text: a\n  delay: 25h", "delay must be a duration" },
		{ T "- text: a\n  delay: 999999999999999999999s", "delay must be a duration" },
		{ T "- text: a\n  repeat: 0", "repeat must be a number from 1 to 1000000" },
		{ T "- text: a\n  chunk: 0", "chunk must be a number from 1" },
		{ T "- text: a\n  error_after: {type: x}", "error_after has no events" },
		{ T "- text: a\n  error_after: 3", "error_after must be a map" },
		{ T "- text: a\n  usage: 3", "usage must be a map" },
		{ T "- text: a\n  usage: {input_tokens: .inf}", "usage cannot be written as JSON" },
		{ T "- content: a", "content must be a list of blocks" },
		{ T "- content: [a]", "a content block must be a map" },
		{ T "- content: [{}]", "a content block is one of text, thinking, tool_use and raw" },
		{ T "- content: [{text: a, thinking: b}]", "a content block is one of" },
		{ T "- content: [{text: a, signature: b}]", "a signature belongs to thinking" },
		{ T "- content: [{image: a}]", "unknown key 'image' in a content block" },
		{ T "- content: [{tool_use: {}}]", "tool_use has no name" },
		{ T "- content: [{tool_use: {name: a, input: b}}]", "input must be a map" },
		{ T "- content: [{tool_use: {name: a, inptu: {}}}]",
		  "unknown key 'inptu' in tool_use (did you mean input?)" },
		{ T "- content: [{raw: a}]", "raw must be a content block" },
		{ T "- content: [{raw: {text: a}}]", "raw must be a content block" },
		{ T "- text: a\n  expect: {trun: 1}",
		  "t.yaml:4:12: unknown key 'trun' in expect (did you mean turn?)" },
		{ T "- text: a\n  expect: {turn: x}", "turn must be a number" },
		{ T "- text: a\n  expect: {results: {a: b}}", "results must be a text or a list of texts" },
		{ T "- text: a\n  expect: {results: [[a]]}", "results must be a list of texts" },
		{ T "- text: a\n  expect: {is_error: yes}", "is_error must be true, false or a list" },
		{ T "- text: a\n  expect: {is_error: ['true']}", "is_error must be a list of true and false" },
		{ J "{", "t.yaml:2:1: " },
		{ J "{\"text\":\"a\",\"text\":\"b\"}", "t.yaml:2:1: " },
		{ J "\n{\"txt\":1}", "t.yaml:3:2: unknown key 'txt'" },
		{ J "[]", "t.yaml:2:1: an answer must be a map" },
		{ "{\"tape\":1,\"nam\":2}\n", "t.yaml:1:11: unknown key 'nam'" },
	};
	(void)state;
	for (size_t i = 0; i < LENGTH(rows); i++) {
		struct tape t;
		struct error e = ERROR_INIT;
		assert_int_equal(tape_parse(&t, "t.yaml", rows[i].text, strlen(rows[i].text), &e), -1);
		if (!strstr(e.msg, rows[i].want))
			print_error("%s\n  wanted %s\n  got    %s\n", rows[i].text, rows[i].want, e.msg);
		assert_non_null(strstr(e.msg, rows[i].want));
		assert_int_equal(strncmp(e.msg, "t.yaml:", 7), 0);
		assert_null(strchr(e.msg, '\n'));
		assert_int_equal(t.n, 0);
	}
}

static void deep_json_is_refused(void **state)
{
	struct buf b = BUF_INIT(10000);
	struct tape t;
	struct error e = ERROR_INIT;
	(void)state;
	buf_adds(&b, J "{\"content\":[{\"raw\":{\"type\":\"x\",\"v\":");
	for (int i = 0; i < 100; i++)
		buf_addc(&b, '[');
	for (int i = 0; i < 100; i++)
		buf_addc(&b, ']');
	buf_adds(&b, "}}]}");
	assert_int_equal(tape_parse(&t, "t", b.data, b.len, &e), -1);
	assert_non_null(strstr(e.msg, "nested deeper than 64 levels"));
	buf_release(&b);
}

static void a_missing_file_is_named(void **state)
{
	struct tape t;
	struct error e = ERROR_INIT;
	(void)state;
	assert_int_equal(tape_load(&t, "/nonexistent/tape.yaml", &e), -1);
	assert_non_null(strstr(e.msg, "/nonexistent/tape.yaml"));
	tape_release(&t); /* harmless on what was never loaded */
}

/* Records */

#define R   "{\"type\":\"system\",\"subtype\":\"init\",\"session_id\":\"s\"}\n"
#define SID ",\"session_id\":\"s\"}\n"

static void a_record_of_a_run_is_a_tape(void **state)
{
	struct tape t;
	(void)state;
	load(&t,
	     R "{\"type\":\"assistant\",\"message\":{\"id\":\"m1\",\"model\":\"x\",\"content\":[{\"type\":\"thinking\","
	       "\"thinking\":\"hm\",\"signature\":\"sg\"}],\"stop_reason\":null,\"usage\":{}}" SID
	       "{\"type\":\"assistant\",\"message\":{\"id\":\"m1\",\"model\":\"x\",\"content\":[{\"type\":\"text\","
	       "\"text\":\"look\"}],\"stop_reason\":null,\"usage\":{}}" SID
	       "{\"type\":\"assistant\",\"message\":{\"id\":\"m1\",\"model\":\"x\",\"content\":[{\"type\":\"tool_use\","
	       "\"id\":\"t1\",\"name\":\"Bash\",\"input\":{\"command\":\"ls\",\"n\":\"5\"}}],"
	       "\"stop_reason\":\"tool_use\",\"usage\":{\"input_tokens\":5,\"output_tokens\":6}}" SID
	       "{\"type\":\"user\",\"message\":{\"role\":\"user\",\"content\":[]}" SID
	       "{\"type\":\"assistant\",\"message\":{\"id\":\"m2\",\"model\":\"x\",\"content\":[{\"type\":\"text\","
	       "\"text\":\"withdrawn\"}],\"stop_reason\":null}" SID
	       "{\"type\":\"system\",\"subtype\":\"quern_tombstone\",\"uuids\":[],\"message_ids\":[\"m2\"]" SID
	       "{\"type\":\"assistant\",\"message\":{\"id\":\"m3\",\"model\":\"y\",\"content\":[{\"type\":\"odd\","
	       "\"n\":1}],\"stop_reason\":\"end_turn\"}" SID
	       "{\"type\":\"assistant\",\"message\":{\"id\":\"\",\"model\":\"<synthetic>\",\"content\":[{\"type\":"
	       "\"text\",\"text\":\"API error\"}]}" SID "{\"type\":\"result\",\"subtype\":\"success\"" SID
	       "{\"type\":\"assist");
	assert_int_equal(t.n, 2);
	const struct tape_answer *a = &t.answers[0];
	assert_int_equal(a->line, 2);
	assert_int_equal(a->nblocks, 3);
	assert_string_equal(a->blocks[0].text, "hm");
	assert_string_equal(a->blocks[0].signature, "sg");
	assert_string_equal(a->blocks[1].text, "look");
	assert_int_equal(a->blocks[2].kind, TAPE_TOOL_USE);
	assert_string_equal(a->blocks[2].id, "t1");
	assert_string_equal(a->blocks[2].json, "{\"command\":\"ls\",\"n\":\"5\"}");
	assert_string_equal(a->stop_reason, "tool_use");
	assert_string_equal(yaml_get(a->usage, "output_tokens")->text, "6");
	assert_int_equal(a->repeat, 1);
	assert_string_equal(t.answers[1].id, "m3");
	assert_int_equal(t.answers[1].blocks[0].kind, TAPE_RAW);
	assert_string_equal(t.answers[1].model, "y");
	tape_release(&t);
}

/* What the Agent SDKs open begins with an answer to them, which is no event. */
static void a_record_of_a_session_is_a_tape(void **state)
{
	struct tape t;
	(void)state;
	load(&t,
	     "{\"type\":\"control_response\",\"response\":{\"subtype\":\"success\",\"request_id\":\"r\"}}\n" R
	     "{\"type\":\"assistant\",\"message\":{\"id\":\"m\",\"content\":[{\"type\":\"text\",\"text\":\"a\"}]}" SID);
	assert_int_equal(t.n, 1);
	tape_release(&t);
}

static void blocks_of_a_record_grow_without_bound_on_their_number(void **state)
{
	struct buf b = BUF_INIT(1 << 20);
	struct tape t;
	(void)state;
	buf_adds(&b, R);
	for (int i = 0; i < 100; i++)
		buf_addf(&b,
		         "{\"type\":\"assistant\",\"message\":{\"id\":\"m\",\"content\":[{\"type\":\"text\",\"text\":"
		         "\"%d\"}]}" SID,
		         i);
	load(&t, b.data);
	assert_int_equal(t.n, 1);
	assert_int_equal(t.answers[0].nblocks, 100);
	for (int i = 0; i < 100; i++)
		assert_int_equal(atoi(t.answers[0].blocks[i].text), i);
	tape_release(&t);
	buf_release(&b);
}

static void a_record_that_cannot_be_replayed_says_so(void **state)
{
	static const struct {
		const char *text, *want;
	} rows[] = {
		{ R "{\"type\":\"assistant\"}\n", "t:2:1: an assistant event without content" },
		{ R "{\"type\":\"assistant\",\"quern_file\":\"x\",\"message\":{\"content\":[]}}\n",
		  "t:2:1: this event was cut" },
		{ R "[]\n", "t:2:1: an event must be an object" },
		{ R "{torn\n{}\n", "t:2:1: " },
	};
	(void)state;
	for (size_t i = 0; i < LENGTH(rows); i++) {
		struct tape t;
		struct error e = ERROR_INIT;
		assert_int_equal(tape_parse(&t, "t", rows[i].text, strlen(rows[i].text), &e), -1);
		if (!strstr(e.msg, rows[i].want))
			print_error("wanted %s, got %s\n", rows[i].want, e.msg);
		assert_non_null(strstr(e.msg, rows[i].want));
	}
}

/* Expectations */

struct request {
	struct history h;
	struct model_request req;
};

static void add_result(struct history *h, const char *id, const char *text, bool is_error)
{
	assert_int_equal(history_add_user_block(h, block_new_tool_result(id, text, strlen(text), is_error)), 0);
}

/* user "first task"; assistant calls t1, t2; user results and a text. */
static void make_request(struct request *r)
{
	struct message *m = message_new(ROLE_ASSISTANT);

	*r = (struct request){ .h = HISTORY_INIT };
	assert_int_equal(history_add_user_block(&r->h, block_new_text("first task", 10)), 0);
	assert_int_equal(message_add(m, block_new_tool_use("t1", "Bash", "{}", 2)), 0);
	assert_int_equal(message_add(m, block_new_tool_use("t2", "Read", "{}", 2)), 0);
	assert_int_equal(history_add(&r->h, m), 0);
	add_result(&r->h, "t1", "hello world", false);
	add_result(&r->h, "t2", "no such file", true);
	assert_int_equal(history_add_user_block(&r->h, block_new_text("wrap up", 7)), 0);
	r->req = (struct model_request){ .model = "m-1",
		                         .system = "You are a test.",
		                         .tools_json = "[{\"name\":\"Read\"},{\"name\":\"Ba\\u0073h\"}]",
		                         .messages = &r->h,
		                         .turn = 2 };
}

static void check_expect(const struct request *r, const char *expect, const char *want)
{
	char text[1000];
	struct tape t;
	struct buf why = BUF_INIT(10000);

	snprintf(text, sizeof text, "tape: 1\nanswers:\n- text: a\n  expect: {%s}\n", expect);
	load(&t, text);
	bool ok = tape_check(&t.answers[0].expect, &r->req, &why);
	if (ok != !want || (want && strcmp(buf_str(&why), want) != 0))
		print_error("%s\n  wanted %s\n  got    %s\n", expect, want ? want : "(fits)", buf_str(&why));
	assert_int_equal(ok, !want);
	assert_string_equal(buf_str(&why), want ? want : "");
	buf_release(&why);
	tape_release(&t);
}

static void requests_are_compared_with_what_is_expected(void **state)
{
	static const struct {
		const char *expect, *want;
	} rows[] = {
		{ "", NULL },
		{ "turn: 2", NULL },
		{ "turn: 1", "expected turn 1, got 2" },
		{ "messages: 3", NULL },
		{ "messages: 5", "expected messages 5, got 3" },
		{ "model: m-1", NULL },
		{ "model: m", "expected model \"m\", got \"m-1\"" },
		{ "last: rap", NULL },
		{ "last: first", "expected the newest user text to contain \"first\", got \"wrap up\"" },
		{ "last: hello", "expected the newest user text to contain \"hello\", got \"wrap up\"" },
		{ "system_contains: a test", NULL },
		{ "system_contains: x", "expected the system prompt to contain \"x\", got \"You are a test.\"" },
		{ "results: [t1, t2]", NULL },
		{ "results: [t2, t1]", "expected results of [t2, t1], got [t1, t2]" },
		{ "results: t1", "expected results of [t1], got [t1, t2]" },
		{ "results: []", "expected results of [], got [t1, t2]" },
		{ "is_error: [false, true]", NULL },
		{ "is_error: [false, false]", "expected is_error [false, false], got [false, true]" },
		{ "result_contains: no such", NULL },
		{ "result_contains: zzz",
		  "expected a tool result that contains \"zzz\", got \"hello world\", \"no such file\"" },
		{ "result_contains: [world, file]", NULL },
		{ "result_contains: [file, world]",
		  "expected tool result 1 to contain \"file\", got \"hello world\"; "
		  "expected tool result 2 to contain \"world\", got \"no such file\"" },
		{ "result_contains: [world]", "expected 1 tool results, got 2" },
		{ "tools: [Read, Bash]", NULL },
		{ "tools: [Bash, Read]", "expected tools [Bash, Read], got [Read, Bash]" },
		{ "turn: 7, model: x", "expected turn 7, got 2; expected model \"x\", got \"m-1\"" },
	};
	struct request r;
	(void)state;
	make_request(&r);
	for (size_t i = 0; i < LENGTH(rows); i++)
		check_expect(&r, rows[i].expect, rows[i].want);
	history_release(&r.h);
}

static void an_empty_request_fits_or_differs_without_harm(void **state)
{
	struct request r = { .h = HISTORY_INIT, .req = { .turn = 1 } };
	(void)state;
	check_expect(&r, "results: [], is_error: [], tools: []", NULL);
	check_expect(&r, "last: a", "expected the newest user text to contain \"a\", got \"\"");
	check_expect(&r, "result_contains: a", "expected a tool result that contains \"a\", got none");
	check_expect(&r, "tools: [Read]", "expected tools [Read], got []");
	r.req.tools_json = "[oops";
	check_expect(&r, "tools: [Read]", "expected tools, got what is no JSON");
}

static void long_texts_are_shown_cut_and_on_one_line(void **state)
{
	struct request r = { .h = HISTORY_INIT };
	static char text[5000];
	struct buf why = BUF_INIT(10000);
	struct tape_expect x = { .turn = -1, .messages = -1, .last = "nothing like it" };
	(void)state;
	memset(text, 'x', sizeof text - 1);
	text[3] = '\n';
	assert_int_equal(history_add_user_block(&r.h, block_new_text(text, sizeof text - 1)), 0);
	r.req.messages = &r.h;
	assert_false(tape_check(&x, &r.req, &why));
	assert_true(why.len < 400);
	assert_null(strchr(why.data, '\n'));
	buf_release(&why);
	history_release(&r.h);
}

/* The manual */

static char *read_manual(void)
{
	const char *dirs[] = { getenv("srcdir"), ".", ".." };
	struct buf text = BUF_INIT(1 << 20);
	char path[4096];

	for (size_t i = 0; i < LENGTH(dirs); i++) {
		buf_clear(&text);
		snprintf(path, sizeof path, "%s/man/quern-tape.5", dirs[i] ? dirs[i] : ".");
		if (!io_read_file(AT_FDCWD, path, &text, NULL))
			return buf_take(&text, NULL);
	}
	fail_msg("man/quern-tape.5 not found: run this from the build directory");
	return NULL;
}

static void the_example_of_the_manual_is_a_tape(void **state)
{
	char *manual = read_manual();
	char *from = strstr(manual, ".Bd -literal\n"), *to = from ? strstr(from, "\n.Ed\n") : NULL;
	struct tape t;
	(void)state;
	assert_non_null(to);
	to[1] = '\0';
	load(&t, strchr(from, '\n') + 1);
	assert_int_equal(t.n, 3);
	assert_int_equal(t.answers[1].status, 529);
	tape_release(&t);
	free(manual);
}

/* Whoever adds a key is told here to describe it. The error for an unknown key lists those that are known. */
static void every_key_is_in_the_manual(void **state)
{
	static const char *const maps[] = { "- zzzzzzzz: a",
		                            "- expect: {zzzzzzzz: a}",
		                            "- content: [{zzzzzzzz: a}]",
		                            "- content: [{tool_use: {zzzzzzzz: a}}]",
		                            "- status: 500\n  error: {zzzzzzzz: a}",
		                            "- text: a\n  error_after: {zzzzzzzz: a}" };
	char *manual = read_manual();
	int keys = 0;
	(void)state;
	for (size_t i = 0; i < LENGTH(maps); i++) {
		char text[200], needle[80];
		struct tape t;
		struct error e = ERROR_INIT;
		snprintf(text, sizeof text, T "%s\n", maps[i]);
		assert_int_equal(tape_parse(&t, "t", text, strlen(text), &e), -1);
		char *list = strstr(e.msg, "(known: ");
		assert_non_null(list);
		assert_int_equal(e.msg[strlen(e.msg) - 1], ')');
		for (char *k = strtok(list + 8, ", )"); k; k = strtok(NULL, ", )"), keys++) {
			bool found = false;
			static const char *const before[] = { ".Cm ", ".It Cm ", "Brq Cm ", ", ", " , " };
			for (size_t b = 0; b < LENGTH(before); b++) {
				snprintf(needle, sizeof needle, "%s%s", before[b], k);
				found |= strstr(manual, needle) != NULL;
			}
			if (!found)
				fail_msg("the manual does not describe '%s'", k);
		}
	}
	assert_int_equal(keys, 20 + 9 + 5 + 3 + 3 + 3);
	free(manual);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_key_of_an_answer_is_read),
		cmocka_unit_test(json_lines_are_the_same_tape),
		cmocka_unit_test(other_ways_to_write_a_tape),
		cmocka_unit_test(errors_say_where_and_what),
		cmocka_unit_test(deep_json_is_refused),
		cmocka_unit_test(a_missing_file_is_named),
		cmocka_unit_test(a_record_of_a_run_is_a_tape),
		cmocka_unit_test(a_record_of_a_session_is_a_tape),
		cmocka_unit_test(blocks_of_a_record_grow_without_bound_on_their_number),
		cmocka_unit_test(a_record_that_cannot_be_replayed_says_so),
		cmocka_unit_test(requests_are_compared_with_what_is_expected),
		cmocka_unit_test(an_empty_request_fits_or_differs_without_harm),
		cmocka_unit_test(long_texts_are_shown_cut_and_on_one_line),
		cmocka_unit_test(the_example_of_the_manual_is_a_tape),
		cmocka_unit_test(every_key_is_in_the_manual),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
