/* The lines are a record: a reader who has nothing else knows the conversation that each request of the main model
 * holds, and the state of what is to go on with it can be read back. */
#include "checks.h"

#include "record/talk.h"

static void read_history(struct sim *s, const struct event_history *v)
{
	struct error e = ERROR_INIT;
	struct json doc;

	if (json_parse(&doc, v->messages, v->messages_len, JSON_UNIQUE, &e)) {
		sim_problem(s, "the list is no JSON: %s", e.msg);
		return;
	}
	struct talk_lifted lines = { 0 };
	if (v->open && talk_lift(&s->w->reader, &lines))
		sim_problem(s, "no memory");
	if (talk_set(&s->w->reader, &doc, json_root(&doc), &e))
		sim_problem(s, "the list cannot be: %s", e.msg);
	talk_put_back(&s->w->reader, &lines);
	json_release(&doc);
}

/* What stands for a result that never came is in the conversation that a record was made to. */
static void note_user(struct sim *s, const struct event *ev)
{
	const struct block *b = ev->u.user.block;
	const struct history *h = &s->w->reader.history;
	const struct message *last = h->n ? h->v[h->n - 1] : NULL;

	for (size_t i = 0; s->w->resumed && last && i < last->n; i++)
		if (last->blocks[i] == b)
			return;
	talk_line(&s->w->reader, ROLE_USER, ev->uuid, (struct block *)b, false);
}

void check_recorded(struct sim *s, const struct step *step)
{
	const struct event *ev = step->event;
	const struct event_assistant *a = &ev->u.assistant;
	const struct event_user *u = &ev->u.user;
	struct talk *t = &s->w->reader;

	if (ev->kind == EVENT_ASSISTANT && !a->error)
		talk_line(t, ROLE_ASSISTANT, ev->uuid, (struct block *)a->block, a->stop_reason != NULL);
	else if (ev->kind == EVENT_USER && !u->replay && u->block)
		note_user(s, ev);
	else if (ev->kind == EVENT_TOMBSTONE)
		for (size_t i = 0; i < ev->u.tombstone.n; i++)
			talk_withdraw(t, ev->u.tombstone.uuids[i]);
	else if (ev->kind == EVENT_HISTORY && ev->u.history.messages)
		read_history(s, &ev->u.history);
	if (ev->kind == EVENT_HISTORY)
		s->w->prompts += ev->u.history.has_prompt;
}

void check_record(struct sim *s, const struct step *step)
{
	const struct history *told = &s->w->reader.history, *h = step->req->messages;

	if (step->req->kind != MODEL_MAIN || !s->cfg.journal)
		return;
	if (told->n != h->n)
		sim_problem(s, "the record has %zu messages, the request %zu", told->n, h->n);
	for (size_t i = 0; i < h->n && i < told->n; i++) {
		const struct message *m = h->v[i], *r = told->v[i];
		if (m->role != r->role || m->n != r->n)
			sim_problem(s, "message %zu is another one in the record", i);
		for (size_t k = 0; k < m->n && k < r->n; k++)
			if (strcmp(m->blocks[k]->json, r->blocks[k]->json) != 0 ||
			    m->blocks[k]->cleared != r->blocks[k]->cleared)
				sim_problem(s, "block %zu of message %zu is another one in the record", k, i);
	}
	if (!s->w->prompts)
		sim_problem(s, "the record does not say which words are the user's");
}
