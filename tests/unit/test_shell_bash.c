/*
 * Bash itself as the judge: whatever it runs of a random text, the parse has seen, word for word. Commands are names
 * that do not exist, so that bash hands each to its command_not_found_handle, which writes down the words.
 */
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "guard/shell.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define CASES    1500

static const char script[] =
        "PATH=/nonexistent; cd /\n"
        "exec 9>&1 8<\"$1\" >/dev/null 2>&1 </dev/null\n"
        "command_not_found_handle() { local s; printf -v s '%s\\1' \"$@\"; printf '%d\\1%s\\2' $SHELL_CASE "
        "\"${s//$'\\n'/$'\\4'}\" >&9; [ \"$1\" != n ]; }\n"
        "ulimit -t 20 -c 0\nFUNCNEST=20\n"
        "SHELL_CASE=0\n"
        "while IFS= read -r -d '' c <&8; do ( eval \"$c\"; wait ); SHELL_CASE=$((SHELL_CASE + 1)); done\n";

/* What texts are made of. Nothing in it writes, loops for ever or is a command that exists, but for eval. */
static const char *const pieces[] = {
	"a",     "b",           "n",           " ",       " ",     " ",         "a x ",     "b 'y z' ", "'",
	"\"",    "\\",          "\\\n",        "\n",      "\n",    ";",         ";",        "&",        "&& ",
	"|| ",   "| ",          "|& ",         "! ",      "(",     ")",         "{ ",       "}",        " }",
	"; }",   "#",           " # ",         "$",       "$(",    "`",         "$'",       "$\"",      "${x:-",
	"${x",   "$((",         "((",          "))",      "<<E\n", "<<'E'\n",   "<<-E\n",   "\nE\n",    "\n\tE\n",
	"<(",    "if ",         "; then ",     "; else ", "; fi",  "for x in ", "; do ",    "; done",   "case a in ",
	";; ",   " esac",       "a) ",         "[[ ",     " ]]",   " =~ ",      " == ",     "x=",       "x=(",
	"X[1]=", "*",           "?",           "[",       "]",     "~",         "{a,b}",    ",",        "=",
	"f() ",  "function f ", "eval ",       "time ",   "\\x61", "\\'",       "\\\"",     "\\$",      "\\`",
	"$x",    "a $(b) ",     "a \"$(b)\" ", "'$(a)'",  "\t",    "\r",        "\xC3\xA9", "coproc ",  "select x in ",
	"1",     "$[",          "!(",          "@(",      "+(",    "<<<",       " in ",     "-",        "{x}",
	"then ", "do ",         "fi",          "done",    "esac",  "0",         "`a`",      "\\\\",     ";;& ",
	";& ",   "|",
};

static unsigned random_next(unsigned *seed)
{
	*seed = *seed * 1664525U + 1013904223U;
	return *seed >> 8;
}

