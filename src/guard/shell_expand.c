/* Expansions: what is found in them runs, what they expand to is not known. */
#include <string.h>

#include "guard/shell_private.h"

/* Puts the source of an expansion in the word in place of what was read of it. */
static bool expanded(struct shell_in *h, struct shell_state *w, size_t from, size_t mark, bool in_double)
{
	buf_cut(&h->text, mark);
	w->expands = true;
	w->splits |= !in_double;
	w->last = '$';
	return shell_put_source(h, from);
}

/* ( at the place: commands up to the ), in a process of their own. */
static bool commands(struct shell_in *h)
{
	struct shell_in outer = *h;

	h->nested = true;
	h->waiting |= h->nhere > h->here_base;
	h->here_base = h->nhere;
	h->i++;
	if (!shell_list(h))
		return false;
	if (shell_cur(h) != ')')
		return shell_fail(h, "unterminated $( )");
	if (h->nhere > h->here_base)
		return shell_fail(h, "a here-document without its text");
	h->i++;
	h->nested = outer.nested;
	h->after_cd = outer.after_cd;
	h->cd = outer.cd;
	h->waiting = outer.waiting;
	h->here_base = outer.here_base;
	return true;
}

bool shell_process(struct shell_in *h, struct shell_state *w)
{
	size_t from = h->i, mark = h->text.len;

	if (!shell_enter(h))
		return false;
	h->i++;
	shell_cur(h);
	if (!commands(h))
		return false;
	h->depth--;
	return expanded(h, w, from, mark, true);
}

/* What the backslashes of a backtick substitution leave. */
static bool backtick_text(struct shell_in *h, bool in_double)
{
	for (h->i++; h->i < h->n; h->i++) {
		char c = h->s[h->i];
		if (c == '`') {
			h->i++;
			return true;
		}
		if (shell_stray_newline(h, c))
			return false;
		if (c == '\\' && h->i + 1 < h->n) {
			char next = h->s[h->i + 1];
			if (strchr("$`\\", next) || (in_double && next == '"')) {
				c = next;
				h->i++;
			}
		}
		if (!shell_put(h, &c, 1))
			return false;
	}
	return shell_fail(h, "unterminated `");
}

bool shell_backtick(struct shell_in *h, struct shell_state *w, bool in_double)
{
	size_t from = h->i, mark = h->text.len;
	bool nested = h->nested, after_cd = h->after_cd;
	const char *cd = h->cd;

	if (!backtick_text(h, in_double))
		return false;
	size_t n = h->text.len - mark;
	char *text = arena_strndup(&h->p->arena, buf_str(&h->text) + mark, n);
	if (!text)
		return shell_nomem(h);
	buf_cut(&h->text, mark);
	h->nested = true;
	if (!shell_inside(h, text, n, shell_list_all))
		return false;
	h->nested = nested;
	h->after_cd = after_cd;
	h->cd = cd;
	return expanded(h, w, from, mark, in_double);
}

static bool skip_escape(struct shell_in *h)
{
	if (h->i + 1 >= h->n)
		return shell_fail(h, "a backslash at the end");
	h->dollar |= h->s[h->i + 1] == '$' || h->s[h->i + 1] == '`';
	h->i += 2;
	return true;
}

/* A quote, an expansion or an escape at c, of which only what it runs counts. *other: it is none of these, and stepped
 * over. */
static bool inner(struct shell_in *h, int c, bool in_double, bool *other)
{
	struct shell_state w = { .last = 0 };
	size_t mark = h->text.len;
	bool ok = true;

	*other = false;
	if (c == '"') {
		h->i++;
		ok = shell_double(h, &w);
	} else if (c == '$') {
		ok = shell_dollar(h, &w, in_double);
	} else if (c == '`') {
		ok = shell_backtick(h, &w, in_double);
	} else if (c == '\'' && !in_double) {
		ok = shell_single(h, &w);
	} else if (c == '\\') {
		ok = skip_escape(h);
	} else {
		*other = true;
		h->i++;
	}
	buf_cut(&h->text, mark);
	return ok;
}

/* ---- arithmetic ---- */

static bool hidden(struct shell_in *h)
{
	return shell_add_named(h, "((", NULL);
}

/* One piece of an expression. *vary: it depends on a variable, whose value is an expression too, with substitutions in
 * its subscripts. */
static bool arithmetic_piece(struct shell_in *h, int c, bool *vary)
{
	bool other, process = (c == '<' || c == '>') && shell_ahead(h) == '(';

	if (c < 0 || c == '\'' || c == '\\' || process)
		return shell_fail(h, "an arithmetic expression that is not understood");
	if (shell_stray_newline(h, c) || !inner(h, c, true, &other))
		return false;
	*vary |= !other || shell_is_name(c, true) || c >= 0x80;
	return true;
}

bool shell_arithmetic(struct shell_in *h, bool loop)
{
	static const char why[] = "(( that is no arithmetic expression";
	bool vary = false;
	int open = 0;

	if (!shell_enter(h))
		return false;
	for (;;) {
		int c = shell_cur(h);
		if (c == ')' && !open)
			break;
		open += c == '(' ? 1 : c == ')' ? -1 : 0;
		if (c == ';' && !loop)
			return shell_fail(h, why);
		if (!arithmetic_piece(h, c, &vary))
			return false;
	}
	if (shell_ahead(h) != ')')
		return shell_fail(h, why);
	h->i++;
	shell_cur(h);
	h->i++;
	h->depth--;
	return !vary || hidden(h);
}

