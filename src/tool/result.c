/* From what a child wrote to what the model sees: repaired, masked, and never more than the tool's budget. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "base/utf8.h"
#include "tool/internal.h"

/* Bytes shown of a result that is over its budget, half from each end. */
#define PREVIEW_BYTES  ((size_t)10000)
#define RESULT_MAX     ((size_t)256 << 20)
#define LINE_END_SLACK 200

void tool_result_release(struct tool_result *r)
{
	free(r->text);
	free(r->content_json);
	free(r->structured);
	free(r->state);
	free(r->file);
	free(r->context);
	free(r->ends_run);
	memset(r, 0, sizeof *r);
}

/* Appends the bytes as valid UTF-8 in which NUL is U+FFFD too. */
static void add_clean(struct buf *out, const char *p, size_t n)
{
	while (n > 0) {
		const char *nul = memchr(p, '\0', n);
		size_t part = nul ? (size_t)(nul - p) : n;
		utf8_repair(out, p, part);
		p += part;
		n -= part;
		if (nul) {
			buf_adds(out, "\xEF\xBF\xBD");
			p++;
			n--;
		}
	}
}

static void mask(struct toolbox *t, struct buf *b)
{
	if (t->cfg.mask && b->len > 0)
		t->cfg.mask(t->cfg.ctx, b);
}

/* Moves the finished text into the result. Without memory the result is an error without text. */
static void take_text(struct tool_result *out, struct buf *b, bool is_error)
{
	free(out->text);
	if (!b->data && !b->failed)
		buf_add(b, "", 0);
	out->text = b->failed ? NULL : b->data ? buf_take(b, &out->text_len) : strdup("");
	if (!out->text)
		out->text_len = 0;
	out->is_error = is_error || !out->text;
	buf_release(b);
}

void result_text(struct toolbox *t, struct tool_result *out, const char *text, size_t n, bool is_error)
{
	struct buf b = BUF_INIT(RESULT_MAX);

	add_clean(&b, text, n);
	mask(t, &b);
	take_text(out, &b, is_error);
}

static void result_vtext(struct toolbox *t, struct tool_result *out, bool is_error, const char *before,
                         const char *after, const char *fmt, va_list ap)
{
	char *text = NULL;
	struct buf b = BUF_INIT(RESULT_MAX);

	if (vasprintf(&text, fmt, ap) < 0)
		text = NULL;
	buf_adds(&b, before);
	add_clean(&b, text ? text : "out of memory", text ? strlen(text) : 13);
	buf_adds(&b, after);
	free(text);
	mask(t, &b);
	take_text(out, &b, is_error);
}

void result_textf(struct toolbox *t, struct tool_result *out, bool is_error, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	result_vtext(t, out, is_error, "", "", fmt, ap);
	va_end(ap);
}

void result_append_line(struct toolbox *t, struct tool_result *out, const char *fmt, ...)
{
	struct buf b = BUF_INIT(RESULT_MAX);
	struct buf line = BUF_INIT(16 * 1024);
	char *text = NULL;
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(&text, fmt, ap) < 0)
		text = NULL;
	va_end(ap);
	if (!out->text || !text) { /* without memory the result stays as it is */
		free(text);
		return;
	}
	buf_add(&b, out->text, out->text_len);
	if (out->text_len > 0 && out->text[out->text_len - 1] != '\n')
		buf_addc(&b, '\n');
	add_clean(&line, text, strlen(text));
	mask(t, &line);
	buf_add(&b, line.data, line.len);
	if (!b.failed && !line.failed)
		take_text(out, &b, out->is_error);
	buf_release(&b);
	buf_release(&line);
	free(text);
}

void result_use_error(struct toolbox *t, struct tool_result *out, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	result_vtext(t, out, true, "<tool_use_error>", "</tool_use_error>", fmt, ap);
	va_end(ap);
}

bool path_complaint(struct buf *out, enum path_verdict why, const char *path, const char *workspace,
                    const struct error *e)
{
	if (why == PATH_MISSING)
		buf_addf(out, "File does not exist: %s (relative paths start at %s)", path, workspace);
	else if (why == PATH_OUTSIDE || why == PATH_DENIED)
		buf_addf(out, "File is in a directory that is denied by your permission settings: %s", e->msg);
	else
		buf_adds(out, e->msg);
	return why == PATH_OUTSIDE || why == PATH_DENIED;
}

