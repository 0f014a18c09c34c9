/* Patches and archives of what changed: git and tar make the second tree out of the first with them. */
#include "test.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "workspace/diff.h"
#include "workspace_world.h"

#define GIT "GIT_CONFIG_NOSYSTEM=1 HOME=/nonexistent git -c core.autocrlf=false -c init.defaultBranch=m "

/* The patch from a to b as a file. */
static size_t make_patch(struct place *p, const char *a, const char *b, const char *path)
{
	struct scan before, after;
	int a_fd = open_dir(a), b_fd = open_dir(b), out = open_out(path);
	size_t left_out = 0;

	scan_of(a, &before);
	scan_of(b, &after);
	if (workspace_patch(a_fd, b_fd, &before, &after, out, &left_out, &p->e))
		fail_msg("%s", p->e.msg);
	scan_release(&before);
	scan_release(&after);
	close(a_fd);
	close(b_fd);
	close(out);
	return left_out;
}

static void make_save(struct place *p, const char *a, const char *b, const char *path)
{
	struct scan before, after;
	int b_fd = open_dir(b), out = open_out(path);

	scan_of(a, &before);
	scan_of(b, &after);
	if (workspace_save(b_fd, &before, &after, out, &p->e))
		fail_msg("%s", p->e.msg);
	scan_release(&before);
	scan_release(&after);
	close(b_fd);
	close(out);
}

static void is_what_git_writes(void **state)
{
	struct place *p = *state;

	assert_int_equal(
	        sh("mkdir a && cd a && seq 30 >num && echo x >'sp ace' && printf 'no end' >end && "
	           "printf 'q\\n' >'t\tab' && ln -s old link && : >empty && echo run >mode && echo gone >gone && "
	           "printf 'a\\0b' >bin"),
	        0);
	assert_int_equal(sh("cp -a a b && cd b && sed -i 's/^7$/seven/;14d;s/^22$/x/;30d' num && echo y >'sp ace' && "
	                    "printf 'other' >end && printf 'r\\n' >'t\tab' && ln -sf new link && rm empty gone && "
	                    "chmod 755 mode && mkdir d && : >d/none && printf '#!x\\n' >d/x && chmod 755 d/x && printf "
	                    "'c\\0d' >bin"),
	                 0);
	make_patch(p, "a", "b", "ours");
	/* all but the binary hunks, which git compresses */
	assert_int_equal(
	        sh("cp -a a r && cd r && " GIT "init -q && " GIT "add -A && " GIT
	           "-c user.name=n -c user.email=e commit -qm m && find . -mindepth 1 -maxdepth 1 ! -name .git "
	           "-exec rm -rf {} + && cp -a ../b/. . && " GIT "add -A && " GIT
	           "diff --cached --full-index --binary --no-renames >../theirs"),
	        0);
	assert_int_equal(sh("for f in ours theirs; do sed '/^literal/,/^$/d; /^delta/,/^$/d' $f >$f.text; done; "
	                    "diff -u theirs.text ours.text"),
	                 0);
}

/* In a directory that is no repository, and in one. */
static void git_applies_it(struct place *p, const char *a, const char *b, bool repository)
{
	assert_int_equal(sh("rm -rf r && cp -a %s r", a), 0);
	make_patch(p, a, b, "patch");
	if (repository)
		assert_int_equal(sh("cd r && " GIT "init -q"), 0);
	if (sh("[ ! -s patch ] || (cd r && GIT_CEILING_DIRECTORIES=%s " GIT "apply --whitespace=nowarn ../patch)",
	       p->top))
		fail_msg("git does not apply the patch in %s", p->top);
	assert_int_equal(sh("rm -rf r/.git"), 0);
	same_trees("r", b, SAME_FILES | SAME_GIT);
}

static void random_trees(void **state)
{
	struct place *p = *state;

	for (unsigned i = 0; i < 6; i++) {
		assert_int_equal(sh("rm -rf a b c"), 0);
		random_tree(p, "a");
		assert_int_equal(sh("cp -a a b && find b -type f -exec chmod u+w {} +"), 0);
		change_tree(p, "b");
		git_applies_it(p, "a", "b", i % 2);
		git_applies_it(p, "b", "a", i % 2);
		random_tree(p, "c");
		git_applies_it(p, "a", "c", i % 2);
	}
}

static void git_takes_it_back(void **state)
{
	struct place *p = *state;

	random_tree(p, "a");
	assert_int_equal(sh("cp -a a b"), 0);
	change_tree(p, "b");
	make_patch(p, "a", "b", "patch");
	assert_int_equal(sh("cp -a b r && cd r && GIT_CEILING_DIRECTORIES=%s " GIT
	                    "apply -R --whitespace=nowarn ../patch",
	                    p->top),
	                 0);
	same_trees("r", "a", SAME_FILES | SAME_GIT);
}

