/* Whole calls against rules and modes. Each row is named after the table that it comes from. */
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "guard/permission.h"
#include "permission_tree.h"

#define LENGTH(a) (sizeof(a) / sizeof *(a))
#define ALLOW     PERMIT_ALLOW
#define ASK       PERMIT_ASK
#define DENY      PERMIT_DENY

struct row {
	const char *name;
	enum permission_mode mode;
	const char *allow, *ask, *deny; /* rules, a line each; NULL: none */
	const char *call;               /* "Tool text": a path or a command */
	enum permit want;
};

/* ---- the world: ws is the workspace, lib an added directory, out is outside, home the home directory ---- */

static char top[256];

static int make_world(void **state)
{
	static const char *const dirs[] = { "ws",  "ws/src", "ws/sub", "ws/.git",    "ws/conf",
		                            "lib", "out",    "home",   "ws/.claude", NULL };
	static const char *const files[] = { "ws/.env",    "ws/a.txt", "ws/src/a.c", "ws/sub/.env", "ws/conf/key",
		                             "out/secret", "lib/x.h",  "home/id",    NULL };
	/* clang-format off */
	static const char *const links[] = {
		"../out", "ws/dir-out",      "../out/secret", "ws/file-out",
		"src/a.c", "ws/to-src",      ".env", "ws/innocent.txt",
		"../sub", "ws/src/to-sub",   "ws", "ws-link",
		"../.git", "ws/src/to-git",  "loop", "ws/loop", NULL
	};
	/* clang-format on */
	const struct permission_tree tree = { dirs, files, links };

	(void)state;
	return permission_tree_make(&tree, top);
}

static int remove_world(void **state)
{
	(void)state;
	return permission_tree_remove(top);
}

/* "@" in a text is the world's directory. */
static char *expand(const char *text)
{
	char *out = malloc(20000);
	size_t n = 0;

	assert_non_null(out);
	for (; *text; text++)
		n += (size_t)snprintf(out + n, 20000 - n, "%.*s", *text == '@' ? 255 : 1, *text == '@' ? top : text);
	return out;
}

struct list {
	char *text;
	const char *v[16];
};

static void split(struct list *l, const char *lines)
{
	size_t n = 0;

	memset(l, 0, sizeof *l);
	l->text = lines ? expand(lines) : NULL;
	for (char *p = l->text, *line; p && (line = strsep(&p, "\n"));)
		l->v[n++] = line;
	assert_true(n < LENGTH(l->v));
}

struct guard {
	struct list allow, ask, deny;
	char ws[300], lib[300], spelled[300], home[300];
	const char *add_dirs[2], *names[3];
	struct permissions *p;
};

static const char *const tool_names[] = { "Bash",  "Read",  "Edit",  "Write",    "Glob", "Grep",
	                                  "fetch", "Agent", "Skill", "WebFetch", NULL };

static void guard_open(struct guard *g, enum permission_mode mode, const char *allow, const char *ask, const char *deny)
{
	struct error e = ERROR_INIT;

	memset(g, 0, sizeof *g);
	split(&g->allow, allow);
	split(&g->ask, ask);
	split(&g->deny, deny);
	snprintf(g->ws, sizeof g->ws, "%s/ws", top);
	snprintf(g->lib, sizeof g->lib, "%s/lib", top);
	snprintf(g->spelled, sizeof g->spelled, "%s/ws-link", top);
	snprintf(g->home, sizeof g->home, "%s/home", top);
	g->add_dirs[0] = g->lib;
	g->names[0] = g->spelled;
	g->names[1] = g->lib;
	const struct permission_config cfg = { .mode = mode,
		                               .allow = g->allow.v,
		                               .ask = g->ask.v,
		                               .deny = g->deny.v,
		                               .workspace = g->ws,
		                               .add_dirs = g->add_dirs,
		                               .spelled = g->names,
		                               .home = g->home,
		                               .tools = tool_names };
	g->p = permissions_open(&cfg, &e);
	if (!g->p)
		fail_msg("%s", e.msg);
}

static void guard_close(struct guard *g)
{
	permissions_free(g->p);
	free(g->allow.text);
	free(g->ask.text);
	free(g->deny.text);
}

static struct permission_call call_of(const char *tool, const char *text)
{
	static const struct {
		const char *tool;
		bool read_only;
		enum permission_subject subject;
	} kinds[] = {
		{ "Bash", false, SUBJECT_COMMAND },  { "Read", true, SUBJECT_READ },
		{ "Grep", true, SUBJECT_READ },      { "Glob", true, SUBJECT_READ },
		{ "Edit", false, SUBJECT_EDIT },     { "Write", false, SUBJECT_EDIT },
		{ "fetch", true, SUBJECT_NONE },     { "run", false, SUBJECT_NONE },
		{ "Agent", false, SUBJECT_NONE },    { "Skill", false, SUBJECT_NONE },
		{ "WebFetch", false, SUBJECT_NONE }, { "mcp__s__t", false, SUBJECT_NONE },
	};
	for (size_t i = 0; i < LENGTH(kinds); i++)
		if (strcmp(kinds[i].tool, tool) == 0)
			return (struct permission_call){ .tool = kinds[i].tool,
				                         .read_only = kinds[i].read_only,
				                         .subject = kinds[i].subject,
				                         .text = kinds[i].subject ? text : NULL,
				                         .input = kinds[i].subject ? NULL : text };
	fail_msg("no such tool: %s", tool);
	return (struct permission_call){ 0 };
}

/* True if the row holds; else it is told. */
static bool check_row(const struct row *r)
{
	static const char *const words[] = { "allow", "ask", "deny" };
	struct permission_verdict v;
	struct guard g;
	char *text = expand(r->call), tool[32];

	size_t n = strcspn(text, " ");
	snprintf(tool, sizeof tool, "%.*s", (int)n, text);
	guard_open(&g, r->mode, r->allow, r->ask, r->deny);
	struct permission_call call = call_of(tool, text + n + (text[n] == ' '));
	permissions_judge(g.p, &call, &v);
	bool holds = v.permit == r->want;
	if (!holds)
		print_error("%s (mode %s, allow %s, ask %s, deny %s): %.200s -> %s, not %s: %s\n", r->name,
		            permission_mode_name(r->mode), r->allow ? r->allow : "-", r->ask ? r->ask : "-",
		            r->deny ? r->deny : "-", r->call, words[v.permit], words[r->want], v.why ? v.why : "");
	assert_true((v.why != NULL) == (v.permit != ALLOW));
	if (v.why)
		assert_true(strlen(v.why) < 1200 && strchr(v.why, '\n') == NULL);
	permission_verdict_release(&v);
	guard_close(&g);
	free(text);
	return holds;
}

