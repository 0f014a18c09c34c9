/* Stdin as lines of JSON: cut into lines however it comes, queued, held back when nobody takes, told when it is bad. */
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "run/input.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define MAX_LINE ((size_t)1 << 16)

struct bench {
	struct reactor *reactor;
	struct input *input;
	int fds[2];
	struct buf log; /* what the callbacks were told */
};

static void on_queued(void *ctx, const struct input_message *m)
{
	struct bench *b = ctx;

	buf_addf(&b->log, "queued %.20s\n", m->message->blocks[0]->text);
}

static void on_control(void *ctx, const struct json *request)
{
	struct bench *b = ctx;

	buf_adds(&b->log, "control ");
	json_str(request, json_get(request, json_root(request), "request_id"), &b->log);
	buf_addc(&b->log, '\n');
}

static void on_problem(void *ctx, const char *text, unsigned long line, bool whole)
{
	struct bench *b = ctx;

	buf_addf(&b->log, "%s%s\n", whole ? "whole " : "", text);
	assert_int_equal(strtoul(text + strlen("line "), NULL, 10), line);
}

static void mask(void *ctx, struct buf *line)
{
	char *at = line->data ? strstr(line->data, "hunter2") : NULL;

	(void)ctx;
	if (at)
		memcpy(at, "*******", 7);
}

static void start(struct bench *b)
{
	struct error e = ERROR_INIT;

	*b = (struct bench){ .log = BUF_INIT(1 << 20) };
	b->reactor = reactor_open(&e);
	assert_non_null(b->reactor);
	assert_int_equal(pipe(b->fds), 0);
	const struct input_config cfg = { .reactor = b->reactor,
		                          .fd = b->fds[0],
		                          .max_line = MAX_LINE,
		                          .mask = mask,
		                          .queued = on_queued,
		                          .control = on_control,
		                          .problem = on_problem,
		                          .ctx = b };
	b->input = input_open(&cfg, &e);
	assert_non_null(b->input);
}

static void stop(struct bench *b)
{
	input_free(b->input);
	reactor_free(b->reactor);
	close(b->fds[0]);
	if (b->fds[1] >= 0)
		close(b->fds[1]);
	buf_release(&b->log);
}

/* Reads what is there. */
static void turn(struct bench *b)
{
	struct error e = ERROR_INIT;
	int n;

	while ((n = reactor_wait(b->reactor, 0, &e)) > 0)
		;
	assert_int_equal(n, 0);
}

static void feed_n(struct bench *b, const char *text, size_t n)
{
	while (n) {
		size_t part = n < 4096 ? n : 4096;
		assert_int_equal(write(b->fds[1], text, part), part);
		text += part;
		n -= part;
		turn(b);
	}
}

static void feed(struct bench *b, const char *text)
{
	feed_n(b, text, strlen(text));
}

static void finish(struct bench *b)
{
	close(b->fds[1]);
	b->fds[1] = -1;
	turn(b);
}

static void told(struct bench *b, const char *expected)
{
	assert_string_equal(buf_str(&b->log), expected);
	buf_clear(&b->log);
}

static void say(struct bench *b, const char *text, const char *more)
{
	struct buf line = BUF_INIT(100000);

	buf_addf(&line, "{\"type\":\"user\",\"message\":{\"role\":\"user\",\"content\":\"%s\"}%s}\n", text, more);
	feed(b, buf_str(&line));
	buf_release(&line);
}

static void took(struct input_message *m, const char *text)
{
	if (!text) {
		assert_null(m);
		return;
	}
	assert_non_null(m);
	assert_string_equal(m->message->blocks[0]->text, text);
	input_message_free(m);
}

static void lines_however_they_come(void **state)
{
	static const char text[] =
	        "{\"type\":\"user\",\"message\":{\"content\":\"a\"}}\r\n\n \r\n\t\n"
	        "{\"type\":\"keep_alive\"}\n"
	        "{\"type\":\"control_response\",\"response\":{}}\n"
	        "{\"type\":\"control_cancel_request\",\"request_id\":\"x\"}\n"
	        "{\"type\":\"control_request\",\"request_id\":\"r1\",\"request\":{\"subtype\":\"s\"}}\n"
	        "{\"type\":\"user\",\"message\":{\"content\":\"b\"}}";

	(void)state;
	for (size_t piece = 1; piece <= sizeof text; piece = piece * 2 + 1) {
		struct bench b;
		start(&b);
		for (size_t at = 0; at < sizeof text - 1; at += piece) {
			size_t n = sizeof text - 1 - at;
			feed_n(&b, text + at, n < piece ? n : piece);
		}
		assert_false(input_ended(b.input));
		told(&b, "queued a\ncontrol r1\n");
		finish(&b); /* the last line has no line feed */
		told(&b, "queued b\n");
		assert_true(input_ended(b.input));
		took(input_take(b.input), "a");
		took(input_take(b.input), "b");
		took(input_take(b.input), NULL);
		stop(&b);
	}
}

