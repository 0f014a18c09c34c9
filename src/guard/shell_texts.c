/* Commands that stand in options, settings and variables of programs that run them: `git -c core.pager=CMD`,
 * `sort --compress-program=CMD`, GIT_EDITOR=CMD. And names that bash evaluates, where a subscript may hide one. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "guard/shell_private.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* Options whose value is run. first: the word that must stand behind the program's name, or NULL. */
static const struct {
	const char *program, *first;
	const char *options; /* each with a space behind; a long one also with "=value", a short one with the value
	                        attached */
	const char *before;  /* what the value begins with; without it nothing is run */
} running[] = {
	{ "sort", NULL, "--compress-program ", "" },
	{ "rg", NULL, "--pre --hostname-bin ", "" },
	{ "tar", NULL,
	  "--to-command --use-compress-program -I --rsh-command --rmt-command -F --info-script --new-volume-script ",
	  "" },
	{ "tar", NULL, "--checkpoint-action ", "exec=" },
	{ "git", "grep", "--open-files-in-pager -O ", "" },
	{ "git", "difftool", "--extcmd -x ", "" },
	{ "git", "rebase", "--exec -x ", "" },
	{ "git", "filter-branch",
	  "--tree-filter --index-filter --env-filter --msg-filter --commit-filter --parent-filter --tag-name-filter "
	  "--setup ",
	  "" },
	{ "mapfile", NULL, "-C ", "" },
	{ "readarray", NULL, "-C ", "" },
	{ "npx", NULL, "-c --call ", "" },
	{ "npm", "exec", "-c --call ", "" },
	{ "rsync", NULL, "-e --rsh ", "" },
	{ "vim", NULL, "-c --cmd ", "!" },
	{ "vim", NULL, "-c --cmd ", ":!" },
	{ "vi", NULL, "-c --cmd ", "!" },
	{ "vi", NULL, "-c --cmd ", ":!" },
	{ "nvim", NULL, "-c --cmd ", "!" },
	{ "ex", NULL, "-c --cmd ", "!" },
	{ "gdb", NULL, "-ex --eval-command ", "shell " },
	{ "gdb", NULL, "-ex --eval-command ", "!" },
};

/* Words behind which all others are a command. */
static const struct {
	const char *program, *first, *behind; /* behind NULL: right behind first and its options */
} rest_runs[] = {
	{ "git", "bisect", "run" },
	{ "git", "submodule", "foreach" },
	{ "fd", NULL, "-x" },
	{ "fd", NULL, "--exec" },
	{ "fd", NULL, "-X" },
	{ "fd", NULL, "--exec-batch" },
	{ "fdfind", NULL, "-x" },
	{ "fdfind", NULL, "--exec" },
	{ "fdfind", NULL, "-X" },
	{ "gdb", NULL, "--args" },
	{ "fdfind", NULL, "--exec-batch" },
};

/* Variables that name a program; and those that make one run what is not told here. */
static const char programs[] = "PAGER GIT_PAGER MANPAGER SYSTEMD_PAGER EDITOR VISUAL GIT_EDITOR GIT_SEQUENCE_EDITOR "
                               "GIT_EXTERNAL_DIFF GIT_SSH_COMMAND GIT_SSH GIT_ASKPASS SSH_ASKPASS SUDO_ASKPASS "
                               "GIT_PROXY_COMMAND LESSOPEN LESSCLOSE BROWSER RSYNC_RSH CVS_RSH PROMPT_COMMAND ";
static const char hidden[] = "BASH_ENV ENV GIT_CONFIG_COUNT GIT_CONFIG_PARAMETERS ";
static const char prompts[] = "PS0 PS1 PS2 PS4 ";

/* Settings of git: `*` stands for any name. */
static const char *const settings[] = {
	"core.pager",        "pager.*",
	"core.editor",       "sequence.editor",
	"core.sshcommand",   "diff.external",
	"diff.*.textconv",   "diff.*.command",
	"difftool.*.cmd",    "mergetool.*.cmd",
	"merge.*.driver",    "filter.*.clean",
	"filter.*.smudge",   "filter.*.process",
	"core.fsmonitor",    "core.askpass",
	"credential.helper", "credential.*.helper",
	"gpg.program",       "gpg.*.program",
	"core.gitproxy",     "interactive.difffilter",
	"browser.*.cmd",     "trailer.*.command",
	"trailer.*.cmd",
};
static const char *const unknown_settings[] = { "alias.*", "include.path", "includeif.*", "core.hookspath" };

static bool listed(const char *words, const char *text, size_t n)
{
	for (const char *p = words; *p; p += strcspn(p, " ") + 1)
		if (n && strcspn(p, " ") == n && !memcmp(p, text, n))
			return true;
	return false;
}

static const char *name_of(const struct shell_view *v)
{
	return v->nwords && v->word[0].literal ? shell_base_name(v->word[0].text) : "";
}

static bool is(const struct shell_word *w, const char *text)
{
	return w->literal && !strcmp(w->text, text);
}

