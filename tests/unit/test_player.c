/* A bundle's exchanges played again: what is asked is held against what was, and answers come as they came. */
#include "model/player.h"
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/request.h"

struct stage {
	struct recorded *recorded;
	struct model *model;
	struct history history;
	struct exchange_count count;
	struct buf last[EXCHANGE_KINDS];
	unsigned entries;
	int64_t now;
	struct buf seen;   /* a letter an event */
	struct buf notice; /* what was told */
	struct model_end end;
	char message[512], text[64];
};

static int64_t now(void *ctx)
{
	return ((struct stage *)ctx)->now;
}

static void on_notice(void *ctx, const char *code, const char *text)
{
	struct stage *s = ctx;

	buf_addf(&s->notice, "%s: %s\n", code, text);
}

static void on_event(void *ctx, const struct model_event *ev)
{
	static const char letters[] = "ARSOBTE"; /* in the order of enum model_event_kind */
	struct stage *s = ctx;

	if (ev->kind == MODEL_EV_ALIVE)
		buf_addc(&s->seen, "csyp"[ev->phase]);
	else
		buf_addc(&s->seen, letters[ev->kind]);
	if (ev->kind == MODEL_EV_BLOCK && ev->block->text)
		snprintf(s->text, sizeof s->text, "%s", ev->block->text);
	if (ev->kind == MODEL_EV_END) {
		s->end = ev->end;
		snprintf(s->message, sizeof s->message, "%s", ev->end.message ? ev->end.message : "");
	}
}

static void say(struct stage *s, enum role role, const char *text)
{
	struct message *m = message_new(role);

	assert_int_equal(message_add(m, block_new_text(text, strlen(text))), 0);
	assert_int_equal(history_add(&s->history, m), 0);
}

static struct model_request request(struct stage *s, enum model_kind kind, int attempt)
{
	return (struct model_request){
		.kind = kind, .model = "m", .max_tokens = 10, .messages = &s->history, .attempt = attempt
	};
}

static void add_entry(struct stage *s, const char *part, const char *p, size_t n)
{
	char name[64];
	struct error e = ERROR_INIT;

	snprintf(name, sizeof name, "exchanges/%06u.%s", s->entries, part);
	if (recorded_add(s->recorded, name, p, n, &e))
		fail_msg("%s", e.msg);
}

/* Records what is asked now, as a writer of bundles does: only the bytes that were not in the request before. */
static void record(struct stage *s, struct exchange *x, enum model_kind kind, int attempt, const char *answer)
{
	struct model_request req = request(s, kind, attempt);
	struct request_body body;
	struct request_cursor at = { 0, 0 };
	struct buf all = BUF_INIT(BUF_HUGE), json = BUF_INIT(BUF_HUGE), *last = &s->last[kind];
	struct error e = ERROR_INIT;
	char piece[100];

	exchange_asked(x, &req, &s->count);
	assert_int_equal(request_build(&body, &req, &e), 0);
	for (size_t n; (n = request_read(&body, &at, piece, sizeof piece)) > 0;)
		buf_add(&all, piece, n);
	request_release(&body);
	while (x->prefix < all.len && x->prefix < last->len && all.data[x->prefix] == last->data[x->prefix])
		x->prefix++;
	digest_of(buf_str(&all), x->prefix, x->prefix_sha);
	x->bytes = all.len;
	assert_int_equal(exchange_write(x, &json), 0);
	s->entries++;
	add_entry(s, "request", buf_str(&all) + x->prefix, all.len - x->prefix);
	add_entry(s, "response", answer, strlen(answer));
	add_entry(s, "json", buf_str(&json), json.len);
	buf_clear(last);
	buf_add(last, buf_str(&all), all.len);
	buf_release(&all);
	buf_release(&json);
	exchange_release(x);
}

#define START                                                                                                          \
	"event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m1\",\"type\":\"message\","     \
	"\"role\":\"assistant\",\"model\":\"m\",\"content\":[],\"usage\":{\"input_tokens\":1,\"output_tokens\":1}}}"   \
	"\n\n"
#define TEXT                                                                                                           \
	"event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":" \
	"\"text\",\"text\":\"\"}}\n\n"                                                                                 \
	"event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":"         \
	"\"text_delta\",\"text\":\"Hello\"}}\n\n"                                                                      \
	"event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n"
