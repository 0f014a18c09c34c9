/* A compaction's two ends: how the summary is asked for, and the conversation that goes on from it. */
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "context_world.h"

static int apply(struct world *w, const char *summary, const char *file)
{
	struct buf files = BUF_INIT(10000);

	if (file)
		buf_adds(&files, file);
	size_t before = w->h.weight;
	int rc = context_compact_apply(w->c, &w->h, summary, strlen(summary), &files, file ? 1 : 0, SIZE_MAX,
	                               &w->report);
	buf_release(&files);
	world_check(w);
	assert_true(rc == 0 ? w->h.weight < before : w->h.weight == before);
	return rc;
}

/* n rounds of about `tokens` each */
static void rounds(struct world *w, int n, size_t tokens)
{
	for (int i = 0; i < n; i++)
		world_round(w, "Read", "a.c", tokens * 4 - 150);
}

/* ---- what is told instead ---- */

static void test_apply(void **state)
{
	struct world w;
	struct buf shape = BUF_INIT(1000);

	(void)state;
	world_open(&w, 10000, 5); /* keeps 2500 tokens */
	world_says(&w, "the task");
	rounds(&w, 9, 1000);
	assert_int_equal(apply(&w, "What happened.", "a.c now is: x"), 0);
	assert_string_equal(world_shape(&w, &shape), "TT C R C RT");
	assert_string_equal(world_text(&w, 0, 0), "the task");
	assert_string_equal(
	        world_text(&w, 0, 1),
	        "[The conversation up to here was too long and is replaced by the summary below. What follows "
	        "it, if anything, is the newest part as it was. Files may have changed since and are quoted "
	        "from memory: read one again when in doubt.]\n\nWhat happened.");
	assert_string_equal(world_text(&w, 4, 1), "a.c now is: x");
	assert_string_equal(buf_str(&w.forgotten), " c1  c2  c3  c4  c5  c6  c7 ");
	assert_int_equal(w.report.n, 0);
	assert_false(w.report.thinking_broken);
	buf_release(&shape);
	world_release(&w);
}

static void add_picture(struct world *w)
{
	static const char json[] = "{\"type\":\"image\",\"source\":{\"type\":\"base64\",\"media_type\":"
	                           "\"image/png\",\"data\":\"AAAA\"}}";

	assert_int_equal(history_add_user_block(&w->h, block_from_json(json, strlen(json), NULL)), 0);
}

/* A picture of the task that the server refused is gone for good, and what was thought with it in view. */
static void test_replaced(void **state)
{
	struct world w;
	struct buf shape = BUF_INIT(1000);

	for (int bound = 0; bound < 2; bound++) {
		world_open(&w, 10000, 5);
		w.model.thinking_bound = bound;
		context_set_model(w.c, &w.model);
		world_says(&w, "the task");
		add_picture(&w);
		world_thinks(&w);
		rounds(&w, 9, 1000);
		assert_int_equal(context_replace(w.c, &w.h, 0, 1, block_new_text("[no picture]", 12)), 0);
		world_check(&w);
		buf_clear(&shape);
		const char *now = world_shape(&w, &shape);
		assert_int_equal(strncmp(now, bound ? "TT CR" : "TT KC", 4), 0);
		assert_int_equal(apply(&w, "What happened.", NULL), 0);
		assert_string_equal(world_text(&w, 0, 0), "the task");
		assert_string_equal(world_text(&w, 0, 1), "[no picture]");
		world_release(&w);
	}
	buf_release(&shape);
	(void)state;
}

/* Thinking that stands before it saw nothing of it. */
static void test_replaced_result(void **state)
{
	struct world w;
	struct buf shape = BUF_INIT(1000);

	(void)state;
	world_open(&w, 10000, 5);
	w.model.thinking_bound = true;
	context_set_model(w.c, &w.model);
	world_says(&w, "the task");
	world_thinks(&w);
	rounds(&w, 1, 100);
	assert_int_equal(context_replace(w.c, &w.h, 2, 0, block_new_tool_result("c1", "[none]", 6, false)), 0);
	world_check(&w);
	assert_string_equal(world_shape(&w, &shape), "T KC R");
	assert_string_equal(buf_str(&w.forgotten), " c1 ");
	buf_release(&shape);
	world_release(&w);
}

