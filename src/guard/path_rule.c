#include "guard/path_rule.h"

#include <stdlib.h>
#include <string.h>

#include "guard/path_names.h"

#define SEGMENTS_MAX (PATH_TEXT_MAX + 8)

/* ---- what is written ---- */

enum anchor { AT_ROOT, AT_HOME, AT_WORKSPACE, AT_ANY_DEPTH };

/* Where a pattern starts, and the part of it from there. */
static enum anchor anchor_of(const char *pattern, bool wide, const char **rest)
{
	const char *p = pattern;
	enum anchor at = AT_WORKSPACE;

	if (p[0] == '/' && p[1] == '/') {
		at = AT_ROOT;
		p += 1;
	} else if (p[0] == '~' && (p[1] == '/' || p[1] == '\0')) {
		at = AT_HOME;
		p += 1;
	} else if (p[0] != '/' && strncmp(p, "./", 2) != 0 && strcmp(p, ".") != 0) {
		size_t n = strcspn(p, "/");
		bool bare = p[n] == '\0' || p[n + strspn(p + n, "/")] == '\0';
		bool dir = strcmp(p + n, "/**") == 0 && strncmp(p, "**", 2) != 0;
		bool special = n <= 2 && strspn(p, ".") >= n;
		if ((bare || (dir && wide)) && !special)
			at = AT_ANY_DEPTH;
	}
	*rest = p;
	return at;
}

static bool has_wildcard(const char *s, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strchr("*?[\\", s[i]))
			return true;
	return false;
}

const char *path_rule_fault(const char *pattern)
{
	if (pattern[0] == '!')
		return "a path rule cannot be turned round with '!'; write the opposite rule (\\! is the character)";
	if (pattern[0] == '~' && pattern[1] != '/' && pattern[1] != '\0')
		return "only ~/ is known, not another user's home; write //its/directory/...";
	if (pattern[0] == '\0')
		return "the path is empty";
	for (const char *p = pattern; *p;) {
		size_t n = strcspn(p, "/");
		const char *next = p + n + strspn(p + n, "/");
		if (has_wildcard(p, n) && strncmp(next, "..", 2) == 0 && (next[2] == '/' || next[2] == '\0'))
			return "'..' behind a wildcard leads nowhere certain; write the path without it";
		p = next;
	}
	return NULL;
}

/* ---- patterns ---- */

/* "[...]" at s: its length, 0 if it is not closed. */
static size_t bracket(const char *s, size_t n)
{
	size_t i = 1;

	if (i < n && (s[i] == '!' || s[i] == '^'))
		i++;
	if (i < n && s[i] == ']')
		i++;
	while (i < n && s[i] != ']')
		i += s[i] == '\\' && i + 1 < n ? 2 : 1;
	return i < n ? i + 1 : 0;
}

/* The set that "[...]" of n bytes stands for; it never holds '/'. */
static void take_set(struct glob_set *set, const char *s, size_t n)
{
	size_t i = 1;
	bool turned = s[i] == '!' || s[i] == '^';

	memset(set, 0, sizeof *set);
	i += turned;
	while (i < n - 1) {
		i += s[i] == '\\' && i + 1 < n - 1;
		unsigned from = (unsigned char)s[i++], to = from;
		if (s[i] == '-' && i + 1 < n - 1) {
			i++;
			i += s[i] == '\\' && i + 1 < n - 1;
			to = (unsigned char)s[i++];
		}
		for (unsigned c = from; c <= to; c++)
			set->bits[c / 8] |= (uint8_t)(1u << (c % 8));
	}
	for (size_t k = 0; turned && k < sizeof set->bits; k++)
		set->bits[k] = (uint8_t)~set->bits[k];
	set->bits['/' / 8] &= (uint8_t) ~(1u << ('/' % 8));
	set->bits[0] &= (uint8_t)~1u;
}

