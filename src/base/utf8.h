/*
 * UTF-8 as RFC 3629 has it (no overlong forms, no surrogates, nothing above
 * U+10FFFF). The one repair rule of the program: one U+FFFD for each maximal
 * subpart of an ill-formed sequence (Unicode, chapter 3, "U+FFFD substitution").
 */
#ifndef QUERN_BASE_UTF8_H
#define QUERN_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/* Length 1..4 of the well-formed character at p (n bytes are there), 0 if ill-formed or cut. */
size_t utf8_char_len(const char *p, size_t n);
/* Bytes of the maximal ill-formed subpart at p; only where utf8_char_len is 0. At least 1. */
size_t utf8_bad_len(const char *p, size_t n);
/* True if all n bytes are well formed; else *bad (may be NULL) is the first bad offset. */
bool utf8_valid(const char *p, size_t n, size_t *bad);
/* Appends the bytes to out, ill-formed parts replaced by U+FFFD. NUL bytes are kept. */
int utf8_repair(struct buf *out, const char *p, size_t n);
/* Largest k <= limit such that p[0..k) does not end inside a character of p[0..n). */
size_t utf8_floor(const char *p, size_t n, size_t limit);
/* Smallest k >= from (and <= n) that is not inside a character. */
size_t utf8_ceil(const char *p, size_t n, size_t from);
/* The bytes of code point cp; returns how many. A surrogate or a value above U+10FFFF becomes U+FFFD. */
size_t utf8_encode(char out[4], uint32_t cp);
/* Appends code point cp; a surrogate or a value above U+10FFFF becomes U+FFFD. */
int utf8_put(struct buf *out, uint32_t cp);
/* True if there is nothing but white space as Unicode has it: the API strips texts before it asks whether they are
 * empty. */
bool utf8_is_blank(const char *p, size_t n);
/* Appends a path in one line: control characters, quotes and ill-formed bytes are escaped; at most `most` bytes of it.
 */
void utf8_name(struct buf *out, const char *path, size_t n, size_t most);

#endif
