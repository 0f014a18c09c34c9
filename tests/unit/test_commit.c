/* What a copy became reaches the original: all of it, or nothing where that has changed, or as far as the disk let it.
 */
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "workspace_world.h"

/* ---- a rename that fails ---- */

static int renames_left = -1; /* until one fails; negative: none does */
static int rename_errno;      /* 0: the process ends there */
static bool dies_across;      /* after EXDEV, the next one ends it */

int __real_renameat(int from, const char *old, int to, const char *now);
int __wrap_renameat(int from, const char *old, int to, const char *now);

int __wrap_renameat(int from, const char *old, int to, const char *now)
{
	if (renames_left >= 0 && renames_left-- == 0) {
		if (!rename_errno)
			_exit(9);
		errno = rename_errno;
		renames_left = rename_errno == EXDEV && dies_across ? 0 : -1;
		rename_errno = dies_across ? 0 : rename_errno;
		return -1;
	}
	return __real_renameat(from, old, to, now);
}

/* ---- what somebody does while the content is staged ---- */

static const char *meanwhile; /* NULL: nothing */

int __real_syncfs(int fd);
int __wrap_syncfs(int fd);

int __wrap_syncfs(int fd)
{
	const char *what = meanwhile;

	meanwhile = NULL;
	if (what)
		assert_int_equal(
		        sh("cd orig && (%s) && rm -rf ../was && cp -a . ../was && rm -r ../was/.quern-commit-*", what),
		        0);
	return __real_syncfs(fd);
}

struct trip { /* from the original by a copy back */
	struct scan before, after;
};

/* The copy as the run finds it. */
static void begin(struct place *p, struct trip *t)
{
	renames_left = -1;
	assert_int_equal(mkdir("copy", 0700), 0);
	int from = open_dir("orig"), to = open_dir("copy");
	if (workspace_copy(from, to, &p->e))
		fail_msg("%s", p->e.msg);
	close(from);
	close(to);
	scan_of("copy", &t->before);
}

static int end(struct place *p, struct trip *t)
{
	int to = open_dir("orig"), from = open_dir("copy");

	scan_of("copy", &t->after);
	p->e.msg[0] = '\0';
	int rc = workspace_commit(to, from, &t->before, &t->after, &p->e);
	close(to);
	close(from);
	scan_release(&t->after);
	return rc;
}

static void commits(struct place *p, struct trip *t)
{
	if (end(p, t))
		fail_msg("%s", p->e.msg);
	same_trees("orig", "copy", 0);
}

static void random_changes(void **state)
{
	struct place *p = *state;
	struct trip t;

	for (unsigned i = 0; i < 20; i++) {
		assert_int_equal(sh("rm -rf orig copy"), 0);
		random_tree(p, "orig");
		begin(p, &t);
		change_tree(p, "copy");
		if (i % 3 == 0)
			assert_int_equal(sh("cd copy && mkdir -p n/e/w && chmod 2750 n/e && rm -rf d1 && ln -s x d1"),
			                 0);
		commits(p, &t);
		commits(p, &t); /* again: there is nothing to do */
		scan_release(&t.before);
	}
}

static void kinds_change(void **state)
{
	struct place *p = *state;
	struct trip t;

	put("orig/file", "1");
	put("orig/dir/sub/x", "1");
	put("orig/dir.x", "1");
	put("orig/dir-x", "1");
	assert_int_equal(symlink("file", "orig/link"), 0);
	begin(p, &t);
	assert_int_equal(
	        sh("cd copy && rm -rf file dir link && mkdir -p file/a/b && echo 2 >file/a/b/c && echo 2 >dir && "
	           "mkdir link && echo 2 >link/x"),
	        0);
	commits(p, &t);
	assert_int_equal(sh("cd copy && rm -rf file dir link && ln -s dir file && mkdir dir && ln -s nowhere dir/y"),
	                 0);
	scan_release(&t.before);
	scan_of("orig", &t.before);
	commits(p, &t);
	scan_release(&t.before);
}

static void keeps_times_and_what_is_not_changed(void **state)
{
	struct place *p = *state;
	struct trip t;
	struct stat was, is;

	put("orig/same", "1");
	put("orig/changed", "1");
	assert_int_equal(stat("orig/same", &was), 0);
	begin(p, &t);
	assert_int_equal(sh("cd copy && echo 2 >changed && touch -d '2001-02-03 04:05:06' changed"), 0);
	commits(p, &t);
	assert_int_equal(stat("orig/same", &is), 0);
	assert_int_equal(was.st_ino, is.st_ino);
	assert_int_equal(was.st_ctim.tv_nsec, is.st_ctim.tv_nsec);
	assert_int_equal(stat("copy/changed", &was), 0);
	assert_int_equal(stat("orig/changed", &is), 0);
	assert_int_equal(was.st_mtim.tv_sec, is.st_mtim.tv_sec);
	scan_release(&t.before);
}

