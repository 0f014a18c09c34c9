/* What a reader of the events knows of the conversation: fed with the lines, and asked what it does not know. */
#include "record/talk.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/json_out.h"

/* ---- lines ---- */

/* An answer whose words have been replied to is not taken back any more. */
static void settle(struct talk *t)
{
	t->nnamed = 0;
	t->open = false;
}

static int remember(struct talk *t, const char *uuid, struct block *b)
{
	if (ARRAY_GROW(t->named, t->nnamed, t->named_cap))
		return -1;
	struct talk_named *named = &t->named[t->nnamed++];
	snprintf(named->uuid, sizeof named->uuid, "%s", uuid);
	named->block = b;
	return 0;
}

static enum role last_role(const struct history *h)
{
	return h->n ? h->v[h->n - 1]->role : ROLE_ASSISTANT;
}

int talk_line(struct talk *t, enum role role, const char *uuid, struct block *b, bool ends)
{
	struct message *m;

	if (role == ROLE_ASSISTANT && last_role(&t->history) == ROLE_USER)
		settle(t);
	if (role == ROLE_ASSISTANT && !t->open)
		t->open_from = t->nnamed;
	if (role == ROLE_ASSISTANT)
		t->open = !ends;
	else if (b && b->kind == BLOCK_TOOL_RESULT) /* words may come in the middle of an answer, results do not */
		t->open = false;
	if (!b || block_is_blank(b)) /* which is shown, but never stored */
		return 0;
	if (remember(t, uuid, b) || !(m = message_new(role)))
		return -1;
	if (message_add(m, block_ref(b))) {
		message_unref(m);
		return -1;
	}
	return history_add(&t->history, m);
}

static void drop_message(struct history *h, size_t i)
{
	message_unref(h->v[i]);
	memmove(h->v + i, h->v + i + 1, (h->n - i - 1) * sizeof *h->v);
	h->n--;
}

/* Message i is empty: those around it are one then, if they are of one role. Their blocks stay where they are if there
 * is no memory to say so: the two are seen to differ from the real conversation, and it is told. */
static void drop_empty(struct history *h, size_t i)
{
	drop_message(h, i);
	if (i == 0 || i >= h->n || h->v[i - 1]->role != h->v[i]->role)
		return;
	struct message *one = message_copy(h->v[i - 1]), *rest = h->v[i];
	for (size_t k = 0; one && k < rest->n; k++) {
		if (message_add(one, block_ref(rest->blocks[k]))) {
			message_unref(one);
			one = NULL;
		}
	}
	if (!one)
		return;
	message_unref(h->v[i - 1]);
	h->v[i - 1] = one;
	drop_message(h, i);
}

/* Lines are taken back soon: what they brought is near the end. */
static void drop_block(struct history *h, const struct block *b)
{
	for (size_t i = h->n; i-- > 0;) {
		struct message *m = h->v[i];
		size_t k = m->n;
		while (k > 0 && m->blocks[k - 1] != b)
			k--;
		if (!k)
			continue;
		h->bytes -= b->json_len;
		h->weight -= b->weight;
		block_unref(m->blocks[k - 1]);
		memmove(m->blocks + k - 1, m->blocks + k, (m->n - k) * sizeof *m->blocks);
		if (!--m->n)
			drop_empty(h, i);
		return;
	}
}

void talk_withdraw(struct talk *t, const char *uuid)
{
	for (size_t i = 0; i < t->nnamed; i++) {
		if (strcmp(t->named[i].uuid, uuid) != 0)
			continue;
		drop_block(&t->history, t->named[i].block);
		t->named[i] = t->named[--t->nnamed];
		t->open = false;
		return;
	}
}

static bool is_answers(const struct history *h, const struct block *b)
{
	for (size_t i = h->n; i-- > 0;)
		for (size_t k = h->v[i]->n; k-- > 0;)
			if (h->v[i]->blocks[k] == b)
				return h->v[i]->role == ROLE_ASSISTANT;
	return false;
}

int talk_lift(struct talk *t, struct talk_lifted *lifted)
{
	size_t kept = t->open_from;

	*lifted = (struct talk_lifted){ malloc((t->nnamed + 1) * sizeof *lifted->v), 0 };
	if (!lifted->v)
		return -1;
	for (size_t i = kept; t->open && i < t->nnamed; i++) {
		struct talk_named named = t->named[i];
		if (!is_answers(&t->history, named.block)) {
			t->named[kept++] = named;
			continue;
		}
		block_ref(named.block);
		drop_block(&t->history, named.block);
		lifted->v[lifted->n++] = named;
	}
	if (t->open)
		t->nnamed = kept;
	return 0;
}

int talk_put_back(struct talk *t, struct talk_lifted *lifted)
{
	int rc = 0;

	for (size_t i = 0; i < lifted->n; i++) {
		struct talk_named *named = &lifted->v[i];
		if (rc == 0)
			rc = talk_line(t, ROLE_ASSISTANT, named->uuid, named->block, false);
		block_unref(named->block);
	}
	free(lifted->v);
	*lifted = (struct talk_lifted){ 0 };
	return rc;
}

