/* The run directory: where it goes, what is refused, how full it gets, what is left of it. */
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/io.h"
#include "base/log.h"
#include "base/tree.h"
#include "record/run_dir.h"

static const char *const variables[] = { "QUERN_STATE_DIR", "XDG_STATE_HOME", "HOME", "TMPDIR" };

struct place {
	char top[64];
	struct run_dir *d;
	struct error e;
};

static int setup(void **state)
{
	struct place *p = calloc(1, sizeof *p);

	if (!p)
		return -1;
	log_set_level(LOG_QUIET);
	umask(022);
	for (size_t i = 0; i < sizeof variables / sizeof variables[0]; i++)
		unsetenv(variables[i]);
	strcpy(p->top, "/tmp/quern-test-dir-XXXXXX");
	*state = p;
	return mkdtemp(p->top) && chdir(p->top) == 0 ? 0 : -1;
}

static int teardown(void **state)
{
	struct place *p = *state;

	run_dir_free(p->d, true);
	int rc = chdir("/") ? -1 : tree_remove(p->top);
	free(p);
	return rc;
}

/* A path below the test's directory; valid for the next 31 calls. */
static const char *at(const struct place *p, const char *name)
{
	static char paths[32][256];
	static unsigned turn;
	char *path = paths[turn++ % 32];

	snprintf(path, sizeof paths[0], "%s/%s", p->top, name);
	return path;
}

static bool open_with(struct place *p, const char *explicit_dir, const char *const *roots)
{
	struct run_dir_config cfg = {
		.explicit_dir = explicit_dir, .session_id = "sid", .writable_roots = roots, .max_bytes = 1000
	};

	run_dir_free(p->d, true);
	p->e = (struct error)ERROR_INIT;
	p->d = run_dir_open(&cfg, &p->e);
	return p->d != NULL;
}

static void assert_made_at(struct place *p, const char *expected)
{
	struct stat st;

	assert_null(run_dir_made(p->d)); /* nothing before it is asked for */
	assert_int_equal(access(expected, F_OK), -1);
	const char *path = run_dir_path(p->d, &p->e);
	assert_non_null(path);
	assert_string_equal(path, expected);
	assert_ptr_equal(run_dir_made(p->d), path);
	assert_int_equal(stat(path, &st), 0);
	assert_true(S_ISDIR(st.st_mode));
	assert_int_equal(st.st_mode & 07777, 0700);
}

static void the_order_of_places(void **state)
{
	struct place *p = *state;

	mkdir(at(p, "home"), 0755);
	mkdir(at(p, "tmp"), 0755);
	setenv("TMPDIR", at(p, "tmp"), 1);
	assert_true(open_with(p, NULL, NULL));
	assert_made_at(p, at(p, "tmp/quern-sid"));
	setenv("HOME", at(p, "home"), 1);
	assert_true(open_with(p, NULL, NULL));
	assert_made_at(p, at(p, "home/.local/state/quern/sid"));
	setenv("XDG_STATE_HOME", at(p, "xdg"), 1);
	assert_true(open_with(p, NULL, NULL));
	assert_made_at(p, at(p, "xdg/quern/sid"));
	setenv("QUERN_STATE_DIR", at(p, "state"), 1);
	assert_true(open_with(p, NULL, NULL));
	assert_made_at(p, at(p, "state/sid"));
	assert_true(open_with(p, at(p, "given/dir"), NULL));
	assert_made_at(p, at(p, "given/dir"));
}

static void without_a_home(void **state)
{
	struct place *p = *state;
	static const char *const homes[] = { NULL, "", "relative", "/nonexistent", "/dev/null", "/proc" };

	mkdir(at(p, "tmp"), 0755);
	setenv("TMPDIR", at(p, "tmp"), 1);
	for (size_t i = 0; i < sizeof homes / sizeof homes[0]; i++) {
		if (homes[i])
			setenv("HOME", homes[i], 1);
		assert_true(open_with(p, NULL, NULL));
		assert_made_at(p, at(p, "tmp/quern-sid"));
		run_dir_free(p->d, false);
		p->d = NULL;
		assert_int_equal(access("/nonexistent", F_OK), -1);
	}
	assert_int_equal(access(at(p, "relative"), F_OK), -1); /* nothing in the current directory */
}

