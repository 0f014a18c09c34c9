/* A record has one writer: two processes that go on from it at once would make all calls twice, and mix their lines. */
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "run/world.h"

/* The lock is on a descriptor of its own, which no child has: it goes with this process, also where a shell keeps the
 * file open. A file system that has no locks is no reason not to run. */
static int lock_file(struct world *w, const char *path, bool make, const char *name, struct error *e)
{
	struct stat st;
	int fd;

	if (stat(path, &st) ? !make : !S_ISREG(st.st_mode))
		return 0;
	fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOCTTY | (make ? O_CREAT : 0), 0600);
	if (fd < 0)
		return 0; /* whoever writes to it says why not */
	if (flock(fd, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK) {
		close(fd);
		w->locked_out = true;
		return error_set(e, ERR_INPUT, "'%s' is being written by another run: wait for its end", name);
	}
	w->lock = fd;
	return 0;
}

int world_lock_record(struct world *w, struct error *e)
{
	const struct job *job = w->job;

	if (job->events_path)
		return lock_file(w, job->events_path, true, job->events_path, e);
	return world_appends_to_stdout(w) ? lock_file(w, "/proc/self/fd/1", false, job->resume_path, e) : 0;
}

void world_unlock_record(struct world *w)
{
	if (w->lock > 0)
		close(w->lock);
	w->lock = 0;
}
