/*
 * Runs that are cut off at some step, as by kill -9, and gone on with by another process that knows nothing but their
 * lines: made by the program's own writer, and read by its own reader.
 *
 * The loop that dies is not told: all that it does from there on has no effect, and it is told that its world is
 * broken, so that it comes to its end by itself.
 */
#include "crash.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "record/line.h"
#include "record/resume.h"

struct crash {
	struct loop_deps *deps;       /* what the loop has */
	struct loop_deps real, alive; /* the simulator's; the same behind a look at whether the end has come */
	struct buf lines;
	char session[UUID_LEN + 1];
	unsigned sessions;
	/* when it ends next */
	int left;     /* ends to come */
	int steps;    /* until then, 0 = that is not waited for */
	int requests; /* of the main model: the same */
	/* the record that is gone on with */
	struct resumed record;
	struct talk known;
	bool resumes;
	const char *next; /* the message that the process begins with; NULL: it goes on with what was begun */
	bool quiet;       /* nothing was in flight when the end came */
	uint64_t unsent;  /* the request that the end came before, with nothing in flight; 0 = none */
};

/* ---- the dead ---- */

static int dead_model_start(void *ctx, const struct model_request *req, struct error *e)
{
	(void)ctx, (void)req;
	return error_set(e, ERR_GONE, "the process is dead");
}

static void dead_model_cancel(void *ctx, enum model_kind kind)
{
	(void)ctx, (void)kind;
}

static enum tool_class dead_tool_class(void *ctx, const char *name)
{
	(void)ctx, (void)name;
	return TOOL_UNSAFE;
}

static int dead_tool_start(void *ctx, const struct block *use, struct tool_result *now, struct error *e)
{
	(void)ctx, (void)use, (void)now;
	return error_set(e, ERR_GONE, "the process is dead");
}

static void dead_tool_cancel(void *ctx, const char *id, int64_t grace)
{
	(void)ctx, (void)id, (void)grace;
}

static void dead_call(void *ctx)
{
	(void)ctx;
}

static bool dead_may_clear(void *ctx, const char *name)
{
	(void)ctx, (void)name;
	return false;
}

static void dead_forget(void *ctx, const char *id)
{
	(void)ctx, (void)id;
}

static int dead_file(void *ctx, size_t i, size_t max, struct buf *out, struct error *e)
{
	(void)ctx, (void)i, (void)max, (void)out, (void)e;
	return 0;
}

static void dead_attached(void *ctx, size_t n)
{
	(void)ctx, (void)n;
}

static int dead_shorten(void *ctx, const char *id, struct tool_result *res, size_t allowed)
{
	(void)ctx, (void)id, (void)res, (void)allowed;
	return 0;
}

static bool dead_hook_any(void *ctx, enum hook_event kind)
{
	(void)ctx, (void)kind;
	return false;
}

static int dead_hook_start(void *ctx, const struct hook_call *call, struct error *e)
{
	(void)ctx, (void)call;
	return error_set(e, ERR_GONE, "the process is dead");
}

static void dead_hook_cancel(void *ctx, const struct hook_call *call)
{
	(void)ctx, (void)call;
}

static int dead_attachment(void *ctx, struct buf *out, struct error *e)
{
	(void)ctx, (void)out, (void)e;
	return 0;
}

static struct message *dead_message(void *ctx)
{
	(void)ctx;
	return NULL;
}

static bool dead_bool(void *ctx)
{
	(void)ctx;
	return false;
}

static int dead_emit(void *ctx, struct event *ev, struct error *e)
{
	(void)ctx, (void)e;
	snprintf(ev->uuid, sizeof ev->uuid, "00000000-0000-4000-8000-ffffffffffff");
	return 0;
}

static int dead_next_event(void *ctx, int64_t deadline, struct loop_event *ev, struct error *e)
{
	(void)ctx, (void)deadline, (void)e;
	*ev = (struct loop_event){ .kind = LOOP_EV_BROKEN };
	return error_set(&ev->error, ERR_GONE, "the process is dead"), 0;
}

