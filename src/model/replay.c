#include "model/replay.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "base/json_out.h"
#include "model/assembly.h"
#include "model/one_line.h"
#include "model/retry.h"
#include "model/sse.h"
#include "model/tape.h"

struct replay;

/*
 * One attempt. It lives on the heap and frees itself when its last caller returns, because the sink that we call may
 * cancel it, or start the next one, while we are still inside.
 */
struct attempt {
	struct replay *owner;             /* NULL once it is over: then nothing is told any more */
	const struct tape_answer *answer; /* NULL: there is none, mismatch says why */
	struct buf mismatch;
	struct buf bytes; /* the stream, or the body */
	size_t pos;
	int64_t events; /* played so far */
	struct reactor_timer timer;
	bool armed;
	bool delayed; /* the delay before the first byte is over or was none */
	bool paused, stalled;
	int depth; /* our frames on the stack that hold it */
	struct sse sse;
	struct assembly assembly;
};

struct replay {
	struct model model; /* first: the handle that callers hold */
	struct reactor *reactor;
	bool partial;
	model_sink sink;
	void *ctx;
	char *path;
	struct tape tape;
	size_t at;        /* the answer that is next */
	int64_t repeated; /* plays of it so far */
	struct tape_position place;
	struct attempt *attempt; /* NULL = idle */
};

static void attempt_free(struct attempt *a)
{
	buf_release(&a->mismatch);
	buf_release(&a->bytes);
	sse_release(&a->sse);
	assembly_release(&a->assembly);
	free(a);
}

/* Nothing of this attempt is told from here on. */
static void detach(struct attempt *a)
{
	struct replay *r = a->owner;

	if (!r)
		return;
	reactor_timer_cancel(r->reactor, &a->timer);
	a->armed = false;
	a->owner = NULL;
	r->attempt = NULL;
	if (!a->depth)
		attempt_free(a);
}

static void enter(struct attempt *a)
{
	a->depth++;
}

static void leave(struct attempt *a)
{
	if (!--a->depth && !a->owner)
		attempt_free(a);
}

/* Between the assembly and the caller: an end detaches first, so that the caller may start again at once. */
static void forward(void *ctx, const struct model_event *ev)
{
	struct attempt *a = ctx;
	struct replay *r = a->owner;

	if (!r)
		return;
	if (ev->kind == MODEL_EV_END)
		detach(a);
	r->sink(r->ctx, ev);
}

static void tell_alive(struct attempt *a, enum model_phase phase)
{
	struct model_event ev = { .kind = MODEL_EV_ALIVE, .phase = phase };

	forward(a, &ev);
}

static int on_event(void *ctx, const char *name, const char *data, size_t len)
{
	struct attempt *a = ctx;

	return assembly_event(&a->assembly, name, data, len) || !a->owner;
}

static struct model_end plain_end(enum model_failure failure)
{
	return (struct model_end){
		.failure = failure, .usage = USAGE_UNKNOWN, .retry_after_ms = -1, .should_retry = -1
	};
}

static void finish(struct attempt *a, const struct model_end *end)
{
	assembly_end(&a->assembly, end);
}

static void arm(struct attempt *a, int64_t delay_ms)
{
	a->armed = true;
	reactor_timer_set(a->owner->reactor, &a->timer, clock_mono_ms() + delay_ms);
}

/* Streams */

/* Length of the event at p: up to and with its blank line, or to the end. */
static size_t event_length(const char *p, size_t n)
{
	bool blank = true; /* nothing on this line so far */

	for (size_t i = 0; i < n; i++) {
		if (p[i] != '\n' && p[i] != '\r') {
			blank = false;
			continue;
		}
		if (p[i] == '\r' && i + 1 < n && p[i + 1] == '\n')
			i++;
		if (blank)
			return i + 1;
		blank = true;
	}
	return n;
}

/* Feeds one event in pieces. 0 = go on, 1 = the stream is over, -1 with *e. */
static int feed(struct attempt *a, const char *p, size_t n, struct error *e)
{
	size_t chunk = a->answer->chunk ? (size_t)a->answer->chunk : n;
	int rc = 0;

	while (n && !rc && a->owner) {
		size_t k = chunk < n ? chunk : n;
		rc = sse_feed(&a->sse, p, k, e);
		p += k;
		n -= k;
		if (!a->owner)
			return 1;
		tell_alive(a, a->assembly.progress ? PHASE_CONTENT : PHASE_BYTES);
		a->assembly.progress = false;
	}
	return rc;
}

static void finish_stream(struct attempt *a)
{
	struct model_end end = plain_end(MODEL_FINE);
	size_t n = 0;
	const char *stray = sse_stray(&a->sse, &n);

	end.http_status = 200;
	if (n)
		assembly_stray_error(&a->assembly, stray, n);
	finish(a, &end);
}

