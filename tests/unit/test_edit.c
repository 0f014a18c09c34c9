/* Edit on bytes: line ends, marks, encodings, counting, freshness; and that nothing outside the match changes. */
#include "tool_world.h"

#include <stdio.h>
#include <string.h>

#include "base/json_out.h"

#define S(literal) literal, sizeof(literal) - 1

/* Every row: file before, old, new, file after; `says` is in the result. Where refused, before == after. */
static const struct {
	const char *name, *before;
	size_t before_n;
	const char *old, *new_text;
	bool all;
	const char *after;
	size_t after_n;
	const char *says;
} rows[] = {
	{ "crlf", S("alpha\r\nbeta\r\ngamma\r\n"), "alpha\nbeta", "ALPHA\nBETA", false, S("ALPHA\r\nBETA\r\ngamma\r\n"),
	  "updated" },
	{ "crlf exact", S("a\r\nb\r\n"), "a\r\nb", "x\r\ny", false, S("x\r\ny\r\n"), "updated" },
	{ "crlf, a line more", S("a\r\nb\r\n"), "a", "a\nz", false, S("a\r\nz\r\nb\r\n"), "updated" },
	{ "crlf, last line", S("a\r\nb"), "b", "b\nc", false, S("a\r\nb\r\nc"), "updated" },
	{ "crlf, line end cut", S("a\r\nb\r\nc\r\n"), "a\n", "", false, S("b\r\nc\r\n"), "updated" },
	{ "crlf, from a line end", S("a\r\nb\r\nc\r\n"), "\nb", "\nB", false, S("a\r\nB\r\nc\r\n"), "updated" },
	{ "mixed", S("one\r\ntwo\nthree\r\nfour\nfive\r"), "two", "TWO", false, S("one\r\nTWO\nthree\r\nfour\nfive\r"),
	  "updated" },
	{ "mixed, LF region", S("one\r\ntwo\nthree\r\n"), "two\n", "2\n", false, S("one\r\n2\nthree\r\n"), "updated" },
	{ "no final newline", S("first\nlast"), "last", "LAST", false, S("first\nLAST"), "updated" },
	{ "bom", S("\xEF\xBB\xBFname: caf\xC3\xA9\nvalue: 1\n"), "value: 1", "value: 2", false,
	  S("\xEF\xBB\xBFname: caf\xC3\xA9\nvalue: 2\n"), "updated" },
	{ "bom before the match", S("\xEF\xBB\xBFname: caf\xC3\xA9\n"), "name: caf\xC3\xA9", "name: tea", false,
	  S("\xEF\xBB\xBFname: tea\n"), "updated" },
	{ "bom crlf", S("\xEF\xBB\xBFname: caf\xC3\xA9\r\nvalue: 1\r\n"), "value: 1", "value: 2", false,
	  S("\xEF\xBB\xBFname: caf\xC3\xA9\r\nvalue: 2\r\n"), "updated" },
	{ "latin1", S("const x = 1;\n// caf\xE9 note \xA9\n"), "const x = 1;", "const x = 2;", false,
	  S("const x = 2;\n// caf\xE9 note \xA9\n"), "updated" },
	{ "cp1252", S("\x93quoted\x94 \x80 5\r\nflag = False\r\n"), "flag = False", "flag = True", false,
	  S("\x93quoted\x94 \x80 5\r\nflag = True\r\n"), "updated" },
	{ "gbk", S("const x = 1\n// \xD6\xD0\xCE\xC4\n"), "const x = 1", "const y = 1", false,
	  S("const y = 1\n// \xD6\xD0\xCE\xC4\n"), "updated" },
	{ "sjis", S("flag = 0\n// \x93\xFA\x96{\x8C\xEA \\n\n"), "flag = 0", "flag = 1", false,
	  S("flag = 1\n// \x93\xFA\x96{\x8C\xEA \\n\n"), "updated" },
	{ "utf-16",
	  S("\xFF\xFE"
	    "f\0l\0a\0g\0"),
	  "flag", "FLAG", false,
	  S("\xFF\xFE"
	    "f\0l\0a\0g\0"),
	  "UTF-16" },
	{ "cut character at the end", S("flag = 0\n// euro \xE2\x82"), "flag = 0", "flag = 1", false,
	  S("flag = 1\n// euro \xE2\x82"), "updated" },
	{ "a real U+FFFD", S("flag = 0\n// \xEF\xBF\xBD stays\n"), "flag = 0", "flag = 1", false,
	  S("flag = 1\n// \xEF\xBF\xBD stays\n"), "updated" },
	{ "nul inside", S("flag = 0\n\0\nafter nul\n"), "flag = 0", "flag = 1", false, S("flag = 1\n\0\nafter nul\n"),
	  "updated" },
	{ "separators", S("flag = 0\nls:\xE2\x80\xA8ps:\xE2\x80\xA9nel:\xC2\x85vt:\vff:\fend\n"), "flag = 0",
	  "flag = 1", false, S("flag = 1\nls:\xE2\x80\xA8ps:\xE2\x80\xA9nel:\xC2\x85vt:\vff:\fend\n"), "updated" },
	{ "tabs", S("\tif (x) {\n\t\treturn\t1;\n    }\n"), "return\t1;", "return\t2;", false,
	  S("\tif (x) {\n\t\treturn\t2;\n    }\n"), "updated" },
	{ "spaces are not tabs", S("\tif (x) {\n\t\treturn\t1;\n    }\n"), "        return 1;", "x", false,
	  S("\tif (x) {\n\t\treturn\t1;\n    }\n"), "Line 2 holds a text that differs only in white space" },
	{ "two matches", S("foo foo\n"), "foo", "bar", false, S("foo foo\n"), "Found 2 matches" },
	{ "all", S("foo foo\n"), "foo", "barbar", true, S("barbar barbar\n"), "2 replacements" },
	{ "overlap", S("aaa\naaa\n"), "aa", "b", false, S("aaa\naaa\n"), "Found 2 matches" },
	{ "overlap, all", S("aaaa\n"), "aa", "b", true, S("bb\n"), "2 replacements" },
	{ "empty old", S("abc\n"), "", "X", true, S("abc\n"), "old_string is empty" },
	{ "dollars", S("log(\"done\");\nPID=old\n"), "log(\"done\");", "log(\"$& $1 $$ \\1 %s\");", false,
	  S("log(\"$& $1 $$ \\1 %s\");\nPID=old\n"), "updated" },
	{ "same", S("log(\"done\");\n"), "log(\"done\");", "log(\"done\");", false, S("log(\"done\");\n"),
	  "exactly the same" },
	{ "nfd", S("flag = 0\n// cafe\xCC\x81\n"), "caf\xC3\xA9", "tea", false, S("flag = 0\n// cafe\xCC\x81\n"),
	  "String to replace not found in file.\nString: caf\xC3\xA9" },
	{ "empty file", S(""), "x", "y", false, S(""), "String to replace not found" },
	{ "only newlines", S("\n\n\n"), "\n\n", "\n", false, S("\n\n"), "updated" },
	{ "all gone", S("abc"), "abc", "", false, S(""), "updated" },
};

