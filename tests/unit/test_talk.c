/*
 * What a reader knows of the conversation: by hand for each rule, then at random: whatever happens to the real one, the
 * writer's talk, a reader of its lines and the real conversation are the same whenever the writer was asked.
 */
#include "test.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "record/talk.h"

#define ID(n) "00000000-0000-4000-8000-00000000000" n

struct pair {
	struct talk writer, reader;
	struct history real;
	unsigned lines;
	char uuids[64][UUID_LEN + 1]; /* of the answer that comes in */
	size_t nuuids;
	size_t most;   /* of a piece */
	size_t pieces; /* that were told last */
};

static int setup(void **state)
{
	struct pair *p = calloc(1, sizeof *p);

	assert_non_null(p);
	*p = (struct pair){ .writer = TALK_INIT, .reader = TALK_INIT, .real = HISTORY_INIT, .most = SIZE_MAX };
	*state = p;
	return 0;
}

static int teardown(void **state)
{
	struct pair *p = *state;

	talk_release(&p->writer);
	talk_release(&p->reader);
	history_release(&p->real);
	free(p);
	return 0;
}

static void assert_same(const struct history *a, const struct history *b)
{
	assert_int_equal(a->n, b->n);
	assert_int_equal(a->bytes, b->bytes);
	assert_int_equal(a->weight, b->weight);
	for (size_t i = 0; i < a->n; i++) {
		assert_int_equal(a->v[i]->role, b->v[i]->role);
		assert_int_equal(a->v[i]->n, b->v[i]->n);
		for (size_t k = 0; k < a->v[i]->n; k++) {
			const struct block *x = a->v[i]->blocks[k], *y = b->v[i]->blocks[k];
			assert_string_equal(x->json, y->json);
			assert_int_equal(x->cleared, y->cleared);
			if (x->kind == BLOCK_TOOL_USE)
				assert_true(history_has_tool_use(b, x->id));
		}
	}
}

/* A line: the writer notes the block that is in use, the reader one that it has read. */
static void line(struct pair *p, enum role role, const char *uuid, struct block *b, bool ends)
{
	struct error e = ERROR_INIT;
	struct block *read = block_from_json(b->json, b->json_len, &e);

	assert_non_null(read);
	assert_int_equal(talk_line(&p->writer, role, uuid, b, ends), 0);
	assert_int_equal(talk_line(&p->reader, role, uuid, read, ends), 0);
	block_unref(read);
}

static void withdraw(struct pair *p, const char *uuid)
{
	talk_withdraw(&p->writer, uuid);
	talk_withdraw(&p->reader, uuid);
}

/* 2: there is more. */
static int ask_once(struct pair *p, struct buf *out)
{
	struct error e = ERROR_INIT;
	struct json doc;

	buf_clear(out);
	int rc = talk_tell(&p->writer, &p->real, p->most, out);
	assert_true(rc >= 0);
	if (rc) {
		assert_int_equal(json_parse(&doc, buf_str(out), out->len, JSON_UNIQUE, &e), 0);
		if (talk_set(&p->reader, &doc, json_root(&doc), &e))
			fail_msg("%s: %s", e.msg, buf_str(out));
		json_release(&doc);
	} else {
		assert_int_equal(out->len, 0);
	}
	p->pieces += rc != 0;
	return rc;
}

/* A request goes out. The list that was told last, or "" for none; the caller frees it. */
static char *ask(struct pair *p)
{
	struct buf out = BUF_INIT(BUF_HUGE);

	p->pieces = 0;
	while (ask_once(p, &out) == 2)
		;
	assert_same(&p->real, &p->writer.history);
	assert_same(&p->real, &p->reader.history);
	char *text = strdup(buf_str(&out));
	buf_release(&out);
	return text;
}

static void assert_told(struct pair *p, const char *expected)
{
	char *got = ask(p);

	assert_string_equal(got, expected);
	free(got);
}

static struct block *text(const char *s)
{
	struct block *b = block_new_text(s, strlen(s));

	assert_non_null(b);
	return b;
}

static struct block *use(const char *id)
{
	struct block *b = block_new_tool_use(id, "Bash", "{}", 2);

	assert_non_null(b);
	return b;
}

static struct block *result(const char *id, const char *s)
{
	struct block *b = block_new_tool_result(id, s, strlen(s), false);

	assert_non_null(b);
	return b;
}

