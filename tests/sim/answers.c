/* Random answers to each kind of call, drawn by the moods of the run. */
#include "answers.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void put(struct writer *w, const char *fmt, ...)
{
	va_list ap;

	if (w->n + 1 >= w->max)
		return;
	if (w->n)
		w->n += (size_t)snprintf(w->line + w->n, w->max - w->n, " | ");
	va_start(ap, fmt);
	w->n += (size_t)vsnprintf(w->line + w->n, w->max - w->n, fmt, ap);
	va_end(ap);
}

/* ---- pieces ---- */

/* Sizes that matter in the window there is. */
static unsigned draw_size(struct sim *s)
{
	int64_t window = s->cfg.context.window ? s->cfg.context.window
	                 : s->window           ? s->window
	                 : s->cfg.row->window  ? s->cfg.row->window
	                                       : 8000;
	int64_t bytes = window < 30000 ? window * 4 : 120000;
	static const int64_t parts[] = { 1000, 200, 50, 20, 10, 5, 2, 1 };

	if (s->moods.fills)
		return (unsigned)(bytes / parts[5 + sim_draw(s, 3)]);
	if (s->moods.absurd_from) /* each is smaller than the one before: a compaction drops few */
		return (unsigned)(bytes >> (s->requests < 10 ? s->requests + 1 : 11));
	return (unsigned)(bytes / parts[sim_draw(s, s->moods.sizes ? s->moods.sizes : 4)]);
}

/* What a server that was waited for goes on with. */
static void put_served(struct writer *w)
{
	const struct history *h = w->req->messages;
	char ids[1][64];

	if (w->req->kind == MODEL_MAIN && h->n > 1 && sim_open_server_calls(h, h->n - 1 - h->n % 2, ids, 1) &&
	    sim_draw(w->s, 4))
		put(w, "served");
}

static void put_usage(struct writer *w)
{
	struct sim *s = w->s;
	long long in = (long long)sim_count_tokens(s, w->req);
	uint64_t out = sim_draw(s, 300);

	switch (s->moods.absurd_from && s->requests >= s->moods.absurd_from ? 15 : s->window ? sim_draw(s, 16) : 12) {
	case 12:
		put(w, "usage %d %d", (int)sim_draw(s, 300), (int)sim_draw(s, 50));
		break;
	case 13:
		put(w, "usage 0 0");
		break;
	case 14:
		put(w, "usage -1 -1");
		break;
	case 15:
		put(w, "usage %lld %lld", in * (long long)(1 + sim_draw(s, 1000)), (long long)out);
		break;
	default:
		put(w, "usage %lld %lld", in, (long long)out);
	}
	put_served(w);
}

static void put_pause(struct writer *w)
{
	if (!sim_one_in(w->s, 4))
		return;
	if (sim_one_in(w->s, 3))
		put(w, "ping");
	else
		put(w, "after %u", (unsigned)sim_draw(w->s, 4000));
}

static void put_words(struct writer *w)
{
	switch (sim_draw(w->s, 8)) {
	default:
		put(w, "text word%u", (unsigned)sim_draw(w->s, 100));
		break;
	case 4:
		put(w, "big %u", draw_size(w->s));
		break;
	case 5:
		put(w, w->partial ? "thinking partial" : "thinking hm");
		break;
	case 6:
		put(w, w->partial ? "unsigned partial" : "unsigned hm");
		break;
	case 7:
		put(w, sim_draw(w->s, 2) ? "redacted" : "text  ");
		break;
	}
}

static void put_call(struct writer *w)
{
	static const char *const tools[] = {
		"SafeA", "SafeB", "UnsafeA", "UnsafeB", "Fail", "Unknown", "Deny", "Refuse"
	};
	struct sim *s = w->s;
	char extra[128] = "", mark[32];

	if (sim_one_in(s, 20)) {
		put(w, "bad SafeA b%u {\"x", (unsigned)sim_draw(s, 20));
		return;
	}
	if (s->moods.large || sim_one_in(s, 3))
		snprintf(extra, sizeof extra, ",\"size\":%u%s", draw_size(s), sim_one_in(s, 8) ? ",\"binary\":1" : "");
	else if (sim_one_in(s, 20))
		snprintf(extra, sizeof extra, ",\"image\":1");
	else if (sim_one_in(s, 20) && !s->calm)
		snprintf(extra, sizeof extra, ",\"undead\":1");
	size_t n = strlen(extra);
	if (s->moods.context && sim_one_in(s, s->moods.context))
		n += (size_t)snprintf(extra + n, sizeof extra - n, ",\"mark\":%d",
		                      atoi(sim_mark(s, mark, sizeof mark) + 6));
	if (s->moods.ends && sim_one_in(s, s->moods.ends))
		snprintf(extra + n, sizeof extra - n, ",\"ends\":\"enough\"");
	put(w, "use %s t%u {\"ms\":%u%s}", tools[sim_draw(s, LENGTH(tools))], (unsigned)sim_draw(s, 40),
	    (unsigned)sim_draw(s, 3000), extra);
}

