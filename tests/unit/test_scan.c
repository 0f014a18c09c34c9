/* What a scan finds, what it need not read again, and that its text holds all of it. */
#include "test.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "workspace_world.h"

static const struct scan_entry *entry(const struct scan *s, const char *name)
{
	const struct scan_entry *f = scan_find(s, name);

	if (!f)
		fail_msg("'%s' was not found", name);
	return f;
}

static void finds_files_links_and_directories(void **state)
{
	struct scan s;
	char hex[DIGEST_HEX + 1], sha[DIGEST_HEX + 1];

	(void)state;
	put("w/a.b", "dot");
	put("w/a/b", "slash");
	put_bytes("w/run", "#!/bin/sh\n", 10, 0755);
	assert_int_equal(symlink("../../etc/passwd", "w/out"), 0);
	assert_int_equal(mkdir("w/empty", 0700), 0);
	assert_int_equal(mkfifo("w/pipe", 0600), 0);
	scan_of("w", &s);
	assert_int_equal(s.n, 6);
	assert_int_equal(s.skipped, 1);
	for (size_t i = 1; i < s.n; i++)
		assert_true(strcmp(s.v[i - 1].name, s.v[i].name) < 0);
	assert_int_equal(entry(&s, "a.b")->size, 3);
	assert_int_equal(entry(&s, "run")->mode, 0755);
	assert_int_equal(entry(&s, "empty")->kind, FILE_DIRECTORY);
	assert_int_equal(entry(&s, "empty")->mode, 0700);
	assert_int_equal(entry(&s, "out")->kind, FILE_LINK);
	digest_of("../../etc/passwd", 16, hex);
	for (size_t i = 0; i < DIGEST_BYTES; i++)
		snprintf(sha + 2 * i, 3, "%02x", entry(&s, "out")->sha[i]);
	assert_string_equal(sha, hex);
	scan_release(&s);
}

static void leaves_out_what_is_skipped(void **state)
{
	struct place *p = *state;
	const char *const skip[] = { "out.log", "dir/in", "sub", NULL };
	struct scan s;
	int fd;

	put("w/out.log", "1");
	put("w/dir/in", "2");
	put("w/dir/out.log", "3");
	put("w/sub/x", "4");
	fd = open_dir("w");
	assert_int_equal(workspace_scan(fd, NULL, skip, &s, &p->e), 0);
	close(fd);
	assert_int_equal(s.n, 2);
	entry(&s, "dir/out.log");
	scan_release(&s);
}

static void names_of_any_depth(void **state)
{
	struct scan s;
	char name[32];
	int dir, depth = 0;

	(void)state;
	assert_int_equal(mkdir("w", 0755), 0);
	for (dir = open_dir("w"); depth < 2500; depth++) { /* deeper than a name may be long */
		snprintf(name, sizeof name, "%d", depth % 10);
		assert_int_equal(mkdirat(dir, name, 0755), 0);
		int next = openat(dir, name, O_RDONLY | O_DIRECTORY);
		assert_true(next >= 0);
		int file = openat(next, "f", O_WRONLY | O_CREAT, 0644);
		close(file);
		close(dir);
		dir = next;
	}
	close(dir);
	scan_of("w", &s);
	assert_int_equal(s.skipped, 2); /* what lies in the last that could be named */
	assert_int_equal(s.n, 2 * (4095 / 2) - 1 + 2);
	scan_release(&s);
}

