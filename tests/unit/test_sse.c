/* Server-sent events: each vector whole, a byte at a time, and cut in two at every place. */
#include "model/sse.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Events are written down as "name|data;" so that an expectation is one string. */
static int note(void *ctx, const char *name, const char *data, size_t len)
{
	struct buf *seen = ctx;

	assert_int_equal(data[len], '\0');
	buf_adds(seen, name);
	buf_addc(seen, '|');
	buf_add(seen, data, len);
	buf_addc(seen, ';');
	return 0;
}

static void feed(struct sse *s, const char *p, size_t n)
{
	struct error e = ERROR_INIT;

	/* An exact heap copy makes a read behind the chunk visible to the sanitizers. */
	char *copy = malloc(n ? n : 1);
	assert_non_null(copy);
	memcpy(copy, p, n);
	assert_int_equal(sse_feed(s, copy, n, &e), 0);
	free(copy);
}

static void check_pieces(const char *in, size_t n, size_t cut, size_t step, const char *want, size_t want_len)
{
	struct buf seen = BUF_INIT(BUF_HUGE);
	struct sse s;

	sse_init(&s, note, &seen);
	if (cut) {
		feed(&s, in, cut);
		feed(&s, in + cut, n - cut);
	} else {
		for (size_t i = 0; i < n; i += step)
			feed(&s, in + i, n - i < step ? n - i : step);
	}
	assert_int_equal(seen.len, want_len);
	assert_memory_equal(buf_str(&seen), want, want_len);
	sse_release(&s);
	buf_release(&seen);
}

static void check(const char *in, size_t n, const char *want, size_t want_len)
{
	check_pieces(in, n, 0, n, want, want_len);
	check_pieces(in, n, 0, 1, want, want_len);
	check_pieces(in, n, 0, 3, want, want_len);
	for (size_t cut = 1; cut < n; cut++)
		check_pieces(in, n, cut, 0, want, want_len);
}

#define CHECK(in, want) check(in, sizeof(in) - 1, want, sizeof(want) - 1)

static void test_line_ends(void **state)
{
	(void)state;
	CHECK("event: a\ndata: 1\n\n", "a|1;");
	CHECK("event: a\r\ndata: 1\r\n\r\n", "a|1;");
	CHECK("event: a\rdata: 1\r\r", "a|1;");
	CHECK("event: a\r\ndata: 1\r\n\n", "a|1;");
	CHECK("event: a\ndata: 1\r\r\n", "a|1;");
	CHECK("data: x\r\n\r\n", "|x;");
	CHECK("data: x\r\n\r\ndata: y\n\r", "|x;|y;");
}

static void test_bom(void **state)
{
	(void)state;
	CHECK("\xEF\xBB\xBF"
	      "data: 1\n\n",
	      "|1;");
	/* only one, and only at the start */
	CHECK("\xEF\xBB\xBF\xEF\xBB\xBF"
	      "data: 1\n\ndata: 2\n\n",
	      "|2;");
	CHECK("data: 1\n\n\xEF\xBB\xBF"
	      "data: 2\n\n",
	      "|1;");
	/* a BOM that breaks off is part of a field name */
	CHECK("\xEF\xBB"
	      "data: 1\n\ndata: 2\n\n",
	      "|2;");
}

static void test_data(void **state)
{
	(void)state;
	CHECK("data: a\ndata: b\n\n", "|a\nb;");
	CHECK("data:a\n\n", "|a;");
	CHECK("data:  a\n\n", "| a;");
	CHECK("data\n\n", "|;");
	CHECK("data:\n\n", "|;");
	CHECK("data\ndata\n\n", "|\n;");
	CHECK("event: ping\n\n", "");
	CHECK("event: ping\n\ndata: 1\n\n", "|1;");
	CHECK(": hi\n\ndata: 1\n\n", "|1;");
	CHECK("data: 1\n", "");
	CHECK("data: 1", "");
	CHECK("data: {\"t\":\"\xC3\xA9\"}\n\n", "|{\"t\":\"\xC3\xA9\"};");
	CHECK("foo: bar\nid: 3\nretry: 10\ndata: 1\n\n", "|1;");
	CHECK("\n\n\n\ndata: 1\n\n", "|1;");
	CHECK("data: a:b: c\n\n", "|a:b: c;");
	CHECK("Data: 1\ndata : 2\n\n", "");
	CHECK("data: a\0b\n\n", "|a\0b;");
	CHECK("event: a\nevent: b\ndata: 1\n\n", "b|1;");
}

static void test_only_cr_and_lf_end_lines(void **state)
{
	(void)state;
	CHECK("data: {\"text\":\"a\xE2\x80\xA8"
	      "b\xC2\x85"
	      "c\x0B"
	      "d\x0C"
	      "e\"}\n\n",
	      "|{\"text\":\"a\xE2\x80\xA8"
	      "b\xC2\x85"
	      "c\x0B"
	      "d\x0C"
	      "e\"};");
}

