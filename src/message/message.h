/*
 * The conversation: blocks in messages in a history. A block is serialised once, when it is
 * made, in the Messages API's own form; requests and events hold those bytes. All three are
 * counted heap objects: *_ref adds an owner, *_unref drops one and frees at zero; NULL is fine.
 *
 * A history grows, and a step of the context pipeline puts a smaller one in its place (history_exchange). Invariants
 * (history_check verifies them): roles alternate, the first message is the user's, no message is empty, every tool_use
 * is answered by exactly one tool_result, first in the next user message.
 */
#ifndef QUERN_MESSAGE_MESSAGE_H
#define QUERN_MESSAGE_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/json.h"

enum block_kind {
	BLOCK_TEXT,
	BLOCK_THINKING, /* needs its signature to be kept */
	BLOCK_REDACTED_THINKING,
	BLOCK_TOOL_USE,
	BLOCK_TOOL_RESULT,
	BLOCK_IMAGE,
	BLOCK_DOCUMENT,
	BLOCK_OTHER /* a type we do not know: raw JSON kept and echoed */
};

struct block {
	int refs;
	enum block_kind kind;
	char *json; /* the serialised object, "{...}", in one line, NUL terminated */
	size_t json_len;
	char *id;        /* tool_use: id; tool_result: tool_use_id; else NULL */
	char *name;      /* tool_use: tool name; else NULL */
	char *input;     /* tool_use: the input object as JSON text; else NULL */
	char *bad_input; /* tool_use whose streamed input was no JSON object, or had a key twice: the raw text (input is
	                    "{}"); else NULL */
	char *text;      /* text: decoded; thinking: the signature ("" = unsigned); else NULL */
	size_t text_len; /* also of a tool_result, whose text is decoded when it is asked for: most of what a long
	                    conversation holds is in results, and would be held twice */
	bool is_error; /* tool_result */
	bool cleared;  /* tool_result: a line of ours stands for what the tool returned */
	size_t weight; /* bytes for the token estimate: json_len, but pictures and documents by what they cost */
};

/* Constructors return a block with one reference, NULL when out of memory (or, from_json, on bad input). */
struct block *block_new_text(const char *text, size_t n);
/* content is text; empty content with is_error gets the text "Error". */
struct block *block_new_tool_result(const char *tool_use_id, const char *text, size_t n, bool is_error);
/* A tool_result whose content is an array of ready content blocks (images): `content_json` = "[...]". */
struct block *block_new_tool_result_json(const char *tool_use_id, const char *content_json, size_t n);
/* A tool_use made from its parts; input_json must be a JSON object's text and is kept byte for byte. */
struct block *block_new_tool_use(const char *id, const char *name, const char *input_json, size_t n);
/* Takes an object as the API sent it and keeps its bytes, but for line breaks, which become spaces, and what no request
 * may hold: ill-formed UTF-8 and lone surrogate escapes become U+FFFD, a tool_use input that is no object, or has a key
 * twice, becomes {} (see bad_input). */
struct block *block_from_json(const char *json, size_t n, struct error *e);
struct block *block_from_token(const struct json *doc, int tok, struct error *e); /* the same of a part of doc */
/* A copy of a tool_use (or tool_result) under another id (an id already in history is renamed on entry). */
struct block *block_with_id(const struct block *b, const char *id);
/* The text of a tool_result, with a NUL behind its text_len bytes: the caller frees it. NULL: no memory. */
char *block_result_text(const struct block *b);
struct block *block_ref(struct block *b);
void block_unref(struct block *b);
/* Text that is empty or only white space: never stored or sent. */
bool block_is_blank(const struct block *b);
bool block_is_thinking(const struct block *b); /* redacted or not */

enum role { ROLE_USER, ROLE_ASSISTANT };

struct message {
	int refs;
	enum role role;
	struct block **blocks;
	size_t n, cap;
};

struct message *message_new(enum role role);
/* Appends; takes the caller's reference to b (also on failure). 0 or -1 (out of memory). */
int message_add(struct message *m, struct block *b);
/* A message of its own with the same blocks; NULL when out of memory. */
struct message *message_copy(const struct message *m);
/* Puts `now` in the place of block k of *m, which becomes a copy first if others hold it too. Takes no reference. -1:
 * no memory, all is as it was. */
