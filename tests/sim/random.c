/* A random world: models and their windows, limits, layers, signals, and the moods that answers are drawn by. */
#include "answers.h"
#include "crash.h"

#define ROW(window, max, flags)                                                                                        \
	{                                                                                                              \
		"sim", window, max, { 1000, 1250, 2000, 100, 5000 }, 0, { 0 }, flags                                   \
	}

static const struct catalog_row rows[] = {
	ROW(200000, 64000, 0),
	ROW(1000000, 128000, CAT_THINKS_BY_DEFAULT | CAT_DENSE_TOKENS | CAT_THINKING_BOUND),
	ROW(0, 0, 0),
	ROW(2000, 500, 0),
	ROW(6000, 2000, CAT_THINKING_BOUND),
	ROW(12000, 4000, 0),
	ROW(12000, 8000, CAT_DENSE_TOKENS | CAT_THINKS_BY_DEFAULT),
	ROW(40000, 64000, CAT_THINKING_BOUND | CAT_DENSE_TOKENS),
};

static const struct loop_model fallbacks[] = {
	{ "sim-b", &rows[0] },
	{ "sim-c", &rows[6] },
	{ "sim-d", &rows[4] },
};

static const struct loop_model smaller[] = {
	{ "sim-c", &rows[6] },
	{ "sim-d", &rows[4] },
	{ "sim-e", &rows[3] },
};

static int64_t one_of(struct sim *s, const int64_t *v, size_t n)
{
	return v[sim_draw(s, n)];
}

#define ONE_OF(s, ...) one_of(s, (const int64_t[]){ __VA_ARGS__ }, LENGTH(((const int64_t[]){ __VA_ARGS__ })))

/* ---- layers ---- */

static struct job_mark draw_mark(struct sim *s, int64_t percent)
{
	static const enum mark_kind kinds[] = { MARK_AUTO, MARK_AUTO, MARK_AUTO, MARK_OFF, MARK_PERCENT };
	enum mark_kind kind = kinds[sim_draw(s, LENGTH(kinds))];

	return (struct job_mark){ kind, kind == MARK_PERCENT ? percent + (int64_t)sim_draw(s, 9) : 0 };
}

static bool marks_hold(const struct context_spec *spec, const struct catalog_row *row, const struct loop_config *c)
{
	struct context_marks marks;
	struct error e = ERROR_INIT;
	int64_t cap = c->max_output_tokens ? c->max_output_tokens : catalog_default_max_output(row);

	return !context_marks(spec, row->window, cap, row->flags & CAT_DENSE_TOKENS ? 3 : 4, &marks, &e);
}

static void draw_layers(struct sim *s)
{
	struct loop_config *c = &s->cfg;
	struct context_spec spec = { .window = 0, .microcompact_keep = 5 };
	static const struct context_spec plain = { .snip = { MARK_OFF, 0 }, .microcompact_keep = 5 };

	spec.microcompact = draw_mark(s, 20);
	spec.collapse = draw_mark(s, 35);
	spec.snip = draw_mark(s, 50);
	if (spec.snip.kind == MARK_AUTO)
		spec.snip.kind = MARK_OFF;
	spec.autocompact = draw_mark(s, 65);
	spec.blocking = draw_mark(s, 85);
	spec.microcompact_keep = (size_t)ONE_OF(s, 5, 0, 1, 20);
	if (sim_one_in(s, 4))
		spec.window = ONE_OF(s, 3000, 12000, 1000, 500, 100000);
	bool fine = marks_hold(&spec, c->row, c);
	for (size_t i = 0; i < c->nfallbacks; i++)
		fine &= marks_hold(&spec, c->fallbacks[i].row, c);
	c->context = fine ? spec : plain;
}

/* In a window in which room is made before each turn a wish for more meets the breaker. */
static void draw_refills(struct sim *s)
{
	struct loop_config *c = &s->cfg;

	if (c->context.window > 0 && c->context.window <= 3000 && sim_one_in(s, 2))
		c->token_target = 20000;
}

/* ---- limits ---- */

