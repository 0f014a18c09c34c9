/* What pictures and documents cost: their bytes say nothing about their tokens. */
#ifndef QUERN_MESSAGE_MEDIA_H
#define QUERN_MESSAGE_MEDIA_H

#include <stddef.h>

#include "base/json.h"

/* Weight in bytes (4 a token) of the block at tok, whose own text has raw_len bytes. Media inside a tool_result count
 * too. */
size_t media_weight(const struct json *doc, int tok, size_t raw_len);

#endif
