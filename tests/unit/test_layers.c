/* The layers one by one: microcompact, collapse, snip, and what becomes of thinking. */
#include "test.h"

#include <stdio.h>
#include <string.h>

#include "context_world.h"
#include "growth.h"

static void prepare(struct world *w)
{
	assert_int_equal(context_prepare(w->c, &w->h, world_tokens(w), &w->report), 0);
	world_check(w);
}

static void only(struct world *w, int64_t microcompact, int64_t collapse, int64_t snip)
{
	w->model.marks.microcompact = microcompact;
	w->model.marks.collapse = collapse;
	w->model.marks.snip = snip;
	context_set_model(w->c, &w->model);
}

static void assert_step(const struct world *w, size_t i, const char *name)
{
	assert_true(w->report.n > i);
	assert_string_equal(w->report.steps[i].name, name);
	assert_true(w->report.steps[i].freed > 0);
}

/* ---- microcompact ---- */

static void test_microcompact(void **state)
{
	struct world w;

	(void)state;
	world_open(&w, 10000, 2);
	only(&w, 6000, 0, 0);
	world_says(&w, "task");
	world_round(&w, "Read", "a.c", 8000);
	world_calls(&w, "Keep", "{}");
	world_calls(&w, "Bash", "{}");
	world_calls(&w, "Bash", "{}");
	world_results(&w, 3000, true);
	world_round(&w, "Read", "small.c", 70);
	world_round(&w, "Read", "b.c", 3000);
	prepare(&w);
	assert_int_equal(w.report.n, 0); /* below the mark */
	world_round(&w, "Read", "c.c", 5000);
	int64_t before = world_tokens(&w);
	prepare(&w);
	assert_int_equal(w.report.n, 1);
	assert_step(&w, 0, "microcompact");
	assert_int_equal(w.report.steps[0].before, before);
	assert_in_range(before - world_tokens(&w), w.report.steps[0].freed, w.report.steps[0].freed + 1);
	assert_string_equal(world_text(&w, 2, 0),
	                    "[Old result of Read cleared: 8000 bytes; run the call again if it is needed]");
	assert_int_equal(strlen(world_text(&w, 4, 0)), 3000); /* may not be cleared */
	assert_string_equal(world_text(&w, 4, 1),
	                    "[Old result of Bash cleared: 3000 bytes; run the call again if it is needed]");
	assert_true(w.h.v[4]->blocks[1]->is_error);
	assert_int_equal(strlen(world_text(&w, 6, 0)), 70);   /* not worth it */
	assert_int_equal(strlen(world_text(&w, 8, 0)), 3000); /* the newest two */
	assert_int_equal(strlen(world_text(&w, 10, 0)), 5000);
	assert_string_equal(buf_str(&w.forgotten), " c1  c3  c4 ");
	/* nothing more is to be had */
	assert_int_equal(context_prepare(w.c, &w.h, 9000, &w.report), 0);
	assert_int_equal(w.report.n, 0);
	world_release(&w);
}

/* Less than 5 % of what can be used is not worth a new prefix. */
static void test_microcompact_small_gain(void **state)
{
	struct world w;

	(void)state;
	world_open(&w, 10000, 1);
	only(&w, 6000, 0, 0);
	world_says(&w, "task");
	world_round(&w, "Read", "a.c", 2000);
	world_round(&w, "Read", "b.c", 30000);
	prepare(&w);
	assert_int_equal(w.report.n, 0);
	world_release(&w);
}

/* What the model has not seen is not old, however much of it there is. */
static void test_microcompact_unseen(void **state)
{
	struct world w;

	(void)state;
	world_open(&w, 10000, 1);
	only(&w, 6000, 0, 0);
	world_says(&w, "task");
	for (int i = 0; i < 8; i++)
		world_calls(&w, "Read", "{}");
	world_results(&w, 5000, false);
	prepare(&w);
	assert_int_equal(w.report.n, 0);
	world_answers(&w, "seen");
	world_says(&w, "go on");
	prepare(&w);
	assert_step(&w, 0, "microcompact");
	assert_int_equal(strlen(world_text(&w, 2, 7)), 5000);
	assert_true(strlen(world_text(&w, 2, 6)) < 200);
	world_release(&w);
}

