/* Bash: the files that words name, against the rules of deny and ask. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "guard/permit_shell.h"

#define LOOKS_MAX 1000 /* paths of one call that are looked up: a hostile command has thousands */

bool paths_look(struct judging *j, struct finding *f)
{
	if (j->looked++ < LOOKS_MAX)
		return true;
	finding_worsen(f, PERMIT_ASK, "command", NULL,
	               "it may name more than 1,000 files, too many to be judged; use several calls");
	return false;
}

static bool is_home_path(const struct shell_word *w)
{
	return w->tilde && (w->text[1] == '/' || w->text[1] == '\0');
}

static bool tilde_is_known(const struct judging *j, const struct shell_word *w)
{
	return !w->tilde || (is_home_path(w) && !j->at.homeless);
}

bool word_is_known(const struct judging *j, const struct shell_word *w)
{
	return !w->expands && !w->glob && tilde_is_known(j, w);
}

bool word_is_relative(const char *text)
{
	return text[0] != '/' && text[0] != '~';
}

static const char *const own[] = { "/cwd", "/root", "/fd/", "/map_files", NULL };

static bool holds_own(const char *text)
{
	for (size_t i = 0; own[i]; i++)
		if (strstr(text, own[i]))
			return true;
	return false;
}

bool target_is_own(const struct target *t)
{
	for (size_t i = 0; i < t->names.n; i++)
		if (strncmp(t->names.name[i], "/proc/", 6) == 0 && holds_own(t->names.name[i]))
			return true;
	return false;
}

/* Before ".." is taken out of it. */
static bool text_is_own(const char *text)
{
	const char *proc = strstr(text, "proc/");

	return proc && holds_own(proc);
}

static void forbid_text(struct judging *j, enum path_use use, const char *base, const char *text, bool tilde,
                        bool below)
{
	struct target t;

	if (!paths_look(j, j->f))
		return;
	if (target_resolve(&t, j->p, base, text, tilde) < 0)
		finding_worsen(j->f, PERMIT_DENY, "path", NULL, "out of memory");
	else if (t.names.fault)
		finding_worsen(j->f, PERMIT_ASK, "path", NULL, "'%.200s': %s", text, t.names.fault);
	else
		path_forbidden(j->p, use, &t, below, j->f);
	if (!t.names.fault && (target_is_own(&t) || text_is_own(text)))
		finding_worsen(j->f, PERMIT_ASK, "path", NULL,
		               "where '%.200s' leads is not known before it runs; write the path out", text);
	target_release(&t);
}

/* What a wildcard stands for now, where a link is on the way. */
struct matches {
	struct judging *j;
	enum path_use use;
	bool below;
};

static void forbid_match(void *arg, const char *path)
{
	struct matches *m = arg;

	forbid_text(m->j, m->use, "/", path, false, m->below);
}

/* A path with wildcards as symbols. */
static void forbid_pattern(struct judging *j, enum path_use use, const char *base, const struct shell_word *w,
                           bool below)
{
	struct matches m = { j, use, below };
	struct line l = { 0 };
	const char *text = w->text;

	if (is_home_path(w)) {
		base = j->p->at.home ? j->p->at.home : "";
		text++;
	}
	for (const char *s = word_is_relative(w->text) || text != w->text ? base : ""; *s; s++)
		line_add(&l, (unsigned char)*s);
	line_add(&l, '/');
	for (const char *s = text; *s; s++) {
		bool brace = *s == '{' || *s == '[';
		if (*s == '*')
			line_add(&l, GLOB_ANY);
		else if (*s == '?')
			line_add(&l, GLOB_ONE);
		else if (brace) /* what is in it may be anything, with slashes too: a{b/c,d} */
			break;
		else
			line_add(&l, (unsigned char)*s);
	}
	bool brace = strpbrk(text, "{[") != NULL;
	if (brace) {
		line_add(&l, GLOB_ANY);
		line_add(&l, '/');
		line_add(&l, GLOB_ANY);
		line_add(&l, GLOB_ANY);
	}
	if (l.failed)
		finding_worsen(j->f, PERMIT_DENY, "command", NULL, "out of memory");
	else
		pattern_forbidden(j->p, use, (struct glob){ l.s, l.n, NULL }, j->at.dotted || brace, below || brace,
		                  w->text, j->f);
	line_release(&l);
	if (!j->in_git && path_links(base, text, j->at.dotted, &j->entries, forbid_match, &m) < 0)
		finding_worsen(j->f, PERMIT_ASK, "path", NULL,
		               "'%.200s' stands for too many files to be judged; write the paths out", w->text);
}

