/*
 * The layers out of memory: each call is made again and again, with the first, second, third ... allocation in it
 * failing, until none fails. Each time it must say so and leave a history that is in order.
 */
#include "test.h"

#include <stdlib.h>
#include <string.h>

#include "context_world.h"
#include "nomem.h"

/* ---- the calls ---- */

static int round_ended(struct world *w)
{
	return context_round_ended(w->c, &w->h);
}

static int prepare(struct world *w)
{
	int rc = context_prepare(w->c, &w->h, world_tokens(w), &w->report);

	nomem.left = -1;
	if (!rc)
		assert_int_equal(w->report.n, 2);
	return rc;
}

static int snip(struct world *w)
{
	w->model.marks.snip = w->model.marks.usable;
	w->model.marks.microcompact = w->model.marks.collapse = 0;
	context_set_model(w->c, &w->model);
	int rc = context_prepare(w->c, &w->h, world_tokens(w), &w->report);
	nomem.left = -1;
	if (!rc)
		assert_string_equal(w->report.steps[0].name, "snip");
	return rc;
}

static int drain(struct world *w)
{
	return context_drain(w->c, &w->h, world_tokens(w), &w->report);
}

static int strip(struct world *w)
{
	return context_strip_thinking(&w->h) < 0 ? -1 : 0;
}

static int request(struct world *w, const struct compact_request *how)
{
	struct history out = HISTORY_INIT;
	int rc = context_compact_request(w->c, &w->h, how, &out);

	nomem.left = -1;
	assert_int_equal(history_check(&out, false, NULL), 0);
	assert_int_equal(out.n == 0, rc != 0);
	history_release(&out);
	return rc;
}

static int request_whole(struct world *w)
{
	const struct compact_request how = { .strip = true };

	return request(w, &how);
}

static int request_less(struct world *w)
{
	const struct compact_request how = { .leave_out = 3 };

	return request(w, &how);
}

static int apply(struct world *w)
{
	static char content[] = "content";
	const struct buf files[] = { { content, 7, 8, 100, ERR_NONE }, { NULL, 0, 0, 100, ERR_NONE } };

	return context_compact_apply(w->c, &w->h, "summary", 7, files, 2, SIZE_MAX, &w->report);
}

static int summary_request(struct world *w)
{
	struct history out = HISTORY_INIT;
	int rc = context_summary_request(&w->h, &out);

	history_release(&out);
	return rc;
}

static int round_summary(struct world *w)
{
	return context_round_summary(w->c, "c2", "words", 5);
}

static const struct {
	const char *name;
	int (*call)(struct world *w);
} calls[] = {
	{ "round_ended", round_ended },
	{ "prepare", prepare },
	{ "snip", snip },
	{ "drain", drain },
	{ "strip", strip },
	{ "request_whole", request_whole },
	{ "request_less", request_less },
	{ "apply", apply },
	{ "summary_request", summary_request },
	{ "round_summary", round_summary },
};

static void build(struct world *w)
{
	char task[3000];

	memset(task, 't', sizeof task - 1);
	task[sizeof task - 1] = '\0';
	world_open(w, 4000, 0);
	w->model.thinking_bound = true;
	context_set_model(w->c, &w->model);
	world_says(w, task); /* longer than a compaction carries along */
	world_says(w, "and more");
	for (int i = 0; i < 6; i++) {
		world_thinks(w);
		world_round(w, i < 2 ? "Read" : "Keep", "a.c", 2400);
		if (i == 3)
			world_says(w, "my words");
	}
	world_thinks(w);
	world_says(w, "and mine");
	world_calls(w, "Read", "{\"file_path\":\"b.c\"}");
	world_results(w, 2400, false);
}

/* Returns whether an allocation failed. */
static bool try_one(size_t k, long nth)
{
	struct world w;

	build(&w);
	nomem.failed = false;
	nomem.left = nth;
	int rc = calls[k].call(&w);
	nomem.left = -1;
	assert_int_equal(rc, nomem.failed ? -1 : 0);
	world_check(&w);
	/* and it can be done when there is memory again */
	if (nomem.failed && calls[k].call != prepare && calls[k].call != snip)
		assert_int_equal(calls[k].call(&w), 0);
	world_check(&w);
	world_release(&w);
	return nomem.failed;
}

static void test_each(void **state)
{
	(void)state;
	for (size_t k = 0; k < sizeof calls / sizeof calls[0]; k++) {
		long nth = 0;
		while (try_one(k, nth))
			nth++;
		print_message("%s: %ld allocations\n", calls[k].name, nth);
		assert_true(nth > 0);
	}
}

static void test_open(void **state)
{
	struct context_config cfg = { 0 };
	struct error e = ERROR_INIT;

	(void)state;
	nomem.left = 0;
	struct context *c = context_open(&cfg, &e);
	nomem.left = -1;
	assert_null(c);
	assert_int_equal(e.code, ERR_NOMEM);
	context_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each),
		cmocka_unit_test(test_open),
	};
	return cmocka_run_group_tests_name("context_nomem", tests, NULL, NULL);
}
