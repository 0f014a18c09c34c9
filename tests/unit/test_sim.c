/* The loop against random worlds: the invariants hold after every step, every run ends, and when calls start changes
 * nothing that is shown. */

#include "test.h"

#include <stdlib.h>
#include <string.h>

#include "sim.h"

#define WORLDS 5000

static void prepare(struct sim *s, uint64_t seed)
{
	sim_init(s, NULL);
	s->seed = seed;
	s->cfg.max_turns = 1 + (int64_t)(seed % 12);
	s->cfg.retry.max_retries = (int)(seed % 5);
	s->cfg.token_budget = seed % 3 == 0 ? (int64_t)(500 + seed % 5000) : 0;
	s->cfg.max_requests = seed % 7 == 0 ? (int64_t)(1 + seed % 9) : 0;
	s->cfg.max_tool_calls = seed % 11 == 0 ? (int64_t)(1 + seed % 5) : 0;
	s->cfg.max_output_tokens = seed % 2 ? 0 : 4000;
	s->cfg.tool_concurrency = 1 + seed % 4;
	if (seed % 13 == 0) {
		s->full_from = 1000 + (int64_t)(seed * 31 % 4000);
		s->full_until = s->full_from + (int64_t)(seed * 17 % 5000);
	}
}

static void run(struct sim *s)
{
	sim_run(s, "do it");
	if (*s->problem)
		fail_msg("SIM_SEED=%llu: %s (trace: %s)", (unsigned long long)s->seed, s->problem, s->trace);
	/* a bound that follows from the limits: each turn at most 1 + escalation + pauses, each request at most 11
	 * attempts */
	assert_true(s->requests <= (s->cfg.max_turns + 2) * 8 * 11);
}

/* Streams break, answers are declined, signals and deadlines come at any time. */
static void one_world(uint64_t seed, bool batch)
{
	static struct sim s;

	prepare(&s, seed);
	s.cfg.calls_wait = batch;
	s.signal_at = seed % 4 == 0 ? (int64_t)(1000 + seed * 37 % 20000) : 0;
	s.second_signal_at = seed % 8 == 0 ? s.signal_at + (int64_t)(seed * 41 % 1500) : 0;
	if (seed % 5 == 0) {
		s.cfg.wall_time_ms = (int64_t)(seed * 53 % 30000) + 1;
		s.cfg.deadline = s.cfg.started + s.cfg.wall_time_ms;
	}
	run(&s);
	sim_release(&s);
}

/* Nothing breaks, so that both executors see the same answers. Returns how many calls started while one streamed. */
static size_t both_ways(uint64_t seed)
{
	static struct sim s, batch;
	size_t early = 0;

	prepare(&s, seed);
	prepare(&batch, seed);
	s.calm = batch.calm = true;
	batch.cfg.calls_wait = true;
	run(&s);
	run(&batch);
	if (strcmp(s.trace, batch.trace) != 0 || s.nlines != batch.nlines)
		fail_msg("SIM_SEED=%llu: %s, in batches %s", (unsigned long long)seed, s.trace, batch.trace);
	for (size_t i = 0; i < s.nlines; i++)
		if (strcmp(s.lines[i], batch.lines[i]) != 0)
			fail_msg("SIM_SEED=%llu: '%s', in batches '%s'", (unsigned long long)seed, s.lines[i],
			         batch.lines[i]);
	assert_null(strchr(batch.starts, '*'));
	for (const char *p = s.starts; (p = strchr(p, '*')); p++)
		early++;
	sim_release(&s);
	sim_release(&batch);
	return early;
}

static void each_world(void (*one)(uint64_t seed))
{
	const char *only = getenv("SIM_SEED");

	if (only) {
		one(strtoull(only, NULL, 10));
		return;
	}
	for (uint64_t seed = 1; seed <= WORLDS; seed++)
		one(seed);
}

static void stream_world(uint64_t seed)
{
	one_world(seed, false);
}

static void batch_world(uint64_t seed)
{
	one_world(seed, true);
}

static void random_worlds(void **state)
{
	(void)state;
	each_world(stream_world);
}

static void random_worlds_in_batches(void **state)
{
	(void)state;
	each_world(batch_world);
}

static size_t early_calls;

static void calm_world(uint64_t seed)
{
	early_calls += both_ways(seed);
}

static void both_executors_show_the_same(void **state)
{
	(void)state;
	each_world(calm_world);
	if (!getenv("SIM_SEED"))
		assert_true(early_calls > WORLDS); /* else nothing was compared */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_worlds),
		cmocka_unit_test(random_worlds_in_batches),
		cmocka_unit_test(both_executors_show_the_same),
	};

	return cmocka_run_group_tests_name("sim", tests, NULL, NULL);
}
