#include "supervisor/follow.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config.h"

/* Valgrind takes a clone(2) that shares a directory for a mistake of its own and gives up. */
#ifdef HAVE_VALGRIND_VALGRIND_H
#include <valgrind/valgrind.h>
#else
#define RUNNING_ON_VALGRIND 0
#endif

void follow_init(struct follow *f)
{
	*f = (struct follow){ .home = -1 };
	f->mask = umask(0);
	umask(f->mask);
	if (!RUNNING_ON_VALGRIND)
		f->home = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
}

bool follow_begin(struct follow *f)
{
	if (f->busy || f->home < 0)
		return false;
	f->busy = true;
	return true;
}

int follow_end(struct follow *f)
{
	int cwd = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);

	/* The program may have handed the share on to another process of its own. Where this is not permitted that one
	 * can lead us about, but every child is told its directory and mask at its start. */
	(void)unshare(CLONE_FS);
	if (fchdir(f->home))
		f->home = -1;
	umask(f->mask);
	f->busy = false;
	return cwd;
}