static void test_microcompact_picture(void **state)
{
	static const char content[] =
	        "[{\"type\":\"image\",\"source\":{\"type\":\"base64\",\"media_type\":\"image/png\","
	        "\"data\":\"AAAA\"}}]";
	struct world w;

	(void)state;
	world_open(&w, 1000, 0);
	only(&w, 1, 0, 0);
	world_says(&w, "task");
	world_calls(&w, "Read", "{}");
	struct block *b = block_new_tool_result_json("c1", content, strlen(content));
	assert_non_null(b);
	assert_int_equal(history_add_user_block(&w.h, b), 0);
	world_answers(&w, "seen");
	world_says(&w, "go on");
	prepare(&w);
	assert_string_equal(world_text(&w, 2, 0), "[Old result of Read cleared; run the call again if it is needed]");
	world_release(&w);
}

/* ---- collapse ---- */

static void test_collapse(void **state)
{
	struct world w;

	(void)state;
	world_open(&w, 10000, 5);
	only(&w, 0, 7500, 0);
	world_says(&w, "task");
	for (int i = 0; i < 8; i++) {
		char name[16];
		snprintf(name, sizeof name, "f%d.c", i);
		world_round(&w, "Read", name, 3900);
	}
	int64_t before = world_tokens(&w);
	prepare(&w);
	assert_int_equal(w.report.n, 1);
	assert_step(&w, 0, "collapse");
	assert_int_equal(w.report.steps[0].before, before);
	/* 8 rounds of about 1000 tokens: down to the mark minus 2000 */
	assert_int_equal(w.h.n, 1 + 2 * 5);
	assert_string_equal(world_text(&w, 0, 0), "task");
	assert_string_equal(
	        world_text(&w, 0, 1),
	        "[Earlier rounds of this conversation, folded to one line each. What their calls returned is no "
	        "longer here: make a call again if you need it.]\n- Read f0.c: ok\n- Read f1.c: ok\n- Read f2.c: "
	        "ok");
	assert_string_equal(buf_str(&w.forgotten), " c1  c2  c3 ");
	prepare(&w);
	assert_int_equal(w.report.n, 0);
	/* the next fold goes on where this one ended */
	for (int i = 0; i < 3; i++)
		world_round(&w, "Grep", "x", 3900);
	prepare(&w);
	assert_step(&w, 0, "collapse");
	assert_int_equal(w.h.v[0]->n, 2);
	assert_non_null(strstr(world_text(&w, 0, 1), "- Read f2.c: ok\n- Read f3.c: ok\n- "));
	world_release(&w);
}

/* It starts only if it can get below its own mark, and the newest two rounds are not its. */
static void test_collapse_cannot(void **state)
{
	struct world w;

	(void)state;
	world_open(&w, 10000, 5);
	only(&w, 0, 7500, 0);
	world_says(&w, "task");
	world_round(&w, "Read", "a.c", 5000);
	world_round(&w, "Read", "b.c", 15000);
	world_round(&w, "Read", "c.c", 15500);
	prepare(&w);
	assert_int_equal(w.report.n, 0);
	assert_int_equal(w.h.n, 7);
	world_release(&w);
}

