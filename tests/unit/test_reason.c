#include "test.h"

#include <stdlib.h>
#include <string.h>

#include "record/reason.h"

/* Written out by hand: these names and numbers are a promise to scripts. */
static const struct {
	enum terminal_reason reason;
	const char *name;
	int code;
	const char *subtype;
} promised[] = {
	{ TERM_COMPLETED, "completed", 0, "success" },
	{ TERM_INTERNAL_ERROR, "internal_error", 1, "error_during_execution" },
	{ TERM_SETUP_FAILED, "turn_setup_failed", 2, "error_during_execution" },
	{ TERM_MAX_TURNS, "max_turns", 10, "error_max_turns" },
	{ TERM_PROMPT_TOO_LONG, "prompt_too_long", 11, "error_during_execution" },
	{ TERM_BLOCKING_LIMIT, "blocking_limit", 12, "error_during_execution" },
	{ TERM_BUDGET_EXHAUSTED, "budget_exhausted", 13, "error_max_budget_usd" },
	{ TERM_MAX_OUTPUT, "max_output_tokens", 14, "error_during_execution" },
	{ TERM_RAPID_REFILL, "rapid_refill_breaker", 15, "error_during_execution" },
	{ TERM_STRUCTURED_EXHAUSTED, "structured_output_retry_exhausted", 16, "error_max_structured_output_retries" },
	{ TERM_MALFORMED_TOOL_USE, "malformed_tool_use_exhausted", 17, "error_during_execution" },
	{ TERM_MODEL_ERROR, "model_error", 20, "error_during_execution" },
	{ TERM_IMAGE_ERROR, "image_error", 21, "error_during_execution" },
	{ TERM_REFUSAL, "refusal", 22, "error_during_execution" },
	{ TERM_HOOK_STOPPED, "hook_stopped", 30, "error_during_execution" },
	{ TERM_STOP_HOOK_PREVENTED, "stop_hook_prevented", 31, "error_during_execution" },
	{ TERM_PERMISSION_DENIED, "permission_denied", 32, "error_during_execution" },
	{ TERM_VERIFY_FAILED, "verify_failed", 33, "error_during_execution" },
	{ TERM_STOP_BLOCKS, "stop_blocks_exhausted", 34, "error_during_execution" },
	{ TERM_ABORTED_STREAMING, "aborted_streaming", 40, "error_during_execution" },
	{ TERM_ABORTED_TOOLS, "aborted_tools", 41, "error_during_execution" },
	{ TERM_REPLAY_MISMATCH, "replay_mismatch", 50, "error_during_execution" },
};

static void terminal_table_is_as_promised(void **state)
{
	(void)state;
	assert_int_equal(sizeof promised / sizeof *promised, TERM_COUNT - 1);
	for (size_t i = 0; i < sizeof promised / sizeof *promised; i++) {
		const struct terminal_row *row = terminal_row(promised[i].reason);
		assert_non_null(row);
		assert_string_equal(row->name, promised[i].name);
		assert_string_equal(row->subtype, promised[i].subtype);
		assert_int_equal(row->exit_code, promised[i].code);
		assert_true(row->text[0] != '\0');
		assert_int_equal(terminal_exit_code(promised[i].reason, false), promised[i].code);
	}
}

static void transient_counts_for_model_error_alone(void **state)
{
	(void)state;
	for (int r = TERM_NONE + 1; r < TERM_COUNT; r++) {
		int want = r == TERM_MODEL_ERROR ? 75 : terminal_row((enum terminal_reason)r)->exit_code;
		assert_int_equal(terminal_exit_code((enum terminal_reason)r, true), want);
	}
}

static void no_reason_is_never_success(void **state)
{
	(void)state;
	assert_null(terminal_row(TERM_NONE));
	assert_null(terminal_row(TERM_COUNT));
	assert_int_equal(terminal_exit_code(TERM_NONE, false), 1);
	assert_int_equal(terminal_exit_code(TERM_COUNT, true), 1);
}

static void continue_table_has_names_and_turns(void **state)
{
	static const char *const same_turn[] = { "max_output_tokens_escalate", "collapse_drain_retry",
		                                 "reactive_compact_retry", "model_fallback", "pause_turn" };
	(void)state;
	assert_null(continue_row(CONT_NONE));
	assert_null(continue_row(CONT_COUNT));
	size_t same = 0;
	for (int r = CONT_NONE + 1; r < CONT_COUNT; r++) {
		const struct continue_row *row = continue_row((enum continue_reason)r);
		assert_non_null(row);
		assert_true(row->text[0] != '\0');
		bool listed = false;
		for (size_t i = 0; i < sizeof same_turn / sizeof *same_turn; i++)
			listed |= !strcmp(row->name, same_turn[i]);
		assert_int_equal(row->new_turn, !listed);
		same += listed;
		for (int q = CONT_NONE + 1; q < r; q++)
			assert_string_not_equal(row->name, continue_row((enum continue_reason)q)->name);
	}
	assert_int_equal(same, sizeof same_turn / sizeof *same_turn);
}

static void exit_codes_print_ascending_with_every_row(void **state)
{
	struct buf out = BUF_INIT(1 << 16);
	(void)state;
	reason_print_exit_codes(&out);
	assert_int_equal(out.failed, ERR_NONE);
	long last = -1;
	int lines = 0;
	for (const char *p = buf_str(&out); *p; p = strchr(p, '\n') + 1, lines++) {
		char *end;
		long code = strtol(p, &end, 10);
		assert_true(end > p && code > last);
		assert_true(*end == ' ' || !strncmp(end, "+N ", 3));
		last = code;
	}
	assert_int_equal(lines, TERM_COUNT - 1 + 2);
	for (int r = TERM_NONE + 1; r < TERM_COUNT; r++)
		assert_non_null(strstr(buf_str(&out), terminal_row((enum terminal_reason)r)->text));
	assert_non_null(strstr(buf_str(&out), "\n     75  model_error "));
	buf_release(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(terminal_table_is_as_promised),
		cmocka_unit_test(transient_counts_for_model_error_alone),
		cmocka_unit_test(no_reason_is_never_success),
		cmocka_unit_test(continue_table_has_names_and_turns),
		cmocka_unit_test(exit_codes_print_ascending_with_every_row),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
