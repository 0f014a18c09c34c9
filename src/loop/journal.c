/*
 * The events as a record that a run can be gone on with: what its lines say of the conversation is followed (record/
 * talk.h), and before each request of the main model the rest is told, with what the loop has to remember of it.
 */
#include "base/json.h"
#include "base/json_out.h"
#include "loop/state.h"
#include "record/resume.h"

#include <limits.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* Of a conversation, in one event: so much fits into a line, which need not be kept in a file of its own then. */
#define PIECE ((size_t)512 << 10)

/* ---- lines ---- */

void journal_note(struct loop *l, const struct event *ev)
{
	const struct event_assistant *a = &ev->u.assistant;
	const struct event_user *u = &ev->u.user;
	const struct event_tombstone *t = &ev->u.tombstone;
	int failed = 0;

	if (!l->cfg->journal || !ev->uuid[0]) /* nobody has it */
		return;
	if (ev->kind == EVENT_ASSISTANT && !a->error)
		failed = talk_line(&l->talk, ROLE_ASSISTANT, ev->uuid, (struct block *)a->block,
		                   a->stop_reason != NULL);
	else if (ev->kind == EVENT_USER && !u->replay && u->block)
		failed = talk_line(&l->talk, ROLE_USER, ev->uuid, (struct block *)u->block, false);
	for (size_t i = 0; ev->kind == EVENT_TOMBSTONE && i < t->n; i++)
		talk_withdraw(&l->talk, t->uuids[i]);
	l->nomem |= failed != 0;
}

/* ---- the state ---- */

enum field_kind { FIELD_INT, FIELD_INT64, FIELD_SIZE, FIELD_UNSIGNED, FIELD_BOOL };

#define FIELD(key, member, kind)                                                                                       \
	{                                                                                                              \
		key, offsetof(struct loop, member), kind                                                               \
	}
/* Told if it is not 0. */
static const struct field {
	const char *key;
	size_t at;
	enum field_kind kind;
} fields[] = {
	FIELD("max_output", state.max_output_override, FIELD_INT64),
	FIELD("recoveries", state.max_output_recovery_count, FIELD_INT),
	FIELD("pauses", state.pauses, FIELD_INT),
	FIELD("salvages", state.salvages, FIELD_INT),
	FIELD("malformed", state.malformed, FIELD_INT),
	FIELD("nudged", state.nudged, FIELD_BOOL),
	FIELD("same_turn", state.same_turn, FIELD_BOOL),
	FIELD("new_window", state.new_window, FIELD_BOOL),
	FIELD("compact_failures", state.compact.failures, FIELD_INT),
	FIELD("compact_in_a_row", state.compact.in_a_row, FIELD_INT),
	FIELD("compact_reactive", state.attempted_reactive_compact, FIELD_BOOL),
	FIELD("nudges", state.nudges, FIELD_INT),
	FIELD("little", state.little, FIELD_INT),
	FIELD("stop_blocks", state.stop_blocks, FIELD_INT),
	FIELD("overloads", overloads, FIELD_INT),
	FIELD("without", without, FIELD_UNSIGNED),
	FIELD("without_once", without_once, FIELD_UNSIGNED),
	FIELD("cap_clamp", cap_clamp, FIELD_INT64),
	FIELD("cap_room", cap_room, FIELD_INT64),
	FIELD("window", window, FIELD_INT64),
	FIELD("anchor_bytes", estimate.anchor_bytes, FIELD_SIZE),
	FIELD("cannot_count", cannot_count, FIELD_BOOL),
	FIELD("no_compact_model", no_compact_model, FIELD_BOOL),
	FIELD("summary_failures", background.failures, FIELD_INT),
	FIELD("budget_warned", account.warned, FIELD_BOOL),
	FIELD("usage_missing", account.told_missing, FIELD_BOOL),
	FIELD("turns_warned", warned, FIELD_BOOL),
};

static int64_t field_get(const struct loop *l, const struct field *f)
{
	const char *p = (const char *)l + f->at;

	switch (f->kind) {
	case FIELD_INT:
		return *(const int *)p;
	case FIELD_INT64:
		return *(const int64_t *)p;
	case FIELD_SIZE:
		return (int64_t) * (const size_t *)p;
	case FIELD_UNSIGNED:
		return *(const unsigned *)p;
	case FIELD_BOOL:
		return *(const bool *)p;
	}
	return 0;
}

