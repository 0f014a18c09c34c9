/*
 * A set of tool_use ids. It borrows the strings, which must outlive it, unless they are added as copies.
 * Life cycle: NULL -> id_set_add... -> id_set_free. An empty set may be NULL everywhere.
 */
#ifndef QUERN_MESSAGE_ID_SET_H
#define QUERN_MESSAGE_ID_SET_H

#include <stdbool.h>
#include <stddef.h>

struct id_set;

/* 1 if the id is new, 0 if it was there, -1 when out of memory. Makes *set when it is NULL. */
int id_set_add(struct id_set **set, const char *id);
int id_set_add_copy(struct id_set **set, const char *id);
bool id_set_has(const struct id_set *set, const char *id);
size_t id_set_count(const struct id_set *set);
void id_set_free(struct id_set *set);

#endif
