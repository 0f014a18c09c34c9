/* A call that somebody said yes to, and the rule that a hook's `if` is. */
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "guard/permission.h"

#define LENGTH(a) (sizeof(a) / sizeof *(a))
#define D         MODE_DEFAULT
#define ALLOW     PERMIT_ALLOW
#define ASK       PERMIT_ASK
#define DENY      PERMIT_DENY

static char workspace[256];

static int make_world(void **state)
{
	const char *tmp = getenv("TMPDIR");
	char made[200];
	(void)state;

	snprintf(made, sizeof made, "%s/quern-lift-XXXXXX", tmp ? tmp : "/tmp");
	char *real = mkdtemp(made) ? realpath(made, NULL) : NULL;
	if (!real || chdir(real) < 0 || mkdir("src", 0755) || mkdir(".git", 0755) || symlink("src", "link"))
		return -1;
	snprintf(workspace, sizeof workspace, "%s", real);
	free(real);
	return 0;
}

static int remove_world(void **state)
{
	(void)state;
	return unlink("link") || rmdir("src") || rmdir(".git") || chdir("/") || rmdir(workspace);
}

static struct permissions *rules(enum permission_mode mode, const char *ask, const char *deny)
{
	const char *asks[] = { ask, NULL }, *denies[] = { deny, NULL };
	const struct permission_config cfg = { .mode = mode, .ask = asks, .deny = denies, .workspace = workspace };
	struct error e;
	struct permissions *p = permissions_open(&cfg, &e);

	if (!p)
		fail_msg("%s", e.msg);
	return p;
}

/* "Tool text" */
static struct permission_call call_of(const char *line)
{
	static const struct permission_call kinds[] = {
		{ .tool = "Bash", .subject = SUBJECT_COMMAND },
		{ .tool = "Read", .subject = SUBJECT_READ, .read_only = true },
		{ .tool = "Grep", .subject = SUBJECT_READ, .read_only = true },
		{ .tool = "Edit", .subject = SUBJECT_EDIT },
		{ .tool = "Write", .subject = SUBJECT_EDIT },
		{ .tool = "run" },
	};
	size_t n = strcspn(line, " ");

	for (size_t i = 0; i < LENGTH(kinds); i++)
		if (strncmp(kinds[i].tool, line, n) == 0 && !kinds[i].tool[n]) {
			struct permission_call c = kinds[i];
			*(c.subject ? &c.text : &c.input) = line[n] ? line + n + 1 : c.subject ? NULL : "{}";
			return c;
		}
	fail_msg("no such tool: %s", line);
	return kinds[0];
}

static void what_a_word_lifts(void **state)
{
	static const struct {
		enum permission_mode mode;
		const char *ask, *deny, *call;
		enum permit without, question, all;
		bool may_ask;
	} rows[] = {
		{ D, NULL, NULL, "Bash make", ASK, ALLOW, ALLOW, true },
		{ D, NULL, NULL, "Bash make > src/x && rm src/x", ASK, ALLOW, ALLOW, true },
		{ D, NULL, NULL, "Edit src/a", ASK, ALLOW, ALLOW, true },
		{ D, NULL, NULL, "run {}", ASK, ALLOW, ALLOW, true },
		{ D, NULL, NULL, "Read /usr/x", ASK, ALLOW, ALLOW, true },
		{ D, NULL, NULL, "Write /usr/x", ASK, ALLOW, ALLOW, true },
		/* rules hold, and what protects */
		{ D, NULL, "Bash(make *)", "Bash make", DENY, DENY, DENY, false },
		{ D, NULL, "run", "run {}", DENY, DENY, DENY, false },
		{ D, NULL, "Edit(src/**)", "Write src/a", DENY, DENY, DENY, false },
		{ D, NULL, "Read(src/**)", "Read link/a", DENY, DENY, DENY, false },
		{ D, "Bash(make *)", NULL, "Bash make", ASK, ASK, ALLOW, true },
		{ D, "run", NULL, "run {}", ASK, ASK, ALLOW, true },
		{ D, "Read(src/**)", NULL, "Read src/a", ASK, ASK, ALLOW, true },
		{ D, NULL, NULL, "Edit .git/config", ASK, ASK, ALLOW, true },
		{ D, NULL, NULL, "Bash touch .git/config", ASK, ASK, ALLOW, true },
		{ D, NULL, NULL, "Bash rm -rf /", DENY, DENY, DENY, false },
		{ D, NULL, NULL, "Bash echo $(rm -rf ~/..) x", DENY, DENY, DENY, false },
		{ D, NULL, NULL, "Bash if true; then make", ASK, ASK, ALLOW, true },
		{ D, NULL, "Bash(rm *)", "Bash eval \"$x\"", ASK, ASK, ALLOW, true },
		/* modes */
		{ MODE_PLAN, NULL, NULL, "Edit src/a", ASK, ASK, ASK, false },
		{ MODE_PLAN, NULL, NULL, "Bash make", ASK, ASK, ASK, false },
		{ MODE_PLAN, NULL, NULL, "run {}", ASK, ASK, ASK, false },
		{ MODE_PLAN, NULL, NULL, "Read /usr/x", ASK, ALLOW, ALLOW, true },
		{ MODE_DONT_ASK, NULL, NULL, "Bash make", DENY, ALLOW, ALLOW, false },
		{ MODE_DONT_ASK, "Bash(make)", NULL, "Bash make", DENY, DENY, ALLOW, false },
		{ MODE_BYPASS, "Bash(make)", NULL, "Bash make", ASK, ASK, ALLOW, true },
		{ MODE_BYPASS, NULL, NULL, "Edit .git/config", ALLOW, ALLOW, ALLOW, false },
	};
	(void)state;
	for (size_t i = 0; i < LENGTH(rows); i++) {
		struct permissions *p = rules(rows[i].mode, rows[i].ask, rows[i].deny);
		struct permission_call call = call_of(rows[i].call);
		const enum permit want[] = { rows[i].without, rows[i].question, rows[i].all };
		for (call.lift = LIFT_NOTHING; call.lift <= LIFT_ALL; call.lift++) {
			struct permission_verdict v;
			permissions_judge(p, &call, &v);
			if (v.permit != want[call.lift] || (v.why != NULL) != (v.permit != ALLOW) ||
			    (call.lift == LIFT_NOTHING && v.may_ask != rows[i].may_ask))
				fail_msg("row %zu (%s), lift %d: %d, may ask %d: %s", i, rows[i].call, (int)call.lift,
				         (int)v.permit, v.may_ask, v.why ? v.why : "-");
			if (v.permit == ALLOW && call.lift && call.subject != SUBJECT_COMMAND && call.subject)
				assert_true(v.path && v.explicit_allow);
			permission_verdict_release(&v);
		}
		permissions_free(p);
	}
}

