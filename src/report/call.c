/* Tool calls: a headline, what was given, what came back. */
#include <stdlib.h>
#include <string.h>

#include "report/html.h"
#include "report/story.h"

/* The first of these that a call has stands in its headline. */
static const char *const subjects[] = { "command",       "file_path",   "pattern", "path",   "url", "query",
	                                "notebook_path", "description", "task_id", "prompt", NULL };

/* The last part of a media type and its data, if it is a picture that a page may hold. */
static bool put_picture(struct buf *out, const struct json *doc, int source)
{
	static const char *const types[] = { "image/png", "image/jpeg", "image/gif", "image/webp" };
	size_t n = 0;
	int data = json_get(doc, source, "data"), type = json_get(doc, source, "media_type");
	char *text = json_strdup(doc, data, &n);
	bool fine = text && n && n <= (size_t)384 << 10;

	for (size_t i = 0; fine && i < n; i++)
		fine = (text[i] >= 'a' && text[i] <= 'z') || (text[i] >= 'A' && text[i] <= 'Z') ||
		       (text[i] >= '/' && text[i] <= '9') || text[i] == '+' || text[i] == '=';
	for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
		if (!fine || !json_eq(doc, type, types[i]))
			continue;
		buf_addf(out, "<img alt=\"a picture that the model was shown\" src=\"data:%s;base64,%s\">", types[i],
		         text);
		free(text);
		return true;
	}
	free(text);
	return false;
}

/* Returns how many bytes it has. */
static size_t pre(struct buf *out, const struct json *doc, int tok, size_t most)
{
	buf_adds(out, "<pre dir=\"auto\">\n");
	size_t n = html_value(out, doc, tok, most);
	buf_adds(out, "</pre>");
	return n;
}

static void show_block(struct buf *out, const struct json *doc, int block, size_t most, size_t *bytes)
{
	int text = json_get(doc, block, "text");
	size_t n = 0;

	if (text >= 0) {
		n = pre(out, doc, text, most);
	} else if (json_eq(doc, json_get(doc, block, "type"), "image") &&
	           put_picture(out, doc, json_get(doc, block, "source"))) {
		json_raw(doc, json_path(doc, block, "source.data"), &n);
		n = n / 4 * 3; /* of base64 */
	} else {
		json_raw(doc, block, &n);
		buf_adds(out, "<p class=\"cut\">");
		html_value_line(out, doc, json_get(doc, block, "type"), SHOW_LINE);
		buf_adds(out, ", ");
		html_bytes(out, (int64_t)n);
		buf_adds(out, "</p>");
	}
	*bytes += n;
}

void show_content(struct buf *out, const struct json *doc, int content, size_t most, size_t *bytes)
{
	size_t n = 0;

	if (json_type(doc, content) == JSON_OBJECT) {
		show_block(out, doc, content, most, bytes);
		return;
	}
	if (json_type(doc, content) != JSON_ARRAY) {
		json_raw(doc, content, &n);
		if (n > strlen("\"\"") && !json_absent(doc, content))
			*bytes += pre(out, doc, content, most);
		return;
	}
	for (int b = json_first(doc, content); b >= 0; b = json_next(doc, content, b)) {
		if (out->len < PART_MOST)
			show_block(out, doc, b, most, bytes);
	}
}

/* Returns the member that stands in it whole, -1 if there is none. */
static int headline(struct item *it, const struct json *doc, int input)
{
	size_t n = 0;
	int subject = -1;

	for (size_t i = 0; subjects[i] && subject < 0; i++)
		subject = json_get(doc, input, subjects[i]);
	for (int k = json_first(doc, input); subject < 0 && k >= 0; k = json_next(doc, input, k))
		if (json_type(doc, json_value_of(doc, k)) == JSON_STRING)
			subject = json_value_of(doc, k);
	buf_adds(&it->head, "<b>");
	html_line(&it->head, it->name ? it->name : "", it->name ? strlen(it->name) : 0, SHOW_LINE);
	buf_adds(&it->head, "</b> ");
	if (subject >= 0) {
		buf_adds(&it->head, "<code>");
		html_value_line(&it->head, doc, subject, SHOW_LINE);
		buf_adds(&it->head, "</code>");
	}
	const char *raw = json_raw(doc, subject, &n);
	return raw && n < SHOW_LINE && !memchr(raw, '\\', n) ? subject : -1;
}

