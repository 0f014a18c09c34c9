/* The grammar of single rules: what is one, what it says, what it fits. */
#include "test.h"

#include <stdlib.h>
#include <string.h>

#include "guard/rule.h"

#define LENGTH(a) (sizeof(a) / sizeof *(a))

static struct rule parsed(struct arena *a, enum rule_effect effect, const char *text)
{
	struct error e = ERROR_INIT;
	struct rule r;

	if (rule_parse(&r, effect, text, a, &e) < 0)
		fail_msg("'%s' is refused: %s", text, e.msg);
	return r;
}

/* Words with '|' as their border become a command. */
static struct glob command(const char *words, glob_sym out[1024])
{
	size_t n = 0;

	for (; *words; words++)
		out[n++] = *words == '|' ? 0 : *words == '@' ? GLOB_ANY : (unsigned char)*words;
	return (struct glob){ out, n, NULL };
}

static void commands_by_section_4(void **state)
{
	static const struct {
		const char *rule, *words;
		bool fits;
	} rows[] = {
		/* Bash(npm run build): exactly that */
		{ "Bash(npm run build)", "npm|run|build", true },
		{ "Bash(npm run build)", "npm|run|build|x", false },
		{ "Bash(npm run build)", "npm|run", false },
		{ "Bash(npm  run\tbuild)", "npm|run|build", true },
		{ "Bash( npm run build )", "npm|run|build", true },
		/* Bash(git diff:*) = Bash(git diff *) */
		{ "Bash(git diff:*)", "git|diff", true },
		{ "Bash(git diff:*)", "git|diff|--stat|a b", true },
		{ "Bash(git diff:*)", "git|difftool", false },
		{ "Bash(git diff *)", "git|diff", true },
		{ "Bash(git diff *)", "git|diff|x", true },
		{ "Bash(git diff *)", "git|difftool", false },
		{ "Bash(git diff *)", "git", false },
		/* ':*' is special at the end only */
		{ "Bash(git:* push)", "git:x|push", true },
		{ "Bash(git:* push)", "git|push", false },
		/* Bash(ls*): the prefix, also lsof */
		{ "Bash(ls*)", "ls", true },
		{ "Bash(ls*)", "lsof|-i", true },
		{ "Bash(ls*)", "l", false },
		/* '*' anywhere, spaces too */
		{ "Bash(git * main)", "git|push|origin|main", true },
		{ "Bash(git * main)", "git|push|main|x", false },
		{ "Bash(* --version)", "node|--version", true },
		{ "Bash(* --version)", "node|a|b|--version", true },
		{ "Bash(* --version)", "node|--versions", false },
		{ "Bash(* *)", "a|b", true },
		/* a border of words is not a space in a word */
		{ "Bash(cat a b)", "cat|a b", false },
		{ "Bash(cat 'a b')", "cat|a b", true },
		{ "Bash(git commit -m \"fix *\")", "git|commit|-m|fix it all", true },
		{ "Bash(echo it's)", "echo|it's", true },
		/* escapes */
		{ "Bash(find \\(x\\))", "find|(x)", true },
		{ "Bash(find (x))", "find|(x)", true },
		{ "Bash(echo a\\\\b)", "echo|a\\b", true },
		{ "Bash(echo \\*)", "echo|*", true },
		{ "Bash(echo \\*)", "echo|x", false },
		/* what is not known is fitted by a wildcard alone */
		{ "Bash(echo *)", "echo|@", true },
		{ "Bash(echo x)", "echo|@", false },
		{ "Bash(echo x*)", "echo|@", false },
	};
	glob_sym s[1024];
	(void)state;
	for (size_t i = 0; i < LENGTH(rows); i++) {
		struct arena a = ARENA_INIT;
		struct rule r = parsed(&a, RULE_ALLOW, rows[i].rule);
		assert_int_equal(r.kind, RULE_COMMAND);
		if (rule_covers_command(&r, command(rows[i].words, s)) != rows[i].fits)
			fail_msg("%s against %s should be %d", rows[i].rule, rows[i].words, rows[i].fits);
		arena_release(&a);
	}
}

