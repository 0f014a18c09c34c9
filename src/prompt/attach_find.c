/* Which files are attached: found, opened once to see what they are, and counted. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "message/media.h"
#include "prompt/attach.h"
#include "prompt/pattern.h"

#define HEAD_BYTES 8192

void attachments_init(struct attachments *a, const struct place *place)
{
	*a = (struct attachments){ .place = *place };
}

void attachments_release(struct attachments *a)
{
	for (size_t i = 0; i < a->n; i++) {
		free(a->v[i].name);
		free(a->v[i].path);
	}
	free(a->v);
	*a = (struct attachments){ .place = a->place };
}

static enum attach_kind kind_of(const char *head, size_t n, const char **type)
{
	*type = media_type(head, n);
	if (*type)
		return strcmp(*type, "application/pdf") == 0 ? ATTACH_PDF : ATTACH_IMAGE;
	if (archive_is(head, n))
		return ATTACH_ARCHIVE;
	return n && memchr(head, '\0', n) ? ATTACH_OTHER : ATTACH_TEXT;
}

static int add_size(size_t *sum, size_t n, size_t most, const char *what, const char *name, struct error *e)
{
	if (n <= most - *sum) {
		*sum += n;
		return 0;
	}
	return error_set(e, ERR_INPUT, "attach: with '%s' there are more than %zu bytes of %s; attach less of them",
	                 name, most, what);
}

static int count(struct attachments *a, const struct attachment *x, struct error *e)
{
	if (a->n == ATTACH_FILES_MOST)
		return error_set(e, ERR_INPUT, "attach: more than %d files", ATTACH_FILES_MOST);
	if (x->kind == ATTACH_IMAGE && x->size > MEDIA_IMAGE_MOST)
		return error_set(e, ERR_INPUT,
		                 "attach: the picture '%s' is too large: %zu bytes, at most %zu can be shown", x->name,
		                 x->size, MEDIA_IMAGE_MOST);
	if (x->kind == ATTACH_IMAGE || x->kind == ATTACH_PDF)
		return add_size(&a->media, x->size, ATTACH_MEDIA_MOST, "pictures and documents", x->name, e);
	if (x->kind == ATTACH_TEXT)
		return add_size(&a->text, x->size < ATTACH_TEXT_MOST ? x->size : ATTACH_TEXT_MOST, ATTACH_TEXTS_MOST,
		                "text", x->name, e);
	return 0;
}

static bool is_there(const struct attachments *a, const char *real)
{
	for (size_t i = 0; i < a->n; i++)
		if (strcmp(a->v[i].path, real) == 0)
			return true;
	return false;
}

/* Looks at the open file and appends it. Closes fd. */
static int add(struct attachments *a, int fd, const char *name, const char *real, bool beneath, struct error *e)
{
	struct attachment x = { .beneath = beneath };
	char head[HEAD_BYTES];
	struct stat st;

	if (is_there(a, real)) {
		close(fd);
		return 0;
	}
	x.name = strdup(name);
	x.path = strdup(real);
	int rc = x.name && x.path && !ARRAY_GROW(a->v, a->n, a->cap) ? 0 : error_nomem(e);
	if (rc == 0 && fstat(fd, &st) == 0) {
		x.size = (size_t)st.st_size;
		ssize_t n = S_ISDIR(st.st_mode) ? 0 : pread(fd, head, sizeof head, 0);
		if (n < 0)
			rc = error_sys(e, "attach: cannot read '%s'", name);
		else
			x.kind = S_ISDIR(st.st_mode) ? ATTACH_DIR : kind_of(head, (size_t)n, &x.media_type);
		rc = rc ? rc : count(a, &x, e);
	}
	close(fd);
	if (rc) {
		free(x.name);
		free(x.path);
		return rc;
	}
	a->v[a->n++] = x;
	return 0;
}

static bool is_dir(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISDIR(st.st_mode);
}

/* `name` as it is meant: relative to `from`. */
static int join(struct buf *path, const char *from, const char *name, struct error *e)
{
	if (name[0] != '/')
		buf_addf(path, "%s/", strcmp(from, "/") ? from : "");
	buf_adds(path, name);
	return path->failed ? error_set(e, ERR_INPUT, "'%s' is too long a path", name) : 0;
}

/* ---- patterns ---- */

struct found {
	struct attachments *a;
	const char *from;
	size_t n, passed_over;
};

static int on_found(void *ctx, const char *name, struct error *e)
{
	struct found *f = ctx;
	struct buf path = BUF_INIT(PLACE_PATH);
	struct error why_not = ERROR_INIT;
	enum path_verdict why;
	char real[PLACE_PATH];
	bool beneath = false;
	int fd = -1;

	if (join(&path, f->from, name, &why_not) == 0) {
		beneath = place_names_beneath(&f->a->place, buf_str(&path));
		fd = beneath ? place_open(&f->a->place, buf_str(&path), real, &why, &why_not)
		             : place_open_named(buf_str(&path), real, &why_not);
	}
	buf_release(&path);
	if (fd < 0) {
		f->passed_over++;
		return 0;
	}
	f->n++;
	return add(f->a, fd, name, real, beneath, e);
}

static int find_pattern(struct attachments *a, const char *from, const char *pattern, struct error *e)
{
	struct found f = { .a = a, .from = from };

	if (pattern_find(from, pattern, on_found, &f, e))
		return -1;
	if (f.n)
		return 0;
	return error_set(e, ERR_INPUT,
	                 f.passed_over ? "attach: nothing that '%s' fits can be read" : "attach: no file fits '%s'",
	                 pattern);
}

/* ---- names ---- */

static int open_beneath(struct attachments *a, const char *path, char real[PLACE_PATH], struct error *e)
{
	enum path_verdict why;
	struct place lenient = a->place;

	lenient.permissions = NULL; /* who names a file wants it told */
	int fd = place_open(&lenient, path, real, &why, e);
	if (fd < 0 && why == PATH_OUTSIDE)
		return error_set(e, ERR_INPUT, "'%s' is a link that leads out of the workspace; name what it leads to",
		                 path);
	return fd;
}

static int open_named(struct attachments *a, const char *from, const char *name, char real[PLACE_PATH], struct error *e)
{
	struct buf path = BUF_INIT(PLACE_PATH);
	int fd = join(&path, from, name, e);

	if (fd == 0)
		fd = place_names_beneath(&a->place, buf_str(&path)) ? open_beneath(a, buf_str(&path), real, e)
		                                                    : place_open_named(buf_str(&path), real, e);
	buf_release(&path);
	return fd;
}

int attach_find(struct attachments *a, const char *from, const char *pattern, struct error *e)
{
	struct error why = ERROR_INIT;
	char real[PLACE_PATH];
	int fd = open_named(a, from, pattern, real, &why);

	if (fd < 0 && pattern_is(pattern))
		return find_pattern(a, from, pattern, e);
	if (fd >= 0 && is_dir(fd)) {
		close(fd);
		fd = error_set(&why, ERR_INPUT, "'%s' is a directory; name its files by a pattern ('%s/*')", pattern,
		               pattern);
	}
	if (fd >= 0)
		return add(a, fd, pattern, real, false, e);
	*e = why;
	return error_prefix(e, "attach");
}

int attach_mention(struct attachments *a, const char *path, struct error *e)
{
	struct error unused;
	enum path_verdict why;
	char real[PLACE_PATH];
	int fd = place_open(&a->place, path, real, &why, &unused);

	if (fd < 0)
		return 0;
	return add(a, fd, path, real, true, e) ? -1 : 1;
}
