/* Chapters: one run each. */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "report/html.h"
#include "report/story.h"

#define NOTES_MOST ((size_t)256 << 10)
#define LANES_MOST 64
/* Of one changed file, and of all; and of its name. */
#define DIFF_MOST  ((size_t)512 << 10)
#define DIFFS_MOST ((size_t)4 << 20)
#define PATH_SHOWN ((size_t)4096)

void *list_add(struct list *l, size_t size)
{
	if (l->n == KEPT_MOST) {
		l->over++;
		return NULL;
	}
	if (array_grow(&l->v, l->n, &l->cap, size)) {
		l->over++;
		return NULL;
	}
	void *at = (char *)l->v + l->n++ * size;
	memset(at, 0, size);
	return at;
}

static int group_of(enum look look)
{
	return look >= LOOK_HOOK ? 2 : look >= LOOK_TOOL ? 1 : 0;
}

/* Spans come in the order of their ends; only the last few can overlap a new one. */
static int free_lane(const struct list *spans, enum look look, int64_t from)
{
	bool taken[LANES_MOST] = { false };
	const struct span *s = spans->v;

	for (size_t i = spans->n, seen = 0; i-- > 0 && seen < LANES_MOST; seen++)
		if (group_of(s[i].look) == group_of(look) && s[i].to > from && s[i].lane < LANES_MOST)
			taken[s[i].lane] = true;
	for (int lane = 0; lane < LANES_MOST; lane++)
		if (!taken[lane])
			return lane;
	return LANES_MOST - 1;
}

void story_span(struct chapter *c, enum look look, int64_t from, int64_t to, const struct buf *label)
{
	if (!c->timed || to < from)
		return;
	int lane = free_lane(&c->spans, look, from);
	struct span *s = list_add(&c->spans, sizeof *s);
	if (!s)
		return;
	*s = (struct span){
		.from = from, .to = to, .look = look, .lane = lane, .turn = c->turns + (look != LOOK_ANSWER)
	};
	if (label)
		s->label = strdup(buf_str(label));
}

struct tool_count *story_tool(struct chapter *c, const char *name)
{
	struct tool_count *t = c->tools.v, *found = NULL;
	struct buf label = BUF_INIT(4096);

	html_line(&label, name, strlen(name), SHOW_LINE);
	for (size_t i = 0; i < c->tools.n && !found; i++)
		found = strcmp(t[i].name, buf_str(&label)) ? NULL : &t[i];
	if (!found && c->tools.n < SHOWN_MOST) {
		char *copy = strdup(buf_str(&label));
		found = copy ? list_add(&c->tools, sizeof *t) : NULL;
		if (found)
			found->name = copy;
		else
			free(copy);
	}
	buf_release(&label);
	return found;
}

static struct changed_file *file_of(struct chapter *c, const char *path)
{
	struct changed_file *f = c->changes.v;

	for (size_t i = 0; i < c->changes.n; i++)
		if (!strncmp(f[i].path, path, PATH_SHOWN))
			return &f[i];
	if (c->changes.n == SHOWN_MOST) {
		c->changes.over++;
		return NULL;
	}
	char *copy = strndup(path, PATH_SHOWN);
	f = copy ? list_add(&c->changes, sizeof *f) : NULL;
	if (!f) {
		free(copy);
		return NULL;
	}
	f->path = copy;
	buf_init(&f->diff, DIFF_MOST);
	return f;
}

void story_change(struct chapter *c, const char *path, int added, int removed, const struct buf *rows)
{
	struct changed_file *f = file_of(c, path);

	if (!f)
		return;
	f->calls++;
	f->added += added;
	f->removed += removed;
	/* a part of a row would be an element that is not closed */
	if (f->cut || f->diff.len + rows->len > DIFF_MOST || c->diffs + rows->len > DIFFS_MOST) {
		f->cut = true;
		return;
	}
	if (buf_add(&f->diff, buf_str(rows), rows->len))
		f->cut = true;
	c->diffs += rows->len;
}

void chapter_release(struct chapter *c)
{
	struct span *s = c->spans.v;
	struct hook_count *h = c->hooks.v;
	struct tool_count *t = c->tools.v;
	struct changed_file *f = c->changes.v;

	for (size_t i = 0; i < c->spans.n; i++)
		free(s[i].label);
	for (size_t i = 0; i < c->hooks.n; i++)
		free(h[i].name);
	for (size_t i = 0; i < c->tools.n; i++)
		free(t[i].name);
	for (size_t i = 0; i < c->changes.n; i++) {
		free(f[i].path);
		buf_release(&f[i].diff);
	}
	free(c->spans.v);
	free(c->rows.v);
	free(c->steps.v);
	free(c->hooks.v);
	free(c->tools.v);
	free(c->changes.v);
	json_release(&c->init);
	json_release(&c->result);
	buf_release(&c->prompt);
	buf_release(&c->notes);
	buf_release(&c->resumed);
	turn_release(&c->turn);
	*c = (struct chapter){ .compacting = -1 };
}

void chapter_begin(struct report *r)
{
	struct chapter *c = &r->c;
	static const struct usage unknown = USAGE_UNKNOWN;

	chapter_release(c);
	c->number = ++r->chapters;
	c->begun = true;
	c->sum = unknown;
	buf_init(&c->prompt, BUF_HUGE);
	buf_init(&c->notes, NOTES_MOST);
	buf_init(&c->resumed, NOTES_MOST);
	c->t0 = c->t1 = -1;
}

int chapter_end(struct report *r, struct error *e)
{
	struct chapter *c = &r->c;
	struct buf page = BUF_INIT(BUF_HUGE);

	if (!c->begun)
		return 0;
	int rc = turn_flush(r, e);
	if (rc == 0) {
		show_chapter(&page, r);
		rc = spool_add(&r->done, &page, e);
	}
	if (rc == 0)
		rc = spool_append(&r->done, &r->talk, e);
	if (rc == 0)
		rc = spool_clear(&r->talk, e);
	buf_adds(&page, "</section>\n");
	show_rest(&page, c);
	buf_adds(&page, "</article>\n");
	if (rc == 0)
		rc = spool_add(&r->done, &page, e);
	buf_release(&page);
	chapter_release(c);
	return rc;
}
