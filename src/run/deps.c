/* The loop's seam, filled with the real world. */
#include <stdio.h>

#include "run/answers.h"
#include "run/cutoff.h"
#include "run/replay.h"

#include <string.h>

#include "base/log.h"

void world_new_id(void *ctx, char out[UUID_LEN + 1])
{
	(void)ctx;
	random_uuid(out);
}

void world_mask(void *ctx, struct buf *text)
{
	struct world *w = ctx;

	secrets_mask(w->secrets, text);
}

static struct model *model_of(struct world *w, enum model_kind kind)
{
	return kind == MODEL_SUMMARY ? w->background : w->model;
}

static int model_start(void *ctx, const struct model_request *req, struct error *e)
{
	static const char *const names[] = { [MODEL_MAIN] = "request",
		                             [MODEL_COMPACT] = "compaction request",
		                             [MODEL_SUMMARY] = "background request",
		                             [MODEL_COUNT] = "request to count tokens" };
	struct world *w = ctx;
	struct model *m = model_of(w, req->kind);

	if (!m)
		return error_set(e, ERR_BUG, "a model was asked in the background, and none was opened for that");
	if (req->kind == MODEL_COUNT)
		log_verbose("turn %d: %s to %s", req->turn, names[req->kind], req->model);
	else
		log_verbose("turn %d: %s to %s, at most %lld output tokens", req->turn, names[req->kind], req->model,
		            (long long)req->max_tokens);
	if (req->kind == MODEL_MAIN)
		toolbox_answer_begins(w->toolbox);
	if (w->lacks_key)
		return world_tell_no_key(e);
	if (m == w->model)
		w->asked = req->kind;
	w->requests += req->kind != MODEL_COUNT;
	return m->ops->start(m, req, e);
}

/* What the cancelled attempt had queued must not be taken for the next one's. */
static void model_cancel(void *ctx, enum model_kind kind)
{
	struct world *w = ctx;
	struct model *m = model_of(w, kind);

	if (!m)
		return;
	m->ops->cancel(m);
	if (kind != MODEL_SUMMARY)
		cutoff_request_over(w);
	world_drop_model_events(w, kind == MODEL_SUMMARY);
}

static enum tool_class tool_class(void *ctx, const char *name)
{
	struct world *w = ctx;

	return toolbox_class(w->toolbox, name);
}

/* As the tool did: at once, or at the place where it came. */
static int give_recorded(struct world *w, struct replay_tools *recorded, const struct block *use,
                         struct tool_result *now, struct error *e)
{
	struct moment at;
	size_t turn = 0;
	bool later = answers_comes_later(w, use->id, &at, &turn);

	if (replay_tools_start(recorded, use, now, e) || answers_take_tool(w, use->id, now, e))
		return -1;
	if (later)
		world_hold_tool(w, use->id, now, &at, turn);
	return later;
}

/* At once, or at the place where it was told. */
static int start_recorded(struct world *w, const struct block *use, struct error *e)
{
	struct moment at;
	size_t turn;

	if (!answers_take_start(w, use->id, &at, &turn) || cutoff_reached(w, &at))
		return world_tool_starts(w, use, e);
	world_hold_start(w, use, &at, turn);
	return 0;
}

static int tool_start(void *ctx, const struct block *use, struct tool_result *now, struct error *e)
{
	struct world *w = ctx;

	w->tool_calls++;
	struct replay_tools *recorded = world_replay_tools(w);
	if (recorded && replay_tools_started(recorded, use->id) && start_recorded(w, use, e))
		return -1;
	int rc = 1;
	if (!recorded)
		rc = toolbox_start(w->toolbox, use, world_on_tool, w, now, e);
	else if (!cutoff_keeps_running(w, use->id)) /* else it had no result when the run was ended */
		rc = give_recorded(w, recorded, use, now, e);
	if (rc == 0)
		answers_tell_tool(w, use->id, now, NULL);
	if (rc == 1)
		cutoff_call_started(w, use->id);
	return rc;
}

