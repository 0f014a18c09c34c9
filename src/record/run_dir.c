#include "record/run_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/io.h"
#include "base/log.h"
#include "record/tree.h"

/* Files that may still grow: calls run side by side, so only the newest can. Older ones are measured once. */
#define GROWING_MAX 64
#define NAME_LEN    100

struct file {
	char *path; /* owned; its name is what comes behind the directory and a slash */
};

struct run_dir {
	char *explicit_dir; /* absolute, owned, or NULL */
	char *session_id;
	char **roots; /* owned copies, NULL terminated */
	int64_t max_bytes;
	char *path; /* owned; NULL until made */
	int fd;     /* of path, -1 until made */
	bool made;  /* we created the directory, so all in it is ours */
	bool tried;
	struct error why; /* why there is none, once tried */
	char *tmp;        /* the tools' TMPDIR, owned, or NULL */
	struct file *files;
	size_t nfiles, cap;
	size_t settled; /* files[0..settled) are measured: settled_bytes */
	int64_t settled_bytes;
};

static char *join(const char *a, const char *b)
{
	size_t n = strlen(a);
	size_t size = n + strlen(b) + 2;
	char *p = malloc(size);

	if (p)
		snprintf(p, size, "%s%s%s", a, n > 0 && a[n - 1] == '/' ? "" : "/", b);
	return p;
}

static bool beneath(const char *path, const char *root)
{
	size_t n = strlen(root);

	while (n > 1 && root[n - 1] == '/')
		n--;
	return strncmp(path, root, n) == 0 && (path[n] == '/' || path[n] == '\0' || n == 1);
}

/* The root that holds path, or NULL. */
static const char *holding_root(const struct run_dir *d, const char *path)
{
	for (char **root = d->roots; *root; root++) {
		if (beneath(path, *root))
			return *root;
	}
	return NULL;
}

/*
 * Where an absolute path that need not exist leads: the real path of its longest existing part and the rest as
 * it stands. NULL if the rest climbs ("..") or memory is out.
 */
static char *resolve(const char *path)
{
	char *head = strdup(path);

	while (head) {
		char *real = realpath(head, NULL);
		if (real) {
			const char *rest = path + strlen(head);
			while (*rest == '/')
				rest++;
			char *whole = *rest ? join(real, rest) : strdup(real);
			for (size_t n = whole ? strlen(whole) : 0; n > 1 && whole[n - 1] == '/'; n--)
				whole[n - 1] = '\0';
			free(real);
			free(head);
			return whole;
		}
		char *slash = strrchr(head, '/');
		if (!slash || errno != ENOENT || strcmp(slash, "/..") == 0 || strcmp(slash, "/.") == 0)
			break;
		slash[slash == head ? 1 : 0] = '\0';
	}
	free(head);
	return NULL;
}

static char **copy_list(const char *const *list)
{
	size_t n = 0;

	while (list && list[n])
		n++;
	char **copy = calloc(n + 1, sizeof *copy);
	for (size_t i = 0; copy && i < n; i++) {
		copy[i] = strdup(list[i]);
		if (!copy[i]) {
			while (i > 0)
				free(copy[--i]);
			free(copy);
			return NULL;
		}
	}
	return copy;
}

/* An explicit directory must be outside the writable roots, and a directory we can write to or can make. */
static int check_explicit(struct run_dir *d, const char *given, struct error *e)
{
	struct stat st;
	char cwd[PATH_MAX];
	char *absolute = NULL, *real = NULL;
	int rc = 0;

	if (!given[0])
		return error_set(e, ERR_INPUT, "run directory '' is empty: give a directory or leave it out");
	if (given[0] == '/')
		absolute = strdup(given);
	else if (getcwd(cwd, sizeof cwd))
		absolute = join(cwd, given);
	if (absolute)
		real = resolve(absolute);
	free(absolute);
	if (!real)
		return error_set(e, ERR_INPUT, "cannot use run directory '%s': %s", given, strerror(errno));
	const char *root = holding_root(d, real);
	if (root)
		rc = error_set(e, ERR_INPUT,
		               "run directory '%s' lies in '%s', where tools can write: choose one outside of it",
		               given, root);
	else if (stat(real, &st) == 0 && !S_ISDIR(st.st_mode))
		rc = error_set(e, ERR_INPUT, "run directory '%s' is not a directory", given);
	else if (access(real, F_OK) == 0 && access(real, W_OK | X_OK))
		rc = error_set(e, ERR_INPUT, "run directory '%s' cannot be written to: %s", given, strerror(errno));
	d->explicit_dir = real;
	return rc;
}

