/* Answers put together from events. What the sink was told is written down as text, so that an expectation is a string.
 */
#include "model/assembly.h"
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "model/sse.h"

struct seen {
	struct buf text;
	struct buf raw;
	struct model_end end;
	char message[600], error_type[100], error_code[100], request_id[100], stop_reason[100];
	char bad_input[200];
	int ends;
};

static void copy(char *to, size_t n, const char *from)
{
	snprintf(to, n, "%s", from ? from : "-");
}

static void note_end(struct seen *s, const struct model_event *ev)
{
	s->ends++;
	s->end = ev->end;
	copy(s->message, sizeof s->message, ev->end.message);
	copy(s->error_type, sizeof s->error_type, ev->end.error_type);
	copy(s->error_code, sizeof s->error_code, ev->end.error_code);
	copy(s->request_id, sizeof s->request_id, ev->end.request_id);
	copy(s->stop_reason, sizeof s->stop_reason, ev->end.stop_reason);
}

static void sink(void *ctx, const struct model_event *ev)
{
	struct seen *s = ctx;

	switch (ev->kind) {
	case MODEL_EV_MESSAGE_START:
		buf_addf(&s->text, "start %s %s\n", ev->message_id, ev->model);
		break;
	case MODEL_EV_BLOCK_START:
		buf_addf(&s->text, "open %d %d\n", ev->index, (int)ev->block_kind);
		break;
	case MODEL_EV_BLOCK:
		buf_addf(&s->text, "block %d %s\n", ev->index, ev->block->json);
		assert_int_equal(strlen(ev->block->json), ev->block->json_len);
		copy(s->bad_input, sizeof s->bad_input, ev->block->bad_input);
		break;
	case MODEL_EV_STOP:
		buf_addf(&s->text, "stop %s\n", ev->end.stop_reason);
		break;
	case MODEL_EV_RAW:
		buf_add(&s->raw, ev->json, ev->json_len);
		buf_addc(&s->raw, '\n');
		break;
	case MODEL_EV_END:
		note_end(s, ev);
		break;
	case MODEL_EV_ALIVE:
		fail_msg("the assembly knows nothing of reads");
	}
}

static void seen_init(struct seen *s)
{
	memset(s, 0, sizeof *s);
	buf_init(&s->text, BUF_HUGE);
	buf_init(&s->raw, BUF_HUGE);
}

static void seen_release(struct seen *s)
{
	buf_release(&s->text);
	buf_release(&s->raw);
}

static const struct model_end fine = {
	.usage = USAGE_UNKNOWN, .http_status = 200, .retry_after_ms = -1, .should_retry = -1
};

/* Plays events until the assembly wants no more; each is "name|data". */
static void play_end(struct seen *s, const char *const *events, const struct model_end *transport)
{
	struct assembly a;

	seen_init(s);
	assembly_init(&a, true, sink, s);
	for (size_t i = 0; events[i]; i++) {
		const char *bar = strchr(events[i], '|');
		char name[64];
		assert_non_null(bar);
		snprintf(name, sizeof name, "%.*s", (int)(bar - events[i]), events[i]);
		if (assembly_event(&a, name, bar + 1, strlen(bar + 1)))
			break;
	}
	assert_int_equal(s->ends, 0);
	assembly_end(&a, transport);
	assembly_end(&a, transport);
	assert_int_equal(s->ends, 1);
	assembly_release(&a);
}

static void play(struct seen *s, const char *const *events)
{
	play_end(s, events, &fine);
}

#define EVENTS(...) ((const char *const[]){ __VA_ARGS__, NULL })
#define START                                                                                                          \
	"message_start|{\"type\":\"message_start\",\"message\":{\"id\":\"msg_1\",\"type\":\"message\",\"role\":"       \
	"\"assistant\",\"model\":\"m\",\"content\":[],\"usage\":{\"input_tokens\":12,\"output_tokens\":1}}}"
#define TEXT(i)                                                                                                        \
	"|{\"type\":\"content_block_start\",\"index\":" #i ",\"content_block\":{\"type\":\"text\",\"text\":\"\"}}"
