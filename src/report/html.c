/* Escaping, cutting, and numbers for people. */
#include "report/html.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

/* Characters that change how others look, or carry text that nobody sees. Sorted. */
static const struct {
	uint32_t from, to;
} unseen[] = {
	{ 0x80, 0x9f },     { 0xad, 0xad },     { 0x61c, 0x61c },     { 0x180e, 0x180e },
	{ 0x200b, 0x200b }, { 0x200e, 0x200f }, { 0x2028, 0x202e },   { 0x2060, 0x206f },
	{ 0xfeff, 0xfeff }, { 0xfff9, 0xfffb }, { 0xe0000, 0xe0fff },
};

static bool is_unseen(uint32_t c)
{
	for (size_t i = 0; i < sizeof unseen / sizeof *unseen && c >= unseen[i].from; i++)
		if (c <= unseen[i].to)
			return true;
	return false;
}

static uint32_t decode(const char *p, size_t len)
{
	static const unsigned char first[] = { 0, 0x7f, 0x1f, 0x0f, 0x07 };
	uint32_t c = (unsigned char)p[0] & first[len];

	for (size_t i = 1; i < len; i++)
		c = c << 6 | ((unsigned char)p[i] & 0x3f);
	return c;
}

/* Bytes of a colour sequence (ESC [ digits and ; m) at p, 0 if it is none. */
static size_t colour_len(const char *p, size_t n)
{
	size_t i = 2;

	if (n < 3 || p[0] != 27 || p[1] != '[')
		return 0;
	while (i < n && i < 32 && ((p[i] >= '0' && p[i] <= '9') || p[i] == ';' || p[i] == ':'))
		i++;
	return i < n && p[i] == 'm' ? i + 1 : 0;
}

static void show_control(struct buf *out, unsigned char c)
{
	/* U+2400 and on: the control pictures */
	buf_adds(out, "<i class=\"c\">");
	utf8_put(out, c == 0x7f ? 0x2421 : 0x2400u + c);
	buf_adds(out, "</i>");
}

/* One character of ASCII. Returns how many bytes it took. */
static size_t put_ascii(struct buf *out, const char *p, size_t n)
{
	size_t skip;

	switch (p[0]) {
	case '&':
		buf_adds(out, "&amp;");
		break;
	case '<':
		buf_adds(out, "&lt;");
		break;
	case '>':
		buf_adds(out, "&gt;");
		break;
	case '"':
		buf_adds(out, "&quot;");
		break;
	case '\'':
		buf_adds(out, "&#39;");
		break;
	case '\r':
		if (n > 1 && p[1] == '\n')
			return 1;
		show_control(out, '\r');
		break;
	case 27:
		skip = colour_len(p, n);
		if (skip)
			return skip;
		show_control(out, 27);
		break;
	default:
		if (((unsigned char)p[0] < 0x20 && p[0] != '\n' && p[0] != '\t') || p[0] == 0x7f)
			show_control(out, (unsigned char)p[0]);
		else
			buf_addc(out, p[0]);
	}
	return 1;
}

/* Bytes that stand for themselves. */
static size_t plain_len(const char *p, size_t n)
{
	size_t i = 0;

	while (i < n && (unsigned char)p[i] >= 0x20 && (unsigned char)p[i] < 0x7f && !strchr("&<>\"'", p[i]))
		i++;
	return i;
}

void html_text(struct buf *out, const char *p, size_t n)
{
	for (size_t i = 0; i < n;) {
		size_t len = plain_len(p + i, n - i);

		if (len) {
			buf_add(out, p + i, len);
			i += len;
			continue;
		}
		if ((unsigned char)p[i] < 0x80) {
			i += put_ascii(out, p + i, n - i);
			continue;
		}
		len = utf8_char_len(p + i, n - i);
		if (!len) {
			utf8_put(out, 0xfffd);
			i += utf8_bad_len(p + i, n - i);
			continue;
		}
		uint32_t c = decode(p + i, len);
		if (is_unseen(c))
			buf_addf(out, "<i class=\"c\">U+%04" PRIX32 "</i>", c);
		else
			buf_add(out, p + i, len);
		i += len;
	}
}

void html_str(struct buf *out, const char *s)
{
	if (s)
		html_text(out, s, strlen(s));
}

/* As html_text but without any element, for attributes as well. */
static void bare_text(struct buf *out, const char *p, size_t n)
{
	for (size_t i = 0; i < n;) {
		size_t len = plain_len(p + i, n - i);
		unsigned char c = (unsigned char)p[i];

		if (len) { /* NOLINT(bugprone-branch-clone): the last case comes behind others */
			buf_add(out, p + i, len);
		} else if (c < 0x20 || c == 0x7f) {
			len = colour_len(p + i, n - i);
			if (!len) {
				utf8_put(out, strchr("\n\r\t", c) && c ? ' ' : c == 0x7f ? 0x2421 : 0x2400u + c);
				len = 1;
			}
		} else if (c < 0x80) {
			len = put_ascii(out, p + i, n - i);
		} else if ((len = utf8_char_len(p + i, n - i)) == 0) {
			utf8_put(out, 0xfffd);
			len = utf8_bad_len(p + i, n - i);
		} else if (is_unseen(decode(p + i, len))) {
			buf_addf(out, "[U+%04" PRIX32 "]", decode(p + i, len));
		} else {
			buf_add(out, p + i, len);
		}
		i += len;
	}
}

