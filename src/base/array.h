/* Arrays that grow, and lists of strings that end in NULL. */
#ifndef QUERN_BASE_ARRAY_H
#define QUERN_BASE_ARRAY_H

#include <stddef.h>

/*
 * Room for one more behind the first n of the array that the pointer v owns: cap says how many it has room for, and is
 * brought up to date. It doubles, so that n of them cost time in proportion to n. 0, or -1: no memory, all is as it
 * was.
 */
#define ARRAY_GROW(v, n, cap) array_grow(&(v), (n), &(cap), sizeof *(v))
int array_grow(void *v, size_t n, size_t *cap, size_t size);

/* How many strings the list has; NULL has none. */
static inline size_t array_count(const char *const *list)
{
	size_t n = 0;

	while (list && list[n])
		n++;
	return n;
}

#endif
