/* A session: what its parts share (private to run/: session.c, control.c). */
#ifndef QUERN_RUN_SESSION_H
#define QUERN_RUN_SESSION_H

#include "job/job.h"
#include "run/input.h"

#define HELD_MOST 8

struct world;
struct loop;

struct session {
	struct world *w;
	struct input *input;
	struct loop *loop;             /* NULL until the first message: so long model and system prompt may change */
	struct input_message *current; /* that is being worked on; NULL: none, or the job's own prompt */
	struct input_message *told;    /* to the work at hand, the last of them: not all of it may be shown yet */
	struct job job;                /* as the session's requests have changed it, before it began */
	bool working;                  /* a message is, until its result is out */
	bool shown;                    /* its init is out, and its result is not */
	bool asked, more;              /* whether another may follow it, and what was found */
	bool ended_it;                 /* the line of stdin that is dealt with ends that work */
	bool initialized;
	unsigned long controls, problems, messages, results;
	char *held[HELD_MOST]; /* notices that wait for the next init, so that none stands behind a result */
	size_t nheld, nlost;   /* and how many more there were */
	struct error refusal;  /* the first line told that stdin is something else */
};

/* Tells what is not as the writer of stdin wanted it: on stderr now, by an event as soon as one may be written. */
void session_notice(struct session *s, const char *code, const char *text);

#endif
