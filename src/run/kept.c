/* What a run leaves behind for the one that goes on from its record: what the workspace was before, and what is not in
 * it yet. A run that was killed leaves a directory of ours, one that came to its end files in the run directory, which
 * its result names. */
#include "run/changing.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/json.h"
#include "base/log.h"
#include "record/private.h"
#include "run/world.h"
#include "workspace/workspace.h"

#define SESSION "session" /* a link to the name of the session */
#define SUMS_OF ".before" /* behind an archive's name: the files that it is to be put over */

/* ---- a run that was killed, or could not commit ---- */

/* A path in the directory of ours, in out. NULL: too long. */
static const char *in_ours(const struct changing *c, const char *name, char out[4096])
{
	return snprintf(out, 4096, "%s/%s", c->ours, name) < 4096 ? out : NULL;
}

static bool mark(const struct changing *c, const char *name, const char *target)
{
	char path[4096];

	return in_ours(c, name, path) && symlink(target, path) == 0;
}

/* It appears whole, or the old one stays. */
static bool put_scan(const struct changing *c, const char *name, const struct buf *text)
{
	char path[4096], part[4096];
	int fd = -1;

	if (in_ours(c, name, path) && in_ours(c, "part.sums", part) && (!unlink(part) || errno == ENOENT))
		fd = private_file(AT_FDCWD, part);
	bool whole = fd >= 0 && !io_write_all(fd, buf_str(text), text->len);
	if (fd >= 0)
		close(fd);
	return whole && !rename(part, path);
}

void kept_mark(const struct world *w)
{
	const struct changing *c = w->changing;

	if (!mark(c, SESSION, w->session_id) ||
	    (c->transaction && !mark(c, COPY_WORKED_IN, strrchr(c->dir, '/') + 1)) ||
	    !put_scan(c, KEPT_SUMS, &c->before))
		log_verbose("a run that goes on from this one will not know what the workspace was before");
}

void kept_commits(const struct world *w)
{
	if (!put_scan(w->changing, COPY_COMMITTED, &w->changing->after))
		log_verbose("a run that goes on from this one will not know what was committed");
}

void kept_commits_nothing(const struct world *w)
{
	char path[4096];

	if (in_ours(w->changing, COPY_COMMITTED, path))
		(void)unlink(path);
}

static bool is_marked(const struct changing *c, const char *name, const char *target)
{
	char path[4096], is[4096];
	ssize_t n = in_ours(c, name, path) ? readlink(path, is, sizeof is - 1) : -1;

	if (n <= 0)
		return false;
	is[n] = '\0';
	return !strcmp(is, target);
}

