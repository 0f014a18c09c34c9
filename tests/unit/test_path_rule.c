/* Path patterns against paths, and the names by which a path leads to its file. */
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "guard/path_names.h"
#include "guard/path_rule.h"
#include "guard/protected.h"

#define LENGTH(a) (sizeof(a) / sizeof *(a))

static const char *const dirs[] = { "/ws", NULL };
static const struct path_anchor at = { dirs, NULL, "/homes/me" };

static void patterns_by_section_6(void **state)
{
	static const struct {
		const char *pattern;
		bool wide;
		const char *path;
		bool covered;
	} rows[] = {
		/* anchors */
		{ "//etc/x", false, "/etc/x", true },
		{ "//etc/x", false, "/ws/etc/x", false },
		{ "~/x", false, "/homes/me/x", true },
		{ "~/x", false, "/ws/~/x", false },
		{ "/src/a", false, "/ws/src/a", true },
		{ "/src/a", false, "/src/a", false },
		{ "src/a", false, "/ws/src/a", true },
		{ "src/a", false, "/ws/b/src/a", false },
		{ "./src/a", false, "/ws/src/a", true },
		/* a bare name at any depth, and only whole names */
		{ ".env", true, "/ws/.env", true },
		{ ".env", true, "/ws/a/b/.env", true },
		{ ".env", true, "/ws/a/.env.local", false },
		{ ".env", true, "/ws/a/x.env", false },
		{ ".env", true, "/other/.env", false },
		{ "./.env", true, "/ws/.env", true },
		{ "./.env", true, "/ws/a/.env", false },
		{ "/.env", true, "/ws/a/.env", false },
		{ "//**/.env", true, "/any/where/.env", true },
		{ "//**/.env", true, "/.env", true },
		{ "**/.env", true, "/ws/a/.env", true },
		{ "*.c", false, "/ws/a/b.c", true },
		{ "*.c", false, "/ws/a/b.h", false },
		/* one-segment directories */
		{ "src/**", false, "/ws/src/a/b", true },
		{ "src/**", false, "/ws/lib/src/a", false },
		{ "src/**", true, "/ws/src/a", true },
		{ "src/**", true, "/ws/lib/src/a", true },
		{ "./src/**", true, "/ws/lib/src/a", false },
		{ "/src/**", true, "/ws/lib/src/a", false },
		{ "a/src/**", true, "/ws/b/a/src/x", false },
		/* '*' inside one segment, "**" across */
		{ "src/*", false, "/ws/src/a", true },
		{ "src/*.c", false, "/ws/src/a/b.c", false },
		{ "src/*/c", false, "/ws/src/a/c", true },
		{ "src/*/c", false, "/ws/src/a/b/c", false },
		{ "src/**/c", false, "/ws/src/a/b/c", true },
		{ "src/**/c", false, "/ws/src/c", true },
		{ "a**b", false, "/ws/a/b", false },
		{ "a?c", false, "/ws/abc", true },
		{ "a?c", false, "/ws/a/c", false },
		{ "a[b-d]e", false, "/ws/ace", true },
		{ "a[b-d]e", false, "/ws/aee", false },
		{ "a[!b]c", false, "/ws/axc", true },
		{ "a[!b]c", false, "/ws/abc", false },
		{ "a[]x]c", false, "/ws/a]c", true },
		{ "a[bc", false, "/ws/a[bc", true },
		{ "a\\*c", false, "/ws/a*c", true },
		{ "a\\*c", false, "/ws/abc", false },
		{ "\\!x", false, "/ws/!x", true },
		/* a directory is all beneath it */
		{ "secrets", true, "/ws/x/secrets/a/b", true },
		{ "secrets/", true, "/ws/x/secrets/a", true },
		{ "secrets/", false, "/ws/secrets", false },
		{ "secrets/**", false, "/ws/secrets", false },
		{ "**", false, "/ws/a/b", true },
		{ "**", false, "/wsx/a", false },
		{ "/**", false, "/ws/a", true },
		/* ".." is resolved first */
		{ "../lib/**", false, "/lib/a", true },
		{ "a/../b", false, "/ws/b", true },
		{ "//a/../b/*", false, "/b/c", true },
		/* the same beginning is not the same directory */
		{ "//ws/src/**", false, "/ws/src-evil/a", false },
	};
	(void)state;
	for (size_t i = 0; i < LENGTH(rows); i++) {
		struct arena a = ARENA_INIT;
		struct path_rule r;
		struct error e = ERROR_INIT;
		assert_null(path_rule_fault(rows[i].pattern));
		assert_int_equal(path_rule_compile(&r, rows[i].pattern, rows[i].wide, &at, &a, &e), 0);
		if (path_rule_try_text(&r, rows[i].path, false).covered != rows[i].covered)
			fail_msg("%s (%s) against %s should be %d", rows[i].pattern, rows[i].wide ? "deny" : "allow",
			         rows[i].path, rows[i].covered);
		arena_release(&a);
	}
}

