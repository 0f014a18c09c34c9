/* The loop against random worlds: the invariants hold after every step, every run ends, the same seed is the same run,
 * and when calls start changes nothing that is shown. */

#include "test.h"

#include <stdlib.h>
#include <string.h>

#include "seeds.h"

#define WORLDS 20000

static struct sim_cover cover;

static void random_worlds(void **state)
{
	const char *only = getenv("SIM_SEED");
	uint64_t first = only ? strtoull(only, NULL, 10) : 1, last = only ? first : WORLDS;

	(void)state;
	for (uint64_t seed = first; seed <= last; seed++)
		if (!seed_holds(seed, &cover, stdout))
			fail_msg("SIM_SEED=%llu", (unsigned long long)seed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_worlds),
	};

	return cmocka_run_group_tests_name("sim", tests, NULL, NULL);
}