static void check_rows(const struct row *rows, size_t n)
{
	size_t bad = 0;

	for (size_t i = 0; i < n; i++)
		bad += !check_row(&rows[i]);
	assert_int_equal(bad, 0);
}

#define D MODE_DEFAULT
#define E MODE_ACCEPT_EDITS
#define P MODE_PLAN
#define N MODE_DONT_ASK
#define B MODE_BYPASS

static void order_of_section_1(void **state)
{
	static const struct row rows[] = {
		{ "1: deny in every mode", B, NULL, NULL, "Bash(rm *)", "Bash rm x", DENY },
		{ "1: deny over allow", D, "Bash(rm x)", NULL, "Bash(rm *)", "Bash rm x", DENY },
		{ "1: deny over ask", D, NULL, "Bash(rm x)", "Bash(rm *)", "Bash rm x", DENY },
		{ "1: ask over allow", D, "Bash(rm x)", "Bash(rm *)", NULL, "Bash rm x", ASK },
		{ "1: ask in bypass", B, NULL, "Bash(rm *)", NULL, "Bash rm x", ASK },
		{ "1: bypass allows the rest", B, NULL, "Bash(rm *)", NULL, "Bash make", ALLOW },
		{ "1: protection before allow rules", D, "Edit(.git/**)", NULL, NULL, "Edit .git/config", ASK },
		{ "1: allow rules", D, "Bash(make *)", NULL, NULL, "Bash make all", ALLOW },
		{ "1: else denied", D, NULL, NULL, NULL, "Bash make all", ASK },
		{ "1: bare deny", B, NULL, NULL, "Bash", "Bash ls", DENY },
		{ "1: bare deny as (*)", B, NULL, NULL, "Read(*)", "Read a.txt", DENY },
		{ "1: bare ask", D, NULL, "Read", NULL, "Read a.txt", ASK },
	};
	(void)state;
	check_rows(rows, LENGTH(rows));
}

static void modes_of_section_2(void **state)
{
	static const struct row rows[] = {
		{ "2: default reads", D, NULL, NULL, NULL, "Read a.txt", ALLOW },
		{ "2: default reads added", D, NULL, NULL, NULL, "Read @/lib/x.h", ALLOW },
		{ "2: default edits", D, NULL, NULL, NULL, "Edit a.txt", ASK },
		{ "2: default read-only Bash", D, NULL, NULL, NULL, "Bash ls -l src", ALLOW },
		{ "2: default other Bash", D, NULL, NULL, NULL, "Bash touch x", ASK },
		{ "2: default, a tool that only reads", D, NULL, NULL, NULL, "fetch {}", ALLOW },
		{ "2: default, another tool", D, NULL, NULL, NULL, "run {}", ASK },
		{ "2: default, another tool by rule", D, "run", NULL, NULL, "run {}", ALLOW },
		{ "2: acceptEdits edits", E, NULL, NULL, NULL, "Edit a.txt", ALLOW },
		{ "2: acceptEdits writes", E, NULL, NULL, NULL, "Write new/x", ALLOW },
		{ "2: acceptEdits not outside", E, NULL, NULL, NULL, "Write @/out/x", ASK },
		{ "2: acceptEdits not protected", E, NULL, NULL, NULL, "Write .git/x", ASK },
		{ "2: acceptEdits mkdir", E, NULL, NULL, NULL, "Bash mkdir -p new/dir", ALLOW },
		{ "2: acceptEdits touch", E, NULL, NULL, NULL, "Bash touch x", ALLOW },
		{ "2: acceptEdits rm", E, NULL, NULL, NULL, "Bash rm a.txt", ALLOW },
		{ "2: acceptEdits rmdir", E, NULL, NULL, NULL, "Bash rmdir sub", ALLOW },
		{ "2: acceptEdits mv", E, NULL, NULL, NULL, "Bash mv a.txt b.txt", ALLOW },
		{ "2: acceptEdits cp", E, NULL, NULL, NULL, "Bash cp a.txt src/b.txt", ALLOW },
		{ "2: acceptEdits sed", E, NULL, NULL, NULL, "Bash sed -i s/a/b/ a.txt", ALLOW },
		{ "2: acceptEdits behind timeout", E, NULL, NULL, NULL, "Bash timeout 5 touch x", ALLOW },
		{ "2: acceptEdits behind nice", E, NULL, NULL, NULL, "Bash nice touch x", ALLOW },
		{ "2: acceptEdits behind nohup", E, NULL, NULL, NULL, "Bash nohup touch x", ALLOW },
		{ "2: acceptEdits behind a safe variable", E, NULL, NULL, NULL, "Bash LANG=C touch x", ALLOW },
		{ "2: acceptEdits outside", E, NULL, NULL, NULL, "Bash touch @/out/x", ASK },
		{ "2: acceptEdits outside by a link", E, NULL, NULL, NULL, "Bash touch dir-out/x", ASK },
		{ "2: acceptEdits protected in Bash", E, NULL, NULL, NULL, "Bash rm .git/config", ASK },
		{ "2: acceptEdits unknown path", E, NULL, NULL, NULL, "Bash touch $x", ASK },
		{ "2: acceptEdits other", E, NULL, NULL, NULL, "Bash make", ASK },
		{ "2: plan reads", P, NULL, NULL, NULL, "Read a.txt", ALLOW },
		{ "2: plan does not edit", P, "Edit", NULL, NULL, "Edit a.txt", ASK },
		{ "2: plan read-only Bash", P, NULL, NULL, NULL, "Bash ls", ALLOW },
		{ "2: plan other Bash", P, "Bash(make *)", NULL, NULL, "Bash make", ASK },
		{ "2: plan other tools", P, "run", NULL, NULL, "run {}", ASK },
		{ "2: dontAsk reads", N, NULL, NULL, NULL, "Read a.txt", ALLOW },
		{ "2: dontAsk edits by rule", N, "Edit(src/**)", NULL, NULL, "Edit src/a.c", ALLOW },
		{ "2: dontAsk edits", N, NULL, NULL, NULL, "Edit src/a.c", DENY },
		{ "2: dontAsk Bash by rule", N, "Bash(make)", NULL, NULL, "Bash make", ALLOW },
		{ "2: dontAsk read-only Bash", N, NULL, NULL, NULL, "Bash cat a.txt", ALLOW },
		{ "2: dontAsk Bash", N, NULL, NULL, NULL, "Bash make", DENY },
		{ "2: dontAsk explicit ask", N, "Bash", "Bash(make)", NULL, "Bash make", DENY },
		{ "2: bypass edits protected", B, NULL, NULL, NULL, "Edit .git/config", ALLOW },
		{ "2: bypass runs", B, NULL, NULL, NULL, "Bash make; $CC x >.git/y", ALLOW },
		{ "2: bypass, critical", B, NULL, NULL, NULL, "Bash rm -rf /", DENY },
	};
	(void)state;
	check_rows(rows, LENGTH(rows));
}