static void die(struct crash *c)
{
	struct loop_deps *d = c->deps;

	((struct sim *)d->ctx)->dead = true;
	c->left--;
	*d = (struct loop_deps){
		.ctx = d->ctx,
		.model_start = dead_model_start,
		.model_cancel = dead_model_cancel,
		.tool_class = dead_tool_class,
		.tool_start = dead_tool_start,
		.tool_cancel = dead_tool_cancel,
		.answer_withdrawn = dead_call,
		.tool_may_clear = dead_may_clear,
		.tool_forget = dead_forget,
		.recent_file = dead_file,
		.files_attached = dead_attached,
		.tool_shorten = dead_shorten,
		.hook_any = dead_hook_any,
		.hook_start = dead_hook_start,
		.hook_cancel = dead_hook_cancel,
		.attachment = dead_attachment,
		.user_message = dead_message,
		.user_message_back = dead_call,
		.more_to_come = dead_bool,
		.output_full = dead_bool,
		.emit = dead_emit,
		.next_event = dead_next_event,
		.random01 = c->real.random01,
		.now = c->real.now,
	};
}

/* A step: it is not made any more if this is the end. */
static bool ends_here(struct sim *s)
{
	if (!s->dead && s->crash->steps && --s->crash->steps == 0)
		die(s->crash);
	return s->dead;
}

/* ---- what is looked at before it has an effect ---- */

static void record(struct sim *s, const struct event *ev)
{
	struct crash *c = s->crash;

	line_write(&c->lines, ev, c->session, "1", false);
	buf_addc(&c->lines, '\n');
}

static int put(struct sim *s, struct event *ev, struct error *e)
{
	if (ends_here(s))
		return dead_emit(s, ev, e);
	int rc = s->crash->real.emit(s, ev, e);
	if (rc == 0)
		record(s, ev);
	return rc;
}

static bool is_interrupted(const struct resumed *r, const char *id)
{
	for (size_t i = 0; i < r->ninterrupted; i++)
		if (!strcmp(r->interrupted[i].id, id))
			return true;
	return false;
}

/* Behind init: that it goes on, and what stands for results that never came. */
static int tell_resumed(struct sim *s, struct error *e)
{
	struct crash *c = s->crash;
	const struct resumed *r = &c->record;
	struct event ev = { .kind = EVENT_RESUME };
	int rc;

	c->resumes = false;
	ev.u.resume = (struct event_resume){ .file = "run.ndjson", .lines = r->lines, .torn = r->torn };
	rc = put(s, &ev, e);
	for (size_t i = 0; r->ninterrupted && i < s->history.n; i++)
		for (size_t k = 0; rc == 0 && k < s->history.v[i]->n; k++) {
			struct event line = { .kind = EVENT_USER };
			line.u.user.block = s->history.v[i]->blocks[k];
			if (line.u.user.block->kind != BLOCK_TOOL_RESULT || !is_interrupted(r, line.u.user.block->id))
				continue;
			witness_call(s->w, line.u.user.block->id);
			rc = put(s, &line, e);
		}
	witness_settled(s->w);
	if (s->cfg.goes_on && s->cfg.resume_batch)
		witness_batch(s, s->cfg.resume_batch);
	return rc;
}

static int emit(void *ctx, struct event *ev, struct error *e)
{
	struct sim *s = ctx;
	int rc = put(s, ev, e);

	if (rc == 0 && ev->kind == EVENT_INIT && s->crash->resumes && !s->dead) {
		char uuid[UUID_LEN + 1];
		memcpy(uuid, ev->uuid, sizeof uuid);
		rc = tell_resumed(s, e);
		memcpy(ev->uuid, uuid, sizeof uuid);
	}
	return rc;
}

/* It may have an effect, and the tools know so before they start it. */
static bool acts(const struct block *use)
{
	return !sim_begins(use->name, "Safe") && !sim_begins(use->name, "Unknown") && !sim_begins(use->name, "Deny") &&
	       !sim_begins(use->name, "Refuse");
}

