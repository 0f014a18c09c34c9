#include "base/digest.h"

#include <sha2.h>

_Static_assert(sizeof(SHA2_CTX) <= sizeof(struct digest), "struct digest is too small");
_Static_assert(_Alignof(SHA2_CTX) <= _Alignof(struct digest), "struct digest is not aligned");

static SHA2_CTX *ctx_of(struct digest *d)
{
	return (SHA2_CTX *)(void *)d->state;
}

void digest_init(struct digest *d)
{
	*d = (struct digest){ { 0 } };
	SHA256Init(ctx_of(d));
}

void digest_add(struct digest *d, const void *p, size_t n)
{
	if (n)
		SHA256Update(ctx_of(d), p, n);
}

void digest_bytes(const struct digest *d, unsigned char out[DIGEST_BYTES])
{
	struct digest copy = *d;

	SHA256Final(out, ctx_of(&copy));
}

void digest_hex(const struct digest *d, char out[DIGEST_HEX + 1])
{
	unsigned char bytes[DIGEST_BYTES];

	digest_bytes(d, bytes);
	digest_to_hex(bytes, out);
}

void digest_to_hex(const unsigned char bytes[DIGEST_BYTES], char out[DIGEST_HEX + 1])
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < DIGEST_BYTES; i++) {
		out[2 * i] = digits[bytes[i] >> 4];
		out[2 * i + 1] = digits[bytes[i] & 15];
	}
	out[DIGEST_HEX] = '\0';
}

void digest_of(const void *p, size_t n, char out[DIGEST_HEX + 1])
{
	struct digest d;

	digest_init(&d);
	digest_add(&d, p, n);
	digest_hex(&d, out);
}
