#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/io.h"
#include "model/replay.h"

#define LENGTH(a) (sizeof(a) / sizeof *(a))

/* A replayed model with a log of what it told: one word an event. */
struct player {
	struct reactor *reactor;
	struct model *m;
	char path[64];
	struct buf log;
	int ends;
	struct model_end end; /* of the last end; its strings are in end_text */
	struct buf end_text;
	int cancel_at;   /* cancel inside the sink at this event, 0 = never */
	int restart_for; /* start again inside the sink at an end, so often */
	int events;
	struct history h;
	struct model_request req;
};

static const char *const kinds[] = { "text",        "thinking", "redacted", "tool_use",
	                             "tool_result", "image",    "document", "other" };

static void log_block(struct player *p, const struct block *b)
{
	buf_addf(&p->log, "%s", kinds[b->kind]);
	if (b->id)
		buf_addf(&p->log, "(%s %s %s)", b->id, b->name, b->input);
	else if (b->text)
		buf_addf(&p->log, "(%s)", b->text);
	buf_adds(&p->log, " ");
}

static void on_model(void *ctx, const struct model_event *ev)
{
	struct player *p = ctx;
	struct error e = ERROR_INIT;

	p->events++;
	switch (ev->kind) {
	case MODEL_EV_ALIVE:
		break;
	case MODEL_EV_RAW:
		buf_adds(&p->log, "raw ");
		break;
	case MODEL_EV_MESSAGE_START:
		buf_addf(&p->log, "start(%s %s) ", ev->message_id, ev->model);
		break;
	case MODEL_EV_BLOCK_START:
		break;
	case MODEL_EV_BLOCK:
		log_block(p, ev->block);
		break;
	case MODEL_EV_STOP:
		buf_addf(&p->log, "stop(%s) ", ev->end.stop_reason);
		break;
	case MODEL_EV_END:
		p->ends++;
		p->end = ev->end;
		buf_clear(&p->end_text);
		buf_addf(&p->end_text, "%s|%s|%s", ev->end.error_type ? ev->end.error_type : "-",
		         ev->end.error_code ? ev->end.error_code : "-", ev->end.message ? ev->end.message : "-");
		buf_adds(&p->log, "end ");
		if (p->restart_for-- > 0)
			assert_int_equal(p->m->ops->start(p->m, &p->req, &e), 0);
		break;
	}
	if (p->cancel_at && p->events == p->cancel_at)
		p->m->ops->cancel(p->m);
}

static void open_tape(struct player *p, const char *answers, bool partial)
{
	struct error e = ERROR_INIT;
	struct buf text = BUF_INIT(1 << 20);

	memset(p, 0, sizeof *p);
	buf_init(&p->log, 1 << 20);
	buf_init(&p->end_text, 1 << 16);
	snprintf(p->path, sizeof p->path, "/tmp/test_replay_XXXXXX");
	int fd = mkstemp(p->path);
	assert_true(fd >= 0);
	buf_addf(&text, "tape: 1\nanswers:\n%s", answers);
	assert_int_equal(io_write_all(fd, text.data, text.len), 0);
	close(fd);
	buf_release(&text);
	p->reactor = reactor_open(&e);
	assert_non_null(p->reactor);
	struct model_config cfg = { .tape = p->path, .partial = partial };
	p->m = replay_wire.open(&cfg, p->reactor, on_model, p, &e);
	if (!p->m)
		fail_msg("%s", e.msg);
	assert_int_equal(history_add_user_block(&p->h, block_new_text("do it", 5)), 0);
	p->req = (struct model_request){ .model = "m-1", .messages = &p->h, .turn = 1, .system = "sys" };
}

static void close_tape(struct player *p)
{
	p->m->ops->free(p->m);
	reactor_free(p->reactor);
	unlink(p->path);
	history_release(&p->h);
	buf_release(&p->log);
	buf_release(&p->end_text);
}

/* Lets it play on, until there is nothing to do for so long. */
static void settle(struct player *p, int64_t ms)
{
	struct error e = ERROR_INIT;
	int done;

	do {
		done = reactor_wait(p->reactor, clock_mono_ms() + ms, &e);
		assert_true(done >= 0);
	} while (done);
}

