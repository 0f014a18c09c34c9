/*
 * Several messages of a user in one conversation, and what is told beside them: what the model is sent then, what the
 * results count, and the nudges of a token target.
 */
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "loop_path.h"
#include "record/resume.h"

#define LENGTH(a) (sizeof(a) / sizeof *(a))
#define S(...)                                                                                                         \
	(const char *const[])                                                                                          \
	{                                                                                                              \
		__VA_ARGS__, NULL                                                                                      \
	}

#define HOOK(event, text) "<system-reminder>\nThe " event " hook says:\n" text "\n</system-reminder>"
#define WARNING           "The budget of this run is nearly spent."
#define FEW_TURNS         "The turns of this task are nearly used up."
#define FINISH            " Finish now: do only what is still needed and give your final answer."
#define TARGET            "token_budget_continuation "

struct path {
	const char *name;
	const char *const *script, *const *hooks, *const *messages, *const *arrivals, *const *attachments;
	const char *trace;
	const char *sent; /* the last message of each request, blocks by '|', requests by " // "; results are their ids.
	                     NULL = whatever */
	const char *shows, *hides;
	int64_t token_target, token_budget, max_turns, max_requests, max_tool_calls, interrupt_at, signal_at, wall_ms;
	int max_repairs;
	bool stays_open;
};

