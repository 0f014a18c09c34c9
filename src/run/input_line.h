/* One line of stream-json input (private to run/). */
#ifndef QUERN_RUN_INPUT_LINE_H
#define QUERN_RUN_INPUT_LINE_H

#include "run/input.h"

enum input_line_kind {
	INPUT_LINE_NONE,    /* no JSON object */
	INPUT_LINE_USER,    /* .message */
	INPUT_LINE_CONTROL, /* .doc: a request */
	INPUT_LINE_IGNORED  /* a sign of life, an answer to a request that we did not make */
};

struct input_line {
	enum input_line_kind kind;
	struct json doc; /* borrows the line */
	struct input_message *message;
};

/* What the line is. -1 with *e (ERR_INPUT: what is wrong with it; ERR_NOMEM). The caller releases doc and message. */
int input_line_read(struct input_line *out, const struct buf *line, struct error *e);

#endif