#define TOOL(i)                                                                                                        \
	"|{\"type\":\"content_block_start\",\"index\":" #i                                                             \
	",\"content_block\":{\"type\":\"tool_use\",\"id\":\"toolu_1\",\"name\":\"Bash\",\"input\":{}}}"
#define ADD(i, t)                                                                                                      \
	"|{\"type\":\"content_block_delta\",\"index\":" #i ",\"delta\":{\"type\":\"text_delta\",\"text\":\"" t "\"}}"
#define ARGS(i, t)                                                                                                     \
	"|{\"type\":\"content_block_delta\",\"index\":" #i                                                             \
	",\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\"" t "\"}}"
#define CLOSE(i) "|{\"type\":\"content_block_stop\",\"index\":" #i "}"
#define DELTA(r) "|{\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"" r "\"},\"usage\":{\"output_tokens\":7}}"
#define STOP     "|{\"type\":\"message_stop\"}"

static void test_text(void **state)
{
	struct seen s;

	(void)state;
	play(&s, EVENTS(START, "ping|{\"type\":\"ping\"}", TEXT(0), ADD(0, "a\\n"), ADD(0, "\\u00e9"), CLOSE(0),
	                DELTA("end_turn"), "|[DONE]", STOP));
	assert_string_equal(buf_str(&s.text), "start msg_1 m\nopen 0 0\n"
	                                      "block 0 {\"type\":\"text\",\"text\":\"a\\n\xC3\xA9\"}\nstop end_turn\n");
	assert_int_equal(s.end.failure, MODEL_FINE);
	assert_true(s.end.complete);
	assert_true(s.end.had_content);
	assert_string_equal(s.stop_reason, "end_turn");
	assert_int_equal(s.end.usage.input, 12);
	assert_int_equal(s.end.usage.output, 7);
	assert_int_equal(s.end.usage.cache_read, -1);
	assert_int_equal(s.end.http_status, 200);
	seen_release(&s);
}

static void test_thinking_overlapping_tool(void **state)
{
	struct seen s;

	(void)state;
	play(&s, EVENTS(START,
	                "|{\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"thinking\","
	                "\"thinking\":"
	                "\"\"}}",
	                TOOL(1), ARGS(1, "{\\\"com"),
	                "|{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"thinking_delta\","
	                "\"thinking\":"
	                "\"hm\"}}",
	                ARGS(1, "mand\\\": \\\"ls \\\\u00e9\\\\/\\\"}"),
	                "|{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"signature_delta\","
	                "\"signature\":"
	                "\"old\"}}",
	                "|{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"signature_delta\","
	                "\"signature\":"
	                "\"Eq+/Q==\"}}",
	                CLOSE(1), CLOSE(0), DELTA("tool_use"), STOP));
	/* the streamed input stays as it came: spacing, escapes and all */
	assert_string_equal(buf_str(&s.text),
	                    "start msg_1 m\nopen 0 1\nopen 1 3\n"
	                    "block 1 {\"type\":\"tool_use\",\"id\":\"toolu_1\",\"name\":\"Bash\",\"input\":"
	                    "{\"command\": \"ls \\u00e9\\/\"}}\n"
	                    "block 0 {\"type\":\"thinking\",\"thinking\":\"hm\",\"signature\":\"Eq+/Q==\"}\n"
	                    "stop tool_use\n");
	assert_true(s.end.complete);
	seen_release(&s);
}

