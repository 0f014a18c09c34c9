/* Read: a window of a file's lines with their numbers, or an image. The whole file is hashed as it passes. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/base64.h"
#include "base/io.h"
#include "base/utf8.h"
#include "message/media.h"
#include "tool/file.h"

#define DEFAULT_LINES  2000
#define LINE_CHARS     2000
#define LINE_KEEP      (LINE_CHARS * 4 + 4) /* bytes that hold LINE_CHARS characters whatever they are */
#define WINDOW_BYTES   ((size_t)100000)     /* about 25,000 tokens */
#define READ_MAX_BYTES ((uint64_t)1 << 30)
#define FIRST_BYTES    ((uint64_t)4 << 20) /* of a file whose first lines are wanted */

enum { P_PATH, P_OFFSET, P_LIMIT };

static const struct tool_param params[] = {
	[P_PATH] = { "file_path", PARAM_NAME, true, 0, NULL, "Absolute path" },
	[P_OFFSET] = { "offset", PARAM_INT, false, 0, NULL, "First line, from 1" },
	[P_LIMIT] = { "limit", PARAM_INT, false, 1, NULL, "Number of lines" },
	{ 0 },
};

struct window {
	uint64_t first, count; /* lines wanted */
	bool count_given;
	bool shown_before; /* this view of the content that is known stands in the conversation */
	uint64_t line;     /* number of the line that is coming in */
	size_t max;        /* bytes of out */
	uint64_t shown;    /* lines put out */
	bool full;         /* the byte limit was reached */
	uint64_t bad;      /* ill-formed places and NULs in what is shown */
	struct buf out;    /* with numbers */
	struct buf plain;  /* without */
	char cur[LINE_KEEP];
	size_t cur_len;    /* bytes kept of the line */
	uint64_t line_len; /* bytes it has */
};

/* Appends one line's characters as valid UTF-8, LINE_CHARS at most. */
static void add_line_text(struct window *w, struct buf *out, const char *p, size_t n)
{
	size_t chars = 0;

	while (n > 0 && chars < LINE_CHARS) {
		size_t len = *p == '\0' ? 0 : utf8_char_len(p, n);
		if (len > 0) {
			buf_add(out, p, len);
		} else {
			len = *p == '\0' ? 1 : utf8_bad_len(p, n);
			buf_adds(out, "\xEF\xBF\xBD");
			w->bad++;
		}
		p += len;
		n -= len;
		chars++;
	}
	if (n > 0 || w->line_len > w->cur_len)
		buf_adds(out, "... [line cut]");
}

static void end_line(struct window *w, bool newline)
{
	bool wanted = w->line >= w->first && w->line - w->first < w->count && !w->full;

	if (wanted) {
		size_t n = w->cur_len, before = w->plain.len;
		const char *p = w->cur;
		if (n > 0 && newline && w->line_len == n && p[n - 1] == '\r')
			n--;
		if (w->line == 1 && file_bom(p, n) > 0) {
			p += 3;
			n -= 3;
		}
		add_line_text(w, &w->plain, p, n);
		if (w->out.len + (w->plain.len - before) + 8 > w->max) {
			buf_cut(&w->plain, before);
			w->full = true;
		} else {
			buf_addf(&w->out, "%6llu\t", (unsigned long long)w->line);
			buf_add(&w->out, buf_str(&w->plain) + before, w->plain.len - before);
			buf_addc(&w->out, '\n');
			buf_addc(&w->plain, '\n');
			w->shown++;
		}
	}
	w->line++;
	w->cur_len = 0;
	w->line_len = 0;
}

static void take_chunk(struct window *w, const char *p, size_t n)
{
	while (n > 0) {
		const char *nl = memchr(p, '\n', n);
		size_t part = nl ? (size_t)(nl - p) : n;
		size_t room = sizeof w->cur - w->cur_len;
		size_t keep = part < room ? part : room;
		memcpy(w->cur + w->cur_len, p, keep);
		w->cur_len += keep;
		w->line_len += part;
		if (nl) {
			end_line(w, true);
			part++;
		}
		p += part;
		n -= part;
	}
}

static void open_window(struct window *w, size_t max)
{
	w->line = 1;
	w->max = max;
	buf_init(&w->out, max + 8192);
	buf_init(&w->plain, max + 16384);
}

static void close_window(struct window *w)
{
	buf_release(&w->out);
	buf_release(&w->plain);
}

/* Reads it through the window and the hash: all of it, or its first bytes. */
static int scan(int fd, uint64_t max, struct window *w, struct read_record *r, struct error *e)
{
	char chunk[1 << 16];
	struct digest d;
	ssize_t n;

	digest_init(&d);
	while (r->size < max && (n = read(fd, chunk, sizeof chunk)) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return error_sys(e, "cannot read");
		digest_add(&d, chunk, (size_t)n);
		r->size += (uint64_t)n;
		take_chunk(w, chunk, (size_t)n);
	}
	if (w->line_len > 0)
		end_line(w, false);
	digest_bytes(&d, r->sha);
	return 0;
}

