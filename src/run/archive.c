/* workspace.archive: the workspace is made from it. */
#include "run/world.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/log.h"
#include "prompt/archive.h"
#include "run/changing.h"
#include "workspace/workspace.h"

#define RATIO_MOST  1000  /* deflate makes 1032 of one at most, and that of nothing but zeros */
#define REMOVE_MS   60000 /* a run that failed does not wait longer until what it unpacked is gone */
#define ENDED_MS    3000  /* nor one that is to end */
#define HEAD_BYTES  512
#define FRESH       "quern-workspace-XXXXXX"
#define BESIDE_MOST 200 /* bytes of a name that the one beside it begins with */

static int archive_error(const struct world *w, struct error *e)
{
	return error_prefix(e, "workspace.archive '%s'", w->job->archive);
}

/* ---- where ---- */

/* An absolute path of `before` and a name that ends in XXXXXX: made, 0700. NULL with *e. */
static const char *make_temporary(struct world *w, const char *before, const char *name, struct error *e)
{
	struct buf b = BUF_INIT(8192);
	char *path = NULL;

	if (!buf_addf(&b, "%s/%s", before, name))
		path = arena_strdup(&w->arena, buf_str(&b));
	buf_release(&b);
	if (!path)
		error_nomem(e);
	else if (mkdtemp(path))
		return path;
	else
		error_sys(e, "cannot make a directory in '%s'", before);
	return NULL;
}

static const char *fresh_dir(struct world *w, struct error *e)
{
	return make_temporary(w, io_tmpdir(), FRESH, e);
}

/* Beside the directory that is to be made, so that it comes into being whole. */
static const char *dir_beside(struct world *w, const char *dir, struct error *e)
{
	const char *slash = strrchr(dir, '/');
	struct buf b = BUF_INIT(8192);
	const char *made = NULL;

	if (buf_addf(&b, ".%.*s.quern-XXXXXX", BESIDE_MOST, slash + 1)) {
		error_nomem(e);
	} else {
		const char *parent = slash == dir ? "/" : arena_strndup(&w->arena, dir, (size_t)(slash - dir));
		made = parent ? make_temporary(w, parent, buf_str(&b), e) : NULL;
	}
	buf_release(&b);
	return made;
}

