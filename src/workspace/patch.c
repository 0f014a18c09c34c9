#include <errno.h>
#include <sha1.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/io.h"
#include "workspace/diff.h"
#include "workspace/patch_out.h"

#define CONTEXT   3
#define FILE_MOST ((off_t)256 << 20)
#define PIECE     65536
#define NO_BLOB   "0000000000000000000000000000000000000000"

/* ---- the output ---- */

void patch_flush(struct patch_out *o)
{
	if (!o->failed && io_write_all(o->fd, buf_str(&o->text), o->text.len))
		o->failed = errno;
	buf_clear(&o->text);
}

void patch_put(struct patch_out *o, const void *p, size_t n)
{
	if (o->text.len + n > PIECE)
		patch_flush(o);
	if (n < PIECE) {
		if (buf_add(&o->text, p, n) && !o->failed)
			o->failed = ENOMEM;
	} else if (!o->failed && io_write_all(o->fd, p, n)) {
		o->failed = errno;
	}
}

void patch_puts(struct patch_out *o, const char *s)
{
	patch_put(o, s, strlen(s));
}

/* As git quotes a name: not at all if it is plain ASCII, with the prefix within the quotes else. git itself does not
 * find the end of a name that has a blank before a slash, unless it is quoted. */
static void put_name(struct patch_out *o, const char *prefix, const char *name)
{
	static const char letters[] = "abtnvfr";
	char octal[8];
	bool quoted = strstr(name, " /") != NULL;

	for (const char *p = name; *p && !quoted; p++)
		quoted = (unsigned char)*p < 0x20 || (unsigned char)*p >= 0x7f || *p == '"' || *p == '\\';
	patch_puts(o, quoted ? "\"" : "");
	patch_puts(o, prefix);
	for (const char *p = name; *p; p++) {
		unsigned char c = (unsigned char)*p;
		if (c >= 7 && c <= 13)
			snprintf(octal, sizeof octal, "\\%c", letters[c - 7]);
		else if (c < 0x20 || c >= 0x7f)
			snprintf(octal, sizeof octal, "\\%03o", c);
		else
			snprintf(octal, sizeof octal, "%s%c", c == '"' || c == '\\' ? "\\" : "", c);
		patch_puts(o, octal);
	}
	patch_puts(o, quoted ? "\"" : "");
}

/* ---- one side ---- */

static void blob_release(struct blob *b)
{
	free(b->p);
	if (b->fd >= 0)
		close(b->fd);
	*b = (struct blob){ .fd = -1 };
}

static void hash_begin(SHA1_CTX *ctx, size_t n)
{
	char head[32];
	int len = snprintf(head, sizeof head, "blob %zu", n);

	SHA1Init(ctx);
	SHA1Update(ctx, (const uint8_t *)head, (size_t)len + 1);
}

static void hash_end(SHA1_CTX *ctx, char id[BLOB_HEX + 1])
{
	uint8_t sha[SHA1_DIGEST_LENGTH];

	SHA1Final(sha, ctx);
	for (size_t i = 0; i < sizeof sha; i++)
		snprintf(id + 2 * i, 3, "%02x", sha[i]);
}

/* Reads b->n bytes, into b->p if that is there. -1 with errno: also if the file has another length by now. */
static int read_blob(struct blob *b, SHA1_CTX *ctx)
{
	char piece[PIECE];
	size_t have = 0;

	while (have < b->n) {
		char *to = b->p ? b->p + have : piece;
		size_t want = b->p || b->n - have < PIECE ? b->n - have : PIECE;
		ssize_t got = read(b->fd, to, want);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0) {
			errno = got ? errno : EIO;
			return -1;
		}
		SHA1Update(ctx, (const uint8_t *)to, (size_t)got);
		have += (size_t)got;
	}
	return 0;
}

static int link_blob(struct blob *b, int dir, const char *base, SHA1_CTX *ctx)
{
	b->p = malloc(LINK_LONGEST);
	if (!b->p || walk_read_link(dir, base, b->p, &b->n))
		return -1;
	hash_begin(ctx, b->n);
	SHA1Update(ctx, (const uint8_t *)b->p, b->n);
	b->is_text = true;
	return 0;
}

static int file_blob(struct blob *b, int dir, const char *base, SHA1_CTX *ctx)
{
	struct stat st;

	b->fd = walk_open_file(dir, base, NULL);
	if (b->fd < 0 || fstat(b->fd, &st))
		return -1;
	b->n = (size_t)st.st_size;
	b->is_text = false;
	if (b->n <= DIFF_TEXT_MOST && !(b->p = malloc(b->n + 1)))
		return -1;
	hash_begin(ctx, b->n);
	if (read_blob(b, ctx))
		return -1;
	if (!b->p)
		return 0;
	close(b->fd);
	b->fd = -1;
	b->is_text = !memchr(b->p, '\0', b->n);
	return 0;
}