/* One request, waited for until its end (at most 20 s). */
static void ask(struct player *p)
{
	struct error e = ERROR_INIT;
	int64_t until = clock_mono_ms() + 20000;
	int ends = p->ends;

	buf_clear(&p->log);
	assert_int_equal(p->m->ops->start(p->m, &p->req, &e), 0);
	assert_int_equal(p->ends, ends); /* never from inside start */
	while (p->ends == ends && clock_mono_ms() < until)
		assert_true(reactor_wait(p->reactor, until, &e) >= 0);
	assert_int_equal(p->ends, ends + 1);
}

static void answers_come_in_order_with_made_up_ids(void **state)
{
	struct player p;
	(void)state;
	open_tape(&p,
	          "- content: [{thinking: hm, signature: s1}, {text: look}, {tool_use: {name: Read, input: {file_path: "
	          "a}}}]\n"
	          "- content: [{tool_use: {name: Bash}}, {tool_use: {name: Bash, id: own}}, {tool_use: {name: Bash}}]\n"
	          "  repeat: 2\n"
	          "- text: done\n"
	          "  usage: {input_tokens: 7, output_tokens: 9, cache_read_input_tokens: 3}\n"
	          "  id: my_id\n"
	          "  model: other\n",
	          false);
	assert_int_equal(replay_unused(p.m), 4);
	ask(&p);
	assert_string_equal(p.log.data, "start(msg_0001 m-1) thinking(s1) text(look) "
	                                "tool_use(toolu_0001 Read {\"file_path\":\"a\"}) stop(tool_use) end ");
	assert_int_equal(p.end.failure, MODEL_FINE);
	assert_true(p.end.complete);
	ask(&p);
	assert_string_equal(p.log.data, "start(msg_0002 m-1) tool_use(toolu_0002 Bash {}) tool_use(own Bash {}) "
	                                "tool_use(toolu_0003 Bash {}) stop(tool_use) end ");
	ask(&p);
	assert_string_equal(p.log.data, "start(msg_0003 m-1) tool_use(toolu_0004 Bash {}) tool_use(own Bash {}) "
	                                "tool_use(toolu_0005 Bash {}) stop(tool_use) end ");
	assert_int_equal(replay_unused(p.m), 1);
	ask(&p);
	assert_string_equal(p.log.data, "start(my_id other) text(done) stop(end_turn) end ");
	assert_int_equal(p.end.usage.input, 7);
	assert_int_equal(p.end.usage.output, 9);
	assert_int_equal(p.end.usage.cache_read, 3);
	assert_int_equal(replay_unused(p.m), 0);
	close_tape(&p);
}

static void usage_is_estimated_from_sizes(void **state)
{
	struct player p;
	(void)state;
	open_tape(&p, "- text: 12345678\n  repeat: 2\n", false);
	ask(&p);
	int64_t input = p.end.usage.input;
	assert_int_equal(p.end.usage.output, 3);
	assert_int_equal(input, (int64_t)(p.h.bytes + 3) / 4 + 1);
	ask(&p);
	assert_int_equal(p.end.usage.input, input);
	close_tape(&p);
}

static void what_is_on_no_tape_is_refused_and_uses_nothing(void **state)
{
	static const enum model_kind kinds_off[] = { MODEL_COUNT, MODEL_SUMMARY };
	struct player p;
	(void)state;
	open_tape(&p, "- text: one\n- text: two\n", false);
	for (size_t i = 0; i < LENGTH(kinds_off); i++) {
		p.req.kind = kinds_off[i];
		ask(&p);
		assert_string_equal(p.log.data, "end ");
		assert_int_equal(p.end.failure, MODEL_REFUSED_REQUEST);
		assert_false(p.end.complete);
		assert_non_null(strstr(p.end_text.data, "a tape answers no such request"));
		assert_int_equal(replay_unused(p.m), 2);
	}
	p.req.kind = MODEL_COMPACT; /* the conversation is told anew by it */
	ask(&p);
	assert_int_equal(replay_unused(p.m), 1);
	p.req.kind = MODEL_MAIN;
	ask(&p);
	assert_non_null(strstr(p.log.data, "text(two)"));
	close_tape(&p);
}

