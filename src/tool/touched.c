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
	d->v[i] = (struct touched_dir){ dir, c->number, false };
	d->n++;
}

bool touched_is_new(const struct toolbox *t)
{
	for (size_t i = 0; i < t->touched.n; i++)
		if (!t->touched.v[i].told)
			return true;
	return false;
}

void touched_tell(struct toolbox *t, struct json_out *o)
{
	if (!touched_is_new(t))
		return;
	jo_key(o, "touched");
	jo_array(o);
	for (size_t i = 0; i < t->touched.n; i++) {
		if (!t->touched.v[i].told)
			jo_str(o, t->touched.v[i].path);
		t->touched.v[i].told = true;
	}
	jo_end(o);
}

int touched_restore(struct toolbox *t, const char *path, bool told)
{
	struct touched *d = &t->touched;

	for (size_t i = d->next; i < d->n; i++)
		if (!strcmp(d->v[i].path, path)) {
			d->v[i].told = told;
			return 0;
		}
	char *dir = strdup(path);
	if (!dir || d->n == TOUCHED_MOST || ARRAY_GROW(d->v, d->n, d->cap)) {
		free(dir);
		return dir ? 0 : -1;
	}
	d->v[d->n++] = (struct touched_dir){ dir, 0, told };
	return 0;
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
