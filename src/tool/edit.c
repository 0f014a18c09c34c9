/* Edit: replaces text in a file by its bytes; whatever is outside the match stays as it was, in any encoding. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/utf8.h"
#include "tool/file.h"
#include "tool/match.h"

#define CONTEXT_LINES 4
#define SNIPPET_LINES 40
#define QUOTE_BYTES   1000
#define SMALL_FILE    ((size_t)32 * 1024)

enum { P_PATH, P_OLD, P_NEW, P_ALL };

static const struct tool_param params[] = {
	[P_PATH] = { "file_path", PARAM_NAME, true, 0, NULL, "Absolute path" },
	[P_OLD] = { "old_string", PARAM_TEXT, true, 0, NULL, "Exact text to replace, without line numbers" },
	[P_NEW] = { "new_string", PARAM_TEXT, true, 0, NULL, "Text to put there" },
	[P_ALL] = { "replace_all", PARAM_BOOL, false, 0, NULL, "Replace every occurrence (default false)" },
	{ 0 },
};

struct edit {
	struct file_job *j;
	const char *old, *new_text;
	size_t old_n, new_n;
	bool all;
	struct buf before, after;
	struct matches m;
	unsigned char sha[DIGEST_BYTES]; /* of `before` */
};

static bool is_utf16(const struct buf *b)
{
	const char *p = buf_str(b);

	return b->len >= 2 && (memcmp(p, "\xFF\xFE", 2) == 0 || memcmp(p, "\xFE\xFF", 2) == 0);
}

/* The text as the error quotes it: not all of a long one. */
static int quoted(const struct edit *x)
{
	return (int)utf8_floor(x->old, x->old_n, x->old_n < QUOTE_BYTES ? x->old_n : QUOTE_BYTES);
}

/* The model knew the file, but with another content. */
static bool was_changed(const struct edit *x)
{
	return x->j->known && memcmp(x->sha, x->j->sha, DIGEST_BYTES) != 0;
}

static const char *changed_hint(const struct edit *x)
{
	return was_changed(x) ? "\nThe file has been modified since it was read. Read it again." : "";
}

static int not_found(const struct edit *x)
{
	char hint[160] = "";
	size_t line = match_ignoring_space(buf_str(&x->before), x->before.len, x->old, x->old_n);

	if (line > 0)
		snprintf(hint, sizeof hint,
		         "\nLine %zu holds a text that differs only in white space (tabs, spaces, line ends); copy it "
		         "exactly.",
		         line);
	return file_fail("String to replace not found in file.%s%s\nString: %.*s", changed_hint(x), hint, quoted(x),
	                 x->old);
}

/* 0 when the edit is unambiguous, else the child's exit status. */
static int find(struct edit *x)
{
	if (is_utf16(&x->before))
		return file_fail(
		        "The file is UTF-16; Edit works on UTF-8 and other encodings that contain ASCII. The file is "
		        "unchanged.");
	if (match_find(&x->m, buf_str(&x->before), x->before.len, x->old, x->old_n) < 0)
		return file_fail("out of memory (the file is unchanged)");
	if (x->m.n == 0)
		return not_found(x);
	if (x->m.n > 1 && !x->all)
		return file_fail(
		        "Found %zu matches of the string to replace, but replace_all is false. To replace all of them "
		        "set replace_all to true; to replace one, give more of the text around it.%s\nString: %.*s",
		        x->m.n, changed_hint(x), quoted(x), x->old);
	if (x->m.n > 1 && (!x->j->known || was_changed(x)))
		return file_fail(
		        "%s (Found %zu matches; an edit of a single one needs no Read.)",
		        x->j->known ? "File has been unexpectedly modified. Read it again before attempting to write "
		                      "it."
		                    : "File has not been read yet. Read it first before writing to it.",
		        x->m.n);
	return 0;
}

static size_t line_of(const char *p, size_t at)
{
	size_t line = 1;

	for (const char *nl = p; (nl = memchr(nl, '\n', (size_t)(p + at - nl))); nl++)
		line++;
	return line;
}

/* First and last line (1-based) that the edits touch, before and after. */
struct span {
	size_t old_from, old_to, new_from, new_to;
};