static void a_request_too_many_is_a_mismatch(void **state)
{
	struct player p;
	(void)state;
	open_tape(&p, "- text: one\n  repeat: 2\n", false);
	ask(&p);
	ask(&p);
	p.req.turn = 3;
	ask(&p);
	assert_int_equal(p.end.failure, MODEL_MISMATCH);
	assert_non_null(strstr(p.end_text.data, "turn 3: the tape '"));
	assert_non_null(strstr(p.end_text.data, "' holds 2 answers, request 3 was made"));
	close_tape(&p);
}

static void an_unexpected_request_is_a_mismatch_and_uses_nothing(void **state)
{
	struct player p;
	(void)state;
	open_tape(&p, "- text: one\n  expect: {last: other, model: m-2}\n", false);
	ask(&p);
	assert_string_equal(p.log.data, "end ");
	assert_int_equal(p.end.failure, MODEL_MISMATCH);
	assert_false(p.end.complete);
	assert_non_null(strstr(p.end_text.data, "turn 1 does not fit answer 1 of the tape ("));
	assert_non_null(strstr(p.end_text.data,
	                       ":3): expected model \"m-2\", got \"m-1\"; expected the newest user text to "
	                       "contain \"other\", got \"do it\""));
	assert_int_equal(replay_unused(p.m), 1);
	close_tape(&p);
}

static void statuses_and_networks_end_as_from_a_server(void **state)
{
	static const struct {
		const char *answer;
		enum model_failure failure;
		int status;
		enum model_net net;
		int64_t retry_after;
		int should_retry;
		const char *text;
	} rows[] = {
		{ "status: 529\n  error: {type: overloaded_error, message: Overloaded}\n  headers: {x-should-retry: "
		  "'false'}",
		  MODEL_HTTP, 529, NET_NONE, -1, 0, "overloaded_error|-|Overloaded" },
		{ "status: 429\n  error: {message: slow down}\n  headers: {Retry-After: 2}", MODEL_HTTP, 429, NET_NONE,
		  2000, -1, "rate_limit_error|-|slow down" },
		{ "status: 429\n  headers: {retry-after: 2, retry-after-ms: 70}", MODEL_HTTP, 429, NET_NONE, 70, -1,
		  "rate_limit_error|-|the server answered HTTP 429 (no content type): empty body" },
		{ "status: 400\n  error: {type: invalid_request_error, message: no, code: c1}", MODEL_HTTP, 400,
		  NET_NONE, -1, -1, "invalid_request_error|c1|no" },
		{ "status: 502\n  body: '<html>Bad Gateway</html>'", MODEL_HTTP, 502, NET_NONE, -1, -1,
		  "api_error|-|the server answered HTTP 502 (text/html): <html>Bad Gateway</html>" },
		{ "status: 200\n  body: '<html>login</html>'", MODEL_NOT_STREAM, 200, NET_NONE, -1, -1,
		  "-|-|the server answered HTTP 200 (text/html), which is no event stream: <html>login</html>" },
		{ "status: 204", MODEL_NOT_STREAM, 204, NET_NONE, -1, -1,
		  "-|-|the server answered HTTP 204 (no content type), which is no event stream: empty body" },
		{ "status: 200\n  error: {type: overloaded_error, message: busy}", MODEL_STREAM_ERROR, 529, NET_NONE,
		  -1, -1, "overloaded_error|-|busy" },
		{ "network: refused", MODEL_NETWORK, 0, NET_CONNECT_REFUSED, -1, -1, "-|-|connection refused" },
		{ "network: unknown_host", MODEL_NETWORK, 0, NET_UNKNOWN_HOST, -1, -1,
		  "-|-|the host name is not known" },
		{ "network: reset", MODEL_NETWORK, 0, NET_OTHER, -1, -1, "-|-|connection reset" },
		{ "network: timeout", MODEL_NETWORK, 0, NET_OTHER, -1, -1, "-|-|the connection timed out" },
		{ "network: dead_reused", MODEL_NETWORK, 0, NET_DEAD_REUSED, -1, -1,
		  "-|-|the kept connection was dead" },
		{ "network: tls", MODEL_REFUSED_REQUEST, 0, NET_TLS, -1, -1,
		  "-|-|the server's certificate is not trusted" },
	};
	(void)state;
	for (size_t i = 0; i < LENGTH(rows); i++) {
		struct player p;
		char text[500];
		snprintf(text, sizeof text, "- %s\n", rows[i].answer);
		open_tape(&p, text, false);
		ask(&p);
		assert_string_equal(p.end_text.data, rows[i].text);
		assert_int_equal(p.end.failure, rows[i].failure);
		assert_int_equal(p.end.http_status, rows[i].status);
		assert_int_equal(p.end.net, rows[i].net);
		assert_int_equal(p.end.retry_after_ms, rows[i].retry_after);
		assert_int_equal(p.end.should_retry, rows[i].should_retry);
		assert_false(p.end.complete);
		close_tape(&p);
	}
}

