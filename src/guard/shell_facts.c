/* What commands do: do they only read, do they edit files? */
#include <string.h>

#include "guard/shell_args.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static const struct shell_fact *fact_of(const struct shell_view *v)
{
	return v->nwords && v->word[0].literal ? shell_fact(v->word[0].text) : NULL;
}

/* Are all options in the table, and not more operands than it says? */
static bool understood(const struct shell_view *v, const struct shell_fact *f)
{
	struct shell_args a = { .v = v, .fact = f };
	const struct shell_word *w;
	int operands = 0;

	for (;;) {
		enum shell_arg kind = shell_args_next(&a, &w);
		if (kind == ARG_END)
			return true;
		if (kind == ARG_UNKNOWN)
			return false;
		operands += kind == ARG_OPERAND;
		if (f->most && operands > (f->most < 0 ? 0 : f->most))
			return false;
	}
}

/* date sets the clock by an operand, unless it begins with +. */
static bool date_reads(const struct shell_view *v, const struct shell_fact *f)
{
	struct shell_args a = { .v = v, .fact = f };
	const struct shell_word *w;

	for (enum shell_arg kind; (kind = shell_args_next(&a, &w)) != ARG_END;)
		if (kind == ARG_UNKNOWN || (kind == ARG_OPERAND && w->text[0] != '+'))
			return false;
	return true;
}

/* cd to where its text says: not back, not home by a variable. */
static bool cd_reads(const struct shell_view *v)
{
	const struct shell_word *last = &v->word[v->nwords - 1];

	return v->nwords > 1 && !last->expands && !last->glob && strcmp(last->text, "-") != 0;
}

/* `command -v name` looks a name up; without the option it is a wrapper. */
static bool command_reads(const struct shell_view *v)
{
	return v->nwords > 1 && v->word[1].literal &&
	       (!strcmp(v->word[1].text, "-v") || !strcmp(v->word[1].text, "-V"));
}

/* set of what makes a script stricter, or louder: nothing that changes what later words mean. */
static bool set_reads(const struct shell_view *v)
{
	static const char *const names[] = { "pipefail", "errexit", "nounset", "xtrace" };
	bool due = false, known = true;

	for (size_t i = 1; i < v->nwords; i++) {
		const char *t = v->word[i].text;
		bool name = false;
		for (size_t k = 0; due && k < COUNT(names); k++)
			name |= !strcmp(t, names[k]);
		bool flags = !due && (t[0] == '-' || t[0] == '+') && t[1] && !t[1 + strspn(t + 1, "euxo")];
		known &= v->word[i].literal && (name || flags);
		due = flags && strchr(t, 'o');
	}
	return v->nwords > 1 && known && !due;
}

/* printf of a format that is known: -v sets a variable, and so does %n. */
static bool printf_reads(const struct shell_view *v)
{
	if (v->nwords < 2 || !v->word[1].literal || v->word[1].text[0] == '-')
		return false;
	for (const char *p = v->word[1].text; (p = strchr(p, '%')) != NULL;) {
		p += 1 + strspn(p + 1, "-+ #0123456789.*'hlLjzt");
		if (*p == 'n')
			return false;
		p += *p != '\0';
	}
	return true;
}

static bool is(const struct shell_view *v, const char *name)
{
	return !strcmp(v->word[0].text, name);
}

static bool reads(const struct shell_view *v, const struct shell_fact *f)
{
	bool in_place;

	if (is(v, "git"))
		return shell_git_reads(v);
	if (is(v, "find"))
		return shell_find_reads(v);
	if (is(v, "test") || is(v, "[") || is(v, "[["))
		return shell_test_harmless(v);
	if (is(v, "command"))
		return command_reads(v);
	if (is(v, "set"))
		return set_reads(v);
	if (is(v, "printf"))
		return printf_reads(v);
	if (is(v, "sed") && (!shell_sed_harmless(v, &in_place) || in_place))
		return false;
	if (is(v, "date") && !date_reads(v, f))
		return false;
	if (is(v, "cd") && !cd_reads(v))
		return false;
	return !f->strict || understood(v, f);
}

bool shell_reads_only(const struct shell_view *v)
{
	const struct shell_fact *f = fact_of(v);

	return f && !f->edits && !v->opaque && !v->more && !v->shortened && !v->exact_only && reads(v, f);
}

bool shell_edits_files(const struct shell_view *v)
{
	const struct shell_fact *f = fact_of(v);
	bool in_place = false;

	if (!f || v->opaque || v->more || v->shortened || v->exact_only)
		return false;
	if (is(v, "sed"))
		return shell_sed_harmless(v, &in_place) && in_place && understood(v, f);
	return f->edits && understood(v, f);
}
