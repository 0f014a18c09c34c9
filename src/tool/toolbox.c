/* The tools of one run: which are offered, and a call's way from judgement through a child to its result. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tool/file.h"
#include "tool/internal.h"

const struct child_call tool_child_calls[] = {
	{ "read", read_child },
	{ "write", write_child },
	{ "edit", edit_child },
};
const size_t tool_child_ncalls = sizeof tool_child_calls / sizeof tool_child_calls[0];

/* ---- calls ---- */

static void call_free(struct call *c)
{
	if (!c)
		return;
	reactor_timer_cancel(c->t->reactor, &c->timer);
	steer_release(c);
	input_release(&c->in);
	buf_release(&c->input);
	buf_release(&c->frame);
	for (size_t i = 0; i < c->argc; i++)
		free(c->argv[i]);
	free(c->argv);
	free(c->only_name);
	free(c->allowed);
	free(c->spill_path);
	free(c->id);
	block_unref(c->use);
	if (c->cwd_fd >= 0)
		close(c->cwd_fd);
	free(c);
}

static void call_unlink(struct call *c)
{
	struct call **at = &c->t->calls;

	while (*at && *at != c)
		at = &(*at)->next;
	if (*at)
		*at = c->next;
}

int call_arg(struct call *c, const char *fmt, ...)
{
	char **argv = realloc(c->argv, (c->argc + 2) * sizeof *argv);
	va_list ap;

	if (!argv)
		return -1;
	c->argv = argv;
	va_start(ap, fmt);
	int n = vasprintf(&argv[c->argc], fmt, ap);
	va_end(ap);
	if (n < 0) {
		argv[c->argc] = NULL;
		return -1;
	}
	argv[++c->argc] = NULL;
	return 0;
}

/* The directory of a regular file and its name in it. */
static int chdir_to_file(struct call *c, int file, struct error *e)
{
	char path[4096];
	enum path_verdict why;

	if (path_of_fd(file, path) < 0)
		return error_set(e, ERR_SYS, "cannot find the directory of the file (is /proc mounted?)");
	char *slash = strrchr(path, '/');
	c->only_name = strdup(slash + 1);
	if (!c->only_name)
		return error_nomem(e);
	*(slash == path ? slash + 1 : slash) = '\0';
	c->cwd_fd = c->outside ? open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
	                       : path_open(c->t->roots, path, O_RDONLY | O_DIRECTORY, 0, &why, e);
	if (c->outside && c->cwd_fd < 0)
		return error_sys(e, "cannot open the directory of '%s'", c->only_name);
	return c->cwd_fd < 0 ? -1 : 0;
}

int call_chdir(struct call *c, const char *path, bool file_too, struct tool_result *now)
{
	enum path_verdict why;
	struct error e = ERROR_INIT;
	struct stat st;
	int fd = call_open(c, path ? path : ".", O_RDONLY, &why, &e);

	if (fd < 0) {
		result_path(c->t, now, why, path ? path : ".", &e);
		return -1;
	}
	if (fstat(fd, &st) == 0 && S_ISDIR(st.st_mode)) {
		c->cwd_fd = fd;
	} else {
		int rc = file_too ? chdir_to_file(c, fd, &e)
		                  : error_set(&e, ERR_INPUT, "'%s' is not a directory", path);
		close(fd);
		if (rc < 0) {
			result_use_error(c->t, now, "%s", e.msg);
			return -1;
		}
	}
	c->spec.cwd_fd = c->cwd_fd;
	if (path_of_fd(c->cwd_fd, c->base) < 0)
		snprintf(c->base, sizeof c->base, "%s", path && *path == '/' ? path : c->t->cfg.workspace);
	return 0;
}

void call_answer(struct call *c, struct tool_result *out)
{
	if (c->steer && steer_holds(c, out))
		return;
	call_unlink(c);
	state_tell(c->t, out);
	c->done(c->ctx, c->id, out);
	tool_result_release(out);
	call_free(c);
}

/* Takes a finished child: its tool makes the result, then the caller gets it. */
static void on_child_done(void *ctx, int id, struct child_result *res)
{
	struct call *c = ctx;
	struct tool_result out = { 0 };

	(void)id;
	out.ran = res->error == NULL;
	c->row->finish(c, res, &out);
	call_answer(c, &out);
}

/* ---- judging ---- */

