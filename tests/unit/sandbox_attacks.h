/* What test_sandbox lets children try. They find the places in O (outside), W (the workspace) and HOME, and the
 * processes in LOOP and SUPERVISOR, and in NEIGHBOUR one of the same user that the run knows nothing of. */
#ifndef QUERN_TESTS_UNIT_SANDBOX_ATTACKS_H
#define QUERN_TESTS_UNIT_SANDBOX_ATTACKS_H

#include <stddef.h>

struct sandbox_attack {
	const char *name;
	int (*fn)(void);
	int expected[3]; /* errno values, 0 ends them */
};
extern const struct sandbox_attack sandbox_attacks[];
extern const size_t sandbox_nattacks;

/* A child call: its input is the name; it writes the errno's name, or "got through". */
int sandbox_attack_call(const char *name, size_t len, int result_fd);

/* A child call that stops every other child of the supervisor as soon as it sees it, for so many seconds. */
int sandbox_stopper_call(const char *seconds, size_t len, int result_fd);

/* 0 if the file can be opened, -1 with errno. */
int opens(const char *path, int flags);

#endif
