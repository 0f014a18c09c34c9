/* Lists, pipes and compound commands. */
#include <string.h>

#include "guard/shell_private.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* ---- reserved words ---- */

static const char *const closers[] = { "then", "else", "elif", "fi", "do", "done", "esac", "}" };

static bool if_command(struct shell_in *h);
static bool while_command(struct shell_in *h);
static bool for_command(struct shell_in *h);
static bool case_command(struct shell_in *h);
static bool brace_command(struct shell_in *h);
static bool condition(struct shell_in *h);
static bool function_command(struct shell_in *h);
static bool coproc_command(struct shell_in *h);

static const struct {
	const char *word;
	bool (*parse)(struct shell_in *h); /* behind the word */
	bool compound;                     /* may be a function's body */
} openers[] = {
	{ "if", if_command, true },          { "while", while_command, true }, { "until", while_command, true },
	{ "for", for_command, true },        { "select", for_command, true },  { "case", case_command, true },
	{ "{", brace_command, true },        { "[[", condition, true },        { "function", function_command, false },
	{ "coproc", coproc_command, false },
};

/* The unquoted word at the place, if it is short enough for a reserved one. */
static bool short_word(struct shell_in *h, char out[10], size_t *end)
{
	size_t at = h->i, n = 0;
	int c = shell_cur(h);

	for (; n < 9 && !shell_ends_word(c); c = shell_cur(h)) {
		out[n++] = (char)c;
		h->i++;
	}
	out[n] = '\0';
	*end = h->i;
	h->i = at;
	return n && shell_ends_word(c);
}

/* Steps over the word if it stands here. */
static bool accept(struct shell_in *h, const char *word)
{
	char got[10];
	size_t end;

	if (!short_word(h, got, &end) || strcmp(got, word) != 0)
		return false;
	h->i = end;
	return true;
}

static bool expect(struct shell_in *h, const char *word)
{
	if (!shell_newlines(h))
		return false;
	return accept(h, word) || shell_fail(h, "a compound command that does not end, or not as it should");
}

static bool at_closer(struct shell_in *h)
{
	char got[10];
	size_t end;

	for (size_t i = 0; short_word(h, got, &end) && i < COUNT(closers); i++)
		if (!strcmp(got, closers[i]))
			return true;
	return false;
}

static size_t opener(struct shell_in *h, size_t *end)
{
	char got[10];
	size_t i = 0;

	if (!short_word(h, got, end))
		return COUNT(openers);
	while (i < COUNT(openers) && strcmp(got, openers[i].word) != 0)
		i++;
	return i;
}

static bool at_compound(struct shell_in *h)
{
	size_t end, i = opener(h, &end);

	return shell_cur(h) == '(' || (i < COUNT(openers) && openers[i].compound);
}

/* ---- lists ---- */

/* What runs again may run after a cd that stands behind it. */
static void mark_moved(struct shell_in *h, size_t from)
{
	for (size_t i = from; h->after_cd && i < h->p->n; i++) {
		h->p->command[i].cd = h->p->command[i].after_cd && h->p->command[i].cd == h->cd ? h->cd : NULL;
		h->p->command[i].after_cd = true;
	}
}

static bool pipeline(struct shell_in *h)
{
	bool piped = h->piped;

	for (;; shell_blanks(h)) {
		if (accept(h, "time")) {
			shell_blanks(h);
			if (accept(h, "-p"))
				shell_blanks(h);
			accept(h, "--");
		} else if (!accept(h, "!")) {
			break;
		} else if (shell_cur(h) == '(') {
			return shell_fail(h, "`!(` where a command should be: write `! (`");
		}
	}
	for (;;) {
		if (!shell_command_any(h))
			return false;
		shell_blanks(h);
		if (shell_cur(h) != '|' || shell_ahead(h) == '|')
			break;
		h->i++;
		if (shell_cur(h) == '&')
			h->i++;
		if (!shell_newlines(h))
			return false;
		h->piped = true;
	}
	h->piped = piped;
	return true;
}

static bool and_or(struct shell_in *h)
{
	for (;;) {
		if (!pipeline(h))
			return false;
		int c = shell_cur(h);
		if ((c != '&' && c != '|') || shell_ahead(h) != c)
			return true;
		h->i++;
		shell_cur(h);
		h->i++;
		if (!shell_newlines(h))
			return false;
	}
}

static bool at_case_end(struct shell_in *h)
{
	return shell_cur(h) == ';' && (shell_ahead(h) == ';' || shell_ahead(h) == '&');
}

