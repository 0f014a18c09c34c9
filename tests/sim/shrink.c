#include "shrink.h"

#include <stdlib.h>
#include <string.h>

#define MOST_RUNS 4000

struct shrinking {
	const struct sim *first; /* the run as it was */
	uint32_t *v;             /* the smallest draws so far */
	size_t n;
	int runs;
};

static void play(const struct shrinking *k, struct sim *s, const uint32_t *v, size_t n)
{
	seed_prepare(s, k->first->seed);
	s->calm = k->first->calm;
	s->crashes = k->first->crashes;
	s->cuts_talk = k->first->cuts_talk;
	s->cfg.calls_wait = k->first->cfg.calls_wait;
	s->replay = true;
	s->keep_answers = true;
	s->choices = malloc((n + 1) * sizeof *v);
	memcpy(s->choices, v, n * sizeof *v);
	s->nchoices = n;
	sim_run(s, SEED_TASK);
}

/* So much of what is said is the same when the same breaks: what belongs to no check has no number. */
#define SAID 12

/* Takes v[n] if it breaks the same check. */
static bool try(struct shrinking *k, const uint32_t *v, size_t n)
{
	static struct sim s;

	if (k->runs++ >= MOST_RUNS)
		return false;
	play(k, &s, v, n);
	bool same = s.broken == k->first->broken && !strncmp(s.problem, k->first->problem, SAID);
	size_t used = s.next_choice < n ? s.next_choice : n;
	sim_release(&s);
	if (!same)
		return false;
	memmove(k->v, v, used * sizeof *v);
	k->n = used;
	return true;
}

/* Takes out, or makes zero, stretches of half the length, a quarter ... one. */
static bool pass(struct shrinking *k, bool remove)
{
	uint32_t *v = malloc((k->n + 1) * sizeof *v);
	bool better = false;

	for (size_t len = k->n / 2 + 1; len > 0; len /= 2)
		for (size_t at = 0; at + len <= k->n && k->runs < MOST_RUNS;) {
			size_t n = k->n;
			bool zeros = true;
			for (size_t i = at; i < at + len; i++)
				zeros &= !k->v[i];
			memcpy(v, k->v, n * sizeof *v);
			if (remove) {
				memmove(v + at, v + at + len, (n - at - len) * sizeof *v);
				n -= len;
			} else {
				memset(v + at, 0, len * sizeof *v);
			}
			if ((remove || !zeros) && try(k, v, n))
				better = true;
			else
				at += len;
		}
	free(v);
	return better;
}

static bool lower(struct shrinking *k)
{
	bool better = false;

	for (size_t i = 0; i < k->n; i++)
		while (i < k->n && k->v[i] && k->runs < MOST_RUNS) {
			uint32_t was = k->v[i];
			k->v[i] = was / 2;
			if (!try(k, k->v, k->n)) {
				if (i < k->n)
					k->v[i] = was;
				break;
			}
			better = true;
		}
	return better;
}

static void tell(const struct sim *s, const char *what, FILE *out)
{
	fprintf(out, "# %s: %s\n#   trace: %s\n", what, s->problem, s->trace);
	for (size_t i = 0; i < s->nlines; i++)
		fprintf(out, "#   %s\n", s->lines[i]);
}

static void tell_answers(const struct sim *s, FILE *out)
{
	for (size_t i = 0; i < s->nanswers; i++)
		fprintf(out, "#   answer %zu: %s\n", i + 1, s->answers[i]);
}

static void tell_world(const struct sim *s, FILE *out)
{
	const struct loop_config *c = &s->cfg;

	fprintf(out,
	        "#   world: window %lld, told %lld, turns %lld, retries %d, max output %lld, tokens %lld, cost %lld, "
	        "requests %lld, calls %lld, fallbacks %zu, signals %lld %lld, deadline %lld, stdout gone %lld, "
	        "supervisor lost %lld, full %lld to %lld, concurrency %zu, %s\n",
	        (long long)s->window, (long long)c->row->window, (long long)c->max_turns, c->retry.max_retries,
	        (long long)c->max_output_tokens, (long long)c->token_budget, (long long)c->max_cost_nano_usd,
	        (long long)c->max_requests, (long long)c->max_tool_calls, c->nfallbacks, (long long)s->signal_at,
	        (long long)s->second_signal_at, c->deadline == CLOCK_NEVER ? 0 : (long long)c->deadline,
	        (long long)s->stdout_gone_at, (long long)s->supervisor_lost_at, (long long)s->full_from,
	        (long long)s->full_until, c->tool_concurrency, c->calls_wait ? "batch" : "streaming");
}

void shrink_and_tell(const struct sim *s, FILE *out)
{
	static struct sim small;
	struct shrinking k = { .first = s, .v = malloc((s->nchoices + 1) * sizeof *k.v), .n = s->nchoices };

	fprintf(out, "# seed %llu breaks: %s\n#   trace: %s\n", (unsigned long long)s->seed, s->problem, s->trace);
	if (getenv("SIM_BRIEF")) {
		free(k.v);
		return;
	}
	memcpy(k.v, s->choices, s->nchoices * sizeof *k.v);
	while (k.runs < MOST_RUNS && (pass(&k, true) | pass(&k, false) | lower(&k)))
		;
	play(&k, &small, k.v, k.n);
	tell(&small, "shrunk", out);
	tell_answers(&small, out);
	tell_world(&small, out);
	fprintf(out, "#   %zu of %zu draws are left; again: SIM_SEED=%llu tests/unit/test_sim\n", k.n, s->nchoices,
	        (unsigned long long)s->seed);
	sim_release(&small);
	free(k.v);
}
