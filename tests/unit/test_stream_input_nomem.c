/* Memory that runs out while stdin is read: it is an error that is told, never a message that is lost in silence. */
#include "test.h"

#include <string.h>
#include <unistd.h>

#include "nomem.h"
#include "run/input.h"

static int controls, problems;

static void on_queued(void *ctx, const struct input_message *m)
{
	(void)ctx, (void)m;
}

static void on_control(void *ctx, const struct json *request)
{
	(void)ctx, (void)request;
	controls++;
}

static void on_problem(void *ctx, const char *text, unsigned long line, bool whole)
{
	(void)ctx, (void)text, (void)line, (void)whole;
	problems++;
}

static const char lines[] =
        "{\"type\":\"user\",\"message\":{\"content\":\"a\"}}\n"
        "{\"type\":\"control_request\",\"request_id\":\"r\",\"request\":{\"subtype\":\"s\"}}\n"
        "nonsense\n"
        "{\"type\":\"user\",\"uuid\":\"a1b2c3d4-0000-4000-8000-000000000000\",\"message\":{\"content\":["
        "{\"type\":\"text\",\"text\":\"b\"},{\"type\":\"image\",\"source\":{\"type\":\"base64\","
        "\"media_type\":\"image/png\",\"data\":\"AAAA\"}},{\"type\":\"document\",\"title\":\"t\","
        "\"source\":{\"type\":\"url\",\"url\":\"https://h\"}}]}}\n";

/* True: the n-th allocation was asked for, and failed. */
static bool fails_at(long n)
{
	struct error e = ERROR_INIT;
	struct reactor *reactor = reactor_open(&e);
	int fds[2], got = 0;

	assert_int_equal(pipe(fds), 0);
	assert_int_equal(write(fds[1], lines, sizeof lines - 1), sizeof lines - 1);
	close(fds[1]);
	const struct input_config cfg = { .reactor = reactor,
		                          .fd = fds[0],
		                          .max_line = 10000,
		                          .queued = on_queued,
		                          .control = on_control,
		                          .problem = on_problem };
	controls = problems = 0;
	nomem.left = n;
	nomem.failed = false;
	struct input *in = input_open(&cfg, &e);
	while (in && reactor_wait(reactor, 0, &e) > 0) {
		struct input_message *m;
		while ((m = input_take(in))) {
			assert_true(m->message->n > 0);
			input_message_free(m);
			got++;
		}
	}
	bool failed = nomem.failed;
	nomem.left = -1;
	if (!in) {
		assert_int_equal(e.code, ERR_NOMEM);
	} else if (input_failed(in, &e)) {
		assert_true(failed);
		assert_int_equal(e.code, ERR_NOMEM);
		assert_true(input_ended(in));
	} else if (e.code != ERR_NOMEM) { /* of the reactor */
		assert_int_equal(got, 2);
		assert_int_equal(controls, 1);
		assert_int_equal(problems, 1);
	}
	input_free(in);
	reactor_free(reactor);
	close(fds[0]);
	return failed;
}

static void each_allocation_fails_once(void **state)
{
	long n = 0;

	(void)state;
	while (fails_at(n))
		n++;
	assert_in_range(n, 20, 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(each_allocation_fails_once) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
