/* find, and the conditions of test and [[. */
#include <string.h>

#include "guard/shell_args.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static bool listed(const char *words, const char *text)
{
	size_t n = strlen(text);

	for (const char *p = words; *p; p += strcspn(p, " ") + 1)
		if (strcspn(p, " ") == n && !memcmp(p, text, n))
			return true;
	return false;
}

/* ---- find ---- */

static const char with_value[] = "-name -iname -path -ipath -wholename -iwholename -regex -iregex -regextype -type "
                                 "-xtype -size -mtime -atime -ctime "
                                 "-mmin -amin -cmin -newer -anewer -cnewer -maxdepth -mindepth -printf -perm -user "
                                 "-group -uid -gid -links -inum "
                                 "-samefile -fstype -lname -ilname -newermt -newerct -newerat -newermm -used ";
static const char without_value[] =
        "-print -print0 -ls -prune -quit -empty -nouser -nogroup -readable -writable -executable -true -false -not -a "
        "-o "
        "-and -or ! ( ) , -follow -mount -xdev -daystart -noleaf -ignore_readdir_race -noignore_readdir_race -depth -d "
        "-warn -nowarn ";

static bool begins_expression(const struct shell_word *w)
{
	return w->text[0] == '-' || !strcmp(w->text, "(") || !strcmp(w->text, "!");
}

size_t shell_find_start(const struct shell_view *v, size_t *n)
{
	size_t first = 1;

	while (first < v->nwords && listed("-H -L -P ", v->word[first].text))
		first++;
	for (*n = 0; first + *n < v->nwords && !begins_expression(&v->word[first + *n]);)
		++*n;
	return first;
}

bool shell_find_reads(const struct shell_view *v)
{
	size_t n, i;

	for (i = 1; i < v->nwords; i++)
		if (!v->word[i].literal)
			return false;
	for (i = shell_find_start(v, &n), i += n; i < v->nwords; i++) {
		if (listed(with_value, v->word[i].text))
			i++;
		else if (!listed(without_value, v->word[i].text))
			return false;
	}
	return true;
}

/* ---- conditions ---- */

static bool digits(const struct shell_word *w)
{
	const char *t = w->text + (w->text[0] == '-');

	return w->literal && *t && !t[strspn(t, "0123456789")];
}

/* In [[ ]] the operands of these are arithmetic: a variable's value is evaluated. */
static bool arithmetic(const struct shell_view *v)
{
	for (size_t i = 1; i < v->nwords; i++) {
		if (!listed("-eq -ne -lt -gt -le -ge ", v->word[i].text))
			continue;
		if (i < 2 || i + 1 >= v->nwords || !digits(&v->word[i - 1]) || !digits(&v->word[i + 1]))
			return true;
	}
	return false;
}

/* -v and -R evaluate a subscript in what they are given. */
static bool names_variable(const struct shell_view *v)
{
	for (size_t i = 1; i < v->nwords; i++)
		if (listed("-v -R ", v->word[i].text) &&
		    !(i + 1 < v->nwords && v->word[i + 1].literal && !strchr(v->word[i + 1].text, '[')))
			return true;
	return false;
}

/* Words of which some are not known: only where none of these can be an operator. */
static bool operators_known(const struct shell_word *w, size_t n)
{
	if (n && w[0].literal && !strcmp(w[0].text, "!")) {
		w++;
		n--;
	}
	if (n == 2)
		return w[0].literal && w[0].text[0] == '-';
	if (n == 3)
		return w[1].literal && listed("= == != < > -eq -ne -lt -gt -le -ge -nt -ot -ef ", w[1].text);
	return n <= 1;
}

bool shell_test_harmless(const struct shell_view *v)
{
	bool literal = true, brackets = !strcmp(v->word[0].text, "[[");
	size_t n = v->nwords - 1;

	if (names_variable(v) || (brackets && arithmetic(v)))
		return false;
	if (brackets)
		return true;
	if (!strcmp(v->word[0].text, "[") && n && !strcmp(v->word[n].text, "]"))
		n--;
	for (size_t i = 1; i <= n; i++) {
		literal &= v->word[i].literal;
		if (v->word[i].splits || v->word[i].glob)
			return false;
	}
	return literal || operators_known(v->word + 1, n);
}