static void finish_with_error_event(struct attempt *a)
{
	struct buf event = BUF_INIT(1 << 20);
	const struct tape_answer *ans = a->answer;

	buf_adds(&event, "{\"type\":\"error\",\"error\":{\"type\":");
	const char *type = ans->fail_type ? ans->fail_type : "api_error";
	const char *text = ans->fail_message ? ans->fail_message : "Internal server error";
	json_quote(&event, type, strlen(type));
	buf_adds(&event, ",\"message\":");
	json_quote(&event, text, strlen(text));
	buf_adds(&event, "}}");
	assembly_event(&a->assembly, "error", buf_str(&event), event.len);
	buf_release(&event);
	if (a->owner)
		finish_stream(a);
}

/* What is due before the next event; true if it ended or stopped the play. */
static bool interrupted(struct attempt *a)
{
	const struct tape_answer *ans = a->answer;

	if (ans->stall_after == a->events) {
		a->stalled = true;
		return true;
	}
	if (ans->fail_after == a->events) {
		finish_with_error_event(a);
		return true;
	}
	if (ans->cut_after == a->events || a->pos == a->bytes.len) {
		finish_stream(a);
		return true;
	}
	return false;
}

static void play_stream(struct attempt *a)
{
	while (a->owner && !a->paused && !interrupted(a)) {
		struct error e = ERROR_INIT;
		size_t n = event_length(a->bytes.data + a->pos, a->bytes.len - a->pos);
		int rc = feed(a, a->bytes.data + a->pos, n, &e);
		a->pos += n;
		a->events++;
		if (!a->owner)
			return;
		if (rc < 0) {
			struct model_end end = plain_end(MODEL_NETWORK);
			end.message = e.msg;
			finish(a, &end);
		} else if (rc > 0) {
			finish_stream(a);
		} else if (a->answer->gap_ms) {
			arm(a, a->answer->gap_ms);
			return;
		}
	}
}

/* Answers that are no stream */

static const char *header(const struct tape_answer *ans, const char *name)
{
	for (size_t i = 0; i < ans->nheaders; i++)
		if (!strcasecmp(ans->headers[i].name, name))
			return ans->headers[i].value;
	return NULL;
}

static void read_headers(const struct tape_answer *ans, struct model_end *end)
{
	const char *ms = header(ans, "retry-after-ms"), *again = header(ans, "x-should-retry");

	end->retry_after_ms = retry_after_parse(ms ? ms : header(ans, "retry-after"), ms != NULL, clock_wall_ms(),
	                                        &end->retry_after_junk);
	if (again)
		end->should_retry = !strcasecmp(again, "true") ? 1 : !strcasecmp(again, "false") ? 0 : -1;
	end->request_id = header(ans, "request-id");
}

static void finish_refused(struct attempt *a)
{
	struct model_end end = plain_end(MODEL_HTTP);
	char text[40];

	end.http_status = (int)a->answer->status;
	read_headers(a->answer, &end);
	assembly_read_error(&a->assembly, buf_str(&a->bytes), a->bytes.len, &end);
	snprintf(text, sizeof text, "HTTP status %d", end.http_status);
	if (!end.message)
		end.message = text;
	finish(a, &end);
}

/* A success that is no event stream: a whole message counts, an error object too, anything else is somebody else. */
static void finish_not_stream(struct attempt *a)
{
	struct model_end end = plain_end(MODEL_FINE);
	const char *body = buf_str(&a->bytes);

	char text[ONE_LINE_MAX + 80];

	end.http_status = (int)a->answer->status;
	if (assembly_message(&a->assembly, body, a->bytes.len) &&
	    !assembly_stray_error(&a->assembly, body, a->bytes.len)) {
		char *line = one_line(body, a->bytes.len, ONE_LINE_MAX);
		snprintf(text, sizeof text, "HTTP status %d, but no event stream: %s", end.http_status,
		         line && *line ? line : "(nothing)");
		free(line);
		end.failure = MODEL_NOT_STREAM;
		end.message = text;
	}
	finish(a, &end);
}

static void play(struct attempt *a)
{
	const struct tape_answer *ans = a->answer;
	struct model_end end;

	switch (ans->kind) {
	case TAPE_CONTENT:
	case TAPE_SSE:
		play_stream(a);
		break;
	case TAPE_STATUS:
		if (ans->status < 400)
			finish_not_stream(a);
		else
			finish_refused(a);
		break;
	case TAPE_NETWORK:
		end = plain_end(ans->failure);
		end.net = ans->net;
		end.message = ans->failure_text;
		finish(a, &end);
		break;
	}
}

static void finish_mismatch(struct attempt *a)
{
	struct model_end end = plain_end(MODEL_MISMATCH);

	end.message = buf_str(&a->mismatch);
	finish(a, &end);
}

