/* Memory files: which are told, once each, within their room, and never from outside the workspace. */
#include "prompt_world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "prompt/memory.h"

/* The next text, "" if there is none. */
static const char *next(struct prompt_world *w, struct memory *m)
{
	struct error e = ERROR_INIT;

	buf_clear(&w->out);
	int rc = memory_next(m, &w->out, &w->name, &w->notes, &e);
	if (rc < 0)
		fail_msg("%s", e.msg);
	assert_int_equal(rc, w->out.len > 0);
	return buf_str(&w->out);
}

static struct memory *open_memory(struct prompt_world *w, const char *const *files)
{
	struct memory *m = memory_open(&w->place, files);

	assert_non_null(m);
	return m;
}

static void touch(struct prompt_world *w, struct memory *m, const char *below)
{
	char dir[400];

	snprintf(dir, sizeof dir, "%s%s", w->work, below);
	assert_int_equal(memory_touch(m, dir), 0);
}

static void the_workspaces_own_is_told_first(void **state)
{
	struct prompt_world *w = *state;
	char path[400];

	prompt_world_sh(w,
	                "echo above >../AGENTS.md; echo 'use tabs' >AGENTS.md; echo not >CLAUDE.md; mkdir a; echo low "
	                ">a/AGENTS.md");
	struct memory *m = open_memory(w, NULL);
	snprintf(path, sizeof path, "<memory path=\"%s/AGENTS.md\">\nuse tabs\n</memory>", w->work);
	assert_contains(next(w, m), path);
	assert_string_equal(next(w, m), "");
	assert_int_equal(w->notes.len, 0);
	memory_free(m);
}

static void claude_md_stands_in(void **state)
{
	struct prompt_world *w = *state;

	prompt_world_sh(w, "echo ' ' >AGENTS.md; echo 'see @docs/x.md' >CLAUDE.md");
	struct memory *m = open_memory(w, NULL);
	assert_contains(next(w, m), "see @docs/x.md\n</memory>\nFiles that it names with @ are not included");
	assert_contains(buf_str(&w->name), "/CLAUDE.md");
	assert_string_equal(next(w, m), "");
	memory_free(m);
}

static void a_touched_directory_brings_its_own(void **state)
{
	struct prompt_world *w = *state;

	prompt_world_sh(w, "mkdir -p a/b/c d; echo in-a >a/AGENTS.md; echo in-c >a/b/c/CLAUDE.md; ln -s ../a/AGENTS.md "
	                   "d/AGENTS.md");
	struct memory *m = open_memory(w, NULL);
	assert_string_equal(next(w, m), "");
	touch(w, m, "/a/b/c");
	assert_contains(next(w, m), "in-a");
	assert_contains(next(w, m), "in-c");
	touch(w, m, "/a/b");
	touch(w, m, "/a/b/c");
	touch(w, m, "/d"); /* the same file by another name */
	touch(w, m, "x");  /* beside the workspace */
	assert_int_equal(memory_touch(m, "/etc"), 0);
	assert_string_equal(next(w, m), "");
	memory_free(m);
}

static void a_link_counts_where_it_stands(void **state)
{
	struct prompt_world *w = *state;
	char who[400];

	prompt_world_sh(w, "mkdir docs; echo all >docs/rules.md; ln -s docs/rules.md AGENTS.md");
	struct memory *m = open_memory(w, NULL);
	snprintf(who, sizeof who, "for whoever works in %s. ", w->work);
	assert_contains(next(w, m), who);
	assert_contains(buf_str(&w->out), "/docs/rules.md\">\nall\n");
	memory_free(m);
}

static void links_lead_nowhere_outside(void **state)
{
	struct prompt_world *w = *state;

	prompt_world_sh(w, "echo outside >../o; ln -s ../o AGENTS.md; mkdir a b c; ln -s ../../o a/AGENTS.md; mkfifo "
	                   "b/AGENTS.md; mkdir c/AGENTS.md; echo c >c/CLAUDE.md");
	struct memory *m = open_memory(w, NULL);
	touch(w, m, "/a");
	touch(w, m, "/b");
	assert_string_equal(next(w, m), "");
	touch(w, m, "/c");
	assert_contains(next(w, m), "\nc\n");
	memory_free(m);
}

static void what_a_rule_forbids_is_not_read(void **state)
{
	static const char *const deny[] = { "Read(AGENTS.md)", NULL };
	struct prompt_world *w = *state;

	prompt_world_sh(w, "echo no >AGENTS.md; echo yes >CLAUDE.md");
	prompt_world_deny(w, deny);
	struct memory *m = open_memory(w, NULL);
	assert_contains(next(w, m), "\nyes\n");
	assert_string_equal(next(w, m), "");
	memory_free(m);
}

