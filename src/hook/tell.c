/* What is told of hooks: an event for each start and end if that is asked for, else of those that object or break. */
#include <string.h>

#include "base/log.h"
#include "base/utf8.h"
#include "hook/internal.h"

#define STREAM_MAX ((size_t)10000) /* bytes of each stream in an event */

static void emit(struct hooks *h, struct event *ev)
{
	struct error e = ERROR_INIT;

	if (!h->cfg.emit || !h->cfg.emit(h->cfg.ctx, ev, &e))
		return;
	if (!h->lost)
		h->why = e;
	h->lost = true;
}

static struct event_hook about(const struct run *run)
{
	return (struct event_hook){ .id = run->id,
		                    .name = run->name,
		                    .event = hook_event_name(run->kind),
		                    .source = run->handler->decl->source,
		                    .exit_code = -1 };
}

static bool wants_all(const struct run *run)
{
	return run->h->cfg.tell_all || run->kind == HOOK_SESSION_START;
}

void tell_start(struct run *run)
{
	struct event ev = { .kind = EVENT_HOOK_STARTED };

	if (!wants_all(run))
		return;
	run->told = true;
	ev.u.hook = about(run);
	emit(run->h, &ev);
}

/* A part of a stream that ends with a character. */
static void put_stream(const struct output *o, const char **p, size_t *n)
{
	*p = buf_str(&o->head);
	*n = o->head.len <= STREAM_MAX ? o->head.len : utf8_floor(*p, o->head.len, STREAM_MAX);
}

static const char *outcome(const struct run *run, const struct child_result *res)
{
	if (!res || run->cancelled)
		return "cancelled";
	return run->why[0] || (res->exited && res->status) ? "error" : "success";
}

void tell_end(struct run *run, const struct child_result *res, const struct said *said)
{
	struct event ev = { .kind = EVENT_HOOK_RESPONSE };
	bool objects = said && (said->verdict != HOOK_SAYS_PASS || said->rank >= RANK_ASK);

	if (run->why[0])
		log_warn("the %s hook '%.100s' (%s) %s", run->name, run->handler->decl->command,
		         run->handler->decl->source, run->why);
	if (!run->told && !objects && !run->why[0] && !run->file)
		return;
	ev.u.hook = about(run);
	ev.u.hook.outcome = outcome(run, res);
	ev.u.hook.why = run->why[0] ? run->why : NULL;
	ev.u.hook.file = run->file;
	if (res && res->exited && !res->error)
		ev.u.hook.exit_code = res->status;
	if (res) {
		put_stream(&res->out, &ev.u.hook.out, &ev.u.hook.out_len);
		put_stream(&res->err, &ev.u.hook.err, &ev.u.hook.err_len);
	}
	emit(run->h, &ev);
}

void tell_message(struct run *run, const char *message)
{
	struct event ev = { .kind = EVENT_INFORMATIONAL };

	ev.u.informational = (struct event_informational){ .content = message, .level = "warning" };
	log_warn("%s", message);
	emit(run->h, &ev);
}