/* What the headline does not tell of an input: a member a row. */
static void members(struct buf *out, const struct json *doc, int input, int told)
{
	for (int k = json_first(doc, input); k >= 0; k = json_next(doc, input, k)) {
		size_t n = 0;
		int value = json_value_of(doc, k);
		const char *raw = json_raw(doc, value, &n);
		bool text = json_type(doc, value) == JSON_STRING;

		if (value == told || out->len > PART_MOST)
			continue;
		buf_adds(out, "<dt>");
		html_value_line(out, doc, k, SHOW_LINE);
		buf_adds(out, "</dt><dd>");
		if (n > 100 || (text && raw && memchr(raw, '\\', n)))
			pre(out, doc, value, SHOW_OUTPUT);
		else {
			buf_adds(out, "<code>");
			html_value_line(out, doc, value, SHOW_OUTPUT);
			buf_adds(out, "</code>");
		}
		buf_adds(out, "</dd>");
	}
}

void call_input(struct item *it, const struct json *doc, int block)
{
	int input = json_get(doc, block, "input");
	size_t n = 0;

	int told = headline(it, doc, input);
	if (json_size(doc, input) < 1 + (told >= 0))
		return;
	if (json_type(doc, input) != JSON_OBJECT) {
		json_raw(doc, input, &n);
		pre(&it->body, doc, input, SHOW_OUTPUT);
		return;
	}
	buf_adds(&it->body, "<dl class=\"in\">");
	members(&it->body, doc, input, told);
	buf_adds(&it->body, "</dl>");
}

/* What Edit and Write changed, beside the call and with the file. */
static void changes(struct report *r, struct item *it, const struct json *doc, int structured)
{
	struct buf rows = BUF_INIT(BUF_HUGE);
	int added = 0, removed = 0;
	char *path = json_strdup(doc, json_get(doc, structured, "filePath"), NULL);
	int hunks = json_get(doc, structured, "structuredPatch");
	int content = json_get(doc, structured, "content"), before = json_get(doc, structured, "originalFile");

	if (path && hunks >= 0 && !patch_hunks(&rows, doc, hunks, &added, &removed)) {
		size_t n = 0;
		bool edit = content < 0;
		int parts[] = { edit ? json_get(doc, structured, "oldString") : before,
			        edit ? json_get(doc, structured, "newString") : content };
		for (int i = 0; i < 2; i++) {
			char *text = json_strdup(doc, parts[i], &n);
			if (text)
				patch_lines(&rows, i ? '+' : '-', text, n, i ? &added : &removed);
			free(text);
		}
	}
	if (path && hunks >= 0) {
		story_change(&r->c, path, added, removed, &rows);
		buf_addf(&it->head, " <span class=\"pm\"><ins>+%d</ins> <del>−%d</del></span>", added, removed);
		/* the input would say the same once more */
		buf_clear(&it->body);
		buf_adds(&it->body, "<pre class=\"diff\">");
		buf_add(&it->body, buf_str(&rows), rows.len);
		buf_adds(&it->body, "</pre>");
	}
	buf_release(&rows);
	free(path);
}

void call_result(struct report *r, struct item *it, const struct json *doc, int block)
{
	bool failed = false;
	int root = json_root(doc);

	json_bool(doc, json_get(doc, block, "is_error"), &failed);
	it->answered = true;
	it->failed = failed;
	bool large = r->talk.size + r->done.size > PAGE_LARGE;
	show_content(&it->result, doc, json_get(doc, block, "content"), large ? SHOW_LESS : SHOW_OUTPUT, &it->bytes);
	if (!failed)
		changes(r, it, doc, json_get(doc, root, "tool_use_result"));
	int file = json_get(doc, root, "quern_output_file");
	if (file >= 0) {
		buf_adds(&it->result, "<p class=\"cut\">all of it is in <code>");
		html_value_line(&it->result, doc, file, SHOW_TEXT);
		buf_adds(&it->result, "</code></p>");
	}
}
