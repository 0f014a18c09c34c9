/* Archives that are put together here, unpacked beside a victim. */
#include "test.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/io.h"
#include "base/tree.h"
#include "workspace/workspace.h"

#define ROUNDS 400

static const struct unpack_limits plenty = { 1000000, (int64_t)1 << 30, 1000 };

/* ---- a kernel without openat2 ---- */

static bool no_openat2;

long __real_syscall(long nr, long a, long b, long c, long d, long e, long f);
long __wrap_syscall(long nr, long a, long b, long c, long d, long e, long f);

long __wrap_syscall(long nr, long a, long b, long c, long d, long e, long f)
{
	if (nr == SYS_openat2 && no_openat2) {
		errno = ENOSYS;
		return -1;
	}
	return __real_syscall(nr, a, b, c, d, e, f);
}

/* ---- a tar ---- */

static void number(char *to, int width, unsigned long long n)
{
	snprintf(to, (size_t)width, "%0*llo", width - 1, n);
}

/* One block; names longer than its fields come in a pax record before it. */
static void add_header(struct buf *tar, const char *name, char type, const char *link, unsigned mode, size_t size)
{
	char h[512] = { 0 };
	unsigned sum = 0;

	memcpy(h, name, strnlen(name, 100));
	memcpy(h + 157, link, strnlen(link, 100));
	number(h + 100, 8, mode);
	number(h + 108, 8, 0);
	number(h + 116, 8, 0);
	number(h + 124, 12, size);
	number(h + 136, 12, 1000000000);
	memset(h + 148, ' ', 8);
	h[156] = type;
	memcpy(h + 257, "ustar\00000", 8);
	for (size_t i = 0; i < sizeof h; i++)
		sum += (unsigned char)h[i];
	snprintf(h + 148, 8, "%06o", sum);
	assert_int_equal(buf_add(tar, h, sizeof h), 0);
}

static void add_blocks(struct buf *tar, const char *p, size_t n)
{
	static const char zeros[512];

	buf_add(tar, p, n);
	assert_int_equal(buf_add(tar, zeros, (512 - n % 512) % 512), 0);
}

/* "%d path=...\n" with the length of it all. */
static void add_record(struct buf *pax, const char *key, const char *value)
{
	size_t n = strlen(key) + strlen(value) + 3, len = n;
	char digits[32];

	do {
		len = n + (size_t)snprintf(digits, sizeof digits, "%zu", len);
	} while (strlen(digits) + n != len);
	buf_addf(pax, "%zu %s=%s\n", len, key, value);
}

static void add_entry(struct buf *tar, const char *name, char type, const char *link, const char *data)
{
	struct buf pax = BUF_INIT(1 << 20);

	if (strlen(name) > 99)
		add_record(&pax, "path", name);
	if (strlen(link) > 99)
		add_record(&pax, "linkpath", link);
	if (pax.len) {
		add_header(tar, "pax", 'x', "", 0644, pax.len);
		add_blocks(tar, pax.data, pax.len);
	}
	add_header(tar, name, type, link, type == '5' ? 0755 : 0644, strlen(data));
	add_blocks(tar, data, strlen(data));
	buf_release(&pax);
}

static void add_end(struct buf *tar)
{
	static const char zeros[1024];

	assert_int_equal(buf_add(tar, zeros, sizeof zeros), 0);
}

/* ---- a place ---- */

struct place {
	char top[64];
	int dir; /* top/w */
	struct error e;
};

static int begin(void **state)
{
	struct place *p = calloc(1, sizeof *p);
	char path[128];

	snprintf(p->top, sizeof p->top, "/tmp/quern-unpack-XXXXXX");
	if (!mkdtemp(p->top))
		return -1;
	snprintf(path, sizeof path, "%s/victim", p->top);
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0 || io_write_all(fd, "victim", 6) || close(fd))
		return -1;
	snprintf(path, sizeof path, "%s/outside", p->top);
	if (mkdir(path, 0700))
		return -1;
	snprintf(path, sizeof path, "%s/w", p->top);
	if (mkdir(path, 0700))
		return -1;
	p->dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	*state = p;
	umask(022);
	return p->dir < 0 ? -1 : 0;
}

