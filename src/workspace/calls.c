/* What the keeper can do: a row each. */
#include "workspace/calls.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "base/libarchive_read.h"
#include "base/tree.h"
#include "guard/sandbox.h"
#include "workspace/workspace.h"

int call_end(int rc, const struct error *e, int result_fd)
{
	if (rc == 0)
		return 0;
	(void)io_write_all(result_fd, e, sizeof *e); /* the exit status tells too */
	return 1;
}

/* ---- "remove" ---- */

/* What was put in the place of the named directory just goes. */
static int remove_named(const char *path, struct error *e)
{
	const char *slash = strrchr(path, '/');
	char *parent = strndup(path, slash ? (size_t)(slash - path) + 1 : 0);
	int dir = open(path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	int above = parent ? open(*parent ? parent : ".", O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
	const struct sandbox_place places[] = { { dir, REACH_WRITE }, { above, dir < 0 ? REACH_NAMES : REACH_REMOVE } };
	int rc = parent ? 0 : error_nomem(e);

	if (!rc && sandbox_confine_call(places, 2, e) < 0)
		rc = -1;
	if (!rc && tree_remove(path))
		rc = error_sys(e, "cannot remove all of '%s'", path);
	if (dir >= 0)
		close(dir);
	if (above >= 0)
		close(above);
	free(parent);
	return rc;
}

static int remove_here(struct error *e)
{
	int dir = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), rc = -1;
	const struct sandbox_place here = { dir, REACH_WRITE };

	if (dir >= 0 && sandbox_confine_call(&here, 1, e) < 0)
		rc = -1;
	else if (dir < 0 || tree_empty(dir))
		error_sys(e, "cannot remove all that is in the directory");
	else
		rc = 0;
	if (dir >= 0)
		close(dir);
	return rc;
}

/* A directory; without one all that is in this one. */
int call_remove(const char *in, size_t in_len, int result_fd)
{
	struct error e = ERROR_INIT;

	return call_end(in_len ? remove_named(in, &e) : remove_here(&e), &e, result_fd);
}

/* ---- "unpack": see struct unpack_call ---- */

/* What the call needs is opened, then it can do nothing but fill the directory. */
static int unpack_confined(const struct unpack_call *call, int fd, struct error *e)
{
	struct libarchive_api la;

	if (fd < 0)
		return error_sys(e, "cannot open it");
	int dir = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return error_sys(e, "cannot open the directory");
	signal(SIGXFSZ, SIG_IGN); /* a file may not be that large: an error like others */
	libarchive_utf8_names();
	const struct sandbox_place here = { dir, REACH_WRITE };
	int rc = libarchive_api_load(&la, e) || sandbox_confine_call(&here, 1, e) < 0 ? -1 : 0;
	if (rc == 0) {
		libarchive_limit_memory();
		rc = workspace_unpack(fd, dir, &call->limits, e);
	}
	close(dir);
	return rc;
}

int call_unpack(const char *in, size_t in_len, int result_fd)
{
	struct error e = ERROR_INIT;
	struct unpack_call call;

	if (in_len <= sizeof call)
		return call_end(error_set(&e, ERR_BUG, "the call has no input"), &e, result_fd);
	memcpy(&call, in, sizeof call);
	int fd = open(in + sizeof call, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	int rc = unpack_confined(&call, fd, &e);
	if (fd >= 0)
		close(fd);
	return call_end(rc, &e, result_fd);
}

const struct child_call workspace_child_calls[] = {
	{ "commit", call_commit }, { "copy", call_copy },       { "patch", call_patch },
	{ "remove", call_remove }, { "restore", call_restore }, { "save", call_save },
	{ "scan", call_scan },     { "sweep", call_sweep },     { "unpack", call_unpack },
};
const size_t workspace_child_ncalls = sizeof workspace_child_calls / sizeof *workspace_child_calls;
