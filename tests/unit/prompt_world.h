/* A workspace with files in it, for what is told beside the task. */
#ifndef PROMPT_WORLD_H
#define PROMPT_WORLD_H

#include "prompt/place.h"
#include "test.h"

struct prompt_world {
	char dir[256];  /* everything */
	char work[300]; /* the workspace */
	struct place place;
	struct permission_config rules;
	struct permissions *permissions;
	struct buf out, name, notes;
};

int prompt_world_setup(void **state);
int prompt_world_teardown(void **state);
/* Runs a shell script in the workspace; it must succeed. */
void prompt_world_sh(struct prompt_world *w, const char *script);
/* From now on these rules forbid; a NULL terminated list. */
void prompt_world_deny(struct prompt_world *w, const char *const *deny);

#define IN_WORLD(test) cmocka_unit_test_setup_teardown(test, prompt_world_setup, prompt_world_teardown)

#define assert_contains(text, part)                                                                                    \
	do {                                                                                                           \
		if (!strstr(text, part))                                                                               \
			fail_msg("'%s' is not in: %s", part, text);                                                    \
	} while (0)
#define assert_lacks(text, part)                                                                                       \
	do {                                                                                                           \
		if (strstr(text, part))                                                                                \
			fail_msg("'%s' is in: %s", part, text);                                                        \
	} while (0)

#endif
