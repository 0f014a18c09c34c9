/* What hooks and the verification may say on the way of a run and to its end, and what they are not asked. */
#include "test.h"

#include <stdlib.h>
#include <string.h>

#include "loop_path.h"

#define LENGTH(a) (sizeof(a) / sizeof *(a))
#define S(...)                                                                                                         \
	(const char *const[])                                                                                          \
	{                                                                                                              \
		__VA_ARGS__, NULL                                                                                      \
	}

struct path {
	const char *name;
	const char *const *script;
	const char *const *hooks; /* see struct sim: NULL = nobody to ask */
	const char *trace;
	int exit_code;
	int turns, asked;
	const char *shows, *shows_too; /* lines that must be there, by their beginnings, or NULL */
	const char *hides;             /* and one that must not */
	const char *error;             /* stands in the words for the user, or NULL */
	int64_t max_turns, max_requests, max_output, wall_ms, signal_at;
	int max_stop_blocks; /* 0 = as it is; -1 = no limit */
	int max_repairs;
	int64_t window, interrupt_at;
};

#define CUT       "text part | stop max_tokens"
#define TOO_LONG  "http 400 invalid_request_error prompt is too long: 9000 tokens > 8000 maximum"
#define PAUSE     "text p | stop pause_turn"
#define BAD       "http 400 invalid_request_error bad"
#define BLOCKING  "stop_hook_blocking "
#define RESUMED   "max_output_tokens_recovery "
#define ROUND(id) "use UnsafeB " id " {\"size\":7000}"
/* Four turns in a window that is full then. */
#define FILLS(...) S(ROUND("t1"), ROUND("t2"), ROUND("t3"), ROUND("t4"), __VA_ARGS__)