static void test_again(void **state)
{
	struct world w;
	struct buf shape = BUF_INIT(1000);

	(void)state;
	world_open(&w, 10000, 5);
	world_says(&w, "the task");
	rounds(&w, 9, 1000);
	assert_int_equal(apply(&w, "First summary.", "old file"), 0);
	world_says(&w, "and hurry");
	rounds(&w, 8, 1000);
	assert_int_equal(apply(&w, "Second summary.", "new file"), 0);
	/* the task is remembered, the summary covers the one before, and its files are gone */
	assert_string_equal(world_shape(&w, &shape), "TT C R C RT");
	assert_string_equal(world_text(&w, 0, 0), "the task");
	assert_non_null(strstr(world_text(&w, 0, 1), "Second summary."));
	assert_string_equal(world_text(&w, 4, 1), "new file");
	world_release(&w);

	/* a round that is kept twice loses the files of the first time */
	world_open(&w, 10000, 5);
	world_says(&w, "the task");
	rounds(&w, 1, 3000);
	rounds(&w, 1, 1500);
	rounds(&w, 1, 300);
	assert_int_equal(apply(&w, "Summary.", "old file"), 0);
	assert_string_equal(world_shape(&w, &shape), "TT C R C RT");
	rounds(&w, 1, 300);
	assert_int_equal(apply(&w, "Summary.", "new file"), 0);
	assert_string_equal(world_shape(&w, &shape), "TT C R C RT");
	assert_string_equal(world_text(&w, 4, 1), "new file");
	buf_release(&shape);
	world_release(&w);
}

/* What a compaction attached is no word of the user: a fold of its round takes it along. */
static void test_files_are_folded(void **state)
{
	struct world w;
	struct buf shape = BUF_INIT(1000);

	(void)state;
	world_open(&w, 10000, 5);
	world_says(&w, "the task");
	rounds(&w, 9, 1000);
	assert_int_equal(apply(&w, "Summary.", "a file"), 0);
	world_says(&w, "my words");
	rounds(&w, 2, 500);
	assert_int_equal(context_drain(w.c, &w.h, 5000, &w.report), 0);
	world_check(&w);
	assert_string_equal(world_shape(&w, &shape), "TTTT C R");
	assert_string_equal(world_text(&w, 0, 2) + strlen(world_text(&w, 0, 2)) - 4, ": ok");
	assert_string_equal(world_text(&w, 0, 3), "my words");
	/* the next summary covers both */
	assert_true(context_can_compact(w.c, &w.h));
	rounds(&w, 1, 500);
	assert_int_equal(apply(&w, "Summary.", NULL), 0);
	assert_string_equal(world_shape(&w, &shape), "TT C R");
	buf_release(&shape);
	world_release(&w);
}

static void test_last_round_is_kept(void **state)
{
	struct world w;

	(void)state;
	world_open(&w, 10000, 5);
	world_says(&w, "the task");
	rounds(&w, 1, 1000);
	rounds(&w, 1, 9000);
	assert_int_equal(apply(&w, "Summary.", NULL), 0);
	assert_int_equal(w.h.n, 3);
	assert_true(world_tokens(&w) > 8500); /* honest: it does not fit, and that is to be seen */
	world_release(&w);
}

/* Something is dropped even if all rounds are small: that they did not fit has been said by somebody who knows. */
static void test_half_goes(void **state)
{
	struct world w;

	(void)state;
	world_open(&w, 100000, 5);
	world_says(&w, "the task");
	rounds(&w, 4, 1000);
	assert_int_equal(apply(&w, "Summary.", NULL), 0);
	assert_int_equal(w.h.n, 5);
	world_release(&w);
}

static void test_no_smaller(void **state)
{
	struct world w;
	char file[4000];
	struct buf shape = BUF_INIT(1000);

	(void)state;
	world_open(&w, 10000, 5);
	world_says(&w, "the task");
	rounds(&w, 2, 100);
	memset(file, 'f', sizeof file - 1);
	file[sizeof file - 1] = '\0';
	assert_int_equal(apply(&w, file, NULL), 1);
	assert_string_equal(buf_str(&w.forgotten), "");
	/* with the file it is no smaller, without it it is */
	rounds(&w, 1, 600);
	rounds(&w, 1, 50);
	assert_int_equal(apply(&w, "Summary.", file), 0);
	assert_string_equal(world_shape(&w, &shape), "TT C R");
	buf_release(&shape);
	world_release(&w);
}