static void a_whole_message_is_an_answer(void **state)
{
	struct player p;
	(void)state;
	open_tape(&p,
	          "- status: 200\n  body: "
	          "'{\"type\":\"message\",\"id\":\"w\",\"model\":\"x\",\"content\":[{\"type\":\"text\","
	          "\"text\":\"whole\"}],\"stop_reason\":\"end_turn\"}'\n",
	          false);
	ask(&p);
	assert_string_equal(p.log.data, "start(w x) text(whole) stop(end_turn) end ");
	assert_true(p.end.complete);
	close_tape(&p);
}

static void streams_can_be_cut_stalled_and_broken(void **state)
{
	struct player p;
	(void)state;
	/* message_start, block start, delta, block stop, message_delta, message_stop */
	open_tape(&p,
	          "- {text: a, cut_after: 0}\n"
	          "- {text: a, cut_after: 3}\n"
	          "- {text: a, cut_after: 5}\n"
	          "- {text: a, cut_after: 99}\n"
	          "- {text: a, error_after: {events: 0, type: overloaded_error, message: busy}}\n"
	          "- {text: a, error_after: {events: 4}}\n"
	          "- {content: [{thinking: t, signature: s}, {text: a}], cut_after: 5}\n",
	          false);
	ask(&p);
	assert_string_equal(p.log.data, "end ");
	assert_int_equal(p.end.failure, MODEL_NOT_STREAM);
	assert_false(p.end.had_content);
	ask(&p);
	assert_string_equal(p.log.data, "start(msg_0002 m-1) end ");
	assert_int_equal(p.end.failure, MODEL_STREAM_CUT);
	assert_true(p.end.had_content);
	ask(&p);
	assert_string_equal(p.log.data, "start(msg_0003 m-1) text(a) stop(end_turn) end ");
	assert_int_equal(p.end.failure, MODEL_FINE); /* complete without its message_stop */
	ask(&p);
	assert_int_equal(p.end.failure, MODEL_FINE);
	ask(&p);
	assert_int_equal(p.end.failure, MODEL_STREAM_ERROR);
	assert_string_equal(p.end_text.data, "overloaded_error|-|busy");
	assert_false(p.end.had_content);
	ask(&p);
	assert_string_equal(p.log.data, "start(msg_0006 m-1) text(a) end ");
	assert_string_equal(p.end_text.data, "api_error|-|Internal server error");
	ask(&p);
	assert_string_equal(p.log.data, "start(msg_0007 m-1) thinking(s) end ");
	close_tape(&p);
}

static void a_stalled_stream_is_silent_until_cancelled(void **state)
{
	struct player p;
	struct error e = ERROR_INIT;
	(void)state;
	open_tape(&p, "- {text: a, stall_after: 4}\n- {text: b}\n", false);
	assert_int_equal(p.m->ops->start(p.m, &p.req, &e), 0);
	settle(&p, 20);
	assert_string_equal(p.log.data, "start(msg_0001 m-1) text(a) ");
	p.m->ops->pause(p.m, true); /* resuming must not wake it */
	p.m->ops->pause(p.m, false);
	settle(&p, 20);
	assert_int_equal(p.ends, 0);
	p.m->ops->cancel(p.m);
	ask(&p);
	assert_string_equal(p.log.data, "start(msg_0002 m-1) text(b) stop(end_turn) end ");
	close_tape(&p);
}

