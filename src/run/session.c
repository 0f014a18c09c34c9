/* User messages from stdin, one after the other, in one conversation. */
#include "run/session.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "run/cutoff.h"
#include "run/replay.h"
#include "run/world.h"

static void emit_notice(struct session *s, const char *code, const char *text)
{
	struct event ev = { .kind = EVENT_NOTICE };

	ev.u.notice = (struct event_notice){ .code = code, .text = text };
	(void)recorder_emit(s->w->recorder, &ev, NULL); /* whether stdout is gone is seen by whoever waits next */
}

/* "code" NUL "text" in one piece. */
static void hold(struct session *s, const char *code, const char *text)
{
	size_t n = strlen(code) + 1, m = strlen(text) + 1;
	char *both = s->nheld < HELD_MOST ? malloc(n + m) : NULL;

	if (!both) {
		s->nlost++;
		return;
	}
	memcpy(both, code, n);
	memcpy(both + n, text, m);
	s->held[s->nheld++] = both;
}

void session_notice(struct session *s, const char *code, const char *text)
{
	log_warn("%s", text);
	if (s->shown)
		emit_notice(s, code, text);
	else
		hold(s, code, text);
}

static void emit_held(struct session *s)
{
	for (size_t i = 0; i < s->nheld; i++) {
		emit_notice(s, s->held[i], s->held[i] + strlen(s->held[i]) + 1);
		free(s->held[i]);
	}
	s->nheld = 0;
	if (s->nlost)
		emit_notice(s, "input_line", "more lines of stdin were not understood, see stderr");
	s->nlost = 0;
}

static void mark(struct event *ev, const struct input_message *m, bool named)
{
	ev->u.user.replay = true;
	ev->has_uuid = named && m->uuid[0];
	if (ev->has_uuid)
		memcpy(ev->uuid, m->uuid, sizeof ev->uuid);
}

/* Shows a message again, to tell its sender that it is taken. */
static void replay(struct session *s, const struct input_message *m)
{
	struct event ev = { .kind = EVENT_USER };

	if (!m || !s->w->job->replay_messages || s->w->result_is_last)
		return;
	ev.u.user = (struct event_user){ .message = m->message };
	mark(&ev, m, true);
	(void)recorder_emit(s->w->recorder, &ev, NULL);
}

/* A message that joins the work at hand is shown by the loop, block by block; the first bears its name. */
void world_session_emits(struct world *w, struct event *ev)
{
	const struct input_message *m = w->session ? w->session->told : NULL;

	if (ev->kind != EVENT_USER || !m || !w->job->replay_messages)
		return;
	for (size_t i = 0; i < m->message->n; i++)
		if (m->message->blocks[i] == ev->u.user.block)
			mark(ev, m, i == 0);
}

bool world_session_rests(const struct world *w)
{
	const struct session *s = w->session;

	return s && s->results && !s->working;
}

void world_session_emitted(struct world *w, const struct event *ev)
{
	struct session *s = w->session;

	if (!s)
		return;
	if (ev->kind == EVENT_INIT) {
		s->shown = true;
		emit_held(s);
		replay(s, s->current);
	} else if (ev->kind == EVENT_RESULT) {
		s->working = s->shown = false;
		s->results++;
		w->result_is_last = !world_more_to_come(w);
	}
}

/* ---- what the reading of stdin calls ---- */

static void mask(void *ctx, struct buf *line)
{
	struct session *s = ctx;

	world_mask(s->w, line);
}

static void on_queued(void *ctx, const struct input_message *m)
{
	struct session *s = ctx;

	s->messages++;
	if (m->priority == INPUT_NOW && s->working)
		world_session_interrupt(s->w);
}

void world_session_interrupt(struct world *w)
{
	w->session->ended_it = true;
	world_interrupt(w);
}

static void on_control(void *ctx, const struct json *request)
{
	struct session *s = ctx;

	if (s->refusal.code)
		return;
	s->controls++;
	world_answer_control(s->w, request);
}

static void on_problem(void *ctx, const char *text, unsigned long line, bool whole)
{
	struct session *s = ctx;
	struct buf b = BUF_INIT(1000);

	(void)line;
	if (s->refusal.code)
		return;
	cutoff_problem(s->w, text, whole);
	if (whole && !s->problems && !s->messages && !s->controls && !s->current && !s->loop) {
		error_set(&s->refusal, ERR_INPUT, "stdin: %s; --input-format stream-json takes a JSON object a line",
		          text);
		return;
	}
	s->problems++;
	buf_addf(&b, "stdin: %s", text);
	session_notice(s, "input_line", buf_str(&b));
	buf_release(&b);
}

static void on_taken(void *ctx, const struct buf *line)
{
	struct session *s = ctx;

	cutoff_line(s->w, buf_str(line), line->len, s->ended_it);
	s->ended_it = false;
}

