#include "run/cutoff.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
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

enum came { CAME_SIGNAL, CAME_WALL_TIME, CAME_LINE, CAME_PROBLEM, CAME_END };

/* What came where. */
struct arrival {
	enum came what;
	struct spot at;
	int signo;
	char *text; /* of CAME_LINE and CAME_PROBLEM; owned */
	size_t len;
	bool whole; /* see input_config.problem */
	bool ends;  /* the work that was done there */
};

struct cutoff {
	struct spot here;
	int64_t came;      /* bytes of the open answer, seen or not */
	int signals;       /* that the record of this run has, or need not have */
	bool time_told;    /* it has the end of its wall time */
	struct arrival *v; /* of the run that is replayed, in order */
	size_t n, cap, next;
	size_t time; /* behind the one that is the end of the wall time; 0 = none is */
	int queued;  /* signals of the record that the loop has not seen yet */
};

static void release(struct spot *p)
{
	for (size_t i = 0; i < p->nrunning; i++)
		free(p->running[i]);
	free(p->running);
	*p = (struct spot){ 0 };
}

static void arrival_release(struct arrival *p)
{
	release(&p->at);
	free(p->text);
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
	for (size_t i = 0; i < w->cutoff->n; i++)
		arrival_release(&w->cutoff->v[i]);
	free(w->cutoff->v);
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

int64_t cutoff_came(const struct world *w)
{
	return w->cutoff ? w->cutoff->came : 0;
}

struct moment cutoff_here(const struct world *w, int64_t came)
{
	const struct cutoff *c = w->cutoff;

	if (!c || !c->here.exchange)
		return (struct moment){ cutoff_lines(w), -1 };
	return (struct moment){ cutoff_lines(w), came < 0 ? c->here.bytes : came };
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

static void write_what(struct json_out *o, const struct arrival *p)
{
	if (p->what == CAME_SIGNAL)
		jo_kint(o, "signal", p->signo);
	else if (p->what == CAME_WALL_TIME)
		jo_kbool(o, "wall_time", true);
	else if (p->what == CAME_END)
		jo_kbool(o, "end", true);
	if (p->text) {
		jo_key(o, p->what == CAME_LINE ? "line" : "problem");
		jo_strn(o, p->text, p->len);
	}
	if (p->whole)
		jo_kbool(o, "whole", true);
	if (p->ends)
		jo_kbool(o, "ends", true);
}

static void write_spot(struct json_out *o, const struct spot *p)
{
	jo_kint(o, "lines", p->lines);
	jo_kint(o, "asks", p->asks);
	jo_kint(o, "calls", p->calls);
	jo_key(o, "running");
	jo_array(o);
	for (size_t i = 0; i < p->nrunning; i++)
		jo_str(o, p->running[i]);
	jo_end(o);
	jo_kint(o, "hooks", p->hooks);
	jo_kbool(o, "asking", p->asking);
	if (!p->exchange)
		return;
	jo_key(o, "exchange");
	jo_object(o);
	jo_kstr(o, "kind", exchange_kind_name(p->kind));
	jo_kint(o, "ordinal", p->ordinal);
	jo_kint(o, "attempt", p->attempt);
	jo_kint(o, "bytes", p->bytes);
	jo_end(o);
}

/* It came here. */
static void tell(struct world *w, const struct arrival *p)
{
	bool input = p->what != CAME_SIGNAL && p->what != CAME_WALL_TIME;
	struct buf text = BUF_INIT(BUF_HUGE);
	struct json_out o;

	if (!w->cutoff || !world_records(w))
		return;
	w->cutoff->here.calls = w->tool_calls;
	json_out_init(&o, &text);
	jo_object(&o);
	jo_kint(&o, "run", world_record_run(w));
	write_what(&o, p);
	write_spot(&o, &w->cutoff->here);
	jo_end(&o);
	buf_addc(&text, '\n');
	world_record_numbered(w, input ? INPUT_DIRECTORY "%06zu.json" : CUTOFF_DIRECTORY "%06zu.json", &text);
	buf_release(&text);
}

static void tell_signal(struct world *w, int signo)
{
	if (w->cutoff->signals >= w->signals)
		return;
	w->cutoff->signals++;
	tell(w, &(struct arrival){ .what = CAME_SIGNAL, .signo = signo });
}

/* Of a replay: what its record tells of is over now, or the user has ended it before. */
static void see_signal(struct cutoff *c)
{
	if (c->queued)
		c->queued--;
	else
		c->next = c->n;
}

void cutoff_handed(struct world *w, const struct loop_event *ev)
{
	struct cutoff *c = w->cutoff;

	if (!c)
		return;
	if (ev->kind == LOOP_EV_SIGNAL) {
		tell_signal(w, ev->signo);
		see_signal(c);
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

	if (!w->cutoff || w->cutoff->time_told)
		return;
	cutoff_waits(w); /* all that came is seen before the clock is looked at */
	w->cutoff->time_told = true;
	tell(w, &(struct arrival){ .what = CAME_WALL_TIME });
}

void cutoff_over(struct world *w)
{
	if (w->cutoff && w->signo)
		tell_signal(w, w->signo);
	else if (w->cutoff && world_now(w) >= w->deadline)
		cutoff_time_is_up(w);
}

static void tell_input(struct world *w, enum came what, const char *text, size_t n, bool whole, bool ends)
{
	struct arrival p = {
		.what = what, .text = text ? strndup(text, n) : NULL, .len = n, .whole = whole, .ends = ends
	};

	if (text && !p.text)
		w->lost = true;
	else
		tell(w, &p);
	free(p.text);
}

void cutoff_line(struct world *w, const char *line, size_t n, bool ends)
{
	if (w->cutoff)
		tell_input(w, CAME_LINE, line, n, false, ends);
}

void cutoff_problem(struct world *w, const char *text, bool whole)
{
	if (w->cutoff)
		tell_input(w, CAME_PROBLEM, text, strlen(text), whole, false);
}

void cutoff_input_ends(struct world *w)
{
	if (w->cutoff)
		tell_input(w, CAME_END, NULL, 0, false, false);
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

static bool take_spot(const struct json *doc, struct spot *p)
{
	int root = json_root(doc), exchange = json_get(doc, root, "exchange");

	p->lines = number(doc, root, "lines");
	p->asks = number(doc, root, "asks");
	p->calls = number(doc, root, "calls");
	p->hooks = number(doc, root, "hooks");
	return p->lines >= 0 && p->asks >= 0 && p->calls >= 0 && p->hooks >= 0 &&
	       json_bool(doc, json_get(doc, root, "asking"), &p->asking) &&
	       take_running(doc, json_get(doc, root, "running"), p) &&
	       (exchange < 0 || take_exchange(doc, exchange, p));
}

static bool flag(const struct json *doc, const char *key)
{
	bool on = false;

	return json_bool(doc, json_get(doc, json_root(doc), key), &on) && on;
}

static bool take_text(const struct json *doc, const char *key, struct arrival *p)
{
	p->text = json_strdup(doc, json_get(doc, json_root(doc), key), &p->len);
	return p->text;
}

static bool take_what(const struct json *doc, struct arrival *p)
{
	int64_t signo = json_int_or(doc, json_get(doc, json_root(doc), "signal"), 0);

	p->signo = (int)signo;
	p->whole = flag(doc, "whole");
	if (signo)
		p->what = CAME_SIGNAL;
	else if (flag(doc, "wall_time"))
		p->what = CAME_WALL_TIME;
	else if (flag(doc, "end"))
		p->what = CAME_END;
	else if (take_text(doc, "line", p))
		p->what = CAME_LINE;
	else if (take_text(doc, "problem", p))
		p->what = CAME_PROBLEM;
	else
		return false;
	p->ends = p->what == CAME_SIGNAL || p->what == CAME_WALL_TIME || flag(doc, "ends");
	return !signo || world_catches(signo);
}

static int add_arrival(struct world *w, const struct json *doc, struct error *e)
{
	struct cutoff *c = w->cutoff;
	struct arrival p = { 0 };
	int rc = 0;

	if (!take_what(doc, &p) || !take_spot(doc, &p.at))
		rc = error_set(e, ERR_INPUT, "it does not tell what came, and where");
	else if (ARRAY_GROW(c->v, c->n, c->cap))
		rc = error_nomem(e);
	if (rc || (p.what == CAME_WALL_TIME && w->deadline == CLOCK_NEVER)) {
		arrival_release(&p);
		return rc;
	}
	c->v[c->n++] = p;
	if (p.what == CAME_WALL_TIME)
		c->time = c->n;
	return 0;
}

int cutoff_read(struct world *w, int run, const char *text, size_t n, struct error *e)
{
	struct json doc = JSON_INIT;

	if (json_parse(&doc, text, n, JSON_BORROW, e))
		return -1;
	int rc = number(&doc, json_root(&doc), "run") == run ? add_arrival(w, &doc, e) : 0;
	json_release(&doc);
	return rc;
}

void cutoff_trim(struct world *w, struct recorded *r, int run)
{
	for (const struct arrival *p = w->cutoff->v; p < w->cutoff->v + w->cutoff->n; p++) {
		const struct spot *at = &p->at;
		struct exchange x = { .run = run, .kind = at->kind, .ordinal = at->ordinal, .attempt = at->attempt };
		if (p->ends && at->exchange)
			recorded_cut(r, &x, (size_t)at->bytes);
	}
}

int64_t cutoff_lines(const struct world *w)
{
	return w->cutoff ? w->cutoff->here.lines : 0;
}

/* The next place; NULL: there is none any more. */
static const struct arrival *next_arrival(const struct world *w)
{
	const struct cutoff *c = w->cutoff;

	return c && c->next < c->n ? &c->v[c->next] : NULL;
}

/* So much of the answer, as far as it was seen, is given. */
static bool is_given(const struct world *w, const struct arrival *p)
{
	return p->ends ? world_replay_is_played(w) : world_replay_given(w) >= p->at.bytes;
}

static bool is_due(const struct world *w, const struct arrival *p)
{
	const struct spot *here = &w->cutoff->here, *at = &p->at;

	if (w->cutoff->queued || here->lines < at->lines) /* one signal after the other */
		return false;
	if (here->lines > at->lines) /* it has gone past it */
		return true;
	if (w->tool_calls < at->calls || here->hooks < at->hooks || (here->asking && !at->asking) ||
	    world_replay_open(w) != at->exchange || (at->exchange && !is_given(w, p)))
		return false;
	for (size_t i = 0; i < here->nrunning; i++)
		if (find(at, here->running[i]) == at->nrunning)
			return false;
	return at->nrunning || at->asking || at->exchange || here->asks >= at->asks;
}

static void come(struct world *w, const struct arrival *p)
{
	w->cutoff->next++;
	switch (p->what) {
	case CAME_SIGNAL:
		w->cutoff->queued++;
		world_on_signal(w, p->signo, 0);
		break;
	case CAME_WALL_TIME:
		world_replay_until(w, w->deadline);
		break;
	case CAME_LINE:
		world_session_line(w, p->text, p->len);
		break;
	case CAME_PROBLEM:
		world_session_problem(w, p->text, p->whole);
		break;
	case CAME_END:
		world_session_input_ends(w);
		break;
	}
}

bool cutoff_look(struct world *w)
{
	const struct arrival *p;

	while ((p = next_arrival(w)) && is_due(w, p)) {
		come(w, p);
		if (p->what == CAME_WALL_TIME)
			return true;
	}
	return false;
}

bool cutoff_force(struct world *w)
{
	const struct arrival *p = next_arrival(w);

	if (p)
		come(w, p);
	return p;
}

bool cutoff_awaits_hook(const struct world *w)
{
	const struct cutoff *c = w->cutoff;

	for (size_t i = c ? c->next : 0; c && i < c->n; i++)
		if (c->v[i].ends && c->v[i].at.asking && c->here.hooks <= c->v[i].at.hooks)
			return true;
	return false;
}

bool cutoff_owns_deadline(const struct world *w)
{
	return w->cutoff && w->cutoff->next < w->cutoff->time;
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

	for (size_t i = c ? c->next : 0; c && i < c->n; i++)
		if (c->v[i].ends && find(&c->v[i].at, id) < c->v[i].at.nrunning)
			return true;
	return false;
}

bool cutoff_reached(const struct world *w, const struct moment *at)
{
	int64_t lines = cutoff_lines(w);

	if (lines != at->lines)
		return lines > at->lines;
	if (w->paused) /* then nobody knows what is open */
		return false;
	return !world_replay_open(w) || (at->bytes >= 0 && world_replay_given(w) >= at->bytes);
}

bool cutoff_holds(const struct world *w, const struct loop_event *ev)
{
	const struct arrival *p = next_arrival(w);

	if (!p)
		return false;
	return ev->kind == LOOP_EV_TOOL
	               ? find(&p->at, ev->tool_use_id) < p->at.nrunning
	               : ev->kind == LOOP_EV_HOOK && p->at.asking && w->cutoff->here.hooks == p->at.hooks;
}
