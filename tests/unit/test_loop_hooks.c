/* What hooks may say to the end of a run, and what they are not asked. */
#include "test.h"

#include <stdlib.h>
#include <string.h>

#include "sim.h"

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
};

#define CUT      "text part | stop max_tokens"
#define TOO_LONG "http 400 invalid_request_error prompt is too long: 9000 tokens > 8000 maximum"
#define PAUSE    "text p | stop pause_turn"
#define BAD      "http 400 invalid_request_error bad"
#define BLOCKING "stop_hook_blocking "
#define RESUMED  "max_output_tokens_recovery "

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
	  .error = "the wall time", .wall_ms = 5000 },
	{ "a signal while they are told", S(BAD), S("hang"), "aborted_tools", 143, 0, 1, "hook StopFailure cancelled",
	  "synthetic invalid_request bad", .error = "ended by signal 15", .signal_at = 5000 },
	{ "the deadline while they are told", S(BAD), S("hang"), "model_error", 20, 0, 1, "hook StopFailure cancelled",
	  "synthetic invalid_request bad", .error = "bad", .wall_ms = 5000 },
	{ "they cannot be asked", S("text a"), S("gone"), "internal_error", 1, 1, 1, NULL, NULL, "hook Stop cancelled",
	  "the supervisor is gone" },
	{ "they cannot be told", S(BAD), S("gone"), "internal_error", 1, 0, 1, "synthetic invalid_request bad", NULL,
	  "hook StopFailure cancelled", "the supervisor is gone" },
};

static void configure(struct sim *s, const struct path *p)
{
	struct loop_config *c = &s->cfg;

	s->hooks = p->hooks;
	s->signal_at = p->signal_at;
	c->max_requests = p->max_requests;
	c->max_output_tokens = p->max_output;
	c->context.collapse.kind = MARK_OFF;
	if (p->max_turns)
		c->max_turns = p->max_turns;
	if (p->max_stop_blocks)
		c->max_stop_blocks = p->max_stop_blocks < 0 ? 0 : p->max_stop_blocks;
	if (p->wall_ms) {
		c->wall_time_ms = p->wall_ms;
		c->deadline = c->started + p->wall_ms;
	}
}

static void must_show(const struct sim *s, const char *line)
{
	if (!line || sim_line(s, line))
		return;
	for (size_t i = 0; i < s->nlines; i++)
		print_message("# %s\n", s->lines[i]);
	fail_msg("no line '%s'", line);
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
	assert_int_equal(s.hook_runs, p->asked);
	const char *turns = strstr(sim_line(&s, "end "), "turns=");
	assert_int_equal(strtol(turns + 6, NULL, 10), p->turns);
	must_show(&s, p->shows);
	must_show(&s, p->shows_too);
	if (p->hides && sim_line(&s, p->hides))
		fail_msg("there is a line '%s'", sim_line(&s, p->hides));
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