static void leaves_out_what_git_keeps_for_itself(void **state)
{
	struct place *p = *state;

	put("a/.git/config", "1\n");
	put("a/sub/.GIT/x", "1\n");
	put("a/.gitignore", "1\n");
	assert_int_equal(sh("cp -a a b && echo 2 >b/.git/config && echo 2 >b/sub/.GIT/x && echo 2 >b/.gitignore"), 0);
	make_patch(p, "a", "b", "patch");
	assert_int_equal(sh("test $(grep -c '^diff' patch) = 1 && grep -q '^+++ b/.gitignore$' patch"), 0);
}

static void large_files_are_literal_or_named(void **state)
{
	struct place *p = *state;

	assert_int_equal(mkdir("a", 0755), 0);
	assert_int_equal(mkdir("b", 0755), 0);
	/* too long for a comparison of lines, though it is text; and more than a patch may hold, in no space at all */
	assert_int_equal(sh("yes 'a line of text' | head -c 17000000 >b/long; truncate -s 300M b/huge; echo >b/small"),
	                 0);
	assert_int_equal(make_patch(p, "a", "b", "patch"), 1);
	assert_int_equal(sh("grep -q '^# too large for a patch: huge' patch && cp -a a r && cd r && "
	                    "GIT_CEILING_DIRECTORIES=%s " GIT
	                    "apply ../patch && cmp long ../b/long && cmp small ../b/small",
	                    p->top),
	                 0);
}

/* ---- lines ---- */

static size_t changed(const struct lines *l)
{
	size_t n = 0;

	for (size_t i = 0; i < l->n; i++)
		n += l->changed[i];
	return n;
}

/* What is not marked must be the same, in order. */
static void check_lines(const struct lines *a, const struct lines *b)
{
	size_t i = 0, j = 0;

	for (;;) {
		while (i < a->n && a->changed[i])
			i++;
		while (j < b->n && b->changed[j])
			j++;
		if (i == a->n || j == b->n)
			break;
		assert_int_equal(a->at[i + 1] - a->at[i], b->at[j + 1] - b->at[j]);
		assert_memory_equal(a->text + a->at[i], b->text + b->at[j], a->at[i + 1] - a->at[i]);
		i++;
		j++;
	}
	assert_int_equal(i, a->n);
	assert_int_equal(j, b->n);
}

/* The number of lines that differ at least, by the textbook. */
static size_t least(const char *a, size_t n, const char *b, size_t m)
{
	size_t t[41][41] = { { 0 } };

	for (size_t i = 1; i <= n; i++)
		for (size_t j = 1; j <= m; j++)
			t[i][j] = a[2 * (i - 1)] == b[2 * (j - 1)] ? t[i - 1][j - 1] + 1
			          : t[i - 1][j] > t[i][j - 1]      ? t[i - 1][j]
			                                           : t[i][j - 1];
	return n + m - 2 * t[n][m];
}

static void finds_the_fewest_lines(void **state)
{
	struct place *p = *state;

	for (unsigned round = 0; round < 3000; round++) {
		char text[2][81];
		struct lines l[2];
		size_t n[2];
		for (int s = 0; s < 2; s++) {
			n[s] = below(p, 41);
			for (size_t i = 0; i < n[s]; i++) {
				text[s][2 * i] = (char)('a' + below(p, 1 + round % 6));
				text[s][2 * i + 1] = '\n';
			}
			assert_int_equal(lines_init(&l[s], text[s], 2 * n[s]), 0);
			assert_int_equal(l[s].n, n[s]);
		}
		assert_int_equal(diff_lines(&l[0], &l[1]), 0);
		check_lines(&l[0], &l[1]);
		assert_int_equal(changed(&l[0]) + changed(&l[1]), least(text[0], n[0], text[1], n[1]));
		lines_release(&l[0]);
		lines_release(&l[1]);
	}
}

/* Long texts that have all lines in common and no order: the search gives up in time, and what it says is true. */
static void gives_up_in_time(void **state)
{
	struct place *p = *state;
	struct buf text[2] = { BUF_INIT(1 << 24), BUF_INIT(1 << 24) };
	struct lines l[2];

	for (int s = 0; s < 2; s++) {
		for (unsigned i = 0; i < 200000; i++)
			buf_addf(&text[s], "%u\n", below(p, 500));
		assert_int_equal(lines_init(&l[s], buf_str(&text[s]), text[s].len), 0);
	}
	assert_int_equal(diff_lines(&l[0], &l[1]), 0);
	check_lines(&l[0], &l[1]);
	assert_true(changed(&l[0]) < l[0].n);
	for (int s = 0; s < 2; s++) {
		lines_release(&l[s]);
		buf_release(&text[s]);
	}
}

/* ---- the archive ---- */

static void restore(const char *a, const char *archive)
{
	assert_int_equal(sh("rm -rf r && cp -a %s r && cd r && tar -xf ../%s .quern-deleted 2>/dev/null && "
	                    "xargs -0 rm -df -- <.quern-deleted; rm -f .quern-deleted; "
	                    "tar -xpf ../%s --exclude=.quern-deleted",
	                    a, archive, archive),
	                 0);
}

