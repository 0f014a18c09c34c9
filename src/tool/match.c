#include "tool/match.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

static int add(struct matches *m, size_t start, size_t end)
{
	if (ARRAY_GROW(m->v, m->n, m->cap))
		return -1;
	m->v[m->n++] = (struct match){ start, end };
	return 0;
}

static int find_exact(struct matches *m, const char *text, size_t n, const char *old, size_t old_n)
{
	const char *p = text, *end = text + n;

	while ((p = memmem(p, (size_t)(end - p), old, old_n))) {
		if (add(m, (size_t)(p - text), (size_t)(p - text) + old_n) < 0)
			return -1;
		p += old_n;
	}
	return 0;
}

/* A copy in which CRLF is LF. */
static char *without_cr(const char *p, size_t n, size_t *out_n)
{
	char *copy = malloc(n + 1);
	size_t k = 0;

	if (!copy)
		return NULL;
	for (size_t i = 0; i < n; i++)
		if (!(p[i] == '\r' && i + 1 < n && p[i + 1] == '\n'))
			copy[k++] = p[i];
	*out_n = k;
	return copy;
}

/* Turns offsets in the copy into offsets in the text, in one pass (matches ascend). A match that begins or ends
 * at a line's end has the whole CRLF on the right side of it. */
static void map_back(struct matches *m, const char *text, size_t n)
{
	size_t at = 0, copy_at = 0;

	for (size_t i = 0; i < 2 * m->n; i++) {
		size_t *pos = i % 2 ? &m->v[i / 2].end : &m->v[i / 2].start;
		while (copy_at < *pos) {
			at += text[at] == '\r' && at + 1 < n && text[at + 1] == '\n' ? 2 : 1;
			copy_at++;
		}
		*pos = at;
	}
}

int match_find(struct matches *m, const char *text, size_t n, const char *old, size_t old_n)
{
	*m = (struct matches){ NULL, 0, 0, false };
	if (old_n == 0)
		return 0;
	if (find_exact(m, text, n, old, old_n) < 0)
		return -1;
	if (m->n > 0 || !memchr(old, '\n', old_n) || !memmem(text, n, "\r\n", 2))
		return 0;
	size_t tn = 0, on = 0;
	char *t = without_cr(text, n, &tn), *o = without_cr(old, old_n, &on);
	int rc = t && o ? find_exact(m, t, tn, o, on) : -1;
	free(t);
	free(o);
	if (rc < 0)
		return -1;
	map_back(m, text, n);
	m->crlf = m->n > 0;
	return 0;
}

void match_release(struct matches *m)
{
	free(m->v);
	*m = (struct matches){ NULL, 0, 0, false };
}

/* Does the line that the match ends in end with CRLF? The last line goes by the one before it. */
static bool line_is_crlf(const char *text, size_t n, size_t at)
{
	const char *nl = at < n ? memchr(text + at, '\n', n - at) : NULL;

	if (!nl)
		nl = at > 0 ? memrchr(text, '\n', at) : NULL;
	return nl && nl > text && nl[-1] == '\r';
}

/* Should the new text's line ends be written as CRLF here? If the match held line ends, as those were; else as the
 * line's own. */
static bool wants_crlf(const struct matches *m, const struct match *at, const char *text, size_t n)
{
	if (m->crlf)
		return memmem(text + at->start, at->end - at->start, "\r\n", 2) != NULL;
	if (memchr(text + at->start, '\n', at->end - at->start))
		return false; /* matched exactly: what stands in the new text is meant */
	return line_is_crlf(text, n, at->end);
}

static void add_new(struct buf *out, const char *p, size_t n, bool crlf)
{
	if (!crlf || memmem(p, n, "\r\n", 2)) {
		buf_add(out, p, n);
		return;
	}
	for (size_t i = 0; i < n; i++) {
		if (p[i] == '\n')
			buf_addc(out, '\r');
		buf_addc(out, p[i]);
	}
}

int match_replace(const struct matches *m, size_t count, const char *text, size_t n, const char *new_text, size_t new_n,
                  struct buf *out)
{
	size_t at = 0;

	for (size_t i = 0; i < count && i < m->n; i++) {
		buf_add(out, text + at, m->v[i].start - at);
		add_new(out, new_text, new_n, wants_crlf(m, &m->v[i], text, n));
		at = m->v[i].end;
	}
	buf_add(out, text + at, n - at);
	return out->failed ? -1 : 0;
}

static bool is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static char *without_space(const char *p, size_t n, size_t *out_n)
{
	char *copy = malloc(n + 1);
	size_t k = 0;

	for (size_t i = 0; copy && i < n; i++)
		if (!is_space(p[i]))
			copy[k++] = p[i];
	*out_n = k;
	return copy;
}

size_t match_ignoring_space(const char *text, size_t n, const char *old, size_t old_n)
{
	size_t tn = 0, on = 0, line = 0;
	char *t = without_space(text, n, &tn), *o = without_space(old, old_n, &on);
	const char *hit = t && o && on > 0 ? memmem(t, tn, o, on) : NULL;

	if (hit) {
		size_t left = (size_t)(hit - t), i = 0;
		for (line = 1; left > 0 || is_space(text[i]); i++) {
			line += text[i] == '\n';
			left -= !is_space(text[i]);
		}
	}
	free(t);
	free(o);
	return line;
}
