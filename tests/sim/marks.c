/*
 * Texts that must reach the model once: what hooks say for it, files that are told of, messages of the user. Each holds
 * "[mark N]", which nothing else holds, so that it is found wherever the loop puts it.
 */
#include "checks.h"

#include <stdio.h>
#include <stdlib.h>

/* Calls fn for each mark in the text. */
static void each_mark(struct sim *s, const char *text, void (*fn)(struct sim *s, struct mark *m, const void *arg),
                      const void *arg)
{
	for (const char *at = text; at && (at = strstr(at, "[mark ")); at += 6) {
		unsigned long n = strtoul(at + 6, NULL, 10);
		if (n < LENGTH(s->w->marks))
			fn(s, &s->w->marks[n], arg);
	}
}

const char *sim_mark(struct sim *s, char *out, size_t max)
{
	unsigned n = s->nmarks < LENGTH(s->w->marks) ? s->nmarks++ : (unsigned)LENGTH(s->w->marks);

	snprintf(out, max, "[mark %u]", n);
	return out;
}

static void set_due(struct sim *s, struct mark *m, const void *arg)
{
	m->place = *(const enum mark_place *)arg;
	m->due = !m->block;
	s->w->any_marks = true;
}

void witness_due(struct sim *s, const char *text, enum mark_place place)
{
	each_mark(s, text, set_due, &place);
}

static void set_erased(struct sim *s, struct mark *m, const void *arg)
{
	(void)arg;
	if (m->block)
		sim_problem(s, "what is blocked was sent before");
	m->due = false;
	m->erased = s->w->any_marks = true;
}

void witness_erased(struct sim *s, const char *text)
{
	each_mark(s, text, set_erased, NULL);
}

static void set_shown(struct sim *s, struct mark *m, const void *arg)
{
	(void)s, (void)arg;
	m->shown++;
}

void witness_shown(struct sim *s, const char *text)
{
	each_mark(s, text, set_shown, NULL);
}

/* Where a block stands. */
struct spot {
	const struct history *h;
	size_t message, block;
};

static bool stands_right(const struct sim *s, const struct spot *at, enum mark_place place)
{
	const struct message *m = at->h->v[at->message];

	if (m->role != ROLE_USER)
		return false;
	if (place == MARK_IN_FRONT)
		return (at->message + at->block == 0) ||
		       (at->block + 1 < m->n && m->blocks[at->block + 1]->kind == BLOCK_TEXT &&
		        sim_begins(m->blocks[at->block + 1]->text, s->w->prompt));
	if (place == MARK_ANYWHERE)
		return true;
	for (size_t k = at->block + 1; k < m->n; k++)
		if (m->blocks[k]->kind == BLOCK_TOOL_RESULT)
			return false;
	return at->message + 1 == at->h->n;
}

static void see_sent(struct sim *s, struct mark *m, const void *arg)
{
	const struct spot *at = arg;
	const struct block *b = at->h->v[at->message]->blocks[at->block];
	int n = (int)(m - s->w->marks);

	if (m->erased)
		sim_problem(s, "mark %d stands in a request, and was blocked", n);
	/* a task that is too long is told again, but for its end, behind a compaction */
	if (m->block && m->block != b && !(at->message == 0 && s->w->edited))
		sim_problem(s, "mark %d is told twice", n);
	if (!m->block && !stands_right(s, at, m->place))
		sim_problem(s, "mark %d stands in message %zu of %zu at %zu", n, at->message, at->h->n, at->block);
	if (!m->block && m->place != MARK_PROMPT && m->shown != 1)
		sim_problem(s, "mark %d is sent and was shown %d times", n, m->shown);
	m->block = b;
	m->due = false;
}

/* Behind an answer that waits for its server they have to wait, and in a turn that was paused. */
static bool must_wait(const struct history *h)
{
	char ids[1][64];

	return h->v[h->n - 1]->role != ROLE_USER ||
	       (h->n > 1 && sim_open_server_calls(h, h->n - 1 - h->n % 2, ids, 1) > 0);
}

void check_marks(struct sim *s, const struct step *step)
{
	const struct history *h = step->req->messages;
	const struct sent_list *was = &s->w->last_main;
	size_t at = 0;

	if (step->req->kind != MODEL_MAIN || !s->w->any_marks)
		return;
	for (size_t i = 0; i < h->n; i++)
		for (size_t k = 0; k < h->v[i]->n; k++, at++) {
			const struct block *b = h->v[i]->blocks[k];
			if ((at >= was->n || was->v[at].block != b) && b->kind == BLOCK_TEXT)
				each_mark(s, b->text, see_sent, &(struct spot){ h, i, k });
		}
	for (unsigned i = 0; i < s->nmarks && i < LENGTH(s->w->marks); i++)
		if (s->w->marks[i].due && !must_wait(h))
			sim_problem(s, "mark %u is not sent", i);
}
