/* Phase 4: what can still be done about a refused request or a cut answer. */
#include "loop/state.h"

#include <stdlib.h>
#include <string.h>

#define RAISED_CAP     64000
#define MAX_RECOVERIES 3

#define RESUME                                                                                                         \
	"Go on exactly where it stopped: no apology, no repetition of what you already wrote. If much is left to do, " \
	"do it in smaller pieces."
static const char resume_text[] = "Your answer was cut at the output limit. " RESUME;
static const char resume_in_new_window[] =
        "Your answer was cut because the context window was full. Older parts of the conversation have been replaced "
        "by a summary since. " RESUME;

/* Words of an API failure: in errors[], and once as a synthetic assistant line right before the result. */
static struct verdict fail_with(struct loop *l, enum terminal_reason reason)
{
	loop_add_error(l, "%s", l->failure.text ? l->failure.text : "the model call failed");
	return verdict_term(reason);
}

/* All staged folds at once. True: the request is shorter now. */
static bool drain(struct loop *l)
{
	struct context_report report = { 0 };
	int64_t freed = 0;

	if (l->cfg->context.collapse.kind == MARK_OFF)
		return false;
	if (context_drain(l->context, l->state.messages, loop_tokens(l), &report))
		l->nomem = true;
	loop_take_report(l, &report);
	for (size_t i = 0; i < report.n; i++)
		freed += report.steps[i].freed;
	return freed > 0;
}

/* An emergency summary, once until a turn has gone on from it. */
static enum compact_outcome compact_now(struct loop *l, enum terminal_reason *stopped)
{
	if (l->state.attempted_reactive_compact || !loop_can_compact(l))
		return COMPACT_FAILED;
	enum compact_outcome outcome = loop_compact(l, true, stopped);
	l->state.attempted_reactive_compact = !l->falls_back;
	return outcome;
}

/* The newest results alone may be too much: they entered before anybody knew how small the window is. If it is still
 * not known, half of what the request takes has to go. Once until a turn has gone on from it, like a summary. */
static bool refit(struct loop *l)
{
	int64_t most = loop_fitting_tokens(l), tokens = loop_tokens(l);

	l->state.attempted_reactive_compact = true;
	return results_refit(l, most < tokens ? most : tokens / 2) > 0;
}

/* The server refused the prompt for its length. */
static struct verdict too_long(struct loop *l)
{
	enum terminal_reason stopped = TERM_NONE;

	if (l->failure.tokens > 0) {
		l->estimate.anchor_tokens = l->failure.tokens;
		l->estimate.anchor_bytes = l->state.messages->weight;
	}
	loop_learn_window(l, l->failure.limit);
	if (l->state.transition != CONT_COLLAPSE_DRAIN && drain(l))
		return verdict_go(CONT_COLLAPSE_DRAIN, &l->state);
	bool first = !l->state.attempted_reactive_compact;
	switch (compact_now(l, &stopped)) {
	case COMPACT_DONE:
		(void)results_refit(l, loop_fitting_tokens(l));
		return verdict_go(CONT_REACTIVE_COMPACT, &l->state);
	case COMPACT_STOPPED:
		return verdict_term(stopped);
	case COMPACT_FAILED:
		if (first && refit(l))
			return verdict_go(CONT_REACTIVE_COMPACT, &l->state);
		if (l->nomem)
			return verdict_term(TERM_INTERNAL_ERROR);
		break;
	case COMPACT_BLOCKED:
		break; /* the error is shown as it is */
	}
	if (l->compact_error)
		loop_add_error(l, "making the conversation shorter failed: %s", l->compact_error);
	return fail_with(l, TERM_PROMPT_TOO_LONG);
}

struct verdict loop_recover_error(struct loop *l)
{
	const struct call_failure *f = &l->failure;

	if (f->failure == MODEL_MISMATCH)
		return fail_with(l, TERM_REPLAY_MISMATCH);
	if (f->fault == FAULT_PROMPT_TOO_LONG || f->fault == FAULT_INPUT_PLUS_MAX)
		return too_long(l);
	if (f->fault == FAULT_IMAGE) /* every image was replaced already, see loop_repair_request */
		return fail_with(l, TERM_IMAGE_ERROR);
	return fail_with(l, TERM_MODEL_ERROR);
}

