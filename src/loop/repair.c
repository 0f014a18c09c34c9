/*
 * One-time repairs of a request that the server refused: what it minds is left out, lowered or replaced, the user is
 * told, and the request is sent again. What was repaired already is no reason to try once more.
 */
#include "loop/state.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MIN_USEFUL_CAP 1000

/* Faults that are mended by leaving something out, once each. */
static const struct repair {
	enum request_fault fault;
	unsigned without;
	const char *what;
} repairs[] = {
	{ FAULT_THINKING, WITHOUT_THINKING, "the thinking setting" },
	{ FAULT_THINKING_BLOCKS, WITHOUT_THINKING_BLOCKS, "all thinking in the conversation" },
	{ FAULT_EFFORT, WITHOUT_EFFORT, "the effort setting" },
	{ FAULT_EXTRA, WITHOUT_EXTRA, "the extra request fields" },
	{ FAULT_CACHE, WITHOUT_CACHE_MARKS, "the cache marks" },
	{ FAULT_BETA, WITHOUT_BETAS, "the beta header" },
};

static void tell_left_out(struct loop *l, const char *what)
{
	loop_notice(l, "request_repaired", "the server refused the request; sending it again without %s", what);
}

/* What the server names is left out alone; if it is refused still, all of its kind is. */
static bool leave_out_named(struct loop *l, const char *name)
{
	size_t have = strlen(l->refused);

	if (!*name || strstr(l->refused, name) || have + strlen(name) + 2 > sizeof l->refused)
		return false;
	snprintf(l->refused + have, sizeof l->refused - have, " %s", name);
	tell_left_out(l, name);
	return true;
}

/* What another model minds says nothing of the one that answers. */
static bool leave_out(struct loop *l, struct call *c, const struct request_fault_info *info)
{
	unsigned *without = strcmp(c->model, loop_model(l)) != 0 ? &c->without : &l->without;

	for (size_t i = 0; i < sizeof repairs / sizeof *repairs; i++) {
		if (repairs[i].fault != info->fault)
			continue;
		if ((l->without | c->without) & repairs[i].without)
			return false; /* it was left out already: that is not what the server minds */
		if (leave_out_named(l, info->name))
			return true;
		*without |= repairs[i].without;
		if (l->without & WITHOUT_THINKING)
			loop_set_marks(l); /* an edit need not spare thinking that is not asked for */
		tell_left_out(l, repairs[i].what);
		return true;
	}
	return false;
}

/* Each once a call: a server that names a smaller number each time would be asked for ever. */
static bool clamp_cap(struct loop *l, struct call *c, enum request_fault fault, int64_t cap)
{
	if ((c->clamped & 1u << fault) || cap < MIN_USEFUL_CAP || cap >= c->max_tokens)
		return false;
	c->clamped |= 1u << fault;
	c->max_tokens = cap;
	if (c->kind == MODEL_MAIN)
		*(fault == FAULT_MAX_TOKENS ? &l->cap_clamp : &l->cap_room) = cap;
	loop_notice(l, "request_repaired",
	            "the server takes at most %" PRId64 " output tokens; sending it again with that", cap);
	return true;
}

/* An image as it stands in a serialised block. In text the quotes would be escaped, so this cannot be text. */
bool loop_holds_image(const struct block *b)
{
	return b->kind == BLOCK_IMAGE ||
	       (b->kind == BLOCK_TOOL_RESULT && strstr(b->json, "\"type\":\"image\"") != NULL);
}

/* Reads the number behind the first `word` of the text. Where it ends, NULL if there is none. */
static const char *number_behind(const char *text, const char *word, size_t *n)
{
	const char *p = text ? strstr(text, word) : NULL;
	char *end;

	if (!p)
		return NULL;
	p += strlen(word);
	*n = strtoull(p, &end, 10);
	return end > p ? end : NULL;
}

/* The block that the server names, by its place in the request: "messages.7.content.2". */
static bool named_image(const struct history *h, const char *text, size_t *message, size_t *block)
{
	const char *rest = number_behind(text, "messages.", message);

	return number_behind(rest, ".content.", block) && *message < h->n && *block < h->v[*message]->n &&
	       loop_holds_image(h->v[*message]->blocks[*block]);
}

static bool newest_image(const struct history *h, size_t *message, size_t *block)
{
	for (*message = h->n; (*message)-- > 0;)
		for (*block = h->v[*message]->n; (*block)-- > 0;)
			if (loop_holds_image(h->v[*message]->blocks[*block]))
				return true;
	return false;
}

/* Puts a note in the place of the image that the server minds, or of the newest that is left. False: there is none. */
static bool replace_image(struct loop *l, const char *why)
{
	static const char note[] = "[An image stood here. The API refused it, so it was left out.]";
	struct history *h = l->state.messages;
	size_t message, block;

	if (!named_image(h, why, &message, &block) && !newest_image(h, &message, &block))
		return false;
	const struct block *was = h->v[message]->blocks[block];
	struct block *b = was->kind == BLOCK_TOOL_RESULT ? block_new_tool_result(was->id, note, sizeof note - 1, false)
	                                                 : block_new_text(note, sizeof note - 1);
	if (!b || context_replace(l->context, h, message, block, b)) {
		l->nomem = true;
		return false;
	}
	loop_notice(l, "image_removed", "the API refused an image (%s); a note stands in its place", why);
	return true;
}

/* A server that takes no answer to go on with, after a pause: the user asks for the rest of it. */
static bool ask_to_continue(struct loop *l, const struct call *c)
{
	const struct history *h = l->state.messages;

	if (c->kind != MODEL_MAIN || !h->n || h->v[h->n - 1]->role != ROLE_ASSISTANT)
		return false;
	loop_notice(l, "request_repaired", "the server refused the request; sending it again with a user message last");
	loop_say(l, "Please continue.");
	return true;
}

bool loop_repair_request(struct loop *l, struct call *c, const struct model_end *end)
{
	if (end->failure != MODEL_HTTP && end->failure != MODEL_STREAM_ERROR)
		return false;
	struct request_fault_info info = retry_request_fault(end);
	switch (info.fault) {
	case FAULT_MAX_TOKENS:
		return clamp_cap(l, c, info.fault, info.limit);
	case FAULT_INPUT_PLUS_MAX:
		return info.limit > 0 && info.tokens >= 0 &&
		       clamp_cap(l, c, info.fault, info.limit - info.tokens - MIN_USEFUL_CAP);
	case FAULT_IMAGE: /* a summary can wait until the main model has met it */
		return c->kind == MODEL_MAIN && replace_image(l, end->message);
	case FAULT_PREFILL:
		return ask_to_continue(l, c);
	default:
		return leave_out(l, c, &info);
	}
}
