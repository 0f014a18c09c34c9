#include "run/cutoff.h"

#include <stdlib.h>
#include <string.h>

#include "base/json_out.h"
#include "run/replay.h"

#define RUNNING_MOST 1000 /* calls that a record may name */

struct spot {
	int64_t lines, asks, calls, hooks;
	bool asking; /* the last asking of hooks has no answer */
	char **running;
	size_t nrunning;
	bool exchange; /* one is open */
	enum model_kind kind;
	int ordinal, attempt;
	int64_t bytes;
};

struct cutoff {
	struct spot here;
	int64_t came;      /* bytes of the open answer, seen or not */
	bool told;         /* the record of this run has its place */
	struct spot at;    /* of the run that is replayed */
	bool known, to_do; /* there is such a place; and it is still to come */
	int signo;         /* that comes there; 0 = the wall time ends */
};

static void release(struct spot *p)
{
	for (size_t i = 0; i < p->nrunning; i++)
		free(p->running[i]);
	free(p->running);
	*p = (struct spot){ 0 };
}

int cutoff_open(struct world *w, struct error *e)
{
	if (!w->cutoff)
		w->cutoff = calloc(1, sizeof *w->cutoff);
	return w->cutoff ? 0 : error_nomem(e);
}

void cutoff_free(struct world *w)
{
	if (!w->cutoff)
		return;
	release(&w->cutoff->here);
	release(&w->cutoff->at);
	free(w->cutoff);
	w->cutoff = NULL;
}

/* ---- calls that run ---- */

static size_t find(const struct spot *p, const char *id)
{
	size_t i = 0;

	while (i < p->nrunning && strcmp(p->running[i], id) != 0)
		i++;
	return i;
}

static int add(struct spot *p, const char *id)
{
	char **v = reallocarray(p->running, p->nrunning + 1, sizeof *v), *copy = v ? strdup(id) : NULL;

	if (v)
		p->running = v;
	if (!copy)
		return -1;
	p->running[p->nrunning++] = copy;
	return 0;
}

static void take_out(struct spot *p, const char *id)
{
	size_t i = find(p, id);

	if (i == p->nrunning)
		return;
	free(p->running[i]);
	p->running[i] = p->running[--p->nrunning];
}

/* ---- where the run is ---- */

/* What hooks and notices say may be another time, or elsewhere: it is not counted. */
static bool counts(const struct event *ev)
{
	switch (ev->kind) {
	case EVENT_STREAM:
	case EVENT_NOTICE:
	case EVENT_HOOK_STARTED:
	case EVENT_HOOK_RESPONSE:
	case EVENT_INFORMATIONAL:
	case EVENT_SUMMARY:
	case EVENT_CONTROL_RESPONSE:
		return false;
	default:
		return true;
	}
}

void cutoff_emitted(struct world *w, const struct event *ev)
{
	if (!w->cutoff || !counts(ev))
		return;
	w->cutoff->here.lines++;
	w->cutoff->here.asks = 0;
}

void cutoff_asked(struct world *w)
{
	if (w->cutoff)
		w->cutoff->here.asks++;
}

void cutoff_call_started(struct world *w, const char *id)
{
	if (w->cutoff && add(&w->cutoff->here, id))
		w->lost = true;
}

void cutoff_hooks_asked(struct world *w)
{
	if (!w->cutoff)
		return;
	w->cutoff->here.hooks++;
	w->cutoff->here.asking = true;
}

void cutoff_hooks_over(struct world *w)
{
	if (w->cutoff)
		w->cutoff->here.asking = false;
}

void cutoff_sent(struct world *w, const struct exchange *x)
{
	struct spot *p = w->cutoff ? &w->cutoff->here : NULL;

	if (!p || x->kind == MODEL_SUMMARY)
		return;
	p->exchange = true;
	p->kind = x->kind;
	p->ordinal = x->ordinal;
	p->attempt = x->attempt;
	p->bytes = w->cutoff->came = 0;
}

void cutoff_bytes(struct world *w, enum model_kind kind, size_t n)
{
	if (w->cutoff && kind != MODEL_SUMMARY)
		w->cutoff->came += (int64_t)n;
}

void cutoff_waits(struct world *w)
{
	if (w->cutoff)
		w->cutoff->here.bytes = w->cutoff->came;
}

void cutoff_request_over(struct world *w)
{
	if (w->cutoff)
		w->cutoff->here.exchange = false;
}

/* ---- the entry ---- */

