#include "model/replay.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "base/json_out.h"
#include "base/log.h"
#include "model/answer.h"
#include "model/tap.h"
#include "model/tape.h"

struct replay;

/*
 * One attempt. It lives on the heap and frees itself when its last caller returns, because the sink that we call may
 * cancel it, or start the next one, while we are still inside.
 */
struct attempt {
	struct replay *owner;             /* NULL once it is over: then nothing is told any more */
	const struct tape_answer *script; /* NULL: there is none, missing and why say so */
	enum model_failure missing;
	struct buf why;
	struct buf bytes; /* the stream, or the body */
	size_t pos;
	int64_t events; /* played so far */
	struct reactor_timer timer;
	bool armed;
	bool delayed; /* the delay before the first byte is over or was none */
	bool begun;   /* the head was told */
	bool paused, stalled;
	int depth;            /* our frames on the stack that hold it */
	struct answer answer; /* what reads it, as it reads a real one */
};

struct replay {
	struct model model; /* first: the handle that callers hold */
	struct reactor *reactor;
	bool partial;
	const struct model_tap *tap;
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
	buf_release(&a->why);
	buf_release(&a->bytes);
	answer_release(&a->answer);
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

/* Between the answer and the caller: an end detaches first, so that the caller may start again at once. */
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

	if (a->owner && a->owner->tap && phase == PHASE_SENT)
		a->owner->tap->phase(a->owner->tap->ctx, a->answer.kind_asked, phase);
	forward(a, &ev);
}

static void finish(struct attempt *a, enum model_failure failure, enum model_net net, const char *message)
{
	struct http_done done = { failure, net, message };

	answer_end(&a->answer, &done);
}

