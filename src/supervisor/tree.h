/* The processes below one: found by their parents in /proc, whatever session or group they moved to. */
#ifndef QUERN_SUPERVISOR_TREE_H
#define QUERN_SUPERVISOR_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define TREE_MAX 65536 /* processes looked at in one pass */

/* Which of them are left alone; all zero = none. */
struct tree_skip {
	pid_t group;              /* members of this process group */
	bool sessions;            /* members of `session`, which getsid(2) calls 0 if it began outside our PID namespace */
	pid_t session;
	unsigned long long older; /* those that started before this time, see tree_start_time */
};

/* Sends sig to every descendant of root (not to root itself) that is not skipped. One pass over a moving
 * target: callers that must be sure repeat it. Returns how many live ones were signalled. */
size_t tree_signal(pid_t root, const struct tree_skip *skip, int sig);

/* When a process started, in the kernel's ticks; 0 if it is not there. */
unsigned long long tree_start_time(pid_t pid);

#endif
