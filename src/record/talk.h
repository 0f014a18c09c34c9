/*
 * What a reader of the events knows of the conversation. The writer keeps one beside the real conversation and asks it
 * before each request of the main model: whatever the reader could not know is told by a quern_history event; a resume
 * reads the lines with the very same rules. So the two cannot come apart.
 *
 * The rules. An assistant line (not a synthetic one) adds its block to the answer, a user line (not one that is shown
 * again, isReplay) adds its block to the user's message; a line of the same role as the one before continues its
 * message; blank text is no block. A tombstone takes back the blocks of the lines it names. A quern_history event says
 * what the whole conversation is now: a list of
 *     {"old": [FROM, TO]}                       messages of the conversation so far, [FROM, TO)
 *     {"role": R, "content": [ITEM, ...]}       ITEM: a block as in a request, {"old": [MESSAGE, BLOCK]}, or
 *                                               {"cleared": BLOCK}, a line of ours in the place of a result
 * in which neighbours of one role are one message (nothing is merged by the reader: each entry is a message).
 *
 * Life cycle: TALK_INIT -> talk_line, talk_withdraw, talk_set... -> talk_release. It shares blocks with the real one.
 */
#ifndef QUERN_RECORD_TALK_H
#define QUERN_RECORD_TALK_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/json.h"
#include "base/random.h"
#include "message/message.h"

struct talk_named { /* a line whose block may still be taken back */
	char uuid[UUID_LEN + 1];
	struct block *block; /* borrowed from the history */
};

/* Lines of an answer that is coming in, while something is told that stands in front of it. */
struct talk_lifted {
	struct talk_named *v; /* owned; with a reference to each block */
	size_t n;
};

struct talk {
	struct history history;
	struct talk_named *named; /* since the last request; owned */
	size_t nnamed, named_cap;
	bool open;        /* an answer is coming in: its end (a line with a stop_reason) was not seen */
	size_t open_from; /* its lines are those that are named from there on */
	/* the real conversation as it was when the two were last seen to be equal: so that asking costs what a turn
	 * added, and not the whole conversation */
	size_t same_messages, same_blocks;
	size_t same_edits;
};

#define TALK_INIT                                                                                                      \
	{                                                                                                              \
		.history = HISTORY_INIT                                                                                \
	}

/* A line with that block, or without any (NULL). `ends`: it has the stop_reason of its answer. Takes no reference of
 * the caller's. -1: no memory. */
int talk_line(struct talk *t, enum role role, const char *uuid, struct block *b, bool ends);
/* A tombstone. */
void talk_withdraw(struct talk *t, const char *uuid);
/* 0: it is the real conversation, the reader knows all of it (the next lines are of a new answer). 1: it is not, `out`
 * gets the list that a quern_history event carries, and the talk is that now. 2: `out` gets a list of the first
 * messages alone, and the rest is to be asked for next: a long conversation of which nothing is known is told in pieces
 * of about `most` bytes, and never held as one text. -1: no memory. */
int talk_tell(struct talk *t, const struct history *real, size_t most, struct buf *out);
/* Takes the answer off whose lines are coming in: what is told or set meanwhile is what stands in front of it. -1: no
 * memory, and nothing is taken off. */
int talk_lift(struct talk *t, struct talk_lifted *lifted);
/* And puts it back. -1: no memory. */
int talk_put_back(struct talk *t, struct talk_lifted *lifted);
/* The reader's part: takes the list over. -1 with *e: no memory, or it says what cannot be. */
int talk_set(struct talk *t, const struct json *doc, int list, struct error *e);
void talk_release(struct talk *t);

#endif
