/* The processes below one: found by their parents in /proc, whatever session or group they moved to. */
#ifndef QUERN_SUPERVISOR_TREE_H
#define QUERN_SUPERVISOR_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define TREE_MAX 65536 /* processes looked at in one pass */

/* Which of them are left alone; all zero = none. */
struct tree_skip {
	pid_t group;   /* members of this process group */
	bool sessions; /* members of `session`, which getsid(2) calls 0 if it began outside our PID namespace */
	pid_t session;
	unsigned long long older; /* those that started before this time, see tree_start_time */
	const pid_t *spare; /* children of root whose trees are left alone: what is below them or in their session */
	size_t nspare;
};

/* Sends sig to every descendant of root (not to root itself) that is not skipped. One pass over a moving
 * target: callers that must be sure repeat it. Returns how many live ones were signalled. */
size_t tree_signal(pid_t root, const struct tree_skip *skip, int sig);

/* The children of the calling process, as many as fit; returns their number, 0 also where the kernel does not list
 * them. */
size_t tree_children(pid_t *pids, size_t max);

/* KILL to the children of the calling process that are not skipped, and to the groups that they lead. Costs a fraction
 * of tree_signal: what multiplies faster than /proc can be read is reached by it, a generation a pass, since orphans
 * become our children. Returns how many. */
size_t tree_kill_children(const struct tree_skip *skip);

/* Counts the descendants of root, zombies too: counts[i] of them belong to tops[i], a child of root (itself, what is
 * below it, and orphans of its session), counts[n] to none of these. Returns how many there are in all. */
size_t tree_census(pid_t root, const pid_t *tops, size_t n, size_t *counts);

/* When a process started, in the kernel's ticks; 0 if it is not there. */
unsigned long long tree_start_time(pid_t pid);

#endif
