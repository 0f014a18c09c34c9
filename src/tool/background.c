/*
 * Bash in the background: the call is answered at once, the command goes on until it ends, is stopped by TaskStop, or
 * the run ends. Its output goes to a file of the run directory as it comes, and how it ended stands on the last line.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "base/utf8.h"
#include "tool/internal.h"

#define MAX_RUNNING   16
#define START_MS      10 /* a command that cannot be started has mostly said so by then */
#define STOP_GRACE_MS 2000
#define SHOWN_COMMAND 100

struct background {
	struct background *next;
	struct toolbox *t;
	struct call *call; /* that is not answered yet, or NULL */
	char name[24];
	char *command; /* its beginning, one line */
	char *path;
	size_t room;
	int file; /* for the output, until the supervisor's side takes it */
	int child;
	int64_t timeout_ms;
	bool ended, stopped, told;
	char how[400]; /* it ended */
	bool not_started;
};

static void background_free(struct background *b)
{
	if (b->file >= 0)
		close(b->file);
	free(b->command);
	free(b->path);
	free(b);
}

static size_t count_running(const struct toolbox *t)
{
	size_t n = 0;

	for (const struct background *b = t->background; b; b = b->next)
		n += !b->ended;
	return n;
}

/* ---- the file ---- */

static int spill_open(void *ctx)
{
	struct background *b = ctx;
	int fd = b->file;

	b->file = -1;
	return fd;
}

/* Masks what was written and puts the last lines behind it. What fails here cannot be told better than by their
 * absence. */
