/* The new content of a commit, and its journal: see commit.h. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/tree.h"
#include "workspace/commit.h"

#define ACROSS "across"
#define NUMBER 32 /* bytes of a name in the stage */

static const char *number(const char *what, size_t i, char out[NUMBER])
{
	snprintf(out, NUMBER, "%s%zu", what, i);
	return out;
}

/* It is the copy's: so a commit that is made again has the same, while nobody else's has. -1 with errno. */
static int name_of(int copy, char out[80])
{
	struct stat st;

	if (fstat(copy, &st))
		return -1;
	snprintf(out, 80, STAGE_NAME "%llx-%llx", (unsigned long long)st.st_dev, (unsigned long long)st.st_ino);
	return 0;
}

/* ---- directories that are lent ---- */

static int set_mode(struct beneath *at, const char *name, unsigned mode)
{
	int dir = beneath_dir(at, name, strlen(name));

	return dir < 0 ? -1 : fchmodat(dir, ".", mode, 0);
}

static int lend_next(struct stage *s, struct commit *k)
{
	const struct lent *l = &k->lent[s->nlent];

	if (set_mode(&k->to, l->name, l->mode | 0300))
		return -1;
	s->nlent++;
	return 0;
}

static int write_journal(const struct stage *s, const struct commit *k)
{
	char base[NUMBER];
	int rc = 0;

	for (size_t i = 0; !rc && i < k->nlent; i++) {
		struct buf target = BUF_INIT(LINK_LONGEST);
		buf_addf(&target, "%o %s", k->lent[i].mode, k->lent[i].name);
		errno = ENAMETOOLONG;
		rc = target.failed ? -1 : symlinkat(buf_str(&target), s->fd, number("mode-", i, base));
		buf_release(&target);
	}
	return rc;
}

/* The original itself is the first that is lent, and goes back behind the stage. */
static bool is_root_lent(const struct commit *k)
{
	return k->nlent && !*k->lent[0].name;
}

void stage_return(struct stage *s, struct commit *k)
{
	for (; s->nlent > is_root_lent(k); s->nlent--) /* one that has gone meanwhile needs none */
		(void)set_mode(&k->to, k->lent[s->nlent - 1].name, k->lent[s->nlent - 1].mode);
}

/* ---- what a commit has left that was cut short ---- */

static int read_journal(int stage, const char *base, char out[LINK_LONGEST])
{
	size_t n;

	return walk_read_link(stage, base, out, &n);
}

/* Unless somebody else has set another one meanwhile. */
static void put_mode_back(struct beneath *at, const char *entry)
{
	char *name;
	unsigned mode = (unsigned)strtoul(entry, &name, 8) & 07777;
	struct stat st;
	int dir = *name == ' ' ? beneath_dir(at, name + 1, strlen(name + 1)) : -1;

	if (dir >= 0 && fstat(dir, &st) == 0 && (st.st_mode & 07777) == (mode | 0300))
		(void)!fchmodat(dir, ".", mode, 0);
}

static void drop_across(struct beneath *at, const char *name)
{
	const char *base;
	int dir = beneath_parent(at, name, &base);

	if (dir >= 0 && !strncmp(base, STAGE_NAME, strlen(STAGE_NAME)))
		unlinkat(dir, base, 0);
}