static void the_directory_itself_and_what_may_lie_below(void **state)
{
	static const struct {
		const char *pattern, *path;
		bool covered, below;
	} rows[] = {
		{ "/secrets/**", "/ws/secrets", true, true },
		{ "/secrets/", "/ws/secrets", true, true },
		{ ".env", "/ws/a", false, true },
		{ "/a/b", "/ws/a", false, true },
		{ "/a/b", "/ws/c", false, false },
		{ "/a/b", "/", false, true },
		{ "//etc/x", "/ws", false, false },
	};
	(void)state;
	for (size_t i = 0; i < LENGTH(rows); i++) {
		struct arena a = ARENA_INIT;
		struct path_rule r;
		struct error e = ERROR_INIT;
		assert_int_equal(path_rule_compile(&r, rows[i].pattern, true, &at, &a, &e), 0);
		struct path_hit hit = path_rule_try_text(&r, rows[i].path, true);
		if (hit.covered != rows[i].covered || hit.below != rows[i].below)
			fail_msg("%s against %s: %d %d", rows[i].pattern, rows[i].path, hit.covered, hit.below);
		arena_release(&a);
	}
}

/* '*' and '?' of a shell, "%" as two of them: any number of segments. */
static struct glob shell_path(const char *text, glob_sym out[256])
{
	size_t n = 0;

	for (; *text; text++) {
		if (*text == '%')
			out[n++] = GLOB_ANY;
		out[n++] = *text == '*' || *text == '%' ? GLOB_ANY : *text == '?' ? GLOB_ONE : (unsigned char)*text;
	}
	return (struct glob){ out, n, NULL };
}

static void wildcards_of_the_shell_may_fit(void **state)
{
	static const struct {
		const char *pattern, *path;
		bool dotted, may;
	} rows[] = {
		{ ".env", "/ws/*", false, false },      { ".env", "/ws/*", true, true },
		{ ".env", "/ws/.e*", false, true },     { ".env", "/ws/.*", false, true },
		{ ".env", "/ws/a/.e?v", false, true },  { ".env", "/ws/*.md", true, false },
		{ "/a/key", "/ws/*/k*", false, true },  { "/a/key", "/ws/b/k*", false, false },
		{ "/a/key", "/ws/%/key", false, true }, { "[ab].c", "/ws/?.c", false, true },
		{ "secrets", "/ws/s*/x", false, true },
	};
	glob_sym s[256];
	(void)state;
	for (size_t i = 0; i < LENGTH(rows); i++) {
		struct arena a = ARENA_INIT;
		struct path_rule r;
		struct error e = ERROR_INIT;
		assert_int_equal(path_rule_compile(&r, rows[i].pattern, true, &at, &a, &e), 0);
		struct path_hit hit = path_rule_try(&r, shell_path(rows[i].path, s), true, rows[i].dotted);
		if (hit.covered != rows[i].may)
			fail_msg("%s against %s should be %d", rows[i].pattern, rows[i].path, rows[i].may);
		arena_release(&a);
	}
}

static void without_a_home_directory_its_rules_are_refused(void **state)
{
	const struct path_anchor homeless = { dirs, NULL, NULL };
	struct arena a = ARENA_INIT;
	struct path_rule r;
	struct error e = ERROR_INIT;
	(void)state;
	assert_int_equal(path_rule_compile(&r, "~/x", true, &homeless, &a, &e), -1);
	assert_non_null(strstr(e.msg, "HOME"));
	arena_release(&a);
}

/* ---- the file system ---- */

static int make_world(void **state)
{
	char *dir = strdup("/tmp/quern-path-rule-XXXXXX");
	char path[256];

	if (!dir || !mkdtemp(dir) || chdir(dir) < 0)
		return -1;
	mkdir("ws", 0700);
	mkdir("out", 0700);
	mkdir("ws/src", 0700);
	snprintf(path, sizeof path, "%s/out", dir);
	if (symlink("../out", "ws/esc") || symlink("chain2", "ws/chain1") || symlink("../out/f", "ws/chain2") ||
	    symlink("loop-b", "ws/loop-a") || symlink("loop-a", "ws/loop-b") || symlink("ws", "link") ||
	    symlink(path, "ws/abs"))
		return -1;
	*state = dir;
	return 0;
}

static int remove_world(void **state)
{
	static const char *const names[] = { "ws/esc", "ws/chain1", "ws/chain2", "ws/loop-a", "ws/loop-b",
		                             "ws/abs", "link",      "ws/src",    "ws",        "out" };

	for (size_t i = 0; i < LENGTH(names); i++)
		remove(names[i]);
	int rc = chdir("/") || rmdir(*state);
	free(*state);
	return rc;
}

static void check_names(const char *dir, const char *path, const char *const *want)
{
	struct path_names names;
	char base[256], full[512];

	snprintf(base, sizeof base, "%s/ws", dir);
	path_names_resolve(&names, base, path);
	assert_null(names.fault);
	size_t n = 0;
	for (; want[n]; n++) {
		assert_true(n < names.n);
		snprintf(full, sizeof full, "%s/%s", dir, want[n]);
		assert_string_equal(names.name[n], full);
	}
	assert_int_equal(names.n, n);
	path_names_release(&names);
}

