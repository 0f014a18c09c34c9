/*
 * Event streams: whatever the bytes and however they are cut, the answer is the same, every start of a block is
 * followed by at most one end of it, blocks are valid JSON on one line, and there is one end. The first two bytes
 * choose the cuts, the rest is the stream.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "model/answer.h"

struct seen {
	struct buf text;
	int ends;
};

static void check(bool ok)
{
	if (!ok)
		abort();
}

static void note_block(struct seen *s, const struct model_event *ev)
{
	const struct block *b = ev->block;

	check(b->json_len == strlen(b->json));
	check(!memchr(b->json, '\n', b->json_len) && !memchr(b->json, '\r', b->json_len));
	check(!json_validate(b->json, b->json_len, 0, NULL, NULL));
	check(b->kind != BLOCK_TOOL_USE || (b->id && *b->id && b->name && b->input && b->input[0] == '{'));
	buf_addf(&s->text, "block %d %s %s\n", ev->index, b->json, b->bad_input ? b->bad_input : "");
}

static void sink(void *ctx, const struct model_event *ev)
{
	struct seen *s = ctx;

	check(!s->ends);
	buf_addf(&s->text, "%d %d\n", (int)ev->kind, ev->index);
	if (ev->kind == MODEL_EV_BLOCK)
		note_block(s, ev);
	if (ev->kind == MODEL_EV_RAW) {
		check(!memchr(ev->json, '\n', ev->json_len));
		check(!json_validate(ev->json, ev->json_len, 0, NULL, NULL));
	}
	if (ev->kind != MODEL_EV_END)
		return;
	s->ends++;
	check(ev->end.complete == (ev->end.failure == MODEL_FINE));
	check(!ev->end.failure || ev->end.message);
	check(ev->end.usage.input >= -1 && ev->end.usage.output >= -1);
	buf_addf(&s->text, "end %d %d %s %s %s\n", (int)ev->end.failure, ev->end.http_status,
	         ev->end.stop_reason ? ev->end.stop_reason : "-", ev->end.error_type ? ev->end.error_type : "-",
	         ev->end.message ? ev->end.message : "-");
}

/* A small generator, so that a cut does not cost input bytes. */
static size_t next_cut(uint32_t *seed)
{
	*seed = *seed * 1664525U + 1013904223U;
	return 1 + (*seed >> 24) % 40;
}

static void play(struct seen *s, const char *p, size_t n, uint32_t seed)
{
	static const struct answer_headers headers = { .content_type = "text/event-stream" };
	static const struct http_done fine = { MODEL_FINE, NET_NONE, NULL };
	struct answer a;

	buf_init(&s->text, BUF_HUGE);
	s->ends = 0;
	answer_init(&a, true, sink, s);
	answer_head(&a, 200, &headers);
	for (size_t i = 0; i < n;) {
		size_t step = seed ? next_cut(&seed) : n;
		if (step > n - i)
			step = n - i;
		/* a copy of the exact size, so that reading behind it is seen */
		char *piece = malloc(step);
		check(piece != NULL);
		memcpy(piece, p + i, step);
		int over = answer_body(&a, piece, step);
		free(piece);
		if (over)
			break;
		i += step;
	}
	answer_end(&a, &fine);
	check(s->ends == 1);
	answer_release(&a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct seen whole, cut;

	if (size < 2)
		return 0;
	uint32_t seed = 1U + data[0] + 256U * data[1];
	const char *p = (const char *)data + 2;

	play(&whole, p, size - 2, 0);
	play(&cut, p, size - 2, seed);
	check(whole.text.len == cut.text.len);
	check(!memcmp(buf_str(&whole.text), buf_str(&cut.text), whole.text.len));
	buf_release(&whole.text);
	buf_release(&cut.text);
	return 0;
}
