/* Request headers and the URL: what is sent, what is refused, and that refusals show no value. */
#include "model/header_list.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>

#include "model/anthropic.h"

static void test_set_and_replace(void **state)
{
	struct header_list l = HEADER_LIST_INIT;
	struct error e = ERROR_INIT;

	(void)state;
	assert_int_equal(header_list_set(&l, "A", "1", &e), 0);
	assert_int_equal(header_list_set(&l, "AB", "2", &e), 0);
	assert_int_equal(header_list_set_line(&l, "a:  3:4", &e), 0);
	assert_int_equal(header_list_set_line(&l, "Empty: ", &e), 0);
	assert_int_equal(l.n, 3);
	assert_string_equal(l.v[0], "AB: 2");
	assert_string_equal(l.v[1], "a: 3:4");
	assert_string_equal(l.v[2], "Empty;");
	assert_null(l.v[3]);
	assert_int_equal(header_list_set(&l, "empty", "x", &e), 0);
	assert_int_equal(l.n, 3);
	header_list_remove(&l, "ab");
	assert_int_equal(l.n, 2);
	assert_string_equal(l.v[0], "a: 3:4");
	assert_null(l.v[2]);
	header_list_release(&l);
	assert_null(l.v);
}

static const struct {
	const char *name, *value, *error;
} refused[] = {
	{ "x-api-key", "sk-canary\nX-Injected: 1", "'x-api-key' holds a line end" },
	{ "x-api-key", "sk-canary\r", "'x-api-key' holds a line end" },
	{ "x-api-key", "sk-canary\x7f", "control character" },
	{ "x-api-key", " sk-canary", "begins or ends with a blank" },
	{ "x-api-key", "sk-canary\t", "begins or ends with a blank" },
	{ "x y", "sk-canary", "no valid name" },
	{ "", "sk-canary", "no valid name" },
	{ "content-length", "1", "'Content-Length' cannot be set" },
	{ "Transfer-Encoding", "chunked", "cannot be set" },
};

static void test_refused(void **state)
{
	struct header_list l = HEADER_LIST_INIT;

	(void)state;
	for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
		struct error e = ERROR_INIT;
		assert_int_equal(header_list_set(&l, refused[i].name, refused[i].value, &e), -1);
		assert_non_null(strstr(e.msg, refused[i].error));
		assert_null(strstr(e.msg, "canary"));
	}
	struct error e = ERROR_INIT;
	assert_int_equal(header_list_set_line(&l, "sk-canary", &e), -1);
	assert_null(strstr(e.msg, "canary"));
	assert_int_equal(l.n, 0);
	header_list_release(&l);
}

static const struct {
	const char *base, *url;
} urls[] = {
	{ "https://api.example.com", "https://api.example.com/v1/messages" },
	{ "https://api.example.com/", "https://api.example.com/v1/messages" },
	{ "https://api.example.com/v1", "https://api.example.com/v1/messages" },
	{ "https://api.example.com/v1//", "https://api.example.com/v1/messages" },
	{ "HTTP://[::1]:8080/anthropic/v1/", "HTTP://[::1]:8080/anthropic/v1/messages" },
	{ "http://u:canary@h/x", "http://u:canary@h/x/v1/messages" },
	{ "ftp://canary", NULL },
	{ "file:///canary", NULL },
	{ "canary", NULL },
	{ "", NULL },
	{ NULL, NULL },
	{ "http://", NULL },
	{ "http:///canary", NULL },
	{ "https://:80", NULL },
	{ "http://h/canary?a=1", NULL },
	{ "http://h/canary a", NULL },
	{ "http://h/canary\r\nX: y", NULL },
};

static void test_urls(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof urls / sizeof urls[0]; i++) {
		struct error e = ERROR_INIT;
		char *url = anthropic_url(urls[i].base, &e);
		if (urls[i].url) {
			assert_non_null(url);
			assert_string_equal(url, urls[i].url);
		} else {
			assert_null(url);
			assert_int_equal(e.code, ERR_INPUT);
			assert_null(strstr(e.msg, "canary"));
		}
		free(url);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_set_and_replace),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_urls),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
