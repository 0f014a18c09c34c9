#include "model/answer.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "model/one_line.h"
#include "model/retry.h"
#include "model/server_json.h"
#include "model/tap.h"

/* How much of an unexpected body an error message shows. */
#define SHOWN ((size_t)200)

static int on_event(void *ctx, const char *name, const char *data, size_t len)
{
	struct answer *a = ctx;

	a->events = true;
	return assembly_event(&a->assembly, name, data, len);
}

void answer_init(struct answer *a, bool partial, model_sink sink, void *ctx)
{
	static const struct usage unknown = USAGE_UNKNOWN;

	memset(a, 0, sizeof *a);
	assembly_init(&a->assembly, partial, sink, ctx);
	sse_init(&a->sse, on_event, a);
	buf_init(&a->body, ANSWER_MAX_ERROR);
	a->end.usage = unknown;
	a->end.retry_after_ms = -1;
	a->end.should_retry = -1;
}

static bool has_type(const struct answer *a, const char *type)
{
	size_t n = strlen(type);

	return a->content_type && !strncasecmp(a->content_type, type, n) &&
	       (!a->content_type[n] || strchr("; \t,", a->content_type[n]));
}

/* A success without a type is taken for what was asked for. */
static enum answer_kind kind_of(const struct answer *a, int status)
{
	if (status >= 400)
		return ANSWER_ERROR;
	if (status < 200 || status >= 300 || a->compressed)
		return ANSWER_OTHER;
	if (a->count)
		return ANSWER_COUNT;
	if (has_type(a, "application/json"))
		return ANSWER_JSON;
	return !a->content_type || has_type(a, "text/event-stream") ? ANSWER_STREAM : ANSWER_OTHER;
}

/* -1 of a value that cannot be understood is the caller's own backoff; the finer header goes first. */
static void read_retry_after(struct answer *a, const struct answer_headers *h)
{
	int64_t now = clock_wall_ms();
	bool junk = false;

	if (h->retry_after_ms)
		a->end.retry_after_ms = retry_after_parse(h->retry_after_ms, true, now, &junk);
	if (a->end.retry_after_ms < 0 && h->retry_after)
		a->end.retry_after_ms = retry_after_parse(h->retry_after, false, now, &junk);
	a->end.retry_after_junk = junk && a->end.retry_after_ms < 0;
}

static char *header_line(const char *value)
{
	return value && *value ? one_line(value, strlen(value), SHOWN) : NULL;
}

void answer_head(struct answer *a, int status, const struct answer_headers *h)
{
	if (a->tap)
		a->tap->head(a->tap->ctx, a->kind_asked, status, h);
	a->end.http_status = status;
	a->content_type = header_line(h->content_type);
	a->request_id = header_line(h->request_id);
	a->end.request_id = a->request_id;
	a->compressed = h->content_encoding && *h->content_encoding && strcasecmp(h->content_encoding, "identity") != 0;
	if (h->should_retry)
		a->end.should_retry = !strcasecmp(h->should_retry, "true")    ? 1
		                      : !strcasecmp(h->should_retry, "false") ? 0
		                                                              : -1;
	read_retry_after(a, h);
	a->kind = kind_of(a, status);
	if (a->kind == ANSWER_JSON)
		buf_init(&a->body, ANSWER_MAX_MESSAGE);
}

/* Keeps what fits. Non-zero when the buffer is full. */
static int keep(struct answer *a, const char *p, size_t n)
{
	size_t room = a->body.max - a->body.len;

	if (buf_add(&a->body, p, n < room ? n : room))
		return 1;
	return a->body.len == a->body.max;
}

static int feed(struct answer *a, const char *p, size_t n)
{
	struct error e = ERROR_INIT;

	/* One byte more than is shown tells that there was more. */
	size_t room = a->body.len <= SHOWN ? SHOWN + 1 - a->body.len : 0;
	if (!a->events)
		keep(a, p, n < room ? n : room);
	int r = sse_feed(&a->sse, p, n, &e);
	if (r >= 0)
		return r;
	a->message = strdup(e.msg);
	a->end.failure = MODEL_STREAM_CUT;
	return 1;
}

int answer_body(struct answer *a, const char *p, size_t n)
{
	if (a->tap)
		a->tap->bytes(a->tap->ctx, a->kind_asked, p, n);
	return a->kind == ANSWER_STREAM ? feed(a, p, n) : keep(a, p, n);
}

/* Takes the ownership of a message; a NULL is out of memory. */
static void fail(struct answer *a, enum model_failure failure, char *message)
{
	free(a->message);
	a->message = message;
	a->end.failure = failure;
	a->end.message = message ? message : "out of memory";
	a->end.quoted = false;
}