static void what_is_not_known_may_fit(void **state)
{
	static const struct {
		const char *rule, *words;
		bool may;
	} rows[] = {
		{ "Bash(git push *)", "git|@", true },
		{ "Bash(git push *)", "git|log|@", false },
		{ "Bash(git push *)", "@", true },
		{ "Bash(git push *)", "git|pu@", true },
		{ "Bash(git push *)", "git|pull@", false },
		{ "Bash(rm *)", "echo|@", false },
		{ "Bash(rm *)", "r@", true },
		{ "Bash(* --force)", "x|@", true },
		{ "Bash(* --force)", "x|@|--soft", false },
		{ "Bash(rm *)", "rm", true },
	};
	glob_sym s[1024];
	(void)state;
	for (size_t i = 0; i < LENGTH(rows); i++) {
		struct arena a = ARENA_INIT;
		struct rule r = parsed(&a, RULE_DENY, rows[i].rule);
		if (rule_meets_command(&r, command(rows[i].words, s)) != rows[i].may)
			fail_msg("%s against %s should be %d", rows[i].rule, rows[i].words, rows[i].may);
		arena_release(&a);
	}
}

static void matching_takes_no_time_that_explodes(void **state)
{
	struct arena a = ARENA_INIT;
	struct rule r = parsed(&a, RULE_DENY, "Bash(a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*b)");
	static glob_sym s[10000];
	(void)state;
	for (size_t i = 0; i < LENGTH(s); i++)
		s[i] = 'a';
	assert_false(rule_covers_command(&r, (struct glob){ s, LENGTH(s), NULL }));
	assert_int_equal(rule_meets_command(&r, (struct glob){ s, LENGTH(s), NULL }), 0);
	s[9999] = 'b';
	assert_true(rule_covers_command(&r, (struct glob){ s, LENGTH(s), NULL }));
	arena_release(&a);
}

static void names_of_tools(void **state)
{
	static const struct {
		const char *rule, *tool;
		bool fits;
	} rows[] = {
		{ "Bash", "Bash", true },
		{ "Bash(*)", "Bash", true },
		{ "Bash", "bash", false },
		{ "Bash", "BashOutput", false },
		{ "*", "Anything", true },
		{ "mcp__*", "mcp__a__b", true },
		{ "mcp__*", "Read", false },
		{ "mcp__srv", "mcp__srv__tool", true },
		{ "mcp__srv", "mcp__srv2__tool", false },
		{ "mcp__srv__*", "mcp__srv__tool", true },
		{ "mcp__srv__tool", "mcp__srv__tool", true },
		{ "mcp__srv__tool", "mcp__srv__tool2", false },
		{ "mcp__srv__get_*", "mcp__srv__get_x", true },
	};
	(void)state;
	for (size_t i = 0; i < LENGTH(rows); i++) {
		struct arena a = ARENA_INIT;
		struct rule r = parsed(&a, RULE_DENY, rows[i].rule);
		assert_int_equal(r.kind, RULE_TOOL);
		if (rule_names(&r, rows[i].tool) != rows[i].fits)
			fail_msg("%s against %s should be %d", rows[i].rule, rows[i].tool, rows[i].fits);
		arena_release(&a);
	}
}

