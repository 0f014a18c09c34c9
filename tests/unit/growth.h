/* How the cost of work grows with its size, in CPU time of this process: what else the machine does is not counted. */
#ifndef QUERN_TESTS_UNIT_GROWTH_H
#define QUERN_TESTS_UNIT_GROWTH_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

static int64_t growth_cpu_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static int64_t growth_cost(void (*work)(void *ctx, size_t n), void *ctx, size_t n)
{
	int64_t start = growth_cpu_us();

	work(ctx, n);
	return growth_cpu_us() - start;
}

/* Does eight times as much cost about eight times as much, and not sixty-four times? One fair comparison of five is
 * enough, since work that grows with the square never gives one. */
static bool growth_is_linear(void (*work)(void *ctx, size_t n), void *ctx, size_t n)
{
	for (int i = 0; i < 5; i++) {
		int64_t small = growth_cost(work, ctx, n);
		if (growth_cost(work, ctx, 8 * n) < 30 * small)
			return true;
	}
	return false;
}

#endif