static const struct path paths[] = {
	{ "one after the other", S("text a", "text b"), NULL, S("more"), NULL, NULL, "completed / completed",
	  "do it // more" },
	{ "turns are counted for each", S("use SafeA t1", "text a", "use SafeA t2", "text b"), NULL, S("more"), NULL,
	  NULL, "next_turn completed / next_turn completed", NULL, "end completed 0 turns=2 b", .max_turns = 2 },
	{ "requests in all", S("text a", "text never"), NULL, S("more"), NULL, NULL, "completed / budget_exhausted",
	  .max_requests = 1 },
	{ "tokens in all", S("usage 900 100 | text a", "text never"), NULL, S("more"), NULL, NULL,
	  "completed / budget_exhausted", .token_budget = 1000 },
	{ "calls in all", S("use SafeA t1", "text a", "use SafeA t2", "text never"), NULL, S("more"), NULL, NULL,
	  "next_turn completed / budget_exhausted", .max_tool_calls = 1 },
	{ "the next message stands behind results that nobody answered", S("use SafeA t1", "text b"), NULL, S("more"),
	  NULL, NULL, "next_turn max_turns / completed", "do it // t1|more", .max_turns = 1 },
	{ "a failure is that of its message", S("http 400 invalid_request_error bad", "text b"), NULL, S("more"), NULL,
	  NULL, "model_error / completed", "do it // do it|more", "end completed 0 turns=1 b" },
	{ "objections are counted for each", S("text a", "text b", "text c", "text d"),
	  S("block x", "pass", "block y", "pass"), S("more"), NULL, NULL,
	  "stop_hook_blocking completed / stop_hook_blocking completed", "do it // x // more // y", "hook Stop 'c'" },
	{ "and so are repairs", S("text a", "text b", "text c", "text d"),
	  S("Verify block x", "Verify pass", "Verify block y", "Verify pass"), S("more"), NULL, NULL,
	  "stop_hook_blocking completed / stop_hook_blocking completed", NULL, .max_repairs = 1 },
	{ "an interrupt ends one of them", S("hang", "text b"), NULL, S("more"), NULL, NULL,
	  "aborted_streaming / completed", "do it // do it|more", .interrupt_at = 5000 },
	{ "a call is answered then", S("use Slow t1", "text b"), NULL, S("more"), NULL, NULL,
	  "aborted_tools / completed", "do it // t1|more", .interrupt_at = 5000 },
	{ "a signal ends all", S("hang", "text never"), NULL, S("more"), NULL, NULL, "aborted_streaming", "do it",
	  .signal_at = 5000 },
	{ "a call of the server's is not waited for in the next", S("use Slow t1 | server s1", "text b"), NULL,
	  S("more"), NULL, NULL, "aborted_tools / completed", "do it // t1|more", "notice server_call_dropped",
	  .interrupt_at = 5000 },
	/* hooks of a session */
	{ "a session starts and ends once", S("text a", "text b"),
	  S("SessionStart pass | context c | first f", "UserPromptSubmit pass | context p", "SessionEnd pass"),
	  S("more"), NULL, NULL, "completed / completed",
	  "f|do it|" HOOK("SessionStart", "c") "|" HOOK("UserPromptSubmit", "p") " // more|" HOOK("UserPromptSubmit",
	                                                                                          "p") },
	{ "a prompt that is refused is not sent later", S("text b"),
	  S("SessionStart pass | context c", "UserPromptSubmit block no", "UserPromptSubmit pass"), S("more"), NULL,
	  NULL, "hook_stopped / completed", "more|" HOOK("SessionStart", "c") },
	{ "nor out of a message that holds more", S("use SafeA t1", "text b"),
	  S("UserPromptSubmit pass", "UserPromptSubmit block no", "UserPromptSubmit pass"), S("more", "again"), NULL,
	  NULL, "next_turn max_turns / hook_stopped / completed", "do it // t1|again", .max_turns = 1 },
	{ "the session's end is told when no more comes", S("text a"), S("SessionEnd pass"), NULL, NULL, NULL,
	  "completed", "do it", "end completed", .stays_open = false },
	/* what is told behind results */
	{ "files that were touched", S("use SafeA t1", "text a"), NULL, NULL, NULL, S("file one", "file two", "-"),
	  "next_turn completed", "do it // t1|file one|file two", "user file one" },
	{ "messages that come meanwhile", S("use Slow t1", "text a"), NULL, NULL, S("5000 and this"), S("file one"),
	  "next_turn completed", "do it // t1|file one|and this", "user and this" },
	{ "one that comes with the answer is for itself", S("after 9000 | text a", "text b"), NULL, NULL,
	  S("5000 and this"), NULL, "completed / completed", "do it // and this" },
	{ "hooks read what comes meanwhile", S("use Slow t1", "text a"),
	  S("UserPromptSubmit pass", "UserPromptSubmit pass | context p"), NULL, S("5000 and this"), NULL,
	  "next_turn completed", "do it // t1|and this|" HOOK("UserPromptSubmit", "p") },
	{ "and may refuse it", S("use Slow t1", "text a"), S("UserPromptSubmit pass", "UserPromptSubmit block no"),
	  NULL, S("5000 and this"), NULL, "next_turn completed", "do it // t1", "notice prompt_refused",
	  "user and this" },
	{ "or end the run for it", S("use Slow t1", "text never"),
	  S("UserPromptSubmit pass", "UserPromptSubmit end no"), NULL, S("5000 and this"), NULL, "hook_stopped",
	  "do it", NULL, "user and this" },
	{ "one that they did not come to judge waits for the next", S("use Slow t1", "text b"),
	  S("UserPromptSubmit pass", "UserPromptSubmit hang", "UserPromptSubmit pass"), NULL, S("5000 and this"), NULL,
	  "aborted_tools / completed", "do it // t1|and this", "given back and this", .interrupt_at = 102000 },
	{ "behind an objection", S("text a", "text b"), S("after 9000 block x", "pass"), NULL, S("5000 and this"),
	  S("file one"), "stop_hook_blocking completed", "do it // x|file one|and this" },
	{ "behind a failed verification", S("text a", "text b"), S("Verify after 9000 block x", "Verify pass"), NULL,
	  S("5000 and this"), S("file one"), "stop_hook_blocking completed", "do it // x|file one|and this",
	  .max_repairs = 1 },
	{ "not while a tool of the server's is awaited",
	  S("use Slow t1 | server s1", "served | use SafeA t2", "text a"), S("PostToolBatch pass | context b"), NULL,
	  S("5000 and this"), S("file one"), "next_turn next_turn completed",
	  "do it // t1 // t2|" HOOK("PostToolBatch", "b") "|" HOOK("PostToolBatch", "b") "|file one|and this" },
	/* near a limit */
	{ "turns",
	  S("use SafeA t1", "use SafeA t2", "use SafeA t3", "use SafeA t4", "use SafeA t5", "use SafeA t6",
	    "use SafeA t7", "use SafeA t8", "use SafeA t9", "text a"),
	  NULL, NULL, NULL, NULL,
	  "next_turn next_turn next_turn next_turn next_turn next_turn next_turn next_turn next_turn completed", NULL,
	  "user " FEW_TURNS, .max_turns = 10 },
	{ "the turns of each message",
	  S("use SafeA t1", "use SafeA t2", "use SafeA t3", "use SafeA t4", "use SafeA t5", "use SafeA t6",
	    "use SafeA t7", "use SafeA t8", "use SafeA t9", "text a", "use SafeA t11", "use SafeA t12", "use SafeA t13",
	    "use SafeA t14", "use SafeA t15", "use SafeA t16", "use SafeA t17", "use SafeA t18", "use SafeA t19",
	    "text b"),
	  NULL, S("more"), NULL, NULL,
	  "next_turn next_turn next_turn next_turn next_turn next_turn next_turn next_turn next_turn completed / "
	  "next_turn next_turn next_turn next_turn next_turn next_turn next_turn next_turn next_turn completed",
	  "do it // t1 // t2 // t3 // t4 // t5 // t6 // t7 // t8 // t9|" FEW_TURNS FINISH
	  " // more // t11 // t12 // t13 // t14 // t15 // t16 // t17 // t18 // t19|" FEW_TURNS FINISH,
	  .max_turns = 10 },
	{ "but a budget once",
	  S("usage 900 10 | use SafeA t1", "usage 10 1 | text a", "usage 10 1 | use SafeA t2", "text b"), NULL,
	  S("more"), NULL, NULL, "next_turn completed / next_turn completed",
	  "do it // t1|" WARNING FINISH " // more // t2", .token_budget = 1000 },
	{ "the wall time", S("use SafeA t1 {\"ms\":95000}", "text a"), NULL, NULL, NULL, NULL, "next_turn completed",
	  NULL, "user " WARNING, .wall_ms = 100000 },
	{ "behind an objection too", S("usage 900 10 | text a", "text b"), S("block x", "pass"), NULL, NULL, NULL,
	  "stop_hook_blocking completed", NULL, "user " WARNING, .token_budget = 1000 },
	{ "not when nothing is left", S("use SafeA t1", "text never"), NULL, NULL, NULL, NULL, "next_turn max_turns",
	  NULL, NULL, "user " FEW_TURNS, .max_turns = 1 },
	{ "but when no call is left", S("use SafeA t1", "text a"), NULL, NULL, NULL, NULL, "next_turn completed", NULL,
	  "user " WARNING, .max_tool_calls = 1 },
	/* the token target */
	{ "it is met", S("usage 10 900 | text a"), NULL, NULL, NULL, NULL, "completed", "do it", .token_target = 1000 },
	{ "it is met by calls too", S("usage 10 600 | use SafeA t1", "usage 10 300 | text a"), NULL, NULL, NULL, NULL,
	  "next_turn completed", .token_target = 1000 },
	{ "a nudge", S("usage 10 899 | text a", "usage 10 1 | text b"), NULL, NULL, NULL, NULL, TARGET "completed",
	  NULL, "end completed 0 turns=2 b", .token_target = 1000 },
	{ "until it is met", S("usage 10 600 | text a", "usage 10 600 | text b"), NULL, NULL, NULL, NULL,
	  TARGET "completed", NULL, "end completed 0 turns=2 b", .token_target = 1 << 10 },
	{ "not when it brings little",
	  S("usage 10 100 | text a", "usage 10 100 | text b", "usage 10 499 | text c", "usage 10 499 | text d",
	    "text never"),
	  NULL, NULL, NULL, NULL, TARGET TARGET TARGET "completed", NULL, "end completed 0 turns=4 d",
	  .token_target = 1000000 },
	{ "two in a row",
	  S("usage 10 1 | text a", "usage 10 1 | text b", "usage 10 1 | text c", "usage 10 500 | text d",
	    "usage 10 499 | text e", "usage 10 499 | text f", "text never"),
	  NULL, NULL, NULL, NULL, TARGET TARGET TARGET TARGET TARGET "completed", NULL, "end completed 0 turns=6 f",
	  .token_target = 1000000 },
	{ "hooks are asked before it and behind it", S("usage 10 900 | text a", "usage 10 900 | text b"),
	  S("pass", "block x", "pass", "Verify pass"), NULL, NULL, NULL, TARGET "stop_hook_blocking completed", NULL,
	  "hook Stop active 'done'", .token_target = 1100 },
	{ "a limit on its way", S("usage 10 10 | text a", "text never"), NULL, NULL, NULL, NULL, TARGET "completed",
	  NULL, "end completed 0 turns=1 a", .token_target = 1000, .max_requests = 1 },
	{ "an empty answer does not undo one that nobody objected to",
	  S("usage 10 10 | text a", "usage 10 1 | stop end_turn", "usage 10 1 | stop end_turn",
	    "usage 10 1 | stop end_turn", "usage 10 1 | stop end_turn"),
	  NULL, NULL, NULL, NULL, TARGET "empty_answer_nudge " TARGET TARGET "completed", NULL,
	  "end completed 0 turns=5 a", .token_target = 1000 },
	{ "nor behind calls",
	  S("usage 10 10 | text a", "usage 10 900 | use SafeA t1", "stop end_turn", "stop end_turn"), NULL, NULL, NULL,
	  NULL, TARGET "next_turn empty_answer_nudge completed", NULL, "end completed 0 turns=4 a",
	  .token_target = 1000 },
	{ "but one that somebody objected to",
	  S("usage 10 10 | text a", "usage 10 10 | text b", "usage 10 1000 | stop end_turn", "stop end_turn"),
	  S("pass", "block x", "pass"), NULL, NULL, NULL, TARGET "stop_hook_blocking empty_answer_nudge completed",
	  NULL, "end completed 0 turns=4 ", .token_target = 1000 },
	{ "a limit on the way of its repetition",
	  S("usage 10 10 | text a", "text part | stop max_tokens", "text never"), NULL, NULL, NULL, NULL,
	  TARGET "max_output_tokens_escalate completed", NULL, "end completed 0 turns=1 a", .token_target = 1000,
	  .max_requests = 2 },
	{ "a limit on the way of what was cut in it",
	  S("usage 10 10 | text a", "text part | stop max_tokens", "text part | stop max_tokens", "text never"), NULL,
	  NULL, NULL, NULL, TARGET "max_output_tokens_escalate max_output_tokens_recovery budget_exhausted",
	  .token_target = 1000, .max_requests = 3 },
	{ "no turn is left for it", S("usage 10 10 | text a", "text never"), NULL, NULL, NULL, NULL, "completed",
	  .token_target = 1000, .max_turns = 1 },
	{ "a limit behind it", S("usage 10 10 | text a", "use SafeA t1", "text never"), NULL, NULL, NULL, NULL,
	  TARGET "next_turn budget_exhausted", .token_target = 1000, .max_requests = 2 },
	{ "it is that of each message", S("usage 10 900 | text a", "usage 10 100 | text b", "usage 10 800 | text c"),
	  NULL, S("more"), NULL, NULL, "completed / " TARGET "completed", .token_target = 1000 },
};