struct run_dir *run_dir_open(const struct run_dir_config *cfg, struct error *e)
{
	struct run_dir *d = calloc(1, sizeof *d);

	if (!d) {
		error_nomem(e);
		return NULL;
	}
	d->fd = -1;
	d->max_bytes = cfg->max_bytes;
	d->session_id = strdup(cfg->session_id ? cfg->session_id : "run");
	d->roots = copy_list(cfg->writable_roots);
	if (!d->session_id || !d->roots) {
		error_nomem(e);
	} else if (!cfg->explicit_dir || check_explicit(d, cfg->explicit_dir, e) == 0) {
		return d;
	}
	run_dir_free(d, true);
	return NULL;
}

/* What we make is the user's alone and usable, whatever the umask: it is put aside while we do. */
static int private_dir(const char *path)
{
	mode_t old = umask(0);
	int rc = mkdir(path, 0700), saved = errno;

	umask(old);
	errno = saved;
	return rc;
}

static bool private_temp_dir(char *pattern)
{
	mode_t old = umask(0);
	bool made = mkdtemp(pattern) != NULL;
	int saved = errno;

	umask(old);
	errno = saved;
	return made;
}

static int private_file(int at, const char *name)
{
	mode_t old = umask(0);
	int fd = openat(at, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	int saved = errno;

	umask(old);
	errno = saved;
	return fd;
}

/* Creates the missing directories of an absolute path, each 0700. *made tells whether the last one is new. */
static int make_path(const char *path, bool *made)
{
	char *p = strdup(path);
	int rc = p ? 0 : -1;

	*made = false;
	for (char *at = p; rc == 0 && at;) {
		at = strchr(at + 1, '/');
		if (at)
			*at = '\0';
		*made = private_dir(p) == 0;
		if (!*made && errno != EEXIST && errno != EROFS && errno != EACCES)
			rc = -1;
		if (at)
			*at = '/';
	}
	free(p);
	return rc;
}

/* Opens (making it first) the directory; refuses one that turns out to lie in a writable root, and one that we
 * chose ourselves and that is not ours alone. */
static int take_dir(struct run_dir *d, const char *path, struct error *e)
{
	bool made = false;
	struct stat st;
	char *real = resolve(path);

	if (!real)
		return error_sys(e, "'%s'", path);
	const char *root = holding_root(d, real);
	if (root) {
		error_set(e, ERR_INPUT, "'%s' lies in '%s', where tools can write", path, root);
		free(real);
		return -1;
	}
	int fd = -1;
	if (make_path(real, &made) == 0)
		fd = open(real, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd >= 0 && !d->explicit_dir && (fstat(fd, &st) || st.st_uid != geteuid() || (st.st_mode & 0022))) {
		close(fd);
		free(real);
		return error_set(e, ERR_INPUT, "'%s' is another user's or can be written to by others", path);
	}
	if (fd < 0 || faccessat(fd, ".", W_OK | X_OK, AT_EACCESS)) {
		error_sys(e, "'%s'", path);
		if (fd >= 0)
			close(fd);
		free(real);
		return -1;
	}
	d->fd = fd;
	d->made = made;
	d->path = real;
	return 0;
}

/* The places to try, best first: below $variable, in `below`, a directory for the session. */
static const struct place {
	const char *variable;
	const char *below;
	bool ours;       /* the user named it for us: say when it cannot be used */
	bool must_exist; /* a missing home is not made: it is a container's way to say that there is none */
	bool temporary;
} places[] = {
	{ "QUERN_STATE_DIR", "", true, false, false },
	{ "XDG_STATE_HOME", "quern/", false, false, false },
	{ "HOME", ".local/state/quern/", false, true, false },
	{ "TMPDIR", "quern-", false, true, true },
	{ NULL, "quern-", false, true, true }, /* /tmp */
};

static char *place_path(const struct run_dir *d, const struct place *place, const char *base)
{
	size_t size = strlen(place->below) + strlen(d->session_id) + 1;
	char *name = malloc(size);

	if (!name)
		return NULL;
	snprintf(name, size, "%s%s", place->below, d->session_id);
	char *path = join(base, name);
	free(name);
	return path;
}

static int try_place(struct run_dir *d, const struct place *place, struct error *e)
{
	const char *value = place->variable ? getenv(place->variable) : "/tmp";
	struct stat st;
	int rc = -1;

	if (!value || !value[0])
		return -1;
	if (value[0] != '/') {
		error_set(e, ERR_INPUT, "'%s' is not an absolute path", value);
	} else if (place->must_exist && stat(value, &st)) {
		error_sys(e, "'%s'", value);
	} else {
		char *path = place_path(d, place, value);
		rc = path ? take_dir(d, path, e) : error_nomem(e);
		free(path);
	}
	if (rc && place->ours)
		log_warn("%s is passed over: %s", place->variable, e->msg);
	if (rc == 0 && place->temporary)
		log_warn("run directory is '%s': no state directory can be used (set QUERN_STATE_DIR or --run-dir)",
		         d->path);
	return rc;
}

static int make(struct run_dir *d, struct error *e)
{
	struct error last = ERROR_INIT;

	if (d->explicit_dir) {
		if (take_dir(d, d->explicit_dir, e))
			return error_prefix(e, "cannot use run directory");
		return 0;
	}
	for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
		if (try_place(d, &places[i], &last) == 0)
			return 0;
	}
	return error_set(e, ERR_SYS, "no place for a run directory (give --run-dir): %s", last.msg);
}

