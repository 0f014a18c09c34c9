/* Texts of hooks: what enters an event, the conversation or a file is valid, masked and of a bounded length. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "hook/internal.h"

#define TEXT_MAX      10000 /* characters that enter the conversation whole */
#define PREVIEW_CHARS 2000

void hooks_nomem(struct hooks *h)
{
	if (!h->lost)
		error_nomem(&h->why);
	h->lost = true;
}

static void add_clean(struct buf *out, const char *p, size_t n)
{
	while (n > 0) {
		size_t part = strnlen(p, n);
		utf8_repair(out, p, part);
		p += part;
		n -= part;
		if (n > 0) {
			utf8_put(out, 0xFFFD);
			p++;
			n--;
		}
	}
}

int text_clean_into(struct hooks *h, struct buf *out, const char *p, size_t n)
{
	buf_add(out, "", 0);
	add_clean(out, p, n);
	if (h->cfg.mask && out->len)
		h->cfg.mask(h->cfg.ctx, out);
	if (!out->failed)
		return 0;
	hooks_nomem(h);
	buf_release(out);
	return -1;
}

char *text_clean(struct hooks *h, const char *p, size_t n)
{
	struct buf b = BUF_INIT(BUF_HUGE);

	return text_clean_into(h, &b, p, n) ? NULL : buf_take(&b, NULL);
}

/* Bytes of the first `chars` characters, all if there are no more. */
static size_t first_chars(const char *p, size_t n, size_t chars)
{
	size_t i = 0;

	for (; i < n; i++)
		if (((unsigned char)p[i] & 0xC0) != 0x80 && chars-- == 0)
			break;
	return i;
}

static const char *store(struct run *run, const struct buf *b)
{
	const struct hooks_config *cfg = &run->h->cfg;
	char name[48];

	snprintf(name, sizeof name, "%s.txt", run->id);
	const char *path = cfg->store ? cfg->store(cfg->ctx, name, buf_str(b), b->len) : NULL;
	if (path)
		run->file = path;
	return path;
}

int text_stream(struct hooks *h, struct buf *out, const struct output *o)
{
	if (text_clean_into(h, out, buf_str(&o->head), o->head.len))
		return -1;
	if (o->total > o->head.len)
		buf_cut(out, utf8_floor(buf_str(out), out->len, out->len > CUT_SECRET ? out->len - CUT_SECRET : 0));
	return 0;
}

void text_short(struct hooks *h, const char *p, size_t n, char *out, size_t size)
{
	struct buf b = BUF_INIT(BUF_HUGE);

	if (text_clean_into(h, &b, p, n) == 0)
		snprintf(out, size, "%.*s", (int)utf8_floor(b.data, b.len, size - 1), b.data);
	buf_release(&b);
}

char *text_for_model(struct run *run, const char *p, size_t n, uint64_t total)
{
	struct buf b = BUF_INIT(BUF_HUGE);

	if (text_clean_into(run->h, &b, p, n))
		return NULL;
	if (first_chars(b.data, b.len, TEXT_MAX) < b.len) {
		const char *path = store(run, &b);
		unsigned long long whole = total ? total : b.len;
		buf_cut(&b, first_chars(b.data, b.len, path ? PREVIEW_CHARS : TEXT_MAX));
		if (!path)
			buf_addf(&b, "\n[... cut: %llu bytes in all]", whole);
		else if (total)
			buf_addf(&b, "\n[... %llu bytes in all; the beginning is in %s]", whole, path);
		else
			buf_addf(&b, "\n[... %llu bytes in all; the whole text is in %s]", whole, path);
	}
	char *text = buf_take(&b, NULL);
	if (!text)
		hooks_nomem(run->h);
	buf_release(&b);
	return text;
}

int text_join(char **text, const char *more, const char *between)
{
	size_t have = *text ? strlen(*text) : 0, gap = *text ? strlen(between) : 0, add = more ? strlen(more) : 0;

	if (!more)
		return 0;
	char *joined = realloc(*text, have + gap + add + 1);
	if (!joined)
		return -1;
	snprintf(joined + have, gap + add + 1, "%s%s", gap ? between : "", more);
	*text = joined;
	return 0;
}
