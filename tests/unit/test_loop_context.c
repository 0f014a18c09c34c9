/*
 * The loop where the conversation meets the end of the model's window: scripted worlds, for each path the trace, the
 * exit code, the turns and what was shown. Tokens are bytes/4; of a window of 10,000 tokens 7,500 can be used, and the
 * marks are 6,563 (compaction) and 7,266 (blocking limit).
 */
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "loop_path.h"

#define S(...)                                                                                                         \
	{                                                                                                              \
		__VA_ARGS__, NULL                                                                                      \
	}
#define TOKENS(n) ((size_t)(n)*4)

struct path {
	const char *name;
	const char *script[20];
	const char *trace;
	int exit_code;
	int turns;
	const char *shows, *also; /* beginnings of event lines that must be there, or NULL */
	const char *hides;        /* beginning of one that must not */
	int requests;             /* 0 = not asserted */
	/* the world; 0 = as usual */
	int64_t told_window; /* that the loop knows of: 10,000; -1 = none */
	int64_t window;      /* of the model: it takes anything */
	size_t task_bytes;
	bool layers; /* microcompact and collapse are on */
	bool no_compact;
	int64_t max_turns, token_budget, max_requests, signal_at;
	const char *compact_model;
};

/* A round of 1,750 tokens whose result cannot be cleared, as an answer of the script. */
#define ROUND(id) "use UnsafeB " id " {\"size\":7000}"
/* One that fills half of what can be used. */
#define HALF(id) "use UnsafeB " id "a {\"size\":7400} | use UnsafeB " id "b {\"size\":7400}"
#define PICTURES                                                                                                       \
	"use SafeA a {\"image\":1} | use SafeA b {\"image\":1} | use SafeA c {\"image\":1} | use SafeA d "             \
	"{\"image\":1}"
#define FOUR ROUND("t1"), ROUND("t2"), ROUND("t3"), ROUND("t4")
/* Results that are not cut any more. */
#define SMALL_ONES                                                                                                     \
	"use SafeA a {\"size\":450} | use SafeA b {\"size\":450} | use SafeA c {\"size\":450} | use SafeA d "          \
	"{\"size\":450}"
#define TURNS4   "next_turn next_turn next_turn next_turn "
#define TOO_LONG "http 400 invalid_request_error prompt is too long"

