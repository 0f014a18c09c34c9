#include "model/server_json.h"

#include <string.h>

static bool has_line_end(const char *p, size_t n)
{
	return n && (memchr(p, '\n', n) || memchr(p, '\r', n));
}

int server_json_parse(struct json *doc, const char *text, size_t len, struct error *e)
{
	if (!has_line_end(text, len))
		return json_parse(doc, text, len, JSON_REPAIR | JSON_BORROW, e);
	if (json_parse(doc, text, len, JSON_REPAIR, e))
		return -1;
	/* In valid JSON they stand between tokens only. */
	for (size_t i = 0; i < doc->len; i++)
		if (doc->own[i] == '\n' || doc->own[i] == '\r')
			doc->own[i] = ' ';
	return 0;
}
