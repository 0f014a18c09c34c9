/* One answer of a tape, read by tables: a new key is a row and, if its form is new, a function. */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/json_out.h"
#include "base/suggest.h"
#include "model/tape.h"

#define LENGTH(a) (sizeof(a) / sizeof *(a))

enum { MADE = TAPE_CONTENT, STREAMS = TAPE_CONTENT | TAPE_SSE, ANY = STREAMS | TAPE_STATUS | TAPE_NETWORK };

struct reader {
	struct arena *arena;
	struct error *e;
};

struct key {
	const char *name;
	int (*read)(const struct reader *r, const struct yaml_node *v, void *out); /* out: the field at `at` */
	size_t at;
	unsigned kinds; /* answers: the kinds it belongs to, and the kind it makes */
	enum tape_kind makes;
};

static const struct key *find_key(const struct key *keys, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(keys[i].name, name))
			return &keys[i];
	return NULL;
}

static int unknown_key(const struct reader *r, const struct key *keys, size_t n, const struct yaml_node *key,
                       const char *where)
{
	struct suggest s;
	char list[300] = "";
	size_t len = 0;

	suggest_init(&s, key->text, key->len);
	for (size_t i = 0; i < n; i++) {
		suggest_offer(&s, keys[i].name);
		len += (size_t)snprintf(list + len, len < sizeof list ? sizeof list - len : 0, "%s%s", i ? ", " : "",
		                        keys[i].name);
		if (len >= sizeof list)
			len = sizeof list;
	}
	if (s.best)
		return tape_fail(r->e, key, "unknown key '%.60s' in %s (did you mean %s?)", key->text, where, s.best);
	return tape_fail(r->e, key, "unknown key '%.60s' in %s (known: %s)", key->text, where, list);
}

static int read_map(const struct reader *r, const struct yaml_node *node, const struct key *keys, size_t n, void *out,
                    const char *where)
{
	if (node->kind != YAML_MAP)
		return tape_fail(r->e, node, "%s must be a map", where);
	for (const struct yaml_node *v = node->first; v; v = v->next) {
		const struct key *k = find_key(keys, n, v->key->text);
		if (!k)
			return unknown_key(r, keys, n, v->key, where);
		if (k->read(r, v, (char *)out + k->at))
			return -1;
	}
	return 0;
}

/* Forms of values */

static const char *name_of(const struct yaml_node *v)
{
	return v->key ? v->key->text : "an item";
}

static int read_text(const struct reader *r, const struct yaml_node *v, void *out)
{
	if (v->kind != YAML_SCALAR)
		return tape_fail(r->e, v, "%s must be a text", name_of(v));
	*(const char **)out = v->text;
	return 0;
}

static int read_int(const struct reader *r, const struct yaml_node *v, int64_t min, int64_t max, int64_t *out)
{
	int64_t n = 0;
	bool ok = v->kind == YAML_SCALAR && v->len > 0;

	for (size_t i = 0; ok && i < v->len; i++) {
		ok = v->text[i] >= '0' && v->text[i] <= '9' && n <= INT_MAX;
		n = n * 10 + (v->text[i] - '0');
	}
	if (!ok || n < min || n > max)
		return tape_fail(r->e, v, "%s must be a number from %lld to %lld", name_of(v), (long long)min,
		                 (long long)max);
	*out = n;
	return 0;
}

static int read_count(const struct reader *r, const struct yaml_node *v, void *out)
{
	return read_int(r, v, 0, INT_MAX, out);
}

static int read_positive(const struct reader *r, const struct yaml_node *v, void *out)
{
	return read_int(r, v, 1, INT_MAX, out);
}

static int read_repeat(const struct reader *r, const struct yaml_node *v, void *out)
{
	return read_int(r, v, 1, TAPE_MAX_REPEAT, out);
}

static int read_status(const struct reader *r, const struct yaml_node *v, void *out)
{
	return read_int(r, v, 200, 599, out);
}