/* "the server answered HTTP 200 (text/html), which is no event stream: <html>..." */
static char *describe(const struct answer *a, const char *what)
{
	struct buf out = BUF_INIT(8 * ONE_LINE_MAX);
	char *start = one_line(buf_str(&a->body), a->body.len, SHOWN);

	if (a->end.http_status)
		buf_addf(&out, "the server answered HTTP %d", a->end.http_status);
	else
		buf_adds(&out, "the server answered without an HTTP status line");
	buf_addf(&out, " (%s)%s", a->content_type ? a->content_type : "no content type", what);
	if (a->compressed)
		buf_adds(&out, ", compressed, which was not asked for");
	else
		buf_addf(&out, ": %s", start && *start ? start : "empty body");
	free(start);
	char *text = buf_take(&out, NULL);
	buf_release(&out);
	return text;
}

static void end_not_stream(struct answer *a)
{
	fail(a, MODEL_NOT_STREAM, describe(a, a->compressed ? "" : ", which is no event stream"));
}

static bool is_json_object(const struct buf *b)
{
	const char *p = buf_str(b);

	return p[strspn(p, " \t\r\n")] == '{';
}

/* An error body cut short by the network is still the server's word. */
static void end_error(struct answer *a)
{
	assembly_read_error(&a->assembly, buf_str(&a->body), a->compressed ? 0 : a->body.len, &a->end);
	if (a->request_id)
		a->end.request_id = a->request_id;
	a->end.failure = MODEL_HTTP;
	a->end.net = NET_NONE;
	if (!a->end.message || !is_json_object(&a->body))
		fail(a, MODEL_HTTP, describe(a, ""));
}

/* Some servers ignore "stream", and some report an overload with status 200. */
static void end_json(struct answer *a)
{
	if (assembly_message(&a->assembly, buf_str(&a->body), a->body.len) &&
	    !assembly_stray_error(&a->assembly, buf_str(&a->body), a->body.len) && !a->end.failure)
		end_not_stream(a);
}

/* What stood between the events, or in place of them, may be an error, or a message, in the wrong frame. */
static void end_stream(struct answer *a)
{
	size_t n = 0;
	const char *stray = sse_stray(&a->sse, &n);

	if (n && (assembly_stray_error(&a->assembly, stray, n) || !assembly_message(&a->assembly, stray, n)))
		return;
	if (!a->events && !a->end.failure)
		end_not_stream(a);
}

/* A count is no message: it is told here. True if it was one. */
static bool end_count(struct answer *a)
{
	struct json doc = JSON_INIT;
	struct model_event ev = { .kind = MODEL_EV_END };
	int64_t tokens = -1;

	if (a->end.failure)
		return false;
	if (!server_json_parse(&doc, buf_str(&a->body), a->body.len, NULL))
		tokens = json_int_or(&doc, json_get(&doc, json_root(&doc), "input_tokens"), -1);
	if (tokens >= 0) {
		ev.end = a->end;
		ev.end.complete = true;
		ev.end.usage.input = tokens;
		a->assembly.sink(a->assembly.ctx, &ev);
	}
	json_release(&doc);
	if (ev.end.complete)
		return true;
	fail(a, MODEL_NOT_STREAM, describe(a, ", which is no count of tokens"));
	return false;
}

static void end_transport(struct answer *a, const struct http_done *done)
{
	if (!done->failure)
		return;
	a->end.net = done->net;
	fail(a, done->failure, one_line(done->message, strlen(done->message), ONE_LINE_MAX));
}

void answer_end(struct answer *a, const struct http_done *done)
{
	if (a->tap)
		a->tap->done(a->tap->ctx, a->kind_asked, done);
	if (a->end.failure)
		a->end.message = a->message ? a->message : "out of memory";
	else
		end_transport(a, done);
	switch (a->kind) {
	case ANSWER_STREAM:
		end_stream(a);
		break;
	case ANSWER_JSON:
		end_json(a);
		break;
	case ANSWER_COUNT:
		if (end_count(a))
			return;
		break;
	case ANSWER_ERROR:
		end_error(a);
		break;
	case ANSWER_OTHER:
		end_not_stream(a);
		break;
	case ANSWER_NONE:
		break;
	}
	assembly_end(&a->assembly, &a->end);
}

void answer_release(struct answer *a)
{
	assembly_release(&a->assembly);
	sse_release(&a->sse);
	buf_release(&a->body);
	free(a->content_type);
	free(a->request_id);
	free(a->message);
	a->content_type = a->request_id = a->message = NULL;
}