/* Files are no reason to be too long again: the first of them stay as far as there is room. */
static void test_room_for_files(void **state)
{
	struct buf files[2] = { BUF_INIT(3000), BUF_INIT(3000) };

	(void)state;
	for (int i = 0; i < 2; i++)
		buf_addf(&files[i], "file %d %1000s", i, "");
	for (size_t fit = 0; fit <= 2; fit++) {
		struct world w;
		struct buf shape = BUF_INIT(1000);
		world_open(&w, 10000, 5);
		world_says(&w, "the task");
		rounds(&w, 9, 1000);
		size_t bare = 8500; /* two rounds, the summary and the words around it */
		assert_int_equal(
		        context_compact_apply(w.c, &w.h, "Summary.", 8, files, 2, bare + 1050 * fit, &w.report), 0);
		world_check(&w);
		const char *const shapes[] = { "TT C R C R", "TT C R C RT", "TT C R C RTT" };
		assert_string_equal(world_shape(&w, &shape), shapes[fit]);
		if (fit)
			assert_memory_equal(world_text(&w, 4, 1), "file 0", 6);
		buf_release(&shape);
		world_release(&w);
	}
	buf_release(&files[0]);
	buf_release(&files[1]);
}

static void test_long_task(void **state)
{
	struct world w;
	char *task = malloc(20002);
	struct buf shape = BUF_INIT(1000);

	(void)state;
	assert_non_null(task);
	/* two bytes a letter, shifted by one: no cut may fall inside */
	task[0] = '!';
	for (int i = 0; i < 10000; i++)
		memcpy(task + 1 + 2 * i, "\xC3\xB6", 2);
	task[20001] = '\0';
	world_open(&w, 10000, 5); /* an eighth is 1250 tokens, 5000 bytes */
	world_says(&w, task);
	world_says(&w, "its end");
	rounds(&w, 5, 1000);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(apply(&w, "Summary.", NULL), 0);
		assert_string_equal(world_shape(&w, &shape), i ? "TTT C R" : "TTT C R C R");
		assert_memory_equal(world_text(&w, 0, 0), task, 4999);
		assert_string_equal(world_text(&w, 0, 0) + 4999,
		                    "\n[The task is too long to be shown in full: this is the beginning, 4999 of 20001 "
		                    "bytes. The summary has the rest.]");
		assert_string_equal(world_text(&w, 0, 1),
		                    "[1 further part of the task did not fit here. The summary says "
		                    "what it holds.]");
		rounds(&w, 1, 4000);
	}
	free(task);
	buf_release(&shape);
	world_release(&w);
}

static void test_can_compact(void **state)
{
	struct world w;

	(void)state;
	world_open(&w, 10000, 5);
	world_says(&w, "the task");
	assert_false(context_can_compact(w.c, &w.h));
	rounds(&w, 1, 1000);
	assert_false(context_can_compact(w.c, &w.h));
	rounds(&w, 1, 1000);
	assert_true(context_can_compact(w.c, &w.h));
	/* the only round is the last, but the fold in the first message can be told shorter */
	assert_int_equal(context_drain(w.c, &w.h, 2000, &w.report), 0);
	assert_int_equal(w.h.n, 3);
	assert_true(context_can_compact(w.c, &w.h));
	rounds(&w, 1, 1000);
	assert_int_equal(apply(&w, "S", NULL), 0);
	assert_int_equal(w.h.n, 3);
	assert_false(context_can_compact(w.c, &w.h));
	world_release(&w);
}

/* An answer that the API paused is the last message, and goes on as it is. */
static void test_paused(void **state)
{
	struct world w;
	struct buf shape = BUF_INIT(1000);

	(void)state;
	world_open(&w, 10000, 5);
	world_says(&w, "the task");
	rounds(&w, 5, 1000);
	world_answers(&w, "to be");
	assert_int_equal(apply(&w, "Summary.", "file"), 0);
	assert_string_equal(world_shape(&w, &shape), "TT C R C RT T");
	buf_release(&shape);
	world_release(&w);
}

