#include "prompt/memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/utf8.h"
#include "message/id_set.h"

#define WAITING_MAX 256

static const char *const names[] = { "AGENTS.md", "CLAUDE.md" };

struct memory {
	struct place place;
	const char *const *files; /* NULL = the directories' own */
	size_t next_file;
	struct id_set *seen;        /* directories that were looked at, and files that were told */
	char *waiting[WAITING_MAX]; /* directories that are to be looked at; owned */
	size_t nwaiting;
	size_t used; /* bytes told */
	bool began;
};

struct memory *memory_open(const struct place *place, const char *const *files)
{
	struct memory *m = calloc(1, sizeof *m);

	if (!m)
		return NULL;
	m->place = *place;
	m->place.add_dirs = NULL; /* what is told belongs to the workspace */
	m->files = files && *files ? files : NULL;
	if (m->files || memory_touch(m, place->workspace) == 0)
		return m;
	memory_free(m);
	return NULL;
}

static void drop_waiting(struct memory *m)
{
	while (m->nwaiting)
		free(m->waiting[--m->nwaiting]);
}

void memory_free(struct memory *m)
{
	if (!m)
		return;
	drop_waiting(m);
	id_set_free(m->seen);
	free(m);
}

/* The directory itself; one that finds no room is looked at when it is touched again. */
static int look_at(struct memory *m, const char *dir)
{
	if (m->nwaiting == WAITING_MAX)
		return 0;
	int rc = id_set_add_copy(&m->seen, dir);
	if (rc > 0 && !(m->waiting[m->nwaiting++] = strdup(dir)))
		rc = -1;
	return rc < 0 ? -1 : 0;
}

int memory_touch(struct memory *m, const char *dir)
{
	const char *ws = m->place.workspace;
	size_t n = strcmp(ws, "/") ? strlen(ws) : 0;
	struct buf b = BUF_INIT(PLACE_PATH);
	int rc = 0;

	if (m->files || id_set_has(m->seen, dir) || strncmp(dir, ws, n) != 0 || (dir[n] && dir[n] != '/'))
		return 0;
	rc = look_at(m, ws);
	for (const char *at = dir + n; rc == 0 && *at;) { /* from the workspace down */
		at += strcspn(at + 1, "/") + 1;
		buf_clear(&b);
		if (buf_add(&b, dir, (size_t)(at - dir)) == 0)
			rc = look_at(m, buf_str(&b));
	}
	buf_release(&b);
	return rc;
}

/* Does it import others, as Claude Code's memory files can? */
static bool has_imports(const char *text)
{
	for (const char *at = text; (at = strchr(at, '@')); at++)
		if ((at == text || at[-1] == '\n' || at[-1] == ' ') && at[1] && !strchr(" \n@", at[1]))
			return true;
	return false;
}

static void note_cut(struct buf *notes, const char *path, size_t shown, size_t size)
{
	if (notes->len)
		buf_adds(notes, "; ");
	buf_adds(notes, "memory file ");
	utf8_name(notes, path, strlen(path), PLACE_PATH);
	if (shown)
		buf_addf(notes, ": only its first %zu of %zu bytes are told", shown, size);
	else
		buf_adds(notes, " is left out");
	buf_addf(notes, " (all memory files together: %zu bytes)", MEMORY_BYTES);
}

/* As much as can be seen in the conversation, see memory_told. */
static void count(struct memory *m, size_t bytes)
{
	size_t left = MEMORY_BYTES - m->used;

	m->used += bytes < left ? bytes : left;
}

#define TOLD_HEAD "A memory file of the project, for whoever works in "
#define TOLD_PATH "<memory path=\""
#define TOLD_BODY "\">\n"
#define TOLD_END  "</memory>"

/* `dir` is where it counts, and need not be where it lies: it may be a link. NULL: everywhere. */
static void tell(struct memory *m, const char *dir, const char *path, const struct buf *text, size_t size, bool cut,
                 struct buf *out)
{
	buf_adds(out, TOLD_HEAD);
	if (dir)
		utf8_name(out, dir, strlen(dir), PLACE_PATH);
	else
		buf_adds(out, "it");
	buf_adds(out, ". Keep to it as far as it concerns the task; where they differ, the task counts.\n" TOLD_PATH);
	utf8_name(out, path, strlen(path), PLACE_PATH);
	buf_adds(out, TOLD_BODY);
	size_t body = out->len;
	buf_add(out, buf_str(text), text->len);
	if (cut)
		buf_addf(out, "[cut: the first %zu of %zu bytes; Read the file for the rest]\n", text->len, size);
	count(m, out->len - body);
	buf_adds(out, TOLD_END);
	if (has_imports(buf_str(text)))
		buf_adds(out, "\nFiles that it names with @ are not included; Read them if they matter.");
}

