/* The two ends of Read, Write and Edit: frames, judgement of the path, and the common result. */
#include "tool/file.h"

#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"

#define FILE_TIMEOUT_MS 60000
#define OUTPUT_MAX      ((size_t)1 << 20)
#define REPORT_MAX      ((size_t)16 << 20)

void pack_bytes(struct buf *b, const void *p, size_t n)
{
	uint64_t len = n;

	buf_add(b, &len, sizeof len);
	buf_add(b, n ? p : "", n);
	buf_addc(b, '\0');
}

void pack_int(struct buf *b, int64_t v)
{
	buf_add(b, &v, sizeof v);
}

const char *unpack_bytes(struct unpack *u, size_t *n)
{
	uint64_t len = 0;
	size_t none;

	n = n ? n : &none;
	*n = 0;
	if (u->n >= sizeof len)
		memcpy(&len, u->p, sizeof len);
	if (u->bad || u->n < sizeof len || u->n - sizeof len <= len) {
		u->bad = true;
		return "";
	}
	const char *p = u->p + sizeof len;
	*n = (size_t)len;
	u->p += sizeof len + *n + 1;
	u->n -= sizeof len + *n + 1;
	return p;
}

int64_t unpack_int(struct unpack *u)
{
	int64_t v = 0;

	if (u->bad || u->n < sizeof v) {
		u->bad = true;
		return 0;
	}
	memcpy(&v, u->p, sizeof v);
	u->p += sizeof v;
	u->n -= sizeof v;
	return v;
}

/* ---- loop side ---- */

const struct read_record *file_known(struct toolbox *t, const char *path)
{
	struct error e;
	enum path_verdict why;
	struct stat st;
	char key[4096];
	int fd = path_open(t->roots, path, O_PATH, 0, &why, &e);

	if (fd < 0)
		return NULL;
	if (path_of_fd(fd, key) < 0) {
		key[0] = '\0';
		if (fstat(fd, &st) == 0)
			snprintf(key, sizeof key, "%llu:%llu", (unsigned long long)st.st_dev,
			         (unsigned long long)st.st_ino);
	}
	close(fd);
	return read_state_find(&t->state, key);
}

int file_plan(struct call *c, const char *name, const char *path, bool writing, struct error *e)
{
	static const unsigned char none[DIGEST_BYTES];
	struct toolbox *t = c->t;
	const struct read_record *r = file_known(t, path);
	int64_t ndirs = 0, nspelled = 0;

	for (const char *const *d = t->cfg.add_dirs; d && *d; d++)
		ndirs++;
	for (const char *const *d = t->cfg.spelled; d && *d; d++)
		nspelled++;
	pack_bytes(&c->frame, t->cfg.workspace, strlen(t->cfg.workspace));
	pack_int(&c->frame, ndirs);
	for (const char *const *d = t->cfg.add_dirs; d && *d; d++)
		pack_bytes(&c->frame, *d, strlen(*d));
	pack_int(&c->frame, nspelled);
	for (const char *const *d = t->cfg.spelled; d && *d; d++)
		pack_bytes(&c->frame, *d, strlen(*d));
	pack_bytes(&c->frame, t->run_dir ? t->run_dir : "", t->run_dir ? strlen(t->run_dir) : 0);
	pack_int(&c->frame, writing && permissions_mode(t->cfg.permissions) != MODE_BYPASS);
	pack_int(&c->frame, c->outside);
	pack_bytes(&c->frame, c->allowed ? c->allowed : "", c->allowed ? strlen(c->allowed) : 0);
	pack_bytes(&c->frame, path, strlen(path));
	pack_int(&c->frame, r && (r->whole || r->seen_to > 0));
	pack_int(&c->frame, r && r->whole);
	pack_bytes(&c->frame, r ? r->sha : none, DIGEST_BYTES);
	c->spec.call = name;
	c->spec.keep_head = OUTPUT_MAX;
	c->spec.max_result = REPORT_MAX;
	c->spec.timeout_ms = FILE_TIMEOUT_MS;
	return buf_check(&c->frame, "the tool's input", e);
}

int file_plan_end(struct call *c, struct error *e)
{
	c->spec.input = c->frame.data;
	c->spec.input_len = c->frame.len;
	return buf_check(&c->frame, "the tool's input", e) < 0 ? -1 : 1;
}

