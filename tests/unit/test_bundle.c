/* A run in one file: what is written can be read, also by tar, whatever cut it off; what others made is not trusted. */
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
#include <unistd.h>

#include "base/io.h"
#include "nomem.h"
#include "record/bundle.h"

#define ROOM   ((int64_t)1 << 30)
#define LARGE  ((size_t)700 << 10)
#define HEADER 512

static char dir[64], path[128];

static int setup(void **state)
{
	(void)state;
	/* where nothing waits for a disk, if there is such a place */
	snprintf(dir, sizeof dir, "%s/quern-bundle-XXXXXX", access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm");
	if (!mkdtemp(dir))
		return -1;
	snprintf(path, sizeof path, "%s/run.tar.zst", dir);
	return 0;
}

static int teardown(void **state)
{
	char other[160];

	(void)state;
	snprintf(other, sizeof other, "%s/other", dir);
	unlink(other);
	unlink(path);
	return rmdir(dir);
}

/* ---- what is read, as text: "name:bytes;" for each entry, content by its length if it is long ---- */

struct seen {
	struct buf text, content;
	size_t open; /* entries that began and did not end */
	size_t pieces, largest;
	int stop_after; /* 0 = never */
};

static int see(void *ctx, const char *name, const char *p, size_t n, bool last, struct error *e)
{
	struct seen *s = ctx;

	(void)e;
	if (!p && !last) {
		s->open++;
		buf_clear(&s->content);
		return 0;
	}
	s->pieces++;
	if (n > s->largest)
		s->largest = n;
	buf_add(&s->content, p, n);
	if (!last)
		return 0;
	s->open--;
	buf_addf(&s->text, s->content.len > 100 ? "%s:%zu;" : "%s:", name, s->content.len);
	if (s->content.len <= 100)
		buf_addf(&s->text, "%s;", buf_str(&s->content));
	return s->stop_after && --s->stop_after == 0 ? 7 : 0;
}

static struct seen seen_new(void)
{
	return (struct seen){ .text = BUF_INIT(1 << 20), .content = BUF_INIT(BUF_HUGE) };
}

static void seen_release(struct seen *s)
{
	buf_release(&s->text);
	buf_release(&s->content);
}

/* What is in the file at path. */
static void holds(const char *expected, bool cut)
{
	struct seen s = seen_new();
	struct error e = ERROR_INIT;
	bool was_cut;

	int rc = bundle_read(path, ROOM, see, &s, &was_cut, &e);
	if (rc)
		fail_msg("%s", e.msg);
	assert_string_equal(buf_str(&s.text), expected);
	assert_int_equal(s.open, 0);
	assert_int_equal(was_cut, cut);
	seen_release(&s);
}

static void add(struct bundle *b, const char *name, const char *text)
{
	struct error e = ERROR_INIT;

	if (bundle_add(b, name, text, strlen(text), &e))
		fail_msg("%s", e.msg);
}

static struct bundle *create(bool append)
{
	struct error e = ERROR_INIT;
	struct bundle *b = bundle_create(path, append, &e);

	if (!b)
		fail_msg("%s", e.msg);
	return b;
}

static void close_bundle(struct bundle *b)
{
	struct error e = ERROR_INIT;

	if (bundle_close(b, &e))
		fail_msg("%s", e.msg);
}

static void put_file(const char *p, size_t n)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(io_write_all(fd, p, n), 0);
	close(fd);
}

static struct buf get_file(void)
{
	struct buf b = BUF_INIT(BUF_HUGE);
	struct error e = ERROR_INIT;

	if (io_read_file(AT_FDCWD, path, &b, &e))
		fail_msg("%s", e.msg);
	return b;
}

static void small_bundle(void)
{
	struct bundle *b = create(false);

	add(b, "quern.json", "{}");
	add(b, "events/000001.ndjson", "{\"type\":\"system\"}\n");
	add(b, "exchanges/000002.request", "");
	add(b, "events/000002.ndjson", "one\ntwo\n");
	assert_int_equal(bundle_entries(b), 4);
	close_bundle(b);
}

#define SMALL                                                                                                          \
	"quern.json:{};events/000001.ndjson:{\"type\":\"system\"}\n;exchanges/000002.request:;"                        \
	"events/000002.ndjson:one\ntwo\n;"