static const char *edit(struct tool_world *w, const char *name, const char *old, const char *new_text, bool all)
{
	struct buf b = BUF_INIT(1 << 20);
	struct json_out o;

	json_out_init(&o, &b);
	jo_object(&o);
	jo_kstr(&o, "file_path", name);
	jo_kstr(&o, "old_string", old);
	jo_kstr(&o, "new_string", new_text);
	if (all)
		jo_kbool(&o, "replace_all", true);
	jo_end(&o);
	const char *text = tool_world_call(w, "Edit", "%s", buf_str(&b));
	buf_release(&b);
	return text;
}

static void every_row(void **state)
{
	struct tool_world *w = *state;

	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		tool_world_put(w, rows[i].name, rows[i].before, rows[i].before_n);
		if (rows[i].all)
			tool_world_call(w, "Read", "{\"file_path\":\"%s\"}", rows[i].name);
		const char *text = edit(w, rows[i].name, rows[i].old, rows[i].new_text, rows[i].all);
		if (!strstr(text, rows[i].says))
			fail_msg("%s: '%s' is not in: %s", rows[i].name, rows[i].says, text);
		bool changed = strstr(rows[i].says, "updated") || strstr(rows[i].says, "replacements");
		assert_int_equal(w->result.is_error, !changed);
		if (!changed)
			assert_contains(text, "<tool_use_error>");
		else
			assert_contains(w->result.structured, "\"structuredPatch\":[{");
		tool_world_expect(w, rows[i].name, rows[i].after, rows[i].after_n);
	}
	tool_world_sh(w, "test -z \"$(ls -A | grep '^.quern')\"");
}

/* One match speaks for itself; many are a change of what was not seen. */
static void many_matches_need_a_read(void **state)
{
	struct tool_world *w = *state;

	tool_world_put(w, "f", S("a b a\n"));
	assert_contains(edit(w, "f", "a", "c", true), "File has not been read yet.");
	tool_world_expect(w, "f", S("a b a\n"));
	assert_contains(edit(w, "f", "b", "B", true), "updated");
	assert_contains(edit(w, "f", "a", "c", true), "File has not been read yet.");
	tool_world_call(w, "Read", "{\"file_path\":\"f\",\"limit\":1}");
	tool_world_put(w, "f", S("a b a a\n"));
	assert_contains(edit(w, "f", "a", "c", true), "File has been unexpectedly modified.");
	assert_contains(w->result.text, "Found 3 matches");
	tool_world_call(w, "Read", "{\"file_path\":\"f\"}");
	assert_contains(edit(w, "f", "a", "c", true), "3 replacements");
	assert_contains(edit(w, "f", "c", "d", true), "3 replacements"); /* our own change is known */
	tool_world_expect(w, "f", S("d b d d\n"));
}