/* Is the directory ours, and made for this workspace by this session? */
static bool is_ours(const struct world *w, const struct changing *c)
{
	struct stat st;

	return lstat(c->ours, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid() && !(st.st_mode & 077) &&
	       is_marked(c, COPY_ORIGINAL, w->workspace) && is_marked(c, SESSION, w->session_id);
}

/* A list without hashes is of use only to whoever needs no more. */
static bool read_sums(const struct changing *c, const char *path, struct buf *out)
{
	struct error e = ERROR_INIT;
	struct scan s = SCAN_INIT;
	bool good = !io_read_file(AT_FDCWD, path, out, &e) && !scan_parse(buf_str(out), out->len, &s, &e) &&
	            (c->alone || !s.listed);

	if (!good)
		buf_clear(out);
	scan_release(&s);
	return good;
}

/* A link, which whoever can write to the record may have made, leads elsewhere. */
static bool is_copy(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0 && S_ISDIR(st.st_mode) && access(path, R_OK | W_OK | X_OK) == 0;
}

/* ours may have been left by a run that was killed; copy: what must be there too, NULL = nothing. */
static bool take_left(struct world *w, const char *ours, const char *copy)
{
	struct changing *c = w->changing;
	char sums[4096];

	c->ours = ours;
	bool is = *ours && is_ours(w, c) && (c->done || !copy || is_copy(copy)) && in_ours(c, KEPT_SUMS, sums) &&
	          changing_lock(c);
	if (is && (c->done || read_sums(c, sums, &c->before))) {
		if (!c->done && in_ours(c, COPY_COMMITTED, sums))
			read_sums(c, sums, &c->committed);
		return true;
	}
	changing_unlock(c);
	c->ours = NULL;
	return false;
}

/* In a transaction it has worked in a copy, and the record says where. */
static bool find_copy(struct world *w)
{
	const char *copy = arena_strdup(&w->arena, w->record.cwd), *slash = copy ? strrchr(copy, '/') : NULL;
	const char *ours = slash ? arena_strndup(&w->arena, copy, (size_t)(slash - copy)) : NULL;

	if (!ours || !take_left(w, ours, copy))
		return false;
	changing_use_copy(w, copy);
	return true;
}

/* Else the directory is where changing_ours makes it, with a name that nobody knows. */
static bool find_in(struct world *w, const char *dir, const char *prefix)
{
	const char *name = strrchr(w->workspace, '/') + 1;
	struct buf ours = BUF_INIT(4000), copy = BUF_INIT(4095);
	const struct dirent *entry;
	DIR *d = opendir(dir);
	bool found = false;

	while (d && !found && (entry = readdir(d))) {
		if (strncmp(entry->d_name, prefix, strlen(prefix)) != 0)
			continue;
		buf_clear(&ours);
		buf_clear(&copy);
		buf_addf(&ours, "%s/%s", dir, entry->d_name);
		buf_addf(&copy, "%s/%s", buf_str(&ours), *name ? name : "workspace");
		const char *path = ours.failed || copy.failed ? NULL : arena_strdup(&w->arena, buf_str(&ours));
		found = path && take_left(w, path, w->changing->patch ? buf_str(&copy) : NULL);
	}
	if (d)
		closedir(d);
	if (found && w->changing->patch)
		w->changing->was = arena_strdup(&w->arena, buf_str(&copy));
	buf_release(&ours);
	buf_release(&copy);
	return found && (!w->changing->patch || w->changing->was);
}

static bool find_beside(struct world *w)
{
	const char *slash = strrchr(w->workspace, '/');
	const char *parent = slash == w->workspace
	                             ? "/"
	                             : arena_strndup(&w->arena, w->workspace, (size_t)(slash - w->workspace));
	struct buf prefix = BUF_INIT(300);

	buf_addf(&prefix, ".%s.quern-", slash + 1);
	bool found = slash[1] && parent && !prefix.failed && find_in(w, parent, buf_str(&prefix));
	buf_release(&prefix);
	return found || find_in(w, io_tmpdir(), "quern-");
}

bool kept_find(struct world *w)
{
	if (!w->resumes)
		return false;
	return w->changing->transaction ? w->record.cwd && find_copy(w) : find_beside(w);
}

/* ---- a run that came to its end ---- */

bool kept_told(const struct world *w)
{
	const char *line = w->record.result_line;
	struct json doc = JSON_INIT;
	struct error e = ERROR_INIT;
	bool told = line && !json_parse(&doc, line, strlen(line), 0, &e) &&
	            json_path(&doc, 0, "workspace.changed") >= 0;

	json_release(&doc);
	return told;
}

static void warn_gone(const struct changing *c, const char *path)
{
	log_warn("what the run %s before is not there any more: '%s' cannot be used%s",
	         c->transaction ? "did" : "changed", path,
	         c->transaction ? "" : ": workspace.save and workspace.patch get what changes from now on");
}

/* What its result names: a member of `workspace`. NULL: nothing. */
static const char *kept_file(struct world *w, const char *member)
{
	const char *line = w->resumes && w->record.ended ? w->record.result_line : NULL;
	struct json doc = JSON_INIT;
	struct error e = ERROR_INIT;
	struct buf path = BUF_INIT(4000);
	const char *kept = NULL;

	if (line && !json_parse(&doc, line, strlen(line), 0, &e)) {
		int tok = json_path(&doc, 0, member);
		bool told = tok >= 0 && !json_str(&doc, tok, &path);
		if (told && world_is_recorded_file(w, buf_str(&path)))
			kept = arena_strdup(&w->arena, buf_str(&path));
		else if (told) /* a bundle has the events alone on another machine */
			warn_gone(w->changing, buf_str(&path));
	}
	json_release(&doc);
	buf_release(&path);
	return kept;
}

static int put_back(struct world *w, const char *archive, const char *dir, const struct changing_limits *l,
                    struct error *e)
{
	struct buf in = BUF_INIT(4096);

	changing_add(&in, archive);
	int rc = changing_call(w, "restore", dir, &in, l, NULL, e);
	buf_release(&in);
	return rc;
}

/* The changes go into the fresh copy. What they were put over counts as what was there before, so that a file that was
 * changed in the workspace since is a conflict when it comes to the commit. Else it is the files as they were that go
 * into the copy, over those of today. */
int kept_restore(struct world *w, const struct changing_limits *l, struct error *e)
{
	struct changing *c = w->changing;
	const char *kept = kept_file(w, c->transaction ? "workspace.changes" : "workspace.before");
	char sums[4096];

	c->anew = w->resumes && !w->unpacked_now && !kept;
	if (!kept)
		return 0;
	bool archive = snprintf(sums, sizeof sums, "%s%s", kept, SUMS_OF) < (int)sizeof sums && !access(sums, R_OK);
	bool needed = c->transaction || c->patch;
	if ((needed && (!archive || access(kept, R_OK))) || !read_sums(c, archive ? sums : kept, &c->before)) {
		c->anew = true;
		warn_gone(c, kept);
		return 0;
	}
	if (needed && put_back(w, kept, c->transaction ? c->dir : c->was, l, e))
		return error_prefix(e, c->transaction ? "workspace.transaction" : "workspace.patch");
	return 1;
}

/* An archive in the run directory, and with it the files that it is to be put over. NULL with *e. */
static const char *keep(struct world *w, const char *name, const char *dir, const struct buf *before,
                        const struct buf *after, const struct changing_limits *l, struct error *e)
{
	const struct buf *base = changing_base(w->changing);
	struct buf sums = BUF_INIT(255);
	struct error why = ERROR_INIT;
	const char *path;
	int fd = run_dir_file(w->run_dir, name, &path, e);

	if (fd < 0)
		return error_prefix(e, "the changes are not kept"), NULL;
	close(fd);
	if (changing_save(w, dir, before, after, path, l, e))
		return NULL;
	buf_addf(&sums, "%s%s", strrchr(path, '/') + 1, SUMS_OF);
	if (sums.failed || !run_dir_store(w->run_dir, buf_str(&sums), base->data, base->len, &why))
		log_warn("a run that goes on from this one will not have its changes: %s", why.msg);
	buf_release(&sums);
	return path;
}

int kept_changes(struct world *w, const struct changing_limits *l, struct error *e)
{
	struct changing *c = w->changing;

	c->told.changes = keep(w, "changes.tar.zst", c->dir, changing_base(c), &c->after, l, e);
	if (!c->told.changes)
		return -1;
	if (w->job->output_format && !strcmp(w->job->output_format, "text")) /* elsewhere the result tells */
		log_warn("what the run did is in '%s'", c->told.changes);
	return 0;
}

int kept_before(struct world *w, const struct changing_limits *l, struct error *e)
{
	struct changing *c = w->changing;

	if (c->was)
		c->told.before = keep(w, "before.tar.zst", c->was, &c->after, &c->before, l, e);
	else
		c->told.before = run_dir_store(w->run_dir, KEPT_SUMS, c->before.data, c->before.len, e);
	return c->told.before ? 0 : -1;
}
