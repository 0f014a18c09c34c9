/* Which words of a command name files. Each word is looked at once: commands may have thousands. */
#include <string.h>

#include "guard/shell_args.h"

static bool is(const struct shell_view *v, const char *name)
{
	return !strcmp(v->word[0].text, name);
}

/* Does an option give the pattern, so that no operand is one? Taken for sure where it may be. */
static bool pattern_given(const struct shell_view *v)
{
	for (size_t i = 1; i < v->nwords; i++) {
		const char *t = v->word[i].text;
		if (t[0] != '-' && !v->word[i].splits)
			continue;
		if (t[1] == '-' ? !strncmp(t, "--regexp", 8) || !strncmp(t, "--file", 6) || !strncmp(t, "--expr", 6) ||
		                          !strncmp(t, "--type-list", 11)
		                : strpbrk(t, "ef") != NULL)
			return true;
	}
	return false;
}

/* Where the operands lie, and whether all options are understood. */
static void survey(struct shell_paths *p)
{
	struct shell_args a = { .v = p->view, .fact = p->fact };
	const struct shell_word *w;

	for (enum shell_arg kind; (kind = shell_args_next(&a, &w)) != ARG_END;) {
		p->known &= kind != ARG_UNKNOWN && kind != ARG_HIDDEN;
		if (kind != ARG_OPERAND)
			continue;
		p->first = p->first ? p->first : a.i;
		p->last = a.i;
	}
}

void shell_paths_init(struct shell_paths *p, const struct shell_view *v)
{
	bool in_place = false;
	size_t n = 0;

	memset(p, 0, sizeof *p);
	p->view = v;
	p->fact = v->nwords && v->word[0].literal ? shell_fact(v->word[0].text) : NULL;
	p->known = p->fact && !v->more;
	if (!p->fact)
		return;
	p->plain = is(v, "git") || is(v, "find");
	if (is(v, "git")) {
		p->args.i = 2;
		p->last = v->nwords;
		p->known = shell_git_reads(v);
	} else if (is(v, "find")) {
		p->args.i = shell_find_start(v, &n);
		p->last = p->args.i + n;
		p->known = shell_find_reads(v);
	} else {
		survey(p);
		p->given = p->fact->operands == OPERANDS_PATTERN && pattern_given(v);
		p->writes = is(v, "sed") && (!shell_sed_harmless(v, &in_place) || in_place);
		p->args = (struct shell_args){ .v = v, .fact = p->fact };
	}
}

static bool is_path(const struct shell_paths *p, const struct shell_word *w, enum shell_path_use *use)
{
	*use = PATH_USE_READ;
	switch (p->fact->operands) {
	case OPERANDS_OTHER:
		return w->glob && !is(p->view, "[[");
	case OPERANDS_READ:
		/* uniq and xxd write what stands behind the first */
		if (p->fact->most == 1 && p->args.i != p->first)
			*use = PATH_USE_WRITE;
		break;
	case OPERANDS_PATTERN:
		*use = p->writes ? PATH_USE_WRITE : PATH_USE_READ;
		return p->given || p->args.i != p->first;
	case OPERANDS_WRITE:
		*use = PATH_USE_WRITE;
		break;
	case OPERANDS_COPY:
		*use = p->args.i == p->last ? PATH_USE_WRITE : PATH_USE_READ;
		break;
	}
	return true;
}

/* git and find have no operands as others have them: a word of theirs that is no option may be a path. */
static bool plain_word(struct shell_paths *p, const struct shell_word **word)
{
	while (p->args.i < p->last) {
		*word = &p->view->word[p->args.i++];
		if ((*word)->text[0] != '-')
			return true;
	}
	return false;
}

bool shell_paths_next(struct shell_paths *p, const struct shell_word **word, enum shell_path_use *use)
{
	*use = PATH_USE_READ;
	if (!p->fact)
		return false;
	if (p->plain)
		return plain_word(p, word);
	for (enum shell_arg kind; (kind = shell_args_next(&p->args, word)) != ARG_END;) {
		if (kind == ARG_FILE)
			*use = PATH_USE_READ;
		if (kind == ARG_FILE || (kind == ARG_OPERAND && is_path(p, *word, use)))
			return true;
	}
	return false;
}