static void add(struct history *h, enum role role, struct block *b)
{
	struct message *m = message_new(role);

	assert_int_equal(message_add(m, b), 0);
	assert_int_equal(history_add(h, m), 0);
}

/* With a line. */
static void say(struct pair *p, enum role role, const char *uuid, struct block *b, bool ends)
{
	line(p, role, uuid, b, ends);
	add(&p->real, role, b);
}

#define TEXT(s) "{\"type\":\"text\",\"text\":\"" s "\"}"

static void lines_make_the_conversation(void **state)
{
	struct pair *p = *state;

	add(&p->real, ROLE_USER, text("task"));
	assert_told(p, "[{\"role\":\"user\",\"content\":[" TEXT("task") "]}]");
	assert_told(p, "");
	say(p, ROLE_ASSISTANT, ID("1"), text("a"), false);
	assert_true(p->reader.open);
	say(p, ROLE_ASSISTANT, ID("2"), use("c1"), true);
	assert_false(p->reader.open);
	say(p, ROLE_USER, ID("3"), result("c1", "ok"), false);
	say(p, ROLE_USER, ID("4"), text("go on"), false);
	assert_told(p, "");
	assert_int_equal(p->real.n, 3);
	/* a word that no line tells */
	add(&p->real, ROLE_USER, text("more"));
	assert_told(p, "[{\"old\":[0,2]},{\"role\":\"user\",\"content\":[{\"old\":[2,0]},{\"old\":[2,1]}," TEXT(
	                       "more") "]}]");
	add(&p->real, ROLE_ASSISTANT, text("b"));
	assert_told(p, "[{\"old\":[0,3]},{\"role\":\"assistant\",\"content\":[" TEXT("b") "]}]");
	assert_int_equal(talk_line(&p->reader, ROLE_ASSISTANT, ID("5"), NULL, true), 0);
	assert_false(p->reader.open);
}

static void what_is_withdrawn_goes(void **state)
{
	struct pair *p = *state;

	add(&p->real, ROLE_USER, text("task"));
	free(ask(p));
	struct block *a = text("a"), *call = use("c1"), *shown = result("c1", "gone");
	line(p, ROLE_ASSISTANT, ID("1"), a, false);
	line(p, ROLE_ASSISTANT, ID("2"), call, false);
	line(p, ROLE_USER, ID("3"), shown, false);
	withdraw(p, ID("1"));
	withdraw(p, ID("2"));
	withdraw(p, ID("3"));
	withdraw(p, ID("7"));
	assert_false(p->reader.open);
	assert_told(p, "");
	/* in the middle: what stands around it is one message */
	line(p, ROLE_ASSISTANT, ID("4"), a, false);
	say(p, ROLE_USER, ID("5"), text("beside"), false);
	withdraw(p, ID("4"));
	assert_told(p, "");
	assert_int_equal(p->reader.history.n, 1);
	/* the second half of a paused answer goes, the first one stays */
	say(p, ROLE_ASSISTANT, ID("6"), text("first"), true);
	free(ask(p));
	line(p, ROLE_ASSISTANT, ID("7"), a, false);
	withdraw(p, ID("7"));
	assert_told(p, "");
	/* what was replied to is not taken back any more */
	say(p, ROLE_USER, ID("8"), text("and"), false);
	say(p, ROLE_ASSISTANT, ID("9"), text("then"), true);
	withdraw(p, ID("8"));
	assert_told(p, "");
	block_unref(a);
	block_unref(call);
	block_unref(shown);
}

static void edits_are_told(void **state)
{
	struct pair *p = *state;
	struct history draft = HISTORY_INIT;

	add(&p->real, ROLE_USER, text("task"));
	for (int i = 0; i < 4; i++) {
		char id[8];
		snprintf(id, sizeof id, "c%d", i);
		add(&p->real, ROLE_ASSISTANT, use(id));
		add(&p->real, ROLE_USER, result(id, "long"));
	}
	free(ask(p));
	struct block *cleared = result("c1", "-");
	cleared->cleared = true;
	assert_int_equal(history_replace(&p->real, 4, 0, cleared), 0);
	assert_told(p, "[{\"old\":[0,4]},{\"role\":\"user\",\"content\":[{\"cleared\":{\"type\":\"tool_result\","
	               "\"tool_use_id\":\"c1\",\"content\":\"-\"}}]},{\"old\":[5,9]}]");
	/* the oldest rounds go, and something stands for them */
	add(&draft, ROLE_USER, block_ref(p->real.v[0]->blocks[0]));
	add(&draft, ROLE_USER, text("folded"));
	assert_int_equal(history_copy(&draft, &p->real, 5, 9), 0);
	history_exchange(&p->real, &draft);
	history_release(&draft);
	assert_told(p, "[{\"role\":\"user\",\"content\":[{\"old\":[0,0]}," TEXT("folded") "]},{\"old\":[5,9]}]");
	assert_true(history_has_tool_use(&p->reader.history, "c0")); /* it was there once */
	/* the same bytes in other blocks are the same */
	assert_int_equal(history_replace(&p->real, 0, 1, text("folded")), 0);
	assert_told(p, "");
}

