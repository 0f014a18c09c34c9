/*
 * Inside this room: text of others as HTML. What models, tools and files say is hostile: markup is escaped, for text
 * and for quoted attributes alike; characters that do not show (controls, NUL, bidi overrides, zero widths, tags) are
 * shown by name; ill-formed UTF-8 becomes U+FFFD; ANSI colours are left out, other escapes shown.
 */
#ifndef QUERN_REPORT_HTML_H
#define QUERN_REPORT_HTML_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/json.h"

/* The most that is shown of one text; what is longer keeps its head and tail and says how much is missing. */
#define SHOW_OUTPUT ((size_t)24 << 10)
/* Of an output, when the page is that large already: browsers have their limits. */
#define SHOW_LESS  ((size_t)2 << 10)
#define PAGE_LARGE ((int64_t)16 << 20)
#define SHOW_TEXT  ((size_t)64 << 10)
#define SHOW_LINE  ((size_t)200) /* in headlines */

void html_text(struct buf *out, const char *p, size_t n);
void html_str(struct buf *out, const char *s); /* NULL = nothing */
/* One line of at most `most` bytes: line breaks are blanks, what is cut ends with an ellipsis. In attributes too. */
void html_line(struct buf *out, const char *p, size_t n, size_t most);
/* Inside <pre>: head and tail if it is longer than `most`. */
void html_cut(struct buf *out, const char *p, size_t n, size_t most);
/* What a model wrote: paragraphs, lists, headings, code. Nothing in it becomes a link or loads anything. */
void html_prose(struct buf *out, const char *p, size_t n);

/* Parts that are put together from many, each bounded, end when they have that many bytes; so no buffer is cut within
 * an element. */
#define PART_MOST ((size_t)1 << 20)

/* Values of a document: a string decoded, anything else as it stands. */
/* Returns how many bytes the value has. */
size_t html_value(struct buf *out, const struct json *doc, int tok, size_t most);
void html_value_line(struct buf *out, const struct json *doc, int tok, size_t most);

/* 1234567 -> 1,234,567; 12345 -> 12.3k; 1234 ms -> 1.2 s, 83 s -> 1 min 23 s; 1234 bytes -> 1.2 KiB; nano-USD ->
 * $0.0123. */
void html_count(struct buf *out, int64_t n);
void html_short_count(struct buf *out, int64_t n);
void html_duration(struct buf *out, int64_t ms);
void html_bytes(struct buf *out, int64_t n);
void html_usd(struct buf *out, double usd);
/* "2026-11-30T14:02:11.250Z" as "2026-11-30 14:02:11 UTC"; what is no such time as it stands. */
void html_time(struct buf *out, const struct json *doc, int tok);

#endif