/* The raised cap, or 0 if the user chose the cap or nothing would be raised. */
static int64_t raised_cap(const struct loop *l)
{
	int64_t cap = RAISED_CAP;

	if (l->cfg->max_output_tokens)
		return 0;
	if (loop_row(l)->max_output && loop_row(l)->max_output < cap)
		cap = loop_row(l)->max_output;
	if (l->cap_clamp && l->cap_clamp < cap)
		cap = l->cap_clamp;
	if (l->cap_room && l->cap_room < cap)
		cap = l->cap_room;
	return cap > loop_output_cap(l) ? cap : 0;
}

static bool has_complete_call(const struct reply *a)
{
	for (size_t i = 0; i < a->whole; i++)
		if (a->message->blocks[i]->kind == BLOCK_TOOL_USE)
			return true;
	return false;
}

static struct verdict give_up_cut(struct loop *l, const char *why)
{
	reply_drop_incomplete(l);
	free(l->result);
	l->result = reply_text(l->reply.message, &l->result_len);
	reply_accept_lines(l);
	reply_store(l);
	l->state.turn_count += !l->state.same_turn;
	loop_add_error(l, "%s", why);
	l->failure.category = "max_output_tokens";
	return verdict_term(TERM_MAX_OUTPUT);
}

/* What there is of the answer enters the conversation, and the model is told to go on from there. */
static void keep_partial(struct loop *l, struct loop_state *next, const char *resume)
{
	reply_drop_incomplete(l);
	reply_accept_lines(l);
	reply_store(l);
	next->turn_count += !l->state.same_turn;
	next->pauses = 0;
	reply_say(l, resume);
}

static const char cut_by_window[] = "the answer was cut: prompt and answer together fill the model's context window";

/* Prompt and answer together fill the window: room is made in front of the partial answer, which then goes on. */
static struct verdict window_exceeded(struct loop *l)
{
	enum terminal_reason stopped = TERM_NONE;
	struct usage prompt = l->reply.usage;

	prompt.output = 0;
	estimate_anchor(&l->estimate, &prompt, l->state.messages);
	/* Words of ours behind an answer of an earlier process: it was kept, and room had been made before that. */
	switch (l->state.new_window || reply_is_replied(&l->reply) ? COMPACT_DONE : compact_now(l, &stopped)) {
	case COMPACT_STOPPED:
		if (l->falls_back && l->reply.recorded) /* it stands, and cannot be withdrawn for another model's */
			return give_up_cut(l, cut_by_window);
		if (l->falls_back)
			reply_tombstone(l);
		return verdict_term(stopped);
	case COMPACT_BLOCKED:
	case COMPACT_FAILED:
		if (l->compact_error)
			loop_add_error(l, "making the conversation shorter failed: %s", l->compact_error);
		return give_up_cut(l, cut_by_window);
	case COMPACT_DONE:
		break;
	}
	bool made = !l->state.new_window && !l->reply.recorded;
	l->state.new_window = true;
	if (made) /* before the answer is accepted: whoever has its end knows of the room that was made for it */
		journal_tell_open(l);
	struct loop_state next = l->state;
	keep_partial(l, &next, resume_in_new_window);
	next.new_window = false;
	/* bound thinking is valid behind what it was thought behind, and that is gone */
	if ((loop_row(l)->flags & CAT_THINKING_BOUND) && context_strip_thinking(l->state.messages) < 0)
		l->nomem = true;
	l->estimate.anchor_tokens = -1; /* its usage tells of the conversation as it was */
	next.same_turn = true;
	return verdict_go(CONT_REACTIVE_COMPACT, &next);
}

struct verdict loop_recover_cut(struct loop *l)
{
	struct reply *a = &l->reply;
	struct loop_state next = l->state;
	int64_t raised = raised_cap(l);

	if (has_complete_call(a)) {
		/* complete calls run; the cut rest is dropped, and the raised cap is used from here on */
		reply_drop_incomplete(l);
		if (raised)
			l->state.max_output_override = raised;
		return loop_run_tools(l);
	}
	if (!strcmp(a->stop_reason, "model_context_window_exceeded"))
		return window_exceeded(l);
	if (raised && !a->recorded) {
		reply_tombstone(l);
		next.max_output_override = raised;
		return verdict_go(CONT_MAX_OUTPUT_ESCALATE, &next);
	}
	if (l->state.max_output_recovery_count >= MAX_RECOVERIES)
		return give_up_cut(
		        l, "the answer was cut at the output limit, and resuming it did not bring it to an end");
	keep_partial(l, &next, resume_text);
	next.same_turn = false;
	next.max_output_recovery_count++;
	return verdict_go(CONT_MAX_OUTPUT_RECOVERY, &next);
}