static void priorities(void **state)
{
	struct bench b;

	(void)state;
	start(&b);
	say(&b, "l1", ",\"priority\":\"later\"");
	say(&b, "n1", "");
	say(&b, "n2", ",\"priority\":null");
	say(&b, "s", ",\"priority\":\"now\",\"shouldQuery\":false");
	took(input_take_attached(b.input), "n1");
	say(&b, "x1", ",\"priority\":\"now\"");
	say(&b, "x2", ",\"priority\":\"now\"");
	took(input_take_attached(b.input), NULL); /* something more urgent waits */
	took(input_take(b.input), "x1");
	took(input_take(b.input), "x2");
	took(input_take(b.input), "n2");
	assert_true(input_waiting(b.input)->silent);
	took(input_take_attached(b.input), "s"); /* it interrupts nothing */
	took(input_take_attached(b.input), NULL);
	took(input_take(b.input), "l1");
	stop(&b);
}

static void one_that_was_taken_is_put_back(void **state)
{
	struct bench b;

	(void)state;
	start(&b);
	say(&b, "n1", "");
	say(&b, "n2", "");
	struct input_message *m = input_take_attached(b.input);
	say(&b, "x1", ",\"priority\":\"now\"");
	input_put_back(b.input, m);
	took(input_take(b.input), "x1");
	took(input_take(b.input), "n1");
	took(input_take(b.input), "n2");
	took(input_take(b.input), NULL);
	stop(&b);
}

