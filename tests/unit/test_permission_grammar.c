/*
 * Commands from a small grammar, where a look at the text would be wrong: a forbidden command is spelled in some way,
 * put behind wrappers, and set into lists, substitutions, loops and other shells. What is in a command is known because
 * it was put there. No deny rule is passed by, no allow rule reaches further than it is written; and what holds no
 * forbidden command is let through, so that refusing everything would not do.
 */
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "guard/permission.h"

#define LENGTH(a) (sizeof(a) / sizeof *(a))
#define COMMANDS  400
#define ROOM      8000

static uint64_t seed;

/* xorshift: the same commands in every run. */
static size_t pick(size_t n)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (size_t)(seed % n);
}

/* "%" in a template is replaced by text; "@" by text in single quotes. */
static void fill(char out[ROOM], const char *template, const char *text)
{
	struct buf b = BUF_INIT(ROOM - 1);

	for (; *template; template ++) {
		if (*template == '%') {
			buf_adds(&b, text);
		} else if (*template == '@') {
			buf_addc(&b, '\'');
			for (const char *p = text; *p; p++)
				buf_adds(&b, *p == '\'' ? "'\\''" : (const char[]){ *p, '\0' });
			buf_addc(&b, '\'');
		} else {
			buf_addc(&b, *template);
		}
	}
	assert_int_equal(b.failed, 0);
	snprintf(out, ROOM, "%s", buf_str(&b));
	buf_release(&b);
}

#define FILL_ONE(out, list)                                                                                            \
	do {                                                                                                           \
		char was[ROOM];                                                                                        \
		snprintf(was, sizeof was, "%s", out);                                                                  \
		fill(out, (list)[pick(LENGTH(list))], was);                                                            \
	} while (0)

/* ---- the grammar ---- */

static const char *const forbidden[] = {
	"rm x",        "r\"\"m x",  "'rm' x",        "\"rm\" x",    "\\rm x",          "r\\m x",          "$'rm' x",
	"$'\\x72m' x", "/bin/rm x", "/usr/bin/rm x", "r''m -rf x",  "rm\t\tx",         "rm \\\n x",       "rm",
	"rm \"x y\"",  "rm $f",     "rm -- '*'",     "$'r\\155' x", "rm x >/dev/null", "</dev/null rm x", "2>&1 rm x",
	"rm x # y\n",
};

/* In front of a simple command. */
static const char *const wrappers[] = {
	"timeout 5 %",
	"timeout -k 1 5 %",
	"time %",
	"nice %",
	"nice -n 5 %",
	"nohup %",
	"command %",
	"env %",
	"env -i A=1 %",
	"sudo %",
	"sudo -u a %",
	"doas %",
	"setsid %",
	"ionice -c 3 %",
	"stdbuf -o0 %",
	"xargs %",
	"xargs -0 -n 1 %",
	"exec %",
	"builtin command %",
	"busybox %",
	"/usr/bin/env %",
	"watch -n 1 %",
	"find . -exec % \\;",
};

/* In front of all that. */
static const char *const fronts[] = { "%", "%", "A=1 %", "A=1 B=\"$x\" %" };

/* Around any command, on one line. */
static const char *const contexts[] = {
	"ls; %",
	"ls && %",
	"ls || %",
	"ls | %",
	"% | cat",
	"ls |& %",
	"ls & %",
	"( % )",
	"{ %; }",
	"{ ! %; }",
	"if ls; then %; fi",
	"if %; then ls; fi",
	"while %; do ls; done",
	"until ls; do %; done",
	"for i in a b; do %; done",
	"case a in a) %;; esac",
	"echo $( % )",
	"echo \"$( % )\"",
	"echo \"a ${v:-$( % )} b\"",
	"cat <(%)",
	"f() { %; }; f",
	"[[ -n $( % ) ]]",
	"echo $((1 + $( % )))",
	"a=$( % )",
	"a=$( % ) ls",
	"ls\n%",
	"sh -c @",
	"bash -c @",
	"bash -ec @ name arg",
	"eval @",
	"ls >/dev/null; %",
	"echo '#' ; %",
	"echo a#b; %",
	"echo \\# ; %",
	"echo \"'\" ; %",
	"echo '\"' ; %",
	"trap @ EXIT",
	"echo $(echo $( % ))",
	"ls 2>&1 | tee /dev/null | %",
	"cat <<<\"$( % )\"",
	"coproc { %; }",
	"time { %; }",
	"select i in a; do %; done",
	"for ((i=0; i<1; i++)); do %; done",
};

