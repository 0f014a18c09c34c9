/* Removals that no rule may let go. */
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "guard/shell_args.h"

#define ALTERNATIVES_MAX 64 /* of the braces in one word */
#define PATH_BYTES_MAX   ((size_t)8 * SHELL_COMMAND_MAX)

/* What a removal is judged by. */
struct removal {
	const struct shell_command *c;
	const char *cwd, *home;
	const char *const *dirs;
	bool recursive;
	int alternatives;
};

/* ---- protected places ---- */

/* Nothing but signs of a pattern: it takes all that is there. What !(x) and its like take is not told. */
static bool takes_all(const char *name)
{
	return strchr(name, '(') || (name[strcspn(name, "*?[")] && !name[strspn(name, "*?[].!^")]);
}

static bool same(const char *pattern, bool glob, const char *path)
{
	return glob ? !fnmatch(pattern, path, FNM_PATHNAME | FNM_EXTMATCH) : !strcmp(pattern, path);
}

/* Is the pattern (absolute, without . and ..) the place or one above it, or all that is in one of these? */
static bool covers(char *pattern, bool glob, const char *place)
{
	char *last = strrchr(pattern, '/');
	bool all = glob && takes_all(last + 1), hit = false;
	char *above = place[0] == '/' ? strdup(place) : NULL;

	if (!above)
		return true; /* not to be told */
	for (char *end = above + strlen(above); end > above + 1 && end[-1] == '/';)
		*--end = '\0';
	while (*above && !hit) {
		hit = same(pattern, glob, above);
		if (all && !hit && last > pattern) {
			*last = '\0';
			hit = same(pattern, glob, above);
			*last = '/';
		}
		*strrchr(above, '/') = '\0';
	}
	free(above);
	return hit;
}

static bool is_protected(const struct removal *r, char *path, bool glob)
{
	size_t slashes = 0;

	for (const char *p = path; *p; p++)
		slashes += *p == '/';
	if (slashes < 2)
		return true; /* / or right under it */
	if (covers(path, glob, r->cwd) || (r->home && r->home[0] == '/' && covers(path, glob, r->home)))
		return true;
	for (size_t i = 0; r->dirs && r->dirs[i]; i++)
		if (covers(path, glob, r->dirs[i]))
			return true;
	return false;
}

/* ---- one path ---- */

/* Appends the parts of text to an absolute path without . and .. */
static void append(struct buf *b, const char *text)
{
	for (size_t n; *text; text += n) {
		text += strspn(text, "/");
		n = strcspn(text, "/");
		if (!n || (n == 1 && text[0] == '.'))
			continue;
		if (n == 2 && !memcmp(text, "..", 2)) {
			const char *slash = b->len ? strrchr(b->data, '/') : NULL;
			buf_cut(b, slash ? (size_t)(slash - b->data) : 0);
			continue;
		}
		buf_addc(b, '/');
		buf_add(b, text, n);
	}
}

/* Starts b with a base, which may begin with ~. False: it is not known. */
static bool start(const struct removal *r, struct buf *b, const char *base)
{
	if (base[0] == '~') {
		if (!r->home || (base[1] && base[1] != '/'))
			return false;
		append(b, r->home);
		base++;
	} else if (base[0] != '/') {
		append(b, r->cwd);
	}
	append(b, base);
	return true;
}

/* base: "" the start directory, or what a cd led to. */
static bool judge_path(const struct removal *r, const char *base, const char *path, bool tilde, bool glob)
{
	struct buf b = BUF_INIT(PATH_BYTES_MAX);
	bool critical = r->recursive; /* if it is not known */

	if (path[0] == '/' || tilde ? start(r, &b, path) : start(r, &b, base)) {
		if (path[0] != '/' && !tilde)
			append(&b, path);
		if (!b.len)
			buf_addc(&b, '/');
		critical = b.failed || is_protected(r, b.data, glob);
	}
	buf_release(&b);
	return critical;
}

