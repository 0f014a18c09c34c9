/* Files by pattern: '*', '?' and '[...]' within a name, '**' for any directories. */
#ifndef QUERN_PROMPT_PATTERN_H
#define QUERN_PROMPT_PATTERN_H

#include <stdbool.h>

#include "base/error.h"

bool pattern_is(const char *text); /* is there anything in it but a plain path? */

/* Calls each for every path that fits and is no directory, in the order of their bytes: relative to base if the pattern
 * is, else absolute. Hidden names fit only what begins with a dot; '**' goes neither into hidden directories nor
 * through links. Ends when each returns other than 0. 0; -1 with *e: no memory, more than can be looked at, or what
 * each said. */
int pattern_find(const char *base, const char *pattern, int (*each)(void *ctx, const char *path, struct error *e),
                 void *ctx, struct error *e);

#endif