/* ---- the writer's question ---- */

static bool same_block(const struct block *a, const struct block *b)
{
	return a == b ||
	       (a->json_len == b->json_len && a->cleared == b->cleared && !memcmp(a->json, b->json, a->json_len));
}

static bool same_blocks(const struct message *a, const struct message *b, size_t from)
{
	if (a->role != b->role || a->n != b->n)
		return false;
	for (size_t i = from; i < a->n; i++)
		if (!same_block(a->blocks[i], b->blocks[i]))
			return false;
	return true;
}

/* The first messages of both that need not be looked at: they were the same, and only the end has moved since. The last
 * of them may have grown. */
static size_t known(const struct talk *t, const struct history *real)
{
	size_t n = t->same_messages;

	return real->edits == t->same_edits && n && n <= real->n && n <= t->history.n ? n - 1 : 0;
}

static bool is_told(const struct talk *t, const struct history *real)
{
	size_t first = known(t, real);

	if (t->history.n != real->n)
		return false;
	for (size_t i = first; i < real->n; i++)
		if (!same_blocks(t->history.v[i], real->v[i], i == first && first ? t->same_blocks : 0))
			return false;
	return true;
}

/* The first n messages are. */
static void note_same(struct talk *t, const struct history *real, size_t n)
{
	settle(t);
	t->same_messages = n;
	t->same_blocks = n ? real->v[n - 1]->n : 0;
	t->same_edits = real->edits;
}

/* Where each block of the talk stands, from the message `first` on. */
struct place {
	const struct block *block;
	size_t message, at;
};
struct places {
	struct place *v;
	size_t size; /* a power of two */
};

static struct place *slot(const struct places *p, const struct block *b)
{
	size_t i = (size_t)(((uintptr_t)b >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> 20) & (p->size - 1);

	while (p->v[i].block && p->v[i].block != b)
		i = (i + 1) & (p->size - 1);
	return &p->v[i];
}

static int places_make(struct places *p, const struct history *h, size_t first)
{
	size_t n = 0;

	for (size_t i = first; i < h->n; i++)
		n += h->v[i]->n;
	for (p->size = 16; p->size < 2 * n; p->size *= 2)
		;
	p->v = calloc(p->size, sizeof *p->v);
	if (!p->v)
		return -1;
	for (size_t i = first; i < h->n; i++)
		for (size_t k = 0; k < h->v[i]->n; k++)
			*slot(p, h->v[i]->blocks[k]) = (struct place){ h->v[i]->blocks[k], i, k };
	return 0;
}

static void put_pair(struct json_out *o, size_t a, size_t b)
{
	jo_object(o);
	jo_key(o, "old");
	jo_array(o);
	jo_int(o, (int64_t)a);
	jo_int(o, (int64_t)b);
	jo_end(o);
	jo_end(o);
}

static void put_message(struct json_out *o, const struct places *p, const struct message *m)
{
	jo_object(o);
	jo_kstr(o, "role", m->role == ROLE_USER ? "user" : "assistant");
	jo_key(o, "content");
	jo_array(o);
	for (size_t i = 0; i < m->n; i++) {
		const struct block *b = m->blocks[i];
		const struct place *at = slot(p, b);
		if (at->block) {
			put_pair(o, at->message, at->at);
			continue;
		}
		if (b->cleared) {
			jo_object(o);
			jo_key(o, "cleared");
		}
		jo_raw(o, b->json, b->json_len);
		if (b->cleared)
			jo_end(o);
	}
	jo_end(o);
	jo_end(o);
}

/* The message of the talk that is m; talk->n = there is none. */
static size_t find(const struct history *talk, const struct places *p, const struct message *m)
{
	const struct place *at = slot(p, m->blocks[0]);

	return at->block && same_blocks(talk->v[at->message], m, 0) ? at->message : talk->n;
}

static bool is_new(const struct message *m, const struct places *p)
{
	for (size_t k = 0; k < m->n; k++)
		if (slot(p, m->blocks[k])->block)
			return false;
	return true;
}

/* How many messages the list has to hold: nothing behind them is in the talk, which the list takes the place of, and
 * they are as few as make about `most` bytes. */
static size_t piece(const struct history *real, size_t first, const struct places *p, size_t most)
{
	size_t end = real->n, bytes = 0;

	while (end > first && is_new(real->v[end - 1], p))
		end--;
	for (; end < real->n && (end == first || bytes < most); end++)
		for (size_t k = 0; k < real->v[end]->n; k++)
			bytes += real->v[end]->blocks[k]->json_len;
	return end;
}

static void put_list(struct json_out *o, const struct history *talk, const struct history *real, size_t first,
                     size_t end, const struct places *p)
{
	size_t from = 0, to = first; /* messages of the talk that are next, and not written yet */

	jo_array(o);
	for (size_t i = first; i < end; i++) {
		size_t at = find(talk, p, real->v[i]);
		if (at == to && at < talk->n) {
			to++;
			continue;
		}
		if (from < to)
			put_pair(o, from, to);
		from = to = at;
		if (at < talk->n)
			to++;
		else
			put_message(o, p, real->v[i]);
	}
	if (from < to)
		put_pair(o, from, to);
	jo_end(o);
}

/* The first `keep` messages stay; behind them come those [from, to) of `rest`. */
static int go_on_with(struct history *h, size_t keep, const struct history *rest, size_t from, size_t to)
{
	while (h->n > keep) {
		struct message *m = h->v[--h->n];
		for (size_t i = 0; i < m->n; i++) {
			h->bytes -= m->blocks[i]->json_len;
			h->weight -= m->blocks[i]->weight;
		}
		message_unref(m);
	}
	return history_copy(h, rest, from, to);
}

int talk_tell(struct talk *t, const struct history *real, size_t most, struct buf *out)
{
	size_t first = known(t, real);
	struct places p = { 0 };
	struct json_out o;

	if (is_told(t, real)) {
		note_same(t, real, real->n);
		return 0;
	}
	if (places_make(&p, &t->history, first))
		return -1;
	size_t end = piece(real, first, &p, most);
	json_out_init(&o, out);
	put_list(&o, &t->history, real, first, end, &p);
	free(p.v);
	t->same_messages = 0;
	if (out->failed || go_on_with(&t->history, first, real, first, end))
		return -1;
	note_same(t, real, end);
	return end < real->n ? 2 : 1;
}

/* ---- the reader's part ---- */

static struct block *read_block(const struct json *doc, int tok, struct error *e)
{
	int inner = json_get(doc, tok, "cleared");
	bool cleared = inner >= 0 && json_get(doc, tok, "type") < 0;
	struct block *b = block_from_token(doc, cleared ? inner : tok, e);