const char *run_dir_path(struct run_dir *d, struct error *e)
{
	if (!d->tried) {
		d->tried = true;
		make(d, &d->why);
	}
	if (!d->path && e)
		*e = d->why;
	return d->path;
}

const char *run_dir_made(const struct run_dir *d)
{
	return d->path;
}

static const char *file_name(const struct run_dir *d, const struct file *f)
{
	return f->path + strlen(d->path) + 1;
}

static int64_t file_size(const struct run_dir *d, const struct file *f)
{
	struct stat st;

	return fstatat(d->fd, file_name(d, f), &st, AT_SYMLINK_NOFOLLOW) == 0 ? (int64_t)st.st_size : 0;
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
	return error_set(e, ERR_LIMIT, "run directory '%s' is full (limits.run_dir_bytes is %lld)", d->path,
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
	int fd = private_file(d->fd, out);
	/* The count of files only grows, so for us the first number fits; others may use the directory too. */
	for (size_t i = d->nfiles + 1; fd < 0 && errno == EEXIST && i < SIZE_MAX; i++) {
		snprintf(out, NAME_LEN + 32, "%.*s-%zu%s", (int)stem, clean, i, dot ? dot : "");
		fd = private_file(d->fd, out);
	}
	return fd;
}

static int remember(struct run_dir *d, const char *name)
{
	if (d->nfiles == d->cap) {
		size_t cap = d->cap ? d->cap * 2 : 16;
		struct file *v = realloc(d->files, cap * sizeof *v);
		if (!v)
			return -1;
		d->files = v;
		d->cap = cap;
	}
	char *path = join(d->path, name);
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
		return error_sys(e, "cannot create '%s/%s'", d->path, unique);
	if (remember(d, unique)) {
		close(fd);
		unlinkat(d->fd, unique, 0);
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
	unlinkat(d->fd, file_name(d, &d->files[d->nfiles - 1]), 0);
	free(d->files[--d->nfiles].path);
	return NULL;
}

const char *run_dir_tmp(struct run_dir *d, struct error *e)
{
	const char *given = getenv("TMPDIR");
	const char *const bases[] = { given && given[0] == '/' ? given : NULL, "/tmp" };

	for (size_t i = 0; !d->tmp && i < sizeof bases / sizeof bases[0]; i++) {
		char *path = bases[i] ? join(bases[i], "quern-tmp-XXXXXX") : NULL;
		if (path && private_temp_dir(path)) {
			d->tmp = path;
			break;
		}
		if (path)
			error_sys(e, "cannot make a directory for temporary files in '%s'", bases[i]);
		free(path);
	}
	return d->tmp;
}

static void remove_run_dir(struct run_dir *d)
{
	if (!d->path)
		return;
	if (d->made) {
		if (tree_remove(d->path))
			log_warn("cannot remove run directory '%s': %s", d->path, strerror(errno));
		return;
	}
	/* It was there before: only what we put into it goes. */
	for (size_t i = 0; i < d->nfiles; i++)
		unlinkat(d->fd, file_name(d, &d->files[i]), 0);
}

void run_dir_free(struct run_dir *d, bool keep)
{
	if (!d)
		return;
	if (!keep)
		remove_run_dir(d);
	if (d->tmp && tree_remove(d->tmp))
		log_warn("cannot remove temporary directory '%s': %s", d->tmp, strerror(errno));
	if (d->fd >= 0)
		close(d->fd);
	for (size_t i = 0; i < d->nfiles; i++)
		free(d->files[i].path);
	free(d->files);
	for (char **root = d->roots; root && *root; root++)
		free(*root);
	free(d->roots);
	free(d->tmp);
	free(d->path);
	free(d->session_id);
	free(d->explicit_dir);
	free(d);
}