static void is_read_back(void **state)
{
	struct place *p = *state;
	struct buf text = BUF_INIT(1 << 20);
	struct scan s, back;

	random_tree(p, "w");
	put("w/line\nbreak and \\", "x");
	put("w/cr\r", "x");
	scan_of("w", &s);
	scan_print_sums(&s, &text);
	assert_int_equal(scan_parse(buf_str(&text), text.len, &back, &p->e), 0);
	assert_int_equal(s.n, back.n);
	assert_int_equal(s.taken_ns, back.taken_ns);
	for (size_t i = 0; i < s.n; i++) {
		assert_string_equal(s.v[i].name, back.v[i].name);
		assert_true(scan_entry_same(&s.v[i], &back.v[i]));
		assert_int_equal(s.v[i].size, back.v[i].size);
		assert_int_equal(s.v[i].mtime_ns, back.v[i].mtime_ns);
		assert_int_equal(s.v[i].ctime_ns, back.v[i].ctime_ns);
		assert_int_equal(s.v[i].inode, back.v[i].inode);
	}
	scan_release(&back);
	put_bytes("sums", buf_str(&text), text.len, 0644);
	assert_int_equal(sh("cd w && sha256sum --quiet --strict -c ../sums"), 0);
	for (size_t cut = 0; cut < text.len; cut += 7) /* never more than a part of it, and never a crash */
		if (scan_parse(buf_str(&text), cut, &back, &p->e) == 0) {
			assert_true(back.n < s.n);
			scan_release(&back);
		}
	for (size_t at = 0; at < text.len; at += 3) {
		char was = text.data[at];
		text.data[at] = (char)below(p, 256);
		if (scan_parse(buf_str(&text), text.len, &back, &p->e) == 0)
			scan_release(&back);
		text.data[at] = was;
	}
	scan_release(&s);
	buf_release(&text);
}

static void rescan(const struct scan *known, struct scan *out)
{
	struct error e = ERROR_INIT;
	int fd = open_dir("w");

	assert_int_equal(workspace_scan(fd, known, NULL, out, &e), 0);
	close(fd);
}

static void reads_again_only_what_may_have_changed(void **state)
{
	struct scan s, again;

	(void)state;
	put("w/old", "same");
	put("w/new", "same");
	scan_of("w", &s);
	s.taken_ns = entry(&s, "old")->ctime_ns;
	for (size_t i = 0; i < s.n; i++)
		s.v[i].sha[0] ^= 1; /* what is not read keeps it */
	rescan(&s, &again); /* both were changed right before the scan: by their times alone nothing can be said */
	assert_memory_not_equal(entry(&again, "old")->sha, entry(&s, "old")->sha, DIGEST_BYTES);
	scan_release(&again);
	s.taken_ns = entry(&s, "new")->ctime_ns + 3000000000;
	rescan(&s, &again);
	assert_memory_equal(entry(&again, "old")->sha, entry(&s, "old")->sha, DIGEST_BYTES);
	scan_release(&again);
	put("w/new", "diff");
	const struct timespec times[2] = {
		{ entry(&s, "new")->mtime_ns / 1000000000, entry(&s, "new")->mtime_ns % 1000000000 },
		{ entry(&s, "new")->mtime_ns / 1000000000, entry(&s, "new")->mtime_ns % 1000000000 }
	};
	assert_int_equal(utimensat(AT_FDCWD, "w/new", times, 0), 0); /* made to look as before, but for its ctime */
	rescan(&s, &again);
	assert_memory_not_equal(entry(&again, "new")->sha, entry(&s, "new")->sha, DIGEST_BYTES);
	scan_release(&again);
	scan_release(&s);
}

static void list_of(struct scan *out)
{
	struct error e = ERROR_INIT;
	int fd = open_dir("w");

	assert_int_equal(workspace_list(fd, NULL, out, &e), 0);
	close(fd);
}

/* Of a list: how many changed, were added and deleted since. */
static void changed_since(const struct scan *before, size_t changed, size_t added, size_t deleted)
{
	struct error e = ERROR_INIT;
	struct scan after;
	struct changes c;

	rescan(before, &after);
	assert_true(after.listed);
	assert_int_equal(scan_compare(before, &after, &c, &e), 0);
	assert_int_equal(c.changed, changed);
	assert_int_equal(c.added, added);
	assert_int_equal(c.deleted, deleted);
	changes_release(&c);
	scan_release(&after);
}

