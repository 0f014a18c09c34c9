/* Redirections and here-documents. */
#include <string.h>

#include "guard/shell_private.h"

enum op_kind { OP_READ, OP_WRITE, OP_DUP_READ, OP_DUP_WRITE, OP_BOTH, OP_HERE, OP_HERE_TABS, OP_STRING };

/* Longer ones first. */
static const struct {
	const char *text;
	enum op_kind kind;
	int fd;
} ops[] = {
	{ "&>>", OP_BOTH, -1 }, { "<<-", OP_HERE_TABS, 0 }, { "<<<", OP_STRING, 0 }, { "&>", OP_BOTH, -1 },
	{ "<<", OP_HERE, 0 },   { "<&", OP_DUP_READ, 0 },   { "<>", OP_WRITE, 0 },   { ">>", OP_WRITE, 1 },
	{ ">|", OP_WRITE, 1 },  { ">&", OP_DUP_WRITE, 1 },  { "<", OP_READ, 0 },     { ">", OP_WRITE, 1 },
};

/* Steps over text if it stands here. */
static bool skip(struct shell_in *h, const char *text)
{
	size_t at = h->i;

	for (; *text; text++, h->i++)
		if (shell_cur(h) != (unsigned char)*text) {
			h->i = at;
			return false;
		}
	return true;
}

/* The number or {name} in front of an operator; nothing is stepped over if no operator follows. */
static bool prefix(struct shell_in *h, int *fd, const char **name)
{
	size_t at = h->i;
	bool named = shell_cur(h) == '{';
	int c;

	*fd = 0;
	h->i += named;
	size_t from = h->i;
	while ((c = shell_cur(h)) >= 0 && (named ? shell_is_name(c, h->i == from) : c >= '0' && c <= '9')) {
		*fd = named || *fd > 9999 ? 9999 : *fd * 10 + c - '0';
		h->i++;
	}
	size_t end = h->i;
	bool found = end > from && (!named || shell_cur(h) == '}');
	if (found)
		h->i += named;
	if (!found || (shell_cur(h) != '<' && shell_cur(h) != '>')) {
		h->i = at;
		return false;
	}
	*name = named ? arena_strndup(&h->p->arena, h->s + from, end - from) : NULL;
	return !named || *name || shell_nomem(h);
}

/* `-`, digits, or digits with - : what stands behind >& when no file is meant. */
static bool names_descriptor(const struct shell_word *w)
{
	size_t n = strspn(w->text, "0123456789");

	return w->literal && (!strcmp(w->text + n, "-") || (n && !w->text[n]));
}

static bool target(struct shell_in *h, struct shell_redirect *r, enum op_kind op)
{
	if (!shell_word(h, WORD_PLAIN, &r->target))
		return false;
	r->kind = op == OP_READ     ? REDIRECT_READ
	          : op == OP_STRING ? REDIRECT_TEXT
	          : op == OP_WRITE  ? REDIRECT_WRITE
	                            : REDIRECT_DUP;
	if (op == OP_BOTH || (op == OP_DUP_WRITE && !names_descriptor(&r->target))) {
		r->kind = REDIRECT_WRITE;
		r->fd = -1;
	}
	return true;
}

/* The word behind <<: nothing in it is expanded, and any quote in it quotes the text. */
static bool announce(struct shell_in *h, struct shell_redirects *r, bool tabs)
{
	struct shell_word end;
	struct shell_here *here = shell_alloc(h, sizeof *here);

	if (!here)
		return false;
	shell_cur(h);
	size_t from = h->i;
	if (!shell_word(h, WORD_PLAIN, &end))
		return false;
	for (size_t i = from; i < h->i; i++)
		here->quoted |= strchr("'\"\\", h->s[i]) != NULL;
	if (end.expands || memchr(h->s + from, '$', h->i - from) || memchr(end.text, '\n', strlen(end.text)))
		return shell_fail(h, "a here-document's end that is not understood");
	if (h->cases && h->nested) /* inside $( ) bash 5.2 joins the commands behind it to one */
		return shell_fail(h, "a here-document in a case in $( ): use printf");
	if (h->nhere == SHELL_PENDING_MAX)
		return shell_fail(h, "too many here-documents");
	here->end = end.text;
	here->tabs = tabs;
	here->owner = r;
	here->index = r->n - 1;
	r->v[r->n - 1].kind = REDIRECT_TEXT;
	h->here[h->nhere++] = here;
	return true;
}

