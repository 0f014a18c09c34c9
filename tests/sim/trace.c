/* What the loop emits, as short lines for assertions and for the eye. */
#include "world.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void sim_add(struct sim *s, const char *fmt, ...)
{
	char line[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof line, fmt, ap);
	va_end(ap);
	if (s->nlines < SIM_MAX_LINES)
		s->lines[s->nlines++] = strdup(line);
}

static void see_assistant(struct sim *s, const struct event_assistant *a)
{
	const struct block *b = a->block;

	if (a->error) {
		sim_add(s, "synthetic %s %s", a->error, a->text);
		return;
	}
	sim_add(s, "assistant %s %s%s%s",
	        b ? (b->kind == BLOCK_TOOL_USE ? b->name
	             : b->text                 ? b->text
	                                       : "-")
	          : "(empty)",
	        b && b->id ? b->id : "", a->stop_reason ? " =" : "", a->stop_reason ? a->stop_reason : "");
}

static void see_user(struct sim *s, const struct event_user *u)
{
	const struct block *b = u->block;

	if (b->kind == BLOCK_TOOL_RESULT)
		sim_add(s, "result %s %s%s", b->id, b->is_error ? "error " : "", b->text ? b->text : "-");
	else
		sim_add(s, "user %s", b->text);
}

static void see_result(struct sim *s, const struct event_result *r)
{
	const char *name = terminal_row(r->reason)->name;
	size_t n = strlen(s->trace);

	for (size_t k = 0; k < r->nside_effects; k++)
		sim_add(s, "side effect %s", r->side_effects[k]);
	sim_add(s, "end %s %d turns=%d %.*s", name, r->exit_code, r->num_turns, (int)r->result_len,
	        r->result ? r->result : "");
	snprintf(s->trace + n, sizeof s->trace - n, "%s", name);
}

int sim_emit(void *ctx, struct event *ev, struct error *e)
{
	struct sim *s = ctx;
	size_t n = strlen(s->trace);

	if (s->stdout_gone_at && s->clock >= s->stdout_gone_at)
		return error_set(e, ERR_GONE, "stdout is gone");
	if (s->ended)
		sim_problem(s, "an event after the result");
	snprintf(ev->uuid, sizeof ev->uuid, "uuid-%zu", s->nlines);
	switch (ev->kind) {
	case EVENT_INIT:
		if (s->nlines)
			sim_problem(s, "init is not the first line");
		sim_add(s, "init");
		break;
	case EVENT_ASSISTANT:
		check_assistant(s, &ev->u.assistant);
		see_assistant(s, &ev->u.assistant);
		break;
	case EVENT_USER:
		check_user(s, &ev->u.user);
		see_user(s, &ev->u.user);
		break;
	case EVENT_API_RETRY:
		sim_add(s, "retry %d %lld %d %s", ev->u.retry.attempt, (long long)ev->u.retry.delay_ms,
		        ev->u.retry.error_status, ev->u.retry.category);
		break;
	case EVENT_PERMISSION_DENIED:
		sim_add(s, "denied %s", ev->u.denied.tool_name);
		break;
	case EVENT_TRANSITION:
		snprintf(s->trace + n, sizeof s->trace - n, "%s ", ev->u.transition.reason);
		check_transition(s);
		break;
	case EVENT_TOMBSTONE:
		check_tombstone(s);
		sim_add(s, "tombstone %zu", ev->u.tombstone.n);
		break;
	case EVENT_NOTICE:
		if (strcmp(ev->u.notice.code, "stream_salvaged") != 0)
			s->history_edited = true;
		sim_add(s, "notice %s", ev->u.notice.code);
		break;
	case EVENT_CONTEXT:
		s->history_edited = true;
		sim_add(s, "context %s", ev->u.context.step);
		break;
	case EVENT_STATUS:
		sim_add(s, "status %s", ev->u.status.status ? ev->u.status.status : "null");
		break;
	case EVENT_COMPACT_BOUNDARY:
		s->history_edited = true;
		sim_add(s, "compact %s", ev->u.compact.reactive ? "reactive" : "auto");
		break;
	case EVENT_MODEL_SWITCH:
		s->history_edited = true;
		sim_add(s, "switch %s %s", ev->u.model_switch.from, ev->u.model_switch.to);
		break;
	case EVENT_RESULT:
		check_result(s, &ev->u.result);
		see_result(s, &ev->u.result);
		break;
	case EVENT_STREAM:
		break;
	}
	return 0;
}
