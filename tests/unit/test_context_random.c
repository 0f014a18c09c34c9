/*
 * Conversations drawn from a seed, with the layers at work on them. After every step the history must be in order, what
 * must stay must be there, what went must be accounted for, and the step must have nothing left to do.
 */
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "context_world.h"

#define SEEDS 1000

struct trial {
	struct world w;
	uint64_t rng;
	struct block **words; /* what the user said since the last compaction, in its order, references */
	size_t nwords;
	bool compacted;
	bool resumed; /* again and again, from what the context writes down */
	char (*summarised)[16];
	size_t nsummarised;
};

static uint64_t drawn(struct trial *t, uint64_t below)
{
	t->rng ^= t->rng << 13;
	t->rng ^= t->rng >> 7;
	t->rng ^= t->rng << 17;
	return t->rng % below;
}

static bool chance(struct trial *t, unsigned percent)
{
	return drawn(t, 100) < percent;
}

/* ---- what must hold ---- */

/* The user's words in the history: all texts that are in t->words, and each of these once. */
static void check_words(const struct trial *t)
{
	const struct history *h = &t->w.h;
	size_t next = 0;

	for (size_t i = 0; i < h->n; i += 2) {
		for (size_t k = 0; k < h->v[i]->n && next < t->nwords; k++)
			next += h->v[i]->blocks[k] == t->words[next];
	}
	assert_int_equal(next, t->nwords);
}

static void check_text(const struct trial *t)
{
	for (size_t i = 0; i < t->w.h.n; i++) {
		const struct message *m = t->w.h.v[i];
		for (size_t k = 0; k < m->n; k++)
			assert_true(utf8_valid(m->blocks[k]->json, m->blocks[k]->json_len, NULL));
	}
}

/* forget() is told of a result if and only if the model does not see it any more. (Not twice: context_world.) */
static void check_forgotten(const struct trial *t)
{
	const struct world *w = &t->w;
	bool *seen = calloc((size_t)w->ids + 1, sizeof *seen);

	assert_non_null(seen);
	for (size_t i = 2; i < w->h.n; i += 2) {
		for (size_t k = 0; k < w->h.v[i]->n; k++) {
			const struct block *b = w->h.v[i]->blocks[k];
			if (b->kind == BLOCK_TOOL_RESULT && !strstr(b->json, ":\"[Old result"))
				seen[strtol(b->id + 1, NULL, 10)] = true;
		}
	}
	for (int i = 1; i <= w->ids; i++)
		assert_int_equal(world_forgot(w, i), !seen[i]);
	free(seen);
}

static bool any_thinking(const struct world *w)
{
	for (size_t i = 1; i < w->h.n; i += 2) {
		for (size_t k = 0; k < w->h.v[i]->n; k++) {
			if (w->h.v[i]->blocks[k]->kind == BLOCK_THINKING)
				return true;
		}
	}
	return false;
}

static void check(const struct trial *t)
{
	world_check(&t->w);
	check_forgotten(t);
	check_words(t);
}

/* The bytes of the user's last message. */
static void last_message(const struct world *w, struct buf *out)
{
	const struct message *m = w->h.v[w->h.n - 1];

	buf_clear(out);
	for (size_t k = 0; k < m->n; k++)
		buf_add(out, m->blocks[k]->json, m->blocks[k]->json_len);
}

/* ---- the steps ---- */

static void keep_words(struct trial *t, struct block *b)
{
	t->words = realloc(t->words, (t->nwords + 1) * sizeof(struct block *));
	assert_non_null(t->words);
	t->words[t->nwords++] = block_ref(b);
}

static void drop_words(struct trial *t)
{
	for (size_t i = 0; i < t->nwords; i++)
		block_unref(t->words[i]);
	t->nwords = 0;
}