/* How a tool's input is put together: the start's input, the streamed text, and what the block must then say. */
static const struct {
	const char *start, *delta, *input, *bad;
} inputs[] = {
	{ "{}", NULL, "{}", "-" },
	{ "{}", "", "{}", "-" },
	{ "{}", " \\n ", "{}", "-" },
	{ "{\"a\":1}", NULL, "{\"a\":1}", "-" },
	{ "{\"a\":1}", "{\\\"b\\\":2}", "{\"b\":2}", "-" },
	{ "\"{\\\"a\\\":1}\"", NULL, "{\"a\":1}", "-" },
	{ "null", NULL, "{}", "-" },
	{ "{}", " {\\\"a\\\":\\n1} ", "{\"a\": 1}", "-" },
	{ "{}", "{\\\"a\\\":", "{}", "{\"a\":" },
	{ "{}", "[1]", "{}", "[1]" },
	{ "{}", "null", "{}", "null" },
	{ "{}", "{\\\"a\\\":1}{}", "{}", "{\"a\":1}{}" },
	/* half a pair cannot be sent back: it is one U+FFFD, a whole pair stays */
	{ "{}", "{\\\"a\\\":\\\"\\\\ud83dx\\\\ude00\\\\uD83D\\\\uDE00\\\"}",
	  "{\"a\":\"\\ufffdx\\ufffd\\uD83D\\uDE00\"}", "-" },
	{ "{}", "{\\\"a\\\":\\\"\\\\\\\\ud83d\\\"}", "{\"a\":\"\\\\ud83d\"}", "-" },
	{ "{}", "{\\\"a\\\":\\\"x\\\\u0000y\\\"}", "{\"a\":\"x\\u0000y\"}", "-" },
};

static void test_tool_input(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof inputs / sizeof inputs[0]; i++) {
		char open[300], delta[300], want[400];
		struct seen s;
		snprintf(open, sizeof open,
		         "|{\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"tool_use\","
		         "\"id\":"
		         "\"t\",\"name\":\"N\",\"input\":%s}}",
		         inputs[i].start);
		snprintf(delta, sizeof delta,
		         "|{\"type\":\"content_block_delta\",\"index\":%d,\"delta\":{\"type\":\"input_json_delta\","
		         "\"partial_json\":\"%s\"}}",
		         inputs[i].delta ? 0 : 9, inputs[i].delta ? inputs[i].delta : "ignored");
		snprintf(
		        want, sizeof want,
		        "start msg_1 m\nopen 0 3\nblock 0 {\"type\":\"tool_use\",\"id\":\"t\",\"name\":\"N\",\"input\":"
		        "%s}\nstop tool_use\n",
		        inputs[i].input);
		play(&s, EVENTS(START, open, delta, CLOSE(0), DELTA("tool_use"), STOP));
		assert_string_equal(buf_str(&s.text), want);
		assert_string_equal(s.bad_input, inputs[i].bad);
		assert_true(s.end.complete);
		seen_release(&s);
	}
}

static void test_tool_without_id(void **state)
{
	struct seen s;

	(void)state;
	play(&s,
	     EVENTS(START, "|{\"type\":\"content_block_start\",\"index\":2,\"content_block\":{\"type\":\"tool_use\"}}",
	            CLOSE(2), DELTA("tool_use")));
	assert_non_null(strstr(buf_str(&s.text), "\"id\":\"toolu_2\",\"name\":\"unknown\",\"input\":{}"));
	assert_true(s.end.complete);
	seen_release(&s);
}

static void test_unknown_kinds(void **state)
{
	struct seen s;

	(void)state;
	play(&s, EVENTS(START,
	                "|{\"type\":\"content_block_start\",\"index\":0,\"content_block\":{ \"type\":\"new\", "
	                "\"x\":[1, 2] }}",
	                "|{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"new_delta\",\"y\":1}}",
	                ADD(0, "no text here"), CLOSE(0), "new_event|{\"type\":\"new_event\",\"index\":0}", "|not json",
	                "|3", "|\"text\"", CLOSE(7), ADD(7, "x"), ADD(0, "late"), DELTA("end_turn"), STOP));
	assert_string_equal(buf_str(&s.text), "start msg_1 m\nopen 0 7\n"
	                                      "block 0 { \"type\":\"new\", \"x\":[1, 2] }\nstop end_turn\n");
	assert_true(s.end.complete);
	seen_release(&s);
}