static int end(void **state)
{
	struct place *p = *state;

	no_openat2 = false;
	close(p->dir);
	int rc = tree_remove(p->top);
	free(p);
	return rc;
}

static int count_entries(const char *path)
{
	DIR *d = opendir(path);
	int n = -2;

	assert_non_null(d);
	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

static void assert_neighbours(const struct place *p)
{
	struct buf text = BUF_INIT(100);
	char path[128];
	struct error e;

	assert_int_equal(count_entries(p->top), 3);
	snprintf(path, sizeof path, "%s/outside", p->top);
	assert_int_equal(count_entries(path), 0);
	snprintf(path, sizeof path, "%s/victim", p->top);
	assert_int_equal(io_read_file(AT_FDCWD, path, &text, &e), 0);
	assert_string_equal(buf_str(&text), "victim");
	buf_release(&text);
}

/* The end mark is added. */
static int unpack(struct place *p, struct buf *tar, const struct unpack_limits *limits)
{
	int fd = memfd_create("tar", MFD_CLOEXEC);

	add_end(tar);
	assert_true(fd >= 0);
	assert_int_equal(io_write_all(fd, tar->data, tar->len), 0);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	p->e = (struct error)ERROR_INIT;
	int rc = workspace_unpack(fd, p->dir, limits, &p->e);
	close(fd);
	buf_release(tar);
	assert_neighbours(p);
	return rc;
}

static void clear(struct place *p)
{
	assert_int_equal(tree_empty(p->dir), 0);
}

/* ---- names and links ---- */

static void names(void **state)
{
	static const struct {
		const char *name, *error; /* NULL: it is made, as */
		const char *made;
	} rows[] = {
		{ "a", NULL, "a" },
		{ "./a", NULL, "a" },
		{ ".//./a/.//b", NULL, "a/b" },
		{ "...", NULL, "..." },
		{ "..a/a..", NULL, "..a/a.." },
		{ "a\\..\\b", NULL, "a\\..\\b" },
		{ "\xff\xfe", NULL, "\xff\xfe" },
		{ "..", "'..': a name with", NULL },
		{ "a/..", "'a/..': a name with", NULL },
		{ "a/../../b", "'a/../../b': a name with", NULL },
		{ "./../a", "'./../a': a name with", NULL },
		{ "/a", "'/a': an absolute name", NULL },
		{ "//a", "'//a': an absolute name", NULL },
		{ "x\n\x1b[1m\"/..", "'x\\x0a\\x1b[1m\\x22/..': a name with", NULL },
	};
	struct place *p = *state;

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct buf tar = BUF_INIT(1 << 20);
		struct stat st;
		add_entry(&tar, rows[i].name, '0', "", "text");
		int rc = unpack(p, &tar, &plenty);
		assert_int_equal(rc, rows[i].error ? -1 : 0);
		if (rows[i].error)
			assert_non_null(strstr(p->e.msg, rows[i].error));
		else
			assert_int_equal(fstatat(p->dir, rows[i].made, &st, AT_SYMLINK_NOFOLLOW), 0);
		clear(p);
	}
}

