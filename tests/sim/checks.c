/* The invariants of the loop, looked at after every step. Numbers are those of the loop's description; 0 are further
 * promises. */
#include "checks.h"

#include <stdarg.h>
#include <stdio.h>

static const struct check {
	int number;
	const char *name;
	enum stage stage;
	check_fn *fn;
} checks[] = {
	{ 1, "pairing", AT_REQUEST, check_pairing },
	{ 0, "lines of the record", AT_EVENT, check_recorded },
	{ 0, "the record", AT_REQUEST, check_record },
	{ 1, "one result for a call", AT_EVENT, check_results },
	{ 1, "every call has a result", AT_RESULT, check_all_answered },
	{ 1, "valid history", AT_RESULT, check_history },
	{ 2, "the result is the last line", AT_EVENT, check_last_line },
	{ 2, "one result", AT_END, check_one_result },
	{ 0, "the session's end is told", AT_END, check_closed },
	{ 3, "bounded requests", AT_REQUEST, check_bound },
	{ 3, "bounded steps", AT_WAIT, check_steps },
	{ 4, "guards", AT_EVENT, check_guards },
	{ 4, "breaker", AT_EVENT, check_breaker },
	{ 5, "an error is shown last", AT_EVENT, check_shown_once },
	{ 5, "an error is shown once", AT_RESULT, check_withheld },
	{ 6, "exclusion", AT_START, check_exclusive },
	{ 7, "whole calls", AT_START, check_whole },
	{ 7, "executed once", AT_START, check_once },
	{ 7, "withdrawn", AT_EVENT, check_told },
	{ 7, "side effects are named", AT_RESULT, check_side_effects },
	{ 8, "nothing is alive", AT_RESULT, check_no_life },
	{ 8, "nothing is alive behind it", AT_END, check_no_life },
	{ 9, "prefix", AT_REQUEST, check_prefix },
	{ 10, "gate", AT_REQUEST, check_gate },
	{ 10, "gate of calls", AT_START, check_start_gate },
	{ 11, "roles", AT_REQUEST, check_roles },
	{ 0, "when hooks are asked", AT_HOOK, check_hook },
	{ 0, "nothing beside hooks", AT_REQUEST, check_hook_over },
	{ 0, "nothing beside hooks", AT_START, check_hook_over },
	{ 0, "hooks were asked", AT_REQUEST, check_asked },
	{ 0, "objections", AT_EVENT, check_objection },
	{ 0, "hooks are heard", AT_RESULT, check_heard },
	{ 11, "calls of the server", AT_REQUEST, check_server_calls },
	{ 0, "the server is waited for", AT_EVENT, check_server_waits },
	{ 0, "told once", AT_REQUEST, check_marks },
	{ 10, "limits", AT_RESULT, check_limits },
	{ 0, "the note", AT_EVENT, check_note },
	{ 0, "the note comes", AT_REQUEST, check_noted },
	{ 0, "nudges", AT_EVENT, check_target },
	{ 0, "the token target", AT_RESULT, check_target_met },
	{ 0, "one call at a time", AT_REQUEST, check_alone },
	{ 0, "thinking", AT_REQUEST, check_thinking },
	{ 0, "forgotten results", AT_REQUEST, check_forgotten },
	{ 0, "the cache serves a compaction", AT_REQUEST, check_tools_sent },
	{ 0, "withdrawn lines", AT_REQUEST, check_withdrawn_lines },
	{ 0, "the history's sums", AT_REQUEST, check_sums },
	{ 0, "overloads", AT_REQUEST, check_overloads },
	{ 0, "it fits", AT_REQUEST, check_fits },
	{ 0, "results fit", AT_REQUEST, check_results_fit },
	{ 4, "shrinks of a compaction", AT_REQUEST, check_shrinks },
	{ 4, "layers", AT_EVENT, check_layers },
	{ 4, "summaries", AT_EVENT, check_summary },
	{ 4, "progress", AT_EVENT, check_progress },
	{ 0, "what is kept", AT_REQUEST, check_kept },
	{ 0, "the same turn", AT_EVENT, check_same_turn },
	{ 0, "tombstones", AT_EVENT, check_tombstone },
	{ 0, "the account", AT_RESULT, check_account },
	{ 0, "the result's words", AT_RESULT, check_end },
	{ 0, "the background delays nothing", AT_WAIT, check_background },
	{ 0, "nobody reads", AT_WAIT, check_unread },
};

/* Invariants that have no number are told by one behind the numbers. */
#define UNNUMBERED 100

void sim_problem(struct sim *s, const char *fmt, ...)
{
	va_list ap;
	size_t n = 0;

	if (*s->problem)
		return;
	if (s->checking >= 0) {
		const struct check *c = &checks[s->checking];
		n = (size_t)snprintf(s->problem, sizeof s->problem, "invariant %d (%s): ", c->number, c->name);
		if (s->requests)
			n += (size_t)snprintf(s->problem + n, sizeof s->problem - n, "request %d: ", s->requests);
	}
	s->broken = UNNUMBERED + s->checking;
	va_start(ap, fmt);
	vsnprintf(s->problem + n, sizeof s->problem - n, fmt, ap);
	va_end(ap);
}

void sim_check(struct sim *s, const struct step *step)
{
	for (size_t i = 0; i < LENGTH(checks); i++)
		if (checks[i].stage == step->stage) {
			s->checking = (int)i;
			checks[i].fn(s, step);
		}
	s->checking = -1;
}
