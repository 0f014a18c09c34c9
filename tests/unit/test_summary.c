/* Lines about rounds, asked for in the background: when, what becomes of them, and that they are nobody's trouble. */
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "loop_path.h"

#define LENGTH(a) (sizeof(a) / sizeof *(a))
#define S(...)                                                                                                         \
	{                                                                                                              \
		__VA_ARGS__, NULL                                                                                      \
	}

/* ---- what was asked for, seen in front of the simulator */

static struct watch {
	int (*start)(void *ctx, const struct model_request *req, struct error *e);
	void (*cancel)(void *ctx, enum model_kind kind);
	int (*emit)(void *ctx, struct event *ev, struct error *e);
	char kinds[256]; /* of the requests, in order: m(ain), s(ummary) */
	int cancelled;   /* summaries */
	int refuse;      /* so many summaries are not even begun */
	size_t blocks;   /* of the last summary's request */
	int64_t cap;
	struct model_usage models[4]; /* of the result */
	size_t nmodels;
	bool folded; /* the words of a summary stand in a main request */
} watch;

static int watch_start(void *ctx, const struct model_request *req, struct error *e)
{
	static const char letters[] = {
		[MODEL_MAIN] = 'm', [MODEL_COMPACT] = 'c', [MODEL_SUMMARY] = 's', [MODEL_COUNT] = 'n'
	};
	size_t n = strlen(watch.kinds);

	if (n + 1 < sizeof watch.kinds)
		watch.kinds[n] = letters[req->kind];
	for (size_t i = 0; req->kind == MODEL_MAIN && i < req->messages->n; i++)
		for (size_t k = 0; k < req->messages->v[i]->n; k++)
			watch.folded |= strstr(req->messages->v[i]->blocks[k]->json, "It looked") != NULL;
	if (req->kind != MODEL_SUMMARY)
		return watch.start(ctx, req, e);
	assert_string_equal(req->model, "small");
	assert_null(req->tools_json);
	assert_null(req->system);
	assert_null(req->thinking_json);
	assert_int_equal(req->messages->n, 1);
	watch.blocks = req->messages->v[0]->n;
	watch.cap = req->max_tokens;
	if (watch.refuse-- > 0)
		return error_set(e, ERR_INPUT, "no such model");
	return watch.start(ctx, req, e);
}

static void watch_cancel(void *ctx, enum model_kind kind)
{
	watch.cancelled += kind == MODEL_SUMMARY;
	watch.cancel(ctx, kind);
}

static int watch_emit(void *ctx, struct event *ev, struct error *e)
{
	if (ev->kind == EVENT_RESULT) {
		watch.nmodels = ev->u.result.nmodels;
		assert_true(watch.nmodels <= LENGTH(watch.models));
		memcpy(watch.models, ev->u.result.models, watch.nmodels * sizeof *watch.models);
	}
	return watch.emit(ctx, ev, e);
}

static void stand_before(struct loop_deps *deps)
{
	watch.start = deps->model_start;
	watch.cancel = deps->model_cancel;
	watch.emit = deps->emit;
	deps->model_start = watch_start;
	deps->model_cancel = watch_cancel;
	deps->emit = watch_emit;
}

static void begin(struct sim *s, const char *const *script)
{
	memset(&watch, 0, sizeof watch);
	sim_init(s, script);
	s->cfg.summary_model = "small";
	s->stand_before = stand_before;
}

static void finish(struct sim *s)
{
	sim_run(s, "do it");
	assert_string_equal(s->problem, "");
	assert_false(s->running_background);
}