/* Around the whole. */
static const char *const outermost[] = {
	"%",
	"cat <<E\n$( % )\nE",
	"cat <<-E\n\t$( % )\n\tE\n",
	"cat <<'E' && ls\ntext\nE\n%",
	"# a comment\n%",
	"ls # it's a comment\n%",
	"%\n",
	"bash <<'E'\n%\nE",
};

/* Hold the words and not the command. */
static const char *const harmless[] = {
	"echo 'rm x'",
	"echo \"rm x\"",
	"echo rm x",
	"echo \\; rm x",
	"echo a\\;rm",
	"echo '; rm x'",
	"echo \"&& rm\"",
	"mk rm x",
	"rmx y",
	"./rm-all",
	"mk 'a\nrm x'",
	"echo '$(rm x)'",
	"echo \"\\$(rm x)\"",
	"echo a#rm",
	"echo \"\\`rm\\`\"",
	"git log --grep 'rm x'",
	"printf '%s' 'rm x'",
	"echo $'; rm x'",
};

static const char *const harmless_contexts[] = {
	"ls; %",           "% && ls",           "% | cat",           "( % )", "{ %; }", "echo $( % )",
	"echo \"$( % )\"", "if ls; then %; fi", "% >/dev/null 2>&1",
};

static const char *const harmless_outermost[] = {
	"%", "% # rm x", "cat <<'E'\nrm x\n$(rm x)\nE\n%", "cat <<E\nrm x\nE\n%", "# rm x\n%",
};

/* ---- judging ---- */

static struct permissions *guard(enum permission_mode mode, const char *allow, const char *deny)
{
	const char *const allows[] = { allow, NULL }, *const denies[] = { deny, NULL };
	struct error e = ERROR_INIT;
	const struct permission_config cfg = {
		.mode = mode, .allow = allows, .deny = denies, .workspace = "/nonexistent/ws", .home = "/nonexistent/h"
	};
	struct permissions *p = permissions_open(&cfg, &e);

	if (!p)
		fail_msg("%s", e.msg);
	return p;
}

static bool allowed(const struct permissions *p, const char *command)
{
	const struct permission_call call = { .tool = "Bash", .subject = SUBJECT_COMMAND, .text = command };
	struct permission_verdict v;

	permissions_judge(p, &call, &v);
	bool yes = v.permit == PERMIT_ALLOW;
	permission_verdict_release(&v);
	return yes;
}

/* A command with the text in it somewhere. */
static void bury(char out[ROOM], const char *text)
{
	snprintf(out, ROOM, "%s", text);
	for (size_t n = pick(3); n > 0 && !strchr(text, '#'); n--)
		FILL_ONE(out, wrappers);
	FILL_ONE(out, fronts);
	for (size_t n = 1 + pick(3); n > 0; n--)
		FILL_ONE(out, contexts);
	FILL_ONE(out, outermost);
}

static void no_deny_rule_is_passed_by(void **state)
{
	struct permissions *bypass = guard(MODE_BYPASS, NULL, "Bash(rm *)");
	struct permissions *whole = guard(MODE_DEFAULT, "Bash", "Bash(rm:*)");
	char command[ROOM];
	size_t bad = 0;
	(void)state;

	seed = 88172645463325252u;
	for (size_t i = 0; i < COMMANDS; i++) {
		bury(command, forbidden[pick(LENGTH(forbidden))]);
		if (!allowed(bypass, command) && !allowed(whole, command))
			continue;
		bad++;
		print_error("not denied: %s\n", command);
	}
	assert_int_equal(bad, 0);
	permissions_free(bypass);
	permissions_free(whole);
}