static void at_last_tmp(void **state)
{
	struct place *p = *state;
	static const char *const tmps[] = { NULL, "", "relative", "/nonexistent" };

	for (size_t i = 0; i < sizeof tmps / sizeof tmps[0]; i++) {
		if (tmps[i])
			setenv("TMPDIR", tmps[i], 1);
		struct run_dir_config cfg = { .session_id = p->top + strlen("/tmp/"), .max_bytes = 1000 };
		p->d = run_dir_open(&cfg, &p->e);
		const char *path = run_dir_path(p->d, &p->e);
		assert_non_null(path);
		assert_memory_equal(path, "/tmp/quern-quern-test-dir-", 26);
		run_dir_free(p->d, false);
		p->d = NULL;
	}
}

static void places_inside_a_writable_root_are_passed_over(void **state)
{
	struct place *p = *state;
	const char *roots[] = { "/elsewhere", at(p, "home"), NULL };

	mkdir(at(p, "home"), 0755);
	mkdir(at(p, "tmp"), 0755);
	mkdir(at(p, "home2"), 0755);
	setenv("TMPDIR", at(p, "tmp"), 1);
	setenv("HOME", at(p, "home"), 1);
	assert_true(open_with(p, NULL, roots));
	assert_made_at(p, at(p, "tmp/quern-sid"));
	/* a link into the root is inside too */
	assert_int_equal(symlink("home", at(p, "link")), 0);
	setenv("XDG_STATE_HOME", at(p, "link"), 1);
	run_dir_free(p->d, false);
	p->d = NULL;
	roots[1] = at(p, "home");
	assert_true(open_with(p, NULL, roots));
	assert_made_at(p, at(p, "tmp/quern-sid"));
	/* a name that only begins alike is not */
	setenv("XDG_STATE_HOME", at(p, "home2"), 1);
	roots[1] = at(p, "home");
	assert_true(open_with(p, NULL, roots));
	assert_made_at(p, at(p, "home2/quern/sid"));
	/* nothing is outside of "/" */
	static const char *const all[] = { "/", NULL };
	assert_true(open_with(p, NULL, all));
	assert_null(run_dir_path(p->d, &p->e));
	assert_non_null(strstr(p->e.msg, "--run-dir"));
	assert_int_equal(run_dir_file(p->d, "x", &(const char *){ NULL }, &p->e), -1);
}

static void explicit_ones_are_checked_at_once(void **state)
{
	struct place *p = *state;
	const char *roots[] = { at(p, "work"), NULL };

	mkdir(at(p, "work"), 0755);
	assert_int_equal(symlink("work", at(p, "link")), 0);
	assert_int_equal(close(open(at(p, "file"), O_WRONLY | O_CREAT, 0600)), 0);
	const char *const bad[] = { "work", "work/new/deep", "link/new", "file", "file/new", "" };
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		roots[0] = at(p, "work");
		assert_false(open_with(p, bad[i], roots)); /* relative ones start at the current directory */
		assert_int_equal(p->e.code, ERR_INPUT);
		assert_non_null(strstr(p->e.msg, bad[i]));
	}
	roots[0] = at(p, "work");
	assert_true(open_with(p, "work2/", roots));
	assert_made_at(p, at(p, "work2"));
}

static void foreign_leftovers_are_not_trusted(void **state)
{
	struct place *p = *state;

	/* somebody who guessed the name made it first, open for all */
	mkdir(at(p, "tmp"), 0755);
	mkdir(at(p, "tmp/quern-sid"), 0700);
	assert_int_equal(chmod(at(p, "tmp/quern-sid"), 0777), 0);
	setenv("TMPDIR", at(p, "tmp"), 1);
	assert_true(open_with(p, NULL, NULL));
	const char *path = run_dir_path(p->d, &p->e);
	assert_true(!path || strcmp(path, at(p, "tmp/quern-sid")) != 0);
	run_dir_free(p->d, false);
	p->d = NULL;
	assert_int_equal(access(at(p, "tmp/quern-sid"), F_OK), 0);
}

