#include "tool_world.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"

static void mask(void *ctx, struct buf *text)
{
	char *p;

	(void)ctx;
	while (text->len > 0 && (p = memmem(text->data, text->len, "canary-key", 10)))
		memcpy(p, "[secret]..", 10);
}

void tool_world_take_rules(struct tool_world *w)
{
	struct error e = ERROR_INIT;

	permissions_free(w->permissions);
	w->rules.workspace = w->work;
	w->rules.add_dirs = w->cfg.add_dirs;
	w->rules.spelled = w->cfg.spelled;
	w->permissions = permissions_open(&w->rules, &e);
	if (!w->permissions)
		fail_msg("%s", e.msg);
	w->cfg.permissions = w->permissions;
}

void tool_world_reopen(struct tool_world *w)
{
	struct error e = ERROR_INIT;

	toolbox_free(w->toolbox);
	w->toolbox = NULL;
	tool_world_take_rules(w);
	w->toolbox = toolbox_open(&w->cfg, w->reactor, w->supervisor, &e);
	if (!w->toolbox)
		fail_msg("%s", e.msg);
}

int tool_world_setup(void **state)
{
	static const char *env[] = { "PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/nonexistent", "LC_ALL=C.UTF-8", NULL };
	struct tool_world *w = calloc(1, sizeof *w);
	const char *tmp = getenv("TMPDIR");
	struct error e = ERROR_INIT;
	char made[256];

	assert_non_null(w);
	snprintf(made, sizeof made, "%s/quern-tool-XXXXXX", tmp ? tmp : "/tmp");
	assert_non_null(mkdtemp(made));
	char *real = realpath(made, NULL);
	assert_non_null(real);
	snprintf(w->dir, sizeof w->dir, "%s", real);
	free(real);
	snprintf(w->work, sizeof w->work, "%s/work", w->dir);
	snprintf(w->run_dir, sizeof w->run_dir, "%s/run", w->dir);
	assert_int_equal(mkdir(w->work, 0755), 0);
	w->reactor = reactor_open(&e);
	assert_non_null(w->reactor);
	struct supervisor_config sc = { .calls = tool_child_calls, .ncalls = tool_child_ncalls };
	w->supervisor = supervisor_start(&sc, w->reactor, &e);
	if (!w->supervisor)
		fail_msg("%s", e.msg);
	static const char *const no_roots[] = { NULL };
	assert_int_equal(mkdir(w->run_dir, 0700), 0);
	struct run_dir_config rc = { .explicit_dir = w->run_dir, .session_id = "s", .writable_roots = no_roots };
	w->kept = run_dir_open(&rc, &e);
	if (!w->kept)
		fail_msg("%s", e.msg);
	w->cfg = (struct toolbox_config){
		.workspace = w->work,
		.child_env = env,
		.max_spill = (size_t)64 << 20,
		.run_dir = w->kept,
		.mask = mask,
		.ctx = w,
	};
	w->rules.mode = MODE_BYPASS;
	tool_world_reopen(w);
	*state = w;
	return 0;
}

int tool_world_teardown(void **state)
{
	struct tool_world *w = *state;
	char cmd[700];

	tool_result_release(&w->result);
	int rc = supervisor_stop(w->supervisor, 500);
	toolbox_free(w->toolbox);
	permissions_free(w->permissions);
	run_dir_free(w->kept, false);
	reactor_free(w->reactor);
	snprintf(cmd, sizeof cmd, "chmod -R u+w '%s'; rm -rf '%s'", w->dir, w->dir);
	rc |= system(cmd);
	free(w);
	return rc;
}

void tool_world_sh(struct tool_world *w, const char *fmt, ...)
{
	char script[4096], cmd[8192];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(script, sizeof script, fmt, ap);
	va_end(ap);
	snprintf(cmd, sizeof cmd, "cd '%s' && { %s\n}", w->work, script);
	if (system(cmd) != 0)
		fail_msg("the script failed: %s", script);
}

static void on_done(void *ctx, const char *id, struct tool_result *res)
{
	struct tool_world *w = ctx;

	assert_non_null(id);
	w->result = *res;
	memset(res, 0, sizeof *res);
	w->done = true;
}

bool tool_world_start(struct tool_world *w, const char *name, const char *input)
{
	struct error e = ERROR_INIT;
	char id[32];

	tool_result_release(&w->result);
	w->done = false;
	snprintf(id, sizeof id, "toolu_%d", ++w->calls);
	struct block *use = block_new_tool_use(id, name, input, strlen(input));
	assert_non_null(use);
	struct tool_result now;
	int rc = toolbox_start(w->toolbox, use, on_done, w, &now, &e);
	block_unref(use);
	if (rc < 0)
		fail_msg("%s", e.msg);
	if (rc == 0) {
		w->result = now;
		w->done = true;
	}
	return rc == 1;
}

const char *tool_world_wait(struct tool_world *w)
{
	struct error e = ERROR_INIT;

	for (int i = 0; i < 2000 && !w->done; i++)
		if (reactor_wait(w->reactor, clock_mono_ms() + 30000, &e) < 0)
			fail_msg("%s", e.msg);
	assert_true(w->done);
	assert_non_null(w->result.text);
	assert_int_equal(strlen(w->result.text), w->result.text_len);
	return w->result.text;
}

const char *tool_world_call(struct tool_world *w, const char *name, const char *fmt, ...)
{
	char *input = NULL;
	va_list ap;

	va_start(ap, fmt);
	assert_true(vasprintf(&input, fmt, ap) >= 0);
	va_end(ap);
	tool_world_start(w, name, input);
	free(input);
	return tool_world_wait(w);
}

void tool_world_put(struct tool_world *w, const char *name, const void *p, size_t n)
{
	char path[600];

	snprintf(path, sizeof path, "%s/%s", w->work, name);
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	assert_true(fd >= 0);
	assert_int_equal(io_write_all(fd, p, n), 0);
	close(fd);
}

void tool_world_expect(struct tool_world *w, const char *name, const void *p, size_t n)
{
	struct buf b = BUF_INIT(BUF_HUGE);
	struct error e = ERROR_INIT;
	char path[600];

	snprintf(path, sizeof path, "%s/%s", w->work, name);
	if (io_read_file(AT_FDCWD, path, &b, &e) < 0)
		fail_msg("%s", e.msg);
	if (b.len != n || memcmp(buf_str(&b), p, n) != 0)
		fail_msg("%s holds '%s' (%zu bytes), wanted '%.*s' (%zu bytes)", name, buf_str(&b), b.len, (int)n,
		         (const char *)p, n);
	buf_release(&b);
}