static const struct path paths[] = {
	/* the word they have */
	{ "nobody to ask", S("text a"), NULL, "completed", 0, 1, 0, .hides = "hook" },
	{ "nobody whom it concerns", S("text a"), S("none"), "completed", 0, 1, 0, .hides = "hook" },
	{ "nothing against it", S("text a"), S("pass"), "completed", 0, 1, 1, "hook Stop 'a'",
	  "end completed 0 turns=1 a" },
	{ "it takes its time", S("text a"), S("after 3000000 pass"), "completed", 0, 1, 1 },
	{ "only the last answer is asked about", S("use SafeA t1", "use UnsafeA t2", "text a"), S("pass"),
	  "next_turn next_turn completed", 0, 3, 1, "hook Stop 'a'" },
	{ "an objection goes to the model", S("text a", "text b"), S("block mend it", "pass"), BLOCKING "completed", 0,
	  2, 2, "user mend it", "hook Stop active 'b'" },
	{ "one without a reason", S("text a", "text b"), S("block  ", "pass"), BLOCKING "completed", 0, 2, 2,
	  "user A stop hook objected" },
	{ "one without a word", S("text a", "text b"), S("block", "pass"), BLOCKING "completed", 0, 2, 2,
	  "user A stop hook objected" },
	{ "stop_hook_active stays", S("text a", "use SafeA t1", "text b"), S("block mend it", "pass"),
	  BLOCKING "next_turn completed", 0, 3, 2, "hook Stop active 'b'" },
	{ "the run is stopped", S("text a", "text never"), S("end enough"), "stop_hook_prevented", 31, 1, 1, NULL, NULL,
	  "user enough", "a stop hook ended the run: enough" },
	{ "stopped behind an objection", S("text a", "text b"), S("block mend it", "end enough"),
	  BLOCKING "stop_hook_prevented", 31, 2, 2 },
	/* bounds */
	{ "always an objection", S("text a"), S("block more"),
	  BLOCKING BLOCKING BLOCKING BLOCKING BLOCKING BLOCKING BLOCKING BLOCKING BLOCKING BLOCKING
	  "stop_blocks_exhausted",
	  34, 11, 11, .error = "objected 10 times, and object again: more" },
	{ "objections are counted in all", S("text a", "use SafeA t1", "text b", "use SafeA t2", "text c"),
	  S("block more"), BLOCKING "next_turn " BLOCKING "next_turn stop_blocks_exhausted", 34, 5, 3,
	  .max_stop_blocks = 2 },
	{ "no limit of objections", S("text a"), S("block more"),
	  BLOCKING BLOCKING BLOCKING BLOCKING BLOCKING BLOCKING BLOCKING BLOCKING BLOCKING BLOCKING BLOCKING BLOCKING
	  "max_turns",
	  10, 12, 12, .max_turns = 12, .max_stop_blocks = -1 },
	{ "no turn is left for an objection", S("text a", "text never"), S("block more"), BLOCKING "max_turns", 10, 1,
	  1, "user more", .max_turns = 1 },
	{ "no request is left for one", S("text a", "text never"), S("block more"), BLOCKING "budget_exhausted", 13, 1,
	  1, .max_requests = 1 },
	/* with recoveries */
	{ "an answer may be resumed as often again", S(CUT, CUT, CUT, "text a", CUT, CUT, CUT, "text b"),
	  S("block more", "pass"), RESUMED RESUMED RESUMED BLOCKING RESUMED RESUMED RESUMED "completed", 0, 8, 2,
	  .max_output = 4000 },
	{ "the prompt may not be summed up again",
	  S("use SafeA t1 {\"size\":9000}", "use SafeA t2 {\"size\":9000}", TOO_LONG, "text sum", "text a", TOO_LONG,
	    "text never"),
	  S("block more", "end no"), "next_turn next_turn reactive_compact_retry " BLOCKING "prompt_too_long", 11, 3, 2,
	  "hook StopFailure active 'a' invalid_request: prompt is too long" },
	{ "unusable calls are no longer in a row",
	  S("use Unknown a", "use Unknown b", "use Unknown c", "use Unknown d", "text a", "use Unknown e", "text b"),
	  S("block more", "pass"), "next_turn next_turn next_turn next_turn " BLOCKING "next_turn completed", 0, 7, 2 },
	{ "pauses are no longer in a row", S(PAUSE, PAUSE, PAUSE, PAUSE, PAUSE, "text a", PAUSE, "text b"),
	  S("block more", "pass"),
	  "pause_turn pause_turn pause_turn pause_turn pause_turn " BLOCKING "pause_turn completed", 0, 2, 2 },
	{ "an empty answer is for the nudge", S("text  ", "text a"), S("pass"), "empty_answer_nudge completed", 0, 2, 1,
	  "hook Stop 'a'" },
	{ "the second one is judged", S("text  ", "text  ", "text a"), S("block more", "pass"),
	  "empty_answer_nudge " BLOCKING "completed", 0, 3, 2, "user more" },
	{ "a limit behind a nudge: the answer stands if they agree", S("text  "), S("pass"),
	  "empty_answer_nudge completed", 0, 1, 1, .max_requests = 1 },
	{ "a limit behind a nudge: it does not if they object", S("text  "), S("block more"),
	  "empty_answer_nudge " BLOCKING "budget_exhausted", 13, 1, 1, .max_requests = 1 },
	{ "a limit behind a nudge: they stop the run", S("text  "), S("end enough"),
	  "empty_answer_nudge stop_hook_prevented", 31, 1, 1, .max_requests = 1 },
	/* behind an API error */
	{ "they are told, and have no word", S(BAD, "text never"), S("block no"), "model_error", 20, 0, 1,
	  "hook StopFailure '' invalid_request: bad", "synthetic invalid_request bad", "hook Stop '", "bad" },
	{ "nor can they stop what has stopped", S("text a", BAD), S("block more", "end no"), BLOCKING "model_error", 20,
	  1, 2, "hook StopFailure active 'a'", "synthetic invalid_request", .error = "bad" },
	{ "nobody to be told", S(BAD), S("none"), "model_error", 20, 0, 0, "synthetic invalid_request" },
	{ "the model declined", S("text no | stop refusal"), S("block no"), "refusal", 22, 0, 1,
	  "hook StopFailure '' invalid_request: the model declined" },
	{ "an answer that stays cut", S(CUT, CUT, CUT, CUT), S("block no"), RESUMED RESUMED RESUMED "max_output_tokens",
	  14, 4, 1, "hook StopFailure 'part' max_output_tokens: ", .max_output = 4000 },
	{ "a recovered error is none", S("http 529 overloaded_error Overloaded", "text a"), S("pass"), "completed", 0,
	  1, 1, "hook Stop 'a'", NULL, "hook StopFailure" },
	{ "a tape that does not hold it is none", S("mismatch"), S("pass"), "replay_mismatch", 50, 0, 0 },
	{ "a limit is none", S("use SafeA t1", "text never"), S("pass"), "next_turn max_turns", 10, 1, 0,
	  .max_turns = 1 },
	/* the end of waiting */
	{ "a signal while they are asked", S("text a"), S("hang"), "aborted_tools", 143, 1, 1, "hook Stop cancelled",
	  .error = "ended by signal 15", .signal_at = 5000 },
	{ "a signal comes before a late objection", S("text a"), S("after 9000 block more"), "aborted_tools", 143, 1, 1,
	  "hook Stop cancelled", NULL, "user more", .signal_at = 5000 },
	{ "the deadline while they are asked", S("text a"), S("hang"), "aborted_tools", 41, 1, 1, "hook Stop cancelled",
	  .error = "the wall time of 5 s is over", .wall_ms = 5000 },
	{ "a deadline that is no whole number of seconds", S("text a"), S("hang"), "aborted_tools", 41, 1, 1,
	  "hook Stop cancelled", .error = "the wall time of 2500 ms is over", .wall_ms = 2500 },
	{ "a signal while they are told", S(BAD), S("hang"), "aborted_tools", 143, 0, 1, "hook StopFailure cancelled",
	  "synthetic invalid_request bad", .error = "ended by signal 15", .signal_at = 5000 },
	{ "the deadline while they are told", S(BAD), S("hang"), "model_error", 20, 0, 1, "hook StopFailure cancelled",
	  "synthetic invalid_request bad", .error = "bad", .wall_ms = 5000 },
	{ "they cannot be asked", S("text a"), S("gone"), "internal_error", 1, 1, 1, NULL, NULL, "hook Stop cancelled",
	  "the supervisor is gone" },
	{ "they cannot be told", S(BAD), S("gone"), "internal_error", 1, 0, 1, "synthetic invalid_request bad", NULL,
	  "hook StopFailure cancelled", "the supervisor is gone" },
	/* the session's start */
	{ "the session starts", S("text a"), S("SessionStart pass"), "completed", 0, 1, 1,
	  "hook SessionStart 'startup'" },
	{ "its context stands behind the prompt", S("text a"), S("SessionStart pass | context know this"), "completed",
	  0, 1, 1, "user <system-reminder>\nThe SessionStart hook says:\nknow this\n</system-reminder>" },
	{ "a message of theirs is the first", S("text a"), S("SessionStart pass | first look around"), "completed", 0,
	  1, 1, "user look around" },
	{ "an objection to a start is none", S("text a"), S("SessionStart block no"), "completed", 0, 1, 1 },
	{ "the run is stopped before it begins", S("text never"), S("SessionStart end enough"), "hook_stopped", 30, 0,
	  1, "init", NULL, "assistant", "a SessionStart hook ended the run: enough" },
	{ "a signal while they are asked of the start", S("text never"), S("SessionStart hang"), "aborted_tools", 143,
	  0, 1, "init", "hook SessionStart cancelled", .signal_at = 5000 },
	{ "the deadline while they are asked of the start", S("text never"), S("SessionStart hang"), "aborted_tools",
	  41, 0, 1, "init", "hook SessionStart cancelled", .error = "the wall time", .wall_ms = 5000 },
	{ "they cannot be asked of the start", S("text never"), S("SessionStart gone"), "internal_error", 1, 0, 1,
	  "init", .error = "the supervisor is gone" },
	/* the prompt */
	{ "the prompt is shown to them", S("text a"), S("UserPromptSubmit pass | context mind the gap"), "completed", 0,
	  1, 1, "hook UserPromptSubmit 'do it'",
	  "user <system-reminder>\nThe UserPromptSubmit hook says:\nmind the gap" },
	{ "a prompt that is refused", S("text never"), S("UserPromptSubmit block secret"), "hook_stopped", 30, 0, 1,
	  "init", NULL, "user", "a UserPromptSubmit hook refused the prompt: secret" },
	{ "refused, and nothing of the start is sent", S("text never"),
	  S("SessionStart pass | context c | first f", "UserPromptSubmit block secret"), "hook_stopped", 30, 0, 2, NULL,
	  NULL, "user" },
	{ "a prompt that ends the run", S("text never"), S("UserPromptSubmit end enough"), "hook_stopped", 30, 0, 1,
	  NULL, NULL, "user", "a UserPromptSubmit hook ended the run: enough" },
	{ "a signal while they read the prompt", S("text never"), S("UserPromptSubmit hang"), "aborted_tools", 143, 0,
	  1, "hook UserPromptSubmit cancelled", .signal_at = 5000 },
	/* batches */
	{ "all calls of an answer", S("use SafeA t1 {\"x\":1} | use UnsafeA t2", "text a"),
	  S("PostToolBatch pass | context well done"), "next_turn completed", 0, 2, 1,
	  "hook PostToolBatch '[{\"tool_name\":\"SafeA\",\"tool_input\":{\"x\":1},\"tool_use_id\":\"t1\","
	  "\"tool_response\":\"ok\"},{\"tool_name\":\"UnsafeA\"",
	  "user <system-reminder>\nThe PostToolBatch hook says:\nwell done" },
	{ "an objection to a batch ends the run", S("use SafeA t1", "text never"), S("PostToolBatch block no"),
	  "hook_stopped", 30, 1, 1, "result t1 ok", NULL, NULL, "a PostToolBatch hook ended the run: no" },
	{ "so does the end", S("use SafeA t1", "text never"), S("PostToolBatch end no"), "hook_stopped", 30, 1, 1 },
	{ "a signal while they look at a batch", S("use SafeA t1", "text never"), S("PostToolBatch hang"),
	  "aborted_tools", 143, 1, 1, "hook PostToolBatch cancelled", .signal_at = 5000 },
	{ "no batch where calls were cut off", S("use Slow t1", "text never"), S("PostToolBatch pass"), "aborted_tools",
	  143, 1, 0, .signal_at = 5000 },
	/* context of stop hooks */
	{ "context keeps the run going", S("text a", "text b"), S("pass | context and the tests?", "pass"),
	  BLOCKING "completed", 0, 2, 2, "user <system-reminder>\nThe Stop hook says:\nand the tests?",
	  "hook Stop active 'b'" },
	{ "but not for ever", S("text a"), S("pass | context and the tests?"), BLOCKING "stop_blocks_exhausted", 34, 2,
	  2, .error = "and the tests?", .max_stop_blocks = 1 },
	/* the end of the session */
	{ "the session's end is told", S("text a"), S("SessionEnd block no"), "completed", 0, 1, 1,
	  "hook SessionEnd 'other'", "end completed 0 turns=1 a" },
	{ "an end at the end is none", S("text a"), S("SessionEnd end no"), "completed", 0, 1, 1 },
	{ "it is told behind a failure", S(BAD), S("pass", "SessionEnd pass"), "model_error", 20, 0, 2,
	  "hook SessionEnd 'other'", "synthetic invalid_request bad" },
	{ "it is told behind a signal", S("hang"), S("SessionEnd pass"), "aborted_streaming", 143, 0, 1,
	  "hook SessionEnd 'other'", .signal_at = 5000 },
	{ "it is told where a hook stopped the run", S("text never"), S("SessionStart end x", "SessionEnd pass"),
	  "hook_stopped", 30, 0, 2, "hook SessionEnd 'other'" },
	{ "it has a minute at most", S("text a"), S("SessionEnd hang"), "completed", 0, 1, 1,
	  "hook SessionEnd cancelled" },
	{ "a signal while it is told", S("text a"), S("SessionEnd hang"), "aborted_tools", 143, 1, 1,
	  "hook SessionEnd cancelled", .error = "ended by signal 15", .signal_at = 5000 },
	{ "the deadline while it is told", S("text a"), S("SessionEnd hang"), "completed", 0, 1, 1,
	  "hook SessionEnd cancelled", .wall_ms = 5000 },
	{ "the session's end cannot be told", S("text a"), S("SessionEnd gone"), "internal_error", 1, 1, 1,
	  .error = "the supervisor is gone" },
	/* verification */
	{ "it passes", S("text a"), S("Verify pass"), "completed", 0, 1, 1, "hook Verify", "end completed" },
	{ "stop hooks are asked before", S("text a", "text b"), S("block no", "pass", "Verify pass"),
	  BLOCKING "completed", 0, 2, 3 },
	{ "it fails, and the model mends it", S("text a", "use UnsafeA t1", "text b"),
	  S("Verify block 2 tests fail", "Verify pass"), BLOCKING "next_turn completed", 0, 3, 2, "user 2 tests fail",
	  .max_repairs = 3 },
	{ "that is no objection of stop hooks", S("text a", "text b"), S("pass", "Verify block no", "Verify pass"),
	  BLOCKING "completed", 0, 2, 4, "hook Stop 'b'", .max_repairs = 3, .max_stop_blocks = 1 },
	{ "it never passes", S("text a"), S("Verify block 2 tests fail"), BLOCKING BLOCKING "verify_failed", 33, 3, 3,
	  .error = "the verification failed 3 times, and no repair is left (2 tests fail)", .max_repairs = 2 },
	{ "no repair is allowed", S("text a"), S("Verify block 2 tests fail"), "verify_failed", 33, 1, 1,
	  .error = "the verification failed 1 time, and no repair is left (2 tests fail)" },
	{ "it says nothing", S("text a", "text b"), S("Verify block", "Verify pass"), BLOCKING "completed", 0, 2, 2,
	  "user The verification failed, and said nothing.", .max_repairs = 1 },
	{ "no turn is left for a repair", S("text a", "text never"), S("Verify block no"), BLOCKING "max_turns", 10, 1,
	  1, .max_turns = 1, .max_repairs = 3 },
	{ "an answer that stays cut is not verified", S(CUT, CUT, CUT, CUT), S("Verify pass"),
	  RESUMED RESUMED RESUMED "max_output_tokens", 14, 4, 0, .max_output = 4000 },
	{ "what the model declined is not verified", S("text no | stop refusal"), S("Verify pass"), "refusal", 22, 0,
	  0 },
	{ "an API error is not verified", S(BAD), S("Verify pass"), "model_error", 20, 0, 0 },
	{ "what stop hooks end is not verified", S("text a"), S("end no", "Verify pass"), "stop_hook_prevented", 31, 1,
	  1 },
	{ "a signal while it runs", S("text a"), S("Verify hang"), "aborted_tools", 143, 1, 1, "hook Verify cancelled",
	  .signal_at = 5000 },
	{ "the deadline while it runs", S("text a"), S("Verify hang"), "aborted_tools", 41, 1, 1,
	  "hook Verify cancelled", .wall_ms = 5000 },
	{ "it cannot be run", S("text a"), S("Verify gone"), "internal_error", 1, 1, 1,
	  .error = "the supervisor is gone" },
	/* compactions */
	{ "what is said to a compaction", FILLS("text sum", "text a"),
	  S("PreCompact pass", "PostCompact block no", "SessionStart pass", "SessionStart pass | context c"),
	  "next_turn next_turn next_turn next_turn completed", 0, 5, 4, "hook PostCompact 'sum'",
	  "hook SessionStart 'compact'", .window = 10000 },
	{ "none is made against an objection", FILLS("text a"), S("PreCompact block keep it"),
	  "next_turn next_turn next_turn next_turn completed", 0, 5, 1, "notice compact_blocked", NULL,
	  "status compacting", .window = 10000 },
	{ "nor can they end the run", FILLS("text sum", "text a"), S("PreCompact end no"),
	  "next_turn next_turn next_turn next_turn completed", 0, 5, 1, "status null success", .window = 10000 },
	{ "the error stands where no summary may be made", S(ROUND("t1"), ROUND("t2"), TOO_LONG, "text never"),
	  S("PreCompact block keep it"), "next_turn next_turn prompt_too_long", 11, 2, 1, "synthetic invalid_request",
	  .error = "prompt is too long", .window = 100000 },
	{ "a cut answer stands where no summary may be made",
	  S(ROUND("t1"), ROUND("t2"), "text part | stop model_context_window_exceeded"), S("PreCompact block keep it"),
	  "next_turn next_turn max_output_tokens", 14, 3, 1, "end max_output_tokens", .window = 100000 },
	{ "the start behind a compaction may end the run", FILLS("text sum", "text never"),
	  S("SessionStart pass", "SessionStart end no"), "next_turn next_turn next_turn next_turn hook_stopped", 30, 4,
	  2, .window = 10000 },
	{ "a signal before a compaction", FILLS("text never"), S("PreCompact hang"),
	  "next_turn next_turn next_turn next_turn aborted_tools", 143, 4, 1, "hook PreCompact cancelled",
	  .window = 10000, .signal_at = 5000 },
	{ "a signal behind a compaction", FILLS("text sum", "text never"), S("PostCompact hang"),
	  "next_turn next_turn next_turn next_turn aborted_tools", 143, 4, 1, "hook PostCompact cancelled",
	  .window = 10000, .signal_at = 5000 },
	/* the user has enough of it */
	{ "an interrupt while they are asked", S("text a"), S("hang"), "aborted_tools", 41, 1, 1, "hook Stop cancelled",
	  .error = "interrupted by the user", .interrupt_at = 5000 },
	{ "an interrupt while the model answers", S("hang"), NULL, "aborted_streaming", 40, 0, 0,
	  .error = "interrupted by the user", .interrupt_at = 5000 },
	{ "an interrupt while a call runs", S("use Slow t1"), NULL, "aborted_tools", 41, 1, 0, "result t1 error",
	  .error = "interrupted by the user", .interrupt_at = 5000 },
	{ "an interrupt in the backoff", S("http 529 overloaded_error x | retry-after 60000", "text never"), NULL,
	  "aborted_streaming", 40, 0, 0, .error = "interrupted by the user", .interrupt_at = 5000 },
};

