/* Going on with another model: when, with what of the conversation, and what is withdrawn before. */
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "loop_path.h"
#include "model/request.h"

#define LENGTH(a) (sizeof(a) / sizeof *(a))
#define S(...)                                                                                                         \
	{                                                                                                              \
		__VA_ARGS__, NULL                                                                                      \
	}
#define OVER "http 529 overloaded_error Overloaded"

/* ---- what was asked for, seen in front of the simulator */

static struct watch {
	int (*start)(void *ctx, const struct model_request *req, struct error *e);
	int (*emit)(void *ctx, struct event *ev, struct error *e);
	char models[1024]; /* of the requests, in order */
	int64_t caps[64];
	unsigned without[64];
	bool thought[64]; /* there was thinking in it */
	int n;
	char withdrawn[UUID_LEN + 1]; /* of a result that a tombstone has to name */
	int named;
} watch;

static bool has_thinking(const struct history *h)
{
	for (size_t i = 0; i < h->n; i++)
		for (size_t k = 0; k < h->v[i]->n; k++)
			if (block_is_thinking(h->v[i]->blocks[k]))
				return true;
	return false;
}

static int watch_start(void *ctx, const struct model_request *req, struct error *e)
{
	size_t n = strlen(watch.models);

	if (req->kind != MODEL_COUNT && watch.n < 64) {
		snprintf(watch.models + n, sizeof watch.models - n, "%s%s", n ? " " : "", req->model);
		watch.caps[watch.n] = req->max_tokens;
		watch.without[watch.n] = req->without;
		watch.thought[watch.n++] = has_thinking(req->messages);
	}
	return watch.start(ctx, req, e);
}

static int watch_emit(void *ctx, struct event *ev, struct error *e)
{
	int r = watch.emit(ctx, ev, e);
	const struct block *b = ev->kind == EVENT_USER ? ev->u.user.block : NULL;

	if (b && b->kind == BLOCK_TOOL_RESULT && strstr(b->json, ":\"Model fallback triggered\""))
		snprintf(watch.withdrawn, sizeof watch.withdrawn, "%s", ev->uuid);
	for (size_t i = 0; ev->kind == EVENT_TOMBSTONE && i < ev->u.tombstone.n; i++)
		watch.named += *watch.withdrawn && !strcmp(ev->u.tombstone.uuids[i], watch.withdrawn);
	return r;
}

static double no_jitter(void *ctx)
{
	(void)ctx;
	return 0;
}

static void stand_before(struct loop_deps *deps)
{
	watch.start = deps->model_start;
	watch.emit = deps->emit;
	deps->model_start = watch_start;
	deps->emit = watch_emit;
	deps->random01 = no_jitter;
}

static const struct catalog_row small_row = { "b", 200000, 4000, { 1000, 1250, 2000, 100, 5000 }, 0, { 0 }, 0 };
static const struct catalog_row large_row = { "c", 200000, 128000, { 1000, 1250, 2000, 100, 5000 }, 0, { 0 }, 0 };
static const struct loop_model others[] = { { "b", &small_row }, { "c", &large_row } };

static void begin(struct sim *s, const char *const *script, size_t fallbacks)
{
	memset(&watch, 0, sizeof watch);
	sim_init(s, script);
	s->cfg.model = "a";
	s->cfg.fallbacks = others;
	s->cfg.nfallbacks = fallbacks;
	s->stand_before = stand_before;
}

static void finish(struct sim *s)
{
	sim_run(s, "do it");
	assert_string_equal(s->problem, "");
}

/* ---- when */

