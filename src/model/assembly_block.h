/* One content block while it is being streamed. Private to assembly.c. */
#ifndef QUERN_MODEL_ASSEMBLY_BLOCK_H
#define QUERN_MODEL_ASSEMBLY_BLOCK_H

#include "base/json.h"
#include "message/message.h"

struct assembly_block {
	int index; /* position in the answer's content */
	enum block_kind kind;
	bool stopped;
	char *start; /* the object it started with */
	size_t start_len;
	struct buf text; /* text, thinking, or streamed tool input */
	struct buf signature;
	struct buf citations; /* raw values, comma separated */
	struct buf members;   /* raw members that deltas set on a block of another kind: ,"key":value... */
	unsigned set;         /* which ones: bits of member_keys[] */
};

/* Takes the start event's content_block. -1 with *e: it is no object, or no memory; b is released then. */
int assembly_block_start(struct assembly_block *b, int index, const struct json *doc, int tok, struct error *e);
/* A delta that is unknown or does not fit the block is ignored. -1: no memory, or too large. */
int assembly_block_delta(struct assembly_block *b, const struct json *doc, int delta, struct error *e);
/* The finished block, one reference for the caller; NULL with *e. b is released. */
struct block *assembly_block_finish(struct assembly_block *b, struct error *e);
void assembly_block_release(struct assembly_block *b);

#endif
