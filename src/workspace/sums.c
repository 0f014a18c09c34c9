/* A scan as text, and back. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "workspace/private.h"

#define SPECIAL "\n\r\\"

static const char letters[] = { [FILE_REGULAR] = 'f', [FILE_LINK] = 'l', [FILE_DIRECTORY] = 'd' };

/* As sha256sum does it: what would break the line is escaped, and a backslash in front says so. */
static void add_name(struct buf *out, const char *name)
{
	size_t n = strcspn(name, SPECIAL);

	buf_add(out, name, n);
	for (name += n; *name; name++)
		if (*name == '\n' || *name == '\r' || *name == '\\')
			buf_addf(out, "\\%c", *name == '\n' ? 'n' : *name == '\r' ? 'r' : '\\');
		else
			buf_addc(out, *name);
	buf_addc(out, '\n');
}

static void add_sha(struct buf *out, const unsigned char sha[DIGEST_BYTES])
{
	char hex[DIGEST_HEX + 1];

	digest_to_hex(sha, hex);
	buf_add(out, hex, DIGEST_HEX);
}

/* With a blank in front; printf would take a third of the time that a scan takes. */
static void add_number(struct buf *out, uint64_t v, unsigned base)
{
	char text[24];
	size_t at = sizeof text;

	do
		text[--at] = (char)('0' + v % base);
	while (v /= base);
	text[--at] = ' ';
	buf_add(out, text + at, sizeof text - at);
}

/* Has it a hash that sha256sum makes of it, too? */
static bool has_line(const struct scan_entry *f, bool listed)
{
	return f->kind == FILE_REGULAR && !listed && f->size <= PLAIN_SUM_MOST;
}

static void add_entry(struct buf *out, const struct scan_entry *f, bool listed)
{
	const bool line = has_line(f, listed), sum = f->kind != FILE_DIRECTORY;

	buf_addc(out, '#');
	buf_addc(out, letters[f->kind]);
	add_number(out, f->mode, 8);
	add_number(out, (uint64_t)f->size, 10);
	add_number(out, (uint64_t)f->mtime_ns, 10);
	add_number(out, (uint64_t)f->ctime_ns, 10);
	add_number(out, f->inode, 10);
	buf_adds(out, !line ? " " : strpbrk(f->name, SPECIAL) ? "\n\\" : "\n");
	if (sum && listed && !scan_has_sum(f))
		buf_addc(out, '-');
	else if (sum)
		add_sha(out, f->sha);
	buf_adds(out, sum ? "  " : "");
	add_name(out, f->name);
}

void scan_print_sums(const struct scan *s, struct buf *out)
{
	buf_addf(out, "#quern-%s 1 %lld %zu\n", s->listed ? "list" : "sums", (long long)s->taken_ns, s->skipped);
	for (size_t i = 0; i < s->n; i++)
		add_entry(out, &s->v[i], s->listed);
}

/* ---- and back ---- */

struct reader {
	const char *p, *end; /* a NUL stands at end */
	bool bad;
};

static int digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Times before 1970 stand there as what they are modulo 2^64. */
static uint64_t number(struct reader *r, int base)
{
	char *end;

	errno = 0;
	unsigned long long v = strtoull(r->p, &end, base);
	if (errno || digit(*r->p) < 0 || (*end != ' ' && *end != '\n')) {
		r->bad = true;
		return 0;
	}
	r->p = end + 1;
	return v;
}

static void take(struct reader *r, const char *what)
{
	size_t n = strlen(what);

	if (r->bad || strncmp(r->p, what, n) != 0)
		r->bad = true;
	else
		r->p += n;
}

static void sha(struct reader *r, unsigned char out[DIGEST_BYTES])
{
	for (size_t i = 0; i < DIGEST_BYTES && !r->bad; i++) {
		int high = digit(r->p[0]), low = high < 0 ? -1 : digit(r->p[1]);
		r->bad = low < 0;
		if (r->bad)
			return;
		out[i] = (unsigned char)(high << 4 | low);
		r->p += 2;
	}
	take(r, "  ");
}

/* A name to the end of its line. */
static void name(struct reader *r, struct buf *out)
{
	buf_clear(out);
	if (!r->bad) {
		size_t n = strcspn(r->p, "\n\\");
		buf_add(out, r->p, n);
		r->p += n;
	}
	for (; !r->bad && r->p < r->end && *r->p != '\n'; r->p++) {
		char c = *r->p;
		if (c == '\\') {
			c = *++r->p;
			r->bad = c != 'n' && c != 'r' && c != '\\';
			c = c == 'n' ? '\n' : c == 'r' ? '\r' : '\\';
		}
		buf_addc(out, c);
	}
	r->bad = r->bad || r->p >= r->end || out->failed || !out->len;
	if (!r->bad)
		r->p++;
}

static void entry(struct reader *r, struct scan_entry *f, bool listed, struct buf *text)
{
	const char *letter = r->p < r->end ? memchr(letters, *r->p, sizeof letters) : NULL;

	if (!letter || r->p[1] != ' ') {
		r->bad = true;
		return;
	}
	r->p += 2;
	f->kind = (enum file_kind)(letter - letters);
	f->mode = (unsigned)number(r, 8) & 07777;
	f->size = (int64_t)number(r, 10);
	r->bad = r->bad || f->size < 0;
	f->mtime_ns = (int64_t)number(r, 10);
	f->ctime_ns = (int64_t)number(r, 10);
	f->inode = number(r, 10);
	if (!r->bad && has_line(f, listed) && *r->p == '\\')
		r->p++;
	if (listed && f->kind == FILE_REGULAR && !r->bad && *r->p == '-')
		take(r, "-  ");
	else if (f->kind != FILE_DIRECTORY && !r->bad)
		sha(r, f->sha);
	name(r, text);
}

int scan_parse(const char *text, size_t n, struct scan *out, struct error *e)
{
	struct reader r = { text, text + n, false };
	struct buf line = BUF_INIT(NAME_LONGEST);
	bool nomem = false;

	*out = (struct scan)SCAN_INIT;
	out->listed = !strncmp(text, "#quern-list", strlen("#quern-list"));
	take(&r, out->listed ? "#quern-list 1 " : "#quern-sums 1 ");
	if (!r.bad) {
		out->taken_ns = (int64_t)number(&r, 10);
		out->skipped = (size_t)number(&r, 10);
	}
	while (!r.bad && !nomem && r.p < r.end) {
		struct scan_entry f = { 0 };
		take(&r, "#");
		if (!r.bad)
			entry(&r, &f, out->listed, &line);
		if (r.bad)
			break;
		struct scan_entry *added = scan_add(out, buf_str(&line), line.len);
		nomem = !added;
		if (!added)
			break;
		f.name = added->name;
		*added = f;
		r.bad = out->n > 1 && strcmp(out->v[out->n - 2].name, f.name) >= 0;
	}
	buf_release(&line);
	if (!r.bad && !nomem)
		return 0;
	scan_release(out);
	return nomem ? error_nomem(e) : error_set(e, ERR_INPUT, "no list of files with their sums");
}
