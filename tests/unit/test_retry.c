#include "test.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "model/retry.h"

#define LENGTH(a) (sizeof(a) / sizeof *(a))

static const struct retry_policy policy = { 10, 300000 };

static struct model_end ended(enum model_failure failure, int status)
{
	return (struct model_end){ .failure = failure,
		                   .http_status = status,
		                   .usage = USAGE_UNKNOWN,
		                   .message = "it failed",
		                   .retry_after_ms = -1,
		                   .should_retry = -1 };
}

static struct retry_decision decide(struct retry_count *count, const struct model_end *end)
{
	return retry_decide(&policy, count, end, TIMEOUT_NONE, 0.0, CLOCK_NEVER);
}

static struct retry_decision first_decision(const struct model_end *end)
{
	struct retry_count count = { 0 };

	return decide(&count, end);
}

static void every_status_has_its_rule(void **state)
{
	static const struct {
		int status;
		bool again, transient;
		const char *category;
	} rows[] = {
		{ 400, false, false, "invalid_request" }, { 401, false, false, "authentication_failed" },
		{ 402, false, false, "billing_error" },   { 403, false, false, "authentication_failed" },
		{ 404, false, false, "model_not_found" }, { 405, false, false, "invalid_request" },
		{ 408, true, true, "server_error" },      { 409, true, true, "server_error" },
		{ 413, false, false, "invalid_request" }, { 422, false, false, "invalid_request" },
		{ 429, true, true, "rate_limit" },        { 499, false, false, "invalid_request" },
		{ 500, true, true, "server_error" },      { 501, false, false, "server_error" },
		{ 502, true, true, "server_error" },      { 503, true, true, "server_error" },
		{ 504, true, true, "server_error" },      { 520, true, true, "server_error" },
		{ 529, true, true, "overloaded" },        { 599, true, true, "server_error" },
	};
	(void)state;
	for (size_t i = 0; i < LENGTH(rows); i++) {
		struct model_end end = ended(MODEL_HTTP, rows[i].status);
		struct retry_decision d = first_decision(&end);
		assert_int_equal(d.verdict, rows[i].again ? RETRY_AGAIN : RETRY_GIVE_UP);
		assert_string_equal(retry_category(&end, TIMEOUT_NONE), rows[i].category);
		/* With retries off the same end says whether a later run may work. */
		struct retry_policy off = { 0, 300000 };
		struct retry_count count = { 0 };
		d = retry_decide(&off, &count, &end, TIMEOUT_NONE, 0, CLOCK_NEVER);
		assert_int_equal(d.verdict, RETRY_GIVE_UP);
		assert_int_equal(d.transient, rows[i].transient);
		assert_int_equal(d.retry_after_ms, -1);
	}
}