void result_path(struct toolbox *t, struct tool_result *out, enum path_verdict why, const char *path,
                 const struct error *e)
{
	struct buf b = BUF_INIT(16 * 1024);

	if (path_complaint(&b, why, path, t->cfg.workspace, e)) {
		out->denied = true;
		out->denied_reason = "path";
	}
	result_use_error(t, out, "%s", buf_str(&b));
	buf_release(&b);
}

void result_structured(struct toolbox *t, struct tool_result *out, struct buf *json)
{
	mask(t, json);
	free(out->structured);
	out->structured = json->len > 0 && !json->failed ? buf_take(json, NULL) : NULL;
	buf_release(json);
}

/* ---- the spill file ---- */

/* Bytes that a spill file may hold now: the job's cap, and what the run directory still takes. 0 = nothing. */
size_t result_spill_room(struct toolbox *t)
{
	int64_t left = t->cfg.run_dir ? run_dir_left(t->cfg.run_dir) : 0;
	size_t max = t->cfg.max_spill ? t->cfg.max_spill : SIZE_MAX;

	return left < 0 ? 0 : (uint64_t)left < max ? (size_t)left : max;
}

/* The run directory is readable by path from the first file on. */
static int open_run_dir(struct toolbox *t, struct error *e)
{
	if (t->run_dir)
		return 0;
	const char *dir = run_dir_path(t->cfg.run_dir, e);
	if (!dir || roots_add(t->roots, dir, false, e))
		return -1;
	if (permissions_add_read_dir(t->cfg.permissions, dir) < 0)
		return error_nomem(e);
	t->run_dir = dir;
	return 0;
}

const char *toolbox_store(struct toolbox *t, const char *name, const char *text, size_t n)
{
	struct error e = ERROR_INIT;

	if (!t->cfg.run_dir || open_run_dir(t, &e))
		return NULL;
	return run_dir_store(t->cfg.run_dir, name, text, n, &e);
}

int result_open_file(struct toolbox *t, const char *name, char **path, struct error *e)
{
	const char *made;

	if (!t->cfg.run_dir)
		return error_set(e, ERR_LIMIT, "there is no run directory");
	if (open_run_dir(t, e))
		return -1;
	int fd = run_dir_file(t->cfg.run_dir, name, &made, e);
	if (fd < 0)
		return -1;
	free(*path);
	*path = strdup(made);
	return fd;
}

/* Creates the call's spill file, named by its id; its descriptor, or -1. */
static int spill_create(struct call *c, struct error *e)
{
	return result_open_file(c->t, c->id, &c->spill_path, e);
}

int result_spill_open(void *call)
{
	struct error e = ERROR_INIT;

	return spill_create(call, &e);
}

static bool spill_text(struct call *c, const char *p, size_t n)
{
	struct error e = ERROR_INIT;
	size_t room = result_spill_room(c->t);
	int fd = room ? spill_create(c, &e) : -1;

	if (fd < 0)
		return false;
	c->spill_room = room;
	bool ok = io_write_all(fd, p, n > room ? room : n) == 0;
	return close(fd) == 0 && ok && c->spill_path;
}

/* The bytes were written as they came: masks them where they lie. */
void result_mask_file(struct toolbox *t, const char *path)
{
	struct buf b = BUF_INIT(RESULT_MAX);
	struct error e = ERROR_INIT;
	int fd = t->cfg.mask && path ? open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW) : -1;

	if (fd < 0)
		return;
	bool ok = io_read_fd(fd, &b, &e) == 0;
	mask(t, &b);
	ok = ok && !b.failed && lseek(fd, 0, SEEK_SET) == 0 && ftruncate(fd, 0) == 0 &&
	     io_write_all(fd, b.data, b.len) == 0;
	if (!ok && ftruncate(fd, 0) < 0)
		unlink(path); /* better no file than one with a secret in it */
	close(fd);
	buf_release(&b);
}

/* ---- cutting ---- */

