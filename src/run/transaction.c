/* What a run does to its workspace as a whole: looked at before, saved or committed after. */
#include "run/world.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/log.h"
#include "record/private.h"
#include "run/changing.h"
#include "workspace/workspace.h"

#define SUMS_MAX       CHANGING_SUMS_MAX
#define PATCH_RECORDED ((size_t)16 << 20)
#define AFTER_SIGNAL   4000  /* ms for what is saved */
#define AFTER_FAILURE  60000 /* likewise */
#define WHATEVER_COMES INT32_MAX

static bool is_told(const struct job *job)
{
	return job->workspace_save || job->workspace_patch || job->workspace_transaction;
}

bool world_changes_wanted(const struct job *job)
{
	return is_told(job) || job->record_path;
}

/* ---- calls of the keeper ---- */

void changing_add(struct buf *in, const char *s)
{
	buf_add(in, s, strlen(s) + 1);
}

int changing_call(struct world *w, const char *name, const char *dir, const struct buf *in,
                  const struct changing_limits *l, struct buf *out, struct error *e)
{
	int fd = dir ? open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;
	const struct keep keep = { .call = name,
		                   .cwd_fd = fd,
		                   .input = buf_str(in),
		                   .input_len = in->len,
		                   .max_out = SUMS_MAX,
		                   .deadline = l->deadline,
		                   .signals = l->signals };
	int rc;

	if (in->failed)
		rc = error_nomem(e);
	else if (dir && fd < 0)
		rc = error_sys(e, "'%s'", dir);
	else
		rc = world_keep(w, &keep, out, e);
	if (fd >= 0)
		close(fd);
	return rc;
}

static int scan(struct world *w, const struct changing_limits *l, struct error *e)
{
	struct changing *c = w->changing;
	struct buf in = BUF_INIT(2 * SUMS_MAX);

	changing_add(&in, c->transaction ? "whole" : c->alone ? "list" : "sums");
	changing_add(&in, c->alone && c->before.len ? c->save : "");
	for (const char *const *s = c->skip; *s; s++)
		changing_add(&in, *s);
	changing_add(&in, "");
	if (c->before.len)
		buf_add(&in, buf_str(&c->before), c->before.len);
	int rc = changing_call(w, "scan", c->dir, &in, l, c->before.len ? &c->after : &c->before, e);
	buf_release(&in);
	return rc;
}

/* The call's strings, then two scans. */
static int call_with_scans(struct world *w, const char *name, const char *const *strings, const struct buf *from,
                           const struct buf *to, const struct changing_limits *l, struct buf *out, struct error *e)
{
	struct buf in = BUF_INIT(2 * SUMS_MAX);

	for (; *strings; strings++)
		changing_add(&in, *strings);
	changing_add(&in, buf_str(from));
	changing_add(&in, buf_str(to));
	int rc = changing_call(w, name, w->changing->dir, &in, l, out, e);
	buf_release(&in);
	return rc;
}

/* ---- before ---- */

static bool is_same_file(const char *a, const char *b)
{
	struct stat x, y;

	return !strcmp(a, b) ||
	       (!stat(a, &x) && !stat(b, &y) && S_ISREG(x.st_mode) && x.st_dev == y.st_dev && x.st_ino == y.st_ino);
}

/* Each of our files is one of its own: what is written last would take the place of what was written first. */
static int check_own(struct world *w, const char *path, const char *other, struct error *e)
{
	const char *const *own = world_own_files(w);
	bool taken = other && is_same_file(path, other);

	for (size_t i = 0; own && own[i]; i++)
		taken = taken || is_same_file(path, own[i]);
	return taken ? error_set(e, ERR_INPUT, "'%s' is written by this run already", path) : 0;
}

/* Where it will be written, told now if that cannot be. NULL with *e. */
static const char *output_path(struct world *w, const char *key, const char *path, const char *other, struct error *e)
{
	const char *absolute = world_absolute(w, path);
	const char *slash = absolute ? strrchr(absolute, '/') : NULL;
	char *dir = slash ? strndup(absolute, (size_t)(slash - absolute) + 1) : NULL;
	struct stat st;
	int rc = dir ? access(dir, W_OK | X_OK) : -1;

	if (rc == 0 && (!slash[1] || (stat(absolute, &st) == 0 && S_ISDIR(st.st_mode)))) {
		errno = EISDIR;
		rc = -1;
	}
	if (rc)
		error_sys(e, "%s: cannot write '%s'", key, path);
	else if ((rc = check_own(w, absolute, other, e)) != 0)
		error_prefix(e, "%s", key);
	free(dir);
	return rc ? NULL : absolute;
}