static void add_json(struct world *w, const char *json)
{
	struct message *m = message_new(ROLE_ASSISTANT);

	assert_int_equal(message_add(m, block_from_json(json, strlen(json), NULL)), 0);
	assert_int_equal(history_add(&w->h, m), 0);
}

/* Rounds of 1000 tokens; that one's answer also calls the server, which tells its result in the next. */
static void open_with_server_call(struct world *w, int n, int at)
{
	world_open(w, 10000, 5);
	world_says(w, "the task");
	for (int i = 0; i < n; i++) {
		if (i == at + 1)
			add_json(w, "{\"type\":\"web_search_tool_result\",\"tool_use_id\":\"srv_1\",\"content\":[]}");
		if (i == at)
			add_json(
			        w,
			        "{\"type\":\"server_tool_use\",\"id\":\"srv_1\",\"name\":\"web_search\",\"input\":{}}");
		rounds(w, 1, 1000);
	}
}

static size_t others(const struct history *h)
{
	size_t n = 0;

	for (size_t i = 0; i < h->n; i++) {
		for (size_t k = 0; k < h->v[i]->n; k++)
			n += h->v[i]->blocks[k]->kind == BLOCK_OTHER;
	}
	return n;
}

/* No cut parts a call of the server's from its result, wherever they stand: both go or both stay. */
static void test_server_call(void **state)
{
	static const char *const kept[] = { [2] = "T C R C R", [3] = "T C R C R", [4] = "T C R", [5] = "T OC R OC R" };
	struct buf shape = BUF_INIT(1000);
	struct world w;

	(void)state;
	for (int at = 0; at < 6; at++) {
		struct compact_request how = { .leave_out = (size_t)at + 1 };
		struct history out = HISTORY_INIT;

		open_with_server_call(&w, 7, at);
		assert_int_equal(context_compact_request(w.c, &w.h, &how, &out), 0);
		assert_int_equal(others(&out), at < 5 ? 0 : 2);
		history_release(&out);
		size_t worth = context_rounds_worth(&w.h, (size_t)at, 1, 7000);
		assert_int_equal(worth, at < 5 ? at + 2 : 0);
		assert_int_equal(apply(&w, "Summary.", NULL), 0);
		assert_int_equal(others(&w.h) % 2, 0);
		world_shape(&w, &shape);
		if (kept[at])
			assert_string_equal(buf_str(&shape) + 1, kept[at]);
		world_release(&w);
	}
	/* when there are no other rounds nothing can go */
	open_with_server_call(&w, 2, 0);
	assert_false(context_can_compact(w.c, &w.h));
	assert_int_equal(context_drain(w.c, &w.h, 2000, &w.report), 0);
	assert_int_equal(w.h.n, 5);
	world_release(&w);
	buf_release(&shape);
}

/* The layers go on behind the result; where they must not, they stop in front of the call. */
static void test_server_call_layers(void **state)
{
	/* 7 rounds: so many have to go, and that is what goes */
	static const struct {
		int at, wanted, go;
	} cases[] = { { 0, 2, 2 }, { 1, 2, 3 }, { 2, 2, 2 }, { 3, 4, 5 }, { 4, 5, 4 }, { 5, 5, 5 } };
	struct world w;

	(void)state;
	for (size_t i = 0; i < 2 * sizeof cases / sizeof *cases; i++) {
		bool snips = i % 2;
		open_with_server_call(&w, 7, cases[i / 2].at);
		w.model.marks.snip = snips ? world_tokens(&w) : 0;
		w.model.marks.collapse = snips ? 0 : world_tokens(&w);
		w.model.marks.microcompact = 0;
		w.model.marks.slack = cases[i / 2].wanted * 1000 - 500;
		context_set_model(w.c, &w.model);
		assert_int_equal(context_prepare(w.c, &w.h, world_tokens(&w), &w.report), 0);
		assert_int_equal(w.report.n, 1);
		assert_string_equal(w.report.steps[0].name, snips ? "snip" : "collapse");
		assert_int_equal(w.h.n, 15 - 2 * cases[i / 2].go);
		assert_int_equal(others(&w.h) % 2, 0);
		assert_int_equal(context_drain(w.c, &w.h, 7000, &w.report), 0);
		assert_int_equal(w.h.n, cases[i / 2].at == 5 ? 5 : 3);
		world_check(&w);
		world_release(&w);
	}
}

