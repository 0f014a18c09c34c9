#include "model/player.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "model/answer.h"
#include "model/compare.h"
#include "model/request.h"
#include "model/retry.h"
#include "model/tap.h"

/* A watchdog's deadline and the moment in which it was noticed lie so far apart at most. */
#define NOTICED_MS 1000

struct player;

/* One attempt, on the heap as its sink may start the next one. */
struct attempt {
	struct player *owner;                     /* NULL once it is over: nothing is told any more */
	const struct recorded_exchange *recorded; /* NULL: `why` */
	struct buf why;                           /* of a mismatch */
	struct answer answer;
	int64_t asked;
	bool connected, sent, headed; /* told */
	size_t chunk, pos;            /* that is next */
	int depth;                    /* our frames on the stack that hold it */
};

struct player {
	struct model model; /* first: the handle that callers hold */
	struct player_config cfg;
	model_sink sink;
	void *ctx;
	struct exchange_count count;
	struct compare compare[EXCHANGE_KINDS];
	char **told; /* ids of calls whose other results are known */
	size_t ntold, told_cap;
	struct attempt *attempt;
	bool paused;
};

static void attempt_free(struct attempt *a)
{
	buf_release(&a->why);
	answer_release(&a->answer);
	free(a);
}

static void detach(struct player *p)
{
	struct attempt *a = p->attempt;

	if (!a)
		return;
	a->owner = NULL;
	p->attempt = NULL;
	if (!a->depth)
		attempt_free(a);
}

static void forward(void *ctx, const struct model_event *ev)
{
	struct attempt *a = ctx;
	struct player *p = a->owner;

	if (!p)
		return;
	if (ev->kind == MODEL_EV_END)
		detach(p);
	p->sink(p->ctx, ev);
}

static void tell_alive(struct attempt *a, enum model_phase phase)
{
	const struct model_tap *tap = a->answer.tap;
	struct model_event ev = { .kind = MODEL_EV_ALIVE, .phase = phase };

	if (a->owner && tap && phase <= PHASE_SENT)
		tap->phase(tap->ctx, a->answer.kind_asked, phase);
	forward(a, &ev);
}

/* ---- requests ---- */

struct asking {
	struct player *player;
	const struct exchange *x;
};

static void add_name(struct buf *out, const struct exchange *x)
{
	buf_addf(out, "request %d (%s", x->ordinal, exchange_kind_name(x->kind));
	if (x->attempt > 1)
		buf_addf(out, ", attempt %d", x->attempt);
	buf_adds(out, "): ");
}

/* True the first time. */
static bool is_news(struct player *p, const char *id)
{
	for (size_t i = 0; i < p->ntold; i++)
		if (!strcmp(p->told[i], id))
			return false;
	char *copy = ARRAY_GROW(p->told, p->ntold, p->told_cap) ? NULL : strdup(id);
	if (copy)
		p->told[p->ntold++] = copy;
	return true;
}

static void on_result(void *ctx, const char *id, const char *text)
{
	const struct asking *asking = ctx;
	struct player *p = asking->player;
	struct buf line = BUF_INIT(8 << 10);

	if (!is_news(p, id))
		return;
	add_name(&line, asking->x);
	buf_addf(&line, "the result of call %s is not the recorded one: %s", id, text);
	p->cfg.notice(p->cfg.ctx, "replay_result_differs", buf_str(&line));
	buf_release(&line);
}

static int read_body(const struct model_request *req, struct buf *out, struct error *e)
{
	struct request_body body;
	struct request_cursor at = { 0, 0 };

	if (request_build(&body, req, e))
		return -1;
	int rc = buf_reserve(out, body.length) ? error_nomem(e) : 0;
	char piece[16384];
	for (size_t n; !rc && (n = request_read(&body, &at, piece, sizeof piece)) > 0;)
		buf_add(out, piece, n);
	request_release(&body);
	return rc || buf_check(out, "a request", e) ? -1 : 0;
}

