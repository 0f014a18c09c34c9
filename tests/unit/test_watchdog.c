

#include "base/clock.h"
#include "model/watchdog.h"
#include "test.h"

static const struct watchdog_limits limits = { 30, 300, 200, 600 };

static void connect_then_first_byte(void **state)
{
	struct watchdog w;
	(void)state;
	watchdog_start(&w, &limits, 1000);
	assert_int_equal(watchdog_deadline(&w), 1030);
	assert_int_equal(watchdog_due(&w, 1029), TIMEOUT_NONE);
	assert_int_equal(watchdog_due(&w, 1030), TIMEOUT_CONNECT);
	watchdog_saw(&w, PHASE_CONNECTED, 1020);
	assert_int_equal(watchdog_deadline(&w), 1320);
	watchdog_saw(&w, PHASE_SENT, 1100); /* a long upload is not a late answer */
	assert_int_equal(watchdog_deadline(&w), 1400);
	assert_int_equal(watchdog_due(&w, 1399), TIMEOUT_NONE);
	assert_int_equal(watchdog_due(&w, 1400), TIMEOUT_FIRST_BYTE);
}

static void bytes_hold_off_idle_but_not_progress(void **state)
{
	struct watchdog w;
	(void)state;
	watchdog_start(&w, &limits, 0);
	watchdog_saw(&w, PHASE_BYTES, 250);
	assert_int_equal(watchdog_deadline(&w), 450);
	for (int64_t t = 300; t < 850; t += 50) {
		assert_int_equal(watchdog_due(&w, t), TIMEOUT_NONE);
		watchdog_saw(&w, PHASE_BYTES, t);
	}
	assert_int_equal(watchdog_deadline(&w), 850); /* 600 after the first byte */
	assert_int_equal(watchdog_due(&w, 850), TIMEOUT_PROGRESS);
	watchdog_saw(&w, PHASE_CONTENT, 849);
	assert_int_equal(watchdog_due(&w, 850), TIMEOUT_NONE);
	assert_int_equal(watchdog_due(&w, 1048), TIMEOUT_NONE);
	assert_int_equal(watchdog_due(&w, 1049), TIMEOUT_IDLE);
}

static void a_slow_first_byte_is_not_missing_progress(void **state)
{
	struct watchdog_limits slow = { 30, 10000, 200, 600 };
	struct watchdog w;
	(void)state;
	watchdog_start(&w, &slow, 0);
	watchdog_saw(&w, PHASE_SENT, 10);
	assert_int_equal(watchdog_due(&w, 9000), TIMEOUT_NONE);
	watchdog_saw(&w, PHASE_BYTES, 9000);
	assert_int_equal(watchdog_due(&w, 9199), TIMEOUT_NONE);
}

static void zero_turns_a_timer_off(void **state)
{
	struct watchdog_limits off = { 0, 0, 0, 0 };
	struct watchdog w;
	(void)state;
	watchdog_start(&w, &off, 5);
	assert_int_equal(watchdog_deadline(&w), CLOCK_NEVER);
	assert_int_equal(watchdog_due(&w, INT64_MAX - 1), TIMEOUT_NONE);
	watchdog_saw(&w, PHASE_BYTES, 6);
	assert_int_equal(watchdog_deadline(&w), CLOCK_NEVER);
	assert_int_equal(watchdog_due(&w, INT64_MAX - 1), TIMEOUT_NONE);
}

static void time_we_did_not_read_does_not_count(void **state)
{
	struct watchdog w;
	(void)state;
	watchdog_start(&w, &limits, 0);
	watchdog_saw(&w, PHASE_CONTENT, 100);
	watchdog_shift(&w, 1000);
	assert_int_equal(watchdog_deadline(&w), 1300);
	assert_int_equal(watchdog_due(&w, 1299), TIMEOUT_NONE);
	assert_int_equal(watchdog_due(&w, 1300), TIMEOUT_IDLE);
}

static void huge_limits_do_not_overflow(void **state)
{
	struct watchdog_limits huge = { INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX };
	struct watchdog w;
	(void)state;
	watchdog_start(&w, &huge, 1000);
	assert_int_equal(watchdog_deadline(&w), CLOCK_NEVER);
	watchdog_saw(&w, PHASE_BYTES, 2000);
	watchdog_shift(&w, INT64_MAX);
	assert_int_equal(watchdog_deadline(&w), CLOCK_NEVER);
	assert_int_equal(watchdog_due(&w, 3000), TIMEOUT_NONE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(connect_then_first_byte),
		cmocka_unit_test(bytes_hold_off_idle_but_not_progress),
		cmocka_unit_test(a_slow_first_byte_is_not_missing_progress),
		cmocka_unit_test(zero_turns_a_timer_off),
		cmocka_unit_test(time_we_did_not_read_does_not_count),
		cmocka_unit_test(huge_limits_do_not_overflow),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
