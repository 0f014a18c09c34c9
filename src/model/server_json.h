/* JSON from a server, made fit to be handed on in requests and in one-line records. */
#ifndef QUERN_MODEL_SERVER_JSON_H
#define QUERN_MODEL_SERVER_JSON_H

#include "base/json.h"

/* json_parse with repair. In the document's text lone surrogate escapes are \ufffd and line ends between tokens are
 * spaces, so that every raw slice of it is valid for strict readers and holds no line end. The text must outlive doc. */
int server_json_parse(struct json *doc, const char *text, size_t len, struct error *e);

#endif
