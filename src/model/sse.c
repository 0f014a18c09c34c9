#include "model/sse.h"

#include <string.h>

#define BOM_DONE 4U

static const char bom[3] = { '\xEF', '\xBB', '\xBF' };

void sse_init(struct sse *s, sse_event_fn fn, void *ctx)
{
	memset(s, 0, sizeof *s);
	s->fn = fn;
	s->ctx = ctx;
	/* A line holds a field name, and data a last LF, beside the event's own bytes. */
	buf_init(&s->line, SSE_MAX_EVENT + 64);
	buf_init(&s->name, SSE_MAX_EVENT);
	buf_init(&s->data, SSE_MAX_EVENT + 1);
	buf_init(&s->stray, SSE_MAX_STRAY);
}

static void add_bounded(struct buf *b, const char *p, size_t n)
{
	size_t room = b->max - b->len;

	buf_add(b, p, n < room ? n : room);
}

/* A field that the grammar does not know: ignored, but kept for a message, as it may be an error without framing. */
static void keep_stray(struct sse *s, const char *line, size_t n)
{
	add_bounded(&s->stray, line, n);
	add_bounded(&s->stray, "\n", 1);
}

const char *sse_stray(struct sse *s, size_t *len)
{
	add_bounded(&s->stray, buf_str(&s->line), s->line.len);
	buf_clear(&s->line);
	if (len)
		*len = s->stray.len;
	return buf_str(&s->stray);
}

static int dispatch(struct sse *s)
{
	int stop = 0;

	if (s->seen_data) {
		buf_cut(&s->data, s->data.len - 1);
		stop = s->fn(s->ctx, buf_str(&s->name), buf_str(&s->data), s->data.len);
		buf_clear(&s->stray);
	}
	buf_clear(&s->name);
	buf_clear(&s->data);
	s->seen_data = false;
	return stop != 0;
}

static bool is_field(const char *line, size_t n, const char *field)
{
	return n == strlen(field) && !memcmp(line, field, n);
}

/* One line without its end. 0; 1 if the event function wants no more; -1 if a buffer is full. */
static int take_line(struct sse *s, const char *line, size_t n)
{
	if (!n)
		return dispatch(s);
	const char *colon = memchr(line, ':', n);
	if (colon == line)
		return 0;
	size_t field_len = colon ? (size_t)(colon - line) : n;
	const char *value = colon ? colon + 1 : line + n;
	if (value < line + n && *value == ' ')
		value++;
	size_t value_len = (size_t)(line + n - value);

	if (is_field(line, field_len, "data")) {
		s->seen_data = true;
		buf_add(&s->data, value, value_len);
		return buf_addc(&s->data, '\n');
	}
	if (is_field(line, field_len, "event")) {
		buf_clear(&s->name);
		return buf_add(&s->name, value, value_len);
	}
	/* Reconnecting a POST is out of the question: id and retry mean nothing here. */
	if (!is_field(line, field_len, "id") && !is_field(line, field_len, "retry"))
		keep_stray(s, line, n);
	return 0;
}

/* Matches a leading BOM, which may come in pieces. Returns the bytes of p it used up. */
static size_t skip_bom(struct sse *s, const char *p, size_t n)
{
	size_t used = 0;

	while (used < n && s->bom < sizeof bom) {
		if (p[used] != bom[s->bom]) {
			buf_add(&s->line, bom, s->bom);
			s->bom = BOM_DONE;
			return used;
		}
		s->bom++;
		used++;
	}
	if (s->bom == sizeof bom)
		s->bom = BOM_DONE;
	return used;
}

static int too_large(const struct sse *s, struct error *e)
{
	if (s->line.failed == ERR_NOMEM || s->data.failed == ERR_NOMEM || s->name.failed == ERR_NOMEM)
		return error_nomem(e);
	return error_set(e, ERR_LIMIT, "an event of the stream is larger than %zu bytes", SSE_MAX_EVENT);
}

/* The line that ends at `end` is complete; its beginning may be in s->line from earlier chunks. */
static int end_line(struct sse *s, const char *p, const char *end)
{
	int r;

	if (!s->line.len)
		return take_line(s, p, (size_t)(end - p));
	if (buf_add(&s->line, p, (size_t)(end - p)))
		return -1;
	r = take_line(s, s->line.data, s->line.len);
	buf_clear(&s->line);
	return r;
}

int sse_feed(struct sse *s, const char *p, size_t n, struct error *e)
{
	const char *end = p + n;
	const char *lf = NULL; /* the next LF at or behind p, `end` if there is none; looked for once a line */

	if (s->bom < BOM_DONE)
		p += skip_bom(s, p, n);
	if (p < end && s->after_cr) {
		s->after_cr = false;
		if (*p == '\n')
			p++;
	}
	while (p < end) {
		if (!lf || lf < p) {
			lf = memchr(p, '\n', (size_t)(end - p));
			lf = lf ? lf : end;
		}
		const char *cr = memchr(p, '\r', (size_t)(lf - p));
		const char *eol = cr ? cr : lf;
		if (eol == end) {
			if (buf_add(&s->line, p, (size_t)(end - p)))
				return too_large(s, e);
			break;
		}
		int r = end_line(s, p, eol);
		p = eol + 1;
		if (cr && p < end && *p == '\n')
			p++;
		else if (cr && p == end)
			s->after_cr = true;
		if (r)
			return r > 0 ? 1 : too_large(s, e);
	}
	return s->line.failed ? too_large(s, e) : 0;
}

void sse_release(struct sse *s)
{
	buf_release(&s->line);
	buf_release(&s->name);
	buf_release(&s->data);
	buf_release(&s->stray);
}