/* 250ms, 2s, 5m, 1h, or 0 */
static int read_duration(const struct reader *r, const struct yaml_node *v, void *out)
{
	static const struct {
		const char *unit;
		int64_t ms;
	} units[] = { { "ms", 1 }, { "s", 1000 }, { "m", 60000 }, { "h", 3600000 } };
	int64_t n = 0;
	const char *p = v->kind == YAML_SCALAR ? v->text : "";

	const char *start = p;
	for (; *p >= '0' && *p <= '9' && n <= TAPE_MAX_DURATION; p++)
		n = n * 10 + (*p - '0');
	for (size_t i = 0; p > start && i < LENGTH(units); i++) {
		if (strcmp(p, units[i].unit) != 0 || n > TAPE_MAX_DURATION / units[i].ms)
			continue;
		*(int64_t *)out = n * units[i].ms;
		return 0;
	}
	if (p > start && !*p && !n) {
		*(int64_t *)out = 0;
		return 0;
	}
	return tape_fail(r->e, v, "%s must be a duration such as 250ms, 2s or 5m, at most 24h", name_of(v));
}

static bool is_bool(const struct yaml_node *v)
{
	return v->kind == YAML_SCALAR && v->plain && (!strcmp(v->text, "true") || !strcmp(v->text, "false"));
}

static int read_list(const struct reader *r, const struct yaml_node *v, void *out)
{
	struct tape_list *list = out;
	size_t n = 0;

	if (v->kind == YAML_MAP)
		return tape_fail(r->e, v, "%s must be a text or a list of texts", name_of(v));
	list->single = v->kind == YAML_SCALAR;
	const struct yaml_node *first = list->single ? v : v->first;
	for (const struct yaml_node *i = first; i; i = list->single ? NULL : i->next, n++)
		if (i->kind != YAML_SCALAR)
			return tape_fail(r->e, i, "%s must be a list of texts", name_of(v));
	const char **texts = arena_alloc(r->arena, (n + 1) * sizeof *texts);
	if (!texts)
		return error_nomem(r->e);
	for (const struct yaml_node *i = first; i; i = list->single ? NULL : i->next)
		texts[list->n++] = i->text;
	list->v = texts;
	list->given = true;
	return 0;
}

static int read_bools(const struct reader *r, const struct yaml_node *v, void *out)
{
	if (v->kind == YAML_SCALAR && !is_bool(v))
		return tape_fail(r->e, v, "%s must be true, false or a list of them", name_of(v));
	for (const struct yaml_node *i = v->kind == YAML_SEQ ? v->first : NULL; i; i = i->next)
		if (!is_bool(i))
			return tape_fail(r->e, i, "%s must be a list of true and false", name_of(v));
	return read_list(r, v, out);
}

/* The node as JSON text in the arena. */
static const char *json_of(const struct reader *r, const struct yaml_node *v, size_t *len)
{
	struct buf b = BUF_INIT(TAPE_MAX_BYTES);
	struct json_out o;
	const char *text = NULL;

	json_out_init(&o, &b);
	if (yaml_to_json(v, &o, r->e)) {
		/* It names the place in its own way; the reader wants one way only. */
		tape_fail(r->e, v, "%s cannot be written as JSON: nested too deeply, or a number JSON has not",
		          name_of(v));
	} else if (!buf_check(&b, "a value of the tape", r->e)) {
		text = arena_strndup(r->arena, buf_str(&b), b.len);
		*len = b.len;
		if (!text)
			error_nomem(r->e);
	}
	buf_release(&b);
	return text;
}

/* Expectations */

static int read_expect(const struct reader *r, const struct yaml_node *v, void *out)
{
#define X(field) offsetof(struct tape_expect, field), 0, 0
	static const struct key keys[] = {
		{ "turn", read_positive, X(turn) },
		{ "model", read_text, X(model) },
		{ "last", read_text, X(last) },
		{ "results", read_list, X(results) },
		{ "result_contains", read_list, X(result_contains) },
		{ "is_error", read_bools, X(is_error) },
		{ "tools", read_list, X(tools) },
		{ "system_contains", read_text, X(system_contains) },
		{ "messages", read_positive, X(messages) },
	};
#undef X
	return read_map(r, v, keys, LENGTH(keys), out, "expect");
}