static void tool_cancel(void *ctx, const char *tool_use_id, int64_t grace_ms)
{
	struct world *w = ctx;
	struct replay_tools *recorded = world_replay_tools(w);
	struct tool_result ended = { .ran = recorded && replay_tools_started(recorded, tool_use_id) };

	if (recorded && !world_let_tool_come(w, tool_use_id))
		world_on_tool(w, tool_use_id, &ended);
	else if (!recorded)
		toolbox_cancel(w->toolbox, tool_use_id, grace_ms);
}

static bool tool_may_clear(void *ctx, const char *name)
{
	struct world *w = ctx;

	return toolbox_may_clear(w->toolbox, name);
}

static void tool_forget(void *ctx, const char *tool_use_id)
{
	struct world *w = ctx;

	toolbox_forget(w->toolbox, tool_use_id);
}

static int recent_file(void *ctx, size_t i, size_t max, struct buf *out, struct error *e)
{
	struct world *w = ctx;

	char key[24];
	int rc;

	snprintf(key, sizeof key, "%zu", i);
	if (world_replay_tools(w))
		return answers_take_text(w, "file", key, out, e);
	rc = toolbox_recent_file(w->toolbox, i, max, out, e);
	if (rc == 1)
		answers_tell_text(w, "file", key, out);
	return rc;
}

static void files_attached(void *ctx, size_t n)
{
	struct world *w = ctx;

	toolbox_files_attached(w->toolbox, n);
}

static int attachment(void *ctx, struct buf *out, struct error *e)
{
	struct world *w = ctx;
	char key[24];
	int rc;

	snprintf(key, sizeof key, "%lld", (long long)cutoff_lines(w));
	if (world_replay_tools(w))
		return answers_take_text(w, "memory", key, out, e);
	rc = world_attachment(w, out, e);
	if (rc == 1)
		answers_tell_text(w, "memory", key, out);
	return rc;
}

static int tool_shorten(void *ctx, const char *tool_use_id, struct tool_result *res, size_t allowed)
{
	struct world *w = ctx;

	return answers_shorten(w, tool_use_id, res, allowed);
}

/* Commands that were still running in the background: nobody should take their output for complete. */
static void tell_background(struct world *w)
{
	struct buf text = BUF_INIT(8192);
	struct error e = ERROR_INIT;

	buf_adds(&text, "background commands were ended with the run: ");
	if (toolbox_end_background(w->toolbox, &text)) {
		struct event notice = { .kind = EVENT_NOTICE };
		notice.u.notice = (struct event_notice){ .code = "background_ended", .text = buf_str(&text) };
		log_warn("%s", buf_str(&text));
		(void)recorder_emit(w->recorder, &notice, &e); /* the result's own line tells if stdout is gone */
	}
	buf_release(&text);
}

static void answer_withdrawn(void *ctx)
{
	struct world *w = ctx;

	toolbox_answer_withdrawn(w->toolbox);
}

static void end_children(struct world *w)
{
	if (!w->supervisor)
		return;
	supervisor_stop(w->supervisor, w->signals > 1 ? 0 : STOP_GRACE_MS);
	w->supervisor = NULL;
	if (!w->result_is_last)
		tell_background(w);
}

int world_settle(void *ctx, bool completed, struct error *e)
{
	struct world *w = ctx;

	if (!w->changing || world_more_to_come(w))
		return 0;
	end_children(w);
	int rc = world_end_changes(w, completed, e);
	if (rc == 0 && completed)
		world_end_unpacked(w);
	return rc;
}