const struct tool_row *toolbox_row(const struct toolbox *t, const char *name)
{
	for (const struct tool_row *const *row = t->rows; *row; row++)
		if (strcmp((*row)->name, name) == 0)
			return *row;
	return NULL;
}

static bool is_offered(const struct toolbox *t, const char *name)
{
	for (size_t i = 0; t->offered[i]; i++)
		if (strcmp(t->offered[i], name) == 0)
			return true;
	return false;
}

enum tool_class toolbox_class(const struct toolbox *t, const char *name)
{
	const struct tool_row *row = toolbox_row(t, name);

	if (!row || !is_offered(t, name))
		return TOOL_UNKNOWN;
	return row->read_only && !row->serial ? TOOL_READ_ONLY : TOOL_UNSAFE;
}

/* Is there such a tool? Else *now is the result. */
static bool find(struct toolbox *t, const struct block *use, const struct tool_row *row, struct tool_result *now)
{
	const char *name = use->name ? use->name : "";

	if (!row || !tool_asked_for(t, row)) {
		result_use_error(t, now, "Error: No such tool available: %.200s", name);
		now->invalid = true;
		return false;
	}
	return true;
}

bool call_is_there(struct call *c, struct tool_result *now)
{
	struct toolbox *t = c->t;
	const struct tool_row *row = c->row;

	if (is_offered(t, row->name))
		return true;
	if (row->subject == SUBJECT_EDIT && t->cfg.no_edits)
		result_use_error(t, now, "%s cannot be used here: %s", row->name, t->cfg.no_edits);
	else if (row->program)
		result_use_error(t, now, "%s cannot be used here: %s is not installed", row->name, row->program);
	else
		result_use_error(t, now, "%s cannot be used here", row->name);
	return false;
}

bool call_take_input(struct call *c, const char *json, struct buf *why)
{
	const struct tool_row *row = c->row;

	input_release(&c->in);
	buf_clear(&c->input);
	return (row->check ? input_check(row->name, row->check, json, &c->input, why)
	                   : input_parse(row->name, row->params, json, &c->in, why)) == 0;
}

static const char *input_of(const struct block *use)
{
	return use->input ? use->input : "{}";
}

/* True if the input is usable; else *now is the call's result. */
static bool check_input(struct call *c, const struct block *use, struct tool_result *now)
{
	struct buf why = BUF_INIT(64 * 1024);
	bool ok = false;

	if (use->bad_input)
		buf_addf(&why, "InputValidationError: %s: the input is not a JSON object; it began: %.200s",
		         c->row->name, use->bad_input);
	else
		ok = call_take_input(c, input_of(use), &why);
	if (!ok) {
		result_use_error(c->t, now, "%s", buf_str(&why));
		now->invalid = true;
	}
	buf_release(&why);
	return ok;
}

int call_launch(struct call *c, struct tool_result *now, struct error *e)
{
	int rc = c->row->plan(c, now, e);

	if (rc != 1)
		return rc;
	if (!c->row->read_only && c->t->cfg.starts && c->t->cfg.starts(c->t->cfg.ctx, c->use, e))
		return -1;
	c->spec.argv = (const char *const *)c->argv;
	c->child = c->background ? background_start(c, e)
	                         : supervisor_spawn(c->t->supervisor, &c->spec, on_child_done, c, e);
	return c->child > 0 ? 1 : -1;
}

static struct call *call_new(struct toolbox *t, const struct block *use, const struct tool_row *row, tool_done done,
                             void *ctx)
{
	struct call *c = calloc(1, sizeof *c);

	if (!c)
		return NULL;
	c->t = t;
	c->row = row;
	c->cwd_fd = -1;
	c->number = ++t->state.touches;
	c->done = done;
	c->ctx = ctx;
	buf_init(&c->frame, (size_t)256 << 20);
	buf_init(&c->input, (size_t)256 << 20);
	c->spec = (struct spawn){ .envp = t->cfg.child_env, .cwd_fd = -1 };
	c->use = block_ref((struct block *)(uintptr_t)use);
	c->id = strdup(use->id ? use->id : "");
	if (!c->id) {
		call_free(c);
		return NULL;
	}
	c->next = t->calls;
	t->calls = c;
	return c;
}

/* From a checked input on. As toolbox_start. */
static int run(struct call *c, const char *input, struct tool_result *now, struct error *e)
{
	if (c->t->steers)
		return steer_start(c, input, now, e);
	if (!call_permitted(c, input, now) || !call_is_there(c, now))
		return 0;
	return call_launch(c, now, e);
}