static void test_server_side_blocks(void **state)
{
	struct seen s;

	(void)state;
	play(&s,
	     EVENTS(START,
	            "|{\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"server_tool_use\","
	            "\"id\":"
	            "\"s\",\"name\":\"web_search\",\"input\":{}}}",
	            ARGS(0, "{\\\"query\\\":\\\"x\\\"}"), CLOSE(0),
	            "|{\"type\":\"content_block_start\",\"index\":1,\"content_block\":{\"type\":\"compaction\","
	            "\"content\":"
	            "null}}",
	            "|{\"type\":\"content_block_delta\",\"index\":1,\"delta\":{\"type\":\"compaction_delta\","
	            "\"content\":"
	            "\"sum\",\"encrypted_content\":null}}",
	            CLOSE(1),
	            "|{\"type\":\"content_block_start\",\"index\":2,\"content_block\":{\"type\":\"redacted_thinking\","
	            "\"data\":\"b\\/w==\"}}",
	            CLOSE(2), DELTA("end_turn"), STOP));
	assert_string_equal(
	        buf_str(&s.text),
	        "start msg_1 m\nopen 0 7\n"
	        "block 0 {\"type\":\"server_tool_use\",\"id\":\"s\",\"name\":\"web_search\",\"input\":"
	        "{\"query\":\"x\"}}\nopen 1 7\n"
	        "block 1 {\"type\":\"compaction\",\"content\":\"sum\",\"encrypted_content\":null}\nopen 2 2\n"
	        "block 2 {\"type\":\"redacted_thinking\",\"data\":\"b\\/w==\"}\nstop end_turn\n");
	seen_release(&s);
}

static void test_citations(void **state)
{
	struct seen s;

	(void)state;
	play(&s, EVENTS(START, TEXT(0), ADD(0, "a"),
	                "|{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"citations_delta\","
	                "\"citation\":"
	                "{\"url\":\"u\"}}}",
	                "|{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"citations_delta\","
	                "\"citation\":"
	                "{\"url\":\"v\"}}}",
	                CLOSE(0), DELTA("end_turn")));
	assert_non_null(strstr(buf_str(&s.text), "{\"type\":\"text\",\"text\":\"a\",\"citations\":[{\"url\":\"u\"},"
	                                         "{\"url\":\"v\"}]}"));
	seen_release(&s);
}

static void test_usage(void **state)
{
	struct seen s;

	(void)state;
	play(&s,
	     EVENTS(START,
	            "|{\"type\":\"message_delta\",\"delta\":{\"stop_reason\":null},\"usage\":{\"output_tokens\":10}}",
	            "|{\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"tool_use\"},\"usage\":{\"output_"
	            "tokens\":42,"
	            "\"input_tokens\":null,\"cache_read_input_tokens\":7,\"cache_creation_input_tokens\":3,"
	            "\"cache_creation\":{\"ephemeral_5m_input_tokens\":2,\"ephemeral_1h_input_tokens\":1},"
	            "\"server_tool_use\":{\"web_search_requests\":4},\"speed\":\"fast\"}}"));
	assert_int_equal(s.end.usage.output, 42);
	assert_int_equal(s.end.usage.input, 12);
	assert_int_equal(s.end.usage.cache_read, 7);
	assert_int_equal(s.end.usage.cache_creation, 3);
	assert_int_equal(s.end.usage.creation_5m, 2);
	assert_int_equal(s.end.usage.creation_1h, 1);
	assert_int_equal(s.end.usage.web_searches, 4);
	assert_true(s.end.usage.fast);
	seen_release(&s);
	play(&s, EVENTS("|{\"type\":\"message_start\",\"message\":{\"id\":\"x\",\"usage\":{\"input_tokens\":"
	                "9007199254740993,"
	                "\"output_tokens\":1}}}",
	                "|{\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_"
	                "tokens\":-1,"
	                "\"input_tokens\":1e+308}}"));
	assert_true(s.end.usage.input == INT64_C(9007199254740993));
	assert_int_equal(s.end.usage.output, 1);
	seen_release(&s);
	play(&s, EVENTS("|{\"type\":\"message_start\",\"message\":{}}", "|{\"type\":\"message_delta\",\"delta\":{"
	                                                                "\"stop_reason\":\"end_turn\"}}"));
	assert_int_equal(s.end.usage.input, -1);
	assert_int_equal(s.end.usage.output, -1);
	assert_true(s.end.complete);
	seen_release(&s);
}

