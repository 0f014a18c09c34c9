/* Which directories the calls have worked in, for who tells the model what holds there. */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "tool/internal.h"

#define TOUCHED_MOST 1000 /* directories that nobody has asked for yet; more are left out */

/* Where the call's directory goes: those that were asked for stay, calls that began later stand behind it. */
static size_t place_of(const struct touched *d, uint64_t number)
{
	size_t i = d->n;

	while (i > d->next && d->v[i - 1].number > number)
		i--;
	return i;
}

void touched_note(const struct call *c, const char *path, bool is_dir)
{
	struct touched *d = &c->t->touched;
	const char *slash = strrchr(path, '/');
	size_t n = is_dir || !slash ? strlen(path) : (size_t)(slash - path);

	if (!c->t->cfg.tells_touched || path[0] != '/' || d->n == TOUCHED_MOST)
		return;
	size_t i = place_of(d, c->number);
	if (i && !strncmp(d->v[i - 1].path, path, n) && !d->v[i - 1].path[n])
		return; /* calls stay in a directory for a while */
	char *dir = strndup(path, n ? n : 1);
	if (!dir || ARRAY_GROW(d->v, d->n, d->cap)) {
		free(dir);
		return;
	}
	memmove(d->v + i + 1, d->v + i, (d->n - i) * sizeof *d->v);
	d->v[i] = (struct touched_dir){ dir, c->number };
	d->n++;
}

void touched_release(struct toolbox *t)
{
	struct touched *d = &t->touched;

	for (size_t i = 0; i < d->n; i++)
		free(d->v[i].path);
	free(d->v);
	*d = (struct touched){ 0 };
}

const char *toolbox_touched(struct toolbox *t)
{
	struct touched *d = &t->touched;

	if (d->next < d->n)
		return d->v[d->next++].path;
	touched_release(t);
	return NULL;
}