static void say(struct trial *t)
{
	static const char letters[] = "a \xC3\xB6\xE2\x82\xAC\n\"\\\xF0\x9F\x98\x80";
	struct buf text = BUF_INIT(100000);
	size_t n = drawn(t, chance(t, 5) ? 3000 : 60) + 1;

	buf_addf(&text, "words %u ", (unsigned)drawn(t, 1000000));
	for (size_t i = 0; i < n; i++) {
		size_t at = utf8_floor(letters, sizeof letters - 1, drawn(t, sizeof letters - 1));
		buf_add(&text, letters + at, utf8_char_len(letters + at, sizeof letters - 1 - at));
	}
	world_says(&t->w, buf_str(&text));
	const struct message *m = t->w.h.v[t->w.h.n - 1];
	keep_words(t, m->blocks[m->n - 1]);
	buf_release(&text);
}

static void answer(struct trial *t)
{
	static const char *const tools[] = { "Read", "Bash", "Keep", "Edit" };
	size_t calls = drawn(t, 5);

	if (chance(t, 40))
		world_thinks(&t->w);
	if (chance(t, 50) || !calls)
		world_answers(&t->w, "Words of the model, \xE2\x82\xAC.");
	for (size_t i = 0; i < calls; i++) {
		char input[100];
		snprintf(input, sizeof input, "{\"command\":\"make \xC3\xB6%u\",\"n\":[1,{}]}",
		         (unsigned)drawn(t, 1000));
		world_calls(&t->w, tools[drawn(t, 4)], input);
	}
	if (calls)
		world_results(&t->w, drawn(t, chance(t, 20) ? 9000 : 900), chance(t, 20));
	if (!calls || chance(t, 15))
		say(t);
	assert_int_equal(context_round_ended(t->w.c, &t->w.h), 0);
	if (calls && chance(t, 30)) {
		char id[16];
		snprintf(id, sizeof id, "c%u", (unsigned)drawn(t, (uint64_t)t->w.ids) + 1);
		assert_int_equal(context_round_summary(t->w.c, id, "it went\nwell", 12), 0);
		t->summarised = realloc(t->summarised, (t->nsummarised + 1) * sizeof *t->summarised);
		assert_non_null(t->summarised);
		memcpy(t->summarised[t->nsummarised++], id, sizeof id);
	}
}

static void resume(struct trial *t)
{
	if (!t->resumed)
		return;
	world_resume(&t->w);
	for (size_t i = 0; i < t->nsummarised; i++)
		assert_int_equal(context_round_summary(t->w.c, t->summarised[i], "it went\nwell", 12), 0);
}

static void check_report(const struct trial *t, int64_t tokens, size_t weight_before)
{
	const struct world *w = &t->w;
	int64_t freed = 0;

	for (size_t i = 0; i < w->report.n; i++) {
		assert_int_equal(w->report.steps[i].before, tokens - freed);
		assert_true(w->report.steps[i].freed >= 0);
		freed += w->report.steps[i].freed;
	}
	assert_true(w->h.weight <= weight_before);
	/* what is told is what was freed, each step rounded down */
	int64_t really = (int64_t)(weight_before - w->h.weight) / w->model.marks.bytes_per_token;
	assert_in_range(really - freed, 0, CONTEXT_STEPS);
	assert_true(w->report.n || weight_before == w->h.weight);
	if (w->report.n && w->model.thinking_bound)
		assert_false(any_thinking(w));
	if (w->report.thinking_broken)
		assert_true(w->report.n && w->model.thinking_budgeted);
}

static int64_t left_over(const struct world *w, int64_t tokens)
{
	for (size_t i = 0; i < w->report.n; i++)
		tokens -= w->report.steps[i].freed;
	return tokens;
}

