/* The order of calls: plain cases, and random sequences in which every rule is checked after every step. */

#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tool/executor.h"

static void add(struct executor *x, int i, bool read_only)
{
	char id[16];

	snprintf(id, sizeof id, "t%d", i);
	struct block *b = block_new_tool_use(id, read_only ? "Read" : "Bash", "{}", 2);
	assert_non_null(b);
	assert_int_equal(executor_add(x, b, read_only), 0);
	block_unref(b);
}

static struct tool_result result_of(int i)
{
	char text[16];

	snprintf(text, sizeof text, "r%d", i);
	return (struct tool_result){ .text = strdup(text), .text_len = strlen(text) };
}

static void start(struct executor *x, const char *id)
{
	struct executor_call *c = executor_next(x);

	assert_non_null(c);
	assert_string_equal(c->use->id, id);
	executor_started(x, c);
}

static void finish(struct executor *x, const char *id, bool cancels)
{
	struct tool_result r = result_of(atoi(id + 1));

	r.is_error = r.cancels_siblings = cancels;
	executor_done(x, executor_find(x, id), &r);
	assert_null(r.text);
}

static void reads_together_others_alone(void **state)
{
	struct executor x;

	(void)state;
	executor_init(&x, 2);
	assert_true(executor_idle(&x));
	add(&x, 0, true);
	add(&x, 1, true);
	add(&x, 2, true);
	add(&x, 3, false);
	add(&x, 4, true);
	start(&x, "t0");
	start(&x, "t1");
	assert_null(executor_next(&x)); /* at most two */
	finish(&x, "t1", false);
	start(&x, "t2");
	assert_null(executor_yield(&x)); /* t0 is not done */
	finish(&x, "t2", false);
	assert_null(executor_next(&x)); /* t3 waits for t0 and t4 does not overtake it */
	finish(&x, "t0", false);
	start(&x, "t3");
	assert_null(executor_next(&x));
	for (int i = 0; i < 3; i++) {
		char want[16];
		snprintf(want, sizeof want, "r%d", i);
		assert_string_equal(executor_yield(&x)->result.text, want);
	}
	assert_null(executor_yield(&x));
	assert_false(executor_idle(&x));
	finish(&x, "t3", false);
	start(&x, "t4");
	finish(&x, "t4", false);
	assert_true(executor_idle(&x));
	executor_clear(&x);
	assert_null(executor_next(&x));
	executor_release(&x);
}

static void a_failed_command_cancels_what_is_behind(void **state)
{
	struct executor x;

	(void)state;
	executor_init(&x, 10);
	for (int i = 0; i < 4; i++)
		add(&x, i, i == 0);
	start(&x, "t0");
	finish(&x, "t0", false);
	start(&x, "t1");
	finish(&x, "t1", true);
	assert_true(executor_idle(&x));
	assert_string_equal(executor_yield(&x)->result.text, "r0");
	assert_string_equal(executor_yield(&x)->result.text, "r1");
	for (int i = 2; i < 4; i++) {
		struct executor_call *c = executor_yield(&x);
		assert_true(c->result.is_error && !c->result.ran);
		assert_non_null(strstr(c->result.text, "was not run"));
	}
	assert_null(executor_yield(&x));
	executor_release(&x);
}

static void an_abort_answers_everything_once(void **state)
{
	struct executor x;

	(void)state;
	executor_init(&x, 10);
	for (int i = 0; i < 4; i++)
		add(&x, i, i < 2);
	start(&x, "t0");
	start(&x, "t1");
	finish(&x, "t0", false);
	executor_abort(&x, "interrupted");
	assert_true(executor_idle(&x));
	finish(&x, "t1", false); /* comes late: the first result stands */
	assert_string_equal(executor_yield(&x)->result.text, "r0");
	for (int i = 1; i < 4; i++)
		assert_string_equal(executor_yield(&x)->result.text, "interrupted");
	assert_null(executor_yield(&x));
	executor_release(&x);
}

/* ---- random sequences ---- */

struct model {
	struct executor x;
	int yielded;
	uint64_t seed;
	int starts[64]; /* how often each was started */
};

static unsigned roll(struct model *m, unsigned n)
{
	m->seed = m->seed * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(m->seed >> 33) % n;
}

static void check(struct model *m)
{
	size_t running = 0, unsafe_running = 0;
	bool unsafe_waits = false;

	for (size_t i = 0; i < m->x.n; i++) {
		const struct executor_call *c = &m->x.calls[i];
		if (c->state == CALL_EXECUTING) {
			running++;
			unsafe_running += !c->read_only;
			assert_false(unsafe_waits); /* nothing overtakes a waiting unsafe call */
		}
		if (c->state == CALL_QUEUED && !c->read_only)
			unsafe_waits = true;
		assert_true(m->starts[i] <= 1);
		assert_int_equal(c->state == CALL_YIELDED, (int)i < m->yielded);
	}
	assert_int_equal(running, m->x.executing);
	assert_true(running <= m->x.max_concurrency);
	assert_true(unsafe_running == 0 || running == 1);
}

static void take_results(struct model *m)
{
	struct executor_call *c;

	while ((c = executor_yield(&m->x))) {
		assert_ptr_equal(c, &m->x.calls[m->yielded]);
		assert_non_null(c->result.text);
		m->yielded++;
		check(m);
	}
}

static void finish_one(struct model *m)
{
	size_t n = m->x.n, at = n ? roll(m, (unsigned)n) : 0;

	for (size_t i = 0; i < n; i++) {
		struct executor_call *c = &m->x.calls[(at + i) % n];
		if (c->state != CALL_EXECUTING)
			continue;
		struct tool_result r = result_of((int)((at + i) % n));
		r.cancels_siblings = !c->read_only && roll(m, 8) == 0;
		executor_done(&m->x, c, &r);
		return;
	}
}

static void start_or_deny_one(struct model *m)
{
	struct executor_call *c = executor_next(&m->x);

	if (!c)
		return;
	if (roll(m, 5) == 0) { /* denied: done without having been started */
		struct tool_result r = result_of(0);
		r.is_error = r.denied = true;
		executor_done(&m->x, c, &r);
		return;
	}
	m->starts[c - m->x.calls]++;
	executor_started(&m->x, c);
}

static void random_sequences(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 2000; seed++) {
		struct model m = { .seed = seed };
		executor_init(&m.x, 1 + roll(&m, 4));
		int total = (int)roll(&m, 20), added = 0;
		for (int step = 0; step < 1000 && (added < total || !executor_idle(&m.x)); step++) {
			switch (roll(&m, 4)) {
			case 0:
				if (added < total)
					add(&m.x, added++, roll(&m, 3) != 0);
				break;
			case 1:
				finish_one(&m);
				break;
			case 2:
				take_results(&m);
				break;
			default:
				start_or_deny_one(&m);
			}
			check(&m);
			if (roll(&m, 400) == 0)
				executor_abort(&m.x, "aborted");
		}
		assert_true(executor_idle(&m.x)); /* it always ends */
		take_results(&m);
		assert_int_equal(m.yielded, added);
		executor_release(&m.x);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_together_others_alone),
		cmocka_unit_test(a_failed_command_cancels_what_is_behind),
		cmocka_unit_test(an_abort_answers_everything_once),
		cmocka_unit_test(random_sequences),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