/* The directory that the job names, with an absolute path. *there: it is, and *empty. NULL with *e. */
static const char *named_dir(struct world *w, bool *there, bool *empty, struct error *e)
{
	const char *name = w->job->workspace;
	const struct dirent *entry = NULL;
	struct buf b = BUF_INIT(8192);
	const char *path = NULL;

	buf_adds(&b, name);
	while (b.len > 1 && b.data[b.len - 1] == '/')
		buf_cut(&b, b.len - 1);
	DIR *d = opendir(name);
	*there = d != NULL;
	while (d && (entry = readdir(d)) && (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..")))
		;
	*empty = !entry;
	if (!d && errno != ENOENT)
		error_sys(e, "workspace.dir '%s'", name);
	else if (!(path = world_absolute(w, buf_str(&b))))
		error_set(e, ERR_INPUT, "workspace.dir '%s': the directory that it is to be in is not there", name);
	if (d)
		closedir(d);
	buf_release(&b);
	return path;
}

/* ---- the work ---- */

/* What was unpacked goes, and the directory if we have made it. */
void world_drop_unpacked(struct world *w)
{
	const char *dir = w->unpacked;
	struct keep call = { .call = "remove",
		             .cwd_fd = -1,
		             .deadline = clock_mono_ms() + (w->signals ? ENDED_MS : REMOVE_MS),
		             .signals = w->signals + 1 };
	struct error e = ERROR_INIT;

	w->unpacked = NULL;
	if (w->unpacked_ours) {
		call.input = dir;
		call.input_len = strlen(dir);
	} else {
		call.cwd_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	}
	if ((!w->unpacked_ours && call.cwd_fd < 0) || world_keep(w, &call, NULL, &e))
		log_warn("what was unpacked into '%s' could not be removed", dir);
	if (call.cwd_fd >= 0)
		close(call.cwd_fd);
}

static int unpack_into(struct world *w, const char *archive, const char *dir, struct error *e)
{
	const struct unpack_call head = {
		{ .entries = w->job->archive_entries, .bytes = w->job->archive_bytes, .ratio = RATIO_MOST }
	};
	struct buf in = BUF_INIT(16384);
	struct keep call = { .call = "unpack", .deadline = w->deadline, .signals = 1 };

	call.cwd_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (call.cwd_fd < 0)
		return error_sys(e, "cannot open '%s'", dir);
	buf_add(&in, &head, sizeof head);
	buf_adds(&in, archive);
	call.input = in.data;
	call.input_len = in.len;
	int rc = in.failed ? error_nomem(e) : world_keep(w, &call, NULL, e);
	buf_release(&in);
	close(call.cwd_fd);
	return rc;
}

/* From the name beside it to its own: it did not exist before, and as a whole it does now. */
static int move_to(struct world *w, const char *dir, struct error *e)
{
	const mode_t mask = umask(0);

	umask(mask);
	if (chmod(w->unpacked, 0777 & ~mask) || renameat2(AT_FDCWD, w->unpacked, AT_FDCWD, dir, RENAME_NOREPLACE))
		return error_sys(e, "cannot make '%s'", dir);
	w->unpacked = dir;
	return 0;
}

static int refuse_full(const struct world *w, struct error *e)
{
	return error_set(e, ERR_INPUT,
	                 "workspace.dir '%s' is not empty: an archive is unpacked into a new or an empty directory",
	                 w->job->workspace);
}

/* Where the run that is gone on with has worked, in a directory that was new. NULL: it is not there any more. */
static const char *recorded_dir(const struct world *w)
{
	const char *dir = w->resumes ? w->record.cwd : NULL, *slash = dir ? strrchr(dir, '/') : NULL;
	struct stat st;

	if (!slash || strncmp(slash + 1, FRESH, sizeof FRESH - sizeof "XXXXXX") != 0 || lstat(dir, &st) ||
	    !S_ISDIR(st.st_mode) || st.st_uid != geteuid() || (st.st_mode & 077))
		return NULL;
	return dir;
}

/* For a run that goes on the archive was unpacked when it began: w->unpacked is where. -1 with *e. */
static int choose_dir(struct world *w, const char **dir, bool *there, struct error *e)
{
	bool empty = true;

	if (w->job->workspace_given && !(*dir = named_dir(w, there, &empty, e)))
		return -1;
	if (!empty && !w->resumes)
		return refuse_full(w, e);
	w->unpacked = *dir ? (empty ? NULL : *dir) : recorded_dir(w);
	if (w->resumes && !w->unpacked)
		log_warn("the workspace of the record is gone: '%s' is unpacked again", w->job->archive);
	return 0;
}

int world_unpack(struct world *w, struct error *e)
{
	const char *archive = world_absolute(w, w->job->archive), *dir = NULL;
	bool there = false;

	if (choose_dir(w, &dir, &there, e) || w->unpacked)
		return w->unpacked ? 0 : -1;
	if (!archive)
		return error_set(e, ERR_SYS, "workspace.archive '%s': %s", w->job->archive, strerror(ENOENT));
	w->unpacked_ours = !there;
	w->unpacked = !dir ? fresh_dir(w, e) : there ? dir : dir_beside(w, dir, e);
	if (!w->unpacked)
		return -1;
	w->unpacked_now = true;
	int rc = unpack_into(w, archive, w->unpacked, e) ? archive_error(w, e) : 0;
	if (rc == 0 && dir && !there)
		rc = move_to(w, dir, e);
	if (rc)
		world_drop_unpacked(w);
	else if (!dir && w->job->output_format && strcmp(w->job->output_format, "stream-json") != 0)
		log_warn("the workspace is '%s'", w->unpacked); /* elsewhere the init event tells */
	return rc;
}

void world_end_unpacked(struct world *w)
{
	if (!w->unpacked || w->job->workspace_given || !w->job->workspace_save || w->changing->anew)
		return;
	w->unpacked_ours = true;
	world_drop_unpacked(w);
}

/* ---- --check ---- */

static int check_head(const struct world *w, struct error *e)
{
	char head[HEAD_BYTES];
	struct stat st;
	int fd = open(w->job->archive, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	ssize_t n = fd < 0 || fstat(fd, &st) ? -1 : S_ISREG(st.st_mode) ? read(fd, head, sizeof head) : 0;

	if (n < 0)
		error_sys(e, "cannot open it");
	else if (!S_ISREG(st.st_mode))
		error_set(e, ERR_INPUT, "it is no regular file");
	else if (n == 0)
		error_set(e, ERR_INPUT, "it is empty");
	else if (!archive_is(head, (size_t)n))
		log_warn("workspace.archive '%s' does not begin as archives do", w->job->archive);
	if (fd >= 0)
		close(fd);
	return n > 0 ? 0 : archive_error(w, e);
}

/* An empty directory stands for the one that would be filled. */
int world_check_archive(struct world *w, struct error *e)
{
	bool there, empty = true;

	if (check_head(w, e) || (w->job->workspace_given && !named_dir(w, &there, &empty, e)))
		return -1;
	if (!empty && !w->job->resume_path)
		return refuse_full(w, e);
	w->unpacked = fresh_dir(w, e);
	return w->unpacked ? 0 : -1;
}
