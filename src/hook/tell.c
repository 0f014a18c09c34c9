/* What is told of hooks: an event for each start and end if that is asked for, else of those that object, fail, or say
 * something that nobody would see. */
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

/* A part of a stream that ends with a character. Without memory there is none, and the next asking fails. */
static void put_stream(struct hooks *h, const struct output *o, struct buf *text, const char **p, size_t *n)
{
	if (text_stream(h, text, o))
		return;
	*p = buf_str(text);
	*n = utf8_floor(*p, text->len, STREAM_MAX);
}

static void warn(const struct run *run)
{
	const char *command = run->handler->decl->command;
	char shown[101] = "";

	text_short(run->h, command, strlen(command), shown, sizeof shown);
	log_warn("the %s hook '%s' (%s) %s", run->name, shown, run->handler->decl->source, run->why);
}

static bool failed(const struct child_result *res)
{
	return res && res->exited && res->status;
}

static const char *outcome(const struct run *run, const struct child_result *res)
{
	if (!res || run->cancelled)
		return "cancelled";
	return run->why[0] || failed(res) ? "error" : "success";
}

void tell_end(struct run *run, const struct child_result *res, const struct said *said)
{
	struct event ev = { .kind = EVENT_HOOK_RESPONSE };
	struct buf out = BUF_INIT(BUF_HUGE), err = BUF_INIT(BUF_HUGE);
	bool objects = said && (said->verdict != HOOK_SAYS_PASS || said->rank >= RANK_ASK);

	if (run->why[0])
		warn(run);
	if (!run->told && !objects && !run->why[0] && !run->file && !run->idle_text && !(said && failed(res)))
		return;
	ev.u.hook = about(run);
	ev.u.hook.outcome = outcome(run, res);
	ev.u.hook.why = run->why[0] ? run->why : NULL;
	ev.u.hook.file = run->file;
	if (res && res->exited && !res->error)
		ev.u.hook.exit_code = res->status;
	if (res) {
		put_stream(run->h, &res->out, &out, &ev.u.hook.out, &ev.u.hook.out_len);
		put_stream(run->h, &res->err, &err, &ev.u.hook.err, &ev.u.hook.err_len);
	}
	emit(run->h, &ev);
	buf_release(&out);
	buf_release(&err);
}

void tell_message(struct run *run, const char *message)
{
	struct event ev = { .kind = EVENT_INFORMATIONAL };

	ev.u.informational = (struct event_informational){ .content = message, .level = "warning" };
	log_warn("%s", message);
	emit(run->h, &ev);
}
