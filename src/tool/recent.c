/* What the model worked with lately, told anew when a summary has taken the place of what was said of it. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tool/file.h"

#define NOTE_ROOM 160 /* bytes that the words around the lines take, beside the path */

/* A call id of no call: what it stands for is what was told here. */
static const char told[] = "";

/* The record that was touched last of those touched before `before`. */
static struct read_record *next_recent(struct read_state *s, uint64_t before)
{
	struct read_record *best = NULL;

	for (size_t i = 0; i < s->n; i++)
		if (s->v[i].touched < before && (!best || s->v[i].touched > best->touched))
			best = &s->v[i];
	return best;
}

/* The file, if a Read of it would be allowed now and it is where it was; -1 if not. */
static int open_allowed(struct toolbox *t, char *path)
{
	struct call c = { .t = t, .row = &tool_read, .cwd_fd = -1 };
	struct buf input = BUF_INIT(64 * 1024);
	struct tool_result denial = { 0 };
	struct error e = ERROR_INIT;
	enum path_verdict why;
	struct json_out o;
	int fd = -1;

	c.in.v[tool_read.subject_at] = (struct input_value){ .set = true, .s = path, .n = strlen(path) };
	json_out_init(&o, &input);
	jo_object(&o);
	jo_kstr(&o, tool_read.params[tool_read.subject_at].key, path);
	jo_end(&o);
	if (!input.failed && call_permitted(&c, buf_str(&input), &denial))
		fd = call_open(&c, path, O_RDONLY, &why, &e);
	tool_result_release(&denial);
	buf_release(&input);
	free(c.allowed);
	return fd;
}

/* The lines and the words around them. */
static void tell(struct toolbox *t, const struct read_record *r, const struct read_record *now, struct buf *lines,
                 struct buf *out)
{
	if (t->cfg.mask)
		t->cfg.mask(t->cfg.ctx, lines);
	buf_addf(out, "The file %s as it is now:\n", r->key);
	buf_add(out, buf_str(lines), lines->len);
	if (!now->whole)
		buf_addf(out, "[PARTIAL view: the first %llu lines. Use Read with offset %llu to go on.]\n",
		         (unsigned long long)now->seen_to, (unsigned long long)now->seen_to + 1);
}

static void note_told(struct read_state *s, const struct read_record *r, const struct read_record *now)
{
	if (s->ntold == RECENT_MAX)
		return;
	s->told[s->ntold] = *now;
	s->told[s->ntold].key = NULL;
	s->told[s->ntold++].touched = r->touched;
}

void toolbox_files_attached(struct toolbox *t, size_t n)
{
	struct read_state *s = &t->state;

	read_state_forget(s, told);
	for (size_t i = 0; i < s->ntold && i < n; i++)
		for (size_t j = 0; j < s->n && s->told[i].whole; j++)
			if (s->v[j].touched == s->told[i].touched)
				read_state_retold(s, &s->v[j], &s->told[i], told);
	s->ntold = 0;
}

/* 1: told. 0: there is nothing to tell of it. -1 with *e. */
static int tell_file(struct toolbox *t, struct read_record *r, size_t max, struct buf *out, struct error *e)
{
	size_t around = strlen(r->key) + NOTE_ROOM;
	struct read_record now = { .key = r->key };
	struct buf lines = BUF_INIT(max + 1);
	int fd = max > around ? open_allowed(t, r->key) : -1;

	if (fd < 0)
		return 0;
	int rc = read_first_lines(fd, max - around, &lines, &now, e);
	close(fd);
	if (rc > 0) {
		tell(t, r, &now, &lines, out);
		if (lines.failed || out->failed)
			rc = error_nomem(e);
		else
			note_told(&t->state, r, &now);
	}
	buf_release(&lines);
	return rc;
}

int toolbox_recent_file(struct toolbox *t, size_t i, size_t max, struct buf *out, struct error *e)
{
	struct read_state *s = &t->state;
	struct read_record *r;

	if (i == 0) {
		s->recent = UINT64_MAX;
		s->ntold = 0;
	}
	while ((r = next_recent(s, s->recent))) {
		s->recent = r->touched;
		int rc = tell_file(t, r, max, out, e);
		if (rc != 0)
			return rc;
	}
	return 0;
}