void html_line(struct buf *out, const char *p, size_t n, size_t most)
{
	while (n && strchr(" \t\r\n", p[0]) && p[0]) {
		p++;
		n--;
	}
	while (n && strchr(" \t\r\n", p[n - 1]) && p[n - 1])
		n--;
	size_t shown = n > most ? utf8_floor(p, n, most) : n;
	bare_text(out, p, shown);
	if (shown < n)
		buf_adds(out, "…");
}

void html_cut(struct buf *out, const char *p, size_t n, size_t most)
{
	if (n <= most) {
		html_text(out, p, n);
		return;
	}
	size_t head = utf8_floor(p, n, most / 4 * 3);
	size_t tail = utf8_ceil(p, n, n - most / 4);
	html_text(out, p, head);
	buf_adds(out, "</pre><p class=\"cut\">");
	html_bytes(out, (int64_t)(tail - head));
	buf_adds(out, " are left out of this page</p><pre>");
	/* a line feed right behind <pre> would be dropped */
	buf_addc(out, '\n');
	html_text(out, p + tail, n - tail);
}

size_t html_value(struct buf *out, const struct json *doc, int tok, size_t most)
{
	size_t n = 0;
	char *text = json_strdup(doc, tok, &n);

	if (text) {
		html_cut(out, text, n, most);
	} else {
		const char *raw = json_raw(doc, tok, &n);
		if (raw)
			html_cut(out, raw, n, most);
	}
	free(text);
	return n;
}

void html_value_line(struct buf *out, const struct json *doc, int tok, size_t most)
{
	size_t n = 0;
	char *text = json_strdup(doc, tok, &n);

	if (text) {
		html_line(out, text, n, most);
	} else {
		const char *raw = json_raw(doc, tok, &n);
		if (raw)
			html_line(out, raw, n, most);
	}
	free(text);
}

void html_count(struct buf *out, int64_t n)
{
	char digits[32];
	int len = snprintf(digits, sizeof digits, "%" PRId64, n);

	for (int i = 0; i < len; i++) {
		buf_addc(out, digits[i]);
		if (digits[i] != '-' && i + 1 < len && (len - i - 1) % 3 == 0)
			buf_addc(out, ',');
	}
}

void html_short_count(struct buf *out, int64_t n)
{
	static const struct {
		int64_t from;
		const char *unit;
	} units[] = { { 1000000000, "G" }, { 1000000, "M" }, { 1000, "k" } };

	for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
		if (n < units[i].from)
			continue;
		double v = (double)n / (double)units[i].from;
		buf_addf(out, v < 100 ? "%.1f%s" : "%.0f%s", v, units[i].unit);
		return;
	}
	buf_addf(out, "%" PRId64, n);
}

void html_duration(struct buf *out, int64_t ms)
{
	int64_t s = ms / 1000 + (ms % 1000 >= 500);

	if (ms < 1000)
		buf_addf(out, "%" PRId64 " ms", ms < 0 ? 0 : ms);
	else if (ms < 10000)
		buf_addf(out, "%.1f s", (double)ms / 1000);
	else if (s < 60)
		buf_addf(out, "%" PRId64 " s", s);
	else if (s < 3600)
		buf_addf(out, "%" PRId64 " min %" PRId64 " s", s / 60, s % 60);
	else
		buf_addf(out, "%" PRId64 " h %" PRId64 " min", s / 3600, s % 3600 / 60);
}

void html_bytes(struct buf *out, int64_t n)
{
	if (n < 1024)
		buf_addf(out, "%" PRId64 " B", n);
	else if (n < (1 << 20))
		buf_addf(out, "%.1f KiB", (double)n / 1024);
	else
		buf_addf(out, "%.1f MiB", (double)n / (1 << 20));
}

void html_usd(struct buf *out, double usd)
{
	buf_addf(out, usd >= 1 ? "$%.2f" : usd >= 0.001 || usd <= 0 ? "$%.4f" : "$%.6f", usd);
}

void html_time(struct buf *out, const struct json *doc, int tok)
{
	static const char shape[] = "dddd-dd-ddTdd:dd:dd";
	size_t n = 0, i = 0;
	char *text = json_strdup(doc, tok, &n);

	for (i = 0; text && shape[i]; i++) {
		bool fits = shape[i] == 'd' ? text[i] >= '0' && text[i] <= '9' : text[i] == shape[i];
		if (!fits)
			break;
	}
	if (text && !shape[i] && text[n - 1] == 'Z')
		buf_addf(out, "%.10s %.8s UTC", text, text + 11);
	else
		html_value_line(out, doc, tok, SHOW_LINE);
	free(text);
}
