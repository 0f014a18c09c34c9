/*
 * The loop and its executor out of memory: each conversation is played again and again, with the first, second, third
 * ... allocation of the loop failing, until none fails. Each time the run must come to its end, with every invariant
 * that the simulator checks, and (sanitizer) nothing lost. The simulator's own allocations are let through: they are
 * the world.
 */
#include "test.h"

#include <stdlib.h>
#include <string.h>

#include "nomem.h"
#include "sim.h"

#define LENGTH(a) (sizeof(a) / sizeof *(a))

/* ---- the simulator's functions, with the count stopped ---- */

static struct loop_deps sim;

static int model_start(void *ctx, const struct model_request *req, struct error *e)
{
	nomem.let_through = true;
	int rc = sim.model_start(ctx, req, e);
	nomem.let_through = false;
	return rc;
}

static void model_cancel(void *ctx, enum model_kind kind)
{
	nomem.let_through = true;
	sim.model_cancel(ctx, kind);
	nomem.let_through = false;
}

static int tool_start(void *ctx, const struct block *use, struct tool_result *now, struct error *e)
{
	nomem.let_through = true;
	int rc = sim.tool_start(ctx, use, now, e);
	nomem.let_through = false;
	return rc;
}

static void tool_cancel(void *ctx, const char *tool_use_id, int64_t grace_ms)
{
	nomem.let_through = true;
	sim.tool_cancel(ctx, tool_use_id, grace_ms);
	nomem.let_through = false;
}

/* Without memory it leaves the result as it was. */
static int tool_shorten(void *ctx, const char *tool_use_id, struct tool_result *res, size_t allowed)
{
	if (nomem_fails())
		return -1;
	nomem.let_through = true;
	int rc = sim.tool_shorten(ctx, tool_use_id, res, allowed);
	nomem.let_through = false;
	return rc;
}

static int emit(void *ctx, struct event *ev, struct error *e)
{
	nomem.let_through = true;
	((struct sim *)ctx)->starved = nomem.failed;
	int rc = sim.emit(ctx, ev, e);
	nomem.let_through = ev->kind == EVENT_RESULT; /* behind it the world goes on, until the loop asks again */
	return rc;
}

static int next_event(void *ctx, int64_t deadline, struct loop_event *ev, struct error *e)
{
	nomem.let_through = true;
	int rc = sim.next_event(ctx, deadline, ev, e);
	nomem.let_through = false;
	return rc;
}

static void tool_forget(void *ctx, const char *tool_use_id)
{
	nomem.let_through = true;
	((struct sim *)ctx)->starved = nomem.failed;
	sim.tool_forget(ctx, tool_use_id);
	nomem.let_through = false;
}

static int recent_file(void *ctx, size_t i, size_t max, struct buf *out, struct error *e)
{
	nomem.let_through = true;
	int rc = sim.recent_file(ctx, i, max, out, e);
	nomem.let_through = false;
	return rc;
}

static int hook_start(void *ctx, const struct hook_call *call, struct error *e)
{
	nomem.let_through = true;
	((struct sim *)ctx)->starved = nomem.failed;
	int rc = sim.hook_start(ctx, call, e);
	nomem.let_through = false;
	return rc;
}

static bool hook_any(void *ctx, enum hook_event kind)
{
	nomem.let_through = false; /* a message begins with it */
	return sim.hook_any(ctx, kind);
}

static int attachment(void *ctx, struct buf *out, struct error *e)
{
	nomem.let_through = true;
	int rc = sim.attachment(ctx, out, e);
	nomem.let_through = false;
	return rc;
}

static struct message *user_message(void *ctx)
{
	nomem.let_through = true;
	((struct sim *)ctx)->starved = nomem.failed;
	struct message *m = sim.user_message(ctx);
	nomem.let_through = false;
	return m;
}

static void hook_cancel(void *ctx, const struct hook_call *call)
{
	nomem.let_through = true;
	sim.hook_cancel(ctx, call);
	nomem.let_through = false;
}