/* A word that names a file, against deny and ask rules. certain: the command is known to take it for a path. */
static void forbid_word(struct judging *j, const struct shell_command *c, enum path_use use, const struct shell_word *w,
                        bool certain, bool below)
{
	const struct rule *r = path_rule_any(j->p, use);
	bool follows = c->after_cd && word_is_relative(w->text);

	if (!r || w->pipe)
		return;
	if (w->expands || !tilde_is_known(j, w) || (follows && j->at.lost)) {
		if (certain)
			finding_worsen(
			        j->f, PERMIT_ASK, "rule", r,
			        "the path '%.100s' is not known before it runs, and there is the %s rule %.200s; "
			        "write the path out, from the workspace on",
			        w->text, rule_effect_name(r->effect), r->text);
		return;
	}
	const char *bases[] = { j->at.start, follows ? j->at.after : NULL };
	for (size_t i = 0; i < 2 && bases[i]; i++) {
		if (w->glob)
			forbid_pattern(j, use, bases[i], w, below);
		else
			forbid_text(j, use, bases[i], w->text, w->tilde, below);
	}
}

static bool is_one_of(const char *command, const char *const *names)
{
	for (; *names; names++)
		if (strcmp(*names, command) == 0)
			return true;
	return false;
}

/* Does it read what lies beneath the directories that it is given? */
static bool reads_below(const struct shell_view *v, const char *command)
{
	static const char *const always[] = { "rg", "ag", "ack", "tar", "zip", "rsync", "7z", "mv", "shred", NULL };
	static const char *const by_option[] = { "grep", "egrep", "fgrep", "zgrep", "cp",    "diff",
		                                 "scp",  "rm",    "chmod", "chown", "chgrp", NULL };

	if (is_one_of(command, always))
		return true;
	for (size_t i = 1; is_one_of(command, by_option) && i < v->nwords; i++) {
		const char *w = v->word[i].text;
		bool word = strstr(w, "recursive") || strcmp(w, "--archive") == 0 ||
		            strcmp(w, "--directories=recurse") == 0 || v->word[i].expands;
		if (w[0] == '-' && (word || (w[1] != '-' && strpbrk(w, "rRad"))))
			return true;
	}
	return false;
}

/* A search without a path reads the directory it stands in. */
static bool searches_here(const char *command)
{
	static const char *const names[] = { "rg", "ag", "ack", "grep", "egrep", "fgrep", NULL };

	return is_one_of(command, names);
}

/* These do nothing to the files whose names they are given. */
static bool names_only(const char *command)
{
	static const char *const names[] = { "echo",     "printf",   "ls", "stat", "basename", "dirname",
		                             "realpath", "readlink", "du", "test", NULL };

	return is_one_of(command, names);
}

/* Does xargs or find put words in that the text does not show? */
static bool has_unseen(const struct shell_view *v)
{
	for (size_t i = 1; i < v->nwords; i++)
		if (strstr(v->word[i].text, "{}") || strncmp(v->word[i].text, "--files0-from", 13) == 0)
			return true;
	return v->more;
}

/* A part of a word, if there is one: as it is, and in double use. */
static void forbid_part(struct judging *j, const struct shell_command *c, const char *text, bool glob, bool below)
{
	const struct shell_word part = { .text = text, .glob = glob, .tilde = text[0] == '~' };

	if (!*text)
		return;
	forbid_word(j, c, USE_READ, &part, false, below);
	forbid_word(j, c, USE_EDIT, &part, false, false);
}

/* Any word may be a path: what it spells literally is looked at, also behind the '=' of an option, a letter of one
 * (-ofile), an @ (curl -d @file) and file://. */
static void forbid_loose_word(struct judging *j, const struct shell_command *c, const struct shell_word *w, bool below)
{
	const char *text = w->text, *eq = strchr(text, '='), *at = strchr(text, '@');

	if (w->expands)
		return;
	if (text[0] != '-') {
		forbid_word(j, c, USE_READ, w, false, below);
		forbid_word(j, c, USE_EDIT, w, false, false);
	} else if (text[1] && text[1] != '-' && text[2]) {
		forbid_part(j, c, text + 2, w->glob, false);
	}
	if (eq)
		forbid_part(j, c, eq + 1, w->glob, false);
	if (at && (at == text || at[-1] == '=' || text[0] == '-'))
		forbid_part(j, c, at + 1, w->glob, false);
	if (strncmp(text, "file://", 7) == 0)
		forbid_part(j, c, text + 7, w->glob, false);
}

/* ---- git ---- */

/* The repository that git finds from a directory, or the directory. Owned; NULL: no memory. */
static char *repository(const char *start)
{
	char *dir = strdup(start), *slash;
	struct stat st;
	struct buf b = BUF_INIT(2 * PATH_TEXT_MAX);
	bool found = false;

	for (size_t n = dir ? strlen(dir) : 0; n > 0 && !found; n = slash ? (size_t)(slash - dir) : 0) {
		buf_cut(&b, 0);
		buf_add(&b, dir, n);
		buf_adds(&b, "/.git");
		found = !b.failed && lstat(b.data, &st) == 0;
		if (found)
			dir[n] = '\0';
		else
			slash = memrchr(dir, '/', n);
		if (found)
			break;
	}
	buf_release(&b);
	if (dir && !found) {
		free(dir);
		dir = strdup(start);
	}
	return dir;
}