static const struct error_case {
	const char *event, *type, *message;
	int status;
} errors[] = {
	{ "error|{\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}",
	  "overloaded_error", "Overloaded", 529 },
	{ "|{\"type\":\"error\",\"error\":{\"type\":\"api_error\",\"message\":\"Internal\"}}", "api_error", "Internal",
	  500 },
	{ "|{\"error\":{\"message\":\"upstream went away\",\"type\":\"stream_error\"}}", "stream_error",
	  "upstream went away", 0 },
	{ "|{\"error\":{\"code\":503,\"message\":\"The model is overloaded.\"}}", "api_error",
	  "The model is overloaded.", 503 },
	{ "|{\"error\":\"no slot\"}", "api_error", "no slot", 0 },
	{ "error|{\"message\":\"m\"}", "api_error", "m", 0 },
	{ "error|{\"type\":\"rate_limit_error\",\"message\":\"m\"}", "rate_limit_error", "m", 429 },
	{ "error|upstream  died\r\n here\x1b[31m", "api_error", "upstream died here\\x1b[31m", 0 },
	{ "error|", "api_error", "the server reported an error without a text", 0 },
	{ "error|{\"detail\":[{\"msg\":\"bad\"}]}", "api_error", "{\"detail\":[{\"msg\":\"bad\"}]}", 0 },
	{ "|{\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":\"messages.3: bad block\"}}",
	  "invalid_request_error", "messages.3: bad block", 400 },
	{ "|{\"type\":\"error\",\"error\":null}", "api_error", "{\"type\":\"error\",\"error\":null}", 0 },
};

static void test_errors(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++) {
		struct seen s;
		play(&s, EVENTS(START, TEXT(0), ADD(0, "partial"), errors[i].event, CLOSE(0), DELTA("end_turn"), STOP));
		assert_int_equal(s.end.failure, MODEL_STREAM_ERROR);
		assert_false(s.end.complete);
		assert_string_equal(s.error_type, errors[i].type);
		assert_string_equal(s.message, errors[i].message);
		assert_int_equal(s.end.http_status, errors[i].status);
		assert_string_equal(buf_str(&s.text), "start msg_1 m\nopen 0 0\n");
		seen_release(&s);
	}
}

static void test_error_after_completion_changes_nothing(void **state)
{
	struct seen s;

	(void)state;
	play(&s, EVENTS(START, TEXT(0), CLOSE(0), DELTA("end_turn"), errors[0].event));
	assert_true(s.end.complete);
	assert_int_equal(s.end.failure, MODEL_FINE);
	seen_release(&s);
}

static const struct {
	const char *event, *message;
} breaches[] = {
	{ START, "second message" },
	{ TEXT(0), "content block 0 twice" },
	{ TEXT(-1), "without a usable index" },
	{ TEXT(99999999999), "without a usable index" },
	{ "|{\"type\":\"content_block_start\",\"index\":1}", "content block 1 starts without its object" },
	{ "|{\"type\":\"content_block_delta\",\"index\":0,", "not valid JSON" },
	{ "content_block_delta|oops", "not valid JSON" },
};

static void test_protocol_errors(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof breaches / sizeof breaches[0]; i++) {
		struct seen s;
		play(&s, EVENTS(START, TEXT(0), breaches[i].event, CLOSE(0), DELTA("end_turn")));
		assert_int_equal(s.end.failure, MODEL_STREAM_ERROR);
		assert_string_equal(s.error_type, "protocol_error");
		assert_non_null(strstr(s.message, breaches[i].message));
		seen_release(&s);
	}
}