#define STOP                                                                                                           \
	"event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{" \
	"\"output_tokens\":5}}\n\nevent: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"

static void begin(struct exchange *x, int status, const char *type)
{
	const struct answer_headers h = { .content_type = type };

	exchange_init(x);
	exchange_phase(x, 5, PHASE_CONNECTED);
	exchange_phase(x, 6, PHASE_SENT);
	exchange_head(x, 10, status, &h);
}

/* A whole stream in three chunks. */
static void record_stream(struct stage *s, int attempt)
{
	const struct http_done done = { MODEL_FINE, NET_NONE, NULL };
	struct exchange x;

	begin(&x, 200, "text/event-stream");
	exchange_chunk(&x, 10, strlen(START), false);
	exchange_chunk(&x, 20, strlen(TEXT), true);
	exchange_chunk(&x, 30, strlen(STOP), false);
	exchange_done(&x, 31, false, &done);
	record(s, &x, MODEL_MAIN, attempt, START TEXT STOP);
}

static int set_up(void **state)
{
	struct stage *s = calloc(1, sizeof *s);

	s->recorded = recorded_new();
	s->history = (struct history)HISTORY_INIT;
	for (size_t i = 0; i < EXCHANGE_KINDS; i++)
		buf_init(&s->last[i], BUF_HUGE);
	buf_init(&s->seen, 1000);
	buf_init(&s->notice, 10000);
	s->now = 1000;
	say(s, ROLE_USER, "go");
	*state = s;
	return 0;
}

static void open_player(struct stage *s, bool strict)
{
	const struct player_config cfg = { s->recorded, false, strict, now, on_notice, s, NULL };
	struct error e = ERROR_INIT;

	s->model = player_open(&cfg, on_event, s, &e);
	assert_non_null(s->model);
}

static int tear_down(void **state)
{
	struct stage *s = *state;

	if (s->model)
		s->model->ops->free(s->model);
	recorded_free(s->recorded);
	history_release(&s->history);
	for (size_t i = 0; i < EXCHANGE_KINDS; i++)
		buf_release(&s->last[i]);
	buf_release(&s->seen);
	buf_release(&s->notice);
	free(s);
	return 0;
}

/* Asks, and has everything given in its time; "c5 s6 ...": what came when, "!" where it came apart. */
static void ask(struct stage *s, enum model_kind kind, int attempt)
{
	struct model_request req = request(s, kind, attempt);
	struct error e = ERROR_INIT;
	enum player_piece piece;
	int64_t at, asked = s->now;

	buf_clear(&s->seen);
	if (s->model->ops->start(s->model, &req, &e))
		fail_msg("%s", e.msg);
	while ((piece = player_next(s->model, &at)) != PLAYER_NOTHING) {
		s->now = at;
		buf_addf(&s->seen, " %d%s", (int)(at - asked),
		         piece == PLAYER_APART ? "!"
		         : piece == PLAYER_END ? "?"
		                               : "");
		player_give(s->model);
	}
}

static void test_an_answer_comes_as_it_came(void **state)
{
	struct stage *s = *state;
	int64_t at;

	record_stream(s, 1);
	open_player(s, true);
	assert_int_equal(player_next(s->model, &at), PLAYER_NOTHING);
	ask(s, MODEL_MAIN, 1);
	assert_string_equal(buf_str(&s->seen), " 5c 6s 10y 10Sp 20!OBp 30Tp 31E");
}

static void test_requests_go_on(void **state)
{
	struct stage *s = *state;
	(void)s;
	for (int i = 0; i < 3; i++) {
		record_stream(s, 1);
		say(s, ROLE_ASSISTANT, "Hello");
		say(s, ROLE_USER, i ? "again" : "and again");
	}
	history_release(&s->history);
	s->history = (struct history)HISTORY_INIT;
	say(s, ROLE_USER, "go");
	open_player(s, true);
	for (int i = 0; i < 3; i++) {
		ask(s, MODEL_MAIN, 1);
		assert_true(s->end.complete);
		assert_string_equal(s->text, "Hello");
		assert_int_equal(recorded_unused(s->recorded), 2 - i);
		say(s, ROLE_ASSISTANT, "Hello");
		say(s, ROLE_USER, i ? "again" : "and again");
	}
	ask(s, MODEL_MAIN, 1);
	assert_int_equal(s->end.failure, MODEL_MISMATCH);
	assert_string_equal(s->message, "request 4 (main): the record holds 3 of this kind");
}

