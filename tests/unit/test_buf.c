/* Buffers, the arena and error texts. */
#include "test.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/utf8.h"

static void test_adding(void **state)
{
	struct buf b = BUF_INIT(100);

	(void)state;
	assert_string_equal(buf_str(&b), "");
	assert_int_equal(buf_add(&b, "a\0b", 3), 0);
	assert_int_equal(buf_adds(&b, "cd"), 0);
	assert_int_equal(buf_addc(&b, 'e'), 0);
	assert_int_equal(buf_addf(&b, "%d-%s", 42, "x"), 0);
	assert_int_equal(b.len, 10);
	assert_memory_equal(b.data, "a\0bcde42-x", 11);
	buf_drop(&b, 3);
	assert_string_equal(buf_str(&b), "cde42-x");
	buf_cut(&b, 3);
	assert_string_equal(buf_str(&b), "cde");
	buf_cut(&b, 50);
	assert_int_equal(b.len, 3);
	buf_drop(&b, 50);
	assert_int_equal(b.len, 0);
	buf_release(&b);
	buf_drop(&b, 1);
	assert_int_equal(b.max, 100);
}

static void test_the_maximum_is_exact_and_sticky(void **state)
{
	struct buf b = BUF_INIT(5);
	struct error e = ERROR_INIT;

	(void)state;
	assert_int_equal(buf_adds(&b, "12345"), 0);
	assert_int_equal(buf_check(&b, "it", &e), 0);
	assert_int_equal(buf_addc(&b, '6'), -1);
	assert_int_equal(b.failed, ERR_LIMIT);
	assert_int_equal(buf_add(&b, "", 0), -1);
	assert_string_equal(buf_str(&b), "12345");
	assert_int_equal(buf_check(&b, "the answer", &e), -1);
	assert_string_equal(e.msg, "the answer is larger than 5 bytes");
	assert_null(buf_take(&b, NULL));
	buf_clear(&b);
	assert_int_equal(buf_addf(&b, "%06d", 1), -1);
	buf_clear(&b);
	assert_int_equal(buf_reserve(&b, SIZE_MAX), -1);
	buf_release(&b);
}

static void test_take(void **state)
{
	struct buf b = BUF_INIT(10);
	size_t n = 99;

	(void)state;
	char *empty = buf_take(&b, &n);
	assert_string_equal(empty, "");
	assert_int_equal(n, 0);
	free(empty);
	buf_adds(&b, "xy");
	char *s = buf_take(&b, &n);
	assert_string_equal(s, "xy");
	assert_int_equal(n, 2);
	assert_null(b.data);
	free(s);
}

static void test_growing_to_many_bytes(void **state)
{
	struct buf b = BUF_INIT(1 << 20);

	(void)state;
	for (int i = 0; i < 1 << 20; i++)
		assert_int_equal(buf_addc(&b, (char)('a' + i % 26)), 0);
	assert_int_equal(b.len, 1 << 20);
	assert_int_equal(b.data[25], 'z');
	assert_int_equal(buf_addc(&b, 'x'), -1);
	buf_release(&b);
}

static void test_arena(void **state)
{
	struct arena a = ARENA_INIT;

	(void)state;
	char *text = arena_strdup(&a, "hello");
	char *part = arena_strndup(&a, "hello", 2);
	for (size_t n = 1; n < 20000; n = n * 3) {
		unsigned char *p = arena_alloc(&a, n);
		assert_non_null(p);
		assert_int_equal((uintptr_t)p % _Alignof(max_align_t), 0);
		for (size_t i = 0; i < n; i++)
			assert_int_equal(p[i], 0);
		memset(p, 0xFF, n);
	}
	assert_string_equal(text, "hello");
	assert_string_equal(part, "he");
	arena_release(&a);
	arena_release(&a);
	assert_non_null(arena_alloc(&a, 10));
	arena_release(&a);
}

static void test_errors(void **state)
{
	struct error e = ERROR_INIT;

	(void)state;
	assert_int_equal(error_set(&e, ERR_INPUT, "no '%s'", "x"), -1);
	assert_int_equal(e.code, ERR_INPUT);
	assert_int_equal(error_prefix(&e, "job %d", 3), -1);
	assert_string_equal(e.msg, "job 3: no 'x'");
	assert_int_equal(e.code, ERR_INPUT);
	errno = ENOENT;
	assert_int_equal(error_sys(&e, "cannot open '%s'", "f"), -1);
	assert_string_equal(e.msg, "cannot open 'f': No such file or directory");
	assert_int_equal(errno, ENOENT);
	assert_int_equal(e.code, ERR_SYS);
	assert_int_equal(error_nomem(&e), -1);
	assert_int_equal(e.code, ERR_NOMEM);
	assert_int_equal(error_set(NULL, ERR_BUG, "nobody listens"), -1);
}

/* A text that is too long is cut on a character border, wherever the cut falls. */
static void test_long_error_texts(void **state)
{
	struct error e = ERROR_INIT;
	char text[800];

	(void)state;
	for (size_t shift = 0; shift < 5; shift++) {
		memset(text, 'a', shift);
		for (size_t i = shift; i + 4 < sizeof text; i += 4)
			memcpy(text + i, "\xF0\x9F\x98\x80", 5);
		error_set(&e, ERR_INPUT, "%s", text);
		assert_true(utf8_valid(e.msg, strlen(e.msg), NULL));
		assert_true(strlen(e.msg) > 500);
		error_prefix(&e, "x");
		assert_true(utf8_valid(e.msg, strlen(e.msg), NULL));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_adding),
		cmocka_unit_test(test_the_maximum_is_exact_and_sticky),
		cmocka_unit_test(test_take),
		cmocka_unit_test(test_growing_to_many_bytes),
		cmocka_unit_test(test_arena),
		cmocka_unit_test(test_errors),
		cmocka_unit_test(test_long_error_texts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