/* Scripts hold the answers in the order of the requests: a round's summary is asked for before the next turn. */
static const struct path {
	const char *name;
	const char *script[16];
	const char *trace, *kinds;
	int exit_code, cancelled;
	const char *shows, *hides; /* beginnings of lines, or NULL */
	int64_t token_budget, max_requests, max_cost, max_turns, signal_at;
	int refuse;
	const char *messages[3]; /* that follow */
} paths[] = {
	{ "a round gets a line", S("use SafeA t1", "text It looked.", "text done"), "next_turn completed", "msm", 0 },
	{ "an answer without calls gets none", S("text done"), "completed", "m", 0 },
	{ "so does each later one",
	  S("use SafeA t1", "text It looked.", "use SafeA t2", "text It looked.", "text done"),
	  "next_turn next_turn completed", "msmsm", 0 },
	{ "one at a time: a round that ends meanwhile gets none",
	  S("use SafeA t1", "after 60000 | text It looked.", "use SafeA t2", "text done"),
	  "next_turn next_turn completed", "msmm", 0, 1 },
	{ "it is not waited for", S("use SafeA t1", "hang", "text done"), "next_turn completed", "msm", 0, 1 },
	{ "a silent one makes way in the end",
	  S("use SafeA t1", "hang", "text a | after 50000 | use SafeA t2", "text a | after 50000 | use SafeA t3",
	    "text a | after 50000 | use SafeA t4", "text It looked.", "text done"),
	  "next_turn next_turn next_turn next_turn completed", "msmmmsm", 0, 1 },
	{ "a failure is neither shown nor repeated",
	  S("use SafeA t1", "http 529 overloaded_error Overloaded", "text done"), "next_turn completed", "msm", 0, 0,
	  NULL, "retry" },
	{ "and no notice is given of one", S("use SafeA t1", "http 404 not_found_error x", "text done"),
	  "next_turn completed", "msm", 0, 0, NULL, "notice" },
	{ "after three in a row no more are asked for",
	  S("use SafeA t1", "http 404 not_found_error x", "use SafeA t2", "text  ", "use SafeA t3",
	    "text no | stop refusal", "use SafeA t4", "text done"),
	  "next_turn next_turn next_turn next_turn completed", "msmsmsmm", 0, 0, "notice summaries_off" },
	{ "one that came between them counts anew",
	  S("use SafeA t1", "cut", "use SafeA t2", "use SafeA x", "use SafeA t3", "text It looked.", "use SafeA t4",
	    "html", "text done"),
	  "next_turn next_turn next_turn next_turn completed", "msmsmsmsm", 0, 0, NULL, "notice" },
	{ "one that cannot even be asked for", S("use SafeA t1", "use SafeA t2", "use SafeA t3", "text done"),
	  "next_turn next_turn next_turn completed", "msmsmsm", 0, 0, "notice summaries_off", .refuse = 3 },
	{ "near the end of a budget of tokens there is none", S("usage 8900 100 | use SafeA t1", "text done"),
	  "next_turn completed", "mm", 0, .token_budget = 10000 },
	{ "nor where it might use up what is left", S("usage 500 10 | use SafeA t1", "text done"),
	  "next_turn completed", "mm", 0, .token_budget = 800 },
	{ "nor near the end of the money", S("usage 1000 1 | use SafeA t1", "text done"), "next_turn completed", "mm",
	  0, .max_cost = 1100000 },
	{ "nor of the requests", S("use SafeA t1", "text done"), "next_turn completed", "mm", 0, .max_requests = 2 },
	{ "it counts as a request", S("use SafeA t1", "text It looked.", "use SafeA t2", "use SafeA t3", "text never"),
	  "next_turn next_turn next_turn budget_exhausted", "msmm", 13, 0, NULL, NULL, .max_requests = 4 },
	{ "its tokens count", S("use SafeA t1", "usage 3000 10 | text It looked.", "use SafeA t2", "text never"),
	  "next_turn next_turn budget_exhausted", "msm", 13, 0, NULL, NULL, .token_budget = 3100 },
	{ "it gives way when the budget would not hold both",
	  S("usage 1000 10 | use SafeA t1", "hang", "usage 1000 10 | use SafeA t2", "text done"),
	  "next_turn next_turn completed", "msmm", 0, 1, NULL, NULL, .token_budget = 2300 },
	{ "no turn may follow: no line is asked for", S("use SafeA t1"), "next_turn max_turns", "m", 10,
	  .max_turns = 1 },
	{ "it ends with a signal", S("use SafeA t1", "hang", "hang"), "next_turn aborted_streaming", "msm", 143, 1,
	  .signal_at = 9000 },
	{ "and while a call is ended", S("use SafeA t1", "after 8400 | text It looked.", "use Slow t2"),
	  "next_turn aborted_tools", "msm", 143, 0, .signal_at = 9000 },
	{ "also behind a salvaged answer", S("use UnsafeA t1 | text x | cut", "text It looked.", "text done"),
	  "salvaged_stream completed", "msm", 0 },
	{ "it ends with the message that it belongs to, and the next one has its own",
	  S("use SafeA t1", "hang", "text a", "use SafeA t2", "text It looked.", "text b"),
	  "next_turn completed / next_turn completed", "msmmsm", 0, 1, .messages = S("more") },
	{ "and what was kept free for it is free again",
	  S("usage 300 10 | use SafeA t1", "hang", "usage 300 10 | text a", "usage 300 10 | use SafeA t2", "hang",
	    "usage 300 10 | text b"),
	  "next_turn completed / next_turn completed", "msmmsm", 0, 2, .token_budget = 1450, .messages = S("more") },
	{ "its tokens count for the next message too",
	  S("use SafeA t1", "usage 3000 10 | text It looked.", "text a", "text never"),
	  "next_turn completed / budget_exhausted", "msm", 13, 0, .token_budget = 3100, .messages = S("more") },
};