/* True if the first byte is still to be waited for. */
static bool delays(struct attempt *a)
{
	if (a->delayed)
		return false;
	a->delayed = true;
	if (a->answer->kind != TAPE_NETWORK)
		tell_alive(a, PHASE_SENT);
	if (a->owner && a->answer->delay_ms)
		arm(a, a->answer->delay_ms);
	return a->armed;
}

static void on_timer(void *ctx)
{
	struct attempt *a = ctx;

	enter(a);
	a->armed = false;
	if (!a->answer)
		finish_mismatch(a);
	else if (!delays(a) && a->owner && !a->paused)
		play(a);
	leave(a);
}

/* Requests */

static struct attempt *attempt_new(struct replay *r)
{
	struct attempt *a = calloc(1, sizeof *a);

	if (!a)
		return NULL;
	a->owner = r;
	buf_init(&a->mismatch, 16 << 10);
	buf_init(&a->bytes, TAPE_MAX_BYTES * 2);
	a->timer = (struct reactor_timer){ .fn = on_timer, .ctx = a };
	sse_init(&a->sse, on_event, a);
	assembly_init(&a->assembly, r->partial, forward, a);
	return a;
}

/* Compares the request with the next answer; what differs goes to a->mismatch. */
static void find_answer(struct replay *r, struct attempt *a, const struct model_request *req)
{
	struct buf why = BUF_INIT(8 << 10);

	if (r->at == r->tape.n) {
		buf_addf(&a->mismatch, "turn %d: the tape '%s' holds %zu answers, request %zu was made", req->turn,
		         r->path, tape_plays(&r->tape), r->place.play + 1);
	} else if (!tape_check(&r->tape.answers[r->at].expect, req, &why)) {
		buf_addf(&a->mismatch, "turn %d does not fit answer %zu of the tape (%s:%d): %s", req->turn,
		         r->place.play + 1, r->path, r->tape.answers[r->at].line, buf_str(&why));
	} else {
		a->answer = &r->tape.answers[r->at];
	}
	buf_release(&why);
}

static void step(struct replay *r)
{
	const struct tape_answer *ans = &r->tape.answers[r->at];

	r->place.play++;
	r->place.call += ans->unnamed;
	if (++r->repeated == ans->repeat) {
		r->repeated = 0;
		r->at++;
	}
}

static int replay_start(struct model *m, const struct model_request *req, struct error *e)
{
	struct replay *r = (struct replay *)m;

	if (r->attempt)
		return error_set(e, ERR_BUG, "a replayed model was asked while it still answers");
	struct attempt *a = attempt_new(r);
	if (!a)
		return error_nomem(e);
	find_answer(r, a, req);
	if (a->answer && tape_render(a->answer, &r->place, req, &a->bytes, e)) {
		attempt_free(a);
		return -1;
	}
	if (a->answer)
		step(r);
	r->attempt = a;
	arm(a, 0);
	return 0;
}

static void replay_cancel(struct model *m)
{
	struct replay *r = (struct replay *)m;

	if (r->attempt)
		detach(r->attempt);
}

static void replay_pause(struct model *m, bool on)
{
	struct attempt *a = ((struct replay *)m)->attempt;

	if (!a)
		return;
	a->paused = on;
	if (!on && !a->armed && !a->stalled && !a->depth)
		arm(a, 0);
}

static void replay_free(struct model *m)
{
	struct replay *r = (struct replay *)m;

	replay_cancel(m);
	tape_release(&r->tape);
	free(r->path);
	free(r);
}

static const struct model_ops replay_ops = {
	.start = replay_start,
	.cancel = replay_cancel,
	.pause = replay_pause,
	.free = replay_free,
};

static struct model *replay_open(const struct model_config *cfg, struct reactor *reactor, model_sink sink, void *ctx,
                                 struct error *e)
{
	if (!cfg->tape) {
		error_set(e, ERR_INPUT, "the replay provider needs a tape: --replay FILE");
		return NULL;
	}
	struct replay *r = calloc(1, sizeof *r);
	if (!r || !(r->path = strdup(cfg->tape))) {
		free(r);
		error_nomem(e);
		return NULL;
	}
	r->model.ops = &replay_ops;
	r->reactor = reactor;
	r->partial = cfg->partial;
	r->sink = sink;
	r->ctx = ctx;
	if (tape_load(&r->tape, cfg->tape, e)) {
		replay_free(&r->model);
		return NULL;
	}
	return &r->model;
}

const struct wire replay_wire = {
	.name = "replay",
	.default_base_url = NULL,
	.needs_key = false,
	.open = replay_open,
};

size_t replay_unused(const struct model *m)
{
	const struct replay *r = (const struct replay *)m;

	return m->ops == &replay_ops ? tape_plays(&r->tape) - r->place.play : 0;
}
