/* The made-up user: further messages, those that come while work goes on, interrupts, and files that are to be told of.
 */
#include "world.h"

#include <stdio.h>
#include <stdlib.h>

/* Marks of what is drawn here; the task has the first one. */
static const char *const further[] = { "go on [mark 1]", "and this [mark 2]", "the last [mark 3]", NULL };
#define FIRST_ARRIVAL 4
#define ARRIVALS      3
#define FIRST_FREE    (FIRST_ARRIVAL + ARRIVALS)

static void draw_arrivals(struct sim *s)
{
	int64_t when = s->clock;
	size_t n = 1 + sim_draw(s, ARRIVALS);

	for (size_t i = 0; i < n; i++) {
		when += (int64_t)sim_draw(s, 4000);
		snprintf(s->drawn_arrivals[i], sizeof s->drawn_arrivals[i], "%lld by the way [mark %zu]",
		         (long long)when, FIRST_ARRIVAL + i);
		s->arrival_list[i] = s->drawn_arrivals[i];
	}
	s->arrivals = s->arrival_list;
}

void sim_draw_user(struct sim *s)
{
	s->nmarks = FIRST_FREE;
	if (sim_one_in(s, 5))
		s->messages = further + 2 - sim_draw(s, 3);
	s->stays_open = s->messages && sim_one_in(s, 3);
	if (sim_one_in(s, 6) && !s->calm)
		draw_arrivals(s);
	if (sim_one_in(s, 8) && !s->calm)
		s->interrupt_at = s->clock + (int64_t)sim_draw(s, 6000);
	s->moods.attachments = sim_one_in(s, 6) ? 2 + (unsigned)sim_draw(s, 6) : 0;
}

/* "MS TEXT" */
static bool has_come(const struct sim *s, const char *arrival, const char **text)
{
	char *rest;
	int64_t when = strtoll(arrival, &rest, 10);

	*text = rest + (*rest == ' ');
	return when <= s->clock;
}

static const char *next_arrival(struct sim *s)
{
	const char *text = NULL;

	if (!s->arrivals || !s->arrivals[s->next_arrival] || !has_come(s, s->arrivals[s->next_arrival], &text))
		return NULL;
	s->next_arrival++;
	return text;
}

const char *sim_next_message(struct sim *s)
{
	if (s->arrivals && s->arrivals[s->next_arrival]) { /* it is waited for */
		int64_t when = strtoll(s->arrivals[s->next_arrival], NULL, 10);
		if (when > s->clock && !(s->messages && s->messages[s->next_message]))
			s->clock = when;
		const char *text = next_arrival(s);
		if (text)
			return text;
	}
	return s->messages && s->messages[s->next_message] ? s->messages[s->next_message++] : NULL;
}

static struct message *user_message(void *ctx)
{
	struct sim *s = ctx;
	const char *text = next_arrival(s);
	struct message *m;

	if (!text)
		return NULL;
	m = message_new(ROLE_USER);
	message_add(m, block_new_text(text, strlen(text)));
	s->arrived = text;
	witness_arrival(s, text);
	sim_add(s, "arrived %s", text);
	return m;
}

static void user_message_back(void *ctx)
{
	struct sim *s = ctx;

	if (!s->arrived)
		sim_problem(s, "a message is given back, and none was taken");
	sim_add(s, "given back %s", s->arrived ? s->arrived : "");
	s->arrived = s->w->arrival = NULL;
	s->next_arrival--;
}

bool sim_more_to_come(const struct sim *s)
{
	return s->stays_open || (s->messages && s->messages[s->next_message]) ||
	       (s->arrivals && s->arrivals[s->next_arrival]);
}

static bool more_to_come(void *ctx)
{
	return sim_more_to_come(ctx);
}

static int attachment(void *ctx, struct buf *out, struct error *e)
{
	struct sim *s = ctx;
	const char *text = s->attachments ? s->attachments[s->next_attachment] : NULL;
	char mark[32];

	(void)e;
	if (s->moods.attachments && sim_one_in(s, s->moods.attachments)) {
		buf_addf(out, "a file says %s", sim_mark(s, mark, sizeof mark));
		witness_due(s, buf_str(out), MARK_BEHIND);
		return 1;
	}
	if (!text)
		return 0;
	s->next_attachment++;
	if (!strcmp(text, "-"))
		return 0;
	buf_adds(out, text);
	witness_due(s, text, MARK_BEHIND);
	return 1;
}

void sim_user_deps(struct loop_deps *deps)
{
	deps->user_message = user_message;
	deps->user_message_back = user_message_back;
	deps->more_to_come = more_to_come;
	deps->attachment = attachment;
}
