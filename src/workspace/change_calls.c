/*
 * The keeper's calls about what changed. Their input is strings, a NUL behind each, then the text of a scan or two
 * (which has no NUL in it).
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "base/libarchive_api.h"
#include "guard/sandbox.h"
#include "workspace/calls.h"
#include "workspace/out_file.h"
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

/* By a path that was free of links when the run began: one that has become a link since is another directory. */
static int open_real_dir(const char *path, struct error *e)
{
	struct beneath at;

	beneath_init(&at, open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
	int dir = beneath_dir(&at, path + strspn(path, "/"), strlen(path + strspn(path, "/")));
	int fd = dir < 0 ? -1 : openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		error_sys(e, "cannot open '%s'", path);
	beneath_release(&at);
	if (at.root >= 0)
		close(at.root);
	return fd;
}

static void shut(int fd)
{
	if (fd >= 0)
		close(fd);
}

/* ---- what a call may do ---- */

/* From now on: it reads what it was given, and writes where it is to write. The names in there, and libarchive, which
 * is given all that the model made of them, have no more than that. Where the kernel has no such limits there are none.
 */
static int confine(const struct sandbox_place *places, size_t n, struct error *e)
{
	return sandbox_confine_call(places, n, e) < 0 ? -1 : 0;
}
#define CONFINE(e, ...)                                                                                                \
	confine((const struct sandbox_place[]){ __VA_ARGS__ },                                                         \
	        sizeof(const struct sandbox_place[]){ __VA_ARGS__ } / sizeof(struct sandbox_place), e)

static int load_libarchive(struct error *e)
{
	struct libarchive_api la;

	return libarchive_api_load(&la, e);
}

/* ---- "scan": "sums", "list" or "whole", "" or the file that the changes are saved to, names to skip, "", an earlier
 * scan or "". What it tells of is the counts of what changed, and the scan unless that was saved. ---- */

#define SKIP_MOST 16

struct scanning {
	const char *how, *path, *skip[SKIP_MOST + 1];
	struct scan known, now;
	int dir;
};

static void read_skipped(struct input *in, const char *skip[SKIP_MOST + 1])
{
	const char *name;
	size_t n = 0;

	while (*(name = next(in)))
		if (n < SKIP_MOST)
			skip[n++] = name;
	skip[n] = NULL;
}

static int read_scanning(struct scanning *s, struct input *in, struct error *e)
{
	s->how = next(in);
	s->path = next(in);
	read_skipped(in, s->skip);
	if (in->p < in->end && next_scan(in, &s->known, e))
		return -1;
	s->known.whole = !strcmp(s->how, "whole");
	return 0;
}

static int look(struct scanning *s, struct error *e)
{
	if (!strcmp(s->how, "list") && !s->known.taken_ns)
		return workspace_list(s->dir, s->skip, &s->now, e);
	return workspace_scan(s->dir, s->known.taken_ns ? &s->known : NULL, s->skip, &s->now, e);
}

/* The file may lie in the directory, where a look would find it: it is opened behind that. */
static int look_and_save(struct scanning *s, struct error *e)
{
	struct out_file o;

	if (load_libarchive(e) || out_file_find(&o, s->path, e))
		return -1;
	int rc = CONFINE(e, { s->dir, REACH_READ }, { o.dir, REACH_FILES });
	if (!rc)
		rc = look(s, e);
	if (!rc)
		rc = out_file_open(&o, e);
	if (!rc)
		rc = CONFINE(e, { s->dir, REACH_READ }, { o.dir, REACH_NAMES });
	if (!rc)
		rc = workspace_save(s->dir, &s->known, &s->now, o.fd, e);
	return out_file_close(&o, rc, e);
}

static void print_counts(const struct scan *before, const struct scan *after, struct buf *out, struct error *e)
{
	struct changes c;

	if (!before->taken_ns || scan_compare(before, after, &c, e))
		return;
	buf_addf(out, "%zu %zu %zu %zu\n", c.changed, c.added, c.deleted, c.n);
	changes_release(&c);
}

static int tell_scanned(const struct scanning *s, struct error *e)
{
	struct buf out = BUF_INIT(SUMS_MAX);

	print_counts(&s->known, &s->now, &out, e);
	if (!*s->path)
		scan_print_sums(&s->now, &out);
	int rc = buf_check(&out, "the list of the workspace's files", e);
	if (!rc && io_write_all(1, buf_str(&out), out.len))
		rc = error_sys(e, "cannot tell the workspace's files");
	buf_release(&out);
	return rc;
}

int call_scan(const char *in, size_t in_len, int result_fd)
{
	struct input input = { in, in + in_len };
	struct scanning s = { .known = SCAN_INIT, .now = SCAN_INIT };
	struct error e = ERROR_INIT;
	int rc = read_scanning(&s, &input, &e);

	s.dir = rc ? -1 : here(&e);
	if (s.dir < 0)
		rc = -1;
	else if (*s.path)
		rc = look_and_save(&s, &e);
	else
		rc = CONFINE(&e, { s.dir, REACH_READ }) ? -1 : look(&s, &e);
	if (!rc)
		rc = tell_scanned(&s, &e);
	shut(s.dir);
	scan_release(&s.known);
	scan_release(&s.now);
	return call_end(rc, &e, result_fd);
}

/* ---- "sweep": the workspace's path, names to skip, "", then directories, each with the prefix of the names in there.
 * In the workspace; what it tells is a line each. ---- */

static void add_places(struct sandbox_place *places, const struct sweep *s)
{
	for (size_t i = 0; i < s->n; i++) {
		*places++ = (struct sandbox_place){ s->v[i].fd, REACH_WRITE };
		*places++ = (struct sandbox_place){ s->v[i].parent, REACH_REMOVE };
	}
}

int call_sweep(const char *in, size_t in_len, int result_fd)
{
	struct input input = { in, in + in_len };
	const char *workspace = next(&input), *skip[SKIP_MOST + 1];
	struct sandbox_place places[1 + 2 * SWEEP_MOST];
	struct buf told = BUF_INIT((size_t)64 * 1024);
	struct sweep s = { .n = 0 };
	struct error e = ERROR_INIT;
	int dir = here(&e), rc = dir < 0 ? -1 : 0;

	read_skipped(&input, skip);
	while (!rc && input.p < input.end) {
		const char *parent = next(&input);
		sweep_find(&s, workspace, parent, next(&input));
	}
	places[0] = (struct sandbox_place){ dir, REACH_WRITE };
	add_places(places + 1, &s);
	if (!rc)
		rc = confine(places, 1 + 2 * s.n, &e);
	if (!rc)
		sweep_do(&s, dir, skip, &told);
	if (!rc && io_write_all(1, buf_str(&told), told.len))
		rc = error_sys(&e, "cannot tell what is left");
	sweep_release(&s);
	buf_release(&told);
	shut(dir);
	return call_end(rc, &e, result_fd);
}

/* ---- "copy": where to ---- */

int call_copy(const char *in, size_t in_len, int result_fd)
{
	struct error e = ERROR_INIT;
	struct stat st;
	int from = here(&e), to = from < 0 ? -1 : open_dir(in, &e), rc = -1;

	(void)in_len;
	if (to >= 0 && (fstat(from, &st) || fchmod(to, (st.st_mode & 0777) | 0700)))
		error_sys(&e, "cannot copy the workspace");
	else if (to >= 0 && !CONFINE(&e, { from, REACH_READ }, { to, REACH_WRITE }))
		rc = workspace_copy(from, to, &e);
	shut(from);
	shut(to);
	return call_end(rc, &e, result_fd);
}

/* ---- "save": the file, the scan before, the scan after; "patch": the directory as it was, and the same ---- */

struct writing {
	struct scan before, after;
	struct out_file o;
	int dir, was; /* -1: no patch is written */
};

static int begin_writing(struct writing *w, struct input *in, bool patch, struct error *e)
{
	const char *was = patch ? next(in) : NULL, *path = next(in);

	w->dir = here(e);
	if (w->dir < 0 || (patch && (w->was = open_dir(was, e)) < 0) || (!patch && load_libarchive(e)))
		return -1;
	if (next_scan(in, &w->before, e) || next_scan(in, &w->after, e) || out_file_find(&w->o, path, e) ||
	    out_file_open(&w->o, e))
		return -1;
	return CONFINE(e, { w->dir, REACH_READ }, { w->was, REACH_READ }, { w->o.dir, REACH_NAMES });
}

static int write_changes(const char *in, size_t in_len, bool patch, int result_fd)
{
	struct writing w = { .before = SCAN_INIT, .after = SCAN_INIT, .o = OUT_FILE_INIT, .dir = -1, .was = -1 };
	struct input input = { in, in + in_len };
	struct error e = ERROR_INIT;
	size_t left_out = 0;
	char text[32];
	int rc = begin_writing(&w, &input, patch, &e);

	if (!rc && patch)
		rc = workspace_patch(w.was, w.dir, &w.before, &w.after, w.o.fd, &left_out, &e);
	else if (!rc)
		rc = workspace_save(w.dir, &w.before, &w.after, w.o.fd, &e);
	rc = out_file_close(&w.o, rc, &e);
	snprintf(text, sizeof text, "%zu", left_out);
	if (!rc && io_write_all(1, text, strlen(text)))
		rc = error_sys(&e, "cannot tell what was left out");
	shut(w.dir);
	shut(w.was);
	scan_release(&w.before);
	scan_release(&w.after);
	return call_end(rc, &e, result_fd);
}

int call_save(const char *in, size_t in_len, int result_fd)
{
	return write_changes(in, in_len, false, result_fd);
}

int call_patch(const char *in, size_t in_len, int result_fd)
{
	return write_changes(in, in_len, true, result_fd);
}

/* ---- "restore": the archive ---- */

int call_restore(const char *in, size_t in_len, int result_fd)
{
	struct error e = ERROR_INIT;
	int dir = here(&e), fd = dir < 0 ? -1 : open(in, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK), rc = -1;

	(void)in_len;
	if (dir >= 0 && fd < 0)
		error_sys(&e, "cannot read '%s'", in);
	else if (dir >= 0 && !load_libarchive(&e) && !CONFINE(&e, { dir, REACH_WRITE }))
		rc = workspace_restore(dir, fd, &e);
	shut(fd);
	shut(dir);
	return call_end(rc, &e, result_fd);
}

/* ---- "commit": the original, the scan before, the scan after ---- */

int call_commit(const char *in, size_t in_len, int result_fd)
{
	struct input input = { in, in + in_len };
	struct scan before = SCAN_INIT, after = SCAN_INIT;
	struct error e = ERROR_INIT;
	int dir = here(&e), to = dir < 0 ? -1 : open_real_dir(next(&input), &e), rc = -1;

	if (to >= 0 && !next_scan(&input, &before, &e) && !next_scan(&input, &after, &e) &&
	    !CONFINE(&e, { dir, REACH_READ }, { to, REACH_WRITE }))
		rc = workspace_commit(to, dir, &before, &after, &e);
	shut(dir);
	shut(to);
	scan_release(&before);
	scan_release(&after);
	return call_end(rc, &e, result_fd);
}
