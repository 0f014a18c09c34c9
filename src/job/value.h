/* The strict readings of numbers: all of the text or nothing, never a numeric prefix. */
#ifndef QUERN_JOB_VALUE_H
#define QUERN_JOB_VALUE_H

#include <stdint.h>

#include "base/buf.h"
#include "job/job.h"
#include "job/schema.h"

enum value_status { VALUE_OK, VALUE_FORM /* not of the type's form */, VALUE_RANGE /* outside min..max */ };

/* KEY_INT to KEY_USD. Leading zeros, signs, separators, exponents and unknown units are VALUE_FORM. */
enum value_status value_number(const struct job_key *k, const char *text, int64_t *out);
/* KEY_MARK. */
enum value_status value_mark(const struct job_key *k, const char *text, struct job_mark *out);
/* "must be a duration such as 90s, 15m or 2h", with the range where it says something. */
void value_expectation(const struct job_key *k, struct buf *out);
/* A number of the row's type in its largest exact unit. */
void value_print(const struct job_key *k, int64_t v, struct buf *out);
void value_print_mark(const struct job_key *k, const struct job_mark *m, struct buf *out);
/* The regular expression of values that are no bare number, NULL if the row has none. */
const char *value_pattern(const struct job_key *k);

#endif
