/* Making a line fit: its longest strings are cut, it stays valid JSON and valid UTF-8. */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/utf8.h"
#include "record/line.h"

/* Strings up to this length stay: ids, names, types, paths. */
#define KEEP 256

struct literal {
	size_t at, len; /* the bytes between the quotes, as escaped */
};

struct literals {
	struct literal *v;
	size_t n, cap;
};

/* The offset of the closing quote of the string whose content starts at `at`. */
static size_t string_end(const char *p, size_t len, size_t at)
{
	while (at < len && p[at] != '"')
		at += p[at] == '\\' ? 2 : 1;
	return at < len ? at : len;
}

static bool is_key(const char *p, size_t len, size_t after)
{
	while (after < len && (p[after] == ' ' || p[after] == '\t'))
		after++;
	return after < len && p[after] == ':';
}

static int add_literal(struct literals *list, size_t at, size_t n)
{
	if (ARRAY_GROW(list->v, list->n, list->cap))
		return -1;
	list->v[list->n++] = (struct literal){ at, n };
	return 0;
}

static int collect(struct literals *list, const struct buf *line, size_t from, size_t to)
{
	for (size_t i = from; i < to; i++) {
		if (line->data[i] != '"')
			continue;
		size_t end = string_end(line->data, line->len, i + 1);
		if (end - i - 1 > KEEP && !is_key(line->data, line->len, end + 1) &&
		    add_literal(list, i + 1, end - i - 1))
			return -1;
		i = end;
	}
	return 0;
}

/* What cutting all literals to at most `cap` bytes saves. */
static size_t saved(const struct literals *list, size_t cap)
{
	size_t sum = 0;

	for (size_t i = 0; i < list->n; i++) {
		if (list->v[i].len > cap)
			sum += list->v[i].len - cap;
	}
	return sum;
}

/* The largest cap that saves at least `need`, or 0 if even KEEP does not. */
static size_t find_cap(const struct literals *list, size_t need)
{
	size_t low = KEEP, high = KEEP;

	if (saved(list, KEEP) < need)
		return 0;
	for (size_t i = 0; i < list->n; i++) {
		if (list->v[i].len > high)
			high = list->v[i].len;
	}
	while (low < high) {
		size_t mid = low + (high - low + 1) / 2;
		if (saved(list, mid) >= need)
			low = mid;
		else
			high = mid - 1;
	}
	return low;
}

static bool is_escaped_unit(const char *p, size_t n, const char *hex)
{
	return n >= 6 && p[0] == '\\' && p[1] == 'u' && (p[2] | 0x20) == 'd' && strchr(hex, p[3]);
}

/* Bytes of the character at p: an escape, a pair of surrogate escapes, or UTF-8. */
static size_t step(const char *p, size_t n)
{
	if (p[0] != '\\') {
		size_t k = utf8_char_len(p, n);
		return k ? k : 1;
	}
	if (n < 2 || p[1] != 'u')
		return 2;
	if (is_escaped_unit(p, n, "89abAB") && is_escaped_unit(p + 6, n - 6, "cdefCDEF"))
		return 12;
	return 6;
}

/* The largest character border of the literal that is at most cap. */
static size_t border(const char *p, size_t n, size_t cap)
{
	size_t at = 0;

	while (at < n) {
		size_t k = step(p + at, n - at);
		if (at + k > cap)
			break;
		at += k;
	}
	return at;
}

int line_shorten(struct buf *line, size_t from, size_t to, size_t target)
{
	struct literals list = { NULL, 0, 0 };

	if (line->len <= target)
		return 0;
	if (collect(&list, line, from, to)) {
		free(list.v);
		return -1;
	}
	size_t cap = find_cap(&list, line->len - target);
	if (cap == 0) {
		free(list.v);
		return 1;
	}
	/* The line only becomes shorter, so it is moved together in place. */
	size_t put = 0, taken = 0;
	for (size_t i = 0; i < list.n; i++) {
		const struct literal *s = &list.v[i];
		size_t keep = s->len > cap ? border(line->data + s->at, s->len, cap) : s->len;
		size_t n = s->at + keep - taken;

		memmove(line->data + put, line->data + taken, n);
		put += n;
		taken = s->at + s->len;
	}
	memmove(line->data + put, line->data + taken, line->len - taken);
	buf_cut(line, put + line->len - taken);
	free(list.v);
	return 0;
}

bool line_find_string(const struct buf *line, const char *key, size_t *from, size_t *to)
{
	size_t n = strlen(key);

	for (const char *p = line->data; p && (p = memmem(p, line->len - (size_t)(p - line->data), key, n)); p++) {
		size_t at = (size_t)(p - line->data);
		if (at == 0 || p[-1] != '"' || strncmp(p + n, "\":\"", 3) != 0)
			continue;
		*from = at + n + 2;
		*to = string_end(line->data, line->len, *from + 1) + 1;
		return true;
	}
	return false;
}

void line_append_str(struct buf *line, const char *key, const char *value)
{
	if (line->len == 0 || line->data[line->len - 1] != '}')
		return;
	buf_cut(line, line->len - 1);
	buf_adds(line, ",\"");
	buf_adds(line, key);
	buf_adds(line, "\":");
	if (value)
		json_quote(line, value, strlen(value));
	else
		buf_adds(line, "null");
	buf_addc(line, '}');
}