/* A path in a repository, as it stands in a word: from where git stands, or from the repository's root. */
static void forbid_in_git(struct judging *j, const struct shell_command *c, const char *path, bool from_root)
{
	const struct shell_word word = { .text = path, .glob = strpbrk(path, "*?[") != NULL };
	struct places was = j->at;
	bool dotted = j->at.dotted;

	if (!*path)
		return;
	char *root = from_root ? repository(j->at.start) : NULL;
	struct shell_command here = *c;
	if (root) {
		j->at.start = root;
		here.after_cd = false;
	}
	j->at.dotted = true;
	j->in_git = word.glob;
	forbid_word(j, &here, USE_READ, &word, false, false);
	j->in_git = false;
	j->at = was;
	j->at.dotted = dotted;
	free(root);
}

/* `HEAD:file`, `:0:file`, `:/file`, `:(glob)*.x`, `-L1,5:file`, and quoted wildcards. What is left out is no matter. */
static void forbid_git_word(struct judging *j, const struct shell_command *c, const char *text)
{
	if (text[0] == ':' && text[1] == '(') {
		const char *end = strchr(text, ')');
		size_t n = end ? (size_t)(end - text) : 0;
		if (end && !memmem(text, n, "exclude", 7)) {
			forbid_in_git(j, c, end + 1, memmem(text, n, "top", 3) != NULL);
			forbid_in_git(j, c, end + 1, false);
		}
		return;
	}
	if (text[0] == ':' && text[1] && strchr("!^", text[1]))
		return;
	if (text[0] == ':' && text[1] == '/') {
		forbid_in_git(j, c, text + 2, true);
		return;
	}
	if (text[0] != '-' && strpbrk(text, "*?["))
		forbid_in_git(j, c, text, false);
	for (const char *p = text; (p = strchr(p, ':')) != NULL;) {
		bool relative = *++p == '.' && (p[1] == '/' || (p[1] == '.' && p[2] == '/'));
		forbid_in_git(j, c, p, !relative);
	}
}

/* Does git show what is in all files from here on? */
static bool git_searches(const struct shell_view *v)
{
	size_t operands = 0;
	bool grep = false, given = false;

	for (size_t i = 1; i < v->nwords; i++) {
		const char *t = v->word[i].text;
		if (strcmp(t, "--") == 0 && grep)
			return i + 1 == v->nwords;
		if (grep && t[0] == '-' && t[1] != '-' && strpbrk(t, "ef")) {
			given = true;
			i += !t[2];
		}
		operands += grep && t[0] != '-';
		grep = grep || strcmp(t, "grep") == 0;
	}
	return grep && operands + given <= 1;
}

static void forbid_git(struct judging *j, const struct shell_command *c, const struct shell_view *v)
{
	static const struct shell_word here = { .text = ".", .literal = true };

	for (size_t i = 1; i < v->nwords; i++)
		if (!v->word[i].expands)
			forbid_git_word(j, c, v->word[i].text);
	if (git_searches(v))
		forbid_word(j, c, USE_READ, &here, true, true);
}

/* `git -C dir`: its words start there. */
static void forbid_git_elsewhere(struct judging *j, const struct shell_command *c, const struct shell_view *v)
{
	const char *was = j->at.start;
	struct target t;
	size_t i = 1;

	while (i + 1 < v->nwords && strcmp(v->word[i].text, "-C") != 0)
		i++;
	if (i + 1 >= v->nwords || v->word[i + 1].expands || !paths_look(j, j->f))
		return;
	if (target_resolve(&t, j->p, was, v->word[i + 1].text, v->word[i + 1].tilde) < 0)
		finding_worsen(j->f, PERMIT_DENY, "path", NULL, "out of memory");
	else if (!t.names.fault) {
		j->at.start = target_real(&t);
		for (i += 2; i < v->nwords; i++)
			forbid_loose_word(j, c, &v->word[i], false);
		forbid_git(j, c, v);
		j->at.start = was;
	}
	target_release(&t);
}

/* ---- programs of words ---- */

static void forbid_span(struct judging *j, const struct shell_command *c, const char *from, size_t n)
{
	char path[1024];

	if (n == 0 || n >= sizeof path)
		return;
	memcpy(path, from, n);
	path[n] = '\0';
	forbid_part(j, c, path, false, false);
}