static void every_name_on_the_way_is_known(void **state)
{
	const char *dir = *state;
	static const struct {
		const char *path, *names[6];
	} rows[] = {
		{ "src/new/file", { "ws/src/new/file" } },
		{ "src/./..//a", { "ws/a" } },
		{ "chain1", { "ws/chain1", "ws/chain2", "out/f" } },
		{ "esc/x", { "ws/esc/x", "out/x" } },
		{ "abs/x", { "ws/abs/x", "out/x" } },
		/* ".." behind a link goes where the kernel goes */
		{ "esc/../x", { "ws/x", "x" } },
		{ "../link/src", { "link/src", "ws/src" } },
	};
	struct path_names names;
	for (size_t i = 0; i < LENGTH(rows); i++)
		check_names(dir, rows[i].path, rows[i].names);
	path_names_resolve(&names, dir, "ws/loop-a");
	assert_non_null(names.fault);
	path_names_release(&names);
	path_names_resolve(&names, "/", "/proc/self/root/etc");
	assert_null(names.fault);
	assert_string_equal(names.name[names.n - 1], "/etc");
	assert_true(names.is_dir);
	path_names_release(&names);
}

static void links_outside_are_the_users_links_inside_widen_nothing(void **state)
{
	char ws[256], link[256], pattern[300], path[300];
	const char *const real[] = { ws, NULL }, *const spelled[] = { link, NULL };
	const struct path_anchor here = { real, spelled, NULL };
	static const struct {
		const char *pattern, *path;
		bool covered;
	} rows[] = {
		{ "link/src/**", "ws/src/a", true }, /* the workspace by its other name */
		{ "ws/src/**", "ws/src/a", true },
		{ "ws/esc/**", "out/a", false }, /* a link in the workspace may be anybody's */
		{ "link/esc/**", "out/a", false },
		{ "out/**", "out/a", true },
	};

	snprintf(ws, sizeof ws, "%s/ws", (char *)*state);
	snprintf(link, sizeof link, "%s/link", (char *)*state);
	for (size_t i = 0; i < LENGTH(rows); i++) {
		struct arena a = ARENA_INIT;
		struct path_rule r;
		struct error e = ERROR_INIT;
		snprintf(pattern, sizeof pattern, "/%s/%s", (char *)*state, rows[i].pattern);
		snprintf(path, sizeof path, "%s/%s", (char *)*state, rows[i].path);
		assert_int_equal(path_rule_compile(&r, pattern, false, &here, &a, &e), 0);
		if (path_rule_try_text(&r, path, false).covered != rows[i].covered)
			fail_msg("%s against %s should be %d", pattern, path, rows[i].covered);
		arena_release(&a);
	}
}

static void protected_by_section_7(void **state)
{
	static const char *const yes[] = {
		".git/config",
		".git",
		"a/.git/hooks/x",
		".config/git/config",
		".vscode/x",
		".idea/x",
		".husky/x",
		".cargo/config",
		".devcontainer/x",
		".yarn/x",
		".mvn/x",
		".claude/x",
		".gitconfig",
		".gitmodules",
		".bashrc",
		".bash_profile",
		".profile",
		".zshrc",
		".envrc",
		"a/.npmrc",
		".yarnrc",
		".yarnrc.yml",
		".pnp.cjs",
		".bazelrc",
		".pre-commit-config.yaml",
		"lefthook.yml",
		".mcp.json",
		".claude.json",
		".devcontainer.json",
		".ripgreprc",
		"gradle/wrapper/gradle-wrapper.properties",
		"maven-wrapper.properties",
		".claude/worktrees/a/.git",
		".claude/worktreesx/a",
	};
	static const char *const no[] = { ".gitignore",
		                          "git/config",
		                          ".config/x",
		                          "a.git",
		                          ".github/workflows/x",
		                          ".env",
		                          "x.npmrc",
		                          "",
		                          ".claude/worktrees/a/x",
		                          ".yarn2" };
	(void)state;
	for (size_t i = 0; i < LENGTH(yes); i++)
		if (!path_is_protected(yes[i]))
			fail_msg("%s is not protected", yes[i]);
	for (size_t i = 0; i < LENGTH(no); i++)
		if (path_is_protected(no[i]))
			fail_msg("%s is protected", no[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(patterns_by_section_6),
		cmocka_unit_test(the_directory_itself_and_what_may_lie_below),
		cmocka_unit_test(wildcards_of_the_shell_may_fit),
		cmocka_unit_test(without_a_home_directory_its_rules_are_refused),
		cmocka_unit_test_setup_teardown(every_name_on_the_way_is_known, make_world, remove_world),
		cmocka_unit_test_setup_teardown(links_outside_are_the_users_links_inside_widen_nothing, make_world,
		                                remove_world),
		cmocka_unit_test(protected_by_section_7),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