/* Behind an answer that waits for its server stand results alone: the files go to the summary. */
static void test_files_and_server_call(void **state)
{
	struct buf shape = BUF_INIT(1000);
	struct world w;

	(void)state;
	open_with_server_call(&w, 5, 4);
	assert_int_equal(apply(&w, "Summary.", "a file"), 0);
	assert_string_equal(world_shape(&w, &shape), "TTT C R OC R");
	buf_release(&shape);
	world_release(&w);
}

/* An answer that was thinking alone goes with it, and what the user said behind it would stand behind one that waits
 * for its server. */
static void test_server_call_and_thinking(void **state)
{
	struct buf shape = BUF_INIT(1000);
	struct world w;

	(void)state;
	for (int said = 0; said < 2; said++) {
		world_open(&w, 10000, 5);
		world_says(&w, "the task");
		add_json(&w, "{\"type\":\"server_tool_use\",\"id\":\"srv_1\",\"name\":\"web_search\",\"input\":{}}");
		rounds(&w, 1, 1000);
		world_thinks(&w);
		if (said)
			world_says(&w, "go on");
		assert_int_equal(context_strip_thinking(&w.h), 1);
		assert_false(message_awaits_server(w.h.v[1]));
		assert_string_equal(world_shape(&w, &shape), said ? "T C RT" : "T C R");
		world_check(&w);
		world_release(&w);
	}
	buf_release(&shape);
}

static void test_thinking(void **state)
{
	static const struct {
		bool bound, budgeted, broken;
		const char *shape;
	} cases[] = {
		{ false, false, false, "TT KC R KC R" },
		{ true, false, false, "TT C R C R" },
		{ false, true, true, "TT KC R KC R" },
		{ true, true, true, "TT C R C R" },
	};
	struct buf shape = BUF_INIT(1000);

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct world w;
		world_open(&w, 10000, 5);
		w.model.thinking_bound = cases[i].bound;
		w.model.thinking_budgeted = cases[i].budgeted;
		context_set_model(w.c, &w.model);
		world_says(&w, "the task");
		for (int k = 0; k < 5; k++) {
			world_thinks(&w);
			rounds(&w, 1, 1000);
		}
		assert_int_equal(apply(&w, "Summary.", NULL), 0);
		assert_string_equal(world_shape(&w, &shape), cases[i].shape);
		assert_int_equal(w.report.thinking_broken, cases[i].broken);
		world_release(&w);
	}
	buf_release(&shape);
}

/* ---- the request ---- */

static void same_block(const struct block *a, const struct block *b)
{
	assert_int_equal(a->json_len, b->json_len);
	assert_memory_equal(a->json, b->json, a->json_len);
}

static void test_request(void **state)
{
	struct world w;
	struct history out = HISTORY_INIT;
	struct compact_request how = { 0 };

	(void)state;
	world_open(&w, 10000, 5);
	w.model.thinking_bound = true;
	context_set_model(w.c, &w.model);
	world_says(&w, "the task");
	world_thinks(&w);
	rounds(&w, 3, 1000);
	assert_int_equal(context_compact_request(w.c, &w.h, &how, &out), 0);
	assert_int_equal(history_check(&out, false, NULL), 0);
	/* the same bytes, so that the cache serves them, and one block more */
	assert_int_equal(out.n, w.h.n);
	for (size_t i = 0; i < out.n; i++) {
		assert_int_equal(out.v[i]->n, w.h.v[i]->n + (i + 1 == out.n));
		for (size_t k = 0; k < w.h.v[i]->n; k++)
			same_block(out.v[i]->blocks[k], w.h.v[i]->blocks[k]);
	}
	const char *text = out.v[6]->blocks[1]->text;
	for (const char *head = "123456789"; *head; head++) {
		char heading[] = { '\n', *head, '.', ' ', '\0' };
		assert_non_null(strstr(text, heading));
	}
	assert_non_null(strstr(text, "at most 1250 words"));
	world_check(&w);
	history_release(&out);

	how.strip = true;
	assert_int_equal(context_compact_request(w.c, &w.h, &how, &out), 0);
	assert_int_equal(out.v[1]->n, 1);
	history_release(&out);
	world_release(&w);
}