static void put_blocks(struct writer *w, uint64_t most, bool calls)
{
	for (uint64_t i = sim_draw(w->s, most); i > 0; i--) {
		put_pause(w);
		if (calls && sim_draw(w->s, 2))
			put_call(w);
		else
			put_words(w);
	}
}

/* ---- answers of the main model ---- */

static void answer_final(struct writer *w)
{
	put_usage(w);
	put_blocks(w, 3, false);
	put(w, "text done");
}

static void answer_tools(struct writer *w)
{
	put_usage(w);
	put_blocks(w, 3, true);
	put_call(w);
	put_blocks(w, 3, true);
	if (w->s->moods.fills && sim_draw(w->s, 2))
		put(w, "big %u", draw_size(w->s) / 2);
	if (sim_one_in(w->s, 40))
		put(w, "server srv%u", ++w->s->server_ids);
}

static void answer_cut(struct writer *w)
{
	w->partial = true;
	put_usage(w);
	put_blocks(w, 4, sim_draw(w->s, 2));
	if (w->s->moods.fills)
		put(w, "big %u", draw_size(w->s));
	put(w, "stop max_tokens");
}

static void answer_exceeded(struct writer *w)
{
	w->partial = true;
	put_usage(w);
	put_blocks(w, 4, sim_draw(w->s, 2));
	put(w, "stop model_context_window_exceeded");
}

static void answer_pause(struct writer *w)
{
	put_usage(w);
	put_blocks(w, 3, false);
	if (sim_draw(w->s, 2))
		put(w, "server srv%u", ++w->s->server_ids);
	put(w, "stop pause_turn");
}

static void answer_empty(struct writer *w)
{
	put_usage(w);
	if (sim_draw(w->s, 2))
		put(w, "text  ");
	put(w, "stop end_turn");
}

static void answer_refusal(struct writer *w)
{
	put_usage(w);
	put_blocks(w, 4, sim_draw(w->s, 2));
	put(w, "stop refusal");
}

static void answer_odd(struct writer *w)
{
	static const char *const reasons[] = { "odd", "stop_sequence", "tool_use", "end_turn" };

	put_usage(w);
	put_blocks(w, 4, sim_draw(w->s, 2));
	put(w, "stop %s", reasons[sim_draw(w->s, LENGTH(reasons))]);
}

static void answer_malformed(struct writer *w)
{
	put_usage(w);
	if (sim_draw(w->s, 2))
		put(w, "use Unknown u%u", (unsigned)sim_draw(w->s, 40));
	else
		put(w, "bad SafeA b%u {\"x", (unsigned)sim_draw(w->s, 40));
}

static void put_break(struct writer *w)
{
	static const char *const breaks[] = {
		"cut",
		"open | cut",
		"open | stop tool_use | cut",
		"open | stop max_tokens | cut",
		"open | stop refusal | cut",
		"stream invalid_request_error no",
		"stream api_error oops",
		"stream overloaded_error Overloaded",
		"hang",
		"open | hang",
		"stop tool_use | hang",
		"stop max_tokens | hang",
	};

	put(w, "%s", breaks[sim_draw(w->s, LENGTH(breaks))]);
}

static void answer_broken(struct writer *w)
{
	put_usage(w);
	put_blocks(w, 4, sim_draw(w->s, 2));
	put_break(w);
}

/* So that the call has started when the stream breaks. */
static void answer_broken_behind_work(struct writer *w)
{
	struct sim *s = w->s;

	put_usage(w);
	put(w, "use UnsafeA w%u {\"ms\":%u,\"size\":%u}", (unsigned)sim_draw(s, 1000), (unsigned)sim_draw(s, 3000),
	    s->moods.large ? draw_size(s) : 2);
	put(w, "after %u", (unsigned)sim_draw(s, 500));
	put(w, "text behind");
	put(w, "after %u", (unsigned)sim_draw(s, 500));
	put_blocks(w, 3, true);
	put_break(w);
}

static const struct sort main_sorts[] = {
	{ "final", true, answer_final },
	{ "tools", true, answer_tools },
	{ "cut", true, answer_cut },
	{ "exceeded", true, answer_exceeded },
	{ "pause", true, answer_pause },
	{ "empty", true, answer_empty },
	{ "odd", true, answer_odd },
	{ "malformed", true, answer_malformed },
	{ "refusal", false, answer_refusal },
	{ "broken", false, answer_broken },
	{ "broken behind work", false, answer_broken_behind_work },
	{ "overload", true, fault_overload },
	{ "transient", true, fault_transient },
	{ "fatal", true, fault_fatal },
	{ "repair", true, fault_repair },
	{ "room", true, fault_room },
	{ "image", true, fault_image },
	{ "too long", true, fault_too_long },
	{ "mismatch", true, fault_mismatch },
};