static void hosts(void **state)
{
	static const struct {
		const char *rule, *url;
		bool fits;
	} rows[] = {
		{ "WebFetch(domain:example.com)", "https://example.com/x", true },
		{ "WebFetch(domain:example.com)", "https://EXAMPLE.Com:8443?q", true },
		{ "WebFetch(domain:example.com.)", "https://example.com./", true },
		{ "WebFetch(domain:example.com)", "https://a.example.com/", false },
		{ "WebFetch(domain:example.com)", "https://example.com.evil.test/", false },
		{ "WebFetch(domain:example.com)", "https://example.com@evil.test/", false },
		{ "WebFetch(domain:example.com)", "https://evil.test\\@example.com/", false },
		{ "WebFetch(domain:example.com)", "https://evil.test/?x=https://example.com", false },
		{ "WebFetch(domain:*.example.com)", "https://a.example.com/", true },
		{ "WebFetch(domain:*.example.com)", "https://a.b.example.com/", true },
		{ "WebFetch(domain:*.example.com)", "https://example.com/", false },
		{ "WebFetch(domain:*.example.com)", "https://badexample.com/", false },
		{ "WebFetch(domain:api-*.example.com)", "https://api-1.example.com/", true },
		{ "WebFetch(domain:api-*.example.com)", "https://api-1.x.example.com/", false },
		{ "WebFetch(domain:*)", "http://anything/", true },
	};
	(void)state;
	for (size_t i = 0; i < LENGTH(rows); i++) {
		struct arena a = ARENA_INIT;
		struct rule r = parsed(&a, RULE_ALLOW, rows[i].rule);
		assert_int_equal(r.kind, RULE_DOMAIN);
		if (rule_covers_url(&r, rows[i].url) != rows[i].fits)
			fail_msg("%s against %s should be %d", rows[i].rule, rows[i].url, rows[i].fits);
		arena_release(&a);
	}
}

static void kinds_and_warnings(void **state)
{
	static const struct {
		enum rule_effect effect;
		const char *rule;
		enum rule_kind kind;
		bool warned;
	} rows[] = {
		{ RULE_ALLOW, "Read(./.env)", RULE_PATH, false },
		{ RULE_ALLOW, "Edit(/src/**)", RULE_PATH, false },
		{ RULE_DENY, "Edit(//abs/**)", RULE_PATH, false },
		{ RULE_DENY, "Read(~/x)", RULE_PATH, false },
		{ RULE_ALLOW, "Read(*)", RULE_TOOL, false },
		{ RULE_ALLOW, "Agent(helper)", RULE_NAME, false },
		{ RULE_DENY, "Skill(deploy)", RULE_NAME, false },
		{ RULE_DENY, "fetch(mode:write*)", RULE_PARAM, false },
		{ RULE_ASK, "Bash(run_in_background:true)", RULE_PARAM, false },
		{ RULE_ALLOW, "Bash(timeout:*)", RULE_COMMAND, false },
		{ RULE_DENY, "Bash(npm:x y)", RULE_COMMAND, false },
		{ RULE_DENY, "Bash(a:* b)", RULE_COMMAND, true },
		/* ignored with a warning */
		{ RULE_DENY, "Write(a/b)", RULE_NOTHING, true },
		{ RULE_ALLOW, "NotebookEdit(x)", RULE_NOTHING, true },
		{ RULE_ALLOW, "MultiEdit(x)", RULE_NOTHING, true },
		{ RULE_ALLOW, "Glob(x)", RULE_NOTHING, true },
		{ RULE_ALLOW, "*", RULE_NOTHING, true },
		{ RULE_ALLOW, "mcp__*", RULE_NOTHING, true },
		{ RULE_ALLOW, "mcp__s*__x", RULE_NOTHING, true },
		{ RULE_ALLOW, "mcp__s__*", RULE_TOOL, false },
		{ RULE_DENY, "Bash(command:rm *)", RULE_NOTHING, true },
		{ RULE_DENY, "tool(file_path:x)", RULE_NOTHING, true },
		{ RULE_DENY, "WebFetch", RULE_TOOL, false },
	};
	(void)state;
	for (size_t i = 0; i < LENGTH(rows); i++) {
		struct arena a = ARENA_INIT;
		struct rule r = parsed(&a, rows[i].effect, rows[i].rule);
		if (r.kind != rows[i].kind || (r.warning != NULL) != rows[i].warned)
			fail_msg("%s: kind %d, warning %s", rows[i].rule, r.kind, r.warning ? r.warning : "none");
		arena_release(&a);
	}
}