/* ---- what is sent ---- */

static int (*model_start)(void *ctx, const struct model_request *req, struct error *e);
static char sent[8192];

static int note_request(void *ctx, const struct model_request *req, struct error *e)
{
	const struct message *m = req->messages->v[req->messages->n - 1];

	for (size_t i = 0; i < m->n; i++) {
		const struct block *b = m->blocks[i];
		size_t n = strlen(sent);
		snprintf(sent + n, sizeof sent - n, "%s%s", i ? "|" : *sent ? " // " : "", b->id ? b->id : b->text);
	}
	return model_start(ctx, req, e);
}

static void stand_before(struct loop_deps *deps)
{
	model_start = deps->model_start;
	deps->model_start = note_request;
}

static void configure(struct sim *s, const struct path *p)
{
	struct loop_config *c = &s->cfg;

	s->hooks = p->hooks;
	s->messages = p->messages;
	s->arrivals = p->arrivals;
	s->attachments = p->attachments;
	s->stays_open = p->stays_open;
	s->signal_at = p->signal_at;
	s->interrupt_at = p->interrupt_at;
	c->token_target = p->token_target;
	c->token_budget = p->token_budget;
	c->max_requests = p->max_requests;
	c->max_tool_calls = p->max_tool_calls;
	c->max_repairs = p->max_repairs;
	if (p->max_turns)
		c->max_turns = p->max_turns;
	if (p->wall_ms) {
		c->wall_time_ms = p->wall_ms;
		c->deadline = c->started + p->wall_ms;
	}
	s->stand_before = stand_before;
	*sent = '\0';
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
	if (p->sent)
		assert_string_equal(sent, p->sent);
	assert_shows(&s, p->shows);
	assert_hides(&s, p->hides);
	sim_release(&s);
}

