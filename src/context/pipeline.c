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

int context_prepare(struct context *c, struct history *h, int64_t tokens, struct context_report *report)
{
	static const struct {
		size_t mark; /* offset in struct context_marks */
		int (*run)(struct context *c, struct history *h, int64_t *tokens, struct context_report *report);
	} layers[] = {
		{ offsetof(struct context_marks, snip), snip },
		{ offsetof(struct context_marks, microcompact), microcompact },
		{ offsetof(struct context_marks, collapse), collapse },
	};

	*report = (struct context_report){ .n = 0 };
	for (size_t i = 0; i < sizeof layers / sizeof layers[0]; i++) {
		int64_t mark = *(const int64_t *)((const char *)&c->model.marks + layers[i].mark);
		if (mark && tokens >= mark && (note_task(c, h) || layers[i].run(c, h, &tokens, report)))
			return -1;
	}
	return 0;
}