static void test_request_leaves_out(void **state)
{
	struct world w;
	struct history out = HISTORY_INIT;
	struct compact_request how = { .leave_out = 2 };

	(void)state;
	world_open(&w, 10000, 5);
	w.model.thinking_bound = true;
	context_set_model(w.c, &w.model);
	world_says(&w, "the task");
	rounds(&w, 2, 1000);
	world_says(&w, "mind the gap");
	world_thinks(&w);
	rounds(&w, 2, 1000);
	size_t weight = w.h.weight;
	assert_int_equal(context_compact_request(w.c, &w.h, &how, &out), 0);
	assert_int_equal(history_check(&out, false, NULL), 0);
	assert_int_equal(out.n, 5);
	assert_non_null(strstr(out.v[0]->blocks[1]->text, "\n- Read a.c: ok\n- Read a.c: ok"));
	assert_string_equal(out.v[0]->blocks[2]->text, "mind the gap");
	assert_int_equal(out.v[1]->n, 1); /* thinking that is bound to what is left out goes */
	assert_int_equal(w.h.weight, weight);
	assert_string_equal(buf_str(&w.forgotten), "");
	history_release(&out);
	/* more than there is: the last round stays */
	how.leave_out = 100;
	assert_int_equal(context_compact_request(w.c, &w.h, &how, &out), 0);
	assert_int_equal(out.n, 3);
	history_release(&out);
	world_release(&w);
}

static void test_rounds_worth(void **state)
{
	struct world w;

	(void)state;
	world_open(&w, 10000, 5);
	world_says(&w, "the task");
	assert_int_equal(context_rounds_worth(&w.h, 0, 100, 1000), 0);
	rounds(&w, 1, 1000);
	assert_int_equal(context_rounds_worth(&w.h, 0, 100, 1000), 0);
	rounds(&w, 9, 1000);
	static const struct {
		size_t already;
		int64_t tokens, total;
		size_t rounds;
	} cases[] = {
		{ 0, 1, 10000, 1 },
		{ 0, 2500, 10000, 3 },
		{ 0, 900000, 10000, 9 },
		{ 0, 0, 0, 1 },
		{ 0, -5, 10000, 1 },
		{ 3, 0, 10000, 4 },
		{ 3, 3500, 7000, 7 },
		{ 8, 100, 2000, 9 },
		{ 9, 100, 10000, 0 },
		{ 50, 100, 10000, 0 },
		/* a token is worth what the server says: twice as many of them for the same bytes */
		{ 0, 5000, 20000, 3 },
	};
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		assert_int_equal(context_rounds_worth(&w.h, cases[i].already, cases[i].tokens, cases[i].total),
		                 cases[i].rounds);
	}
	(void)state;
	world_release(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_apply),
		cmocka_unit_test(test_replaced),
		cmocka_unit_test(test_replaced_result),
		cmocka_unit_test(test_again),
		cmocka_unit_test(test_files_are_folded),
		cmocka_unit_test(test_room_for_files),
		cmocka_unit_test(test_last_round_is_kept),
		cmocka_unit_test(test_half_goes),
		cmocka_unit_test(test_no_smaller),
		cmocka_unit_test(test_long_task),
		cmocka_unit_test(test_can_compact),
		cmocka_unit_test(test_paused),
		cmocka_unit_test(test_server_call),
		cmocka_unit_test(test_server_call_layers),
		cmocka_unit_test(test_server_call_and_thinking),
		cmocka_unit_test(test_files_and_server_call),
		cmocka_unit_test(test_thinking),
		cmocka_unit_test(test_request),
		cmocka_unit_test(test_request_leaves_out),
		cmocka_unit_test(test_rounds_worth),
	};
	return cmocka_run_group_tests_name("compact", tests, NULL, NULL);
}
