/* Attached files as the model is told of them. */
#include "prompt/attach.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/base64.h"
#include "base/utf8.h"

#define DIR_NAMES_MOST 1000
#define NAMES_MOST     ((size_t)256 << 10) /* what is said of them all in the init event */
#define NOTES_MOST     ((size_t)8 << 10)

void told_init(struct told *t, const struct place *place)
{
	t->place = place;
	t->message = NULL;
	buf_init(&t->names, NAMES_MOST);
	buf_init(&t->notes, NOTES_MOST);
}

void told_release(struct told *t)
{
	message_unref(t->message);
	buf_release(&t->names);
	buf_release(&t->notes);
	t->message = NULL;
}

static int told_block(struct told *t, struct block *b)
{
	if (b && !t->message)
		t->message = message_new(ROLE_USER);
	if (b && t->message)
		return message_add(t->message, b);
	block_unref(b);
	return -1;
}

int told_text(struct told *t, struct buf *text)
{
	if (t->place->mask)
		t->place->mask(t->place->ctx, text);
	return text->failed ? -1 : told_block(t, block_new_text(buf_str(text), text->len));
}

static void begin_note(struct told *t, const struct attachment *x)
{
	if (t->notes.len)
		buf_adds(&t->notes, "; ");
	utf8_name(&t->notes, x->name, strlen(x->name), PLACE_PATH);
}

static void begin_text(const struct attachment *x, const char *tag, struct buf *out)
{
	buf_addf(out, "<%s path=\"", tag);
	utf8_name(out, x->path, strlen(x->path), PLACE_PATH);
	buf_adds(out, "\">\n");
}

static size_t count_lines(const struct buf *b)
{
	size_t n = 0;

	for (size_t i = 0; i < b->len; i++)
		n += b->data[i] == '\n';
	return n;
}

static int tell_text(struct attachments *a, const struct attachment *x, int fd, struct told *t, struct error *e)
{
	struct buf raw = BUF_INIT(ATTACH_TEXT_MOST + PLACE_BEYOND), text = BUF_INIT(4 * ATTACH_TEXT_MOST);
	struct buf out = BUF_INIT(5 * ATTACH_TEXT_MOST);
	size_t size;
	int rc = place_read(fd, ATTACH_TEXT_MOST + PLACE_BEYOND, &raw, &size, e);
	bool cut = size > ATTACH_TEXT_MOST;

	if (rc == 0)
		rc = place_text(&a->place, &raw, size, ATTACH_TEXT_MOST, &text) ? error_nomem(e) : 0;
	if (rc == 0) {
		begin_text(x, "file", &out);
		buf_add(&out, buf_str(&text), text.len);
		if (cut) {
			buf_addf(&out, "[cut: the first %zu of %zu bytes; Read goes on with offset %zu]\n", text.len,
			         size, count_lines(&text) + 1);
			begin_note(t, x);
			buf_addf(&t->notes, ": only its first %zu of %zu bytes are told", text.len, size);
		} else if (!text.len) {
			buf_adds(&out, "(it is empty)\n");
		}
		buf_adds(&out, "</file>");
		rc = told_text(t, &out) ? error_nomem(e) : 0;
	}
	buf_release(&raw);
	buf_release(&text);
	buf_release(&out);
	return rc;
}

/* A line that names it, then the thing itself. */
static int tell_media(const struct attachment *x, int fd, struct told *t, struct error *e)
{
	struct buf bytes = BUF_INIT(ATTACH_MEDIA_MOST), json = BUF_INIT(2 * ATTACH_MEDIA_MOST);
	struct buf line = BUF_INIT(4 * PLACE_PATH);
	size_t size;
	int rc = place_read(fd, ATTACH_MEDIA_MOST, &bytes, &size, e);

	if (rc == 0) {
		buf_adds(&line, "The attached file ");
		utf8_name(&line, x->path, strlen(x->path), PLACE_PATH);
		buf_addf(&line, " (%s):", x->media_type);
		buf_addf(&json, "{\"type\":\"%s\",\"source\":{\"type\":\"base64\",\"media_type\":\"%s\",\"data\":\"",
		         x->kind == ATTACH_PDF ? "document" : "image", x->media_type);
		base64_add(&json, buf_str(&bytes), bytes.len);
		buf_adds(&json, "\"}}");
		rc = told_text(t, &line) || json.failed ? error_nomem(e) : 0;
	}
	buf_release(&bytes);
	if (rc == 0) {
		struct block *b = block_from_json(buf_str(&json), json.len, e);
		rc = !b ? -1 : told_block(t, b) ? error_nomem(e) : 0;
	}
	buf_release(&json);
	buf_release(&line);
	return rc;
}

