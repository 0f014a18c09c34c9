/*
 * Diagnostics for people, on stderr, each one line `quern: text`. Control characters
 * are escaped, known secrets masked (the mask function is set by run/). Never fails
 * the caller: a stderr that is gone or full is ignored.
 */
#ifndef QUERN_BASE_LOG_H
#define QUERN_BASE_LOG_H

#include "base/buf.h"

enum log_level { LOG_QUIET, LOG_NORMAL, LOG_VERBOSE };

/* What stands in front of each line, "quern" if nothing is set; the text must stay. */
void log_set_program(const char *name);
void log_set_level(enum log_level level);
enum log_level log_level(void);
/* Called on each finished line before it is written; may replace parts of it. */
void log_set_mask(void (*mask)(void *ctx, struct buf *line), void *ctx);

void log_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));   /* always */
void log_warn(const char *fmt, ...) __attribute__((format(printf, 1, 2)));    /* not with -q */
void log_verbose(const char *fmt, ...) __attribute__((format(printf, 1, 2))); /* only with -v */
/* One short line that the next message or progress takes the place of: only for a stderr that is a terminal. Not with
 * -q. */
void log_progress(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_progress_end(void); /* wipes it, if one is shown */

#endif