static void a_list_reads_what_was_changed_just_before_it_alone(void **state)
{
	static const unsigned char none[DIGEST_BYTES];
	struct scan s;

	(void)state;
	put("w/gone", "1");
	put("w/dir/mode", "1");
	assert_int_equal(sh("ln -s old w/link"), 0);
	for (int tries = 0;; tries++) { /* until it is just before: the machine may be busy */
		put("w/old", "same");
		list_of(&s);
		assert_true(s.listed);
		if (memcmp(entry(&s, "old")->sha, none, DIGEST_BYTES) != 0)
			break;
		assert_true(tries < 1000);
		scan_release(&s);
	}
	changed_since(&s, 0, 0, 0);
	assert_int_equal(sh("touch w/old"), 0); /* its content is known to be the same */
	changed_since(&s, 0, 0, 0);
	assert_int_equal(sh("cd w && rm gone && chmod 600 dir/mode && ln -sfn dir link && echo x >new"), 0);
	changed_since(&s, 2, 1, 1);
	scan_release(&s);
}

static void a_list_goes_by_size_times_and_inode(void **state)
{
	struct scan s;

	(void)state;
	put("w/a", "same");
	put("w/b", "same");
	list_of(&s);
	for (size_t i = 0; i < s.n; i++) /* as if they were old */
		memset(s.v[i].sha, 0, DIGEST_BYTES);
	s.taken_ns += 3000000000;
	changed_since(&s, 0, 0, 0);
	put("w/a", "diff");
	changed_since(&s, 1, 0, 0);
	assert_int_equal(sh("cp -p w/b w/c && mv w/c w/b"), 0); /* another file, that looks the same */
	changed_since(&s, 2, 0, 0);
	assert_int_equal(sh("rm w/b && ln -s a w/b"), 0);
	changed_since(&s, 2, 0, 0);
	scan_release(&s);
}

static void a_list_is_read_back(void **state)
{
	struct place *p = *state;
	struct buf text = BUF_INIT(1 << 20);
	struct scan s, back;

	random_tree(p, "w");
	put("w/line\nbreak and \\", "x");
	assert_int_equal(sh("touch -d 1960-01-01T00:00:00.5Z w/before-1970"), 0);
	list_of(&s);
	for (size_t i = 0; i < s.n; i += 2) /* some of a long time ago */
		if (s.v[i].kind == FILE_REGULAR)
			memset(s.v[i].sha, 0, DIGEST_BYTES);
	scan_print_sums(&s, &text);
	assert_int_equal(scan_parse(buf_str(&text), text.len, &back, &p->e), 0);
	assert_true(back.listed);
	assert_int_equal(s.n, back.n);
	for (size_t i = 0; i < s.n; i++) {
		assert_string_equal(s.v[i].name, back.v[i].name);
		assert_true(scan_entry_same(&s.v[i], &back.v[i]));
		assert_int_equal(s.v[i].mtime_ns, back.v[i].mtime_ns);
	}
	assert_true(entry(&back, "before-1970")->mtime_ns < 0);
	scan_release(&back);
	scan_release(&s);
	buf_release(&text);
}

static void tells_a_closed_file_from_one_that_is_gone(void **state)
{
	struct place *p = *state;
	struct scan s, again;
	int fd;

	modes_hold();
	put("w/dir/f", "x");
	put("w/closed", "x");
	assert_int_equal(chmod("w/closed", 0), 0);
	scan_of("w", &s);
	assert_int_equal(s.n, 2);
	assert_int_equal(s.skipped, 1);
	fd = open_dir("w");
	assert_int_equal(workspace_scan(fd, &s, NULL, &again, &p->e), 0);
	scan_release(&again);
	assert_int_equal(chmod("w/dir", 0), 0);
	assert_int_equal(workspace_scan(fd, &s, NULL, &again, &p->e), -1);
	assert_non_null(strstr(p->e.msg, "'dir'"));
	close(fd);
	assert_int_equal(chmod("w/dir", 0755), 0);
	scan_release(&s);
}

/* What this process has read up to now, wherever it lay. */
static long long bytes_read(void)
{
	FILE *io = fopen("/proc/self/io", "re");
	long long n = -1;

	if (!io || fscanf(io, "rchar: %lld", &n) != 1)
		skip();
	fclose(io);
	return n;
}

