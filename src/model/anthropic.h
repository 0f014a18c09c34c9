/* The Messages API over HTTP, as Anthropic and compatible servers speak it. */
#ifndef QUERN_MODEL_ANTHROPIC_H
#define QUERN_MODEL_ANTHROPIC_H

#include "model/model.h"

extern const struct wire anthropic_wire;

/* The URL of the messages endpoint: "/v1/messages" behind a base that may end in "/" or "/v1". malloc'ed; NULL with *e
 * (which never shows the URL: it may hold a password) if the base is no http or https URL. */
char *anthropic_url(const char *base_url, struct error *e);

#endif
