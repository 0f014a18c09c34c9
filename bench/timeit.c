/*
 * usage: timeit N COMMAND [ARGUMENT]...
 *
 * Runs the command N times with stdin and stdout on /dev/null, from posix_spawn to wait4, and prints
 * "MIN MEDIAN RSS": microseconds, microseconds, and the largest resident set in KiB; then, a line each, when the runs
 * began, in microseconds of the monotonic clock. Exits 1 if a run failed.
 */
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

#define RUNS_MAX 10000

extern char **environ;

static long now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000L + t.tv_nsec / 1000;
}

static int ascending(const void *a, const void *b)
{
	long x = *(const long *)a, y = *(const long *)b;

	return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
	static long took[RUNS_MAX], began[RUNS_MAX];
	long runs = argc > 2 ? strtol(argv[1], NULL, 10) : 0, rss = 0;

	if (runs < 1 || runs > RUNS_MAX) {
		fprintf(stderr, "usage: timeit N COMMAND [ARGUMENT]...\n");
		return 2;
	}
	posix_spawn_file_actions_t fa;
	posix_spawn_file_actions_init(&fa);
	posix_spawn_file_actions_addopen(&fa, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_addopen(&fa, 1, "/dev/null", O_WRONLY, 0);
	for (long i = 0; i < runs; i++) {
		struct rusage usage;
		pid_t pid;
		int status;
		began[i] = now_us();
		if (posix_spawnp(&pid, argv[2], &fa, NULL, argv + 2, environ)) {
			perror(argv[2]);
			return 1;
		}
		if (wait4(pid, &status, 0, &usage) != pid || !WIFEXITED(status) || WEXITSTATUS(status)) {
			fprintf(stderr, "timeit: %s ended with status %d\n", argv[2], status);
			return 1;
		}
		took[i] = now_us() - began[i];
		if (usage.ru_maxrss > rss)
			rss = usage.ru_maxrss;
	}
	qsort(took, (size_t)runs, sizeof *took, ascending);
	printf("%ld %ld %ld\n", took[0], took[runs / 2], rss);
	for (long i = 0; i < runs; i++)
		printf("%ld\n", began[i]);
	return 0;
}
