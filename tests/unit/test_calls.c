/* The keeper's calls can do what they are for, and nothing else: what each of them does is replaced by attempts. */
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/io.h"
#include "guard/sandbox.h"
#include "workspace/calls.h"
#include "workspace/private.h"
#include "workspace_world.h"

static bool in_call; /* or the test's own work */

/* ---- what is tried in a call, told on fd 1: a letter for what could be done ---- */

static bool opens(const char *path, int flags)
{
	int fd = open(path, flags | O_CLOEXEC, 0600);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static int try_all(void)
{
	char did[16], *p = did;
	int fd;

	*p++ = opens("/etc/passwd", O_RDONLY) ? 'P' : '.'; /* read anything */
	*p++ = opens("../in/file", O_RDONLY) ? 'r' : '.';  /* read here */
	*p++ = opens("../in/new", O_WRONLY | O_CREAT) ? 'w' : '.';
	*p++ = unlink("../in/gone") == 0 ? 'd' : '.';
	*p++ = opens("../to/new", O_WRONLY | O_CREAT) ? 't' : '.';
	*p++ = opens("../elsewhere/file", O_WRONLY) ? 'E' : '.';
	*p++ = opens("../elsewhere/new", O_WRONLY | O_CREAT) ? 'N' : '.';
	*p++ = unlink("../elsewhere/file") == 0 ? 'U' : '.';
	*p++ = opens("../out/other", O_RDWR) ? 'O' : '.'; /* write into what lies beside an output */
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	*p++ = fd >= 0 ? 'S' : '.';
	*p++ = '\n';
	return io_write_all(1, did, (size_t)(p - did));
}

int __wrap_workspace_scan(int dir, const struct scan *known, const char *const *skip, struct scan *out,
                          struct error *e);
int __wrap_workspace_list(int dir, const char *const *skip, struct scan *out, struct error *e);
int __wrap_workspace_copy(int from, int to, struct error *e);
int __wrap_workspace_commit(int original, int copy, const struct scan *before, const struct scan *after,
                            struct error *e);
int __wrap_workspace_save(int dir, const struct scan *before, const struct scan *after, int out, struct error *e);
int __wrap_workspace_patch(int was, int dir, const struct scan *before, const struct scan *after, int out,
                           size_t *left_out, struct error *e);
int __wrap_workspace_restore(int dir, int in, struct error *e);
int __wrap_workspace_unpack(int fd, int dir, const struct unpack_limits *limits, struct error *e);
void __wrap_sweep_do(struct sweep *s, int original, const char *const *skip, struct buf *told);
int __wrap_tree_remove(const char *path);
int __real_tree_remove(const char *path);
int __wrap_tree_empty(int dir);

int __wrap_workspace_scan(int dir, const struct scan *known, const char *const *skip, struct scan *out, struct error *e)
{
	(void)dir, (void)known, (void)skip, (void)e;
	*out = (struct scan)SCAN_INIT;
	return try_all();
}

int __wrap_workspace_list(int dir, const char *const *skip, struct scan *out, struct error *e)
{
	return __wrap_workspace_scan(dir, NULL, skip, out, e);
}

int __wrap_workspace_copy(int from, int to, struct error *e)
{
	(void)from, (void)to, (void)e;
	return try_all();
}

int __wrap_workspace_commit(int original, int copy, const struct scan *before, const struct scan *after,
                            struct error *e)
{
	(void)original, (void)copy, (void)before, (void)after, (void)e;
	return try_all();
}

int __wrap_workspace_save(int dir, const struct scan *before, const struct scan *after, int out, struct error *e)
{
	(void)dir, (void)before, (void)after, (void)e;
	return io_write_all(out, "saved", 5) ? -1 : try_all();
}

int __wrap_workspace_patch(int was, int dir, const struct scan *before, const struct scan *after, int out,
                           size_t *left_out, struct error *e)
{
	(void)was, (void)left_out;
	return __wrap_workspace_save(dir, before, after, out, e);
}

int __wrap_workspace_restore(int dir, int in, struct error *e)
{
	char c;

	(void)dir, (void)e;
	return read(in, &c, 1) == 1 ? try_all() : -1; /* it was opened before */
}

int __wrap_workspace_unpack(int fd, int dir, const struct unpack_limits *limits, struct error *e)
{
	(void)limits;
	return __wrap_workspace_restore(dir, fd, e);
}

int __wrap_tree_remove(const char *path)
{
	return in_call ? try_all() : __real_tree_remove(path);
}

void __wrap_sweep_do(struct sweep *s, int original, const char *const *skip, struct buf *told)
{
	(void)s, (void)original, (void)skip, (void)told;
	(void)!try_all();
}

int __wrap_tree_empty(int dir)
{
	(void)dir;
	return try_all();
}

/* ---- calls ---- */

typedef int (*call_fn)(const char *in, size_t in_len, int result_fd);

static void make_places(void)
{
	assert_int_equal(sh("rm -rf in to elsewhere out"), 0);
	put("in/file", "1");
	put("in/gone", "1");
	put("to/file", "1");
	put("elsewhere/file", "1");
	put("out/other", "1");
	put("out/archive", "old");
}

static size_t add(char *in, size_t at, const char *s)
{
	size_t n = strlen(s) + 1;

	memcpy(in + at, s, n);
	return at + n;
}

/* Makes the call in `in`; what it could do. */
static const char *makes(struct place *p, call_fn fn, const char *in, size_t n, char did[64])
{
	int out[2], status;

	assert_int_equal(pipe(out), 0);
	pid_t pid = fork();
	if (pid == 0) {
		dup2(out[1], 1);
		in_call = true;
		_exit(chdir("in") ? 2 : fn(in, n, 2));
	}
	close(out[1]);
	ssize_t got = read(out[0], did, 63);
	did[got > 0 ? got : 0] = '\0';
	did[strcspn(did, "\n")] = '\0';
	close(out[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	(void)p;
	return did;
}

#define SUMS "#quern-sums 1 1 0\n"

static void calls_can(struct place *p, call_fn fn, const char *can, const char *first, ...)
{
	char in[4000], did[64], path[200];
	size_t n = 0;
	va_list ap;

	make_places();
	va_start(ap, first);
	for (const char *s = first; s; s = va_arg(ap, const char *)) {
		bool ours = *s == '@'; /* beneath the place */
		snprintf(path, sizeof path, "%s/%s", p->top, s + ours);
		n = add(in, n, ours ? path : s);
	}
	va_end(ap);
	assert_string_equal(makes(p, fn, in, n, did), can);
	if (sandbox_can_confine_self())
		assert_true(holds("elsewhere/file", "1"));
}

static void each_has_its_own(void **state)
{
	struct place *p = *state;

	if (!sandbox_can_confine_self())
		skip();
	/*                           PrwdtENUOS */
	calls_can(p, call_scan, ".r........", "sums", "", "", NULL);
	calls_can(p, call_scan, ".r........", "list", "@out/archive", "", NULL);
	calls_can(p, call_save, ".r........", "@out/archive", SUMS, SUMS, NULL);
	assert_true(holds("out/archive", "saved"));
	calls_can(p, call_patch, ".r........", "@to", "@out/archive", SUMS, SUMS, NULL);
	assert_true(holds("out/archive", "saved"));
	calls_can(p, call_copy, ".r..t.....", "@to", NULL);
	calls_can(p, call_commit, ".r..t.....", "@to", SUMS, SUMS, NULL);
	calls_can(p, call_restore, ".rwd......", "@elsewhere/file", NULL);
	calls_can(p, call_remove, "....t.....", "@to", NULL);
	calls_can(p, call_remove, ".rwd......", NULL);
	calls_can(p, call_sweep, ".rwd......", "/in", "", "@", ".in.quern-", NULL);
}

static void unpacking_too(void **state)
{
	struct place *p = *state;
	struct unpack_call head = { { 1, 1, 1 } };
	char in[400], did[64];

	if (!sandbox_can_confine_self())
		skip();
	make_places();
	memcpy(in, &head, sizeof head);
	snprintf(in + sizeof head, sizeof in - sizeof head, "%s/elsewhere/file", p->top);
	assert_string_equal(makes(p, call_unpack, in, sizeof head + strlen(in + sizeof head), did), ".rwd......");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(each_has_its_own, place_setup, place_teardown),
		cmocka_unit_test_setup_teardown(unpacking_too, place_setup, place_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
