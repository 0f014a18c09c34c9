#include "hook_world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/io.h"
#include "record/line.h"

static void mask(void *ctx, struct buf *text)
{
	char *p;

	(void)ctx;
	while (text->len > 0 && (p = memmem(text->data, text->len, "canary-key", 10)))
		memcpy(p, "[secret]..", 10);
}

static const char *store(void *ctx, const char *name, const char *text, size_t n)
{
	struct hook_world *w = ctx;

	return run_dir_store(w->run_dir, name, text, n, NULL);
}

static int emit(void *ctx, struct event *ev, struct error *e)
{
	struct hook_world *w = ctx;
	const struct event_hook *v = &ev->u.hook;

	if (w->fail_emit && --w->fail_emit == 0)
		return error_set(e, ERR_GONE, "stdout is gone");
	/* in its real form too, so that what is written is looked at by the sanitizers */
	struct buf line = BUF_INIT(BUF_HUGE);
	line_write(&line, ev, "s", "1", false);
	bool failed = line.failed;
	buf_release(&line);
	if (failed)
		return error_nomem(e);
	if (ev->kind == EVENT_HOOK_STARTED)
		buf_addf(&w->events, "started %s %s\n", v->name, v->source);
	else if (ev->kind == EVENT_INFORMATIONAL)
		buf_addf(&w->events, "message %s\n", ev->u.informational.content);
	else
		buf_addf(&w->events, "response %s %s %d %s|%.*s|%.*s|\n", v->name, v->outcome, v->exit_code,
		         v->why ? v->why : "", (int)v->out_len, v->out ? v->out : "", (int)v->err_len,
		         v->err ? v->err : "");
	return 0;
}

int hook_world_setup(void **state)
{
	static const char *env[] = { "PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/nonexistent", "LC_ALL=C.UTF-8",
		                     "CLAUDECODE=0", NULL };
	static const char *const no_roots[] = { NULL };
	struct hook_world *w = calloc(1, sizeof *w);
	const char *tmp = getenv("TMPDIR");
	struct error e = ERROR_INIT;
	char made[200];

	assert_non_null(w);
	snprintf(made, sizeof made, "%s/quern-hook-XXXXXX", tmp ? tmp : "/tmp");
	assert_non_null(mkdtemp(made));
	char *real = realpath(made, NULL);
	assert_non_null(real);
	snprintf(w->dir, sizeof w->dir, "%s", real);
	free(real);
	snprintf(w->work, sizeof w->work, "%s/wo rk", w->dir);
	snprintf(w->run, sizeof w->run, "%s/run", w->dir);
	assert_int_equal(mkdir(w->work, 0755), 0);
	assert_int_equal(mkdir(w->run, 0700), 0);
	w->reactor = reactor_open(&e);
	assert_non_null(w->reactor);
	w->supervisor = supervisor_start(&(struct supervisor_config){ 0 }, w->reactor, &e);
	assert_non_null(w->supervisor);
	struct run_dir_config rc = { .explicit_dir = w->run, .session_id = "s", .writable_roots = no_roots };
	w->run_dir = run_dir_open(&rc, &e);
	assert_non_null(w->run_dir);
	buf_init(&w->events, BUF_HUGE);
	w->cfg = (struct hooks_config){ .v = w->decl,
		                        .supervisor = w->supervisor,
		                        .reactor = w->reactor,
		                        .run_dir = w->run_dir,
		                        .project_dir = w->work,
		                        .env = env,
		                        .session_id = "session-1",
		                        .permission_mode = "dontAsk",
		                        .transcript_path = "/t/t.jsonl",
		                        .emit = emit,
		                        .mask = mask,
		                        .store = store,
		                        .ctx = w };
	*state = w;
	return 0;
}

static void forget_answer(struct hook_world *w)
{
	for (size_t i = 0; i < sizeof w->texts / sizeof *w->texts; i++) {
		free(w->texts[i]);
		w->texts[i] = NULL;
	}
}

int hook_world_teardown(void **state)
{
	struct hook_world *w = *state;
	char cmd[400];

	int rc = supervisor_stop(w->supervisor, 200);
	hooks_free(w->hooks);
	run_dir_free(w->run_dir, false);
	reactor_free(w->reactor);
	forget_answer(w);
	buf_release(&w->events);
	snprintf(cmd, sizeof cmd, "rm -rf '%s'", w->dir);
	rc |= system(cmd);
	free(w);
	return rc;
}

