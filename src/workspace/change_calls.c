/*
 * The keeper's calls about what changed. Their input is strings, a NUL behind each, then the text of a scan or two
 * (which has no NUL in it).
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "base/random.h"
#include "workspace/calls.h"
#include "workspace/private.h"

#define SUMS_MAX ((size_t)1 << 30)

struct input {
	const char *p, *end; /* a NUL stands at end */
};

/* The next string; "" behind the last. */
static const char *next(struct input *in)
{
	const char *s = in->p;

	in->p += strlen(s);
	if (in->p < in->end)
		in->p++;
	return s;
}

static int next_scan(struct input *in, struct scan *out, struct error *e)
{
	const char *text = next(in);

	return scan_parse(text, strlen(text), out, e);
}

/* Each call begins with it: from here on a file that may not be that large is an error like others. */
static int here(struct error *e)
{
	signal(SIGXFSZ, SIG_IGN);
	int fd = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? error_sys(e, "cannot open the workspace") : fd;
}

static int open_dir(const char *path, struct error *e)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? error_sys(e, "cannot open '%s'", path) : fd;
}

/* ---- files that are written beside and renamed over ---- */

struct out_file {
	const char *path, *base;
	char beside[NAME_MAX + 1]; /* "": it is no regular file, and written itself */
	bool unnamed;              /* so that nothing stays of it if we are killed */
	int dir, fd;
};

/* The directory as it was when the run began, when links in the path were resolved: what has become one since may be
 * the model's work. */
static int output_dir(struct out_file *o)
{
	int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC), dir;
	struct beneath at;

	beneath_init(&at, root);
	dir = beneath_parent(&at, o->path + strspn(o->path, "/"), &o->base);
	o->dir = dir < 0 ? -1 : fcntl(dir, F_DUPFD_CLOEXEC, 0);
	int saved = errno;
	beneath_release(&at);
	if (root >= 0)
		close(root);
	errno = saved;
	return o->dir;
}