static void test_too_many_blocks(void **state)
{
	struct seen s;
	struct assembly a;
	char event[200];
	int r = 0, n = 0;

	(void)state;
	seen_init(&s);
	assembly_init(&a, false, sink, &s);
	for (; !r && n < 10 * ASSEMBLY_MAX_BLOCKS; n++) {
		snprintf(event, sizeof event,
		         "{\"type\":\"content_block_start\",\"index\":%d,\"content_block\":{\"type\":\"text\"}}", n);
		r = assembly_event(&a, "", event, strlen(event));
	}
	assert_int_equal(n, ASSEMBLY_MAX_BLOCKS + 1);
	assembly_end(&a, &fine);
	assert_int_equal(s.end.failure, MODEL_STREAM_ERROR);
	assembly_release(&a);
	seen_release(&s);
}

static void test_ends(void **state)
{
	struct model_end net = fine, http = fine;
	struct seen s;

	(void)state;
	net.failure = MODEL_NETWORK;
	net.message = "connection reset";
	http.failure = MODEL_HTTP;
	http.http_status = 500;
	/* cut inside a block, between blocks, after nothing; cleanly or not */
	play(&s, EVENTS(START, TEXT(0), ADD(0, "x")));
	assert_int_equal(s.end.failure, MODEL_STREAM_CUT);
	assert_true(s.end.had_content);
	assert_string_equal(s.message, "the stream ended inside a content block");
	seen_release(&s);
	play_end(&s, EVENTS(START), &net);
	assert_int_equal(s.end.failure, MODEL_STREAM_CUT);
	assert_false(s.end.had_content);
	assert_string_equal(s.message, "connection reset");
	seen_release(&s);
	play_end(&s, EVENTS("ping|{\"type\":\"ping\"}"), &net);
	assert_int_equal(s.end.failure, MODEL_NETWORK);
	seen_release(&s);
	play_end(&s, EVENTS("ping|"), &http);
	assert_int_equal(s.end.failure, MODEL_HTTP);
	assert_int_equal(s.end.http_status, 500);
	assert_string_not_equal(s.message, "-");
	seen_release(&s);
	/* a stop_reason, but a block is open */
	play(&s, EVENTS(START, TEXT(0), DELTA("end_turn"), STOP));
	assert_int_equal(s.end.failure, MODEL_STREAM_CUT);
	seen_release(&s);
	/* message_stop without a stop_reason */
	play(&s, EVENTS(START, TEXT(0), CLOSE(0), STOP));
	assert_int_equal(s.end.failure, MODEL_STREAM_CUT);
	assert_string_equal(s.message, "the stream ended without a stop_reason");
	seen_release(&s);
	/* everything there but message_stop, and then the line broke */
	play_end(&s, EVENTS(START, TEXT(0), CLOSE(0), DELTA("end_turn")), &net);
	assert_int_equal(s.end.failure, MODEL_FINE);
	assert_true(s.end.complete);
	seen_release(&s);
	/* no message_start at all */
	play(&s, EVENTS(TEXT(0), ADD(0, "x"), CLOSE(0), DELTA("end_turn")));
	assert_true(s.end.complete);
	assert_non_null(strstr(buf_str(&s.text), "start  \nopen 0 0\n"));
	seen_release(&s);
}

static void test_raw(void **state)
{
	struct seen s;

	(void)state;
	play(&s, EVENTS(START, "|{\"type\":\"ping\",\n\"x\":\"\\ud800\"}", "|{\"type\":\"new\"}", "|[DONE]"));
	assert_string_equal(strchr(buf_str(&s.raw), '\n') + 1,
	                    "{\"type\":\"ping\", \"x\":\"\\ufffd\"}\n{\"type\":\"new\"}\n");
	seen_release(&s);
}

static void test_progress(void **state)
{
	struct seen s;
	struct assembly a;
	static const char ping[] = "{\"type\":\"ping\"}", start[] = "{\"type\":\"message_start\",\"message\":{}}";

	(void)state;
	seen_init(&s);
	assembly_init(&a, false, sink, &s);
	assembly_event(&a, "ping", ping, sizeof ping - 1);
	assert_false(a.progress);
	assembly_event(&a, "", start, sizeof start - 1);
	assert_true(a.progress);
	assembly_release(&a);
	seen_release(&s);
}