/* Content blocks */

static int read_block_text(const struct reader *r, const struct yaml_node *v, void *out)
{
	struct tape_block *b = out;

	b->text_len = v->len;
	return read_text(r, v, &b->text);
}

static int read_object(const struct reader *r, const struct yaml_node *v, void *out)
{
	struct tape_block *b = out;

	if (v->kind != YAML_MAP)
		return tape_fail(r->e, v, "%s must be a map", name_of(v));
	b->json = json_of(r, v, &b->json_len);
	return b->json ? 0 : -1;
}

static int read_tool_use(const struct reader *r, const struct yaml_node *v, void *out)
{
	static const struct key keys[] = {
		{ "name", read_text, offsetof(struct tape_block, name), 0, 0 },
		{ "input", read_object, 0, 0, 0 },
		{ "id", read_text, offsetof(struct tape_block, id), 0, 0 },
	};
	struct tape_block *b = out;

	if (read_map(r, v, keys, LENGTH(keys), b, "tool_use"))
		return -1;
	if (!b->name)
		return tape_fail(r->e, v, "tool_use has no name");
	if (!b->json) {
		b->json = "{}";
		b->json_len = 2;
	}
	return 0;
}

static int read_raw(const struct reader *r, const struct yaml_node *v, void *out)
{
	const struct yaml_node *type = v->kind == YAML_MAP ? yaml_get(v, "type") : NULL;

	if (!type || type->kind != YAML_SCALAR)
		return tape_fail(r->e, v, "raw must be a content block: a map with a type");
	return read_object(r, v, out);
}

static int read_block(const struct reader *r, const struct yaml_node *node, struct tape_block *b)
{
	static const struct key keys[] = {
		{ "text", read_block_text, 0, 0, 0 },
		{ "thinking", read_block_text, 0, 0, 0 },
		{ "tool_use", read_tool_use, 0, 0, 0 },
		{ "raw", read_raw, 0, 0, 0 },
		{ "signature", read_text, offsetof(struct tape_block, signature), 0, 0 },
	};
	const struct yaml_node *what = NULL;

	if (read_map(r, node, keys, LENGTH(keys), b, "a content block"))
		return -1;
	for (const struct yaml_node *v = node->first; v; v = v->next) {
		size_t i = (size_t)(find_key(keys, LENGTH(keys), v->key->text) - keys);
		if (i > TAPE_RAW)
			continue;
		if (what)
			return tape_fail(r->e, v->key, "a content block is one of text, thinking, tool_use and raw");
		what = v;
		b->kind = (enum tape_block_kind)i;
	}
	if (!what)
		return tape_fail(r->e, node, "a content block is one of text, thinking, tool_use and raw");
	if (b->signature && b->kind != TAPE_THINKING)
		return tape_fail(r->e, node, "a signature belongs to thinking");
	return 0;
}

static int new_blocks(const struct reader *r, struct tape_answer *ans, size_t n)
{
	ans->blocks = arena_alloc(r->arena, (n + 1) * sizeof *ans->blocks);
	ans->nblocks = n;
	return ans->blocks ? 0 : error_nomem(r->e);
}

static int read_content(const struct reader *r, const struct yaml_node *v, void *out)
{
	struct tape_answer *ans = out;
	size_t n = 0;

	if (v->kind != YAML_SEQ)
		return tape_fail(r->e, v, "content must be a list of blocks");
	for (const struct yaml_node *i = v->first; i; i = i->next)
		n++;
	if (new_blocks(r, ans, n))
		return -1;
	struct tape_block *b = ans->blocks;
	for (const struct yaml_node *i = v->first; i; i = i->next, b++) {
		if (read_block(r, i, b))
			return -1;
		ans->unnamed += b->kind == TAPE_TOOL_USE && !b->id;
	}
	return 0;
}