static void write_entry(const struct spot *p, int run, int signo, struct buf *out)
{
	struct json_out o;

	json_out_init(&o, out);
	jo_object(&o);
	jo_kint(&o, "run", run);
	if (signo)
		jo_kint(&o, "signal", signo);
	else
		jo_kbool(&o, "wall_time", true);
	jo_kint(&o, "lines", p->lines);
	jo_kint(&o, "asks", p->asks);
	jo_kint(&o, "calls", p->calls);
	jo_key(&o, "running");
	jo_array(&o);
	for (size_t i = 0; i < p->nrunning; i++)
		jo_str(&o, p->running[i]);
	jo_end(&o);
	jo_kint(&o, "hooks", p->hooks);
	jo_kbool(&o, "asking", p->asking);
	if (p->exchange) {
		jo_key(&o, "exchange");
		jo_object(&o);
		jo_kstr(&o, "kind", exchange_kind_name(p->kind));
		jo_kint(&o, "ordinal", p->ordinal);
		jo_kint(&o, "attempt", p->attempt);
		jo_kint(&o, "bytes", p->bytes);
		jo_end(&o);
	}
	jo_end(&o);
	buf_addc(out, '\n');
}

/* The first end counts: what comes behind it only makes it shorter. */
static void tell(struct world *w, int signo)
{
	struct cutoff *c = w->cutoff;
	struct buf text = BUF_INIT(BUF_HUGE);

	if (!c || c->told)
		return;
	c->told = true;
	c->here.calls = w->tool_calls;
	write_entry(&c->here, world_record_run(w), signo, &text);
	world_record_numbered(w, CUTOFF_DIRECTORY "%06zu.json", &text);
	buf_release(&text);
}

void cutoff_handed(struct world *w, const struct loop_event *ev)
{
	struct cutoff *c = w->cutoff;

	if (!c)
		return;
	if (ev->kind == LOOP_EV_SIGNAL) {
		tell(w, ev->signo);
		c->to_do = false; /* the user has ended it before */
	} else if (ev->kind == LOOP_EV_TOOL) {
		take_out(&c->here, ev->tool_use_id);
	} else if (ev->kind == LOOP_EV_HOOK) {
		c->here.asking = false;
	} else if (ev->kind == LOOP_EV_MODEL && ev->call != MODEL_SUMMARY) {
		c->here.exchange &= ev->model.kind != MODEL_EV_END;
	} else {
		return;
	}
	c->here.asks = 0;
}

void cutoff_time_is_up(void *ctx)
{
	struct world *w = ctx;

	if (w->cutoff) /* all that came is seen before the clock is looked at */
		cutoff_waits(w);
	tell(w, 0);
}

/* ---- a replay ---- */

static bool take_kind(const struct json *doc, int tok, enum model_kind *kind)
{
	for (int i = 0; i < EXCHANGE_KINDS; i++)
		if (json_eq(doc, tok, exchange_kind_name((enum model_kind)i))) {
			*kind = (enum model_kind)i;
			return true;
		}
	return false;
}

static int64_t number(const struct json *doc, int obj, const char *key)
{
	return json_int_or(doc, json_get(doc, obj, key), -1);
}

static bool take_exchange(const struct json *doc, int obj, struct spot *p)
{
	int64_t ordinal = number(doc, obj, "ordinal"), attempt = number(doc, obj, "attempt");

	p->exchange = true;
	p->bytes = number(doc, obj, "bytes");
	p->ordinal = (int)ordinal;
	p->attempt = (int)attempt;
	return take_kind(doc, json_get(doc, obj, "kind"), &p->kind) && ordinal > 0 && ordinal <= INT32_MAX &&
	       attempt > 0 && attempt <= INT32_MAX && p->bytes >= 0;
}

static bool take_running(const struct json *doc, int list, struct spot *p)
{
	if (json_type(doc, list) != JSON_ARRAY || json_size(doc, list) > RUNNING_MOST)
		return false;
	for (int t = json_first(doc, list); t >= 0; t = json_next(doc, list, t)) {
		char *id = json_strdup(doc, t, NULL);
		int rc = id ? add(p, id) : -1;
		free(id);
		if (rc)
			return false;
	}
	return true;
}

