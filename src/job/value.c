#include "job/value.h"

#include <inttypes.h>
#include <string.h>

struct unit {
	const char *name;
	int64_t factor;
};

/* Largest first, for printing. Durations have no bare form: 0 is the exception and handled where it is read. */
static const struct unit plain_units[] = { { "", 1 }, { NULL, 0 } };
static const struct unit token_units[] = { { "M", 1000000 }, { "k", 1000 }, { "", 1 }, { NULL, 0 } };
static const struct unit byte_units[] = { { "TiB", (int64_t)1 << 40 }, { "GiB", 1 << 30 }, { "MiB", 1 << 20 },
	                                  { "KiB", 1 << 10 },          { "", 1 },          { NULL, 0 } };
static const struct unit time_units[] = { { "h", 3600000 }, { "m", 60000 }, { "s", 1000 }, { "ms", 1 }, { NULL, 0 } };

static const struct {
	const struct unit *units;
	const char *expect;
	const char *pattern;
} forms[KEY_TYPES] = {
	[KEY_INT] = { plain_units, "must be a whole number", NULL },
	[KEY_TOKENS] = { token_units, "must be a number of tokens such as 8000, 500k or 5M", "^(0|[1-9][0-9]*)[kM]$" },
	[KEY_BYTES] = { byte_units, "must be a size such as 4096, 512KiB or 10MiB", "^(0|[1-9][0-9]*)[KMGT]iB$" },
	[KEY_DURATION] = { time_units, "must be a duration such as 90s, 15m or 2h", "^(0|[1-9][0-9]*)(ms|s|m|h)$" },
	[KEY_USD] = { NULL, "must be an amount in dollars such as 2.50", NULL },
	[KEY_MARK] = { token_units, "must be a mark such as 60%, 150k or off",
	               "^([1-9][0-9]?%|100%|[1-9][0-9]*[kM]|off)$" },
};

#define NANO 1000000000

/* Reads the digits at *p; false if there are none or a zero leads others. Overflow sticks at INT64_MAX. */
static bool read_digits(const char **p, int64_t *out)
{
	const char *s = *p;
	size_t n = strspn(s, "0123456789");

	if (!n || (n > 1 && *s == '0'))
		return false;
	*out = 0;
	for (size_t i = 0; i < n; i++)
		if (__builtin_mul_overflow(*out, 10, out) || __builtin_add_overflow(*out, s[i] - '0', out)) {
			*out = INT64_MAX;
			break;
		}
	*p = s + n;
	return true;
}

static enum value_status read_usd(const char *s, int64_t *out)
{
	int64_t fraction = 0;

	if (!read_digits(&s, out))
		return VALUE_FORM;
	if (*s == '.') {
		size_t n = strspn(++s, "0123456789");
		if (!n || n > 9)
			return VALUE_FORM;
		for (size_t i = 0; i < 9; i++)
			fraction = fraction * 10 + (i < n ? s[i] - '0' : 0);
		s += n;
	}
	if (*s)
		return VALUE_FORM;
	if (__builtin_mul_overflow(*out, NANO, out) || __builtin_add_overflow(*out, fraction, out))
		*out = INT64_MAX;
	return VALUE_OK;
}

/* "90" or "1.5": seconds, as milliseconds. */
static bool read_seconds(const char *s, int64_t *out)
{
	if (read_usd(s, out) != VALUE_OK)
		return false;
	*out /= NANO / 1000;
	return true;
}

static enum value_status read_units(const struct unit *u, const char *s, int64_t *out)
{
	if (!read_digits(&s, out))
		return VALUE_FORM;
	if (!*s && !*out)
		return VALUE_OK;
	for (; u->name; u++)
		if (!strcmp(s, u->name)) {
			if (__builtin_mul_overflow(*out, u->factor, out))
				*out = INT64_MAX;
			return VALUE_OK;
		}
	return VALUE_FORM;
}

static bool says_auto(const struct job_key *k, const char *text)
{
	return (k->flags & KF_AUTO) && !strcmp(text, "auto");
}

enum value_status value_number(const struct job_key *k, const char *text, int64_t *out)
{
	const struct unit *u = forms[k->type].units;

	if (says_auto(k, text)) {
		*out = 0;
		return VALUE_OK;
	}
	enum value_status st = VALUE_OK;

	if (!(k->flags & KF_SECONDS) || !read_seconds(text, out))
		st = u ? read_units(u, text, out) : read_usd(text, out);

	if (st == VALUE_OK && (*out < k->min || *out > k->max))
		return VALUE_RANGE;
	return st;
}

enum value_status value_mark(const struct job_key *k, const char *text, struct job_mark *out)
{
	const char *rest = text;

	*out = (struct job_mark){ .kind = says_auto(k, text) ? MARK_AUTO : MARK_OFF };
	if (out->kind == MARK_AUTO || !strcmp(text, "off"))
		return VALUE_OK;
	if (read_digits(&rest, &out->value) && !strcmp(rest, "%")) {
		out->kind = MARK_PERCENT;
		return out->value >= 1 && out->value <= 100 ? VALUE_OK : VALUE_RANGE;
	}
	out->kind = MARK_TOKENS;
	return value_number(k, text, &out->value);
}

void value_print_mark(const struct job_key *k, const struct job_mark *m, struct buf *out)
{
	switch (m->kind) {
	case MARK_AUTO:
		buf_adds(out, "auto");
		break;
	case MARK_OFF:
		buf_adds(out, "off");
		break;
	case MARK_PERCENT:
		buf_addf(out, "%" PRId64 "%%", m->value);
		break;
	case MARK_TOKENS:
		value_print(k, m->value, out);
		break;
	}
}

void value_print(const struct job_key *k, int64_t v, struct buf *out)
{
	if (k->type == KEY_USD) {
		char fraction[16];
		int64_t rest = v % NANO;
		int n = 9;

		buf_addf(out, "%" PRId64, v / NANO);
		for (int i = 8; i >= 0; i--, rest /= 10)
			fraction[i] = (char)('0' + rest % 10);
		while (n > 2 && fraction[n - 1] == '0')
			n--;
		buf_addc(out, '.');
		buf_add(out, fraction, (size_t)n);
		return;
	}
	const struct unit *u = forms[k->type].units;
	if (!v) {
		buf_adds(out, k->flags & KF_AUTO ? "auto" : "0");
		return;
	}
	while (v % u->factor)
		u++;
	buf_addf(out, "%" PRId64 "%s", v / u->factor, u->name);
}

void value_expectation(const struct job_key *k, struct buf *out)
{
	buf_adds(out, forms[k->type].expect);
	if (k->min == k->max) {
		buf_clear(out);
		buf_addf(out, "must be %" PRId64, k->min);
		return;
	}
	if (k->type != KEY_MARK) {
		buf_adds(out, ", from ");
		value_print(k, k->min, out);
		buf_adds(out, " to ");
		value_print(k, k->max, out);
	}
	if (k->flags & KF_AUTO)
		buf_adds(out, ", or auto");
	if (k->flags & KF_SECONDS)
		buf_adds(out, ", or a number of seconds");
}

const char *value_pattern(const struct job_key *k)
{
	return forms[k->type].pattern;
}