/* What is told in front of the task is not the user's word. */
static void what_is_told_first_is_no_prompt(void **state)
{
	const struct path p = { .name = "", .hooks = S("UserPromptSubmit pass", "SessionStart pass | first f") };
	static struct sim s;

	(void)state;
	sim_init(&s, S("text a"));
	configure(&s, &p);
	s.cfg.told_first = 1;
	history_add_user_block(&s.history, block_new_text("memory", 6));
	sim_run(&s, "do it");
	assert_string_equal(s.problem, "");
	assert_string_equal(s.trace, "completed");
	assert_non_null(sim_line(&s, "hook UserPromptSubmit 'do it'"));
	assert_string_equal(sent, "memory|f|do it");
	sim_release(&s);
}

/* The prompt comes to a conversation that ends with an answer which waits for its server. */
static void a_process_that_waited_for_the_server_is_gone(void **state)
{
	static const char call[] = "{\"type\":\"server_tool_use\",\"id\":\"s1\",\"name\":\"web_search\",\"input\":{}}";
	const struct path p = { .name = "", .hooks = S("UserPromptSubmit pass") };
	static struct sim s;

	(void)state;
	for (int words = 0; words < 2; words++) {
		struct message *m = message_new(ROLE_ASSISTANT);
		struct error e = ERROR_INIT;
		sim_init(&s, S("text a"));
		configure(&s, &p);
		history_add_user_block(&s.history, block_new_text("old", 3));
		if (words)
			message_add(m, block_new_text("I search", 8));
		message_add(m, block_from_json(call, sizeof call - 1, &e));
		history_add(&s.history, m);
		s.cfg.told_first = 1;
		history_add_user_block(&s.history, block_new_text("memory", 6));
		sim_run(&s, "do it");
		assert_string_equal(s.problem, "");
		assert_string_equal(s.trace, "completed");
		assert_shows(&s, "notice server_call_dropped");
		assert_non_null(sim_line(&s, "hook UserPromptSubmit 'do it'"));
		assert_string_equal(sent, words ? "memory|do it" : "old|memory|do it");
		sim_release(&s);
	}
}

