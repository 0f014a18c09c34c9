/* What commands do: do they only read, do they edit files, which of their words name files? */
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

/* ---- paths ---- */

/* Does an option give the pattern, so that no operand is one? Taken for sure where it may be. */
static bool pattern_given(const struct shell_view *v)
{
	for (size_t i = 1; i < v->nwords; i++) {
		const char *t = v->word[i].text;
		if (t[0] != '-' && !v->word[i].splits)
			continue;
		if (t[1] == '-' ? !strncmp(t, "--regexp", 8) || !strncmp(t, "--file", 6) || !strncmp(t, "--expr", 6) ||
		                          !strncmp(t, "--type-list", 11)
		                : strpbrk(t, "ef") != NULL)
			return true;
	}
	return false;
}

/* Is the operand that begins at word `at` the first one? */
static bool first_operand(const struct shell_view *v, const struct shell_fact *f, size_t at)
{
	struct shell_args a = { .v = v, .fact = f };
	const struct shell_word *w;

	while (shell_args_next(&a, &w) != ARG_OPERAND)
		continue;
	return a.i == at;
}

static bool last_operand(const struct shell_args *at)
{
	struct shell_args a = *at;
	const struct shell_word *w;

	for (enum shell_arg kind; (kind = shell_args_next(&a, &w)) != ARG_END;)
		if (kind == ARG_OPERAND)
			return false;
	return true;
}

static bool is_path(const struct shell_args *a, const struct shell_word *w, enum shell_path_use *use)
{
	const struct shell_fact *f = a->fact;
	bool in_place = false;

	*use = PATH_USE_READ;
	switch (f->operands) {
	case OPERANDS_OTHER:
		return w->glob;
	case OPERANDS_READ:
		return true;
	case OPERANDS_PATTERN:
		if (is(a->v, "sed") && (!shell_sed_harmless(a->v, &in_place) || in_place))
			*use = PATH_USE_WRITE;
		return pattern_given(a->v) || !first_operand(a->v, f, a->i);
	case OPERANDS_WRITE:
		*use = PATH_USE_WRITE;
		return true;
	case OPERANDS_COPY:
		*use = last_operand(a) ? PATH_USE_WRITE : PATH_USE_READ;
		return true;
	}
	return true;
}

/* git and find have no operands as others have them: a word of theirs that is no option may be a path. */
static bool plain_words(const struct shell_view *v, size_t *at, const struct shell_word **word, bool *known)
{
	size_t n = 0, first = 1;

	if (is(v, "find"))
		first = shell_find_start(v, &n);
	size_t end = is(v, "find") ? first + n : v->nwords;
	*known = is(v, "find") ? shell_find_reads(v) : shell_git_reads(v);
	for (size_t i = *at < first ? first : *at; i < end; i++) {
		if (v->word[i].text[0] == '-' || (is(v, "git") && i == 1))
			continue;
		*word = &v->word[i];
		*at = i + 1;
		return true;
	}
	*at = end;
	return false;
}

bool shell_path_next(const struct shell_view *v, size_t *at, const struct shell_word **word, enum shell_path_use *use,
                     bool *known)
{
	const struct shell_fact *f = fact_of(v);

	*known = f != NULL && !v->more;
	*use = PATH_USE_READ;
	if (!f)
		return false;
	if (is(v, "git") || is(v, "find"))
		return plain_words(v, at, word, known);
	struct shell_args a = { .v = v, .fact = f };
	for (;;) {
		enum shell_arg kind = shell_args_next(&a, word);
		if (kind == ARG_END)
			return false;
		*known &= kind != ARG_UNKNOWN && kind != ARG_HIDDEN;
		if (a.i <= *at || (kind != ARG_FILE && (kind != ARG_OPERAND || !is_path(&a, *word, use))))
			continue;
		if (kind == ARG_FILE)
			*use = PATH_USE_READ;
		*at = a.i;
		/* what comes later may still make the words unknown */
		const struct shell_word *w;
		for (enum shell_arg later; (later = shell_args_next(&a, &w)) != ARG_END;)
			*known &= later != ARG_UNKNOWN && later != ARG_HIDDEN;
		return true;
	}
}
