#include "model/compare.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/json.h"
#include "base/utf8.h"
#include "model/one_line.h"

#define SHOWN  ((size_t)60) /* bytes of a value */
#define BEFORE ((size_t)20) /* of them before the first that differs */

/* Where the same message ends in both bodies. */
struct compare_seam {
	size_t asked, recorded;
};

struct walk {
	struct json asked, recorded;
	struct buf path;
	struct buf *why; /* the first difference */
	bool strict;     /* cache marks and results count */
	compare_result_fn differs;
	void *ctx;
	bool nomem;
};

void compare_release(struct compare *c)
{
	buf_release(&c->asked);
	buf_release(&c->recorded);
	free(c->seams);
	c->seams = NULL;
	c->nseams = c->cap = 0;
}

/* ---- words ---- */

/* A part of a text around byte `at`, between quotes. */
static void add_excerpt(struct buf *out, const char *p, size_t n, size_t at)
{
	size_t from = at > BEFORE ? utf8_floor(p, n, at - BEFORE) : 0;
	char *line = one_line(p + from, n - from, SHOWN);

	buf_addf(out, "'%s%s'", from ? "..." : "", line ? line : "");
	free(line);
}

static size_t common(const char *a, size_t n, const char *b, size_t m)
{
	const size_t step = 4096, most = n < m ? n : m;
	size_t i = 0;

	while (most - i >= step && !memcmp(a + i, b + i, step))
		i += step;
	while (i < most && a[i] == b[i])
		i++;
	return i;
}

static void add_value(struct buf *out, const struct json *doc, int tok)
{
	size_t n = 0;
	const char *raw = json_raw(doc, tok, &n);

	if (!raw) {
		buf_adds(out, "nothing");
		return;
	}
	char *line = one_line(raw, n, SHOWN);
	buf_adds(out, line ? line : "");
	free(line);
}

/* Says how the two differ, and where. Returns false, for callers to return. */
static bool differ(struct walk *w, int asked, int recorded)
{
	struct buf a = BUF_INIT(BUF_HUGE), r = BUF_INIT(BUF_HUGE);

	buf_addf(w->why, "%s: ", buf_str(&w->path));
	if (!json_str(&w->asked, asked, &a) && !json_str(&w->recorded, recorded, &r)) {
		size_t at = common(buf_str(&a), a.len, buf_str(&r), r.len);
		add_excerpt(w->why, buf_str(&r), r.len, at);
		buf_adds(w->why, " was recorded, ");
		add_excerpt(w->why, buf_str(&a), a.len, at);
	} else {
		add_value(w->why, &w->recorded, recorded);
		buf_adds(w->why, " was recorded, ");
		add_value(w->why, &w->asked, asked);
	}
	buf_adds(w->why, " is asked");
	buf_release(&a);
	buf_release(&r);
	return false;
}

/* ---- values ---- */

static bool same(struct walk *w, int asked, int recorded);

static bool same_at_key(struct walk *w, const char *key, int asked, int recorded)
{
	size_t n = w->path.len;

	buf_addf(&w->path, "%s%s", n ? "." : "", key);
	bool ok = same(w, asked, recorded);
	buf_cut(&w->path, n);
	return ok;
}

static bool same_at_index(struct walk *w, size_t i, int asked, int recorded)
{
	size_t n = w->path.len;

	buf_addf(&w->path, "[%zu]", i);
	bool ok = same(w, asked, recorded);
	buf_cut(&w->path, n);
	return ok;
}

/* Members of `a`, each against that of the same name in `b`, or only those that `b` has not. */
static bool same_members(struct walk *w, int asked, int recorded, bool missing)
{
	const struct json *doc = missing ? &w->asked : &w->recorded;
	int obj = missing ? asked : recorded;
	bool ok = true;

	for (int k = json_first(doc, obj); ok && k >= 0; k = json_next(doc, obj, k)) {
		char *key = json_strdup(doc, k, NULL);
		int a = key ? json_get(&w->asked, asked, key) : -1,
		    r = key ? json_get(&w->recorded, recorded, key) : -1;
		if (key && (w->strict || strcmp(key, "cache_control") != 0) && (!missing || r < 0))
			ok = same_at_key(w, key, a, r);
		free(key);
	}
	return ok;
}

static bool same_elements(struct walk *w, int asked, int recorded)
{
	int a = json_first(&w->asked, asked), r = json_first(&w->recorded, recorded);
	bool ok = true;

	for (size_t i = 0; ok && (a >= 0 || r >= 0); i++) {
		ok = same_at_index(w, i, a, r);
		a = a >= 0 ? json_next(&w->asked, asked, a) : -1;
		r = r >= 0 ? json_next(&w->recorded, recorded, r) : -1;
	}
	return ok;
}

static bool same_strings(const struct walk *w, int asked, int recorded)
{
	struct buf a = BUF_INIT(BUF_HUGE), r = BUF_INIT(BUF_HUGE);
	bool ok = !json_str(&w->asked, asked, &a) && !json_str(&w->recorded, recorded, &r) && a.len == r.len &&
	          !memcmp(buf_str(&a), buf_str(&r), a.len);

	buf_release(&a);
	buf_release(&r);
	return ok;
}