static double seconds_of(const char *in, size_t n, size_t step, size_t *events)
{
	struct buf seen = BUF_INIT(BUF_HUGE);
	struct timespec a, b;
	struct sse s;
	struct error e;

	sse_init(&s, note, &seen);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &a);
	for (size_t i = 0; i < n; i += step)
		assert_int_equal(sse_feed(&s, in + i, n - i < step ? n - i : step, &e), 0);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &b);
	*events = seen.len;
	sse_release(&s);
	buf_release(&seen);
	return (double)(b.tv_sec - a.tv_sec) + (double)(b.tv_nsec - a.tv_nsec) / 1e9;
}

static void fill(char *p, size_t n, const char *pattern)
{
	size_t m = strlen(pattern);

	for (size_t i = 0; i < n; i++)
		p[i] = pattern[i % m];
}

static void test_linear(void **state)
{
	enum { N = 10 << 20 };
	char *p = malloc(N);
	size_t len;

	(void)state;
	assert_non_null(p);
	/* one line of 10 MB in small reads */
	memset(p, 'x', N);
	memcpy(p, "data: ", 6);
	memcpy(p + N - 2, "\n\n", 2);
	/* The limits leave room for valgrind; work that grows with the square would be far beyond them. */
	assert_true(seconds_of(p, N, 1000, &len) < 20);
	assert_int_equal(len, N - 6 - 2 + 2);
	/* a million lines in one read, ended by LF only and by CR only */
	fill(p, N / 5, "a\n");
	assert_true(seconds_of(p, N / 5, N / 5, &len) < 20);
	fill(p, N / 5, "a\r");
	assert_true(seconds_of(p, N / 5, N / 5, &len) < 20);
	free(p);
}

static int stop_at_second(void *ctx, const char *name, const char *data, size_t len)
{
	int *n = ctx;

	(void)name;
	(void)data;
	(void)len;
	return ++*n == 2;
}

static void test_stop(void **state)
{
	static const char in[] = "data: 1\n\ndata: 2\n\ndata: 3\n\n";
	struct error e;
	struct sse s;
	int n = 0;

	(void)state;
	sse_init(&s, stop_at_second, &n);
	assert_int_equal(sse_feed(&s, in, sizeof in - 1, &e), 1);
	assert_int_equal(n, 2);
	sse_release(&s);
}

static void test_too_large(void **state)
{
	enum { STEP = 1 << 20 };
	char *p = malloc(STEP);
	struct buf seen = BUF_INIT(BUF_HUGE);
	struct error e = ERROR_INIT;
	struct sse s;
	int r = 0;

	(void)state;
	assert_non_null(p);
	memset(p, 'x', STEP);
	/* in one line */
	sse_init(&s, note, &seen);
	for (int i = 0; i < 66 && !r; i++)
		r = sse_feed(&s, p, STEP, &e);
	assert_int_equal(r, -1);
	assert_int_equal(e.code, ERR_LIMIT);
	assert_int_equal(sse_feed(&s, p, STEP, &e), -1);
	sse_release(&s);
	/* in many lines of one event */
	memcpy(p, "data: ", 6);
	p[STEP - 1] = '\n';
	sse_init(&s, note, &seen);
	r = 0;
	for (int i = 0; i < 66 && !r; i++)
		r = sse_feed(&s, p, STEP, &e);
	assert_int_equal(r, -1);
	assert_int_equal(e.code, ERR_LIMIT);
	assert_int_equal(seen.len, 0);
	sse_release(&s);
	buf_release(&seen);
	free(p);
}

static void test_stray(void **state)
{
	static const char in[] = "data: 1\n\n: comment\nid: 3\n{\n  \"error\": 1\n}";
	struct buf seen = BUF_INIT(BUF_HUGE);
	struct sse s;
	size_t len;

	(void)state;
	sse_init(&s, note, &seen);
	feed(&s, in, sizeof in - 1);
	assert_string_equal(sse_stray(&s, &len), "{\n  \"error\": 1\n}");
	assert_int_equal(len, strlen("{\n  \"error\": 1\n}"));
	assert_string_equal(sse_stray(&s, NULL), "{\n  \"error\": 1\n}");
	sse_release(&s);
	/* an event clears what stood before it */
	sse_init(&s, note, &seen);
	feed(&s, "junk\n\ndata: 1\n\n", 15);
	assert_string_equal(sse_stray(&s, NULL), "");
	sse_release(&s);
	/* bounded */
	sse_init(&s, note, &seen);
	for (int i = 0; i < 10000; i++)
		feed(&s, "0123456789\n", 11);
	sse_stray(&s, &len);
	assert_int_equal(len, SSE_MAX_STRAY);
	sse_release(&s);
	buf_release(&seen);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_line_ends), cmocka_unit_test(test_bom),
		cmocka_unit_test(test_data),      cmocka_unit_test(test_only_cr_and_lf_end_lines),
		cmocka_unit_test(test_linear),    cmocka_unit_test(test_stop),
		cmocka_unit_test(test_too_large), cmocka_unit_test(test_stray),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
