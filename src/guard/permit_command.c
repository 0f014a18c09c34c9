/* Bash: each simple command of the parse is judged alone. One that is denied or to be asked about decides for all; to
 * be allowed, all must be. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "guard/permit_shell.h"

#define VIEWS_MAX 16
#define SHOWN_MAX 160

void line_add(struct line *l, glob_sym c)
{
	if (ARRAY_GROW(l->s, l->n, l->cap)) {
		l->failed = true;
		return;
	}
	l->s[l->n++] = c;
}

/* From the first expansion or wildcard on nothing of a word is taken for known. */
static size_t known_part(const struct shell_word *w)
{
	size_t n = strlen(w->text);

	if (w->expands)
		n = strcspn(w->text, "$`<>");
	if (w->glob) {
		size_t m = strcspn(w->text, "*?[{");
		n = m < n ? m : n;
	}
	return n;
}

static void line_word(struct line *l, const char *text, const struct shell_word *w, bool open)
{
	bool cut = open && (w->expands || w->glob);
	size_t n = cut && text == w->text ? known_part(w) : strlen(text);

	for (size_t i = 0; i < n; i++)
		line_add(l, (unsigned char)text[i]);
	if (cut)
		line_add(l, GLOB_ANY);
}

/* name: in place of the first word, or NULL. */
static struct glob line_of(struct line *l, const struct shell_view *v, const char *name, bool open)
{
	l->n = 0;
	for (size_t i = 0; i < v->nwords; i++) {
		if (i)
			line_add(l, '\0');
		line_word(l, i == 0 && name ? name : v->word[i].text, &v->word[i], open);
	}
	if (v->more) {
		line_add(l, '\0');
		line_add(l, GLOB_ANY);
	}
	return (struct glob){ l->s, l->n, NULL };
}

void line_release(struct line *l)
{
	free(l->s);
	memset(l, 0, sizeof *l);
}

static void show_words(const struct shell_command *c, char out[SHOWN_MAX])
{
	size_t n = 0;

	out[0] = '\0';
	for (size_t i = 0; i < c->nassign + c->nwords && n + 1 < SHOWN_MAX; i++) {
		const char *text = i < c->nassign ? c->assign[i].text : c->word[i - c->nassign].text;
		int more = snprintf(out + n, SHOWN_MAX - n, "%s%s", i ? " " : "", text);
		n += more > 0 ? (size_t)more : 0;
	}
	if (n >= SHOWN_MAX)
		memcpy(out + SHOWN_MAX - 4, "...", 4);
}

/* ---- deny and ask ---- */

static bool restricts_commands(const struct permissions *p)
{
	for (size_t i = 0; i < p->n; i++)
		if (p->rule[i].kind == RULE_COMMAND && p->rule[i].effect != RULE_ALLOW)
			return true;
	return false;
}

static void forbid_by(struct judging *j, const struct rule *r, const struct shell_view *v, const char *name)
{
	struct line raw = { 0 }, open = { 0 };
	struct glob text = line_of(&raw, v, name, false);
	struct glob maybe = line_of(&open, v, name, true);
	int met = 0;

	if (raw.failed || open.failed)
		met = -1;
	else if (rule_covers_command(r, text))
		finding_worsen(j->f, r->effect == RULE_DENY ? PERMIT_DENY : PERMIT_ASK, "rule", r,
		               "it falls under the %s rule %.300s", rule_effect_name(r->effect), r->text);
	else if (glob_is_open(maybe))
		met = rule_meets_command(r, maybe);
	if (met > 0)
		finding_worsen(j->f, PERMIT_ASK, "rule", r,
		               "parts of it are not known before it runs, and it may fall under the %s rule %.300s; "
		               "write the words out",
		               rule_effect_name(r->effect), r->text);
	else if (met < 0)
		finding_worsen(j->f, PERMIT_DENY, "command", NULL, "out of memory");
	line_release(&raw);
	line_release(&open);
}

