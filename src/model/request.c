#include "model/request.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/array.h"
#include "base/json.h"
#include "base/json_out.h"
#include "base/log.h"
#include "base/utf8.h"

#define MARK      ",\"cache_control\":{\"type\":\"ephemeral\"}"
#define MAX_MARKS 3 /* in messages; the API takes 4, one is for system and tools */

/* A mark finds what an earlier request wrote at most this many blocks before it. */
#define LOOKBACK 20

static int add(struct request_body *b, const char *p, size_t n)
{
	if (!n)
		return 0;
	if (ARRAY_GROW(b->v, b->n, b->cap))
		return -1;
	b->v[b->n++] = (struct request_slice){ p, n };
	b->length += n;
	return 0;
}

#define SLICE(s)                                                                                                       \
	{                                                                                                              \
		s, sizeof(s) - 1                                                                                       \
	}
#define ADD_LITERAL(b, s) add(b, s, sizeof(s) - 1)

/* Adds an object's text with a cache mark as its last member. */
static int add_marked(struct request_body *b, const char *object, size_t n)
{
	return add(b, object, n - 1) || ADD_LITERAL(b, MARK "}") ? -1 : 0;
}

/* What a request of each kind holds beside the messages. */
struct shape {
	bool streams;  /* and with it max_tokens */
	bool tools;    /* and the choice among them */
	bool no_calls; /* tool_choice none: the tools are there for the cache's sake only */
	bool thinking;
	bool effort;
	bool marks;  /* what is asked once needs no cache */
	bool extras; /* else of the job's extra members only those that say how tools and thinking are used */
};

static const struct shape *shape_of(const struct model_request *req)
{
	static const struct shape shapes[] = {
		[MODEL_MAIN] = { true, true, false, true, true, true, true },
		[MODEL_COMPACT] = { true, true, true, true, true, true, true },
		[MODEL_SUMMARY] = { true, false, false, false, false, false, false },
		[MODEL_COUNT] = { false, true, false, true, false, false, false },
	};

	return &shapes[req->kind];
}

static bool marks_allowed(const struct model_request *req)
{
	return shape_of(req)->marks && !(req->without & WITHOUT_CACHE_MARKS);
}

static bool is_blank(const char *s)
{
	return !s || utf8_is_blank(s, strlen(s));
}

static void write_system(struct json_out *o, const struct model_request *req)
{
	jo_key(o, "system");
	jo_array(o);
	jo_object(o);
	jo_kstr(o, "type", "text");
	jo_kstr(o, "text", req->system);
	if (marks_allowed(req)) {
		jo_key(o, "cache_control");
		jo_object(o);
		jo_kstr(o, "type", "ephemeral");
		jo_end(o);
	}
	jo_end(o);
	jo_end(o);
}

/* What stands before the tools; the object stays open. */
static void write_head(struct request_body *b, const struct model_request *req)
{
	struct json_out o;

	json_out_init(&o, &b->head);
	jo_object(&o);
	jo_kstr(&o, "model", req->model);
	if (shape_of(req)->streams) {
		jo_kint(&o, "max_tokens", req->max_tokens);
		jo_kbool(&o, "stream", true);
	}
	if (!is_blank(req->system))
		write_system(&o, req);
}

/* The job's extra members, and those of ours that they may replace. */
struct extras {
	struct json doc;
	const struct model_request *req;
	const struct shape *shape;
};

/* Ours alone: an extra member of that name would be a second one. */
static const char *const reserved[] = { "model", "max_tokens", "stream", "system", "tools", "messages" };

bool request_is_refused(const struct model_request *req, const char *name, size_t n)
{
	static const char between[] = " ,";

	for (const char *p = req->refused ? req->refused : ""; *p;) {
		p += strspn(p, between);
		size_t len = strcspn(p, between);
		if (len == n && n && !strncasecmp(p, name, n))
			return true;
		p += len;
	}
	return false;
}

