#include "model/assembly.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/log.h"
#include "model/assembly_block.h"
#include "model/server_json.h"

static const struct usage usage_unknown = USAGE_UNKNOWN;

void assembly_init(struct assembly *a, bool partial, model_sink sink, void *ctx)
{
	memset(a, 0, sizeof *a);
	a->partial = partial;
	a->sink = sink;
	a->ctx = ctx;
	a->end.usage = usage_unknown;
	a->end.retry_after_ms = -1;
	a->end.should_retry = -1;
}

static void replace(char **where, char *value)
{
	free(*where);
	*where = value;
}

/* The server broke its protocol, or we ran out of something: the stream is over. */
static int fail(struct assembly *a, const char *type, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
static int fail(struct assembly *a, const char *type, const char *fmt, ...)
{
	char text[sizeof((struct error *)0)->msg];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	a->failed = true;
	replace(&a->error_type, strdup(type));
	replace(&a->message, strdup(text));
	return 1;
}

static int fail_with(struct assembly *a, const struct error *e)
{
	return fail(a, e->code == ERR_NOMEM ? "out_of_memory" : "protocol_error", "%s", e->msg);
}

static int server_error(struct assembly *a, const char *data, size_t len)
{
	a->failed = true;
	a->end.http_status = 0;
	assembly_read_error(a, data, len, &a->end);
	if (!a->error_type)
		replace(&a->error_type, strdup("api_error"));
	if (!a->message)
		replace(&a->message, strdup("the server reported an error without a text"));
	return 1;
}

static void emit(const struct assembly *a, const struct model_event *ev)
{
	if (a->sink)
		a->sink(a->ctx, ev);
}

static void emit_message_start(struct assembly *a)
{
	struct model_event ev = { .kind = MODEL_EV_MESSAGE_START };

	a->started = true;
	ev.message_id = a->message_id ? a->message_id : "";
	ev.model = a->model ? a->model : "";
	ev.usage = a->end.usage;
	emit(a, &ev);
}

static void read_message_head(struct assembly *a, const struct json *doc, int message)
{
	replace(&a->message_id, json_strdup(doc, json_get(doc, message, "id"), NULL));
	replace(&a->model, json_strdup(doc, json_get(doc, message, "model"), NULL));
	usage_read(&a->end.usage, doc, json_get(doc, message, "usage"));
	emit_message_start(a);
}

static int on_message_start(struct assembly *a, const struct json *doc)
{
	if (a->started)
		return fail(a, "protocol_error", "the server started a second message in one stream");
	read_message_head(a, doc, json_get(doc, json_root(doc), "message"));
	return 0;
}

/* Streams come in order, so the newest block is nearly always the one. */
static struct assembly_block *find_block(struct assembly *a, int64_t index)
{
	for (size_t i = a->n; i > 0; i--)
		if (a->blocks[i - 1].index == index)
			return &a->blocks[i - 1];
	return NULL;
}

static int grow(struct assembly *a)
{
	return ARRAY_GROW(a->blocks, a->n, a->cap);
}

static int start_block(struct assembly *a, int64_t index, const struct json *doc, int tok)
{
	struct model_event ev = { .kind = MODEL_EV_BLOCK_START };
	struct error e = ERROR_INIT;

	if (index < 0 || index > INT_MAX)
		return fail(a, "protocol_error", "the server started a content block without a usable index");
	if (find_block(a, index))
		return fail(a, "protocol_error", "the server started content block %d twice", (int)index);
	if (a->n == ASSEMBLY_MAX_BLOCKS)
		return fail(a, "protocol_error", "the answer has more than %d content blocks", ASSEMBLY_MAX_BLOCKS);
	if (grow(a))
		return fail(a, "out_of_memory", "out of memory");
	if (!a->started)
		emit_message_start(a);
	struct assembly_block *b = &a->blocks[a->n];
	if (assembly_block_start(b, (int)index, doc, tok, &e))
		return fail_with(a, &e);
	a->n++;
	a->open++;
	a->end.had_content = true;
	ev.index = b->index;
	ev.block_kind = b->kind;
	emit(a, &ev);
	return 0;
}

static int stop_block(struct assembly *a, struct assembly_block *b)
{
	struct model_event ev = { .kind = MODEL_EV_BLOCK, .index = b->index, .block_kind = b->kind };
	struct error e = ERROR_INIT;

	b->stopped = true;
	a->open--;
	ev.block = assembly_block_finish(b, &e);
	if (!ev.block)
		return fail_with(a, &e);
	emit(a, &ev);
	block_unref(ev.block);
	return 0;
}

static int64_t index_of(const struct json *doc)
{
	return json_int_or(doc, json_get(doc, json_root(doc), "index"), -1);
}

static int on_block_start(struct assembly *a, const struct json *doc)
{
	return start_block(a, index_of(doc), doc, json_get(doc, json_root(doc), "content_block"));
}

static int on_block_delta(struct assembly *a, const struct json *doc)
{
	struct assembly_block *b = find_block(a, index_of(doc));
	struct error e = ERROR_INIT;

	if (!b || b->stopped) {
		log_verbose("a delta for no open content block is ignored");
		return 0;
	}
	if (assembly_block_delta(b, doc, json_get(doc, json_root(doc), "delta"), &e))
		return fail_with(a, &e);
	return 0;
}

static int on_block_stop(struct assembly *a, const struct json *doc)
{
	struct assembly_block *b = find_block(a, index_of(doc));

	if (!b || b->stopped)
		return 0;
	return stop_block(a, b);
}

/* Stop reason and what goes with it, from a message_delta's delta or a whole message. */
static void read_stop(struct assembly *a, const struct json *doc, int tok)
{
	struct model_event ev = { .kind = MODEL_EV_STOP };
	char *reason = json_strdup(doc, json_get(doc, tok, "stop_reason"), NULL);
	int details = json_get(doc, tok, "stop_details");

	if (!reason)
		return;
	replace(&a->stop_reason, reason);
	replace(&a->stop_sequence, json_strdup(doc, json_get(doc, tok, "stop_sequence"), NULL));
	if (!json_absent(doc, details)) {
		replace(&a->stop_details, json_rawdup(doc, details));
	}
	a->end.stop_reason = a->stop_reason;
	a->end.stop_sequence = a->stop_sequence;
	a->end.stop_details = a->stop_details;
	ev.end = a->end;
	emit(a, &ev);
}

static int on_message_delta(struct assembly *a, const struct json *doc)
{
	usage_read(&a->end.usage, doc, json_get(doc, json_root(doc), "usage"));
	read_stop(a, doc, json_get(doc, json_root(doc), "delta"));
	return 0;
}

static int on_message_stop(struct assembly *a, const struct json *doc)
{
	(void)doc;
	a->stopped = true;
	return 1;
}

static int on_ping(struct assembly *a, const struct json *doc)
{
	(void)a;
	(void)doc;
	return 0;
}

static const struct event_row {
	const char *type;
	int (*take)(struct assembly *a, const struct json *doc);
	bool progress;
} event_rows[] = {
	{ "content_block_delta", on_block_delta, true },
	{ "content_block_start", on_block_start, true },
	{ "content_block_stop", on_block_stop, true },
	{ "message_start", on_message_start, true },
	{ "message_delta", on_message_delta, true },
	{ "message_stop", on_message_stop, true },
	{ "ping", on_ping, false },
};

static const struct event_row *row_of_name(const char *name)
{
	for (size_t i = 0; i < sizeof event_rows / sizeof event_rows[0]; i++)
		if (!strcmp(name, event_rows[i].type))
			return &event_rows[i];
	return NULL;
}

/* The JSON's own type decides; the event's name stands in where it has none. */
static const struct event_row *row_of(const struct json *doc, const char *name)
{
	int type = json_get(doc, json_root(doc), "type");

	if (json_type(doc, type) != JSON_STRING)
		return row_of_name(name);
	for (size_t i = 0; i < sizeof event_rows / sizeof event_rows[0]; i++)
		if (json_eq(doc, type, event_rows[i].type))
			return &event_rows[i];
	return NULL;
}

/* An error is an event of that name or type, and whatever has an error object: some servers have no type at all. */
static bool is_error(const struct json *doc, const char *name)
{
	int root = json_root(doc);
	int type = json_get(doc, root, "type");
	int err = json_get(doc, root, "error");

	if (json_type(doc, err) == JSON_OBJECT || json_eq(doc, type, "error") || !strcmp(name, "error"))
		return true;
	return json_type(doc, type) != JSON_STRING && json_type(doc, err) == JSON_STRING;
}

static void emit_raw(const struct assembly *a, const struct json *doc)
{
	struct model_event ev = { .kind = MODEL_EV_RAW };

	ev.json = json_raw(doc, json_root(doc), &ev.json_len);
	emit(a, &ev);
}

static int take_object(struct assembly *a, const char *name, const struct json *doc, const char *data, size_t len)
{
	if (is_error(doc, name))
		return server_error(a, data, len);
	if (a->partial)
		emit_raw(a, doc);
	const struct event_row *row = row_of(doc, name);
	if (!row)
		return 0;
	if (row->progress) {
		a->progress = true;
		a->bytes += len;
		if (a->bytes > ASSEMBLY_MAX_BYTES)
			return fail(a, "protocol_error", "the answer is larger than %zu bytes", ASSEMBLY_MAX_BYTES);
	}
	return row->take(a, doc);
}

static bool is_blank(const char *p, size_t n)
{
	while (n && (*p == ' ' || *p == '\t' || *p == '\r' || *p == '\n'))
		p++, n--;
	return n == 0;
}

/* Not JSON: an error's plain text, somebody's "[DONE]" or keep-alive word, or a broken event, which must not be lost.
 */
static int take_text(struct assembly *a, const char *name, const char *data, size_t len, const struct error *why)
{
	if (!strcmp(name, "error"))
		return server_error(a, data, len);
	if (why->code == ERR_NOMEM)
		return fail_with(a, why);
	if (data[0] != '{' && !row_of_name(name))
		return 0;
	return fail(a, "protocol_error", "an event of the stream is not valid JSON: %s", why->msg);
}

int assembly_event(struct assembly *a, const char *name, const char *data, size_t len)
{
	struct json doc = JSON_INIT;
	struct error e = ERROR_INIT;
	int r = 0;

	if (a->failed || a->stopped)
		return 1;
	if (is_blank(data, len))
		return strcmp(name, "error") ? 0 : server_error(a, "", 0);
	if (len == 6 && !memcmp(data, "[DONE]", 6))
		return 0;
	if (server_json_parse(&doc, data, len, &e))
		r = take_text(a, name, data, len, &e);
	else if (json_type(&doc, json_root(&doc)) == JSON_OBJECT)
		r = take_object(a, name, &doc, data, len);
	else if (!strcmp(name, "error"))
		r = server_error(a, data, len);
	json_release(&doc);
	return r;
}

static void take_message(struct assembly *a, const struct json *doc)
{
	int root = json_root(doc);
	int content = json_get(doc, root, "content");
	int64_t index = 0;

	read_message_head(a, doc, root);
	a->progress = true;
	if (json_type(doc, content) == JSON_ARRAY)
		for (int tok = json_first(doc, content); tok >= 0; tok = json_next(doc, content, tok), index++)
			if (start_block(a, index, doc, tok) || stop_block(a, &a->blocks[a->n - 1]))
				return;
	read_stop(a, doc, root);
	a->stopped = true;
}

int assembly_message(struct assembly *a, const char *json, size_t len)
{
	struct json doc = JSON_INIT;
	bool is_message = false;

	if (!a->started && !a->failed && !server_json_parse(&doc, json, len, NULL))
		is_message = json_eq(&doc, json_get(&doc, json_root(&doc), "type"), "message");
	if (is_message)
		take_message(a, &doc);
	json_release(&doc);
	return is_message ? 0 : -1;
}

bool assembly_stray_error(struct assembly *a, const char *text, size_t len)
{
	struct json doc = JSON_INIT;
	bool is = false;

	if (!a->failed && !a->stopped && !server_json_parse(&doc, text, len, NULL))
		is = is_error(&doc, "");
	json_release(&doc);
	if (is)
		server_error(a, text, len);
	return is;
}

/* Decides between what the stream and what the transport said. */
static void judge(struct assembly *a, const struct model_end *transport, struct model_end *end)
{
	end->complete = a->stop_reason && !a->open;
	if (end->complete) {
		end->failure = MODEL_FINE;
		return;
	}
	if (a->failed) {
		end->failure = MODEL_STREAM_ERROR;
		end->http_status = a->end.http_status;
		end->error_type = a->error_type;
		end->error_code = a->error_code;
		end->message = a->message ? a->message : "out of memory";
		end->quoted = a->message != NULL;
		if (!end->request_id)
			end->request_id = a->request_id;
		return;
	}
	bool of_transport = transport->failure != MODEL_FINE && transport->failure != MODEL_NETWORK &&
	                    transport->failure != MODEL_STREAM_CUT;
	if (of_transport || (transport->failure == MODEL_NETWORK && !a->started))
		return;
	end->failure = MODEL_STREAM_CUT;
	if (!end->message)
		end->message = a->open ? "the stream ended inside a content block"
		                       : "the stream ended without a stop_reason";
}

void assembly_end(struct assembly *a, const struct model_end *transport)
{
	struct model_event ev = { .kind = MODEL_EV_END };

	if (a->ended)
		return;
	a->ended = true;
	ev.end = *transport;
	ev.end.stop_reason = a->stop_reason;
	ev.end.stop_sequence = a->stop_sequence;
	ev.end.stop_details = a->stop_details;
	ev.end.usage = a->end.usage;
	ev.end.had_content = a->end.had_content;
	judge(a, transport, &ev.end);
	if (ev.end.failure && !ev.end.message)
		ev.end.message = "the model call failed";
	emit(a, &ev);
}

void assembly_release(struct assembly *a)
{
	for (size_t i = 0; i < a->n; i++)
		assembly_block_release(&a->blocks[i]);
	free(a->blocks);
	a->blocks = NULL;
	a->n = a->cap = a->open = 0;
	char **strings[] = { &a->message_id, &a->model,      &a->stop_reason, &a->stop_sequence, &a->stop_details,
		             &a->error_type, &a->error_code, &a->message,     &a->request_id };
	for (size_t i = 0; i < sizeof strings / sizeof strings[0]; i++)
		replace(strings[i], NULL);
}
