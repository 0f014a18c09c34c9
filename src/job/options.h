/* The command line's words. Values go to the setter at once; what is no value is kept here. */
#ifndef QUERN_JOB_OPTIONS_H
#define QUERN_JOB_OPTIONS_H

#include "job/set.h"

/* 0, or -1 if there were errors. Sets job->action, job_file, quiet and verbose itself. */
int options_read(struct setter *s, int argc, char *const argv[]);

#endif
