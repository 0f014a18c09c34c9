/*
 * The content of a user message as the Messages API and the SDKs write it: a text, or an array of text, image and
 * document blocks. What comes from outside is looked at closely and written anew, so that a request holds nothing that
 * its server would refuse for its form: no empty text, no broken base64, no members that are not the user's to set.
 */
#ifndef QUERN_MESSAGE_USER_JSON_H
#define QUERN_MESSAGE_USER_JSON_H

#include "base/json.h"
#include "message/message.h"

/* The message of role user with that content, with one reference; blocks of blank text are left out, and if nothing
 * else is there the message has no blocks. NULL with *e: ERR_INPUT "message.content[1].source.data: is no base64",
 * ERR_NOMEM. */
struct message *user_json_read(const struct json *doc, int content, struct error *e);

#endif
