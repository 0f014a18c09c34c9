/* Is the original still what the copy was made of, where the copy was changed? */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/array.h"
#include "workspace/commit.h"

int commit_look(struct commit *k, const char *name, struct scan_entry *is)
{
	const char *base;
	struct stat st;
	int dir = beneath_parent(&k->to, name, &base);

	*is = (struct scan_entry){ 0 };
	if (dir < 0 || fstatat(dir, base, &st, AT_SYMLINK_NOFOLLOW))
		return errno == ENOENT || errno == ENOTDIR || errno == ELOOP ? 0 : -1;
	if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode) && !S_ISLNK(st.st_mode)) {
		is->mode = UINT32_MAX; /* like nothing that was kept */
		return 1;
	}
	return scan_look(dir, base, &st, is) ? -1 : 1;
}

static int conflict(const char *name, const char *what, struct error *e)
{
	char shown[SHOWN_NAME];

	return error_set(e, ERR_INPUT, "'%s' %s in the original while the run worked on its copy",
	                 walk_show(name, shown), what);
}

static bool is_same(int there, const struct scan_entry *is, const struct scan_entry *wanted)
{
	return wanted ? there && scan_entry_same(is, wanted) : !there;
}

/* Nothing may stand in a directory that is to go but what was there and goes too. */
static int check_rest(struct commit *k, const char *name, struct error *e)
{
	struct buf path = BUF_INIT((size_t)2 * NAME_LONGEST);
	int dir = beneath_dir(&k->to, name, strlen(name));
	int fd = dir < 0 ? -1 : openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), rc = 0;
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *f;

	if (!d) {
		if (fd >= 0)
			close(fd);
		return error_sys(e, "'%s'", name);
	}
	while (!rc && (f = readdir(d)) != NULL) {
		if (!strcmp(f->d_name, ".") || !strcmp(f->d_name, ".."))
			continue;
		buf_clear(&path);
		buf_addf(&path, "%s/%s", name, f->d_name);
		if (path.failed)
			rc = error_nomem(e);
		else if (!scan_find(k->before, buf_str(&path)))
			rc = conflict(buf_str(&path), "has come", e);
	}
	closedir(d);
	buf_release(&path);
	return rc;
}

/* The change of the directory that `name` lies in; NULL: there is none. */
static const struct scan_entry *parent_in(const struct scan *s, const char *name)
{
	const char *slash = strrchr(name, '/');
	char parent[NAME_LONGEST + 1];

	if (!slash || (size_t)(slash - name) >= sizeof parent)
		return NULL;
	memcpy(parent, name, (size_t)(slash - name));
	parent[slash - name] = '\0';
	return scan_find(s, parent);
}

/* The directory is to be written for the moment, whatever its mode. The same one comes several times in a row; the
 * original itself came first, and once. */
static int lend(struct commit *k, const char *name, size_t n, unsigned mode, struct error *e)
{
	const struct lent *last = k->nlent ? &k->lent[k->nlent - 1] : NULL;

	if (last && (strlen(last->name) == n ? !memcmp(last->name, name, n) : !n))
		return 0;
	char *own = strndup(name, n);
	if (!own || ARRAY_GROW(k->lent, k->nlent, k->lent_cap)) {
		free(own);
		return error_nomem(e);
	}
	k->lent[k->nlent++] = (struct lent){ own, mode & 07777 };
	return 0;
}

/* Of the directory of `name` of which n bytes are the directory's: will it let itself be written? */
static int check_writable(struct commit *k, int dir, const char *name, size_t n, struct error *e)
{
	char shown[SHOWN_NAME];
	struct stat st;

	if (faccessat(dir, ".", W_OK | X_OK, AT_EACCESS) == 0)
		return 0;
	if (errno == EACCES && fstat(dir, &st) == 0 && st.st_uid == geteuid())
		return lend(k, name, n, st.st_mode, e);
	return *name ? error_sys(e, "the directory of '%s'", walk_show(name, shown))
	             : error_sys(e, "the original directory");
}

static int check_parent(struct commit *k, const char *name, struct error *e)
{
	const struct scan_entry *was = parent_in(k->before, name), *is = parent_in(k->after, name);
	const char *base;
	char shown[SHOWN_NAME];
	int dir = beneath_parent(&k->to, name, &base);

	if (base > name && !is_directory(was))
		return 0; /* it comes with the same commit */
	if (dir < 0 && (errno == ENOENT || errno == ENOTDIR || errno == ELOOP))
		return base == name || is_directory(is) ? conflict(was ? was->name : name, "has gone", e)
		                                        : 0; /* it goes with the same commit */
	if (dir < 0)
		return error_sys(e, "'%s'", walk_show(name, shown));
	if (is_directory(is) && is->mode != was->mode && (is->mode & 0300) == 0300)
		return 0; /* it gets that mode first */
	return check_writable(k, dir, name, base > name ? (size_t)(base - name) - 1 : 0, e);
}

static int check_one(struct commit *k, size_t i, struct error *e)
{
	const struct change *c = &k->c.v[i];
	const char *name = (c->before ? c->before : c->after)->name;
	char shown[SHOWN_NAME];
	struct scan_entry is;
	int there = commit_look(k, name, &is);

	if (there < 0)
		return error_sys(e, "cannot read '%s'", walk_show(name, shown));
	k->seen[i] = (struct seen){ is.inode, is.ctime_ns };
	k->done[i] = is_same(there, &is, c->after);
	if (k->done[i])
		return 0;
	if (!is_same(there, &is, c->before))
		return conflict(name, !there ? "has gone" : c->before ? "has changed" : "has come", e);
	if (is_directory(c->before) && !is_directory(c->after) && check_rest(k, name, e))
		return -1;
	return check_parent(k, name, e);
}

int commit_check(struct commit *k, struct error *e)
{
	if (check_writable(k, k->original, "", 0, e))
		return -1;
	for (size_t i = 0; i < k->c.n; i++)
		if (check_one(k, i, e))
			return -1;
	beneath_clear(&k->to);
	return 0;
}

static int check_one_again(struct commit *k, size_t i, struct error *e)
{
	const struct change *c = &k->c.v[i];
	const char *name = (c->before ? c->before : c->after)->name, *base;
	struct stat st = { 0 };
	int dir = beneath_parent(&k->to, name, &base);
	bool there = dir >= 0 && fstatat(dir, base, &st, AT_SYMLINK_NOFOLLOW) == 0;

	if (k->done[i] || (is_directory(c->before) && there && S_ISDIR(st.st_mode)))
		return 0;
	if (st.st_ino == k->seen[i].inode && walk_ns(&st.st_ctim) == k->seen[i].ctime_ns)
		return 0;
	return conflict(name, !there ? "has gone" : c->before ? "has changed" : "has come", e);
}

int commit_check_again(struct commit *k, struct error *e)
{
	for (size_t i = 0; i < k->c.n; i++)
		if (check_one_again(k, i, e))
			return -1;
	beneath_clear(&k->to);
	return 0;
}