static void prepare(struct trial *t, struct buf *before, struct buf *after)
{
	struct world *w = &t->w;
	int64_t tokens = world_tokens(w) + (int64_t)drawn(t, 500);
	size_t weight = w->h.weight;

	last_message(w, before);
	assert_int_equal(context_prepare(w->c, &w->h, tokens, &w->report), 0);
	last_message(w, after);
	check(t);
	check_report(t, tokens, weight);
	/* an answer that was nothing but thinking may have joined it to the one before */
	assert_true(before->len <= after->len);
	assert_memory_equal(after->data + after->len - before->len, before->data, before->len);
	for (size_t i = 0; i < w->report.n; i++) {
		const struct context_step *s = &w->report.steps[i];
		if (strcmp(s->name, "collapse") == 0)
			assert_true(s->before - s->freed <= w->model.marks.collapse);
	}
	/* nothing is left to do; but what microcompact frees can bring snip, which goes first, within reach of its mark
	 */
	struct context_report done = w->report;
	for (int again = w->model.marks.snip ? 2 : 0; again >= 0; again--) {
		tokens = left_over(w, tokens);
		assert_int_equal(context_prepare(w->c, &w->h, tokens, &w->report), 0);
		check(t);
		assert_true(w->report.n == 0 || again);
	}
	w->report = done;
}

static void drain(struct trial *t)
{
	struct world *w = &t->w;
	int64_t tokens = world_tokens(w);
	size_t weight = w->h.weight;

	assert_int_equal(context_drain(w->c, &w->h, tokens, &w->report), 0);
	check(t);
	check_report(t, tokens, weight);
	assert_int_equal(context_drain(w->c, &w->h, tokens, &w->report), 0);
	assert_int_equal(w->report.n, 0);
}

static void request(struct trial *t)
{
	struct compact_request how = { drawn(t, 8), chance(t, 30) };
	struct history out = HISTORY_INIT;
	size_t weight = t->w.h.weight;

	assert_int_equal(context_compact_request(t->w.c, &t->w.h, &how, &out), 0);
	assert_int_equal(history_check(&out, false, NULL), 0);
	assert_int_equal(out.v[out.n - 1]->role, ROLE_USER);
	assert_int_equal(weight, t->w.h.weight);
	history_release(&out);
}

/* What is left of the user's words is the newest of them: the summary has the others. */
static void note_rest(struct trial *t)
{
	const struct history *h = &t->w.h;
	struct block **words = t->words;
	size_t n = t->nwords;

	t->words = NULL;
	t->nwords = 0;
	for (size_t i = 0; i < h->n; i += 2) {
		for (size_t k = 0; k < h->v[i]->n; k++) {
			for (size_t j = 0; j < n; j++) {
				if (words[j] == h->v[i]->blocks[k])
					keep_words(t, words[j]);
			}
		}
	}
	for (size_t j = 0; j < n; j++)
		block_unref(words[j]);
	free(words);
}

static void compact(struct trial *t, struct buf *before, struct buf *after)
{
	struct world *w = &t->w;
	struct buf files[2] = { BUF_INIT(5000), BUF_INIT(5000) };
	char summary[600];
	size_t n = drawn(t, sizeof summary - 1) + 1;

	memset(summary, 's', n);
	buf_addf(&files[0], "a file, %u", (unsigned)drawn(t, 100));
	buf_addf(&files[1], "%*s", (int)drawn(t, 2000) + 1, chance(t, 80) ? "content" : "");
	last_message(w, before);
	size_t weight = w->h.weight;
	int rc = context_compact_apply(w->c, &w->h, summary, n, files, drawn(t, 3),
	                               chance(t, 70) ? SIZE_MAX : drawn(t, 20000), &w->report);
	assert_in_range(rc, 0, 1);
	last_message(w, after);
	if (rc) {
		assert_int_equal(weight, w->h.weight);
		assert_true(before->len == after->len && memcmp(before->data, after->data, after->len) == 0);
	} else {
		assert_true(w->h.weight < weight);
		note_rest(t);
		t->compacted = true;
	}
	check(t);
	buf_release(&files[0]);
	buf_release(&files[1]);
}