static int tell_archive(const struct attachment *x, const struct archive_wait *wait, struct told *t, struct error *e)
{
	struct buf list = BUF_INIT((size_t)1 << 20), out = BUF_INIT((size_t)1 << 20);
	int rc = archive_list(wait, x->path, &list, e);

	if (rc == 0) {
		begin_text(x, "archive", &out);
		buf_add(&out, buf_str(&list), list.len);
		buf_adds(&out, "</archive>");
		rc = told_text(t, &out) ? error_nomem(e) : 0;
	}
	buf_release(&list);
	buf_release(&out);
	return rc;
}

static int by_bytes(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Takes fd. */
static int tell_dir(const struct attachment *x, int fd, struct told *t, struct error *e)
{
	char *names[DIR_NAMES_MOST];
	struct buf out = BUF_INIT((size_t)2 << 20);
	DIR *d = fdopendir(fd);
	size_t n = 0, more = 0;

	for (const struct dirent *entry; d && (entry = readdir(d));) {
		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
			continue;
		if (n == DIR_NAMES_MOST) {
			more++;
			continue;
		}
		bool dir = entry->d_type == DT_DIR;
		size_t len = strlen(entry->d_name);
		if (!(names[n] = malloc(len + 2)))
			break;
		memcpy(names[n], entry->d_name, len);
		memcpy(names[n++] + len, dir ? "/" : "", dir ? 2 : 1);
	}
	if (d)
		closedir(d);
	else
		close(fd);
	qsort(names, n, sizeof *names, by_bytes);
	begin_text(x, "directory", &out);
	for (size_t i = 0; i < n; i++) {
		utf8_name(&out, names[i], strlen(names[i]), PLACE_PATH);
		buf_addc(&out, '\n');
		free(names[i]);
	}
	if (more)
		buf_addf(&out, "[and %zu more]\n", more);
	else if (!n)
		buf_adds(&out, "(it is empty)\n");
	buf_adds(&out, "</directory>");
	int rc = told_text(t, &out) ? error_nomem(e) : 0;
	buf_release(&out);
	return rc;
}

/* Bytes that no model can read: better said than refused, since tools may make something of it. */
static int tell_other(const struct attachment *x, struct told *t, struct error *e)
{
	struct buf out = BUF_INIT(4 * PLACE_PATH);

	buf_adds(&out, "The attached file ");
	utf8_name(&out, x->path, strlen(x->path), PLACE_PATH);
	buf_addf(&out, " is binary (%zu bytes) and not shown.", x->size);
	begin_note(t, x);
	buf_adds(&t->notes, " is binary: its name is told, not what is in it");
	int rc = told_text(t, &out) ? error_nomem(e) : 0;
	buf_release(&out);
	return rc;
}

static int tell(struct attachments *a, const struct attachment *x, const struct archive_wait *wait, struct told *t,
                struct error *e)
{
	char real[PLACE_PATH];
	enum path_verdict why;

	if (x->kind == ATTACH_ARCHIVE)
		return tell_archive(x, wait, t, e);
	if (x->kind == ATTACH_OTHER)
		return tell_other(x, t, e);
	int fd = x->beneath ? place_open(&a->place, x->path, real, &why, e) : place_open_named(x->path, real, e);
	if (fd < 0)
		return error_prefix(e, "attach");
	if (x->kind == ATTACH_DIR)
		return tell_dir(x, fd, t, e);
	int rc = x->kind == ATTACH_TEXT ? tell_text(a, x, fd, t, e) : tell_media(x, fd, t, e);
	close(fd);
	return rc;
}

void attachment_describe(const struct attachment *x, struct buf *out)
{
	static const char *const kinds[] = { [ATTACH_TEXT] = "text",
		                             [ATTACH_ARCHIVE] = "archive",
		                             [ATTACH_DIR] = "directory",
		                             [ATTACH_OTHER] = "binary" };

	utf8_name(out, x->name, strlen(x->name), PLACE_PATH);
	buf_addf(out, ": %s", x->media_type ? x->media_type : kinds[x->kind]);
	if (x->kind != ATTACH_DIR)
		buf_addf(out, ", %zu bytes", x->size);
}

int attach_tell(struct attachments *a, const struct archive_wait *wait, struct told *t, struct error *e)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < a->n; i++) {
		rc = tell(a, &a->v[i], wait, t, e);
		attachment_describe(&a->v[i], &t->names);
		buf_addc(&t->names, '\0');
	}
	return rc;
}
