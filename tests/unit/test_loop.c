/* The loop against scripted worlds: for each path the trace, the exit code, the turns and what was shown. */

#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim.h"

#define S(...)                                                                                                         \
	{                                                                                                              \
		__VA_ARGS__, NULL                                                                                      \
	}

struct path {
	const char *name;
	const char *script[16];
	const char *trace;
	int exit_code;
	int turns;
	const char *shows; /* beginning of an event line that must be there, or NULL */
	const char *hides; /* beginning of one that must not */
	int requests;      /* 0 = not asserted */
	/* changes to the configuration; 0 = none */
	int64_t max_turns, token_budget, max_cost, max_requests, max_tool_calls, max_output, wall_ms, signal_at,
	        retries;
};

static const char *const cut = "text part | stop max_tokens";

static const struct path paths[] = {
	{ "one answer", S("text hello"), "completed", 0, 1, "end completed 0 turns=1 hello", "tombstone", 1 },
	{ "tool then answer", S("text look | use SafeA t1", "text done"), "next_turn completed", 0, 2, "result t1 ok",
	  NULL, 2 },
	{ "the last block carries the stop reason", S("text look | use SafeA t1", "text done"), "next_turn completed",
	  0, 2, "assistant SafeA t1 =tool_use" },
	{ "blank text is left out", S("text   | use SafeA t1", "text done"), "next_turn completed", 0, 2, NULL,
	  "assistant   " },
	{ "an unsafe call that failed cancels the rest", S("use Fail t1 | use UnsafeA t2 | use SafeA t3", "text done"),
	  "next_turn completed", 0, 2, "result t3 error", "result t2 ok" },
	{ "denied call", S("use Deny t1", "text done"), "next_turn completed", 0, 2, "denied Deny" },
	{ "unknown tool five times",
	  S("use Unknown a", "use Unknown b", "bad SafeA c {\"x", "use Unknown d", "use Unknown e"),
	  "next_turn next_turn next_turn next_turn malformed_tool_use_exhausted", 17, 5 },
	{ "a good call between resets the count",
	  S("use Unknown a", "use Unknown b", "use Unknown c", "use Unknown d", "use SafeA e", "use Unknown f",
	    "text done"),
	  "next_turn next_turn next_turn next_turn next_turn next_turn completed", 0, 7 },
	{ "bad input is shown to the model", S("bad SafeA t1 {\"x", "text done"), "next_turn completed", 0, 2,
	  "result t1 error InputValidationError: the tool input is not a JSON object: {\"INVALID_JSON\":" },
	{ "an id that was used before gets another", S("use SafeA t1", "use SafeA t1", "text done"),
	  "next_turn next_turn completed", 0, 3, "result toolu_00000000" },
	{ "twice the same id in one answer", S("use SafeA t1 | use SafeA t1", "text done"), "next_turn completed", 0, 2,
	  "result toolu_00000000" },
	{ "turn limit: tools of the last answer run", S("use SafeA t1", "use SafeA t2", "text never"),
	  "next_turn next_turn max_turns", 10, 2, "result t2 ok", NULL, 2, .max_turns = 2 },
	{ "turn limit met by the final answer", S("text done"), "completed", 0, 1, .max_turns = 1 },
	{ "token budget", S("usage 900 100 | use SafeA t1", "text never"), "next_turn budget_exhausted", 13, 1,
	  "result t1 ok", NULL, 1, .token_budget = 1000 },
	{ "near the budget the model is told once",
	  S("usage 900 10 | use SafeA t1", "usage 50 10 | use SafeA t2", "text x"), "next_turn next_turn completed", 0,
	  3, "user The budget of this run is nearly spent", NULL, 3, .token_budget = 1000 },
	{ "cost budget", S("usage 1000 1 | use SafeA t1", "text never"), "next_turn budget_exhausted", 13, 1, NULL,
	  NULL, 1, .max_cost = 1000000 },
	{ "failed attempts are paid too",
	  S("usage 990 1 | text x | stream overloaded_error Overloaded", "usage 100 10 | use SafeA t1"),
	  "next_turn budget_exhausted", 13, 1, "tombstone 0", NULL, 2, .token_budget = 1000 },
	{ "request limit", S("use SafeA t1", "text never"), "next_turn budget_exhausted", 13, 1, NULL, NULL, 1,
	  .max_requests = 1 },
	{ "tool call limit", S("use SafeA t1 | use SafeA t2", "text never"), "budget_exhausted", 13, 1,
	  "result t2 error Error: the tool call limit", NULL, 1, .max_tool_calls = 1 },
	{ "tool call limit met but not passed", S("use SafeA t1", "text done"), "next_turn completed", 0, 2,
	  .max_tool_calls = 1 },
	{ "cut answer: the cap is raised", S("text part | stop max_tokens", "text whole"),
	  "max_output_tokens_escalate completed", 0, 1, "end completed 0 turns=1 whole", "assistant part" },
	{ "cut again: resumed", S("text part | stop max_tokens", "text part | stop max_tokens", "text rest"),
	  "max_output_tokens_escalate max_output_tokens_recovery completed", 0, 2, "user Your answer was cut" },
	{ "cut for ever", S(cut, cut, cut, cut, cut, "text never"),
	  "max_output_tokens_escalate max_output_tokens_recovery max_output_tokens_recovery max_output_tokens_recovery "
	  "max_output_tokens",
	  14, 4, "end max_output_tokens 14 turns=4 part", NULL, 5 },
	{ "the user's own cap is not raised", S(cut, "text rest"), "max_output_tokens_recovery completed", 0, 2,
	  .max_output = 500 },
	{ "cut in a call: it is never run", S("text a | use UnsafeA t1 | stop max_tokens", "text done"),
	  "max_output_tokens_escalate completed", 0, 1, NULL, "result t1" },
	{ "complete calls before the cut run", S("use SafeA t1 | use UnsafeA t2 | stop max_tokens", "text done"),
	  "next_turn completed", 0, 2, "result t1 ok", "assistant UnsafeA" },
	{ "cut thinking only: nothing is stored", S("unsigned hm | stop max_tokens", "text done"),
	  "max_output_tokens_recovery completed", 0, 2, .max_output = 500 },
	{ "window exceeded", S("text part | stop model_context_window_exceeded"), "max_output_tokens", 14, 1,
	  "end max_output_tokens 14 turns=1 part" },
	{ "pause", S("text a | stop pause_turn", "text b"), "pause_turn completed", 0, 1, "end completed 0 turns=1 b" },
	{ "pause for ever",
	  S("text a | stop pause_turn", "text a | stop pause_turn", "text a | stop pause_turn",
	    "text a | stop pause_turn", "text a | stop pause_turn", "text a | stop pause_turn"),
	  "pause_turn pause_turn pause_turn pause_turn pause_turn model_error", 20, 1, NULL, NULL, 6 },
	{ "pause in the last turn may end", S("text a | stop pause_turn", "text b"), "pause_turn completed", 0, 1,
	  .max_turns = 1 },
	{ "empty answer is nudged once", S("stop end_turn", "text done"), "empty_answer_nudge completed", 0, 2,
	  "user Please continue." },
	{ "two empty answers", S("stop end_turn", "stop end_turn"), "empty_answer_nudge completed", 0, 2,
	  "assistant (empty)" },
	{ "empty answer in the last turn", S("stop end_turn"), "completed", 0, 1, NULL, "user", .max_turns = 1 },
	{ "a nudge is a wish", S("usage 2000 1 | stop end_turn"), "empty_answer_nudge completed", 0, 1,
	  .token_budget = 1000 },
	{ "refusal", S("text no | text never | stop refusal"), "refusal", 22, 0, "tombstone 1",
	  "end refusal 22 turns=0 n" },
	{ "tool_use without a call ends", S("text hm | stop tool_use"), "completed", 0, 1 },
	{ "end_turn with a call runs it", S("use SafeA t1 | stop end_turn", "text x"), "next_turn completed", 0, 2 },
	{ "unknown stop reason", S("text hm | stop novel"), "completed", 0, 1, "notice unknown_stop_reason" },
	{ "overload is retried", S("http 529 overloaded_error Overloaded", "text hi"), "completed", 0, 1, "retry 1 ",
	  "synthetic", 2 },
	{ "cut stream is withdrawn and repeated", S("text a | text b | cut", "text hi"), "completed", 0, 1,
	  "tombstone 1", NULL, 2 },
	{ "overload inside a stream", S("text a | use SafeA t1 | stream overloaded_error Overloaded", "text hi"),
	  "completed", 0, 1, "tombstone 1", "result t1", 2 },
	{ "an error in a stream that is final", S("text a | stream invalid_request_error no"), "model_error", 20, 0,
	  "synthetic invalid_request", NULL, 1 },
	{ "a costly attempt is made three times", S("text a | cut", "text a | cut", "text a | cut", "text never"),
	  "model_error", 75, 0, NULL, NULL, 3 },
	{ "a refused key", S("http 401 authentication_error invalid x-api-key"), "model_error", 20, 0,
	  "synthetic authentication_failed" },
	{ "retries run out", S("http 500 api_error a", "http 500 api_error b", "http 500 api_error last"),
	  "model_error", 75, 0, "synthetic server_error last", NULL, 3, .retries = 2 },
	{ "a long retry-after ends at once", S("http 429 rate_limit_error slow | retry-after 400000"), "model_error",
	  75, 0, NULL, "retry" },
	{ "no connection: three retries", S("refused", "refused", "refused", "refused", "text never"), "model_error",
	  75, 0, NULL, NULL, 4 },
	{ "html instead of a stream", S("html", "html", "html", "text never"), "model_error", 20, 0 },
	{ "prompt too long", S("http 400 invalid_request_error prompt is too long: 213462 tokens > 200000 maximum"),
	  "prompt_too_long", 11, 0, "synthetic invalid_request", "retry", 1 },
	{ "max_tokens is clamped once",
	  S("http 400 invalid_request_error max_tokens: 128000 > 4000, which is the maximum allowed number of output "
	    "tokens for x",
	    "text ok"),
	  "completed", 0, 1, "notice request_repaired", "synthetic", 2 },
	{ "silence before the first byte", S("hang", "text hi"), "completed", 0, 1, "retry 1", NULL, 2 },
	{ "wall time while the model is silent", S("hang"), "aborted_streaming", 40, 0, NULL, NULL, 1,
	  .wall_ms = 5000 },
	{ "wall time in a tool", S("use SlowUnsafe t1"), "aborted_tools", 41, 1, "result t1 error [Request interrupted",
	  NULL, 1, .wall_ms = 5000 },
	{ "signal while the model answers", S("after 5000 | text hi"), "aborted_streaming", 143, 0, NULL, NULL, 1,
	  .signal_at = 2000 },
	{ "signal in a tool", S("use Slow t1 | use SafeA t2"), "aborted_tools", 143, 1, "result t2 error", NULL, 1,
	  .signal_at = 5000 },
	{ "signal in the backoff", S("http 529 overloaded_error x", "text never"), "aborted_streaming", 143, 0,
	  "retry 1", NULL, 1, .signal_at = 1100 },
};