static void stand_before(struct loop_deps *deps)
{
	sim = *deps;
	deps->model_start = model_start;
	deps->model_cancel = model_cancel;
	deps->tool_start = tool_start;
	deps->tool_cancel = tool_cancel;
	deps->tool_shorten = tool_shorten;
	deps->emit = emit;
	deps->next_event = next_event;
	deps->tool_forget = tool_forget;
	deps->recent_file = recent_file;
	deps->hook_any = hook_any;
	deps->attachment = attachment;
	deps->user_message = user_message;
	deps->hook_start = hook_start;
	deps->hook_cancel = hook_cancel;
}

/* ---- the conversations ---- */

#define S(...)                                                                                                         \
	(const char *const[])                                                                                          \
	{                                                                                                              \
		__VA_ARGS__, NULL                                                                                      \
	}

/* So many allocations each of them takes at least, or nothing was tested. */
#define LEAST 5

struct talk {
	const char *name;
	const char *const *script;
	int64_t signal_at, max_tool_calls, max_turns;
	bool batch;
	int64_t window; /* that the loop is told of; the layers are on in it. 0 = one that nothing fills */
	size_t task_bytes;
	const char *compact_model, *thinking;
	const char *summary_model;
	size_t fallbacks;
	const char *const *hooks, *const *messages, *const *arrivals, *const *attachments;
	int64_t token_target, interrupt_at;
	int max_repairs;
};

#define ROUND(id) "thinking hm | use UnsafeB " id " {\"size\":7000}"
#define TOO_LONG  "http 400 invalid_request_error prompt is too long: 9000 tokens > 8000 maximum"