static void run_path(void **state)
{
	const struct path *p = *state;
	static struct sim s;

	begin(&s, p->script);
	s.cfg.token_budget = p->token_budget;
	s.cfg.max_requests = p->max_requests;
	s.cfg.max_cost_nano_usd = p->max_cost;
	if (p->max_turns)
		s.cfg.max_turns = p->max_turns;
	s.signal_at = p->signal_at;
	watch.refuse = p->refuse;
	s.messages = p->messages;
	finish(&s);
	assert_trace(&s, p->trace);
	assert_string_equal(watch.kinds, p->kinds);
	assert_int_equal(s.out.exit_code, p->exit_code);
	assert_int_equal(watch.cancelled, p->cancelled);
	assert_shows(&s, p->shows);
	assert_hides(&s, p->hides);
	sim_release(&s);
}

static void it_has_a_row_of_its_own_in_the_result(void **state)
{
	static const char *const script[] = { "usage 100 10 | use SafeA t1", "usage 40 4 | text It looked.",
		                              "usage 200 20 | text done", NULL };
	static struct sim s;

	(void)state;
	begin(&s, script);
	finish(&s);
	assert_int_equal(watch.nmodels, 2);
	assert_string_equal(watch.models[0].model, "sim");
	assert_int_equal(watch.models[0].usage.input, 300);
	assert_string_equal(watch.models[1].model, "small");
	assert_int_equal(watch.models[1].usage.input, 40);
	assert_int_equal(watch.models[1].usage.output, 4);
	assert_int_equal(watch.blocks, 1);
	assert_int_equal(watch.cap, 200);
	sim_release(&s);
}

/* What was counted of an answer when it was given up is paid. */
static void a_cancelled_one_is_paid_as_far_as_it_came(void **state)
{
	static const char *const script[] = { "use SafeA t1", "usage 40 4 | text It | hang", "text done", NULL };
	static struct sim s;

	(void)state;
	begin(&s, script);
	finish(&s);
	assert_int_equal(watch.nmodels, 2);
	assert_int_equal(watch.models[1].usage.input, 40);
	sim_release(&s);
}

static void a_model_that_thinks_gets_room_for_it(void **state)
{
	static const char *const script[] = { "use SafeA t1", "thinking hm | text It looked.", "text done", NULL };
	static struct sim s;

	(void)state;
	begin(&s, script);
	s.cfg.summary_model = "claude-haiku-5-5";
	s.stand_before = NULL;
	finish(&s);
	assert_int_equal(s.max_tokens_sent[1], 2000);
	sim_release(&s);
}

/* Folded rounds are told in the model's words, or in ours where it had none. */
static void its_words_stand_where_the_round_is_folded(void **state)
{
#define ROUND(id) "use UnsafeB " id " {\"size\":7000}"
	static const char *const script[] = {
		ROUND("t1"), "text It looked.", ROUND("t2"), "http 404 not_found_error x", ROUND("t3"), "hang",
		ROUND("t4"), "text done",       NULL
	};
	static const struct catalog_row row = { "sim", 10000, 64000, { 1000, 1250, 2000, 100, 5000 }, 0, { 0 }, 0 };
	static struct sim s;

	(void)state;
	begin(&s, script);
	s.cfg.row = &row;
	s.cfg.context = (struct context_spec){ .microcompact_keep = 5 };
	s.cfg.context.autocompact.kind = s.cfg.context.microcompact.kind = s.cfg.context.snip.kind = MARK_OFF;
	s.bytes_per_token = 4;
	s.window = 1000000;
	finish(&s);
	if (!sim_line(&s, "context collapse") || !watch.folded) {
		for (size_t i = 0; i < s.nlines; i++)
			print_message("# %.100s\n", s.lines[i]);
		fail_msg("no fold has the words");
	}
	sim_release(&s);
}

int main(void)
{
	struct CMUnitTest tests[LENGTH(paths) + 4];
	size_t n = 0;

	for (size_t i = 0; i < LENGTH(paths); i++)
		tests[n++] = (struct CMUnitTest){ paths[i].name, run_path, NULL, NULL, (void *)(uintptr_t)&paths[i] };
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(it_has_a_row_of_its_own_in_the_result);
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(a_cancelled_one_is_paid_as_far_as_it_came);
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(a_model_that_thinks_gets_room_for_it);
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(its_words_stand_where_the_round_is_folded);
	return cmocka_run_group_tests_name("summary", tests, NULL, NULL);
}
