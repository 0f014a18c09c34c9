/*
 * Hooks out of memory: opened and asked again and again, with the first, second, third ... allocation failing. Each
 * time it is an error or an answer that lets nothing pass, never half of what was said.
 */
#include "hook_world.h"

#include <string.h>

#include "nomem.h"

static const char *const check[] = { "sh", "-c", "echo no; exit 1", NULL };

static void declare(struct hook_world *w)
{
	hook_world_add(w, HOOK_PRE_TOOL_USE, "echo no >&2; exit 2")->matcher = "^B";
	hook_world_add(
	        w, HOOK_PRE_TOOL_USE,
	        "echo '{\"systemMessage\":\"m\",\"hookSpecificOutput\":{\"hookEventName\":\"PreToolUse\","
	        "\"permissionDecision\":\"defer\",\"permissionDecisionReason\":\"r\",\"additionalContext\":\"c\","
	        "\"updatedInput\":{}}}'");
	hook_world_add(w, HOOK_STOP,
	               "echo '{\"decision\":\"block\",\"reason\":\"r\",\"hookSpecificOutput\":"
	               "{\"hookEventName\":\"Stop\",\"additionalContext\":\"c\"}}'");
	hook_world_add(w, HOOK_STOP, "exit 3")->blocks = true;
	hook_world_add(w, HOOK_SESSION_START, "head -c 10001 /dev/zero | tr '\\0' x");
	w->verify = (struct job_verify){ .command = check, .timeout_ms = 20000 };
	w->cfg.verify = &w->verify;
}

/* True: it went as it does with enough memory. */
static bool attempt(struct hook_world *w, enum hook_event event)
{
	const struct hook_call call = hook_world_call(event);
	struct error e = ERROR_INIT;

	nomem.let_through = true;
	assert_int_equal(supervisor_stop(w->supervisor, 0), 0);
	hooks_free(w->hooks);
	w->cfg.supervisor = w->supervisor = supervisor_start(&(struct supervisor_config){ 0 }, w->reactor, &e);
	assert_non_null(w->supervisor);
	nomem.let_through = false;
	w->answers = 0;
	buf_clear(&w->events);
	w->hooks = hooks_open(&w->cfg, &e);
	int rc = w->hooks ? hooks_ask(w->hooks, &call, hook_done_in, w, &e) : -1;
	int64_t patience = clock_mono_ms() + 20000;
	while (rc == 1 && !w->answers && clock_mono_ms() < patience)
		reactor_wait(w->reactor, patience, NULL);
	nomem.left = -1;
	if (rc != 1) {
		assert_int_equal(e.code, ERR_NOMEM);
		return false;
	}
	assert_int_equal(w->answers, 1);
	return w->answer.verdict != HOOK_SAYS_END || !w->answer.text || strcmp(w->answer.text, "out of memory") != 0;
}

static bool objects(const struct hook_world *w, enum hook_event event)
{
	if (event == HOOK_PRE_TOOL_USE)
		return w->answer.permit == HOOK_DENIES;
	return event == HOOK_SESSION_START || w->answer.verdict == HOOK_SAYS_BLOCK;
}

static void memory_runs_out(void **state)
{
	static const enum hook_event events[] = { HOOK_PRE_TOOL_USE, HOOK_STOP, HOOK_SESSION_START, HOOK_VERIFY };
	struct hook_world *w = *state;

	declare(w);
	for (size_t i = 0; i < sizeof events / sizeof *events; i++) {
		for (long n = 0;; n++) {
			nomem = (struct nomem){ .left = n };
			bool whole = attempt(w, events[i]);
			if (whole && !nomem.failed)
				break;
			/* what was said was heard, or the run ends, or one could not be started, which is told */
			if (w->answers && w->answer.verdict != HOOK_SAYS_END && !objects(w, events[i]))
				assert_contains(buf_str(&w->events), "cannot ");
			assert_true(n < 2000);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(memory_runs_out, hook_world_setup, hook_world_teardown),
	};

	return cmocka_run_group_tests_name("hook_nomem", tests, NULL, NULL);
}
