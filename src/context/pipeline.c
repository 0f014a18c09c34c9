/* The order of the layers in front of a request, and the state that they share. */
#include "context/private.h"

#include <stdlib.h>

struct context *context_open(const struct context_config *cfg, struct error *e)
{
	struct context *c = calloc(1, sizeof *c);

	if (!c) {
		error_nomem(e);
		return NULL;
	}
	c->cfg = *cfg;
	c->model.marks.bytes_per_token = 4;
	return c;
}

void context_free(struct context *c)
{
	if (!c)
		return;
	for (size_t i = c->gone; i < c->nstaged; i++) {
		free(c->staged[i].id);
		free(c->staged[i].line);
	}
	free(c->staged);
	message_unref(c->task);
	message_unref(c->base);
	message_unref(c->files);
	block_unref(c->fold);
	block_unref(c->marker);
	free(c);
}

void context_set_model(struct context *c, const struct context_model *m)
{
	c->model = *m;
}

const struct context_marks *context_marks_now(const struct context *c)
{
	return &c->model.marks;
}

void report_step(const struct context *c, struct context_report *report, const char *name, int64_t *tokens,
                 size_t weight_freed)
{
	int64_t freed = weight_tokens(c, weight_freed);

	report->steps[report->n++] = (struct context_step){ name, *tokens, freed };
	*tokens = *tokens > freed ? *tokens - freed : 0;
}

typedef int (*layer_fn)(struct context *c, struct history *h, int64_t *tokens, struct context_report *report);

/* Runs a layer if its mark is reached. */
static int layer(struct context *c, struct history *h, int64_t mark, layer_fn run, int64_t *tokens,
                 struct context_report *report)
{
	if (!mark || *tokens < mark)
		return 0;
	return note_task(c, h) ? -1 : run(c, h, tokens, report);
}

int context_prepare(struct context *c, struct history *h, int64_t tokens, struct context_report *report)
{
	const struct context_marks *m = &c->model.marks;

	*report = (struct context_report){ .n = 0 };
	if (layer(c, h, m->snip, snip, &tokens, report) || layer(c, h, m->microcompact, microcompact, &tokens, report))
		return -1;
	return layer(c, h, m->collapse, collapse, &tokens, report);
}
