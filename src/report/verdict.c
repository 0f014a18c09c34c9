/* How a run ended, and what to do now. */
#include <inttypes.h>

#include "record/reason.h"
#include "report/chapter.h"
#include "report/html.h"

/* What helps after each end; the bounds and budgets of the run are below on the page. */
static const char *const advice[TERM_COUNT] = {
	[TERM_INTERNAL_ERROR] = "What it did so far is in the record: --resume goes on from there.",
	[TERM_SETUP_FAILED] = "Mend what is named here and start it again; nothing was sent and nothing paid.",
	[TERM_MAX_TURNS] = "Go on from this record with --resume and a larger --max-turns.",
	[TERM_PROMPT_TOO_LONG] = "Give it less at once, or let it make summaries (context.autocompact).",
	[TERM_BLOCKING_LIMIT] = "Give it less at once, or let it make summaries (context.autocompact).",
	[TERM_BUDGET_EXHAUSTED] = "Go on from this record with --resume and a larger budget: see the limits.",
	[TERM_MAX_OUTPUT] = "Ask for a shorter answer, or for one in parts written to files.",
	[TERM_RAPID_REFILL] = "Something fills the window at once: see which outputs are large.",
	[TERM_STRUCTURED_EXHAUSTED] =
	        "Compare the last answer with the schema: it may ask for what the task does not give.",
	[TERM_MALFORMED_TOOL_USE] = "Try another model, or fewer and simpler tools.",
	[TERM_MODEL_ERROR] = "Mend what the error names; --resume goes on from this record.",
	[TERM_IMAGE_ERROR] = "Make the image smaller or leave it out.",
	[TERM_REFUSAL] = "See its answer; put the task in other words.",
	[TERM_HOOK_STOPPED] = "See what the hook said, in the conversation.",
	[TERM_STOP_HOOK_PREVENTED] = "See what the hook said, in the conversation.",
	[TERM_PERMISSION_DENIED] = "Allow the call that was denied (--allowedTools), or let the run go on without it.",
	[TERM_VERIFY_FAILED] =
	        "See what the verification said last, in the conversation; --resume gives it more rounds.",
	[TERM_STOP_BLOCKS] = "See what the stop hooks said, in the conversation.",
	[TERM_ABORTED_STREAMING] = "Go on from this record with --resume; if time was up, with a larger --wall-time.",
	[TERM_ABORTED_TOOLS] = "Go on from this record with --resume; if time was up, with a larger --wall-time.",
	[TERM_REPLAY_MISMATCH] = "The job or the workspace is not that of the recording: record anew.",
};

static enum terminal_reason reason_of(const struct chapter *c)
{
	for (int r = TERM_NONE + 1; r < TERM_COUNT; r++)
		if (json_eq(&c->result, chapter_result(c, "terminal_reason"),
		            terminal_row((enum terminal_reason)r)->name))
			return (enum terminal_reason)r;
	return TERM_NONE;
}

/* Programs that tell no reason and no exit code tell whether it is an error. */
bool chapter_is_good(const struct chapter *c)
{
	bool error = true;

	if (!json_absent(&c->result, chapter_result(c, "exit_code")))
		return chapter_result_int(c, "exit_code") == 0;
	return c->result.ntokens > 0 && json_bool(&c->result, chapter_result(c, "is_error"), &error) && !error;
}

void show_reason(struct buf *out, const struct chapter *c)
{
	int reason = chapter_result(c, "terminal_reason");

	if (c->result.ntokens < 1)
		buf_adds(out, "no result");
	else if (!json_absent(&c->result, reason))
		html_value_line(out, &c->result, reason, SHOW_LINE);
	else if (!json_absent(&c->result, chapter_result(c, "subtype")))
		html_value_line(out, &c->result, chapter_result(c, "subtype"), SHOW_LINE);
	else
		buf_adds(out, "ended");
}

static void show_advice(struct buf *out, const struct chapter *c, enum terminal_reason reason)
{
	bool transient = false;
	int64_t after = chapter_result_int(c, "retry_after_ms");
	const char *text = c->result.ntokens < 1
	                           ? "It was killed or is still running; --resume goes on from this record."
	                           : advice[reason];

	if (!text)
		return;
	buf_adds(out, "<p class=\"advice\"><b>What now?</b> ");
	if (json_bool(&c->result, chapter_result(c, "transient"), &transient) && transient) {
		buf_adds(out, "A later run may succeed");
		if (after > 0) {
			buf_adds(out, ", not before ");
			html_duration(out, after);
			buf_adds(out, " have passed");
		}
		buf_adds(out, "; --resume goes on from this record.");
	} else {
		buf_adds(out, text);
	}
	buf_adds(out, "</p>");
}

void show_verdict(struct buf *out, const struct chapter *c)
{
	enum terminal_reason reason = reason_of(c);
	const struct json *doc = &c->result;
	int list = chapter_result(c, "errors");
	size_t n = 0;

	buf_addf(out, "<p class=\"verdict %s\"><b>", chapter_is_good(c) ? "good" : "bad");
	show_reason(out, c);
	buf_adds(out, "</b> ");
	if (doc->ntokens < 1)
		buf_adds(out, "The record ends before the run did.");
	else if (reason != TERM_NONE)
		html_str(out, terminal_row(reason)->text);
	if (!json_absent(doc, chapter_result(c, "exit_code")))
		buf_addf(out, "<span class=\"m\">exit code %" PRId64 "</span>", chapter_result_int(c, "exit_code"));
	buf_adds(out, "</p>");
	for (int x = json_first(doc, list); x >= 0 && n < SHOWN_MOST; x = json_next(doc, list, x), n++) {
		buf_adds(out, "<p class=\"err\">");
		html_value_line(out, doc, x, SHOW_TEXT / 16);
		buf_adds(out, "</p>");
	}
	show_advice(out, c, reason);
}