static void rules_of_section_4(void **state)
{
	static const struct row rows[] = {
		{ "4: Bash", D, "Bash", NULL, NULL, "Bash make; ./x", ALLOW },
		{ "4: Bash(*)", D, "Bash(*)", NULL, NULL, "Bash make", ALLOW },
		{ "4: case", D, "bash", NULL, NULL, "Bash make", ASK },
		{ "4: exact", D, "Bash(npm run build)", NULL, NULL, "Bash npm run build", ALLOW },
		{ "4: exact, more", D, "Bash(npm run build)", NULL, NULL, "Bash npm run build x", ASK },
		{ "4: exact, quoted", D, "Bash(npm run build)", NULL, NULL, "Bash npm 'run' \"build\"", ALLOW },
		{ "4: prefix", D, "Bash(git push:*)", NULL, NULL, "Bash git push origin", ALLOW },
		{ "4: prefix alone", D, "Bash(git push:*)", NULL, NULL, "Bash git push", ALLOW },
		{ "4: prefix, other word", D, "Bash(git push:*)", NULL, NULL, "Bash git pusher", ASK },
		{ "4: prefix without space", D, "Bash(mk*)", NULL, NULL, "Bash mkfifo x", ALLOW },
		{ "4: in the middle", D, "Bash(git * main)", NULL, NULL, "Bash git push origin main", ALLOW },
		{ "4: in front", D, "Bash(* --version)", NULL, NULL, "Bash node --version", ALLOW },
		{ "4: path", D, NULL, NULL, "Read(./.env)", "Read .env", DENY },
		{ "4: path, there only", D, NULL, NULL, "Read(./.env)", "Read sub/.env", ALLOW },
		{ "4: path allow", D, "Edit(/src/**)", NULL, NULL, "Edit src/a.c", ALLOW },
		{ "4: path //", D, NULL, NULL, "Read(//@/lib/**)", "Read @/lib/x.h", DENY },
		{ "4: path ~", D, "Read(~/id)", NULL, NULL, "Read @/home/id", ALLOW },
		{ "4: host", D, "WebFetch(domain:example.com)", NULL, NULL,
		  "WebFetch {\"url\":\"https://example.com/a\"}", ALLOW },
		{ "4: another host", D, "WebFetch(domain:example.com)", NULL, NULL,
		  "WebFetch {\"url\":\"https://example.org/a\"}", ASK },
		{ "4: mcp server", D, "mcp__s", NULL, NULL, "mcp__s__t {}", ALLOW },
		{ "4: mcp tools", D, "mcp__s__*", NULL, NULL, "mcp__s__t {}", ALLOW },
		{ "4: mcp tool", D, "mcp__s__t", NULL, NULL, "mcp__s__t {}", ALLOW },
		{ "4: another mcp tool", D, "mcp__s__u", NULL, NULL, "mcp__s__t {}", ASK },
		{ "4: Agent", D, "Agent(helper)", NULL, NULL, "Agent {\"subagent_type\":\"helper\"}", ALLOW },
		{ "4: another Agent", D, "Agent(helper)", NULL, NULL, "Agent {\"subagent_type\":\"x\"}", ASK },
		{ "4: Skill", D, NULL, NULL, "Skill(deploy)", "Skill {\"skill\":\"deploy\"}", DENY },
		{ "4: parameter", D, NULL, NULL, "fetch(mode:write)", "fetch {\"mode\":\"write\"}", DENY },
		{ "4: parameter, another value", D, NULL, NULL, "fetch(mode:write)", "fetch {\"mode\":\"read\"}",
		  ALLOW },
		{ "4: parameter, wildcard", D, NULL, "fetch(mode:w*)", NULL, "fetch {\"mode\":\"write\"}", ASK },
		{ "4: parameter, number", D, NULL, NULL, "fetch(depth:3)", "fetch {\"depth\":3}", DENY },
		{ "4: parameter, truth", D, NULL, NULL, "fetch(all:true)", "fetch {\"all\":true}", DENY },
		{ "4: parameter, not in depth", D, NULL, NULL, "fetch(mode:write)",
		  "fetch {\"x\":{\"mode\":\"write\"}}", ALLOW },
		{ "4: glob of names in deny", B, NULL, NULL, "*", "run {}", DENY },
		{ "4: glob of mcp names in deny", B, NULL, NULL, "mcp__*", "mcp__s__t {}", DENY },
		{ "4: glob of names in allow does nothing", D, "*", NULL, NULL, "run {}", ASK },
		{ "4: Write(path) does nothing", D, "Write(a.txt)", NULL, NULL, "Write a.txt", ASK },
		{ "4: escapes", D, "Bash(mk \\(x\\))", NULL, NULL, "Bash mk '(x)'", ALLOW },
	};
	(void)state;
	check_rows(rows, LENGTH(rows));
}