/* When the last result is written no child is alive, and it names the run directory only if that stays. */
static void prepare_result(struct world *w, struct event *ev)
{
	const struct event_workspace *changes = world_changes(w);

	if (!world_more_to_come(w)) {
		end_children(w);
		world_tell_unplayed(w);
		world_tell_left_alone(w);
		world_stop_keeper(w);
	}
	ev->u.result.audit = w->audit;
	ev->u.result.workspace = changes;
	if (recorder_named_file(w->recorder) || (changes && (changes->changes || changes->before)))
		ev->u.result.run_dir = run_dir_made(w->run_dir);
	if (world_sum_up(w, &ev->u.result))
		log_warn("no memory is left to sum up what the session came to");
}

/* A wait that a person would take for a hang is told without -v. */
#define LONG_WAIT_MS 10000

static void tell_retry(const struct event_retry *r)
{
	static const char fmt[] = "attempt %d failed: %s; next in %lld ms";
	const char *text = r->text ? r->text : r->category;

	if (r->delay_ms >= LONG_WAIT_MS)
		log_warn(fmt, r->attempt, text, (long long)r->delay_ms);
	else
		log_verbose(fmt, r->attempt, text, (long long)r->delay_ms);
}

/* For somebody who watches a terminal while the events go elsewhere. */
static void show_progress(const struct event *ev)
{
	const struct block *b = ev->kind == EVENT_ASSISTANT ? ev->u.assistant.block : NULL;

	if (ev->kind == EVENT_INIT)
		log_progress("waiting for the model");
	else if (b && b->kind == BLOCK_TOOL_USE)
		log_progress("%s %s", b->name, b->input);
	else if (ev->kind == EVENT_TRANSITION)
		log_progress("turn %d: %s", ev->u.transition.turn, ev->u.transition.reason);
	else if (ev->kind == EVENT_STATUS && ev->u.status.status)
		log_progress("the conversation is being summarised");
	else if (ev->kind == EVENT_API_RETRY)
		log_progress("waiting %lld ms: %s", (long long)ev->u.retry.delay_ms,
		             ev->u.retry.text ? ev->u.retry.text : ev->u.retry.category);
	else if (ev->kind == EVENT_RESULT)
		log_progress_end();
}

/* Which calls a reader of the lines knows of. */
static int note_shown(struct world *w, const struct event *ev, struct error *e)
{
	const struct event_assistant *a = &ev->u.assistant;

	bool line = ev->kind == EVENT_ASSISTANT;

	if (w->answered || !line) {
		id_set_free(w->shown);
		w->shown = NULL;
	}
	w->answered = !line || a->stop_reason;
	if (line && a->block && a->block->kind == BLOCK_TOOL_USE && id_set_add_copy(&w->shown, a->block->id) < 0)
		return error_nomem(e);
	return 0;
}

int world_tool_starts(void *ctx, const struct block *use, struct error *e)
{
	struct world *w = ctx;
	struct event ev = { .kind = EVENT_TOOL_START };

	if (!w->keeps_events)
		return 0;
	answers_tell_start(w, use->id);
	ev.u.tool_start = (struct event_tool_start){ .tool_use_id = use->id,
		                                     .tool_name = use->name,
		                                     .block = id_set_has(w->shown, use->id) ? NULL : use };
	return world_emit(w, &ev, e);
}

/* Something outside has happened, or is about to: the line must outlive us. */
static bool is_point(const struct event *ev)
{
	switch (ev->kind) {
	case EVENT_ASSISTANT:
		return ev->u.assistant.stop_reason != NULL;
	case EVENT_USER:
		return ev->u.user.acted;
	case EVENT_HISTORY:
		return ev->u.history.messages != NULL && !ev->u.history.more;
	default:
		return ev->kind == EVENT_TOOL_START || ev->kind == EVENT_RESULT;
	}
}