/* None is below 0; whoever could write a smaller one could have a recovery made without end. */
static void field_set(struct loop *l, const struct field *f, int64_t n)
{
	char *p = (char *)l + f->at;

	n = n < 0 ? 0 : n;
	switch (f->kind) {
	case FIELD_INT:
		*(int *)p = n < INT_MAX / 2 ? (int)n : INT_MAX / 2; /* it is counted on */
		break;
	case FIELD_INT64:
		*(int64_t *)p = n;
		break;
	case FIELD_SIZE:
		*(size_t *)p = (size_t)n;
		break;
	case FIELD_UNSIGNED:
		*(unsigned *)p = (unsigned)n;
		break;
	case FIELD_BOOL:
		*(bool *)p = n != 0;
		break;
	}
}

/* Output of this message's answers; where in it the last nudge was, and the compactions, are told as so far back. */
static int64_t said(const struct loop *l)
{
	return l->account.accepted.output - l->output_before;
}

static void key_ago(struct json_out *o, const char *key, const struct loop *l, int turn)
{
	if (turn)
		jo_kint(o, key, l->state.turn_count - turn);
}

/* Where blocks stand changes with edits alone. */
static void put_context(struct loop *l, struct json_out *o)
{
	const struct history *h = l->state.messages;

	if (!l->context_told.len || h->edits != l->context_edits || h->n <= 2) {
		buf_clear(&l->context_told);
		if (context_state_write(l->context, h, &l->context_told))
			l->nomem = true;
		l->context_edits = h->edits;
	}
	jo_key(o, "context");
	jo_raw(o, buf_str(&l->context_told), l->context_told.len);
}

/* `sent`: a request follows, which may be the last one once more. */
static void put_state(struct loop *l, bool sent, struct buf *out)
{
	struct json_out o;

	json_out_init(&o, out);
	jo_object(&o);
	jo_kstr(&o, "model", loop_model(l));
	if (sent && !loop_is_new_request(l->state.transition))
		jo_kstr(&o, "retries", continue_row(l->state.transition)->name);
	for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
		int64_t n = field_get(l, &fields[i]);
		if (n)
			jo_kint(&o, fields[i].key, n);
	}
	if (l->account.requests) /* of this process: for who counts what a session came to, see record/resume_spent.c */
		jo_kint(&o, "requests", l->account.requests);
	if (l->refused[0])
		jo_kstr(&o, "refused", l->refused);
	if (l->unsaid.len)
		jo_kstr(&o, "unsaid", buf_str(&l->unsaid));
	if (l->estimate.anchor_tokens >= 0)
		jo_kint(&o, "anchor_tokens", l->estimate.anchor_tokens);
	if (l->cfg->token_target) {
		jo_kint(&o, "said", said(l));
		jo_kint(&o, "nudged_ago", said(l) - l->state.nudged_at);
	}
	key_ago(&o, "compacted_ago", l, l->state.compact.last_turn);
	key_ago(&o, "tried_ago", l, l->state.compact.tried);
	put_context(l, &o);
	jo_end(&o);
}

/* True if it is not what was told last: that is what `state` holds then. */
static bool state_changed(struct loop *l, bool sent)
{
	struct buf now = BUF_INIT(BUF_HUGE);

	put_state(l, sent, &now);
	l->nomem |= now.failed != 0;
	bool changed = now.len != l->state_told.len || (now.len && memcmp(now.data, l->state_told.data, now.len) != 0);
	if (changed) {
		buf_release(&l->state_told);
		l->state_told = now;
	} else {
		buf_release(&now);
	}
	return changed && !l->nomem;
}

/* ---- before a request ---- */

void journal_prompt(struct loop *l, size_t from)
{
	const struct history *h = l->state.messages;
	const struct message *last = h->v[h->n - 1];

	if (h->n == l->old_messages && l->old_blocks == last->n) /* it is told already: the run goes on with it */
		return;
	struct message *m = l->cfg->journal ? message_new(ROLE_USER) : NULL;
	message_unref(l->prompt);
	l->prompt = m;
	for (size_t i = from; m && i < last->n; i++)
		l->nomem |= message_add(m, block_ref(last->blocks[i])) != 0;
	l->nomem |= l->cfg->journal && !m;
}

