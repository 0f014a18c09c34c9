/*
 * Phase 2, one attempt: calls start while the answer still comes in; what it showed and does not keep is withdrawn by a
 * tombstone, with what its calls found out.
 */
#include "loop/call.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char *keep(struct loop *l, struct attempt *at, size_t slot, const char *s)
{
	char *copy = s ? strdup(s) : NULL;

	if (s && !copy)
		l->nomem = true;
	free(at->texts[slot]); /* NOLINT(clang-analyzer-unix.Malloc): it does not follow attempt_release */
	at->texts[slot] = copy;
	return copy;
}

static void attempt_take_end(struct loop *l, struct attempt *at, const struct model_end *end)
{
	at->end = *end;
	at->end.error_type = keep(l, at, 0, end->error_type);
	at->end.error_code = keep(l, at, 1, end->error_code);
	at->end.message = keep(l, at, 2, end->message);
	at->end.request_id = keep(l, at, 3, end->request_id);
	at->end.stop_reason = keep(l, at, 4, end->stop_reason);
	at->end.stop_sequence = at->end.stop_details = NULL;
	at->ended = true;
}

void attempt_release(struct attempt *at)
{
	for (size_t i = 0; i < sizeof at->texts / sizeof *at->texts; i++)
		free(at->texts[i]);
	*at = (struct attempt){ 0 };
}

static void take_model_event(struct loop *l, struct attempt *at, const struct model_event *ev)
{
	struct event raw = { .kind = EVENT_STREAM, .stream_json = ev->json, .stream_len = ev->json_len };

	switch (ev->kind) {
	case MODEL_EV_RAW:
		if (!l->reply.silent)
			loop_emit(l, &raw);
		break;
	case MODEL_EV_MESSAGE_START:
		reply_take_start(l, ev);
		break;
	case MODEL_EV_BLOCK:
		reply_take_block(l, ev->block);
		break;
	case MODEL_EV_END:
		attempt_take_end(l, at, &ev->end);
		reply_take_end(l, &ev->end);
		break;
	case MODEL_EV_BLOCK_START:
		reply_take_block_start(l);
		break;
	case MODEL_EV_STOP:
		reply_take_stop(l, &ev->end);
		break;
	case MODEL_EV_ALIVE:
		break;
	}
	if (!l->cfg->calls_wait && !l->reply.silent)
		calls_queue(l, l->reply.whole);
}

static const char *const timeout_texts[] = {
	[TIMEOUT_CONNECT] = "no connection within %" PRId64 " s",
	[TIMEOUT_FIRST_BYTE] = "no first byte of the answer within %" PRId64 " s",
	[TIMEOUT_IDLE] = "the stream was silent for %" PRId64 " s",
	[TIMEOUT_PROGRESS] = "the stream brought no content for %" PRId64 " s",
};

static int64_t timeout_limit(const struct watchdog_limits *w, enum model_timeout t)
{
	const int64_t ms[] = { [TIMEOUT_CONNECT] = w->connect_ms,
		               [TIMEOUT_FIRST_BYTE] = w->first_byte_ms,
		               [TIMEOUT_IDLE] = w->idle_ms,
		               [TIMEOUT_PROGRESS] = w->progress_ms };
	return ms[t];
}

/* The watchdog has barked: the transfer is stopped and the attempt ends as we say. */
static void end_by_timeout(struct loop *l, const struct call *c, struct attempt *at, enum model_timeout t)
{
	char text[128];
	struct buf b = BUF_INIT(sizeof text);
	struct model_end end = { .failure = l->reply.message ? MODEL_STREAM_CUT : MODEL_NETWORK,
		                 .usage = l->reply.usage,
		                 .had_content = l->reply.message && l->reply.message->n,
		                 .retry_after_ms = -1,
		                 .should_retry = -1 };

	l->deps->model_cancel(l->deps->ctx, c->kind);
	if (reply_is_complete(&l->reply)) { /* all was said; only the end of the transfer did not come */
		attempt_take_end(l, at, &(struct model_end){ .complete = true, .retry_after_ms = -1 });
		return;
	}
	buf_addf(&b, timeout_texts[t], timeout_limit(&l->cfg->watchdog, t) / 1000);
	end.message = buf_str(&b);
	attempt_take_end(l, at, &end);
	at->timeout = t;
	buf_release(&b);
}

/*
 * Waits for the attempt to end, and starts calls meanwhile. A signal, or word that the answer is cut or declined, may
 * have come already: a call starts only when nothing else is there to be taken. False: the run must end; the transfer
 * is cancelled then.
 */
static bool attempt_wait(struct loop *l, const struct call *c, struct attempt *at)
{
	const struct loop_deps *d = l->deps;
	struct watchdog dog;
	int64_t looked = d->now(d->ctx);

	watchdog_start(&dog, &l->cfg->watchdog, looked);
	while (!at->ended) {
		struct loop_event ev;
		bool full = d->output_full(d->ctx);
		bool may_start = calls_may_start(l);
		bool stopped = l->nomem || l->broken; /* by what came last: nothing more is taken */
		if (stopped || !loop_wait(l, may_start ? 0 : watchdog_deadline(&dog), &ev)) {
			d->model_cancel(d->ctx, c->kind);
			return false;
		}
		int64_t now = d->now(d->ctx);
		if (full && ev.kind != LOOP_EV_MODEL)
			watchdog_shift(&dog, now - looked); /* we were not reading: that is no silence of the server */
		if (ev.kind == LOOP_EV_MODEL) {
			if (ev.model.kind == MODEL_EV_ALIVE)
				watchdog_saw(&dog, ev.model.phase, now);
			else
				watchdog_saw(&dog, PHASE_CONTENT, now);
			take_model_event(l, at, &ev.model);
		} else if (ev.kind == LOOP_EV_TOOL) {
			calls_take(l, &ev);
		} else if (ev.kind == LOOP_EV_NONE && may_start) {
			calls_start(l);
		} else if (ev.kind == LOOP_EV_NONE && !full) {
			enum model_timeout t = watchdog_due(&dog, now);
			if (t)
				end_by_timeout(l, c, at, t);
		}
		looked = now;
	}
	return true;
}

