/* Hooks with a supervisor and a directory of their own: declare some, ask them, look at the answer and the events. */
#ifndef QUERN_TESTS_HOOK_WORLD_H
#define QUERN_TESTS_HOOK_WORLD_H

#include "test.h"

#include "hook/hook.h"

#define HOOKS_MAX 40

struct hook_world {
	char dir[256], work[300], run[300];
	struct reactor *reactor;
	struct supervisor *supervisor;
	struct run_dir *run_dir;
	struct job_hook decl[HOOKS_MAX];
	struct job_verify verify;
	struct hooks_config cfg;
	struct hooks *hooks;
	int answers;
	struct hook_answer answer; /* of the last asking; its strings are in texts */
	char *texts[8];
	/* A line each: "started NAME SOURCE", "response NAME OUTCOME EXIT WHY|STDOUT|STDERR|", "message TEXT". */
	struct buf events;
	int fail_emit; /* the n-th event cannot be written */
};

int hook_world_setup(void **state);
int hook_world_teardown(void **state);
/* Declares one; valid until the next reopening. */
struct job_hook *hook_world_add(struct hook_world *w, enum hook_event event, const char *command);
/* Forgets all that were declared. */
void hook_world_clear(struct hook_world *w);
/* Asks and waits: 1 and w->answer, or 0. Opens the hooks if that is due. */
int hook_world_ask(struct hook_world *w, const struct hook_call *call);
int hook_world_start(struct hook_world *w, const struct hook_call *call, void *ctx);
void hook_world_wait(struct hook_world *w, int answers);
void hook_world_open(struct hook_world *w);
/* One hook of that event runs the command: its answer. */
const struct hook_answer *hook_world_one(struct hook_world *w, enum hook_event event, const char *command);
/* A call of that kind, with something in each member. */
struct hook_call hook_world_call(enum hook_event event);
void hook_world_put(struct hook_world *w, const char *name, const char *text, unsigned mode);
char *hook_world_get(struct hook_world *w, const char *name); /* malloc'ed, "" if there is no such file */
void hook_done_in(void *ctx, const struct hook_answer *answer);

#define assert_contains(text, part)                                                                                    \
	do {                                                                                                           \
		const char *in_ = (text);                                                                              \
		if (!in_ || !strstr(in_, (part)))                                                                      \
			fail_msg("not in '%s': %s", in_ ? in_ : "(null)", (part));                                     \
	} while (0)

#endif
