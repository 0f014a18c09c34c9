/* The system prompt: who the model is, how it should work, and where it is. */
#ifndef QUERN_PROMPT_SYSTEM_H
#define QUERN_PROMPT_SYSTEM_H

#include "base/buf.h"
#include "job/job.h"
#include "prompt/place.h"

/* The job's text or the built-in one, what is to be appended, what goes with plan mode, and the environment (NULL =
 * the job wants none); nothing if the job wants none of it. The same bytes all through the run. */
void system_prompt(const struct job *job, const struct place *place, const char *environment, struct buf *out);
/* Where and when the run works: directories, whether they are a git repository, platform, and the date of today (of
 * SOURCE_DATE_EPOCH, if that is set). A few short lines. (environment.c) */
void system_environment(const struct place *place, struct buf *out);

#endif
