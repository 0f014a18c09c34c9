/* Where Bash stands: a shell's last directory is where the next one begins, as long as it lies in the working dirs. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "tool/internal.h"

static void reset(struct toolbox *t)
{
	if (t->bash_cwd_fd >= 0)
		close(t->bash_cwd_fd);
	t->cwd_changed = t->cwd_changed || t->bash_cwd_fd >= 0;
	t->bash_cwd_fd = -1;
	snprintf(t->bash_cwd, sizeof t->bash_cwd, "%s", t->cfg.workspace);
}

void shell_cwd_init(struct toolbox *t)
{
	t->bash_cwd_fd = -1;
	reset(t);
}

void shell_cwd_restore(struct toolbox *t, const char *path)
{
	int fd = open(path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	(void)shell_cwd_take(t, &fd);
	if (fd >= 0)
		close(fd);
	t->cwd_changed = false;
}

void shell_cwd_release(struct toolbox *t)
{
	if (t->bash_cwd_fd >= 0)
		close(t->bash_cwd_fd);
}

/* The path by which the directory can be reached; false if it was deleted, or has none. */
static bool path_of_dir(int fd, char path[4096])
{
	struct stat here, there;

	return path_of_fd(fd, path) == 0 && fstat(fd, &here) == 0 && stat(path, &there) == 0 &&
	       io_same_file(&here, &there);
}

static bool is_beneath(const char *path, const char *dir)
{
	size_t n = strlen(dir);

	while (n > 0 && dir[n - 1] == '/')
		n--;
	return strncmp(path, dir, n) == 0 && (path[n] == '/' || path[n] == '\0');
}

static bool in_working_dirs(const struct toolbox *t, const char *path)
{
	if (is_beneath(path, t->cfg.workspace))
		return true;
	for (const char *const *d = t->cfg.add_dirs; d && *d; d++)
		if (is_beneath(path, *d))
			return true;
	return false;
}

int shell_cwd_open(struct toolbox *t, struct tool_result *now)
{
	char path[4096], was[4096];

	if (t->bash_cwd_fd < 0)
		return roots_first(t->roots);
	if (path_of_dir(t->bash_cwd_fd, path) && strcmp(path, t->bash_cwd) == 0)
		return t->bash_cwd_fd;
	/* The call was judged by the old path: it must not run elsewhere. */
	snprintf(was, sizeof was, "%s", t->bash_cwd);
	reset(t);
	result_use_error(t, now,
	                 "The shell's directory %s was moved or deleted, so the command was not run. Shell cwd was "
	                 "reset to %s",
	                 was, t->bash_cwd);
	return -1;
}

/* The workspace is known by what it is: it may have been renamed meanwhile. */
static bool is_workspace(const struct toolbox *t, int fd)
{
	struct stat home, here;

	return fstat(roots_first(t->roots), &home) == 0 && fstat(fd, &here) == 0 && io_same_file(&home, &here);
}

bool shell_cwd_take(struct toolbox *t, int *fd)
{
	char path[4096];

	if (*fd < 0)
		return true;
	if (is_workspace(t, *fd)) {
		reset(t);
		return true;
	}
	if (!path_of_dir(*fd, path) || !in_working_dirs(t, path)) {
		reset(t);
		return false;
	}
	t->cwd_changed = t->cwd_changed || strcmp(path, t->bash_cwd) != 0;
	if (t->bash_cwd_fd >= 0)
		close(t->bash_cwd_fd);
	t->bash_cwd_fd = *fd;
	*fd = -1;
	snprintf(t->bash_cwd, sizeof t->bash_cwd, "%s", path);
	return true;
}
