/*
 * A conversation over its user messages: what lasts from one to the next, what begins anew with each, and what a
 * message is that has not been looked at yet.
 */
#include "loop/state.h"

#include <stdlib.h>
#include <string.h>

static void init(struct loop *l, const struct loop_config *cfg, const struct loop_deps *deps, struct history *history)
{
	const struct context_config context = { .microcompact_keep = cfg->context.microcompact_keep,
		                                .may_clear = deps->tool_may_clear,
		                                .forget = deps->tool_forget,
		                                .ctx = deps->ctx };
	struct error e = ERROR_INIT;

	*l = (struct loop){
		.cfg = cfg,
		.deps = deps,
		.state = { .messages = history },
		.estimate = { .anchor_tokens = -1 },
		.fixed_bytes = (cfg->system ? strlen(cfg->system) : 0) +
		               (cfg->tools_json ? strlen(cfg->tools_json) : 0),
		.failure = { .retry_after_ms = -1 },
		.began = cfg->started,
		.talk = TALK_INIT,
		.state_told = BUF_INIT(BUF_HUGE),
		.context_told = BUF_INIT(BUF_HUGE),
		.unsaid = BUF_INIT(BUF_HUGE),
	};
	executor_init(&l->executor, cfg->tool_concurrency);
	l->context = context_open(&context, &e);
	if (l->context)
		loop_use_model(l, 0);
	else
		l->nomem = true;
}

static void free_lines(char **lines, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(lines[i]);
	free(lines);
}

static void free_blocks(struct block **v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		block_unref(v[i]);
	free(v);
}

/* What is told of one message alone. */
static void forget_message(struct loop *l)
{
	free_blocks(l->denied, l->ndenied);
	free_lines(l->side_effects, l->nside_effects);
	free_lines(l->errors, l->nerrors);
	free(l->result);
	free(l->stop_reason);
	free(l->hook_end);
	call_failure_release(&l->failure);
	l->denied = NULL;
	l->side_effects = l->errors = NULL;
	l->result = l->stop_reason = l->hook_end = NULL;
	l->ndenied = l->nside_effects = l->nerrors = l->result_len = 0;
}

static void release(struct loop *l)
{
	forget_message(l);
	reply_release(&l->reply);
	buf_release(&l->unsaid);
	journal_release(l);
	session_start_clear(&l->start);
	executor_release(&l->executor);
	free_blocks(l->strays, l->nstrays);
	free(l->account.models);
	free(l->compact_error);
	context_free(l->context);
}

/* The work on a message that an earlier process had begun: its guards are those of the record. */
static bool goes_on(const struct loop *l)
{
	const struct history *h = l->state.messages;

	return l->cfg->resume_state && !l->messages && h->n && h->n == l->old_messages &&
	       h->v[h->n - 1]->n == l->old_blocks;
}

/* The guards of a message begin anew with the next; what was learned of the server and the window stays. */
static void begin(struct loop *l)
{
	const struct loop_state *was = &l->state;

	forget_message(l);
	if (!goes_on(l)) {
		l->state = (struct loop_state){
			.messages = was->messages,
			.max_output_override = was->max_output_override,
			.compact = { .failures = was->compact.failures },
		};
		l->warned = false;
		l->overloads = 0;
		l->output_before = l->account.accepted.output;
	}
	memset(l->transitions, 0, sizeof l->transitions);
	l->failed = l->interrupted = l->falls_back = false;
	l->verification = (struct verification){ .declared = l->deps->hook_any(l->deps->ctx, HOOK_VERIFY) };
	l->account.api_ms = 0;
	if (l->messages++)
		l->began = l->deps->now(l->deps->ctx);
}

void loop_message(struct loop *l, struct loop_outcome *out)
{
	begin(l);
	enum terminal_reason why = hooks_open_message(l);
	if (!why)
		why = loop_work(l);
	if (!l->signals && !l->timed_out && !l->broken && !l->nomem && l->deps->more_to_come(l->deps->ctx)) {
		loop_drop_server_calls(l); /* the next message's words follow */
		loop_say_behind(l, NULL);
	} else {
		why = hooks_end_session(l, why);
	}
	if (l->nomem) /* the next message could not stand behind what there is */
		why = TERM_INTERNAL_ERROR;
	loop_finish(l, why, out);
	loop_note_extent(l);
}

struct loop *loop_open(const struct loop_config *cfg, const struct loop_deps *deps, struct history *history,
                       struct error *e)
{
	struct loop *l = malloc(sizeof *l);

	if (!l) {
		error_nomem(e);
		return NULL;
	}
	init(l, cfg, deps, history);
	loop_note_extent(l);
	if (l->nomem)
		error_nomem(e);
	else if (!journal_resume(l, e))
		return l;
	loop_close(l);
	return NULL;
}

void loop_close(struct loop *l)
{
	if (!l)
		return;
	if (l->messages)
		hooks_end_session(l, TERM_NONE);
	release(l);
	free(l);
}

void loop_run(const struct loop_config *cfg, const struct loop_deps *deps, struct history *history,
              struct loop_outcome *out)
{
	struct error e = ERROR_INIT;
	struct loop l;

	init(&l, cfg, deps, history);
	l.old_messages = history->n;
	l.old_blocks = cfg->told_first;
	if (!l.nomem && journal_resume(&l, &e))
		loop_break(&l, &e);
	loop_message(&l, out);
	release(&l);
}
