#include "tool/executor.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

static const char sibling_text[] =
        "<tool_use_error>Cancelled: an earlier call of the same message failed, so this one was "
        "not run</tool_use_error>";
static const char ended_text[] = "<tool_use_error>Not run: a hook ended the run</tool_use_error>";

void executor_init(struct executor *x, size_t max_concurrency)
{
	*x = (struct executor){ .max_concurrency = max_concurrency > 0 ? max_concurrency : 1 };
}

void executor_clear(struct executor *x)
{
	for (size_t i = 0; i < x->n; i++) {
		block_unref(x->calls[i].use);
		tool_result_release(&x->calls[i].result);
	}
	x->n = 0;
	x->executing = 0;
	x->rest = NULL;
}

void executor_release(struct executor *x)
{
	executor_clear(x);
	free(x->calls);
	x->calls = NULL;
	x->cap = 0;
}

struct executor_call *executor_next(struct executor *x)
{
	struct executor_call *first = NULL;

	for (size_t i = 0; i < x->n; i++) {
		struct executor_call *c = &x->calls[i];
		if (c->state == CALL_EXECUTING && !c->read_only)
			return NULL; /* it runs alone */
		if (c->state == CALL_QUEUED && !first)
			first = c; /* no call overtakes a queued one: a Read behind an Edit sees the edit */
	}
	if (!first)
		return NULL;
	if (first->read_only)
		return x->executing < x->max_concurrency ? first : NULL;
	return x->executing == 0 ? first : NULL;
}

void executor_started(struct executor *x, struct executor_call *c)
{
	if (c->state != CALL_QUEUED)
		return;
	c->state = CALL_EXECUTING;
	c->started = true;
	x->executing++;
}

static void complete(struct executor *x, struct executor_call *c)
{
	if (c->state == CALL_EXECUTING)
		x->executing--;
	c->state = CALL_COMPLETED;
}

/* Without memory for the words the result is an error without text. */
static void complete_with_error(struct executor *x, struct executor_call *c, const char *why)
{
	c->result = (struct tool_result){ .text = strdup(why), .is_error = true };
	c->result.text_len = c->result.text ? strlen(why) : 0;
	complete(x, c);
}

int executor_add(struct executor *x, struct block *use, bool read_only)
{
	if (ARRAY_GROW(x->calls, x->n, x->cap))
		return -1;
	struct executor_call *c = &x->calls[x->n++];
	*c = (struct executor_call){ .use = block_ref(use), .read_only = read_only };
	if (x->rest)
		complete_with_error(x, c, x->rest);
	return 0;
}

void executor_done(struct executor *x, struct executor_call *c, struct tool_result *res)
{
	if (c->state != CALL_QUEUED && c->state != CALL_EXECUTING) {
		tool_result_release(res); /* aborted meanwhile: it has its one result */
		return;
	}
	c->result = *res;
	c->started = c->started && res->ran;
	memset(res, 0, sizeof *res);
	complete(x, c);
	if (!c->result.cancels_siblings && !c->result.ends_run)
		return;
	x->rest = c->result.ends_run ? ended_text : sibling_text;
	for (struct executor_call *later = c + 1; later < x->calls + x->n; later++)
		if (later->state == CALL_QUEUED)
			complete_with_error(x, later, x->rest);
}

struct executor_call *executor_find(struct executor *x, const char *tool_use_id)
{
	for (size_t i = 0; i < x->n; i++)
		if (x->calls[i].use->id && strcmp(x->calls[i].use->id, tool_use_id) == 0)
			return &x->calls[i];
	return NULL;
}

struct executor_call *executor_ready(const struct executor *x)
{
	for (size_t i = 0; i < x->n; i++)
		if (x->calls[i].state != CALL_YIELDED)
			return x->calls[i].state == CALL_COMPLETED ? &x->calls[i] : NULL;
	return NULL;
}

struct executor_call *executor_yield(struct executor *x)
{
	struct executor_call *c = executor_ready(x);

	if (c)
		c->state = CALL_YIELDED;
	return c;
}

bool executor_idle(const struct executor *x)
{
	for (size_t i = 0; i < x->n; i++)
		if (x->calls[i].state == CALL_QUEUED || x->calls[i].state == CALL_EXECUTING)
			return false;
	return true;
}

bool executor_has_acted(const struct executor *x)
{
	for (size_t i = 0; i < x->n; i++)
		if (x->calls[i].started && !x->calls[i].read_only)
			return true;
	return false;
}

void executor_abort(struct executor *x, const char *why)
{
	for (size_t i = 0; i < x->n; i++)
		if (x->calls[i].state == CALL_QUEUED || x->calls[i].state == CALL_EXECUTING)
			complete_with_error(x, &x->calls[i], why);
}