static void configure(struct sim *s, const struct path *p)
{
	struct loop_config *c = &s->cfg;

	s->hooks = p->hooks;
	s->signal_at = p->signal_at;
	c->max_requests = p->max_requests;
	c->max_output_tokens = p->max_output;
	c->context.collapse.kind = MARK_OFF;
	c->max_repairs = p->max_repairs;
	s->interrupt_at = p->interrupt_at;
	if (p->window) {
		static struct catalog_row row;
		row = *c->row;
		row.window = p->window;
		c->row = &row;
		c->context.microcompact.kind = MARK_OFF;
		c->context.blocking.kind = MARK_OFF;
		c->context.microcompact_keep = 1;
		s->window = 1000000; /* the model takes anything, and counts what it is sent */
		s->bytes_per_token = 4;
	}
	if (p->max_turns)
		c->max_turns = p->max_turns;
	if (p->max_stop_blocks)
		c->max_stop_blocks = p->max_stop_blocks < 0 ? 0 : p->max_stop_blocks;
	if (p->wall_ms) {
		c->wall_time_ms = p->wall_ms;
		c->deadline = c->started + p->wall_ms;
	}
}

static void run_path(void **state)
{
	const struct path *p = *state;
	static struct sim s;

	sim_init(&s, p->script);
	configure(&s, p);
	sim_run(&s, "do it");
	assert_string_equal(s.problem, "");
	assert_trace(&s, p->trace);
	assert_int_equal(s.out.exit_code, p->exit_code);
	assert_int_equal(s.hook_runs, p->asked);
	assert_turns(&s, p->turns);
	assert_shows(&s, p->shows);
	assert_shows(&s, p->shows_too);
	assert_hides(&s, p->hides);
	if (p->error && !strstr(s.out.error.msg, p->error))
		fail_msg("'%s' does not tell: %s", s.out.error.msg, p->error);
	sim_release(&s);
}

