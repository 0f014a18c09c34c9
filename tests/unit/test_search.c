/* Glob and Grep through ripgrep: options, windows, paths, and nothing from outside. */
#include "tool_world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *glob(struct tool_world *w, const char *pattern)
{
	return tool_world_call(w, "Glob", "{\"pattern\":\"%s\"}", pattern);
}

static const char *grep(struct tool_world *w, const char *more)
{
	return tool_world_call(w, "Grep", "{%s}", more);
}

static void tree(struct tool_world *w)
{
	tool_world_sh(w,
	              "mkdir .git; echo int >.git/config; mkdir -p src/deep build; printf 'int one;\\nint two;\\nint "
	              "three;\\n' >src/a.c;"
	              "printf 'int four;\\n' >src/deep/b.c; echo int >top.c; echo int >.hidden.c; echo int >build/x.c; "
	              "echo build "
	              ">.gitignore; touch -d '2001-01-01' src/a.c; touch -d '2002-01-01' src/deep/b.c; touch -d "
	              "'2003-01-01' top.c; "
	              "touch -d '2004-01-01' .hidden.c build/x.c");
}

/* Turns "@" into the workspace. */
static void assert_paths(struct tool_world *w, const char *text, const char *want)
{
	char full[4096];
	size_t n = 0;

	for (; *want && n < sizeof full - 400; want++) {
		if (*want == '@')
			n += (size_t)snprintf(full + n, sizeof full - n, "%s", w->work);
		else
			full[n++] = *want;
	}
	full[n] = '\0';
	assert_string_equal(text, full);
}

static void glob_patterns(void **state)
{
	struct tool_world *w = *state;

	tree(w);
	assert_paths(w, glob(w, "src/**/*.c"), "@/src/deep/b.c\n@/src/a.c\n");
	assert_false(w->result.is_error);
	assert_paths(w, w->result.structured ? glob(w, "*.c") : "", "@/.hidden.c\n@/top.c\n");
	assert_contains(w->result.structured, "\"numFiles\":2,\"durationMs\":");
	assert_contains(w->result.structured, "\"truncated\":false}");
	assert_paths(w, glob(w, "./src/*.c"), "@/src/a.c\n");
	assert_paths(w, glob(w, "{top,none}.c"), "@/top.c\n");
	assert_contains(glob(w, "**/*.c"), "/build/x.c");
	assert_string_equal(glob(w, "**/*.zig"), "No files found");
	assert_string_equal(glob(w, "!top.c"), "No files found");
	assert_string_equal(glob(w, "**/config"), "No files found"); /* .git is left out */
	assert_paths(w, tool_world_call(w, "Glob", "{\"pattern\":\"*.c\",\"path\":\"src/deep\"}"), "@/src/deep/b.c\n");
	assert_paths(w, tool_world_call(w, "Glob", "{\"pattern\":\"%s/src/*.c\"}", w->work), "@/src/a.c\n");
	assert_contains(glob(w, "/etc/*"), "absolute path");
	assert_contains(glob(w, "a{b"), "unclosed");
	assert_true(w->result.is_error);
}

static void glob_limits_and_names(void **state)
{
	struct tool_world *w = *state;

	tool_world_sh(w, "mkdir many; for i in $(seq 130); do : >many/$i; done; : >'odd [name]*.txt'; : >\"$(printf "
	                 "'line\\nfeed')\"");
	assert_contains(glob(w, "many/*"), "(The newest 100 of 130 files are shown.");
	assert_contains(w->result.structured, "\"truncated\":true");
	assert_contains(glob(w, "odd*"), "/odd [name]*.txt\n");
	assert_contains(glob(w, "line*"), "/line\\nfeed\n");
}

