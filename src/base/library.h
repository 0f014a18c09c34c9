/* Libraries that are loaded when they are needed: most runs of the program do not, and would pay for them. */
#ifndef QUERN_BASE_LIBRARY_H
#define QUERN_BASE_LIBRARY_H

#include <stddef.h>

#include "base/error.h"

struct library_function {
	const char *name;
	size_t offset; /* of the pointer in the table */
};

/* Loads the library, which stays loaded, and fills the table of pointers; -1 with *e if it is not there or too old.
 * purpose: what it does, for the error's text. */
int library_load(const char *soname, const char *purpose, const struct library_function *functions, size_t n,
                 void *table, struct error *e);

#endif
