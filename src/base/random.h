/* Numbers that nobody can guess, from the kernel. */
#ifndef QUERN_BASE_RANDOM_H
#define QUERN_BASE_RANDOM_H

#include <stddef.h>

#define UUID_LEN 36

void random_bytes(void *p, size_t n);
/* A random UUID (RFC 9562, version 4) as text. */
void random_uuid(char out[UUID_LEN + 1]);

#endif