/* What a side has; nothing for a file that is not there. */
static int blob_open(struct beneath *at, const struct scan_entry *f, struct blob *b, struct error *e)
{
	char shown[SHOWN_NAME];
	const char *base;
	SHA1_CTX ctx;

	*b = (struct blob){ .fd = -1, .id = NO_BLOB, .is_text = true };
	if (!f)
		return 0;
	int dir = beneath_parent(at, f->name, &base);
	if (dir < 0 || (f->kind == FILE_LINK ? link_blob : file_blob)(b, dir, base, &ctx)) {
		error_sys(e, "cannot read '%s' for the patch", walk_show(f->name, shown));
		blob_release(b);
		return -1;
	}
	hash_end(&ctx, b->id);
	return 0;
}

/* ---- hunks ---- */

struct hunk {
	uint32_t a, b;   /* where it begins */
	uint32_t na, nb; /* how many lines */
};

static void put_range(struct patch_out *o, char sign, uint32_t at, uint32_t n)
{
	char text[40];

	snprintf(text, sizeof text, n == 1 ? " %c%u" : " %c%u,%u", sign, n ? at + 1 : at, n);
	patch_puts(o, text);
}

static void put_line(struct patch_out *o, char sign, const struct lines *l, uint32_t i)
{
	size_t n = l->at[i + 1] - l->at[i];

	patch_put(o, &sign, 1);
	patch_put(o, l->text + l->at[i], n);
	if (l->text[l->at[i + 1] - 1] != '\n')
		patch_puts(o, "\n\\ No newline at end of file\n");
}

static void put_hunk(struct patch_out *o, const struct lines *a, const struct lines *b, const struct hunk *h)
{
	uint32_t i = h->a, j = h->b, end_a = i + h->na, end_b = j + h->nb;

	patch_puts(o, "@@");
	put_range(o, '-', h->a, h->na);
	put_range(o, '+', h->b, h->nb);
	patch_puts(o, " @@\n");
	while (i < end_a || j < end_b) {
		if (i < end_a && a->changed[i])
			put_line(o, '-', a, i++);
		else if (j < end_b && b->changed[j])
			put_line(o, '+', b, j++);
		else {
			put_line(o, ' ', a, i++);
			j++;
		}
	}
}

static void put_hunks(struct patch_out *o, const struct lines *a, const struct lines *b)
{
	uint32_t i = 0, j = 0, same = 0; /* same: unchanged lines since the last change */
	struct hunk h = { 0 };
	bool open = false;

	while (i < a->n || j < b->n) {
		bool minus = i < a->n && a->changed[i], plus = j < b->n && b->changed[j];
		if (!minus && !plus) {
			i++;
			j++;
			same++;
			continue;
		}
		if (open && same > 2 * CONTEXT) {
			h.na = i - same + CONTEXT - h.a;
			h.nb = j - same + CONTEXT - h.b;
			put_hunk(o, a, b, &h);
			open = false;
		}
		if (!open) {
			uint32_t before = same < CONTEXT ? same : CONTEXT;
			h = (struct hunk){ .a = i - before, .b = j - before };
			open = true;
		}
		i += minus;
		j += plus && !minus;
		same = 0;
	}
	if (open) {
		uint32_t behind = same < CONTEXT ? same : CONTEXT;
		h.na = i - same + behind - h.a;
		h.nb = j - same + behind - h.b;
		put_hunk(o, a, b, &h);
	}
}

static void put_file_line(struct patch_out *o, const char *sign, const char *prefix, const char *name, bool there)
{
	patch_puts(o, sign);
	if (there)
		put_name(o, prefix, name);
	else
		patch_puts(o, "/dev/null");
	patch_puts(o, there && strchr(name, ' ') ? "\t\n" : "\n");
}

static int put_text(struct patch_out *o, const struct blob *old, const struct blob *now, struct error *e)
{
	struct lines a = { 0 }, b = { 0 };
	int rc = 0;

	if (lines_init(&a, old->p ? old->p : "", old->n) || lines_init(&b, now->p ? now->p : "", now->n) ||
	    diff_lines(&a, &b))
		rc = error_nomem(e);
	else
		put_hunks(o, &a, &b);
	lines_release(&a);
	lines_release(&b);
	return rc;
}

/* ---- one file ---- */

struct patching {
	struct patch_out out;
	struct beneath before, after;
	size_t left_out;
};

static unsigned git_mode(const struct scan_entry *f)
{
	return f->kind == FILE_LINK ? 0120000 : f->mode & 0100 ? 0100755 : 0100644;
}

