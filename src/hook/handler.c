/* How a handler is called. */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "hook/internal.h"

static const char variable[] = "${CLAUDE_PROJECT_DIR}";

/* The word with the directory put in. Not for the shell's text: the shell does it itself, from its environment, and
 * does not take what a directory is called for commands. */
static char *with_directory(const char *word, const char *dir)
{
	struct buf b = BUF_INIT(BUF_HUGE);
	const char *at;

	buf_add(&b, "", 0);
	for (; (at = strstr(word, variable)) != NULL; word = at + sizeof variable - 1) {
		buf_add(&b, word, (size_t)(at - word));
		buf_adds(&b, dir);
	}
	buf_adds(&b, word);
	char *made = b.failed ? NULL : buf_take(&b, NULL);
	buf_release(&b);
	return made;
}

/* Takes the word, which may be NULL for want of memory. */
static int add(struct handler *a, char *word)
{
	if (!word)
		return -1;
	a->argv[a->nwords++] = word;
	return 0;
}

int handler_words(struct handler *a, const char *project_dir)
{
	const struct job_hook *decl = a->decl;
	size_t n = array_count(decl->args);

	a->argv = calloc(n + 4, sizeof *a->argv);
	if (!a->argv)
		return -1;
	if (!decl->args)
		return add(a, strdup("sh")) || add(a, strdup("-c")) || add(a, strdup(decl->command)) ? -1 : 0;
	if (add(a, with_directory(decl->command, project_dir)))
		return -1;
	for (size_t i = 0; i < n; i++)
		if (add(a, with_directory(decl->args[i], project_dir)))
			return -1;
	return 0;
}

void handler_release(struct handler *a, struct regex *regex)
{
	for (size_t i = 0; i < a->nwords; i++)
		free(a->argv[i]);
	free(a->argv);
	matcher_release(&a->matcher, regex);
}

bool handler_same(const struct handler *a, const struct handler *b)
{
	if (a->nwords != b->nwords || !a->decl->args != !b->decl->args || a->decl->async != b->decl->async)
		return false;
	for (size_t i = 0; i < a->nwords; i++)
		if (strcmp(a->argv[i], b->argv[i]) != 0)
			return false;
	return true;
}