/* ---- what is found ---- */

/* text NULL: it is not known. */
static void found(struct shell_texts *t, const struct shell_word *w, const char *text)
{
	t->text = w->expands || w->glob ? NULL : text;
	t->found = true;
}

/* ---- options ---- */

static bool has_word(const struct shell_view *v, const char *text)
{
	for (size_t i = 1; i < v->nwords; i++)
		if (is(&v->word[i], text))
			return true;
	return false;
}

/* The value of a listed option at word i. NULL: it is none. */
static const char *option_value(const struct shell_view *v, size_t i, const char *options, const struct shell_word **w)
{
	const char *t = v->word[i].text;
	bool is_long = t[0] == '-' && t[1] == '-';
	size_t n = is_long ? strcspn(t, "=") : 2;

	*w = &v->word[i];
	if (t[0] != '-' || strlen(t) < 2)
		return NULL;
	if (!is_long && listed(options, t, strlen(t)))
		n = strlen(t); /* -ex */
	if (!listed(options, t, n))
		return NULL;
	if (t[n])
		return t + n + is_long;
	*w = i + 1 < v->nwords ? &v->word[i + 1] : *w;
	return i + 1 < v->nwords ? (*w)->text : NULL;
}

static void find_option(struct shell_texts *t, const struct shell_view *v, size_t i)
{
	const struct shell_word *w;

	for (size_t k = 0; k < COUNT(running) && !t->found; k++) {
		if (!(t->running & 1u << k))
			continue;
		const char *value = option_value(v, i, running[k].options, &w);
		size_t n = strlen(running[k].before);
		if (value && *value && !strncmp(value, running[k].before, n))
			found(t, w, value + n);
	}
	for (size_t k = 0; k < COUNT(rest_runs) && !t->found; k++)
		if (t->rest_runs & 1u << k && is(&v->word[i], rest_runs[k].behind)) {
			t->rest = i + 1;
			while (t->rest < v->nwords && v->word[t->rest].text[0] == '-')
				t->rest++;
			t->found = t->rest < v->nwords;
		}
}

/* ---- git ---- */

/* A key against a pattern with one `*`, case folded. */
static bool fits(const char *pattern, const char *key, size_t n)
{
	const char *star = strchr(pattern, '*');
	size_t head = star ? (size_t)(star - pattern) : strlen(pattern), tail = star ? strlen(star + 1) : 0;

	return (star ? n > head + tail : n == head) && !strncasecmp(pattern, key, head) &&
	       (!star || !strncasecmp(star + 1, key + n - tail, tail));
}

static void find_setting(struct shell_texts *t, const struct shell_word *w, const char *key, size_t n,
                         const char *value)
{
	bool none = !value || !*value || !strcmp(value, "/dev/null");

	for (size_t i = 0; i < COUNT(unknown_settings) && !none; i++)
		t->opaque |= fits(unknown_settings[i], key, n);
	for (size_t i = 0; i < COUNT(settings) && !none; i++)
		if (fits(settings[i], key, n))
			found(t, w, value + (*value == '!'));
}

static void find_git(struct shell_texts *t, const struct shell_view *v, size_t i)
{
	const struct shell_word *w = &v->word[i];

	if (!strncmp(w->text, "ext::", 5)) {
		found(t, w, w->text + 5);
	} else if (!strncmp(w->text, "--config-env", 12)) {
		t->opaque = true;
	} else if (!strncmp(w->text, "-c", 2) && !w->text[2] && i + 1 < v->nwords) {
		const char *key = v->word[i + 1].text, *eq = strchr(key, '=');
		find_setting(t, &v->word[i + 1], key, strcspn(key, "="), eq ? eq + 1 : NULL);
	} else if (!strncmp(w->text, "-c", 2)) {
		const char *eq = strchr(w->text, '=');
		find_setting(t, w, w->text + 2, strcspn(w->text + 2, "="), eq ? eq + 1 : NULL);
	} else if (i + 1 < v->nwords && t->config) {
		find_setting(t, &v->word[i + 1], w->text, strlen(w->text), v->word[i + 1].text);
	}
}

/* ---- variables ---- */

static void find_variable(struct shell_texts *t, const struct shell_word *w)
{
	const char *eq = strchr(w->text, '='), *value = eq ? eq + 1 : "";
	size_t n = eq ? (size_t)(eq - w->text) : 0;

	if (!eq)
		return;
	if (!strncmp(w->text, "BASH_FUNC_", 10) || !strncmp(w->text, "GIT_CONFIG_KEY_", 15))
		t->opaque = true;
	if (!*value)
		return;
	t->opaque |= listed(hidden, w->text, n);
	t->opaque |= listed(prompts, w->text, n) && (w->expands || strstr(value, "$(") || strchr(value, '`'));
	if (listed(programs, w->text, n))
		found(t, w, value + strspn(value, "|-"));
}

/* ---- names that are evaluated ---- */

