#include "model/exchange.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/json_out.h"

#define CHUNKS_MOST ((size_t)16 << 20)

static const char *const kinds[EXCHANGE_KINDS] = {
	[MODEL_MAIN] = "main",
	[MODEL_COMPACT] = "compact",
	[MODEL_SUMMARY] = "summary",
	[MODEL_COUNT] = "count",
};

static const char *const failures[] = {
	[MODEL_FINE] = NULL,
	[MODEL_HTTP] = "http",
	[MODEL_NETWORK] = "network",
	[MODEL_STREAM_CUT] = "stream_cut",
	[MODEL_STREAM_ERROR] = "stream_error",
	[MODEL_NOT_STREAM] = "not_stream",
	[MODEL_MISMATCH] = "mismatch",
	[MODEL_REFUSED_REQUEST] = "refused_request",
};

static const char *const nets[] = {
	[NET_NONE] = NULL, [NET_CONNECT_REFUSED] = "refused", [NET_UNKNOWN_HOST] = "unknown_host",
	[NET_TLS] = "tls", [NET_DEAD_REUSED] = "dead_reused", [NET_OTHER] = "other",
};

static const char *const ends[] = {
	[EXCHANGE_OPEN] = NULL,
	[EXCHANGE_DONE] = "done",
	[EXCHANGE_CANCELLED] = "cancelled",
};

/* In the order of struct answer_headers. */
static const char *const header_names[EXCHANGE_HEADERS] = { "content-type",   "content-encoding", "retry-after",
	                                                    "retry-after-ms", "x-should-retry",   "request-id" };

#define COUNT(table) (sizeof(table) / sizeof *(table))

const char *exchange_kind_name(enum model_kind kind)
{
	return kinds[kind];
}

void exchange_init(struct exchange *x)
{
	*x = (struct exchange){ .run = 1, .connected_ms = -1, .sent_ms = -1, .head_ms = -1 };
}

void exchange_release(struct exchange *x)
{
	for (size_t i = 0; i < EXCHANGE_HEADERS; i++)
		free(x->headers[i]);
	free(x->model);
	free(x->message);
	free(x->chunks);
	exchange_init(x);
}

/* ---- from the wire ---- */

static char *keep(struct exchange *x, const char *s)
{
	char *copy = s ? strdup(s) : NULL;

	if (s && !copy)
		x->nomem = true;
	return copy;
}

void exchange_asked(struct exchange *x, const struct model_request *req, struct exchange_count *count)
{
	int *ordinal = &count->ordinals[req->kind];

	*ordinal += req->attempt <= 1 || !*ordinal;
	x->kind = req->kind;
	x->ordinal = *ordinal;
	x->attempt = req->attempt > 0 ? req->attempt : 1;
	x->model = keep(x, req->model);
	x->wall_ms = clock_wall_ms();
}

void exchange_phase(struct exchange *x, int64_t ms, enum model_phase phase)
{
	if (phase == PHASE_CONNECTED)
		x->connected_ms = ms;
	else if (phase == PHASE_SENT)
		x->sent_ms = ms;
}

void exchange_head(struct exchange *x, int64_t ms, int status, const struct answer_headers *h)
{
	const char *const v[EXCHANGE_HEADERS] = { h->content_type,   h->content_encoding, h->retry_after,
		                                  h->retry_after_ms, h->should_retry,     h->request_id };

	x->head_ms = ms;
	x->status = status;
	for (size_t i = 0; i < EXCHANGE_HEADERS; i++)
		x->headers[i] = keep(x, v[i]);
}

static bool add_chunk(struct exchange *x, const struct exchange_chunk *c)
{
	if (x->nchunks == CHUNKS_MOST || ARRAY_GROW(x->chunks, x->nchunks, x->chunks_cap))
		return false;
	x->chunks[x->nchunks++] = *c;
	x->answer_bytes += c->n;
	return true;
}

/* What comes in the same millisecond, with nothing between, is one chunk: the reader of answers does not mind. */
void exchange_chunk(struct exchange *x, int64_t ms, size_t n, bool apart)
{
	const struct exchange_chunk c = { ms, n, apart };
	struct exchange_chunk *last = x->nchunks ? &x->chunks[x->nchunks - 1] : NULL;

	if (last && last->ms == ms && !apart) {
		last->n += n;
		x->answer_bytes += n;
	} else if (!add_chunk(x, &c)) {
		x->nomem = true;
	}
}

void exchange_done(struct exchange *x, int64_t ms, bool apart, const struct http_done *done)
{
	x->end = EXCHANGE_DONE;
	x->end_ms = ms;
	x->end_apart = apart;
	x->failure = done->failure;
	x->net = done->net;
	x->message = keep(x, done->message);
}