static const char *beneath(const char *path, const char *dir)
{
	size_t n = dir[1] ? strlen(dir) : 0;

	return path && !strncmp(path, dir, n) && path[n] == '/' ? path + n + 1 : NULL;
}

/* Our own files in there are no changes of the run. */
static int find_skipped(struct world *w, const char *dir, struct error *e)
{
	struct changing *c = w->changing;
	const char *const *own = world_own_files(w);
	size_t n = 0, have = 0;

	while (own && own[n])
		n++;
	const char **v = arena_alloc(&w->arena, (n + 3) * sizeof *v);
	if (!own || !v)
		return error_nomem(e);
	for (size_t i = 0; i < n + 2; i++) {
		const char *name = beneath(i < n ? own[i] : i == n ? c->save : c->patch, dir);
		if (name)
			v[have++] = name;
	}
	c->skip = v;
	return 0;
}

/* Its name is the workspace's, as that may mean something to the model or to what it runs. */
static const char *make_copy(struct world *w, const struct changing_limits *l, struct error *e)
{
	struct changing *c = w->changing;
	const char *slash = strrchr(w->workspace, '/');
	struct buf b = BUF_INIT(4095);
	const char *copy = NULL;

	changing_sweep(w, l); /* what is left of one that had the name goes first */
	c->ours = changing_ours(w, e);
	if (!c->ours)
		return NULL;
	buf_addf(&b, "%s/%s", c->ours, slash && slash[1] ? slash + 1 : "workspace");
	if (b.failed || !(copy = arena_strdup(&w->arena, buf_str(&b)))) {
		error_nomem(e);
	} else if (private_dir(copy)) {
		error_sys(e, "cannot make '%s'", copy);
		copy = NULL;
	} else {
		buf_clear(&b);
		changing_add(&b, copy);
		if (changing_call(w, "copy", w->workspace, &b, l, NULL, e))
			copy = NULL;
	}
	buf_release(&b);
	return copy;
}

void changing_use_copy(struct world *w, const char *copy)
{
	struct changing *c = w->changing;

	c->was = c->transaction ? w->workspace : copy;
	if (!c->transaction)
		return;
	c->dir = w->workspace = copy;
	w->spelled[0] = copy;
}

/* That nothing could be committed at the end is told now: a directory of ours is lent the right, another's is not. */
static int check_original(const struct world *w, struct error *e)
{
	struct stat st;

	if (!faccessat(AT_FDCWD, w->workspace, W_OK | X_OK, AT_EACCESS) ||
	    (errno == EACCES && !stat(w->workspace, &st) && st.st_uid == geteuid()))
		return 0;
	return error_sys(e, "workspace.transaction: '%s' could not be changed at the end", w->workspace);
}

/* Makes the original what the copy is. */
static int commit_to(struct world *w, const struct buf *from, const struct buf *to, const struct changing_limits *l,
                     struct error *e)
{
	const char *const strings[] = { w->changing->was, NULL };

	return call_with_scans(w, "commit", strings, from, to, l, NULL, e) ? error_prefix(e, "workspace.transaction")
	                                                                   : 0;
}

const struct buf *changing_base(const struct changing *c)
{
	return c->finished ? &c->committed : &c->before;
}

/* What a killed run was about to do, before anything in the copy is changed again. It can be tried again at the end. */
static int finish_commit(struct world *w, const struct changing_limits *l)
{
	struct changing *c = w->changing;
	struct error e = ERROR_INIT;

	c->finished = c->committed.len && !commit_to(w, &c->before, &c->committed, l, &e);
	if (c->committed.len && !c->finished)
		log_warn("what a run that was killed had begun to commit is not finished: %s", e.msg);
	return 0;
}

static struct changing *open_changing(struct world *w)
{
	const struct job *job = w->job;
	struct changing *c = arena_alloc(&w->arena, sizeof *c);

	if (!c)
		return NULL;
	buf_init(&c->before, SUMS_MAX);
	buf_init(&c->after, SUMS_MAX);
	buf_init(&c->committed, SUMS_MAX);
	c->dir = w->workspace;
	c->lock = -1;
	c->transaction = job->workspace_transaction;
	c->alone = !c->transaction && !job->workspace_patch && !job->record_path;
	return w->changing = c;
}

void world_drop_changes(struct world *w)
{
	struct error e = ERROR_INIT;

	if (!is_told(w->job) || w->job->replay_tools || !kept_told(w) || world_workspace(w, &e) || !open_changing(w))
		return;
	w->changing->done = true;
	(void)kept_find(w); /* it goes with us */
}

