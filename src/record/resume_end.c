/* The conversation where the lines end: what of an answer is kept, and what stands for results that never came. */
#include <stdlib.h>
#include <string.h>

#include "record/resume_private.h"

/* Of a line of ours, which nobody takes back. */
#define NO_LINE "00000000-0000-0000-0000-000000000000"

#define INTERRUPTED "The call was interrupted: the program ended before it had a result."
#define UNKNOWN                                                                                                        \
	"The call was interrupted: it had begun when the program ended, and it is not known how far it came and "      \
	"whether it had any effect. Look at what is there before you do it again."

void reader_forget_begun(struct reader *rd, const char *id)
{
	size_t kept = 0;

	for (size_t i = 0; i < rd->nbegun; i++) {
		struct begun b = rd->begun[i];
		if (id && strcmp(b.id, id) != 0) {
			rd->begun[kept++] = b;
			continue;
		}
		free(b.id);
		free(b.name);
		block_unref(b.block);
	}
	rd->nbegun = kept;
}

void reader_forget_answer(struct reader *rd)
{
	free(rd->answer);
	free(rd->answer_id);
	rd->answer = NULL;
	rd->answer_id = NULL;
	rd->nanswer = 0;
	rd->cut = false;
}

static const struct message *last_message(const struct reader *rd)
{
	const struct history *h = &rd->talk.history;

	return h->n ? h->v[h->n - 1] : NULL;
}

/* The newest answer, which may have been replied to. */
static const struct message *last_answer(const struct reader *rd)
{
	const struct history *h = &rd->talk.history;
	size_t i = h->n;

	while (i > 0 && i + 2 > h->n && h->v[i - 1]->role != ROLE_ASSISTANT)
		i--;
	return i > 0 && h->v[i - 1]->role == ROLE_ASSISTANT ? h->v[i - 1] : NULL;
}

/* Nothing is kept that may not stand at the end of an answer, see reply_keep_broken of the loop. */
static bool may_end(const struct block *b)
{
	return !block_is_server_call(b) && !block_is_thinking(b);
}

static bool is_unsigned(const struct block *b)
{
	return b->kind == BLOCK_THINKING && (!b->text || !*b->text);
}

/* `at_end`: no call stands behind the answer's lines. */
static void keep_answer(struct reader *rd, bool at_end)
{
	const struct message *m = last_answer(rd);

	if (!m)
		return;
	size_t n = rd->nanswer < m->n ? rd->nanswer : m->n; /* of its blocks: one for each line, the last ones */
	size_t first = m->n - n;

	for (size_t i = n; i-- > 0;) {
		const struct block *b = m->blocks[first + i];
		at_end = at_end && !may_end(b);
		if (!at_end && !is_unsigned(b))
			continue;
		talk_withdraw(&rd->talk, rd->answer[i]);
		rd->r->answer.nblocks -= rd->r->answer.nblocks > 0;
		if (last_answer(rd) != m)
			return;
	}
}

static void leave_answer_out(struct reader *rd)
{
	for (size_t i = rd->nanswer; i-- > 0;)
		talk_withdraw(&rd->talk, rd->answer[i]);
}

/* A call that has begun although its line is not out stands behind those that are. */
static int add_begun(struct reader *rd, struct error *e)
{
	for (size_t i = 0; i < rd->nbegun; i++) {
		struct block *b = rd->begun[i].block;
		if (!b)
			continue;
		if (talk_line(&rd->talk, ROLE_ASSISTANT, NO_LINE, b, false))
			return error_nomem(e);
		block_unref(b);
		rd->begun[i].block = NULL;
	}
	return 0;
}

static bool waits_for_line(const struct reader *rd)
{
	for (size_t i = 0; i < rd->nbegun; i++)
		if (rd->begun[i].block)
			return true;
	return false;
}

int reader_close_answer(struct reader *rd, struct error *e)
{
	const struct message *m = last_message(rd);

	if (rd->cut) {
		keep_answer(rd, true);
	} else if (rd->nanswer && m && m->role == ROLE_ASSISTANT) {
		if (rd->nbegun) /* what it has done cannot be undone, so that it was asked for must stand */
			keep_answer(rd, !waits_for_line(rd));
		else
			leave_answer_out(rd);
	}
	if (add_begun(rd, e))
		return -1;
	/* words behind a turn that was paused: it is over */
	m = last_message(rd);
	if (m && m->role == ROLE_USER && m->blocks[m->n - 1]->kind == BLOCK_TEXT &&
	    history_drop_server_calls(&rd->talk.history) < 0)
		return error_nomem(e);
	rd->talk.open = false;
	reader_forget_answer(rd);
	return 0;
}

static const struct begun *find_begun(const struct reader *rd, const char *id)
{
	for (size_t i = 0; i < rd->nbegun; i++)
		if (!strcmp(rd->begun[i].id, id))
			return &rd->begun[i];
	return NULL;
}

static bool has_result(const struct message *m, const char *id)
{
	for (size_t i = 0; m && i < m->n; i++)
		if (m->blocks[i]->kind == BLOCK_TOOL_RESULT && !strcmp(m->blocks[i]->id, id))
			return true;
	return false;
}

static int note_interrupted(struct resumed *r, const struct block *use, bool started)
{
	struct resumed_call *grown = realloc(r->interrupted, (r->ninterrupted + 1) * sizeof *grown);

	if (!grown)
		return -1;
	r->interrupted = grown;
	struct resumed_call *c = &grown[r->ninterrupted];
	*c = (struct resumed_call){ strdup(use->id), strdup(use->name), started };
	r->ninterrupted++;
	return c->id && c->name ? 0 : -1;
}

static int answer_call(struct reader *rd, const struct block *use)
{
	bool started = find_begun(rd, use->id) != NULL;
	rd->spent.now.tool_calls += started;
	const char *text = started ? UNKNOWN : INTERRUPTED;
	struct block *b = block_new_tool_result(use->id, text, strlen(text), true);
	int rc = b && talk_line(&rd->talk, ROLE_USER, NO_LINE, b, true) == 0 ? 0 : -1;

	block_unref(b);
	reader_open_batch(rd)->calls++;
	return rc || note_interrupted(rd->r, use, started) ? -1 : 0;
}

int reader_answer_calls(struct reader *rd, struct error *e)
{
	const struct history *h = &rd->talk.history;
	size_t at = h->n;
	int rc = 0;

	if (at && h->v[at - 1]->role == ROLE_USER)
		at--;
	if (!at)
		return 0;
	struct message *asks = message_ref(h->v[at - 1]);
	struct message *has = at < h->n ? message_ref(h->v[at]) : NULL; /* it grows in a copy of its own */
	for (size_t i = 0; rc == 0 && i < asks->n; i++) {
		const struct block *use = asks->blocks[i];
		if (use->kind == BLOCK_TOOL_USE && !has_result(has, use->id))
			rc = answer_call(rd, use);
	}
	message_unref(asks);
	message_unref(has);
	return rc ? error_nomem(e) : 0;
}
