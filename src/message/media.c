#include "message/media.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define BYTES_PER_TOKEN      4
#define IMAGE_TOKENS_MAX     4784 /* larger pictures are scaled down by the server to this */
#define IMAGE_TOKENS_UNKNOWN 1600 /* where the size cannot be seen */
#define IMAGE_TILE           28   /* a token covers a square of this many pixels */
#define PAGE_TOKENS          2000
#define PAGE_BASE64_BYTES    65536 /* a guess at a page of a scanned or typeset document */
#define PNG_HEADER_BASE64    32    /* holds the 24 bytes up to width and height */

const char *media_type(const char *head, size_t n)
{
	static const struct {
		size_t at, n;
		const char *magic, *type;
	} rows[] = {
		{ 0, 8, "\x89PNG\r\n\x1a\n", "image/png" },
		{ 0, 3, "\xFF\xD8\xFF", "image/jpeg" },
		{ 0, 6, "GIF87a", "image/gif" },
		{ 0, 6, "GIF89a", "image/gif" },
		{ 8, 4, "WEBP", "image/webp" },
		{ 0, 5, "%PDF-", "application/pdf" },
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if (n >= rows[i].at + rows[i].n && !memcmp(head + rows[i].at, rows[i].magic, rows[i].n) &&
		    (rows[i].at == 0 || !memcmp(head, "RIFF", 4)))
			return rows[i].type;
	return NULL;
}

static int base64_value(char c)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const char *at = c ? strchr(digits, c) : NULL;

	return at ? (int)(at - digits) : -1;
}

static bool decode_header(const char *b64, unsigned char out[PNG_HEADER_BASE64 / 4 * 3])
{
	for (size_t i = 0; i < PNG_HEADER_BASE64; i += 4) {
		uint32_t word = 0;
		for (size_t k = 0; k < 4; k++) {
			int v = base64_value(b64[i + k]);
			if (v < 0)
				return false;
			word = word << 6 | (uint32_t)v;
		}
		out[i / 4 * 3] = (unsigned char)(word >> 16);
		out[i / 4 * 3 + 1] = (unsigned char)(word >> 8 & 0xFF);
		out[i / 4 * 3 + 2] = (unsigned char)(word & 0xFF);
	}
	return true;
}

static uint32_t big_endian(const unsigned char *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* Screenshots are PNG, and a PNG's size is at a fixed place. */
static size_t image_tokens(const char *b64, size_t n)
{
	unsigned char head[PNG_HEADER_BASE64 / 4 * 3];

	if (n < PNG_HEADER_BASE64 || !decode_header(b64, head) || memcmp(head, "\x89PNG\r\n\x1a\n", 8) != 0)
		return IMAGE_TOKENS_UNKNOWN;
	uint64_t across = ((uint64_t)big_endian(head + 16) + IMAGE_TILE - 1) / IMAGE_TILE;
	uint64_t down = ((uint64_t)big_endian(head + 20) + IMAGE_TILE - 1) / IMAGE_TILE;
	uint64_t tokens = across * down;
	return tokens < IMAGE_TOKENS_MAX ? (size_t)tokens : IMAGE_TOKENS_MAX;
}

static size_t document_weight(const struct json *doc, int source, size_t raw_len)
{
	if (json_eq(doc, json_get(doc, source, "type"), "text"))
		return raw_len;
	size_t n;
	json_raw(doc, json_get(doc, source, "data"), &n);
	return (n / PAGE_BASE64_BYTES + 1) * PAGE_TOKENS * BYTES_PER_TOKEN;
}

static size_t content_weight(const struct json *doc, int content, size_t raw_len)
{
	size_t weight = raw_len;

	if (json_type(doc, content) != JSON_ARRAY)
		return raw_len;
	for (int tok = json_first(doc, content); tok >= 0; tok = json_next(doc, content, tok)) {
		size_t n;
		json_raw(doc, tok, &n);
		int type = json_get(doc, tok, "type");
		if (json_eq(doc, type, "image") || json_eq(doc, type, "document"))
			weight += media_weight(doc, tok, n) - n; /* the sum stays above 0: n is part of weight */
	}
	return weight;
}

size_t media_weight(const struct json *doc, int tok, size_t raw_len)
{
	int type = json_get(doc, tok, "type");
	int source = json_get(doc, tok, "source");

	if (json_eq(doc, type, "image")) {
		size_t n;
		const char *data = json_raw(doc, json_get(doc, source, "data"), &n);
		/* behind the opening quote */
		return (n > 1 ? image_tokens(data + 1, n - 1) : IMAGE_TOKENS_UNKNOWN) * BYTES_PER_TOKEN;
	}
	if (json_eq(doc, type, "document"))
		return document_weight(doc, source, raw_len);
	if (json_eq(doc, type, "tool_result"))
		return content_weight(doc, json_get(doc, tok, "content"), raw_len);
	return raw_len;
}
