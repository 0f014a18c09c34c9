#include "record/run_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/digest.h"
#include "base/io.h"
#include "base/log.h"
#include "base/tree.h"
#include "record/private.h"
#include "record/run_place.h"

/* Files that may still grow: calls run side by side, so only the newest can. Older ones are measured once. */
#define GROWING_MAX 64
#define NAME_LEN    100

struct file {
	char *path; /* owned; its name is what comes behind the directory and a slash */
};

struct run_dir {
	struct run_place place;
	int64_t max_bytes;
	bool resumes, left_alone;
	char record[DIGEST_HEX + 1]; /* what stands for its path, "" = there is none */
	bool tried;
	struct error why;        /* why there is none, once tried */
	char *tmp;               /* the tools' TMPDIR, owned, or NULL */
	char *above, *above_tmp; /* where they were made, owned, once run_dir_needs was asked */
	struct file *files;
	size_t nfiles, cap;
	size_t settled; /* files[0..settled) are measured: settled_bytes */
	int64_t settled_bytes;
};

struct run_dir *run_dir_open(const struct run_dir_config *cfg, struct error *e)
{
	struct run_dir *d = calloc(1, sizeof *d);

	if (!d) {
		error_nomem(e);
		return NULL;
	}
	d->max_bytes = cfg->max_bytes;
	d->resumes = cfg->resumes;
	if (cfg->record)
		digest_of(cfg->record, strlen(cfg->record), d->record);
	d->left_alone = cfg->left_alone;
	if (run_place_init(&d->place, cfg, e) == 0)
		return d;
	run_dir_free(d, true);
	return NULL;
}

void run_dir_prepare(struct run_dir *d)
{
	if (d->tried)
		return;
	d->tried = true;
	if (run_place_make(&d->place, &d->why) == 0 && !d->place.explicit_dir)
		d->place.made |= d->left_alone;
}

int run_dir_needs(struct run_dir *d, const char *write[3], const char *parents[3])
{
	size_t nwrite = 0, nparents = 0;

	if (d->place.path) {
		write[nwrite++] = d->place.path;
		size_t n = d->place.above;
		if (d->place.path[n] == '\0') /* one that was left is removed from the directory that it lies in */
			n = (size_t)(strrchr(d->place.path, '/') - d->place.path);
		if (!d->above && !(d->above = strndup(d->place.path, n ? n : 1)))
			return -1;
		if (d->place.made)
			parents[nparents++] = d->above;
	}
	if (d->tmp) {
		write[nwrite++] = d->tmp;
		if (!d->above_tmp && !(d->above_tmp = strndup(d->tmp, (size_t)(strrchr(d->tmp, '/') - d->tmp + 1))))
			return -1;
		parents[nparents++] = d->above_tmp;
	}
	write[nwrite] = parents[nparents] = NULL;
	return 0;
}

const char *run_dir_path(struct run_dir *d, struct error *e)
{
	run_dir_prepare(d);
	run_place_tell(&d->place);
	if (!d->place.path && e)
		*e = d->why;
	return d->place.path;
}

const char *run_dir_made(const struct run_dir *d)
{
	return d->place.path;
}

static const char *file_name(const struct run_dir *d, const struct file *f)
{
	return f->path + strlen(d->place.path) + 1;
}

static int64_t file_size(const struct run_dir *d, const struct file *f)
{
	struct stat st;

	return fstatat(d->place.fd, file_name(d, f), &st, AT_SYMLINK_NOFOLLOW) == 0 ? (int64_t)st.st_size : 0;
}

static int64_t used_bytes(struct run_dir *d)
{
	while (d->nfiles - d->settled > GROWING_MAX)
		d->settled_bytes += file_size(d, &d->files[d->settled++]);
	int64_t sum = d->settled_bytes;
	for (size_t i = d->settled; i < d->nfiles; i++)
		sum += file_size(d, &d->files[i]);
	return sum;
}

int64_t run_dir_left(struct run_dir *d)
{
	if (d->max_bytes <= 0)
		return INT64_MAX;
	int64_t left = d->max_bytes - used_bytes(d);
	return left > 0 ? left : 0;
}

static int check_room(struct run_dir *d, int64_t more, struct error *e)
{
	int64_t left = run_dir_left(d);

	if (left > 0 && more <= left)
		return 0;
	return error_set(e, ERR_LIMIT, "run directory '%s' is full (limits.run_dir_bytes is %lld)", d->place.path,
	                 (long long)d->max_bytes);
}

