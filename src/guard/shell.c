#include "guard/shell.h"

#include <stdint.h>
#include <string.h>

#include "base/utf8.h"
#include "guard/shell_private.h"

bool shell_fail(struct shell_in *h, const char *why)
{
	if (!h->p->failure)
		h->p->failure = why;
	return false;
}

bool shell_nomem(struct shell_in *h)
{
	h->p->nomem = true;
	return shell_fail(h, "out of memory");
}

bool shell_failed(const struct shell_in *h)
{
	return h->p->failure != NULL;
}

bool shell_enter(struct shell_in *h)
{
	h->depth++;
	return h->depth <= SHELL_DEPTH_MAX || shell_fail(h, "nested too deep");
}

void *shell_alloc(struct shell_in *h, size_t n)
{
	void *p = arena_alloc(&h->p->arena, n);

	if (!p)
		shell_nomem(h);
	return p;
}

int shell_cur(struct shell_in *h)
{
	while (h->i + 1 < h->n && h->s[h->i] == '\\' && h->s[h->i + 1] == '\n')
		h->i += 2;
	return h->i < h->n ? (unsigned char)h->s[h->i] : -1;
}

int shell_ahead(struct shell_in *h)
{
	if (shell_cur(h) < 0)
		return -1;
	size_t at = h->i++;
	int c = shell_cur(h);
	h->i = at;
	return c;
}

bool shell_is_blank(int c)
{
	return c == ' ' || c == '\t';
}

bool shell_is_name(int c, bool first)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (!first && c >= '0' && c <= '9');
}

bool shell_ends_word(int c)
{
	return c < 0 || (c && strchr(" \t\n;&|()<>", c));
}

void shell_blanks(struct shell_in *h)
{
	while (shell_is_blank(shell_cur(h)))
		h->i++;
	if (shell_cur(h) != '#')
		return;
	while (h->i < h->n && h->s[h->i] != '\n')
		h->i++;
}

bool shell_newlines(struct shell_in *h)
{
	for (;;) {
		shell_blanks(h);
		if (shell_cur(h) != '\n')
			return true;
		h->i++;
		if (h->waiting)
			return shell_fail(h, "a newline in a substitution before a here-document");
		if (!shell_here_bodies(h))
			return false;
	}
}

/* Room for one more of a list in the arena; the old place is left behind. */
static void *more(struct shell_in *h, void *v, size_t n, size_t *cap, size_t size)
{
	if (n < *cap)
		return v;
	size_t wider = *cap ? 2 * *cap : 8;
	void *w = shell_alloc(h, wider * size);
	if (!w)
		return NULL;
	if (n)
		memcpy(w, v, n * size);
	*cap = wider;
	return w;
}

struct shell_word *shell_words_add(struct shell_in *h, struct shell_words *w)
{
	struct shell_word *v = more(h, w->v, w->n, &w->cap, sizeof *v);

	if (!v)
		return NULL;
	w->v = v;
	return &v[w->n++];
}

bool shell_add(struct shell_in *h, const struct shell_command *c)
{
	struct shell_command *v = more(h, h->p->command, h->p->n, &h->cap, sizeof *v);

	if (!v)
		return false;
	h->p->command = v;
	v[h->p->n] = *c;
	v[h->p->n].nested = h->nested;
	v[h->p->n].piped = h->piped;
	v[h->p->n].after_cd = h->after_cd;
	v[h->p->n].cd = h->cd;
	h->p->n++;
	return true;
}

bool shell_add_named(struct shell_in *h, const char *name, const char *operand)
{
	struct shell_command c = { .nwords = operand ? 2 : 1 };

	c.word = shell_alloc(h, 2 * sizeof *c.word);
	if (!c.word)
		return false;
	c.word[0] = (struct shell_word){ .text = name, .literal = true };
	c.word[1] = (struct shell_word){ .text = operand, .literal = true };
	return shell_add(h, &c);
}

bool shell_add_assign(struct shell_in *h, const char *name, size_t n)
{
	struct shell_command c = { .nassign = 1 };
	char *text = shell_alloc(h, n + 2);

	c.assign = shell_alloc(h, sizeof *c.assign);
	if (!text || !c.assign)
		return false;
	memcpy(text, name, n);
	text[n] = '=';
	c.assign[0] = (struct shell_word){ .text = text, .expands = true };
	return shell_add(h, &c);
}

bool shell_inside(struct shell_in *h, const char *text, size_t n, bool (*f)(struct shell_in *h))
{
	struct shell_in outer = *h;

	if (n > h->budget)
		return shell_fail(h, "too many commands inside each other");
	if (!shell_enter(h))
		return false;
	h->budget -= n;
	h->s = text;
	h->n = n;
	h->i = 0;
	h->here_base = h->nhere;
	h->waiting = false;
	bool ok = f(h);
	h->s = outer.s;
	h->n = outer.n;
	h->i = outer.i;
	h->here_base = outer.here_base;
	h->waiting = outer.waiting;
	h->depth--;
	return ok;
}

/* Arithmetic is opaque for deny only where a variable could have been given the text of a substitution. */
static void judge_arithmetic(struct shell_in *h)
{
	for (size_t i = 0; h->dollar && i < h->p->n; i++) {
		struct shell_command *c = &h->p->command[i];
		if (c->nwords && c->word[0].literal && shell_evaluates(c)) {
			c->word[0].literal = false;
			c->word[0].expands = true;
		}
	}
}

#define TOO_LONG "longer than 10,000 characters: put it in a file with Write, and run that"

/* Bash keeps \001 and \177 for itself, a NUL ends its text, and what is no UTF-8 it may see otherwise than we do. */
static const char *text_fault(const char *text, size_t n)
{
	size_t chars = 0;

	for (size_t i = 0; i < n; i++) {
		if (text[i] == '\0')
			return "a NUL byte";
		if (text[i] == '\001' || text[i] == '\177')
			return "a control character";
		chars += ((unsigned char)text[i] & 0xC0) != 0x80;
	}
	if (!utf8_valid(text, n, NULL))
		return "invalid UTF-8";
	return chars > SHELL_COMMAND_MAX ? TOO_LONG : NULL;
}

void shell_parse(struct shell_parse *p, const char *text, size_t n)
{
	struct shell_in h = {
		.p = p, .s = text, .n = n, .budget = SHELL_NESTED_MAX, .text = BUF_INIT(SHELL_WORDS_MAX)
	};

	memset(p, 0, sizeof *p);
	p->failure = n > 4 * (size_t)SHELL_COMMAND_MAX ? TOO_LONG : text_fault(text, n);
	if (!p->failure && shell_list_all(&h))
		shell_nested_texts(&h);
	judge_arithmetic(&h);
	buf_release(&h.text);
}

void shell_parse_release(struct shell_parse *p)
{
	arena_release(&p->arena);
	memset(p, 0, sizeof *p);
}