static void link_targets(void **state)
{
	static const struct {
		const char *name, *target;
		bool fine;
	} rows[] = {
		{ "l", "a", true },
		{ "l", "nothing/there", true },
		{ "l", ".", true },
		{ "l", "..", false },
		{ "l", "../w/a", false },
		{ "l", "/a", false },
		{ "l", "a/..", false },
		{ "l", "a/../b", false },
		{ "d/l", "..", true },
		{ "d/l", "../a", true },
		{ "d/l", ".././/a", true },
		{ "d/l", "../..", false },
		{ "d/l", "./../../a", false },
		{ "d/e/l", "../../a", true },
		{ "d/e/l", "../../../victim", false },
		{ "d/e/l", "../x/../..", false },
		{ "d/l", "x/../victim", false }, /* x may lead to ".." */
		{ "l", "...", true },
		{ "l", "..a", true },
	};
	struct place *p = *state;

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct buf tar = BUF_INIT(1 << 20);
		add_entry(&tar, rows[i].name, '2', rows[i].target, "");
		int rc = unpack(p, &tar, &plenty);
		assert_int_equal(rc, rows[i].fine ? 0 : -1);
		if (rc)
			assert_non_null(strstr(p->e.msg, "a link that may lead out"));
		clear(p);
	}
}

static void limits_are_exact(void **state)
{
	struct place *p = *state;
	const struct unpack_limits entries[] = { { 4, 100, 1000 }, { 3, 100, 1000 } };
	const struct unpack_limits bytes[] = { { 100, 8, 1000 }, { 100, 7, 1000 } };

	for (int i = 0; i < 2; i++) {
		struct buf tar = BUF_INIT(1 << 20);
		add_entry(&tar, "d/e/f", '0', "", "text"); /* and two directories */
		add_entry(&tar, "g", '0', "", "text");
		assert_int_equal(unpack(p, &tar, &entries[i]), -i);
		assert_int_equal(p->e.code, i ? ERR_LIMIT : ERR_NONE);
		clear(p);
		add_entry(&tar, "f", '0', "", "text");
		add_entry(&tar, "g", '0', "", "text");
		assert_int_equal(unpack(p, &tar, &bytes[i]), -i);
		assert_int_equal(p->e.code, i ? ERR_LIMIT : ERR_NONE);
		clear(p);
	}
}

/* What is to come is refused before anything of it is made. */
static void headers_are_held_against_the_limits(void **state)
{
	struct place *p = *state;
	static const struct {
		size_t size;
		struct unpack_limits limits;
		const char *error;
	} rows[] = {
		{ 101, { 10, 100, 1000 }, "more than 100 bytes (limits.archive_bytes)" },
		{ ((size_t)8 << 30) - 1,
		  { 10, INT64_MAX, 1000 },
		  "it grows to more than 1000 times its size: 8589934591 bytes are" },
		{ 65537, { 10, 1 << 20, 1000 }, "'f': a file may have 65536 bytes here" },
	};
	struct rlimit was, small;

	assert_int_equal(getrlimit(RLIMIT_FSIZE, &was), 0);
	small = (struct rlimit){ 65536, was.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct buf tar = BUF_INIT(1 << 20);
		add_header(&tar, "f", '0', "", 0644, rows[i].size);
		assert_int_equal(unpack(p, &tar, &rows[i].limits), -1);
		if (!strstr(p->e.msg, rows[i].error))
			fail_msg("%s: not: %s", p->e.msg, rows[i].error);
		assert_int_equal(faccessat(p->dir, "f", F_OK, 0), -1);
		clear(p);
	}
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &was), 0);
}

/* ---- what is deep ---- */

static void deep(void **state)
{
	struct place *p = *state;

	for (int round = 0; round < 2; round++) {
		struct buf tar = BUF_INIT(8 << 20), name = BUF_INIT(1 << 20);
		no_openat2 = round == 1;
		for (int i = 0; i < 600; i++)
			buf_adds(&name, "seven77/");
		size_t len = name.len;
		buf_adds(&name, "f");
		add_entry(&tar, name.data, '0', "", "text");
		add_entry(&tar, "top", '0', "", "text");
		buf_cut(&name, len);
		buf_adds(&name, "g"); /* the same directory again, from the root */
		add_entry(&tar, name.data, '0', "", "text");
		add_entry(&tar, name.data, '0', "", "text");
		assert_int_equal(unpack(p, &tar, &plenty), -1);
		assert_non_null(strstr(p->e.msg, "the name comes twice"));
		clear(p);
		buf_release(&name);
	}
}

