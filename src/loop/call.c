/*
 * Phase 2: one model call, however many attempts it takes. Every attempt passes the gate; calls start while the answer
 * still comes in; what an attempt showed and did not keep is withdrawn by a tombstone, with what its calls found out;
 * errors that phase 4 may recover are held back.
 */
#include "loop/state.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* The parts of a failure's text are bounded by the model room: message, type and request id are one line each. */
#define FAILURE_TEXT_MAX ((size_t)4096)

/* An attempt's end in our own keeping: the model's strings die with the event. */
struct attempt {
	struct model_end end;
	enum model_timeout timeout;
	char *texts[5];
	bool ended;
};

int64_t loop_output_cap(const struct loop *l)
{
	const struct catalog_row *row = l->cfg->row;
	int64_t cap = l->cfg->max_output_tokens;

	if (!cap)
		cap = catalog_default_max_output(row);
	if (l->state.max_output_override)
		cap = l->state.max_output_override;
	return l->cap_clamp && l->cap_clamp < cap ? l->cap_clamp : cap;
}

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

static void attempt_release(struct attempt *at)
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
	if (!l->cfg->calls_wait)
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
static void end_by_timeout(struct loop *l, struct attempt *at, enum model_timeout t)
{
	char text[128];
	struct buf b = BUF_INIT(sizeof text);
	struct model_end end = { .failure = l->reply.message ? MODEL_STREAM_CUT : MODEL_NETWORK,
		                 .usage = l->reply.usage,
		                 .had_content = l->reply.message && l->reply.message->n,
		                 .retry_after_ms = -1,
		                 .should_retry = -1 };

	l->deps->model_cancel(l->deps->ctx, MODEL_MAIN);
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
static bool attempt_wait(struct loop *l, struct attempt *at)
{
	const struct loop_deps *d = l->deps;
	struct watchdog dog;
	int64_t looked = d->now(d->ctx);

	watchdog_start(&dog, &l->cfg->watchdog, looked);
	while (!at->ended) {
		struct loop_event ev;
		bool full = d->output_full(d->ctx);
		bool may_start = calls_may_start(l);
		if (!loop_wait(l, may_start ? 0 : watchdog_deadline(&dog), &ev) || l->nomem || l->broken) {
			if (ev.kind == LOOP_EV_TOOL)
				calls_take(l, &ev); /* its end comes only once */
			d->model_cancel(d->ctx, MODEL_MAIN);
			return false;
		}
		int64_t now = d->now(d->ctx);
		if (ev.kind == LOOP_EV_MODEL) {
			if (ev.model.kind == MODEL_EV_ALIVE)
				watchdog_saw(&dog, ev.model.phase, now);
			else
				watchdog_saw(&dog, PHASE_CONTENT, now);
			take_model_event(l, at, &ev.model);
		} else if (full) {
			watchdog_shift(&dog, now - looked); /* we were not reading: that is no silence of the server */
		} else if (ev.kind == LOOP_EV_TOOL) {
			calls_take(l, &ev);
		} else if (ev.kind == LOOP_EV_NONE && may_start) {
			calls_start(l);
		} else if (ev.kind == LOOP_EV_NONE) {
			enum model_timeout t = watchdog_due(&dog, now);
			if (t)
				end_by_timeout(l, at, t);
		}
		looked = now;
	}
	return true;
}

static struct model_request make_request(const struct loop *l)
{
	const struct loop_config *c = l->cfg;
	struct model_request req = {
		.kind = MODEL_MAIN,
		.model = c->model,
		.max_tokens = loop_output_cap(l),
		.system = c->system,
		.tools_json = c->tools_json,
		.messages = l->state.messages,
		.thinking_json = c->thinking_json,
		.effort = c->effort,
		.extra_json = c->extra_json,
		.without = l->without,
		.turn = l->state.turn_count + (l->state.same_turn ? 0 : 1),
	};
	return req;
}

/* "HTTP 529 overloaded_error: Overloaded (request id req_1; 3 attempts)": what the server said alone may be no more
 * than a model's name. NULL: no memory. */
static char *failure_text(const struct model_end *end, const struct retry_decision *d, int64_t attempts)
{
	struct buf b = BUF_INIT(FAILURE_TEXT_MAX);
	const char *sep = " (";

	if (end->quoted && end->failure == MODEL_HTTP)
		buf_addf(&b, "HTTP %d%s", end->http_status, end->error_type ? " " : ": ");
	if (end->quoted && end->error_type)
		buf_addf(&b, "%s: ", end->error_type);
	buf_adds(&b, end->message ? end->message : "the model call failed");
	if (end->request_id) {
		buf_addf(&b, "%srequest id %s", sep, end->request_id);
		sep = "; ";
	}
	if (attempts > 1) {
		buf_addf(&b, "%s%" PRId64 " attempts", sep, attempts);
		sep = "; ";
	}
	if (d->retry_after_ms >= 0) {
		buf_addf(&b, "%sthe server asks for a wait of %" PRId64 " s, longer than this run waits", sep,
		         (d->retry_after_ms + 999) / 1000);
		sep = "; ";
	}
	if (*sep == ';')
		buf_addc(&b, ')');
	char *text = buf_take(&b, NULL);
	buf_release(&b);
	return text;
}

static void note_failure(struct loop *l, const struct attempt *at, const struct retry_decision *d,
                         enum request_fault fault, int64_t attempts)
{
	struct call_failure *f = &l->failure;

	free(f->text);
	f->failure = at->end.failure;
	f->fault = fault;
	f->text = failure_text(&at->end, d, attempts);
	f->category = retry_category(&at->end, at->timeout);
	f->http_status = at->end.http_status;
	f->transient = d->transient;
	f->retry_after_ms = d->retry_after_ms;
	if (!f->text)
		l->nomem = true;
}

static void tell_retry(struct loop *l, const struct attempt *at, const struct retry_decision *d, int attempt)
{
	struct event ev = { .kind = EVENT_API_RETRY };

	ev.u.retry = (struct event_retry){
		.attempt = attempt,
		.max_retries = l->cfg->retry.max_retries,
		.delay_ms = d->wait_ms,
		.error_status = at->end.http_status,
		.category = retry_category(&at->end, at->timeout),
		.text = at->end.message,
	};
	loop_emit(l, &ev);
	if (at->end.retry_after_junk)
		loop_notice(
		        l, "retry_after_ignored",
		        "the server's retry-after cannot be used (no number, no date, or over 24 h); waiting %" PRId64
		        " ms",
		        d->wait_ms);
}

/* Backoff. False: the run must end. */
static bool wait_until(struct loop *l, int64_t until)
{
	struct loop_event ev;

	while (l->deps->now(l->deps->ctx) < until)
		if (!loop_wait(l, until, &ev))
			return false;
	return true;
}

static void withdraw(struct loop *l)
{
	calls_discard(l);
	reply_tombstone(l);
}

/* The run ends in the middle of an answer. Work that was begun stays in history, with what is known of its results. */
static void keep_or_withdraw(struct loop *l)
{
	if (executor_has_acted(&l->executor) && !reply_is_refusal(&l->reply))
		loop_salvage(l);
	else
		withdraw(l);
}

/* The stream broke after a call had started that would do its work twice if the request were repeated. */
static enum call_result keep_broken(struct loop *l, const struct attempt *at)
{
	struct retry_count spent = { .retries = l->cfg->retry.max_retries, .dead_reused = true };
	struct retry_decision last;

	if (reply_is_refusal(&l->reply))
		return CALL_ACCEPTED; /* as far as it came it is a refusal */
	loop_notice(l, "stream_salvaged", "%s; what was complete of the answer is kept, as a call of it had started",
	            at->end.message ? at->end.message : "the stream broke");
	if (l->state.salvages + 1 >= MAX_SALVAGES) { /* the run ends by it */
		last = retry_decide(&l->cfg->retry, &spent, &at->end, at->timeout, 0, 0);
		note_failure(l, at, &last, FAULT_NONE, l->state.salvages + 1);
	}
	return CALL_BROKEN;
}

/* Makes one attempt. CALL_FAILED: *at tells how it ended. */
static enum call_result attempt_run(struct loop *l, struct attempt *at, enum terminal_reason *stopped)
{
	const struct loop_deps *d = l->deps;
	struct model_request req = make_request(l);
	struct error e = ERROR_INIT;
	int64_t began = d->now(d->ctx);

	reply_release(&l->reply);
	l->account.requests++;
	if (d->model_start(d->ctx, &req, &e)) {
		l->broken = e.code == ERR_NOMEM || e.code == ERR_BUG || e.code == ERR_GONE;
		l->broken_error = e;
		if (l->broken) {
			*stopped = TERM_INTERNAL_ERROR;
			return CALL_STOPPED;
		}
		struct model_end end = { .failure = MODEL_REFUSED_REQUEST,
			                 .message = e.msg,
			                 .usage = USAGE_UNKNOWN,
			                 .retry_after_ms = -1,
			                 .should_retry = -1 };
		attempt_take_end(l, at, &end);
		return CALL_FAILED;
	}
	bool ended = attempt_wait(l, at) && !l->nomem;
	l->account.api_ms += d->now(d->ctx) - began;
	bool whole = ended && at->end.failure == MODEL_FINE && at->end.complete;
	account_attempt(l, &l->reply.usage, whole);
	if (!ended) {
		*stopped = l->broken || l->nomem ? TERM_INTERNAL_ERROR : TERM_ABORTED_STREAMING;
		keep_or_withdraw(l);
		return CALL_STOPPED;
	}
	if (at->end.complete)
		return CALL_ACCEPTED;
	return executor_has_acted(&l->executor) ? keep_broken(l, at) : CALL_FAILED;
}

enum call_result loop_call_model(struct loop *l, enum terminal_reason *stopped)
{
	const struct loop_deps *d = l->deps;
	struct retry_count count = { 0 };
	struct attempt at = { 0 };
	int64_t before = l->account.requests;
	int retries = 0;

	for (;;) {
		switch (loop_may_send(l, !l->state.same_turn, stopped)) {
		case GATE_ABORT:
			*stopped = TERM_ABORTED_TOOLS;
			if (l->account.requests > before) /* the wait for the model had begun */
				*stopped = TERM_ABORTED_STREAMING;
			if (l->broken)
				*stopped = TERM_INTERNAL_ERROR;
			goto stop;
		case GATE_LIMIT:
			goto stop;
		case GATE_GO:
			break;
		}
		enum call_result r = attempt_run(l, &at, stopped);
		if (r != CALL_FAILED) {
			attempt_release(&at);
			return r;
		}
		withdraw(l);
		if (l->nomem || loop_is_aborted(l)) { /* to end its calls took a while */
			*stopped = l->nomem || l->broken ? TERM_INTERNAL_ERROR : TERM_ABORTED_STREAMING;
			goto stop;
		}
		if (loop_repair_request(l, &at.end)) {
			attempt_release(&at);
			continue;
		}
		enum request_fault fault = retry_request_fault(&at.end).fault;
		int64_t remaining = l->cfg->deadline == CLOCK_NEVER ? INT64_MAX : l->cfg->deadline - d->now(d->ctx);
		struct retry_decision dec = retry_decide(&l->cfg->retry, &count, &at.end, at.timeout,
		                                         d->random01(d->ctx), remaining);
		if (fault == FAULT_PROMPT_TOO_LONG || fault == FAULT_IMAGE || dec.verdict == RETRY_GIVE_UP) {
			note_failure(l, &at, &dec, fault, l->account.requests - before);
			attempt_release(&at);
			return CALL_FAILED;
		}
		retries += dec.counted;
		tell_retry(l, &at, &dec, retries ? retries : 1);
		attempt_release(&at);
		if (!wait_until(l, d->now(d->ctx) + dec.wait_ms)) {
			*stopped = l->broken ? TERM_INTERNAL_ERROR : TERM_ABORTED_STREAMING;
			goto stop;
		}
	}
stop:
	attempt_release(&at);
	return CALL_STOPPED;
}
