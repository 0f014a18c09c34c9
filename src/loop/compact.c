/*
 * The compaction: a call of the model that tells the conversation so far in a summary, which takes the place of the
 * older rounds. It can fail in every way that a model call can; then the conversation is as it was, and after a few
 * failures in a row it is not tried again of itself.
 */
#include "loop/state.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define MAX_FAILURES   3
#define MAX_SHRINKS    3   /* that often rounds are left out of a request that was too long */
#define MAX_FILES      5   /* that were read lately and stand again behind the summary */
#define REQUEST_TOKENS 800 /* more than what the request adds to the conversation */

struct compaction {
	bool reactive;
	int64_t began, before;
	struct call call;
	struct call_failure failure;
	struct compact_request how;
	int shrinks;
	struct buf files[MAX_FILES];
	size_t nfiles;
	char *summary; /* owned */
};

bool loop_can_compact(const struct loop *l)
{
	return l->cfg->context.autocompact.kind != MARK_OFF && context_can_compact(l->context, l->state.messages);
}

bool loop_compact_is_off(const struct loop *l)
{
	return l->cfg->context.autocompact.kind == MARK_OFF || l->state.compact.failures >= MAX_FAILURES;
}

static void tell_status(struct loop *l, struct event_status status)
{
	struct event ev = { .kind = EVENT_STATUS };

	ev.u.status = status;
	loop_emit(l, &ev);
}

/* What a summary costs stands on the boundary's line; without one, here. */
static void tell_failed(struct loop *l, const struct compaction *x, const char *why)
{
	const struct usage *u = &x->call.paid;
	bool paid = usage_total(u) > 0;

	tell_status(l, (struct event_status){ .compact_result = "failed",
	                                      .compact_error = why,
	                                      .model = paid ? x->call.model : NULL,
	                                      .usage = u });
}

static void set_error(struct loop *l, const char *why)
{
	free(l->compact_error);
	l->compact_error = why ? strdup(why) : NULL;
	if (why && !l->compact_error)
		l->nomem = true;
}

/* ---- the request ---- */

/* The same model with the same settings, so that its cache serves the request; another one gets what it understands.
 * Thinking takes its budget from the cap: it is asked for only if there is room for both. */
static void choose_model(struct loop *l, struct compaction *x)
{
	const char *other = l->cfg->compact_model;

	x->call = (struct call){
		.kind = MODEL_COMPACT,
		.model = loop_model(l),
		.row = loop_row(l),
		.max_tokens = context_marks_now(l->context)->summary,
		.without = l->without_once,
		.new_turn = !l->state.same_turn,
		.failure = &x->failure,
	};
	if (other && !l->no_compact_model && strcmp(other, x->call.model) != 0) {
		x->how.strip = true;
		x->call.model = other;
		x->call.row = l->cfg->compact_row ? l->cfg->compact_row : catalog_or_default(other);
		x->call.without = WITHOUT_THINKING | WITHOUT_EFFORT | WITHOUT_EXTRA;
	}
	int64_t budget = x->call.without & WITHOUT_THINKING ? 0 : loop_thinking_budget(l);
	int64_t most = x->call.row->max_output;
	if (budget && x->before + REQUEST_TOKENS + x->call.max_tokens + budget <= context_marks_now(l->context)->window)
		x->call.max_tokens += budget;
	else if (budget)
		x->call.without |= WITHOUT_THINKING;
	if (most && x->call.max_tokens > most)
		x->call.max_tokens = most;
}

/* Leaves the oldest rounds out so that about `over` tokens of `total` less are sent. False: no round is left to leave
 * out. */
static bool leave_out(struct loop *l, struct compaction *x, int64_t over, int64_t total)
{
	int64_t fixed = (int64_t)l->fixed_bytes / l->estimate.bytes_per_token; /* they are not in the rounds */
	size_t n = context_rounds_worth(l->state.messages, x->how.leave_out, over, total > fixed ? total - fixed : 1);

	if (n)
		x->how.leave_out = n;
	return n > 0;
}

/* What is known to be too long is not sent. */
static bool make_room(struct loop *l, struct compaction *x)
{
	int64_t window = x->how.strip ? x->call.row->window : context_marks_now(l->context)->window;
	int64_t over = x->before + REQUEST_TOKENS + x->call.max_tokens - window;

	if (!window || over <= 0 || leave_out(l, x, over, x->before))
		return true;
	return l->estimate.anchor_tokens < 0 || x->before <= window;
}

