/* What a hook puts in the place of what a tool gave. */
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "tool/internal.h"

/* The text that stands for the whole of a tool's structured output, in an object of the same form. */
static int text_of(const struct json *doc, bool *with_stderr)
{
	static const char *const places[] = { "stdout", "content", "file.content" };
	int tok = -1;

	for (size_t i = 0; i < sizeof places / sizeof *places && tok < 0; i++) {
		tok = json_path(doc, json_root(doc), places[i]);
		if (json_type(doc, tok) != JSON_STRING)
			tok = -1;
		*with_stderr = i == 0;
	}
	return tok;
}

static bool has_text(const struct call *c, const char *structured)
{
	struct json doc = JSON_INIT;
	struct error e = ERROR_INIT;
	bool with_stderr;

	if (!structured || c->row->subject == SUBJECT_EDIT ||
	    json_parse(&doc, structured, strlen(structured), JSON_BORROW, &e) < 0)
		return false;
	bool has = text_of(&doc, &with_stderr) >= 0;
	json_release(&doc);
	return has;
}

/* What the model sees is a text: a hook gives that, or the tool's own object with another text in it. */
static bool new_text(const struct call *c, const struct tool_result *out, const struct json *doc, struct buf *text)
{
	int root = json_root(doc);
	bool with_stderr = false;

	if (json_type(doc, root) == JSON_STRING)
		return json_str(doc, root, text) == 0;
	if (json_type(doc, root) != JSON_OBJECT || !has_text(c, out->structured))
		return false;
	int tok = text_of(doc, &with_stderr);
	if (tok < 0 || json_str(doc, tok, text) < 0)
		return false;
	if (with_stderr)
		json_str(doc, json_get(doc, root, "stderr"), text);
	return true;
}

bool steer_new_output(struct call *c, struct tool_result *out, const char *json)
{
	struct buf text = BUF_INIT(BUF_HUGE), object = BUF_INIT(BUF_HUGE);
	struct json doc = JSON_INIT;
	struct error e = ERROR_INIT;
	bool fits = json_parse(&doc, json, strlen(json), JSON_REPAIR | JSON_BORROW, &e) == 0 &&
	            new_text(c, out, &doc, &text);

	if (fits) {
		free(out->content_json);
		out->content_json = NULL;
		result_within(c, out, buf_str(&text), text.len, c->row->max_result_chars, out->is_error);
		if (json_type(&doc, json_root(&doc)) == JSON_OBJECT) {
			buf_add(&object, doc.text, doc.len);
			result_structured(c->t, out, &object);
		}
	}
	json_release(&doc);
	buf_release(&text);
	buf_release(&object);
	return fits;
}