static void nothing_from_outside(void **state)
{
	struct tool_world *w = *state;

	tool_world_sh(w, "mkdir ../outside; echo secret >../outside/s.txt; ln -s ../outside dir-out; ln -s "
	                 "../outside/s.txt file-out; "
	                 "ln -s . self; ln -s loop loop; echo 'secret inside' >in.txt; ln -s in.txt file-in");
	assert_paths(w, glob(w, "**/*"), "@/in.txt\n");
	assert_string_equal(grep(w, "\"pattern\":\"secret\""), "in.txt\n");
	static const char *const outside[] = { "dir-out", "file-out", "..", "/etc", "dir-out/s.txt" };
	for (size_t i = 0; i < sizeof outside / sizeof outside[0]; i++) {
		assert_contains(tool_world_call(w, "Grep", "{\"pattern\":\"secret\",\"path\":\"%s\"}", outside[i]),
		                "denied");
		assert_true(w->result.denied);
		assert_contains(tool_world_call(w, "Glob", "{\"pattern\":\"*\",\"path\":\"%s\"}", outside[i]),
		                "denied");
	}
	assert_contains(
	        tool_world_call(w, "Grep", "{\"pattern\":\"secret\",\"path\":\"file-in\",\"output_mode\":\"content\"}"),
	        "in.txt:1:secret inside\n");
	assert_contains(tool_world_call(w, "Glob", "{\"pattern\":\"*\",\"path\":\"in.txt\"}"), "not a directory");
	assert_contains(tool_world_call(w, "Glob", "{\"pattern\":\"*\",\"path\":\"no\"}"), "does not exist");
}

static void grep_modes(void **state)
{
	struct tool_world *w = *state;

	tree(w);
	assert_string_equal(grep(w, "\"pattern\":\"int\""), ".hidden.c\ntop.c\nsrc/deep/b.c\nsrc/a.c\n");
	assert_contains(w->result.structured,
	                "{\"mode\":\"files_with_matches\",\"filenames\":[\".hidden.c\",\"top.c\"");
	assert_string_equal(grep(w, "\"pattern\":\"t[wh]\",\"output_mode\":\"content\""),
	                    "src/a.c:2:int two;\nsrc/a.c:3:int three;\n");
	assert_string_equal(grep(w, "\"pattern\":\"TWO\",\"output_mode\":\"content\",\"-i\":true,\"-n\":false"),
	                    "src/a.c:int two;\n");
	assert_string_equal(grep(w, "\"pattern\":\"tw.\",\"output_mode\":\"content\",\"-o\":true"), "src/a.c:2:two\n");
	assert_string_equal(grep(w, "\"pattern\":\"two\",\"output_mode\":\"content\",\"-C\":1"),
	                    "src/a.c:1-int one;\nsrc/a.c:2:int two;\nsrc/a.c:3-int three;\n");
	assert_string_equal(grep(w, "\"pattern\":\"two\",\"output_mode\":\"content\",\"context\":\"1\",\"-A\":0"),
	                    "src/a.c:1-int one;\nsrc/a.c:2:int two;\n");
	assert_string_equal(grep(w, "\"pattern\":\"int\",\"output_mode\":\"count\",\"path\":\"src\""),
	                    "src/a.c:3\nsrc/deep/b.c:1\n\nFound 4 matches in 2 files.\n");
	assert_contains(w->result.structured, "\"numMatches\":4");
	assert_string_equal(grep(w, "\"pattern\":\"one.*three\",\"multiline\":true"), "src/a.c\n");
	assert_string_equal(grep(w, "\"pattern\":\"int\",\"glob\":\"**/deep/*.c\""), "src/deep/b.c\n");
	assert_string_equal(grep(w, "\"pattern\":\"int\",\"type\":\"py\""), "No files found");
	assert_string_equal(grep(w, "\"pattern\":\"nothing here\",\"output_mode\":\"content\""), "No matches found");
	assert_false(w->result.is_error);
	assert_string_equal(grep(w, "\"pattern\":\"int\",\"path\":\"build/x.c\""),
	                    "build/x.c\n");                                   /* named, so ignored or not */
	assert_string_equal(grep(w, "\"pattern\":\"-e\""), "No files found"); /* not an option */
}

