/*
 * Results on their way into history: in call order, each as soon as its length is certain, and none longer than the
 * window allows. In a window of 10,000 tokens 7,500 can be used: 7,500 bytes a result, 15,000 a message.
 */
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim.h"

#define MAX_SEEN 20

/* What was shown: of each result its call, when, and how long it was. */
static struct {
	int (*emit)(void *ctx, struct event *ev, struct error *e);
	int64_t (*now)(void *ctx);
	size_t n, total;
	char id[MAX_SEEN][8];
	int64_t at[MAX_SEEN];
	size_t len[MAX_SEEN];
	bool file[MAX_SEEN];
	int64_t before, freed; /* of the step, -1 = none was told */
} seen;

static int see(void *ctx, struct event *ev, struct error *e)
{
	const struct block *b = ev->kind == EVENT_USER ? ev->u.user.block : NULL;

	if (b && b->kind == BLOCK_TOOL_RESULT && seen.n < MAX_SEEN) {
		size_t i = seen.n++;
		strncpy(seen.id[i], b->id, sizeof seen.id[i] - 1);
		seen.at[i] = seen.now(ctx);
		seen.len[i] = b->text_len;
		seen.file[i] = ev->u.user.file != NULL;
		seen.total += b->text_len;
	}
	if (ev->kind == EVENT_CONTEXT) {
		assert_string_equal(ev->u.context.step, "result_budget");
		assert_int_equal(seen.freed, -1); /* once a message */
		seen.before = ev->u.context.tokens_before;
		seen.freed = ev->u.context.tokens_freed;
	}
	return seen.emit(ctx, ev, e);
}

static void watch(struct loop_deps *deps)
{
	memset(&seen, 0, sizeof seen);
	seen.freed = -1;
	seen.emit = deps->emit;
	seen.now = deps->now;
	deps->emit = see;
}

static const struct catalog_row *row_with(int64_t window)
{
	static struct catalog_row row;

	row = (struct catalog_row){ "sim", window, 64000, { 1000, 1250, 2000, 100, 5000 }, 0, { 0 }, 0 };
	return &row;
}

/* One answer with these calls, then "text done". */
static void play(struct sim *s, const char *calls, int64_t window)
{
	const char *script[] = { calls, "text done", NULL };

	sim_init(s, script);
	s->stand_before = watch;
	s->cfg.row = row_with(window);
	s->cfg.context.microcompact.kind = s->cfg.context.collapse.kind = s->cfg.context.snip.kind = MARK_OFF;
	s->cfg.context.autocompact.kind = s->cfg.context.blocking.kind = MARK_OFF;
	sim_run(s, "task");
	assert_string_equal(s->problem, "");
	assert_string_equal(s->trace, "next_turn completed");
}

static void assert_order(const char *ids)
{
	char got[MAX_SEEN * 8] = "";

	for (size_t i = 0; i < seen.n; i++)
		strcat(strcat(got, i ? " " : ""), seen.id[i]);
	assert_string_equal(got, ids);
}

static void what_fits_is_left_alone(void **state)
{
	static struct sim s;

	(void)state;
	play(&s, "use SafeA a {\"size\":7500} | use SafeB b {\"size\":7500}", 10000);
	assert_order("a b");
	assert_int_equal(seen.total, 15000);
	assert_int_equal(seen.freed, -1);
	sim_release(&s);
}

static void one_that_is_too_long_is_cut(void **state)
{
	static struct sim s;

	(void)state;
	play(&s, "use SafeA a {\"size\":7501}", 10000);
	assert_int_equal(seen.len[0], 7500);
	assert_true(seen.file[0]);
	assert_int_equal(seen.freed, 0); /* not a whole token, and told all the same */
	sim_release(&s);

	play(&s, "use SafeA a {\"size\":100000} | use SafeB b", 10000);
	assert_int_equal(seen.len[0], 7500);
	assert_false(seen.file[1]);
	assert_int_equal(seen.freed, (100000 - 7500) / 4);
	assert_true(seen.before > 100000 / 4 && seen.before < 110000 / 4);
	sim_release(&s);
}

static void the_largest_give_way_evenly(void **state)
{
	static struct sim s;

	(void)state;
	play(&s,
	     "use SafeA a {\"size\":7000} | use SafeB b {\"size\":3000} | use SafeA c {\"size\":7400} | "
	     "use SafeB d {\"size\":10}",
	     10000);
	assert_order("a b c d");
	assert_int_equal(seen.len[0], 5995);
	assert_int_equal(seen.len[1], 3000);
	assert_int_equal(seen.len[2], 5995);
	assert_int_equal(seen.len[3], 10);
	sim_release(&s);
}

