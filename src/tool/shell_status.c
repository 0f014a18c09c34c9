#include "tool/shell_status.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* Commands whose exit status 1 is an answer, not a failure. Longer names first. */
static const struct {
	const char *words, *meaning;
} answers[] = {
	{ "git grep", "No matches found" },
	{ "git diff", "Files differ" },
	{ "egrep", "No matches found" },
	{ "fgrep", "No matches found" },
	{ "grep", "No matches found" },
	{ "rg", "No matches found" },
	{ "find", "Some directories could not be read" },
	{ "diff", "Files differ" },
	{ "test", "Condition is false" },
	{ "[", "Condition is false" },
};

/* Length of the quoted or escaped text at p, 0 if there is none. */
static size_t quoted_len(const char *p)
{
	if (*p == '\\')
		return p[1] ? 2 : 1;
	if (*p != '\'' && *p != '"')
		return 0;
	size_t i = 1;
	while (p[i] && p[i] != *p)
		i += *p == '"' && p[i] == '\\' && p[i + 1] ? 2 : 1;
	return p[i] ? i + 1 : i;
}

/* The separator at p and its length; 0 if it is none. */
static size_t separator(const char *p, char *kind)
{
	if (p[0] == '&' && p[1] == '&') {
		*kind = '&';
		return 2;
	}
	if (p[0] == '|') {
		*kind = p[1] == '|' ? 'o' : '|';
		return p[1] == '|' || p[1] == '&' ? 2 : 1;
	}
	if (p[0] == ';' || p[0] == '\n') {
		*kind = ';';
		return 1;
	}
	return 0;
}

static bool blank(const char *p, size_t n)
{
	return strspn(p, " \t\n") >= n;
}

static const char *meaning_of(const char *p, size_t n)
{
	size_t skip = strspn(p, " \t\n");

	p += skip < n ? skip : n;
	n -= skip < n ? skip : n;
	for (size_t i = 0; i < sizeof answers / sizeof answers[0]; i++) {
		size_t len = strlen(answers[i].words);
		if (n >= len && strncmp(p, answers[i].words, len) == 0 && (n == len || strchr(" \t\n<>", p[len])))
			return answers[i].meaning;
	}
	return NULL;
}

static bool is_cd(const char *p, size_t n)
{
	size_t skip = strspn(p, " \t\n");

	return n > skip + 2 && strncmp(p + skip, "cd ", 3) == 0;
}

/* The status is that of the last command that ran: the last one, or one of those that `&&` ties to it, so all of
 * these must be on the list (or change the directory). In a pipe the last part decides. */
const char *shell_status_meaning(const char *command, int status)
{
	const char *start = command, *p = command, *meaning = NULL;
	bool outer = true, chain = true;
	char kind = ';';

	if (status != 1)
		return NULL;
	for (;;) {
		char next = 0;
		size_t skip = quoted_len(p);
		size_t sep = skip ? 0 : separator(p, &next);
		if (*p && sep == 0) {
			p += skip ? skip : 1;
			continue;
		}
		size_t n = (size_t)(p - start);
		if (!blank(start, n)) {
			if (kind != '|')
				outer = kind == '&' ? chain : true;
			meaning = meaning_of(start, n);
			chain = outer && (meaning || is_cd(start, n));
			kind = next;
		}
		if (!*p)
			return chain ? meaning : NULL;
		p += sep;
		start = p;
	}
}
