/* A record has one writer: two processes that go on from it at once would make all calls twice, and mix their lines. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/io.h"
#include "base/log.h"
#include "run/world.h"

#define LOOK_MS      10
#define LIVE_MS      500  /* for one that was just killed to be seen as dead */
#define LEFTOVERS_MS 5000 /* for what it left to be gone: its supervisor has the lock until then */

/* What is locked. */
struct use {
	const char *path, *name;
	int how;      /* of flock(2) */
	bool make;    /* if it is not there */
	bool in_vain; /* goes on where another one has it */
};

/* ---- who has it ---- */

/* A number out of the kernel's list, which names whoever took the lock, if it lives or not; 0 = not known. A line of
 * it: "1: FLOCK  ADVISORY  WRITE 4711 08:01:12345 0 EOF". */
static pid_t holder(int fd)
{
	FILE *f = fopen("/proc/locks", "re");
	char line[256], file[64];
	struct stat st;
	long pid = 0;

	if (f && fstat(fd, &st) == 0) {
		snprintf(file, sizeof file, " %02x:%02x:%llu ", major(st.st_dev), minor(st.st_dev),
		         (unsigned long long)st.st_ino);
		while (fgets(line, sizeof line, f)) {
			const char *at = strstr(line, ": FLOCK ") ? strstr(line, file) : NULL;
			while (at && at[-1] != ' ')
				at--;
			if (at && *at != '-' && *at != '0')
				pid = strtol(at, NULL, 10);
		}
	}
	if (f)
		fclose(f);
	return (pid_t)pid;
}

/* A zombie has no files any more. Whose files we may not see is alive. */
static bool is_alive(pid_t pid)
{
	char path[32], c;

	snprintf(path, sizeof path, "/proc/%d/exe", (int)pid);
	return pid && (readlink(path, &c, 1) >= 0 || (errno != ENOENT && errno != ESRCH));
}

static int refuse(const struct use *u, pid_t pid, struct error *e)
{
	char who[32] = "";

	if (pid)
		snprintf(who, sizeof who, " (process %d)", (int)pid);
	if (pid && !is_alive(pid))
		return error_set(e, ERR_INPUT,
		                 "'%s': tools of a run that was killed%s are still there: wait for their end, or end "
		                 "them",
		                 u->name, who);
	return error_set(e, ERR_INPUT, "'%s' is in use by another run%s: wait for its end", u->name, who);
}

/* ---- one lock ---- */

/* Until it is free, as long as that is to be hoped for. 1: it is not. */
static int wait_for(struct world *w, const struct use *u, int fd, struct error *e)
{
	int64_t began = clock_mono_ms();

	while (flock(fd, u->how | LOCK_NB)) {
		if (errno != EWOULDBLOCK) {
			log_warn(
			        "'%s' cannot be locked (%s): nothing keeps another run from going on with it meanwhile",
			        u->name, strerror(errno));
			return 0;
		}
		pid_t pid = holder(fd);
		int64_t now = clock_mono_ms(), patience = is_alive(pid) ? LIVE_MS : LEFTOVERS_MS;
		if (u->in_vain)
			return 1;
		if (w->signo || now >= w->deadline || now - began >= patience)
			return refuse(u, pid, e);
		if (reactor_wait(w->reactor, now + LOOK_MS, e) < 0)
			return -1;
	}
	return 0;
}

/* The lock is on a descriptor of its own, which no child has: it goes with this process and its supervisors, also where
 * a shell keeps the file open. A file system that has no locks is no reason not to run. */
static int take(struct world *w, const struct use *u, struct error *e)
{
	int mode = u->how == LOCK_SH ? O_RDONLY : O_WRONLY | O_APPEND;
	struct stat st;

	if (stat(u->path, &st) ? !u->make : !S_ISREG(st.st_mode))
		return 0;
	int fd = open(u->path, mode | O_CLOEXEC | O_NOCTTY | (u->make ? O_CREAT : 0), 0600);
	if (fd < 0)
		return 0; /* whoever uses it says why not */
	int rc = wait_for(w, u, fd, e);
	if (rc == 0) {
		w->locks[w->nlocks++] = fd;
		return 0;
	}
	close(fd);
	if (rc > 0)
		log_warn("'%s' is in use by another run: neither can be gone on with from there", u->name);
	w->locked_out |= rc < 0 && u->how == LOCK_EX;
	return rc < 0 ? -1 : 0;
}

/* ---- all of them ---- */

static bool is_taken(const struct world *w, const char *path)
{
	struct stat st, other;

	for (size_t i = 0; i < w->nlocks && stat(path, &st) == 0; i++)
		if (fstat(w->locks[i], &other) == 0 && io_same_file(&st, &other))
			return true;
	return false;
}

static bool is_record(const struct job *job, int fd)
{
	struct stat st;

	return (!job->output_format || !strcmp(job->output_format, "stream-json")) && fstat(fd, &st) == 0 &&
	       S_ISREG(st.st_mode);
}

int world_locks_most(const struct world *w)
{
	return (w->job->events_path != NULL) + (w->job->record_path != NULL) + (w->job->resume_path != NULL) +
	       is_record(w->job, STDOUT_FILENO);
}

int world_lock_record(struct world *w, struct error *e)
{
	const struct job *job = w->job;
	bool behind = job->resume_path && world_appends_to_stdout(w);
	/* Many fresh runs may share one file as stdout, as lines name their session. */
	const struct use uses[] = {
		{ .path = job->events_path, .name = job->events_path, .how = LOCK_EX, .make = true },
		{ .path = is_record(job, STDOUT_FILENO) ? "/proc/self/fd/1" : NULL,
		  .name = behind ? job->resume_path : "stdout",
		  .how = LOCK_EX,
		  .in_vain = !behind },
		{ .path = job->record_path, .name = job->record_path, .how = LOCK_EX },
		{ .path = job->resume_path, .name = job->resume_path, .how = LOCK_SH },
	};

	for (size_t i = 0; i < sizeof uses / sizeof *uses; i++)
		if (uses[i].path && !is_taken(w, uses[i].path) && take(w, &uses[i], e))
			return -1;
	return 0;
}

void world_unlock_record(struct world *w)
{
	while (w->nlocks)
		close(w->locks[--w->nlocks]);
}