/* What the others may still bring decides when a result is shown. The clock begins at 1,000. */
static void a_certain_length_does_not_wait(void **state)
{
	static struct sim s;

	(void)state;
	/* a share of a third is everybody's whatever comes, and half of all may be pictures */
	play(&s,
	     "use SafeA a {\"size\":2490,\"ms\":10} | use SafeB b {\"size\":4500,\"ms\":20} | use SafeA c "
	     "{\"size\":9,\"ms\":5000}",
	     10000);
	assert_order("a b c");
	assert_true(seen.at[0] < 2000);
	assert_true(seen.at[1] > 5000); /* c might have brought too much */
	assert_int_equal(seen.total, 2490 + 4500 + 9);
	assert_int_equal(seen.freed, -1);
	sim_release(&s);
	/* no more than a result's bound can come of the one that is left */
	play(&s,
	     "use SafeA a {\"size\":2490} | use SafeB b {\"size\":1200,\"ms\":20} | use SafeA c "
	     "{\"size\":9,\"ms\":5000}",
	     10000);
	assert_true(seen.at[0] < 2000 && seen.at[1] < 2000 && seen.at[2] > 5000);
	sim_release(&s);
	/* one that is over its own bound is cut in any case, but how far the others must tell */
	play(&s, "use SafeA a {\"size\":8000} | use SafeB b {\"size\":9000,\"ms\":5000}", 10000);
	assert_true(seen.at[0] > 5000);
	assert_int_equal(seen.total, 15000);
	sim_release(&s);
}

/* A byte that is written as six takes as much of the window as six: what is held against the bound is what is sent. */
static void binary_data_counts_as_it_is_sent(void **state)
{
	static struct sim s;

	(void)state;
	play(&s, "use SafeA a {\"size\":7000,\"binary\":1} | use SafeB b {\"size\":1200,\"binary\":1}", 10000);
	assert_true(seen.len[0] <= 7500 / 6 + 100 && seen.len[0] > 1000);
	assert_true(seen.file[0]);
	assert_int_equal(seen.len[1], 1200);
	assert_false(seen.file[1]);
	assert_true(seen.before > (7000 + 1200) * 6 / 4 && seen.before < 60000 / 4);
	assert_true(seen.freed > (7000 * 6 - 7500) / 4 - 1);
	sim_release(&s);
}

static void a_picture_has_its_share(void **state)
{
	static struct sim s;

	(void)state;
	play(&s, "use SafeA a {\"image\":1} | use SafeB b {\"size\":7500} | use SafeA c {\"size\":7500}", 10000);
	assert_in_range(seen.total, 7500, 14999); /* texts keep half of theirs at least */
	assert_true(seen.freed > 0);
	sim_release(&s);
}

static void there_is_a_bound_in_any_window(void **state)
{
	static struct sim s;

	(void)state;
	for (int known = 0; known < 2; known++) {
		play(&s,
		     "use SafeA a {\"size\":90000} | use SafeB b {\"size\":90000} | use SafeA c {\"size\":90000} | "
		     "use SafeB d {\"size\":500000}",
		     known ? 1000000 : 0);
		assert_int_equal(seen.total, 200000);
		assert_int_equal(seen.len[0], 50000);
		sim_release(&s);
		play(&s, "use SafeA a {\"size\":130000}", known ? 1000000 : 0);
		assert_int_equal(seen.total, 120000);
		sim_release(&s);
	}
}

/* What was shown before the end and what is shown at the end is the same as if all had been done at once. */
static void when_calls_end_does_not_matter(void **state)
{
	static struct sim s;
	static const int sizes[] = { 10, 2000, 4000, 6000, 8000 };
	size_t want[3];
	char calls[400];

	(void)state;
	for (int x = 0; x < 125; x++) {
		int v[3] = { sizes[x % 5], sizes[x / 5 % 5], sizes[x / 25] };
		for (int order = 0; order < 6; order++) {
			static const int ms[6][3] = { { 10, 10, 10 },    { 10, 900, 1700 }, { 1700, 900, 10 },
				                      { 900, 10, 1700 }, { 900, 1700, 10 }, { 10, 1700, 900 } };
			snprintf(calls, sizeof calls,
			         "use SafeA a {\"size\":%d,\"ms\":%d} | use SafeB b {\"size\":%d,\"ms\":%d} | "
			         "use SafeA c {\"size\":%d,\"ms\":%d}",
			         v[0], ms[order][0], v[1], ms[order][1], v[2], ms[order][2]);
			play(&s, calls, 10000);
			assert_order("a b c");
			assert_true(seen.total <= 15000);
			if (order == 0)
				memcpy(want, seen.len, sizeof want);
			assert_memory_equal(want, seen.len, sizeof want);
			sim_release(&s);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_fits_is_left_alone),        cmocka_unit_test(one_that_is_too_long_is_cut),
		cmocka_unit_test(the_largest_give_way_evenly),    cmocka_unit_test(a_certain_length_does_not_wait),
		cmocka_unit_test(a_picture_has_its_share),        cmocka_unit_test(there_is_a_bound_in_any_window),
		cmocka_unit_test(when_calls_end_does_not_matter), cmocka_unit_test(binary_data_counts_as_it_is_sent),
	};

	return cmocka_run_group_tests_name("loop_results", tests, NULL, NULL);
}
