#include "prompt_world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void mask(void *ctx, struct buf *text)
{
	char *p;

	(void)ctx;
	while (text->len > 0 && (p = memmem(text->data, text->len, "canary-key", 10)))
		memcpy(p, "[secret]..", 10);
}

void prompt_world_deny(struct prompt_world *w, const char *const *deny)
{
	struct error e = ERROR_INIT;

	permissions_free(w->permissions);
	w->rules = (struct permission_config){ .workspace = w->work, .deny = deny };
	w->permissions = permissions_open(&w->rules, &e);
	if (!w->permissions)
		fail_msg("%s", e.msg);
	w->place.permissions = w->permissions;
}

int prompt_world_setup(void **state)
{
	struct prompt_world *w = calloc(1, sizeof *w);
	const char *tmp = getenv("TMPDIR");
	char made[256];

	assert_non_null(w);
	snprintf(made, sizeof made, "%s/quern-prompt-XXXXXX", tmp ? tmp : "/tmp");
	assert_non_null(mkdtemp(made));
	char *real = realpath(made, NULL);
	assert_non_null(real);
	snprintf(w->dir, sizeof w->dir, "%s", real);
	free(real);
	snprintf(w->work, sizeof w->work, "%s/work", w->dir);
	assert_int_equal(mkdir(w->work, 0755), 0);
	w->place = (struct place){ .workspace = w->work, .mask = mask };
	prompt_world_deny(w, NULL);
	buf_init(&w->out, (size_t)1 << 20);
	buf_init(&w->name, PLACE_PATH);
	buf_init(&w->notes, 8192);
	*state = w;
	return 0;
}

int prompt_world_teardown(void **state)
{
	struct prompt_world *w = *state;
	char cmd[700];

	permissions_free(w->permissions);
	buf_release(&w->out);
	buf_release(&w->name);
	buf_release(&w->notes);
	snprintf(cmd, sizeof cmd, "chmod -R u+w '%s'; rm -rf '%s'", w->dir, w->dir);
	int rc = system(cmd);
	free(w);
	return rc;
}

void prompt_world_sh(struct prompt_world *w, const char *script)
{
	char cmd[8192];

	snprintf(cmd, sizeof cmd, "cd '%s' && { %s\n}", w->work, script);
	if (system(cmd) != 0)
		fail_msg("the script failed: %s", script);
}
