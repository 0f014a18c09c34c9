/* Known secrets by value: masked once, where text enters history, an event, a log or a spill file. */
#ifndef QUERN_GUARD_SECRET_H
#define QUERN_GUARD_SECRET_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/error.h"

struct secrets;
struct secrets *secrets_new(void);
void secrets_free(struct secrets *s); /* overwrites the values first */
/* Remembers a value; shorter than 8 bytes is not remembered (it would mask ordinary text). -1 = no memory. */
int secrets_add(struct secrets *s, const char *value, size_t n);
/* Replaces every occurrence (plain, and as JSON string content) by "[secret]" in place. Binary safe. */
void secrets_mask(const struct secrets *s, struct buf *text);
/* Checks a key before use: trims white space at both ends (returns 1 if it did), 0 if clean;
 * -1 with *e (value never shown): empty, control characters inside, over 64 KiB. */
int secret_clean_key(struct buf *key, const char *source, struct error *e);
/* True for the names that are kept from tools: contain KEY, TOKEN, SECRET, PASSW or CREDENTIAL, any case. */
bool secret_env_name(const char *name, size_t n);

#endif
