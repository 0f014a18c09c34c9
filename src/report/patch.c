/* Differences between files as HTML. */
#include <inttypes.h>
#include <string.h>

#include "report/html.h"
#include "report/story.h"

#define PATCH_MOST ((size_t)512 << 10)
#define LINE_MOST  ((size_t)2000)

static void row(struct buf *out, char sign, const char *p, size_t n)
{
	const char *element = sign == '+' ? "ins" : sign == '-' ? "del" : sign == '@' ? "b" : "span";

	buf_addf(out, "<%s>", element);
	if (sign != '@')
		buf_addc(out, sign);
	size_t shown = n > LINE_MOST ? LINE_MOST : n;
	html_text(out, p, shown);
	if (shown < n)
		buf_adds(out, "…");
	buf_addf(out, "\n</%s>", element);
}

void patch_lines(struct buf *out, char sign, const char *p, size_t n, int *count)
{
	size_t at = 0, shown = n > SHOW_OUTPUT ? SHOW_OUTPUT : n;

	while (at < n) {
		const char *end = memchr(p + at, '\n', n - at);
		size_t len = end ? (size_t)(end - p) - at : n - at;

		if (at < shown)
			row(out, sign, p + at, len);
		at += len + 1;
		(*count)++;
	}
	if (shown < n) {
		buf_adds(out, "<i class=\"cut\">");
		html_bytes(out, (int64_t)(n - shown));
		buf_adds(out, " more\n</i>");
	}
}

bool patch_hunks(struct buf *out, const struct json *doc, int hunks, int *added, int *removed)
{
	bool any = false;

	for (int h = json_first(doc, hunks); h >= 0; h = json_next(doc, hunks, h)) {
		int lines = json_get(doc, h, "lines");
		struct buf head = BUF_INIT(256), line = BUF_INIT((size_t)1 << 20);

		buf_addf(&head, "@@ -%" PRId64 ",%" PRId64 " +%" PRId64 ",%" PRId64 " @@",
		         json_int_or(doc, json_get(doc, h, "oldStart"), 0),
		         json_int_or(doc, json_get(doc, h, "oldLines"), 0),
		         json_int_or(doc, json_get(doc, h, "newStart"), 0),
		         json_int_or(doc, json_get(doc, h, "newLines"), 0));
		if (out->len < PART_MOST)
			row(out, '@', buf_str(&head), head.len);
		for (int l = json_first(doc, lines); l >= 0; l = json_next(doc, lines, l)) {
			buf_clear(&line);
			if (json_str(doc, l, &line) || !line.len)
				continue;
			char sign = line.data[0];
			*added += sign == '+';
			*removed += sign == '-';
			if (out->len < PART_MOST)
				row(out, sign == '+' || sign == '-' ? sign : ' ', line.data + 1, line.len - 1);
			any = true;
		}
		buf_release(&head);
		buf_release(&line);
	}
	return any;
}

/* What a line of a unified diff is. Inside a hunk a line that begins with "--- " is one that was taken away. */
static char sign_of(const char *p, size_t n, int64_t *old_left, int64_t *new_left)
{
	static const struct {
		const char *begin;
		char sign;
	} heads[] = { { "diff ", 'd' }, { "--- ", 'd' }, { "+++ ", 'd' }, { "@@ ", '@' } };

	if (*old_left > 0 || *new_left > 0) {
		char sign = n ? p[0] : ' ';
		*old_left -= sign != '+' && sign != '\\';
		*new_left -= sign != '-' && sign != '\\';
		return sign == '+' || sign == '-' ? sign : ' ';
	}
	for (size_t i = 0; i < sizeof heads / sizeof *heads; i++)
		if (n >= strlen(heads[i].begin) && !memcmp(p, heads[i].begin, strlen(heads[i].begin)))
			return heads[i].sign;
	return 'd';
}

/* Of "@@ -a,b +c,d @@" the b and the d. */
static void hunk_size(const char *p, size_t n, int64_t *old_left, int64_t *new_left)
{
	int64_t *sizes[] = { old_left, new_left };
	size_t i = 3;

	for (size_t k = 0; k < 2; k++) {
		*sizes[k] = 1;
		while (i < n && p[i] != ',' && p[i] != ' ')
			i++;
		if (i < n && p[i] == ',') {
			*sizes[k] = 0;
			for (i++; i < n && p[i] >= '0' && p[i] <= '9' && *sizes[k] < (1 << 30); i++)
				*sizes[k] = *sizes[k] * 10 + (p[i] - '0');
		}
		i++;
	}
}

void patch_unified(struct buf *out, const char *p, size_t n)
{
	int64_t old_left = 0, new_left = 0;
	size_t shown = n > PATCH_MOST ? PATCH_MOST : n;

	for (size_t at = 0; at < shown;) {
		const char *end = memchr(p + at, '\n', n - at);
		size_t len = end ? (size_t)(end - p) - at : n - at;
		char sign = sign_of(p + at, len, &old_left, &new_left);

		if (sign == '@')
			hunk_size(p + at, len, &old_left, &new_left);
		if (sign == 'd') {
			buf_adds(out, "<em>");
			html_text(out, p + at, len > LINE_MOST ? LINE_MOST : len);
			buf_adds(out, "\n</em>");
		} else {
			size_t skip = sign == '@' || !len ? 0 : 1;
			row(out, sign, p + at + skip, len - skip);
		}
		at += len + 1;
	}
	if (shown < n) {
		buf_adds(out, "<i class=\"cut\">");
		html_bytes(out, (int64_t)(n - shown));
		buf_adds(out, " more are in the record\n</i>");
	}
}