static void say_missing(const struct player *p, struct attempt *a, const struct exchange *x)
{
	int n = recorded_ordinals(p->cfg.recorded, x->kind);

	add_name(&a->why, x);
	if (x->ordinal > n)
		buf_addf(&a->why, "the record holds %d of this kind", n);
	else
		buf_adds(&a->why, "the record holds no such attempt");
}

/* A line about a round holds what tools returned as a text of its own, and nothing hangs on it: its answer is given
 * whatever it says. */
static bool must_agree(const struct exchange *x)
{
	return x->kind != MODEL_SUMMARY;
}

static int hold_against(struct player *p, struct attempt *a, const struct exchange *x, const struct model_request *req,
                        const struct buf *recorded, struct error *e)
{
	struct asking asking = { p, x };
	struct buf asked = BUF_INIT(BUF_HUGE), why = BUF_INIT(8 << 10);
	int rc = read_body(req, &asked, e);

	if (!rc)
		rc = compare_request(&p->compare[x->kind], &asked, recorded, p->cfg.strict, on_result, &asking, &why,
		                     e);
	if (rc == 1 && must_agree(x)) {
		add_name(&a->why, x);
		buf_adds(&a->why, buf_str(&why));
		a->recorded = NULL;
	}
	buf_release(&asked);
	buf_release(&why);
	return rc < 0 ? -1 : 0;
}

static int find(struct player *p, struct attempt *a, const struct model_request *req, struct error *e)
{
	struct exchange x;
	const struct buf *recorded = NULL;

	exchange_init(&x);
	exchange_asked(&x, req, &p->count);
	int rc = x.nomem ? error_nomem(e) : recorded_take(p->cfg.recorded, &x, &a->recorded, &recorded, e);
	if (!rc && a->recorded)
		rc = hold_against(p, a, &x, req, recorded, e);
	else if (!rc)
		say_missing(p, a, &x);
	exchange_release(&x);
	return rc;
}

static int start(struct model *m, const struct model_request *req, struct error *e)
{
	struct player *p = (struct player *)m;

	detach(p);
	struct attempt *a = calloc(1, sizeof *a);
	if (!a)
		return error_nomem(e);
	buf_init(&a->why, 16 << 10);
	answer_init(&a->answer, p->cfg.partial, forward, a);
	a->answer.count = req->kind == MODEL_COUNT;
	a->answer.kind_asked = req->kind;
	a->asked = p->cfg.now(p->cfg.ctx);
	a->owner = p;
	if (find(p, a, req, e) || (a->recorded && tap_sent(p->cfg.tap, req, e))) {
		attempt_free(a);
		return -1;
	}
	a->answer.tap = a->recorded ? p->cfg.tap : NULL;
	p->attempt = a;
	return 0;
}

static void cancel(struct model *m)
{
	struct player *p = (struct player *)m;
	const struct model_tap *tap = p->attempt ? p->attempt->answer.tap : NULL;

	if (tap)
		tap->cancelled(tap->ctx, p->attempt->answer.kind_asked);
	detach(p);
}

static void set_pause(struct model *m, bool on)
{
	((struct player *)m)->paused = on;
}

/* ---- answers ---- */

/* What is next: -1 = nothing of it is left to tell. */
static int64_t next_sign(const struct attempt *a, const struct exchange *x)
{
	if (!a->connected && x->connected_ms >= 0)
		return x->connected_ms;
	if (!a->sent && x->sent_ms >= 0)
		return x->sent_ms;
	return !a->headed && x->head_ms >= 0 ? x->head_ms : -1;
}

enum player_piece player_next(const struct model *m, int64_t *at)
{
	const struct player *p = (const struct player *)m;
	const struct attempt *a = p->attempt;

	if (!a || p->paused)
		return PLAYER_NOTHING;
	*at = a->asked;
	if (!a->recorded)
		return PLAYER_PIECE;
	const struct exchange *x = &a->recorded->x;
	int64_t sign = next_sign(a, x);
	if (sign >= 0) {
		*at += sign;
		return PLAYER_PIECE;
	}
	if (a->chunk < x->nchunks) {
		*at += x->chunks[a->chunk].ms;
		return x->chunks[a->chunk].apart ? PLAYER_APART : PLAYER_PIECE;
	}
	if (x->end == EXCHANGE_DONE) {
		*at += x->end_ms;
		return x->end_apart ? PLAYER_APART : PLAYER_PIECE;
	}
	*at += x->end_ms + (x->end == EXCHANGE_CANCELLED ? NOTICED_MS : 0);
	return PLAYER_END;
}

