/* Any schema with any value: the input is a schema, a NUL or line feed, and a value. The verdict with words is the one
 * without, what does not fit has a reason, and all of it ends. */
#include <stdlib.h>
#include <string.h>

#include "base/json_schema.h"
#include "base/utf8.h"

#define REQUIRE(what) ((what) ? (void)0 : abort())

static void check(const struct json_schema *s, const char *text, size_t n)
{
	struct json doc;
	struct buf why = BUF_INIT(BUF_HUGE);

	if (json_parse(&doc, text, n, JSON_REPAIR, NULL) < 0)
		return;
	bool fits = json_schema_check(s, &doc, json_root(&doc), "input", &why);
	REQUIRE(fits == json_schema_check(s, &doc, json_root(&doc), "input", NULL));
	REQUIRE(fits == (why.len == 0));
	REQUIRE(utf8_valid(buf_str(&why), why.len, NULL));
	buf_release(&why);
	json_release(&doc);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data, *end = text + size;
	const char *cut = memchr(text, '\0', size);
	struct error e = ERROR_INIT;

	if (!cut)
		cut = memchr(text, '\n', size);
	if (!cut)
		cut = end;
	struct json_schema *s = json_schema_compile(text, (size_t)(cut - text), &e);
	REQUIRE(s || e.msg[0]);
	if (s && cut < end)
		check(s, cut + 1, (size_t)(end - cut - 1));
	json_schema_free(s);
	return 0;
}
