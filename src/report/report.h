/*
 * A page about a run: one HTML file that needs nothing else, neither network nor script. It is made from the events,
 * line by line; what is kept in memory is the turn that is going on and a few numbers for each turn and call. The
 * finished parts wait in a temporary file, since the head of the page is known last.
 *
 * Several runs may stand one behind the other (a resumed session, a session of several messages): each is a chapter.
 * Lines that are no events are counted and passed over; members that are missing are left out; so is the end of a torn
 * file.
 *
 * Life cycle: report_open -> report_line... (report_extra...) -> report_finish -> report_free.
 */
#ifndef QUERN_REPORT_REPORT_H
#define QUERN_REPORT_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "message/message.h"

struct report_config {
	const char *name; /* of the record: "run.ndjson" */
	/* The list price of a request in nano-USD, -1 = not known. NULL: costs of turns are not shown. */
	int64_t (*price)(const char *model, const struct usage *u);
};

struct report;
struct report *report_open(const struct report_config *cfg, struct error *e);
/* One line without its line feed. `whole`: a line feed was behind it. -1: no memory, or the temporary file is full. */
int report_line(struct report *r, const char *p, size_t n, bool whole, struct error *e);
/* What a bundle has beside the events: the workspace's changes as a unified diff, the job. */
int report_patch(struct report *r, const char *p, size_t n, struct error *e);
int report_job(struct report *r, const char *p, size_t n, struct error *e);
/* The bundle ends early. */
void report_cut(struct report *r);
/* Writes the page to fd. -1 with *e: nothing in it was an event (ERR_INPUT), or it cannot be written. */
int report_finish(struct report *r, int fd, struct error *e);
void report_free(struct report *r);

/* All of the above of a file: events or a bundle; "-" is stdin. -1 with *e, in words for the user. */
int report_read(struct report *r, const char *path, struct error *e);

#endif
