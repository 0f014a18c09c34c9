/* The processes below one: found by their parents in /proc, whatever session or group they moved to. */
#ifndef QUERN_SUPERVISOR_TREE_H
#define QUERN_SUPERVISOR_TREE_H

#include <stddef.h>
#include <sys/types.h>

#define TREE_MAX 65536 /* processes looked at in one pass */

/* Sends sig to every descendant of root (not to root itself) that is not in the group `but_group` (0 = all).
 * One pass over a moving target: callers that must be sure repeat it. Returns how many were signalled. */
size_t tree_signal(pid_t root, pid_t but_group, int sig);

#endif