static void commands_of_section_5(void **state)
{
	static const struct row rows[] = {
		/* 5.1: every part must be allowed, one is enough to deny */
		{ "5.1: &&", D, "Bash(mk *)", NULL, NULL, "Bash mk a && evil", ASK },
		{ "5.1: ||", D, "Bash(mk *)", NULL, NULL, "Bash mk a || evil", ASK },
		{ "5.1: ;", D, "Bash(mk *)", NULL, NULL, "Bash mk a; evil", ASK },
		{ "5.1: |", D, "Bash(mk *)", NULL, NULL, "Bash mk a | evil", ASK },
		{ "5.1: |&", D, "Bash(mk *)", NULL, NULL, "Bash mk a |& evil", ASK },
		{ "5.1: &", D, "Bash(mk *)", NULL, NULL, "Bash mk a & evil", ASK },
		{ "5.1: newline", D, "Bash(mk *)", NULL, NULL, "Bash mk a\nevil", ASK },
		{ "5.1: all allowed", D, "Bash(mk *)", NULL, NULL, "Bash mk a && mk b | ls; mk c & mk d\nmk e", ALLOW },
		{ "5.1: deny in $( )", B, NULL, NULL, "Bash(rm *)", "Bash echo $(rm x)", DENY },
		{ "5.1: deny in backticks", B, NULL, NULL, "Bash(rm *)", "Bash echo `rm x`", DENY },
		{ "5.1: deny in <( )", B, NULL, NULL, "Bash(rm *)", "Bash cat <(rm x)", DENY },
		{ "5.1: deny in ( )", B, NULL, NULL, "Bash(rm *)", "Bash (cd a; rm x)", DENY },
		{ "5.1: deny in a loop", B, NULL, NULL, "Bash(rm *)", "Bash for i in a b; do rm $i; done", DENY },
		{ "5.1: deny in a condition", B, NULL, NULL, "Bash(rm *)", "Bash if true; then rm x; fi", DENY },
		{ "5.1: allow in $( )", D, "Bash(mk *)", NULL, NULL, "Bash mk $(evil)", ASK },
		{ "5.1: not parsable", D, "Bash(mk *)", NULL, NULL, "Bash mk 'a", ASK },
		{ "5.1: not parsable, whole tool", D, "Bash", NULL, NULL, "Bash mk 'a", ASK },
		/* 5.2 */
		{ "5.2: timeout", D, "Bash(mk *)", NULL, NULL, "Bash timeout 10 mk a", ALLOW },
		{ "5.2: time", D, "Bash(mk *)", NULL, NULL, "Bash time mk a", ALLOW },
		{ "5.2: nice", D, "Bash(mk *)", NULL, NULL, "Bash nice mk a", ALLOW },
		{ "5.2: nohup", D, "Bash(mk *)", NULL, NULL, "Bash nohup mk a", ALLOW },
		{ "5.2: command", D, "Bash(mk *)", NULL, NULL, "Bash command mk a", ALLOW },
		{ "5.2: xargs without flags", D, "Bash(mk *)", NULL, NULL, "Bash ls | xargs mk", ALLOW },
		{ "5.2: xargs, more words than an exact rule has", D, "Bash(mk a)", NULL, NULL, "Bash ls | xargs mk a",
		  ASK },
		{ "5.2: safe variable", D, "Bash(mk *)", NULL, NULL, "Bash NO_COLOR=1 mk a", ALLOW },
		{ "5.2: other variable", D, "Bash(mk *)", NULL, NULL, "Bash LD_PRELOAD=./x mk a", ASK },
		{ "5.2: other variable, spelled", D, "Bash(CC=gcc mk a)", NULL, NULL, "Bash CC=gcc mk a", ALLOW },
		{ "5.2: other variable, wildcard", D, "Bash(* a)", NULL, NULL, "Bash LD_PRELOAD=./x mk a", ASK },
		{ "5.2: any variable for deny", B, NULL, NULL, "Bash(rm *)", "Bash FOO=1 rm x", DENY },
		{ "5.2: runners", D, "Bash(mk *)", NULL, NULL, "Bash npx mk a", ASK },
		{ "5.2: env not for allow", D, "Bash(mk *)", NULL, NULL, "Bash env mk a", ASK },
		{ "5.2: env for deny", B, NULL, NULL, "Bash(rm *)", "Bash env A=1 rm x", DENY },
		{ "5.2: sudo not for allow", D, "Bash(mk *)", NULL, NULL, "Bash sudo mk a", ASK },
		{ "5.2: sudo for deny", B, NULL, NULL, "Bash(rm *)", "Bash sudo rm x", DENY },
		{ "5.2: blanks", D, "Bash(mk a)", NULL, NULL, "Bash   mk \t a  ", ALLOW },
		{ "5.2: git -C", B, NULL, NULL, "Bash(git push *)", "Bash git -C sub push", DENY },
		{ "5.2: watch, prefix", D, "Bash(watch mk *)", NULL, NULL, "Bash watch mk a", ASK },
		{ "5.2: watch, exact", D, "Bash(watch mk a)\nBash(mk a)", NULL, NULL, "Bash watch mk a", ALLOW },
		{ "5.2: watch, exact, not what it runs", D, "Bash(watch mk a)", NULL, NULL, "Bash watch mk a", ASK },
		{ "5.2: setsid, exact", D, "Bash(setsid mk a)", NULL, NULL, "Bash setsid mk a", ALLOW },
		{ "5.2: setsid, prefix", D, "Bash(setsid *)", NULL, NULL, "Bash setsid mk a", ASK },
		{ "5.2: watch, inner prefix", D, "Bash(mk *)", NULL, NULL, "Bash watch mk a", ASK },
		{ "5.2: watch, deny", B, NULL, NULL, "Bash(rm *)", "Bash watch rm x", DENY },
		{ "5.2: setsid, deny", B, NULL, NULL, "Bash(rm *)", "Bash setsid rm x", DENY },
		{ "5.2: ionice, deny", B, NULL, NULL, "Bash(rm *)", "Bash ionice -c 3 rm x", DENY },
		/* 5.3 */
		{ "5.3: > in default", D, "Bash(mk *)", NULL, NULL, "Bash mk a >log", ASK },
		{ "5.3: > with acceptEdits", E, NULL, NULL, NULL, "Bash echo a >log", ALLOW },
		{ "5.3: > by rule", D, "Bash(mk *)\nEdit(/log)", NULL, NULL, "Bash mk a >log 2>&1", ALLOW },
		{ "5.3: >> elsewhere", D, "Bash(mk *)\nEdit(/log)", NULL, NULL, "Bash mk a >>log2", ASK },
		{ "5.3: 2> outside", E, "Bash(mk *)", NULL, NULL, "Bash mk a 2>@/out/x", ASK },
		{ "5.3: > protected", E, NULL, NULL, NULL, "Bash echo a >.git/config", ASK },
		{ "5.3: > protected, whole tool", D, "Bash", NULL, NULL, "Bash echo a >.git/config", ASK },
		{ "5.3: > through a link", E, NULL, NULL, NULL, "Bash echo a >file-out", ASK },
		{ "5.3: /dev/null", D, NULL, NULL, NULL, "Bash ls >/dev/null 2>&1", ALLOW },
		{ "5.3: ~", E, NULL, NULL, NULL, "Bash echo a >~/x", ASK },
		{ "5.3: wildcard", E, NULL, NULL, NULL, "Bash echo a >*.txt", ASK },
		{ "5.3: unknown", E, NULL, NULL, NULL, "Bash echo a >$x", ASK },
		{ "5.3: cd, known", E, NULL, NULL, NULL, "Bash cd src && echo a >b", ALLOW },
		{ "5.3: cd, not known", E, NULL, NULL, NULL, "Bash cd $x && echo a >b", ASK },
		{ "5.3: cd out by a link", E, NULL, NULL, NULL, "Bash cd dir-out && echo a >b", ASK },
		{ "5.3: two cd", E, NULL, NULL, NULL, "Bash cd src && cd .. && echo a >b", ASK },
		{ "5.3: cd in a loop", E, NULL, NULL, NULL, "Bash for i in 1 2; do cd ..; echo a >b; done", ASK },
		{ "5.3: deny Edit", B, NULL, NULL, "Edit(/log)", "Bash echo a >log", DENY },
		{ "5.3: deny Edit, cd", B, NULL, NULL, "Edit(/src/log)", "Bash cd src && echo a >log", DENY },
		{ "5.3: deny the whole of Edit", B, NULL, NULL, "Edit", "Bash echo a >log", DENY },
		{ "5.3: < outside", D, NULL, NULL, NULL, "Bash cat <@/out/secret", ASK },
		/* 5.4 */
		{ "5.4: ls", D, NULL, NULL, NULL, "Bash ls", ALLOW },
		{ "5.4: pipes", D, NULL, NULL, NULL, "Bash cat a.txt | head -n 3 | wc -l", ALLOW },
		{ "5.4: find", D, NULL, NULL, NULL, "Bash find . -name x", ALLOW },
		{ "5.4: find -exec", D, NULL, NULL, NULL, "Bash find . -name x -exec touch y \\;", ASK },
		{ "5.4: find -delete", D, NULL, NULL, NULL, "Bash find . -name x -delete", ASK },
		{ "5.4: git status", D, NULL, NULL, NULL, "Bash git status", ALLOW },
		{ "5.4: git log", D, NULL, NULL, NULL, "Bash git log --oneline", ALLOW },
		{ "5.4: git push", D, NULL, NULL, NULL, "Bash git push", ASK },
		{ "5.4: outside", D, NULL, NULL, NULL, "Bash cat @/out/secret", ASK },
		{ "5.4: outside by ..", D, NULL, NULL, NULL, "Bash cat ../out/secret", ASK },
		{ "5.4: outside by a link", D, NULL, NULL, NULL, "Bash cat file-out", ASK },
		{ "5.4: outside by a linked directory", D, NULL, NULL, NULL, "Bash cat dir-out/secret", ASK },
		{ "5.4: home", D, NULL, NULL, NULL, "Bash cat ~/id", ASK },
		{ "5.4: added directory", D, NULL, NULL, NULL, "Bash cat ../lib/x.h", ALLOW },
		{ "5.4: by the workspace's other name", D, NULL, NULL, NULL, "Bash cat @/ws-link/a.txt", ALLOW },
		{ "5.4: cd in scope", D, NULL, NULL, NULL, "Bash cd src && ls", ALLOW },
		{ "5.4: cd elsewhere", D, NULL, NULL, NULL, "Bash cd / && ls", ASK },
		{ "5.4: cd and git", D, NULL, NULL, NULL, "Bash cd sub && git status", ASK },
		/* 5.5 */
		{ "5.5: /", D, "Bash", NULL, NULL, "Bash rm -rf /", DENY },
		{ "5.5: child of /", D, "Bash", NULL, NULL, "Bash rm -rf /usr", DENY },
		{ "5.5: home", D, "Bash", NULL, NULL, "Bash rm -rf ~", DENY },
		{ "5.5: $HOME", D, "Bash", NULL, NULL, "Bash rm -rf $HOME", DENY },
		{ "5.5: cwd", D, "Bash", NULL, NULL, "Bash rm -rf .", DENY },
		{ "5.5: parent", D, "Bash", NULL, NULL, "Bash rm -rf ..", DENY },
		{ "5.5: all in cwd", D, "Bash(rm *)", NULL, NULL, "Bash rm -rf *", DENY },
		{ "5.5: unknown", D, "Bash", NULL, NULL, "Bash rm -rf \"$X\"/*", DENY },
		{ "5.5: in a substitution", D, "Bash", NULL, NULL, "Bash echo $(rm -rf /)", DENY },
		{ "5.5: a file is none", D, "Bash(rm *)", NULL, NULL, "Bash rm -rf build", ALLOW },
	};
	(void)state;
	check_rows(rows, LENGTH(rows));
}