bool shell_list(struct shell_in *h)
{
	if (!shell_enter(h))
		return false;
	for (;;) {
		if (!shell_newlines(h))
			return false;
		int c = shell_cur(h);
		if (c < 0 || c == ')' || at_case_end(h) || at_closer(h))
			break;
		if (!and_or(h))
			return false;
		c = shell_cur(h);
		if (at_case_end(h) || (c != ';' && c != '&' && c != '\n'))
			break;
		h->i += c != '\n';
	}
	h->depth--;
	return true;
}

bool shell_list_all(struct shell_in *h)
{
	if (!shell_list(h))
		return false;
	if (shell_cur(h) >= 0)
		return shell_fail(h, "a word or sign where none should be");
	return h->nhere == h->here_base || shell_fail(h, "a here-document without its text");
}

/* ---- commands ---- */

/* The redirections behind a compound command. */
static bool redirections(struct shell_in *h)
{
	struct shell_redirects r = { NULL, 0, 0 };
	bool found = true;

	while (found) {
		shell_blanks(h);
		if (!shell_redirect(h, &r, &found))
			return false;
	}
	if (!r.n)
		return true;
	struct shell_command c = { .redirect = r.v, .nredirects = r.n };
	shell_redirects_done(h, &r);
	return shell_add(h, &c);
}

static bool subshell(struct shell_in *h)
{
	bool after_cd = h->after_cd;
	const char *cd = h->cd;

	h->i++;
	if (!shell_list(h))
		return false;
	if (shell_cur(h) != ')')
		return shell_fail(h, "unterminated ( )");
	h->i++;
	h->after_cd = after_cd;
	h->cd = cd;
	return true;
}

static bool parenthesis(struct shell_in *h)
{
	if (shell_ahead(h) != '(')
		return subshell(h);
	h->i++;
	shell_cur(h);
	h->i++;
	return shell_arithmetic(h, false);
}

bool shell_command_any(struct shell_in *h)
{
	size_t end, i = opener(h, &end);
	bool ok;

	if (!shell_enter(h))
		return false;
	if (shell_cur(h) == '(') {
		ok = parenthesis(h) && redirections(h);
	} else if (i < COUNT(openers)) {
		h->i = end;
		ok = openers[i].parse(h) && (!openers[i].compound || redirections(h));
	} else if (at_closer(h)) {
		ok = shell_fail(h, "a reserved word where a command should be");
	} else {
		ok = shell_simple(h);
	}
	h->depth--;
	return ok;
}

/* A body may be called any time later, from any place. */
bool shell_function_body(struct shell_in *h)
{
	bool after_cd = h->after_cd, piped = h->piped;
	const char *cd = h->cd;

	if (!shell_newlines(h))
		return false;
	if (!at_compound(h))
		return shell_fail(h, "a function whose body is not understood");
	h->after_cd = true;
	h->cd = NULL;
	if (!shell_command_any(h))
		return false;
	h->after_cd = after_cd;
	h->cd = cd;
	h->piped = piped;
	return true;
}

static bool function_command(struct shell_in *h)
{
	struct shell_word name;

	shell_blanks(h);
	if (!shell_word(h, WORD_PLAIN, &name))
		return false;
	if (name.expands) /* `function +(body)` */
		return shell_fail(h, "a function whose name is not understood");
	shell_blanks(h);
	if (shell_cur(h) == '(') {
		size_t at = h->i++;
		shell_blanks(h);
		if (shell_cur(h) == ')')
			h->i++;
		else
			h->i = at;
	}
	return shell_add_named(h, "function", name.text) && shell_function_body(h);
}

/* Inside $( ) bash gives itself another text than was written (`coproc a` becomes `coproc COPROC a`, which runs
 * COPROC). */
static bool coproc_command(struct shell_in *h)
{
	return shell_fail(h, "coproc, whose text bash changes: use a pipe or run_in_background");
}

static bool brace_command(struct shell_in *h)
{
	return shell_list(h) && expect(h, "}");
}

static bool if_command(struct shell_in *h)
{
	do {
		if (!shell_list(h) || !expect(h, "then") || !shell_list(h))
			return false;
	} while (accept(h, "elif"));
	if (accept(h, "else") && !shell_list(h))
		return false;
	return expect(h, "fi");
}

static bool loop_body(struct shell_in *h)
{
	if (!shell_newlines(h))
		return false;
	const char *end = accept(h, "{") ? "}" : "done";
	if (*end == 'd' && !expect(h, "do"))
		return false;
	return shell_list(h) && expect(h, end);
}

