/* The loop against random worlds: the invariants hold after every step, and every run ends. */

#include "test.h"

#include <stdlib.h>

#include "sim.h"

#define WORLDS 5000

static void one_world(uint64_t seed)
{
	static struct sim s;

	sim_init(&s, NULL);
	s.seed = seed;
	s.cfg.max_turns = 1 + (int64_t)(seed % 12);
	s.cfg.retry.max_retries = (int)(seed % 5);
	s.cfg.token_budget = seed % 3 == 0 ? (int64_t)(500 + seed % 5000) : 0;
	s.cfg.max_requests = seed % 7 == 0 ? (int64_t)(1 + seed % 9) : 0;
	s.cfg.max_tool_calls = seed % 11 == 0 ? (int64_t)(1 + seed % 5) : 0;
	s.cfg.max_output_tokens = seed % 2 ? 0 : 4000;
	s.cfg.tool_concurrency = 1 + seed % 4;
	s.signal_at = seed % 4 == 0 ? (int64_t)(1000 + seed * 37 % 20000) : 0;
	if (seed % 5 == 0) {
		s.cfg.wall_time_ms = (int64_t)(seed * 53 % 30000) + 1;
		s.cfg.deadline = s.cfg.started + s.cfg.wall_time_ms;
	}
	sim_run(&s, "do it");
	if (*s.problem)
		fail_msg("seed %llu: %s (trace: %s)", (unsigned long long)seed, s.problem, s.trace);
	/* a bound that follows from the limits: each turn at most 1 + escalation + pauses, each request at most 11
	 * attempts */
	assert_true(s.requests <= (s.cfg.max_turns + 2) * 8 * 11);
	sim_release(&s);
}

static void random_worlds(void **state)
{
	const char *only = getenv("SIM_SEED");

	(void)state;
	if (only) {
		one_world(strtoull(only, NULL, 10));
		return;
	}
	for (uint64_t seed = 1; seed <= WORLDS; seed++)
		one_world(seed);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(random_worlds) };

	return cmocka_run_group_tests_name("sim", tests, NULL, NULL);
}
