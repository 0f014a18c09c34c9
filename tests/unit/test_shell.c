/* Commands of bash, and what is found in them. */
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "guard/shell.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* A command as one line: flags (n nested, p piped, d after a cd), then assignments, words and redirections; behind a
 * word that is not literal stands ~. */
static void put_word(struct buf *b, const struct shell_word *w)
{
	buf_addf(b, " %s%s", w->text, w->literal ? "" : "~");
}

static void put_command(struct buf *b, const struct shell_command *c)
{
	static const char *const kinds[] = { "<", ">", "&", "<<" };

	buf_addf(b, "%s%s%s:", c->nested ? "n" : "", c->piped ? "p" : "", c->after_cd ? "d" : "");
	for (size_t i = 0; i < c->nassign; i++)
		put_word(b, &c->assign[i]);
	if (c->nassign && c->nwords)
		buf_adds(b, " /");
	for (size_t i = 0; i < c->nwords; i++)
		put_word(b, &c->word[i]);
	for (size_t i = 0; i < c->nredirects; i++) {
		buf_addf(b, " %d%s", c->redirect[i].fd, kinds[c->redirect[i].kind]);
		put_word(b, &c->redirect[i].target);
	}
	buf_adds(b, "\n");
}

static void expect(const char *text, size_t n, const char *want)
{
	struct shell_parse p;
	struct buf got = BUF_INIT(100000);

	shell_parse(&p, text, n);
	if (p.failure) {
		buf_addf(&got, "! %s\n", p.failure);
	} else {
		for (size_t i = 0; i < p.n; i++)
			put_command(&got, &p.command[i]);
	}
	if (want[0] == '!' && !want[1] ? !p.failure : strcmp(buf_str(&got), want) != 0)
		fail_msg("%.*s\nwanted:\n%sgot:\n%s", (int)n, text, want, buf_str(&got));
	shell_parse_release(&p);
	buf_release(&got);
}

struct row {
	const char *text, *want;
};

static void expect_rows(const struct row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++)
		expect(rows[i].text, strlen(rows[i].text), rows[i].want);
}

static void test_lists(void **state)
{
	static const struct row rows[] = {
		{ "", "" },
		{ "  \n\t\n", "" },
		{ "# only a comment", "" },
		{ "ls", ": ls\n" },
		{ "ls -l 'a b'", ": ls -l a b\n" },
		{ "git log; evil", ": git log\n: evil\n" },
		{ "git log && evil", ": git log\n: evil\n" },
		{ "git log || evil", ": git log\n: evil\n" },
		{ "git log & evil &", ": git log\n: evil\n" },
		{ "git log\nevil", ": git log\n: evil\n" },
		{ "git log | evil | worse", ": git log\np: evil\np: worse\n" },
		{ "git log |& evil", ": git log\np: evil\n" },
		{ "git log&&evil||worse;bad", ": git log\n: evil\n: worse\n: bad\n" },
		{ "a &&\n\n# c\n b", ": a\n: b\n" },
		{ "a |\n b", ": a\np: b\n" },
		{ "! a", ": a\n" },
		{ "! ! a", ": a\n" },
		{ "time -p a | b", ": a\np: b\n" },
		{ "time { a; }", ": a\n" },
		{ "\\time a", ": time a\n" },
		{ "a # b; c", ": a\n" },
		{ "a#b", ": a#b\n" },
		{ "a '#b'; c", ": a #b\n: c\n" },
		{ "a \\#b; c", ": a #b\n: c\n" },
		{ "a;#b\nc", ": a\n: c\n" },
		{ "# x \\\nrm y", ": rm y\n" }, /* no continuation in a comment */
		{ "cd x && rm y", ": cd x\nd: rm y\n" },
		{ "(cd x; rm y); rm z", ": cd x\nd: rm y\n: rm z\n" },
		{ "while a; do b; cd x; done; c", "d: a\nd: b\nd: cd x\nd: c\n" },
		{ "a; b;; c", "!" },
		{ "; a", "!" },
		{ "a && ", "!" },
		{ "| a", "!" },
		{ "a )", "!" },
		{ "& a", "!" },
	};

	(void)state;
	expect_rows(rows, COUNT(rows));
}

