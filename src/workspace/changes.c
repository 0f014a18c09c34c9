#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "workspace/private.h"

static void count(struct changes *c, const struct change *one)
{
	bool was = one->before && one->before->kind != FILE_DIRECTORY;
	bool is = one->after && one->after->kind != FILE_DIRECTORY;

	c->added += !was && is;
	c->deleted += was && !is;
	c->changed += was && is;
}

int scan_compare(const struct scan *before, const struct scan *after, struct changes *out, struct error *e)
{
	size_t i = 0, j = 0, cap = 0;

	*out = (struct changes){ 0 };
	while (i < before->n || j < after->n) {
		struct change one = { i < before->n ? &before->v[i] : NULL, j < after->n ? &after->v[j] : NULL };
		int order = !one.before ? 1 : !one.after ? -1 : strcmp(one.before->name, one.after->name);
		if (order < 0)
			one.after = NULL;
		else if (order > 0)
			one.before = NULL;
		i += one.before != NULL;
		j += one.after != NULL;
		if (order == 0 && scan_entry_same(one.before, one.after))
			continue;
		if (ARRAY_GROW(out->v, out->n, cap)) {
			changes_release(out);
			return error_nomem(e);
		}
		out->v[out->n++] = one;
		count(out, &one);
	}
	return 0;
}

void changes_release(struct changes *c)
{
	free(c->v);
	*c = (struct changes){ 0 };
}