static void close_hooks(struct hook_world *w)
{
	hooks_free(w->hooks);
	w->hooks = NULL;
}

struct job_hook *hook_world_add(struct hook_world *w, enum hook_event event, const char *command)
{
	close_hooks(w);
	assert_true(w->cfg.n < HOOKS_MAX);
	struct job_hook *hook = &w->decl[w->cfg.n++];
	*hook = (struct job_hook){ .event = event, .command = command, .source = "job.yaml:1:1", .timeout_ms = 50000 };
	return hook;
}

void hook_world_clear(struct hook_world *w)
{
	close_hooks(w);
	w->cfg.n = 0;
	w->cfg.verify = NULL;
	buf_clear(&w->events);
}

void hook_world_open(struct hook_world *w)
{
	struct error e = ERROR_INIT;

	if (w->hooks)
		return;
	w->hooks = hooks_open(&w->cfg, &e);
	if (!w->hooks)
		fail_msg("%s", e.msg);
}

static const char *keep(struct hook_world *w, size_t i, const char *s)
{
	w->texts[i] = s ? strdup(s) : NULL;
	return w->texts[i];
}

void hook_done_in(void *ctx, const struct hook_answer *answer)
{
	struct hook_world *w = ctx;
	struct hook_answer *a = &w->answer;

	forget_answer(w);
	*a = *answer;
	a->text = keep(w, 0, a->text);
	a->context = keep(w, 1, a->context);
	a->permit_text = keep(w, 2, a->permit_text);
	a->new_input = keep(w, 3, a->new_input);
	a->new_output = keep(w, 4, a->new_output);
	a->first_message = keep(w, 5, a->first_message);
	w->answers++;
}

int hook_world_start(struct hook_world *w, const struct hook_call *call, void *ctx)
{
	struct error e = ERROR_INIT;

	hook_world_open(w);
	int rc = hooks_ask(w->hooks, call, hook_done_in, ctx, &e);
	if (rc < 0)
		fail_msg("%s", e.msg);
	return rc;
}

void hook_world_wait(struct hook_world *w, int answers)
{
	int64_t patience = clock_mono_ms() + 60000;

	while (w->answers < answers && clock_mono_ms() < patience)
		assert_true(reactor_wait(w->reactor, patience, NULL) >= 0);
	assert_int_equal(w->answers, answers);
}

int hook_world_ask(struct hook_world *w, const struct hook_call *call)
{
	w->answers = 0;
	int rc = hook_world_start(w, call, w);
	if (rc)
		hook_world_wait(w, 1);
	return rc;
}

struct hook_call hook_world_call(enum hook_event event)
{
	return (struct hook_call){ .kind = event,
		                   .tool_name = "Bash",
		                   .tool_use_id = "toolu_1",
		                   .tool_input = "{\"command\":\"ls\"}",
		                   .tool_response = "{\"stdout\":\"a\"}",
		                   .duration_ms = 12,
		                   .tool_calls = "[{\"tool_name\":\"Bash\"}]",
		                   .prompt = "do it",
		                   .source = "startup",
		                   .reason = "other",
		                   .trigger = "auto",
		                   .summary = "all of it",
		                   .model = "m-1",
		                   .answer = "Done.",
		                   .answer_len = 5,
		                   .category = "rate_limit",
		                   .error = "Exit code 1" };
}

const struct hook_answer *hook_world_one(struct hook_world *w, enum hook_event event, const char *command)
{
	const struct hook_call call = hook_world_call(event);

	hook_world_clear(w);
	hook_world_add(w, event, command);
	assert_int_equal(hook_world_ask(w, &call), 1);
	assert_int_equal(w->answer.kind, event);
	return &w->answer;
}

void hook_world_put(struct hook_world *w, const char *name, const char *text, unsigned mode)
{
	char path[400];

	snprintf(path, sizeof path, "%s/%s", w->work, name);
	FILE *f = fopen(path, "w");
	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
	assert_int_equal(chmod(path, mode), 0);
}

char *hook_world_get(struct hook_world *w, const char *name)
{
	struct buf b = BUF_INIT(BUF_HUGE);
	char path[400];

	snprintf(path, sizeof path, "%s/%s", w->work, name);
	buf_add(&b, "", 0);
	if (io_read_file(-100, path, &b, NULL)) /* AT_FDCWD */
		buf_clear(&b);
	return buf_take(&b, NULL);
}