static void holes_are_not_read(void **state)
{
	struct place *p = *state;
	struct buf text = BUF_INIT(1 << 20);
	struct scan s, back;

	assert_int_equal(sh("mkdir w w/d && truncate -s 10G w/sparse w/all && printf x | dd of=w/sparse bs=1 "
	                    "seek=5000000000 conv=notrunc status=none && : >w/d/plain"),
	                 0);
	long long began = bytes_read();
	scan_of("w", &s);
	assert_true(bytes_read() - began < 1 << 20);
	scan_print_sums(&s, &text);
	assert_int_equal(scan_parse(buf_str(&text), text.len, &back, &p->e), 0);
	for (size_t i = 0; i < s.n; i++)
		assert_true(scan_entry_same(&s.v[i], &back.v[i]));
	assert_int_equal(entry(&s, "sparse")->size, (int64_t)10 << 30);
	assert_false(scan_entry_same(entry(&s, "sparse"), entry(&s, "all")));
	put_bytes("sums", buf_str(&text), text.len, 0644);
	assert_int_equal(sh("cd w && test \"$(sha256sum --strict -c ../sums)\" = 'd/plain: OK'"), 0);
	scan_release(&back);
	scan_release(&s);
	buf_release(&text);
}

/* Of a file whose holes are not read: what is in it counts, and where, and not how it is stored. */
static void large_files_are_told_by_content(void **state)
{
	static const char *const how[] = { "seek=3 count=1", "seek=4 count=1", "seek=3 count=2", NULL };
	struct scan s;

	(void)state;
	assert_int_equal(
	        sh("mkdir w && yes | head -c 3000000 >mega && for f in a b c d e; do truncate -s 1100M w/$f && "
	           "dd if=mega of=w/$f bs=1M seek=100 conv=notrunc status=none; done"),
	        0);
	for (int i = 0; how[i]; i++)
		assert_int_equal(sh("dd if=%s of=w/%c bs=1M %s conv=notrunc status=none", i == 0 ? "/dev/zero" : "mega",
		                    "bcd"[i], how[i]),
		                 0);
	assert_int_equal(sh("truncate -s 1101M w/e"), 0);
	scan_of("w", &s);
	assert_true(scan_entry_same(entry(&s, "a"), entry(&s, "b")));
	for (size_t i = 0; i < s.n; i++)
		for (size_t j = 0; j < i; j++)
			assert_true(scan_entry_same(&s.v[i], &s.v[j]) ==
			            (s.v[i].name[0] == 'b' && s.v[j].name[0] == 'a'));
	scan_release(&s);
}

static void compares(void **state)
{
	struct place *p = *state;
	struct scan a, b;
	struct changes c;

	put("w/gone", "1");
	put("w/same", "1");
	put("w/mode", "1");
	put("w/text", "1");
	put("w/kind", "1");
	scan_of("w", &a);
	assert_int_equal(sh("cd w && rm gone kind && mkdir kind && chmod 755 mode && echo 2 >text && echo >kind/in"),
	                 0);
	scan_of("w", &b);
	assert_int_equal(scan_compare(&a, &b, &c, &p->e), 0);
	assert_int_equal(c.n, 5);
	assert_int_equal(c.added, 1);
	assert_int_equal(c.changed, 2);
	assert_int_equal(c.deleted, 2);
	changes_release(&c);
	scan_release(&a);
	scan_release(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(f) cmocka_unit_test_setup_teardown(f, place_setup, place_teardown)
		TEST(finds_files_links_and_directories),
		TEST(leaves_out_what_is_skipped),
		TEST(names_of_any_depth),
		TEST(is_read_back),
		TEST(reads_again_only_what_may_have_changed),
		TEST(a_list_reads_what_was_changed_just_before_it_alone),
		TEST(a_list_goes_by_size_times_and_inode),
		TEST(a_list_is_read_back),
		TEST(tells_a_closed_file_from_one_that_is_gone),
		TEST(holes_are_not_read),
		TEST(large_files_are_told_by_content),
		TEST(compares),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