static void test_words(void **state)
{
	static const struct row rows[] = {
		{ "r\"m\" -rf x", ": rm -rf x\n" },
		{ "\\rm x", ": rm x\n" },
		{ "'r'm \"\" ''", ": rm  \n" },
		{ "r\\\nm x", ": rm x\n" },
		{ "rm\\\n x", ": rm x\n" },
		{ "a &\\\n& b", ": a\n: b\n" },
		{ "a \"b\\\nc\" 'd\\\ne'", ": a bc d\\\ne\n" },
		{ "a \"\\$x \\` \\\\ \\\" \\a\"", ": a $x ` \\ \" \\a\n" },
		{ "$'\\x72\\155' $'a\\'b\\n'", ": rm a'b\n\n" },
		{ "$'\\u0072m' $'\\e[0m'", ": rm \033[0m\n" },
		{ "$'\\xe9'", ": \xe9~\n" },
		{ "$'a\\0b'", "!" },
		{ "$'\\cA'", "!" },
		{ "a $\"x\"", ": a x~\n" },
		{ "a $", ": a $\n" },
		{ "a \"$\" b$", ": a $ b$\n" },
		{ "a $x \"$x\" ${x} $1 $? $$", ": a $x~ $x~ ${x}~ $1~ $?~ $$~\n" },
		{ "$x y", ": $x~ y\n" },
		{ "a *.c b? [ab] [ ]", ": a *.c~ b?~ [ab]~ [ ]\n" },
		{ "a {b,c} {} {1..3} {x} a{b '*'", ": a {b,c}~ {} {1..3}~ {x} a{b *\n" },
		{ "a stash@{0} HEAD^ x=y", ": a stash@{0} HEAD^ x=y\n" },
		{ "a ~ ~/x ~u b~ '~' x=~", ": a ~~ ~/x~ ~u~ b~ ~ x=~~\n" },
		{ "a\xC2\xA0"
		  "b c",
		  ": a\xC2\xA0"
		  "b c\n" },
		{ "a\rb \v c\r\nd", ": a\rb \v c\r\n: d\n" },
		{ "a 'b", "!" },
		{ "a \"b", "!" },
		{ "a $'b", "!" },
		{ "a `b", "!" },
		{ "a $(b", "!" },
		{ "a ${b", "!" },
		{ "a \\", "!" },
		{ "a !(b)", ": a !(b)~\n" },
		{ "!(rm x)", "!" },
		{ "a @(b|c)", ": a @(b|c)~\n" },
		{ "a @( )", "!" },
		{ "a+() { b; }", "!" },
		{ "function +(b)", "!" },
		{ "a\001", "!" },
		{ "a \xFF", "!" },
		{ "a $[1+1]", "!" },
	};

	(void)state;
	expect_rows(rows, COUNT(rows));
	expect("a\0b", 3, "!");
}

static void test_expansions(void **state)
{
	static const struct row rows[] = {
		{ "a $(b c)", "n: b c\n: a $(b c)~\n" },
		{ "a \"x$(b \"c d\")y\"", "n: b c d\n: a x$(b \"c d\")y~\n" },
		{ "a `b \\`c\\``", "n: c\nn: b `c`~\n: a `b \\`c\\``~\n" },
		{ "a \"`b \\\"c d\\\"`\"", "n: b c d\n: a `b \\\"c d\\\"`~\n" },
		{ "a $\\\n(b)", "n: b\n: a $(b)~\n" },
		{ "a \"$\\\n(b)\"", "n: b\n: a $(b)~\n" },
		{ "a ${x:-$(b)} ${x#`c`} \"${x:+\"$(d)\"}\"",
		  "n: b\nn: c\nn: d\n: a ${x:-$(b)}~ ${x#`c`}~ ${x:+\"$(d)\"}~\n" },
		{ "a ${x:-'}'} b", ": a ${x:-'}'}~ b\n" },
		{ "a \"${x:-'}\"", "!" },
		{ "a <(b) >(c)", "n: b\nn: c\n: a <(b)~ >(c)~\n" },
		{ "a ${x:-<(b)}", "n: b\n: a ${x:-<(b)}~\n" },
		{ "a $(< f)", "n: 0< f\n: a $(< f)~\n" },
		{ "a $(b # )\n)", "n: b\n: a $(b # )\n)~\n" },
		{ "a $(case x in x) b;; esac)", "n: b\n: a $(case x in x) b;; esac)~\n" },
		{ "a $((1 + 2))", ": a $((1 + 2))~\n" },
		{ "a $((x + 2))", ": ((\n: a $((x + 2))~\n" },
		{ "a $((b[$(c)]))", "n: c\n: ((\n: a $((b[$(c)]))~\n" },
		{ "a $((b[$(c)])) '$'", "n: c\n: ((~\n: a $((b[$(c)]))~ $\n" },
		{ "((x++))", ": ((\n" },
		{ "((1))", "" },
		{ "((a); b)", "!" },
		{ "$((a); b)", "!" },
		{ "( (a); b)", ": a\n: b\n" },
		{ "((1<(2)))", "!" },
		{ "a ${!x} ${x@P} ${x@Q} ${b[i]} ${b[1]} ${b[@]} ${x:1:2} ${x:y}",
		  ": ((\n: ((\n: ((\n: ((\n: a ${!x}~ ${x@P}~ ${x@Q}~ ${b[i]}~ ${b[1]}~ ${b[@]}~ ${x:1:2}~ ${x:y}~\n" },
		{ "a ${x:=b} ${PATH=c}", ": x=~\n: PATH=~\n: a ${x:=b}~ ${PATH=c}~\n" },
		{ "a ${#x} ${#} ${##} ${!}", ": a ${#x}~ ${#}~ ${##}~ ${!}~\n" },
		{ "a ${ b;}", "!" },
		{ "a ${|b;}", "!" },
		{ "a ${#-x}", "!" },
	};

	(void)state;
	expect_rows(rows, COUNT(rows));
}