static void forbid_view(struct judging *j, const struct shell_view *v)
{
	const struct permissions *p = j->p;

	if (v->opaque && restricts_commands(p))
		finding_worsen(j->f, PERMIT_ASK, "command", NULL,
		               "what it runs is not known before it runs, and there are rules on commands; name the "
		               "command");
	if (v->nwords == 0)
		return;
	const char *base = shell_base_name(v->word[0].text);
	bool other = strcmp(base, v->word[0].text) != 0;
	for (size_t i = 0; i < p->n; i++) {
		const struct rule *r = &p->rule[i];
		if (r->kind != RULE_COMMAND || r->effect == RULE_ALLOW)
			continue;
		forbid_by(j, r, v, NULL);
		if (other)
			forbid_by(j, r, v, base);
	}
}

static void forbid_command(struct judging *j, const struct shell_command *c)
{
	struct shell_view v;
	size_t at = 0, n = 0;

	while (shell_view_next(c, SHELL_FOR_DENY, &at, &v)) {
		if (++n > VIEWS_MAX) {
			finding_worsen(j->f, PERMIT_ASK, "command", NULL, "too many commands run one another");
			break;
		}
		forbid_view(j, &v);
		if (!v.shortened)
			words_forbid(j, c, &v);
	}
	redirects_forbid(j, c);
	if (shell_is_critical(c, c->after_cd && j->at.after ? j->at.after : j->at.start, j->p->at.dirs, j->p->at.home))
		finding_worsen(j->f, PERMIT_DENY, "safetyCheck", NULL,
		               "it removes, or may remove, what is never removed: the root, the home or a working "
		               "directory, or a parent of one; name the files");
}

/* ---- allow ---- */

/* `$PWD/x` while it is known. Nothing is known of a variable that an allowed command may set. */
static bool from_pwd(const struct judging *j, const struct shell_command *c, const struct shell_word *w,
                     struct buf *out)
{
	size_t n = strncmp(w->text, "$PWD", 4) == 0 ? 4 : strncmp(w->text, "${PWD}", 6) == 0 ? 6 : 0;
	const char *rest = w->text + n;

	if (n == 0 || w->glob || c->after_cd || j->at.set_pwd || (*rest && *rest != '/') || strpbrk(rest, "$`<>") ||
	    (w->splits && strpbrk(j->at.start, " \t\n*?[")))
		return false;
	buf_addf(out, "%s%s", j->at.start, rest);
	return !out->failed;
}

static bool permit_word(struct judging *j, const struct shell_command *c, enum path_use use, const struct shell_word *w,
                        struct finding *why);

static bool permit_expanding(struct judging *j, const struct shell_command *c, enum path_use use,
                             const struct shell_word *w, struct finding *why)
{
	struct buf b = BUF_INIT(2 * PATH_TEXT_MAX);
	bool fine = false;

	if (from_pwd(j, c, w, &b)) {
		const struct shell_word path = { .text = buf_str(&b), .literal = true };
		fine = permit_word(j, c, use, &path, why);
	} else {
		finding_worsen(why, PERMIT_ASK, "path", NULL, "where '%.100s' leads is not known before it runs",
		               w->text);
	}
	buf_release(&b);
	return fine;
}

/* A word that names a file, in the places where it may lead. True if all of them are fine. */
static bool permit_word(struct judging *j, const struct shell_command *c, enum path_use use, const struct shell_word *w,
                        struct finding *why)
{
	bool follows = c->after_cd && word_is_relative(w->text);
	const char *bases[] = { j->at.start, follows ? j->at.after : NULL };

	if (w->expands)
		return permit_expanding(j, c, use, w, why);
	if (!word_is_known(j, w) || (follows && j->at.lost) || (w->tilde && !j->p->at.home)) {
		finding_worsen(why, PERMIT_ASK, "path", NULL, "where '%.100s' leads is not known before it runs",
		               w->text);
		return false;
	}
	for (size_t i = 0; i < 2 && bases[i]; i++) {
		struct target t;
		bool named;
		if (!paths_look(j, why))
			return false;
		if (target_resolve(&t, j->p, bases[i], w->text, w->tilde) < 0 || t.names.fault)
			finding_worsen(why, PERMIT_ASK, "path", NULL, "'%.100s' cannot be resolved", w->text);
		else
			path_permitted(j->p, use, NULL, &t, &named, why);
		target_release(&t);
	}
	return why->permit == PERMIT_ALLOW;
}