static void files_are_plain_and_unique(void **state)
{
	struct place *p = *state;
	static const struct {
		const char *name, *file;
	} cases[] = {
		{ "Bash-toolu_1.txt", "Bash-toolu_1.txt" },
		{ "Bash-toolu_1.txt", "Bash-toolu_1-2.txt" },
		{ "../../etc/passwd", "_._.._etc_passwd" },
		{ ".", "_" },
		{ "..", "_." },
		{ "", "_-6" },
		{ "a\nb/c", "a_b_c" },
	};
	char expected[300];
	struct stat st;

	assert_true(open_with(p, at(p, "run"), NULL));
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		const char *path = NULL;
		int fd = run_dir_file(p->d, cases[i].name, &path, &p->e);
		assert_true(fd >= 0);
		snprintf(expected, sizeof expected, "%s/run/%s", p->top, cases[i].file);
		assert_string_equal(path, expected);
		assert_int_equal(stat(path, &st), 0);
		assert_int_equal(st.st_mode & 07777, 0600);
		close(fd);
	}
	char longer[400];
	memset(longer, 'x', sizeof longer - 1);
	longer[sizeof longer - 1] = '\0';
	assert_non_null(run_dir_store(p->d, longer, "1", 1, &p->e));
	assert_non_null(run_dir_store(p->d, longer, "2", 1, &p->e));
}

static void it_takes_max_bytes_and_no_more(void **state)
{
	struct place *p = *state;
	char bytes[1000] = { 0 };
	const char *path;

	assert_true(open_with(p, at(p, "run"), NULL));
	assert_int_equal(run_dir_left(p->d), 1000);
	assert_non_null(run_dir_store(p->d, "a", bytes, 600, &p->e));
	assert_int_equal(run_dir_left(p->d), 400);
	assert_null(run_dir_store(p->d, "b", bytes, 401, &p->e)); /* nothing of it is left */
	assert_int_equal(p->e.code, ERR_LIMIT);
	assert_int_equal(access(at(p, "run/b"), F_OK), -1);
	/* a file that others write into is counted when the next one is made */
	int fd = run_dir_file(p->d, "c", &path, &p->e);
	assert_int_equal(io_write_all(fd, bytes, 300), 0);
	assert_null(run_dir_store(p->d, "d", bytes, 101, &p->e));
	assert_non_null(run_dir_store(p->d, "d", bytes, 100, &p->e));
	assert_int_equal(run_dir_file(p->d, "e", &path, &p->e), -1);
	assert_int_equal(p->e.code, ERR_LIMIT);
	assert_int_equal(io_write_all(fd, bytes, 100), 0);
	assert_int_equal(run_dir_left(p->d), 0); /* a writer that took more than was left */
	close(fd);
}

static void many_files_stay_counted(void **state)
{
	struct place *p = *state;

	assert_true(open_with(p, at(p, "run"), NULL));
	for (int i = 0; i < 500; i++)
		assert_non_null(run_dir_store(p->d, "same.txt", "xx", 2, &p->e));
	assert_null(run_dir_store(p->d, "same.txt", "xx", 2, &p->e));
	assert_int_equal(p->e.code, ERR_LIMIT);
}

static void what_is_kept_and_what_goes(void **state)
{
	struct place *p = *state;

	assert_true(open_with(p, at(p, "run"), NULL));
	assert_non_null(run_dir_store(p->d, "a", "x", 1, &p->e));
	run_dir_free(p->d, true);
	p->d = NULL;
	assert_int_equal(access(at(p, "run/a"), F_OK), 0);
	/* it was there before: what was in it stays, what this run put there goes */
	assert_true(open_with(p, at(p, "run"), NULL));
	const char *path = run_dir_store(p->d, "a", "x", 1, &p->e);
	assert_string_equal(path, at(p, "run/a-1"));
	run_dir_free(p->d, false);
	p->d = NULL;
	assert_int_equal(access(at(p, "run/a"), F_OK), 0);
	assert_int_equal(access(at(p, "run/a-1"), F_OK), -1);
	/* made by this run: goes as a whole */
	assert_true(open_with(p, at(p, "new"), NULL));
	assert_non_null(run_dir_store(p->d, "a", "x", 1, &p->e));
	run_dir_free(p->d, false);
	p->d = NULL;
	assert_int_equal(access(at(p, "new"), F_OK), -1);
	/* never asked for: never made */
	assert_true(open_with(p, at(p, "none"), NULL));
	run_dir_free(p->d, false);
	p->d = NULL;
	assert_int_equal(access(at(p, "none"), F_OK), -1);
}

