/* Settings files: which are read, which word holds, and what is only told. */
#include "job_try.h"

#include <sys/stat.h>

/* A directory with a home and a workspace in it, in which the test stands. */
struct room {
	char dir[64], back[512];
	struct trial t;
};

static void put(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

static int enter(void **state)
{
	struct room *r = calloc(1, sizeof *r);

	if (!r || !getcwd(r->back, sizeof r->back))
		return -1;
	snprintf(r->dir, sizeof r->dir, "/tmp/quern-test-set-XXXXXX");
	if (!mkdtemp(r->dir) || chdir(r->dir) || mkdir("home", 0700) || mkdir("home/.claude", 0700) ||
	    mkdir("w", 0700) || mkdir("w/.claude", 0700))
		return -1;
	*state = r;
	return 0;
}

static int leave(void **state)
{
	static const char *const files[] = { "s.json", "w/.claude/settings.json", "w/.claude/settings.local.json",
		                             "home/.claude/settings.json" };
	static const char *const dirs[] = { "w/.claude", "w", "home/.claude", "home" };
	struct room *r = *state;

	for (size_t i = 0; i < sizeof files / sizeof *files; i++)
		unlink(files[i]);
	for (size_t i = 0; i < sizeof dirs / sizeof *dirs; i++)
		rmdir(dirs[i]);
	int rc = chdir(r->back) || rmdir(r->dir);
	free(r);
	return rc;
}

/* All sources let in, in the workspace w. */
static void begin(struct room *r, const char *words, const char *yaml)
{
	char home[100], all[600];
	const char *const env[] = { home, NULL };

	snprintf(home, sizeof home, "HOME=%s/home", r->dir);
	snprintf(all, sizeof all, "-p|x|-C|w|--setting-sources|user,project,local%s%s", *words ? "|" : "", words);
	try_begin(&r->t, all, yaml, env);
}

static void expect(struct room *r, const char *words, const char *errors)
{
	begin(r, words, NULL);
	assert_string_equal(buf_str(&r->t.errs.text), errors);
	assert_int_equal(r->t.rc, *errors ? -1 : 0);
	try_end(&r->t);
}

static void expect_list(const char *const *v, const char *want)
{
	char got[600] = "";

	for (; *v; v++)
		snprintf(got + strlen(got), sizeof got - strlen(got), "%s;", *v);
	assert_string_equal(got, want);
}

#define HOOK(cmd) "{\"hooks\":{\"Stop\":[{\"hooks\":[{\"type\":\"command\",\"command\":\"" cmd "\"}]}]}}"

static void expect_hooks(const struct job *job, const char *want)
{
	char got[600] = "";

	for (size_t i = 0; i < job->nhooks; i++)
		snprintf(got + strlen(got), sizeof got - strlen(got), "%s;", job->hooks[i].command);
	assert_string_equal(got, want);
}

static void test_hooks_of_all_files_run_once(void **state)
{
	struct room *r = *state;

	put("s.json", HOOK("a"));
	put("w/.claude/settings.json", HOOK("a"));
	put("w/.claude/settings.local.json", HOOK("b"));
	put("home/.claude/settings.json", HOOK("c"));
	begin(r, "--settings|s.json|@", "hooks: {Stop: [{hooks: [{type: command, command: j}]}]}");
	assert_int_equal(r->t.rc, 0);
	expect_hooks(&r->t.job, "j;a;b;c;");
	assert_string_equal(r->t.job.hooks[1].source, "s.json:1:29");
	assert_string_equal(r->t.job.hooks[2].source, "w/.claude/settings.local.json:1:29");
	try_end(&r->t);
}

static void test_nothing_is_read_unasked(void **state)
{
	struct room *r = *state;
	const char *const env[] = { "HOME=home", NULL };

	put("w/.claude/settings.json", "no JSON");
	put("home/.claude/settings.json", "no JSON");
	try_begin(&r->t, "-p|x|-C|w|--setting-sources=", NULL, env);
	assert_int_equal(r->t.rc, 0);
	try_end(&r->t);
	try_begin(&r->t, "-p|x|-C|w|--setting-sources|local", NULL, env);
	assert_int_equal(r->t.rc, 0);
	try_end(&r->t);
}

static void test_permissions_are_added(void **state)
{
	struct room *r = *state;
	char want[300];

	put("s.json", "{\"permissions\":{\"allow\":[\"Edit\",\"Read(/a)\",\"Read(//b)\"],\"deny\":[\"Read(.env)\"],"
	              "\"defaultMode\":\"acceptEdits\",\"additionalDirectories\":[\"/usr\",\"sub\",\"~/x\",\"~\"]}}");
	put("w/.claude/settings.json", "{\"permissions\":{\"allow\":[\"Edit\",\"Read(/c)\"],\"ask\":[\"Bash(rm *)\"],"
	                               "\"defaultMode\":\"plan\"}}");
	put("home/.claude/settings.json", "{\"permissions\":{\"deny\":[\"Edit(/d)\",\"Bash(/bin/x *)\"]}}");
	begin(r, "--allowedTools|Write|--settings|s.json", NULL);
	assert_string_equal(buf_str(&r->t.errs.text), "");
	snprintf(want, sizeof want, "Write;Edit;Read(/%s/a);Read(//b);Read(/c);", r->dir);
	expect_list(r->t.job.allow, want);
	expect_list(r->t.job.ask, "Bash(rm *);");
	snprintf(want, sizeof want, "Read(.env);Edit(/%s/home/.claude/d);Bash(/bin/x *);", r->dir);
	expect_list(r->t.job.deny, want);
	assert_string_equal(r->t.job.permission_mode, "acceptEdits");
	snprintf(want, sizeof want, "/usr;w/sub;%s/home/x;%s/home;", r->dir, r->dir);
	expect_list(r->t.job.add_dirs, want);
	try_end(&r->t);
	begin(r, "--settings|s.json|--permission-mode|dontAsk", NULL);
	assert_string_equal(r->t.job.permission_mode, "dontAsk");
	try_end(&r->t);
}

static void test_variables(void **state)
{
	struct room *r = *state;

	put("s.json", "{\"env\":{\"A\":\"s\",\"B\":\"s\",\"N\":3}}");
	put("w/.claude/settings.json", "{\"env\":{\"B\":\"p\",\"C\":\"p\"}}");
	begin(r, "--settings|s.json|@", "env: {A: j}");
	assert_int_equal(r->t.rc, 0);
	char got[100] = "";
	for (size_t i = 0; i < r->t.job.nenv; i++)
		snprintf(got + strlen(got), sizeof got - strlen(got), "%s=%s;", r->t.job.env[i].name,
		         r->t.job.env[i].value);
	assert_string_equal(got, "A=j;B=s;N=3;C=p;");
	try_end(&r->t);
}

static void test_who_turns_hooks_off(void **state)
{
	static const char job[] = "hooks: {Stop: [{hooks: [{type: command, command: j}]}]}";
	struct room *r = *state;

	/* a file that was found turns off what was found */
	put("w/.claude/settings.json", "{\"disableAllHooks\":true}");
	put("home/.claude/settings.json", HOOK("c"));
	begin(r, "--settings|" HOOK("s") "|@", job);
	expect_hooks(&r->t.job, "j;s;");
	try_end(&r->t);
	/* the stronger word holds */
	put("w/.claude/settings.local.json", "{\"disableAllHooks\":false}");
	begin(r, "@", job);
	expect_hooks(&r->t.job, "j;c;");
	try_end(&r->t);
	/* the one that was named turns off all */
	begin(r, "--settings|{\"disableAllHooks\":true}|@", job);
	expect_hooks(&r->t.job, "");
	try_end(&r->t);
	unlink("w/.claude/settings.local.json");
	begin(r, "--settings|{\"disableAllHooks\":false}|@", job);
	expect_hooks(&r->t.job, "j;c;");
	try_end(&r->t);
}

static void test_hook_failure_holds_for_them(void **state)
{
	struct room *r = *state;

	begin(r, "--settings|" HOOK("s") "|@", "hook_failure: block");
	assert_true(r->t.job.hooks[0].blocks);
	try_end(&r->t);
}

static const struct {
	const char *text, *errors;
} wrongs[] = {
	{ "{\"a\":", "--settings:1:6: the text ends where a value was expected\n" },
	{ "{\n \"\xC3\xA4\": x}", "--settings:2:7: expected a value, found 'x'\n" },
	{ "{\"hooks\":{\"PreToolUse\":[{\"matcher\":5,\"hooks\":[]}]}}",
	  "--settings:1:36: hooks.PreToolUse[0]: matcher must be a string\n" },
	{ "{\"hooks\":{\"PreToolUse\":[{\"hooks\":[{\"type\":\"command\",\"command\":\"c\",\"if\":null}]}]}}",
	  "--settings:1:72: hooks.PreToolUse[0].hooks[0].if: must be a string\n" },
	{ "{\"a\":1,\"a\":2}", "--settings:1:8: the key \"a\" occurs twice\n" },
	{ "{\"env\":{\"A\":\"\\u0000\"}}", "--settings:1:13: a NUL character is not allowed\n" },
	{ "{\"hooks\":[]}", "--settings:1:10: hooks: must be a map of events, as in {Stop: [{hooks: [{type: command, "
	                    "command: ./check.sh}]}]}\n" },
	{ "{\"hooks\":{\"Stop\":[{\"hooks\":[{\"type\":\"http\"}]}]}}",
	  "--settings:1:37: hooks.Stop[0].hooks[0]: only hooks of type command are run, not 'http'\n" },
	{ "{\"permissions\":{\"allow\":[\"Bash(\"]}}", "--settings:1:26: permissions.allow: the rule 'Bash(' is "
	                                               "malformed: a ')' is missing at the end; write \\( and "
	                                               "\\) for single parentheses\n" },
	{ "{\"permissions\":{\"defaultMode\":\"auto\"}}", "--settings:1:31: permissions.mode: must be default, "
	                                                  "acceptEdits, plan, dontAsk, bypassPermissions or manual, "
	                                                  "not 'auto'\n" },
	{ "{\"permissions\":[]}", "--settings:1:16: permissions: must be an object\n" },
	{ "{\"disableAllHooks\":\"true\"}", "--settings:1:20: disableAllHooks: must be true or false\n" },
	{ "{\"env\":{\"A\":[]}}", "--settings:1:13: env.A: must be a string\n" },
	{ "missing.json", "settings: cannot open 'missing.json': No such file or directory\n" },
};

static void test_errors_of_the_named_one(void **state)
{
	char words[300];

	for (size_t i = 0; i < sizeof wrongs / sizeof *wrongs; i++) {
		snprintf(words, sizeof words, "--settings|%s", wrongs[i].text);
		expect(*state, words, wrongs[i].errors);
	}
}

static void test_what_cannot_be_read_is_an_error(void **state)
{
	put("w/.claude/settings.json", "{\"permissions\":{\"deny\":[\"Bash(\"]}}");
	expect(*state, "",
	       "w/.claude/settings.json:1:25: permissions.deny: the rule 'Bash(' is malformed: a ')' is missing at the "
	       "end; write \\( and \\) for single parentheses\n");
	unlink("w/.claude/settings.json");
	assert_int_equal(mkdir("w/.claude/settings.json", 0700), 0);
	expect(*state, "", "w/.claude/settings.json: not a regular file\n");
	rmdir("w/.claude/settings.json");
	assert_int_equal(mkfifo("w/.claude/settings.json", 0600), 0);
	expect(*state, "", "w/.claude/settings.json: not a regular file\n");
	put("s.json", "{\"permissions\":{\"disableBypassPermissionsMode\":\"disable\"}}");
	unlink("w/.claude/settings.json");
	expect(*state, "--settings|s.json|--permission-mode|bypassPermissions",
	       "s.json:1:48: permissions.disableBypassPermissionsMode: forbids the mode bypassPermissions, which the "
	       "run "
	       "asks for\n");
	expect(*state, "--settings|s.json", "");
}

static const struct {
	const char *text, *warning;
} told[] = {
	{ "{\"hooks\":{\"Stop\":[{\"hooks\":[{\"type\":\"prompt\",\"prompt\":\"p\"}]}]}}",
	  ":1:37: hooks.Stop[0].hooks[0]: only hooks of type command are run, not 'prompt'" },
	{ "{\"hooks\":{\"Stopp\":[]}}",
	  ":1:11: hooks: Stopp: no such event, its hooks do not run (did you mean Stop?)" },
	{ "{\"hooks\":{\"CwdChanged\":[]}}", ":1:11: hooks: CwdChanged never happens here: its hooks do not run" },
	{ "{\"hooks\":{\"Stop\":[{\"matchr\":\"x\",\"hooks\":[]}]}}",
	  ":1:20: hooks.Stop[0]: 'matchr' is not known and ignored" },
	{ "{\"permissions\":{\"allow\":[\"Bash(\"]}}",
	  ":1:26: permissions.allow: the rule 'Bash(' is malformed: a ')' is missing at the end; write \\( and \\) for "
	  "single parentheses: ignored" },
	{ "{\"permissions\":{\"defaultMode\":\"bypassPermissions\"}}",
	  ":1:31: permissions.defaultMode: bypassPermissions is ignored: a file of the workspace cannot ask for it" },
	{ "{\"permissions\":{\"defaultMode\":\"auto\"}}",
	  ":1:31: permissions.defaultMode: there is no such mode here: ignored" },
	{ "{\"hook\":{}}", ":1:2: hook: is not known and ignored (did you mean hooks?)" },
	{ "{\"permissions\":{\"alow\":[]}}",
	  ":1:17: permissions.alow: is not known and ignored (did you mean allow?)" },
	{ "{\"model\":\"opus\",\"statusLine\":{},\"hooks\":null}", NULL },
};

static void test_what_is_only_told(void **state)
{
	struct room *r = *state;

	for (size_t i = 0; i < sizeof told / sizeof *told; i++) {
		char want[400];
		put("w/.claude/settings.json", told[i].text);
		begin(r, "", NULL);
		assert_string_equal(buf_str(&r->t.errs.text), "");
		assert_int_equal(r->t.job.nhooks, 0);
		expect_list(r->t.job.allow, "");
		snprintf(want, sizeof want, "w/.claude/settings.json%s", told[i].warning ? told[i].warning : "");
		if (told[i].warning)
			assert_string_equal(r->t.job.warnings[0], want);
		assert_null(r->t.job.warnings[told[i].warning ? 1 : 0]);
		try_end(&r->t);
	}
}

static void test_an_asked_for_home_must_be(void **state)
{
	static const char *const none[] = { NULL };
	struct room *r = *state;

	try_begin(&r->t, "-p|x|--setting-sources|user", NULL, none);
	assert_string_equal(buf_str(&r->t.errs.text),
	                    "setting_sources: HOME is not set: there are no settings of the user\n");
	try_end(&r->t);
}

int main(void)
{
#define IN_ROOM(f) cmocka_unit_test_setup_teardown(f, enter, leave)
	const struct CMUnitTest tests[] = {
		IN_ROOM(test_hooks_of_all_files_run_once), IN_ROOM(test_nothing_is_read_unasked),
		IN_ROOM(test_permissions_are_added),       IN_ROOM(test_variables),
		IN_ROOM(test_who_turns_hooks_off),         IN_ROOM(test_hook_failure_holds_for_them),
		IN_ROOM(test_errors_of_the_named_one),     IN_ROOM(test_what_cannot_be_read_is_an_error),
		IN_ROOM(test_what_is_only_told),           IN_ROOM(test_an_asked_for_home_must_be),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
