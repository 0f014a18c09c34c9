/* Job files: YAML to the setter, every error with its line and column. */
#ifndef QUERN_JOB_JOB_FILE_H
#define QUERN_JOB_JOB_FILE_H

#include <stddef.h>

#include "job/set.h"

enum file_status { FILE_FINE, FILE_ERRORS /* read, but with errors in it */, FILE_UNREADABLE /* no file or no YAML */ };

enum file_status job_file_read(struct setter *s, const char *path);
/* The same for a text that is there already; `label` stands for the file's name. */
enum file_status job_file_text(struct setter *s, const char *label, const char *text, size_t n);

/* --set: the key as n bytes, the value as YAML (strings verbatim). 0, or -1 with the error told. */
int job_set_key(struct setter *s, const char *key, size_t n, const char *value);

#endif
