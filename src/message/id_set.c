#include "message/id_set.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"

/* Open addressing; cap is a power of two and at most half full. */
struct id_set {
	const char **slots;
	size_t n, cap;
	struct arena copies;
};

static uint64_t hash(const char *s)
{
	uint64_t h = 0xCBF29CE484222325U; /* FNV-1a */

	for (; *s; s++)
		h = (h ^ (unsigned char)*s) * 0x100000001B3U;
	return h ^ h >> 32;
}

/* The slot that holds the id, or the free one where it belongs. */
static const char **slot_of(const char **slots, size_t cap, const char *id)
{
	size_t i = (size_t)hash(id) & (cap - 1);

	while (slots[i] && strcmp(slots[i], id) != 0)
		i = (i + 1) & (cap - 1);
	return &slots[i];
}

static int grow(struct id_set *set)
{
	size_t cap = set->cap ? set->cap * 2 : 64;
	const char **slots = calloc(cap, sizeof *slots);

	if (!slots)
		return -1;
	for (size_t i = 0; i < set->cap; i++) {
		if (set->slots[i])
			*slot_of(slots, cap, set->slots[i]) = set->slots[i];
	}
	free(set->slots);
	set->slots = slots;
	set->cap = cap;
	return 0;
}

static int add(struct id_set **set, const char *id, bool copy)
{
	if (!*set)
		*set = calloc(1, sizeof **set);
	struct id_set *s = *set;
	if (!s)
		return -1;
	if (2 * (s->n + 1) > s->cap && grow(s))
		return -1;
	const char **slot = slot_of(s->slots, s->cap, id);
	if (*slot)
		return 0;
	if (copy)
		id = arena_strdup(&s->copies, id);
	if (!id)
		return -1;
	*slot = id;
	s->n++;
	return 1;
}

int id_set_add(struct id_set **set, const char *id)
{
	return add(set, id, false);
}

int id_set_add_copy(struct id_set **set, const char *id)
{
	return add(set, id, true);
}

bool id_set_has(const struct id_set *set, const char *id)
{
	return set && set->n && *slot_of(set->slots, set->cap, id);
}

size_t id_set_count(const struct id_set *set)
{
	return set ? set->n : 0;
}

void id_set_free(struct id_set *set)
{
	if (!set)
		return;
	free(set->slots);
	arena_release(&set->copies);
	free(set);
}