static void test_another_request_is_a_mismatch(void **state)
{
	struct stage *s = *state;

	record_stream(s, 1);
	say(s, ROLE_USER, "more");
	open_player(s, false);
	ask(s, MODEL_MAIN, 1);
	assert_string_equal(buf_str(&s->seen), " 0E");
	assert_int_equal(s->end.failure, MODEL_MISMATCH);
	assert_string_equal(s->message,
	                    "request 1 (main): messages[0].content[1]: nothing was recorded, "
	                    "{\"type\":\"text\",\"text\":\"more\",\"cache_control\":{\"type\":\"epheme... is asked");
}

static void test_attempts(void **state)
{
	struct stage *s = *state;
	const struct http_done refused = { MODEL_NETWORK, NET_CONNECT_REFUSED, "connection refused" };
	struct exchange x;

	exchange_init(&x);
	exchange_done(&x, 3, false, &refused);
	record(s, &x, MODEL_MAIN, 1, "");
	begin(&x, 529, "application/json");
	exchange_chunk(&x, 12, 2, false);
	exchange_done(&x, 12, false, &(struct http_done){ MODEL_FINE, NET_NONE, NULL });
	record(s, &x, MODEL_MAIN, 2, "{}");
	record_stream(s, 3);
	open_player(s, true);
	ask(s, MODEL_MAIN, 1);
	assert_string_equal(buf_str(&s->seen), " 3E");
	assert_int_equal(s->end.net, NET_CONNECT_REFUSED);
	assert_string_equal(s->message, "connection refused");
	ask(s, MODEL_MAIN, 2);
	assert_int_equal(s->end.http_status, 529);
	ask(s, MODEL_MAIN, 3);
	assert_true(s->end.complete);
	ask(s, MODEL_MAIN, 4);
	assert_string_equal(s->message, "request 1 (main, attempt 4): the record holds no such attempt");
}

/* A watchdog of the same run ends it before the record's end is reached; who waits longer learns that it is one. */
static void test_what_was_cancelled_does_not_go_on(void **state)
{
	struct stage *s = *state;
	struct model_request req = request(s, MODEL_MAIN, 1);
	struct error e = ERROR_INIT;
	struct exchange x;
	int64_t at = 0;

	begin(&x, 200, "text/event-stream");
	exchange_chunk(&x, 11, strlen(START), false);
	exchange_cancelled(&x, 300000);
	record(s, &x, MODEL_MAIN, 1, START);
	open_player(s, true);
	assert_int_equal(s->model->ops->start(s->model, &req, &e), 0);
	for (int i = 0; i < 4; i++)
		player_give(s->model);
	assert_int_equal(player_next(s->model, &at), PLAYER_END);
	assert_true(at > s->now + 300000);
	player_give(s->model);
	assert_int_equal(s->end.failure, MODEL_MISMATCH);
	assert_non_null(strstr(s->message, "the record ends in the middle"));
	/* and the owner's cancel is no end */
	buf_clear(&s->seen);
	recorded_free(s->recorded);
	s->recorded = recorded_new();
	assert_int_equal(player_next(s->model, &at), PLAYER_NOTHING);
	s->model->ops->cancel(s->model);
	assert_int_equal(s->seen.len, 0);
}

static void test_counting(void **state)
{
	struct stage *s = *state;
	struct exchange x;

	begin(&x, 200, "application/json");
	exchange_chunk(&x, 12, 19, false);
	exchange_done(&x, 12, false, &(struct http_done){ MODEL_FINE, NET_NONE, NULL });
	record(s, &x, MODEL_COUNT, 1, "{\"input_tokens\":77}");
	open_player(s, true);
	ask(s, MODEL_COUNT, 1);
	assert_true(s->end.complete);
	assert_int_equal(s->end.usage.input, 77);
}

