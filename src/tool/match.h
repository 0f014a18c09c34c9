/*
 * Finding and replacing text in bytes. The exact bytes are tried first. If they are not there, LF in the text matches
 * CRLF in the file. Matches do not overlap: `aa` is found once in `aaa`.
 */
#ifndef QUERN_TOOL_MATCH_H
#define QUERN_TOOL_MATCH_H

#include "base/buf.h"

struct match {
	size_t start, end; /* bytes of the file */
};

struct matches {
	struct match *v;
	size_t n, cap;
	bool crlf; /* found by reading CRLF as LF */
};

/* 0, -1 without memory. Finds all. */
int match_find(struct matches *m, const char *text, size_t n, const char *old, size_t old_n);
void match_release(struct matches *m);
/* Appends the file with the first `count` matches replaced. Line ends of `new` follow those of what they replace. */
int match_replace(const struct matches *m, size_t count, const char *text, size_t n, const char *new_text, size_t new_n,
                  struct buf *out);
/* Line (1-based) of a text that differs from `old` in white space only; 0 if there is none. */
size_t match_ignoring_space(const char *text, size_t n, const char *old, size_t old_n);

#endif