struct permitted {
	struct judging *j;
	struct finding *why;
};

static void permit_match(void *arg, const char *path)
{
	struct permitted *m = arg;
	struct target t;
	bool named;

	if (!paths_look(m->j, m->why))
		return;
	if (target_resolve(&t, m->j->p, "/", path, false) < 0 || t.names.fault)
		finding_worsen(m->why, PERMIT_ASK, "path", NULL, "'%.100s' cannot be resolved", path);
	else
		path_permitted(m->j->p, USE_READ, NULL, &t, &named, m->why);
	target_release(&t);
}

/* Links among what a wildcard stands for must lead to where may be read too. */
static bool permit_links(struct judging *j, const struct shell_command *c, const struct shell_word *w,
                         struct finding *why)
{
	struct permitted m = { j, why };
	const char *home = j->p->at.home ? j->p->at.home : "/";
	bool follows = c->after_cd && word_is_relative(w->text);
	const char *bases[] = { w->tilde ? home : j->at.start, follows ? j->at.after : NULL };

	for (size_t i = 0; i < 2 && bases[i]; i++)
		if (path_links(bases[i], w->tilde ? w->text + 1 + (w->text[1] == '/') : w->text, j->at.dotted,
		               &j->entries, permit_match, &m) < 0)
			finding_worsen(why, PERMIT_ASK, "path", NULL, "'%.100s' stands for too many files to be judged",
			               w->text);
	return why->permit == PERMIT_ALLOW;
}

/* A wildcard that is read: what it stands for lies where its literal part does, or where links lead. */
static bool permit_wildcard(struct judging *j, const struct shell_command *c, const struct shell_word *w,
                            struct finding *why)
{
	char dir[PATH_TEXT_MAX];
	size_t n = strcspn(w->text, "*?[{");
	struct shell_word head = { .text = dir, .literal = true, .tilde = w->tilde };

	while (n > 0 && w->text[n - 1] != '/')
		n--;
	if (w->expands || n >= sizeof dir || strstr(w->text + n, "..") || strchr(w->text + n, '{')) {
		finding_worsen(why, PERMIT_ASK, "path", NULL, "where '%.100s' leads is not known before it runs",
		               w->text);
		return false;
	}
	snprintf(dir, sizeof dir, "%.*s", (int)(n ? n : 1), n ? w->text : ".");
	return permit_word(j, c, USE_READ, &head, why) && permit_links(j, c, w, why);
}

/* Does it read, in directories that it goes through, what links lead to? */
static bool follows_links(const struct shell_view *v)
{
	static const struct {
		const char *name, *letters, *word, *unless;
	} rows[] = { { "grep", "R", "--dereference-recursive", "" },
		     { "egrep", "R", "--dereference-recursive", "" },
		     { "fgrep", "R", "--dereference-recursive", "" },
		     { "rg", "L", "--follow", "" },
		     { "diff", "r", "--recursive", "--no-dereference" } };
	const char *name = v->word[0].text;
	bool found = false;

	for (size_t k = 0; k < sizeof rows / sizeof *rows; k++)
		for (size_t i = 1; strcmp(rows[k].name, name) == 0 && i < v->nwords; i++) {
			const char *t = v->word[i].text;
			if (*rows[k].unless && strcmp(t, rows[k].unless) == 0)
				return false;
			found = found || strcmp(t, rows[k].word) == 0 ||
			        (t[0] == '-' && t[1] != '-' && strpbrk(t, rows[k].letters));
		}
	return found;
}

