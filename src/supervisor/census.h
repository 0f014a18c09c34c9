/*
 * How many processes there are below the supervisor. Counting them means reading /proc; so the number of all processes
 * of the machine, which is one cheap system call, says when that is worth while.
 */
#ifndef QUERN_SUPERVISOR_CENSUS_H
#define QUERN_SUPERVISOR_CENSUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CENSUS_LOOK_MS 50   /* between two cheap looks, while children run */
#define CENSUS_FULL_MS 1000 /* at least once in that time they are counted */

struct census {
	size_t max;            /* 0 = nobody counts */
	size_t counted;        /* ours, the last time */
	unsigned short others; /* what sysinfo(2) said then */
	int64_t due;           /* monotonic ms of the next count in any case */
};

/* True if they should be counted now. */
bool census_due(const struct census *c, int64_t now);
void census_note(struct census *c, size_t counted, int64_t now);

#endif
