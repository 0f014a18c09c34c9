/* What the loop emits, as short lines for assertions and for the eye. */
#include "world.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* FNV-1a, eight bytes at a time: two runs of the same seed must give the same. */
void sim_digest(struct sim *s, const void *p, size_t n)
{
	const unsigned char *at = p;
	uint64_t h = s->digest;

	for (; n >= 8; n -= 8, at += 8) {
		uint64_t v;
		memcpy(&v, at, 8);
		h = (h ^ v) * 1099511628211u;
	}
	while (n--)
		h = (h ^ *at++) * 1099511628211u;
	s->digest = h;
}

void sim_add(struct sim *s, const char *fmt, ...)
{
	char line[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof line, fmt, ap);
	va_end(ap);
	sim_digest(s, line, strlen(line));
	if (s->nlines < SIM_MAX_LINES)
		s->lines[s->nlines++] = strdup(line);
}

static void see_assistant(struct sim *s, const struct event_assistant *a)
{
	const struct block *b = a->block;

	if (a->error) {
		sim_add(s, "synthetic %s %.600s", a->error, a->text);
		return;
	}
	sim_add(s, "assistant %.600s %s%s%s",
	        b ? (b->kind == BLOCK_TOOL_USE ? b->name
	             : b->text                 ? b->text
	                                       : "-")
	          : "(empty)",
	        b && b->id ? b->id : "", a->stop_reason ? " =" : "", a->stop_reason ? a->stop_reason : "");
}

static void see_user(struct sim *s, const struct event_user *u)
{
	const struct block *b = u->block;

	if (b->kind != BLOCK_TOOL_RESULT) {
		sim_add(s, "user %.600s", b->text);
		return;
	}
	char *text = block_result_text(b);
	sim_add(s, "result %s %s%.600s", b->id, b->is_error ? "error " : "", text ? text : "-");
	free(text);
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

static void see_transition(struct sim *s, const struct event_transition *t)
{
	size_t n = strlen(s->trace);

	snprintf(s->trace + n, sizeof s->trace - n, "%s ", t->reason);
	sim_digest(s, t->reason, strlen(t->reason));
}

static void see_system(struct sim *s, const struct event *ev)
{
	switch (ev->kind) {
	case EVENT_API_RETRY:
		sim_add(s, "retry %d %lld %d %s", ev->u.retry.attempt, (long long)ev->u.retry.delay_ms,
		        ev->u.retry.error_status, ev->u.retry.category);
		break;
	case EVENT_PERMISSION_DENIED:
		sim_add(s, "denied %s", ev->u.denied.tool_name);
		break;
	case EVENT_TOMBSTONE:
		sim_add(s, "tombstone %zu", ev->u.tombstone.n);
		break;
	case EVENT_NOTICE:
		sim_add(s, "notice %s", ev->u.notice.code);
		break;
	case EVENT_CONTEXT:
		sim_add(s, "context %s", ev->u.context.step);
		break;
	case EVENT_STATUS:
		sim_add(s, "status %s%s%s%s%s", ev->u.status.status ? ev->u.status.status : "null",
		        ev->u.status.compact_result ? " " : "",
		        ev->u.status.compact_result ? ev->u.status.compact_result : "",
		        ev->u.status.compact_error ? ": " : "",
		        ev->u.status.compact_error ? ev->u.status.compact_error : "");
		break;
	case EVENT_COMPACT_BOUNDARY:
		sim_add(s, "compact %s", ev->u.compact.reactive ? "reactive" : "auto");
		break;
	case EVENT_MODEL_SWITCH:
		sim_add(s, "switch %s %s", ev->u.model_switch.from, ev->u.model_switch.to);
		break;
	default:
		break;
	}
}

int sim_emit(void *ctx, struct event *ev, struct error *e)
{
	struct sim *s = ctx;

	if (s->stdout_gone_at && s->clock >= s->stdout_gone_at) {
		s->w->unread = true;
		return error_set(e, ERR_GONE, "stdout is gone");
	}
	snprintf(ev->uuid, sizeof ev->uuid, "00000000-0000-4000-9000-%012u", s->w->events);
	sim_check(s, &(struct step){ .stage = AT_EVENT, .event = ev });
	if (ev->kind == EVENT_RESULT)
		sim_check(s, &(struct step){ .stage = AT_RESULT, .event = ev });
	witness_event(s, ev);
	switch (ev->kind) {
	case EVENT_INIT:
		sim_add(s, "init");
		break;
	case EVENT_ASSISTANT:
		see_assistant(s, &ev->u.assistant);
		break;
	case EVENT_USER:
		see_user(s, &ev->u.user);
		break;
	case EVENT_TRANSITION:
		see_transition(s, &ev->u.transition);
		break;
	case EVENT_RESULT:
		see_result(s, &ev->u.result);
		break;
	default:
		see_system(s, ev);
	}
	return 0;
}