/* ---- what came before the signal is told as well ---- */

static int (*emit)(void *ctx, struct event *ev, struct error *e);
static char told[2][128];

static int keep_errors(void *ctx, struct event *ev, struct error *e)
{
	for (size_t i = 0; ev->kind == EVENT_RESULT && i < ev->u.result.nerrors && i < LENGTH(told); i++)
		strncpy(told[i], ev->u.result.errors[i], sizeof told[i] - 1);
	return emit(ctx, ev, e);
}

static void stand_before(struct loop_deps *deps)
{
	emit = deps->emit;
	deps->emit = keep_errors;
}

static void the_failure_is_told_beside_the_signal(void **state)
{
	static struct sim s;

	(void)state;
	sim_init(&s, S(BAD));
	s.hooks = S("hang");
	s.signal_at = 5000;
	s.stand_before = stand_before;
	sim_run(&s, "do it");
	assert_string_equal(s.problem, "");
	assert_string_equal(told[0], "bad");
	assert_non_null(strstr(told[1], "signal 15"));
	sim_release(&s);
}

/* A line about a round that comes in meanwhile is taken, and nobody takes it for the hook's answer. */
static void the_background_goes_on(void **state)
{
	static struct sim s;

	(void)state;
	sim_init(&s, S("use SafeA t1", "after 500 | text It looked.", "text a"));
	s.hooks = S("after 5000 pass");
	s.cfg.summary_model = "small";
	sim_run(&s, "do it");
	assert_string_equal(s.problem, "");
	assert_string_equal(s.trace, "next_turn completed");
	assert_true(s.clock >= 6000);
	sim_release(&s);
}

int main(void)
{
	struct CMUnitTest tests[LENGTH(paths) + 2];

	for (size_t i = 0; i < LENGTH(paths); i++)
		tests[i] = (struct CMUnitTest){ paths[i].name, run_path, NULL, NULL, (void *)(uintptr_t)&paths[i] };
	tests[LENGTH(paths)] = (struct CMUnitTest)cmocka_unit_test(the_failure_is_told_beside_the_signal);
	tests[LENGTH(paths) + 1] = (struct CMUnitTest)cmocka_unit_test(the_background_goes_on);
	return _cmocka_run_group_tests("loop_hooks", tests, LENGTH(tests), NULL, NULL);
}
