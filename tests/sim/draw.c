/* What is drawn. Each draw is noted; a run that is played again takes the noted ones, and zeros when there are none
 * left. */
#include "world.h"

#include <stdlib.h>

/* xorshift64*: the same seed is the same world. */
static uint64_t next_random(struct sim *s)
{
	s->rng ^= s->rng >> 12;
	s->rng ^= s->rng << 25;
	s->rng ^= s->rng >> 27;
	return s->rng * 2685821657736338717ull >> 11;
}

static void note(struct sim *s, uint32_t v)
{
	if (s->nchoices == s->choices_cap) {
		s->choices_cap = s->choices_cap ? 2 * s->choices_cap : 256;
		s->choices = realloc(s->choices, s->choices_cap * sizeof *s->choices);
	}
	s->choices[s->nchoices++] = v;
}

uint64_t sim_draw(struct sim *s, uint64_t below)
{
	if (s->replay)
		return s->next_choice < s->nchoices ? s->choices[s->next_choice++] % below : 0;
	uint64_t v = next_random(s) % below;
	if (s->seed)
		note(s, (uint32_t)v);
	return v;
}

bool sim_one_in(struct sim *s, unsigned n)
{
	return sim_draw(s, n) == n - 1;
}

size_t sim_pick(struct sim *s, const unsigned *weights, size_t n)
{
	uint64_t all = 0;

	for (size_t i = 0; i < n; i++)
		all += weights[i];
	uint64_t at = sim_draw(s, all);
	for (size_t i = 0; i < n; i++) {
		if (at < weights[i])
			return i;
		at -= weights[i];
	}
	return 0;
}