static int add_segment(struct path_pattern *out, const char *s, size_t n, struct arena *arena)
{
	glob_sym *g = arena_alloc(arena, (n + 1) * sizeof *g);
	struct glob_set *sets = arena_alloc(arena, (n + 1) * sizeof *sets);
	size_t k = 0, nsets = 0, len;

	if (!g || !sets)
		return -1;
	struct path_segment *seg = &out->v[out->n++];
	seg->deep = n >= 2 && strspn(s, "*") >= n;
	for (size_t i = 0; i < n && !seg->deep; i++) {
		if (s[i] == '\\' && i + 1 < n) {
			g[k++] = (unsigned char)s[++i];
		} else if (s[i] == '*') {
			if (k == 0 || g[k - 1] != GLOB_ANY)
				g[k++] = GLOB_ANY;
		} else if (s[i] == '?') {
			g[k++] = GLOB_ONE;
		} else if (s[i] == '[' && (len = bracket(s + i, n - i)) > 0) {
			take_set(&sets[nsets], s + i, len);
			g[k++] = (glob_sym)(GLOB_SET + nsets++);
			i += len - 1;
		} else {
			g[k++] = (unsigned char)s[i];
		}
	}
	seg->glob = (struct glob){ g, k, sets };
	return 0;
}

/* A directory's segments taken literally. */
static int add_literal(struct path_pattern *out, const char *dir, struct arena *arena)
{
	while (*dir) {
		size_t n = strcspn(dir, "/");
		if (n > 0) {
			glob_sym *g = arena_alloc(arena, n * sizeof *g);
			if (!g)
				return -1;
			for (size_t i = 0; i < n; i++)
				g[i] = (unsigned char)dir[i];
			out->v[out->n++] = (struct path_segment){ { g, n, NULL }, false };
		}
		dir += n;
		dir += *dir == '/';
	}
	return 0;
}

static size_t count_parts(const char *s)
{
	size_t n = 1;

	for (; *s; s++)
		n += *s == '/';
	return n;
}

/* base and the pattern behind it. What ends in "/" or in "**" means what lies inside. */
static int build(struct path_pattern *out, const char *base, bool any_depth, const char *rest, bool *inside,
                 struct arena *arena)
{
	out->n = 0;
	out->v = arena_alloc(arena, (count_parts(base) + count_parts(rest) + 1) * sizeof *out->v);
	if (!out->v || add_literal(out, base, arena) < 0)
		return -1;
	if (any_depth)
		out->v[out->n++].deep = true;
	*inside = *rest == '\0' || rest[strlen(rest) - 1] == '/';
	while (*rest) {
		size_t n = strcspn(rest, "/");
		if (n == 2 && memcmp(rest, "..", 2) == 0)
			out->n -= out->n > 0;
		else if (n > 0 && !(n == 1 && *rest == '.') && add_segment(out, rest, n, arena) < 0)
			return -1;
		rest += n;
		rest += *rest == '/';
	}
	while (out->n > 0 && out->v[out->n - 1].deep) {
		out->n--;
		*inside = true;
	}
	return 0;
}

/* The length of the leading part of an absolute pattern that is a literal directory. */
static size_t literal_dir(const char *pattern)
{
	size_t end = 0;

	for (;;) {
		size_t from = end + strspn(pattern + end, "/");
		size_t n = strcspn(pattern + from, "/");
		if (n == 0 || pattern[from + n] == '\0' || has_wildcard(pattern + from, n))
			return end;
		end = from + n;
	}
}

/* What a directory outside of the workspace really is: what stands in the way is the user's, not the repository's. In
 * the working directories a link must not widen a rule, there only their own names are alike. NULL: no memory. */