static void finish(struct attempt *a, enum model_failure failure, enum model_net net, const char *message)
{
	const struct http_done done = { failure, net, message };

	answer_end(&a->answer, &done);
}

/* A date in it was meant for the day on which it came. */
static void give_head(struct attempt *a, const struct exchange *x)
{
	struct answer_headers h;
	struct buf wait = BUF_INIT(64);
	bool junk = false;

	exchange_headers(x, &h);
	int64_t ms = h.retry_after && !h.retry_after_ms
	                     ? retry_after_parse(h.retry_after, false, x->wall_ms + x->head_ms, &junk)
	                     : -1;
	if (ms >= 0) {
		buf_addf(&wait, "%lld", (long long)ms);
		h.retry_after_ms = buf_str(&wait);
	}
	a->headed = true;
	answer_head(&a->answer, x->status, &h);
	buf_release(&wait);
	tell_alive(a, PHASE_BYTES);
}

static void give_chunk(struct attempt *a, const struct exchange *x)
{
	size_t n = x->chunks[a->chunk++].n, pos = a->pos;

	a->pos += n;
	answer_body(&a->answer, a->recorded->answer + pos, n);
	tell_alive(a, a->answer.assembly.progress ? PHASE_CONTENT : PHASE_BYTES);
	a->answer.assembly.progress = false;
}

static void give(struct attempt *a)
{
	const struct exchange *x = a->recorded ? &a->recorded->x : NULL;

	if (!x) {
		finish(a, MODEL_MISMATCH, NET_NONE, buf_str(&a->why));
	} else if (!a->connected && x->connected_ms >= 0) {
		a->connected = true;
		tell_alive(a, PHASE_CONNECTED);
	} else if (!a->sent && x->sent_ms >= 0) {
		a->sent = true;
		tell_alive(a, PHASE_SENT);
	} else if (!a->headed && x->head_ms >= 0) {
		give_head(a, x);
	} else if (a->chunk < x->nchunks) {
		give_chunk(a, x);
	} else if (x->end == EXCHANGE_DONE) {
		finish(a, x->failure, x->net, x->message);
	} else {
		add_name(&a->why, x);
		buf_adds(&a->why, "the record ends in the middle of its answer: the run was ended there");
		finish(a, MODEL_MISMATCH, NET_NONE, buf_str(&a->why));
	}
}

void player_give(struct model *m)
{
	struct attempt *a = ((struct player *)m)->attempt;

	if (!a)
		return;
	a->depth++;
	give(a);
	if (!--a->depth && !a->owner)
		attempt_free(a);
}

size_t player_given(const struct model *m)
{
	const struct attempt *a = ((const struct player *)m)->attempt;

	return a ? a->pos : 0;
}

/* ---- the wire ---- */

static void player_free(struct model *m)
{
	struct player *p = (struct player *)m;

	detach(p);
	for (size_t i = 0; i < EXCHANGE_KINDS; i++)
		compare_release(&p->compare[i]);
	for (size_t i = 0; i < p->ntold; i++)
		free(p->told[i]);
	free(p->told);
	free(p);
}

struct model *player_open(const struct player_config *cfg, model_sink sink, void *ctx, struct error *e)
{
	static const struct model_ops ops = { start, cancel, set_pause, player_free };
	static const struct compare none = COMPARE_INIT;
	struct player *p = calloc(1, sizeof *p);

	if (!p) {
		error_nomem(e);
		return NULL;
	}
	p->model.ops = &ops;
	p->cfg = *cfg;
	p->sink = sink;
	p->ctx = ctx;
	for (size_t i = 0; i < EXCHANGE_KINDS; i++)
		p->compare[i] = none;
	return &p->model;
}