static void finish_cleanly(struct attempt *a)
{
	finish(a, MODEL_FINE, NET_NONE, NULL);
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

/* Feeds one event in pieces. True = go on. */
static bool feed(struct attempt *a, const char *p, size_t n)
{
	size_t chunk = a->script->chunk ? (size_t)a->script->chunk : n;
	int enough = 0;

	while (n && !enough && a->owner) {
		size_t k = chunk < n ? chunk : n;
		enough = answer_body(&a->answer, p, k);
		p += k;
		n -= k;
		tell_alive(a, a->answer.assembly.progress ? PHASE_CONTENT : PHASE_BYTES);
		a->answer.assembly.progress = false;
	}
	return !enough;
}

static void feed_error_event(struct attempt *a)
{
	struct buf event = BUF_INIT(2 * TAPE_MAX_BYTES);
	const char *type = a->script->fail_type ? a->script->fail_type : "api_error";
	const char *text = a->script->fail_message ? a->script->fail_message : "Internal server error";

	buf_adds(&event, "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":");
	json_quote(&event, type, strlen(type));
	buf_adds(&event, ",\"message\":");
	json_quote(&event, text, strlen(text));
	buf_adds(&event, "}}\n\n");
	answer_body(&a->answer, buf_str(&event), event.len);
	buf_release(&event);
}

/* What is due before the next event; true if it ended or stopped the play. */
static bool interrupted(struct attempt *a)
{
	const struct tape_answer *script = a->script;

	if (script->stall_after == a->events) {
		a->stalled = true;
		return true;
	}
	if (script->fail_after == a->events)
		feed_error_event(a);
	if (script->fail_after == a->events || script->cut_after == a->events || a->pos == a->bytes.len) {
		finish_cleanly(a);
		return true;
	}
	return false;
}

static void play_stream(struct attempt *a)
{
	while (a->owner && !a->paused && !interrupted(a)) {
		size_t n = event_length(a->bytes.data + a->pos, a->bytes.len - a->pos);
		bool more = feed(a, a->bytes.data + a->pos, n);
		a->pos += n;
		a->events++;
		if (!more)
			finish_cleanly(a);
		if (a->owner && a->script->gap_ms) {
			arm(a, a->script->gap_ms);
			return;
		}
	}
}

/* Heads */

static const char *header(const struct tape_answer *script, const char *name)
{
	for (size_t i = 0; i < script->nheaders; i++)
		if (!strcasecmp(script->headers[i].name, name))
			return script->headers[i].value;
	return NULL;
}

/* What a server would have called the body, unless the tape says it. */
static const char *content_type(const struct attempt *a)
{
	const char *told = header(a->script, "content-type");

	if (told)
		return told;
	if (a->script->kind != TAPE_STATUS)
		return "text/event-stream";
	switch (*buf_str(&a->bytes)) {
	case '\0':
		return NULL;
	case '{':
		return "application/json";
	case '<':
		return "text/html";
	default:
		return "text/plain";
	}
}

static void begin_answer(struct attempt *a)
{
	const struct tape_answer *script = a->script;
	struct answer_headers h = {
		.content_type = content_type(a),
		.content_encoding = header(script, "content-encoding"),
		.retry_after = header(script, "retry-after"),
		.retry_after_ms = header(script, "retry-after-ms"),
		.should_retry = header(script, "x-should-retry"),
		.request_id = header(script, "request-id"),
	};

	answer_head(&a->answer, script->kind == TAPE_STATUS ? (int)script->status : 200, &h);
}

static void play(struct attempt *a)
{
	const struct tape_answer *script = a->script;

	if (script->kind == TAPE_NETWORK) {
		finish(a, script->failure, script->net, script->failure_text);
		return;
	}
	if (!a->begun) {
		a->begun = true;
		begin_answer(a);
	}
	if (script->kind == TAPE_STATUS) {
		feed(a, buf_str(&a->bytes), a->bytes.len);
		finish_cleanly(a);
	} else {
		play_stream(a);
	}
}

/* True if the first byte is still to be waited for. */
static bool delays(struct attempt *a)
{
	if (a->delayed)
		return false;
	a->delayed = true;
	if (a->script->kind != TAPE_NETWORK)
		tell_alive(a, PHASE_SENT);
	if (a->owner && a->script->delay_ms)
		arm(a, a->script->delay_ms);
	return a->armed;
}

static void on_timer(void *ctx)
{
	struct attempt *a = ctx;

	enter(a);
	a->armed = false;
	if (!a->script)
		finish(a, a->missing, NET_NONE, buf_str(&a->why));
	else if (!delays(a) && a->owner && !a->paused)
		play(a);
	leave(a);
}

/* Requests */

static struct attempt *attempt_new(struct replay *r, enum model_kind kind)
{
	struct attempt *a = calloc(1, sizeof *a);

	if (!a)
		return NULL;
	a->owner = r;
	buf_init(&a->why, 16 << 10);
	buf_init(&a->bytes, TAPE_MAX_BYTES * 2);
	a->timer = (struct reactor_timer){ .fn = on_timer, .ctx = a };
	answer_init(&a->answer, r->partial, forward, a);
	a->answer.tap = r->tap;
	a->answer.kind_asked = kind;
	return a;
}

/* A tape holds what the conversation got to hear: it neither counts tokens nor talks in the background. */
static bool is_on_tapes(enum model_kind kind)
{
	return kind == MODEL_MAIN || kind == MODEL_COMPACT;
}

/* Compares the request with the next answer; what differs goes to a->why. */
static void find_answer(struct replay *r, struct attempt *a, const struct model_request *req)
{
	struct buf why = BUF_INIT(8 << 10);

	a->missing = MODEL_MISMATCH;
	if (!is_on_tapes(req->kind)) {
		a->missing = MODEL_REFUSED_REQUEST;
		buf_adds(&a->why, "a tape answers no such request");
	} else if (r->at == r->tape.n) {
		buf_addf(&a->why, "turn %d: the tape '%s' holds %zu answers, request %zu was made", req->turn, r->path,
		         tape_plays(&r->tape), r->place.play + 1);
	} else if (!tape_check(&r->tape.answers[r->at].expect, req, &why)) {
		buf_addf(&a->why, "turn %d does not fit answer %zu of the tape (%s:%d): %s", req->turn,
		         r->place.play + 1, r->path, r->tape.answers[r->at].line, buf_str(&why));
	} else {
		a->script = &r->tape.answers[r->at];
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
	struct attempt *a = attempt_new(r, req->kind);
	if (!a)
		return error_nomem(e);
	find_answer(r, a, req);
	if ((a->script && tape_render(a->script, &r->place, req, &a->bytes, e)) || tap_sent(r->tap, req, e)) {
		attempt_free(a);
		return -1;
	}
	if (a->script)
		step(r);
	r->attempt = a;
	arm(a, 0);
	return 0;
}

static void replay_cancel(struct model *m)
{
	struct replay *r = (struct replay *)m;

	if (!r->attempt)
		return;
	if (r->tap)
		r->tap->cancelled(r->tap->ctx, r->attempt->answer.kind_asked);
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

static const struct model_ops replay_ops;

size_t replay_unused(const struct model *m)
{
	const struct replay *r = (const struct replay *)m;

	return m->ops == &replay_ops ? tape_plays(&r->tape) - r->place.play : 0;
}

static void replay_free(struct model *m)
{
	struct replay *r = (struct replay *)m;
	size_t unused = replay_unused(m);

	if (unused && r->place.play)
		log_verbose("answers left on the tape '%s': %zu", r->path, unused);
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
	r->tap = cfg->tap;
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
