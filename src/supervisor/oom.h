/*
 * How willingly the kernel ends a process when memory is short: the children before us. A child inherits what the
 * supervisor has while it forks, which costs a fraction of what each would pay for opening a file of its own in /proc.
 * That they are the first to go is a wish: if it cannot be had, they run all the same.
 */
#ifndef QUERN_SUPERVISOR_OOM_H
#define QUERN_SUPERVISOR_OOM_H

struct oom_score {
	int fd; /* /proc/self/oom_score_adj; -1 = leave it as it is */
	char own[16];
};

/* Before anything is started that may look into this process: it is dumpable for a moment. */
void oom_open(struct oom_score *oom);
void oom_raise(const struct oom_score *oom);
void oom_restore(const struct oom_score *oom);

#endif
