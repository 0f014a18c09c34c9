/* Callbacks of the reactor become events of the loop: copied, queued, handed out one at a time. */
#include "run/answers.h"
#include "run/cutoff.h"
#include "run/replay.h"

#include <stdlib.h>
#include <string.h>

#define MAX_TEXTS        10
#define DRAIN_MS         30000
#define DRAIN_ABORTED_MS 5000

struct queued {
	struct queued *next;
	struct world *w;
	struct loop_event ev;
	struct tool_result result;
	char *texts[MAX_TEXTS]; /* owned copies that ev points to */
	size_t ntexts;
	int64_t came; /* of the open answer, when this did */
	/* a result comes there, or it is told that a call starts, and those with a lower turn before it */
	bool held;
	struct block *starts; /* owned; NULL = it is a result */
	struct moment at;
	size_t turn;
};

static void queued_free(struct queued *q)
{
	if (!q)
		return;
	for (size_t i = 0; i < q->ntexts; i++)
		free(q->texts[i]);
	if (q->ev.kind == LOOP_EV_MODEL)
		block_unref(q->ev.model.block);
	block_unref(q->starts);
	tool_result_release(&q->result);
	free(q);
}

static struct queued *push(struct world *w, enum loop_event_kind kind)
{
	struct queued *q = calloc(1, sizeof *q);

	if (!q) {
		w->lost = true;
		return NULL;
	}
	q->w = w;
	q->ev.kind = kind;
	q->came = cutoff_came(w);
	if (w->last)
		w->last->next = q;
	else
		w->first = q;
	w->last = q;
	return q;
}

static const char *keep_n(struct queued *q, const char *s, size_t n)
{
	char *copy = q->ntexts < MAX_TEXTS ? strndup(s, n) : NULL;

	if (copy)
		q->texts[q->ntexts++] = copy;
	else
		q->w->lost = true;
	return copy;
}

static const char *keep(struct queued *q, const char *s)
{
	return s ? keep_n(q, s, strlen(s)) : NULL;
}

/* Signs of life are many; only the strongest since the last event matters. */
static bool merged_alive(struct world *w, enum model_kind call, const struct model_event *ev)
{
	if (ev->kind != MODEL_EV_ALIVE || !w->last || w->last->ev.kind != LOOP_EV_MODEL || w->last->ev.call != call ||
	    w->last->ev.model.kind != MODEL_EV_ALIVE)
		return false;
	if (ev->phase > w->last->ev.model.phase)
		w->last->ev.model.phase = ev->phase;
	return true;
}

static void keep_end(struct queued *q)
{
	struct model_end *end = &q->ev.model.end;

	end->stop_reason = keep(q, end->stop_reason);
	end->stop_sequence = keep(q, end->stop_sequence);
	end->stop_details = keep(q, end->stop_details);
	end->error_type = keep(q, end->error_type);
	end->error_code = keep(q, end->error_code);
	end->message = keep(q, end->message);
	end->request_id = keep(q, end->request_id);
}

static void push_model(struct world *w, enum model_kind call, const struct model_event *ev)
{
	if (merged_alive(w, call, ev))
		return;
	struct queued *q = push(w, LOOP_EV_MODEL);
	if (!q)
		return;
	q->ev.call = call;
	q->ev.model = *ev;
	q->ev.model.block = ev->block ? block_ref(ev->block) : NULL;
	q->ev.model.json = NULL;
	if (ev->kind == MODEL_EV_RAW && (q->ev.model.json = keep_n(q, ev->json, ev->json_len)) == NULL)
		q->ev.model.kind = MODEL_EV_ALIVE;
	q->ev.model.message_id = keep(q, ev->message_id);
	q->ev.model.model = keep(q, ev->model);
	keep_end(q);
}

void world_on_model(void *ctx, const struct model_event *ev)
{
	struct world *w = ctx;

	push_model(w, w->asked, ev);
}

/* Its stream is nobody's business: only what came of it. */
void world_on_background(void *ctx, const struct model_event *ev)
{
	if (ev->kind != MODEL_EV_RAW)
		push_model(ctx, MODEL_SUMMARY, ev);
}

static void drop(struct world *w, bool (*goes)(const struct queued *q))
{
	struct queued **at = &w->first;

	w->last = NULL;
	while (*at) {
		struct queued *q = *at;
		if (goes(q)) {
			*at = q->next;
			queued_free(q);
		} else {
			w->last = q;
			at = &q->next;
		}
	}
}