static bool recover(int original, const char *name)
{
	int fd = openat(original, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	char entry[LINK_LONGEST], root[LINK_LONGEST] = "", base[NUMBER];
	struct beneath at;
	struct stat st;

	if (fd < 0)
		return false;
	if (fstat(fd, &st) || st.st_uid != geteuid() || (st.st_mode & 07777) != 0700) {
		close(fd);
		return false;
	}
	beneath_init(&at, original);
	if (!read_journal(fd, ACROSS, entry))
		drop_across(&at, entry);
	for (size_t i = 0; !read_journal(fd, number("mode-", i, base), entry); i++)
		if (entry[strlen(entry) - 1] == ' ')
			memcpy(root, entry, sizeof root);
		else
			put_mode_back(&at, entry);
	bool gone = tree_empty(fd) == 0 && unlinkat(original, name, AT_REMOVEDIR) == 0;
	if (*root)
		put_mode_back(&at, root);
	beneath_release(&at);
	close(fd);
	return gone;
}

size_t stage_recover(int original, int copy)
{
	char own[80];
	size_t n = 0;

	if (copy >= 0)
		return !name_of(copy, own) && recover(original, own);
	int fd = openat(original, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *f;
	if (!d && fd >= 0)
		close(fd);
	while (d && (f = readdir(d)))
		n += !strncmp(f->d_name, STAGE_NAME, strlen(STAGE_NAME)) && recover(original, f->d_name);
	if (d)
		closedir(d);
	return n;
}

/* ---- the content ---- */

static bool has_content(const struct change *c)
{
	return c->after && !is_directory(c->after) && !is_mode_alone(c);
}

/* What it is to be like: a changed file keeps owner and attributes of the one it takes the place of. */
static bool find_like(struct commit *k, const struct change *c, struct like *like)
{
	const char *base;
	int dir;

	*like = (struct like){ .fd = -1 };
	if (!c->before || is_directory(c->before))
		return false;
	dir = beneath_parent(&k->to, c->before->name, &base);
	if (dir < 0 || fstatat(dir, base, &like->st, AT_SYMLINK_NOFOLLOW))
		return false;
	if (S_ISREG(like->st.st_mode) && c->after->kind == FILE_REGULAR)
		like->fd = walk_open_file(dir, base, NULL);
	return true;
}

/* Files that are one and the same in the copy are that in the stage, and so in the original. -1 with errno. */
static int stage_one(struct commit *k, const struct stage *s, size_t i)
{
	const struct change *c = &k->c.v[i];
	const char *base, *same = "";
	char staged[NUMBER];
	struct like like;
	struct stat st;
	int dir = beneath_parent(&k->from, c->after->name, &base);

	number("", i, staged);
	if (dir < 0 || fstatat(dir, base, &st, AT_SYMLINK_NOFOLLOW))
		return -1;
	if (S_ISREG(st.st_mode) && st.st_nlink > 1 && !(same = links_see(&k->links, &st, staged)))
		return -1;
	if (*same && linkat(s->fd, same, s->fd, staged, 0) == 0)
		return 0;
	bool found = find_like(k, c, &like);
	int rc = copy_entry(dir, base, s->fd, staged, found ? &like : NULL), saved = errno;
	if (like.fd >= 0)
		close(like.fd);
	errno = saved;
	return rc;
}

static int stage_all(struct commit *k, const struct stage *s, struct error *e)
{
	char shown[SHOWN_NAME];

	for (size_t i = 0; i < k->c.n; i++)
		if (!k->done[i] && has_content(&k->c.v[i]) && stage_one(k, s, i))
			return error_sys(e, "no change was made: cannot write '%s'",
			                 walk_show(k->c.v[i].after->name, shown));
	if (write_journal(s, k) || syncfs(s->fd))
		return error_sys(e, "no change was made: cannot write to the disk");
	while (s->nlent < k->nlent)
		if (lend_next((struct stage *)s, k))
			return error_sys(e, "no change was made: '%s'", walk_show(k->lent[s->nlent].name, shown));
	return 0;
}

static int make_dir(struct stage *s, struct commit *k)
{
	if (name_of(k->copy, s->name))
		return -1;
	if (is_root_lent(k) && lend_next(s, k))
		return -1;
	if (mkdirat(k->original, s->name, 0700))
		return -1;
	s->fd = openat(k->original, s->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return s->fd < 0 ? -1 : 0;
}

int stage_open(struct stage *s, struct commit *k, struct error *e)
{
	*s = (struct stage){ .fd = -1 };
	int rc = make_dir(s, k) ? error_sys(e, "cannot write into the original directory") : stage_all(k, s, e);

	if (rc)
		stage_close(s, k);
	return rc;
}

/* Behind a mount point a rename from the stage is none: there the file is made beside. */
static int put_across(struct stage *s, const char *staged, int dir, const char *base, const char *name)
{
	struct buf way = BUF_INIT(LINK_LONGEST);
	char beside[sizeof s->name + NUMBER];

	snprintf(beside, sizeof beside, "%s-%s", s->name, staged);
	buf_addf(&way, "%.*s%s", (int)(base - name), name, beside);
	unlinkat(s->fd, ACROSS, 0);
	errno = ENAMETOOLONG;
	int rc = way.failed ? -1 : symlinkat(buf_str(&way), s->fd, ACROSS);
	if (!rc)
		rc = copy_entry(s->fd, staged, dir, beside, NULL);
	if (!rc && (rc = renameat(dir, beside, dir, base)) != 0) {
		int saved = errno;
		unlinkat(dir, beside, 0);
		errno = saved;
	}
	buf_release(&way);
	return rc;
}

int stage_put(struct stage *s, size_t i, int dir, const char *base, const char *name)
{
	char staged[NUMBER];

	number("", i, staged);
	if (renameat(s->fd, staged, dir, base) == 0)
		return 0;
	return errno == EXDEV ? put_across(s, staged, dir, base, name) : -1;
}

void stage_close(struct stage *s, struct commit *k)
{
	char base[NUMBER];

	stage_return(s, k);
	for (size_t i = 0; s->fd >= 0 && i < k->c.n; i++)
		unlinkat(s->fd, number("", i, base), 0);
	for (size_t i = 0; s->fd >= 0 && i < k->nlent; i++)
		unlinkat(s->fd, number("mode-", i, base), 0);
	if (s->fd >= 0) {
		unlinkat(s->fd, ACROSS, 0);
		close(s->fd);
		unlinkat(k->original, s->name, AT_REMOVEDIR);
	}
	if (s->nlent)
		(void)set_mode(&k->to, "", k->lent[0].mode);
}