static const struct path {
	const char *name;
	const char *script[16];
	const char *trace, *models;
	int exit_code, turns;
	const char *shows, *hides; /* beginnings of lines, or NULL */
	size_t fallbacks;
	int64_t retries; /* -1 = none; 0 = the default */
	int64_t signal_at;
} paths[] = {
	{ "after three overloads the next model is asked", S(OVER, OVER, OVER, "text hi"), "model_fallback completed",
	  "a a a b", 0, 1, "switch a b", "retry 3", 2 },
	{ "and after three more the one behind it", S(OVER, OVER, OVER, OVER, OVER, OVER, "text hi"),
	  "model_fallback model_fallback completed", "a a a b b b c", 0, 1, "switch b c", "synthetic", 2 },
	{ "each once: then the retries go on to their end",
	  S(OVER, OVER, OVER, OVER, OVER, OVER, OVER, OVER, "text never"), "model_fallback model_error",
	  "a a a b b b b b", 75, 0, "synthetic overloaded", "switch b", 1, 4 },
	{ "without another model nothing changes", S(OVER, OVER, OVER, "text hi"), "completed", "a a a a", 0, 1,
	  "retry 3", "switch", 0 },
	{ "another failure between them counts anew", S(OVER, OVER, "http 500 api_error x", OVER, OVER, "text hi"),
	  "completed", "a a a a a a", 0, 1, NULL, "switch", 2 },
	{ "so does an answer", S(OVER, OVER, "use SafeA t1", OVER, OVER, "text hi"), "next_turn completed",
	  "a a a a a a", 0, 2, NULL, "switch", 2 },
	{ "a full service is no overloaded one",
	  S("http 429 rate_limit_error x", "http 429 rate_limit_error x", "http 429 rate_limit_error x", "text hi"),
	  "completed", "a a a a", 0, 1, NULL, "switch", 2 },
	{ "an overload in a stream is one",
	  S(OVER, OVER, "text a | text b | stream overloaded_error Overloaded", "text hi"), "model_fallback completed",
	  "a a a b", 0, 1, "tombstone 1", "retry 3", 2 },
	{ "it goes on with the model for good", S(OVER, OVER, OVER, "use SafeA t1", "use SafeA t2", "text hi"),
	  "model_fallback next_turn next_turn completed", "a a a b b b", 0, 3, NULL, "switch b", 2 },
	{ "in a later turn it is that turn again", S("use SafeA t1", OVER, OVER, OVER, "use SafeA t2", "text hi"),
	  "next_turn model_fallback next_turn completed", "a a a a b b", 0, 3, NULL, NULL, 2 },
	/* where the retries would end, another model is better than none */
	{ "when no retry is left", S(OVER, "text hi"), "model_fallback completed", "a b", 0, 1, "switch a b", "retry",
	  2, -1 },
	{ "when the server asks for a longer wait than we have",
	  S("http 529 overloaded_error x | retry-after 400000", "text hi"), "model_fallback completed", "a b", 0, 1,
	  NULL, "retry", 2 },
	{ "no other failure leads there", S("http 500 api_error x", "text never"), "model_error", "a", 75, 0,
	  "synthetic server_error", "switch", 2, -1 },
	/* what the attempt showed */
	{ "calls that were shown are answered for the eye, and withdrawn",
	  S(OVER, OVER, "use SafeA t1 | text x | stream overloaded_error Overloaded", "text hi"),
	  "model_fallback completed", "a a a b", 0, 1, "result t1 error Model fallback triggered", NULL, 2 },
	{ "calls that were not shown are not",
	  S(OVER, OVER, "use SafeA t1 | stream overloaded_error Overloaded", "text hi"), "model_fallback completed",
	  "a a a b", 0, 1, NULL, "result t1", 2 },
	{ "a call that runs is ended, and may be made again",
	  S(OVER, OVER, "use SafeA t1 {\"ms\":90000} | text x | stream overloaded_error Overloaded", "use SafeA t1",
	    "text hi"),
	  "model_fallback next_turn completed", "a a a b b", 0, 2, "result t1 ok", NULL, 2 },
	{ "what has effects is kept, and the next request goes to the other model",
	  S(OVER, OVER, "use UnsafeA t1 | text x | stream overloaded_error Overloaded", "text hi"),
	  "salvaged_stream completed", "a a a b", 0, 2, "result t1 ok", "tombstone", 2 },
	{ "three of these in a row are three overloads",
	  S("use UnsafeA t1 | text x | stream overloaded_error Overloaded",
	    "use UnsafeA t2 | text x | stream overloaded_error Overloaded",
	    "use UnsafeA t3 | text x | stream overloaded_error Overloaded", "text hi"),
	  "salvaged_stream salvaged_stream salvaged_stream completed", "a a a b", 0, 4, "switch a b", "synthetic", 2 },
	{ "a signal ends the run instead",
	  S(OVER, OVER, "use SafeA t1 {\"ms\":90000} | text x | stream overloaded_error Overloaded", "text never"),
	  "aborted_streaming", "a a a", 143, 0, NULL, "switch", 2, 0, 16500 },
};