/* Well-formed texts: %c is a command, %w a word. */
static const char *const command_forms[] = {
	"a %w",
	"b %w %w",
	"n",
	"%w",
	"%c; %c",
	"%c && %c",
	"%c || %c",
	"%c | %c",
	"%c |& %c",
	"%c & %c",
	"%c\n%c",
	"! %c",
	"( %c )",
	"(%c)",
	"{ %c; }",
	"{ %c\n}",
	"time %c",
	"if %c; then %c; fi",
	"if %c\nthen %c\nelse %c; fi",
	"for x in %w %w; do %c; done",
	"for x in %w\ndo %c; done",
	"case %w in %w) %c;; *) %c; esac",
	"case %w in (%w|b) %c;& esac",
	"x=%w a %w",
	"x=%w",
	"x=(%w %w) %c",
	"x=%w; a $x",
	"a %w # %w",
	"a %w#%w",
	"a <<E\n%w\nE\n%c",
	"a <<E; %c\n$(%c)\nE\n%c",
	"a <<'E' %w\n%c\nE\n%c",
	"a <<-E\n\t%w\n\tE\n%c",
	"a <<< %w",
	"a <(%c) >(%c)",
	"[[ %w == %w ]] && %c",
	"[[ %w =~ %w ]] || %c",
	"[[ -n %w && ! ( %w < %w ) ]]; %c",
	"((1)); %c",
	"(( %w )); %c",
	"eval '%c'",
	"eval %w",
	"eval \"%c\"",
	"f() { %c; }; f",
	"f() ( %c ); f",
	"function f { %c; }; f",
	"trap '%c' EXIT",
	"coproc %c",
	"coproc N { %c; }",
	"for ((;0;)); do %c; done; %c",
	"a 2>&1 %w",
	"%c >&2",
	"\\\n%c",
	"a '\n' %w",
	"x[1]=%w %c",
	"a $(%c\n)",
	"a $(%c # )\n)",
	"a $(%c <<E\nx\nE\n)",
};
static const char *const word_forms[] = {
	"x",
	"y",
	"''",
	"'x y'",
	"\"x y\"",
	"\"x %w\"",
	"x%w",
	"%w%w",
	"\\x",
	"\\%w",
	"\\ ",
	"$x",
	"\"$x\"",
	"$(%c)",
	"\"$(%c)\"",
	"`%c`",
	"\"`%c`\"",
	"${x:-%w}",
	"\"${x:-%w}\"",
	"${x#%w}",
	"${x/%w/%w}",
	"$'x\\n'",
	"$'\\''",
	"$((1+1))",
	"$((%w))",
	"*",
	"?x",
	"[x]",
	"{a,%w}",
	"{x}",
	"~",
	"x=%w",
	"\\\n%w",
	"#x",
	"x#",
	"\"\\\"\"",
	"'\"'",
	"\"'\"",
	"!",
	"-",
	"]]",
	"fi",
	"}",
	"{",
	"$",
	"\"$\"",
	"x\\\ny",
	"\"x\\\ny\"",
	"=",
	"[",
	"]",
	"$(case x in x) %c;; esac)",
	"\"${x:-$(%c)}\"",
	"x'y'\"z\"",
	"\t",
};

static void expand(struct buf *b, const char *form, unsigned *seed, int depth)
{
	for (const char *p = form; *p; p++) {
		if (*p != '%') {
			buf_add(b, p, 1);
			continue;
		}
		bool command = *++p == 'c';
		if (depth > 3)
			buf_adds(b, command ? "a y" : "x");
		else if (command)
			expand(b, command_forms[random_next(seed) % COUNT(command_forms)], seed, depth + 1);
		else
			expand(b, word_forms[random_next(seed) % COUNT(word_forms)], seed, depth + 1);
	}
}

/* Half of the texts are of the grammar, some with a piece thrown in; the others are but pieces. */
static void make_case(struct buf *b, unsigned *seed)
{
	struct buf text = BUF_INIT(100000);
	unsigned kind = random_next(seed) % 4, n = 2 + random_next(seed) % 14;

	if (kind == 0) {
		while (n--)
			buf_adds(&text, pieces[random_next(seed) % COUNT(pieces)]);
		buf_adds(b, "a ");
		buf_adds(b, buf_str(&text));
	} else {
		expand(&text, "%c", seed, 0);
		size_t cut = kind == 1 ? random_next(seed) % (text.len + 1) : text.len;
		buf_add(b, text.data, cut);
		if (kind == 1)
			buf_adds(b, pieces[random_next(seed) % COUNT(pieces)]);
		buf_adds(b, text.data + cut);
	}
	buf_add(b, "", 1);
	buf_release(&text);
}

