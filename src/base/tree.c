#include "base/tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define OPEN_MOST 16 /* directories, one in the other, that are held open at a time */

static bool is_dots(const char *name)
{
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

static DIR *open_dir(int at, const char *name)
{
	int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0 && errno == EACCES && fchmodat(at, name, 0700, AT_SYMLINK_NOFOLLOW) == 0)
		fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	/* The mode may forbid to remove entries; where it cannot be changed, removing them will fail. */
	DIR *d = fchmod(fd, 0700) == 0 || errno == EPERM ? fdopendir(fd) : NULL;
	if (!d)
		close(fd);
	return d;
}

/* Moves the directory `name` of `from` up into `top`, where it is met again. */
static int lift(int from, const char *name, int top, unsigned long *serial)
{
	char up[64];

	snprintf(up, sizeof up, ".quern-lift-%lu", (*serial)++);
	if (renameat(from, name, top, up) == 0)
		return 0;
	/* Its ".." changes, so it must be writable itself. */
	return fchmodat(from, name, 0700, AT_SYMLINK_NOFOLLOW) ? -1 : renameat(from, name, top, up);
}

struct level {
	DIR *dir;
	char name[NAME_MAX + 1];
};

/* Opens the directory `name` of `at` as the next level; false: it cannot be. */
static bool enter(struct level *l, int at, const char *name)
{
	l->dir = open_dir(at, name);
	if (l->dir)
		snprintf(l->name, sizeof l->name, "%s", name);
	return l->dir != NULL;
}

/* Empties and removes the directory `name` of `top`; what lies too deep in it is lifted, which costs more than to go
 * there, but ends. True if anything was done. */
static bool remove_child(int top, const char *name, unsigned long *serial)
{
	struct level levels[OPEN_MOST];
	int n = enter(&levels[0], top, name) ? 1 : 0;
	bool done = false;

	while (n > 0) {
		int at = dirfd(levels[n - 1].dir);
		const struct dirent *d = readdir(levels[n - 1].dir);
		if (!d) {
			closedir(levels[--n].dir);
			at = n ? dirfd(levels[n - 1].dir) : top;
			done = unlinkat(at, levels[n].name, AT_REMOVEDIR) == 0 || done;
		} else if (!is_dots(d->d_name)) {
			if (d->d_type != DT_DIR && unlinkat(at, d->d_name, 0) == 0)
				done = true;
			else if (n < OPEN_MOST)
				n += enter(&levels[n], at, d->d_name) ? 1 : 0;
			else
				done = lift(at, d->d_name, top, serial) == 0 || done;
		}
	}
	return done;
}

/* One pass over the top directory, where `kept` (NULL: nothing) stays. True if anything was removed or moved. */
static bool remove_pass(DIR *top, const char *kept, unsigned long *serial)
{
	bool done = false;
	struct dirent *d;

	rewinddir(top);
	while ((d = readdir(top)) != NULL) {
		if (is_dots(d->d_name) || (kept && !strcmp(d->d_name, kept)))
			continue;
		if (unlinkat(dirfd(top), d->d_name, 0) == 0 || remove_child(dirfd(top), d->d_name, serial))
			done = true;
	}
	return done;
}

/* Until a pass finds nothing more that it can do. */
static void remove_all(DIR *top, const char *kept)
{
	unsigned long serial = 0;

	while (remove_pass(top, kept, &serial))
		;
}

int tree_remove(const char *path)
{
	DIR *top = open_dir(AT_FDCWD, path);

	if (!top) /* whoever wrote into it may have put something else in its place */
		return errno == ENOTDIR || errno == ELOOP ? unlink(path) : -1;
	remove_all(top, NULL);
	closedir(top);
	return unlinkat(AT_FDCWD, path, AT_REMOVEDIR);
}

int tree_empty_but(int dir_fd, const char *name)
{
	int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *top = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *d;

	if (!top) {
		if (fd >= 0)
			close(fd);
		return -1;
	}
	remove_all(top, name);
	rewinddir(top);
	while ((d = readdir(top)) != NULL && (is_dots(d->d_name) || (name && !strcmp(d->d_name, name))))
		;
	closedir(top);
	if (d)
		errno = ENOTEMPTY;
	return d ? -1 : 0;
}

int tree_empty(int dir_fd)
{
	return tree_empty_but(dir_fd, NULL);
}