static void a_mode_alone_writes_no_file(void **state)
{
	struct place *p = *state;
	struct trip t;
	struct stat was, is;

	put("orig/run", "1");
	assert_int_equal(stat("orig/run", &was), 0);
	begin(p, &t);
	assert_int_equal(chmod("copy/run", 0755), 0);
	commits(p, &t);
	assert_int_equal(stat("orig/run", &is), 0);
	assert_int_equal(was.st_ino, is.st_ino);
	scan_release(&t.before);
}

static void opens_and_closes_directories(void **state)
{
	struct place *p = *state;
	struct trip t;

	put("orig/open/x", "1");
	put("orig/closed/x", "1");
	assert_int_equal(chmod("orig/closed", 0555), 0);
	begin(p, &t);
	assert_int_equal(sh("cd copy && chmod 755 closed && echo 2 >closed/y && echo 2 >open/y && chmod 555 open"), 0);
	commits(p, &t);
	scan_release(&t.before);
}

/* ---- conflicts ---- */

static void no_change_to(struct place *p, const char *how_orig, const char *how_copy, const char *named)
{
	struct trip t;

	assert_int_equal(sh("rm -rf orig copy was"), 0);
	put("orig/a", "1");
	put("orig/b", "1");
	put("orig/d/in", "1");
	put("orig/e/in", "1");
	begin(p, &t);
	assert_int_equal(sh("cd copy && %s", how_copy), 0);
	assert_int_equal(sh("cd orig && %s && cp -a . ../was", how_orig), 0);
	assert_int_equal(end(p, &t), -1);
	if (!strstr(p->e.msg, named))
		fail_msg("'%s' does not name %s", p->e.msg, named);
	same_trees("orig", "was", SAME_TIMES);
	scan_release(&t.before);
}

static void conflicts_change_nothing(void **state)
{
	struct place *p = *state;

	no_change_to(p, "echo 3 >b", "echo 2 >a; echo 2 >b", "'b' has changed");
	no_change_to(p, "chmod 700 b", "echo 2 >a; echo 2 >b", "'b' has changed");
	no_change_to(p, "rm b", "echo 2 >a; echo 2 >b", "'b' has gone");
	no_change_to(p, "echo 3 >n", "echo 2 >a; echo 2 >n", "'n' has come");
	no_change_to(p, "echo 3 >b", "echo 2 >a; rm b", "'b' has changed");
	no_change_to(p, "echo 3 >d/more", "echo 2 >a; rm -r d", "'d/more' has come");
	no_change_to(p, "mkfifo d/more", "echo 2 >a; rm -r d; echo 2 >d", "'d/more' has come");
	no_change_to(p, "rm -r d", "echo 2 >a; echo 2 >d/new", "'d' has gone");
	no_change_to(p, "rm -r d && ln -s e d", "echo 2 >a; echo 2 >d/new", "'d' has gone");
	no_change_to(p, "rm b && ln -s a b", "echo 2 >b", "'b' has changed");
	no_change_to(p, "rm b && mkfifo b", "echo 2 >b", "'b' has changed");
}

/* All had been looked at, and then it was changed. */
static void conflicts_that_come_late_do_so_too(void **state)
{
	struct place *p = *state;
	static const char *const what[][2] = {
		{ "echo 3 >b", "'b' has changed" },
		{ "echo 1 >>a", "'a' has changed" },
		{ "echo 1 >x; touch -r b x; mv x b", "'b' has changed" },
		{ "rm b", "'b' has gone" },
		{ "echo 3 >n", "'n' has come" },
		{ "rm -r d && echo 3 >d", "'d' has changed" },
	};

	for (size_t i = 0; i < sizeof what / sizeof *what; i++) {
		meanwhile = what[i][0];
		no_change_to(p, ":", "echo 2 >a; echo 2 >b; echo 2 >n; rm -r d", what[i][1]);
		assert_null(meanwhile);
	}
}