static void on_ended(void *ctx)
{
	struct session *s = ctx;

	cutoff_input_ends(s->w);
}

/* ---- the same of a replay ---- */

void world_session_line(struct world *w, const char *line, size_t n)
{
	if (w->session)
		input_line(w->session->input, line, n);
}

void world_session_problem(struct world *w, const char *text, bool whole)
{
	if (w->session)
		on_problem(w->session, text, 0, whole);
}

void world_session_input_ends(struct world *w)
{
	if (w->session)
		input_end(w->session->input);
}

/* ---- the loop's questions ---- */

struct message *world_user_message(void *ctx)
{
	struct world *w = ctx;
	struct session *s = w->session;

	if (!s)
		return NULL;
	cutoff_look(w);
	input_message_free(s->told);
	s->told = input_take_attached(s->input);
	cutoff_asked(w); /* what comes from here on was not there */
	return s->told ? message_ref(s->told->message) : NULL;
}

void world_user_message_back(void *ctx)
{
	struct session *s = ((struct world *)ctx)->session;

	input_put_back(s->input, s->told);
	s->told = NULL;
}

static bool asks_for_something(const struct input_message *m)
{
	while (m && m->silent)
		m = m->next;
	return m != NULL;
}

/* Nothing can be worked on any more, whatever waits. */
static bool is_over(struct world *w)
{
	if (!w->signo && cutoff_now(w) < w->deadline)
		return w->told_broken || recorder_gone(w->recorder);
	cutoff_over(w);
	return true;
}

/* An end of file that stands in the pipe already, behind what was read, is seen: what is the last result depends on it.
 */
#define LOOKS 3

bool world_more_to_come(void *ctx)
{
	struct world *w = ctx;
	struct session *s = w->session;

	if (!s || s->asked)
		return s && s->more;
	cutoff_asked(w);
	cutoff_look(w);
	for (int i = 0; i < LOOKS && !input_ended(s->input) && !input_waiting(s->input); i++)
		if (reactor_wait(w->reactor, 0, NULL) <= 0)
			break;
	s->asked = true;
	s->more = !is_over(w) && (!input_ended(s->input) || asks_for_something(input_waiting(s->input)));
	return s->more;
}

void world_session_pause(struct world *w, bool pause)
{
	if (w->session)
		input_pause(w->session->input, pause);
}

/* ---- the outer loop ---- */

struct outer {
	struct session s;
	struct loop_config cfg;
	struct loop_deps deps;
	struct loop_outcome out;
};

static int open_loop(struct outer *t, struct error *e)
{
	struct world *w = t->s.w;

	if (t->s.loop)
		return 0;
	world_fill_loop(w, &t->cfg);
	world_deps(w, &t->deps);
	t->s.loop = loop_open(&t->cfg, &t->deps, &w->history, e);
	return t->s.loop ? 0 : -1;
}

static int add(struct world *w, struct message *m, struct error *e)
{
	return history_add(&w->history, m) ? error_nomem(e) : 0;
}

/* What the job itself asks comes first. 1: it does. */
static int take_prompt(struct outer *t, struct error *e)
{
	struct world *w = t->s.w;
	struct message *task = w->task;

	if (w->goes_on && !t->s.loop)
		return open_loop(t, e) ? -1 : 1;
	if (!task)
		return 0;
	if (world_tell_first(w, task, e) || open_loop(t, e))
		return -1;
	w->task = NULL;
	return add(w, task, e) ? -1 : 1;
}

/* 1: it is to be worked on, 0: it only says something. */
static int take_message(struct outer *t, struct input_message *m, struct error *e)
{
	struct session *s = &t->s;

	if (world_tell_first(s->w, m->message, e) || open_loop(t, e) || add(s->w, message_ref(m->message), e)) {
		input_message_free(m);
		return -1;
	}
	if (!m->silent) {
		s->current = m;
		return 1;
	}
	replay(s, m);
	input_message_free(m);
	return 0;
}

static int wait(struct session *s, struct error *e)
{
	struct world *w = s->w;

	input_pause(s->input, recorder_backlog(w->recorder) > RECORDER_HIGH_WATER);
	if (!world_replays_input(w))
		return reactor_wait(w->reactor, w->deadline, e) < 0 ? -1 : 0;
	if (!cutoff_force(w)) /* the record ends here, and no more of stdin was there */
		input_end(s->input);
	return 0;
}