/* Depth is bounded by that of a document. */
static bool same(struct walk *w, int asked, int recorded)
{
	enum json_type type = json_type(&w->recorded, recorded);
	size_t n = 0, m = 0;
	const char *a = json_raw(&w->asked, asked, &n), *r = json_raw(&w->recorded, recorded, &m);
	double x, y;

	if (a && r && n == m && !memcmp(a, r, n))
		return true;
	if (!a || !r || json_type(&w->asked, asked) != type)
		return differ(w, asked, recorded);
	if (type == JSON_OBJECT)
		return same_members(w, asked, recorded, false) && same_members(w, asked, recorded, true);
	if (type == JSON_ARRAY)
		return same_elements(w, asked, recorded);
	if (type == JSON_STRING && same_strings(w, asked, recorded))
		return true;
	if (type == JSON_NUMBER && json_double(&w->asked, asked, &x) && json_double(&w->recorded, recorded, &y) &&
	    !(x < y) && !(x > y))
		return true;
	return differ(w, asked, recorded);
}

/* ---- messages ---- */

/* Both are results of the same call; what they hold may differ. True: they are that, and it was told if it does. */
static bool same_result(struct walk *w, int asked, int recorded)
{
	int a = json_get(&w->asked, asked, "tool_use_id"), r = json_get(&w->recorded, recorded, "tool_use_id");

	if (w->strict || !json_eq(&w->recorded, json_get(&w->recorded, recorded, "type"), "tool_result") ||
	    !json_eq(&w->asked, json_get(&w->asked, asked, "type"), "tool_result") || a < 0 || r < 0 ||
	    !same_strings(w, a, r))
		return false;
	struct buf text = BUF_INIT(8 << 10), *why = w->why;
	char *id = json_strdup(&w->recorded, r, NULL);
	w->why = &text;
	if (!same(w, asked, recorded) && id)
		w->differs(w->ctx, id, buf_str(&text));
	w->why = why;
	free(id);
	buf_release(&text);
	return true;
}

static bool same_blocks(struct walk *w, int asked, int recorded)
{
	int a = json_first(&w->asked, asked), r = json_first(&w->recorded, recorded);
	bool ok = true;

	for (size_t i = 0; ok && (a >= 0 || r >= 0); i++) {
		size_t n = w->path.len;
		buf_addf(&w->path, "[%zu]", i);
		ok = same_result(w, a, r) || same(w, a, r);
		buf_cut(&w->path, n);
		a = a >= 0 ? json_next(&w->asked, asked, a) : -1;
		r = r >= 0 ? json_next(&w->recorded, recorded, r) : -1;
	}
	return ok;
}

static bool same_message(struct walk *w, int asked, int recorded)
{
	int a = json_get(&w->asked, asked, "content"), r = json_get(&w->recorded, recorded, "content");
	size_t n = w->path.len;

	if (json_type(&w->asked, a) != JSON_ARRAY || json_type(&w->recorded, r) != JSON_ARRAY)
		return same(w, asked, recorded);
	if (!same_at_key(w, "role", json_get(&w->asked, asked, "role"), json_get(&w->recorded, recorded, "role")))
		return false;
	buf_adds(&w->path, ".content");
	bool ok = same_blocks(w, a, r);
	buf_cut(&w->path, n);
	return ok;
}

static bool add_seam(struct compare *c, const struct compare_seam *s)
{
	if (ARRAY_GROW(c->seams, c->nseams, c->cap))
		return false;
	c->seams[c->nseams++] = *s;
	return true;
}

static size_t end_of(const struct json *doc, int tok)
{
	size_t n = 0;
	const char *raw = json_raw(doc, tok, &n);

	return (size_t)(raw - doc->text) + n;
}

/* `base`: where the texts that were taken apart begin in the bodies. */
static bool same_messages(struct walk *w, struct compare *c, const struct compare_seam *base, int asked, int recorded)
{
	int a = json_first(&w->asked, asked), r = json_first(&w->recorded, recorded);
	bool ok = true;

	while (ok && (a >= 0 || r >= 0)) {
		buf_clear(&w->path);
		buf_addf(&w->path, "messages[%zu]", c->nseams);
		ok = same_message(w, a, r);
		if (ok) {
			const struct compare_seam s = { base->asked + end_of(&w->asked, a),
				                        base->recorded + end_of(&w->recorded, r) };
			ok = add_seam(c, &s);
			w->nomem = !ok;
		}
		a = a >= 0 ? json_next(&w->asked, asked, a) : -1;
		r = r >= 0 ? json_next(&w->recorded, recorded, r) : -1;
	}
	return ok;
}

/* ---- bodies ---- */

/* All but the messages: they come last. */
static bool same_rest(struct walk *w, bool missing)
{
	const struct json *doc = missing ? &w->asked : &w->recorded;
	int root = json_root(doc);
	bool ok = true;

	for (int k = json_first(doc, root); ok && k >= 0; k = json_next(doc, root, k)) {
		char *key = json_strdup(doc, k, NULL);
		int a = key ? json_get(&w->asked, json_root(&w->asked), key) : -1;
		int r = key ? json_get(&w->recorded, json_root(&w->recorded), key) : -1;
		if (key && strcmp(key, "messages") != 0 && (!missing || r < 0))
			ok = same_at_key(w, key, a, r);
		free(key);
	}
	return ok;
}