static bool take_place(struct cutoff *c, const struct json *doc)
{
	int root = json_root(doc), exchange = json_get(doc, root, "exchange"), wall = json_get(doc, root, "wall_time");
	int64_t signo = json_int_or(doc, json_get(doc, root, "signal"), 0);
	struct spot *p = &c->at;
	bool over = false;

	c->signo = (int)signo;
	p->lines = number(doc, root, "lines");
	p->asks = number(doc, root, "asks");
	p->calls = number(doc, root, "calls");
	p->hooks = number(doc, root, "hooks");
	return (signo ? world_catches(signo) : json_bool(doc, wall, &over) && over) && p->lines >= 0 && p->asks >= 0 &&
	       p->calls >= 0 && p->hooks >= 0 && json_bool(doc, json_get(doc, root, "asking"), &p->asking) &&
	       take_running(doc, json_get(doc, root, "running"), p) &&
	       (exchange < 0 || take_exchange(doc, exchange, p));
}

int cutoff_read(struct world *w, int run, const char *text, size_t n, struct error *e)
{
	struct cutoff *c = w->cutoff;
	struct json doc = JSON_INIT;

	if (json_parse(&doc, text, n, JSON_BORROW, e))
		return -1;
	bool mine = !c->known && number(&doc, json_root(&doc), "run") == run;
	bool good = !mine || take_place(c, &doc);
	json_release(&doc);
	if (!good) {
		release(&c->at);
		return error_set(e, ERR_INPUT, "it does not tell where the run was ended");
	}
	c->known |= mine;
	c->to_do |= mine && (c->signo || w->deadline != CLOCK_NEVER);
	return 0;
}

void cutoff_trim(struct world *w, struct recorded *r, int run)
{
	const struct cutoff *c = w->cutoff;
	struct exchange x = { .run = run, .kind = c->at.kind, .ordinal = c->at.ordinal, .attempt = c->at.attempt };

	if (c->known && c->at.exchange)
		recorded_cut(r, &x, (size_t)c->at.bytes);
}

int64_t cutoff_lines(const struct world *w)
{
	return w->cutoff ? w->cutoff->here.lines : 0;
}

/* Has the run come to the place? */
static bool is_due(const struct world *w)
{
	const struct cutoff *c = w->cutoff;
	const struct spot *here = &c->here, *at = &c->at;

	if (!c->to_do || here->lines < at->lines)
		return false;
	if (here->lines > at->lines) /* it has gone past it */
		return true;
	if (w->tool_calls < at->calls || here->hooks < at->hooks || (here->asking && !at->asking) ||
	    world_replay_open(w) != at->exchange || (at->exchange && !world_replay_is_played(w)))
		return false;
	for (size_t i = 0; i < here->nrunning; i++)
		if (find(at, here->running[i]) == at->nrunning)
			return false;
	return at->nrunning || at->asking || at->exchange || here->asks >= at->asks;
}

static bool come(struct world *w)
{
	struct cutoff *c = w->cutoff;

	c->to_do = false;
	if (c->signo)
		world_on_signal(w, c->signo, 0);
	else
		world_replay_until(w, w->deadline);
	return !c->signo;
}

bool cutoff_look(struct world *w)
{
	return w->cutoff && w->cutoff->to_do && is_due(w) && come(w);
}

bool cutoff_force(struct world *w)
{
	bool to_do = w->cutoff && w->cutoff->to_do;

	if (to_do)
		come(w);
	return to_do;
}

bool cutoff_awaits_hook(const struct world *w)
{
	const struct cutoff *c = w->cutoff;

	return c && c->to_do && c->at.asking && c->here.hooks <= c->at.hooks;
}

bool cutoff_owns_deadline(const struct world *w)
{
	return w->cutoff && w->cutoff->to_do && !w->cutoff->signo;
}

int64_t cutoff_now(void *ctx)
{
	struct world *w = ctx;

	if (cutoff_owns_deadline(w))
		cutoff_look(w);
	int64_t now = world_now(w);
	return cutoff_owns_deadline(w) && now >= w->deadline ? w->deadline - 1 : now;
}

bool cutoff_keeps_running(const struct world *w, const char *id)
{
	const struct cutoff *c = w->cutoff;

	return c && c->to_do && find(&c->at, id) < c->at.nrunning;
}

bool cutoff_holds(const struct world *w, const struct loop_event *ev)
{
	const struct cutoff *c = w->cutoff;

	if (!c || !c->to_do)
		return false;
	return ev->kind == LOOP_EV_TOOL ? cutoff_keeps_running(w, ev->tool_use_id)
	                                : ev->kind == LOOP_EV_HOOK && c->at.asking && c->here.hooks == c->at.hooks;
}