#define ANEW                                                                                                           \
	"That the turns or the budget are nearly used up was said in an earlier run and does not hold any more: this " \
	"run has more. Do all that the task needs."
#define BATCH_HOOK "PostToolBatch pass | context all"
#define ASKED      "hook PostToolBatch"

/* Killed behind the result of a call: what follows. */
static const struct left {
	const char *behind[3]; /* texts that stand behind the result */
	struct resumed_batch batch;
	const char *state;
	const char *sent, *trace;
	bool asked;  /* hooks about all calls are */
	bool ended;  /* it was not killed: its result is there */
	bool server; /* a tool of the server's own is waited for */
} lefts[] = {
	{ { NULL }, { 0 }, "{}", "t1|" HOOK("PostToolBatch", "all"), "next_turn completed", true },
	{ { NULL }, { .said = "of t1" }, "{}", "t1|of t1|" HOOK("PostToolBatch", "all"), "next_turn completed", true },
	{ { "of t1" },
	  { .said = "of t1" },
	  "{}",
	  "t1|of t1|" HOOK("PostToolBatch", "all"),
	  "next_turn completed",
	  true },
	{ { "of t1", HOOK("PostToolBatch", "all") },
	  { .said = "of t1" },
	  "{}",
	  "t1|of t1|" HOOK("PostToolBatch", "all"),
	  "next_turn completed",
	  false },
	/* what had waited for a server's call is no word of theirs, whoever came to say it */
	{ { NULL },
	  { 0 },
	  "{\"unsaid\":\"waited\"}",
	  "t1|waited|" HOOK("PostToolBatch", "all"),
	  "next_turn completed",
	  true },
	{ { "waited" },
	  { 0 },
	  "{\"unsaid\":\"waited\"}",
	  "t1|waited|" HOOK("PostToolBatch", "all"),
	  "next_turn completed",
	  true },
	/* the note about a budget was the last that was said: once */
	{ { HOOK("PostToolBatch", "all"), WARNING FINISH },
	  { 0 },
	  "{}",
	  "t1|" HOOK("PostToolBatch", "all") "|" WARNING FINISH,
	  "next_turn completed",
	  false },
	{ { HOOK("PostToolBatch", "all") },
	  { 0 },
	  "{}",
	  "t1|" HOOK("PostToolBatch", "all") "|" WARNING FINISH,
	  "next_turn completed",
	  false },
	/* that it does not hold any more is no word of theirs either, and waits as theirs */
	{ { NULL },
	  { 0 },
	  "{\"turns_warned\":1}",
	  "t1|" ANEW "|" HOOK("PostToolBatch", "all"),
	  "next_turn completed",
	  true,
	  true },
	{ { ANEW },
	  { 0 },
	  "{\"turns_warned\":1}",
	  "t1|" ANEW "|" HOOK("PostToolBatch", "all"),
	  "next_turn completed",
	  true,
	  true },
	{ { NULL }, { 0 }, "{\"turns_warned\":1}", "t1", "next_turn completed", true, true, true },
	/* the third answer in a row that broke */
	{ { HOOK("PostToolBatch", "all") }, { .broke = true }, "{\"salvages\":2}", "", "model_error", false },
};

