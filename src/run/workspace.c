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

static size_t count(const char *const *v)
{
	size_t n = 0;

	while (v && v[n])
		n++;
	return n;
}

int world_workspace(struct world *w, struct error *e)
{
	size_t n = count(w->job->add_dirs);
	const char **dirs = arena_alloc(&w->arena, (n + 1) * sizeof *dirs);

	if (!dirs)
		return error_nomem(e);
	w->workspace = real_dir(w, "the workspace", w->job->workspace, e);
	if (!w->workspace)
		return -1;
	for (size_t i = 0; i < n; i++) {
		dirs[i] = real_dir(w, "the added directory", w->job->add_dirs[i], e);
		if (!dirs[i])
			return -1;
	}
	w->add_dirs = dirs;
	return 0;
}

const char *const *world_writable_roots(struct world *w)
{
	size_t n = count(w->add_dirs);
	const char **v = arena_alloc(&w->arena, (n + 2) * sizeof *v);

	if (!v)
		return NULL;
	v[0] = w->workspace;
	for (size_t i = 0; i < n; i++)
		v[i + 1] = w->add_dirs[i];
	return v;
}

/* What stdout is redirected to, and our other output files: searches must not find the run in its own record. */
const char *const *world_own_files(struct world *w)
{
	const char **v = arena_alloc(&w->arena, 4 * sizeof *v);
	char path[4096];
	size_t n = 0;

	if (!v)
		return NULL;
	ssize_t len = readlink("/proc/self/fd/1", path, sizeof path - 1);
	if (len > 0 && path[0] == '/' && (v[n] = arena_strndup(&w->arena, path, (size_t)len)))
		n++;
	if (w->job->events_path) {
		char *real = realpath(w->job->events_path, NULL);
		if (real && (v[n] = arena_strdup(&w->arena, real)))
			n++;
		free(real);
	}
	return v;
}
