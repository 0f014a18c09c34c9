/* Is the request the one that the tape expects? All differences are told at once. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "model/one_line.h"
#include "model/tape.h"

#define SHOWN 120 /* bytes of a text that a difference shows */

static void add_quoted(struct buf *out, const char *text, size_t n)
{
	char *line = one_line(text, n, SHOWN);

	buf_addf(out, "\"%s\"", line ? line : "");
	free(line);
}

static void begin(struct buf *why)
{
	if (why->len)
		buf_adds(why, "; ");
	buf_adds(why, "expected ");
}

static void check_number(const char *what, int64_t want, int64_t got, struct buf *why)
{
	if (want < 0 || want == got)
		return;
	begin(why);
	buf_addf(why, "%s %lld, got %lld", what, (long long)want, (long long)got);
}

static void check_contains(const char *what, const char *want, const char *got, size_t n, struct buf *why)
{
	if (!want || memmem(got, n, want, strlen(want)))
		return;
	begin(why);
	buf_addf(why, "%s to contain ", what);
	add_quoted(why, want, strlen(want));
	buf_adds(why, ", got ");
	add_quoted(why, got, n);
}

static void check_model(const char *want, const char *got, struct buf *why)
{
	if (!want || !strcmp(want, got))
		return;
	begin(why);
	buf_addf(why, "model \"%s\", got \"%s\"", want, got);
}

/* A plain list of strings, collected from the request. */
struct strings {
	const char **v;
	size_t n;
};

static void add_list(struct buf *out, const char *const *v, size_t n)
{
	buf_addc(out, '[');
	for (size_t i = 0; i < n; i++)
		buf_addf(out, "%s%s", i ? ", " : "", v[i] ? v[i] : "?");
	buf_addc(out, ']');
}

static void check_list(const char *what, const struct tape_list *want, const struct strings *got, struct buf *why)
{
	if (!want->given)
		return;
	bool same = want->n == got->n;
	for (size_t i = 0; same && i < want->n; i++)
		same = got->v[i] && !strcmp(want->v[i], got->v[i]);
	if (same)
		return;
	begin(why);
	buf_addf(why, "%s ", what);
	add_list(why, want->v, want->n);
	buf_adds(why, ", got ");
	add_list(why, got->v, got->n);
}

static const struct message *newest_user(const struct history *h)
{
	for (size_t i = h ? h->n : 0; i > 0; i--)
		if (h->v[i - 1]->role == ROLE_USER)
			return h->v[i - 1];
	return NULL;
}

static void check_last(const char *want, const struct message *m, struct buf *why)
{
	struct buf text = BUF_INIT(BUF_HUGE);

	if (!want)
		return;
	for (size_t i = 0; m && i < m->n; i++) {
		const struct block *b = m->blocks[i];
		if (b->kind != BLOCK_TEXT || !b->text)
			continue;
		if (text.len)
			buf_addc(&text, '\n');
		buf_add(&text, b->text, b->text_len);
	}
	check_contains("the newest user text", want, buf_str(&text), text.len, why);
	buf_release(&text);
}

/* The texts of the tool results of a message, in order. */
struct results {
	struct result {
		char *text; /* owned */
		size_t len;
	} * v;
	size_t n;
};

static bool contains(const struct result *r, const char *want)
{
	return memmem(r->text, r->len, want, strlen(want)) != NULL;
}

static int add_result(struct results *got, const struct block *b)
{
	char *text = block_result_text(b);

	if (text)
		got->v[got->n++] = (struct result){ text, b->text_len };
	return text ? 0 : -1;
}

static void release_results(struct results *got)
{
	for (size_t i = 0; i < got->n; i++)
		free(got->v[i].text);
	free(got->v);
}

static void check_result_text(const struct tape_list *want, const struct results *got, struct buf *why)
{
	if (!want->given)
		return;
	if (want->single) {
		for (size_t i = 0; i < got->n; i++)
			if (contains(&got->v[i], want->v[0]))
				return;
		begin(why);
		buf_adds(why, "a tool result that contains ");
		add_quoted(why, want->v[0], strlen(want->v[0]));
		buf_adds(why, ", got ");
		for (size_t i = 0; i < got->n; i++) {
			buf_adds(why, i ? ", " : "");
			add_quoted(why, got->v[i].text, got->v[i].len);
		}
		buf_adds(why, got->n ? "" : "none");
		return;
	}
	if (want->n != got->n) {
		begin(why);
		buf_addf(why, "%zu tool results, got %zu", want->n, got->n);
		return;
	}
	for (size_t i = 0; i < got->n; i++) {
		char what[48];
		snprintf(what, sizeof what, "tool result %zu", i + 1);
		if (!contains(&got->v[i], want->v[i]))
			check_contains(what, want->v[i], got->v[i].text, got->v[i].len, why);
	}
}

static void check_results(const struct tape_expect *x, const struct message *m, struct buf *why)
{
	size_t max = m ? m->n : 0;
	struct results got = { calloc(max + 1, sizeof *got.v), 0 };
	struct strings ids = { calloc(max + 1, sizeof *ids.v), 0 };
	struct strings errors = { calloc(max + 1, sizeof *errors.v), 0 };

	bool ok = got.v && ids.v && errors.v;

	for (size_t i = 0; ok && i < max; i++) {
		const struct block *b = m->blocks[i];
		if (b->kind == BLOCK_TOOL_RESULT && (ok = !add_result(&got, b))) {
			ids.v[ids.n++] = b->id;
			errors.v[errors.n++] = b->is_error ? "true" : "false";
		}
	}
	if (ok) {
		check_list("results of", &x->results, &ids, why);
		check_list("is_error", &x->is_error, &errors, why);
		check_result_text(&x->result_contains, &got, why);
	} else {
		buf_adds(why, "out of memory");
	}
	release_results(&got);
	free(ids.v);
	free(errors.v);
}

static void check_tools(const struct tape_list *want, const char *tools_json, struct buf *why)
{
	struct json doc = JSON_INIT;
	struct strings names = { NULL, 0 };

	if (!want->given)
		return;
	if (tools_json && json_parse(&doc, tools_json, strlen(tools_json), JSON_BORROW, NULL)) {
		begin(why);
		buf_adds(why, "tools, got what is no JSON");
		return;
	}
	int root = json_root(&doc);
	names.v = calloc((size_t)json_size(&doc, root) + 1, sizeof *names.v);
	for (int at = names.v ? json_first(&doc, root) : -1; at >= 0; at = json_next(&doc, root, at))
		names.v[names.n++] = json_strdup(&doc, json_get(&doc, at, "name"), NULL);
	check_list("tools", want, &names, why);
	for (size_t i = 0; i < names.n; i++)
		free((char *)names.v[i]);
	free(names.v);
	json_release(&doc);
}

bool tape_check(const struct tape_expect *x, const struct model_request *req, struct buf *why)
{
	const struct message *m = newest_user(req->messages);
	size_t before = why->len;

	check_number("turn", x->turn, req->turn, why);
	check_number("messages", x->messages, req->messages ? (int64_t)req->messages->n : 0, why);
	check_model(x->model, req->model ? req->model : "", why);
	const char *system = req->system ? req->system : "";
	check_contains("the system prompt", x->system_contains, system, strlen(system), why);
	check_tools(&x->tools, req->tools_json, why);
	check_last(x->last, m, why);
	check_results(x, m, why);
	return why->len == before && !why->failed;
}