static void grep_windows(void **state)
{
	struct tool_world *w = *state;

	tool_world_sh(w, "seq 1 400 >f");
	const char *text = grep(w, "\"pattern\":\".\",\"output_mode\":\"content\"");
	assert_contains(
	        text,
	        "f:250:250\n\n[250 of 400 entries shown from offset 0; use offset and head_limit for the others]\n");
	assert_contains(w->result.structured, "\"appliedLimit\":250");
	assert_string_equal(grep(w, "\"pattern\":\".\",\"output_mode\":\"content\",\"head_limit\":1,\"offset\":399"),
	                    "f:400:400\n");
	assert_string_equal(grep(w, "\"pattern\":\".\",\"output_mode\":\"content\",\"offset\":400"),
	                    "No entries at this offset");
	assert_contains(grep(w, "\"pattern\":\".\",\"output_mode\":\"content\",\"head_limit\":0"), "f:400:400\n");
	tool_world_sh(w, "printf '%%02000d\\n' 7 >long");
	assert_true(strlen(grep(w, "\"pattern\":\"0\",\"path\":\"long\",\"output_mode\":\"content\"")) < 600);
	/* Everything, far over the budget of a result. */
	tool_world_sh(w, "seq -f 'line number %%06.0f' 1 9000 >g");
	text = grep(w, "\"pattern\":\"line\",\"output_mode\":\"content\",\"head_limit\":0");
	assert_contains(text, "<persisted-output>");
	assert_non_null(w->result.file);
	tool_world_sh(w, "test $(grep -c line '%s') = 9000", w->result.file);
}

static void grep_errors(void **state)
{
	struct tool_world *w = *state;

	tree(w);
	assert_contains(grep(w, "\"pattern\":\"(\""), "unclosed group");
	assert_true(w->result.is_error);
	assert_false(w->result.invalid);
	assert_contains(grep(w, "\"pattern\":\"x\",\"type\":\"klingon\""), "klingon");
	assert_true(w->result.is_error);
}

static void odd_bytes(void **state)
{
	struct tool_world *w = *state;

	tool_world_put(w, "latin1", "caf\xE9 here\n", 10);
	tool_world_sh(w, "mkdir 'a [b]'; echo needle >'a [b]/{c}*.txt'; echo needle >'a [b]/{c}x.txt'");
	assert_string_equal(grep(w, "\"pattern\":\"here\",\"output_mode\":\"content\""),
	                    "latin1:1:caf\xEF\xBF\xBD here\n");
	assert_string_equal(grep(w, "\"pattern\":\"needle\",\"path\":\"a [b]/{c}*.txt\""), "a [b]/{c}*.txt\n");
}

static void own_files_are_left_out(void **state)
{
	struct tool_world *w = *state;
	char own[400];

	tool_world_sh(w, "echo needle >run[1].ndjson; echo needle >f; mkdir d; echo needle >d/f");
	snprintf(own, sizeof own, "%s/run[1].ndjson", w->work);
	const char *skip[] = { own, "/elsewhere/f", NULL };
	w->cfg.skip_files = skip;
	tool_world_reopen(w);
	assert_null(strstr(grep(w, "\"pattern\":\"needle\""), "run"));
	assert_null(strstr(glob(w, "*"), "run"));
	assert_contains(w->result.text, "/f\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(glob_patterns, tool_world_setup, tool_world_teardown),
		cmocka_unit_test_setup_teardown(glob_limits_and_names, tool_world_setup, tool_world_teardown),
		cmocka_unit_test_setup_teardown(nothing_from_outside, tool_world_setup, tool_world_teardown),
		cmocka_unit_test_setup_teardown(grep_modes, tool_world_setup, tool_world_teardown),
		cmocka_unit_test_setup_teardown(grep_windows, tool_world_setup, tool_world_teardown),
		cmocka_unit_test_setup_teardown(grep_errors, tool_world_setup, tool_world_teardown),
		cmocka_unit_test_setup_teardown(odd_bytes, tool_world_setup, tool_world_teardown),
		cmocka_unit_test_setup_teardown(own_files_are_left_out, tool_world_setup, tool_world_teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