/* 'a[$(command)]' where a variable's name should be. */
static bool hides_subscript(const struct shell_word *w)
{
	const char *open = strchr(w->text, '[');

	return open && (strstr(open, "$(") || strstr(open, "${") || strchr(open, '`'));
}

static bool number(const struct shell_word *w)
{
	return w->literal && w->text[strspn(w->text, "-0123456789")] == '\0';
}

bool shell_evaluates(const struct shell_command *c)
{
	static const char names[] = "read unset getopts mapfile readarray ";
	static const char setters[] = "declare typeset local readonly export ";
	static const char compares[] = "-eq -ne -lt -gt -le -ge ";
	const char *name = c->word[0].text;
	size_t n = strlen(name);

	if (!strcmp(name, "((") || !strcmp(name, "let"))
		return true;
	for (size_t i = 1; i < c->nwords; i++) {
		const struct shell_word *w = &c->word[i];
		const char *value = strchr(w->text, '='), *dollar = strchr(w->text, '$');
		bool last = i + 1 == c->nwords;
		if (listed(names, name, n) && w->expands)
			return true;
		if (listed(setters, name, n) && ((w->text[0] == '-' && strchr(w->text, 'i')) ||
		                                 (w->expands && dollar && (!value || dollar < value))))
			return true;
		if (!last && (!strcmp(name, "[[")) && listed(compares, w->text, strlen(w->text)) &&
		    !(number(&c->word[i - 1]) && number(&c->word[i + 1])))
			return true;
		if (!last && listed("test [ [[ printf ", name, n) && listed("-v -R ", w->text, strlen(w->text)) &&
		    c->word[i + 1].expands)
			return true;
	}
	return false;
}

/* awk runs what it reads from, or prints to. */
static bool awk_runs(const struct shell_word *w)
{
	const char *p = strstr(w->text, "system");

	if (p && p[6 + strspn(p + 6, " ")] == '(')
		return true;
	for (p = w->text; (p = strchr(p, '|')) != NULL; p++) {
		const char *next = p + 1 + strspn(p + 1, " &");
		if (*next == '"' || !strncmp(next, "getline", 7))
			return true;
	}
	return false;
}

static void find_names(struct shell_texts *t, const struct shell_view *v)
{
	static const char *const takers[] = { "test",    "[",     "[[",      "printf",   "read",     "unset",
		                              "declare", "local", "typeset", "export",   "readonly", "let",
		                              "getopts", "wait",  "mapfile", "readarray" };
	const char *name = name_of(v);
	bool takes = false;

	for (size_t i = 0; i < COUNT(takers); i++)
		takes |= !strcmp(name, takers[i]);
	if (!strcmp(name, "printf") && !has_word(v, "-v"))
		takes = false;
	for (size_t i = 1; takes && i < v->nwords; i++)
		t->opaque |= hides_subscript(&v->word[i]);
	bool awk = listed("awk gawk mawk nawk ", name, strlen(name)), alias = !strcmp(name, "alias");
	const char *option = !strcmp(name, "hash") ? "-p" : !strcmp(name, "enable") ? "-f" : NULL;
	for (size_t i = 1; (awk || alias || option) && i < v->nwords; i++) {
		const char *w = v->word[i].text;
		t->opaque |= (awk && awk_runs(&v->word[i])) || (alias && strchr(w, '=')) ||
		             (option && !strncmp(w, option, 2));
	}
}

/* ---- all ---- */

void shell_texts_init(struct shell_texts *t, const struct shell_command *c, const struct shell_view *v)
{
	static const char setters[] = "export declare typeset readonly local env sudo doas ";
	const char *name = name_of(v);

	memset(t, 0, sizeof *t);
	t->command = c;
	t->view = v;
	t->sets = listed(setters, name, strlen(name));
	t->git = !strcmp(name, "git") && !v->shortened;
	t->config = t->git && has_word(v, "config");
	for (size_t k = 0; k < COUNT(running); k++)
		if (!strcmp(name, running[k].program) && (!running[k].first || has_word(v, running[k].first)))
			t->running |= 1u << k;
	for (size_t k = 0; k < COUNT(rest_runs); k++)
		if (!strcmp(name, rest_runs[k].program) && (!rest_runs[k].first || has_word(v, rest_runs[k].first)))
			t->rest_runs |= 1u << k;
	find_names(t, v);
}

bool shell_texts_next(struct shell_texts *t)
{
	const struct shell_view *v = t->view;

	t->found = false;
	t->rest = 0;
	while (!t->found && t->at < t->command->nassign)
		find_variable(t, &t->command->assign[t->at++]);
	if (!t->found && !t->sets && !t->git && !t->running && !t->rest_runs)
		return false;
	for (size_t i; !t->found && (i = t->at - t->command->nassign + 1) < v->nwords; t->at++) {
		if (t->sets)
			find_variable(t, &v->word[i]);
		if (!t->found && t->git)
			find_git(t, v, i);
		if (!t->found)
			find_option(t, v, i);
	}
	return t->found;
}
