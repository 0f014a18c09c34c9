#include <errno.h>
#include <unistd.h>

#include "workspace/patch_out.h"

#define LINE        52 /* bytes in a line of base85 */
#define STORED_MOST 65535
#define ADLER       65521

struct coder {
	struct patch_out *out;
	unsigned char line[LINE];
	size_t n;
	uint32_t a, b; /* of the check sum */
};

static void end_line(struct coder *c)
{
	static const char digits[] =
	        "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~";
	char text[1 + LINE / 4 * 5 + 1];
	size_t len = 0;

	if (!c->n)
		return;
	text[len++] = (char)(c->n <= 26 ? 'A' + c->n - 1 : 'a' + c->n - 27);
	for (size_t i = 0; i < c->n; i += 4) {
		uint32_t v = 0;
		for (size_t k = i; k < i + 4; k++)
			v = v << 8 | (k < c->n ? c->line[k] : 0);
		for (size_t k = 5; k-- > 0; v /= 85)
			text[len + k] = digits[v % 85];
		len += 5;
	}
	text[len++] = '\n';
	patch_put(c->out, text, len);
	c->n = 0;
}

static void put(struct coder *c, const unsigned char *p, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		c->line[c->n++] = p[i];
		if (c->n == LINE)
			end_line(c);
	}
}

static void put_block(struct coder *c, const unsigned char *p, size_t n, bool last)
{
	const unsigned char head[] = { last, n & 255, (unsigned char)(n >> 8), ~n & 255,
		                       (unsigned char)(~n >> 8 & 255) };

	put(c, head, sizeof head);
	put(c, p, n);
	for (size_t i = 0; i < n; i++) {
		c->a += p[i];
		c->a = c->a >= ADLER ? c->a - ADLER : c->a;
		c->b += c->a;
		c->b = c->b >= ADLER ? c->b - ADLER : c->b;
	}
}

/* The next bytes of a blob, all that were asked for. */
static int piece(const struct blob *b, size_t at, size_t n, unsigned char *room, const unsigned char **p)
{
	if (b->fd < 0) {
		*p = (const unsigned char *)b->p + at;
		return 0;
	}
	*p = room;
	for (size_t have = 0; have < n;) {
		ssize_t got = pread(b->fd, room + have, n - have, (off_t)(at + have));
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0) {
			errno = got ? errno : EIO;
			return -1;
		}
		have += (size_t)got;
	}
	return 0;
}

int patch_literal(struct patch_out *o, const struct blob *b)
{
	struct coder c = { .out = o, .a = 1 };
	unsigned char room[STORED_MOST];
	const unsigned char *p;
	struct buf head = BUF_INIT(64);
	size_t at = 0;

	buf_addf(&head, "literal %zu\n", b->n);
	patch_puts(o, buf_str(&head));
	buf_release(&head);
	put(&c, (const unsigned char *)"\x78\x01", 2);
	do {
		size_t n = b->n - at < STORED_MOST ? b->n - at : STORED_MOST;
		if (n && piece(b, at, n, room, &p))
			return -1;
		put_block(&c, n ? p : room, n, at + n == b->n);
		at += n;
	} while (at < b->n);
	const unsigned char sum[] = { (unsigned char)(c.b >> 8), (unsigned char)(c.b & 255), (unsigned char)(c.a >> 8),
		                      (unsigned char)(c.a & 255) };
	put(&c, sum, sizeof sum);
	end_line(&c);
	patch_puts(o, "\n");
	return 0;
}
