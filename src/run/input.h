/*
 * --input-format stream-json: standard input as lines of JSON, read all the time, whatever the run is doing. User
 * messages wait in a queue, control requests are handed on at once, everything else is told or ignored. When the queue
 * is full nothing is read until something is taken, so that the writer has to wait (private to run/).
 *
 * Life cycle: input_open -> (callbacks inside reactor_wait and the take functions) -> input_free.
 */
#ifndef QUERN_RUN_INPUT_H
#define QUERN_RUN_INPUT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/json.h"
#include "base/random.h"
#include "base/reactor.h"
#include "message/message.h"

#define INPUT_QUEUE_MOST 1024 /* many: an interrupt behind them must be read */

/* In the order in which they are worked on. */
enum input_priority {
	INPUT_NOW,  /* ends the work at hand */
	INPUT_NEXT, /* told to it */
	INPUT_LATER /* waits for its end */
};

struct input_message {
	struct input_message *next;
	struct message *message; /* of role user, not empty; one reference */
	char uuid[UUID_LEN + 1]; /* "" = it has none, or one that is no UUID */
	enum input_priority priority;
	bool silent;  /* shouldQuery: false: it enters the conversation and asks for nothing */
	size_t bytes; /* of its line */
};

struct input_config {
	struct reactor *reactor;
	int fd;                                    /* stays the caller's; -1 = lines come by input_line alone */
	size_t max_line;                           /* of a line, and of all that wait */
	void (*mask)(void *ctx, struct buf *line); /* NULL = no secrets are known */
	void (*queued)(void *ctx, const struct input_message *m);
	void (*control)(void *ctx, const struct json *request); /* a line of type control_request */
	/* What is wrong with a line, "line 3: ..."; the line is dropped. `whole`: it was no JSON object at all. */
	void (*problem)(void *ctx, const char *text, unsigned long line, bool whole);
	/* Behind what came of a line that is one of the two; and once when nothing more can come. NULL = nobody asks.
	 */
	void (*taken)(void *ctx, const struct buf *line);
	void (*ended)(void *ctx);
	void *ctx; /* of the six */
};

struct input;
struct input *input_open(const struct input_config *cfg, struct error *e);
void input_free(struct input *in);

/* A line, as if it had come; and the end. */
void input_line(struct input *in, const char *p, size_t n);
void input_end(struct input *in);

/* The next message to work on, NULL = none waits. The caller's. */
struct input_message *input_take(struct input *in);
/* The next that may be told to the work at hand. */
struct input_message *input_take_attached(struct input *in);
/* One that was taken waits again, the first of its priority. */
void input_put_back(struct input *in, struct input_message *m);
void input_message_free(struct input_message *m);
/* The messages that wait, the next first. */
const struct input_message *input_waiting(const struct input *in);
void input_drop_waiting(struct input *in);
/* True: nothing more will come than what waits. */
bool input_ended(const struct input *in);
/* True: it ended because memory ran out or stdin could not be read; *e says which. */
bool input_failed(const struct input *in, struct error *e);
/* Holds the reading, or goes on with it: somebody cannot take what comes of it. */
void input_pause(struct input *in, bool pause);

#endif