static bool judge_known(const struct removal *r, const char *path, bool tilde, bool glob)
{
	bool relative = path[0] != '/' && !tilde;

	if (judge_path(r, "./", path, tilde, glob))
		return true;
	if (!relative || !r->c->after_cd)
		return false;
	return r->c->cd ? judge_path(r, r->c->cd, path, false, glob) : r->recursive;
}

/* ---- expansions ---- */

/* Behind an expansion that begins at p. */
static const char *skip_expansion(const char *p)
{
	char open = p[0] == '$' ? p[1] : p[0] == '`' ? '`' : p[1], close = open == '{' ? '}' : ')';
	int depth = 0;

	if (open == '`')
		return strchr(p + 1, '`') ? strchr(p + 1, '`') + 1 : p + strlen(p);
	if (open != '{' && open != '(') {
		size_t n = strspn(p + 1, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
		return p + 1 + (n ? n : p[1] != '\0');
	}
	for (p++; *p; p++) {
		depth += *p == open ? 1 : *p == close ? -1 : 0;
		if (!depth)
			return p + 1;
	}
	return p;
}

/* The value of $HOME or $PWD at p, however it is spelled; *end is behind it. */
static const char *known_value(const struct removal *r, const char *p, const char **end)
{
	const struct {
		const char *text, *value;
	} names[] = {
		{ "$HOME", r->home },
		{ "${HOME}", r->home },
		{ "$PWD", r->c->after_cd ? NULL : r->cwd },
		{ "${PWD}", r->c->after_cd ? NULL : r->cwd },
	};

	*end = skip_expansion(p);
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (strlen(names[i].text) == (size_t)(*end - p) && !memcmp(names[i].text, p, strlen(names[i].text)))
			return names[i].value;
	return NULL;
}

/* Braces are expanded before a ~ is. */
static bool is_tilde(const struct shell_word *w, const char *text)
{
	return text[0] == '~' && (w->tilde || w->glob);
}

static bool is_expansion(const char *p)
{
	return *p == '$' || *p == '`' || ((*p == '<' || *p == '>') && p[1] == '(');
}

/* A word with expansions: those that are known have their values, the others are taken to be empty. One at the
 * beginning that is not known may be any path. */
static bool judge_expanding(const struct removal *r, const struct shell_word *w, const char *text)
{
	struct buf b = BUF_INIT(PATH_BYTES_MAX);
	bool open = false, pattern = w->glob && strpbrk(text, "*?[(");
	bool critical = false;

	for (const char *p = text; *p;) {
		const char *end = p + 1;
		if (is_expansion(p)) {
			const char *value = known_value(r, p, &end);
			buf_adds(&b, value ? value : "");
			open |= !value && !b.len;
			if (!value && strstr(end, ".."))
				critical |= r->recursive;
		} else {
			buf_addc(&b, *p);
		}
		p = end;
	}
	if (open)
		critical |= r->recursive || pattern;
	critical |= b.failed || (b.len && judge_known(r, b.data, is_tilde(w, text), w->glob));
	buf_release(&b);
	return critical;
}

static bool judge_text(const struct removal *r, const struct shell_word *w, const char *text)
{
	if (!*text)
		return false;
	return w->expands ? judge_expanding(r, w, text) : judge_known(r, text, is_tilde(w, text), w->glob);
}

/* ---- braces ---- */

/* The } of the { at p, or NULL. */
static const char *brace_end(const char *p, bool *list)
{
	int depth = 0;

	*list = false;
	for (; *p; p++) {
		depth += *p == '{' ? 1 : *p == '}' ? -1 : 0;
		*list |= depth == 1 && *p == ',';
		if (!depth)
			return p;
	}
	return NULL;
}

static bool judge_word(struct removal *r, const struct shell_word *w, const char *text, int depth);

/* One text for each alternative of the first braces; true also if there are too many. */
static bool judge_braces(struct removal *r, const struct shell_word *w, const char *text, const char *open,
                         const char *close, int depth)
{
	const char *from = open + 1;
	int level = 0;

	for (const char *p = from; p <= close; p++) {
		level += *p == '{' ? 1 : *p == '}' && p < close ? -1 : 0;
		if (p < close && (*p != ',' || level))
			continue;
		struct buf b = BUF_INIT(PATH_BYTES_MAX);
		buf_add(&b, text, (size_t)(open - text));
		buf_add(&b, from, (size_t)(p - from));
		buf_adds(&b, close + 1);
		bool critical = b.failed || ++r->alternatives > ALTERNATIVES_MAX ||
		                judge_word(r, w, buf_str(&b), depth + 1);
		buf_release(&b);
		if (critical)
			return true;
		from = p + 1;
	}
	return false;
}

static bool judge_word(struct removal *r, const struct shell_word *w, const char *text, int depth)
{
	bool list;

	for (const char *p = text; w->glob && (p = strchr(p, '{')) != NULL; p++) {
		const char *close = p > text && p[-1] == '$' ? NULL : brace_end(p, &list);
		if (close && list)
			return depth > ALTERNATIVES_MAX || judge_braces(r, w, text, p, close, depth);
	}
	return judge_text(r, w, text);
}

/* ---- commands ---- */

static bool is_recursive(const struct shell_view *v)
{
	for (size_t i = 1; i < v->nwords && strcmp(v->word[i].text, "--") != 0; i++) {
		const char *t = v->word[i].text;
		if (v->word[i].splits || (v->word[i].glob && strchr("*?[{", t[0])))
			return true;
		if (t[0] == '-' && (t[1] == '-' ? !strncmp(t, "--r", 3) : strpbrk(t, "rR") != NULL))
			return true;
	}
	return false;
}

static bool removal_is_critical(struct removal *r, const struct shell_view *v)
{
	bool options = true;

	if (v->more && r->recursive)
		return true;
	for (size_t i = 1; i < v->nwords; i++) {
		const struct shell_word *w = &v->word[i];
		if (options && w->text[0] == '-') {
			options = strcmp(w->text, "--") != 0;
			continue;
		}
		r->alternatives = 0;
		if (judge_word(r, w, w->text, 0))
			return true;
	}
	return false;
}

/* A find that removes all it comes by, from the places where it starts. */
static bool find_is_critical(struct removal *r, const struct shell_view *v, bool removes)
{
	static const char *const narrow[] = { "-name",  "-iname", "-path", "-ipath", "-wholename", "-regex", "-iregex",
		                              "-newer", "-mtime", "-mmin", "-size",  "-empty",     "-user",  "-lname" };
	size_t n, first = shell_find_start(v, &n);

	for (size_t i = first + n; i < v->nwords; i++) {
		removes |= !strcmp(v->word[i].text, "-delete");
		for (size_t k = 0; k < sizeof narrow / sizeof *narrow; k++)
			if (!strcmp(v->word[i].text, narrow[k]))
				return false;
	}
	if (removes && !n)
		return true; /* from the directory where it runs */
	r->recursive = true;
	for (size_t i = first; removes && i < first + n; i++) {
		r->alternatives = 0;
		if (judge_word(r, &v->word[i], v->word[i].text, 0))
			return true;
	}
	return false;
}

bool shell_is_critical(const struct shell_command *c, const char *cwd, const char *const *dirs, const char *home)
{
	struct removal r = { .c = c, .cwd = cwd, .home = home, .dirs = dirs };
	struct shell_view v, find = { .nwords = 0 };
	size_t at = 0;

	while (shell_view_next(c, SHELL_FOR_DENY, &at, &v)) {
		if (!v.nwords || !v.word[0].literal || v.shortened)
			continue;
		const char *name = shell_base_name(v.word[0].text);
		bool removes = !strcmp(name, "rm") || !strcmp(name, "rmdir");
		if (!strcmp(name, "find")) {
			find = v;
			if (find_is_critical(&r, &v, false))
				return true;
		}
		if (!removes)
			continue;
		r.recursive = is_recursive(&v);
		if (removal_is_critical(&r, &v) || (find.nwords && find_is_critical(&r, &find, true)))
			return true;
	}
	return false;
}
