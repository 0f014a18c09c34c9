/*
 * Memory that is freed all at once: an arena for the job, one for the run.
 * Life cycle: ARENA_INIT -> arena_alloc... -> arena_release. Pointers live until then.
 */
#ifndef QUERN_BASE_ARENA_H
#define QUERN_BASE_ARENA_H

#include <stddef.h>

struct arena_chunk;
struct arena {
	struct arena_chunk *head;
};

#define ARENA_INIT                                                                                                     \
	{                                                                                                              \
		NULL                                                                                                   \
	}

/* Zeroed memory aligned for any type; NULL when out of memory. */
void *arena_alloc(struct arena *a, size_t n);
/* Copy of n bytes with a NUL behind; NULL when out of memory. */
char *arena_strndup(struct arena *a, const char *s, size_t n);
char *arena_strdup(struct arena *a, const char *s);
void arena_release(struct arena *a);

#endif
