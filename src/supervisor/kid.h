/*
 * A child as the loop process sees it: the read ends of its pipes and what came through them.
 *
 * Life cycle: kid_open -> (kid_make_pipes) -> reading through the reactor -> kid_drain -> kid_finish, which
 * calls on_done -> kid_free.
 */
#ifndef QUERN_SUPERVISOR_KID_H
#define QUERN_SUPERVISOR_KID_H

#include "supervisor/output.h"
#include "supervisor/wire.h"

enum kid_channel { KID_OUT, KID_ERR, KID_RESULT, KID_CHANNELS };

struct kid;
struct channel {
	struct kid *kid;
	int fd; /* -1 = closed, or never there */
};

struct kid {
	struct kid *next;
	struct reactor *r;
	int id;
	char *name; /* of the program or call, for error texts */
	child_done on_done;
	void (*heard)(void *ctx, const char *p, size_t n); /* see struct spawn */
	void *ctx;
	struct channel channels[KID_CHANNELS];
	struct collector out, err;
	struct buf result;
	int cwd_fd; /* see struct child_result */
	int too_many;
	bool discard; /* nobody wants the bytes any more */
	bool failed;  /* `failure` is why it could not be started; on_done is due */
	struct error failure;
};

struct kid *kid_open(struct reactor *r, int id, const struct spawn *spec, child_done on_done, void *ctx);
void kid_free(struct kid *k);
/* Makes the pipes that the spec asks for and watches their read ends; the write ends go to ends[enum kid_channel],
 * -1 = none, and are the caller's. -1 with errno. */
int kid_make_pipes(struct kid *k, const struct spawn *spec, bool paused, int ends[KID_CHANNELS]);
void kid_pause(struct kid *k, bool on);
/* Reads what is in the pipes at this moment and closes them: a process in the background that still holds them
 * is not waited for. */
void kid_drain(struct kid *k);
void kid_fail(struct kid *k, enum error_code code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* Calls on_done with what was collected; done is NULL for a kid that failed. */
void kid_finish(struct kid *k, const struct wire_done *done);

#endif
