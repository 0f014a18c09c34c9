/* YAML to JSON: plain scalars typed by the YAML 1.2 core schema, numbers carried over digit by digit. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/yaml.h"

static bool one_of(const char *s, const char *const *words)
{
	for (; *words; words++)
		if (!strcmp(s, *words))
			return true;
	return false;
}

static const char *const nulls[] = { "", "~", "null", "Null", "NULL", NULL };
static const char *const trues[] = { "true", "True", "TRUE", NULL };
static const char *const falses[] = { "false", "False", "FALSE", NULL };
static const char *const infinite[] = { ".inf",  ".Inf",  ".INF", "+.inf", "+.Inf", "+.INF", "-.inf",
	                                "-.Inf", "-.INF", ".nan", ".NaN",  ".NAN",  NULL };

static size_t digits(const char *s)
{
	return strspn(s, "0123456789");
}

/* The parts of a decimal number of the core schema. */
struct number {
	bool negative;
	const char *whole;
	size_t nwhole;
	const char *fraction;
	size_t nfraction;
	bool exp_negative;
	const char *exp;
	size_t nexp;
};

static bool split_number(const char *s, struct number *n)
{
	*n = (struct number){ 0 };
	n->negative = *s == '-';
	if (*s == '-' || *s == '+')
		s++;
	n->whole = s;
	n->nwhole = digits(s);
	s += n->nwhole;
	if (*s == '.') {
		n->fraction = ++s;
		n->nfraction = digits(s);
		s += n->nfraction;
	}
	if (!n->nwhole && !n->nfraction)
		return false;
	if (*s == 'e' || *s == 'E') {
		s++;
		n->exp_negative = *s == '-';
		if (*s == '-' || *s == '+')
			s++;
		n->exp = s;
		n->nexp = digits(s);
		if (!n->nexp)
			return false;
		s += n->nexp;
	}
	return !*s;
}

/* JSON's grammar is narrower (no plus, no leading zeros, digits on both sides of the point); the value
 * and its precision are kept because nothing goes through a double. */
static int write_number(const struct number *n, struct json_out *o, struct error *e)
{
	struct buf out;
	size_t zeros = strspn(n->whole, "0");

	buf_init(&out, YAML_MAX_BYTES + 16);
	if (zeros >= n->nwhole)
		zeros = n->nwhole ? n->nwhole - 1 : 0;
	if (n->negative)
		buf_addc(&out, '-');
	if (n->nwhole)
		buf_add(&out, n->whole + zeros, n->nwhole - zeros);
	else
		buf_addc(&out, '0');
	if (n->fraction) {
		buf_addc(&out, '.');
		if (n->nfraction)
			buf_add(&out, n->fraction, n->nfraction);
		else
			buf_addc(&out, '0');
	}
	if (n->exp) {
		buf_addc(&out, 'e');
		if (n->exp_negative)
			buf_addc(&out, '-');
		buf_add(&out, n->exp, n->nexp);
	}
	int rc = buf_check(&out, "a number", e);
	if (!rc)
		jo_raw(o, buf_str(&out), out.len);
	buf_release(&out);
	return rc;
}

/* 1 if the text is a 0x or 0o integer (written), 0 if not, -1 if it is one that is too large. */
static int write_prefixed(const char *s, struct json_out *o, struct error *e)
{
	char text[24];
	bool hex = !strncmp(s, "0x", 2);

	if (!hex && strncmp(s, "0o", 2) != 0)
		return 0;
	if (!s[2] || s[2 + strspn(s + 2, hex ? "0123456789abcdefABCDEF" : "01234567")])
		return 0;
	errno = 0;
	unsigned long long v = strtoull(s + 2, NULL, hex ? 16 : 8);
	if (errno)
		return error_set(e, ERR_INPUT, "the number %.40s is too large", s);
	int n = snprintf(text, sizeof text, "%llu", v);
	jo_raw(o, text, (size_t)n);
	return 1;
}

static int write_scalar(const struct yaml_node *n, struct json_out *o, struct error *e)
{
	struct number num;

	if (!n->plain) {
		jo_strn(o, n->text, n->len);
		return 0;
	}
	if (one_of(n->text, nulls)) {
		jo_null(o);
		return 0;
	}
	if (one_of(n->text, trues) || one_of(n->text, falses)) {
		jo_bool(o, one_of(n->text, trues));
		return 0;
	}
	if (one_of(n->text, infinite))
		return error_set(e, ERR_INPUT, "line %d, column %d: JSON has no %s", n->line, n->col, n->text);
	int rc = write_prefixed(n->text, o, e);
	if (rc)
		return rc < 0 ? -1 : 0;
	if (split_number(n->text, &num))
		return write_number(&num, o, e);
	jo_strn(o, n->text, n->len);
	return 0;
}

/* Recursion is bounded: yaml_parse lets no more than YAML_MAX_DEPTH levels through. */
static int write_node(const struct yaml_node *n, struct json_out *o, struct error *e)
{
	if (n->kind == YAML_SCALAR)
		return write_scalar(n, o, e);
	if (o->depth >= JSON_OUT_DEPTH)
		return error_set(e, ERR_LIMIT, "line %d, column %d: nested too deeply", n->line, n->col);
	if (n->kind == YAML_MAP)
		jo_object(o);
	else
		jo_array(o);
	for (const struct yaml_node *v = n->first; v; v = v->next) {
		if (n->kind == YAML_MAP)
			jo_key(o, v->key->text);
		if (write_node(v, o, e))
			return -1;
	}
	jo_end(o);
	return 0;
}

int yaml_to_json(const struct yaml_node *n, struct json_out *o, struct error *e)
{
	return write_node(n, o, e);
}