static bool while_command(struct shell_in *h)
{
	size_t from = h->p->n;

	if (!shell_list(h) || !expect(h, "do") || !shell_list(h) || !expect(h, "done"))
		return false;
	mark_moved(h, from);
	return true;
}

/* The words behind `in`, to ; or the newline. */
static bool for_words(struct shell_in *h)
{
	struct shell_word w;

	for (;;) {
		shell_blanks(h);
		int c = shell_cur(h);
		if (c == ';' || c == '\n' || c < 0)
			return true;
		if (!shell_word(h, WORD_PLAIN, &w))
			return false;
	}
}

static bool for_arithmetic(struct shell_in *h)
{
	h->i++;
	if (shell_cur(h) != '(')
		return shell_fail(h, "a loop that is not understood");
	h->i++;
	if (!shell_arithmetic(h, true))
		return false;
	shell_blanks(h);
	return true;
}

static bool for_variable(struct shell_in *h)
{
	struct shell_word name;

	if (!shell_word(h, WORD_PLAIN, &name) || !shell_add_assign(h, name.text, strlen(name.text)) ||
	    !shell_newlines(h))
		return false;
	return !accept(h, "in") || for_words(h);
}

static bool for_command(struct shell_in *h)
{
	size_t from = h->p->n;

	shell_blanks(h);
	if (!(shell_cur(h) == '(' ? for_arithmetic(h) : for_variable(h)))
		return false;
	if (shell_cur(h) == ';' && shell_ahead(h) != ';')
		h->i++;
	if (!loop_body(h))
		return false;
	mark_moved(h, from);
	return true;
}

/* ---- case ---- */

/* [(] pattern [| pattern]... ) */
static bool case_patterns(struct shell_in *h)
{
	struct shell_word w;

	if (shell_cur(h) == '(')
		h->i++;
	for (;;) {
		shell_blanks(h);
		if (!shell_word(h, WORD_PLAIN, &w))
			return false;
		shell_blanks(h);
		int c = shell_cur(h);
		if (c != ')' && c != '|')
			return shell_fail(h, "a case that is not understood");
		h->i++;
		if (c == ')')
			return true;
	}
}

static bool case_arms(struct shell_in *h)
{
	for (;;) {
		if (!shell_newlines(h))
			return false;
		if (accept(h, "esac"))
			return true;
		if (!case_patterns(h) || !shell_list(h))
			return false;
		if (!at_case_end(h))
			return expect(h, "esac");
		h->i++;
		bool again = shell_cur(h) == ';' && shell_ahead(h) == '&';
		h->i += again ? 2 : 1;
	}
}

static bool case_command(struct shell_in *h)
{
	struct shell_word w;

	shell_blanks(h);
	if (!shell_word(h, WORD_PLAIN, &w) || !expect(h, "in"))
		return false;
	h->cases++;
	bool ok = case_arms(h);
	h->cases--;
	return ok;
}

/* ---- [[ ]] ---- */

static bool condition_sign(struct shell_in *h, struct shell_words *words, int c)
{
	static const char *const signs[] = { "(", ")", "<", ">", "&&", "||" };
	bool twice = c == '&' || c == '|';
	struct shell_word *w = shell_words_add(h, words);

	if (!w)
		return false;
	if (twice && shell_ahead(h) != c)
		return shell_fail(h, "a condition that is not understood");
	for (size_t i = 0; i < COUNT(signs); i++)
		if (signs[i][0] == c)
			*w = (struct shell_word){ .text = signs[i], .literal = true };
	h->i++;
	if (twice) {
		shell_cur(h);
		h->i++;
	}
	return w->text || shell_fail(h, "a condition that is not understood");
}

static bool condition(struct shell_in *h)
{
	struct shell_words words = { NULL, 0, 0 };
	struct shell_word *w = shell_words_add(h, &words);
	bool regex = false;

	if (!w)
		return false;
	*w = (struct shell_word){ .text = "[[", .literal = true };
	for (;;) {
		if (!shell_newlines(h))
			return false;
		if (accept(h, "]]"))
			break;
		int c = shell_cur(h);
		bool process = (c == '<' || c == '>') && shell_ahead(h) == '(';
		if (shell_ends_word(c) && !process && !(regex && (c == '(' || c == '|'))) {
			if (!condition_sign(h, &words, c))
				return false;
			continue;
		}
		w = shell_words_add(h, &words);
		if (!w || !shell_word(h, regex ? WORD_REGEX : WORD_CONDITION, w))
			return false;
		w->splits = false;
		regex = !regex && w->literal && !strcmp(w->text, "=~");
	}
	struct shell_command cmd = { .word = words.v, .nwords = words.n };
	return shell_add(h, &cmd);
}