static int read_answer_text(const struct reader *r, const struct yaml_node *v, void *out)
{
	struct tape_answer *ans = out;

	return new_blocks(r, ans, 1) ? -1 : read_block_text(r, v, ans->blocks);
}

/* What is no content */

static int read_body(const struct reader *r, const struct yaml_node *v, void *out)
{
	struct tape_answer *ans = out;

	ans->body_len = v->len;
	return read_text(r, v, &ans->body);
}

static int read_error(const struct reader *r, const struct yaml_node *v, void *out)
{
	static const struct key keys[] = {
		{ "type", read_text, offsetof(struct tape_answer, error_type), 0, 0 },
		{ "message", read_text, offsetof(struct tape_answer, error_message), 0, 0 },
		{ "code", read_text, offsetof(struct tape_answer, error_code), 0, 0 },
	};

	return read_map(r, v, keys, LENGTH(keys), out, "error");
}

static int read_headers(const struct reader *r, const struct yaml_node *v, void *out)
{
	struct tape_answer *ans = out;
	size_t n = 0;

	if (v->kind != YAML_MAP)
		return tape_fail(r->e, v, "headers must be a map");
	for (const struct yaml_node *h = v->first; h; h = h->next)
		n++;
	ans->headers = arena_alloc(r->arena, (n + 1) * sizeof *ans->headers);
	if (!ans->headers)
		return error_nomem(r->e);
	for (const struct yaml_node *h = v->first; h; h = h->next) {
		struct tape_header *to = &ans->headers[ans->nheaders++];
		to->name = h->key->text;
		if (read_text(r, h, &to->value))
			return -1;
	}
	return 0;
}

static int read_network(const struct reader *r, const struct yaml_node *v, void *out)
{
	static const struct {
		const char *name;
		enum model_failure failure;
		enum model_net net;
		const char *text;
	} rows[] = {
		{ "refused", MODEL_NETWORK, NET_CONNECT_REFUSED, "connection refused" },
		{ "unknown_host", MODEL_NETWORK, NET_UNKNOWN_HOST, "the host name is not known" },
		{ "reset", MODEL_NETWORK, NET_OTHER, "connection reset" },
		{ "timeout", MODEL_NETWORK, NET_OTHER, "the connection timed out" },
		{ "dead_reused", MODEL_NETWORK, NET_DEAD_REUSED, "the kept connection was dead" },
		{ "tls", MODEL_REFUSED_REQUEST, NET_TLS, "the server's certificate is not trusted" },
	};
	struct tape_answer *ans = out;

	for (size_t i = 0; v->kind == YAML_SCALAR && i < LENGTH(rows); i++) {
		if (strcmp(v->text, rows[i].name) != 0)
			continue;
		ans->failure = rows[i].failure;
		ans->net = rows[i].net;
		ans->failure_text = rows[i].text;
		return 0;
	}
	return tape_fail(r->e, v, "network must be refused, unknown_host, reset, timeout, dead_reused or tls");
}

static int read_error_after(const struct reader *r, const struct yaml_node *v, void *out)
{
	static const struct key keys[] = {
		{ "events", read_count, offsetof(struct tape_answer, fail_after), 0, 0 },
		{ "type", read_text, offsetof(struct tape_answer, fail_type), 0, 0 },
		{ "message", read_text, offsetof(struct tape_answer, fail_message), 0, 0 },
	};
	struct tape_answer *ans = out;

	if (read_map(r, v, keys, LENGTH(keys), ans, "error_after"))
		return -1;
	if (ans->fail_after < 0)
		return tape_fail(r->e, v, "error_after has no events: after how many?");
	return 0;
}