static const struct path paths[] = {
	/* the compaction at its mark */
	{ "a summary takes the place of old rounds", S(FOUR, "text the summary", "text done"), TURNS4 "completed", 0, 5,
	  "compact auto", "status null success", "context", 6 },
	{ "below the mark nothing is asked", S(ROUND("t1"), ROUND("t2"), ROUND("t3"), "text done"),
	  "next_turn next_turn next_turn completed", 0, 4, NULL, NULL, "status", 4 },
	{ "not if no turn may follow", S(FOUR, "text never"), TURNS4 "max_turns", 10, 4, NULL, NULL, "status", 4,
	  .max_turns = 4 },
	{ "an empty summary", S(FOUR, "text  ", "text done"), TURNS4 "completed", 0, 5,
	  "status null failed: the summary was empty", NULL, "compact", 6 },
	{ "a declined one", S(FOUR, "text no | stop refusal", "text done"), TURNS4 "completed", 0, 5,
	  "status null failed: the model declined", NULL, "tombstone", 6 },
	{ "one that is cut", S(FOUR, "text sum | stop max_tokens", "text done"), TURNS4 "completed", 0, 5,
	  "status null failed: the summary was cut", NULL, "compact", 6 },
	{ "calls instead of one", S(FOUR, "text sum | use UnsafeA c1", "text done"), TURNS4 "completed", 0, 5,
	  "status null failed: the model did something else", NULL, "result c1", 6 },
	{ "a pause instead of one", S(FOUR, "text sum | stop pause_turn", "text done"), TURNS4 "completed", 0, 5,
	  "status null failed: the model did something else", NULL, "compact", 6 },
	{ "one as long as what it replaces", S(FOUR, "big 30000", "text done"), TURNS4 "completed", 0, 5,
	  "status null failed: the summary is no shorter", NULL, "compact", 6 },
	{ "an overload on the way is retried", S(FOUR, "http 529 overloaded_error Overloaded", "text sum", "text done"),
	  TURNS4 "completed", 0, 5, "retry 1", "compact auto", "synthetic", 7 },
	{ "a failure of the call", S(FOUR, "http 400 invalid_request_error bad", "text done"), TURNS4 "completed", 0, 5,
	  "status null failed: bad", NULL, "synthetic", 6 },
	{ "a stream that breaks in it is repeated", S(FOUR, "text sum | text x | cut", "text sum", "text done"),
	  TURNS4 "completed", 0, 5, "compact auto", NULL, "tombstone", 7 },
	{ "after three failures it is off",
	  S(FOUR, "text  ", "use SafeA a", "text  ", "use SafeA b", "text  ", "use SafeA c", "text done"),
	  TURNS4 "next_turn next_turn next_turn completed", 0, 8, "notice autocompact_off", NULL, "compact", 11 },
	{ "a success between counts anew",
	  S(FOUR, "text  ", "use SafeA a", "text  ", "use SafeA b", "text sum", ROUND("t5"), ROUND("t6"),
	    "use UnsafeB t7 {\"size\":6000}", "text  ", "text done"),
	  TURNS4 "next_turn next_turn next_turn next_turn next_turn completed", 0, 10, "compact auto", NULL,
	  "notice autocompact_off", 14 },
	{ "itself too long: the oldest rounds are left out of it", S(FOUR, "text sum", "text done"), TURNS4 "completed",
	  0, 5, "compact auto", NULL, "synthetic", 7, .window = 7400 },
	{ "also when no numbers are told", S(FOUR, TOO_LONG, TOO_LONG, "text sum", "text done"), TURNS4 "completed", 0,
	  5, "compact auto", NULL, "synthetic", 8 },
	{ "until nothing is left to leave out", S(FOUR, TOO_LONG, TOO_LONG, TOO_LONG, TOO_LONG, "text done"),
	  TURNS4 "completed", 0, 5, "status null failed: prompt is too long", NULL, "compact", 9 },
	{ "what does not fit by our count is not sent whole", S(HALF("t1"), HALF("t2"), "text sum", "text done"),
	  "next_turn next_turn completed", 0, 3, "compact auto", NULL, "retry", 4, .window = 8000,
	  .told_window = 8000 },
	{ "another model writes it", S(FOUR, "text sum", "text done"), TURNS4 "completed", 0, 5, "compact auto", NULL,
	  NULL, 6, .compact_model = "small" },
	{ "a model for summaries that is not there: the one that answers writes them",
	  S(FOUR, "http 404 not_found_error no such model", "text sum", "text done"), TURNS4 "completed", 0, 5,
	  "notice compact_model", "status null success", "failed", 7, .compact_model = "small" },
	{ "and goes on to write them",
	  S(FOUR, "http 404 not_found_error no such model", "text  ", "use SafeA a", "text sum", "text done"),
	  TURNS4 "next_turn completed", 0, 6, "status null failed: the summary was empty", "status null success", NULL,
	  9, .compact_model = "small" },
	{ "three refills in a row",
	  S(HALF("t1"), HALF("t2"), "text sum", HALF("t3"), "text sum", HALF("t4"), "text sum", HALF("t5")),
	  "next_turn next_turn next_turn next_turn next_turn rapid_refill_breaker", 15, 5, "compact auto", NULL, NULL,
	  8 },
	{ "a turn that does not refill counts anew",
	  S(HALF("t1"), HALF("t2"), "text sum", HALF("t3"), "text sum", "use SafeA a", HALF("t4"), "text sum",
	    HALF("t5"), "text sum", "text done"),
	  "next_turn next_turn next_turn next_turn next_turn next_turn completed", 0, 7 },
	{ "a signal in the compaction", S(FOUR, "hang"), TURNS4 "aborted_streaming", 143, 4,
	  "status null failed: the run ends", NULL, "compact", 5, .signal_at = 20000 },
	{ "a budget that is spent in the compaction's attempts", S(FOUR, "text sum | text x | cut", "text never"),
	  TURNS4 "budget_exhausted", 13, 4, "status null failed: the run ends", NULL, NULL, 5, .max_requests = 5 },
	{ "one user message is nothing to compact", S("text done"), "completed", 0, 1, NULL, NULL, "status", 1,
	  .task_bytes = TOKENS(7000) },

	/* the blocking limit */
	{ "blocked by a count that is anchored", S(FOUR, SMALL_ONES, "text never"), TURNS4 "next_turn blocking_limit",
	  12, 5, NULL, NULL, "status", 5, .no_compact = true, .window = 10000 },
	{ "blocked after compactions that failed", S(FOUR, "text  ", SMALL_ONES, "text  ", "text never"),
	  TURNS4 "next_turn blocking_limit", 12, 5, "status null failed", NULL, "compact", 7, .window = 10000 },
	{ "without an anchor the server counts", S("count 7300", "text never"), "blocking_limit", 12, 0, NULL, NULL,
	  "retry", 1, .task_bytes = TOKENS(7400) },
	{ "and may know better", S("count 100", "text done"), "completed", 0, 1, NULL, NULL, "retry", 2,
	  .task_bytes = TOKENS(7400) },
	{ "a server that cannot count is sent the request, and not asked again",
	  S("http 404 not_found_error no", "usage 0 0 | use SafeA a", "text done"), "next_turn completed", 0, 2, NULL,
	  NULL, "synthetic", 3, .task_bytes = TOKENS(7400) },
	{ "to count is one attempt", S("http 529 overloaded_error x", "text done"), "completed", 0, 1, NULL, NULL,
	  "retry", 2, .task_bytes = TOKENS(7400) },
	{ "a signal while the server counts", S("hang"), "aborted_streaming", 143, 0, NULL, NULL, "retry", 1,
	  .task_bytes = TOKENS(7400), .signal_at = 5000 },

	/* the server says it is too long */
	{ "staged folds are committed", S(ROUND("t1"), ROUND("t2"), ROUND("t3"), "text done"),
	  "next_turn next_turn next_turn collapse_drain_retry completed", 0, 4, "context collapse",
	  "notice window_learned", "synthetic", 5, .window = 4000, .layers = true },
	{ "a summary is made", S(ROUND("t1"), ROUND("t2"), TOO_LONG, "text sum", "text done"),
	  "next_turn next_turn reactive_compact_retry completed", 0, 3, "compact reactive", NULL, "synthetic", 5 },
	{ "by the numbers that the server told", S(ROUND("t1"), ROUND("t2"), ROUND("t3"), "text sum", "text done"),
	  "next_turn next_turn next_turn reactive_compact_retry completed", 0, 4, "compact reactive",
	  "notice window_learned", "retry", 6, .window = 5000 },
	{ "too long again, and the run ends",
	  S(ROUND("t1"), ROUND("t2"), TOO_LONG, "text sum", TOO_LONG " still", "text never"),
	  "next_turn next_turn reactive_compact_retry prompt_too_long", 11, 2,
	  "synthetic invalid_request prompt is too long still", "compact reactive", NULL, 5 },
	{ "a summary that fails: the newest results are cut",
	  S(ROUND("t1"), ROUND("t2"), TOO_LONG, "text  ", "text done"),
	  "next_turn next_turn reactive_compact_retry completed", 0, 3, "context result_cut", NULL, "synthetic", 5 },
	{ "and that once", S(ROUND("t1"), ROUND("t2"), TOO_LONG, "text  ", TOO_LONG, "text never"),
	  "next_turn next_turn reactive_compact_retry prompt_too_long", 11, 2,
	  "synthetic invalid_request prompt is too long", "status null failed: the summary was empty", "compact", 5 },
	{ "where there is nothing to cut it ends the run",
	  S("use SafeA a", "use SafeA b", TOO_LONG, "text  ", "text never"), "next_turn next_turn prompt_too_long", 11,
	  2, "synthetic invalid_request prompt is too long", "status null failed: the summary was empty", "compact",
	  4 },
	{ "folds first, then a summary",
	  S(ROUND("t1"), ROUND("t2"), ROUND("t3"), TOO_LONG, "use SafeA a", TOO_LONG, "text sum", "text done"),
	  "next_turn next_turn next_turn collapse_drain_retry next_turn collapse_drain_retry completed", 0, 5,
	  "context collapse", NULL, "synthetic", 7, .layers = true },
	{ "no folds twice in a row", S(ROUND("t1"), ROUND("t2"), TOO_LONG, TOO_LONG, "text  ", TOO_LONG, "text never"),
	  "next_turn next_turn collapse_drain_retry reactive_compact_retry prompt_too_long", 11, 2,
	  "synthetic invalid_request prompt is too long", NULL, NULL, 0, .layers = true },
	{ "nothing to drop: the run ends", S(TOO_LONG ": 213462 tokens > 200000 maximum"), "prompt_too_long", 11, 0,
	  "synthetic invalid_request", NULL, "status", 1 },
	{ "compaction forbidden: the newest results are cut, once", S(ROUND("t1"), ROUND("t2"), TOO_LONG, TOO_LONG),
	  "next_turn next_turn reactive_compact_retry prompt_too_long", 11, 2, "synthetic invalid_request",
	  "context result_cut", "status", 4, .no_compact = true },
	{ "a round alone that is too much for a window nobody knew", S(HALF("t"), "text done"),
	  "next_turn reactive_compact_retry completed", 0, 2, "notice window_learned", "context result_cut",
	  "synthetic", 3, .told_window = -1, .window = 3000 },
	{ "pictures too many for their share: notes stand for the last ones", S(PICTURES, "text done"),
	  "next_turn completed", 0, 2, "context result_budget", NULL, "context result_cut", 2 },
	{ "pictures too many for a window nobody knew", S(PICTURES, "text done"),
	  "next_turn reactive_compact_retry completed", 0, 2, "notice window_learned", "context result_cut",
	  "synthetic", 3, .told_window = -1, .window = 3000 },
	{ "results that leave a request no room are cut before it is sent", S(HALF("t1"), HALF("t2"), "text done"),
	  "next_turn next_turn completed", 0, 3, "context result_cut", NULL, "synthetic", 3, .no_compact = true },
	{ "once until a turn has gone on",
	  S(ROUND("t1"), ROUND("t2"), TOO_LONG, "text sum", "text part | stop max_tokens", TOO_LONG, "text never"),
	  "next_turn next_turn reactive_compact_retry max_output_tokens_escalate prompt_too_long", 11, 2,
	  "compact reactive", NULL, NULL, 6 },
	{ "a turn that went on opens the way again",
	  S(ROUND("t1"), ROUND("t2"), TOO_LONG, "text sum", ROUND("t3"), TOO_LONG, "text sum", "text done"),
	  "next_turn next_turn reactive_compact_retry next_turn reactive_compact_retry completed", 0, 4,
	  "compact reactive", NULL, "synthetic", 8 },
	{ "a window that nobody knew is learned", S(FOUR, "text sum", "text done"),
	  TURNS4 "collapse_drain_retry completed", 0, 5, "notice window_learned", NULL, "synthetic", 6,
	  .told_window = -1, .window = 6000, .layers = true },
	{ "input and max_tokens together, and no cap would help",
	  S(ROUND("t1"), ROUND("t2"),
	    "http 400 invalid_request_error input length and max_tokens exceed context limit: 9500 + 8000 > 10000",
	    "text sum", "text done"),
	  "next_turn next_turn collapse_drain_retry completed", 0, 3, "context collapse", NULL, "synthetic", 4,
	  .layers = true },
	{ "what the prompt leaves of the window is not raised by a cut answer",
	  S("http 400 invalid_request_error input length and max_tokens exceed context limit: 3000 + 8000 > 10000",
	    "text a | stop max_tokens", "text done"),
	  "max_output_tokens_recovery completed", 0, 2, "notice request_repaired", NULL, "tombstone", 3 },
	{ "a signal in the emergency summary", S(ROUND("t1"), ROUND("t2"), TOO_LONG, "hang"),
	  "next_turn next_turn aborted_streaming", 143, 2, NULL, NULL, "synthetic", 4, .signal_at = 20000 },

	/* a turn that waits for a tool of the server's */
	{ "the summary of a paused turn is asked for without the call that is open",
	  S(ROUND("t1"), ROUND("t2"), "text so far | server s1 | stop pause_turn", TOO_LONG, "text sum",
	    "served | text done"),
	  "next_turn next_turn pause_turn reactive_compact_retry completed", 0, 3, "compact reactive", NULL,
	  "notice server_call_dropped", 6 },
	{ "the call goes when a cut answer is told to go on",
	  S("text so far | server s1 | stop pause_turn", "text part | stop max_tokens", "text part | stop max_tokens",
	    "text done"),
	  "pause_turn max_output_tokens_escalate max_output_tokens_recovery completed", 0, 2,
	  "notice server_call_dropped", "user Your answer was cut", NULL, 4 },
	{ "and when an empty one is", S("server s1 | stop pause_turn", "text  ", "text done"),
	  "pause_turn empty_answer_nudge completed", 0, 2, "notice server_call_dropped", "user Please continue", NULL,
	  3 },
	{ "not one that has its result", S("text a | server s1 | stop pause_turn", "served", "text  ", "text done"),
	  "pause_turn completed", 0, 1, NULL, NULL, "notice server_call_dropped", 2 },
	{ "behind an answer that called us and the server there is no summary before the next turn",
	  S(ROUND("t1"), ROUND("t2"), ROUND("t3"), "server s1 | " ROUND("t4"), "use SafeA a", "text sum", "text done"),
	  TURNS4 "next_turn completed", 0, 6, "compact auto", NULL, NULL, 7 },
	{ "nor a word of the budget",
	  S("usage 900 50 | server s1 | use SafeA a", "usage 5 5 | use SafeA b", "usage 5 5 | text done"),
	  "next_turn next_turn completed", 0, 3, "user The budget", NULL, NULL, 3, .token_budget = 1000 },

	/* the window is full in the middle of the answer */
	{ "room is made and the answer goes on",
	  S(ROUND("t1"), ROUND("t2"), "text part | stop model_context_window_exceeded", "text sum", "text rest"),
	  "next_turn next_turn reactive_compact_retry completed", 0, 3, "compact reactive", "user Your answer was cut",
	  "tombstone", 5 },
	{ "that too once until a turn has gone on",
	  S(ROUND("t1"), ROUND("t2"), "text part | stop model_context_window_exceeded", "text sum",
	    "text more | stop model_context_window_exceeded"),
	  "next_turn next_turn reactive_compact_retry max_output_tokens", 14, 3, "compact reactive",
	  "end max_output_tokens 14 turns=3 more", NULL, 5 },
	{ "with nothing to drop the part is the answer", S("text part | stop model_context_window_exceeded"),
	  "max_output_tokens", 14, 1, "end max_output_tokens 14 turns=1 part", NULL, "status", 1 },
	{ "a summary that fails: the part is the answer",
	  S(ROUND("t1"), ROUND("t2"), "text part | stop model_context_window_exceeded", "text  "),
	  "next_turn next_turn max_output_tokens", 14, 3, "end max_output_tokens 14 turns=3 part",
	  "status null failed: the summary was empty", NULL, 4 },
	{ "the turn goes on, it is no other one",
	  S(ROUND("t1"), ROUND("t2"), "text part | stop model_context_window_exceeded", "text sum", "text rest"),
	  "next_turn next_turn reactive_compact_retry completed", 0, 3, "compact reactive", NULL, NULL, 5,
	  .max_turns = 3 },
};

