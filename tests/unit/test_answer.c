/* Answers of all kinds, given as bytes. */
#include "model/answer.h"
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct seen {
	struct model_end end;
	char message[1000], error_type[100], request_id[100];
	int ends, blocks;
};

static void sink(void *ctx, const struct model_event *ev)
{
	struct seen *s = ctx;

	s->blocks += ev->kind == MODEL_EV_BLOCK;
	if (ev->kind != MODEL_EV_END)
		return;
	s->ends++;
	s->end = ev->end;
	snprintf(s->message, sizeof s->message, "%s", ev->end.message ? ev->end.message : "-");
	snprintf(s->error_type, sizeof s->error_type, "%s", ev->end.error_type ? ev->end.error_type : "-");
	snprintf(s->request_id, sizeof s->request_id, "%s", ev->end.request_id ? ev->end.request_id : "-");
}

static const struct http_done fine = { MODEL_FINE, NET_NONE, NULL };
static const struct http_done broken = { MODEL_NETWORK, NET_OTHER,
	                                 "transfer closed with outstanding read data remaining" };

static void run(struct seen *s, int status, const struct answer_headers *h, const char *body, size_t n, size_t step,
                const struct http_done *done)
{
	struct answer a;

	memset(s, 0, sizeof *s);
	answer_init(&a, false, sink, s);
	answer_head(&a, status, h);
	for (size_t i = 0; i < n; i += step)
		if (answer_body(&a, body + i, n - i < step ? n - i : step))
			break;
	answer_end(&a, done);
	assert_int_equal(s->ends, 1);
	answer_release(&a);
}

#define ERROR_BODY(t, m)                                                                                               \
	"{\"type\": \"error\", \"error\": {\"type\": \"" t "\", \"message\": \"" m "\"}, \"request_id\": \"req_b\"}"
#define MESSAGE                                                                                                        \
	"{\"type\":\"message\",\"id\":\"x\",\"content\":[{\"type\":\"text\",\"text\":\"hi\"}],\"stop_reason\":\"end_"  \
	"turn\"}"