/* The end of the head: not inside a character, at a line's end if one is near. */
static size_t head_end(const char *p, size_t n, size_t want)
{
	size_t end = utf8_floor(p, n, want);

	for (size_t i = end; i > 0 && end - i < LINE_END_SLACK; i--)
		if (p[i - 1] == '\n')
			return i;
	return end;
}

static size_t tail_start(const char *p, size_t n, size_t want)
{
	size_t start = utf8_ceil(p, n, n - want);

	for (size_t i = start; i < n && i - start < LINE_END_SLACK; i++)
		if (p[i] == '\n')
			return i + 1;
	return start;
}

/* head + mark + tail; `lost` bytes are missing between the two texts already. */
static void add_cut(struct buf *out, const char *head, size_t hn, const char *tail, size_t tn, uint64_t lost,
                    size_t shown)
{
	size_t he, ts;

	if (tn == 0) {
		tail = head;
		tn = hn;
		he = hn <= shown ? hn : head_end(head, hn, shown / 2);
		ts = hn <= shown ? hn : tail_start(head, hn, shown / 2);
		lost += ts - he;
	} else {
		he = head_end(head, hn, hn < shown / 2 ? hn : shown / 2);
		ts = tail_start(tail, tn, tn < shown / 2 ? tn : shown / 2);
		lost += (hn - he) + ts;
	}
	buf_add(out, head, he);
	buf_addf(out, "%s... [%llu characters truncated] ...\n", he > 0 && head[he - 1] != '\n' ? "\n" : "",
	         (unsigned long long)lost);
	buf_add(out, tail + ts, tn - ts);
}

void result_cut(struct buf *out, const char *text, size_t n, size_t shown)
{
	add_cut(out, text, n, NULL, 0, 0, shown);
}

const char result_persisted_parts[] = "First and last part:\n\n";
const char result_persisted_end[] = "\n</persisted-output>";
static const char persisted_begin[] = "<persisted-output>\nOutput is too large (", saved_in[] = " is saved in ";

void result_persisted(struct buf *b, const char *path, bool whole, uint64_t total)
{
	buf_addf(b, "%s%llu bytes)", persisted_begin, (unsigned long long)total);
	if (path)
		buf_addf(b, ". %s%s%s; use Read with offset and limit, or Grep, on that file.\n",
		         whole ? "All of it" : "Its beginning", saved_in, path);
	else
		buf_adds(b, " and could not be saved.\n");
	buf_adds(b, result_persisted_parts);
}

const char *result_persisted_path(const char *text, size_t *n)
{
	const char *line = text + strlen(persisted_begin);

	if (strncmp(text, persisted_begin, strlen(persisted_begin)) != 0)
		return NULL;
	const char *at = strstr(line, saved_in), *path = at ? at + strlen(saved_in) : NULL;
	*n = path ? strcspn(path, ";\n") : 0;
	return path && path < line + strcspn(line, "\n") && path[*n] == ';' ? path : NULL;
}

static void finish_large(struct call *c, struct tool_result *out, struct buf *b, bool stored, bool is_error)
{
	buf_adds(b, result_persisted_end);
	if (stored) {
		free(out->file);
		out->file = strdup(c->spill_path);
	}
	take_text(out, b, is_error);
}

/* Bytes of a character that the end of kept output cut off. */
static size_t cut_tail_bytes(const char *p, size_t n)
{
	for (size_t i = 1; i <= 3 && i <= n; i++) {
		unsigned char ch = (unsigned char)p[n - i];
		if (ch >= 0xC0)
			return utf8_char_len(p + n - i, i) == 0 ? i : 0;
		if (ch < 0x80)
			return 0;
	}
	return 0;
}

static size_t cut_head_bytes(const char *p, size_t n)
{
	size_t i = 0;

	while (i < 3 && i < n && ((unsigned char)p[i] & 0xC0) == 0x80)
		i++;
	return i;
}

/* An output as text: what was kept of its head and its tail, each valid and masked. */
struct cleaned {
	struct buf head, tail;
	bool gap;
	uint64_t lost; /* bytes between the two */
};

