#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_out.h"
#include "guard/secret.h"

#define LENGTH(a) (sizeof(a) / sizeof *(a))
#define KEY       "sk-canary-1234567890"

static struct secrets *with(const char *const *values)
{
	struct secrets *s = secrets_new();

	assert_non_null(s);
	for (; *values; values++)
		assert_int_equal(secrets_add(s, *values, strlen(*values)), 0);
	return s;
}

static void check_masked(const struct secrets *s, const char *in, size_t n, const char *want, size_t want_len)
{
	struct buf b = BUF_INIT(1 << 20);

	assert_int_equal(buf_add(&b, in, n), 0);
	secrets_mask(s, &b);
	if (b.len != want_len || memcmp(b.data, want, want_len) != 0)
		print_error("in '%s' got '%s'\n", in, b.data);
	assert_int_equal(b.len, want_len);
	assert_memory_equal(b.data, want, want_len);
	assert_int_equal(b.data[b.len], '\0');
	buf_release(&b);
}

static void every_occurrence_is_masked(void **state)
{
	static const struct {
		const char *in, *want;
	} rows[] = {
		{ KEY, "[secret]" },
		{ "a " KEY " b " KEY, "a [secret] b [secret]" },
		{ KEY KEY, "[secret][secret]" },
		{ "x-api-key: " KEY "\r\n", "x-api-key: [secret]\r\n" },
		{ "sk-canary-123456789", "sk-canary-123456789" },
		{ "sk-sk-canary-1234567890", "sk-[secret]" },
		{ "{\"k\":\"" KEY "\"}", "{\"k\":\"[secret]\"}" },
		{ "nothing here", "nothing here" },
		{ "\\", "\\" },
		{ "\\u00", "\\u00" },
	};
	static const char *const values[] = { KEY, NULL };
	struct secrets *s = with(values);
	(void)state;
	for (size_t i = 0; i < LENGTH(rows); i++)
		check_masked(s, rows[i].in, strlen(rows[i].in), rows[i].want, strlen(rows[i].want));
	check_masked(s, "a\0" KEY "\0b", sizeof("a\0" KEY "\0b") - 1, "a\0[secret]\0b", sizeof("a\0[secret]\0b") - 1);
	check_masked(s, "", 0, "", 0);
	secrets_free(s);
}

static void escaped_forms_are_masked(void **state)
{
	static const struct {
		const char *in, *want;
	} rows[] = {
		{ "{\"v\":\"pa\\\"ss\\\\wo/rd\"}", "{\"v\":\"[secret]\"}" },
		{ "{\"v\":\"pa\\\"ss\\\\wo\\/rd\"}", "{\"v\":\"[secret]\"}" },
		{ "{\"v\":\"\\u0070a\\u0022ss\\u005Cwo\\u002frd\"}", "{\"v\":\"[secret]\"}" },
		{ "plain pa\"ss\\wo/rd here", "plain [secret] here" },
		{ "line1\\nline2\\tend", "[secret]" },
		{ "caf\\u00e9-caf\xc3\xa9-\\ud83d\\ude00", "[secret]" },
		{ "caf\\u00e9-cafe", "caf\\u00e9-cafe" },
	};
	static const char *const values[] = { "pa\"ss\\wo/rd", "line1\nline2\tend",
		                              "caf\xc3\xa9-caf\xc3\xa9-\xf0\x9f\x98\x80", NULL };
	struct secrets *s = with(values);
	(void)state;
	for (size_t i = 0; i < LENGTH(rows); i++)
		check_masked(s, rows[i].in, strlen(rows[i].in), rows[i].want, strlen(rows[i].want));
	secrets_free(s);
}

static void what_our_writer_makes_of_any_value_is_masked(void **state)
{
	(void)state;
	for (int c = 1; c < 256; c++) {
		char value[16];
		int n = snprintf(value, sizeof value, "ab%ccd%cefgh", c, c);
		if (c >= 0x80)
			continue; /* no UTF-8: the writer repairs it, and a key like that is sent as a header only */
		struct secrets *s = secrets_new();
		struct buf b = BUF_INIT(1000);
		assert_int_equal(secrets_add(s, value, (size_t)n), 0);
		json_quote(&b, value, (size_t)n);
		secrets_mask(s, &b);
		assert_string_equal(b.data, "\"[secret]\"");
		buf_release(&b);
		secrets_free(s);
	}
}

static void the_longest_secret_wins(void **state)
{
	static const char *const values[] = { "abcdefgh", "abcdefghijkl", "abcdefgh", NULL };
	struct secrets *s = with(values);
	(void)state;
	check_masked(s, "abcdefghijkl", 12, "[secret]", 8);
	check_masked(s, "abcdefghijk", 11, "[secret]ijk", 11);
	secrets_free(s);
}

