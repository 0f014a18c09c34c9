/* SHA-256 (FIPS 180-4) as text: what jobs, prompts, requests and files are told apart by. */
#ifndef QUERN_BASE_DIGEST_H
#define QUERN_BASE_DIGEST_H

#include <stddef.h>
#include <stdint.h>

#define DIGEST_BYTES 32
#define DIGEST_HEX   64 /* characters, lower case */

/* Counts bytes as they come. A copy of the struct goes on by itself, so that the digest so far can be had at any time:
 * digest_hex works on a copy. */
struct digest {
	uint64_t state[26]; /* private: the library's */
};

void digest_init(struct digest *d);
void digest_add(struct digest *d, const void *p, size_t n);
/* The digest of all that was added up to now; more may be added afterwards. */
void digest_bytes(const struct digest *d, unsigned char out[DIGEST_BYTES]);
void digest_hex(const struct digest *d, char out[DIGEST_HEX + 1]);
/* Of bytes that were kept as such. */
void digest_to_hex(const unsigned char bytes[DIGEST_BYTES], char out[DIGEST_HEX + 1]);
/* Of one piece. */
void digest_of(const void *p, size_t n, char out[DIGEST_HEX + 1]);

#endif