static void reports_of_section_5_6(void **state)
{
	static const struct row rows[] = {
		{ "5.6: later part after ;", D, "Bash(git log:*)", NULL, NULL, "Bash git log; evil", ASK },
		{ "5.6: later part after &&", D, "Bash(git log:*)", NULL, NULL, "Bash git log && evil", ASK },
		{ "5.6: cd and anything", D, "Bash(cd:*)", NULL, NULL, "Bash cd x && anything", ASK },
		{ "5.6: deny of a later part", B, NULL, NULL, "Bash(git clean *)", "Bash git fetch && git clean -fd",
		  DENY },
		{ "5.6: find | xargs rm", B, NULL, NULL, "Bash(rm *)", "Bash find . | xargs rm", DENY },
		{ "5.6: find | xargs with flags", B, NULL, NULL, "Bash(rm *)", "Bash find . -print0 | xargs -0 rm -f",
		  DENY },
		{ "5.6: find -exec rm", B, NULL, NULL, "Bash(rm *)", "Bash find . -exec rm {} +", DENY },
		{ "5.6: absolute path", B, NULL, NULL, "Bash(rm *)", "Bash /bin/rm x", DENY },
		{ "5.6: bash -c", B, NULL, NULL, "Bash(rm *)", "Bash bash -c 'rm x'", DENY },
		{ "5.6: sh -c in sh -c", B, NULL, NULL, "Bash(rm *)", "Bash sh -c \"sh -c 'rm x'\"", DENY },
		{ "5.6: env rm", B, NULL, NULL, "Bash(rm *)", "Bash env rm x", DENY },
		{ "5.6: doas, busybox", B, NULL, NULL, "Bash(rm *)", "Bash doas busybox rm x", DENY },
		{ "5.6: nohup", B, NULL, NULL, "Bash(rm *)", "Bash nohup rm x", DENY },
		{ "5.6: bash -c is not allowed by what it runs", D, "Bash(mk *)", NULL, NULL, "Bash bash -c 'mk a'",
		  ASK },
		{ "5.6: python -c", D, "Bash(mk *)", NULL, NULL, "Bash python -c 'x'", ASK },
		{ "5.6: sh script", D, "Bash(mk *)", NULL, NULL, "Bash sh script", ASK },
		{ "5.6: parts of a pipe alone", D, NULL, NULL, NULL, "Bash grep x a.txt | head", ALLOW },
		{ "5.6: $IFS", D, "Bash(mk *)", NULL, NULL, "Bash evil$IFS-x", ASK },
		{ "5.6: $IFS, deny", B, NULL, NULL, "Bash(git push *)", "Bash git${IFS}push", ASK },
		{ "5.6: ${x} as a command", B, NULL, NULL, "Bash(rm *)", "Bash x=rm; $x y", ASK },
		{ "5.6: eval", B, NULL, NULL, "Bash(rm *)", "Bash eval 'rm x'", DENY },
		{ "5.6: eval of what is not known", B, NULL, NULL, "Bash(rm *)", "Bash eval \"$x\"", ASK },
		{ "5.6: \\rm", B, NULL, NULL, "Bash(rm *)", "Bash \\rm x", DENY },
		{ "5.6: r\"\"m", B, NULL, NULL, "Bash(rm *)", "Bash r\"\"m x", DENY },
		{ "5.6: $'rm'", B, NULL, NULL, "Bash(rm *)", "Bash $'\\x72m' x", DENY },
		{ "5.6: unknown argument where deny looks", B, NULL, NULL, "Bash(git push *)", "Bash x=push; git $x",
		  ASK },
		{ "5.6: wildcard where deny looks", B, NULL, NULL, "Bash(git push *)", "Bash git pus?", ASK },
		{ "5.6: braces where deny looks", B, NULL, NULL, "Bash(git push *)", "Bash git {push,}", ASK },
		{ "5.6: unknown argument elsewhere", B, NULL, NULL, "Bash(git push *)", "Bash git log $x", ALLOW },
		{ "5.6: escaped flag", B, NULL, NULL, "Bash(git push --force)", "Bash git push \\--force", DENY },
		{ "5.6: continued line", B, NULL, NULL, "Bash(git push *)", "Bash git \\\npush", DENY },
		{ "5.6: quoted #", B, NULL, NULL, "Bash(rm *)", "Bash echo '#'; rm x", DENY },
		{ "5.6: # in a word", B, NULL, NULL, "Bash(rm *)", "Bash echo a#b; rm x", DENY },
		{ "5.6: a comment is none", B, NULL, NULL, "Bash(rm *)", "Bash echo a # rm x", ALLOW },
		{ "5.6: here-document", B, NULL, NULL, "Bash(rm *)", "Bash cat <<E\nrm x\nE\n", ALLOW },
		{ "5.6: here-document that expands", B, NULL, NULL, "Bash(rm *)", "Bash cat <<E\n$(rm x)\nE\n", DENY },
		{ "5.6: quoted here-document", B, NULL, NULL, "Bash(rm *)", "Bash cat <<'E'\n$(rm x)\nE\n", ALLOW },
		{ "5.6: behind a here-document", B, NULL, NULL, "Bash(rm *)", "Bash cat <<E\nx\nE\nrm x", DENY },
		{ "5.6: here-doc commit message", D, "Bash(git commit:*)", NULL, NULL,
		  "Bash git commit -m \"$(cat <<'E'\nfix: it's done; rm\nE\n)\"", ALLOW },
		{ "5.6: embedded newline", D, "Bash(mk *)", NULL, NULL, "Bash mk 'a\nb'", ALLOW },
		{ "5.6: $HOME of a denied path", B, NULL, NULL, "Read(~/id)", "Bash cat $HOME/id", ASK },
		{ "5.6: [[ =~ ]] that runs", B, NULL, NULL, "Bash(rm *)", "Bash [[ a =~ $(rm x) ]]", DENY },
		{ "5.6: redirection in a list", D, "Bash(mk *)", NULL, NULL, "Bash mk a && mk b >x", ASK },
		{ "5.6: redirection behind !", D, "Bash(mk *)", NULL, NULL, "Bash ! mk b >x", ASK },
		{ "5.6: cd and pipe keep deny", B, NULL, NULL, "Bash(rm *)", "Bash cd x | ls; rm y", DENY },
		{ "5.6: Read deny and file commands", B, NULL, NULL, "Read(.env)", "Bash cat .env", DENY },
		{ "5.6: ... head", B, NULL, NULL, "Read(.env)", "Bash head -n 1 sub/.env", DENY },
		{ "5.6: ... sed", B, NULL, NULL, "Read(.env)", "Bash sed -n p .env", DENY },
		{ "5.6: ... grep", B, NULL, NULL, "Read(.env)", "Bash grep x .env", DENY },
		{ "5.6: ... tail in a pipe", B, NULL, NULL, "Read(.env)", "Bash ls | tail .env", DENY },
		{ "5.6: ... through a link", B, NULL, NULL, "Read(.env)", "Bash cat innocent.txt", DENY },
		{ "5.6: ... from <", B, NULL, NULL, "Read(.env)", "Bash wc -l <.env", DENY },
		{ "5.6: ... cp", B, NULL, NULL, "Read(.env)", "Bash cp .env x", DENY },
		{ "5.6: ... an unknown command", B, NULL, NULL, "Read(.env)", "Bash xyzzy .env", DENY },
		{ "5.6: ... an option's value", B, NULL, NULL, "Read(.env)", "Bash xyzzy --file=.env", DENY },
		{ "5.6: ... by wildcard", B, NULL, NULL, "Read(.env)", "Bash cat .e*", ASK },
		{ "5.6: ... a wildcard that does not fit", B, NULL, NULL, "Read(.env)", "Bash cat a*.txt", ALLOW },
		{ "5.6: ... a wildcard that fits a link", B, NULL, NULL, "Read(.env)", "Bash cat *.txt", DENY },
		{ "5.6: ... by variable", B, NULL, NULL, "Read(.env)", "Bash cat $x", ASK },
		{ "5.6: ... after cd", B, NULL, NULL, "Read(/conf/key)", "Bash cd conf && cat key", DENY },
		{ "5.6: ... after cd to what is not known", B, NULL, NULL, "Read(/conf/key)", "Bash cd $x && cat key",
		  ASK },
		{ "5.6: ... searched recursively", B, NULL, NULL, "Read(.env)", "Bash grep -r x .", ASK },
		{ "5.6: ... searched recursively, no path", B, NULL, NULL, "Read(.env)", "Bash rg x", ASK },
		{ "5.6: ... searched recursively, wildcard", B, NULL, NULL, "Read(.env)", "Bash grep -r x s*", ASK },
		{ "5.6: ... not recursively", B, NULL, NULL, "Read(.env)", "Bash grep x src/*.c", ALLOW },
		{ "5.6: ... packed", B, NULL, NULL, "Read(.env)", "Bash tar cf - sub", ASK },
		{ "5.6: ... copied", B, NULL, NULL, "Read(.env)", "Bash cp -r sub new", ASK },
		{ "5.6: ... given by xargs", B, NULL, NULL, "Read(.env)", "Bash find . -type f | xargs cat", ASK },
		{ "5.6: ... given by find", B, NULL, NULL, "Read(.env)", "Bash find . -exec cat {} +", ASK },
		{ "5.6: ... names given by xargs", B, NULL, NULL, "Read(.env)", "Bash find . -type f | xargs ls -l",
		  ALLOW },
		{ "5.6: ... another file", B, NULL, NULL, "Read(.env)", "Bash cat a.txt", ALLOW },
		{ "5.6: ... written", B, NULL, NULL, "Read(.env)", "Bash echo x >.env", DENY },
		{ "5.6: ... removed", B, NULL, NULL, "Edit(.env)", "Bash rm .env", DENY },
	};
	(void)state;
	check_rows(rows, LENGTH(rows));
}