static void take_report(struct call *c, const struct child_result *res, struct tool_result *out)
{
	struct unpack u = { buf_str(&res->result), res->result.len, false };
	struct read_record r = { 0 };
	size_t n_key, n_sha, n_content, n_structured;
	const char *key = unpack_bytes(&u, &n_key);
	const char *sha = unpack_bytes(&u, &n_sha);

	r.touched = c->number;
	r.size = (uint64_t)unpack_int(&u);
	r.mtime_ns = unpack_int(&u);
	uint64_t first_line = (uint64_t)unpack_int(&u);
	r.seen_to = (uint64_t)unpack_int(&u);
	r.lines = (uint64_t)unpack_int(&u);
	r.whole = unpack_int(&u) != 0;
	const char *content = unpack_bytes(&u, &n_content);
	const char *structured = unpack_bytes(&u, &n_structured);
	bool unchanged = unpack_int(&u) != 0;
	if (u.bad)
		return; /* cut or missing: only the text counts, and the file stays unread */
	if (n_key > 0)
		touched_note(c, key, false);
	if (n_key > 0 && n_sha == DIGEST_BYTES && (r.key = strdup(key))) {
		memcpy(r.sha, sha, DIGEST_BYTES);
		read_state_note(&c->t->state, &r, first_line, unchanged ? NULL : c->id);
		if (!unchanged)
			read_state_show(&c->t->state, r.key, c->view, first_line > 0 ? c->id : NULL);
		free(r.key);
	}
	if (n_content > 0)
		out->content_json = strndup(content, n_content);
	if (n_structured > 0) {
		struct buf b = BUF_INIT(REPORT_MAX);
		buf_add(&b, structured, n_structured);
		result_structured(c->t, out, &b);
	}
}

void file_finish(struct call *c, struct child_result *res, struct tool_result *out)
{
	if (result_child_failed(c, res, out))
		return;
	bool ok = res->status == FILE_OK;
	result_within(c, out, buf_str(&res->out.head), res->out.head.len, ok ? c->row->max_result_chars : 50000, !ok);
	if (res->status == FILE_DENIED) {
		out->denied = true;
		out->denied_reason = "path";
	}
	if (ok)
		take_report(c, res, out);
}

/* ---- child side ---- */

int file_fail(const char *fmt, ...)
{
	struct buf b = BUF_INIT(OUTPUT_MAX);
	char *text = NULL;
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(&text, fmt, ap) < 0)
		text = NULL;
	va_end(ap);
	buf_adds(&b, "<tool_use_error>");
	buf_adds(&b, text ? text : "out of memory");
	buf_adds(&b, "</tool_use_error>");
	free(text);
	io_write_all(1, buf_str(&b), b.len);
	buf_release(&b);
	return FILE_ERROR;
}

int file_fail_path(const struct file_job *j, enum path_verdict why, const struct error *e)
{
	struct buf b = BUF_INIT(16 * 1024);
	bool denied = path_complaint(&b, why, j->path, j->workspace, e);

	file_fail("%s", buf_str(&b));
	buf_release(&b);
	return denied ? FILE_DENIED : FILE_ERROR;
}

int file_job_begin(struct file_job *j, const char *in, size_t in_len, int result_fd)
{
	struct error e = ERROR_INIT;
	const char *dirs[2] = { NULL, NULL };

	/* A file over the size limit is then an error of write(2), not the end of the child. */
	signal(SIGXFSZ, SIG_IGN);
	memset(j, 0, sizeof *j);
	j->result_fd = result_fd;
	j->in = (struct unpack){ in, in_len, false };
	j->workspace = dirs[0] = unpack_bytes(&j->in, NULL);
	j->roots = roots_open(dirs, &e);
	bool ok = j->roots != NULL;
	for (int64_t n = unpack_int(&j->in); n > 0 && ok; n--)
		ok = roots_add(j->roots, unpack_bytes(&j->in, NULL), true, &e) == 0;
	int64_t nspelled = unpack_int(&j->in);
	for (int64_t i = 0; i < nspelled && ok; i++)
		ok = roots_spell(j->roots, (size_t)i, unpack_bytes(&j->in, NULL), &e) == 0;
	const char *run_dir = unpack_bytes(&j->in, NULL);
	if (ok && *run_dir)
		ok = roots_add(j->roots, run_dir, false, &e) == 0;
	if (unpack_int(&j->in) && ok)
		roots_protect(j->roots);
	if (unpack_int(&j->in) && ok) /* what is opened is compared with what was judged */
		ok = roots_add(j->roots, "/", false, &e) == 0;
	j->allowed = unpack_bytes(&j->in, NULL);
	j->path = unpack_bytes(&j->in, NULL);
	j->known = unpack_int(&j->in) != 0;
	j->whole = unpack_int(&j->in) != 0;
	j->sha = (const unsigned char *)unpack_bytes(&j->in, NULL);
	if (ok && !j->in.bad)
		return 0;
	file_job_end(j);
	return file_fail("%s", e.msg[0] ? e.msg : "the call's frame is damaged");
}

