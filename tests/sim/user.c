/* The made-up user: further messages, those that come while work goes on, interrupts, and files that are to be told of.
 */
#include "world.h"

#include <stdio.h>
#include <stdlib.h>

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

static struct message *user_message(void *ctx)
{
	struct sim *s = ctx;
	const char *text = next_arrival(s);
	struct message *m;

	if (!text)
		return NULL;
	m = message_new(ROLE_USER);
	message_add(m, block_new_text(text, strlen(text)));
	sim_add(s, "arrived %s", text);
	return m;
}

static bool more_to_come(void *ctx)
{
	const struct sim *s = ctx;

	return s->stays_open || (s->messages && s->messages[s->next_message]) ||
	       (s->arrivals && s->arrivals[s->next_arrival]);
}

static int attachment(void *ctx, struct buf *out, struct error *e)
{
	struct sim *s = ctx;
	const char *text = s->attachments ? s->attachments[s->next_attachment] : NULL;

	(void)e;
	if (!text)
		return 0;
	s->next_attachment++;
	if (!strcmp(text, "-"))
		return 0;
	buf_adds(out, text);
	return 1;
}

void sim_user_deps(struct loop_deps *deps)
{
	deps->user_message = user_message;
	deps->more_to_come = more_to_come;
	deps->attachment = attachment;
}