static void test_whole_message(void **state)
{
	static const char json[] =
	        "{\"id\":\"msg_2\",\"type\":\"message\",\"role\":\"assistant\",\"model\":\"m\",\n\"content\":["
	        "{\"type\":\"text\",\"text\":\"hi\"},{\"type\":\"thinking\",\"thinking\":\"\",\"signature\":\"s\"},"
	        "{\"type\":\"tool_use\",\"id\":\"t\",\"name\":\"N\",\"input\":{\"a\": 1}},{\"type\":\"odd\"}],"
	        "\"stop_reason\":\"tool_use\",\"usage\":{\"input_tokens\":3,\"output_tokens\":4}}";
	static const char other[] = "{\"type\":\"error\",\"error\":{}}";
	struct seen s;
	struct assembly a;

	(void)state;
	seen_init(&s);
	assembly_init(&a, false, sink, &s);
	assert_int_equal(assembly_message(&a, other, sizeof other - 1), -1);
	assert_int_equal(assembly_message(&a, "{", 1), -1);
	assert_int_equal(assembly_message(&a, "[]", 2), -1);
	assert_int_equal(assembly_message(&a, json, sizeof json - 1), 0);
	assembly_end(&a, &fine);
	assert_string_equal(
	        buf_str(&s.text),
	        "start msg_2 m\nopen 0 0\nblock 0 {\"type\":\"text\",\"text\":\"hi\"}\nopen 1 1\n"
	        "block 1 {\"type\":\"thinking\",\"thinking\":\"\",\"signature\":\"s\"}\nopen 2 3\n"
	        "block 2 {\"type\":\"tool_use\",\"id\":\"t\",\"name\":\"N\",\"input\":{\"a\": 1}}\nopen 3 7\n"
	        "block 3 {\"type\":\"odd\"}\nstop tool_use\n");
	assert_true(s.end.complete);
	assert_int_equal(s.end.usage.output, 4);
	assembly_release(&a);
	seen_release(&s);
}

static void test_read_error(void **state)
{
	struct model_end end = fine;
	struct assembly a;
	char big[2000];
	static const char full[] =
	        "{\"type\":\"error\",\"error\":{\"type\":\"rate_limit_error\",\"message\":\"slow\\ndown\",\"details\":"
	        "{\"error_code\":\"ramp_limit_exceeded\"}},\"request_id\":\"req_1\"}";

	(void)state;
	assembly_init(&a, false, NULL, NULL);
	end.http_status = 429;
	assembly_read_error(&a, full, sizeof full - 1, &end);
	assert_string_equal(end.error_type, "rate_limit_error");
	assert_string_equal(end.error_code, "ramp_limit_exceeded");
	assert_string_equal(end.message, "slow down");
	assert_string_equal(end.request_id, "req_1");
	assert_int_equal(end.http_status, 429);
	/* cut JSON and HTML are shown as text; the status names the type */
	end.http_status = 500;
	assembly_read_error(&a, "{\"type\":\"error\",\"error\":{\"type\":\"api_er", 39, &end);
	assert_string_equal(end.message, "{\"type\":\"error\",\"error\":{\"type\":\"api_er");
	assert_string_equal(end.error_type, "api_error");
	end.http_status = 403;
	assembly_read_error(&a, "<h1>Blocked\nby gateway</h1>", 27, &end);
	assert_string_equal(end.message, "<h1>Blocked by gateway</h1>");
	/* OpenAI's shape: the code is a word */
	end.http_status = 400;
	assembly_read_error(&a, "{\"error\":{\"message\":\"m\",\"type\":\"t\",\"code\":\"context_length_exceeded\"}}",
	                    69, &end);
	assert_string_equal(end.error_code, "context_length_exceeded");
	memset(big, 'x', sizeof big);
	assembly_read_error(&a, big, sizeof big, &end);
	assert_int_equal(strlen(end.message), 503);
	assembly_read_error(&a, "", 0, &end);
	assert_null(end.message);
	assembly_release(&a);
}