#define HEAD_EVENT "data: {\"type\":\"message_start\",\"message\":{\"id\":\"m\"}}\n\n"
#define REST_EVENTS                                                                                                    \
	"data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n" \
	"data: {\"type\":\"content_block_stop\",\"index\":0}\n\n"                                                      \
	"data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"}}\n\n"                              \
	"data: {\"type\":\"message_stop\"}\n\n"
#define SSE  "text/event-stream; charset=utf-8"
#define JSON "application/json"

static const struct {
	int status;
	const char *type, *encoding, *body;
	enum model_failure failure;
	int end_status;
	const char *error_type, *message;
} cases[] = {
	{ 200, SSE, NULL, HEAD_EVENT REST_EVENTS, MODEL_FINE, 200, "-", "-" },
	{ 200, NULL, NULL, HEAD_EVENT REST_EVENTS, MODEL_FINE, 200, "-", "-" },
	{ 200, "TEXT/Event-Stream", "identity", HEAD_EVENT REST_EVENTS, MODEL_FINE, 200, "-", "-" },
	{ 200, SSE, NULL, HEAD_EVENT, MODEL_STREAM_CUT, 200, "-", "the stream ended without a stop_reason" },
	{ 200, "text/html; charset=utf-8", NULL, "<html>\n<b>Sign\x1b in</b>", MODEL_NOT_STREAM, 200, "-",
	  "the server answered HTTP 200 (text/html; charset=utf-8), which is no event stream: <html> <b>Sign\\x1b "
	  "in</b>" },
	{ 200, SSE, NULL, "", MODEL_NOT_STREAM, 200, "-",
	  "the server answered HTTP 200 (text/event-stream; charset=utf-8), which is no event stream: empty body" },
	{ 204, NULL, NULL, "", MODEL_NOT_STREAM, 204, "-",
	  "the server answered HTTP 204 (no content type), which is no event stream: empty body" },
	{ 302, NULL, NULL, "", MODEL_NOT_STREAM, 302, "-",
	  "the server answered HTTP 302 (no content type), which is no event stream: empty body" },
	{ 0, NULL, NULL, "HELLO THERE\r\n\r\n", MODEL_NOT_STREAM, 0, "-",
	  "the server answered without an HTTP status line (no content type), which is no event stream: HELLO THERE" },
	{ 200, SSE, "gzip", "\x1f\x8b junk", MODEL_NOT_STREAM, 200, "-",
	  "the server answered HTTP 200 (text/event-stream; charset=utf-8), compressed, which was not asked for" },
	/* a message, or an error, in the wrong frame */
	{ 200, JSON, NULL, MESSAGE, MODEL_FINE, 200, "-", "-" },
	{ 200, SSE, NULL, MESSAGE, MODEL_FINE, 200, "-", "-" },
	{ 200, JSON, NULL, ERROR_BODY("overloaded_error", "Overloaded"), MODEL_STREAM_ERROR, 529, "overloaded_error",
	  "Overloaded" },
	{ 200, SSE, NULL, ERROR_BODY("api_error", "not a stream"), MODEL_STREAM_ERROR, 500, "api_error",
	  "not a stream" },
	{ 200, SSE, NULL, HEAD_EVENT "{\n  \"error\": {\n    \"code\": 503,\n    \"message\": \"busy\"\n  }\n}\n",
	  MODEL_STREAM_ERROR, 503, "api_error", "busy" },
	{ 200, JSON, NULL, "{\"hello\":1}", MODEL_NOT_STREAM, 200, "-",
	  "the server answered HTTP 200 (application/json), which is no event stream: {\"hello\":1}" },
	/* errors by status */
	{ 529, JSON, NULL, ERROR_BODY("overloaded_error", "Overloaded"), MODEL_HTTP, 529, "overloaded_error",
	  "Overloaded" },
	{ 400, JSON, NULL, ERROR_BODY("invalid_request_error", "prompt is too long: 208380 tokens > 200000 maximum"),
	  MODEL_HTTP, 400, "invalid_request_error", "prompt is too long: 208380 tokens > 200000 maximum" },
	{ 500, JSON, NULL, "{\"type\":\"error\",\"error\":{\"type\":\"api_er", MODEL_HTTP, 500, "api_error",
	  "{\"type\":\"error\",\"error\":{\"type\":\"api_er" },
	{ 502, "text/html", NULL, "<html><h1>502</h1></html>", MODEL_HTTP, 502, "api_error",
	  "the server answered HTTP 502 (text/html): <html><h1>502</h1></html>" },
	{ 503, NULL, NULL, "", MODEL_HTTP, 503, "api_error",
	  "the server answered HTTP 503 (no content type): empty body" },
	{ 403, JSON, "br", "\x01\x02", MODEL_HTTP, 403, "permission_error",
	  "the server answered HTTP 403 (application/json), compressed, which was not asked for" },
	/* an error status wins over an event stream as its type */
	{ 500, SSE, NULL, "event: error\ndata: {}\n\n", MODEL_HTTP, 500, "api_error",
	  "the server answered HTTP 500 (text/event-stream; charset=utf-8): event: error data: {}" },
};

static void test_cases(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct answer_headers h = { .content_type = cases[i].type, .content_encoding = cases[i].encoding };
		size_t n = strlen(cases[i].body);
		for (size_t step = 1; step <= n + 1; step += n ? n : 1) {
			struct seen s;
			run(&s, cases[i].status, &h, cases[i].body, n, step, &fine);
			assert_string_equal(s.message, cases[i].message);
			assert_int_equal(s.end.failure, cases[i].failure);
			assert_int_equal(s.end.http_status, cases[i].end_status);
			assert_string_equal(s.error_type, cases[i].error_type);
			assert_int_equal(s.end.complete, cases[i].failure == MODEL_FINE);
			assert_int_equal(s.blocks, cases[i].failure == MODEL_FINE);
		}
	}
}

static void test_broken_transport(void **state)
{
	static const struct answer_headers sse = { .content_type = SSE }, json = { .content_type = JSON };
	struct seen s;
	struct answer a;

	(void)state;
	run(&s, 200, &sse, HEAD_EVENT REST_EVENTS, strlen(HEAD_EVENT REST_EVENTS) - 30, 1, &broken);
	assert_true(s.end.complete);
	run(&s, 200, &sse, HEAD_EVENT, strlen(HEAD_EVENT), 7, &broken);
	assert_int_equal(s.end.failure, MODEL_STREAM_CUT);
	assert_string_equal(s.message, broken.message);
	run(&s, 200, &sse, "", 0, 1, &broken);
	assert_int_equal(s.end.failure, MODEL_NETWORK);
	run(&s, 200, &json, MESSAGE, 20, 20, &broken);
	assert_int_equal(s.end.failure, MODEL_NETWORK);
	/* an error that came in part is still the server's word */
	run(&s, 429, &json, "{\"error", 7, 7, &broken);
	assert_int_equal(s.end.failure, MODEL_HTTP);
	assert_int_equal(s.end.http_status, 429);
	/* no answer at all */
	memset(&s, 0, sizeof s);
	answer_init(&a, false, sink, &s);
	answer_end(&a, &broken);
	assert_int_equal(s.end.failure, MODEL_NETWORK);
	assert_int_equal(s.end.http_status, 0);
	answer_release(&a);
}

