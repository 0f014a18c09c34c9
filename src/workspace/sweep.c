/* What killed runs have left of their copies and commits. Only what nobody can miss goes. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/io.h"
#include "base/tree.h"
#include "workspace/calls.h"
#include "workspace/private.h"

#define SUMS_MAX   ((size_t)1 << 30)
#define RANDOM_LEN 6 /* behind the prefix of a name */

/* ---- which there are ---- */

static bool is_named(const char *name, const char *prefix)
{
	size_t n = strlen(prefix);

	return !strncmp(name, prefix, n) && strlen(name) == n + RANDOM_LEN && !strpbrk(name + n, "./");
}

static bool is_of(int fd, const char *workspace)
{
	char target[LINK_LONGEST];
	size_t n;

	return walk_read_link(fd, COPY_ORIGINAL, target, &n) == 0 && !strcmp(target, workspace);
}

/* Opens and locks it: whoever made it is dead. -1: it is to be left alone. */
static int open_left(int parent, const char *name, const char *workspace)
{
	int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (fd >= 0 && fstat(fd, &st) == 0 && st.st_uid == geteuid() && (st.st_mode & 07777) == 0700 &&
	    flock(fd, LOCK_EX | LOCK_NB) == 0) {
		if (is_of(fd, workspace))
			return fd;
		if (*name ==
		    '.') /* beside the workspace: one that was killed before it wrote whose it is; if it is empty */
			unlinkat(parent, name, AT_REMOVEDIR);
	}
	if (fd >= 0)
		close(fd);
	return -1;
}

void sweep_find(struct sweep *s, const char *workspace, const char *dir, const char *prefix)
{
	int parent = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = parent < 0 ? NULL : fdopendir(parent);
	const struct dirent *f;

	if (!d) {
		if (parent >= 0)
			close(parent);
		return;
	}
	while (s->n < SWEEP_MOST && (f = readdir(d))) {
		struct swept *one = &s->v[s->n];
		if (!is_named(f->d_name, prefix) || (one->fd = open_left(parent, f->d_name, workspace)) < 0)
			continue;
		one->parent = fcntl(parent, F_DUPFD_CLOEXEC, 0);
		one->name = strdup(f->d_name);
		s->n++;
	}
	closedir(d);
}

void sweep_release(struct sweep *s)
{
	for (size_t i = 0; i < s->n; i++) {
		free(s->v[i].name);
		close(s->v[i].fd);
		if (s->v[i].parent >= 0)
			close(s->v[i].parent);
	}
	s->n = 0;
}

/* ---- which may go ---- */

static int is_the_same(const struct scan *before, const struct scan *after, struct error *e)
{
	struct changes c;

	if (scan_compare(before, after, &c, e))
		return -1;
	bool same = !c.n;
	changes_release(&c);
	return same;
}

/* Is all that was changed in the copy in the original? Where none was worked in: is the original what it was, so that
 * nobody needs to know that? -1 with *e: it cannot be said. */
static int is_of_no_use(int fd, int original, struct scan *before, const char *const *skip, struct error *e)
{
	char base[LINK_LONGEST];
	struct scan after;
	size_t n;
	bool worked_in = walk_read_link(fd, COPY_WORKED_IN, base, &n) == 0;
	int copy = worked_in ? openat(fd, base, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1, rc = -1;

	before->whole = worked_in;
	if ((!worked_in || copy >= 0) && !workspace_scan(worked_in ? copy : original, before, skip, &after, e)) {
		rc = worked_in ? workspace_committed(original, before, &after, e) : is_the_same(before, &after, e);
		scan_release(&after);
	}
	if (copy >= 0)
		close(copy);
	return rc;
}

/* Without sums nobody has worked in the copy yet, or it was done with. */
static bool may_go(int fd, int original, const char *const *skip)
{
	struct buf text = BUF_INIT(SUMS_MAX);
	struct scan before = SCAN_INIT;
	struct error e = ERROR_INIT;
	struct stat st;
	bool goes = false;

	if (fstatat(fd, COPY_SUMS, &st, AT_SYMLINK_NOFOLLOW))
		return errno == ENOENT;
	if (!io_read_file(fd, COPY_SUMS, &text, &e) && !scan_parse(buf_str(&text), text.len, &before, &e)) {
		goes = is_of_no_use(fd, original, &before, skip, &e) > 0;
		scan_release(&before);
	}
	buf_release(&text);
	return goes;
}

/* The sums first, and last of all whose it is: between these, what is left goes the next time. */
static bool take_away(const struct swept *s)
{
	return (unlinkat(s->fd, COPY_SUMS, 0) == 0 || errno == ENOENT) && tree_empty_but(s->fd, COPY_ORIGINAL) == 0 &&
	       (unlinkat(s->fd, COPY_ORIGINAL, 0) == 0 || errno == ENOENT) &&
	       unlinkat(s->parent, s->name, AT_REMOVEDIR) == 0;
}

int workspace_drop_copy(const char *path)
{
	const char *slash = strrchr(path, '/');
	char *above = slash ? strndup(path, (size_t)(slash - path) + 1) : NULL;
	const struct swept s = { .parent = above ? open(above, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1,
		                 .fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC),
		                 .name = slash ? (char *)slash + 1 : NULL };
	bool gone = s.parent >= 0 && s.fd >= 0 && take_away(&s);
	int saved = errno;

	if (s.parent >= 0)
		close(s.parent);
	if (s.fd >= 0)
		close(s.fd);
	free(above);
	errno = saved;
	return gone ? 0 : -1;
}

void sweep_do(struct sweep *s, int original, const char *const *skip, struct buf *told)
{
	char shown[SHOWN_NAME];

	if (flock(original, LOCK_EX | LOCK_NB) == 0) {
		size_t n = stage_recover(original, -1);
		if (n)
			buf_addf(told, "what %zu commits left that were cut short is undone\n", n);
		flock(original, LOCK_UN);
	}
	for (size_t i = 0; i < s->n; i++) {
		bool goes = may_go(s->v[i].fd, original, skip);
		bool gone = goes && take_away(&s->v[i]);
		buf_addf(told, "'%s' of a run that was killed %s\n",
		         walk_show(s->v[i].name ? s->v[i].name : "?", shown),
		         gone   ? "is removed"
		         : goes ? "cannot be removed"
		                : "stays: what it has is nowhere else");
	}
}
