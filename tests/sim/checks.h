/* The checks of the table in checks.c (private to the simulator's checks). */
#ifndef QUERN_TESTS_SIM_CHECKS_H
#define QUERN_TESTS_SIM_CHECKS_H

#include "world.h"

typedef void check_fn(struct sim *s, const struct step *step);

/* ---- check_request.c ---- */
check_fn check_pairing, check_roles, check_bound, check_prefix, check_gate, check_alone, check_thinking,
        check_forgotten, check_tools_sent, check_withdrawn_lines, check_sums, check_overloads, check_shrinks,
        check_fits, check_results_fit, check_kept;

/* ---- check_budgets.c ---- */
check_fn check_limits, check_note, check_noted, check_target, check_target_met;

/* ---- marks.c ---- */
check_fn check_marks;

/* ---- server_calls.c ---- */
check_fn check_server_calls, check_server_waits;

/* ---- check_run.c: of events, calls, waits and the result ---- */
check_fn check_results, check_all_answered, check_one_result, check_last_line, check_guards, check_breaker,
        check_withheld, check_shown_once, check_exclusive, check_once, check_told, check_side_effects, check_no_life,
        check_start_gate, check_end, check_tombstone, check_same_turn, check_layers, check_summary, check_progress,
        check_account, check_history, check_background, check_steps, check_whole, check_unread;

/* ---- check_record.c ---- */
check_fn check_recorded, check_record;

/* ---- check_hooks.c ---- */
check_fn check_hook, check_asked, check_closed, check_hook_over, check_objection, check_heard;

#endif
