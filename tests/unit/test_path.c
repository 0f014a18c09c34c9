/* Paths beneath the roots: links in every shape, both resolvers, and a directory swapped while it is used. */

#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guard/path.h"

static char base[256];

static void sh(const char *script)
{
	char cmd[4096];

	snprintf(cmd, sizeof cmd, "cd '%s' && { %s; }", base, script);
	assert_int_equal(system(cmd), 0);
}

static int setup(void **state)
{
	(void)state;
	const char *tmp = getenv("TMPDIR");
	snprintf(base, sizeof base, "%s/quern-path-XXXXXX", tmp ? tmp : "/tmp");
	assert_non_null(mkdtemp(base));
	sh("mkdir -p work/sub work/.git outside work-evil added; echo original >outside/victim.txt;"
	   "echo secret >outside/secret.txt; echo inner >work/sub/inner.txt; echo a >added/a.txt; ln -s work work-link;"
	   "cd work; ln -s ../outside dir-out; ln -s ../outside/victim.txt file-out; ln -s ../outside/not-yet.txt "
	   "dangling-out;"
	   "ln -s sub dir-in; ln -s sub/inner.txt file-in; ln -s \"$PWD/sub/inner.txt\" abs-in; ln -s sub/later.txt "
	   "dangling-in;"
	   "ln -s chain2 chain1; ln -s chain3 chain2; ln -s ../outside/victim.txt chain3; ln -s loop-b loop-a; ln -s "
	   "loop-a loop-b;"
	   "ln -s /proc/self/root/etc root-out; ln -s /dev/fd/0 stdin-link; ln -s ../added/a.txt other-root; mkfifo "
	   "fifo;"
	   "ln -s ../outside/../work/sub/inner.txt out-and-in");
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	char cmd[300];
	snprintf(cmd, sizeof cmd, "rm -rf '%s'", base);
	return system(cmd);
}

static struct roots *open_roots(const char *name, bool walk_only)
{
	char work[300], added[300];
	struct error e = ERROR_INIT;

	snprintf(work, sizeof work, "%s/%s", base, name);
	snprintf(added, sizeof added, "%s/added", base);
	const char *dirs[] = { work, added, NULL };
	struct roots *r = roots_open(dirs, &e);
	assert_non_null(r);
	if (walk_only)
		roots_force_walk(r);
	return r;
}

/* Reads through path_open; returns the verdict and checks the first word if it worked. */
static enum path_verdict read_it(struct roots *r, const char *path, const char *want)
{
	enum path_verdict why;
	struct error e = ERROR_INIT;
	char full[600], text[32] = "";

	snprintf(full, sizeof full, path[0] == '@' ? "%s%s" : "%.0s%s", base, path + (path[0] == '@'));
	int fd = path_open(r, full, O_RDONLY, 0, &why, &e);
	if (fd < 0) {
		assert_true(e.msg[0] != '\0');
		assert_int_not_equal(why, PATH_OK);
		return why;
	}
	assert_int_equal(why, PATH_OK);
	if (want) {
		assert_true(read(fd, text, sizeof text - 1) > 0);
		assert_int_equal(strncmp(text, want, strlen(want)), 0);
	}
	close(fd);
	return PATH_OK;
}

static const struct {
	const char *path, *want;
	enum path_verdict verdict;
} reads[] = {
	{ "sub/inner.txt", "inner", PATH_OK },
	{ "./sub/../sub//inner.txt", "inner", PATH_OK },
	{ "file-in", "inner", PATH_OK },
	{ "dir-in/inner.txt", "inner", PATH_OK },
	{ "abs-in", "inner", PATH_OK },
	{ "out-and-in", NULL, PATH_OUTSIDE },
	{ "other-root", "a", PATH_OK },
	{ "@/work/sub/inner.txt", "inner", PATH_OK },
	{ "@/work/../work/sub/inner.txt", "inner", PATH_OK },
	{ "@/added/a.txt", "a", PATH_OK },
	{ "../added/a.txt", "a", PATH_OK },
	{ ".", NULL, PATH_OK },
	{ "sub", NULL, PATH_OK },
	{ "file-out", NULL, PATH_OUTSIDE },
	{ "dir-out/secret.txt", NULL, PATH_OUTSIDE },
	{ "dir-out/../work/sub/inner.txt", NULL, PATH_OUTSIDE },
	{ "chain1", NULL, PATH_OUTSIDE },
	{ "root-out/hostname", NULL, PATH_OUTSIDE },
	{ "stdin-link", NULL, PATH_OUTSIDE },
	{ "loop-a", NULL, PATH_LOOP },
	{ "../outside/secret.txt", NULL, PATH_OUTSIDE },
	{ "../work-evil/x", NULL, PATH_OUTSIDE },
	{ "sub/../../outside/secret.txt", NULL, PATH_OUTSIDE },
	{ "@/work-evil/x", NULL, PATH_OUTSIDE },
	{ "@/outside/secret.txt", NULL, PATH_OUTSIDE },
	{ "/etc/passwd", NULL, PATH_OUTSIDE },
	{ "/", NULL, PATH_OUTSIDE },
	{ "@//./work//sub/./inner.txt", "inner", PATH_OK },
	{ "@/outside/../work/sub/inner.txt", NULL, PATH_OUTSIDE },
	{ "nothing", NULL, PATH_MISSING },
	{ "sub/no/thing", NULL, PATH_MISSING },
	{ "sub/inner.txt/x", NULL, PATH_ERROR },
	{ "fifo", NULL, PATH_BAD },
	{ "", NULL, PATH_BAD },
};

