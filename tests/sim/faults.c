/* Answers that are none: what servers and networks do instead. */
#include "answers.h"

void fault_overload(struct writer *w)
{
	static const char *const said[] = { "http 529 overloaded_error Overloaded",
		                            "http 503 api_error the model is overloaded",
		                            "stream overloaded_error Overloaded",
		                            "http 529 overloaded_error Overloaded | retry-after 100" };

	put(w, "%s", said[sim_draw(w->s, w->s->calm ? 2 : LENGTH(said))]);
}

void fault_transient(struct writer *w)
{
	static const char *const said[] = {
		"http 500 api_error oops",
		"http 429 rate_limit_error slow | retry-after 2000",
		"refused",
		"html",
		"http 502 - bad gateway",
		"http 408 - timeout",
		"http 409 conflict_error conflict",
		"net unknown",
		"net dead",
		"net other",
		"http 429 rate_limit_error slow | retry-after 900000",
		"http 504 timeout_error slow | retry-after 0",
	};

	put(w, "%s", said[sim_draw(w->s, LENGTH(said))]);
}

void fault_fatal(struct writer *w)
{
	static const char *const said[] = {
		"http 400 invalid_request_error bad",
		"http 401 authentication_error no key",
		"http 402 billing_error no money",
		"http 403 permission_error no",
		"http 404 not_found_error no such model",
		"http 429 rate_limit_error You have reached your API usage limits",
		"http 501 - not implemented",
		"net tls",
		"http 400 invalid_request_error messages.3: tool_use ids were found without tool_result blocks",
	};

	put(w, "%s", said[sim_draw(w->s, LENGTH(said))]);
}

/* What is mended by leaving something out, or by less; a server may say it again and again. */
void fault_repair(struct writer *w)
{
	struct sim *s = w->s;
	static const char *const said[] = {
		"\"thinking.type.enabled\" is not supported for this model",
		"Invalid `signature` in `thinking` block",
		"blocks in the latest assistant message cannot be modified",
		"Unexpected value(s) `x` for the `anthropic-beta` header",
		"A maximum of 4 blocks with cache_control may be provided",
		"effort is not supported by this model",
		"temperature: Extra inputs are not permitted",
		"tool_choice: type is given and they are not supported",
	};
	size_t which = sim_draw(s, LENGTH(said) + 2);

	if (which < LENGTH(said)) {
		put(w, "http 400 invalid_request_error %s", said[which]);
		return;
	}
	if (which == LENGTH(said)) {
		long long cap = (long long)w->req->max_tokens;
		long long less = cap - 1 - (long long)sim_draw(s, (uint64_t)cap);
		put(w,
		    "http 400 invalid_request_error max_tokens: %lld > %lld, which is the maximum allowed number of "
		    "output tokens for sim",
		    cap, less);
		return;
	}
	fault_room(w);
}

/* Prompt and answer together do not fit. */
void fault_room(struct writer *w)
{
	long long cap = (long long)w->req->max_tokens, in = (long long)sim_count_tokens(w->s, w->req);
	long long less = cap - 1 - (long long)sim_draw(w->s, (uint64_t)cap);

	put(w,
	    "http 400 invalid_request_error input length and `max_tokens` exceed context limit: %lld + %lld > %lld, "
	    "decrease input length or `max_tokens` and try again",
	    in, cap, in + less);
}

void fault_image(struct writer *w)
{
	put(w, "http 400 invalid_request_error messages.7.content.2.image.source.base64.data: image exceeds 5 MB "
	       "maximum: 9 bytes > 5 bytes");
}

/* A server that refuses what would fit: the numbers may be of another world. */
void fault_too_long(struct writer *w)
{
	struct sim *s = w->s;
	long long in = (long long)sim_count_tokens(s, w->req);

	switch (sim_draw(s, 5)) {
	case 0:
		put(w, "http 400 invalid_request_error prompt is too long: %lld tokens > %lld maximum", in, in - 1);
		break;
	case 1:
		put(w, "http 400 invalid_request_error Prompt is too long");
		break;
	case 2:
		put(w, "http 413 - too large");
		break;
	case 3:
		put(w, "http 400 invalid_request_error prompt is too long: 5 tokens > 4 maximum");
		break;
	default:
		put(w, "http 400 invalid_request_error prompt is too long: 99999999999999999999 tokens > 0 maximum");
	}
}

void fault_mismatch(struct writer *w)
{
	put(w, "mismatch");
}
