/* Random answers: everything that a server may do. */
#include "world.h"

#include <stdio.h>

/* xorshift64*: the same seed is the same world. */
uint64_t sim_draw(struct sim *s, uint64_t below)
{
	s->rng ^= s->rng >> 12;
	s->rng ^= s->rng << 25;
	s->rng ^= s->rng >> 27;
	return (s->rng * 2685821657736338717ull >> 11) % below;
}

#define CALM_ENDINGS 9

void sim_random_answer(struct sim *s, char *line, size_t max)
{
	static const char *const tools[] = { "SafeA", "SafeB", "UnsafeA", "UnsafeB", "Unknown", "Deny", "Fail" };
	static const char *const endings[] = {
		"",
		"",
		"",
		"",
		"",
		" | stop max_tokens",
		" | stop pause_turn",
		" | stop model_context_window_exceeded",
		" | stop odd",
		" | stop refusal", /* from here on they are not calm */
		" | cut",
		" | cut",
		" | open | cut",
		" | open | stop tool_use | cut",
		" | open | stop max_tokens | cut",
		" | open | stop refusal | cut",
		" | open | hang",
		" | stop tool_use | hang",
		" | hang",
		" | stream overloaded_error Overloaded",
		" | stream invalid_request_error no",
	};
	static const char *const failures[] = {
		"http 529 overloaded_error Overloaded",
		"http 500 api_error oops",
		"http 429 rate_limit_error slow | retry-after 2000",
		"http 400 invalid_request_error bad",
		"refused",
		"html",
		"http 400 invalid_request_error prompt is too long: 5 tokens > 4 maximum"
	};
	size_t n = 0;

	if (sim_draw(s, 6) == 0) {
		snprintf(line, max, "%s", failures[sim_draw(s, sizeof failures / sizeof *failures)]);
		return;
	}
	n += (size_t)snprintf(line, max, "usage %d %d", (int)sim_draw(s, 300), (int)sim_draw(s, 50));
	for (uint64_t i = sim_draw(s, 6); i > 0; i--) {
		unsigned kind = (unsigned)sim_draw(s, 8);
		if (sim_draw(s, 4) == 0)
			n += (size_t)snprintf(line + n, max - n, sim_draw(s, 3) ? " | after %u" : " | ping",
			                      (unsigned)sim_draw(s, 4000));
		if (kind < 2)
			n += (size_t)snprintf(line + n, max - n, " | text word%u", (unsigned)sim_draw(s, 100));
		else if (kind == 2)
			n += (size_t)snprintf(line + n, max - n, " | %s hm", sim_draw(s, 2) ? "thinking" : "unsigned");
		else if (kind == 3)
			n += (size_t)snprintf(line + n, max - n, " | bad SafeA b%u {\"x", (unsigned)sim_draw(s, 20));
		else
			n += (size_t)snprintf(line + n, max - n, " | use %s t%u {\"ms\":%u}", tools[sim_draw(s, 7)],
			                      (unsigned)sim_draw(s, 40), (unsigned)sim_draw(s, 3000));
	}
	snprintf(line + n, max - n, "%s",
	         endings[sim_draw(s, s->calm ? CALM_ENDINGS : sizeof endings / sizeof *endings)]);
}
