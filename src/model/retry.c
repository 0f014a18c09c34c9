#include "model/retry.h"

#include <string.h>
#include <strings.h>

#define BACKOFF_BASE_MS     1000
#define BACKOFF_OVERLOAD_MS 5000 /* an overloaded service wants more air than a flaky one */
#define BACKOFF_CAP_MS      60000
#define JITTER              0.25
#define MAX_COSTLY          3 /* attempts in all that may have cost money */
#define MAX_UNREACHABLE     3 /* retries when nobody listens or the name is unknown */
#define MAX_NOT_STREAM      2 /* attempts in all that were answered by something else than a stream */

/* What one ended attempt means for the next one. */
struct class
{
	const char *category;
	bool retry;     /* the same request may work */
	bool transient; /* a later run may work */
	bool overload;
};

#define FATAL(category)                                                                                                \
	{                                                                                                              \
		category, false, false, false                                                                          \
	}
#define AGAIN(category)                                                                                                \
	{                                                                                                              \
		category, true, true, false                                                                            \
	}
#define OVERLOADED                                                                                                     \
	{                                                                                                              \
		"overloaded", true, true, true                                                                         \
	}
#define UNKNOWN_CATEGORY "unknown"

static const struct status_row {
	int status;
	const char *type; /* the API's error type for it, NULL if it has none of its own */
	struct class class;
} status_rows[] = {
	{ 400, "invalid_request_error", FATAL("invalid_request") },
	{ 401, "authentication_error", FATAL("authentication_failed") },
	{ 402, "billing_error", FATAL("billing_error") },
	{ 403, "permission_error", FATAL("authentication_failed") },
	{ 404, "not_found_error", FATAL("model_not_found") },
	{ 408, NULL, AGAIN("server_error") },
	{ 409, "conflict_error", AGAIN("server_error") },
	{ 413, "request_too_large", FATAL("invalid_request") },
	{ 429, "rate_limit_error", AGAIN("rate_limit") },
	{ 500, "api_error", AGAIN("server_error") },
	{ 501, NULL, FATAL("server_error") },
	{ 504, "timeout_error", AGAIN("server_error") },
	{ 529, "overloaded_error", OVERLOADED },
};

#define LENGTH(a) (sizeof(a) / sizeof *(a))

static bool is(const char *s, const char *what)
{
	return s && !strcmp(s, what);
}

static bool says(const struct model_end *end, const char *what)
{
	return end->message && strcasestr(end->message, what);
}

static bool has_code(const struct model_end *end, const char *code)
{
	return is(end->error_code, code) || is(end->error_type, code);
}

/* Money is gone or the account is closed: asking again cannot help and may be held against the user. */
static const char *account_trouble(const struct model_end *end)
{
	static const char *const codes[] = { "enforced_spend_limit_reached", "contract_spend_limit_reached",
		                             "billing_error", "insufficient_quota" };

	if (has_code(end, "organization_on_hold"))
		return "account_on_hold";
	for (size_t i = 0; i < LENGTH(codes); i++)
		if (has_code(end, codes[i]))
			return "billing_error";
	if (end->http_status == 402 || says(end, "credit balance is too low"))
		return "billing_error";
	/* The limit of the month looks like any 429, but names no time at which to come back. */
	bool names_time = end->retry_after_ms >= 0 || end->retry_after_junk;
	return !names_time && says(end, "you have reached your api usage limits") ? "billing_error" : NULL;
}

static struct class class_of_status(int status)
{
	for (size_t i = 0; i < LENGTH(status_rows); i++)
		if (status_rows[i].status == status)
			return status_rows[i].class;
	if (status >= 500)
		return (struct class)AGAIN("server_error");
	return (struct class)FATAL("invalid_request");
}

/* Inside a stream the status is 200 and says nothing; an error type that we do not know is the server's trouble. */
static struct class class_of_type(const struct model_end *end)
{
	for (size_t i = 0; i < LENGTH(status_rows); i++)
		if (is(end->error_type, status_rows[i].type ? status_rows[i].type : ""))
			return status_rows[i].class;
	return (struct class)AGAIN("server_error");
}

/* Servers say it by type, by status 529, or in words under some other status. */
static bool overloaded(const struct model_end *end)
{
	return has_code(end, "overloaded_error") || says(end, "overloaded");
}

static bool closed_for_good(int status)
{
	return status == 400 || status == 401 || status == 403 || status == 404 || status == 413;
}

static struct class class_of_http(const struct model_end *end)
{
	struct class c = class_of_status(end->http_status);

	if (c.retry && overloaded(end))
		c = (struct class)OVERLOADED;
	if (end->should_retry == 0) {
		c.retry = false;
	} else if (end->should_retry == 1 && !closed_for_good(end->http_status)) {
		c.retry = true;
		c.transient = true;
	}
	return c;
}

static struct class class_of_stream(const struct model_end *end)
{
	struct class c = class_of_type(end);

