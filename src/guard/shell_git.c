/* Forms of git that only read. */
#include <string.h>

#include "guard/shell_args.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

enum git_form {
	GIT_ANY,   /* whatever the operands */
	GIT_LIST,  /* lists without operands, or behind an option that says so */
	GIT_WORDS, /* only with one of these words behind it, or none */
	GIT_CONFIG,
	GIT_ONE /* one operand */
};

static const struct {
	const char *name;
	enum git_form form;
	const char *words; /* each with a space behind; GIT_LIST: the options that are harmless */
} forms[] = {
	{ "status", GIT_ANY, "" },
	{ "log", GIT_ANY, "" },
	{ "diff", GIT_ANY, "" },
	{ "show", GIT_ANY, "" },
	{ "rev-parse", GIT_ANY, "" },
	{ "rev-list", GIT_ANY, "" },
	{ "ls-files", GIT_ANY, "" },
	{ "ls-tree", GIT_ANY, "" },
	{ "describe", GIT_ANY, "" },
	{ "blame", GIT_ANY, "" },
	{ "annotate", GIT_ANY, "" },
	{ "shortlog", GIT_ANY, "" },
	{ "whatchanged", GIT_ANY, "" },
	{ "grep", GIT_ANY, "" },
	{ "cat-file", GIT_ANY, "" },
	{ "merge-base", GIT_ANY, "" },
	{ "name-rev", GIT_ANY, "" },
	{ "for-each-ref", GIT_ANY, "" },
	{ "show-ref", GIT_ANY, "" },
	{ "count-objects", GIT_ANY, "" },
	{ "check-ignore", GIT_ANY, "" },
	{ "check-attr", GIT_ANY, "" },
	{ "diff-tree", GIT_ANY, "" },
	{ "diff-index", GIT_ANY, "" },
	{ "diff-files", GIT_ANY, "" },
	{ "cherry", GIT_ANY, "" },
	{ "version", GIT_ANY, "" },
	{ "branch", GIT_LIST,
	  "-a -r -v -vv -av -avv -rv --all --remotes --verbose --show-current --list --color --no-color --contains "
	  "--no-contains --merged --no-merged --points-at --sort --format --column --no-column --ignore-case " },
	{ "tag", GIT_LIST,
	  "-l --list --contains --no-contains --merged --no-merged --points-at --sort --format --column --no-column "
	  "--ignore-case --color " },
	{ "remote", GIT_WORDS, "-v --verbose get-url " },
	{ "stash", GIT_WORDS, "list show " },
	{ "worktree", GIT_WORDS, "list " },
	{ "reflog", GIT_WORDS, "show exists " },
	{ "config", GIT_CONFIG, "--get --get-all --get-regexp --list -l get list " },
	{ "symbolic-ref", GIT_ONE, "" },
};

/* Long options by which git writes, runs something, or reads a file that is none of the repository. Also any
 * abbreviation of one. */
static const char *const forbidden[] = {
	"--output",
	"--ext-diff",
	"--textconv",
	"--open-files-in-pager",
	"--exec",
	"--upload-pack",
	"--no-index",
	"--contents",
	"--exclude-from",
	"--pathspec-from-file",
	"--file",
	"--show-signature",
	"--filters",
	"--config-env",
	"--git-dir",
	"--work-tree",
	"--from",
	"--ignore-revs-file",
	"--edit",
	"--delete",
	"--unset",
	"--add",
	"--replace-all",
	"--exclude-per-directory",
	"--output-directory",
	"--blob",
	"--cmd",
	"--stdin",
	"--mailmap-file",
	"--resolve-git-dir",
};

static bool listed(const char *words, const char *text, size_t n)
{
	for (const char *p = words; *p; p += strcspn(p, " ") + 1)
		if (strcspn(p, " ") == n && !memcmp(p, text, n))
			return true;
	return false;
}

/* An option of a subcommand that could do more than read. */
static bool harmful(const char *text)
{
	size_t n = strcspn(text, "=");

	/* a format with a signature in it runs the program that verifies it */
	if (strstr(text, "%G") || strstr(text, "%(signature"))
		return true;
	if (text[0] != '-' || !strcmp(text, "--") || !strcmp(text, "--text"))
		return false;
	if (text[1] != '-')
		return strchr("OXf", text[1]) != NULL || strchr(text, '/') || strstr(text, "..");
	for (size_t i = 0; i < COUNT(forbidden); i++)
		if (n <= strlen(forbidden[i]) && !memcmp(forbidden[i], text, n))
			return true;
	return false;
}

/* branch and tag make what operands name, unless an option says that it is a list. */
static bool lists(const struct shell_word *w, size_t n, const char *options)
{
	bool list = false, operand = false;

	for (size_t i = 0; i < n; i++) {
		size_t len = strcspn(w[i].text, "=");
		if (w[i].text[0] != '-') {
			operand = true;
			continue;
		}
		if (!listed(options, w[i].text, len))
			return false;
		list |= listed("--list -l --contains --no-contains --merged --no-merged --points-at ", w[i].text, len);
	}
	return list || !operand;
}

static bool form_reads(enum git_form form, const char *words, const struct shell_word *w, size_t n)
{
	switch (form) {
	case GIT_ANY:
		return true;
	case GIT_LIST:
		return lists(w, n, words);
	case GIT_WORDS:
		/* `git stash` alone stashes */
		if (!n)
			return !listed(words, "list", 4);
		return (n == 1 || w[0].text[0] != '-') && listed(words, w[0].text, strlen(w[0].text));
	case GIT_CONFIG:
		for (size_t i = 1; i < n; i++)
			if (!strcmp(w[i].text, "-f") || !strcmp(w[i].text, "-e"))
				return false;
		return n && listed(words, w[0].text, strlen(w[0].text));
	case GIT_ONE:
		return (n == 1 && w[0].text[0] != '-') || (n == 2 && !strcmp(w[0].text, "--short"));
	}
	return false;
}

bool shell_git_reads(const struct shell_view *v)
{
	size_t at = 1;

	/* words of other kinds could turn out as options, and -C leads to a repository whose settings run programs */
	for (size_t i = 1; i < v->nwords; i++)
		if (!v->word[i].literal || (i > 1 && harmful(v->word[i].text)))
			return false;
	while (at < v->nwords && listed("--no-pager -P --no-optional-locks --no-replace-objects --literal-pathspecs ",
	                                v->word[at].text, strlen(v->word[at].text)))
		at++;
	if (at == v->nwords)
		return true;
	if (!strcmp(v->word[at].text, "--version"))
		return at + 1 == v->nwords;
	for (size_t i = 0; i < COUNT(forms); i++)
		if (!strcmp(forms[i].name, v->word[at].text))
			return form_reads(forms[i].form, forms[i].words, v->word + at + 1, v->nwords - at - 1);
	return false;
}