static void the_tools_tmpdir_goes_in_any_case(void **state)
{
	struct place *p = *state;
	struct stat st;
	char first[256];

	mkdir(at(p, "tmp"), 0755);
	mkdir(at(p, "precious"), 0755);
	assert_int_equal(close(open(at(p, "precious/file"), O_WRONLY | O_CREAT, 0600)), 0);
	setenv("TMPDIR", at(p, "tmp"), 1);
	assert_true(open_with(p, at(p, "run"), NULL));
	const char *tmp = run_dir_tmp(p->d, &p->e);
	assert_non_null(tmp);
	assert_memory_equal(tmp, at(p, "tmp/quern-tmp-"), strlen(at(p, "tmp/quern-tmp-")));
	assert_ptr_equal(tmp, run_dir_tmp(p->d, &p->e));
	assert_int_equal(stat(tmp, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	assert_null(run_dir_made(p->d)); /* not the same thing */
	/* links are removed, not followed; modes do not protect; what looks like ours while it is emptied neither */
	snprintf(first, sizeof first, "%s/link", tmp);
	assert_int_equal(symlink(at(p, "precious"), first), 0);
	snprintf(first, sizeof first, "%s/closed", tmp);
	assert_int_equal(mkdir(first, 0700), 0);
	snprintf(first, sizeof first, "%s/closed/in", tmp);
	assert_int_equal(mkdir(first, 0), 0);
	snprintf(first, sizeof first, "%s/closed", tmp);
	assert_int_equal(chmod(first, 0), 0);
	snprintf(first, sizeof first, "%s/.quern-lift-0", tmp);
	assert_int_equal(mkdir(first, 0700), 0);
	snprintf(first, sizeof first, "%s/.quern-lift-0/x", tmp);
	assert_int_equal(mkdir(first, 0700), 0);
	snprintf(first, sizeof first, "%s", tmp);
	run_dir_free(p->d, true);
	p->d = NULL;
	assert_int_equal(access(first, F_OK), -1);
	assert_int_equal(access(at(p, "precious/file"), F_OK), 0);
}

/* Of a run that was killed before it told anybody its session nothing is known but the record that it was to have. */
static void what_was_left_in_the_tmpdir_is_found_by_the_record(void **state)
{
	struct place *p = *state;
	struct run_dir_config cfg = { .session_id = "one", .record = "/some/run.ndjson" };
	char first[256], inside[300];

	mkdir(at(p, "tmp"), 0755);
	setenv("TMPDIR", at(p, "tmp"), 1);
	struct run_dir *killed = run_dir_open(&cfg, &p->e);
	assert_non_null(killed);
	snprintf(first, sizeof first, "%s", run_dir_tmp(killed, &p->e));
	snprintf(inside, sizeof inside, "%s/left", first);
	assert_int_equal(mkdir(inside, 0700), 0);
	cfg.session_id = "two";
	p->d = run_dir_open(&cfg, &p->e);
	assert_non_null(p->d);
	assert_string_equal(run_dir_tmp(p->d, &p->e), first);
	assert_int_equal(access(inside, F_OK), -1);
	run_dir_remove_tmp("two", cfg.record); /* there is nothing left to do */
	assert_int_equal(access(first, F_OK), -1);
	run_dir_free(killed, true);
}

/* As a user, a directory of mode 0 is of no use to its owner. */
static void the_umask_does_not_count(void **state)
{
	struct place *p = *state;
	struct error e = ERROR_INIT;
	struct stat st;

	mkdir(at(p, "tmp"), 0755);
	setenv("TMPDIR", at(p, "tmp"), 1);
	assert_true(open_with(p, at(p, "run/deep"), NULL));
	mode_t old = umask(0777);
	const char *tmp = run_dir_tmp(p->d, &e);
	const char *path = NULL;
	int fd = run_dir_file(p->d, "spill.txt", &path, &e);
	mode_t mine = umask(old);
	assert_int_equal(mine, 0777);
	assert_non_null(tmp);
	assert_non_null(path);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	close(fd);
	assert_int_equal(stat(tmp, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	assert_int_equal(stat(at(p, "run"), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
}

/* Deeper than any path, any stack and any descriptor table. */
static void a_deep_tree_is_removed(void **state)
{
	struct place *p = *state;

	assert_int_equal(mkdir(at(p, "deep"), 0700), 0);
	int fd = open(at(p, "deep"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (int i = 0; i < 3000; i++) {
		assert_int_equal(mkdirat(fd, "a-rather-long-directory-name", 0700), 0);
		int next = openat(fd, "a-rather-long-directory-name", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		assert_true(next >= 0);
		close(fd);
		fd = next;
	}
	close(fd);
	assert_int_equal(tree_remove(at(p, "deep")), 0);
	assert_int_equal(access(at(p, "deep"), F_OK), -1);
	assert_int_equal(tree_remove(at(p, "deep")), -1);
	assert_int_equal(errno, ENOENT);
}

/* Made before it is known to be needed: nothing is left of it, and nothing of others goes with it. */
static void prepared_and_not_used(void **state)
{
	const char *write[3], *parents[3];
	struct place *p = *state;

	mkdir(at(p, "home"), 0755);
	mkdir(at(p, "tmp"), 0755);
	setenv("HOME", at(p, "home"), 1);
	setenv("TMPDIR", at(p, "tmp"), 1);
	assert_true(open_with(p, NULL, NULL));
	run_dir_prepare(p->d);
	assert_string_equal(run_dir_made(p->d), at(p, "home/.local/state/quern/sid"));
	assert_non_null(run_dir_tmp(p->d, &p->e));
	assert_int_equal(run_dir_needs(p->d, write, parents), 0);
	assert_string_equal(write[0], run_dir_made(p->d));
	assert_string_equal(write[1], run_dir_tmp(p->d, &p->e));
	assert_null(write[2]);
	assert_string_equal(parents[0], at(p, "home"));
	assert_string_equal(parents[1], at(p, "tmp/"));
	assert_null(parents[2]);
	run_dir_free(p->d, false);
	p->d = NULL;
	assert_int_equal(access(at(p, "home/.local"), F_OK), -1);
	assert_int_equal(access(at(p, "home"), F_OK), 0);

	/* somebody else's state stays */
	assert_int_equal(mkdir(at(p, "home/.local"), 0755), 0);
	assert_true(open_with(p, NULL, NULL));
	run_dir_prepare(p->d);
	assert_int_equal(run_dir_needs(p->d, write, parents), 0);
	assert_string_equal(parents[0], at(p, "home/.local"));
	assert_int_equal(mkdir(at(p, "home/.local/state/other"), 0755), 0);
	run_dir_free(p->d, false);
	p->d = NULL;
	assert_int_equal(access(at(p, "home/.local/state/quern"), F_OK), -1);
	assert_int_equal(access(at(p, "home/.local/state/other"), F_OK), 0);

	/* one that was there is not ours to remove */
	assert_int_equal(mkdir(at(p, "given"), 0700), 0);
	assert_true(open_with(p, at(p, "given"), NULL));
	run_dir_prepare(p->d);
	assert_int_equal(run_dir_needs(p->d, write, parents), 0);
	assert_string_equal(write[0], at(p, "given"));
	assert_null(parents[0]);
	run_dir_free(p->d, false);
	p->d = NULL;
	assert_int_equal(access(at(p, "given"), F_OK), 0);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
		T(prepared_and_not_used),
		T(the_order_of_places),
		T(without_a_home),
		T(at_last_tmp),
		T(places_inside_a_writable_root_are_passed_over),
		T(explicit_ones_are_checked_at_once),
		T(foreign_leftovers_are_not_trusted),
		T(files_are_plain_and_unique),
		T(it_takes_max_bytes_and_no_more),
		T(many_files_stay_counted),
		T(what_is_kept_and_what_goes),
		T(the_tools_tmpdir_goes_in_any_case),
		T(the_umask_does_not_count),
		T(what_was_left_in_the_tmpdir_is_found_by_the_record),
		T(a_deep_tree_is_removed),
#undef T
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
