#include "base/random.h"

#include <stdio.h>
#include <sys/random.h>

void random_bytes(void *p, size_t n)
{
	unsigned char *at = p;

	while (n) {
		ssize_t got = getrandom(at, n, 0);
		if (got < 0)
			continue; /* interrupted: it cannot fail otherwise for so few bytes */
		at += got;
		n -= (size_t)got;
	}
}

void random_uuid(char out[UUID_LEN + 1])
{
	unsigned char b[16];

	random_bytes(b, sizeof b);
	b[6] = (unsigned char)((b[6] & 0x0F) | 0x40);
	b[8] = (unsigned char)((b[8] & 0x3F) | 0x80);
	snprintf(out, UUID_LEN + 1, "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", b[0], b[1],
	         b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13], b[14], b[15]);
}
