/* Numbers: integers exactly (never by way of a double), doubles whatever the locale. */
#include "base/json_private.h"

#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define EXPONENT_MAX 1000000000000 /* far beyond any number of digits a text can hold */

/* A number as digits * 10^scale: the significant digits lie in text[first..last), the point among them. */
struct decimal {
	bool negative;
	const char *first, *last;
	int64_t scale;
};

static int64_t read_exponent(const char *p, const char *end)
{
	bool negative = false;
	int64_t v = 0;

	if (p < end && (*p == '+' || *p == '-'))
		negative = *p++ == '-';
	for (; p < end && v < EXPONENT_MAX; p++)
		v = v * 10 + (*p - '0');
	return negative ? -v : v;
}

static struct decimal read_decimal(const char *p, const char *end)
{
	struct decimal d = { .negative = *p == '-' };
	const char *mantissa_end = p;
	const char *point = NULL;

	if (d.negative)
		p++;
	while (mantissa_end < end && *mantissa_end != 'e' && *mantissa_end != 'E')
		mantissa_end++;
	if (mantissa_end < end)
		d.scale = read_exponent(mantissa_end + 1, end);
	point = memchr(p, '.', (size_t)(mantissa_end - p));
	if (point)
		d.scale -= mantissa_end - point - 1;
	d.first = p;
	d.last = mantissa_end;
	while (d.last > d.first && (d.last[-1] == '0' || d.last[-1] == '.')) {
		if (d.last[-1] == '0')
			d.scale++;
		d.last--;
	}
	while (d.first < d.last && (*d.first == '0' || *d.first == '.'))
		d.first++;
	return d;
}

/* |value| in *out; false if it is no whole number or does not fit 64 bits. */
static bool magnitude(const struct decimal *d, uint64_t *out)
{
	uint64_t v = 0;

	*out = 0;
	if (d->first == d->last)
		return true;
	if (d->scale < 0 || d->scale > 19)
		return false;
	for (const char *p = d->first; p < d->last; p++) {
		if (*p == '.')
			continue;
		if (__builtin_mul_overflow(v, (uint64_t)10, &v) || __builtin_add_overflow(v, (uint64_t)(*p - '0'), &v))
			return false;
	}
	for (int64_t i = 0; i < d->scale; i++) {
		if (__builtin_mul_overflow(v, (uint64_t)10, &v))
			return false;
	}
	*out = v;
	return true;
}

bool json_int(const struct json *doc, int tok, int64_t *out)
{
	uint64_t v;

	if (json_type(doc, tok) != JSON_NUMBER)
		return false;
	size_t n;
	const char *p = json_inner(doc, json_tok(doc, tok), &n);
	struct decimal d = read_decimal(p, p + n);
	if (!magnitude(&d, &v) || v > (uint64_t)INT64_MAX + (d.negative ? 1 : 0))
		return false;
	if (!d.negative)
		*out = (int64_t)v;
	else
		*out = v ? -(int64_t)(v - 1) - 1 : 0;
	return true;
}

int64_t json_int_or(const struct json *doc, int tok, int64_t otherwise)
{
	int64_t v;

	return json_int(doc, tok, &v) ? v : otherwise;
}

bool json_pair(const struct json *doc, int tok, size_t *a, size_t *b)
{
	int first = json_first(doc, tok);
	int64_t x = json_int_or(doc, first, -1);
	int64_t y = first < 0 ? -1 : json_int_or(doc, json_next(doc, tok, first), -1);

	if (json_type(doc, tok) != JSON_ARRAY || json_size(doc, tok) != 2 || x < 0 || y < 0)
		return false;
	*a = (size_t)x;
	*b = (size_t)y;
	return true;
}

static double to_double(const char *text)
{
	/* glibc hands out its one static C locale here: no allocation */
	locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
	if (!c)
		return strtod(text, NULL);
	double v = strtod_l(text, NULL, c);
	freelocale(c);
	return v;
}

bool json_double(const struct json *doc, int tok, double *out)
{
	char few[64];
	char *many = NULL;

	if (json_type(doc, tok) != JSON_NUMBER)
		return false;
	size_t n;
	const char *p = json_inner(doc, json_tok(doc, tok), &n);
	if (n >= sizeof few) {
		many = strndup(p, n);
		if (!many)
			return false;
	} else {
		memcpy(few, p, n);
		few[n] = '\0';
	}
	double v = to_double(many ? many : few);
	free(many);
	if (!isfinite(v))
		return false;
	*out = v;
	return true;
}
