/* Pictures and documents: which there are, and what they cost, since their bytes say nothing about their tokens. */
#ifndef QUERN_MESSAGE_MEDIA_H
#define QUERN_MESSAGE_MEDIA_H

#include <stddef.h>

#include "base/json.h"

/* Of a picture; 5 MiB in base64, which every provider takes. */
#define MEDIA_IMAGE_MOST ((size_t)5 * 1024 * 1024 / 4 * 3)

/* The media type of what begins so (12 bytes tell), if it is a picture or a document that the API takes; else NULL. */
const char *media_type(const char *head, size_t n);

/* Weight in bytes (4 a token) of the block at tok, whose own text has raw_len bytes. Media inside a tool_result count
 * too. */
size_t media_weight(const struct json *doc, int tok, size_t raw_len);

#endif