static void end_file(struct background *b, uint64_t total)
{
	struct buf lines = BUF_INIT(4096);
	char last = '\n';

	result_mask_file(b->t, b->path);
	int fd = open(b->path, O_RDWR | O_APPEND | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return;
	off_t size = lseek(fd, 0, SEEK_END);
	if (size > 0 && pread(fd, &last, 1, size - 1) == 1 && last != '\n')
		buf_addc(&lines, '\n');
	if (total > b->room)
		buf_addf(&lines, "[the output was %llu bytes, only the first %zu were kept]\n",
		         (unsigned long long)total, b->room);
	buf_addf(&lines, "[%s: %s]\n", b->name, b->how);
	(void)io_write_all(fd, buf_str(&lines), lines.len);
	close(fd);
	buf_release(&lines);
}

/* ---- the end of a command ---- */

static void note_end(struct background *b, const struct child_result *res)
{
	if (res->error)
		snprintf(b->how, sizeof b->how, "could not be run: %s", res->error);
	else if (res->too_many)
		snprintf(b->how, sizeof b->how,
		         "ended, since there were more than %d processes (sandbox.max_processes)", res->too_many);
	else if (b->stopped)
		snprintf(b->how, sizeof b->how, "stopped by TaskStop");
	else if (res->killed)
		snprintf(b->how, sizeof b->how, "cancelled");
	else if (res->timed_out)
		snprintf(b->how, sizeof b->how, "timed out after %lld ms", (long long)b->timeout_ms);
	else if (res->exited)
		snprintf(b->how, sizeof b->how, "exit status %d", res->status);
	else
		snprintf(b->how, sizeof b->how, "ended by signal %d (%s)", res->signal, strsignal(res->signal));
}

static void on_end(void *ctx, int id, struct child_result *res)
{
	struct background *b = ctx;

	(void)id;
	b->ended = true;
	b->not_started = res->error != NULL;
	note_end(b, res);
	end_file(b, res->out.total);
	if (b->call && b->not_started)
		reactor_timer_set(b->t->reactor, &b->call->timer, clock_mono_ms());
}

/* ---- the call ---- */

static void structured(const struct background *b, struct tool_result *out)
{
	struct buf info = BUF_INIT(64 * 1024);
	struct json_out o;

	json_out_init(&o, &info);
	jo_object(&o);
	jo_kstr(&o, "stdout", "");
	jo_kstr(&o, "stderr", "");
	jo_kbool(&o, "interrupted", false);
	jo_kbool(&o, "isImage", false);
	jo_kstr(&o, "backgroundTaskId", b->name);
	jo_kstr(&o, "persistedOutputPath", b->path);
	jo_end(&o);
	result_structured(b->t, out, &info);
}

static void on_answer(void *ctx)
{
	struct call *c = ctx;
	struct background *b = c->background;
	struct tool_result out = { 0 };

	b->call = NULL;
	if (b->not_started) {
		b->told = true;
		result_textf(c->t, &out, true, "Bash %s", b->how);
	} else {
		out.ran = true;
		out.file = strdup(b->path);
		result_textf(c->t, &out, false,
		             "Runs in the background as %s. Its output goes to %s; Read or Grep that file. TaskStop "
		             "ends it; otherwise it is ended with this run.",
		             b->name, b->path);
		structured(b, &out);
	}
	call_answer(c, &out);
}

/* The first line of the command, as far as it is shown. */
static char *shorten(const char *command)
{
	size_t n = strcspn(command, "\n");
	size_t cut = n > SHOWN_COMMAND ? utf8_floor(command, n, SHOWN_COMMAND) : n;
	char *s = NULL;

	return asprintf(&s, "%.*s%s", (int)cut, command, command[cut] ? "..." : "") < 0 ? NULL : s;
}

static int make_file(struct background *b, struct tool_result *now, struct error *e)
{
	struct error why = ERROR_INIT;
	char name[40];

	snprintf(name, sizeof name, "%s.txt", b->name);
	b->room = result_spill_room(b->t);
	b->file = b->room ? result_open_file(b->t, name, &b->path, &why) : -1;
	if (b->file < 0)
		result_use_error(b->t, now, "A background command needs a file for its output: %s",
		                 b->room ? why.msg : "the run directory is full");
	else if (!b->path)
		return error_nomem(e);
	return b->file < 0 ? 0 : 1;
}

int background_plan(struct call *c, const char *command, int64_t timeout_ms, struct tool_result *now, struct error *e)
{
	struct toolbox *t = c->t;

	if (count_running(t) >= MAX_RUNNING) {
		result_use_error(t, now, "%d commands run in the background already. End one with TaskStop first.",
		                 MAX_RUNNING);
		return 0;
	}
	struct background *b = calloc(1, sizeof *b);
	if (!b)
		return error_nomem(e);
	b->t = t;
	b->file = -1;
	b->timeout_ms = timeout_ms;
	snprintf(b->name, sizeof b->name, "bash_%d", ++t->background_last);
	b->command = shorten(command);
	int rc = b->command ? make_file(b, now, e) : error_nomem(e);
	if (rc != 1) {
		background_free(b);
		return rc;
	}
	c->spec.keep_head = c->spec.keep_tail = 0; /* all of it goes to the file, from the first byte on */
	c->spec.max_spill = b->room;
	c->spec.spill_open = spill_open;
	c->spec.timeout_ms = timeout_ms;
	c->spec.follow_cwd = false;
	c->background = b;
	b->call = c;
	b->next = t->background;
	t->background = b;
	return 1;
}

int background_start(struct call *c, struct error *e)
{
	struct background *b = c->background;

	b->child = supervisor_spawn(c->t->supervisor, &c->spec, on_end, b, e);
	if (b->child <= 0) {
		c->t->background = b->next;
		background_free(b);
		return -1;
	}
	c->timer.fn = on_answer;
	c->timer.ctx = c;
	reactor_timer_set(c->t->reactor, &c->timer, clock_mono_ms() + START_MS);
	return b->child;
}

/* ---- what the model learns, and the end of the run ---- */

void background_tell(struct toolbox *t, struct tool_result *out)
{
	for (struct background *b = t->background; b; b = b->next) {
		if (!b->ended || b->told)
			continue;
		b->told = true;
		result_append_line(t, out, "[%s in the background: %s; its output is in %s]", b->name, b->how, b->path);
	}
}

bool toolbox_end_background(struct toolbox *t, struct buf *ids)
{
	bool any = false;

	for (struct background *b = t->background; b; b = b->next) {
		if (b->ended)
			continue;
		b->ended = true;
		snprintf(b->how, sizeof b->how, "ended with the run");
		end_file(b, 0);
		buf_addf(ids, "%s%s (%s)", any ? ", " : "", b->name, b->command);
		any = true;
	}
	return any;
}

void background_release(struct toolbox *t)
{
	while (t->background) {
		struct background *b = t->background;
		t->background = b->next;
		background_free(b);
	}
}

/* ---- TaskStop ---- */

enum { P_TASK_ID };

static const struct tool_param params[] = {
	[P_TASK_ID] = { "task_id", PARAM_NAME, true, 0, NULL, NULL },
	{ 0 },
};

static void add_running(const struct toolbox *t, struct buf *out)
{
	if (!count_running(t))
		buf_adds(out, "none is running");
	else
		buf_adds(out, "running:");
	for (const struct background *b = t->background; b; b = b->next)
		if (!b->ended)
			buf_addf(out, " %s", b->name);
}

static int plan_stop(struct call *c, struct tool_result *now, struct error *e)
{
	const char *name = c->in.v[P_TASK_ID].s;
	struct background *b = c->t->background;

	(void)e;
	while (b && strcmp(b->name, name) != 0)
		b = b->next;
	if (!b) {
		struct buf list = BUF_INIT(4096);
		add_running(c->t, &list);
		result_use_error(c->t, now, "There is no background command %.100s (%s)", name, buf_str(&list));
		buf_release(&list);
	} else if (b->ended) {
		b->told = true;
		result_textf(c->t, now, false, "%s had ended already: %s", b->name, b->how);
	} else {
		b->stopped = b->told = true;
		supervisor_kill(c->t->supervisor, b->child, STOP_GRACE_MS);
		result_textf(c->t, now, false, "%s is being ended: %s", b->name, b->command);
	}
	return 0;
}

const struct tool_row tool_task_stop = {
	.name = "TaskStop",
	.description = "Ends a command that Bash runs in the background",
	.params = params,
	.read_only = true,
	.serial = true,
	.with = &tool_bash,
	.plan = plan_stop,
};
