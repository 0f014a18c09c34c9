/* A workspace with a real supervisor and a toolbox: what the tests of the tools share. */
#ifndef TOOL_WORLD_H
#define TOOL_WORLD_H

#include "test.h"
#include "tool/tool.h"

struct tool_world {
	char dir[256];  /* everything */
	char work[300]; /* the workspace */
	char run_dir[300];
	struct run_dir *kept;
	struct reactor *reactor;
	struct supervisor *supervisor;
	struct toolbox *toolbox;
	struct permission_config rules; /* the same */
	struct permissions *permissions;
	struct toolbox_config cfg; /* change it and call tool_world_reopen */
	struct tool_result result; /* of the last call */
	bool done;
	int calls;
};

int tool_world_setup(void **state);
int tool_world_teardown(void **state);
void tool_world_reopen(struct tool_world *w);
/* The rules alone, for a toolbox that the test opens itself. */
void tool_world_take_rules(struct tool_world *w);
/* Runs a shell script in the workspace; it must succeed. */
void tool_world_sh(struct tool_world *w, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Calls a tool with the input and waits; the text of its result (never NULL). */
const char *tool_world_call(struct tool_world *w, const char *name, const char *fmt, ...)
        __attribute__((format(printf, 3, 4)));
/* Starts only; true if it runs. tool_world_wait waits for it. */
bool tool_world_start(struct tool_world *w, const char *name, const char *input);
const char *tool_world_wait(struct tool_world *w);
/* Writes bytes to a file of the workspace; compares. */
void tool_world_put(struct tool_world *w, const char *name, const void *p, size_t n);
void tool_world_expect(struct tool_world *w, const char *name, const void *p, size_t n);

#define assert_contains(text, part)                                                                                    \
	do {                                                                                                           \
		const char *in_ = (text);                                                                              \
		if (!strstr(in_, part))                                                                                \
			fail_msg("'%s' is not in: %s", part, in_);                                                     \
	} while (0)

#endif
