/*
 * The composition root: builds the real world from a job, owns its lifetime, turns the loop's
 * Terminal into an exit status.
 */
#ifndef QUERN_RUN_RUN_H
#define QUERN_RUN_RUN_H

#include "job/job.h"

/* Does what the job says (run, check, help, version, schema). envp is the environment block itself: the key is
 * overwritten in it. Returns the exit code; after a signal that ended the run it does not return. */
int run_job(struct job *job, char **envp);

/* Of a bundle the job that was recorded, for job_parse_replay. */
int run_recorded_job(const char *path, struct buf *text, struct error *e);

/* Options or job file were wrong: one line each on stderr, and a result in the format that was asked for. Returns 2. */
int run_refused(const struct job *job, const struct job_errors *errs);

#endif
