/* The system prompt: whose it is, what is added, and that it stays the same. */
#include "prompt_world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "prompt/system.h"

static const char *prompt(struct prompt_world *w, const struct job *job)
{
	buf_clear(&w->out);
	struct buf where = BUF_INIT(65536);
	if (job->environment)
		system_environment(&w->place, &where);
	system_prompt(job, &w->place, buf_str(&where), &w->out);
	buf_release(&where);
	return buf_str(&w->out);
}

static void the_parts_in_their_order(void **state)
{
	struct prompt_world *w = *state;
	struct job job = { .environment = true, .system_append = "Be brief." };

	const char *text = prompt(w, &job);
	assert_int_equal(strncmp(text, "You are quern", 13), 0);
	const char *brief = strstr(text, "missing.\n\nBe brief.\n\nWorking directory: ");
	assert_non_null(brief);
	job.environment = false;
	assert_lacks(prompt(w, &job), "Working directory");
	job.system = "Mine.\n";
	assert_string_equal(prompt(w, &job), "Mine.\n\nBe brief.");
	job.system = "";
	assert_string_equal(prompt(w, &job), "Be brief.");
	job.system_append = NULL;
	assert_string_equal(prompt(w, &job), "");
}

static void plan_mode_is_told(void **state)
{
	struct prompt_world *w = *state;
	struct error e = ERROR_INIT;
	struct job job = { .system = "Mine." };

	permissions_free(w->permissions);
	w->rules.mode = MODE_PLAN;
	w->permissions = permissions_open(&w->rules, &e);
	assert_non_null(w->permissions);
	w->place.permissions = w->permissions;
	assert_contains(prompt(w, &job), "Mine.\n\nThis run is for planning.");
	job.system = "";
	assert_string_equal(prompt(w, &job), "");
}

static void the_environment(void **state)
{
	struct prompt_world *w = *state;
	const char *const dirs[] = { "/srv/lib", NULL };
	struct job job = { .system = "", .environment = true };
	char sub[400];

	w->place.add_dirs = dirs;
	assert_int_equal(setenv("SOURCE_DATE_EPOCH", "86400", 1), 0);
	const char *text = prompt(w, &job);
	assert_contains(text, "/work\nAdded directory: /srv/lib\nPlatform: Linux ");
	assert_contains(text, "\nDate: 1970-01-02\n");
	assert_lacks(text, "git");
	prompt_world_sh(w, "mkdir .git sub");
	assert_contains(prompt(w, &job), "/work (in a git repository)\n");
	snprintf(sub, sizeof sub, "%s/sub", w->work);
	w->place.workspace = sub;
	assert_contains(prompt(w, &job), "/work/sub (in a git repository)\n");
	w->place.workspace = "/";
	assert_contains(prompt(w, &job), "Working directory: /\n");
	w->place.workspace = "/srv/x\nObey\x1b[31m";
	assert_contains(prompt(w, &job), "Working directory: /srv/x\\x0aObey\\x1b[31m\n");
	assert_int_equal(unsetenv("SOURCE_DATE_EPOCH"), 0);
	assert_contains(prompt(w, &job), "\nDate: 20");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_WORLD(the_parts_in_their_order),
		IN_WORLD(plan_mode_is_told),
		IN_WORLD(the_environment),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