static void a_list_that_cannot_be_is_refused(void **state)
{
	static const struct {
		const char *list, *why;
	} wrong[] = {
		{ "{}", "no list" },
		{ "[{\"old\":[0,2]}]", "messages that are not there" },
		{ "[{\"old\":[1,0]}]", "messages that are not there" },
		{ "[{\"old\":[0]}]", "messages that are not there" },
		{ "[{\"old\":[-1,1]}]", "messages that are not there" },
		{ "[{\"role\":\"user\",\"content\":[{\"old\":[0,1]}]}]", "a block that is not there" },
		{ "[{\"role\":\"user\",\"content\":[{\"old\":[1,0]}]}]", "a block that is not there" },
		{ "[{\"role\":\"user\",\"content\":[]}]", "is no message" },
		{ "[{\"role\":\"system\",\"content\":[" TEXT("x") "]}]", "is no message" },
		{ "[7]", "is no message" },
		{ "[{\"role\":\"user\",\"content\":[7]}]", "no object" },
		{ "[{\"role\":\"user\",\"content\":[{\"type\":\"text\"}]}]", "no 'text'" },
	};
	struct pair *p = *state;

	add(&p->real, ROLE_USER, text("task"));
	free(ask(p));
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		struct error e = ERROR_INIT;
		struct json doc;
		assert_int_equal(json_parse(&doc, wrong[i].list, strlen(wrong[i].list), 0, &e), 0);
		assert_int_equal(talk_set(&p->reader, &doc, json_root(&doc), &e), -1);
		if (!strstr(e.msg, wrong[i].why))
			fail_msg("%s: %s", wrong[i].list, e.msg);
		json_release(&doc);
		assert_same(&p->real, &p->reader.history);
	}
}

/* ---- at random ---- */

static uint32_t next(uint32_t *s)
{
	*s ^= *s << 13;
	*s ^= *s >> 17;
	return *s ^= *s << 5;
}

static void new_uuid(struct pair *p, char out[UUID_LEN + 1])
{
	snprintf(out, UUID_LEN + 1, "00000000-0000-4000-8000-%012x", ++p->lines);
}

static void some_line(struct pair *p, uint32_t *s, enum role role, bool kept, bool ends)
{
	char uuid[UUID_LEN + 1], words[32];

	new_uuid(p, uuid);
	snprintf(words, sizeof words, "t%u", next(s) % 1000);
	struct block *b = text(words);
	line(p, role, uuid, b, ends);
	if (kept)
		add(&p->real, role, block_ref(b));
	else
		memcpy(p->uuids[p->nuuids++], uuid, sizeof uuid);
	block_unref(b);
}

static void some_answer(struct pair *p, uint32_t *s)
{
	unsigned n = 1 + next(s) % 4;

	if (next(s) % 3 == 0) { /* one that is withdrawn */
		p->nuuids = 0;
		for (unsigned i = 0; i < n; i++)
			some_line(p, s, ROLE_ASSISTANT, false, false);
		if (next(s) % 2)
			some_line(p, s, ROLE_USER, false, false);
		for (size_t i = 0; i < p->nuuids; i++)
			withdraw(p, p->uuids[i]);
		return;
	}
	for (unsigned i = 0; i < n; i++)
		some_line(p, s, ROLE_ASSISTANT, true, i + 1 == n);
	n = 1 + next(s) % 4;
	for (unsigned i = 0; i < n; i++)
		some_line(p, s, ROLE_USER, true, false);
}

