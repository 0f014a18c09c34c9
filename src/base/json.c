/* From text to tokens: validate, repair, tokenise, link. The accessors are in json_get.c. */
#define JSMN_BODIES
#include "base/json_private.h"

#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

/* Every lone surrogate escape becomes \ufffd, which has the same length. */
static void replace_lone_escapes(char *text, size_t len)
{
	static const char fffd[4] = { 'f', 'f', 'f', 'd' };

	for (size_t i = 0; i + 1 < len;) {
		if (text[i] != '\\') {
			i++;
			continue;
		}
		if (text[i + 1] != 'u') {
			i += 2;
			continue;
		}
		unsigned u = json_hex4(text + i + 2);
		bool high = u >= 0xD800 && u <= 0xDBFF;
		bool pair = false;
		if (high && len - i >= 12 && text[i + 6] == '\\' && text[i + 7] == 'u') {
			unsigned low = json_hex4(text + i + 8);
			pair = low >= 0xDC00 && low <= 0xDFFF;
		}
		if (!pair && u >= 0xD800 && u <= 0xDFFF)
			memcpy(text + i + 2, fffd, sizeof fffd);
		i += pair ? 12 : 6;
	}
}

/* The document's own text. Repair happens here, on the copy, so that raw slices are clean as well. */
static int copy_text(struct json *doc, const char *text, size_t len, bool repair, struct error *e)
{
	struct buf b = BUF_INIT((size_t)INT32_MAX);

	if (repair)
		utf8_repair(&b, text, len);
	else
		buf_add(&b, text, len);
	if (b.failed) {
		buf_check(&b, "the repaired text", e);
		buf_release(&b);
		return -1;
	}
	doc->own = buf_take(&b, &doc->len);
	if (!doc->own)
		return error_nomem(e);
	if (repair)
		replace_lone_escapes(doc->own, doc->len);
	doc->text = doc->own;
	return 0;
}

/* jsmn wants a byte behind a number or word at the end of the text, which may not be there: such a root is the one
 * token. */
static bool lone_primitive(const struct json *doc, jsmntok_t *t)
{
	size_t start = 0;
	size_t end = doc->len;

	while (strchr(" \t\r\n", doc->text[start]))
		start++;
	if (strchr("{[\"", doc->text[start]))
		return false;
	while (strchr(" \t\r\n", doc->text[end - 1]))
		end--;
	*t = (jsmntok_t){ .type = JSMN_PRIMITIVE, .start = (int)start, .end = (int)end, .parent = -1 };
	return true;
}

static int tokenise(struct json *doc, size_t ntokens, struct error *e)
{
	jsmntok_t *t = malloc(ntokens * sizeof *t);

	if (!t)
		return error_nomem(e);
	doc->tokens = t;
	doc->ntokens = (int)ntokens;
	if (ntokens == 1 && lone_primitive(doc, t))
		return 0;
	jsmn_parser p;
	jsmn_init(&p);
	int n = jsmn_parse(&p, doc->text, doc->len, t, (unsigned)ntokens);
	if (n != (int)ntokens)
		return error_set(e, ERR_BUG, "the tokeniser found %d values where the validator found %zu", n, ntokens);
	return 0;
}

/*
 * Turns each token's parent link into a link to its next sibling, so that going through a container
 * is linear whatever its members hold. The stack holds the tokens from the root to the last one seen,
 * each with its latest child; a key is the parent of its value, hence two levels a container.
 */
static void link_siblings(struct json *doc)
{
	struct {
		int tok, last;
	} stack[2 * JSON_MAX_DEPTH + 2];
	jsmntok_t *t = doc->tokens;
	int top = 0;

	stack[0].tok = -1;
	stack[0].last = -1;
	for (int i = 0; i < doc->ntokens; i++) {
		int parent = t[i].parent;
		while (top > 0 && stack[top].tok != parent)
			top--;
		if (stack[top].last >= 0)
			t[stack[top].last].parent = i;
		stack[top].last = i;
		t[i].parent = -1;
		top++;
		stack[top].tok = i;
		stack[top].last = -1;
	}
}

static int parse(struct json *doc, const char *text, size_t len, unsigned flags, struct error *e)
{
	struct json_scan scan;

	if (json_scan(text, len, flags, &scan, e))
		return -1;
	text += scan.start;
	len -= scan.start;
	if ((flags & JSON_BORROW) && !scan.needs_repair) {
		doc->text = text;
		doc->len = len;
	} else if (copy_text(doc, text, len, scan.needs_repair, e)) {
		return -1;
	}
	if (tokenise(doc, scan.ntokens, e))
		return -1;
	link_siblings(doc);
	return flags & JSON_UNIQUE ? json_refuse_duplicates(doc, scan.start, e) : 0;
}

int json_parse(struct json *doc, const char *text, size_t len, unsigned flags, struct error *e)
{
	*doc = (struct json)JSON_INIT;
	if (parse(doc, text, len, flags, e)) {
		json_release(doc);
		return -1;
	}
	return 0;
}

int json_validate(const char *text, size_t len, unsigned flags, size_t *ntokens, struct error *e)
{
	struct json_scan scan;

	/* duplicate keys can only be seen with the tokens at hand */
	if (flags & JSON_UNIQUE) {
		struct json doc;
		if (json_parse(&doc, text, len, flags | JSON_BORROW, e))
			return -1;
		scan.ntokens = (size_t)doc.ntokens;
		json_release(&doc);
	} else if (json_scan(text, len, flags, &scan, e)) {
		return -1;
	}
	if (ntokens)
		*ntokens = scan.ntokens;
	return 0;
}

void json_release(struct json *doc)
{
	free(doc->own);
	free(doc->tokens);
	*doc = (struct json)JSON_INIT;
}