static int tool_start(void *ctx, const struct block *use, struct tool_result *now, struct error *e)
{
	struct sim *s = ctx;
	struct crash *c = s->crash;

	if (ends_here(s))
		return dead_tool_start(s, use, now, e);
	if (acts(use)) {
		bool shown = list_has(s->w->open_calls, s->w->nopen, use->id);
		struct event ev = { .kind = EVENT_TOOL_START };
		ev.u.tool_start = (struct event_tool_start){ use->id, use->name, shown ? NULL : use };
		if (put(s, &ev, e))
			return -1;
		if (ends_here(s))
			return dead_tool_start(s, use, now, e);
	}
	int rc = c->real.tool_start(s, use, now, e);
	if (rc == 1 && !acts(use))
		witness_refused(s, use->id); /* nothing runs before its hooks have answered */
	return rc;
}

static int hook_start(void *ctx, const struct hook_call *call, struct error *e)
{
	struct sim *s = ctx;

	return ends_here(s) ? dead_hook_start(s, call, e) : s->crash->real.hook_start(s, call, e);
}

static int next_event(void *ctx, int64_t deadline, struct loop_event *ev, struct error *e)
{
	struct sim *s = ctx;

	return ends_here(s) ? dead_next_event(s, deadline, ev, e) : s->crash->real.next_event(s, deadline, ev, e);
}

static uint64_t mix(uint64_t h, const char *text)
{
	for (; text && *text; text++)
		h = (h ^ (unsigned char)*text) * 1099511628211u;
	return (h ^ (text == NULL)) * 1099511628211u;
}

/* All that becomes bytes of the request. */
static uint64_t digest(const struct model_request *req)
{
	const char *const texts[] = { req->model,  req->system,     req->tools_json, req->thinking_json,
		                      req->effort, req->extra_json, req->refused };
	const int64_t numbers[] = { (int64_t)req->kind, req->max_tokens, (int64_t)req->without };
	uint64_t h = 14695981039346656037u;

	for (size_t i = 0; i < LENGTH(texts); i++)
		h = mix(h, texts[i]);
	for (size_t i = 0; i < LENGTH(numbers); i++)
		h = (h ^ (uint64_t)numbers[i]) * 1099511628211u;
	for (size_t i = 0; i < req->messages->n; i++) {
		const struct message *m = req->messages->v[i];
		h = (h ^ (uint64_t)m->role) * 1099511628211u;
		for (size_t k = 0; k < m->n; k++)
			h = mix(h, m->blocks[k]->json);
	}
	return h ? h : 1;
}

static int model_start(void *ctx, const struct model_request *req, struct error *e)
{
	struct sim *s = ctx;
	struct crash *c = s->crash;

	if (req->kind != MODEL_SUMMARY && c->unsent) {
		if (digest(req) != c->unsent)
			sim_problem(s, "the first request behind the record is not the one that was to be sent");
		c->unsent = 0;
	}
	if (req->kind == MODEL_MAIN && !s->dead && c->requests && --c->requests == 0) {
		/* what a session's start brings is told beside, and that a note of this process does not hold; whether
		 * the conversation may be made shorter hooks are asked anew */
		bool anew = sim_has_hook(s, HOOK_SESSION_START) || s->w->noted || s->w->notes || s->w->precompacts;
		c->unsent = anew ? 0 : digest(req);
		c->quiet = true;
		die(c);
	}
	return ends_here(s) ? dead_model_start(s, req, e) : c->real.model_start(s, req, e);
}

/* ---- the next process ---- */

static void draw_end(struct sim *s)
{
	static const uint64_t spans[] = { 12, 40, 120, 4 };
	struct crash *c = s->crash;

	c->steps = c->requests = 0;
	c->quiet = false;
	if (c->left <= 0)
		return;
	if (sim_draw(s, 3) == 0)
		c->requests = 1 + (int)sim_draw(s, 4);
	else
		c->steps = 1 + (int)sim_draw(s, spans[sim_draw(s, LENGTH(spans))]);
}

static void new_session(struct crash *c)
{
	snprintf(c->session, sizeof c->session, "00000000-0000-4000-a000-%012u", ++c->sessions);
}

