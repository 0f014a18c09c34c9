/* What is told of a round when its blocks are gone: which tools, on what, and whether it went well. */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/json.h"
#include "base/utf8.h"
#include "context/private.h"

#define WHAT_MAX 80  /* of a call: a path, the beginning of a command */
#define SAID_MAX 160 /* of an answer that called nothing */
#define LINE_MAX 400 /* calls behind it are only counted */

void put_clipped(struct buf *out, const char *text, size_t n, size_t max)
{
	size_t begin = out->len;

	for (size_t i = 0; i < n;) {
		size_t len = utf8_char_len(text + i, n - i);
		bool space = len == 1 && ((unsigned char)text[i] <= ' ' || text[i] == 0x7F);
		if (out->len - begin + len > max) {
			buf_adds(out, "...");
			return;
		}
		if (!space)
			buf_add(out, text + i, len);
		else if (out->len > begin && out->data[out->len - 1] != ' ')
			buf_addc(out, ' ');
		i += len ? len : 1;
	}
	if (out->len > begin && out->data[out->len - 1] == ' ')
		buf_cut(out, out->len - 1);
}

/* The member of a call's input that says what it is about: a known one, else the first that is a text. */
static int subject(const struct json *doc)
{
	static const char *const keys[] = { "file_path", "command", "pattern", "path", "url", "query" };

	for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
		int tok = json_get(doc, json_root(doc), keys[i]);
		if (json_type(doc, tok) == JSON_STRING)
			return tok;
	}
	for (int key = json_first(doc, json_root(doc)); key >= 0; key = json_next(doc, json_root(doc), key)) {
		if (json_type(doc, json_value_of(doc, key)) == JSON_STRING)
			return json_value_of(doc, key);
	}
	return -1;
}

static void put_subject(struct buf *out, const struct block *call)
{
	struct json doc;
	struct error e;

	if (json_parse(&doc, call->input, strlen(call->input), JSON_BORROW, &e)) {
		if (e.code == ERR_NOMEM)
			out->failed = ERR_NOMEM;
		return;
	}
	size_t n;
	int tok = subject(&doc);
	char *text = json_strdup(&doc, tok, &n);
	if (text) {
		buf_addc(out, ' ');
		put_clipped(out, text, n, WHAT_MAX);
	} else if (tok >= 0) {
		out->failed = ERR_NOMEM;
	}
	free(text);
	json_release(&doc);
}

static void put_said(struct buf *out, const struct message *answer)
{
	for (size_t i = 0; i < answer->n; i++) {
		const struct block *b = answer->blocks[i];
		if (b->kind == BLOCK_TEXT && !block_is_blank(b)) {
			buf_adds(out, "said: ");
			put_clipped(out, b->text, b->text_len, SAID_MAX);
			return;
		}
	}
	buf_adds(out, "an answer without words");
}

/* Appends the line of an answer and what followed it. */
static void put_line(struct buf *out, const struct message *answer, const struct message *user)
{
	size_t begin = out->len, from = 0, calls = 0, more = 0, failed = 0;

	for (size_t i = 0; i < answer->n; i++) {
		const struct block *b = answer->blocks[i];
		if (b->kind != BLOCK_TOOL_USE)
			continue;
		const struct block *result = result_of(user, b->id, &from);
		bool bad = result && result->is_error;
		if (out->len - begin > LINE_MAX) {
			more++;
			failed += bad;
			continue;
		}
		buf_adds(out, calls++ ? "; " : "");
		put_clipped(out, b->name, strlen(b->name), WHAT_MAX);
		put_subject(out, b);
		buf_adds(out, bad ? ": failed" : ": ok");
	}
	if (more)
		buf_addf(out, "; and %zu more calls, %zu of them failed", more, failed);
	if (!calls)
		put_said(out, answer);
}

/* The staged line of round r, NULL if there is none. Rounds are staged in their order, so it is where it is expected
 * unless some were never staged. */
static struct staged *staged_of(const struct context *c, const struct history *h, size_t r)
{
	const struct block *call = first_call(h->v[round_begin(r)]);
	size_t n = c->nstaged - c->gone;

	for (size_t i = 0; call && i < n; i++) {
		struct staged *s = &c->staged[c->gone + (r + i) % n];
		if (strcmp(s->id, call->id) == 0)
			return s;
	}
	return NULL;
}

void round_line(const struct context *c, const struct history *h, size_t r, struct buf *out)
{
	const struct staged *s = staged_of(c, h, r);

	if (s)
		buf_adds(out, s->line);
	else
		put_line(out, h->v[round_begin(r)], h->v[round_begin(r) + 1]);
}

void unstage(struct context *c, const struct history *h, size_t rounds)
{
	const struct staged *last = NULL;

	while (rounds && !last)
		last = staged_of(c, h, --rounds);
	while (last && c->staged + c->gone <= last) {
		free(c->staged[c->gone].id);
		free(c->staged[c->gone++].line);
	}
}

/* Room for one more at the end: where the gone ones were, as long as they are half of all. */
static int reserve(struct context *c)
{
	if (c->nstaged < c->staged_cap)
		return 0;
	if (c->gone >= c->staged_cap / 2 && c->gone) {
		memmove(c->staged, c->staged + c->gone, (c->nstaged - c->gone) * sizeof *c->staged);
		c->nstaged -= c->gone;
		c->gone = 0;
		return 0;
	}
	return ARRAY_GROW(c->staged, c->nstaged, c->staged_cap);
}

int context_round_restored(struct context *c, const struct history *h, size_t r)
{
	struct buf line = BUF_INIT(BUF_HUGE);
	const struct message *answer = h->v[round_begin(r)];
	const struct block *call = first_call(answer);

	if (!call || (c->nstaged > c->gone && strcmp(c->staged[c->nstaged - 1].id, call->id) == 0))
		return 0;
	put_line(&line, answer, h->v[round_begin(r) + 1]);
	struct staged s = { strdup(call->id), line.failed ? NULL : buf_take(&line, NULL) };
	buf_release(&line);
	if (!s.id || !s.line || reserve(c)) {
		free(s.id);
		free(s.line);
		return -1;
	}
	c->staged[c->nstaged++] = s;
	return 0;
}

int context_round_ended(struct context *c, const struct history *h)
{
	if (note_task(c, h))
		return -1;
	return h->n < 3 || h->n % 2 == 0 ? 0 : context_round_restored(c, h, rounds_in(h) - 1);
}

int context_round_summary(struct context *c, const char *first_tool_use_id, const char *text, size_t n)
{
	struct buf line = BUF_INIT(2 * LINE_MAX);

	for (size_t i = c->nstaged; i-- > c->gone;) {
		struct staged *s = &c->staged[i];
		if (strcmp(s->id, first_tool_use_id) != 0)
			continue;
		put_clipped(&line, text, n, LINE_MAX);
		char *words = line.failed ? NULL : buf_take(&line, NULL);
		buf_release(&line);
		if (!words)
			return -1;
		free(s->line);
		s->line = words;
		return 0;
	}
	return 0;
}
