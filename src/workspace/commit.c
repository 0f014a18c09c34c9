#include "workspace/commit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/tree.h"

#define STAGE_NAME ".quern-commit-"

/* ---- the stage: all new content, before anything is changed ---- */

struct stage {
	int fd;
	char name[sizeof STAGE_NAME + 36];
};

static void stage_name(size_t i, char out[24])
{
	snprintf(out, 24, "%zu", i);
}

/* What a commit of the same copy left that was cut short. */
static int stage_drop(const struct stage *s, int original)
{
	int fd = openat(original, s->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), rc = -1;
	struct stat st;

	if (fd < 0)
		return -1;
	if (fstat(fd, &st) == 0 && st.st_uid == geteuid() && (st.st_mode & 07777) == 0700)
		rc = tree_empty(fd);
	close(fd);
	return rc ? -1 : unlinkat(original, s->name, AT_REMOVEDIR);
}

/* Its name is the copy's: so a commit that is made again finds it, while nobody else makes one of that name. */
static int stage_open(struct stage *s, int original, int copy, struct error *e)
{
	struct stat st;

	s->fd = -1;
	if (fstat(copy, &st) == 0) {
		snprintf(s->name, sizeof s->name, STAGE_NAME "%llx-%llx", (unsigned long long)st.st_dev,
		         (unsigned long long)st.st_ino);
		if (mkdirat(original, s->name, 0700) == 0 ||
		    (errno == EEXIST && stage_drop(s, original) == 0 && mkdirat(original, s->name, 0700) == 0))
			s->fd = openat(original, s->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	}
	return s->fd < 0 ? error_sys(e, "cannot write into the original directory") : 0;
}

static void stage_close(struct stage *s, int original, size_t n)
{
	char base[24];

	for (size_t i = 0; i < n; i++) {
		stage_name(i, base);
		unlinkat(s->fd, base, 0);
	}
	close(s->fd);
	unlinkat(original, s->name, AT_REMOVEDIR);
}

static bool has_content(const struct change *c)
{
	return c->after && !is_directory(c->after) && !is_mode_alone(c);
}

/* A changed file keeps its owner. -1 with errno. */
static int stage_one(struct commit *k, const struct stage *s, size_t i)
{
	const struct change *c = &k->c.v[i];
	const char *base;
	char staged[24];
	struct stat st;
	bool owned = false;

	if (c->before && !is_directory(c->before)) {
		int dir = beneath_parent(&k->to, c->before->name, &base);
		owned = dir >= 0 && fstatat(dir, base, &st, AT_SYMLINK_NOFOLLOW) == 0;
	}
	int dir = beneath_parent(&k->from, c->after->name, &base);
	stage_name(i, staged);
	return dir < 0 ? -1 : copy_entry(dir, base, s->fd, staged, owned ? &st : NULL);
}

static int stage_all(struct commit *k, const struct stage *s, struct error *e)
{
	char shown[SHOWN_NAME];

	for (size_t i = 0; i < k->c.n; i++)
		if (!k->done[i] && has_content(&k->c.v[i]) && stage_one(k, s, i))
			return error_sys(e, "no change was made: cannot write '%s'",
			                 walk_show(k->c.v[i].after->name, shown));
	if (syncfs(s->fd))
		return error_sys(e, "no change was made: cannot write to the disk");
	return 0;
}

/* ---- the changes themselves; all -1 with errno ---- */

static int remove_one(struct commit *k, const struct scan_entry *f)
{
	const char *base;
	int dir = beneath_parent(&k->to, f->name, &base);

	if (dir >= 0 && unlinkat(dir, base, is_directory(f) ? AT_REMOVEDIR : 0) == 0) {
		if (is_directory(f))
			beneath_clear(&k->to);
		return 0;
	}
	return errno == ENOENT || errno == ENOTDIR ? 0 : -1;
}

/* The i-th is a directory that becomes something else: what was in it stands behind it in the list. */
static int remove_tree(struct commit *k, size_t i)
{
	const char *name = k->c.v[i].before->name;
	size_t n = strlen(name), end = i + 1;

	while (end < k->c.n) {
		const struct change *c = &k->c.v[end];
		if (strncmp((c->before ? c->before : c->after)->name, name, n) != 0)
			break;
		end++;
	}
	while (end-- > i) {
		const struct scan_entry *f = k->c.v[end].before;
		if (!f || (end > i && f->name[n] != '/'))
			continue; /* of another one whose name begins like this */
		if (remove_one(k, f))
			return -1;
	}
	return 0;
}

static int set_mode(struct commit *k, const struct scan_entry *f)
{
	const char *base;
	int dir = beneath_parent(&k->to, f->name, &base);
	int fd = dir < 0 ? -1 : openat(dir, base, O_PATH | O_NOFOLLOW | O_CLOEXEC), rc = -1;
	struct stat st;

	if (fd < 0)
		return -1;
	if (fstat(fd, &st) == 0 && !S_ISLNK(st.st_mode))
		rc = fchmodat(dir, base, f->mode, 0);
	int saved = errno;
	close(fd);
	errno = saved;
	return rc;
}

/* Behind a mount point a rename from the stage is none: there the file is made beside. */
static int put_across(const struct stage *s, const char *staged, int dir, const char *base)
{
	char beside[sizeof s->name + 24];

	snprintf(beside, sizeof beside, "%s-%s", s->name, staged);
	if (copy_entry(s->fd, staged, dir, beside, NULL))
		return -1;
	if (renameat(dir, beside, dir, base) == 0)
		return 0;
	int saved = errno;
	unlinkat(dir, beside, 0);
	errno = saved;
	return -1;
}

static int put_file(struct commit *k, const struct stage *s, size_t i)
{
	const struct change *c = &k->c.v[i];
	const char *base;
	char staged[24];

	if (is_mode_alone(c))
		return set_mode(k, c->after);
	if (is_directory(c->before) && remove_tree(k, i))
		return -1;
	int dir = beneath_parent(&k->to, c->after->name, &base);
	if (dir < 0)
		return -1;
	stage_name(i, staged);
	if (renameat(s->fd, staged, dir, base) == 0)
		return 0;
	return errno == EXDEV ? put_across(s, staged, dir, base) : -1;
}

static int put_directory(struct commit *k, size_t i)
{
	const struct change *c = &k->c.v[i];
	const char *base;
	int dir = beneath_parent(&k->to, c->after->name, &base);

	if (dir < 0)
		return -1;
	if (is_directory(c->before))
		return (c->after->mode & 0300) == 0300 ? set_mode(k, c->after) : 0;
	if (c->before && unlinkat(dir, base, 0) && errno != ENOENT)
		return -1;
	return mkdirat(dir, base, 0700);
}

static int put_all(struct commit *k, const struct stage *s, size_t *at)
{
	for (*at = 0; *at < k->c.n; ++*at) {
		const struct change *c = &k->c.v[*at];
		if (k->done[*at] || !c->after)
			continue;
		if (is_directory(c->after) ? put_directory(k, *at) : put_file(k, s, *at))
			return -1;
	}
	return 0;
}

static int remove_all(struct commit *k, size_t *at)
{
	for (*at = k->c.n; *at > 0; --*at) {
		const struct change *c = &k->c.v[*at - 1];
		if (!c->after && !k->done[*at - 1] && remove_one(k, c->before)) {
			--*at;
			return -1;
		}
	}
	return 0;
}

/* Directories get theirs when nothing is to be put in them any more. */
static int set_modes(struct commit *k, size_t *at)
{
	for (*at = k->c.n; *at > 0; --*at) {
		const struct change *c = &k->c.v[*at - 1];
		if (is_directory(c->after) && !k->done[*at - 1] && set_mode(k, c->after)) {
			--*at;
			return -1;
		}
	}
	return 0;
}

static size_t count_done(struct commit *k)
{
	struct scan_entry is;
	size_t n = 0;

	beneath_clear(&k->to);
	for (size_t i = 0; i < k->c.n; i++) {
		const struct change *c = &k->c.v[i];
		int there = commit_look(k, (c->before ? c->before : c->after)->name, &is);
		n += c->after ? there > 0 && scan_entry_same(&is, c->after) : there == 0;
	}
	return n;
}

static int apply(struct commit *k, const struct stage *s, struct error *e)
{
	char shown[SHOWN_NAME];
	size_t at = 0;

	if (put_all(k, s, &at) == 0 && remove_all(k, &at) == 0 && set_modes(k, &at) == 0)
		return syncfs(k->original) ? error_sys(e, "all changes were made, but the disk did not take them") : 0;
	const struct change *c = &k->c.v[at];
	error_sys(e, "'%s'", walk_show((c->before ? c->before : c->after)->name, shown));
	return error_prefix(e, "%zu of %zu changes were made", count_done(k), k->c.n);
}

static int commit(struct commit *k, struct error *e)
{
	struct stage s;

	/* Another run's commit is waited for, so that it is seen: not where no file system can lock. */
	while (flock(k->original, LOCK_EX) && errno == EINTR)
		;
	if (commit_check(k, e) || stage_open(&s, k->original, k->from.root, e))
		return -1;
	int rc = stage_all(k, &s, e);
	if (!rc)
		rc = apply(k, &s, e);
	stage_close(&s, k->original, k->c.n);
	return rc;
}

int workspace_commit(int original_fd, int copy_fd, const struct scan *before, const struct scan *after, struct error *e)
{
	struct commit k = { .before = before, .after = after, .original = original_fd };
	int rc = -1;

	if (scan_compare(before, after, &k.c, e))
		return -1;
	beneath_init(&k.to, original_fd);
	beneath_init(&k.from, copy_fd);
	k.done = calloc(k.c.n + 1, 1);
	if (!k.c.n)
		rc = 0;
	else
		rc = k.done ? commit(&k, e) : error_nomem(e);
	free(k.done);
	beneath_release(&k.to);
	beneath_release(&k.from);
	changes_release(&k.c);
	return rc;
}