static void every_failure_has_its_rule(void **state)
{
	static const struct {
		enum model_failure failure;
		enum model_net net;
		const char *type;
		bool again;
		const char *category;
	} rows[] = {
		{ MODEL_NETWORK, NET_OTHER, NULL, true, "unknown" },
		{ MODEL_NETWORK, NET_CONNECT_REFUSED, NULL, true, "unknown" },
		{ MODEL_NETWORK, NET_UNKNOWN_HOST, NULL, true, "unknown" },
		{ MODEL_NETWORK, NET_TLS, NULL, true, "unknown" },
		{ MODEL_STREAM_CUT, NET_NONE, NULL, true, "server_error" },
		{ MODEL_STREAM_ERROR, NET_NONE, "overloaded_error", true, "overloaded" },
		{ MODEL_STREAM_ERROR, NET_NONE, "api_error", true, "server_error" },
		{ MODEL_STREAM_ERROR, NET_NONE, "timeout_error", true, "server_error" },
		{ MODEL_STREAM_ERROR, NET_NONE, "rate_limit_error", true, "rate_limit" },
		{ MODEL_STREAM_ERROR, NET_NONE, "stream_error", true, "server_error" },
		{ MODEL_STREAM_ERROR, NET_NONE, NULL, true, "server_error" },
		{ MODEL_STREAM_ERROR, NET_NONE, "", true, "server_error" },
		{ MODEL_STREAM_ERROR, NET_NONE, "invalid_request_error", false, "invalid_request" },
		{ MODEL_STREAM_ERROR, NET_NONE, "authentication_error", false, "authentication_failed" },
		{ MODEL_STREAM_ERROR, NET_NONE, "billing_error", false, "billing_error" },
		{ MODEL_NOT_STREAM, NET_NONE, NULL, true, "server_error" },
		{ MODEL_NOT_STREAM, NET_NONE, "overloaded_error", true, "overloaded" },
		{ MODEL_MISMATCH, NET_NONE, NULL, false, "unknown" },
		{ MODEL_REFUSED_REQUEST, NET_TLS, NULL, false, "invalid_request" },
		{ MODEL_FINE, NET_NONE, NULL, false, "unknown" },
	};
	(void)state;
	for (size_t i = 0; i < LENGTH(rows); i++) {
		struct model_end end = ended(rows[i].failure, 0);
		end.net = rows[i].net;
		end.error_type = rows[i].type;
		struct retry_decision d = first_decision(&end);
		assert_int_equal(d.verdict, rows[i].again ? RETRY_AGAIN : RETRY_GIVE_UP);
		assert_string_equal(retry_category(&end, TIMEOUT_NONE), rows[i].category);
		if (!rows[i].again)
			assert_false(d.transient);
	}
}

static void backoff_doubles_up_to_its_cap(void **state)
{
	static const int64_t plain[] = { 1000, 2000, 4000, 8000, 16000, 32000, 60000, 60000, 60000, 60000 };
	static const int64_t loaded[] = { 5000, 10000, 20000, 40000, 60000, 60000, 60000, 60000, 60000, 60000 };
	(void)state;
	for (int overload = 0; overload < 2; overload++) {
		struct model_end end = ended(MODEL_HTTP, overload ? 529 : 500);
		struct retry_count count = { 0 };
		for (int i = 0; i < 10; i++) {
			struct retry_decision d = decide(&count, &end);
			assert_int_equal(d.verdict, RETRY_AGAIN);
			assert_true(d.counted);
			assert_int_equal(d.wait_ms, overload ? loaded[i] : plain[i]);
			assert_int_equal(count.retries, i + 1);
		}
		struct retry_decision d = decide(&count, &end);
		assert_int_equal(d.verdict, RETRY_GIVE_UP);
		assert_true(d.transient);
		assert_int_equal(count.retries, 10);
	}
}

static void jitter_takes_at_most_a_quarter(void **state)
{
	struct model_end end = ended(MODEL_HTTP, 503);
	(void)state;
	for (int i = 0; i < 100; i++) {
		struct retry_count count = { 0 };
		struct retry_decision d = retry_decide(&policy, &count, &end, TIMEOUT_NONE, (double)i / 100,
		                                       CLOCK_NEVER);
		assert_in_range(d.wait_ms, 750, 1000);
	}
	struct retry_count huge = { .retries = 1000 };
	struct retry_policy patient = { 100000, 300000 };
	assert_int_equal(retry_decide(&patient, &huge, &end, TIMEOUT_NONE, 0, CLOCK_NEVER).wait_ms, 60000);
}

static void retry_after_is_obeyed_with_jitter_on_top(void **state)
{
	static const int64_t asked[] = { 1, 1500, 2000, 60000, 299999, 300000 };
	(void)state;
	for (size_t i = 0; i < LENGTH(asked); i++) {
		struct model_end end = ended(MODEL_HTTP, 429);
		end.retry_after_ms = asked[i];
		for (int j = 0; j < 10; j++) {
			struct retry_count count = { 0 };
			struct retry_decision d = retry_decide(&policy, &count, &end, TIMEOUT_NONE, j / 10.0,
			                                       CLOCK_NEVER);
			assert_int_equal(d.verdict, RETRY_AGAIN);
			assert_true(d.wait_ms >= asked[i]);
			assert_true(d.wait_ms <= asked[i] + asked[i] / 4 && d.wait_ms <= asked[i] + 15000);
		}
	}
}

