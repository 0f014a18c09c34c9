/* The header lines of a request, checked. The values may be secret: errors name a header, never its value. */
#ifndef QUERN_MODEL_HEADER_LIST_H
#define QUERN_MODEL_HEADER_LIST_H

#include <stddef.h>

#include "base/error.h"

struct header_list {
	char **v; /* "Name: value", NULL terminated; NULL if there are none */
	size_t n;
};

#define HEADER_LIST_INIT                                                                                               \
	{                                                                                                              \
		NULL, 0                                                                                                \
	}

/* Adds a header, or replaces the one of that name. -1 with *e: the name is no token or one that only the transport may
 * set, the value holds a control character or is blank at an end, or no memory. */
int header_list_set(struct header_list *l, const char *name, const char *value, struct error *e);
/* The same from "Name: value". */
int header_list_set_line(struct header_list *l, const char *line, struct error *e);
void header_list_remove(struct header_list *l, const char *name);
void header_list_release(struct header_list *l); /* overwrites the lines */

#endif