static void test_lines(void **state)
{
	struct world w;
	char longer[300];

	(void)state;
	world_open(&w, 100000, 5);
	world_says(&w, "task");
	world_calls(&w, "Bash", "{\"description\":\"build\",\"command\":\"make  -j2\\n  all\"}");
	world_calls(&w, "Todo", "{\"list\":[]}");
	world_calls(&w, "Other", "{\"n\":1,\"name\":\"thing\"}");
	world_results(&w, 2000, false);
	assert_int_equal(context_round_ended(w.c, &w.h), 0);
	world_calls(&w, "Grep", "{\"path\":\"src\",\"pattern\":\"x+\"}");
	world_results(&w, 2000, true);
	assert_int_equal(context_round_ended(w.c, &w.h), 0);
	/* 2 bytes a letter: 80 end inside one, the cut does not */
	snprintf(longer, sizeof longer, "{\"file_path\":\"a%s\"}",
	         "\xC3\xB6\xC3\xB6\xC3\xB6\xC3\xB6\xC3\xB6\xC3\xB6\xC3\xB6\xC3\xB6\xC3\xB6\xC3\xB6"
	         "\xC3\xB6\xC3\xB6\xC3\xB6\xC3\xB6\xC3\xB6\xC3\xB6\xC3\xB6\xC3\xB6\xC3\xB6\xC3\xB6"
	         "\xC3\xB6\xC3\xB6\xC3\xB6\xC3\xB6\xC3\xB6\xC3\xB6\xC3\xB6\xC3\xB6\xC3\xB6\xC3\xB6"
	         "\xC3\xB6\xC3\xB6\xC3\xB6\xC3\xB6\xC3\xB6\xC3\xB6\xC3\xB6\xC3\xB6\xC3\xB6\xC3\xB6");
	world_calls(&w, "Read", longer);
	world_results(&w, 2000, false);
	world_answers(&w, "I think\n\tthat it is done");
	world_says(&w, "no");
	world_round(&w, "Read", "last", 10);
	assert_int_equal(context_drain(w.c, &w.h, world_tokens(&w), &w.report), 0);
	world_check(&w);
	const char *lines = strchr(world_text(&w, 0, 1), '\n');
	assert_non_null(lines);
	assert_string_equal(lines, "\n- Bash make -j2 all: ok; Todo: ok; Other thing: ok\n- Grep x+: failed\n- Read "
	                           "a\xC3\xB6\xC3\xB6\xC3\xB6\xC3\xB6\xC3\xB6\xC3\xB6\xC3\xB6\xC3\xB6\xC3\xB6\xC3\xB6"
	                           "\xC3\xB6\xC3\xB6\xC3\xB6\xC3\xB6\xC3\xB6\xC3\xB6\xC3\xB6\xC3\xB6\xC3\xB6\xC3\xB6"
	                           "\xC3\xB6\xC3\xB6\xC3\xB6\xC3\xB6\xC3\xB6\xC3\xB6\xC3\xB6\xC3\xB6\xC3\xB6\xC3\xB6"
	                           "\xC3\xB6\xC3\xB6\xC3\xB6\xC3\xB6\xC3\xB6\xC3\xB6\xC3\xB6\xC3\xB6\xC3\xB6...: ok\n"
	                           "- said: I think that it is done");
	world_release(&w);
}

static void test_many_calls_in_a_line(void **state)
{
	struct world w;

	(void)state;
	world_open(&w, 100000, 5);
	world_says(&w, "task");
	for (int i = 0; i < 100; i++)
		world_calls(&w, "Read", "{\"file_path\":\"some/where/in/a/folder.c\"}");
	world_results(&w, 50, true);
	assert_int_equal(context_round_ended(w.c, &w.h), 0);
	world_round(&w, "Read", "last", 10);
	assert_int_equal(context_drain(w.c, &w.h, world_tokens(&w), &w.report), 0);
	const char *text = world_text(&w, 0, 1);
	assert_true(strlen(text) < 700);
	assert_non_null(strstr(text, "; and 89 more calls, 89 of them failed"));
	world_release(&w);
}

/* What somebody said in a folded round stays, behind the fold. */
static void test_words_stay(void **state)
{
	struct world w;
	struct buf shape = BUF_INIT(1000);

	(void)state;
	world_open(&w, 100000, 5);
	world_says(&w, "task");
	world_round(&w, "Read", "a.c", 2000);
	world_says(&w, "also do this");
	world_answers(&w, "done");
	world_says(&w, "and that");
	world_round(&w, "Read", "b.c", 2000);
	world_round(&w, "Read", "c.c", 2000);
	assert_int_equal(context_drain(w.c, &w.h, world_tokens(&w), &w.report), 0);
	world_check(&w);
	assert_string_equal(world_shape(&w, &shape), "TTTT C R");
	assert_string_equal(world_text(&w, 0, 2), "also do this");
	assert_string_equal(world_text(&w, 0, 3), "and that");
	/* a fold behind such words is a block of its own */
	world_round(&w, "Read", "d.c", 2000);
	assert_int_equal(context_drain(w.c, &w.h, world_tokens(&w), &w.report), 0);
	assert_string_equal(world_shape(&w, &shape), "TTTTT C R");
	assert_non_null(strstr(world_text(&w, 0, 4), "\n- Read c.c: ok"));
	buf_release(&shape);
	world_release(&w);
}

