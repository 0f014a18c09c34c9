#include "supervisor/output.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static size_t smaller(size_t a, size_t b)
{
	return a < b ? a : b;
}

void collector_init(struct collector *c, size_t keep_head, size_t keep_tail)
{
	*c = (struct collector){ .spill_fd = -1 };
	c->keep_head = smaller(keep_head, BUF_HUGE / 2);
	c->keep_tail = smaller(keep_tail, BUF_HUGE / 2);
	buf_init(&c->head, c->keep_head + c->keep_tail); /* output that was not cut ends up in the head whole */
}

void collector_spill_to(struct collector *c, int (*spill_open)(void *ctx), void *ctx, size_t max_spill)
{
	c->spill_open = spill_open;
	c->spill_ctx = ctx;
	c->spill_left = max_spill;
}

static void spill_close(struct collector *c)
{
	if (c->spill_fd >= 0)
		close(c->spill_fd);
	c->spill_fd = -1;
}

void collector_release(struct collector *c)
{
	spill_close(c);
	free(c->ring);
	buf_release(&c->head);
	collector_init(c, c->keep_head, c->keep_tail);
}

static void spill_write(struct collector *c, const char *p, size_t n)
{
	if (n > c->spill_left)
		n = (size_t)c->spill_left;
	c->spill_left -= n;
	while (n && c->spill_fd >= 0) {
		ssize_t w = write(c->spill_fd, p, n);
		if (w < 0 && errno == EINTR)
			continue;
		if (w <= 0) { /* a full disk: what is in memory stays, the file is no longer the whole */
			c->spilled = false;
			spill_close(c);
			return;
		}
		p += w;
		n -= (size_t)w;
	}
}

static void ring_each(const struct collector *c, void (*use)(void *ctx, const char *p, size_t n), void *ctx)
{
	size_t start = (c->ring_at + c->keep_tail - c->ring_len) % (c->keep_tail ? c->keep_tail : 1);
	size_t first = smaller(c->ring_len, c->keep_tail - start);

	if (first)
		use(ctx, c->ring + start, first);
	if (c->ring_len > first)
		use(ctx, c->ring, c->ring_len - first);
}

static void use_for_spill(void *ctx, const char *p, size_t n)
{
	spill_write(ctx, p, n);
}

static void use_for_buf(void *ctx, const char *p, size_t n)
{
	buf_add(ctx, p, n);
}

/* Nothing has been dropped yet: head and ring are all that came. */
static void spill_start(struct collector *c)
{
	c->spill_fd = c->spill_open(c->spill_ctx);
	c->spill_open = NULL;
	if (c->spill_fd < 0)
		return;
	c->spilled = true;
	spill_write(c, buf_str(&c->head), c->head.len);
	ring_each(c, use_for_spill, c);
}

static void ring_add(struct collector *c, const char *p, size_t n)
{
	if (!n || !c->keep_tail)
		return;
	if (!c->ring) {
		c->ring = malloc(c->keep_tail);
		if (!c->ring) {
			c->head.failed = ERR_NOMEM;
			c->keep_tail = 0;
			return;
		}
	}
	if (n > c->keep_tail) {
		p += n - c->keep_tail;
		n = c->keep_tail;
	}
	size_t first = smaller(n, c->keep_tail - c->ring_at);
	memcpy(c->ring + c->ring_at, p, first);
	memcpy(c->ring, p + first, n - first);
	c->ring_at = (c->ring_at + n) % c->keep_tail;
	c->ring_len = smaller(c->ring_len + n, c->keep_tail);
}

static bool is_cut(const struct collector *c)
{
	return c->total > c->keep_head + c->keep_tail;
}

void collector_add(struct collector *c, const char *p, size_t n)
{
	if (!n)
		return;
	c->total += n;
	if (is_cut(c) && c->spill_open)
		spill_start(c);
	spill_write(c, p, n);
	size_t to_head = smaller(n, c->keep_head - smaller(c->head.len, c->keep_head));
	buf_add(&c->head, p, to_head);
	ring_add(c, p + to_head, n - to_head);
}

void collector_take(struct collector *c, struct output *out)
{
	spill_close(c);
	out->total = c->total;
	out->spilled = c->spilled;
	buf_init(&out->tail, c->keep_tail);
	ring_each(c, use_for_buf, is_cut(c) ? &out->tail : &c->head);
	out->head = c->head;
	buf_init(&c->head, c->head.max);
	collector_release(c);
}