static struct span touched(const struct edit *x)
{
	const struct match *first = &x->m.v[0], *last = &x->m.v[x->m.n - 1];
	size_t tail = x->before.len - last->end;
	struct span s;

	s.old_from = s.new_from = line_of(buf_str(&x->before), first->start);
	s.old_to = line_of(buf_str(&x->before), last->end > first->start ? last->end - 1 : first->start);
	size_t end = x->after.len - tail;
	s.new_to = line_of(buf_str(&x->after), end > first->start ? end - 1 : first->start);
	return s;
}

static void add_patch_lines(struct json_out *o, char sign, const struct buf *b, size_t from, size_t to)
{
	const char *p = buf_str(b), *end = p + b->len;

	for (size_t line = 1; p < end && line <= to; line++) {
		const char *nl = memchr(p, '\n', (size_t)(end - p));
		const char *stop = nl ? nl : end;
		if (line >= from) {
			struct buf text = BUF_INIT(1 << 20);
			buf_addc(&text, sign);
			buf_add(&text, p, (size_t)(stop - p));
			jo_strn(o, buf_str(&text), text.len);
			buf_release(&text);
		}
		p = stop + 1;
	}
}

static void structured(const struct edit *x, const struct span *s, struct buf *b)
{
	struct json_out o;

	json_out_init(&o, b);
	jo_object(&o);
	jo_kstr(&o, "filePath", x->j->path);
	jo_key(&o, "oldString");
	jo_strn(&o, x->old, x->old_n);
	jo_key(&o, "newString");
	jo_strn(&o, x->new_text, x->new_n);
	jo_key(&o, "originalFile");
	if (x->before.len <= SMALL_FILE)
		jo_strn(&o, buf_str(&x->before), x->before.len);
	else
		jo_null(&o);
	jo_key(&o, "structuredPatch");
	jo_array(&o);
	if (s->old_to - s->old_from < 200 && s->new_to - s->new_from < 200) {
		jo_object(&o);
		jo_kint(&o, "oldStart", (int64_t)s->old_from);
		jo_kint(&o, "oldLines", (int64_t)(s->old_to - s->old_from + 1));
		jo_kint(&o, "newStart", (int64_t)s->new_from);
		jo_kint(&o, "newLines", (int64_t)(s->new_to - s->new_from + 1));
		jo_key(&o, "lines");
		jo_array(&o);
		add_patch_lines(&o, '-', &x->before, s->old_from, s->old_to);
		add_patch_lines(&o, '+', &x->after, s->new_from, s->new_to);
		jo_end(&o);
		jo_end(&o);
	}
	jo_end(&o);
	jo_kbool(&o, "userModified", false);
	jo_kbool(&o, "replaceAll", x->all);
	jo_end(&o);
}

static int report(const struct edit *x, int dir, const char *name, const struct stat *old, const struct stat *now)
{
	struct buf text = BUF_INIT(256 * 1024), info = BUF_INIT((size_t)4 << 20);
	struct file_report r = { 0 };
	struct span s = touched(x);
	char key[4096];

	file_key(dir, name, key);
	r.state.key = key;
	file_sha(buf_str(&x->after), x->after.len, r.state.sha);
	r.state.size = x->after.len;
	r.state.mtime_ns = file_mtime_ns(now);
	r.state.lines = SIZE_MAX >> 1;
	/* Who knew all of the old content knows all of the new, and who knew something still does. */
	r.state.seen_to = x->j->known && !was_changed(x);
	r.state.whole = x->j->known && x->j->whole && !was_changed(x);
	buf_addf(&text, "The file %s has been updated", x->j->path);
	if (x->m.n > 1)
		buf_addf(&text, " (%zu replacements)", x->m.n);
	buf_adds(&text, ".");
	if (old->st_nlink > 1)
		buf_addf(&text, " It had %lu hard links; its other names keep the old content.",
		         (unsigned long)old->st_nlink);
	if (was_changed(x))
		buf_adds(&text, " It had been modified since it was read; that change is kept.");
	buf_adds(&text, " Lines around the edit:\n");
	size_t from = s.new_from > CONTEXT_LINES ? s.new_from - CONTEXT_LINES : 1;
	size_t to = s.new_to - s.new_from > SNIPPET_LINES ? s.new_from + SNIPPET_LINES : s.new_to;
	file_add_lines(&text, buf_str(&x->after), x->after.len, from, to + CONTEXT_LINES);
	structured(x, &s, &info);
	r.structured = &info;
	int rc = file_succeed(x->j, &text, &r);
	buf_release(&text);
	buf_release(&info);
	return rc;
}