static void paths_of_section_6(void **state)
{
	static const struct row rows[] = {
		{ "6: Read covers Grep", D, NULL, NULL, "Read(sub/**)", "Grep sub", DENY },
		{ "6: Read covers Glob", D, NULL, NULL, "Read(sub/**)", "Glob sub", DENY },
		{ "6: Edit covers Write", D, "Edit(src/**)", NULL, NULL, "Write src/new.c", ALLOW },
		{ "6: Read deny blocks Edit", E, NULL, NULL, "Read(.env)", "Edit .env", DENY },
		{ "6: Read deny blocks Write", E, NULL, NULL, "Read(.env)", "Write .env", DENY },
		{ "6: Edit deny leaves Read", E, NULL, NULL, "Edit(.env)", "Read .env", ALLOW },
		{ "6: any depth", D, NULL, NULL, "Read(.env)", "Read sub/.env", DENY },
		{ "6: // anywhere", D, NULL, NULL, "Read(//**/.env)", "Read sub/.env", DENY },
		{ "6: one segment, allow", D, "Edit(src/**)", NULL, NULL, "Edit sub/src/x", ASK },
		{ "6: one segment, deny", E, NULL, NULL, "Edit(src/**)", "Edit sub/src/x", DENY },
		{ "6: link, deny by target", D, NULL, NULL, "Read(.env)", "Read innocent.txt", DENY },
		{ "6: link, deny by link", D, NULL, NULL, "Read(innocent.txt)", "Read innocent.txt", DENY },
		{ "6: link, deny by linked directory", D, NULL, NULL, "Read(/sub/**)", "Read src/to-sub/.env", DENY },
		{ "6: link, allow needs the target", D, "Edit(src/**)", NULL, NULL, "Edit src/to-sub/x", ASK },
		{ "6: link, allow needs the link", D, "Edit(src/**)", NULL, NULL, "Edit to-src", ASK },
		{ "6: link, both", D, "Edit(src/**)\nEdit(/to-src)", NULL, NULL, "Edit to-src", ASK },
		{ "6: link, one rule for both", D, "Edit(**)", NULL, NULL, "Edit to-src", ALLOW },
		{ "6: .. resolved", D, "Edit(src/**)", NULL, NULL, "Edit src/../a.txt", ASK },
		{ "6: .. resolved, deny", D, NULL, NULL, "Read(.env)", "Read src/../.env", DENY },
		{ "6: double slashes", D, NULL, NULL, "Read(/conf/key)", "Read @//ws/./conf//key", DENY },
		{ "6: ~ may be home", B, NULL, NULL, "Read(~/id)", "Read ~/id", DENY },
		{ "6: by the other name", D, "Edit(src/**)", NULL, NULL, "Edit @/ws-link/src/a.c", ALLOW },
		{ "6: by the other name, deny", D, NULL, NULL, "Read(/conf/key)", "Read @/ws-link/conf/key", DENY },
		{ "6: rule by the other name", D, "Edit(//@/ws-link/src/**)", NULL, NULL, "Edit src/a.c", ALLOW },
		{ "6: loops", D, NULL, NULL, NULL, "Read loop", DENY },
	};
	(void)state;
	check_rows(rows, LENGTH(rows));
}