static char *other_name(const char *dir, const struct path_anchor *at, struct arena *arena)
{
	char clean[PATH_TEXT_MAX], other[2 * PATH_TEXT_MAX];

	if (path_clean(dir, clean) < 0)
		return arena_strdup(arena, dir);
	for (size_t i = 0; at->dirs[i]; i++) {
		const char *name = at->spelled && at->spelled[i] ? at->spelled[i] : at->dirs[i];
		char spelled[PATH_TEXT_MAX];
		if (path_is_in(clean, at->dirs[i]))
			return arena_strdup(arena, clean);
		if (path_clean(name, spelled) < 0 || !path_is_in(clean, spelled))
			continue;
		struct buf b = BUF_INIT(sizeof other);
		buf_addf(&b, "%s%s", at->dirs[i], clean + (strcmp(spelled, "/") ? strlen(spelled) : 0));
		char *kept = arena_strdup(arena, buf_str(&b));
		buf_release(&b);
		return kept;
	}
	struct path_names names;
	path_names_resolve(&names, "/", clean);
	char *kept = arena_strdup(arena, names.fault || names.n == 0 ? clean : names.name[names.n - 1]);
	path_names_release(&names);
	return kept;
}

/* "//x", "~/x": also by what the literal part of it resolves to. */
static int compile_absolute(struct path_rule *r, const char *base, const char *rest, const struct path_anchor *at,
                            struct arena *arena)
{
	struct buf whole = BUF_INIT(4 * PATH_TEXT_MAX);
	int rc = -1;

	buf_addf(&whole, "%s%s", base, rest);
	size_t n = literal_dir(buf_str(&whole));
	char *written = arena_strndup(arena, buf_str(&whole), n), dir[PATH_TEXT_MAX];
	if (!written || path_clean(written, dir) < 0)
		written = NULL;
	char *other = written ? other_name(dir, at, arena) : NULL;
	char *tail = arena_strdup(arena, buf_str(&whole) + n);
	if (!whole.failed && other && tail && build(&r->way[0], dir, false, tail, &r->inside, arena) == 0 &&
	    build(&r->way[1], other, false, tail, &r->inside, arena) == 0)
		rc = 0;
	r->nways = 2;
	buf_release(&whole);
	return rc;
}

int path_rule_compile(struct path_rule *r, const char *pattern, bool wide, const struct path_anchor *at,
                      struct arena *arena, struct error *e)
{
	const char *rest;
	enum anchor where = anchor_of(pattern, wide, &rest);
	int rc;

	memset(r, 0, sizeof *r);
	if (where == AT_HOME && !at->home)
		return error_set(e, ERR_INPUT, "the path rule '%.200s' needs the home directory: HOME is not set",
		                 pattern);
	if (where == AT_ROOT || where == AT_HOME) {
		rc = compile_absolute(r, where == AT_HOME ? at->home : "", rest, at, arena);
	} else {
		rc = build(&r->way[0], at->dirs[0], where == AT_ANY_DEPTH, rest, &r->inside, arena);
		r->nways = 1;
	}
	return rc < 0 ? error_nomem(e) : 0;
}

/* ---- matching: a set of places in the pattern, moved on by one segment of the path after the other ---- */

/* A place before "**" is also the place behind it. */
static void close_over(const struct path_pattern *p, bool *at)
{
	for (size_t i = 0; i < p->n; i++)
		if (at[i] && p->v[i].deep)
			at[i + 1] = true;
}

/* Does the segment fit the pattern's, for certain if it is known, else perhaps? */
static bool segment_fits(struct glob pattern, struct glob seg, bool dotted)
{
	if (!glob_is_open(seg))
		return glob_covers(pattern, seg);
	if (!dotted && seg.s[0] >= GLOB_ANY && pattern.n > 0 && pattern.s[0] == '.')
		return false; /* the shell's wildcards do not fit a leading dot */
	return glob_meets(pattern, seg) != 0;
}

static void move_on(const struct path_pattern *p, bool *at, struct glob seg, bool deep, bool dotted)
{
	bool passed = false;

	for (size_t i = p->n + 1; !deep && i-- > 0;) {
		bool stays = i < p->n && at[i] && p->v[i].deep;
		at[i] = stays ||
		        (i > 0 && at[i - 1] && !p->v[i - 1].deep && segment_fits(p->v[i - 1].glob, seg, dotted));
	}
	for (size_t i = 0; deep && i <= p->n; i++)
		at[i] = passed = passed || at[i];
	close_over(p, at);
}