/* ---- summaries and counts ---- */

static void summary_good(struct writer *w)
{
	put_usage(w);
	if (sim_draw(w->s, 4) == 0)
		put(w, "thinking hm");
	put(w, "text The user asked, and this was done: %u.", (unsigned)sim_draw(w->s, 100));
	if (sim_draw(w->s, 4) == 3)
		put(w, "big %u", draw_size(w->s));
}

static void summary_huge(struct writer *w)
{
	put_usage(w);
	put(w, "big %lld", (long long)sim_count_tokens(w->s, w->req) * 5 + 4000);
}

static void summary_slow(struct writer *w)
{
	put(w, "after %u", (unsigned)sim_draw(w->s, 200000));
	summary_good(w);
}

static const struct sort summary_sorts[] = {
	{ "good", true, summary_good },         { "huge", true, summary_huge },
	{ "slow", true, summary_slow },         { "empty", true, answer_empty },
	{ "tools", true, answer_tools },        { "cut", true, answer_cut },
	{ "exceeded", true, answer_exceeded },  { "refusal", false, answer_refusal },
	{ "broken", false, answer_broken },     { "overload", true, fault_overload },
	{ "transient", true, fault_transient }, { "fatal", true, fault_fatal },
	{ "too long", true, fault_too_long },   { "repair", true, fault_repair },
};

static void count_true(struct writer *w)
{
	put(w, "count %lld", (long long)sim_count_tokens(w->s, w->req));
}

static void count_nonsense(struct writer *w)
{
	static const long long said[] = { 0, 1, 99999999999, 4096 };

	put(w, "count %lld", said[sim_draw(w->s, LENGTH(said))]);
}

static void count_hang(struct writer *w)
{
	put(w, "hang");
}

static const struct sort count_sorts[] = {
	{ "true", true, count_true },         { "nonsense", true, count_nonsense },   { "fatal", true, fault_fatal },
	{ "overload", true, fault_overload }, { "transient", true, fault_transient }, { "hang", false, count_hang },
};

/* ---- moods ---- */

static void draw_moods(struct sim *s, unsigned *moods, const struct sort *sorts, size_t n, unsigned first)
{
	static const unsigned weights[] = { 0, 0, 0, 0, 1, 1, 2, 6, 20 };

	for (size_t i = 0; i < n; i++)
		moods[i] = s->calm && !sorts[i].calm ? 0 : weights[sim_draw(s, LENGTH(weights))];
	moods[0] += first;
}

/* The place of a sort in main_sorts. */
static unsigned *mood_of(struct sim *s, void (*write)(struct writer *w))
{
	for (size_t i = 0; i < LENGTH(main_sorts); i++)
		if (main_sorts[i].write == write)
			return &s->moods.main[i];
	return &s->moods.main[0];
}

static void only_good_summaries(struct sim *s)
{
	memset(s->moods.compact, 0, sizeof s->moods.compact);
	s->moods.compact[0] = 1;
}

static void no_theme(struct sim *s)
{
	(void)s;
}

/* The window fills up again and again, and compactions are fine. */
static void theme_full(struct sim *s)
{
	only_good_summaries(s);
	*mood_of(s, answer_tools) += 60;
	s->moods.sizes = 5 + (unsigned)sim_draw(s, 4);
	s->moods.large = true;
	*mood_of(s, answer_broken_behind_work) += s->calm ? 0 : 10 * (unsigned)sim_draw(s, 2);
	*mood_of(s, fault_overload) += 10 * (unsigned)sim_draw(s, 2);
	*mood_of(s, answer_cut) += 10 * (unsigned)sim_draw(s, 2);
	*mood_of(s, fault_repair) += 5 * (unsigned)sim_draw(s, 2);
}

/* ---- it fills up in every turn, and one more thing happens now and then ---- */

/* Each result is smaller than the one before, so that compactions leave several rounds; then the usage says that the
 * window is full. */
static void refill_empty(struct sim *s)
{
	s->moods.fills = false;
	s->moods.absurd_from = 4 + (int)sim_draw(s, 6);
	s->cfg.context.blocking.kind = MARK_OFF;
	*mood_of(s, answer_empty) = 30;
}

/* The next model has a smaller window. */
static void refill_overload(struct sim *s)
{
	s->cfg.retry.max_retries = 0;
	sim_smaller_fallback(s);
	*mood_of(s, fault_overload) = 12;
}

