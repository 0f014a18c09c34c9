/*
 * Any number of seeds: sim N [FROM [PROCESSES]]. Processes share the seeds; a seed that breaks an invariant, or the
 * process, ends the run with its number. At the end: figures, and the pairs of reasons that did not occur.
 */
#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "pairs.h"
#include "seeds.h"

#define MOST_PROCESSES 16

/* What the processes share. */
struct board {
	struct sim_cover covers[MOST_PROCESSES];
	uint64_t at[MOST_PROCESSES]; /* the seed that each is at */
	volatile bool broken;
};

/* Rare things come one by one: it goes on behind a seed that breaks, until so many have in one process. */
#define MOST_BROKEN 8

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int work(struct board *b, uint64_t from, uint64_t n, unsigned me, unsigned all)
{
	int broken = 0;

	mallopt(M_TRIM_THRESHOLD, 1 << 28); /* what one run gives back the next one takes */
	mallopt(M_MMAP_THRESHOLD, 1 << 28);
	for (uint64_t i = me; i < n && !b->broken; i += all) {
		b->at[me] = from + i;
		if (seed_holds(from + i, &b->covers[me], stdout))
			continue;
		fflush(stdout);
		b->broken = ++broken == MOST_BROKEN;
	}
	return broken > 0;
}

/* Waits for all; a process that died says where it was. */
static int gather(struct board *b, const pid_t *pids, unsigned all)
{
	int rc = 0;

	for (unsigned i = 0; i < all; i++) {
		int status = 0;
		while (waitpid(pids[i], &status, 0) < 0 && errno == EINTR)
			;
		if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
			continue;
		rc = 1;
		if (WIFEXITED(status) && WEXITSTATUS(status) == 1)
			continue;
		b->broken = true;
		printf("seed %llu: the process died (status %d)\n", (unsigned long long)b->at[i], status);
	}
	return rc;
}

static void sum_up(struct board *b, unsigned all)
{
	struct sim_cover *sum = &b->covers[0];

	for (unsigned i = 1; i < all; i++)
		pairs_add(sum, &b->covers[i]);
}

int main(int argc, char **argv)
{
	uint64_t n = argc > 1 ? strtoull(argv[1], NULL, 10) : 100000;
	uint64_t from = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
	long cores = argc > 3 ? strtol(argv[3], NULL, 10) : sysconf(_SC_NPROCESSORS_ONLN);
	unsigned all = cores < 1 ? 1 : cores > MOST_PROCESSES ? MOST_PROCESSES : (unsigned)cores;
	struct board *b = mmap(NULL, sizeof *b, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t pids[MOST_PROCESSES];
	double began = seconds();

	if (b == MAP_FAILED || n == 0) {
		fprintf(stderr, "usage: sim N [FROM [PROCESSES]]\n");
		return 2;
	}
	for (unsigned i = 0; i < all; i++) {
		pids[i] = fork();
		if (pids[i] == 0)
			_exit(work(b, from, n, i, all));
		if (pids[i] < 0) {
			fprintf(stderr, "sim: fork: %s\n", strerror(errno));
			return 2;
		}
	}
	int rc = gather(b, pids, all);
	sum_up(b, all);
	double took = seconds() - began;
	printf("%llu runs, %llu steps, %llu requests in %.1f s (%.0f seeds a second, %u processes)\n",
	       (unsigned long long)b->covers[0].runs, (unsigned long long)b->covers[0].steps,
	       (unsigned long long)b->covers[0].requests, took, (double)n / took, all);
	size_t missing = pairs_tell(&b->covers[0], stdout);
	return rc || (n >= PAIRS_NEED && missing) ? 1 : 0;
}
