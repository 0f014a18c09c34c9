/* An exchange as a bundle holds it: what is written is what is read, and what cannot be is refused. */
#include "model/exchange.h"
#include "test.h"

#include <string.h>

static void test_places(void **state)
{
	static const struct {
		enum model_kind kind;
		int attempt, ordinal;
	} rows[] = { { MODEL_MAIN, 1, 1 },  { MODEL_MAIN, 1, 2 },    { MODEL_COUNT, 1, 1 },   { MODEL_MAIN, 2, 2 },
		     { MODEL_MAIN, 3, 2 },  { MODEL_COMPACT, 0, 1 }, { MODEL_COMPACT, 2, 1 }, { MODEL_MAIN, 1, 3 },
		     { MODEL_COUNT, 1, 2 }, { MODEL_SUMMARY, 1, 1 } };
	struct exchange_count count = { { 0 } };

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		const struct model_request req = { .kind = rows[i].kind, .model = "m", .attempt = rows[i].attempt };
		struct exchange x;
		exchange_init(&x);
		exchange_asked(&x, &req, &count);
		assert_int_equal(x.ordinal, rows[i].ordinal);
		assert_int_equal(x.attempt, rows[i].attempt ? rows[i].attempt : 1);
		assert_int_equal(x.kind, rows[i].kind);
		exchange_release(&x);
	}
}

/* Writes it, reads it, and writes what was read: the same bytes. */
static void check_round(const struct exchange *x, struct exchange *again)
{
	struct buf one = BUF_INIT(1 << 20), two = BUF_INIT(1 << 20);
	struct error e = ERROR_INIT;

	assert_int_equal(exchange_write(x, &one), 0);
	if (exchange_read(again, buf_str(&one), one.len, &e))
		fail_msg("%s: %s", e.msg, buf_str(&one));
	assert_int_equal(exchange_write(again, &two), 0);
	assert_string_equal(buf_str(&one), buf_str(&two));
	buf_release(&one);
	buf_release(&two);
}

static void test_a_stream(void **state)
{
	const struct answer_headers sent = { .content_type = "text/event-stream", .request_id = "req_\"1\"" };
	const struct http_done done = { MODEL_NETWORK, NET_OTHER, "connection reset" };
	const struct model_request req = { .kind = MODEL_MAIN, .model = "claude-x", .attempt = 2 };
	struct exchange_count count = { { 0 } };
	struct answer_headers got;
	struct exchange x, y;

	(void)state;
	exchange_init(&x);
	exchange_asked(&x, &req, &count);
	x.run = 3;
	x.bytes = 1000;
	x.prefix = 900;
	digest_of("abc", 3, x.prefix_sha);
	exchange_phase(&x, 1, PHASE_CONNECTED);
	exchange_phase(&x, 2, PHASE_SENT);
	exchange_phase(&x, 9, PHASE_BYTES);
	exchange_head(&x, 10, 200, &sent);
	exchange_chunk(&x, 10, 5, false);
	exchange_chunk(&x, 10, 6, false); /* joins the one before */
	exchange_chunk(&x, 10, 7, true);
	exchange_chunk(&x, 11, 8, false);
	exchange_done(&x, 12, true, &done);
	check_round(&x, &y);
	exchange_headers(&y, &got);
	assert_string_equal(got.content_type, sent.content_type);
	assert_string_equal(got.request_id, sent.request_id);
	assert_null(got.retry_after);
	assert_int_equal(y.run, 3);
	assert_int_equal(y.attempt, 2);
	assert_int_equal(y.prefix, 900);
	assert_int_equal(y.connected_ms, 1);
	assert_int_equal(y.sent_ms, 2);
	assert_int_equal(y.nchunks, 3);
	assert_int_equal(y.chunks[0].n, 11);
	assert_false(y.chunks[0].apart);
	assert_true(y.chunks[1].apart);
	assert_int_equal(y.chunks[2].ms, 11);
	assert_int_equal(y.answer_bytes, 26);
	assert_int_equal(y.end, EXCHANGE_DONE);
	assert_true(y.end_apart);
	assert_int_equal(y.failure, MODEL_NETWORK);
	assert_int_equal(y.net, NET_OTHER);
	assert_string_equal(y.message, "connection reset");
	exchange_release(&x);
	exchange_release(&y);
}