static int edit_at(struct edit *x, int dir, const char *name)
{
	struct stat st, now;
	struct error e = ERROR_INIT;
	int rc = file_slurp(dir, name, &x->before, &st, &e);

	if (rc > 0)
		return file_fail("File does not exist: %s (relative paths start at %s). Use Write to create a file.",
		                 x->j->path, x->j->workspace);
	if (rc < 0)
		return file_fail("%s", e.msg);
	file_sha(buf_str(&x->before), x->before.len, x->sha);
	rc = find(x);
	if (rc != 0)
		return rc;
	if (match_replace(&x->m, x->m.n, buf_str(&x->before), x->before.len, x->new_text, x->new_n, &x->after) < 0)
		return file_fail("the file would be too large (it is unchanged)");
	if (file_replace(dir, name, &st, buf_str(&x->after), x->after.len, &now, &e) < 0)
		return file_fail("%s", e.msg);
	return report(x, dir, name, &st, &now);
}

int edit_child(const char *in, size_t in_len, int result_fd)
{
	struct file_job j;
	struct edit x = { .j = &j };
	struct error e = ERROR_INIT;
	enum path_verdict why;
	char name[256];
	int rc = file_job_begin(&j, in, in_len, result_fd);

	if (rc != 0)
		return rc;
	buf_init(&x.before, FILE_MAX_BYTES);
	buf_init(&x.after, 2 * FILE_MAX_BYTES);
	x.old = unpack_bytes(&j.in, &x.old_n);
	x.new_text = unpack_bytes(&j.in, &x.new_n);
	x.all = unpack_int(&j.in) != 0;
	int dir = path_open_parent(j.roots, j.path, false, name, &why, &e);
	bool judged = dir < 0 || file_is_judged(&j, dir, name);
	if (j.in.bad)
		rc = file_fail("the call's frame is damaged");
	else if (!judged)
		rc = file_fail_judged(&j);
	else
		rc = dir < 0 ? file_fail_path(&j, why, &e) : edit_at(&x, dir, name);
	if (dir >= 0)
		close(dir);
	buf_release(&x.before);
	buf_release(&x.after);
	match_release(&x.m);
	file_job_end(&j);
	return rc;
}

static int plan(struct call *c, struct tool_result *now, struct error *e)
{
	const struct input_value *v = c->in.v;

	if (v[P_OLD].n == 0) {
		result_use_error(c->t, now, "old_string is empty. Use Write to create a file or to replace all of it.");
		return 0;
	}
	if (v[P_OLD].n == v[P_NEW].n && memcmp(v[P_OLD].s, v[P_NEW].s, v[P_OLD].n) == 0) {
		result_use_error(c->t, now, "No changes to make: old_string and new_string are exactly the same.");
		return 0;
	}
	if (file_plan(c, "edit", v[P_PATH].s, true, e) < 0)
		return -1;
	pack_bytes(&c->frame, v[P_OLD].s, v[P_OLD].n);
	pack_bytes(&c->frame, v[P_NEW].s, v[P_NEW].n);
	pack_int(&c->frame, v[P_ALL].b);
	return file_plan_end(c, e);
}

const struct tool_row tool_edit = {
	.name = "Edit",
	.description =
	        "Replaces exact text in a file. old_string must occur once (or set replace_all) and match white space "
	        "and indentation exactly; leave out the line numbers that Read shows.",
	.params = params,
	.subject = SUBJECT_EDIT,
	.subject_at = P_PATH,
	.max_result_chars = 50000,
	.plan = plan,
	.finish = file_finish,
};
