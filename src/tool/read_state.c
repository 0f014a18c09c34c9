/* What the model has seen of which file, so that a Write cannot undo what it never saw. */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "tool/internal.h"

static struct read_record *find(const struct read_state *s, const char *key)
{
	for (size_t i = 0; i < s->n; i++)
		if (strcmp(s->v[i].key, key) == 0)
			return &s->v[i];
	return NULL;
}

static void hide(struct read_record *r)
{
	free(r->shown_by);
	free((char *)(uintptr_t)r->view.path);
	r->shown_by = NULL;
	r->view.path = NULL;
}

static void clear_basis(struct read_record *r)
{
	for (size_t i = 0; i < r->nbasis; i++)
		free(r->basis[i]);
	free(r->basis);
	r->basis = NULL;
	r->nbasis = 0;
}

static void forget(struct read_record *r)
{
	hide(r);
	clear_basis(r);
	r->seen_to = 0;
	r->whole = false;
}

static bool rests_on(const struct read_record *r, const char *id)
{
	for (size_t i = 0; i < r->nbasis; i++)
		if (strcmp(r->basis[i], id) == 0)
			return true;
	return false;
}

static int add_basis(struct read_record *r, const char *id)
{
	if (rests_on(r, id))
		return 0;
	char **grown = realloc(r->basis, (r->nbasis + 1) * sizeof *grown);
	char *copy = grown ? strdup(id) : NULL;

	if (grown)
		r->basis = grown;
	if (!copy)
		return -1;
	r->basis[r->nbasis++] = copy;
	return 0;
}

static void change(struct read_state *s, struct read_record *r)
{
	r->changed = s->changed = true;
	r->noted = ++s->notes;
}

const struct read_record *read_state_find(const struct read_state *s, const char *key)
{
	return find(s, key);
}

/* One more, which has no key yet. NULL: no memory. */
static struct read_record *add(struct read_state *s)
{
	if (ARRAY_GROW(s->v, s->n, s->cap))
		return NULL;
	s->v[s->n] = (struct read_record){ .key = NULL };
	return &s->v[s->n++];
}

/* Nothing that was shown before is needed to know the file: all of it was read at once, or written. */
static bool shows_all(const struct read_record *now, uint64_t first_line)
{
	return first_line > 0 ? first_line == 1 && now->seen_to >= now->lines : now->whole && now->lines == 0;
}

int read_state_note(struct read_state *s, const struct read_record *now, uint64_t first_line, const char *id)
{
	struct read_record *r = find(s, now->key);

	if (!r) {
		char *key = strdup(now->key);
		r = key ? add(s) : NULL;
		if (!r) {
			free(key);
			return -1;
		}
		r->key = key;
	} else if (memcmp(r->sha, now->sha, DIGEST_BYTES) != 0) {
		r->seen_to = 0; /* what was seen of the old content does not count */
		r->whole = false;
		hide(r);
		if (first_line > 0) /* but what a change left known rests on what was known before it */
			clear_basis(r);
	}
	memcpy(r->sha, now->sha, DIGEST_BYTES);
	r->answer = s->answer;
	change(s, r);
	r->size = now->size;
	r->mtime_ns = now->mtime_ns;
	/* Pages add up as long as each begins where the ones before it end. */
	if (first_line <= r->seen_to + 1 && now->seen_to > r->seen_to)
		r->seen_to = now->seen_to;
	r->lines = now->lines;
	r->whole = r->whole || now->whole || r->seen_to >= r->lines;
	if (r->touched < now->touched)
		r->touched = now->touched;
	if (id && shows_all(now, first_line))
		clear_basis(r);
	if (!id || add_basis(r, id) == 0)
		return 0;
	forget(r);
	return -1;
}

void read_state_withdraw(struct read_state *s)
{
	size_t kept = 0;

	for (size_t i = 0; i < s->n; i++) {
		if (s->v[i].answer == s->answer) {
			forget(&s->v[i]);
			free(s->v[i].key);
		} else {
			s->v[kept++] = s->v[i];
		}
	}
	s->n = kept;
}

void read_state_show(struct read_state *s, const char *key, struct view v, const char *id)
{
	struct read_record *r = find(s, key);

	if (!r)
		return;
	hide(r);
	change(s, r);
	if (!id)
		return;
	r->view = v;
	r->view.path = strdup(v.path);
	r->shown_by = strdup(id);
	if (!r->view.path || !r->shown_by)
		hide(r); /* without memory it is shown again */
}

bool read_state_shown(const struct read_record *r, struct view v)
{
	return r && r->shown_by && r->whole && strcmp(r->view.path, v.path) == 0 && r->view.first == v.first &&
	       r->view.limit == v.limit && r->view.limit_given == v.limit_given;
}

void read_state_forget(struct read_state *s, const char *id)
{
	for (size_t i = 0; i < s->n; i++)
		if (!id || rests_on(&s->v[i], id)) {
			forget(&s->v[i]);
			change(s, &s->v[i]);
		}
}

void read_state_forget_unshown(struct read_state *s, const struct id_set *shown)
{
	for (size_t i = 0; i < s->n; i++)
		for (size_t k = 0; k < s->v[i].nbasis; k++)
			if (*s->v[i].basis[k] && !id_set_has(shown, s->v[i].basis[k])) {
				forget(&s->v[i]);
				change(s, &s->v[i]);
			}
}

void read_state_tell_again(struct read_state *s, const char *key)
{
	struct read_record *r = find(s, key);

	if (r)
		r->changed = s->changed = true;
}

void read_state_retold(struct read_state *s, struct read_record *r, const struct read_record *now, const char *id)
{
	forget(r);
	memcpy(r->sha, now->sha, DIGEST_BYTES);
	r->size = now->size;
	r->mtime_ns = now->mtime_ns;
	r->lines = now->lines;
	change(s, r);
	if (add_basis(r, id)) /* without memory it counts as not seen */
		return;
	r->seen_to = now->seen_to;
	r->whole = true;
}

int read_record_rests(struct read_record *r, const char *id)
{
	return add_basis(r, id);
}

void read_record_release(struct read_record *r)
{
	free(r->key);
	forget(r);
}

int read_state_restore(struct read_state *s, struct read_record *r)
{
	struct read_record *known = find(s, r->key);

	if (known && known->noted > r->noted) { /* results are told in call order, whichever was there first */
		read_record_release(r);
		return 0;
	}
	if (!known && !(known = add(s))) {
		read_record_release(r);
		return -1;
	}
	if (known->key)
		read_record_release(known);
	*known = *r;
	if (s->touches < r->touched)
		s->touches = r->touched;
	if (s->notes < r->noted)
		s->notes = r->noted;
	return 0;
}

void read_state_release(struct read_state *s)
{
	for (size_t i = 0; i < s->n; i++)
		read_record_release(&s->v[i]);
	free(s->v);
	*s = (struct read_state){ 0 };
}