static void test_stray_error(void **state)
{
	static const char stray[] = "{\n  \"error\": {\n    \"code\": 503,\n    \"message\": \"overloaded\"\n  }\n}\n";
	struct seen s;
	struct assembly a;

	(void)state;
	seen_init(&s);
	assembly_init(&a, false, sink, &s);
	assert_false(assembly_stray_error(&a, "junk", 4));
	assert_false(assembly_stray_error(&a, "{}", 2));
	assert_true(assembly_stray_error(&a, stray, sizeof stray - 1));
	assembly_end(&a, &fine);
	assert_int_equal(s.end.failure, MODEL_STREAM_ERROR);
	assert_int_equal(s.end.http_status, 503);
	assert_string_equal(s.message, "overloaded");
	assembly_release(&a);
	seen_release(&s);
}

/* Every prefix of a stream ends in exactly one way, and never as complete before the stop_reason. */
static int to_assembly(void *ctx, const char *name, const char *data, size_t len)
{
	return assembly_event(ctx, name, data, len);
}

static const char whole[] =
        "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"msg_1\",\"model\":\"m\"}}\n\n"
        "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":"
        "\"text\",\"text\":\"\"}}\n\n"
        "data: "
        "{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"\xC3\xA9\"}}\n\n"
        "data: {\"type\":\"content_block_stop\",\"index\":0}\n\n"
        "data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"}}\n\n"
        "data: {\"type\":\"message_stop\"}\n\n";

static void test_every_prefix(void **state)
{
	size_t stop = (size_t)(strstr(whole, "data: {\"type\":\"message_stop\"") - whole);

	(void)state;
	for (size_t n = 0; n < sizeof whole; n++) {
		struct seen s;
		struct assembly a;
		struct sse p;
		seen_init(&s);
		assembly_init(&a, false, sink, &s);
		sse_init(&p, to_assembly, &a);
		assert_true(sse_feed(&p, whole, n, NULL) >= 0);
		assembly_end(&a, &fine);
		assert_int_equal(s.end.complete, n >= stop);
		assert_int_equal(s.end.failure, n >= stop ? MODEL_FINE : MODEL_STREAM_CUT);
		sse_release(&p);
		assembly_release(&a);
		seen_release(&s);
	}
}

static void test_many_deltas_are_cheap(void **state)
{
	enum { N = 200000 };
	static const char delta[] =
	        "{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":"
	        "\"some words of an answer \"}}";
	struct timespec from, to;
	struct seen s;
	struct assembly a;

	(void)state;
	seen_init(&s);
	assembly_init(&a, false, sink, &s);
	assembly_event(&a, "", strchr(TEXT(0), '|') + 1, strlen(TEXT(0)) - 1);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from);
	for (int i = 0; i < N; i++)
		assert_int_equal(assembly_event(&a, "content_block_delta", delta, sizeof delta - 1), 0);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &to);
	assembly_event(&a, "", strchr(CLOSE(0), '|') + 1, strlen(CLOSE(0)) - 1);
	assert_true(s.text.len > (size_t)N * 24);
	/* generous for valgrind and sanitizers: a quadratic append would need minutes */
	assert_true(to.tv_sec - from.tv_sec < 60);
	assembly_release(&a);
	seen_release(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text),
		cmocka_unit_test(test_thinking_overlapping_tool),
		cmocka_unit_test(test_tool_input),
		cmocka_unit_test(test_tool_without_id),
		cmocka_unit_test(test_unknown_kinds),
		cmocka_unit_test(test_server_side_blocks),
		cmocka_unit_test(test_citations),
		cmocka_unit_test(test_usage),
		cmocka_unit_test(test_errors),
		cmocka_unit_test(test_error_after_completion_changes_nothing),
		cmocka_unit_test(test_protocol_errors),
		cmocka_unit_test(test_too_many_blocks),
		cmocka_unit_test(test_ends),
		cmocka_unit_test(test_raw),
		cmocka_unit_test(test_progress),
		cmocka_unit_test(test_whole_message),
		cmocka_unit_test(test_read_error),
		cmocka_unit_test(test_stray_error),
		cmocka_unit_test(test_every_prefix),
		cmocka_unit_test(test_many_deltas_are_cheap),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