static void directories_of_section_7(void **state)
{
	static const struct row rows[] = {
		{ "7: outside", D, NULL, NULL, NULL, "Read @/out/secret", ASK },
		{ "7: outside by a link", D, NULL, NULL, NULL, "Read file-out", ASK },
		{ "7: outside, the whole tool is not the path", D, "Read", NULL, NULL, "Read @/out/secret", ASK },
		{ "7: outside by rule", D, "Read(//@/out/**)", NULL, NULL, "Read @/out/secret", ALLOW },
		{ "7: outside by rule, Grep", D, "Read(//@/out/**)", NULL, NULL, "Grep @/out", ALLOW },
		{ "7: outside by rule, not its sibling", D, "Read(//@/out/**)", NULL, NULL, "Read @/outer", ASK },
		{ "7: the same beginning", E, NULL, NULL, NULL, "Write @/ws-evil/x", ASK },
		{ "7: protected directory", E, "Edit", NULL, NULL, "Write .git/hooks/x", ASK },
		{ "7: protected through a link", E, "Edit", NULL, NULL, "Write src/to-git/config", ASK },
		{ "7: protected file", E, NULL, NULL, NULL, "Write sub/.npmrc", ASK },
		{ "7: protected, dontAsk", N, "Edit", NULL, NULL, "Edit .envrc", DENY },
		{ "7: protected, bypass", B, NULL, NULL, NULL, "Write .git/hooks/x", ALLOW },
		{ "7: protected may be read", D, NULL, NULL, NULL, "Read .git/config", ALLOW },
		{ "7: worktrees", E, NULL, NULL, NULL, "Write .claude/worktrees/a/x", ALLOW },
		{ "7: .claude", E, NULL, NULL, NULL, "Write .claude/settings.json", ASK },
		{ "7: added directory", E, NULL, NULL, NULL, "Write @/lib/y.h", ALLOW },
		{ "7: protected, rm by rule", D, "Bash(rm *)", NULL, NULL, "Bash rm .git/config", ASK },
	};
	(void)state;
	check_rows(rows, LENGTH(rows));
}

static void a_command_that_is_too_long(void **state)
{
	struct guard g;
	struct permission_verdict v;
	char *text = malloc(12001);
	(void)state;

	assert_non_null(text);
	memset(text, 'a', 12000);
	text[12000] = '\0';
	guard_open(&g, D, "Bash", NULL, NULL);
	const struct permission_call call = { .tool = "Bash", .subject = SUBJECT_COMMAND, .text = text };
	permissions_judge(g.p, &call, &v);
	assert_int_equal(v.permit, ASK);
	assert_string_equal(v.reason_type, "command");
	permission_verdict_release(&v);
	guard_close(&g);
	free(text);
}

static void what_is_offered(void **state)
{
	static const struct {
		enum permission_mode mode;
		const char *allow, *ask, *deny, *tool;
		enum permission_standing want;
	} rows[] = {
		{ D, NULL, NULL, NULL, "Read", STANDING_POSSIBLE },
		{ D, NULL, NULL, NULL, "Bash", STANDING_POSSIBLE },
		{ D, NULL, NULL, NULL, "Edit", STANDING_NEVER },
		{ D, "Edit", NULL, NULL, "Edit", STANDING_POSSIBLE },
		{ D, "Edit", NULL, NULL, "Write", STANDING_NEVER },
		{ D, "Edit(src/**)", NULL, NULL, "Write", STANDING_POSSIBLE },
		{ D, "Write(x)", NULL, NULL, "Write", STANDING_NEVER },
		{ D, NULL, NULL, NULL, "run", STANDING_NEVER },
		{ D, "run", NULL, NULL, "run", STANDING_POSSIBLE },
		{ E, NULL, NULL, NULL, "Write", STANDING_POSSIBLE },
		{ P, "Edit", NULL, NULL, "Edit", STANDING_NEVER },
		{ N, NULL, NULL, NULL, "Edit", STANDING_NEVER },
		{ B, NULL, NULL, NULL, "Edit", STANDING_POSSIBLE },
		{ B, NULL, NULL, "Edit", "Edit", STANDING_REMOVED },
		{ B, NULL, NULL, "Edit(*)", "Edit", STANDING_REMOVED },
		{ B, NULL, NULL, "Edit(x)", "Edit", STANDING_POSSIBLE },
		{ B, NULL, NULL, "mcp__*", "mcp__s__t", STANDING_REMOVED },
		{ B, NULL, "Edit", NULL, "Edit", STANDING_NEVER },
	};
	(void)state;
	for (size_t i = 0; i < LENGTH(rows); i++) {
		struct guard g;
		guard_open(&g, rows[i].mode, rows[i].allow, rows[i].ask, rows[i].deny);
		struct permission_call c = call_of(rows[i].tool, "");
		if (permissions_standing(g.p, c.tool, c.read_only, c.subject) != rows[i].want)
			fail_msg("row %zu", i);
		guard_close(&g);
	}
}

