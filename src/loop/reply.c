#include "loop/state.h"
#include "record/resume.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void reply_init(struct reply *a)
{
	*a = (struct reply){ .usage = USAGE_UNKNOWN };
}

void reply_release(struct reply *a)
{
	free(a->message_id);
	free(a->model);
	message_unref(a->message);
	free(a->uuids);
	free(a->stop_reason);
	free(a->stop_sequence);
	free(a->stop_details);
	reply_init(a);
}

/* A copy, or NULL for NULL; notes when memory ran out. */
static char *copy(struct loop *l, const char *s)
{
	if (!s)
		return NULL;
	char *p = strdup(s);
	if (!p)
		l->nomem = true;
	return p;
}

void reply_take_start(struct loop *l, const struct model_event *ev)
{
	struct reply *a = &l->reply;

	bool silent = a->silent;
	reply_release(a);
	a->silent = silent;
	a->message_id = copy(l, ev->message_id ? ev->message_id : "");
	a->model = copy(l, ev->model && *ev->model ? ev->model : loop_model(l));
	a->usage = ev->usage;
	a->message = message_new(ROLE_ASSISTANT);
	if (!a->message)
		l->nomem = true;
}

/* A line that a tombstone would have to name. */
static void note_line(struct loop *l, const struct event *ev)
{
	struct reply *a = &l->reply;
	char(*grown)[UUID_LEN + 1] = realloc(a->uuids, (a->nuuids + 1) * sizeof *grown);
	if (!grown) {
		l->nomem = true;
		return;
	}
	a->uuids = grown;
	memcpy(a->uuids[a->nuuids++], ev->uuid, sizeof ev->uuid);
}

static void emit_line(struct loop *l, const struct block *block, bool last)
{
	struct reply *a = &l->reply;
	struct event ev = { .kind = EVENT_ASSISTANT };

	ev.u.assistant = (struct event_assistant){
		.message_id = a->message_id,
		.model = a->model,
		.block = block,
		.usage = &a->usage,
		.stop_reason = last ? a->stop_reason : NULL,
		.stop_sequence = last ? a->stop_sequence : NULL,
	};
	loop_emit(l, &ev);
	note_line(l, &ev);
}

void reply_emit_withdrawn(struct loop *l, const struct block *result)
{
	struct event ev = { .kind = EVENT_USER };

	ev.u.user = (struct event_user){ .block = result };
	loop_emit(l, &ev);
	note_line(l, &ev);
}

