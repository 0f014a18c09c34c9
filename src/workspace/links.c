#include <stdlib.h>
#include <string.h>

#include "workspace/private.h"

struct link_seen {
	dev_t dev;
	ino_t inode;
	char *name; /* NULL: the place is free */
};

static struct link_seen *place_of(const struct links *l, dev_t dev, ino_t inode)
{
	size_t i = (size_t)((inode ^ (uint64_t)dev << 32) * UINT64_C(0x9e3779b97f4a7c15) >> 20);

	while (l->v[i & (l->cap - 1)].name &&
	       (l->v[i & (l->cap - 1)].inode != inode || l->v[i & (l->cap - 1)].dev != dev))
		i++;
	return &l->v[i & (l->cap - 1)];
}

/* The table stays half empty. */
static int make_room(struct links *l)
{
	struct links grown = { .cap = l->cap ? 2 * l->cap : 64 };

	if (2 * l->n < l->cap)
		return 0;
	grown.v = calloc(grown.cap, sizeof *grown.v);
	if (!grown.v)
		return -1;
	for (size_t i = 0; i < l->cap; i++)
		if (l->v[i].name)
			*place_of(&grown, l->v[i].dev, l->v[i].inode) = l->v[i];
	free(l->v);
	l->v = grown.v;
	l->cap = grown.cap;
	return 0;
}

const char *links_see(struct links *l, const struct stat *st, const char *name)
{
	if (make_room(l))
		return NULL;
	struct link_seen *seen = place_of(l, st->st_dev, st->st_ino);
	if (seen->name)
		return seen->name;
	*seen = (struct link_seen){ st->st_dev, st->st_ino, strdup(name) };
	l->n += seen->name != NULL;
	return seen->name ? "" : NULL;
}

void links_release(struct links *l)
{
	for (size_t i = 0; i < l->cap; i++)
		free(l->v[i].name);
	free(l->v);
	*l = (struct links){ 0 };
}
