/* Write: a whole file, byte for byte. A file that exists must have been read, and be as it was then. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tool/file.h"

enum { P_PATH, P_CONTENT };

static const struct tool_param params[] = {
	[P_PATH] = { "file_path", PARAM_NAME, true, 0, NULL, "Absolute path" },
	[P_CONTENT] = { "content", PARAM_TEXT, true, 0, NULL, "The whole new content" },
	{ 0 },
};

/* The rule that protects what the model has not seen. 0, or the child's exit status. */
static int check_fresh(const struct file_job *j, const struct buf *old)
{
	unsigned char sha[DIGEST_BYTES];

	if (!j->known || !j->whole)
		return file_fail("File has not been read yet. Read it first before writing to it.%s",
		                 j->known ? " (Only a part of it was read; Edit can change it all the same.)" : "");
	file_sha(buf_str(old), old->len, sha);
	if (memcmp(sha, j->sha, sizeof sha) != 0)
		return file_fail("File has been unexpectedly modified. Read it again before attempting to write it.");
	return 0;
}

static void structured(const struct file_job *j, bool update, const char *p, size_t n, struct buf *b)
{
	struct json_out o;

	json_out_init(&o, b);
	jo_object(&o);
	jo_kstr(&o, "type", update ? "update" : "create");
	jo_kstr(&o, "filePath", j->path);
	jo_key(&o, "content");
	if (n <= 256 * 1024)
		jo_strn(&o, p, n);
	else
		jo_null(&o); /* the call's input has it */
	jo_key(&o, "structuredPatch");
	jo_array(&o);
	jo_end(&o);
	jo_knull(&o, "originalFile");
	jo_end(&o);
}

static int report(const struct file_job *j, int dir, const char *name, const struct stat *old, const struct stat *now,
                  const struct buf *content)
{
	struct buf text = BUF_INIT(16 * 1024), info = BUF_INIT((size_t)2 << 20);
	struct file_report r = { 0 };
	char key[4096];

	file_key(dir, name, key);
	r.state.key = key;
	file_sha(buf_str(content), content->len, r.state.sha);
	r.state.size = content->len;
	r.state.mtime_ns = file_mtime_ns(now);
	r.state.whole = true;
	buf_addf(&text,
	         old ? "The file %s has been replaced (%zu bytes)." : "The file %s has been created (%zu bytes).",
	         j->path, content->len);
	if (old && old->st_nlink > 1)
		buf_addf(&text, " It had %lu hard links; its other names keep the old content.",
		         (unsigned long)old->st_nlink);
	structured(j, old != NULL, buf_str(content), content->len, &info);
	r.structured = &info;
	int rc = file_succeed(j, &text, &r);
	buf_release(&text);
	buf_release(&info);
	return rc;
}

static int write_at(struct file_job *j, int dir, const char *name)
{
	struct buf old = BUF_INIT(FILE_MAX_BYTES), content = BUF_INIT((size_t)256 << 20);
	struct stat st, now;
	struct error e = ERROR_INIT;
	size_t n;
	const char *p = unpack_bytes(&j->in, &n);
	int missing = file_slurp(dir, name, &old, &st, &e);
	int rc = missing < 0 ? file_fail("%s", e.msg) : missing ? 0 : check_fresh(j, &old);

	if (rc == 0) {
		if (!missing && file_bom(buf_str(&old), old.len) && !file_bom(p, n))
			buf_adds(&content, "\xEF\xBB\xBF");
		buf_add(&content, p, n);
		if (content.failed || j->in.bad)
			rc = file_fail("out of memory (the file is unchanged)");
		else if (file_replace(dir, name, missing ? NULL : &st, buf_str(&content), content.len, &now, &e) < 0)
			rc = file_fail("%s", e.msg);
		else
			rc = report(j, dir, name, missing ? NULL : &st, &now, &content);
	}
	buf_release(&old);
	buf_release(&content);
	return rc;
}

int write_child(const char *in, size_t in_len, int result_fd)
{
	struct file_job j;
	struct error e = ERROR_INIT;
	enum path_verdict why;
	char name[256];
	int rc = file_job_begin(&j, in, in_len, result_fd);

	if (rc != 0)
		return rc;
	int dir = path_open_parent(j.roots, j.path, true, name, &why, &e);
	bool judged = dir < 0 || file_is_judged(&j, dir, name);
	if (!judged)
		rc = file_fail_judged(&j);
	else
		rc = dir < 0 ? file_fail_path(&j, why, &e) : write_at(&j, dir, name);
	if (dir >= 0)
		close(dir);
	file_job_end(&j);
	return rc;
}

static int plan(struct call *c, struct tool_result *now, struct error *e)
{
	const struct input_value *v = c->in.v;

	(void)now;
	if (file_plan(c, "write", v[P_PATH].s, true, e) < 0)
		return -1;
	pack_bytes(&c->frame, v[P_CONTENT].s, v[P_CONTENT].n);
	return file_plan_end(c, e);
}

const struct tool_row tool_write = {
	.name = "Write",
	.description =
	        "Creates a file, with missing directories, or replaces one. A file that exists must have been read "
	        "completely first. Writes the content as given; line ends are not converted. Prefer Edit for changes.",
	.params = params,
	.subject = SUBJECT_EDIT,
	.subject_at = P_PATH,
	.max_result_chars = 50000,
	.plan = plan,
	.finish = file_finish,
};