static bool is_ours(const struct extras *x, int key)
{
	for (size_t i = 0; i < sizeof reserved / sizeof reserved[0]; i++)
		if (json_eq(&x->doc, key, reserved[i]))
			return true;
	if (json_eq(&x->doc, key, "cache_control"))
		return !marks_allowed(x->req);
	if (json_eq(&x->doc, key, "tool_choice"))
		return !x->shape->tools || x->shape->no_calls;
	return !x->shape->extras || json_eq(&x->doc, key, "thinking") || json_eq(&x->doc, key, "output_config");
}

static int extra(const struct extras *x, const char *key)
{
	return json_get(&x->doc, json_root(&x->doc), key);
}

static void raw_member(struct buf *out, const char *key, const char *value, size_t n)
{
	buf_addf(out, ",\"%s\":", key);
	buf_add(out, value, n);
}

static bool is_sent(const struct model_request *req, const struct block *block)
{
	if (block_is_thinking(block))
		return !(req->without & WITHOUT_THINKING_BLOCKS);
	return !block_is_blank(block);
}

/* Does the answer whose results come last begin with thinking? True if the model waits for no results. */
static bool open_answer_thinks(const struct model_request *req)
{
	const struct history *h = req->messages;
	const struct message *m = h->n > 1 ? h->v[h->n - 2] : NULL;
	size_t i = 0;

	if (!m || !h->v[h->n - 1]->n || h->v[h->n - 1]->blocks[0]->kind != BLOCK_TOOL_RESULT)
		return true;
	while (i < m->n && !is_sent(req, m->blocks[i]))
		i++;
	return i < m->n && block_is_thinking(m->blocks[i]);
}

/* Thinking with a budget is refused where an answer that waits for its results does not begin with thinking: another
 * model's was taken out, an edit took it, or the answer was itself given without. The short cap of a summary may not
 * leave room for the budget. */
static bool thinking_fits(const struct model_request *req, const char *setting, size_t n)
{
	struct json doc = JSON_INIT;
	bool fits = true;

	if (!json_parse(&doc, setting, n, JSON_BORROW, NULL) &&
	    json_eq(&doc, json_get(&doc, json_root(&doc), "type"), "enabled")) {
		int64_t budget = json_int_or(&doc, json_get(&doc, json_root(&doc), "budget_tokens"), 0);
		fits = open_answer_thinks(req) && (req->kind != MODEL_COMPACT || budget < req->max_tokens);
	}
	json_release(&doc);
	return fits;
}

/* An extra member of the same name wins over the job's own key: it was asked for in the API's words. */
static void write_thinking(struct buf *out, const struct extras *x)
{
	size_t n = 0;
	const char *raw = json_raw(&x->doc, extra(x, "thinking"), &n);

	if (!raw && x->req->thinking_json) {
		raw = x->req->thinking_json;
		n = strlen(raw);
	}
	if (!raw || x->req->without & WITHOUT_THINKING || !x->shape->thinking || !thinking_fits(x->req, raw, n))
		return;
	raw_member(out, "thinking", raw, n);
}

/* The effort goes into the output_config that the extra members may bring for other reasons. */
static void write_output_config(struct buf *out, const struct extras *x)
{
	int config = extra(x, "output_config");
	const char *effort = x->req->without & WITHOUT_EFFORT ? NULL : x->req->effort;
	bool any = effort && json_get(&x->doc, config, "effort") < 0;
	struct buf members = BUF_INIT(BUF_HUGE);

	if (!x->shape->effort || request_is_refused(x->req, "output_config", strlen("output_config")))
		return;
	if (any) {
		buf_adds(&members, "\"effort\":");
		json_quote(&members, effort, strlen(effort));
	}
	for (int key = json_first(&x->doc, config); key >= 0; key = json_next(&x->doc, config, key)) {
		size_t n = 0, m = 0;
		const char *name = json_raw(&x->doc, key, &n);
		const char *value = json_raw(&x->doc, json_value_of(&x->doc, key), &m);
		if (x->req->without & WITHOUT_EFFORT && json_eq(&x->doc, key, "effort"))
			continue;
		if (members.len)
			buf_addc(&members, ',');
		buf_add(&members, name, n);
		buf_addc(&members, ':');
		buf_add(&members, value, m);
	}
	if (members.len)
		buf_addf(out, ",\"output_config\":{%s}", members.data);
	if (members.failed)
		out->failed = members.failed;
	buf_release(&members);
}

