/* Words and quotes. */
#include <string.h>

#include "guard/shell_private.h"

bool shell_put(struct shell_in *h, const char *s, size_t n)
{
	if (!buf_add(&h->text, s, n))
		return true;
	return h->text.failed == ERR_NOMEM ? shell_nomem(h) : shell_fail(h, "words too long");
}

bool shell_put_source(struct shell_in *h, size_t from)
{
	for (size_t i = from; i < h->i; i++) {
		if (h->s[i] == '\\' && i + 1 < h->i && h->s[i + 1] == '\n')
			i++;
		else if (!shell_put(h, &h->s[i], 1))
			return false;
	}
	return true;
}

bool shell_put_quoted(struct shell_in *h, struct shell_state *w, char c)
{
	h->dollar |= c == '$' || c == '`';
	w->last = -1;
	w->quoted = true;
	return shell_put(h, &c, 1);
}

bool shell_stray_newline(struct shell_in *h, int c)
{
	return c == '\n' && (h->waiting || h->nhere > h->here_base) &&
	       !shell_fail(h, "a newline inside a word before a here-document");
}

bool shell_single(struct shell_in *h, struct shell_state *w)
{
	w->quoted = true;
	w->last = -1;
	for (h->i++; h->i < h->n; h->i++) {
		if (h->s[h->i] == '\'') {
			h->i++;
			return true;
		}
		if (shell_stray_newline(h, h->s[h->i]) || !shell_put_quoted(h, w, h->s[h->i]))
			return false;
	}
	return shell_fail(h, "unterminated quote");
}

bool shell_double(struct shell_in *h, struct shell_state *w)
{
	w->quoted = true;
	w->last = -1;
	for (;;) {
		int c = shell_cur(h);
		if (c < 0)
			return shell_fail(h, "unterminated quote");
		if (shell_stray_newline(h, c))
			return false;
		if (c == '$' || c == '`') {
			if (!(c == '$' ? shell_dollar(h, w, true) : shell_backtick(h, w, true)))
				return false;
			continue;
		}
		h->i++;
		if (c == '"')
			return true;
		if (c == '\\' && h->i < h->n && strchr("$`\"\\", h->s[h->i]))
			c = (unsigned char)h->s[h->i++];
		if (!shell_put_quoted(h, w, (char)c))
			return false;
	}
}

static bool escaped(struct shell_in *h, struct shell_state *w)
{
	if (h->i + 1 >= h->n)
		return shell_fail(h, "a backslash at the end");
	h->i += 2;
	return shell_put_quoted(h, w, h->s[h->i - 1]);
}

/* What an unquoted character says of the word. Braces and brackets err on the side of being patterns. */
static void note(struct shell_state *w, int c, enum shell_word_mode mode)
{
	if (c == '~' && !w->last && !w->quoted)
		w->tilde = true;
	else if (c == '~' && mode <= WORD_ASSIGN && (w->last == '=' || w->last == ':'))
		w->expands = true;
	if (mode == WORD_ASSIGN)
		return;
	w->glob |= c == '*' || c == '?' || (c == ']' && w->bracket);
	w->bracket |= c == '[';
	if (c == '{')
		w->braces++;
	else if (w->braces && (c == ',' || (c == '.' && w->last == '.')))
		w->listed = true;
	else if (c == '}' && w->braces && w->listed)
		w->glob = true;
	else if (c == '}' && w->braces)
		w->braces--;
}

/* At a sign with ( behind it. */
static bool is_empty_group(struct shell_in *h)
{
	size_t at = h->i++;

	shell_cur(h);
	for (h->i++; shell_is_blank(shell_cur(h));)
		h->i++;
	bool empty = shell_cur(h) == ')';
	h->i = at;
	return empty;
}

static bool plain(struct shell_in *h, struct shell_state *w, enum shell_word_mode mode, int c)
{
	bool group = shell_ahead(h) == '(' && c && strchr("?*+@!", c);

	/* `a?()` is the name of a function; else bash either takes it for a pattern or for no command at all */
	if (group && mode != WORD_REGEX && is_empty_group(h))
		return shell_fail(h, "an extended pattern without a pattern in it");
	note(w, c, mode);
	w->last = c;
	h->i++;
	char one = (char)c;
	if (!shell_put(h, &one, 1))
		return false;
	return !group || mode == WORD_REGEX || shell_pattern_group(h, w);
}

bool shell_pattern_group(struct shell_in *h, struct shell_state *w)
{
	size_t from = h->i, mark = h->text.len;

	if (!shell_enter(h))
		return false;
	w->expands = w->glob = true;
	for (h->i++;;) {
		int c = shell_cur(h);
		bool ok = true;
		if (c < 0 || (c && strchr(";&\n<>", c)))
			return shell_fail(h, "a pattern that is not understood");
		if (c == ')')
			break;
		if (c == '\'')
			ok = shell_single(h, w);
		else if (c == '"')
			ok = ++h->i && shell_double(h, w);
		else if (c == '\\')
			ok = escaped(h, w);
		else if (c == '$')
			ok = shell_dollar(h, w, false);
		else if (c == '`')
			ok = shell_backtick(h, w, false);
		else if (c == '(')
			ok = shell_pattern_group(h, w);
		else
			h->i++;
		if (!ok)
			return false;
	}
	h->i++;
	h->depth--;
	buf_cut(&h->text, mark);
	return shell_put_source(h, from);
}

/* One piece of a word. *end: the word ends before it. */
static bool piece(struct shell_in *h, struct shell_state *w, enum shell_word_mode mode, bool *end)
{
	int c = shell_cur(h);

	if ((c == '<' || c == '>') && shell_ahead(h) == '(')
		return shell_process(h, w);
	if (mode == WORD_REGEX && c == '(')
		return shell_pattern_group(h, w);
	if (mode == WORD_REGEX && c == '|')
		return plain(h, w, mode, c);
	*end = shell_ends_word(c);
	if (*end)
		return true;
	if (c == '\\')
		return escaped(h, w);
	if (c == '\'')
		return shell_single(h, w);
	if (c == '"') {
		h->i++;
		return shell_double(h, w);
	}
	if (c == '$')
		return shell_dollar(h, w, false);
	if (c == '`')
		return shell_backtick(h, w, false);
	return plain(h, w, mode, c);
}

bool shell_word(struct shell_in *h, enum shell_word_mode mode, struct shell_word *out)
{
	struct shell_state w = { .last = 0 };
	size_t start = h->text.len, pieces = 0;
	bool end = false, process = shell_cur(h) == '<';

	size_t from = h->i;
	for (; !end; pieces++)
		if (!piece(h, &w, mode, &end))
			return false;
	if (h->i == from)
		return shell_fail(h, "a word is missing");
	out->text = arena_strndup(&h->p->arena, buf_str(&h->text) + start, h->text.len - start);
	if (!out->text)
		return shell_nomem(h);
	buf_cut(&h->text, start);
	out->glob = w.glob;
	out->tilde = w.tilde;
	out->expands = w.expands;
	out->pipe = process && pieces == 2; /* the second is the end */
	out->splits = w.splits && mode == WORD_PLAIN;
	out->literal = !w.glob && !w.tilde && !w.expands;
	return true;
}