static void together_they_have_their_room(void **state)
{
	struct prompt_world *w = *state;

	prompt_world_sh(w,
	                "yes 'a line of text' | head -c 30000 >AGENTS.md; mkdir a b; yes 'more of it' | head -c 9000 "
	                ">a/AGENTS.md; echo none >b/AGENTS.md");
	struct memory *m = open_memory(w, NULL);
	assert_lacks(next(w, m), "[cut");
	touch(w, m, "/a");
	assert_contains(next(w, m), "more of it\n[cut: the first ");
	assert_contains(buf_str(&w->out), " of 9000 bytes; Read the file for the rest]\n</memory>");
	assert_true(w->out.len < MEMORY_BYTES - 30000 + 1500);
	assert_contains(buf_str(&w->notes), "a/AGENTS.md: only its first ");
	touch(w, m, "/b");
	assert_string_equal(next(w, m), "");
	assert_contains(buf_str(&w->notes), "b/AGENTS.md is left out");
	memory_free(m);
}

static void it_is_text_and_holds_no_secret(void **state)
{
	struct prompt_world *w = *state;

	prompt_world_sh(w, "printf '\\357\\273\\277key canary-key \\377 end' >AGENTS.md");
	struct memory *m = open_memory(w, NULL);
	assert_contains(next(w, m), ">\nkey [secret].. \xEF\xBF\xBD end\n</memory>");
	memory_free(m);
}

static void nor_half_of_one_where_it_is_cut(void **state)
{
	struct prompt_world *w = *state;

	prompt_world_sh(w, "{ head -c 32763 /dev/zero | tr '\\0' x; echo canary-key and more; } >AGENTS.md");
	struct memory *m = open_memory(w, NULL);
	assert_contains(next(w, m), "x[secr\n[cut: the first ");
	assert_lacks(buf_str(&w->out), "can");
	memory_free(m);
}

static void it_is_told_again_when_it_is_forgotten(void **state)
{
	struct prompt_world *w = *state;

	prompt_world_sh(w, "echo root >AGENTS.md; mkdir a; echo low >a/AGENTS.md");
	struct memory *m = open_memory(w, NULL);
	touch(w, m, "/a");
	assert_contains(next(w, m), "root");
	assert_contains(next(w, m), "low");
	memory_forgotten(m);
	assert_contains(next(w, m), "root");
	assert_string_equal(next(w, m), "");
	touch(w, m, "/a");
	assert_contains(next(w, m), "low");
	memory_free(m);
}

static void the_job_can_name_files(void **state)
{
	struct prompt_world *w = *state;
	char one[400], two[400];
	const char *files[] = { one, two, NULL };

	snprintf(one, sizeof one, "%s/../rules.txt", w->work);
	snprintf(two, sizeof two, "%s/no.md", w->work);
	prompt_world_sh(w, "echo ours >../rules.txt; echo not >AGENTS.md; echo two >no.md");
	struct memory *m = open_memory(w, files);
	assert_contains(next(w, m), "ours");
	assert_contains(next(w, m), "two");
	touch(w, m, "");
	assert_string_equal(next(w, m), "");
	prompt_world_sh(w, "rm no.md");
	memory_forgotten(m);
	assert_contains(next(w, m), "ours");
	assert_string_equal(next(w, m), ""); /* it was there when it mattered */
	memory_free(m);
	m = open_memory(w, files);
	assert_contains(next(w, m), "ours");
	struct error e = ERROR_INIT;
	assert_int_equal(memory_next(m, &w->out, &w->name, &w->notes, &e), -1);
	assert_contains(e.msg, "memory: cannot read '");
	memory_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_WORLD(the_workspaces_own_is_told_first),
		IN_WORLD(claude_md_stands_in),
		IN_WORLD(a_touched_directory_brings_its_own),
		IN_WORLD(a_link_counts_where_it_stands),
		IN_WORLD(links_lead_nowhere_outside),
		IN_WORLD(what_a_rule_forbids_is_not_read),
		IN_WORLD(together_they_have_their_room),
		IN_WORLD(it_is_text_and_holds_no_secret),
		IN_WORLD(nor_half_of_one_where_it_is_cut),
		IN_WORLD(it_is_told_again_when_it_is_forgotten),
		IN_WORLD(the_job_can_name_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
