/*
 * A child between fork and exec. Everything here but the call itself is async-signal-safe, and all that needs memory
 * was made before the fork. Until its exec a program's child runs in the supervisor's own memory: it must change
 * nothing there but the plan's sh_argv.
 */
#ifndef QUERN_SUPERVISOR_CHILD_H
#define QUERN_SUPERVISOR_CHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "guard/sandbox.h"
#include "supervisor/supervisor.h"

/* How far the start of a child got. The rows are what the error of its result says, see client.c. */
enum child_step {
	CHILD_STARTED = 0,
	CHILD_RECEIVE, /* the request or its descriptors did not arrive whole */
	CHILD_MEMORY,
	CHILD_FORK,
	CHILD_SESSION,
	CHILD_DIRECTORY,
	CHILD_FDS,
	CHILD_LIMITS,
	CHILD_PRIVILEGES,
	CHILD_SANDBOX,
	CHILD_INPUT,
	CHILD_EXEC,
	CHILD_INTERPRETER /* the file is there, the interpreter that it names is not */
};

struct child_failure {
	int32_t step;  /* enum child_step */
	int32_t error; /* errno */
};

#define CHILD_RESULT_FD 3 /* where an exec finds its result channel */

struct child_plan {
	char **argv;    /* of an exec */
	char **sh_argv; /* room for sh, the path and argv[1...]: a script without #! goes to sh as with execvp */
	char **envp;
	const char *path;              /* PATH of envp, or the default */
	const struct child_call *call; /* NULL = an exec */
	size_t input_len;
	const struct sandbox *sandbox; /* prepared; NULL = not confined */
	bool network;                  /* which of its profiles */
	/* Descriptors, all > 2; -1 = none. Without in, standard input is the supervisor's: /dev/null. */
	int in, out, err, result, cwd, status;
};

/* Of all children alike. */
struct child_rules {
	pid_t supervisor;
	bool no_new_privileges;
	int home;    /* where a child starts that is given no directory; -1 = where the supervisor happens to be */
	mode_t mask; /* for new files */
	struct rlimit file_size;
};

/* Runs the child; on a failure writes a struct child_failure to plan->status. Never returns. */
_Noreturn void child_run(const struct child_plan *plan, const struct child_rules *rules);

/* Gives every signal its default action, also those that were inherited ignored. */
void child_default_signals(void);

/* What the supervisor ignores and its children must not. */
void child_ignore_signals(bool on);

/* Closes every descriptor from `first` on. */
void child_close_from(int first);

#endif