static void short_values_are_not_remembered(void **state)
{
	static const char *const values[] = { "", "true", "1234567", NULL };
	struct secrets *s = with(values);
	(void)state;
	check_masked(s, "true 1234567", 12, "true 1234567", 12);
	secrets_free(s);
	secrets_free(NULL);
}

static void nothing_of_a_secret_stays_behind_the_end(void **state)
{
	static const char *const values[] = { KEY, NULL };
	struct secrets *s = with(values);
	struct buf b = BUF_INIT(1000);
	(void)state;
	buf_adds(&b, "xxxxxxxxxxxx " KEY);
	size_t old = b.len;
	secrets_mask(s, &b);
	assert_null(memmem(b.data, old, "1234567890", 10));
	buf_release(&b);
	secrets_free(s);
}

static void keys_are_cleaned(void **state)
{
	static const struct {
		const char *in;
		size_t n;
		int result;
		const char *want; /* the clean key, or a part of the error */
	} rows[] = {
#define ROW(text, result, want) { text, sizeof(text) - 1, result, want }
		ROW(KEY, 0, KEY),
		ROW(KEY "\n", 1, KEY),
		ROW(KEY "\r\n", 1, KEY),
		ROW(" " KEY, 1, KEY),
		ROW("\t " KEY " \v\f", 1, KEY),
		ROW("sk-canary\nX-Injected: 1", -1, "control character (0x0a) at byte 10"),
		ROW("sk-canary\rX", -1, "control character (0x0d)"),
		ROW("", -1, "empty"),
		ROW(" \n", -1, "empty"),
		ROW("sk-canary-\xc3\xa9", 0, "sk-canary-\xc3\xa9"),
		ROW("\"" KEY "\"", 0, "\"" KEY "\""),
		ROW("sk-canary\0tail", -1, "control character (0x00)"),
		ROW("sk-canary\x7f", -1, "control character (0x7f)"),
		ROW("two words", 0, "two words"),
#undef ROW
	};
	(void)state;
	for (size_t i = 0; i < LENGTH(rows); i++) {
		struct buf b = BUF_INIT(1 << 20);
		struct error e = ERROR_INIT;
		buf_add(&b, rows[i].in, rows[i].n);
		assert_int_equal(secret_clean_key(&b, "THE_KEY", &e), rows[i].result);
		if (rows[i].result >= 0) {
			assert_int_equal(b.len, strlen(rows[i].want));
			assert_string_equal(b.data, rows[i].want);
		} else {
			assert_int_equal(e.code, ERR_INPUT);
			assert_non_null(strstr(e.msg, rows[i].want));
			assert_non_null(strstr(e.msg, "THE_KEY"));
			assert_null(strstr(e.msg, "canary"));
		}
		buf_release(&b);
	}
}

static void very_long_keys_are_refused(void **state)
{
	struct buf b = BUF_INIT(1 << 20);
	struct error e = ERROR_INIT;
	(void)state;
	for (size_t i = 0; i < 100000; i++)
		buf_addc(&b, 'k');
	assert_int_equal(secret_clean_key(&b, "a file", &e), -1);
	assert_non_null(strstr(e.msg, "longer than 65536 bytes"));
	buf_cut(&b, 65536);
	assert_int_equal(secret_clean_key(&b, "a file", &e), 0);
	buf_release(&b);
	assert_int_equal(secret_clean_key(&b, "a file", &e), -1); /* a buffer that never held a byte */
}

static void names_of_secrets_are_known_by_their_parts(void **state)
{
	static const struct {
		const char *name;
		bool secret;
	} rows[] = {
		{ "ANTHROPIC_API_KEY", true },
		{ "github_token", true },
		{ "AWS_SECRET_ACCESS", true },
		{ "PGPASSWORD", true },
		{ "MY_PASSWD", true },
		{ "Credentials", true },
		{ "PATH", false },
		{ "HOME", false },
		{ "KE", false },
		{ "PASS", false },
		{ "", false },
		{ "LS_COLORS", false },
	};
	(void)state;
	for (size_t i = 0; i < LENGTH(rows); i++)
		assert_int_equal(secret_env_name(rows[i].name, strlen(rows[i].name)), rows[i].secret);
	assert_false(secret_env_name("KEY", 2)); /* reads no further than told */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_occurrence_is_masked),
		cmocka_unit_test(escaped_forms_are_masked),
		cmocka_unit_test(what_our_writer_makes_of_any_value_is_masked),
		cmocka_unit_test(the_longest_secret_wins),
		cmocka_unit_test(short_values_are_not_remembered),
		cmocka_unit_test(nothing_of_a_secret_stays_behind_the_end),
		cmocka_unit_test(keys_are_cleaned),
		cmocka_unit_test(very_long_keys_are_refused),
		cmocka_unit_test(names_of_secrets_are_known_by_their_parts),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
