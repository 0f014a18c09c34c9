/* Directories to work on, and trees of random files in them. */
#ifndef QUERN_TESTS_WORKSPACE_WORLD_H
#define QUERN_TESTS_WORKSPACE_WORLD_H

#include <stdbool.h>
#include <stddef.h>

#include "workspace/workspace.h"

struct place {
	char top[64]; /* the cwd */
	struct error e;
	unsigned long long random; /* state */
};
int place_setup(void **state);
int place_teardown(void **state);

/* Root reads and writes what modes forbid: not for the time between these two, in this process. */
void modes_hold(void);
void modes_held(void);

/* An access control list that lets user 12345 read; is_default: a directory's for what is made in it. -1 with errno. */
int give_access(const char *path, bool is_default);

/* A shell command, printf style; its exit status. */
int sh(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Writes a file, with the directories above it. */
void put(const char *path, const char *text);
void put_bytes(const char *path, const void *p, size_t n, unsigned mode);
bool holds(const char *path, const char *text);
int open_dir(const char *path);
int open_out(const char *path);
void scan_of(const char *dir, struct scan *out);
/* Fails the test, naming the first difference, unless both directories hold the same. */
enum { SAME_FILES = 1, SAME_TIMES = 2, SAME_GIT = 4 }; /* not the directories; also times; of modes the execute bit */
void same_trees(const char *a, const char *b, unsigned how);

unsigned below(struct place *p, unsigned n); /* a random number */
/* A tree of some dozen files with all that is hard, and one that differs from it in any way. */
void random_tree(struct place *p, const char *dir);
void change_tree(struct place *p, const char *dir);

#endif
