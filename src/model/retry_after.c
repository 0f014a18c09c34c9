/*
 * The Retry-After header: seconds, or a date in one of HTTP's three forms. Parsed by hand, because strptime and
 * mktime depend on the locale and on TZ, and strtod takes hexadecimal, exponents and "nan".
 */
#include <string.h>
#include <strings.h>

#include "model/retry.h"

#define DAY_MS ((int64_t)24 * 60 * 60 * 1000)

struct cursor {
	const char *p;
	const char *end;
};

static bool digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool eat(struct cursor *c, const char *literal)
{
	size_t n = strlen(literal);

	if ((size_t)(c->end - c->p) < n || strncasecmp(c->p, literal, n) != 0)
		return false;
	c->p += n;
	return true;
}

static bool eat_number(struct cursor *c, int digits, int *out)
{
	int v = 0;

	for (int i = 0; i < digits; i++, c->p++) {
		if (c->p == c->end || !digit(*c->p))
			return false;
		v = v * 10 + (*c->p - '0');
	}
	*out = v;
	return true;
}

static bool eat_month(struct cursor *c, int *month)
{
	static const char *const names[] = { "Jan", "Feb", "Mar", "Apr", "May", "Jun",
		                             "Jul", "Aug", "Sep", "Oct", "Nov", "Dec" };

	for (*month = 1; *month <= 12; ++*month)
		if (eat(c, names[*month - 1]))
			return true;
	return false;
}

static bool eat_weekday(struct cursor *c, bool whole)
{
	static const char *const names[] = { "Monday", "Tuesday",  "Wednesday", "Thursday",
		                             "Friday", "Saturday", "Sunday" };

	for (int i = 0; i < 7; i++) {
		if (whole) {
			if (eat(c, names[i]))
				return true;
			continue;
		}
		char brief[4] = { names[i][0], names[i][1], names[i][2], '\0' };
		if (eat(c, brief))
			return true;
	}
	return false;
}

struct date {
	int year, month, day, hour, minute, second;
};

static bool eat_time(struct cursor *c, struct date *d)
{
	return eat_number(c, 2, &d->hour) && eat(c, ":") && eat_number(c, 2, &d->minute) && eat(c, ":") &&
	       eat_number(c, 2, &d->second);
}

/* Days since 1970-01-01 of a day in the Gregorian calendar; March is taken as first month so that the leap day is last.
 */
static int64_t days_from_civil(int year, int month, int day)
{
	int64_t y = month > 2 ? year : year - 1;
	int64_t era = y / 400;
	int64_t yoe = y - era * 400;
	int64_t doy = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;

	return era * 146097 + yoe * 365 + yoe / 4 - yoe / 100 + doy - 719468;
}

static bool date_to_ms(const struct date *d, int64_t *ms)
{
	static const int length[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
	bool leap = (d->year % 4 == 0 && d->year % 100 != 0) || d->year % 400 == 0;

	if (d->year < 1900 || d->day < 1 || d->day > length[d->month - 1] + (d->month == 2 && leap))
		return false;
	if (d->hour > 23 || d->minute > 59 || d->second > 60)
		return false;
	int64_t s = days_from_civil(d->year, d->month, d->day) * 86400;
	*ms = (s + d->hour * 3600 + d->minute * 60 + d->second) * 1000;
	return true;
}

/* Wed, 21 Oct 2015 07:28:00 GMT */
static bool rfc1123(struct cursor c, int64_t now_ms, struct date *d)
{
	(void)now_ms;
	return eat_weekday(&c, false) && eat(&c, ", ") && eat_number(&c, 2, &d->day) && eat(&c, " ") &&
	       eat_month(&c, &d->month) && eat(&c, " ") && eat_number(&c, 4, &d->year) && eat(&c, " ") &&
	       eat_time(&c, d) && eat(&c, " GMT") && c.p == c.end;
}

/* Wednesday, 21-Oct-15 07:28:00 GMT; a year that seems more than 50 years ahead is the last one with these digits. */
static bool rfc850(struct cursor c, int64_t now_ms, struct date *d)
{
	if (!(eat_weekday(&c, true) && eat(&c, ", ") && eat_number(&c, 2, &d->day) && eat(&c, "-") &&
	      eat_month(&c, &d->month) && eat(&c, "-") && eat_number(&c, 2, &d->year) && eat(&c, " ") &&
	      eat_time(&c, d) && eat(&c, " GMT") && c.p == c.end))
		return false;
	int this_year = (int)(1970 + now_ms / (DAY_MS * 36525 / 100));
	d->year += this_year / 100 * 100;
	if (d->year > this_year + 50)
		d->year -= 100;
	return true;
}

/* Wed Oct 21 07:28:00 2015, the day padded with a space */
static bool asctime_form(struct cursor c, int64_t now_ms, struct date *d)
{
	(void)now_ms;
	if (!(eat_weekday(&c, false) && eat(&c, " ") && eat_month(&c, &d->month) && eat(&c, " ")))
		return false;
	return eat_number(&c, eat(&c, " ") ? 1 : 2, &d->day) && eat(&c, " ") && eat_time(&c, d) && eat(&c, " ") &&
	       eat_number(&c, 4, &d->year) && c.p == c.end;
}

static bool parse_date(struct cursor c, int64_t now_ms, int64_t *ms)
{
	static bool (*const forms[])(struct cursor, int64_t, struct date *) = { rfc1123, rfc850, asctime_form };
	struct date d;

	for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
		int64_t at;
		if (!forms[i](c, now_ms, &d) || !date_to_ms(&d, &at))
			continue;
		*ms = at > now_ms ? at - now_ms : 0;
		return true;
	}
	return false;
}

/* Digits, a point, digits. Rounded up to whole ms, as a retry that comes early fails; saturates above a day. */
static bool parse_number(struct cursor c, int64_t unit_ms, int64_t *ms)
{
	int64_t whole = 0, fraction = 0, scale = 1;
	bool rest = false;

	if (c.p == c.end || !digit(*c.p))
		return false;
	for (; c.p < c.end && digit(*c.p); c.p++)
		if (whole <= DAY_MS)
			whole = whole * 10 + (*c.p - '0');
	if (c.p < c.end && *c.p == '.') {
		for (c.p++; c.p < c.end && digit(*c.p); c.p++) {
			if (scale < 1000000) {
				fraction = fraction * 10 + (*c.p - '0');
				scale *= 10;
			} else {
				rest |= *c.p != '0';
			}
		}
	}
	if (c.p != c.end)
		return false;
	*ms = whole > DAY_MS ? DAY_MS + 1 : whole * unit_ms + (fraction * unit_ms + scale - 1 + rest) / scale;
	return true;
}

int64_t retry_after_parse(const char *value, bool is_ms, int64_t now_ms, bool *junk)
{
	int64_t ms = -1;

	*junk = false;
	if (!value)
		return -1;
	struct cursor c = { value, value + strlen(value) };
	while (c.p < c.end && (*c.p == ' ' || *c.p == '\t'))
		c.p++;
	while (c.p < c.end && (c.end[-1] == ' ' || c.end[-1] == '\t' || c.end[-1] == '\r' || c.end[-1] == '\n'))
		c.end--;
	if (!parse_number(c, is_ms ? 1 : 1000, &ms) && (is_ms || !parse_date(c, now_ms, &ms)))
		ms = -1;
	if (ms < 0 || ms > DAY_MS) {
		*junk = true;
		return -1;
	}
	return ms;
}
