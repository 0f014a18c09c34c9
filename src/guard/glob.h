/*
 * Patterns as strings of symbols: a byte, any one byte, or any run of bytes. Both operations take time in proportion to
 * the product of the two lengths, whatever the pattern looks like.
 */
#ifndef QUERN_GUARD_GLOB_H
#define QUERN_GUARD_GLOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef uint16_t glob_sym;
enum {
	GLOB_ANY = 256, /* any run of bytes, also none */
	GLOB_ONE,       /* any one byte */
	GLOB_SET = 512  /* and more: one byte of sets[symbol - GLOB_SET] */
};

struct glob_set {
	uint8_t bits[32]; /* byte c is in it: bits[c / 8] >> (c % 8) & 1 */
};

struct glob {
	const glob_sym *s;
	size_t n;
	const struct glob_set *sets;
};

/* Does the pattern fit the whole text? What is not a byte in the text is fitted by GLOB_ANY alone: what is not known is
 * only known to fit where anything does. */
bool glob_covers(struct glob pattern, struct glob text);
/* Is there any string that both fit? 1 yes, 0 no, -1 no memory. (Two sets always have a byte in common.) */
int glob_meets(struct glob a, struct glob b);
/* Is there anything but bytes in it? */
bool glob_is_open(struct glob g);
/* The whole of a plain text against a pattern text in which '*' stands for any run of bytes, and nothing else counts;
 * fold: ASCII letters are alike. */
bool glob_text(const char *pattern, const char *text, bool fold);

#endif