/* Where the prompt, which no request has held yet, stands in the last message. */
static void find_prompt(const struct loop *l, struct event_history *v)
{
	const struct history *h = l->state.messages;
	const struct message *last = h->v[h->n - 1], *p = l->prompt;
	size_t i = 0;

	if (!p || !p->n)
		return;
	while (i < last->n && last->blocks[i] != p->blocks[0])
		i++;
	v->has_prompt = i + p->n <= last->n;
	v->prompt_from = i;
	v->prompt_to = i + p->n;
}

/* All but the last piece of a conversation that is long, and new to who reads. */
static int tell_pieces(struct loop *l, struct buf *list)
{
	int told;

	while ((told = talk_tell(&l->talk, l->state.messages, PIECE, list)) == 2) {
		struct event ev = { .kind = EVENT_HISTORY,
			            .u.history = { .messages = list->data, .messages_len = list->len, .more = true } };
		loop_emit(l, &ev);
		buf_clear(list);
	}
	return told;
}

static void tell(struct loop *l, struct event_history how)
{
	struct event ev = { .kind = EVENT_HISTORY, .u.history = how };
	struct buf list = BUF_INIT(BUF_HUGE);
	const bool sent = how.sends;

	int told = tell_pieces(l, &list);
	l->nomem |= told < 0;
	find_prompt(l, &ev.u.history);
	if (told > 0) {
		ev.u.history.messages = buf_str(&list);
		ev.u.history.messages_len = list.len;
	}
	if (state_changed(l, sent))
		ev.u.history.state = buf_str(&l->state_told);
	if (!l->nomem && (told > 0 || ev.u.history.has_prompt || ev.u.history.state || (sent && l->answered))) {
		loop_emit(l, &ev);
		message_unref(l->prompt);
		l->prompt = NULL;
	}
	buf_release(&list);
}

void journal_tell(struct loop *l)
{
	if (l->cfg->journal && !l->nomem)
		tell(l, (struct event_history){ .sends = true });
	l->answered = false;
}

void journal_tell_open(struct loop *l)
{
	struct talk_lifted lines;

	if (!l->cfg->journal || l->nomem)
		return;
	if (talk_lift(&l->talk, &lines)) {
		l->nomem = true;
		return;
	}
	tell(l, (struct event_history){ .open = true });
	l->nomem |= talk_put_back(&l->talk, &lines) != 0;
}

/* An answer of an earlier process, for who reads this one's lines alone. */
static void tell_recorded(struct loop *l)
{
	const struct reply *a = &l->reply;
	const struct event_answer answer = { .message_id = a->message_id,
		                             .model = a->model,
		                             .stop_reason = a->stop_reason,
		                             .stop_sequence = a->stop_sequence,
		                             .usage = &a->usage,
		                             .blocks = a->message->n,
		                             .replied = a->recorded->replied,
		                             .went_on = a->recorded->went_on,
		                             .verified = a->recorded->verified };

	tell(l, (struct event_history){ .answer = &answer });
}

void journal_state(struct loop *l)
{
	struct event ev = { .kind = EVENT_HISTORY };

	if (!l->cfg->journal || l->nomem)
		return;
	/* what the state says of places holds for the conversation as it is: an edit is told with it, as is all of it
	 * where the record is another file */
	if (l->reply.recorded) {
		tell_recorded(l);
	} else if (l->talk.same_edits != l->state.messages->edits) {
		tell(l, (struct event_history){ 0 });
	} else if (state_changed(l, false)) {
		ev.u.history.state = buf_str(&l->state_told);
		loop_emit(l, &ev);
	}
}

/* ---- a session that goes on ---- */

static void use_model(struct loop *l, const struct json *doc)
{
	int name = json_get(doc, json_root(doc), "model");

	for (size_t i = 0; i < l->cfg->nfallbacks; i++)
		if (json_eq(doc, name, l->cfg->fallbacks[i].name) && !json_eq(doc, name, l->cfg->model))
			loop_use_model(l, i + 1);
}

static void read_ago(const struct json *doc, const char *key, int *turn)
{
	int64_t n = json_int_or(doc, json_get(doc, json_root(doc), key), 0);

	if (n > INT32_MIN && n < INT32_MAX) /* -1: before the turn that no answer was given to yet */
		*turn = (int)-n;
}

