#include "crash.h"

#include <stdio.h>
#include <stdlib.h>

static int model_start(void *ctx, const struct model_request *req, struct error *e)
{
	struct sim *s = ctx;
	char line[8192];

	(void)e;
	s->requests++;
	if (req->kind == MODEL_COUNT)
		s->counts++;
	sim_check(s, &(struct step){ .stage = AT_REQUEST, .req = req });
	witness_request(s, req);
	*sim_running(s, req->kind) = true;
	if (s->requests <= SIM_MAX_LINES)
		s->max_tokens_sent[s->requests - 1] = req->max_tokens;
	const char *answer = line;
	if (!sim_too_long(s, req, line, sizeof line)) {
		if (!s->script)
			sim_random_answer(s, req, line, sizeof line);
		else if (s->script[s->next_line])
			answer = s->script[s->next_line++];
		else
			answer = "text done";
	}
	if (s->keep_answers && s->nanswers < SIM_MAX_LINES)
		s->answers[s->nanswers++] = strdup(answer);
	sim_play(s, req, answer);
	return 0;
}

static void model_cancel(void *ctx, enum model_kind kind)
{
	struct sim *s = ctx;

	if (*sim_running(s, kind)) {
		witness_flight_ends(s, kind);
		if (kind != MODEL_SUMMARY)
			s->w->overloads = 0;
		s->w->guess = false;
		s->w->anchor = -1; /* a watchdog may have ended an answer that was complete */
		if (kind == MODEL_MAIN) {
			s->w->status = 0;
			s->w->broke = false;
			witness_stream_ends(s->w);
		}
	}
	*sim_running(s, kind) = false;
	sim_drop_model_events(s, kind);
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
	s->checking = -1;
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
		.max_stop_blocks = 10,
		.journal = true,
		.source = "startup",
	};
}

static void plan_signal(struct sim *s, int64_t when)
{
	if (when)
		sim_at(s, when, LOOP_EV_SIGNAL)->ev.signo = 15;
}

void sim_plan_outside(struct sim *s)
{
	plan_signal(s, s->signal_at);
	plan_signal(s, s->second_signal_at);
	if (s->interrupt_at)
		sim_at(s, s->interrupt_at, LOOP_EV_INTERRUPT);
	if (s->full_until)
		sim_at(s, s->full_until, LOOP_EV_OUTPUT);
}

struct block *sim_words(const struct sim *s, const char *text)
{
	size_t n = strlen(text), more = text == s->task ? s->task_size : 0;
	char *whole = malloc(n + more + 1);

	memcpy(whole, text, n);
	memset(whole + n, 't', more);
	struct block *b = block_new_text(whole, n + more);
	free(whole);
	return b;
}

static void add_message(struct sim *s, const char *text)
{
	s->text = text;
	history_add_user_block(&s->history, sim_words(s, text));
	witness_message(s, text);
}

static bool process_ends(const struct sim *s)
{
	return s->broken || s->dead || s->out.broken || s->out.signo || s->w->signalled || s->w->ends ||
	       s->clock >= s->cfg.deadline;
}

void sim_run_messages(struct sim *s, const struct loop_deps *deps, const char *text)
{
	struct error e = ERROR_INIT;
	struct loop *l = loop_open(&s->cfg, deps, &s->history, &e);

	if (!l) {
		if (s->crash)
			sim_problem(s, "the loop does not open: %s", e.msg);
		s->out = (struct loop_outcome){ .reason = TERM_INTERNAL_ERROR, .broken = true, .error = e };
		return;
	}
	do {
		if (text)
			add_message(s, text);
		loop_message(l, &s->out);
		text = process_ends(s) ? NULL : sim_next_message(s);
		if (text)
			snprintf(s->trace + strlen(s->trace), sizeof s->trace - strlen(s->trace), " / ");
	} while (text);
	s->closing = true;
	loop_close(l);
}

bool sim_is_single(const struct sim *s)
{
	return !s->messages && !s->arrivals && !s->stays_open;
}

void sim_run(struct sim *s, const char *task)
{
	struct loop_deps deps = {
		.ctx = s,
		.model_start = model_start,
		.model_cancel = model_cancel,
		.emit = sim_emit,
		.random01 = random01,
		.now = now,
		.next_event = sim_next_event,
	};

	sim_tool_deps(&deps);
	sim_hook_deps(&deps);
	sim_user_deps(&deps);
	if (s->stand_before)
		s->stand_before(&deps);
	s->task = task;
	witness_open(s);
	if (s->seed && !s->replay)
		s->rng = s->seed * 0x9E3779B97F4A7C15ull + 1;
	if (s->any_world)
		sim_draw_world(s);
	sim_plan_outside(s);
	if (s->crashes) {
		sim_run_crashing(s, &deps);
	} else if (sim_is_single(s)) { /* its result is told even if there is no memory */
		(s->cfg.goes_on ? witness_take_up : add_message)(s, task);
		loop_run(&s->cfg, &deps, &s->history, &s->out);
	} else {
		sim_run_messages(s, &deps, task);
	}
	sim_check(s, &(struct step){ .stage = AT_END });
	if (s->cover) {
		s->cover->runs++;
		s->cover->steps += s->steps;
		s->cover->requests += (uint64_t)s->requests;
	}
}

void sim_release(struct sim *s)
{
	sim_release_queue(s);
	for (size_t i = 0; i < s->nlines; i++)
		free(s->lines[i]);
	for (size_t i = 0; i < s->nanswers; i++)
		free(s->answers[i]);
	witness_free(s);
	free(s->choices);
	s->choices = NULL;
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