static void retry_after_of_zero_means_own_backoff(void **state)
{
	struct model_end end = ended(MODEL_HTTP, 529);
	(void)state;
	end.retry_after_ms = 0;
	assert_int_equal(first_decision(&end).wait_ms, 5000);
}

static void retry_after_beyond_patience_ends_transient(void **state)
{
	struct model_end end = ended(MODEL_HTTP, 429);
	(void)state;
	end.retry_after_ms = 300001;
	struct retry_decision d = first_decision(&end);
	assert_int_equal(d.verdict, RETRY_GIVE_UP);
	assert_true(d.transient);
	assert_int_equal(d.retry_after_ms, 300001);

	end.retry_after_ms = 20000; /* the deadline comes first */
	struct retry_count count = { 0 };
	d = retry_decide(&policy, &count, &end, TIMEOUT_NONE, 0.9, 20000);
	assert_int_equal(d.verdict, RETRY_GIVE_UP);
	assert_true(d.transient);
	assert_int_equal(d.retry_after_ms, 20000);

	count = (struct retry_count){ 0 }; /* just in time: the jitter must not push it past the deadline */
	d = retry_decide(&policy, &count, &end, TIMEOUT_NONE, 0.9, 20001);
	assert_int_equal(d.verdict, RETRY_AGAIN);
	assert_int_equal(d.wait_ms, 20000);

	end.retry_after_ms = INT64_MAX;
	assert_int_equal(first_decision(&end).retry_after_ms, INT64_MAX);
}

static void x_should_retry_is_obeyed_within_bounds(void **state)
{
	static const struct {
		int status, said;
		bool again;
	} rows[] = {
		{ 529, 0, false }, { 500, 0, false }, { 429, 0, false }, { 422, 1, true },  { 501, 1, true },
		{ 418, 1, true },  { 400, 1, false }, { 401, 1, false }, { 403, 1, false }, { 404, 1, false },
		{ 413, 1, false }, { 402, 1, false }, { 500, 1, true },
	};
	(void)state;
	for (size_t i = 0; i < LENGTH(rows); i++) {
		struct model_end end = ended(MODEL_HTTP, rows[i].status);
		end.should_retry = rows[i].said;
		struct retry_decision d = first_decision(&end);
		assert_int_equal(d.verdict, rows[i].again ? RETRY_AGAIN : RETRY_GIVE_UP);
		if (rows[i].said == 0)
			assert_true(d.transient); /* not now, but the kind of error passes */
	}
}

static void spent_credit_is_never_retried(void **state)
{
	static const struct {
		int status;
		const char *type, *code, *message, *category;
	} rows[] = {
		{ 400, "invalid_request_error", NULL, "Your credit balance is too low", "billing_error" },
		{ 402, "billing_error", NULL, "pay first", "billing_error" },
		{ 429, "rate_limit_error", "enforced_spend_limit_reached", "stop", "billing_error" },
		{ 429, "rate_limit_error", "contract_spend_limit_reached", "stop", "billing_error" },
		{ 429, "rate_limit_error", NULL, "You have reached your API usage limits.", "billing_error" },
		{ 429, "insufficient_quota", NULL, "check your plan", "billing_error" },
		{ 429, NULL, "insufficient_quota", "check your plan", "billing_error" },
		{ 503, NULL, "organization_on_hold", "on hold", "account_on_hold" },
	};
	(void)state;
	for (size_t i = 0; i < LENGTH(rows); i++) {
		for (int said = -1; said <= 1; said++) {
			struct model_end end = ended(MODEL_HTTP, rows[i].status);
			end.error_type = rows[i].type;
			end.error_code = rows[i].code;
			end.message = rows[i].message;
			end.should_retry = said;
			struct retry_decision d = first_decision(&end);
			assert_int_equal(d.verdict, RETRY_GIVE_UP);
			assert_false(d.transient);
			assert_string_equal(retry_category(&end, TIMEOUT_NONE), rows[i].category);
		}
	}
}