static const struct catalog_row *row_with(int64_t window)
{
	static struct catalog_row row;

	row = (struct catalog_row){
		"sim", window > 0 ? window : 0, 64000, { 1000, 1250, 2000, 100, 5000 }, 0, { 0 }, 0
	};
	return &row;
}

static void configure(struct sim *s, const struct path *p)
{
	struct loop_config *c = &s->cfg;

	c->row = row_with(p->told_window ? p->told_window : 10000);
	c->context = (struct context_spec){ .microcompact_keep = 5 };
	if (!p->layers)
		c->context.microcompact.kind = c->context.collapse.kind = MARK_OFF;
	if (p->no_compact)
		c->context.autocompact.kind = MARK_OFF;
	c->context.snip.kind = MARK_OFF;
	if (p->max_turns)
		c->max_turns = p->max_turns;
	c->token_budget = p->token_budget;
	c->max_requests = p->max_requests;
	c->compact_model = p->compact_model;
	s->signal_at = p->signal_at;
	s->window = p->window ? p->window : 1000000;
	s->bytes_per_token = 4;
}

static char *task_of(const struct path *p)
{
	size_t n = p->task_bytes ? p->task_bytes : 5;
	char *task = malloc(n + 1);

	memset(task, 't', n);
	task[n] = '\0';
	return task;
}

