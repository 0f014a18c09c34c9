/* Simple commands: assignments, words, redirections; and `name () body`. */
#include <string.h>

#include "guard/shell_private.h"

struct simple {
	struct shell_words assign, word;
	struct shell_redirects redirect;
};

/* [..] of NAME[..]=. It is only looked at here, the word is read later: so no commands may stand in it. */
static bool element(struct shell_in *h)
{
	bool vary = false;
	int c;

	for (h->i++; (c = shell_cur(h)) != ']'; h->i++) {
		if (!shell_is_name(c, false) && (c <= 0 || !strchr("$+-*/%@,", c)))
			return shell_fail(h, "a subscript that is not understood");
		vary |= c < '0' || c > '9';
	}
	h->i++;
	if (shell_cur(h) != '=' && (shell_cur(h) != '+' || shell_ahead(h) != '='))
		return shell_fail(h, "an array element where a command should be");
	return !vary || shell_add_named(h, "((", NULL);
}

/* At NAME=, NAME+=, NAME[..]= : *value is the place behind the =. The [ ] is read for what it hides. */
static bool assignment(struct shell_in *h, bool *is, size_t *value)
{
	size_t at = h->i;
	int c = shell_cur(h);

	*is = false;
	if (!shell_is_name(c, true))
		return true;
	while (shell_is_name(shell_cur(h), false))
		h->i++;
	if (shell_cur(h) == '[' && !element(h))
		return false;
	if (shell_cur(h) == '+' && shell_ahead(h) == '=')
		h->i++;
	*is = shell_cur(h) == '=';
	*value = h->i + 1;
	h->i = at;
	return true;
}

/* NAME=( at its parenthesis: words, over any number of lines. */
static bool array(struct shell_in *h, struct shell_word *out, size_t from)
{
	size_t at, mark = h->text.len;

	if (!shell_enter(h))
		return false;
	for (h->i++;;) {
		struct shell_word element;
		if (h->nhere > h->here_base || !shell_newlines(h))
			return shell_fail(h, "a list of words before a here-document");
		if (shell_cur(h) == ')')
			break;
		at = h->i;
		if (!shell_word(h, WORD_PLAIN, &element))
			return false;
		if (h->s[at] == '[' && strspn(element.text + 1, "0123456789") != strcspn(element.text + 1, "]") &&
		    !shell_add_named(h, "((", NULL))
			return false;
	}
	h->i++;
	h->depth--;
	if (!shell_put_source(h, from))
		return false;
	*out = (struct shell_word){ .expands = true };
	out->text = arena_strndup(&h->p->arena, buf_str(&h->text) + mark, h->text.len - mark);
	buf_cut(&h->text, mark);
	return shell_ends_word(shell_cur(h)) ? out->text || shell_nomem(h)
	                                     : shell_fail(h, "an array that is not understood");
}

/* An assignment in front, or as an argument of declare and its like. */
static bool assigned_word(struct shell_in *h, struct shell_word *out, size_t value)
{
	size_t from = h->i;

	h->i = value;
	if (shell_cur(h) == '(')
		return array(h, out, from);
	h->i = from;
	return shell_word(h, WORD_ASSIGN, out);
}

static bool declares(const struct shell_words *w)
{
	static const char *const names[] = { "declare", "typeset", "local", "export", "readonly" };

	for (size_t i = 0; w->n && i < sizeof names / sizeof *names; i++)
		if (!strcmp(w->v[0].text, names[i]))
			return true;
	return false;
}

static bool one_word(struct shell_in *h, struct simple *s)
{
	bool is = false;
	size_t value = 0;

	if ((!s->word.n || declares(&s->word)) && !assignment(h, &is, &value))
		return false;
	struct shell_word *w = shell_words_add(h, is && !s->word.n ? &s->assign : &s->word);
	if (!w)
		return false;
	return is ? assigned_word(h, w, value) : shell_word(h, WORD_PLAIN, w);
}

/* `name ()`: the place is at the (. */
static bool function(struct shell_in *h, const struct simple *s)
{
	if (s->word.n != 1 || s->assign.n || s->redirect.n)
		return shell_fail(h, "a parenthesis that is not understood");
	h->i++;
	shell_blanks(h);
	if (shell_cur(h) != ')')
		return shell_fail(h, "a parenthesis that is not understood");
	h->i++;
	return shell_add_named(h, "function", s->word.v[0].text) && shell_function_body(h);
}

/* Names that may leave later commands in another directory. */
static bool moves(const struct simple *s)
{
	static const char *const names[] = { "cd", "pushd", "popd", "eval", "source", ".", "builtin", "command" };

	if (!s->word.n)
		return false;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (!strcmp(s->word.v[0].text, names[i]))
			return true;
	return !s->word.v[0].literal;
}

/* Where a first cd leads, if its text says so. */
static const char *destination(const struct simple *s)
{
	const struct shell_word *w = s->word.v;
	bool quoted_tilde = s->word.n == 2 && w[1].literal && w[1].text[0] == '~';

	if (strcmp(w[0].text, "cd") != 0 || s->word.n > 2)
		return NULL;
	if (s->word.n == 1)
		return "~";
	return w[1].glob || w[1].expands || w[1].text[0] == '-' || quoted_tilde ? NULL : w[1].text;
}

static bool finish(struct shell_in *h, struct simple *s)
{
	struct shell_command c = {
		.assign = s->assign.v,
		.nassign = s->assign.n,
		.word = s->word.v,
		.nwords = s->word.n,
		.redirect = s->redirect.v,
		.nredirects = s->redirect.n,
	};

	if (!c.nwords && !c.nassign && !c.nredirects)
		return shell_fail(h, "a command is missing");
	shell_redirects_done(h, &s->redirect);
	if (!shell_git_plain(h, &c) || !shell_add(h, &c))
		return false;
	if (moves(s)) {
		h->cd = h->after_cd ? NULL : destination(s);
		h->after_cd = true;
	}
	return true;
}

bool shell_simple(struct shell_in *h)
{
	struct simple s = { .assign = { NULL, 0, 0 } };

	for (;;) {
		bool found;
		shell_blanks(h);
		if (!shell_redirect(h, &s.redirect, &found))
			return false;
		if (found)
			continue;
		int c = shell_cur(h);
		bool process = (c == '<' || c == '>') && shell_ahead(h) == '(';
		if (c == '(')
			return function(h, &s);
		if (shell_ends_word(c) && !process)
			return finish(h, &s);
		if (!one_word(h, &s))
			return false;
	}
}
