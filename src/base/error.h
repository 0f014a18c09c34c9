/*
 * Errors are values. A function that can fail returns 0 or -1 (or NULL) and
 * fills a struct error that its caller owns; nothing here allocates, so an
 * error can be made when memory is gone. Texts follow git's rules: lower case,
 * no full stop, the subject quoted, and they say what to do.
 */
#ifndef QUERN_BASE_ERROR_H
#define QUERN_BASE_ERROR_H

#include <stdbool.h>

enum error_code {
	ERR_NONE = 0,
	ERR_INPUT,    /* the user's options, job, files or data are wrong */
	ERR_SYS,      /* a system call failed; the text carries strerror */
	ERR_NOMEM,    /* out of memory */
	ERR_LIMIT,    /* something was larger or deeper than its cap */
	ERR_PROTOCOL, /* a peer broke its protocol */
	ERR_GONE,     /* a peer is gone: stdout, supervisor */
	ERR_BUG       /* an invariant of ours does not hold */
};

struct error {
	enum error_code code;
	char msg[512]; /* one line, NUL terminated, cut on a character border */
};

#define ERROR_INIT                                                                                                     \
	{                                                                                                              \
		ERR_NONE, ""                                                                                           \
	}

/* Fills *e (which may be NULL) and returns -1, so that callers can `return error_set(...)`. */
int error_set(struct error *e, enum error_code code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* As error_set with ERR_SYS and ": <strerror(errno)>" appended. */
int error_sys(struct error *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* As error_set with ERR_NOMEM. */
int error_nomem(struct error *e);

/* Puts "prefix: " in front of the message that is there. Returns -1. */
int error_prefix(struct error *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