static void warnings_name_the_rule(void **state)
{
	static const struct {
		const char *allow, *deny, *says;
	} rows[] = {
		{ "Write(x)", NULL, "the allow rule Write(x) does nothing: " },
		{ "*", NULL, "the allow rule * does nothing: " },
		{ NULL, "Bsh(rm:x)", "the deny rule Bsh(rm:x) does nothing: there is no tool 'Bsh'" },
		{ NULL, "Bsh", "the deny rule Bsh does nothing: there is no tool 'Bsh'" },
		{ NULL, "Bash(command:rm)", "does nothing: it names the parameter" },
		{ NULL, "Bash(a:* b)", "may not mean what it seems to: ':*'" },
		{ "Edit(//usr/**)", NULL, "where nothing is written (see --add-dir)" },
		{ "Edit(//@/lib/**)", NULL, NULL },
		{ "Edit(//**)", NULL, NULL },
		{ "Read(//usr/**)", NULL, NULL },
		{ "mcp__x__y", NULL, NULL },
	};
	(void)state;
	for (size_t i = 0; i < LENGTH(rows); i++) {
		struct guard g;
		guard_open(&g, D, rows[i].allow, NULL, rows[i].deny);
		const char *first = permissions_warnings(g.p)[0];
		if (!rows[i].says != !first || (first && !strstr(first, rows[i].says)))
			fail_msg("row %zu: %s", i, first ? first : "no warning");
		guard_close(&g);
	}
}

static void searches_leave_out_what_must_not_be_read(void **state)
{
	struct guard g;
	(void)state;
	guard_open(&g, D, NULL, "Read(/conf/**)", "Read(.env)\nEdit(a.txt)");
	assert_true(permissions_hide_any(g.p));
	char *env = expand("@/ws/sub/.env"), *key = expand("@/ws/conf/key"), *plain = expand("@/ws/a.txt");
	assert_true(permissions_hide(g.p, env));
	assert_true(permissions_hide(g.p, key));
	assert_false(permissions_hide(g.p, plain));
	struct buf globs = BUF_INIT(1000), one = BUF_INIT(1000);
	char *sub = expand("@/ws/sub"), *out = expand("@/out");
	const char *const from[] = { g.ws, sub, out };
	for (size_t k = 0; k < LENGTH(from); k++)
		for (size_t i = 0; permissions_hide_glob(g.p, i, from[k], &one); i++)
			buf_addf(&globs, "%s|", buf_str(&one));
	assert_string_equal(buf_str(&globs), "/conf/**|**/.env||"
	                                     "|**/.env||"
	                                     "|||");
	buf_release(&globs);
	buf_release(&one);
	free(sub);
	free(out);
	free(env);
	free(key);
	free(plain);
	guard_close(&g);
	guard_open(&g, D, NULL, NULL, "Edit(a.txt)\nBash(rm *)");
	assert_false(permissions_hide_any(g.p));
	guard_close(&g);
}

static void the_run_directory_may_be_read(void **state)
{
	struct guard g;
	struct permission_verdict v;
	char *path = expand("@/out/secret"), *dir = expand("@/out");
	struct permission_call call = { .tool = "Read", .read_only = true, .subject = SUBJECT_READ, .text = path };
	(void)state;
	guard_open(&g, D, NULL, NULL, NULL);
	assert_int_equal(permissions_add_read_dir(g.p, dir), 0);
	permissions_judge(g.p, &call, &v);
	assert_int_equal(v.permit, ALLOW);
	permission_verdict_release(&v);
	call = call_of("Write", path);
	permissions_judge(g.p, &call, &v);
	assert_int_equal(v.permit, ASK);
	permission_verdict_release(&v);
	guard_close(&g);
	free(path);
	free(dir);
}

static void the_judged_path_is_told(void **state)
{
	struct guard g;
	struct permission_verdict v;
	char *real = expand("@/ws/src/a.c");
	struct permission_call call = { .tool = "Read", .read_only = true, .subject = SUBJECT_READ, .text = "to-src" };
	(void)state;
	guard_open(&g, D, NULL, NULL, "Read(.env)");
	permissions_judge(g.p, &call, &v);
	assert_int_equal(v.permit, ALLOW);
	assert_string_equal(v.path, real);
	assert_false(v.explicit_allow);
	permission_verdict_release(&v);
	guard_close(&g);
	guard_open(&g, D, "Read(//@/out/**)", NULL, NULL);
	call.text = "dir-out/secret";
	permissions_judge(g.p, &call, &v);
	assert_int_equal(v.permit, ASK); /* the link is not named */
	permission_verdict_release(&v);
	guard_close(&g);
	free(real);
}

static void modes_by_name(void **state)
{
	enum permission_mode m;
	(void)state;
	assert_true(permission_mode_find("manual", &m) && m == MODE_DEFAULT);
	assert_true(permission_mode_find("dontAsk", &m) && m == MODE_DONT_ASK);
	assert_true(permission_mode_find("bypassPermissions", &m) && m == MODE_BYPASS);
	assert_false(permission_mode_find("auto", &m));
	assert_string_equal(permission_mode_name(MODE_PLAN), "plan");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(order_of_section_1),
		cmocka_unit_test(modes_of_section_2),
		cmocka_unit_test(rules_of_section_4),
		cmocka_unit_test(commands_of_section_5),
		cmocka_unit_test(reports_of_section_5_6),
		cmocka_unit_test(paths_of_section_6),
		cmocka_unit_test(directories_of_section_7),
		cmocka_unit_test(a_command_that_is_too_long),
		cmocka_unit_test(what_is_offered),
		cmocka_unit_test(warnings_name_the_rule),
		cmocka_unit_test(searches_leave_out_what_must_not_be_read),
		cmocka_unit_test(the_run_directory_may_be_read),
		cmocka_unit_test(the_judged_path_is_told),
		cmocka_unit_test(modes_by_name),
	};

	return cmocka_run_group_tests(tests, make_world, remove_world);
}