/* Waits for the next message to work on. 0: there is none, and none will come. */
static int next_message(struct outer *t, struct error *e)
{
	struct session *s = &t->s;
	int rc = take_prompt(t, e);

	while (!rc && !s->refusal.code) {
		cutoff_look(s->w);
		if (s->refusal.code || is_over(s->w))
			break;
		struct input_message *m = input_take(s->input);
		if (m)
			rc = take_message(t, m, e);
		else if (input_ended(s->input))
			break;
		else
			rc = wait(s, e);
	}
	return rc;
}

/* Everything until there is nothing to do. -1 with *e: something broke. */
static int work(struct outer *t, struct error *e)
{
	struct session *s = &t->s;
	int rc;

	while ((rc = next_message(t, e)) > 0) {
		s->asked = false;
		s->working = true;
		world_drop_interrupts(s->w);
		loop_message(s->loop, &t->out);
		s->working = s->shown = false;
		input_message_free(s->current);
		s->current = NULL;
		if (t->out.reason != TERM_COMPLETED)
			log_error("%s", t->out.error.msg);
		if (t->out.reason == TERM_INTERNAL_ERROR || t->out.signo)
			break;
	}
	return rc < 0 || input_failed(s->input, e) ? -1 : 0;
}

/* Why there was not a single message. False: there was no need for one. */
static bool why_nothing(const struct session *s, struct error *e)
{
	struct world *w = s->w;

	if (s->refusal.code)
		*e = s->refusal;
	else if (w->signo)
		error_set(e, ERR_GONE, "ended by signal %d while a message was waited for", w->signo);
	else if (cutoff_now(w) >= w->deadline)
		error_set(e, ERR_INPUT, "the wall time ended while a message was waited for");
	else if (s->problems || !s->controls)
		error_set(e, ERR_INPUT, "no user message came on stdin");
	else
		return false;
	return true;
}

/* The exit status behind the last result. */
static int status(const struct outer *t, int *died_by)
{
	struct world *w = t->s.w;

	*died_by = t->out.signo ? t->out.signo : w->signo;
	if (*died_by)
		return 128 + *died_by;
	if (t->out.reason != TERM_COMPLETED)
		return t->out.exit_code;
	if (cutoff_now(w) < w->deadline || !t->s.more)
		return t->out.exit_code;
	log_error("the wall time ended while a message was waited for");
	return terminal_exit_code(TERM_ABORTED_TOOLS, false);
}

static int converse(struct outer *t, int *code, int *died_by, struct error *e)
{
	struct session *s = &t->s;
	struct world *w = s->w;
	struct error late = ERROR_INIT;
	int rc = work(t, e);

	if (!s->results && !recorder_gone(w->recorder) && (rc || why_nothing(s, e)))
		return -1;
	w->result_is_last = true; /* hooks may still have to be told of the end */
	loop_close(s->loop);
	s->loop = NULL;
	*code = s->results ? status(t, died_by) : 0;
	if (rc) {
		log_error("%s", e->msg);
		*code = terminal_exit_code(TERM_INTERNAL_ERROR, false);
	}
	s->more = false; /* what was expected behind the last result has not come */
	if (world_settle(w, t->out.reason == TERM_COMPLETED && !rc, &late)) {
		log_error("%s", late.msg);
		*code = terminal_exit_code(TERM_INTERNAL_ERROR, false);
	}
	if (!t->out.broken && recorder_drain(w->recorder, world_drain_deadline(w), &late)) {
		log_error("%s", late.msg);
		*code = terminal_exit_code(TERM_INTERNAL_ERROR, false);
		*died_by = w->signo;
	} else {
		w->result_out = !t->out.broken;
	}
	return 0;
}

int world_converse(struct world *w, int *code, int *died_by, struct error *e)
{
	struct outer t = { .s = { .w = w }, .out = { .reason = TERM_COMPLETED } };
	struct session *s = &t.s;
	const struct job *job = w->job;
	const struct input_config cfg = { .reactor = w->reactor,
		                          .fd = world_replays_input(w) ? -1 : STDIN_FILENO,
		                          .max_line = (size_t)w->job->stdin_bytes,
		                          .mask = mask,
		                          .queued = on_queued,
		                          .control = on_control,
		                          .problem = on_problem,
		                          .taken = on_taken,
		                          .ended = on_ended,
		                          .ctx = s };
	int rc = -1;

	s->input = input_open(&cfg, e);
	w->session = s;
	if (s->input)
		rc = converse(&t, code, died_by, e);
	w->session = NULL;
	w->job = job; /* the session's own goes now */
	loop_close(s->loop);
	input_message_free(s->current);
	input_message_free(s->told);
	input_free(s->input);
	for (size_t i = 0; i < s->nheld; i++)
		free(s->held[i]);
	if (rc) { /* whoever tells why writes to stdout itself */
		recorder_drain(w->recorder, world_drain_deadline(w), NULL);
		recorder_free(w->recorder);
		w->recorder = NULL;
	}
	return rc;
}
