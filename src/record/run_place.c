#include "record/run_place.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/log.h"
#include "record/private.h"

#define MAKE_TRIES 100

static bool beneath(const char *path, const char *root)
{
	size_t n = strlen(root);

	while (n > 1 && root[n - 1] == '/')
		n--;
	return strncmp(path, root, n) == 0 && (path[n] == '/' || path[n] == '\0' || n == 1);
}

/* The root that holds path, or NULL. */
static const char *holding_root(const struct run_place *p, const char *path)
{
	for (char **root = p->roots; *root; root++) {
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
			char *whole = *rest ? private_path(real, rest) : strdup(real);
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
	size_t n = array_count(list);
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
static int check_explicit(struct run_place *p, const char *given, struct error *e)
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
		absolute = private_path(cwd, given);
	if (absolute)
		real = resolve(absolute);
	free(absolute);
	if (!real)
		return error_set(e, ERR_INPUT, "cannot use run directory '%s': %s", given, strerror(errno));
	const char *root = holding_root(p, real);
	if (root)
		rc = error_set(e, ERR_INPUT,
		               "run directory '%s' lies in '%s', where tools can write: choose one outside of it",
		               given, root);
	else if (stat(real, &st) == 0 && !S_ISDIR(st.st_mode))
		rc = error_set(e, ERR_INPUT, "run directory '%s' is not a directory", given);
	else if (access(real, F_OK) == 0 && access(real, W_OK | X_OK))
		rc = error_set(e, ERR_INPUT, "run directory '%s' cannot be written to: %s", given, strerror(errno));
	p->explicit_dir = real;
	return rc;
}

int run_place_init(struct run_place *p, const struct run_dir_config *cfg, struct error *e)
{
	*p = (struct run_place){ .fd = -1, .notes = BUF_INIT(4096) };
	p->session_id = strdup(cfg->session_id ? cfg->session_id : "run");
	p->roots = copy_list(cfg->writable_roots);
	if (!p->session_id || !p->roots)
		return error_nomem(e);
	return cfg->explicit_dir ? check_explicit(p, cfg->explicit_dir, e) : 0;
}

void run_place_release(struct run_place *p)
{
	if (p->fd >= 0)
		close(p->fd);
	for (char **root = p->roots; root && *root; root++)
		free(*root);
	free(p->roots);
	free(p->path);
	free(p->session_id);
	free(p->explicit_dir);
	buf_release(&p->notes);
	*p = (struct run_place){ .fd = -1 };
}

/* Creates the missing directories of an absolute path, each 0700. *made tells whether the last one is new, *above how
 * much of the path was there. */
static int make_dirs(const char *path, bool *made, size_t *above)
{
	char *p = strdup(path);
	int rc = p ? 0 : -1;

	*made = false;
	*above = strlen(path);
	for (char *at = p; rc == 0 && at;) {
		at = strchr(at + 1, '/');
		if (at)
			*at = '\0';
		*made = private_dir(p) == 0;
		if (!*made && errno != EEXIST && errno != EROFS && errno != EACCES)
			rc = -1;
		if (*made && *above == strlen(path))
			*above = (size_t)(strrchr(p, '/') - p);
		if (at)
			*at = '/';
	}
	free(p);
	return rc;
}

/* Another run that ends may remove a directory, empty still, that we have just found or made. */
static int make_path(const char *path, bool *made, size_t *above)
{
	int rc = -1;

	for (int i = 0; rc && i < MAKE_TRIES; i++) {
		rc = make_dirs(path, made, above);
		if (rc && errno != ENOENT)
			break;
	}
	return rc;
}

/* Opens (making it first) the directory; refuses one that turns out to lie in a writable root, and one that we
 * chose ourselves and that is not ours alone. */
static int take_dir(struct run_place *p, const char *path, struct error *e)
{
	bool made = false;
	size_t above = 0;
	struct stat st;
	char *real = resolve(path);

	if (!real)
		return error_sys(e, "'%s'", path);
	const char *root = holding_root(p, real);
	if (root) {
		error_set(e, ERR_INPUT, "'%s' lies in '%s', where tools can write", path, root);
		free(real);
		return -1;
	}
	int fd = -1;
	if (make_path(real, &made, &above) == 0)
		fd = open(real, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd >= 0 && !p->explicit_dir && (fstat(fd, &st) || st.st_uid != geteuid() || (st.st_mode & 0022))) {
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
	p->fd = fd;
	p->made = made;
	p->above = above;
	p->path = real;
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

static char *place_path(const struct run_place *p, const struct place *place, const char *base)
{
	size_t size = strlen(place->below) + strlen(p->session_id) + 1;
	char *name = malloc(size);

	if (!name)
		return NULL;
	snprintf(name, size, "%s%s", place->below, p->session_id);
	char *path = private_path(base, name);
	free(name);
	return path;
}

static int try_place(struct run_place *p, const struct place *place, struct error *e)
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
		char *path = place_path(p, place, value);
		rc = path ? take_dir(p, path, e) : error_nomem(e);
		free(path);
	}
	if (rc && place->ours)
		buf_addf(&p->notes, "%s is passed over: %s\n", place->variable, e->msg);
	if (rc == 0 && place->temporary)
		buf_addf(&p->notes,
		         "run directory is '%s': no state directory can be used (set QUERN_STATE_DIR or --run-dir)\n",
		         p->path);
	return rc;
}

int run_place_make(struct run_place *p, struct error *e)
{
	struct error last = ERROR_INIT;

	if (p->explicit_dir) {
		if (take_dir(p, p->explicit_dir, e))
			return error_prefix(e, "cannot use run directory");
		return 0;
	}
	for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
		if (try_place(p, &places[i], &last) == 0)
			return 0;
	}
	return error_set(e, ERR_SYS, "no place for a run directory (give --run-dir): %s", last.msg);
}

void run_place_tell(struct run_place *p)
{
	for (const char *line = buf_str(&p->notes); *line;) {
		size_t n = strcspn(line, "\n");
		log_warn("%.*s", (int)n, line);
		line += n + (line[n] == '\n');
	}
	buf_clear(&p->notes);
}

void run_place_remove_above(const struct run_place *p)
{
	char *dir = p->path && p->made ? strdup(p->path) : NULL;

	for (size_t n = dir ? strlen(dir) : 0; n > p->above;) {
		while (n > 0 && dir[n - 1] != '/')
			n--;
		if (n > 0)
			n--; /* the slash */
		dir[n] = '\0';
		if (n <= p->above || unlinkat(AT_FDCWD, dir, AT_REMOVEDIR))
			break;
	}
	free(dir);
}