static void test_drain(void **state)
{
	struct world w;

	(void)state;
	world_open(&w, 100000, 5);
	world_says(&w, "task");
	assert_int_equal(context_drain(w.c, &w.h, 10, &w.report), 0);
	assert_int_equal(w.report.n, 0);
	world_round(&w, "Read", "a.c", 3000);
	assert_int_equal(context_drain(w.c, &w.h, 900, &w.report), 0);
	assert_int_equal(w.report.n, 0); /* the last round is not folded */
	world_round(&w, "Read", "b.c", 3000);
	assert_int_equal(context_drain(w.c, &w.h, 1700, &w.report), 0);
	assert_step(&w, 0, "collapse");
	assert_int_equal(w.report.steps[0].before, 1700);
	assert_int_equal(w.h.n, 3);
	/* a fold that is heavier than what it folds is none */
	world_release(&w);
	world_open(&w, 100000, 5);
	world_says(&w, "task");
	world_answers(&w, "a");
	world_says(&w, "b");
	world_answers(&w, "c");
	world_says(&w, "d");
	assert_int_equal(context_drain(w.c, &w.h, 40, &w.report), 0);
	assert_int_equal(w.report.n, 0);
	assert_int_equal(w.h.n, 5);
	world_release(&w);
}

static void test_summaries(void **state)
{
	struct world w;
	struct history asked = HISTORY_INIT;
	static const char words[] = "Read a.c and found\nnothing.";

	(void)state;
	world_open(&w, 100000, 5);
	world_says(&w, "task");
	assert_int_equal(context_summary_request(&w.h, &asked), 1);
	world_answers(&w, "let me see");
	world_calls(&w, "Bash", "{\"command\":\"make\"}");
	world_results(&w, 5000, true);
	assert_int_equal(context_round_ended(w.c, &w.h), 0);
	assert_int_equal(context_summary_request(&w.h, &asked), 0);
	assert_int_equal(asked.n, 1);
	const char *text = asked.v[0]->blocks[0]->text;
	assert_non_null(strstr(text, "<said>let me see</said>\n<call>Bash {\"command\":\"make\"}</call>\n<failed>xxx"));
	assert_true(strlen(text) < 2000);
	history_release(&asked);

	assert_int_equal(context_round_summary(w.c, "c1", words, strlen(words)), 0);
	assert_int_equal(context_round_summary(w.c, "unknown", words, strlen(words)), 0);
	world_round(&w, "Read", "b.c", 3000);
	world_round(&w, "Read", "c.c", 3000);
	assert_int_equal(context_drain(w.c, &w.h, 9000, &w.report), 0);
	assert_non_null(strstr(world_text(&w, 0, 1), "\n- Read a.c and found nothing.\n- Read b.c: ok"));
	/* too late: that round is folded */
	assert_int_equal(context_round_summary(w.c, "c2", words, strlen(words)), 0);
	assert_non_null(strstr(world_text(&w, 0, 1), "\n- Read b.c: ok"));
	world_release(&w);
}

static void test_summary_request_is_bounded(void **state)
{
	struct world w;
	struct history asked = HISTORY_INIT;

	(void)state;
	world_open(&w, 100000, 5);
	world_says(&w, "task");
	for (int i = 0; i < 500; i++)
		world_calls(&w, "Read", "{\"file_path\":\"some/where/in/a/folder.c\"}");
	world_results(&w, 3000, false);
	assert_int_equal(context_summary_request(&w.h, &asked), 0);
	assert_in_range(asked.weight, 12000, 15000);
	assert_non_null(strstr(asked.v[0]->blocks[0]->text, " more calls)"));
	history_release(&asked);
	world_release(&w);
}

/* ---- snip, and the order ---- */

static void test_snip(void **state)
{
	struct world w;

	(void)state;
	world_open(&w, 10000, 0);
	only(&w, 6000, 7500, 8500);
	world_says(&w, "task");
	for (int i = 0; i < 9; i++)
		world_round(&w, "Keep", "a.c", 3900);
	world_says(&w, "my words");
	prepare(&w);
	/* down to 6500 tokens, after which collapse has nothing to do */
	assert_int_equal(w.report.n, 1);
	assert_step(&w, 0, "snip");
	assert_int_equal(w.h.n, 1 + 2 * 6);
	assert_string_equal(world_text(&w, 0, 1),
	                    "[3 earlier rounds of this conversation were cut here to make room.]");
	prepare(&w);
	assert_int_equal(w.report.n, 0);
	/* one marker, its count grows */
	for (int k = 2; k <= 3; k++) {
		char marker[100];
		for (int i = 0; i < 3; i++)
			world_round(&w, "Keep", "b.c", 3900);
		prepare(&w);
		assert_step(&w, 0, "snip");
		snprintf(marker, sizeof marker, "[%d earlier rounds of this conversation were cut here to make room.]",
		         3 * k);
		assert_string_equal(world_text(&w, 0, 1), marker);
		assert_int_equal(w.h.v[0]->n, k == 2 ? 2 : 3); /* the user's words of a round that went are the third */
	}
	assert_true(world_forgot(&w, 9));
	assert_false(world_forgot(&w, 10));
	world_release(&w);
}

