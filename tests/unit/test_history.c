/* Messages and the history: alternation, pairing, ids. */
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "growth.h"
#include "message/message.h"

/* A call of a server's tool, or its result. */
static struct block *of_server(bool call, char id)
{
	char json[128];
	struct error e = ERROR_INIT;

	snprintf(json, sizeof json, "{\"type\":\"%s\",\"%s\":\"srv_%c\"}",
	         call ? "server_tool_use" : "web_search_tool_result", call ? "id" : "tool_use_id", id);
	return block_from_json(json, strlen(json), &e);
}

/*
 * A history in short form: messages are separated by spaces and begin with u or a; then one letter
 * and one id a block: t = text, c = call, r = result, s = call of a server's tool, v = its result. "ut acA urA" is a
 * task, a call and its result.
 */
static struct message *message_of(const char *s, size_t n)
{
	struct message *m = message_new(s[0] == 'u' ? ROLE_USER : ROLE_ASSISTANT);

	assert_non_null(m);
	for (size_t i = 1; i < n; i++) {
		struct block *b = NULL;
		if (s[i] == 't') {
			b = block_new_text("text", 4);
		} else if (s[i] == 's' || s[i] == 'v') {
			b = of_server(s[i] == 's', s[i + 1]);
			i++;
		} else {
			char id[2] = { s[i + 1], '\0' };
			b = s[i] == 'c' ? block_new_tool_use(id, "Read", "{}", 2)
			                : block_new_tool_result(id, "x", 1, false);
			i++;
		}
		assert_non_null(b);
		assert_int_equal(message_add(m, b), 0);
	}
	return m;
}

/* Without the help of history_add, so that broken histories can be made too. */
static struct history raw(const char *s)
{
	struct history h = HISTORY_INIT;

	h.v = calloc(20, sizeof *h.v);
	assert_non_null(h.v);
	h.cap = 20;
	while (*s) {
		size_t n = strcspn(s, " ");
		h.v[h.n++] = message_of(s, n);
		s += n + (s[n] ? 1 : 0);
	}
	return h;
}

static struct history added(const char *s)
{
	struct history h = HISTORY_INIT;

	while (*s) {
		size_t n = strcspn(s, " ");
		assert_int_equal(history_add(&h, message_of(s, n)), 0);
		s += n + (s[n] ? 1 : 0);
	}
	return h;
}