/* The day of a date in retry-after is that of the record. */
static void test_a_date_of_then(void **state)
{
	struct stage *s = *state;
	struct answer_headers h = { .content_type = "application/json",
		                    .retry_after = "Sun, 06 Nov 1994 08:49:37 GMT" };
	struct exchange x;

	exchange_init(&x);
	exchange_head(&x, 0, 429, &h);
	exchange_chunk(&x, 0, 2, false);
	exchange_done(&x, 0, false, &(struct http_done){ MODEL_FINE, NET_NONE, NULL });
	record(s, &x, MODEL_MAIN, 1, "{}");
	/* asked seven seconds before it */
	exchange_init(&x);
	struct model_request req = request(s, MODEL_MAIN, 1);
	exchange_asked(&x, &req, &s->count);
	exchange_head(&x, 0, 429, &h);
	exchange_chunk(&x, 0, 2, false);
	exchange_done(&x, 0, false, &(struct http_done){ MODEL_FINE, NET_NONE, NULL });
	x.ordinal = 1;
	x.wall_ms = 784111770000;
	x.bytes = s->last[MODEL_MAIN].len;
	struct buf json = BUF_INIT(BUF_HUGE);
	assert_int_equal(exchange_write(&x, &json), 0);
	add_entry(s, "json", buf_str(&json), json.len);
	buf_release(&json);
	exchange_release(&x);
	open_player(s, true);
	ask(s, MODEL_MAIN, 1);
	assert_int_equal(s->end.retry_after_ms, 7000);
}

static void say_call(struct stage *s, const char *result)
{
	struct message *call = message_new(ROLE_ASSISTANT), *answer = message_new(ROLE_USER);

	history_release(&s->history);
	s->history = (struct history)HISTORY_INIT;
	say(s, ROLE_USER, "go");
	message_add(call, block_new_tool_use("t1", "Bash", "{}", 2));
	history_add(&s->history, call);
	message_add(answer, block_new_tool_result("t1", result, strlen(result), false));
	history_add(&s->history, answer);
}

static void test_other_results_are_told_once(void **state)
{
	struct stage *s = *state;

	say_call(s, "then");
	record_stream(s, 1);
	say(s, ROLE_ASSISTANT, "Hello");
	say(s, ROLE_USER, "again");
	record_stream(s, 1);
	say_call(s, "now");
	open_player(s, false);
	for (int i = 0; i < 2; i++) {
		ask(s, MODEL_MAIN, 1);
		assert_true(s->end.complete);
		assert_string_equal(
		        buf_str(&s->notice),
		        "replay_result_differs: request 1 (main): the result of call t1 is not the recorded "
		        "one: messages[2].content[0].content: 'then' was recorded, 'now' is asked\n");
		say(s, ROLE_ASSISTANT, "Hello");
		say(s, ROLE_USER, "again");
	}
}

static void test_a_bundle_that_is_not_whole(void **state)
{
	struct stage *s = *state;
	struct exchange x;
	struct error e = ERROR_INIT;

	record_stream(s, 1);
	s->entries = 2; /* without the answer: it was cut off there */
	add_entry(s, "request", "{}", 2);
	assert_int_equal(recorded_unused(s->recorded), 1);
	assert_int_equal(recorded_ordinals(s->recorded, MODEL_MAIN), 1);
	assert_int_equal(recorded_add(s->recorded, "exchanges/000003.json", "{", 1, &e), -1);
	assert_non_null(strstr(e.msg, "exchanges/000003.json"));
	assert_int_equal(recorded_add(s->recorded, "job.yaml", "{", 1, &e), 0);
	assert_int_equal(recorded_add(s->recorded, "exchanges/x.json", "{", 1, &e), 0);
	/* a request whose beginning stands in one that is not there */
	exchange_init(&x);
	x.prefix = 100;
	x.bytes = 200;
	memset(x.prefix_sha, '0', DIGEST_HEX);
	struct buf json = BUF_INIT(BUF_HUGE);
	struct model_request req = request(s, MODEL_COMPACT, 1);
	exchange_asked(&x, &req, &s->count);
	assert_int_equal(exchange_write(&x, &json), 0);
	s->entries = 4;
	add_entry(s, "request", "", 0);
	add_entry(s, "json", buf_str(&json), json.len);
	buf_release(&json);
	exchange_release(&x);
	open_player(s, false);
	assert_int_equal(s->model->ops->start(s->model, &req, &e), -1);
	assert_non_null(strstr(e.msg, "the record is not whole"));
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		T(test_an_answer_comes_as_it_came),
		T(test_requests_go_on),
		T(test_another_request_is_a_mismatch),
		T(test_attempts),
		T(test_what_was_cancelled_does_not_go_on),
		T(test_counting),
		T(test_a_date_of_then),
		T(test_other_results_are_told_once),
		T(test_a_bundle_that_is_not_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