static void test_headers(void **state)
{
	struct answer_headers h = {
		.content_type = JSON, .request_id = "req_\x01h", .should_retry = "false", .retry_after = "2"
	};
	const char *body = ERROR_BODY("rate_limit_error", "slow");
	struct seen s;

	(void)state;
	run(&s, 429, &h, body, strlen(body), 100, &fine);
	assert_int_equal(s.end.retry_after_ms, 2000);
	assert_false(s.end.retry_after_junk);
	assert_int_equal(s.end.should_retry, 0);
	assert_string_equal(s.request_id, "req_\\x01h");
	h.retry_after_ms = "1500";
	h.should_retry = "TRUE";
	h.request_id = NULL;
	run(&s, 429, &h, body, strlen(body), 100, &fine);
	assert_int_equal(s.end.retry_after_ms, 1500);
	assert_int_equal(s.end.should_retry, 1);
	assert_string_equal(s.request_id, "req_b");
	h.retry_after_ms = "soon";
	h.should_retry = "perhaps";
	run(&s, 429, &h, body, strlen(body), 100, &fine);
	assert_int_equal(s.end.retry_after_ms, 2000);
	assert_false(s.end.retry_after_junk);
	assert_int_equal(s.end.should_retry, -1);
	h.retry_after = "soon";
	run(&s, 429, &h, body, strlen(body), 100, &fine);
	assert_int_equal(s.end.retry_after_ms, -1);
	assert_true(s.end.retry_after_junk);
}

static void count(struct seen *s, int status, const char *type, const char *body, const struct http_done *done)
{
	const struct answer_headers h = { .content_type = type };
	struct answer a;

	memset(s, 0, sizeof *s);
	answer_init(&a, true, sink, s);
	a.count = true;
	answer_head(&a, status, &h);
	for (const char *p = body; *p; p++)
		assert_int_equal(answer_body(&a, p, 1), 0);
	answer_end(&a, done);
	assert_int_equal(s->ends, 1);
	assert_int_equal(s->blocks, 0);
	answer_release(&a);
}

static void test_count(void **state)
{
	static const char *const nonsense[] = { "",
		                                "[]",
		                                "{\"input_tokens\": \"14\"}",
		                                "{\"input_tokens\": -1}",
		                                "{\"tokens\": 1}",
		                                "<html>",
		                                HEAD_EVENT REST_EVENTS };
	struct seen s;

	(void)state;
	count(&s, 200, JSON, "{ \"input_tokens\" : 14 }\n", &fine);
	assert_int_equal(s.end.failure, MODEL_FINE);
	assert_true(s.end.complete);
	assert_int_equal(s.end.usage.input, 14);
	assert_int_equal(s.end.usage.output, -1);
	count(&s, 200, NULL, "{\"input_tokens\":0,\"more\":{}}", &fine);
	assert_true(s.end.complete);
	assert_int_equal(s.end.usage.input, 0);
	for (size_t i = 0; i < sizeof nonsense / sizeof *nonsense; i++) {
		count(&s, 200, JSON, nonsense[i], &fine);
		assert_int_equal(s.end.failure, MODEL_NOT_STREAM);
		assert_false(s.end.complete);
		assert_non_null(strstr(s.message, "which is no count of tokens"));
	}
	count(&s, 404, JSON, ERROR_BODY("not_found_error", "no such path"), &fine);
	assert_int_equal(s.end.failure, MODEL_HTTP);
	assert_int_equal(s.end.http_status, 404);
	count(&s, 200, JSON, "{\"input_tokens\": 1", &broken);
	assert_int_equal(s.end.failure, MODEL_NETWORK);
}

static void test_bodies_are_bounded(void **state)
{
	static const struct answer_headers json = { .content_type = JSON }, sse = { .content_type = SSE };
	size_t step = 1 << 16, sent = 0;
	char *p = malloc(step);
	struct seen s;
	struct answer a;

	(void)state;
	assert_non_null(p);
	memset(p, 'x', step);
	memset(&s, 0, sizeof s);
	answer_init(&a, false, sink, &s);
	answer_head(&a, 500, &json);
	while (!answer_body(&a, p, 1000))
		assert_true((sent += 1000) < 2 * ANSWER_MAX_ERROR);
	answer_end(&a, &fine);
	assert_int_equal(s.end.failure, MODEL_HTTP);
	assert_true(strlen(s.message) < 600);
	answer_release(&a);
	/* an event without an end */
	answer_init(&a, false, sink, &s);
	answer_head(&a, 200, &sse);
	sent = 0;
	while (!answer_body(&a, p, step))
		assert_true((sent += step) < 2 * SSE_MAX_EVENT);
	answer_end(&a, &fine);
	assert_int_equal(s.end.failure, MODEL_STREAM_CUT);
	assert_non_null(strstr(s.message, "larger than"));
	answer_release(&a);
	free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cases), cmocka_unit_test(test_broken_transport),   cmocka_unit_test(test_headers),
		cmocka_unit_test(test_count), cmocka_unit_test(test_bodies_are_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
