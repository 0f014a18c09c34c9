#include "world.h"

#include <stdio.h>
#include <stdlib.h>

static int model_start(void *ctx, const struct model_request *req, struct error *e)
{
	struct sim *s = ctx;
	char line[2048];

	(void)e;
	if (*sim_running(s, req->kind))
		sim_problem(s, "two model calls at once");
	*sim_running(s, req->kind) = true;
	if (s->requests < SIM_MAX_LINES)
		s->max_tokens_sent[s->requests] = req->max_tokens;
	s->requests++;
	check_request(s, req);
	if (s->script) {
		const char *next = s->script[s->next_line];
		if (next)
			s->next_line++;
		sim_play(s, req->kind, next ? next : "text done");
	} else {
		sim_random_answer(s, line, sizeof line);
		sim_play(s, req->kind, line);
	}
	return 0;
}

static void model_cancel(void *ctx, enum model_kind kind)
{
	struct sim *s = ctx;

	*sim_running(s, kind) = false;
	sim_drop_model_events(s, kind);
}

static void new_id(void *ctx, char out[UUID_LEN + 1])
{
	struct sim *s = ctx;

	snprintf(out, UUID_LEN + 1, "00000000-0000-4000-8000-%012u", ++s->ids);
}

static double random01(void *ctx)
{
	return (double)sim_draw(ctx, 1000) / 1000.0;
}

static int64_t now(void *ctx)
{
	return ((struct sim *)ctx)->clock;
}

void sim_init(struct sim *s, const char *const *script)
{
	static const struct catalog_row row = { "sim", 200000, 64000, { 1000, 1250, 2000, 100, 5000 }, 0, { 0 }, 0 };

	memset(s, 0, sizeof *s);
	s->script = script;
	s->clock = 1000;
	s->rng = 88172645463325252ull;
	s->cfg = (struct loop_config){
		.model = "sim",
		.row = &row,
		.max_turns = 100,
		.started = 1000,
		.deadline = CLOCK_NEVER,
		.retry = { 10, 300000 },
		.watchdog = { 30000, 300000, 300000, 600000 },
		.tool_concurrency = 10,
	};
}

static void plan_signal(struct sim *s, int64_t when)
{
	if (when)
		sim_at(s, when, LOOP_EV_SIGNAL)->ev.signo = 15;
}

void sim_run(struct sim *s, const char *task)
{
	struct loop_deps deps = {
		.ctx = s,
		.model_start = model_start,
		.model_cancel = model_cancel,
		.emit = sim_emit,
		.new_id = new_id,
		.random01 = random01,
		.now = now,
		.next_event = sim_next_event,
	};

	sim_tool_deps(&deps);
	if (s->stand_before)
		s->stand_before(&deps);
	if (s->seed)
		s->rng = s->seed * 0x9E3779B97F4A7C15ull + 1;
	plan_signal(s, s->signal_at);
	plan_signal(s, s->second_signal_at);
	if (s->full_until)
		sim_at(s, s->full_until, LOOP_EV_OUTPUT);
	history_add_user_block(&s->history, block_new_text(task, strlen(task)));
	loop_run(&s->cfg, &deps, &s->history, &s->out);
	if (!s->out.broken && s->results != 1)
		sim_problem(s, "%d results", s->results);
	if (s->running_model || s->running_background)
		sim_problem(s, "a model call runs on");
}

void sim_release(struct sim *s)
{
	sim_release_queue(s);
	for (size_t i = 0; i < s->nlines; i++)
		free(s->lines[i]);
	check_release(s);
	history_release(&s->history);
}

const char *sim_line(const struct sim *s, const char *prefix)
{
	for (size_t i = 0; i < s->nlines; i++)
		if (sim_begins(s->lines[i], prefix))
			return s->lines[i];
	return NULL;
}

int sim_count(const struct sim *s, const char *prefix)
{
	int n = 0;

	for (size_t i = 0; i < s->nlines; i++)
		n += sim_begins(s->lines[i], prefix);
	return n;
}