static void play(struct sim *s, const struct path *p)
{
	char *task = task_of(p);

	sim_init(s, p->script);
	configure(s, p);
	sim_run(s, task);
	free(task);
	assert_string_equal(s->problem, "");
}

static void run_path(void **state)
{
	const struct path *p = *state;
	static struct sim s;

	play(&s, p);
	assert_trace(&s, p->trace);
	assert_int_equal(s.out.exit_code, p->exit_code);
	assert_turns(&s, p->turns);
	assert_shows(&s, p->shows);
	assert_shows(&s, p->also);
	assert_hides(&s, p->hides);
	if (p->requests)
		assert_int_equal(s.requests, p->requests);
	sim_release(&s);
}

/* ---- what is sent and told ---- */

#define MOST 16

static struct sent {
	enum model_kind kind;
	char model[32];
	int64_t max_tokens;
	unsigned without;
	size_t messages;
} sent[MOST];
static size_t nsent;
static struct told {
	struct event_compact compact;
	struct usage compact_usage;
	struct model_usage models[4];
	size_t nmodels;
	int64_t cost;
	char errors[4][128];
	size_t nerrors;
} told;
static struct loop_deps sim;

static int see_request(void *ctx, const struct model_request *req, struct error *e)
{
	assert_true(nsent < MOST);
	struct sent *x = &sent[nsent++];
	x->kind = req->kind;
	snprintf(x->model, sizeof x->model, "%s", req->model);
	x->max_tokens = req->max_tokens;
	x->without = req->without;
	x->messages = req->messages->n;
	return sim.model_start(ctx, req, e);
}