static const struct talk talks[] = {
	{ "a compaction",
	  S(ROUND("t1"), ROUND("t2"), ROUND("t3"), ROUND("t4"), "text  ", "text x | use SafeA a", "text sum",
	    "use SafeA b", "text done"),
	  .window = 10000 },
	{ "a compaction by another model, with thinking",
	  S(ROUND("t1"), ROUND("t2"), ROUND("t3"), ROUND("t4"), TOO_LONG, "text sum", "text done"), .window = 10000,
	  .compact_model = "small", .thinking = "{\"type\":\"enabled\",\"budget_tokens\":100}" },
	{ "old results and folds",
	  S("use SafeA t1 {\"size\":7000}", "use SafeA t2 {\"size\":7000} | text x", ROUND("t3"), ROUND("t4"),
	    ROUND("t5"), TOO_LONG, "text x | use SafeA a", TOO_LONG, "text done"),
	  .window = 12000 },
	{ "an emergency summary", S(ROUND("t1"), ROUND("t2"), TOO_LONG, TOO_LONG, "text sum", "text done"),
	  .window = 10000 },
	{ "a window that is full in the answer",
	  S(ROUND("t1"), ROUND("t2"), "text part | stop model_context_window_exceeded", "text sum", "text done"),
	  .window = 10000 },
	{ "a count", S("count 7000", "use SafeA t1", "text done"), .window = 10000, .task_bytes = 29600 },
	{ "the blocking limit", S("count 7300"), .window = 10000, .task_bytes = 29600 },
	{ "text", S("thinking hm | text hello") },
	{ "calls",
	  S("text x | use SafeA t1 | use SafeB t2 | use UnsafeA t3", "use SafeA t1 | use UnsafeA t1", "text done") },
	{ "calls in batches", S("use SafeA t1 | use SafeB t2 | use UnsafeA t3 | text x", "text done"), .batch = true },
	{ "many calls", S("use SafeA a | use SafeA b | use SafeA c | use SafeA d | use SafeA e | use SafeA f | use "
	                  "SafeA g | use SafeA h | "
	                  "use SafeA i | use UnsafeA j") },
	{ "calls that cannot run",
	  S("use Unknown u | use Deny d | bad SafeA b {x | use Fail f | use UnsafeA t1", "text done") },
	{ "results that are too long for one message",
	  S("use SafeA a {\"size\":150000} | use SafeB b | use UnsafeA c {\"size\":150000}", "text done") },
	{ "calls over the limit", S("use SafeA t1 | use UnsafeA t2 | text x"), .max_tool_calls = 1 },
	{ "a broken answer", S("use SafeA t1 | text x | text y | cut", "text done") },
	{ "a salvaged answer", S("use UnsafeA t1 {\"ms\":500} | unsigned u | use SafeA t2 | open | cut", "text done") },
	{ "answers that break for good", S("use UnsafeA t1 | text x | cut", "use UnsafeA t2 | text x | cut",
	                                   "use UnsafeA t3 | text x | stream overloaded_error Overloaded") },
	{ "a declined answer", S("use UnsafeA t1 {\"ms\":5000} | text x | stop refusal") },
	{ "a cut answer", S("text x | stop max_tokens", "text y | stop max_tokens", "text done") },
	{ "a cut answer with calls", S("use UnsafeA t1 | text x | use UnsafeB t2 | stop max_tokens", "text done") },
	{ "a paused turn", S("text x | stop pause_turn", "text done") },
	{ "an empty answer", S("text  ", "text done") },
	{ "a failure and its retry", S("http 529 overloaded_error Overloaded | retry-after 10", "text done") },
	{ "a failure for good", S("http 400 invalid_request_error bad") },
	{ "a repaired request",
	  S("http 400 invalid_request_error max_tokens: 64000 > 8192, which is the maximum", "text done") },
	{ "a signal while it streams", S("use UnsafeA t1 {\"ms\":9000} | use SafeA t2 | after 9000 | text x"),
	  .signal_at = 1500 },
	{ "a signal while reads run", S("use SafeA t1 {\"ms\":9000} | use UnsafeA t2 | after 9000 | text x"),
	  .signal_at = 1500 },
	{ "another model",
	  S("thinking hm | use SafeA t1", "http 529 overloaded_error x", "http 529 overloaded_error x",
	    "use SafeA t2 | text x | stream overloaded_error x", "text done"),
	  .fallbacks = 1 },
	{ "a line in the background", S("use SafeA t1", "text It looked.", "text done"), .summary_model = "small" },
	{ "lines that come to nothing",
	  S("use SafeA t1", "use SafeA t1", "use SafeA t1", "use SafeA t1", "use SafeA t1", "use SafeA t1",
	    "use SafeA t1", "use SafeA t1", "use SafeA t1"),
	  .summary_model = "small", .max_turns = 5 },
	{ "objections", S("text a", "use SafeA t1", "text b", "text c"), .hooks = S("block x", "block  ", "pass") },
	{ "objections for ever", S("text a"), .hooks = S("block x") },
	{ "a hook that ends the run", S("text a"), .hooks = S("end x") },
	{ "a hook that is told of a failure", S("http 400 invalid_request_error bad"), .hooks = S("pass") },
	{ "a signal while a hook is told of a failure", S("http 400 invalid_request_error bad"), .hooks = S("hang"),
	  .signal_at = 5000 },
	{ "a signal while a hook is asked", S("text a"), .hooks = S("hang"), .signal_at = 5000 },
	{ "hooks of a session", S("use SafeA t1", "text a", "text b", "text c"),
	  .hooks = S("SessionStart pass | context c | first f", "UserPromptSubmit pass | context p",
	             "PostToolBatch pass | context b", "pass | context x", "pass", "SessionEnd pass"),
	  .messages = S("more") },
	{ "a prompt that is refused", S("text a"),
	  .hooks = S("SessionStart pass | context c | first f", "UserPromptSubmit block x", "UserPromptSubmit pass"),
	  .messages = S("more") },
	{ "a session that ends with its start", S("text a"),
	  .hooks = S("SessionStart pass | context c | first f", "UserPromptSubmit end x", "SessionEnd hang") },
	{ "a verification", S("text a", "text b"), .hooks = S("Verify block x", "Verify pass"), .max_repairs = 1 },
	{ "one that never passes", S("text a"), .hooks = S("Verify block x"), .max_repairs = 1 },
	{ "hooks of a compaction", S(ROUND("t1"), ROUND("t2"), ROUND("t3"), ROUND("t4"), "text sum", "text done"),
	  .window = 10000, .hooks = S("PreCompact pass", "PostCompact pass", "SessionStart pass | context c") },
	{ "a compaction that is forbidden",
	  S(ROUND("t1"), ROUND("t2"), ROUND("t3"), ROUND("t4"), TOO_LONG, "text done"), .window = 10000,
	  .hooks = S("PreCompact block x") },
	{ "what comes meanwhile", S("use Slow t1", "text a"), .hooks = S("UserPromptSubmit pass | context p"),
	  .arrivals = S("5000 and this"), .attachments = S("file one", "file two", "-") },
	{ "what has to wait for the server", S("use SafeA t1 | server s1", "served | use SafeA t2", "text a"),
	  .hooks = S("PostToolBatch pass | context b") },
	{ "an interrupt", S("use Slow t1 | server s1", "text a"), .messages = S("more"), .interrupt_at = 5000 },
	{ "a token target", S("usage 10 100 | text a", "usage 10 900 | text b"), .token_target = 1000 },
	{ "a signal while calls run", S("text x | use Slow t1 | use SafeA t2"), .signal_at = 5000 },
};