static struct shell_redirect *add(struct shell_in *h, struct shell_redirects *r)
{
	if (r->n == r->cap) {
		size_t cap = 2 * (r->cap + 2);
		struct shell_redirect *wider = shell_alloc(h, cap * sizeof *wider);
		if (!wider)
			return NULL;
		if (r->n)
			memcpy(wider, r->v, r->n * sizeof *wider);
		r->v = wider;
		r->cap = cap;
	}
	return &r->v[r->n++];
}

void shell_redirects_done(struct shell_in *h, struct shell_redirects *r)
{
	for (size_t i = h->here_base; i < h->nhere; i++)
		if (h->here[i]->owner == r) {
			h->here[i]->body = &r->v[h->here[i]->index].target;
			h->here[i]->owner = NULL;
		}
}

bool shell_redirect(struct shell_in *h, struct shell_redirects *r, bool *found)
{
	const char *name = NULL;
	int fd = 0, c = shell_cur(h);
	bool prefixed = (c == '{' || (c >= '0' && c <= '9')) && prefix(h, &fd, &name);
	size_t op = 0;

	c = shell_cur(h);
	*found = c == '<' || c == '>' || (c == '&' && shell_ahead(h) == '>');
	if (!*found || shell_failed(h))
		return !shell_failed(h);
	if (c != '&' && shell_ahead(h) == '(') {
		*found = false;
		return !prefixed || shell_fail(h, "a redirection that is not understood");
	}
	struct shell_redirect *one = add(h, r);
	if (!one)
		return false;
	while (!skip(h, ops[op].text))
		op++;
	one->fd = prefixed ? fd : ops[op].fd;
	if (name && !shell_add_assign(h, name, strlen(name)))
		return false;
	shell_blanks(h);
	if (ops[op].kind == OP_HERE || ops[op].kind == OP_HERE_TABS)
		return announce(h, r, ops[op].kind == OP_HERE_TABS);
	return target(h, one, ops[op].kind);
}

/* ---- the texts ---- */

/* One line of the text at the place, without its newline, is put behind the words. Without quotes a backslash-newline
 * joins lines. False: nothing is left, or a failure. */
static bool body_line(struct shell_in *h, bool quoted)
{
	if (h->i >= h->n)
		return shell_fail(h, "a here-document without its end");
	while (h->i < h->n && h->s[h->i] != '\n') {
		if (!quoted && h->s[h->i] == '\\' && h->i + 1 < h->n) {
			if (h->s[h->i + 1] == '\n') {
				h->i += 2;
				continue;
			}
			if (!shell_put(h, &h->s[h->i++], 1))
				return false;
		}
		if (!shell_put(h, &h->s[h->i++], 1))
			return false;
	}
	h->i += h->i < h->n;
	return true;
}

static void drop_tabs(struct shell_in *h, size_t from)
{
	size_t n = strspn(buf_str(&h->text) + from, "\t");

	memmove(h->text.data + from, h->text.data + from + n, h->text.len - from - n);
	buf_cut(&h->text, h->text.len - n);
}

static bool read_body(struct shell_in *h, struct shell_here *here)
{
	size_t mark = h->text.len;

	for (;;) {
		size_t from = h->text.len;
		if (!body_line(h, here->quoted))
			return false;
		if (here->tabs && h->text.len > from)
			drop_tabs(h, from);
		if (!strcmp(buf_str(&h->text) + from, here->end)) {
			buf_cut(&h->text, from);
			break;
		}
		if (!shell_put(h, "\n", 1))
			return false;
	}
	size_t n = h->text.len - mark;
	char *text = arena_strndup(&h->p->arena, buf_str(&h->text) + mark, n);
	if (!text)
		return shell_nomem(h);
	buf_cut(&h->text, mark);
	here->body->text = text;
	here->body->expands = !here->quoted && strpbrk(text, "$`\\") != NULL;
	here->body->literal = !here->body->expands;
	h->dollar |= here->quoted && strpbrk(text, "$`") != NULL;
	return here->quoted || shell_inside(h, text, n, shell_here_text);
}

bool shell_here_bodies(struct shell_in *h)
{
	size_t n = h->nhere;
	bool nested = h->nested, after_cd = h->after_cd, piped = h->piped;
	const char *cd = h->cd;

	for (size_t i = h->here_base; i < n; i++) {
		h->nested = true;
		if (!read_body(h, h->here[i]))
			return false;
	}
	h->nested = nested;
	h->after_cd = after_cd;
	h->cd = cd;
	h->piped = piped;
	h->nhere = h->here_base;
	return true;
}
