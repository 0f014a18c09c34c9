#include "test.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "supervisor/output.h"

struct spill {
	int fd; /* our own descriptor of the file */
	int opened;
	const char *device; /* opened in place of a file */
};

static int open_spill(void *ctx)
{
	struct spill *s = ctx;

	s->opened++;
	if (s->device)
		return open(s->device, O_WRONLY | O_CLOEXEC);
	s->fd = memfd_create("spill", MFD_CLOEXEC);
	return dup(s->fd);
}

static int refuse_spill(void *ctx)
{
	struct spill *s = ctx;

	s->opened++;
	return -1;
}

static void release_output(struct output *out)
{
	buf_release(&out->head);
	buf_release(&out->tail);
}

static void add(struct collector *c, const char *s)
{
	collector_add(c, s, strlen(s));
}

static void assert_spill(struct spill *s, const char *expected)
{
	char text[256];
	ssize_t n = pread(s->fd, text, sizeof text, 0);

	assert_int_equal(n, strlen(expected));
	assert_memory_equal(text, expected, (size_t)n);
	close(s->fd);
}

static void nothing_came(void **state)
{
	struct collector c;
	struct output out;

	(void)state;
	collector_init(&c, 4, 4);
	collector_take(&c, &out);
	assert_int_equal(out.total, 0);
	assert_string_equal(buf_str(&out.head), "");
	assert_string_equal(buf_str(&out.tail), "");
	assert_false(out.spilled);
	release_output(&out);
}

static void what_fits_is_whole_in_the_head(void **state)
{
	struct collector c;
	struct output out;
	struct spill s = { .fd = -1 };

	(void)state;
	collector_init(&c, 4, 4);
	collector_spill_to(&c, open_spill, &s, 100);
	add(&c, "ab");
	add(&c, "cdef");
	add(&c, "gh");
	collector_take(&c, &out);
	assert_string_equal(buf_str(&out.head), "abcdefgh");
	assert_int_equal(out.tail.len, 0);
	assert_int_equal(out.total, 8);
	assert_false(out.spilled);
	assert_int_equal(s.opened, 0);
	release_output(&out);
}

static void middle_is_dropped_and_spilled(void **state)
{
	struct collector c;
	struct output out;
	struct spill s = { .fd = -1 };

	(void)state;
	collector_init(&c, 4, 4);
	collector_spill_to(&c, open_spill, &s, 100);
	add(&c, "abcdef");
	add(&c, "g");
	add(&c, "hi");
	add(&c, "jklmnopq");
	add(&c, "r");
	collector_take(&c, &out);
	assert_string_equal(buf_str(&out.head), "abcd");
	assert_string_equal(buf_str(&out.tail), "opqr");
	assert_int_equal(out.total, 18);
	assert_true(out.spilled);
	assert_int_equal(s.opened, 1);
	assert_spill(&s, "abcdefghijklmnopqr");
	release_output(&out);
}

static void one_large_piece(void **state)
{
	struct collector c;
	struct output out;
	struct spill s = { .fd = -1 };

	(void)state;
	collector_init(&c, 3, 2);
	collector_spill_to(&c, open_spill, &s, 100);
	add(&c, "0123456789");
	collector_take(&c, &out);
	assert_string_equal(buf_str(&out.head), "012");
	assert_string_equal(buf_str(&out.tail), "89");
	assert_spill(&s, "0123456789");
	release_output(&out);
}

static void spill_stops_at_its_maximum(void **state)
{
	struct collector c;
	struct output out;
	struct spill s = { .fd = -1 };

	(void)state;
	collector_init(&c, 2, 2);
	collector_spill_to(&c, open_spill, &s, 7);
	add(&c, "01234");
	add(&c, "56789");
	collector_take(&c, &out);
	assert_true(out.spilled);
	assert_int_equal(out.total, 10);
	assert_string_equal(buf_str(&out.tail), "89");
	assert_spill(&s, "0123456");
	release_output(&out);
}

static void nothing_kept_at_all(void **state)
{
	struct collector c;
	struct output out;

	(void)state;
	collector_init(&c, 0, 0);
	add(&c, "abc");
	collector_take(&c, &out);
	assert_int_equal(out.total, 3);
	assert_int_equal(out.head.len + out.tail.len, 0);
	release_output(&out);
}

static void refused_spill_is_asked_for_once(void **state)
{
	struct collector c;
	struct output out;
	struct spill s = { .fd = -1 };

	(void)state;
	collector_init(&c, 1, 1);
	collector_spill_to(&c, refuse_spill, &s, 100);
	add(&c, "abc");
	add(&c, "def");
	collector_take(&c, &out);
	assert_int_equal(s.opened, 1);
	assert_false(out.spilled);
	assert_string_equal(buf_str(&out.head), "a");
	assert_string_equal(buf_str(&out.tail), "f");
	release_output(&out);
}

static void full_disk_keeps_the_ends(void **state)
{
	struct collector c;
	struct output out;
	struct spill s = { .fd = -1, .device = "/dev/full" };

	(void)state;
	collector_init(&c, 1, 1);
	collector_spill_to(&c, open_spill, &s, 100);
	add(&c, "abc");
	add(&c, "def");
	collector_take(&c, &out);
	assert_int_equal(s.opened, 1);
	assert_false(out.spilled);
	assert_string_equal(buf_str(&out.head), "a");
	assert_string_equal(buf_str(&out.tail), "f");
	release_output(&out);
}

/* Any cut of the same bytes into pieces gives the same result. */
static void pieces_do_not_matter(void **state)
{
	char text[1000];

	(void)state;
	for (size_t i = 0; i < sizeof text; i++)
		text[i] = (char)('a' + i % 26);
	for (size_t piece = 1; piece < 40; piece++) {
		struct collector c;
		struct output out;
		collector_init(&c, 17, 23);
		for (size_t at = 0; at < sizeof text; at += piece)
			collector_add(&c, text + at, at + piece < sizeof text ? piece : sizeof text - at);
		collector_take(&c, &out);
		assert_int_equal(out.head.len, 17);
		assert_memory_equal(out.head.data, text, 17);
		assert_int_equal(out.tail.len, 23);
		assert_memory_equal(out.tail.data, text + sizeof text - 23, 23);
		release_output(&out);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_came),
		cmocka_unit_test(what_fits_is_whole_in_the_head),
		cmocka_unit_test(middle_is_dropped_and_spilled),
		cmocka_unit_test(one_large_piece),
		cmocka_unit_test(spill_stops_at_its_maximum),
		cmocka_unit_test(nothing_kept_at_all),
		cmocka_unit_test(refused_spill_is_asked_for_once),
		cmocka_unit_test(full_disk_keeps_the_ends),
		cmocka_unit_test(pieces_do_not_matter),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