void exchange_cancelled(struct exchange *x, int64_t ms)
{
	x->end = EXCHANGE_CANCELLED;
	x->end_ms = ms;
}

void exchange_cut(struct exchange *x, size_t bytes)
{
	size_t left = bytes;

	for (size_t i = 0; i < x->nchunks; i++) {
		struct exchange_chunk *c = &x->chunks[i];
		if (!left) {
			x->nchunks = i;
			break;
		}
		c->n = c->n < left ? c->n : left;
		left -= c->n;
	}
	x->answer_bytes = bytes - left;
	x->end = EXCHANGE_CANCELLED;
}

void exchange_headers(const struct exchange *x, struct answer_headers *out)
{
	*out = (struct answer_headers){ x->headers[0], x->headers[1], x->headers[2],
		                        x->headers[3], x->headers[4], x->headers[5] };
}

/* ---- as JSON ---- */

static void write_request(struct json_out *o, const struct exchange *x)
{
	jo_key(o, "request");
	jo_object(o);
	jo_kint(o, "bytes", (int64_t)x->bytes);
	jo_kint(o, "prefix", (int64_t)x->prefix);
	if (x->prefix)
		jo_kstr(o, "prefix_sha256", x->prefix_sha);
	jo_end(o);
}

static void write_head(struct json_out *o, const struct exchange *x)
{
	if (x->connected_ms >= 0)
		jo_kint(o, "connected_ms", x->connected_ms);
	if (x->sent_ms >= 0)
		jo_kint(o, "sent_ms", x->sent_ms);
	if (x->head_ms < 0)
		return;
	jo_kint(o, "head_ms", x->head_ms);
	jo_kint(o, "status", x->status);
	jo_key(o, "headers");
	jo_object(o);
	for (size_t i = 0; i < EXCHANGE_HEADERS; i++)
		if (x->headers[i])
			jo_kstr(o, header_names[i], x->headers[i]);
	jo_end(o);
}

static void write_chunks(struct json_out *o, const struct exchange *x)
{
	jo_key(o, "chunks");
	jo_array(o);
	for (size_t i = 0; i < x->nchunks; i++) {
		jo_array(o);
		jo_int(o, x->chunks[i].ms);
		jo_int(o, (int64_t)x->chunks[i].n);
		if (x->chunks[i].apart)
			jo_bool(o, true);
		jo_end(o);
	}
	jo_end(o);
	jo_kint(o, "bytes", (int64_t)x->answer_bytes);
}

static void write_end(struct json_out *o, const struct exchange *x)
{
	if (!x->end)
		return;
	jo_kstr(o, "end", ends[x->end]);
	jo_kint(o, "end_ms", x->end_ms);
	if (x->end_apart)
		jo_kbool(o, "end_apart", true);
	if (failures[x->failure])
		jo_kstr(o, "failure", failures[x->failure]);
	if (nets[x->net])
		jo_kstr(o, "net", nets[x->net]);
	if (x->message)
		jo_kstr(o, "message", x->message);
}

int exchange_write(const struct exchange *x, struct buf *out)
{
	struct json_out o;

	json_out_init(&o, out);
	jo_object(&o);
	jo_kint(&o, "run", x->run);
	jo_kstr(&o, "kind", kinds[x->kind]);
	jo_kint(&o, "ordinal", x->ordinal);
	jo_kint(&o, "attempt", x->attempt);
	jo_kstr(&o, "model", x->model);
	jo_kint(&o, "wall_ms", x->wall_ms);
	write_request(&o, x);
	write_head(&o, x);
	write_chunks(&o, x);
	write_end(&o, x);
	jo_end(&o);
	return out->failed || x->nomem ? -1 : 0;
}

/* ---- from JSON ---- */

struct reader {
	struct exchange *x;
	struct json doc;
	const char *bad; /* the member that says what cannot be */
};

/* Times are added up when they are played, and must have room for that: some thousand years. */
#define TIME_MOST ((int64_t)1 << 48)

static void mind(struct reader *r, const char *member)
{
	if (!r->bad)
		r->bad = member;
}

static bool is_in(const struct reader *r, int obj, const char *key)
{
	return json_get(&r->doc, obj, key) >= 0;
}

static int64_t number(struct reader *r, int obj, const char *key, int64_t least, int64_t most)
{
	int64_t v = json_int_or(&r->doc, json_get(&r->doc, obj, key), least - 1);

	if (v < least || v > most)
		mind(r, key);
	return v;
}

/* A time that need not be there. */
static int64_t moment(struct reader *r, const char *key)
{
	int root = json_root(&r->doc);

	return is_in(r, root, key) ? number(r, root, key, 0, TIME_MOST) : -1;
}

static char *string(struct reader *r, int obj, const char *key)
{
	int tok = json_get(&r->doc, obj, key);
	char *s = json_strdup(&r->doc, tok, NULL);

	if (tok >= 0 && !s)
		mind(r, key);
	return s;
}