static int output_open(struct out_file *o, const char *path, struct error *e)
{
	unsigned char r[4];
	struct stat st;

	*o = (struct out_file){ .path = path, .dir = -1, .fd = -1 };
	random_bytes(r, sizeof r);
	if (output_dir(o) < 0)
		return error_sys(e, "cannot write '%s'", path);
	if (fstatat(o->dir, o->base, &st, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISREG(st.st_mode) && !S_ISLNK(st.st_mode)) {
		o->fd = openat(o->dir, o->base, O_WRONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | O_NOFOLLOW);
	} else {
		snprintf(o->beside, sizeof o->beside, "%.200s.%02x%02x%02x%02x", o->base, r[0], r[1], r[2], r[3]);
		o->fd = openat(o->dir, ".", O_WRONLY | O_TMPFILE | O_CLOEXEC, 0600);
		o->unnamed = o->fd >= 0;
		if (!o->unnamed)
			o->fd = openat(o->dir, o->beside, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	}
	if (o->fd >= 0)
		return 0;
	error_sys(e, "cannot write '%s'", path);
	close(o->dir);
	return -1;
}

static int output_name(const struct out_file *o)
{
	char self[40];

	snprintf(self, sizeof self, "/proc/self/fd/%d", o->fd);
	return linkat(AT_FDCWD, self, o->dir, o->beside, AT_SYMLINK_FOLLOW);
}

/* rc: whether it was written. */
static int output_close(struct out_file *o, int rc, struct error *e)
{
	if (!rc && o->beside[0] && (fchmod(o->fd, 0600) || fsync(o->fd) || (o->unnamed && output_name(o))))
		rc = error_sys(e, "cannot write '%s'", o->path);
	if (close(o->fd) && !rc)
		rc = error_sys(e, "cannot write '%s'", o->path);
	if (!rc && o->beside[0] && renameat(o->dir, o->beside, o->dir, o->base))
		rc = error_sys(e, "cannot write '%s'", o->path);
	if (rc && o->beside[0])
		unlinkat(o->dir, o->beside, 0);
	close(o->dir);
	return rc;
}

static int save_to(const char *path, int dir, const struct scan *before, const struct scan *after, struct error *e)
{
	struct out_file o;

	if (output_open(&o, path, e))
		return -1;
	return output_close(&o, workspace_save(dir, before, after, o.fd, e), e);
}

/* ---- "scan": "sums", "list" or "whole", "" or the file that the changes are saved to, names to skip, "", an earlier
 * scan or
 * "". What it tells of is the counts of what changed, and the scan unless that was saved. ---- */

#define SKIP_MOST 16

static void print_counts(const struct scan *before, const struct scan *after, struct buf *out, struct error *e)
{
	struct changes c;

	if (!before->taken_ns || scan_compare(before, after, &c, e))
		return;
	buf_addf(out, "%zu %zu %zu %zu\n", c.changed, c.added, c.deleted, c.n);
	changes_release(&c);
}

static int scan_here(struct input *in, struct error *e)
{
	struct scan known = SCAN_INIT, s = SCAN_INIT;
	struct buf out = BUF_INIT(SUMS_MAX);
	const char *skip[SKIP_MOST + 1] = { NULL }, *name;
	const char *how = next(in), *path = next(in);
	const bool list = !strcmp(how, "list");
	int dir = here(e), rc = dir < 0 ? -1 : 0;

	for (size_t n = 0; *(name = next(in));)
		if (n < SKIP_MOST)
			skip[n++] = name;
	if (!rc && in->p < in->end)
		rc = next_scan(in, &known, e);
	known.whole = !strcmp(how, "whole");
	if (!rc)
		rc = list && !known.taken_ns ? workspace_list(dir, skip, &s, e)
		                             : workspace_scan(dir, known.taken_ns ? &known : NULL, skip, &s, e);
	if (!rc && *path)
		rc = save_to(path, dir, &known, &s, e);
	if (!rc) {
		print_counts(&known, &s, &out, e);
		if (!*path)
			scan_print_sums(&s, &out);
		rc = buf_check(&out, "the list of the workspace's files", e);
	}
	if (!rc && io_write_all(1, buf_str(&out), out.len))
		rc = error_sys(e, "cannot tell the workspace's files");
	if (dir >= 0)
		close(dir);
	buf_release(&out);
	scan_release(&known);
	scan_release(&s);
	return rc;
}

int call_scan(const char *in, size_t in_len, int result_fd)
{
	struct input input = { in, in + in_len };
	struct error e = ERROR_INIT;

	return call_end(scan_here(&input, &e), &e, result_fd);
}

/* ---- "copy": where to ---- */

static int copy_here(struct input *in, struct error *e)
{
	int from = here(e), to = from < 0 ? -1 : open_dir(next(in), e), rc = -1;
	struct stat st;

	if (to >= 0 && (fstat(from, &st) || fchmod(to, (st.st_mode & 0777) | 0700)))
		error_sys(e, "cannot copy the workspace");
	else if (to >= 0)
		rc = workspace_copy(from, to, e);
	if (from >= 0)
		close(from);
	if (to >= 0)
		close(to);
	return rc;
}

int call_copy(const char *in, size_t in_len, int result_fd)
{
	struct input input = { in, in + in_len };
	struct error e = ERROR_INIT;

	return call_end(copy_here(&input, &e), &e, result_fd);
}

/* ---- "save": the file, the scan before, the scan after; "patch": the directory as it was, and the same ---- */

static int write_changes(struct input *in, bool patch, struct error *e)
{
	const char *was = patch ? next(in) : NULL, *path = next(in);
	struct scan before = SCAN_INIT, after = SCAN_INIT;
	struct out_file o = { .fd = -1 };
	size_t left_out = 0;
	char text[32];
	int dir = here(e), was_fd = dir >= 0 && was ? open_dir(was, e) : -1;
	int rc = dir < 0 || (was && was_fd < 0) ? -1 : 0;

	if (!rc && (next_scan(in, &before, e) || next_scan(in, &after, e) || output_open(&o, path, e)))
		rc = -1;
	if (!rc) {
		rc = patch ? workspace_patch(was_fd, dir, &before, &after, o.fd, &left_out, e)
		           : workspace_save(dir, &before, &after, o.fd, e);
		rc = output_close(&o, rc, e);
	}
	snprintf(text, sizeof text, "%zu", left_out);
	if (!rc && io_write_all(1, text, strlen(text)))
		rc = error_sys(e, "cannot tell of '%s'", path);
	if (dir >= 0)
		close(dir);
	if (was_fd >= 0)
		close(was_fd);
	scan_release(&before);
	scan_release(&after);
	return rc;
}

int call_save(const char *in, size_t in_len, int result_fd)
{
	struct input input = { in, in + in_len };
	struct error e = ERROR_INIT;

	return call_end(write_changes(&input, false, &e), &e, result_fd);
}

int call_patch(const char *in, size_t in_len, int result_fd)
{
	struct input input = { in, in + in_len };
	struct error e = ERROR_INIT;

	return call_end(write_changes(&input, true, &e), &e, result_fd);
}

/* ---- "restore": the archive ---- */

int call_restore(const char *in, size_t in_len, int result_fd)
{
	struct error e = ERROR_INIT;
	int dir = here(&e), fd = dir < 0 ? -1 : open(in, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK), rc = -1;

	(void)in_len;
	if (fd >= 0)
		rc = workspace_restore(dir, fd, &e);
	else if (dir >= 0)
		error_sys(&e, "cannot read '%s'", in);
	if (fd >= 0)
		close(fd);
	if (dir >= 0)
		close(dir);
	return call_end(rc, &e, result_fd);
}

/* ---- "commit": the original, the scan before, the scan after ---- */

static int commit_here(struct input *in, struct error *e)
{
	struct scan before = SCAN_INIT, after = SCAN_INIT;
	int dir = here(e), to = dir < 0 ? -1 : open_dir(next(in), e), rc = -1;

	if (to >= 0 && !next_scan(in, &before, e) && !next_scan(in, &after, e))
		rc = workspace_commit(to, dir, &before, &after, e);
	if (dir >= 0)
		close(dir);
	if (to >= 0)
		close(to);
	scan_release(&before);
	scan_release(&after);
	return rc;
}

int call_commit(const char *in, size_t in_len, int result_fd)
{
	struct input input = { in, in + in_len };
	struct error e = ERROR_INIT;

	return call_end(commit_here(&input, &e), &e, result_fd);
}