static void run_path(void **state)
{
	const struct path *p = *state;
	static struct sim s;

	begin(&s, p->script, p->fallbacks);
	if (p->retries)
		s.cfg.retry.max_retries = p->retries < 0 ? 0 : (int)p->retries;
	s.signal_at = p->signal_at;
	finish(&s);
	assert_trace(&s, p->trace);
	assert_string_equal(watch.models, p->models);
	assert_int_equal(s.out.exit_code, p->exit_code);
	assert_turns(&s, p->turns);
	assert_shows(&s, p->shows);
	assert_hides(&s, p->hides);
	assert_int_equal(watch.named, *watch.withdrawn ? 1 : 0);
	sim_release(&s);
}

/* ---- with what */

static void a_larger_cap_than_the_next_model_has_is_not_asked_for(void **state)
{
	static const char *const script[] = {
		"text part | stop max_tokens", OVER, OVER, OVER, OVER, OVER, OVER, "text x", NULL
	};
	static struct sim s;

	(void)state;
	begin(&s, script, 2);
	finish(&s);
	assert_int_equal(watch.caps[0], 8000);
	assert_int_equal(watch.caps[1], 64000); /* raised */
	assert_int_equal(watch.caps[4], 4000);
	assert_int_equal(watch.caps[7], 64000);
	sim_release(&s);
}

static void what_the_server_took_from_the_first_holds_for_the_first(void **state)
{
	static const char *const script[] = { "http 400 invalid_request_error max_tokens: 128000 > 3000, which is the "
		                              "maximum allowed number of output "
		                              "tokens for x",
		                              OVER,
		                              OVER,
		                              OVER,
		                              "text x",
		                              NULL };
	static struct sim s;

	(void)state;
	begin(&s, script, 1);
	finish(&s);
	assert_int_equal(watch.caps[1], 3000);
	assert_int_equal(watch.caps[4], 4000);
	sim_release(&s);
}

static void refused_settings_are_tried_with_the_next_model(void **state)
{
	static const char *const script[] = {
		"http 400 invalid_request_error output_config.effort: not supported by this model",
		"http 400 invalid_request_error cache_control: Extra inputs are not permitted",
		OVER,
		OVER,
		OVER,
		"text x",
		NULL
	};
	static struct sim s;

	(void)state;
	begin(&s, script, 1);
	s.cfg.effort = "low";
	finish(&s);
	assert_int_equal(sim_count(&s, "notice request_repaired"), 2);
	assert_int_equal(watch.without[4], WITHOUT_EFFORT | WITHOUT_CACHE_MARKS);
	assert_int_equal(watch.without[5], WITHOUT_CACHE_MARKS); /* the service minds it, whatever model answers */
	sim_release(&s);
}

static void no_thinking_goes_to_another_model(void **state)
{
	static const char *const script[] = { "thinking hm | use SafeA t1", OVER,     OVER, OVER,
		                              "thinking so | use SafeA t2", "text x", NULL };
	static struct sim s;

	(void)state;
	begin(&s, script, 1);
	finish(&s);
	assert_string_equal(watch.models, "a a a a b b");
	assert_true(watch.thought[3]);
	assert_false(watch.thought[4]);
	assert_true(watch.thought[5]); /* its own */
	assert_int_equal(watch.without[4], 0);
	sim_release(&s);
}

/* With a budget the API wants the thinking that led to a call back: without it the request asks for none. */
static void a_budget_of_thinking_is_left_out_once_inside_a_tool_loop(void **state)
{
	static const char *const script[] = {
		"thinking hm | use SafeA t1", OVER, OVER, OVER, "use SafeA t2", "text x", NULL
	};
	static const char *const outside[] = { "thinking hm | text y", OVER, OVER, OVER, "text x", NULL };
	static struct sim s;

	(void)state;
	begin(&s, script, 1);
	s.cfg.thinking_json = "{\"type\":\"enabled\",\"budget_tokens\":2000}";
	finish(&s);
	assert_int_equal(watch.without[3], 0);
	assert_int_equal(watch.without[4], WITHOUT_THINKING);
	assert_int_equal(watch.without[5], 0);
	sim_release(&s);
	begin(&s, outside, 1);
	s.cfg.thinking_json = "{\"type\":\"enabled\",\"budget_tokens\":2000}";
	finish(&s);
	assert_int_equal(watch.without[4], 0);
	sim_release(&s);
}

