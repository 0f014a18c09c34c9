/* Token use and the estimate. Counts come from servers, so every sum saturates. */
#include "message/message.h"

static int64_t told(int64_t v)
{
	return v > 0 ? v : 0;
}

/* a + b of two values that are not negative. */
static int64_t plus(int64_t a, int64_t b)
{
	return a > INT64_MAX - b ? INT64_MAX : a + b;
}

static void add(int64_t *total, int64_t v)
{
	if (*total < 0 && v < 0)
		return; /* not told so far: stays unknown */
	*total = plus(told(*total), told(v));
}

void usage_add(struct usage *sum, const struct usage *u)
{
	add(&sum->input, u->input);
	add(&sum->output, u->output);
	add(&sum->cache_creation, u->cache_creation);
	add(&sum->cache_read, u->cache_read);
	add(&sum->creation_5m, u->creation_5m);
	add(&sum->creation_1h, u->creation_1h);
	add(&sum->web_searches, u->web_searches);
	sum->fast |= u->fast;
}

int64_t usage_total(const struct usage *u)
{
	int64_t in = plus(told(u->input), told(u->cache_creation));

	return plus(plus(in, told(u->cache_read)), told(u->output));
}

void estimate_anchor(struct estimate *est, const struct usage *u, const struct history *h)
{
	int64_t total = usage_total(u);

	/* some servers tell the output alone, or send zeros */
	if (u->input < 0 || total == 0)
		return;
	est->anchor_tokens = total < TOKENS_MOST ? total : TOKENS_MOST;
	est->anchor_bytes = h->weight;
}

static int64_t to_tokens(size_t bytes, int ratio)
{
	size_t per = ratio > 0 ? (size_t)ratio : 4;

	return (int64_t)(bytes / per + (bytes % per ? 1 : 0));
}

static int64_t bounded_sum(int64_t a, int64_t b)
{
	return plus(a, b) < TOKENS_MOST ? a + b : TOKENS_MOST;
}

int64_t estimate_tokens(const struct estimate *est, const struct history *h, size_t fixed_bytes)
{
	if (est->anchor_tokens < 0)
		return bounded_sum(to_tokens(h->weight, est->bytes_per_token),
		                   to_tokens(fixed_bytes, est->bytes_per_token));
	if (h->weight >= est->anchor_bytes)
		return bounded_sum(est->anchor_tokens, to_tokens(h->weight - est->anchor_bytes, est->bytes_per_token));
	/* an edit took something away since */
	int64_t freed = to_tokens(est->anchor_bytes - h->weight, est->bytes_per_token);
	return est->anchor_tokens > freed ? est->anchor_tokens - freed : 0;
}

/* Later words overwrite earlier ones, they are totals; what is absent, negative or no number that fits says nothing. */
static void set_count(const struct json *doc, int usage, const char *path, int64_t *count)
{
	int64_t v;

	if (json_int(doc, json_path(doc, usage, path), &v) && v >= 0)
		*count = v;
}

void usage_read(struct usage *u, const struct json *doc, int tok)
{
	if (json_type(doc, tok) != JSON_OBJECT)
		return;
	set_count(doc, tok, "input_tokens", &u->input);
	set_count(doc, tok, "output_tokens", &u->output);
	set_count(doc, tok, "cache_creation_input_tokens", &u->cache_creation);
	set_count(doc, tok, "cache_read_input_tokens", &u->cache_read);
	set_count(doc, tok, "cache_creation.ephemeral_5m_input_tokens", &u->creation_5m);
	set_count(doc, tok, "cache_creation.ephemeral_1h_input_tokens", &u->creation_1h);
	set_count(doc, tok, "server_tool_use.web_search_requests", &u->web_searches);
	int speed = json_get(doc, tok, "speed");
	if (!json_absent(doc, speed))
		u->fast = json_eq(doc, speed, "fast");
}