static void what_others_did_elsewhere_stays(void **state)
{
	struct place *p = *state;
	struct trip t;

	put("orig/a", "1");
	put("orig/b", "1");
	put("orig/c", "1");
	put("orig/d", "1");
	begin(p, &t);
	assert_int_equal(sh("cd copy && echo 2 >a && echo same >c && rm d"), 0);
	assert_int_equal(sh("cd orig && echo 3 >b && echo 3 >n && echo same >c && rm d"),
	                 0); /* the same is no conflict */
	if (end(p, &t))
		fail_msg("%s", p->e.msg);
	assert_true(holds("orig/a", "2\n"));
	assert_true(holds("orig/b", "3\n"));
	assert_true(holds("orig/n", "3\n"));
	scan_release(&t.before);
}

static void a_directory_that_is_not_ours_to_write(void **state)
{
	struct place *p = *state;

	if (geteuid() != 0)
		skip(); /* who cannot have one */
	modes_hold();
	no_change_to(p, "chmod 555 d; chown 12345 d", "echo 2 >a; echo 2 >d/in", "'d/in'");
}

/* ---- directories of ours that may not be written ---- */

static void make_closed(struct place *p, struct trip *t)
{
	assert_int_equal(sh("chmod -R u+rwx . && rm -rf orig copy"), 0);
	put("orig/a/in", "1");
	put("orig/a/sub/in", "1");
	put("orig/gone/in", "1");
	put("orig/z", "1");
	assert_int_equal(sh("chmod 555 orig/a/sub orig/a orig/gone"), 0);
	begin(p, t);
	assert_int_equal(
	        sh("cd copy && chmod -R u+w . && echo 2 >a/in && echo 2 >a/sub/in && echo 2 >a/new && rm -r gone && "
	           "echo 2 >z && chmod 555 a/sub a && chmod 555 . ../orig"),
	        0);
}

static void is_closed(bool gone)
{
	assert_int_equal(sh("[ \"$(stat -c %%a orig orig/a orig/a/sub | tr '\\n' ' ')\" = '555 555 555 ' ]"), 0);
	assert_int_equal(sh("[ %s -e orig/gone ] && [ -z \"$(find orig -name '.quern*')\" ]", gone ? "!" : ""), 0);
}

static void they_are_lent(void **state)
{
	struct place *p = *state;
	struct trip t;

	modes_hold();
	make_closed(p, &t);
	commits(p, &t);
	is_closed(true);
	scan_release(&t.before);
	for (int at = 0; at < 4; at++) {
		make_closed(p, &t);
		renames_left = at;
		rename_errno = EIO;
		assert_int_equal(end(p, &t), -1);
		is_closed(false);
		scan_release(&t.before);
	}
}

/* The n-th rename is the last that a process does; the next process has to make do with what is there. */
static void dies(struct place *p, struct trip *t, int at, int with)
{
	int status;

	renames_left = at;
	rename_errno = with;
	dies_across = with == EXDEV;
	pid_t pid = fork();
	if (pid == 0)
		_exit(end(p, t) ? 1 : 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 9);
	renames_left = -1;
	dies_across = false;
	assert_int_equal(sh("ls -d orig/.quern-commit-* >/dev/null"), 0);
}

static void whoever_dies_leaves_them_lent(void **state)
{
	struct place *p = *state;
	struct trip t, other;

	modes_hold();
	for (int at = 0; at < 4; at++) {
		make_closed(p, &t);
		dies(p, &t, at, 0);
		commits(p, &t);
		is_closed(true);
		scan_release(&t.before);
	}
	/* another copy's commit puts them back, too */
	make_closed(p, &t);
	dies(p, &t, 0, 0);
	assert_int_equal(sh("mv copy first"), 0);
	begin(p, &other);
	assert_int_equal(sh("[ -z \"$(ls -d copy/.quern* 2>/dev/null)\" ]"), 0); /* it is no file of theirs */
	assert_int_equal(sh("echo 3 >copy/z"), 0);
	assert_int_equal(end(p, &other), 0);
	is_closed(false);
	assert_true(holds("orig/a/in", "1"));
	scan_release(&t.before);
	scan_release(&other.before);
}

/* ---- what belongs to a file ---- */

