/*
 * Hooks that run outside the sandbox must not be what the model can write: what they call is looked up as the shell
 * would, as far as the text tells.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "guard/shell.h"
#include "hook/internal.h"

static bool beneath(const char *path, const char *const *roots)
{
	for (; *roots; roots++) {
		size_t n = strlen(*roots);
		if (!strncmp(path, *roots, n) && (path[n] == '/' || !path[n] || !strcmp(*roots, "/")))
			return true;
	}
	return false;
}

/* Both the name and the file behind it count: whoever can write a directory can put another file there, and one that is
 * not there yet all the more. */
static bool writable(const char *path, const char *const *roots)
{
	char dir[PATH_MAX], real[PATH_MAX];

	if (realpath(path, real) && beneath(real, roots))
		return true;
	snprintf(dir, sizeof dir, "%s", path);
	for (char *slash; (slash = strrchr(dir, '/')) != NULL;) {
		slash[slash == dir] = '\0';
		if (realpath(dir, real))
			return beneath(real, roots);
		if (slash == dir)
			break;
	}
	return false;
}

static const char *path_of(const char *const *env)
{
	for (; env && *env; env++)
		if (!strncmp(*env, "PATH=", 5))
			return *env + 5;
	return "/usr/local/bin:/usr/bin:/bin";
}

/* The first word with `$CLAUDE_PROJECT_DIR` put in, absolute. False: it is not known before it runs. */
static bool expand(const char *word, const char *dir, char out[PATH_MAX])
{
	static const char *const forms[] = { "${CLAUDE_PROJECT_DIR}", "$CLAUDE_PROJECT_DIR" };
	int n = -1;

	for (size_t i = 0; i < 2 && n < 0; i++)
		if (!strncmp(word, forms[i], strlen(forms[i])))
			n = snprintf(out, PATH_MAX, "%s%s", dir, word + strlen(forms[i]));
	if (n < 0)
		n = snprintf(out, PATH_MAX, "%s%s%s", word[0] == '/' ? "" : dir, word[0] == '/' ? "" : "/", word);
	return n < PATH_MAX && !strpbrk(out, "$`*?");
}

/* Where it is found; a directory before that in which tools could put it counts as well. */
static bool in_path(const char *name, const struct hooks_config *cfg, char out[PATH_MAX])
{
	for (const char *at = path_of(cfg->env);; at++) {
		size_t n = strcspn(at, ":");
		const char *dir = n ? at : ".";
		int len = dir[0] == '/'
		                  ? snprintf(out, PATH_MAX, "%.*s/%s", (int)n, dir, name)
		                  : snprintf(out, PATH_MAX, "%s/%.*s/%s", cfg->project_dir, n ? (int)n : 1, dir, name);
		if (len < PATH_MAX && (access(out, X_OK) == 0 || writable(out, cfg->writable)))
			return true;
		at += n;
		if (!*at)
			return false;
	}
}

/* A program by its name, or a file that a program reads its text from. */
static bool word_writable(const char *word, bool program, const struct hooks_config *cfg)
{
	char path[PATH_MAX];

	if (program && !strchr(word, '/') ? !in_path(word, cfg, path) : !expand(word, cfg->project_dir, path))
		return false;
	return writable(path, cfg->writable);
}

/* Programs whose first operand is the program. */
static const char *const interpreters[] = { "sh",   "bash", "dash", "zsh", "ksh",    "python", "python3",
	                                    "perl", "node", "ruby", "php", "source", "." };
#define NSHELLS 5

static bool interprets(const char *command, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(shell_base_name(command), interpreters[i]))
			return true;
	return false;
}

/* An option of a shell behind which its text stands, as in -ec. */
static bool has_text(const char *word)
{
	return word[0] == '-' && word[1] != '-' && strchr(word, 'c');
}

static bool exists(const char *word, const struct hooks_config *cfg)
{
	char path[PATH_MAX];

	return expand(word, cfg->project_dir, path) && access(path, F_OK) == 0;
}

/* The operand that an interpreter runs: the first that is a file, since what stands before it may belong to an option;
 * else the first. The program may be an option's text as well: then there is none. */
static size_t operand(const struct hooks_config *cfg, const char *const *word, size_t n)
{
	bool shell = interprets(word[0], NSHELLS);
	size_t first = n;

	for (size_t i = 1; i < n; i++) {
		if (shell ? has_text(word[i])
		          : !strcmp(word[i], "-c") || !strcmp(word[i], "-e") || !strcmp(word[i], "-m"))
			return n;
		if (word[i][0] == '-')
			continue;
		if (exists(word[i], cfg))
			return i;
		if (first == n)
			first = i;
	}
	return first;
}

static int refuse(const struct handler *a, const char *file, struct error *e)
{
	return error_set(e, ERR_INPUT,
	                 "%s: the hook would run '%.200s' outside the sandbox, and tools can write that file: move it "
	                 "out of the workspace, or leave sandbox.hooks on",
	                 a->decl->source, file);
}

static int check_words(const struct handler *a, const struct hooks_config *cfg, const char *const *word, size_t n,
                       struct error *e)
{
	if (word_writable(word[0], true, cfg))
		return refuse(a, word[0], e);
	size_t i = interprets(word[0], sizeof interpreters / sizeof *interpreters) ? operand(cfg, word, n) : n;
	if (i < n && word_writable(word[i], false, cfg))
		return refuse(a, word[i], e);
	return 0;
}

#define WORDS_MAX 16

static int check_text(const struct handler *a, const struct hooks_config *cfg, const char *text, struct error *e)
{
	const char *words[WORDS_MAX];
	struct shell_parse p;
	int rc = 0;

	shell_parse(&p, text, strlen(text));
	if (p.nomem)
		rc = error_nomem(e);
	for (size_t i = 0; !rc && i < p.n; i++) {
		struct shell_view view;
		for (size_t at = 0; !rc && shell_view_next(&p.command[i], SHELL_FOR_DENY, &at, &view);) {
			size_t n = 0;
			for (; n < view.nwords && n < WORDS_MAX; n++)
				words[n] = view.word[n].text;
			if (n)
				rc = check_words(a, cfg, words, n, e);
		}
	}
	shell_parse_release(&p);
	return rc;
}

/* What a shell that is called by its name is told to run. NULL: no text. */
static const char *text_for_shell(const struct handler *a)
{
	size_t i = 1;

	if (!interprets(a->argv[0], NSHELLS))
		return NULL;
	while (i < a->nwords && !has_text(a->argv[i]))
		i++;
	return i + 1 < a->nwords ? a->argv[i + 1] : NULL;
}

int handler_check_file(const struct handler *a, const struct hooks_config *cfg, struct error *e)
{
	if (!cfg->unconfined || !cfg->writable)
		return 0;
	const char *text = text_for_shell(a);
	if (a->decl->args && check_words(a, cfg, (const char *const *)a->argv, a->nwords, e))
		return -1;
	return text ? check_text(a, cfg, text, e) : 0;
}