static void an_archive_makes_the_second_tree(void **state)
{
	struct place *p = *state;

	for (unsigned i = 0; i < 8; i++) {
		assert_int_equal(sh("rm -rf a b"), 0);
		random_tree(p, "a");
		assert_int_equal(sh("cp -a a b"), 0);
		change_tree(p, "b");
		assert_int_equal(sh("cd b && mkdir -p only/a/dir && chmod 700 only && rm -rf d1"), 0);
		make_save(p, "a", "b", "save.tar.zst");
		restore("a", "save.tar.zst");
		same_trees("r", "b", 0);
	}
}

static void it_is_put_back_over_the_first(void **state)
{
	struct place *p = *state;

	for (unsigned i = 0; i < 8; i++) {
		assert_int_equal(sh("rm -rf a b r"), 0);
		random_tree(p, "a");
		assert_int_equal(sh("cp -a a b"), 0);
		change_tree(p, "b");
		assert_int_equal(sh("cd b && mkdir -p only/a/dir && echo x >only/a/f && chmod 500 only/a && rm -rf d1"),
		                 0);
		make_save(p, "a", "b", "save.tar.zst");
		assert_int_equal(sh("cp -a a r"), 0);
		int dir = open_dir("r"), in = open("save.tar.zst", O_RDONLY);
		if (workspace_restore(dir, in, &p->e))
			fail_msg("%s", p->e.msg);
		close(dir);
		close(in);
		same_trees("r", "b", 0);
		assert_int_equal(sh("chmod -R u+rwx b r"), 0);
	}
}

/* In the archive, for tar, and when they are put back: at the beginning, at the end, between, many of them, all of it.
 */
static void holes_stay_holes(void **state)
{
	struct place *p = *state;

	assert_int_equal(sh("mkdir a b && cd b && yes | head -c 300000 >../d && truncate -s 10G huge all && "
	                    "dd if=../d of=huge bs=1M seek=5000 conv=notrunc status=none && cp ../d front && "
	                    "truncate -s 20M front back many && dd if=../d of=back bs=100000 seek=206 conv=notrunc "
	                    "status=none && for i in $(seq 50); do dd if=../d of=many bs=1000 seek=$((i * 397)) "
	                    "count=$((i * 3)) conv=notrunc status=none; done; cp ../d none; : >empty"),
	                 0);
	make_save(p, "a", "b", "save.tar.zst");
	assert_int_equal(sh("test $(stat -c %%s save.tar.zst) -lt 100000 && mkdir r t && tar -xSf save.tar.zst -C t"),
	                 0);
	int dir = open_dir("r"), in = open("save.tar.zst", O_RDONLY);
	if (workspace_restore(dir, in, &p->e))
		fail_msg("%s", p->e.msg);
	close(dir);
	close(in);
	assert_int_equal(sh("for d in t r; do (cd $d && for f in front back many none empty; do "
	                    "cmp $f ../b/$f || exit 1; done && for f in huge all; do "
	                    "test $(stat -c %%s $f) = $((10 << 30)) || exit 1; done && "
	                    "tail -c +$((5000 << 20 | 1)) huge | head -c 400000 | cmp -n 300000 - ../d && "
	                    "test $(du -sk . | cut -f 1) -lt 20000) || exit 1; done"),
	                 0);
}

static void an_archive_cannot_lead_out(void **state)
{
	struct place *p = *state;
	static const char *const hostile[] = {
		"mkdir -p t && cd t && echo x >../out.txt && tar -P --zstd -cf ../h ../out.txt",
		"mkdir -p t/d && echo x >t/d/f && cd t && tar --zstd -cf ../h d/f && rm -rf "
		"../r/d && ln -s ../victim ../r/d",
		"printf 'x' >f && tar -P --zstd -cf h $PWD/f"
	};

	for (size_t i = 0; i < sizeof hostile / sizeof *hostile; i++) {
		assert_int_equal(sh("rm -rf t r victim h out.txt; mkdir r victim; echo kept >victim/f"), 0);
		assert_int_equal(sh("%s", hostile[i]), 0);
		int dir = open_dir("r"), in = open("h", O_RDONLY);
		assert_int_equal(workspace_restore(dir, in, &p->e), -1);
		close(dir);
		close(in);
		assert_true(holds("victim/f", "kept\n"));
	}
}

static void an_archive_of_nothing_is_one(void **state)
{
	struct place *p = *state;

	put("a/x", "1");
	assert_int_equal(sh("cp -a a b"), 0);
	make_save(p, "a", "b", "save.tar.zst");
	assert_int_equal(sh("test -s save.tar.zst && test -z \"$(tar -tf save.tar.zst)\""), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(f) cmocka_unit_test_setup_teardown(f, place_setup, place_teardown)
		TEST(is_what_git_writes),
		TEST(random_trees),
		TEST(git_takes_it_back),
		TEST(leaves_out_what_git_keeps_for_itself),
		TEST(large_files_are_literal_or_named),
		TEST(finds_the_fewest_lines),
		TEST(gives_up_in_time),
		TEST(an_archive_makes_the_second_tree),
		TEST(it_is_put_back_over_the_first),
		TEST(holes_stay_holes),
		TEST(an_archive_cannot_lead_out),
		TEST(an_archive_of_nothing_is_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
