#include "prompt/mention.h"

#include <stdlib.h>
#include <string.h>

#define MENTIONS_MOST 1000 /* looked at */

static bool is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* The path that follows the '@' at text[at], its length in *len; where the text goes on. */
static size_t scan(const char *text, size_t n, size_t at, size_t *begin, size_t *len)
{
	size_t end = at + 1;

	*begin = end;
	if (end < n && text[end] == '"') {
		const char *close = memchr(text + end + 1, '"', n - end - 1);
		if (close && !memchr(text + end, '\n', (size_t)(close - text) - end)) {
			*begin = end + 1;
			*len = (size_t)(close - text) - *begin;
			return *begin + *len + 1;
		}
	}
	while (end < n && !is_space(text[end]))
		end++;
	*len = end - *begin;
	return end;
}

/* The longest of the path and what is left without the punctuation at its end that is there. */
static int attach(struct attachments *a, const char *path, size_t len, bool quoted, struct error *e)
{
	char *copy = strndup(path, len);
	int rc = 0;

	if (!copy)
		return error_nomem(e);
	while (rc == 0 && len > 0) {
		rc = attach_mention(a, copy, e);
		if (quoted || !strchr(".,;:!?)]}>'\"", copy[len - 1]))
			break;
		copy[--len] = '\0';
	}
	free(copy);
	return rc < 0 ? -1 : 0;
}

int mention_find(struct attachments *a, const char *text, size_t n, struct error *e)
{
	size_t looked = 0;

	for (size_t at = 0; at < n && looked < MENTIONS_MOST;) {
		size_t begin, len;
		if (text[at] != '@' || (at && !is_space(text[at - 1]) && !strchr("([{<\"'", text[at - 1]))) {
			at++;
			continue;
		}
		size_t next = scan(text, n, at, &begin, &len);
		if (len && len < PLACE_PATH) {
			looked++;
			if (attach(a, text + begin, len, text[begin - 1] == '"', e))
				return -1;
		}
		at = next;
	}
	return 0;
}