/* What the prompt leaves of the window is less than the answer may have, until there is a summary. */
static void refill_cut(struct sim *s)
{
	*mood_of(s, answer_cut) = 60;
	*mood_of(s, fault_room) = 12;
}

static void refill_broken(struct sim *s)
{
	*mood_of(s, answer_broken_behind_work) = 60;
}

static void theme_refill(struct sim *s)
{
	static void (*const troubles[])(struct sim * s) = { refill_empty, refill_overload, refill_cut, refill_broken };
	static const size_t rows[] = { 3, 1, 3, 0 }; /* of sim_small_window */
	size_t which = sim_draw(s, LENGTH(troubles) - s->calm);

	sim_small_window(s, sim_draw(s, 4) ? rows[which] : sim_draw(s, 4));
	memset(s->moods.main, 0, sizeof s->moods.main);
	only_good_summaries(s);
	s->moods.large = s->moods.fills = true;
	*mood_of(s, answer_tools) = 60;
	troubles[which](s);
}

/* It fills up, and every compaction fails. */
static void theme_no_summary(struct sim *s)
{
	theme_full(s);
	s->moods.compact[0] = 0;
	for (size_t i = 0; i < LENGTH(summary_sorts); i++)
		if (summary_sorts[i].write == fault_too_long)
			s->moods.compact[i] = 1;
	s->moods.compact[3 + sim_draw(s, LENGTH(summary_sorts) - 3)] += (unsigned)sim_draw(s, 4);
	s->moods.sizes = 3 + (unsigned)sim_draw(s, 4);
}

/* The server refuses what would fit, or has no room for its answers. */
static void theme_refused(struct sim *s)
{
	only_good_summaries(s);
	*mood_of(s, answer_tools) += 20;
	*mood_of(s, fault_too_long) += 8;
	*mood_of(s, answer_exceeded) += 4;
}

static void theme_malformed(struct sim *s)
{
	*mood_of(s, answer_malformed) += 80;
	*mood_of(s, answer_cut) += 6;
	*mood_of(s, fault_overload) += 6;
	*mood_of(s, fault_too_long) += 6;
}

static void theme_overloaded(struct sim *s)
{
	*mood_of(s, answer_tools) += 20;
	*mood_of(s, fault_overload) += 30;
	*mood_of(s, answer_exceeded) += 4;
	*mood_of(s, fault_too_long) += 4;
}

/* Final answers one after the other, for those who object to them. */
static void theme_final(struct sim *s)
{
	*mood_of(s, answer_final) += 60;
	s->cfg.max_turns += 8;
}

static void (*const themes[])(struct sim *s) = {
	no_theme,      no_theme,        no_theme,         no_theme,         theme_full,   theme_full,
	theme_refused, theme_malformed, theme_overloaded, theme_no_summary, theme_refill, theme_final,
};

void sim_draw_moods(struct sim *s)
{
	s->moods.context = sim_one_in(s, 6) ? 2 + (unsigned)sim_draw(s, 6) : 0;
	s->moods.ends = sim_one_in(s, 10) && !s->calm ? 2 + (unsigned)sim_draw(s, 10) : 0;
	draw_moods(s, s->moods.main, main_sorts, LENGTH(main_sorts), 1);
	if (sim_draw(s, 3)) /* most conversations go on for a while */
		s->moods.main[1] += 20;
	draw_moods(s, s->moods.compact, summary_sorts, LENGTH(summary_sorts), 2);
	draw_moods(s, s->moods.summary, summary_sorts, LENGTH(summary_sorts), 2);
	draw_moods(s, s->moods.count, count_sorts, LENGTH(count_sorts), 2);
	s->moods.sizes = 1 + (unsigned)sim_draw(s, 8);
	themes[sim_draw(s, LENGTH(themes))](s);
}

void sim_random_answer(struct sim *s, const struct model_request *req, char *line, size_t max)
{
	const struct {
		const unsigned *moods;
		const struct sort *sorts;
		size_t n;
	} by_kind[] = {
		[MODEL_MAIN] = { s->moods.main, main_sorts, LENGTH(main_sorts) },
		[MODEL_COMPACT] = { s->moods.compact, summary_sorts, LENGTH(summary_sorts) },
		[MODEL_SUMMARY] = { s->moods.summary, summary_sorts, LENGTH(summary_sorts) },
		[MODEL_COUNT] = { s->moods.count, count_sorts, LENGTH(count_sorts) },
	};
	struct writer w = { .s = s, .req = req, .line = line, .max = max };

	*line = '\0';
	by_kind[req->kind].sorts[sim_pick(s, by_kind[req->kind].moods, by_kind[req->kind].n)].write(&w);
}