static int see_event(void *ctx, struct event *ev, struct error *e)
{
	if (ev->kind == EVENT_COMPACT_BOUNDARY) {
		told.compact = ev->u.compact;
		told.compact_usage = *ev->u.compact.usage;
	} else if (ev->kind == EVENT_RESULT) {
		for (size_t i = 0; i < ev->u.result.nmodels && i < 4; i++)
			told.models[told.nmodels++] = ev->u.result.models[i];
		told.cost = ev->u.result.cost_nano_usd;
		told.nerrors = ev->u.result.nerrors;
		for (size_t i = 0; i < told.nerrors && i < 4; i++)
			snprintf(told.errors[i], sizeof told.errors[i], "%s", ev->u.result.errors[i]);
	}
	return sim.emit(ctx, ev, e);
}

static void stand_before(struct loop_deps *deps)
{
	sim = *deps;
	deps->model_start = see_request;
	deps->emit = see_event;
	nsent = 0;
	told = (struct told){ .nmodels = 0 };
}

static void watch(struct sim *s, const char *const *script)
{
	static const struct path usual = { .name = "usual" };

	sim_init(s, script);
	configure(s, &usual);
	s->stand_before = stand_before;
}

static void finish(struct sim *s, const char *trace)
{
	sim_run(s, "do it");
	assert_string_equal(s->problem, "");
	assert_string_equal(s->trace, trace);
	sim_release(s);
}