static bool permit_paths(struct judging *j, const struct shell_command *c, const struct shell_view *v, bool edits,
                         struct finding *why)
{
	const struct shell_word *w;
	struct shell_paths paths;
	enum shell_path_use use;

	shell_paths_init(&paths, v);
	if (!paths.known) {
		finding_worsen(why, PERMIT_ASK, "command", NULL, "which files it uses cannot be told");
		return false;
	}
	if (follows_links(v)) {
		finding_worsen(why, PERMIT_ASK, "path", NULL,
		               "it follows links to wherever they lead; leave that out (grep -r, rg without -L, diff "
		               "--no-dereference)");
		return false;
	}
	while (shell_paths_next(&paths, &w, &use)) {
		bool writes = use == PATH_USE_WRITE;
		if (w->pipe && !writes)
			continue;
		if (writes && !edits) {
			finding_worsen(why, PERMIT_ASK, "mode", NULL, "it writes '%.100s'", w->text);
			return false;
		}
		if (w->glob && !writes ? !permit_wildcard(j, c, w, why)
		                       : !permit_word(j, c, writes ? USE_EDIT : USE_READ, w, why))
			return false;
	}
	return true;
}

/* Whatever a rule says of the command, protected places are not written. */
static void protect(struct judging *j, const struct shell_command *c, const struct shell_word *w, struct finding *why)
{
	struct target t;

	if (w->expands || w->glob)
		return;
	if (target_resolve(&t, j->p, c->after_cd && j->at.after ? j->at.after : j->at.start, w->text, w->tilde) == 0 &&
	    !t.names.fault && target_is_protected(j->p, &t) && path_in_dirs(j->p, target_real(&t), false))
		finding_worsen(why, PERMIT_ASK, "safetyCheck", NULL, "'%.200s' is a protected place", w->text);
	target_release(&t);
}

static void protect_writes(struct judging *j, const struct shell_command *c, struct finding *why)
{
	const struct shell_word *w;
	struct shell_paths paths;
	enum shell_path_use use;
	struct shell_view v;
	size_t view = 0;

	while (shell_view_next(c, SHELL_FOR_DENY, &view, &v) && view <= VIEWS_MAX) {
		shell_paths_init(&paths, &v);
		while (!v.shortened && paths.known && shell_paths_next(&paths, &w, &use))
			if (use == PATH_USE_WRITE)
				protect(j, c, w, why);
	}
	for (size_t i = 0; i < c->nredirects; i++)
		if (c->redirect[i].kind == REDIRECT_WRITE)
			protect(j, c, &c->redirect[i].target, why);
}

/* Assignments belong to a rule only where it spells them. */
static bool exact_with_assignments(const struct rule *r, const struct shell_command *c)
{
	struct line l = { 0 };

	for (size_t i = 0; i < c->nassign + c->nwords; i++) {
		const struct shell_word *w = i < c->nassign ? &c->assign[i] : &c->word[i - c->nassign];
		if (i)
			line_add(&l, '\0');
		line_word(&l, w->text, w, false);
	}
	bool fits = c->nassign > 0 && c->nwords > 0 && !l.failed && rule_is_exact(r) &&
	            rule_covers_command(r, (struct glob){ l.s, l.n, NULL });
	line_release(&l);
	return fits;
}

/* `ls*` is the commands whose names begin so, not `ls/../../bin/other`. */
static bool stays_a_name(const struct rule *r, const struct shell_view *v)
{
	size_t i = 0;

	for (; i < r->command.n && r->command.s[i] && r->command.s[i] < GLOB_ANY; i++)
		if (r->command.s[i] == '/')
			return true;
	return i == 0 || i >= r->command.n || r->command.s[i] == '\0' || !strchr(v->word[0].text, '/');
}