bool shell_subscript(struct shell_in *h)
{
	size_t from = h->i;
	bool vary = false;
	int c;

	if (!shell_enter(h))
		return false;
	while ((c = shell_cur(h)) != ']') {
		if (c == '[' || shell_is_blank(c) || c == '\n')
			return shell_fail(h, "a subscript that is not understood");
		if (!arithmetic_piece(h, c, &vary))
			return false;
	}
	bool all = h->i == from + 1 && strchr("@*", h->s[from]);
	h->i++;
	h->depth--;
	return all || !vary || hidden(h);
}

/* ---- ${ } ---- */

static bool brace_process(struct shell_in *h, bool in_double)
{
	struct shell_state w = { .last = 0 };
	size_t mark = h->text.len;

	if (in_double)
		return shell_fail(h, "a parenthesis in ${ } that is not understood");
	bool ok = shell_process(h, &w);
	buf_cut(&h->text, mark);
	return ok;
}

/* The rest of ${ } to its }. *plain: nothing but digits, signs and colons. */
static bool brace_rest(struct shell_in *h, bool in_double, bool *plain)
{
	int c;

	*plain = true;
	while ((c = shell_cur(h)) != '}') {
		bool other = false;
		if (c < 0)
			return shell_fail(h, "unterminated ${ }");
		if (shell_stray_newline(h, c))
			return false;
		if (c == '\'' && in_double)
			return shell_fail(h, "a single quote in ${ } in double quotes");
		bool process = (c == '<' || c == '>') && shell_ahead(h) == '(';
		if (!(process ? brace_process(h, in_double) : inner(h, c, in_double, &other)))
			return false;
		*plain &= other && c && strchr("0123456789: -", c) != NULL;
	}
	h->i++;
	return true;
}

/* Behind the parameter: the operator and what follows it. name: where the parameter stands. */
static bool brace_operator(struct shell_in *h, const char *name, size_t nname, bool in_double)
{
	int c = shell_cur(h), next = shell_ahead(h);
	bool plain;

	if (c == '}') {
		h->i++;
		return true;
	}
	if (c <= 0 || !strchr(":-=?+#%/^,~@", c))
		return shell_fail(h, "${ } that is not understood");
	h->i++;
	if (!brace_rest(h, in_double, &plain))
		return false;
	if (c == '@' && !(next > 0 && strchr("QULuaAEKk", next)))
		return hidden(h);
	if (c == '=' || (c == ':' && next == '='))
		return shell_add_assign(h, name, nname);
	if (c == ':' && !(next > 0 && strchr("-?+", next)) && !plain)
		return hidden(h);
	return true;
}

static void skip_name(struct shell_in *h)
{
	int c = shell_cur(h);
	bool digits = c >= '0' && c <= '9';

	for (; shell_is_name(c, false) && (!digits || (c >= '0' && c <= '9')); c = shell_cur(h))
		h->i++;
}

/* The # of a length and the ! of an indirection in front of the parameter. */
static bool brace_prefix(struct shell_in *h)
{
	int c = shell_cur(h), next = shell_ahead(h);
	bool named = next > 0 && (shell_is_name(next, false) || strchr("@*#?-$!", next));

	if ((c != '#' && c != '!') || !named)
		return true;
	h->i++;
	if (c == '!')
		return hidden(h);
	/* "${#-x}" and its like mean one thing or another */
	return shell_is_name(next, false) || shell_ahead(h) == '}' || shell_fail(h, "${ } that is not understood");
}

/* { at the place. */
static bool brace(struct shell_in *h, bool in_double)
{
	h->i++;
	if (!brace_prefix(h))
		return false;
	int c = shell_cur(h);
	size_t from = h->i;
	if (shell_is_name(c, false))
		skip_name(h);
	else if (c > 0 && strchr("@*#?-$!", c))
		h->i++;
	else
		return shell_fail(h, "${ } that is not understood");
	size_t nname = h->i - from;
	if (shell_cur(h) == '[') {
		h->i++;
		if (!shell_subscript(h))
			return false;
	}
	return brace_operator(h, h->s + from, nname, in_double);
}

/* ---- $ ---- */

/* $( or $((: the ( is at the place. */
static bool parenthesis(struct shell_in *h)
{
	if (shell_ahead(h) != '(')
		return commands(h);
	h->i++;
	shell_cur(h);
	h->i++;
	return shell_arithmetic(h, false);
}

static bool dollar_quote(struct shell_in *h, struct shell_state *w, int c)
{
	if (c == '\'')
		return shell_ansi(h, w);
	h->i++;
	w->expands = true; /* a translation takes its place */
	return shell_double(h, w);
}

bool shell_dollar(struct shell_in *h, struct shell_state *w, bool in_double)
{
	size_t from = h->i, mark = h->text.len;
	bool ok = true;

	h->i++;
	int c = shell_cur(h);
	if ((c == '\'' || c == '"') && !in_double)
		return dollar_quote(h, w, c);
	if (c == '[')
		return shell_fail(h, "arithmetic in $[ ]: write $(( ))");
	if (c == '(' || c == '{') {
		if (!shell_enter(h))
			return false;
		ok = c == '(' ? parenthesis(h) : brace(h, in_double);
		h->depth--;
	} else if (shell_is_name(c, true)) {
		skip_name(h);
	} else if (c > 0 && (strchr("@*#?-$!", c) || (c >= '0' && c <= '9'))) {
		h->i++;
	} else {
		return shell_put_quoted(h, w, '$');
	}
	return ok && expanded(h, w, from, mark, in_double);
}

bool shell_here_text(struct shell_in *h)
{
	bool other;

	for (int c; (c = shell_cur(h)) >= 0;) {
		if (c == '"' || c == '\'')
			h->i++;
		else if (!inner(h, c, true, &other))
			return false;
	}
	return true;
}