static const char *image_type(const char *p, size_t n)
{
	const char *type = media_type(p, n);

	return type && !strncmp(type, "image/", 6) ? type : NULL;
}

static int show_image(struct file_job *j, int fd, const char *type, struct file_report *r)
{
	struct buf bytes = BUF_INIT(MEDIA_IMAGE_MOST), json = BUF_INIT(2 * MEDIA_IMAGE_MOST), info = BUF_INIT(4096),
	           text = BUF_INIT(4096);
	struct error e = ERROR_INIT;
	int rc;

	if (io_read_fd(fd, &bytes, &e) < 0) {
		rc = bytes.failed == ERR_LIMIT || e.code == ERR_LIMIT
		             ? file_fail("The image is too large: %s. At most %zu bytes can be shown; make it smaller "
		                         "first.",
		                         j->path, MEDIA_IMAGE_MOST)
		             : file_fail("%s", e.msg);
	} else {
		file_sha(buf_str(&bytes), bytes.len, r->state.sha);
		r->state.size = bytes.len;
		r->state.whole = true;
		buf_addf(&json,
		         "[{\"type\":\"image\",\"source\":{\"type\":\"base64\",\"media_type\":\"%s\",\"data\":\"",
		         type);
		base64_add(&json, buf_str(&bytes), bytes.len);
		buf_adds(&json, "\"}}]");
		buf_addf(&info, "{\"type\":\"image\",\"file\":{\"type\":\"%s\",\"originalSize\":%zu}}", type,
		         bytes.len);
		buf_addf(&text, "Image (%s, %zu bytes)", type, bytes.len);
		r->content_json = buf_str(&json);
		r->structured = &info;
		rc = json.failed ? file_fail("out of memory") : file_succeed(j, &text, r);
		r->content_json = NULL;
		r->structured = NULL;
	}
	buf_release(&bytes);
	buf_release(&json);
	buf_release(&info);
	buf_release(&text);
	return rc;
}

static void structured(const struct file_job *j, const struct window *w, uint64_t total, bool partial, struct buf *b)
{
	struct json_out o;

	json_out_init(&o, b);
	jo_object(&o);
	jo_kstr(&o, "type", "text");
	jo_key(&o, "file");
	jo_object(&o);
	jo_kstr(&o, "filePath", j->path);
	jo_key(&o, "content");
	jo_strn(&o, buf_str(&w->plain), w->plain.len);
	jo_kint(&o, "numLines", (int64_t)w->shown);
	jo_kint(&o, "startLine", (int64_t)w->first);
	jo_kint(&o, "totalLines", (int64_t)total);
	if (partial && w->full)
		jo_kbool(&o, "truncatedByTokenCap", true);
	jo_end(&o);
	jo_end(&o);
}

/* The lines stand in the conversation, as they are. */
static int show_unchanged(struct file_job *j, struct file_report *r)
{
	struct buf text = BUF_INIT(8192), info = BUF_INIT(16384);
	struct json_out o;

	buf_addf(&text, "(The file has not changed since it was read; the earlier result of Read still holds: %s)",
	         j->path);
	json_out_init(&o, &info);
	jo_object(&o);
	jo_kstr(&o, "type", "file_unchanged");
	jo_key(&o, "file");
	jo_object(&o);
	jo_kstr(&o, "filePath", j->path);
	jo_end(&o);
	jo_end(&o);
	r->unchanged = true;
	r->structured = &info;
	int rc = file_succeed(j, &text, r);
	r->structured = NULL;
	buf_release(&text);
	buf_release(&info);
	return rc;
}

static int show_text(struct file_job *j, struct window *w, struct file_report *r)
{
	uint64_t total = w->line - 1, last = w->first + w->shown - 1;
	bool partial = w->shown > 0 && last < total && !w->count_given;
	struct buf info = BUF_INIT((size_t)8 << 20);

	if (w->full && w->count_given)
		return file_fail(
		        "The lines asked for are more than %zu bytes; from line %llu on, %llu lines fit. Use a smaller "
		        "limit, or Grep to find the place.",
		        WINDOW_BYTES, (unsigned long long)w->first, (unsigned long long)w->shown);
	if (r->state.size == 0)
		buf_addf(&w->out, "(The file exists but is empty: %s)", j->path);
	else if (w->shown == 0)
		buf_addf(&w->out, "(Offset %llu is past the end: the file has %llu lines: %s)",
		         (unsigned long long)w->first, (unsigned long long)total, j->path);
	else if (partial)
		buf_addf(&w->out,
		         "\n[PARTIAL view: lines %llu-%llu of %llu. Use offset %llu to go on, or Grep to search.]\n",
		         (unsigned long long)w->first, (unsigned long long)last, (unsigned long long)total,
		         (unsigned long long)last + 1);
	if (w->bad > 0)
		buf_addf(&w->out,
		         "\n[The file is not valid UTF-8: %llu byte sequences above are shown as U+FFFD. Edit changes "
		         "only what it replaces.]\n",
		         (unsigned long long)w->bad);
	r->first_line = w->first;
	r->state.seen_to = w->shown > 0 ? last : 0;
	r->state.lines = total;
	r->state.whole = r->state.size == 0;
	if (w->shown_before && memcmp(r->state.sha, j->sha, DIGEST_BYTES) == 0)
		return show_unchanged(j, r);
	structured(j, w, total, partial, &info);
	r->structured = &info;
	int rc = file_succeed(j, &w->out, r);
	r->structured = NULL;
	buf_release(&info);
	return rc;
}

