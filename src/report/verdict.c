/* How a run ended. */
#include <inttypes.h>

#include "record/reason.h"
#include "report/chapter.h"
#include "report/html.h"

static const struct terminal_row *reason_row(const struct chapter *c)
{
	for (int r = TERM_NONE + 1; r < TERM_COUNT; r++)
		if (json_eq(&c->result, chapter_result(c, "terminal_reason"),
		            terminal_row((enum terminal_reason)r)->name))
			return terminal_row((enum terminal_reason)r);
	return NULL;
}

void show_verdict(struct buf *out, const struct chapter *c)
{
	const struct terminal_row *row = reason_row(c);
	int64_t code = chapter_result_int(c, "exit_code");
	bool good = code == 0;

	if (c->result.ntokens < 1) {
		buf_adds(out, "<p class=\"verdict bad\"><b>no result</b> The record ends before the run did.</p>");
		return;
	}
	buf_addf(out, "<p class=\"verdict %s\"><b>", good ? "good" : "bad");
	html_value_line(out, &c->result, chapter_result(c, "terminal_reason"), SHOW_LINE);
	buf_adds(out, "</b> ");
	if (row)
		html_str(out, row->text);
	buf_addf(out, "<span class=\"m\">exit code %" PRId64 "</span></p>", code);
	int list = chapter_result(c, "errors");
	for (int x = json_first(&c->result, list); x >= 0; x = json_next(&c->result, list, x)) {
		buf_adds(out, "<p class=\"err\">");
		html_value_line(out, &c->result, x, SHOW_TEXT / 16);
		buf_adds(out, "</p>");
	}
}