static void a_summary_is_asked_of_the_same_model(void **state)
{
	static struct sim s;
	const char *const script[] = { FOUR, "text the summary", "text done", NULL };

	(void)state;
	watch(&s, script);
	finish(&s, TURNS4 "completed");
	assert_int_equal(nsent, 6);
	assert_int_equal(sent[4].kind, MODEL_COMPACT);
	assert_string_equal(sent[4].model, "sim");
	assert_int_equal(sent[4].max_tokens, 1875);
	assert_int_equal(sent[4].without, 0);
	assert_int_equal(sent[4].messages, 9);
	assert_int_equal(sent[5].kind, MODEL_MAIN);
	assert_int_equal(sent[5].max_tokens, 8000);
	assert_true(sent[5].messages < 9);
	assert_false(told.compact.reactive);
	assert_true(told.compact.pre_tokens >= 6563);
	assert_true(told.compact.post_tokens > 0 && told.compact.post_tokens < 4000);
	assert_string_equal(told.compact.model, "sim");
	assert_true(told.compact_usage.input > 6563);
	assert_int_equal(told.nmodels, 1);
}

static void every_model_has_its_row(void **state)
{
	static struct sim s;
	const char *const script[] = { FOUR, "text sum | text x | cut", "text the summary", "text done", NULL };

	(void)state;
	watch(&s, script);
	s.cfg.compact_model = "claude-haiku-4-5";
	s.cfg.thinking_json = "{\"type\":\"enabled\",\"budget_tokens\":1024}";
	finish(&s, TURNS4 "completed");
	assert_string_equal(sent[5].model, "claude-haiku-4-5");
	assert_int_equal(sent[5].without, WITHOUT_THINKING | WITHOUT_EFFORT | WITHOUT_EXTRA);
	assert_int_equal(told.nmodels, 2);
	assert_string_equal(told.models[0].model, "sim");
	assert_string_equal(told.models[1].model, "claude-haiku-4-5");
	assert_int_equal(told.models[1].window, 200000);
	assert_true(told.models[1].cost_nano_usd > 0);
	assert_int_equal(told.cost, told.models[0].cost_nano_usd + told.models[1].cost_nano_usd);
	/* both attempts were paid */
	assert_int_equal(told.models[1].usage.input, told.compact_usage.input);
	assert_true(told.compact_usage.input > 2 * 6563);
}