static void owner_attributes_and_names_stay(void **state)
{
	struct place *p = *state;
	struct trip t;
	struct stat a, b;
	char value[8];

	put("orig/a", "1");
	put("orig/same", "1");
	put("orig/x", "1");
	assert_int_equal(link("orig/same", "orig/same2"), 0);
	assert_int_equal(link("orig/a", "orig/b"), 0);
	bool attributes = setxattr("orig/x", "user.note", "kept", 4, 0) == 0;
	bool list = give_access("orig/x", false) == 0;
	begin(p, &t);
	put("copy/a", "2");
	assert_int_equal(sh("cd copy && rm x && echo 2 >x"), 0);
	commits(p, &t);
	assert_int_equal(stat("orig/a", &a), 0);
	assert_int_equal(stat("orig/b", &b), 0);
	assert_int_equal(a.st_ino, b.st_ino);
	assert_true(holds("orig/b", "2"));
	assert_int_equal(stat("orig/same", &a), 0);
	assert_int_equal(stat("orig/same2", &b), 0);
	assert_int_equal(a.st_ino, b.st_ino);
	if (attributes)
		assert_int_equal(getxattr("orig/x", "user.note", value, sizeof value), 4);
	if (list)
		assert_true(getxattr("orig/x", "system.posix_acl_access", NULL, 0) > 0);
	scan_release(&t.before);
}

/* ---- what breaks ---- */

static void no_room_changes_nothing(void **state)
{
	struct place *p = *state;
	struct rlimit was, most;
	struct trip t;

	put("orig/a", "1");
	put("orig/z", "1");
	begin(p, &t);
	assert_int_equal(sh("cp -a orig was && cd copy && echo 2 >a && head -c 200000 /dev/zero | tr '\\0' x >z"), 0);
	getrlimit(RLIMIT_FSIZE, &was);
	most = was;
	most.rlim_cur = 100000;
	signal(SIGXFSZ, SIG_IGN);
	setrlimit(RLIMIT_FSIZE, &most);
	int rc = end(p, &t);
	setrlimit(RLIMIT_FSIZE, &was);
	assert_int_equal(rc, -1);
	assert_non_null(strstr(p->e.msg, "no change was made: cannot write 'z'"));
	same_trees("orig", "was", SAME_TIMES);
	commits(p, &t); /* there is room now */
	scan_release(&t.before);
}

static void half_of_it_is_told_and_can_be_made_whole(void **state)
{
	struct place *p = *state;
	struct trip t;

	for (int at = 0; at < 4; at++) {
		assert_int_equal(sh("rm -rf orig copy"), 0);
		put("orig/a", "1");
		put("orig/gone", "1");
		put("orig/mode", "1");
		begin(p, &t);
		assert_int_equal(sh("cd copy && for f in a b c d; do echo 2 >$f; done; rm gone; chmod 755 mode"), 0);
		renames_left = at;
		rename_errno = EIO;
		assert_int_equal(end(p, &t), -1);
		char told[64];
		snprintf(told, sizeof told, "%d of 6 changes were made: '%c'", at, 'a' + at);
		if (!strstr(p->e.msg, told))
			fail_msg("'%s' does not say %s", p->e.msg, told);
		assert_int_equal(sh("[ -z \"$(ls -A orig | grep quern)\" ] && [ -e orig/gone ]"), 0);
		renames_left = -1;
		commits(p, &t);
		scan_release(&t.before);
	}
}

static void behind_a_mount_point(void **state)
{
	struct place *p = *state;
	struct trip t;

	put("orig/a", "1");
	begin(p, &t);
	put("copy/a", "2");
	renames_left = 0;
	rename_errno = EXDEV;
	commits(p, &t);
	assert_true(holds("orig/a", "2"));
	scan_release(&t.before);
	/* killed when the file is made beside, but not in place */
	assert_int_equal(sh("rm -rf orig copy"), 0);
	put("orig/d/a", "1");
	begin(p, &t);
	put("copy/d/a", "2");
	dies(p, &t, 0, EXDEV);
	assert_int_equal(sh("ls -d orig/d/.quern-commit-* >/dev/null"), 0);
	commits(p, &t);
	scan_release(&t.before);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(f) cmocka_unit_test_setup_teardown(f, place_setup, place_teardown)
		TEST(random_changes),
		TEST(kinds_change),
		TEST(keeps_times_and_what_is_not_changed),
		TEST(a_mode_alone_writes_no_file),
		TEST(opens_and_closes_directories),
		TEST(conflicts_change_nothing),
		TEST(conflicts_that_come_late_do_so_too),
		TEST(what_others_did_elsewhere_stays),
		TEST(a_directory_that_is_not_ours_to_write),
		TEST(they_are_lent),
		TEST(whoever_dies_leaves_them_lent),
		TEST(owner_attributes_and_names_stay),
		TEST(no_room_changes_nothing),
		TEST(half_of_it_is_told_and_can_be_made_whole),
		TEST(behind_a_mount_point),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