int toolbox_start(struct toolbox *t, const struct block *use, tool_done done, void *ctx, struct tool_result *now,
                  struct error *e)
{
	const struct tool_row *row = toolbox_row(t, use->name ? use->name : "");

	memset(now, 0, sizeof *now);
	if (!find(t, use, row, now))
		return 0;
	struct call *c = call_new(t, use, row, done, ctx);
	if (!c)
		return error_nomem(e);
	int rc = check_input(c, use, now) ? run(c, input_of(use), now, e) : 0;
	if (rc == 0 && c->steer && steer_holds(c, now))
		rc = 1;
	if (rc == 0)
		state_tell(t, now);
	if (rc != 1) {
		call_unlink(c);
		call_free(c);
	}
	return rc;
}

void toolbox_forget(struct toolbox *t, const char *tool_use_id)
{
	read_state_forget(&t->state, tool_use_id);
}

void toolbox_restored(struct toolbox *t, const struct id_set *shown)
{
	read_state_forget_unshown(&t->state, shown);
}

bool toolbox_may_clear(const struct toolbox *t, const char *name)
{
	const struct tool_row *row = toolbox_row(t, name);

	return row && (row->external ? row->read_only : row->subject != SUBJECT_NONE);
}

void toolbox_cancel(struct toolbox *t, const char *tool_use_id, int64_t grace_ms)
{
	for (struct call *c = t->calls; c; c = c->next)
		if (strcmp(c->id, tool_use_id) == 0) {
			if (c->steer)
				steer_cancel(c, grace_ms);
			else
				supervisor_kill(t->supervisor, c->child, grace_ms);
		}
}

bool toolbox_busy(const struct toolbox *t)
{
	return t->calls != NULL;
}

void toolbox_answer_begins(struct toolbox *t)
{
	t->state.answer++;
}

void toolbox_answer_withdrawn(struct toolbox *t)
{
	read_state_withdraw(&t->state);
}

/* ---- opening ---- */

static int open_roots(struct toolbox *t, struct error *e)
{
	const char *first[] = { t->cfg.workspace, NULL };

	t->roots = roots_open(first, e);
	if (!t->roots)
		return -1;
	for (const char *const *d = t->cfg.add_dirs; d && *d; d++)
		if (roots_add(t->roots, *d, true, e) < 0)
			return -1;
	for (size_t i = 0; t->cfg.spelled && t->cfg.spelled[i]; i++)
		if (roots_spell(t->roots, i, t->cfg.spelled[i], e) < 0)
			return -1;
	return 0;
}

struct toolbox *toolbox_open(const struct toolbox_config *cfg, struct reactor *r, struct supervisor *s, struct error *e)
{
	struct toolbox *t = calloc(1, sizeof *t);

	if (!t) {
		error_nomem(e);
		return NULL;
	}
	t->cfg = *cfg;
	t->reactor = r;
	t->supervisor = s;
	t->steers = steer_needed(t);
	shell_cwd_init(t);
	if (rows_make(t, e) == 0 && open_roots(t, e) == 0 && offer_tools(t, e) == 0)
		return t;
	toolbox_free(t);
	return NULL;
}

static void list_free(char **list)
{
	for (size_t i = 0; list && list[i]; i++)
		free(list[i]);
	free(list);
}

void toolbox_free(struct toolbox *t)
{
	if (!t)
		return;
	while (t->calls) {
		struct call *c = t->calls;
		t->calls = c->next;
		call_free(c);
	}
	list_free(t->offered);
	list_free(t->withheld);
	rows_release(t);
	free(t->todos);
	free(t->bash_env);
	free(t->json);
	background_release(t);
	shell_cwd_release(t);
	read_state_release(&t->state);
	touched_release(t);
	roots_free(t->roots);
	free(t);
}

const char *toolbox_json(const struct toolbox *t)
{
	return t->json;
}

const char *const *toolbox_offered(const struct toolbox *t)
{
	return (const char *const *)t->offered;
}

bool toolbox_runs_programs(const struct toolbox *t)
{
	for (size_t i = 0; t->offered[i]; i++) {
		const struct tool_row *row = tool_find(t->offered[i]);
		if (!row || row == &tool_bash) /* a tool of the job's own is a program */
			return true;
	}
	return false;
}

const char *const *toolbox_withheld(const struct toolbox *t)
{
	return (const char *const *)t->withheld;
}