static void malformed_rules_say_how_they_should_read(void **state)
{
	static const struct {
		enum rule_effect effect;
		const char *rule, *says;
	} rows[] = {
		{ RULE_ALLOW, "", "should read Tool" },
		{ RULE_ALLOW, "(x)", "should read Tool" },
		{ RULE_ALLOW, "Bash rm", "should read Tool" },
		{ RULE_ALLOW, "Bash(rm", "')' is missing" },
		{ RULE_ALLOW, "Bash(rm \\)", "')' is missing" },
		{ RULE_ALLOW, "Bash)", "'(' is missing" },
		{ RULE_ALLOW, "Bash(rm) x", "behind the ')'" },
		{ RULE_ALLOW, "Bash()", "empty" },
		{ RULE_ALLOW, "Bash(  )", "empty" },
		{ RULE_ALLOW, "Bash(:*)", "write Bash" },
		{ RULE_ALLOW, "Read(!x)", "opposite" },
		{ RULE_ALLOW, "Read(~user/x)", "~/" },
		{ RULE_ALLOW, "Read(a*/../b)", "'..'" },
		{ RULE_ALLOW, "WebFetch(example.com)", "WebFetch(domain:example.com)" },
		{ RULE_ALLOW, "WebFetch(domain:https://x)", "host name alone" },
		{ RULE_ALLOW, "fetch(mode:x)", "deny and ask only" },
		{ RULE_DENY, "fetch(mode:)", "value is missing" },
		{ RULE_DENY, "fetch(x y)", "takes no specifier" },
		{ RULE_DENY, "mcp__*(x:y)", "several tools" },
		{ RULE_DENY, "Bash(a\nb)", "control characters" },
	};
	(void)state;
	for (size_t i = 0; i < LENGTH(rows); i++) {
		struct arena a = ARENA_INIT;
		struct error e = ERROR_INIT;
		struct rule r;
		assert_int_equal(rule_parse(&r, rows[i].effect, rows[i].rule, &a, &e), -1);
		assert_int_equal(e.code, ERR_INPUT);
		if (!strstr(e.msg, rows[i].says))
			fail_msg("%s: %s", rows[i].rule, e.msg);
		arena_release(&a);
	}
}

static void descriptions(void **state)
{
	static const struct {
		enum rule_effect effect;
		const char *rule, *says;
	} rows[] = {
		{ RULE_DENY, "Bash", "every use of Bash; it is not offered" },
		{ RULE_DENY, "Bash(rm *)", "the command `rm` with any arguments or none; wherever in a line" },
		{ RULE_ALLOW, "Bash(npm run build)", "`npm run build` and nothing else" },
		{ RULE_ALLOW, "Bash(git * main)", "`git ... main`, ... being anything" },
		{ RULE_ALLOW, "Edit(src/**)", "changing all beneath /ws/src" },
		{ RULE_DENY, "Edit(src/**)", "changing all beneath src at any depth in /ws" },
		{ RULE_DENY, "Read(.env)", "reading and searching .env at any depth in /ws" },
		{ RULE_DENY, "Read(./.env)", "reading and searching /ws/.env" },
		{ RULE_ALLOW, "Read(~/x)", "/homes/me/x" },
		{ RULE_ALLOW, "Read(//usr/include/**)", "all beneath /usr/include" },
		{ RULE_DENY, "Write(x)", "does nothing: paths that are written" },
		{ RULE_DENY, "*", "every tool whose name is like *" },
	};
	(void)state;
	for (size_t i = 0; i < LENGTH(rows); i++) {
		struct arena a = ARENA_INIT;
		struct rule r = parsed(&a, rows[i].effect, rows[i].rule);
		struct buf b = BUF_INIT(4096);
		rule_describe(&r, "/ws", "/homes/me", &b);
		if (!strstr(buf_str(&b), rows[i].says))
			fail_msg("%s: %s", rows[i].rule, buf_str(&b));
		buf_release(&b);
		arena_release(&a);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(commands_by_section_4),
		cmocka_unit_test(what_is_not_known_may_fit),
		cmocka_unit_test(matching_takes_no_time_that_explodes),
		cmocka_unit_test(names_of_tools),
		cmocka_unit_test(hosts),
		cmocka_unit_test(kinds_and_warnings),
		cmocka_unit_test(malformed_rules_say_how_they_should_read),
		cmocka_unit_test(descriptions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