static int read_opened(struct file_job *j, int fd)
{
	struct window w = { 0 };
	struct file_report r = { 0 };
	struct error e = ERROR_INIT;
	struct stat st;
	char key[4096], magic[16];

	w.first = (uint64_t)unpack_int(&j->in);
	w.count = (uint64_t)unpack_int(&j->in);
	w.count_given = unpack_int(&j->in) != 0;
	w.shown_before = unpack_int(&j->in) != 0;
	if (fstat(fd, &st) < 0 || S_ISDIR(st.st_mode))
		return file_fail("EISDIR: %s is a directory, not a file. Use Glob to list it.", j->path);
	if ((uint64_t)st.st_size > READ_MAX_BYTES)
		return file_fail("The file is too large to read (%llu bytes): %s. Use Grep.",
		                 (unsigned long long)st.st_size, j->path);
	if (path_of_fd(fd, key) == 0)
		r.state.key = key;
	r.state.mtime_ns = file_mtime_ns(&st);
	ssize_t n = pread(fd, magic, sizeof magic, 0);
	const char *type = n > 0 ? image_type(magic, (size_t)n) : NULL;
	if (type)
		return show_image(j, fd, type, &r);
	open_window(&w, WINDOW_BYTES);
	int rc = scan(fd, UINT64_MAX, &w, &r.state, &e) < 0 ? file_fail("%s '%s'", e.msg, j->path)
	                                                    : show_text(j, &w, &r);
	close_window(&w);
	return rc;
}

int read_first_lines(int fd, size_t max, struct buf *out, struct read_record *r, struct error *e)
{
	struct window w = { .first = 1, .count = UINT64_MAX };
	struct stat st;
	char magic[16];
	ssize_t n = pread(fd, magic, sizeof magic, 0);

	if (n <= 0 || image_type(magic, (size_t)n) || fstat(fd, &st) < 0)
		return 0;
	open_window(&w, max);
	int rc = scan(fd, FIRST_BYTES, &w, r, e);
	bool all = r->size == (uint64_t)st.st_size && w.shown == w.line - 1;
	if (rc == 0)
		rc = w.shown > 0 && w.bad == 0;
	if (rc > 0) {
		buf_add(out, buf_str(&w.out), w.out.len);
		r->mtime_ns = file_mtime_ns(&st);
		r->lines = w.line - 1;
		r->seen_to = w.shown;
		r->whole = all;
	}
	if (w.out.failed)
		rc = error_nomem(e);
	close_window(&w);
	return rc;
}

int read_child(const char *in, size_t in_len, int result_fd)
{
	struct file_job j;
	struct error e = ERROR_INIT;
	enum path_verdict why;
	int rc = file_job_begin(&j, in, in_len, result_fd);

	if (rc != 0)
		return rc;
	int fd = path_open(j.roots, j.path, O_RDONLY, 0, &why, &e);
	bool judged = fd < 0 || file_is_judged(&j, fd, NULL);
	if (!judged)
		rc = file_fail_judged(&j);
	else
		rc = fd < 0 ? file_fail_path(&j, why, &e) : read_opened(&j, fd);
	if (fd >= 0)
		close(fd);
	file_job_end(&j);
	return rc;
}

static int plan(struct call *c, struct tool_result *now, struct error *e)
{
	const struct input_value *v = c->in.v;

	(void)now;
	if (file_plan(c, "read", v[P_PATH].s, false, e) < 0)
		return -1;
	c->view.path = v[P_PATH].s;
	c->view.first = v[P_OFFSET].set && v[P_OFFSET].i > 0 ? (uint64_t)v[P_OFFSET].i : 1;
	c->view.limit = v[P_LIMIT].set ? (uint64_t)v[P_LIMIT].i : DEFAULT_LINES;
	c->view.limit_given = v[P_LIMIT].set;
	pack_int(&c->frame, (int64_t)c->view.first);
	pack_int(&c->frame, (int64_t)c->view.limit);
	pack_int(&c->frame, c->view.limit_given);
	pack_int(&c->frame, read_state_shown(file_known(c->t, v[P_PATH].s), c->view));
	return file_plan_end(c, e);
}

const struct tool_row tool_read = {
	.name = "Read",
	.description =
	        "Reads a file, with line numbers (number, tab, text). Shows 2000 lines by default; use offset and "
	        "limit for the rest of a long file. Long lines are cut at 2000 characters. Shows PNG, JPEG, GIF and "
	        "WebP images. For directories use Glob.",
	.params = params,
	.subject = SUBJECT_READ,
	.subject_at = P_PATH,
	.read_only = true,
	.plan = plan,
	.finish = file_finish,
};