int world_begin_changes(struct world *w, struct error *e)
{
	const struct job *job = w->job;
	const struct changing_limits l = { w->deadline, w->signals + 1 };
	struct error why = ERROR_INIT;
	struct changing *c;

	if (!world_changes_wanted(job))
		return 0;
	c = open_changing(w);
	if (!c)
		return error_nomem(e);
	if (job->workspace_save && !(c->save = output_path(w, "workspace.save", job->workspace_save, NULL, e)))
		return -1;
	if (job->workspace_patch && !(c->patch = output_path(w, "workspace.patch", job->workspace_patch, c->save, e)))
		return -1;
	if (find_skipped(w, w->workspace, e) || (c->transaction && check_original(w, e)))
		return -1;
	if (kept_find(w))
		return finish_commit(w, &l);
	if (c->busy)
		return error_set(e, ERR_INPUT, "another run works where this one would go on: wait for its end");
	if (c->transaction || c->patch) {
		const char *copy = make_copy(w, &l, e);
		if (!copy)
			return -1;
		changing_use_copy(w, copy);
	}
	int restored = kept_restore(w, &l, e);
	if (restored < 0 || (!restored && scan(w, &l, e)))
		return -1;
	if (!c->ours && is_told(job) && (c->ours = changing_ours(w, &why)))
		changing_sweep(w, &l);
	if (c->ours)
		kept_mark(w);
	return 0;
}

/* The sums of all files, say, for the bundle. */
static int record_text(struct world *w, const char *name, const struct buf *text, struct error *e)
{
	struct buf masked = BUF_INIT(SUMS_MAX);

	if (!world_records(w) || !text->len)
		return 0;
	buf_add(&masked, text->data, text->len);
	world_mask(w, &masked);
	int rc = world_record_add(w, name, &masked, e);
	buf_release(&masked);
	return rc;
}

int world_record_files(struct world *w, struct error *e)
{
	return w->changing ? record_text(w, "before.sha256", &w->changing->before, e) : 0;
}

/* ---- after ---- */

static const char *number(const char *p, size_t *n)
{
	char *end;

	*n = (size_t)strtoull(p, &end, 10);
	return end;
}

/* How much has changed at all, directories and all. */
static size_t take_counts(struct changing *c)
{
	const char *p = buf_str(&c->after);
	size_t all;

	p = number(number(number(number(p, &c->told.changed), &c->told.added), &c->told.deleted), &all);
	if (*p == '\n')
		p++;
	buf_drop(&c->after, (size_t)(p - buf_str(&c->after)));
	return all;
}

int changing_save(struct world *w, const char *dir, const struct buf *before, const struct buf *after, const char *path,
                  const struct changing_limits *l, struct error *e)
{
	struct buf in = BUF_INIT(2 * SUMS_MAX);

	changing_add(&in, path);
	changing_add(&in, buf_str(before));
	changing_add(&in, buf_str(after));
	int rc = changing_call(w, "save", dir, &in, l, NULL, e);
	buf_release(&in);
	return rc ? error_prefix(e, "workspace.save") : 0;
}

static int patch(struct world *w, const struct changing_limits *l, struct error *e)
{
	struct changing *c = w->changing;
	const char *const strings[] = { c->was, c->patch, NULL };
	struct buf left_out = BUF_INIT(100);
	int rc = call_with_scans(w, "patch", strings, &c->before, &c->after, l, &left_out, e);

	number(buf_str(&left_out), &c->told.left_out);
	buf_release(&left_out);
	if (rc)
		return error_prefix(e, "workspace.patch");
	c->told.patch = c->patch;
	return 0;
}

/* The bundle has the patch too, if it is not a large one. */
static int record_patch(struct world *w, struct error *e)
{
	struct buf text = BUF_INIT(PATCH_RECORDED);
	struct error why = ERROR_INIT;
	int rc = 0;

	if (!world_records(w))
		return 0;
	if (io_read_file(AT_FDCWD, w->changing->patch, &text, &why))
		log_warn("the patch is not in the bundle: %s", why.msg);
	else
		rc = record_text(w, "workspace.patch", &text, e);
	buf_release(&text);
	return rc;
}

static const char *behind_first_line(const struct buf *text)
{
	const char *end = strchr(buf_str(text), '\n');

	return end ? end : "";
}

