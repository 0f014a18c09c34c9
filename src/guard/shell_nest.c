/* Texts that commands run, and what a command is without options that do not change what it is. */
#include <string.h>

#include "guard/shell_private.h"

static bool parse_text(struct shell_in *h, const struct shell_command *c, const char *text)
{
	h->nested = true;
	h->piped = c->piped;
	h->after_cd = c->after_cd;
	h->cd = c->cd;
	return shell_inside(h, text, strlen(text), shell_list_all);
}

/* The words with a space between each, as eval and watch join them. NULL: one is not literal, or no memory. */
static char *join(struct shell_in *h, const struct shell_word *w, size_t n)
{
	size_t size = 1;

	for (size_t i = 0; i < n; i++) {
		if (!w[i].literal)
			return NULL;
		size += strlen(w[i].text) + 1;
	}
	char *text = shell_alloc(h, size), *p = text;
	for (size_t i = 0; text && i < n; i++) {
		size_t len = strlen(w[i].text);
		memcpy(p, w[i].text, len);
		p += len;
		if (i + 1 < n)
			*p++ = ' ';
	}
	return text;
}

/* The last here-document or here-string on standard input. */
static const char *input_text(const struct shell_command *c)
{
	const struct shell_redirect *last = NULL;

	for (size_t i = 0; i < c->nredirects; i++)
		if (c->redirect[i].fd == 0)
			last = &c->redirect[i];
	return last && last->kind == REDIRECT_TEXT && last->target.literal ? last->target.text : NULL;
}

static bool option_texts(struct shell_in *h, const struct shell_command *c, const struct shell_view *v)
{
	struct shell_texts t;

	shell_texts_init(&t, c, v);
	while (shell_texts_next(&t)) {
		const char *text = t.rest ? join(h, v->word + t.rest, v->nwords - t.rest) : t.text;
		if (shell_failed(h) || (text && !parse_text(h, c, text)))
			return false;
	}
	return true;
}

static bool nested_texts(struct shell_in *h, const struct shell_command *c)
{
	struct shell_view v;
	size_t at = 0, first, count, n = 0;

	while (shell_view_next(c, SHELL_FOR_DENY, &at, &v)) {
		const char *text = NULL;
		if (++n > SHELL_VIEWS_MAX)
			return shell_fail(h, "too many commands run one another");
		enum shell_runs runs = v.shortened ? RUNS_NOTHING : shell_runs(&v, &first, &count);
		if (runs == RUNS_WORDS)
			text = join(h, v.word + first, count);
		else if (runs == RUNS_INPUT)
			text = input_text(c);
		if (shell_failed(h) || (text && !parse_text(h, c, text)) || !option_texts(h, c, &v))
			return false;
	}
	return true;
}

bool shell_nested_texts(struct shell_in *h)
{
	for (size_t i = 0; i < h->p->n; i++) {
		struct shell_command c = h->p->command[i]; /* the list moves when it grows */
		if (!nested_texts(h, &c))
			return false;
	}
	return true;
}

/* ---- git ---- */

/* The command in which git itself is named, behind what can be looked through. */
static bool git_view(const struct shell_command *c, enum shell_for purpose, struct shell_view *v)
{
	size_t at = 0;

	while (shell_view_next(c, purpose, &at, v))
		if (v->nwords && v->word[0].literal && !strcmp(shell_base_name(v->word[0].text), "git"))
			return true;
	return false;
}

/* How many words of git's own options stand in front of its subcommand; -1: not understood. */
static long git_options(const struct shell_view *v, const char *shorts, const char *longs)
{
	return shell_skip_options(v->word + 1, v->nwords - 1, shorts, longs);
}

bool shell_git_plain(struct shell_in *h, struct shell_command *c)
{
	static const char harmless[] = "no-pager no-optional-locks no-replace-objects literal-pathspecs ";
	static const char all[] = "no-pager no-optional-locks no-replace-objects literal-pathspecs paginate bare "
	                          "glob-pathspecs noglob-pathspecs icase-pathspecs git-dir= work-tree= namespace= "
	                          "exec-path super-prefix= config-env= attr-source= no-lazy-fetch no-advice ";
	struct shell_view v;

	c->nplain = 0;
	if (!git_view(c, SHELL_FOR_DENY, &v))
		return true;
	long n = git_options(&v, "C:c:pP", all);
	if (n <= 0 || 1 + (size_t)n >= v.nwords)
		return true;
	c->plain = shell_alloc(h, (v.nwords - (size_t)n) * sizeof *c->plain);
	if (!c->plain)
		return false;
	c->plain[0] = v.word[0];
	c->nplain = v.nwords - (size_t)n;
	memcpy(c->plain + 1, v.word + 1 + n, (c->nplain - 1) * sizeof *c->plain);
	c->plain_safe = git_view(c, SHELL_FOR_ALLOW, &v) && !strcmp(v.word[0].text, "git") &&
	                git_options(&v, "C:P", harmless) == n;
	return true;
}