/* The index of a name; what is not there is the row without one. */
static size_t name(struct reader *r, const char *key, const char *const *table, size_t n)
{
	int tok = json_get(&r->doc, json_root(&r->doc), key);

	for (size_t i = 0; i < n; i++)
		if (table[i] ? json_eq(&r->doc, tok, table[i]) : tok < 0)
			return i;
	mind(r, key);
	return 0;
}

static void read_request(struct reader *r)
{
	int obj = json_get(&r->doc, json_root(&r->doc), "request");

	r->x->bytes = (size_t)number(r, obj, "bytes", 0, (int64_t)BUF_HUGE);
	r->x->prefix = (size_t)number(r, obj, "prefix", 0, (int64_t)BUF_HUGE);
	if (r->x->prefix > r->x->bytes)
		mind(r, "prefix");
	char *sha = string(r, obj, "prefix_sha256");
	if (sha && strlen(sha) == DIGEST_HEX)
		memcpy(r->x->prefix_sha, sha, sizeof r->x->prefix_sha);
	else if (sha || r->x->prefix)
		mind(r, "prefix_sha256");
	free(sha);
}

static void read_head(struct reader *r)
{
	int root = json_root(&r->doc), headers = json_get(&r->doc, root, "headers");

	r->x->connected_ms = moment(r, "connected_ms");
	r->x->sent_ms = moment(r, "sent_ms");
	r->x->head_ms = moment(r, "head_ms");
	if (r->x->head_ms < 0)
		return;
	r->x->status = (int)number(r, root, "status", 0, 999);
	for (size_t i = 0; i < EXCHANGE_HEADERS; i++)
		r->x->headers[i] = string(r, headers, header_names[i]);
}

static bool read_chunk(struct reader *r, int tok)
{
	const struct json *d = &r->doc;
	struct exchange_chunk c = { .ms = -1 };
	int ms = json_first(d, tok), n = ms < 0 ? -1 : json_next(d, tok, ms), apart = n < 0 ? -1 : json_next(d, tok, n);
	int64_t bytes = json_int_or(d, n, -1);

	c.ms = json_int_or(d, ms, -1);
	c.n = (size_t)bytes;
	if (c.ms < 0 || c.ms > TIME_MOST || bytes < 0 || bytes > (int64_t)BUF_HUGE)
		return false;
	if (apart >= 0 && !json_bool(d, apart, &c.apart))
		return false;
	return r->x->answer_bytes + c.n <= BUF_HUGE && add_chunk(r->x, &c);
}

static void read_chunks(struct reader *r)
{
	int list = json_get(&r->doc, json_root(&r->doc), "chunks");

	for (int tok = json_first(&r->doc, list); tok >= 0; tok = json_next(&r->doc, list, tok))
		if (!read_chunk(r, tok)) {
			mind(r, "chunks");
			return;
		}
}

static void read_end(struct reader *r)
{
	r->x->end = (enum exchange_end)name(r, "end", ends, COUNT(ends));
	if (!r->x->end)
		return;
	r->x->end_ms = number(r, json_root(&r->doc), "end_ms", 0, TIME_MOST);
	r->x->end_apart = is_in(r, json_root(&r->doc), "end_apart");
	r->x->failure = (enum model_failure)name(r, "failure", failures, COUNT(failures));
	r->x->net = (enum model_net)name(r, "net", nets, COUNT(nets));
	r->x->message = string(r, json_root(&r->doc), "message");
	if (r->x->failure && !r->x->message)
		mind(r, "message");
}

static void read_all(struct reader *r)
{
	int root = json_root(&r->doc);

	r->x->run = (int)number(r, root, "run", 1, INT32_MAX);
	r->x->kind = (enum model_kind)name(r, "kind", kinds, COUNT(kinds));
	r->x->ordinal = (int)number(r, root, "ordinal", 1, INT32_MAX);
	r->x->attempt = (int)number(r, root, "attempt", 1, INT32_MAX);
	r->x->model = string(r, root, "model");
	if (!r->x->model)
		mind(r, "model");
	r->x->wall_ms = number(r, root, "wall_ms", 0, TIME_MOST);
	read_request(r);
	read_head(r);
	read_chunks(r);
	read_end(r);
}

int exchange_read(struct exchange *x, const char *text, size_t n, struct error *e)
{
	struct reader r = { .x = x, .doc = JSON_INIT };

	exchange_init(x);
	if (json_parse(&r.doc, text, n, JSON_BORROW, e))
		return -1;
	read_all(&r);
	json_release(&r.doc);
	if (!r.bad)
		return 0;
	exchange_release(x);
	return error_set(e, ERR_INPUT, "'%s' is missing, or says what cannot be", r.bad);
}