/* Nothing was changed since a commit was begun, by a run that was killed? */
static bool is_what_was_committed(const struct changing *c)
{
	return c->committed.len && !strcmp(behind_first_line(&c->committed), behind_first_line(&c->after));
}

/* The files as they were have been committed over: what was written before that is as good as it gets. */
static int leave_patch(struct changing *c)
{
	bool there = !access(c->patch, F_OK);

	if (there)
		c->told.patch = c->patch;
	if (!there || !is_what_was_committed(c))
		log_warn(
		        "workspace.patch: of what the files were before the commit that was cut short nothing is left: "
		        "'%s' %s",
		        c->patch, there ? "stays as it is, without what has changed since" : "is not written");
	return 0;
}

static int commit(struct world *w, struct error *e)
{
	const struct changing_limits l = { CLOCK_NEVER, WHATEVER_COMES };
	struct changing *c = w->changing;

	kept_commits(w);
	if (commit_to(w, changing_base(c), &c->after, &l, e)) {
		if (e->code == ERR_INPUT && !c->committed.len) /* a conflict: the original is as it was */
			kept_commits_nothing(w);
		return -1;
	}
	c->told.committed = true;
	return 0;
}

static int settle(struct world *w, bool completed, struct error *e)
{
	int64_t now = clock_mono_ms();
	const struct changing_limits l = { w->signo    ? now + AFTER_SIGNAL
		                           : completed ? CLOCK_NEVER
		                                       : now + AFTER_FAILURE,
		                           w->signals + 1 };
	struct changing *c = w->changing;

	if (scan(w, &l, e))
		return error_prefix(e, c->alone ? "workspace.save" : "what changed in the workspace is not known");
	size_t all = take_counts(c);
	c->told.told = true;
	if (record_text(w, "after.sha256", &c->after, e))
		return -1;
	if (c->save) {
		if (!c->alone && changing_save(w, c->dir, &c->before, &c->after, c->save, &l, e))
			return -1;
		c->told.saved = c->save;
	}
	if (c->patch) {
		if (c->committed.len ? leave_patch(c) : patch(w, &l, e))
			return -1;
		if (c->told.patch && record_patch(w, e))
			return -1;
	}
	c->told.committed = c->finished && is_what_was_committed(c);
	if (completed)
		return c->transaction ? commit(w, e) : 0;
	if (!all || !is_told(w->job) || c->told.committed)
		return 0;
	return c->transaction ? kept_changes(w, &l, e) : kept_before(w, &l, e);
}

int world_end_changes(struct world *w, bool completed, struct error *e)
{
	struct changing *c = w->changing;

	if (!c || c->settled)
		return 0;
	c->settled = true;
	c->told.transaction = c->transaction;
	/* What a result would have to say is lost: as with a run that was killed, the next one finds the copy. Without
	 * its first line it would not, and nothing was done. */
	bool lost = !completed && w->began && recorder_gone(w->recorder), untold = lost && c->transaction;
	int rc = untold ? 0 : settle(w, completed, e);
	if (!untold && (!rc || !c->transaction)) {
		if (lost)
			c->ours = NULL;
		return rc;
	}
	c->told.copy = c->dir;
	log_warn("what the run did is in '%s'", c->dir);
	c->ours = NULL;
	return rc;
}

const struct event_workspace *world_changes(const struct world *w)
{
	return w->changing && w->changing->settled && is_told(w->job) ? &w->changing->told : NULL;
}

int world_changes_need(struct world *w, const char *write[4], const char *parents[4])
{
	const char *ours = w->changing ? w->changing->ours : NULL, *slash = ours ? strrchr(ours, '/') : NULL;
	size_t n = 0;

	if (!ours)
		return 0;
	while (write[n])
		n++;
	write[n] = ours;
	write[n + 1] = NULL;
	for (n = 0; parents[n]; n++)
		;
	parents[n] = arena_strndup(&w->arena, ours, (size_t)(slash - ours) + 1);
	if (!parents[n])
		return -1;
	parents[n + 1] = NULL;
	return 0;
}

void world_release_changes(struct world *w)
{
	struct changing *c = w->changing;

	if (!c)
		return;
	/* Behind the result: until that is out, whoever goes on from the record needs what is in there. */
	bool wanted = w->began && w->keeps_events && !w->result_out;
	if (c->ours && !wanted && workspace_drop_copy(c->ours) && errno != ENOENT)
		log_warn("cannot remove all of '%s': %s", c->ours, strerror(errno));
	changing_unlock(c);
	buf_release(&c->before);
	buf_release(&c->after);
	buf_release(&c->committed);
	w->changing = NULL;
}