static bool allowed_by_rule(const struct permissions *p, const struct shell_command *c, const struct shell_view *v)
{
	struct line l = { 0 };
	struct glob text = line_of(&l, v, NULL, false);
	bool fits = false;

	for (size_t i = 0; i < p->n && !fits && !l.failed; i++) {
		const struct rule *r = &p->rule[i];
		if (r->kind != RULE_COMMAND || r->effect != RULE_ALLOW)
			continue;
		if (v->opaque)
			fits = exact_with_assignments(r, c);
		else if (v->nwords > 0 && (rule_is_exact(r) || !v->exact_only) && stays_a_name(r, v))
			fits = rule_covers_command(r, text);
	}
	line_release(&l);
	return fits;
}

/* git finds its configuration, which names programs, in the directory it stands in. */
static bool reads_only(const struct judging *j, const struct shell_command *c, const struct shell_view *v)
{
	bool moved = c->after_cd && !(j->at.after && !j->at.lost && strcmp(j->at.after, j->at.start) == 0);

	if (moved && v->nwords > 0 && strcmp(v->word[0].text, "git") == 0)
		return false;
	return shell_reads_only(v);
}

/* One view of a command, by rule, by the table of commands that only read, by the mode. */
static bool permit_view(struct judging *j, const struct shell_command *c, const struct shell_view *v,
                        struct finding *why)
{
	const struct permissions *p = j->p;
	bool planning = p->mode == MODE_PLAN;

	if (!planning && allowed_by_rule(p, c, v))
		return true;
	if (v->opaque || v->exact_only || v->shortened)
		return false;
	if (v->nwords == 0)
		return true; /* assignments that are safe; redirections are looked at by themselves */
	if (reads_only(j, c, v))
		return permit_paths(j, c, v, false, why);
	return p->mode == MODE_ACCEPT_EDITS && shell_edits_files(v) && permit_paths(j, c, v, true, why);
}

static void permit_redirects(struct judging *j, const struct shell_command *c, struct finding *why)
{
	for (size_t i = 0; i < c->nredirects; i++) {
		const struct shell_redirect *r = &c->redirect[i];
		if ((r->kind == REDIRECT_READ || r->kind == REDIRECT_WRITE) && !word_is_free_target(r->target.text))
			permit_word(j, c, r->kind == REDIRECT_WRITE ? USE_EDIT : USE_READ, &r->target, why);
	}
}

static void permit_command(struct judging *j, const struct shell_command *c)
{
	struct finding why = { 0 };
	struct shell_view v;
	char shown[SHOWN_MAX];
	size_t at = 0, n = 0;
	bool fine = false;

	while (!fine && ++n <= VIEWS_MAX && shell_view_next(c, SHELL_FOR_ALLOW, &at, &v)) {
		struct finding one = { 0 };
		fine = permit_view(j, c, &v, &one);
		if (one.permit != PERMIT_ALLOW)
			why = one;
	}
	show_words(c, shown);
	if (!fine && why.permit == PERMIT_ALLOW)
		finding_worsen(j->f, PERMIT_ASK, "command", NULL,
		               j->p->mode == MODE_PLAN ? "in mode plan only what reads may run, not `%s`"
		                                       : "no rule allows `%s`",
		               shown);
	else if (!fine)
		finding_worsen(j->f, why.permit, why.type, why.rule, "`%s`: %.300s", shown, why.detail);
	permit_redirects(j, c, j->f);
}

/* ---- the whole ---- */

static bool is_cd(const struct shell_command *c)
{
	static const char *const names[] = { "cd", "pushd", "popd" };

	for (size_t i = 0; c->nwords > 0 && i < sizeof names / sizeof *names; i++)
		if (strcmp(c->word[0].text, names[i]) == 0)
			return true;
	return false;
}

/* NAME=x or NAME anywhere: in front of a command, behind export, env, read, ... */
static bool sets(const struct shell_command *c, const char *name)
{
	size_t n = strlen(name);

	for (size_t i = 0; i < c->nassign + c->nwords; i++) {
		const char *text = i < c->nassign ? c->assign[i].text : c->word[i - c->nassign].text;
		if (strncmp(text, name, n) == 0 && (text[n] == '\0' || text[n] == '=' || text[n] == '+'))
			return true;
	}
	return false;
}