/* A summary covers what was cut: the next marker counts anew. */
static void test_snip_after_compaction(void **state)
{
	struct world w;

	(void)state;
	world_open(&w, 10000, 0);
	only(&w, 0, 0, 8500);
	world_says(&w, "task");
	for (int k = 0; k < 2; k++) {
		while (world_tokens(&w) < 8500)
			world_round(&w, "Keep", "a.c", 7900);
		prepare(&w);
		assert_step(&w, 0, "snip");
		/* behind the task, and then behind the summary too */
		assert_string_equal(world_text(&w, 0, w.h.v[0]->n - 1),
		                    "[2 earlier rounds of this conversation were cut here to make room.]");
		assert_int_equal(w.h.v[0]->n, 2 + k);
		assert_int_equal(context_compact_apply(w.c, &w.h, "S", 1, NULL, 0, SIZE_MAX, &w.report), 0);
		assert_int_equal(w.h.v[0]->n, 2);
	}
	world_release(&w);
}

/* Each layer works on what those before it have left over. */
static void test_handed_on(void **state)
{
	struct world w;

	(void)state;
	world_open(&w, 10000, 0);
	world_says(&w, "task");
	for (int i = 0; i < 6; i++)
		world_round(&w, i == 2 ? "Read" : "Keep", "a.c", 5800);
	prepare(&w);
	assert_int_equal(w.report.n, 1); /* microcompact alone got below collapse's mark */
	assert_step(&w, 0, "microcompact");
	world_round(&w, "Keep", "a.c", 5800);
	prepare(&w);
	assert_step(&w, 0, "collapse");
	world_release(&w);

	world_open(&w, 10000, 0);
	world_says(&w, "task");
	for (int i = 0; i < 8; i++)
		world_round(&w, i == 2 ? "Read" : "Keep", "a.c", 5800);
	prepare(&w);
	assert_int_equal(w.report.n, 2);
	assert_step(&w, 0, "microcompact");
	assert_step(&w, 1, "collapse");
	assert_int_equal(w.report.steps[1].before, w.report.steps[0].before - w.report.steps[0].freed);
	world_release(&w);
}

/* ---- thinking ---- */

static void thoughts(struct world *w)
{
	struct buf shape = BUF_INIT(1000);

	world_says(w, "task");
	for (int i = 0; i < 4; i++) {
		world_thinks(w);
		world_round(w, "Read", "a.c", 3000);
	}
	world_thinks(w);
	world_says(w, "go on");
	assert_string_equal(world_shape(w, &shape), "T KC R KC R KC R KC R K T");
	buf_release(&shape);
}

static void test_thinking(void **state)
{
	static const struct {
		const char *what;
		int64_t microcompact, collapse;
		bool bound, budgeted;
		const char *shape;
		bool broken;
	} cases[] = {
		{ "untouched", 2000, 0, false, false, "T KC R KC R KC R KC R K T", false },
		{ "untouched in rounds that stay", 0, 2500, false, false, "TT KC R K T", false },
		{ "bound to what stood before", 2000, 0, true, false, "T C R C R C R C RT", false },
		{ "bound, and folded", 0, 2500, true, false, "TT C RT", false },
		{ "not needed before the last user text", 0, 2500, false, true, "TT KC R K T", false },
	};
	struct buf shape = BUF_INIT(1000);

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct world w;
		world_open(&w, 10000, 2);
		w.model.thinking_bound = cases[i].bound;
		w.model.thinking_budgeted = cases[i].budgeted;
		only(&w, cases[i].microcompact, cases[i].collapse, 0);
		thoughts(&w);
		prepare(&w);
		assert_int_equal(w.report.n, 1);
		assert_string_equal(world_shape(&w, &shape), cases[i].shape);
		assert_int_equal(w.report.thinking_broken, cases[i].broken);
		world_release(&w);
	}
	buf_release(&shape);
}