/* Counts as the API names them; maps (cache_creation, server_tool_use) and texts (speed) go as they are. */
static int read_usage(const struct reader *r, const struct yaml_node *v, void *out)
{
	size_t len;

	if (v->kind != YAML_MAP)
		return tape_fail(r->e, v, "usage must be a map");
	if (!json_of(r, v, &len))
		return -1;
	*(const struct yaml_node **)out = v;
	return 0;
}

/* Some keys fill several fields: they get the whole answer (offset 0). */
#define F(field) offsetof(struct tape_answer, field)
static const struct key answer_keys[] = {
	{ "expect", read_expect, F(expect), ANY, 0 },
	{ "text", read_answer_text, 0, TAPE_CONTENT, TAPE_CONTENT },
	{ "content", read_content, 0, TAPE_CONTENT, TAPE_CONTENT },
	{ "sse", read_body, 0, TAPE_SSE, TAPE_SSE },
	{ "status", read_status, F(status), TAPE_STATUS, TAPE_STATUS },
	{ "network", read_network, 0, TAPE_NETWORK, TAPE_NETWORK },
	{ "error", read_error, 0, TAPE_STATUS, 0 },
	{ "body", read_body, 0, TAPE_STATUS, 0 },
	{ "headers", read_headers, 0, TAPE_STATUS, 0 },
	{ "stop_reason", read_text, F(stop_reason), MADE, 0 },
	{ "usage", read_usage, F(usage), MADE, 0 },
	{ "id", read_text, F(id), MADE, 0 },
	{ "model", read_text, F(model), MADE, 0 },
	{ "delay", read_duration, F(delay_ms), ANY, 0 },
	{ "gap", read_duration, F(gap_ms), STREAMS, 0 },
	{ "cut_after", read_count, F(cut_after), STREAMS, 0 },
	{ "stall_after", read_count, F(stall_after), STREAMS, 0 },
	{ "error_after", read_error_after, 0, STREAMS, 0 },
	{ "chunk", read_positive, F(chunk), STREAMS, 0 },
	{ "repeat", read_repeat, F(repeat), ANY, 0 },
};
#undef F

static int check_kind(const struct reader *r, const struct yaml_node *node, struct tape_answer *ans)
{
	static const char rule[] = "an answer has exactly one of text, content, status, sse and network";
	const char *by = NULL;

	for (const struct yaml_node *v = node->first; v; v = v->next) {
		const struct key *k = find_key(answer_keys, LENGTH(answer_keys), v->key->text);
		if (!k->makes)
			continue;
		if (by)
			return tape_fail(r->e, v->key, "%s; this one has %s and %s", rule, by, k->name);
		by = k->name;
		ans->kind = k->makes;
	}
	if (!by)
		return tape_fail(r->e, node, "%s; this one has none", rule);
	for (const struct yaml_node *v = node->first; v; v = v->next) {
		const struct key *k = find_key(answer_keys, LENGTH(answer_keys), v->key->text);
		if (!(k->kinds & ans->kind))
			return tape_fail(r->e, v->key, "%s means nothing in an answer by %s", k->name, by);
	}
	if (ans->body && (ans->error_type || ans->error_message || ans->error_code))
		return tape_fail(r->e, node, "an answer has an error or a body, not both");
	return 0;
}

void tape_init_answer(struct tape_answer *ans, int line, enum tape_kind kind)
{
	*ans = (struct tape_answer){ .line = line,
		                     .kind = kind,
		                     .expect = { .turn = -1, .messages = -1 },
		                     .cut_after = -1,
		                     .stall_after = -1,
		                     .fail_after = -1,
		                     .repeat = 1 };
}

int tape_read_answer(struct arena *a, const struct yaml_node *node, struct tape_answer *out, struct error *e)
{
	struct reader r = { a, e };

	tape_init_answer(out, node->line, 0);
	if (read_map(&r, node, answer_keys, LENGTH(answer_keys), out, "an answer"))
		return -1;
	return check_kind(&r, node, out);
}
