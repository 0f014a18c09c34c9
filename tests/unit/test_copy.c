/* A copy of a tree is that tree. */
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "workspace_world.h"

static int copy(struct place *p, const char *a, const char *b)
{
	assert_int_equal(mkdir(b, 0700), 0);
	int a_fd = open_dir(a), b_fd = open_dir(b);
	int rc = workspace_copy(a_fd, b_fd, &p->e);

	close(a_fd);
	close(b_fd);
	return rc;
}

static void is_the_same(void **state)
{
	struct place *p = *state;

	for (unsigned i = 0; i < 5; i++) {
		assert_int_equal(sh("rm -rf a b"), 0);
		random_tree(p, "a");
		assert_int_equal(sh("cd a && mkdir -p e/m/pty closed && chmod 555 closed && chmod 4755 a 2>/dev/null; "
		                    "chmod 1777 e; touch -d '2001-02-03 04:05:06.789' e/m/pty; true"),
		                 0);
		assert_int_equal(copy(p, "a", "b"), 0);
		same_trees("a", "b", SAME_TIMES);
	}
}

static void keeps_holes_and_goes_on_with_big_files(void **state)
{
	struct place *p = *state;
	struct stat st;

	assert_int_equal(mkdir("a", 0755), 0);
	assert_int_equal(
	        sh("cd a && truncate -s 2G sparse && printf x | dd of=sparse bs=1 seek=1500000000 conv=notrunc "
	           "status=none && head -c 3000000 /dev/urandom >big"),
	        0);
	assert_int_equal(copy(p, "a", "b"), 0);
	assert_int_equal(sh("cmp a/big b/big"), 0);
	assert_int_equal(stat("b/sparse", &st), 0);
	assert_int_equal(st.st_size, (off_t)2 << 30);
	assert_true(st.st_blocks < 10000);
	int fd = open("b/sparse", O_RDONLY);
	char c = 0;
	assert_int_equal(pread(fd, &c, 1, 1500000000), 1);
	assert_int_equal(c, 'x');
	close(fd);
}

static void leaves_out_what_is_no_file(void **state)
{
	struct place *p = *state;

	put("a/x", "1");
	assert_int_equal(mkfifo("a/pipe", 0600), 0);
	assert_int_equal(link("a/x", "a/y"), 0);
	assert_int_equal(copy(p, "a", "b"), 0);
	assert_true(access("b/pipe", F_OK) != 0);
	assert_true(holds("b/x", "1"));
}

static void names_of_one_file_stay_that(void **state)
{
	struct place *p = *state;
	struct stat st;
	char name[40];

	put("a/x", "1");
	for (int i = 0; i < 200; i++) {
		snprintf(name, sizeof name, "a/d%d/%d", i % 3, i);
		put(name, "1");
		snprintf(name, sizeof name, "a/%d", i);
		assert_int_equal(sh("ln a/d%d/%d %s", i % 3, i, name), 0);
	}
	put("outside", "1");
	assert_int_equal(link("outside", "a/in"), 0);
	assert_int_equal(link("a/x", "a/d0/x"), 0);
	assert_int_equal(link("a/x", "a/z"), 0);
	assert_int_equal(copy(p, "a", "b"), 0);
	same_trees("a", "b", SAME_TIMES);
	assert_int_equal(sh("[ $(find b -type f -links 2 | wc -l) = 400 ]"), 0);
	put("b/x", "2"); /* and no other's */
	assert_true(holds("b/z", "2"));
	assert_true(holds("b/d0/x", "2"));
	assert_true(holds("a/x", "1"));
	assert_int_equal(stat("b/in", &st), 0);
	assert_int_equal(st.st_nlink, 1);
}

static void attributes_stay_and_none_come(void **state)
{
	struct place *p = *state;
	char value[8];

	put("a/d/x", "1");
	put("a/plain", "1");
	if (setxattr("a/d/x", "user.note", "kept", 4, 0)) {
		assert_int_equal(errno, ENOTSUP);
		skip();
	}
	assert_int_equal(setxattr("a/d", "user.note", "dir", 3, 0), 0);
	if (!give_access("a/d/x", false) && !give_access("a/d", true) && !mkdir("heir", 0700) &&
	    !give_access("heir", true)) {
		assert_int_equal(rename("a", "heir/a"), 0);
		assert_int_equal(copy(p, "heir/a", "heir/b"), 0);
		assert_true(getxattr("heir/b/plain", "system.posix_acl_access", NULL, 0) < 0);
		assert_true(getxattr("heir/b/d/x", "system.posix_acl_access", NULL, 0) > 0);
		assert_true(getxattr("heir/b/d", "system.posix_acl_default", NULL, 0) > 0);
		assert_int_equal(rename("heir/b", "b"), 0);
	} else {
		assert_int_equal(copy(p, "a", "b"), 0);
	}
	assert_int_equal(getxattr("b/d/x", "user.note", value, sizeof value), 4);
	assert_memory_equal(value, "kept", 4);
	assert_int_equal(getxattr("b/d", "user.note", value, sizeof value), 3);
}

static void follows_no_link(void **state)
{
	struct place *p = *state;

	put("outside/secret", "1");
	assert_int_equal(mkdir("a", 0755), 0);
	assert_int_equal(symlink("../outside", "a/dir"), 0);
	assert_int_equal(symlink("../outside/secret", "a/file"), 0);
	assert_int_equal(copy(p, "a", "b"), 0);
	same_trees("a", "b", 0);
}

static void says_what_cannot_be_copied(void **state)
{
	struct place *p = *state;

	modes_hold();
	put("a/sub/closed", "1");
	assert_int_equal(chmod("a/sub/closed", 0), 0);
	assert_int_equal(copy(p, "a", "b"), -1);
	assert_non_null(strstr(p->e.msg, "'sub/closed'"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(f) cmocka_unit_test_setup_teardown(f, place_setup, place_teardown)
		TEST(is_the_same),
		TEST(keeps_holes_and_goes_on_with_big_files),
		TEST(leaves_out_what_is_no_file),
		TEST(names_of_one_file_stay_that),
		TEST(attributes_stay_and_none_come),
		TEST(follows_no_link),
		TEST(says_what_cannot_be_copied),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
