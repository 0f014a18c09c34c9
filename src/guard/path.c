#include "guard/path.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "guard/protected.h"

#define PATH_CAP  4096
#define MAX_LINKS 40

struct root {
	int fd;
	bool writable;
	char *real;  /* resolved; "" stands for the file system's root so that real + "/" + rest is always right */
	char *given; /* absolute as given, for paths spelled through a linked root */
};

struct roots {
	struct root *v;
	size_t n;
	bool protect;
	bool walk_only;
};

/*
 * The walk. Each step opens one component with O_PATH | O_NOFOLLOW from the descriptor of the step before, so a
 * directory that is swapped for a link meanwhile is seen as that link. Links are resolved here, against the roots.
 * `..` starts again from the root with the components that are left: a directory that was moved out of the
 * root while we stood in it cannot lead its parent in.
 */
struct walk {
	struct roots *r;
	size_t root;
	int fd;              /* the directory reached, O_PATH */
	char done[PATH_CAP]; /* its resolved path in the root, without a leading slash */
	char rest[PATH_CAP]; /* what is still to be walked */
	char name[256];      /* the final component, "." if the path ends at the directory itself */
	int links;
	bool make_dirs;
	bool writing;
	enum path_verdict why;
};

/* Is there a protected name in the resolved path `dir` or is `name` one? */
static bool is_protected(const char *dir, const char *name)
{
	char path[PATH_CAP + 300];

	snprintf(path, sizeof path, "%s/%s", dir, name);
	return path_is_protected(path + (path[0] == '/'));
}

static int fail(struct walk *w, enum path_verdict why)
{
	w->why = why;
	return -1;
}

static int fail_errno(struct walk *w)
{
	switch (errno) {
	case ENOENT:
		return fail(w, PATH_MISSING);
	case ENAMETOOLONG:
		return fail(w, PATH_BAD);
	default:
		return fail(w, PATH_ERROR);
	}
}

/* The part of path behind prefix, if prefix is a whole number of its components; else NULL. */
static const char *behind(const char *path, const char *prefix)
{
	size_t n = strlen(prefix);

	if (strncmp(path, prefix, n) != 0 || (path[n] != '/' && path[n] != '\0'))
		return NULL;
	path += n;
	while (*path == '/')
		path++;
	return path;
}

/* The root with the longest name that path lies in; *rest is the path from there. */
static bool find_root(const struct roots *r, const char *path, size_t *root, const char **rest)
{
	size_t best = 0;
	bool found = false;

	for (size_t i = 0; i < r->n; i++) {
		const char *names[] = { r->v[i].real, r->v[i].given };
		for (int k = 0; k < 2; k++) {
			const char *p = behind(path, names[k]);
			if (p && (!found || strlen(names[k]) > best)) {
				found = true;
				best = strlen(names[k]);
				*root = i;
				*rest = p;
			}
		}
	}
	return found;
}

/* Removes "." and double slashes from an absolute path; ".." too if dotdot, else all from the first ".." on stays as
 * it is, because what stands before it may be a link. */
static void clean_absolute(const char *path, bool dotdot, char out[PATH_CAP])
{
	size_t n = 0;

	while (*path) {
		size_t len = strcspn(path, "/");
		bool up = len == 2 && path[0] == '.' && path[1] == '.';
		if (up && !dotdot) {
			size_t more = strlen(path);
			out[n++] = '/';
			memcpy(out + n, path, more);
			n += more;
			break;
		}
		if (up) {
			while (n > 0 && out[--n] != '/')
				;
		} else if (len > 0 && !(len == 1 && path[0] == '.')) {
			out[n++] = '/';
			memcpy(out + n, path, len);
			n += len;
		}
		path += len;
		path += strspn(path, "/");
	}
	out[n] = '\0';
}

static int open_dir(int at, const char *name)
{
	return openat(at, name, O_PATH | O_NOFOLLOW | O_DIRECTORY | O_CLOEXEC);
}

/* Stands at the root again. */
static int at_root(struct walk *w, size_t root)
{
	int fd = fcntl(w->r->v[root].fd, F_DUPFD_CLOEXEC, 0);

	if (fd < 0)
		return fail_errno(w);
	if (w->fd >= 0)
		close(w->fd);
	w->fd = fd;
	w->root = root;
	w->done[0] = '\0';
	return 0;
}

/* Starts at an absolute path (the user's or a link's), which must name something in a root. */
static int at_absolute(struct walk *w, const char *path)
{
	char clean[PATH_CAP], rest[PATH_CAP];
	const char *p;
	size_t root;

	if (strlen(path) >= PATH_CAP)
		return fail(w, PATH_BAD);
	if (!find_root(w->r, path, &root, &p)) {
		clean_absolute(path, false, clean);
		if (!find_root(w->r, clean, &root, &p))
			return fail(w, PATH_OUTSIDE);
	}
	snprintf(rest, sizeof rest, "%s", p);
	memcpy(w->rest, rest, sizeof rest);
	return at_root(w, root);
}

