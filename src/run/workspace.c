#include "base/array.h"
#include "base/io.h"
#include "run/world.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The real, absolute path of a directory that can be read; it is what everything else is measured against. */
static const char *real_dir(struct world *w, const char *what, const char *dir, struct error *e)
{
	char *real = realpath(dir, NULL);

	if (!real) {
		error_sys(e, "%s '%s'", what, dir);
		return NULL;
	}
	const char *kept = arena_strdup(&w->arena, real);
	free(real);
	if (!kept) {
		error_nomem(e);
		return NULL;
	}
	int fd = open(kept, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0) {
		error_sys(e, "%s '%s'", what, dir);
		return NULL;
	}
	close(fd);
	return kept;
}

/* dir as an absolute path, links and all; what it resolves to if that cannot be said. NULL: no memory. */
static const char *spelled_dir(struct world *w, const char *dir, const char *real)
{
	struct buf b = BUF_INIT(4095);
	char cwd[4096];
	const char *path = real;

	if (dir[0] == '/')
		return arena_strdup(&w->arena, dir);
	if (getcwd(cwd, sizeof cwd) && !buf_addf(&b, "%s/%s", cwd, dir))
		path = arena_strdup(&w->arena, buf_str(&b));
	buf_release(&b);
	return path;
}

/* Does path name the directory `dir`, whatever links it goes through? */
static bool same_dir(const char *path, const char *dir)
{
	return path && path[0] == '/' && io_same_path(path, dir);
}

/* Nothing is read or written there: it may be another machine's. */
static bool is_another(const struct world *w, const char *dir)
{
	return w->job->replay_tools && access(dir, R_OK | X_OK);
}

/* For the directory we were started in that is the shell's name: it keeps the links that getcwd resolves. */
static const char *spelled_workspace(struct world *w, const char *dir)
{
	const char *pwd = getenv("PWD");

	if (strcmp(dir, ".") == 0 && same_dir(pwd, w->workspace))
		return arena_strdup(&w->arena, pwd);
	return spelled_dir(w, dir, w->workspace);
}

int world_workspace(struct world *w, struct error *e)
{
	size_t n = array_count(w->job->add_dirs);
	const char **dirs = arena_alloc(&w->arena, (n + 1) * sizeof *dirs);
	const char **spelled = arena_alloc(&w->arena, (n + 2) * sizeof *spelled);

	const char *dir = w->unpacked ? w->unpacked : is_another(w, w->job->workspace) ? "." : w->job->workspace;
	size_t have = 0;

	if (!dirs || !spelled)
		return error_nomem(e);
	w->workspace = real_dir(w, "the workspace", dir, e);
	if (!w->workspace)
		return -1;
	spelled[0] = spelled_workspace(w, dir);
	if (!spelled[0])
		return error_nomem(e);
	w->spelled = spelled;
	for (size_t i = 0; i < n; i++) {
		if (is_another(w, w->job->add_dirs[i]))
			continue;
		dirs[have] = real_dir(w, "the added directory", w->job->add_dirs[i], e);
		if (!dirs[have])
			return -1;
		spelled[have + 1] = spelled_dir(w, w->job->add_dirs[i], dirs[have]);
		if (!spelled[++have])
			return error_nomem(e);
	}
	w->add_dirs = dirs;
	return 0;
}

const char *const *world_writable_roots(struct world *w)
{
	size_t n = array_count(w->add_dirs);
	const char **v = arena_alloc(&w->arena, (n + 2) * sizeof *v);

	if (!v)
		return NULL;
	v[0] = w->workspace;
	for (size_t i = 0; i < n; i++)
		v[i + 1] = w->add_dirs[i];
	return v;
}

/* The absolute path of a file that may not exist yet: its directory is resolved. NULL if that cannot be. */
const char *world_absolute(struct world *w, const char *path)
{
	const char *slash = strrchr(path, '/');
	char *dir = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
	char *real = realpath(path, NULL);
	struct buf b = BUF_INIT(8192);
	const char *kept = NULL;

	if (real) {
		buf_adds(&b, real);
	} else if (dir && (real = realpath(dir, NULL))) {
		buf_addf(&b, "%s/%s", real, slash ? slash + 1 : path);
	}
	if (b.len)
		kept = arena_strdup(&w->arena, buf_str(&b));
	free(real);
	free(dir);
	buf_release(&b);
	return kept;
}

/* What stdout is redirected to, and our other output files: searches must not find the run in its own record. */
const char *const *world_own_files(struct world *w)
{
	const char **v = arena_alloc(&w->arena, 5 * sizeof *v);
	char path[4096];
	size_t n = 0;

	if (!v)
		return NULL;
	ssize_t len = readlink("/proc/self/fd/1", path, sizeof path - 1);
	if (len > 0 && path[0] == '/' && (v[n] = arena_strndup(&w->arena, path, (size_t)len)))
		n++;
	if (w->job->events_path && (v[n] = world_absolute(w, w->job->events_path)))
		n++;
	if (w->job->record_path && (v[n] = world_absolute(w, w->job->record_path)))
		n++;
	return v;
}