static void an_identical_edit_leaves_the_time_alone(void **state)
{
	struct tool_world *w = *state;

	tool_world_put(w, "f", S("x\n"));
	tool_world_sh(w, "touch -d 2001-01-01 f");
	edit(w, "f", "x", "x", false);
	tool_world_sh(w, "test \"$(stat -c %%Y f)\" = \"$(date -d 2001-01-01 +%%s)\"");
}

static void the_lines_around_are_shown(void **state)
{
	struct tool_world *w = *state;

	tool_world_put(w, "f", S("1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n"));
	const char *text = edit(w, "f", "6\n", "six\nand\n", false);
	assert_contains(text, "     2\t2\n     3\t3\n     4\t4\n     5\t5\n     6\tsix\n     7\tand\n     8\t7\n");
	assert_null(strstr(text, "     1\t"));
	assert_contains(w->result.structured, "\"oldStart\":6,\"oldLines\":1,\"newStart\":6,\"newLines\":2");
	assert_contains(w->result.structured, "\"lines\":[\"-6\",\"+six\",\"+and\"]");
}

static void changes_by_others_are_noticed(void **state)
{
	struct tool_world *w = *state;

	tool_world_put(w, "f", S("one\ntwo\n"));
	tool_world_call(w, "Read", "{\"file_path\":\"f\"}");
	tool_world_put(w, "f", S("eins\nzwei\n"));
	assert_contains(edit(w, "f", "one", "1", false), "modified since it was read");
	assert_false(w->result.is_error == false);
	/* A touch is no change; an edit that still fits is made. */
	tool_world_put(w, "g", S("one\ntwo\n"));
	tool_world_call(w, "Read", "{\"file_path\":\"g\"}");
	tool_world_sh(w, "touch -d 2001-01-01 g");
	assert_contains(edit(w, "g", "one", "1", false), "updated");
	assert_contains(edit(w, "g", "two", "2", false), "updated");
	tool_world_expect(w, "g", S("1\n2\n"));
}

static void mode_link_and_names_stay(void **state)
{
	struct tool_world *w = *state;

	tool_world_sh(w, "echo old >script; chmod 4755 script; echo old >secret; chmod 600 secret; echo old >real; ln "
	                 "-s real link;"
	                 "echo old >hard; ln hard hard2; mkdir sub; ln -s sub dir-in; echo old >sub/inner");
	edit(w, "script", "old", "new", false);
	edit(w, "secret", "old", "new", false);
	assert_contains(edit(w, "link", "old", "new", false), "updated");
	assert_contains(edit(w, "hard", "old", "new", false), "2 hard links");
	edit(w, "dir-in/inner", "old", "new", false);
	tool_world_sh(w, "test $(stat -c %%a script) = 4755 && test $(stat -c %%a secret) = 600 && test -L link && "
	                 "test $(cat real) = new && test $(cat hard) = new && test $(cat hard2) = old && test $(cat "
	                 "sub/inner) = new");
}

static void what_cannot_be_edited(void **state)
{
	struct tool_world *w = *state;

	tool_world_sh(w,
	              "mkdir d ../outside; mkfifo fifo; echo victim >../outside/victim; ln -s ../outside/victim out");
	assert_contains(edit(w, "missing", "a", "b", false), "File does not exist");
	assert_contains(edit(w, "d", "a", "b", false), "not a regular file");
	assert_contains(edit(w, "fifo", "a", "b", false), "not a regular file");
	assert_contains(edit(w, "out", "victim", "b", false), "denied by your permission settings");
	assert_true(w->result.denied);
	assert_string_equal(w->result.denied_reason, "path");
	tool_world_sh(w, "test $(cat ../outside/victim) = victim");
}

static void protected_files_need_bypass(void **state)
{
	struct tool_world *w = *state;

	tool_world_sh(w, "mkdir .git; echo a >.git/config");
	w->rules.mode = MODE_ACCEPT_EDITS;
	tool_world_reopen(w);
	assert_contains(edit(w, ".git/config", "a", "b", false), "denied");
	assert_true(w->result.denied);
	w->rules.mode = MODE_BYPASS;
	tool_world_reopen(w);
	assert_contains(edit(w, ".git/config", "a", "b", false), "updated");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(every_row, tool_world_setup, tool_world_teardown),
		cmocka_unit_test_setup_teardown(many_matches_need_a_read, tool_world_setup, tool_world_teardown),
		cmocka_unit_test_setup_teardown(an_identical_edit_leaves_the_time_alone, tool_world_setup,
		                                tool_world_teardown),
		cmocka_unit_test_setup_teardown(the_lines_around_are_shown, tool_world_setup, tool_world_teardown),
		cmocka_unit_test_setup_teardown(changes_by_others_are_noticed, tool_world_setup, tool_world_teardown),
		cmocka_unit_test_setup_teardown(mode_link_and_names_stay, tool_world_setup, tool_world_teardown),
		cmocka_unit_test_setup_teardown(what_cannot_be_edited, tool_world_setup, tool_world_teardown),
		cmocka_unit_test_setup_teardown(protected_files_need_bypass, tool_world_setup, tool_world_teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
