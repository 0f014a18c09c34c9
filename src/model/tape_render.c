/*
 * An answer of a tape as the bytes that a server would have sent. How many events each block makes is part of the
 * format (cut_after and its like count them): text, tool_use 3; thinking 3, with a signature 4; raw 2.
 */
#include <stdio.h>
#include <string.h>

#include "base/json_out.h"
#include "model/tape.h"

#define BYTES_PER_TOKEN 4

struct writer {
	const struct tape_answer *ans;
	const struct tape_position *at;
	const struct model_request *req;
	struct buf *out;
	struct json_out o;
	size_t call;
	struct error *e;
};

static void begin_event(struct writer *w, const char *type)
{
	buf_addf(w->out, "event: %s\ndata: ", type);
	json_out_init(&w->o, w->out);
	jo_object(&w->o);
	jo_kstr(&w->o, "type", type);
}

static void end_event(struct writer *w)
{
	jo_end(&w->o);
	buf_adds(w->out, "\n\n");
}

static int64_t tokens(size_t bytes)
{
	return (int64_t)(bytes / BYTES_PER_TOKEN) + 1;
}

static int64_t estimated_input(const struct model_request *req)
{
	size_t n = req->messages ? req->messages->bytes : 0;

	n += req->system ? strlen(req->system) : 0;
	n += req->tools_json ? strlen(req->tools_json) : 0;
	return tokens(n);
}

static int64_t estimated_output(const struct tape_answer *ans)
{
	size_t n = 0;

	for (size_t i = 0; i < ans->nblocks; i++)
		n += ans->blocks[i].text_len + ans->blocks[i].json_len;
	return tokens(n);
}

/* At the start only one output token is told; the end tells all. */
static int write_usage(struct writer *w, bool final)
{
	const struct yaml_node *told = w->ans->usage;

	jo_key(&w->o, "usage");
	jo_object(&w->o);
	if (!told || !yaml_get(told, "input_tokens"))
		jo_kint(&w->o, "input_tokens", estimated_input(w->req));
	for (const struct yaml_node *v = told ? told->first : NULL; v; v = v->next) {
		if (!strcmp(v->key->text, "output_tokens"))
			continue;
		jo_key(&w->o, v->key->text);
		if (yaml_to_json(v, &w->o, w->e))
			return -1;
	}
	const struct yaml_node *output = told ? yaml_get(told, "output_tokens") : NULL;
	jo_key(&w->o, "output_tokens");
	if (final && output) {
		if (yaml_to_json(output, &w->o, w->e))
			return -1;
	} else {
		jo_int(&w->o, final ? estimated_output(w->ans) : 1);
	}
	jo_end(&w->o);
	return 0;
}

static int write_message_start(struct writer *w)
{
	char id[40];

	snprintf(id, sizeof id, "msg_%04zu", w->at->play + 1);
	begin_event(w, "message_start");
	jo_key(&w->o, "message");
	jo_object(&w->o);
	jo_kstr(&w->o, "id", w->ans->id ? w->ans->id : id);
	jo_kstr(&w->o, "type", "message");
	jo_kstr(&w->o, "role", "assistant");
	jo_kstr(&w->o, "model", w->ans->model ? w->ans->model : w->req->model ? w->req->model : "");
	jo_key(&w->o, "content");
	jo_array(&w->o);
	jo_end(&w->o);
	jo_knull(&w->o, "stop_reason");
	jo_knull(&w->o, "stop_sequence");
	int rc = write_usage(w, false);
	jo_end(&w->o);
	end_event(w);
	return rc;
}

static void begin_block(struct writer *w, size_t index)
{
	begin_event(w, "content_block_start");
	jo_kint(&w->o, "index", (int64_t)index);
	jo_key(&w->o, "content_block");
}

static void write_delta(struct writer *w, size_t index, const char *type, const char *key, const char *s, size_t n)
{
	begin_event(w, "content_block_delta");
	jo_kint(&w->o, "index", (int64_t)index);
	jo_key(&w->o, "delta");
	jo_object(&w->o);
	jo_kstr(&w->o, "type", type);
	jo_key(&w->o, key);
	jo_strn(&w->o, s, n);
	jo_end(&w->o);
	end_event(w);
}

static void write_text(struct writer *w, size_t i, const struct tape_block *b)
{
	begin_block(w, i);
	jo_object(&w->o);
	jo_kstr(&w->o, "type", "text");
	jo_kstr(&w->o, "text", "");
	jo_end(&w->o);
	end_event(w);
	write_delta(w, i, "text_delta", "text", b->text, b->text_len);
}