static void reads_like_the_table(void **state)
{
	(void)state;
	for (int mode = 0; mode < 4; mode++) {
		struct roots *r = open_roots(mode & 1 ? "work-link" : "work", mode & 2);
		for (size_t i = 0; i < sizeof reads / sizeof reads[0]; i++) {
			enum path_verdict got = read_it(r, reads[i].path, reads[i].want);
			if (got != reads[i].verdict)
				fail_msg("mode %d '%s': verdict %d, want %d", mode, reads[i].path, (int)got,
				         (int)reads[i].verdict);
		}
		roots_free(r);
	}
}

static void long_paths_are_refused(void **state)
{
	(void)state;
	char path[5000], name[400];
	struct roots *r = open_roots("work", false);

	memset(path, 'a', sizeof path - 1);
	path[sizeof path - 1] = '\0';
	assert_int_equal(read_it(r, path + 1, NULL), PATH_BAD);
	memset(name, 'a', 300);
	name[300] = '\0';
	assert_int_equal(read_it(r, name, NULL), PATH_BAD);
	roots_free(r);
}

static enum path_verdict parent(struct roots *r, const char *path, bool make_dirs, char name[256])
{
	enum path_verdict why;
	struct error e = ERROR_INIT;
	char full[600];

	snprintf(full, sizeof full, path[0] == '@' ? "%s%s" : "%.0s%s", base, path + (path[0] == '@'));
	int fd = path_open_parent(r, full, make_dirs, name, &why, &e);
	if (fd >= 0)
		close(fd);
	return why;
}

static void parents_for_writing(void **state)
{
	(void)state;
	static const struct {
		const char *path, *name;
		enum path_verdict verdict;
	} rows[] = {
		{ "new.txt", "new.txt", PATH_OK },
		{ "sub/new.txt", "new.txt", PATH_OK },
		{ "dir-in/new.txt", "new.txt", PATH_OK },
		{ "file-in", "inner.txt", PATH_OK },
		{ "dangling-in", "later.txt", PATH_OK },
		{ "abs-in", "inner.txt", PATH_OK },
		{ "file-out", NULL, PATH_OUTSIDE },
		{ "dangling-out", NULL, PATH_OUTSIDE },
		{ "chain1", NULL, PATH_OUTSIDE },
		{ "dir-out/new.txt", NULL, PATH_OUTSIDE },
		{ "dir-out/../x.txt", NULL, PATH_OUTSIDE },
		{ "../outside/x", NULL, PATH_OUTSIDE },
		{ "@/work-evil/x", NULL, PATH_OUTSIDE },
		{ "no/such/dir/x", NULL, PATH_MISSING },
		{ "sub/..", NULL, PATH_BAD },
		{ "loop-a", NULL, PATH_LOOP },
	};
	struct roots *r = open_roots("work", false);
	char name[256];

	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		enum path_verdict got = parent(r, rows[i].path, false, name);
		if (got != rows[i].verdict)
			fail_msg("'%s': verdict %d, want %d", rows[i].path, (int)got, (int)rows[i].verdict);
		if (rows[i].name)
			assert_string_equal(name, rows[i].name);
	}
	assert_int_equal(parent(r, "sub/a/b/c/new.txt", true, name), PATH_OK);
	sh("test -d work/sub/a/b/c");
	assert_int_equal(parent(r, "dir-out/made/new.txt", true, name), PATH_OUTSIDE);
	sh("test ! -e outside/made");
	roots_free(r);
}

