/* Which directories the calls have worked in, for who tells the model what holds there. */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "tool/internal.h"

#define TOUCHED_MOST 1000 /* directories that nobody has asked for yet; more are left out */

void touched_note(struct toolbox *t, const char *path, bool is_dir)
{
	struct touched *d = &t->touched;
	const char *slash = strrchr(path, '/');
	size_t n = is_dir || !slash ? strlen(path) : (size_t)(slash - path);

	if (!t->cfg.tells_touched || path[0] != '/' || d->n == TOUCHED_MOST)
		return;
	if (d->n && !strncmp(d->v[d->n - 1], path, n) && !d->v[d->n - 1][n])
		return; /* calls stay in a directory for a while */
	if (ARRAY_GROW(d->v, d->n, d->cap))
		return;
	d->v[d->n] = strndup(path, n ? n : 1);
	d->n += d->v[d->n] != NULL;
}

void touched_release(struct toolbox *t)
{
	struct touched *d = &t->touched;

	for (size_t i = 0; i < d->n; i++)
		free(d->v[i]);
	free(d->v);
	*d = (struct touched){ 0 };
}

const char *toolbox_touched(struct toolbox *t)
{
	struct touched *d = &t->touched;

	if (d->next < d->n)
		return d->v[d->next++];
	touched_release(t);
	return NULL;
}
