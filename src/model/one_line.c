#include "model/one_line.h"

#include <stdbool.h>
#include <string.h>

#include "base/buf.h"
#include "base/utf8.h"

static bool is_space(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

/* C0, DEL, and the C1 set, which terminals obey too. */
static bool is_control(const char *p, size_t n)
{
	unsigned char c = (unsigned char)p[0];

	return c < 0x20 || c == 0x7F || (n == 2 && c == 0xC2 && (unsigned char)p[1] < 0xA0);
}

char *one_line(const char *p, size_t n, size_t max)
{
	struct buf in = BUF_INIT(4 * max + 16);
	struct buf out = BUF_INIT(5 * max + 32);
	bool cut = n > max;

	utf8_repair(&in, p, cut ? utf8_floor(p, n, max) : n);
	for (size_t i = 0; i < in.len;) {
		size_t len = utf8_char_len(in.data + i, in.len - i);
		if (!len)
			len = 1;
		if (is_space(in.data[i])) {
			if (out.len && out.data[out.len - 1] != ' ')
				buf_addc(&out, ' ');
		} else if (is_control(in.data + i, len)) {
			for (size_t k = 0; k < len; k++)
				buf_addf(&out, "\\x%02x", (unsigned)(unsigned char)in.data[i + k]);
		} else {
			buf_add(&out, in.data + i, len);
		}
		i += len;
	}
	if (out.len && out.data[out.len - 1] == ' ')
		buf_cut(&out, out.len - 1);
	if (cut)
		buf_adds(&out, "...");
	buf_release(&in);
	char *line = buf_take(&out, NULL);
	buf_release(&out);
	return line;
}
