#include "test.h"

#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "model/retry.h"

#define LENGTH(a) (sizeof(a) / sizeof *(a))
#define DAY       86400000

/* 21 Oct 2015 07:28:00 UTC, the date of the standard's own examples */
#define NOW ((int64_t)1445412480000)

static const struct {
	const char *value;
	int64_t ms; /* -1 = junk */
} values[] = {
	{ "2", 2000 },
	{ "0", 0 },
	{ "1.5", 1500 },
	{ "  2  ", 2000 },
	{ "\t2\t", 2000 },
	{ "2\r", 2000 },
	{ "007", 7000 },
	{ "2.", 2000 },
	{ "0.0001", 1 }, /* rounded up: too early fails */
	{ "1.0000000001", 1001 },
	{ "86400", DAY },
	{ "86400.001", -1 },
	{ "86401", -1 },
	{ "-5", -1 },
	{ "+5", -1 },
	{ "soon", -1 },
	{ "", -1 },
	{ "   ", -1 },
	{ ".", -1 },
	{ ".5", -1 },
	{ "99999999999999999999", -1 },
	{ "1790000000", -1 },
	{ "1, 5", -1 },
	{ "1,5", -1 },
	{ "1;q=1", -1 },
	{ "2 s", -1 },
	{ "2s", -1 },
	{ "0x10", -1 },
	{ "1e3", -1 },
	{ "nan", -1 },
	{ "inf", -1 },
	{ "\xb2", -1 },         /* superscript two in latin-1 */
	{ "\xc2\xb2", -1 },     /* the same in UTF-8 */
	{ "\xef\xbc\x92", -1 }, /* full-width two */
	{ "1.5.2", -1 },

	{ "Wed, 21 Oct 2015 07:28:03 GMT", 3000 },
	{ "wed, 21 oct 2015 07:28:03 gmt", 3000 },
	{ "Wed, 21 Oct 2015 07:28:00 GMT", 0 },
	{ "Tue, 20 Oct 2015 07:28:00 GMT", 0 },
	{ "Thu, 22 Oct 2015 07:28:00 GMT", DAY },
	{ "Thu, 22 Oct 2015 07:28:01 GMT", -1 },
	{ "Wed, 21 Oct 2099 07:28:00 GMT", -1 },
	{ "Wed, 99 Foo 2026 07:28:00 GMT", -1 },
	{ "Wed, 31 Nov 2015 07:28:00 GMT", -1 },
	{ "Sun, 29 Feb 2015 07:28:00 GMT", -1 },
	{ "Wed, 21 Oct 2015 24:00:00 GMT", -1 },
	{ "Wed, 21 Oct 2015 07:28:61 GMT", -1 },
	{ "Wed, 21 Oct 2015 07:28:60 GMT", 60000 },
	{ "Wed, 21 Oct 2015 07:28:03 CET", -1 },
	{ "Wed, 21 Oct 2015 07:28:03", -1 },
	{ "Wed, 21 Oct 2015 07:28:03 GMT;", -1 },
	{ "Wed, 1 Oct 2015 07:28:03 GMT", -1 },
	{ "21 Oct 2015 07:28:03 GMT", -1 },

	{ "Wednesday, 21-Oct-15 07:28:09 GMT", 9000 },
	{ "Wednesday, 21-Oct-14 07:28:09 GMT", 0 },
	{ "Friday, 21-Oct-94 07:28:09 GMT", 0 }, /* 1994, not 2094 */
	{ "Wed, 21-Oct-15 07:28:09 GMT", -1 },
	{ "Wednesday, 21-Oct-2015 07:28:09 GMT", -1 },

	{ "Wed Oct 21 07:28:05 2015", 5000 },
	{ "Thu Oct  1 07:28:05 2015", 0 },
	{ "Wed Oct 21 07:28:05 2015 GMT", -1 },
	{ "Wed Oct 1 07:28:05 2015", -1 },
};

static void all_values(void)
{
	for (size_t i = 0; i < LENGTH(values); i++) {
		bool junk = true;
		int64_t ms = retry_after_parse(values[i].value, false, NOW, &junk);
		if (ms != values[i].ms)
			print_error("value '%s'\n", values[i].value);
		assert_int_equal(ms, values[i].ms);
		assert_int_equal(junk, values[i].ms < 0);
	}
}

static void values_are_read_or_junk(void **state)
{
	(void)state;
	all_values();
}

static void nothing_depends_on_time_zone_or_locale(void **state)
{
	(void)state;
	setenv("TZ", "America/New_York", 1);
	tzset();
	setlocale(LC_ALL, "C.UTF-8");
	all_values();
	setenv("TZ", "UTC-14", 1);
	tzset();
	all_values();
}

static void absent_is_not_junk(void **state)
{
	bool junk = true;
	(void)state;
	assert_int_equal(retry_after_parse(NULL, false, NOW, &junk), -1);
	assert_false(junk);
}

static void milliseconds_are_numbers_only(void **state)
{
	static const struct {
		const char *value;
		int64_t ms;
	} rows[] = {
		{ "250", 250 },      { "250.2", 251 },   { "0", 0 },
		{ "86400000", DAY }, { "86400001", -1 }, { "Wed, 21 Oct 2015 07:28:03 GMT", -1 },
		{ "", -1 },
	};
	(void)state;
	for (size_t i = 0; i < LENGTH(rows); i++) {
		bool junk;
		assert_int_equal(retry_after_parse(rows[i].value, true, NOW, &junk), rows[i].ms);
		assert_int_equal(junk, rows[i].ms < 0);
	}
}

static void dates_cross_leap_days_and_centuries(void **state)
{
	bool junk;
	(void)state;
	/* 29 Feb 2000 23:59:59 = 951868799 */
	assert_int_equal(retry_after_parse("Wed, 01 Mar 2000 00:00:00 GMT", false, 951868799000, &junk), 1000);
	/* 31 Dec 2099 23:59:59 = 4102444799 */
	assert_int_equal(retry_after_parse("Fri, 01 Jan 2100 00:00:00 GMT", false, 4102444799000, &junk), 1000);
	assert_int_equal(retry_after_parse("Thu, 01 Jan 1970 00:00:01 GMT", false, 0, &junk), 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_are_read_or_junk),
		cmocka_unit_test(nothing_depends_on_time_zone_or_locale),
		cmocka_unit_test(absent_is_not_junk),
		cmocka_unit_test(milliseconds_are_numbers_only),
		cmocka_unit_test(dates_cross_leap_days_and_centuries),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
