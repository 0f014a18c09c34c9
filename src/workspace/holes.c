/* Where in a file there is something: what never was written takes no room, and is neither read nor written by us. */
#include <errno.h>
#include <unistd.h>

#include "base/array.h"
#include "workspace/private.h"

#define HOLE_LEAST   65536 /* bytes: a shorter one is not worth an entry in a list */
#define EXTENTS_MOST 65536

bool next_data(int fd, int64_t size, struct extent *x)
{
	off_t from = x->to < size ? lseek(fd, x->to, SEEK_DATA) : -1;

	if (x->to >= size || (from < 0 && errno == ENXIO) || from >= size)
		return false; /* a hole to its end */
	x->from = from < 0 ? x->to : from;
	off_t to = from < 0 ? -1 : lseek(fd, x->from, SEEK_HOLE);
	x->to = to <= x->from || to > size ? size : to;
	return true;
}

int list_data(int fd, int64_t size, struct extents *out)
{
	struct extent x = { 0 };

	out->n = 0;
	while (next_data(fd, size, &x)) {
		struct extent *last = out->n ? &out->v[out->n - 1] : NULL;
		if (last && (x.from - last->to < HOLE_LEAST || out->n == EXTENTS_MOST)) {
			last->to = out->n == EXTENTS_MOST ? size : x.to;
			x.to = last->to;
			continue;
		}
		if (ARRAY_GROW(out->v, out->n, out->cap))
			return -1;
		out->v[out->n++] = x;
	}
	return 0;
}