static void no_allow_rule_reaches_further(void **state)
{
	static const char *const others[] = {
		"evil x",        "ev\"\"il",   "./mk x",       "/tmp/mk x", "mkx",         "\"mk x\"",   "'mk '",
		"$m x",          "m$k x",      "PATH=. mk x",  "mk x >out", "mk x >>out",  "mk x 2>out", "mk <&3 >&out",
		"env mk x",      "sudo mk x",  "sh -c 'mk x'", "m?",        "{mk,evil} x", "mk$IFS-x",   "`echo mk` x",
		"BASH_ENV=x mk", "mk x &>out", "mk x >|out",   "evil mk x", "npx mk x",
	};
	struct permissions *p = guard(MODE_DEFAULT, "Bash(mk *)", NULL);
	char command[ROOM], inner[ROOM];
	size_t bad = 0;
	(void)state;

	seed = 6364136223846793005u;
	for (size_t i = 0; i < COMMANDS; i++) {
		snprintf(inner, sizeof inner, "%s", others[pick(LENGTH(others))]);
		if (pick(3) == 0)
			fill(inner, "mk a && %", others[pick(LENGTH(others))]);
		if (pick(3) == 0)
			fill(inner, "mk $( % )", others[pick(LENGTH(others))]);
		bury(command, inner);
		if (!allowed(p, command))
			continue;
		bad++;
		print_error("allowed: %s\n", command);
	}
	assert_int_equal(bad, 0);
	permissions_free(p);
}

/* Refusing everything would not do. */
static void what_holds_no_forbidden_command_is_let_through(void **state)
{
	struct permissions *p = guard(MODE_BYPASS, NULL, "Bash(rm *)");
	char command[ROOM];
	size_t bad = 0;
	(void)state;

	seed = 1442695040888963407u;
	for (size_t i = 0; i < COMMANDS; i++) {
		snprintf(command, sizeof command, "%s", harmless[pick(LENGTH(harmless))]);
		for (size_t n = pick(3); n > 0; n--)
			FILL_ONE(command, harmless_contexts);
		FILL_ONE(command, harmless_outermost);
		if (allowed(p, command))
			continue;
		bad++;
		print_error("denied: %s\n", command);
	}
	assert_int_equal(bad, 0);
	permissions_free(p);
}

static void what_rules_name_is_allowed_wherever_it_stands(void **state)
{
	static const char *const named[] = {
		"mk a",         "mk",        "m\"\"k 'a b'",    "mk $x \"$y\"", "mk *.c",
		"timeout 5 mk", "nice mk a", "nohup mk a",      "time mk a",    "command mk a",
		"LANG=C mk a",  "mk a 2>&1", "mk a >/dev/null", "mk 'x; evil'", "mk \\; a"
	};
	static const char *const around[] = { "ls; %",
		                              "% && mk b",
		                              "% | wc -l",
		                              "( % )",
		                              "{ %; }",
		                              "mk $( % )",
		                              "mk \"$( % )\"",
		                              "if ls; then %; fi",
		                              "{ ! %; }",
		                              "% || mk c",
		                              "for i in a; do %; done" };
	struct permissions *p = guard(MODE_DEFAULT, "Bash(mk *)", NULL);
	char command[ROOM];
	size_t bad = 0;
	(void)state;

	seed = 2862933555777941757u;
	for (size_t i = 0; i < COMMANDS; i++) {
		snprintf(command, sizeof command, "%s", named[pick(LENGTH(named))]);
		for (size_t n = pick(3); n > 0; n--)
			FILL_ONE(command, around);
		if (allowed(p, command))
			continue;
		bad++;
		print_error("denied: %s\n", command);
	}
	assert_int_equal(bad, 0);
	permissions_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_deny_rule_is_passed_by),
		cmocka_unit_test(no_allow_rule_reaches_further),
		cmocka_unit_test(what_holds_no_forbidden_command_is_let_through),
		cmocka_unit_test(what_rules_name_is_allowed_wherever_it_stands),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
