/* What is left of a copy that is taken away by somebody who is killed, at each place: the next one takes it. */
#include "test.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "workspace/private.h"
#include "workspace_world.h"

#define NAME ".work.quern-aaaaaa"

static int left = -1; /* so many names are removed, then we are killed; -1 = all */

int __wrap_unlinkat(int at, const char *name, int flags);
int __real_unlinkat(int at, const char *name, int flags);

int __wrap_unlinkat(int at, const char *name, int flags)
{
	if (left == 0)
		_exit(9);
	if (left > 0)
		left--;
	return __real_unlinkat(at, name, flags);
}

static void make(const struct place *p)
{
	put("work/file", "1");
	assert_int_equal(sh("mkdir -m 700 " NAME " && cp -a work " NAME "/work && mkdir " NAME
	                    "/work/deep && touch " NAME "/work/deep/er " NAME "/before.sums " NAME
	                    "/committed.sums && ln -s session-1 " NAME "/session && ln -s work " NAME
	                    "/copy && ln -s %s/work " NAME "/original",
	                    p->top),
	                 0);
}

/* Killed behind the n-th name. True: there were that many. */
static bool dropped_in_part(const struct place *p, int n)
{
	char path[200];
	int status;
	pid_t child = fork();

	assert_true(child >= 0);
	if (!child) {
		snprintf(path, sizeof path, "%s/" NAME, p->top);
		left = n;
		_exit(workspace_drop_copy(path) ? 1 : 0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status) && (WEXITSTATUS(status) == 9 || WEXITSTATUS(status) == 0));
	return WEXITSTATUS(status) == 9;
}

static void sweep(const struct place *p)
{
	const char *const none[] = { NULL };
	struct buf told = BUF_INIT(4096);
	struct sweep s = { .n = 0 };
	char workspace[200];
	int original = open_dir("work");

	snprintf(workspace, sizeof workspace, "%s/work", p->top);
	sweep_find(&s, workspace, p->top, ".work.quern-");
	sweep_do(&s, original, none, &told);
	sweep_release(&s);
	buf_release(&told);
	close(original);
}

static void taken_away_from_any_place(void **state)
{
	struct place *p = *state;
	int n = 0;
	bool more;

	do {
		make(p);
		/* before the first name is gone it is whole, and stays as long as its sums say nothing */
		more = dropped_in_part(p, ++n);
		sweep(p);
		if (access(NAME, F_OK) == 0)
			fail_msg("killed behind %d names: something is left", n);
		assert_true(holds("work/file", "1"));
	} while (more);
	assert_true(n > 8);
}

static void no_copy_is_dropped_twice(void **state)
{
	struct place *p = *state;
	char path[200];

	make(p);
	snprintf(path, sizeof path, "%s/" NAME, p->top);
	assert_int_equal(workspace_drop_copy(path), 0);
	assert_int_equal(access(NAME, F_OK), -1);
	assert_int_equal(workspace_drop_copy(path), -1);
	assert_int_equal(sh("ln -s work " NAME), 0);
	assert_int_equal(workspace_drop_copy(path), -1);
	assert_true(holds("work/file", "1"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(taken_away_from_any_place, place_setup, place_teardown),
		cmocka_unit_test_setup_teardown(no_copy_is_dropped_twice, place_setup, place_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