static void try_way(const struct path_pattern *p, bool inside, struct glob path, bool self, bool dotted,
                    struct path_hit *hit)
{
	bool at[SEGMENTS_MAX];
	size_t i = 0;

	if (p->n >= SEGMENTS_MAX)
		return;
	memset(at, 0, (p->n + 1) * sizeof *at);
	at[0] = true;
	close_over(p, at);
	for (;;) {
		while (i < path.n && path.s[i] == '/')
			i++;
		bool end = i >= path.n;
		if (at[p->n] && (!inside || !end || self))
			hit->covered = true;
		if (end)
			break;
		size_t n = 0;
		while (i + n < path.n && path.s[i + n] != '/')
			n++;
		struct glob seg = { path.s + i, n, path.sets };
		bool deep = n == 2 && seg.s[0] == GLOB_ANY && seg.s[1] == GLOB_ANY;
		move_on(p, at, seg, deep, dotted);
		i += n;
	}
	for (size_t k = 0; k <= p->n; k++)
		hit->below = hit->below || at[k];
}

struct path_hit path_rule_try(const struct path_rule *r, struct glob path, bool self, bool dotted)
{
	struct path_hit hit = { false, false };

	for (size_t i = 0; i < r->nways; i++)
		try_way(&r->way[i], r->inside, path, self, dotted, &hit);
	return hit;
}

struct path_hit path_rule_try_text(const struct path_rule *r, const char *path, bool self)
{
	glob_sym s[PATH_TEXT_MAX];
	size_t n = strlen(path);

	if (n > PATH_TEXT_MAX)
		return (struct path_hit){ false, false };
	for (size_t i = 0; i < n; i++)
		s[i] = (unsigned char)path[i];
	return path_rule_try(r, (struct glob){ s, n, NULL }, self, true);
}

bool path_rule_glob(const char *pattern, bool wide, struct buf *out, bool *anywhere)
{
	const char *rest;
	enum anchor where = anchor_of(pattern, wide, &rest);

	if (where == AT_ROOT || where == AT_HOME || strpbrk(rest, "[]{}\\!") || strstr(rest, ".."))
		return false;
	if (strncmp(rest, "./", 2) == 0)
		rest += 2;
	rest += strspn(rest, "/");
	*anywhere = where == AT_ANY_DEPTH;
	if (*rest == '\0' || strcmp(rest, ".") == 0 || strstr(rest, "./"))
		return false;
	buf_addf(out, "%s%s", *anywhere ? "**/" : "/", rest);
	return !out->failed;
}

void path_rule_describe(const char *pattern, bool wide, const char *workspace, const char *home, struct buf *out)
{
	const char *rest;
	enum anchor where = anchor_of(pattern, wide, &rest);
	size_t n = strlen(rest);
	bool inside = n > 0 && rest[n - 1] == '/';
	bool all = n >= 2 && strcmp(rest + n - 2, "**") == 0 && (n == 2 || rest[n - 3] == '/');

	while (strncmp(rest, "./", 2) == 0) {
		rest += 2;
		rest += strspn(rest, "/");
	}
	n = strlen(rest);
	n -= all ? 2 : inside;
	while (n > 0 && rest[n - 1] == '/')
		n--;
	if (inside || all)
		buf_adds(out, "all beneath ");
	if (where == AT_ANY_DEPTH)
		buf_addf(out, "%.*s at any depth in %s", (int)n, rest, workspace);
	else
		buf_addf(out, "%s%s%.*s",
		         where == AT_ROOT   ? ""
		         : where == AT_HOME ? home ? home : "~"
		                            : workspace,
		         n && rest[0] != '/' ? "/" : "", (int)n, rest);
	if (!inside && !all)
		buf_adds(out, ", and what lies beneath it");
}