static int64_t cost_of(void *ctx, const char *model, const struct usage *u)
{
	return catalog_cost(witness_row(ctx, model), u);
}

/* As the program does: from a file, which this one is. */
static int read_record(struct sim *s, struct error *e)
{
	struct crash *c = s->crash;
	int fd = memfd_create("record", MFD_CLOEXEC);
	char path[64];

	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	if (fd < 0 || write(fd, c->lines.data, c->lines.len) != (ssize_t)c->lines.len) {
		close(fd);
		return error_sys(e, "memfd");
	}
	int rc = resume_read(&(struct resume_source){ path, cost_of, s }, &c->record, e);
	close(fd);
	return rc;
}

static bool same_prompt(const struct sim *s)
{
	const struct message *was = s->crash->record.prompt;
	struct block *b = sim_words(s, s->text);
	bool same = was && was->n == 1 && !strcmp(was->blocks[0]->json, b->json);

	block_unref(b);
	return same;
}

/* What comes from outside comes to the process that is there then. */
static void outlive(struct sim *s, int64_t *when)
{
	if (*when <= s->clock || !s->cuts_talk)
		*when = 0;
}

static void forget_record(struct sim *s)
{
	s->cfg.resume_state = NULL;
	s->cfg.resume_answer = NULL;
	s->cfg.resume_batch = NULL;
	s->cfg.resume_overloads = NULL;
	s->cfg.resume_summaries = NULL;
	s->cfg.resume_talk = NULL;
	s->cfg.resume_paid = NULL;
	s->cfg.goes_on = s->cfg.resume_moved = s->cfg.resume_ended = false;
}

/* Nothing is left but the lines. */
static void forget_process(struct sim *s)
{
	struct crash *c = s->crash;

	sim_release_queue(s);
	s->running_model = s->running_background = s->running_hook = s->closing = false;
	s->running_safe = s->running_unsafe = s->tool_runs = 0;
	outlive(s, &s->signal_at);
	outlive(s, &s->second_signal_at);
	outlive(s, &s->interrupt_at);
	outlive(s, &s->full_until);
	if (!s->full_until)
		s->full_from = 0;
	s->stdout_gone_at = s->supervisor_lost_at = 0;
	sim_plan_outside(s);
	if (s->arrived) /* nobody was told of it: it is sent again */
		s->next_arrival--;
	s->arrived = NULL;
	history_release(&s->history);
	talk_release(&c->known);
	resumed_release(&c->record);
	c->resumes = false;
	s->cfg.started = s->clock;
	if (s->cfg.wall_time_ms)
		s->cfg.deadline = s->clock + s->cfg.wall_time_ms;
	forget_record(s);
	s->cfg.source = "startup";
}

static void take_record(struct sim *s)
{
	struct crash *c = s->crash;
	struct resumed *r = &c->record;

	s->history = r->history;
	r->history = (struct history)HISTORY_INIT;
	c->known = (struct talk)TALK_INIT;
	history_copy(&c->known.history, &s->history, 0, s->history.n);
	c->resumes = true;
	s->cfg.resume_state = r->loop_state;
	s->cfg.resume_summaries = (const char *const *)r->summaries;
	s->cfg.resume_talk = &c->known;
	s->cfg.resume_paid = &r->totals;
	s->cfg.goes_on = !c->next;
	s->cfg.resume_ended = r->ended;
	s->cfg.resume_answer = s->cfg.goes_on && r->answer.stop_reason ? &r->answer : NULL;
	s->cfg.resume_batch = r->batch.open ? &r->batch : NULL;
	s->cfg.resume_overloads = r->overloads_told ? &r->overloads : NULL;
	s->cfg.source = "resume";
	if (sim_one_in(s, 8)) { /* the job is another one now */
		s->cfg.system = "You are another simulation.";
		s->cfg.resume_moved = true;
	}
	if (sim_one_in(s, 8))
		s->cfg.model = "sim-x";
	if (s->cfg.resume_moved || !strcmp(s->cfg.model, "sim-x"))
		c->unsent = 0;
}

