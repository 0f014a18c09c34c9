/* What the simulator's files share: the queue of what will happen, the draws, the lines and the checks. */
#ifndef QUERN_TESTS_SIM_WORLD_H
#define QUERN_TESTS_SIM_WORLD_H

#include <string.h>

#include "sim.h"

#define LENGTH(a) (sizeof(a) / sizeof *(a))

/* Something that will happen at a moment of the virtual clock. */
struct sim_event {
	struct sim_event *next;
	int64_t at;
	struct loop_event ev;
	char *texts[4];
	size_t ntexts;
	struct tool_result result;
	char *call; /* tool events: the id */
	bool safe;
};

/* ---- clock.c ---- */
struct sim_event *sim_at(struct sim *s, int64_t when, enum loop_event_kind kind);
/* An event of the model call of that kind. */
struct sim_event *sim_model_event(struct sim *s, enum model_kind call, int64_t when, enum model_event_kind kind);
const char *sim_text(struct sim_event *q, const char *t); /* owned by the event */
void sim_drop_model_events(struct sim *s, enum model_kind call);
void sim_release_queue(struct sim *s);
int sim_next_event(void *ctx, int64_t deadline, struct loop_event *ev, struct error *e);
/* The two calls that may run at a time. */
static inline bool *sim_running(struct sim *s, enum model_kind kind)
{
	return kind == MODEL_SUMMARY ? &s->running_background : &s->running_model;
}

/* ---- random.c ---- */
uint64_t sim_draw(struct sim *s, uint64_t below);
void sim_random_answer(struct sim *s, char *line, size_t max);

/* ---- player.c ---- */
void sim_play(struct sim *s, enum model_kind call, const char *line);

/* ---- tools.c ---- */
void sim_tool_deps(struct loop_deps *deps);

/* ---- trace.c: what the loop emits, as short lines ---- */
int sim_emit(void *ctx, struct event *ev, struct error *e);
void sim_add(struct sim *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* ---- checks.c ---- */
void sim_problem(struct sim *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void check_request(struct sim *s, const struct model_request *req);
void check_assistant(struct sim *s, const struct event_assistant *a);
void check_user(struct sim *s, const struct event_user *u);
void check_transition(struct sim *s);
void check_tombstone(struct sim *s);
void check_result(struct sim *s, const struct event_result *r);
void check_start(struct sim *s, const char *id, bool safe);
void check_release(struct sim *s);

static inline bool sim_begins(const char *s, const char *prefix)
{
	return !strncmp(s, prefix, strlen(prefix));
}

#endif