static void test_assignments_and_redirections(void **state)
{
	static const struct row rows[] = {
		{ "X=1 a", ": X=1 / a\n" },
		{ "X='1 2' Y=$(b) a Z=3", "n: b\n: X=1 2 Y=$(b)~ / a Z=3\n" },
		{ "X=1", ": X=1\n" },
		{ "X+=1 X[2]=3", ": X+=1 X[2]=3\n" },
		{ "X[i]=3", ": ((\n: X[i]=3\n" },
		{ "X[$(b)]=3", "!" },
		{ "X=(a $(b)\n c #d\n) e", "n: b\n: X=(a $(b)\n c #d\n)~ / e\n" },
		{ "X=([$(b)]=c)", "n: b\n: ((\n: X=([$(b)]=c)~\n" },
		{ "declare -a X=(a $(b))", "n: b\n: declare -a X=(a $(b))~\n" },
		{ "export X=$(b)", "n: b\n: export X=$(b)~\n" },
		{ "a X=(b)", "!" },
		{ "X=*", ": X=*\n" },
		{ "X=~", ": X=~~\n" },
		{ "\"X\"=1 a", ": X=1 a\n" },
		{ "a >f", ": a 1> f\n" },
		{ ">f a", ": a 1> f\n" },
		{ "a>f b", ": a b 1> f\n" },
		{ "a >>f 2>g <h >|i <>j", ": a 1> f 2> g 0< h 1> i 0> j\n" },
		{ "a &>f", ": a -1> f\n" },
		{ "a &>>f", ": a -1> f\n" },
		{ "a >&f", ": a -1> f\n" },
		{ "a >&2 2>&1 <&- 3>&1-", ": a 1& 2 2& 1 0& - 3& 1-\n" },
		{ "a >& $x", ": a -1> $x~\n" },
		{ "a 12>f b2>g", ": a b2 12> f 1> g\n" },
		{ "a {fd}>f {x}", ": fd=~\n: a {x} 9999> f\n" },
		{ "a >$(b)", "n: b\n: a 1> $(b)~\n" },
		{ "> f", ": 1> f\n" },
		{ "{ a; } > f", ": a\n: 1> f\n" },
		{ "! a > f && b >> g", ": a 1> f\n: b 1> g\n" },
		{ "a <<< \"b $(c)\"", "n: c\n: a 0<< b $(c)~\n" },
		{ "a >", "!" },
		{ "a > # f", "!" },
		{ "a 1<(b)", "!" },
	};

	(void)state;
	expect_rows(rows, COUNT(rows));
}

static void test_here_documents(void **state)
{
	static const struct row rows[] = {
		{ "a <<E\nb; $(c) `d`\nE\ne", ": a 0<< b; $(c) `d`\n~\nn: c\nn: d\n: e\n" },
		{ "a <<'E'\nb; $(c)\nE\ne", ": a 0<< b; $(c)\n\n: e\n" },
		{ "a <<\\E\n$(c)\nE\n", ": a 0<< $(c)\n\n" },
		{ "a <<-E | f\n\tb\n\tE\ne", ": a 0<< b\n\np: f\n: e\n" },
		{ "a <<E <<F; g\n1\nE\n2\nF\nh", ": a 0<< 1\n 0<< 2\n\n: g\n: h\n" },
		{ "a <<E\nx\\\nE\nE\n", ": a 0<< xE\n\n" },
		{ "a <<E\nx\nE\\\n\nrm y", ": a 0<< x\n\n: rm y\n" }, /* the delimiter's line may be joined too */
		{ "a <<E\n\\$(b) \\\\$(c)\nE\n", ": a 0<< \\$(b) \\\\$(c)\n~\nn: c\n" },
		{ "a \"$(b <<E\nx\nE\n)\"", "n: b 0<< x\n\n: a $(b <<E\nx\nE\n)~\n" },
		{ "git commit -m \"$(cat <<'EOF'\nit's; rm -rf x\nEOF\n)\"",
		  "n: cat 0<< it's; rm -rf x\n\n: git commit -m $(cat <<'EOF'\nit's; rm -rf x\nEOF\n)~\n" },
		{ "case x in x) a <<E\nE\nesac", ": a 0<< \n" },
		{ "b $(case x in x) a <<E\nE\nesac)", "!" },
		{ "a <<E\nb", "!" },
		{ "a <<E", "!" },
		{ "a $(b <<E)", "!" },
		{ "a <<E $(b\n)\nE\n", "!" },
		{ "a <<E 'x\ny'\nE\n", "!" },
		{ "a <<$E\n", "!" },
	};

	(void)state;
	expect_rows(rows, COUNT(rows));
}

