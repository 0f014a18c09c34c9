#include "seeds.h"

#include <string.h>

#include "shrink.h"

static void say_differs(FILE *out, uint64_t seed, const char *how, const struct sim *a, const struct sim *b)
{
	fprintf(out, "seed %llu: invariant 12: %s: %s, then %s\n", (unsigned long long)seed, how, a->trace, b->trace);
	for (size_t i = 0; i < a->nlines || i < b->nlines; i++) {
		const char *x = i < a->nlines ? a->lines[i] : "(nothing)",
		           *y = i < b->nlines ? b->lines[i] : "(nothing)";
		if (strcmp(x, y) != 0) {
			fprintf(out, "line %zu: '%s', then '%s'\n", i, x, y);
			return;
		}
	}
}

void seed_prepare(struct sim *s, uint64_t seed)
{
	sim_init(s, NULL);
	s->seed = seed;
	s->any_world = true;
	s->cfg.calls_wait = seed % 2;
}

static bool run_once(struct sim *s, uint64_t seed, struct sim_cover *cover, FILE *out)
{
	seed_prepare(s, seed);
	s->cover = cover;
	sim_run(s, SEED_TASK);
	if (!s->broken)
		return true;
	shrink_and_tell(s, out);
	return false;
}

/* The same input, answers, clock and ids give the same lines and requests. */
static bool again(const struct sim *first, uint64_t seed, FILE *out)
{
	static struct sim s;
	bool same;

	seed_prepare(&s, seed);
	sim_run(&s, SEED_TASK);
	same = s.digest == first->digest && s.requests == first->requests;
	if (!same)
		say_differs(out, seed, "not the same twice", first, &s);
	sim_release(&s);
	return same;
}

/* If nothing breaks and nothing is declined, when calls start changes nothing that is shown. */
static bool both_executors(uint64_t seed, FILE *out)
{
	static struct sim s[2];
	bool same = true;

	for (int batch = 0; batch < 2; batch++) {
		seed_prepare(&s[batch], seed);
		s[batch].calm = true;
		s[batch].cfg.calls_wait = batch;
		sim_run(&s[batch], SEED_TASK);
		if (s[batch].broken) {
			shrink_and_tell(&s[batch], out);
			same = false;
		}
	}
	if (same && (strcmp(s[0].trace, s[1].trace) != 0 || s[0].digest != s[1].digest)) {
		say_differs(out, seed, "not the same in batches", &s[0], &s[1]);
		same = false;
	}
	sim_release(&s[0]);
	sim_release(&s[1]);
	return same;
}

bool seed_holds_killed(uint64_t seed, bool anywhere, FILE *out)
{
	static struct sim s;
	bool fine;

	seed_prepare(&s, seed);
	s.crashes = 1;
	s.cuts_talk = anywhere;
	s.cfg.calls_wait = seed / 8 % 2;
	sim_run(&s, SEED_TASK);
	fine = !s.broken;
	if (!fine)
		shrink_and_tell(&s, out);
	sim_release(&s);
	return fine;
}

bool seed_holds(uint64_t seed, struct sim_cover *cover, FILE *out)
{
	static struct sim s;
	bool fine = run_once(&s, seed, cover, out);

	if (fine && seed % 16 == 1)
		fine = again(&s, seed, out);
	sim_release(&s);
	if (fine && seed % 8 == 3)
		fine = both_executors(seed, out);
	if (fine && seed % 8 == 5)
		fine = seed_holds_killed(seed, seed % 16 == 5, out);
	return fine;
}
