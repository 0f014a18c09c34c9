#include "base/base64.h"

int base64_add(struct buf *out, const void *bytes, size_t n)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const unsigned char *p = bytes;

	if (buf_reserve(out, (n + 2) / 3 * 4))
		return -1;
	for (size_t i = 0; i < n; i += 3) {
		size_t have = n - i < 3 ? n - i : 3;
		unsigned v = (unsigned)p[i] << 16 | (have > 1 ? (unsigned)p[i + 1] << 8 : 0) |
		             (have > 2 ? p[i + 2] : 0);
		char quad[4] = { digits[v >> 18], digits[v >> 12 & 63], have > 1 ? digits[v >> 6 & 63] : '=',
			         have > 2 ? digits[v & 63] : '=' };
		buf_add(out, quad, 4);
	}
	return out->failed ? -1 : 0;
}
