/* Any bytes: validator and tokeniser agree, iteration sees every member, decoded strings survive writing and reading.
 */
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/json_out.h"

#define REQUIRE(what) ((what) ? (void)0 : abort())

static void check_string(const struct json *doc, int tok)
{
	struct json again;
	struct buf quoted = BUF_INIT(BUF_HUGE), decoded = BUF_INIT(BUF_HUGE), second = BUF_INIT(BUF_HUGE);

	REQUIRE(json_str(doc, tok, &decoded) == 0);
	json_quote(&quoted, buf_str(&decoded), decoded.len);
	REQUIRE(json_parse(&again, quoted.data, quoted.len, 0, NULL) == 0 && json_str(&again, 0, &second) == 0);
	REQUIRE(second.len == decoded.len && memcmp(buf_str(&second), buf_str(&decoded), second.len) == 0);
	json_release(&again);
	buf_release(&quoted);
	buf_release(&decoded);
	buf_release(&second);
}

static void check_members(const struct json *doc, int tok)
{
	int n = 0;

	for (int at = json_first(doc, tok); at >= 0; at = json_next(doc, tok, at))
		n += json_type(doc, tok) != JSON_OBJECT || json_value_of(doc, at) == at + 1;
	REQUIRE(n == json_size(doc, tok));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	for (unsigned flags = 0; flags <= (JSON_REPAIR | JSON_UNIQUE | JSON_BORROW); flags++) {
		struct json doc;
		struct error e = ERROR_INIT;
		size_t tokens = 0;
		bool ok = json_parse(&doc, (const char *)data, size, flags, &e) == 0;
		REQUIRE(ok == (json_validate((const char *)data, size, flags, &tokens, NULL) == 0));
		REQUIRE(ok ? (size_t)doc.ntokens == tokens : e.code == ERR_INPUT || e.code == ERR_LIMIT);
		for (int tok = 0; tok < doc.ntokens; tok++)
			json_type(&doc, tok) == JSON_STRING ? check_string(&doc, tok) : check_members(&doc, tok);
		json_release(&doc);
	}
	return 0;
}
