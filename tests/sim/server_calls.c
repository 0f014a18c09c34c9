/* Tools that run at the server: their results stand in the same answer, or the turn waits for them. */
#include "checks.h"

#include <stdio.h>

static bool served(const struct message *m, size_t from, const char *id)
{
	char named[96];

	snprintf(named, sizeof named, "\"tool_use_id\":\"%s\"", id);
	for (size_t k = from; k < m->n; k++)
		if (m->blocks[k]->kind == BLOCK_OTHER && strstr(m->blocks[k]->json, named))
			return true;
	return false;
}

size_t sim_open_server_calls(const struct history *h, size_t at, char (*ids)[64], size_t max)
{
	const struct message *m = h->v[at];
	size_t n = 0;

	for (size_t i = 0; i < m->n && n < max; i++)
		if (m->blocks[i]->kind == BLOCK_OTHER &&
		    sscanf(m->blocks[i]->json, "{\"type\":\"server_tool_use\",\"id\":\"%63[^\"]", ids[n]) == 1 &&
		    !served(m, i + 1, ids[n]))
			n++;
	return n;
}

static bool is_called(const struct message *m, size_t n, const char *id)
{
	char named[96];

	snprintf(named, sizeof named, "\"server_tool_use\",\"id\":\"%s\"", id);
	for (size_t k = 0; k < n; k++)
		if (m->blocks[k]->kind == BLOCK_OTHER && strstr(m->blocks[k]->json, named))
			return true;
	return false;
}

/* A result of the server's stands behind its call, in the same answer or the one before. */
static void check_server_results(struct sim *s, const struct history *h)
{
	char id[64];

	for (size_t i = 1; i < h->n; i += 2)
		for (size_t k = 0; k < h->v[i]->n; k++) {
			const struct block *b = h->v[i]->blocks[k];
			if (b->kind == BLOCK_OTHER &&
			    sscanf(b->json, "{\"type\":\"web_search_tool_result\",\"tool_use_id\":\"%63[^\"]", id) ==
			            1 &&
			    !is_called(h->v[i], k, id) && (i < 3 || !is_called(h->v[i - 2], h->v[i - 2]->n, id))) {
				sim_problem(s, "message %zu has the result of a call that is not there: %s", i, id);
				return;
			}
		}
}

/* Behind an answer that waits for its server nothing but results of our own calls may stand. */
void check_server_calls(struct sim *s, const struct step *step)
{
	const struct history *h = step->req->messages;
	char ids[1][64];

	check_server_results(s, h);
	for (size_t i = 1; i + 1 < h->n; i += 2)
		for (size_t k = 0; k < h->v[i + 1]->n; k++)
			if (h->v[i + 1]->blocks[k]->kind != BLOCK_TOOL_RESULT &&
			    sim_open_server_calls(h, i, ids, 1) > 0) {
				sim_problem(s, "message %zu waits for the server, and words follow it", i);
				return;
			}
}

/* A turn that goes on with results alone waits for those of the server as well: its calls stay. */
void check_server_waits(struct sim *s, const struct step *step)
{
	static const enum continue_reason waits[] = { CONT_NEXT_TURN, CONT_SALVAGED_STREAM };

	for (size_t i = 0; step->event->kind == EVENT_TRANSITION && i < LENGTH(waits); i++)
		if (s->w->server_dropped && !strcmp(step->event->u.transition.reason, continue_row(waits[i])->name))
			sim_problem(s, "a call of the server is taken out, and its results were waited for");
}