static void write_thinking(struct writer *w, size_t i, const struct tape_block *b)
{
	begin_block(w, i);
	jo_object(&w->o);
	jo_kstr(&w->o, "type", "thinking");
	jo_kstr(&w->o, "thinking", "");
	jo_kstr(&w->o, "signature", "");
	jo_end(&w->o);
	end_event(w);
	write_delta(w, i, "thinking_delta", "thinking", b->text, b->text_len);
	if (b->signature)
		write_delta(w, i, "signature_delta", "signature", b->signature, strlen(b->signature));
}

static void write_tool_use(struct writer *w, size_t i, const struct tape_block *b)
{
	char id[40];

	if (!b->id)
		snprintf(id, sizeof id, "toolu_%04zu", ++w->call);
	begin_block(w, i);
	jo_object(&w->o);
	jo_kstr(&w->o, "type", "tool_use");
	jo_kstr(&w->o, "id", b->id ? b->id : id);
	jo_kstr(&w->o, "name", b->name);
	jo_key(&w->o, "input");
	jo_raw(&w->o, "{}", 2);
	jo_end(&w->o);
	end_event(w);
	write_delta(w, i, "input_json_delta", "partial_json", b->json, b->json_len);
}

static void write_raw(struct writer *w, size_t i, const struct tape_block *b)
{
	begin_block(w, i);
	jo_raw(&w->o, b->json, b->json_len);
	end_event(w);
}

static void write_block(struct writer *w, size_t i)
{
	static void (*const writers[])(struct writer *, size_t, const struct tape_block *) = {
		[TAPE_TEXT] = write_text,
		[TAPE_THINKING] = write_thinking,
		[TAPE_TOOL_USE] = write_tool_use,
		[TAPE_RAW] = write_raw,
	};

	writers[w->ans->blocks[i].kind](w, i, &w->ans->blocks[i]);
	begin_event(w, "content_block_stop");
	jo_kint(&w->o, "index", (int64_t)i);
	end_event(w);
}

static const char *stop_reason(const struct tape_answer *ans)
{
	if (ans->stop_reason)
		return ans->stop_reason;
	for (size_t i = 0; i < ans->nblocks; i++)
		if (ans->blocks[i].kind == TAPE_TOOL_USE)
			return "tool_use";
	return "end_turn";
}

static int write_message_end(struct writer *w)
{
	begin_event(w, "message_delta");
	jo_key(&w->o, "delta");
	jo_object(&w->o);
	jo_kstr(&w->o, "stop_reason", stop_reason(w->ans));
	jo_knull(&w->o, "stop_sequence");
	jo_end(&w->o);
	int rc = write_usage(w, true);
	end_event(w);
	begin_event(w, "message_stop");
	end_event(w);
	return rc;
}

static void write_error_body(struct writer *w)
{
	json_out_init(&w->o, w->out);
	jo_object(&w->o);
	jo_kstr(&w->o, "type", "error");
	jo_key(&w->o, "error");
	jo_object(&w->o);
	if (w->ans->error_type)
		jo_kstr(&w->o, "type", w->ans->error_type);
	jo_kstr(&w->o, "message", w->ans->error_message ? w->ans->error_message : "");
	if (w->ans->error_code) {
		jo_key(&w->o, "details");
		jo_object(&w->o);
		jo_kstr(&w->o, "error_code", w->ans->error_code);
		jo_end(&w->o);
	}
	jo_end(&w->o);
	jo_end(&w->o);
}

/*
 * A YAML block drops the blank lines at its end, and with it the one that ends the last event: it is put back. A text
 * without a final line feed is a stream that was torn on purpose.
 */
static bool lacks_blank_line(const char *s, size_t n)
{
	return n > 0 && s[n - 1] == '\n' && !(n > 1 && s[n - 2] == '\n');
}

int tape_render(const struct tape_answer *ans, const struct tape_position *at, const struct model_request *req,
                struct buf *out, struct error *e)
{
	struct writer w = { .ans = ans, .at = at, .req = req, .out = out, .call = at->call, .e = e };

	if (ans->kind == TAPE_CONTENT) {
		if (write_message_start(&w))
			return -1;
		for (size_t i = 0; i < ans->nblocks; i++)
			write_block(&w, i);
		if (write_message_end(&w))
			return -1;
	} else if (ans->body) {
		buf_add(out, ans->body, ans->body_len);
		if (ans->kind == TAPE_SSE && lacks_blank_line(ans->body, ans->body_len))
			buf_addc(out, '\n');
	} else if (ans->error_type || ans->error_message || ans->error_code) {
		write_error_body(&w);
	}
	return buf_check(out, "an answer of the tape", e);
}