static void write_extra(struct buf *out, const struct extras *x)
{
	int root = json_root(&x->doc);

	for (int key = json_first(&x->doc, root); key >= 0; key = json_next(&x->doc, root, key)) {
		size_t n = 0, m = 0;
		const char *name = json_raw(&x->doc, key, &n);
		const char *value = json_raw(&x->doc, json_value_of(&x->doc, key), &m);
		if (is_ours(x, key) || request_is_refused(x->req, name + 1, n - 2)) /* without its quotes */
			continue;
		buf_addc(out, ',');
		buf_add(out, name, n);
		buf_addc(out, ':');
		buf_add(out, value, m);
	}
}

/* What stands between the tools and the messages. */
static int write_middle(struct request_body *b, const struct model_request *req, bool tools, struct error *e)
{
	struct extras x = { .doc = JSON_INIT, .req = req, .shape = shape_of(req) };
	int r = 0;

	if (req->extra_json && !(req->without & WITHOUT_EXTRA)) {
		r = json_parse(&x.doc, req->extra_json, strlen(req->extra_json), JSON_UNIQUE | JSON_BORROW, e);
		if (!r && json_type(&x.doc, json_root(&x.doc)) != JSON_OBJECT)
			r = error_set(e, ERR_INPUT, "model.extra must be an object");
	}
	if (!r) {
		if (tools && x.shape->no_calls)
			buf_adds(&b->middle, ",\"tool_choice\":{\"type\":\"none\"}");
		write_thinking(&b->middle, &x);
		write_output_config(&b->middle, &x);
		write_extra(&b->middle, &x);
		buf_adds(&b->middle, ",\"messages\":[");
	}
	json_release(&x.doc);
	return r;
}

/* Length of the tool list up to its last '}', 0 if it is empty. */
static size_t tools_body(const char *tools)
{
	const char *brace = tools ? strrchr(tools, '}') : NULL;

	return brace ? (size_t)(brace - tools) + 1 : 0;
}

static int add_tools(struct request_body *b, const struct model_request *req, size_t body)
{
	bool marked = is_blank(req->system) && marks_allowed(req);

	if (ADD_LITERAL(b, ",\"tools\":"))
		return -1;
	if (marked ? add_marked(b, req->tools_json, body) : add(b, req->tools_json, body))
		return -1;
	return ADD_LITERAL(b, "]");
}

/* The block of a message that may carry a mark: the last one sent. Thinking may not. */
static const struct block *markable(const struct model_request *req, const struct message *m)
{
	for (size_t i = m->n; i > 0; i--)
		if (is_sent(req, m->blocks[i - 1]) && !block_is_thinking(m->blocks[i - 1]))
			return m->blocks[i - 1];
	return NULL;
}

struct marks {
	const struct block *v[MAX_MARKS];
	size_t n;
};

/* The newest user messages, newest first: two, and one more if so much came since that the second is out of reach. */
static void choose_marks(const struct model_request *req, struct marks *marks)
{
	const struct history *h = req->messages;
	size_t blocks = 0, want = 2;

	marks->n = 0;
	if (!marks_allowed(req))
		return;
	for (size_t i = h->n; i > 0 && marks->n < want; i--) {
		const struct message *m = h->v[i - 1];
		const struct block *block = m->role == ROLE_USER ? markable(req, m) : NULL;
		if (block) {
			if (marks->n == 1 && blocks >= LOOKBACK)
				want = MAX_MARKS;
			marks->v[marks->n++] = block;
		}
		blocks += m->n;
	}
}