/* The request was itself too long. By how much, the server said or not. */
static bool shrink(struct loop *l, struct compaction *x)
{
	const struct call_failure *f = &x->failure;
	int64_t over = x->before / 5;

	if ((f->fault != FAULT_PROMPT_TOO_LONG && f->fault != FAULT_INPUT_PLUS_MAX) || x->shrinks >= MAX_SHRINKS)
		return false;
	x->shrinks++;
	if (!x->how.strip)
		loop_learn_window(l, f->limit);
	if (f->tokens > 0 && f->limit > 0)
		over = f->tokens - f->limit + f->limit / 50 +
		       (f->fault == FAULT_INPUT_PLUS_MAX ? x->call.max_tokens : 0);
	return leave_out(l, x, over, f->tokens > x->before ? f->tokens : x->before);
}

static enum call_result ask_model(struct loop *l, struct compaction *x, enum terminal_reason *stopped)
{
	if (!make_room(l, x))
		return CALL_FAILED;
	for (;;) {
		struct history request = HISTORY_INIT;
		enum call_result r = CALL_STOPPED;
		*stopped = TERM_INTERNAL_ERROR;
		if (context_compact_request(l->context, l->state.messages, &x->how, &request)) {
			l->nomem = true;
		} else {
			x->call.messages = &request;
			x->call.clamped = 0;
			r = loop_call(l, &x->call, stopped);
		}
		history_release(&request);
		if (r != CALL_FAILED || !shrink(l, x))
			return r;
	}
}

/* A model that is there for summaries alone, misspelt or too small, is no reason to be stuck: the one that answers can
 * write them too. For good, unless the failure may pass. */
static void choose_own_model(struct loop *l, struct compaction *x)
{
	struct usage paid = x->call.paid;

	l->no_compact_model = true;
	loop_notice(l, "compact_model", "%s cannot write the summary (%s); %s is asked instead", x->call.model,
	            x->failure.text ? x->failure.text : "the conversation does not fit into its context window",
	            loop_model(l));
	bool transient = x->failure.transient;
	call_failure_release(&x->failure);
	x->failure = (struct call_failure){ .retry_after_ms = -1 };
	x->how = (struct compact_request){ 0 };
	x->shrinks = 0;
	choose_model(l, x);
	x->call.paid = paid;
	l->no_compact_model = !transient;
}

static enum call_result ask(struct loop *l, struct compaction *x, enum terminal_reason *stopped)
{
	enum call_result r = ask_model(l, x, stopped);

	if (r != CALL_FAILED || !x->how.strip || l->nomem)
		return r;
	choose_own_model(l, x);
	return ask_model(l, x, stopped);
}

/* ---- the answer ---- */

/* Why the answer is no summary, NULL if it is one; then *text is the caller's. */
static const char *take_summary(struct loop *l, char **text, size_t *len)
{
	const struct reply *a = &l->reply;

	*text = NULL;
	if (reply_is_refusal(a))
		return "the model declined to write the summary";
	if (reply_is_cut(a))
		return "the summary was cut";
	if (!strcmp(a->stop_reason, "pause_turn") || message_has_tool_use(a->message))
		return "the model did something else than to write the summary";
	*text = reply_text(a->message, len);
	if (!*text) {
		l->nomem = true;
		return "out of memory";
	}
	if (!(*text)[strspn(*text, " \t\r\n")]) {
		free(*text);
		*text = NULL;
		return "the summary was empty";
	}
	return NULL;
}

/* The files that the model worked with lately, as they are now, as far as there is room for them. */
static void collect_files(struct loop *l, struct compaction *x)
{
	const struct context_marks *m = context_marks_now(l->context);
	size_t each = (size_t)(m->file_each * m->bytes_per_token), left = (size_t)(m->files_all * m->bytes_per_token);

	for (size_t i = 0; i < MAX_FILES && left > 0 && each > 0; i++) {
		struct buf *b = &x->files[x->nfiles];
		struct error e = ERROR_INIT;
		*b = (struct buf)BUF_INIT(BUF_HUGE);
		int rc = l->deps->recent_file(l->deps->ctx, i, each < left ? each : left, b, &e);
		if (rc == 1 && b->len > 0) {
			x->nfiles++;
			left -= b->len < left ? b->len : left;
			continue;
		}
		buf_release(b);
		if (e.code == ERR_NOMEM)
			l->nomem = true;
		if (rc == 0)
			break;
	}
}

static void tell_boundary(struct loop *l, const struct compaction *x)
{
	struct event ev = { .kind = EVENT_COMPACT_BOUNDARY };

	ev.u.compact = (struct event_compact){
		.reactive = x->reactive,
		.pre_tokens = x->before,
		.post_tokens = loop_tokens(l),
		.duration_ms = l->deps->now(l->deps->ctx) - x->began,
		.model = x->call.model,
		.usage = &x->call.paid,
	};
	loop_emit(l, &ev);
}

