/*
 * Bash commands: whatever the text, a parse ends, words and texts are whole, every command has a view for both
 * purposes, and nothing that only reads is critical.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "guard/shell.h"

static void check(bool ok)
{
	if (!ok)
		abort();
}

static void check_words(const struct shell_word *w, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		check(w[i].text && (w[i].literal == (!w[i].glob && !w[i].tilde && !w[i].expands)));
		check(strlen(w[i].text) <= 16 * (size_t)SHELL_COMMAND_MAX);
	}
}

static void check_paths(const struct shell_view *v)
{
	const struct shell_word *word;
	enum shell_path_use use;
	struct shell_paths p;
	size_t n = 0;

	shell_paths_init(&p, v);
	while (shell_paths_next(&p, &word, &use)) {
		check(++n <= 2 * v->nwords);
		check(word >= v->word && word < v->word + v->nwords);
		check(use == PATH_USE_READ || use == PATH_USE_WRITE);
	}
}

static bool check_views(const struct shell_command *c, enum shell_for purpose)
{
	struct shell_view v;
	size_t at = 0, views = 0;
	bool reads = false;

	while (shell_view_next(c, purpose, &at, &v)) {
		check(++views <= 10000);
		check_words(v.word, v.nwords);
		check(!(shell_reads_only(&v) && (v.opaque || !v.word[0].literal)));
		check(!(shell_reads_only(&v) && shell_edits_files(&v)));
		reads |= shell_reads_only(&v);
		if (views <= 3)
			check_paths(&v);
	}
	check(views > 0);
	return reads;
}

static void check_command(const struct shell_command *c)
{
	static const char *const dirs[] = { "/hame/u/proj", "/srv/x", NULL };

	check_words(c->assign, c->nassign);
	for (size_t i = 0; i < c->nredirects; i++)
		check_words(&c->redirect[i].target, 1);
	bool reads = check_views(c, SHELL_FOR_ALLOW);
	check_views(c, SHELL_FOR_DENY);
	bool critical = shell_is_critical(c, "/hame/u/proj", dirs, "/hame/u");
	check(!(reads && critical));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct shell_parse p;
	char *text = malloc(size ? size : 1); /* of the exact size, so that reading behind it is seen */

	check(text != NULL);
	if (size)
		memcpy(text, data, size);
	shell_parse(&p, text, size);
	for (size_t i = 0; !p.failure && i < p.n; i++)
		check_command(&p.command[i]);
	shell_parse_release(&p);
	free(text);
	return 0;
}