/* Scripts of sed name files behind r, R, w and W; those of other interpreters have them in quotes. */
static void forbid_script(struct judging *j, const struct shell_command *c, const char *command, const char *text)
{
	if (strcmp(command, "sed") == 0) {
		for (const char *p = text; *p; p++)
			if (strchr("rRwW", *p)) {
				const char *from = p + 1 + strspn(p + 1, " \t");
				forbid_span(j, c, from, strcspn(from, "\n"));
			}
		return;
	}
	for (const char *p = text; (p = strpbrk(p, "\"'")) != NULL;) {
		const char *end = strchr(p + 1, *p);
		if (!end)
			return;
		forbid_span(j, c, p + 1, (size_t)(end - p - 1));
		p = end + 1;
	}
}

static void forbid_scripts(struct judging *j, const struct shell_command *c, const struct shell_view *v,
                           const char *command)
{
	static const char *const names[] = { "sed", "awk", "gawk", "mawk", "perl", "ruby", "node", "php", "lua", NULL };

	if (!is_one_of(command, names) && strncmp(command, "python", 6) != 0)
		return;
	for (size_t i = 1; i < v->nwords; i++)
		if (v->word[i].literal)
			forbid_script(j, c, command, v->word[i].text);
}

static bool find_removes(const struct shell_view *v, const char *command)
{
	bool removes = false;

	for (size_t i = 1; strcmp(command, "find") == 0 && i < v->nwords; i++)
		removes = removes || strcmp(v->word[i].text, "-delete") == 0;
	return removes;
}

/* A find that removes: all beneath the places where it starts may go. */
static void forbid_start(struct judging *j, const struct shell_command *c, const struct shell_view *v)
{
	static const struct shell_word here = { .text = ".", .literal = true };
	size_t i = 1;

	for (; i < v->nwords && v->word[i].text[0] != '-' && !strchr("(!", v->word[i].text[0]); i++)
		forbid_word(j, c, USE_EDIT, &v->word[i], true, true);
	if (i == 1)
		forbid_word(j, c, USE_EDIT, &here, true, true);
}

void words_forbid(struct judging *j, const struct shell_command *c, const struct shell_view *v)
{
	const struct shell_word *w;
	struct shell_paths paths;
	enum shell_path_use use;
	size_t npaths = 0;

	if (v->nwords == 0 || (!path_rule_any(j->p, USE_READ) && !path_rule_any(j->p, USE_EDIT)))
		return;
	const char *command = shell_base_name(v->word[0].text);
	bool below = reads_below(v, command), removes = find_removes(v, command);
	shell_paths_init(&paths, v);
	while (shell_paths_next(&paths, &w, &use)) {
		npaths++;
		if (paths.known)
			forbid_word(j, c, use == PATH_USE_WRITE ? USE_EDIT : USE_READ, w, true, below);
		else
			forbid_loose_word(j, c, w, below);
	}
	if (!paths.known)
		for (size_t i = 1; i < v->nwords; i++)
			forbid_loose_word(j, c, &v->word[i], below);
	if (has_unseen(v) && !names_only(command)) {
		const struct shell_word unseen = { .text = "{}", .expands = true };
		forbid_word(j, c, USE_READ, &unseen, true, false);
		forbid_word(j, c, USE_EDIT, &unseen, true, false);
	}
	if (removes)
		forbid_start(j, c, v);
	forbid_scripts(j, c, v, command);
	if (strcmp(command, "git") == 0) {
		forbid_git(j, c, v);
		forbid_git_elsewhere(j, c, v);
	}
	if (below && npaths == 0 && searches_here(command)) {
		static const struct shell_word here = { .text = ".", .literal = true };
		forbid_word(j, c, USE_READ, &here, true, true);
	}
}

bool word_is_free_target(const char *text)
{
	return strcmp(text, "/dev/null") == 0 || strcmp(text, "/dev/stdout") == 0 || strcmp(text, "/dev/stderr") == 0;
}

void redirects_forbid(struct judging *j, const struct shell_command *c)
{
	for (size_t i = 0; i < c->nredirects; i++) {
		const struct shell_redirect *r = &c->redirect[i];
		const struct rule *tool;
		if ((r->kind != REDIRECT_READ && r->kind != REDIRECT_WRITE) || word_is_free_target(r->target.text))
			continue;
		forbid_word(j, c, r->kind == REDIRECT_WRITE ? USE_EDIT : USE_READ, &r->target, true, false);
		if (r->kind == REDIRECT_WRITE &&
		    ((tool = tool_rule(j->p, RULE_DENY, "Edit")) || (tool = tool_rule(j->p, RULE_DENY, "Write"))))
			finding_worsen(j->f, PERMIT_DENY, "rule", tool,
			               "it writes '%.100s', and there is the deny rule %.200s", r->target.text,
			               tool->text);
	}
}