static void configure(struct sim *s, const struct path *p)
{
	struct loop_config *c = &s->cfg;

	if (p->max_turns)
		c->max_turns = p->max_turns;
	c->token_budget = p->token_budget;
	c->max_cost_nano_usd = p->max_cost;
	c->max_requests = p->max_requests;
	c->max_tool_calls = p->max_tool_calls;
	c->max_output_tokens = p->max_output;
	if (p->retries)
		c->retry.max_retries = (int)p->retries;
	if (p->wall_ms) {
		c->wall_time_ms = p->wall_ms;
		c->deadline = c->started + p->wall_ms;
	}
	s->signal_at = p->signal_at;
}

static void run_path(void **state)
{
	const struct path *p = *state;
	static struct sim s;

	sim_init(&s, p->script);
	configure(&s, p);
	sim_run(&s, "do it");
	assert_string_equal(s.problem, "");
	assert_string_equal(s.trace, p->trace);
	assert_int_equal(s.out.exit_code, p->exit_code);
	const char *turns = strstr(sim_line(&s, "end "), "turns=");
	assert_int_equal(strtol(turns + 6, NULL, 10), p->turns);
	if (p->shows && !sim_line(&s, p->shows)) {
		for (size_t i = 0; i < s.nlines; i++)
			print_message("# %s\n", s.lines[i]);
		fail_msg("no line '%s'", p->shows);
	}
	if (p->hides && sim_line(&s, p->hides))
		fail_msg("there is a line '%s'", sim_line(&s, p->hides));
	if (p->requests)
		assert_int_equal(s.requests, p->requests);
	sim_release(&s);
}