/* 1: told. 0: it is empty, was told before, or there is no room. -1 with *e. Closes fd. */
static int tell_file(struct memory *m, const char *dir, int fd, const char *real, struct buf *out, struct buf *notes,
                     struct error *e)
{
	size_t left = MEMORY_BYTES - m->used, size = 0;
	struct buf raw = BUF_INIT(MEMORY_BYTES + PLACE_BEYOND), text = BUF_INIT(4 * MEMORY_BYTES);
	int rc = id_set_has(m->seen, real) ? 0 : place_read(fd, left + PLACE_BEYOND, &raw, &size, e) ? -1 : 1;
	bool cut = size > left;

	close(fd);
	if (rc > 0 && size > 0 && left == 0) {
		note_cut(notes, real, 0, size);
		rc = id_set_add_copy(&m->seen, real) < 0 ? error_nomem(e) : 0;
	} else if (rc > 0) {
		rc = place_text(&m->place, &raw, size, left, &text) ? error_nomem(e) : 1;
	}
	if (rc > 0 && utf8_is_blank(buf_str(&text), text.len))
		rc = 0;
	if (rc > 0) {
		if (cut)
			note_cut(notes, real, text.len, size);
		tell(m, dir, real, &text, size, cut, out);
		if (m->place.mask) /* its name */
			m->place.mask(m->place.ctx, out);
		rc = id_set_add_copy(&m->seen, real) < 0 || out->failed ? error_nomem(e) : 1;
	}
	buf_release(&raw);
	buf_release(&text);
	return rc;
}

static bool is_file(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
}

/* What is missing, no file, forbidden or somewhere else is passed over: nobody named it. */
static int tell_dir(struct memory *m, const char *dir, struct buf *out, struct buf *name, struct buf *notes,
                    struct error *e)
{
	char real[PLACE_PATH];
	struct error unused;
	enum path_verdict why;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < sizeof names / sizeof *names; i++) {
		buf_clear(name);
		buf_addf(name, "%s%s%s", dir, strcmp(dir, "/") ? "/" : "", names[i]);
		int fd = name->failed ? -1 : place_open(&m->place, buf_str(name), real, &why, &unused);
		if (fd >= 0 && is_file(fd)) {
			rc = tell_file(m, dir, fd, real, out, notes, e);
			if (rc == 0 && id_set_has(m->seen, real))
				break;
		} else if (fd >= 0) {
			close(fd);
		}
	}
	return rc;
}

static int open_named(const char *path, char real[PLACE_PATH], struct error *e)
{
	int fd = place_open_named(path, real, e);

	if (fd >= 0 && !is_file(fd)) {
		close(fd);
		fd = error_set(e, ERR_INPUT, "'%s' is a directory", path);
	}
	return fd < 0 ? error_prefix(e, "memory") : fd;
}

int memory_check(const char *const *files, struct error *e)
{
	char real[PLACE_PATH];

	for (; *files; files++) {
		int fd = open_named(*files, real, e);
		if (fd < 0)
			return -1;
		close(fd);
	}
	return 0;
}

static int tell_named(struct memory *m, const char *path, struct buf *out, struct buf *name, struct buf *notes,
                      struct error *e)
{
	char real[PLACE_PATH];
	struct error why = ERROR_INIT;
	int fd = open_named(path, real, &why);

	if (fd < 0 && m->began)
		return 0;
	if (fd < 0) {
		*e = why;
		return -1;
	}
	buf_clear(name);
	buf_adds(name, path);
	return tell_file(m, NULL, fd, real, out, notes, e);
}

int memory_next(struct memory *m, struct buf *out, struct buf *name, struct buf *notes, struct error *e)
{
	int rc = 0;

	while (m && rc == 0 && m->files && m->files[m->next_file])
		rc = tell_named(m, m->files[m->next_file++], out, name, notes, e);
	while (m && rc == 0 && m->nwaiting) {
		char *dir = m->waiting[0];
		m->nwaiting--;
		memmove(m->waiting, m->waiting + 1, m->nwaiting * sizeof *m->waiting);
		rc = tell_dir(m, dir, out, name, notes, e);
		free(dir);
	}
	if (m && rc == 0)
		m->began = true;
	return rc;
}

static const char *find(const char *at, const char *end, const char *what)
{
	return at ? memmem(at, (size_t)(end - at), what, strlen(what)) : NULL;
}

int memory_told(struct memory *m, const char *text, size_t n)
{
	const char *end = text + n, *at = text;

	while ((at = find(at, end, TOLD_HEAD))) {
		const char *path = find(at, end, TOLD_PATH), *begin = find(path, end, TOLD_BODY);
		at = find(begin, end, TOLD_END);
		if (!at)
			return 0;
		path += sizeof TOLD_PATH - 1;
		char *name = strndup(path, (size_t)(begin - path));
		int rc = name ? id_set_add_copy(&m->seen, name) : -1;
		free(name);
		if (rc < 0)
			return -1;
		if (rc > 0)
			count(m, (size_t)(at - begin) - (sizeof TOLD_BODY - 1));
	}
	return 0;
}

void memory_forgotten(struct memory *m)
{
	if (!m)
		return;
	drop_waiting(m);
	id_set_free(m->seen);
	m->seen = NULL;
	m->next_file = 0;
	m->used = 0;
	(void)memory_touch(m, m->place.workspace); /* without memory it waits for the next touch */
}