static void limits_that_pass_are_retried(void **state)
{
	struct model_end end = ended(MODEL_HTTP, 429);
	(void)state;
	end.error_code = "ramp_limit_exceeded";
	end.retry_after_ms = 3000;
	assert_int_equal(first_decision(&end).verdict, RETRY_AGAIN);
	end.error_code = NULL;
	end.message = "You have reached your API usage limits";
	assert_int_equal(first_decision(&end).verdict, RETRY_AGAIN); /* it names a time */
	end = ended(MODEL_HTTP, 529);
	end.error_code = "compaction_unavailable";
	assert_int_equal(first_decision(&end).verdict, RETRY_AGAIN);
}

static int tries_until_give_up(const struct model_end *end, enum model_timeout timeout, bool *transient)
{
	struct retry_count count = { 0 };

	for (int tries = 1; tries < 1000; tries++) {
		struct retry_decision d = retry_decide(&policy, &count, end, timeout, 0.5, CLOCK_NEVER);
		*transient = d.transient;
		if (d.verdict == RETRY_GIVE_UP)
			return tries;
	}
	return -1;
}

static void each_kind_has_its_own_limit(void **state)
{
	bool transient;
	struct model_end end = ended(MODEL_NETWORK, 0);
	(void)state;
	end.net = NET_OTHER;
	assert_int_equal(tries_until_give_up(&end, TIMEOUT_NONE, &transient), 11);
	assert_true(transient);
	end.net = NET_CONNECT_REFUSED;
	assert_int_equal(tries_until_give_up(&end, TIMEOUT_NONE, &transient), 4);
	assert_true(transient);
	end.net = NET_UNKNOWN_HOST;
	assert_int_equal(tries_until_give_up(&end, TIMEOUT_NONE, &transient), 4);

	end = ended(MODEL_STREAM_CUT, 200);
	assert_int_equal(tries_until_give_up(&end, TIMEOUT_NONE, &transient), 11);
	end.had_content = true;
	assert_int_equal(tries_until_give_up(&end, TIMEOUT_NONE, &transient), 3);
	assert_true(transient);

	end = ended(MODEL_NOT_STREAM, 200);
	assert_int_equal(tries_until_give_up(&end, TIMEOUT_NONE, &transient), 2);
	assert_false(transient);

	end = ended(MODEL_FINE, 0);
	for (int t = TIMEOUT_CONNECT; t <= TIMEOUT_PROGRESS; t++) {
		assert_int_equal(tries_until_give_up(&end, (enum model_timeout)t, &transient), 3);
		assert_true(transient);
		assert_string_equal(retry_category(&end, (enum model_timeout)t),
		                    t == TIMEOUT_CONNECT ? "unknown" : "server_error");
	}
}

static void dead_reused_connection_is_repeated_once_uncounted(void **state)
{
	struct model_end end = ended(MODEL_NETWORK, 0);
	struct retry_count count = { 0 };
	(void)state;
	end.net = NET_DEAD_REUSED;
	struct retry_decision d = decide(&count, &end);
	assert_int_equal(d.verdict, RETRY_AGAIN);
	assert_false(d.counted);
	assert_int_equal(d.wait_ms, 0);
	assert_int_equal(count.retries, 0);
	d = decide(&count, &end);
	assert_true(d.counted);
	assert_int_equal(d.wait_ms, 1000);
	assert_int_equal(count.retries, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_status_has_its_rule),
		cmocka_unit_test(every_failure_has_its_rule),
		cmocka_unit_test(backoff_doubles_up_to_its_cap),
		cmocka_unit_test(jitter_takes_at_most_a_quarter),
		cmocka_unit_test(retry_after_is_obeyed_with_jitter_on_top),
		cmocka_unit_test(retry_after_of_zero_means_own_backoff),
		cmocka_unit_test(retry_after_beyond_patience_ends_transient),
		cmocka_unit_test(x_should_retry_is_obeyed_within_bounds),
		cmocka_unit_test(spent_credit_is_never_retried),
		cmocka_unit_test(limits_that_pass_are_retried),
		cmocka_unit_test(each_kind_has_its_own_limit),
		cmocka_unit_test(dead_reused_connection_is_repeated_once_uncounted),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