#define ROUND(id) "use UnsafeB " id " {\"size\":3400}"

/* The one has made the conversation fit; in the same turn the next, with a smaller window, does so again. */
static void each_model_may_summarise_in_a_turn(void **state)
{
	static const char *const script[] = { ROUND("t1"), ROUND("t2"), ROUND("t3"), ROUND("t4"),  ROUND("t5"),
		                              ROUND("t6"), ROUND("t7"), ROUND("t8"), "text first", OVER,
		                              OVER,        OVER,        "text next", "text done",  NULL };
	static const struct catalog_row first = { "a", 10000, 64000, { 1000, 1250, 2000, 100, 5000 }, 0, { 0 }, 0 };
	static const struct catalog_row narrow = { "b", 2400, 64000, { 1000, 1250, 2000, 100, 5000 }, 0, { 0 }, 0 };
	static const struct loop_model next[] = { { "b", &narrow } };
	static struct sim s;

	(void)state;
	begin(&s, script, 1);
	s.window = 1000000;
	s.bytes_per_token = 4;
	s.cfg.row = &first;
	s.cfg.fallbacks = next;
	s.cfg.context.microcompact.kind = s.cfg.context.collapse.kind = s.cfg.context.snip.kind = MARK_OFF;
	finish(&s);
	assert_string_equal(watch.models, "a a a a a a a a a a a a b b");
	assert_int_equal(sim_count(&s, "compact auto"), 2);
	assert_int_equal(s.out.exit_code, 0);
	sim_release(&s);
}

/* ---- a history of one model is valid for the next: random ones, stripped and sent */

static uint64_t rng;

static unsigned draw(unsigned below)
{
	rng ^= rng << 13;
	rng ^= rng >> 7;
	rng ^= rng << 17;
	return (unsigned)(rng % below);
}

static struct block *random_block(bool user, unsigned *calls)
{
	static const char *const fixed[] = {
		"{\"type\":\"thinking\",\"thinking\":\"a \\\"b\\\" \\u00e9\",\"signature\":\"c2ln\"}",
		"{\"type\":\"thinking\",\"thinking\":\"\",\"signature\":\"s\"}",
		"{\"type\":\"redacted_thinking\",\"data\":\"ZGF0YQ==\"}",
		"{\"type\":\"server_tool_use\",\"id\":\"srv\",\"name\":\"web_search\",\"input\":{}}",
		"{\"type\":\"image\",\"source\":{\"type\":\"base64\",\"media_type\":\"image/png\",\"data\":\"aGk=\"}}",
	};
	struct error e = ERROR_INIT;
	unsigned kind = user ? 4 + draw(3) : draw(8);
	char id[32];

	if (kind < 4 || (user && kind == 4))
		return block_from_json(fixed[kind], strlen(fixed[kind]), &e);
	if (kind < 6 || user)
		return block_new_text("word \xc3\xa9 \"x\"", 11);
	snprintf(id, sizeof id, "t%u", (*calls)++);
	return block_new_tool_use(id, "SafeA", "{ \"a\" : 1 }", 11);
}

static void random_history(struct history *h)
{
	unsigned calls = 0, answered = 0, rounds = draw(12);

	for (unsigned i = 0; i <= 2 * rounds; i++) {
		struct message *m = message_new(i % 2 ? ROLE_ASSISTANT : ROLE_USER);
		char id[32];
		while (!(i % 2) && answered < calls) {
			snprintf(id, sizeof id, "t%u", answered++);
			assert_int_equal(message_add(m, block_new_tool_result(id, "found", 5, draw(2))), 0);
		}
		for (unsigned n = draw(4) + !m->n; n > 0; n--)
			assert_int_equal(message_add(m, random_block(!(i % 2), &calls)), 0);
		assert_int_equal(history_add(h, m), 0);
	}
}

