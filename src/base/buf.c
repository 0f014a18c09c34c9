#include "base/buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void buf_init(struct buf *b, size_t max)
{
	*b = (struct buf)BUF_INIT(max);
}

void buf_release(struct buf *b)
{
	free(b->data);
	buf_init(b, b->max);
}

void buf_clear(struct buf *b)
{
	b->len = 0;
	b->failed = ERR_NONE;
	if (b->data)
		b->data[0] = '\0';
}

static int fail(struct buf *b, enum error_code why)
{
	b->failed = why;
	return -1;
}

int buf_reserve(struct buf *b, size_t more)
{
	if (b->failed)
		return -1;
	if (more > b->max - b->len)
		return fail(b, ERR_LIMIT);
	size_t need = b->len + more + 1;
	if (need <= b->cap)
		return 0;
	size_t cap = b->cap ? b->cap : 64;
	while (cap < need)
		cap += cap / 2;
	if (cap > b->max + 1)
		cap = b->max + 1;
	char *p = realloc(b->data, cap);
	if (!p)
		return fail(b, ERR_NOMEM);
	b->data = p;
	b->cap = cap;
	p[b->len] = '\0';
	return 0;
}

int buf_add(struct buf *b, const void *p, size_t n)
{
	if (buf_reserve(b, n))
		return -1;
	if (n)
		memcpy(b->data + b->len, p, n);
	b->len += n;
	b->data[b->len] = '\0';
	return 0;
}

int buf_adds(struct buf *b, const char *s)
{
	return buf_add(b, s, strlen(s));
}

int buf_addc(struct buf *b, char c)
{
	return buf_add(b, &c, 1);
}

int buf_addf(struct buf *b, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	int n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (n < 0)
		return fail(b, ERR_NOMEM);
	if (buf_reserve(b, (size_t)n))
		return -1;
	va_start(ap, fmt);
	vsnprintf(b->data + b->len, (size_t)n + 1, fmt, ap);
	va_end(ap);
	b->len += (size_t)n;
	return 0;
}

void buf_cut(struct buf *b, size_t len)
{
	if (len < b->len) {
		b->len = len;
		b->data[len] = '\0';
	}
}

void buf_drop(struct buf *b, size_t n)
{
	if (!n)
		return;
	if (n >= b->len) {
		b->len = 0;
	} else {
		memmove(b->data, b->data + n, b->len - n);
		b->len -= n;
	}
	if (b->data)
		b->data[b->len] = '\0';
}

char *buf_take(struct buf *b, size_t *len)
{
	if (b->failed || buf_reserve(b, 0))
		return NULL;
	/* What is taken is kept, often for the whole run: without the room to grow. */
	char *p = realloc(b->data, b->len + 1);
	if (!p)
		p = b->data;
	if (len)
		*len = b->len;
	buf_init(b, b->max);
	return p;
}

const char *buf_str(const struct buf *b)
{
	return b->data ? b->data : "";
}

int buf_check(const struct buf *b, const char *what, struct error *e)
{
	if (!b->failed)
		return 0;
	if (b->failed == ERR_NOMEM)
		return error_nomem(e);
	return error_set(e, ERR_LIMIT, "%s is larger than %zu bytes", what, b->max);
}
