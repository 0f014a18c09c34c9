/* The queue of what will happen, and the one wait: time goes on from one event to the next. */
#include "world.h"

#include <stdlib.h>

static void event_free(struct sim_event *q)
{
	for (size_t i = 0; i < q->ntexts; i++)
		free(q->texts[i]);
	if (q->ev.kind == LOOP_EV_MODEL)
		block_unref(q->ev.model.block);
	tool_result_release(&q->result);
	free(q->call);
	free(q);
}

struct sim_event *sim_at(struct sim *s, int64_t when, enum loop_event_kind kind)
{
	struct sim_event *q = calloc(1, sizeof *q), **p = &s->queue;

	q->at = when;
	q->ev.kind = kind;
	while (*p && (*p)->at <= when)
		p = &(*p)->next;
	q->next = *p;
	*p = q;
	return q;
}

const char *sim_text(struct sim_event *q, const char *t)
{
	return q->texts[q->ntexts++] = strdup(t);
}

struct sim_event *sim_model_event(struct sim *s, enum model_kind call, int64_t when, enum model_event_kind kind)
{
	struct sim_event *q = sim_at(s, when, LOOP_EV_MODEL);

	q->ev.call = call;
	q->ev.model.kind = kind;
	q->ev.model.usage = (struct usage)USAGE_UNKNOWN;
	q->ev.model.end.usage = (struct usage)USAGE_UNKNOWN;
	q->ev.model.end.retry_after_ms = -1;
	q->ev.model.end.should_retry = -1;
	return q;
}

void sim_drop_model_events(struct sim *s, enum model_kind call)
{
	struct sim_event **p = &s->queue;

	while (*p) {
		struct sim_event *q = *p;
		if (q->ev.kind != LOOP_EV_MODEL || (q->ev.call == MODEL_SUMMARY) != (call == MODEL_SUMMARY)) {
			p = &q->next;
			continue;
		}
		*p = q->next;
		event_free(q);
	}
}

static void hand_out(struct sim *s, struct sim_event *q, struct loop_event *ev)
{
	*ev = q->ev;
	for (size_t i = 0; i < q->ntexts; i++)
		s->current[i] = q->texts[i];
	q->ntexts = 0;
	if (q->ev.kind == LOOP_EV_MODEL) {
		s->current_block = q->ev.model.block;
		q->ev.model.block = NULL;
		witness_model(s, ev);
		if (q->ev.model.kind == MODEL_EV_END)
			*sim_running(s, q->ev.call) = false;
	}
	if (q->ev.kind == LOOP_EV_HOOK) {
		s->running_hook = false;
		witness_hook_answer(s, &ev->hook);
	}
	s->w->signalled |= q->ev.kind == LOOP_EV_SIGNAL;
	s->w->interrupted |= q->ev.kind == LOOP_EV_INTERRUPT;
	if (q->ev.kind == LOOP_EV_TOOL) {
		s->w->undying -= q->gone;
		s->tool_runs -= q->refused && !q->gone; /* one that was given up is told as run */
		if (q->refused)
			witness_refused(s, q->call);
		if (!q->gone)
			*(q->safe ? &s->running_safe : &s->running_unsafe) -= 1;
		s->current[3] = q->call;
		q->call = NULL;
		s->current_result = q->result;
		q->result = (struct tool_result){ 0 };
		ev->result = &s->current_result;
		witness_tool(s, s->current[3], ev->result);
		ev->tool_use_id = s->current[3];
	}
	event_free(q);
}

static void drop_current(struct sim *s)
{
	for (size_t i = 0; i < 4; i++) {
		free(s->current[i]);
		s->current[i] = NULL;
	}
	tool_result_release(&s->current_result);
	block_unref(s->current_block);
	s->current_block = NULL;
}

int sim_next_event(void *ctx, int64_t deadline, struct loop_event *ev, struct error *e)
{
	struct sim *s = ctx;

	(void)e;
	drop_current(s);
	s->steps++;
	sim_check(s, &(struct step){ .stage = AT_WAIT, .until = deadline });
	*ev = (struct loop_event){ .kind = LOOP_EV_NONE };
	struct sim_event *q = s->queue;
	if (s->broken) { /* enough was seen: the run ends */
		ev->kind = LOOP_EV_BROKEN;
		error_set(&ev->error, ERR_GONE, "an invariant is broken");
		return 0;
	}
	if (!q || (q->at > deadline && q->at > s->clock)) { /* what is due comes even if nobody would wait for it */
		if (deadline == CLOCK_NEVER) {
			sim_problem(s, "a wait that nothing ends");
			ev->kind = LOOP_EV_BROKEN;
			return 0;
		}
		if (deadline > s->clock)
			s->clock = deadline;
		return 0;
	}
	s->queue = q->next;
	if (q->at > s->clock)
		s->clock = q->at;
	hand_out(s, q, ev);
	return 0;
}

bool sim_signal_due(const struct sim *s)
{
	for (const struct sim_event *q = s->queue; q && q->at <= s->clock; q = q->next)
		if (q->ev.kind == LOOP_EV_SIGNAL || q->ev.kind == LOOP_EV_INTERRUPT)
			return true;
	return false;
}

void sim_release_queue(struct sim *s)
{
	drop_current(s);
	while (s->queue) {
		struct sim_event *next = s->queue->next;
		event_free(s->queue);
		s->queue = next;
	}
}
