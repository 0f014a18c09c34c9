#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "context_world.h"

static bool may_clear(void *ctx, const char *tool)
{
	(void)ctx;
	return strcmp(tool, "Keep") != 0;
}

static void forget(void *ctx, const char *id)
{
	struct world *w = ctx;

	int call = (int)strtol(id + 1, NULL, 10);
	assert_in_range(call, 1, w->ids);
	assert_false(world_forgot(w, call));
	while (w->flags.len <= (size_t)call)
		assert_int_equal(buf_addc(&w->flags, 0), 0);
	w->flags.data[call] = 1;
	buf_addf(&w->forgotten, " %s ", id);
}

static struct context *open_context(struct world *w)
{
	struct context_config cfg = {
		.microcompact_keep = w->keep, .may_clear = may_clear, .forget = forget, .ctx = w
	};

	return context_open(&cfg, NULL);
}

void world_resume(struct world *w)
{
	struct buf text = BUF_INIT(BUF_HUGE);
	struct error e = ERROR_INIT;
	struct json doc;

	assert_int_equal(context_state_write(w->c, &w->h, &text), 0);
	context_free(w->c);
	w->c = open_context(w);
	assert_non_null(w->c);
	assert_int_equal(json_parse(&doc, buf_str(&text), text.len, JSON_UNIQUE, &e), 0);
	if (context_state_read(w->c, &w->h, &doc, json_root(&doc), &e))
		fail_msg("%s: %s", e.msg, buf_str(&text));
	for (size_t r = 0; 2 * r + 2 < w->h.n; r++)
		assert_int_equal(context_round_restored(w->c, &w->h, r), 0);
	context_set_model(w->c, &w->model);
	json_release(&doc);
	buf_release(&text);
}

void world_open(struct world *w, int64_t usable, size_t keep)
{
	struct context_spec spec = { .window = usable, .snip = { MARK_PERCENT, 85 } };

	*w = (struct world){
		.keep = keep, .h = HISTORY_INIT, .forgotten = BUF_INIT(BUF_HUGE), .flags = BUF_INIT(BUF_HUGE)
	};
	/* room enough, so that a test can make all further allocations fail */
	assert_int_equal(buf_reserve(&w->forgotten, 4000), 0);
	assert_int_equal(buf_reserve(&w->flags, 4000), 0);
	w->c = open_context(w);
	assert_non_null(w->c);
	assert_int_equal(context_marks(&spec, 0, 0, 4, &w->model.marks, NULL), 0);
	w->model.marks.snip = 0;
	context_set_model(w->c, &w->model);
}

void world_release(struct world *w)
{
	context_free(w->c);
	history_release(&w->h);
	buf_release(&w->forgotten);
	buf_release(&w->flags);
	free(w->text);
}

static void add(struct world *w, enum role role, struct block *b)
{
	struct message *m = message_new(role);

	assert_non_null(m);
	assert_non_null(b);
	assert_int_equal(message_add(m, b), 0);
	assert_int_equal(history_add(&w->h, m), 0);
}

static void add_json(struct world *w, enum role role, const char *json)
{
	add(w, role, block_from_json(json, strlen(json), NULL));
}

void world_says(struct world *w, const char *text)
{
	add(w, ROLE_USER, block_new_text(text, strlen(text)));
}

void world_answers(struct world *w, const char *text)
{
	add(w, ROLE_ASSISTANT, block_new_text(text, strlen(text)));
}

void world_thinks(struct world *w)
{
	add_json(w, ROLE_ASSISTANT, "{\"type\":\"thinking\",\"thinking\":\"so\",\"signature\":\"c2ln\"}");
}

void world_calls(struct world *w, const char *tool, const char *input)
{
	char id[16];

	snprintf(id, sizeof id, "c%d", ++w->ids);
	add(w, ROLE_ASSISTANT, block_new_tool_use(id, tool, input, strlen(input)));
}

void world_results(struct world *w, size_t size, bool is_error)
{
	char *text = malloc(size + 1);
	struct message *answer = w->h.v[w->h.n - 1];

	assert_non_null(text);
	memset(text, 'x', size);
	for (size_t i = 0; i < answer->n; i++) {
		if (answer->blocks[i]->kind == BLOCK_TOOL_USE)
			add(w, ROLE_USER, block_new_tool_result(answer->blocks[i]->id, text, size, is_error));
	}
	free(text);
}

void world_round(struct world *w, const char *tool, const char *what, size_t size)
{
	char input[256];

	snprintf(input, sizeof input, "{\"file_path\":\"%s\"}", what);
	world_calls(w, tool, input);
	world_results(w, size, false);
	assert_int_equal(context_round_ended(w->c, &w->h), 0);
}

int64_t world_tokens(const struct world *w)
{
	return (int64_t)(w->h.weight / (size_t)w->model.marks.bytes_per_token);
}

const char *world_shape(const struct world *w, struct buf *out)
{
	static const char letters[] = {
		[BLOCK_TEXT] = 'T',  [BLOCK_THINKING] = 'K',          [BLOCK_TOOL_USE] = 'C', [BLOCK_TOOL_RESULT] = 'R',
		[BLOCK_IMAGE] = 'I', [BLOCK_REDACTED_THINKING] = 'K', [BLOCK_DOCUMENT] = 'D', [BLOCK_OTHER] = 'O'
	};

	buf_clear(out);
	for (size_t i = 0; i < w->h.n; i++) {
		buf_adds(out, i ? " " : "");
		for (size_t k = 0; k < w->h.v[i]->n; k++)
			buf_addc(out, letters[w->h.v[i]->blocks[k]->kind]);
	}
	return buf_str(out);
}

const char *world_text(struct world *w, size_t message, size_t block)
{
	assert_true(message < w->h.n && block < w->h.v[message]->n);
	const struct block *b = w->h.v[message]->blocks[block];
	if (b->kind != BLOCK_TOOL_RESULT)
		return b->text ? b->text : "";
	free(w->text);
	w->text = block_result_text(b);
	assert_non_null(w->text);
	return w->text;
}

void world_check(const struct world *w)
{
	struct error e = ERROR_INIT;
	size_t bytes = 0, weight = 0;

	if (history_check(&w->h, true, &e))
		fail_msg("%s", e.msg);
	for (size_t i = 0; i < w->h.n; i++) {
		for (size_t k = 0; k < w->h.v[i]->n; k++) {
			bytes += w->h.v[i]->blocks[k]->json_len;
			weight += w->h.v[i]->blocks[k]->weight;
		}
	}
	assert_int_equal(bytes, w->h.bytes);
	assert_int_equal(weight, w->h.weight);
	for (int i = 1; i <= w->ids; i++) {
		char id[16];
		snprintf(id, sizeof id, "c%d", i);
		assert_true(history_has_tool_use(&w->h, id));
	}
}

bool world_forgot(const struct world *w, int call)
{
	return w->flags.len > (size_t)call && w->flags.data[call];
}