static bool usable_id(const char *id)
{
	return id && *id && id[strspn(id, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")] == '\0';
}

static bool id_taken(const struct loop *l, const char *id)
{
	const struct message *m = l->reply.message;

	if (calls_is_stray(l, id))
		return true;
	for (size_t i = 0; i < m->n; i++)
		if (m->blocks[i]->kind == BLOCK_TOOL_USE && !strcmp(m->blocks[i]->id, id))
			return true;
	return history_has_tool_use(l->state.messages, id);
}

#define NAME_MOST 40 /* what all that takes OpenAI's ids takes */

static bool name_is_free(const struct loop *l, const char *base, unsigned n, char id[NAME_MOST + 1])
{
	snprintf(id, NAME_MOST + 1, "%.*s_%u", NAME_MOST - 11, base, n);
	return !id_taken(l, id);
}

/* Ids are unique in a conversation: one that was used before, or that the API would refuse to take back, gets another
 * name. It is the next number that is free, looked for in few steps where a server gives all calls the same id: with
 * the same answers the same name, or no such run could be replayed. */
static struct block *rename_if_needed(struct loop *l, struct block *b)
{
	const char *base = usable_id(b->id) ? b->id : "toolu";
	unsigned taken = 1, open = 2;
	char id[NAME_MOST + 1];

	if (usable_id(b->id) && !id_taken(l, b->id))
		return b;
	while (!name_is_free(l, base, open, id)) {
		taken = open;
		open *= 2;
	}
	while (open - taken > 1) {
		unsigned middle = taken + (open - taken) / 2;
		*(name_is_free(l, base, middle, id) ? &open : &taken) = middle;
	}
	name_is_free(l, base, open, id);
	struct block *renamed = block_with_id(b, id);
	block_unref(b);
	return renamed;
}

void reply_take_block_start(struct loop *l)
{
	struct reply *a = &l->reply;

	a->open++;
	if (a->message)
		a->whole = a->message->n; /* the answer goes on behind them: they were not cut */
}

/* Whether a block that is complete was also meant to end there. */
static bool stops_by_itself(const struct reply *a)
{
	return a->stop_reason && !reply_is_cut(a) && !reply_is_refusal(a);
}

void reply_take_block(struct loop *l, struct block *b)
{
	struct reply *a = &l->reply;

	a->open--;
	if (!a->message)
		return;
	if (block_is_blank(b)) {
		a->whole = a->message->n;
		return;
	}
	b = block_ref(b);
	if (b->kind == BLOCK_TOOL_USE && !a->silent)
		b = rename_if_needed(l, b);
	if (!b || message_add(a->message, b)) {
		l->nomem = true;
		return;
	}
	/* of blocks that overlap the one that ends last is where a cut would be */
	size_t behind = a->message->n - !stops_by_itself(a);
	if (a->whole < behind)
		a->whole = behind;
	/* A block's line goes out when the next block is there: the last one waits for acceptance. */
	while (!a->silent && a->emitted + 1 < a->message->n)
		emit_line(l, a->message->blocks[a->emitted++], false);
}

void reply_take_stop(struct loop *l, const struct model_end *end)
{
	struct reply *a = &l->reply;

	free(a->stop_reason);
	free(a->stop_sequence);
	free(a->stop_details);
	a->usage = end->usage;
	a->stop_reason = copy(l, end->stop_reason);
	a->stop_sequence = copy(l, end->stop_sequence);
	a->stop_details = copy(l, end->stop_details);
	if (a->message && stops_by_itself(a))
		a->whole = a->message->n;
}

void reply_take_end(struct loop *l, const struct model_end *end)
{
	if (!l->reply.message) { /* the stream ended before its message_start */
		struct model_event none = { .message_id = "", .usage = USAGE_UNKNOWN };
		reply_take_start(l, &none);
	}
	reply_take_stop(l, end);
}

bool reply_is_complete(const struct reply *a)
{
	return a->message && a->stop_reason && !a->open;
}

bool reply_is_refusal(const struct reply *a)
{
	return a->stop_reason && !strcmp(a->stop_reason, "refusal");
}

bool reply_is_cut(const struct reply *a)
{
	return a->stop_reason &&
	       (!strcmp(a->stop_reason, "max_tokens") || !strcmp(a->stop_reason, "model_context_window_exceeded"));
}

void reply_accept_lines(struct loop *l)
{
	struct reply *a = &l->reply;
	size_t n = a->message->n;

	if (a->recorded) /* they are out */
		return;
	if (a->emitted == n) { /* no block is left to carry the mark of acceptance */
		emit_line(l, NULL, true);
		return;
	}
	while (a->emitted < n) {
		size_t i = a->emitted++;
		emit_line(l, a->message->blocks[i], i + 1 == n);
	}
}

void reply_tombstone(struct loop *l)
{
	struct reply *a = &l->reply;
	bool paid = a->usage.input >= 0 || a->usage.output >= 0;

	if (!a->message || a->silent || (!a->nuuids && !paid))
		return; /* nobody has seen anything of it */
	struct event ev = { .kind = EVENT_TOMBSTONE };
	ev.u.tombstone = (struct event_tombstone){
		.uuids = (const char(*)[UUID_LEN + 1]) a->uuids,
		.n = a->nuuids,
		.message_id = a->message_id,
		.model = loop_model(l),
		.usage = &a->usage,
	};
	loop_emit(l, &ev);
}

static void drop_block(struct reply *a, size_t i)
{
	struct message *m = a->message;

	block_unref(m->blocks[i]);
	memmove(m->blocks + i, m->blocks + i + 1, (m->n - i - 1) * sizeof *m->blocks);
	m->n--;
	a->emitted -= i < a->emitted;
	a->queued -= i < a->queued;
	a->whole -= i < a->whole;
}

void reply_drop_incomplete(struct loop *l)
{
	struct reply *a = &l->reply;
	struct message *m = a->message;

	while (m->n && block_is_server_call(m->blocks[m->n - 1])) /* it has not answered, and will not */
		drop_block(a, m->n - 1);
	if (m->n > a->whole && m->blocks[m->n - 1]->kind == BLOCK_TOOL_USE)
		drop_block(a, m->n - 1);
	for (size_t i = m->n; i-- > 0;)
		if (m->blocks[i]->kind == BLOCK_THINKING && (!m->blocks[i]->text || !*m->blocks[i]->text))
			drop_block(a, i);
	/* the API takes no answer back that ends in thinking */
	while (m->n && block_is_thinking(m->blocks[m->n - 1]))
		drop_block(a, m->n - 1);
}

void reply_keep_broken(struct loop *l)
{
	struct reply *a = &l->reply;

	/* the end of each was seen; only of a cut answer the last one is in doubt */
	if (!reply_is_cut(a))
		a->whole = a->message->n;
	reply_drop_incomplete(l);
}

void reply_store(struct loop *l)
{
	struct reply *a = &l->reply;

	if (!a->recorded)
		usage_add(&l->account.accepted, &a->usage);
	if (a->message->n && !a->recorded) {
		if (history_add(l->state.messages, message_ref(a->message)))
			l->nomem = true;
	}
	if (reply_is_complete(a)) /* the usage of a broken one does not count it all */
		estimate_anchor(&l->estimate, &a->usage, l->state.messages);
	free(l->stop_reason);
	l->stop_reason = copy(l, a->stop_reason);
	journal_state(l);
	l->answered = !message_has_tool_use(a->message); /* else results tell what followed */
}

/* ---- an answer that an earlier process had accepted ---- */

/* Where in the conversation it stands; NULL: it was empty. */
static const struct message *recorded_message(const struct history *h, const struct resumed_answer *a)
{
	size_t behind = a->replied ? 1 : 0;

	return a->nblocks && h->n > behind && h->v[h->n - 1 - behind]->role == ROLE_ASSISTANT ? h->v[h->n - 1 - behind]
	                                                                                      : NULL;
}

/* Its turn is counted: the numbers of turns, which are those from in front of it, move back by one. */
static void leave_turn_behind(struct loop_state *st)
{
	struct compact_tracking *t = &st->compact;

	if (!st->same_turn) {
		t->last_turn -= t->in_a_row > 0;
		t->tried -= t->tried != 0;
	}
	st->same_turn = true;
}

void reply_leave_behind(struct loop *l, const struct usage *u, bool told)
{
	if (!told && u->output > 0 && __builtin_sub_overflow(l->output_before, u->output, &l->output_before))
		l->output_before = 0;
	leave_turn_behind(&l->state);
}

void reply_restore(struct loop *l)
{
	const struct resumed_answer *was = l->cfg->resume_answer;
	const struct message *m = recorded_message(l->state.messages, was);
	struct reply *a = &l->reply;

	reply_take_start(
	        l, &(struct model_event){ .message_id = was->message_id, .model = was->model, .usage = was->usage });
	a->stop_reason = copy(l, was->stop_reason);
	a->stop_sequence = copy(l, was->stop_sequence);
	a->recorded = was;
	for (size_t i = m && was->nblocks < m->n ? m->n - was->nblocks : 0; m && a->message && i < m->n; i++)
		l->nomem |= message_add(a->message, block_ref(m->blocks[i])) != 0;
	if (l->nomem)
		return;
	a->emitted = a->whole = a->queued = a->message->n;
	reply_leave_behind(l, &was->usage, was->told);
	l->undecided = true;
}

bool reply_is_replied(const struct reply *a)
{
	return a->recorded && a->recorded->replied;
}

void reply_say(struct loop *l, const char *text)
{
	if (!reply_is_replied(&l->reply))
		loop_say(l, text);
}

char *reply_text(const struct message *m, size_t *len)
{
	struct buf b = BUF_INIT(BUF_HUGE);
	size_t first = m->n;

	while (first > 0 && m->blocks[first - 1]->kind == BLOCK_TEXT)
		first--;
	for (size_t i = first; i < m->n; i++)
		buf_add(&b, m->blocks[i]->text, m->blocks[i]->text_len);
	char *text = buf_take(&b, len);
	buf_release(&b);
	return text;
}