int world_emit(void *ctx, struct event *ev, struct error *e)
{
	struct world *w = ctx;

	if (w->progress)
		show_progress(ev);
	if (ev->kind == EVENT_TRANSITION)
		log_verbose("turn %d: %s", ev->u.transition.turn, ev->u.transition.reason);
	else if (ev->kind == EVENT_CONTEXT)
		log_verbose("context: %s freed %lld of %lld tokens", ev->u.context.step,
		            (long long)ev->u.context.tokens_freed, (long long)ev->u.context.tokens_before);
	else if (ev->kind == EVENT_COMPACT_BOUNDARY)
		log_verbose("context: a summary by %s; %lld tokens became %lld", ev->u.compact.model,
		            (long long)ev->u.compact.pre_tokens, (long long)ev->u.compact.post_tokens);
	else if (ev->kind == EVENT_STATUS && ev->u.status.compact_error)
		log_verbose("context: no summary: %s", ev->u.status.compact_error);
	else if (ev->kind == EVENT_API_RETRY)
		tell_retry(&ev->u.retry);
	else if (ev->kind == EVENT_NOTICE)
		log_warn("%s", ev->u.notice.text);
	else if (ev->kind == EVENT_RESULT)
		prepare_result(w, ev);
	if (w->result_is_last || world_session_rests(w))
		return 0;
	world_session_emits(w, ev);
	cutoff_emitted(w, ev);
	int rc = recorder_emit(w->recorder, ev, e);
	if (rc == 0 && w->keeps_events && (ev->kind == EVENT_ASSISTANT || ev->kind == EVENT_TOMBSTONE))
		rc = note_shown(w, ev, e);
	if (rc == 0 && is_point(ev))
		rc = recorder_sync(w->recorder, e);
	if (rc == 0)
		rc = world_record_point(w, ev, e);
	w->began |= rc == 0 && ev->kind == EVENT_INIT;
	if (rc == 0 && ev->kind == EVENT_INIT)
		rc = world_tell_resumed(w, &ev->u.init, e) || world_tell_notes(w, e) ? -1 : 0;
	world_session_emitted(w, ev);
	return rc;
}

void world_notice(void *ctx, const char *code, const char *text)
{
	struct event ev = { .kind = EVENT_NOTICE };
	struct error e = ERROR_INIT;

	ev.u.notice = (struct event_notice){ .code = code, .text = text };
	(void)world_emit(ctx, &ev, &e); /* whether stdout is gone is seen by whoever waits next */
}

static bool output_full(void *ctx)
{
	struct world *w = ctx;

	return recorder_backlog(w->recorder) > RECORDER_HIGH_WATER;
}

/* By chance from one session to the next, and the same in a replay of one: it decides how long is waited, and so
 * whether there is time for it. */
static double random01(void *ctx)
{
	struct world *w = ctx;
	uint64_t x = w->draws++;

	for (const char *p = w->session_id; *p; p++)
		x = (x ^ (unsigned char)*p) * 0x9e3779b97f4a7c15U;
	x ^= x >> 32;
	return (double)(x * 0xbf58476d1ce4e5b9U >> 32) / 4294967296.0;
}

int64_t world_now(void *ctx)
{
	const struct world *w = ctx;

	return clock_mono_ms() + w->skew;
}

void world_deps(struct world *w, struct loop_deps *deps)
{
	*deps = (struct loop_deps){
		.ctx = w,
		.model_start = model_start,
		.model_cancel = model_cancel,
		.tool_class = tool_class,
		.tool_start = tool_start,
		.tool_cancel = tool_cancel,
		.answer_withdrawn = answer_withdrawn,
		.tool_may_clear = tool_may_clear,
		.tool_forget = tool_forget,
		.recent_file = recent_file,
		.files_attached = files_attached,
		.tool_shorten = tool_shorten,
		.hook_any = world_hook_any,
		.hook_start = world_hook_start,
		.hook_cancel = world_hook_cancel,
		.attachment = attachment,
		.user_message = world_user_message,
		.user_message_back = world_user_message_back,
		.more_to_come = world_more_to_come,
		.settle = world_settle,
		.emit = world_emit,
		.output_full = output_full,
		.random01 = random01,
		.now = cutoff_now,
		.time_is_up = cutoff_time_is_up,
		.next_event = world_next_event,
	};
}