/* With a budget the answers since the user's last words need their thinking. */
static void test_thinking_broken(void **state)
{
	static const struct {
		int64_t microcompact, collapse;
		bool bound, words, broken;
	} cases[] = {
		{ 2000, 0, false, false, false }, /* clearing results takes no thinking */
		{ 2000, 0, true, false, true },   /* but what is bound goes with any edit */
		{ 0, 2500, false, false, true },  /* folding takes the rounds with it */
		{ 0, 2500, true, false, true },
		{ 0, 2500, false, true, false }, /* rounds before the user's last words do not count */
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct world w;
		world_open(&w, 10000, 1);
		w.model.thinking_bound = cases[i].bound;
		w.model.thinking_budgeted = true;
		only(&w, cases[i].microcompact, cases[i].collapse, 0);
		world_says(&w, "task");
		for (int k = 0; k < 4; k++) {
			world_thinks(&w);
			world_round(&w, "Read", "a.c", 3000);
		}
		if (cases[i].words) {
			world_answers(&w, "done");
			world_says(&w, "go on");
		}
		world_thinks(&w);
		world_round(&w, "Read", "a.c", 30);
		prepare(&w);
		assert_int_equal(w.report.n, 1);
		assert_int_equal(w.report.thinking_broken, cases[i].broken);
		world_release(&w);
	}
}

static void test_strip(void **state)
{
	struct world w;
	struct buf shape = BUF_INIT(1000);

	(void)state;
	world_open(&w, 10000, 1);
	thoughts(&w);
	assert_int_equal(context_strip_thinking(&w.h), 1);
	world_check(&w);
	assert_string_equal(world_shape(&w, &shape), "T C R C R C R C RT");
	assert_int_equal(context_strip_thinking(&w.h), 0);
	buf_release(&shape);
	world_release(&w);
}

/* ---- what a turn costs ---- */

static void turns(void *ctx, size_t n)
{
	struct world w;

	(void)ctx;
	world_open(&w, INT64_MAX / 8, 5);
	world_says(&w, "task");
	for (size_t i = 0; i < n; i++) {
		world_round(&w, "Read", "a.c", 100);
		assert_int_equal(context_prepare(w.c, &w.h, world_tokens(&w), &w.report), 0);
	}
	world_release(&w);
}

static void folded_turns(void *ctx, size_t n)
{
	struct world w;

	(void)ctx;
	world_open(&w, 10000, 5);
	world_says(&w, "task");
	for (size_t i = 0; i < n; i++) {
		world_round(&w, "Read", "a.c", 2000);
		assert_int_equal(context_prepare(w.c, &w.h, world_tokens(&w), &w.report), 0);
	}
	world_release(&w);
}

/* A line for each round that was ever staged is looked up where it is. */
static void one_fold(void *ctx, size_t n)
{
	struct world w;

	(void)ctx;
	world_open(&w, INT64_MAX / 8, 5);
	world_says(&w, "task");
	for (size_t i = 0; i < n; i++)
		world_round(&w, "Read", "a.c", 500);
	assert_int_equal(context_drain(w.c, &w.h, world_tokens(&w), &w.report), 0);
	assert_int_equal(w.h.n, 3);
	world_release(&w);
}

static void test_cost(void **state)
{
	(void)state;
	assert_true(growth_is_linear(turns, NULL, 500));
	assert_true(growth_is_linear(folded_turns, NULL, 100));
	assert_true(growth_is_linear(one_fold, NULL, 500));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_microcompact),
		cmocka_unit_test(test_microcompact_small_gain),
		cmocka_unit_test(test_microcompact_unseen),
		cmocka_unit_test(test_microcompact_picture),
		cmocka_unit_test(test_collapse),
		cmocka_unit_test(test_collapse_cannot),
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_many_calls_in_a_line),
		cmocka_unit_test(test_words_stay),
		cmocka_unit_test(test_drain),
		cmocka_unit_test(test_summaries),
		cmocka_unit_test(test_summary_request_is_bounded),
		cmocka_unit_test(test_snip),
		cmocka_unit_test(test_snip_after_compaction),
		cmocka_unit_test(test_handed_on),
		cmocka_unit_test(test_thinking),
		cmocka_unit_test(test_thinking_broken),
		cmocka_unit_test(test_strip),
		cmocka_unit_test(test_cost),
	};
	return cmocka_run_group_tests_name("layers", tests, NULL, NULL);
}