static struct queued *push_tool(struct world *w, const char *tool_use_id, struct tool_result *res)
{
	struct queued *q = push(w, LOOP_EV_TOOL);

	if (!q)
		return NULL;
	q->ev.tool_use_id = keep(q, tool_use_id);
	q->result = *res;
	*res = (struct tool_result){ 0 };
	q->ev.result = &q->result;
	return q;
}

void world_on_tool(void *ctx, const char *tool_use_id, struct tool_result *res)
{
	push_tool(ctx, tool_use_id, res);
}

static void hold_until(struct queued *q, const struct moment *at, size_t turn)
{
	q->held = true;
	q->at = *at;
	q->turn = turn;
}

void world_hold_tool(struct world *w, const char *tool_use_id, struct tool_result *res, const struct moment *at,
                     size_t turn)
{
	struct queued *q = push_tool(w, tool_use_id, res);

	if (q)
		hold_until(q, at, turn);
}

void world_hold_start(struct world *w, const struct block *use, const struct moment *at, size_t turn)
{
	struct queued *q = push(w, LOOP_EV_NONE);

	if (!q)
		return;
	q->starts = block_ref((struct block *)use);
	hold_until(q, at, turn);
}

static void let_come(struct world *w, struct queued *q)
{
	q->held = false;
	q->came = cutoff_came(w);
}

bool world_let_tool_come(struct world *w, const char *tool_use_id)
{
	for (struct queued *q = w->first; q; q = q->next)
		if (q->held && q->ev.tool_use_id && !strcmp(q->ev.tool_use_id, tool_use_id)) {
			let_come(w, q);
			return true;
		}
	return false;
}

static bool is_told(const struct queued *q)
{
	return q->starts && !q->held;
}

/* If the line cannot be written, the next wait tells. */
static void tell_start(struct world *w, struct queued *q)
{
	struct error e = ERROR_INIT;

	(void)world_tool_starts(w, q->starts, &e);
	q->held = false;
	drop(w, is_told);
}

/* Lets that come of those that are held, or of those whose place is reached, that came first. */
static bool release_held(struct world *w, bool reached)
{
	struct queued *first = NULL;

	for (struct queued *q = w->first; q; q = q->next)
		if (q->held && !cutoff_holds(w, &q->ev) && (!reached || cutoff_reached(w, &q->at)) &&
		    (!first || q->turn < first->turn))
			first = q;
	if (first && first->starts)
		tell_start(w, first);
	else if (first)
		let_come(w, first);
	return first;
}

bool world_force_held(struct world *w)
{
	return release_held(w, false);
}

void world_on_hook(void *ctx, const struct hook_answer *answer)
{
	struct queued *q = push(ctx, LOOP_EV_HOOK);

	if (!q)
		return;
	struct hook_answer *a = &q->ev.hook;
	const char **texts[] = { &a->text,      &a->context,    &a->permit_text,
		                 &a->new_input, &a->new_output, &a->first_message };
	*a = *answer;
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		*texts[i] = keep(q, *texts[i]);
}

/* In front of all that waits. */
static struct queued *push_first(struct world *w, enum loop_event_kind kind)
{
	struct queued *rest = w->first, *tail = w->last;

	w->first = w->last = NULL;
	struct queued *q = push(w, kind);
	if (q)
		q->next = rest;
	else
		w->first = rest;
	if (rest)
		w->last = tail;
	return q;
}

void world_interrupt(struct world *w)
{
	push_first(w, LOOP_EV_INTERRUPT);
}

/* A signal overtakes what waits already: the user wants the end now. */
void world_on_signal(void *ctx, int signo, int sender_pid)
{
	struct world *w = ctx;
	struct queued *q = push_first(w, LOOP_EV_SIGNAL);

	(void)sender_pid;
	if (!w->signo)
		w->signo = signo;
	if (q)
		q->ev.signo = signo;
	bool hurry = ++w->signals > 1;
	int64_t until = clock_mono_ms() + (hurry ? 0 : DRAIN_ABORTED_MS);
	if (until < w->drain_until)
		w->drain_until = until;
	if (hurry && w->supervisor)
		supervisor_hurry(w->supervisor);
}

const int64_t *world_drain_deadline(struct world *w)
{
	w->drain_until = clock_mono_ms() + (w->signo ? DRAIN_ABORTED_MS : DRAIN_MS);
	return &w->drain_until;
}