/* One cd in front of all else, to a directory that is written out, leads there (or fails and stays). With more of
 * them, or in a loop, nobody can say. */
static int find_places(struct judging *j, const char *command)
{
	const struct shell_parse *parse = j->parse;
	size_t ncd = 0;
	const struct shell_command *cd = NULL;

	for (size_t i = 0; i < parse->n; i++) {
		const struct shell_command *c = &parse->command[i];
		if (is_cd(c) && ncd++ == 0)
			cd = c;
		if (c->after_cd)
			j->at.lost = true;
		if (c->nwords > 0 && strcmp(shell_base_name(c->word[0].text), "shopt") == 0)
			j->at.dotted = true;
		j->at.homeless = j->at.homeless || sets(c, "HOME");
		j->at.set_pwd = j->at.set_pwd || sets(c, "PWD");
	}
	command += strspn(command, " \t\n");
	if (ncd != 1 || cd != parse->command || strncmp(command, "cd ", 3) != 0 || cd->nwords != 2 ||
	    !word_is_known(j, &cd->word[1]) || cd->word[1].text[0] == '-')
		return 0;
	struct target t;
	int rc = target_resolve(&t, j->p, j->at.start, cd->word[1].text, cd->word[1].tilde);
	if (rc == 0 && !t.names.fault && strncmp(target_real(&t), "/proc/", 6) != 0 && !target_is_own(&t)) {
		j->at.after = strdup(target_real(&t));
		j->at.lost = false;
		rc = j->at.after ? 0 : -1;
	}
	target_release(&t);
	return rc;
}

static void judge_parse(struct judging *j, const char *text, bool lifted)
{
	const struct shell_parse *parse = j->parse;
	const struct permissions *p = j->p;

	if (find_places(j, text) < 0) {
		finding_worsen(j->f, PERMIT_DENY, "command", NULL, "out of memory");
		return;
	}
	for (size_t i = 0; i < parse->n; i++)
		forbid_command(j, &parse->command[i]);
	if (j->f->permit != PERMIT_ALLOW || p->mode == MODE_BYPASS)
		return;
	for (size_t i = 0; i < parse->n; i++)
		protect_writes(j, &parse->command[i], j->f);
	bool whole = lifted || (p->mode != MODE_PLAN && tool_rule(p, RULE_ALLOW, "Bash"));
	for (size_t i = 0; i < parse->n && !whole; i++)
		permit_command(j, &parse->command[i]);
}

bool command_meets(const struct permissions *p, const char *text)
{
	struct finding f = { .permit = PERMIT_ALLOW };
	struct shell_parse parse;
	struct judging j = { .p = p, .f = &f, .parse = &parse };

	shell_parse(&parse, text, strlen(text));
	bool met = parse.nomem || parse.failure;
	for (size_t i = 0; i < parse.n && !met; i++) {
		struct shell_view v;
		size_t at = 0, n = 0;
		while (!met && shell_view_next(&parse.command[i], SHELL_FOR_DENY, &at, &v)) {
			forbid_view(&j, &v);
			met = ++n > VIEWS_MAX || f.permit != PERMIT_ALLOW;
		}
	}
	shell_parse_release(&parse);
	return met;
}

void command_judge(const struct permissions *p, const struct permission_call *call, bool lifted, struct finding *f)
{
	struct shell_parse parse;
	struct judging j = { .p = p, .f = f, .parse = &parse };

	j.at.start = call->cwd ? call->cwd : p->at.dirs[0];
	shell_parse(&parse, call->text, strlen(call->text));
	if (parse.nomem)
		finding_worsen(f, PERMIT_DENY, "command", NULL, "out of memory");
	else if (parse.failure)
		finding_worsen(f, PERMIT_ASK, "command", NULL,
		               "it cannot be judged: %.200s; write it in a simpler way, in several calls or with Write",
		               parse.failure);
	else
		judge_parse(&j, call->text, lifted);
	free(j.at.after);
	shell_parse_release(&parse);
}