/* Not below 0, and it can be counted on. */
static int64_t read_count(const struct json *doc, const char *key)
{
	int64_t n = json_int_or(doc, json_get(doc, json_root(doc), key), 0);

	return n < 0 ? 0 : n < INT64_MAX / 2 ? n : INT64_MAX / 2;
}

static void take_state(struct loop *l, const struct json *doc)
{
	int root = json_root(doc);
	struct buf refused = BUF_INIT(sizeof l->refused - 1);

	for (int r = CONT_NONE + 1; r < CONT_COUNT; r++)
		if (json_eq(doc, json_get(doc, root, "retries"), continue_row((enum continue_reason)r)->name))
			l->state.transition = (enum continue_reason)r;
	use_model(l, doc); /* what was learned of the model comes behind it */
	for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
		field_set(l, &fields[i], json_int_or(doc, json_get(doc, root, fields[i].key), 0));
	if (!json_str(doc, json_get(doc, root, "refused"), &refused))
		memcpy(l->refused, buf_str(&refused), refused.len + 1);
	buf_release(&refused);
	l->estimate.anchor_tokens = json_int_or(doc, json_get(doc, root, "anchor_tokens"), -1);
	l->output_before = -read_count(doc, "said");
	l->state.nudged_at = said(l) - read_count(doc, "nudged_ago");
	int unsaid = json_get(doc, root, "unsaid");
	if (json_type(doc, unsaid) == JSON_STRING && json_str(doc, unsaid, &l->unsaid))
		l->nomem = true;
	read_ago(doc, "compacted_ago", &l->state.compact.last_turn);
	read_ago(doc, "tried_ago", &l->state.compact.tried);
	loop_set_marks(l);
}

/* Thinking is of a model, and may be of what stood in front of it. Not before all places in the conversation are read.
 */
static void settle_thinking(struct loop *l, bool other_model)
{
	const struct history *h = l->state.messages;
	bool at_end = h->n && l->old_messages == h->n;
	bool all = at_end && l->old_blocks == h->v[h->n - 1]->n; /* a message that the run goes on with */

	if (other_model) {
		loop_forget_model(l);
		l->overloads = 0;
	}
	if (other_model || (l->cfg->resume_moved && loop_row(l)->flags & CAT_THINKING_BOUND))
		loop_strip_thinking(l);
	if (at_end)
		l->old_messages = h->n;
	if (all)
		l->old_blocks = h->n ? h->v[h->n - 1]->n : 0;
}

int journal_resume(struct loop *l, struct error *e)
{
	const struct loop_config *cfg = l->cfg;
	struct json doc = JSON_INIT;
	bool other = false;
	int rc = 0;

	if (cfg->resume_talk) {
		l->talk = *cfg->resume_talk;
		*cfg->resume_talk = (struct talk)TALK_INIT;
	}
	if (cfg->resume_state) {
		if (json_parse(&doc, cfg->resume_state, strlen(cfg->resume_state), JSON_BORROW, e))
			return -1;
		take_state(l, &doc);
		rc = context_state_read(l->context, l->state.messages, &doc, json_get(&doc, json_root(&doc), "context"),
		                        e);
		other = !json_eq(&doc, json_get(&doc, json_root(&doc), "model"), loop_model(l));
		json_release(&doc);
	}
	l->judged = cfg->resume_batch && tools_were_judged(l);
	if (l->unsaid.len && loop_has_said(l, buf_str(&l->unsaid)))
		buf_clear(&l->unsaid);
	loop_note_warned(l);
	if (cfg->resume_batch && cfg->resume_batch->said && !loop_has_said(l, cfg->resume_batch->said))
		buf_addf(&l->unsaid, "%s%s", l->unsaid.len ? "\n" : "", cfg->resume_batch->said);
	if (cfg->resume_overloads)
		l->overloads = *cfg->resume_overloads;
	for (size_t r = 0; !rc && l->state.messages->n > 2 * r + 2; r++)
		rc = context_round_restored(l->context, l->state.messages, r);
	for (const char *const *s = cfg->resume_summaries; !rc && s && s[0] && s[1]; s += 2)
		rc = context_round_summary(l->context, s[0], s[1], strlen(s[1]));
	if (!rc && cfg->resume_talk)
		settle_thinking(l, other);
	return rc || l->nomem ? -1 : 0;
}

void journal_release(struct loop *l)
{
	talk_release(&l->talk);
	buf_release(&l->state_told);
	buf_release(&l->context_told);
	message_unref(l->prompt);
}