static void test_compound_commands(void **state)
{
	static const struct row rows[] = {
		{ "(a; b) | c", ": a\n: b\np: c\n" },
		{ "{ a; b; }", ": a\n: b\n" },
		{ "{ a }", "!" },
		{ "if a; then b; elif c; then d; else e; fi", ": a\n: b\n: c\n: d\n: e\n" },
		{ "if a\nthen\nb\nfi > f", ": a\n: b\n: 1> f\n" },
		{ "while a; do b; done", ": a\n: b\n" },
		{ "until a; do b; done < f", ": a\n: b\n: 0< f\n" },
		{ "a | while read x; do b; done; c", ": a\np: read x\np: b\n: c\n" },
		{ "for x in a $(b) *; do c $x; done", ": x=~\nn: b\n: c $x~\n" },
		{ "for x; do c; done", ": x=~\n: c\n" },
		{ "for x\ndo c\ndone", ": x=~\n: c\n" },
		{ "for x in a; { c; }", ": x=~\n: c\n" },
		{ "for PATH in a; do c; done", ": PATH=~\n: c\n" },
		{ "for ((i=0;i<3;i++)); do c; done", ": ((\n: c\n" },
		{ "select x in a; do c; done", ": x=~\n: c\n" },
		{ "case $x in a|b) c;; (d) e;& *) f;;& esac", ": c\n: e\n: f\n" },
		{ "case x in\n a)\n;;\n b) c\nesac", ": c\n" },
		{ "case $(a) in $(b)) c; esac", "n: a\nn: b\n: c\n" },
		{ "f() { rm x; }; f", ": function f\nd: rm x\n: f\n" },
		{ "f () ( rm x )", ": function f\nd: rm x\n" },
		{ "function f { rm x; }", ": function f\nd: rm x\n" },
		{ "function f() { rm x; } > y", ": function f\nd: rm x\nd: 1> y\n" },
		{ "ls() { rm x; }; ls", ": function ls\nd: rm x\n: ls\n" },
		{ "f() rm x", "!" },
		{ "coproc a b", "!" },
		{ "coproc N { a; }", "!" },
		{ "[[ -f a && $(b) == c* ]] && d", "n: b\n: [[ -f a && $(b)~ == c*~\n: d\n" },
		{ "[[ a =~ ^(b|c d)$ ]]; d", ": [[ a =~ ^(b|c d)$~\n: d\n" },
		{ "[[ a =~ $(b) ]]", "n: b\n: [[ a =~ $(b)~\n" },
		{ "[[ a == @(b|$(c)) ]]", "n: c\n: [[ a == @(b|$(c))~\n" },
		{ "[[ ! ( a < b ) ]]", ": [[ ! ( a < b )\n" },
		{ "[[ a ]", "!" },
		{ "if a; then b", "!" },
		{ "then a", "!" },
		{ "a; done", "!" },
		{ "while a; done", "!" },
		{ "}", "!" },
		{ "a (b)", "!" },
		{ "\"if\" a", ": if a\n" },
		{ "i\\f a", ": if a\n" },
		{ "i\\\nf a; then b; fi", ": a\n: b\n" },
		{ "X=1 if a", ": X=1 / if a\n" },
	};

	(void)state;
	expect_rows(rows, COUNT(rows));
}

