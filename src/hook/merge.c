/* Of what several hooks say, what holds: always in the order in which they were declared, whoever ended first. */
#include <stdlib.h>
#include <string.h>

#include "hook/internal.h"

static void replace(char **to, char **from)
{
	if (!*from)
		return;
	free(*to);
	*to = *from;
	*from = NULL;
}

static int add(struct said *all, struct said *one)
{
	int rc = 0;

	if (one->verdict == all->verdict)
		rc |= text_join(&all->text, one->text, "\n");
	if (one->rank == all->rank)
		rc |= text_join(&all->permit_text, one->permit_text, "\n");
	rc |= text_join(&all->context, one->context, "\n\n");
	all->interrupts |= one->interrupts;
	replace(&all->new_input, &one->new_input);
	replace(&all->new_output, &one->new_output);
	if (!all->first_message)
		replace(&all->first_message, &one->first_message);
	return rc;
}

static int merge(const struct asking *a, struct said *all)
{
	int rc = 0;

	for (size_t i = 0; i < a->n; i++) {
		if (a->said[i].verdict > all->verdict)
			all->verdict = a->said[i].verdict;
		if (a->said[i].rank > all->rank)
			all->rank = a->said[i].rank;
	}
	for (size_t i = 0; i < a->n; i++)
		rc |= add(all, &a->said[i]);
	return rc;
}

static void answer_of(const struct said *all, struct hook_answer *answer)
{
	static const enum hook_permit permits[] = { [RANK_NONE] = HOOK_NO_OPINION,
		                                    [RANK_ALLOW] = HOOK_ALLOWS,
		                                    [RANK_ASK] = HOOK_ASKS,
		                                    [RANK_DEFER] = HOOK_DENIES,
		                                    [RANK_DENY] = HOOK_DENIES };

	answer->verdict = all->verdict;
	answer->text = all->text;
	answer->context = all->context;
	answer->permit = permits[all->rank];
	answer->permit_text = all->rank == RANK_NONE ? NULL : all->permit_text;
	answer->interrupts = all->interrupts && all->rank == RANK_DENY;
	answer->new_input = answer->permit == HOOK_DENIES ? NULL : all->new_input;
	answer->new_output = all->new_output;
	answer->first_message = all->first_message;
}

void merge_and_answer(struct asking *a)
{
	struct hook_answer answer = { .kind = a->call.kind };
	struct said all = { 0 };
	hooks_done done = a->done;
	void *ctx = a->ctx;

	if (a->call.kind == HOOK_SESSION_START)
		env_file_take(a->h);
	if (merge(a, &all))
		hooks_nomem(a->h);
	answer_of(&all, &answer);
	if (a->h->lost) /* half of what was said must not pass for all of it */
		answer = (struct hook_answer){ .kind = a->call.kind,
			                       .verdict = HOOK_SAYS_END,
			                       .text = a->h->why.msg,
			                       .permit = HOOK_DENIES,
			                       .permit_text = a->h->why.msg };
	asking_free(a);
	done(ctx, &answer);
	said_release(&all);
}
