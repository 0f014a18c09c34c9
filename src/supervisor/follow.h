/*
 * Where a program went. A child that is followed shares the supervisor's current directory (CLONE_FS): where the one
 * goes the other goes, through every exec and whatever the program does at its end, so that the directory can be told
 * when it is gone. A shell need not be wrapped or asked for that. One child at a time.
 */
#ifndef QUERN_SUPERVISOR_FOLLOW_H
#define QUERN_SUPERVISOR_FOLLOW_H

#include <stdbool.h>
#include <sys/types.h>

struct follow {
	int home; /* where the supervisor itself belongs, O_PATH; -1 = nobody can be followed */
	mode_t mask;
	bool busy;
};

/* Takes the current directory and file mode mask for the supervisor's own. */
void follow_init(struct follow *f);
/* True if the child that is started next may share; then follow_end must come when it is gone, or was not started. */
bool follow_begin(struct follow *f);
/* Goes home. Returns a descriptor (O_PATH, the caller's) of where the child was at its end, or -1. */
int follow_end(struct follow *f);

#endif