/* The given name as a plain file name: it may hold an id that a server made up. */
static void clean_name(char out[NAME_LEN + 1], const char *name)
{
	static const char fine[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-";
	size_t n = 0;

	for (; name[n] && n < NAME_LEN; n++)
		out[n] = strchr(fine, name[n]) || (name[n] == '.' && n > 0) ? name[n] : '_';
	if (n == 0)
		out[n++] = '_';
	out[n] = '\0';
}

/* Creates a file of that name, or with a number before its suffix. The fd, and its name in out. */
static int create_unique(struct run_dir *d, const char *clean, char out[NAME_LEN + 32])
{
	const char *dot = strrchr(clean, '.');
	size_t stem = dot ? (size_t)(dot - clean) : strlen(clean);

	snprintf(out, NAME_LEN + 32, "%s", clean);
	int fd = private_file(d->place.fd, out);
	/* The count of files only grows, so for us the first number fits; others may use the directory too. */
	for (size_t i = d->nfiles + 1; fd < 0 && errno == EEXIST && i < SIZE_MAX; i++) {
		snprintf(out, NAME_LEN + 32, "%.*s-%zu%s", (int)stem, clean, i, dot ? dot : "");
		fd = private_file(d->place.fd, out);
	}
	return fd;
}

static int remember(struct run_dir *d, const char *name)
{
	if (ARRAY_GROW(d->files, d->nfiles, d->cap))
		return -1;
	char *path = private_path(d->place.path, name);
	if (!path)
		return -1;
	d->files[d->nfiles++] = (struct file){ path };
	return 0;
}

static int new_file(struct run_dir *d, const char *name, int64_t bytes, const char **path, struct error *e)
{
	char clean[NAME_LEN + 1], unique[NAME_LEN + 32];

	if (!run_dir_path(d, e) || check_room(d, bytes, e))
		return -1;
	clean_name(clean, name);
	int fd = create_unique(d, clean, unique);
	if (fd < 0)
		return error_sys(e, "cannot create '%s/%s'", d->place.path, unique);
	if (remember(d, unique)) {
		close(fd);
		unlinkat(d->place.fd, unique, 0);
		return error_nomem(e);
	}
	*path = d->files[d->nfiles - 1].path;
	return fd;
}

int run_dir_file(struct run_dir *d, const char *name, const char **path, struct error *e)
{
	return new_file(d, name, 0, path, e);
}

const char *run_dir_store(struct run_dir *d, const char *name, const void *p, size_t n, struct error *e)
{
	const char *path = NULL;
	int fd = new_file(d, name, n > INT64_MAX ? INT64_MAX : (int64_t)n, &path, e);

	if (fd < 0)
		return NULL;
	int rc = io_write_all(fd, p, n);
	if (rc)
		error_sys(e, "cannot write '%s'", path);
	if (close(fd) && rc == 0)
		rc = error_sys(e, "cannot write '%s'", path);
	if (rc == 0)
		return path;
	unlinkat(d->place.fd, file_name(d, &d->files[d->nfiles - 1]), 0);
	free(d->files[--d->nfiles].path);
	return NULL;
}

static char *tmp_path(const char *base, const char *of, bool remove)
{
	char name[NAME_LEN + 32];
	struct stat st;

	snprintf(name, sizeof name, "quern-tmp-%.*s", NAME_LEN, of);
	char *path = private_path(base, name);
	if (path && remove && lstat(path, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid())
		tree_remove(path);
	return path;
}

/* Named so that a run that goes on finds what one that was killed has left: after the record, if it is known where that
 * will be, since one that was killed at its start has told nobody the name of its session. NULL: errno says why. */
static char *tmp_of_session(const struct run_dir *d, const char *base)
{
	char *path = tmp_path(base, d->place.session_id, d->resumes);

	if (d->record[0]) {
		free(path);
		path = tmp_path(base, d->record, true);
	}
	if (path && private_dir(path) == 0)
		return path;
	free(path);
	return NULL;
}

static char *tmp_of_any_name(const char *base)
{
	char *path = private_path(base, "quern-tmp-XXXXXX");

	if (path && private_temp_dir(path))
		return path;
	free(path);
	return NULL;
}

void run_dir_remove_tmp(const char *session_id, const char *record)
{
	const char *const bases[] = { io_tmpdir(), "/tmp" };
	char of_record[DIGEST_HEX + 1];

	digest_of(record, strlen(record), of_record);
	for (size_t i = 0; i < sizeof bases / sizeof bases[0]; i++) {
		free(tmp_path(bases[i], session_id, true));
		free(tmp_path(bases[i], of_record, true));
	}
}

const char *run_dir_tmp(struct run_dir *d, struct error *e)
{
	const char *const bases[] = { io_tmpdir(), "/tmp" };

	for (size_t i = 0; !d->tmp && i < sizeof bases / sizeof bases[0]; i++) {
		d->tmp = tmp_of_session(d, bases[i]);
		if (!d->tmp)
			d->tmp = tmp_of_any_name(bases[i]);
		if (!d->tmp)
			error_sys(e, "cannot make a directory for temporary files in '%s'", bases[i]);
	}
	return d->tmp;
}

static void remove_run_dir(struct run_dir *d)
{
	if (!d->place.path)
		return;
	if (d->place.made) {
		if (tree_remove(d->place.path))
			log_warn("cannot remove run directory '%s': %s", d->place.path, strerror(errno));
		run_place_remove_above(&d->place);
		return;
	}
	/* It was there before: only what we put into it goes. */
	for (size_t i = 0; i < d->nfiles; i++)
		unlinkat(d->place.fd, file_name(d, &d->files[i]), 0);
}

void run_dir_free(struct run_dir *d, bool keep)
{
	if (!d)
		return;
	if (!keep)
		remove_run_dir(d);
	if (d->tmp && tree_remove(d->tmp))
		log_warn("cannot remove temporary directory '%s': %s", d->tmp, strerror(errno));
	for (size_t i = 0; i < d->nfiles; i++)
		free(d->files[i].path);
	free(d->files);
	free(d->tmp);
	free(d->above);
	free(d->above_tmp);
	run_place_release(&d->place);
	free(d);
}
