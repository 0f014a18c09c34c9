/*
 * What the loop process and the supervisor process say to each other. Both are one image (a fork without
 * an exec), so structures travel as they are in memory.
 */
#ifndef QUERN_SUPERVISOR_WIRE_H
#define QUERN_SUPERVISOR_WIRE_H

#include <stdbool.h>
#include <stdint.h>

#include "supervisor/child.h"

#define WIRE_GRACE_MS 2000 /* from TERM to KILL when nobody says otherwise */

enum wire_type {
	WIRE_SPAWN = 1, /* loop: struct wire_spawn, then its strings; descriptors in the order of enum wire_fd */
	WIRE_KILL,      /* loop: struct wire_grace */
	WIRE_STOP,      /* loop: struct wire_grace; the supervisor ends everything, then itself */
	WIRE_HOLD,      /* loop: a descriptor, to be kept */
	WIRE_DONE       /* supervisor: struct wire_done, exactly once a spawn; with a descriptor of the directory where
	                 * a child that was followed ended */
};

enum wire_fd { WIRE_FD_OUT, WIRE_FD_ERR, WIRE_FD_RESULT, WIRE_FD_INPUT, WIRE_FD_CWD, WIRE_FD_COUNT };

struct wire_spawn {
	uint32_t fd_mask; /* 1 << enum wire_fd for each descriptor that comes along */
	int32_t call;     /* index in the table of calls, -1 = an exec */
	uint32_t argc;    /* strings that follow, each with its NUL: argv, then envp */
	uint32_t envc;
	uint64_t input_len;
	int64_t timeout_ms;
	int64_t grace_ms;
	int32_t confine; /* enum confinement */
	bool follow_cwd;
};

struct wire_grace {
	int64_t grace_ms; /* 0 = KILL at once */
};

struct wire_done {
	struct child_failure failure; /* step CHILD_STARTED = it ran */
	int32_t status;               /* as wait(2) gives it */
	bool timed_out;
	bool killed;
	bool crowded; /* ended because there were too many processes */
	int64_t duration_ms;
};

#endif