static void test_what_is_written_is_read(void **state)
{
	char *large = malloc(LARGE);
	struct error e = ERROR_INIT;
	struct stat st;

	(void)state;
	assert_non_null(large);
	for (size_t i = 0; i < LARGE; i++)
		large[i] = (char)(i * 2654435761U >> 13);
	struct bundle *b = create(false);
	add(b, "quern.json", "{}");
	assert_int_equal(bundle_add(b, "files/large", large, LARGE, &e), 0);
	assert_int_equal(bundle_sync(b, &e), 0);
	holds("quern.json:{};files/large:716800;", false); /* while it is being written */
	close_bundle(b);
	free(large);
	holds("quern.json:{};files/large:716800;", false);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	struct seen s = seen_new();
	bool cut;
	s.stop_after = 1;
	assert_int_equal(bundle_read(path, ROOM, see, &s, &cut, &e), 7);
	assert_string_equal(buf_str(&s.text), "quern.json:{};");
	seen_release(&s);
}

static void test_a_file_is_streamed(void **state)
{
	struct seen s = seen_new();
	struct error e = ERROR_INIT;
	char other[160], block[4096];
	bool cut;

	(void)state;
	memset(block, 'x', sizeof block);
	snprintf(other, sizeof other, "%s/other", dir);
	int fd = open(other, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	for (int i = 0; i < 500; i++)
		assert_int_equal(write(fd, block, sizeof block), sizeof block);
	struct bundle *b = create(false);
	assert_int_equal(bundle_add_file(b, "files/other", fd, &e), 0);
	close(fd);
	fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	assert_int_equal(bundle_add_file(b, "files/null", fd, &e), -1);
	assert_string_equal(e.msg, "what should go into the bundle as 'files/null' is no regular file");
	close(fd);
	add(b, "files/last", "x"); /* a file that could not go in is no broken bundle */
	close_bundle(b);
	assert_int_equal(bundle_read(path, ROOM, see, &s, &cut, &e), 0);
	assert_string_equal(buf_str(&s.text), "files/other:2048000;files/last:x;");
	assert_true(s.largest <= (size_t)1 << 20);
	seen_release(&s);
}

static void test_tar_reads_it(void **state)
{
	char command[600];

	(void)state;
	small_bundle();
	snprintf(command, sizeof command,
	         "test \"$(tar --zstd -tf %s | tr '\\n' ' ')\" = "
	         "'quern.json events/000001.ndjson exchanges/000002.request events/000002.ndjson ' && "
	         "test \"$(tar --zstd -xOf %s events/000002.ndjson 2>&1)\" = \"$(printf 'one\\ntwo\\n')\"",
	         path, path);
	assert_int_equal(system(command), 0);
	struct buf whole = get_file();
	buf_release(&whole);
}

/* Cut at each byte: all whole entries come out, and it can be gone on with. */
static void test_cut_anywhere(void **state)
{
	static const char *const entries[] = { "quern.json:{};", "events/000001.ndjson:{\"type\":\"system\"}\n;",
		                               "exchanges/000002.request:;", "events/000002.ndjson:one\ntwo\n;", "" };
	size_t whole = 0, ends[8], nends = 0;
	struct error e = ERROR_INIT;
	struct seen s = seen_new();

	(void)state;
	small_bundle();
	struct buf all = get_file();
	for (size_t n = 1; n <= all.len; n++) {
		bool cut;
		put_file(all.data, n);
		buf_clear(&s.text);
		if (bundle_read(path, ROOM, see, &s, &cut, &e))
			fail_msg("at %zu: %s", n, e.msg);
		if (!cut)
			ends[nends++] = n;
		struct buf expected = BUF_INIT(4096);
		for (size_t i = 0; i < nends; i++)
			buf_adds(&expected, entries[i]);
		assert_string_equal(buf_str(&s.text), buf_str(&expected));
		assert_int_equal(s.open, 0);
		whole += !cut;

		struct bundle *b = create(true);
		assert_int_equal(bundle_entries(b), nends > 4 ? 4 : nends);
		add(b, "events/000003.ndjson", "more\n");
		close_bundle(b);
		buf_adds(&expected, "events/000003.ndjson:more\n;");
		holds(buf_str(&expected), false);
		buf_release(&expected);
	}
	assert_int_equal(whole, 5); /* and the end of the archive */
	assert_int_equal(ends[4], all.len);
	buf_release(&all);
	seen_release(&s);
}

static void test_going_on_many_times(void **state)
{
	struct buf expected = BUF_INIT(4096);

	(void)state;
	for (int i = 0; i < 5; i++) {
		char text[20];
		struct bundle *b = create(true); /* the first time there is none */
		assert_int_equal(bundle_entries(b), i);
		snprintf(text, sizeof text, "run %d", i);
		add(b, "quern.json", text);
		close_bundle(b);
		buf_addf(&expected, "quern.json:run %d;", i);
		holds(buf_str(&expected), false);
	}
	put_file("", 0);
	struct bundle *b = create(true); /* the shell has made it */
	add(b, "quern.json", "{}");
	close_bundle(b);
	holds("quern.json:{};", false);
	buf_release(&expected);
}

static void test_what_was_there_stays_until_there_is_more(void **state)
{
	(void)state;
	put_file("precious", 8);
	close_bundle(create(false));
	struct buf b = get_file();
	assert_string_equal(buf_str(&b), "precious");
	buf_release(&b);
	small_bundle();
	holds(SMALL, false);
}

static void no_going_on(const char *why)
{
	struct error e = ERROR_INIT;

	assert_null(bundle_create(path, true, &e));
	if (!strstr(e.msg, why))
		fail_msg("'%s' says nothing of '%s'", e.msg, why);
}

/* ---- a disk that is full ---- */

static void test_no_room(void **state)
{
	struct error e = ERROR_INIT;
	struct rlimit old, limit;
	char noise[60000];
	struct stat st;
	int rc = 0, whole = 0;

	(void)state;
	for (size_t i = 0; i < sizeof noise; i++)
		noise[i] = (char)rand();
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
	limit = old;
	limit.rlim_cur = 200000;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	struct bundle *b = create(false);
	while (whole < 10 && (rc = bundle_add(b, "files/noise", noise, sizeof noise, &e)) == 0)
		whole++;
	setrlimit(RLIMIT_FSIZE, &old);
	assert_int_equal(rc, -1);
	assert_non_null(strstr(e.msg, "cannot write the bundle '"));
	assert_non_null(strstr(e.msg, "File too large"));
	assert_int_equal(whole, 3);
	assert_int_equal(bundle_add(b, "files/noise", noise, 1, &e), -1);
	assert_int_equal(bundle_close(b, &e), 0);
	holds("files/noise:60000;files/noise:60000;files/noise:60000;", false);
	assert_int_equal(stat(path, &st), 0);
	assert_true(st.st_size < 190000);
}

static void test_a_full_device(void **state)
{
	struct error e = ERROR_INIT;

	(void)state;
	struct bundle *b = bundle_create("/dev/full", false, &e);
	assert_non_null(b);
	assert_int_equal(bundle_add(b, "quern.json", "{}", 2, &e), -1);
	assert_non_null(strstr(e.msg, "No space left on device"));
	bundle_close(b, &e);
	assert_null(bundle_create("/nonexistent/run.tar.zst", false, &e));
	assert_non_null(strstr(e.msg, "cannot create the bundle '/nonexistent/run.tar.zst': No such file"));
}

/* ---- made by somebody else ---- */

struct tar_row {
	const char *name;
	char type;
	const char *link;
	const char *content;
	long long size; /* -1 = the content's */
};

static void octal(char *out, size_t digits, unsigned long long n)
{
	for (; digits--; n /= 8)
		out[digits] = (char)('0' + n % 8);
}

static void tar_entry(struct buf *out, const struct tar_row *row)
{
	char h[HEADER] = "";
	unsigned sum = 0;
	size_t n = row->content ? strlen(row->content) : 0;

	memcpy(h, row->name, strlen(row->name) < 100 ? strlen(row->name) : 100);
	octal(h + 100, 7, 0644);
	octal(h + 124, 11, row->size >= 0 ? (unsigned long long)row->size : n);
	memset(h + 148, ' ', 8);
	h[156] = row->type;
	if (row->link)
		memcpy(h + 157, row->link, strlen(row->link));
	memcpy(h + 257, "ustar\00000", 8);
	for (size_t i = 0; i < HEADER; i++)
		sum += (unsigned char)h[i];
	octal(h + 148, 6, sum);
	h[154] = '\0';
	buf_add(out, h, HEADER);
	buf_add(out, row->content, n);
	while (out->len % HEADER)
		buf_addc(out, '\0');
}

static void block(struct buf *out, unsigned type, bool last, size_t size)
{
	unsigned head = (unsigned)(size << 3) | type << 1 | last;

	buf_addc(out, (char)(head & 255));
	buf_addc(out, (char)(head >> 8 & 255));
	buf_addc(out, (char)(head >> 16));
}

static void frame_head(struct buf *out)
{
	buf_add(out, "\x28\xB5\x2F\xFD\0\x50", 6); /* no content size, a window of 1 MiB */
}

/* The bytes as a frame that compresses nothing. */
static void frame(struct buf *out, const struct buf *bytes)
{
	frame_head(out);
	block(out, 0, true, bytes->len);
	buf_add(out, bytes->data, bytes->len);
}

static void refused(int64_t most, const char *why)
{
	struct seen s = seen_new();
	struct error e = ERROR_INIT;
	bool cut;

	if (bundle_read(path, most, see, &s, &cut, &e) != -1)
		fail_msg("nothing was said of '%s'", why);
	if (!strstr(e.msg, why))
		fail_msg("'%s' says nothing of '%s'", e.msg, why);
	seen_release(&s);
}

static void test_hostile_entries(void **state)
{
	static const struct {
		struct tar_row row;
		const char *why;
	} rows[] = {
		{ { "../out", '0', NULL, "x", -1 }, "its entry '../out' has a name with '..'" },
		{ { "a/../../out", '0', NULL, "x", -1 }, "its entry 'a/../../out' has a name with '..'" },
		{ { "events/..", '5', NULL, NULL, -1 }, "a name with '..'" },
		{ { "/etc/passwd", '0', NULL, "x", -1 }, "its entry '/etc/passwd' has an absolute name" },
		{ { "job.yaml", '2', "/etc/passwd", NULL, -1 }, "its entry 'job.yaml' is no regular file" },
		{ { "job.yaml", '1', "quern.json", NULL, -1 }, "its entry 'job.yaml' is no regular file" },
		{ { "tty", '3', NULL, NULL, -1 }, "its entry 'tty' is no regular file" },
		{ { "pipe\033[31m", '6', NULL, NULL, -1 }, "its entry 'pipe\\x1b[31m' is no regular file" },
		{ { "files/lie", '0', NULL, "x", 077777 }, "can be read: Truncated tar archive" },
		{ { "files/huge", '0', NULL, "x", 077777777777LL }, "'files/huge' makes it larger than what is taken" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct buf tar = BUF_INIT(1 << 16), out = BUF_INIT(1 << 17);
		const struct tar_row first = { "quern.json", '0', NULL, "{}", -1 };
		tar_entry(&tar, &first);
		tar_entry(&tar, &rows[i].row);
		frame(&out, &tar);
		put_file(out.data, out.len);
		refused(1 << 20, rows[i].why);
		no_going_on("it was not written as a bundle"); /* more than one entry in its frame */
		buf_release(&tar);
		buf_release(&out);
	}
}

/* The name that counts is the one that libarchive finds. */
static void test_a_name_that_is_overridden(void **state)
{
	const struct tar_row rows[] = { { "x", 'x', NULL, "19 path=../escaped\n", -1 }, { "ok", '0', NULL, "x", -1 } };
	struct buf tar = BUF_INIT(1 << 16), out = BUF_INIT(1 << 17);

	(void)state;
	tar_entry(&tar, &rows[0]);
	tar_entry(&tar, &rows[1]);
	frame(&out, &tar);
	put_file(out.data, out.len);
	refused(ROOM, "its entry '../escaped' has a name with '..'");
	buf_release(&tar);
	buf_release(&out);
}

/* A few bytes that become many: what was asked for as a maximum holds, and empty entries count as well. */
static void test_bombs(void **state)
{
	const struct tar_row large = { "files/zeros", '0', NULL, NULL, (long long)1 << 32 },
	                     nothing = { "n", '0', NULL, "", -1 };
	struct buf tar = BUF_INIT(1 << 16), out = BUF_INIT(1 << 24);

	(void)state;
	tar_entry(&tar, &large);
	frame_head(&out);
	block(&out, 0, false, tar.len);
	buf_add(&out, tar.data, tar.len);
	for (int i = 0; i < 32768; i++) {
		block(&out, 1, i == 32767, (size_t)128 << 10);
		buf_addc(&out, '\0');
	}
	put_file(out.data, out.len);
	refused((int64_t)1 << 24, "'files/zeros' makes it larger than what is taken");
	buf_clear(&tar);
	buf_clear(&out);
	for (int i = 0; i < 100; i++)
		tar_entry(&tar, &nothing);
	frame(&out, &tar);
	put_file(out.data, out.len);
	refused(100 * HEADER - 1, "'n' makes it larger");
	struct seen s = seen_new();
	struct error e = ERROR_INIT;
	bool cut;
	assert_int_equal(bundle_read(path, 100 * HEADER, see, &s, &cut, &e), 0);
	seen_release(&s);
	buf_release(&tar);
	buf_release(&out);
}

static void test_no_bundle_at_all(void **state)
{
	struct buf text = BUF_INIT(1000), out = BUF_INIT(2000);
	static const char *const others[] = { "", "hello", "{\"type\":\"system\"}\n", "PK\3\4" };

	(void)state;
	for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
		put_file(others[i], strlen(others[i]));
		refused(ROOM, "is no bundle");
		if (!*others[i])
			continue;
		no_going_on("it was not written as a bundle");
		struct buf b = get_file();
		assert_string_equal(buf_str(&b), others[i]);
		buf_release(&b);
	}
	buf_adds(&text, "compressed, and no archive");
	frame(&out, &text);
	put_file(out.data, out.len);
	refused(ROOM, "is no bundle that can be read");
	no_going_on("it was not written as a bundle");
	assert_true(bundle_is(out.data, out.len));
	assert_false(bundle_is(out.data, 3));
	assert_false(bundle_is("{\"type", 6));
	unlink(path);
	refused(ROOM, "No such file or directory");
	assert_int_equal(mkfifo(path, 0600), 0);
	refused(ROOM, "cannot read '"); /* at once */
	buf_release(&text);
	buf_release(&out);
}

/* Blocks that a disk left empty, or that are of no type, are an end that is cut off; nothing is read without end. What
 * has the form of a frame and cannot be unpacked is said: something is missing there that may have been whole. */
static void test_damage_behind_whole_entries(void **state)
{
	static const struct {
		char byte;
		bool cut;
	} rows[] = { { '\0', true }, { '\x0e', true }, { '\xff', true }, { '3', false } };

	(void)state;
	small_bundle();
	struct buf all = get_file();
	for (size_t row = 0; row < sizeof rows / sizeof *rows; row++) {
		struct buf bad = BUF_INIT(BUF_HUGE);
		buf_add(&bad, all.data, all.len);
		frame_head(&bad);
		for (int i = 0; i < 5000; i++)
			buf_addc(&bad, rows[row].byte);
		put_file(bad.data, bad.len);
		buf_release(&bad);
		if (!rows[row].cut) {
			refused(ROOM, "is no bundle that can be read: Zstd decompression failed");
			continue;
		}
		holds(SMALL, true);
		close_bundle(create(true));
		holds(SMALL, false);
	}
	buf_release(&all);
}

/* Everything about a bundle once, with the n-th allocation failing. What was written whole is there all the same. */
static int all_of_it(struct error *e)
{
	struct seen s = seen_new();
	bool cut;
	struct bundle *b = bundle_create(path, true, e);
	int rc = b ? 0 : -1, fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	if (rc == 0)
		rc = bundle_add(b, "quern.json", "{}", 2, e);
	if (rc == 0)
		rc = bundle_add_file(b, "files/large", fd, e);
	if (bundle_close(b, rc ? NULL : e))
		rc = -1;
	close(fd);
	if (rc == 0)
		rc = bundle_read(path, ROOM, see, &s, &cut, e);
	seen_release(&s);
	return rc;
}

static void test_without_memory(void **state)
{
	struct error e;
	bool failed = true;
	int n = 0;

	(void)state;
	for (; failed; n++) {
		small_bundle();
		e = (struct error)ERROR_INIT;
		nomem.left = n;
		nomem.failed = false;
		int rc = all_of_it(&e);
		nomem.left = -1;
		failed = nomem.failed;
		if (!failed)
			assert_int_equal(rc, 0);
		else if (rc && e.code != ERR_NOMEM)
			fail_msg("%d: %s", n, e.msg);
		struct seen s = seen_new();
		bool cut;
		if (bundle_read(path, ROOM, see, &s, &cut, &e))
			fail_msg("%d: %s", n, e.msg);
		assert_memory_equal(buf_str(&s.text), SMALL, sizeof SMALL - 1);
		seen_release(&s);
	}
	assert_true(n > 10);
}

int main(void)
{
	nomem.left = -1;

	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_what_is_written_is_read, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_file_is_streamed, setup, teardown),
		cmocka_unit_test_setup_teardown(test_tar_reads_it, setup, teardown),
		cmocka_unit_test_setup_teardown(test_cut_anywhere, setup, teardown),
		cmocka_unit_test_setup_teardown(test_going_on_many_times, setup, teardown),
		cmocka_unit_test_setup_teardown(test_what_was_there_stays_until_there_is_more, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_room, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_full_device, setup, teardown),
		cmocka_unit_test_setup_teardown(test_hostile_entries, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_name_that_is_overridden, setup, teardown),
		cmocka_unit_test_setup_teardown(test_bombs, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_bundle_at_all, setup, teardown),
		cmocka_unit_test_setup_teardown(test_damage_behind_whole_entries, setup, teardown),
		cmocka_unit_test_setup_teardown(test_without_memory, setup, teardown),
	};

	return cmocka_run_group_tests_name("bundle", tests, NULL, NULL);
}