static void cap_is_raised_for_good(void **state)
{
	static struct sim s;
	const char *const script[] = { "text a | stop max_tokens", "use SafeA t1", "text done", NULL };

	(void)state;
	sim_init(&s, script);
	sim_run(&s, "do it");
	assert_int_equal(s.max_tokens_sent[0], 8000);
	assert_int_equal(s.max_tokens_sent[1], 64000);
	assert_int_equal(s.max_tokens_sent[2], 64000);
	sim_release(&s);
}

static void stdout_gone_ends_the_run(void **state)
{
	static struct sim s;
	const char *const script[] = { "use SafeA t1", "use SafeA t2", "text done", NULL };

	(void)state;
	sim_init(&s, script);
	s.stdout_gone_at = 1030;
	sim_run(&s, "do it");
	assert_string_equal(s.problem, "");
	assert_true(s.out.broken);
	assert_int_equal(s.out.exit_code, 1);
	assert_int_equal(s.requests, 1);
	sim_release(&s);
}

static void second_signal_skips_the_grace(void **state)
{
	static struct sim s;
	const char *const script[] = { "use Slow t1", NULL };

	(void)state;
	sim_init(&s, script);
	s.signal_at = 5000;
	s.second_signal_at = 5010;
	sim_run(&s, "do it");
	assert_string_equal(s.problem, "");
	assert_int_equal(s.out.exit_code, 143);
	assert_true(s.clock < 5500);
	sim_release(&s);
}

int main(void)
{
	static const size_t npaths = sizeof paths / sizeof *paths;
	struct CMUnitTest tests[sizeof paths / sizeof *paths + 3];

	for (size_t i = 0; i < npaths; i++)
		tests[i] = (struct CMUnitTest){ paths[i].name, run_path, NULL, NULL, (void *)(uintptr_t)&paths[i] };
	tests[npaths] = (struct CMUnitTest)cmocka_unit_test(cap_is_raised_for_good);
	tests[npaths + 1] = (struct CMUnitTest)cmocka_unit_test(stdout_gone_ends_the_run);
	tests[npaths + 2] = (struct CMUnitTest)cmocka_unit_test(second_signal_skips_the_grace);
	return cmocka_run_group_tests_name("loop", tests, NULL, NULL);
}