/* What other commands run, where its text is literal. */
static void test_texts_that_run(void **state)
{
	static const struct row rows[] = {
		{ "sh -c 'rm x; ls'", ": sh -c rm x; ls\nn: rm x\nn: ls\n" },
		{ "bash -ec -u 'rm x' y", ": bash -ec -u rm x y\nn: rm x\n" },
		{ "/bin/bash -c \"rm 'a b'\"", ": /bin/bash -c rm 'a b'\nn: rm a b\n" },
		{ "eval rm \"'a b'\"", ": eval rm 'a b'\nn: rm a b\n" },
		{ "trap 'rm x' EXIT", ": trap rm x EXIT\nn: rm x\n" },
		{ "sudo env A=1 nohup sh -c 'eval \"rm x\"'",
		  ": sudo env A=1 nohup sh -c eval \"rm x\"\nn: eval rm x\nn: rm x\n" },
		{ "env -S 'rm x'", ": env -S rm x\nn: rm x\n" },
		{ "xargs sh -c 'rm \"$@\"'", ": xargs sh -c rm \"$@\"\nn: rm $@~\n" },
		{ "find . -exec sh -c 'rm x' \\; -exec sh -c 'rm y' ';'",
		  ": find . -exec sh -c rm x ; -exec sh -c rm y ;\nn: rm x\nn: rm y\n" },
		{ "watch -n 1 'rm x'", ": watch -n 1 rm x\nn: rm x\n" },
		{ "timeout 5 sh -c 'rm x'", ": timeout 5 sh -c rm x\nn: rm x\n" },
		{ "su -c 'rm x' u", ": su -c rm x u\nn: rm x\n" },
		{ "flock f -c 'rm x'", ": flock f -c rm x\nn: rm x\n" },
		{ "script -qc 'rm x' /dev/null", ": script -qc rm x /dev/null\nn: rm x\n" },
		{ "parallel rm ::: x", ": parallel rm ::: x\nn: rm ::: x\n" },
		{ "bash <<E\nrm x\nE\n", ": bash 0<< rm x\n\nn: rm x\n" },
		{ "bash <<< 'rm x'", ": bash 0<< rm x\nn: rm x\n" },
		{ "sh -c 'rm", "!" },
		{ "eval 'rm \"'", "!" },
	};

	(void)state;
	expect_rows(rows, COUNT(rows));
}

static char *repeat(const char *s, size_t n, const char *tail, size_t m)
{
	struct buf b = BUF_INIT(1000000);

	while (n--)
		buf_adds(&b, s);
	while (m--)
		buf_adds(&b, tail);
	return buf_take(&b, NULL);
}

/* Whatever is put inside each other ends in a failure or a parse, in a moment. */
static void test_bounds(void **state)
{
	static const struct {
		const char *s;
		size_t n;
		const char *tail;
		size_t m;
		bool fails;
	} rows[] = {
		{ "a", 10000, "", 0, false },
		{ "a", 10001, "", 0, true },
		{ "\xC3\xA9", 10000, "", 0, false }, /* characters count, not bytes */
		{ "a;", 5000, "", 0, false },
		{ "$(", 30, "a)", 30, false },
		{ "a $(", 30, ")", 30, false },
		{ "a $(", 2000, ")", 2000, true },
		{ "(", 4000, ")", 4000, false }, /* an arithmetic expression */
		{ "( ", 2000, ")", 2000, true },
		{ "a \"${x:-", 20, "}\"", 20, false },
		{ "a \"${x:-", 1000, "}\"", 1000, true },
		{ "{ ", 3000, "", 0, true },
		{ "coproc ", 1400, "a", 1, true },
		{ "coproc $(", 1000, ")", 1000, true },
		{ "f() { ", 1000, "", 0, true },
		{ "! ", 3000, "a", 1, false },
		{ "time ", 1900, "a", 1, false },
		{ "eval ", 1900, "a", 1, true },
		{ "watch ", 1600, "a", 1, true },
		{ "nice ", 1900, "a", 1, false },
		{ "X[", 3000, "", 0, true },
		{ "if a; then ", 900, "", 0, true },
		{ "[[ @(", 1500, "", 0, true },
		{ "a <<E\n", 1600, "", 0, true },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct shell_parse p;
		char *text = repeat(rows[i].s, rows[i].n, rows[i].tail, rows[i].m);
		assert_non_null(text);
		shell_parse(&p, text, strlen(text));
		if ((p.failure != NULL) != rows[i].fails)
			fail_msg("%s x %zu: %s", rows[i].s, rows[i].n, p.failure ? p.failure : "no failure");
		shell_parse_release(&p);
		free(text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lists),          cmocka_unit_test(test_words),
		cmocka_unit_test(test_expansions),     cmocka_unit_test(test_assignments_and_redirections),
		cmocka_unit_test(test_here_documents), cmocka_unit_test(test_compound_commands),
		cmocka_unit_test(test_texts_that_run), cmocka_unit_test(test_bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