	if (b)
		b->cleared = cleared;
	return b;
}

static int read_item(const struct talk *t, const struct json *doc, int tok, struct message *m, struct error *e)
{
	int old = json_get(doc, tok, "old");
	size_t i, k;

	if (old < 0 || json_get(doc, tok, "type") >= 0) {
		struct block *b = read_block(doc, tok, e);
		return !b ? -1 : message_add(m, b) ? error_nomem(e) : 0;
	}
	if (!json_pair(doc, old, &i, &k) || i >= t->history.n || k >= t->history.v[i]->n)
		return error_set(e, ERR_INPUT, "names a block that is not there");
	return message_add(m, block_ref(t->history.v[i]->blocks[k])) ? error_nomem(e) : 0;
}

static int read_message(const struct talk *t, const struct json *doc, int tok, struct history *out, struct error *e)
{
	int role = json_get(doc, tok, "role"), content = json_get(doc, tok, "content");
	bool user = json_eq(doc, role, "user");
	struct message *m;
	int rc = 0;

	if ((!user && !json_eq(doc, role, "assistant")) || json_type(doc, content) != JSON_ARRAY ||
	    !json_size(doc, content))
		return error_set(e, ERR_INPUT, "is no message");
	if (!(m = message_new(user ? ROLE_USER : ROLE_ASSISTANT)))
		return error_nomem(e);
	for (int item = json_first(doc, content); item >= 0 && !rc; item = json_next(doc, content, item))
		rc = read_item(t, doc, item, m, e);
	if (rc) {
		message_unref(m);
		return -1;
	}
	return history_add(out, m) ? error_nomem(e) : 0;
}

/* *left: old messages that may still be named. None stands twice, or a few lines would make more of them than fit into
 * any memory. */
static int read_entry(const struct talk *t, const struct json *doc, int tok, size_t *left, struct history *out,
                      struct error *e)
{
	int old = json_get(doc, tok, "old");
	size_t from, to;

	if (old < 0)
		return read_message(t, doc, tok, out, e);
	if (!json_pair(doc, old, &from, &to) || from > to || to > t->history.n || to - from > *left)
		return error_set(e, ERR_INPUT, "names messages that are not there");
	*left -= to - from;
	return history_copy(out, &t->history, from, to) ? error_nomem(e) : 0;
}

int talk_set(struct talk *t, const struct json *doc, int list, struct error *e)
{
	struct history rest = HISTORY_INIT;
	size_t from, keep = 0;
	int rc = 0;

	if (json_type(doc, list) != JSON_ARRAY)
		return error_set(e, ERR_INPUT, "'messages' is no list");
	int entry = json_first(doc, list);
	/* What stays as it is, at the beginning, is not touched: a long record is read in linear time. */
	if (json_pair(doc, json_get(doc, entry, "old"), &from, &keep) && from == 0 && keep <= t->history.n)
		entry = json_next(doc, list, entry);
	else
		keep = 0;
	size_t left = t->history.n - keep;
	for (; entry >= 0 && !rc; entry = json_next(doc, list, entry))
		rc = read_entry(t, doc, entry, &left, &rest, e);
	if (!rc && go_on_with(&t->history, keep, &rest, 0, rest.n))
		rc = error_nomem(e);
	if (!rc)
		settle(t);
	history_release(&rest);
	return rc;
}

void talk_release(struct talk *t)
{
	history_release(&t->history);
	free(t->named);
	*t = (struct talk)TALK_INIT;
}