static void open_trial(struct trial *t, uint64_t seed)
{
	*t = (struct trial){ .rng = seed * 0x9E3779B97F4A7C15U + 1 };
	world_open(&t->w, (int64_t)(1000 + drawn(t, 12000)), drawn(t, 6));
	t->w.model.thinking_bound = chance(t, 30);
	t->w.model.thinking_budgeted = chance(t, 30);
	t->w.model.marks.bytes_per_token = 3 + (int64_t)drawn(t, 2);
	if (chance(t, 40))
		t->w.model.marks.snip = t->w.model.marks.usable * 17 / 20;
	if (chance(t, 20))
		t->w.model.marks.collapse = 0;
	if (chance(t, 20))
		t->w.model.marks.microcompact = 0;
	context_set_model(t->w.c, &t->w.model);
	say(t);
}

/* What came of it: the same for the same seed. */
static uint64_t digest(const struct trial *t)
{
	uint64_t sum = 0xCBF29CE484222325U;

	for (size_t i = 0; i < t->w.h.n; i++) {
		for (size_t k = 0; k < t->w.h.v[i]->n; k++) {
			for (const char *p = t->w.h.v[i]->blocks[k]->json; *p; p++)
				sum = (sum ^ (unsigned char)*p) * 0x100000001B3U;
		}
	}
	return sum;
}

struct seen {
	unsigned steps[3], twice, broken, drained, compacted, refused;
};

static void note(struct seen *seen, const struct context_report *r)
{
	static const char *const names[] = { "snip", "microcompact", "collapse" };

	for (size_t i = 0; i < r->n; i++) {
		for (size_t k = 0; k < 3; k++)
			seen->steps[k] += strcmp(names[k], r->steps[i].name) == 0;
	}
	seen->twice += r->n > 1;
	seen->broken += r->thinking_broken;
}

static uint64_t run(uint64_t seed, bool resumed, struct seen *seen)
{
	struct trial t;
	struct buf before = BUF_INIT(BUF_HUGE), after = BUF_INIT(BUF_HUGE);
	size_t steps;

	open_trial(&t, seed);
	t.resumed = resumed;
	steps = drawn(&t, 60);
	for (size_t i = 0; i < steps; i++) {
		answer(&t);
		check(&t);
		check_text(&t);
		resume(&t);
		prepare(&t, &before, &after);
		note(seen, &t.w.report);
		resume(&t);
		if (chance(&t, 4)) {
			drain(&t);
			seen->drained++;
		}
		if (chance(&t, 10))
			request(&t);
		if (world_tokens(&t.w) > t.w.model.marks.autocompact || chance(&t, 2)) {
			bool can = context_can_compact(t.w.c, &t.w.h);
			t.compacted = false;
			if (can)
				compact(&t, &before, &after);
			seen->compacted += t.compacted;
			seen->refused += can && !t.compacted;
		}
		if (chance(&t, 3)) {
			assert_int_equal(context_strip_thinking(&t.w.h), any_thinking(&t.w));
			check(&t);
		}
	}
	uint64_t sum = digest(&t);
	drop_words(&t);
	free(t.words);
	free(t.summarised);
	buf_release(&before);
	buf_release(&after);
	world_release(&t.w);
	return sum;
}

static void test_random(void **state)
{
	struct seen seen = { { 0 }, 0, 0, 0, 0, 0 };

	(void)state;
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		uint64_t sum = run(seed, false, &seen);
		if (seed % 10 == 0 && run(seed, false, &seen) != sum)
			fail_msg("seed %llu: not the same bytes twice", (unsigned long long)seed);
		if (run(seed, true, &seen) != sum)
			fail_msg("seed %llu: not the same bytes if it is gone on with", (unsigned long long)seed);
	}
	/* all of it has happened, many times */
	for (size_t k = 0; k < 3; k++)
		assert_true(seen.steps[k] > 100);
	assert_true(seen.twice > 100 && seen.broken > 100 && seen.drained > 100 && seen.compacted > 100);
	assert_true(seen.refused > 10);
}

/* One that failed, alone: test_context_random SEED, or SEED resumed */
int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random),
	};
	if (argc > 1) {
		struct seen seen = { { 0 }, 0, 0, 0, 0, 0 };
		return run(strtoull(argv[1], NULL, 10), argc > 2, &seen) == 0;
	}
	return cmocka_run_group_tests_name("context_random", tests, NULL, NULL);
}