static void test_without_an_answer(void **state)
{
	const struct model_request req = { .kind = MODEL_COUNT, .model = "m", .attempt = 1 };
	struct exchange_count count = { { 0 } };
	struct exchange x, y;

	(void)state;
	exchange_init(&x);
	exchange_asked(&x, &req, &count);
	check_round(&x, &y);
	assert_int_equal(y.end, EXCHANGE_OPEN);
	assert_int_equal(y.head_ms, -1);
	exchange_release(&y);
	exchange_cancelled(&x, 30000);
	check_round(&x, &y);
	assert_int_equal(y.end, EXCHANGE_CANCELLED);
	assert_int_equal(y.end_ms, 30000);
	assert_int_equal(y.sent_ms, -1);
	exchange_release(&x);
	exchange_release(&y);
}

static void test_many_chunks(void **state)
{
	const struct model_request req = { .kind = MODEL_MAIN, .model = "m", .attempt = 1 };
	struct exchange_count count = { { 0 } };
	struct exchange x, y;

	(void)state;
	exchange_init(&x);
	exchange_asked(&x, &req, &count);
	for (int i = 0; i < 1000; i++)
		exchange_chunk(&x, i, (size_t)i, i % 3 == 0);
	check_round(&x, &y);
	assert_int_equal(y.nchunks, 1000);
	assert_int_equal(y.answer_bytes, 499500);
	exchange_release(&x);
	exchange_release(&y);
}

#define BEGIN                                                                                                          \
	"{\"run\":1,\"kind\":\"main\",\"ordinal\":1,\"attempt\":1,\"model\":\"m\",\"wall_ms\":1,"                      \
	"\"request\":{\"bytes\":9,\"prefix\":0}"

static const struct {
	const char *text, *names;
} bad[] = {
	{ "", "offset 0" },
	{ "[]", "'run'" },
	{ "{\"run\":0}", "'run'" },
	{ "{\"run\":1,\"kind\":\"other\"}", "'kind'" },
	{ "{\"run\":1,\"ordinal\":1,\"attempt\":1,\"model\":\"m\"}", "'kind'" },
	{ BEGIN ",\"chunks\":[[1]]}", "'chunks'" },
	{ BEGIN ",\"chunks\":[[-1,2]]}", "'chunks'" },
	{ BEGIN ",\"chunks\":[[1,-2]]}", "'chunks'" },
	{ BEGIN ",\"chunks\":[[1,2,3]]}", "'chunks'" },
	{ BEGIN ",\"chunks\":[[1,1073741824],[1,1073741824]]}", "'chunks'" },
	{ BEGIN ",\"chunks\":[4]}", "'chunks'" },
	{ BEGIN ",\"head_ms\":1}", "'status'" },
	{ BEGIN ",\"head_ms\":1,\"status\":200,\"headers\":{\"content-type\":7}}", "'content-type'" },
	{ BEGIN ",\"end\":\"gone\"}", "'end'" },
	{ BEGIN ",\"end\":\"done\"}", "'end_ms'" },
	{ BEGIN ",\"end\":\"done\",\"end_ms\":9223372036854775807}", "'end_ms'" },
	{ BEGIN ",\"head_ms\":562949953421312,\"status\":200}", "'head_ms'" },
	{ BEGIN ",\"end\":\"done\",\"end_ms\":1,\"failure\":\"network\"}", "'message'" },
	{ BEGIN ",\"end\":\"done\",\"end_ms\":1,\"failure\":\"x\",\"message\":\"m\"}", "'failure'" },
	{ "{\"run\":1,\"kind\":\"main\",\"ordinal\":1,\"attempt\":1,\"model\":\"m\",\"wall_ms\":1,"
	  "\"request\":{\"bytes\":9,\"prefix\":10}}",
	  "'prefix'" },
	{ "{\"run\":1,\"kind\":\"main\",\"ordinal\":1,\"attempt\":1,\"model\":\"m\",\"wall_ms\":1,"
	  "\"request\":{\"bytes\":9,\"prefix\":8,\"prefix_sha256\":\"00\"}}",
	  "'prefix_sha256'" },
};

static void test_what_cannot_be(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct exchange x;
		struct error e = ERROR_INIT;
		if (!exchange_read(&x, bad[i].text, strlen(bad[i].text), &e))
			fail_msg("taken: %s", bad[i].text);
		if (!strstr(e.msg, bad[i].names))
			fail_msg("%s: %s", bad[i].text, e.msg);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_places),
		cmocka_unit_test(test_a_stream),
		cmocka_unit_test(test_without_an_answer),
		cmocka_unit_test(test_many_chunks),
		cmocka_unit_test(test_what_cannot_be),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