/* ---- all sorts of things, one behind the other ---- */

static uint32_t next(uint32_t *x)
{
	*x ^= *x << 13;
	*x ^= *x >> 17;
	*x ^= *x << 5;
	return *x;
}

static void random_path(uint32_t *x, bool ups, char out[64])
{
	static const char *const parts[] = { "a", "b", "c", "outside", "victim", "." };
	unsigned n = 1 + next(x) % 3;

	out[0] = '\0';
	for (unsigned i = 0; i < n; i++) {
		const char *part = parts[next(x) % 6];
		if (ups && next(x) % 2)
			part = "..";
		snprintf(out + strlen(out), 64 - strlen(out), "%s%s", i ? "/" : "", part);
	}
}

static void random_tar(uint32_t seed, struct buf *tar)
{
	static const char types[] = "00055222211";
	uint32_t x = seed * 2654435761U + 1;
	unsigned n = 2 + next(&x) % 8;

	for (unsigned i = 0; i < n; i++) {
		char name[64], link[64] = "", type = types[next(&x) % (sizeof types - 1)];
		random_path(&x, next(&x) % 16 == 0, name);
		if (type == '1' || type == '2')
			random_path(&x, type == '2' || next(&x) % 8 == 0, link);
		add_entry(tar, name, type, link, type == '0' ? "overwritten" : "");
	}
}

/* Each link below `at` that leads anywhere leads to somewhere below top. Names are short, and nothing is deep. */
static void assert_inside(int at, const char *top)
{
	int fd = openat(at, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;
	struct stat st;

	assert_non_null(d);
	while ((entry = readdir(d))) {
		char by_fd[64], real[PATH_MAX];
		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
			continue;
		assert_int_equal(fstatat(fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW), 0);
		int to = openat(fd, entry->d_name, O_PATH | O_CLOEXEC);
		if (to < 0)
			continue; /* to nothing, or in a circle */
		snprintf(by_fd, sizeof by_fd, "/proc/self/fd/%d", to);
		ssize_t n = readlink(by_fd, real, sizeof real - 1);
		assert_true(n > 0);
		real[n] = '\0';
		if (strncmp(real, top, strlen(top)) != 0 || !strchr("/", real[strlen(top)]))
			fail_msg("%s leads to %s", entry->d_name, real);
		if (S_ISDIR(st.st_mode))
			assert_inside(to, top);
		close(to);
	}
	closedir(d);
}

static void anything(void **state)
{
	struct place *p = *state;
	char top[128];
	int made = 0;

	snprintf(top, sizeof top, "%s/w", p->top);
	for (uint32_t seed = 0; seed < ROUNDS; seed++) {
		struct buf tar = BUF_INIT(1 << 20);
		struct error first;
		random_tar(seed, &tar);
		no_openat2 = false;
		int rc = unpack(p, &tar, &plenty);
		first = p->e;
		made += rc == 0;
		assert_inside(p->dir, top);
		clear(p);
		random_tar(seed, &tar);
		no_openat2 = true;
		assert_int_equal(unpack(p, &tar, &plenty), rc);
		assert_string_equal(p->e.msg, first.msg);
		assert_inside(p->dir, top);
		clear(p);
	}
	assert_true(made > ROUNDS / 20); /* or it says little */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(names, begin, end),
		cmocka_unit_test_setup_teardown(link_targets, begin, end),
		cmocka_unit_test_setup_teardown(limits_are_exact, begin, end),
		cmocka_unit_test_setup_teardown(headers_are_held_against_the_limits, begin, end),
		cmocka_unit_test_setup_teardown(deep, begin, end),
		cmocka_unit_test_setup_teardown(anything, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