static void what_may_be_lifted(void **state)
{
	static const struct {
		enum permission_mode mode;
		const char *ask, *deny, *tool;
		bool question, all;
	} rows[] = {
		{ D, NULL, NULL, "Edit", true, true },
		{ D, "Edit", NULL, "Edit", false, true },
		{ D, NULL, "Edit", "Edit", false, false },
		{ MODE_PLAN, NULL, NULL, "Edit", false, false },
		{ MODE_PLAN, "Read", NULL, "Read", false, true },
		{ MODE_DONT_ASK, NULL, NULL, "run", true, false },
	};
	(void)state;
	for (size_t i = 0; i < LENGTH(rows); i++) {
		struct permissions *p = rules(rows[i].mode, rows[i].ask, rows[i].deny);
		struct permission_call c = call_of(rows[i].tool);
		if (permissions_may_lift(p, c.tool, c.read_only, LIFT_QUESTION) != rows[i].question ||
		    permissions_may_lift(p, c.tool, c.read_only, LIFT_ALL) != rows[i].all)
			fail_msg("row %zu", i);
		permissions_free(p);
	}
}

static void who_is_told(void **state)
{
	static const struct {
		const char *rule, *call;
		bool meets;
	} rows[] = {
		{ "Bash", "Bash make", true },
		{ "Bash(*)", "Bash make", true },
		{ "Bash", "Read a", false },
		{ "*", "Read a", true },
		{ "Bash(git *)", "Bash git status", true },
		{ "Bash(git:*)", "Bash git", true },
		{ "Bash(git *)", "Bash make", false },
		{ "Bash(git *)", "Bash rm -rf /", false },
		/* one of several commands, behind what runs it, and what cannot be told */
		{ "Bash(git push *)", "Bash make && git push origin", true },
		{ "Bash(git push *)", "Bash (cd src; A=b git push)", true },
		{ "Bash(git push *)", "Bash echo $(git push)", true },
		{ "Bash(git push *)", "Bash timeout 5 sudo /usr/bin/git push", true },
		{ "Bash(git push *)", "Bash git pull && make push", false },
		{ "Bash(git *)", "Bash $x push", true },
		{ "Bash(git *)", "Bash if true; then make", true },
		{ "Bash(git *)", "Bash eval \"$x\"", true },
		{ "Bash(git *)", "Bash cat .git/config > src/x", false },
		/* paths: a rule of reading speaks of all that reads, one of editing of all that writes */
		{ "Read(src/**)", "Read src/a", true },
		{ "Read(src/**)", "Read link/a", true },
		{ "Read(src/**)", "Read sub/src/a", false },
		{ "Read(src/**)", "Grep src", true },
		{ "Read(src/**)", "Grep", false },
		{ "Read(/src/**)", "Edit src/a", false },
		{ "Edit(*.c)", "Edit src/a.c", true },
		{ "Edit(*.c)", "Write src/a.c", true },
		{ "Edit(*.c)", "Write src/a.h", false },
		{ "Edit(*.c)", "Read src/a.c", false },
		{ "Edit(*.c)", "Bash cat a.c", false },
		{ "Write(*.c)", "Write src/a.c", true },
		{ "Write(*.c)", "Write src/a.h", false },
		{ "Write(*.c)", "Edit src/a.c", false },
		{ "Grep(src/**)", "Grep src", true },
		/* members of the input */
		{ "run(n:3)", "run {\"n\":3}", true },
		{ "run(n:3)", "run {\"n\":4}", false },
		{ "run(n:3)", "Bash run", false },
		/* it says nothing that could be understood */
		{ "Bash(git", "Bash make", true },
		{ "", "Bash make", true },
	};
	struct permissions *p = rules(D, NULL, "Bash(make)");
	(void)state;
	for (size_t i = 0; i < LENGTH(rows); i++) {
		struct permission_call call = call_of(rows[i].call);
		if (permissions_meets(p, rows[i].rule, &call) != rows[i].meets)
			fail_msg("'%s' of '%s': not %d", rows[i].rule, rows[i].call, rows[i].meets);
	}
	permissions_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_a_word_lifts),
		cmocka_unit_test(what_may_be_lifted),
		cmocka_unit_test(who_is_told),
	};

	return cmocka_run_group_tests(tests, make_world, remove_world);
}