static void thinking_finds_room_beside_a_summary(void **state)
{
	static struct sim s;
	const char *const script[] = { FOUR, "text the summary", "text done", NULL };
	static const char *const settings[] = { "{\"type\":\"enabled\",\"budget_tokens\":100}",
		                                "{\"type\":\"enabled\",\"budget_tokens\":3000}",
		                                "{\"type\":\"adaptive\"}" };
	const int64_t caps[] = { 1875 + 100, 1875, 1875 };
	const unsigned without[] = { 0, WITHOUT_THINKING, 0 };

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		watch(&s, script);
		s.cfg.thinking_json = settings[i];
		finish(&s, TURNS4 "completed");
		assert_int_equal(sent[4].kind, MODEL_COMPACT);
		assert_int_equal(sent[4].max_tokens, caps[i]);
		assert_int_equal(sent[4].without, without[i]);
		assert_int_equal(sent[5].without, 0);
	}
}

static void what_another_model_minds_is_its_own(void **state)
{
	static struct sim s;
	const char *const script[] = {
		FOUR,
		"http 400 invalid_request_error max_tokens: 1875 > 1500, which is the maximum allowed number of output "
		"tokens for small",
		"http 400 invalid_request_error cache_control cannot be set for empty text blocks",
		"text the summary",
		"text done",
		NULL
	};

	(void)state;
	watch(&s, script);
	s.cfg.compact_model = "small";
	finish(&s, TURNS4 "completed");
	assert_int_equal(nsent, 8);
	assert_int_equal(sent[5].max_tokens, 1500);
	assert_true(sent[6].without & WITHOUT_CACHE_MARKS);
	assert_int_equal(sent[7].max_tokens, 8000);
	assert_int_equal(sent[7].without, 0);
}

static void to_count_costs_nothing(void **state)
{
	static struct sim s;
	const char *const script[] = { "count 100", "usage 200 10 | text done", NULL };
	char *task = task_of(&(struct path){ .task_bytes = TOKENS(7400) });

	(void)state;
	watch(&s, script);
	sim_run(&s, task);
	free(task);
	assert_string_equal(s.problem, "");
	assert_string_equal(s.trace, "completed");
	sim_release(&s);
	assert_int_equal(sent[0].kind, MODEL_COUNT);
	assert_int_equal(told.models[0].usage.input, 200);
}

/* Thinking with a budget is kept as long as the calls go on; what must go all the same takes the setting with it. */
static void an_edit_that_breaks_thinking_sends_one_request_without(void **state)
{
	static struct sim s;
	const char *const script[] = { "thinking hm | " ROUND("t1"),
		                       "thinking hm | " ROUND("t2"),
		                       "thinking hm | " ROUND("t3"),
		                       "thinking hm | " ROUND("t4"),
		                       "text the summary",
		                       "use SafeA a",
		                       "text done",
		                       NULL };

	(void)state;
	watch(&s, script);
	s.cfg.thinking_json = "{\"type\":\"enabled\",\"budget_tokens\":300}";
	finish(&s, TURNS4 "next_turn completed");
	assert_int_equal(sent[4].kind, MODEL_COMPACT);
	assert_int_equal(sent[5].without, WITHOUT_THINKING);
	assert_int_equal(sent[6].without, 0);
}