/* Walks to the directory whose resolved path is in w->done, from the root, following nothing. */
static int reopen_done(struct walk *w)
{
	char path[PATH_CAP];
	char *p = path, *part;

	memcpy(path, w->done, sizeof path);
	if (at_root(w, w->root) < 0)
		return -1;
	memcpy(w->done, path, sizeof path);
	while ((part = strsep(&p, "/"))) {
		if (*part == '\0')
			continue;
		int fd = open_dir(w->fd, part);
		if (fd < 0)
			return fail_errno(w);
		close(w->fd);
		w->fd = fd;
	}
	return 0;
}

/* `..`: one component back, or, at the root, to whatever root holds the parent. */
static int go_up(struct walk *w)
{
	if (w->done[0] == '\0') {
		const char *real = w->r->v[w->root].real;
		const char *slash = strrchr(real, '/');
		char path[2 * PATH_CAP];
		if (++w->links > MAX_LINKS)
			return fail(w, PATH_LOOP);
		snprintf(path, sizeof path, "%.*s/%s", slash ? (int)(slash - real) : 0, real, w->rest);
		return at_absolute(w, path);
	}
	char *slash = strrchr(w->done, '/');
	*(slash ? slash : w->done) = '\0';
	return reopen_done(w);
}

/* Puts a link's target in front of what is left to walk. */
static int follow(struct walk *w, int link_fd)
{
	char target[PATH_CAP], path[2 * PATH_CAP + 2];
	ssize_t n = readlinkat(link_fd, "", target, sizeof target - 1);

	if (n < 0)
		return fail_errno(w);
	if (n == 0 || (size_t)n >= sizeof target - 1)
		return fail(w, PATH_BAD);
	target[n] = '\0';
	if (++w->links > MAX_LINKS)
		return fail(w, PATH_LOOP);
	snprintf(path, sizeof path, "%s%s%s", target, w->rest[0] ? "/" : "", w->rest);
	if (strlen(path) >= PATH_CAP)
		return fail(w, PATH_BAD);
	if (path[0] == '/')
		return at_absolute(w, path);
	memcpy(w->rest, path, strlen(path) + 1);
	return 0;
}

static int enter(struct walk *w, const char *name, int fd)
{
	size_t n = strlen(w->done);

	if (n + strlen(name) + 2 > sizeof w->done) {
		close(fd);
		return fail(w, PATH_BAD);
	}
	snprintf(w->done + n, sizeof w->done - n, "%s%s", n ? "/" : "", name);
	close(w->fd);
	w->fd = fd;
	return 0;
}

static int denied_here(struct walk *w, const char *name)
{
	if (w->writing && !w->r->v[w->root].writable)
		return fail(w, PATH_DENIED);
	if (w->writing && w->r->protect && is_protected(w->done, name))
		return fail(w, PATH_DENIED);
	return 0;
}

