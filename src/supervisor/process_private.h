/* Inside this room: what the supervisor process knows of its children, for process.c and crowd.c. */
#ifndef QUERN_SUPERVISOR_PROCESS_PRIVATE_H
#define QUERN_SUPERVISOR_PROCESS_PRIVATE_H

#include "supervisor/census.h"
#include "supervisor/follow.h"
#include "supervisor/frame.h"
#include "supervisor/oom.h"
#include "supervisor/process.h"
#include "supervisor/spawn.h"
#include "supervisor/tree.h"
#include "supervisor/wire.h"

#define ELDERS_MAX 256

/* What comes next for a child when its timer fires. */
enum stage {
	STAGE_RUNNING, /* its time is over: TERM */
	STAGE_TERM,    /* its grace is over: KILL */
	STAGE_KILL     /* it does not go: reported as killed */
};

struct process;

struct child {
	struct child *next;
	struct process *p;
	int id;
	pid_t pid;
	int status_fd; /* what the start of it failed at, if it did */
	int64_t start_us;
	int64_t grace_ms;
	enum stage stage;
	bool timed_out, killed, crowded, reported;
	bool followed;
	bool is_call;
	struct reactor_timer timer;
};

struct process {
	struct reactor *r;
	struct frame_conn conn;
	bool connected;
	const struct supervisor_config *cfg;
	struct child_rules rules;
	struct sandbox_shield shield; /* no child may signal us, or the loop process */
	struct oom_score oom;
	struct follow follow;
	struct census census;
	struct reactor_timer census_timer;
	bool crowd;               /* there were too many the last time */
	pid_t elders[ELDERS_MAX]; /* our children when the youngest program began */
	size_t nelders;
	struct child *children;
	bool ending;
	bool empty; /* no child of any kind is left */
	int64_t kill_pause_ms;
	struct reactor_timer end_timer;
};

/* ---- process.c ---- */
/* Collects and reports children that ended. */
void process_reap(struct process *p);

/* ---- crowd.c ---- */
/* A crowd takes the processor too: without precedence we would come to a word once in a thousand. Only root may have
 * it; the others must be quick. */
void crowd_take_precedence(bool on);
/* KILL to what is below us and not skipped, once. Most passes see our own children alone, which is cheap; what is
 * further down comes to us when its parents are gone, and a look at the whole tree finds the rest. Returns how many
 * were signalled. */
size_t crowd_sweep(struct process *p, const struct tree_skip *skip);
/* Sees to it that processes are counted from time to time, as long as there are children and a limit. */
void crowd_watch(struct process *p);
void crowd_on_timer(void *ctx); /* of the process's census_timer */
/* Before a program begins: what is below us now cannot be its own. */
void crowd_note_elders(struct process *p);

#endif
