/* The little of Markdown that models write all the time. What it does not know stays as it was written. */
#include <string.h>

#include "base/utf8.h"
#include "report/html.h"

enum part { PART_NONE, PART_TEXT, PART_LIST, PART_TABLE, PART_CODE };

static void close_part(struct buf *out, enum part *part)
{
	static const char *const ends[] = { "", "</p>", "</ul>", "</pre>", "</pre>" };

	buf_adds(out, ends[*part]);
	*part = PART_NONE;
}

/* True if the part begins with this line. */
static bool open_part(struct buf *out, enum part *part, enum part wanted)
{
	static const char *const begins[] = { "", "<p>", "<ul>", "<pre>\n", "<pre>\n" };

	if (*part == wanted)
		return false;
	close_part(out, part);
	buf_adds(out, begins[wanted]);
	*part = wanted;
	return true;
}

/* Where the next `mark` is, n if nowhere. */
static size_t find(const char *p, size_t n, const char *mark)
{
	const char *at = n ? memmem(p, n, mark, strlen(mark)) : NULL;

	return at ? (size_t)(at - p) : n;
}

/* `code` and **strong**, on one line. */
static void inline_text(struct buf *out, const char *p, size_t n)
{
	static const struct {
		const char *mark, *element;
	} kinds[] = { { "`", "code" }, { "**", "strong" } };

	size_t next[] = { 0, 0 }; /* each is looked for again only when it was passed */

	for (size_t done = 0; done < n;) {
		for (size_t k = 0; k < 2; k++)
			if (next[k] <= done)
				next[k] = done + find(p + done, n - done, kinds[k].mark);
		size_t k = next[1] < next[0], at = next[k], len = strlen(kinds[k].mark), from = at + len;

		if (at >= n) {
			html_text(out, p + done, n - done);
			return;
		}
		size_t inner = find(p + from, n - from, kinds[k].mark);
		bool pair = inner > 0 && from + inner < n;
		html_text(out, p + done, at - done);
		if (pair) {
			buf_addf(out, "<%s>", kinds[k].element);
			html_text(out, p + from, inner);
			buf_addf(out, "</%s>", kinds[k].element);
		} else {
			html_text(out, p + at, len);
		}
		done = from + (pair ? inner + len : 0);
	}
}

static size_t heading(const char *p, size_t n)
{
	size_t i = 0;

	while (i < n && i < 7 && p[i] == '#')
		i++;
	return i > 0 && i < 7 && i < n && p[i] == ' ' ? i + 1 : 0;
}

/* Bytes of "- ", "* " or "12. " behind blanks, 0 if it is no item. */
static size_t bullet(const char *p, size_t n)
{
	size_t i = 0, digits;

	while (i < n && p[i] == ' ')
		i++;
	if (i + 1 < n && strchr("-*+", p[i]) && p[i] && p[i + 1] == ' ')
		return i + 2;
	for (digits = i; digits < n && p[digits] >= '0' && p[digits] <= '9';)
		digits++;
	return digits > i && digits < i + 4 && digits + 1 < n && p[digits] == '.' && p[digits + 1] == ' ' ? i + 1 : 0;
}

static void item(struct buf *out, const char *p, size_t n, size_t mark)
{
	size_t in = 0;

	while (in < mark && p[in] == ' ')
		in++;
	bool numbered = p[in] >= '0' && p[in] <= '9';
	buf_addf(out, "<li class=\"%s\" style=\"margin-left:%zuem\">", numbered ? "no" : "dot",
	         in > 12 ? (size_t)6 : in / 2);
	if (numbered)
		inline_text(out, p + in, n - in);
	else
		inline_text(out, p + mark, n - mark);
	buf_adds(out, "</li>");
}

static void line(struct buf *out, enum part *part, const char *p, size_t n)
{
	size_t mark;

	if (utf8_is_blank(p, n)) {
		close_part(out, part);
	} else if ((mark = heading(p, n)) != 0) {
		close_part(out, part);
		buf_adds(out, "<p class=\"h\">");
		inline_text(out, p + mark, n - mark);
		buf_adds(out, "</p>");
	} else if ((mark = bullet(p, n)) != 0) {
		open_part(out, part, PART_LIST);
		item(out, p, n, mark);
	} else if (p[0] == '|') {
		open_part(out, part, PART_TABLE);
		html_text(out, p, n);
		buf_addc(out, '\n');
	} else {
		if (!open_part(out, part, PART_TEXT))
			buf_addc(out, '\n');
		inline_text(out, p, n);
	}
}

static void lines(struct buf *out, const char *p, size_t n)
{
	enum part part = PART_NONE;

	for (size_t at = 0; at < n;) {
		const char *end = memchr(p + at, '\n', n - at);
		size_t len = end ? (size_t)(end - p) - at : n - at, in = 0;

		while (in < len && p[at + in] == ' ')
			in++;
		bool fence = len - in >= 3 && !memcmp(p + at + in, "```", 3);
		if (fence && part == PART_CODE) {
			close_part(out, &part);
		} else if (fence) {
			open_part(out, &part, PART_CODE);
		} else if (part == PART_CODE) {
			html_text(out, p + at, len);
			buf_addc(out, '\n');
		} else {
			line(out, &part, p + at, len);
		}
		at += len + 1;
	}
	close_part(out, &part);
}

void html_prose(struct buf *out, const char *p, size_t n)
{
	size_t shown = n > SHOW_TEXT ? utf8_floor(p, n, SHOW_TEXT) : n;

	lines(out, p, shown);
	if (shown < n) {
		buf_adds(out, "<p class=\"cut\">");
		html_bytes(out, (int64_t)(n - shown));
		buf_adds(out, " more are left out of this page</p>");
	}
}