static int compare_whole(struct walk *w, struct compare *c, const struct buf *asked, const struct buf *recorded,
                         struct error *e)
{
	const struct compare_seam base = { 0, 0 };

	c->nseams = 0;
	if (json_parse(&w->asked, buf_str(asked), asked->len, JSON_BORROW, e) ||
	    json_parse(&w->recorded, buf_str(recorded), recorded->len, JSON_BORROW, e))
		return error_prefix(e, "a request of the replay");
	int a = json_get(&w->asked, json_root(&w->asked), "messages");
	int r = json_get(&w->recorded, json_root(&w->recorded), "messages");
	return same_rest(w, false) && same_rest(w, true) && same_messages(w, c, &base, a, r) ? 0 : 1;
}

/* The seams that lie in what both bodies share with the pair before. */
static size_t old_seams(const struct compare *c, const struct buf *asked, const struct buf *recorded)
{
	size_t a = common(buf_str(asked), asked->len, buf_str(&c->asked), c->asked.len);
	size_t r = common(buf_str(recorded), recorded->len, buf_str(&c->recorded), c->recorded.len);
	size_t n = c->nseams;

	while (n && (c->seams[n - 1].asked >= a || c->seams[n - 1].recorded >= r))
		n--;
	return n;
}

/* The messages behind a seam as a list: "[" in the place of what stands before them, and without the body's end. */
static int parse_rest(struct json *doc, struct buf *text, const struct buf *body, size_t from, struct error *e)
{
	const char *p = buf_str(body) + from;
	size_t n = body->len - from, comma = *p == ',';

	buf_addc(text, '[');
	buf_add(text, p + comma, n - comma - 1);
	return buf_check(text, "a request", e) ? -1 : json_parse(doc, text->data, text->len, JSON_BORROW, e);
}

static int compare_rest(struct walk *w, struct compare *c, size_t n, const struct buf *asked,
                        const struct buf *recorded, struct error *e)
{
	const struct compare_seam seam = c->seams[n - 1];
	struct buf a = BUF_INIT(BUF_HUGE), r = BUF_INIT(BUF_HUGE);
	int rc = 1;

	c->nseams = n;
	if (parse_rest(&w->asked, &a, asked, seam.asked, e) || parse_rest(&w->recorded, &r, recorded, seam.recorded, e))
		rc = error_prefix(e, "a request of the replay");
	else if (same_messages(w, c, &seam, json_root(&w->asked), json_root(&w->recorded)))
		rc = 0;
	buf_release(&a);
	buf_release(&r);
	return rc;
}

static bool ends_with_messages(const struct buf *body)
{
	return body->len > 2 && !memcmp(body->data + body->len - 2, "]}", 2);
}

static int keep_pair(struct compare *c, const struct buf *asked, const struct buf *recorded, struct error *e)
{
	buf_clear(&c->asked);
	buf_clear(&c->recorded);
	if (buf_add(&c->asked, buf_str(asked), asked->len) || buf_add(&c->recorded, buf_str(recorded), recorded->len))
		return error_nomem(e);
	return 0;
}

static void say_bytes(struct buf *why, const struct buf *asked, const struct buf *recorded)
{
	size_t at = common(buf_str(asked), asked->len, buf_str(recorded), recorded->len);

	buf_addf(why, "byte %zu: ", at);
	add_excerpt(why, buf_str(recorded), recorded->len, at);
	buf_adds(why, " was recorded, ");
	add_excerpt(why, buf_str(asked), asked->len, at);
	buf_adds(why, " is asked");
}

int compare_request(struct compare *c, const struct buf *asked, const struct buf *recorded, bool strict,
                    compare_result_fn differs, void *ctx, struct buf *why, struct error *e)
{
	struct walk w = { .asked = JSON_INIT,
		          .recorded = JSON_INIT,
		          .path = BUF_INIT(8 << 10),
		          .why = why,
		          .strict = strict,
		          .differs = differs,
		          .ctx = ctx };

	if (asked->len == recorded->len && !memcmp(buf_str(asked), buf_str(recorded), asked->len)) {
		buf_clear(&c->asked);
		c->nseams = 0;
		return 0;
	}
	size_t n = !strict && ends_with_messages(asked) && ends_with_messages(recorded) ? old_seams(c, asked, recorded)
	                                                                                : 0;
	int rc = n ? compare_rest(&w, c, n, asked, recorded, e) : compare_whole(&w, c, asked, recorded, e);
	if (w.nomem)
		rc = error_nomem(e);
	if (!rc && strict) {
		say_bytes(why, asked, recorded);
		rc = 1;
	}
	if (!rc && keep_pair(c, asked, recorded, e))
		rc = -1;
	json_release(&w.asked);
	json_release(&w.recorded);
	buf_release(&w.path);
	return rc;
}