static void what_a_killed_process_left(void **state)
{
	static const char call[] = "{\"type\":\"tool_use\",\"id\":\"t1\",\"name\":\"SafeA\",\"input\":{}}";
	static const char server_call[] =
	        "{\"type\":\"server_tool_use\",\"id\":\"srv1\",\"name\":\"web_search\",\"input\":{}}";
	struct session_model paid = { .model = (char *)"sim", .usage = { .input = 90000 } };
	struct session_totals before = { .models = &paid, .nmodels = 1 };
	const struct path p = { .name = "", .hooks = S(BATCH_HOOK) };
	static struct sim s;

	(void)state;
	for (size_t i = 0; i < LENGTH(lefts); i++) {
		struct resumed_batch batch = lefts[i].batch;
		struct message *m = message_new(ROLE_ASSISTANT);
		struct error e = ERROR_INIT;
		bool near = strstr(lefts[i].sent, WARNING) != NULL;
		batch.open = true;
		batch.calls = 1;
		sim_init(&s, S("text a"));
		configure(&s, &p);
		history_add_user_block(&s.history, block_new_text("do it", 5));
		message_add(m, block_from_json(call, sizeof call - 1, &e));
		if (lefts[i].server)
			message_add(m, block_from_json(server_call, sizeof server_call - 1, &e));
		history_add(&s.history, m);
		history_add_user_block(&s.history, block_new_tool_result("t1", "ok", 2, false));
		for (const char *const *t = lefts[i].behind; *t; t++)
			history_add_user_block(&s.history, block_new_text(*t, strlen(*t)));
		s.cfg.goes_on = true;
		s.cfg.told_first = s.history.v[2]->n;
		s.cfg.resume_ended = lefts[i].ended;
		s.cfg.resume_state = lefts[i].state;
		s.cfg.resume_batch = &batch;
		s.cfg.resume_paid = &before;
		s.cfg.token_budget = near ? 100000 : 0;
		sim_run(&s, "do it");
		assert_string_equal(s.problem, "");
		assert_string_equal(s.trace, lefts[i].trace);
		assert_string_equal(sent, lefts[i].sent);
		assert_int_equal(sim_count(&s, ASKED), lefts[i].asked);
		if (!*lefts[i].sent) {
			assert_non_null(sim_line(&s, "synthetic server_error the stream broke (3 attempts)"));
			assert_int_equal(s.out.exit_code, 75);
		}
		sim_release(&s);
	}
}

int main(void)
{
	struct CMUnitTest tests[LENGTH(paths) + 3];

	for (size_t i = 0; i < LENGTH(paths); i++)
		tests[i] = (struct CMUnitTest){ paths[i].name, run_path, NULL, NULL, (void *)(uintptr_t)&paths[i] };
	tests[LENGTH(paths)] = (struct CMUnitTest)cmocka_unit_test(what_is_told_first_is_no_prompt);
	tests[LENGTH(paths) + 1] = (struct CMUnitTest)cmocka_unit_test(a_process_that_waited_for_the_server_is_gone);
	tests[LENGTH(paths) + 2] = (struct CMUnitTest)cmocka_unit_test(what_a_killed_process_left);
	return _cmocka_run_group_tests("loop_messages", tests, LENGTH(tests), NULL, NULL);
}