static void draw_limits(struct sim *s)
{
	struct loop_config *c = &s->cfg;
	unsigned often = sim_one_in(s, 8) ? 2 : 8; /* all of them together now and then */

	c->max_turns = 1 + (int64_t)sim_draw(s, (uint64_t)ONE_OF(s, 12, 4, 30, 2));
	c->retry.max_retries = (int)ONE_OF(s, 0, 1, 2, 4, 10);
	c->tool_concurrency = (size_t)ONE_OF(s, 10, 1, 2, 4);
	if (sim_one_in(s, often / 2))
		c->token_budget = 100 + (int64_t)sim_draw(s, (uint64_t)ONE_OF(s, 5000, 50000, 1000000));
	if (sim_one_in(s, often))
		c->max_cost_nano_usd = 1000 + (int64_t)sim_draw(s, 200000000);
	if (sim_one_in(s, often))
		c->max_requests = 1 + (int64_t)sim_draw(s, 15);
	if (sim_one_in(s, often))
		c->max_tool_calls = 1 + (int64_t)sim_draw(s, 8);
	if (sim_one_in(s, 3))
		c->max_output_tokens = ONE_OF(s, 4000, 300, 60000);
	if (sim_one_in(s, 5))
		c->token_target = ONE_OF(s, 2000, 100, 500, 20000);
	c->denied_ends = sim_one_in(s, 10);
	if (sim_one_in(s, 10))
		c->retry.max_wait_ms = ONE_OF(s, 0, 1000, 300000);
	if (sim_one_in(s, 10) && !s->calm)
		c->watchdog = (struct watchdog_limits){ 0, ONE_OF(s, 3000, 50, 300), ONE_OF(s, 3000, 100),
			                                ONE_OF(s, 60000, 200) };
}

/* ---- what comes from outside: signals, the deadline, a reader of stdout who is slow or goes ---- */

static int64_t some_moment(struct sim *s)
{
	return 1000 + (int64_t)sim_draw(s, (uint64_t)ONE_OF(s, 100, 1000, 10000, 100000, 1000000));
}

static void draw_outside(struct sim *s)
{
	struct loop_config *c = &s->cfg;

	if (s->calm)
		return;
	if (sim_one_in(s, 6))
		s->signal_at = some_moment(s);
	if (s->signal_at && sim_one_in(s, 2))
		s->second_signal_at = s->signal_at + (int64_t)sim_draw(s, 1500);
	if (sim_one_in(s, 8)) {
		c->wall_time_ms = some_moment(s) - 999;
		c->deadline = c->started + c->wall_time_ms;
	}
	if (sim_one_in(s, 40))
		s->stdout_gone_at = some_moment(s);
	if (sim_one_in(s, 40))
		s->supervisor_lost_at = some_moment(s);
	if (sim_one_in(s, 12)) {
		s->full_from = some_moment(s);
		s->full_until = s->full_from + (int64_t)sim_draw(s, 5000);
	}
}

/* ---- models ---- */

static void draw_models(struct sim *s)
{
	struct loop_config *c = &s->cfg;

	c->row = &rows[sim_draw(s, LENGTH(rows))];
	c->system = sim_one_in(s, 2) ? "You are a simulation." : NULL;
	c->tools_json = "[{\"name\":\"SafeA\"}]";
	c->nfallbacks = (size_t)sim_draw(s, 1 + LENGTH(fallbacks));
	c->fallbacks = sim_draw(s, 2) ? smaller : fallbacks;
	if (sim_one_in(s, 4))
		c->compact_model = "claude-haiku-4-5";
	if (sim_one_in(s, 3) && !s->calm) /* whether one is still out when a round ends is the clock's */
		c->summary_model = "claude-haiku-4-5";
	static const char *const thinking[] = { NULL, "{\"type\":\"enabled\",\"budget_tokens\":1024}",
		                                "{\"type\":\"adaptive\"}" };
	c->thinking_json = thinking[sim_draw(s, LENGTH(thinking))];
	/* The window that the server has: what the catalog says, less, none. */
	int64_t told = c->row->window ? c->row->window : 8000;
	s->window = ONE_OF(s, 0, told, told, told, told, told / 2, 700);
	s->bytes_per_token = (int)ONE_OF(s, 4, 4, 3, 5, 2);
	s->fixed_tokens = sim_one_in(s, 3) ? (int64_t)sim_draw(s, 400) : 20;
}

/* A small window, nothing but summaries that keep it, and a server that takes more. */
void sim_small_window(struct sim *s, size_t row)
{
	static const struct context_spec spec = { .microcompact = { MARK_OFF, 0 },
		                                  .collapse = { MARK_OFF, 0 },
		                                  .snip = { MARK_OFF, 0 },
		                                  .microcompact_keep = 5 };
	struct loop_config *c = &s->cfg;

	c->row = &rows[4 + row];
	c->context = spec;
	c->max_output_tokens = 0;
	c->max_turns += 6;
	c->token_budget = 0;
	s->window = 10 * c->row->window;
}

void sim_smaller_fallback(struct sim *s)
{
	s->cfg.fallbacks = smaller + 1 + sim_draw(s, 2);
	s->cfg.nfallbacks = 1;
}

void sim_draw_world(struct sim *s)
{
	draw_models(s);
	draw_limits(s);
	draw_layers(s);
	draw_refills(s);
	draw_outside(s);
	sim_draw_moods(s);
	sim_draw_hooks(s);
	sim_draw_user(s);
	sim_draw_crashes(s);
	if (sim_one_in(s, 10))
		s->task_size = (size_t)ONE_OF(s, 2000, 100, 8000, 40000);
}
