/*
 * The layers out of memory: each call is made again and again, with the first, second, third ... allocation in it
 * failing, until none fails. Each time it must say so and leave a history that is in order.
 */
#include "test.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "context_world.h"

static long left = -1; /* allocations until one fails, negative: none does */
static bool failed;

static bool fails(void)
{
	if (left < 0 || left-- > 0)
		return false;
	failed = true;
	return true;
}

void *__real_malloc(size_t n);
void *__wrap_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t n);
void *__wrap_realloc(void *p, size_t n);
char *__real_strdup(const char *s);
char *__wrap_strdup(const char *s);
char *__real_strndup(const char *s, size_t n);
char *__wrap_strndup(const char *s, size_t n);

void *__wrap_malloc(size_t n)
{
	return fails() ? NULL : __real_malloc(n);
}

void *__wrap_calloc(size_t n, size_t size)
{
	return fails() ? NULL : __real_calloc(n, size);
}

/* Giving back what is not needed is no allocation: that it fails is nothing to see. */
void *__wrap_realloc(void *p, size_t n)
{
	if (p && n <= malloc_usable_size(p))
		return __real_realloc(p, n);
	return fails() ? NULL : __real_realloc(p, n);
}

char *__wrap_strdup(const char *s)
{
	return fails() ? NULL : __real_strdup(s);
}

char *__wrap_strndup(const char *s, size_t n)
{
	return fails() ? NULL : __real_strndup(s, n);
}

/* ---- the calls ---- */

static int round_ended(struct world *w)
{
	return context_round_ended(w->c, &w->h);
}

static int prepare(struct world *w)
{
	int rc = context_prepare(w->c, &w->h, world_tokens(w), &w->report);

	left = -1;
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
	left = -1;
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

	left = -1;
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
	failed = false;
	left = nth;
	int rc = calls[k].call(&w);
	left = -1;
	assert_int_equal(rc, failed ? -1 : 0);
	world_check(&w);
	/* and it can be done when there is memory again */
	if (failed && calls[k].call != prepare && calls[k].call != snip)
		assert_int_equal(calls[k].call(&w), 0);
	world_check(&w);
	world_release(&w);
	return failed;
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
	left = 0;
	struct context *c = context_open(&cfg, &e);
	left = -1;
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