/* One component that is neither "." nor "..". Returns 1 when it is the last and not a link. */
static int step(struct walk *w, const char *name, bool last)
{
	struct stat st;
	int fd = openat(w->fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0 && errno == ENOENT && (last || w->make_dirs)) {
		if (denied_here(w, name) < 0)
			return -1;
		if (last) {
			snprintf(w->name, sizeof w->name, "%s", name);
			return 1;
		}
		if (mkdirat(w->fd, name, 0777) < 0 && errno != EEXIST)
			return fail_errno(w);
		fd = openat(w->fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	}
	if (fd < 0)
		return fail_errno(w);
	if (fstat(fd, &st) < 0) {
		close(fd);
		return fail_errno(w);
	}
	if (S_ISLNK(st.st_mode)) {
		int rc = follow(w, fd);
		close(fd);
		return rc;
	}
	if (last) {
		close(fd);
		if (denied_here(w, name) < 0)
			return -1;
		snprintf(w->name, sizeof w->name, "%s", name);
		return 1;
	}
	if (!S_ISDIR(st.st_mode)) {
		close(fd);
		errno = ENOTDIR;
		return fail_errno(w);
	}
	return enter(w, name, fd);
}

/* Takes the next component off w->rest; false at the end. */
static bool next_part(struct walk *w, char name[256], bool *last, bool *too_long)
{
	char *p = w->rest + strspn(w->rest, "/");
	size_t n = strcspn(p, "/");

	*too_long = n > 255;
	if (n == 0 || *too_long)
		return false;
	memcpy(name, p, n);
	name[n] = '\0';
	p += n;
	p += strspn(p, "/");
	*last = *p == '\0';
	memmove(w->rest, p, strlen(p) + 1);
	return true;
}

static int walk_on(struct walk *w)
{
	char name[256];
	bool last, too_long;
	int rc = 0;

	while (rc == 0) {
		if (!next_part(w, name, &last, &too_long)) {
			if (too_long)
				return fail(w, PATH_BAD);
			snprintf(w->name, sizeof w->name, ".");
			return denied_here(w, ".");
		}
		if (strcmp(name, ".") == 0)
			continue;
		rc = strcmp(name, "..") == 0 ? go_up(w) : step(w, name, last);
	}
	return rc < 0 ? -1 : 0;
}

/* Finds the directory that holds what path names and the final component in it. w->fd is the caller's afterwards. */
static int walk(struct walk *w, struct roots *r, const char *path, bool writing, bool make_dirs)
{
	memset(w, 0, sizeof *w);
	w->r = r;
	w->fd = -1;
	w->writing = writing;
	w->make_dirs = make_dirs;
	if (*path == '\0' || strlen(path) >= PATH_CAP)
		return fail(w, PATH_BAD);
	int rc = 0;
	if (path[0] == '/') {
		rc = at_absolute(w, path);
	} else {
		memcpy(w->rest, path, strlen(path) + 1);
		rc = at_root(w, 0);
	}
	if (rc == 0)
		rc = walk_on(w);
	if (rc < 0 && w->fd >= 0) {
		int saved = errno;
		close(w->fd);
		w->fd = -1;
		errno = saved;
	}
	return rc;
}

static int explain(enum path_verdict why, const char *path, struct error *e)
{
	switch (why) {
	case PATH_MISSING:
		return error_set(e, ERR_INPUT, "'%s' does not exist", path);
	case PATH_OUTSIDE:
		return error_set(e, ERR_INPUT, "'%s' is outside the workspace and its added directories", path);
	case PATH_LOOP:
		return error_set(e, ERR_INPUT, "'%s' goes through too many symbolic links", path);
	case PATH_DENIED:
		return error_set(e, ERR_INPUT, "'%s' is a protected or read-only place", path);
	case PATH_BAD:
		return error_set(e, ERR_INPUT, "the path is empty, too long or not usable");
	default:
		return error_sys(e, "cannot open '%s'", path);
	}
}

/* Opens for good what was found to be no link: a regular file or a directory, nothing else, and without waiting. */
static int open_checked(int at, const char *name, int flags, unsigned mode, enum path_verdict *why, struct error *e)
{
	struct stat st;

	if (fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && !(flags & O_PATH) && !S_ISREG(st.st_mode) &&
	    !S_ISDIR(st.st_mode)) {
		*why = PATH_BAD;
		return error_set(e, ERR_INPUT, "'%s' is not a regular file or a directory", name);
	}
	int fd = openat(at, name, flags | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, mode);
	if (fd < 0) {
		*why = errno == ENOENT ? PATH_MISSING : PATH_ERROR;
		return explain(*why, name, e);
	}
	if (fstat(fd, &st) == 0 &&
	    ((flags & O_PATH) ? !S_ISLNK(st.st_mode) : S_ISREG(st.st_mode) || S_ISDIR(st.st_mode))) {
		*why = PATH_OK;
		return fd;
	}
	close(fd);
	*why = PATH_BAD;
	return error_set(e, ERR_INPUT, "'%s' is not a regular file or a directory", name);
}

static int openat2_beneath(int at, const char *path, int flags)
{
	struct open_how how = {
		.flags = (unsigned)(flags | O_CLOEXEC),
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS,
	};

	return (int)syscall(SYS_openat2, at, path, &how, sizeof how);
}

/* The common case in one system call: a path that the kernel can resolve beneath one root. Returns the O_PATH
 * descriptor of a regular file or directory, or -1: let the walk decide. */
static int open_fast(struct roots *r, const char *path, int flags)
{
	size_t root = 0;
	const char *rest = path;
	struct stat st;

	if (r->walk_only || (flags & (O_ACCMODE | O_CREAT | O_TRUNC)) != O_RDONLY || *path == '\0' ||
	    (path[0] == '/' && !find_root(r, path, &root, &rest)))
		return -1;
	if (*rest == '\0')
		rest = ".";
	int probe = openat2_beneath(r->v[root].fd, rest, O_PATH);
	if (probe < 0)
		return -1;
	bool fine = fstat(probe, &st) == 0 && (S_ISREG(st.st_mode) || S_ISDIR(st.st_mode));
	if (fine && (flags & O_PATH))
		return probe;
	close(probe);
	if (!fine)
		return -1;
	int fd = openat2_beneath(r->v[root].fd, rest, flags | O_NONBLOCK | O_NOCTTY);
	if (fd >= 0 && (fstat(fd, &st) < 0 || !(S_ISREG(st.st_mode) || S_ISDIR(st.st_mode)))) {
		close(fd);
		return -1;
	}
	return fd;
}

int path_open(struct roots *r, const char *path, int flags, unsigned mode, enum path_verdict *why, struct error *e)
{
	struct walk w;
	bool writing = (flags & O_ACCMODE) != O_RDONLY || (flags & (O_CREAT | O_TRUNC));
	int fd = open_fast(r, path, flags);

	*why = PATH_OK;
	if (fd >= 0)
		return fd;
	if (walk(&w, r, path, writing && !(flags & O_PATH), false) < 0) {
		*why = w.why;
		return explain(w.why, path, e);
	}
	fd = open_checked(w.fd, w.name, flags, mode, why, e);
	close(w.fd);
	return fd;
}

int path_open_parent(struct roots *r, const char *path, bool make_dirs, char name[256], enum path_verdict *why,
                     struct error *e)
{
	struct walk w;

	*why = PATH_OK;
	if (walk(&w, r, path, true, make_dirs) < 0) {
		*why = w.why;
		return explain(w.why, path, e);
	}
	if (strcmp(w.name, ".") == 0) {
		close(w.fd);
		*why = PATH_BAD;
		return error_set(e, ERR_INPUT, "'%s' is a directory", path);
	}
	memcpy(name, w.name, sizeof w.name);
	/* O_PATH descriptors cannot be synced; a real one is opened through it. */
	int fd = openat(w.fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 && errno == EACCES)
		return w.fd; /* a directory may be searched and written without being readable */
	if (fd < 0) {
		*why = PATH_ERROR;
		explain(PATH_ERROR, path, e);
	}
	close(w.fd);
	return fd;
}

int path_of_fd(int fd, char out[4096])
{
	char link[64];

	snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	ssize_t n = readlink(link, out, PATH_CAP - 1);
	if (n <= 0 || n >= PATH_CAP - 1 || out[0] != '/')
		return -1;
	out[n] = '\0';
	return 0;
}

int roots_add(struct roots *r, const char *dir, bool writable, struct error *e)
{
	char given[PATH_CAP], real[PATH_MAX];
	struct root *v = realloc(r->v, (r->n + 1) * sizeof *v);

	if (!v)
		return error_nomem(e);
	r->v = v;
	int fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return error_sys(e, "cannot open the directory '%s'", dir);
	if (!realpath(dir, real)) {
		close(fd);
		return error_sys(e, "cannot resolve '%s'", dir);
	}
	char cwd[PATH_CAP] = "", joined[2 * PATH_CAP];
	if (dir[0] != '/' && !getcwd(cwd, sizeof cwd))
		cwd[0] = '\0';
	snprintf(joined, sizeof joined, "%s/%s", cwd, dir);
	if (strlen(joined) < PATH_CAP)
		clean_absolute(joined, true, given);
	else
		snprintf(given, sizeof given, "%s", real);
	struct root *root = &r->v[r->n];
	*root = (struct root){ fd, writable, strdup(strcmp(real, "/") == 0 ? "" : real), strdup(given) };
	if (!root->real || !root->given) {
		free(root->real);
		free(root->given);
		close(fd);
		return error_nomem(e);
	}
	r->n++;
	return 0;
}

int roots_spell(struct roots *r, size_t root, const char *name, struct error *e)
{
	char clean[PATH_CAP];

	if (root >= r->n || name[0] != '/' || strlen(name) >= PATH_CAP)
		return error_set(e, ERR_BUG, "no name for a root directory");
	clean_absolute(name, true, clean);
	char *given = strdup(clean);
	if (!given)
		return error_nomem(e);
	free(r->v[root].given);
	r->v[root].given = given;
	return 0;
}

struct roots *roots_open(const char *const *dirs, struct error *e)
{
	struct roots *r = calloc(1, sizeof *r);

	if (!r) {
		error_nomem(e);
		return NULL;
	}
	for (; *dirs; dirs++) {
		if (roots_add(r, *dirs, true, e) < 0) {
			roots_free(r);
			return NULL;
		}
	}
	if (r->n == 0) {
		error_set(e, ERR_BUG, "no root directory");
		roots_free(r);
		return NULL;
	}
	return r;
}

int roots_first(const struct roots *r)
{
	return r->v[0].fd;
}

void roots_free(struct roots *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->n; i++) {
		close(r->v[i].fd);
		free(r->v[i].real);
		free(r->v[i].given);
	}
	free(r->v);
	free(r);
}

void roots_protect(struct roots *r)
{
	r->protect = true;
}

void roots_force_walk(struct roots *r)
{
	r->walk_only = true;
}