void world_queue_release(struct world *w)
{
	while (w->first) {
		struct queued *next = w->first->next;
		queued_free(w->first);
		w->first = next;
	}
	w->last = NULL;
	queued_free(w->current);
	w->current = NULL;
}

static bool is_background(const struct queued *q)
{
	return q->ev.kind == LOOP_EV_MODEL && q->ev.call == MODEL_SUMMARY;
}

static bool is_foreground(const struct queued *q)
{
	return q->ev.kind == LOOP_EV_MODEL && q->ev.call != MODEL_SUMMARY;
}

static bool is_interrupt(const struct queued *q)
{
	return q->ev.kind == LOOP_EV_INTERRUPT;
}

static bool is_hook(const struct queued *q)
{
	return q->ev.kind == LOOP_EV_HOOK;
}

void world_drop_hook_events(struct world *w)
{
	drop(w, is_hook);
}

void world_drop_model_events(struct world *w, bool background)
{
	drop(w, background ? is_background : is_foreground);
}

void world_drop_interrupts(struct world *w)
{
	drop(w, is_interrupt);
}

/* A slow reader of stdout holds back the transfer and the tools' output, never signals or deadlines. */
static void apply_back_pressure(struct world *w)
{
	bool full = recorder_backlog(w->recorder) > RECORDER_HIGH_WATER;

	if (full == w->paused)
		return;
	w->paused = full;
	struct model *models[] = { w->model, w->background };
	for (size_t i = 0; i < 2; i++)
		if (models[i] && models[i]->ops->pause)
			models[i]->ops->pause(models[i], full);
	if (w->supervisor)
		supervisor_pause(w->supervisor, full);
	world_session_pause(w, full);
	if (!full)
		push(w, LOOP_EV_OUTPUT);
}

static bool broken(struct world *w, struct loop_event *ev)
{
	const char *gone = recorder_what_is_gone(w->recorder);

	if (w->told_broken)
		return false;
	if (gone)
		error_set(&ev->error, ERR_GONE, "%s is gone", gone);
	else if (w->supervisor && supervisor_lost(w->supervisor))
		error_set(&ev->error, ERR_GONE, "the supervisor process is lost");
	else
		return false;
	w->told_broken = true;
	ev->kind = LOOP_EV_BROKEN;
	return true;
}

/* The first that a replay does not hold back. */
static struct queued **next_queued(struct world *w)
{
	struct queued **at = &w->first;

	while (*at && ((*at)->held || cutoff_holds(w, &(*at)->ev)))
		at = &(*at)->next;
	return at;
}

bool world_has_news(struct world *w)
{
	return *next_queued(w) != NULL;
}

static bool hand_out(struct world *w, struct loop_event *ev)
{
	struct queued **at = next_queued(w), *q = *at;

	if (!q)
		return false;
	*at = q->next;
	if (w->last == q)
		w->last = w->first;
	while (w->last && w->last->next)
		w->last = w->last->next;
	w->current = q;
	*ev = q->ev;
	struct moment here = cutoff_here(w, q->came);
	if (ev->kind == LOOP_EV_TOOL)
		answers_tell_tool(w, ev->tool_use_id, ev->result, &here);
	else if (ev->kind == LOOP_EV_HOOK)
		answers_tell_hook(w, ev->hook.kind, &ev->hook);
	cutoff_handed(w, ev);
	return true;
}

int world_next_event(void *ctx, int64_t deadline, struct loop_event *ev, struct error *e)
{
	struct world *w = ctx;

	queued_free(w->current);
	w->current = NULL;
	*ev = (struct loop_event){ .kind = LOOP_EV_NONE };
	cutoff_asked(w);
	if (cutoff_owns_deadline(w) && deadline >= w->deadline)
		deadline = CLOCK_NEVER;
	for (bool waited = false;;) {
		if (broken(w, ev))
			return 0;
		/* An answer without one of its blocks, or a call that never ends, must not be taken for the real thing.
		 */
		if (w->lost)
			return error_nomem(e);
		apply_back_pressure(w);
		while (!world_has_news(w) && release_held(w, true))
			;
		if (!world_has_news(w) && cutoff_look(w))
			return 0;
		if (hand_out(w, ev))
			return 0;
		cutoff_waits(w);
		if (waited && cutoff_now(w) >= deadline) {
			w->looks++;
			return 0;
		}
		int rc = w->replay ? world_replay_wait(w, deadline, e) : reactor_wait(w->reactor, deadline, e);
		if (rc < 0)
			return -1;
		waited = true;
	}
}
