/* A result that is too long for the window it is to enter. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "tool/internal.h"

#define MARK_ROOM    80  /* bytes of the line that says how much is left out */
#define PARTS_ROOM   200 /* with less for them, parts of the text tell nothing */
#define NOT_WORTH_IT 120 /* so much takes the line that says where the text is */

/* Keeps the text, which is masked already, in the run directory; its path, or NULL. */
static char *store(struct toolbox *t, const char *id, const struct tool_result *res)
{
	struct error e = ERROR_INIT;
	char *path = NULL;
	int fd = result_spill_room(t) >= res->text_len ? result_open_file(t, id, &path, &e) : -1;

	if (fd < 0)
		return NULL;
	bool ok = io_write_all(fd, res->text, res->text_len) == 0;
	ok = close(fd) == 0 && ok;
	if (!ok && path)
		unlink(path);
	if (!ok) {
		free(path);
		path = NULL;
	}
	return path;
}

/* A result that stands in the conversation says itself where all of it is: a file in the run directory. */
static char *named_file(struct toolbox *t, const char *text)
{
	const char *dir = t->cfg.run_dir ? run_dir_made(t->cfg.run_dir) : NULL;
	size_t n, k = dir ? strlen(dir) : 0;
	const char *at = result_persisted_path(text, &n);

	if (!k || !at || n <= k || strncmp(at, dir, k) != 0 || at[k] != '/' || memchr(at + k + 1, '/', n - k - 1))
		return NULL;
	char *path = strndup(at, n);
	if (path && access(path, R_OK)) {
		free(path);
		path = NULL;
	}
	return path;
}

/* Where head and tail begin in a text that says already where all of it is; 0: it does not. */
static size_t parts_at(const struct tool_result *res)
{
	const char *parts = res->file ? strstr(res->text, result_persisted_parts) : NULL;

	return parts ? (size_t)(parts - res->text) + strlen(result_persisted_parts) : 0;
}

/* Where there are many results for little room: no parts, only where the text is. */
static void add_place(struct buf *b, const char *path, size_t len)
{
	if (path)
		buf_addf(b, "[There is no room for it here: Read or Grep %s]", path);
	else
		buf_addf(b, "[There is no room for it here, and its %zu bytes could not be saved]", len);
}

/* Head and tail behind the words that say where all of it is. */
static void add_parts(struct buf *b, const struct tool_result *res, size_t from, const char *path, size_t allowed)
{
	if (from)
		buf_add(b, res->text, from);
	else
		result_persisted(b, path, true, res->text_len);
	size_t around = b->len + MARK_ROOM + strlen(result_persisted_end);
	if (allowed < around + PARTS_ROOM) {
		buf_clear(b);
		add_place(b, res->file ? res->file : path, res->text_len);
		return;
	}
	result_cut(b, res->text + from, res->text_len - from, allowed - around);
	if (!from)
		buf_adds(b, result_persisted_end);
}

static void not_shown(struct toolbox *t, const char *tool_use_id, struct tool_result *res)
{
	read_state_forget(&t->state, tool_use_id); /* the model does not see all that was shown */
	if (res->state)                            /* what it says of that is not so any more */
		state_retell(t, res);
}

static int drop_picture(struct toolbox *t, const char *tool_use_id, struct tool_result *res)
{
	char *note = strdup("[There was no room for this image: Read it again with no others beside it, or make it "
	                    "smaller first]");

	if (!note)
		return -1;
	free(res->text);
	free(res->content_json);
	res->text = note;
	res->text_len = strlen(note);
	res->content_json = NULL;
	not_shown(t, tool_use_id, res);
	return 0;
}

int toolbox_shorten(struct toolbox *t, const char *tool_use_id, struct tool_result *res, size_t allowed)
{
	struct buf b = BUF_INIT(BUF_HUGE);
	size_t from;
	char *path = NULL;

	if (res->content_json)
		return drop_picture(t, tool_use_id, res);
	if (!res->text || res->text_len <= allowed || res->text_len <= NOT_WORTH_IT)
		return 0;
	if (!res->file)
		res->file = named_file(t, res->text);
	from = parts_at(res);
	if (!from)
		path = store(t, tool_use_id, res);
	add_parts(&b, res, from, path, allowed);
	if (b.failed) {
		free(path);
		buf_release(&b);
		return -1;
	}
	if (b.len >= res->text_len) { /* its own text is the shortest */
		free(path);
		buf_release(&b);
		return 0;
	}
	free(res->text);
	res->text = buf_take(&b, &res->text_len);
	if (res->file)
		free(path);
	else
		res->file = path;
	not_shown(t, tool_use_id, res);
	return 0;
}
