/*
 * A spawn request as bytes: packed by the loop process, unpacked by the supervisor.
 * Life cycle of the unpacked one: spawn_unpack (also when it fails) -> spawn_release.
 */
#ifndef QUERN_SUPERVISOR_SPAWN_H
#define QUERN_SUPERVISOR_SPAWN_H

#include "supervisor/frame.h"
#include "supervisor/wire.h"

/* head.argc and head.envc are set here. -1 if it does not fit into out->max, or no memory: see out->failed. */
int spawn_pack(struct buf *out, struct wire_spawn *head, const char *const *argv, const char *const *envp);

struct spawn_request {
	struct wire_spawn head;
	struct child_plan plan; /* status is -1; strings and descriptors stay the frame's */
	void *pointers;         /* owned */
};

/* CHILD_STARTED, or what is wrong with the frame. */
enum child_step spawn_unpack(struct spawn_request *q, const struct frame *f, const struct child_call *calls,
                             size_t ncalls);
void spawn_release(struct spawn_request *q);

#endif