int message_replace(struct message **m, size_t k, struct block *now);
struct message *message_ref(struct message *m);
void message_unref(struct message *m);
bool message_has_tool_use(const struct message *m);
/* A call of a tool of the server's own. */
bool block_is_server_call(const struct block *b);
/* Does it hold such a call without its result? Behind it the API takes nothing but tool_results, or what its server
 * goes on with. */
bool message_awaits_server(const struct message *m);

struct history {
	struct message **v;
	size_t n, cap;
	size_t bytes;       /* of all serialised blocks */
	size_t weight;      /* of all blocks, for the token estimate */
	struct id_set *ids; /* private: the ids of all calls that are or ever were in it */
	size_t edits;       /* counts up with each change that is not something new at the end */
};

#define HISTORY_INIT                                                                                                   \
	{                                                                                                              \
		NULL, 0, 0, 0, 0, NULL, 0                                                                              \
	}

/* Appends; takes the caller's reference to m (also on failure). A message behind one of the same role is
 * merged into it (a turn that the API paused goes on in the same message), so roles alternate by construction. -1: out
 * of memory, or m is empty. */
int history_add(struct history *h, struct message *m);
/* Adds one block to the last message if that is the user's, else as a new user message. Takes the reference. */
int history_add_user_block(struct history *h, struct block *b);
/* Takes the server's calls without a result out of the last answer, so that other things may follow it; one that was
 * nothing else vanishes, if it is the last message. 1: there were some, 0: none, -1: out of memory. */
int history_drop_server_calls(struct history *h);
/* Adds the messages [from, to) of h, which both then share. -1: out of memory. */
int history_copy(struct history *out, const struct history *h, size_t from, size_t to);
/* The edit: *draft, which holds nothing but calls of h, becomes the conversation, and what h was is in *draft for the
 * caller to look at and release. h goes on to know the ids of all calls that it ever had. Cannot fail. */
void history_exchange(struct history *h, struct history *draft);
/* The small edit: puts `now`, whose reference is taken, in the place of block k of message i. -1: no memory. */
int history_replace(struct history *h, size_t i, size_t k, struct block *now);
/* True if a tool_use with that id is, or ever was, in the history. */
bool history_has_tool_use(const struct history *h, const char *id);
/* Checks the invariants above; -1 with *e naming the message and block. Ids of unanswered calls are an error
 * unless they are in the last message and `open_end`. */
int history_check(const struct history *h, bool open_end, struct error *e);
void history_release(struct history *h);

/* Token use of one answer, as the API counts it. -1 = not told. */
struct usage {
	int64_t input, output, cache_creation, cache_read;
	int64_t creation_5m, creation_1h;
	int64_t web_searches;
	bool fast; /* usage.speed said "fast" */
};
#define USAGE_UNKNOWN                                                                                                  \
	{                                                                                                              \
		-1, -1, -1, -1, -1, -1, -1, false                                                                      \
	}
/* Values not told count as 0; sums saturate instead of overflowing. */
void usage_add(struct usage *sum, const struct usage *u);
/* From an object as the API writes it. Later words overwrite earlier ones, they are totals; what is absent, negative or
 * no number that fits says nothing. */
void usage_read(struct usage *u, const struct json *doc, int tok);
int64_t usage_total(const struct usage *u); /* input + cache creation + cache read + output, saturating */

/* Sizes of prompts are taken for no larger than that, whatever a server says: a few of them can be added up. */
#define TOKENS_MOST ((int64_t)1 << 60)

/* The token estimate: anchored in the last answer's usage, bytes/ratio for what was added since. */
struct estimate {
	int64_t anchor_tokens; /* -1 = no anchor yet */
	size_t anchor_bytes;   /* the history's weight when it was taken */
	int bytes_per_token;   /* 4, or 3 for newer tokenizers */
};
/* Called when the answer is in the history. A usage that does not tell the input leaves the anchor as it was. */
void estimate_anchor(struct estimate *est, const struct usage *u, const struct history *h);
/* fixed_bytes (system, tools) count only while there is no anchor: an anchor holds them already. At most TOKENS_MOST.
 */
int64_t estimate_tokens(const struct estimate *est, const struct history *h, size_t fixed_bytes);

#endif