static void check_body(const struct history *h)
{
	struct model_request req = { .model = "b", .max_tokens = 100, .messages = h, .turn = 1 };
	struct request_body body;
	struct request_cursor at = { 0, 0 };
	struct error e = ERROR_INIT;
	struct json doc = JSON_INIT;

	assert_int_equal(request_build(&body, &req, &e), 0);
	char *text = malloc(body.length);
	assert_non_null(text);
	assert_int_equal(request_read(&body, &at, text, body.length), body.length);
	assert_int_equal(json_parse(&doc, text, body.length, JSON_UNIQUE, &e), 0);
	int list = json_get(&doc, json_root(&doc), "messages"), i = 0;
	for (int m = json_first(&doc, list); m >= 0; m = json_next(&doc, list, m), i++) {
		assert_true(json_eq(&doc, json_get(&doc, m, "role"), i % 2 ? "assistant" : "user"));
		int content = json_get(&doc, m, "content");
		assert_true(json_size(&doc, content) > 0);
		for (int b = json_first(&doc, content); b >= 0; b = json_next(&doc, content, b)) {
			assert_false(json_eq(&doc, json_get(&doc, b, "type"), "thinking"));
			assert_false(json_eq(&doc, json_get(&doc, b, "type"), "redacted_thinking"));
		}
	}
	assert_true(i % 2 == 1); /* the last is the user's */
	json_release(&doc);
	request_release(&body);
	free(text);
}

/* A call of the server's goes where words would come to stand behind it. */
static bool stays(const struct block *b)
{
	return !block_is_thinking(b) && !block_is_server_call(b);
}

static void any_history_is_valid_for_another_model(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 2000; seed++) {
		struct history h = HISTORY_INIT;
		struct error e = ERROR_INIT;
		struct buf before = BUF_INIT(BUF_HUGE), after = BUF_INIT(BUF_HUGE);
		rng = seed * 0x9E3779B97F4A7C15u;
		random_history(&h);
		assert_int_equal(history_check(&h, false, &e), 0);
		bool thought = has_thinking(&h);
		for (size_t i = 0; i < h.n; i++)
			for (size_t k = 0; k < h.v[i]->n; k++)
				if (stays(h.v[i]->blocks[k]))
					buf_addf(&before, "%d%s\n", h.v[i]->role, h.v[i]->blocks[k]->json);
		assert_int_equal(context_strip_thinking(&h), thought);
		assert_false(has_thinking(&h));
		if (history_check(&h, false, &e))
			fail_msg("seed %llu: %s", (unsigned long long)seed, e.msg);
		size_t bytes = 0;
		for (size_t i = 0; i < h.n; i++)
			for (size_t k = 0; k < h.v[i]->n; k++) {
				if (stays(h.v[i]->blocks[k]))
					buf_addf(&after, "%d%s\n", h.v[i]->role, h.v[i]->blocks[k]->json);
				bytes += h.v[i]->blocks[k]->json_len;
			}
		assert_string_equal(buf_str(&before), buf_str(&after)); /* all else stays, byte for byte */
		assert_int_equal(h.bytes, bytes);
		check_body(&h);
		assert_int_equal(context_strip_thinking(&h), 0);
		buf_release(&before);
		buf_release(&after);
		history_release(&h);
	}
}

int main(void)
{
	struct CMUnitTest tests[LENGTH(paths) + 7];
	size_t n = 0;

	for (size_t i = 0; i < LENGTH(paths); i++)
		tests[n++] = (struct CMUnitTest){ paths[i].name, run_path, NULL, NULL, (void *)(uintptr_t)&paths[i] };
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(a_larger_cap_than_the_next_model_has_is_not_asked_for);
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(what_the_server_took_from_the_first_holds_for_the_first);
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(refused_settings_are_tried_with_the_next_model);
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(no_thinking_goes_to_another_model);
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(a_budget_of_thinking_is_left_out_once_inside_a_tool_loop);
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(any_history_is_valid_for_another_model);
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(each_model_may_summarise_in_a_turn);
	return cmocka_run_group_tests_name("fallback", tests, NULL, NULL);
}
