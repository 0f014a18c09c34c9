/*
 * usage: children N
 *
 * Runs "bash -c 'echo hi'" N times as a child of the supervisor, N times as one in a sandbox and N times by
 * posix_spawn, in turns, each from the request until its output and its end are known. Prints "MIN MEDIAN" of each in
 * this order, in microseconds. The sandbox is that of a run in the current directory.
 */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "guard/sandbox.h"
#include "supervisor/supervisor.h"

#define RUNS_MAX   10000
#define KEEP_BYTES 65536

extern char **environ;

static const char *const command[] = { "bash", "-c", "echo hi", NULL };

static int ascending(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

static void on_done(void *ctx, int id, struct child_result *res)
{
	int *rc = ctx;

	(void)id;
	*rc = res->exited && res->status == 0 && res->out.total == 3 ? 0 : -1;
}

static int by_supervisor(struct supervisor *s, struct reactor *r, enum confinement confine)
{
	struct spawn spec = { .argv = command,
		              .envp = (const char *const *)environ,
		              .cwd_fd = -1,
		              .keep_head = KEEP_BYTES,
		              .timeout_ms = 60000,
		              .confine = confine };
	int rc = 1;

	if (supervisor_spawn(s, &spec, on_done, &rc, NULL) < 0)
		return -1;
	while (rc > 0)
		if (reactor_wait(r, CLOCK_NEVER, NULL) < 0)
			return -1;
	return rc;
}

static int by_spawn(void)
{
	posix_spawn_file_actions_t fa;
	char out[KEEP_BYTES];
	ssize_t n, total = 0;
	int p[2], status;
	pid_t pid;

	if (pipe2(p, O_CLOEXEC))
		return -1;
	posix_spawn_file_actions_init(&fa);
	posix_spawn_file_actions_adddup2(&fa, p[1], 1);
	if (posix_spawnp(&pid, command[0], &fa, NULL, (char *const *)(uintptr_t)command, environ))
		return -1;
	posix_spawn_file_actions_destroy(&fa);
	close(p[1]);
	while ((n = read(p[0], out, sizeof out)) > 0)
		total += n;
	close(p[0]);
	return waitpid(pid, &status, 0) == pid && status == 0 && total == 3 ? 0 : -1;
}

static struct sandbox *open_sandbox(struct error *e)
{
	static char cwd[4096];
	static const char *roots[] = { cwd, NULL };
	const struct sandbox_config cfg = { .roots = roots, .home = getenv("HOME") };

	return getcwd(cwd, sizeof cwd) ? sandbox_open(&cfg, e) : NULL;
}

enum way { PLAIN, CONFINED, SPAWNED, WAYS };

static int run_once(enum way way, struct supervisor *s, struct reactor *r)
{
	return way == SPAWNED ? by_spawn() : by_supervisor(s, r, way == PLAIN ? CONFINE_NONE : CONFINE_TOOL);
}

int main(int argc, char **argv)
{
	static int64_t took[WAYS][RUNS_MAX];
	size_t n = argc == 2 ? strtoul(argv[1], NULL, 10) : 0;
	struct error e = ERROR_INIT;
	struct reactor *r = reactor_open(&e);
	struct supervisor_config cfg = { .sandbox = open_sandbox(&e) };
	struct supervisor *s = r && cfg.sandbox ? supervisor_start(&cfg, r, &e) : NULL;

	if (n < 1 || n > RUNS_MAX || !s) {
		fprintf(stderr, "usage: children N\n%s\n", e.msg);
		return 2;
	}
	for (size_t i = 0; i < n; i++) {
		for (int way = 0; way < WAYS; way++) {
			int64_t began = clock_mono_us();
			if (run_once((enum way)way, s, r)) {
				fprintf(stderr, "children: a child failed\n");
				return 1;
			}
			took[way][i] = clock_mono_us() - began;
		}
	}
	supervisor_stop(s, 0);
	reactor_free(r);
	sandbox_free(cfg.sandbox);
	for (int way = 0; way < WAYS; way++) {
		qsort(took[way], n, sizeof took[way][0], ascending);
		printf("%s%lld %lld", way ? " " : "", (long long)took[way][0], (long long)took[way][n / 2]);
	}
	putchar('\n');
	return 0;
}