bool file_is_judged(const struct file_job *j, int fd, const char *name)
{
	char path[4096 + 258];

	if (j->allowed[0] == '\0')
		return true;
	if (path_of_fd(fd, path) < 0)
		return false;
	if (name) {
		size_t n = strlen(path);
		snprintf(path + n, sizeof path - n, "%s%s", strcmp(path, "/") ? "/" : "", name);
	}
	return strcmp(path, j->allowed) == 0;
}

int file_fail_judged(const struct file_job *j)
{
	file_fail("File is in a directory that is denied by your permission settings: '%s' was changed while it was "
	          "judged",
	          j->path);
	return FILE_DENIED;
}

void file_job_end(struct file_job *j)
{
	roots_free(j->roots);
	j->roots = NULL;
}

int file_succeed(const struct file_job *j, const struct buf *text, const struct file_report *r)
{
	struct buf b = BUF_INIT(REPORT_MAX);
	const char *key = r->state.key ? r->state.key : "";
	const char *content = r->content_json ? r->content_json : "";

	if (text->failed)
		return file_fail("out of memory");
	pack_bytes(&b, key, strlen(key));
	pack_bytes(&b, r->state.sha, DIGEST_BYTES);
	pack_int(&b, (int64_t)r->state.size);
	pack_int(&b, r->state.mtime_ns);
	pack_int(&b, (int64_t)r->first_line);
	pack_int(&b, (int64_t)r->state.seen_to);
	pack_int(&b, (int64_t)r->state.lines);
	pack_int(&b, r->state.whole);
	pack_bytes(&b, content, strlen(content));
	bool structured = r->structured && !r->structured->failed;
	pack_bytes(&b, structured ? buf_str(r->structured) : "", structured ? r->structured->len : 0);
	pack_int(&b, r->unchanged);
	int rc = io_write_all(1, buf_str(text), text->len);
	if (rc == 0 && !b.failed)
		rc = io_write_all(j->result_fd, b.data, b.len);
	buf_release(&b);
	return rc == 0 ? FILE_OK : FILE_ERROR;
}

void file_sha(const char *p, size_t n, unsigned char sha[DIGEST_BYTES])
{
	struct digest d;

	digest_init(&d);
	digest_add(&d, p, n);
	digest_bytes(&d, sha);
}

void file_key(int dir, const char *name, char out[4096])
{
	struct stat st;
	int fd = openat(dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);

	out[0] = '\0';
	if (fd < 0)
		return;
	if (path_of_fd(fd, out) < 0 && fstat(fd, &st) == 0)
		snprintf(out, 4096, "%llu:%llu", (unsigned long long)st.st_dev, (unsigned long long)st.st_ino);
	close(fd);
}

int64_t file_mtime_ns(const struct stat *st)
{
	return (int64_t)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec;
}

size_t file_bom(const char *p, size_t n)
{
	return n >= 3 && memcmp(p, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0;
}

void file_add_lines(struct buf *out, const char *p, size_t n, size_t from, size_t to)
{
	size_t line = 1, at = file_bom(p, n);

	while (at < n && line <= to) {
		const char *nl = memchr(p + at, '\n', n - at);
		size_t end = nl ? (size_t)(nl - p) : n;
		size_t len = end - at;
		if (len > 0 && nl && p[end - 1] == '\r')
			len--;
		if (line >= from) {
			buf_addf(out, "%6zu\t", line);
			buf_add(out, p + at, len > 500 ? 500 : len);
			buf_adds(out, len > 500 ? "...\n" : "\n");
		}
		at = end + 1;
		line++;
	}
}