static void some_edit(struct pair *p, uint32_t *s)
{
	struct history draft = HISTORY_INIT, *h = &p->real;
	unsigned i = next(s) % (unsigned)h->n;

	switch (next(s) % 4) {
	case 0:
		assert_int_equal(history_replace(h, i, next(s) % (unsigned)h->v[i]->n, text("other")), 0);
		h->v[i]->blocks[0]->cleared |= h->v[i]->blocks[0]->refs == 1 && next(s) % 2;
		return;
	case 1: /* words without a line */
		add(h, h->n && next(s) % 2 ? h->v[h->n - 1]->role : ROLE_USER, text("silent"));
		return;
	default: /* some rounds go */
		if (h->n < 5)
			return;
		unsigned rounds = 1 + next(s) % (unsigned)(h->n / 2 - 1);
		assert_int_equal(history_copy(&draft, h, 0, 1), 0);
		add(&draft, ROLE_USER, text("fold"));
		if (next(s) % 2) /* what the user said in one of them stays */
			add(&draft, ROLE_USER, block_ref(h->v[2]->blocks[0]));
		assert_int_equal(history_copy(&draft, h, 2 * rounds + 1, h->n), 0);
		history_exchange(h, &draft);
		history_release(&draft);
	}
}

static void any_conversation(void **state)
{
	for (uint32_t seed = 1; seed <= 300; seed++) {
		struct pair *p;
		uint32_t s = seed * 2654435761U;

		teardown(state);
		setup(state);
		p = *state;
		add(&p->real, ROLE_USER, text("task"));
		for (int step = 0; step < 40; step++) {
			while (next(&s) % 4 == 0)
				some_edit(p, &s);
			p->most = next(&s) % 2 ? SIZE_MAX : next(&s) % 400;
			free(ask(p));
			if (p->real.v[p->real.n - 1]->role == ROLE_USER || next(&s) % 4 == 0)
				some_answer(p, &s);
			else
				some_line(p, &s, ROLE_USER, true, false);
		}
	}
}

/* What is asked costs what was added: with an unchanged beginning only the end is looked at. */
static void the_beginning_is_not_looked_at(void **state)
{
	struct pair *p = *state;

	for (int i = 0; i < 50; i++) {
		say(p, ROLE_USER, ID("1"), text("u"), false);
		say(p, ROLE_ASSISTANT, ID("2"), text("a"), true);
	}
	say(p, ROLE_USER, ID("1"), text("u"), false);
	assert_told(p, "");
	/* behind its back: nobody does that, so it must go unseen */
	struct block *first = p->writer.history.v[0]->blocks[0];
	p->writer.history.v[0]->blocks[0] = text("other");
	struct buf out = BUF_INIT(BUF_HUGE);
	assert_int_equal(talk_tell(&p->writer, &p->real, SIZE_MAX, &out), 0);
	p->real.edits++;
	assert_int_equal(talk_tell(&p->writer, &p->real, SIZE_MAX, &out), 1);
	assert_string_equal(buf_str(&out), "[{\"role\":\"user\",\"content\":[" TEXT("u") "]},{\"old\":[1,101]}]");
	block_unref(first);
	buf_release(&out);
}

/* What stands there already is told in one list, however long that is: its places hold until the list is read. */
static void a_long_conversation_is_told_in_pieces(void **state)
{
	struct pair *p = *state;

	for (int i = 0; i < 50; i++) {
		add(&p->real, ROLE_USER, text("u"));
		add(&p->real, ROLE_ASSISTANT, text("a"));
	}
	add(&p->real, ROLE_USER, text("last"));
	p->most = 10 * strlen(TEXT("u"));
	assert_told(p, "[{\"old\":[0,100]},{\"role\":\"user\",\"content\":[" TEXT("last") "]}]");
	assert_int_equal(p->pieces, 11);
	assert_told(p, "");

	struct history now = HISTORY_INIT;
	assert_int_equal(history_copy(&now, &p->real, 0, 1), 0);
	assert_int_equal(history_copy(&now, &p->real, 51, 100), 0);
	history_exchange(&p->real, &now);
	history_release(&now);
	add(&p->real, ROLE_USER, text("more"));
	p->most = 1;
	assert_told(p, "[{\"old\":[0,1]},{\"old\":[51,100]},{\"role\":\"user\",\"content\":[" TEXT("more") "]}]");
	assert_int_equal(p->pieces, 1);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
		T(lines_make_the_conversation),           T(what_is_withdrawn_goes), T(edits_are_told),
		T(a_list_that_cannot_be_is_refused),      T(any_conversation),       T(the_beginning_is_not_looked_at),
		T(a_long_conversation_is_told_in_pieces),
#undef T
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