static int clean_output(struct toolbox *t, const struct output *o, struct cleaned *x)
{
	size_t hn = o->head.len, skip = 0;

	buf_init(&x->head, RESULT_MAX);
	buf_init(&x->tail, RESULT_MAX);
	x->gap = o->total > o->head.len + o->tail.len;
	x->lost = x->gap ? o->total - o->head.len - o->tail.len : 0;
	if (x->gap) {
		hn -= cut_tail_bytes(o->head.data, hn);
		skip = cut_head_bytes(o->tail.data, o->tail.len);
	}
	add_clean(&x->head, o->head.data, hn);
	if (o->tail.len > 0)
		add_clean(x->gap ? &x->tail : &x->head, o->tail.data + skip, o->tail.len - skip);
	mask(t, &x->head);
	mask(t, &x->tail);
	return x->head.failed || x->tail.failed ? -1 : 0;
}

static void cleaned_release(struct cleaned *x)
{
	buf_release(&x->head);
	buf_release(&x->tail);
}

static void add_cleaned_cut(struct buf *b, const struct cleaned *x, size_t shown)
{
	add_cut(b, buf_str(&x->head), x->head.len, buf_str(&x->tail), x->tail.len, x->lost, shown);
}

void result_output(struct call *c, struct tool_result *out, const char *prefix, const struct output *o, size_t limit,
                   bool is_error)
{
	struct buf b = BUF_INIT(RESULT_MAX);
	struct cleaned x;

	if (clean_output(c->t, o, &x) < 0) {
		cleaned_release(&x);
		result_textf(c->t, out, true, "%sthe output could not be kept: out of memory", prefix);
		return;
	}
	if (!x.gap && (limit == 0 || x.head.len <= limit)) {
		buf_adds(&b, prefix);
		buf_add(&b, x.head.data, x.head.len);
		take_text(out, &b, is_error);
	} else {
		bool stored;
		if (o->spilled)
			result_mask_file(c->t, c->spill_path);
		stored = o->spilled ? c->spill_path != NULL : !x.gap && spill_text(c, x.head.data, x.head.len);
		buf_adds(&b, prefix);
		result_persisted(&b, stored ? c->spill_path : NULL, !c->spill_room || o->total <= c->spill_room,
		                 o->total);
		add_cleaned_cut(&b, &x, PREVIEW_BYTES < limit || limit == 0 ? PREVIEW_BYTES : limit);
		finish_large(c, out, &b, stored, is_error);
	}
	cleaned_release(&x);
}

void result_excerpt(struct toolbox *t, struct buf *out, const struct output *o, size_t limit)
{
	struct cleaned x;

	if (clean_output(t, o, &x) < 0)
		buf_adds(out, "(could not be kept: out of memory)");
	else if (!x.gap && x.head.len <= limit)
		buf_add(out, buf_str(&x.head), x.head.len);
	else
		add_cleaned_cut(out, &x, limit);
	cleaned_release(&x);
}

void result_within(struct call *c, struct tool_result *out, const char *text, size_t n, size_t limit, bool is_error)
{
	struct output o = { .total = n };

	buf_init(&o.head, RESULT_MAX);
	buf_init(&o.tail, RESULT_MAX);
	buf_add(&o.head, text, n);
	result_output(c, out, "", &o, limit, is_error);
	buf_release(&o.head);
	buf_release(&o.tail);
}

bool result_child_failed(struct call *c, const struct child_result *res, struct tool_result *out)
{
	if (res->error)
		result_textf(c->t, out, true, "%s could not be run: %s", c->row->name, res->error);
	else if (res->too_many)
		result_textf(c->t, out, true, "%s was ended: there were more than %d processes (sandbox.max_processes)",
		             c->row->name, res->too_many);
	else if (res->killed)
		result_textf(c->t, out, true, "[Request interrupted by user for tool use]");
	else if (res->timed_out)
		result_textf(c->t, out, true, "%s timed out after %lld s. Use a narrower path or pattern.",
		             c->row->name, (long long)(c->spec.timeout_ms / 1000));
	else if (!res->exited)
		result_textf(c->t, out, true, "%s was ended by signal %d", c->row->name, res->signal);
	else
		return false;
	return true;
}
