/*
 * An allocator that can be made to fail, once, at the n-th allocation. A program that links nomem.c with NOMEM_WRAP
 * has its allocations come through it.
 */
#ifndef QUERN_TESTS_NOMEM_H
#define QUERN_TESTS_NOMEM_H

#include <stdbool.h>

struct nomem {
	bool let_through; /* allocations now are not counted, and do not fail */
	long left;        /* allocations until one fails; negative: none does */
	bool failed;      /* one did; cleared by the test */
};
extern struct nomem nomem;

/* Counts one allocation. True: it must fail. */
bool nomem_fails(void);

#endif
