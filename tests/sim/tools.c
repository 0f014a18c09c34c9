/* Made-up tools. */
#include "world.h"

#include <stdio.h>
#include <stdlib.h>

static enum tool_class tool_class(void *ctx, const char *name)
{
	(void)ctx;
	return sim_begins(name, "Unknown") ? TOOL_UNKNOWN : sim_begins(name, "Safe") ? TOOL_READ_ONLY : TOOL_UNSAFE;
}

static void set_text(struct tool_result *r, const char *t, bool is_error)
{
	r->text = strdup(t);
	r->text_len = strlen(t);
	r->is_error = is_error;
}

static bool output_full(void *ctx)
{
	struct sim *s = ctx;

	return s->clock >= s->full_from && s->clock < s->full_until;
}

static int tool_start(void *ctx, const struct block *use, struct tool_result *now, struct error *e)
{
	struct sim *s = ctx;
	const char *ms = strstr(use->input, "\"ms\":");
	bool safe = sim_begins(use->name, "Safe");

	(void)e;
	if (sim_begins(use->name, "Unknown")) {
		set_text(now, "Error: No such tool available", true);
		now->invalid = true;
		return 0;
	}
	if (sim_begins(use->name, "Deny")) {
		set_text(now, "denied", true);
		now->denied = true;
		now->denied_reason = "mode";
		return 0;
	}
	check_start(s, use->id, safe);
	if (s->running_unsafe || (!safe && s->running_safe))
		sim_problem(s, "'%s' overlaps another call", use->name);
	if ((size_t)s->running_safe >= s->cfg.tool_concurrency)
		sim_problem(s, "more than %zu calls at once", s->cfg.tool_concurrency);
	*(safe ? &s->running_safe : &s->running_unsafe) += 1;
	s->tool_runs++;
	int64_t takes = sim_begins(use->name, "Slow") ? 100000 : ms ? atoi(ms + 5) : 10;
	struct sim_event *q = sim_at(s, s->clock + takes, LOOP_EV_TOOL);
	q->call = strdup(use->id);
	q->safe = safe;
	q->ev.tool_use_id = q->call;
	bool fails = sim_begins(use->name, "Fail");
	set_text(&q->result, fails ? "Exit code 1" : "ok", fails);
	q->result.ran = true;
	q->result.cancels_siblings = fails;
	return 1;
}

static void tool_cancel(void *ctx, const char *tool_use_id, int64_t grace_ms)
{
	struct sim *s = ctx;

	for (struct sim_event *q = s->queue; q; q = q->next) {
		if (q->ev.kind != LOOP_EV_TOOL || strcmp(q->call, tool_use_id) != 0)
			continue;
		/* a cancelled child takes half of its grace to go */
		struct sim_event *copy = sim_at(s, s->clock + grace_ms / 2, LOOP_EV_TOOL);
		copy->call = strdup(tool_use_id);
		copy->safe = q->safe;
		copy->ev.tool_use_id = copy->call;
		set_text(&copy->result, "[interrupted]", true);
		q->ev.kind = LOOP_EV_OUTPUT; /* what is left of the old event says nothing */
		return;
	}
	sim_problem(s, "cancel of '%s', which does not run", tool_use_id);
}

static void answer_withdrawn(void *ctx)
{
	struct sim *s = ctx;

	s->withdrawn_runs = s->nran;
}

void sim_tool_deps(struct loop_deps *deps)
{
	deps->tool_class = tool_class;
	deps->tool_start = tool_start;
	deps->tool_cancel = tool_cancel;
	deps->answer_withdrawn = answer_withdrawn;
	deps->output_full = output_full;
}
