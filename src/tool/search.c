#include "tool/search.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/array.h"
#include "tool/file.h"

#define RG_KEEP ((size_t)4 << 20)

int search_begin(struct call *c)
{
	c->spec.separate_stderr = true;
	c->spec.keep_head = RG_KEEP;
	c->spec.timeout_ms = SEARCH_TIMEOUT_MS;
	/* Hidden files are searched; links are not followed (rg's default), so nothing outside is reached. */
	return call_arg(c, "rg") < 0 || call_arg(c, "--no-config") < 0 || call_arg(c, "--no-messages") < 0 ||
	                       call_arg(c, "--color=never") < 0 || call_arg(c, "--hidden") < 0 ||
	                       call_arg(c, "--null") < 0
	               ? -1
	               : 0;
}

int search_literal_glob(struct call *c, const char *prefix, const char *name)
{
	struct buf b = BUF_INIT(16384);

	for (const char *p = name; *p; p++) {
		if (strchr("*?[]{}!\\", *p))
			buf_addc(&b, '\\');
		buf_addc(&b, *p);
	}
	int rc = b.failed ? -1 : call_arg(c, "--glob=%s/%s", prefix, buf_str(&b));
	buf_release(&b);
	return rc;
}

/* The part of an absolute path below dir, NULL if it is not there. */
static const char *below(const char *path, const char *dir)
{
	size_t n = strlen(dir);

	while (n > 0 && dir[n - 1] == '/')
		n--;
	return strncmp(path, dir, n) == 0 && path[n] == '/' ? path + n + 1 : NULL;
}

/* What is found counts against the output that is kept, also what is left out of it afterwards. */
static int leave_out(struct call *c)
{
	struct buf glob = BUF_INIT(8192);
	int rc = 0;

	for (size_t i = 0; rc == 0 && permissions_hide_glob(c->t->cfg.permissions, i, c->base, &glob); i++)
		if (glob.len > 0)
			rc = call_arg(c, "--glob=!%s", buf_str(&glob));
	buf_release(&glob);
	return rc;
}

int search_end(struct call *c)
{
	int rc = call_arg(c, "--glob=!.git") < 0 ? -1 : leave_out(c);

	for (const char *const *f = c->t->cfg.skip_files; rc == 0 && f && *f; f++) {
		const char *rel = below(*f, c->base);
		if (rel)
			rc = search_literal_glob(c, "!", rel);
	}
	if (rc == 0)
		rc = call_arg(c, "--");
	return rc == 0 ? call_arg(c, "./") : rc;
}

/* A line feed in a name would look like two names. */
static void add_name(struct buf *out, const char *p, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (p[i] == '\n')
			buf_adds(out, "\\n");
		else
			buf_addc(out, p[i]);
	}
}

void search_path(const struct call *c, struct buf *out, const char *rel, size_t n, bool relative)
{
	const char *dir = c->base;

	if (n >= 2 && rel[0] == '.' && rel[1] == '/') {
		rel += 2;
		n -= 2;
	}
	if (relative) {
		const char *ws = c->t->cfg.workspace;
		const char *in = below(dir, ws);
		if (in || strcmp(dir, ws) == 0)
			dir = in ? in : "";
	}
	add_name(out, dir, strlen(dir));
	if (*dir && dir[strlen(dir) - 1] != '/')
		buf_addc(out, '/');
	add_name(out, rel, n);
}

bool search_hides(const struct call *c, const char *rel, size_t n)
{
	struct buf b = BUF_INIT(16384);

	if (!permissions_hide_any(c->t->cfg.permissions))
		return false;
	if (n >= 2 && rel[0] == '.' && rel[1] == '/') {
		rel += 2;
		n -= 2;
	}
	buf_addf(&b, "%s%s", c->base, strcmp(c->base, "/") ? "/" : "");
	buf_add(&b, rel, n);
	bool hide = b.failed || permissions_hide(c->t->cfg.permissions, buf_str(&b));
	buf_release(&b);
	return hide;
}

static int newer(const void *a, const void *b)
{
	const struct found *x = a, *y = b;
	size_t n = x->n < y->n ? x->n : y->n;

	if (x->mtime_ns != y->mtime_ns)
		return x->mtime_ns > y->mtime_ns ? -1 : 1;
	int rc = memcmp(x->rel, y->rel, n);
	return rc != 0 ? rc : (x->n > y->n) - (x->n < y->n);
}

int search_newest_first(const struct call *c, const struct output *o, struct found **v, size_t *n)
{
	const char *p = buf_str(&o->head), *end = p + o->head.len, *nul;
	size_t cap = 0;

	*v = NULL;
	*n = 0;
	for (; p < end && (nul = memchr(p, '\0', (size_t)(end - p))); p = nul + 1) {
		struct stat st;
		if (search_hides(c, p, (size_t)(nul - p)))
			continue;
		if (ARRAY_GROW(*v, *n, cap)) {
			free(*v);
			*v = NULL;
			return -1;
		}
		bool there = fstatat(c->cwd_fd, p, &st, AT_SYMLINK_NOFOLLOW) == 0;
		(*v)[(*n)++] = (struct found){ p, (size_t)(nul - p), there ? file_mtime_ns(&st) : 0 };
	}
	if (*n > 0)
		qsort(*v, *n, sizeof **v, newer);
	return 0;
}

bool search_failed(struct call *c, const struct child_result *res, struct tool_result *out)
{
	if (result_child_failed(c, res, out))
		return true;
	if (res->status <= 1 || res->out.total > 0) {
		touched_note(c, c->base, true);
		return false;
	}
	const char *text = buf_str(&res->err.head);
	if (*text)
		result_textf(c->t, out, true, "%s", text);
	else
		result_textf(c->t, out, true, "%s: rg ended with status %d", c->row->name, res->status);
	return true;
}
