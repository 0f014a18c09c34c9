#include "workspace/commit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

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

static int put_file(struct commit *k, struct stage *s, size_t i)
{
	const struct change *c = &k->c.v[i];
	const char *base;

	if (is_mode_alone(c))
		return set_mode(k, c->after);
	if (is_directory(c->before) && remove_tree(k, i))
		return -1;
	int dir = beneath_parent(&k->to, c->after->name, &base);
	return dir < 0 ? -1 : stage_put(s, i, dir, base, c->after->name);
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

static int put_all(struct commit *k, struct stage *s, size_t *at)
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

static int apply(struct commit *k, struct stage *s, struct error *e)
{
	char shown[SHOWN_NAME];
	size_t at = 0;

	int rc = put_all(k, s, &at) || remove_all(k, &at) ? -1 : 0, saved = errno;
	stage_return(s, k);
	errno = saved;
	if (rc == 0 && set_modes(k, &at) == 0)
		return syncfs(k->original) ? error_sys(e, "all changes were made, but the disk did not take them") : 0;
	const struct change *c = &k->c.v[at];
	error_sys(e, "'%s'", walk_show((c->before ? c->before : c->after)->name, shown));
	return error_prefix(e, "%zu of %zu changes were made", count_done(k), k->c.n);
}

static int commit(struct commit *k, struct error *e)
{
	struct stage s;

	/* Another run's commit is waited for, so that it is seen: not where no file system can lock. */
	int locked;
	while ((locked = flock(k->original, LOCK_EX)) != 0 && errno == EINTR)
		;
	stage_recover(k->original, locked == 0 ? -1 : k->copy);
	if (commit_check(k, e) || stage_open(&s, k, e))
		return -1;
	int rc = commit_check_again(k, e) ? -1 : apply(k, &s, e);
	stage_close(&s, k);
	return rc;
}

int workspace_committed(int original_fd, const struct scan *before, const struct scan *after, struct error *e)
{
	struct commit k = { .before = before, .after = after, .original = original_fd };

	if (scan_compare(before, after, &k.c, e))
		return -1;
	beneath_init(&k.to, original_fd);
	bool all = count_done(&k) == k.c.n;
	beneath_release(&k.to);
	changes_release(&k.c);
	return all;
}

int workspace_commit(int original_fd, int copy_fd, const struct scan *before, const struct scan *after, struct error *e)
{
	struct commit k = { .before = before, .after = after, .original = original_fd, .copy = copy_fd };
	int rc = -1;

	if (scan_compare(before, after, &k.c, e))
		return -1;
	beneath_init(&k.to, original_fd);
	beneath_init(&k.from, copy_fd);
	k.done = calloc(k.c.n + 1, 1);
	k.seen = calloc(k.c.n + 1, sizeof *k.seen);
	if (!k.c.n)
		rc = 0;
	else
		rc = k.done && k.seen ? commit(&k, e) : error_nomem(e);
	free(k.done);
	free(k.seen);
	for (size_t i = 0; i < k.nlent; i++)
		free(k.lent[i].name);
	free(k.lent);
	links_release(&k.links);
	beneath_release(&k.to);
	beneath_release(&k.from);
	changes_release(&k.c);
	return rc;
}
