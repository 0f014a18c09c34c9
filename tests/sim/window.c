/* The made-up model's window: it counts what it is sent, and refuses what does not fit, in the words of many servers.
 */
#include "world.h"

#include <stdio.h>

int64_t sim_count_tokens(const struct sim *s, const struct model_request *req)
{
	size_t bytes = 0;

	for (size_t i = 0; i < req->messages->n; i++)
		for (size_t k = 0; k < req->messages->v[i]->n; k++)
			bytes += req->messages->v[i]->blocks[k]->weight;
	return s->fixed_tokens + (int64_t)bytes / (s->bytes_per_token ? s->bytes_per_token : 4);
}

/* %1: what was sent, %2: the window. The first ones name the numbers. */
static const char *const too_long[] = {
	"http 400 invalid_request_error prompt is too long: %lld tokens > %lld maximum",
	"http 400 invalid_request_error the request (%lld tokens) exceeds the available context size (%lld tokens)",
	"http 400 invalid_request_error maximum context length is given; your messages resulted in %lld tokens, "
	"length is %lld",
	"http 400 invalid_request_error Prompt is too long",
	"http 413 request_too_large Request exceeds the maximum size",
	"http 400 invalid_request_error Input is too long for requested model.",
	"http 400 context_length_exceeded Please reduce the length of the messages",
	"http 400 invalid_request_error capability_rejected: prompt_too_long",
	"stream invalid_request_error prompt is too long: %lld tokens > %lld maximum",
};

bool sim_too_long(struct sim *s, const struct model_request *req, char *line, size_t max)
{
	if (!s->window || req->kind == MODEL_COUNT || req->kind == MODEL_SUMMARY)
		return false;
	long long in = sim_count_tokens(s, req), window = s->window;
	if (in <= window)
		return false;
	size_t which = s->script ? 0 : sim_draw(s, LENGTH(too_long));
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	snprintf(line, max, too_long[which], in, window);
#pragma GCC diagnostic pop
	return true;
}
