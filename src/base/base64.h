/* Base64 with padding, as the API takes pictures and documents. */
#ifndef QUERN_BASE_BASE64_H
#define QUERN_BASE_BASE64_H

#include "base/buf.h"

int base64_add(struct buf *out, const void *bytes, size_t n); /* as buf_add */

#endif
