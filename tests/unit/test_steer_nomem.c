/*
 * A call and its hooks without memory: whatever allocation fails, there is one result, nothing runs that was denied,
 * and an end of the run that hooks asked for is not lost. The hooks are made up.
 */
#include "test.h"

#include <stdlib.h>
#include <string.h>

#include "hook/hook.h"
#include "nomem.h"
#include "tool/tool.h"

static struct hook_answer answers[HOOK_EVENTS];
static unsigned asked; /* 1 << event */
static struct {
	enum hook_event kind;
	hooks_done done;
	void *ctx;
} waiting;

bool hooks_any(const struct hooks *h, enum hook_event kind)
{
	(void)kind;
	return h != NULL;
}

int hooks_ask(struct hooks *h, const struct hook_call *call, hooks_done done, void *ctx, struct error *e)
{
	(void)h;
	assert_null(waiting.done);
	assert_non_null(call->tool_input);
	assert_true(call->kind != HOOK_POST_TOOL_USE || call->tool_response);
	assert_true(call->kind != HOOK_POST_TOOL_USE_FAILURE || call->error);
	if (nomem_fails())
		return error_nomem(e);
	waiting.kind = call->kind;
	waiting.done = done;
	waiting.ctx = ctx;
	asked |= 1u << call->kind;
	return 1;
}

void hooks_cancel(struct hooks *h, const void *ctx, int64_t grace_ms)
{
	(void)h, (void)ctx, (void)grace_ms;
}

bool hooks_may_allow(const struct hooks *h, enum hook_event kind, const char *tool)
{
	(void)h, (void)kind, (void)tool;
	return true;
}

const char *hooks_env_file(const struct hooks *h)
{
	(void)h;
	return NULL;
}

static struct tool_result result;
static int results;

static void on_done(void *ctx, const char *id, struct tool_result *res)
{
	(void)ctx, (void)id;
	results++;
	result = *res;
	*res = (struct tool_result){ 0 };
}

static struct permissions *permissions;
static struct reactor *reactor;
static struct toolbox *toolbox;

static int open_world(void **state)
{
	static const char *const ask[] = { "TodoWrite", NULL }, *const names[] = { "TodoWrite", NULL };
	const struct permission_config rules = { .ask = ask, .workspace = "/" };
	struct error e = ERROR_INIT;

	(void)state;
	memset(answers, 0, sizeof answers);
	for (int i = 0; i < HOOK_EVENTS; i++)
		answers[i].kind = (enum hook_event)i;
	permissions = permissions_open(&rules, &e);
	reactor = reactor_open(&e);
	const struct toolbox_config cfg = {
		.names = names, .workspace = "/", .permissions = permissions, .hooks = (struct hooks *)&answers
	};
	toolbox = permissions && reactor ? toolbox_open(&cfg, reactor, NULL, &e) : NULL;
	return toolbox ? 0 : -1;
}

static int close_world(void **state)
{
	(void)state;
	toolbox_free(toolbox);
	permissions_free(permissions);
	reactor_free(reactor);
	return 0;
}

/* One call to its result, with the n-th allocation failing; false if it never came to that. */
static bool call(struct block *use, long n)
{
	struct error e = ERROR_INIT;

	results = 0;
	asked = 0;
	nomem.left = n;
	int rc = toolbox_start(toolbox, use, on_done, NULL, &result, &e);
	while (waiting.done) {
		hooks_done done = waiting.done;
		waiting.done = NULL;
		done(waiting.ctx, &answers[waiting.kind]);
	}
	bool failed = nomem.left < 0;
	nomem.left = -1;
	if (rc < 0)
		assert_int_equal(e.code, ERR_NOMEM);
	assert_int_equal(results, rc == 1);
	return failed;
}

static void torture(void (*check)(bool failed), long least)
{
	static const char input[] = "{\"todos\":[]}";
	struct block *use = block_new_tool_use("t1", "TodoWrite", input, sizeof input - 1);
	bool failed = true;
	long n = 0;

	assert_non_null(use);
	for (; failed; n++) {
		failed = call(use, n);
		check(failed);
		tool_result_release(&result);
	}
	assert_true(n > least);
	block_unref(use);
}

static void check_yes(bool failed)
{
	if (!failed) {
		assert_false(result.is_error);
		assert_string_equal(result.text, "other");
		assert_string_equal(result.context, "PreToolUse: before\nPostToolUse: mend it");
		assert_string_equal(result.ends_run, "enough");
	} else if (asked & 1u << HOOK_POST_TOOL_USE) {
		assert_non_null(result.ends_run);
	}
}

static void all_say_something(void **state)
{
	(void)state;
	answers[HOOK_PRE_TOOL_USE].context = "before";
	answers[HOOK_PRE_TOOL_USE].new_input = "{\"todos\":[{\"content\":\"x\",\"status\":\"pending\"}]}";
	answers[HOOK_PERMISSION_REQUEST].permit = HOOK_ALLOWS;
	answers[HOOK_PERMISSION_REQUEST].new_input = "{\"todos\":[]}";
	answers[HOOK_POST_TOOL_USE].new_output = "\"other\"";
	answers[HOOK_POST_TOOL_USE].verdict = HOOK_SAYS_END;
	answers[HOOK_POST_TOOL_USE].text = "enough";
	answers[HOOK_POST_TOOL_USE].context = "mend it";
	torture(check_yes, 30);
}

static void check_no(bool failed)
{
	(void)failed;
	assert_false(asked & (1u << HOOK_POST_TOOL_USE | 1u << HOOK_POST_TOOL_USE_FAILURE));
	if (results)
		assert_true(result.is_error);
	if (results && asked & 1u << HOOK_PERMISSION_REQUEST)
		assert_true(result.denied && result.ends_run);
}

static void the_last_one_says_no(void **state)
{
	(void)state;
	answers[HOOK_PRE_TOOL_USE].permit = HOOK_ASKS;
	answers[HOOK_PRE_TOOL_USE].permit_text = "who knows";
	answers[HOOK_PERMISSION_REQUEST].permit = HOOK_DENIES;
	answers[HOOK_PERMISSION_REQUEST].permit_text = "no";
	answers[HOOK_PERMISSION_REQUEST].interrupts = true;
	torture(check_no, 8);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(all_say_something, open_world, close_world),
		cmocka_unit_test_setup_teardown(the_last_one_says_no, open_world, close_world),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
