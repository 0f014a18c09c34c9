/* A failed model call in words. */
#include "loop/call.h"

#include <inttypes.h>
#include <stdlib.h>

/* The parts of a failure's text are bounded by the model room: message, type and request id are one line each. */
#define FAILURE_TEXT_MAX ((size_t)4096)

void call_failure_release(struct call_failure *f)
{
	free(f->text);
	*f = (struct call_failure){ .retry_after_ms = -1 };
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

void failure_note(struct loop *l, struct call *c, const struct attempt *at, const struct retry_decision *d,
                  const struct request_fault_info *info, int64_t attempts)
{
	struct call_failure *f = c->failure;

	free(f->text);
	f->failure = at->end.failure;
	f->fault = info->fault;
	f->tokens = info->tokens;
	f->limit = info->limit;
	f->text = failure_text(&at->end, d, attempts);
	f->category = retry_category(&at->end, at->timeout);
	f->http_status = at->end.http_status;
	f->transient = d->transient;
	f->retry_after_ms = d->retry_after_ms;
	if (!f->text)
		l->nomem = true;
}

void failure_of_record(struct loop *l)
{
	struct call_failure *f = &l->failure;
	struct buf b = BUF_INIT(FAILURE_TEXT_MAX);

	buf_addf(&b, "the stream broke (%d attempts)", l->state.salvages + 1);
	free(f->text);
	f->text = buf_take(&b, NULL);
	f->category = "server_error";
	f->transient = true;
	l->nomem |= !f->text;
	buf_release(&b);
}

void failure_tell_retry(struct loop *l, const struct call *c, const struct attempt *at, const struct retry_decision *d,
                        int attempt)
{
	struct event ev = { .kind = EVENT_API_RETRY };

	ev.u.retry = (struct event_retry){
		.attempt = attempt,
		.max_retries = l->cfg->retry.max_retries,
		.delay_ms = d->wait_ms,
		.error_status = at->end.http_status,
		.category = retry_category(&at->end, at->timeout),
		.text = at->end.message,
		.overloads = l->overloads,
	};
	/* of an answer with lines a tombstone tells */
	if (c->kind != MODEL_MAIN && (at->end.usage.input >= 0 || at->end.usage.output >= 0)) {
		ev.u.retry.model = c->model;
		ev.u.retry.usage = &at->end.usage;
	}
	loop_emit(l, &ev);
	if (at->end.retry_after_junk)
		loop_notice(
		        l, "retry_after_ignored",
		        "the server's retry-after cannot be used (no number, no date, or over 24 h); waiting %" PRId64
		        " ms",
		        d->wait_ms);
}