static void protected_places_and_read_only_roots(void **state)
{
	(void)state;
	struct roots *r = open_roots("work", false);
	struct error e = ERROR_INIT;
	char name[256], outside[300];
	enum path_verdict why;

	assert_int_equal(parent(r, ".git/hooks/x", true, name), PATH_OK);
	roots_protect(r);
	assert_int_equal(parent(r, ".git/config", false, name), PATH_DENIED);
	assert_int_equal(parent(r, "sub/.git/x/y", true, name), PATH_DENIED);
	assert_int_equal(parent(r, ".envrc", false, name), PATH_DENIED);
	assert_int_equal(parent(r, "sub/../.git/hooks/x", false, name), PATH_DENIED);
	assert_int_equal(parent(r, ".github/x", true, name), PATH_OK);
	assert_int_equal(path_open(r, ".git/new", O_WRONLY | O_CREAT, 0600, &why, &e), -1);
	assert_int_equal(why, PATH_DENIED);
	sh("ln -s .git/hooks work/innocent; test ! -e work/sub/.git");
	assert_int_equal(parent(r, "innocent/pre-commit", false, name), PATH_DENIED);

	snprintf(outside, sizeof outside, "%s/outside", base);
	assert_int_equal(roots_add(r, outside, false, &e), 0);
	assert_int_equal(read_it(r, "file-out", "original"), PATH_OK);
	assert_int_equal(parent(r, "file-out", false, name), PATH_DENIED);
	assert_int_equal(parent(r, "@/outside/x", false, name), PATH_DENIED);
	roots_free(r);
}

static void a_spelled_name_is_text_and_no_link(void **state)
{
	(void)state;
	struct roots *r = open_roots("work", false);
	struct error e = ERROR_INIT;
	char name[4096];

	sh("ln -s work alias");
	snprintf(name, sizeof name, "%s/alias", base);
	assert_int_equal(read_it(r, "@/alias/sub/inner.txt", "inner"), PATH_OUTSIDE);
	assert_int_equal(roots_spell(r, 0, name, &e), 0);
	assert_int_equal(read_it(r, "@/alias/sub/inner.txt", "inner"), PATH_OK);
	sh("ln -sfn outside alias");
	assert_int_equal(read_it(r, "@/alias/sub/inner.txt", "inner"), PATH_OK);
	assert_int_equal(read_it(r, "@/alias/victim.txt", "original"), PATH_MISSING);
	assert_int_equal(read_it(r, "@/alias/../outside/victim.txt", "original"), PATH_OUTSIDE);
	assert_int_equal(roots_spell(r, 0, "relative", &e), -1);
	roots_free(r);
}

static void a_missing_root_is_an_error(void **state)
{
	(void)state;
	const char *dirs[] = { "/no/such/dir", NULL };
	struct error e = ERROR_INIT;

	assert_null(roots_open(dirs, &e));
	assert_non_null(strstr(e.msg, "/no/such/dir"));
}

/* A process swaps `sub` with a link to the outside in a loop while files are made in it. */
static void swapping_never_leads_out(void **state)
{
	(void)state;
	struct roots *r = open_roots("work", false);
	char a[300], b[300], name[256];
	enum path_verdict why;
	struct error e = ERROR_INIT;
	int made = 0;

	sh("mkdir work/swap; ln -s ../outside work/swap-link");
	snprintf(a, sizeof a, "%s/work/swap", base);
	snprintf(b, sizeof b, "%s/work/swap-link", base);
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		for (;;)
			syscall(SYS_renameat2, AT_FDCWD, a, AT_FDCWD, b, 2 /* RENAME_EXCHANGE */);
	for (int i = 0; i < 10000; i++) {
		int dir = path_open_parent(r, "swap/r.txt", false, name, &why, &e);
		if (dir >= 0) {
			int fd = openat(dir, name, O_WRONLY | O_CREAT | O_NOFOLLOW, 0600);
			made += fd >= 0;
			close(fd);
			close(dir);
		}
		int fd = path_open(r, "swap/secret.txt", O_RDONLY, 0, &why, &e);
		if (fd >= 0)
			kill(pid, SIGKILL);
		assert_true(fd < 0);
	}
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	assert_true(made > 0);
	sh("test ! -e outside/r.txt");
	roots_free(r);
}

static void descriptors_do_not_leak(void **state)
{
	(void)state;
	char name[256];
	struct roots *r = open_roots("work", true);
	int before = dup(0);

	close(before);
	for (size_t i = 0; i < sizeof reads / sizeof reads[0]; i++) {
		read_it(r, reads[i].path, NULL);
		parent(r, reads[i].path, false, name);
	}
	int after = dup(0);
	close(after);
	assert_int_equal(before, after);
	roots_free(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(reads_like_the_table, setup, teardown),
		cmocka_unit_test_setup_teardown(long_paths_are_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(parents_for_writing, setup, teardown),
		cmocka_unit_test_setup_teardown(protected_places_and_read_only_roots, setup, teardown),
		cmocka_unit_test_setup_teardown(a_spelled_name_is_text_and_no_link, setup, teardown),
		cmocka_unit_test(a_missing_root_is_an_error),
		cmocka_unit_test_setup_teardown(swapping_never_leads_out, setup, teardown),
		cmocka_unit_test_setup_teardown(descriptors_do_not_leak, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