static void test_check(void **state)
{
	static const struct {
		const char *history;
		bool open_end;
		const char *msg; /* NULL: in order */
	} cases[] = {
		{ "", false, NULL },
		{ "ut", false, NULL },
		{ "ut at", false, NULL },
		{ "ut acA urA", false, NULL },
		{ "ut atcAcB urBrAt at ut", false, NULL },
		{ "ut acA", true, NULL },
		{ "ut acA", false, "message 1, block 0: a tool_use without its tool_result: A" },
		{ "ut acA ut", true, "message 1, block 0: a tool_use without its tool_result: A" },
		{ "ut atcAcB urA", true, "message 1, block 2: a tool_use without its tool_result: B" },
		{ "at", false, "message 0: the first message is not the user's" },
		{ "ut ut", false, "message 1: two messages of one role in a row" },
		{ "ut at at", false, "message 2: two messages of one role in a row" },
		{ "ut a ut", false, "message 1: it is empty" },
		{ "ut acA urArA", false, "message 2, block 1: a second tool_result for A" },
		{ "ut acA urAtrB", false, "message 2, block 2: a tool_result behind other content: B" },
		{ "ut acA utrA", false, "message 2, block 1: a tool_result behind other content: A" },
		{ "ut acA urB", false,
		  "message 2, block 0: a tool_result without its tool_use in the message before: B" },
		{ "urA", false, "message 0, block 0: a tool_result without its tool_use in the message before: A" },
		{ "ut acA urA at urA", false,
		  "message 4, block 0: a tool_result without its tool_use in the message before: A" },
		{ "ut acA urA acA urA", false, "message 3, block 0: a tool_use id that was used before: A" },
		{ "ut acAcA urA", false, "message 1, block 1: a tool_use id that was used before: A" },
		{ "ucA", false, "message 0, block 0: a tool_use in a user message: A" },
		{ "ut arA", false, "message 1, block 0: a tool_result in an assistant message: A" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct error e = ERROR_INIT;
		struct history h = raw(cases[i].history);
		int rc = history_check(&h, cases[i].open_end, &e);
		assert_string_equal(e.msg, cases[i].msg ? cases[i].msg : "");
		assert_int_equal(rc, cases[i].msg ? -1 : 0);
		history_release(&h);
	}
}

static void test_user_messages_merge(void **state)
{
	struct history h = added("ut ut acA urA ut");

	(void)state;
	assert_int_equal(h.n, 3);
	assert_int_equal(h.v[0]->n, 2);
	assert_int_equal(h.v[2]->n, 2);
	assert_int_equal(history_check(&h, false, NULL), 0);
	assert_int_equal(history_add_user_block(&h, block_new_text("more", 4)), 0);
	assert_int_equal(h.n, 3);
	assert_int_equal(h.v[2]->n, 3);
	assert_int_equal(history_add(&h, message_of("at", 2)), 0);
	assert_int_equal(history_add_user_block(&h, block_new_text("more", 4)), 0);
	assert_int_equal(h.n, 5);
	size_t bytes = 0;
	for (size_t i = 0; i < h.n; i++) {
		for (size_t k = 0; k < h.v[i]->n; k++)
			bytes += h.v[i]->blocks[k]->json_len;
	}
	assert_int_equal(h.bytes, bytes);
	assert_int_equal(h.weight, bytes);
	history_release(&h);
	assert_int_equal(h.n, 0);
	history_release(&h);
}

/* A message that two histories share does not change in one because the other grows. */
static void test_sharing(void **state)
{
	struct history old = added("ut at ut");
	struct history new = HISTORY_INIT;

	(void)state;
	for (size_t i = 0; i < old.n; i++)
		assert_int_equal(history_add(&new, message_ref(old.v[i])), 0);
	assert_ptr_equal(new.v[2], old.v[2]);
	assert_int_equal(history_add_user_block(&new, block_new_text("more", 4)), 0);
	assert_int_equal(new.v[2]->n, 2);
	assert_int_equal(old.v[2]->n, 1);
	history_release(&old);
	assert_int_equal(history_check(&new, false, NULL), 0);
	history_release(&new);
}

static void test_empty_messages_are_refused(void **state)
{
	struct history h = HISTORY_INIT;

	(void)state;
	assert_int_equal(history_add(&h, message_new(ROLE_USER)), -1);
	assert_int_equal(history_add(&h, NULL), -1);
	assert_int_equal(history_add_user_block(&h, NULL), -1);
	assert_int_equal(h.n, 0);
	history_release(&h);
}

static void test_has_tool_use(void **state)
{
	struct history h = added("ut atcA urA");
	struct history none = HISTORY_INIT;

	(void)state;
	assert_true(message_has_tool_use(h.v[1]));
	assert_false(message_has_tool_use(h.v[2]));
	assert_true(history_has_tool_use(&h, "A"));
	assert_false(history_has_tool_use(&h, "B"));
	assert_false(history_has_tool_use(&h, ""));
	assert_false(history_has_tool_use(&none, "A"));
	history_release(&h);
}

static void many_rounds(void *ctx, size_t rounds)
{
	struct history h = HISTORY_INIT;
	char id[32];

	(void)ctx;
	assert_int_equal(history_add(&h, message_of("ut", 2)), 0);
	for (size_t i = 0; i < rounds; i++) {
		snprintf(id, sizeof id, "toolu_%zu", i);
		assert_false(history_has_tool_use(&h, id));
		struct message *m = message_new(ROLE_ASSISTANT);
		assert_int_equal(message_add(m, block_new_tool_use(id, "Read", "{}", 2)), 0);
		assert_int_equal(history_add(&h, m), 0);
		assert_int_equal(history_add_user_block(&h, block_new_tool_result(id, "x", 1, false)), 0);
	}
	for (size_t i = 0; i < rounds; i++) {
		snprintf(id, sizeof id, "toolu_%zu", i);
		assert_true(history_has_tool_use(&h, id));
	}
	assert_int_equal(history_check(&h, false, NULL), 0);
	history_release(&h);
}

/* Every round asks for its id first: scanning for it would take sixty-four times as long, not eight. */
static void test_many_rounds_are_linear(void **state)
{
	(void)state;
	assert_true(growth_is_linear(many_rounds, NULL, 1500));
}

/* An edit takes the history's place; the ids of what went stay known, so that none is used twice. */
static void test_exchange(void **state)
{
	struct history h = added("ut acA urA acB urB");
	struct history draft = HISTORY_INIT;

	(void)state;
	assert_int_equal(history_copy(&draft, &h, 0, 1), 0);
	assert_int_equal(history_copy(&draft, &h, 3, 5), 0);
	assert_int_equal(draft.n, 3);
	size_t bytes = draft.bytes, weight = draft.weight;
	assert_true(bytes < h.bytes);
	history_exchange(&h, &draft);
	assert_int_equal(h.n, 3);
	assert_int_equal(h.bytes, bytes);
	assert_int_equal(h.weight, weight);
	assert_int_equal(draft.n, 5);
	assert_int_equal(history_check(&h, false, NULL), 0);
	history_release(&draft);
	assert_true(history_has_tool_use(&h, "A"));
	assert_true(history_has_tool_use(&h, "B"));
	assert_false(history_has_tool_use(&h, "C"));
	history_release(&h);
}

/* Each: before, after. */
static void calls_of_the_server_are_dropped(void **state)
{
	static const char *const cases[][2] = {
		{ "ut", "ut" },
		{ "ut at", "ut at" },
		{ "ut atsA", "ut at" },
		{ "ut asA", "ut" },
		{ "ut asAvA", "ut asAvA" },
		{ "ut asAsBvA", "ut asAvA" },
		{ "ut acCsA urC", "ut acC urC" },
		{ "ut acCsA urC asB", "ut acC urC" },
		{ "ut acCsA urC at", "ut acCsA urC at" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct history h = added(cases[i][0]), want = added(cases[i][1]);
		struct message *held = message_ref(h.v[h.n - 1]); /* another history's too */
		size_t n = held->n;
		assert_int_equal(history_drop_server_calls(&h), strcmp(cases[i][0], cases[i][1]) != 0);
		assert_int_equal(held->n, n);
		assert_int_equal(h.n, want.n);
		for (size_t k = 0; k < h.n; k++) {
			assert_int_equal(h.v[k]->n, want.v[k]->n);
			for (size_t b = 0; b < h.v[k]->n; b++)
				assert_string_equal(h.v[k]->blocks[b]->json, want.v[k]->blocks[b]->json);
		}
		assert_int_equal(h.weight, want.weight);
		assert_int_equal(h.bytes, want.bytes);
		assert_int_equal(history_drop_server_calls(&h), 0);
		message_unref(held);
		history_release(&h);
		history_release(&want);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(calls_of_the_server_are_dropped), cmocka_unit_test(test_check),
		cmocka_unit_test(test_user_messages_merge),        cmocka_unit_test(test_sharing),
		cmocka_unit_test(test_empty_messages_are_refused), cmocka_unit_test(test_has_tool_use),
		cmocka_unit_test(test_many_rounds_are_linear),     cmocka_unit_test(test_exchange),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