/* Of several messages the one that has no result yet is gone on with, if the record has it, or else is sent again, as a
 * program does that sees no result; behind a result the next one comes. A single one is given with each command. False:
 * there is nothing left to do. */
static bool find_next(struct sim *s, bool known)
{
	struct crash *c = s->crash;
	const struct resumed *r = &c->record;

	c->next = NULL;
	if (sim_is_single(s)) {
		if (s->cuts_talk && s->text == s->task && sim_one_in(s, 6))
			c->next = s->text = "something else [mark 1]";
		else if (!known || !same_prompt(s))
			c->next = s->text;
		return c->next || !r->ended || r->reason != TERM_COMPLETED;
	}
	if (known && r->ended != s->ended && (s->ended || same_prompt(s)))
		sim_problem(s, "the message %s its result, and the record says that it %s",
		            s->ended ? "has" : "waits for", r->ended ? "has" : "does not");
	if (s->ended)
		return (c->next = sim_next_message(s)) != NULL;
	if (!known || r->ended)
		c->next = s->text;
	else if (!same_prompt(s))
		sim_problem(s, "a message is gone on with that is another one");
	return true;
}

/* False: there is nothing left to do, or no way to. */
static bool revive(struct sim *s)
{
	struct crash *c = s->crash;
	struct error e = ERROR_INIT;

	forget_process(s);
	int rc = read_record(s, &e);
	if (rc < 0) {
		sim_problem(s, "the record cannot be read: %s", e.msg);
		return false;
	}
	if (rc == 0)
		new_session(c);
	if (!find_next(s, rc == 1)) {
		s->out = (struct loop_outcome){ .reason = TERM_COMPLETED };
		return false;
	}
	if (rc == 1)
		take_record(s);
	if (c->next)
		c->unsent = 0;
	witness_revive(s, rc == 1 ? &c->record : NULL, c->quiet);
	sim_add(s, "-- %s; the record has %zu messages, %zu calls have no result%s", s->dead ? "killed" : "again",
	        s->history.n, c->record.ninterrupted,
	        rc == 0                ? ": a fresh run"
	        : s->cfg.resume_answer ? "; the answer is to be decided on"
	        : s->cfg.goes_on       ? ""
	                               : "; the prompt is a new one");
	return !s->broken;
}

static void live(struct sim *s)
{
	struct crash *c = s->crash;

	*c->deps = c->alive;
	s->dead = false;
	draw_end(s);
	sim_run_messages(s, c->deps, c->next);
}

/* It came to an end of its own, and there may be something left to do. */
static bool comes_again(struct sim *s)
{
	if (!s->cuts_talk || s->crash->left <= 0)
		return false;
	s->crash->left--;
	sim_check(s, &(struct step){ .stage = AT_END });
	return !s->broken;
}

void sim_run_crashing(struct sim *s, struct loop_deps *deps)
{
	struct crash c = { .deps = deps,
		           .real = *deps,
		           .lines = BUF_INIT(BUF_HUGE),
		           .known = TALK_INIT,
		           .left = s->crashes,
		           .next = s->task };

	c.alive = *deps;
	c.alive.emit = emit;
	c.alive.tool_start = tool_start;
	c.alive.hook_start = hook_start;
	c.alive.next_event = next_event;
	c.alive.model_start = model_start;
	c.record.history = (struct history)HISTORY_INIT;
	s->crash = &c;
	new_session(&c);
	do
		live(s);
	while (!s->broken && (s->dead || comes_again(s)) && revive(s));
	forget_record(s);
	s->crash = NULL;
	talk_release(&c.known);
	resumed_release(&c.record);
	buf_release(&c.lines);
}

void sim_draw_crashes(struct sim *s)
{
	if (!s->crashes)
		return;
	s->crashes = 1 + (int)sim_draw(s, 3);
	if (s->cuts_talk)
		return;
	s->messages = s->arrivals = NULL;
	s->stays_open = false;
	s->interrupt_at = s->stdout_gone_at = 0;
}
