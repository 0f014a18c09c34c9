/*
 * The state of the layers as JSON, for a run that goes on from its record. Blocks are told as the places where they
 * stand in the conversation, [MESSAGE, BLOCK], since it is these very blocks that are meant; what does not stand there
 * (any more) is told whole.
 */
#include <stdlib.h>

#include "base/json.h"
#include "base/json_out.h"
#include "context/private.h"

static bool put_place(struct json_out *o, const struct history *h, size_t i, const struct block *b)
{
	const struct message *m = h->v[i];

	for (size_t k = 0; k < m->n; k++) {
		if (m->blocks[k] != b)
			continue;
		jo_array(o);
		jo_int(o, (int64_t)i);
		jo_int(o, (int64_t)k);
		jo_end(o);
		return true;
	}
	return false;
}

/* All of these belong into the first message. */
static void put_block(struct json_out *o, const struct history *h, const struct block *b)
{
	if (!h->n || !put_place(o, h, 0, b))
		jo_raw(o, b->json, b->json_len);
}

static void key_block(struct json_out *o, const char *key, const struct history *h, const struct block *b)
{
	if (!b)
		return;
	jo_key(o, key);
	put_block(o, h, b);
}

static void key_message(struct json_out *o, const char *key, const struct history *h, const struct message *m)
{
	if (!m)
		return;
	jo_key(o, key);
	jo_array(o);
	for (size_t i = 0; i < m->n; i++)
		put_block(o, h, m->blocks[i]);
	jo_end(o);
}

/* Files that are gone from the conversation do not matter any more. */
static void put_files(struct json_out *o, const struct history *h, const struct message *files)
{
	if (!files || !files->n)
		return;
	jo_key(o, "files");
	jo_array(o);
	for (size_t i = 0; i < files->n; i++) {
		size_t at = 0;
		while (at < h->n && !put_place(o, h, at, files->blocks[i]))
			at += 2;
	}
	jo_end(o);
}

int context_state_write(const struct context *c, const struct history *h, struct buf *out)
{
	struct json_out o;

	json_out_init(&o, out);
	jo_object(&o);
	key_message(&o, "task", h, c->task);
	key_message(&o, "base", h, c->base);
	key_block(&o, "fold", h, c->fold);
	key_block(&o, "marker", h, c->marker);
	if (c->snipped)
		jo_kint(&o, "snipped", (int64_t)c->snipped);
	put_files(&o, h, c->files);
	jo_end(&o);
	return out->failed ? -1 : 0;
}

/* With a reference; NULL with *e. */
static struct block *read_block(const struct history *h, const struct json *doc, int tok, struct error *e)
{
	size_t i, k;

	if (json_type(doc, tok) != JSON_ARRAY)
		return block_from_token(doc, tok, e);
	if (!json_pair(doc, tok, &i, &k) || i >= h->n || k >= h->v[i]->n) {
		error_set(e, ERR_INPUT, "the record names a block that is not in its conversation");
		return NULL;
	}
	return block_ref(h->v[i]->blocks[k]);
}

static int take_block(struct block **to, const struct history *h, const struct json *doc, int tok, struct error *e)
{
	if (tok < 0)
		return 0;
	block_unref(*to);
	*to = read_block(h, doc, tok, e);
	return *to ? 0 : -1;
}

static int take_message(struct message **to, const struct history *h, const struct json *doc, int tok, struct error *e)
{
	if (tok < 0)
		return 0;
	message_unref(*to);
	*to = message_new(ROLE_USER);
	if (!*to)
		return error_nomem(e);
	for (int item = json_first(doc, tok); item >= 0; item = json_next(doc, tok, item)) {
		struct block *b = read_block(h, doc, item, e);
		if (!b)
			return -1;
		if (message_add(*to, b))
			return error_nomem(e);
	}
	return 0;
}

int context_state_read(struct context *c, const struct history *h, const struct json *doc, int tok, struct error *e)
{
	int64_t snipped = json_int_or(doc, json_get(doc, tok, "snipped"), 0);

	c->snipped = snipped > 0 ? (size_t)snipped : 0;
	return take_message(&c->task, h, doc, json_get(doc, tok, "task"), e) ||
	                       take_message(&c->base, h, doc, json_get(doc, tok, "base"), e) ||
	                       take_message(&c->files, h, doc, json_get(doc, tok, "files"), e) ||
	                       take_block(&c->fold, h, doc, json_get(doc, tok, "fold"), e) ||
	                       take_block(&c->marker, h, doc, json_get(doc, tok, "marker"), e)
	               ? -1
	               : 0;
}