static void delay_and_gap_take_their_time(void **state)
{
	struct player p;
	(void)state;
	open_tape(&p, "- {text: a, delay: 30ms, gap: 10ms}\n", false);
	int64_t before = clock_mono_ms();
	ask(&p);
	assert_true(clock_mono_ms() - before >= 80); /* 30 + 5 gaps of 10 */
	assert_true(p.end.complete);
	close_tape(&p);
}

static void a_paused_answer_waits(void **state)
{
	struct player p;
	struct error e = ERROR_INIT;
	(void)state;
	open_tape(&p, "- {text: a, gap: 5ms}\n", false);
	assert_int_equal(p.m->ops->start(p.m, &p.req, &e), 0);
	p.m->ops->pause(p.m, true);
	settle(&p, 20);
	assert_int_equal(p.log.len, 0);
	p.m->ops->pause(p.m, false);
	settle(&p, 20);
	assert_string_equal(p.log.data, "start(msg_0001 m-1) text(a) stop(end_turn) end ");
	close_tape(&p);
}

static void chunks_change_nothing(void **state)
{
	struct player p;
	(void)state;
	open_tape(
	        &p,
	        "- {content: [{text: \"caf\\u00e9 \\u65e5\"}, {tool_use: {name: B, input: {a: [1, 2]}}}], chunk: 1}\n"
	        "- {content: [{text: \"caf\\u00e9 \\u65e5\"}, {tool_use: {name: B, input: {a: [1, 2]}}}], chunk: 7}\n",
	        false);
	ask(&p);
	assert_string_equal(p.log.data, "start(msg_0001 m-1) text(caf\xc3\xa9 \xe6\x97\xa5) "
	                                "tool_use(toolu_0001 B {\"a\":[1,2]}) stop(tool_use) end ");
	ask(&p);
	assert_string_equal(p.log.data, "start(msg_0002 m-1) text(caf\xc3\xa9 \xe6\x97\xa5) "
	                                "tool_use(toolu_0002 B {\"a\":[1,2]}) stop(tool_use) end ");
	close_tape(&p);
}

static void raw_streams_and_blocks_go_through(void **state)
{
	struct player p;
	(void)state;
	open_tape(&p,
	          "- sse: |\n"
	          "    event: message_start\n"
	          "    data: "
	          "{\"type\":\"message_start\",\"message\":{\"id\":\"r\",\"model\":\"x\",\"usage\":{\"input_tokens\":4}"
	          "}}\n"
	          "\n"
	          "    : comment\n"
	          "\n"
	          "    data: "
	          "{\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":6}"
	          "}\n"
	          "\n"
	          "- sse: |\n"
	          "    {\"error\": {\"message\": \"gone\", \"type\": \"api_error\"}}\n"
	          "- sse: \"data: {\\\"type\\\":\\\"message_start\\\",\\\"message\\\":{\\\"id\\\":\\\"t\\\"}}\"\n"
	          "- content: [{raw: {type: novelty, x: 1}}]\n"
	          "  stop_reason: refusal\n",
	          true);
	ask(&p);
	assert_string_equal(p.log.data, "raw start(r x) raw stop(end_turn) end ");
	assert_int_equal(p.end.usage.output, 6);
	assert_true(p.end.complete);
	ask(&p);
	assert_int_equal(p.end.failure, MODEL_STREAM_ERROR);
	assert_string_equal(p.end_text.data, "api_error|-|gone");
	ask(&p); /* torn before its blank line: the event is dropped, and nothing is left */
	assert_string_equal(p.log.data, "end ");
	assert_int_equal(p.end.failure, MODEL_NOT_STREAM);
	ask(&p);
	assert_non_null(strstr(p.log.data, "other raw stop(refusal) raw end "));
	close_tape(&p);
}