static bool is_marked(const struct marks *marks, const struct block *block)
{
	for (size_t i = 0; i < marks->n; i++)
		if (marks->v[i] == block)
			return true;
	return false;
}

struct writer {
	struct request_body *body;
	const struct model_request *req;
	struct marks marks;
	int role; /* of the message that is open, -1 = none yet */
};

/* Opens a message of that role, unless the one before, left out blocks aside, has the same. */
static int open_message(struct writer *w, enum role role)
{
	static const struct request_slice heads[2][2] = {
		{ SLICE("{\"role\":\"user\",\"content\":["), SLICE("]},{\"role\":\"user\",\"content\":[") },
		{ SLICE("{\"role\":\"assistant\",\"content\":["), SLICE("]},{\"role\":\"assistant\",\"content\":[") },
	};
	const struct request_slice *head = &heads[role == ROLE_ASSISTANT][w->role >= 0];

	if (w->role == (int)role)
		return ADD_LITERAL(w->body, ",");
	w->role = (int)role;
	return add(w->body, head->p, head->n);
}

static int add_message(struct writer *w, const struct message *m)
{
	for (size_t i = 0; i < m->n; i++) {
		const struct block *block = m->blocks[i];
		if (!is_sent(w->req, block))
			continue;
		if (open_message(w, m->role))
			return -1;
		if (is_marked(&w->marks, block) ? add_marked(w->body, block->json, block->json_len)
		                                : add(w->body, block->json, block->json_len))
			return -1;
	}
	return 0;
}

static int add_messages(struct request_body *b, const struct model_request *req)
{
	struct writer w = { .body = b, .req = req, .role = -1 };

	choose_marks(req, &w.marks);
	for (size_t i = 0; i < req->messages->n; i++)
		if (add_message(&w, req->messages->v[i]))
			return -1;
	return w.role >= 0 ? ADD_LITERAL(b, "]}]}") : ADD_LITERAL(b, "]}");
}

static int build(struct request_body *b, const struct model_request *req, struct error *e)
{
	size_t tools = shape_of(req)->tools ? tools_body(req->tools_json) : 0;

	/* Slices point into both buffers, so they are written whole before the first slice is made. */
	write_head(b, req);
	if (write_middle(b, req, tools > 0, e))
		return -1;
	if (buf_check(&b->head, "the system prompt", e) || buf_check(&b->middle, "model.extra", e))
		return -1;
	if (add(b, b->head.data, b->head.len) || (tools && add_tools(b, req, tools)) ||
	    add(b, b->middle.data, b->middle.len) || add_messages(b, req))
		return error_nomem(e);
	return 0;
}

int request_build(struct request_body *b, const struct model_request *req, struct error *e)
{
	memset(b, 0, sizeof *b);
	buf_init(&b->head, BUF_HUGE);
	buf_init(&b->middle, BUF_HUGE);
	if (!build(b, req, e))
		return 0;
	request_release(b);
	return -1;
}

size_t request_read(const struct request_body *b, struct request_cursor *c, char *out, size_t max)
{
	size_t done = 0;

	while (done < max && c->slice < b->n) {
		const struct request_slice *s = &b->v[c->slice];
		size_t n = s->n - c->offset;
		if (n > max - done)
			n = max - done;
		memcpy(out + done, s->p + c->offset, n);
		done += n;
		c->offset += n;
		if (c->offset == s->n)
			*c = (struct request_cursor){ c->slice + 1, 0 };
	}
	return done;
}

void request_release(struct request_body *b)
{
	buf_release(&b->head);
	buf_release(&b->middle);
	free(b->v);
	b->v = NULL;
	b->n = b->cap = b->length = 0;
}