	return c.retry && overloaded(end) ? (struct class)OVERLOADED : c;
}

static struct class class_of_failure(const struct model_end *end)
{
	switch (end->failure) {
	case MODEL_HTTP:
		return class_of_http(end);
	case MODEL_STREAM_ERROR:
		return class_of_stream(end);
	case MODEL_NETWORK:
		return (struct class)AGAIN(UNKNOWN_CATEGORY);
	case MODEL_STREAM_CUT:
		return (struct class)AGAIN("server_error");
	case MODEL_NOT_STREAM:
		if (end->error_type)
			return class_of_stream(end);
		/* A portal or a wrong address: worth one more look, but no later run will find it better. */
		return (struct class){ "server_error", true, false, false };
	case MODEL_REFUSED_REQUEST:
		return (struct class)FATAL("invalid_request");
	case MODEL_FINE:
	case MODEL_MISMATCH:
		break;
	}
	return (struct class)FATAL(UNKNOWN_CATEGORY);
}

static struct class classify(const struct model_end *end, enum model_timeout timeout)
{
	if (timeout != TIMEOUT_NONE)
		return (struct class)AGAIN(timeout == TIMEOUT_CONNECT ? UNKNOWN_CATEGORY : "server_error");
	if (end->failure == MODEL_HTTP || end->failure == MODEL_STREAM_ERROR) {
		const char *trouble = account_trouble(end);
		if (trouble)
			return (struct class)FATAL(trouble);
	}
	return class_of_failure(end);
}

const char *retry_category(const struct model_end *end, enum model_timeout timeout)
{
	return classify(end, timeout).category;
}

/* Counts the attempt that just ended; true if one of its own limits is reached by it. */
static bool count_attempt(struct retry_count *count, const struct model_end *end, enum model_timeout timeout)
{
	bool spent = false;

	if (timeout != TIMEOUT_NONE || end->had_content)
		spent |= ++count->costly >= MAX_COSTLY;
	if (timeout != TIMEOUT_NONE)
		return spent;
	if (end->failure == MODEL_NOT_STREAM)
		spent |= ++count->not_stream >= MAX_NOT_STREAM;
	if (end->failure == MODEL_NETWORK && (end->net == NET_CONNECT_REFUSED || end->net == NET_UNKNOWN_HOST))
		spent |= ++count->unreachable > MAX_UNREACHABLE;
	return spent;
}

static int64_t backoff_ms(int retries, bool overload, double random01)
{
	int64_t ms = overload ? BACKOFF_OVERLOAD_MS : BACKOFF_BASE_MS;

	for (int i = 0; i < retries && ms < BACKOFF_CAP_MS; i++)
		ms *= 2;
	if (ms > BACKOFF_CAP_MS)
		ms = BACKOFF_CAP_MS;
	return ms - (int64_t)((double)ms * JITTER * random01);
}

/* The server's word is a lower bound; the jitter on top keeps a crowd that was told the same from coming at once. */
static int64_t obeyed_ms(int64_t retry_after, double random01, int64_t remaining_ms)
{
	int64_t spread = retry_after < BACKOFF_CAP_MS ? retry_after : BACKOFF_CAP_MS;
	int64_t ms = retry_after + (int64_t)((double)spread * JITTER * random01);

	return ms < remaining_ms ? ms : retry_after;
}

static struct retry_decision give_up(bool transient, int64_t retry_after_ms)
{
	return (struct retry_decision){ RETRY_GIVE_UP, 0, false, transient, retry_after_ms };
}

static struct retry_decision again(int64_t wait_ms, bool counted)
{
	return (struct retry_decision){ RETRY_AGAIN, wait_ms, counted, false, -1 };
}

struct retry_decision retry_decide(const struct retry_policy *policy, struct retry_count *count,
                                   const struct model_end *end, enum model_timeout timeout, double random01,
                                   int64_t remaining_ms)
{
	struct class c = classify(end, timeout);
	bool spent = count_attempt(count, end, timeout);

	if (!c.retry)
		return give_up(c.transient, -1);
	if (timeout == TIMEOUT_NONE && end->failure == MODEL_NETWORK && end->net == NET_DEAD_REUSED &&
	    !count->dead_reused) {
		count->dead_reused = true;
		return again(0, false);
	}
	if (spent || count->retries >= policy->max_retries)
		return give_up(c.transient, -1);

	int64_t asked = timeout == TIMEOUT_NONE ? end->retry_after_ms : -1;
	if (asked > policy->max_wait_ms || (asked > 0 && asked >= remaining_ms))
		return give_up(true, asked);
	/* "Come back at once" (0) from a server in trouble is no advice: our own backoff holds then. */
	int64_t wait = asked > 0 ? obeyed_ms(asked, random01, remaining_ms)
	                         : backoff_ms(count->retries, c.overload, random01);
	count->retries++;
	return again(wait, true);
}