static void set_window(struct sim *s, const struct talk *t)
{
	static struct catalog_row row;

	if (!t->window)
		return;
	row = *s->cfg.row;
	row.window = t->window;
	s->cfg.row = &row;
	s->cfg.context = (struct context_spec){ .microcompact_keep = 1, .snip = { MARK_OFF, 0 } };
	s->cfg.compact_model = t->compact_model;
	s->cfg.thinking_json = t->thinking;
	s->window = 1000000; /* the model takes anything but what the script says; it counts what it is sent */
	s->bytes_per_token = 4;
}

static const struct catalog_row other_row = { "b", 200000, 4000, { 1000, 1250, 2000, 100, 5000 }, 0, { 0 }, 0 };
static const struct loop_model others[] = { { "b", &other_row } };

static void play(struct sim *s, const struct talk *t, long n)
{
	static char task[32768];

	sim_init(s, t->script);
	s->stand_before = stand_before;
	s->signal_at = t->signal_at;
	s->cfg.max_tool_calls = t->max_tool_calls;
	s->cfg.calls_wait = t->batch;
	set_window(s, t);
	memset(task, 't', sizeof task);
	task[t->task_bytes ? t->task_bytes : 4] = '\0';
	s->cfg.summary_model = t->summary_model;
	if (t->max_turns)
		s->cfg.max_turns = t->max_turns;
	s->cfg.fallbacks = others;
	s->cfg.nfallbacks = t->fallbacks;
	s->hooks = t->hooks;
	s->messages = t->messages;
	s->arrivals = t->arrivals;
	s->attachments = t->attachments;
	s->interrupt_at = t->interrupt_at;
	s->cfg.token_target = t->token_target;
	s->cfg.max_repairs = t->max_repairs;
	nomem.left = n;
	nomem.failed = false;
	nomem.let_through = true; /* until the loop runs */
	sim_run(s, task);
	nomem.let_through = true;
}

static void run_talk(void **state)
{
	const struct talk *t = *state;
	static struct sim whole, s;
	long n = 0;

	play(&whole, t, -1);
	assert_string_equal(whole.problem, "");
	do {
		play(&s, t, n++);
		if (*s.problem)
			print_message("allocation %ld: %s\n%s\n", n, s.problem, s.trace);
		assert_string_equal(s.problem, "");
		if (s.out.reason != TERM_INTERNAL_ERROR)
			assert_string_equal(s.trace, whole.trace);
		else
			assert_true(nomem.failed);
		sim_release(&s);
	} while (nomem.failed);
	assert_true(n > LEAST);
	sim_release(&whole);
}

int main(void)
{
	struct CMUnitTest tests[LENGTH(talks)];

	for (size_t i = 0; i < LENGTH(talks); i++)
		tests[i] = (struct CMUnitTest){ talks[i].name, run_talk, NULL, NULL, (void *)(uintptr_t)&talks[i] };
	return _cmocka_run_group_tests("loop_nomem", tests, LENGTH(talks), NULL, NULL);
}