/* At every single event of an answer: nothing comes after the cancel, and the next request works. */
static void cancel_works_inside_every_event(void **state)
{
	(void)state;
	for (int at = 1;; at++) {
		struct player p;
		struct error e = ERROR_INIT;
		open_tape(&p, "- {content: [{text: a}, {tool_use: {name: B}}], chunk: 40}\n- {text: b}\n", true);
		p.cancel_at = at;
		assert_int_equal(p.m->ops->start(p.m, &p.req, &e), 0);
		settle(&p, 2);
		bool was_cancelled = p.events == at;
		if (!was_cancelled) {
			assert_int_equal(p.ends, 1);
			close_tape(&p);
			assert_true(at > 10);
			return;
		}
		p.cancel_at = 0;
		int ends = p.ends; /* the cancel may have come inside the end itself */
		ask(&p);
		assert_int_equal(p.ends, ends + 1);
		assert_non_null(strstr(p.log.data, "text(b) "));
		close_tape(&p);
	}
}

static void the_next_request_may_start_inside_an_end(void **state)
{
	struct player p;
	struct error e = ERROR_INIT;
	(void)state;
	open_tape(&p, "- {text: a}\n- {status: 500}\n- {network: reset}\n- {text: b}\n", false);
	p.restart_for = 3;
	assert_int_equal(p.m->ops->start(p.m, &p.req, &e), 0);
	settle(&p, 20);
	assert_int_equal(p.ends, 4);
	assert_true(p.end.complete);
	close_tape(&p);
}

static void one_attempt_at_a_time(void **state)
{
	struct player p;
	struct error e = ERROR_INIT;
	(void)state;
	open_tape(&p, "- {text: a}\n", false);
	assert_int_equal(p.m->ops->start(p.m, &p.req, &e), 0);
	assert_int_equal(p.m->ops->start(p.m, &p.req, &e), -1);
	assert_int_equal(e.code, ERR_BUG);
	close_tape(&p); /* with the attempt still open */
}

static void open_fails_in_words(void **state)
{
	struct error e = ERROR_INIT;
	struct model_config none = { .tape = NULL }, missing = { .tape = "/nonexistent/t.yaml" };
	struct reactor *r = reactor_open(&e);
	(void)state;
	assert_null(replay_wire.open(&none, r, on_model, NULL, &e));
	assert_non_null(strstr(e.msg, "--replay FILE"));
	assert_null(replay_wire.open(&missing, r, on_model, NULL, &e));
	assert_non_null(strstr(e.msg, "/nonexistent/t.yaml"));
	reactor_free(r);
	assert_false(replay_wire.needs_key);
	assert_string_equal(replay_wire.name, "replay");
}

static void a_model_of_another_wire_has_no_unused_answers(void **state)
{
	struct model_ops ops = { 0 };
	struct model other = { &ops };
	(void)state;
	assert_int_equal(replay_unused(&other), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(answers_come_in_order_with_made_up_ids),
		cmocka_unit_test(usage_is_estimated_from_sizes),
		cmocka_unit_test(what_is_on_no_tape_is_refused_and_uses_nothing),
		cmocka_unit_test(a_request_too_many_is_a_mismatch),
		cmocka_unit_test(an_unexpected_request_is_a_mismatch_and_uses_nothing),
		cmocka_unit_test(statuses_and_networks_end_as_from_a_server),
		cmocka_unit_test(a_whole_message_is_an_answer),
		cmocka_unit_test(streams_can_be_cut_stalled_and_broken),
		cmocka_unit_test(a_stalled_stream_is_silent_until_cancelled),
		cmocka_unit_test(delay_and_gap_take_their_time),
		cmocka_unit_test(a_paused_answer_waits),
		cmocka_unit_test(chunks_change_nothing),
		cmocka_unit_test(raw_streams_and_blocks_go_through),
		cmocka_unit_test(cancel_works_inside_every_event),
		cmocka_unit_test(the_next_request_may_start_inside_an_end),
		cmocka_unit_test(one_attempt_at_a_time),
		cmocka_unit_test(open_fails_in_words),
		cmocka_unit_test(a_model_of_another_wire_has_no_unused_answers),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