static void put_header(struct patch_out *o, const struct scan_entry *old, const struct scan_entry *now,
                       const struct blob *was, const struct blob *is)
{
	const char *name = (old ? old : now)->name;
	bool moded = old && now && git_mode(old) != git_mode(now);
	char text[128];

	patch_puts(o, "diff --git ");
	put_name(o, "a/", name);
	patch_puts(o, " ");
	put_name(o, "b/", name);
	patch_puts(o, "\n");
	if (moded)
		snprintf(text, sizeof text, "old mode %06o\nnew mode %06o\n", git_mode(old), git_mode(now));
	else if (!old)
		snprintf(text, sizeof text, "new file mode %06o\n", git_mode(now));
	else if (!now)
		snprintf(text, sizeof text, "deleted file mode %06o\n", git_mode(old));
	else
		text[0] = '\0';
	patch_puts(o, text);
	if (!strcmp(was->id, is->id))
		return;
	snprintf(text, sizeof text, "index %s..%s", was->id, is->id);
	patch_puts(o, text);
	if (old && now && !moded) {
		snprintf(text, sizeof text, " %06o", git_mode(old));
		patch_puts(o, text);
	}
	patch_puts(o, "\n");
}

static int put_content(struct patching *p, const char *name, const struct blob *was, const struct blob *is,
                       const struct change *c, struct error *e)
{
	char shown[SHOWN_NAME];

	if (!strcmp(was->id, is->id) || (!was->n && !is->n))
		return 0;
	if (was->is_text && is->is_text) {
		put_file_line(&p->out, "--- ", "a/", name, c->before);
		put_file_line(&p->out, "+++ ", "b/", name, c->after);
		return put_text(&p->out, was, is, e);
	}
	patch_puts(&p->out, "GIT binary patch\n");
	if (patch_literal(&p->out, is) || patch_literal(&p->out, was))
		return error_sys(e, "cannot read '%s' for the patch", walk_show(name, shown));
	return 0;
}

/* One of the two may be NULL. */
static int put_change(struct patching *p, const struct scan_entry *old, const struct scan_entry *now, struct error *e)
{
	const struct change c = { old, now };
	const char *name = (old ? old : now)->name;
	struct blob was, is;
	char shown[SHOWN_NAME];

	if ((old && old->size > FILE_MOST) || (now && now->size > FILE_MOST)) {
		p->left_out++;
		patch_puts(&p->out, "# too large for a patch: ");
		patch_puts(&p->out, walk_show(name, shown));
		patch_puts(&p->out, "\n");
		return 0;
	}
	if (blob_open(&p->before, old, &was, e))
		return -1;
	if (blob_open(&p->after, now, &is, e)) {
		blob_release(&was);
		return -1;
	}
	put_header(&p->out, old, now, &was, &is);
	int rc = put_content(p, name, &was, &is, &c, e);
	blob_release(&was);
	blob_release(&is);
	return rc;
}

/* git keeps neither directories nor what is its own, and refuses patches that touch that. */
static const struct scan_entry *tracked(const struct scan_entry *f)
{
	if (!f || f->kind == FILE_DIRECTORY)
		return NULL;
	for (const char *p = f->name; p; p = strchr(p, '/')) {
		p += *p == '/';
		if (!strncasecmp(p, ".git", 4) && (p[4] == '\0' || p[4] == '/'))
			return NULL;
	}
	return f;
}

static int put_pair(struct patching *p, const struct change *c, struct error *e)
{
	const struct scan_entry *old = tracked(c->before), *now = tracked(c->after);

	if (!old && !now)
		return 0;
	if (old && now && old->kind != now->kind)
		return put_change(p, old, NULL, e) || put_change(p, NULL, now, e) ? -1 : 0;
	if (old && now && git_mode(old) == git_mode(now) && !memcmp(old->sha, now->sha, DIGEST_BYTES))
		return 0;
	return put_change(p, old, now, e);
}

int workspace_patch(int before_fd, int after_fd, const struct scan *before, const struct scan *after, int out_fd,
                    size_t *left_out, struct error *e)
{
	struct patching p = { .out = { .fd = out_fd, .text = BUF_INIT(PIECE) } };
	struct changes c;
	int rc = 0;

	if (scan_compare(before, after, &c, e))
		return -1;
	beneath_init(&p.before, before_fd);
	beneath_init(&p.after, after_fd);
	for (size_t i = 0; i < c.n && !rc && !p.out.failed; i++)
		rc = put_pair(&p, &c.v[i], e);
	patch_flush(&p.out);
	if (!rc && p.out.failed) {
		errno = p.out.failed;
		rc = error_sys(e, "cannot write the patch");
	}
	buf_release(&p.out.text);
	beneath_release(&p.before);
	beneath_release(&p.after);
	changes_release(&c);
	*left_out += p.left_out;
	return rc;
}