static void uuids(void **state)
{
	static const struct {
		const char *given, *kept;
	} cases[] = {
		{ "\"a1B2c3d4-0000-4000-8000-00000000000F\"", "a1b2c3d4-0000-4000-8000-00000000000f" },
		{ "\"a1b2c3d4-0000-4000-8000-00000000000\"", "" },
		{ "\"a1b2c3d4-0000-4000-8000-0000000000000\"", "" },
		{ "\"a1b2c3d400000-4000-8000-000000000000\"", "" },
		{ "\"g1b2c3d4-0000-4000-8000-000000000000\"", "" },
		{ "7", "" },
		{ "null", "" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct bench b;
		char more[100];
		start(&b);
		snprintf(more, sizeof more, ",\"uuid\":%s", cases[i].given);
		say(&b, "a", more);
		struct input_message *m = input_take(b.input);
		assert_string_equal(m->uuid, cases[i].kept);
		input_message_free(m);
		stop(&b);
	}
}

static void bad_lines_are_told_and_dropped(void **state)
{
	static const struct {
		const char *line, *told;
	} cases[] = {
		{ "nonsense", "whole line 1: it is no JSON: offset 0: " },
		{ "[1]", "whole line 1: it is no JSON object" },
		{ "{\"type\":\"user\"", "whole line 1: it is no JSON: offset " },
		{ "{}", "line 1: type: must be a string" },
		{ "{\"type\":\"assistant\"}", "line 1: type: \"assistant\" is none that is taken here" },
		{ "{\"type\":\"user\"}", "line 1: message: must be an object" },
		{ "{\"type\":\"user\",\"message\":{\"role\":\"assistant\",\"content\":\"a\"}}",
		  "line 1: message.role: must be user" },
		{ "{\"type\":\"user\",\"message\":{}}", "line 1: message.content: must be a string or an array" },
		{ "{\"type\":\"user\",\"message\":{\"content\":\" \"}}", "line 1: the message is blank" },
		{ "{\"type\":\"user\",\"message\":{\"content\":\"a\"},\"priority\":\"soon\"}", "line 1: priority: " },
		{ "{\"type\":\"user\",\"message\":{\"content\":\"a\"},\"shouldQuery\":1}", "line 1: shouldQuery: " },
		{ "{\"type\":\"user\",\"message\":{\"content\":\"\xFF\"}}",
		  "whole line 1: it is no JSON: offset 37: " },
		{ "{\"type\":\"user\",\"message\":{\"content\":\"\\ud800\"}}",
		  "whole line 1: it is no JSON: offset 37: " },
		{ "{\"type\":\"control_request\",\"request\":{\"subtype\":\"a\"}}", "line 1: request_id: " },
		{ "{\"type\":\"control_request\",\"request_id\":\"r\",\"request\":{}}", "line 1: request.subtype: " },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct bench b;
		start(&b);
		feed(&b, cases[i].line);
		feed(&b, "\n");
		if (strncmp(buf_str(&b.log), cases[i].told, strlen(cases[i].told)) != 0)
			fail_msg("%s: %s", cases[i].line, buf_str(&b.log));
		buf_clear(&b.log);
		say(&b, "next", ""); /* it goes on */
		told(&b, "queued next\n");
		stop(&b);
	}
}

static void a_nul_byte_is_refused(void **state)
{
	static const char line[] = "{\"type\":\"user\",\"message\":{\"content\":\"a\0b\"}}\n";
	struct bench b;

	(void)state;
	start(&b);
	feed_n(&b, line, sizeof line - 1);
	assert_non_null(strstr(buf_str(&b.log), "whole line 1: it is no JSON: offset 38: "));
	assert_null(input_take(b.input));
	stop(&b);
}

static void too_long_lines_are_skipped(void **state)
{
	struct bench b;
	char *big = malloc(MAX_LINE + 5000);

	(void)state;
	memset(big, 'x', MAX_LINE + 5000);
	for (size_t n = MAX_LINE; n < MAX_LINE + 5000; n += 2499) {
		start(&b);
		feed_n(&b, big, n);
		feed(&b, "\n");
		if (n == MAX_LINE) /* as long as it may be */
			assert_non_null(strstr(buf_str(&b.log), "line 1: it is no JSON: "));
		else
			told(&b, "line 1: it is longer than limits.stdin_bytes allows (65536 bytes)\n");
		buf_clear(&b.log);
		say(&b, "next", "");
		told(&b, "queued next\n");
		/* one that the end of the file ends */
		feed_n(&b, big, MAX_LINE + 1);
		finish(&b);
		told(&b, "line 3: it is longer than limits.stdin_bytes allows (65536 bytes)\n");
		took(input_take(b.input), "next");
		assert_true(input_ended(b.input));
		stop(&b);
	}
	free(big);
}

/* What is not taken stays in the pipe. */
static void a_full_queue_stops_the_reading(void **state)
{
	struct bench b;
	int n;

	(void)state;
	start(&b);
	for (n = 0; n < INPUT_QUEUE_MOST + 10; n++)
		say(&b, "m", "");
	finish(&b);
	assert_false(input_ended(b.input));
	buf_clear(&b.log);
	assert_int_equal(reactor_wait(b.reactor, 0, NULL), 0);
	for (n = 0; n < INPUT_QUEUE_MOST + 10; n++) {
		took(input_take(b.input), "m");
		turn(&b);
	}
	took(input_take(b.input), NULL);
	assert_true(input_ended(b.input));
	stop(&b);
}

static void many_bytes_stop_it_too(void **state)
{
	struct bench b;
	char *big = calloc(1, MAX_LINE / 2);

	(void)state;
	memset(big, 'x', MAX_LINE / 2 - 1);
	start(&b);
	for (int i = 0; i < 2; i++)
		say(&b, big, "");
	assert_non_null(input_waiting(b.input)->next);
	buf_clear(&b.log);
	say(&b, "m", "");
	told(&b, ""); /* not read yet */
	input_message_free(input_take(b.input));
	turn(&b);
	told(&b, "queued m\n");
	stop(&b);
	free(big);
}

static void a_pause_holds_it(void **state)
{
	struct bench b;

	(void)state;
	start(&b);
	input_pause(b.input, true);
	say(&b, "a", "");
	told(&b, "");
	input_pause(b.input, false);
	turn(&b);
	told(&b, "queued a\n");
	stop(&b);
}

static void what_waits_can_be_dropped(void **state)
{
	struct bench b;

	(void)state;
	start(&b);
	say(&b, "a", "");
	say(&b, "b", "");
	input_drop_waiting(b.input);
	took(input_take(b.input), NULL);
	say(&b, "c", "");
	took(input_take(b.input), "c");
	stop(&b);
}

static void secrets_are_masked(void **state)
{
	struct bench b;

	(void)state;
	start(&b);
	say(&b, "my hunter2", "");
	took(input_take(b.input), "my *******");
	stop(&b);
}

static void an_unreadable_stdin_is_an_error(void **state)
{
	struct bench b;
	struct error e = ERROR_INIT;

	(void)state;
	start(&b);
	assert_int_equal(dup2(b.fds[1], b.fds[0]), b.fds[0]); /* an end that cannot be read */
	close(b.fds[1]);
	b.fds[1] = -1;
	input_free(b.input);
	struct input_config cfg = { .reactor = b.reactor, .fd = b.fds[0], .max_line = MAX_LINE };
	b.input = input_open(&cfg, &e);
	assert_non_null(b.input);
	turn(&b);
	assert_true(input_ended(b.input));
	assert_true(input_failed(b.input, &e));
	assert_non_null(strstr(e.msg, "cannot read stdin"));
	stop(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_however_they_come),
		cmocka_unit_test(priorities),
		cmocka_unit_test(one_that_was_taken_is_put_back),
		cmocka_unit_test(uuids),
		cmocka_unit_test(bad_lines_are_told_and_dropped),
		cmocka_unit_test(a_nul_byte_is_refused),
		cmocka_unit_test(too_long_lines_are_skipped),
		cmocka_unit_test(a_full_queue_stops_the_reading),
		cmocka_unit_test(many_bytes_stop_it_too),
		cmocka_unit_test(a_pause_holds_it),
		cmocka_unit_test(what_waits_can_be_dropped),
		cmocka_unit_test(secrets_are_masked),
		cmocka_unit_test(an_unreadable_stdin_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
