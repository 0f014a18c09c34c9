#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "workspace/private.h"

struct made { /* a directory: it gets its mode and times when all is in it */
	char *name;
	struct stat st;
};
struct copying {
	struct beneath to, same; /* of the copy; where a file has another name already */
	struct beneath from;     /* of what is copied */
	struct links links;
	struct made *dirs;
	size_t n, cap;
};

static int remember(struct copying *c, const struct walk_entry *found)
{
	if (ARRAY_GROW(c->dirs, c->n, c->cap))
		return -1;
	c->dirs[c->n] = (struct made){ strdup(found->name), found->st };
	return c->dirs[c->n].name ? (c->n++, 0) : -1;
}

/* A file that has several names has them in the copy, too. */
static int copy_file(struct copying *c, const struct walk_entry *found, int to, const char *base)
{
	const char *same = "", *same_base;

	if (S_ISREG(found->st.st_mode) && found->st.st_nlink > 1 &&
	    !(same = links_see(&c->links, &found->st, found->name)))
		return -1;
	int dir = *same ? beneath_parent(&c->same, same, &same_base) : -1;
	if (dir >= 0 && linkat(dir, same_base, to, base, 0) == 0)
		return 0;
	return copy_entry(found->dir_fd, found->base, to, base, NULL);
}

/* -1 with errno. */
static int copy_one(struct copying *c, const struct walk_entry *found)
{
	const char *base;
	int to = beneath_parent(&c->to, found->name, &base);

	if (to < 0)
		return -1;
	if (!strncmp(found->name, STAGE_NAME, strlen(STAGE_NAME)))
		return 0;
	if (S_ISDIR(found->st.st_mode))
		return mkdirat(to, base, 0700) || remember(c, found) ? -1 : 0;
	if (S_ISREG(found->st.st_mode) || S_ISLNK(found->st.st_mode))
		return copy_file(c, found, to, base);
	return 0;
}

static int finish_attributes(struct copying *c, const char *name)
{
	const int dirs[2] = { beneath_dir(&c->from, name, strlen(name)), beneath_dir(&c->to, name, strlen(name)) };
	int from = dirs[0] < 0 ? -1 : openat(dirs[0], ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int to = dirs[1] < 0 ? -1 : openat(dirs[1], ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int rc = from < 0 || to < 0 ? -1 : copy_attributes(from, to), saved = errno;

	if (from >= 0)
		close(from);
	if (to >= 0)
		close(to);
	errno = saved;
	return rc;
}

/* The last made is the deepest: a directory that cannot be entered any more holds none that is still to be done. */
static int finish_dirs(struct copying *c)
{
	const char *base;

	for (size_t i = c->n; i-- > 0;) {
		const struct stat *st = &c->dirs[i].st;
		const struct timespec times[2] = { st->st_atim, st->st_mtim };
		if (finish_attributes(c, c->dirs[i].name) && errno != ENOENT)
			return -1;
		int dir = beneath_parent(&c->to, c->dirs[i].name, &base);
		if (dir < 0)
			return -1;
		if (st->st_uid != geteuid() || st->st_gid != getegid())
			(void)!fchownat(dir, base, st->st_uid, st->st_gid, AT_SYMLINK_NOFOLLOW);
		if (fchmodat(dir, base, st->st_mode & 07777, 0) || utimensat(dir, base, times, AT_SYMLINK_NOFOLLOW))
			return -1;
	}
	return 0;
}

int workspace_copy(int from_fd, int to_fd, struct error *e)
{
	struct copying c = { 0 };
	struct walk_entry found;
	char shown[SHOWN_NAME];
	struct walk w;
	int rc;

	beneath_init(&c.to, to_fd);
	beneath_init(&c.from, from_fd);
	beneath_init(&c.same, to_fd);
	walk_init(&w, from_fd, NULL);
	while ((rc = walk_next(&w, &found, e)) > 0) {
		errno = found.too_long ? ENAMETOOLONG : found.unread;
		if (errno == ENOENT)
			continue;
		if (errno || (copy_one(&c, &found) && errno != ENOENT)) {
			rc = error_sys(e, "cannot copy '%s'", walk_show(found.name, shown));
			break;
		}
	}
	if (rc == 0 && finish_dirs(&c))
		rc = error_sys(e, "cannot copy a directory");
	walk_release(&w);
	beneath_release(&c.to);
	beneath_release(&c.from);
	beneath_release(&c.same);
	links_release(&c.links);
	for (size_t i = 0; i < c.n; i++)
		free(c.dirs[i].name);
	free(c.dirs);
	return rc;
}