/* Does the command give these words, as far as it says which it gives? */
static bool gives(const struct shell_command *c, const char *words, size_t n)
{
	for (size_t i = 0; i < c->nwords; i++) {
		if (!c->word[i].literal)
			return true;
		size_t len = strlen(c->word[i].text);
		if (len + 1 > n || words[len] != '\1')
			return false;
		for (size_t k = 0; k < len; k++) /* a newline is written as \4, so that a record is one write */
			if (words[k] != c->word[i].text[k] && !(words[k] == '\4' && c->word[i].text[k] == '\n'))
				return false;
		words += len + 1;
		n -= len + 1;
	}
	return !n;
}

/* Would deny believe that it has seen all? */
static bool trusted(const struct shell_parse *p)
{
	struct shell_view v;

	if (p->failure)
		return false;
	for (size_t i = 0; i < p->n; i++)
		for (size_t at = 0; shell_view_next(&p->command[i], SHELL_FOR_DENY, &at, &v);)
			if (v.opaque)
				return false;
	return true;
}

static bool seen(const struct shell_parse *p, const char *words, size_t n)
{
	for (size_t i = 0; i < p->n; i++)
		if (p->command[i].nwords && gives(&p->command[i], words, n))
			return true;
	return false;
}

/* Judges what bash ran of a text: words, each with a \1 behind. */
static void compare(const char *text, const char *ran, size_t n)
{
	struct shell_parse p;

	shell_parse(&p, text, strlen(text));
	if (trusted(&p) && !seen(&p, ran, n))
		fail_msg("not seen in\n%s\nwhat bash ran: %.*s", text, (int)n, ran);
	shell_parse_release(&p);
}

static void run_bash(const struct buf *cases, struct buf *out)
{
	char file[] = "/tmp/quern-shell-XXXXXX", command[2000], chunk[4096];
	int fd = mkstemp(file);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, cases->data, cases->len), cases->len);
	close(fd);
	assert_int_equal(setenv("SHELL_CASES_SCRIPT", script, 1), 0);
	snprintf(command, sizeof command, "unset BASH_ENV; exec bash --norc -c \"$SHELL_CASES_SCRIPT\" bash %s", file);
	FILE *f = popen(command, "r");
	assert_non_null(f);
	for (size_t n; (n = fread(chunk, 1, sizeof chunk, f)) > 0;)
		buf_add(out, chunk, n);
	assert_int_equal(pclose(f), 0);
	unlink(file);
}

static void test_bash_runs_nothing_unseen(void **state)
{
	const char *seed_text = getenv("SHELL_CASES_SEED"), *count_text = getenv("SHELL_CASES");
	unsigned seed = seed_text ? (unsigned)strtoul(seed_text, NULL, 10) : 1;
	unsigned long count = count_text ? strtoul(count_text, NULL, 10) : CASES;
	struct buf cases = BUF_INIT(BUF_HUGE), out = BUF_INIT(BUF_HUGE);
	size_t parsed = 0, ran = 0;
	const char **text = calloc(count, sizeof *text);

	(void)state;
	assert_non_null(text);
	for (unsigned long i = 0; i < count; i++)
		make_case(&cases, &seed);
	const char *p = cases.data;
	for (unsigned long i = 0; i < count; i++, p += strlen(p) + 1) {
		struct shell_parse parse;
		text[i] = p;
		shell_parse(&parse, p, strlen(p));
		parsed += trusted(&parse);
		shell_parse_release(&parse);
	}
	run_bash(&cases, &out);
	for (const char *o = out.data, *end; o && (end = strchr(o, '\2')) != NULL; o = end + 1, ran++) {
		char *words;
		unsigned long i = strtoul(o, &words, 10);
		assert_true(i < count && *words == '\1' && words < end);
		compare(text[i], words + 1, (size_t)(end - words - 1));
	}
	/* the comparison is worth something only if many texts are well formed */
	assert_true(parsed > count / 5);
	assert_true(ran > count / 5);
	print_message("# %lu texts, %zu parsed, %zu commands run\n", count, parsed, ran);
	free(text);
	buf_release(&cases);
	buf_release(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bash_runs_nothing_unseen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
