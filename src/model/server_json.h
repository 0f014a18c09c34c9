/* JSON from a server, made fit to be handed on in requests and in one-line records. */
#ifndef QUERN_MODEL_SERVER_JSON_H
#define QUERN_MODEL_SERVER_JSON_H

#include "base/json.h"

/* json_parse with repair (base/json.h). Besides, line ends between tokens become spaces, so that every raw slice of the
 * document is valid for strict readers and stands on one line. The text must outlive doc. */
int server_json_parse(struct json *doc, const char *text, size_t len, struct error *e);

#endif
