/* Any bytes as a tape: it is refused with a place, or each of its answers can be compared and rendered. */
#include <stdlib.h>
#include <string.h>

#include "model/tape.h"

#define REQUIRE(what) ((what) ? (void)0 : abort())

static void use(const struct tape *t, const struct model_request *req)
{
	struct tape_position at = { 0, 0 };

	for (size_t i = 0; i < t->n; i++, at.play++) {
		struct buf why = BUF_INIT(8 << 10), bytes = BUF_INIT(16 << 20);
		struct error e = ERROR_INIT;
		REQUIRE(tape_check(&t->answers[i].expect, req, &why) == (why.len == 0 && !why.failed));
		REQUIRE(tape_render(&t->answers[i], &at, req, &bytes, &e) == 0 || e.code == ERR_LIMIT);
		REQUIRE(t->answers[i].repeat >= 1 && t->answers[i].line >= 1);
		at.call += t->answers[i].unnamed;
		buf_release(&why);
		buf_release(&bytes);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct model_request req = { .model = "m", .turn = 1, .tools_json = "[{\"name\":\"Read\"}]" };
	struct error e = ERROR_INIT;
	struct tape t;

	if (tape_parse(&t, "t", (const char *)data, size, &e)) {
		REQUIRE(!strncmp(e.msg, "t:", 2) || e.code == ERR_NOMEM);
		REQUIRE(t.n == 0);
		return 0;
	}
	use(&t, &req);
	tape_release(&t);
	return 0;
}
