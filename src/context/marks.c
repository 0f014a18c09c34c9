/* The thresholds of a model's window. */
#include "context/context.h"

/* The sizes of what is kept and attached must come from something when nobody knows the window. */
#define ASSUMED_USABLE 24000
#define MESSAGE_BYTES  200000

static int64_t least(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* value % of whole without overflow; a mark that is on is at least one token. */
static int64_t percent(int64_t whole, int64_t value)
{
	int64_t v = whole / 100 * value + whole % 100 * value / 100;

	return v > 0 ? v : 1;
}

static int64_t resolve(const struct job_mark *m, int64_t usable, int64_t automatic)
{
	switch (m->kind) {
	case MARK_AUTO:
		return automatic;
	case MARK_PERCENT:
		return percent(usable, m->value);
	case MARK_TOKENS:
		return m->value > 0 ? m->value : 1;
	case MARK_OFF:
		break;
	}
	return 0;
}

struct row {
	const char *key;
	const struct job_mark *asked;
	int64_t tokens;
};

/* Marks that nobody asked for may fall together in a tiny window; what was asked for must make sense. */
static int check(const struct row *rows, size_t n, int64_t usable, struct error *e)
{
	const struct row *below = NULL;

	for (size_t i = 0; i < n; i++) {
		const struct row *r = &rows[i];
		if (!r->tokens)
			continue;
		if (r->tokens > usable)
			return error_set(
			        e, ERR_INPUT,
			        "context.%s: %lld tokens are more than the %lld that can be used of the window", r->key,
			        (long long)r->tokens, (long long)usable);
		bool automatic = below && below->asked->kind == MARK_AUTO && r->asked->kind == MARK_AUTO;
		if (below && (automatic ? below->tokens > r->tokens : below->tokens >= r->tokens))
			return error_set(
			        e, ERR_INPUT,
			        "context.%s: %lld tokens are not above context.%s, %lld tokens; raise it or lower the "
			        "other, or switch one off",
			        r->key, (long long)r->tokens, below->key, (long long)below->tokens);
		below = r;
	}
	return 0;
}

static size_t bytes(int64_t tokens, int64_t per)
{
	return tokens > INT64_MAX / per ? SIZE_MAX : (size_t)(tokens * per);
}

static void set_sizes(struct context_marks *m, int64_t usable)
{
	m->slack = usable / 5;
	m->keep_recent = least(20000, usable / 4);
	m->summary = least(20000, usable / 4);
	if (m->summary < 500)
		m->summary = 500;
	m->files_all = least(50000, usable / 8);
	m->file_each = least(5000, m->files_all);
}

int context_marks(const struct context_spec *spec, int64_t window, int64_t max_output, int bytes_per_token,
                  struct context_marks *out, struct error *e)
{
	*out = (struct context_marks){ .bytes_per_token = bytes_per_token > 0 ? bytes_per_token : 4,
		                       .result_bytes = SIZE_MAX,
		                       .message_bytes = MESSAGE_BYTES };
	out->window = spec->window > 0 ? spec->window : window > 0 ? window : 0;
	if (!out->window) {
		set_sizes(out, ASSUMED_USABLE);
		return 0;
	}
	int64_t answer = least(least(max_output > 0 ? max_output : 0, 20000), out->window / 4);
	int64_t usable = out->window - answer;
	const struct row rows[] = {
		{ "microcompact_at", &spec->microcompact, resolve(&spec->microcompact, usable, percent(usable, 60)) },
		{ "collapse_at", &spec->collapse, resolve(&spec->collapse, usable, percent(usable, 75)) },
		{ "snip_at", &spec->snip, resolve(&spec->snip, usable, 0) },
		{ "autocompact_at", &spec->autocompact,
		  resolve(&spec->autocompact, usable, usable - least(13000, usable / 8)) },
		{ "blocking_at", &spec->blocking, resolve(&spec->blocking, usable, usable - least(3000, usable / 32)) },
	};
	out->usable = usable;
	set_sizes(out, usable);
	out->result_bytes = bytes(usable / 4, out->bytes_per_token);
	if (bytes(usable / 2, out->bytes_per_token) < MESSAGE_BYTES)
		out->message_bytes = bytes(usable / 2, out->bytes_per_token);
	out->microcompact = rows[0].tokens;
	out->collapse = rows[1].tokens;
	out->snip = rows[2].tokens;
	out->autocompact = rows[3].tokens;
	out->blocking = rows[4].tokens;
	return check(rows, sizeof rows / sizeof rows[0], usable, e);
}