/* How heavy the conversation may be with files in it: they are no reason for the next compaction. */
static size_t room_with_files(const struct loop *l)
{
	const struct context_marks *m = context_marks_now(l->context);
	int64_t bytes = (m->autocompact - m->usable / 32) * m->bytes_per_token - (int64_t)l->fixed_bytes;

	if (!m->autocompact)
		return SIZE_MAX;
	return bytes > 0 ? (size_t)bytes : 0;
}

/* Puts the summary in its place. NULL, or why it is as if nothing had been asked. */
static const char *apply(struct loop *l, struct compaction *x)
{
	struct context_report report = { 0 };
	size_t len = 0;
	const char *why = take_summary(l, &x->summary, &len);

	if (why)
		return why;
	collect_files(l, x);
	switch (context_compact_apply(l->context, l->state.messages, x->summary, len, x->files, x->nfiles,
	                              room_with_files(l), &report)) {
	case 0:
		l->estimate.anchor_tokens = -1; /* nothing of what was counted stands any more */
		l->cap_room = 0;
		l->deps->files_attached(l->deps->ctx, report.files);
		loop_take_report(l, &report);
		tell_boundary(l, x);
		break;
	case 1:
		why = "the summary is no shorter than what it should replace";
		break;
	default:
		l->nomem = true;
		why = "out of memory";
	}
	for (size_t i = 0; i < x->nfiles; i++)
		buf_release(&x->files[i]);
	return why;
}

static void succeeded(struct loop *l)
{
	struct compact_tracking *t = &l->state.compact;
	int turn = loop_turn(l);

	set_error(l, NULL);
	t->failures = 0;
	if (t->last_turn != turn)
		t->in_a_row = t->last_turn + 1 == turn ? t->in_a_row + 1 : 1;
	t->last_turn = turn;
	tell_status(l, (struct event_status){ .compact_result = "success" });
}

static void failed(struct loop *l, const struct compaction *x, const char *why)
{
	set_error(l, why);
	tell_failed(l, x, why);
	if (++l->state.compact.failures == MAX_FAILURES)
		loop_notice(l, "autocompact_off",
		            "making the conversation shorter failed %d times in a row (%s); it is off for this run",
		            MAX_FAILURES, why);
}

/* The summary is asked for and put in its place. */
static enum compact_outcome compact(struct loop *l, struct compaction *x, enum terminal_reason *stopped)
{
	struct reply kept = l->reply;
	enum compact_outcome outcome = COMPACT_DONE;
	const char *why = NULL;

	l->reply = (struct reply){ .usage = USAGE_UNKNOWN };
	choose_model(l, x);
	tell_status(l, (struct event_status){ .status = "compacting" });
	enum call_result r = ask(l, x, stopped);
	if (r == CALL_ACCEPTED)
		why = apply(l, x);
	else if (r == CALL_STOPPED)
		outcome = COMPACT_STOPPED;
	else
		why = x->failure.text ? x->failure.text : "the newest round alone does not fit into the context window";
	if (why)
		outcome = COMPACT_FAILED;
	if (l->nomem || l->broken) {
		*stopped = TERM_INTERNAL_ERROR;
		outcome = COMPACT_STOPPED;
	}
	if (outcome == COMPACT_DONE)
		succeeded(l);
	else if (outcome == COMPACT_FAILED)
		failed(l, x, why);
	else
		tell_failed(l, x, l->falls_back ? "another model goes on" : "the run ends");
	call_failure_release(&x->failure);
	reply_release(&l->reply);
	l->reply = kept;
	return outcome;
}

enum compact_outcome loop_compact(struct loop *l, bool reactive, enum terminal_reason *stopped)
{
	struct compaction x = { .reactive = reactive,
		                .began = l->deps->now(l->deps->ctx),
		                .before = loop_tokens(l),
		                .failure = { .retry_after_ms = -1 } };
	char *why = NULL;
	enum compact_outcome outcome = hooks_before_compaction(l, &why, stopped);

	if (outcome == COMPACT_BLOCKED) {
		set_error(l, why);
		loop_notice(l, "compact_blocked", "a PreCompact hook forbade to make the conversation shorter: %s",
		            why ? why : "");
	}
	free(why);
	if (outcome != COMPACT_DONE)
		return outcome;
	outcome = compact(l, &x, stopped);
	if (outcome == COMPACT_DONE && !hooks_after_compaction(l, x.summary, stopped))
		outcome = COMPACT_STOPPED;
	free(x.summary);
	return outcome;
}