/* Nor is thinking asked for in a summary's request, once folds have taken some of it. */
static void a_summary_behind_such_an_edit_is_asked_for_without(void **state)
{
	static struct sim s;
	const char *const script[] = { "thinking hm | " ROUND("t1"),
		                       "thinking hm | " ROUND("t2"),
		                       "thinking hm | " ROUND("t3"),
		                       TOO_LONG,
		                       TOO_LONG,
		                       "text the summary",
		                       "text done",
		                       NULL };

	(void)state;
	watch(&s, script);
	s.cfg.context.collapse.kind = MARK_AUTO;
	s.cfg.thinking_json = "{\"type\":\"enabled\",\"budget_tokens\":300}";
	finish(&s, "next_turn next_turn next_turn collapse_drain_retry reactive_compact_retry completed");
	assert_int_equal(sent[3].without, 0);
	assert_int_equal(sent[4].without, WITHOUT_THINKING);
	assert_int_equal(sent[5].kind, MODEL_COMPACT);
	assert_int_equal(sent[5].without, WITHOUT_THINKING);
	assert_int_equal(sent[5].max_tokens, 1875); /* and needs no room there */
}

/* What the prompt left of the window holds until the prompt gets shorter. */
static void folds_give_the_answer_its_room_back(void **state)
{
	static struct sim s;
	const char *const script[] = {
		"http 400 invalid_request_error input length and max_tokens exceed context limit: 3000 + 8000 > 10000",
		FOUR, "text done", NULL
	};

	(void)state;
	watch(&s, script);
	s.cfg.context.collapse.kind = MARK_AUTO;
	finish(&s, TURNS4 "completed");
	assert_int_equal(nsent, 6);
	assert_int_equal(sent[0].max_tokens, 8000);
	assert_true(sent[1].max_tokens < 7000);
	assert_int_equal(sent[4].max_tokens, sent[1].max_tokens);
	assert_true(sent[5].messages < 9);
	assert_int_equal(sent[5].max_tokens, 8000);
}

/* Why no room could be made is told beside what it was needed for; a failure that ended nothing is not. */
static void both_failures_are_told(void **state)
{
	static struct sim s;
	const char *const too_long[] = { "use SafeA a", "use SafeA b", TOO_LONG, "text  ", NULL };
	const char *const full[] = { ROUND("t1"), ROUND("t2"), "text part | stop model_context_window_exceeded",
		                     "text no | stop refusal", NULL };
	const char *const over[] = { FOUR, "text  ", SMALL_ONES, "text  ", NULL };
	const char *const fine[] = { FOUR, "text  ", "text done", NULL };

	(void)state;
	watch(&s, too_long);
	finish(&s, "next_turn next_turn prompt_too_long");
	assert_int_equal(told.nerrors, 2);
	assert_string_equal(told.errors[0], "making the conversation shorter failed: the summary was empty");
	assert_string_equal(told.errors[1], "prompt is too long");
	watch(&s, full);
	finish(&s, "next_turn next_turn max_output_tokens");
	assert_int_equal(told.nerrors, 2);
	assert_string_equal(told.errors[0],
	                    "making the conversation shorter failed: the model declined to write the summary");
	watch(&s, over);
	finish(&s, TURNS4 "next_turn blocking_limit");
	assert_int_equal(told.nerrors, 2);
	assert_string_equal(told.errors[0], "making the conversation shorter failed: the summary was empty");
	assert_non_null(strstr(told.errors[1], "nothing was sent"));
	watch(&s, fine);
	finish(&s, TURNS4 "completed");
	assert_int_equal(told.nerrors, 0);
}

int main(void)
{
	enum { NPATHS = sizeof paths / sizeof *paths };
	const struct CMUnitTest more[] = {
		cmocka_unit_test(a_summary_is_asked_of_the_same_model),
		cmocka_unit_test(every_model_has_its_row),
		cmocka_unit_test(thinking_finds_room_beside_a_summary),
		cmocka_unit_test(what_another_model_minds_is_its_own),
		cmocka_unit_test(to_count_costs_nothing),
		cmocka_unit_test(both_failures_are_told),
		cmocka_unit_test(an_edit_that_breaks_thinking_sends_one_request_without),
		cmocka_unit_test(a_summary_behind_such_an_edit_is_asked_for_without),
		cmocka_unit_test(folds_give_the_answer_its_room_back),
	};
	struct CMUnitTest tests[NPATHS + sizeof more / sizeof *more];

	for (size_t i = 0; i < NPATHS; i++)
		tests[i] = (struct CMUnitTest){ paths[i].name, run_path, NULL, NULL, (void *)(uintptr_t)&paths[i] };
	memcpy(tests + NPATHS, more, sizeof more);
	return cmocka_run_group_tests_name("loop_context", tests, NULL, NULL);
}