void attempt_withdraw(struct loop *l)
{
	calls_discard(l);
	if (l->falls_back)
		fallback_answer_calls(l);
	reply_tombstone(l);
	reply_release(&l->reply);
}

/* The run ends in the middle of an answer. Work that was begun stays in history, with what is known of its results. */
static void keep_or_withdraw(struct loop *l)
{
	if (executor_has_acted(&l->executor) && !reply_is_refusal(&l->reply))
		loop_salvage(l);
	else
		attempt_withdraw(l);
}

/* The stream broke after a call had started that would do its work twice if the request were repeated. */
static enum call_result keep_broken(struct loop *l, struct call *c, const struct attempt *at)
{
	struct retry_count spent = { .retries = l->cfg->retry.max_retries, .dead_reused = true };
	const struct request_fault_info none = { FAULT_NONE, -1, -1, "" };
	struct retry_decision last;

	if (reply_is_refusal(&l->reply))
		return CALL_ACCEPTED; /* as far as it came it is a refusal */
	loop_notice(l, "stream_salvaged", "%s; what was complete of the answer is kept, as a call of it had started",
	            at->end.message ? at->end.message : "the stream broke");
	if (l->state.salvages + 1 >= MAX_SALVAGES) { /* the run ends by it */
		last = retry_decide(&l->cfg->retry, &spent, &at->end, at->timeout, 0, 0);
		failure_note(l, c, at, &last, &none, l->state.salvages + 1);
	}
	return CALL_BROKEN;
}

static struct model_request make_request(const struct loop *l, const struct call *c)
{
	const struct loop_config *cfg = l->cfg;
	struct model_request req = {
		.kind = c->kind,
		.model = c->model,
		.max_tokens = c->max_tokens,
		.system = cfg->system,
		.tools_json = cfg->tools_json,
		.messages = c->messages,
		.thinking_json = cfg->thinking_json,
		.effort = cfg->effort,
		.extra_json = cfg->extra_json,
		.without = l->without | c->without,
		.refused = l->refused,
		.turn = loop_turn(l),
		.attempt = c->attempt,
	};
	return req;
}

/* The request could not even be made: false if the run must end by it. */
static bool take_start_error(struct loop *l, struct attempt *at, const struct error *e)
{
	struct model_end end = { .failure = MODEL_REFUSED_REQUEST,
		                 .message = e->msg,
		                 .usage = USAGE_UNKNOWN,
		                 .retry_after_ms = -1,
		                 .should_retry = -1 };

	if (e->code == ERR_NOMEM || e->code == ERR_BUG || e->code == ERR_GONE) {
		loop_break(l, e);
		return false;
	}
	attempt_take_end(l, at, &end);
	return true;
}

/* Counting tokens costs nothing, whatever numbers it brings. */
static void pay(struct loop *l, struct call *c, bool whole)
{
	const struct usage *u = &l->reply.usage;

	if (c->kind == MODEL_COUNT)
		return;
	usage_add(&c->paid, u);
	account_attempt(l, c->model, c->row, u, l->reply.message != NULL, whole);
}

enum call_result attempt_run(struct loop *l, struct call *c, struct attempt *at, enum terminal_reason *stopped)
{
	const struct loop_deps *d = l->deps;
	struct model_request req = make_request(l, c);
	struct error e = ERROR_INIT;
	int64_t began = d->now(d->ctx);

	reply_release(&l->reply);
	l->reply.silent = c->kind != MODEL_MAIN;
	if (c->kind == MODEL_MAIN)
		journal_tell(l);
	if (l->nomem || l->broken) { /* what cannot be told is not sent */
		*stopped = TERM_INTERNAL_ERROR;
		return CALL_STOPPED;
	}
	account_request(l, c->model, c->row);
	if (d->model_start(d->ctx, &req, &e)) {
		*stopped = TERM_INTERNAL_ERROR;
		return take_start_error(l, at, &e) ? CALL_FAILED : CALL_STOPPED;
	}
	bool ended = attempt_wait(l, c, at) && !l->nomem;
	l->account.api_ms += d->now(d->ctx) - began;
	pay(l, c, ended && at->end.failure == MODEL_FINE && at->end.complete);
	if (!ended) {
		*stopped = l->broken || l->nomem ? TERM_INTERNAL_ERROR : TERM_ABORTED_STREAMING;
		keep_or_withdraw(l);
		return CALL_STOPPED;
	}
	if (at->end.complete)
		return CALL_ACCEPTED;
	return executor_has_acted(&l->executor) ? keep_broken(l, c, at) : CALL_FAILED;
}
